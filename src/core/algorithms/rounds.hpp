// How many elements of each group are taken in which round of greedy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dpdistinct {

struct NoSuchGroup : std::invalid_argument {
    NoSuchGroup() : std::invalid_argument("the low bits of a pair's key are not the number of a listed group") {}
};

// The counts that are not zero: how many elements of a group fall into a bucket. Sorted by group, then bucket.
struct RoundTable {
    std::vector<std::int64_t> group, bucket, count;
};

// Rounds are counted in buckets given by the caller's bounds: bucket i has the rounds above bounds[i - 1] and up
// to bounds[i]; the last bucket has the rounds above all bounds. So memory is at most groups x bounds, even if
// one person with a million elements makes a million rounds. A bucket takes memory only once a round falls into
// it. With very many groups, most are small, and only counts that are not zero take memory.
class RoundCounts {
   public:
    static constexpr std::size_t kFewGroups = 1 << 16;

    RoundCounts(std::size_t groups, std::vector<std::uint32_t> bounds, std::size_t few_groups = kFewGroups)
        : groups_(groups), bounds_(std::move(bounds)), few_(groups <= few_groups), buckets_(bounds_.size() + 1) {
        for (std::uint32_t round = 0; round < kSmall; ++round) small_.push_back(search(round));
    }

    void add(std::uint64_t group, std::uint32_t round) {
        if (group >= groups_) throw NoSuchGroup();
        const std::uint32_t place = round < kSmall ? small_[round] : search(round);
        if (few_) {
            auto& bucket = buckets_[place];
            if (bucket.empty()) bucket.assign(groups_, 0);
            ++bucket[group];
        } else {
            ++sparse_[group * buckets_.size() + place];
        }
    }

    RoundTable table() const {
        RoundTable result;
        const auto append = [&](std::uint64_t group, std::size_t place, std::int64_t count) {
            result.group.push_back(static_cast<std::int64_t>(group));
            result.bucket.push_back(static_cast<std::int64_t>(place));
            result.count.push_back(count);
        };
        for (std::size_t group = 0; few_ && group < groups_; ++group)
            for (std::size_t place = 0; place < buckets_.size(); ++place)
                if (!buckets_[place].empty() && buckets_[place][group] > 0)
                    append(group, place, buckets_[place][group]);
        std::vector<std::pair<std::uint64_t, std::int64_t>> sorted(sparse_.begin(), sparse_.end());
        std::sort(sorted.begin(), sorted.end());
        for (const auto& [code, count] : sorted) append(code / buckets_.size(), code % buckets_.size(), count);
        return result;
    }

   private:
    static constexpr std::uint32_t kSmall = 256;  // nearly all rounds are small; a table finds their buckets

    std::uint32_t search(std::uint32_t round) const {
        return static_cast<std::uint32_t>(std::lower_bound(bounds_.begin(), bounds_.end(), round) - bounds_.begin());
    }

    std::size_t groups_;
    std::vector<std::uint32_t> bounds_;  // increasing
    bool few_;
    std::vector<std::uint32_t> small_;                        // the bucket of each small round
    std::vector<std::vector<std::int64_t>> buckets_;          // of few groups: counts by group, or empty
    std::unordered_map<std::uint64_t, std::int64_t> sparse_;  // if groups are many: group * buckets + bucket -> count
};

}  // namespace dpdistinct
