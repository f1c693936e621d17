// The device's memory hooks.
#pragma once

#include <hewn/hewn.h>

namespace hewn {

struct Allocator {
    hewn_allocate_fn allocate_hook;
    hewn_deallocate_fn deallocate_hook;
    void *context;

    // `count` zeroed objects; null: no memory. For types that need no construction or destruction.
    template<class T>
    T *allocate(size_t count = 1) const {
        void *memory = allocate_hook(context, count * sizeof(T), alignof(T));
        if (memory) __builtin_memset(memory, 0, count * sizeof(T));
        return static_cast<T *>(memory);
    }
    void deallocate(void *memory) const {
        if (memory) deallocate_hook(context, memory);
    }
};

}  // namespace hewn
