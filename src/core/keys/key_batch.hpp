// The two columns of keys that every reader hands to the builder of the graph: person, element.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "arrow/arrow_stream.hpp"
#include "base/xxh64.hpp"

namespace dpdistinct {

inline constexpr std::string_view kSides[] = {"person", "element"};

using Hashes = std::vector<std::uint64_t>;
using Keys = std::array<Hashes, 2>;

// The start of a side's keys: the hash of its salt, with Spark's seed.
inline std::uint64_t salt_hash(std::size_t side) { return xxh64(kSides[side].data(), kSides[side].size(), 42); }

inline ArrowSchema key_schema() {
    return table_schema({{kSides[0].data(), "l", false}, {kSides[1].data(), "l", false}});
}

inline ArrowArray key_batch(Keys keys) {
    auto kept = std::make_shared<Keys>(std::move(keys));
    std::vector<ColumnBuffers> columns;
    for (const Hashes& side : *kept) columns.push_back({{nullptr, side.data(), nullptr}, 2, 0});
    return table_batch((*kept)[0].size(), columns, kept);
}

}  // namespace dpdistinct
