// Operators that choose scales for blocks, on the CPU (block_scales.h).
#include "block_scales.h"

#include <algorithm>
#include <cstring>

#include "chosen.h"
#include "linear.h"
#include "operator.h"

namespace hewn {

namespace {

// Bytes of the rows whose ranges are found before they are quantized. They stay in an L1 cache, or
// in L2 if a row is longer.
constexpr int64_t kRowsBytes = 16 << 10;

constexpr uint32_t kInfinite =
    0x7f800000;  // the bits of an infinite magnitude, and of no smaller one

// The state of a slice: the ranges of some rows, and their parameters.
struct ChosenRows {
    static constexpr int kMost = kMaxUniformRows;
    InvalidBoxes invalid;
    // MX and NVFP4 have only largest magnitudes, in `above`.
    alignas(64) uint32_t below[kMost], above[kMost];
    alignas(64) float scales[kMost], r0[kMost], r1[kMost];  // r0 and r1: their reciprocals
    int32_t zero_points[kMost];
    // The zero points as kernels take them. Of MX and NVFP4: the scales as they are written.
    uint8_t codes[kMost];
};
static_assert(ChosenRows::kMost % 4 == 0);
static_assert(sizeof(ChosenRows) > kStateBytes && sizeof(ChosenRows) <= kMiddleStateBytes);

// The operator that has a pass, judging by the type of the scales that it writes.
BlockFamily family_of_scale(const Tensor &scale) {
    if (kHasMx && scale.type == HEWN_DATA_TYPE_FLOAT8E8M0) return BlockFamily::Mx;
    if (kHasNvfp4 && scale.type == HEWN_DATA_TYPE_FLOAT8E4M3FN) return BlockFamily::Nvfp4;
    return BlockFamily::Dynamic;
}

// Calls the form `rows`, which finds the range of each row of an operand, or `largest`, which finds
// its largest magnitude.
int find_ranges(const CpuCall &call, const Form &form, BlockFamily family,
                const halide_buffer_t &rows, ChosenRows &chosen) {
    const bool both = family == BlockFamily::Dynamic;
    halide_dimension_t dims[2] = {{0, rows.dim[1].extent, 1, 0},
                                  {0, both ? 2 : 1, int32_t(chosen.above - chosen.below), 0}};
    halide_buffer_t ranges;
    if (kKernelAssertions) {
        ranges = {};
        ranges.type = halide_type_t(halide_type_uint, 32);
        ranges.dimensions = 2;
    }
    ranges.host = reinterpret_cast<uint8_t *>(both ? chosen.below : chosen.above);
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

// Where the operator writes the parameters of a box's rows, and reads the tensor's scale. The
// addresses of the operands of scales and zero points only say which elements they are: the scales'
// as if they were f32.
class WrittenRows {
public:
    WrittenRows(const CpuCall &call, const halide_buffer_t *box)
        : call_(call),
          problem_(*call.kernel.problem),
          scale_at_(element(box, kScale)),
          zero_point_at_(element(box, kZeroPoint)),
          scale_step_(box[kScale].dim[1].stride),
          zero_point_step_(box[kZeroPoint].dim[1].stride) {}

    // Those from row `y` on.
    Elements scales(int32_t y) const {
        return {tensor(problem_, kChosenScale), call_.tensors[kChosenScale],
                scale_at_ + y * scale_step_, scale_step_};
    }
    Elements zero_points(int32_t y) const {
        return {tensor(problem_, kChosenZeroPoint), call_.tensors[kChosenZeroPoint],
                zero_point_at_ + y * zero_point_step_, zero_point_step_};
    }

private:
    const CpuCall &call_;
    const Problem &problem_;
    const int64_t scale_at_, zero_point_at_, scale_step_, zero_point_step_;

    int64_t element(const halide_buffer_t *box, int o) const {
        return (box[o].host - static_cast<const uint8_t *>(call_.tensors[o])) /
               tensor(problem_, o).kernel_bytes();
    }
};

// Chooses and writes the parameters of rows whose ranges were found: `count` ones from row `y` on.
void choose_for_rows(const CpuCall &call, BlockFamily family, const WrittenRows &written, int32_t y,
                     int32_t count, ChosenRows &chosen) {
    const Problem &problem = *call.kernel.problem;
    const Elements scales = written.scales(y);
    switch (family) {
    case BlockFamily::Mx:
        choose_mx_scales(problem.attributes.mx_quantize_scale_mode, problem.format, chosen.above,
                         count, chosen.scales, chosen.codes);
        return write_codes(scales, chosen.codes, count);
    case BlockFamily::Nvfp4:
        choose_nvfp4_scales(scale_of(call, kTensorScale), chosen.above, count, chosen.scales,
                            chosen.codes);
        return write_codes(scales, chosen.codes, count);
    default: break;
    }
    for (int32_t i = count; i % 4 != 0; i++) chosen.below[i] = chosen.above[i] = 0;
    choose_parameters({problem.attributes, scales.tensor.type, problem.output.type}, chosen.below,
                      chosen.above, (count + 3) / 4 * 4, chosen.scales, chosen.zero_points);
    write_scales(scales, chosen.scales, count);
    for (int32_t i = 0; i < count; i++) chosen.codes[i] = uint8_t(chosen.zero_points[i]);
    write_zero_points(written.zero_points(y), chosen.zero_points, count);
}

// The code of elements that are lost because of a NaN or an infinity in their block.
uint8_t lost_element(const Problem &problem) {
    return uint8_t(field_of(problem.format, kFormatNan));  // 0, if the type has no NaN
}

// Sets the elements of MX and NVFP4 that are not QUANTIZE_LINEAR's: those that are lost, and -127
// for -128. int8 elements may only be -128 if the largest magnitude is above 127.5 / 128 of a power
// of two.
void finish_rows(const Problem &problem, BlockFamily family, const halide_buffer_t &rows,
                 const ChosenRows &chosen) {
    const int32_t columns = rows.dim[0].extent;
    const uint8_t lost = family == BlockFamily::Mx ? kLostMx : kLostNvfp4;
    for (int32_t i = 0; i < rows.dim[1].extent; i++) {
        uint8_t *const row = rows.host + int64_t(i) * rows.dim[1].stride;
        if (chosen.codes[i] == lost) std::memset(row, lost_element(problem), size_t(columns));
        else if (problem.format == 0 && (chosen.above[i] & 0x7f0000) == 0x7f0000)
            std::replace(row, row + columns, uint8_t(0x80), uint8_t(0x81));
    }
}

// How many rows of a box are quantized together.
int32_t rows_together(const halide_buffer_t &input) {
    const int64_t row_bytes = int64_t(input.dim[0].extent) * int64_t(sizeof(float));
    const int32_t most = int32_t(std::clamp<int64_t>(kRowsBytes / row_bytes, 1, ChosenRows::kMost));
    return most > kBlocksTogether ? most - most % kBlocksTogether : most;
}

// The pass Blocks: a row of the box is a block.
int call_blocks(BoxCall &context, halide_buffer_t *operands) {
    CpuCall &call = static_cast<CpuCall &>(context);
    const CpuKernel &kernel = call.kernel;
    const Problem &problem = *kernel.problem;
    const BlockFamily family = family_of_scale(tensor(problem, kChosenScale));
    ChosenRows &chosen = call.state<ChosenRows>();
    const int32_t rows = operands[kInput].dim[1].extent, most = rows_together(operands[kInput]);
    const WrittenRows written(call, operands);
    SomeRows some(operands);
    for (int32_t y = 0; y < rows; y += most) {
        const int32_t count = std::min(most, rows - y);
        some.take(y, count, problem);
        if (const int code =
                find_ranges(call, *kernel.quick, family, some.operands[kInput], chosen))
            return code;
        choose_for_rows(call, family, written, y, count, chosen);
        some.replace(kScale, chosen.scales);
        if (family == BlockFamily::Dynamic && tensor(problem, kChosenZeroPoint).present)
            some.replace(kZeroPoint, chosen.codes);
        call.maybe_invalid = true;  // comparisons with NaN are invalid
        if (const int code = quantize_rows(call, kernel.own<RowForms>(), some.operands,
                                           chosen.invalid, chosen.r0, chosen.r1))
            return code;
        if (family != BlockFamily::Dynamic)
            finish_rows(problem, family, some.operands[kZeroPoint + 1], chosen);
    }
    return 0;
}

// The pass Blocks in the place of BlockMaxima: adds the largest magnitudes of rows without NaN and
// infinity to the maximum, a Range.
int call_maxima(BoxCall &context, halide_buffer_t *operands) {
    CpuCall &call = static_cast<CpuCall &>(context);
    ChosenRows &chosen = call.state<ChosenRows>();
    const int32_t rows = operands[kInput].dim[1].extent, most = rows_together(operands[kInput]);
    SomeRows some(operands);
    uint32_t largest = 0;
    for (int32_t y = 0; y < rows; y += most) {
        some.take(y, std::min(most, rows - y), *call.kernel.problem);
        if (const int code = find_ranges(call, *call.kernel.quick, BlockFamily::Nvfp4,
                                         some.operands[kInput], chosen))
            return code;
        for (int32_t i = 0; i < some.operands[kInput].dim[1].extent; i++)
            if (chosen.above[i] < kInfinite) largest = std::max(largest, chosen.above[i]);
    }
    static_cast<Range *>(call.tensors[kTensorScale])->include(0, largest);
    return 0;
}

// The form that finds the range, or the largest magnitude, of rows.
const Form *range_form(const Variant &variant) {
    const Form *const rows = kHasDynamicQuantize ? variant.form("rows") : nullptr;
    return rows ? rows : variant.form("largest");
}

// Whether a pass finds NVFP4's largest magnitude, and leaves its output as it is.
bool finds_maximum(const CpuKernel &kernel) {
    return kHasNvfp4 && tensor(*kernel.problem, kTensorScale).type == HEWN_DATA_TYPE_UINT32;
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
    kernel.state_size = StateSize::Middle;
    kernel.own<int64_t>() = block_elements(space);
    constexpr uint32_t kParameters = 1u << kScale | 1u << kZeroPoint;
    // The output is not streamed: pieces of rows could not be quantized at once.
    const KernelTraits traits = {kernel.form->layouts, kParameters, true};
    const int64_t *const along_rows = space.dims[0].stride;
    int count = 0;
    if (along_rows[kScale] == 0 && along_rows[kZeroPoint] == 0)
        modes[count++] = {kAtOnce, range_form(variant),
                          finds_maximum(kernel) ? call_maxima : call_blocks, traits};
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
    // What is in scratch memory would be stored.
    if (finds_maximum(kernel) && plan.access[kZeroPoint + 1] != Access::InPlace) return false;
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
    const BlockFamily family = family_of_scale(tensor(*call.kernel.problem, 1));
    halide_buffer_t some = operands[0];
    halide_dimension_t dims[2] = {some.dim[0], some.dim[1]};
    some.dim = dims;
    const int32_t rows = dims[1].extent;
    uint32_t below = 0, above = 0;
    for (int32_t y = 0; y < rows; y += ChosenRows::kMost) {
        dims[1].extent = std::min(ChosenRows::kMost, rows - y);
        some.host = operands[0].host + int64_t(y) * dims[1].stride * int64_t(sizeof(float));
        if (const int code = find_ranges(call, *call.kernel.form, family, some, chosen))
            return code;
        for (int32_t i = 0; i < dims[1].extent; i++) {
            if (family == BlockFamily::Dynamic) below = std::max(below, chosen.below[i]);
            above = std::max(above, chosen.above[i]);
        }
    }
    range.include(below, above);
    return 0;
}

__attribute__((cold)) int list_range_modes(const Space &, const Variant &variant, CpuKernel &kernel,
                                           CpuMode *modes) {
    kernel.form = range_form(variant);
    kernel.state_size = StateSize::Middle;
    modes[0] = {0, nullptr, call_ranges, {kernel.form->layouts, 0, true}};  // nothing to stream
    return 1;
}

// ---- Elements of MX and NVFP4 by written scales ----

// A scale of NVFP4 that is NaN. No multiplication gives these bits.
constexpr uint32_t kLostScale = 0x7fffffff;

// Turns a scale, which was converted to f32, into the number to divide elements by.
float divisor_of(const CpuCall &call, BlockFamily family, float scale) {
    if (family == BlockFamily::Mx) return call.kernel.problem->format == 0 ? scale / 64 : scale;
    return scale != scale ? float_of(kLostScale)
                          : nvfp4_factor(scale, scale_of(call, kTensorScale));
}

// Divides the elements of a box by its scales. These are in scratch memory, where they become the
// numbers to divide by.
int call_elements(BoxCall &context, halide_buffer_t *operands) {
    CpuCall &call = static_cast<CpuCall &>(context);
    const Problem &problem = *call.kernel.problem;
    const BlockFamily family = family_of_scale(tensor(problem, kChosenScale));
    const halide_buffer_t &scales = operands[kScale], &output = operands[kZeroPoint + 1];
    float *const scale = reinterpret_cast<float *>(scales.host);
    const halide_dimension_t *const step = scales.dim;
    if (call.filled >> kScale & 1) {
        for (int32_t y = 0; y < (step[1].stride == 0 ? 1 : step[1].extent); y++)
            for (int32_t x = 0; x < (step[0].stride == 0 ? 1 : step[0].extent); x++) {
                float &each = scale[y * step[1].stride + x * step[0].stride];
                each = divisor_of(call, family, each);
            }
    }
    if (const int code = call_kernel(*call.kernel.form, call, &operands[0], &operands[1],
                                     &operands[2], &operands[3]))
        return code;
    const bool is_int8 = problem.format == 0;
    for (int32_t y = 0; y < output.dim[1].extent; y++)
        for (int32_t x = 0; x < output.dim[0].extent; x++) {
            const float divisor = scale[y * step[1].stride + x * step[0].stride];
            const bool lost =
                family == BlockFamily::Mx ? divisor != divisor : bits_of(divisor) == kLostScale;
            uint8_t &element = output.host[y * int64_t(output.dim[1].stride) + x];
            if (lost) element = lost_element(problem);
            else if (is_int8 && element == 0x80) element = 0x81;
        }
    return 0;
}

__attribute__((cold)) int list_element_modes(const Space &, const Variant &variant,
                                             CpuKernel &kernel, CpuMode *modes) {
    kernel.form = variant.form("divide");
    modes[0] = {0, nullptr, call_elements, {kernel.form->layouts, 0, true}};
    return 1;
}

}  // namespace

void write_tensor_scale(void *const *tensors) {
    const Range &range = *static_cast<const Range *>(tensors[0]);
    const FloatingPointMode mode;
    *static_cast<float *>(tensors[1]) = nvfp4_tensor_scale(float_of(range.above));
}

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
    const BlockFamily family = family_of_scale(scale);
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
        uint8_t codes[1];
        const Elements written = {scale, tensors[1], scale_at, 0};
        const FloatingPointMode mode;
        if (pass.kind == PassProblem::BlockMaxima) {
            if (above[0] < kInfinite) static_cast<Range *>(tensors[2])->include(0, above[0]);
            continue;
        }
        if (family == BlockFamily::Mx)
            choose_mx_scales(problem.attributes.mx_quantize_scale_mode, problem.format, above, 1,
                             scales, codes);
        if (family == BlockFamily::Nvfp4)
            choose_nvfp4_scales(*static_cast<const float *>(tensors[2]), above, 1, scales, codes);
        if (family != BlockFamily::Dynamic) {
            write_codes(written, codes, 1);
            continue;
        }
        choose_parameters({problem.attributes, scale.type, zero_point.type}, below, above, 4,
                          scales, zero_points);
        write_scales(written, scales, 1);
        write_zero_points({zero_point, tensors[2], zero_point_at, 0}, zero_points, 1);
    }
    return 0;
}

const CpuForms forms_of_dynamic_quantize = {list_modes, suits, nullptr},
               forms_of_mx_quantize = forms_of_dynamic_quantize,
               forms_of_nvfp4_quantize = forms_of_dynamic_quantize;
const CpuForms forms_of_ranges = {list_range_modes, nullptr, nullptr};
const CpuForms forms_of_elements = {list_element_modes, nullptr, nullptr};

}  // namespace hewn
