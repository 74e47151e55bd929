#include "keys.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "values.hpp"
#include "xxh64.hpp"

namespace dpdistinct {
namespace {

constexpr std::uint64_t kSeed = 42;  // Spark's
constexpr std::string_view kSalts[] = {"person", "element"};

// Rows are hashed a few at a time, so that their values and hashes stay in the cache.
constexpr std::int64_t kSlice = 1 << 11;
using Hashes = std::vector<std::uint64_t>;

struct KeyStream {
    explicit KeyStream(ArrowArrayStream given) { static_cast<ArrowArrayStream&>(values) = given; }

    void open(const std::vector<int>& people, const std::vector<int>& elements) {
        Released<ArrowSchema> schema;
        if (values.get_schema(&values, &schema) != 0) throw StreamFailed();
        if (schema.format != std::string_view("+s")) throw WrongColumns();
        width = schema.n_children;
        for (int side = 0; side < 2; ++side) {
            for (int i : side == 0 ? people : elements) {
                if (i < 0 || i >= width) throw WrongColumns();
                columns[side].emplace_back(i, Values(*schema.children[i]));
            }
            if (columns[side].empty()) throw WrongColumns();
        }
    }

    Released<ArrowArrayStream> values;
    std::int64_t width = 0;
    std::vector<std::pair<int, Values>> columns[2];  // of people, of elements: the place of each in a batch
    std::unique_ptr<Released<ArrowArray>> batch;     // of values
    std::int64_t row = 0;                            // the first of the batch that is not hashed yet
};

// A batch of keys that owns all it points to.
struct KeyBatch {
    Hashes keys[2];
    const void* key_buffers[2][2] = {};
    ArrowArray arrays[2] = {};
    ArrowArray* children[2] = {};
    const void* validity = nullptr;
};

void release_child(ArrowArray* array) { array->release = nullptr; }

void release_batch(ArrowArray* array) {
    delete static_cast<KeyBatch*>(array->private_data);
    array->release = nullptr;
}

// Makes sure of a batch with rows to hash; false at the end of the stream.
bool fetch(KeyStream& stream) {
    while (!stream.batch || stream.row == stream.batch->length) {
        stream.batch = std::make_unique<Released<ArrowArray>>();
        stream.row = 0;
        const ArrowArray& batch = *stream.batch;
        if (stream.values.get_next(&stream.values, stream.batch.get()) != 0) throw StreamFailed();
        if (!batch.release) return false;
        if (batch.length < 0 || batch.offset < 0 || batch.n_children != stream.width) throw StreamFailed();
    }
    return true;
}

bool next(KeyStream& stream, ArrowArray* out) {
    if (!fetch(stream)) return false;
    const auto rows = static_cast<std::size_t>(std::min(kSlice, stream.batch->length - stream.row));
    auto batch = std::make_unique<KeyBatch>();
    std::vector<std::uint8_t> complete(rows, 1);
    for (int side = 0; side < 2; ++side) {
        Hashes& keys = batch->keys[side];
        keys.assign(rows, key_of_nothing(side));
        for (auto& [i, values] : stream.columns[side]) values.add_to({keys, complete}, *stream.batch, i, stream.row);
    }
    stream.row += static_cast<std::int64_t>(rows);
    // Rows with a NULL are left out.
    std::size_t kept = 0;
    for (std::size_t row = 0; row < rows; ++row) {
        for (Hashes& keys : batch->keys) keys[kept] = keys[row];
        kept += complete[row];
    }
    const auto length = static_cast<std::int64_t>(kept);
    for (int side = 0; side < 2; ++side) {
        batch->key_buffers[side][1] = batch->keys[side].data();
        batch->arrays[side] = {length, 0, 0, 2, 0, batch->key_buffers[side], nullptr, nullptr, release_child, nullptr};
        batch->children[side] = &batch->arrays[side];
    }
    *out = {length, 0, 0, 1, 2, &batch->validity, batch->children, nullptr, release_batch, batch.get()};
    batch.release();
    return true;
}

// Two columns of signed 64-bit integers.
struct KeySchema {
    ArrowSchema columns[2];
    ArrowSchema* children[2];
};

void release_column(ArrowSchema* schema) { schema->release = nullptr; }

void release_schema(ArrowSchema* schema) {
    delete static_cast<KeySchema*>(schema->private_data);
    schema->release = nullptr;
}

int get_schema(ArrowArrayStream*, ArrowSchema* out) {
    *out = key_schema();
    return 0;
}

int get_next(ArrowArrayStream* self, ArrowArray* out) {
    try {
        out->release = nullptr;
        next(*static_cast<KeyStream*>(self->private_data), out);
        return 0;
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    } catch (const StreamFailed&) {
        return EIO;
    }
}

void release_stream(ArrowArrayStream* self) {
    delete static_cast<KeyStream*>(self->private_data);
    self->release = nullptr;
}

}  // namespace

ArrowSchema key_schema() {
    auto* schema = new KeySchema;
    for (int side = 0; side < 2; ++side) {
        schema->columns[side] = {"l", kSalts[side].data(), nullptr, 0, 0, nullptr, nullptr, release_column, nullptr};
        schema->children[side] = &schema->columns[side];
    }
    return {"+s", "", nullptr, 0, 2, schema->children, nullptr, release_schema, schema};
}

std::uint64_t key_of_nothing(int side) { return xxh64(kSalts[side].data(), kSalts[side].size(), kSeed); }

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

ArrowArrayStream keys_of(ArrowArrayStream values, const std::vector<int>& people, const std::vector<int>& elements) {
    auto stream = std::make_unique<KeyStream>(values);
    stream->open(people, elements);
    return {get_schema, get_next, [](ArrowArrayStream*) -> const char* { return nullptr; }, release_stream, stream.release()};
}

}  // namespace dpdistinct
