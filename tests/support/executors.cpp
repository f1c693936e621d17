// The executors of executors.h that need no threads.
#include "executors.h"

namespace hewn_test {

void HEWN_CALL in_reverse(void *, int32_t count, hewn_slice_fn fn, void *arg) {
    for (int32_t i = count; i-- > 0;) fn(arg, i);
}

void HEWN_CALL Counting::parallel_for(void *context, int32_t count, hewn_slice_fn fn, void *arg) {
    auto *self = static_cast<Counting *>(context);
    self->calls++;
    self->slices += count;
    in_reverse(nullptr, count, fn, arg);
}

}  // namespace hewn_test
