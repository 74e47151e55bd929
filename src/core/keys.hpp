// From values to keys: an Arrow stream of the columns of people and elements becomes one of their keys.
#pragma once

#include <cstdint>

#include "arrow.hpp"

namespace dpdistinct {

// Takes over `values`, whose first `people` columns say who and whose others say what, and returns
// a stream of two columns of signed 64-bit keys.
//
// A key is what Spark's xxhash64(salt, value, ...) gives: XXH64 of each value's bytes, seeded with
// the hash of all before it. So it depends on nothing but the values, and on no engine. A NULL
// leaves the hash as it is.
ArrowArrayStream keys_of(ArrowArrayStream values, int people);

}  // namespace dpdistinct
