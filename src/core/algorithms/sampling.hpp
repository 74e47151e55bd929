// The baseline, as in other tools: each person keeps l of their elements at random.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/interrupt.hpp"
#include "graph/graph.hpp"

namespace dpdistinct {

// Each person puts their elements in a random order. The best rank of an element is its smallest place among
// all its holders. At bound l, the elements of best rank <= l are counted. So one pass serves every l.
std::vector<std::uint32_t> best_ranks(const Graph& graph, std::array<std::uint64_t, 4> secret, Interrupt& interrupt);

}  // namespace dpdistinct
