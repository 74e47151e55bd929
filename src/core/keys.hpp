// From values to keys: an Arrow stream of the columns of people and elements becomes one of their keys.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "arrow.hpp"
#include "group_numbers.hpp"

namespace dpdistinct {

// Takes over `values` and returns a stream of two columns of signed 64-bit keys: of the columns that
// say who, and of those that say what. A row with a NULL in any of them is left out.
//
// A key is what Spark's xxhash64(salt, value, ...) gives: XXH64 of each value's bytes, seeded with
// the hash of all before it. So it depends on nothing but the values, and on no engine.
//
// With groups, what is counted is the pair of group and element: the low bits of its key hold the number
// of the group in the list of labels, and a row of a group that is not listed is left out.
struct GroupKeys {
    std::vector<int> columns;  // of text: the label of a row
    GroupNumbers groups;
};
ArrowArrayStream keys_of(ArrowArrayStream values, const std::vector<int>& people, const std::vector<int>& elements,
                         GroupKeys by);

// The same for columns that come one by one, each in a stream of its own with as many rows as there
// are keys: start from salt_hash(side), add every column that belongs to the side, and leave out the
// rows that are not complete in the end.
void add_column(ArrowArrayStream& column, std::span<std::uint64_t> keys, std::span<std::uint8_t> complete);

}  // namespace dpdistinct
