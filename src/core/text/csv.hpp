// Reads the fields of the rows in a block of CSV.
//
// A field that begins with a quote ends at the closing quote; two quotes inside it stand for one. Text between
// the closing quote and the delimiter belongs to the field too, as in Python's csv module. An empty field
// without quotes is NULL, and so is a field that a short row does not have. An empty line is not a row, and a
// row that begins with the comment prefix is left out. Quotes count in a comment as in any row. Otherwise one
// person could end a comment early and so write rows in the name of others.
//
// A row in which delimiters overlap is left out: where "::" separates, "a:::b" may be "a:" and "b", or "a" and ":b".
// Without a header, byte order marks at the beginning of a row do not count. So it does not matter whether the first
// row of a file begins with one because the file does, or because somebody's value does.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.hpp"
#include "text/text.hpp"

namespace dpdistinct {

// The place of a column that is not a field: it holds the number of fields of the row.
inline constexpr int kFieldCount = std::numeric_limits<int>::min();

class CsvRows {
   public:
    // places[i] is the place of the i-th requested column, from 0 on. A place below 0 is a constant of the
    // source, or kFieldCount.
    CsvRows(const std::vector<int>& places, const CsvLayout& layout, std::size_t longest_row, LeftOut* left_out)
        : layout_(layout), first_(layout.spaces() ? ' ' : layout.delimiter[0]), longest_row_(longest_row),
          left_out_(left_out), scratch_(places.size()), fields_(places.size()) {
        for (std::size_t i = 0; i < places.size(); ++i) {
            if (places[i] >= 0) wanted_.emplace_back(places[i], i);
            if (places[i] == kFieldCount) counted_.push_back(i);
        }
        unusual_ = !counted_.empty() || !layout.comment.empty();
        std::sort(wanted_.begin(), wanted_.end());
    }

    // Calls row(fields) for each row; fields[i] belongs to places[i].
    template <class Row>
    void each(const Block& block, Row row) {
        source_ = block.source;
        utf8_ = is_utf8(block.rows());
        if (layout_.spaces())
            each_of<Delimiter::kSpaces>(block, row);
        else if (layout_.is_long())
            each_of<Delimiter::kBytes>(block, row);
        else
            each_of<Delimiter::kByte>(block, row);
    }

    std::vector<Field>& fields() { return fields_; }

   private:
    using Wanted = std::vector<std::pair<int, std::size_t>>::const_iterator;
    enum class Delimiter { kByte, kBytes, kSpaces };

    template <Delimiter kind, class Row>
    void each_of(const Block& block, Row& row) {
        block.quotes ? each_quoted<kind>(block.rows(), row) : each_plain<kind>(block.rows(), row);
    }

    template <Delimiter kind, class Row>
    void each_quoted(std::string_view rows, Row& row) {
        const char* const end = rows.data() + rows.size();
        for (const char* at = rows.data(); at != end; ++at) {
            const char* const begin = at = row_begin(at);
            Wanted next = wanted_.begin();
            int place = 0;
            for (;; ++place, at = behind_delimiter<kind>(at)) {
                if (kind == Delimiter::kSpaces) at = behind_spaces(at);
                const char* const field = at;
                const Raw raw = next_field<kind>(at, end);
                for (; next != wanted_.end() && next->first == place; ++next)
                    fields_[next->second] = value(raw, scratch_[next->second]);
                if (*at != source_->row_end) continue;
                place += kind != Delimiter::kSpaces || !plain(field, at).text.empty();
                break;
            }
            end_row<kind>({begin, at}, next, place, row);
        }
    }

    // For blocks without quotes: looks for delimiters and row ends only, 64 bytes at a time.
    template <Delimiter kind, class Row>
    void each_plain(std::string_view rows, Row& row) {
        const char *begin = row_begin(rows.data()), *field = begin;  // of the row, of the field
        const char* const end = rows.data() + rows.size();
        Wanted next = wanted_.begin();
        int place = 0;
        for (const char* some = rows.data(); some < end; some += 64) {
            std::uint64_t found = borders<kind>(some);
            if (end - some < 64) found &= (std::uint64_t{1} << (end - some)) - 1;
            for (; found; found &= found - 1, ++place) {
                const char* const at = some + std::countr_zero(found);
                const bool ends = *at == source_->row_end;
                if (kind == Delimiter::kBytes && !ends && !is_delimiter(at)) {
                    --place;  // not a delimiter after all
                    continue;
                }
                if (kind == Delimiter::kBytes && !ends && at < field) {
                    field = at + layout_.delimiter.size(), --place;  // it overlaps with the one before
                    unclear_ = true;
                    continue;
                }
                if (kind == Delimiter::kSpaces && !ends && at == field) {
                    ++field, --place;  // another space of the same run
                    continue;
                }
                for (; next != wanted_.end() && next->first == place; ++next)
                    fields_[next->second] = value(plain(field, at).text, scratch_[next->second]);
                const bool last = kind != Delimiter::kSpaces || !plain(field, at).text.empty();
                field = at + (kind == Delimiter::kBytes && !ends ? layout_.delimiter.size() : 1);
                if (!ends) continue;
                end_row<kind>({begin, at}, next, place + last, row);
                begin = field = row_begin(field);
                next = wanted_.begin();
                place = -1;
            }
        }
    }

    // fields: how many the row has.
    template <Delimiter kind, class Row>
    void end_row(std::string_view bytes, Wanted next, int fields, Row& row) {
        for (; next != wanted_.end(); ++next) fields_[next->second] = std::nullopt;
        if (unusual_)
            for (const std::size_t i : counted_) fields_[i] = scratch_[i] = std::to_string(fields);
        const std::size_t size = bytes.size();
        if (kind == Delimiter::kSpaces)
            bytes.remove_prefix(std::min(static_cast<std::size_t>(behind_spaces(bytes.data()) - bytes.data()), size));
        const bool empty = bytes.empty() || (source_->drop_return && bytes == "\r");
        const bool comment = unusual_ && !layout_.comment.empty() && bytes.starts_with(layout_.comment);
        const bool unclear = kind == Delimiter::kBytes && std::exchange(unclear_, false);
        if (!empty && !comment && !unclear && size <= longest_row_) return row(std::as_const(fields_));
        if (left_out_)
            ++(size > longest_row_ ? left_out_->too_long
               : empty             ? left_out_->empty
               : comment           ? left_out_->comments
                                   : left_out_->unclear);
    }

    const char* row_begin(const char* at) const { return layout_.marks ? behind_marks(at) : at; }

    // Behind the delimiter at `at`, and behind all that overlap with it.
    template <Delimiter kind>
    const char* behind_delimiter(const char* at) {
        if (kind != Delimiter::kBytes) return at + 1;
        const char* end = at + layout_.delimiter.size();
        for (++at; at < end; ++at)
            if (is_delimiter(at)) {
                end = at + layout_.delimiter.size();
                unclear_ = true;
            }
        return end;
    }

    // Cannot run past the row: its last byte, the row end, is neither space nor tab.
    static const char* behind_spaces(const char* at) {
        while (*at == ' ' || *at == '\t') ++at;
        return at;
    }

    // May compare bytes beyond the row; Block::kPadding makes that safe.
    bool is_delimiter(const char* at) const {
        return std::memcmp(at, layout_.delimiter.data(), layout_.delimiter.size()) == 0;
    }

    struct Raw {                // a field as written in the file
        std::string_view text;  // without its quotes
        std::string_view rest;  // what follows the closing quote
        bool quoted, doubled;   // doubled: with doubled quotes in it
    };

    // Reads the field at `at` and moves `at` to the delimiter or row end after it.
    template <Delimiter kind>
    Raw next_field(const char*& at, const char* end) const {
        if (*at != '"') {
            const char* const begin = at;
            at = field_end<kind>(at, end);
            return plain(begin, at);
        }
        Raw raw{{}, {}, true, false};
        const char* const begin = ++at;
        while ((at = find(at, end, '"')) + 1 < end && at[1] == '"') {
            raw.doubled = true;
            at += 2;
        }
        raw.text = {begin, at};
        const char* const rest = ++at;
        at = field_end<kind>(at, end);
        raw.rest = plain(rest, at).text;
        return raw;
    }

    // The field from `begin` to the delimiter or row end at `end`. A '\r' may belong to the row end.
    Raw plain(const char* begin, const char* end) const {
        const bool returned = source_->drop_return && *end == source_->row_end && end > begin && end[-1] == '\r';
        return {{begin, end - returned}, {}, false, false};
    }

    // The next delimiter or row end. There is one: every block ends with a row.
    template <Delimiter kind>
    const char* field_end(const char* at, const char* end) const {
        const auto is_border = [this](const char* byte) {
            if (*byte == first_ && (kind != Delimiter::kBytes || is_delimiter(byte))) return true;
            return *byte == source_->row_end || (kind == Delimiter::kSpaces && *byte == '\t');
        };
        while (at + 1 < end && !is_border(at)) ++at;
        return at;
    }

    // Bit i says whether byte i of these 64 bytes begins a delimiter or is a row end.
    template <Delimiter kind>
    std::uint64_t borders(const char* bytes) const {
        constexpr std::uint64_t kOnes = 0x0101010101010101, kLow = 0x7F7F7F7F7F7F7F7F;
        static_assert(std::endian::native == std::endian::little);
        const std::uint64_t delimiters = kOnes * static_cast<unsigned char>(first_);
        const std::uint64_t row_ends = kOnes * static_cast<unsigned char>(source_->row_end);
        const auto not_zero = [](std::uint64_t word) { return ((word & kLow) + kLow) | word; };  // high bits
        std::uint64_t result = 0;
        for (int i = 0; i < 8; ++i) {
            std::uint64_t word;
            std::memcpy(&word, bytes + 8 * i, sizeof word);
            std::uint64_t others = not_zero(word ^ delimiters) & not_zero(word ^ row_ends);
            if (kind == Delimiter::kSpaces) others &= not_zero(word ^ (kOnes * '\t'));
            const std::uint64_t found = ~others & ~kLow;
            result |= (found >> 7) * 0x0102040810204080 >> 56 << 8 * i;  // gathers the eight bits
        }
        return result;
    }

    // Of a field without quotes.
    Field value(std::string_view text, std::string& scratch) const {
        if (text.empty()) return std::nullopt;
        return utf8_ ? text : as_utf8(text, scratch);
    }

    Field value(const Raw& raw, std::string& scratch) const {
        if (!raw.quoted) return value(raw.text, scratch);
        std::string_view text = raw.text;
        if (raw.doubled || !raw.rest.empty()) {
            scratch.clear();
            for (std::size_t i = 0; i < text.size(); ++i) {
                scratch.push_back(text[i]);
                i += text[i] == '"';
            }
            text = scratch.append(raw.rest);
        }
        return utf8_ ? text : as_utf8(text, scratch);
    }

    CsvLayout layout_;
    char first_;  // byte of the delimiter
    std::size_t longest_row_;
    LeftOut* left_out_;                                // counts rows left out; may be null
    std::vector<std::pair<int, std::size_t>> wanted_;  // (place, i), increasing
    std::vector<std::size_t> counted_;                 // every i with places[i] == kFieldCount
    bool unusual_;                                     // whether rows need the tests for counted_ and comments
    std::vector<std::string> scratch_;
    std::vector<Field> fields_;
    bool unclear_ = false;            // whether delimiters overlap in the current row
    const Source* source_ = nullptr;  // of the current block
    bool utf8_ = false;  // whether the current block is all UTF-8; then so is each field, cut at whole characters
};

}  // namespace dpdistinct
