// The allocator of a device: the program's hooks for memory, or the C library's. Everything that a
// device, an operator or a bound operator owns on the host comes from it.
#pragma once

#include <hewn/hewn.h>

namespace hewn {

struct Allocator {
    hewn_allocate_fn allocate_hook;
    hewn_deallocate_fn deallocate_hook;
    void *context;

    // Allocates `count` objects and `bytes_behind` bytes directly after them, all filled with
    // zeros. Returns null if there is no memory. T must need no constructor and no destructor. The
    // caller gives the memory back with deallocate().
    template<class T>
    T *allocate(size_t count = 1, size_t bytes_behind = 0) const {
        const size_t bytes = count * sizeof(T) + bytes_behind;
        void *memory = allocate_hook(context, bytes, alignof(T));
        if (memory) __builtin_memset(memory, 0, bytes);
        return static_cast<T *>(memory);
    }
    // Frees memory of this allocator; ignores null.
    void deallocate(void *memory) const {
        if (memory) deallocate_hook(context, memory);
    }
};

}  // namespace hewn
