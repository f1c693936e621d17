// From a GPU's operator to launches of its kernels: boxes of the tensors' space, a launch or two
// for each.
#pragma once

#include "device.h"

namespace hewn {

constexpr int kMaxFunctions = 5;  // of an operator's forms, with their specialisations

struct GpuFunction {
    const char *entry;
    void *handle;
};

// How a part of the operands' elements reaches the kernels. A launch is a box: as much of the
// merged space as the kernels and Halide's 32-bit indices can address.
struct GpuPart : Part {
    const Form *form;  // by steps: dense or runs; null where neither serves the layout
    bool dense;
    uint32_t by_words;  // the operands that it takes by words, a bit each
    int64_t step_elements;
    int64_t extent[kMaxDimensions];  // of a box, along each dimension of the space
};

struct GpuOperator : hewn_operator {
    GpuDevice *device;
    void *constants;  // device memory with the inputs that are constants; null: none are
    const Form *strided;
    GpuPart parts[kMaxParts];
    int32_t part_count;
    GpuFunction functions[kMaxFunctions];  // what compile loaded
    int32_t function_count;
};

// Chooses forms and boxes. The operator's device, variant and problem are set; its output is not
// empty.
void plan_launches(GpuOperator &op);

// Loads every kernel that a launch may need into call.op; `call` prepares. 0, or generated code's
// code for a failure.
int load_kernels(GpuCall &call);

// Launches all boxes of tensors that begin at `at`, the inputs in order, then the output. 0, or
// such a code.
int launch_boxes(GpuCall &call, const GpuAddress *at);

}  // namespace hewn
