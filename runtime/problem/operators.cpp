#include "operators.h"

#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "../base/error.h"
#include "../cpu/kernel.h"

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

// One row of DirectML's table of an operator: what is supported from a feature level on. Types that follow from another tensor's,
// as a zero point's do, have no column.
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

// An operator's table at one feature level. Its checks say which level, if any, has what is asked for.
class FeatureTable {
public:
    template<int N>
    FeatureTable(const FeatureRow (&rows)[N], const OperatorInfo &info, hewn_feature_level level, hewn_error *error)
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

    // DirectML lacks rank 0. Here it is one element, and is supported wherever rank 1 is.
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

// ---- Reading descriptions: compiled for size ("cold"), as it happens once an operator ----

// Evaluates a status, and returns it from the enclosing function if it is not OK.
#define HEWN_CHECK(expression) \
    if (const hewn_status status = (expression); status != HEWN_STATUS_OK) return status

// Copies the operator's description to `copy`.
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

// Reads an optional tensor. An absent one reads as zeros of `like`'s shape.
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
    if (tensor.rank != other.rank) {
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "%s %s: has %d dimensions, %s has %d; they must be equal%s",
                    info.dml_name, tensor.name, tensor.rank, other.name, other.rank, kRepeatsHint);
    }
    int d = 0;
    while (tensor.sizes[d] == other.sizes[d]) d++;
    return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "%s %s: size %lld of dimension %d differs from %s's %lld%s", info.dml_name,
                tensor.name, (long long)tensor.sizes[d], d, other.name, (long long)other.sizes[d], kRepeatsHint);
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
    static_assert((1 + sizeof...(words)) * sizeof "i32" <= sizeof problem.signature);  // no type's word is longer
    std::strcpy(problem.signature, first);
    ((std::strcat(problem.signature, "_"), std::strcat(problem.signature, words)), ...);
}

// ---- ADD ----

__attribute__((cold)) hewn_status read_add(const void *raw, hewn_feature_level level, Problem &problem, hewn_error *error) {
    const OperatorInfo &info = *problem.info;
    hewn_add_desc desc;
    HEWN_CHECK(copy_desc(raw, info.dml_name, desc, error));
    const FeatureTable table(kAddRows, info, level, error);
    Tensor &a = problem.inputs[0], &b = problem.inputs[1], &output = problem.output;
    HEWN_CHECK(read_tensor(desc.a_tensor, info.dml_name, "ATensor", a, error));
    HEWN_CHECK(read_tensor(desc.b_tensor, info.dml_name, "BTensor", b, error));
    HEWN_CHECK(read_tensor(desc.output_tensor, info.dml_name, "OutputTensor", output, error));
    HEWN_CHECK(table.check_introduced());
    HEWN_CHECK(table.check_rank(a));
    HEWN_CHECK(table.check_type(a, &FeatureRow::input_types));
    HEWN_CHECK(expect_type(info, b, a.type, "ATensor's", error));
    HEWN_CHECK(expect_type(info, output, a.type, "ATensor's", error));
    HEWN_CHECK(expect_same_sizes(info, b, a, error));
    HEWN_CHECK(expect_same_sizes(info, output, a, error));
    set_signature(problem, type_word(kernel_type(info, a.type)));
    return HEWN_STATUS_OK;
}

// ---- QUANTIZE_LINEAR ----

// What QUANTIZE_LINEAR and DEQUANTIZE_LINEAR share. The caller checks the rules that differ. An absent zero point has the type of
// `quantized`, the input or the output.
template<class Desc>
hewn_status read_linear(const Desc &desc, const FeatureTable &table, const Tensor &quantized, Problem &problem,
                        hewn_error *error) {
    const OperatorInfo &info = *problem.info;
    Tensor &input = problem.inputs[kInput], &scale = problem.inputs[kScale], &zero_point = problem.inputs[kZeroPoint];
    Tensor &output = problem.output;
    HEWN_CHECK(read_tensor(desc.input_tensor, info.dml_name, "InputTensor", input, error));
    HEWN_CHECK(read_tensor(desc.scale_tensor, info.dml_name, "ScaleTensor", scale, error));
    HEWN_CHECK(read_tensor(desc.output_tensor, info.dml_name, "OutputTensor", output, error));
    HEWN_CHECK(read_optional(desc.zero_point_tensor, info.dml_name, "ZeroPointTensor", input, quantized.type, zero_point, error));
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

__attribute__((cold)) hewn_status read_quantize_linear(const void *raw, hewn_feature_level level, Problem &problem,
                                                       hewn_error *error) {
    const OperatorInfo &info = *problem.info;
    hewn_quantize_linear_desc desc;
    HEWN_CHECK(copy_desc(raw, info.dml_name, desc, error));
    HEWN_CHECK(read_linear(desc, FeatureTable(kQuantizeRows, info, level, error), problem.output, problem, error));
    const hewn_data_type input_type = problem.inputs[kInput].type;
    const hewn_data_type scale_type = input_type == HEWN_DATA_TYPE_INT32 ? hewn_data_type(HEWN_DATA_TYPE_FLOAT32) : input_type;
    HEWN_CHECK(expect_type(info, problem.inputs[kScale], scale_type, "InputTensor's, FLOAT32 for INT32", error));
    return expect_type(info, problem.inputs[kZeroPoint], problem.output.type, "OutputTensor's", error);
}

// ---- DEQUANTIZE_LINEAR ----

__attribute__((cold)) hewn_status read_dequantize_linear(const void *raw, hewn_feature_level level, Problem &problem,
                                                         hewn_error *error) {
    const OperatorInfo &info = *problem.info;
    hewn_dequantize_linear_desc desc;
    HEWN_CHECK(copy_desc(raw, info.dml_name, desc, error));
    HEWN_CHECK(read_linear(desc, FeatureTable(kDequantizeRows, info, level, error), problem.inputs[kInput], problem, error));
    HEWN_CHECK(expect_type(info, problem.inputs[kZeroPoint], problem.inputs[kInput].type, "InputTensor's", error));
    return expect_type(info, problem.output, problem.inputs[kScale].type, "ScaleTensor's", error);
}

// ---- QUANTIZED_LINEAR_ADD ----

// A scale or zero point has exactly one element: each dimension has the size 1, where a stride means nothing, or the stride 0.
hewn_status expect_one_element(const OperatorInfo &info, const Tensor &tensor, const Tensor &a, hewn_error *error) {
    static constexpr char kRule[] = "in each dimension the size 1 or the stride 0";
    if (tensor.rank != a.rank) {
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "%s %s: has %d dimensions, ATensor has %d; they must be equal; %s",
                    info.dml_name, tensor.name, tensor.rank, a.rank, kRule);
    }
    bool one = true;
    for (int d = 0; d < tensor.rank; d++) one &= tensor.sizes[d] == 1 || tensor.strides[d] == 0;
    // An empty view will do if A is empty too.
    if (one && (!tensor.empty() || a.empty())) return HEWN_STATUS_OK;
    return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "%s %s: must have exactly 1 element: %s", info.dml_name, tensor.name,
                one ? "is empty, and ATensor is not" : kRule);
}

__attribute__((cold)) hewn_status read_quantized_linear_add(const void *raw, hewn_feature_level level, Problem &problem,
                                                            hewn_error *error) {
    const OperatorInfo &info = *problem.info;
    hewn_quantized_linear_add_desc desc;
    HEWN_CHECK(copy_desc(raw, info.dml_name, desc, error));
    const FeatureTable table(kQuantizedAddRows, info, level, error);
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
    for (int scale : kQuantizedAddScales) HEWN_CHECK(table.check_type(in[scale], &FeatureRow::scale_types));
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

// ---- The list ----

// Whether this build has kernels of the operator, for the CPU or for GPUs.
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

// Leaves out what runs kernels if there are none, so that a program does not link what nothing calls.
constexpr OperatorInfo as_built(OperatorInfo info) {
    if (is_built(info.name)) return info;
    info.choose_forms = nullptr;
    info.fit = nullptr;
    return info;
}

//               type, names, inputs, operands, in place, unsigned as signed, read, choose_forms, fit
// clang-format off
constexpr OperatorInfo kOperators[] = {
    as_built({HEWN_OPERATOR_ADD, "add", "ADD",
              2, 2, {0, 1}, true, true, read_add, choose_add_form, fit_add}),
    as_built({HEWN_OPERATOR_QUANTIZE_LINEAR, "quantize_linear", "QUANTIZE_LINEAR",
              3, 3, {kInput, kScale, kZeroPoint}, false, false, read_quantize_linear, choose_quantize_forms, fit_quantize}),
    as_built({HEWN_OPERATOR_DEQUANTIZE_LINEAR, "dequantize_linear", "DEQUANTIZE_LINEAR",
              3, 3, {kInput, kScale, kZeroPoint}, false, false, read_dequantize_linear, choose_dequantize_forms, fit_dequantize}),
    as_built({HEWN_OPERATOR_QUANTIZED_LINEAR_ADD, "quantized_linear_add", "QUANTIZED_LINEAR_ADD",
              8, 2, {kA, kB}, false, false, read_quantized_linear_add, choose_quantized_add_forms, nullptr}),
};
// clang-format on

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

int tensor_of_operand(const Problem &problem, int o) {
    return o == problem.info->operand_count ? problem.info->input_count : problem.info->operands[o];
}

__attribute__((cold)) int list_operands(const Problem &problem, const Tensor **operands) {
    const int count = problem.info->operand_count + 1;
    for (int o = 0; o < count; o++) operands[o] = &tensor(problem, tensor_of_operand(problem, o));
    return count;
}

hewn_status read_operator(const hewn_operator_desc *desc, hewn_feature_level level, Problem &problem, hewn_error *error) {
    if (!desc) return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "hewn_operator_desc: is null");
    if (desc->struct_size < sizeof(hewn_operator_desc)) {
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "hewn_operator_desc: struct_size is too small");
    }
    if (level == HEWN_FEATURE_LEVEL_NEWEST) level = kLevels[sizeof kLevels / sizeof kLevels[0] - 1];
    bool known = false;
    for (hewn_feature_level candidate : kLevels) known |= candidate == level;
    if (!known) return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "feature level 0x%x is none of DirectML's", unsigned(level));

    problem.info = nullptr;
    for (const OperatorInfo &info : kOperators) {
        if (info.type == desc->type) problem.info = &info;
    }
    if (!problem.info)
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "hewn_operator_desc: %d is no operator type", int(desc->type));
    HEWN_CHECK(problem.info->read(desc->desc, level, problem, error));
    return check_output_strides(*problem.info, problem.output, error);
}

}  // namespace hewn
