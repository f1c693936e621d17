// QUANTIZED_LINEAR_ADD's form `folded`: its kernels compute what it says in every layout, the search gives factors only where all
// pairs agree, and executions use it then.
#include "../../runtime/cpu/folding.h"

#include <gtest/gtest.h>
#include <hewn/hewn.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../../reference/reference.h"
#include "../../reference/variants.h"
#include "../../runtime/base/bits.h"
#include "../../runtime/cpu/kernel.h"
#include "../../runtime/dispatch/dispatch.h"
#include "../support/runnable.h"

namespace {

using hewn::FoldedFactors;
using hewn::Foldings;
using hewn::Quantization;

bool is_signed(halide_type_t type) { return type.code == halide_type_int; }
int number(uint8_t byte, halide_type_t type) { return is_signed(type) ? int8_t(byte) : byte; }

// RN(a * b + c). Not std::fma: MinGW's rounds twice. The exact product's sum in double, rounded to odd, rounds to f32 as the
// exact sum does.
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

// clamp(round(RN(a * factor + RN(b * factor + offset))) + zero_point)
uint8_t folded(const halide_type_t *types, uint8_t a, uint8_t b, const FoldedFactors &factors, int32_t zero_point) {
    const float quotient =
        fused(float(number(a, types[0])), factors.a, fused(float(number(b, types[1])), factors.b, factors.offset));
    const int low = is_signed(types[2]) ? -128 : 0;
    const int64_t sum = int64_t(std::nearbyint(quotient)) + zero_point;
    return uint8_t(std::clamp<int64_t>(sum, low, low + 255));
}

template<class A, class B, class Q>
uint8_t by_formula_of(uint8_t a, uint8_t b, const Quantization &q) {
    return uint8_t(reference::quantized_linear_add(A(a), q.scale[0], A(q.zero_point[0]), B(b), q.scale[1], B(q.zero_point[1]),
                                                   q.scale[2], Q(q.zero_point[2])));
}
uint8_t by_formula(const halide_type_t *types, uint8_t a, uint8_t b, const Quantization &q) {
    using Function = uint8_t (*)(uint8_t, uint8_t, const Quantization &);
    using I = int8_t;
    using U = uint8_t;
    constexpr Function of[] = {by_formula_of<U, U, U>, by_formula_of<U, U, I>, by_formula_of<U, I, U>, by_formula_of<U, I, I>,
                               by_formula_of<I, U, U>, by_formula_of<I, U, I>, by_formula_of<I, I, U>, by_formula_of<I, I, I>};
    return of[is_signed(types[0]) * 4 + is_signed(types[1]) * 2 + is_signed(types[2])](a, b, q);
}

const halide_type_t kI8(halide_type_int, 8), kU8(halide_type_uint, 8);

// A variant of the operator that runs here and has the form.
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
        if (built.operator_name != "quantized_linear_add" || !hewn_test::find_variant(built.name)->supported) continue;
        const std::vector<hewn_data_type> types = built.types();
        Folded one = {built.name, nullptr, nullptr, {}, {types[0], types[3], types[8]}};
        EXPECT_EQ(hewn::pick_variant(built.operator_name.c_str(), built.signature.c_str(), built.name.c_str(),
                                     {HEWN_DEVICE_CPU, 0}, {}, &one.variant, nullptr),
                  HEWN_STATUS_OK);
        one.form = one.variant->form("folded");
        if (!one.form) continue;
        for (size_t t = 0; t < 3; t++) one.types[t] = hewn::halide_type(one.data_types[t]);
        found.push_back(one);
    }
    return found;
}

// Scales whose formula has only exact operations, so that folding them changes nothing; and sums of sixths, whose ties its
// roundings decide.
const Quantization kFitting = {{0x1p-5f, 0x1p-6f, 0x1p-5f}, {3, 7, 5}}, kDiffering = {{1, 1, 6}, {3, 7, 5}};

// ---- Kernels ----

TEST(Folding, KernelsComputeWhatTheFormSays) {
    const std::vector<Folded> variants = folded_variants();
    if (variants.empty()) GTEST_SKIP() << "no variant of this build that runs here has the form";
    constexpr int kRows = 2, kWidest = 700;
    constexpr size_t kGuard = 64;
    std::mt19937 random(1);
    std::uniform_real_distribution<float> factor(-2, 2), offset(-300, 300);
    // Any factors; sixths, whose sums lie next to ties, where it shows how they are rounded; halves, whose sums are ties; and
    // quotients as large as may be.
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
                SCOPED_TRACE(one.name + ", layout " + std::to_string(layout) + ", rows of " + std::to_string(width));
                const FoldedFactors factors = pick_factors(width % 4);
                const int32_t zero_point = number(uint8_t(random()), one.types[2]);
                const size_t elements = size_t(width) * kRows;
                std::vector<uint8_t> data[3] = {std::vector<uint8_t>(elements), std::vector<uint8_t>(elements),
                                                std::vector<uint8_t>(elements + kGuard, 0xa5)};
                for (int o = 0; o < 2; o++) std::generate(data[o].begin(), data[o].end(), [&] { return uint8_t(random()); });
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
                using Kernel =
                    int (*)(const void *, halide_buffer_t *, halide_buffer_t *, int32_t, float, float, float, halide_buffer_t *);
                ASSERT_EQ(reinterpret_cast<Kernel>(one.form->entry)(nullptr, &buffers[0], &buffers[1], zero_point, factors.a,
                                                                    factors.b, factors.offset, &buffers[2]),
                          0);
                std::vector<uint8_t> expected = data[2];
                for (int y = 0; y < kRows; y++) {
                    for (int x = 0; x < width; x++) {
                        const auto at = [&](int o) {
                            return data[o][size_t(int64_t(x) * dims[o][0].stride + int64_t(y) * dims[o][1].stride)];
                        };
                        expected[size_t(int64_t(y) * width + x)] = folded(one.types, at(0), at(1), factors, zero_point);
                    }
                }
                ASSERT_EQ(data[2], expected);
            }
        }
    }
}

// ---- The search ----

// Computes in plain C++; where `spoil` says so, folded pairs come out wrong.
struct Computer {
    const Quantization quantization;
    halide_type_t types[3];
    std::function<bool(int a, int b)> spoil = [](int, int) { return false; };
    mutable int calls = 0;
    int fail_at = -1;

    // 1: there are factors, 0: none fit, -1: the kernel's error.
    int find(FoldedFactors &factors) const {
        bool fits = false;
        const int code = hewn::find_folded_factors(quantization, types, compute, this, factors, fits);
        return code ? code : fits;
    }
    static int compute(const void *context, halide_buffer_t *operands, const FoldedFactors *factors) {
        const Computer &self = *static_cast<const Computer *>(context);
        if (self.calls++ == self.fail_at) return -1;
        const halide_dimension_t *const dim = operands[2].dim;
        for (int y = 0; y < dim[1].extent; y++) {
            for (int x = 0; x < dim[0].extent; x++) {
                const auto at = [&](int o) -> uint8_t & {
                    return operands[o].host[x * operands[o].dim[0].stride + y * operands[o].dim[1].stride];
                };
                at(2) = factors ? folded(self.types, at(0), at(1), *factors, self.quantization.zero_point[2])
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
        other_than_nearest += factors.a != q.scale[0] / q.scale[2] || factors.b != q.scale[1] / q.scale[2];
        for (int pair = 0; pair < 1 << 16; pair++) {
            ASSERT_EQ(folded(searching.types, uint8_t(pair), uint8_t(pair >> 8), factors, q.zero_point[2]),
                      by_formula(searching.types, uint8_t(pair), uint8_t(pair >> 8), q));
        }
    }
    EXPECT_GE(fitting, kSets * 3 / 4);  // 92 % of such
    EXPECT_GT(other_than_nearest, 0);   // the factors beside the nearest are tried
}

TEST(Folding, LooksAtEveryPair) {
    FoldedFactors factors;
    EXPECT_EQ((Computer{kFitting, {kI8, kU8, kI8}}.find(factors)), 1);
    EXPECT_EQ((Computer{kDiffering, {kI8, kU8, kI8}}.find(factors)), 0);
    std::mt19937 random(3);
    for (int i = 0; i < 40; i++) {
        const int a = i < 4 ? i % 2 * 255 : int(random() % 256), b = i < 4 ? i / 2 * 255 : int(random() % 256);
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

// ---- What an operator knows ----

TEST(Folding, KnowsWhatWasSet) {
    Foldings foldings = {};
    FoldedFactors factors = {};
    EXPECT_EQ(foldings.find(kFitting, factors), Foldings::Unknown);
    foldings.set(kFitting, Foldings::Fits, {1, 2, 3});
    EXPECT_EQ(foldings.find(kFitting, factors), Foldings::Fits);
    EXPECT_EQ(factors.a, 1);
    EXPECT_EQ(factors.b, 2);
    EXPECT_EQ(factors.offset, 3);
    foldings.set(kDiffering, Foldings::Differs, {});
    EXPECT_EQ(foldings.find(kDiffering, factors), Foldings::Differs);
    for (int i = 0; i < 6; i++) {  // any other scale or zero point is another question
        for (int bit = 0; bit < (i < 3 ? 32 : 8); bit++) {
            Quantization other = kFitting;
            if (i < 3) other.scale[i] = hewn::float_of(hewn::bits_of(other.scale[i]) ^ 1u << bit);
            else other.zero_point[i - 3] ^= 1 << bit;
            EXPECT_EQ(foldings.find(other, factors), Foldings::Unknown) << i << ", bit " << bit;
        }
    }
}

// Nothing is known of an entry that is being written, or was when the process forked, and nobody else writes it: its sequence, of
// all that is kept the first in memory, is odd then.
TEST(Folding, LeavesAnEntryToItsWriter) {
    Foldings foldings = {};
    FoldedFactors factors = {};
    foldings.set(kFitting, Foldings::Fits, {1, 2, 3});
    auto &sequence = reinterpret_cast<std::atomic<uint32_t> &>(foldings);
    ASSERT_EQ(sequence, 2u);
    sequence++;
    EXPECT_EQ(foldings.find(kFitting, factors), Foldings::Unknown);
    foldings.set(kFitting, Foldings::Differs, {});
    EXPECT_EQ(sequence, 3u);
    sequence++;
    EXPECT_EQ(foldings.find(kFitting, factors), Foldings::Fits);
    EXPECT_EQ(factors.a, 1);
}

// An operator may serve eight nodes of a graph, in turn. A ninth takes one entry at most until it knows something.
TEST(Folding, KeepsEightSets) {
    Foldings foldings = {};
    FoldedFactors factors = {};
    const auto node = [](int i) { return Quantization{{1, 2, float(i + 1)}, {0, 0, 0}}; };
    constexpr int64_t kPart = hewn::kElementsBeforeSearch / 4;
    for (int turn = 1; turn <= 4; turn++) {
        for (int i = 0; i < 8; i++) {
            const bool enough = foldings.count(node(i), kPart);
            EXPECT_EQ(enough, turn == 4) << i;
            if (enough) foldings.set(node(i), Foldings::Fits, {float(i), 0, 0});
        }
    }
    const auto known = [&] {
        int count = 0;
        for (int i = 0; i < 8; i++) {
            if (foldings.find(node(i), factors) != Foldings::Fits) continue;
            count++;
            EXPECT_EQ(factors.a, float(i));
        }
        return count;
    };
    EXPECT_EQ(known(), 8);
    // Many others do not drive them out: one is let in for all that eight would need.
    for (int i = 8; i < 8 + 31; i++) EXPECT_FALSE(foldings.count(node(i), kPart));
    EXPECT_EQ(known(), 8);
    for (int i = 8 + 31; i < 100; i++) EXPECT_FALSE(foldings.count(node(i), kPart));
    EXPECT_EQ(known(), 7);
}

// More sets in turn than there are entries: eight are searched for all the same.
TEST(Folding, KeepsEightSetsOfMore) {
    for (const int sets : {9, 16, 100}) {
        Foldings foldings = {};
        FoldedFactors factors = {};
        constexpr int64_t kPart = hewn::kElementsBeforeSearch / 5;
        int folded = 0, executed = 0;
        for (int turn = 0; turn < 200; turn++) {
            for (int i = 0; i < sets; i++) {
                const Quantization node = {{1, 2, float(i + 1)}, {0, 0, 0}};
                executed++;
                if (foldings.find(node, factors) == Foldings::Fits) folded++;
                else if (foldings.count(node, kPart)) foldings.set(node, Foldings::Fits, {float(i), 0, 0});
            }
        }
        EXPECT_GT(folded, executed * 6 / sets) << sets;
    }
}

TEST(Folding, SearchesAfterEnoughElements) {
    Foldings foldings = {};
    constexpr int64_t kEnough = hewn::kElementsBeforeSearch, kStep = 1000;
    int searches = 0;
    for (int64_t n = kStep; n < 3 * kEnough; n += kStep) {
        if (!foldings.count(kFitting, kStep)) continue;
        searches++;  // nothing is set: again after as many
        EXPECT_GE(n, searches * kEnough);
        EXPECT_LT(n, searches * kEnough + kStep);
    }
    EXPECT_EQ(searches, 2);
    // Scales that change with every execution are never searched for.
    Quantization changing = kFitting;
    for (int i = 0; i < 10000; i++) {
        changing.scale[2] = float(1 + i % 100);
        EXPECT_FALSE(foldings.count(changing, kStep));
    }
}

// Threads read and write at once: whatever is found belongs together.
TEST(Folding, MixesNothing) {
    Foldings foldings = {};
    const auto work = [&](unsigned seed) {
        std::mt19937 random(seed);
        int found = 0;
        for (int i = 0; i < 200000; i++) {
            const float n = float(random() % 16);
            const Quantization q = {{n, 2 * n, 3 * n}, {int(n), int(n), int(n)}};
            FoldedFactors factors;
            if (random() % 4 == 0) foldings.set(q, Foldings::Fits, {n, -n, n / 2});
            else if (random() % 8 == 0) foldings.count(q, 1);
            else if (foldings.find(q, factors) == Foldings::Fits) {
                found++;
                if (factors.a != n || factors.b != -n || factors.offset != n / 2) return -1;
            }
        }
        return found;
    };
    int found[3];
    std::thread others[2];
    for (unsigned t = 0; t < 2; t++) others[t] = std::thread([&, t] { found[t] = work(t); });
    found[2] = work(2);
    for (std::thread &other : others) other.join();
    for (int count : found) EXPECT_GT(count, 0);
}

// Two threads do nothing but write sets in turn, more of them than there are entries, and a third looks for each: entries change
// while they are read even where a busy machine seldom runs threads at once.
TEST(Folding, MixesNothingWhileSetsChange) {
    Foldings foldings = {};
    constexpr int kSets = 16;
    const auto set_of = [](int n) { return Quantization{{float(n), 2.0f * float(n), 3.0f * float(n)}, {n, n, n}}; };
    const auto write = [&] {
        for (int n = 0; n < kSets; n++) foldings.set(set_of(n), Foldings::Fits, {float(n), -float(n), float(n) / 2});
    };
    write();
    std::atomic<bool> enough{false};
    std::thread writers[2];
    for (std::thread &writer : writers) {
        writer = std::thread([&] {
            while (!enough) write();
        });
    }
    // Until the writers were seen at work often enough, however busy the machine is. With one CPU that would take too long.
    uint32_t before = 0;
    int changes = 0, found = 0, mixed = 0;
    for (int looks = 0; looks < 1000000 && changes < 100000; looks++) {
        uint32_t now = 0;
        for (int n = 0; n < kSets; n++) {
            FoldedFactors factors;
            if (foldings.find(set_of(n), factors) != Foldings::Fits) continue;
            now |= 1u << n;
            found++;
            mixed += factors.a != float(n) || factors.b != -float(n) || factors.offset != float(n) / 2;
        }
        changes += now != before;
        before = now;
    }
    enough = true;
    for (std::thread &writer : writers) writer.join();
    EXPECT_GT(found, 0);
    EXPECT_EQ(mixed, 0);
}

// ---- Executions ----

TEST(Folding, ExecutionsUseIt) {
    const std::vector<Folded> variants = folded_variants();
    if (variants.empty()) GTEST_SKIP() << "no variant of this build that runs here has the form";
    constexpr int64_t kElements = 1 << 16, one = 1;
    for (const Folded &of : variants) {
        SCOPED_TRACE(of.name);
        const hewn_tensor_desc a = {sizeof a, of.data_types[0], 1, &kElements, nullptr};
        const hewn_tensor_desc b = {sizeof b, of.data_types[1], 1, &kElements, nullptr};
        const hewn_tensor_desc output = {sizeof output, of.data_types[2], 1, &kElements, nullptr};
        const hewn_tensor_desc scale = {sizeof scale, HEWN_DATA_TYPE_FLOAT32, 1, &one, nullptr};
        const hewn_tensor_desc a_zero = {sizeof a_zero, of.data_types[0], 1, &one, nullptr};
        const hewn_tensor_desc b_zero = {sizeof b_zero, of.data_types[1], 1, &one, nullptr};
        const hewn_tensor_desc output_zero = {sizeof output_zero, of.data_types[2], 1, &one, nullptr};
        const hewn_quantized_linear_add_desc own = {sizeof own, &a,      &scale, &a_zero,      &b,
                                                    &scale,     &b_zero, &scale, &output_zero, &output};
        const hewn_operator_desc desc = {sizeof desc, HEWN_OPERATOR_QUANTIZED_LINEAR_ADD, &own};
        hewn::Problem problem = {};
        hewn_error error = {sizeof error, 0, ""};
        ASSERT_EQ(hewn::read_operator(&desc, HEWN_FEATURE_LEVEL_NEWEST, problem, &error), HEWN_STATUS_OK) << error.message;
        const hewn::Tensor *operands[hewn::kMaxOperands];
        const int count = hewn::list_operands(problem, operands);
        hewn::CpuKernel kernel = {};
        kernel.problem = &problem;
        forms_of(*problem.info).choose(hewn::merge_dimensions(operands, count), *of.variant, kernel);

        std::vector<uint8_t> data[3] = {std::vector<uint8_t>(size_t(kElements)), std::vector<uint8_t>(size_t(kElements)),
                                        std::vector<uint8_t>(size_t(kElements))};
        for (int64_t pair = 0; pair < kElements; pair++) {
            data[0][size_t(pair)] = uint8_t(pair);
            data[1][size_t(pair)] = uint8_t(pair >> 8);
        }
        halide_dimension_t dims[2] = {{0, int32_t(kElements), 1, 0}, {0, 1, 0, 0}};
        halide_buffer_t buffers[3] = {};
        for (int o = 0; o < 3; o++) {
            buffers[o].host = data[o].data();
            buffers[o].type = of.types[o];
            buffers[o].dimensions = 2;
            buffers[o].dim = dims;
        }
        struct Case {
            Quantization quantization;
            std::string by_formula;  // the form until it is known, or for good
            Foldings::State state;
        };
        const Quantization kUnbounded = {{0x1p30f, 1, 1}, {3, 7, 5}};
        for (const Case &expected :
             {Case{kFitting, "reciprocal", Foldings::Fits}, Case{kDiffering, "reciprocal", Foldings::Differs},
              Case{kUnbounded, "divide", Foldings::Unknown}}) {
            SCOPED_TRACE(int(expected.state));
            const Quantization &q = expected.quantization;
            const uint8_t zero_points[3] = {uint8_t(q.zero_point[0]), uint8_t(q.zero_point[1]), uint8_t(q.zero_point[2])};
            void *inputs[] = {data[0].data(),
                              const_cast<float *>(&q.scale[0]),
                              const_cast<uint8_t *>(&zero_points[0]),
                              data[1].data(),
                              const_cast<float *>(&q.scale[1]),
                              const_cast<uint8_t *>(&zero_points[1]),
                              const_cast<float *>(&q.scale[2]),
                              const_cast<uint8_t *>(&zero_points[2])};
            constexpr int kSearching = int(hewn::kElementsBeforeSearch / kElements);  // which execution does
            for (int execution = 1; execution <= kSearching + 4; execution++) {
                hewn::CpuCall call(kernel, inputs, nullptr);
                std::fill(data[2].begin(), data[2].end(), uint8_t(0xa5));
                ASSERT_EQ(kernel.call(call, buffers), 0);
                for (size_t pair = 0; pair < size_t(kElements); pair++)
                    ASSERT_EQ(data[2][pair], by_formula(of.types, data[0][pair], data[1][pair], q)) << pair;
                const std::string form = call.parameters.form->name;
                EXPECT_EQ(form, execution >= kSearching && expected.state == Foldings::Fits ? "folded" : expected.by_formula)
                    << execution;
            }
            FoldedFactors factors;
            EXPECT_EQ(kernel.foldings.find(q, factors), expected.state);
        }
    }
}

}  // namespace
