// Algorithm 2 of the paper for every bound at once: each element, in the order of the keys, goes
// to its least loaded holder, ties to the smaller key (docs/proofs/curves.md).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

#include "algorithms/rounds.hpp"
#include "base/interrupt.hpp"
#include "base/sort.hpp"
#include "graph/graph.hpp"
#include "graph/key_numbers.hpp"

namespace dpdistinct {

std::vector<std::uint32_t> greedy_loads(const Graph& graph, Interrupt& interrupt);

// The same pass; counts in which round each group's elements are taken. The kept set S_l is what was
// taken in rounds 1 to l, so this gives its share in every group, for every l (docs/proofs/groups.md).
void greedy_rounds(const Graph& graph, RoundCounts& counts, Interrupt& interrupt);

struct NotSorted : std::invalid_argument {
    NotSorted() : std::invalid_argument("the pairs must be sorted by element key") {}
};

// The same loads from a stream of pairs sorted by element key. The least loaded holder of an element
// does not depend on the order of its holders, nor on repeated pairs. Holds one counter for each
// person and nothing else.
class SortedGreedy {
   public:
    SortedGreedy() = default;
    // Also counts by group and round; the group of an element is the `group_bits` low bits of its key.
    SortedGreedy(int group_bits, RoundCounts counts)
        : group_mask_((std::uint64_t{1} << group_bits) - 1), counts_(std::move(counts)) {}

    void add(std::uint64_t person, std::uint64_t element);
    std::vector<std::uint32_t> finish();
    const RoundCounts* counts() const { return counts_ ? &*counts_ : nullptr; }  // after finish()

   private:
    void offer(const Pair& pair);  // to its person, who may be the least loaded holder so far
    void give_to_best();

    KeyNumbers people_;
    std::vector<std::uint32_t> loads_;  // by the number of the person

    // A pair waits for kAhead others, while the memory of its person's counter is fetched; after half of them
    // it is known where the counter is likely to be.
    static constexpr std::size_t kAhead = 16;
    std::array<Pair, kAhead> waiting_{};
    std::size_t added_ = 0;
    std::uint64_t last_ = 0;  // the element of the pair that was added last

    bool any_ = false;
    std::uint64_t element_ = 0;  // the current element
    std::uint32_t best_ = 0;     // the least loaded holder of the current element so far

    std::uint64_t group_mask_ = 0;
    std::optional<RoundCounts> counts_;
};

}  // namespace dpdistinct
