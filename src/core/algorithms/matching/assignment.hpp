// Who owns which element while the loads are being evened out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "base/array.hpp"
#include "base/interrupt.hpp"
#include "base/parallel.hpp"
#include "graph/graph.hpp"

namespace dpdistinct {

inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// An element with two or more holders; the only kind that can move. All that a search needs of it
// lies together, because the searches lose their time in reaching for memory.
struct Shared {
    std::uint64_t begin;     // of its holders, which end where those of the one stored next begin
    Element next, previous;  // of the same owner
};

// Everybody's load, and the shared elements, stored owner by owner as the assignment has it at first.
struct Assignment {
    std::vector<std::uint32_t> load;  // of each person, single-holder elements included
    std::vector<Element> first_owned;
    Array<Shared> shared;  // and one more, to end the holders of the last
    Array<Person> owner;   // of each shared element; apart, for the searches against the load
    Array<Person> holders;

    Person people() const { return static_cast<Person>(load.size()); }
    Element elements() const { return static_cast<Element>(owner.size()); }
    std::uint64_t degree(Element e) const { return shared[e + 1].begin - shared[e].begin; }

    void hand_over(Element e, Person to) {
        Shared& moved = shared[e];
        (moved.previous == kNone ? first_owned[owner[e]] : shared[moved.previous].next) = moved.next;
        if (moved.next != kNone) shared[moved.next].previous = moved.previous;
        moved.next = first_owned[to];
        moved.previous = kNone;
        if (moved.next != kNone) shared[moved.next].previous = e;
        first_owned[to] = e;
        owner[e] = to;
    }
};

// Which elements each person holds; searches against the direction of the load need it, and trees.
struct Held {
    std::vector<std::uint64_t> begin;
    Array<Element> elements;

    void build(const Assignment& a, unsigned threads, Interrupt& interrupt) {
        begin.assign(a.people() + std::size_t{2}, 0);
        for (Person p : a.holders) ++begin[p + std::size_t{2}];
        std::partial_sum(begin.begin(), begin.end(), begin.begin());
        elements.resize(a.holders.size());
        // Every thread reads all pairs and writes those of its own range of people.
        const std::uint64_t pieces = std::max(1u, threads);
        parallel_for(pieces, threads, interrupt, [&](std::size_t i, Interrupt& mine) {
            const auto from = static_cast<Person>(a.people() * i / pieces);
            const auto width = static_cast<Person>(a.people() * (i + 1) / pieces) - from;
            for (Element e = 0; e < a.elements(); ++e) {
                for (std::uint64_t x = a.shared[e].begin, end = a.shared[e + 1].begin; x < end; ++x)
                    if (a.holders[x] - from < width) elements[begin[a.holders[x] + 1]++] = e;
                mine.worked(a.degree(e));
            }
        });
    }
};

}  // namespace dpdistinct
