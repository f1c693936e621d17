// An operator as a list of passes, the same for every kind of device.
#pragma once

#include "operators.h"

namespace hewn {

// Indices of QUANTIZE_LINEAR's and DEQUANTIZE_LINEAR's inputs.
constexpr int kInput = 0, kScale = 1, kZeroPoint = 2;

// Places of an execution: the operator's tensors, the inputs in order, then the outputs; behind
// them what passes leave to later ones.
constexpr int kRangesPlace = kMaxTensors,  // how far a tensor reaches below 0 and above it
    kQuotientsPlace = kMaxTensors + 1,     // f32
    kOnePlace = kMaxTensors + 2,           // the scale that divides quotients: 1.0
    kPlaces = kMaxTensors + 3;

// One computation of an operator. It begins when the one before has ended.
struct PassProblem {
    enum Kind : uint8_t {
        Kernel,     // the kernels of an operator, element by element
        Quotients,  // QUANTIZE_LINEAR's input divided by its scale, in a `precision` below f32
        Ranges,     // the range of an input's elements
        Parameters  // the scale and the zero point that follow from it
    } kind;
    const OperatorInfo *kernels;  // the operator whose kernels compute it
    uint8_t places[kMaxTensors];  // where the tensors lie
    Problem problem;              // the inputs and outputs of this pass
};
constexpr int kMaxPassProblems = 3;

// Where it is false, a program does not link what nothing calls.
constexpr bool kHasDynamic = is_built("dynamic_quantize_linear");

using PassProblems = PassProblem[kMaxPassProblems];

// Lists the operator's passes. Returns how many there are: none, if there is nothing to write. The
// tensor of ranges has two numbers, as a CPU needs them; a GPU's planner gives it a pair for each
// block of threads.
int lower(const Problem &problem, PassProblems &passes);
// For devices that have memory between passes: gives the quotients of a `precision` a pass of their
// own, before QUANTIZE_LINEAR of them by a scale of 1.0. Returns how many passes there are then. On
// a CPU the kernel's pass computes them box by box.
int separate_quotients(PassProblems &passes, int count);

}  // namespace hewn
