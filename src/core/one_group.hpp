// Everybody counts in one group only: the graph falls apart by group, and one run serves all groups.
#pragma once

#include <cstdint>
#include <vector>

#include "graph.hpp"
#include "interrupt.hpp"

namespace dpdistinct {

// The same people, each with those of their elements alone that lie in the first (lowest) of the groups
// they have elements in: a rule of that person alone. Elements that nobody is left with are dropped.
Graph one_group_per_person(const Graph& graph, Interrupt& interrupt);

// How often each load occurs in each group of such a graph, by group and then by load.
struct GroupLoads {
    std::vector<std::int64_t> group, load, people;  // one entry for each load > 0 that occurs in a group
};
GroupLoads loads_by_group(const Graph& graph, const std::vector<std::uint32_t>& loads, Interrupt& interrupt);

}  // namespace dpdistinct
