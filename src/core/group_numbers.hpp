// The number of a row's group in the public list, and where it stands in the key of a pair.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "xxh64.hpp"

namespace dpdistinct {

// The hash that the columns of a label are added to, one after the other.
inline std::uint64_t label_salt() {
    constexpr std::string_view kSalt = "group";
    return xxh64(kSalt.data(), kSalt.size(), 42);
}

// A table of the listed labels by their keys, which are hashes and therefore spread well.
class GroupNumbers {
   public:
    GroupNumbers() = default;
    // The i-th label has the number i; `bits` low bits of a pair's key hold it.
    GroupNumbers(const std::vector<std::uint64_t>& labels, int bits)
        : low_bits_((std::uint64_t{1} << bits) - 1), slots_(std::bit_ceil(2 * labels.size() + 1)) {
        for (std::size_t i = 0; i < labels.size(); ++i) {
            Slot& slot = slots_[find(labels[i])];
            if (slot.number == kNone) slot = {labels[i], i};
        }
    }

    // Puts the number of the label into the key of a pair. False if the label is not listed.
    bool put(std::uint64_t label, std::uint64_t& pair) const {
        const std::uint64_t number = slots_[find(label)].number;
        if (number == kNone) return false;
        pair = (pair & ~low_bits_) | number;
        return true;
    }

   private:
    static constexpr std::uint64_t kNone = ~std::uint64_t{0};
    struct Slot {
        std::uint64_t label = 0, number = kNone;
    };

    // Where the label is, or the free place where it would be: fewer than half of them are taken.
    std::size_t find(std::uint64_t label) const {
        std::size_t at = label & (slots_.size() - 1);
        while (slots_[at].number != kNone && slots_[at].label != label) at = (at + 1) & (slots_.size() - 1);
        return at;
    }

    std::uint64_t low_bits_ = 0;
    std::vector<Slot> slots_{Slot{}};
};

}  // namespace dpdistinct
