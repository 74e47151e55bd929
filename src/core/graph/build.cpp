#include "graph/build.hpp"

#include <array>
#include <span>
#include <vector>

#include "graph/grouping.hpp"

namespace dpdistinct {
namespace {

// The rank of a key among sorted distinct keys: a table over the top bits, then a short search.
class Ranks {
   public:
    // The keys have their first `prefix` bits in common.
    Ranks(std::span<const std::uint64_t> sorted, int prefix) : keys_(sorted), prefix_(prefix) {
        const int bits = std::max(1, bit_width(keys_.size()));
        shift_ = 64 - bits;
        first_.assign((std::size_t{1} << bits) + 1, static_cast<std::uint32_t>(keys_.size()));
        for (std::size_t i = keys_.size(); i-- > 0;) first_[home(keys_[i])] = static_cast<std::uint32_t>(i);
        for (std::size_t b = first_.size() - 1; b-- > 0;) first_[b] = std::min(first_[b], first_[b + 1]);
    }

    // Prefetches the memory for two later lookups; `soon` comes first.
    void prepare(std::uint64_t later, std::uint64_t soon) const {
        __builtin_prefetch(&first_[home(later)]);
        __builtin_prefetch(&keys_[first_[home(soon)]]);
    }

    // `key` must be one of the keys.
    std::uint32_t operator()(std::uint64_t key) const {
        const std::size_t b = home(key);
        std::uint32_t low = first_[b], high = first_[b + 1];
        while (high - low > 8) {
            const std::uint32_t middle = low + (high - low) / 2;
            (keys_[middle] <= key ? low : high) = middle;
        }
        while (keys_[low] != key) ++low;
        return low;
    }

   private:
    std::size_t home(std::uint64_t key) const { return key << prefix_ >> shift_; }

    std::span<const std::uint64_t> keys_;
    int prefix_, shift_;
    std::vector<std::uint32_t> first_;  // first_[b]: the first key whose bits after the prefix are b or more
};

// Some elements of the graph.
struct GraphPart {
    GraphPart(BlockPool& pool, Person* holders) : degrees(pool), groups(pool), end(holders) {}

    Blocks<std::uint32_t> degrees;
    Blocks<std::uint32_t> groups;  // of each element
    Person* end;                   // of their holders, which lie in the graph already
};

// What one thread hands on: rows by the part of their element.
struct RowParts {
    explicit RowParts(BlockPool& pool) : parts(empty_parts<Row>(pool)) {}
    std::vector<Blocks<Row>> parts;
};

// Copies block after block to this place.
template <class T>
auto copy_to(T* to) {
    return [to](const T* first, const T* last) mutable { to = std::copy(first, last, to); };
}

// How many come before each part.
template <class Count>
std::array<std::uint64_t, kParts + 1> sums(Count count) {
    std::array<std::uint64_t, kParts + 1> before{};
    for (std::size_t i = 0; i < kParts; ++i) before[i + 1] = before[i] + count(i);
    return before;
}

}  // namespace

// Three rounds over all pairs, each by parts that fit the cache: find the people, replace their keys by numbers,
// and group by element.
Graph GraphBuilder::finish(std::uint64_t max_index, int group_bits) {
    Graph graph;
    const auto people = find_people(graph);
    if (people[kParts] > max_index) throw TooLarge();
    graph.people = static_cast<Person>(people[kParts]);

    ObjectPool<RowParts> numbered;
    parallel_for(kParts, threads_, interrupt_, [&](std::size_t i, Interrupt& interrupt) {
        const Ranks rank({graph.people_keys.data() + people[i], people[i + 1] - people[i]}, 8);
        numbered.with_object([&] { return RowParts(pool_); },
                             [&](RowParts& rows) {
                                 pairs_.drain_part(i, [&](const Pair* pair, const Pair* last) {
                                     interrupt.worked(static_cast<std::size_t>(last - pair));
                                     for (; pair != last; ++pair) {
                                         if (last - pair > 16) rank.prepare(pair[16].person, pair[8].person);
                                         const auto person = static_cast<Person>(people[i] + rank(pair->person));
                                         rows.parts[part_of(pair->element)].push_back({pair->element, person});
                                     }
                                 });
                             });
    });

    // No row but the repeated ones is lost by grouping, so each part has a place in the graph already.
    const auto rows = sums([&](std::size_t i) {
        std::size_t sum = 0;
        for (const auto& by_thread : numbered.all()) sum += by_thread->parts[i].size();
        return sum;
    });
    pool_.shrink();
    graph.holders.resize(rows[kParts]);
    const std::uint64_t mask = (std::uint64_t{1} << group_bits) - 1;
    std::vector<GraphPart> parts;
    for (std::size_t i = 0; i < kParts; ++i) parts.emplace_back(pool_, graph.holders.data() + rows[i]);
    {
        ObjectPool<Grouping> groupings;
        parallel_for(kParts, threads_, interrupt_, [&](std::size_t i, Interrupt& interrupt) {
            GraphPart& part = parts[i];
            groupings.with_object([&] { return Grouping(graph.people); },
                                  [&](Grouping& grouping) {
                                      for (auto& by_thread : numbered.all()) grouping.take(by_thread->parts[i]);
                                      grouping.by_element(
                                          interrupt, [&](std::uint64_t key, std::span<const Person> holders) {
                                              part.degrees.push_back(static_cast<std::uint32_t>(holders.size()));
                                              part.end = std::copy(holders.begin(), holders.end(), part.end);
                                              if (mask) part.groups.push_back(static_cast<std::uint32_t>(key & mask));
                                          });
                                  });
        });
    }
    pool_.shrink();
    const auto elements = sums([&](std::size_t i) { return parts[i].degrees.size(); });
    if (elements[kParts] > max_index) throw TooLarge();

    graph.begin.resize(elements[kParts] + 1);
    if (mask) graph.groups.resize(elements[kParts]);
    Person* end = graph.holders.data();
    for (std::size_t i = 0; i < kParts; ++i) {  // closes the gaps that repeated rows have left
        std::uint64_t element = elements[i], before = static_cast<std::uint64_t>(end - graph.holders.data());
        parts[i].degrees.drain([&](const std::uint32_t* degree, const std::uint32_t* last) {
            for (; degree != last; ++degree) graph.begin[++element] = before += *degree;
        });
        if (mask) parts[i].groups.drain(copy_to(graph.groups.data() + elements[i]));
        end = std::copy(graph.holders.data() + rows[i], parts[i].end, end);
    }
    graph.holders.resize(static_cast<std::size_t>(end - graph.holders.data()));
    return graph;
}

// The keys of all people, sorted, into the graph; returns how many come before each part.
std::array<std::uint64_t, kParts + 1> GraphBuilder::find_people(Graph& graph) {
    struct Finder {
        KeyNumbers numbers;
        Array<std::uint64_t> unsorted, sorted;
    };
    ObjectPool<Finder> finders;
    auto keys = empty_parts<std::uint64_t>(pool_);
    parallel_for(kParts, threads_, interrupt_, [&](std::size_t i, Interrupt& interrupt) {
        finders.with_object([] { return Finder(); },
                            [&](Finder& finder) {
                                pairs_.read_part(i, [&](const Pair* pair, const Pair* last) {
                                    interrupt.worked(static_cast<std::size_t>(last - pair));
                                    for (; pair != last; ++pair) {
                                        if (last - pair > 16) finder.numbers.prepare(pair[16].person, pair[8].person);
                                        finder.numbers(pair->person);
                                    }
                                });
                                finder.unsorted = finder.numbers.keys();
                                finder.numbers.clear();
                                finder.sorted.resize(finder.unsorted.size());
                                radix_sort(finder.unsorted.data(), finder.unsorted.size(), finder.sorted.data(),
                                           interrupt);
                                keys[i].append(finder.sorted.data(), finder.sorted.data() + finder.sorted.size());
                            });
    });
    const auto before = sums([&](std::size_t i) { return keys[i].size(); });
    graph.people_keys.resize(before[kParts]);
    for (std::size_t i = 0; i < kParts; ++i) {
        if (i % 8 == 0) pool_.shrink();  // often: if everybody holds one element, the keys are a third of all memory
        keys[i].drain(copy_to(graph.people_keys.data() + before[i]));
    }
    return before;
}

}  // namespace dpdistinct
