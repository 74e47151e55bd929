// The table as a bipartite graph: who holds which element, no pair twice.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "base/array.hpp"

namespace dpdistinct {

using Person = std::uint32_t;
using Element = std::uint32_t;

// Both sides are numbered by the order of their 64-bit keys, never by arrival: the proofs of the
// greedy curve need an order that does not depend on who else is in the table.
struct Graph {
    Person people = 0;
    Array<std::uint64_t> people_keys;  // of each person, increasing
    Array<std::uint64_t> begin{0};     // element e is held by holders[begin[e] .. begin[e + 1])
    Array<Person> holders;             // of one element in any order, nobody twice
    Array<std::uint32_t> groups;       // of each element: the low bits of its key; empty unless asked for

    Element elements() const { return static_cast<Element>(begin.size() - 1); }
    std::uint64_t pairs() const { return holders.size(); }
    std::uint64_t degree(Element e) const { return begin[e + 1] - begin[e]; }
    // Kernels that count by group call this first, because a graph may have been built without groups.
    void need_groups() const {
        if (groups.size() != elements()) throw std::invalid_argument("this table was read without groups");
    }
};

// People and elements are 32-bit numbers; the top half of the range is reserved for marks.
inline constexpr std::uint64_t kMaxIndex = 0x7fffffff;

struct TooLarge : std::overflow_error {
    TooLarge() : std::overflow_error("the table has 2^31 or more people or elements") {}  // errors.py says more
};

}  // namespace dpdistinct
