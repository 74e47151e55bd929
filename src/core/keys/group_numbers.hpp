// The groups of the list, found by the keys of their labels.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keys/key_batch.hpp"
#include "base/secret.hpp"
#include "base/xxh64.hpp"

namespace dpdistinct {

using Label = std::vector<std::string>;  // a text for each column of the group

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
    std::string_view first;  // the text of the label's first column
    bool shared = false;     // another label has the same key
};

// An open-addressing table.
class GroupNumbers {
   public:
    GroupNumbers() = default;
    GroupNumbers(GroupNumbers&&) = default;
    GroupNumbers& operator=(GroupNumbers&&) = default;
    // The i-th label has the number i, held by the `bits` low bits of a pair's key. A group is found by the key of
    // its label, or by those in `keys` if the columns write the labels in another form.
    GroupNumbers(std::vector<Label> labels, int bits, const std::vector<std::uint64_t>& keys = {})
        : low_bits_((std::uint64_t{1} << bits) - 1),
          slots_(std::bit_ceil(2 * labels.size() + 2)),
          labels_(std::move(labels)) {
        columns_ = labels_.empty() ? 0 : labels_.front().size();
        for (std::size_t i = 0; i < labels_.size(); ++i) {
            const std::uint64_t key = keys.empty() ? label_key(labels_[i]) : keys.at(i);
            Group& slot = slots_[place(key)];
            const Group group{key, i, with_label(salt_hash(1), labels_[i]), labels_[i].at(0)};
            if (slot.number == Group::kNone) {
                slot = group;
            } else {
                if (!slot.shared) by_text_.emplace(labels_[slot.number], slot);
                by_text_.emplace(labels_[i], group);
                slot.shared = true;
            }
        }
    }

    // The group of the label with this key and these texts, or null. Whoever writes rows can make a label with the key
    // of another one, and must not be taken for it. text(i): what stands in the i-th column, or nothing if the
    // column holds no text that anybody could have made, but days or listed labels.
    template <class Text>
    const Group* find(std::uint64_t key, Text text) const {
        const Group& slot = slots_[place(key)];
        if (slot.number == Group::kNone) return nullptr;
        if (slot.shared) return find_by_text(labels_[slot.number], text);
        auto differs = [&](std::size_t i, std::string_view listed) {
            const std::optional<std::string_view> found = text(i);
            return found && *found != listed;
        };
        if (differs(0, slot.first)) return nullptr;
        for (std::size_t i = 1; i < columns_; ++i)
            if (differs(i, labels_[slot.number][i])) return nullptr;
        return &slot;
    }

    std::uint64_t key(const Group& group, std::uint64_t pair) const { return (pair & ~low_bits_) | group.number; }

   private:
    // The same if several labels have this key. `label`: one of them.
    template <class Text>
    const Group* find_by_text(Label label, Text text) const {
        for (std::size_t i = 0; i < label.size(); ++i)
            if (const std::optional<std::string_view> found = text(i)) label[i] = *found;
        const auto group = by_text_.find(label);
        return group == by_text_.end() ? nullptr : &group->second;
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
    std::vector<Label> labels_;  // slots point into it
    std::size_t columns_ = 0;    // of each label
    std::map<Label, Group> by_text_;  // those that share a key; no hash: nobody can make it slow
};

}  // namespace dpdistinct
