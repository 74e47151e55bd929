#include "keys/keys.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arrow/pipeline.hpp"
#include "keys/group_numbers.hpp"
#include "keys/key_batch.hpp"
#include "keys/values.hpp"

namespace dpdistinct {
namespace {

// Rows of a batch that are hashed together: few enough that their values and hashes stay in the cache.
constexpr std::int64_t kSlice = 1 << 13;

struct Slice {
    std::shared_ptr<const ArrowArray> batch;
    std::uint64_t number = 0;  // of the batch
    std::int64_t row = 0, rows = 0;
};

// What one thread needs to hash rows.
class Hasher {
   public:
    Hasher(const ArrowSchema& schema, const std::vector<int>& people, const std::vector<int>& elements,
           const std::vector<int>& labels, bool utf8) {
        auto add = [&](Columns& side, const std::vector<int>& places) {
            for (int i : places) {
                if (i < 0 || i >= schema.n_children) throw WrongColumns();
                side.emplace_back(i, Values(*schema.children[i], utf8));
            }
        };
        add(columns_[0], people);
        add(columns_[1], elements);
        add(labels_, labels);
        for (const auto& [i, column] : labels_)
            if (!column.has_bytes()) throw WrongColumns();
    }

    Keys keys(const Slice& slice, const GroupNumbers& groups) {
        const bool fresh = std::exchange(number_, slice.number) != slice.number;
        const auto rows = static_cast<std::size_t>(slice.rows);
        const auto add = [&](Columns& columns, Hashes& hashes) {
            for (auto& [i, column] : columns) column.add_to({hashes, complete_}, *slice.batch, i, slice.row, fresh);
        };
        Keys keys;
        complete_.assign(rows, 1);
        leave_out_null_rows(slice);
        for (std::size_t side = 0; side < 2; ++side) keys[side].assign(rows, salt_hash(side));
        if (!labels_.empty()) {
            found_.resize(rows);
            if (labels_.size() == 1 && labels_[0].second.is_dictionary()) {
                auto& [i, column] = labels_[0];
                column.look_at(*slice.batch, i, slice.row, fresh);
                find_groups(column, groups, fresh);
            } else {
                label_keys_.assign(rows, label_salt());
                add(labels_, label_keys_);
                find_groups(groups);
            }
            for (std::size_t i = 0; i < rows; ++i) {
                complete_[i] = complete_[i] && found_[i];
                if (found_[i]) keys[1][i] = found_[i]->pair;
            }
        }
        for (std::size_t side = 0; side < 2; ++side) add(columns_[side], keys[side]);
        if (!labels_.empty())
            for (std::size_t i = 0; i < rows; ++i)
                if (found_[i]) keys[1][i] = groups.key(*found_[i], keys[1][i]);
        // Rows with a NULL, or of a group that is not listed, are left out.
        std::size_t kept = 0;
        for (std::size_t from = 0; from < rows; ++from) {
            for (Hashes& side : keys) side[kept] = side[from];
            kept += complete_[from];
        }
        for (Hashes& side : keys) side.resize(kept);
        return keys;
    }

   private:
    using Columns = std::vector<std::pair<int, Values>>;  // the place of each in a batch

    // A row of a batch may be NULL as a whole, whatever its columns hold.
    void leave_out_null_rows(const Slice& slice) {
        const ArrowArray& batch = *slice.batch;
        if (batch.null_count == 0 || batch.n_buffers < 1 || !batch.buffers[0]) return;
        const auto* there = static_cast<const std::uint8_t*>(batch.buffers[0]);
        for (std::size_t i = 0; i < complete_.size(); ++i)
            complete_[i] = bit(there, batch.offset + slice.row + static_cast<std::int64_t>(i));
    }

    // The group of each row; null if it is not listed.
    void find_groups(const GroupNumbers& groups) {
        for (std::size_t i = 0; i < found_.size(); ++i) {
            auto bytes = [&](std::size_t place) { return labels_[place].second.hashed_bytes(i); };
            found_[i] = complete_[i] ? groups.find(label_keys_[i], bytes) : nullptr;
        }
    }

    // The same for labels in a dictionary: each of them is looked up once for a batch.
    void find_groups(Values& labels, const GroupNumbers& groups, bool fresh) {
        if (fresh) meant_.assign(labels.meanings(), std::nullopt);
        const auto group_of = [&](std::int64_t meaning) -> const Group* {
            std::uint64_t key = label_salt();
            if (!labels.add_meaning(meaning, key)) return nullptr;
            return groups.find(key, [&](std::size_t) { return labels.bytes_of_meaning(meaning); });
        };
        for (std::size_t i = 0; i < found_.size(); ++i) {
            const std::int64_t meaning = labels.meaning(i);
            if (meaning < 0) {
                found_[i] = nullptr;
                continue;
            }
            std::optional<const Group*>& known = meant_[static_cast<std::size_t>(meaning)];
            if (!known) known = group_of(meaning);
            found_[i] = *known;
        }
    }

    Columns columns_[2];                              // of people, of elements
    Columns labels_;                                  // of groups, if there are any
    std::uint64_t number_ = 0;                        // of the last batch; they count from 1 on
    std::vector<std::optional<const Group*>> meant_;  // by its label in the dictionary of that batch
    // Of the rows at hand:
    std::vector<std::uint8_t> complete_;
    Hashes label_keys_;
    std::vector<const Group*> found_;
};

// Cuts batches of values into slices, and hashes each.
class KeyJob {
   public:
    using Piece = Slice;

    KeyJob(ArrowArrayStream values, std::vector<int> people, std::vector<int> elements, GroupKeys by, bool utf8)
        : parts_(std::make_unique<Parts>()), people_(std::move(people)), elements_(std::move(elements)),
          labels_(std::move(by.columns)), utf8_(utf8), groups_(std::move(by.groups)) {
        static_cast<ArrowArrayStream&>(parts_->values) = values;
        if (parts_->values.get_schema(&parts_->values, &parts_->schema) != 0) throw StreamFailed();
        if (parts_->schema.format != std::string_view("+s")) throw WrongColumns();
        if (people_.empty() || elements_.empty()) throw WrongColumns();
        make_hasher();  // throws if a column is missing or of a type without keys
    }

    ArrowSchema schema() const { return key_schema(); }
    bool at_end() const { return at_end_; }
    bool any_thread() const { return batch_ && row_ < batch_->length; }
    std::size_t bytes(const Slice&) const { return 0; }
    bool may_reuse(const Slice&) const { return false; }

    void cut(Slice& slice) {
        if (!any_thread()) fetch();
        if (at_end_) return;
        slice = {batch_, number_, row_, std::min(kSlice, batch_->length - row_)};
        row_ += slice.rows;
    }

    ArrowArray batch(const Slice& slice) {
        Keys keys;
        if (slice.rows > 0)
            parts_->hashers.with_object([&] { return make_hasher(); },
                                        [&](Hasher& hasher) { keys = hasher.keys(slice, groups_); });
        return key_batch(std::move(keys));
    }

   private:
    struct Parts {
        Released<ArrowArrayStream> values;
        Released<ArrowSchema> schema;
        ObjectPool<Hasher> hashers;
    };

    Hasher make_hasher() const { return {parts_->schema, people_, elements_, labels_, utf8_}; }

    void fetch() {
        auto fresh = std::make_shared<Released<ArrowArray>>();
        if (parts_->values.get_next(&parts_->values, fresh.get()) != 0) throw StreamFailed();
        at_end_ = !fresh->release;
        if (!at_end_ && (fresh->length < 0 || fresh->offset < 0 || fresh->n_children != parts_->schema.n_children))
            throw StreamFailed();
        batch_ = std::move(fresh);
        ++number_;
        row_ = 0;
    }

    std::unique_ptr<Parts> parts_;  // what cannot be moved
    std::vector<int> people_, elements_, labels_;
    bool utf8_;
    GroupNumbers groups_;
    bool at_end_ = false;
    std::shared_ptr<const ArrowArray> batch_;
    std::uint64_t number_ = 0;
    std::int64_t row_ = 0;  // the first row of the batch that is in no slice yet
};

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
        values.add_to({keys.subspan(done, rows), complete.subspan(done, rows)}, batch, 0, 0, true);
        done += rows;
    }
    if (done != keys.size()) throw StreamFailed();
}

ArrowArrayStream keys_of(ArrowArrayStream values, const std::vector<int>& people, const std::vector<int>& elements,
                         GroupKeys by, bool utf8, unsigned threads) {
    return pipeline(KeyJob(values, people, elements, std::move(by), utf8), threads);
}

}  // namespace dpdistinct
