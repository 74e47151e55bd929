// An optimal semi-matching (Harvey, Ladner, Lovasz, Tamir 2006) by divide and conquer on loads.
//
// A first assignment gives each element, those with few holders first, to its least loaded holder.
// It is repaired part by part. A part is a set of people whose loads lie in [lo, hi]; with a cap
// in between, load is moved from people above the cap to people below it, along shortest paths in
// which each person hands one element on to the next (Hopcroft-Karp phases: breadth-first layers,
// then disjoint depth-first paths). When no path is left, the people that those above the cap
// still reach form the part [cap, hi], the others [lo, cap], and no element ever needs to cross
// from one to the other again (docs/proofs/curves.md).
//
// Time: a cap takes O(sqrt(M)) phases of O(E) for E pairs and M elements of two or more holders;
// the parts of one depth are disjoint, and every third cap halves the range of loads. So all caps
// take O(E sqrt(M) log(max load)); on real tables it is a few times E.
#include "balanced.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "array.hpp"
#include "parallel.hpp"

namespace dpdistinct {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// An element with two or more holders; the only kind that can move. All that a search needs of it
// lies together, because the searches lose their time in reaching for memory.
struct Shared {
    std::uint64_t begin;     // of its holders, which end where those of the one stored next begin
    Element next, previous;  // of the same owner
};

// Everybody's load, and the shared elements, stored owner by owner as the first assignment has it.
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
        ++load[owner[k] = least_loaded(graph, load, order[k], kNone, kNone)];
        interrupt.worked(graph.degree(order[k]));
    }
    // One or two rounds of single moves settle most of what is left, far cheaper than paths.
    for (int round = 0, moved = 1; round < 2 && moved > 0; ++round) {
        moved = 0;
        for (Element k = 0; k < count; ++k) {
            const std::uint32_t mine = load[owner[k]];
            const Person better = least_loaded(graph, load, order[k], mine - 1, owner[k]);
            if (better != owner[k]) {
                --load[owner[k]];
                ++load[owner[k] = better];
                moved = 1;
            }
            interrupt.worked(graph.degree(order[k]));
        }
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

// Which elements each person holds; only searches against the direction of the load need it.
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

struct Part {
    Person begin, end;  // a range of Repair::people_
    int depth;
};

// Thrown out of a search that is deeper than the type of the levels can count.
struct TooDeep {};

// Level is one byte, so that the state of everybody stays in the cache; only a graph with very
// long paths needs the wide one.
template <class Level>
class Repair {
   public:
    Repair(Assignment& a, std::vector<Person>& people, std::vector<Part>& todo, Held& held,
           unsigned threads, Interrupt& interrupt)
        : a_(a), people_(people), todo_(todo), held_(held), threads_(threads), interrupt_(interrupt),
          level_(a.people(), kOutside), at_(a.people()), queue_(a.people()) {}

    // Takes parts from the list until it is empty. Stops early, everything in order, by TooDeep.
    void run() {
        while (!todo_.empty()) {
            const Part part = todo_.back();
            std::uint32_t lo = kNone, hi = 0;
            std::uint64_t sum = 0;
            for (Person i = part.begin; i < part.end; ++i) {
                const std::uint32_t load = a_.load[people_[i]];
                lo = std::min(lo, load);
                hi = std::max(hi, load);
                sum += load;
            }
            if (part.end - part.begin < 2 || hi - lo < 2) {  // even already
                todo_.pop_back();
                continue;
            }
            // The mean splits real tables best; the middle of the range bounds the depth.
            const std::uint64_t middle =
                part.depth % 3 == 2 ? lo + (hi - lo) / 2 : sum / (part.end - part.begin);
            const auto cap = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(middle, lo + 1, hi - 1));
            const Person split = balance(part, cap);
            todo_.pop_back();
            todo_.push_back({part.begin, split, part.depth + 1});
            todo_.push_back({split, part.end, part.depth + 1});
        }
    }

   private:
    // A person's level: the layer of the search they were found in, or one of these.
    static constexpr Level kFree = std::numeric_limits<Level>::max();  // not found yet
    static constexpr Level kTarget = kFree - 1;                        // a path may end here
    static constexpr Level kOutside = kFree - 2;                       // not in this part
    static constexpr Level kDead = kFree - 3;                          // no path from here in this phase
    static constexpr Level kMaxLayer = kFree - 4;

    static constexpr std::uint64_t kFirstSweep = 24;

    // Searches with the load: from people above the cap, through the elements they own, to the
    // other holders.
    struct Downhill {
        Repair& r;
        bool is_root(Person p, std::uint32_t cap) const { return r.a_.load[p] > cap; }
        void restart(Person p) const { r.at_[p] = {r.a_.first_owned[p], 0}; }
        template <class Visit>
        bool any(Person p, Visit visit) const {
            for (Element e = r.a_.first_owned[p]; e != kNone; e = r.a_.shared[e].next) {
                r.interrupt_.worked(r.a_.degree(e));
                for (std::uint64_t x = r.a_.shared[e].begin, end = r.a_.shared[e + 1].begin; x < end; ++x)
                    if (visit(r.a_.holders[x])) return true;
            }
            return false;
        }
        // The next person of a wanted level and the element that leads there; or kNone.
        template <class Wanted>
        std::pair<Person, Element> advance(Person p, Wanted wanted) const {
            for (auto& [e, tried] = r.at_[p]; e != kNone; e = r.a_.shared[e].next, tried = 0) {
                const Person* holders = r.a_.holders.data() + r.a_.shared[e].begin;
                const auto degree = static_cast<std::uint32_t>(r.a_.degree(e));
                std::uint32_t x = tried;
                while (x < degree && !wanted(r.level_[holders[x]])) ++x;
                r.interrupt_.worked(x - tried);
                tried = x;
                if (x < degree) return {holders[x], e};
            }
            return {kNone, kNone};
        }
        void move(Person p, Person to, Element e) const {
            r.at_[p] = {r.a_.shared[e].next, 0};
            r.a_.hand_over(e, to);
        }
        void settle(Person root, Person target) const { --r.a_.load[root], ++r.a_.load[target]; }
    };

    // Searches against the load: from people below the cap, through the elements they hold, to
    // the owners.
    struct Uphill {
        Repair& r;
        bool is_root(Person p, std::uint32_t cap) const { return r.a_.load[p] < cap; }
        void restart(Person p) const { r.at_[p].place = 0; }
        template <class Visit>
        bool any(Person p, Visit visit) const {
            r.interrupt_.worked(r.held_.begin[p + 1] - r.held_.begin[p]);
            for (std::uint64_t x = r.held_.begin[p]; x < r.held_.begin[p + 1]; ++x)
                if (visit(r.a_.owner[r.held_.elements[x]])) return true;
            return false;
        }
        template <class Wanted>
        std::pair<Person, Element> advance(Person p, Wanted wanted) const {
            const std::uint64_t begin = r.held_.begin[p], end = r.held_.begin[p + 1];
            std::uint64_t x = begin + r.at_[p].place;
            while (x < end && !wanted(r.level_[r.a_.owner[r.held_.elements[x]]])) ++x;
            r.interrupt_.worked(x - begin - r.at_[p].place);
            r.at_[p].place = static_cast<std::uint32_t>(x - begin);
            if (x == end) return {kNone, kNone};
            return {r.a_.owner[r.held_.elements[x]], r.held_.elements[x]};
        }
        void move(Person p, Person, Element e) const {
            ++r.at_[p].place;
            r.a_.hand_over(e, p);
        }
        void settle(Person root, Person target) const { ++r.a_.load[root], --r.a_.load[target]; }
    };

    // Evens out one part around the cap and splits it: people_[begin, split) is the lower part.
    Person balance(const Part& part, std::uint32_t cap) {
        std::uint64_t above = 0, below = 0;  // units of load
        for (Person i = part.begin; i < part.end; ++i) {
            const std::uint32_t load = a_.load[people_[i]];
            (load > cap ? above : below) += load > cap ? load - cap : cap - load;
        }
        if (above == 0) return part.end;
        if (below == 0) return part.begin;
        // Search from the side that has less to move: many targets make short paths.
        const bool downhill = above <= below || !worth_going_uphill(part, cap);
        roots_.clear();
        for (Person i = part.begin; i < part.end; ++i) {
            const Person p = people_[i];
            const bool is_above = a_.load[p] > cap, is_below = a_.load[p] < cap;
            level_[p] = (downhill ? is_below : is_above) ? kTarget : kFree;
            if (downhill ? is_above : is_below) roots_.push_back(p);
        }
        const std::size_t closed = downhill ? drain(Downhill{*this}, cap) : drain(Uphill{*this}, cap);
        // What the roots still reach is closed: no load leaves it downhill, or enters it uphill.
        for (std::size_t i = 0; i < closed; ++i) level_[queue_[i]] = kDead;
        auto split = std::partition(people_.begin() + part.begin, people_.begin() + part.end,
                                    [&](Person p) { return (level_[p] == kDead) != downhill; });
        for (Person i = part.begin; i < part.end; ++i) level_[people_[i]] = kOutside;
        return static_cast<Person>(split - people_.begin());
    }

    // Uphill needs the elements of each person, once for all parts: about the price of one search
    // through everything. Not worth it when the people above the cap own next to nothing.
    bool worth_going_uphill(const Part& part, std::uint32_t cap) {
        if (!held_.begin.empty()) return true;
        std::uint64_t edges = 0;
        for (Person i = part.begin; i < part.end; ++i)
            if (a_.load[people_[i]] > cap)
                for (Element e = a_.first_owned[people_[i]]; e != kNone; e = a_.shared[e].next)
                    edges += a_.degree(e);
        if (edges < a_.holders.size() / 16) return false;
        held_.build(a_, threads_, interrupt_);
        return true;
    }

    // Moves load along shortest paths until no root reaches a target. Returns how many people the
    // roots still reach; they are at the front of queue_.
    //
    // Where every path has a length of its own, each needs a phase. So after kFirstSweep phases,
    // twice as many, and so on, one sweep takes paths of any length. It may shorten the shortest
    // path again, but once the gap between sweeps exceeds the bound on phases, they end within it.
    template <class Arcs>
    std::size_t drain(Arcs arcs, std::uint32_t cap) {
        std::uint64_t phase = 0, next_sweep = kFirstSweep;
        for (;;) {
            std::size_t found = 0;
            std::erase_if(roots_, [&](Person p) { return !arcs.is_root(p, cap); });
            for (Person p : roots_) {
                level_[p] = 0;
                queue_[found++] = p;
            }
            // Layers, up to the first from which a target is seen.
            bool target_seen = false;
            Level last = 0;
            for (std::size_t i = 0; i < found; ++i) {
                const Person p = queue_[i];
                const Level layer = level_[p];
                if (target_seen && layer > last) break;
                arcs.restart(p);
                if (target_seen) continue;
                if (layer == kMaxLayer) throw TooDeep();
                last = layer;
                target_seen = arcs.any(p, [&](Person q) {
                    if (level_[q] == kFree) {
                        level_[q] = static_cast<Level>(layer + 1);
                        queue_[found++] = q;
                    }
                    return level_[q] == kTarget;
                });
            }
            if (!target_seen) return found;
            auto next_layer = [&](Person p) {
                const Level wanted = level_[p] == last ? kTarget : static_cast<Level>(level_[p] + 1);
                return [wanted](Level level) { return level == wanted; };
            };
            for (Person root : roots_)
                while (arcs.is_root(root, cap) && move_one(arcs, root, cap, next_layer, [](Person) {})) {
                }
            forget(found);
            if (++phase == next_sweep) {
                next_sweep *= 2;
                sweep(arcs, cap);
            }
        }
    }

    // Paths of any length, everybody visited at most once: the time of one phase.
    template <class Arcs>
    void sweep(Arcs arcs, std::uint32_t cap) {
        std::size_t found = 0;
        auto visit = [&](Person p) {
            level_[p] = 0;
            queue_[found++] = p;
            arcs.restart(p);
        };
        auto anywhere = [](Person) { return [](Level level) { return level == kFree || level == kTarget; }; };
        for (Person root : roots_) {
            if (level_[root] == kFree && arcs.is_root(root, cap)) visit(root);
            while (level_[root] == 0 && arcs.is_root(root, cap) && move_one(arcs, root, cap, anywhere, visit)) {
            }
        }
        forget(found);
    }

    // One unit along one path from this root, if there is one: wanted(p) says where to go from p,
    // enter(q) is called for everybody on the way.
    template <class Arcs, class Wanted, class Enter>
    bool move_one(Arcs arcs, Person root, std::uint32_t cap, Wanted wanted, Enter enter) {
        path_.assign(1, {root, kNone});
        while (!path_.empty()) {
            const Person p = path_.back().first;
            const auto [q, e] = arcs.advance(p, wanted(p));
            if (q == kNone) {
                level_[p] = kDead;
                path_.pop_back();
                continue;
            }
            path_.back().second = e;
            if (level_[q] == kTarget) {
                arcs.settle(root, q);
                if (a_.load[q] == cap) level_[q] = kFree;
                Person to = q;
                for (; !path_.empty(); path_.pop_back()) {
                    arcs.move(path_.back().first, to, path_.back().second);
                    to = path_.back().first;
                }
                return true;
            }
            enter(q);
            path_.push_back({q, kNone});
        }
        return false;
    }

    // Takes back the levels of everybody who was found.
    void forget(std::size_t found) {
        for (std::size_t i = 0; i < found; ++i)
            if (level_[queue_[i]] != kTarget) level_[queue_[i]] = kFree;
    }

    Assignment& a_;
    std::vector<Person>& people_;
    std::vector<Part>& todo_;
    Held& held_;
    unsigned threads_;
    Interrupt& interrupt_;

    std::vector<Level> level_;
    // Where advance(p) goes on.
    struct At {
        std::uint32_t place;  // an element, or how many of held_ have been passed
        std::uint32_t tried;  // how many holders of the element have been passed
    };
    // Neither is set to zero: as long as a search visits few people, most takes no memory.
    Array<At> at_;
    Array<Person> queue_;
    std::vector<Person> roots_;
    std::vector<std::pair<Person, Element>> path_;
};

}  // namespace

std::vector<std::uint32_t> balanced_loads(const Graph& graph, unsigned threads, Interrupt& interrupt) {
    Start first = start(graph, interrupt);
    const auto [least, most] = std::minmax_element(first.load.begin(), first.load.end());
    if (first.load.empty() || *most - *least < 2) return std::move(first.load);  // even already
    Assignment a = arrange(graph, std::move(first), interrupt);
    std::vector<Person> people(graph.people);
    std::iota(people.begin(), people.end(), 0);
    std::vector<Part> todo{{0, graph.people, 0}};
    Held held;
    try {
        Repair<std::uint8_t>(a, people, todo, held, threads, interrupt).run();
    } catch (const TooDeep&) {
        Repair<std::uint32_t>(a, people, todo, held, threads, interrupt).run();
    }
    return std::move(a.load);
}

}  // namespace dpdistinct
