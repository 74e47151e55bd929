#include "algorithms/matching/start.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace dpdistinct {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

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

// The least loaded of an element's holders, if one has less than `below`; else `otherwise`.
Person least_loaded(const Graph& graph, const std::vector<std::uint32_t>& load, Element e, std::uint32_t below,
                    Person otherwise) {
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

}  // namespace

Start first_assignment(const Graph& graph, const std::vector<std::uint32_t>& base, Interrupt& interrupt) {
    std::vector<std::uint32_t> load = base.empty() ? std::vector<std::uint32_t>(graph.people, 0) : base;
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

}  // namespace dpdistinct
