// The exact curve for every bound at once: an assignment of every element to one of its holders
// whose loads are as even as they can be. DC(D; l) is then the sum of min(load, l).
#pragma once

#include <cstdint>
#include <vector>

#include "graph.hpp"
#include "interrupt.hpp"

namespace dpdistinct {

std::vector<std::uint32_t> balanced_loads(const Graph& graph, unsigned threads, Interrupt& interrupt);

}  // namespace dpdistinct
