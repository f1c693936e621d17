// What generators and runtime must agree on besides the kernels' types and the order of their arguments. Both include it.
#ifndef HEWN_RUNTIME_KERNEL_CONTRACT_H
#define HEWN_RUNTIME_KERNEL_CONTRACT_H

namespace hewn {

// The forms `repeating` take rows of at least kRepeatingLanes elements and read as many parameters, which repeat along the row
// after a divisor of kRepeatingPeriod elements.
constexpr int kRepeatingLanes = 16, kRepeatingPeriod = 8;

// A transposition goes by squares with this many bytes in a row, a vector of SSE and NEON. A tile has the rows of one square and
// the columns of one or several (the kernel's `bytes`).
constexpr int kSquareBytes = 16;

// Bytes of the narrowest varying tensor in one step of a GPU's form `dense`.
constexpr int kGpuStepBytes = 16;

// Dimensions of a GPU's form `strided`.
constexpr int kGpuRank = 8;

}  // namespace hewn

#endif  // HEWN_RUNTIME_KERNEL_CONTRACT_H
