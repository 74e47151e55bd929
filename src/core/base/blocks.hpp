// Lists that grow by blocks from a common pool. Page faults on fresh memory cost more than sorting, so
// blocks are recycled: each step returns its blocks to the pool, and the next step takes them from there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace dpdistinct {

class BlockPool {
   public:
    static constexpr std::size_t kBytes = std::size_t{1} << 14;

    void* take() {
        std::lock_guard<std::mutex> lock(guard_);
        for (auto* spare : {&free_, &forgotten_}) {
            if (spare->empty()) continue;
            void* block = spare->back();
            spare->pop_back();
            return block;
        }
        if (fresh_ == in_slab_) {
            const std::size_t more = std::clamp(8 * in_slab_, kInFirstSlab, kInSlab);
            free_.reserve(blocks_ += more);  // so that give() cannot fail
            slabs_.emplace_back(static_cast<std::byte*>(::operator new(more * kBytes, kAligned)));
            in_slab_ = more;
            fresh_ = 0;
        }
        return slabs_.back().get() + kBytes * fresh_++;
    }

    void give(void* block) {
        std::lock_guard<std::mutex> lock(guard_);
        free_.push_back(block);
    }

    // Returns the memory of the free blocks to the system. Call it while no other thread runs: the
    // system interrupts every running thread once for each block.
    void shrink() {
        std::lock_guard<std::mutex> lock(guard_);
        if (blocks_ <= kInFirstSlab) return;  // small tables: nothing to gain
        std::sort(free_.begin(), free_.end());
        for (auto first = free_.begin(); first != free_.end();) {  // neighbours at once
            auto* const begin = static_cast<std::byte*>(*first);
            std::size_t count = 1;
            while (++first != free_.end() && *first == begin + count * kBytes) ++count;
            forget(begin, count * kBytes);
        }
        forgotten_.insert(forgotten_.end(), free_.begin(), free_.end());
        free_.clear();
    }

   private:
    static void forget([[maybe_unused]] void* blocks, [[maybe_unused]] std::size_t bytes) {
#ifdef __linux__
        // The system rounds the length up to whole pages. Pages larger than a block would take other blocks with it.
        static const bool whole_pages = kBytes % static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) == 0;
        if (whole_pages) madvise(blocks, bytes, MADV_DONTNEED);
#endif
    }

    static constexpr std::align_val_t kAligned{kBytes};
    struct Delete {
        void operator()(std::byte* slab) const { ::operator delete(slab, kAligned); }
    };

    // A slab of up to 64 MiB is large enough that the C library maps it separately. So pages that were never
    // touched take no memory, and a freed slab returns to the system at once. Small tables need 1 MiB.
    static constexpr std::size_t kInFirstSlab = std::size_t{1} << 6, kInSlab = std::size_t{1} << 12;
    std::mutex guard_;
    std::vector<std::unique_ptr<std::byte, Delete>> slabs_;
    std::size_t blocks_ = 0;   // in all slabs
    std::size_t in_slab_ = 0;  // in the last one
    std::size_t fresh_ = 0;    // the first block of the last slab that was never used
    std::vector<void*> free_;
    std::vector<void*> forgotten_;  // free, their memory returned to the system
};

template <class T>
class Blocks {
   public:
    explicit Blocks(BlockPool& pool) : pool_(&pool) {}
    Blocks(Blocks&& other) noexcept { swap(other); }
    Blocks& operator=(Blocks&& other) noexcept {
        swap(other);
        return *this;
    }
    ~Blocks() {
        for (T* block : blocks_)
            if (block) pool_->give(block);
    }

    std::size_t size() const { return blocks_.size() * kInBlock - static_cast<std::size_t>(end_ - next_); }

    void push_back(const T& value) {
        if (next_ == end_) grow();
        *next_++ = value;
    }

    // Room for at least one more element. After writing there, call wrote() with the number written.
    std::span<T> room() {
        if (next_ == end_) grow();
        return {next_, end_};
    }
    void wrote(std::size_t count) { next_ += count; }

    void append(const T* first, const T* last) {
        while (first != last) {
            const std::span<T> place = room();
            const std::size_t count = std::min(place.size(), static_cast<std::size_t>(last - first));
            std::copy_n(first, count, place.data());
            wrote(count);
            first += count;
        }
    }

    // Calls read(first, last) for every block in order.
    template <class Read>
    void read(Read read) const {
        for (const T* const& block : blocks_) read(block, end_of(block));
    }

    // The same, and returns each block to the pool. The list is empty afterwards.
    template <class Read>
    void drain(Read read) {
        for (T*& block : blocks_) {
            read(static_cast<const T*>(block), end_of(block));
            pool_->give(std::exchange(block, nullptr));
        }
        blocks_.clear();
        next_ = end_ = nullptr;
    }

   private:
    static constexpr std::size_t kInBlock = BlockPool::kBytes / sizeof(T);

    const T* end_of(const T* block) const { return block == blocks_.back() ? next_ : block + kInBlock; }

    void swap(Blocks& other) noexcept {
        std::swap(pool_, other.pool_);
        std::swap(blocks_, other.blocks_);
        std::swap(next_, other.next_);
        std::swap(end_, other.end_);
    }

    void grow() {
        blocks_.push_back(nullptr);
        blocks_.back() = next_ = static_cast<T*>(pool_->take());
        end_ = next_ + kInBlock;
    }

    T* next_ = nullptr;
    T* end_ = nullptr;
    BlockPool* pool_ = nullptr;
    std::vector<T*> blocks_;
};

}  // namespace dpdistinct
