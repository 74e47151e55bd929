// Cuts text files into blocks of whole rows. Where rows begin follows from the header, which is public, and,
// if the file is well-formed, from the bytes of the rows.
//
// One cutter reads the bytes of all files in order, so it always knows whether it is inside quotes. Any thread
// can then read a block on its own.
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

#include "base/array.hpp"

namespace dpdistinct {

// A row of more bytes than this (not counting its row end) is left out.
inline constexpr std::size_t kLongestRow = std::size_t{16} << 20;
inline constexpr std::size_t kBlock = std::size_t{1} << 20;  // half of a usual second-level cache

// The value of a field; nullopt for NULL.
using Field = std::optional<std::string_view>;

struct Source {
    // Reads up to so many bytes and returns how many it read; 0 only at the end of the file.
    std::function<std::size_t(char*, std::size_t)> read;
    bool any_thread;     // any thread may call `read`; otherwise only the thread that reads the stream
    std::uint64_t skip;  // bytes at the start: a byte order mark, the header line
    char row_end;        // '\n' or '\r'
    bool drop_return;    // one '\r' before the row end belongs to it
    std::vector<std::optional<std::string>> constants;  // values that all rows of this file have
};

// A plain file, opened at the first call and closed at its end.
std::function<std::size_t(char*, std::size_t)> file_reader(std::string path);

// The next `byte` in [at, end), or `end`. The first 32 bytes are searched here: memchr is slow to start.
inline const char* find(const char* at, const char* end, char byte) {
    constexpr std::uint64_t kOnes = 0x0101010101010101;
    static_assert(std::endian::native == std::endian::little);
    for (int i = 0; i < 4 && end - at >= 8; ++i, at += 8) {
        std::uint64_t word;
        std::memcpy(&word, at, sizeof word);
        word ^= kOnes * static_cast<unsigned char>(byte);
        const std::uint64_t found = (word - kOnes) & ~word & kOnes << 7;  // only the lowest set bit is reliable
        if (found) return at + std::countr_zero(found) / 8;
    }
    const void* found = std::memchr(at, byte, static_cast<std::size_t>(end - at));
    return found ? static_cast<const char*>(found) : end;
}

inline constexpr std::string_view kMark = "\xef\xbb\xbf";  // the byte order mark of UTF-8, U+FEFF

// Behind all marks that stand here. May compare bytes beyond the row; Block::kPadding makes that safe.
inline const char* behind_marks(const char* at) {
    while (std::memcmp(at, kMark.data(), kMark.size()) == 0) at += kMark.size();
    return at;
}

// The layout of a CSV file. It is never guessed from rows.
struct CsvLayout {
    std::string delimiter;  // if empty: runs of spaces and tabs, which may also begin and end a row
    std::string comment;    // rows that begin with this are left out; if empty, there are no comments
    bool quotes = true;     // if false, quotes are ordinary bytes
    bool marks = false;     // byte order marks at the beginning of a row do not count

    bool spaces() const { return delimiter.empty(); }
    bool is_long() const { return delimiter.size() > 1; }
};

// How many rows were left out, by reason. Only `check` asks for this.
struct LeftOut {
    std::atomic<std::uint64_t> empty = 0, comments = 0, too_long = 0, open_quotes = 0, unclear = 0, no_objects = 0;
};

// Finds a delimiter of several bytes, a byte at a time, also where it overlaps with itself: "::" ends twice in ":::".
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
        }
    }

    bool at_field() const { return at_field_; }  // the next byte is the first of a field

   private:
    std::array<std::uint64_t, 256> places_{};  // bit i: the delimiter has this byte in place i
    std::uint64_t last_;
    std::uint64_t begun_ = 0;  // bit i: the last i + 1 bytes are the first i + 1 of the delimiter
    bool at_field_ = true;
};

// Whole rows of one source, each with its row end.
struct Block {
    static constexpr std::size_t kPadding = 64;  // so that words may be read beyond the end

    std::string_view rows() const { return {bytes.data() + begin, end - begin}; }

    const Source* source = nullptr;
    Array<char> bytes;
    std::size_t begin = 0, end = 0;
    bool quotes = false;  // whether there may be quotes in it
};

class Cutter {
   public:
    // JSON lines have no CSV layout; quotes do not matter there.
    Cutter(std::vector<Source> sources, const std::optional<CsvLayout>& csv, std::size_t block, std::size_t longest_row,
           LeftOut* left_out)
        : sources_(std::move(sources)), quotes_(csv && csv->quotes), is_long_(csv && csv->is_long()),
          marks_(csv && csv->marks), delimiters_{' ', '\t'}, match_(is_long_ ? csv->delimiter : ""), block_(block),
          longest_row_(longest_row), left_out_(left_out) {
        if (csv && !csv->spaces()) delimiters_.fill(csv->delimiter[0]);
        begin_source();
    }

    bool at_end() const { return current_ == sources_.size(); }
    bool any_thread() const { return sources_[current_].any_thread; }

    // Fills the block with the next rows. It may be empty, because a call reads a bounded number of bytes.
    void cut(Block& block);

   private:
    void begin_source();
    void scan(const char* data, std::size_t from, std::size_t to);
    void note_row_ends(const char* data, std::size_t from, std::size_t to);
    void leave_quotes();
    void match_up_to(const char* data, const char* at, const char* to);
    bool only_marks_before(const char* data, const char* at) const;

    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

    std::vector<Source> sources_;
    bool quotes_;                     // whether quotes matter
    bool is_long_;                    // the delimiter has several bytes
    bool marks_;                      // marks at the beginning of a row do not count
    std::array<char, 2> delimiters_;  // the delimiters of one byte, unless is_long_
    DelimiterMatch match_;            // if is_long_
    std::size_t block_, longest_row_;
    LeftOut* left_out_;  // counts rows left out; may be null
    std::size_t current_ = 0;

    // Of the current source, after the bytes read so far:
    std::uint64_t to_skip_ = 0;
    std::size_t begin_ = 0;     // where its first row begins among the bytes at hand
    std::string tail_;          // the bytes so far of a row that has not ended
    bool tail_quotes_ = false;  // whether there may be quotes in it
    bool quoted_ = false;       // inside quotes
    bool after_quote_ = false;  // the last byte was a quote inside quotes: it closes, or a second one follows
    bool too_long_ = false;     // this row is too long, and its bytes are dropped
    char previous_ = 0;         // the last byte
    std::size_t first_end_ = kNone, last_end_ = kNone;  // row ends that the last scan found
};

}  // namespace dpdistinct
