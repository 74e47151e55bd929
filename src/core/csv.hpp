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
        const std::string_view rows = block.rows();
        const bool ascii = is_ascii(rows.data(), rows.size());
        const char row_end = block.source->row_end;
        const char* const end = rows.data() + rows.size();
        for (const char* at = rows.data(); at != end; ++at) {
            const char* const begin = at;
            auto next = wanted_.begin();
            for (int place = 0;; ++place, ++at) {
                if (next == wanted_.end() && !block.quotes) {
                    at = find(at, end, row_end);
                    break;
                }
                const Raw raw = next_field(at, end, *block.source);
                for (; next != wanted_.end() && next->first == place; ++next)
                    fields_[next->second] = value(raw, ascii, scratch_[next->second]);
                if (*at == row_end) break;
            }
            for (; next != wanted_.end(); ++next) fields_[next->second] = std::nullopt;
            const auto size = static_cast<std::size_t>(at - begin);
            const bool empty = size == 0 || (size == 1 && *begin == '\r' && block.source->drop_return);
            if (!empty && size <= longest_row_) row(fields_);
        }
    }

    std::vector<Field>& fields() { return fields_; }

   private:
    struct Raw {  // a field as it stands there
        std::string_view text;  // without its quotes
        std::string_view rest;  // what follows the closing one
        bool quoted, doubled;   // doubled: with doubled quotes in it
    };

    // Moves `at` to the delimiter or the row end behind the field.
    Raw next_field(const char*& at, const char* end, const Source& source) const {
        Raw raw{{}, {}, *at == '"', false};
        if (raw.quoted) {
            const char* const begin = ++at;
            while ((at = find(at, end, '"')) + 1 < end && at[1] == '"') {
                raw.doubled = true;
                at += 2;
            }
            raw.text = {begin, at};
            ++at;
        }
        const char* const begin = at;
        at = field_end(at, source.row_end);
        const bool returned = source.drop_return && *at == source.row_end && at > begin && at[-1] == '\r';
        (raw.quoted ? raw.rest : raw.text) = {begin, at - returned};
        return raw;
    }

    // The next delimiter or row end. There is one: every block ends with a row.
    const char* field_end(const char* at, char row_end) const {
        constexpr std::uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;
        static_assert(std::endian::native == std::endian::little);
        const std::uint64_t delimiters = kOnes * static_cast<unsigned char>(delimiter_);
        const std::uint64_t row_ends = kOnes * static_cast<unsigned char>(row_end);
        for (;; at += 8) {
            std::uint64_t word;
            std::memcpy(&word, at, sizeof word);
            const std::uint64_t a = word ^ delimiters, b = word ^ row_ends;
            const std::uint64_t found = (((a - kOnes) & ~a) | ((b - kOnes) & ~b)) & kHighs;  // the lowest bit is right
            if (found) return at + std::countr_zero(found) / 8;
        }
    }

    static Field value(const Raw& raw, bool ascii, std::string& scratch) {
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
        return ascii ? text : as_utf8(text, scratch);
    }

    char delimiter_;
    std::size_t longest_row_;
    std::vector<std::pair<int, std::size_t>> wanted_;  // (place, i), increasing
    std::vector<std::string> scratch_;
    std::vector<Field> fields_;
};

}  // namespace dpdistinct
