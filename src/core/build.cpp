#include "build.hpp"

#include <array>
#include <utility>

namespace dpdistinct {
namespace {

// The rank of a key among sorted distinct keys: a table over the top bits, then a short search.
class Ranks {
   public:
    Ranks(const Array<std::uint64_t>& sorted, std::uint64_t lookups) : keys_(sorted) {
        // About one entry for each key, but at most half a byte of table for each lookup.
        const int bits = std::max(1, std::min(bit_width(keys_.size()), bit_width(lookups) - 3));
        shift_ = 64 - bits;
        first_.assign((std::size_t{1} << bits) + 1, static_cast<std::uint32_t>(keys_.size()));
        for (std::size_t i = keys_.size(); i-- > 0;)
            first_[keys_[i] >> shift_] = static_cast<std::uint32_t>(i);
        for (std::size_t b = first_.size() - 1; b-- > 0;) first_[b] = std::min(first_[b], first_[b + 1]);
    }

    // Prefetches the memory for two later lookups; `soon` comes first.
    void prepare(std::uint64_t later, std::uint64_t soon) const {
        __builtin_prefetch(&first_[later >> shift_]);
        __builtin_prefetch(&keys_[first_[soon >> shift_]]);
    }

    // `key` must be one of the keys.
    std::uint32_t operator()(std::uint64_t key) const {
        const std::size_t b = key >> shift_;
        std::uint32_t low = first_[b], high = first_[b + 1];
        while (high - low > 8) {
            const std::uint32_t middle = low + (high - low) / 2;
            (keys_[middle] <= key ? low : high) = middle;
        }
        while (keys_[low] != key) ++low;
        return low;
    }

   private:
    const Array<std::uint64_t>& keys_;
    int shift_;
    std::vector<std::uint32_t> first_;  // first_[b]: the first key whose top bits are b or more
};

// The keys of the people that one thread has seen. A small cache of recent keys drops most repetitions.
class PersonKeys {
   public:
    PersonKeys(int bits, BlockPool& pool)
        : shift_(64 - bits), recent_(std::size_t{1} << bits, 0), parts_(empty_parts<std::uint64_t>(pool)) {}

    void prepare(std::uint64_t key) const { __builtin_prefetch(&recent_[key >> shift_], 1); }  // before add(key)

    void add(std::uint64_t key) {
        std::uint64_t& seen = recent_[key >> shift_];
        if (seen == key && key != 0) return;
        seen = key;
        parts_[part_of(key)].push_back(key);
    }

    Blocks<std::uint64_t>& part(std::size_t i) { return parts_[i]; }

   private:
    int shift_;
    std::vector<std::uint64_t> recent_;
    std::vector<Blocks<std::uint64_t>> parts_;
};

// One part of the graph. Its elements are numbered by their order, so their keys are no longer needed.
struct GraphPart {
    explicit GraphPart(BlockPool& pool) : degrees(pool), people(pool), groups(pool) {}

    // `mask` selects the low bits of a key that number the element's group; 0 if there are no groups.
    void add(Blocks<Pair> sorted, PersonKeys& person_keys, std::uint64_t mask) {
        std::uint64_t element = 0;
        std::uint32_t degree = 0;
        auto element_done = [&] {
            if (degree == 0) return;
            degrees.push_back(std::exchange(degree, 0));
            if (mask) groups.push_back(static_cast<std::uint32_t>(element & mask));
        };
        sorted.drain([&](const Pair* pair, const Pair* end) {
            for (; pair != end; ++pair) {
                if (pair->element != element) element_done();
                element = pair->element;
                ++degree;
                people.push_back(pair->person);
                if (end - pair > 16) person_keys.prepare(pair[16].person);
                person_keys.add(pair->person);
            }
        });
        element_done();
    }

    Blocks<std::uint32_t> degrees;
    Blocks<std::uint64_t> people;  // keys
    Blocks<std::uint32_t> groups;  // of each element
};

}  // namespace

Graph GraphBuilder::finish(std::uint64_t max_index, int group_bits) {
    const std::uint64_t mask = (std::uint64_t{1} << group_bits) - 1;
    constexpr std::size_t kStep = kParts / 4;  // memory is returned to the system after every kStep parts
    // Dropping the element keys halves the memory of a pair from 16 bytes to 8, part by part.
    std::vector<GraphPart> parts;
    for (std::size_t i = 0; i < kParts; ++i) parts.emplace_back(pool_);
    ObjectPool<PersonKeys> person_keys;
    const int bits = std::clamp(bit_width(pairs_.at_most() / threads_) - 4, 1, 20);
    pairs_.for_each_part([&](std::size_t i, Blocks<Pair> pairs, Interrupt& interrupt) {
        interrupt.worked(pairs.size());
        person_keys.with_object([&] { return PersonKeys(bits, pool_); },
                                [&](PersonKeys& mine) { parts[i].add(std::move(pairs), mine, mask); });
    });
    std::array<std::uint64_t, kParts + 1> elements{}, pairs{};  // how many come before each part
    for (std::size_t i = 0; i < kParts; ++i) {
        elements[i + 1] = elements[i] + parts[i].degrees.size();
        pairs[i + 1] = pairs[i] + parts[i].people.size();
    }

    Graph graph;
    {
        auto distinct = empty_parts<std::uint64_t>(pool_);
        ObjectPool<Sorter<std::uint64_t>> sorters;
        parallel_for(kParts, threads_, interrupt_, [&](std::size_t i, Interrupt& interrupt) {
            sorters.with_object([] { return Sorter<std::uint64_t>(); }, [&](Sorter<std::uint64_t>& sorter) {
                for (auto& some : person_keys.all()) sorter.take(some->part(i));
                const auto sorted = sorter.sorted(interrupt);
                distinct[i].append(sorted.data(), sorted.data() + sorted.size());
            });
        });
        std::size_t count = 0;
        for (const auto& part : distinct) count += part.size();
        if (count > max_index || elements[kParts] > max_index) throw TooLarge();
        graph.people = static_cast<Person>(count);
        graph.people_keys.resize(count);
        std::uint64_t* end = graph.people_keys.data();
        for (std::size_t i = 0; i < kParts; ++i) {
            if (i % kStep == 0) pool_.shrink();
            distinct[i].drain([&](const std::uint64_t* first, const std::uint64_t* last) {
                end = std::copy(first, last, end);
            });
        }
    }

    graph.begin.resize(elements[kParts] + 1);
    graph.holders.resize(pairs[kParts]);
    if (mask) graph.groups.resize(elements[kParts]);
    const Ranks rank(graph.people_keys, pairs[kParts]);
    auto number = [&](std::size_t i, Interrupt& interrupt) {
        std::uint64_t element = elements[i], end = pairs[i];
        parts[i].degrees.drain([&](const std::uint32_t* degree, const std::uint32_t* last) {
            for (; degree != last; ++degree) graph.begin[++element] = end += *degree;
        });
        std::uint32_t* group = graph.groups.data() + (mask ? elements[i] : 0);
        parts[i].groups.drain([&](const std::uint32_t* first, const std::uint32_t* last) {
            group = std::copy(first, last, group);
        });
        Person* holder = graph.holders.data() + pairs[i];
        parts[i].people.drain([&](const std::uint64_t* key, const std::uint64_t* last) {
            interrupt.worked(static_cast<std::size_t>(last - key));
            for (; key != last; ++key) {
                if (last - key > 16) rank.prepare(key[16], key[8]);
                *holder++ = rank(*key);
            }
        });
    };
    for (std::size_t first = 0; first < kParts; first += kStep) {
        pool_.shrink();
        parallel_for(kStep, threads_, interrupt_,
                     [&](std::size_t i, Interrupt& interrupt) { number(first + i, interrupt); });
    }
    return graph;
}

}  // namespace dpdistinct
