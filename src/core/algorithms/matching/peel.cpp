#include "algorithms/matching/peel.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace dpdistinct {
namespace {

constexpr std::uint64_t kNowhere = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint32_t kGivenAway = 1u << 31;  // in the number of the other holders, which is below 2^31

std::uint32_t others(std::uint32_t word) { return word & ~kGivenAway; }

}  // namespace

Peel::Peel(const Graph& graph, Start start, std::uint64_t patience, Interrupt& interrupt)
    : interrupt_(interrupt), load_(std::move(start.load)), seen_(graph.people), final_(graph.people) {
    arrange(graph, start);
    start = {};
    limit_ = patience * (words_.size() + load_.size());
    first_gained_.assign(load_.size(), kNone);
    file_by_load();
    // Neither is set to zero: as long as the trees are small, most takes no memory.
    visits_.resize(load_.size());
    renumbered_.resize(load_.size());
}

void Peel::arrange(const Graph& graph, const Start& start) {
    const auto count = static_cast<Element>(start.shared.size());
    begin_.assign(load_.size() + 2, 0);
    for (Element k = 0; k < count; ++k) begin_[start.owner[k] + std::size_t{2}] += graph.degree(start.shared[k]);
    for (std::size_t p = 2; p < begin_.size(); ++p) begin_[p] += begin_[p - 1];
    words_.resize(begin_.back());
    for (Element k = 0; k < count; ++k) {
        if (k + kLater < count) {
            prefetch(graph, start.shared[k + kSoon], start.shared[k + kLater]);
            __builtin_prefetch(words_.data() + begin_[start.owner[k + kSoon] + std::size_t{1}], 1);
        }
        const Person owner = start.owner[k];
        const Person* holder = graph.holders.data() + graph.begin[start.shared[k]];
        const std::uint64_t degree = graph.degree(start.shared[k]);
        std::uint32_t* to = words_.data() + begin_[owner + std::size_t{1}];
        begin_[owner + std::size_t{1}] += degree;  // in the end, this is where the next person's block begins
        *to++ = static_cast<std::uint32_t>(degree - 1);
        for (; *holder != owner; ++holder) *to++ = *holder;
        const std::uint32_t* end = words_.data() + begin_[owner + std::size_t{1}];
        while (to != end) *to++ = *++holder;
        interrupt_.worked(degree);
    }
}

void Peel::file_by_load() {
    const std::size_t levels = *std::max_element(load_.begin(), load_.end()) + std::size_t{1};
    not_final_.assign(levels, 0);
    last_arrival_.assign(levels, kNone);
    for (std::uint32_t load : load_) ++not_final_[load];
    first_with_.assign(levels + 2, 0);
    for (std::size_t load = 0; load < levels; ++load) first_with_[load + 2] = first_with_[load + 1] + not_final_[load];
    by_load_.resize(load_.size());
    for (Person p = 0; p < load_.size(); ++p) by_load_[first_with_[load_[p] + std::size_t{1}]++] = p;
}

bool Peel::run() {
    std::uint32_t least = 0;  // nobody who is not final has less
    for (auto level = static_cast<std::uint32_t>(not_final_.size()); level-- > 0;) {
        plant(level);
        do {
            while (least < level && not_final_[least] == 0) ++least;
            if (level < least + 2) return true;  // those who are not final are even
            if (out_of_patience()) return false;
        } while (round(level));
    }
    return true;
}

// The roots of this level.
void Peel::plant(std::uint32_t level) {
    visited_ = standing_ = 0;
    auto root = [&](Person p) {
        if (load_[p] != level || seen_.has(p)) return;
        seen_.add(p);
        visits_[visited_] = {kNowhere, kNone, kNone, visited_, p};
        ++visited_;
    };
    for (Person i = first_with_[level]; i < first_with_[level + std::size_t{1}]; ++i) root(by_load_[i]);
    for (std::uint32_t i = last_arrival_[level]; i != kNone; i = arrivals_[i].next) root(arrivals_[i].person);
    moved_.assign(visited_, false);
}

// What the next visits need, in the order in which one depends on the other. Always inline: a compiler may take a
// call for useless and leave it out.
[[gnu::always_inline]] inline void Peel::prefetch_visits(std::uint32_t i) const {
    if (i + 16 < visited_) {
        __builtin_prefetch(begin_.data() + visits_[i + 16].person);
        __builtin_prefetch(first_gained_.data() + visits_[i + 16].person);
    }
    if (i + 8 < visited_) {
        const Person p = visits_[i + 8].person;
        const std::uint32_t* block = words_.data() + begin_[p];
        for (int line = 0; line < 3; ++line) __builtin_prefetch(block + 16 * line);
        if (first_gained_[p] != kNone) __builtin_prefetch(gained_.data() + first_gained_[p]);
    }
    if (i + 4 < visited_) {
        const std::uint32_t gained = first_gained_[visits_[i + 4].person];
        if (gained != kNone && gained_[gained].element != kNowhere)
            __builtin_prefetch(words_.data() + gained_[gained].element);
    }
}

// Everybody in a tree looks around. False if no target was met: then they are final.
bool Peel::round(std::uint32_t level) {
    bool any = false;
    for (std::uint32_t i = 0; i < visited_ && !(any && out_of_patience()); ++i) {
        prefetch_visits(i);
        if (moved_[visits_[i].tree] || !look_around(i, level)) continue;
        moved_[visits_[i].tree] = any = true;
    }
    if (any) {
        fell();
        return true;
    }
    for (std::uint32_t i = 0; i < visited_; ++i) {
        final_.add(visits_[i].person);
        --not_final_[load_[visits_[i].person]];
    }
    return false;
}

// Takes the trees away from which a unit was moved.
void Peel::fell() {
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < visited_; ++i) {
        Visit visit = visits_[i];
        if (moved_[visit.tree]) {
            seen_.remove(visit.person);
            continue;
        }
        if (visit.parent != kNone) visit.parent = renumbered_[visit.parent];
        renumbered_[i] = kept;
        visits_[kept++] = visit;
    }
    visited_ = standing_ = kept;
}

// Takes holders who are final out of p's block, and elements that nobody else holds any more. Nothing in p's
// block may be on a link of a tree. Elements given away keep their place; a gap before them is filled by
// something that looks like one.
void Peel::tidy(Person p) {
    const Place end = begin_[p + std::size_t{1}];
    Place to = begin_[p];
    for (Place e = to; e < end && words_[e] != 0;) {
        const Place next = e + others(words_[e]) + 1;
        worked(next - e);
        if (words_[e] & kGivenAway) {
            while (to < e) {
                const auto gap = static_cast<std::uint32_t>(std::min<Place>(e - to - 1, kGivenAway - 1));
                words_[to] = gap | kGivenAway;
                to += gap + Place{1};
            }
            to = next;
        } else {
            Place last = to;
            for (Place x = e + 1; x < next; ++x) {
                words_[last + 1] = words_[x];
                last += !final_.has(words_[x]);
            }
            words_[to] = static_cast<std::uint32_t>(last - to);
            if (last > to) to = last + 1;
        }
        e = next;
    }
    if (to < end) words_[to] = 0;
}

// Calls each(element, where it is in gained_) for what p owns until it returns true.
template <class Each>
void Peel::owned(Person p, Each each) const {
    const Place end = begin_[p + std::size_t{1}];
    for (Place e = begin_[p]; e < end && words_[e] != 0; e += others(words_[e]) + 1)
        if (!(words_[e] & kGivenAway) && each(e, kNone)) return;
    for (std::uint32_t i = first_gained_[p]; i != kNone; i = gained_[i].next)
        if (gained_[i].element != kNowhere && each(gained_[i].element, i)) return;
}

// True if a target was met, and a unit moved there.
bool Peel::look_around(std::uint32_t i, std::uint32_t level) {
    const Person p = visits_[i].person;
    if (i >= standing_) tidy(p);
    worked(1);
    bool met = false;
    owned(p, [&](Place e, std::uint32_t gained) { return met = look_at(i, e, gained, level); });
    return met;
}

bool Peel::look_at(std::uint32_t i, Place e, std::uint32_t gained, std::uint32_t level) {
    const std::uint32_t count = others(words_[e]);
    worked(count + std::uint64_t{1});
    for (std::uint32_t x = 1; x <= count; ++x) {
        const Person q = words_[e + x];
        if (seen_.has(q)) continue;
        if (load_[q] + 2 <= level) {
            move(i, e, gained, q);
            return true;
        }
        seen_.add(q);
        visits_[visited_++] = {e, gained, i, visits_[i].tree, q};
    }
    return false;
}

// One unit from the root to the person of visit i, and on to the target by this element.
void Peel::move(std::uint32_t i, Place e, std::uint32_t gained, Person target) {
    change_load(target, load_[target] + 1);
    Person taker = target;
    std::uint32_t free = kNone;  // the taker's entry of gained_ that holds nothing any more
    for (;;) {
        const Visit& visit = visits_[i];
        Place x = e + 1;
        while (words_[x] != taker) ++x;
        worked(x - e);
        words_[x] = visit.person;
        if (gained == kNone) words_[e] |= kGivenAway;
        if (free == kNone)
            gain(taker, e);
        else
            gained_[free].element = e;
        free = gained;
        if (visit.parent == kNone) break;
        taker = visit.person;
        e = visit.by;
        gained = visit.gained;
        i = visit.parent;
    }
    if (free != kNone) gained_[free].element = kNowhere;
    const Person root = visits_[i].person;
    change_load(root, load_[root] - 1);
}

void Peel::gain(Person p, Place e) {
    gained_.push_back({e, first_gained_[p]});
    first_gained_[p] = static_cast<std::uint32_t>(gained_.size() - 1);
}

void Peel::change_load(Person p, std::uint32_t to) {
    --not_final_[load_[p]];
    ++not_final_[to];
    load_[p] = to;
    arrivals_.push_back({p, last_arrival_[to]});
    last_arrival_[to] = static_cast<std::uint32_t>(arrivals_.size() - 1);
}

// The lists are numbered by 32 bits, too; one move makes them longer by less than 2^31.
bool Peel::out_of_patience() const {
    return work_ >= limit_ || gained_.size() > kMaxIndex || arrivals_.size() > kMaxIndex;
}

void Peel::worked(std::uint64_t pairs) {
    work_ += pairs;
    interrupt_.worked(pairs);
}

std::vector<Person> Peel::people_left() const {
    std::vector<Person> left;
    for (Person p = 0; p < load_.size(); ++p)
        if (!final_.has(p)) left.push_back(p);
    return left;
}

Assignment Peel::assignment_left() && {
    const std::vector<Person> left = people_left();
    Array<Visit>().swap(visits_);
    for (Person p : left) tidy(p);
    std::uint64_t pairs = 0;
    Element count = 0;
    auto live = [&](Place e) {  // holders who are not final, without the owner
        return std::count_if(words_.begin() + static_cast<std::ptrdiff_t>(e) + 1,
                             words_.begin() + static_cast<std::ptrdiff_t>(e) + 1 + others(words_[e]),
                             [&](Person q) { return !final_.has(q); });
    };
    for (Person p : left)
        owned(p, [&](Place e, std::uint32_t) {
            const auto found = static_cast<std::uint64_t>(live(e));
            count += found > 0;
            pairs += found > 0 ? found + 1 : 0;
            return false;
        });
    Assignment a;
    a.first_owned.assign(load_.size() + 1, kNone);
    a.shared.resize(count + std::size_t{1});
    a.owner.resize(count);
    a.holders.resize(pairs);
    pairs = count = 0;
    for (Person p : left) {
        owned(p, [&](Place e, std::uint32_t) {
            if (live(e) == 0) return false;
            const Element previous = a.first_owned[p] == kNone ? kNone : count - 1;
            (previous == kNone ? a.first_owned[p] : a.shared[previous].next) = count;
            a.shared[count] = {pairs, kNone, previous};
            a.owner[count++] = p;
            a.holders[pairs++] = p;
            for (std::uint32_t x = 1; x <= others(words_[e]); ++x)
                if (!final_.has(words_[e + x])) a.holders[pairs++] = words_[e + x];
            return false;
        });
    }
    a.shared[count].begin = pairs;
    a.load = std::move(load_);
    return a;
}

}  // namespace dpdistinct
