// Runs a plan box by box, and moves operands to and from scratch memory where the plan says so.
#pragma once

#include <HalideRuntime.h>

#include <cstdint>

#include "plan.h"

namespace hewn {

// Repeats a row's first `filled` elements of 2^shift bytes up to `count`.
void repeat_row(uint8_t *row, int64_t filled, int64_t count, int shift);

// The base of what callers of kernels keep for a slice (CpuCall).
struct BoxCall {
    void *const user_context;  // what kernels are given, the runtime's own helpers among them
    uint32_t filled = 0;  // a bit for each operand whose scratch memory was filled for this box
    bool output_is_read_next = false;  // see Plan::kept_if_read_next
    // The buffers' dimensions, if there are several boxes or scratch memory. A union does not
    // construct them, which would take time in every small call.
    union {
        halide_dimension_t dims[kMaxOperands][2];
    };
    explicit BoxCall(void *user_context) : user_context(user_context) {}
};

// Calls the kernel on one box, with a buffer for each operand. Returns 0 or the kernel's error
// code.
using CallBox = int (*)(BoxCall &context, halide_buffer_t *operands);

// run_boxes for plans with several boxes or scratch memory.
int run_many_boxes(const Plan &plan, int64_t first, int64_t last, halide_buffer_t *buffers,
                   CallBox call, BoxCall &context);

// Runs boxes [first, last) of the plan until the first error code, which it returns. The hosts of
// `buffers`, kMaxOperands of them, are where the operands begin. For each box it sets their host
// and dim, and calls. Inline: every small call pays for it.
inline int run_boxes(const Plan &plan, int64_t first, int64_t last, halide_buffer_t *buffers,
                     CallBox call, BoxCall &context) {
    if (!plan.one_box) return run_many_boxes(plan, first, last, buffers, call, context);
#pragma GCC unroll 8
    for (int o = 0; o < kMaxOperands; o++)
        buffers[o].dim = const_cast<halide_dimension_t *>(plan.dims[o]);
    return call(context, buffers);
}

}  // namespace hewn
