// From a GPU's operator to launches of its kernels: passes over its tensors; in each boxes of their
// space, a launch or two for each.
#pragma once

#include "../problem/lowering.h"
#include "device.h"

namespace hewn {

constexpr int kMaxFunctions = 5;  // of a pass's forms, with their specialisations

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

// Places of an execution: those of the lowering, then tensor t as its kernel takes it, where it is
// not stored so. All but the operator's tensors are in its scratch memory.
constexpr int kConvertedPlace = kPlaces, kGpuPlaces = kPlaces + kMaxTensors;
struct GpuPlaces {
    Place at[kGpuPlaces];
};

// One computation of an operator, behind the one before.
struct GpuPass {
    enum Kind : uint8_t { Elements, Unpack, Pack, Ranges, Parameters } kind;
    uint8_t places[kMaxTensors];  // of its problem's tensors
    Problem problem;              // tensors as the kernels take them
    const Form *form;             // of Elements: strided
    const Form *by_steps[2];      // of Elements: dense and runs; null: there is none
    GpuPart parts[kMaxParts];     // of Elements and Ranges
    int32_t part_count;
    int32_t sets;                          // of Parameters: how often Ranges is launched
    const Conversion *conversion;          // of Unpack and Pack
    GpuFunction functions[kMaxFunctions];  // what compile loaded
    int32_t function_count;
};

struct GpuOperator : hewn_operator {
    GpuDevice *device;
    void *constants;  // device memory with the inputs that are constants; null: none are
    void *scratch;    // device memory of `scratch_bytes`; null: none
    uint64_t scratch_bytes;
    uint64_t reserved;             // a bit for each place that has a part of it
    uint64_t offsets[kGpuPlaces];  // where that part begins
    GpuPass *passes;
    int32_t pass_count;
};

// Plans the passes and allocates their scratch memory. The operator's device, variant and problem
// are set.
hewn_status plan_passes(GpuOperator &op, hewn_error *error);

// Loads every kernel that a pass may need into call.pass; `call` prepares. 0, or generated code's
// code for a failure.
int load_kernels(GpuCall &call);

// Launches a pass, whose tensors lie where the places say. 0, or such a code.
int launch_pass(GpuCall &call, const GpuPlaces &places);

}  // namespace hewn
