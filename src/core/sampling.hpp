// What other tools do, as a baseline: each person keeps l of their elements at random.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "graph.hpp"
#include "interrupt.hpp"

namespace dpdistinct {

// Everybody puts their elements in a random order of their own; the best rank of an element is
// the smallest place it has with any holder. With bound l the elements of best rank <= l are
// counted: every l from one pass.
std::vector<std::uint32_t> best_ranks(const Graph& graph, std::array<std::uint64_t, 4> secret,
                                      Interrupt& interrupt);

}  // namespace dpdistinct
