// The distinct pairs of a stream of rows, sorted. Memory grows with the distinct pairs, not with the rows:
// new rows wait in a bounded buffer, and a full buffer is sorted and merged into the pairs kept so far.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "blocks.hpp"
#include "interrupt.hpp"
#include "parallel.hpp"
#include "sort.hpp"

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
    DistinctPairs(BlockPool& pool, unsigned threads, Interrupt& interrupt)
        : pool_(pool), threads_(threads), interrupt_(interrupt) {}

    void add(const Pair& pair) { waiting_[part_of(pair.element)].push_back(pair); }

    // Call it after every batch of `rows` rows, each of which calls add() at most once.
    void added(std::size_t rows) {
        interrupt_.worked(rows);
        rows_waiting_ += rows;
        if (rows_waiting_ < room_) return;
        for_each_part([this](std::size_t i, Blocks<Pair> pairs, Interrupt&) { kept_[i] = std::move(pairs); });
        // The buffer holds 3/8 as many pairs as are kept, and at least two million. So each pair is merged
        // a constant number of times on average, and memory stays below 11/8 of the distinct pairs.
        rows_waiting_ = 0;
        room_ = std::max(kMinRoom, at_most() * 3 / 8);
    }

    // There are no more distinct pairs than this.
    std::size_t at_most() const {
        std::size_t count = rows_waiting_;
        for (const auto& part : kept_) count += part.size();
        return count;
    }

    // Calls use(i, pairs, interrupt) for every part, from several threads. The pairs are sorted and
    // distinct. The set is empty afterwards.
    template <class Use>
    void for_each_part(Use use) {
        ObjectPool<Sorter<Pair>> sorters;
        parallel_for(kParts, threads_, interrupt_, [&](std::size_t i, Interrupt& interrupt) {
            sorters.with_object([] { return Sorter<Pair>(); }, [&](Sorter<Pair>& sorter) {
                sorter.take(waiting_[i]);
                use(i, merged(kept_[i], sorter.sorted(interrupt)), interrupt);
            });
        });
    }

   private:
    Blocks<Pair> merged(Blocks<Pair>& kept, std::span<const Pair> fresh) {
        Blocks<Pair> result(pool_);
        const Pair* next = fresh.data();
        const Pair* const end = next + fresh.size();
        kept.drain([&](const Pair* old, const Pair* old_end) {
            while (old != old_end && next != end) {
                const std::span<Pair> room = result.room();
                const auto steps = std::min({room.size(), static_cast<std::size_t>(old_end - old),
                                             static_cast<std::size_t>(end - next)});
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

    static constexpr std::size_t kMinRoom = std::size_t{1} << 21;
    BlockPool& pool_;
    unsigned threads_;
    Interrupt& interrupt_;
    std::size_t rows_waiting_ = 0;
    std::size_t room_ = kMinRoom;
    std::vector<Blocks<Pair>> waiting_ = empty_parts<Pair>(pool_);  // as they arrived
    std::vector<Blocks<Pair>> kept_ = empty_parts<Pair>(pool_);     // sorted, distinct
};

}  // namespace dpdistinct
