// Run independent pieces of work on a few threads. The result must not depend on the split.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace dpdistinct {

// Calls piece(i) for i in [0, pieces); the first exception thrown is thrown again here.
template <class Piece>
void parallel_for(std::size_t pieces, unsigned threads, Piece piece) {
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex guard;
    auto work = [&] {
        for (std::size_t i; (i = next.fetch_add(1)) < pieces;) {
            try {
                piece(i);
            } catch (...) {
                std::lock_guard<std::mutex> lock(guard);
                if (!failure) failure = std::current_exception();
                next.store(pieces);
            }
        }
    };
    std::vector<std::jthread> helpers;
    for (std::size_t t = 1; t < std::min<std::size_t>(threads, pieces); ++t) helpers.emplace_back(work);
    work();
    helpers.clear();  // joins
    if (failure) std::rethrow_exception(failure);
}

}  // namespace dpdistinct
