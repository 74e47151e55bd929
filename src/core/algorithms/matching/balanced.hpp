// The exact curve for every bound at once: an assignment of every element to one of its holders
// whose loads are as even as they can be. DC(D; l) is then the sum of min(load, l).
#pragma once

#include <cstdint>
#include <vector>

#include "base/interrupt.hpp"
#include "graph/graph.hpp"

namespace dpdistinct {

// How often each load occurs does not depend on these two, only the time; tests vary them.
inline constexpr std::uint64_t kFirstTrees = 4;  // after so many phases of a cap trees may take over (repair.hpp)
inline constexpr std::uint64_t kPatience = 32;   // times looking at all pairs: the work of the levels (peel.hpp)

// base: what each person owns besides, of elements that nobody else holds; nothing if it is empty.
std::vector<std::uint32_t> balanced_loads(const Graph& graph, unsigned threads, Interrupt& interrupt,
                                          std::uint64_t first_trees = kFirstTrees, std::uint64_t patience = kPatience,
                                          const std::vector<std::uint32_t>& base = {});

}  // namespace dpdistinct
