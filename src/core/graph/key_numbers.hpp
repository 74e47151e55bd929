// Numbers for 64-bit keys, in the order in which they arrive.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/array.hpp"
#include "base/secret.hpp"
#include "base/sort.hpp"
#include "graph/graph.hpp"

namespace dpdistinct {

// The one open-addressing table. A slot has four bytes, and the keys themselves lie apart, by number. The place of a
// key is secret, so nobody can choose keys that all fall into one slot.
class KeyNumbers {
   public:
    KeyNumbers() { resize(kFewestBits); }

    static constexpr std::uint32_t kNone = ~std::uint32_t{0};

    // Prefetches the memory for two later lookups; `soon` comes first. Returns what is likely to be its number.
    std::uint32_t prepare(std::uint64_t later, std::uint64_t soon) const {
        __builtin_prefetch(&slots_[home(later)]);
        const std::uint32_t number = slots_[home(soon)];
        if (number != kNone) __builtin_prefetch(&keys_[number]);
        return number;
    }

    // The number of a key, or kNone.
    std::uint32_t find(std::uint64_t key) const { return slots_[place(key)]; }

    // The number of a key; a new key gets the next one.
    std::uint32_t operator()(std::uint64_t key) {
        const std::size_t at = place(key);
        if (slots_[at] != kNone) return slots_[at];
        if (keys_.size() == kMaxIndex) throw TooLarge();
        const auto number = static_cast<std::uint32_t>(keys_.size());
        keys_.push_back(key);
        slots_[at] = number;
        if (4 * keys_.size() > 3 * slots_.size()) resize(bits_ + 1);
        return number;
    }

    const Array<std::uint64_t>& keys() const { return keys_; }  // by number

    void clear() {
        const bool roomy = slots_.size() > kRoomy * (keys_.size() + 1);
        keys_.clear();
        if (roomy)
            resize(kFewestBits);  // a large table would take long to clear after every few keys
        else
            std::fill(slots_.begin(), slots_.end(), kNone);
    }

   private:
    std::size_t home(std::uint64_t key) const { return key * multiplier_ >> (64 - bits_); }

    // The slot of the key, or the free slot where it would be.
    std::size_t place(std::uint64_t key) const {
        std::size_t at = home(key);
        while (slots_[at] != kNone && keys_[slots_[at]] != key) at = (at + 1) & (slots_.size() - 1);
        return at;
    }

    void resize(int bits) {
        bits_ = bits;
        slots_ = {};  // frees the old slots first: the keys are enough to fill the new ones
        slots_.assign(std::size_t{1} << bits, kNone);
        for (std::uint32_t number = 0; number < keys_.size(); ++number) {
            if (keys_.size() - number > 16) __builtin_prefetch(&slots_[home(keys_[number + 16])], 1);
            std::size_t at = home(keys_[number]);
            while (slots_[at] != kNone) at = (at + 1) & (slots_.size() - 1);
            slots_[at] = number;
        }
    }

    static constexpr int kFewestBits = 8;
    static constexpr std::size_t kRoomy = 1 << 9;
    std::uint64_t multiplier_ = secret_multiplier();
    int bits_ = 0;
    std::vector<std::uint32_t> slots_;
    Array<std::uint64_t> keys_;
};

}  // namespace dpdistinct
