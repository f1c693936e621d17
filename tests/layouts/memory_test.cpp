// Tests sizes and strides beyond 32 bits. Inputs repeat one window of memory or are sparse, so that
// they take little memory. Outputs take real memory. If a test needs more memory than is available,
// it is skipped, and the message names it. Only for Linux.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../reference/evaluation.h"
#include "../../reference/operators.h"
#include "../../reference/values.h"
#include "../../reference/variants.h"
#include "../support/execution.h"
#include "../support/mapping.h"
#include "../support/runnable.h"

namespace hewn_test {
namespace {

constexpr uint64_t GiB = uint64_t(1) << 30;

// Skips the test unless this many bytes and half a GiB more are available.
#define HEWN_NEEDS_MEMORY(bytes) \
    do { \
        const uint64_t needed = (bytes) + GiB / 2, there = available_memory(); \
        if (there < needed) { \
            GTEST_SKIP() \
                << testing::UnitTest::GetInstance()->current_test_info()->test_suite_name() << "." \
                << testing::UnitTest::GetInstance()->current_test_info()->name() << ": needs " \
                << (needed >> 20) << " MiB of free memory, there are " << (there >> 20) << " MiB"; \
        } \
    } while (false)

// `bytes` of addresses, in which one window of memory repeats: the contents of a large tensor, in
// the memory of the window.
class Repeated {
public:
    static constexpr uint64_t WINDOW = uint64_t(1) << 24;

    explicit Repeated(uint64_t bytes, uint64_t window = WINDOW)
        : mapping_((bytes + window - 1) / window * window, PROT_NONE) {
        const int file = memfd_create("hewn_test", 0);
        bool mapped = file >= 0 && ftruncate(file, off_t(window)) == 0;
        for (uint64_t at = 0; mapped && at < mapping_.bytes(); at += window) {
            mapped = mmap(mapping_.data() + at, window, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED;
        }
        if (file >= 0) close(file);
        if (!mapped) throw std::runtime_error("mapping a window repeatedly failed");
    }
    uint8_t *data() const { return mapping_.data(); }

private:
    Mapping mapping_;
};

// A tensor's description and its memory.
struct Operand : Spec {
    uint8_t *memory;
    Operand(hewn_data_type type, std::vector<int64_t> sizes, std::vector<int64_t> strides,
            uint8_t *memory)
        : Spec{type, std::move(sizes), std::move(strides)}, memory(memory) {}
};

// Compiles and executes. The operands are in DirectML's order, the output last.
Outcome run(hewn_operator_type op, const std::vector<Operand> &operands,
            const hewn_compile_options &options = compile_options()) {
    TensorDescs descs;
    std::vector<hewn_buffer_binding> bindings;
    for (const Operand &operand : operands) {
        descs.push_back(operand.desc());
        uint64_t bytes = 0;
        EXPECT_EQ(hewn_tensor_size(&*descs.back(), &bytes, nullptr), HEWN_STATUS_OK);
        bindings.push_back({sizeof(hewn_buffer_binding), operand.memory, 0, bytes});
    }
    OperatorPtr handle;
    const Outcome compiled = compile(Description(op, std::move(descs)), &options, handle);
    if (compiled.status != HEWN_STATUS_OK) return compiled;
    return outcome_of([&](hewn_error *error) {
        return hewn_execute(handle.get(), bindings.data(), uint32_t(bindings.size() - 1),
                            &bindings.back(), 1, nullptr, error);
    });
}

constexpr hewn_data_type F32 = HEWN_DATA_TYPE_FLOAT32, U8 = HEWN_DATA_TYPE_UINT8,
                         I8 = HEWN_DATA_TYPE_INT8, I64 = HEWN_DATA_TYPE_INT64;

// The index of the first of `count` elements that differs from what is expected, which repeats
// `period`; -1 if none differs.
template<class T>
int64_t first_difference(const T *actual, int64_t count, const std::vector<T> &period) {
    for (int64_t at = 0; at < count; at += int64_t(period.size())) {
        const int64_t n = std::min<int64_t>(count - at, int64_t(period.size()));
        if (std::memcmp(actual + at, period.data(), size_t(n) * sizeof(T)) == 0) continue;
        for (int64_t i = 0; i < n; i++) {
            if (!reference::same(actual[at + i], period[size_t(i)])) return at + i;
        }
    }
    return -1;
}

// The memory of a large output, in large pages if the system has them.
class Output {
public:
    explicit Output(uint64_t bytes) : mapping_(bytes + 4096) {
        madvise(mapping_.data(), mapping_.bytes(), MADV_HUGEPAGE);
    }
    uint8_t *data() const { return mapping_.data(); }

private:
    Mapping mapping_;
};

// Tensors of 3 GiB, with a dimension of more than 2^31 elements.
TEST(Memory, AddU8Of3GiB) {
    HEWN_NEEDS_MEMORY(3 * GiB);
    const int64_t n = 3 * int64_t(GiB) + 77;
    const Repeated a(uint64_t(n) + Repeated::WINDOW);
    const Output output{uint64_t(n)};
    Random random("Memory.AddU8");
    for (uint64_t i = 0; i < Repeated::WINDOW; i++) a.data()[i] = uint8_t(random.bits());
    // b is a, from the second byte on.
    std::vector<uint8_t> period(Repeated::WINDOW);
    for (size_t i = 0; i < period.size(); i++)
        period[i] = reference::add(a.data()[i], a.data()[i + 1]);
    const Outcome outcome = run(
        HEWN_OPERATOR_ADD,
        {{U8, {n}, {1}, a.data()}, {U8, {n}, {1}, a.data() + 1}, {U8, {n}, {1}, output.data()}});
    ASSERT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
    EXPECT_EQ(first_difference(output.data(), n, period), -1);
    EXPECT_EQ(output.data()[n], 0) << "written beyond the end";
}

TEST(Memory, DequantizeTo3GiB) {
    HEWN_NEEDS_MEMORY(3 * GiB);
    const int64_t n = 3 * int64_t(GiB) / 4 + 5;
    const Repeated x{uint64_t(n)};
    const Output output{uint64_t(n) * 4};
    Random random("Memory.Dequantize");
    const float scale = 0.0123f;
    const uint8_t zero_point = 7;
    std::vector<float> period(Repeated::WINDOW);
    for (uint64_t i = 0; i < Repeated::WINDOW; i++) {
        x.data()[i] = uint8_t(random.bits());
        period[i] = reference::dequantize_linear(x.data()[i], scale, zero_point);
    }
    const auto parameter = [](const void *value) {
        return const_cast<uint8_t *>(static_cast<const uint8_t *>(value));
    };
    const Outcome outcome =
        run(HEWN_OPERATOR_DEQUANTIZE_LINEAR, {{U8, {n}, {1}, x.data()},
                                              {F32, {n}, {0}, parameter(&scale)},
                                              {U8, {n}, {0}, parameter(&zero_point)},
                                              {F32, {n}, {1}, output.data()}});
    ASSERT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
    EXPECT_EQ(first_difference(reinterpret_cast<const float *>(output.data()), n, period), -1);
}

TEST(Memory, QuantizeFrom3GiB) {
    HEWN_NEEDS_MEMORY(1 * GiB);
    // 3 GiB of f32, with a scale for each column.
    const int64_t rows = 3 * 512 * 1024 / 4 + 1, columns = 2048, n = rows * columns;
    const Repeated x{uint64_t(n) * 4};
    const Output output{uint64_t(n)};
    Random random("Memory.Quantize");
    std::vector<float> scale(columns);
    for (float &s : scale) s = random_ordinary_scale(random, -3);
    const uint8_t zero_point = 101;
    std::vector<uint8_t> period(Repeated::WINDOW / 4);
    float *values = reinterpret_cast<float *>(x.data());
    for (size_t i = 0; i < period.size(); i++) {
        values[i] = (random.unit() - 0.5f) * 40;
        period[i] = reference::quantize_linear(values[i], scale[i % columns], zero_point);
    }
    const Outcome outcome =
        run(HEWN_OPERATOR_QUANTIZE_LINEAR,
            {{F32, {rows, columns}, {columns, 1}, x.data()},
             {F32, {rows, columns}, {0, 1}, reinterpret_cast<uint8_t *>(scale.data())},
             {U8, {rows, columns}, {0, 0}, const_cast<uint8_t *>(&zero_point)},
             {U8, {rows, columns}, {columns, 1}, output.data()}});
    ASSERT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
    EXPECT_EQ(first_difference(output.data(), n, period), -1);
}

// A dimension of more than 2^31 elements, along which an operand is strided: it cannot be one box.
TEST(Memory, StridedDimensionBeyond2To31) {
    HEWN_NEEDS_MEMORY(2 * GiB);
    const int64_t n = (int64_t(1) << 31) + 12345;
    const Repeated a(uint64_t(n) * 2);
    const Output output{uint64_t(n)};
    Random random("Memory.Strided");
    for (uint64_t i = 0; i < Repeated::WINDOW; i++) a.data()[i] = uint8_t(random.bits());
    const uint8_t b = 200;
    std::vector<uint8_t> period(Repeated::WINDOW / 2);
    for (size_t i = 0; i < period.size(); i++) period[i] = reference::add(a.data()[2 * i], b);
    const Outcome outcome = run(HEWN_OPERATOR_ADD, {{U8, {n}, {2}, a.data()},
                                                    {U8, {n}, {0}, const_cast<uint8_t *>(&b)},
                                                    {U8, {n}, {1}, output.data()}});
    ASSERT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
    EXPECT_EQ(first_difference(output.data(), n, period), -1);
}

// Tensors that exceed any cache, which every target writes in its own way.
TEST(Memory, BeyondTheCache) {
    HEWN_NEEDS_MEMORY(GiB);
    const int64_t n = 50 * 1000 * 1000 + 3;
    const Repeated a{uint64_t(n) * 4}, b{uint64_t(n) * 4 + 64};
    Random random("Memory.Cache");
    float *x = reinterpret_cast<float *>(a.data()), *y = reinterpret_cast<float *>(b.data());
    std::vector<float> period(Repeated::WINDOW / 4);
    for (size_t i = 0; i < period.size(); i++) {
        x[i] = random_value<float>(random);
        y[i] = random.unit();
        period[i] = reference::add(x[i], y[i]);
    }
    for (const std::string &variant : runnable_variants("add", "f32")) {
        for (const int64_t misalignment : {0, 1, 5}) {
            const Output output{uint64_t(n) * 4 + 64};
            const Outcome outcome = run(HEWN_OPERATOR_ADD,
                                        {{F32, {n}, {1}, a.data()},
                                         {F32, {n}, {1}, b.data()},
                                         {F32, {n}, {1}, output.data() + 4 * misalignment}},
                                        compile_options(variant.c_str()));
            ASSERT_EQ(outcome.status, HEWN_STATUS_OK) << variant << ": " << outcome;
            EXPECT_EQ(
                first_difference(reinterpret_cast<const float *>(output.data() + 4 * misalignment),
                                 n, period),
                -1)
                << variant;
            EXPECT_EQ(load<float>(output.data() + 4 * (misalignment + n)), 0.0f)
                << "written beyond the end";
        }
    }
}

// Rows with gaps between them. There are so many rows that the output is streamed by targets that
// can. The gaps must stay as they were, and rows begin at any alignment. The memory of the inputs
// repeats, and so do the expected results, every WINDOW / PITCH / element bytes rows.
void beyond_the_cache(const std::string &operator_name, const std::string &signature) {
    constexpr int64_t PITCH = 2048, COLUMNS = 2047;
    const OperatorFacts &op = facts(operator_name);
    const DataTypes types = operand_types(op, signature);
    int64_t bytes = 0;
    for (size_t i = 0; i < types.size(); i++)
        bytes += op.is_parameter(i) ? 0 : int64_t(element_bytes(types[i]));
    const int64_t rows = 100 * 1000 * 1000 / (bytes * COLUMNS);

    Random random("Memory." + operator_name + signature);
    std::vector<Repeated> memory;
    memory.reserve(types.size());
    std::vector<Operand> operands;
    std::vector<const void *> pointers;
    std::vector<std::vector<int64_t>> strides;
    for (size_t i = 0; i + 1 < types.size(); i++) {
        const bool dense = !op.is_parameter(i);
        memory.emplace_back(dense ? uint64_t(rows * PITCH) * element_bytes(types[i])
                                  : Repeated::WINDOW);
        with_any_type(types[i], [&](auto tag) {
            using T = decltype(tag);
            T *values = reinterpret_cast<T *>(memory.back().data());
            if (!dense) values[0] = reference::from_f32<T>(3);
            else
                for (uint64_t k = 0; k < Repeated::WINDOW / sizeof(T); k++)
                    values[k] = random_value<T>(random);
        });
        strides.push_back(dense ? std::vector<int64_t>{PITCH, 1} : std::vector<int64_t>{0, 0});
        operands.push_back({types[i],
                            op.is_one_element(i) ? std::vector<int64_t>{1, 1}
                                                 : std::vector<int64_t>{rows, COLUMNS},
                            strides.back(), memory.back().data()});
        pointers.push_back(memory.back().data());
    }
    strides.push_back({PITCH, 1});
    operands.push_back({types.back(), {rows, COLUMNS}, strides.back(), nullptr});
    with_any_type(types.back(), [&](auto tag) {
        using Out = decltype(tag);
        std::vector<Out> period(size_t(Repeated::WINDOW) / element_bytes(types[0]));
        std::memset(static_cast<void *>(period.data()), 0, period.size() * sizeof(Out));
        evaluate({op.type,
                  types,
                  {int64_t(period.size()) / PITCH, COLUMNS},
                  std::move(strides),
                  std::move(pointers)},
                 period.data());
        for (const std::string &variant : runnable_variants(operator_name, signature)) {
            for (const int64_t misalignment : {0, 3}) {
                const Output output{uint64_t(rows * PITCH + 64) * sizeof(Out)};
                operands.back().memory = output.data() + misalignment * int64_t(sizeof(Out));
                const Outcome outcome = run(op.type, operands, compile_options(variant.c_str()));
                ASSERT_EQ(outcome.status, HEWN_STATUS_OK) << variant << ": " << outcome;
                EXPECT_EQ(first_difference(reinterpret_cast<const Out *>(operands.back().memory),
                                           rows * PITCH, period),
                          -1)
                    << variant;
            }
        }
    });
}

TEST(Memory, BeyondTheCacheInRows) {
    HEWN_NEEDS_MEMORY(GiB);
    for (const char *signature : {"i8", "f16", "f32", "i64"}) beyond_the_cache("add", signature);
    for (const char *signature : {"u8_f32", "i16_f16"})
        beyond_the_cache("dequantize_linear", signature);
    beyond_the_cache("quantize_linear", "f32_u8");
    beyond_the_cache("quantized_linear_add", "u8_i8_u8");
}

// ---- 2^33 elements ------------------------------------------------------------------------------

constexpr int64_t ELEMENTS = (int64_t(1) << 33) + 5;
// 2^32 is no multiple of this window, so that an index which lost its 33rd bit reaches other bytes.
constexpr uint64_t ODD_WINDOW = 15 << 20;

// The output takes real memory, in which everything that is not written stays 0.
TEST(Elements, AddU8) {
    HEWN_NEEDS_MEMORY(8 * GiB);
    const Repeated a{uint64_t(ELEMENTS) + 1, ODD_WINDOW};
    const Output output{uint64_t(ELEMENTS)};
    Random random("Elements.AddU8");
    std::vector<uint8_t> period(ODD_WINDOW);
    for (uint64_t i = 0; i < ODD_WINDOW; i++) a.data()[i] = uint8_t(random.bits() | 1);
    for (size_t i = 0; i < period.size(); i++)
        period[i] = reference::add(a.data()[i], a.data()[i + 1]);
    const Outcome outcome = run(HEWN_OPERATOR_ADD, {{U8, {ELEMENTS}, {1}, a.data()},
                                                    {U8, {ELEMENTS}, {1}, a.data() + 1},
                                                    {U8, {ELEMENTS}, {1}, output.data()}});
    ASSERT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
    EXPECT_EQ(first_difference(output.data(), ELEMENTS, period), -1);
    EXPECT_EQ(output.data()[ELEMENTS], 0) << "written beyond the end";
}

// Tensors of 32 GiB and 8 GiB of addresses, in the memory of two windows. Each window of the output
// gets the same bytes, from 4 windows of the input.
TEST(Elements, QuantizeF32) {
    HEWN_NEEDS_MEMORY(GiB);
    const Repeated x{uint64_t(ELEMENTS) * 4, ODD_WINDOW}, y{uint64_t(ELEMENTS), ODD_WINDOW};
    Random random("Elements.QuantizeF32");
    const float scale = 0.0625f;
    const uint8_t zero_point = 101;
    std::vector<uint8_t> period(ODD_WINDOW / 4);
    float *const values = reinterpret_cast<float *>(x.data());
    for (size_t i = 0; i < period.size(); i++) {
        values[i] = (random.unit() - 0.5f) * 20;
        period[i] = reference::quantize_linear(values[i], scale, zero_point);
    }
    const Outcome outcome =
        run(HEWN_OPERATOR_QUANTIZE_LINEAR,
            {{F32, {ELEMENTS}, {1}, x.data()},
             {F32, {ELEMENTS}, {0}, reinterpret_cast<uint8_t *>(const_cast<float *>(&scale))},
             {U8, {ELEMENTS}, {0}, const_cast<uint8_t *>(&zero_point)},
             {U8, {ELEMENTS}, {1}, y.data()}});
    ASSERT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
    EXPECT_EQ(first_difference(y.data(), int64_t(ODD_WINDOW), period), -1);
}

// Still more elements, in rows of 3. The number of rows exceeds 2^32 by itself.
TEST(Elements, AddRows) {
    HEWN_NEEDS_MEMORY(GiB);
    constexpr int64_t ROWS = int64_t(3) << 31, COLUMNS = 3;
    const Repeated a{uint64_t(ROWS * COLUMNS), ODD_WINDOW}, y{uint64_t(ROWS * COLUMNS), ODD_WINDOW};
    Random random("Elements.AddRows");
    uint8_t b[COLUMNS] = {1, 20, 77};
    std::vector<uint8_t> period(ODD_WINDOW);
    for (uint64_t i = 0; i < ODD_WINDOW; i++) {
        a.data()[i] = uint8_t(random.bits());
        period[i] = reference::add(a.data()[i], b[i % COLUMNS]);
    }
    const Outcome outcome = run(HEWN_OPERATOR_ADD, {{U8, {ROWS, COLUMNS}, {COLUMNS, 1}, a.data()},
                                                    {U8, {ROWS, COLUMNS}, {0, 1}, b},
                                                    {U8, {ROWS, COLUMNS}, {COLUMNS, 1}, y.data()}});
    ASSERT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
    EXPECT_EQ(first_difference(y.data(), int64_t(ODD_WINDOW), period), -1);
}

// ---- Sparse tensors -----------------------------------------------------------------------------

// ADD of elements that lie far apart in a huge range of addresses, of which only the pages that are
// touched take memory.
template<class T>
void far_apart(const std::vector<int64_t> &sizes, const std::vector<int64_t> &a_strides,
               const std::vector<int64_t> &b_strides, const std::vector<int64_t> &output_strides) {
    const auto span = [&](const std::vector<int64_t> &strides) {
        int64_t last = 0;
        for (size_t d = 0; d < sizes.size(); d++)
            last += (sizes[d] - 1) * strides[d];  // NOLINT(modernize-loop-convert)
        return uint64_t(last + 1) * sizeof(T);
    };
    const Mapping a(span(a_strides)), b(span(b_strides)), output(span(output_strides));
    Random random("Memory.FarApart");
    const auto each = [&](auto &&f) {
        std::vector<int64_t> index(sizes.size(), 0);
        for (;;) {
            int64_t o[3] = {0, 0, 0};
            for (size_t d = 0; d < sizes.size(); d++)
                o[0] += index[d] * a_strides[d], o[1] += index[d] * b_strides[d],
                    o[2] += index[d] * output_strides[d];
            f(o);
            size_t d = sizes.size();
            while (d > 0 && ++index[d - 1] == sizes[d - 1]) index[--d] = 0;
            if (d == 0) return;
        }
    };
    T *x = reinterpret_cast<T *>(a.data()), *y = reinterpret_cast<T *>(b.data()),
      *z = reinterpret_cast<T *>(output.data());
    each([&](const int64_t *o) {
        x[o[0]] = T(random.integer(-100, 100)), y[o[1]] = T(random.integer(-100, 100));
    });
    constexpr hewn_data_type type = DataTypeOf<T>::value;
    const std::string signature =
        (std::is_floating_point_v<T> ? "f" : "i") + std::to_string(8 * sizeof(T));
    for (const std::string &variant : runnable_variants("add", signature)) {
        const Outcome outcome = run(HEWN_OPERATOR_ADD,
                                    {{type, sizes, a_strides, a.data()},
                                     {type, sizes, b_strides, b.data()},
                                     {type, sizes, output_strides, output.data()}},
                                    compile_options(variant.c_str()));
        ASSERT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
        int64_t wrong = 0;
        each([&](const int64_t *o) {
            wrong += !reference::same(z[o[2]], reference::add(x[o[0]], y[o[1]]));
            z[o[2]] = T(0);
        });
        EXPECT_EQ(wrong, 0) << variant;
    }
}

constexpr int64_t BILLION = int64_t(1) << 30;

TEST(Sparse, RowsFarApart) {
    far_apart<int8_t>({5, 100}, {5 * BILLION, 1}, {100, 1}, {7 * BILLION, 1});
    far_apart<float>({3, 33}, {2 * BILLION + 1, 1}, {3 * BILLION, 1}, {33, 1});
    far_apart<float>({3, 33}, {33, 1}, {1, 3}, {2 * BILLION + 1, 1});
}
TEST(Sparse, ElementsFarApart) {
    far_apart<int8_t>({9}, {5 * BILLION}, {1}, {1});
    far_apart<int8_t>({9}, {1}, {0}, {5 * BILLION});
    far_apart<int64_t>({4, 3}, {2, BILLION}, {BILLION, 1}, {1, BILLION + 7});
    far_apart<float>({40}, {300 * 1000 * 1000}, {150 * 1000 * 1000 + 1}, {1});
}
TEST(Sparse, OuterDimensionsFarApart) {
    far_apart<float>({2, 3, 4, 5}, {4 * BILLION, BILLION, 5, 1}, {0, BILLION + 20, 1, 4},
                     {4 * BILLION, 60, 1, 4});
    far_apart<int16_t>(
        {2, 2, 2, 2, 2, 2, 2, 3}, {BILLION, 4 * BILLION, 2 * BILLION, 30, 1, 50, 0, 3},
        {1, 2, 4, 8, 16, 32, 64, 128}, {1, BILLION, 2 * BILLION, 4 * BILLION, 3, 7, 20, 50});
}
// Two rows of a box whose scales are more than 2^31 bytes apart.
TEST(Sparse, ScalesFarApart) {
    constexpr int64_t rows = 2, columns = 2048, stride = BILLION / 2 + 1;
    const Mapping scales(uint64_t(stride + 1) * sizeof(float));
    float *const scale = reinterpret_cast<float *>(scales.data());
    scale[0] = 0.3f;
    scale[stride] = 0.7f;
    const uint8_t zero_point = 101;
    Random random("Sparse.ScalesFarApart");
    std::vector<float> x(rows * columns);
    std::vector<uint8_t> expected(x.size());
    for (size_t i = 0; i < x.size(); i++) {
        x[i] = (random.unit() - 0.5f) * 40;
        expected[i] = reference::quantize_linear(x[i], scale[i < columns ? 0 : stride], zero_point);
    }
    for (const std::string &variant : runnable_variants("quantize_linear", "f32_u8")) {
        std::vector<uint8_t> output(x.size());
        const Outcome outcome =
            run(HEWN_OPERATOR_QUANTIZE_LINEAR,
                {{F32, {rows, columns}, {columns, 1}, reinterpret_cast<uint8_t *>(x.data())},
                 {F32, {rows, columns}, {stride, 0}, scales.data()},
                 {U8, {rows, columns}, {0, 0}, const_cast<uint8_t *>(&zero_point)},
                 {U8, {rows, columns}, {columns, 1}, output.data()}},
                compile_options(variant.c_str()));
        ASSERT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
        EXPECT_EQ(output, expected) << variant;
    }
}
// Strides whose byte offsets pass 2^31 and 2^32 only if they are multiplied by the element size, or
// by the index.
TEST(Sparse, OffsetsAroundPowersOfTwo) {
    for (const int64_t around : {BILLION / 2, BILLION, 2 * BILLION, 4 * BILLION}) {
        for (const int64_t delta : {-1, 0, 1}) {
            far_apart<int8_t>({3, 2}, {around + delta, 1}, {1, around / 2 + delta}, {2, 1});
            far_apart<float>({2, 3}, {around / 4 + delta, 1}, {3, 1}, {around + delta, 1});
        }
    }
}

}  // namespace
}  // namespace hewn_test
