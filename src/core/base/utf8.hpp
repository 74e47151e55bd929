// Text that is not UTF-8 must neither be lost nor reach an engine that refuses it. So each byte outside of a
// valid sequence counts as the four characters \xNN, as with Python's "backslashreplace". The rule looks at
// one value alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace dpdistinct {

inline bool is_ascii(const char* data, std::size_t size) {
    constexpr std::uint64_t kHigh = 0x8080808080808080;
    std::uint64_t seen = 0;
    std::size_t i = 0;
    for (; i + 8 <= size; i += 8) {
        std::uint64_t word;
        std::memcpy(&word, data + i, sizeof word);
        seen |= word;
    }
    for (; i < size; ++i) seen |= static_cast<std::uint64_t>(static_cast<unsigned char>(data[i]));
    return (seen & kHigh) == 0;
}

// The length of the UTF-8 sequence at the start of `text`, or 0 if it is not valid. Follows the Unicode
// standard's table of well-formed sequences, without surrogates and overlong forms.
inline std::size_t utf8_length(std::string_view text) {
    const auto at = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto within = [&](std::size_t i, unsigned low, unsigned high) {
        return i < text.size() && at(i) >= low && at(i) <= high;
    };
    const unsigned first = at(0);
    if (first < 0x80) return 1;
    if (first < 0xC2) return 0;
    if (first < 0xE0) return within(1, 0x80, 0xBF) ? 2 : 0;
    if (first < 0xF0)
        return within(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF) && within(2, 0x80, 0xBF) ? 3 : 0;
    if (first > 0xF4) return 0;
    return within(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF) && within(2, 0x80, 0xBF) &&
                   within(3, 0x80, 0xBF)
               ? 4
               : 0;
}

inline bool is_utf8(std::string_view text) {
    constexpr std::size_t kSome = 64;  // most text is ASCII, or nearly
    while (!text.empty()) {
        if (text.size() >= kSome && is_ascii(text.data(), kSome)) {
            text.remove_prefix(kSome);
            continue;
        }
        const std::size_t left = text.size() - std::min(kSome, text.size());
        while (text.size() > left) {
            const std::size_t length = utf8_length(text);
            if (length == 0) return false;
            text.remove_prefix(length);
        }
    }
    return true;
}

inline std::string with_hex_for_wrong_bytes(std::string_view text) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string result;
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        if (length > 0) {
            result.append(text.substr(0, length));
        } else {
            const auto byte = static_cast<unsigned char>(text[0]);
            result.append({'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]});
        }
        text.remove_prefix(length > 0 ? length : 1);
    }
    return result;
}

// `text` by the rule above; `scratch` holds it where it had to change. `text` may lie in `scratch`.
inline std::string_view as_utf8(std::string_view text, std::string& scratch) {
    if (is_ascii(text.data(), text.size()) || is_utf8(text)) return text;
    scratch = with_hex_for_wrong_bytes(text);
    return scratch;
}

}  // namespace dpdistinct
