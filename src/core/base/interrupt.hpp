// Long loops report their work here, so that Ctrl-C stops them within a fraction of a second.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

namespace dpdistinct {

class Interrupt {
   public:
    explicit Interrupt(std::function<void()> check = [] {}) : check_(std::move(check)) {}

    // `work` is a number of edges. A check costs microseconds and happens every few milliseconds.
    void worked(std::uint64_t work) {
        done_ += work;
        if (done_ >= kInterval) {
            done_ = 0;
            check();
        }
    }

    void check() { check_(); }  // throws when the user asked to stop

   private:
    static constexpr std::uint64_t kInterval = 1 << 20;
    std::function<void()> check_;
    std::uint64_t done_ = 0;
};

}  // namespace dpdistinct
