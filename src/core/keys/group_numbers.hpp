// The groups of the list, found by the keys of their labels.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keys/key_batch.hpp"
#include "base/secret.hpp"
#include "base/xxh64.hpp"

namespace dpdistinct {

using Label = std::vector<std::string>;  // the bytes of each column of the group

// The start of a label's key; its columns are added one after the other.
inline std::uint64_t label_salt() {
    constexpr std::string_view kSalt = "group";
    return xxh64(kSalt.data(), kSalt.size(), 42);
}

inline std::uint64_t with_label(std::uint64_t hash, const Label& label) {
    for (const std::string& text : label) hash = xxh64(text.data(), text.size(), hash);
    return hash;
}

inline std::uint64_t label_key(const Label& label) { return with_label(label_salt(), label); }

// What is counted is the pair of group and element. Its key is the hash of both, with the number of the
// group in the list in the low bits.
struct Group {
    static constexpr std::uint64_t kNone = ~std::uint64_t{0};

    std::uint64_t label = 0, number = kNone;
    std::uint64_t pair = 0;  // the hash that the element is added to
    std::string_view first;  // the first column of the label, as rows write it
    bool shared = false;     // another label has the same key
};

// An open-addressing table.
class GroupNumbers {
   public:
    GroupNumbers() = default;
    GroupNumbers(GroupNumbers&&) = default;
    GroupNumbers& operator=(GroupNumbers&&) = default;
    // The i-th label has the number i, held by the `bits` low bits of a pair's key. `written`: the labels as rows
    // write them, if that is another form: a day as the four bytes of a date.
    GroupNumbers(const std::vector<Label>& labels, int bits, std::vector<Label> written = {})
        : low_bits_((std::uint64_t{1} << bits) - 1),
          slots_(std::bit_ceil(2 * labels.size() + 2)),
          written_(written.empty() ? labels : std::move(written)) {
        columns_ = written_.empty() ? 0 : written_.front().size();
        for (std::size_t i = 0; i < labels.size(); ++i) {
            const std::uint64_t key = label_key(written_.at(i));
            Group& slot = slots_[place(key)];
            const Group group{key, i, with_label(salt_hash(1), labels[i]), written_[i].at(0)};
            if (slot.number == Group::kNone) {
                slot = group;
            } else {
                if (!slot.shared) shared_.emplace(written_[slot.number], slot);
                shared_.emplace(written_[i], group);
                slot.shared = true;
            }
        }
    }

    // The group of the label with this key and these bytes, or null. Anybody can make a label with the key of another
    // one, in a row or in a list, and it must not be taken for that. bytes(i): what stands in the i-th column.
    template <class Bytes>
    const Group* find(std::uint64_t key, Bytes bytes) const {
        const Group& slot = slots_[place(key)];
        if (slot.number == Group::kNone) return nullptr;
        if (slot.shared) return find_shared(bytes);
        if (bytes(0) != slot.first) return nullptr;
        for (std::size_t i = 1; i < columns_; ++i)
            if (bytes(i) != std::string_view(written_[slot.number][i])) return nullptr;
        return &slot;
    }

    std::uint64_t key(const Group& group, std::uint64_t pair) const { return (pair & ~low_bits_) | group.number; }

   private:
    // The same if several labels have this key.
    template <class Bytes>
    const Group* find_shared(Bytes bytes) const {
        Label label;
        for (std::size_t i = 0; i < columns_; ++i) label.emplace_back(bytes(i));
        const auto group = shared_.find(label);
        return group == shared_.end() ? nullptr : &group->second;
    }

    // The slot of the label, or the free slot where it would be. Fewer than half of the slots are taken.
    std::size_t place(std::uint64_t label) const {
        std::size_t at = label * multiplier_ >> (64 - std::countr_zero(slots_.size()));
        while (slots_[at].number != Group::kNone && slots_[at].label != label) at = (at + 1) & (slots_.size() - 1);
        return at;
    }

    std::uint64_t low_bits_ = 0;
    std::vector<Group> slots_ = std::vector<Group>(2);
    std::uint64_t multiplier_ = secret_multiplier();
    std::vector<Label> written_;  // slots point into it
    std::size_t columns_ = 0;     // of each label
    std::map<Label, Group> shared_;  // those that share a key; no hash: nobody can make it slow
};

}  // namespace dpdistinct
