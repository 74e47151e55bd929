// An Arrow stream whose batches are made by several threads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "arrow/arrow.hpp"
#include "arrow/arrow_stream.hpp"
#include "base/parallel.hpp"

namespace dpdistinct {

// The input is cut into pieces, and each piece becomes a batch. The job says how:
//
//     Piece                    what is cut; its default is empty
//     schema()                 of the batches
//     at_end()                 whether nothing is left to cut
//     any_thread()             whether any thread may cut the next piece; otherwise only the one that reads the stream
//     cut(piece)               the next piece; one thread at a time
//     batch(piece)             what becomes of it; several threads at once
//     bytes(piece)             how much memory it holds
//     may_reuse(piece)         whether to keep its memory for another piece
//
// The thread that reads the stream works too: while the next batch is not ready, it cuts pieces and turns them into
// batches. The other threads do the same, but only the reading thread calls sources that are Python functions. So no
// helper ever waits for the GIL, and there can be no deadlock.
template <class Job>
class Pipeline {
   public:
    Pipeline(Job job, unsigned threads) : threads_(threads), job_(std::move(job)) {}

    ~Pipeline() {
        {
            std::lock_guard<std::mutex> lock(guard_);
            stopped_ = true;
        }
        changed_.notify_all();
    }  // helpers_ joins its threads

    ArrowSchema schema() const { return job_.schema(); }

    // The batches keep the order of the pieces.
    void next(ArrowArray* out) {
        std::unique_ptr<Step> used;  // released without the lock
        std::unique_lock<std::mutex> lock(guard_);
        for (;;) {
            if (failure_) std::rethrow_exception(failure_);
            if (!steps_.empty() && steps_.front()->ready) break;
            if (work(lock, true)) continue;
            if (steps_.empty() && !cutting_) return;  // the end
            changed_.wait(lock);
        }
        used = std::move(steps_.front());
        steps_.pop_front();
        *out = std::exchange(static_cast<ArrowArray&>(used->batch), ArrowArray{});
        in_flight_ -= job_.bytes(used->piece);
        if (job_.may_reuse(used->piece)) spare_.push_back(std::move(used->piece));
        lock.unlock();
        changed_.notify_all();
    }

   private:
    // A piece, and the batch made from it.
    struct Step {
        typename Job::Piece piece;
        Released<ArrowArray> batch;
        bool ready = false;
    };

    void start_helpers() {
        started_ = true;
        try {
            while (helpers_.size() + 1 < threads_) helpers_.emplace_back([this] { help(); });
        } catch (const std::system_error&) {  // the system allows no more threads; go on with those there are
        }
    }

    void help() {
        std::unique_lock<std::mutex> lock(guard_);
        while (!stopped_ && !failure_)
            if (!work(lock, false)) changed_.wait(lock);
    }

    // Does one step and returns true, or returns false if there is none: cuts a piece if few are waiting,
    // otherwise makes a batch.
    bool work(std::unique_lock<std::mutex>& lock, bool reader) {
        const bool room = steps_.size() < 2 * std::size_t{threads_} && in_flight_ < kMostInFlight;
        const bool may_cut = !cutting_ && !job_.at_end() && (reader || job_.any_thread()) && room;
        const bool cuts = may_cut && waiting_.size() < threads_;
        if (!cuts && waiting_.empty()) return false;
        try {
            cuts ? cut(lock) : make(lock);
        } catch (...) {
            failure_ = std::current_exception();
        }
        changed_.notify_all();
        return true;
    }

    void cut(std::unique_lock<std::mutex>& lock) {
        auto step = std::make_unique<Step>();
        if (!spare_.empty()) {
            step->piece = std::move(spare_.back());
            spare_.pop_back();
        }
        cutting_ = true;
        unlocked(lock, [&] { job_.cut(step->piece); });
        cutting_ = false;
        in_flight_ += job_.bytes(step->piece);
        waiting_.push_back(step.get());
        steps_.push_back(std::move(step));
        if (!started_ && !job_.at_end()) start_helpers();  // not for a table of one piece
    }

    void make(std::unique_lock<std::mutex>& lock) {
        Step& step = *waiting_.front();
        waiting_.pop_front();
        unlocked(lock, [&] { static_cast<ArrowArray&>(step.batch) = job_.batch(step.piece); });
        step.ready = true;
    }

    template <class Work>
    static void unlocked(std::unique_lock<std::mutex>& lock, Work work) {
        struct Unlocked {
            explicit Unlocked(std::unique_lock<std::mutex>& given) : lock(given) { lock.unlock(); }
            ~Unlocked() { lock.lock(); }
            std::unique_lock<std::mutex>& lock;
        } unlocked_now(lock);
        work();
    }

    static constexpr std::size_t kMostInFlight = std::size_t{256} << 20;  // matters only if long rows make pieces large

    const unsigned threads_;
    std::mutex guard_;  // protects everything below
    std::condition_variable changed_;
    Job job_;  // cut() is called without the lock, by the thread that set cutting_
    bool cutting_ = false;
    std::deque<std::unique_ptr<Step>> steps_;  // in the order of the rows
    std::deque<Step*> waiting_;                // steps whose batches no thread makes yet
    std::size_t in_flight_ = 0;                // bytes of all pieces in steps_
    std::vector<typename Job::Piece> spare_;   // pieces to use again
    std::exception_ptr failure_;
    bool stopped_ = false;
    bool started_ = false;
    std::vector<JoiningThread> helpers_;  // the last member, so that they end first
};

template <class Job>
ArrowArrayStream pipeline(Job job, unsigned threads) {
    return arrow_stream(std::make_unique<Pipeline<Job>>(std::move(job), threads));
}

}  // namespace dpdistinct
