// DYNAMIC_QUANTIZE on the CPU (dynamic_quantize.h).
#include "dynamic_quantize.h"

#include <algorithm>

#include "chosen.h"
#include "linear.h"
#include "operator.h"

namespace hewn {

namespace {

// Bytes of the rows whose ranges are found before they are quantized. They stay in an L1 cache, or
// in L2 if a row is longer.
constexpr int64_t kRowsBytes = 16 << 10;

// The state of a slice: the ranges of some rows, and their parameters.
struct ChosenRows {
    static constexpr int kMost = kMaxUniformRows;
    InvalidBoxes invalid;
    alignas(64) uint32_t below[kMost], above[kMost];
    alignas(64) float scales[kMost], r0[kMost], r1[kMost];  // r0 and r1: their reciprocals
    int32_t zero_points[kMost];
    uint8_t codes[kMost];  // the zero points as kernels take them
};
static_assert(ChosenRows::kMost % 4 == 0);

// Calls the form `rows`, which finds the range of each row of an operand.
int find_ranges(const CpuCall &call, const Form &form, const halide_buffer_t &rows,
                ChosenRows &chosen) {
    halide_dimension_t dims[2] = {{0, rows.dim[1].extent, 1, 0},
                                  {0, 2, int32_t(chosen.above - chosen.below), 0}};
    halide_buffer_t ranges;
    if (kKernelAssertions) {
        ranges = {};
        ranges.type = halide_type_t(halide_type_uint, 32);
        ranges.dimensions = 2;
    }
    ranges.host = reinterpret_cast<uint8_t *>(chosen.below);
    ranges.dim = dims;
    return call_kernel(form, call, &rows, &ranges);
}

// Some rows of a box.
class SomeRows {
public:
    halide_buffer_t operands[4];

    explicit SomeRows(const halide_buffer_t *box) : box_(box) {
        std::copy(box, box + 4, operands);
        for (int o = 0; o < 4; o++) operands[o].dim = dims_[o];
    }
    SomeRows(const SomeRows &) = delete;
    SomeRows &operator=(const SomeRows &) = delete;

    // Takes `count` rows from row `first` on.
    void take(int32_t first, int32_t count, const Problem &problem) {
        for (int o = 0; o < 4; o++) {
            std::copy(box_[o].dim, box_[o].dim + 2, dims_[o]);
            operands[o].host = box_[o].host + int64_t(first) * dims_[o][1].stride *
                                                  tensor(problem, o).kernel_bytes();
            dims_[o][1].extent = count;
        }
    }
    // Replaces an operand by an element of contiguous memory for each row.
    void replace(int o, void *memory) {
        operands[o].host = static_cast<uint8_t *>(memory);
        dims_[o][1].stride = 1;
    }

private:
    const halide_buffer_t *const box_;
    halide_dimension_t dims_[4][2];
};

// The pass Blocks: a row of the box is a block. The addresses of the scales and the zero points
// only say which elements they are: the scales' as if they were f32.
int call_blocks(BoxCall &context, halide_buffer_t *operands) {
    CpuCall &call = static_cast<CpuCall &>(context);
    const CpuKernel &kernel = call.kernel;
    const Problem &problem = *kernel.problem;
    const Tensor &scale = tensor(problem, kChosenScale),
                 &zero_point = tensor(problem, kChosenZeroPoint);
    ChosenRows &chosen = call.state<ChosenRows>();
    const int32_t rows = operands[kInput].dim[1].extent;
    const int64_t row_bytes = int64_t(operands[kInput].dim[0].extent) * int64_t(sizeof(float));
    int32_t most = int32_t(std::clamp<int64_t>(kRowsBytes / row_bytes, 1, ChosenRows::kMost));
    if (most > kBlocksTogether) most -= most % kBlocksTogether;
    const auto element = [&](int o) {
        return (operands[o].host - static_cast<const uint8_t *>(call.tensors[o])) /
               tensor(problem, o).kernel_bytes();
    };
    const int64_t scale_at = element(kScale), scale_step = operands[kScale].dim[1].stride,
                  zero_point_at = element(kZeroPoint),
                  zero_point_step = operands[kZeroPoint].dim[1].stride;
    SomeRows some(operands);
    for (int32_t y = 0; y < rows; y += most) {
        const int32_t count = std::min(most, rows - y);
        some.take(y, count, problem);
        if (const int code = find_ranges(call, *kernel.quick, some.operands[kInput], chosen))
            return code;
        for (int32_t i = count; i % 4 != 0; i++) chosen.below[i] = chosen.above[i] = 0;
        choose_parameters({problem.attributes, scale.type, problem.output.type}, chosen.below,
                          chosen.above, (count + 3) / 4 * 4, chosen.scales, chosen.zero_points);
        write_scales({scale, call.tensors[kChosenScale], scale_at + y * scale_step, scale_step},
                     chosen.scales, count);
        some.replace(kScale, chosen.scales);
        if (zero_point.present) {
            for (int32_t i = 0; i < count; i++) chosen.codes[i] = uint8_t(chosen.zero_points[i]);
            write_zero_points({zero_point, call.tensors[kChosenZeroPoint],
                               zero_point_at + y * zero_point_step, zero_point_step},
                              chosen.zero_points, count);
            some.replace(kZeroPoint, chosen.codes);
        }
        call.maybe_invalid = true;  // comparisons with NaN are invalid
        if (const int code = quantize_rows(call, kernel.own<RowForms>(), some.operands,
                                           chosen.invalid, chosen.r0, chosen.r1))
            return code;
    }
    return 0;
}

// How many elements a block of the space has: how many have the same scale.
int64_t block_elements(const Space &space) {
    int64_t elements = 1;
    for (int d = 0; d < space.rank; d++)
        elements *= space.dims[d].stride[kScale] == 0 ? space.dims[d].size : 1;
    return elements;
}

// Subnormal numbers are kept, because ranges must not be flushed.
__attribute__((cold)) int list_modes(const Space &space, const Variant &variant, CpuKernel &kernel,
                                     CpuMode *modes) {
    kernel.form = variant.form("divide");
    kernel.large_state = true;
    kernel.own<int64_t>() = block_elements(space);
    constexpr uint32_t kParameters = 1u << kScale | 1u << kZeroPoint;
    // The output is not streamed: pieces of rows could not be quantized at once.
    const KernelTraits traits = {kernel.form->layouts, kParameters, true};
    const int64_t *const along_rows = space.dims[0].stride;
    int count = 0;
    if (along_rows[kScale] == 0 && along_rows[kZeroPoint] == 0)
        modes[count++] = {kAtOnce, variant.form("rows"), call_blocks, traits};
    modes[count++] = {kSeparate, nullptr, nullptr, traits};
    return count;
}

// Rows must be whole blocks. A single block is not shared among threads.
__attribute__((cold)) bool suits(Plan &plan, int32_t, const Variant &variant, CpuKernel &kernel) {
    if (kernel.mode == kSeparate) return true;
    const bool whole =
        plan.run_loop < 0 && plan.run_inner * plan.run_outer == kernel.own<int64_t>() &&
        plan.access[kScale] == Access::InPlace && plan.access[kZeroPoint] == Access::InPlace;
    const bool alone = plan.box_count == 1 && plan.rows == 1;
    if (!whole || (alone && plan.parallel)) return false;
    const bool quick = InvalidOperationFlag::works();
    kernel.own<RowForms>() = {quick ? variant.form("reciprocal") : nullptr,
                              quick ? variant.form("blocks") : nullptr};
    return true;
}

// ---- Ranges as a pass of their own ----

// Adds the range of a box to the pass's output, a Range.
int call_ranges(BoxCall &context, halide_buffer_t *operands) {
    CpuCall &call = static_cast<CpuCall &>(context);
    ChosenRows &chosen = call.state<ChosenRows>();
    Range &range = *static_cast<Range *>(call.tensors[1]);
    halide_buffer_t some = operands[0];
    halide_dimension_t dims[2] = {some.dim[0], some.dim[1]};
    some.dim = dims;
    const int32_t rows = dims[1].extent;
    uint32_t below = 0, above = 0;
    for (int32_t y = 0; y < rows; y += ChosenRows::kMost) {
        dims[1].extent = std::min(ChosenRows::kMost, rows - y);
        some.host = operands[0].host + int64_t(y) * dims[1].stride * int64_t(sizeof(float));
        if (const int code = find_ranges(call, *call.kernel.form, some, chosen)) return code;
        for (int32_t i = 0; i < dims[1].extent; i++) {
            below = std::max(below, chosen.below[i]);
            above = std::max(above, chosen.above[i]);
        }
    }
    range.include(below, above);
    return 0;
}

__attribute__((cold)) int list_range_modes(const Space &, const Variant &variant, CpuKernel &kernel,
                                           CpuMode *modes) {
    kernel.form = variant.form("rows");
    kernel.large_state = true;
    modes[0] = {0, nullptr, call_ranges, {kernel.form->layouts, 0, true}};  // nothing to stream
    return 1;
}

}  // namespace

__attribute__((cold)) Tensor walk_blocks(const Problem &pass, int part, BlockWalk &walk,
                                         int64_t &first) {
    const Tensor &input = tensor(pass, 0), &scale = tensor(pass, 1), &zero_point = tensor(pass, 2);
    Tensor block = input;
    walk = {};
    walk.rank = input.rank;
    walk.total = 1;
    first = 0;
    int bit = 1;
    for (int d = 0; d < input.rank; d++) {
        const bool one = stored(scale, d) == 1;
        const int64_t size = input.sizes[d], extent = one ? size : scale.block_sizes[d],
                      whole = size / extent, rest = size % extent;
        const bool is_short = rest != 0 && (part & bit);
        if (rest != 0) bit *= 2;
        block.sizes[d] = is_short ? rest : extent;
        walk.count[d] = is_short ? 1 : whole;
        walk.total *= walk.count[d];
        walk.input_step[d] = extent * input.strides[d] * input.element_bytes;
        walk.scale_step[d] = one ? 0 : scale.strides[d];
        walk.zero_point_step[d] = one ? 0 : zero_point.strides[d];
        if (!is_short) continue;
        first += whole * extent * input.strides[d];
        walk.first_scale += whole * walk.scale_step[d];
        walk.first_zero_point += whole * walk.zero_point_step[d];
    }
    return block;
}

int run_blocks(const CpuPass &pass, void *const *tensors, void *const *operands, int64_t first,
               int64_t last, KernelErrors &errors) {
    const BlockWalk &walk = *static_cast<const BlockWalk *>(pass.kernel.settled);
    const Problem &problem = *pass.kernel.problem;
    const Tensor &scale = tensor(problem, 1), &zero_point = tensor(problem, 2);
    Range range;
    void *const of_block[] = {tensors[0], &range};
    alignas(64) uint8_t state[sizeof(ChosenRows)];
    CpuCall call(pass.kernel, of_block, &errors);
    call.large = state;
    for (int64_t b = first; b < last; b++) {
        int64_t rest = b, scale_at = walk.first_scale, zero_point_at = walk.first_zero_point;
        uint8_t *input = static_cast<uint8_t *>(operands[0]);
        for (int d = walk.rank - 1; d >= 0; d--) {
            const int64_t i = rest % walk.count[d];
            rest /= walk.count[d];
            input += i * walk.input_step[d];
            scale_at += i * walk.scale_step[d];
            zero_point_at += i * walk.zero_point_step[d];
        }
        range.below = range.above = 0;
        void *of_operands[kMaxOperands] = {input};
        if (const int code = run_boxes_of(pass, of_operands, 0, walk.box_count, call)) return code;
        const uint32_t below[4] = {range.below}, above[4] = {range.above};
        float scales[4];
        int32_t zero_points[4];
        const FloatingPointMode mode;
        choose_parameters({problem.attributes, scale.type, zero_point.type}, below, above, 4,
                          scales, zero_points);
        write_scales({scale, tensors[1], scale_at, 0}, scales, 1);
        write_zero_points({zero_point, tensors[2], zero_point_at, 0}, zero_points, 1);
    }
    return 0;
}

const CpuForms forms_of_dynamic_quantize = {list_modes, suits, nullptr};
const CpuForms forms_of_ranges = {list_range_modes, nullptr, nullptr};

}  // namespace hewn
