// Compares every variant with the reference, bit for bit: with all short lengths, all layouts and
// all kinds of values. Each test runs once for each variant. This is the main test of what kernels
// compute, on CPUs and on GPUs.
#include <gtest/gtest.h>

#include <algorithm>

#include "../../reference/contents.h"
#include "../../reference/problems.h"
#include "../../reference/variants.h"
#include "../support/check.h"
#include "../support/emulated.h"
#include "../support/variant_fixture.h"

namespace hewn_test {
namespace {

// Lengths up to this one, which exceeds three vectors of 64 elements, take every path through whole
// steps, vectors and tails.
constexpr int64_t EVERY_PATH = 264;
const std::vector<int64_t> ROW_LENGTHS = {1,  2,  3,  4,   5,   7,   8,   9,   11,  15, 16,
                                          17, 23, 31, 32,  33,  47,  48,  49,  63,  64, 65,
                                          95, 96, 97, 127, 128, 129, 191, 192, 193, 257};
// A GPU's steps have 2 to 16 elements, and its blocks of threads have 256 threads. There are fewer
// lengths, because each call has to reach the device. The number of rows does not decide a GPU's
// form.
const std::vector<int64_t> DEVICE_ROW_LENGTHS = {1,  2,  3,  4,  5,  7,  8,  9,  15,
                                                 16, 17, 31, 32, 33, 63, 64, 65, 257};
const std::vector<int64_t> DEVICE_LENGTHS = {
    0,  1,  2,   3,   4,   5,   7,   8,    9,    15,   16,   17,   31,   32,   33,   47,
    48, 63, 255, 256, 257, 300, 511, 1023, 1024, 1025, 2047, 2048, 4095, 4096, 4111, 8209};
// The number of elements from which on quantization with one scale takes another form.
int64_t reciprocal_elements(const Variant &variant) {
    return plan_knobs().at(variant.name).at("reciprocal_elements");
}

// The lengths of rows that are tested one by one.
std::vector<int64_t> lengths_of(const Variant &variant) {
    if (variant.device() != HEWN_DEVICE_CPU) return DEVICE_LENGTHS;
    std::vector<int64_t> all(reciprocal_elements(variant) + EVERY_PATH + 1);
    std::iota(all.begin(), all.end(), int64_t(0));
    return all;
}
// The kinds of scales to test. A GPU's kernels are the same for all of them.
std::vector<Scales> scales_for(const Variant &variant) {
    if (variant.device() != HEWN_DEVICE_CPU) return {Scales::extraordinary};
    return {Scales::ordinary, Scales::extraordinary};
}

// Every short length, including 0 and 1. Every input is contiguous or constant, and scales are of
// every kind.
TEST_P(VariantTest, EveryLength) {
    const Variant &variant = GetParam();
    Random random = this->random();
    for (const auto &types : variant.all_types()) {
        for (const auto &layouts : all_layouts(variant.op(), {Layout::dense, Layout::scalar})) {
            for (const int64_t length : lengths_of(variant)) {
                if ((length > 100 || types != variant.types()) && left_out(random, 16, 2)) continue;
                Problem problem = make_problem(variant.op(), types, {length}, layouts, random);
                for (const Scales scales : scales_for(variant)) {
                    fill_inputs(problem, random, scales);
                    ASSERT_TRUE(check(problem, variant.name)) << "length " << length;
                }
            }
        }
    }
}

// Every input has an element for each of the output's, one for all, one for each row or one for
// each column. Rows are contiguous or padded.
TEST_P(VariantTest, EveryRowLayout) {
    const Variant &variant = GetParam();
    Random random = this->random();
    const bool cpu = variant.device() == HEWN_DEVICE_CPU;
    const int64_t enough = reciprocal_elements(variant);
    for (const auto &layouts : all_layouts(
             variant.op(), {Layout::dense, Layout::scalar, Layout::per_row, Layout::per_column})) {
        for (const int64_t length : cpu ? ROW_LENGTHS : DEVICE_ROW_LENGTHS) {
            if (left_out(random, 6, 2)) continue;
            for (const int64_t padding : {0, 37}) {
                // Few rows, and enough rows for the form that needs many elements.
                for (const int64_t rows :
                     cpu ? std::vector<int64_t>{3, enough / length + 2} : std::vector<int64_t>{3}) {
                    Problem problem = make_problem(variant.op(), variant.types(), {rows, length},
                                                   layouts, random, padding);
                    fill_inputs(problem, random,
                                random.one_in(4) ? Scales::extraordinary : Scales::ordinary);
                    ASSERT_TRUE(check(problem, variant.name))
                        << rows << " rows of " << length << ", padding " << padding;
                }
            }
        }
    }
}

// Parameters per channel of NCHW and NHWC, and along any other single axis.
TEST_P(VariantTest, PerAxis) {
    const Variant &variant = GetParam();
    Random random = this->random();
    for (const int64_t channels : {1, 3, 4, 24}) {
        for (const int64_t pixels : {1, 5, 49, 196, 333}) {
            for (size_t axis = 0; axis < 4; axis++) {
                std::vector<int64_t> sizes = {2, pixels, 3, 2};
                sizes[axis] = channels;
                if (axis == 1) sizes[3] = pixels;
                for (const bool scalar_zero_point : {false, true}) {
                    std::vector<std::vector<int64_t>> strides(free_inputs(variant.op()).size(),
                                                              contiguous_strides(sizes));
                    for (size_t i = 1; i < strides.size(); i++) {
                        strides[i].assign(4, 0);
                        if (i == 1 || !scalar_zero_point) strides[i][axis] = 1;
                    }
                    Problem problem = make_problem(variant.op(), variant.types(), sizes, strides,
                                                   contiguous_strides(sizes), random);
                    fill_inputs(problem, random,
                                random.one_in(4) ? Scales::extraordinary : Scales::ordinary);
                    ASSERT_TRUE(check(problem, variant.name));
                }
            }
        }
    }
}

// Parameters of columns, with so many rows that a row of parameters is prepared once for all of
// them. The row of parameters lies in place, or is gathered; another tensor's follows every few
// boxes; it is longer than what is kept; or it repeats after a part of a vector, in rows whose last
// box is shorter than a vector.
TEST_P(VariantTest, ParametersOfColumns) {
    const Variant &variant = GetParam();
    Random random = this->random();
    struct Shape {
        std::vector<int64_t> sizes, parameter_strides;
    };
    std::vector<Shape> shapes = {{{3, 900, 4}, {4, 0, 1}},
                                 {{3, 700, 3}, {3, 0, 1}},
                                 {{2, 40, 6, 50}, {50, 0, 0, 1}},
                                 {{40, 6, 50}, {0, 50, 1}},
                                 {{2, 300, 20, 2}, {40, 0, 2, 1}},
                                 {{50, 90}, {0, 3}},
                                 {{300, 1000}, {0, 1}},
                                 {{4099, 2}, {0, 1}},
                                 {{4099, 4}, {0, 1}},
                                 {{300, 8}, {0, 1}},
                                 {{300, 16}, {0, 1}},
                                 {{500, 2, 4}, {0, 4, 1}},
                                 {{500, 4, 2}, {0, 1, 0}},
                                 {{3, 500, 4}, {4, 0, 1}},
                                 {{4111, 4}, {0, 1}},
                                 {{4111, 2}, {0, 1}},
                                 {{251, 4}, {0, 1}}};
    for (const int64_t width : {1, 2, 15, 31, 32, 33, 63, 64, 65, 127, 200, 1000, 4096, 4097}) {
        shapes.push_back({{40, width}, {0, 1}});
        shapes.push_back({{3, 17, width}, {width, 0, 1}});
    }
    for (const Shape &shape : shapes) {
        // The zero point varies along this many dimensions, of the last ones.
        for (const size_t zero_point_dimensions : {shape.sizes.size(), size_t(1), size_t(0)}) {
            std::vector<std::vector<int64_t>> strides(free_inputs(variant.op()).size(),
                                                      contiguous_strides(shape.sizes));
            for (size_t i = 1; i < strides.size(); i++) strides[i] = shape.parameter_strides;
            std::fill(strides.back().begin(),
                      strides.back().end() - ptrdiff_t(zero_point_dimensions), 0);
            Problem problem = make_problem(variant.op(), variant.types(), shape.sizes, strides,
                                           contiguous_strides(shape.sizes), random);
            if (left_out(random, 8, 2)) continue;
            for (const Scales scales : scales_for(variant)) {
                fill_inputs(problem, random, scales);
                ASSERT_TRUE(check(problem, variant.name, random.one_in(2) ? 1 : 0))
                    << testing::PrintToString(shape.sizes) << " "
                    << testing::PrintToString(shape.parameter_strides);
            }
        }
    }
}

// A scale and a zero point for each block. There are rows of every length, blocks along each
// dimension and along two, short last blocks, one zero point for all or for each element, and more
// rows than one thread takes.
TEST_P(VariantTest, Blocks) {
    const Variant &variant = GetParam();
    if (!facts(variant.op()).is_linear()) GTEST_SKIP() << "has no scale and zero point of its own";
    Random random = this->random();
    struct Shape {
        std::vector<int64_t> sizes, block_sizes;
    };
    std::vector<Shape> shapes = {{{3, 4, 6}, {3, 2, 1}},
                                 {{5, 7, 40}, {1, 2, 8}},
                                 {{64, 3}, {16, 1}},
                                 {{50, 40}, {16, 1}},
                                 {{4, 4096}, {1, 32}},
                                 {{90, 4096}, {1, 128}},
                                 {{2, 2, 2, 2, 2, 2, 2, 6}, {1, 1, 1, 1, 1, 1, 1, 4}},
                                 {{3, 2, 3, 2, 3, 2, 3, 4}, {2, 2, 3, 1, 3, 2, 3, 2}}};
    // More blocks than a row of the form `blocks` has, and some that are left over.
    for (const int64_t block : {16, 32, 64, 128}) shapes.push_back({{21, 13 * block}, {1, block}});
    for (const int64_t block : {2, 3, 15, 16, 17, 32, 64, 128}) {
        for (const int64_t size : {1, 31, 32, 33, 64, 100, 128, 300})
            shapes.push_back({{5, size}, {1, block}});
    }
    const std::vector<hewn_data_type> types = variant.types();
    for (const auto &[sizes, block_sizes] : shapes) {
        std::vector<int64_t> stored = sizes;
        for (size_t d = 0; d < sizes.size(); d++) stored[d] = (sizes[d] - 1) / block_sizes[d] + 1;
        const std::vector<int64_t> none(sizes.size(), 0), contiguous = contiguous_strides(sizes);
        // A zero point for each block, one for all, and one for each element.
        for (const int zero_point : {0, 1, 2}) {
            if (left_out(random, 6) || (zero_point == 2 && element_count(sizes) > 4096)) continue;
            Problem problem =
                make_problem(variant.op(), types, sizes, {contiguous, contiguous, contiguous},
                             contiguous, random);
            problem.inputs[1].emplace(
                Tensor(types[1], sizes, contiguous_strides(stored), 0, block_sizes));
            if (zero_point == 0)
                problem.inputs[2].emplace(
                    Tensor(types[2], sizes, contiguous_strides(stored), 0, block_sizes));
            if (zero_point == 1) problem.inputs[2].emplace(Tensor(types[2], sizes, none));
            fill_inputs(problem, random,
                        random.one_in(4) ? Scales::extraordinary : Scales::ordinary);
            ASSERT_TRUE(check(problem, variant.name, random.one_in(2) ? 1 : 0));
        }
    }
}

// Parameters of rows, with enough rows to fill boxes. Rows are contiguous, padded or transposed.
// The parameters repeat in each outer step, or vary along several dimensions, or all rows share the
// scale or the zero point. One of the scales is 0.
TEST_P(VariantTest, ParametersOfRows) {
    const Variant &variant = GetParam();
    if (!facts(variant.op()).is_linear()) GTEST_SKIP() << "has no scale and zero point of its own";
    Random random = this->random();
    struct Shape {
        std::vector<int64_t> sizes, x_strides, parameter_strides;
    };
    const std::vector<Shape> shapes = {{{600, 150}, {150, 1}, {1, 0}},
                                       {{600, 57}, {57, 1}, {1, 0}},
                                       {{300, 200}, {213, 1}, {3, 0}},
                                       {{3, 40, 333}, {13320, 333, 1}, {0, 1, 0}},
                                       {{300, 200}, {1, 300}, {1, 0}},
                                       {{70, 1000}, {1, 70}, {1, 0}},
                                       {{9, 20, 130}, {2800, 140, 1}, {1, 0, 0}},
                                       // A strided input, a few channels, and scales some of which
                                       // two outer steps share.
                                       {{50, 700}, {1400, 2}, {1, 0}},
                                       {{40, 7, 128}, {896, 1, 7}, {0, 1, 0}},
                                       {{2, 600, 150}, {90000, 150, 1}, {512, 1, 0}},
                                       {{5, 7, 300}, {2100, 300, 1}, {1, 5, 0}}};
    for (const Shape &shape : shapes) {
        const std::vector<int64_t> none(shape.sizes.size(), 0);
        // Bit 0: the scale varies. Bit 1: the zero point does.
        for (const int varying : {0b11, 0b01, 0b10}) {
            if (left_out(random, 8)) continue;
            const std::vector<int64_t> &by_row = shape.parameter_strides;
            Problem problem = make_problem(
                variant.op(), variant.types(), shape.sizes,
                {shape.x_strides, varying & 1 ? by_row : none, varying & 2 ? by_row : none},
                contiguous_strides(shape.sizes), random);
            for (const Scales scales : scales_for(variant)) {
                fill_inputs(problem, random, scales);
                ASSERT_TRUE(check(problem, variant.name, random.one_in(2) ? 1 : 0))
                    << testing::PrintToString(shape.sizes);
            }
            fill_inputs(problem, random);
            set_float(*problem.inputs[1], problem.inputs[1]->span() * 2 / 3, 0);
            ASSERT_TRUE(check(problem, variant.name))
                << testing::PrintToString(shape.sizes) << ", one scale of 0";
        }
    }
}

// Scales that repeat along a row of the plan, with zero points that repeat too, but differ from row
// to row of a transposed box.
TEST_P(VariantTest, ZeroPointsOfRows) {
    const Variant &variant = GetParam();
    if (!facts(variant.op()).is_linear()) GTEST_SKIP() << "has no scale and zero point of its own";
    Random random = this->random();
    if (left_out(random, 8)) return;
    const std::vector<int64_t> sizes = {50, 1000, 4};
    Problem problem =
        make_problem(variant.op(), variant.types(), sizes, {{1, 200, 50}, {0, 0, 1}, {4, 0, 1}},
                     contiguous_strides(sizes), random);
    for (const Scales scales : scales_for(variant)) {
        fill_inputs(problem, random, scales);
        ASSERT_TRUE(check(problem, variant.name));
    }
}

// Zero points of columns that all have the same value, another one in each outer step: kernels are
// then given one of them. Also zero points of which only the first, one in the middle or the last
// differs. They lie in place or are gathered, and boxes have several rows or one.
TEST_P(VariantTest, EqualZeroPointsOfColumns) {
    const Variant &variant = GetParam();
    if (!facts(variant.op()).is_linear()) GTEST_SKIP() << "has no scale and zero point of its own";
    if (is_code(variant.types()[2])) GTEST_SKIP() << "small floats have no zero point";
    Random random = this->random();
    struct Shape {
        std::vector<int64_t> sizes, x_strides, parameter_strides;
    };
    std::vector<Shape> shapes = {{{3, 700, 3}, {2100, 3, 1}, {3, 0, 1}},
                                 {{3, 40, 50}, {2000, 1, 40}, {50, 0, 1}},
                                 {{2, 4, 5000}, {20000, 5000, 1}, {5000, 0, 1}}};
    for (const int64_t width : {2, 15, 33, 64, 127, 1000}) {
        shapes.push_back({{4, width}, {width, 1}, {0, 1}});
        shapes.push_back({{3, 40, width}, {40 * width, width, 1}, {width, 0, 1}});
        shapes.push_back({{2, 40, width}, {40 * width + 1, width + 5, 1}, {width, 0, 1}});
    }
    for (const Shape &shape : shapes) {
        if (left_out(random, 4)) continue;
        Problem problem =
            make_problem(variant.op(), variant.types(), shape.sizes,
                         {shape.x_strides, shape.parameter_strides, shape.parameter_strides},
                         contiguous_strides(shape.sizes), random);
        Tensor &zero_points = *problem.inputs[2];
        const int64_t count = zero_points.span(), row = shape.sizes.back();
        with_type<int32_t, int16_t, int8_t, uint32_t, uint16_t, uint8_t>(
            zero_points.type, [&](auto tag) {
                using Z = decltype(tag);
                for (const int first : {0, 3}) {
                    for (const int64_t odd : {int64_t(-1), int64_t(0), row / 2, count - 1}) {
                        fill_inputs(problem, random);
                        fill(zero_points, [&](int64_t i) {
                            zero_points.set(i, Z(first + i / row + (i == odd ? 1 : 0)));
                        });
                        ASSERT_TRUE(check(problem, variant.name, random.one_in(2) ? 1 : 0))
                            << testing::PrintToString(shape.sizes) << ", " << first
                            << " and one more at " << odd;
                    }
                }
            });
        if (HasFatalFailure()) return;
    }
}

// Inputs that lie across the output's rows, in matrices that GPUs cut into strips, and in others.
TEST_P(VariantTest, AcrossRows) {
    const Variant &variant = GetParam();
    Random random = this->random();
    const size_t inputs = free_inputs(variant.op()).size();
    for (const auto &[rows, columns] :
         {std::pair<int64_t, int64_t>{48, 64}, {5, 32}, {16, 16}, {33, 320}, {64, 24}}) {
        const std::vector<int64_t> sizes = {rows, columns};
        for (uint32_t across = 1; across < 1u << inputs; across++) {
            std::vector<std::vector<int64_t>> strides(inputs, contiguous_strides(sizes));
            for (size_t i = 0; i < inputs; i++) {
                if (across >> i & 1) strides[i] = {1, rows};
            }
            Problem problem = make_problem(variant.op(), variant.types(), sizes, strides,
                                           contiguous_strides(sizes), random);
            fill_inputs(problem, random, Scales::ordinary);
            ASSERT_TRUE(check(problem, variant.name));
        }
    }
}

// The environment's HEWN_RANDOM_LAYOUTS says how many layouts are tried.
TEST_P(VariantTest, RandomLayouts) {
    const Variant &variant = GetParam();
    Random random = this->random();
    const char *count = std::getenv("HEWN_RANDOM_LAYOUTS");
    for (int i = 0, n = count ? std::atoi(count) : EMULATED ? 60 : 300; i < n; i++) {
        Problem problem = random_problem(variant.op(), random.pick(variant.all_types()), random,
                                         random.one_in(16) ? 50000 : 3000);
        fill_inputs(problem, random, random.one_in(4) ? Scales::extraordinary : Scales::ordinary);
        ASSERT_TRUE(check(problem, variant.name)) << "layout " << i << " of HEWN_SEED=" << seed();
    }
}

// Other operators that run on the same kernels, with the types that they take: DirectML's QUANTIZE
// and DEQUANTIZE. If their zero point is absent, it is the middle of the type's range.
TEST_P(VariantTest, OperatorsOfTheKernel) {
    const Variant &variant = GetParam();
    Random random = this->random();
    int operators = 0;
    for (const OperatorFacts &op : all_operators()) {
        if (op.kernels != variant.operator_name || op.type == variant.op()) continue;
        for (const DataTypes &types : variant.all_types()) {
            if (!op.takes(types)) continue;
            operators++;
            for (int i = 0, n = EMULATED ? 20 : 60; i < n; i++) {
                Problem problem = random_problem(op.type, types, random, 3000);
                fill_inputs(problem, random,
                            random.one_in(4) ? Scales::extraordinary : Scales::ordinary);
                ASSERT_TRUE(check(problem, variant.name)) << op.name;
            }
        }
    }
    if (operators == 0) GTEST_SKIP() << "none";
}

// Floats of two types, and floats that have no kernels. The kernel takes f32.
TEST_P(VariantTest, ConvertedFloats) {
    const Variant &variant = GetParam();
    Random random = this->random();
    for (const DataTypes &types : variant.converted_types()) {
        for (int i = 0, n = EMULATED ? 20 : 80; i < n; i++) {
            Problem problem =
                random_problem(variant.op(), types, random, random.one_in(16) ? 50000 : 3000);
            fill_inputs(problem, random,
                        random.one_in(4) ? Scales::extraordinary : Scales::ordinary);
            ASSERT_TRUE(check(problem, variant.name)) << "layout " << i;
        }
        // Work of several slices, and more columns than are gathered at once.
        for (const std::vector<int64_t> &sizes : {std::vector<int64_t>{300001}, {700, 501}}) {
            Problem problem =
                make_problem(variant.op(), types, sizes, per_tensor(variant.op()), random);
            fill_inputs(problem, random);
            ASSERT_TRUE(check(problem, variant.name, 3));
        }
    }
}

// ---- QUANTIZE_LINEAR's precision ----

constexpr int32_t PRECISIONS[] = {HEWN_PRECISION_FLOAT16, HEWN_PRECISION_BFLOAT16};

// The types with which QUANTIZE_LINEAR has a precision and runs on this variant: the variant takes
// f32, which are quotients that were rounded before.
std::vector<DataTypes> types_of_quotients(const Variant &variant) {
    std::vector<DataTypes> all;
    if (variant.op() != HEWN_OPERATOR_QUANTIZE_LINEAR ||
        variant.types()[0] != HEWN_DATA_TYPE_FLOAT32)
        return all;
    for (const DataTypes &types : variant.all_types()) {
        for (const hewn_data_type x : {HEWN_DATA_TYPE_FLOAT32, HEWN_DATA_TYPE_FLOAT16,
                                       HEWN_DATA_TYPE_BFLOAT16, HEWN_DATA_TYPE_INT32})
            for (const hewn_data_type scale :
                 {HEWN_DATA_TYPE_FLOAT32, HEWN_DATA_TYPE_FLOAT16, HEWN_DATA_TYPE_BFLOAT16})
                all.push_back({x, scale, types[2], types[3]});
    }
    return all;
}

// Fills a tensor with numbers about 2^exponent that are ties of f16 or bf16, or next to one.
void fill_beside_ties(Tensor &tensor, Random &random, int exponent) {
    fill(tensor, [&](int64_t i) {
        const int dropped = random.one_in(2) ? 13 : 16;
        const uint32_t tie =
                           uint32_t(random.bits()) >> 9 >> dropped << dropped | 1u << (dropped - 1),
                       bits = uint32_t(exponent + random.integer(-9, 9) + 127) << 23 | tie;
        const float value = reference::from_bits(bits + uint32_t(random.integer(-1, 1)));
        set_float(tensor, i, random.one_in(2) ? value : -value);
    });
}

// Fills a tensor of a 16-bit float with all of its numbers.
void fill_with_all(Tensor &tensor) {
    with_type<f16, bf16>(tensor.type, [&](auto tag) {
        fill(tensor, [&](int64_t i) { tensor.set(i, decltype(tag){uint16_t(i)}); });
    });
}

TEST_P(VariantTest, PrecisionOfLayouts) {
    const Variant &variant = GetParam();
    const std::vector<DataTypes> all_types = types_of_quotients(variant);
    if (all_types.empty()) GTEST_SKIP() << "does not divide f32";
    Random random = this->random();
    for (int i = 0, n = EMULATED ? 20 : 250; i < n; i++) {
        Problem problem = random_problem(variant.op(), random.pick(all_types), random,
                                         random.one_in(16) ? 50000 : 3000);
        fill_inputs(problem, random, random.one_in(2) ? Scales::extraordinary : Scales::ordinary);
        problem.attributes = {PRECISIONS[i % 2]};
        ASSERT_TRUE(check(problem, variant.name)) << "layout " << i;
    }
    for (const std::vector<int64_t> &sizes : {std::vector<int64_t>{300001}, {700, 501}, {3, 511}}) {
        for (const auto &layouts :
             all_layouts(variant.op(), {Layout::dense, Layout::per_row, Layout::per_column})) {
            if (!random.one_in(EMULATED ? 40 : 4)) continue;
            Problem problem =
                make_problem(variant.op(), random.pick(all_types), sizes, layouts, random);
            fill_inputs(problem, random);
            problem.attributes = {random.one_in(2) ? PRECISIONS[0] : PRECISIONS[1]};
            ASSERT_TRUE(check(problem, variant.name, 3));
        }
    }
}

// All numbers of 16-bit floats, and f32 next to ties of the type that they are rounded to. The
// scales are rounded too.
TEST_P(VariantTest, PrecisionOfValues) {
    const Variant &variant = GetParam();
    const std::vector<DataTypes> all_types = types_of_quotients(variant);
    if (all_types.empty()) GTEST_SKIP() << "does not divide f32";
    Random random = this->random();
    for (const DataTypes &types : all_types) {
        const bool wide = types[0] == HEWN_DATA_TYPE_FLOAT32;
        if (types[0] == HEWN_DATA_TYPE_INT32 || (wide && types[1] != types[0])) continue;
        const int first = int(random.integer(0, 1));
        for (int i = 0, n = EMULATED ? 1 : 6; i < n; i++) {
            Problem problem =
                make_problem(variant.op(), types, {1 << 16}, per_tensor(variant.op()), random);
            const int exponent = int(random.integer(-9, 9));
            if (wide) fill_beside_ties(*problem.inputs[0], random, exponent);
            else fill_with_all(*problem.inputs[0]);
            fill_beside_ties(*problem.inputs[1], random, i == 0 ? -20 : exponent - 3);
            fill_random(*problem.inputs[2], random);
            problem.attributes = {PRECISIONS[(i + first) % 2]};
            ASSERT_TRUE(check(problem, variant.name)) << i;
        }
    }
}

// Every number of a 16-bit float as a scale of f32 outputs, and products that tie, or nearly tie,
// between two numbers of the type.
TEST_P(VariantTest, ConvertedRounding) {
    const Variant &variant = GetParam();
    if (variant.signature != "i32_f32")
        GTEST_SKIP() << "DEQUANTIZE_LINEAR of i32 has products of any 24 bits";
    Random random = this->random();
    // A float type, its significant bits, and the exponents of products.
    struct Case {
        hewn_data_type type;
        int bits, least, most;
    };
    for (const Case &c :
         {Case{HEWN_DATA_TYPE_FLOAT16, 11, -27, 17}, Case{HEWN_DATA_TYPE_BFLOAT16, 8, -126, 127}}) {
        DataTypes types = variant.types();
        types[1] = c.type;
        Problem scales = make_problem(variant.op(), types, {1 << 16},
                                      {Layout::scalar, Layout::dense, Layout::scalar}, random);
        scales.inputs[0]->set(0, int32_t(1));
        scales.inputs[2]->set(0, int32_t(0));
        fill_with_all(*scales.inputs[1]);
        ASSERT_TRUE(check(scales, variant.name));

        std::vector<int32_t> x;
        const int32_t tie = 1 << (23 - c.bits);
        for (int32_t upper = 1 << (c.bits - 1); upper < 1 << c.bits; upper++) {
            for (const int32_t lower : {0, 1, tie - 1, tie, tie + 1, 2 * tie - 1})
                x.push_back((upper << (24 - c.bits) | lower) * (random.one_in(2) ? 1 : -1));
        }
        types = variant.types();
        types[3] = c.type;
        Problem products = make_problem(variant.op(), types, {int64_t(x.size())},
                                        {Layout::dense, Layout::scalar, Layout::scalar}, random);
        fill(*products.inputs[0], [&](int64_t i) { products.inputs[0]->set(i, x[size_t(i)]); });
        products.inputs[2]->set(0, int32_t(0));
        for (int exponent = c.least - 23; exponent <= c.most - 23; exponent++) {
            products.inputs[1]->set(0, std::ldexp(1.0f, exponent));
            ASSERT_TRUE(check(products, variant.name)) << exponent;
        }
    }
}

// Sub-byte types. Rows begin within a byte, and are padded, strided or transposed. Parameters are
// of rows, of columns or of blocks, and may have sub-byte types as well. Several threads write
// bytes that neighbouring rows share.
TEST_P(VariantTest, SubByte) {
    const Variant &variant = GetParam();
    std::vector<DataTypes> sub_byte;
    for (const DataTypes &types : variant.all_types())
        if (std::any_of(types.begin(), types.end(), sub_byte_bits_of)) sub_byte.push_back(types);
    if (sub_byte.empty()) GTEST_SKIP() << "takes no sub-byte types";
    Random random = this->random();
    struct Shape {
        std::vector<int64_t> sizes, strides;
    };
    std::vector<Shape> shapes = {{{300007}, {1}},         {{3, 70001}, {70001, 1}},
                                 {{70001, 3}, {3, 1}},    {{301, 701}, {1, 301}},
                                 {{3001, 3}, {4, 1}},     {{257, 300}, {301, 1}},
                                 {{64, 40}, {120, 3}},    {{2, 9, 7, 31}, {1953, 217, 31, 1}},
                                 {{30, 4096}, {4096, 1}}, {{300032}, {1}},
                                 {{70, 264}, {272, 1}},   {{9, 5, 512}, {2720, 544, 1}}};
    for (int64_t length = 1; length <= 70; length++)
        shapes.push_back({{7, length}, {length + random.integer(0, 3), 1}});
    // Rows of whole words, which are packed and unpacked in registers.
    for (int64_t length = 248; length <= 520; length += 8)
        shapes.push_back({{7, length}, {length + 8 * random.integer(0, 3), 1}});
    for (const DataTypes &types : sub_byte) {
        for (const auto &[sizes, strides] : shapes) {
            if (left_out(random, 8)) continue;
            const std::vector<int64_t> none(sizes.size(), 0);
            std::vector<int64_t> rows = none, columns = none, blocks(sizes.size(), 1);
            rows[0] = columns.back() = 1;
            blocks.back() = 32;
            const int64_t kind = random.integer(0, 3);
            const std::vector<int64_t> &scales = kind == 0 ? none : kind == 1 ? rows : columns;
            Problem problem = make_problem(variant.op(), types, sizes,
                                           {random.one_in(3) ? contiguous_strides(sizes) : strides,
                                            scales, random.one_in(3) ? none : scales},
                                           strides, random);
            for (size_t i = 1; kind == 3 && i < 3; i++)
                problem.inputs[i].emplace(Tensor(types[i], sizes, columns, 0, blocks));
            if (random.one_in(4)) problem.inputs[2].reset();  // the zero point
            fill_inputs(problem, random);
            for (const int32_t max_threads : {1, 0})
                ASSERT_TRUE(check(problem, variant.name, max_threads)) << max_threads << " threads";
        }
    }
}

// The output lies on one input or on both, with every length and with contiguous, padded and
// transposed rows.
class InPlaceTest : public VariantTest {};

TEST_P(InPlaceTest, EveryLengthAndRow) {
    const Variant &variant = GetParam();
    Random random = this->random();
    const auto run = [&](const std::vector<int64_t> &sizes, const std::vector<int64_t> &strides,
                         uint32_t in_place, Layout other) {
        std::vector<std::vector<int64_t>> inputs(2, strides_of(other, sizes));
        for (size_t i = 0; i < 2; i++) {
            if (in_place >> i & 1) inputs[i] = strides;
        }
        Problem problem =
            make_problem(variant.op(), variant.types(), sizes, inputs, strides, random);
        problem.in_place = in_place;
        fill_inputs(problem, random);
        return check(problem, variant.name);
    };
    for (uint32_t in_place = 1; in_place <= 3; in_place++) {
        for (const Layout other :
             {Layout::dense, Layout::scalar, Layout::per_row, Layout::per_column}) {
            for (const int64_t length : lengths_of(variant)) {
                if (length > 100 && left_out(random, 16)) continue;
                ASSERT_TRUE(run({length}, {1}, in_place, other));
                ASSERT_TRUE(run({length}, {3}, in_place, other));
            }
            for (const int64_t length : ROW_LENGTHS) {
                ASSERT_TRUE(run({5, length}, {length + 7, 1}, in_place, other));
                ASSERT_TRUE(run({5, length}, {1, 5}, in_place, other));
            }
        }
    }
}

// Work of many slices: long rows, many short rows, transposed outputs, parameters per channel. It
// runs on the library's threads, and then on the calling thread only.
TEST_P(VariantTest, Large) {
    const Variant &variant = GetParam();
    Random random = this->random();
    struct Shape {
        std::vector<int64_t> sizes;
        bool transposed_output;
    };
    for (const Shape &shape :
         {Shape{{300007}, false}, Shape{{3, 70001}, false}, Shape{{70001, 3}, false},
          Shape{{301, 701}, true}, Shape{{2, 130, 33, 31}, false}}) {
        const std::vector<int64_t> &sizes = shape.sizes;
        std::vector<std::vector<int64_t>> strides;
        for (const Layout layout : per_tensor(variant.op()))
            strides.push_back(strides_of(layout, sizes));
        if (sizes.size() == 4 && facts(variant.op()).is_linear())
            strides[1] = strides[2] = {0, 1, 0, 0};
        const std::vector<int64_t> output_strides =
            shape.transposed_output ? std::vector<int64_t>{1, sizes[0]} : contiguous_strides(sizes);
        Problem problem =
            make_problem(variant.op(), variant.types(), sizes, strides, output_strides, random);
        fill_inputs(problem, random);
        if (left_out(random, 3)) continue;
        for (const int32_t max_threads : {0, 1, 3})
            ASSERT_TRUE(check(problem, variant.name, max_threads)) << max_threads << " threads";
        if (!facts(variant.op()).in_place) continue;
        problem.in_place = 1;
        problem.inputs[0].emplace(Tensor(variant.types()[0], sizes, output_strides));
        fill_inputs(problem, random);
        ASSERT_TRUE(check(problem, variant.name)) << "in place";
    }
}

TEST_P(VariantTest, RankZero) {
    const Variant &variant = GetParam();
    Random random = this->random();
    Problem problem =
        make_problem(variant.op(), variant.types(), {}, all_dense(variant.op()), random);
    for (int i = 0; i < 20; i++) {
        fill_inputs(problem, random, i % 2 ? Scales::ordinary : Scales::extraordinary);
        ASSERT_TRUE(check(problem, variant.name));
    }
}

// ---- Special values -----------------------------------------------------------------------------

template<class T>
void copy_into(Tensor &tensor, const std::vector<T> &values) {
    for (size_t i = 0; i < values.size(); i++) tensor.set(int64_t(i), values[i]);
}

// ADD or ADD1 of every special value and every other: integers that wrap, overflow to infinity,
// inf - inf, NaN, -0.0, subnormals.
testing::AssertionResult add_specials(const Variant &variant,
                                      const std::vector<hewn_data_type> &types,
                                      const std::vector<int32_t> &attributes, Random &random) {
    testing::AssertionResult result = testing::AssertionSuccess();
    with_any_type(types[0], [&](auto tag) {
        const auto values = special_values<decltype(tag)>();
        const int64_t n = int64_t(values.size());
        Problem problem = make_problem(variant.op(), types, {n, n},
                                       {Layout::per_row, Layout::per_column}, random);
        problem.attributes = attributes;
        copy_into(*problem.inputs[0], values);
        copy_into(*problem.inputs[1], values);
        result = check(problem, variant.name);
        if (!result) return;
        // The same pairs from contiguous inputs.
        Problem dense = make_problem(variant.op(), types, {n * n}, all_dense(variant.op()), random);
        dense.attributes = attributes;
        for (int64_t i = 0; i < n * n; i++) {
            dense.inputs[0]->set(i, values[size_t(i / n)]);
            dense.inputs[1]->set(i, values[size_t(i % n)]);
        }
        result = check(dense, variant.name);
    });
    return result;
}

// Scales of every kind, and the ends of the range that the form `reciprocal` takes.
template<class S>
std::vector<S> scales_of(Random &random) {
    std::vector<S> scales = special_values<S>();
    if constexpr (std::is_same_v<S, float>) {
        for (const float s : {0x1p-61f, 0x1.000002p-60f, 0x1.fffffep59f, 0x1p61f, 0.01f,
                              0.003921569f, 3.0f, 7.0f, 1e-30f, 1e30f, 0x1.fffffep0f,
                              // The second part of their reciprocals is subnormal, and loses bits.
                              0x1.5a3d71p120f, 0x1.b33333p122f, 0x1.234567p124f, 0x1.7fff3p125f}) {
            scales.push_back(s);
            scales.push_back(-s);
        }
    }
    for (int i = 0; i < 20; i++) {
        if constexpr (std::is_same_v<S, float>)
            scales.push_back(random_ordinary_scale(random, int(random.integer(-20, 20))));
        else
            scales.push_back(
                reference::from_f32<S>(random_ordinary_scale(random, int(random.integer(-8, 8)))));
    }
    return scales;
}

// ---- Small floats ----

// Calls f(T{}) for the small float T that `type` stands for.
template<class F>
void with_code(hewn_data_type type, F &&f) {
    with_type<f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f6e2m3, f6e3m2, f4e2m1>(type, f);
}

// Fills a tensor of a small float with all of its codes.
void fill_with_codes(Tensor &tensor) {
    with_code(tensor.type, [&](auto tag) {
        fill(tensor, [&](int64_t i) { tensor.set(i, from_lowest<decltype(tag)>(uint64_t(i))); });
    });
}

// The types of a variant of codes, one for each small float. Empty for other variants.
std::vector<DataTypes> types_of_codes(const Variant &variant) {
    std::vector<DataTypes> all;
    for (const DataTypes &types : variant.all_types())
        if (is_code(types.front()) || is_code(types.back())) all.push_back(types);
    return all;
}

// All numbers of a small float, the middles between them, and numbers beyond the largest one.
std::vector<float> boundaries_of(hewn_data_type type) {
    std::vector<float> numbers;
    with_code(type, [&](auto tag) {
        using Q = decltype(tag);
        const auto number = [](int code) { return reference::to_f32(Q{uint8_t(code)}); };
        for (int code = 0; code < Q::format.largest; code++) {
            numbers.push_back(number(code));
            numbers.push_back((number(code) + number(code + 1)) / 2);  // exact
        }
        const float largest = number(Q::format.largest),
                    step = largest - number(Q::format.largest - 1);
        for (const float beyond : {0.0f, step / 2, step, 3 * step, largest, 0x1p31f, HUGE_VALF})
            numbers.push_back(largest + beyond);
    });
    return numbers;
}

// QUANTIZE_LINEAR to each small float: special inputs, and every number and middle of the type and
// its neighbours, by special scales of the whole tensor, of columns, of rows and of blocks.
testing::AssertionResult quantize_to_codes(const Variant &variant, Random &random) {
    testing::AssertionResult result = testing::AssertionSuccess();
    for (const DataTypes &types : types_of_codes(variant)) {
        with_type<float, f16>(types[0], [&](auto tag) {
            using X = decltype(tag);
            for (const X scale : scales_of<X>(random)) {
                if (EMULATED && !random.one_in(8)) continue;
                const float s = reference::to_f32(scale);
                std::vector<X> x = special_values<X>(), ordinary;
                for (const float q : boundaries_of(types[3])) {
                    const float value = q * s;
                    for (const float near :
                         {value, std::nextafter(value, 0.0f), std::nextafter(value, 2 * value)}) {
                        x.push_back(reference::from_f32<X>(near));
                        x.push_back(reference::from_f32<X>(-near));
                    }
                }
                // One NaN leaves the whole box to the form `divide`.
                for (const X value : x)
                    if (!std::isnan(reference::to_f32(value))) ordinary.push_back(value);
                for (const std::vector<X> &values : {x, ordinary}) {
                    const auto run = [&](const std::vector<int64_t> &sizes,
                                         const std::vector<int64_t> &x_strides,
                                         const std::vector<int64_t> &strides) {
                        Problem problem =
                            make_problem(variant.op(), types, sizes, {x_strides, strides, strides},
                                         contiguous_strides(sizes), random);
                        fill(*problem.inputs[0], [&](int64_t i) {
                            problem.inputs[0]->set(i, values[size_t(i) % values.size()]);
                        });
                        fill(*problem.inputs[1],
                             [&](int64_t i) { problem.inputs[1]->set(i, scale); });
                        if (result) result = check(problem, variant.name);
                    };
                    const int64_t n = int64_t(values.size());
                    run({n}, {1}, {0});
                    run({n, 16}, {1, 0}, {0, 1});
                    run({3, n}, {n, 1}, {1, 0});
                    run({(n + 127) / 128 * 8, 16}, {16, 1}, {1, 0});
                    if (!result) return;
                }
            }
        });
        if (!result) return result;
    }
    return result;
}

// DEQUANTIZE_LINEAR of every code of each small float, in the same layouts.
testing::AssertionResult dequantize_codes(const Variant &variant, Random &random) {
    struct Case {
        std::vector<int64_t> sizes, strides;
    };
    testing::AssertionResult result = testing::AssertionSuccess();
    for (const DataTypes &types : types_of_codes(variant)) {
        with_type<float, f16>(types[1], [&](auto tag) {
            for (const auto scale : scales_of<decltype(tag)>(random)) {
                for (const Case &c : {Case{{256}, {0}}, Case{{16, 256}, {0, 1}},
                                      Case{{3, 256}, {1, 0}}, Case{{16, 16}, {1, 0}}}) {
                    Problem problem =
                        make_problem(variant.op(), types, c.sizes,
                                     {contiguous_strides(c.sizes), c.strides, c.strides},
                                     contiguous_strides(c.sizes), random);
                    fill_with_codes(*problem.inputs[0]);
                    fill(*problem.inputs[1], [&](int64_t i) { problem.inputs[1]->set(i, scale); });
                    if (result) result = check(problem, variant.name);
                }
                if (!result) return;
            }
        });
        if (!result) return result;
    }
    return result;
}

// ---- Integers ----

template<class Q>
std::vector<Q> zero_points() {
    using limits = std::numeric_limits<Q>;
    return {Q(0),
            Q(1),
            limits::min(),
            limits::max(),
            Q(limits::max() / 2),
            Q(limits::max() / 2 + 1),
            Q(limits::min() + 3),
            Q(77)};
}

// Quotients in steps of 1/2. For 8 bits these are all that a result can tell apart, with any zero
// point. For 16 and 32 bits also both ends of the range and some between, and for 32 bits where the
// two halves meet.
template<class Q>
std::vector<float> boundaries(Random &random) {
    std::vector<float> quotients;
    for (int half = -515; half <= 515; half++) quotients.push_back(float(half) / 2);
    if (sizeof(Q) == 1) return quotients;
    for (const int end : {-131072, -65536, 65536, 131072}) {
        for (int half = end - 5; half <= end + 5; half++) quotients.push_back(float(half) / 2);
    }
    for (int i = 0; i < 300; i++) quotients.push_back(float(random.integer(-131072, 131072)) / 2);
    if (sizeof(Q) == 2) return quotients;
    for (const float end : {0x1p22f, 0x1p23f, 0x1p24f, 0x1p31f, 0x1p32f, 0x1p33f}) {
        for (const float near : {end, std::nextafter(end, 0.0f), std::nextafter(end, 2 * end)}) {
            quotients.push_back(near);
            quotients.push_back(-near);
        }
    }
    for (int i = 0; i < 300; i++)
        quotients.push_back(
            std::ldexp(float(random.integer(-(1 << 24), 1 << 24)), int(random.integer(-9, 9))));
    return quotients;
}

// QUANTIZE_LINEAR of special inputs, and of ties and both ends around each scale, with special
// scales and zero points. The parameters are of the whole tensor, of elements, of columns and of
// rows.
testing::AssertionResult quantize_specials(const Variant &variant, Random &random) {
    const auto types = variant.types();
    if (is_code(types[3])) return quantize_to_codes(variant, random);
    testing::AssertionResult result = testing::AssertionSuccess();
    with_type<float, f16, int32_t>(types[0], [&](auto x_tag) {
        with_type<float, f16>(types[1], [&](auto s_tag) {
            with_type<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t>(
                types[3], [&](auto q_tag) {
                    using X = decltype(x_tag);
                    using Q = decltype(q_tag);
                    const std::vector<float> quotients = boundaries<Q>(random);
                    for (const auto scale : scales_of<decltype(s_tag)>(random)) {
                        std::vector<X> x = special_values<X>();
                        const float s = reference::to_f32(scale);
                        for (const float q : quotients) {
                            const float value = q * s;
                            if constexpr (std::is_same_v<X, int32_t>) {
                                if (!std::isnan(value))
                                    x.push_back(
                                        int32_t(std::clamp(value, -0x1p31f, 0x1.fffffep30f)));
                            } else {
                                x.push_back(reference::from_f32<X>(value));
                                x.push_back(reference::from_f32<X>(std::nextafter(value, 0.0f)));
                            }
                        }
                        std::vector<std::vector<X>> contents = {x};
                        // On the CPU a single NaN, or a quotient beyond int32, leaves the whole box
                        // to the form `divide`. So the other inputs are also tried without these.
                        if (variant.device() == HEWN_DEVICE_CPU) {
                            contents.emplace_back();
                            for (const X value : x) {
                                if (std::fabs(reference::to_f32(value) / s) < 0x1p31f)
                                    contents.back().push_back(value);
                            }
                        }
                        for (const std::vector<X> &values : contents) {
                            const size_t n = values.size();
                            const auto run = [&](const std::vector<int64_t> &sizes,
                                                 const std::vector<int64_t> &x_strides,
                                                 const std::vector<int64_t> &strides,
                                                 const std::vector<Q> &zeros) {
                                Problem problem = make_problem(variant.op(), types, sizes,
                                                               {x_strides, strides, strides},
                                                               contiguous_strides(sizes), random);
                                fill(*problem.inputs[0], [&](int64_t i) {
                                    problem.inputs[0]->set(i, values[size_t(i) % n]);
                                });
                                fill(*problem.inputs[1],
                                     [&](int64_t i) { problem.inputs[1]->set(i, scale); });
                                fill(*problem.inputs[2], [&](int64_t i) {
                                    problem.inputs[2]->set(i, zeros[size_t(i) / n % zeros.size()]);
                                });
                                result = check(problem, variant.name);
                            };
                            const std::vector<Q> all = zero_points<Q>();
                            for (const Q zero_point : all) {
                                run({int64_t(n)}, {1}, {0}, {zero_point});
                                if (!result) return;
                            }
                            run({int64_t(all.size()), int64_t(n)}, {int64_t(n), 1}, {int64_t(n), 1},
                                all);
                            if (result) run({int64_t(n), 16}, {1, 0}, {0, 1}, {77});
                            const int64_t blocks = int64_t(n + 127) / 128 * 8;
                            if (result) run({blocks, 16}, {16, 1}, {1, 0}, {77});
                            if (!result) return;
                        }
                    }
                });
        });
    });
    return result;
}

// DEQUANTIZE_LINEAR of special inputs and special zero points, with special scales: differences of
// 33 bits, u32 from 2^31 on, differences that round, f16 that overflow and subnormals.
testing::AssertionResult dequantize_specials(const Variant &variant, Random &random) {
    const auto types = variant.types();
    if (is_code(types[0])) return dequantize_codes(variant, random);
    testing::AssertionResult result = testing::AssertionSuccess();
    with_type<int32_t, int16_t, int8_t, uint32_t, uint16_t, uint8_t>(types[0], [&](auto x_tag) {
        with_type<float, f16>(types[1], [&](auto s_tag) {
            using X = decltype(x_tag);
            std::vector<X> x = special_values<X>();
            for (int i = 0; i < 100; i++) x.push_back(X(random.bits()));
            const std::vector<X> zero = special_values<X>();
            for (const auto scale : scales_of<decltype(s_tag)>(random)) {
                const std::vector<int64_t> sizes = {int64_t(zero.size()), int64_t(x.size())};
                for (const Layout layout : {Layout::scalar, Layout::dense}) {
                    Problem problem =
                        make_problem(variant.op(), types, sizes,
                                     {Layout::per_column, layout, Layout::per_row}, random);
                    copy_into(*problem.inputs[0], x);
                    copy_into(*problem.inputs[2], zero);
                    fill(*problem.inputs[1], [&](int64_t i) { problem.inputs[1]->set(i, scale); });
                    result = check(problem, variant.name);
                    if (!result) return;
                }
                // One zero point for the whole call, as in models.
                Problem problem = make_problem(variant.op(), types, {int64_t(x.size())},
                                               per_tensor(variant.op()), random);
                copy_into(*problem.inputs[0], x);
                problem.inputs[1]->set(0, scale);
                for (const X z : zero) {
                    problem.inputs[2]->set(0, z);
                    result = check(problem, variant.name);
                    if (!result) return;
                }
                // One zero point for each element. The first is 0.
                problem = make_problem(variant.op(), types, {int64_t(x.size())},
                                       {Layout::dense, Layout::scalar, Layout::dense}, random);
                copy_into(*problem.inputs[0], x);
                problem.inputs[1]->set(0, scale);
                fill(*problem.inputs[2],
                     [&](int64_t i) { problem.inputs[2]->set(i, zero[size_t(i) % zero.size()]); });
                result = check(problem, variant.name);
                if (!result) return;
            }
        });
    });
    return result;
}

// The scales of A, of B and of the output.
using ScaleSets = std::vector<std::array<float, 3>>;

// Adds special scales and ordinary ones, in any combination.
void add_random_scales(ScaleSets &scales, Random &random) {
    for (int i = 0; i < 30; i++)
        scales.push_back(
            {random.pick(special_f32()), random.pick(special_f32()), random.pick(special_f32())});
    for (int i = 0; i < 30; i++)
        scales.push_back({random_ordinary_scale(random, 0), random_ordinary_scale(random, 0),
                          random_ordinary_scale(random, 0)});
}

// For QUANTIZED_LINEAR_ADD: scales with which sums tie, vanish or overflow, or that are not
// numbers.
ScaleSets scales_of_sums(Random &random) {
    ScaleSets scales = {{1, 1, 2},
                        {0.5f, 0.5f, 1},
                        {0.5f, 0.5f, -1},
                        {-0.5f, 0.5f, 1},
                        {0.5f, 0.25f, 0.5f},
                        {-1, -1, -2},
                        {0.75f, 0.25f, 0.5f},
                        {1, 1, 4},
                        {0.1f, 0.1f, 0.2f},
                        {0.1f, -0.2f, 0.05f},
                        {0x1p-60f, 0x1p-60f, 0x1p-60f},
                        {0x1p60f, 0x1p60f, 0x1p60f},
                        {0x1p-61f, 0x1p-61f, 0x1p-61f},
                        {0x1p-140f, 0x1p-149f, 0x1p-145f},
                        {1, 1, 0x1p-20f},
                        {1, 1, 0x1p-23f},
                        {1, 1, 0x1p-60f},
                        {0x1p100f, 0x1p100f, 1},
                        {0x1p120f, 0x1p120f, 0x1p60f},
                        {0x1p127f, -0x1p127f, 1},
                        {1, 0x1p-30f, 1},
                        {0, 0, 1},
                        {0, 1, 1},
                        {1, 1, 0},
                        {0, 0, 0}};
    // The largest ratio that the form `reciprocal` takes is 2^30 / 255, for both addends together.
    for (const float s : {0x1.01p22f, 0x1.010102p22f, 0x1.00fffep22f, 0x1.01p21f, 0x1.010102p21f}) {
        scales.push_back({s, s, 1});
        scales.push_back({s, -s, -1});
    }
    add_random_scales(scales, random);
    return scales;
}

// For QUANTIZED_LINEAR_MUL: ratios that tie, vanish or overflow, and products of scales among the
// subnormals, some of which round.
ScaleSets scales_of_products(Random &random) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity(),
                    kNaN = std::numeric_limits<float>::quiet_NaN();
    ScaleSets scales = {{1, 1, 2},        {0.5f, -0.5f, 64}, {1, 1, 512},
                        {-1, 1, 0x1p17f}, {1, 1, 0x1p-9f},   {3, 1, 1024}};
    // The largest ratio of the form `bounded` is 2^14.
    for (const float ratio : {0x1p14f, 0x1.000002p14f, 0x1.fffffep13f}) {
        scales.push_back({ratio, 1, 1});
        scales.push_back({ratio, -1, 1});
    }
    // Products next to the middle between two subnormal numbers. If they were rounded to 24 bits
    // first, they would be that middle.
    for (int i = 0; i < 80; i++) {
        const double middle = (i % 20 + 0.5) * 0x1p-149;
        const float a = random_ordinary_scale(random, int(random.integer(-100, -50)));
        scales.push_back({a, float(middle / a), 0x1p-149f * float(random.integer(1, 64))});
    }
    scales.push_back({0x1p-75f, 0x1p-75f, 0x1p-149f});
    for (const float output : {1.0f, 0x1p120f, 0.0f, -0.0f, kInfinity, kNaN}) {
        for (const float b : {0x1p64f, 0x1.fffffep63f, 0x1p-149f, 0.0f, kInfinity, kNaN}) {
            for (const float a : {0x1p64f, 0x1p-149f, 0.0f, -kInfinity})
                scales.push_back({a, b, output});
        }
    }
    // Ratios of 2^-18 to 2^-1, whatever the scales. And ratios next to 1 / (2 n), with which every
    // n-th product is next to a tie.
    for (int i = 0; i < 100; i++) {
        const float a = random_ordinary_scale(random, int(random.integer(-75, 60)));
        const float b = random_ordinary_scale(random, int(random.integer(-75, 60)));
        scales.push_back(
            {a, b,
             float(double(a) * b /
                   double(random_ordinary_scale(random, int(random.integer(-18, -1)))))});
        scales.push_back({a, b, a * b * 2 * float(random.integer(1, 127))});
    }
    add_random_scales(scales, random);
    return scales;
}

// The i-th of 256 values. Of 8 bits these are all values, of 16 bits both ends and random ones.
template<class T>
T one_of_256(int i, Random &random) {
    if (sizeof(T) == 1) return T(i);
    return i == 0 ? std::numeric_limits<T>::min()
                  : T(i == 255 ? std::numeric_limits<T>::max() : random.bits());
}

template<class A, class B, class Q>
testing::AssertionResult scalar_specials(const Variant &variant, const ScaleSets &scales,
                                         Random &random) {
    Problem problem = make_problem(variant.op(), variant.types(), {9, 256},
                                   {Layout::per_column, Layout::per_row}, random);
    for (int i = 0; i < 256; i++) problem.inputs[0]->set(i, one_of_256<A>(i, random));
    for (const auto &[a_scale, b_scale, scale] : scales) {
        problem.inputs[1]->set(0, a_scale);
        problem.inputs[4]->set(0, b_scale);
        problem.inputs[6]->set(0, scale);
        for (const auto a_zero : zero_points<A>()) {
            problem.inputs[2]->set(0, a_zero);
            problem.inputs[5]->set(0, random.pick(zero_points<B>()));
            problem.inputs[7]->set(0, random.pick(zero_points<Q>()));
            for (int i = 0; i < 9; i++)
                problem.inputs[3]->set(
                    i, one_of_256<B>(i < 4 ? i * 85 : int(random.bits() & 255), random));
            if (const auto result = check(problem, variant.name); !result)
                return testing::AssertionFailure()
                       << result.message() << "; scales " << text_of(a_scale) << ", "
                       << text_of(b_scale) << ", " << text_of(scale);
        }
    }
    return testing::AssertionSuccess();
}

// For operators whose scales have one element: all A with a few B, for each set of scales.
testing::AssertionResult scalar_specials(const Variant &variant, const ScaleSets &scales,
                                         Random &random) {
    const auto types = variant.types();
    testing::AssertionResult result = testing::AssertionSuccess();
    const auto of_one_width = [&](auto signed_tag, auto unsigned_tag) {
        using I = decltype(signed_tag);
        using U = decltype(unsigned_tag);
        with_type<I, U>(types[0], [&](auto a) {
            with_type<I, U>(types[3], [&](auto b) {
                with_type<I, U>(types[8], [&](auto q) {
                    result = scalar_specials<decltype(a), decltype(b), decltype(q)>(variant, scales,
                                                                                    random);
                });
            });
        });
    };
    if (element_bytes(types[0]) == 1) of_one_width(int8_t(), uint8_t());
    else of_one_width(int16_t(), uint16_t());
    return result;
}

// For REQUANTIZE: the first is the input's scale, the third the output's. Quotients tie, vanish or
// overflow, or a scale is not a number.
ScaleSets scales_of_quotients(Random &random) {
    ScaleSets scales = {{1, 1, 2}, {0.5f, 0, 1}, {-0.5f, 0, 1}, {1, 0, 0x1p-60f}, {0, 0, 0}};
    // The largest ratios of the form `reciprocal`: 2^30 / 255 for 8 bits, 2^30 / 65535 for 16.
    for (const float ratio : {0x1.0101p22f, 0x1.010102p22f, 0x1.0100fep22f, 0x1.0001p14f,
                              0x1.000102p14f, 0x1.0000fep14f}) {
        scales.push_back({ratio, 0, 1});
        scales.push_back({-ratio, 0, 1});
    }
    // The least and the largest scale of that form, and their neighbours.
    for (const float scale : {0x1p-60f, 0x1.fffffep-61f, 0x1p60f, 0x1.000002p60f})
        scales.push_back({scale / 2, 0, scale});
    for (int i = 0; i < 60; i++) {  // the input's scale is a multiple of a quarter of the output's
        const float output = random_ordinary_scale(random, int(random.integer(-20, 20)));
        scales.push_back({output * float(random.integer(-16, 16)) / 4, 0, output});
    }
    add_random_scales(scales, random);
    return scales;
}

testing::AssertionResult requantize_specials(const Variant &variant, Random &random) {
    const auto types = variant.types();
    testing::AssertionResult result = testing::AssertionSuccess();
    with_type<int8_t, uint8_t, int16_t, uint16_t>(types[0], [&](auto x_tag) {
        with_type<int8_t, uint8_t, int16_t, uint16_t, int32_t>(types[5], [&](auto y_tag) {
            using X = decltype(x_tag);
            using Y = decltype(y_tag);
            constexpr int64_t kElements = 1024;  // enough for every form
            Problem problem =
                make_problem(variant.op(), types, {kElements}, per_tensor(variant.op()), random);
            for (int i = 0; i < kElements; i++)
                problem.inputs[0]->set(i, one_of_256<X>(i % 256, random));
            for (const auto &[scale, _, output_scale] : scales_of_quotients(random)) {
                problem.inputs[1]->set(0, scale);
                problem.inputs[3]->set(0, output_scale);
                for (const Y zero_point : zero_points<Y>()) {
                    problem.inputs[2]->set(0, random.pick(zero_points<X>()));
                    problem.inputs[4]->set(0, zero_point);
                    result = check(problem, variant.name);
                    if (!result) {
                        result << "; scales " << text_of(scale) << ", " << text_of(output_scale);
                        return;
                    }
                }
            }
        });
    });
    return result;
}

TEST_P(VariantTest, SpecialValues) {
    const Variant &variant = GetParam();
    Random random = this->random();
    switch (variant.op()) {
    case HEWN_OPERATOR_ADD:
        for (const auto &types : variant.all_types())
            EXPECT_TRUE(add_specials(variant, types, {}, random));
        break;
    case HEWN_OPERATOR_ADD1:
        for (int32_t activation = HEWN_ACTIVATION_IDENTITY; activation <= HEWN_ACTIVATION_CLIP;
             activation++) {
            for (int i = 0, n = EMULATED ? 4 : 24; i < n; i++)
                ASSERT_TRUE(add_specials(variant, variant.types(),
                                         with_parameters(variant.op(), {activation}, random),
                                         random));
        }
        break;
    case HEWN_OPERATOR_QUANTIZE_LINEAR: EXPECT_TRUE(quantize_specials(variant, random)); break;
    case HEWN_OPERATOR_DEQUANTIZE_LINEAR: EXPECT_TRUE(dequantize_specials(variant, random)); break;
    case HEWN_OPERATOR_QUANTIZED_LINEAR_ADD:
        EXPECT_TRUE(scalar_specials(variant, scales_of_sums(random), random));
        break;
    case HEWN_OPERATOR_QUANTIZED_LINEAR_MUL:
        EXPECT_TRUE(scalar_specials(variant, scales_of_products(random), random));
        break;
    case HEWN_OPERATOR_REQUANTIZE: EXPECT_TRUE(requantize_specials(variant, random)); break;
    default: FAIL() << "no special values for " << variant.operator_name;
    }
}

INSTANTIATE_TEST_SUITE_P(, VariantTest, testing::ValuesIn(all_variants()), variant_name);
std::vector<Variant> variants_in_place() {
    std::vector<Variant> variants;
    for (const Variant &variant : all_variants())
        if (facts(variant.op()).in_place) variants.push_back(variant);
    return variants;
}
INSTANTIATE_TEST_SUITE_P(, InPlaceTest, testing::ValuesIn(variants_in_place()), variant_name);
// A build without ADD and ADD1 has no such test.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(InPlaceTest);

}  // namespace
}  // namespace hewn_test
