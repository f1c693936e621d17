// Tests decisions of the CPU's device that results do not show, only the speed: which bindings take
// the quick way, and whether slices are told that the output is read next.
#include "../../runtime/cpu/operator.h"

#include <gtest/gtest.h>
#include <hewn/hewn.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "../../reference/operators.h"
#include "../../reference/tensors.h"
#include "../support/execution.h"
#include "../support/runnable.h"

namespace {

using namespace hewn_test;

constexpr hewn_data_type F32 = HEWN_DATA_TYPE_FLOAT32, U8 = HEWN_DATA_TYPE_UINT8;
constexpr hewn_buffer_binding NONE = {sizeof(hewn_buffer_binding), nullptr, 0, 0};

class Device : public testing::Test {
protected:
    float memory[64] = {};
    OperatorPtr op;

    hewn_buffer_binding at(int element, uint64_t bytes) {
        return {sizeof(hewn_buffer_binding), memory + element, 0, bytes};
    }
    bool at_once(const std::vector<hewn_buffer_binding> &inputs, hewn_buffer_binding output) const {
        return hewn::is_located_at_once(*op, inputs.data(), output);
    }
};

TEST_F(Device, UsualBindingsAreLocatedAtOnce) {
    if (runnable_variants("add", "f32").empty()) GTEST_SKIP() << "not in this build";
    const Spec f32{F32, {8}}, strided{F32, {8}, {2}};
    ASSERT_EQ(
        compile(Description(HEWN_OPERATOR_ADD, {f32.desc(), f32.desc(), f32.desc()}), nullptr, op)
            .status,
        HEWN_STATUS_OK);
    const hewn_buffer_binding a = at(0, 32), b = at(8, 32), output = at(16, 32);
    EXPECT_TRUE(at_once({a, b}, output));
    EXPECT_TRUE(at_once({a, b}, a)) << "in place";
    EXPECT_TRUE(at_once({a, a}, a)) << "in place of both";
    hewn_buffer_binding typed = a;
    typed.struct_size = uint32_t(HEWN_BINDING_OF(F32));
    EXPECT_TRUE(at_once({typed, b}, output)) << "of a binding that says its type";
    typed.size = UINT64_MAX;
    EXPECT_TRUE(at_once({typed, b}, output)) << "of more memory than it takes";
    EXPECT_FALSE(at_once({a, b}, at(4, 32))) << "overlaps";
    EXPECT_FALSE(at_once({a, NONE}, output));
    // Interleaved tensors are allowed, but it takes all checks to see that.
    ASSERT_EQ(
        compile(Description(HEWN_OPERATOR_ADD, {strided.desc(), strided.desc(), strided.desc()}),
                nullptr, op)
            .status,
        HEWN_STATUS_OK);
    EXPECT_FALSE(at_once({at(0, 60), at(32, 60)}, at(1, 60)));
    EXPECT_TRUE(at_once({at(0, 60), at(32, 60)}, at(16, 60)));
}

TEST_F(Device, ConstantsAndAbsentTensorsAreLocatedAtOnce) {
    if (runnable_variants("quantize_linear", "f32_u8").empty()) GTEST_SKIP() << "not in this build";
    const Spec f32{F32, {8}}, scale{F32, {8}, {0}}, u8{U8, {8}};
    memory[63] = 1;
    const hewn_buffer_binding constants[] = {NONE, at(63, 4), NONE};
    hewn_compile_options options = compile_options();
    for (const bool constant : {false, true}) {
        options.constants = constant ? constants : nullptr;
        options.constant_count = constant ? 3 : 0;
        ASSERT_EQ(compile(Description(HEWN_OPERATOR_QUANTIZE_LINEAR,
                                      {f32.desc(), scale.desc(), std::nullopt, u8.desc()}),
                          &options, op)
                      .status,
                  HEWN_STATUS_OK);
        const hewn_buffer_binding bound = constant ? NONE : at(62, 4);
        EXPECT_TRUE(at_once({at(0, 32), bound, NONE}, at(16, 8)));
        EXPECT_FALSE(at_once({at(0, 32), bound, at(61, 1)}, at(16, 8))) << "it was absent";
        EXPECT_FALSE(at_once({at(0, 31), bound, NONE}, at(16, 8)));
    }
}

// The number of boxes that were told that the output is read next, and of those that were not.
// note_read_next() stands for the kernel, and counts.
std::atomic<int> told_read_next, told_not;
int note_read_next(hewn::BoxCall &call, halide_buffer_t *) {
    (call.output_is_read_next ? told_read_next : told_not)++;
    return 0;
}

TEST_F(Device, EverySliceIsToldThatTheOutputIsReadNext) {
    if (runnable_variants("add", "f32").empty()) GTEST_SKIP() << "not in this build";
    const int64_t elements = 1 << 20;
    const Spec f32{F32, {elements}};
    ASSERT_EQ(
        compile(Description(HEWN_OPERATOR_ADD, {f32.desc(), f32.desc(), f32.desc()}), nullptr, op)
            .status,
        HEWN_STATUS_OK);
    hewn::CpuOperator &cpu = static_cast<hewn::CpuOperator &>(*op);
    ASSERT_TRUE(cpu.passes()->plan.parallel);
    cpu.passes()->kernel.call = note_read_next;
    std::vector<float> tensors(size_t(3 * elements));
    std::vector<hewn_buffer_binding> bindings;
    for (int t = 0; t < 3; t++)
        bindings.push_back({sizeof(hewn_buffer_binding), tensors.data() + t * elements, 0,
                            uint64_t(elements) * sizeof(float)});
    for (const bool next : {false, true}) {
        for (const int32_t threads : {1, 3}) {
            hewn_execute_options options = {};
            options.struct_size = sizeof options;
            options.max_threads = threads;
            options.output_is_read_next = next;
            told_read_next = told_not = 0;
            ASSERT_EQ(
                hewn_execute(op.get(), bindings.data(), 2, &bindings[2], 1, &options, nullptr),
                HEWN_STATUS_OK);
            EXPECT_GE(next ? told_read_next : told_not, threads);
            EXPECT_EQ(next ? told_not : told_read_next, 0);
            hewn_bound_operator *bound = nullptr;
            told_read_next = told_not = 0;
            ASSERT_EQ(
                hewn_bind(op.get(), bindings.data(), 2, &bindings[2], 1, &options, &bound, nullptr),
                HEWN_STATUS_OK);
            EXPECT_EQ(hewn_run(bound, nullptr), HEWN_STATUS_OK);
            hewn_destroy_bound_operator(bound);
            EXPECT_GE(next ? told_read_next : told_not, threads);
            EXPECT_EQ(next ? told_not : told_read_next, 0);
        }
    }
}

}  // namespace
