// The first basis: which elements are kept at one bound when the earliest keys have the first claim.
#pragma once

#include <cstdint>
#include <vector>

#include "base/interrupt.hpp"
#include "graph/graph.hpp"

namespace dpdistinct {

// After how much work for one element a search for a closed region is first tried (basis.cpp). The result
// does not depend on it, only the time; tests vary it.
inline constexpr std::uint64_t kFirstSearch = 1 << 10;

// B_l for l = `bound`: take the elements in the order of their keys and keep each one that can still be
// assigned to a holder together with all that were kept before, nobody having more than l. It has as many
// elements as any choice can have, DC(D; l). Unlike an arbitrary maximum matching it is nested: a
// person more keeps all that was kept, and at most l elements besides (docs/proofs/groups.md, G1).
// Returns how many kept elements each of the `groups` groups has.
std::vector<std::int64_t> first_basis(const Graph& graph, std::uint32_t bound, std::size_t groups, Interrupt& interrupt,
                                      std::uint64_t first_search = kFirstSearch);

}  // namespace dpdistinct
