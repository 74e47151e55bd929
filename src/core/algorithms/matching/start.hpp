// The first assignment: each element, those with few holders first, to its least loaded holder.
#pragma once

#include <cstdint>
#include <vector>

#include "base/interrupt.hpp"
#include "graph/graph.hpp"

namespace dpdistinct {

// Who gets which element at first.
struct Start {
    std::vector<std::uint32_t> load;  // of each person
    std::vector<Element> shared;      // elements of two or more holders, those with few first
    std::vector<Person> owner;        // of each of them
};

// base: as for balanced_loads.
Start first_assignment(const Graph& graph, const std::vector<std::uint32_t>& base, Interrupt& interrupt);

// The elements come in no order of memory, so what is needed of them is asked for ahead of time.
// Always inline: a compiler may take a call for useless and leave it out.
inline constexpr Element kSoon = 16, kLater = 32;
[[gnu::always_inline]] inline void prefetch(const Graph& graph, Element soon, Element later) {
    __builtin_prefetch(graph.holders.data() + graph.begin[soon]);
    __builtin_prefetch(graph.begin.data() + later);
}

}  // namespace dpdistinct
