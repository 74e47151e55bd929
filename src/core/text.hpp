// Text files, and where their rows begin. That follows from the header, which is public, and from
// the bytes of the rows themselves, provided that the file is well-formed.
//
// One cutter passes over the bytes of all files in order. It knows from the first byte on whether
// it is inside quotes, and hands out blocks of whole rows, which any thread may then read alone.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
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
    // A delimiter of CSV; without one, quotes play no role (JSON lines).
    Cutter(std::vector<Source> sources, std::optional<char> delimiter, std::size_t block, std::size_t longest_row)
        : sources_(std::move(sources)), delimiter_(delimiter), block_(block), longest_row_(longest_row) {
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

    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

    std::vector<Source> sources_;
    std::optional<char> delimiter_;
    std::size_t block_, longest_row_;
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
