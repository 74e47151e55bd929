// Text files as Arrow streams, read by several threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arrow.hpp"
#include "group_numbers.hpp"
#include "periods.hpp"
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

// Whether a stream has left out a row because its date is in no plain form (periods.hpp).
struct OtherDates {
    std::atomic<bool> met = false;
};

// The columns of a group's label, which stand between those that say who and those that say what.
struct TextGroups {
    std::vector<Every> every;  // of each column
    GroupNumbers groups;
    std::shared_ptr<OtherDates> others;
};

// The keys of the rows without a NULL, the first `people` columns saying who: what keys_of makes of
// text_values, without the texts in between. With groups, rows of groups that are not listed are left out.
ArrowArrayStream text_keys(std::vector<Source> sources, TextQuery query, std::size_t people, TextGroups by);

}  // namespace dpdistinct
