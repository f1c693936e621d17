// What the generators and the runtime have to agree on beyond the kernels' types and the order of their arguments. Both include
// it.
#ifndef HEWN_RUNTIME_KERNEL_CONTRACT_H
#define HEWN_RUNTIME_KERNEL_CONTRACT_H

namespace hewn {

// The forms `repeating` take rows of at least kRepeatingLanes elements, of whose parameters they read as many, and along which
// these repeat after a divisor of kRepeatingPeriod.
constexpr int kRepeatingLanes = 16, kRepeatingPeriod = 8;

// A transposition goes by squares with this many bytes in a row, a vector of SSE and NEON. A tile is one square of rows high, and
// one or several squares of columns wide (the kernel's `bytes`).
constexpr int kSquareBytes = 16;

// Bytes that a step of a GPU's form `dense` takes of the narrowest tensor that varies.
constexpr int kGpuStepBytes = 16;

// Dimensions that a GPU's form `strided` takes.
constexpr int kGpuRank = 8;

}  // namespace hewn

#endif  // HEWN_RUNTIME_KERNEL_CONTRACT_H
