// Which of a variant's forms are called and how often, which no result tells: with forms that count instead of computing.
#include <gtest/gtest.h>
#include <hewn/hewn.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "../runtime/dispatch.h"
#include "../runtime/fp_mode.h"
#include "../runtime/operators.h"
#include "../runtime/shape.h"

namespace {

int divided, multiplied;
float divisor;     // what the form that divides divides by
bool meets_a_nan;  // whether the other one meets a NaN

// As the kernels' operations raise the flag of invalid ones.
void compute(bool invalid) {
    volatile float number = invalid ? 0.0f : 1.0f;
    volatile float quotient = number / number;
    (void)quotient;
}

int divide(const void *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *) {
    divided++;
    compute(divisor == 0);
    return 0;
}

int multiply(const void *, halide_buffer_t *, halide_buffer_t *, float, float, int32_t, int32_t, halide_buffer_t *) {
    multiplied++;
    compute(meets_a_nan);
    return 0;
}

// QUANTIZE_LINEAR f32 to u8 of rows with a scale each, so that a box is a row.
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
        const hewn_operator_desc desc = {sizeof desc, HEWN_OPERATOR_QUANTIZE_LINEAR, &quantize};
        hewn_error error = {};
        error.struct_size = sizeof error;
        ASSERT_EQ(hewn::read_operator(&desc, HEWN_FEATURE_LEVEL_NEWEST, problem_, &error), HEWN_STATUS_OK) << error.message;

        variant_.forms[0] = {"divide", reinterpret_cast<hewn::KernelEntry>(divide), 1u << 0b100};
        variant_.forms[1] = {"reciprocal", reinterpret_cast<hewn::KernelEntry>(multiply), 1u << 0b1};
        const hewn::Tensor *operands[hewn::kMaxOperands];
        const hewn::Space space = hewn::merge_dimensions(operands, hewn::list_operands(problem_, operands));
        kernel_.problem = &problem_;
        variant_.plan.reciprocal_elements = kColumns + 1;
        problem_.info->choose_forms(space, variant_, kernel_);
        EXPECT_EQ(kernel_.reciprocal, nullptr) << "a row has too few elements for reciprocals";
        variant_.plan.reciprocal_elements = kColumns;
        problem_.info->choose_forms(space, variant_, kernel_);
        ASSERT_EQ(kernel_.reciprocal, &variant_.forms[1]);
        divided = multiplied = 0;
        meets_a_nan = false;
    }

    // Executes a row for each scale, as one slice does.
    void execute(const std::vector<float> &scales) {
        static const uint8_t zero_point = 0;
#if defined(__x86_64__)
        constexpr unsigned INVALID = 1;
        _mm_setcsr(_mm_getcsr() & ~INVALID);
#endif
        const hewn::DefaultFloatingPointMode mode;
        hewn::CpuCall call(kernel_, nullptr, nullptr);
        call.maybe_invalid = mode.began_invalid();
        for (const float &scale : scales) {
            divisor = scale;
            halide_buffer_t buffers[hewn::kMaxOperands] = {};
            buffers[1].host = reinterpret_cast<uint8_t *>(const_cast<float *>(&scale));
            buffers[2].host = const_cast<uint8_t *>(&zero_point);
            ASSERT_EQ(kernel_.call(call, buffers), 0);
        }
    }

    hewn::Problem problem_ = {};
    hewn::Variant variant_ = {};
    hewn::CpuKernel kernel_ = {};
};

TEST_F(QuantizedRows, MultiplyByReciprocalsOnce) {
    execute({0.5f, 0.25f, 3.0f, 0.1f});
    EXPECT_EQ(multiplied, 4);
    EXPECT_EQ(divided, 0);
}

// The flag of invalid operations that 0 / 0 raised in one row is not taken for the next row's.
TEST_F(QuantizedRows, AreComputedOnceAfterOneThatDivides) {
    execute({0.5f, 0.0f, 0.25f, 0.125f});
    EXPECT_EQ(multiplied, 3);
    EXPECT_EQ(divided, 1);
}

TEST_F(QuantizedRows, DivideWhereTheScaleIsNotOrdinary) {
    execute({0x1p-70f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 0x1p70f});
    EXPECT_EQ(multiplied, 0);
    EXPECT_EQ(divided, 4);
}

#if defined(__x86_64__)  // ARM's conversions saturate, and nothing is told
TEST_F(QuantizedRows, AreDividedWhereMultiplyingMeetsANaN) {
    meets_a_nan = true;
    execute({0.5f, 0.25f});
    EXPECT_EQ(multiplied, 2);
    EXPECT_EQ(divided, 2);
}
#endif

}  // namespace
