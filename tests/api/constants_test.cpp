// Tests of inputs that are given at compile (hewn_compile_options::constants): they are copied,
// they are not bound again, and wrong ones are refused. check() (../support/check.h) tests all
// layouts and types, because it gives one problem in three constants.
#include <gtest/gtest.h>
#include <hewn/hewn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../../reference/operators.h"
#include "../../reference/tensors.h"
#include "../support/execution.h"
#include "../support/runnable.h"

namespace hewn_test {
namespace {

constexpr hewn_buffer_binding NONE = {sizeof(hewn_buffer_binding), nullptr, 0, 0};

template<class T>
hewn_buffer_binding binding(T &memory, size_t bytes = sizeof(T)) {
    return {sizeof(hewn_buffer_binding), &memory, 0, bytes};
}

// QUANTIZE_LINEAR of f32 to u8 with one scale and one zero point for four elements.
class ConstantsTest : public testing::Test {
protected:
    void SetUp() override {
        if (runnable_variants("quantize_linear", "f32_u8").empty())
            GTEST_SKIP() << "quantize_linear f32_u8: not in this build";
    }
    Outcome compiled(const std::vector<hewn_buffer_binding> &constants, bool zero_point = true) {
        const Spec x{HEWN_DATA_TYPE_FLOAT32, {4}}, scale{HEWN_DATA_TYPE_FLOAT32, {4}, {0}},
            zero{HEWN_DATA_TYPE_UINT8, {4}, {0}}, y{HEWN_DATA_TYPE_UINT8, {4}};
        hewn_compile_options options = compile_options();
        options.constants = constants.data();
        options.constant_count = uint32_t(constants.size());
        return compile(
            Description(HEWN_OPERATOR_QUANTIZE_LINEAR,
                        {x.desc(), scale.desc(),
                         zero_point ? std::optional(zero.desc()) : std::nullopt, y.desc()}),
            &options, op_);
    }
    void refused(const std::vector<hewn_buffer_binding> &constants, const std::string &words,
                 bool zero_point = true) {
        const Outcome outcome = compiled(constants, zero_point);
        EXPECT_EQ(outcome.status, HEWN_STATUS_INVALID_BINDING) << outcome;
        EXPECT_NE(outcome.message.find(words), std::string::npos) << outcome;
    }
    Outcome executed(const std::vector<hewn_buffer_binding> &inputs) {
        const hewn_buffer_binding output = binding(y_);
        return outcome_of([&](hewn_error *error) {
            return hewn_execute(op_.get(), inputs.data(), uint32_t(inputs.size()), &output, 1,
                                nullptr, error);
        });
    }

    float x_[4] = {1, 2, 3, 4}, scale_ = 0.5f;
    uint8_t zero_point_ = 10, y_[4] = {};
    OperatorPtr op_;
};

TEST_F(ConstantsTest, AreCopied) {
    ASSERT_EQ(compiled({NONE, binding(scale_), binding(zero_point_)}).status, HEWN_STATUS_OK);
    scale_ = 100;  // the operator does not read it any more
    zero_point_ = 200;
    ASSERT_EQ(executed({binding(x_), NONE, NONE}).status, HEWN_STATUS_OK);
    for (int i = 0; i < 4; i++) EXPECT_EQ(y_[i], 12 + 2 * i);
}

TEST_F(ConstantsTest, DataMayBeOne) {
    ASSERT_EQ(compiled({binding(x_), NONE, NONE}).status, HEWN_STATUS_OK);
    std::fill_n(x_, 4, 100.0f);
    ASSERT_EQ(executed({NONE, binding(scale_), binding(zero_point_)}).status, HEWN_STATUS_OK);
    for (int i = 0; i < 4; i++) EXPECT_EQ(y_[i], 12 + 2 * i);
    EXPECT_EQ(executed({binding(x_), binding(scale_), binding(zero_point_)}).status,
              HEWN_STATUS_INVALID_BINDING);
}

TEST_F(ConstantsTest, OneAloneBesideABinding) {
    ASSERT_EQ(compiled({NONE, binding(scale_), NONE}).status, HEWN_STATUS_OK);
    ASSERT_EQ(executed({binding(x_), NONE, binding(zero_point_)}).status, HEWN_STATUS_OK);
    EXPECT_EQ(y_[0], 12);
    zero_point_ = 20;
    ASSERT_EQ(executed({binding(x_), NONE, binding(zero_point_)}).status, HEWN_STATUS_OK);
    EXPECT_EQ(y_[0], 22);
}

TEST_F(ConstantsTest, AreNotBoundAgain) {
    ASSERT_EQ(compiled({NONE, binding(scale_), NONE}).status, HEWN_STATUS_OK);
    const Outcome outcome = executed({binding(x_), binding(scale_), binding(zero_point_)});
    EXPECT_EQ(outcome.status, HEWN_STATUS_INVALID_BINDING) << outcome;
    EXPECT_NE(
        outcome.message.find("ScaleTensor: has a binding but was given as a constant at compile"),
        std::string::npos)
        << outcome;
    EXPECT_EQ(y_[0], 0) << "a refused call wrote";
    EXPECT_EQ(executed({binding(x_), NONE, NONE}).status, HEWN_STATUS_INVALID_BINDING)
        << "the zero point is no constant";
}

TEST_F(ConstantsTest, WhatIsRefused) {
    refused({NONE, binding(scale_)}, "2 bindings of constants given, expected 3");
    refused({NONE, binding(scale_, 3), NONE}, "ScaleTensor: the binding has 3 bytes, 4 are needed");
    refused({NONE, binding(scale_), binding(zero_point_)},
            "ZeroPointTensor: has a binding but was absent", false);
    hewn_buffer_binding typed = binding(scale_);
    typed.struct_size = HEWN_BINDING_OF(HEWN_DATA_TYPE_INT32);
    refused({NONE, typed, NONE}, "ScaleTensor: the binding's elements are INT32");
    hewn_buffer_binding misaligned = binding(x_);
    misaligned.offset = 1;
    refused({NONE, misaligned, NONE}, "ScaleTensor: the address is misaligned");
    hewn_buffer_binding small = NONE;
    small.struct_size = 8;
    refused({small, small, small}, "struct_size of the constant's binding is too small");
    hewn_buffer_binding larger = binding(scale_);
    larger.struct_size += 8;
    refused({NONE, larger, NONE}, "ScaleTensor: struct_size of the binding differs");
    hewn_compile_options options = compile_options();
    options.constant_count = 3;
    const Spec f32{HEWN_DATA_TYPE_FLOAT32, {4}};
    const Outcome outcome = compile(
        Description(HEWN_OPERATOR_ADD, {f32.desc(), f32.desc(), f32.desc()}), &options, op_);
    EXPECT_EQ(outcome.status, HEWN_STATUS_INVALID_BINDING) << outcome;
}

// A program that was built before there were constants passes a shorter struct.
TEST_F(ConstantsTest, AnOlderProgramHasNone) {
    hewn_compile_options options = compile_options();
    options.struct_size = offsetof(hewn_compile_options, constants);
    options.constants = &NONE;  // beyond its struct: not read
    options.constant_count = 77;
    const Spec f32{HEWN_DATA_TYPE_FLOAT32, {4}};
    EXPECT_EQ(
        compile(Description(HEWN_OPERATOR_ADD, {f32.desc(), f32.desc(), f32.desc()}), &options, op_)
            .status,
        HEWN_STATUS_OK);
    options.struct_size--;
    EXPECT_EQ(
        compile(Description(HEWN_OPERATOR_ADD, {f32.desc(), f32.desc(), f32.desc()}), &options, op_)
            .status,
        HEWN_STATUS_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace hewn_test
