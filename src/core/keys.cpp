#include "keys.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arrow_stream.hpp"
#include "group_numbers.hpp"
#include "key_batch.hpp"
#include "utf8.hpp"
#include "values.hpp"

namespace dpdistinct {
namespace {

// Rows are hashed a few at a time, so that their values and hashes stay in the cache.
constexpr std::int64_t kSlice = 1 << 11;

struct KeyStream {
    explicit KeyStream(ArrowArrayStream given) { static_cast<ArrowArrayStream&>(values) = given; }

    void open(const std::vector<int>& people, const std::vector<int>& elements, GroupKeys by, bool utf8) {
        Released<ArrowSchema> schema;
        if (values.get_schema(&values, &schema) != 0) throw StreamFailed();
        if (schema.format != std::string_view("+s")) throw WrongColumns();
        width = schema.n_children;
        auto add = [&](Columns& side, const std::vector<int>& places) {
            for (int i : places) {
                if (i < 0 || i >= width) throw WrongColumns();
                side.emplace_back(i, Values(*schema.children[i], utf8));
            }
        };
        add(columns[0], people);
        add(columns[1], elements);
        add(labels, by.columns);
        if (people.empty() || elements.empty()) throw WrongColumns();
        groups = std::move(by.groups);
    }

    ArrowSchema schema() const { return key_schema(); }
    void next(ArrowArray* out);
    bool fetch();
    void find_groups(std::vector<std::uint8_t>& complete);

    using Columns = std::vector<std::pair<int, Values>>;  // the place of each in a batch
    Released<ArrowArrayStream> values;
    std::int64_t width = 0;
    Columns columns[2];                                       // of people, of elements
    Columns labels;                                           // of groups, if there are any
    GroupNumbers groups;
    std::vector<const Group*> found;                          // of the rows at hand
    std::unique_ptr<Released<ArrowArray>> batch;     // of values
    std::int64_t row = 0;                            // the first row of the batch that is not hashed yet
};

// Reads batches until one has rows to hash; false at the end of the stream.
bool KeyStream::fetch() {
    while (!batch || row == batch->length) {
        batch = std::make_unique<Released<ArrowArray>>();
        row = 0;
        const ArrowArray& fresh = *batch;
        if (values.get_next(&values, batch.get()) != 0) throw StreamFailed();
        if (!fresh.release) return false;
        if (fresh.length < 0 || fresh.offset < 0 || fresh.n_children != width) throw StreamFailed();
    }
    return true;
}

// Finds the group of each row. Rows of groups that are not listed become incomplete.
void KeyStream::find_groups(std::vector<std::uint8_t>& complete) {
    Hashes keys(complete.size(), label_salt());
    std::string mended;
    for (auto& [i, column] : labels) column.add_to({keys, complete}, *batch, i, row);
    found.resize(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        auto text = [&](std::size_t place) -> std::optional<std::string_view> {
            const Values& column = labels[place].second;
            if (!column.has_text()) return std::nullopt;
            return as_utf8(column.text(i), mended);
        };
        found[i] = complete[i] ? groups.find(keys[i], text) : nullptr;
        complete[i] = found[i] != nullptr;
    }
}

void KeyStream::next(ArrowArray* out) {
    if (!fetch()) return;
    const auto rows = static_cast<std::size_t>(std::min(kSlice, batch->length - row));
    Keys keys;
    std::vector<std::uint8_t> complete(rows, 1);
    for (std::size_t side = 0; side < 2; ++side) keys[side].assign(rows, salt_hash(side));
    if (!labels.empty()) {
        find_groups(complete);
        for (std::size_t i = 0; i < rows; ++i)
            if (found[i]) keys[1][i] = found[i]->pair;
    }
    for (std::size_t side = 0; side < 2; ++side)
        for (auto& [i, column] : columns[side]) column.add_to({keys[side], complete}, *batch, i, row);
    if (!labels.empty())
        for (std::size_t i = 0; i < rows; ++i)
            if (found[i]) keys[1][i] = groups.key(*found[i], keys[1][i]);
    row += static_cast<std::int64_t>(rows);
    // Rows with a NULL, or of a group that is not listed, are left out.
    std::size_t kept = 0;
    for (std::size_t from = 0; from < rows; ++from) {
        for (Hashes& side : keys) side[kept] = side[from];
        kept += complete[from];
    }
    for (Hashes& side : keys) side.resize(kept);
    *out = key_batch(std::move(keys));
}

}  // namespace

void add_column(ArrowArrayStream& stream, std::span<std::uint64_t> keys, std::span<std::uint8_t> complete) {
    Released<ArrowSchema> schema;
    if (stream.get_schema(&stream, &schema) != 0) throw StreamFailed();
    if (schema.format != std::string_view("+s") || schema.n_children != 1) throw WrongColumns();
    Values values(*schema.children[0]);
    std::size_t done = 0;
    for (;;) {
        Released<ArrowArray> batch;
        if (stream.get_next(&stream, &batch) != 0) throw StreamFailed();
        if (!batch.release) break;
        if (batch.n_children != 1 || batch.offset < 0 || batch.length < 0 ||
            static_cast<std::size_t>(batch.length) > keys.size() - done)
            throw StreamFailed();
        const auto rows = static_cast<std::size_t>(batch.length);
        values.add_to({keys.subspan(done, rows), complete.subspan(done, rows)}, batch, 0, 0);
        done += rows;
    }
    if (done != keys.size()) throw StreamFailed();
}

ArrowArrayStream keys_of(ArrowArrayStream values, const std::vector<int>& people, const std::vector<int>& elements,
                         GroupKeys by, bool utf8) {
    auto stream = std::make_unique<KeyStream>(values);
    stream->open(people, elements, std::move(by), utf8);
    return arrow_stream(std::move(stream));
}

}  // namespace dpdistinct
