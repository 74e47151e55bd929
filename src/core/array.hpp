// A vector for the large arrays of the core. New elements are not set to zero: they are written
// anyway, often by several threads. And it asks for large pages, because most of these arrays are
// read in no order, and looking up small pages would take a good part of the time.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace dpdistinct {

template <class T>
struct LargePages {
    using value_type = T;

    LargePages() = default;
    template <class U>
    LargePages(const LargePages<U>&) {}
    bool operator==(const LargePages&) const { return true; }

    T* allocate(std::size_t count) {
        if (!is_large(count)) return std::allocator<T>().allocate(count);
        const std::size_t bytes = (count * sizeof(T) + kPage - 1) / kPage * kPage;
        void* at = std::aligned_alloc(kPage, bytes);
        if (!at) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
        madvise(at, bytes, MADV_HUGEPAGE);  // a wish: without it everything works as well, only slower
#endif
        return static_cast<T*>(at);
    }

    void deallocate(T* at, std::size_t count) {
        if (is_large(count))
            std::free(at);
        else
            std::allocator<T>().deallocate(at, count);
    }

    template <class U, class... Arguments>
    void construct(U* at, Arguments&&... arguments) {
        if constexpr (sizeof...(Arguments) == 0)
            ::new (static_cast<void*>(at)) U;
        else
            ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
    }

   private:
    static constexpr std::size_t kPage = std::size_t{2} << 20;
    // Rounded up to whole pages, such an array wastes at most an eighth.
    static bool is_large(std::size_t count) { return count >= 8 * kPage / sizeof(T); }
};

template <class T>
using Array = std::vector<T, LargePages<T>>;

}  // namespace dpdistinct
