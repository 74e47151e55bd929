// A vector whose new elements are not set to zero, because they are written before they are read.
#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace dpdistinct {

template <class T>
struct Uninitialised : std::allocator<T> {
    template <class U>
    struct rebind {
        using other = Uninitialised<U>;
    };
    template <class U, class... Arguments>
    void construct(U* at, Arguments&&... arguments) {
        if constexpr (sizeof...(Arguments) == 0)
            ::new (static_cast<void*>(at)) U;
        else
            ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
    }
};

template <class T>
using Array = std::vector<T, Uninitialised<T>>;

}  // namespace dpdistinct
