// Compares DYNAMIC_QUANTIZE_LINEAR with the reference, and tests which bindings and descriptions it
// refuses. It has its own tests because it has three outputs. The other tests are of operators with
// one.
#include <gtest/gtest.h>
#include <hewn/hewn.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "../../reference/contents.h"
#include "../../reference/dynamic.h"
#include "../../reference/problems.h"
#include "../support/execution.h"
#include "../support/executors.h"
#include "../support/variant_fixture.h"

using namespace hewn_test;

namespace {

constexpr float INF = std::numeric_limits<float>::infinity(),
                NOT_A_NUMBER = std::numeric_limits<float>::quiet_NaN();

// Compiles, executes, and compares all three outputs and the memory around them. The outputs'
// memory is restored. `constant` says that the input is given at compile, `binds` that hewn_bind
// and hewn_run are called instead of hewn_execute.
testing::AssertionResult check(Dynamic &problem, const std::string &variant, int32_t max_threads,
                               bool binds, bool constant = false,
                               hewn_parallel_for_fn parallel_for = nullptr,
                               void *context = nullptr) {
    hewn_compile_options options = compile_options(variant.c_str(), max_threads);
    options.parallel_for = parallel_for;
    options.parallel_for_context = context;
    const hewn_buffer_binding input = problem.input.binding();
    if (constant) {
        options.constants = &input;
        options.constant_count = 1;
    }
    OperatorPtr op;
    hewn_device *const device = device_for(variant.c_str());
    const Outcome compiled = compile(problem.description(), &options, op, device);
    if (compiled.status != HEWN_STATUS_OK) return testing::AssertionFailure() << compiled;
    const Images expected = expected_output(problem), before = problem.images();
    const Outcome outcome =
        execute(op.get(), binds, {&problem.input},
                {&problem.output, &problem.scale, &problem.zero_point}, nullptr, device, constant);
    const std::string difference = problem.difference(expected);
    problem.restore(before);
    if (outcome.status != HEWN_STATUS_OK) return testing::AssertionFailure() << outcome;
    return difference.empty() ? testing::AssertionSuccess()
                              : testing::AssertionFailure() << difference;
}

std::string describe(const Dynamic &problem) {
    std::string text;
    for (size_t d = 0; d < problem.input.sizes.size(); d++)
        text += " " + std::to_string(problem.input.sizes[d]) + ":" +
                std::to_string(problem.input.strides[d]) + ":" +
                std::to_string(problem.output.strides[d]);
    return text;
}

class DynamicTest : public VariantTest {
protected:
    // The input's type: the variant's own, unless this says another one, which is converted.
    hewn_data_type converted = HEWN_DATA_TYPE_UNKNOWN;

    DataTypes types() const {
        const DataTypes all = GetParam().types();
        return {converted ? converted : all[0], all[1]};
    }
    // The types of inputs that the variant computes, the ones that are converted last.
    DataTypes input_types() const {
        DataTypes all = {GetParam().types()[0]};
        if (all[0] != HEWN_DATA_TYPE_FLOAT32) return all;
        if (on_gpu()) all.push_back(HEWN_DATA_TYPE_FLOAT16);
        all.push_back(HEWN_DATA_TYPE_BFLOAT16);
        return all;
    }
    bool on_gpu() const { return GetParam().device() != HEWN_DEVICE_CPU; }
    testing::AssertionResult check_here(Dynamic &problem, int32_t max_threads = 1,
                                        bool binds = false, bool constant = false) const {
        return check(problem, GetParam().name, max_threads, binds, constant);
    }
};

// Any layout: broadcast, overlapping, permuted and padded inputs, strided outputs.
TEST_P(DynamicTest, RandomLayouts) {
    Random random = this->random();
    for (int i = 0; i < 400; i++) {
        converted = random.pick(input_types());
        Problem layouts = random_problem(HEWN_OPERATOR_QUANTIZE_LINEAR,
                                         {types()[0], types()[0], types()[1], types()[1]}, random,
                                         random.one_in(4) ? 20000 : 600);
        Dynamic problem(std::move(*layouts.inputs[0]), std::move(layouts.output));
        if (random.one_in(3)) fill_random(problem.input, random);
        else fill_normal(problem.input, random);
        ASSERT_TRUE(
            check_here(problem, int32_t(random.integer(0, 3)), random.one_in(2), random.one_in(3)))
            << describe(problem);
    }
}

// An extreme or a NaN at every place of a row, in rows of many lengths, with and without whole
// steps.
TEST_P(DynamicTest, ExtremesAtEveryPlace) {
    Random random = this->random();
    for (int64_t elements = 1; elements <= 160; elements += elements < 40 ? 1 : 7) {
        if (on_gpu() && elements % 7 != 1) continue;
        Dynamic problem(types(), elements);
        for (int64_t at = 0; at < elements; at += elements < 40 ? 1 : 3) {
            for (const float value : {NOT_A_NUMBER, 5.0f, -7.0f, INF}) {
                fill(problem.input,
                     [&](int64_t i) { set_float(problem.input, i, random.unit() * 2 - 1); });
                set_float(problem.input, at, value);
                ASSERT_TRUE(check_here(problem)) << value << " at " << at << " of " << elements;
            }
        }
    }
}

TEST_P(DynamicTest, SpecialRanges) {
    const float least = types()[0] == HEWN_DATA_TYPE_FLOAT16 ? 0x1p-24f : 0x1p-149f,
                most = types()[0] == HEWN_DATA_TYPE_FLOAT16 ? 65504.0f : 0x1.fffffep127f;
    const std::vector<std::vector<float>> contents = {
        {0, 0, 0},
        {-0.0f, -0.0f},
        {-0.0f, 1, -0.0f},
        {-0.0f, -1},
        {NOT_A_NUMBER},
        {NOT_A_NUMBER, -NOT_A_NUMBER, 0},
        {NOT_A_NUMBER, 1, -2},
        {INF, 1},
        {-INF, 1},
        {-INF, -1},
        {INF, -INF},
        {-INF, NOT_A_NUMBER},
        {most, -most},
        {most, 0},
        {-most, 0},
        {least, 0, -least},
        {least, 0},
        {-least, 0},
        {255 * least, -least, 100 * least},
        {300 * least, -127 * least},
        {5},
        {-5},
        {1, 2.1f, 1.3f, 2.5f, 3.34f, 4},
        {-1, -2.1f, -1.3f, -2.5f, -3.34f, -4},
        {-0.5f, 254.5f},
        {-1.5f, 253.5f, 0.5f, 2.5f},
    };
    for (const std::vector<float> &values : contents) {
        // The second number makes rows of whole steps, which are divided or multiplied by
        // reciprocals.
        for (const int64_t repeats : {1, 67}) {
            Dynamic problem(types(), int64_t(values.size()) * repeats);
            for (int64_t i = 0; i < problem.input.sizes[0]; i++)
                set_float(problem.input, i, values[size_t(i) % values.size()]);
            ASSERT_TRUE(check_here(problem)) << values[0] << ", " << values.size() << " values";
            ASSERT_TRUE(check_here(problem, 1, true)) << values[0];
        }
    }
}

// All numbers of a 16-bit float up to an extreme, f16's also as f32. Each of them is divided by the
// scale.
TEST_P(DynamicTest, AllOf16Bits) {
    for (const hewn_data_type type : input_types()) {
        converted = type;
        const bool is_bf16 = type == HEWN_DATA_TYPE_BFLOAT16;
        const int fraction_bits = is_bf16 ? 7 : 10, infinity = is_bf16 ? 0x7f80 : 0x7c00,
                  one = is_bf16 ? 0x3f80 : 0x3c00;
        const auto value_of = [&](int bits) {
            return is_bf16 ? to_f32(bf16{uint16_t(bits)}) : to_f32(f16{uint16_t(bits)});
        };
        Dynamic problem(types(), 1 << 16);
        for (const int largest :
             {1, (1 << fraction_bits) - 1, 1 << fraction_bits, one, one + (27 << fraction_bits) / 4,
              infinity - 4 * (1 << fraction_bits), infinity - 1, infinity}) {
            for (const int sign : {0, 0x8000}) {
                for (int bits = 0; bits < 1 << 16; bits++) {
                    const int magnitude = bits & 0x7fff;
                    const bool counts = magnitude <= largest || magnitude > infinity;
                    // Numbers of one sign all count, those of the other sign only if they are less
                    // than a tenth.
                    const bool small = magnitude + (13 << fraction_bits) / 4 <= largest;
                    const bool kept = counts && ((bits & 0x8000) == sign || small);
                    set_float(problem.input, bits, value_of(kept ? bits : 0));
                }
                ASSERT_TRUE(check_here(problem))
                    << type_name(type) << " " << largest << ", sign " << sign;
            }
        }
    }
}

// The extremes may be in any slice, however many there are and in whatever order they run.
TEST_P(DynamicTest, Slices) {
    Random random = this->random();
    Dynamic row(types(), 1 << 20);
    Dynamic transposed(Tensor(types()[0], {600, 900}, {1, 600}), Tensor(types()[1], {600, 900}));
    Dynamic strided(Tensor(types()[0], {700, 500}, {3000, 3}), Tensor(types()[1], {700, 500}));
    for (Dynamic *problem : {&row, &transposed, &strided}) {
        fill_normal(problem->input, random);
        for (int i = 0; i < 3; i++) {
            const int64_t last = problem->input.span() - 1;
            set_float(problem->input, random.integer(0, last / 3) * 3, 100.0f + float(i));
            set_float(problem->input, random.integer(0, last / 3) * 3, -50.0f - float(i));
            for (const int32_t slices : {1, 2, 7, 64}) {
                ASSERT_TRUE(check(*problem, GetParam().name, slices, i == 1, i == 2, in_reverse))
                    << slices << " slices," << describe(*problem);
            }
        }
    }
}

TEST_P(DynamicTest, SlicesAreManyAndAtOnce) {
    if (on_gpu()) GTEST_SKIP() << "no slices";
    Random random = this->random();
    Dynamic problem(types(), 1 << 20);
    fill_normal(problem.input, random);
    Counting counting;
    ASSERT_TRUE(
        check(problem, GetParam().name, 8, false, false, Counting::parallel_for, &counting));
    EXPECT_EQ(counting.calls, 2);  // the passes over the input
    EXPECT_EQ(counting.slices, 16);
}

std::vector<Variant> dynamic_variants() { return variants_of("dynamic_quantize_linear"); }

INSTANTIATE_TEST_SUITE_P(, DynamicTest, testing::ValuesIn(dynamic_variants()), variant_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DynamicTest);

// ---- What is refused ----

class DynamicErrors : public testing::Test {
protected:
    void SetUp() override {
        if (dynamic_variants().empty()) GTEST_SKIP() << "this build has no kernel of it";
        types = dynamic_variants().front().types();
        problem.emplace(DataTypes{types[0], types[1]}, 64);
        for (int64_t i = 0; i < 64; i++) set_float(problem->input, i, float(i));
        ASSERT_EQ(compile(problem->description(), nullptr, op).status, HEWN_STATUS_OK);
        inputs = {problem->input.binding()};
        outputs = problem->bindings();
    }
    // Expects that execute and bind refuse the bindings with this message, and that nothing is
    // written.
    void refused(const std::string &message) {
        std::array<std::vector<uint8_t>, 4> before, after;
        const auto save = [&](auto &images) {
            for (size_t i = 0; i < 3; i++) images[i] = problem->outputs()[i]->memory;
            images[3] = problem->input.memory;
        };
        save(before);
        const Outcome executed = outcome_of([&](hewn_error *error) {
            return hewn_execute(op.get(), inputs.data(), uint32_t(inputs.size()), outputs.data(),
                                uint32_t(outputs.size()), nullptr, error);
        });
        save(after);
        EXPECT_EQ(executed.status, HEWN_STATUS_INVALID_BINDING);
        EXPECT_EQ(executed.message, "DYNAMIC_QUANTIZE_LINEAR" + message);
        EXPECT_EQ(before, after);
        BoundOperatorPtr bound;
        const Outcome of_bind =
            bind_operator(op.get(), inputs.data(), uint32_t(inputs.size()), outputs.data(),
                          uint32_t(outputs.size()), nullptr, bound);
        EXPECT_EQ(of_bind.message, executed.message);
    }
    // Expects that compile refuses a description with this status and message.
    void refused(const std::vector<Spec> &tensors, hewn_status status, const std::string &message,
                 hewn_feature_level level = HEWN_FEATURE_LEVEL_NEWEST) {
        TensorDescs descs;
        for (const Spec &tensor : tensors) descs.emplace_back(tensor.desc());
        hewn_compile_options options = compile_options();
        options.feature_level = level;
        OperatorPtr none;
        const Outcome outcome = compile(Description(DYNAMIC, std::move(descs)), &options, none);
        EXPECT_EQ(outcome.status, status) << outcome;
        EXPECT_EQ(outcome.message, "DYNAMIC_QUANTIZE_LINEAR" + message);
    }

    DataTypes types;
    std::optional<Dynamic> problem;
    OperatorPtr op;
    std::vector<hewn_buffer_binding> inputs, outputs;
};

TEST_F(DynamicErrors, NumberOfBindings) {
    outputs.pop_back();
    refused(": 2 output bindings given, expected 3");
    outputs.resize(1);
    refused(": 1 output bindings given, expected 3");
    outputs = problem->bindings();
    inputs.push_back(inputs[0]);
    refused(": 2 input bindings given, expected 1");
}

TEST_F(DynamicErrors, Bindings) {
    outputs[1].buffer = nullptr;
    refused(" OutputScaleTensor: the binding's buffer is null");
    outputs = problem->bindings();
    outputs[1].size = 3;
    refused(" OutputScaleTensor: the binding has 3 bytes, 4 are needed");
    outputs = problem->bindings();
    outputs[1].offset = 1;
    outputs[1].size = 5;
    refused(" OutputScaleTensor: the address is misaligned, elements have 4 bytes");
    outputs = problem->bindings();
    outputs[2].size = 0;
    refused(" OutputZeroPointTensor: the binding has 0 bytes, 1 are needed");
    outputs = problem->bindings();
    outputs[2].struct_size = 8;
    refused(
        " OutputZeroPointTensor: struct_size of the binding differs from the first output "
        "binding's");
}

// Overlap is refused even in place, because the input is read again after outputs were written.
TEST_F(DynamicErrors, Overlap) {
    const std::string interleaved = "; allowed only interleaved (equal strides in bytes)";
    inputs[0].buffer = outputs[0].buffer;
    inputs[0].size = problem->input.bytes();
    refused(" OutputTensor: overlaps InputTensor" + interleaved);
    inputs = {problem->input.binding()};
    outputs[1].buffer = problem->input.data() + 16;
    refused(" OutputScaleTensor: overlaps InputTensor" + interleaved);
    outputs = problem->bindings();
    outputs[1].buffer = problem->output.data() + 16;
    refused(" OutputScaleTensor: overlaps OutputTensor" + interleaved);
    outputs = problem->bindings();
    outputs[2].buffer = problem->scale.data() + 1;
    refused(" OutputZeroPointTensor: overlaps OutputScaleTensor" + interleaved);
    outputs = problem->bindings();
    outputs[2].buffer = problem->output.data() + 63;
    refused(" OutputZeroPointTensor: overlaps OutputTensor" + interleaved);
}

TEST_F(DynamicErrors, Descriptions) {
    const hewn_data_type f32 = HEWN_DATA_TYPE_FLOAT32, f16 = HEWN_DATA_TYPE_FLOAT16,
                         u8 = HEWN_DATA_TYPE_UINT8, i8 = HEWN_DATA_TYPE_INT8,
                         i32 = HEWN_DATA_TYPE_INT32, u4 = HEWN_DATA_TYPE_UINT4;
    const hewn_status invalid = HEWN_STATUS_INVALID_ARGUMENT, unsupported = HEWN_STATUS_UNSUPPORTED;
    refused({{f32, {4}}, {u8, {4}}, {f32, {1}}, {u8, {1}}}, unsupported,
            ": needs feature level 4.0, compiled at 3.1", HEWN_FEATURE_LEVEL_3_1);
    refused(
        {{i32, {4}}, {u8, {4}}, {f32, {1}}, {u8, {1}}}, unsupported,
        " InputTensor: INT32 is not supported; feature level hewn has FLOAT32, FLOAT16, BFLOAT16");
    refused({{f32, {4}}, {u4, {4}}, {f32, {1}}, {u4, {1}}}, unsupported,
            " OutputTensor: UINT4 is not supported; feature level hewn has UINT8, INT8");
    refused({{f16, {4}}, {u8, {4}}, {f16, {1}}, {u8, {1}}}, unsupported,
            " OutputScaleTensor: FLOAT16 is not supported; feature level hewn has FLOAT32");
    refused({{f32, {4}}, {u8, {4}}, {f32, {1}}, {i8, {1}}}, invalid,
            " OutputZeroPointTensor: data type is INT8, must be UINT8: OutputTensor's");
    refused({{f32, {4}}, {u8, {5}}, {f32, {1}}, {u8, {1}}}, invalid,
            " OutputTensor: size 5 of dimension 0 differs from InputTensor's 4; an input that "
            "repeats, as one scale for many elements, has strides of 0, for example {0, 0, 1}");
    refused({{f32, {4}}, {u8, {4}}, {f32, {4}}, {u8, {1}}}, invalid,
            " OutputScaleTensor: expected 1 element: dimension 0 has size 4 and stride 1, expected "
            "size 1 or stride 0");
    refused({{f32, {4}}, {u8, {4}}, {f32, {4}, {0}}, {u8, {1}}}, invalid,
            " OutputScaleTensor: strides overlap; sorted, each must exceed the span of all smaller "
            "dimensions, and be above 0");
    refused({{f32, {4}}, {u8, {4}}, {f32, {1}}, {u8, {1, 1}}}, invalid,
            " OutputZeroPointTensor: has 2 dimensions, InputTensor has 1; they must be equal; in "
            "each dimension the size 1 or the stride 0");
    refused({{f32, {2, 2}}, {u8, {2, 2}, {1, 1}}, {f32, {1, 1}}, {u8, {1, 1}}}, invalid,
            " OutputTensor: strides overlap; sorted, each must exceed the span of all smaller "
            "dimensions, and be above 0");
}

// If there is nothing to quantize, the scale and the zero point are those of an empty range. A
// scale without elements is refused, and so is an absent zero point.
TEST_F(DynamicErrors, EmptyInputs) {
    for (const std::vector<int64_t> &sizes : std::vector<std::vector<int64_t>>{{0}, {3, 0, 2}}) {
        Dynamic empty(Tensor(types[0], sizes), Tensor(types[1], sizes));
        EXPECT_TRUE(check(empty, "", 0, false));
        EXPECT_TRUE(check(empty, "", 0, true));
        OperatorPtr without;
        const Description description(
            DYNAMIC, {empty.input.desc(), empty.output.desc(), empty.output.desc(), std::nullopt});
        EXPECT_EQ(compile(description, nullptr, without).status, HEWN_STATUS_INVALID_ARGUMENT);
    }
}

}  // namespace
