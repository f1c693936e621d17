// The device's memory hooks.
#pragma once

#include <hewn/hewn.h>

namespace hewn {

struct Allocator {
    hewn_allocate_fn allocate_hook;
    hewn_deallocate_fn deallocate_hook;
    void *context;

    // `count` zeroed objects, and as many zeroed bytes behind them; null: no memory. For types that
    // need no construction or destruction.
    template<class T>
    T *allocate(size_t count = 1, size_t bytes_behind = 0) const {
        const size_t bytes = count * sizeof(T) + bytes_behind;
        void *memory = allocate_hook(context, bytes, alignof(T));
        if (memory) __builtin_memset(memory, 0, bytes);
        return static_cast<T *>(memory);
    }
    void deallocate(void *memory) const {
        if (memory) deallocate_hook(context, memory);
    }
};

}  // namespace hewn
