// Tests which bindings execute and bind refuse: missing, short, misaligned and overlapping ones. A
// refused call must write nothing. Also tests bindings that are accepted, such as ADD in place and
// tensors that interleave.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../../reference/contents.h"
#include "../../reference/operators.h"
#include "../../reference/problems.h"
#include "../../reference/variants.h"
#include "../support/check.h"
#include "../support/execution.h"
#include "../support/runnable.h"

namespace hewn_test {
namespace {

constexpr hewn_status REFUSED = HEWN_STATUS_INVALID_BINDING;
constexpr hewn_data_type F32 = HEWN_DATA_TYPE_FLOAT32, U8 = HEWN_DATA_TYPE_UINT8,
                         I8 = HEWN_DATA_TYPE_INT8, I32 = HEWN_DATA_TYPE_INT32;

// A compiled operator, and one piece of memory that all its bindings point into, so that tests can
// let them overlap.
class Arena {
public:
    // The tensors are in DirectML's order, the output last. Inputs for which `constants` has a bit
    // are given at compile, from the arena's beginning, and are not bound.
    Arena(hewn_operator_type op, const std::vector<Spec> &tensors, uint32_t constants = 0)
        : memory_(1 << 14) {
        for (size_t i = 0; i < memory_.size(); i++) memory_[i] = uint8_t(i * 151);
        TensorDescs descs;
        for (const Spec &tensor : tensors) {
            descs.push_back(tensor.desc());
            uint64_t bytes = 0;
            EXPECT_EQ(hewn_tensor_size(&*descs.back(), &bytes, nullptr), HEWN_STATUS_OK);
            sizes_.push_back(bytes);
        }
        hewn_compile_options options = compile_options();
        std::vector<hewn_buffer_binding> given(tensors.size() - 1, none());
        for (size_t i = 0; i < given.size(); i++) {
            if (constants >> i & 1) given[i] = at(i, 0);
        }
        if (constants) {
            options.constants = given.data();
            options.constant_count = uint32_t(given.size());
        }
        const Outcome outcome = compile(Description(op, std::move(descs)), &options, op_);
        EXPECT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
    }

    static hewn_buffer_binding none() { return {sizeof(hewn_buffer_binding), nullptr, 0, 0}; }
    // The arena's beginning, which is aligned to 64 bytes.
    uint8_t *base() {
        return memory_.data() + 64 - reinterpret_cast<uintptr_t>(memory_.data()) % 64;
    }
    // The binding of operand i, at `offset` bytes from the arena's beginning.
    hewn_buffer_binding at(size_t i, int64_t offset) {
        return {sizeof(hewn_buffer_binding), base() + offset, 0, sizes_[i]};
    }

    Outcome run(std::vector<hewn_buffer_binding> inputs, hewn_buffer_binding output) {
        return run(inputs.data(), uint32_t(inputs.size()), &output, 1);
    }
    // Executes. Also checks that a refused call has written nothing, and that hewn_bind refuses the
    // same bindings with the same message.
    Outcome run(const hewn_buffer_binding *inputs, uint32_t input_count,
                const hewn_buffer_binding *outputs, uint32_t output_count,
                const hewn_execute_options *options = nullptr) {
        const std::vector<uint8_t> before = memory_;
        const Outcome outcome = outcome_of([&](hewn_error *error) {
            return hewn_execute(op_.get(), inputs, input_count, outputs, output_count, options,
                                error);
        });
        EXPECT_TRUE(outcome.status == HEWN_STATUS_OK || memory_ == before)
            << "a refused call wrote memory: " << outcome;
        BoundOperatorPtr bound;
        const Outcome binding =
            bind_operator(op_.get(), inputs, input_count, outputs, output_count, options, bound);
        EXPECT_EQ(binding.status, outcome.status) << binding;
        EXPECT_EQ(binding.message, outcome.message);
        return outcome;
    }

private:
    std::vector<uint8_t> memory_;
    std::vector<uint64_t> sizes_;
    OperatorPtr op_;
};

testing::AssertionResult refused(const Outcome &outcome, const std::vector<std::string> &words,
                                 hewn_status status = REFUSED) {
    if (outcome.status != status)
        return testing::AssertionFailure() << "expected status " << status << ", got " << outcome;
    for (const std::string &word : words) {
        if (outcome.message.find(word) == std::string::npos)
            return testing::AssertionFailure()
                   << "\"" << word << "\" is not in the message: " << outcome;
    }
    return testing::AssertionSuccess();
}

testing::AssertionResult accepted(const Outcome &outcome) {
    if (outcome.status == HEWN_STATUS_OK) return testing::AssertionSuccess();
    return testing::AssertionFailure() << outcome;
}

Arena add(const Spec &a, const Spec &b, const Spec &output) {
    return Arena(HEWN_OPERATOR_ADD, {a, b, output});
}
Arena dense_add(hewn_data_type type = F32, int64_t n = 100) {
    return add({type, {n}, {1}}, {type, {n}, {1}}, {type, {n}, {1}});
}
Arena dense_quantize(int64_t n = 100) {
    return Arena(HEWN_OPERATOR_QUANTIZE_LINEAR,
                 {{F32, {n}, {1}}, {F32, {n}, {0}}, {U8, {n}, {0}}, {U8, {n}, {1}}});
}
Arena dense_qadd(int64_t n = 100) {
    const Spec data{U8, {n}, {1}}, scale{F32, {1}, {1}}, zero_point{U8, {1}, {1}};
    return Arena(HEWN_OPERATOR_QUANTIZED_LINEAR_ADD,
                 {data, scale, zero_point, data, scale, zero_point, scale, zero_point, data});
}

// ---- Each binding by itself ---------------------------------------------------------------------

// On 32 bits, half of all addresses in one piece, and almost all of them: hewn_allocate gives
// memory or returns a status, but never ends the program.
TEST(Binding, MemoryOfHalfTheAddresses) {
    if (sizeof(void *) > 4) GTEST_SKIP() << "addresses have 64 bits";
    for (const uint64_t bytes : {uint64_t(1) << 31, uint64_t(UINT32_MAX) - 64}) {
        void *memory = nullptr;
        const hewn_status status = hewn_allocate(nullptr, bytes, &memory, nullptr);
        EXPECT_EQ(status, memory ? HEWN_STATUS_OK : HEWN_STATUS_OUT_OF_MEMORY) << bytes;
        hewn_deallocate(nullptr, memory);
    }
}

TEST(Binding, Good) {
    Arena arena = dense_add();
    EXPECT_TRUE(accepted(arena.run({arena.at(0, 0), arena.at(1, 1024)}, arena.at(2, 2048))));
}

TEST(Binding, Short) {
    const char *names[] = {"ATensor", "BTensor", "OutputTensor"};
    for (size_t i = 0; i < 3; i++) {
        Arena arena = dense_add();
        hewn_buffer_binding bindings[] = {arena.at(0, 0), arena.at(1, 1024), arena.at(2, 2048)};
        bindings[i].size--;
        EXPECT_TRUE(refused(arena.run(bindings, 2, &bindings[2], 1), {names[i], "399", "400"}));
        bindings[i].size = 0;
        EXPECT_TRUE(refused(arena.run(bindings, 2, &bindings[2], 1), {names[i]}));
        bindings[i].size = UINT64_MAX;  // more than enough; only what the tensor needs counts
        EXPECT_TRUE(accepted(arena.run(bindings, 2, &bindings[2], 1)));
    }
}

// If strides were forgotten, it shows first when a scale is bound, so the message reminds of them.
// It does not for an output, which cannot repeat, nor for an input that has strides of 0.
TEST(Binding, ShortForLackOfStrides) {
    const Spec data{F32, {4, 5, 3}}, quantized{U8, {4, 5, 3}};
    const std::string hint = "strides of 0, for example {0, 0, 1}";
    const auto message_with_12_bytes = [](Arena &&arena, size_t of) {
        hewn_buffer_binding bindings[] = {arena.at(0, 0), arena.at(1, 1024), arena.at(2, 2048),
                                          arena.at(3, 3072)};
        bindings[of].size = 12;
        const Outcome outcome = arena.run(bindings, 3, &bindings[3], 1);
        EXPECT_EQ(outcome.status, REFUSED);
        return outcome.message;
    };
    const auto quantize = [&](const Spec &scale) {
        return Arena(HEWN_OPERATOR_QUANTIZE_LINEAR, {data, scale, quantized, quantized});
    };
    EXPECT_EQ(message_with_12_bytes(quantize(data), 1),
              "QUANTIZE_LINEAR ScaleTensor: the binding has 12 bytes, 240 are needed; an input "
              "that repeats, as one scale for "
              "many elements, has " +
                  hint);
    EXPECT_NE(message_with_12_bytes(quantize(data), 2)
                  .find("12 bytes, 60 are needed; an input that repeats"),
              std::string::npos);
    EXPECT_EQ(message_with_12_bytes(quantize(data), 3),
              "QUANTIZE_LINEAR OutputTensor: the binding has 12 bytes, 60 are needed");
    EXPECT_EQ(message_with_12_bytes(quantize({F32, {4, 5, 3}, {0, 1, 0}}), 1),
              "QUANTIZE_LINEAR ScaleTensor: the binding has 12 bytes, 20 are needed");
}

TEST(Binding, Null) {
    const char *names[] = {"ATensor", "BTensor", "OutputTensor"};
    for (size_t i = 0; i < 3; i++) {
        Arena arena = dense_add();
        hewn_buffer_binding bindings[] = {arena.at(0, 0), arena.at(1, 1024), arena.at(2, 2048)};
        bindings[i].buffer = nullptr;
        EXPECT_TRUE(refused(arena.run(bindings, 2, &bindings[2], 1), {names[i], "null"}));
        bindings[i].offset = 64;  // null + offset is no pointer
        EXPECT_TRUE(refused(arena.run(bindings, 2, &bindings[2], 1), {names[i], "null"}));
    }
}

TEST(Binding, Misaligned) {
    const char *names[] = {"ATensor", "BTensor", "OutputTensor"};
    for (const auto &[type, bytes, kernel] :
         std::vector<std::tuple<hewn_data_type, int, const char *>>{
             {F32, 4, "f32"},
             {HEWN_DATA_TYPE_FLOAT16, 2, "f16"},
             {HEWN_DATA_TYPE_BFLOAT16, 2, "bf16"},
             {HEWN_DATA_TYPE_INT64, 8, "i64"}}) {
        if (runnable_variants("add", kernel).empty()) continue;
        for (size_t i = 0; i < 3; i++) {
            for (int offset = 1; offset <= 8; offset++) {
                Arena arena = dense_add(type);
                hewn_buffer_binding bindings[] = {arena.at(0, 0), arena.at(1, 1024),
                                                  arena.at(2, 2048)};
                bindings[i].buffer = static_cast<uint8_t *>(bindings[i].buffer) + offset;
                if (offset % bytes == 0)
                    EXPECT_TRUE(accepted(arena.run(bindings, 2, &bindings[2], 1)));
                else
                    EXPECT_TRUE(
                        refused(arena.run(bindings, 2, &bindings[2], 1), {names[i], "align"}));
            }
        }
    }
    // The address is buffer + offset.
    Arena arena = dense_add();
    hewn_buffer_binding a = arena.at(0, 1);
    a.offset = 3;
    EXPECT_TRUE(accepted(arena.run({a, arena.at(1, 1024)}, arena.at(2, 2048))));
    a = arena.at(0, 0);
    a.offset = 2;
    EXPECT_TRUE(
        refused(arena.run({a, arena.at(1, 1024)}, arena.at(2, 2048)), {"ATensor", "align"}));
}

TEST(Binding, OffsetIsAdded) {
    Arena arena = dense_add();
    const float one = 1, two = 2;
    for (int i = 0; i < 100; i++) {
        std::memcpy(arena.base() + 1024 + i * 4, &one, 4);
        std::memcpy(arena.base() + 2048 + i * 4, &two, 4);
    }
    hewn_buffer_binding a = arena.at(0, 0), b = arena.at(1, 2000), output = arena.at(2, 4096 - 16);
    a.offset = 1024;
    b.offset = 48;
    output.offset = 16;
    ASSERT_TRUE(accepted(arena.run({a, b}, output)));
    for (int i = 0; i < 100; i++) EXPECT_EQ(load<float>(arena.base() + 4096 + i * 4), 3.0f);
}

// buffer + offset, or the tensor's end, lies beyond the address space.
TEST(Binding, AddressOverflow) {
    Arena arena = dense_add();
    hewn_buffer_binding a = arena.at(0, 0);
    a.offset = UINT64_MAX - 3;
    EXPECT_TRUE(refused(arena.run({a, arena.at(1, 1024)}, arena.at(2, 2048)), {"ATensor"}));
    // The tensor's 400 bytes end 336 bytes, one element, and no byte beyond the last address.
    for (const uint64_t before : {64, 396, 400}) {
        a.offset = -uint64_t(reinterpret_cast<uintptr_t>(a.buffer)) - before;
        EXPECT_TRUE(refused(arena.run({a, arena.at(1, 1024)}, arena.at(2, 2048)),
                            {"ATensor", "overflows"}));
    }
}

// On 32 bits a tensor may be larger than the address space, as in a 64-bit program. It is refused,
// whatever size its binding has.
TEST(Binding, LargerThanTheAddressSpace) {
    if (sizeof(void *) > 4) GTEST_SKIP() << "no tensor is";
    Arena inputs = add({U8, {2}, {int64_t(5) << 30}}, {U8, {2}, {1}}, {U8, {2}, {1}});
    EXPECT_TRUE(refused(inputs.run({inputs.at(0, 0), inputs.at(1, 64)}, inputs.at(2, 128)),
                        {"ATensor", "overflows"}));
    Arena outputs = add({U8, {2}, {1}}, {U8, {2}, {1}}, {U8, {2}, {int64_t(5) << 30}});
    EXPECT_TRUE(refused(outputs.run({outputs.at(0, 0), outputs.at(1, 64)}, outputs.at(2, 128)),
                        {"OutputTensor", "overflows"}));
}

TEST(Binding, StructSize) {
    const char *names[] = {"ATensor", "BTensor", "OutputTensor"};
    for (size_t i = 0; i < 3; i++) {
        Arena arena = dense_add();
        hewn_buffer_binding bindings[] = {arena.at(0, 0), arena.at(1, 1024), arena.at(2, 2048)};
        bindings[i].struct_size = 8;
        const Outcome outcome = arena.run(bindings, 2, &bindings[2], 1);
        EXPECT_TRUE(refused(outcome, {names[i], "struct_size"}));
    }
}

// The bindings of all inputs, and not only of the first two, must have the struct_size of the first
// one, neither less nor more.
TEST(Binding, StructSizesOfInputsAreEqual) {
    const char *names[] = {"ATensor",           "AScaleTensor",         "AZeroPointTensor",
                           "BTensor",           "BScaleTensor",         "BZeroPointTensor",
                           "OutputScaleTensor", "OutputZeroPointTensor"};
    if (runnable_variants("quantized_linear_add", "u8_u8_u8").empty())
        GTEST_SKIP() << "not in this build";
    Arena arena = dense_qadd();
    std::vector<hewn_buffer_binding> inputs;
    for (size_t i = 0; i < 8; i++) inputs.push_back(arena.at(i, 128 * int64_t(i)));
    ASSERT_TRUE(accepted(arena.run(inputs, arena.at(8, 1024))));
    for (const uint32_t struct_size : {8u, uint32_t(sizeof(hewn_buffer_binding)) + 8}) {
        for (size_t i = 1; i < 8; i++) {
            std::vector<hewn_buffer_binding> wrong = inputs;
            wrong[i].struct_size = struct_size;
            EXPECT_TRUE(refused(arena.run(wrong, arena.at(8, 1024)), {names[i], "struct_size"}))
                << struct_size;
        }
    }
}

// A binding may say the type of its memory. Then the type is compared with the description's.
TEST(Binding, Types) {
    const char *names[] = {"ATensor", "BTensor", "OutputTensor"};
    constexpr hewn_data_type F16 = HEWN_DATA_TYPE_FLOAT16, BF16 = HEWN_DATA_TYPE_BFLOAT16,
                             U16 = HEWN_DATA_TYPE_UINT16, I16 = HEWN_DATA_TYPE_INT16;
    const auto fits = [](hewn_data_type memory, hewn_data_type described) {
        return memory == HEWN_DATA_TYPE_UNKNOWN || memory == described ||
               (memory == U16 && (described == F16 || described == BF16));
    };
    for (const auto &[described, kernel] :
         std::vector<std::pair<hewn_data_type, const char *>>{{F32, "f32"},
                                                              {F16, "f16"},
                                                              {BF16, "bf16"},
                                                              {U16, "i16"},
                                                              {I16, "i16"},
                                                              {I32, "i32"},
                                                              {HEWN_DATA_TYPE_INT64, "i64"}}) {
        if (runnable_variants("add", kernel).empty()) continue;
        // All types, and numbers that are none (14 to 20 and 32).
        for (hewn_data_type memory = 0; memory <= 32; memory++) {
            for (size_t i = 0; i < 3; i++) {
                Arena arena = dense_add(described);
                hewn_buffer_binding bindings[] = {arena.at(0, 0), arena.at(1, 1024),
                                                  arena.at(2, 2048)};
                bindings[i].struct_size = uint32_t(HEWN_BINDING_OF(memory));
                const Outcome outcome = arena.run(bindings, 2, &bindings[2], 1);
                if (fits(memory, described)) EXPECT_TRUE(accepted(outcome)) << memory;
                else EXPECT_TRUE(refused(outcome, {names[i], "elements", "description"})) << memory;
            }
        }
    }
    Arena arena = dense_add();
    hewn_buffer_binding a = arena.at(0, 0);
    a.struct_size = uint32_t(HEWN_BINDING_OF(HEWN_DATA_TYPE_FLOAT64));
    EXPECT_TRUE(
        refused(arena.run({a, arena.at(1, 1024)}, arena.at(2, 2048)),
                {"ADD ATensor: the binding's elements are FLOAT64, the description's FLOAT32"}));
    // The types are also compared if the tensor is empty, and if the binding has nothing but the
    // type.
    Arena empty = dense_add(F32, 0);
    const hewn_buffer_binding none{sizeof none, nullptr, 0, 0},
        typed{HEWN_BINDING_OF(U8), nullptr, 0, 0};
    EXPECT_TRUE(refused(empty.run({none, typed}, none), {"BTensor", "UINT8"}));
}

// A caller of a later header has longer bindings. Their struct_size is the distance between them.
TEST(Binding, LongerStructs) {
    struct Longer {
        hewn_buffer_binding binding;
        uint64_t more;
    };
    Arena arena = dense_add();
    Longer inputs[] = {{arena.at(0, 0), ~uint64_t(0)}, {arena.at(1, 1024), ~uint64_t(0)}};
    Longer output = {arena.at(2, 2048), ~uint64_t(0)};
    for (Longer *l : {&inputs[0], &inputs[1], &output}) l->binding.struct_size = sizeof(Longer);
    inputs[0].binding.struct_size |= F32 << 16;  // they may say their types, too
    ASSERT_TRUE(accepted(arena.run(&inputs[0].binding, 2, &output.binding, 1)));
    for (int i = 0; i < 100; i++) {
        const float a = load<float>(arena.base() + i * 4),
                    b = load<float>(arena.base() + 1024 + i * 4);
        ASSERT_TRUE(reference::same(load<float>(arena.base() + 2048 + i * 4), a + b));
    }
    inputs[1].binding.struct_size |= I32 << 16;
    EXPECT_TRUE(refused(arena.run(&inputs[0].binding, 2, &output.binding, 1),
                        {"BTensor", "INT32", "FLOAT32"}));
}

TEST(Binding, Counts) {
    Arena arena = dense_add();
    const hewn_buffer_binding inputs[] = {arena.at(0, 0), arena.at(1, 1024), arena.at(1, 1024)},
                              outputs[] = {arena.at(2, 2048), arena.at(2, 4096)};
    for (const uint32_t count : {0, 1, 3})
        EXPECT_TRUE(refused(arena.run(inputs, count, outputs, 1), {"input", "expected 2"}));
    for (const uint32_t count : {0, 2})
        EXPECT_TRUE(refused(arena.run(inputs, 2, outputs, count), {"output", "expected 1"}));
    EXPECT_TRUE(refused(arena.run(nullptr, 2, outputs, 1), {"null"}));
    EXPECT_TRUE(refused(arena.run(inputs, 2, nullptr, 1), {"null"}));
    Arena quantize = dense_quantize();
    const hewn_buffer_binding q[] = {quantize.at(0, 0), quantize.at(1, 1024)},
                              y = quantize.at(3, 2048);
    EXPECT_TRUE(refused(quantize.run(q, 2, &y, 1),
                        {"input", "expected 3", "null buffer for a tensor that is absent"}));
}

TEST(Bind, NullArguments) {
    BoundOperatorPtr bound;
    EXPECT_TRUE(refused(bind_operator(nullptr, nullptr, 0, nullptr, 0, nullptr, bound),
                        {"hewn_bind: op is null"}, HEWN_STATUS_INVALID_ARGUMENT));
    const auto nowhere = [](hewn_error *error) {
        return hewn_bind(nullptr, nullptr, 0, nullptr, 0, nullptr, nullptr, error);
    };
    EXPECT_TRUE(
        refused(outcome_of(nowhere), {"hewn_bind: bound is null"}, HEWN_STATUS_INVALID_ARGUMENT));
    EXPECT_TRUE(refused(outcome_of([](hewn_error *error) { return hewn_run(nullptr, error); }),
                        {"hewn_run: bound is null"}, HEWN_STATUS_INVALID_ARGUMENT));
    EXPECT_EQ(hewn_run(nullptr, nullptr), HEWN_STATUS_INVALID_ARGUMENT);
    hewn_destroy_bound_operator(nullptr);
}

TEST(Execute, NullOperator) {
    const Outcome outcome = outcome_of([](hewn_error *error) {
        return hewn_execute(nullptr, nullptr, 0, nullptr, 0, nullptr, error);
    });
    EXPECT_TRUE(refused(outcome, {"null"}, HEWN_STATUS_INVALID_ARGUMENT));
    EXPECT_EQ(hewn_execute(nullptr, nullptr, 0, nullptr, 0, nullptr, nullptr),
              HEWN_STATUS_INVALID_ARGUMENT);
    EXPECT_STREQ(hewn_operator_variant(nullptr), "");
}

TEST(Execute, Options) {
    Arena arena = dense_add();
    const hewn_buffer_binding inputs[] = {arena.at(0, 0), arena.at(1, 1024)},
                              output = arena.at(2, 2048);
    hewn_execute_options options{sizeof options, 0, nullptr, nullptr, 0};
    EXPECT_TRUE(accepted(arena.run(inputs, 2, &output, 1, &options)));
    options.output_is_read_next = 1;
    EXPECT_TRUE(accepted(arena.run(inputs, 2, &output, 1, &options)));
    const auto is_refused = [&](const char *member) {
        return refused(arena.run(inputs, 2, &output, 1, &options), {member},
                       HEWN_STATUS_INVALID_ARGUMENT);
    };
    for (const int32_t value : {-1, 2}) {
        options.output_is_read_next = value;
        EXPECT_TRUE(is_refused("output_is_read_next"));
    }
    // The options of the first version end before this member.
    options.struct_size = offsetof(hewn_execute_options, output_is_read_next);
    EXPECT_TRUE(accepted(arena.run(inputs, 2, &output, 1, &options)));
    options.max_threads = -1;
    EXPECT_TRUE(is_refused("max_threads"));
    options.max_threads = 1;
    options.struct_size--;
    EXPECT_TRUE(is_refused("struct_size"));
}

// ---- Optional and empty tensors -----------------------------------------------------------------

TEST(Optional, AbsentZeroPointIsNullOrIgnored) {
    const int64_t n = 10, one = 1, zero = 0;
    const hewn_tensor_desc x{sizeof x, F32, 1, &n, &one, nullptr},
        scale{sizeof scale, F32, 1, &n, &zero, nullptr}, y{sizeof y, U8, 1, &n, &one, nullptr};
    const hewn_compile_options options = compile_options();
    OperatorPtr op;
    ASSERT_TRUE(accepted(compile(
        Description(HEWN_OPERATOR_QUANTIZE_LINEAR, {x, scale, std::nullopt, y}), &options, op)));
    const std::vector<float> input = {-1, 0, 1, 2, 3, 4, 5, 6, 7, 8};
    const float s = 0.5f;
    std::vector<uint8_t> output(10, 77);
    const hewn_buffer_binding inputs[] = {
        {sizeof inputs[0], const_cast<float *>(input.data()), 0, 40},
        {sizeof inputs[0], const_cast<float *>(&s), 0, 4},
        {sizeof inputs[0], nullptr, 0, 0}};
    const hewn_buffer_binding out{sizeof out, output.data(), 0, 10};
    ASSERT_TRUE(accepted(outcome_of([&](hewn_error *error) {
        return hewn_execute(op.get(), inputs, 3, &out, 1, nullptr, error);
    })));
    EXPECT_EQ(output, (std::vector<uint8_t>{0, 0, 2, 4, 6, 8, 10, 12, 14, 16}));
    // An absent input is counted as well: three bindings are needed.
    const Outcome two = outcome_of([&](hewn_error *error) {
        return hewn_execute(op.get(), inputs, 2, &out, 1, nullptr, error);
    });
    EXPECT_TRUE(refused(two, {"input", "expected 3"}));
}

// A tensor that was absent at compile must not be bound: there must be a mistake somewhere.
TEST(Optional, BoundThoughAbsent) {
    const int64_t n = 10, one = 1, zero = 0;
    const hewn_tensor_desc x{sizeof x, F32, 1, &n, &one, nullptr},
        scale{sizeof scale, F32, 1, &n, &zero, nullptr}, y{sizeof y, U8, 1, &n, &one, nullptr};
    const hewn_compile_options options = compile_options();
    OperatorPtr op;
    ASSERT_TRUE(accepted(compile(
        Description(HEWN_OPERATOR_QUANTIZE_LINEAR, {x, scale, std::nullopt, y}), &options, op)));
    float input[10] = {}, s = 1;
    uint8_t z = 3, output[10];
    std::memset(output, SENTINEL, sizeof output);
    for (const uint64_t size : {uint64_t(1), UINT64_MAX}) {
        const hewn_buffer_binding inputs[] = {{sizeof inputs[0], input, 0, 40},
                                              {sizeof inputs[0], &s, 0, 4},
                                              {HEWN_BINDING_OF(U8), &z, 0, size}};
        const hewn_buffer_binding out{sizeof out, output, 0, 10};
        EXPECT_TRUE(refused(outcome_of([&](hewn_error *error) {
                                return hewn_execute(op.get(), inputs, 3, &out, 1, nullptr, error);
                            }),
                            {"ZeroPointTensor"}));
        EXPECT_EQ(output[0], SENTINEL);
    }
}

TEST(Optional, PresentButUnbound) {
    Arena arena = dense_quantize();
    hewn_buffer_binding none{sizeof none, nullptr, 0, 0};
    EXPECT_TRUE(refused(arena.run({arena.at(0, 0), arena.at(1, 1024), none}, arena.at(3, 2048)),
                        {"ZeroPointTensor", "null"}));
}

TEST(Empty, NeedsNoMemory) {
    Arena arena = dense_add(F32, 0);
    const hewn_buffer_binding none{sizeof none, nullptr, 0, 0};
    EXPECT_TRUE(accepted(arena.run({none, none}, none)));
    EXPECT_TRUE(accepted(arena.run({arena.at(0, 0), arena.at(1, 0)}, arena.at(2, 0))));
    // An empty output may also lie within a parameter.
    Arena qadd = dense_qadd(0);
    EXPECT_TRUE(
        accepted(qadd.run({qadd.at(0, 0), qadd.at(1, 1024), qadd.at(2, 1028), qadd.at(3, 0),
                           qadd.at(4, 1032), qadd.at(5, 1036), qadd.at(6, 1040), qadd.at(7, 1044)},
                          qadd.at(8, 1026))));
    // Other mistakes are refused all the same.
    EXPECT_TRUE(refused(arena.run({none}, none), {"input", "expected 2"}));
}

// ---- In place -----------------------------------------------------------------------------------

TEST(InPlace, SameLayoutIsAccepted) {
    Arena arena = dense_add();
    EXPECT_TRUE(accepted(arena.run({arena.at(0, 0), arena.at(1, 1024)}, arena.at(2, 0))));
    EXPECT_TRUE(accepted(arena.run({arena.at(0, 1024), arena.at(1, 0)}, arena.at(2, 0))));
    EXPECT_TRUE(accepted(arena.run({arena.at(0, 0), arena.at(1, 0)}, arena.at(2, 0))));
    // The same address, made of another buffer and offset.
    hewn_buffer_binding a = arena.at(0, 64);
    a.offset = 64;
    EXPECT_TRUE(accepted(arena.run({a, arena.at(1, 1024)}, arena.at(2, 128))));
    // Inputs may overlap each other as they like.
    EXPECT_TRUE(accepted(arena.run({arena.at(0, 0), arena.at(1, 4)}, arena.at(2, 1024))));
    Arena strided = add({F32, {4, 8}, {16, 2}}, {F32, {4, 8}, {8, 1}}, {F32, {4, 8}, {16, 2}});
    EXPECT_TRUE(accepted(strided.run({strided.at(0, 0), strided.at(1, 1024)}, strided.at(2, 0))));
    // The strides of dimensions of size 1 do not matter.
    Arena ones =
        add({F32, {1, 8, 1}, {99, 1, 5}}, {F32, {1, 8, 1}, {8, 1, 1}}, {F32, {1, 8, 1}, {8, 1, 0}});
    EXPECT_TRUE(accepted(ones.run({ones.at(0, 0), ones.at(1, 1024)}, ones.at(2, 0))));
}

TEST(InPlace, OtherLayoutsAreRefused) {
    Arena transposed = add({F32, {4, 4}, {1, 4}}, {F32, {4, 4}, {4, 1}}, {F32, {4, 4}, {4, 1}});
    EXPECT_TRUE(
        refused(transposed.run({transposed.at(0, 0), transposed.at(1, 1024)}, transposed.at(2, 0)),
                {"OutputTensor", "ATensor", "overlap"}));
    EXPECT_TRUE(accepted(
        transposed.run({transposed.at(0, 1024), transposed.at(1, 0)}, transposed.at(2, 0))));
    Arena broadcast = add({F32, {4, 8}, {0, 1}}, {F32, {4, 8}, {8, 0}}, {F32, {4, 8}, {8, 1}});
    EXPECT_TRUE(
        refused(broadcast.run({broadcast.at(0, 0), broadcast.at(1, 1024)}, broadcast.at(2, 0)),
                {"OutputTensor", "ATensor", "overlap"}));
    EXPECT_TRUE(
        refused(broadcast.run({broadcast.at(0, 1024), broadcast.at(1, 0)}, broadcast.at(2, 0)),
                {"OutputTensor", "BTensor", "overlap"}));
    Arena padded = add({F32, {4, 8}, {9, 1}}, {F32, {4, 8}, {8, 1}}, {F32, {4, 8}, {8, 1}});
    EXPECT_TRUE(refused(padded.run({padded.at(0, 0), padded.at(1, 1024)}, padded.at(2, 0)),
                        {"OutputTensor", "ATensor", "overlap"}));
}

TEST(InPlace, IsForAddOnly) {
    Arena qadd = dense_qadd();
    const auto run = [&](int64_t a, int64_t b, int64_t output) {
        return qadd.run({qadd.at(0, a), qadd.at(1, 1024), qadd.at(2, 1028), qadd.at(3, b),
                         qadd.at(4, 1032), qadd.at(5, 1036), qadd.at(6, 1040), qadd.at(7, 1044)},
                        qadd.at(8, output));
    };
    EXPECT_TRUE(accepted(run(0, 128, 256)));
    EXPECT_TRUE(refused(run(0, 128, 0), {"OutputTensor", "ATensor", "overlap"}));
    EXPECT_TRUE(refused(run(0, 128, 128), {"OutputTensor", "BTensor", "overlap"}));
    EXPECT_TRUE(refused(run(0, 128, 1000), {"OutputTensor", "AScaleTensor", "overlap"}));
    EXPECT_TRUE(accepted(run(0, 128, 1045)));
    EXPECT_TRUE(refused(run(0, 128, 1044), {"OutputTensor", "OutputZeroPointTensor", "overlap"}));
    // An i8 output on the bytes of its own i8 zero point, element for element: only ADD allows
    // that.
    const Spec bytes{I8, {100}, {1}};
    Arena quantize(HEWN_OPERATOR_QUANTIZE_LINEAR,
                   {{F32, {100}, {1}}, {F32, {100}, {0}}, bytes, bytes});
    EXPECT_TRUE(
        refused(quantize.run({quantize.at(0, 0), quantize.at(1, 1024), quantize.at(2, 2048)},
                             quantize.at(3, 2048)),
                {"OutputTensor", "ZeroPointTensor", "overlap"}));
    Arena dequantize(HEWN_OPERATOR_DEQUANTIZE_LINEAR,
                     {{I32, {100}, {1}}, {F32, {100}, {0}}, {I32, {100}, {0}}, {F32, {100}, {1}}});
    EXPECT_TRUE(refused(
        dequantize.run({dequantize.at(0, 0), dequantize.at(1, 1024), dequantize.at(2, 1028)},
                       dequantize.at(3, 0)),
        {"OutputTensor", "InputTensor", "overlap"}));
}

// ---- Overlap ------------------------------------------------------------------------------------

// Windows of one tensor that overlap. A short box of one begins where a whole box of the next does,
// and must not be taken for it.
TEST(Overlap, WindowsOfAnInput) {
    if (runnable_variants("add", "f32").empty()) GTEST_SKIP() << "not in this build";
    Random random("Overlap.WindowsOfAnInput");
    Problem problem =
        make_problem(HEWN_OPERATOR_ADD, operand_types(HEWN_OPERATOR_ADD, "f32"), {3, 30, 100},
                     {{4000, 200, 2}, {0, 1, 0}}, {3000, 100, 1}, random);
    fill_inputs(problem, random);
    EXPECT_TRUE(check(problem, compile_options()));
}

TEST(Overlap, ByteRanges) {
    Arena arena = dense_add();
    for (const int64_t offset : {-396, -4, 4, 8, 64, 396}) {
        EXPECT_TRUE(
            refused(arena.run({arena.at(0, 512), arena.at(1, 2048)}, arena.at(2, 512 + offset)),
                    {"OutputTensor", "ATensor", "overlap"}))
            << offset;
        EXPECT_TRUE(
            refused(arena.run({arena.at(0, 2048), arena.at(1, 512)}, arena.at(2, 512 + offset)),
                    {"OutputTensor", "BTensor", "overlap"}))
            << offset;
    }
    for (const int64_t offset : {-400, 400})
        EXPECT_TRUE(
            accepted(arena.run({arena.at(0, 512), arena.at(1, 2048)}, arena.at(2, 512 + offset))))
            << offset;
}

// Only one input is bound, so that no other binding takes the call off the quick way. Each wrong
// binding is refused all the same, and so is each overlap, also of a single byte.
TEST(Binding, OfTheOnlyInput) {
    constexpr int64_t N = 40, OUTPUT = 4096;
    const Spec f32{F32, {N}, {1}}, u8{U8, {N}, {1}}, scale{F32, {N}, {0}}, zero_point{U8, {N}, {0}};
    const std::pair<hewn_operator_type, std::vector<Spec>> problems[] = {
        {HEWN_OPERATOR_QUANTIZE_LINEAR, {f32, scale, zero_point, u8}},
        {HEWN_OPERATOR_DEQUANTIZE_LINEAR, {u8, scale, zero_point, f32}},
        {HEWN_OPERATOR_ADD, {f32, f32, f32}},
    };
    for (const auto &[type, tensors] : problems) {
        if (type == HEWN_OPERATOR_DEQUANTIZE_LINEAR &&
            runnable_variants("dequantize_linear", "u8_f32").empty())
            continue;
        Arena arena(type, tensors, ~1u);  // all but the first
        const size_t output = tensors.size() - 1;
        std::vector<hewn_buffer_binding> inputs(output, Arena::none());
        const auto run = [&](hewn_buffer_binding input, hewn_buffer_binding to) {
            inputs[0] = input;
            return arena.run(inputs, to);
        };
        const hewn_buffer_binding in = arena.at(0, 0), out = arena.at(output, OUTPUT);
        const int64_t in_bytes = int64_t(in.size), out_bytes = int64_t(out.size),
                      step = type == HEWN_OPERATOR_QUANTIZE_LINEAR ? 4 : 1;
        EXPECT_TRUE(accepted(run(in, out)));
        for (const size_t wrong : {size_t(0), output}) {
            const auto run_with = [&](void (*change)(hewn_buffer_binding &)) {
                hewn_buffer_binding bindings[] = {in, out};
                change(bindings[wrong != 0]);
                return run(bindings[0], bindings[1]);
            };
            EXPECT_TRUE(
                refused(run_with([](hewn_buffer_binding &b) { b.size--; }), {"are needed"}));
            EXPECT_TRUE(refused(run_with([](hewn_buffer_binding &b) {
                                    b.offset = -uint64_t(reinterpret_cast<uintptr_t>(b.buffer)) - 4;
                                }),
                                {"overflows"}));
            EXPECT_TRUE(refused(run_with([](hewn_buffer_binding &b) { b.struct_size -= 4; }), {}));
            EXPECT_TRUE(refused(run_with([](hewn_buffer_binding &b) {
                                    b.struct_size = uint32_t(HEWN_BINDING_OF(HEWN_DATA_TYPE_INT64));
                                }),
                                {"INT64"}));
            EXPECT_TRUE(refused(run_with([](hewn_buffer_binding &b) { b.buffer = nullptr; }), {}));
            if ((wrong ? out_bytes : in_bytes) > N) {
                EXPECT_TRUE(refused(run_with([](hewn_buffer_binding &b) { b.offset = 1; }),
                                    {"misaligned"}));
            }
        }
        for (int64_t offset = -in_bytes - 8; offset <= out_bytes + 8; offset += step) {
            const bool apart = offset <= -in_bytes || offset >= out_bytes,
                       in_place = type == HEWN_OPERATOR_ADD && offset == 0,
                       aligned = in_bytes == N || offset % 4 == 0;
            const Outcome outcome = run(arena.at(0, OUTPUT + offset), out);
            EXPECT_EQ(outcome.status == HEWN_STATUS_OK, aligned && (apart || in_place))
                << type << " at " << offset << ": " << outcome;
        }
    }
}

// All bindings have the same mistake, so that comparing them with each other does not show it.
TEST(Binding, AllWrongAlike) {
    Arena arena = dense_add();
    for (const uint32_t struct_size : {0u, 8u, uint32_t(sizeof(hewn_buffer_binding)) - 8}) {
        hewn_buffer_binding bindings[] = {arena.at(0, 0), arena.at(1, 1024), arena.at(2, 2048)};
        for (hewn_buffer_binding &binding : bindings) binding.struct_size = struct_size;
        EXPECT_TRUE(refused(arena.run(bindings, 2, &bindings[2], 1), {"ATensor", "struct_size"}));
    }
    hewn_buffer_binding bindings[] = {arena.at(0, 0), arena.at(1, 1024), arena.at(2, 2048)};
    for (hewn_buffer_binding &binding : bindings) binding.size = 399;
    EXPECT_TRUE(refused(arena.run(bindings, 2, &bindings[2], 1), {"399 bytes, 400 are needed"}));
    for (hewn_buffer_binding &binding : bindings) {
        binding.size = 400;
        binding.struct_size = uint32_t(HEWN_BINDING_OF(I32));
    }
    EXPECT_TRUE(refused(arena.run(bindings, 2, &bindings[2], 1), {"INT32"}));
}

TEST(Overlap, OfDifferentTypes) {
    Arena quantize = dense_quantize();
    for (const int64_t offset : {-99, -1, 0, 1, 399}) {
        EXPECT_TRUE(
            refused(quantize.run({quantize.at(0, 512), quantize.at(1, 2048), quantize.at(2, 2052)},
                                 quantize.at(3, 512 + offset)),
                    {"OutputTensor", "InputTensor", "overlap"}))
            << offset;
    }
    for (const int64_t offset : {-100, 400})
        EXPECT_TRUE(
            accepted(quantize.run({quantize.at(0, 512), quantize.at(1, 2048), quantize.at(2, 2052)},
                                  quantize.at(3, 512 + offset))))
            << offset;
    // A scalar parameter inside the output.
    EXPECT_TRUE(
        refused(quantize.run({quantize.at(0, 512), quantize.at(1, 2048), quantize.at(2, 4000)},
                             quantize.at(3, 2000)),
                {"OutputTensor", "ScaleTensor", "overlap"}));
    EXPECT_TRUE(
        refused(quantize.run({quantize.at(0, 512), quantize.at(1, 4000), quantize.at(2, 2099)},
                             quantize.at(3, 2000)),
                {"OutputTensor", "ZeroPointTensor", "overlap"}));
    EXPECT_TRUE(accepted(quantize.run(
        {quantize.at(0, 512), quantize.at(1, 4000), quantize.at(2, 2100)}, quantize.at(3, 2000))));
}

// Elements of 4 bits are bound by whole bytes: 7 elements take 4 bytes.
TEST(Overlap, OfSubByteTypes) {
    const hewn_data_type u4 = HEWN_DATA_TYPE_UINT4;
    Arena arena(HEWN_OPERATOR_DEQUANTIZE_LINEAR,
                {{u4, {7}}, {F32, {7}, {0}}, {u4, {7}, {0}}, {F32, {7}}});
    const hewn_buffer_binding scale = arena.at(1, 4000), zero_point = arena.at(2, 4004);
    for (const int64_t offset : {-3, 0, 27})
        EXPECT_TRUE(
            refused(arena.run({arena.at(0, 512 + offset), scale, zero_point}, arena.at(3, 512)),
                    {"OutputTensor", "InputTensor", "overlap"}))
            << offset;
    for (const int64_t offset : {-4, 28})
        EXPECT_TRUE(
            accepted(arena.run({arena.at(0, 512 + offset), scale, zero_point}, arena.at(3, 512))))
            << offset;
    hewn_buffer_binding shorter = arena.at(0, 64);
    shorter.size--;
    EXPECT_TRUE(refused(arena.run({shorter, scale, zero_point}, arena.at(3, 512)),
                        {"InputTensor", "3 bytes, 4 are needed"}));
}

// Equal strides, with an offset that proves that no elements meet, and with one where they do.
TEST(Overlap, InterleavedElements) {
    Arena arena = add({F32, {50}, {2}}, {F32, {50}, {2}}, {F32, {50}, {2}});
    EXPECT_TRUE(accepted(arena.run({arena.at(0, 512), arena.at(1, 2048)}, arena.at(2, 516))));
    EXPECT_TRUE(accepted(arena.run({arena.at(0, 512), arena.at(1, 2048)}, arena.at(2, 508))));
    EXPECT_TRUE(accepted(arena.run({arena.at(0, 512), arena.at(1, 512)}, arena.at(2, 516))));
    EXPECT_TRUE(refused(arena.run({arena.at(0, 512), arena.at(1, 2048)}, arena.at(2, 520)),
                        {"OutputTensor", "ATensor", "overlap"}));
    EXPECT_TRUE(refused(arena.run({arena.at(0, 512), arena.at(1, 2048)}, arena.at(2, 504)),
                        {"OutputTensor", "ATensor", "overlap"}));
    // After the last element, and on it.
    EXPECT_TRUE(accepted(arena.run({arena.at(0, 512), arena.at(1, 2048)}, arena.at(2, 512 + 400))));
    EXPECT_TRUE(refused(arena.run({arena.at(0, 512), arena.at(1, 2048)}, arena.at(2, 512 + 392)),
                        {"OutputTensor", "ATensor", "overlap"}));
}

TEST(Overlap, InterleavedRows) {
    // Halves of the same rows: NCHW channels, columns of an image.
    const Spec left{F32, {4, 8}, {16, 1}};
    Arena arena = add(left, left, left);
    EXPECT_TRUE(
        accepted(arena.run({arena.at(0, 512), arena.at(1, 2048)}, arena.at(2, 512 + 8 * 4))));
    EXPECT_TRUE(accepted(
        arena.run({arena.at(0, 512 + 8 * 4), arena.at(1, 512 + 8 * 4)}, arena.at(2, 512))));
    EXPECT_TRUE(refused(arena.run({arena.at(0, 512), arena.at(1, 2048)}, arena.at(2, 512 + 7 * 4)),
                        {"OutputTensor", "ATensor", "overlap"}));
    EXPECT_TRUE(refused(arena.run({arena.at(0, 512), arena.at(1, 2048)}, arena.at(2, 512 + 9 * 4)),
                        {"OutputTensor", "ATensor", "overlap"}));
    EXPECT_TRUE(refused(arena.run({arena.at(0, 512), arena.at(1, 2048)}, arena.at(2, 512 + 16 * 4)),
                        {"OutputTensor", "ATensor", "overlap"}));
    // With other strides nothing is proved, so these are refused, although no element is shared.
    Arena other = add({F32, {4, 8}, {16, 2}}, left, {F32, {4, 8}, {1, 8}});
    EXPECT_TRUE(refused(other.run({other.at(0, 512), other.at(1, 2048)}, other.at(2, 516)),
                        {"OutputTensor", "ATensor", "overlap"}));
}

// Elements of 4 bytes and of 1, each 8 bytes apart: the narrow ones fit between the wide ones.
TEST(Overlap, InterleavedElementsOfDifferentTypes) {
    Arena quantize(HEWN_OPERATOR_QUANTIZE_LINEAR,
                   {{F32, {50}, {2}}, {F32, {50}, {0}}, {U8, {50}, {0}}, {U8, {50}, {8}}});
    Arena dequantize(HEWN_OPERATOR_DEQUANTIZE_LINEAR,
                     {{U8, {50}, {8}}, {F32, {50}, {0}}, {U8, {50}, {0}}, {F32, {50}, {2}}});
    // The offset of the narrow elements from the wide ones.
    for (int64_t offset = -10; offset <= 10; offset++) {
        const bool meet = (offset + 16) % 8 < 4;
        for (Arena *arena : {&quantize, &dequantize}) {
            const int64_t narrow = 512 + offset, wide = 512;
            const bool to_narrow = arena == &quantize;
            const Outcome outcome = arena->run(
                {arena->at(0, to_narrow ? wide : narrow), arena->at(1, 2048), arena->at(2, 2052)},
                arena->at(3, to_narrow ? narrow : wide));
            if (meet)
                EXPECT_TRUE(refused(outcome, {"OutputTensor", "InputTensor", "overlap"})) << offset;
            else EXPECT_TRUE(accepted(outcome)) << offset;
        }
    }
}

// Interleaved tensors are also computed right.
TEST(Overlap, InterleavedResults) {
    Arena arena = add({I32, {50}, {2}}, {I32, {50}, {2}}, {I32, {50}, {2}});
    std::vector<int32_t> memory(100);
    for (int i = 0; i < 100; i++) memory[size_t(i)] = i * 1000 + 7;
    std::memcpy(arena.base(), memory.data(), 400);
    ASSERT_TRUE(accepted(arena.run({arena.at(0, 0), arena.at(1, 0)}, arena.at(2, 4))));
    for (int i = 0; i < 50; i++) {
        EXPECT_EQ(load<int32_t>(arena.base() + i * 8), memory[size_t(2 * i)]);
        EXPECT_EQ(load<int32_t>(arena.base() + i * 8 + 4), 2 * memory[size_t(2 * i)]);
    }
}

}  // namespace
}  // namespace hewn_test
