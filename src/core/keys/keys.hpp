// From values to keys: turns an Arrow stream of columns into an Arrow stream of person and element keys.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "arrow/arrow.hpp"
#include "keys/group_numbers.hpp"

namespace dpdistinct {

// Takes over `values` and returns a stream of two columns of signed 64-bit keys: one of people, one of
// elements. A row with a NULL in any of these columns is left out.
//
// `utf8`: whether all text is known to be UTF-8.
//
// A key is what Spark's xxhash64(salt, value, ...) gives: XXH64 of each value's bytes, seeded with
// the hash of the values before it. So it depends on the values alone, not on the engine.
//
// With groups, the pair of group and element is counted. The low bits of its key hold the number
// of the group in the list of labels. A row of a group that is not listed is left out.
struct GroupKeys {
    std::vector<int> columns;  // text columns that make a row's label
    GroupNumbers groups;
};
ArrowArrayStream keys_of(ArrowArrayStream values, const std::vector<int>& people, const std::vector<int>& elements,
                         GroupKeys by, bool utf8, unsigned threads);

// The same for columns that arrive one by one, each in its own stream with one row for each key. Start the
// keys at salt_hash(side), add every column of the side, and in the end leave out the rows that are not
// complete.
void add_column(ArrowArrayStream& column, std::span<std::uint64_t> keys, std::span<std::uint8_t> complete);

}  // namespace dpdistinct
