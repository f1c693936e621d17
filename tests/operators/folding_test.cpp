// Tests QUANTIZED_LINEAR_ADD's form `folded`. Its kernels must compute the form's formula in every
// layout. The search (runtime/cpu/folding.h) must give factors only if all pairs of inputs get the
// operator's result. Executions must use the form then, and only then.
#include "../../runtime/cpu/folding.h"

#include <gtest/gtest.h>
#include <hewn/hewn.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "../../reference/reference.h"
#include "../../reference/variants.h"
#include "../../runtime/base/bits.h"
#include "../../runtime/cpu/kernel.h"
#include "../../runtime/dispatch/device.h"
#include "../../runtime/dispatch/dispatch.h"
#include "../support/runnable.h"
#include "../support/spaces.h"

namespace {

using hewn::FoldedFactors;
using hewn::Quantization;

bool is_signed(halide_type_t type) { return type.code == halide_type_int; }
int number(uint8_t byte, halide_type_t type) { return is_signed(type) ? int8_t(byte) : byte; }

// a * b + c, rounded once to f32. std::fma is not called, because MinGW's rounds twice. The product
// is exact in double, and the sum is rounded to odd there: such a sum rounds to f32 as the exact
// one does.
float fused(float a, float b, float c) {
    const double product = double(a) * double(b), sum = product + c;
    const double rest = sum - product, error = (product - (sum - rest)) + (double(c) - rest);
    uint64_t bits;
    std::memcpy(&bits, &sum, sizeof bits);
    if (error != 0 && (bits & 1) == 0) bits += (error > 0) == (sum > 0) ? 1 : uint64_t(-1);
    double odd;
    std::memcpy(&odd, &bits, sizeof odd);
    return float(odd);
}

// The form's formula, in which RN rounds to f32:
// clamp(round(RN(a * factors.a + RN(b * factors.b + offset))) + zero_point)
uint8_t folded(const halide_type_t *types, uint8_t a, uint8_t b, const FoldedFactors &factors,
               int32_t zero_point) {
    const float quotient = fused(float(number(a, types[0])), factors.a,
                                 fused(float(number(b, types[1])), factors.b, factors.offset));
    const int low = is_signed(types[2]) ? -128 : 0;
    const int64_t sum = int64_t(std::nearbyint(quotient)) + zero_point;
    return uint8_t(std::clamp<int64_t>(sum, low, low + 255));
}

// The operator's result by the reference. Inputs and output are passed as bytes.
template<class A, class B, class Q>
uint8_t by_formula_of(uint8_t a, uint8_t b, const Quantization &q) {
    return uint8_t(reference::quantized_linear_add(A(a), q.scale[0], A(q.zero_point[0]), B(b),
                                                   q.scale[1], B(q.zero_point[1]), q.scale[2],
                                                   Q(q.zero_point[2])));
}
uint8_t by_formula(const halide_type_t *types, uint8_t a, uint8_t b, const Quantization &q) {
    using Function = uint8_t (*)(uint8_t, uint8_t, const Quantization &);
    using I = int8_t;
    using U = uint8_t;
    constexpr Function of[] = {by_formula_of<U, U, U>, by_formula_of<U, U, I>,
                               by_formula_of<U, I, U>, by_formula_of<U, I, I>,
                               by_formula_of<I, U, U>, by_formula_of<I, U, I>,
                               by_formula_of<I, I, U>, by_formula_of<I, I, I>};
    return of[is_signed(types[0]) * 4 + is_signed(types[1]) * 2 + is_signed(types[2])](a, b, q);
}

const halide_type_t kI8(halide_type_int, 8), kU8(halide_type_uint, 8);

// A variant of QUANTIZED_LINEAR_ADD that runs here and has the form `folded`.
struct Folded {
    std::string name;
    const hewn::Variant *variant;
    const hewn::Form *form;
    halide_type_t types[3];
    hewn_data_type data_types[3];
};

std::vector<Folded> folded_variants() {
    std::vector<Folded> found;
    for (const hewn_test::Variant &built : hewn_test::built_variants()) {
        if (built.operator_name != "quantized_linear_add" ||
            !hewn_test::find_variant(built.name)->supported)
            continue;
        const std::vector<hewn_data_type> types = built.types();
        Folded one = {built.name, nullptr, nullptr, {}, {types[0], types[3], types[8]}};
        EXPECT_EQ(
            hewn::pick_variant(built.operator_name.c_str(), built.signature.c_str(),
                               built.name.c_str(), {HEWN_DEVICE_CPU, 0}, {}, &one.variant, nullptr),
            HEWN_STATUS_OK);
        one.form = one.variant->form("folded");
        if (!one.form) continue;
        for (size_t t = 0; t < 3; t++) one.types[t] = hewn::halide_type(one.data_types[t]);
        found.push_back(one);
    }
    return found;
}

// kFitting has scales with which the formula's operations are all exact, so that folding changes
// nothing. kDiffering makes sums of sixths, whose ties are decided by the formula's roundings.
const Quantization kFitting = {{0x1p-5f, 0x1p-6f, 0x1p-5f}, {3, 7, 5}},
                   kDiffering = {{1, 1, 6}, {3, 7, 5}};

// ---- Kernels ----

using FoldedKernel = int (*)(const void *, halide_buffer_t *, halide_buffer_t *, int32_t, float,
                             float, float, halide_buffer_t *);

TEST(Folding, KernelsComputeWhatTheFormSays) {
    const std::vector<Folded> variants = folded_variants();
    if (variants.empty()) GTEST_SKIP() << "no variant of this build that runs here has the form";
    constexpr int kRows = 2, kWidest = 700;
    constexpr size_t kGuard = 64;
    std::mt19937 random(1);
    std::uniform_real_distribution<float> factor(-2, 2), offset(-300, 300);
    // Any factors; sixths, whose sums lie next to ties, so that their rounding shows; halves, whose
    // sums are ties; and factors whose quotients are as large as they may be.
    const auto pick_factors = [&](int kind) -> FoldedFactors {
        const float whole = float(int(random() % 300)) - 150;
        switch (kind) {
        case 0: return {factor(random), factor(random), offset(random)};
        case 1: return {1.0f / 6, random() % 2 ? 1.0f / 6 : -1.0f / 6, whole / 6};
        case 2: return {0.5f, random() % 2 ? 1.0f : -1.5f, whole / 2};
        default: return {0x1p20f * factor(random), 0x1p20f * factor(random), offset(random)};
        }
    };
    for (const Folded &one : variants) {
        for (int layout : {0b11, 0b10, 0b01}) {
            for (int width = 1; width <= kWidest; width += width < 300 ? 1 : 50) {
                SCOPED_TRACE(one.name + ", layout " + std::to_string(layout) + ", rows of " +
                             std::to_string(width));
                const FoldedFactors factors = pick_factors(width % 4);
                const int32_t zero_point = number(uint8_t(random()), one.types[2]);
                const size_t elements = size_t(width) * kRows;
                std::vector<uint8_t> data[3] = {std::vector<uint8_t>(elements),
                                                std::vector<uint8_t>(elements),
                                                std::vector<uint8_t>(elements + kGuard, 0xa5)};
                for (int o = 0; o < 2; o++)
                    std::generate(data[o].begin(), data[o].end(),
                                  [&] { return uint8_t(random()); });
                halide_dimension_t dims[3][2];
                halide_buffer_t buffers[3] = {};
                const int strides[3] = {layout >> 1, layout & 1, 1};
                for (int o = 0; o < 3; o++) {
                    dims[o][0] = {0, width, strides[o], 0};
                    dims[o][1] = {0, kRows, strides[o] ? width : 1, 0};
                    buffers[o].host = data[o].data();
                    buffers[o].type = one.types[o];
                    buffers[o].dimensions = 2;
                    buffers[o].dim = dims[o];
                }
                ASSERT_EQ(reinterpret_cast<FoldedKernel>(one.form->entry)(
                              nullptr, &buffers[0], &buffers[1], zero_point, factors.a, factors.b,
                              factors.offset, &buffers[2]),
                          0);
                std::vector<uint8_t> expected = data[2];
                for (int y = 0; y < kRows; y++) {
                    for (int x = 0; x < width; x++) {
                        const auto at = [&](int o) {
                            return data[o][size_t(int64_t(x) * dims[o][0].stride +
                                                  int64_t(y) * dims[o][1].stride)];
                        };
                        expected[size_t(int64_t(y) * width + x)] =
                            folded(one.types, at(0), at(1), factors, zero_point);
                    }
                }
                ASSERT_EQ(data[2], expected);
            }
        }
    }
}

// ---- The search ----

// Searches for factors. It stands for the kernels and computes in plain C++. Folded pairs for which
// `spoil` returns true come out wrong. Call number `fail_at` fails.
struct Computer {
    const Quantization quantization;
    halide_type_t types[3];
    std::function<bool(int a, int b)> spoil = [](int, int) { return false; };
    mutable int calls = 0;
    int fail_at = -1;
    hewn::Bytes a = hewn::all_bytes(), b = hewn::all_bytes();

    // Returns 1 if there are factors, 0 if none fit, -1 if the kernel failed.
    int find(FoldedFactors &factors) const {
        bool fits = false;
        const int code =
            hewn::find_folded_factors(quantization, types, a, b, compute, this, factors, fits);
        return code ? code : fits;
    }
    static int compute(const void *context, halide_buffer_t *operands,
                       const FoldedFactors *factors) {
        const Computer &self = *static_cast<const Computer *>(context);
        if (self.calls++ == self.fail_at) return -1;
        const halide_dimension_t *const dim = operands[2].dim;
        for (int y = 0; y < dim[1].extent; y++) {
            for (int x = 0; x < dim[0].extent; x++) {
                const auto at = [&](int o) -> uint8_t & {
                    return operands[o]
                        .host[x * operands[o].dim[0].stride + y * operands[o].dim[1].stride];
                };
                at(2) = factors ? folded(self.types, at(0), at(1), *factors,
                                         self.quantization.zero_point[2])
                                : by_formula(self.types, at(0), at(1), self.quantization);
                if (factors && self.spoil(at(0), at(1))) at(2) ^= 1;
            }
        }
        return 0;
    }
};

TEST(Folding, FindsFactorsOnlyWhereAllPairsAgree) {
    std::mt19937 random(2);
    int fitting = 0, other_than_nearest = 0;
    constexpr int kSets = 40;
    for (int i = 0; i < kSets; i++) {
        SCOPED_TRACE(i);
        halide_type_t types[3];
        Quantization q;
        const float scale = std::exp2(std::uniform_real_distribution<float>(-6, -2)(random));
        for (int t = 0; t < 3; t++) {
            types[t] = random() % 2 ? kI8 : kU8;
            q.zero_point[t] = is_signed(types[t]) ? -128 : 0;
            q.scale[t] = scale * std::uniform_real_distribution<float>(0.5, 1)(random);
        }
        const Computer searching = {q, {types[0], types[1], types[2]}};
        FoldedFactors factors;
        if (searching.find(factors) != 1) continue;
        fitting++;
        other_than_nearest +=
            factors.a != q.scale[0] / q.scale[2] || factors.b != q.scale[1] / q.scale[2];
        for (int pair = 0; pair < 1 << 16; pair++) {
            ASSERT_EQ(folded(searching.types, uint8_t(pair), uint8_t(pair >> 8), factors,
                             q.zero_point[2]),
                      by_formula(searching.types, uint8_t(pair), uint8_t(pair >> 8), q));
        }
    }
    EXPECT_GE(fitting, kSets * 3 / 4);  // 92 % of such scales fit
    EXPECT_GT(other_than_nearest, 0);   // factors next to the nearest are tried too
}

TEST(Folding, LooksAtEveryPair) {
    FoldedFactors factors;
    EXPECT_EQ((Computer{kFitting, {kI8, kU8, kI8}}.find(factors)), 1);
    EXPECT_EQ((Computer{kDiffering, {kI8, kU8, kI8}}.find(factors)), 0);
    std::mt19937 random(3);
    for (int i = 0; i < 40; i++) {
        const int a = i < 4 ? i % 2 * 255 : int(random() % 256),
                  b = i < 4 ? i / 2 * 255 : int(random() % 256);
        Computer one_wrong = {kFitting, {kI8, kU8, kI8}};
        one_wrong.spoil = [&](int x, int y) { return x == a && y == b; };
        EXPECT_EQ(one_wrong.find(factors), 0) << a << ", " << b;
    }
    Computer failing = {kFitting, {kI8, kU8, kI8}};
    for (failing.fail_at = 0; failing.fail_at < 32; failing.fail_at++) {
        failing.calls = 0;
        EXPECT_EQ(failing.find(factors), -1) << failing.fail_at;
    }
    failing.calls = 0;
    EXPECT_EQ(failing.find(factors), 1);  // there are 32 calls, none of which fails now
}

// A sum with the constant 3, as models compute HardSigmoid. Half of all b make ties, and so does 3,
// which is b = 255.
const Quantization kPlusThree = {{0.04564519f, 0.011764706f, 0.023529412f}, {90, 0, 0}};
constexpr uint8_t kThree = 255;

TEST(Folding, TriesWhatAConstantHolds) {
    FoldedFactors factors;
    Computer sum = {kPlusThree, {kU8, kU8, kU8}};
    EXPECT_EQ(sum.find(factors), 0);
    sum.b = hewn::bytes_in(&kThree, 1);
    ASSERT_EQ(sum.find(factors), 1);
    for (int a = 0; a < 256; a++)
        EXPECT_EQ(folded(sum.types, uint8_t(a), kThree, factors, 0),
                  by_formula(sum.types, uint8_t(a), kThree, kPlusThree));
    const uint8_t tie = 90;
    sum.b = hewn::all_bytes();
    sum.a = hewn::bytes_in(&tie, 1);
    EXPECT_EQ(sum.find(factors), 0) << "the ties, with all b";
    sum.a = sum.b = hewn::bytes_in(&kThree, 0);
    EXPECT_EQ(sum.find(factors), 1) << "of nothing but 0, for an empty tensor";

    const uint8_t some[] = {200, 7, 7, 0x80};
    const hewn::Bytes bytes = hewn::bytes_in(some, sizeof some);
    EXPECT_EQ(std::set<int>(std::begin(bytes.value), std::end(bytes.value)),
              std::set<int>({0, 7, 0x80, 200}));
    const hewn::Bytes all = hewn::all_bytes();
    EXPECT_EQ(std::set<int>(std::begin(all.value), std::end(all.value)).size(), 256u);
}

// ---- Executions ----

constexpr int64_t kPairs = 1 << 16;

// QUANTIZED_LINEAR_ADD of all pairs of inputs, with the variant's types and all zero points.
hewn::Problem problem_of_all_pairs(const Folded &of) {
    constexpr int64_t one = 1;
    const auto described = [](hewn_data_type type, const int64_t &size) {
        return hewn_tensor_desc{sizeof(hewn_tensor_desc), type, 1, &size, nullptr, nullptr};
    };
    const hewn_tensor_desc a = described(of.data_types[0], kPairs),
                           a_zero = described(of.data_types[0], one),
                           b = described(of.data_types[1], kPairs),
                           b_zero = described(of.data_types[1], one),
                           output = described(of.data_types[2], kPairs),
                           output_zero = described(of.data_types[2], one),
                           scale = described(HEWN_DATA_TYPE_FLOAT32, one);
    const hewn_quantized_linear_add_desc own = {sizeof own,
                                                &a,
                                                &scale,
                                                &a_zero,
                                                &b,
                                                &scale,
                                                &b_zero,
                                                &scale,
                                                &output_zero,
                                                &output,
                                                HEWN_QUANTIZED_ACTIVATION_NONE,
                                                0};
    const hewn_operator_desc desc = {sizeof desc, HEWN_OPERATOR_QUANTIZED_LINEAR_ADD, &own};
    hewn::Problem problem = {};
    hewn_error error = {sizeof error, 0, ""};
    EXPECT_EQ(hewn::read_operator(&desc, HEWN_FEATURE_LEVEL_NEWEST, problem, &error),
              HEWN_STATUS_OK)
        << error.message;
    return problem;
}

// The problem of all pairs, its kernel and the values of its inputs. execute() calls the kernel,
// and settle() decides what constants decide at compile.
struct AllPairs {
    const Folded &of;
    hewn::Problem problem;
    hewn::CpuKernel kernel = {};
    std::vector<uint8_t> a, b;
    Quantization parameters;
    uint8_t zero_points[3];
    float *const scale = parameters.scale;
    void *inputs[8] = {nullptr,   scale,           zero_points, nullptr,
                       scale + 1, zero_points + 1, scale + 2,   zero_points + 2};

    AllPairs(const Folded &of, const hewn::Variant &variant, const Quantization &q)
        : of(of), problem(problem_of_all_pairs(of)), parameters(q) {
        for (int64_t pair = 0; pair < kPairs; pair++) {
            a.push_back(uint8_t(pair));
            b.push_back(uint8_t(pair >> 8));
        }
        inputs[0] = a.data();
        inputs[3] = b.data();
        for (int t = 0; t < 3; t++) zero_points[t] = uint8_t(q.zero_point[t]);
        const hewn::Tensor *operands[hewn::kMaxOperands];
        const int count = hewn::list_operands(problem, operands);
        kernel.problem = &problem;
        hewn::CpuMode modes[hewn::kMaxModes];
        hewn::forms_of(*problem.info)
            .list_modes(hewn_test::merged(operands, count), variant, kernel, modes);
        kernel.call = modes[0].call;
    }
    std::vector<uint8_t> execute() {
        std::vector<uint8_t> result(size_t(kPairs), 0xa5);
        halide_dimension_t dims[2] = {{0, int32_t(kPairs), 1, 0}, {0, 1, 0, 0}};
        halide_buffer_t buffers[3] = {};
        std::vector<uint8_t> *const hosts[] = {&a, &b, &result};
        for (int o = 0; o < 3; o++) {
            buffers[o].host = hosts[o]->data();
            buffers[o].type = of.types[o];
            buffers[o].dimensions = 2;
            buffers[o].dim = dims;
        }
        hewn::CpuCall call(kernel, inputs, nullptr);
        EXPECT_EQ(kernel.call(call, buffers), 0);
        return result;
    }
    int settle(const hewn::Allocator &allocator) {
        hewn::KernelErrors errors;
        return hewn::forms_of(*problem.info).settle({}, allocator, kernel, inputs, &errors);
    }
};

FoldedKernel folded_entry;
int folded_calls;
int count_folded(const void *context, halide_buffer_t *a, halide_buffer_t *b, int32_t zero_point,
                 float of_a, float of_b, float offset, halide_buffer_t *output) {
    folded_calls++;
    return folded_entry(context, a, b, zero_point, of_a, of_b, offset, output);
}

using ReciprocalKernel = int (*)(const void *context, halide_buffer_t *a, halide_buffer_t *b,
                                 int32_t zero_point, float of_a, float of_b, int32_t a_zero_point,
                                 int32_t b_zero_point, float r0, float r1, halide_buffer_t *output);
ReciprocalKernel reciprocal_entry;
int reciprocal_calls;
int count_reciprocal(const void *context, halide_buffer_t *a, halide_buffer_t *b,
                     int32_t zero_point, float of_a, float of_b, int32_t a_zero_point,
                     int32_t b_zero_point, float r0, float r1, halide_buffer_t *output) {
    reciprocal_calls++;
    return reciprocal_entry(context, a, b, zero_point, of_a, of_b, a_zero_point, b_zero_point, r0,
                            r1, output);
}

// If scales and zero points are constants, the search is made at compile. The operator is folded if
// there are factors. Bound scales are never folded: they are multiplied by a reciprocal, unless a
// quotient may be too large.
TEST(Folding, ConstantsAreSettled) {
    const std::vector<Folded> variants = folded_variants();
    if (variants.empty()) GTEST_SKIP() << "no variant of this build that runs here has the form";
    const hewn::Allocator &allocator = hewn::default_device().allocator;
    const hewn::Allocator none = {[](void *, size_t, size_t) -> void * { return nullptr; },
                                  allocator.deallocate_hook, nullptr};
    for (const Folded &of : variants) {
        SCOPED_TRACE(of.name);
        hewn::Variant counting = *of.variant;
        counting.forms[of.form - of.variant->forms].entry =
            reinterpret_cast<hewn::KernelEntry>(count_folded);
        folded_entry = reinterpret_cast<FoldedKernel>(of.form->entry);
        hewn::Form *const reciprocal = const_cast<hewn::Form *>(counting.form("reciprocal"));
        ASSERT_NE(reciprocal, nullptr);
        reciprocal_entry = reinterpret_cast<ReciprocalKernel>(reciprocal->entry);
        reciprocal->entry = reinterpret_cast<hewn::KernelEntry>(count_reciprocal);
        for (const Quantization &q :
             {kFitting, kDiffering, Quantization{{0x1p30f, 1, 1}, {3, 7, 5}}}) {
            AllPairs pairs(of, counting, q);
            folded_calls = reciprocal_calls = 0;
            const std::vector<uint8_t> bound = pairs.execute();
            EXPECT_EQ(folded_calls, 0);
            EXPECT_EQ(reciprocal_calls, q.scale[0] != 0x1p30f);
            ASSERT_EQ(pairs.settle(allocator), 0);
            EXPECT_EQ(pairs.kernel.settled, nullptr) << "nothing is a constant";
            for (int i : {1, 2, 4, 5, 6, 7}) pairs.problem.inputs[i].constant = true;
            EXPECT_EQ(pairs.settle(none), hewn::kNoMemory);
            ASSERT_EQ(pairs.settle(allocator), 0);
            std::fill_n(pairs.scale, 3, 0.0f);  // must not be read any more
            folded_calls = 0;
            const std::vector<uint8_t> constant = pairs.execute();
            EXPECT_EQ(folded_calls, q.scale[0] == kFitting.scale[0]);
            for (size_t pair = 0; pair < size_t(kPairs); pair++) {
                ASSERT_EQ(bound[pair], by_formula(of.types, pairs.a[pair], pairs.b[pair], q))
                    << pair;
                ASSERT_EQ(constant[pair], bound[pair]) << pair;
            }
            allocator.deallocate(pairs.kernel.settled);
        }
    }
}

}  // namespace
