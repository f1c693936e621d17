// Which of a variant's forms are called and how often, which no result tells: with forms that count instead of computing.
#include <gtest/gtest.h>
#include <hewn/hewn.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "../runtime/chip.h"
#include "../runtime/device.h"
#include "../runtime/dispatch.h"
#include "../runtime/fp_mode.h"
#include "../runtime/operators.h"
#include "../runtime/shape.h"

namespace {

constexpr hewn::Chip kZen5 = {hewn::kZen5, 1 << 20, 32 << 20};

int divided, multiplied;    // calls
std::vector<float> scales;  // of a call's rows
bool meets_a_nan;           // whether the form that multiplies meets one

// As the kernels' operations raise the flag of invalid ones.
void compute(bool invalid) {
    volatile float number = invalid ? 0.0f : 1.0f;
    volatile float quotient = number / number;
    (void)quotient;
}

int divide(const void *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *) {
    divided++;
    compute(std::count(scales.begin(), scales.end(), 0.0f) > 0);
    return 0;
}

int multiply(const void *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *r0, halide_buffer_t *r1, halide_buffer_t *,
             int32_t, halide_buffer_t *) {
    multiplied++;
    for (size_t y = 0; y < scales.size(); y++) {
        const auto at = [&](const halide_buffer_t *rows) {
            return double(reinterpret_cast<const float *>(rows->host)[int64_t(y) * rows->dim[1].stride]);
        };
        EXPECT_NEAR((at(r0) + at(r1)) * double(scales[y]), 1, 0x1p-46) << "row " << y;
    }
    compute(meets_a_nan);
    return 0;
}

// A problem of the operator, as its own description has it.
template<class Desc>
hewn::Problem read(hewn_operator_type type, const Desc &own) {
    const hewn_operator_desc desc = {sizeof desc, type, &own};
    hewn_error error = {};
    error.struct_size = sizeof error;
    hewn::Problem problem = {};
    EXPECT_EQ(hewn::read_operator(&desc, HEWN_FEATURE_LEVEL_NEWEST, problem, &error), HEWN_STATUS_OK) << error.message;
    return problem;
}

// QUANTIZE_LINEAR f32 to u8 of rows with a scale each.
class QuantizedRows : public testing::Test {
protected:
    static constexpr int64_t kRows = 4, kColumns = 1024;

    void SetUp() override {
        if (!hewn::InvalidOperationFlag::works()) GTEST_SKIP() << "the flag of invalid operations is not raised here";
        const int64_t sizes[] = {kRows, kColumns}, a_row[] = {1, 0}, once[] = {0, 0};
        const hewn_tensor_desc x = {sizeof x, HEWN_DATA_TYPE_FLOAT32, 2, sizes, nullptr};
        const hewn_tensor_desc scale = {sizeof scale, HEWN_DATA_TYPE_FLOAT32, 2, sizes, a_row};
        const hewn_tensor_desc zero_point = {sizeof zero_point, HEWN_DATA_TYPE_UINT8, 2, sizes, once};
        const hewn_tensor_desc y = {sizeof y, HEWN_DATA_TYPE_UINT8, 2, sizes, nullptr};
        const hewn_quantize_linear_desc quantize = {sizeof quantize, &x, &scale, &zero_point, &y};
        problem_ = read(HEWN_OPERATOR_QUANTIZE_LINEAR, quantize);

        variant_.forms[0] = {"divide", reinterpret_cast<hewn::KernelEntry>(divide), 1u << 0b100};
        variant_.forms[1] = {"reciprocal", reinterpret_cast<hewn::KernelEntry>(multiply), 1u << 0b1};
        kernel_.problem = &problem_;
        constexpr int64_t most = kRows * kColumns * 5 / (9 + kRows);
        choose(most + 1);
        EXPECT_EQ(kernel_.reciprocal, nullptr) << "a box has too few elements for its scales";
        choose(most);
        ASSERT_EQ(kernel_.reciprocal, &variant_.forms[1]);
        divided = multiplied = 0;
        meets_a_nan = false;
    }

    // Chooses forms where reciprocals pay from so many elements on.
    void choose(int64_t reciprocal_elements) {
        const hewn::Tensor *operands[hewn::kMaxOperands];
        const int32_t element_bytes[] = {4, 4, 1, 1};
        const int count = hewn::list_operands(problem_, operands);
        const hewn::Space space = hewn::merge_dimensions(operands, count);
        const hewn::Allocator allocator = {[](void *, size_t, size_t) -> void * { return nullptr; }, nullptr, nullptr};
        variant_.plan = {1 << 20, 1 << 30, 1 << 10, 1 << 30, 1, reciprocal_elements};
        hewn::Plan plan;
        int plans = 0;
        problem_.info->choose_forms(space, variant_, kernel_);
        do {
            ASSERT_LT(plans++, 2);
            ASSERT_TRUE(hewn::build_plan(space, count, element_bytes, kernel_.traits(), variant_.plan, kZen5, allocator, plan));
        } while (!hewn::fit_to_plan(plan, 1, 1, kZen5, variant_, kernel_));
    }

    // Executes boxes of a row for each scale, as one slice does.
    void execute(const std::vector<std::vector<float>> &boxes) {
#if defined(__x86_64__)
        constexpr unsigned INVALID = 1;
        _mm_setcsr(_mm_getcsr() & ~INVALID);
#endif
        const hewn::DefaultFloatingPointMode mode;
        hewn::CpuCall call(kernel_, nullptr, nullptr);
        call.maybe_invalid = mode.began_invalid();
        for (const std::vector<float> &box : boxes) execute_box(call, box, int32_t(box.size()));
    }

    // A box of that many rows, the first of those whose scales lie at `from`.
    void execute_box(hewn::CpuCall &call, const std::vector<float> &from, int32_t rows) {
        scales.assign(from.begin(), from.begin() + rows);
        halide_dimension_t dims[] = {{0, int32_t(kColumns), 0, 0}, {0, rows, rows > 1, 0}};
        halide_buffer_t buffers[hewn::kMaxOperands] = {};
        for (halide_buffer_t &buffer : buffers) buffer.dim = dims;
        buffers[1].host = reinterpret_cast<uint8_t *>(const_cast<float *>(from.data()));
        ASSERT_EQ(kernel_.call(call, buffers), 0);
    }

    hewn::Problem problem_ = {};
    hewn::Variant variant_ = {};
    hewn::CpuKernel kernel_ = {};
};

TEST_F(QuantizedRows, MultiplyByReciprocalsOnce) {
    execute({{0.5f, 0.25f, 3.0f, 0.1f}, {0.7f}, {0.1f, 0.3f}});
    EXPECT_EQ(multiplied, 3);
    EXPECT_EQ(divided, 0);
}

// The flag of invalid operations that 0 / 0 raised in one box is not taken for the next one's.
TEST_F(QuantizedRows, AreComputedOnceAfterOneThatDivides) {
    execute({{0.5f}, {0.0f}, {0.25f}, {0.125f, 0.5f}});
    EXPECT_EQ(multiplied, 3);
    EXPECT_EQ(divided, 1);
}

TEST_F(QuantizedRows, DivideWhereAScaleIsNotOrdinary) {
    constexpr float INF = std::numeric_limits<float>::infinity(), NOT_A_NUMBER = std::numeric_limits<float>::quiet_NaN();
    execute({{0x1p-70f}, {INF, 0.5f}, {0.5f, 0.25f, NOT_A_NUMBER}, {0.5f, 0x1p70f, 0.25f}});
    EXPECT_EQ(multiplied, 0);
    EXPECT_EQ(divided, 4);
}

// Rows that repeat one after the other use what was prepared, fewer of them as well.
TEST_F(QuantizedRows, PrepareOnce) {
    const std::vector<float> box = {0.5f, 0.25f, 3.0f};
    hewn::CpuCall call(kernel_, nullptr, nullptr);
    for (const int32_t rows : {2, 1, 2, 3}) {
        execute_box(call, box, rows);
        EXPECT_EQ(call.rows.count, rows == 3 ? 3 : 2);
    }
}

#if defined(__x86_64__)  // ARM's conversions saturate, and nothing is told
TEST_F(QuantizedRows, AreDividedWhereMultiplyingMeetsANaN) {
    meets_a_nan = true;
    execute({{0.5f}, {0.25f, 0.125f}});
    EXPECT_EQ(multiplied, 2);
    EXPECT_EQ(divided, 2);
}
#endif

// Chooses the kernel's forms for a problem on a Zen 5, for a plan that needs no second one.
void plan(const hewn::Problem &problem, const hewn::Variant &variant, hewn::CpuKernel &kernel) {
    const hewn::Tensor *operands[hewn::kMaxOperands];
    int32_t element_bytes[hewn::kMaxOperands];
    const int count = hewn::list_operands(problem, operands);
    for (int o = 0; o < count; o++) element_bytes[o] = operands[o]->element_bytes;
    const hewn::Space space = hewn::merge_dimensions(operands, count);
    const hewn::Allocator &allocator = hewn::default_device().allocator;
    hewn::Plan plan;
    problem.info->choose_forms(space, variant, kernel);
    EXPECT_TRUE(hewn::build_plan(space, count, element_bytes, kernel.traits(), variant.plan, kZen5, allocator, plan));
    EXPECT_TRUE(hewn::fit_to_plan(plan, 1, 1, kZen5, variant, kernel));
    hewn::destroy_plan(allocator, plan);
}

std::vector<int32_t> zero_point_strides;  // along the row, of each call

int dequantize(const void *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *zero_point, int32_t, halide_buffer_t *) {
    zero_point_strides.push_back(zero_point->dim[0].stride);
    return 0;
}

// DEQUANTIZE_LINEAR i16 to f32 with a scale and a zero point a column.
class ZeroPointsOfColumns : public testing::Test {
protected:
    using Row = std::vector<int16_t>;

    void choose(int64_t rows) {
        const int64_t sizes[] = {rows, kColumns}, a_column[] = {0, 1};
        const hewn_tensor_desc x = {sizeof x, HEWN_DATA_TYPE_INT16, 2, sizes, nullptr};
        const hewn_tensor_desc scale = {sizeof scale, HEWN_DATA_TYPE_FLOAT32, 2, sizes, a_column};
        const hewn_tensor_desc zero_point = {sizeof zero_point, HEWN_DATA_TYPE_INT16, 2, sizes, a_column};
        const hewn_tensor_desc y = {sizeof y, HEWN_DATA_TYPE_FLOAT32, 2, sizes, nullptr};
        const hewn_dequantize_linear_desc own = {sizeof own, &x, &scale, &zero_point, &y};
        problem_ = read(HEWN_OPERATOR_DEQUANTIZE_LINEAR, own);
        variant_.forms[0] = {"general", reinterpret_cast<hewn::KernelEntry>(dequantize), 1u << 0b100 | 1u << 0b110 | 1u << 0b111};
        variant_.plan = {1 << 20, 1 << 30, 1 << 10, 1 << 30, 1, 256};
        kernel_.problem = &problem_;
        plan(problem_, variant_, kernel_);
        zero_point_strides.clear();
    }

    // A box of so many rows with `count` zero points of a row, which was just brought into scratch memory or not.
    void execute_box(hewn::CpuCall &call, const Row &row, int32_t rows, bool filled = false) {
        execute_box(call, row.data(), int32_t(row.size()), rows, filled);
    }
    void execute_box(hewn::CpuCall &call, const int16_t *row, int32_t count, int32_t rows, bool filled = false) {
        halide_dimension_t dims[] = {{0, count, 1, 0}, {0, rows, 0, 0}};
        halide_buffer_t buffers[hewn::kMaxOperands] = {};
        for (halide_buffer_t &buffer : buffers) buffer.dim = dims;
        buffers[2].host = reinterpret_cast<uint8_t *>(const_cast<int16_t *>(row));
        call.filled = filled ? 1u << 2 : 0;
        ASSERT_EQ(kernel_.call(call, buffers), 0);
        ASSERT_EQ(buffers[2].dim, dims);
        ASSERT_EQ(dims[0].stride, 1);
    }

    static constexpr int64_t kColumns = 1024;  // of the plan
    hewn::Problem problem_ = {};
    hewn::Variant variant_ = {};
    hewn::CpuKernel kernel_ = {};
};

using Strides = std::vector<int32_t>;

TEST_F(ZeroPointsOfColumns, AreOneWhereAllAreEqual) {
    choose(4);
    for (const Row &row : {Row{0, 0, 0, 0, 0, 0}, Row{-7, -7, -7, -7, -7, -7}, Row{5}, Row{1, 0, 0, 0, 0, 0},
                           Row{0, 0, 0, 0, 0, 256}, Row{0, 0, 1, 0, 0, 0}, Row{3, 4}}) {
        hewn::CpuCall call(kernel_, nullptr, nullptr);
        execute_box(call, row, 4);
    }
    EXPECT_EQ(zero_point_strides, (Strides{0, 0, 0, 1, 1, 1, 1}));
}

TEST_F(ZeroPointsOfColumns, AreComparedForRowsEnough) {
    choose(3);
    hewn::CpuCall few(kernel_, nullptr, nullptr);
    for (int i = 0; i < 2; i++) execute_box(few, Row{0, 0, 0, 0, 0, 0}, 4);
    EXPECT_EQ(zero_point_strides, (Strides{1, 1}));

    choose(4);
    const Row equal = {2, 2, 2, 2, 2, 2}, other = {2, 2, 2, 2, 2, 2};
    hewn::CpuCall call(kernel_, nullptr, nullptr);
    for (const Row *row : {&equal, &equal, &equal, &other, &other}) execute_box(call, *row, 1);
    EXPECT_EQ(zero_point_strides, (Strides{1, 0, 0, 1, 0}));
}

// Scratch memory holds other ones in the same place; a shorter box has the first of the same ones, a longer one has more.
TEST_F(ZeroPointsOfColumns, AreKnownWhileTheyStay) {
    choose(4);
    Row row = {2, 2, 2, 2, 2, 2};
    hewn::CpuCall call(kernel_, nullptr, nullptr);
    execute_box(call, row, 4, true);
    row.back() = 1;
    execute_box(call, row, 4, true);
    execute_box(call, row, 2);
    row.back() = 2;
    execute_box(call, row, 4, true);
    row.pop_back();
    execute_box(call, row, 1);
    execute_box(call, row, 4, true);
    row.push_back(1);
    execute_box(call, row, 4);
    EXPECT_EQ(zero_point_strides, (Strides{0, 1, 1, 0, 0, 0, 1}));
}

// All of the longest box are compared.
TEST_F(ZeroPointsOfColumns, AreComparedToTheLast) {
    choose(4);
    const Row row = {2, 2, 2, 2, 2, 1};
    hewn::CpuCall call(kernel_, nullptr, nullptr);
    for (const int32_t count : {6, 5, 6}) execute_box(call, row.data(), count, 1);
    EXPECT_EQ(zero_point_strides, (Strides{1, 1, 1}));
}

// Of a row that boxes cut, all parts are compared once the first one comes again.
TEST_F(ZeroPointsOfColumns, AreGatheredFromPartsOfARow) {
    choose(4);
    const Row equal = {2, 2, 2, 2, 2, 2}, other = {2, 2, 2, 2, 2, 1};
    for (const Row *row : {&equal, &other}) {
        hewn::CpuCall call(kernel_, nullptr, nullptr);
        for (int y = 0; y < 2; y++) {
            for (const int at : {0, 2, 4}) execute_box(call, row->data() + at, 2, 1);
        }
        execute_box(call, row->data() + 4, 1, 1);
    }
    EXPECT_EQ(zero_point_strides, (Strides{1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1}));
}

int divide_columns(const void *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *zero_point, halide_buffer_t *) {
    zero_point_strides.push_back(zero_point->dim[0].stride);
    return 0;
}

int multiply_columns(const void *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *zero_point,
                     halide_buffer_t *) {
    zero_point_strides.push_back(10 + zero_point->dim[0].stride);
    return 0;
}

// QUANTIZE_LINEAR f32 to i8 with a scale and a zero point a column, in rows that divide and in rows enough to prepare the scales.
TEST(ZeroPoints, AreJoinedWhereColumnsAreQuantized) {
    if (!hewn::InvalidOperationFlag::works()) GTEST_SKIP() << "the flag of invalid operations is not raised here";
    constexpr int64_t kColumns = 1024;
    for (const int64_t rows : {4, 64}) {
        const int64_t sizes[] = {rows, kColumns}, a_column[] = {0, 1};
        const hewn_tensor_desc x = {sizeof x, HEWN_DATA_TYPE_FLOAT32, 2, sizes, nullptr};
        const hewn_tensor_desc scale = {sizeof scale, HEWN_DATA_TYPE_FLOAT32, 2, sizes, a_column};
        const hewn_tensor_desc zero_point = {sizeof zero_point, HEWN_DATA_TYPE_INT8, 2, sizes, a_column};
        const hewn_tensor_desc y = {sizeof y, HEWN_DATA_TYPE_INT8, 2, sizes, nullptr};
        const hewn_quantize_linear_desc own = {sizeof own, &x, &scale, &zero_point, &y};
        const hewn::Problem problem = read(HEWN_OPERATOR_QUANTIZE_LINEAR, own);
        hewn::Variant variant = {};
        variant.forms[0] = {"divide", reinterpret_cast<hewn::KernelEntry>(divide_columns),
                            1u << 0b100 | 1u << 0b110 | 1u << 0b111};
        variant.forms[1] = {"columns", reinterpret_cast<hewn::KernelEntry>(multiply_columns), 1u << 0b1110 | 1u << 0b1111};
        variant.plan = {1 << 20, 1 << 30, 1 << 10, 1 << 30, 1, 256};
        hewn::CpuKernel kernel = {};
        kernel.problem = &problem;
        plan(problem, variant, kernel);

        std::vector<float> scales(kColumns, 0.5f);
        std::vector<int8_t> zero_points(kColumns, 3);
        zero_point_strides.clear();
        const hewn::DefaultFloatingPointMode mode;
        for (int i = 0; i < 2; i++) {
            hewn::CpuCall call(kernel, nullptr, nullptr);
            const auto columns = std::make_unique<hewn::Columns>();
            call.columns = columns.get();
            halide_dimension_t dims[] = {{0, int32_t(kColumns), 1, 0}, {0, int32_t(rows), 0, 0}};
            halide_buffer_t buffers[hewn::kMaxOperands] = {};
            for (halide_buffer_t &buffer : buffers) buffer.dim = dims;
            buffers[1].host = reinterpret_cast<uint8_t *>(scales.data());
            buffers[2].host = reinterpret_cast<uint8_t *>(zero_points.data());
            ASSERT_EQ(kernel.call(call, buffers), 0);
            zero_points.back() = 4;
        }
        EXPECT_EQ(zero_point_strides, rows == 4 ? (Strides{0, 1}) : (Strides{10, 11})) << rows << " rows";
    }
}

// How many elements ahead kernels of a problem are to ask for memory on a Zen 5.
int32_t ahead_of(const hewn::Problem &problem, const hewn::Variant &variant) {
    hewn::CpuKernel kernel = {};
    kernel.problem = &problem;
    plan(problem, variant, kernel);
    return kernel.ahead;
}

using Sizes = std::vector<int64_t>;

// DEQUANTIZE_LINEAR i8 to f32 or, where `quantizes`, QUANTIZE_LINEAR f32 to i8, with scales of these strides and zero points of
// the same, or one.
int32_t ahead_of(bool quantizes, const Sizes &sizes, const Sizes &input_strides, const Sizes &strides,
                 bool one_zero_point = false) {
    const Sizes once(sizes.size(), 0);
    const uint32_t rank = uint32_t(sizes.size());
    const hewn_tensor_desc number = {sizeof number, HEWN_DATA_TYPE_FLOAT32, rank, sizes.data(), nullptr};
    const hewn_tensor_desc scale = {sizeof scale, HEWN_DATA_TYPE_FLOAT32, rank, sizes.data(), strides.data()};
    const hewn_tensor_desc zero_point = {sizeof zero_point, HEWN_DATA_TYPE_INT8, rank, sizes.data(),
                                         one_zero_point ? once.data() : strides.data()};
    const hewn_tensor_desc integer = {sizeof integer, HEWN_DATA_TYPE_INT8, rank, sizes.data(), nullptr};
    hewn_tensor_desc input = quantizes ? number : integer;
    input.strides = input_strides.data();
    hewn::Variant variant = {};
    variant.plan = {1 << 18, INT64_MAX, 1 << 10, INT64_MAX, 1, 256};
    constexpr uint32_t kParametersOfAll = 1u << 0b100 | 1u << 0b110 | 1u << 0b111;
    if (quantizes) {
        variant.forms[0] = {"divide", nullptr, kParametersOfAll};
        variant.forms[1] = {"reciprocal", nullptr, 1u << 0b100};
        variant.forms[2] = {"columns", nullptr, 1u << 0b1110 | 1u << 0b1111};
        variant.forms[3] = {"repeating", nullptr, 1u << 0b1};
        const hewn_quantize_linear_desc own = {sizeof own, &input, &scale, &zero_point, &integer};
        return ahead_of(read(HEWN_OPERATOR_QUANTIZE_LINEAR, own), variant);
    }
    variant.forms[0] = {"general", nullptr, kParametersOfAll};
    variant.forms[1] = {"repeating", nullptr, 1u << 0b1};
    const hewn_dequantize_linear_desc own = {sizeof own, &input, &scale, &zero_point, &number};
    return ahead_of(read(HEWN_OPERATOR_DEQUANTIZE_LINEAR, own), variant);
}

// In place and by `repeating`, and nowhere else through scratch memory.
TEST(Forms, AskAheadForWhatLiesInPlace) {
    constexpr int64_t kElements = 1 << 20;
    constexpr int32_t kAhead = 1024 / 4;
    for (const bool quantizes : {false, true}) {
        SCOPED_TRACE(quantizes ? "QUANTIZE_LINEAR" : "DEQUANTIZE_LINEAR");
        if (quantizes && !hewn::InvalidOperationFlag::works()) continue;  // by division, which never asks
        EXPECT_EQ(ahead_of(quantizes, {kElements}, {1}, {0}), kAhead);
        for (const int64_t period : {2, 4, 8}) {
            for (const bool one_zero_point : {false, true})
                EXPECT_EQ(ahead_of(quantizes, {kElements / period, period}, {period, 1}, {0, 1}, one_zero_point), kAhead);
        }
        EXPECT_EQ(ahead_of(quantizes, {kElements / 3, 3}, {3, 1}, {0, 1}), 0);
        EXPECT_EQ(ahead_of(quantizes, {1024, 1024}, {1, 1024}, {0, 0}), 0);
        EXPECT_EQ(ahead_of(quantizes, {kElements / 4, 4}, {1, kElements / 4}, {0, 1}), 0);
        EXPECT_EQ(ahead_of(quantizes, {256, 4}, {4, 1}, {0, 1}), 0);
    }
}

// QUANTIZED_LINEAR_ADD alone computes longer than its memory takes.
TEST(Forms, AreBoundByArithmetic) {
    const Sizes size = {4096}, once = {0};
    const auto described = [&](hewn_data_type type, const Sizes *strides) {
        return hewn_tensor_desc{sizeof(hewn_tensor_desc), type, 1, size.data(), strides ? strides->data() : nullptr};
    };
    const hewn_tensor_desc x = described(HEWN_DATA_TYPE_INT8, nullptr), number = described(HEWN_DATA_TYPE_FLOAT32, nullptr),
                           scale = described(HEWN_DATA_TYPE_FLOAT32, &once);
    const hewn_add_desc add = {sizeof add, &x, &x, &x};
    const hewn_quantize_linear_desc quantize = {sizeof quantize, &number, &scale, nullptr, &x};
    const hewn_dequantize_linear_desc dequantize = {sizeof dequantize, &x, &scale, nullptr, &number};
    const hewn_quantized_linear_add_desc quantized_add = {
        sizeof quantized_add, &x, &scale, nullptr, &x, &scale, nullptr, &scale, nullptr, &x};
    const auto bound = [](const hewn::Problem &problem) {
        hewn::Variant variant = {};
        variant.plan.reciprocal_elements = 256;
        hewn::CpuKernel kernel = {};
        kernel.problem = &problem;
        const hewn::Tensor *operands[hewn::kMaxOperands];
        const int count = hewn::list_operands(problem, operands);
        problem.info->choose_forms(hewn::merge_dimensions(operands, count), variant, kernel);
        return kernel.compute_bound;
    };
    EXPECT_FALSE(bound(read(HEWN_OPERATOR_ADD, add)));
    EXPECT_FALSE(bound(read(HEWN_OPERATOR_QUANTIZE_LINEAR, quantize)));
    EXPECT_FALSE(bound(read(HEWN_OPERATOR_DEQUANTIZE_LINEAR, dequantize)));
    EXPECT_TRUE(bound(read(HEWN_OPERATOR_QUANTIZED_LINEAR_ADD, quantized_add)));
}

}  // namespace
