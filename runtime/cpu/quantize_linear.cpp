// QUANTIZE_LINEAR on the CPU: by reciprocals of the scales, prepared and kept here, or by division.
#include <algorithm>

#include "linear.h"

namespace hewn {

namespace {

// Prepares the reciprocals of `count` scales that lie `step_bytes` apart. False: one is not ordinary, and its arithmetic may have
// raised the flag of invalid operations. The caller then divides, which notes that (call_quantize_divided).
bool set_reciprocals(const void *scales, hewn_data_type type, int64_t step_bytes, int32_t count, float *r0, float *r1) {
    const char *const first = static_cast<const char *>(scales);
    int32_t unfit = 0;
    for (int32_t i = 0; i < count; i++) {
        const float scale = read_scale(first + i * step_bytes, type);
        unfit += !ordinary(scale);
        set_reciprocal(scale, r0[i], r1[i]);
    }
    return unfit == 0;
}

// A buffer of reciprocals.
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

// Prepares the parameters for the first `count` scales of a box: `reciprocal` if all are ordinary, else the dividing form.
void prepare_quantize(const CpuKernel &kernel, const halide_buffer_t &scale, int32_t count, RowParameters &p) {
    const hewn_data_type type = kernel.problem->inputs[kScale].type;
    p.from = scale.host;
    p.count = count;
    bool fit;
    if (kernel.one_scale) {
        const float value = read_scale(scale.host, type);
        fit = ordinary(value);
        if (fit) find_reciprocal(value, kernel.last_reciprocal, p.r0[0], p.r1[0]);
    } else {
        fit = set_reciprocals(scale.host, type, int64_t(scale.dim[1].stride) * type_bytes(type), count, p.r0, p.r1);
    }
    p.form = fit ? kernel.reciprocal : kernel.form;
}

// Whether quotients by these f32 scales quantize the same with subnormals flushed: none is small, or 0 (docs/numerics.md). As
// bits, NaN is large.
bool flushable(const halide_buffer_t &scales) {
    const int32_t columns = scales.dim[0].stride == 0 ? 1 : scales.dim[0].extent;
    const int32_t rows = scales.dim[1].stride == 0 ? 1 : scales.dim[1].extent;
    uint32_t least = UINT32_MAX;
    for (int32_t y = 0; y < rows; y++) {
        const float *const row = reinterpret_cast<const float *>(scales.host) + int64_t(y) * scales.dim[1].stride;
        for (int32_t x = 0; x < columns; x++) least = std::min(least, bits_of(row[x]) & 0x7fffffff);
    }
    return least >= bits_of(0x1p-60f);
}

int divide(const CpuCall &call, halide_buffer_t *operands) {
    return call_kernel(*call.kernel.form, call, &operands[0], &operands[1], &operands[2], &operands[3]);
}

// Where subnormals are flushed. Apart, for it would slow small calls.
__attribute__((noinline)) int divide_flushing(const CpuCall &call, halide_buffer_t *operands) {
    if (flushable(operands[kScale])) return divide(call, operands);
    const FloatingPointMode keeping;
    return divide(call, operands);
}

int call_quantize_divided(BoxCall &context, halide_buffer_t *operands) {
    CpuCall &call = static_cast<CpuCall &>(context);
    call.maybe_invalid = true;  // as 0 / 0 and NaN inputs are
    return call.flushes ? divide_flushing(call, operands) : divide(call, operands);
}

int call_quantize(BoxCall &context, halide_buffer_t *operands) {
    CpuCall &call = static_cast<CpuCall &>(context);
    const CpuKernel &kernel = call.kernel;
    RowParameters &p = call.rows;
    const halide_buffer_t &scale = operands[kScale];
    const halide_dimension_t &rows = scale.dim[1];
    const int32_t count = rows.stride == 0 ? 1 : rows.extent;
    if (p.from != scale.host || p.count < count) prepare_quantize(kernel, scale, count, p);
    if (p.form == kernel.reciprocal && !call.invalid_boxes.leave_out()) {
        halide_dimension_t dims[2] = {{0, 1, 0, 0}, {0, rows.extent, rows.stride != 0, 0}};
        halide_buffer_t r0 = buffer_of(p.r0, dims), r1 = buffer_of(p.r1, dims);
        const InvalidOperationFlag invalid(call.maybe_invalid);
        const int code = call_kernel(*p.form, call, &operands[0], &operands[0], &r0, &r1, &operands[2], kernel.prefetch_distance,
                                     &operands[3]);
        if (code != 0 || !invalid.raised()) return code;
        call.invalid_boxes.met();
    }
    return call_quantize_divided(context, operands);
}
// Gives up `reciprocal`, which needs one scale and one zero point a row.
void leave_reciprocal(const Variant &variant, CpuKernel &kernel) {
    kernel.reciprocal = nullptr;
    kernel.uniform = 0;
    kernel.call = call_quantize_divided;
    kernel.columns = variant.form("columns");
    kernel.repeating = variant.form("repeating");
}
// Prepares the next `count` scales.
void append_columns(const CpuKernel &kernel, const char *scales, int32_t count, Columns &columns) {
    const hewn_data_type type = kernel.problem->inputs[kScale].type;
    const int32_t distinct = count < kernel.distinct_scales ? count : kernel.distinct_scales;
    float *const r0 = columns.r0 + columns.count, *const r1 = columns.r1 + columns.count;
    columns.fit &= set_reciprocals(scales, type, type_bytes(type), distinct, r0, r1);
    for (float *row : {r0, r1}) repeat_row(reinterpret_cast<uint8_t *>(row), distinct, count, 2);
    columns.count += count;
}

// Returns the index in `columns` of the reciprocals of a box's first `count` scales. Prepares those that are missing: the next
// part of the known row behind it, any others in its place.
int32_t find_columns(const CpuCall &call, const halide_buffer_t &scale, int32_t count, Columns &columns) {
    const int64_t bytes = type_bytes(call.kernel.problem->inputs[kScale].type);
    const bool filled = call.filled & 1u << kScale;
    const int64_t first = filled ? -1 : index_among(columns.from, columns.count, scale, count, bytes);
    if (first >= 0 && first < columns.count) return int32_t(first);
    const char *const scales = reinterpret_cast<const char *>(scale.host);
    if (first < 0 || columns.count + count > kMaxColumns) {
        columns.from = scales;
        columns.count = 0;
        columns.fit = true;
    }
    const int32_t added = columns.count;
    append_columns(call.kernel, scales, count, columns);
    return added;
}

// Repeats each row's vector of parameters in scratch memory (read_a_vector) to the row's end.
void complete_rows(const halide_buffer_t &rows, hewn_data_type type) {
    const int shift = __builtin_ctz(unsigned(type_bytes(type)));
    const int32_t distinct_rows = rows.dim[1].stride == 0 ? 1 : rows.dim[1].extent;
    for (int32_t y = 0; y < distinct_rows; y++)
        repeat_row(rows.host + (int64_t(y) * rows.dim[1].stride << shift), kRepeatingLanes, rows.dim[0].extent, shift);
}

// Calls the kernel with a scale a column.
int call_quantize_columns(BoxCall &context, halide_buffer_t *operands) {
    CpuCall &call = static_cast<CpuCall &>(context);
    Columns &columns = *call.columns;
    const halide_buffer_t &scale = operands[kScale];
    const bool repeating = takes_repeating(call.kernel, scale);
    const int32_t count = repeating ? kRepeatingLanes : scale.dim[0].extent;
    const int32_t first = find_columns(call, scale, count, columns);
    if (columns.fit && !call.invalid_boxes.leave_out()) {
        halide_dimension_t dims[2] = {{0, count, 1, 0}, {0, scale.dim[1].extent, 0, 0}};
        halide_buffer_t r0 = buffer_of(columns.r0 + first, dims), r1 = buffer_of(columns.r1 + first, dims);
        const InvalidOperationFlag invalid(call.maybe_invalid);
        const CpuKernel &kernel = call.kernel;
        const int code = repeating ? call_kernel(*kernel.repeating, call, &operands[0], &operands[0], &r0, &r1, &operands[2],
                                                 kernel.prefetch_distance, &operands[3])
                                   : call_kernel(*kernel.columns, call, &operands[0], &r0, &r1, &operands[2], &operands[3]);
        if (code != 0 || !invalid.raised()) return code;
        call.invalid_boxes.met();
    }
    // Dividing reads whole rows.
    if (repeating) {
        for (int o : {kScale, kZeroPoint}) complete_rows(operands[o], call.kernel.problem->inputs[o].type);
    }
    return call_quantize_divided(context, operands);
}

// Whether the plan's boxes are worth their reciprocals. One scale for all is, from `elements` elements on. Boxes of several
// scales need twice as many elements, and a fifth more for each scale; boxes in sequence that have the same scales share that.
// f32 to u8 with a scale a row on a Zen 5, times as fast as dividing (not measured on ARM):
//     rows x elements   8 x 64   4 x 256   64 x 147   1024 x 64   256 x 256   128 x 512
//     AVX2              1.0      1.4       1.36       1.66        1.76        2.1
//     AVX-512           0.55     0.65      1.06       0.81        1.12        1.24
bool reciprocals_pay(const Plan &plan, int32_t slices, int64_t elements) {
    const int64_t run = plan.run_inner * plan.run_outer;
    const int64_t values = std::max(values_of_a_box(plan, kScale), values_of_a_box(plan, kZeroPoint));
    const int64_t sharing = std::max<int64_t>(repeated_boxes(plan, kScale) / slices, 1);
    if (values == 0) return true;
    if (values == 1) return run * plan.rows >= elements;
    // Rows shorter than a block of the packed narrowing are as slow as dividing. Without reciprocals all rows of a box are one
    // run, whose scales are gathered once if boxes share them: 12 ns less a row (196 x 3 channels last to first 0.8 to 0.9).
    const int64_t least = plan.scratch && sharing > 1 ? elements : elements / 8;
    return run >= least && run * plan.rows * 5 >= elements * (5 + (4 + values) / sharing);
}

// Whether each slice should prepare the reciprocals of a row of scales. Sets `distinct` to how many of these differ.
bool columns_pay(const Plan &plan, int32_t slices, bool repeating, int64_t reciprocal_elements, int64_t &distinct) {
    // Preparing a scale takes as long as eight divisions, copying a prepared one as long as one (Xeon: 1 and 0.1 ns). Enough rows
    // must share it to gain at least half of that: 16, or 32 where dividing is fast.
    const int64_t preparing = reciprocal_elements / 16;
    constexpr int64_t kCopying = 4;
    // `repeating` copies a vector of reciprocals. f32 to i8 on a Zen 3, divided and with `repeating`: [64, 4] 168 and 188 ns,
    // [250, 4] 346 and 286, [1021, 4] 1072 and 709.
    constexpr int64_t kLeastRepeating = 512;
    const bool in_place = plan.access[kScale] == Access::InPlace, table = plan.access[kScale] == Access::Table;
    const bool cut = plan.run_loop >= 0 && plan.loops[plan.run_loop].step_bytes[kScale] != 0;
    const int64_t run = plan.run_inner * (cut ? plan.loops[plan.run_loop].size : plan.run_outer);
    // All rows of a box must have one row of scales: reciprocals are prepared for no more.
    const bool one_row = plan.rows == 1 || plan.row_bytes[kScale] == 0;
    if (!one_row || plan.dims[kScale][0].stride != 1 || run > kMaxColumns || !(in_place || (table && !cut))) return false;
    int64_t rows = repeated_rows(plan, kScale);
    if (rows > plan.rows) rows = std::max(rows / slices, plan.rows);
    distinct = table ? plan.period[kScale] : run;
    return (repeating ? rows * run >= kLeastRepeating : rows >= kCopying) && rows * run >= preparing * distinct;
}

// Only f32 inputs may be subnormal. Setting the mode is 1 % of the time that kFlushedElements take (Zen 3), and too much for what
// is not worth a reciprocal.
Subnormals choose_subnormals(const Problem &problem, int64_t elements, int64_t reciprocal_elements) {
    constexpr int64_t kFlushedElements = 16384;
    if (problem.inputs[0].type != HEWN_DATA_TYPE_FLOAT32 || elements < reciprocal_elements) return Subnormals::Keep;
    return elements >= kFlushedElements ? Subnormals::Flush : Subnormals::FlushOnceMet;
}

// QUANTIZE_LINEAR runs in one of four modes. choose_quantize_forms takes the first that the layout allows. With the plan,
// fit_quantize keeps it or goes on to a later one. If that changes what the plan should do, the operator is planned again, twice
// at most. All modes keep `form`, which divides, for scales that are not ordinary.
//
//     mode        call                     not null             parameters
//     a row       call_quantize            reciprocal           one scale and zero point a row: `uniform`
//     repeating   call_quantize_columns    columns, repeating   repeat within a vector
//     columns     call_quantize_columns    columns              a scale a column, enough rows of it
//     dividing    call_quantize_divided                         any
__attribute__((cold)) void choose_quantize_forms(const Space &space, const Variant &variant, CpuKernel &kernel) {
    kernel.form = variant.form("divide");
    kernel.call = call_quantize_divided;
    kernel.prefetch_share = PrefetchShare::Usual;
    kernel.subnormals = choose_subnormals(*kernel.problem, element_count(space), variant.plan.reciprocal_elements);
    if (!InvalidOperationFlag::works()) return;
    const int64_t *const along_rows = space.dims[0].stride;
    kernel.reciprocal = variant.form("reciprocal");
    if (kernel.reciprocal && along_rows[kScale] == 0 && along_rows[kZeroPoint] == 0 &&
        element_count(space) >= variant.plan.reciprocal_elements) {
        kernel.call = call_quantize;
        kernel.uniform = 1u << kScale | 1u << kZeroPoint;
        kernel.one_scale = true;
        for (int k = 0; k < space.rank; k++) kernel.one_scale &= space.dims[k].stride[kScale] == 0;
    } else {
        leave_reciprocal(variant, kernel);
        if (!may_repeat(space)) kernel.repeating = nullptr;
    }
}

__attribute__((cold)) bool fit_quantize(Plan &plan, int32_t slices, const Variant &variant, CpuKernel &kernel) {
    if (kernel.reciprocal) {
        if (reciprocals_pay(plan, slices, variant.plan.reciprocal_elements)) return true;
        leave_reciprocal(variant, kernel);
        return false;
    }
    if (!fit_repeating(plan, kernel)) return false;
    int64_t distinct = 0;
    if (kernel.columns && columns_pay(plan, slices, kernel.repeating, variant.plan.reciprocal_elements, distinct)) {
        kernel.distinct_scales = int32_t(distinct);
        kernel.call = call_quantize_columns;
    } else {
        const bool fits = !(kernel.repeating && gathers_one_zero_point(plan));
        kernel.columns = kernel.repeating = nullptr;
        if (!fits) return false;
    }
    if (kernel.repeating) read_a_vector(plan);
    else join_zero_points(plan, kernel);
    return true;
}

}  // namespace

const CpuForms forms_of_quantize_linear = {choose_quantize_forms, fit_quantize, nullptr};

}  // namespace hewn
