// The allocators of devices.
#include "device.h"

#include "../base/error.h"
#include "../base/system.h"

namespace hewn {

void *HEWN_CALL allocate_from_system(void *, size_t bytes, size_t alignment) {
    return allocate_aligned(bytes, alignment);
}
void HEWN_CALL deallocate_to_system(void *, void *memory) { deallocate_aligned(memory); }

hewn_status read_allocator(hewn_allocate_fn allocate, hewn_deallocate_fn deallocate, void *context,
                           const char *desc, Allocator *allocator, hewn_error *error) {
    if (!allocate != !deallocate)
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT,
                    "%s: set both allocate and deallocate, or none", desc);
    *allocator = allocate ? Allocator{allocate, deallocate, context} : kSystemAllocator;
    return HEWN_STATUS_OK;
}

}  // namespace hewn
