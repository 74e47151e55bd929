#include "keys.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "arrow_stream.hpp"
#include "key_batch.hpp"
#include "xxh64.hpp"

namespace dpdistinct {
namespace {

// Rows are hashed a few at a time, so that their values and hashes stay in the cache.
constexpr std::int64_t kSlice = 1 << 11;

// The values of one column of a batch as the bytes that Spark hashes.
class Values {
   public:
    // Throws WrongColumns for a type that no canonical form has been agreed on.
    explicit Values(const ArrowSchema& schema) {
        const std::string_view format = schema.format;
        if (schema.dictionary) throw WrongColumns();
        if (format == "l" || format == "L" || format.starts_with("ts"))
            hash_ = &Values::fixed<std::int64_t>;
        else if (format == "i" || format == "tdD")
            hash_ = &Values::fixed<std::int32_t>;
        else if (format == "ttu")
            hash_ = &Values::time;
        else if (format == "g")
            hash_ = &Values::number;
        else if (format == "u" || format == "z")
            hash_ = &Values::bytes<std::int32_t>;
        else if (format == "U" || format == "Z")
            hash_ = &Values::bytes<std::int64_t>;
        else if (format == "vu" || format == "vz")
            hash_ = &Values::view;
        else if (format.starts_with("d:"))
            read_decimal(format);
        else
            throw WrongColumns();
    }

    // Adds the values of the batch's rows from `row` on to as many hashes as there are.
    void add_to(Hashes& hashes, const ArrowArray& batch, int i, std::int64_t row) {
        const ArrowArray& column = *batch.children[i];
        if (column.offset < 0 || column.n_buffers < 2 || column.length - batch.offset < batch.length)
            throw StreamFailed();
        if (hashes.empty()) return;
        buffers_ = column.buffers;
        start_ = batch.offset + column.offset + row;
        valid_ = column.null_count == 0 ? nullptr : static_cast<const std::uint8_t*>(column.buffers[0]);
        (this->*hash_)(hashes);
    }

   private:
    template <class Add>
    void each(Hashes& hashes, Add add) const {
        for (std::size_t row = 0; row < hashes.size(); ++row) {
            const std::int64_t at = start_ + static_cast<std::int64_t>(row);
            if (!valid_ || bit(valid_, at)) hashes[row] = add(at, hashes[row]);
        }
    }

    template <class T>
    T read(int buffer, std::int64_t at) const {
        T value;  // Arrow recommends aligned buffers and does not require them
        std::memcpy(&value, static_cast<const unsigned char*>(buffers_[buffer]) + at * sizeof value, sizeof value);
        return value;
    }

    template <class T>
    static std::uint64_t hash(T value, std::uint64_t seed) {
        return xxh64(&value, sizeof value, seed);
    }

    template <class T>
    void fixed(Hashes& hashes) {
        each(hashes, [&](std::int64_t at, std::uint64_t seed) { return hash(read<T>(1, at), seed); });
    }

    void time(Hashes& hashes) {  // in nanoseconds
        each(hashes, [&](std::int64_t at, std::uint64_t seed) { return hash(1000 * read<std::int64_t>(1, at), seed); });
    }

    void number(Hashes& hashes) {  // -0.0 equals 0.0, and all NaN are one value
        each(hashes, [&](std::int64_t at, std::uint64_t seed) {
            const double value = read<double>(1, at);
            const std::uint64_t bits = value != value ? 0x7ff8000000000000 : std::bit_cast<std::uint64_t>(value + 0.0);
            return hash(bits, seed);
        });
    }

    template <class Offset>
    void bytes(Hashes& hashes) {
        const auto* data = static_cast<const unsigned char*>(buffers_[2]);
        each(hashes, [&](std::int64_t at, std::uint64_t seed) {
            const Offset begin = read<Offset>(1, at), end = read<Offset>(1, at + 1);
            return xxh64(data + begin, static_cast<std::size_t>(end - begin), seed);
        });
    }

    void view(Hashes& hashes) {
        struct View {
            std::int32_t size;
            unsigned char start[4];  // short strings go on to the end of the struct
            std::int32_t buffer, offset;
        };
        each(hashes, [&](std::int64_t at, std::uint64_t seed) {
            const View view = read<View>(1, at);
            const auto size = static_cast<std::size_t>(view.size);
            if (size <= 12) return xxh64(reinterpret_cast<const unsigned char*>(&view) + 4, size, seed);
            return xxh64(static_cast<const unsigned char*>(buffers_[2 + view.buffer]) + view.offset, size, seed);
        });
    }

    // "d:precision,scale" or "d:precision,scale,bits"
    void read_decimal(std::string_view format) {
        int precision = 0, bits = 128;
        std::from_chars(format.data() + 2, format.data() + format.size(), precision);
        const std::size_t first = format.find(','), second = format.find(',', first + 1);
        if (second != format.npos) std::from_chars(format.data() + second + 1, format.data() + format.size(), bits);
        words_ = bits / 32;
        if (precision < 1 || precision > 38 || (words_ != 1 && words_ != 2 && words_ != 4)) throw WrongColumns();
        hash_ = precision <= 18 ? &Values::short_decimal : &Values::long_decimal;
    }

    __int128 unscaled(std::int64_t at) const {
        if (words_ == 1) return read<std::int32_t>(1, at);
        if (words_ == 2) return read<std::int64_t>(1, at);
        return read<__int128>(1, at);
    }

    void short_decimal(Hashes& hashes) {
        each(hashes, [&](std::int64_t at, std::uint64_t seed) {
            return hash(static_cast<std::int64_t>(unscaled(at)), seed);
        });
    }

    void long_decimal(Hashes& hashes) {  // as Java's BigInteger.toByteArray: the fewest bytes, the highest first
        each(hashes, [&](std::int64_t at, std::uint64_t seed) {
            __int128 value = unscaled(at);
            unsigned char reversed[16];
            int first = 16;
            do {
                reversed[--first] = static_cast<unsigned char>(value);
                value >>= 8;
            } while (first > 0 && !((value == 0 && reversed[first] < 128) || (value == -1 && reversed[first] >= 128)));
            return xxh64(reversed + first, static_cast<std::size_t>(16 - first), seed);
        });
    }

    void (Values::*hash_)(Hashes&) = nullptr;
    const void** buffers_ = nullptr;
    const std::uint8_t* valid_ = nullptr;
    std::int64_t start_ = 0;
    int words_ = 0;
};

struct KeyStream {
    explicit KeyStream(ArrowArrayStream given, int people_columns) : people(people_columns) {
        static_cast<ArrowArrayStream&>(values) = given;
    }

    void open() {
        Released<ArrowSchema> schema;
        if (values.get_schema(&values, &schema) != 0) throw StreamFailed();
        if (schema.format != std::string_view("+s") || schema.n_children <= people) throw WrongColumns();
        for (std::int64_t i = 0; i < schema.n_children; ++i) columns.emplace_back(*schema.children[i]);
    }

    ArrowSchema schema() const { return key_schema(); }
    void next(ArrowArray* out);
    bool fetch();

    Released<ArrowArrayStream> values;
    int people;
    std::vector<Values> columns;
    std::unique_ptr<Released<ArrowArray>> batch;  // of values
    std::int64_t row = 0;                         // the first of the batch that is not hashed yet
};

// Makes sure of a batch with rows to hash; false at the end of the stream.
bool KeyStream::fetch() {
    while (!batch || row == batch->length) {
        batch = std::make_unique<Released<ArrowArray>>();
        row = 0;
        const ArrowArray& fresh = *batch;
        if (values.get_next(&values, batch.get()) != 0) throw StreamFailed();
        if (!fresh.release) return false;
        if (fresh.length < 0 || fresh.offset < 0 || fresh.n_children != std::ssize(columns)) throw StreamFailed();
    }
    return true;
}

void KeyStream::next(ArrowArray* out) {
    if (!fetch()) return;
    const std::int64_t rows = std::min(kSlice, batch->length - row);
    Keys keys;
    for (int side = 0; side < 2; ++side) {
        keys[side].assign(static_cast<std::size_t>(rows), salt_hash(side));
        const int begin = side == 0 ? 0 : people;
        const int end = side == 0 ? people : static_cast<int>(columns.size());
        for (int i = begin; i < end; ++i) columns[i].add_to(keys[side], *batch, i, row);
    }
    row += rows;
    *out = key_batch(std::move(keys));
}

}  // namespace

ArrowArrayStream keys_of(ArrowArrayStream values, int people) {
    auto stream = std::make_unique<KeyStream>(values, people);
    stream->open();
    return arrow_stream(std::move(stream));
}

}  // namespace dpdistinct
