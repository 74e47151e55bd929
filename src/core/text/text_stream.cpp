#include "text/text_stream.hpp"

#include <limits>
#include <memory>
#include <utility>

#include "arrow/arrow_stream.hpp"
#include "arrow/pipeline.hpp"
#include "base/parallel.hpp"
#include "base/xxh64.hpp"
#include "keys/key_batch.hpp"
#include "text/csv.hpp"
#include "text/json.hpp"
#include "text/label_memo.hpp"

namespace dpdistinct {
namespace {

// Calls row(fields) for every row of the block; fields[i] is that of the i-th requested column.
template <class Row>
void for_each_row(const Block& block, const TextQuery& query, Row row) {
    const std::size_t count = query.columns.size();
    const auto set_constants = [&](std::vector<Field>& fields) {
        for (std::size_t i = 0; i < count; ++i)
            if (query.columns[i].place < 0 && query.columns[i].place != kFieldCount)
                fields[i] = block.source->constants[static_cast<std::size_t>(-1 - query.columns[i].place)];
    };
    if (query.csv) {
        std::vector<int> places;
        for (const TextColumn& column : query.columns) places.push_back(column.place);
        CsvRows rows(places, *query.csv, query.longest_row, query.left_out.get());
        set_constants(rows.fields());
        rows.each(block, row);
        return;
    }
    std::vector<std::string> names, scratch(count);
    for (const TextColumn& column : query.columns) names.push_back(column.name);
    std::vector<Field> fields(count);
    set_constants(fields);
    JsonLine line;
    for (std::string_view rest = block.rows(); !rest.empty();) {
        const std::size_t size = rest.find('\n');
        if (size <= query.longest_row && line.read(rest.substr(0, size), names)) {
            for (std::size_t i = 0; i < count; ++i)
                if (query.columns[i].place >= 0) fields[i] = line.value(i, scratch[i]);
            row(fields);
        } else if (query.left_out) {
            const bool empty = rest.substr(0, size).find_first_not_of(" \t\r") == std::string_view::npos;
            LeftOut& counts = *query.left_out;
            ++(size > query.longest_row ? counts.too_long : empty ? counts.empty : counts.no_objects);
        }
        rest.remove_prefix(size + 1);
    }
}

// Finds the groups of rows. One thread uses it at a time.
class GroupFinder {
   public:
    explicit GroupFinder(const TextGroups& by) : by_(by), periods_(by.every.size()), texts_(by.every.size()) {}

    // The group of a label as a row writes it, from its first column on; null if it is not listed.
    const Group* operator()(const Field* label) {
        for (std::size_t g = 0; g < texts_.size(); ++g) texts_[g] = *label[g];
        return memo_(texts_, [this] { return find(); });
    }

   private:
    const Group* find() {
        std::uint64_t key = label_salt();
        for (std::size_t g = 0; g < texts_.size(); ++g) {
            std::string_view& text = texts_[g];
            if (by_.every[g] != Every::kWhole && (text = periods_[g].of(text, by_.every[g])).empty()) return nullptr;
            key = xxh64(text.data(), text.size(), key);
        }
        return by_.groups.find(key, [this](std::size_t g) { return texts_[g]; });
    }

    const TextGroups& by_;
    LabelMemo memo_;
    std::vector<PeriodLabel> periods_;
    std::vector<std::string_view> texts_;  // of a row's label
};

class MakeKeys {
   public:
    MakeKeys(std::size_t people, TextGroups by) : people_(people), by_(std::make_unique<By>(std::move(by))) {}

    ArrowSchema schema(const TextQuery&) const { return key_schema(); }

    ArrowArray batch(const Block& block, const TextQuery& query) {
        if (by_->groups.every.empty()) return key_batch(keys(block, query, nullptr));
        Keys found;
        by_->finders.with_object([this] { return GroupFinder(by_->groups); },
                                 [&](GroupFinder& finder) { found = keys(block, query, &finder); });
        return key_batch(std::move(found));
    }

   private:
    struct By {
        explicit By(TextGroups given) : groups(std::move(given)) {}
        TextGroups groups;
        ObjectPool<GroupFinder> finders;
    };

    Keys keys(const Block& block, const TextQuery& query, GroupFinder* finder) const {
        const std::uint64_t salts[] = {salt_hash(0), salt_hash(1)};
        const std::size_t behind = people_ + by_->groups.every.size();  // the label
        Keys keys;
        for_each_row(block, query, [&](const std::vector<Field>& fields) {
            for (const Field& field : fields)
                if (!field) return;
            std::uint64_t person = salts[0], pair = salts[1];
            const auto add = [](std::uint64_t& hash, std::string_view text) {
                hash = xxh64(text.data(), text.size(), hash);
            };
            const Group* const group = finder ? (*finder)(&fields[people_]) : nullptr;
            if (finder && !group) return;
            for (std::size_t i = 0; i < people_; ++i) add(person, *fields[i]);
            if (group) pair = group->pair;
            for (std::size_t i = behind; i < fields.size(); ++i) add(pair, *fields[i]);
            if (group) pair = by_->groups.groups.key(*group, pair);
            keys[0].push_back(person);
            keys[1].push_back(pair);
        });
        return keys;
    }

    std::size_t people_;
    std::unique_ptr<By> by_;  // finders point to it
};

struct Texts {
    void add(const Field& field) {
        const std::size_t row = ends.size() - 1;
        if (row % 8 == 0) valid.push_back(0);
        if (field) {
            valid.back() |= static_cast<unsigned char>(1 << row % 8);
            data.append(*field);
            // Cannot happen: a block and one long row, with four characters for each byte, are far smaller.
            if (data.size() > std::numeric_limits<std::int32_t>::max()) throw StreamFailed();
        } else {
            ++nulls;
        }
        ends.push_back(static_cast<std::int32_t>(data.size()));
    }

    std::vector<std::int32_t> ends{0};  // Arrow's offsets
    std::vector<unsigned char> valid;
    std::string data;
    std::int64_t nulls = 0;
};

struct MakeTexts {
    ArrowSchema schema(const TextQuery& query) const {
        std::vector<SchemaField> fields;
        for (const TextColumn& column : query.columns) fields.push_back({column.name, "u"});
        return table_schema(std::move(fields));
    }

    ArrowArray batch(const Block& block, const TextQuery& query) const {
        auto texts = std::make_shared<std::vector<Texts>>(query.columns.size());
        std::size_t count = 0;
        for_each_row(block, query, [&](const std::vector<Field>& fields) {
            for (std::size_t i = 0; i < fields.size(); ++i) (*texts)[i].add(fields[i]);
            ++count;
        });
        std::vector<ColumnBuffers> columns;
        for (const Texts& column : *texts)
            columns.push_back({{column.valid.data(), column.ends.data(), column.data.data()}, 3, column.nulls});
        return table_batch(count, columns, texts);
    }
};

// Cuts blocks of whole rows, and makes a batch from each.
template <class Make>
class TextJob {
   public:
    using Piece = Block;

    TextJob(std::vector<Source> sources, TextQuery query, Make make)
        : query_(std::move(query)), make_(std::move(make)),
          cutter_(std::move(sources), query_.csv, query_.block, query_.longest_row, query_.left_out.get()) {}

    ArrowSchema schema() const { return make_.schema(query_); }
    bool at_end() const { return cutter_.at_end(); }
    bool any_thread() const { return cutter_.any_thread(); }
    void cut(Block& block) { cutter_.cut(block); }
    ArrowArray batch(const Block& block) { return make_.batch(block, query_); }
    std::size_t bytes(const Block& block) const { return block.bytes.size(); }
    bool may_reuse(const Block& block) const { return block.bytes.size() <= 2 * (query_.block + Block::kPadding); }

   private:
    TextQuery query_;
    Make make_;
    Cutter cutter_;
};

template <class Make>
ArrowArrayStream text_stream(std::vector<Source> sources, TextQuery query, Make make) {
    const unsigned threads = query.threads;
    return pipeline(TextJob<Make>(std::move(sources), std::move(query), std::move(make)), threads);
}

}  // namespace

ArrowArrayStream text_values(std::vector<Source> sources, TextQuery query) {
    return text_stream(std::move(sources), std::move(query), MakeTexts{});
}

ArrowArrayStream text_keys(std::vector<Source> sources, TextQuery query, std::size_t people, TextGroups by) {
    return text_stream(std::move(sources), std::move(query), MakeKeys(people, std::move(by)));
}

}  // namespace dpdistinct
