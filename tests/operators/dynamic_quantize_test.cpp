// Compares DYNAMIC_QUANTIZE with the reference, and tests which descriptions it refuses.
#include <gtest/gtest.h>
#include <hewn/hewn.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../../reference/contents.h"
#include "../../reference/dynamic_blocks.h"
#include "../../reference/problems.h"
#include "../support/emulated.h"
#include "../support/execution.h"
#include "../support/executors.h"
#include "../support/variant_fixture.h"

using namespace hewn_test;
using reference::DynamicMode;

namespace {

constexpr float INF = std::numeric_limits<float>::infinity(),
                NOT_A_NUMBER = std::numeric_limits<float>::quiet_NaN();

std::string describe(const DynamicBlocks &problem) {
    std::string text = "mode " + std::to_string(int(problem.mode)) + ", " +
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
testing::AssertionResult check(DynamicBlocks &problem, const std::string &variant,
                               int32_t max_threads = 1, bool binds = false, bool constant = false) {
    hewn_compile_options options = compile_options(variant.c_str(), max_threads);
    const hewn_buffer_binding input = problem.input.binding();
    if (constant) {
        options.constants = &input;
        options.constant_count = 1;
    }
    OperatorPtr op;
    hewn_device *const device = device_for(variant.c_str());
    const Outcome compiled = compile(problem.description(), &options, op, device);
    if (compiled.status != HEWN_STATUS_OK)
        return testing::AssertionFailure() << compiled << "; " << describe(problem);
    const auto expected = expected_output(problem), before = problem.images();
    std::vector<Tensor *> outputs = problem.outputs();
    if (!problem.zero_point) outputs.push_back(nullptr);
    const Outcome outcome =
        execute(op.get(), binds, {&problem.input}, outputs, nullptr, device, constant);
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
        const hewn_data_type own = GetParam().types()[1];
        if (is_code(own)) return {HEWN_DATA_TYPE_FLOAT8E4M3FN, HEWN_DATA_TYPE_FLOAT8E5M2};
        return {own, own == HEWN_DATA_TYPE_INT8 ? HEWN_DATA_TYPE_INT4 : HEWN_DATA_TYPE_UINT4};
    }
    static std::vector<hewn_data_type> float_types() {
        return {HEWN_DATA_TYPE_FLOAT32, HEWN_DATA_TYPE_FLOAT16, HEWN_DATA_TYPE_BFLOAT16};
    }

    // A problem with the given blocks, whose tensors are contiguous.
    DynamicBlocks contiguous(const std::vector<int64_t> &sizes, const std::vector<int64_t> &blocks,
                             hewn_data_type input, hewn_data_type output, DynamicMode mode,
                             hewn_data_type scale = HEWN_DATA_TYPE_FLOAT32) const {
        DynamicBlocks problem{Tensor(input, sizes), Tensor(output, sizes), {}, {}, mode, 0};
        set_parameters(problem, blocks, scale);
        return problem;
    }
};

// Any layout and any blocks, in all types and modes.
TEST_P(BlocksTest, RandomLayouts) {
    Random random = this->random();
    for (int i = 0; i < (EMULATED ? 100 : 600); i++) {
        const hewn_data_type y = random.pick(output_types());
        DynamicBlocks problem =
            random_blocks_problem(random.pick(float_types()), y, random.pick(float_types()),
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
                    DynamicBlocks problem =
                        contiguous({rows, columns}, {1, std::min(block, columns)},
                                   random.pick(float_types()), y, mode);
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
        DynamicBlocks problem =
            contiguous({columns, columns}, {1, columns}, HEWN_DATA_TYPE_FLOAT32, y, modes_of(y)[0]);
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
            for (const hewn_data_type scale : float_types()) {
                for (const float min_scale : {0.0f, 1e-5f, 0x1p-140f}) {
                    for (const int64_t repeats : {1, 100}) {
                        if (left_out(random, 10)) continue;
                        DynamicBlocks problem =
                            contiguous({int64_t(rows.size()), 3 * repeats}, {1, 3 * repeats},
                                       HEWN_DATA_TYPE_FLOAT32, y, mode, scale);
                        if (mode != DynamicMode::full) problem.min_scale = min_scale;
                        for (int64_t i = 0; i < int64_t(rows.size()) * 3 * repeats; i++)
                            set_float(problem.input, i,
                                      rows[size_t(i / (3 * repeats))][size_t(i % 3)]);
                        ASSERT_TRUE(check(problem, GetParam().name));
                    }
                }
            }
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
            DynamicBlocks problem = contiguous({rows, COLUMNS}, {1, COLUMNS}, x, y, mode);
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
        if (left_out(random, 4)) continue;
        DynamicBlocks problem = contiguous(sizes, blocks, HEWN_DATA_TYPE_FLOAT32, y, mode);
        fill_normal(problem.input, random);
        for (const int32_t slices : {1, 2, 7, 64})
            ASSERT_TRUE(check(problem, GetParam().name, slices, slices == 2)) << slices;
    }
}

INSTANTIATE_TEST_SUITE_P(, BlocksTest, testing::ValuesIn(variants_of("dynamic_quantize")),
                         variant_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BlocksTest);

// ---- What is refused ----

class BlocksErrors : public testing::Test {
protected:
    // Expects that compile refuses a description with this status and message.
    void refused(const std::vector<std::optional<Spec>> &tensors,
                 const std::vector<int32_t> &attributes, hewn_status status,
                 const std::string &message, hewn_feature_level level = HEWN_FEATURE_LEVEL_NEWEST) {
        TensorDescs descs;
        for (const auto &tensor : tensors)
            descs.push_back(tensor ? std::optional(tensor->desc()) : std::nullopt);
        hewn_compile_options options = compile_options();
        options.feature_level = level;
        OperatorPtr none;
        const Outcome outcome =
            compile(Description(HEWN_OPERATOR_DYNAMIC_QUANTIZE, std::move(descs), attributes),
                    &options, none);
        EXPECT_EQ(outcome.status, status) << outcome;
        EXPECT_EQ(outcome.message, "DYNAMIC_QUANTIZE" + message);
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

}  // namespace
