// How many elements of each group are taken in which round of greedy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace dpdistinct {

struct NoSuchGroup : std::invalid_argument {
    NoSuchGroup() : std::invalid_argument("the low bits of a pair's key are not the number of a listed group") {}
};

// Rounds are told apart only as far as the caller's bounds do: bucket i has the rounds above bounds[i - 1]
// and up to bounds[i], the last bucket those above all bounds. So the memory is groups x bounds at most,
// however many rounds one person with a million elements makes; and a bucket takes memory only once
// a round falls into it, which the large bounds of a grid without end rarely see.
class RoundCounts {
   public:
    RoundCounts(std::size_t groups, std::vector<std::uint32_t> bounds)
        : groups_(groups), bounds_(std::move(bounds)), buckets_(bounds_.size() + 1) {
        for (std::uint32_t round = 0; round < kSmall; ++round) small_.push_back(search(round));
    }

    void add(std::uint64_t group, std::uint32_t round) {
        if (group >= groups_) throw NoSuchGroup();
        auto& bucket = buckets_[round < kSmall ? small_[round] : search(round)];
        if (bucket.empty()) bucket.assign(groups_, 0);
        ++bucket[group];
    }

    std::size_t groups() const { return groups_; }
    // Counts by group, for each bucket; empty where all are zero.
    const std::vector<std::vector<std::int64_t>>& buckets() const { return buckets_; }

   private:
    static constexpr std::uint32_t kSmall = 256;  // nearly all rounds; looked up and not searched for

    std::uint32_t search(std::uint32_t round) const {
        return static_cast<std::uint32_t>(std::lower_bound(bounds_.begin(), bounds_.end(), round) - bounds_.begin());
    }

    std::size_t groups_;
    std::vector<std::uint32_t> bounds_;  // increasing
    std::vector<std::uint32_t> small_;   // the bucket of each small round
    std::vector<std::vector<std::int64_t>> buckets_;
};

}  // namespace dpdistinct
