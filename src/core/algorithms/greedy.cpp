#include "algorithms/greedy.hpp"

#include <algorithm>
#include <bit>
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
    const std::size_t at = home(person);
    __builtin_prefetch(&loads_[at], 1);
    __builtin_prefetch(&keys_[at]);
    Pair& place = waiting_[added_ % kAhead];
    if (added_++ >= kAhead) offer(place);
    place = {element, person};
}

void SortedGreedy::offer(const Pair& pair) {
    if (any_ && pair.element == element_) {
        const std::size_t before = keys_.size();
        const std::uint64_t best_key = keys_[best_];
        const std::size_t here = slot(pair.person);
        if (keys_.size() != before) best_ = slot(best_key);  // the table has grown
        if (loads_[here] < loads_[best_] || (loads_[here] == loads_[best_] && pair.person < best_key)) best_ = here;
        return;
    }
    if (any_) give_to_best();
    any_ = true;
    element_ = pair.element;
    best_ = slot(pair.person);
}

void SortedGreedy::give_to_best() {
    if (++loads_[best_] == 0) throw TooLarge();
    if (counts_) counts_->add(element_ & group_mask_, loads_[best_] - 1);  // loads_ holds the load plus one
}

std::vector<std::uint32_t> SortedGreedy::finish() {
    for (std::size_t i = added_ - std::min(added_, kAhead); i < added_; ++i) offer(waiting_[i % kAhead]);
    if (any_) give_to_best();
    any_ = false;
    added_ = 0;
    std::vector<std::uint32_t> loads;
    loads.reserve(used_);
    for (std::uint32_t load : loads_)
        if (load > 0) loads.push_back(load - 1);
    return loads;
}

std::size_t SortedGreedy::slot(std::uint64_t person) {
    std::size_t at = home(person);
    while (loads_[at] > 0 && keys_[at] != person) at = (at + 1) & (keys_.size() - 1);
    if (loads_[at] == 0) {
        if (2 * (used_ + 1) > keys_.size()) {
            resize(2 * keys_.size());
            return slot(person);
        }
        ++used_;
        keys_[at] = person;
        loads_[at] = 1;
    }
    return at;
}

void SortedGreedy::resize(std::size_t slots) {
    std::vector<std::uint64_t> keys(slots);
    std::vector<std::uint32_t> loads(slots, 0);
    keys.swap(keys_);
    loads.swap(loads_);
    shift_ = 64 - std::countr_zero(slots);
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (loads[i] == 0) continue;
        std::size_t at = home(keys[i]);
        while (loads_[at] > 0) at = (at + 1) & (slots - 1);
        keys_[at] = keys[i];
        loads_[at] = loads[i];
    }
}

}  // namespace dpdistinct
