// Tests that the caller's floating-point mode (rounding, flushing of subnormals, traps) changes no
// bit of any result, and that the library leaves the mode as it was. On x86 the CPU's flags also
// show which forms are called and where subnormals are flushed.
#include <gtest/gtest.h>
#include <hewn/hewn.hpp>

#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "../../reference/block_problems.h"
#include "../../reference/contents.h"
#include "../../reference/dynamic.h"
#include "../../reference/problems.h"
#include "../../reference/variants.h"
#include "../support/check.h"
#include "../support/executors.h"
#include "../support/runnable.h"
#include "../support/variant_fixture.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace hewn_test {
namespace {

#if defined(__SSE2__) || defined(__aarch64__)
#define HEWN_TEST_FP_MODES

struct Mode {
    const char *name;
    uint64_t bits;
};

#if defined(__SSE2__)
// MXCSR without its sticky flags, which any operation may set.
uint64_t read_mode() { return _mm_getcsr() & ~0x3fu; }
void write_mode(uint64_t mode) { _mm_setcsr(unsigned(mode)); }

constexpr uint64_t DEFAULT = 0x1f80, FLUSHING_TOWARD_ZERO = DEFAULT | 0xe040,
                   FLUSHING_UPWARD = DEFAULT | 0xc040, UNMASKED = 0;
constexpr Mode MODES[] = {
    {"flush to zero, denormals are zero", DEFAULT | 0x8040},
    {"flush to zero", DEFAULT | 0x8000},
    {"denormals are zero", DEFAULT | 0x0040},
    {"downward", DEFAULT | 0x2000},
    {"upward", DEFAULT | 0x4000},
    {"toward zero", DEFAULT | 0x6000},
    {"toward zero, flush to zero, denormals are zero", FLUSHING_TOWARD_ZERO},
    {"all exceptions unmasked", UNMASKED},
    {"invalid and division by zero unmasked", DEFAULT & ~0x0280u},
    {"upward, inexact unmasked", (DEFAULT | 0x4000) & ~0x1000u},
};
#else
// FPCR. Bits that a CPU does not have stay 0, often those of exceptions.
uint64_t read_mode() {
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}
void write_mode(uint64_t mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode) : "memory"); }

constexpr uint64_t DEFAULT = 0, FZ = 1 << 24, FZ16 = 1 << 19, DN = 1 << 25, AHP = 1 << 26,
                   UP = 1 << 22, DOWN = 2 << 22, TOWARD_ZERO = 3 << 22,
                   FLUSHING_TOWARD_ZERO = TOWARD_ZERO | FZ | FZ16, FLUSHING_UPWARD = UP | FZ | FZ16,
                   UNMASKED = 0x9f00;
constexpr Mode MODES[] = {
    {"flush to zero", FZ},
    {"flush f16 to zero", FZ16},
    {"default NaN", DN},
    {"alternative half precision", AHP},
    {"upward", UP},
    {"downward", DOWN},
    {"toward zero", TOWARD_ZERO},
    {"toward zero, flush to zero", FLUSHING_TOWARD_ZERO},
    {"all exceptions unmasked", UNMASKED},
    {"everything", UNMASKED | UP | FZ | FZ16 | DN | AHP},
};
#endif

// Runs call() in `mode`, and says whether the mode was left as it was.
template<class Call>
bool keeps_mode(uint64_t mode, Call &&call) {
    const uint64_t before = read_mode();
    write_mode(mode);
    const uint64_t entered = read_mode();
    call();
    const uint64_t after = read_mode();
    write_mode(before);
    return after == entered;
}

class FpModeTest : public VariantTest {};

// Problems of values that round, tie, overflow and are subnormal. The reference is computed in the
// default mode. Only hewn's own calls run in the other one.
TEST_P(FpModeTest, ChangesNothing) {
    const Variant &variant = GetParam();
    if (kind_of_variant(variant.name.c_str()) != HEWN_DEVICE_CPU)
        GTEST_SKIP() << "a GPU has a mode of its own";
    Random random = this->random();
    // A small problem, a larger one, one that goes through scratch memory, and one of short rows,
    // for which planning weighs costs.
    std::vector<Problem> problems;
    problems.push_back(
        make_problem(variant.op(), variant.types(), {1000}, all_dense(variant.op()), random));
    problems.push_back(
        make_problem(variant.op(), variant.types(), {60000}, per_tensor(variant.op()), random));
    problems.push_back(
        make_problem(variant.op(), variant.types(), {70, 50},
                     std::vector<std::vector<int64_t>>(free_inputs(variant.op()).size(), {1, 70}),
                     {50, 1}, random));
    problems.push_back(
        make_problem(variant.op(), variant.types(), {40, 5}, all_dense(variant.op()), random, 2));
    for (size_t p = 0; p < 2 * problems.size(); p++) {
        Problem &problem = problems[p / 2];
        fill_inputs(problem, random, p % 2 ? Scales::extraordinary : Scales::ordinary);
        const std::vector<uint8_t> before = problem.output.memory;
        std::vector<uint8_t> expected = before;
        evaluate_reference(problem, expected);
        const auto description = problem.description();
        const std::vector<hewn_buffer_binding> inputs = problem.bindings();
        const hewn_buffer_binding output = problem.output.binding();
        for (const Mode &mode : MODES) {
            const hewn_compile_options options = compile_options(variant.name.c_str(), 1);
            hewn_operator *handle = nullptr;
            hewn_status compiled = -1, executed = -1;
            EXPECT_TRUE(keeps_mode(mode.bits, [&] {
                compiled = hewn_compile(nullptr, description.get(), &options, &handle, nullptr);
            })) << mode.name;
            const OperatorPtr op(handle);
            ASSERT_EQ(compiled, HEWN_STATUS_OK);
            problem.output.memory = before;
            EXPECT_TRUE(keeps_mode(mode.bits, [&] {
                executed = hewn_execute(op.get(), inputs.data(), uint32_t(inputs.size()), &output,
                                        1, nullptr, nullptr);
            })) << mode.name;
            ASSERT_EQ(executed, HEWN_STATUS_OK);
            ASSERT_TRUE(output_equals(problem, expected, problem.output.memory)) << mode.name;
        }
        problem.output.memory = before;
    }
}

INSTANTIATE_TEST_SUITE_P(, FpModeTest, testing::ValuesIn(built_variants()), variant_name);

// The mode does not change the range, the scale and the zero point either, with quotients that
// round, with a range that rounds, and with subnormals.
TEST(FpMode, DynamicQuantization) {
    Random random("FpMode.DynamicQuantization");
    for (const Variant &variant : runnable_dynamic_variants()) {
        const DataTypes types = variant.types();
        for (const int64_t elements : {3, 40000}) {
            for (const float unit : {1.0f, 0x1p-20f}) {
                Dynamic problem({types[0], types[1]}, elements);
                const bool subnormal = types[0] == HEWN_DATA_TYPE_FLOAT32 && unit < 1;
                fill(problem.input, [&](int64_t i) {
                    const float value = (random.unit() - 0.4f) * unit;
                    set_float(problem.input, i, subnormal ? value * 0x1p-110f : value);
                });
                const Images expected = expected_output(problem), before = problem.images();
                const hewn_compile_options options = compile_options(variant.name.c_str(), 1);
                OperatorPtr op;
                ASSERT_EQ(compile(problem.description(), &options, op).status, HEWN_STATUS_OK);
                const hewn_buffer_binding input = problem.input.binding();
                const std::vector<hewn_buffer_binding> outputs = problem.bindings();
                for (const Mode &mode : MODES) {
                    hewn_status executed = -1;
                    EXPECT_TRUE(keeps_mode(mode.bits, [&] {
                        executed =
                            hewn_execute(op.get(), &input, 1, outputs.data(), 3, nullptr, nullptr);
                    })) << mode.name;
                    ASSERT_EQ(executed, HEWN_STATUS_OK);
                    EXPECT_EQ(problem.difference(expected), "") << variant << ", " << mode.name;
                    problem.restore(before);
                }
            }
        }
    }
}

// Subnormal inputs, among others whose quotients are ties, with scales of every size. There are
// enough elements to flush subnormals where that changes nothing, or too few. There is a scale for
// all elements, for each row, for each column, or for each element, and scales may repeat within a
// vector. In some sets all scales are ordinary. In others some are not, and kernels must divide by
// these.
TEST(FpMode, SubnormalInputs) {
    Random random("FpMode.SubnormalInputs");
    const std::vector<std::vector<float>> scales = {
        {0.5f, 0x1p-60f, -0x1p60f, 3.0f},
        {0x1p-61f, 0x1.fffffep-61f, 0x1p127f, 1.0f},
        {0x1p-125f, 0x1p-126f, -0x1p-127f, 0x1p-149f},
        {0.5f, 0.0f, 1.0f, 2.0f},
        {std::nanf(""), std::numeric_limits<float>::infinity(), 0.25f, 0x1p-126f}};
    for (const int64_t rows : {2, 40}) {
        constexpr int64_t COLUMNS = 600;
        using Strides = std::vector<int64_t>;
        for (const Strides &strides :
             {Strides{0, 0}, Strides{1, 0}, Strides{0, 1}, Strides{COLUMNS, 1}}) {
            Problem problem = make_problem(HEWN_OPERATOR_QUANTIZE_LINEAR,
                                           operand_types(HEWN_OPERATOR_QUANTIZE_LINEAR, "f32_u8"),
                                           {rows, COLUMNS}, {{COLUMNS, 1}, strides, {0, 0}},
                                           {COLUMNS, 1}, random);
            fill_inputs(problem, random);
            for (const std::vector<float> &values : scales) {
                const size_t kinds = random.one_in(2) ? 1 : values.size();
                fill(*problem.inputs[1],
                     [&](int64_t i) { problem.inputs[1]->set(i, values[size_t(i) % kinds]); });
                fill(*problem.inputs[0], [&](int64_t i) {
                    const float subnormal =
                        reference::from_bits(uint32_t(random.bits()) & 0x807fffff);
                    const float tie = (float(random.integer(0, 254)) + 0.5f) * random.pick(values);
                    problem.inputs[0]->set(i, random.one_in(2) ? subnormal : tie);
                });
                for (const std::string &variant : runnable_variants("quantize_linear", "f32_u8"))
                    EXPECT_TRUE(check(problem, compile_options(variant.c_str(), 1)))
                        << variant << " " << values[0];
            }
        }
    }
}

#if defined(__SSE2__)
// QUANTIZE_LINEAR's form that does not clamp cannot compute some values, and the flag of invalid
// operations tells so. The results must be right all the same: wherever such a value stands in one
// box or several, and whether or not the flag was raised before. If it was, it must be raised
// afterwards too.
TEST(FpMode, InvalidOperations) {
    constexpr float SCALE = 0.5f, INF = std::numeric_limits<float>::infinity(),
                    TWO_31_SCALES = 0x1p31f * SCALE;
    constexpr unsigned INVALID = 1;
    Random random("FpMode.Invalid");
    for (const char *signature : {"f32_i8", "f32_u8"}) {
        const auto types = operand_types(HEWN_OPERATOR_QUANTIZE_LINEAR, signature);
        for (const std::string &variant : runnable_variants("quantize_linear", signature)) {
            if (kind_of_variant(variant.c_str()) != HEWN_DEVICE_CPU) continue;
            const hewn_compile_options options = compile_options(variant.c_str(), 1);
            // One scale for all elements, and one for each column: for a single matrix, and for
            // three that have scales of their own.
            struct Shape {
                std::vector<int64_t> sizes, scale_strides;
            };
            for (const Shape &shape : {Shape{{300}, {0}}, Shape{{130000}, {0}},
                                       Shape{{40, 65}, {0, 1}}, Shape{{3, 20, 33}, {33, 0, 1}}}) {
                int64_t elements = 1;
                for (const int64_t size : shape.sizes) elements *= size;
                Problem problem = make_problem(
                    HEWN_OPERATOR_QUANTIZE_LINEAR, types, shape.sizes,
                    {contiguous_strides(shape.sizes), shape.scale_strides, shape.scale_strides},
                    contiguous_strides(shape.sizes), random);
                fill_inputs(problem, random, Scales::ordinary);
                fill(*problem.inputs[1], [&](int64_t i) { problem.inputs[1]->set(i, SCALE); });
                for (const float value :
                     {std::nanf(""), INF, -INF, 3e38f, -3e38f, TWO_31_SCALES, -TWO_31_SCALES,
                      std::nextafter(TWO_31_SCALES, 0.0f), std::nextafter(-TWO_31_SCALES, -INF)}) {
                    for (const int64_t at : {int64_t(0), elements / 2, elements - 1}) {
                        float *const input =
                            reinterpret_cast<float *>(problem.inputs[0]->data()) + at;
                        const float kept = *input;
                        *input = value;
                        for (const unsigned flag : {0u, INVALID}) {
                            _mm_setcsr((_mm_getcsr() & ~INVALID) | flag);
                            // It stays 0 in emulators without the flag.
                            const unsigned held = _mm_getcsr() & INVALID;
                            EXPECT_TRUE(check(problem, options))
                                << variant << " " << value << " at " << at << " of " << elements;
                            EXPECT_EQ(_mm_getcsr() & held, held);
                        }
                        *input = kept;
                    }
                }
            }
        }
    }
}

// Flags that the caller's operations have raised stay raised, although compile and execute look at
// one of them.
TEST(FpMode, FlagsStayRaised) {
    if (runnable_variants("quantize_linear", "f32_u8").empty()) GTEST_SKIP() << "not in this build";
    constexpr unsigned FLAGS = 0x3f;
    Random random("FpMode.Flags");
    Problem problem = make_problem(HEWN_OPERATOR_QUANTIZE_LINEAR,
                                   operand_types(HEWN_OPERATOR_QUANTIZE_LINEAR, "f32_u8"), {2000},
                                   per_tensor(HEWN_OPERATOR_QUANTIZE_LINEAR), random);
    fill_inputs(problem, random);
    const hewn_compile_options options = compile_options(nullptr, 1);
    const auto description = problem.description();
    OperatorPtr op;
    _mm_setcsr(_mm_getcsr() | FLAGS);
    const unsigned held = _mm_getcsr() & FLAGS;  // 0 in emulators without them
    EXPECT_EQ(compile(description, &options, op).status, HEWN_STATUS_OK);
    EXPECT_EQ(_mm_getcsr() & held, held);
    EXPECT_EQ(execute(op.get(), problem).status, HEWN_STATUS_OK);
    EXPECT_EQ(_mm_getcsr() & held, held);
    _mm_setcsr(_mm_getcsr() & ~FLAGS);
}

// Tests where the forms that multiply by reciprocals are called. Results do not show it, but a flag
// does: these forms leave the flag of invalid operations raised if a quotient does not fit.
// `divide` clamps before it converts, and does not. Reciprocals are expected for one scale and as
// many elements as any value of the knob reciprocal_elements asks for; for a scale per column and
// enough rows, also if boxes cut the rows; and for a scale per row if a box has enough elements for
// its scales.
TEST(FpMode, ReciprocalsAreTaken) {
    constexpr float SCALE = 0.5f, LARGE = 3e38f;
    constexpr unsigned INVALID = 1;
    constexpr int64_t MANY = int64_t(17) << 20;  // enough elements for a streamed output
    struct Case {
        std::vector<int64_t> sizes, scale_strides;
        bool reciprocals;
        std::vector<int64_t> strides = {};  // of the input; empty: contiguous
    };
    const std::vector<Case> cases = {
        {{1024}, {0}, true},
        {{100}, {0}, false},
        {{40, 65}, {0, 1}, true},
        {{3, 65}, {0, 1}, false},
        {{40, 65}, {65, 1}, false},
        {{40, 4096}, {0, 1}, true},
        {{40, 4097}, {0, 1}, false},
        {{9000, 4}, {0, 1}, true},
        {{MANY / 1024, 1024}, {0, 1}, true},
        {{300, 1024}, {1, 0}, true},
        {{4, 65}, {1, 0}, false},
        {{256, 256}, {1, 0}, true, {1, 256}},
        // Strided and transposed boxes with enough elements for their scales, and with too few.
        {{50, 700}, {1, 0}, true, {1400, 2}},
        {{40, 8, 8}, {0, 0, 0}, true, {64, 1, 8}},
        {{600, 150, 8}, {1, 0, 0}, false, {1, 4900, 600}},
        // Boxes with too few elements, but with scales that all boxes share. And rows so short that
        // a row of the plan holds several scales, as with a scale for each column.
        {{200, 16, 70}, {0, 1, 0}, true},
        {{4000, 16, 4}, {0, 1, 0}, true}};
    for (const std::string &variant : runnable_variants("quantize_linear", "f32_u8")) {
        if (kind_of_variant(variant.c_str()) != HEWN_DEVICE_CPU) continue;
        const bool has_reciprocals = variant.find("avx") != std::string::npos;
        for (const Case &c : cases) {
            int64_t elements = 1, last = 0;
            for (size_t d = 0; d < c.sizes.size(); d++) {
                elements *= c.sizes[d];
                if (!c.strides.empty()) last += (c.sizes[d] - 1) * c.strides[d];
            }
            std::vector<float> x(size_t(c.strides.empty() ? elements : last + 1), 1.0f),
                scale(4097, SCALE);
            std::vector<uint8_t> output(static_cast<size_t>(elements)), zero_point(4097, 7);
            x.back() = LARGE;
            hewn::CompileOptions options;
            options.variant = variant;
            options.max_threads = 1;
            hewn::TensorDesc x_desc = {hewn::DataType::FLOAT32, c.sizes};
            if (!c.strides.empty())
                x_desc = hewn::TensorDesc{hewn::DataType::FLOAT32, c.sizes, c.strides};
            const hewn::Operator op = hewn::compile(
                hewn::QuantizeLinearDesc{
                    x_desc,
                    {hewn::DataType::FLOAT32, c.sizes, c.scale_strides},
                    hewn::TensorDesc{hewn::DataType::UINT8, c.sizes, c.scale_strides},
                    {hewn::DataType::UINT8, c.sizes}},
                options);
            const hewn_buffer_binding inputs[] = {
                {sizeof(hewn_buffer_binding), x.data(), 0, x.size() * sizeof(float)},
                {sizeof(hewn_buffer_binding), scale.data(), 0, scale.size() * sizeof(float)},
                {sizeof(hewn_buffer_binding), zero_point.data(), 0, zero_point.size()}};
            const hewn_buffer_binding out = {sizeof(hewn_buffer_binding), output.data(), 0,
                                             output.size()};
            _mm_setcsr(_mm_getcsr() & ~INVALID);
            ASSERT_EQ(hewn_execute(op.get(), inputs, 3, &out, 1, nullptr, nullptr), HEWN_STATUS_OK);
            const bool raised = _mm_getcsr() & INVALID;
            EXPECT_EQ(raised, has_reciprocals && c.reciprocals)
                << variant << " " << testing::PrintToString(c.sizes) << " "
                << testing::PrintToString(c.scale_strides);
            EXPECT_EQ(output.front(), 9);
            EXPECT_EQ(output.back(), 255);
        }
    }
}

// Tests where subnormals are flushed. Results do not show it, but the thread's flag of subnormal
// operands does: it stays clear where they are flushed.
TEST(FpMode, SubnormalsAreFlushedWhereThatChangesNothing) {
    constexpr unsigned MET = 2;
    _mm_setcsr(_mm_getcsr() & ~MET);
    volatile float subnormal = 0x1p-140f;
    subnormal = subnormal * 3;
    if (!(_mm_getcsr() & MET)) GTEST_SKIP() << "the flag is not raised here, as by emulators";
    constexpr int64_t ROWS = 64, COLUMNS = 256;  // just enough elements to flush always
    struct Case {
        std::vector<int64_t> sizes, scale_strides;
        float scale;
        bool flushed;
    };
    const std::vector<Case> cases = {{{ROWS, COLUMNS}, {0, 0}, 0.5f, true},
                                     {{ROWS, COLUMNS}, {0, 1}, 0.5f, true},
                                     {{ROWS, COLUMNS}, {1, 0}, 0.5f, true},
                                     {{ROWS, COLUMNS}, {COLUMNS, 1}, 0.5f, true},
                                     {{ROWS * COLUMNS / 4, 4}, {0, 1}, 0.5f, true},
                                     {{ROWS, COLUMNS}, {0, 0}, 0x1p100f, true},
                                     {{ROWS, COLUMNS}, {0, 0}, 0x1p-61f, false},
                                     {{ROWS, COLUMNS}, {COLUMNS, 1}, 0x1p-61f, false},
                                     {{ROWS, COLUMNS - 1}, {0, 0}, 0.5f, false}};
    for (const std::string &variant : runnable_variants("quantize_linear", "f32_u8")) {
        if (kind_of_variant(variant.c_str()) != HEWN_DEVICE_CPU) continue;
        for (const Case &c : cases) {
            const std::vector<float> x(size_t(ROWS * COLUMNS), 0x1p-140f), scale(x.size(), c.scale);
            std::vector<uint8_t> output(x.size());
            hewn::CompileOptions options;
            options.variant = variant;
            options.max_threads = 1;
            const hewn::TensorDesc scale_desc = {hewn::DataType::FLOAT32, c.sizes, c.scale_strides};
            const hewn::Operator op =
                hewn::compile(hewn::QuantizeLinearDesc{{hewn::DataType::FLOAT32, c.sizes},
                                                       scale_desc,
                                                       std::nullopt,
                                                       {hewn::DataType::UINT8, c.sizes}},
                              options);
            _mm_setcsr(_mm_getcsr() & ~MET);
            op.execute({x, scale, nullptr}, {output});
            EXPECT_EQ((_mm_getcsr() & MET) == 0, c.flushed)
                << variant << " " << testing::PrintToString(c.sizes) << " "
                << testing::PrintToString(c.scale_strides) << " " << c.scale;
        }
    }
}

#endif

// An executor whose threads are in a floating-point mode of their own.
template<uint64_t mode>
void HEWN_CALL in_mode(void *, int32_t count, hewn_slice_fn fn, void *arg) {
    std::vector<std::thread> threads;
    std::atomic<int32_t> next{0};
    for (int t = 0; t < 2; t++) {
        threads.emplace_back([&] {
            EXPECT_TRUE(keeps_mode(mode, [&] {
                for (int32_t i; (i = next++) < count;) fn(arg, i);
            }));
        });
    }
    for (std::thread &thread : threads) thread.join();
}

TEST(FpMode, OfTheUsersThreads) {
    Random random("FpMode.OfTheUsersThreads");
    for (const char *signature : {"f32_u8", "f16_i8"}) {
        if (runnable_variants("quantize_linear", signature).empty()) continue;
        const auto types = operand_types(HEWN_OPERATOR_QUANTIZE_LINEAR, signature);
        Problem problem = make_problem(HEWN_OPERATOR_QUANTIZE_LINEAR, types, {600000},
                                       all_dense(HEWN_OPERATOR_QUANTIZE_LINEAR), random);
        fill_inputs(problem, random, Scales::extraordinary);
        hewn_compile_options options = compile_options();
        options.parallel_for = in_mode<FLUSHING_UPWARD>;
        EXPECT_TRUE(check(problem, options));
        options.parallel_for = in_mode<UNMASKED>;
        EXPECT_TRUE(check(problem, options));
    }
}

// The thread that starts the library's pool may be in any mode, which the pool's threads inherit.
TEST(FpMode, OfTheCallerThatStartsThePool) {
    Random random("FpMode.Pool");
    Problem problem = make_problem(HEWN_OPERATOR_ADD, operand_types(HEWN_OPERATOR_ADD, "f32"),
                                   {2000000}, all_dense(HEWN_OPERATOR_ADD), random);
    fill_inputs(problem, random);
    const std::vector<uint8_t> before = problem.output.memory;
    std::vector<uint8_t> expected = before;
    evaluate_reference(problem, expected);
    const hewn_compile_options options = compile_options(nullptr, 4);
    OperatorPtr op;
    ASSERT_EQ(compile(problem.description(), &options, op).status, HEWN_STATUS_OK);
    const std::vector<hewn_buffer_binding> inputs = problem.bindings();
    const hewn_buffer_binding output = problem.output.binding();
    for (const uint64_t mode : {FLUSHING_TOWARD_ZERO, UNMASKED, DEFAULT}) {
        hewn_shutdown();
        for (int i = 0; i < 3; i++) {
            problem.output.memory = before;
            hewn_status status = -1;
            EXPECT_TRUE(keeps_mode(mode, [&] {
                status = hewn_execute(op.get(), inputs.data(), uint32_t(inputs.size()), &output, 1,
                                      nullptr, nullptr);
            }));
            ASSERT_EQ(status, HEWN_STATUS_OK);
            ASSERT_TRUE(output_equals(problem, expected, problem.output.memory));
        }
    }
}

// The same of operators that choose scales for blocks, which one pass computes at once, and for
// columns.
TEST(FpMode, ChosenScales) {
    Random random("FpMode.ChosenScales");
    for (const Variant &variant : runnable_block_variants()) {
        for (const std::vector<int64_t> &blocks :
             {std::vector<int64_t>{1, 300}, {1, 32}, {40, 1}}) {
            for (const float unit : {1.0f, 0x1p-130f}) {
                BlockProblem problem =
                    contiguous_blocks(variant.op(), variant.types(), {40, 300}, blocks, random);
                fill(problem.input, [&](int64_t i) {
                    set_float(problem.input, i, (random.unit() - 0.4f) * unit);
                });
                const auto expected = expected_output(problem), before = problem.images();
                const hewn_compile_options options = compile_options(variant.name.c_str(), 1);
                OperatorPtr op;
                ASSERT_EQ(compile(problem.description(), &options, op).status, HEWN_STATUS_OK);
                const std::vector<hewn_buffer_binding> inputs = problem.input_bindings(),
                                                       outputs = problem.bindings();
                for (const Mode &mode : MODES) {
                    hewn_status executed = -1;
                    EXPECT_TRUE(keeps_mode(mode.bits, [&] {
                        executed = hewn_execute(op.get(), inputs.data(), uint32_t(inputs.size()),
                                                outputs.data(), uint32_t(outputs.size()), nullptr,
                                                nullptr);
                    })) << mode.name;
                    ASSERT_EQ(executed, HEWN_STATUS_OK);
                    EXPECT_EQ(problem.difference(expected), "") << variant << ", " << mode.name;
                    problem.restore(before);
                }
            }
        }
    }
}
#endif

// The rounding directions of <cfenv>, which every machine has.
TEST(FpMode, RoundingDirections) {
    Random random("FpMode.Rounding");
    Problem problem = make_problem(HEWN_OPERATOR_ADD, operand_types(HEWN_OPERATOR_ADD, "f32"),
                                   {5000}, all_dense(HEWN_OPERATOR_ADD), random);
    fill_inputs(problem, random);
    std::vector<uint8_t> expected = problem.output.memory;
    evaluate_reference(problem, expected);
    const hewn_compile_options options = compile_options();
    OperatorPtr op;
    ASSERT_EQ(compile(problem.description(), &options, op).status, HEWN_STATUS_OK);
    for (const int direction : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
        ASSERT_EQ(std::fesetround(direction), 0);
        const Outcome outcome = execute(op.get(), problem);
        const int after = std::fegetround();
        std::fesetround(FE_TONEAREST);
        EXPECT_EQ(after, direction);
        EXPECT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
        EXPECT_TRUE(output_equals(problem, expected, problem.output.memory));
    }
}

}  // namespace
}  // namespace hewn_test
