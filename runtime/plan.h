// A CPU plan: how an element-wise computation of any layout becomes calls of a rank-2 kernel. docs/architecture.md has the
// reasoning and the measurements behind the constants.
//
// The iteration space is cut into boxes of `rows` rows times a run of elements; a box is one kernel call. A run is the innermost
// dimension, several flattened ones or, of planes that are interleaved, the next. An operand whose elements are dense or constant
// along the run is used where it lies; any other goes through scratch memory that stays in the L1 cache.
#ifndef HEWN_RUNTIME_PLAN_H
#define HEWN_RUNTIME_PLAN_H

#include <HalideRuntime.h>

#include <cstdint>

#include "allocator.h"
#include "chip.h"
#include "shape.h"

namespace hewn {

// How a kernel reaches an operand.
enum class Access : uint8_t {
    InPlace,    // where it lies
    Table,      // through scratch, by a table of byte offsets of the run's pieces
    Transpose,  // through scratch: strided along the run, dense along the rows
    Stream      // the output, through scratch, to memory past the caches
};

struct Plan {
    int operands;  // the inputs, then the output
    int32_t element_bytes[kMaxOperands];

    // The full box. The run is run_inner elements (whole flattened dimensions) times run_outer of the run's last dimension.
    int64_t run_inner, run_outer, rows;
    halide_dimension_t dims[kMaxOperands][2];  // as the kernel sees the operands: run, rows; strides in elements

    // The operands in their tensors. A piece is what of a run lies evenly: its innermost dimension, one element where that is
    // short.
    Access access[kMaxOperands];
    int64_t row_bytes[kMaxOperands];     // from row to row
    int64_t element_step[kMaxOperands];  // bytes from one element of a piece, or of a transposed run, to the next
    int64_t piece;                       // elements
    // Of Access::Table alone:
    int32_t *table[kMaxOperands];  // the byte offsets of a period's pieces; else null
    int64_t period[kMaxOperands];  // elements after which the run repeats
    int64_t read[kMaxOperands];    // the run's elements that are brought into scratch: all, unless a caller needs fewer

    int32_t scratch_at[kMaxOperands];  // bytes from the slice's scratch memory to the operand's part
    bool scratch;                      // some operand is not used where it lies
    bool one_box;                      // there is one box, and no scratch
    // Whether, while a tile of a transposed operand is brought into scratch, its next one is prefetched, and the next rows of
    // those in place.
    bool prefetches_tiles, prefetches_beside;
    PrefetchInto prefetch_into;  // of what the next blocks of a streamed output are computed from
    uint32_t prefetched;         // of the inputs, a bit each: those in place that are prefetched so
    int32_t target_rank;         // whose transpositions may run here; 0, any machine's, unless a caller knows

    // What steps from box to box, innermost first. The loops `run_loop` and `row_loop` (-1: none) cut a dimension of the
    // box, so that their last step may be a partial one.
    struct Loop {
        int64_t size, step, count;
        int64_t step_bytes[kMaxOperands];
    } loops[kMaxRank + 1];
    int loop_count, run_loop, row_loop;
    int64_t box_count;
    int64_t boxes_together;  // in sequence that share cache lines of the output, for one thread: box_count is a multiple
    double moved_bytes;      // of all operands' elements, each counted once; may exceed 63 bits
    bool parallel;           // enough work for more threads than the caller's
};

// A variant's knobs: generators/knobs.cmake lists them, with their meaning and defaults, tuning/ has their values.
struct PlanKnobs {
#define HEWN_PLAN_KNOB(knob, default_value) int64_t knob = default_value;
#include "plan_knobs.inc"
#undef HEWN_PLAN_KNOB
};

// What a plan has to know of a kernel.
struct KernelTraits {
    uint32_t layouts;    // that it is specialised for (see Form)
    uint32_t uniform;    // operands, a bit each, that have to be constant along each row of a box
    bool compute_bound;  // slower than memory, or near it: streaming its output would only add the copy, rows may be shorter
};

// Over how many of a box's rows operands may vary that are constant along each.
constexpr int kMaxUniformRows = 256;

constexpr int64_t kLineBytes = 64;  // of a cache line

// Bytes of a slice's scratch memory, on its stack.
constexpr int64_t kScratchMemory = 83200;

// Plans `space` for a kernel on a chip. Tables come from `allocator`; false: no memory.
bool build_plan(const Space &space, int operands, const int32_t *element_bytes, const KernelTraits &kernel,
                const PlanKnobs &knobs, const Chip &chip, const Allocator &allocator, Plan &plan);
void destroy_plan(const Allocator &allocator, Plan &plan);

// How many parts to run the plan in. A limit on threads (0: none) is a limit on slices.
inline int32_t slice_count(const Plan &plan, const PlanKnobs &knobs, int32_t max_threads, int32_t cpus) {
    if (!plan.parallel) return 1;
    const int64_t slices = max_threads > 0 ? max_threads : cpus > 1 ? cpus * knobs.slices_per_cpu : 1;
    const int64_t most = plan.box_count / plan.boxes_together;
    return int32_t(slices < most ? slices : most);
}

// How many boxes in sequence read the same memory of operand o, those that cut its rows being one. 2^31 is many.
int64_t repeated_boxes(const Plan &plan, int o);

// How many rows in sequence, from box to box, read the same memory of operand o, the parts of a row that boxes cut being one.
int64_t repeated_rows(const Plan &plan, int o);

// How many values operand o, which is constant along each row, has in a box: one a row, 1, or 0 where it has one in all boxes.
int64_t values_of_a_box(const Plan &plan, int o);

}  // namespace hewn

#endif  // HEWN_RUNTIME_PLAN_H
