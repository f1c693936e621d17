// Tests of hewn.hpp: what it is given must arrive at the functions of hewn.h, and what they return
// must come back.
#include <hewn/hewn.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <complex>
#include <numeric>
#include <string_view>

#include "../../reference/variants.h"
#include "../support/executors.h"
#include "../support/runnable.h"

namespace hewn_test {
namespace {

using hewn::DataType;
using hewn::TensorDesc;

const TensorDesc F32 = {DataType::FLOAT32, {4}}, U8 = {DataType::UINT8, {4}};

// Skips a test if this build lacks a kernel that the tests use.
class CppApi : public testing::Test {
protected:
    void SetUp() override {
        for (const char *kernel : {"add f32", "quantize_linear f32_u8", "dequantize_linear u8_f32",
                                   "quantized_linear_add u8_u8_u8"}) {
            const std::string text = kernel, name = text.substr(0, text.find(' '));
            if (runnable_variants(name, text.substr(name.size() + 1)).empty())
                GTEST_SKIP() << kernel << ": not in this build";
        }
    }
};

template<class Call>
hewn_status status_of(Call &&call) {
    try {
        call();
    } catch (const hewn::Error &error) {
        EXPECT_STRNE(error.what(), "");
        return error.status();
    }
    return HEWN_STATUS_OK;
}

template<class Call>
std::string message_of(Call &&call) {
    try {
        call();
    } catch (const hewn::Error &error) {
        return error.what();
    }
    return "";
}

// The members of every description arrive in the right members of hewn.h's, with and without zero
// points.
TEST_F(CppApi, Descriptions) {
    const TensorDesc scale = TensorDesc::broadcast_scalar(DataType::FLOAT32, {4}),
                     zero_point = TensorDesc::broadcast_scalar(DataType::UINT8, {4});
    const std::vector<float> x = {0, 1, 2, 3};
    const std::array<float, 1> half = {0.5f};
    const uint8_t ten = 10, three = 3, one = 1;
    std::vector<uint8_t> q(4), sum(4);
    std::vector<float> y(4);

    hewn::compile(hewn::QuantizeLinearDesc{F32, scale, zero_point, U8})
        .execute({x, half, {&ten, 1}}, {q});
    EXPECT_EQ(q, (std::vector<uint8_t>{10, 12, 14, 16}));
    hewn::compile(hewn::QuantizeLinearDesc{F32, scale, std::nullopt, U8})
        .execute({x, half, nullptr}, {q});
    EXPECT_EQ(q, (std::vector<uint8_t>{0, 2, 4, 6}));
    hewn::compile(hewn::DequantizeLinearDesc{U8, scale, zero_point, F32})
        .execute({q, half, {&three, 1}}, {y});
    EXPECT_EQ(y, (std::vector<float>{-1.5f, -0.5f, 0.5f, 1.5f}));

    // One scale for two elements.
    const std::array<float, 2> pairs = {1, 10};
    hewn::compile(hewn::DequantizeLinearDesc{U8, TensorDesc::in_blocks(DataType::FLOAT32, {4}, {2}),
                                             std::nullopt, F32})
        .execute({q, pairs, nullptr}, {y});
    EXPECT_EQ(y, (std::vector<float>{0, 2, 40, 60}));

    const std::array<float, 1> quarter = {0.25f};
    const hewn::QuantizedLinearAddDesc desc = {U8,         scale, zero_point, U8, scale,
                                               zero_point, scale, zero_point, U8};
    const std::vector<uint8_t> b = {8, 8, 8, 8};
    // The sum is (q - 1) / 2 + (8 - 3) / 4. The output counts in halves, from 10 on.
    hewn::compile(desc).execute({q, half, {&one, 1}, b, quarter, {&three, 1}, half, {&ten, 1}},
                                {sum});
    EXPECT_EQ(sum, (std::vector<uint8_t>{12, 14, 16, 18}));
    const hewn::QuantizedLinearAddDesc without = {U8,           scale, std::nullopt, U8, scale,
                                                  std::nullopt, scale, std::nullopt, U8};
    hewn::compile(without).execute({q, half, nullptr, b, quarter, nullptr, half, nullptr}, {sum});
    EXPECT_EQ(sum, (std::vector<uint8_t>{4, 6, 8, 10}));
}

TEST_F(CppApi, DescriptionOfSeveralOutputs) {
    const TensorDesc scale{DataType::FLOAT32, {1}}, zero_point{DataType::UINT8, {1}};
    const std::vector<float> x = {-100 / 128.0f, 0, 155 / 128.0f, 50 / 128.0f};
    std::vector<uint8_t> y(4), z(1);
    std::vector<float> s(1);
    const hewn::Operator op =
        hewn::compile(hewn::DynamicQuantizeLinearDesc{F32, U8, scale, zero_point});
    op.execute({x}, {y, s, z});
    EXPECT_EQ(s, (std::vector<float>{1 / 128.0f}));
    EXPECT_EQ(z, (std::vector<uint8_t>{100}));
    EXPECT_EQ(y, (std::vector<uint8_t>{0, 100, 255, 150}));
    EXPECT_EQ(status_of([&] { op.execute({x}, {y}); }), HEWN_STATUS_INVALID_BINDING);
    EXPECT_EQ(status_of([&] { op.execute({x}, {y, z, z}); }), HEWN_STATUS_INVALID_BINDING);
    const hewn::BoundOperator bound = op.bind({x}, {y, s, z});
    std::fill(y.begin(), y.end(), uint8_t(7));
    bound.run();
    EXPECT_EQ(y, (std::vector<uint8_t>{0, 100, 255, 150}));
}

// By execute and by a bound operator. The quotients in f16 are ties, those in f32 are not, such as
// 0.35 / 0.1.
TEST_F(CppApi, Precision) {
    const TensorDesc scale = TensorDesc::broadcast_scalar(DataType::FLOAT32, {4});
    const std::vector<float> x = {0.25f, 0.349853515625f, 0.449951171875f, 65504};
    const std::array<float, 1> tenth = {0.0999755859375f};
    const std::vector<uint8_t> of_f16 = {2, 4, 4, 255}, of_f32 = {3, 3, 5, 255};
    std::vector<uint8_t> q(4);
    for (const auto precision : {hewn::Precision::FLOAT32, hewn::Precision::FLOAT16}) {
        const std::vector<uint8_t> &due = precision == hewn::Precision::FLOAT32 ? of_f32 : of_f16;
        hewn::QuantizeLinearDesc desc = {F32, scale, std::nullopt, U8};
        desc.precision = precision;
        const hewn::Operator op = hewn::compile(desc);
        op.execute({x, tenth, nullptr}, {q});
        EXPECT_EQ(q, due);
        std::fill(q.begin(), q.end(), uint8_t(7));
        op.bind({x, tenth, nullptr}, {q}).run();
        EXPECT_EQ(q, due);
    }
}

// A zero point is given as the other tensors are, or is left out.
TEST_F(CppApi, ZeroPointsInBraces) {
    const DataType f32 = DataType::FLOAT32, u8 = DataType::UINT8;
    const std::vector<int64_t> s = {4}, repeat = {0};
    const std::optional<TensorDesc> given = U8, absent;
    const std::vector<float> x = {0, 1, 2, 3}, ones = {1, 1, 1, 1};
    const std::vector<uint8_t> zero_points = {1, 2, 3, 4};
    std::vector<uint8_t> q(4);
    const auto run = [&](const hewn::QuantizeLinearDesc &desc,
                         const hewn::InputBinding &zero_point) {
        hewn::compile(desc).execute({x, ones, zero_point}, {q});
        return q;
    };
    const std::vector<uint8_t> with = {1, 3, 5, 7}, with_first = {1, 2, 3, 4},
                               without = {0, 1, 2, 3};
    EXPECT_EQ(run({{f32, s}, {f32, s}, {u8, s}, {u8, s}}, zero_points), with);
    EXPECT_EQ(run({{f32, s}, {f32, s}, {u8, {4}, {{0}}}, {u8, s}}, zero_points), with_first);
    EXPECT_EQ(run({{f32, s}, {f32, s}, {u8, s, repeat}, {u8, s}}, zero_points), with_first);
    EXPECT_EQ(run({F32, F32, given, U8}, zero_points), with);
    for (const hewn::OptionalTensorDesc &none :
         {hewn::OptionalTensorDesc(std::nullopt), hewn::OptionalTensorDesc(absent), {}})
        EXPECT_EQ(run({F32, F32, none, U8}, nullptr), without);
    hewn::QuantizedLinearAddDesc add = {U8,
                                        {f32, s, repeat},
                                        {u8, s, repeat},
                                        U8,
                                        {f32, s, repeat},
                                        {u8, s, repeat},
                                        {f32, s, repeat},
                                        {u8, s, repeat},
                                        U8};
    EXPECT_EQ(add.output_zero_point_tensor->sizes, s);
    add.output_zero_point_tensor = std::nullopt;
    EXPECT_FALSE(add.output_zero_point_tensor);
}

// In the tests above A, B and the output have the same type, so it would not show if one stood in
// another's place. With different types that is refused.
TEST_F(CppApi, DescriptionsOfDifferentTypes) {
    for (const char *signature : {"u8_i8_u8", "u8_u8_i8"}) {
        if (runnable_variants("quantized_linear_add", signature).empty())
            GTEST_SKIP() << signature << ": not in this build";
    }
    const TensorDesc I8 = {DataType::INT8, {4}},
                     scale = TensorDesc::broadcast_scalar(DataType::FLOAT32, {4}),
                     u8 = TensorDesc::broadcast_scalar(DataType::UINT8, {4}),
                     i8 = TensorDesc::broadcast_scalar(DataType::INT8, {4});
    const hewn::QuantizedLinearAddDesc other_b = {U8, scale, u8, I8, scale, i8, scale, u8, U8},
                                       other_output = {U8, scale, u8, U8, scale, u8, scale, i8, I8};
    EXPECT_EQ(status_of([&] { hewn::compile(other_b); }), HEWN_STATUS_OK);
    EXPECT_EQ(status_of([&] { hewn::compile(other_output); }), HEWN_STATUS_OK);
}

TEST_F(CppApi, TensorDescriptions) {
    EXPECT_EQ((TensorDesc{DataType::FLOAT16, {2, 3}}).size_in_bytes(), 12u);
    EXPECT_EQ((TensorDesc{DataType::FLOAT16, {2, 3}, {{4, 1}}}).size_in_bytes(), 14u);
    EXPECT_EQ(TensorDesc::broadcast_scalar(DataType::INT64, {2, 3}).size_in_bytes(), 8u);
    const TensorDesc wrong = {DataType::FLOAT32, {2, 3}, {{1}}};
    EXPECT_NE(message_of([&] {
                  wrong.c_desc();
              }).find("each dimension has a stride, 0 where an input repeats"),
              std::string::npos);
    EXPECT_EQ(status_of([&] { wrong.c_desc(); }), HEWN_STATUS_INVALID_ARGUMENT);
    const TensorDesc blocks = TensorDesc::in_blocks(DataType::FLOAT32, {2, 5}, {1, 2});
    EXPECT_EQ(blocks.size_in_bytes(), 2u * 3 * 4);
    const TensorDesc few = TensorDesc::in_blocks(DataType::FLOAT32, {2, 5}, {2});
    EXPECT_NE(message_of([&] { few.c_desc(); }).find("block_sizes and sizes differ in length"),
              std::string::npos);
    EXPECT_EQ(status_of([&] {
                  hewn::compile(hewn::AddDesc{wrong, wrong, wrong});
              }),
              HEWN_STATUS_INVALID_ARGUMENT);
}

// All options arrive: the level, the variant, the executor, the number of threads.
TEST_F(CppApi, CompileOptions) {
    hewn::CompileOptions options;
    options.feature_level = hewn::FeatureLevel::LEVEL_1_0;
    EXPECT_EQ(status_of([&] {
                  hewn::compile(hewn::AddDesc{F32, F32, F32}, options);
              }),
              HEWN_STATUS_UNSUPPORTED)
        << "one dimension";
    options = {};
    const std::string lowest = runnable_variants("add", "f32").front();
    options.variant = lowest;
    EXPECT_EQ(hewn::compile(hewn::AddDesc{F32, F32, F32}, options).variant(), lowest);

    Counting counting;
    constexpr size_t COUNT = 1 << 20;
    const TensorDesc many = {DataType::FLOAT32, {int64_t(COUNT)}};
    std::vector<float> a(COUNT), b(COUNT, 1), sum(COUNT), expected(COUNT);
    std::iota(a.begin(), a.end(), 0.0f);
    std::iota(expected.begin(), expected.end(), 1.0f);
    options = {};
    options.parallel_for = Counting::parallel_for;
    options.parallel_for_context = &counting;
    for (const int32_t max_threads : {4, 1}) {
        options.max_threads = max_threads;
        counting.calls = 0;
        hewn::compile(hewn::AddDesc{many, many, many}, options).execute({a, b}, {sum});
        EXPECT_EQ(counting.calls, max_threads > 1);
        EXPECT_EQ(sum, expected);
    }
}

TEST_F(CppApi, Bindings) {
    const hewn::Operator add = hewn::compile(hewn::AddDesc{F32, F32, F32});
    std::vector<float> a = {9, 1, 2, 3, 4}, sum(6, -1);
    // Bytes count from the offset on.
    add.execute({{a.data(), 16, 4}, {a.data(), 16, 4}}, {{sum.data(), 16, 8}});
    EXPECT_EQ(sum, (std::vector<float>{-1, -1, 2, 4, 6, 8}));
    hewn::Binding in_place(a.data(), 16, 4);
    add.execute({in_place, in_place}, {in_place});
    EXPECT_EQ(a, (std::vector<float>{9, 2, 4, 6, 8}));
    const std::vector<float> three = {1, 2, 3};
    EXPECT_EQ(status_of([&] { add.execute({three, a}, {sum}); }), HEWN_STATUS_INVALID_BINDING);
    EXPECT_EQ(status_of([&] { add.execute({a}, {sum}); }), HEWN_STATUS_INVALID_BINDING);
    EXPECT_EQ(sum, (std::vector<float>{-1, -1, 2, 4, 6, 8})) << "a refused call wrote";
}

// The description decides. A container, an array or a number of another type is refused, but bytes
// are not.
TEST_F(CppApi, TypesOfMemory) {
    const hewn::Operator add = hewn::compile(hewn::AddDesc{F32, F32, F32});
    std::vector<float> a = {1, 2, 3, 4}, sum(4, -1);
    const std::vector<int64_t> wide(4);
    const std::vector<uint8_t> narrow(16);
    const std::array<std::array<int32_t, 2>, 2> nested = {};
    std::vector<int32_t> output(4);
    const int32_t array[4] = {};
    for (const hewn::InputBinding &wrong :
         {hewn::InputBinding(wide), hewn::InputBinding(narrow), hewn::InputBinding(nested),
          hewn::InputBinding(array), hewn::InputBinding(array[0])}) {
        EXPECT_EQ(status_of([&] { add.execute({wrong, a}, {sum}); }), HEWN_STATUS_INVALID_BINDING);
        EXPECT_EQ(status_of([&] { add.execute({a, wrong}, {sum}); }), HEWN_STATUS_INVALID_BINDING);
    }
    EXPECT_EQ(status_of([&] { add.execute({a, a}, {output}); }), HEWN_STATUS_INVALID_BINDING);
    EXPECT_EQ(sum, (std::vector<float>{-1, -1, -1, -1})) << "a refused call wrote";

    struct Point {
        float x, y;
    };
    const std::vector<char> bytes(16);
    const std::vector<std::byte> more_bytes(16);
    const std::vector<Point> points(2);
    const std::vector<std::complex<float>> complex(2);
    for (const hewn::InputBinding &right :
         {hewn::InputBinding(bytes), hewn::InputBinding(more_bytes), hewn::InputBinding(points),
          hewn::InputBinding(complex), hewn::InputBinding(narrow.data(), narrow.size())}) {
        add.execute({right, a}, {sum});
        EXPECT_EQ(sum, a);
    }
    // A binding can be passed to C's functions.
    const hewn_buffer_binding inputs[] = {hewn::InputBinding(a), hewn::InputBinding(a)},
                              out = hewn::Binding(sum);
    EXPECT_EQ(hewn_execute(add.get(), inputs, 2, &out, 1, nullptr, nullptr), HEWN_STATUS_OK);
}

// The enumerators of hewn.hpp have the numbers of lists/operators.py.
#define HEWN_TYPE(word, name, number, bits) static_assert(hewn_data_type(DataType::name) == number);
#define HEWN_LEVEL(name, word, number) \
    static_assert(hewn_feature_level(hewn::FeatureLevel::LEVEL_##name) == number);
#include "types.inc"

TEST_F(CppApi, Bound) {
    const hewn::TensorDesc f32 = {DataType::FLOAT32, {4}};
    const hewn::Operator add = hewn::compile(hewn::AddDesc{f32, f32, f32});
    std::vector<float> a = {1, 2, 3, 4}, sum(4);
    hewn::BoundOperator bound = add.bind({a, a}, {sum});
    bound.run();
    EXPECT_EQ(sum, (std::vector<float>{2, 4, 6, 8}));
    a[0] = 10;
    const hewn::BoundOperator moved = std::move(bound);
    moved.run();
    EXPECT_EQ(sum[0], 20);
    std::vector<float> narrow(3);
    EXPECT_EQ(status_of([&] { add.bind({a, a}, {narrow}); }), HEWN_STATUS_INVALID_BINDING);
}

TEST_F(CppApi, Constants) {
    const float scale = 0.5f;
    const uint8_t zero_point = 10;
    hewn::CompileOptions options;
    options.constants = {nullptr, scale, zero_point};
    const hewn::TensorDesc f32 = {DataType::FLOAT32, {4}}, u8 = {DataType::UINT8, {4}};
    const hewn::Operator quantize = hewn::compile(
        hewn::QuantizeLinearDesc{f32, hewn::TensorDesc::broadcast_scalar(DataType::FLOAT32, {4}),
                                 hewn::TensorDesc::broadcast_scalar(DataType::UINT8, {4}), u8},
        options);
    const std::vector<float> x = {1, 2, 3, 4};
    std::vector<uint8_t> y(4);
    quantize.execute({x, nullptr, nullptr}, {y});
    EXPECT_EQ(y, (std::vector<uint8_t>{12, 14, 16, 18}));
}

TEST_F(CppApi, TableOfOperators) {
    const std::vector<hewn::OperatorInfo> table = hewn::operators();
    ASSERT_EQ(table.size(), hewn_operator_count());
    EXPECT_STREQ(table[0].name, "add");
    EXPECT_STREQ(table[0].tensors.at(0).name, "ATensor");
    EXPECT_EQ(table[0].tensors.size(), 3u);
    EXPECT_EQ(hewn::operators(hewn::FeatureLevel::LEVEL_1_0)[0].min_dimension_count, 4u);
    // The table is enough to compile an operator.
    const hewn::TensorDesc desc = {DataType::FLOAT32, {4}};
    std::vector<float> a = {1, 2, 3, 4}, sum(4);
    hewn::compile(table[0].type, {&desc, &desc, &desc}).execute({a, a}, {sum});
    EXPECT_EQ(sum, (std::vector<float>{2, 4, 6, 8}));
}

// DirectML's own operators: the scale's sizes divide the input's, and an absent zero point is the
// middle of u8.
TEST_F(CppApi, QuantizeAndDequantize) {
    const TensorDesc f32 = {DataType::FLOAT32, {2, 4}}, u8 = {DataType::UINT8, {2, 4}},
                     scale = {DataType::FLOAT32, {2, 2}};
    const hewn::Operator quantize = hewn::compile(hewn::QuantizeDesc{f32, scale, std::nullopt, u8}),
                         dequantize =
                             hewn::compile(hewn::DequantizeDesc{u8, scale, std::nullopt, f32});
    const std::vector<float> x = {1, -1, 1, 2, -200, 3, 100, 0}, scales = {1, 0.5f, 2, 0.25f};
    std::vector<uint8_t> q(8);
    quantize.execute({x, scales, nullptr}, {q});
    EXPECT_EQ(q, (std::vector<uint8_t>{129, 127, 130, 132, 28, 130, 255, 128}));
    std::vector<float> y(8);
    dequantize.execute({q, scales, nullptr}, {y});
    EXPECT_EQ(y, (std::vector<float>{1, -1, 1, 2, -200, 4, 31.75f, 0}));
    const std::vector<uint8_t> zero_point = {0};
    EXPECT_EQ(status_of([&] {
                  quantize.execute({x, scales, zero_point}, {q});
              }),
              HEWN_STATUS_INVALID_BINDING)
        << "absent at compile";
}

TEST_F(CppApi, HalfIsAlsoKeptInIntegers) {
    if (runnable_variants("add", "f16").empty()) GTEST_SKIP() << "add f16: not in this build";
    const TensorDesc f16 = {DataType::FLOAT16, {2}};
    const hewn::Operator add = hewn::compile(hewn::AddDesc{f16, f16, f16});
    const std::vector<uint16_t> one = {0x3c00, 0x3c00};
    std::vector<uint16_t> two(2);
    add.execute({one, one}, {two});
    EXPECT_EQ(two, (std::vector<uint16_t>{0x4000, 0x4000}));
    const std::vector<int16_t> integers = {1, 2};
    EXPECT_EQ(status_of([&] { add.execute({one, integers}, {two}); }), HEWN_STATUS_INVALID_BINDING);
}

template<class T>
struct Span {  // std::span, which C++17 lacks
    T *first;
    size_t count;
    T *data() const { return first; }
    size_t size() const { return count; }
};

// The bytes of arrays, views and numbers arrive.
TEST_F(CppApi, ArraysViewsAndNumbers) {
    const TensorDesc scale = TensorDesc::broadcast_scalar(DataType::FLOAT32, {4}),
                     zero_point = TensorDesc::broadcast_scalar(DataType::UINT8, {4});
    const hewn::Operator quantize =
        hewn::compile(hewn::QuantizeLinearDesc{F32, scale, zero_point, U8});
    const float x[4] = {0, 1, 2, 3}, half = 0.5f;
    const float rows[2][2] = {{0, 1}, {2, 3}};
    uint8_t q[4] = {}, ten = 10;
    const auto expect = [&q] {
        EXPECT_EQ(std::vector<uint8_t>(q, q + 4), (std::vector<uint8_t>{10, 12, 14, 16}));
        std::fill(q, q + 4, uint8_t(0));
    };
    quantize.execute({x, half, ten}, {q});
    expect();
    quantize.execute({rows, 0.5f, uint8_t(10)}, {q});
    expect();
    quantize.execute({Span<const float>{x, 4}, half, ten}, {Span<uint8_t>{q, 4}});
    expect();
    const Span<uint8_t> view = {q, 4};
    quantize.execute({x, half, ten}, {view});
    expect();
    EXPECT_EQ(status_of([&] {
                  quantize.execute({x, half, 10}, {q});
              }),
              HEWN_STATUS_INVALID_BINDING)
        << "10 is an INT32";
    EXPECT_EQ(status_of([&] {
                  quantize.execute({half, half, ten}, {q});
              }),
              HEWN_STATUS_INVALID_BINDING)
        << "4 bytes of 16";

    const TensorDesc one = {DataType::FLOAT32, {}};
    float sum = 0;
    hewn::compile(hewn::AddDesc{one, one, one}).execute({half, 1.5f}, {sum});
    EXPECT_EQ(sum, 2.0f);
}

// Containers of containers have no memory of numbers: if they were bound, a kernel would get
// pointers instead of numbers.
static_assert(std::is_constructible_v<hewn::Binding, std::vector<float> &>);
static_assert(std::is_constructible_v<hewn::InputBinding, const std::array<uint16_t, 4> &>);
static_assert(!std::is_constructible_v<hewn::Binding, std::vector<std::vector<float>> &>);
static_assert(
    !std::is_constructible_v<hewn::InputBinding, const std::vector<std::vector<float>> &>);
static_assert(!std::is_constructible_v<hewn::InputBinding, const std::vector<float *> &>);
static_assert(!std::is_constructible_v<hewn::InputBinding, const std::vector<std::string_view> &>);
static_assert(
    !std::is_constructible_v<hewn::InputBinding, const std::vector<hewn::InputBinding> &>);
static_assert(!std::is_constructible_v<hewn::Binding, std::vector<hewn::Binding> &>);
static_assert(
    !std::is_constructible_v<hewn::Binding, std::vector<std::array<std::string_view, 2>> &>);
static_assert(std::is_constructible_v<hewn::Binding, std::vector<std::array<float, 3>> &>);
static_assert(
    std::is_constructible_v<hewn::InputBinding, const std::vector<std::complex<float>> &>);
static_assert(!std::is_constructible_v<hewn::Binding, const std::vector<float> &>);

TEST_F(CppApi, DeviceAndMemory) {
    const hewn::Device device;
    EXPECT_EQ(device.kind(), hewn::DeviceKind::CPU);
    hewn::DeviceMemory first(device, 24), result(device, 16);
    hewn::DeviceMemory memory = std::move(first);
    EXPECT_EQ(memory.binding().size, 24u);
    const std::vector<float> values = {1, 2, 3, 4};
    memory.write(values.data(), 16, 8);
    const hewn::Operator add = hewn::compile(hewn::AddDesc{F32, F32, F32}, {}, &device);
    add.execute({{memory.get(), 16, 8}, {memory.get(), 16, 8}}, {result.binding()});
    device.synchronize();
    std::vector<float> sum(3);
    result.read(sum.data(), 12, 4);
    EXPECT_EQ(sum, (std::vector<float>{4, 6, 8}));
    EXPECT_EQ(status_of([] { hewn::Device::open(static_cast<hewn::DeviceKind>(99)); }),
              HEWN_STATUS_INVALID_ARGUMENT);
}

// A moved-from device would be taken for the CPU, and pointers to a GPU's memory for the CPU's own.
TEST_F(CppApi, AMovedFromDeviceIsRefused) {
    hewn::Device device;
    const hewn::Device other = std::move(device);
    // NOLINTNEXTLINE(bugprone-use-after-move)
    EXPECT_EQ(status_of([&] {
                  hewn::compile(hewn::AddDesc{F32, F32, F32}, {}, &device);
              }),
              HEWN_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(status_of([&] { hewn::DeviceMemory(device, 16); }), HEWN_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(status_of([&] { device.synchronize(); }), HEWN_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(status_of([&] {
                  hewn::compile(hewn::AddDesc{F32, F32, F32}, {}, &other);
              }),
              HEWN_STATUS_OK);
}

TEST_F(CppApi, Lists) {
    EXPECT_EQ(hewn::targets().size(), hewn_target_count());
    EXPECT_EQ(hewn::variants().size(), hewn_variant_count());
    for (const hewn_target_info &target : hewn::targets()) EXPECT_STRNE(target.name, nullptr);
    for (const hewn_variant_info &variant : hewn::variants()) EXPECT_STRNE(variant.name, nullptr);
    EXPECT_EQ(hewn::devices(hewn::DeviceKind::CPU).size(), 1u);
}

}  // namespace
}  // namespace hewn_test
