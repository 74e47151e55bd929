// An optimal semi-matching (Harvey, Ladner, Lovasz, Tamir 2006) by divide and conquer on loads.
//
// A first assignment gives each element, those with few holders first, to its least loaded holder.
// It is repaired part by part. A part is a set of people whose loads lie in [lo, hi]; with a cap
// in between, load is moved from people above the cap to people below it, along paths in which
// each person hands one element on to the next: the shortest ones first (Hopcroft-Karp phases:
// breadth-first layers, then disjoint depth-first paths), and when few are left, those that search
// trees find (Boykov-Kolmogorov). When no path is left, the people that those above the cap still
// reach form the part [cap, hi], the others [lo, cap], and no element ever needs to cross from one
// to the other again (docs/proofs/curves.md).
//
// Time: a cap takes O(sqrt(M)) phases of O(E) for E pairs and M elements of two or more holders;
// the parts of one depth are disjoint, and every third cap halves the range of loads. So all caps
// take O(E sqrt(M) log(max load)); on real tables it is a few times E.
#include "balanced.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "array.hpp"
#include "assignment.hpp"
#include "repair.hpp"

namespace dpdistinct {
namespace {

// Elements by their number of holders, few first: a counting sort.
std::vector<Element> rare_first(const Graph& graph, Interrupt& interrupt) {
    std::uint64_t most = 0;
    for (Element e = 0; e < graph.elements(); ++e) most = std::max(most, graph.degree(e));
    std::vector<Element> at(most + 2, 0), order(graph.elements());
    for (Element e = 0; e < graph.elements(); ++e) ++at[graph.degree(e) + 1];
    for (std::size_t d = 1; d < at.size(); ++d) at[d] += at[d - 1];
    for (Element e = 0; e < graph.elements(); ++e) {
        order[at[graph.degree(e)]++] = e;
        interrupt.worked(1);
    }
    return order;
}

// The elements come in no order of memory, so what is needed of them is asked for ahead of time.
// Always inline: a compiler may take a call for useless and leave it out.
constexpr Element kSoon = 16, kLater = 32;
[[gnu::always_inline]] inline void prefetch(const Graph& graph, Element soon, Element later) {
    __builtin_prefetch(graph.holders.data() + graph.begin[soon]);
    __builtin_prefetch(graph.begin.data() + later);
}

// The least loaded of an element's holders, if one has less than `below`; else `otherwise`.
Person least_loaded(const Graph& graph, const std::vector<std::uint32_t>& load, Element e,
                    std::uint32_t below, Person otherwise) {
    Person best = otherwise;
    for (std::uint64_t x = graph.begin[e]; x < graph.begin[e + 1] && below > 0; ++x) {
        const Person p = graph.holders[x];
        if (load[p] < below) {
            below = load[p];
            best = p;
        }
    }
    return best;
}

// Who gets which element at first.
struct Start {
    std::vector<std::uint32_t> load;  // of each person
    std::vector<Element> shared;      // of the graph, those with few holders first
    std::vector<Person> owner;        // of each of them
};

Start start(const Graph& graph, Interrupt& interrupt) {
    std::vector<std::uint32_t> load(graph.people, 0);
    std::vector<Element> order = rare_first(graph, interrupt);
    auto shared = std::find_if(order.begin(), order.end(), [&](Element e) { return graph.degree(e) > 1; });
    for (auto e = order.begin(); e != shared; ++e) {
        ++load[graph.holders[graph.begin[*e]]];
        interrupt.worked(1);
    }
    order.erase(order.begin(), shared);
    order.shrink_to_fit();

    const auto count = static_cast<Element>(order.size());
    std::vector<Person> owner(count);
    for (Element k = 0; k < count; ++k) {
        if (k + kLater < count) prefetch(graph, order[k + kSoon], order[k + kLater]);
        ++load[owner[k] = least_loaded(graph, load, order[k], kNone, kNone)];
        interrupt.worked(graph.degree(order[k]));
    }
    // One round of single moves settles most of what is left, far cheaper than paths.
    for (Element k = 0; k < count; ++k) {
        if (k + kLater < count) prefetch(graph, order[k + kSoon], order[k + kLater]);
        const std::uint32_t mine = load[owner[k]];
        const Person better = least_loaded(graph, load, order[k], mine - 1, owner[k]);
        if (better != owner[k]) {
            --load[owner[k]];
            ++load[owner[k] = better];
        }
        interrupt.worked(graph.degree(order[k]));
    }
    return {std::move(load), std::move(order), std::move(owner)};
}

// Stores the elements owner by owner: the searches then read memory in order.
Assignment arrange(const Graph& graph, Start start, Interrupt& interrupt) {
    Assignment a;
    a.load = std::move(start.load);
    const auto count = static_cast<Element>(start.shared.size());
    std::vector<Element> at(graph.people + std::size_t{1}, 0);
    for (Person p : start.owner) ++at[p + 1];
    for (Person p = 0; p < graph.people; ++p) at[p + 1] += at[p];
    a.shared.resize(count + std::size_t{1});
    a.owner.resize(count);
    std::uint64_t pairs = 0;
    for (Element k = 0; k < count; ++k) {
        const Element to = at[start.owner[k]]++;
        a.shared[to].next = start.shared[k];  // in the graph, until the holders are here
        a.owner[to] = start.owner[k];
        pairs += graph.degree(start.shared[k]);
        interrupt.worked(1);
    }
    start = {};
    for (Person p = graph.people; p-- > 0;) {  // at[p] has become the end of p's elements
        const Element first = p == 0 ? 0 : at[p - 1];
        at[p] = first < at[p] ? first : kNone;
    }
    a.first_owned = std::move(at);
    a.holders.resize(pairs);
    std::uint64_t begin = 0;
    for (Element e = 0; e < count; ++e) {
        if (e + kLater < count) prefetch(graph, a.shared[e + kSoon].next, a.shared[e + kLater].next);
        const Element original = a.shared[e].next;
        a.shared[e] = {begin, e + 1 < count && a.owner[e + 1] == a.owner[e] ? e + 1 : kNone,
                       e > 0 && a.owner[e - 1] == a.owner[e] ? e - 1 : kNone};
        std::copy_n(graph.holders.data() + graph.begin[original], graph.degree(original), a.holders.data() + begin);
        begin += graph.degree(original);
        interrupt.worked(graph.degree(original));
    }
    a.shared[count].begin = pairs;
    return a;
}

}  // namespace

std::vector<std::uint32_t> balanced_loads(const Graph& graph, unsigned threads, Interrupt& interrupt,
                                          std::uint64_t first_trees) {
    Start first = start(graph, interrupt);
    const auto [least, most] = std::minmax_element(first.load.begin(), first.load.end());
    if (first.load.empty() || *most - *least < 2) return std::move(first.load);  // even already
    Assignment a = arrange(graph, std::move(first), interrupt);
    std::vector<Person> people(graph.people);
    std::iota(people.begin(), people.end(), 0);
    std::vector<Part> todo{{0, graph.people, 0}};
    Held held;
    try {
        Repair<std::uint8_t>(a, people, todo, held, threads, first_trees, interrupt).run();
    } catch (const TooDeep&) {
        Repair<std::uint32_t>(a, people, todo, held, threads, first_trees, interrupt).run();
    }
    return std::move(a.load);
}

}  // namespace dpdistinct
