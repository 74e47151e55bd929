// The first basis by heights (push-relabel on people).
//
// Write p -> q if p owns an element that q holds, so that p could hand it to q; p has *room* if p owns less
// than the bound. A kept element is owned by one of its holders, and a new one can be kept exactly if one of
// its holders reaches somebody with room. Instead of a search for every element, everybody has a label that
// never falls:
//   (a) a live person has label 0 if and only if they have room;
//   (b) for live p -> q: label(p) <= label(q) + 1. So the label is at most the number of steps to room;
//   (c) the dead have no room and reach nobody who has, now or ever.
// A new element goes to its lowest live holder. Whoever is above the bound then hands an element to a
// holder whose label is lower by one, or else rises by one. Both keep (b): the arcs of a moved element from
// p at k + 1 to q at k lead from q to people of label k or more, since they led there from p before.
// They are therefore of no use to q until q rises, and moved elements go to the front of q's list, which
// q's cursor has passed. Holders of an element that are not lower than an owner of label k never will be, so
// the next owner of label k goes on where the last one stopped.
//
// When a new element cannot be kept, the surplus wanders among people who reach no room. Two rules
// see that, and declare them dead:
//   - a gap: nobody alive has label k. By (b) nobody above k reaches label 0.
//   - a closed region: a plain search from the surplus ends without meeting room. It is tried whenever the
//     work for this element has quadrupled, and given as much work as was done, so it at most doubles the time.
// Whoever passed the surplus on is reached back from it (they hold what they handed over), so all of
// them are dead, and so are all holders of the new element. No element is ever given to the dead or taken from
// them again; who among them owns what has become meaningless, and nothing has to be undone.
//
// Time O(E (1 + h)) for E pairs and the largest label h: at each label the holders of an element are looked at
// once, and a person looks at what they own. On real tables people rise a few times.
#include "algorithms/basis.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "algorithms/rounds.hpp"
#include "base/array.hpp"

namespace dpdistinct {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kDead = kNone;  // as a height

class Heights {
   public:
    Heights(const Graph& graph, std::uint32_t bound, std::uint64_t first_search, Interrupt& interrupt)
        : graph_(graph), bound_(bound), first_search_(first_search), interrupt_(interrupt), height_(graph.people, 0),
          first_owned_(graph.people, kNone), cursor_(graph.people), neighbours_(graph.people),
          seen_(graph.people, kNone), owned_(graph.elements()) {
        at_label_.push_back({kNone, graph.people});  // nobody needs the list of label 0
    }

    // Whether the element can be kept with all kept before. To be called once for each, in order.
    bool keep(Element e) {
        const Person start = lowest_holder(e);
        if (start == kNone) return false;
        if (graph_.degree(e) > 1) {  // what nobody else holds can never move, so no list needs it
            owned_[e].label = 0;     // no owner has looked at it; whoever looks has a higher label
            own(start, e);
        }
        if (has_room(start)) {
            fill(start);
            return true;
        }
        work_ = 0;
        next_search_ = first_search_;
        for (Person p = start;;) {  // p has one too many
            const Person q = hand_on(p);
            if (q == kNone) {
                if (!rise(p) || (work_ >= next_search_ && bury_closed_region(p))) return false;
            } else if (has_room(q)) {
                fill(q);
                return true;
            } else {
                p = q;
            }
        }
    }

    bool all_dead() const { return at_label_[0].people == 0; }

   private:
    struct Owned {
        Element next, previous;  // of the same owner
        std::uint32_t label;     // at this label of its owner
        std::uint32_t tried;     // so many of its holders were found to be no lower than that
    };
    struct Neighbours {
        Person next, previous;  // of the same label
    };
    struct AtLabel {
        Person first;
        Person people;
    };

    bool has_room(Person p) const { return height_[p] < bound_; }
    // Of the living.
    std::uint32_t label(Person p) const { return has_room(p) ? 0 : height_[p] - bound_ + 1; }

    // Of several with room the one who owns least, as in greedy: then few are full before all are.
    Person lowest_holder(Element e) {
        Person best = kNone;
        std::uint32_t least = kDead;
        std::uint64_t x = graph_.begin[e];
        const std::uint64_t end = graph_.begin[e + 1];
        for (; x < end && least > 0; ++x) {
            const Person p = graph_.holders[x];
            if (height_[p] < least) {
                least = height_[p];
                best = p;
            }
        }
        interrupt_.worked(x - graph_.begin[e]);
        return best;
    }

    void own(Person p, Element e) {
        const Element head = std::exchange(first_owned_[p], e);
        owned_[e].next = head;
        owned_[e].previous = kNone;
        if (head != kNone) owned_[head].previous = e;
    }

    void disown(Person p, Element e) {
        const Element next = owned_[e].next, previous = owned_[e].previous;
        (previous == kNone ? first_owned_[p] : owned_[previous].next) = next;
        if (next != kNone) owned_[next].previous = previous;
    }

    // p, who had room, has got an element.
    void fill(Person p) {
        if (height_[p] + 1 < bound_)
            ++height_[p];
        else
            set_label(p, 1);
    }

    // p hands an element to a holder who is lower by one: who that is, or kNone.
    Person hand_on(Person p) {
        const std::uint32_t label = this->label(p);
        const std::uint32_t above = bound_ + label - 1, lowest = label > 1 ? above - 1 : 0;  // heights of label - 1
        for (Element e = cursor_[p]; e != kNone; e = owned_[e].next) {
            Owned& mine = owned_[e];
            if (mine.label != label) {
                mine.label = label;
                mine.tried = 0;
            }
            const Person* holders = graph_.holders.data() + graph_.begin[e];
            const auto degree = static_cast<std::uint32_t>(graph_.degree(e));
            std::uint32_t x = mine.tried;
            while (x < degree && (height_[holders[x]] < lowest || height_[holders[x]] >= above)) ++x;
            worked(x - mine.tried + 1);
            mine.tried = x;
            if (x == degree) continue;
            const Person q = holders[x];
            cursor_[p] = mine.next;
            disown(p, e);
            own(q, e);
            return q;
        }
        cursor_[p] = kNone;
        return kNone;
    }

    // One label up. False if that leaves a gap, and p dead.
    bool rise(Person p) {
        set_label(p, label(p) + 1);
        return height_[p] != kDead;
    }

    void set_label(Person p, std::uint32_t label) {
        const std::uint32_t old = this->label(p);
        leave(p);
        if (label == at_label_.size()) at_label_.resize(label + std::size_t{1}, {kNone, 0});
        height_[p] = bound_ + label - 1;
        neighbours_[p] = {at_label_[label].first, kNone};
        if (at_label_[label].first != kNone) neighbours_[at_label_[label].first].previous = p;
        at_label_[label].first = p;
        ++at_label_[label].people;
        cursor_[p] = first_owned_[p];
        if (at_label_[old].people == 0) bury_above(old);
    }

    void leave(Person p) {
        AtLabel& list = at_label_[label(p)];
        --list.people;
        if (has_room(p)) return;
        const auto [next, previous] = neighbours_[p];
        (previous == kNone ? list.first : neighbours_[previous].next) = next;
        if (next != kNone) neighbours_[next].previous = previous;
    }

    void bury_above(std::uint32_t gap) {
        while (at_label_.size() > gap + std::size_t{1}) {
            for (Person p = at_label_.back().first; p != kNone; p = neighbours_[p].next) height_[p] = kDead;
            at_label_.pop_back();
        }
    }

    // Searches from p for room. If there is none, everybody found is dead, p included.
    bool bury_closed_region(Person p) {
        const std::uint64_t limit = work_ + work_;
        found_.assign(1, p);
        seen_[p] = searches_;
        bool closed = true;
        for (std::size_t i = 0; i < found_.size() && closed; ++i)
            for (Element e = first_owned_[found_[i]]; e != kNone && closed; e = owned_[e].next) {
                for (std::uint64_t x = graph_.begin[e]; x < graph_.begin[e + 1]; ++x) {
                    const Person q = graph_.holders[x];
                    if (has_room(q)) closed = false;
                    if (seen_[q] == searches_ || height_[q] == kDead) continue;
                    seen_[q] = searches_;
                    found_.push_back(q);
                }
                worked(graph_.degree(e) + 1);
                if (work_ > limit) closed = false;
            }
        ++searches_;
        next_search_ = 4 * work_;
        if (!closed) return false;
        for (Person q : found_) {
            leave(q);
            height_[q] = kDead;
        }
        std::uint32_t gap = 0;
        while (gap < at_label_.size() && at_label_[gap].people > 0) ++gap;
        if (gap < at_label_.size()) bury_above(gap);
        return true;
    }

    void worked(std::uint64_t pairs) {
        work_ += pairs;
        interrupt_.worked(pairs);
    }

    const Graph& graph_;
    const std::uint32_t bound_;
    const std::uint64_t first_search_;
    Interrupt& interrupt_;
    // Of each person:
    // While they have room, how many elements they own; then bound + label - 1; or kDead. So the lowest is the
    // one with the lowest label, and of those with room the one who owns least.
    std::vector<std::uint32_t> height_;
    std::vector<Element> first_owned_;    // head of the list of what they own and others hold too
    std::vector<Element> cursor_;         // of what they own, the first that may lead to somebody lower
    std::vector<Neighbours> neighbours_;  // the list of their label
    std::vector<std::uint32_t> seen_;     // the last search that found them
    // Of each element:
    Array<Owned> owned_;  // the list of its owner, and how far its holders were looked at
    // Of each label: who has it. Below the last entry no label is without anybody.
    std::vector<AtLabel> at_label_;
    std::vector<Person> found_;  // by the search at hand
    std::uint32_t searches_ = 0;
    std::uint64_t work_ = 0;         // pairs looked at for the element at hand
    std::uint64_t next_search_ = 0;  // the work at which a search for a closed region is due
};

}  // namespace

std::vector<std::int64_t> first_basis(const Graph& graph, std::uint32_t bound, std::size_t groups, Interrupt& interrupt,
                                      std::uint64_t first_search) {
    graph.need_groups();
    std::vector<std::int64_t> kept(groups, 0);
    // Nobody owns more than all elements; so heights fit their type.
    Heights heights(graph, std::min(bound, graph.elements() + 1), first_search, interrupt);
    for (Element e = 0; e < graph.elements() && !heights.all_dead(); ++e) {
        if (graph.groups[e] >= groups) throw NoSuchGroup();
        kept[graph.groups[e]] += heights.keep(e);
    }
    return kept;
}

}  // namespace dpdistinct
