// What people own besides the graph: elements that nobody else holds, as a number for each person.
#pragma once

#include <cstdint>
#include <vector>

#include "base/interrupt.hpp"
#include "graph/graph.hpp"

namespace dpdistinct {

class BaseLoads {
   public:
    explicit BaseLoads(const Graph& graph) : graph_(graph), base_(graph.people, 0) {}

    // The person with this key, who must be in the graph, owns so many elements more.
    void add(std::uint64_t person, std::uint64_t elements);

    // How many elements each person owns in an assignment of all that is as even as it can be.
    std::vector<std::uint32_t> balanced_loads(unsigned threads, Interrupt& interrupt) const;

   private:
    std::vector<std::uint32_t> narrowed() const;

    const Graph& graph_;
    std::vector<std::uint32_t> base_;
};

}  // namespace dpdistinct
