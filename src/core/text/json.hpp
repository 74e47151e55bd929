// Reads one line of JSON, on its own.
//
// A line must be one object by RFC 8259, nested at most 1024 deep; otherwise it is left out. A string becomes
// the text it stands for (half of a surrogate pair becomes the six characters \udXXX). null or a missing
// name is NULL. Any other value is its bytes as written. If a name repeats, the last one counts.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.hpp"
#include "text/text.hpp"

namespace dpdistinct {

class JsonLine {
   public:
    static constexpr std::size_t kDeepest = 1024;

    // Reads a line; value() then gives its values. False if the line is not an object.
    bool read(std::string_view line, const std::vector<std::string>& names) {
        found_.assign(names.size(), {});
        at_ = line.data();
        end_ = at_ + line.size();
        depth_ = 0;
        return object(names);
    }

    // The value of the i-th name; it lies in the line or in `scratch`.
    Field value(std::size_t i, std::string& scratch) const {
        const std::string_view raw = found_[i];
        if (raw.empty() || raw == "null") return std::nullopt;
        return raw[0] == '"' ? text(raw, scratch) : as_utf8(raw, scratch);
    }

   private:
    // One pass without recursion: open_[d] says whether the bracket at depth d opens an object.
    bool object(const std::vector<std::string>& names) {
        if (!take_bracket('{')) return false;
        asked_.clear();
        const char* value = nullptr;  // where the value of the last name begins
        bool first = true;            // nothing came since the last opening bracket
        while (depth_ > 0) {
            const bool named = open_[depth_ - 1];
            if (first && take(named ? '}' : ']')) {
                --depth_;
            } else {
                if (named) {
                    skip_space();
                    const char* const key = at_;
                    if (!take_string()) return false;
                    if (depth_ == 1) {
                        const std::string_view name = text({key, at_}, scratch_);
                        for (std::size_t i = 0; i < names.size(); ++i)
                            if (name == names[i]) asked_.push_back(i);
                    }
                    if (!take(':')) return false;
                }
                skip_space();
                if (depth_ == 1) value = at_;
                first = at_ < end_ && (*at_ == '{' || *at_ == '[');
                if (first ? !take_bracket(*at_) : !take_scalar()) return false;
                if (first) continue;
            }
            // A value has ended, and perhaps objects or arrays around it.
            for (;;) {
                if (depth_ == 1) {
                    for (const std::size_t i : asked_) found_[i] = {value, at_};
                    asked_.clear();
                }
                if (depth_ == 0 || take(',')) break;
                if (!take(open_[depth_ - 1] ? '}' : ']')) return false;
                --depth_;
            }
            first = false;
        }
        skip_space();
        return at_ == end_;
    }

    void skip_space() {
        while (at_ < end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\n')) ++at_;
    }

    bool take(char byte) {
        skip_space();
        if (at_ == end_ || *at_ != byte) return false;
        ++at_;
        return true;
    }

    bool take_bracket(char bracket) {
        if (depth_ == kDeepest || !take(bracket)) return false;
        open_[depth_++] = bracket == '{';
        return true;
    }

    bool take_scalar() {
        if (at_ == end_) return false;
        if (*at_ == '"') return take_string();
        for (const std::string_view word : {"true", "false", "null"})
            if (std::string_view(at_, end_).starts_with(word)) {
                at_ += word.size();
                return true;
            }
        return take_number();
    }

    bool take_digits() {
        const char* const begin = at_;
        while (at_ < end_ && *at_ >= '0' && *at_ <= '9') ++at_;
        return at_ > begin;
    }

    bool take_number() {
        const auto next_is = [this](char byte) { return at_ < end_ && *at_ == byte; };
        if (next_is('-')) ++at_;
        if (next_is('0'))
            ++at_;
        else if (!take_digits())
            return false;
        if (next_is('.')) {
            ++at_;
            if (!take_digits()) return false;
        }
        if (next_is('e') || next_is('E')) {
            ++at_;
            if (next_is('+') || next_is('-')) ++at_;
            if (!take_digits()) return false;
        }
        return true;
    }

    bool take_string() {
        if (at_ == end_ || *at_ != '"') return false;
        for (++at_; at_ < end_; ++at_) {
            const auto byte = static_cast<unsigned char>(*at_);
            if (byte == '"') {
                ++at_;
                return true;
            }
            if (byte < 0x20) return false;
            if (byte != '\\') continue;
            if (++at_ == end_) return false;
            if (*at_ == 'u') {
                for (int digit = 0; digit < 4; ++digit)
                    if (++at_ == end_ || hex(*at_) < 0) return false;
            } else if (std::string_view("\"\\/bfnrt").find(*at_) == std::string_view::npos) {
                return false;
            }
        }
        return false;
    }

    static int hex(char digit) {
        if (digit >= '0' && digit <= '9') return digit - '0';
        if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
        if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
        return -1;
    }

    // The text of a valid string that is given with its quotes.
    static std::string_view text(std::string_view raw, std::string& scratch) {
        raw = raw.substr(1, raw.size() - 2);
        if (raw.find('\\') == std::string_view::npos) return as_utf8(raw, scratch);
        std::string result;
        for (std::size_t i = 0; i < raw.size(); ++i) {
            if (raw[i] != '\\')
                result.push_back(raw[i]);
            else if (raw[++i] == 'u')
                i = append_code(raw, i, result);
            else
                result.push_back(unescaped(raw[i]));
        }
        scratch = std::move(result);
        return as_utf8(scratch, scratch);
    }

    static char unescaped(char letter) {
        switch (letter) {
            case 'b':
                return '\b';
            case 'f':
                return '\f';
            case 'n':
                return '\n';
            case 'r':
                return '\r';
            case 't':
                return '\t';
            default:
                return letter;
        }
    }

    static std::uint32_t code_at(std::string_view raw, std::size_t u) {
        std::uint32_t code = 0;
        for (std::size_t i = u + 1; i < u + 5; ++i) code = code * 16 + static_cast<std::uint32_t>(hex(raw[i]));
        return code;
    }

    // Appends the character of the escape whose 'u' stands at `u`, or of two such escapes that are a
    // surrogate pair. Returns the place of the last digit.
    static std::size_t append_code(std::string_view raw, std::size_t u, std::string& result) {
        constexpr char kDigits[] = "0123456789abcdef";
        const auto byte = [&result](std::uint32_t value) { result.push_back(static_cast<char>(value)); };
        std::uint32_t code = code_at(raw, u);
        std::size_t last = u + 4;
        if (code >= 0xD800 && code < 0xDC00 && raw.substr(last + 1).starts_with("\\u")) {
            const std::uint32_t low = code_at(raw, last + 2);
            if (low >= 0xDC00 && low < 0xE000) {
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                last += 6;
            }
        }
        if (code < 0x80) {
            byte(code);
        } else if (code < 0x800) {
            byte(0xC0 | code >> 6);
            byte(0x80 | (code & 63));
        } else if (code >= 0xD800 && code < 0xE000) {
            result.append("\\u");
            for (int shift = 12; shift >= 0; shift -= 4) result.push_back(kDigits[code >> shift & 15]);
        } else {
            if (code < 0x10000) {
                byte(0xE0 | code >> 12);
            } else {
                byte(0xF0 | code >> 18);
                byte(0x80 | (code >> 12 & 63));
            }
            byte(0x80 | (code >> 6 & 63));
            byte(0x80 | (code & 63));
        }
        return last;
    }

    const char *at_ = nullptr, *end_ = nullptr;
    std::size_t depth_ = 0;
    std::bitset<kDeepest> open_;
    std::vector<std::string_view> found_;
    std::vector<std::size_t> asked_;  // the requested names that the current value has
    std::string scratch_;
};

}  // namespace dpdistinct
