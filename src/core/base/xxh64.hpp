// XXH64, the hash behind Spark's xxhash64: fast, and the same on every engine.
// https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace dpdistinct {
namespace xxh64_detail {

constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87, kPrime2 = 0xC2B2AE3D27D4EB4F, kPrime3 = 0x165667B19E3779F9,
                        kPrime4 = 0x85EBCA77C2B2AE63, kPrime5 = 0x27D4EB2F165667C5;

template <class T>
T read(const unsigned char* from) {
    static_assert(std::endian::native == std::endian::little);
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

inline std::uint64_t round(std::uint64_t lane, std::uint64_t input) {
    return std::rotl(lane + input * kPrime2, 31) * kPrime1;
}

inline std::uint64_t merge(std::uint64_t hash, std::uint64_t lane) {
    return (hash ^ round(0, lane)) * kPrime1 + kPrime4;
}

inline std::uint64_t finish(std::uint64_t hash) {
    hash = (hash ^ hash >> 33) * kPrime2;
    hash = (hash ^ hash >> 29) * kPrime3;
    return hash ^ hash >> 32;
}

}  // namespace xxh64_detail

inline std::uint64_t xxh64(const void* data, std::size_t size, std::uint64_t seed) {
    using namespace xxh64_detail;
    const auto* at = static_cast<const unsigned char*>(data);
    const unsigned char* const end = at + size;
    std::uint64_t hash;
    if (size >= 32) {
        // Four variables and not an array: so they stay in registers, however the compiler unrolls.
        std::uint64_t a = seed + kPrime1 + kPrime2, b = seed + kPrime2, c = seed, d = seed - kPrime1;
        for (; end - at >= 32; at += 32) {
            a = round(a, read<std::uint64_t>(at));
            b = round(b, read<std::uint64_t>(at + 8));
            c = round(c, read<std::uint64_t>(at + 16));
            d = round(d, read<std::uint64_t>(at + 24));
        }
        hash = std::rotl(a, 1) + std::rotl(b, 7) + std::rotl(c, 12) + std::rotl(d, 18);
        hash = merge(merge(merge(merge(hash, a), b), c), d);
    } else {
        hash = seed + kPrime5;
    }
    hash += size;
    for (; end - at >= 8; at += 8) hash = std::rotl(hash ^ round(0, read<std::uint64_t>(at)), 27) * kPrime1 + kPrime4;
    if (end - at >= 4) {
        hash = std::rotl(hash ^ read<std::uint32_t>(at) * kPrime1, 23) * kPrime2 + kPrime3;
        at += 4;
    }
    for (; at != end; ++at) hash = std::rotl(hash ^ *at * kPrime5, 11) * kPrime1;
    return finish(hash);
}

}  // namespace dpdistinct
