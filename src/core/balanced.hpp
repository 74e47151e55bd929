// The exact curve for every bound at once: an assignment of every element to one of its holders
// whose loads are as even as they can be. DC(D; l) is then the sum of min(load, l).
#pragma once

#include <cstdint>
#include <vector>

#include "graph.hpp"
#include "interrupt.hpp"

namespace dpdistinct {

// After how many phases of a cap trees may take over (repair.hpp). How often each load occurs does
// not depend on it, only the time; tests vary it.
inline constexpr std::uint64_t kFirstTrees = 4;

std::vector<std::uint32_t> balanced_loads(const Graph& graph, unsigned threads, Interrupt& interrupt,
                                          std::uint64_t first_trees = kFirstTrees);

}  // namespace dpdistinct
