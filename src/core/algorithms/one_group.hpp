// Each person counts in one group only. Then the groups share no person, and one run serves all of them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/interrupt.hpp"
#include "graph/graph.hpp"

namespace dpdistinct {

// Each person keeps only the elements of their first (lowest) group. This depends on that person alone.
// Elements that nobody keeps are dropped.
Graph one_group_per_person(const Graph& graph, Interrupt& interrupt);

// How many people have each load in each group of such a graph, sorted by group, then load.
struct GroupLoads {
    std::vector<std::int64_t> group, load, people;  // one entry for each load > 0 that occurs in a group
};
GroupLoads loads_by_group(const Graph& graph, const std::vector<std::uint32_t>& loads, Interrupt& interrupt);

}  // namespace dpdistinct
