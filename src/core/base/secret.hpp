// A number that nobody can guess, for tables whose keys anybody may choose.
#pragma once

#include <cstdint>
#include <random>

namespace dpdistinct {

// Whoever writes rows may choose their hashes, and with a known multiplier make them all fall into one slot.
// So it is drawn anew in every process; nothing but the time depends on it. Odd, so that no two keys become one.
inline std::uint64_t secret_multiplier() {
    static const std::uint64_t drawn = [] {
        std::random_device device;
        return (std::uint64_t{device()} << 32 | device()) | 1;
    }();
    return drawn;
}

}  // namespace dpdistinct
