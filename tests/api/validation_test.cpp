// Tests what compile accepts and refuses: all types at all feature levels, and every rule with its
// message. What should be accepted at a level is taken from hewn_get_operator and
// hewn_get_operator_tensor, the table of operators.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../../reference/operators.h"
#include "../../reference/values.h"
#include "../support/execution.h"

namespace hewn_test {
namespace {

using Types = std::vector<hewn_data_type>;

constexpr hewn_data_type F32 = HEWN_DATA_TYPE_FLOAT32, F16 = HEWN_DATA_TYPE_FLOAT16,
                         BF16 = HEWN_DATA_TYPE_BFLOAT16, F64 = HEWN_DATA_TYPE_FLOAT64,
                         U64 = HEWN_DATA_TYPE_UINT64, U32 = HEWN_DATA_TYPE_UINT32,
                         U16 = HEWN_DATA_TYPE_UINT16, U8 = HEWN_DATA_TYPE_UINT8,
                         I64 = HEWN_DATA_TYPE_INT64, I32 = HEWN_DATA_TYPE_INT32,
                         I16 = HEWN_DATA_TYPE_INT16, I8 = HEWN_DATA_TYPE_INT8,
                         U4 = HEWN_DATA_TYPE_UINT4, I2 = HEWN_DATA_TYPE_INT2,
                         F8 = HEWN_DATA_TYPE_FLOAT8E4M3FN, E8M0 = HEWN_DATA_TYPE_FLOAT8E8M0,
                         F6 = HEWN_DATA_TYPE_FLOAT6E2M3, F4 = HEWN_DATA_TYPE_FLOAT4E2M1;
const Types ALL_TYPES = {F32, F16, BF16, F64, F8,  E8M0, F6, F4, U64,
                         U32, U16, U8,   I64, I32, I16,  I8, U4, I2};

const std::vector<hewn_feature_level> LEVELS = {
#define HEWN_LEVEL(name, word, number) HEWN_FEATURE_LEVEL_##name,
#include "types.inc"
};

std::string level_name(hewn_feature_level level) {
#define HEWN_LEVEL(name, word, number) \
    if (level == number) return word;
#include "types.inc"
    throw std::logic_error("no feature level has the number " + std::to_string(level));
}

// ---- The table of operators, as hewn_get_operator tells it --------------------------------------

// The operator's number in the table. A build for few operators may lack it.
std::optional<uint32_t> find(hewn_operator_type op) {
    hewn_operator_info info{};
    info.struct_size = sizeof info;
    for (uint32_t i = 0; i < hewn_operator_count(); i++) {
        if (hewn_get_operator(i, HEWN_FEATURE_LEVEL_NEWEST, &info) == HEWN_STATUS_OK &&
            info.type == op)
            return i;
    }
    return std::nullopt;
}
uint32_t index_of(hewn_operator_type op) { return find(op).value(); }

hewn_operator_info info_of(hewn_operator_type op, hewn_feature_level level) {
    hewn_operator_info info{};
    info.struct_size = sizeof info;
    EXPECT_EQ(hewn_get_operator(index_of(op), level, &info), HEWN_STATUS_OK);
    return info;
}

hewn_operator_tensor_info tensor_info_of(hewn_operator_type op, size_t tensor,
                                         hewn_feature_level level) {
    hewn_operator_tensor_info info{};
    info.struct_size = sizeof info;
    EXPECT_EQ(hewn_get_operator_tensor(index_of(op), uint32_t(tensor), level, &info),
              HEWN_STATUS_OK);
    return info;
}

// Whether tensor `i` may have its type (0: absent), with the types of the others.
bool type_fits(hewn_operator_type op, const Types &types, size_t i, hewn_feature_level level) {
    const hewn_operator_tensor_info info = tensor_info_of(op, i, level);
    if (types[i] == 0) return info.optional;
    if (info.like < 0) return info.types >> types[i] & 1;
    const hewn_data_type like = types[size_t(info.like)],
                         due = info.like_integers && !is_wide_float_type(like) ? info.like_integers
                                                                               : like;
    if (!(info.types >> types[i] & 1)) return false;
    const TensorFacts &tensor = facts(op).tensors[i];
    const auto is_in = [](const DataTypes &all, hewn_data_type type) {
        return std::count(all.begin(), all.end(), type) > 0;
    };
    const bool mixes = tensor.mixed && level >= HEWN_FEATURE_LEVEL_HEWN &&
                       (is_wide_float_type(due) || is_in(facts(op).as_f32, due));
    return types[i] == due ||
           (mixes && (is_wide_float_type(types[i]) || is_in(tensor.others, types[i])));
}

// Whether an operator accepts `types` of `rank` dimensions at `level`. A rank of 0 counts as 1.
bool accepted(hewn_operator_type op, const Types &types, uint32_t rank, hewn_feature_level level) {
    const hewn_operator_info info = info_of(op, level);
    if (rank == 0) rank = 1;
    if (rank < info.min_dimension_count || rank > info.max_dimension_count) return false;
    for (size_t i = 0; i < types.size(); i++) {
        if (!type_fits(op, types, i, level)) return false;
        if (facts(op).one_width && types[i] != 0 && !facts(op).is_scale(i) &&
            element_bytes(types[i]) != element_bytes(types[0]))
            return false;
    }
    return true;
}

// ---- Helpers ------------------------------------------------------------------------------------

hewn_compile_options at_level(hewn_feature_level level) {
    hewn_compile_options options = compile_options();
    options.feature_level = level;
    return options;
}

Outcome try_compile(hewn_operator_type op, const std::vector<std::optional<Spec>> &tensors,
                    hewn_feature_level level = 0) {
    TensorDescs descs;
    for (const auto &tensor : tensors)
        descs.push_back(tensor ? std::optional(tensor->desc()) : std::nullopt);
    const hewn_compile_options options = at_level(level);
    OperatorPtr handle;
    return compile(Description(op, std::move(descs)), &options, handle);
}

// Tensors of the given types (0: absent) and sizes. Parameters that have one element get sizes of
// 1.
std::vector<std::optional<Spec>> tensors_of(hewn_operator_type op, const Types &types,
                                            const std::vector<int64_t> &sizes = {2, 3, 4, 5}) {
    std::vector<std::optional<Spec>> tensors;
    for (size_t i = 0; i < types.size(); i++) {
        const bool one = facts(op).is_one_element(i);
        if (types[i] == 0) tensors.push_back(std::nullopt);
        else tensors.push_back(Spec{types[i], one ? std::vector<int64_t>(sizes.size(), 1) : sizes});
    }
    return tensors;
}

std::string types_text(const Types &types) {
    std::string text;
    for (const hewn_data_type type : types) text += " " + std::to_string(type);
    return text;
}

// An operator as the tests know it: its names, and types that it accepts.
struct Operator {
    hewn_operator_type op;
    std::string name;
    Types types;
    std::vector<std::string> tensors;
};

Operator operator_of(hewn_operator_type op, const std::string &signature) {
    const OperatorFacts &known = facts(op);
    Operator result = {op, known.name, operand_types(op, signature), {}};
    for (char &c : result.name) c = char(std::toupper(static_cast<unsigned char>(c)));
    for (size_t i = 0; i < known.tensors.size(); i++) {
        result.tensors.push_back(known.tensors[i].name);
        // A scale that may be absent is an output then (NVFP4_QUANTIZE).
        if (known.is_scale(i) && find(op) &&
            tensor_info_of(op, i, HEWN_FEATURE_LEVEL_NEWEST).optional)
            result.types[i] = 0;
    }
    return result;
}

const Operator ADD = operator_of(HEWN_OPERATOR_ADD, "f32"),
               ADD1 = operator_of(HEWN_OPERATOR_ADD1, "f32"),
               QUANTIZE = operator_of(HEWN_OPERATOR_QUANTIZE_LINEAR, "f32_u8"),
               DEQUANTIZE = operator_of(HEWN_OPERATOR_DEQUANTIZE_LINEAR, "u8_f32"),
               QUANTIZE_63 = operator_of(HEWN_OPERATOR_QUANTIZE, "f32_u8"),
               DEQUANTIZE_63 = operator_of(HEWN_OPERATOR_DEQUANTIZE, "u8_f32"),
               QADD = operator_of(HEWN_OPERATOR_QUANTIZED_LINEAR_ADD, "u8_i8_u8");

// All operators of the build, each with the first types that it takes.
const std::vector<Operator> OPERATORS = [] {
    std::vector<Operator> operators;
    for (const OperatorFacts &op : all_operators()) {
        if (!find(op.type)) continue;
        std::string signature;
        for (const size_t t : op.signature) {
            const int like = op.tensors[t].like;
            const Types &types = op.tensors[like < 0 ? t : size_t(like)].newest;
            signature += (signature.empty() ? "" : "_") + std::string(type_name(types.at(0)));
        }
        operators.push_back(operator_of(op.type, signature));
    }
    return operators;
}();

bool optional_tensor(const Operator &op, size_t i) {
    return facts(op.op).tensors[i].role == Role::zero_point;
}

// Whether a call had this status, and its message has all the words, whatever their case.
testing::AssertionResult refused(const Outcome &outcome, hewn_status status,
                                 const std::vector<std::string> &words) {
    const auto lower = [](std::string text) {
        for (char &c : text) c = char(std::tolower(static_cast<unsigned char>(c)));
        return text;
    };
    if (outcome.status != status)
        return testing::AssertionFailure() << "expected status " << status << ", got " << outcome;
    for (const std::string &word : words) {
        if (lower(outcome.message).find(lower(word)) == std::string::npos) {
            return testing::AssertionFailure()
                   << "\"" << word << "\" is not in the message: " << outcome;
        }
    }
    return testing::AssertionSuccess();
}

const std::string REPEATS =
    "an input that repeats, as one scale for many elements, has strides of 0, for example {0, 0, "
    "1}";

constexpr hewn_status INVALID = HEWN_STATUS_INVALID_ARGUMENT, UNSUPPORTED = HEWN_STATUS_UNSUPPORTED;

// ---- The tables ---------------------------------------------------------------------------------

// Compares what compile accepts with the tables, for one set of types at one level. If a later
// level accepts the types, the status must be UNSUPPORTED. If there is a single cause, the message
// must also name that level.
testing::AssertionResult agrees(const Operator &op, const Types &types, uint32_t rank,
                                hewn_feature_level level, bool single_cause) {
    const Outcome outcome =
        try_compile(op.op, tensors_of(op.op, types, std::vector<int64_t>(rank, 2)), level);
    const auto where = [&] {
        return "; " + std::string(op.name) + " of types" + types_text(types) + ", rank " +
               std::to_string(rank) + ", level " + level_name(level);
    };
    if (accepted(op.op, types, rank, level)) {
        if (outcome.status == HEWN_STATUS_OK) return testing::AssertionSuccess();
        return testing::AssertionFailure() << "refused: " << outcome << where();
    }
    if (outcome.status == HEWN_STATUS_OK)
        return testing::AssertionFailure() << "accepted" << where();
    if (outcome.status != INVALID && outcome.status != UNSUPPORTED)
        return testing::AssertionFailure() << outcome << where();
    for (const hewn_feature_level later : LEVELS) {
        if (later <= level || !accepted(op.op, types, rank, later)) continue;
        if (outcome.status != UNSUPPORTED)
            return testing::AssertionFailure()
                   << "level " << level_name(later)
                   << " has it, so expected UNSUPPORTED: " << outcome << where();
        if (single_cause && outcome.message.find(level_name(later)) == std::string::npos) {
            return testing::AssertionFailure() << "does not say that level " << level_name(later)
                                               << " has it: " << outcome << where();
        }
        break;
    }
    return testing::AssertionSuccess();
}

// All combinations of types, at every level and with rank 4, which every table has. Where the other
// types fit at no level, the zero point is absent or has one of their types.
void all_types(const Operator &op, bool zero_point) {
    for (const hewn_feature_level level : LEVELS) {
        // A level without the operator refuses it, whatever its types.
        const bool has = info_of(op.op, level).max_dimension_count > 0;
        for (const hewn_data_type a : ALL_TYPES) {
            for (const hewn_data_type b : ALL_TYPES) {
                for (const hewn_data_type output : ALL_TYPES) {
                    if (!zero_point) {
                        ASSERT_TRUE(agrees(op, {a, b, output}, 4, level, has));
                        continue;
                    }
                    Types zero_points = {0, a, output};
                    if (accepted(op.op, {a, b, 0, output}, 4, HEWN_FEATURE_LEVEL_NEWEST))
                        zero_points.insert(zero_points.end(), ALL_TYPES.begin(), ALL_TYPES.end());
                    for (const hewn_data_type z : zero_points)
                        ASSERT_TRUE(agrees(op, {a, b, z, output}, 4, level, false));
                }
            }
        }
    }
}

// The tests lay out, fill and skip tensors by the roles that the table gives them. These must be
// what DirectML's names say.
TEST(Tables, NamesFitTheRoles) {
    for (const OperatorFacts &op : all_operators()) {
        for (size_t t = 0; t < op.tensors.size(); t++) {
            const TensorFacts &tensor = op.tensors[t];
            const auto has = [&](const char *word) {
                return tensor.name.find(word) != std::string::npos;
            };
            const Role role = t >= op.inputs()   ? Role::output
                              : has("ZeroPoint") ? Role::zero_point
                              : has("Scale")     ? Role::scale
                                                 : Role::data;
            EXPECT_EQ(tensor.name == "OutputTensor", t == op.inputs()) << op.name;
            EXPECT_TRUE(tensor.role == role) << op.name << ": " << tensor.name;
        }
    }
}

// hewn_get_operator and hewn_get_operator_tensor refuse what does not exist, and then write
// nothing.
TEST(Tables, RefuseWhatIsNotThere) {
    const hewn_feature_level newest = HEWN_FEATURE_LEVEL_NEWEST;
    EXPECT_EQ(hewn_operator_count(), all_operators().size());
    hewn_operator_info info{};
    hewn_operator_tensor_info tensor{};
    EXPECT_EQ(hewn_get_operator(0, newest, &info), INVALID) << "struct_size 0";
    EXPECT_EQ(hewn_get_operator_tensor(0, 0, newest, &tensor), INVALID) << "struct_size 0";
    info.struct_size = sizeof info;
    tensor.struct_size = sizeof tensor;
    EXPECT_EQ(hewn_get_operator(0, newest, nullptr), INVALID);
    EXPECT_EQ(hewn_get_operator_tensor(0, 0, newest, nullptr), INVALID);
    EXPECT_EQ(hewn_get_operator(hewn_operator_count(), newest, &info), INVALID);
    EXPECT_EQ(hewn_get_operator_tensor(hewn_operator_count(), 0, newest, &tensor), INVALID);
    EXPECT_EQ(hewn_get_operator_tensor(0, info_of(ADD.op, newest).tensor_count, newest, &tensor),
              INVALID);
    EXPECT_EQ(hewn_get_operator(0, 0x1100, &info), INVALID);
    EXPECT_EQ(hewn_get_operator_tensor(0, 0, 0x1100, &tensor), INVALID);
    EXPECT_EQ(info.name, nullptr);
    EXPECT_EQ(tensor.name, nullptr);
    EXPECT_EQ(info_of(QADD.op, HEWN_FEATURE_LEVEL_3_1).max_dimension_count, 0u)
        << "not introduced yet";
}

TEST(Tables, Attributes) {
    hewn_operator_attribute_info info{};
    const uint32_t quantize = index_of(QUANTIZE.op);
    EXPECT_EQ(hewn_get_operator_attribute(quantize, 0, 0, &info), INVALID) << "struct_size 0";
    info.struct_size = sizeof info;
    EXPECT_EQ(hewn_get_operator_attribute(quantize, 2, 0, &info), INVALID);
    EXPECT_EQ(hewn_get_operator_attribute(index_of(QUANTIZE_63.op), 0, 0, &info), INVALID);
    EXPECT_EQ(hewn_get_operator_attribute(hewn_operator_count(), 0, 0, &info), INVALID);
    EXPECT_EQ(hewn_get_operator_attribute(quantize, 0, 0x1100, &info), INVALID);
    EXPECT_EQ(hewn_get_operator_attribute(quantize, 0, 0, nullptr), INVALID);
    EXPECT_EQ(info.name, nullptr);
    ASSERT_EQ(hewn_get_operator_attribute(quantize, 0, 0, &info), HEWN_STATUS_OK);
    EXPECT_STREQ(info.name, "precision");
    EXPECT_EQ(std::vector<std::string>(info.values, info.values + info.value_count),
              (std::vector<std::string>{"f32", "f16", "bf16"}));
    EXPECT_EQ(info.allowed, 1);
    hewn_get_operator_attribute(quantize, 0, HEWN_FEATURE_LEVEL_6_4, &info);
    EXPECT_EQ(info.allowed, 0);
}

// QUANTIZE_LINEAR's precision: its values, and the level from which on they are allowed. A
// description of the struct's first version has none, whatever follows it in memory.
TEST(Tables, Precision) {
    const int64_t sizes[] = {1, 1, 1, 4};
    const hewn_tensor_desc x = {sizeof x, F32, 4, sizes, nullptr, nullptr};
    hewn_tensor_desc y = x;
    y.data_type = U8;
    const auto compiled = [&](hewn_quantize_linear_desc own, hewn_feature_level level = 0) {
        const hewn_operator_desc desc = {sizeof desc, QUANTIZE.op, &own};
        const hewn_compile_options options = at_level(level);
        return outcome_of([&](hewn_error *error) {
            hewn_operator *op = nullptr;
            const hewn_status status = hewn_compile(nullptr, &desc, &options, &op, error);
            hewn_destroy_operator(op);
            return status;
        });
    };
    const auto with = [&](hewn_precision precision, hewn_saturate saturate = HEWN_SATURATE_ON) {
        return hewn_quantize_linear_desc{
            sizeof(hewn_quantize_linear_desc), &x, &x, &y, &y, precision, saturate};
    };
    for (const hewn_precision precision :
         {HEWN_PRECISION_FLOAT32, HEWN_PRECISION_FLOAT16, HEWN_PRECISION_BFLOAT16})
        EXPECT_EQ(compiled(with(precision)).status, HEWN_STATUS_OK);
    for (const hewn_precision unknown : {-1, 3})
        EXPECT_TRUE(refused(compiled(with(unknown)), INVALID,
                            {"QUANTIZE_LINEAR: precision " + std::to_string(unknown) +
                             " is none of 0 (FLOAT32) to 2 (BFLOAT16)"}));
    EXPECT_EQ(compiled(with(HEWN_PRECISION_FLOAT32, HEWN_SATURATE_OFF)).status, HEWN_STATUS_OK);
    EXPECT_TRUE(refused(compiled(with(HEWN_PRECISION_FLOAT32, 2)), INVALID,
                        {"QUANTIZE_LINEAR: saturate 2 is none of 0 (ON) to 1 (OFF)"}));
    EXPECT_TRUE(
        refused(compiled(with(HEWN_PRECISION_BFLOAT16), HEWN_FEATURE_LEVEL_6_4), UNSUPPORTED,
                {"QUANTIZE_LINEAR: precision BFLOAT16 needs feature level hewn, compiled at 6.4"}));
    EXPECT_EQ(compiled(with(HEWN_PRECISION_FLOAT32), HEWN_FEATURE_LEVEL_6_4).status,
              HEWN_STATUS_OK);
    hewn_quantize_linear_desc older = with(7, 7);
    older.struct_size = offsetof(hewn_quantize_linear_desc, precision);
    EXPECT_EQ(compiled(older).status, HEWN_STATUS_OK);
}

// A parameter of ADD1, and an activation that is known but not computed.
TEST(Tables, ParametersAndRefusedValues) {
    hewn_operator_attribute_info info{};
    info.struct_size = sizeof info;
    const uint32_t add1 = index_of(ADD1.op);
    ASSERT_EQ(hewn_get_operator_attribute(add1, 0, 0, &info), HEWN_STATUS_OK);
    EXPECT_STREQ(info.name, "activation");
    EXPECT_STREQ(info.values[HEWN_ACTIVATION_CLIP], "clip");
    EXPECT_STREQ(info.values[HEWN_ACTIVATION_GELU], "gelu");
    EXPECT_EQ(info.value_count, HEWN_ACTIVATION_CLIP + 1u);
    EXPECT_EQ(info.known_count, HEWN_ACTIVATION_GELU + 1u);
    EXPECT_EQ(info.allowed, 1);
    EXPECT_EQ(info.of, 0u);
    ASSERT_EQ(hewn_get_operator_attribute(add1, 2, 0, &info), HEWN_STATUS_OK);
    EXPECT_STREQ(info.name, "beta");
    EXPECT_EQ(info.value_count, 0u);
    EXPECT_EQ(info.known_count, 0u);
    EXPECT_EQ(info.of, 1u << HEWN_ACTIVATION_LINEAR | 1u << HEWN_ACTIVATION_HARD_SIGMOID);
    EXPECT_EQ(hewn_get_operator_attribute(add1, 7, 0, &info), INVALID);
}

TEST(Tables, Activations) {
    const int64_t sizes[] = {1, 1, 1, 4};
    const hewn_tensor_desc x = {sizeof x, F32, 4, sizes, nullptr, nullptr};
    const auto compiled = [&](hewn_add1_desc own, hewn_feature_level level = 0) {
        own.a_tensor = own.b_tensor = own.output_tensor = &x;
        if (own.struct_size == 0) own.struct_size = sizeof own;
        const hewn_operator_desc desc = {sizeof desc, ADD1.op, &own};
        const hewn_compile_options options = at_level(level);
        return outcome_of([&](hewn_error *error) {
            hewn_operator *op = nullptr;
            const hewn_status status = hewn_compile(nullptr, &desc, &options, &op, error);
            hewn_destroy_operator(op);
            return status;
        });
    };
    const auto with = [](hewn_activation activation) {
        hewn_add1_desc own = {};
        own.activation = activation;
        return own;
    };
    for (hewn_activation each = HEWN_ACTIVATION_IDENTITY; each <= HEWN_ACTIVATION_CLIP; each++) {
        EXPECT_EQ(compiled(with(each)).status, HEWN_STATUS_OK) << each;
        const Outcome outcome = compiled(with(each), HEWN_FEATURE_LEVEL_2_0);
        if (each != HEWN_ACTIVATION_CLIP) EXPECT_EQ(outcome.status, HEWN_STATUS_OK) << each;
        else
            EXPECT_TRUE(
                refused(outcome, UNSUPPORTED,
                        {"ADD1: activation CLIP needs feature level hewn, compiled at 2.0"}));
    }
    EXPECT_TRUE(refused(compiled(with(HEWN_ACTIVATION_SIGMOID)), UNSUPPORTED,
                        {"ADD1: activation SIGMOID is not supported, because no standard says how "
                         "exp, tanh, log and erf are rounded"}));
    for (const hewn_activation unknown : {-1, HEWN_ACTIVATION_GELU + 1})
        EXPECT_TRUE(refused(compiled(with(unknown)), INVALID,
                            {"ADD1: activation " + std::to_string(unknown) +
                             " is none of 0 (IDENTITY) to 8 (CLIP)"}));

    // Each parameter, in the order of the struct, and the activations that have it.
    const std::vector<std::vector<hewn_activation>> having = {
        {HEWN_ACTIVATION_LINEAR, HEWN_ACTIVATION_LEAKY_RELU, HEWN_ACTIVATION_THRESHOLDED_RELU,
         HEWN_ACTIVATION_HARD_SIGMOID},
        {HEWN_ACTIVATION_LINEAR, HEWN_ACTIVATION_HARD_SIGMOID},
        {HEWN_ACTIVATION_SHRINK},
        {HEWN_ACTIVATION_SHRINK},
        {HEWN_ACTIVATION_CLIP},
        {HEWN_ACTIVATION_CLIP}};
    const std::vector<std::string> names = {"alpha", "beta", "bias", "threshold", "min", "max"};
    const auto parameter = [](hewn_add1_desc &own, size_t i) -> float & {
        return *(std::vector<float *>{&own.alpha, &own.beta, &own.bias, &own.threshold, &own.min,
                                      &own.max}[i]);
    };
    for (size_t i = 0; i < names.size(); i++) {
        for (hewn_activation each = HEWN_ACTIVATION_IDENTITY; each <= HEWN_ACTIVATION_CLIP;
             each++) {
            const bool has = std::count(having[i].begin(), having[i].end(), each) > 0;
            for (const float value : {0.25f, -HUGE_VALF, 0x1p-149f}) {
                hewn_add1_desc own = with(each);
                parameter(own, i) = value;
                if (has) EXPECT_EQ(compiled(own).status, HEWN_STATUS_OK) << names[i] << " " << each;
                else
                    EXPECT_TRUE(refused(
                        compiled(own), INVALID,
                        {"ADD1: " + names[i] + " is not 0, but activation ", " does not have it"}));
            }
            hewn_add1_desc own = with(each);
            parameter(own, i) = -0.0f;
            EXPECT_EQ(compiled(own).status, HEWN_STATUS_OK) << names[i] << " " << each;
            parameter(own, i) = NAN;
            EXPECT_TRUE(refused(compiled(own), INVALID,
                                {"ADD1: " + names[i] + " is NaN, must be a number"}));
        }
    }
    hewn_add1_desc reserved = with(HEWN_ACTIVATION_RELU);
    reserved.reserved = 1;
    EXPECT_TRUE(refused(compiled(reserved), INVALID, {"ADD1: reserved is 1, must be 0"}));
    // Members beyond struct_size count as 0.
    hewn_add1_desc shorter = with(99);
    shorter.struct_size = offsetof(hewn_add1_desc, activation);
    EXPECT_EQ(compiled(shorter).status, HEWN_STATUS_OK);
}

TEST(Tables, QuantizedActivations) {
    const int64_t sizes[] = {1, 1, 1, 4}, one[] = {1, 1, 1, 1};
    const hewn_tensor_desc x = {sizeof x, U8, 4, sizes, nullptr, nullptr},
                           scale = {sizeof scale, F32, 4, one, nullptr, nullptr};
    const auto compiled = [&](hewn_quantized_activation activation, hewn_feature_level level = 0) {
        const hewn_quantized_linear_add_desc own = {sizeof own, &x,     &scale,     nullptr,
                                                    &x,         &scale, nullptr,    &scale,
                                                    nullptr,    &x,     activation, 0};
        const hewn_operator_desc desc = {sizeof desc, QADD.op, &own};
        const hewn_compile_options options = at_level(level);
        return outcome_of([&](hewn_error *error) {
            hewn_operator *op = nullptr;
            const hewn_status status = hewn_compile(nullptr, &desc, &options, &op, error);
            hewn_destroy_operator(op);
            return status;
        });
    };
    for (hewn_quantized_activation each = 0; each <= HEWN_QUANTIZED_ACTIVATION_RELU_N1_TO_1; each++)
        EXPECT_EQ(compiled(each).status, HEWN_STATUS_OK);
    EXPECT_EQ(compiled(HEWN_QUANTIZED_ACTIVATION_NONE, HEWN_FEATURE_LEVEL_6_4).status,
              HEWN_STATUS_OK);
    EXPECT_TRUE(refused(
        compiled(HEWN_QUANTIZED_ACTIVATION_RELU6, HEWN_FEATURE_LEVEL_6_4), UNSUPPORTED,
        {"QUANTIZED_LINEAR_ADD: activation RELU6 needs feature level hewn, compiled at 6.4"}));
    EXPECT_TRUE(
        refused(compiled(4), INVALID,
                {"QUANTIZED_LINEAR_ADD: activation 4 is none of 0 (NONE) to 3 (RELU_N1_TO_1)"}));
}

TEST(Tables, AddTypes) { all_types(ADD, false); }
TEST(Tables, Add1Types) { all_types(ADD1, false); }
TEST(Tables, QuantizeLinearTypes) { all_types(QUANTIZE, true); }
TEST(Tables, DequantizeLinearTypes) { all_types(DEQUANTIZE, true); }

TEST(Tables, QuantizeTypes) { all_types(QUANTIZE_63, true); }
TEST(Tables, DequantizeTypes) { all_types(DEQUANTIZE_63, true); }

TEST(Tables, QuantizedLinearAddTypes) {
    // Every set of types that is accepted, and each of them with one tensor of every other type.
    for (const hewn_feature_level level : LEVELS) {
        for (int mask = 0; mask < 128; mask++) {
            const bool wide = mask >> 6;
            // Below 4.0, wide types are refused for two causes. The message then tells that the
            // operator does not exist.
            const bool one_cause = !wide || level >= HEWN_FEATURE_LEVEL_4_0;
            const auto number = [&](int bit) {
                return mask >> bit & 1 ? (wide ? U16 : U8) : wide ? I16 : I8;
            };
            const auto zero = [&](int bit, hewn_data_type type) {
                return mask >> bit & 1 ? type : 0;
            };
            const Types types = {number(0),          F32, zero(3, number(0)), number(1), F32,
                                 zero(4, number(1)), F32, zero(5, number(2)), number(2)};
            ASSERT_TRUE(agrees(QADD, types, 4, level, one_cause));
            for (size_t i = 0; i < types.size(); i++) {
                for (const hewn_data_type type : ALL_TYPES) {
                    Types other = types;
                    other[i] = type;
                    ASSERT_TRUE(agrees(QADD, other, 4, level, one_cause));
                }
            }
        }
    }
}

TEST(Tables, DimensionCounts) {
    for (const Operator &op : OPERATORS) {
        for (const hewn_feature_level level : LEVELS) {
            for (uint32_t rank = 0; rank <= 9; rank++)
                ASSERT_TRUE(agrees(op, op.types, rank, level, accepted(op.op, op.types, 4, level)));
        }
    }
}

// If there is one cause, the message names the tensor, its type and the level that has it.
TEST(Tables, MessagesNameTheLevel) {
    EXPECT_TRUE(refused(try_compile(ADD.op, tensors_of(ADD.op, {I8, I8, I8}), 0x4100), UNSUPPORTED,
                        {"ATensor", "INT8", "5.1"}));
    EXPECT_TRUE(refused(
        try_compile(QADD.op, tensors_of(QADD.op, {U8, F32, U8, I16, F32, I16, F32, U8, U8})),
        UNSUPPORTED, {"BTensor: INT16 with ATensor's UINT8 is not supported", "same width"}));
    // If no level has a type, the message says what there is instead.
    EXPECT_TRUE(refused(
        try_compile(QUANTIZE.op, tensors_of(QUANTIZE.op, {U8, F32, U8, U8}), 0x6400), UNSUPPORTED,
        {"InputTensor: UINT8 is not supported; feature level 6.4 has FLOAT32, FLOAT16, INT32"}));
    EXPECT_TRUE(refused(try_compile(ADD.op, tensors_of(ADD.op, {F64, F64, F64}), 0x6400),
                        UNSUPPORTED, {"ATensor: FLOAT64 is not supported", "UINT64, INT64"}));
    EXPECT_TRUE(refused(try_compile(ADD.op, tensors_of(ADD.op, {I64, I64, I64}), 0x3100),
                        UNSUPPORTED, {"ATensor", "INT64", "4.1"}));
    EXPECT_TRUE(refused(try_compile(ADD.op, tensors_of(ADD.op, {U32, U32, U32}), 0x2000),
                        UNSUPPORTED, {"ATensor", "UINT32", "2.1"}));
    EXPECT_TRUE(refused(try_compile(ADD.op, tensors_of(ADD.op, ADD.types, {7}), 0x2100),
                        UNSUPPORTED, {"dimension", "3.0"}));
    EXPECT_TRUE(
        refused(try_compile(QUANTIZE.op, tensors_of(QUANTIZE.op, {F16, F16, U8, U8}), 0x5200),
                UNSUPPORTED, {"InputTensor", "FLOAT16", "6.0"}));
    EXPECT_TRUE(
        refused(try_compile(QUANTIZE.op, tensors_of(QUANTIZE.op, {I32, F32, U8, U8}), 0x2000),
                UNSUPPORTED, {"InputTensor", "INT32", "2.1"}));
    EXPECT_TRUE(
        refused(try_compile(QUANTIZE.op, tensors_of(QUANTIZE.op, {F32, F32, I8, I8}), 0x1000),
                UNSUPPORTED, {"INT8", "2.1"}));
    EXPECT_TRUE(
        refused(try_compile(QUANTIZE.op, tensors_of(QUANTIZE.op, {F32, F32, 0, U8}), 0x6000),
                UNSUPPORTED, {"ZeroPointTensor", "6.2"}));
    EXPECT_TRUE(
        refused(try_compile(DEQUANTIZE.op, tensors_of(DEQUANTIZE.op, {U8, F32, 0, F32}), 0x6100),
                UNSUPPORTED, {"ZeroPointTensor", "6.2"}));
    EXPECT_TRUE(
        refused(try_compile(DEQUANTIZE.op, tensors_of(DEQUANTIZE.op, {I16, F32, I16, F32}), 0x1000),
                UNSUPPORTED, {"InputTensor", "INT16", "2.1"}));
    EXPECT_TRUE(
        refused(try_compile(DEQUANTIZE.op, tensors_of(DEQUANTIZE.op, {U8, F16, U8, F16}), 0x5200),
                UNSUPPORTED, {"ScaleTensor", "FLOAT16", "6.0"}));
    for (const hewn_feature_level level : {0x1000, 0x2000, 0x2100, 0x3000, 0x3100}) {
        EXPECT_TRUE(refused(try_compile(QADD.op, tensors_of(QADD.op, QADD.types), level),
                            UNSUPPORTED,
                            {"QUANTIZED_LINEAR_ADD", "needs feature level 4.0",
                             "compiled at " + level_name(level)}));
    }
    EXPECT_TRUE(refused(try_compile(ADD.op, tensors_of(ADD.op, {F64, F64, F64})), UNSUPPORTED,
                        {"ATensor", "FLOAT64"}));
    for (const Operator &op : {QUANTIZE_63, DEQUANTIZE_63})
        EXPECT_TRUE(refused(try_compile(op.op, tensors_of(op.op, op.types), 0x6200), UNSUPPORTED,
                            {op.name, "needs feature level 6.3", "compiled at 6.2"}));
}

TEST(Tables, UnknownLevels) {
    for (const hewn_feature_level level :
         {1, 0x0fff, 0x1100, 0x2200, 0x3200, 0x5300, 0x6500, 0x7000, 0x6401, 0xffff, 0x10001,
          0x11000, -1, INT32_MIN}) {
        EXPECT_TRUE(
            refused(try_compile(ADD.op, tensors_of(ADD.op, ADD.types), level), INVALID, {"level"}))
            << level;
    }
}

// ---- Rules that no level lifts ------------------------------------------------------------------

// Applies `change` to each tensor of each operator in turn, and expects a refusal that names the
// tensor. `concerns` says which tensors take part.
void each_tensor(
    const std::function<void(Spec &)> &change, hewn_status status,
    const std::vector<std::string> &words,
    const std::function<bool(const Operator &, size_t)> &concerns = [](const Operator &, size_t) {
        return true;
    }) {
    for (const Operator &op : OPERATORS) {
        for (size_t i = 0; i < op.types.size(); i++) {
            if (op.types[i] == 0 || !concerns(op, i)) continue;
            auto tensors = tensors_of(op.op, op.types);
            change(*tensors[i]);
            std::vector<std::string> all = words;
            all.push_back(op.tensors[i]);
            EXPECT_TRUE(refused(try_compile(op.op, tensors), status, all))
                << op.name << " " << op.tensors[i];
        }
    }
}

TEST(Rules, NegativeStride) {
    each_tensor(
        [](Spec &spec) {
            spec.strides = {60, 20, -5, 1};
        },
        INVALID,
        {"stride -5 of dimension 2 is negative", "copy the tensor (NumPy: np.ascontiguousarray)"});
    // It is also refused where it would have no effect: in a dimension of size 1, and in an empty
    // tensor.
    EXPECT_TRUE(refused(try_compile(ADD.op, {Spec{F32, {1}, {-1}}, Spec{F32, {1}}, Spec{F32, {1}}}),
                        INVALID, {"ATensor", "stride", "negative"}));
    EXPECT_TRUE(refused(try_compile(ADD.op, {Spec{F32, {0}}, Spec{F32, {0}, {-1}}, Spec{F32, {0}}}),
                        INVALID, {"BTensor", "stride", "negative"}));
    EXPECT_TRUE(
        refused(try_compile(ADD.op, {Spec{F32, {4}, {INT64_MIN}}, Spec{F32, {4}}, Spec{F32, {4}}}),
                INVALID, {"ATensor", "stride", "negative"}));
}

TEST(Rules, NegativeSize) {
    each_tensor([](Spec &spec) { spec.sizes[1] = -3; }, INVALID, {"size", "negative"});
}

TEST(Rules, RankNine) {
    for (const Operator &op : OPERATORS) {
        EXPECT_TRUE(
            refused(try_compile(op.op, tensors_of(op.op, op.types, std::vector<int64_t>(9, 1))),
                    INVALID, {op.tensors[0], "dimension", "8"}));
    }
    each_tensor([](Spec &spec) { spec.sizes.assign(9, 1); }, INVALID, {"dimension"});
}

TEST(Rules, DimensionCountsDiffer) {
    const auto pop_back = [](Spec &spec) { spec.sizes.pop_back(); };
    // The first tensor takes no part, because the others are compared with it.
    each_tensor(
        pop_back, INVALID, {"has 3 dimensions", "has 4; they must be equal", REPEATS},
        [](const Operator &op, size_t i) { return i > 0 && !facts(op.op).is_one_element(i); });
    each_tensor(pop_back, INVALID,
                {"has 3 dimensions", "in each dimension the size 1 or the stride 0"},
                [](const Operator &op, size_t i) { return facts(op.op).is_one_element(i); });
}

TEST(Rules, SizesDiffer) {
    each_tensor(
        [](Spec &spec) { spec.sizes[2]++; }, INVALID, {"size", REPEATS},
        [](const Operator &op, size_t i) { return i > 0 && !facts(op.op).is_one_element(i); });
    // A scale of one element does not repeat by itself: DirectML wants the input's sizes, and
    // strides of 0.
    EXPECT_TRUE(refused(
        try_compile(QUANTIZE.op, {Spec{F32, {4}}, Spec{F32, {1}}, Spec{U8, {4}}, Spec{U8, {4}}}),
        INVALID, {"ScaleTensor", "size", REPEATS}));
    EXPECT_TRUE(refused(
        try_compile(DEQUANTIZE.op, {Spec{U8, {4}}, Spec{F32, {4}}, Spec{U8, {1}}, Spec{F32, {4}}}),
        INVALID, {"ZeroPointTensor", "size"}));
}

TEST(Rules, BlocksOfWhat) {
    const auto blocked = [](Spec &spec) { spec.block_sizes.assign(spec.sizes.size(), 2); };
    const auto may_have = [](const Operator &op, size_t i) {
        const bool is_chosen = i > facts(op.op).inputs();  // a scale or zero point that is written
        return (facts(op.op).is_parameter(i) || is_chosen) && !facts(op.op).is_one_element(i);
    };
    each_tensor(blocked, INVALID, {"only scales and zero points of more than one element"},
                [&](const Operator &op, size_t i) { return !may_have(op, i); });
    each_tensor([](Spec &spec) { spec.block_sizes.assign(spec.sizes.size(), 0); }, INVALID,
                {"block size 0 of dimension 0 is less than 1"});
    for (const size_t i : {1, 2}) {
        std::vector<std::optional<Spec>> tensors = tensors_of(QUANTIZE.op, QUANTIZE.types, {4, 6});
        tensors[i]->block_sizes = {1, 3};
        EXPECT_EQ(try_compile(QUANTIZE.op, tensors).status, HEWN_STATUS_OK) << i;
        EXPECT_TRUE(refused(try_compile(QUANTIZE.op, tensors, 0x6400), UNSUPPORTED,
                            {QUANTIZE.tensors[i], "a block size needs feature level hewn"}));
        tensors[i]->strides = {INT64_MAX, INT64_MAX};
        EXPECT_TRUE(refused(try_compile(QUANTIZE.op, tensors), INVALID, {"overflow"}));
    }
}

TEST(Rules, BlocksTogether) {
    const auto compiled = [](std::vector<int64_t> scale, std::vector<int64_t> zero_point) {
        std::vector<std::optional<Spec>> tensors = tensors_of(QUANTIZE.op, QUANTIZE.types, {4, 7});
        tensors[1]->block_sizes = std::move(scale), tensors[2]->block_sizes = std::move(zero_point);
        return try_compile(QUANTIZE.op, tensors);
    };
    EXPECT_EQ(compiled({2, 3}, {2, 3}).status, HEWN_STATUS_OK);
    EXPECT_EQ(compiled({1, 3}, {2, 1}).status, HEWN_STATUS_OK);
    // One block of a whole dimension counts as none.
    EXPECT_EQ(compiled({4, 3}, {2, 3}).status, HEWN_STATUS_OK);
    EXPECT_TRUE(refused(compiled({2, 3}, {2, 4}), UNSUPPORTED,
                        {"ZeroPointTensor", "block size 4 of dimension 1", "ScaleTensor's 3"}));
    EXPECT_EQ(compiled({3, 2}, {1, 2}).status, HEWN_STATUS_OK);
    EXPECT_EQ(compiled({3, 1}, {1, 2}).status, HEWN_STATUS_OK);
    std::vector<std::optional<Spec>> tensors =
        tensors_of(QUANTIZE.op, QUANTIZE.types, {3, 3, 3, 3});
    tensors[1]->block_sizes = {2, 2, 1, 2};
    EXPECT_EQ(try_compile(QUANTIZE.op, tensors).status, HEWN_STATUS_OK);
    tensors[2]->block_sizes = {1, 1, 2, 1};
    EXPECT_TRUE(refused(try_compile(QUANTIZE.op, tensors), UNSUPPORTED,
                        {"ScaleTensor", "short in more than 3 dimensions"}));
}

// The parameters of QUANTIZE and DEQUANTIZE have sizes that divide the input's, or blocks.
TEST(Rules, SizesThatDivide) {
    for (const Operator &op : {QUANTIZE_63, DEQUANTIZE_63}) {
        for (const size_t i : {1, 2}) {
            const auto compiled = [&](const Spec &spec) {
                auto tensors = tensors_of(op.op, op.types, {4, 6});
                tensors[i] = spec;
                tensors[i]->type = op.types[i];
                return try_compile(op.op, tensors, HEWN_FEATURE_LEVEL_6_3);
            };
            for (const std::vector<int64_t> &sizes :
                 {std::vector<int64_t>{4, 6}, {2, 3}, {1, 1}, {4, 2}, {1, 6}, {2, 1}}) {
                EXPECT_EQ(compiled({F32, sizes}).status, HEWN_STATUS_OK);
                EXPECT_EQ(compiled({F32, sizes, {100, 7}}).status, HEWN_STATUS_OK);
                EXPECT_EQ(compiled({F32, sizes, {0, 0}}).status, HEWN_STATUS_OK);
            }
            EXPECT_EQ(compiled({F32, {4, 6}, {}, {2, 3}}).status, HEWN_STATUS_OK);
            EXPECT_EQ(compiled({F32, {2, 6}, {}, {1, 3}}).status, HEWN_STATUS_OK);
            EXPECT_TRUE(
                refused(compiled({F32, {4, 4}}), INVALID,
                        {op.tensors[i], "size 4 of dimension 1 does not divide InputTensor's 6"}));
            EXPECT_TRUE(refused(compiled({F32, {0, 6}}), INVALID,
                                {op.tensors[i], "size 0 of dimension 0 does not divide"}));
            EXPECT_TRUE(refused(compiled({F32, {8, 6}}), INVALID,
                                {op.tensors[i], "size 8 of dimension 0 does not divide"}));
            EXPECT_TRUE(refused(compiled({F32, {4, 3}, {}, {1, 2}}), INVALID,
                                {op.tensors[i], "size 3 of dimension 1 differs from"}));
            EXPECT_TRUE(refused(
                compiled({F32, {4, 6}, {}, {1, 4}}), INVALID,
                {op.tensors[i], "block size 4 of dimension 1 does not divide InputTensor's 6"}));
        }
        auto tensors = tensors_of(op.op, op.types, {4, 6});
        tensors[1]->sizes = {2, 3}, tensors[2]->sizes = {2, 2};
        EXPECT_TRUE(refused(try_compile(op.op, tensors), UNSUPPORTED,
                            {"ZeroPointTensor", "block size 3 of dimension 1", "ScaleTensor's 2"}));
        tensors = tensors_of(op.op, op.types, {0, 6});
        tensors[1]->sizes = {1, 3};
        EXPECT_EQ(try_compile(op.op, tensors).status, HEWN_STATUS_OK) << "empty";
    }
}

TEST(Rules, OneElementParameters) {
    const auto parameter = [](const Operator &op, size_t i) {
        return facts(op.op).is_one_element(i);
    };
    each_tensor(
        [](Spec &spec) {
            spec.sizes = {1, 2, 1, 1};
        },
        INVALID, {"expected 1 element"}, parameter);
    each_tensor(
        [](Spec &spec) {
            spec.sizes = {0, 1, 1, 1};
        },
        INVALID, {"expected 1 element"}, parameter);
    const auto empty = [](Spec &spec) { spec.sizes = {0, 1, 1, 1}, spec.strides = {0, 0, 0, 0}; };
    each_tensor(empty, INVALID, {"expected 1 element", "is empty, and ", "Tensor is not"},
                parameter);
    // A view of several elements: one stride is not 0.
    each_tensor(
        [](Spec &spec) {
            spec.sizes = {2, 3, 4, 5}, spec.strides = {0, 0, 0, 1};
        },
        INVALID, {"expected 1 element"}, parameter);
    // A view whose strides are all 0 has one element.
    auto tensors = tensors_of(QADD.op, QADD.types);
    for (const size_t i : {1, 2, 4, 5, 6, 7})
        tensors[i] = Spec{QADD.types[i], {2, 3, 4, 5}, std::vector<int64_t>(4, 0)};
    EXPECT_EQ(try_compile(QADD.op, tensors).status, HEWN_STATUS_OK);
    // Strides of dimensions of size 1 have no effect.
    tensors[1] = Spec{F32, {1, 1, 1, 1}, {7, 0, 3, 1}};
    EXPECT_EQ(try_compile(QADD.op, tensors).status, HEWN_STATUS_OK);
    tensors[1] = Spec{F32, {2, 1, 4, 1}, {0, 5, 0, 7}};
    EXPECT_EQ(try_compile(QADD.op, tensors).status, HEWN_STATUS_OK);
    tensors[1] = Spec{F32, {2, 1, 4, 1}, {0, 5, 1, 7}};
    EXPECT_TRUE(
        refused(try_compile(QADD.op, tensors), INVALID, {"AScaleTensor", "expected 1 element"}));
    tensors[1] = Spec{F32, {0, 1, 4, 1}, {0, 5, 0, 7}};  // empty, and A is not
    EXPECT_TRUE(
        refused(try_compile(QADD.op, tensors), INVALID, {"AScaleTensor", "expected 1 element"}));
    // If A is empty, such a view is empty too.
    tensors = tensors_of(QADD.op, QADD.types, {0, 4});
    for (const size_t i : {1, 2, 4, 5, 6, 7}) tensors[i] = Spec{QADD.types[i], {0, 4}, {0, 0}};
    EXPECT_EQ(try_compile(QADD.op, tensors).status, HEWN_STATUS_OK);
}

TEST(Rules, TypesThatMustAgree) {
    EXPECT_TRUE(refused(try_compile(ADD.op, tensors_of(ADD.op, {F32, F16, F32})), INVALID,
                        {"BTensor", "type"}));
    EXPECT_TRUE(refused(try_compile(ADD.op, tensors_of(ADD.op, {F32, F32, F16})), INVALID,
                        {"OutputTensor", "type"}));
    EXPECT_TRUE(refused(try_compile(ADD.op, tensors_of(ADD.op, {I32, U32, I32})), INVALID,
                        {"BTensor", "type"}));
    EXPECT_TRUE(refused(try_compile(QUANTIZE_63.op, tensors_of(QUANTIZE_63.op, {F32, F16, U8, U8})),
                        INVALID, {"ScaleTensor", "FLOAT32"}));
    EXPECT_TRUE(
        refused(try_compile(DEQUANTIZE_63.op, tensors_of(DEQUANTIZE_63.op, {U8, F32, 0, F16})),
                INVALID, {"OutputTensor", "FLOAT32"}));
    EXPECT_TRUE(refused(try_compile(QUANTIZE.op, tensors_of(QUANTIZE.op, {F32, U8, U8, U8})),
                        INVALID, {"ScaleTensor", "FLOAT32"}));
    // f16 together with f32 needs the level hewn.
    for (const hewn_data_type x : {F32, I32})
        EXPECT_TRUE(
            refused(try_compile(QUANTIZE.op, tensors_of(QUANTIZE.op, {x, F16, U8, U8}), 0x6400),
                    UNSUPPORTED,
                    {"ScaleTensor: FLOAT16 where FLOAT32 is expected needs feature level hewn"}));
    EXPECT_TRUE(refused(
        try_compile(DEQUANTIZE.op, tensors_of(DEQUANTIZE.op, {U8, F16, U8, F32}), 0x6400),
        UNSUPPORTED, {"OutputTensor: FLOAT32 where FLOAT16 is expected needs feature level hewn"}));
    EXPECT_TRUE(refused(try_compile(QUANTIZE.op, tensors_of(QUANTIZE.op, {F32, F32, I8, U8})),
                        INVALID, {"ZeroPointTensor", "type"}));
    EXPECT_TRUE(refused(try_compile(DEQUANTIZE.op, tensors_of(DEQUANTIZE.op, {U8, F32, I8, F32})),
                        INVALID, {"ZeroPointTensor", "type"}));
    EXPECT_TRUE(refused(try_compile(DEQUANTIZE.op, tensors_of(DEQUANTIZE.op, {U8, F32, U8, U8})),
                        INVALID, {"OutputTensor", "type"}));
    EXPECT_TRUE(
        refused(try_compile(QADD.op, tensors_of(QADD.op, {U8, F32, I8, I8, F32, I8, F32, U8, U8})),
                INVALID, {"AZeroPointTensor", "type"}));
    EXPECT_TRUE(
        refused(try_compile(QADD.op, tensors_of(QADD.op, {U8, F32, U8, I8, F32, U8, F32, U8, U8})),
                INVALID, {"BZeroPointTensor", "type"}));
    EXPECT_TRUE(
        refused(try_compile(QADD.op, tensors_of(QADD.op, {U8, F32, U8, I8, F32, I8, F32, I8, U8})),
                INVALID, {"OutputZeroPointTensor", "type"}));
}

TEST(Rules, UnknownTypes) {
    each_tensor([](Spec &spec) { spec.type = 14; }, INVALID, {"type", "14"});
    each_tensor([](Spec &spec) { spec.type = 32; }, INVALID, {"type", "32"});
    each_tensor([](Spec &spec) { spec.type = -1; }, INVALID, {"type", "-1"});
    each_tensor([](Spec &spec) { spec.type = HEWN_DATA_TYPE_UNKNOWN; }, INVALID, {"type"});
}

TEST(Rules, Overflow) {
    constexpr int64_t BIG = int64_t(1) << 40;
    each_tensor([](Spec &spec) { spec.sizes = {BIG, BIG, 1, 1}; }, INVALID, {"overflow"});
    each_tensor([](Spec &spec) { spec.sizes = {1, 1, 2, INT64_MAX}; }, INVALID, {"overflow"});
    each_tensor(
        [](Spec &spec) {
            spec.sizes = {2, 3, 4, 5}, spec.strides = {INT64_MAX, 20, 5, 1};
        },
        INVALID, {"overflow"});
    each_tensor(
        [](Spec &spec) {
            spec.sizes = {2, 3, 4, 5}, spec.strides = {INT64_MAX / 2, INT64_MAX / 4, 5, 1};
        },
        INVALID, {"overflow"});
    // There are more elements than 63 bits can count, although the inputs broadcast.
    EXPECT_TRUE(refused(try_compile(ADD.op, {Spec{F32, {BIG, BIG}, {0, 0}},
                                             Spec{F32, {BIG, BIG}, {0, 0}}, Spec{F32, {BIG, BIG}}}),
                        INVALID, {"ATensor", "overflow"}));
    // Four steps that together wrap around to 0. And more bytes of elements than 63 bits can count.
    constexpr int64_t QUARTER = int64_t(1) << 62;
    EXPECT_TRUE(
        refused(try_compile(ADD.op, {Spec{I8, {5}, {QUARTER}}, Spec{I8, {5}}, Spec{I8, {5}}}),
                INVALID, {"ATensor", "overflow"}));
    EXPECT_TRUE(refused(try_compile(ADD.op, {Spec{F32, {QUARTER}, {0}}, Spec{F32, {QUARTER}, {0}},
                                             Spec{F32, {QUARTER}}}),
                        INVALID, {"ATensor", "overflow"}));
    // An overflow of the bytes, but not of the elements.
    EXPECT_TRUE(refused(
        try_compile(ADD.op, {Spec{F32, {2}, {INT64_MAX / 4 + 1}}, Spec{F32, {2}}, Spec{F32, {2}}}),
        INVALID, {"ATensor", "overflow"}));
    // The largest stride that does not overflow, and the next one. With it, the offset of the last
    // element still has 63 bits, but the number of bytes does not.
    EXPECT_EQ(
        try_compile(ADD.op, {Spec{I8, {2}, {INT64_MAX - 1}}, Spec{I8, {2}}, Spec{I8, {2}}}).status,
        HEWN_STATUS_OK);
    EXPECT_TRUE(
        refused(try_compile(ADD.op, {Spec{I8, {2}, {INT64_MAX}}, Spec{I8, {2}}, Spec{I8, {2}}}),
                INVALID, {"ATensor", "overflow"}));
    // Strides of dimensions of size 1 do not count, and neither do those of an empty tensor.
    EXPECT_EQ(try_compile(ADD.op,
                          {Spec{F32, {1, 4}, {INT64_MAX, 1}}, Spec{F32, {1, 4}}, Spec{F32, {1, 4}}})
                  .status,
              HEWN_STATUS_OK);
    EXPECT_EQ(try_compile(ADD.op, {Spec{F32, {0, 4}, {INT64_MAX, INT64_MAX}}, Spec{F32, {0, 4}},
                                   Spec{F32, {0, 4}}})
                  .status,
              HEWN_STATUS_OK);
}

// The largest tensors of some shapes can be planned. A sanitizer, which the 32-bit tests have,
// reports a computation that overflows.
TEST(Rules, LargestTensors) {
    for (const std::vector<int64_t> &shape : std::vector<std::vector<int64_t>>{{1},
                                                                               {1, 2},
                                                                               {2, 1},
                                                                               {3, 1, 5},
                                                                               {7, 1, 2, 4},
                                                                               {1, 1 << 20},
                                                                               {1 << 20, 1},
                                                                               {1 << 30, 1, 1},
                                                                               {1, 3, 1 << 20}}) {
        // The first dimension of size 1 gets the elements that the others leave.
        const auto sizes_of = [&](int64_t elements) {
            std::vector<int64_t> sizes = shape;
            for (const int64_t size : shape) elements /= size;
            *std::find(sizes.begin(), sizes.end(), 1) = elements;
            return sizes;
        };
        const auto transposed = [](const std::vector<int64_t> &sizes) {
            std::vector<int64_t> strides(sizes.size(), 1);
            for (size_t d = 1; d < sizes.size(); d++) strides[d] = strides[d - 1] * sizes[d - 1];
            return strides;
        };
        const std::vector<int64_t> bytes = sizes_of(INT64_MAX), words = sizes_of(INT64_MAX / 4),
                                   none(shape.size(), 0);
        const auto compiles = [&](const Operator &op,
                                  const std::vector<std::optional<Spec>> &tensors) {
            const Outcome outcome = try_compile(op.op, tensors);
            EXPECT_EQ(outcome.status, HEWN_STATUS_OK)
                << op.name << " " << testing::PrintToString(shape) << outcome;
        };
        compiles(ADD, {Spec{I8, bytes}, Spec{I8, bytes}, Spec{I8, bytes}});
        compiles(ADD, {Spec{I8, bytes, none}, Spec{I8, bytes, transposed(bytes)}, Spec{I8, bytes}});
        compiles(ADD, {Spec{F32, words, transposed(words)}, Spec{F32, words}, Spec{F32, words}});
        for (const std::vector<int64_t> &strides : {none, transposed(words)}) {
            compiles(QUANTIZE, {Spec{F32, words}, Spec{F32, words, strides},
                                Spec{U8, words, strides}, Spec{U8, words}});
            compiles(DEQUANTIZE, {Spec{U8, words}, Spec{F32, words, strides},
                                  Spec{U8, words, strides}, Spec{F32, words}});
        }
        const std::vector<int64_t> one(shape.size(), 1);
        const Spec q{U8, bytes}, scale{F32, one}, zero_point{U8, one};
        compiles(QADD, {q, scale, zero_point, q, scale, zero_point, scale, zero_point, q});
    }
}

TEST(Rules, OutputStridesThatOverlap) {
    const auto with_output = [](const Operator &op, const std::vector<int64_t> &sizes,
                                std::vector<int64_t> strides) {
        auto tensors = tensors_of(op.op, op.types, sizes);
        tensors[facts(op.op).inputs()]->strides = std::move(strides);
        return try_compile(op.op, tensors);
    };
    for (const Operator &op : OPERATORS) {
        for (const auto &[sizes, strides] :
             std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>>{
                 {{4}, {0}},        // one element for all
                 {{3, 4}, {0, 1}},  // broadcast
                 {{3, 4}, {1, 1}},  // windows
                 {{3, 4}, {3, 1}},  // rows that meet
                 {{3, 4}, {2, 2}},
                 {{2, 3, 4}, {12, 4, 2}},  // the inner two collide
                 // Each stride exceeds the one before, but not all before it together.
                 {{2, 2, 2}, {3, 2, 1}},
                 // The elements are distinct, but the rule does not prove it.
                 {{3, 4}, {2, 3}},
                 {{4, 3}, {3, 4}}}) {
            EXPECT_TRUE(refused(with_output(op, sizes, strides), INVALID,
                                {"OutputTensor", "stride", "overlap"}))
                << op.name;
        }
        for (const auto &[sizes, strides] :
             std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>>{
                 {{4}, {1}},
                 {{4}, {3}},
                 {{3, 4}, {4, 1}},
                 {{3, 4}, {1, 3}},
                 {{3, 4}, {1, 17}},
                 {{3, 4}, {9, 2}},
                 {{2, 3, 4}, {1, 8, 2}},
                 {{1, 4}, {0, 1}},  // a dimension of size 1 may have any stride
                 {{1, 1}, {0, 0}},
                 {{0, 4}, {0, 0}}}) {
            EXPECT_EQ(with_output(op, sizes, strides).status, HEWN_STATUS_OK) << op.name;
        }
    }
}

// Inputs may have any strides >= 0.
TEST(Rules, InputStridesMayOverlap) {
    for (const Operator &op : OPERATORS) {
        for (const std::vector<int64_t> &strides :
             {std::vector<int64_t>{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 3}, {0, 7}}) {
            auto tensors = tensors_of(op.op, op.types, {3, 4});
            for (size_t i = 0; i < facts(op.op).inputs(); i++) {
                if (!facts(op.op).is_one_element(i)) tensors[i]->strides = strides;
            }
            EXPECT_EQ(try_compile(op.op, tensors).status, HEWN_STATUS_OK) << op.name;
        }
    }
}

TEST(Rules, EmptyAndRankZero) {
    for (const Operator &op : OPERATORS) {
        EXPECT_EQ(try_compile(op.op, tensors_of(op.op, op.types, {})).status, HEWN_STATUS_OK)
            << op.name;
        EXPECT_EQ(try_compile(op.op, tensors_of(op.op, op.types, {0})).status, HEWN_STATUS_OK)
            << op.name;
        EXPECT_EQ(try_compile(op.op, tensors_of(op.op, op.types, {3, 0, 5})).status, HEWN_STATUS_OK)
            << op.name;
    }
}

// ---- Null pointers, struct_size, enumerators ----------------------------------------------------

TEST(Rules, NullTensors) {
    for (const Operator &op : OPERATORS) {
        for (size_t i = 0; i < op.types.size(); i++) {
            auto tensors = tensors_of(op.op, op.types);
            if (!tensors[i]) continue;
            tensors[i].reset();
            // Whether an output is required may depend on a mode, or on another tensor.
            const bool depends = i >= facts(op.op).inputs() &&
                                 tensor_info_of(op.op, i, HEWN_FEATURE_LEVEL_NEWEST).optional;
            if (optional_tensor(op, i))
                EXPECT_EQ(try_compile(op.op, tensors).status, HEWN_STATUS_OK);
            else if (depends)
                EXPECT_TRUE(
                    refused(try_compile(op.op, tensors), INVALID, {op.tensors[i], "is missing"}));
            else
                EXPECT_TRUE(refused(try_compile(op.op, tensors), INVALID, {op.tensors[i], "null"}));
        }
    }
}

// Calls hewn_compile with structs that a test changes.
class RawCompile : public testing::Test {
protected:
    Outcome run(const hewn_operator_desc *operator_desc,
                const hewn_compile_options *options = nullptr) {
        hewn_operator *op = untouched<hewn_operator>();
        const Outcome outcome = outcome_of([&](hewn_error *error) {
            return hewn_compile(nullptr, operator_desc, options, &op, error);
        });
        EXPECT_EQ(op != untouched<hewn_operator>(), outcome.status == HEWN_STATUS_OK);
        if (outcome.status == HEWN_STATUS_OK) hewn_destroy_operator(op);
        return outcome;
    }
    Outcome run() { return run(&operator_desc); }

    int64_t size = 4;
    hewn_tensor_desc tensor = {sizeof tensor, F32, 1, &size, nullptr, nullptr};
    hewn_add_desc add = {sizeof add, &tensor, &tensor, &tensor};
    hewn_operator_desc operator_desc = {sizeof operator_desc, HEWN_OPERATOR_ADD, &add};
    hewn_compile_options options = compile_options();
};

TEST_F(RawCompile, NullPointers) {
    ASSERT_EQ(run().status, HEWN_STATUS_OK);
    EXPECT_TRUE(refused(run(nullptr), INVALID, {"null"}));
    EXPECT_TRUE(refused(outcome_of([&](hewn_error *error) {
                            return hewn_compile(nullptr, &operator_desc, nullptr, nullptr, error);
                        }),
                        INVALID, {"null"}));
    operator_desc.desc = nullptr;
    EXPECT_TRUE(refused(run(), INVALID, {"null"}));
    operator_desc.desc = &add;
    tensor.sizes = nullptr;
    EXPECT_TRUE(refused(run(), INVALID, {"ATensor", "sizes", "null"}));
    tensor.dimension_count = 0;
    EXPECT_EQ(run().status, HEWN_STATUS_OK) << "rank 0 needs no sizes";
}

TEST_F(RawCompile, NullErrorIsAllowed) {
    hewn_operator *op = nullptr;
    EXPECT_EQ(hewn_compile(nullptr, nullptr, nullptr, &op, nullptr), INVALID);
    tensor.data_type = 99;
    EXPECT_EQ(hewn_compile(nullptr, &operator_desc, nullptr, &op, nullptr), INVALID);
    EXPECT_EQ(op, nullptr);
}

// An error whose struct_size is too small is not written.
TEST_F(RawCompile, ErrorOfUnknownSizeIsUntouched) {
    hewn_error error;
    std::memset(&error, SENTINEL, sizeof error);
    error.struct_size = 4;
    const hewn_error before = error;
    hewn_operator *op = nullptr;
    EXPECT_EQ(hewn_compile(nullptr, nullptr, nullptr, &op, &error), INVALID);
    EXPECT_EQ(std::memcmp(&error, &before, sizeof error), 0);
}

TEST_F(RawCompile, StructSizes) {
    operator_desc.struct_size = 0;
    EXPECT_TRUE(refused(run(), INVALID, {"struct_size"}));
    operator_desc.struct_size = sizeof operator_desc - 1;
    EXPECT_TRUE(refused(run(), INVALID, {"struct_size"}));
    operator_desc.struct_size = sizeof operator_desc;
    add.struct_size--;
    EXPECT_TRUE(refused(run(), INVALID, {"ADD", "struct_size"}));
    add.struct_size++;
    // Smaller than the first version of hewn_tensor_desc.
    tensor.struct_size = offsetof(hewn_tensor_desc, block_sizes) - 1;
    EXPECT_TRUE(refused(run(), INVALID, {"ATensor", "struct_size"}));
    tensor.struct_size = sizeof tensor;
    // Smaller than the first version of hewn_compile_options.
    options.struct_size = offsetof(hewn_compile_options, constants) - 1;
    EXPECT_TRUE(refused(run(&operator_desc, &options), INVALID, {"struct_size"}));
    options.struct_size = sizeof options;
    // Larger structs come from callers that were built with a later header.
    operator_desc.struct_size += 8;
    add.struct_size += 8;
    tensor.struct_size += 8;
    options.struct_size += 8;
    EXPECT_EQ(run(&operator_desc, &options).status, HEWN_STATUS_OK);
}

// A struct of a later header: the one that this library knows, and more members. Expects that these
// are not written.
template<class Struct>
struct Later {
    Struct known = {};
    uint64_t more = 0x5a5a5a5a5a5a5a5a;

    Later() { known.struct_size = sizeof(Later); }
    ~Later() { EXPECT_EQ(more, 0x5a5a5a5a5a5a5a5a) << "wrote what it does not know"; }
};

TEST_F(RawCompile, StructsOfALaterHeader) {
    Later<hewn_error> error;
    hewn_operator *op = nullptr;
    EXPECT_EQ(hewn_compile(nullptr, nullptr, nullptr, &op, &error.known), INVALID);
    EXPECT_EQ(error.known.status, INVALID);
    EXPECT_NE(error.known.message[0], '\0');

    Later<hewn_target_info> target;
    EXPECT_EQ(hewn_get_target(0, &target.known), HEWN_STATUS_OK);
    EXPECT_NE(target.known.name, nullptr);
    Later<hewn_variant_info> variant;
    EXPECT_EQ(hewn_get_variant(0, &variant.known), HEWN_STATUS_OK);
    EXPECT_NE(variant.known.name, nullptr);
    Later<hewn_device_info> info;
    EXPECT_EQ(hewn_get_device(HEWN_DEVICE_CPU, 0, &info.known, nullptr), HEWN_STATUS_OK);
    EXPECT_EQ(info.known.struct_size, sizeof info);

    Later<hewn_cpu_device_desc> device_desc;
    hewn_device *device = nullptr;
    EXPECT_EQ(hewn_create_cpu_device(&device_desc.known, &device, nullptr), HEWN_STATUS_OK);
    hewn_destroy_device(device);

    ASSERT_EQ(hewn_compile(nullptr, &operator_desc, nullptr, &op, nullptr), HEWN_STATUS_OK);
    float memory[4] = {1, 2, 3, 4}, sum[4];
    const hewn_buffer_binding input = {sizeof input, memory, 0, sizeof memory},
                              output = {sizeof output, sum, 0, sizeof sum};
    const hewn_buffer_binding inputs[] = {input, input};
    Later<hewn_execute_options> execute_options;
    EXPECT_EQ(hewn_execute(op, inputs, 2, &output, 1, &execute_options.known, nullptr),
              HEWN_STATUS_OK);
    EXPECT_EQ(sum[3], 8);
    hewn_destroy_operator(op);
}

TEST_F(RawCompile, StructSizeOfEveryDesc) {
    const auto too_small = [&](hewn_operator_type type, auto desc, const char *name,
                               size_t first_version = sizeof(decltype(desc))) {
        desc.struct_size = uint32_t(first_version - 1);
        const hewn_operator_desc wrapped = {sizeof wrapped, type, &desc};
        EXPECT_TRUE(refused(run(&wrapped), INVALID, {name, "struct_size"}));
    };
    too_small(HEWN_OPERATOR_ADD, hewn_add_desc{}, "ADD");
    too_small(HEWN_OPERATOR_ADD1, hewn_add1_desc{}, "ADD1", offsetof(hewn_add1_desc, activation));
    too_small(HEWN_OPERATOR_QUANTIZE_LINEAR, hewn_quantize_linear_desc{}, "QUANTIZE_LINEAR",
              offsetof(hewn_quantize_linear_desc, precision));
    too_small(HEWN_OPERATOR_DEQUANTIZE_LINEAR, hewn_dequantize_linear_desc{}, "DEQUANTIZE_LINEAR");
    too_small(HEWN_OPERATOR_QUANTIZE, hewn_quantize_desc{}, "QUANTIZE");
    too_small(HEWN_OPERATOR_DEQUANTIZE, hewn_dequantize_desc{}, "DEQUANTIZE");
    too_small(HEWN_OPERATOR_QUANTIZED_LINEAR_ADD, hewn_quantized_linear_add_desc{},
              "QUANTIZED_LINEAR_ADD", offsetof(hewn_quantized_linear_add_desc, activation));
}

TEST_F(RawCompile, UnknownOperator) {
    for (const hewn_operator_type type : {0, 5, -1, INT32_MAX}) {
        operator_desc.type = type;
        EXPECT_TRUE(refused(run(), INVALID, {"operator"})) << type;
    }
}

TEST_F(RawCompile, NegativeMaxThreads) {
    options.max_threads = -1;
    EXPECT_TRUE(refused(run(&operator_desc, &options), INVALID, {"max_threads"}));
}

// ---- hewn_tensor_size ---------------------------------------------------------------------------

TEST(TensorSize, IsTheSpanInBytes) {
    const auto bytes = [](const Spec &spec) {
        const hewn_tensor_desc desc = spec.desc();
        uint64_t result = ~uint64_t(0);
        EXPECT_EQ(hewn_tensor_size(&desc, &result, nullptr), HEWN_STATUS_OK);
        return result;
    };
    EXPECT_EQ(bytes({F32, {}}), 4u);
    EXPECT_EQ(bytes({F16, {3}}), 6u);  // not rounded up to 4
    EXPECT_EQ(bytes({U8, {2, 3}}), 6u);
    EXPECT_EQ(bytes({I64, {2, 3}, {10, 2}}), (10u + 4 + 1) * 8);
    EXPECT_EQ(bytes({F32, {100, 100}, {0, 0}}), 4u);
    EXPECT_EQ(bytes({F32, {0}}), 0u);
    EXPECT_EQ(bytes({F32, {5, 0, 3}}), 0u);
    EXPECT_EQ(bytes({I8, {1, 4}, {1000, 1}}), 4u);
    EXPECT_EQ(bytes({I8, {int64_t(1) << 40}}), uint64_t(1) << 40);
    EXPECT_EQ(bytes({U4, {3, 5}}), 8u);  // rows begin within a byte
    EXPECT_EQ(bytes({U4, {3, 5}, {6, 1}}), 9u);
    EXPECT_EQ(bytes({U4, {0, 5}}), 0u);
    EXPECT_EQ(bytes({I2, {9}}), 3u);
    EXPECT_EQ(bytes({I2, {INT64_MAX}}), uint64_t(INT64_MAX) / 4 + 1);
    EXPECT_EQ(bytes({F8, {3, 5}}), 15u);
    EXPECT_EQ(bytes({F4, {3, 5}}), 8u);
    for (int64_t elements = 1; elements <= 9; elements++)
        EXPECT_EQ(bytes({F6, {elements}}), uint64_t(elements * 6 + 7) / 8) << elements;
    EXPECT_EQ(bytes({F6, {2, 3}, {5, 1}}), 6u);  // from element 0 to element 7
    EXPECT_EQ(bytes({F6, {0}}), 0u);
    EXPECT_EQ(bytes({F6, {INT64_MAX}}), (uint64_t(INT64_MAX) / 4 + 1) * 3);
    EXPECT_EQ(bytes({F64, {2}}), 16u);  // known, though no operator takes it
    // 2 x 3 blocks, contiguous and not; a single block; an empty tensor; and a description of the
    // first version, which has no blocks.
    EXPECT_EQ(bytes({F32, {4, 5}, {}, {2, 2}}), 6u * 4);
    EXPECT_EQ(bytes({F32, {4, 5}, {10, 2}, {2, 2}}), (10u + 2 * 2 + 1) * 4);
    EXPECT_EQ(bytes({F32, {4, 5}, {10, 2}, {INT64_MAX, 5}}), 4u);
    EXPECT_EQ(bytes({F32, {0, 5}, {}, {1, 2}}), 0u);
    const Spec blocked{F32, {4, 5}, {}, {2, 2}};
    hewn_tensor_desc old = blocked.desc();
    old.struct_size = offsetof(hewn_tensor_desc, block_sizes);
    uint64_t result = 0;
    EXPECT_EQ(hewn_tensor_size(&old, &result, nullptr), HEWN_STATUS_OK);
    EXPECT_EQ(result, 4u * 5 * 4);
}

TEST(TensorSize, Refuses) {
    const auto size = [](const hewn_tensor_desc *desc, uint64_t *bytes) {
        return outcome_of([&](hewn_error *error) { return hewn_tensor_size(desc, bytes, error); });
    };
    uint64_t bytes = 77;
    const Spec spec{F32, {2, 3, 4, 5}};
    const hewn_tensor_desc good = spec.desc();
    EXPECT_TRUE(refused(size(nullptr, &bytes), INVALID, {"null"}));
    EXPECT_TRUE(refused(size(&good, nullptr), INVALID, {"null"}));
    hewn_tensor_desc bad = good;
    bad.struct_size = 8;
    EXPECT_TRUE(refused(size(&bad, &bytes), INVALID, {"struct_size"}));
    bad = good;
    bad.data_type = 0;
    EXPECT_TRUE(refused(size(&bad, &bytes), INVALID, {"type"}));
    bad = good;
    bad.dimension_count = 9;
    EXPECT_TRUE(refused(size(&bad, &bytes), INVALID, {"dimension"}));
    const int64_t sizes[] = {int64_t(1) << 40, int64_t(1) << 40};
    bad = {sizeof bad, F32, 2, sizes, nullptr, nullptr};
    EXPECT_TRUE(refused(size(&bad, &bytes), INVALID, {"overflow"}));
    const Spec one_byte_beyond{U8, {2}, {INT64_MAX}};
    bad = one_byte_beyond.desc();
    EXPECT_TRUE(refused(size(&bad, &bytes), INVALID, {"overflow"}));
    EXPECT_EQ(bytes, 77u) << "a refused call wrote its result";
}

// ---- Devices ------------------------------------------------------------------------------------

void *HEWN_CALL no_memory(void *, size_t, size_t) { return nullptr; }

TEST(Device, Rules) {
    const auto create = [](const hewn_cpu_device_desc *desc) {
        hewn_device *device = untouched<hewn_device>();
        const Outcome outcome = outcome_of(
            [&](hewn_error *error) { return hewn_create_cpu_device(desc, &device, error); });
        EXPECT_EQ(device != untouched<hewn_device>(), outcome.status == HEWN_STATUS_OK);
        if (outcome.status == HEWN_STATUS_OK) hewn_destroy_device(device);
        return outcome;
    };
    EXPECT_EQ(create(nullptr).status, HEWN_STATUS_OK);
    hewn_cpu_device_desc desc{};
    EXPECT_TRUE(refused(create(&desc), INVALID, {"struct_size"}));
    desc.struct_size = sizeof desc;
    EXPECT_EQ(create(&desc).status, HEWN_STATUS_OK);
    desc.allocate = no_memory;
    EXPECT_TRUE(refused(create(&desc), INVALID, {"allocate"})) << "one hook without the other";
    desc.allocate = nullptr;
    desc.deallocate = [](void *, void *) {};
    EXPECT_TRUE(refused(create(&desc), INVALID, {"allocate"})) << "the other without the one";
    EXPECT_TRUE(refused(outcome_of([](hewn_error *error) {
                            return hewn_create_cpu_device(nullptr, nullptr, error);
                        }),
                        INVALID, {"null"}));
    hewn_destroy_device(nullptr);
    hewn_destroy_operator(nullptr);
}

TEST(Library, VersionIsTheHeaders) {
    EXPECT_EQ(hewn_version(),
              uint32_t(HEWN_VERSION_MAJOR << 16 | HEWN_VERSION_MINOR << 8 | HEWN_VERSION_PATCH));
}

}  // namespace
}  // namespace hewn_test
