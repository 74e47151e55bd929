// Arrow streams of tables that Python yields batch by batch; and the fields of any Arrow stream.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "arrow/arrow_stream.hpp"

namespace dpdistinct {

// A stream of columns with these names and formats. `next` returns the next batch or None: a list
// with a tuple for each column, of its length and its buffers (None or an object with the buffer
// protocol), as Arrow lays them out. An exception of `next` ends the stream with an error.
ArrowArrayStream python_stream(std::vector<SchemaField> fields, nanobind::object next);

// Of each column: its name, its format, the format of its dictionary, the name of its extension type
// and the bytes that describe it; each is empty where there is none.
nanobind::list fields_of(const ArrowSchema& schema);

}  // namespace dpdistinct
