// Reads pairs of keys from an Arrow stream. The structs are those of Arrow's C data and stream interfaces.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace dpdistinct {

struct ArrowSchema {
    const char* format;
    const char* name;
    const char* metadata;
    std::int64_t flags;
    std::int64_t n_children;
    ArrowSchema** children;
    ArrowSchema* dictionary;
    void (*release)(ArrowSchema*);
    void* private_data;
};

struct ArrowArray {
    std::int64_t length;
    std::int64_t null_count;
    std::int64_t offset;
    std::int64_t n_buffers;
    std::int64_t n_children;
    const void** buffers;
    ArrowArray** children;
    ArrowArray* dictionary;
    void (*release)(ArrowArray*);
    void* private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
    int (*get_next)(ArrowArrayStream*, ArrowArray*);
    const char* (*get_last_error)(ArrowArrayStream*);
    void (*release)(ArrowArrayStream*);
    void* private_data;
};

// The text of an engine's own error may quote the data, so there is one text for all of them.
inline constexpr const char* kFailed =
    "reading the table failed; is it complete, and is there memory and room for temporary files?";

struct StreamFailed : std::runtime_error {
    StreamFailed() : std::runtime_error(kFailed) {}
};

struct WrongColumns : std::invalid_argument {
    WrongColumns() : std::invalid_argument("the stream must have two columns of 64-bit keys: person, element") {}
};

template <class T>
struct Released : T {  // its destructor calls the release callback
    Released() : T{} {}
    Released(const Released&) = delete;
    Released& operator=(const Released&) = delete;
    ~Released() {
        if (this->release) this->release(this);
    }
};

inline bool bit(const std::uint8_t* bits, std::int64_t i) { return bits[i >> 3] >> (i & 7) & 1; }

// One column of a batch. Applies the offsets of the batch and of the column. Signed keys become unsigned
// ones in the same order.
class KeyColumn {
   public:
    KeyColumn(const ArrowArray& batch, int i, bool is_signed)
        : start_(batch.offset + batch.children[i]->offset), flip_(std::uint64_t{is_signed} << 63) {
        const ArrowArray& column = *batch.children[i];
        // If a batch were shorter than it says, the loops below would read out of bounds.
        if (batch.length < 0 || batch.offset < 0 || column.offset < 0 || column.n_buffers != 2 ||
            column.length - batch.offset < batch.length || (!column.buffers[1] && batch.length > 0))
            throw StreamFailed();
        keys_ = static_cast<const unsigned char*>(column.buffers[1]);
        valid_ = column.null_count == 0 ? nullptr : static_cast<const std::uint8_t*>(column.buffers[0]);
    }
    bool valid(std::int64_t row) const { return !valid_ || bit(valid_, start_ + row); }
    std::uint64_t operator[](std::int64_t row) const {
        std::uint64_t key;  // Arrow recommends aligned buffers and does not require them
        std::memcpy(&key, keys_ + (start_ + row) * std::int64_t{sizeof key}, sizeof key);
        return key ^ flip_;
    }

   private:
    std::int64_t start_;
    std::uint64_t flip_;
    const unsigned char* keys_;
    const std::uint8_t* valid_;
};

// Calls pair(person, element) for every row without a NULL, and slice_done(rows) after every few rows,
// because a batch may be the whole table. An empty batch may take long to arrive, so it calls slice_done(0).
template <class OnPair, class OnSlice>
void for_each_pair(ArrowArrayStream& stream, OnPair pair, OnSlice slice_done) {
    constexpr std::int64_t kSlice = 1 << 16;
    bool is_signed[2];
    {
        Released<ArrowSchema> schema;
        if (stream.get_schema(&stream, &schema) != 0) throw StreamFailed();
        if (std::strcmp(schema.format, "+s") != 0 || schema.n_children != 2) throw WrongColumns();
        for (int i = 0; i < 2; ++i) {
            is_signed[i] = std::strcmp(schema.children[i]->format, "l") == 0;
            if ((!is_signed[i] && std::strcmp(schema.children[i]->format, "L") != 0) || schema.children[i]->dictionary)
                throw WrongColumns();
        }
    }
    for (;;) {
        Released<ArrowArray> batch;
        if (stream.get_next(&stream, &batch) != 0) throw StreamFailed();
        if (!batch.release) return;  // the end of the stream
        if (batch.n_children != 2) throw StreamFailed();
        const KeyColumn people(batch, 0, is_signed[0]), elements(batch, 1, is_signed[1]);
        if (batch.length == 0) slice_done(std::size_t{0});
        const auto* rows = batch.null_count == 0 ? nullptr : static_cast<const std::uint8_t*>(batch.buffers[0]);
        for (std::int64_t from = 0; from < batch.length; from += kSlice) {
            const std::int64_t end = std::min(batch.length, from + kSlice);
            for (std::int64_t i = from; i < end; ++i)
                if (people.valid(i) && elements.valid(i) && (!rows || bit(rows, batch.offset + i)))
                    pair(people[i], elements[i]);
            slice_done(static_cast<std::size_t>(end - from));
        }
    }
}

}  // namespace dpdistinct
