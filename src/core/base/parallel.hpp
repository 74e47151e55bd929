// Run independent pieces of work on a few threads. The result must not depend on the split.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/interrupt.hpp"

namespace dpdistinct {

// A thread that its destructor joins. std::jthread does the same, but libc++ has it only since version 18.
class JoiningThread {
   public:
    template <class Work>
    explicit JoiningThread(Work work) : thread_(std::move(work)) {}
    JoiningThread(JoiningThread&&) = default;
    JoiningThread& operator=(JoiningThread&&) = delete;
    ~JoiningThread() {
        if (thread_.joinable()) thread_.join();  // not if it was moved away
    }

   private:
    std::thread thread_;
};

// Calls piece(i, interrupt) for i in [0, pieces); the first exception thrown is thrown again here.
// Only the calling thread may ask Python whether to stop; the others ask this function.
template <class Piece>
void parallel_for(std::size_t pieces, unsigned threads, Interrupt& interrupt, Piece piece) {
    struct Stopped {};
    std::atomic<std::size_t> next{0};
    std::atomic<bool> stopped{false};
    std::exception_ptr failure;
    std::mutex guard;
    std::condition_variable helper_left;
    std::size_t running = 0;
    auto fail = [&] {
        std::lock_guard<std::mutex> lock(guard);
        if (!failure) failure = std::current_exception();
        stopped.store(true);
        next.store(pieces);
    };
    auto work = [&](Interrupt& mine) {
        for (std::size_t i; (i = next.fetch_add(1)) < pieces;) {
            try {
                piece(i, mine);
            } catch (...) {
                fail();
            }
        }
    };
    std::vector<JoiningThread> helpers;
    for (std::size_t t = 1; t < std::min<std::size_t>(threads, pieces); ++t) {
        {
            std::lock_guard<std::mutex> lock(guard);
            ++running;
        }
        helpers.emplace_back([&] {
            Interrupt mine([&] {
                if (stopped.load()) throw Stopped();
            });
            work(mine);
            std::lock_guard<std::mutex> lock(guard);
            --running;
            helper_left.notify_one();
        });
    }
    work(interrupt);
    // The pieces may differ in size, so the last of them may keep a helper busy for long.
    for (std::unique_lock<std::mutex> lock(guard);;) {
        if (running == 0) break;
        if (helper_left.wait_for(lock, std::chrono::milliseconds(50)) != std::cv_status::timeout || stopped) continue;
        lock.unlock();
        try {
            interrupt.check();
        } catch (...) {
            fail();
        }
        lock.lock();
    }
    helpers.clear();  // joins
    if (failure) std::rethrow_exception(failure);
}

// Objects that threads use one after another, such as sort buffers. It never makes more of them than
// there are threads.
template <class Object>
class ObjectPool {
   public:
    // Calls use(object) with an object that no other thread is using. Calls make() if there is none.
    template <class Make, class Use>
    void with_object(Make make, Use use) {
        std::unique_ptr<Object> object;
        {
            std::lock_guard<std::mutex> lock(guard_);
            if (!objects_.empty()) {
                object = std::move(objects_.back());
                objects_.pop_back();
            }
        }
        if (!object) object = std::make_unique<Object>(make());
        use(*object);
        std::lock_guard<std::mutex> lock(guard_);
        objects_.push_back(std::move(object));
    }

    std::vector<std::unique_ptr<Object>>& all() { return objects_; }

   private:
    std::mutex guard_;
    std::vector<std::unique_ptr<Object>> objects_;
};

}  // namespace dpdistinct
