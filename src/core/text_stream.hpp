// Text files as Arrow streams, read by several threads.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arrow.hpp"
#include "text.hpp"

namespace dpdistinct {

struct TextColumn {
    std::string name;
    int place;  // in a row of CSV, from 0 on; below 0, the number of a constant of the source: -1 is the first
};

struct TextQuery {
    std::optional<CsvLayout> csv;  // JSON lines have none
    std::vector<TextColumn> columns;
    unsigned threads;
    std::size_t block = kBlock;
    std::size_t longest_row = kLongestRow;
    std::shared_ptr<LeftOut> left_out;  // counts rows if not null
};

// A column of text for each one asked for. The rows keep their order.
ArrowArrayStream text_values(std::vector<Source> sources, TextQuery query);

// The keys of the rows without a NULL, the first `people` columns saying who: what keys_of makes of
// text_values, without the texts in between.
ArrowArrayStream text_keys(std::vector<Source> sources, TextQuery query, std::size_t people);

}  // namespace dpdistinct
