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

#include "interrupt.hpp"
#include "parallel.hpp"

namespace dpdistinct {

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

// In-place radix sort by the first byte in which the keys differ. Hashes are uniform, so a few
// rounds leave short runs; common prefixes (one popular element) are skipped in one round.
template <class Key>
void radix_sort(Key* first, Key* last, Interrupt& interrupt) {
    constexpr std::ptrdiff_t kShort = 96;
    if (last - first <= kShort) {
        std::sort(first, last);
        return;
    }
    interrupt.worked(static_cast<std::uint64_t>(last - first));
    int w = 0;
    std::uint64_t differ = 0;
    for (; w < words(first); ++w) {
        for (const Key* k = first; k != last; ++k) differ |= word(*k, w) ^ word(*first, w);
        if (differ) break;
    }
    if (!differ) return;  // all equal
    const int shift = std::max(0, 56 - std::countl_zero(differ));
    auto digit = [w, shift](const Key& key) { return (word(key, w) >> shift) & 0xff; };

    std::array<std::size_t, 257> end{};
    for (const Key* k = first; k != last; ++k) ++end[digit(*k) + 1];
    for (int d = 0; d < 256; ++d) end[d + 1] += end[d];
    std::array<std::size_t, 256> at;
    std::copy_n(end.begin(), 256, at.begin());
    for (int d = 0; d < 256; ++d) {
        while (at[d] < end[d + 1]) {
            Key key = first[at[d]];
            for (auto to = digit(key); to != static_cast<std::uint64_t>(d); to = digit(key))
                std::swap(key, first[at[to]++]);
            first[at[d]++] = key;
        }
    }
    for (int d = 0; d < 256; ++d)
        if (end[d + 1] - end[d] > 1) radix_sort(first + end[d], first + end[d + 1], interrupt);
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
        parallel_for(kParts, threads_, interrupt_, [&](std::size_t i, Interrupt& interrupt) {
            merge(parts_[i], interrupt);
            sorted[i] = std::move(parts_[i].kept);
            parts_[i] = {};
        });
        return sorted;
    }

   private:
    struct Part {
        std::vector<Key> kept;     // sorted, distinct
        std::vector<Key> waiting;  // as they arrived
    };

    // The buffer takes a quarter of what is kept (but two million keys in any case), so the
    // merges cost a constant for each key and the memory stays within 5/4 of the distinct keys.
    void new_round() {
        std::size_t kept = 0;
        for (const Part& part : parts_) kept += part.kept.size();
        room_ = std::max(kMinRoom, kept / 4);
        waiting_ = 0;
    }

    void merge() {
        parallel_for(kParts, threads_, interrupt_,
                     [this](std::size_t i, Interrupt& interrupt) { merge(parts_[i], interrupt); });
    }

    static void merge(Part& part, Interrupt& interrupt) {
        auto& kept = part.kept;
        auto& fresh = part.waiting;
        radix_sort(fresh.data(), fresh.data() + fresh.size(), interrupt);
        fresh.erase(std::unique(fresh.begin(), fresh.end()), fresh.end());
        if (kept.empty()) {
            kept.assign(fresh.begin(), fresh.end());  // exactly as large as needed
        } else {
            auto known = kept.begin();
            std::erase_if(fresh, [&](const Key& key) {
                while (known != kept.end() && *known < key) ++known;
                return known != kept.end() && *known == key;
            });
            const std::size_t before = kept.size();
            kept.reserve(before + fresh.size());  // resize alone would double the capacity
            kept.resize(before + fresh.size());
            std::size_t a = before, b = fresh.size();
            for (std::size_t to = kept.size(); b > 0;)  // merge from the back, in place
                kept[--to] = a > 0 && fresh[b - 1] < kept[a - 1] ? kept[--a] : fresh[--b];
        }
        fresh.clear();
        interrupt.worked(kept.size());
    }

    static constexpr std::size_t kMinRoom = std::size_t{1} << 21;
    unsigned threads_;
    Interrupt& interrupt_;
    std::size_t waiting_ = 0;
    std::size_t room_ = 0;
    std::array<Part, kParts> parts_;
};

}  // namespace dpdistinct
