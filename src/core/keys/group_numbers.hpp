// The groups of the list, found by the keys of their labels.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/xxh64.hpp"
#include "graph/key_numbers.hpp"
#include "keys/key_batch.hpp"

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
    std::uint64_t number;
    std::uint64_t pair;      // the hash that the element is added to
    std::string_view first;  // the first column of the label, as rows write it
    bool shared = false;     // another label has the same key
};

class GroupNumbers {
   public:
    GroupNumbers() = default;
    GroupNumbers(GroupNumbers&&) = default;
    GroupNumbers& operator=(GroupNumbers&&) = default;
    // The i-th label has the number i, held by the `bits` low bits of a pair's key. `written`: the labels as rows
    // write them, if that is another form: a day as the four bytes of a date.
    GroupNumbers(const std::vector<Label>& labels, int bits, std::vector<Label> written = {})
        : low_bits_((std::uint64_t{1} << bits) - 1), written_(written.empty() ? labels : std::move(written)) {
        columns_ = written_.empty() ? 0 : written_.front().size();
        for (std::size_t i = 0; i < labels.size(); ++i) {
            const Group group{i, with_label(salt_hash(1), labels[i]), written_[i].at(0)};
            const std::uint32_t number = numbers_(label_key(written_[i]));
            if (number == groups_.size()) {
                groups_.push_back(group);
            } else {
                Group& other = groups_[number];
                if (!other.shared) shared_.emplace(written_[other.number], other);
                shared_.emplace(written_[i], group);
                other.shared = true;
            }
        }
    }

    // The group of the label with this key and these bytes, or null. Anybody can make a label with the key of another
    // one, in a row or in a list, and it must not be taken for that. bytes(i): what stands in the i-th column.
    template <class Bytes>
    const Group* find(std::uint64_t key, Bytes bytes) const {
        const std::uint32_t number = numbers_.find(key);
        if (number == KeyNumbers::kNone) return nullptr;
        const Group& group = groups_[number];
        if (group.shared) return find_shared(bytes);
        if (bytes(0) != group.first) return nullptr;
        for (std::size_t i = 1; i < columns_; ++i)
            if (bytes(i) != std::string_view(written_[group.number][i])) return nullptr;
        return &group;
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

    std::uint64_t low_bits_ = 0;
    KeyNumbers numbers_;             // of the labels' keys
    std::vector<Group> groups_;      // of each key the first
    std::vector<Label> written_;     // groups point into it
    std::size_t columns_ = 0;        // of each label
    std::map<Label, Group> shared_;  // those that share a key; no hash: nobody can make it slow
};

}  // namespace dpdistinct
