// The groups of labels that were met before, by their texts as rows write them: the few labels of a table stand in
// millions of rows, and to look one up anew takes longer than to read the rest of its row.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/secret.hpp"
#include "keys/group_numbers.hpp"

namespace dpdistinct {

// One thread uses it at a time. A new label takes the place of an old one, so it never grows.
class LabelMemo {
   public:
    // The group of a label: as it was found the last time, or what find() returns. Null if it is not listed.
    template <class Find>
    const Group* operator()(std::span<const std::string_view> texts, Find find) {
        if (texts.size() > kColumns) return find();
        Written written;
        written.sizes = 0;
        for (std::size_t i = 0; i < texts.size(); ++i) {
            if (texts[i].size() > 16) return find();
            written.add(i, texts[i]);
        }
        Slot& slot = slots_[written.hash(multiplier_) >> (64 - kBits)];
        if (!(slot.written == written)) slot = {written, find()};
        return slot.group;
    }

   private:
    static constexpr std::size_t kColumns = 2;

    // Up to two texts of up to 16 bytes. Equal only for equal texts.
    struct Written {
        std::array<std::uint64_t, 2 * kColumns> words{};
        std::uint64_t sizes = ~std::uint64_t{0};  // in a slot that is free

        // Two reads that may overlap cover a text of any such size, and nothing beyond its end.
        void add(std::size_t i, std::string_view text) {
            const std::size_t size = text.size();
            const char* const first = text.data();
            if (size >= 8)
                put(i, read<std::uint64_t>(first), read<std::uint64_t>(first + size - 8));
            else if (size >= 4)
                put(i, read<std::uint32_t>(first), read<std::uint32_t>(first + size - 4));
            else if (size > 0)
                put(i, read<std::uint8_t>(first),
                    read<std::uint8_t>(first + size / 2) << 8 | read<std::uint8_t>(first + size - 1));
            sizes = sizes << 8 | size;
        }

        bool operator==(const Written& other) const {
            std::uint64_t different = sizes ^ other.sizes;  // no branches: most often all are equal
            for (std::size_t i = 0; i < words.size(); ++i) different |= words[i] ^ other.words[i];
            return different == 0;
        }

        std::uint64_t hash(std::uint64_t multiplier) const {
            const std::uint64_t all =
                words[0] + std::rotl(words[1], 21) + std::rotl(words[2], 37) + std::rotl(words[3], 51);
            const std::uint64_t hash = all * multiplier;
            return (hash ^ hash >> 32) * multiplier;
        }

       private:
        template <class T>
        static std::uint64_t read(const char* at) {
            T value;
            std::memcpy(&value, at, sizeof value);
            return value;
        }

        void put(std::size_t i, std::uint64_t first, std::uint64_t second) {
            words[2 * i] = first;
            words[2 * i + 1] = second;
        }
    };

    struct Slot {
        Written written;
        const Group* group = nullptr;
    };

    static constexpr int kBits = 13;
    std::uint64_t multiplier_ = secret_multiplier();
    std::vector<Slot> slots_ = std::vector<Slot>(std::size_t{1} << kBits);
};

}  // namespace dpdistinct
