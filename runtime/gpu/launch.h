// A GPU's operator, and its way to launches of kernels. Each pass goes over boxes of its iteration
// space, with one or two launches for each box. plan.cpp makes the passes, launch.cpp launches
// them.
#pragma once

#include "../problem/activation.h"
#include "../problem/lowering.h"
#include "device.h"

namespace hewn {

// The most functions of a pass: its forms with their specialisations.
constexpr int kMaxFunctions = 5;

// The most numbers of an activation that forms take.
constexpr int kMaxNumbers = sizeof(ActivationPieces) / sizeof(uint32_t);

// A function of the device code, by its entry's name and the driver's handle.
struct GpuFunction {
    const char *entry;
    void *handle;
};

// A part of a pass, and how its elements reach the kernels. A launch computes a box, which is as
// much of the merged space as the kernels and Halide's 32-bit indices can address.
struct GpuPart : Part {
    // The form by steps, `dense` or `runs`; null if neither serves the layout.
    const Form *form;
    // Whether the form is `dense`.
    bool dense;
    // The operands that this form takes by words, a bit for each.
    uint32_t by_words;
    int64_t step_elements;
    // The extents of a box, along each dimension of the space.
    int64_t extent[kMaxDimensions];
};

// The places of an execution. First come those of the lowering. After them come tensors as their
// kernels take them, if they are stored differently: kConvertedPlace + t for tensor t. All places
// but those of the operator's tensors are in the operator's scratch memory.
constexpr int kConvertedPlace = kPlaces, kGpuPlaces = kPlaces + kMaxTensors;
struct GpuPlaces {
    Place at[kGpuPlaces];
};

// A pass: one computation of an operator, which begins after the one before.
struct GpuPass {
    enum Kind : uint8_t { Elements, Unpack, Pack, Ranges, Parameters } kind;
    uint8_t places[kMaxTensors];  // the places of the problem's tensors
    Problem problem;              // the tensors as the kernels take them
    // For Elements: `strided`. For other kinds: the only form.
    const Form *form;
    // For Elements: `dense` and `runs`; null if there is none.
    const Form *by_steps[2];
    GpuPart parts[kMaxParts];  // for Elements and Ranges
    int32_t part_count;
    // For Parameters: how often Ranges is launched.
    int32_t sets;
    const Conversion *conversion;  // for Unpack and Pack
    // Further scalars of the forms: an activation's.
    uint32_t numbers[kMaxNumbers];
    int32_t number_count;
    GpuFunction functions[kMaxFunctions];  // the functions that compile loaded
    int32_t function_count;
};

// An operator on a GPU.
struct GpuOperator : hewn_operator {
    GpuDevice *device;
    // Device memory of the inputs that are constants; null: there are none.
    void *constants;
    // Device memory of `scratch_bytes` bytes; null: there is none.
    void *scratch;
    uint64_t scratch_bytes;
    // A bit for each place that has a part of the scratch memory.
    uint64_t reserved;
    uint64_t offsets[kGpuPlaces];  // the offset of that part
    GpuPass *passes;
    int32_t pass_count;
};

// Plans the passes and allocates their scratch memory. The operator's device, variant and problem
// must be set.
hewn_status plan_passes(GpuOperator &op, hewn_error *error);

// Loads every kernel that a pass may need into call.pass. `call` must prepare. Returns 0 or an
// error code of generated code.
int load_kernels(GpuCall &call);

// Launches a pass whose tensors lie at these places. Returns 0 or an error code of generated code.
int launch_pass(GpuCall &call, const GpuPlaces &places);

}  // namespace hewn
