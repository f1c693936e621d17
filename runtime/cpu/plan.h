// A CPU plan: how an element-wise computation of any layout is cut into boxes, each of which is one
// call of a form that takes two dimensions. docs/architecture.md#forms-take-two-dimensions gives
// the reasons, docs/glossary.md#plans the words, and
// docs/lab/performance.md#what-the-plans-decisions-gain the measurements.
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
    InPlace,  // it uses the operand where it lies
    // Through scratch memory, by a table of the byte offsets of the run's pieces.
    Table,
    // Through scratch memory: the operand is strided along the run and dense along the rows.
    Transpose,
    // Only the output: through scratch memory, from where it is stored past the caches.
    Stream,
    // Through scratch memory: converted elements, which are dense along the run, or one for the
    // whole run.
    Converted
};

// A plan. It has no reference to the tensors, so it serves any number of executions.
struct Plan {
    int operands;                         // the inputs, then the output
    int32_t element_bytes[kMaxOperands];  // of an element as the kernel takes it
    // For converted operands, the numbers of bytes below count bytes of elements as the kernel
    // takes them.
    const Conversion *conversion[kMaxOperands];
    // The place of the first element in its tensor, counted in such bytes.
    int64_t converted_first[kMaxOperands];
    // How many elements the output's memory has, with those that lie between the tensor's elements.
    int64_t converted_end;

    // The full box. Its run is run_inner elements, which are whole flattened dimensions, times
    // run_outer elements of the run's last dimension.
    int64_t run_inner, run_outer, rows;
    // The operands as the kernel sees them: the run, then the rows. Strides are in elements.
    halide_dimension_t dims[kMaxOperands][2];

    // The operands in their tensors. A piece is a part of the run whose elements are evenly spaced:
    // the run's innermost dimension, or one element if that dimension is short.
    Access access[kMaxOperands];
    int64_t row_bytes[kMaxOperands];  // bytes from row to row
    // Bytes from one element of a piece, or of a transposed run, to the next.
    int64_t element_step[kMaxOperands];
    int64_t piece;  // elements of a piece
    // For Access::Table: byte offsets of the pieces of one period; otherwise null.
    int32_t *table[kMaxOperands];
    // For Access::Table and Access::Converted: the elements after which the run repeats.
    int64_t period[kMaxOperands];
    // For the same: the elements of the run that are brought into scratch memory. These are all
    // elements, unless a caller needs fewer.
    int64_t read[kMaxOperands];

    // The offset of the operand's part in the slice's scratch memory, in bytes.
    int32_t scratch_at[kMaxOperands];
    bool scratch;  // some operand is not used where it lies
    bool one_box;  // there is one box and no scratch memory
    // Whether a streamed output is left in the caches instead if its caller reads it next.
    bool kept_if_read_next;
    // While a tile of a transposed operand is brought into scratch memory: whether the operand's
    // next tile is prefetched, and whether the next rows of operands in place are.
    bool prefetches_tiles, prefetches_beside;
    // The caches into which inputs of the next pieces of a streamed output are prefetched.
    PrefetchInto prefetch_into;
    // A bit for each input in place that is prefetched into these caches.
    uint32_t prefetched;
    // The priority of the target whose transpositions may run. 0 stands for those of any machine; a
    // caller may set a higher one.
    int32_t target_priority;

    // The loops over boxes, innermost first. `run_loop` and `row_loop` are those that cut a
    // dimension of the box; -1: none. Their last step may be a partial one.
    struct Loop {
        int64_t size, step, count;
        int64_t step_bytes[kMaxOperands];
    } loops[kMaxDimensions + 1];
    int loop_count, run_loop, row_loop;
    int64_t box_count;
    // Boxes in sequence that share cache lines of the output, and so belong to one slice. Divides
    // box_count.
    int64_t boxes_together;
    // Bytes of all operands' elements, each counted once. They may exceed 63 bits.
    double moved_bytes;
    bool parallel;  // enough work for more threads than the caller's
};

// The properties of forms that a plan depends on.
struct KernelTraits {
    // A bit for each layout that the form is specialised for (see Form).
    uint32_t layouts;
    // A bit for each operand that must be constant along each row of a box.
    uint32_t uniform;
    // Whether the computation is about as slow as memory or slower. Streaming would then only add a
    // copy, and rows may be shorter.
    bool compute_bound;

    bool operator!=(const KernelTraits &other) const {
        return layouts != other.layouts || uniform != other.uniform ||
               compute_bound != other.compute_bound;
    }
};

// The most rows of a box in which an operand varies that must be constant along each row.
constexpr int kMaxUniformRows = 256;

constexpr int64_t kLineBytes = 64;  // bytes of a cache line

// Bytes of a slice's scratch memory, which is on the slice's stack.
constexpr int64_t kScratchMemory = 83200;

// Plans `space` for a kernel on a chip. The plan owns tables in memory of `allocator`, which
// destroy_plan gives back. Returns false if there is no memory.
bool build_plan(const Space &space, const KernelTraits &kernel, const PlanKnobs &knobs,
                const Chip &chip, const Allocator &allocator, Plan &plan);
void destroy_plan(const Allocator &allocator, Plan &plan);

// Tells the plan where its part's converted operands begin in their tensors, and where the output
// ends.
void place_converted(const Part &part, const Tensor &output, Plan &plan);

// Returns in how many slices the plan runs. max_threads limits their number; 0: no limit.
inline int32_t slice_count(const Plan &plan, const PlanKnobs &knobs, int32_t max_threads,
                           int32_t cpus) {
    if (!plan.parallel) return 1;
    const int64_t slices = max_threads > 0 ? max_threads
                           : cpus > 1      ? cpus * knobs.slices_per_cpu
                                           : 1;
    const int64_t most = plan.box_count / plan.boxes_together;
    return int32_t(slices < most ? slices : most);
}

// Returns how many boxes in sequence read the same memory of operand o. Boxes that cut its rows
// count as one. The result is at most 2^31.
int64_t repeated_boxes(const Plan &plan, int o);

// Returns how many rows in sequence, from box to box, read the same memory of operand o. The parts
// of a row that boxes cut count as one row.
int64_t repeated_rows(const Plan &plan, int o);

// Returns how many values operand o, which is constant along each row, has in a box: one for each
// row, or 1 for the whole box; 0 if it has one value in all boxes.
int64_t values_of_a_box(const Plan &plan, int o);

}  // namespace hewn
