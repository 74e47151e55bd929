// Text files as Arrow streams, read by several threads.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arrow/arrow.hpp"
#include "keys/group_numbers.hpp"
#include "text/periods.hpp"
#include "text/text.hpp"

namespace dpdistinct {

struct TextColumn {
    std::string name;
    int place;  // in a row of CSV, from 0 on; -1, -2, ... are the first, second, ... constant of the source
};

struct TextQuery {
    std::optional<CsvLayout> csv;  // JSON lines have none
    std::vector<TextColumn> columns;
    unsigned threads;
    std::size_t block = kBlock;
    std::size_t longest_row = kLongestRow;
    std::shared_ptr<LeftOut> left_out;  // counts rows left out; may be null
};

// A text column for each requested column. The rows keep their order.
ArrowArrayStream text_values(std::vector<Source> sources, TextQuery query);

// The columns of the group's label. They stand after the person's columns and before the element's.
struct TextGroups {
    std::vector<Every> every;  // of each column
    GroupNumbers groups;
};

// The keys of the rows without a NULL; the first `people` columns are the person's. The same keys as those of
// keys_of(text_values(...)), but the texts are not copied. Rows of groups that are not listed are left out.
ArrowArrayStream text_keys(std::vector<Source> sources, TextQuery query, std::size_t people, TextGroups by);

}  // namespace dpdistinct
