// The metadata of an Arrow field: a count, then keys and values, each behind its length.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "arrow/arrow.hpp"

namespace dpdistinct {

// The value of this key, or an empty text.
inline std::string_view metadata_of(const ArrowSchema& field, std::string_view wanted) {
    const char* at = field.metadata;
    auto number = [&at] {
        std::int32_t value;
        std::memcpy(&value, at, sizeof value);
        at += sizeof value;
        return value;
    };
    auto text = [&] {
        const auto size = static_cast<std::size_t>(number());
        const std::string_view value(at, size);
        at += size;
        return value;
    };
    if (!at) return {};
    for (std::int32_t left = number(); left > 0; --left) {
        const std::string_view key = text(), value = text();
        if (key == wanted) return value;
    }
    return {};
}

}  // namespace dpdistinct
