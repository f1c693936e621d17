// Tests which of a variant's forms the CPU's runtime calls, and how often. Results do not show it,
// because all forms give the same bits. So the variants here have forms that count their calls
// instead of computing, or none at all where only the plan is tested.
#include <gtest/gtest.h>
#include <hewn/hewn.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "../../reference/variants.h"
#include "../../runtime/base/kernel_contract.h"
#include "../../runtime/cpu/fp_mode.h"
#include "../../runtime/cpu/linear.h"
#include "../../runtime/cpu/stream.h"
#include "../../runtime/dispatch/chip.h"
#include "../../runtime/dispatch/device.h"
#include "../../runtime/dispatch/dispatch.h"
#include "../../runtime/problem/bindings.h"
#include "../../runtime/problem/shape.h"
#include "../support/spaces.h"

namespace {

// A variant with its own knobs of the plan. They begin with the default values.
struct PlannedVariant : hewn::Variant {
    hewn::PlanKnobs knobs;

    PlannedVariant() : hewn::Variant() { plan = &knobs; }
    PlannedVariant(const PlannedVariant &other) : hewn::Variant(other), knobs(other.knobs) {
        plan = &knobs;
    }
    PlannedVariant &operator=(const PlannedVariant &) = delete;
};

constexpr hewn::Chip kZen5 = {0x1a, 1 << 20, 32 << 20};

// The state of the forms below. `divided` and `multiplied` count the calls of forms that divide and
// of forms that multiply by reciprocals.
int divided, multiplied;
std::vector<float> scales;  // of the rows of a call
bool meets_a_nan;           // whether the form that multiplies meets a NaN
int failure;                // the code that the form returns

// Raises the CPU's flag of invalid operations if `invalid`, as the operations of kernels do.
void compute(bool invalid) {
    volatile float number = invalid ? 0.0f : 1.0f;
    volatile float quotient = number / number;
    (void)quotient;
}

// Stands for the form `divide`.
int divide(const void *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *,
           halide_buffer_t *) {
    divided++;
    compute(std::count(scales.begin(), scales.end(), 0.0f) > 0);
    return 0;
}

// Stands for the form `reciprocal`, and checks the reciprocals of all scales.
int multiply(const void *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *r0,
             halide_buffer_t *r1, halide_buffer_t *, int32_t, halide_buffer_t *) {
    multiplied++;
    for (size_t y = 0; y < scales.size(); y++) {
        const auto at = [&](const halide_buffer_t *rows) {
            return double(
                reinterpret_cast<const float *>(rows->host)[int64_t(y) * rows->dim[1].stride]);
        };
        EXPECT_NEAR((at(r0) + at(r1)) * double(scales[y]), 1, 0x1p-46) << "row " << y;
    }
    compute(meets_a_nan);
    return failure;
}

// Returns the problem of a valid description.
template<class Desc>
hewn::Problem read(hewn_operator_type type, const Desc &own) {
    const hewn_operator_desc desc = {sizeof desc, type, &own};
    hewn_error error = {};
    error.struct_size = sizeof error;
    hewn::Problem problem = {};
    EXPECT_EQ(hewn::read_operator(&desc, HEWN_FEATURE_LEVEL_NEWEST, problem, &error),
              HEWN_STATUS_OK)
        << error.message;
    return problem;
}

using Sizes = std::vector<int64_t>;

// Whether this build has kernels of these operators. For an operator without kernels, the code that
// chooses forms is not linked.
bool is_built(std::initializer_list<const char *> operators) {
    return std::none_of(operators.begin(), operators.end(),
                        [](const char *name) { return hewn_test::variants_of(name).empty(); });
}
constexpr char kNotBuilt[] = "this build has no kernels of an operator whose forms are chosen";

// Describes a tensor of these sizes and strides, which must live as long as the description. Null
// strides are contiguous.
hewn_tensor_desc described(hewn_data_type type, const Sizes &sizes, const Sizes *strides) {
    return {sizeof(hewn_tensor_desc),
            type,
            uint32_t(sizes.size()),
            sizes.data(),
            strides ? strides->data() : nullptr,
            nullptr};
}

// DEQUANTIZE_LINEAR of integers to f32 or, if `quantizes`, QUANTIZE_LINEAR of f32 to integers. The
// output is contiguous.
hewn::Problem linear_problem(bool quantizes, hewn_data_type integers, const Sizes &sizes,
                             const Sizes &input_strides, const Sizes &scale_strides,
                             const Sizes &zero_point_strides) {
    const hewn_data_type from = quantizes ? HEWN_DATA_TYPE_FLOAT32 : integers,
                         to = quantizes ? integers : HEWN_DATA_TYPE_FLOAT32;
    const hewn_tensor_desc input = described(from, sizes, &input_strides),
                           scale = described(HEWN_DATA_TYPE_FLOAT32, sizes, &scale_strides),
                           zero_point = described(integers, sizes, &zero_point_strides),
                           output = described(to, sizes, nullptr);
    if (quantizes) {
        const hewn_quantize_linear_desc own = {
            sizeof own, &input, &scale, &zero_point, &output, HEWN_PRECISION_FLOAT32, 0};
        return read(HEWN_OPERATOR_QUANTIZE_LINEAR, own);
    }
    const hewn_dequantize_linear_desc own = {sizeof own, &input, &scale, &zero_point, &output};
    return read(HEWN_OPERATOR_DEQUANTIZE_LINEAR, own);
}

// Chooses the kernel's forms for a problem, as on a Zen 5, and returns how many plans that took.
// `made` receives the last plan, without its tables.
int plan(const hewn::Problem &problem, const hewn::Variant &variant, hewn::CpuKernel &kernel,
         hewn::Plan *made = nullptr, hewn::Threads threads = {1, 1}) {
    const hewn::Tensor *operands[hewn::kMaxOperands];
    const int count = hewn::list_operands(problem, operands);
    const hewn::Space space = hewn_test::merged(operands, count);
    const hewn::Allocator &allocator = hewn::default_device().allocator;
    kernel.problem = &problem;
    hewn::Plan plan;
    const int plans = hewn::plan_kernel(hewn::forms_of(*problem.info), space, variant, kZen5,
                                        threads, allocator, plan, kernel);
    hewn::destroy_plan(allocator, plan);
    if (made) *made = plan;
    return plans;
}

// The layouts, as in a build, of the forms that read both parameters: `divide` and `general`, and
// `columns`, which reads reciprocals in two parts.
constexpr uint32_t kParametersOfAll = 1u << 0b100 | 1u << 0b110 | 1u << 0b111,
                   kParametersOfColumns = 1u << 0b1110 | 1u << 0b1111;

// QUANTIZE_LINEAR of f32 to u8, with a scale for each row.
class QuantizedRows : public testing::Test {
protected:
    static constexpr int64_t kRows = 4, kColumns = 1024;

    void SetUp() override {
        if (!hewn::InvalidOperationFlag::works())
            GTEST_SKIP() << "the flag of invalid operations is not raised here";
        if (!is_built({"quantize_linear"})) GTEST_SKIP() << kNotBuilt;
        problem_ = linear_problem(true, HEWN_DATA_TYPE_UINT8, {kRows, kColumns}, {kColumns, 1},
                                  {1, 0}, {0, 0});
        variant_.forms[0] = {"divide", reinterpret_cast<hewn::KernelEntry>(divide), 1u << 0b100};
        variant_.forms[1] = {"reciprocal", reinterpret_cast<hewn::KernelEntry>(multiply),
                             1u << 0b1};
        constexpr int64_t most = kRows * kColumns * 5 / (9 + kRows);
        EXPECT_EQ(choose(most + 1), 2);
        EXPECT_NE(kernel_.mode, hewn::kUniform) << "a box has too few elements for its scales";
        EXPECT_EQ(choose(most), 1);
        ASSERT_EQ(kernel_.mode, hewn::kUniform);
        ASSERT_EQ(kernel_.quick, &variant_.forms[1]);
        divided = multiplied = 0;
        meets_a_nan = false;
        failure = 0;
    }

    // Chooses forms if reciprocals pay from `reciprocal_elements` elements on. Returns the number
    // of plans.
    int choose(int64_t reciprocal_elements, hewn::Plan *made = nullptr) {
        kernel_ = {};
        variant_.knobs = {};
        variant_.knobs.box_bytes = 1 << 20;
        variant_.knobs.stream_bytes = variant_.knobs.parallel_bytes = 1 << 30;
        variant_.knobs.reciprocal_elements = reciprocal_elements;
        return plan(problem_, variant_, kernel_, made);
    }

    // Executes boxes as one slice does. A box has a row for each of its scales.
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

    // Executes a box of `rows` rows, whose scales lie at `from`. The form expects reciprocals of
    // `prepared`.
    void execute_box(hewn::CpuCall &call, const std::vector<float> &from, int32_t rows,
                     const std::vector<float> &prepared) {
        scales.assign(prepared.begin(), prepared.begin() + rows);
        halide_dimension_t dims[] = {{0, int32_t(kColumns), 0, 0}, {0, rows, rows > 1, 0}};
        halide_buffer_t buffers[hewn::kMaxOperands] = {};
        for (halide_buffer_t &buffer : buffers) buffer.dim = dims;
        buffers[1].host = reinterpret_cast<uint8_t *>(const_cast<float *>(from.data()));
        ASSERT_EQ(kernel_.call(call, buffers), failure);
    }
    void execute_box(hewn::CpuCall &call, const std::vector<float> &from, int32_t rows) {
        execute_box(call, from, rows, from);
    }

    hewn::Problem problem_ = {};
    PlannedVariant variant_;
    hewn::CpuKernel kernel_ = {};
};

TEST_F(QuantizedRows, MultiplyByReciprocalsOnce) {
    execute({{0.5f, 0.25f, 3.0f, 0.1f}, {0.7f}, {0.1f, 0.3f}});
    EXPECT_EQ(multiplied, 3);
    EXPECT_EQ(divided, 0);
}

// A row with the scale 0 raises the flag of invalid operations, by 0 / 0. The flag must not be
// taken for the next box's.
TEST_F(QuantizedRows, AreComputedOnceAfterOneThatDivides) {
    execute({{0.5f}, {0.0f}, {0.25f}, {0.125f, 0.5f}});
    EXPECT_EQ(multiplied, 3);
    EXPECT_EQ(divided, 1);
}

TEST_F(QuantizedRows, DivideWhereAScaleIsNotOrdinary) {
    constexpr float INF = std::numeric_limits<float>::infinity(),
                    NOT_A_NUMBER = std::numeric_limits<float>::quiet_NaN();
    execute({{0x1p-70f}, {INF, 0.5f}, {0.5f, 0.25f, NOT_A_NUMBER}, {0.5f, 0x1p70f, 0.25f}});
    EXPECT_EQ(multiplied, 0);
    EXPECT_EQ(divided, 4);
}

// A kernel that fails is not run again, whatever it met before it failed.
TEST_F(QuantizedRows, FailOnce) {
    meets_a_nan = true;
    failure = -5;
    execute({{0.5f}});
    EXPECT_EQ(multiplied, 1);
    EXPECT_EQ(divided, 0);
}

// Boxes of the same rows, one after the other, use what was prepared for the first, also if they
// have fewer rows. For more rows the reciprocals are prepared anew.
TEST_F(QuantizedRows, PrepareOnce) {
    std::vector<float> box = {0.5f, 0.25f, 3.0f};
    const std::vector<float> before = box, after = {0.125f, 0.75f, 5.0f};
    hewn::CpuCall call(kernel_, nullptr, nullptr);
    execute_box(call, box, 2);
    std::copy(after.begin(), after.end(), box.begin());
    for (const int32_t rows : {1, 2, 3, 2})
        execute_box(call, box, rows, multiplied < 3 ? before : after);
    EXPECT_EQ(multiplied, 5);
}

// Reciprocals of constants are prepared at compile, once for all boxes.
TEST_F(QuantizedRows, AreSettledWhereScalesAreConstants) {
    std::vector<float> constants = {0.5f, 0.25f, 3.0f, 0.1f};
    problem_.inputs[1].constant = true;
    problem_.constants[1] = constants.data();
    hewn::Plan made;
    EXPECT_EQ(choose(64, &made), 1);
    void *inputs[hewn::kMaxInputs] = {nullptr, constants.data()};
    const hewn::Allocator &allocator = hewn::default_device().allocator;
    ASSERT_EQ(hewn::forms_of(*problem_.info).settle(made, allocator, kernel_, inputs, nullptr), 0);
    ASSERT_NE(kernel_.settled, nullptr);
    const std::vector<float> before = constants;
    const auto execute_rows = [&](int64_t first, int32_t rows) {
        scales.assign(before.begin() + first, before.begin() + first + rows);
        halide_dimension_t dims[] = {{0, int32_t(kColumns), 0, 0}, {0, rows, 1, 0}};
        halide_buffer_t buffers[hewn::kMaxOperands] = {};
        for (halide_buffer_t &buffer : buffers) buffer.dim = dims;
        buffers[1].host = reinterpret_cast<uint8_t *>(constants.data() + first);
        hewn::CpuCall call(kernel_, inputs, nullptr);
        ASSERT_EQ(kernel_.call(call, buffers), 0);
    };
    std::fill(constants.begin(), constants.end(), 7.0f);  // must not be read any more
    execute_rows(0, 4);
    execute_rows(2, 2);
    EXPECT_EQ(multiplied, 2);
    EXPECT_EQ(divided, 0);
    allocator.deallocate(kernel_.settled);

    constants[3] = 0;
    EXPECT_EQ(choose(64, &made), 1);
    ASSERT_EQ(hewn::forms_of(*problem_.info).settle(made, allocator, kernel_, inputs, nullptr), 0);
    EXPECT_EQ(kernel_.settled, nullptr) << "one scale is not ordinary";
    const hewn::Allocator none = {[](void *, size_t, size_t) -> void * { return nullptr; },
                                  allocator.deallocate_hook, nullptr};
    constants[3] = 1;
    EXPECT_EQ(choose(64, &made), 1);
    EXPECT_EQ(hewn::forms_of(*problem_.info).settle(made, none, kernel_, inputs, nullptr),
              hewn::kNoMemory);
}

#if defined(__x86_64__)  // ARM's conversions saturate, and no flag is tested
TEST_F(QuantizedRows, AreDividedWhereMultiplyingMeetsANaN) {
    meets_a_nan = true;
    execute({{0.5f}, {0.25f, 0.125f}});
    EXPECT_EQ(multiplied, 2);
    EXPECT_EQ(divided, 2);
}

// If only the first of 16 boxes meets a NaN, none of the others is divided. If all of them do, only
// the 1st, 2nd, 4th, 8th and 16th are tried by multiplication first.
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

// ---- Elements of 4 and 2 bits ----

// What the form `packed4` must be passed by the next call.
struct ExpectedRows {
    int32_t elements, rows, pitch, zero_point;  // the pitch is in elements
} expected_rows;
void expect_rows(const halide_buffer_t *rows, int32_t elements_of_one) {
    EXPECT_EQ(rows->dim[0].extent * elements_of_one, expected_rows.elements);
    EXPECT_EQ(rows->dim[1].extent, expected_rows.rows);
    EXPECT_EQ(rows->dim[1].stride * elements_of_one, expected_rows.pitch);
}
// Stands for the form `packed4` of QUANTIZE_LINEAR.
int pack(const void *, halide_buffer_t *input, halide_buffer_t *again, halide_buffer_t *,
         halide_buffer_t *, int32_t zero_point, halide_buffer_t *output) {
    multiplied++;
    EXPECT_EQ(input, again);
    expect_rows(input, 1);
    expect_rows(output, 2);  // bytes
    EXPECT_EQ(zero_point, expected_rows.zero_point);
    compute(meets_a_nan);
    return 0;
}
// Stands for the form `packed4` of DEQUANTIZE_LINEAR.
int unpack(const void *, halide_buffer_t *input, halide_buffer_t *, int32_t zero_point,
           halide_buffer_t *output) {
    multiplied++;
    expect_rows(input, 8);  // words
    expect_rows(output, 1);
    EXPECT_EQ(zero_point, expected_rows.zero_point);
    return 0;
}
// Stands for the form `general` of DEQUANTIZE_LINEAR.
int dequantize(const void *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *, int32_t,
               halide_buffer_t *) {
    divided++;
    return 0;
}
PlannedVariant packed_variant(bool quantizes) {
    PlannedVariant variant;
    const auto entry = [](auto *function) { return reinterpret_cast<hewn::KernelEntry>(function); };
    variant.forms[0] = {quantizes ? "divide" : "general",
                        quantizes ? entry(divide) : entry(dequantize), kParametersOfAll};
    variant.forms[1] = {"packed4", quantizes ? entry(pack) : entry(unpack), 1u << 0b1};
    variant.forms[2] = {"packed2", nullptr, 1u << 0b1};
    variant.forms[3] = {"reciprocal", entry(multiply), 1u << 0b1};
    variant.knobs.box_bytes = 1 << 20;
    variant.knobs.stream_bytes = variant.knobs.parallel_bytes = 1 << 30;
    variant.knobs.reciprocal_elements = 256;
    return variant;
}

// Rows of whole words with one zero point are packed and unpacked in registers. Words have 8
// elements of 4 bits, or 16 of 2 bits. Everything else goes through scratch memory.
TEST(Packed, RowsAreOfWholeWords) {
    if (!is_built({"quantize_linear", "dequantize_linear"})) GTEST_SKIP() << kNotBuilt;
    for (const bool quantizes : {false, true}) {
        if (quantizes && !hewn::InvalidOperationFlag::works()) continue;
        SCOPED_TRACE(quantizes ? "QUANTIZE_LINEAR" : "DEQUANTIZE_LINEAR");
        const auto takes = [&](hewn_data_type type, const Sizes &sizes, const Sizes &input,
                               const Sizes &scale, const Sizes &zero_point) {
            const hewn::Problem problem =
                linear_problem(quantizes, type, sizes, input, scale, zero_point);
            hewn::CpuKernel kernel = {};
            hewn::Plan made;
            plan(problem, packed_variant(quantizes), kernel, &made);
            const bool packed = kernel.mode == hewn::kPacked;
            EXPECT_TRUE(!packed || !made.scratch);
            return packed;
        };
        for (const hewn_data_type type : {HEWN_DATA_TYPE_UINT4, HEWN_DATA_TYPE_INT4,
                                          HEWN_DATA_TYPE_UINT2, HEWN_DATA_TYPE_INT2}) {
            const bool four = type == HEWN_DATA_TYPE_UINT4 || type == HEWN_DATA_TYPE_INT4;
            EXPECT_TRUE(takes(type, {4096}, {1}, {0}, {0}));
            EXPECT_TRUE(takes(type, {256}, {1}, {0}, {0}));
            EXPECT_FALSE(takes(type, {240}, {1}, {0}, {0})) << "short";
            EXPECT_EQ(takes(type, {4104}, {1}, {0}, {0}), four);
            EXPECT_FALSE(takes(type, {4100}, {1}, {0}, {0})) << "no whole words";
            EXPECT_TRUE(takes(type, {4, 1024}, {1024, 1}, {1, 0}, {0, 0}));
            EXPECT_TRUE(takes(type, {4, 1024}, {1040, 1}, {1, 0}, {0, 0}));
            EXPECT_EQ(takes(type, {4, 1024}, {1032, 1}, {0, 0}, {0, 0}), four);
            EXPECT_FALSE(takes(type, {4, 1024}, {1025, 1}, {0, 0}, {0, 0})) << "within a byte";
            EXPECT_FALSE(takes(type, {4, 1024}, {1024, 1}, {0, 1}, {0, 0})) << "of columns";
            EXPECT_FALSE(takes(type, {4, 1024}, {1024, 1}, {0, 0}, {1, 0})) << "zero points";
            EXPECT_FALSE(takes(type, {1024, 1024}, {1, 1024}, {0, 0}, {0, 0})) << "transposed";
        }
        EXPECT_FALSE(takes(HEWN_DATA_TYPE_INT8, {4096}, {1}, {0}, {0}));
    }
}

// The forms get rows of elements, and the zero point. Rows that are too short, and those that must
// be divided, are computed as bytes, in pieces of 1024 elements.
TEST(Packed, BoxesAreRowsOfElements) {
    if (!is_built({"quantize_linear", "dequantize_linear"})) GTEST_SKIP() << kNotBuilt;
    for (const bool quantizes : {false, true}) {
        if (quantizes && !hewn::InvalidOperationFlag::works()) continue;
        for (const bool is_signed : {false, true}) {
            const hewn::Problem problem =
                linear_problem(quantizes, is_signed ? HEWN_DATA_TYPE_INT4 : HEWN_DATA_TYPE_UINT4,
                               {4, 2048}, {2048, 1}, {1, 0}, {0, 0});
            const PlannedVariant variant = packed_variant(quantizes);
            hewn::CpuKernel kernel = {};
            plan(problem, variant, kernel);
            ASSERT_EQ(kernel.mode, hewn::kPacked);
            std::vector<float> floats(2 * 2048), row_scales = {0.5f, 0.25f};
            std::vector<uint8_t> packed(2048);
            uint8_t zero_point = 0x5d;  // the first element is 0xd
            expected_rows = {2048, 2, 2048, is_signed ? -3 : 13};
            const auto execute = [&](int32_t words) {
                multiplied = divided = 0;
                expected_rows.elements = 8 * words;
                halide_dimension_t data[] = {{0, words, 1, 0}, {0, 2, 2048 / 8, 0}},
                                   rows[] = {{0, words, 0, 0}, {0, 2, 1, 0}},
                                   one[] = {{0, words, 0, 0}, {0, 2, 0, 0}};
                halide_buffer_t buffers[hewn::kMaxOperands] = {};
                halide_dimension_t *const dims[] = {data, rows, one, data};
                void *const hosts[] = {floats.data(), row_scales.data(), &zero_point,
                                       packed.data()};
                for (int o = 0; o < hewn::kMaxOperands; o++) {
                    const int from = quantizes || o == 1 || o == 2 ? o : 3 - o;
                    buffers[o].host = static_cast<uint8_t *>(hosts[from]);
                    buffers[o].dim = dims[o];
                }
                scales.clear();
                hewn::CpuCall call(kernel, nullptr, nullptr);
                EXPECT_EQ(kernel.call(call, buffers), 0);
            };
            meets_a_nan = false;
            execute(2048 / 8);
            EXPECT_EQ(multiplied, 1);
            EXPECT_EQ(divided, 0);
            execute(hewn::kLeastPackedRow / 8 - 1);
            EXPECT_EQ(multiplied, 0);
            EXPECT_EQ(divided, 2) << "a piece of each row";
#if defined(__x86_64__)
            meets_a_nan = true;
            execute(2048 / 8);
            EXPECT_EQ(multiplied, 1);
            EXPECT_EQ(divided, quantizes ? 4 : 0) << "two pieces of each row";
            meets_a_nan = false;
#endif
        }
    }
}

// How many blocks the form `blocks` has computed. It takes the test's scales one after the other.
int64_t blocks_done;
// Stands for the form `blocks`, and checks what it is promised about a box.
int compute_blocks(const void *, halide_buffer_t *input, halide_buffer_t *scale,
                   halide_buffer_t *zero_point, int32_t shift, halide_buffer_t *output) {
    multiplied++;
    const int32_t count = scale->dim[0].extent, rows = input->dim[1].extent,
                  length = count * (hewn::kLeastBlock << shift);
    EXPECT_EQ(count % hewn::kBlocksTogether, 0);
    EXPECT_LE(length, hewn::kLongestBlockRow);
    for (const halide_buffer_t *all : {input, output}) {
        EXPECT_EQ(all->dim[0].extent, length);
        EXPECT_EQ(all->dim[1].stride, length);
    }
    EXPECT_EQ(scale->dim[1].stride, count);
    EXPECT_EQ(zero_point->dim[1].stride, 0);
    EXPECT_EQ(reinterpret_cast<float *>(scale->host), scales.data() + blocks_done);
    blocks_done += int64_t(count) * rows;
    compute(meets_a_nan);
    return failure;
}
// A variant with the form `blocks` and two others. Its boxes may be as large as the tests need.
PlannedVariant blocks_variant(bool quantizes) {
    PlannedVariant variant;
    variant.forms[0] = {quantizes ? "divide" : "general",
                        reinterpret_cast<hewn::KernelEntry>(divide), kParametersOfAll};
    variant.forms[1] = {"blocks", reinterpret_cast<hewn::KernelEntry>(compute_blocks), 1u << 0b1};
    variant.forms[2] = {"reciprocal", reinterpret_cast<hewn::KernelEntry>(multiply), 1u << 0b1};
    variant.knobs.box_bytes = 1 << 20;
    variant.knobs.stream_bytes = variant.knobs.parallel_bytes = 1 << 30;
    variant.knobs.reciprocal_elements = 256;
    return variant;
}

// Blocks of 16 to 128 elements, a power of two, are computed by the form `blocks` if they are
// contiguous and have a scale each. Others are computed by other forms.
TEST(Blocks, AreComputedInRows) {
    if (!is_built({"quantize_linear", "dequantize_linear"})) GTEST_SKIP() << kNotBuilt;
    const auto takes = [](bool quantizes, int64_t block, const Sizes &input, const Sizes &scale,
                          const Sizes &zero_point) {
        const hewn::Problem problem = linear_problem(quantizes, HEWN_DATA_TYPE_UINT8, {4, 8, block},
                                                     input, scale, zero_point);
        hewn::CpuKernel kernel = {};
        plan(problem, blocks_variant(quantizes), kernel);
        return kernel.mode == hewn::kBlocks;
    };
    for (const bool quantizes : {false, true}) {
        if (quantizes && !hewn::InvalidOperationFlag::works()) continue;
        for (const int64_t b : {8, 16, 24, 32, 48, 64, 128, 256}) {
            const bool fits = b == 16 || b == 32 || b == 64 || b == 128;
            EXPECT_EQ(takes(quantizes, b, {8 * b, b, 1}, {8, 1, 0}, {8, 1, 0}), fits) << b;
            EXPECT_EQ(takes(quantizes, b, {8 * b, b, 1}, {8, 1, 0}, {0, 0, 0}), fits) << b;
        }
        EXPECT_FALSE(takes(quantizes, 32, {8 * 40, 40, 1}, {8, 1, 0}, {0, 0, 0})) << "padded";
        EXPECT_FALSE(takes(quantizes, 32, {8 * 32, 32, 1}, {16, 2, 0}, {0, 0, 0})) << "apart";
    }
}

// A box of 275 blocks of 32 elements: rows of 128, 128 and 16 blocks, and 3 blocks that are left
// over.
TEST(Blocks, AreDividedIntoRows) {
    if (!is_built({"quantize_linear", "dequantize_linear"})) GTEST_SKIP() << kNotBuilt;
    for (const bool quantizes : {false, true}) {
        if (quantizes && !hewn::InvalidOperationFlag::works()) continue;
        constexpr int32_t kBlock = 32, kBlocks = 275;
        const hewn::Problem problem = linear_problem(
            quantizes, HEWN_DATA_TYPE_UINT8, {kBlocks, kBlock}, {kBlock, 1}, {1, 0}, {0, 0});
        const PlannedVariant variant = blocks_variant(quantizes);
        hewn::CpuKernel kernel = {};
        EXPECT_EQ(plan(problem, variant, kernel), 1);
        ASSERT_EQ(kernel.mode, hewn::kBlocks);
        scales.assign(kBlocks, 1.0f);
        const auto execute = [&] {
            multiplied = divided = 0;
            blocks_done = 0;
            halide_dimension_t data[] = {{0, kBlock, 1, 0}, {0, kBlocks, kBlock, 0}},
                               each[] = {{0, kBlock, 0, 0}, {0, kBlocks, 1, 0}},
                               one[] = {{0, kBlock, 0, 0}, {0, kBlocks, 0, 0}};
            halide_buffer_t buffers[hewn::kMaxOperands] = {};
            halide_dimension_t *const dims[] = {data, each, one, data};
            for (int o = 0; o < hewn::kMaxOperands; o++) buffers[o].dim = dims[o];
            buffers[1].host = reinterpret_cast<uint8_t *>(scales.data());
            hewn::CpuCall call(kernel, nullptr, nullptr);
            EXPECT_EQ(kernel.call(call, buffers), failure);
        };
        meets_a_nan = false;
        failure = 0;
        execute();
        EXPECT_EQ(blocks_done, 272);
        EXPECT_EQ(multiplied, 2);
        EXPECT_EQ(divided, 1) << "what is left over";
#if defined(__x86_64__)
        meets_a_nan = true;
        execute();
        EXPECT_EQ(multiplied, 2);
        EXPECT_EQ(divided, 1) << "all of the box, or what is left over";
        meets_a_nan = false;
#endif
        failure = -5;
        execute();
        EXPECT_EQ(multiplied, 1);
        EXPECT_EQ(divided, 0);
        failure = 0;
    }
}

int divide_columns(const void *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *,
                   halide_buffer_t *) {
    divided++;
    return 0;
}

int multiply_columns(const void *, halide_buffer_t *, halide_buffer_t *r0, halide_buffer_t *r1,
                     halide_buffer_t *, halide_buffer_t *) {
    multiplied++;
    for (size_t x = 0; x < scales.size(); x++) {
        const auto at = [&](const halide_buffer_t *row) {
            return double(reinterpret_cast<const float *>(row->host)[x]);
        };
        EXPECT_NEAR((at(r0) + at(r1)) * double(scales[x]), 1, 0x1p-46) << "column " << x;
    }
    return 0;
}

// A variant with the forms `divide` and `columns`. Its boxes may be as large as the tests below
// need.
PlannedVariant columns_variant() {
    PlannedVariant variant;
    variant.forms[0] = {"divide", reinterpret_cast<hewn::KernelEntry>(divide_columns),
                        kParametersOfAll};
    variant.forms[1] = {"columns", reinterpret_cast<hewn::KernelEntry>(multiply_columns),
                        kParametersOfColumns};
    variant.knobs.box_bytes = 1 << 20;
    variant.knobs.stream_bytes = variant.knobs.parallel_bytes = 1 << 30;
    return variant;
}

// QUANTIZE_LINEAR of f32 to i8, with a scale and a zero point for each column.
class QuantizedColumns : public testing::Test {
protected:
    static constexpr int32_t kColumns = 1024, kPart = 512;

    void SetUp() override {
        if (!hewn::InvalidOperationFlag::works())
            GTEST_SKIP() << "the flag of invalid operations is not raised here";
        if (!is_built({"quantize_linear"})) GTEST_SKIP() << kNotBuilt;
        variant_.knobs.reciprocal_elements = 64;
        divided = multiplied = 0;
    }

    // Chooses forms for this many rows. The scales are constants if these are given.
    void choose(int64_t rows, const std::vector<float> *constants = nullptr) {
        problem_ = linear_problem(true, HEWN_DATA_TYPE_INT8, {rows, kColumns}, {kColumns, 1},
                                  {0, 1}, {0, 1});
        problem_.inputs[1].constant = constants;
        if (constants) problem_.constants[1] = constants->data();
        kernel_ = {};
        EXPECT_EQ(plan(problem_, variant_, kernel_, &made_), 1);
    }

    // Executes a box of `count` columns from `first` on, whose scales lie in `row`. The form
    // expects reciprocals of `prepared`.
    void execute_box(hewn::CpuCall &call, const std::vector<float> &row, size_t first,
                     int32_t count, const std::vector<float> &prepared) {
        scales.assign(prepared.begin() + int64_t(first), prepared.begin() + int64_t(first) + count);
        halide_dimension_t dims[] = {{0, count, 1, 0}, {0, 4, 0, 0}};
        halide_buffer_t buffers[hewn::kMaxOperands] = {};
        for (halide_buffer_t &buffer : buffers) buffer.dim = dims;
        buffers[1].host = reinterpret_cast<uint8_t *>(const_cast<float *>(row.data() + first));
        ASSERT_EQ(kernel_.call(call, buffers), 0);
    }

    hewn::Problem problem_ = {};
    PlannedVariant variant_ = columns_variant();
    hewn::CpuKernel kernel_ = {};
    hewn::Plan made_;
};

TEST_F(QuantizedColumns, ArePreparedWhereEnoughRowsShareThem) {
    choose(3);
    EXPECT_EQ(kernel_.state_size, hewn::StateSize::Small) << "three rows are divided";
    choose(64);
    ASSERT_EQ(kernel_.state_size, hewn::StateSize::Large);
    alignas(64) static uint8_t state[hewn::kLargeStateBytes];
    hewn::CpuCall call(kernel_, nullptr, nullptr);
    call.large = state;
    std::vector<float> row(kColumns, 0.5f);
    const std::vector<float> half = row, third(kColumns, 1.0f / 3);
    execute_box(call, row, 0, kColumns, half);
    std::copy(third.begin(), third.end(), row.begin());
    execute_box(call, row, 0, kPart, half);  // kept from the box before
    call.filled = 1u << 1;
    execute_box(call, row, 0, kPart, third);  // copied to the same scratch memory anew
    call.filled = 0;
    execute_box(call, row, kPart, kPart, third);
    EXPECT_EQ(multiplied, 4);
    EXPECT_EQ(divided, 0);
    row[0] = 0;
    call.filled = 1u << 1;
    execute_box(call, row, 0, kPart, third);
    EXPECT_EQ(multiplied, 4);
    EXPECT_EQ(divided, 1);
}

TEST_F(QuantizedColumns, AreSettledWhereScalesAreConstants) {
    std::vector<float> row(kColumns);
    for (size_t x = 0; x < row.size(); x++) row[x] = 1.0f / float(x + 1);
    row[7] = 0;
    choose(3, &row);
    EXPECT_EQ(kernel_.mode, hewn::kAnyParameters)
        << "one scale is not ordinary, and three rows are divided";
    row[7] = 0.5f;
    choose(1, &row);
    EXPECT_EQ(kernel_.mode, hewn::kAnyParameters) << "each scale is used once";
    choose(3, &row);
    void *inputs[hewn::kMaxInputs] = {nullptr, row.data()};
    const hewn::Allocator &allocator = hewn::default_device().allocator;
    ASSERT_EQ(hewn::forms_of(*problem_.info).settle(made_, allocator, kernel_, inputs, nullptr), 0);
    EXPECT_EQ(kernel_.state_size, hewn::StateSize::Small);
    ASSERT_NE(kernel_.settled, nullptr);
    const std::vector<float> before = row;
    std::fill(row.begin(), row.end(), 0.0f);  // must not be read any more
    hewn::CpuCall call(kernel_, inputs, nullptr);
    for (const size_t first : {0, kPart}) execute_box(call, row, first, kPart, before);
    EXPECT_EQ(multiplied, 2);
    EXPECT_EQ(divided, 0);
    allocator.deallocate(kernel_.settled);
}

// Constants that all have the same value become a single one, whatever their strides.
TEST(Constants, AreOneWhereAllAreEqual) {
    if (!is_built({"dequantize_linear"})) GTEST_SKIP() << kNotBuilt;
    for (const size_t other : {0, 1, 511, 1023, 1024}) {
        SCOPED_TRACE(other);
        hewn::Problem problem =
            linear_problem(false, HEWN_DATA_TYPE_INT16, {4, 1024}, {1024, 1}, {0, 1}, {0, 1});
        std::vector<float> scale(1024, -0.5f);
        std::vector<int16_t> zero_point(1024, 7);
        if (other < 1024) zero_point[other] = 7 + 256;
        const hewn_buffer_binding bindings[] = {
            {sizeof(hewn_buffer_binding), nullptr, 0, 0},
            {sizeof(hewn_buffer_binding), scale.data(), 0, scale.size() * sizeof scale[0]},
            {sizeof(hewn_buffer_binding), zero_point.data(), 0,
             zero_point.size() * sizeof zero_point[0]}};
        hewn_compile_options options = {};
        options.constants = bindings;
        options.constant_count = 3;
        ASSERT_EQ(hewn::read_constants(options, problem, nullptr), HEWN_STATUS_OK);
        EXPECT_EQ(problem.inputs[1].strides[1], 0);
        EXPECT_EQ(problem.inputs[1].bytes, 4u);
        EXPECT_EQ(problem.inputs[2].strides[1], other < 1024);
        EXPECT_EQ(problem.inputs[2].bytes, other < 1024 ? 2048u : 2u);
    }
}

// The choices for DEQUANTIZE_LINEAR of i8 to f32 or, if `quantizes`, QUANTIZE_LINEAR of f32 to i8:
// whether the form is `repeating`, and how many elements ahead it prefetches.
struct Planned {
    bool repeating;
    int32_t distance;
    int plans;  // how many plans that took
};
Planned planned(bool quantizes, const Sizes &sizes, const Sizes &input_strides,
                const Sizes &scale_strides, const Sizes &zero_point_strides) {
    PlannedVariant variant;
    variant.knobs.stream_bytes = variant.knobs.parallel_bytes = INT64_MAX;
    if (quantizes) {
        variant.forms[0] = {"divide", nullptr, kParametersOfAll};
        variant.forms[1] = {"reciprocal", nullptr, 1u << 0b1};
        variant.forms[2] = {"columns", nullptr, kParametersOfColumns};
        variant.forms[3] = {"repeating", nullptr, 1u << 0b1};
    } else {
        variant.forms[0] = {"general", nullptr, kParametersOfAll};
        variant.forms[1] = {"repeating", nullptr, 1u << 0b1};
    }
    const hewn::Problem problem = linear_problem(quantizes, HEWN_DATA_TYPE_INT8, sizes,
                                                 input_strides, scale_strides, zero_point_strides);
    hewn::CpuKernel kernel = {};
    const int plans = plan(problem, variant, kernel);
    return {kernel.mode == hewn::kRepeating, kernel.prefetch_distance, plans};
}

// Inputs in place are prefetched, and so they are by `repeating`, whose parameters are in scratch
// memory. Otherwise nothing is prefetched if the plan uses scratch memory.
TEST(Forms, PrefetchWhatLiesInPlace) {
    if (!is_built({"quantize_linear", "dequantize_linear"})) GTEST_SKIP() << kNotBuilt;
    constexpr int64_t kElements = 1 << 20;
    constexpr int32_t kDistance = 1024 / 4;
    for (const bool quantizes : {false, true}) {
        SCOPED_TRACE(quantizes ? "QUANTIZE_LINEAR" : "DEQUANTIZE_LINEAR");
        if (quantizes && !hewn::InvalidOperationFlag::works())
            continue;  // divided, which never prefetches
        const auto distance = [&](const Sizes &sizes, const Sizes &input_strides,
                                  const Sizes &strides) {
            return planned(quantizes, sizes, input_strides, strides, strides).distance;
        };
        EXPECT_EQ(distance({kElements}, {1}, {0}), kDistance);
        for (const int64_t period : {2, 4, 8})
            EXPECT_EQ(distance({kElements / period, period}, {period, 1}, {0, 1}), kDistance);
        EXPECT_EQ(distance({kElements / 3, 3}, {3, 1}, {0, 1}), 0);
        EXPECT_EQ(distance({1024, 1024}, {1, 1024}, {0, 0}), 0);
        EXPECT_EQ(distance({kElements / 4, 4}, {1, kElements / 4}, {0, 1}), 0);
        EXPECT_EQ(distance({256, 4}, {4, 1}, {0, 1}), 0);
    }
}

// How a sum reaches its output, and how many elements ahead it prefetches.
struct PlannedSum {
    hewn::Access output;
    int32_t distance;
};
// Plans a sum on a Zen 5. All tensors are contiguous, but B may have other strides.
PlannedSum planned_sum(hewn_data_type type, const Sizes &sizes, const Sizes &strides,
                       int64_t stream_bytes, int64_t parallel_bytes,
                       hewn::Threads threads = {1, 1}) {
    const hewn_tensor_desc contiguous = {sizeof contiguous, type,    uint32_t(sizes.size()),
                                         sizes.data(),      nullptr, nullptr},
                           b = {sizeof b,     type,           uint32_t(sizes.size()),
                                sizes.data(), strides.data(), nullptr};
    const hewn_add_desc own = {sizeof own, &contiguous, &b, &contiguous};
    const hewn::Problem problem = read(HEWN_OPERATOR_ADD, own);
    PlannedVariant variant;
    variant.knobs.stream_bytes = stream_bytes;
    variant.knobs.parallel_bytes = parallel_bytes;
    variant.forms[0] = {"general", nullptr, 0b1111};
    hewn::CpuKernel kernel = {};
    hewn::Plan made;
    EXPECT_EQ(plan(problem, variant, kernel, &made, threads), 1);
    return {made.access[made.operands - 1], kernel.prefetch_distance};
}

// ADD prefetches up to 5 MiB of operands, and up to 8.5 MiB of f16, but then not if only one input
// is large.
TEST(Forms, PrefetchShortSums) {
    if (!is_built({"add"})) GTEST_SKIP() << kNotBuilt;
    const auto distance = [](hewn_data_type type, const Sizes &sizes, const Sizes &strides) {
        return planned_sum(type, sizes, strides, INT64_MAX, INT64_MAX).distance;
    };
    constexpr hewn_data_type f32 = HEWN_DATA_TYPE_FLOAT32, f16 = HEWN_DATA_TYPE_FLOAT16;
    constexpr int64_t kFour = 1 << 20, kSix = 3 << 19;  // f32 in 4 and in 6 MiB
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

// Each thread's share decides. There are as many threads as slices, but not more than CPUs.
TEST(Forms, PrefetchByAThreadsShare) {
    if (!is_built({"add"})) GTEST_SKIP() << kNotBuilt;
    const auto distance = [](hewn::Threads threads) {
        return planned_sum(HEWN_DATA_TYPE_FLOAT32, {(1 << 20) / 3}, {1}, INT64_MAX, 0, threads)
            .distance;
    };
    EXPECT_EQ(distance({0, 2}), 256) << "eight slices on two CPUs";
    EXPECT_EQ(distance({0, 8}), 0);
    EXPECT_EQ(distance({1, 8}), 256) << "one slice";
}

// An output that the last cache of an AMD chip holds is not streamed, whatever the knob
// stream_bytes says.
TEST(Forms, StreamBeyondTheLastCache) {
    if (!is_built({"add"})) GTEST_SKIP() << kNotBuilt;
    const auto output = [](int64_t elements) {
        return planned_sum(HEWN_DATA_TYPE_FLOAT32, {elements}, {1}, 0, INT64_MAX).output;
    };
    EXPECT_EQ(output(1 << 20), hewn::Access::InPlace);
    EXPECT_EQ(output(1 << 22), hewn::kCanStream ? hewn::Access::Stream : hewn::Access::InPlace);
}

// If scales repeat within a vector, a single zero point, for all elements or for each of several
// rows, is read as a vector of it. With other scales it stays where it lies. That takes a second
// plan if the scales repeat after more elements than a vector has, or if there are too few
// elements.
TEST(Forms, ReadOneZeroPoint) {
    if (!is_built({"quantize_linear", "dequantize_linear"})) GTEST_SKIP() << kNotBuilt;
    for (const bool quantizes : {false, true}) {
        SCOPED_TRACE(quantizes ? "QUANTIZE_LINEAR" : "DEQUANTIZE_LINEAR");
        if (quantizes && !hewn::InvalidOperationFlag::works()) continue;  // only divided
        const auto of = [&](const Sizes &sizes, const Sizes &input_strides,
                            const Sizes &scale_strides, const Sizes &strides) {
            return planned(quantizes, sizes, input_strides, scale_strides, strides);
        };
        const Planned vectors = of({1 << 18, 4}, {4, 1}, {0, 1}, {0, 0}),
                      rows = of({16, 1000, 4}, {4000, 4, 1}, {0, 0, 1}, {1, 0, 0}),
                      threes = of({1 << 18, 3}, {3, 1}, {0, 1}, {0, 0}),
                      columns = of({256, 1024}, {1024, 1}, {0, 1}, {0, 0}),
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

// QUANTIZE_LINEAR of f32 flushes subnormals. In small work it does so only if the thread has met
// some.
TEST(Forms, FlushSubnormals) {
    if (!is_built({"quantize_linear", "dequantize_linear"})) GTEST_SKIP() << kNotBuilt;
    const auto chosen = [](int64_t elements) {
        PlannedVariant variant = columns_variant();
        variant.knobs.reciprocal_elements = 256;
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
        const bool sticks = _mm_getcsr() & MET;  // false in emulators without the flag
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

int general_products, bounded_products;

template<int *kCalls>
int count_product(const void *, halide_buffer_t *, halide_buffer_t *, int32_t, int32_t, int32_t,
                  float, halide_buffer_t *) {
    ++*kCalls;
    return 0;
}

// QUANTIZED_LINEAR_MUL takes the form `bounded`, which does not clamp, if the ratio of the scales
// is at most 2^14 and there are enough elements.
TEST(Forms, NarrowBoundedProducts) {
    if (!is_built({"quantized_linear_mul"})) GTEST_SKIP() << kNotBuilt;
    const auto entry = [](auto *function) { return reinterpret_cast<hewn::KernelEntry>(function); };
    PlannedVariant variant;
    const hewn::Form forms[] = {
        {"general", entry(count_product<&general_products>), 1u << 0b11 | 1u << 0b10 | 1u << 0b01},
        {"bounded", entry(count_product<&bounded_products>), 1u << 0b11 | 1u << 0b10 | 1u << 0b01}};
    std::copy(std::begin(forms), std::end(forms), variant.forms);
    variant.knobs.reciprocal_elements = 256;
    const auto takes_bounded = [&](int64_t elements, float ratio) {
        const Sizes size = {elements}, once = {0};
        const hewn_tensor_desc x = described(HEWN_DATA_TYPE_INT8, size, nullptr),
                               scale = described(HEWN_DATA_TYPE_FLOAT32, size, &once);
        const hewn_quantized_linear_mul_desc desc = {sizeof desc, &x,      &scale, nullptr, &x,
                                                     &scale,      nullptr, &scale, nullptr, &x};
        const hewn::Problem problem = read(HEWN_OPERATOR_QUANTIZED_LINEAR_MUL, desc);
        hewn::CpuKernel kernel = {};
        plan(problem, variant, kernel);
        float one = 1;
        int8_t zero = 0;
        void *inputs[] = {nullptr, &ratio, &zero, nullptr, &one, &zero, &one, &zero};
        general_products = bounded_products = 0;
        hewn::CpuCall call(kernel, inputs, nullptr);
        halide_buffer_t operands[3] = {};
        EXPECT_EQ(kernel.call(call, operands), 0);
        EXPECT_EQ(general_products + bounded_products, 1);
        return bounded_products == 1;
    };
    EXPECT_TRUE(takes_bounded(256, 0x1p14f));
    EXPECT_TRUE(takes_bounded(256, -0x1p14f));
    EXPECT_FALSE(takes_bounded(255, 1));
    for (const float large : {0x1.000002p14f, -0x1.000002p14f, HUGE_VALF, NAN})
        EXPECT_FALSE(takes_bounded(256, large)) << large;
}

int requantized_divided, requantized_multiplied;

int requantize_dividing(const void *, halide_buffer_t *, int32_t, int32_t, float, float,
                        halide_buffer_t *) {
    requantized_divided++;
    return 0;
}
int requantize_multiplying(const void *, halide_buffer_t *, int32_t, int32_t, float, float, float,
                           halide_buffer_t *) {
    requantized_multiplied++;
    return 0;
}

// REQUANTIZE multiplies by the reciprocal of the output scale if the scale is ordinary, there are
// enough elements, and no quotient can reach 2^31: 255 times (for 16 bits 65535 times) the input
// scale is at most 2^30 times the output scale.
TEST(Forms, RequantizeByReciprocals) {
    if (!is_built({"requantize"})) GTEST_SKIP() << kNotBuilt;
    const auto entry = [](auto *function) { return reinterpret_cast<hewn::KernelEntry>(function); };
    PlannedVariant variant;
    variant.forms[0] = {"divide", entry(requantize_dividing), 1u << 0b1};
    variant.forms[1] = {"reciprocal", entry(requantize_multiplying), 1u << 0b1};
    variant.knobs.reciprocal_elements = 256;
    const auto multiplies = [&](hewn_data_type type, int64_t elements, float input_scale,
                                float output_scale) {
        const Sizes size = {elements}, once = {0};
        const hewn_tensor_desc x = described(type, size, nullptr),
                               y = described(HEWN_DATA_TYPE_INT8, size, nullptr),
                               scale = described(HEWN_DATA_TYPE_FLOAT32, size, &once);
        const hewn_requantize_desc desc = {sizeof desc, &x, &scale, nullptr, &scale, nullptr, &y};
        const hewn::Problem problem = read(HEWN_OPERATOR_REQUANTIZE, desc);
        hewn::CpuKernel kernel = {};
        plan(problem, variant, kernel);
        int32_t zero = 0;
        void *inputs[] = {nullptr, &input_scale, &zero, &output_scale, &zero};
        requantized_divided = requantized_multiplied = 0;
        hewn::CpuCall call(kernel, inputs, nullptr);
        halide_buffer_t operands[2] = {};
        EXPECT_EQ(kernel.call(call, operands), 0);
        EXPECT_EQ(requantized_divided + requantized_multiplied, 1);
        return requantized_multiplied == 1;
    };
    constexpr hewn_data_type kU8 = HEWN_DATA_TYPE_UINT8, kI16 = HEWN_DATA_TYPE_INT16;
    EXPECT_TRUE(multiplies(kU8, 256, 0.5f, 0.25f));
    EXPECT_FALSE(multiplies(kU8, 255, 0.5f, 0.25f));
    EXPECT_TRUE(multiplies(kU8, 256, -0x1.0101p22f, 1));
    EXPECT_TRUE(multiplies(kI16, 256, 0x1.0001p14f, -1));
    EXPECT_FALSE(multiplies(kU8, 256, 0x1.010102p22f, 1));
    EXPECT_FALSE(multiplies(kI16, 256, 0x1.000102p14f, 1));
    for (const float scale : {0.0f, 0x1p-61f, 0x1p61f, HUGE_VALF, NAN})
        EXPECT_FALSE(multiplies(kU8, 256, 1e-30f, scale)) << scale;
    for (const float scale : {HUGE_VALF, NAN})
        EXPECT_FALSE(multiplies(kU8, 256, scale, 1)) << scale;
}

// The activation of ADD1 decides which form it calls.
TEST(Forms, OfActivations) {
    if (!is_built({"add1"})) GTEST_SKIP() << kNotBuilt;
    const Sizes size = {4096};
    const hewn_tensor_desc x = described(HEWN_DATA_TYPE_FLOAT32, size, nullptr);
    const char *const forms[] = {"general", "pieces",   "clamped", "pieces", "pieces",
                                 "pieces",  "softsign", "pieces",  "clamped"};
    PlannedVariant variant;
    int count = 0;
    for (const char *name : {"general", "clamped", "pieces", "softsign"})
        variant.forms[count++] = {name, nullptr, 0b1111};
    for (hewn_activation each = HEWN_ACTIVATION_IDENTITY; each <= HEWN_ACTIVATION_CLIP; each++) {
        hewn_add1_desc own = {sizeof own, &x, &x, &x, each, 0, 0, 0, 0, 0, 0, 0};
        const hewn::Problem problem = read(HEWN_OPERATOR_ADD1, own);
        hewn::CpuKernel kernel = {};
        EXPECT_EQ(plan(problem, variant, kernel), 1);
        EXPECT_STREQ(kernel.form->name, forms[each]) << each;
        EXPECT_EQ(kernel.quick, nullptr);
    }
}

// Three operators take longer to compute than their memory takes to move: QUANTIZED_LINEAR_ADD,
// QUANTIZED_LINEAR_MUL and REQUANTIZE.
TEST(Forms, AreBoundByArithmetic) {
    if (!is_built({"add", "add1", "quantize_linear", "dequantize_linear", "quantized_linear_add",
                   "quantized_linear_mul", "requantize"}))
        GTEST_SKIP() << kNotBuilt;
    const Sizes size = {4096}, once = {0};
    const hewn_tensor_desc x = described(HEWN_DATA_TYPE_INT8, size, nullptr),
                           number = described(HEWN_DATA_TYPE_FLOAT32, size, nullptr),
                           scale = described(HEWN_DATA_TYPE_FLOAT32, size, &once);
    const hewn_add_desc add = {sizeof add, &x, &x, &x};
    const hewn_add1_desc add1 = {
        sizeof add1, &number, &number, &number, HEWN_ACTIVATION_RELU, 0, 0, 0, 0, 0, 0, 0};
    const hewn_quantize_linear_desc quantize = {
        sizeof quantize, &number, &scale, nullptr, &x, HEWN_PRECISION_FLOAT32, 0};
    const hewn_dequantize_linear_desc dequantize = {sizeof dequantize, &x, &scale, nullptr,
                                                    &number};
    const hewn_quantized_linear_add_desc quantized_add = {sizeof quantized_add,
                                                          &x,
                                                          &scale,
                                                          nullptr,
                                                          &x,
                                                          &scale,
                                                          nullptr,
                                                          &scale,
                                                          nullptr,
                                                          &x,
                                                          HEWN_QUANTIZED_ACTIVATION_NONE,
                                                          0};
    const hewn_quantized_linear_mul_desc quantized_mul = {
        sizeof quantized_mul, &x, &scale, nullptr, &x, &scale, nullptr, &scale, nullptr, &x};
    const hewn_requantize_desc requantize = {sizeof requantize, &x, &scale, nullptr, &scale,
                                             nullptr,           &x};
    const auto bound = [](const hewn::Problem &problem) {
        PlannedVariant variant;
        variant.knobs.reciprocal_elements = 256;
        variant.forms[0] = {"general", nullptr, 0};
        variant.forms[1] = {"divide", nullptr, 0};
        variant.forms[2] = {"clamped", nullptr, 0};
        hewn::CpuKernel kernel = {};
        kernel.problem = &problem;
        const hewn::Tensor *operands[hewn::kMaxOperands];
        const int count = hewn::list_operands(problem, operands);
        hewn::CpuMode modes[hewn::kMaxModes];
        forms_of(*problem.info)
            .list_modes(hewn_test::merged(operands, count), variant, kernel, modes);
        return modes[0].traits.compute_bound;
    };
    EXPECT_FALSE(bound(read(HEWN_OPERATOR_ADD, add)));
    EXPECT_FALSE(bound(read(HEWN_OPERATOR_ADD1, add1)));
    EXPECT_FALSE(bound(read(HEWN_OPERATOR_QUANTIZE_LINEAR, quantize)));
    EXPECT_FALSE(bound(read(HEWN_OPERATOR_DEQUANTIZE_LINEAR, dequantize)));
    EXPECT_TRUE(bound(read(HEWN_OPERATOR_QUANTIZED_LINEAR_ADD, quantized_add)));
    EXPECT_TRUE(bound(read(HEWN_OPERATOR_QUANTIZED_LINEAR_MUL, quantized_mul)));
    EXPECT_TRUE(bound(read(HEWN_OPERATOR_REQUANTIZE, requantize)));
}

}  // namespace
