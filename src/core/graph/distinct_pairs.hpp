// The distinct pairs of a stream of rows. Memory grows with the distinct pairs, not with the rows: where many
// rows repeat others, they wait in a bounded buffer, and a full buffer is sorted and merged into the pairs kept so far.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/blocks.hpp"
#include "base/interrupt.hpp"
#include "base/parallel.hpp"
#include "base/sort.hpp"

namespace dpdistinct {

inline constexpr std::size_t kParts = 256;  // by the top byte of a key, so the parts are sorted too
inline std::size_t part_of(std::uint64_t key) { return key >> 56; }

template <class Key>
std::vector<Blocks<Key>> empty_parts(BlockPool& pool) {
    std::vector<Blocks<Key>> parts;
    for (std::size_t i = 0; i < kParts; ++i) parts.emplace_back(pool);
    return parts;
}

class DistinctPairs {
   public:
    // `least_room`: how many rows may wait in any case.
    DistinctPairs(BlockPool& pool, unsigned threads, Interrupt& interrupt, std::size_t least_room)
        : pool_(pool), threads_(threads), interrupt_(interrupt), least_room_(least_room) {}

    void add(const Pair& pair) { waiting_[part_of(pair.person)].push_back(pair); }

    // Call it after every batch of `rows` rows, each of which calls add() at most once.
    void added(std::size_t rows) {
        interrupt_.worked(rows);
        rows_waiting_ += rows;
        if (rows_waiting_ >= room_) make_room();
    }

    // The pairs of people whose keys begin with the byte i. Some may still be there twice.
    template <class Read>
    void read_part(std::size_t i, Read read) const {
        kept_[i].read(read);
        waiting_[i].read(read);
    }
    // The same; the part is empty afterwards.
    template <class Read>
    void drain_part(std::size_t i, Read read) {
        kept_[i].drain(read);
        waiting_[i].drain(read);
    }

   private:
    // A few parts tell how many rows repeat others: where hardly any do, nothing is gained by sorting, and the
    // buffer may grow by a sixth of all rows. Else it holds 3/8 as many pairs as are kept, and at least `least_room_`.
    // So each pair is merged a constant number of times on average, and there are at most about 3/2 rows for
    // each distinct pair. Parts that are larger than usual, such as that of a giant person, are merged in any case.
    void make_room() {
        const std::size_t usual = rows_waiting_ / kParts;
        const std::size_t few = size(waiting_, kFewParts) + size(kept_, kFewParts);
        merge_waiting([&](std::size_t i) { return i < kFewParts || waiting_[i].size() > 2 * usual; });
        dropped_ += few - size(kept_, kFewParts);
        const bool many_repeat = 4 * dropped_ >= size(kept_, kFewParts);
        if (many_repeat) {
            merge_waiting([](std::size_t) { return true; });
            dropped_ = 0;
        }
        rows_waiting_ = size(waiting_, kParts);
        const std::size_t kept = size(kept_, kParts);
        room_ = rows_waiting_ + std::max(least_room_, many_repeat ? kept * 3 / 8 : (kept + rows_waiting_) / 6);
    }

    // How many pairs the first parts have.
    static std::size_t size(const std::vector<Blocks<Pair>>& parts, std::size_t count) {
        std::size_t sum = 0;
        for (std::size_t i = 0; i < count; ++i) sum += parts[i].size();
        return sum;
    }

    template <class Chosen>
    void merge_waiting(Chosen chosen) {
        ObjectPool<Sorter<Pair>> sorters;
        parallel_for(kParts, threads_, interrupt_, [&](std::size_t i, Interrupt& interrupt) {
            if (!chosen(i)) return;
            sorters.with_object([] { return Sorter<Pair>(); },
                                [&](Sorter<Pair>& sorter) {
                                    sorter.take(waiting_[i]);
                                    kept_[i] = merged(kept_[i], sorter.sorted(interrupt));
                                });
        });
    }

    Blocks<Pair> merged(Blocks<Pair>& kept, std::span<const Pair> fresh) {
        Blocks<Pair> result(pool_);
        const Pair* next = fresh.data();
        const Pair* const end = next + fresh.size();
        kept.drain([&](const Pair* old, const Pair* old_end) {
            while (old != old_end && next != end) {
                const std::span<Pair> room = result.room();
                const auto steps = std::min(
                    {room.size(), static_cast<std::size_t>(old_end - old), static_cast<std::size_t>(end - next)});
                for (Pair& out : room.first(steps)) {
                    const bool old_first = *old < *next, equal = *old == *next;
                    const std::uint64_t mask = -std::uint64_t{old_first};  // no branch: see Pair
                    out.element = (old->element & mask) | (next->element & ~mask);
                    out.person = (old->person & mask) | (next->person & ~mask);
                    old += old_first | equal;
                    next += !old_first;
                }
                result.wrote(steps);
            }
            result.append(old, old_end);
        });
        result.append(next, end);
        return result;
    }

    static constexpr std::size_t kFewParts = 8;
    BlockPool& pool_;
    unsigned threads_;
    Interrupt& interrupt_;
    std::size_t least_room_;
    std::size_t rows_waiting_ = 0;
    std::size_t room_ = least_room_;
    std::size_t dropped_ = 0;  // from the few parts, since the last time that all were merged
    std::vector<Blocks<Pair>> waiting_ = empty_parts<Pair>(pool_);  // as they arrived
    std::vector<Blocks<Pair>> kept_ = empty_parts<Pair>(pool_);     // sorted, distinct
};

}  // namespace dpdistinct
