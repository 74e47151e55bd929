// The values of an Arrow column as bytes that are the same in every engine, and their hashes.
#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arrow/arrow.hpp"
#include "arrow/metadata.hpp"
#include "base/utf8.hpp"
#include "base/xxh64.hpp"

namespace dpdistinct {

// The hashes of some rows, and which of the rows have a value in every column so far.
struct HashedRows {
    std::span<std::uint64_t> hashes;
    std::span<std::uint8_t> complete;
};

// One column. What a value is follows from the column's type and the value alone:
//
//     integers         64 bits; unsigned 64-bit ones as the fewest bytes of two's complement, highest first
//     floats           the bits of a double; -0.0 is 0.0, and all NaN are one value
//     text             UTF-8; a byte that is no part of it counts as the four characters \xNN
//     bytes            as they are; UUIDs as their text
//     booleans         32 bits, 0 or 1
//     decimals         unscaled; 64 bits up to 18 digits, else the fewest bytes, highest first
//     dates            days, 32 bits; times: nanoseconds, 64 bits
//     timestamps       64 bits in the unit of the type
//     dictionaries     the value that is meant
//
// These are the bytes that Spark's xxhash64 hashes (sources/forms.py has the same table for SQL).
class Values {
   public:
    // Throws WrongColumns for a type that is not on the list above. `utf8`: whether text is known to be UTF-8, and
    // need not be looked at once more.
    explicit Values(const ArrowSchema& schema, bool utf8 = false) {
        const std::string_view format = schema.format;
        mends_ = !utf8 && (format == "u" || format == "U" || format == "vu");
        if (schema.dictionary) {
            meant_ = std::make_unique<Values>(*schema.dictionary, utf8);
            if (meant_->meant_) throw WrongColumns();
            read_integer_ = integer_reader(format);
            if (!read_integer_) throw WrongColumns();
            hash_ = &Values::dictionary;
        } else if (format == "L") {
            hash_ = &Values::unsigned_long;
        } else if (const Hash integers = integer_hash(format)) {
            hash_ = integers;
        } else if (format == "b") {
            hash_ = &Values::boolean;
        } else if (format == "e") {
            hash_ = &Values::half;
        } else if (format == "f") {
            hash_ = &Values::number<float>;
        } else if (format == "g") {
            hash_ = &Values::number<double>;
        } else if (format.starts_with("ts")) {
            hash_ = &Values::fixed<std::int64_t>;
        } else if (format == "tdD") {
            hash_ = &Values::fixed<std::int32_t>;
            bytes_ = &Values::day_at;
        } else if (format == "tdm") {
            hash_ = &Values::date_of_milliseconds;
        } else if (format == "tts" || format == "ttm") {
            factor_ = format == "tts" ? 1'000'000'000 : 1'000'000;
            hash_ = &Values::time<std::int32_t>;
        } else if (format == "ttu" || format == "ttn") {
            factor_ = format == "ttu" ? 1000 : 1;
            hash_ = &Values::time<std::int64_t>;
        } else if (format == "u" || format == "z") {
            hash_ = format == "u" && !utf8 ? &Values::bytes<std::int32_t, true> : &Values::bytes<std::int32_t, false>;
            bytes_ = &Values::bytes_at<std::int32_t>;
        } else if (format == "U" || format == "Z") {
            hash_ = format == "U" && !utf8 ? &Values::bytes<std::int64_t, true> : &Values::bytes<std::int64_t, false>;
            bytes_ = &Values::bytes_at<std::int64_t>;
        } else if (format == "vu" || format == "vz") {
            hash_ = format == "vu" && !utf8 ? &Values::view<true> : &Values::view<false>;
            bytes_ = &Values::view_at;
        } else if (format.starts_with("w:")) {
            std::from_chars(format.data() + 2, format.data() + format.size(), width_);
            if (width_ < 0) throw WrongColumns();
            hash_ = width_ == 16 && metadata_of(schema, "ARROW:extension:name") == "arrow.uuid" ? &Values::uuid
                                                                                                : &Values::fixed_bytes;
        } else if (format.starts_with("d:")) {
            read_decimal(format);
        } else if (format == "n") {
            hash_ = &Values::nothing;
        } else {
            throw WrongColumns();
        }
    }

    // Adds the values of the batch's rows from `row` on to as many hashes as there are. `fresh`: this is another batch
    // than that of the last call, and may have another dictionary.
    void add_to(HashedRows rows, const ArrowArray& batch, int i, std::int64_t row, bool fresh) {
        look_at(batch, i, row, fresh);
        if (!rows.hashes.empty()) (this->*hash_)(rows);
    }

    // The same without hashing.
    void look_at(const ArrowArray& batch, int i, std::int64_t row, bool fresh) {
        const ArrowArray& column = *batch.children[i];
        if (column.offset < 0 || column.length - batch.offset < batch.length) throw StreamFailed();
        open(column);
        start_ = batch.offset + column.offset + row;
        if (meant_ && fresh) {
            hashed_.clear();
            if (meanings_ <= batch.length) hashed_.resize(static_cast<std::size_t>(meanings_));
        }
    }

    // Whether this is a dictionary; how many values it has; which of them a row means of those that add_to() or
    // look_at() has just seen, or -1 for NULL.
    bool is_dictionary() const { return meant_ != nullptr; }
    std::size_t meanings() const { return static_cast<std::size_t>(meanings_); }
    std::int64_t meaning(std::size_t row) const {
        const std::int64_t at = start_ + static_cast<std::int64_t>(row);
        return !valid_ || bit(valid_, at) ? index(at) : -1;
    }

    // Adds a value of the dictionary to a hash; false if it is a NULL. In the first column of a person or
    // element all rows have the same hash so far, so there each value is hashed once.
    bool add_meaning(std::int64_t index, std::uint64_t& key) {
        Meaning* const known = hashed_.empty() ? nullptr : &hashed_[static_cast<std::size_t>(index)];
        if (known && known->state != Meaning::kUnknown && known->seed == key) {
            key = known->key;
            return known->state == Meaning::kValue;
        }
        const std::uint64_t seed = key;
        std::uint8_t there = 1;
        meant_->start_ = meant_first_ + index;
        (meant_.get()->*meant_->hash_)({{&key, 1}, {&there, 1}});
        if (known) *known = {seed, key, there ? Meaning::kValue : Meaning::kNull};
        return there != 0;
    }

    // Whether values can be compared by their bytes: text, dates, and dictionaries of these.
    bool has_bytes() const { return meant_ ? meant_->has_bytes() : bytes_ != nullptr; }

    // The bytes that were hashed of one of the rows that add_to() has just seen, or of a value of the dictionary. It
    // must not be NULL. They are valid until the next call.
    std::string_view hashed_bytes(std::size_t row) {
        const std::int64_t at = start_ + static_cast<std::int64_t>(row);
        return meant_ ? bytes_of_meaning(index(at)) : hashed_bytes_at(at);
    }
    std::string_view bytes_of_meaning(std::int64_t index) { return meant_->hashed_bytes_at(meant_first_ + index); }

   private:
    void open(const ArrowArray& column) {
        if (hash_ == &Values::nothing) return;
        if (column.n_buffers < 2) throw StreamFailed();
        buffers_ = column.buffers;
        valid_ = column.null_count == 0 ? nullptr : static_cast<const std::uint8_t*>(column.buffers[0]);
        if (!meant_) return;
        if (!column.dictionary || column.dictionary->offset < 0 || column.dictionary->length < 0) throw StreamFailed();
        meant_->open(*column.dictionary);
        meant_first_ = column.dictionary->offset;
        meanings_ = column.dictionary->length;
    }

    // Calls add(position, hash) for every row with a value, and marks the others as incomplete.
    template <class Add>
    void each(const HashedRows& rows, Add add) const {
        for (std::size_t row = 0; row < rows.hashes.size(); ++row) {
            const std::int64_t at = start_ + static_cast<std::int64_t>(row);
            if (!valid_ || bit(valid_, at))
                rows.hashes[row] = add(at, rows.hashes[row]);
            else
                rows.complete[row] = 0;
        }
    }

    template <class T>
    T read(int buffer, std::int64_t at) const {
        T value;  // Arrow recommends aligned buffers and does not require them
        std::memcpy(&value,
                    static_cast<const unsigned char*>(buffers_[buffer]) + at * static_cast<std::int64_t>(sizeof value),
                    sizeof value);
        return value;
    }

    template <class T>
    static std::uint64_t hash(T value, std::uint64_t seed) {
        return xxh64(&value, sizeof value, seed);
    }

    template <class T>
    void fixed(const HashedRows& rows) {
        each(rows, [&](std::int64_t at, std::uint64_t seed) { return hash(read<T>(1, at), seed); });
    }

    using Hash = void (Values::*)(const HashedRows&);
    using ReadInteger = std::int64_t (Values::*)(std::int64_t) const;
    using ReadBytes = std::string_view (Values::*)(std::int64_t) const;

    template <class T>
    std::int64_t widened(std::int64_t at) const {
        return static_cast<std::int64_t>(read<T>(1, at));
    }

    template <class T>
    void integer(const HashedRows& rows) {
        each(rows, [&](std::int64_t at, std::uint64_t seed) { return hash(widened<T>(at), seed); });
    }

    // What `make` gives for the type of these integers; nothing for other formats.
    template <class Made, class Make>
    static Made of_integers(std::string_view format, Make make) {
        if (format == "c") return make(std::int8_t{});
        if (format == "C") return make(std::uint8_t{});
        if (format == "s") return make(std::int16_t{});
        if (format == "S") return make(std::uint16_t{});
        if (format == "i") return make(std::int32_t{});
        if (format == "I") return make(std::uint32_t{});
        if (format == "l") return make(std::int64_t{});
        if (format == "L") return make(std::uint64_t{});
        return nullptr;
    }

    static Hash integer_hash(std::string_view format) {
        return of_integers<Hash>(format, []<class T>(T) -> Hash { return &Values::integer<T>; });
    }

    static ReadInteger integer_reader(std::string_view format) {
        return of_integers<ReadInteger>(format, []<class T>(T) -> ReadInteger { return &Values::widened<T>; });
    }

    void unsigned_long(const HashedRows& rows) {
        each(rows, [&](std::int64_t at, std::uint64_t seed) { return hash_fewest(read<std::uint64_t>(1, at), seed); });
    }

    void boolean(const HashedRows& rows) {
        const auto* bits = static_cast<const std::uint8_t*>(buffers_[1]);
        each(rows, [&](std::int64_t at, std::uint64_t seed) { return hash(std::int32_t{bit(bits, at)}, seed); });
    }

    static std::uint64_t hash_double(double value, std::uint64_t seed) {
        return hash(value != value ? 0x7ff8000000000000 : std::bit_cast<std::uint64_t>(value + 0.0), seed);
    }

    template <class T>
    void number(const HashedRows& rows) {
        each(rows, [&](std::int64_t at, std::uint64_t seed) { return hash_double(double{read<T>(1, at)}, seed); });
    }

    void half(const HashedRows& rows) {
        each(rows, [&](std::int64_t at, std::uint64_t seed) {
            const auto bits = read<std::uint16_t>(1, at);
            const int exponent = bits >> 10 & 31, fraction = bits & 1023;
            double value = exponent == 0   ? std::ldexp(fraction, -24)
                           : exponent < 31 ? std::ldexp(1024 + fraction, exponent - 25)
                           : fraction == 0 ? HUGE_VAL
                                           : std::nan("");
            return hash_double(bits >> 15 ? -value : value, seed);
        });
    }

    void date_of_milliseconds(const HashedRows& rows) {
        constexpr std::int64_t kDay = 86'400'000;
        each(rows, [&](std::int64_t at, std::uint64_t seed) {
            const auto value = read<std::int64_t>(1, at);
            return hash(static_cast<std::int32_t>(value / kDay - (value % kDay < 0)), seed);
        });
    }

    template <class T>
    void time(const HashedRows& rows) {  // unsigned, because an invalid time may overflow
        each(rows, [&](std::int64_t at, std::uint64_t seed) {
            return hash(factor_ * static_cast<std::uint64_t>(std::int64_t{read<T>(1, at)}), seed);
        });
    }

    template <bool is_text>
    std::uint64_t hash_bytes(std::string_view value, std::uint64_t seed) {
        if constexpr (is_text) value = as_utf8(value, mended_);
        return xxh64(value.data(), value.size(), seed);
    }

    template <class Offset>
    std::string_view bytes_at(std::int64_t at) const {
        const Offset begin = read<Offset>(1, at), end = read<Offset>(1, at + 1);
        return {static_cast<const char*>(buffers_[2]) + begin, static_cast<std::size_t>(end - begin)};
    }

    std::string_view view_at(std::int64_t at) const {
        struct View {
            std::int32_t size;
            unsigned char start[4];  // short strings go on to the end of the struct
            std::int32_t buffer, offset;
        };
        const View view = read<View>(1, at);
        const auto size = static_cast<std::size_t>(view.size);
        if (size <= 12) return {static_cast<const char*>(buffers_[1]) + at * std::int64_t{sizeof view} + 4, size};
        return {static_cast<const char*>(buffers_[2 + view.buffer]) + view.offset, size};
    }

    template <class Offset, bool is_text>
    void bytes(const HashedRows& rows) {
        each(rows,
             [&](std::int64_t at, std::uint64_t seed) { return hash_bytes<is_text>(bytes_at<Offset>(at), seed); });
    }

    template <bool is_text>
    void view(const HashedRows& rows) {
        each(rows, [&](std::int64_t at, std::uint64_t seed) { return hash_bytes<is_text>(view_at(at), seed); });
    }

    std::string_view day_at(std::int64_t at) const {
        constexpr std::size_t kSize = sizeof(std::int32_t);
        return {static_cast<const char*>(buffers_[1]) + at * std::int64_t{kSize}, kSize};
    }

    std::string_view hashed_bytes_at(std::int64_t at) {
        const std::string_view value = (this->*bytes_)(at);
        return mends_ ? as_utf8(value, mended_) : value;
    }

    const unsigned char* fixed_at(std::int64_t at) const {
        return static_cast<const unsigned char*>(buffers_[1]) + at * width_;
    }

    void fixed_bytes(const HashedRows& rows) {
        each(rows, [&](std::int64_t at, std::uint64_t seed) {
            return xxh64(fixed_at(at), static_cast<std::size_t>(width_), seed);
        });
    }

    void uuid(const HashedRows& rows) {
        each(rows, [&](std::int64_t at, std::uint64_t seed) {
            char text[36];
            char* out = text;
            for (int i = 0; i < 16; ++i) {
                if (i == 4 || i == 6 || i == 8 || i == 10) *out++ = '-';
                *out++ = "0123456789abcdef"[fixed_at(at)[i] >> 4];
                *out++ = "0123456789abcdef"[fixed_at(at)[i] & 15];
            }
            return xxh64(text, sizeof text, seed);
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

    __extension__ using Int128 = __int128;  // g++ and clang have it, the standard has not

    Int128 unscaled(std::int64_t at) const {
        if (words_ == 1) return read<std::int32_t>(1, at);
        if (words_ == 2) return read<std::int64_t>(1, at);
        return read<Int128>(1, at);
    }

    void short_decimal(const HashedRows& rows) {
        each(rows,
             [&](std::int64_t at, std::uint64_t seed) { return hash(static_cast<std::int64_t>(unscaled(at)), seed); });
    }

    void long_decimal(const HashedRows& rows) {
        each(rows, [&](std::int64_t at, std::uint64_t seed) { return hash_fewest(unscaled(at), seed); });
    }

    // As Java's BigInteger.toByteArray: the fewest bytes, the highest first.
    static std::uint64_t hash_fewest(Int128 value, std::uint64_t seed) {
        unsigned char reversed[16];
        int first = 16;
        do {
            reversed[--first] = static_cast<unsigned char>(value);
            value >>= 8;
        } while (first > 0 && !((value == 0 && reversed[first] < 128) || (value == -1 && reversed[first] >= 128)));
        return xxh64(reversed + first, static_cast<std::size_t>(16 - first), seed);
    }

    void dictionary(const HashedRows& rows) {
        for (std::size_t row = 0; row < rows.hashes.size(); ++row) {
            const std::int64_t at = start_ + static_cast<std::int64_t>(row);
            bool there = !valid_ || bit(valid_, at);
            if (there) there = add_meaning(index(at), rows.hashes[row]);
            if (!there) rows.complete[row] = 0;
        }
    }

    // Which value of the dictionary a row means.
    std::int64_t index(std::int64_t at) const {
        const std::int64_t found = (this->*read_integer_)(at);
        if (found < 0 || found >= meanings_) throw StreamFailed();
        return found;
    }

    void nothing(const HashedRows& rows) { std::fill(rows.complete.begin(), rows.complete.end(), std::uint8_t{0}); }

    Hash hash_ = nullptr;
    const void** buffers_ = nullptr;
    const std::uint8_t* valid_ = nullptr;
    std::int64_t start_ = 0;
    ReadInteger read_integer_ = nullptr;
    ReadBytes bytes_ = nullptr;  // of columns of text, bytes and dates
    std::uint64_t factor_ = 1;   // from the unit of a time to nanoseconds
    int width_ = -1;             // of a type of bytes with a fixed length
    int words_ = 0;              // of a decimal
    bool mends_ = false;         // whether text may be no UTF-8
    std::string mended_;         // such a text, as it counts
    // A value of a dictionary, hashed: the hash that it was added to, and the result.
    struct Meaning {
        enum State : std::uint8_t { kUnknown, kNull, kValue };
        std::uint64_t seed = 0, key = 0;
        State state = kUnknown;
    };
    std::unique_ptr<Values> meant_;  // the values of a dictionary
    std::int64_t meant_first_ = 0;   // the first of them, in its buffers
    std::int64_t meanings_ = 0;      // how many
    std::vector<Meaning> hashed_;    // of this batch; empty if there are more values than rows
};

}  // namespace dpdistinct
