// A growing set of 64- or 128-bit keys that ends up sorted, in memory that follows the distinct
// keys and not the rows: arrivals wait in a bounded buffer and are sorted into the kept keys
// whenever it is full.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstdint>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "interrupt.hpp"
#include "parallel.hpp"

namespace dpdistinct {

// The C library keeps freed memory for later; here that would be a fifth of the peak. Giving it back
// takes longer than all the rest when the table is small.
inline void release_free_memory([[maybe_unused]] std::size_t keys) {
#ifdef __GLIBC__
    if (keys >= std::size_t{1} << 20) malloc_trim(0);
#endif
}

struct Pair {
    std::uint64_t element;
    std::uint64_t person;
    auto operator<=>(const Pair&) const = default;
};

// How the radix sort reads a key: `words` 64-bit words, the most significant first.
inline std::uint64_t word(const Pair& key, int i) { return i == 0 ? key.element : key.person; }
inline std::uint64_t word(std::uint64_t key, int) { return key; }
inline constexpr int words(const Pair*) { return 2; }
inline constexpr int words(const std::uint64_t*) { return 1; }

// Radix sort by the highest bits in which the keys differ, so that the buckets are short at once if
// the keys are uniform, as hashes are; common prefixes (one popular element) are skipped in a round.
template <class Key>
void radix_sort(Key* first, std::size_t count, Key* scratch, Interrupt& interrupt) {
    constexpr std::size_t kShort = 32;
    if (count <= kShort) {
        std::sort(first, first + count);
        return;
    }
    interrupt.worked(count);
    int w = 0;
    std::uint64_t differ = 0;
    for (; w < words(first); ++w) {
        for (std::size_t i = 0; i < count; ++i) differ |= word(first[i], w) ^ word(first[0], w);
        if (differ) break;
    }
    if (!differ) return;  // all equal
    constexpr int kMostBits = 11;
    const int bits = std::min<int>(kMostBits, std::bit_width(count) - 3);
    const int shift = std::max(0, 64 - std::countl_zero(differ) - bits);
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    auto digit = [=](const Key& key) { return (word(key, w) >> shift) & mask; };

    std::array<std::size_t, (1 << kMostBits) + 1> end;
    std::fill_n(end.begin(), mask + 2, 0);
    for (std::size_t i = 0; i < count; ++i) ++end[digit(first[i]) + 1];
    for (std::size_t d = 1; d <= mask; ++d) end[d] += end[d - 1];
    for (std::size_t i = 0; i < count; ++i) scratch[end[digit(first[i])]++] = first[i];
    std::copy_n(scratch, count, first);
    for (std::size_t d = 0, begin = 0; begin < count; begin = end[d++])
        if (end[d] - begin > 1) radix_sort(first + begin, end[d] - begin, scratch, interrupt);
}

template <class Key>
class DistinctKeys {
   public:
    static constexpr std::size_t kParts = 256;  // by the top byte, so the parts are sorted too

    DistinctKeys(unsigned threads, Interrupt& interrupt) : threads_(threads), interrupt_(interrupt) {
        new_round();
    }

    void add(const Key& key) { parts_[word(key, 0) >> 56].waiting.push_back(key); }

    // To be called after every batch of `rows` calls of add.
    void added(std::size_t rows) {
        interrupt_.worked(rows);
        waiting_ += rows;
        if (waiting_ >= room_) {
            merge();
            new_round();
        }
    }

    // The parts in order, each sorted and without repetition. No add() after this.
    std::array<std::vector<Key>, kParts> finish() {
        std::array<std::vector<Key>, kParts> sorted;
        // A few parts at a time, so that what they replace is given back before the next ones grow.
        constexpr std::size_t kAtOnce = 32;
        std::size_t keys = waiting_;
        for (const Part& part : parts_) keys += part.kept.size();
        for (std::size_t first = 0; first < kParts; first += kAtOnce) {
            parallel_for(kAtOnce, threads_, interrupt_, [&](std::size_t i, Interrupt& interrupt) {
                Part& part = parts_[first + i];
                merge(part, interrupt);
                sorted[first + i] = std::move(part.kept);
                part = {};
            });
            release_free_memory(keys);
        }
        return sorted;
    }

   private:
    struct Part {
        std::vector<Key> kept;     // sorted, distinct
        std::vector<Key> waiting;  // as they arrived
    };

    // The buffer takes an eighth of what is kept (but two million keys in any case), so the
    // merges cost a constant for each key and the memory stays within 9/8 of the distinct keys.
    void new_round() {
        std::size_t kept = 0;
        for (const Part& part : parts_) kept += part.kept.size();
        room_ = std::max(kMinRoom, kept / 8);
        waiting_ = 0;
    }

    void merge() {
        parallel_for(kParts, threads_, interrupt_,
                     [this](std::size_t i, Interrupt& interrupt) { merge(parts_[i], interrupt); });
    }

    static void merge(Part& part, Interrupt& interrupt) {
        auto& fresh = part.waiting;
        {
            std::vector<Key> scratch(fresh.size());
            radix_sort(fresh.data(), fresh.size(), scratch.data(), interrupt);
        }
        fresh.erase(std::unique(fresh.begin(), fresh.end()), fresh.end());
        merge_into(part.kept, fresh);
        fresh.clear();
        interrupt.worked(part.kept.size());
    }

    // From the back, in place: memory that is new to the process costs more than the moves.
    static void merge_into(std::vector<Key>& kept, const std::vector<Key>& fresh) {
        auto old_end = static_cast<std::ptrdiff_t>(kept.size()), fresh_end = static_cast<std::ptrdiff_t>(fresh.size());
        kept.resize(kept.size() + fresh.size());
        Key* const keys = kept.data();
        auto begin = static_cast<std::ptrdiff_t>(kept.size());  // of what is merged already
        while (fresh_end > 0) {
            const Key& next = fresh[fresh_end - 1];
            while (old_end > 0 && keys[old_end - 1] > next) keys[--begin] = keys[--old_end];
            if (old_end == 0 || keys[old_end - 1] != next) keys[--begin] = next;
            --fresh_end;
        }
        // Each repetition left a gap between the keys that stayed and those that moved.
        kept.erase(kept.begin() + old_end, kept.begin() + begin);
    }

    static constexpr std::size_t kMinRoom = std::size_t{1} << 21;
    unsigned threads_;
    Interrupt& interrupt_;
    std::size_t waiting_ = 0;
    std::size_t room_ = 0;
    std::array<Part, kParts> parts_;
};

}  // namespace dpdistinct
