// Algorithm 2 of the paper for every bound at once: each element, in the order of the keys, goes
// to its least loaded holder, ties to the smaller key (docs/proofs/curves.md).
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

#include "graph.hpp"
#include "interrupt.hpp"

namespace dpdistinct {

std::vector<std::uint32_t> greedy_loads(const Graph& graph, Interrupt& interrupt);

struct NotSorted : std::invalid_argument {
    NotSorted() : std::invalid_argument("the pairs must be sorted by element key, then by person key") {}
};

// The same loads from a stream of pairs sorted by element key, then person key. Repeated pairs
// are adjacent and count once. Holds one counter for each person and nothing else.
class SortedGreedy {
   public:
    SortedGreedy() { resize(1 << 10); }

    void add(std::uint64_t person, std::uint64_t element);
    std::vector<std::uint32_t> finish();

   private:
    void resize(std::size_t slots);
    std::size_t slot(std::uint64_t person);
    void give_to_best();

    // An open-addressing table: loads_[slot] is the load plus one, or zero where it is free.
    std::vector<std::uint64_t> keys_;
    std::vector<std::uint32_t> loads_;
    std::size_t used_ = 0;
    int shift_ = 0;

    bool any_ = false;
    std::uint64_t element_ = 0, person_ = 0;  // the last pair
    std::size_t best_ = 0;                    // the least loaded holder of the current element so far
};

}  // namespace dpdistinct
