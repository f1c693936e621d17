// A CPU plan: how an element-wise computation of any layout becomes calls of a rank-2 kernel.
// Reasons: docs/architecture.md#forms-take-two-dimensions. Words: docs/glossary.md#plans.
// Measurements: docs/lab/performance.md#what-the-plans-decisions-gain.
#pragma once

#include <HalideRuntime.h>

#include <cstdint>

#include "../base/allocator.h"
#include "../dispatch/chip.h"
#include "../dispatch/knobs.h"
#include "../problem/shape.h"

namespace hewn {

// How a kernel reaches an operand.
enum class Access : uint8_t {
    InPlace,    // where it lies
    Table,      // through scratch, by a table of the byte offsets of the run's pieces
    Transpose,  // through scratch: strided along the run, dense along the rows
    Stream,     // the output: through scratch, to memory past the caches
    Converted   // through scratch: converted elements, dense along the run or one for it
};

struct Plan {
    int operands;                         // the inputs, then the output
    int32_t element_bytes[kMaxOperands];  // as the kernel takes them
    // Of converted elements, what is in bytes below is in bytes of those that the kernel takes.
    const Conversion *conversion[kMaxOperands];
    int64_t converted_first[kMaxOperands];  // the first one's place in its tensor
    int64_t converted_end;  // how many the output's memory has, with those between its elements

    // The full box. The run is run_inner elements (whole flattened dimensions) times run_outer of
    // the run's last dimension.
    int64_t run_inner, run_outer, rows;
    halide_dimension_t dims[kMaxOperands]
                           [2];  // as the kernel sees the operands: run, rows; strides in elements

    // The operands in their tensors. A piece is a part of the run with evenly spaced elements: its
    // innermost dimension, or one element if that is short.
    Access access[kMaxOperands];
    int64_t row_bytes[kMaxOperands];     // from row to row
    int64_t element_step[kMaxOperands];  // bytes from one element of a piece, or of a transposed
                                         // run, to the next
    int64_t piece;                       // elements
    // For Access::Table only:
    int32_t *table[kMaxOperands];  // byte offsets of the pieces of one period; else null
    int64_t period[kMaxOperands];  // elements after which the run repeats
    int64_t read[kMaxOperands];  // elements of the run that are brought into scratch: all, unless a
                                 // caller needs fewer

    int32_t scratch_at[kMaxOperands];  // where the operand's part begins in the slice's scratch
                                       // memory, in bytes
    bool scratch;                      // some operand is not used where it lies
    bool one_box;                      // there is one box and no scratch
    bool kept_if_read_next;  // the output is streamed, but not where the caller reads it next
    // While a tile of a transposed operand is brought into scratch: whether its next tile is
    // prefetched, and whether the next rows of operands in place are.
    bool prefetches_tiles, prefetches_beside;
    PrefetchInto prefetch_into;  // the caches for what the next blocks of a streamed output are
                                 // computed from
    uint32_t prefetched;         // a bit for each input in place that is prefetched into them
    int32_t target_rank;  // of the target whose transpositions may run; 0 (any machine's) unless a
                          // caller sets it

    // The loops over boxes, innermost first. `run_loop` and `row_loop` (-1: none) are those that
    // cut a dimension of the box. Their last step may be a partial one.
    struct Loop {
        int64_t size, step, count;
        int64_t step_bytes[kMaxOperands];
    } loops[kMaxDimensions + 1];
    int loop_count, run_loop, row_loop;
    int64_t box_count;
    int64_t boxes_together;  // boxes in sequence that share cache lines of the output, for one
                             // thread; divides box_count
    double moved_bytes;      // of all operands' elements, each counted once; may exceed 63 bits
    bool parallel;           // enough work for more threads than the caller's
};

// What a plan has to know of a kernel.
struct KernelTraits {
    uint32_t layouts;    // a bit for each that it is specialised for (see Form)
    uint32_t uniform;    // a bit for each operand that must be constant along each row of a box
    bool compute_bound;  // slower than memory or nearly: streaming would only add the copy, and
                         // rows may be shorter

    bool operator!=(const KernelTraits &other) const {
        return layouts != other.layouts || uniform != other.uniform ||
               compute_bound != other.compute_bound;
    }
};

// The most rows of a box over which an operand may vary that is constant along each row.
constexpr int kMaxUniformRows = 256;

constexpr int64_t kLineBytes = 64;  // of a cache line

// Bytes of a slice's scratch memory, which is on its stack.
constexpr int64_t kScratchMemory = 83200;

// Plans `space` for a kernel on a chip. `allocator` provides memory for tables. False: there is
// none.
bool build_plan(const Space &space, const KernelTraits &kernel, const PlanKnobs &knobs,
                const Chip &chip, const Allocator &allocator, Plan &plan);
void destroy_plan(const Allocator &allocator, Plan &plan);

// Says where a planned part's converted operands begin in their tensors, and where the output ends.
void place_converted(const Part &part, const Tensor &output, Plan &plan);

// How many slices to run the plan in. max_threads (0: no limit) limits the slices.
inline int32_t slice_count(const Plan &plan, const PlanKnobs &knobs, int32_t max_threads,
                           int32_t cpus) {
    if (!plan.parallel) return 1;
    const int64_t slices = max_threads > 0 ? max_threads
                           : cpus > 1      ? cpus * knobs.slices_per_cpu
                                           : 1;
    const int64_t most = plan.box_count / plan.boxes_together;
    return int32_t(slices < most ? slices : most);
}

// How many boxes in sequence read the same memory of operand o. Boxes that cut its rows count as
// one. 2^31 is many.
int64_t repeated_boxes(const Plan &plan, int o);

// How many rows in sequence, from box to box, read the same memory of operand o. The parts of a row
// that boxes cut count as one.
int64_t repeated_rows(const Plan &plan, int o);

// How many values operand o, which is constant along each row, has in a box: one a row, or 1; 0 if
// it has one value in all boxes.
int64_t values_of_a_box(const Plan &plan, int o);

}  // namespace hewn
