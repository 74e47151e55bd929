#include "build.hpp"

#include <bit>
#include <utility>

namespace dpdistinct {
namespace {

// The rank of a key among sorted distinct keys: a table over the top bits, then a short search.
class Ranks {
   public:
    Ranks(const std::vector<std::uint64_t>& sorted, std::uint64_t lookups) : keys_(sorted) {
        // About one key to an entry, but never more than half a byte of table for each lookup.
        const int bits = std::max(1, std::min<int>(std::bit_width(keys_.size()), std::bit_width(lookups) - 3));
        shift_ = 64 - bits;
        first_.assign((std::size_t{1} << bits) + 1, static_cast<std::uint32_t>(keys_.size()));
        for (std::size_t i = keys_.size(); i-- > 0;)
            first_[keys_[i] >> shift_] = static_cast<std::uint32_t>(i);
        for (std::size_t b = first_.size() - 1; b-- > 0;) first_[b] = std::min(first_[b], first_[b + 1]);
    }

    // Fetches the memory for two keys that are soon asked for, the second sooner.
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
    const std::vector<std::uint64_t>& keys_;
    int shift_;
    std::vector<std::uint32_t> first_;  // first_[b]: the first key whose top bits are b or more
};

// What is left of a part once its elements are in order: the keys of the elements are done with.
struct Grouped {
    std::vector<std::uint32_t> degrees;
    std::vector<std::uint64_t> people;  // keys, later replaced by `holders`
    std::vector<Person> holders;
};

Grouped group(const std::vector<Pair>& sorted) {
    Grouped part;
    part.people.resize(sorted.size());
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        if (i == 0 || sorted[i].element != sorted[i - 1].element) part.degrees.push_back(0);
        ++part.degrees.back();
        part.people[i] = sorted[i].person;
    }
    part.degrees.shrink_to_fit();
    return part;
}

}  // namespace

Graph GraphBuilder::finish(std::uint64_t max_index) {
    constexpr std::size_t kParts = DistinctKeys<Pair>::kParts;
    constexpr std::size_t kSlice = 1 << 16;
    // Sixteen bytes a pair shrink to eight, part by part, before the people are looked up.
    std::array<Grouped, kParts> parts;
    {
        auto sorted = pairs_.finish();
        parallel_for(kParts, threads_, interrupt_, [&](std::size_t i, Interrupt& interrupt) {
            parts[i] = group(sorted[i]);
            interrupt.worked(sorted[i].size());
            sorted[i] = {};
        });
    }
    std::uint64_t elements = 0, pairs = 0;
    for (const Grouped& part : parts) {
        elements += part.degrees.size();
        pairs += part.people.size();
    }
    release_free_memory(pairs);

    DistinctKeys<std::uint64_t> distinct_people(threads_, interrupt_);
    const int bits = std::clamp<int>(std::bit_width(pairs), 1, 16);
    std::vector<std::uint64_t> lately(std::size_t{1} << bits, 0);  // most repetitions are caught here, for little
    for (const Grouped& part : parts) {
        std::size_t added = 0;
        for (std::uint64_t key : part.people)
            if (std::uint64_t& seen = lately[key >> (64 - bits)]; seen != key || key == 0) {
                distinct_people.add(seen = key);
                ++added;
            }
        distinct_people.added(added);
    }
    Graph graph;
    std::vector<std::uint64_t>& people = graph.people_keys;
    {
        auto sorted = distinct_people.finish();
        std::size_t count = 0;
        for (const auto& part : sorted) count += part.size();
        if (count > max_index || elements > max_index) throw TooLarge();
        people.reserve(count);
        for (auto& part : sorted) {
            people.insert(people.end(), part.begin(), part.end());
            part = {};
        }
    }

    graph.people = static_cast<Person>(people.size());
    {
        const Ranks rank(people, pairs);
        parallel_for(kParts, threads_, interrupt_, [&](std::size_t i, Interrupt& interrupt) {
            Grouped& part = parts[i];
            part.holders.resize(part.people.size());
            for (std::size_t k = 0; k < part.people.size(); ++k) {
                if (k + 16 < part.people.size()) rank.prepare(part.people[k + 16], part.people[k + 8]);
                part.holders[k] = rank(part.people[k]);
                if (k % kSlice == 0) interrupt.worked(kSlice);
            }
            part.people = {};
        });
    }
    release_free_memory(pairs);
    graph.begin.reserve(elements + 1);
    graph.holders.reserve(pairs);
    for (Grouped& part : parts) {
        for (std::uint32_t degree : part.degrees) graph.begin.push_back(graph.begin.back() + degree);
        graph.holders.insert(graph.holders.end(), part.holders.begin(), part.holders.end());
        part = {};
    }
    return graph;
}

}  // namespace dpdistinct
