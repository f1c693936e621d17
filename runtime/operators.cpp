#include "operators.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "bits.h"
#include "boxes.h"
#include "chip.h"
#include "error.h"
#include "fp_mode.h"
#include "kernel_contract.h"

namespace hewn {

namespace {

// ---- Feature-level tables ----

constexpr hewn_feature_level kLevels[] = {
    HEWN_FEATURE_LEVEL_1_0, HEWN_FEATURE_LEVEL_2_0, HEWN_FEATURE_LEVEL_2_1, HEWN_FEATURE_LEVEL_3_0, HEWN_FEATURE_LEVEL_3_1,
    HEWN_FEATURE_LEVEL_4_0, HEWN_FEATURE_LEVEL_4_1, HEWN_FEATURE_LEVEL_5_0, HEWN_FEATURE_LEVEL_5_1, HEWN_FEATURE_LEVEL_5_2,
    HEWN_FEATURE_LEVEL_6_0, HEWN_FEATURE_LEVEL_6_1, HEWN_FEATURE_LEVEL_6_2, HEWN_FEATURE_LEVEL_6_3, HEWN_FEATURE_LEVEL_6_4,
};

constexpr int major(hewn_feature_level level) { return level >> 12; }
constexpr int minor(hewn_feature_level level) { return level >> 8 & 15; }

constexpr uint32_t types(std::initializer_list<hewn_data_type> list) {
    uint32_t mask = 0;
    for (hewn_data_type type : list) mask |= 1u << type;
    return mask;
}
constexpr uint32_t F32 = types({HEWN_DATA_TYPE_FLOAT32}), F16 = types({HEWN_DATA_TYPE_FLOAT16}),
                   I8 = types({HEWN_DATA_TYPE_INT8}), U8 = types({HEWN_DATA_TYPE_UINT8}), I16 = types({HEWN_DATA_TYPE_INT16}),
                   U16 = types({HEWN_DATA_TYPE_UINT16}), I32 = types({HEWN_DATA_TYPE_INT32}),
                   U32 = types({HEWN_DATA_TYPE_UINT32}), I64 = types({HEWN_DATA_TYPE_INT64}),
                   U64 = types({HEWN_DATA_TYPE_UINT64});

// One row of DirectML's table of an operator: what is supported from a feature level on. Types that follow from others (a
// zero point's, an output's) have no column.
struct FeatureRow {
    hewn_feature_level level;
    int min_rank, max_rank;
    uint32_t input_types, scale_types, output_types;
    bool zero_point_required;
};

// Newest first, as in DirectML's reference.
constexpr FeatureRow kAddRows[] = {
    {HEWN_FEATURE_LEVEL_5_1, 1, 8, F32 | F16 | I64 | I32 | I16 | I8 | U64 | U32 | U16 | U8, 0, 0, false},
    {HEWN_FEATURE_LEVEL_4_1, 1, 8, F32 | F16 | I64 | I32 | U64 | U32, 0, 0, false},
    {HEWN_FEATURE_LEVEL_3_0, 1, 8, F32 | F16 | I32 | U32, 0, 0, false},
    {HEWN_FEATURE_LEVEL_2_1, 4, 5, F32 | F16 | I32 | U32, 0, 0, false},
    {HEWN_FEATURE_LEVEL_1_0, 4, 5, F32 | F16, 0, 0, false},
};
constexpr FeatureRow kQuantizeRows[] = {
    {HEWN_FEATURE_LEVEL_6_2, 1, 8, F32 | F16 | I32, F32 | F16, I8 | U8, false},
    {HEWN_FEATURE_LEVEL_6_0, 1, 8, F32 | F16 | I32, F32 | F16, I8 | U8, true},
    {HEWN_FEATURE_LEVEL_3_0, 1, 8, F32 | I32, F32, I8 | U8, true},
    {HEWN_FEATURE_LEVEL_2_1, 4, 4, F32 | I32, F32, I8 | U8, true},
    {HEWN_FEATURE_LEVEL_1_0, 4, 4, F32, F32, U8, true},
};
constexpr FeatureRow kDequantizeRows[] = {
    {HEWN_FEATURE_LEVEL_6_2, 1, 8, I32 | I16 | I8 | U32 | U16 | U8, F32 | F16, F32 | F16, false},
    {HEWN_FEATURE_LEVEL_6_0, 1, 8, I32 | I16 | I8 | U32 | U16 | U8, F32 | F16, F32 | F16, true},
    {HEWN_FEATURE_LEVEL_3_0, 1, 8, I32 | I16 | I8 | U32 | U16 | U8, F32, F32, true},
    {HEWN_FEATURE_LEVEL_2_1, 4, 4, I32 | I16 | I8 | U32 | U16 | U8, F32, F32, true},
    {HEWN_FEATURE_LEVEL_1_0, 4, 4, U8, F32, F32, true},
};
constexpr FeatureRow kQuantizedAddRows[] = {
    {HEWN_FEATURE_LEVEL_4_0, 1, 8, I8 | U8, F32, I8 | U8, false},
};

// An operator's table at one feature level, and checks against it that say which level has what is asked for.
class Table {
public:
    template<int N>
    Table(const FeatureRow (&rows)[N], const OperatorInfo &info, hewn_feature_level level, hewn_error *error)
        : rows_(rows), count_(N), info_(info), level_(level), error_(error) {
        while (row_ < count_ && rows_[row_].level > level) row_++;
    }

    hewn_status check_introduced() const {
        if (row_ < count_) return HEWN_STATUS_OK;
        const hewn_feature_level first = rows_[count_ - 1].level;
        return fail(error_, HEWN_STATUS_UNSUPPORTED, "%s: introduced at %d.%d, compiled at feature level %d.%d", info_.dml_name,
                    major(first), minor(first), major(level_), minor(level_));
    }

    hewn_status check_type(const Tensor &tensor, uint32_t FeatureRow::*column) const {
        const uint32_t type = 1u << tensor.type;
        if (rows_[row_].*column & type) return HEWN_STATUS_OK;
        char allowed[128] = "";
        for (uint32_t t = 0; t < 32; t++) {
            if (!(rows_[row_].*column & 1u << t)) continue;
            const size_t length = std::strlen(allowed);
            snprintf(allowed + length, sizeof allowed - length, "%s%s", length ? ", " : "", type_name(hewn_data_type(t)));
        }
        return unsupported(tensor, type_name(tensor.type), allowed,
                           [&](const FeatureRow &row) { return (row.*column & type) != 0; });
    }

    // Rank 0, which DirectML lacks, stands for one element wherever rank 1 is supported.
    hewn_status check_rank(const Tensor &tensor) const {
        const int rank = tensor.rank > 0 ? tensor.rank : 1;
        const auto fits = [&](const FeatureRow &row) { return row.min_rank <= rank && rank <= row.max_rank; };
        if (fits(rows_[row_])) return HEWN_STATUS_OK;
        char what[32], allowed[32];
        snprintf(what, sizeof what, "dimension count %d", tensor.rank);
        snprintf(allowed, sizeof allowed, "%d to %d", rows_[row_].min_rank, rows_[row_].max_rank);
        return unsupported(tensor, what, allowed, fits);
    }

    hewn_status check_zero_point(const Tensor &zero_point) const {
        if (zero_point.present || !rows_[row_].zero_point_required) return HEWN_STATUS_OK;
        return unsupported(zero_point, "leaving it out", "", [](const FeatureRow &row) { return !row.zero_point_required; });
    }

private:
    const FeatureRow *rows_;
    const int count_;
    const OperatorInfo &info_;
    const hewn_feature_level level_;
    hewn_error *const error_;
    int row_ = 0;

    template<class Fits>
    hewn_status unsupported(const Tensor &tensor, const char *what, const char *allowed, const Fits &fits) const {
        for (int row = row_ - 1; row >= 0; row--) {
            if (!fits(rows_[row])) continue;
            return fail(error_, HEWN_STATUS_UNSUPPORTED, "%s %s: %s needs feature level %d.%d, compiled at %d.%d", info_.dml_name,
                        tensor.name, what, major(rows_[row].level), minor(rows_[row].level), major(level_), minor(level_));
        }
        return fail(error_, HEWN_STATUS_UNSUPPORTED, "%s %s: %s is not supported; feature level %d.%d has %s", info_.dml_name,
                    tensor.name, what, major(level_), minor(level_), allowed);
    }
};

// ---- Reading descriptions: for size rather than speed ("cold"), for it happens once an operator ----

// Evaluates a status and returns it from the enclosing function where it is not OK.
#define HEWN_CHECK(expression) \
    if (const hewn_status status = (expression); status != HEWN_STATUS_OK) return status

// A copy of the operator's description in `copy`.
template<class Desc>
hewn_status copy_desc(const void *desc, const char *dml_name, Desc &copy, hewn_error *error) {
    if (!desc) return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "%s: the operator's description is null", dml_name);
    uint32_t struct_size;
    std::memcpy(&struct_size, desc, sizeof struct_size);
    if (struct_size < sizeof copy) {
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "%s: struct_size %u of the operator's description is less than %u",
                    dml_name, unsigned(struct_size), unsigned(sizeof copy));
    }
    std::memcpy(&copy, desc, sizeof copy);
    return HEWN_STATUS_OK;
}

// An optional tensor that is absent reads as zeros of `like`'s shape.
hewn_status read_optional(const hewn_tensor_desc *desc, const char *context, const char *name, const Tensor &like,
                          hewn_data_type absent_type, Tensor &tensor, hewn_error *error) {
    if (desc) return read_tensor(desc, context, name, tensor, error);
    tensor = like;
    tensor.name = name;
    tensor.present = false;
    tensor.type = absent_type;
    tensor.element_bytes = type_bytes(absent_type);
    tensor.bytes = like.empty() ? 0 : uint64_t(tensor.element_bytes);
    std::memset(tensor.strides, 0, sizeof tensor.strides);
    return HEWN_STATUS_OK;
}

hewn_status expect_same_sizes(const OperatorInfo &info, const Tensor &tensor, const Tensor &other, hewn_error *error) {
    if (same_sizes(tensor, other)) return HEWN_STATUS_OK;
    static constexpr char kHint[] = "an input repeats by strides of 0";  // for who knows other libraries' broadcasting
    if (tensor.rank != other.rank) {
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "%s %s: has %d dimensions, %s has %d; they must be equal; %s",
                    info.dml_name, tensor.name, tensor.rank, other.name, other.rank, kHint);
    }
    int d = 0;
    while (tensor.sizes[d] == other.sizes[d]) d++;
    return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "%s %s: size %lld of dimension %d differs from %s's %lld; %s", info.dml_name,
                tensor.name, (long long)tensor.sizes[d], d, other.name, (long long)other.sizes[d], kHint);
}

hewn_status expect_type(const OperatorInfo &info, const Tensor &tensor, hewn_data_type type, const char *rule,
                        hewn_error *error) {
    if (tensor.type == type) return HEWN_STATUS_OK;
    return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "%s %s: data type is %s, must be %s: %s", info.dml_name, tensor.name,
                type_name(tensor.type), type_name(type), rule);
}

hewn_status check_output_strides(const OperatorInfo &info, const Tensor &output, hewn_error *error) {
    if (strides_never_overlap(output)) return HEWN_STATUS_OK;
    return fail(error, HEWN_STATUS_INVALID_ARGUMENT,
                "%s %s: strides overlap; sorted, each must exceed the span of all smaller dimensions, and be above 0",
                info.dml_name, output.name);
}

template<class... Words>
void set_signature(Problem &problem, const char *first, Words... words) {
    std::strcpy(problem.signature, first);
    ((std::strcat(problem.signature, "_"), std::strcat(problem.signature, words)), ...);
}

// ---- Scales ----

float half_to_float(uint16_t bits) {
    const uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
    if (exponent == 0) return float_of(sign | bits_of(float(mantissa) * 0x1p-24f));  // exact
    return float_of(sign | (exponent == 31 ? 0x7f800000 : (exponent + 112) << 23) | mantissa << 13);
}

// f32(scale), exact.
float read_scale(const void *scale, hewn_data_type type) {
    if (type == HEWN_DATA_TYPE_FLOAT16) {
        uint16_t bits;
        std::memcpy(&bits, scale, sizeof bits);
        return half_to_float(bits);
    }
    float value;
    std::memcpy(&value, scale, sizeof value);
    return value;
}

// ARM has no flag to tell of inf - inf: the two parts of a reciprocal must not cancel at an infinity (docs/numerics.md).
#if defined(__aarch64__)
constexpr bool kOneSign = true;
#else
constexpr bool kOneSign = false;
#endif

// True where times_reciprocal (generators/numerics.h) is proved to round as division does.
bool ordinary(float scale) {
    // The twelve mantissas that fail with parts of one sign, and some that need not be told from them.
    const bool fails = kOneSign && (bits_of(scale) & 0xffff) >= 0xfffd;
    const bool large = std::fabs(scale) >= 0x1p-60f, small = std::fabs(scale) <= 0x1p60f;  // neither, if NaN
    return large & small & !fails;
}

// r0 + r1 ~ 1 / s in twice the precision, prepared in double. r0 = RN(1 / s); of one sign the largest below, so that r1 = RN(1 /
// s - r0) has its sign and is not 0.
inline void set_reciprocal(float scale, float &r0, float &r1) {
    const double reciprocal = 1.0 / double(scale);
    r0 = float(reciprocal);
    if (kOneSign && std::fabs(double(r0)) >= std::fabs(reciprocal)) r0 = float_of(bits_of(r0) - 1);  // the next one toward 0
    r1 = float(reciprocal - double(r0));
}

// The same by what is known of the scale that the operator had last. The scale is ordinary, and so never +0, whose bits a pair
// that nothing was stored to would seem to be of.
inline void find_reciprocal(float scale, LastReciprocal &last, float &r0, float &r1) {
    const uint32_t bits = bits_of(scale);
    const uint64_t last_r0 = last.r0.load(std::memory_order_relaxed), last_r1 = last.r1.load(std::memory_order_relaxed);
    if (last_r0 >> 32 == bits && last_r1 >> 32 == bits) {
        r0 = float_of(uint32_t(last_r0));
        r1 = float_of(uint32_t(last_r1));
        return;
    }
    set_reciprocal(scale, r0, r1);
    last.r0.store(pair_of(r0, scale), std::memory_order_relaxed);
    last.r1.store(pair_of(r1, scale), std::memory_order_relaxed);
}

// A CPU kernel on a box, its arguments of the types and in the order of its generator's inputs, then its output. By Halide's
// uniform entry point, with an array of pointers to fill in here and to read there, a small QUANTIZED_LINEAR_ADD takes a tenth
// more instructions.
template<class... Arguments>
int call_kernel(const Form &form, const CpuCall &call, Arguments... arguments) {
    return reinterpret_cast<int (*)(const void *, Arguments...)>(form.entry)(call.user_context, arguments...);
}

// ---- ADD ----

extern const OperatorInfo kAdd, kQuantizeLinear, kDequantizeLinear, kQuantizedLinearAdd;

__attribute__((cold)) hewn_status read_add(const void *raw, hewn_feature_level level, Problem &problem, hewn_error *error) {
    hewn_add_desc desc;
    HEWN_CHECK(copy_desc(raw, kAdd.dml_name, desc, error));
    const Table table(kAddRows, kAdd, level, error);
    Tensor &a = problem.inputs[0], &b = problem.inputs[1], &output = problem.output;
    HEWN_CHECK(read_tensor(desc.a_tensor, kAdd.dml_name, "ATensor", a, error));
    HEWN_CHECK(read_tensor(desc.b_tensor, kAdd.dml_name, "BTensor", b, error));
    HEWN_CHECK(read_tensor(desc.output_tensor, kAdd.dml_name, "OutputTensor", output, error));
    HEWN_CHECK(table.check_introduced());
    HEWN_CHECK(table.check_rank(a));
    HEWN_CHECK(table.check_type(a, &FeatureRow::input_types));
    HEWN_CHECK(expect_type(kAdd, b, a.type, "ATensor's", error));
    HEWN_CHECK(expect_type(kAdd, output, a.type, "ATensor's", error));
    HEWN_CHECK(expect_same_sizes(kAdd, b, a, error));
    HEWN_CHECK(expect_same_sizes(kAdd, output, a, error));
    set_signature(problem, type_word(kernel_type(kAdd, a.type)));
    return HEWN_STATUS_OK;
}

int call_add(BoxCall &context, halide_buffer_t *operands) {
    const CpuCall &call = static_cast<CpuCall &>(context);
    return call_kernel(*call.kernel.form, call, &operands[0], &operands[1], call.kernel.ahead, &operands[2]);
}

template<CallBox Call>
void choose_general_form(const Space &, const Variant &variant, CpuKernel &kernel) {
    kernel.form = variant.form("general");
    kernel.call = Call;
}

// ---- QUANTIZE_LINEAR ----

// Of QUANTIZE_LINEAR and DEQUANTIZE_LINEAR: the index of an input and of the kernel's operand alike.
constexpr int kInput = 0, kScale = 1, kZeroPoint = 2;

// What the two share; the differing rules are checked by the caller.
template<class Desc>
hewn_status read_linear(const OperatorInfo &info, const Desc &desc, const Table &table, Problem &problem, hewn_error *error) {
    Tensor &input = problem.inputs[kInput], &scale = problem.inputs[kScale], &zero_point = problem.inputs[kZeroPoint];
    Tensor &output = problem.output;
    HEWN_CHECK(read_tensor(desc.input_tensor, info.dml_name, "InputTensor", input, error));
    HEWN_CHECK(read_tensor(desc.scale_tensor, info.dml_name, "ScaleTensor", scale, error));
    HEWN_CHECK(read_tensor(desc.output_tensor, info.dml_name, "OutputTensor", output, error));
    const hewn_data_type absent_type = &info == &kQuantizeLinear ? output.type : input.type;
    HEWN_CHECK(read_optional(desc.zero_point_tensor, info.dml_name, "ZeroPointTensor", input, absent_type, zero_point, error));
    HEWN_CHECK(table.check_introduced());
    HEWN_CHECK(table.check_rank(input));
    HEWN_CHECK(table.check_type(input, &FeatureRow::input_types));
    HEWN_CHECK(table.check_type(scale, &FeatureRow::scale_types));
    HEWN_CHECK(table.check_type(output, &FeatureRow::output_types));
    HEWN_CHECK(table.check_zero_point(zero_point));
    for (const Tensor *tensor : {&scale, &zero_point, &output}) HEWN_CHECK(expect_same_sizes(info, *tensor, input, error));
    set_signature(problem, type_word(input.type), type_word(output.type));
    return HEWN_STATUS_OK;
}

// Comparing a row of zero points pays from so many rows on that share it: 4 rows of 1024 i8 are dequantized to f32 1.28 times as
// fast on a Zen 1. Rows that are much shorter are not rows of a box, but parts of its run.
constexpr int64_t kRowsToCompare = 4;

// Boxes that cut a row of parameters come in its order, each with the next part. Of the row the `kept` elements from `from` on
// are known; returns where in it the `count` elements of a box begin: the index of the first where all are known, `kept` where
// they come next, else -1.
int64_t index_among(const void *from, int64_t kept, const halide_buffer_t &row, int64_t count, int64_t bytes) {
    if (kept == 0) return -1;
    // Huge for what lies before.
    const uintptr_t first = (uintptr_t(row.host) - uintptr_t(from)) / uintptr_t(bytes), end = uintptr_t(kept);
    return first == end || (first < end && uintptr_t(count) <= end - first) ? int64_t(first) : -1;
}

// Whether the zero points of the row, which all rows of the box share, are known to be equal. They are compared at once where at
// least kRowsToCompare rows share them; where fewer do, only when a later box has the same ones, for the row may be one that
// boxes cut, whose parts are then compared together.
bool has_equal_zero_points(CpuCall &call, const halide_buffer_t &row) {
    ZeroPointRow &known = call.zero_points;
    const int64_t bytes = type_bytes(call.kernel.problem->inputs[kZeroPoint].type), count = row.dim[0].extent;
    const bool filled = call.filled & 1u << kZeroPoint, enough = row.dim[1].extent >= kRowsToCompare;
    const int64_t first = filled ? -1 : index_among(known.from, known.count, row, count, bytes);
    const bool again = first >= 0 && first < known.count;
    // A row that has been compared is whole: what lies behind it is another one.
    if (!again && first >= 0 && !enough && !known.compared) known = {known.from, known.count + count, false, false};
    else if (!again) known = {row.host, count, false, false};
    if (!known.compared && (again || enough)) {
        known.compared = true;
        known.equal = std::memcmp(known.from, known.from + bytes, size_t((known.count - 1) * bytes)) == 0;
    }
    return known.equal;
}

// Calls the kernel with one zero point in the place of a row of equal ones, as a scale a channel mostly has them.
int call_joining_zero_points(BoxCall &context, halide_buffer_t *operands) {
    CpuCall &call = static_cast<CpuCall &>(context);
    halide_buffer_t &zero_points = operands[kZeroPoint];
    halide_dimension_t *const dims = zero_points.dim;
    halide_dimension_t one[2] = {dims[0], dims[1]};
    one[0].stride = 0;
    if (has_equal_zero_points(call, zero_points)) zero_points.dim = one;
    const int code = call.kernel.call_after_joining(context, operands);
    zero_points.dim = dims;
    return code;
}

// Has rows of equal zero points joined where rows enough read the same one.
void join_zero_points(const Plan &plan, CpuKernel &kernel) {
    if (plan.dims[kZeroPoint][0].stride == 0 || repeated_rows(plan, kZeroPoint) < kRowsToCompare) return;
    kernel.call_after_joining = kernel.call;
    kernel.call = call_joining_zero_points;
}

__attribute__((cold)) hewn_status read_quantize_linear(const void *raw, hewn_feature_level level, Problem &problem,
                                                       hewn_error *error) {
    const OperatorInfo &info = kQuantizeLinear;
    hewn_quantize_linear_desc desc;
    HEWN_CHECK(copy_desc(raw, info.dml_name, desc, error));
    HEWN_CHECK(read_linear(info, desc, Table(kQuantizeRows, info, level, error), problem, error));
    const hewn_data_type input_type = problem.inputs[kInput].type;
    const hewn_data_type scale_type = input_type == HEWN_DATA_TYPE_INT32 ? hewn_data_type(HEWN_DATA_TYPE_FLOAT32) : input_type;
    HEWN_CHECK(expect_type(info, problem.inputs[kScale], scale_type, "InputTensor's, FLOAT32 for INT32", error));
    return expect_type(info, problem.inputs[kZeroPoint], problem.output.type, "OutputTensor's", error);
}

// Reciprocals of `count` scales that lie so many bytes apart. False: one is not ordinary, and its arithmetic may have raised the
// flag of invalid operations; the caller divides instead, which notes that (call_quantize_divided).
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

// The parameters for so many scales of a box; `reciprocal` where all are ordinary, else the dividing form.
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

int call_quantize_divided(BoxCall &context, halide_buffer_t *operands) {
    CpuCall &call = static_cast<CpuCall &>(context);
    call.maybe_invalid = true;  // as 0 / 0 is, and the input NaN
    return call_kernel(*call.kernel.form, call, &operands[0], &operands[1], &operands[2], &operands[3]);
}

int call_quantize(BoxCall &context, halide_buffer_t *operands) {
    CpuCall &call = static_cast<CpuCall &>(context);
    const CpuKernel &kernel = call.kernel;
    RowParameters &p = call.rows;
    const halide_buffer_t &scale = operands[kScale];
    const halide_dimension_t &rows = scale.dim[1];
    const int32_t count = rows.stride == 0 ? 1 : rows.extent;
    if (p.from != scale.host || p.count < count) prepare_quantize(kernel, scale, count, p);
    if (p.form == kernel.reciprocal) {
        halide_dimension_t dims[2] = {{0, 1, 0, 0}, {0, rows.extent, rows.stride != 0, 0}};
        halide_buffer_t r0 = buffer_of(p.r0, dims), r1 = buffer_of(p.r1, dims);
        const InvalidOperationFlag invalid(call.maybe_invalid);
        const int code =
            call_kernel(*p.form, call, &operands[0], &operands[0], &r0, &r1, &operands[2], kernel.ahead, &operands[3]);
        if (code != 0 || !invalid.raised()) return code;
        p.form = kernel.form;  // until the scales change: such values rarely come alone
    }
    return call_quantize_divided(context, operands);
}

// Whether parameters may repeat so: after a multiple of what the innermost dimension has.
bool may_repeat(const Space &space) { return kRepeatingPeriod % space.dims[0].size == 0; }

// Without `reciprocal`, for which a row's scales and zero points are equal.
void leave_reciprocal(const Variant &variant, CpuKernel &kernel) {
    kernel.reciprocal = nullptr;
    kernel.uniform = 0;
    kernel.call = call_quantize_divided;
    kernel.columns = variant.form("columns");
    kernel.repeating = variant.form("repeating");
}

// Whether to take the form `repeating` for a box, where the plan allows it.
inline bool takes_repeating(const CpuKernel &kernel, const halide_buffer_t &operand) {
    return kernel.repeating && operand.dim[0].extent >= kRepeatingLanes;
}

// Whether zero points that are constant along the run were gathered, which nothing but `repeating` needs beside other scales.
bool gathers_one_zero_point(const Plan &plan) { return plan.access[kZeroPoint] == Access::Table && plan.period[kZeroPoint] == 1; }

// Keeps the form `repeating` where scales and zero points repeat as it needs them. False: plan again, without it.
bool fit_repeating(const Plan &plan, CpuKernel &kernel) {
    const auto repeats = [&](int o) { return plan.access[o] == Access::Table && kRepeatingPeriod % plan.period[o] == 0; };
    if (!kernel.repeating || (repeats(kScale) && repeats(kZeroPoint))) return true;
    kernel.repeating = nullptr;
    return !gathers_one_zero_point(plan);
}

// Has only the elements of a row brought into scratch that `repeating` reads.
void read_a_vector(Plan &plan) {
    for (int o : {kScale, kZeroPoint}) plan.read[o] = kRepeatingLanes;
}

// Prepares `count` more scales.
void append_columns(const CpuKernel &kernel, const char *scales, int32_t count, Columns &columns) {
    const hewn_data_type type = kernel.problem->inputs[kScale].type;
    const int32_t distinct = count < kernel.distinct_scales ? count : kernel.distinct_scales;
    float *const r0 = columns.r0 + columns.count, *const r1 = columns.r1 + columns.count;
    columns.fit &= set_reciprocals(scales, type, type_bytes(type), distinct, r0, r1);
    for (float *row : {r0, r1}) repeat_row(reinterpret_cast<uint8_t *>(row), distinct, count, 2);
    columns.count += count;
}

// The index in `columns` at which the reciprocals of a box's first `count` scales begin. Those not there are prepared: the next
// part of the row behind what is known of it, any others in its place.
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

// Repeats the vector of parameters that scratch memory has of each row (read_a_vector) to the row's end.
void complete_rows(const halide_buffer_t &rows, hewn_data_type type) {
    const int shift = __builtin_ctz(unsigned(type_bytes(type)));
    const int32_t distinct_rows = rows.dim[1].stride == 0 ? 1 : rows.dim[1].extent;
    for (int32_t y = 0; y < distinct_rows; y++)
        repeat_row(rows.host + (int64_t(y) * rows.dim[1].stride << shift), kRepeatingLanes, rows.dim[0].extent, shift);
}

// With a scale a column.
int call_quantize_columns(BoxCall &context, halide_buffer_t *operands) {
    CpuCall &call = static_cast<CpuCall &>(context);
    Columns &columns = *call.columns;
    const halide_buffer_t &scale = operands[kScale];
    const bool repeating = takes_repeating(call.kernel, scale);
    const int32_t count = repeating ? kRepeatingLanes : scale.dim[0].extent;
    const int32_t first = find_columns(call, scale, count, columns);
    if (columns.fit) {
        halide_dimension_t dims[2] = {{0, count, 1, 0}, {0, scale.dim[1].extent, 0, 0}};
        halide_buffer_t r0 = buffer_of(columns.r0 + first, dims), r1 = buffer_of(columns.r1 + first, dims);
        const InvalidOperationFlag invalid(call.maybe_invalid);
        const CpuKernel &kernel = call.kernel;
        const int code = repeating ? call_kernel(*kernel.repeating, call, &operands[0], &operands[0], &r0, &r1, &operands[2],
                                                 kernel.ahead, &operands[3])
                                   : call_kernel(*kernel.columns, call, &operands[0], &r0, &r1, &operands[2], &operands[3]);
        if (code != 0 || !invalid.raised()) return code;
        columns.fit = false;  // as above
    }
    // Dividing reads whole rows.
    if (repeating) {
        for (int o : {kScale, kZeroPoint}) complete_rows(operands[o], call.kernel.problem->inputs[o].type);
    }
    return call_quantize_divided(context, operands);
}

// QUANTIZE_LINEAR runs in one of four modes. choose_quantize_forms takes the first that the layout allows, and fit_quantize, once
// there is a plan, stays with it or goes on to a later one; where that changes what the plan should do, the operator is planned
// again, twice at most. (`form`, which divides, is there in all of them, for scales that are not ordinary.)
//
//     mode        call                     not null             parameters
//     a row       call_quantize            reciprocal           one scale and zero point a row: `uniform`
//     repeating   call_quantize_columns    columns, repeating   repeat within a vector
//     columns     call_quantize_columns    columns              a scale a column, enough rows of it
//     dividing    call_quantize_divided                         any
__attribute__((cold)) void choose_quantize_forms(const Space &space, const Variant &variant, CpuKernel &kernel) {
    kernel.form = variant.form("divide");
    kernel.call = call_quantize_divided;
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

// Whether the plan's boxes are worth their reciprocals, where one scale for all is worth them from so many elements on: boxes of
// several scales need twice as many and a fifth more for each, shared by all boxes that have the same ones in turn. (f32 to u8 on
// a Zen 5, rows of a scale each, against dividing, by AVX2 and AVX-512: 8 rows of 64 elements 1.0 and 0.55, 4 of 256 1.4 and
// 0.65, 64 of 147 1.36 and 1.06, 1024 of 64 1.66 and 0.81, 256 of 256 1.76 and 1.12, 128 of 512 2.1 and 1.24. Not measured on
// ARM.)
bool reciprocals_pay(const Plan &plan, int32_t slices, int64_t elements) {
    const int64_t run = plan.run_inner * plan.run_outer;
    const int64_t values = std::max(values_of_a_box(plan, kScale), values_of_a_box(plan, kZeroPoint));
    const int64_t sharing = std::max<int64_t>(repeated_boxes(plan, kScale) / slices, 1);
    if (values == 0) return true;
    if (values == 1) return run * plan.rows >= elements;
    // Rows below a block of the packed narrowing are as slow as dividing. Without reciprocals all rows of a box are one run,
    // whose scales are gathered once if boxes share them: 12 ns a row less (196 x 3 channels last to first 0.8 to 0.9).
    const int64_t least = plan.scratch && sharing > 1 ? elements : elements / 8;
    return run >= least && run * plan.rows * 5 >= elements * (5 + (4 + values) / sharing);
}

// Whether each slice had better prepare the reciprocals of a row of scales, of which `distinct` differ.
bool columns_pay(const Plan &plan, int32_t slices, bool repeating, int64_t reciprocal_elements, int64_t &distinct) {
    // Preparing a scale takes as long as eight divisions, copying one in turn as one (Xeon, 1 and 0.1 ns). Rows enough to gain
    // half of that at least: 16, and 32 where dividing is fast.
    const int64_t preparing = reciprocal_elements / 16;
    constexpr int64_t kCopying = 4;
    // `repeating` copies a vector of them: f32 to i8 on a Zen 3, [64, 4] 168 -> 188 ns, [250, 4] 346 -> 286, [1021, 4] 1072 ->
    // 709.
    constexpr int64_t kLeastRepeating = 512;
    const bool in_place = plan.access[kScale] == Access::InPlace, table = plan.access[kScale] == Access::Table;
    const bool cut = plan.run_loop >= 0 && plan.loops[plan.run_loop].step_bytes[kScale] != 0;
    const int64_t run = plan.run_inner * (cut ? plan.loops[plan.run_loop].size : plan.run_outer);
    // One row of scales for all rows of a box: reciprocals are prepared for no more.
    const bool one_row = plan.rows == 1 || plan.row_bytes[kScale] == 0;
    if (!one_row || plan.dims[kScale][0].stride != 1 || run > kMaxColumns || !(in_place || (table && !cut))) return false;
    int64_t rows = repeated_rows(plan, kScale);
    if (rows > plan.rows) rows = std::max(rows / slices, plan.rows);
    distinct = table ? plan.period[kScale] : run;
    return (repeating ? rows * run >= kLeastRepeating : rows >= kCopying) && rows * run >= preparing * distinct;
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

// ---- DEQUANTIZE_LINEAR ----

__attribute__((cold)) hewn_status read_dequantize_linear(const void *raw, hewn_feature_level level, Problem &problem,
                                                         hewn_error *error) {
    const OperatorInfo &info = kDequantizeLinear;
    hewn_dequantize_linear_desc desc;
    HEWN_CHECK(copy_desc(raw, info.dml_name, desc, error));
    HEWN_CHECK(read_linear(info, desc, Table(kDequantizeRows, info, level, error), problem, error));
    HEWN_CHECK(expect_type(info, problem.inputs[kZeroPoint], problem.inputs[kInput].type, "InputTensor's", error));
    return expect_type(info, problem.output, problem.inputs[kScale].type, "ScaleTensor's", error);
}

int call_dequantize(BoxCall &context, halide_buffer_t *operands) {
    const CpuCall &call = static_cast<CpuCall &>(context);
    const CpuKernel &kernel = call.kernel;
    const Form &form = takes_repeating(kernel, operands[kScale]) ? *kernel.repeating : *kernel.form;
    return call_kernel(form, call, &operands[0], &operands[1], &operands[2], kernel.ahead, &operands[3]);
}

__attribute__((cold)) void choose_dequantize_forms(const Space &space, const Variant &variant, CpuKernel &kernel) {
    choose_general_form<call_dequantize>(space, variant, kernel);
    kernel.repeating = may_repeat(space) ? variant.form("repeating") : nullptr;
}

__attribute__((cold)) bool fit_dequantize(Plan &plan, int32_t, const Variant &, CpuKernel &kernel) {
    if (!fit_repeating(plan, kernel)) return false;
    if (kernel.repeating) read_a_vector(plan);
    else join_zero_points(plan, kernel);
    return true;
}

// ---- QUANTIZED_LINEAR_ADD ----

// Its inputs, and of A, B and the output the scale's and the zero point's.
enum { kA, kAScale, kAZeroPoint, kB, kBScale, kBZeroPoint, kOutputScale, kOutputZeroPoint };
constexpr int kSumScales[] = {kAScale, kBScale, kOutputScale};
constexpr int kSumZeroPoints[] = {kAZeroPoint, kBZeroPoint, kOutputZeroPoint};

// Scales and zero points: exactly one element, which no dimension leaves: its size is 1, where a stride means nothing, or its
// stride is 0.
hewn_status expect_one_element(const OperatorInfo &info, const Tensor &tensor, const Tensor &a, hewn_error *error) {
    if (tensor.rank != a.rank) {
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "%s %s: has %d dimensions, ATensor has %d; they must be equal",
                    info.dml_name, tensor.name, tensor.rank, a.rank);
    }
    bool one = true;
    for (int d = 0; d < tensor.rank; d++) one &= tensor.sizes[d] == 1 || tensor.strides[d] == 0;
    // An empty view is right where A is empty too.
    if (one && (!tensor.empty() || a.empty())) return HEWN_STATUS_OK;
    return fail(error, HEWN_STATUS_INVALID_ARGUMENT,
                "%s %s: must have exactly 1 element: in each dimension the size 1 or the stride 0", info.dml_name, tensor.name);
}

__attribute__((cold)) hewn_status read_quantized_linear_add(const void *raw, hewn_feature_level level, Problem &problem,
                                                            hewn_error *error) {
    const OperatorInfo &info = kQuantizedLinearAdd;
    hewn_quantized_linear_add_desc desc;
    HEWN_CHECK(copy_desc(raw, info.dml_name, desc, error));
    const Table table(kQuantizedAddRows, info, level, error);
    HEWN_CHECK(table.check_introduced());
    Tensor *in = problem.inputs, &a = in[kA], &b = in[kB], &output = problem.output;
    HEWN_CHECK(read_tensor(desc.a_tensor, info.dml_name, "ATensor", a, error));
    HEWN_CHECK(read_tensor(desc.a_scale_tensor, info.dml_name, "AScaleTensor", in[kAScale], error));
    HEWN_CHECK(read_tensor(desc.b_tensor, info.dml_name, "BTensor", b, error));
    HEWN_CHECK(read_tensor(desc.b_scale_tensor, info.dml_name, "BScaleTensor", in[kBScale], error));
    HEWN_CHECK(read_tensor(desc.output_scale_tensor, info.dml_name, "OutputScaleTensor", in[kOutputScale], error));
    HEWN_CHECK(read_tensor(desc.output_tensor, info.dml_name, "OutputTensor", output, error));
    const auto optional = [&](const hewn_tensor_desc *zero_point, const char *name, const Tensor &of, Tensor &tensor) {
        return read_optional(zero_point, info.dml_name, name, a, of.type, tensor, error);
    };
    HEWN_CHECK(optional(desc.a_zero_point_tensor, "AZeroPointTensor", a, in[kAZeroPoint]));
    HEWN_CHECK(optional(desc.b_zero_point_tensor, "BZeroPointTensor", b, in[kBZeroPoint]));
    HEWN_CHECK(optional(desc.output_zero_point_tensor, "OutputZeroPointTensor", output, in[kOutputZeroPoint]));
    HEWN_CHECK(table.check_rank(a));
    HEWN_CHECK(table.check_type(a, &FeatureRow::input_types));
    HEWN_CHECK(table.check_type(b, &FeatureRow::input_types));
    HEWN_CHECK(table.check_type(output, &FeatureRow::output_types));
    for (int scale : kSumScales) HEWN_CHECK(table.check_type(in[scale], &FeatureRow::scale_types));
    HEWN_CHECK(expect_type(info, in[kAZeroPoint], a.type, "ATensor's", error));
    HEWN_CHECK(expect_type(info, in[kBZeroPoint], b.type, "BTensor's", error));
    HEWN_CHECK(expect_type(info, in[kOutputZeroPoint], output.type, "OutputTensor's", error));
    HEWN_CHECK(expect_same_sizes(info, b, a, error));
    HEWN_CHECK(expect_same_sizes(info, output, a, error));
    for (int i = 0; i < info.input_count; i++) {
        if (i != kA && i != kB) HEWN_CHECK(expect_one_element(info, in[i], a, error));
    }
    set_signature(problem, type_word(a.type), type_word(b.type), type_word(output.type));
    return HEWN_STATUS_OK;
}

int32_t read_byte(const void *byte, hewn_data_type type) {
    return type == HEWN_DATA_TYPE_INT8 ? int32_t(*static_cast<const int8_t *>(byte))
                                       : int32_t(*static_cast<const uint8_t *>(byte));
}

// The scales and zero points of A, B and the output, into `q` where it stays: to return a struct would copy it in wide loads of
// what was just stored in narrow ones, which wait for the stores (5 ns on a Zen 5).
void read_quantization(const CpuCall &call, Quantization &q) {
    for (int t = 0; t < 3; t++) {
        const int zero_point = kSumZeroPoints[t];
        q.scale[t] = read_scale(call.inputs[kSumScales[t]], HEWN_DATA_TYPE_FLOAT32);
        q.zero_point[t] = read_byte(call.inputs[zero_point], call.kernel.problem->inputs[zero_point].type);
    }
}

// No quotient of the other forms than `divide` may reach 2^31. False for NaN.
bool bounded(const float *scale) {
    const double largest = 255 * (std::fabs(double(scale[0])) + std::fabs(double(scale[1])));
    return largest <= 0x1p30 * std::fabs(double(scale[2]));
}

void prepare_quantized_add(const CpuCall &call, SumParameters &p) {
    const CpuKernel &kernel = call.kernel;
    read_quantization(call, p.quantization);
    p.undecided = false;
    p.form = kernel.form;
    const float *const scale = p.quantization.scale;
    if (kernel.folded) {
        const Foldings::State state = kernel.foldings->find(p.quantization, p.factors);
        if (state == Foldings::Fits) {
            p.form = kernel.folded;
            return;
        }
        p.undecided = state == Foldings::Unknown && bounded(scale);
    }
    if (!kernel.reciprocal || !ordinary(scale[2]) || !bounded(scale)) return;
    set_reciprocal(scale[2], p.r0, p.r1);
    p.form = kernel.reciprocal;
}

// A form that rounds as the formula does, with the output's scale or its reciprocal.
template<class... Divisor>
int call_by_formula(const Form &form, const CpuCall &call, const Quantization &q, halide_buffer_t *operands, Divisor... divisor) {
    return call_kernel(form, call, &operands[0], &operands[1], q.zero_point[2], q.scale[0], q.scale[1], q.zero_point[0],
                       q.zero_point[1], divisor..., &operands[2]);
}

int call_quantized_add_form(const Form &form, const CpuCall &call, const SumParameters &p, halide_buffer_t *operands) {
    const CpuKernel &kernel = call.kernel;
    const Quantization &q = p.quantization;
    if (&form == kernel.form) return call_by_formula(form, call, q, operands, q.scale[2]);
    if (&form == kernel.reciprocal) return call_by_formula(form, call, q, operands, p.r0, p.r1);
    return call_kernel(form, call, &operands[0], &operands[1], q.zero_point[2], p.factors.a, p.factors.b, p.factors.offset,
                       &operands[2]);
}

void decide(const CpuKernel &kernel, bool fits, const FoldedFactors &factors, SumParameters &p) {
    p.undecided = false;
    if (!fits) return;
    p.factors = factors;
    p.form = kernel.folded;
}

// After a box that was computed without knowing whether `folded` would do. 0, or a kernel's error.
__attribute__((noinline)) int weigh_folding(const CpuCall &call, const halide_buffer_t &output, SumParameters &p) {
    const CpuKernel &kernel = call.kernel;
    FoldedFactors factors;
    const Foldings::State known = kernel.foldings->find(p.quantization, factors);  // by another slice, meanwhile
    if (known != Foldings::Unknown) {
        decide(kernel, known == Foldings::Fits, factors, p);
        return 0;
    }
    if (!kernel.foldings->count(p.quantization, int64_t(output.dim[0].extent) * output.dim[1].extent)) return 0;
    struct Trial {
        const CpuCall &call;
        SumParameters parameters;
    } trial = {call, p};
    const auto compute = [](const void *context, halide_buffer_t *operands, const FoldedFactors *factors) {
        Trial trial = *static_cast<const Trial *>(context);
        if (factors) trial.parameters.factors = *factors;
        const Form &form = factors ? *trial.call.kernel.folded : *trial.parameters.form;
        return call_quantized_add_form(form, trial.call, trial.parameters, operands);
    };
    const Problem &problem = *kernel.problem;
    const halide_type_t types[] = {halide_type(problem.inputs[kA].type), halide_type(problem.inputs[kB].type),
                                   halide_type(problem.output.type)};
    bool fits;
    if (const int code = find_folded_factors(p.quantization, types, compute, &trial, factors, fits)) return code;
    kernel.foldings->set(p.quantization, fits ? Foldings::Fits : Foldings::Differs, factors);
    decide(kernel, fits, factors, p);
    return 0;
}

// The dividing form.
int call_quantized_add_divided(BoxCall &context, halide_buffer_t *operands) {
    const CpuCall &call = static_cast<CpuCall &>(context);
    Quantization q;
    read_quantization(call, q);
    return call_by_formula(*call.kernel.form, call, q, operands, q.scale[2]);
}

int call_quantized_add(BoxCall &context, halide_buffer_t *operands) {
    CpuCall &call = static_cast<CpuCall &>(context);
    SumParameters &p = call.parameters;
    if (!p.form) prepare_quantized_add(call, p);
    const int code = call_quantized_add_form(*p.form, call, p, operands);
    return p.undecided && code == 0 ? weigh_folding(call, operands[2], p) : code;
}

__attribute__((cold)) void choose_quantized_add_forms(const Space &space, const Variant &variant, CpuKernel &kernel) {
    kernel.form = variant.form("divide");
    kernel.compute_bound = true;
    kernel.call = call_quantized_add_divided;
    const Form *reciprocal = variant.form("reciprocal"), *folded = variant.form("folded");
    if (!(reciprocal || folded) || element_count(space) < variant.plan.reciprocal_elements) return;
    kernel.reciprocal = reciprocal;
    kernel.folded = folded;
    kernel.call = call_quantized_add;
}

// ---- The list ----

// Whether this build has kernels of the operator, of the CPU or of GPUs.
constexpr bool is_built(std::string_view operator_name) {
    constexpr std::string_view kBuilt[] = {
#define HEWN_FORM(...)
#define HEWN_VARIANT(operator_name, ...) #operator_name,
#include "variants.inc"
#undef HEWN_VARIANT
#undef HEWN_FORM
    };
    for (const std::string_view built : kBuilt) {
        if (built == operator_name) return true;
    }
    return false;
}

// Without what runs kernels, where there are none: nothing calls it, and a program is spared it.
constexpr OperatorInfo as_built(OperatorInfo info) {
    if (is_built(info.name)) return info;
    info.choose_forms = nullptr;
    info.fit = nullptr;
    return info;
}

constexpr OperatorInfo kAdd =
    as_built({HEWN_OPERATOR_ADD, "add", "ADD", 2, 2, true, true, read_add, choose_general_form<call_add>, nullptr, {0, 1}});
constexpr OperatorInfo kQuantizeLinear = as_built({HEWN_OPERATOR_QUANTIZE_LINEAR,
                                                   "quantize_linear",
                                                   "QUANTIZE_LINEAR",
                                                   3,
                                                   3,
                                                   false,
                                                   false,
                                                   read_quantize_linear,
                                                   choose_quantize_forms,
                                                   fit_quantize,
                                                   {kInput, kScale, kZeroPoint}});
constexpr OperatorInfo kDequantizeLinear = as_built({HEWN_OPERATOR_DEQUANTIZE_LINEAR,
                                                     "dequantize_linear",
                                                     "DEQUANTIZE_LINEAR",
                                                     3,
                                                     3,
                                                     false,
                                                     false,
                                                     read_dequantize_linear,
                                                     choose_dequantize_forms,
                                                     fit_dequantize,
                                                     {kInput, kScale, kZeroPoint}});
constexpr OperatorInfo kQuantizedLinearAdd = as_built({HEWN_OPERATOR_QUANTIZED_LINEAR_ADD,
                                                       "quantized_linear_add",
                                                       "QUANTIZED_LINEAR_ADD",
                                                       8,
                                                       2,
                                                       false,
                                                       false,
                                                       read_quantized_linear_add,
                                                       choose_quantized_add_forms,
                                                       nullptr,
                                                       {kA, kB}});

}  // namespace

hewn_data_type kernel_type(const OperatorInfo &info, hewn_data_type type) {
    if (!info.unsigned_as_signed) return type;
    switch (type) {
    case HEWN_DATA_TYPE_UINT64: return HEWN_DATA_TYPE_INT64;
    case HEWN_DATA_TYPE_UINT32: return HEWN_DATA_TYPE_INT32;
    case HEWN_DATA_TYPE_UINT16: return HEWN_DATA_TYPE_INT16;
    case HEWN_DATA_TYPE_UINT8: return HEWN_DATA_TYPE_INT8;
    default: return type;
    }
}

halide_type_t halide_type(hewn_data_type type) {
    const uint8_t bits = uint8_t(type_bytes(type) * 8);
    switch (type) {
    case HEWN_DATA_TYPE_FLOAT32:
    case HEWN_DATA_TYPE_FLOAT16: return halide_type_t(halide_type_float, bits);
    case HEWN_DATA_TYPE_UINT8:
    case HEWN_DATA_TYPE_UINT16:
    case HEWN_DATA_TYPE_UINT32: return halide_type_t(halide_type_uint, bits);
    default: return halide_type_t(halide_type_int, bits);
    }
}

int list_operands(const Problem &problem, const Tensor **operands) {
    const OperatorInfo &info = *problem.info;
    for (int o = 0; o < info.operand_count; o++) operands[o] = &problem.inputs[info.operands[o]];
    operands[info.operand_count] = &problem.output;
    return info.operand_count + 1;
}

__attribute__((cold)) bool fit_to_plan(Plan &plan, int32_t slices, int32_t cpus, const Chip &chip, const Variant &variant,
                                       CpuKernel &kernel) {
    const auto fit = kernel.problem->info->fit;
    if (fit && !fit(plan, slices, variant, kernel)) return false;
    // In scratch memory nothing is worth asking for; of the form `repeating` it holds a vector of parameters.
    bool in_place = true;
    for (int o = 0; o < plan.operands; o++)
        in_place &= plan.access[o] == Access::InPlace || (kernel.repeating && (o == kScale || o == kZeroPoint));
    const int64_t widest = *std::max_element(plan.element_bytes, plan.element_bytes + plan.operands);
    const int64_t ahead = in_place ? prefetch_distance_bytes(chip, plan.moved_bytes, std::min(slices, cpus)) / widest : 0;
    kernel.ahead = plan.run_inner * plan.run_outer >= ahead ? int32_t(ahead) : 0;  // loops that ask are for long rows
    return true;
}

hewn_status read_operator(const hewn_operator_desc *desc, hewn_feature_level level, Problem &problem, hewn_error *error) {
    if (!desc) return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "hewn_operator_desc: is null");
    if (desc->struct_size < sizeof(hewn_operator_desc)) {
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "hewn_operator_desc: struct_size is too small");
    }
    if (level == HEWN_FEATURE_LEVEL_NEWEST) level = HEWN_FEATURE_LEVEL_6_4;
    bool known = false;
    for (hewn_feature_level candidate : kLevels) known |= candidate == level;
    if (!known) return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "feature level 0x%x is none of DirectML's", unsigned(level));

    problem.info = nullptr;
    for (const OperatorInfo *info : {&kAdd, &kQuantizeLinear, &kDequantizeLinear, &kQuantizedLinearAdd}) {
        if (info->type == desc->type) problem.info = info;
    }
    if (!problem.info)
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "hewn_operator_desc: %d is no operator type", int(desc->type));
    problem.input_count = problem.info->input_count;
    HEWN_CHECK(problem.info->read(desc->desc, level, problem, error));
    return check_output_strides(*problem.info, problem.output, error);
}

}  // namespace hewn
