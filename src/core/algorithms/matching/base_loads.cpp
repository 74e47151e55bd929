#include "algorithms/matching/base_loads.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "algorithms/matching/balanced.hpp"

namespace dpdistinct {

void BaseLoads::add(std::uint64_t person, std::uint64_t elements) {
    const auto found = std::lower_bound(graph_.people_keys.begin(), graph_.people_keys.end(), person);
    if (found == graph_.people_keys.end() || *found != person)
        throw std::invalid_argument("a base load must be that of a person of the graph");
    std::uint32_t& base = base_[static_cast<std::size_t>(found - graph_.people_keys.begin())];
    if (elements > kMaxIndex - base) throw TooLarge();
    base += static_cast<std::uint32_t>(elements);
}

// The base loads with wide gaps closed. Whoever has two more than all below could ever have compares with them in
// the same way however much more it is, so the same assignments are even (docs/proofs/curves.md, claim 9). And the
// solver, whose memory follows the largest load, needs no more for somebody with millions of elements.
std::vector<std::uint32_t> BaseLoads::narrowed() const {
    std::vector<std::uint32_t> holds(graph_.people, 0);
    for (Person holder : graph_.holders) ++holds[holder];
    std::vector<Person> order(graph_.people);
    std::iota(order.begin(), order.end(), Person{0});
    std::sort(order.begin(), order.end(), [&](Person a, Person b) { return base_[a] < base_[b]; });
    std::vector<std::uint32_t> narrow(graph_.people);
    std::uint64_t reach = 0, at = 0, base = 0;  // reach: what anybody below can have, and two more
    for (Person p : order) {
        at = std::min(at + (base_[p] - base), std::max(at, reach));
        base = base_[p];
        narrow[p] = static_cast<std::uint32_t>(at);
        reach = std::max(reach, at + holds[p] + 2);
    }
    return narrow;
}

std::vector<std::uint32_t> BaseLoads::balanced_loads(unsigned threads, Interrupt& interrupt) const {
    const std::vector<std::uint32_t> narrow = narrowed();
    std::vector<std::uint32_t> loads =
        dpdistinct::balanced_loads(graph_, threads, interrupt, kFirstTrees, kPatience, narrow);
    for (Person p = 0; p < graph_.people; ++p) loads[p] += base_[p] - narrow[p];
    return loads;
}

}  // namespace dpdistinct
