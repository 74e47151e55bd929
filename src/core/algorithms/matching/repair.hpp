// Evens out the loads of an assignment, part by part (see balanced.cpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

#include "algorithms/matching/assignment.hpp"
#include "base/array.hpp"
#include "base/interrupt.hpp"

namespace dpdistinct {

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
    Repair(Assignment& a, std::vector<Person>& people, std::vector<Part>& todo, Held& held, unsigned threads,
           std::uint64_t first_trees, Interrupt& interrupt)
        : a_(a), people_(people), todo_(todo), held_(held), threads_(threads), first_trees_(first_trees),
          interrupt_(interrupt), level_(a.people(), kOutside), at_(a.people()), queue_(a.people()) {}

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
            const std::uint64_t middle = part.depth % 3 == 2 ? lo + (hi - lo) / 2 : sum / (part.end - part.begin);
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
    static constexpr Level kReached = kFree - 4;                       // in a tree; at the end of a cap: closed
    static constexpr Level kMaxLayer = kFree - 5;

    static constexpr std::uint64_t kFewRoots = 16;  // less than a unit for so many roots was moved
    static constexpr std::uint64_t kPatience = 4;   // times the phases before: how long trees may take
    static constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

    // Searches with the load: from people above the cap, through the elements they own, to the
    // other holders.
    struct Downhill {
        Repair& r;
        bool is_root(Person p, std::uint32_t cap) const { return r.a_.load[p] > cap; }
        void restart(Person p) const { r.at_[p].cursor = {r.a_.first_owned[p], 0}; }
        template <class Visit>
        bool any(Person p, Visit visit) const {
            for (Element e = r.a_.first_owned[p]; e != kNone; e = r.a_.shared[e].next) {
                r.worked(r.a_.degree(e));
                for (std::uint64_t x = r.a_.shared[e].begin, end = r.a_.shared[e + 1].begin; x < end; ++x)
                    if (visit(r.a_.holders[x], e)) return true;
            }
            return false;
        }
        // Everybody to whom this element leads.
        template <class Visit>
        void ends(Element e, Visit visit) const {
            r.worked(r.a_.degree(e));
            for (std::uint64_t x = r.a_.shared[e].begin, end = r.a_.shared[e + 1].begin; x < end; ++x)
                visit(r.a_.holders[x]);
        }
        // The next person of a wanted level and the element that leads there; or kNone.
        std::pair<Person, Element> advance(Person p, Level wanted) const {
            for (auto& [e, tried] = r.at_[p].cursor; e != kNone; e = r.a_.shared[e].next, tried = 0) {
                const Person* holders = r.a_.holders.data() + r.a_.shared[e].begin;
                const auto degree = static_cast<std::uint32_t>(r.a_.degree(e));
                std::uint32_t x = tried;
                while (x < degree && r.level_[holders[x]] != wanted) ++x;
                r.worked(x - tried);
                tried = x;
                if (x < degree) return {holders[x], e};
            }
            return {kNone, kNone};
        }
        void skip(Person p, Element e) const { r.at_[p].cursor = {r.a_.shared[e].next, 0}; }
        void move(Person, Person to, Element e) const { r.a_.hand_over(e, to); }
        void settle(Person root, Person target) const { --r.a_.load[root], ++r.a_.load[target]; }
    };

    // Searches against the load: from people below the cap, through the elements they hold, to
    // the owners.
    struct Uphill {
        Repair& r;
        bool is_root(Person p, std::uint32_t cap) const { return r.a_.load[p] < cap; }
        void restart(Person p) const { r.at_[p].cursor.place = 0; }
        template <class Visit>
        bool any(Person p, Visit visit) const {
            r.worked(r.held_.begin[p + 1] - r.held_.begin[p]);
            for (std::uint64_t x = r.held_.begin[p]; x < r.held_.begin[p + 1]; ++x)
                if (visit(r.a_.owner[r.held_.elements[x]], r.held_.elements[x])) return true;
            return false;
        }
        template <class Visit>
        void ends(Element e, Visit visit) const {
            visit(r.a_.owner[e]);
        }
        std::pair<Person, Element> advance(Person p, Level wanted) const {
            const std::uint64_t begin = r.held_.begin[p], end = r.held_.begin[p + 1];
            std::uint32_t& place = r.at_[p].cursor.place;
            std::uint64_t x = begin + place;
            while (x < end && r.level_[r.a_.owner[r.held_.elements[x]]] != wanted) ++x;
            r.worked(x - begin - place);
            place = static_cast<std::uint32_t>(x - begin);
            if (x == end) return {kNone, kNone};
            return {r.a_.owner[r.held_.elements[x]], r.held_.elements[x]};
        }
        void skip(Person p, Element) const { ++r.at_[p].cursor.place; }
        void move(Person p, Person, Element e) const { r.a_.hand_over(e, p); }
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
        if (downhill)
            drain(part, Downhill{*this}, Uphill{*this}, cap);
        else
            drain(part, Uphill{*this}, Downhill{*this}, cap);
        // What the roots still reach is closed: no load leaves it downhill, or enters it uphill.
        auto split = std::partition(people_.begin() + part.begin, people_.begin() + part.end,
                                    [&](Person p) { return (level_[p] == kReached) != downhill; });
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
                for (Element e = a_.first_owned[people_[i]]; e != kNone; e = a_.shared[e].next) edges += a_.degree(e);
        if (edges < a_.holders.size() / 16) return false;
        held_.build(a_, threads_, interrupt_);
        return true;
    }

    // Moves load until no root reaches a target. Everybody they still reach is kReached then.
    //
    // Phases are best while many roots find a path. Later each phase searches all over again for
    // the few that do, and where every path has a length of its own, each needs a phase. Trees
    // keep what was searched. They may shorten the shortest path, but each gap between them is
    // longer than all phases before: the first that exceeds the bound on phases is the last. They
    // need held_, which is built once the phases have cost as much.
    template <class Arcs, class Back>
    void drain(const Part& part, Arcs arcs, Back back, std::uint32_t cap) {
        std::uint64_t next_trees = first_trees_, phase_work = 0;
        moved_ = 0;
        for (std::uint64_t phase = 0;; ++phase) {
            if (held_.begin.empty() && phase_work > a_.holders.size()) held_.build(a_, threads_, interrupt_);
            if (phase >= next_trees && moved_ * kFewRoots < roots_.size() && !held_.begin.empty()) {
                next_trees = 2 * phase + 1;
                limit_ = first_trees_ == 0 ? kNoLimit : work_ + kPatience * phase_work;
                if (move_along_trees(part, arcs, back, cap)) return;
            }
            const std::uint64_t before = work_;
            moved_ = 0;
            if (!move_along_shortest_paths(arcs, cap)) return;
            phase_work += work_ - before;
        }
    }

    // A phase: layers, up to the first from which a target is seen, then disjoint paths through
    // them. False if no target is seen.
    template <class Arcs>
    bool move_along_shortest_paths(Arcs arcs, std::uint32_t cap) {
        std::size_t found = 0;
        std::erase_if(roots_, [&](Person p) { return !arcs.is_root(p, cap); });
        for (Person p : roots_) {
            level_[p] = 0;
            queue_[found++] = p;
        }
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
            target_seen = arcs.any(p, [&](Person q, Element) {
                if (level_[q] == kFree) {
                    level_[q] = static_cast<Level>(layer + 1);
                    queue_[found++] = q;
                }
                return level_[q] == kTarget;
            });
        }
        if (target_seen)
            for (Person root : roots_)
                while (arcs.is_root(root, cap) && move_one(arcs, root, last, cap)) {
                }
        for (std::size_t i = 0; i < found; ++i) level_[queue_[i]] = target_seen ? kFree : kReached;
        return target_seen;
    }

    // One unit along one path of layers from this root, if there is one.
    template <class Arcs>
    bool move_one(Arcs arcs, Person root, Level last, std::uint32_t cap) {
        path_.assign(1, {root, kNone});
        while (!path_.empty()) {
            const Person p = path_.back().first;
            const auto [q, e] = arcs.advance(p, level_[p] == last ? kTarget : static_cast<Level>(level_[p] + 1));
            if (q == kNone) {
                level_[p] = kDead;
                path_.pop_back();
                continue;
            }
            path_.back().second = e;
            if (level_[q] != kTarget) {
                path_.push_back({q, kNone});
                continue;
            }
            Person to = q;
            for (; !path_.empty(); path_.pop_back()) {
                const auto [giver, given] = path_.back();
                arcs.skip(giver, given);
                arcs.move(giver, to, given);
                to = giver;
            }
            settle(arcs, root, q, cap);
            return true;
        }
        return false;
    }

    template <class Arcs>
    void settle(Arcs arcs, Person root, Person target, std::uint32_t cap) {
        arcs.settle(root, target);
        if (a_.load[target] == cap) level_[target] = kFree;
        ++moved_;
    }

    // Grows trees from all roots at once (Boykov and Kolmogorov 2004). A path is used as soon as
    // it is found; those it cuts off look for another parent, so that little is searched twice.
    // True if no path is left; false if the limit was reached.
    template <class Arcs, class Back>
    bool move_along_trees(const Part& part, Arcs arcs, Back back, std::uint32_t cap) {
        for (Person p : roots_)
            if (arcs.is_root(p, cap)) join(p, {kNone, kNone});
        for (; !waiting_.empty() && work_ <= limit_; waiting_.pop_front()) {
            const Person p = waiting_.front();
            if (level_[p] != kReached) continue;  // cut off meanwhile
            Person target = kNone;
            Element by = kNone;
            arcs.any(p, [&](Person q, Element e) {
                if (level_[q] == kFree) join(q, {p, e});
                if (level_[q] != kTarget) return false;
                target = q;
                by = e;
                return true;
            });
            if (target == kNone) continue;
            move_one_from_tree(arcs, p, target, by, cap);
            adopt(arcs, back);
            // They may own other elements now, and p has not seen all of its own.
            for (const auto& [q, e] : path_)
                if (level_[q] == kReached) waiting_.push_back(q);
        }
        if (waiting_.empty() && work_ <= limit_) return true;
        waiting_.clear();
        orphans_.clear();
        for (Person i = part.begin; i < part.end; ++i)
            if (level_[people_[i]] == kReached) level_[people_[i]] = kFree;
        return false;
    }

    // How p came into a tree: the parent, or kNone for a root, or kOrphan; and by which element.
    struct Link {
        Person parent;
        Element by;
    };
    static constexpr Person kOrphan = kNone - 1;

    void join(Person p, Link link) {
        level_[p] = kReached;
        at_[p].link = link;
        waiting_.push_back(p);
    }

    void orphan(Person p) {
        at_[p].link.parent = kOrphan;
        orphans_.push_back(p);
    }

    bool rooted(Person p) {
        for (; at_[p].link.parent < kOrphan && work_ <= limit_; p = at_[p].link.parent) worked(1);
        return at_[p].link.parent == kNone;
    }

    // One unit from the root of p's tree to p, and on to the target that p has seen.
    template <class Arcs>
    void move_one_from_tree(Arcs arcs, Person p, Person target, Element by, std::uint32_t cap) {
        path_.clear();
        for (; p != kNone; by = at_[p].link.by, p = at_[p].link.parent) path_.push_back({p, by});
        worked(path_.size());
        Person to = target;
        for (const std::pair<Person, Element>& step : path_) {
            const Person giver = step.first;
            const Element given = step.second;  // clang 14 does not capture structured bindings
            arcs.ends(given, [&](Person q) {
                if (level_[q] == kReached && at_[q].link.parent == giver && at_[q].link.by == given) orphan(q);
            });
            arcs.move(giver, to, given);
            to = giver;
        }
        const Person root = to;
        settle(arcs, root, target, cap);
        if (!arcs.is_root(root, cap)) orphan(root);
    }

    // Everybody cut off finds another parent, or leaves the tree and cuts off the children. In the
    // end all who are still in a tree are linked to a root, so any of them will do for a parent.
    template <class Arcs, class Back>
    void adopt(Arcs arcs, Back back) {
        left_.clear();
        while (!orphans_.empty() && work_ <= limit_) {
            const Person p = orphans_.back();
            orphans_.pop_back();
            const bool adopted = back.any(p, [&](Person parent, Element e) {
                if (level_[parent] != kReached || !rooted(parent)) return false;
                at_[p].link = {parent, e};
                return true;
            });
            if (adopted) continue;
            level_[p] = kFree;
            left_.push_back(p);
            arcs.any(p, [&](Person child, Element) {
                if (level_[child] == kReached && at_[child].link.parent == p) orphan(child);
                return false;
            });
        }
        for (Person p : left_)
            back.any(p, [&](Person parent, Element e) {
                if (level_[parent] != kReached) return false;
                join(p, {parent, e});
                return true;
            });
    }

    void worked(std::uint64_t work) {
        work_ += work;
        interrupt_.worked(work);
    }

    Assignment& a_;
    std::vector<Person>& people_;
    std::vector<Part>& todo_;
    Held& held_;
    unsigned threads_;
    std::uint64_t first_trees_;
    Interrupt& interrupt_;

    std::uint64_t work_ = 0;   // pairs looked at, or more: a list may be left early
    std::uint64_t limit_ = 0;  // of work, for trees
    std::uint64_t moved_ = 0;  // units of load, in this phase

    std::vector<Level> level_;
    struct Cursor {           // where advance(p) goes on
        std::uint32_t place;  // an element, or how many of held_ have been passed
        std::uint32_t tried;  // how many holders of the element have been passed
    };
    union At {
        Cursor cursor;  // in a phase
        Link link;      // in a tree
    };
    // Neither is set to zero: as long as a search visits few people, most takes no memory.
    Array<At> at_;
    Array<Person> queue_;
    std::vector<Person> roots_;
    std::vector<std::pair<Person, Element>> path_;
    std::deque<Person> waiting_;  // in a tree, and have not looked around yet
    std::vector<Person> orphans_, left_;
};

}  // namespace dpdistinct
