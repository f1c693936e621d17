// QUANTIZE_LINEAR on the CPU. It multiplies by reciprocals of the scales, which are prepared here
// and kept for a slice or for all executions, or it divides (the form `divide`). Boxes whose
// results may differ by reciprocals are divided.
#include <algorithm>

#include "floats.h"
#include "linear.h"

namespace hewn {

namespace {

// Data of the modes that prepare reciprocals (CpuKernel::own).
struct Columns {
    // The form `columns`. The mode kRepeating also calls it, for rows that are too short for
    // `repeating`.
    const Form *form;
    int32_t distinct_scales;  // the period of a row of scales
};

// The reciprocals of a box's scales. r0 is null if a scale is not ordinary.
struct Reciprocals {
    const float *r0, *r1;
};

// The fewest elements for which quantize_rows() prepares reciprocals.
constexpr int64_t kLeastByReciprocals = 256;

// The longest row of scales whose reciprocals a slice prepares.
constexpr int kMaxColumns = 4096;

// The state of a slice if the scales are not constants: the reciprocals of its last box's scales.
// They hold as long as the scales stay at their address and scratch memory is not filled anew
// (BoxCall::filled).
struct PreparedScales {
    InvalidBoxes invalid;
    const void *from = nullptr;  // the address of the scales; null: nothing is prepared
    int32_t count;
    bool fit;  // whether all are ordinary
};
template<int Most>
struct Prepared : PreparedScales {
    alignas(64) float r0[Most], r1[Most];
};

// Prepares the reciprocals of `count` scales that lie `step_bytes` bytes apart. Returns false if
// one of them is not ordinary. The arithmetic for it may then have raised the flag of invalid
// operations; the caller divides, which notes that (call_quantize_divided).
bool set_reciprocals(const void *scales, hewn_data_type type, int64_t step_bytes, int64_t count,
                     float *r0, float *r1) {
    const char *const first = static_cast<const char *>(scales);
    int64_t unfit = 0;
    for (int64_t i = 0; i < count; i++) {
        const float scale = read_scale(first + i * step_bytes, type);
        unfit += !ordinary(scale);
        set_reciprocal(scale, r0[i], r1[i]);
    }
    return unfit == 0;
}

// Makes a buffer of reciprocals. Its type is set only for kernels with assertions.
inline halide_buffer_t buffer_of(const float *reciprocals, halide_dimension_t *dims) {
    halide_buffer_t buffer;
    if (kKernelAssertions) {
        buffer = {};
        buffer.type = halide_type_t(halide_type_float, 32);
        buffer.dimensions = 2;
    }
    buffer.host = reinterpret_cast<uint8_t *>(const_cast<float *>(reciprocals));
    buffer.dim = dims;
    return buffer;
}

// Whether quotients by these f32 scales are quantized to the same results if subnormal numbers are
// flushed: no scale is small or 0 (docs/numerics.md). The comparison is of bits, where NaN is
// large.
bool flushable(const halide_buffer_t &scales) {
    const int32_t columns = scales.dim[0].stride == 0 ? 1 : scales.dim[0].extent;
    const int32_t rows = scales.dim[1].stride == 0 ? 1 : scales.dim[1].extent;
    uint32_t least = UINT32_MAX;
    for (int32_t y = 0; y < rows; y++) {
        const float *const row =
            reinterpret_cast<const float *>(scales.host) + int64_t(y) * scales.dim[1].stride;
        for (int32_t x = 0; x < columns; x++) least = std::min(least, bits_of(row[x]) & 0x7fffffff);
    }
    return least >= bits_of(0x1p-60f);
}

int divide(const CpuCall &call, halide_buffer_t *operands) {
    return call_kernel(*call.kernel.form, call, &operands[0], &operands[1], &operands[2],
                       &operands[3]);
}

// Divides while subnormal numbers are flushed; keeps them if the scales need that. It is a function
// of its own because it would slow small calls.
__attribute__((noinline)) int divide_flushing(const CpuCall &call, halide_buffer_t *operands) {
    if (flushable(operands[kScale])) return divide(call, operands);
    const FloatingPointMode keeping;
    return divide(call, operands);
}

int call_quantize_divided(BoxCall &context, halide_buffer_t *operands) {
    CpuCall &call = static_cast<CpuCall &>(context);
    call.maybe_invalid = true;  // 0 / 0 and NaN inputs are
    return call.flushes ? divide_flushing(call, operands) : divide(call, operands);
}

// ---- Quotients of less precision ----

// The state of a slice: the quotients of a part of a box, and as many scales of 1.
constexpr int32_t kQuotients = 256;
struct Quotients {
    alignas(64) float quotients[kQuotients], ones[kQuotients];

    Quotients() { std::fill_n(ones, kQuotients, 1.0f); }
};
static_assert(sizeof(Quotients) <= kStateBytes);

// Sets to[i] = x[i] / scale[i * step] for i < count. The dividend, the scale and the quotient are
// rounded.
template<Words32 (*Round)(Words32)>
void divide_rounded(const float *x, const float *scale, int32_t step, int32_t count, float *to) {
    Floats s = {*scale, *scale, *scale, *scale};  // set by lanes, because 0 + -0 is 0
    for (int32_t i = 0; i < count; i += 4) {
        const size_t bytes = sizeof(float) * size_t(std::min(4, count - i));
        Floats dividend = {};
        std::memcpy(&dividend, x + i, bytes);
        if (step != 0) std::memcpy(&s, scale + i, bytes);
        const Floats quotient = (Floats)Round((Words32)dividend) / (Floats)Round((Words32)s);
        const Words32 rounded = Round((Words32)quotient);
        std::memcpy(to + i, &rounded, bytes);
    }
}

// A part of a box of f32, as the form `divide` takes it: the quotients as its input, and scales of
// 1. These scales have the layout of the zero points, because no form takes a zero point for each
// element with a single scale.
class RoundedPart {
public:
    halide_buffer_t operands[4];

    RoundedPart(CpuCall &call, const halide_buffer_t *box)
        : call_(call), box_(box), kept_(call.state<Quotients>()) {
        std::copy(box, box + 4, operands);
        for (int o = 0; o < 4; o++) {
            operands[o].dim = dims_[o];
            dims_[o][0].stride = box[o].dim[0].stride;
            dims_[o][1].stride = box[o].dim[1].stride;
        }
        operands[kInput].host = reinterpret_cast<uint8_t *>(kept_.quotients);
        operands[kScale].host = reinterpret_cast<uint8_t *>(kept_.ones);
        dims_[kScale][0].stride = box[kZeroPoint].dim[0].stride;
        dims_[kScale][1].stride = 0;
    }
    RoundedPart(const RoundedPart &) = delete;
    RoundedPart &operator=(const RoundedPart &) = delete;

    // Takes the part of the box that begins at (x, y), and computes its quotients.
    void set(int32_t x, int32_t y, int32_t columns, int32_t rows) {
        for (auto &dims : dims_) {
            dims[0].extent = columns;
            dims[1].extent = rows;
        }
        for (int o : {kZeroPoint, kOutput}) operands[o].host = at(o, x, y);
        dims_[kInput][1].stride = columns;
        const auto divide = precision_of(*call_.kernel.problem) == HEWN_PRECISION_FLOAT16
                                ? divide_rounded<rounded_to_f16>
                                : divide_rounded<rounded_to_bf16>;
        for (int32_t row = 0; row < rows; row++)
            divide(reinterpret_cast<const float *>(at(kInput, x, y + row)),
                   reinterpret_cast<const float *>(at(kScale, x, y + row)),
                   box_[kScale].dim[0].stride, columns, kept_.quotients + row * columns);
    }

private:
    const CpuCall &call_;
    const halide_buffer_t *const box_;
    halide_dimension_t dims_[4][2] = {};
    Quotients &kept_;

    uint8_t *at(int o, int32_t x, int32_t y) const {
        const int64_t element =
            int64_t(x) * box_[o].dim[0].stride + int64_t(y) * box_[o].dim[1].stride;
        return box_[o].host + element * tensor(*call_.kernel.problem, o).kernel_bytes();
    }
};

int call_quantize_rounded(BoxCall &context, halide_buffer_t *operands) {
    CpuCall &call = static_cast<CpuCall &>(context);
    RoundedPart part(call, operands);
    const int32_t run = operands[kInput].dim[0].extent, rows = operands[kInput].dim[1].extent,
                  width = std::min(run, kQuotients), height = kQuotients / width;
    for (int32_t y = 0; y < rows; y += height) {
        for (int32_t x = 0; x < run; x += width) {
            part.set(x, y, std::min(width, run - x), std::min(height, rows - y));
            if (const int code = divide(call, part.operands)) return code;
        }
    }
    return 0;
}

// ---- Quotients by reciprocals ----

// Returns the reciprocals that were prepared at compile for the constant scales of a box, from the
// box's first scale on. They were prepared for all scales in memory.
Reciprocals settled_reciprocals(const CpuCall &call, const halide_buffer_t &scale) {
    const Tensor &tensor = call.kernel.problem->inputs[kScale];
    const float *const r0 =
        static_cast<const float *>(call.kernel.settled) +
        (scale.host - static_cast<const uint8_t *>(call.tensors[kScale])) / tensor.element_bytes;
    return {r0, r0 + tensor.bytes / uint64_t(tensor.element_bytes)};
}

// Prepares the reciprocals of `count` scales that lie `step` elements apart. They repeat after as
// many scales as the kernel's distinct_scales says.
void prepare(const CpuKernel &kernel, const void *scales, int32_t count, int64_t step,
             PreparedScales &p, float *r0, float *r1) {
    const hewn_data_type type = kernel_type(*kernel.problem->info, kernel.problem->inputs[kScale]);
    const int32_t distinct = std::min(count, kernel.own<Columns>().distinct_scales);
    p.from = scales;
    p.count = count;
    p.fit = set_reciprocals(scales, type, step * type_bytes(type), distinct, r0, r1);
    for (float *row : {r0, r1}) repeat_row(reinterpret_cast<uint8_t *>(row), distinct, count, 2);
}

// Returns the reciprocals of a box's `count` scales, which lie `step` elements apart. Reciprocals
// that were prepared at compile lie as far apart as the scales; others are contiguous. Sets
// `invalid` to the slice's record of invalid boxes.
template<int Most>
Reciprocals find_reciprocals(CpuCall &call, const halide_buffer_t &scale, int32_t count,
                             int64_t step, InvalidBoxes *&invalid) {
    if (call.kernel.settled) {
        invalid = &call.state<InvalidBoxes>();
        return settled_reciprocals(call, scale);
    }
    Prepared<Most> &p = call.state<Prepared<Most>>();
    invalid = &p.invalid;
    if (p.from != scale.host || p.count < count || (call.filled & 1u << kScale))
        prepare(call.kernel, scale.host, count, step, p, p.r0, p.r1);
    return {p.fit ? p.r0 : nullptr, p.r1};
}

// Lets `compute` compute the box by reciprocals, and sets `code` to its result. Returns false if
// the box must be divided.
template<class Compute>
bool without_division(CpuCall &call, InvalidBoxes &boxes, int &code, const Compute &compute) {
    if (boxes.leave_out()) return false;
    const InvalidOperationFlag invalid(call.maybe_invalid);
    code = compute();
    if (code != 0 || !invalid.raised()) return true;
    boxes.met();
    return false;
}

// The same, with buffers of the reciprocals for `compute`. Returns false if there are no
// reciprocals.
template<class Compute>
bool by_reciprocals(CpuCall &call, const Reciprocals &reciprocals, InvalidBoxes &boxes,
                    halide_dimension_t *dims, int &code, const Compute &compute) {
    if (!reciprocals.r0) return false;
    halide_buffer_t r0 = buffer_of(reciprocals.r0, dims), r1 = buffer_of(reciprocals.r1, dims);
    return without_division(call, boxes, code, [&] { return compute(&r0, &r1); });
}

// by_reciprocals for a box with a scale for each row.
template<class Compute>
bool by_row_reciprocals(CpuCall &call, const halide_buffer_t &scale, int &code,
                        const Compute &compute) {
    const halide_dimension_t &rows = scale.dim[1];
    InvalidBoxes *invalid;
    const Reciprocals reciprocals = find_reciprocals<kMaxUniformRows>(
        call, scale, rows.stride == 0 ? 1 : rows.extent, rows.stride, invalid);
    halide_dimension_t dims[2] = {
        {0, 1, 0, 0}, {0, rows.extent, call.kernel.settled ? rows.stride : rows.stride != 0, 0}};
    return by_reciprocals(call, reciprocals, *invalid, dims, code, compute);
}

// The mode kUniform: calls `reciprocal` with a scale and a zero point for each row.
int call_quantize(BoxCall &context, halide_buffer_t *operands) {
    CpuCall &call = static_cast<CpuCall &>(context);
    const CpuKernel &kernel = call.kernel;
    int code;
    const auto compute = [&](halide_buffer_t *r0, halide_buffer_t *r1) {
        return call_kernel(*kernel.quick, call, &operands[0], &operands[0], r0, r1, &operands[2],
                           kernel.prefetch_distance, &operands[3]);
    };
    return by_row_reciprocals(call, operands[kScale], code, compute)
               ? code
               : call_quantize_divided(context, operands);
}

// The mode kPacked: calls `packed4` or `packed2` with a scale for each row.
int call_quantize_packed(BoxCall &context, halide_buffer_t *operands) {
    CpuCall &call = static_cast<CpuCall &>(context);
    PackedRows rows(call, operands, kOutput);
    halide_buffer_t *const o = rows.operands;
    const auto compute = [&](halide_buffer_t *r0, halide_buffer_t *r1) {
        return call_kernel(*call.kernel.quick, call, &o[0], &o[0], r0, r1, rows.zero_point, &o[3]);
    };
    int code;
    return rows.fit() && by_row_reciprocals(call, operands[kScale], code, compute)
               ? code
               : rows.compute_bytes(context, call_quantize_divided);
}

// Calls `blocks`, which makes the reciprocals itself, with a scale and a zero point for each block.
int quantize_blocks(CpuCall &call, const Form &form, halide_buffer_t *operands,
                    InvalidBoxes &invalid) {
    BlockRows rows(*call.kernel.problem, operands);
    int code;
    const auto compute = [&] {
        halide_buffer_t *const o = rows.operands;
        int code = 0;
        while (code == 0 && rows.next())
            code = call_kernel(form, call, &o[0], &o[1], &o[2], rows.shift, &o[3]);
        return code;
    };
    if (!without_division(call, invalid, code, compute))
        return call_quantize_divided(call, operands);
    return code == 0 && rows.has_left() ? call_quantize_divided(call, rows.operands) : code;
}

// The mode kBlocks.
int call_quantize_blocks(BoxCall &context, halide_buffer_t *operands) {
    CpuCall &call = static_cast<CpuCall &>(context);
    return quantize_blocks(call, *call.kernel.quick, operands, call.state<InvalidBoxes>());
}

// Repeats each row's vector of parameters in scratch memory (read_a_vector) up to the row's end.
void complete_rows(const halide_buffer_t &rows, hewn_data_type type) {
    const int shift = __builtin_ctz(unsigned(type_bytes(type)));
    const int32_t distinct_rows = rows.dim[1].stride == 0 ? 1 : rows.dim[1].extent;
    for (int32_t y = 0; y < distinct_rows; y++)
        repeat_row(rows.host + (int64_t(y) * rows.dim[1].stride << shift), kRepeatingLanes,
                   rows.dim[0].extent, shift);
}

// The modes kColumns and kRepeating: calls `columns` or `repeating` with a scale for each column.
int call_quantize_columns(BoxCall &context, halide_buffer_t *operands) {
    CpuCall &call = static_cast<CpuCall &>(context);
    const CpuKernel &kernel = call.kernel;
    const halide_buffer_t &scale = operands[kScale];
    const bool repeating = takes_repeating(kernel, scale);
    const int32_t count = repeating ? kRepeatingLanes : scale.dim[0].extent;
    InvalidBoxes *invalid;
    const Reciprocals reciprocals = find_reciprocals<kMaxColumns>(call, scale, count, 1, invalid);
    halide_dimension_t dims[2] = {{0, count, 1, 0}, {0, scale.dim[1].extent, 0, 0}};
    int code;
    const auto compute = [&](halide_buffer_t *r0, halide_buffer_t *r1) {
        return repeating ? call_kernel(*kernel.quick, call, &operands[0], &operands[0], r0, r1,
                                       &operands[2], kernel.prefetch_distance, &operands[3])
                         : call_kernel(*kernel.own<Columns>().form, call, &operands[0], r0, r1,
                                       &operands[2], &operands[3]);
    };
    if (by_reciprocals(call, reciprocals, *invalid, dims, code, compute)) return code;
    // Division reads whole rows of parameters, of which `repeating` needed only a vector.
    if (repeating) {
        for (int o : {kScale, kZeroPoint})
            complete_rows(operands[o],
                          kernel_type(*kernel.problem->info, kernel.problem->inputs[o]));
    }
    return call_quantize_divided(context, operands);
}

// Whether all scales are constants and ordinary.
bool has_ordinary_constants(const Problem &problem) {
    const Tensor &scales = problem.inputs[kScale];
    const char *const first = static_cast<const char *>(problem.constants[kScale]);
    for (uint64_t at = 0; scales.constant && at < scales.bytes;
         at += uint64_t(scales.element_bytes)) {
        if (!ordinary(read_scale(first + at, scales.type))) return false;
    }
    return scales.constant;
}

// Whether the reciprocals of all scales are prepared at compile, so that they cost an execution
// nothing.
bool settles(const Plan &plan, const CpuKernel &kernel) {
    return plan.access[kScale] == Access::InPlace && has_ordinary_constants(*kernel.problem);
}

// Whether it pays to prepare reciprocals for the plan's boxes (docs/lab/performance.md#scales). It
// always pays if all boxes have the same one scale. If each box has one scale of its own, a box
// needs `elements` elements. A box of several scales needs `elements` elements and, in addition,
// 0.8 times as many and a fifth as many for each scale; boxes in sequence with the same scales
// share this addition. `settled` says that the reciprocals are prepared at compile and need no
// addition.
bool reciprocals_pay(const Plan &plan, int32_t slices, bool settled, int64_t elements) {
    const int64_t run = plan.run_inner * plan.run_outer;
    const int64_t values =
        std::max(values_of_a_box(plan, kScale), values_of_a_box(plan, kZeroPoint));
    const int64_t sharing = std::max<int64_t>(repeated_boxes(plan, kScale) / slices, 1);
    if (values == 0) return true;
    if (values == 1) return run * plan.rows >= elements;
    // Rows that are shorter than a batch of the narrowing are as slow as division. Without
    // reciprocals, all rows of a box would be one run, whose scales are gathered only once if boxes
    // share them.
    const int64_t least = plan.scratch && sharing > 1 ? elements : elements / 8;
    return run >= least &&
           (settled || run * plan.rows * 5 >= elements * (5 + (4 + values) / sharing));
}

// Whether it pays to use the reciprocals of a row of scales. Each slice prepares them, unless they
// are settled. Sets `distinct` to how many of the scales differ.
bool columns_pay(const Plan &plan, int32_t slices, bool repeating, bool settled,
                 int64_t reciprocal_elements, int64_t &distinct) {
    // Preparing a scale takes as long as eight divisions; copying a prepared one takes as long as
    // one. Enough rows must share the scale to gain at least half of that: 16, or 32 where division
    // is fast.
    const int64_t preparing = reciprocal_elements / 16;
    constexpr int64_t kCopying = 4;
    // In elements. `repeating` copies only a vector of reciprocals.
    constexpr int64_t kLeastRepeating = 512;
    const bool in_place = plan.access[kScale] == Access::InPlace,
               table = plan.access[kScale] == Access::Table;
    const bool cut = plan.run_loop >= 0 && plan.loops[plan.run_loop].step_bytes[kScale] != 0;
    const int64_t run = plan.run_inner * plan.run_outer;
    // All rows of a box must have the same row of scales, because reciprocals are prepared for one
    // row.
    const bool one_row = plan.rows == 1 || plan.row_bytes[kScale] == 0;
    if (!one_row || plan.dims[kScale][0].stride != 1 || !(in_place || (table && !cut)))
        return false;
    // Reciprocals of scales that are used only once would only take memory.
    if (settled) return repeated_rows(plan, kScale) > 1;
    if (run > kMaxColumns) return false;
    int64_t rows = cut ? plan.rows : repeated_rows(plan, kScale);
    if (rows > plan.rows) rows = std::max(rows / slices, plan.rows);
    distinct = table ? plan.period[kScale] : run;
    return (repeating ? rows * run >= kLeastRepeating : rows >= kCopying) &&
           rows * run >= preparing * distinct;
}

// Chooses whether slices flush subnormal numbers. Only f32 and bf16 inputs may be subnormal.
// Setting the mode takes 1 % of the time that kFlushedElements elements take. That is too much for
// work that is not worth a reciprocal.
Subnormals choose_subnormals(const Problem &problem, int64_t elements,
                             int64_t reciprocal_elements) {
    constexpr int64_t kFlushedElements = 16384;
    const hewn_data_type type = problem.inputs[0].type;
    const bool may_be_subnormal = type == HEWN_DATA_TYPE_FLOAT32 || type == HEWN_DATA_TYPE_BFLOAT16;
    if (!may_be_subnormal || elements < reciprocal_elements) return Subnormals::Keep;
    return elements >= kFlushedElements ? Subnormals::Flush : Subnormals::FlushOnceMet;
}

// Lists the modes, the fastest first. In all of them `form` is `divide`, for scales that are not
// ordinary.
__attribute__((cold)) int list_modes(const Space &space, const Variant &variant, CpuKernel &kernel,
                                     CpuMode *modes) {
    kernel.form = variant.form("divide");
    kernel.prefetch_share = PrefetchShare::Usual;
    const uint32_t layouts = kernel.form->layouts;
    if (precision_of(*kernel.problem)) {
        modes[0] = {kRounded, nullptr, call_quantize_rounded, {layouts, 0, true}};
        return 1;
    }
    const int64_t elements = element_count(space), least = variant.plan->reciprocal_elements;
    const int64_t *const along_rows = space.dims[0].stride;
    const bool uniform =
        along_rows[kScale] == 0 && along_rows[kZeroPoint] == 0 && elements >= least;
    const Form *const blocks = may_be_blocks(space) ? variant.form("blocks") : nullptr,
                      *const reciprocal = variant.form("reciprocal"),
                      *const columns = variant.form("columns"),
                      *const repeating = may_repeat(space) ? variant.form("repeating") : nullptr;
    kernel.subnormals = choose_subnormals(*kernel.problem, elements, least);
    kernel.own<Columns>().form = columns;
    int count = 0;
    const bool quick = InvalidOperationFlag::works();
    const PackedForm packed =
        quick && uniform ? packed_form(space, *kernel.problem, variant, kOutput) : PackedForm{};
    if (packed.form)
        modes[count++] = {kPacked,
                          packed.form,
                          call_quantize_packed,
                          {layouts, kParameters, false},
                          packed.together};
    if (quick && uniform && blocks)
        modes[count++] = {kBlocks, blocks, call_quantize_blocks, {layouts, 0, false}};
    if (quick && uniform && reciprocal)
        modes[count++] = {kUniform, reciprocal, call_quantize, {layouts, kParameters, false}};
    if (quick && repeating && columns)
        modes[count++] = {kRepeating, repeating, call_quantize_columns, reading_rows(layouts)};
    if (quick && columns)
        modes[count++] = {kColumns, nullptr, call_quantize_columns, {layouts, 0, false}};
    modes[count++] = {kAnyParameters, nullptr, call_quantize_divided, {layouts, 0, false}};
    return count;
}

__attribute__((cold)) bool suits(Plan &plan, int32_t slices, const Variant &variant,
                                 CpuKernel &kernel) {
    const bool repeating = kernel.mode == kRepeating;
    const int64_t least = variant.plan->reciprocal_elements;
    int64_t distinct = kMaxUniformRows;
    switch (kernel.mode) {
    case kBlocks: return has_blocks(plan);
    case kPacked:
        // Its rows are so long that reciprocals always pay.
        if (!packed_rows_fit(plan, *kernel.problem, kOutput)) return false;
        break;
    case kUniform:
        if (!reciprocals_pay(plan, slices, settles(plan, kernel), least)) return false;
        break;
    case kRepeating:
        if (!has_repeating_rows(plan)) return false;
        [[fallthrough]];
    case kColumns:
        if (!columns_pay(plan, slices, repeating, settles(plan, kernel), least, distinct))
            return false;
        kernel.state_size = StateSize::Large;
        if (repeating) read_a_vector(plan);
        break;
    default: return true;
    }
    kernel.own<Columns>().distinct_scales = int32_t(distinct);
    return true;
}

// Prepares the reciprocals of all constant scales.
__attribute__((cold)) int settle_quantize(const Plan &plan, const Allocator &allocator,
                                          CpuKernel &kernel, void *const *inputs, void *) {
    const bool prepares = kernel.mode == kUniform || kernel.mode == kPacked ||
                          kernel.mode == kColumns || kernel.mode == kRepeating;
    if (!prepares || !settles(plan, kernel)) return 0;
    const Tensor &scales = kernel.problem->inputs[kScale];
    const size_t count = size_t(scales.bytes) / size_t(scales.element_bytes);
    float *const r0 = allocator.allocate<float>(2 * count);
    if (!r0) return kNoMemory;
    set_reciprocals(inputs[kScale], scales.type, scales.element_bytes, int64_t(count), r0,
                    r0 + count);
    kernel.settled = r0;
    kernel.state_size = StateSize::Small;
    return 0;
}

}  // namespace

int quantize_rows(CpuCall &call, const RowForms &forms, halide_buffer_t *operands,
                  InvalidBoxes &invalid, float *r0, float *r1) {
    const halide_dimension_t *const input = operands[kInput].dim, *const output = operands[3].dim;
    const int32_t run = input[0].extent, rows = input[1].extent;
    const bool next_to_one_another =
        rows == 1 || (input[1].stride == run && output[1].stride == run);
    if (forms.blocks && is_block(run) && next_to_one_another && rows >= kBlocksTogether)
        return quantize_blocks(call, *forms.blocks, operands, invalid);
    if (!forms.reciprocal || int64_t(run) * rows < kLeastByReciprocals ||
        !set_reciprocals(operands[kScale].host, HEWN_DATA_TYPE_FLOAT32, sizeof(float), rows, r0,
                         r1))
        return call_quantize_divided(call, operands);
    halide_dimension_t dims[2] = {{0, 1, 0, 0}, {0, rows, 1, 0}};
    int code;
    const auto compute = [&](halide_buffer_t *of_r0, halide_buffer_t *of_r1) {
        constexpr int32_t kNoPrefetching = 0;  // the rows were just read
        return call_kernel(*forms.reciprocal, call, &operands[0], &operands[0], of_r0, of_r1,
                           &operands[2], kNoPrefetching, &operands[3]);
    };
    return by_reciprocals(call, {r0, r1}, invalid, dims, code, compute)
               ? code
               : call_quantize_divided(call, operands);
}

const CpuForms forms_of_quantize_linear = {list_modes, suits, settle_quantize};

}  // namespace hewn
