// Text files, and where their rows begin. That follows from the header, which is public, and from
// the bytes of the rows themselves, provided that the file is well-formed.
//
// One cutter passes over the bytes of all files in order. It knows from the first byte on whether
// it is inside quotes, and hands out blocks of whole rows, which any thread may then read alone.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "array.hpp"

namespace dpdistinct {

// A row of more bytes than this, without the byte that ends it, is left out.
inline constexpr std::size_t kLongestRow = std::size_t{16} << 20;
inline constexpr std::size_t kBlock = std::size_t{1} << 20;  // half of a usual second-level cache

// The value of a field; nothing for NULL.
using Field = std::optional<std::string_view>;

struct Source {
    // Fills the room as far as it can and returns the number of bytes, 0 at the end of the file.
    std::function<std::size_t(char*, std::size_t)> read;
    bool any_thread;     // may call `read`; otherwise it is the one that asks for the blocks
    std::uint64_t skip;  // bytes at the start: a byte order mark, the header line
    char row_end;        // '\n' or '\r'
    bool drop_return;    // one '\r' before the row end belongs to it
    std::vector<std::optional<std::string>> constants;  // values that all rows of this file have
};

// A plain file, opened at the first call and closed at its end.
std::function<std::size_t(char*, std::size_t)> file_reader(std::string path);

// The next `byte` in [at, end), or `end`. It is often near, and memchr takes a while to start.
inline const char* find(const char* at, const char* end, char byte) {
    constexpr std::uint64_t kOnes = 0x0101010101010101;
    static_assert(std::endian::native == std::endian::little);
    for (int i = 0; i < 4 && end - at >= 8; ++i, at += 8) {
        std::uint64_t word;
        std::memcpy(&word, at, sizeof word);
        word ^= kOnes * static_cast<unsigned char>(byte);
        const std::uint64_t found = (word - kOnes) & ~word & kOnes << 7;  // its lowest bit is right
        if (found) return at + std::countr_zero(found) / 8;
    }
    const void* found = std::memchr(at, byte, static_cast<std::size_t>(end - at));
    return found ? static_cast<const char*>(found) : end;
}

// How CSV is written. Nothing of it is ever guessed from rows.
struct CsvLayout {
    std::string delimiter;  // its bytes; none: runs of spaces and tabs, which may also begin and end a row
    std::string comment;    // a row that begins with it, outside of quotes, is left out; none: no such rows
    bool quotes = true;     // otherwise they are ordinary bytes

    bool spaces() const { return delimiter.empty(); }
    bool is_long() const { return delimiter.size() > 1; }
};

// Rows that a reader leaves out, by reason: what `check` tells, and nobody else asks for.
struct LeftOut {
    std::atomic<std::uint64_t> empty = 0, comments = 0, too_long = 0, open_quotes = 0, no_objects = 0;
};

// Finds a delimiter of several bytes from left to right, a byte at a time: of "::" in ":::" the first.
class DelimiterMatch {
   public:
    explicit DelimiterMatch(std::string_view delimiter) {
        for (std::size_t i = 0; i < delimiter.size(); ++i)
            places_[static_cast<unsigned char>(delimiter[i])] |= std::uint64_t{1} << i;
        last_ = delimiter.empty() ? 0 : std::uint64_t{1} << (delimiter.size() - 1);
    }

    void begin_row() { begun_ = 0, at_field_ = true; }
    void close_quotes() { begun_ = 0, at_field_ = false; }

    void pass(const char* at, const char* end) {
        for (; at < end; ++at) {
            begun_ = (begun_ << 1 | 1) & places_[static_cast<unsigned char>(*at)];
            at_field_ = (begun_ & last_) != 0;
            if (at_field_) begun_ = 0;
        }
    }

    bool at_field() const { return at_field_; }  // the next byte is the first of a field

   private:
    std::array<std::uint64_t, 256> places_{};  // bit i: the delimiter has this byte in place i
    std::uint64_t last_;
    std::uint64_t begun_ = 0;  // bit i: its first i + 1 bytes were the last ones seen
    bool at_field_ = true;
};

// Whole rows of one source, each with its end.
struct Block {
    static constexpr std::size_t kPadding = 64;  // so that words may be read beyond the end

    std::string_view rows() const { return {bytes.data() + begin, end - begin}; }

    const Source* source = nullptr;
    Array<char> bytes;
    std::size_t begin = 0, end = 0;
    bool quotes = false;  // there may be some
};

class Cutter {
   public:
    // The layout of CSV; without one, quotes play no role (JSON lines).
    Cutter(std::vector<Source> sources, const std::optional<CsvLayout>& csv, std::size_t block,
           std::size_t longest_row, LeftOut* left_out)
        : sources_(std::move(sources)),
          quotes_(csv && csv->quotes),
          is_long_(csv && csv->is_long()),
          delimiters_{' ', '\t'},
          match_(is_long_ ? csv->delimiter : ""),
          block_(block),
          longest_row_(longest_row),
          left_out_(left_out) {
        if (csv && !csv->spaces()) delimiters_.fill(csv->delimiter[0]);
        begin_source();
    }

    bool at_end() const { return current_ == sources_.size(); }
    bool any_thread() const { return sources_[current_].any_thread; }

    // Fills the block with the next rows, perhaps none: the work is bounded however long a row is.
    void cut(Block& block);

   private:
    void begin_source();
    void scan(const char* data, std::size_t from, std::size_t to);
    void note_row_ends(const char* data, std::size_t from, std::size_t to);
    void leave_quotes();
    void match_up_to(const char* data, const char* at, const char* to);

    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

    std::vector<Source> sources_;
    bool quotes_;                     // they play a role
    bool is_long_;                    // the delimiter has several bytes
    std::array<char, 2> delimiters_;  // each of them is one, unless is_long_
    DelimiterMatch match_;            // if is_long_
    std::size_t block_, longest_row_;
    LeftOut* left_out_;  // counted if not null
    std::size_t current_ = 0;

    // Of the current source, after the bytes read so far:
    std::uint64_t to_skip_ = 0;
    std::string tail_;             // the begun row
    bool tail_quotes_ = false;     // there may be some in it
    bool quoted_ = false;          // inside quotes
    bool after_quote_ = false;     // the last byte was a quote inside quotes: it closes, or a second one follows
    bool too_long_ = false;        // the begun row is, and what was seen of it is gone
    char previous_ = 0;            // the last byte
    std::size_t first_end_ = kNone, last_end_ = kNone;  // row ends that the last scan found
};

}  // namespace dpdistinct
