// An optimal semi-matching (Harvey, Ladner, Lovasz, Tamir 2006), from the top and by divide and conquer.
//
// A first assignment gives each element, those with few holders first, to its least loaded holder (start.cpp).
// Then load is moved from people who have much to people who have at least two less, along paths in which
// each person hands one element on to the next. When no path is left from a set of people to anybody below them,
// these are final (docs/proofs/curves.md).
//
// On most tables this goes level by level, from the largest load down (peel.hpp), with as much work as a few times
// looking at all pairs. When that has taken long without an end, the rest is repaired part by part
// (repair.hpp). A part is a set of people whose loads lie in [lo, hi]; with a cap in between, load is moved from people
// above the cap to people below it: along the shortest paths first (Hopcroft-Karp phases: breadth-first
// layers, then disjoint depth-first paths), and when few are left, along those that search trees find
// (Boykov-Kolmogorov). When no path is left, the people that those above the cap still reach form the part
// [cap, hi], the others [lo, cap], and no element ever needs to cross from one to the other again.
//
// Time: the levels take O(E) for E pairs, because their work is limited. Then a cap takes O(sqrt(M)) phases of O(E)
// for M elements of two or more holders; the parts of one depth are disjoint, and every third cap halves the
// range of loads. So all caps take O(E sqrt(M) log(max load)).
#include "algorithms/matching/balanced.hpp"

#include <algorithm>
#include <utility>

#include "algorithms/matching/assignment.hpp"
#include "algorithms/matching/peel.hpp"
#include "algorithms/matching/repair.hpp"
#include "algorithms/matching/start.hpp"

namespace dpdistinct {

std::vector<std::uint32_t> balanced_loads(const Graph& graph, unsigned threads, Interrupt& interrupt,
                                          std::uint64_t first_trees, std::uint64_t patience,
                                          const std::vector<std::uint32_t>& base) {
    Start start = first_assignment(graph, base, interrupt);
    if (start.load.empty()) return {};
    const auto [least, most] = std::minmax_element(start.load.begin(), start.load.end());
    if (*most - *least < 2) return std::move(start.load);  // even already

    std::vector<Person> people;
    Assignment a;
    {
        Peel peel(graph, std::move(start), patience, interrupt);
        if (peel.run()) return std::move(peel).loads();
        people = peel.people_left();
        a = std::move(peel).assignment_left();
    }
    std::vector<Part> todo{{0, static_cast<Person>(people.size()), 0}};
    Held held;
    try {
        Repair<std::uint8_t>(a, people, todo, held, threads, first_trees, interrupt).run();
    } catch (const TooDeep&) {
        Repair<std::uint32_t>(a, people, todo, held, threads, first_trees, interrupt).run();
    }
    return std::move(a.load);
}

}  // namespace dpdistinct
