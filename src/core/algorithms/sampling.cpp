#include "algorithms/sampling.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace dpdistinct {
namespace {

// xoshiro256** (Blackman and Vigna), one for each person, seeded with the secret of this run and the
// person's key. So nobody's order depends on who else is in the table, and the sensitivity of the sampled
// count holds for every secret. A fast generator is therefore enough.
class Random {
   public:
    Random(const std::array<std::uint64_t, 4>& secret, std::uint64_t key) {
        for (std::size_t i = 0; i < 4; ++i) s_[i] = mix(secret[i] ^ mix(key + i));
        s_[0] |= 1;  // the state must not be all zeros
    }

    // Uniform in [0, n), for n < 2^32. Rejection makes it exact.
    std::uint32_t below(std::uint32_t n) {
        for (;;) {
            const std::uint64_t product = (next() >> 32) * n;
            if (static_cast<std::uint32_t>(product) >= -n % n) return static_cast<std::uint32_t>(product >> 32);
        }
    }

   private:
    static std::uint64_t mix(std::uint64_t x) {  // splitmix64
        x += 0x9e3779b97f4a7c15;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
        x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
        return x ^ (x >> 31);
    }

    std::uint64_t next() {
        const std::uint64_t result = std::rotl(s_[1] * 5, 7) * 9;
        const std::uint64_t t = s_[1] << 17;
        s_[2] ^= s_[0];
        s_[3] ^= s_[1];
        s_[1] ^= s_[2];
        s_[0] ^= s_[3];
        s_[2] ^= t;
        s_[3] = std::rotl(s_[3], 45);
        return result;
    }

    std::array<std::uint64_t, 4> s_;
};

}  // namespace

std::vector<std::uint32_t> best_ranks(const Graph& graph, std::array<std::uint64_t, 4> secret, Interrupt& interrupt) {
    std::vector<std::uint64_t> begin(graph.people + std::size_t{2}, 0);
    for (Person p : graph.holders) ++begin[p + std::size_t{2}];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<Element> held(graph.holders.size());
    for (Element e = 0; e < graph.elements(); ++e) {
        for (std::uint64_t x = graph.begin[e]; x < graph.begin[e + 1]; ++x) held[begin[graph.holders[x] + 1]++] = e;
        interrupt.worked(graph.degree(e));
    }

    std::vector<std::uint32_t> best(graph.elements(), std::numeric_limits<std::uint32_t>::max());
    for (Person p = 0; p < graph.people; ++p) {
        Random random(secret, graph.people_keys[p]);
        Element* mine = held.data() + begin[p];
        const auto count = static_cast<std::uint32_t>(begin[p + 1] - begin[p]);
        for (std::uint32_t rank = 1; rank <= count; ++rank) {  // Fisher and Yates, from the front
            std::swap(mine[rank - 1], mine[rank - 1 + random.below(count - rank + 1)]);
            std::uint32_t& to_beat = best[mine[rank - 1]];
            to_beat = std::min(to_beat, rank);
            interrupt.worked(1);  // one person may hold everything
        }
    }
    return best;
}

}  // namespace dpdistinct
