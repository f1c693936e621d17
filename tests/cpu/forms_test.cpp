// Which of a variant's forms are called and how often, which no result tells: with forms that count instead of computing.
#include <gtest/gtest.h>
#include <hewn/hewn.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "../../reference/variants.h"
#include "../../runtime/cpu/fp_mode.h"
#include "../../runtime/cpu/kernel.h"
#include "../../runtime/cpu/stream.h"
#include "../../runtime/dispatch/chip.h"
#include "../../runtime/dispatch/device.h"
#include "../../runtime/dispatch/dispatch.h"
#include "../../runtime/problem/shape.h"

namespace {

constexpr hewn::Chip kZen5 = {0x1a, 1 << 20, 32 << 20};

int divided, multiplied;    // calls
std::vector<float> scales;  // of a call's rows
bool meets_a_nan;           // whether the form that multiplies meets one
int failure;                // what it returns

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
    return failure;
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

using Sizes = std::vector<int64_t>;

// Of operators without kernels nothing is linked that chooses forms.
bool is_built(std::initializer_list<const char *> operators) {
    return std::none_of(operators.begin(), operators.end(),
                        [](const char *name) { return hewn_test::variants_of(name).empty(); });
}
constexpr char kNotBuilt[] = "this build has no kernels of an operator whose forms are chosen";

// DEQUANTIZE_LINEAR of integers to f32 or, where `quantizes`, QUANTIZE_LINEAR of f32 to integers. The output is packed.
hewn::Problem linear_problem(bool quantizes, hewn_data_type integers, const Sizes &sizes, const Sizes &input_strides,
                             const Sizes &scale_strides, const Sizes &zero_point_strides) {
    const auto described = [&](hewn_data_type type, const Sizes *strides) {
        return hewn_tensor_desc{sizeof(hewn_tensor_desc), type, uint32_t(sizes.size()), sizes.data(),
                                strides ? strides->data() : nullptr};
    };
    const hewn_data_type from = quantizes ? HEWN_DATA_TYPE_FLOAT32 : integers, to = quantizes ? integers : HEWN_DATA_TYPE_FLOAT32;
    const hewn_tensor_desc input = described(from, &input_strides), scale = described(HEWN_DATA_TYPE_FLOAT32, &scale_strides),
                           zero_point = described(integers, &zero_point_strides), output = described(to, nullptr);
    if (quantizes) {
        const hewn_quantize_linear_desc own = {sizeof own, &input, &scale, &zero_point, &output};
        return read(HEWN_OPERATOR_QUANTIZE_LINEAR, own);
    }
    const hewn_dequantize_linear_desc own = {sizeof own, &input, &scale, &zero_point, &output};
    return read(HEWN_OPERATOR_DEQUANTIZE_LINEAR, own);
}

// Chooses the kernel's forms for a problem on a Zen 5. How many plans it took. `made` receives the last, without its tables.
int plan(const hewn::Problem &problem, const hewn::Variant &variant, hewn::CpuKernel &kernel, hewn::Plan *made = nullptr,
         hewn::Threads threads = {1, 1}) {
    const hewn::Tensor *operands[hewn::kMaxOperands];
    const int count = hewn::list_operands(problem, operands);
    const hewn::Space space = hewn::merge_dimensions(operands, count);
    const hewn::Allocator &allocator = hewn::default_device().allocator;
    kernel.problem = &problem;
    hewn::Plan plan;
    const int plans = hewn::plan_kernel(space, variant, kZen5, threads, allocator, plan, kernel);
    hewn::destroy_plan(allocator, plan);
    if (made) *made = plan;
    return plans;
}

// The layouts of the forms that read both parameters, as the build has them.
constexpr uint32_t kParametersOfAll = 1u << 0b100 | 1u << 0b110 | 1u << 0b111, kParametersOfColumns = 1u << 0b1110 | 1u << 0b1111;

// QUANTIZE_LINEAR f32 to u8 of rows with a scale each.
class QuantizedRows : public testing::Test {
protected:
    static constexpr int64_t kRows = 4, kColumns = 1024;

    void SetUp() override {
        if (!hewn::InvalidOperationFlag::works()) GTEST_SKIP() << "the flag of invalid operations is not raised here";
        if (!is_built({"quantize_linear"})) GTEST_SKIP() << kNotBuilt;
        problem_ = linear_problem(true, HEWN_DATA_TYPE_UINT8, {kRows, kColumns}, {kColumns, 1}, {1, 0}, {0, 0});
        variant_.forms[0] = {"divide", reinterpret_cast<hewn::KernelEntry>(divide), 1u << 0b100};
        variant_.forms[1] = {"reciprocal", reinterpret_cast<hewn::KernelEntry>(multiply), 1u << 0b1};
        constexpr int64_t most = kRows * kColumns * 5 / (9 + kRows);
        EXPECT_EQ(choose(most + 1), 2);
        EXPECT_EQ(kernel_.reciprocal, nullptr) << "a box has too few elements for its scales";
        EXPECT_EQ(choose(most), 1);
        ASSERT_EQ(kernel_.reciprocal, &variant_.forms[1]);
        divided = multiplied = 0;
        meets_a_nan = false;
        failure = 0;
    }

    // Chooses forms where reciprocals pay from `reciprocal_elements` elements on.
    int choose(int64_t reciprocal_elements) {
        variant_.plan = {};
        variant_.plan.box_bytes = 1 << 20;
        variant_.plan.stream_bytes = variant_.plan.parallel_bytes = 1 << 30;
        variant_.plan.reciprocal_elements = reciprocal_elements;
        return plan(problem_, variant_, kernel_);
    }

    // Executes boxes of a row for each scale, as one slice does.
    void execute(const std::vector<std::vector<float>> &boxes) {
#if defined(__x86_64__)
        constexpr unsigned INVALID = 1;
        _mm_setcsr(_mm_getcsr() & ~INVALID);
#endif
        const hewn::FloatingPointMode mode;
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
        ASSERT_EQ(kernel_.call(call, buffers), failure);
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

// What threads have left of two scales, a half of each.
TEST_F(QuantizedRows, TakeNoHalfOfAnotherScale) {
    problem_ = linear_problem(true, HEWN_DATA_TYPE_UINT8, {kRows, kColumns}, {kColumns, 1}, {0, 0}, {0, 0});
    EXPECT_EQ(choose(256), 1);
    ASSERT_TRUE(kernel_.one_scale);
    hewn::LastReciprocal &last = kernel_.last_reciprocal;
    for (std::atomic<uint64_t> *half : {&last.r0, &last.r1}) {
        execute({{0.3f}});
        const uint64_t kept = *half;
        execute({{0.7f}});
        *half = kept;
        execute({{0.3f}});
    }
    EXPECT_EQ(multiplied, 6);
}

// A kernel that fails is not run again, whatever it met before.
TEST_F(QuantizedRows, FailOnce) {
    meets_a_nan = true;
    failure = -5;
    execute({{0.5f}});
    EXPECT_EQ(multiplied, 1);
    EXPECT_EQ(divided, 0);
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

// Of 16 boxes those that meet no NaN are not divided after one that does. If all do, the 1st, 2nd, 4th, 8th and 16th are tried.
TEST_F(QuantizedRows, AreTriedAgainAfterANaN) {
    const std::vector<float> scale = {0.5f};
    for (const bool in_all : {false, true}) {
        multiplied = divided = 0;
        hewn::CpuCall call(kernel_, nullptr, nullptr);
        for (int i = 0; i < 16; i++) {
            meets_a_nan = i == 0 || in_all;
            execute_box(call, scale, 1);
        }
        EXPECT_EQ(multiplied, in_all ? 5 : 16);
        EXPECT_EQ(divided, in_all ? 16 : 1);
    }
}
#endif

std::vector<int32_t> zero_point_strides;  // along the row, of each call

int dequantize(const void *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *zero_point, int32_t, halide_buffer_t *) {
    zero_point_strides.push_back(zero_point->dim[0].stride);
    return 0;
}

// DEQUANTIZE_LINEAR i16 to f32 with a scale and a zero point a column.
class ZeroPointsOfColumns : public testing::Test {
protected:
    using Row = std::vector<int16_t>;

    void SetUp() override {
        if (!is_built({"dequantize_linear"})) GTEST_SKIP() << kNotBuilt;
    }

    void choose(int64_t rows) {
        problem_ = linear_problem(false, HEWN_DATA_TYPE_INT16, {rows, kColumns}, {kColumns, 1}, {0, 1}, {0, 1});
        variant_.forms[0] = {"general", reinterpret_cast<hewn::KernelEntry>(dequantize), kParametersOfAll};
        variant_.plan.box_bytes = 1 << 20;
        variant_.plan.stream_bytes = variant_.plan.parallel_bytes = 1 << 30;
        EXPECT_EQ(plan(problem_, variant_, kernel_), 1);
        zero_point_strides.clear();
    }

    // A box of `rows` rows with `count` zero points of a row, which was just brought into scratch memory or not.
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

// A row of others may lie just after the one before.
TEST_F(ZeroPointsOfColumns, AreThoseOfTheirRowAlone) {
    choose(4);
    const Row rows = {2, 2, 2, 3, 3, 3};
    hewn::CpuCall call(kernel_, nullptr, nullptr);
    for (const int at : {0, 3}) execute_box(call, rows.data() + at, 3, 4);
    EXPECT_EQ(zero_point_strides, (Strides{0, 0}));
}

// So where boxes cut rows.
TEST_F(ZeroPointsOfColumns, AreThoseOfTheirRowAloneInParts) {
    choose(4);
    const Row rows = {2, 2, 2, 2, 3, 3, 3, 3};
    hewn::CpuCall call(kernel_, nullptr, nullptr);
    for (const int row : {0, 4}) {
        for (int y = 0; y < 2; y++) {
            for (const int at : {0, 2}) execute_box(call, rows.data() + row + at, 2, 1);
        }
    }
    EXPECT_EQ(zero_point_strides, (Strides{1, 1, 0, 0, 1, 1, 0, 0}));
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

// With these two forms, whose boxes hold all that the tests below have.
hewn::Variant columns_variant() {
    hewn::Variant variant = {};
    variant.forms[0] = {"divide", reinterpret_cast<hewn::KernelEntry>(divide_columns), kParametersOfAll};
    variant.forms[1] = {"columns", reinterpret_cast<hewn::KernelEntry>(multiply_columns), kParametersOfColumns};
    variant.plan.box_bytes = 1 << 20;
    variant.plan.stream_bytes = variant.plan.parallel_bytes = 1 << 30;
    return variant;
}

// QUANTIZE_LINEAR f32 to i8 with a scale and a zero point a column, in rows that divide and in rows enough to prepare the scales.
TEST(ZeroPoints, AreJoinedWhereColumnsAreQuantized) {
    if (!is_built({"quantize_linear", "dequantize_linear"})) GTEST_SKIP() << kNotBuilt;
    if (!hewn::InvalidOperationFlag::works()) GTEST_SKIP() << "the flag of invalid operations is not raised here";
    constexpr int64_t kColumns = 1024;
    for (const int64_t rows : {4, 64}) {
        const hewn::Problem problem = linear_problem(true, HEWN_DATA_TYPE_INT8, {rows, kColumns}, {kColumns, 1}, {0, 1}, {0, 1});
        const hewn::Variant variant = columns_variant();
        hewn::CpuKernel kernel = {};
        EXPECT_EQ(plan(problem, variant, kernel), 1);

        std::vector<float> scales(kColumns, 0.5f);
        std::vector<int8_t> zero_points(kColumns, 3);
        zero_point_strides.clear();
        const hewn::FloatingPointMode mode;
        for (int i = 0; i < 2; i++) {
            hewn::CpuCall call(kernel, nullptr, nullptr);
            const auto columns = std::make_unique<hewn::Columns>();
            columns->from = reinterpret_cast<const char *>(scales.data());  // as its memory may have it from before
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

// A row of scales that boxes cut is multiplied by where all of its parts are ordinary; what lies behind it is not looked at.
TEST(Columns, AreOfAllPartsOfARow) {
    if (!is_built({"quantize_linear", "dequantize_linear"})) GTEST_SKIP() << kNotBuilt;
    if (!hewn::InvalidOperationFlag::works()) GTEST_SKIP() << "the flag of invalid operations is not raised here";
    constexpr int32_t kColumns = 1024, kPart = 512;
    const hewn::Problem problem = linear_problem(true, HEWN_DATA_TYPE_INT8, {64, kColumns}, {kColumns, 1}, {0, 1}, {0, 1});
    const hewn::Variant variant = columns_variant();
    hewn::CpuKernel kernel = {};
    EXPECT_EQ(plan(problem, variant, kernel), 1);
    std::vector<int8_t> zero_points(kColumns);
    for (size_t i = 0; i < zero_points.size(); i++) zero_points[i] = int8_t(i);
    for (const bool ordinary : {true, false}) {
        std::vector<float> scales(2 * kColumns, 0.0f);
        std::fill_n(scales.begin(), kColumns, 0.5f);
        if (!ordinary) scales[1] = 0;
        zero_point_strides.clear();
        const hewn::FloatingPointMode mode;
        hewn::CpuCall call(kernel, nullptr, nullptr);
        const auto columns = std::make_unique<hewn::Columns>();
        call.columns = columns.get();
        for (const int at : {0, kPart, 0, kPart}) {
            halide_dimension_t dims[] = {{0, kPart, 1, 0}, {0, 1, 0, 0}};
            halide_buffer_t buffers[hewn::kMaxOperands] = {};
            for (halide_buffer_t &buffer : buffers) buffer.dim = dims;
            buffers[1].host = reinterpret_cast<uint8_t *>(scales.data() + at);
            buffers[2].host = reinterpret_cast<uint8_t *>(zero_points.data() + at);
            ASSERT_EQ(kernel.call(call, buffers), 0);
        }
        EXPECT_EQ(zero_point_strides, ordinary ? Strides(4, 11) : Strides(4, 1));
    }
}

// What is chosen for DEQUANTIZE_LINEAR i8 to f32 or, where `quantizes`, QUANTIZE_LINEAR f32 to i8, with all forms that there are.
struct Planned {
    bool repeating;
    int32_t distance;
    int plans;  // that it took
};
Planned planned(bool quantizes, const Sizes &sizes, const Sizes &input_strides, const Sizes &scale_strides,
                const Sizes &zero_point_strides) {
    hewn::Variant variant = {};
    variant.plan.stream_bytes = variant.plan.parallel_bytes = INT64_MAX;
    if (quantizes) {
        variant.forms[0] = {"divide", nullptr, kParametersOfAll};
        variant.forms[1] = {"reciprocal", nullptr, 1u << 0b1};
        variant.forms[2] = {"columns", nullptr, kParametersOfColumns};
        variant.forms[3] = {"repeating", nullptr, 1u << 0b1};
    } else {
        variant.forms[0] = {"general", nullptr, kParametersOfAll};
        variant.forms[1] = {"repeating", nullptr, 1u << 0b1};
    }
    const hewn::Problem problem =
        linear_problem(quantizes, HEWN_DATA_TYPE_INT8, sizes, input_strides, scale_strides, zero_point_strides);
    hewn::CpuKernel kernel = {};
    const int plans = plan(problem, variant, kernel);
    return {kernel.repeating != nullptr, kernel.prefetch_distance, plans};
}

// In place and by `repeating`, and nowhere else through scratch memory.
TEST(Forms, PrefetchWhatLiesInPlace) {
    if (!is_built({"quantize_linear", "dequantize_linear"})) GTEST_SKIP() << kNotBuilt;
    constexpr int64_t kElements = 1 << 20;
    constexpr int32_t kDistance = 1024 / 4;
    for (const bool quantizes : {false, true}) {
        SCOPED_TRACE(quantizes ? "QUANTIZE_LINEAR" : "DEQUANTIZE_LINEAR");
        if (quantizes && !hewn::InvalidOperationFlag::works()) continue;  // by division, which never prefetches
        const auto distance = [&](const Sizes &sizes, const Sizes &input_strides, const Sizes &strides) {
            return planned(quantizes, sizes, input_strides, strides, strides).distance;
        };
        EXPECT_EQ(distance({kElements}, {1}, {0}), kDistance);
        for (const int64_t period : {2, 4, 8}) EXPECT_EQ(distance({kElements / period, period}, {period, 1}, {0, 1}), kDistance);
        EXPECT_EQ(distance({kElements / 3, 3}, {3, 1}, {0, 1}), 0);
        EXPECT_EQ(distance({1024, 1024}, {1, 1024}, {0, 0}), 0);
        EXPECT_EQ(distance({kElements / 4, 4}, {1, kElements / 4}, {0, 1}), 0);
        EXPECT_EQ(distance({256, 4}, {4, 1}, {0, 1}), 0);
    }
}

struct PlannedSum {
    hewn::Access output;
    int32_t distance;
};
// A sum of packed tensors, but for B's strides, on a Zen 5.
PlannedSum planned_sum(hewn_data_type type, const Sizes &sizes, const Sizes &strides, int64_t stream_bytes,
                       int64_t parallel_bytes, hewn::Threads threads = {1, 1}) {
    const hewn_tensor_desc packed = {sizeof packed, type, uint32_t(sizes.size()), sizes.data(), nullptr},
                           b = {sizeof b, type, uint32_t(sizes.size()), sizes.data(), strides.data()};
    const hewn_add_desc own = {sizeof own, &packed, &b, &packed};
    const hewn::Problem problem = read(HEWN_OPERATOR_ADD, own);
    hewn::Variant variant = {};
    variant.plan.stream_bytes = stream_bytes;
    variant.plan.parallel_bytes = parallel_bytes;
    variant.forms[0] = {"general", nullptr, 0b1111};
    hewn::CpuKernel kernel = {};
    hewn::Plan made;
    EXPECT_EQ(plan(problem, variant, kernel, &made, threads), 1);
    return {made.access[made.operands - 1], kernel.prefetch_distance};
}

// ADD's streams up to 5 MiB of operands; of f16 up to 8.5, but not of one large input.
TEST(Forms, PrefetchShortSums) {
    if (!is_built({"add"})) GTEST_SKIP() << kNotBuilt;
    const auto distance = [](hewn_data_type type, const Sizes &sizes, const Sizes &strides) {
        return planned_sum(type, sizes, strides, INT64_MAX, INT64_MAX).distance;
    };
    constexpr hewn_data_type f32 = HEWN_DATA_TYPE_FLOAT32, f16 = HEWN_DATA_TYPE_FLOAT16;
    constexpr int64_t kFour = 1 << 20, kSix = 3 << 19;  // of MiB / 4
    EXPECT_EQ(distance(f32, {kFour / 3}, {1}), 256);
    EXPECT_EQ(distance(f32, {kSix / 3}, {1}), 0);
    EXPECT_EQ(distance(f32, {64, kFour / 128}, {1, 0}), 256);
    EXPECT_EQ(distance(f32, {64, kFour / 128}, {0, 1}), 256);
    EXPECT_EQ(distance(f32, {64, kSix / 128}, {1, 0}), 0);
    EXPECT_EQ(distance(f16, {2 * kFour / 3}, {1}), 512);
    EXPECT_EQ(distance(f16, {2 * kSix / 3}, {1}), 512);
    EXPECT_EQ(distance(f16, {64, 2 * kFour / 128}, {1, 0}), 0);
    EXPECT_EQ(distance(f16, {64, 2 * kFour / 128}, {0, 1}), 0);
    EXPECT_EQ(distance(f32, {8192, 64}, {1, 0}), 0) << "rows are shorter than the distance";
}

// What counts is each thread's share: of as many as there are slices, but not more than CPUs.
TEST(Forms, PrefetchByAThreadsShare) {
    if (!is_built({"add"})) GTEST_SKIP() << kNotBuilt;
    const auto distance = [](hewn::Threads threads) {
        return planned_sum(HEWN_DATA_TYPE_FLOAT32, {(1 << 20) / 3}, {1}, INT64_MAX, 0, threads).distance;
    };
    EXPECT_EQ(distance({0, 2}), 256) << "eight slices on two CPUs";
    EXPECT_EQ(distance({0, 8}), 0);
    EXPECT_EQ(distance({1, 8}), 256) << "one slice";
}

// What the last cache of an AMD chip holds stays there, whatever the knob.
TEST(Forms, StreamBeyondTheLastCache) {
    if (!is_built({"add"})) GTEST_SKIP() << kNotBuilt;
    const auto output = [](int64_t elements) {
        return planned_sum(HEWN_DATA_TYPE_FLOAT32, {elements}, {1}, 0, INT64_MAX).output;
    };
    EXPECT_EQ(output(1 << 20), hewn::Access::InPlace);
    EXPECT_EQ(output(1 << 22), hewn::kCanStream ? hewn::Access::Stream : hewn::Access::InPlace);
}

// Beside scales that repeat within a vector one zero point, for all or for each of several rows, is read as a vector of it;
// beside others it stays where it lies, which takes a second plan where they repeat after more, or in too few elements.
TEST(Forms, ReadOneZeroPoint) {
    if (!is_built({"quantize_linear", "dequantize_linear"})) GTEST_SKIP() << kNotBuilt;
    for (const bool quantizes : {false, true}) {
        SCOPED_TRACE(quantizes ? "QUANTIZE_LINEAR" : "DEQUANTIZE_LINEAR");
        if (quantizes && !hewn::InvalidOperationFlag::works()) continue;  // by division alone
        const auto of = [&](const Sizes &sizes, const Sizes &input_strides, const Sizes &scale_strides, const Sizes &strides) {
            return planned(quantizes, sizes, input_strides, scale_strides, strides);
        };
        const Planned vectors = of({1 << 18, 4}, {4, 1}, {0, 1}, {0, 0}),
                      rows = of({16, 1000, 4}, {4000, 4, 1}, {0, 0, 1}, {1, 0, 0}),
                      threes = of({1 << 18, 3}, {3, 1}, {0, 1}, {0, 0}), columns = of({256, 1024}, {1024, 1}, {0, 1}, {0, 0}),
                      few = of({8, 4}, {4, 1}, {0, 1}, {0, 0}),
                      long_periods = of({16, 100, 4}, {400, 1, 100}, {0, 4, 1}, {0, 0, 0});
        EXPECT_TRUE(vectors.repeating);
        EXPECT_EQ(vectors.plans, 1);
        EXPECT_TRUE(rows.repeating);
        EXPECT_EQ(rows.plans, 1);
        EXPECT_FALSE(threes.repeating);
        EXPECT_EQ(threes.plans, 1);
        EXPECT_FALSE(columns.repeating);
        EXPECT_EQ(columns.plans, 1);
        EXPECT_EQ(few.repeating, !quantizes) << "too few to prepare reciprocals for";
        EXPECT_EQ(few.plans, quantizes ? 2 : 1);
        EXPECT_FALSE(long_periods.repeating);
        EXPECT_EQ(long_periods.plans, 2);
    }
}

// QUANTIZE_LINEAR of f32 flushes subnormals, in small work where the thread has met some.
TEST(Forms, FlushSubnormals) {
    if (!is_built({"quantize_linear", "dequantize_linear"})) GTEST_SKIP() << kNotBuilt;
    const auto chosen = [](int64_t elements) {
        hewn::Variant variant = columns_variant();
        variant.plan.reciprocal_elements = 256;
        hewn::CpuKernel kernel = {};
        plan(linear_problem(true, HEWN_DATA_TYPE_INT8, {elements}, {1}, {0}, {0}), variant, kernel);
        return kernel.subnormals;
    };
    EXPECT_EQ(chosen(255), hewn::Subnormals::Keep);
    EXPECT_EQ(chosen(256), hewn::Subnormals::FlushOnceMet);
    EXPECT_EQ(chosen(16384), hewn::Subnormals::Flush);
#if defined(__x86_64__)
    constexpr unsigned INVALID = 1, MET = 2, FLUSHING = 0x8040;
    const unsigned before = _mm_getcsr();
    for (const unsigned flags : {0u, MET}) {
        _mm_setcsr(0x1f80 | flags);
        const bool sticks = _mm_getcsr() & MET;  // not in emulators without the flag
        {
            const hewn::FloatingPointMode mode(hewn::Subnormals::FlushOnceMet);
            EXPECT_EQ(mode.flushes(), sticks);
            EXPECT_EQ(_mm_getcsr() & FLUSHING, sticks ? FLUSHING : 0);
            EXPECT_FALSE(mode.began_invalid());
            compute(true);
        }
        EXPECT_EQ(_mm_getcsr(), 0x1f80 | flags | INVALID) << "what was raised stays so";
    }
    _mm_setcsr(before);
#endif
}

// QUANTIZED_LINEAR_ADD alone computes longer than its memory takes.
TEST(Forms, AreBoundByArithmetic) {
    if (!is_built({"add", "quantize_linear", "dequantize_linear", "quantized_linear_add"})) GTEST_SKIP() << kNotBuilt;
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
        forms_of(*problem.info).choose(hewn::merge_dimensions(operands, count), variant, kernel);
        return kernel.compute_bound;
    };
    EXPECT_FALSE(bound(read(HEWN_OPERATOR_ADD, add)));
    EXPECT_FALSE(bound(read(HEWN_OPERATOR_QUANTIZE_LINEAR, quantize)));
    EXPECT_FALSE(bound(read(HEWN_OPERATOR_DEQUANTIZE_LINEAR, dequantize)));
    EXPECT_TRUE(bound(read(HEWN_OPERATOR_QUANTIZED_LINEAR_ADD, quantized_add)));
}

}  // namespace
