// From a stream of hashed (person, element) rows to the graph.
#pragma once

#include <array>
#include <cstdint>

#include "base/blocks.hpp"
#include "base/interrupt.hpp"
#include "graph/distinct_pairs.hpp"
#include "graph/graph.hpp"

namespace dpdistinct {

inline constexpr std::size_t kLeastRoom = std::size_t{1} << 22;

class GraphBuilder {
   public:
    // Only tests set `least_room`.
    GraphBuilder(unsigned threads, Interrupt& interrupt, std::size_t least_room = kLeastRoom)
        : threads_(threads), interrupt_(interrupt), pairs_(pool_, threads, interrupt, least_room) {}

    void add(std::uint64_t person, std::uint64_t element) { pairs_.add({element, person}); }
    void added(std::size_t rows) { pairs_.added(rows); }

    // Numbers people and elements by the order of their keys. The builder is empty afterwards.
    // Only tests of the limit set `max_index`. The `group_bits` lowest bits of an element's key number its
    // group; the graph keeps them unless `group_bits` is 0.
    Graph finish(std::uint64_t max_index = kMaxIndex, int group_bits = 0);

   private:
    std::array<std::uint64_t, kParts + 1> find_people(Graph& graph);

    unsigned threads_;
    Interrupt& interrupt_;
    BlockPool pool_;
    DistinctPairs pairs_;
};

}  // namespace dpdistinct
