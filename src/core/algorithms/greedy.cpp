#include "algorithms/greedy.hpp"

#include <algorithm>
#include <span>

namespace dpdistinct {

namespace {

// Calls taken(e, r) for every element e in the order of the keys: e is taken in round r, by a holder who has
// r - 1 elements so far.
template <class Taken>
std::vector<std::uint32_t> run_greedy(const Graph& graph, Interrupt& interrupt, Taken taken) {
    std::vector<std::uint32_t> loads(graph.people, 0);
    for (Element e = 0; e < graph.elements(); ++e) {
        const std::span holders(graph.holders.data() + graph.begin[e], graph.degree(e));
        // Load and number in one word: of those with the least load the first.
        auto rank = [&](Person p) { return std::uint64_t{loads[p]} << 32 | p; };
        std::uint64_t best = rank(holders[0]);
        for (const Person p : holders.subspan(1)) best = std::min(best, rank(p));
        taken(e, ++loads[static_cast<Person>(best)]);
        interrupt.worked(graph.degree(e));
    }
    return loads;
}

}  // namespace

std::vector<std::uint32_t> greedy_loads(const Graph& graph, Interrupt& interrupt) {
    return run_greedy(graph, interrupt, [](Element, std::uint32_t) {});
}

void greedy_rounds(const Graph& graph, RoundCounts& counts, Interrupt& interrupt) {
    graph.need_groups();
    run_greedy(graph, interrupt, [&](Element e, std::uint32_t round) { counts.add(graph.groups[e], round); });
}

void SortedGreedy::add(std::uint64_t person, std::uint64_t element) {
    if (element < last_) throw NotSorted();
    last_ = element;
    const std::uint64_t soon = waiting_[(added_ + kAhead / 2) % kAhead].person;
    if (const std::uint32_t likely = people_.prepare(person, soon); likely != KeyNumbers::kNone)
        __builtin_prefetch(&loads_[likely], 1);
    Pair& place = waiting_[added_ % kAhead];
    if (added_++ >= kAhead) offer(place);
    place = {element, person};
}

void SortedGreedy::offer(const Pair& pair) {
    const std::uint32_t here = people_(pair.person);
    if (here == loads_.size()) loads_.push_back(0);
    if (any_ && pair.element == element_) {
        const bool before = pair.person < people_.keys()[best_];
        if (loads_[here] < loads_[best_] || (loads_[here] == loads_[best_] && before)) best_ = here;
        return;
    }
    if (any_) give_to_best();
    any_ = true;
    element_ = pair.element;
    best_ = here;
}

void SortedGreedy::give_to_best() {
    if (++loads_[best_] == 0) throw TooLarge();
    if (counts_) counts_->add(element_ & group_mask_, loads_[best_]);
}

std::vector<std::uint32_t> SortedGreedy::finish() {
    for (std::size_t i = added_ - std::min(added_, kAhead); i < added_; ++i) offer(waiting_[i % kAhead]);
    if (any_) give_to_best();
    any_ = false;
    added_ = 0;
    return loads_;
}

}  // namespace dpdistinct
