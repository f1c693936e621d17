// Running a plan: box by box what the kernel takes from scratch memory is brought there, the kernel called, and an output that is
// not in place brought to its tensor.
#ifndef HEWN_RUNTIME_BOXES_H
#define HEWN_RUNTIME_BOXES_H

#include <HalideRuntime.h>

#include <cstdint>

#include "plan.h"

namespace hewn {

// Repeats a row's first `filled` elements of 2^shift bytes up to `count`.
void repeat_row(uint8_t *row, int64_t filled, int64_t count, int shift);

// What a caller of kernels derives its own from.
struct BoxCall {
    uint32_t filled = 0;  // operands whose scratch memory was filled for this box
    // Of the buffers, where they take more than one box or scratch memory. A union does not construct them, which would take time
    // of every small call.
    union {
        halide_dimension_t dims[kMaxOperands][2];
    };
    BoxCall() {}
};

// Calls the kernel on one box, given a buffer for each operand. 0, or the kernel's error code.
using CallBox = int (*)(BoxCall &context, halide_buffer_t *operands);

// run_boxes where it takes more than one box or scratch memory.
int run_many_boxes(const Plan &plan, int64_t first, int64_t last, halide_buffer_t *buffers, CallBox call, BoxCall &context,
                   void *user_context);

// Runs boxes [first, last) of the plan on operands that begin at the hosts of `buffers`, kMaxOperands of them: for each box sets
// their host and dim, and calls. user_context is for the runtime's own helper kernels. Stops at the first error code and returns
// it. Inline: it is what a small call pays.
inline int run_boxes(const Plan &plan, int64_t first, int64_t last, halide_buffer_t *buffers, CallBox call, BoxCall &context,
                     void *user_context) {
    if (!plan.one_box) return run_many_boxes(plan, first, last, buffers, call, context, user_context);
#pragma GCC unroll 8
    for (int o = 0; o < kMaxOperands; o++) buffers[o].dim = const_cast<halide_dimension_t *>(plan.dims[o]);
    return call(context, buffers);
}

}  // namespace hewn

#endif  // HEWN_RUNTIME_BOXES_H
