// Compares every variant with the reference on all inputs there are: for types of 8 and 16 bits
// with many scales, and for f32 with one scale in each run. Two threads share the work. The
// expected results of a block are computed once, and each variant is compared with them. Longer
// sweeps have names that begin with DISABLED_ and run only with the label long.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../../reference/contents.h"
#include "../../reference/operators.h"
#include "../../reference/problems.h"
#include "../../reference/values.h"
#include "../../reference/variants.h"
#include "../support/check.h"
#include "../support/emulated.h"
#include "../support/execution.h"
#include "../support/runnable.h"

// With this attribute, GCC on x86-64 Linux compiles the reference a second time, for AVX2, and
// chooses when the program starts. The operations and their order are the same, but AVX2 is twice
// as fast, because it rounds without calling libm's nearbyintf.
#if defined(__x86_64__) && defined(__linux__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HEWN_TEST_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define HEWN_TEST_CLONES
#endif

namespace hewn_test {
namespace {

// An emulated CPU gets one in this many of the inputs, others in each run.
constexpr int64_t ONE_IN = EMULATED ? 256 : 1;

// The first thing that went wrong on any thread.
class FirstFailure {
public:
    void report(const std::string &text) {
        if (!failed_.exchange(true)) text_ = text;
    }
    explicit operator bool() const { return failed_; }
    const std::string &text() const { return text_; }  // only after the threads were joined

private:
    std::atomic<bool> failed_{false};
    std::string text_;
};

// Calls work(i) for i in [0, count) on two threads, if there are threads.
void on_two_threads(int64_t count, const std::function<void(int64_t)> &work) {
    std::atomic<int64_t> next{0};
    const auto loop = [&] {
        for (int64_t i; (i = next++) < count;) work(i);
    };
#if defined(__wasm__)
    loop();
#else
    std::thread second(loop);
    loop();
    second.join();
#endif
}

// An operator that is compiled for `n` elements and one variant. Its parameters are scalars or, if
// `block` is not 0, one for each `block` elements.
class Runner {
public:
    Runner(const std::string &operator_name, const std::string &signature,
           const std::string &variant, int64_t n, int64_t block = 0,
           std::vector<int32_t> attributes = {})
        : variant_(variant),
          operator_(facts(operator_name)),
          types_(operand_types(operator_, signature)),
          n_(n),
          block_(block),
          attributes_(std::move(attributes)) {
        const hewn_compile_options options = compile_options(variant.c_str(), 1);
        const Outcome outcome = compile(options, op_);
        EXPECT_EQ(outcome.status, HEWN_STATUS_OK) << variant << ": " << outcome;
    }
    // Executes. The operands are in DirectML's order, the output last.
    bool run(const std::vector<const void *> &operands) const {
        return op_ && execute(op_, bindings_of(operands));
    }
    // Executes an operator that is compiled anew, with the parameters as constants.
    bool run_with_constants(const std::vector<const void *> &operands) const {
        std::vector<hewn_buffer_binding> bindings = bindings_of(operands), constants = bindings;
        for (size_t i = 0; i + 1 < operands.size(); i++)
            (operator_.is_parameter(i) ? bindings : constants)[i] = {sizeof(hewn_buffer_binding),
                                                                     nullptr, 0, 0};
        hewn_compile_options options = compile_options(variant_.c_str(), 1);
        options.constants = constants.data();
        options.constant_count = uint32_t(constants.size() - 1);
        OperatorPtr op;
        return compile(options, op).status == HEWN_STATUS_OK && execute(op, bindings);
    }
    const std::string &variant() const { return variant_; }
    // The number of scales, and of zero points.
    size_t parameters() const { return block_ > 0 ? size_t(n_ / block_) : 1; }

private:
    std::string variant_;
    const OperatorFacts &operator_;
    const DataTypes types_;
    const int64_t n_, block_;
    const std::vector<int32_t> attributes_;
    OperatorPtr op_;

    Outcome compile(const hewn_compile_options &options, OperatorPtr &op) const {
        const int64_t dense = 1, broadcast = 0, one = 1;
        TensorDescs descs;
        for (size_t i = 0; i < types_.size(); i++) {
            const bool blocked = block_ > 0 && operator_.is_parameter(i);
            descs.push_back(hewn_tensor_desc{
                sizeof(hewn_tensor_desc), types_[i], 1, operator_.is_one_element(i) ? &one : &n_,
                operator_.is_parameter(i) && !blocked ? &broadcast : &dense,
                blocked ? &block_ : nullptr});
        }
        return hewn_test::compile(Description(operator_.type, std::move(descs), attributes_),
                                  &options, op);
    }
    std::vector<hewn_buffer_binding> bindings_of(const std::vector<const void *> &operands) const {
        std::vector<hewn_buffer_binding> bindings;
        for (size_t i = 0; i < operands.size(); i++) {
            const uint64_t bytes = (operator_.is_parameter(i) ? parameters() : uint64_t(n_)) *
                                   element_bytes(types_[i]);
            bindings.push_back(
                {sizeof(hewn_buffer_binding), const_cast<void *>(operands[i]), 0, bytes});
        }
        return bindings;
    }
    static bool execute(const OperatorPtr &op, const std::vector<hewn_buffer_binding> &bindings) {
        return hewn_execute(op.get(), bindings.data(), uint32_t(bindings.size() - 1),
                            &bindings.back(), 1, nullptr, nullptr) == HEWN_STATUS_OK;
    }
};

// The signature of the kernels that compute these types: f32 stands for a float without kernels, f8
// for small floats.
std::string signature_of_kernels(const std::string &operator_name, const std::string &types) {
    const DataTypes &as_f32 = facts(operator_name).as_f32;
    std::istringstream words(types);
    std::string signature;
    for (std::string word; std::getline(words, word, '_');) {
        const hewn_data_type type = parse_type(word);
        if (std::count(as_f32.begin(), as_f32.end(), type)) word = "f32";
        if (is_code(type)) word = "f8";
        signature += (signature.empty() ? "" : "_") + word;
    }
    return signature;
}

// A runner for each variant that runs here. `types` are a signature's words.
std::vector<Runner> runners(const std::string &operator_name, const std::string &types, int64_t n,
                            int64_t block = 0, const std::vector<int32_t> &attributes = {}) {
    std::vector<Runner> result;
    for (const std::string &variant :
         runnable_variants(operator_name, signature_of_kernels(operator_name, types)))
        result.emplace_back(operator_name, types, variant, n, block, attributes);
    return result;
}

template<class T>
std::string differences(const Runner &runner, const std::vector<T> &want, const std::vector<T> &got,
                        const std::function<std::string(size_t)> &inputs) {
    if (std::memcmp(want.data(), got.data(), want.size() * sizeof(T)) == 0) return "";
    for (size_t i = 0; i < want.size(); i++) {
        if (!reference::same(want[i], got[i]))
            return runner.variant() + ": " + text_of(got[i]) + " instead of " + text_of(want[i]) +
                   " for " + inputs(i);
    }
    return "";
}

// ---- QUANTIZE_LINEAR ----------------------------------------------------------------------------

template<class Q, class X, class S>
HEWN_TEST_CLONES void quantize_all(const X *x, S scale, Q zero_point, Q *y, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] = reference::quantize_linear<Q>(x[i], scale, zero_point);
}
template void quantize_all(const float *, float, int8_t, int8_t *, size_t);
template void quantize_all(const float *, float, uint8_t, uint8_t *, size_t);
template void quantize_all(const float *, float, int16_t, int16_t *, size_t);
template void quantize_all(const float *, float, uint16_t, uint16_t *, size_t);

// Compares every runner with the reference on x, for one scale and zero point.
template<class Q, class X, class S>
void compare_quantize(const std::vector<Runner> &runners, const std::vector<X> &x, S scale,
                      Q zero_point, FirstFailure &failure) {
    std::vector<Q> want(x.size()), got(x.size());
    quantize_all(x.data(), scale, zero_point, want.data(), x.size());
    for (const Runner &runner : runners) {
        std::memset(got.data(), SENTINEL, got.size() * sizeof(Q));
        const std::vector<S> scales(runner.parameters(), scale);
        const std::vector<Q> zero_points(runner.parameters(), zero_point);
        if (!runner.run({x.data(), scales.data(), zero_points.data(), got.data()}))
            failure.report(runner.variant() + " failed");
        const std::string text = differences<Q>(runner, want, got, [&](size_t i) {
            return "x " + text_of(x[i]) + ", scale " + text_of(scale) + ", zero point " +
                   text_of(zero_point);
        });
        if (!text.empty()) failure.report(text);
    }
}

// `one_in` times as few blocks of inputs are taken.
template<class Q>
void all_f32(const std::string &signature, float scale, Q zero_point, int64_t one_in = ONE_IN) {
    constexpr int64_t BLOCK = 1 << 15;  // x and the results stay in L2
    const std::vector<Runner> all = runners("quantize_linear", signature, BLOCK);
    if (all.empty())
        GTEST_SKIP() << "quantize_linear_" << signature << ": no variant of it runs here";
    FirstFailure failure;
    Random random("ExhaustiveQuantizeF32." + signature);
    const int64_t first = random.integer(0, one_in - 1);
    on_two_threads((int64_t(1) << 32) / BLOCK / one_in, [&](int64_t index) {
        if (failure) return;
        const int64_t block = index * one_in + first;
        std::vector<float> x(BLOCK);
        for (int64_t i = 0; i < BLOCK; i++)
            x[size_t(i)] = reference::from_bits(uint32_t(block * BLOCK + i));
        compare_quantize(all, x, scale, zero_point, failure);
    });
    EXPECT_FALSE(failure) << failure.text() << "; HEWN_SEED=" << seed();
}

// All 2^32 inputs, with one random scale in each run. Outputs of 16 bits are divided.
template<class Q>
void all_f32(const std::string &signature) {
    Random random("ExhaustiveQuantizeF32." + signature);
    const float scale = random_ordinary_scale(random, int(random.integer(-20, 20)));
    all_f32<Q>(signature, scale, Q(random.bits()));
}
TEST(ExhaustiveQuantizeF32, U8) { all_f32<uint8_t>("f32_u8"); }
TEST(ExhaustiveQuantizeF32, I8) { all_f32<int8_t>("f32_i8"); }
TEST(ExhaustiveQuantizeF32, U16) { all_f32<uint16_t>("f32_u16"); }
TEST(ExhaustiveQuantizeF32, I16) { all_f32<int16_t>("f32_i16"); }

// One in 16 of all inputs, to one of the small floats of 8 bits in each run: the reference takes
// longer there. The long sweep takes all inputs and types.
template<class Q>
void all_f32_to_codes(int64_t one_in) {
    const std::string types = std::string("f32_") + type_name(DataTypeOf<Q>::value);
    Random random("ExhaustiveQuantizeF32." + types);
    const float scale = random_ordinary_scale(random, int(random.integer(-20, 20)));
    all_f32<Q>(types, scale, Q{}, one_in);
}
TEST(ExhaustiveQuantizeF32, SmallFloat) {
    Random random("ExhaustiveQuantizeF32.SmallFloat");
    with_type<f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz>(
        random.pick(DataTypes{HEWN_DATA_TYPE_FLOAT8E4M3FN, HEWN_DATA_TYPE_FLOAT8E4M3FNUZ,
                              HEWN_DATA_TYPE_FLOAT8E5M2, HEWN_DATA_TYPE_FLOAT8E5M2FNUZ}),
        [](auto tag) { all_f32_to_codes<decltype(tag)>(16 * ONE_IN); });
}
TEST(ExhaustiveQuantizeF32, DISABLED_SmallFloats) {
    all_f32_to_codes<f8e4m3fn>(1);
    all_f32_to_codes<f8e4m3fnuz>(1);
    all_f32_to_codes<f8e5m2>(1);
    all_f32_to_codes<f8e5m2fnuz>(1);
}

// The longer sweep: scales at the ends of the range of the form `reciprocal`, beyond it, negative
// ones, and random ones.
TEST(ExhaustiveQuantizeF32, DISABLED_ManyScales) {
    Random random("ExhaustiveQuantizeF32.ManyScales");
    std::vector<float> scales = {0x1p-60f,      -0x1.fffffep59f, 0x1p60f,   0x1.fffffep-61f,
                                 0x1.fffffep0f, 1.0f / 255,      0x1p-149f, 0.0f};
    for (int i = 0; i < 8; i++)
        scales.push_back(random_ordinary_scale(random, int(random.integer(-58, 58))));
    for (const float scale : scales) {
        all_f32<uint8_t>("f32_u8", scale, uint8_t(random.bits()));
        all_f32<int8_t>("f32_i8", scale, int8_t(random.bits()));
    }
}

// Tries `count` mantissas of the scale, the i-th of which is mantissa(i). The inputs x lie on
// either side of every boundary between two 8-bit results, up to 2 ulp from it. There the quotient
// in two operations must decide as a division does, with one scale and with a scale for each block.
void all_boundaries(int64_t count, const std::function<uint32_t(int64_t)> &mantissa) {
    // Quotients from -254.5 to 255.5 cover every zero point of either type.
    constexpr int64_t BOUNDARIES = 511;
    constexpr int64_t BLOCK = 16, N = (BOUNDARIES * 5 + 8 * BLOCK - 1) / (8 * BLOCK) * 8 * BLOCK;
    std::vector<Runner> all = runners("quantize_linear", "f32_u8", N);
    for (Runner &runner : runners("quantize_linear", "f32_u8", N, BLOCK))
        all.push_back(std::move(runner));
    if (all.empty()) GTEST_SKIP() << "quantize_linear_f32_u8: no variant of it runs here";
    FirstFailure failure;
    constexpr int64_t STRIP = 1 << 7;
    on_two_threads(count / STRIP, [&](int64_t strip) {
        std::vector<float> x(N);
        for (int64_t i = strip * STRIP; i < (strip + 1) * STRIP && !failure; i++) {
            const float scale = reference::from_bits(0x3f800000 | mantissa(i));
            for (int64_t b = 0; b < BOUNDARIES; b++) {
                const uint32_t bits = reference::to_bits((float(b) - 254.5f) * scale);
                for (int ulp = 0; ulp < 5; ulp++)
                    x[size_t(b * 5 + ulp)] = reference::from_bits(bits + uint32_t(ulp - 2));
            }
            // With one of the two zero points every boundary lies within [0, 255].
            compare_quantize(all, x, scale, uint8_t(0), failure);
            compare_quantize(all, x, scale, uint8_t(255), failure);
        }
    });
    EXPECT_FALSE(failure) << failure.text();
}

TEST(ExhaustiveQuantizeF32, DISABLED_AllMantissas) {
    all_boundaries(int64_t(1) << 23, [](int64_t i) { return uint32_t(i); });
}

// The mantissas that ARM's kernels leave to division, because twelve of them fail there with a
// reciprocal, and their neighbours.
TEST(ExhaustiveQuantizeF32, MantissasThatFailByReciprocal) {
    all_boundaries(int64_t(1) << 10,
                   [](int64_t i) { return uint32_t(i / 8 << 16) + 0xfff8 + uint32_t(i % 8); });
}

// All inputs of a 16-bit float, with many scales.
template<class X, class Q>
void all_of_16_bits(const std::string &types) {
    const std::vector<Runner> all = runners("quantize_linear", types, 65536);
    if (all.empty()) GTEST_SKIP() << "quantize_linear of " << types << ": no variant runs here";
    std::vector<X> x(65536), scales = special_values<X>();
    for (size_t i = 0; i < x.size(); i++) x[i] = {uint16_t(i)};
    Random random("ExhaustiveQuantize." + types);
    while (scales.size() < size_t(EMULATED ? 40 : 600))
        scales.push_back(random.one_in(3) ? X{uint16_t(random.bits())}
                                          : reference::from_f32<X>(random_ordinary_scale(
                                                random, int(random.integer(-8, 8)))));
    std::vector<Q> zero_points;
    for (size_t i = 0; i < scales.size(); i++) zero_points.push_back(from_lowest<Q>(random.bits()));
    FirstFailure failure;
    on_two_threads(int64_t(scales.size()), [&](int64_t i) {
        compare_quantize(all, x, scales[size_t(i)], zero_points[size_t(i)], failure);
    });
    EXPECT_FALSE(failure) << failure.text();
}

TEST(ExhaustiveQuantizeF16, U8) { all_of_16_bits<f16, uint8_t>("f16_u8"); }
TEST(ExhaustiveQuantizeF16, I8) { all_of_16_bits<f16, int8_t>("f16_i8"); }
TEST(ExhaustiveQuantizeF16, U16) { all_of_16_bits<f16, uint16_t>("f16_u16"); }
TEST(ExhaustiveQuantizeF16, I32) { all_of_16_bits<f16, int32_t>("f16_i32"); }
TEST(ExhaustiveQuantizeF16, U32) { all_of_16_bits<f16, uint32_t>("f16_u32"); }
TEST(ExhaustiveQuantizeF16, I16) { all_of_16_bits<f16, int16_t>("f16_i16"); }

TEST(ExhaustiveQuantizeBf16, U8) { all_of_16_bits<bf16, uint8_t>("bf16_u8"); }
TEST(ExhaustiveQuantizeBf16, I8) { all_of_16_bits<bf16, int8_t>("bf16_i8"); }
TEST(ExhaustiveQuantizeBf16, U16) { all_of_16_bits<bf16, uint16_t>("bf16_u16"); }
TEST(ExhaustiveQuantizeBf16, I16) { all_of_16_bits<bf16, int16_t>("bf16_i16"); }
TEST(ExhaustiveQuantizeBf16, U32) { all_of_16_bits<bf16, uint32_t>("bf16_u32"); }
TEST(ExhaustiveQuantizeBf16, I32) { all_of_16_bits<bf16, int32_t>("bf16_i32"); }

TEST(ExhaustiveQuantizeF16, F8e4m3fn) { all_of_16_bits<f16, f8e4m3fn>("f16_f8e4m3fn"); }
TEST(ExhaustiveQuantizeF16, F8e4m3fnuz) { all_of_16_bits<f16, f8e4m3fnuz>("f16_f8e4m3fnuz"); }
TEST(ExhaustiveQuantizeF16, F8e5m2) { all_of_16_bits<f16, f8e5m2>("f16_f8e5m2"); }
TEST(ExhaustiveQuantizeF16, F8e5m2fnuz) { all_of_16_bits<f16, f8e5m2fnuz>("f16_f8e5m2fnuz"); }
TEST(ExhaustiveQuantizeBf16, F8e4m3fn) { all_of_16_bits<bf16, f8e4m3fn>("bf16_f8e4m3fn"); }
TEST(ExhaustiveQuantizeBf16, F8e4m3fnuz) { all_of_16_bits<bf16, f8e4m3fnuz>("bf16_f8e4m3fnuz"); }
TEST(ExhaustiveQuantizeBf16, F8e5m2) { all_of_16_bits<bf16, f8e5m2>("bf16_f8e5m2"); }
TEST(ExhaustiveQuantizeBf16, F8e5m2fnuz) { all_of_16_bits<bf16, f8e5m2fnuz>("bf16_f8e5m2fnuz"); }

// All ties of a 16-bit output, and their neighbours up to 2 ulp. Quotients from -65535.5 to 65535.5
// cover every zero point.
template<class Q>
void all_ties(const std::string &signature) {
    constexpr size_t TIES = 131072, N = TIES * 5;
    const std::vector<Runner> all = runners("quantize_linear", signature, N);
    if (all.empty())
        GTEST_SKIP() << "quantize_linear_" << signature << ": no variant of it runs here";
    Random random("ExhaustiveQuantizeF32." + signature);
    std::vector<float> scales = {1, -0x1p-60f, 0x1p100f, 0x1p-149f, 0x1.fffffep0f};
    while (scales.size() < (EMULATED ? 8 : 100))
        scales.push_back(random_ordinary_scale(random, int(random.integer(-100, 100))));
    const std::vector<Q> zero_points = {0, std::numeric_limits<Q>::min(),
                                        std::numeric_limits<Q>::max(), Q(random.bits())};
    FirstFailure failure;
    on_two_threads(int64_t(scales.size()), [&](int64_t index) {
        const float scale = scales[size_t(index)];
        std::vector<float> x(N);
        for (size_t t = 0; t < TIES; t++) {
            const uint32_t bits = reference::to_bits((float(t) - 65535.5f) * scale);
            for (size_t ulp = 0; ulp < 5; ulp++)
                x[t * 5 + ulp] = reference::from_bits(bits + uint32_t(ulp) - 2);
        }
        for (const Q zero_point : zero_points) compare_quantize(all, x, scale, zero_point, failure);
    });
    EXPECT_FALSE(failure) << failure.text();
}

TEST(ExhaustiveQuantizeF32, U16Ties) { all_ties<uint16_t>("f32_u16"); }
TEST(ExhaustiveQuantizeF32, I16Ties) { all_ties<int16_t>("f32_i16"); }

// ---- DEQUANTIZE_LINEAR --------------------------------------------------------------------------

// All inputs of an 8- or 16-bit type, for many pairs of a scale and a zero point.
template<class X, class S>
void all_inputs(const std::string &types) {
    constexpr size_t N = size_t(1) << (8 * sizeof(X));
    const std::vector<Runner> all = runners("dequantize_linear", types, N);
    if (all.empty()) GTEST_SKIP() << "dequantize_linear of " << types << ": no variant runs here";
    std::vector<X> x(N);
    for (size_t i = 0; i < N; i++) x[i] = from_lowest<X>(i);
    Random random("ExhaustiveDequantize." + types);
    std::vector<S> scales = special_values<S>();
    for (int i = 0; i < 40; i++)
        scales.push_back(
            reference::from_f32<S>(random_ordinary_scale(random, int(random.integer(-12, 12)))));
    std::vector<X> zero_points;
    if (is_small_float<X>) zero_points = {X{}};  // they have no zero point
    else if (sizeof(X) == 1) zero_points = x;    // all
    FirstFailure failure;
    for (const S scale : scales) {
        if (left_out(random, 8)) continue;
        if constexpr (sizeof(X) == 2) {
            zero_points = {X(0), X(1), std::numeric_limits<X>::min(), std::numeric_limits<X>::max(),
                           X(random.bits())};
        }
        for (const X zero_point : zero_points) {
            std::vector<S> want(N), got(N);
            for (size_t i = 0; i < N; i++)
                want[i] = reference::dequantize_linear(x[i], scale, zero_point);
            for (const Runner &runner : all) {
                std::memset(got.data(), SENTINEL, got.size() * sizeof(S));
                if (!runner.run({x.data(), &scale, &zero_point, got.data()}))
                    failure.report(runner.variant() + " failed");
                const std::string text = differences<S>(runner, want, got, [&](size_t i) {
                    return "x " + text_of(x[i]) + ", scale " + text_of(scale) + ", zero point " +
                           text_of(zero_point);
                });
                if (!text.empty()) failure.report(text);
            }
            ASSERT_FALSE(failure) << failure.text();
        }
    }
}

TEST(ExhaustiveDequantize, I8) {
    all_inputs<int8_t, float>("i8_f32");
    all_inputs<int8_t, f16>("i8_f16");
    all_inputs<int8_t, bf16>("i8_bf16");
}
TEST(ExhaustiveDequantize, U8) {
    all_inputs<uint8_t, float>("u8_f32");
    all_inputs<uint8_t, f16>("u8_f16");
    all_inputs<uint8_t, bf16>("u8_bf16");
}
TEST(ExhaustiveDequantize, I16) {
    all_inputs<int16_t, float>("i16_f32");
    all_inputs<int16_t, f16>("i16_f16");
    all_inputs<int16_t, bf16>("i16_bf16");
}
TEST(ExhaustiveDequantize, U16) {
    all_inputs<uint16_t, float>("u16_f32");
    all_inputs<uint16_t, f16>("u16_f16");
    all_inputs<uint16_t, bf16>("u16_bf16");
}

template<class X>
void all_codes() {
    const std::string name = type_name(DataTypeOf<X>::value);
    all_inputs<X, float>(name + "_f32");
    all_inputs<X, f16>(name + "_f16");
    all_inputs<X, bf16>(name + "_bf16");
}
TEST(ExhaustiveDequantize, SmallFloats) {
    all_codes<f8e4m3fn>();
    all_codes<f8e4m3fnuz>();
    all_codes<f8e5m2>();
    all_codes<f8e5m2fnuz>();
}

// ---- Types of 6, 4 and 2 bits -------------------------------------------------------------------

// Calls visit(variant, types) for every variant of an operator that runs here, and all combinations
// of types with a sub-byte type that it takes. If `data` is given, the data must have that type.
template<class Visit>
void for_each_sub_byte(const std::string &operator_name, std::optional<hewn_data_type> data,
                       const Visit &visit) {
    int visited = 0;
    for (const Variant &variant : built_variants()) {
        const auto info = find_variant(variant.name);
        if (variant.operator_name != operator_name || !info || !info->supported) continue;
        for (const DataTypes &types : variant.all_types()) {
            if (std::none_of(types.begin(), types.end(), sub_byte_bits_of)) continue;
            if (data && types[0] != *data) continue;
            visited++;
            visit(variant, types);
            if (testing::Test::HasFatalFailure()) return;
        }
    }
    EXPECT_GT(visited, 0);
}

// All inputs of f16, with every zero point.
TEST(ExhaustiveSubByte, QuantizeF16) {
    const auto run = [](const Variant &variant, const DataTypes &types) {
        Random random("ExhaustiveSubByte." + variant.name);
        Problem problem = make_problem(variant.op(), types, {65536},
                                       {Layout::dense, Layout::scalar, Layout::scalar}, random);
        fill_inputs(problem, random);
        for (int64_t i = 0; i < 65536; i++) problem.inputs[0]->set(i, f16{uint16_t(i)});
        for (int zero_point = 0; zero_point < 1 << sub_byte_bits_of(types[2]); zero_point++) {
            if (left_out(random, 8)) continue;
            problem.inputs[2]->data()[0] = uint8_t(zero_point);
            for (const float scale : {0.1f, -2.5f, 1000.0f, 0x1p-20f}) {
                problem.inputs[1]->set(0, reference::to_f16(scale));
                ASSERT_TRUE(check(problem, variant.name)) << zero_point << " " << scale;
            }
        }
    };
    for_each_sub_byte("quantize_linear", HEWN_DATA_TYPE_FLOAT16, run);
}

// The same numbers as f32. NaN and infinity make a box divided, so that each scale is also taken
// without them.
TEST(ExhaustiveSubByte, QuantizeF32) {
    const auto run = [](const Variant &variant, const DataTypes &types) {
        Random random("ExhaustiveSubByte.F32." + variant.name);
        Problem problem = make_problem(variant.op(), types, {65536},
                                       {Layout::dense, Layout::scalar, Layout::scalar}, random);
        fill_inputs(problem, random);
        for (const bool all : {false, true}) {
            for (int64_t i = 0; i < 65536; i++) {
                const float x = reference::to_f32(f16{uint16_t(i)});
                problem.inputs[0]->set(i, all || std::isfinite(x) ? x : 0.0f);
            }
            for (int zero_point = 0; zero_point < 1 << sub_byte_bits_of(types[3]); zero_point++) {
                if (left_out(random, 8)) continue;
                problem.inputs[2]->data()[0] = uint8_t(zero_point);
                for (const float scale : {0.1f, -2.5f, 1000.0f, 0x1p-20f}) {
                    set_element(problem.inputs[1]->data(), 0, scale);
                    ASSERT_TRUE(check(problem, variant.name)) << zero_point << " " << scale;
                }
            }
        }
    };
    for_each_sub_byte("quantize_linear", HEWN_DATA_TYPE_FLOAT32,
                      [&](const Variant &variant, const DataTypes &types) {
                          if (types[1] == HEWN_DATA_TYPE_FLOAT32) run(variant, types);
                      });
}

// All inputs with every zero point, and with ordinary and extraordinary scales.
TEST(ExhaustiveSubByte, Dequantize) {
    for_each_sub_byte(
        "dequantize_linear", std::nullopt, [](const Variant &variant, const DataTypes &types) {
            Random random("ExhaustiveSubByte." + variant.name);
            // Every byte or, for elements of 6 bits, some of which lie in two bytes, every value
            // beside every value.
            const int bits = sub_byte_bits_of(types[0]), count = 1 << bits;
            const int64_t elements = bits == 6 ? 2 * count * count : 256 * 8 / bits;
            Problem problem = make_problem(variant.op(), types, {elements},
                                           {Layout::dense, Layout::scalar, Layout::scalar}, random);
            const auto fill_values = [&] {
                if (bits != 6) {
                    for (int b = 0; b < 256; b++) problem.inputs[0]->data()[b] = uint8_t(b);
                    return;
                }
                with_type<f6e2m3, f6e3m2>(types[0], [&](auto tag) {
                    fill(*problem.inputs[0], [&](int64_t i) {
                        const int64_t code = i % 2 ? i / 2 % count : i / 2 / count;
                        problem.inputs[0]->set(i, decltype(tag){uint8_t(code)});
                    });
                });
            };
            for (int zero_point = 0; zero_point < (is_code(types[0]) ? 1 : count); zero_point++) {
                for (int i = 0; i < (EMULATED ? 2 : 30); i++) {
                    fill_inputs(problem, random, i % 2 ? Scales::extraordinary : Scales::ordinary);
                    fill_values();
                    problem.inputs[2]->data()[0] = uint8_t(zero_point);
                    ASSERT_TRUE(check(problem, variant.name)) << zero_point;
                }
            }
        });
}

// ---- REQUANTIZE ---------------------------------------------------------------------------------

// All inputs of one type to one output type, for many scales. Half of the ordinary ones are prone
// to ties.
template<class X, class Y>
void all_requantized(const std::string &signature) {
    constexpr size_t N = 65536;  // values of 8 bits occur many times
    const std::vector<Runner> all = runners("requantize", signature, N);
    if (all.empty()) GTEST_SKIP() << "requantize_" << signature << ": no variant of it runs here";
    std::vector<X> x(N);
    for (size_t i = 0; i < N; i++) x[i] = X(i);
    Random random("ExhaustiveRequantize." + signature);
    std::vector<std::pair<float, float>> scales;
    for (int i = 0; i < 120; i++) {  // their ratio is a multiple of 1/8, or any number
        const float os = random_ordinary_scale(random, int(random.integer(-58, 58)));
        const float ratio = i % 2 ? float(random.integer(-40, 40)) / 8
                                  : random_ordinary_scale(random, int(random.integer(-9, 2)));
        scales.emplace_back(os * ratio, os);
    }
    for (int i = 0; i < 20; i++)
        scales.emplace_back(random.pick(special_f32()), random.pick(special_f32()));
    if (EMULATED) {
        random.shuffle(scales);
        scales.resize(scales.size() / 16);
    }
    FirstFailure failure;
    on_two_threads(int64_t(scales.size()), [&](int64_t index) {
        const float scale = scales[size_t(index)].first, os = scales[size_t(index)].second;
        const X zero_point = X(index * 37);
        const Y oz = Y(index * 89);
        std::vector<Y> want(N), got(N);
        for (size_t i = 0; i < N; i++)
            want[i] = reference::requantize(x[i], scale, zero_point, os, oz);
        for (const Runner &runner : all) {
            std::memset(got.data(), SENTINEL, got.size() * sizeof(Y));
            if (!runner.run({x.data(), &scale, &zero_point, &os, &oz, got.data()}))
                failure.report(runner.variant() + " failed");
            const std::string text = differences<Y>(runner, want, got, [&](size_t i) {
                return "x " + text_of(x[i]) + ", scales " + text_of(scale) + ", " + text_of(os) +
                       ", zero points " + text_of(zero_point) + ", " + text_of(oz);
            });
            if (!text.empty()) failure.report(text);
        }
    });
    EXPECT_FALSE(failure) << failure.text();
}

template<class X>
void all_requantized_from(const std::string &type) {
    all_requantized<X, int8_t>(type + "_i8");
    all_requantized<X, uint8_t>(type + "_u8");
    all_requantized<X, int16_t>(type + "_i16");
    all_requantized<X, uint16_t>(type + "_u16");
    all_requantized<X, int32_t>(type + "_i32");
}
TEST(ExhaustiveRequantize, I8) { all_requantized_from<int8_t>("i8"); }
TEST(ExhaustiveRequantize, U8) { all_requantized_from<uint8_t>("u8"); }
TEST(ExhaustiveRequantize, I16) { all_requantized_from<int16_t>("i16"); }
TEST(ExhaustiveRequantize, U16) { all_requantized_from<uint16_t>("u16"); }

// ---- ADD1 ---------------------------------------------------------------------------------------

// All sums of f16 or bf16, as a + -0 and as sums that are rounded, for every activation with many
// parameters.
template<class T>
void all_activated(const std::string &signature) {
    constexpr size_t N = 65536;
    if (runnable_variants("add1", signature).empty())
        GTEST_SKIP() << "add1_" << signature << ": no variant of it runs here";
    Random random("ExhaustiveAdd1." + signature);
    std::vector<T> a(N), none(N, reference::from_f32<T>(-0.0f)), b(N);
    for (size_t i = 0; i < N; i++) {
        a[i] = T{uint16_t(i)};
        b[i] = T{uint16_t(random.bits())};
    }
    std::vector<std::vector<int32_t>> sets;
    for (int32_t activation = HEWN_ACTIVATION_IDENTITY; activation <= HEWN_ACTIVATION_CLIP;
         activation++) {
        const bool fixed = activation == HEWN_ACTIVATION_IDENTITY ||
                           activation == HEWN_ACTIVATION_RELU ||
                           activation == HEWN_ACTIVATION_SOFTSIGN;
        for (int i = 0, n = fixed ? 1 : EMULATED ? 3 : 60; i < n; i++)
            sets.push_back(with_parameters(HEWN_OPERATOR_ADD1, {activation}, random));
    }
    FirstFailure failure;
    on_two_threads(int64_t(sets.size()), [&](int64_t index) {
        const std::vector<int32_t> &attributes = sets[size_t(index)];
        const auto parameter = [&](size_t i) {
            return reference::from_bits(uint32_t(attributes[i]));
        };
        const reference::ActivationParameters parameters = {
            parameter(1), parameter(2), parameter(3), parameter(4), parameter(5), parameter(6)};
        std::vector<T> want(N), got(N);
        for (const std::vector<T> &other : {none, b}) {
            for (size_t i = 0; i < N; i++)
                want[i] = reference::add1(a[i], other[i], reference::Activation(attributes[0]),
                                          parameters);
            for (const Runner &runner : runners("add1", signature, N, 0, attributes)) {
                std::memset(got.data(), SENTINEL, got.size() * sizeof(T));
                if (!runner.run({a.data(), other.data(), got.data()}))
                    failure.report(runner.variant() + " failed");
                const std::string text = differences<T>(runner, want, got, [&](size_t i) {
                    std::string inputs = text_of(a[i]) + " + " + text_of(other[i]) +
                                         ", activation " + std::to_string(attributes[0]);
                    for (size_t p = 1; p < attributes.size(); p++)
                        inputs += " " + text_of(parameter(p));
                    return inputs;
                });
                if (!text.empty()) failure.report(text);
            }
        }
    });
    EXPECT_FALSE(failure) << failure.text() << "; HEWN_SEED=" << seed();
}
TEST(ExhaustiveAdd1, F16) { all_activated<f16>("f16"); }
TEST(ExhaustiveAdd1, BF16) { all_activated<bf16>("bf16"); }

// ---- QUANTIZED_LINEAR_ADD -----------------------------------------------------------------------

template<class A, class B, class Q>
HEWN_TEST_CLONES void quantized_add_all(const A *a, float as, A az, const B *b, float bs, B bz,
                                        float os, Q oz, int activation, Q *y, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = reference::quantized_activation(
            reference::quantized_linear_add(a[i], as, az, b[i], bs, bz, os, oz), activation, os,
            oz);
}

// All pairs (a, b) of 8 bits, or all a of 16 bits with a random b each, for many scales and zero
// points. Many of the scales are prone to ties.
template<class A, class B, class Q>
void all_pairs(const std::string &signature) {
    constexpr size_t N = 65536;
    std::vector<std::vector<Runner>> of_activation;
    for (int32_t activation = HEWN_QUANTIZED_ACTIVATION_NONE;
         activation <= HEWN_QUANTIZED_ACTIVATION_RELU_N1_TO_1; activation++)
        of_activation.push_back(runners("quantized_linear_add", signature, N, 0, {activation}));
    if (of_activation.front().empty())
        GTEST_SKIP() << "quantized_linear_add_" << signature << ": no variant of it runs here";
    std::vector<A> a(N);
    std::vector<B> b(N);
    Random random("ExhaustiveQuantizedAdd." + signature);
    for (size_t i = 0; i < N; i++) {
        a[i] = A(sizeof(A) == 1 ? i & 255 : i);
        b[i] = B(sizeof(B) == 1 ? i >> 8 : random.bits());
    }
    struct Parameters {
        float as, bs, os;
        A az;
        B bz;
        Q oz;
    };
    std::vector<Parameters> sets;
    const auto add_set = [&](float as, float bs, float os) {
        sets.push_back({as, bs, os, A(random.bits()), B(random.bits()), Q(random.bits() | 1)});
    };
    for (const float os : {1.0f, 2.0f, -2.0f, 4.0f, 0.5f, 3.0f, 6.0f, -0x1p-60f, 0x1p59f}) {
        add_set(os / 2, os / 2, os);
        add_set(os / 2, -os, os);
        add_set(os / 4, os * 0.75f, os);
    }
    for (int i = 0; i < 150; i++) {  // as / os and bs / os are multiples of 1/8
        const float os = random_ordinary_scale(random, int(random.integer(-10, 10)));
        add_set(os * float(random.integer(-16, 16)) / 8, os * float(random.integer(-16, 16)) / 8,
                os);
    }
    for (int i = 0; i < 300; i++) {
        const int exponent = int(random.integer(-12, 12));
        add_set(random_ordinary_scale(random, exponent), random_ordinary_scale(random, exponent),
                random_ordinary_scale(random, exponent));
    }
    for (int i = 0; i < 10; i++)
        add_set(random.pick(special_f32()), random.pick(special_f32()), random.pick(special_f32()));
    FirstFailure failure;
    if (EMULATED) {
        random.shuffle(sets);
        sets.resize(sets.size() / 16);
    }
    on_two_threads(int64_t(sets.size()), [&](int64_t index) {
        const Parameters &p = sets[size_t(index)];
        std::vector<Q> want(N), got(N);
        // Every second set has no activation.
        const int activation = index % 2 ? 0 : int(index / 2 % 4);
        quantized_add_all(a.data(), p.as, p.az, b.data(), p.bs, p.bz, p.os, p.oz, activation,
                          want.data(), N);
        for (const Runner &runner : of_activation[size_t(activation)]) {
            // Only constants are folded (runtime/cpu/folding.h).
            for (const bool constant : {false, true}) {
                std::memset(got.data(), SENTINEL, got.size() * sizeof(Q));
                const std::vector<const void *> operands = {
                    a.data(), &p.as, &p.az, b.data(), &p.bs, &p.bz, &p.os, &p.oz, got.data()};
                if (!(constant ? runner.run_with_constants(operands) : runner.run(operands)))
                    failure.report(runner.variant() + " failed");
                const std::string text = differences<Q>(runner, want, got, [&](size_t i) {
                    return std::string(constant ? "constants" : "bound") + ", a " + text_of(a[i]) +
                           ", b " + text_of(b[i]) + ", scales " + text_of(p.as) + ", " +
                           text_of(p.bs) + ", " + text_of(p.os) + ", zero points " + text_of(p.az) +
                           ", " + text_of(p.bz) + ", " + text_of(p.oz) + ", activation " +
                           std::to_string(activation);
                });
                if (!text.empty()) failure.report(text);
            }
        }
    });
    EXPECT_FALSE(failure) << failure.text();
}

TEST(ExhaustiveQuantizedAdd, I8I8I8) { all_pairs<int8_t, int8_t, int8_t>("i8_i8_i8"); }
TEST(ExhaustiveQuantizedAdd, I8I8U8) { all_pairs<int8_t, int8_t, uint8_t>("i8_i8_u8"); }
TEST(ExhaustiveQuantizedAdd, I8U8I8) { all_pairs<int8_t, uint8_t, int8_t>("i8_u8_i8"); }
TEST(ExhaustiveQuantizedAdd, I8U8U8) { all_pairs<int8_t, uint8_t, uint8_t>("i8_u8_u8"); }
TEST(ExhaustiveQuantizedAdd, U8I8I8) { all_pairs<uint8_t, int8_t, int8_t>("u8_i8_i8"); }
TEST(ExhaustiveQuantizedAdd, U8I8U8) { all_pairs<uint8_t, int8_t, uint8_t>("u8_i8_u8"); }
TEST(ExhaustiveQuantizedAdd, U8U8I8) { all_pairs<uint8_t, uint8_t, int8_t>("u8_u8_i8"); }
TEST(ExhaustiveQuantizedAdd, U8U8U8) { all_pairs<uint8_t, uint8_t, uint8_t>("u8_u8_u8"); }
TEST(ExhaustiveQuantizedAdd, I16I16I16) { all_pairs<int16_t, int16_t, int16_t>("i16_i16_i16"); }
TEST(ExhaustiveQuantizedAdd, I16I16U16) { all_pairs<int16_t, int16_t, uint16_t>("i16_i16_u16"); }
TEST(ExhaustiveQuantizedAdd, I16U16I16) { all_pairs<int16_t, uint16_t, int16_t>("i16_u16_i16"); }
TEST(ExhaustiveQuantizedAdd, I16U16U16) { all_pairs<int16_t, uint16_t, uint16_t>("i16_u16_u16"); }
TEST(ExhaustiveQuantizedAdd, U16I16I16) { all_pairs<uint16_t, int16_t, int16_t>("u16_i16_i16"); }
TEST(ExhaustiveQuantizedAdd, U16I16U16) { all_pairs<uint16_t, int16_t, uint16_t>("u16_i16_u16"); }
TEST(ExhaustiveQuantizedAdd, U16U16I16) { all_pairs<uint16_t, uint16_t, int16_t>("u16_u16_i16"); }
TEST(ExhaustiveQuantizedAdd, U16U16U16) { all_pairs<uint16_t, uint16_t, uint16_t>("u16_u16_u16"); }

}  // namespace
}  // namespace hewn_test
