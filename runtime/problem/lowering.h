// Lowers an operator to a list of passes, which is the same for every kind of device.
#pragma once

#include "operators.h"

namespace hewn {

// Indices of the inputs of QUANTIZE_LINEAR and DEQUANTIZE_LINEAR.
constexpr int kInput = 0, kScale = 1, kZeroPoint = 2;
// Indices of the tensors after the output, of the pass Blocks and of Elements. The last one is the
// zero point, or NVFP4's scale of the tensor.
constexpr int kChosenScale = 4, kChosenZeroPoint = 5, kTensorScale = 5;
// The tensor by which DEQUANTIZE_LINEAR's scales are multiplied in NVFP4_DEQUANTIZE.
constexpr int kScaledBy = 4;
// Indices of the tensors of QUANTIZED_LINEAR_ADD.
enum { kA, kAScale, kAZeroPoint, kB, kBScale, kBZeroPoint, kOutputScale, kOutputZeroPoint, kSum };

// The places of an execution, each of which stands for memory. First come the operator's tensors:
// the inputs in order, then the outputs. After them come a value that the operator has, and values
// that a pass leaves to a later pass:
//   - kFormatPlace: the format of small floats (Problem::format).
//   - kRangesPlace: how far the elements of a tensor reach below 0 and above it.
//   - kQuotientsPlace: the quotients of a `precision`, as f32.
//   - kOnePlace: 1.0, the scale by which a later pass divides these quotients.
//   - kMiddlePlace: a zero point that is no tensor of the operator (middle_of).
constexpr int kFormatPlace = kMaxTensors, kRangesPlace = kMaxTensors + 1,
              kQuotientsPlace = kMaxTensors + 2, kOnePlace = kMaxTensors + 3,
              kMiddlePlace = kMaxTensors + 4, kPlaces = kMaxTensors + 5;

// One computation of an operator. It begins when the pass before it has ended.
struct PassProblem {
    enum Kind : uint8_t {
        Kernel,      // an operator's kernels, element by element
        Quotients,   // QUANTIZE_LINEAR's quotients in a `precision` below f32
        Clamped,     // QUANTIZED_LINEAR_ADD's output, clamped in place to the activation's bounds
        Ranges,      // the range of an input's elements
        Parameters,  // the scale and the zero point that follow from the range
        BlockParameters,  // the same for each block of an input
        // For NVFP4_QUANTIZE: the largest magnitude of the blocks without NaN and infinity, and the
        // tensor's scale, which follows from it.
        BlockMaxima,
        TensorScale,
        // The elements of MX_QUANTIZE or NVFP4_QUANTIZE, by scales that are written.
        Elements,
        // Only for CPUs: the parameters of a few blocks, then their elements, or BlockMaxima. It
        // replaces passes above if a block lies in one row of a box.
        Blocks
    } kind;
    const OperatorInfo *kernels;  // the operator whose kernels compute it
    uint8_t places[kMaxTensors];  // the places of this pass's tensors
    Problem problem;              // this pass's inputs and outputs
};
constexpr int kMaxPassProblems = 4;

// Whether this build has an operator that chooses scales. If not, compilers drop code that only
// these operators need, and a program does not link it.
constexpr bool kHasDynamic = is_built("dynamic_quantize_linear") || kChoosesBlocks;
// The same for operators that take small floats.
constexpr bool kHasFormats = kHasOwnLevel && (is_built("quantize_linear") ||
                                              is_built("dequantize_linear") || kChoosesBlocks);

using PassProblems = PassProblem[kMaxPassProblems];

// Lists the operator's passes and returns how many there are; 0 if there is nothing to write. The
// tensor of ranges has two numbers, as a CPU needs it. The GPUs' planner replaces it by a pair of
// numbers for each block of threads.
int lower(const Problem &problem, PassProblems &passes);
// Whether an operator multiplies scales before it dequantizes, which only CPUs do.
bool multiplies_scales(const Problem &problem);
// For CPUs: makes the pass Blocks, for an operator that chooses scales for blocks, or in the place
// of BlockMaxima. Its tensors are those of QUANTIZE_LINEAR, then the operator's scale, and its zero
// point or tensor scale; for BlockMaxima the last one is the maximum. As inputs, scale and zero
// point have no contents: the places of their elements tell where a block's parameters are written.
void lower_to_blocks(const Problem &problem, PassProblem &pass);
void lower_to_maxima(const Problem &problem, PassProblem &pass);
// The zero point of an operator that chooses scales but writes no zero point, or of MX_DEQUANTIZE:
// a byte as kernels read it.
const void *middle_of(const Problem &problem);
// For devices whose memory can hold the results of a pass. If QUANTIZE_LINEAR has a `precision`
// below f32, its quotients become a pass of their own, which is followed by QUANTIZE_LINEAR of the
// quotients with a scale of 1.0. Returns how many passes there are then. A CPU does not need this:
// its pass computes the quotients box by box.
int separate_quotients(PassProblems &passes, int count);
// For GPUs: adds a pass that applies the activation of QUANTIZED_LINEAR_ADD, if it has one. Returns
// how many passes there are then. A CPU clamps parts of boxes.
int separate_activation(PassProblems &passes, int count);

}  // namespace hewn
