// Text as UTF-8, whatever bytes it is made of: a byte that is no part of UTF-8 counts as the four
// characters \xNN. So every text has a value, which depends on that text alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace dpdistinct {

// How many bytes of valid UTF-8 form one character at `at`; 0 if there is none.
inline std::size_t utf8_length(const unsigned char* at, const unsigned char* end) {
    const unsigned char lead = at[0];
    if (lead < 0x80) return 1;
    const std::size_t length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if (length == 0 || static_cast<std::size_t>(end - at) < length) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if (at[i] >> 6 != 2) return 0;
    // No longer than needed, no surrogates, nothing above U+10FFFF.
    if ((lead == 0xe0 && at[1] < 0xa0) || (lead == 0xed && at[1] >= 0xa0) || (lead == 0xf0 && at[1] < 0x90) ||
        (lead == 0xf4 && at[1] >= 0x90))
        return 0;
    return length;
}

inline bool is_utf8(const unsigned char* at, std::size_t size) {
    const unsigned char* const end = at + size;
    while (at != end) {
        std::uint64_t word;
        if (end - at >= 8 && (std::memcpy(&word, at, 8), (word & 0x8080808080808080) == 0)) {
            at += 8;  // eight characters of ASCII
            continue;
        }
        const std::size_t length = utf8_length(at, end);
        if (length == 0) return false;
        at += length;
    }
    return true;
}

// Appends the bytes to `out`, those that are no part of UTF-8 as \xNN.
inline void append_utf8(std::string& out, const unsigned char* at, std::size_t size) {
    const unsigned char* const end = at + size;
    while (at != end) {
        if (const std::size_t length = utf8_length(at, end)) {
            out.append(reinterpret_cast<const char*>(at), length);
            at += length;
        } else {
            out += "\\x";
            out += "0123456789abcdef"[*at >> 4];
            out += "0123456789abcdef"[*at & 15];
            ++at;
        }
    }
}

}  // namespace dpdistinct
