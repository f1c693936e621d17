// Compares DYNAMIC_QUANTIZE, MX_QUANTIZE and NVFP4_QUANTIZE with the reference, and tests which
// descriptions they refuse.
#include <gtest/gtest.h>
#include <hewn/hewn.h>

#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../../reference/block_problems.h"
#include "../../reference/contents.h"
#include "../../reference/problems.h"
#include "../support/emulated.h"
#include "../support/execution.h"
#include "../support/executors.h"
#include "../support/runnable.h"
#include "../support/variant_fixture.h"

using namespace hewn_test;
using reference::DynamicMode;

namespace {

constexpr float INF = std::numeric_limits<float>::infinity(),
                NOT_A_NUMBER = std::numeric_limits<float>::quiet_NaN();

std::string describe(const BlockProblem &problem) {
    std::string text = "mode " + std::to_string(int(problem.mode)) + ", scale mode " +
                       std::to_string(int(problem.scale_mode)) + ", " +
                       type_name(problem.input.type) + " to " + type_name(problem.output.type) +
                       ", scale " + type_name(problem.scale.type);
    for (size_t d = 0; d < problem.input.sizes.size(); d++)
        text += "; " + std::to_string(problem.input.sizes[d]) + ":" +
                std::to_string(problem.input.strides[d]) + ":" +
                std::to_string(problem.output.strides[d]) + ":" +
                std::to_string(problem.scale.strides[d]) + "/" +
                std::to_string(problem.scale.block_size(d));
    return text;
}

// Compiles, executes, and compares all outputs and the memory around them, which is restored.
testing::AssertionResult check(BlockProblem &problem, const std::string &variant,
                               int32_t max_threads = 1, bool binds = false, bool constant = false) {
    hewn_compile_options options = compile_options(variant.c_str(), max_threads);
    const std::vector<hewn_buffer_binding> inputs = problem.input_bindings();
    if (constant) {
        options.constants = inputs.data();
        options.constant_count = uint32_t(inputs.size());
    }
    OperatorPtr op;
    hewn_device *const device = device_for(variant.c_str());
    const Outcome compiled = compile(problem.description(), &options, op, device);
    if (compiled.status != HEWN_STATUS_OK)
        return testing::AssertionFailure() << compiled << "; " << describe(problem);
    const auto expected = expected_output(problem), before = problem.images();
    std::vector<Tensor *> outputs = problem.outputs();
    outputs.resize(problem.output_count());
    const uint32_t constants = constant ? (1u << inputs.size()) - 1 : 0;
    const Outcome outcome =
        execute(op.get(), binds, problem.inputs(), outputs, nullptr, device, constants);
    const std::string difference = problem.difference(expected);
    problem.restore(before);
    if (outcome.status != HEWN_STATUS_OK) return testing::AssertionFailure() << outcome;
    return difference.empty()
               ? testing::AssertionSuccess()
               : testing::AssertionFailure() << difference << "; " << describe(problem);
}

class BlocksTest : public VariantTest {
protected:
    // The types that the variant computes.
    std::vector<hewn_data_type> output_types() const {
        std::set<hewn_data_type> types;
        for (const DataTypes &all : GetParam().all_types())
            types.insert(all[facts(GetParam().op()).inputs()]);
        return {types.begin(), types.end()};
    }
    static std::vector<hewn_data_type> float_types() {
        return {HEWN_DATA_TYPE_FLOAT32, HEWN_DATA_TYPE_FLOAT16, HEWN_DATA_TYPE_BFLOAT16};
    }
    std::vector<hewn_data_type> scale_types() const {
        return hewn_test::scale_types(GetParam().op());
    }
    bool is_dynamic() const { return GetParam().op() == HEWN_OPERATOR_DYNAMIC_QUANTIZE; }

    // A problem with the given blocks, whose tensors are contiguous.
    BlockProblem contiguous(const std::vector<int64_t> &sizes, const std::vector<int64_t> &blocks,
                            hewn_data_type input, hewn_data_type output, DynamicMode mode,
                            Random &random) const {
        BlockProblem problem{Tensor(input, sizes), Tensor(output, sizes), {}, {}, mode, 0,
                             GetParam().op()};
        set_parameters(problem, blocks, random.pick(scale_types()));
        problem.scale_mode = reference::MxScaleMode(random.integer(0, 2));
        if (problem.tensor_scale && random.one_in(2)) {
            problem.gives_tensor_scale = true;
            set_float(*problem.tensor_scale, 0, power_of_two(int(random.integer(-12, 4))) * 1.1f);
        }
        return problem;
    }
};

// Any layout and any blocks, in all types and modes.
TEST_P(BlocksTest, RandomLayouts) {
    Random random = this->random();
    for (int i = 0; i < (EMULATED ? 100 : 600); i++) {
        const hewn_data_type y = random.pick(output_types());
        BlockProblem problem = random_blocks_problem(
            GetParam().op(), random.pick(float_types()), y, random.pick(scale_types()),
            random.pick(modes_of(y)), random, random.one_in(4) ? 20000 : 600);
        ASSERT_TRUE(check(problem, GetParam().name, int32_t(random.integer(0, 3)), random.one_in(2),
                          random.one_in(4)))
            << i;
    }
}

// Rows of many lengths, each a block, and blocks along rows: the pass that computes them at once.
TEST_P(BlocksTest, RowsAndBlocksOfRows) {
    Random random = this->random();
    for (const hewn_data_type y : output_types()) {
        for (const DynamicMode mode : modes_of(y)) {
            for (const int64_t columns :
                 {1, 3, 7, 8, 16, 31, 32, 33, 64, 96, 127, 128, 200, 256, 1000, 4096, 20000}) {
                for (const int64_t block : {int64_t(16), int64_t(32), int64_t(128), columns}) {
                    if (left_out(random, 10)) continue;
                    const int64_t rows = columns > 1000 ? 3 : random.integer(1, 40);
                    BlockProblem problem =
                        contiguous({rows, columns}, {1, std::min(block, columns)},
                                   random.pick(float_types()), y, mode, random);
                    fill_normal(problem.input, random);
                    if (random.one_in(3))
                        set_float(problem.input, random.integer(0, rows * columns - 1),
                                  random.one_in(2) ? NOT_A_NUMBER : INF);
                    ASSERT_TRUE(check(problem, GetParam().name, 1, random.one_in(2)));
                }
            }
        }
    }
}

// An extreme or a NaN at every place of a row.
TEST_P(BlocksTest, ExtremesAtEveryPlace) {
    Random random = this->random();
    const hewn_data_type y = output_types()[0];
    for (int64_t columns = 1; columns <= 100; columns += columns < 40 ? 1 : 7) {
        if (left_out(random, 6)) continue;
        BlockProblem problem = contiguous({columns, columns}, {1, columns}, HEWN_DATA_TYPE_FLOAT32,
                                          y, modes_of(y)[0], random);
        for (const float value : {NOT_A_NUMBER, 5.0f, -7.0f, INF, -INF}) {
            fill(problem.input,
                 [&](int64_t i) { set_float(problem.input, i, random.unit() * 2 - 1); });
            for (int64_t i = 0; i < columns; i++) set_float(problem.input, i * columns + i, value);
            ASSERT_TRUE(check(problem, GetParam().name)) << value;
        }
    }
}

// Ranges for which a scale, a zero point or a quotient is special. Each is a row.
TEST_P(BlocksTest, SpecialRanges) {
    Random random = this->random();
    constexpr float LEAST = 0x1p-149f, MOST = 0x1.fffffep127f;
    const std::vector<std::vector<float>> rows = {
        {0, 0, 0},
        {-0.0f, -0.0f, -0.0f},
        {-0.0f, 1, -0.0f},
        {-0.0f, -1, 0},
        {NOT_A_NUMBER, NOT_A_NUMBER, NOT_A_NUMBER},
        {NOT_A_NUMBER, 1, -2},
        {INF, 1, -1},
        {-INF, 1, 0},
        {INF, -INF, 0},
        {-INF, NOT_A_NUMBER, 1},
        {MOST, -MOST, 1},
        {MOST, 0, 1},
        {LEAST, 0, -LEAST},
        {-LEAST, 0, 0},
        {255 * LEAST, -LEAST, 100 * LEAST},
        {300 * LEAST, -127 * LEAST, 0},
        {0x1p-126f, -0x1p-130f, 0x1p-128f},
        {0x1p-24f, -0x1p-25f, 0x1p-20f},
        {65504, -65504, 65520},
        {1, -1, 0.5f},
        {1.0078125f, 0.7578125f, -1},
        {3, 4, 5},
        {-3, -4, -5},
        {254.5f, -0.5f, 2.5f},
    };
    for (const hewn_data_type y : output_types()) {
        for (const DynamicMode mode : modes_of(y)) {
            for (const float min_scale : {0.0f, 1e-5f, 0x1p-140f}) {
                for (const int64_t repeats : {1, 100}) {
                    if (left_out(random, 10) || (min_scale != 0 && !is_dynamic())) continue;
                    BlockProblem problem =
                        contiguous({int64_t(rows.size()), 3 * repeats}, {1, 3 * repeats},
                                   HEWN_DATA_TYPE_FLOAT32, y, mode, random);
                    if (mode != DynamicMode::full) problem.min_scale = min_scale;
                    for (int64_t i = 0; i < int64_t(rows.size()) * 3 * repeats; i++)
                        set_float(problem.input, i, rows[size_t(i / (3 * repeats))][size_t(i % 3)]);
                    for (const hewn_data_type scale : scale_types()) {
                        set_parameters(problem, {1, 3 * repeats}, scale);
                        ASSERT_TRUE(check(problem, GetParam().name));
                    }
                }
            }
        }
    }
}

// Magnitudes with every exponent, and with fractions where a power of two for a scale changes.
TEST_P(BlocksTest, EveryExponent) {
    constexpr int64_t COLUMNS = 16;
    Random random = this->random();
    std::vector<float> largest;
    for (uint32_t exponent = 0; exponent < 255; exponent++) {
        for (uint32_t bit = 16; bit <= 23; bit++) {  // 1.1, 1.11 and so on, for all element types
            const uint32_t fraction = 0x800000 - (1u << (39 - bit));
            for (const uint32_t near : {fraction - 1, fraction, fraction + 1})
                largest.push_back(reference::from_bits(exponent << 23 | (near & 0x7fffff)));
        }
    }
    const int64_t rows = int64_t(largest.size());
    for (const hewn_data_type y : output_types()) {
        for (const auto scale_mode : {0, 1, 2}) {
            if (left_out(random, 4) || (is_dynamic() && scale_mode > 0)) continue;
            BlockProblem problem = contiguous({rows, COLUMNS}, {1, COLUMNS}, HEWN_DATA_TYPE_FLOAT32,
                                              y, modes_of(y)[0], random);
            problem.scale_mode = reference::MxScaleMode(scale_mode);
            fill(problem.input, [&](int64_t i) {
                const float most = largest[size_t(i / COLUMNS)];
                const float part = float(random.integer(-512, 512)) / 512;
                set_float(problem.input, i, i % COLUMNS == 0 ? -most : most * part);
            });
            ASSERT_TRUE(check(problem, GetParam().name));
        }
    }
}

// Each number of bf16 and of f16, not NaN, as a row's maximum, beside numbers up to it. Where
// instructions are emulated, every sixteenth one.
TEST_P(BlocksTest, AllMaximaOf16Bits) {
    constexpr int64_t COLUMNS = 64;
    Random random = this->random();
    for (const hewn_data_type x : {HEWN_DATA_TYPE_BFLOAT16, HEWN_DATA_TYPE_FLOAT16}) {
        const int infinity = x == HEWN_DATA_TYPE_BFLOAT16 ? 0x7f80 : 0x7c00;
        const hewn_data_type y = output_types()[0];
        for (const DynamicMode mode : modes_of(y)) {
            const int64_t step = EMULATED ? 16 : 1, first = random.integer(0, step - 1),
                          rows = (infinity - first) / step + 1;
            BlockProblem problem = contiguous({rows, COLUMNS}, {1, COLUMNS}, x, y, mode, random);
            for (int64_t row = 0; row < rows; row++) {
                const int64_t most = first + row * step;
                for (int64_t i = 0; i < COLUMNS; i++) {
                    const int sign = random.one_in(2) ? 0x8000 : 0;
                    // Near the maximum, as most ties are there.
                    const int64_t near = random.one_in(4) ? random.integer(0, most)
                                                          : most - random.integer(0, most / 8 + 1);
                    const uint16_t bits =
                        uint16_t(i == 0 ? most : (std::max<int64_t>(near, 0) | sign));
                    problem.input.set(row * COLUMNS + i, bits);
                }
            }
            ASSERT_TRUE(check(problem, GetParam().name));
        }
    }
}

// Tensors that several slices compute, in any order.
TEST_P(BlocksTest, Slices) {
    Random random = this->random();
    const hewn_data_type y = output_types().back();
    const DynamicMode mode = modes_of(y)[0];
    const std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>> shapes = {
        {{300, 1000}, {1, 1000}},  // rows
        {{300, 1000}, {1, 32}},    // blocks of rows, the last one short
        {{300, 1000}, {300, 1}},   // columns
        {{300, 1000}, {300, 1000}}, {{77, 1000}, {16, 16}},
        {{3, 100001}, {1, 100001}},  // rows that are longer than a box
    };
    for (const auto &[sizes, blocks] : shapes) {
        if (left_out(random, 4) || (blocks[0] > 1 && blocks[1] > 1 && !is_dynamic())) continue;
        BlockProblem problem = contiguous(sizes, blocks, HEWN_DATA_TYPE_FLOAT32, y, mode, random);
        fill_normal(problem.input, random);
        for (const int32_t slices : {1, 2, 7, 64})
            ASSERT_TRUE(check(problem, GetParam().name, slices, slices == 2)) << slices;
    }
}

INSTANTIATE_TEST_SUITE_P(, BlocksTest, testing::ValuesIn(block_variants()), variant_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BlocksTest);

// ---- What is refused ----

class BlocksErrors : public testing::Test {
protected:
    // Expects that compile refuses a description with this status and message.
    static void refused_by(hewn_operator_type op, const std::vector<std::optional<Spec>> &tensors,
                           const std::vector<int32_t> &attributes, hewn_status status,
                           const std::string &message,
                           hewn_feature_level level = HEWN_FEATURE_LEVEL_NEWEST) {
        TensorDescs descs;
        for (const auto &tensor : tensors)
            descs.push_back(tensor ? std::optional(tensor->desc()) : std::nullopt);
        hewn_compile_options options = compile_options();
        options.feature_level = level;
        OperatorPtr none;
        const Outcome outcome =
            compile(Description(op, std::move(descs), attributes), &options, none);
        EXPECT_EQ(outcome.status, status) << outcome;
        EXPECT_EQ(outcome.message, message);
    }
    static void refused(const std::vector<std::optional<Spec>> &tensors,
                        const std::vector<int32_t> &attributes, hewn_status status,
                        const std::string &message,
                        hewn_feature_level level = HEWN_FEATURE_LEVEL_NEWEST) {
        refused_by(HEWN_OPERATOR_DYNAMIC_QUANTIZE, tensors, attributes, status,
                   "DYNAMIC_QUANTIZE" + message, level);
    }

    const Spec x{HEWN_DATA_TYPE_FLOAT32, {4, 64}}, y{HEWN_DATA_TYPE_INT8, {4, 64}},
        s{HEWN_DATA_TYPE_FLOAT32, {4, 64}, {1, 0}}, z{HEWN_DATA_TYPE_INT8, {4, 64}, {1, 0}};
    static constexpr int32_t ASYMMETRIC = HEWN_QUANTIZATION_MODE_ASYMMETRIC,
                             SYMMETRIC = HEWN_QUANTIZATION_MODE_SYMMETRIC,
                             FULL = HEWN_QUANTIZATION_MODE_FULL;
    static constexpr hewn_status INVALID = HEWN_STATUS_INVALID_ARGUMENT;
};

TEST_F(BlocksErrors, Modes) {
    const Spec code{HEWN_DATA_TYPE_FLOAT8E4M3FN, {4, 64}};
    refused({x, y, s, std::nullopt}, {ASYMMETRIC}, INVALID,
            " OutputZeroPointTensor: is missing; the mode ASYMMETRIC has a zero point");
    refused({x, y, s, z}, {SYMMETRIC}, INVALID,
            " OutputZeroPointTensor: is given; only the mode ASYMMETRIC has a zero point");
    for (const int32_t mode : {ASYMMETRIC, FULL})
        refused({x, code, s, std::nullopt}, {mode}, INVALID,
                " OutputTensor: is FLOAT8E4M3FN; floats take the mode SYMMETRIC only");
    refused({x, y, s, z}, {3}, INVALID, ": mode 3 is none of 0 (ASYMMETRIC) to 2 (FULL)");
}

TEST_F(BlocksErrors, MinScale) {
    const auto bits = [](float value) { return int32_t(reference::to_bits(value)); };
    refused({x, y, s, z}, {ASYMMETRIC, bits(-1)}, INVALID,
            ": min_scale is negative, expected 0 or more");
    refused({x, y, s, z}, {ASYMMETRIC, bits(NOT_A_NUMBER)}, INVALID,
            ": min_scale is NaN, must be a number");
    refused({x, y, s, std::nullopt}, {FULL, bits(1)}, INVALID,
            ": min_scale is not 0, but mode FULL does not have it");
}

TEST_F(BlocksErrors, Blocks) {
    const Spec apart{HEWN_DATA_TYPE_INT8, {4, 64}, {2, 1}, {1, 32}},
        blocks{HEWN_DATA_TYPE_FLOAT32, {4, 64}, {4, 1}, {1, 16}},
        overlapping{HEWN_DATA_TYPE_FLOAT32, {4, 64}, {1, 1}, {1, 16}},
        of_output{HEWN_DATA_TYPE_INT8, {4, 64}, {2, 1}, {1, 32}};
    refused({x, y, s, apart}, {ASYMMETRIC}, INVALID,
            " OutputZeroPointTensor: has several blocks in dimension 1, and OutputScaleTensor has "
            "one");
    refused({x, y, blocks, apart}, {ASYMMETRIC}, HEWN_STATUS_UNSUPPORTED,
            " OutputZeroPointTensor: block size 32 of dimension 1 differs from OutputScaleTensor's "
            "16");
    refused({x, y, overlapping, std::nullopt}, {SYMMETRIC}, INVALID,
            " OutputScaleTensor: strides overlap; sorted, each must exceed the span of all smaller "
            "dimensions, and be above 0");
    refused({x, of_output, s, std::nullopt}, {SYMMETRIC}, INVALID,
            " OutputTensor: has block sizes above 1; only scales and zero points of more than one "
            "element may have them");
    const std::vector<int64_t> four(4, 3), twos(4, 2);
    const Spec large{HEWN_DATA_TYPE_FLOAT32, four}, large_y{HEWN_DATA_TYPE_INT8, four},
        short_blocks{HEWN_DATA_TYPE_FLOAT32, four, {}, twos};
    refused({large, large_y, short_blocks, std::nullopt}, {SYMMETRIC}, HEWN_STATUS_UNSUPPORTED,
            " OutputScaleTensor: the last block is short in more than 3 dimensions");
}

TEST_F(BlocksErrors, TypesAndLevels) {
    const Spec integers{HEWN_DATA_TYPE_INT32, {4, 64}};
    refused({integers, y, s, z}, {ASYMMETRIC}, HEWN_STATUS_UNSUPPORTED,
            " InputTensor: INT32 is not supported; feature level hewn has FLOAT32, FLOAT16, "
            "BFLOAT16");
    refused({x, y, s, z}, {ASYMMETRIC}, HEWN_STATUS_UNSUPPORTED,
            ": needs feature level hewn, compiled at 6.2", HEWN_FEATURE_LEVEL_6_2);
}

TEST_F(BlocksErrors, Mx) {
    const Spec f{HEWN_DATA_TYPE_FLOAT8E4M3FN, {4, 64}},
        power{HEWN_DATA_TYPE_FLOAT8E8M0, {4, 64}, {2, 1}, {1, 32}};
    const auto refused = [](const std::vector<std::optional<Spec>> &tensors, int32_t mode,
                            hewn_status status, const std::string &message) {
        refused_by(HEWN_OPERATOR_MX_QUANTIZE, tensors, {mode}, status, "MX_QUANTIZE" + message);
    };
    refused({x, f, power}, 3, INVALID, ": scale_mode 3 is none of 0 (FLOOR) to 2 (EVEN)");
    refused({x, f, s}, 0, HEWN_STATUS_UNSUPPORTED,
            " OutputScaleTensor: FLOAT32 is not supported; feature level hewn has FLOAT8E8M0");
    refused({x, f, std::nullopt}, 0, INVALID, " OutputScaleTensor: is null");
    const Spec whole{HEWN_DATA_TYPE_FLOAT8E8M0, {4, 64}, {0, 0}};
    refused({x, f, whole}, 0, HEWN_STATUS_UNSUPPORTED,
            " OutputScaleTensor: has blocks along 2 dimensions, expected blocks along one");
}

TEST_F(BlocksErrors, Nvfp4) {
    const Spec f{HEWN_DATA_TYPE_FLOAT4E2M1, {4, 64}},
        scale{HEWN_DATA_TYPE_FLOAT8E4M3FN, {4, 64}, {4, 1}, {1, 16}},
        one{HEWN_DATA_TYPE_FLOAT32, {1, 1}};
    const auto refused = [](const std::vector<std::optional<Spec>> &tensors, hewn_status status,
                            const std::string &message) {
        refused_by(HEWN_OPERATOR_NVFP4_QUANTIZE, tensors, {}, status, "NVFP4_QUANTIZE" + message);
    };
    refused({x, one, f, scale, one}, INVALID,
            " OutputTensorScaleTensor: is given, and TensorScaleTensor is, too; expected one of "
            "them");
    refused({x, std::nullopt, f, scale, std::nullopt}, INVALID,
            " OutputTensorScaleTensor: is missing, and TensorScaleTensor is, too; expected one of "
            "them");
    refused({x, one, y, scale, std::nullopt}, HEWN_STATUS_UNSUPPORTED,
            " OutputTensor: INT8 is not supported; feature level hewn has FLOAT4E2M1");
}

}  // namespace
