// Sorts 64- and 128-bit keys. They are hashes, so they are nearly uniform.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "base/array.hpp"
#include "base/blocks.hpp"
#include "base/interrupt.hpp"

namespace dpdistinct {

// std::bit_width returns an int in the standard, but the type of x in some libraries.
inline int bit_width(std::uint64_t x) { return static_cast<int>(std::bit_width(x)); }

struct Pair {
    std::uint64_t element;
    std::uint64_t person;
    bool operator==(const Pair&) const = default;
    // Without a branch: the processor cannot predict which of two hashes is smaller.
    bool operator<(const Pair& other) const {
        return (element < other.element) | ((element == other.element) & (person < other.person));
    }
};

// How the radix sort reads a key: `words` 64-bit words, the most significant first.
inline std::uint64_t word(const Pair& key, int i) { return i == 0 ? key.element : key.person; }
inline std::uint64_t word(std::uint64_t key, int) { return key; }
inline constexpr int words(const Pair*) { return 2; }
inline constexpr int words(const std::uint64_t*) { return 1; }

template <class Key>
void insertion_sort(Key* keys, std::size_t count) {
    for (std::size_t i = 1; i < count; ++i) {
        const Key key = keys[i];
        std::size_t at = i;
        for (; at > 0 && key < keys[at - 1]; --at) keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

// Sorts `from` into `to` and leaves `from` in disorder. The buckets are the highest bits in which the
// keys differ. If the keys are uniform, the buckets are short after one round. A common prefix (one
// popular element) is skipped in one round.
template <class Key>
void radix_sort(Key* from, std::size_t count, Key* to, Interrupt& interrupt) {
    constexpr std::size_t kShort = 16;
    if (count <= kShort) {
        std::copy_n(from, count, to);
        insertion_sort(to, count);
        return;
    }
    interrupt.worked(count);
    int w = 0;
    std::uint64_t differ = 0;
    for (; w < words(from); ++w) {
        for (std::size_t i = 0; i < count; ++i) differ |= word(from[i], w) ^ word(from[0], w);
        if (differ) break;
    }
    if (!differ) {  // all equal
        std::copy_n(from, count, to);
        return;
    }
    constexpr int kMostBits = 13;
    const int bits = std::min(kMostBits, bit_width(count) - 1);
    const int shift = std::max(0, 64 - std::countl_zero(differ) - bits);
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    auto digit = [=](const Key& key) { return (word(key, w) >> shift) & mask; };

    // Up to 64 KiB in each round, and some threads have no more than 128 KiB of stack.
    std::vector<std::size_t> end(mask + 2);
    for (std::size_t i = 0; i < count; ++i) ++end[digit(from[i]) + 1];
    for (std::size_t d = 1; d <= mask; ++d) end[d] += end[d - 1];
    for (std::size_t i = 0; i < count; ++i) to[end[digit(from[i])]++] = from[i];
    for (std::size_t d = 0, begin = 0; begin < count; begin = end[d++]) {
        const std::size_t size = end[d] - begin;
        if (size <= kShort) {
            insertion_sort(to + begin, size);
        } else {
            std::copy_n(to + begin, size, from + begin);
            radix_sort(from + begin, size, to + begin, interrupt);
        }
    }
}

// Sorts one list after another in the same two arrays.
template <class Key>
class Sorter {
   public:
    // Takes more keys for the next call of sorted().
    void take(Blocks<Key>& keys) {
        std::size_t at = keys_.size();
        keys_.resize(at + keys.size());
        keys.drain([&](const Key* first, const Key* last) {
            std::copy(first, last, keys_.data() + at);
            at += static_cast<std::size_t>(last - first);
        });
    }

    // What was taken, increasing and without repetition; valid until the next call.
    std::span<const Key> sorted(Interrupt& interrupt) {
        if (sorted_.size() < keys_.size()) sorted_.resize(keys_.size());
        radix_sort(keys_.data(), keys_.size(), sorted_.data(), interrupt);
        const auto end = std::unique(sorted_.begin(), sorted_.begin() + std::ssize(keys_));
        keys_.clear();
        return {sorted_.begin(), end};
    }

   private:
    Array<Key> keys_, sorted_;
};

}  // namespace dpdistinct
