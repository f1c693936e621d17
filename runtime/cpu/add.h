// What ADD and ADD1 share on the CPU: the form `general`, which adds, and how far they prefetch.
#pragma once

#include "kernel.h"

namespace hewn {

inline int call_add(BoxCall &context, halide_buffer_t *operands) {
    const CpuCall &call = static_cast<CpuCall &>(context);
    return call_kernel(*call.kernel.form, call, &operands[0], &operands[1],
                       call.kernel.prefetch_distance, &operands[2]);
}

// CpuForms::suits of both.
bool suits_add(Plan &plan, int32_t slices, const Variant &variant, CpuKernel &kernel);

}  // namespace hewn
