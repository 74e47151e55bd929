// What the rows of a block of CSV say.
//
// A field that begins with a quote goes on to the quote that closes it, two quotes in it standing for
// one; what follows the closing quote up to the delimiter is a part of it too, as Python's csv module
// has it. An empty field without quotes is NULL, and so is one that a short row does not have. An
// empty line is no row.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text.hpp"
#include "utf8.hpp"

namespace dpdistinct {

class CsvRows {
   public:
    // places[i] is the number of the i-th column asked for, counted from 0. Below 0 it stands for a
    // constant of the source.
    CsvRows(const std::vector<int>& places, char delimiter, std::size_t longest_row)
        : delimiter_(delimiter), longest_row_(longest_row), scratch_(places.size()), fields_(places.size()) {
        for (std::size_t i = 0; i < places.size(); ++i)
            if (places[i] >= 0) wanted_.emplace_back(places[i], i);
        std::sort(wanted_.begin(), wanted_.end());
    }

    // Calls row(fields) for each row; fields[i] belongs to places[i].
    template <class Row>
    void each(const Block& block, Row row) {
        source_ = block.source;
        ascii_ = is_ascii(block.rows().data(), block.rows().size());
        block.quotes ? each_quoted(block.rows(), row) : each_plain(block.rows(), row);
    }

    std::vector<Field>& fields() { return fields_; }

   private:
    using Wanted = std::vector<std::pair<int, std::size_t>>::const_iterator;

    template <class Row>
    void each_quoted(std::string_view rows, Row row) {
        const char* const end = rows.data() + rows.size();
        for (const char* at = rows.data(); at != end; ++at) {
            const char* const begin = at;
            Wanted next = wanted_.begin();
            for (int place = 0;; ++place, ++at) {
                const Raw raw = next_field(at, end);
                for (; next != wanted_.end() && next->first == place; ++next)
                    fields_[next->second] = value(raw, scratch_[next->second]);
                if (*at == source_->row_end) break;
            }
            end_row({begin, at}, next, row);
        }
    }

    // Without quotes, delimiters and row ends are all there is to find, 64 bytes at a time.
    template <class Row>
    void each_plain(std::string_view rows, Row row) {
        const char *begin = rows.data(), *field = begin;  // of the row, of the field
        const char* const end = begin + rows.size();
        Wanted next = wanted_.begin();
        int place = 0;
        for (const char* some = begin; some < end; some += 64) {
            std::uint64_t found = borders(some);
            if (end - some < 64) found &= (std::uint64_t{1} << (end - some)) - 1;
            for (; found; found &= found - 1, ++place) {
                const char* const at = some + std::countr_zero(found);
                for (; next != wanted_.end() && next->first == place; ++next)
                    fields_[next->second] = value(plain(field, at), scratch_[next->second]);
                field = at + 1;
                if (*at != source_->row_end) continue;
                end_row({begin, at}, next, row);
                begin = field;
                next = wanted_.begin();
                place = -1;
            }
        }
    }

    template <class Row>
    void end_row(std::string_view bytes, Wanted next, Row& row) {
        for (; next != wanted_.end(); ++next) fields_[next->second] = std::nullopt;
        const bool empty = bytes.empty() || (source_->drop_return && bytes == "\r");
        if (!empty && bytes.size() <= longest_row_) row(std::as_const(fields_));
    }

    struct Raw {  // a field as it stands there
        std::string_view text;  // without its quotes
        std::string_view rest;  // what follows the closing one
        bool quoted, doubled;   // doubled: with doubled quotes in it
    };

    // Moves `at` to the delimiter or the row end behind the field.
    Raw next_field(const char*& at, const char* end) const {
        if (*at != '"') {
            const char* const begin = at;
            at = field_end(at, end);
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
        at = field_end(at, end);
        raw.rest = plain(rest, at).text;
        return raw;
    }

    // Up to the border at `end`, to which a '\r' may belong.
    Raw plain(const char* begin, const char* end) const {
        const bool returned = source_->drop_return && *end == source_->row_end && end > begin && end[-1] == '\r';
        return {{begin, end - returned}, {}, false, false};
    }

    // The next delimiter or row end. There is one: every block ends with a row.
    const char* field_end(const char* at, const char* end) const {
        while (at + 1 < end && *at != delimiter_ && *at != source_->row_end) ++at;
        return at;
    }

    // Which of these 64 bytes are delimiters or row ends: bit i for byte i.
    std::uint64_t borders(const char* bytes) const {
        constexpr std::uint64_t kOnes = 0x0101010101010101, kLow = 0x7F7F7F7F7F7F7F7F;
        static_assert(std::endian::native == std::endian::little);
        const std::uint64_t delimiters = kOnes * static_cast<unsigned char>(delimiter_);
        const std::uint64_t row_ends = kOnes * static_cast<unsigned char>(source_->row_end);
        const auto not_zero = [](std::uint64_t word) { return ((word & kLow) + kLow) | word; };  // in the high bits
        std::uint64_t result = 0;
        for (int i = 0; i < 8; ++i) {
            std::uint64_t word;
            std::memcpy(&word, bytes + 8 * i, sizeof word);
            const std::uint64_t found = ~(not_zero(word ^ delimiters) & not_zero(word ^ row_ends)) & ~kLow;
            result |= (found >> 7) * 0x0102040810204080 >> 56 << 8 * i;  // gathers the eight bits
        }
        return result;
    }

    Field value(const Raw& raw, std::string& scratch) const {
        if (!raw.quoted && raw.text.empty()) return std::nullopt;
        std::string_view text = raw.text;
        if (raw.doubled || !raw.rest.empty()) {
            scratch.clear();
            for (std::size_t i = 0; i < text.size(); ++i) {
                scratch.push_back(text[i]);
                i += text[i] == '"';
            }
            text = scratch.append(raw.rest);
        }
        return ascii_ ? text : as_utf8(text, scratch);
    }

    char delimiter_;
    std::size_t longest_row_;
    std::vector<std::pair<int, std::size_t>> wanted_;  // (place, i), increasing
    std::vector<std::string> scratch_;
    std::vector<Field> fields_;
    const Source* source_ = nullptr;  // of the block at hand
    bool ascii_ = false;              // all its bytes are
};

}  // namespace dpdistinct
