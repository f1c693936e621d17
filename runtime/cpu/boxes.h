// Runs a plan box by box, and moves operands to scratch memory and back where the plan says so.
#pragma once

#include <HalideRuntime.h>

#include <cstdint>

#include "plan.h"

namespace hewn {

// Repeats the first `filled` elements of a row up to `count` elements, which have 2^shift bytes
// each.
void repeat_row(uint8_t *row, int64_t filled, int64_t count, int shift);

// The state of a slice while its boxes run. CpuCall adds the state of whoever calls the kernels.
struct BoxCall {
    // The user context of all kernels, those that transpose included.
    void *const user_context;
    // A bit for each operand whose scratch memory was filled anew for this box.
    uint32_t filled = 0;
    bool output_is_read_next = false;  // the caller says so; see Plan::kept_if_read_next
    // The buffers' dimensions, if there are several boxes or scratch memory. The union prevents
    // that they are constructed, which would take time in every small call.
    union {
        halide_dimension_t dims[kMaxOperands][2];
    };
    explicit BoxCall(void *user_context) : user_context(user_context) {}
};

// Calls the kernel on one box. `operands` has a buffer for each operand. Returns 0 or the kernel's
// error code.
using CallBox = int (*)(BoxCall &context, halide_buffer_t *operands);

// run_boxes for plans that have several boxes or scratch memory.
int run_many_boxes(const Plan &plan, int64_t first, int64_t last, halide_buffer_t *buffers,
                   CallBox call, BoxCall &context);

// Runs boxes [first, last) of the plan. Stops at the first error code and returns it; otherwise
// returns 0. `buffers` has kMaxOperands elements, whose `host` the caller has pointed to the
// operands' first elements. This function sets their `dim` and calls `call`. If there are several
// boxes or scratch memory, run_many_boxes does both for each box, and also sets `host`. The
// function is inline because every small call pays for it.
inline int run_boxes(const Plan &plan, int64_t first, int64_t last, halide_buffer_t *buffers,
                     CallBox call, BoxCall &context) {
    if (!plan.one_box) return run_many_boxes(plan, first, last, buffers, call, context);
#pragma GCC unroll 8
    for (int o = 0; o < kMaxOperands; o++)
        buffers[o].dim = const_cast<halide_dimension_t *>(plan.dims[o]);
    return call(context, buffers);
}

}  // namespace hewn
