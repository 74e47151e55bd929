#include "algorithms/one_group.hpp"

#include <algorithm>
#include <limits>

namespace dpdistinct {
namespace {

std::vector<std::uint32_t> first_groups(const Graph& graph, Interrupt& interrupt) {
    graph.need_groups();
    std::vector<std::uint32_t> first(graph.people, std::numeric_limits<std::uint32_t>::max());
    for (Element e = 0; e < graph.elements(); ++e) {
        for (std::uint64_t x = graph.begin[e]; x < graph.begin[e + 1]; ++x) {
            std::uint32_t& mine = first[graph.holders[x]];
            mine = std::min(mine, graph.groups[e]);
        }
        interrupt.worked(graph.degree(e));
    }
    return first;
}

}  // namespace

Graph one_group_per_person(const Graph& graph, Interrupt& interrupt) {
    const std::vector<std::uint32_t> first = first_groups(graph, interrupt);
    Graph result;
    result.people = graph.people;
    result.people_keys = graph.people_keys;
    for (Element e = 0; e < graph.elements(); ++e) {
        const std::size_t before = result.holders.size();
        for (std::uint64_t x = graph.begin[e]; x < graph.begin[e + 1]; ++x)
            if (first[graph.holders[x]] == graph.groups[e]) result.holders.push_back(graph.holders[x]);
        interrupt.worked(graph.degree(e));
        if (result.holders.size() == before) continue;
        result.begin.push_back(result.holders.size());
        result.groups.push_back(graph.groups[e]);
    }
    return result;
}

GroupLoads loads_by_group(const Graph& graph, const std::vector<std::uint32_t>& loads, Interrupt& interrupt) {
    const std::vector<std::uint32_t> group = first_groups(graph, interrupt);
    std::vector<std::uint64_t> keys;  // group and load of everybody who has one
    for (Person p = 0; p < graph.people; ++p)
        if (loads[p] > 0) keys.push_back(std::uint64_t{group[p]} << 32 | loads[p]);
    std::sort(keys.begin(), keys.end());
    GroupLoads result;
    for (auto first = keys.begin(); first != keys.end();) {
        const auto last = std::upper_bound(first, keys.end(), *first);
        result.group.push_back(static_cast<std::int64_t>(*first >> 32));
        result.load.push_back(static_cast<std::int64_t>(*first & 0xffffffff));
        result.people.push_back(last - first);
        first = last;
    }
    return result;
}

}  // namespace dpdistinct
