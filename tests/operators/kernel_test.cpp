// Calls kernels by themselves, with arguments that executions on this machine may never give them:
// distances to prefetch, parameters in the layouts of certain forms. Also tests how dispatch
// chooses on chips other than this one.
#include <HalideRuntime.h>
#include <gtest/gtest.h>
#include <hewn/hewn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "../../reference/operators.h"
#include "../../reference/variants.h"
#include "../../runtime/base/kernel_contract.h"
#include "../../runtime/dispatch/chip.h"
#include "../../runtime/dispatch/dispatch.h"
#include "../support/runnable.h"

namespace {

constexpr uint8_t kUntouched = 0xa5;
constexpr size_t kGuard = 64;  // bytes after an output

using hewn_test::DataTypes;
using hewn_test::element_bytes;

// Finite numbers. Floats that are then quantized lie within the output's range and around it.
std::vector<uint8_t> random_elements(hewn_data_type type, int count, std::mt19937 &random) {
    const size_t bytes = element_bytes(type);
    std::vector<uint8_t> elements(size_t(count) * bytes);
    for (size_t i = 0; i < elements.size(); i += bytes) {
        const float number = std::uniform_real_distribution<float>(-700, 700)(random);
        const int64_t integer = int64_t(number);
        const uint16_t half = uint16_t(random() % 2 << 15 | (0x3c00 + random() % 0x2000));
        if (type == HEWN_DATA_TYPE_FLOAT32) std::memcpy(&elements[i], &number, sizeof number);
        else if (type == HEWN_DATA_TYPE_FLOAT16) std::memcpy(&elements[i], &half, sizeof half);
        else std::memcpy(&elements[i], &integer, bytes);
    }
    return elements;
}

// The format of f8e4m3fn, which kernels of codes get in the place of zero points, `count` times.
std::vector<uint8_t> formats(int count) {
    const auto field = [](hewn::FormatField f, uint32_t value) { return value << f.at; };
    const std::vector<uint32_t> words(
        size_t(count), field(hewn::kFormatMantissa, 3) | field(hewn::kFormatSign, 7) |
                           field(hewn::kFormatBias, 7) | field(hewn::kFormatLargest, 0x7e) |
                           field(hewn::kFormatNan, 0x7f) | field(hewn::kFormatSaturates, 1));
    const auto *const first = reinterpret_cast<const uint8_t *>(words.data());
    return {first, first + words.size() * sizeof words[0]};
}

// A buffer of rows, as kernels take it. With `x_stride` 0 one element stands for all.
struct Rows {
    halide_dimension_t dims[2];
    halide_buffer_t buffer = {};

    Rows(std::vector<uint8_t> &elements, int width, int rows, int x_stride)
        : dims{{0, width, x_stride, 0}, {0, rows, x_stride ? width : 0, 0}} {
        buffer.host = elements.data();
        buffer.dim = dims;
        buffer.dimensions = 2;
    }
};

template<class... Arguments>
void call(const hewn::Form &form, Arguments... arguments) {
    EXPECT_EQ(
        reinterpret_cast<int (*)(const void *, Arguments...)>(form.entry)(nullptr, arguments...),
        0);
}

// A kernel in a form that may prefetch. The form `repeating` has a test of its own below.
class PrefetchingKernel {
public:
    PrefetchingKernel(const hewn_variant_info &info, const hewn::Form &form)
        : form_(form),
          operator_(hewn_test::parse_operator(info.operator_name)),
          types_(hewn_test::operand_types(operator_, info.signature)) {
        if (operator_ == HEWN_OPERATOR_QUANTIZE_LINEAR) types_ = {types_.front(), types_.back()};
    }

    // Calls the kernel for rows of random inputs, which are the same for the same seed, and returns
    // the output's elements. `layout` says which inputs are contiguous along a row. The kernel
    // prefetches `distance` elements ahead. The output lies on the input with the number
    // `in_place`, if that is not negative.
    std::vector<uint8_t> run(uint32_t layout, int width, int rows, int distance, unsigned seed,
                             int in_place = -1) const {
        std::mt19937 random(seed);
        const int inputs = int(types_.size()) - 1, count = width * rows;
        std::vector<std::vector<uint8_t>> elements;
        for (int i = 0; i < inputs; i++) {
            const hewn_data_type type = types_[size_t(i)];
            const bool is_format = i == 2 && hewn_test::is_code(type);
            elements.push_back(is_format ? formats(count) : random_elements(type, count, random));
        }
        const size_t output_bytes = size_t(count) * element_bytes(types_.back());
        elements.emplace_back(output_bytes + kGuard, kUntouched);
        std::vector<Rows> buffers;
        buffers.reserve(elements.size());
        for (int i = 0; i <= inputs; i++)
            buffers.emplace_back(elements[size_t(i)], width, rows,
                                 i == inputs ? 1 : int(layout >> (inputs - 1 - i) & 1));
        if (in_place >= 0) buffers.back().buffer.host = buffers[size_t(in_place)].buffer.host;
        const auto at = [&](int i) { return &buffers[size_t(i)].buffer; };
        switch (operator_) {
        case HEWN_OPERATOR_ADD:
        case HEWN_OPERATOR_ADD1: call(form_, at(0), at(1), distance, at(2)); break;
        case HEWN_OPERATOR_QUANTIZE_LINEAR: quantize(at(0), distance, at(1), rows); break;
        case HEWN_OPERATOR_DEQUANTIZE_LINEAR:
            call(form_, at(0), at(1), at(2), distance, at(3));
            break;
        default: ADD_FAILURE() << "how are kernels of operator " << operator_ << " called?";
        }
        for (size_t i = output_bytes; i < elements.back().size(); i++)
            EXPECT_EQ(elements.back()[i], kUntouched);
        std::vector<uint8_t> &output =
            elements[in_place >= 0 ? size_t(in_place) : elements.size() - 1];
        output.resize(output_bytes);
        return output;
    }

private:
    // Calls the form `reciprocal`, with reciprocals and a zero point for each row.
    void quantize(halide_buffer_t *input, int distance, halide_buffer_t *output, int rows) const {
        std::vector<float> r0, r1;
        std::vector<uint8_t> zero_points;
        for (int y = 0; y < rows; y++) {
            r0.push_back(1 / (3.0f + float(y)));
            r1.push_back(0x1p-27f);
            zero_points.push_back(uint8_t(3 + y));
        }
        if (hewn_test::is_code(types_.back())) zero_points = formats(rows);
        halide_dimension_t dims[] = {{0, 1, 0, 0}, {0, rows, 1, 0}};
        halide_buffer_t parameters[3] = {};
        for (halide_buffer_t &buffer : parameters) {
            buffer.dim = dims;
            buffer.dimensions = 2;
        }
        parameters[0].host = reinterpret_cast<uint8_t *>(r0.data());
        parameters[1].host = reinterpret_cast<uint8_t *>(r1.data());
        parameters[2].host = reinterpret_cast<uint8_t *>(zero_points.data());
        call(form_, input, input, &parameters[0], &parameters[1], &parameters[2], distance, output);
    }

    const hewn::Form &form_;
    const hewn_operator_type operator_;
    DataTypes types_;  // of the inputs that are buffers, then of the output
};

// Prefetching changes no result. Executions prefetch only what exceeds a core's own caches, and
// only on chips whose last cache is near. Here every kernel that can prefetch does.
TEST(Kernel, PrefetchingChangesNoResult) {
    int kernels = 0;
    for (uint32_t v = 0; v < hewn_variant_count(); v++) {
        hewn_variant_info info = {};
        info.struct_size = sizeof info;
        ASSERT_EQ(hewn_get_variant(v, &info), HEWN_STATUS_OK);
        const std::string name = info.operator_name;
        // Kernels with scalars compute for too long to prefetch.
        if (hewn_test::facts(name).has_scalars() || !info.supported ||
            info.device != HEWN_DEVICE_CPU)
            continue;
        if (std::string(info.target).find("avx512") == std::string::npos)
            continue;  // other targets do not prefetch
        const hewn::Variant *variant = nullptr;
        ASSERT_EQ(hewn::pick_variant(info.operator_name, info.signature, info.name,
                                     {HEWN_DEVICE_CPU, 0}, {}, &variant, nullptr),
                  HEWN_STATUS_OK);
        const hewn::Form *form =
            variant->form(name == "quantize_linear" ? "reciprocal" : "general");
        if (!form) continue;
        kernels++;
        SCOPED_TRACE(info.name);
        const PrefetchingKernel kernel(info, *form);
        for (uint32_t layout = 0; layout < 8; layout++) {
            if (!(form->layouts >> layout & 1)) continue;
            for (int width = 1; width <= 700; width += width < 300 ? 1 : 50) {
                SCOPED_TRACE("layout " + std::to_string(layout) + ", rows of " +
                             std::to_string(width));
                const auto expected = kernel.run(layout, width, 2, 0, unsigned(width));
                for (const int distance : {1, 256, 1 << 24}) {
                    EXPECT_EQ(kernel.run(layout, width, 2, distance, unsigned(width)), expected);
                    for (int i = 0; name == "add" && layout == 0b11 && i < 2; i++)
                        EXPECT_EQ(kernel.run(layout, width, 2, distance, unsigned(width), i),
                                  expected);
                }
            }
        }
    }
    if (kernels == 0) GTEST_SKIP() << "no kernel of this build that runs here has such a form";
}

// On a chip that runs AVX-512's vectors in halves, a variant for AVX-512 may have a lower priority
// than the one for AVX2, but never a lower one than that for SSE4.1. If it is forced, it runs there
// as well.
TEST(Dispatch, CountsVectorsInHalvesAsTuned) {
    if (const char *forced = std::getenv("HEWN_VARIANT"); forced && *forced)
        GTEST_SKIP() << "HEWN_VARIANT forces " << forced;
    const hewn::Chip in_halves = {0x19, 1 << 20, 32 << 20}, whole = {0x1a, 1 << 20, 32 << 20},
                     other = {};
    for (const hewn_test::Variant &built : hewn_test::built_variants()) {
        if (!hewn_test::find_variant(built.name)->supported) continue;
        SCOPED_TRACE(built.name);
        const auto pick = [&](const char *forced, const hewn::Chip &chip) {
            const hewn::Variant *variant = nullptr;
            EXPECT_EQ(hewn::pick_variant(built.operator_name.c_str(), built.signature.c_str(),
                                         forced, {HEWN_DEVICE_CPU, 0}, chip, &variant, nullptr),
                      HEWN_STATUS_OK);
            return variant;
        };
        const hewn::Variant *const highest = pick(nullptr, other), *const picked =
                                                                       pick(nullptr, in_halves);
        EXPECT_EQ(pick(nullptr, whole), highest);
        for (const char *const forced : {built.name.c_str(), highest->target->name})
            EXPECT_EQ(pick(forced, in_halves), pick(forced, other));
        const int64_t priority = highest->plan->priority_in_halves;
        const std::string target = highest->target->name;
        if (priority != 0) {
            EXPECT_EQ(target, "x86_64_avx512");
        }
        if (priority == 0 || !hewn_test::find_variant(built.operator_name + "_" + built.signature +
                                                      "__x86_64_avx2")) {
            EXPECT_EQ(picked, highest);
            continue;
        }
        EXPECT_STREQ(picked->target->name, "x86_64_avx2");
    }
}

// The form `repeating` reads only the first 16 parameters of a row. It must give what the forms
// give that read whole rows of parameters: for rows of whole periods, with every number of steps
// and vectors, with parameters that differ from row to row, and whatever is prefetched.
TEST(Kernel, RepeatingIsTheSameAsRows) {
    constexpr int kRows = 3, kRead = 16;
    int kernels = 0;
    for (const hewn_test::Variant &built : hewn_test::built_variants()) {
        if (!hewn_test::find_variant(built.name)->supported || built.device() != HEWN_DEVICE_CPU)
            continue;
        const hewn::Variant *variant = nullptr;
        ASSERT_EQ(
            hewn::pick_variant(built.operator_name.c_str(), built.signature.c_str(),
                               built.name.c_str(), {HEWN_DEVICE_CPU, 0}, {}, &variant, nullptr),
            HEWN_STATUS_OK);
        const hewn::Form *repeating = variant->form("repeating");
        if (!repeating) continue;
        kernels++;
        SCOPED_TRACE(built.name);
        ASSERT_TRUE(hewn_test::facts(built.operator_name).is_linear())
            << "how is its form `repeating` called?";
        const bool quantizes = built.op() == HEWN_OPERATOR_QUANTIZE_LINEAR;
        const DataTypes operands = built.types();
        const hewn_data_type from = operands[0], to = operands[3];
        std::mt19937 random{unsigned(kernels)};
        for (const int period : {1, 2, 4, 8}) {
            for (int width = kRead; width <= 700; width += width < 300 ? period : 13 * period) {
                SCOPED_TRACE("period " + std::to_string(period) + ", rows of " +
                             std::to_string(width));
                std::vector<uint8_t> input = random_elements(from, width * kRows, random);
                // Whole rows of parameters, and the same with other values after the first 16.
                std::vector<uint8_t> whole[3], first[3];
                // The parameters are reciprocals in two parts, or a scale, and a zero point.
                const hewn_data_type scale =
                    quantizes ? hewn_data_type(HEWN_DATA_TYPE_FLOAT32) : operands[1];
                const hewn_data_type types[] = {scale, scale, operands[2]};
                for (int p = 0; p < 3; p++) {
                    const size_t bytes = element_bytes(types[p]), row = size_t(width) * bytes;
                    whole[p] = random_elements(types[p], width * kRows, random);
                    // Reciprocals with quotients within the output's range and around it. The
                    // second part is smaller by 2^25.
                    if (quantizes && p < 2) {
                        for (size_t at = 0; at < whole[p].size(); at += sizeof(float)) {
                            float number;
                            std::memcpy(&number, &whole[p][at], sizeof number);
                            number *= p == 0 ? 0x1p-11f : 0x1p-36f;
                            std::memcpy(&whole[p][at], &number, sizeof number);
                        }
                    }
                    first[p] = whole[p];
                    for (size_t y = 0; y < kRows; y++) {
                        for (size_t at = size_t(period) * bytes; at < row; at++)
                            whole[p][y * row + at] =
                                whole[p][y * row + at - size_t(period) * bytes];
                        std::memcpy(&first[p][y * row], &whole[p][y * row], kRead * bytes);
                    }
                }
                const auto run = [&](std::vector<uint8_t>(&p)[3], const auto &call_form) {
                    std::vector<uint8_t> output(size_t(width * kRows) * element_bytes(to) + kGuard,
                                                kUntouched);
                    Rows in(input, width, kRows, 1), r0(p[0], width, kRows, 1),
                        r1(p[1], width, kRows, 1), z(p[2], width, kRows, 1),
                        out(output, width, kRows, 1);
                    call_form(&in.buffer, &r0.buffer, &r1.buffer, &z.buffer, &out.buffer);
                    for (size_t i = output.size() - kGuard; i < output.size(); i++)
                        EXPECT_EQ(output[i], kUntouched);
                    return output;
                };
                const auto expected =
                    run(whole, [&](auto *i, auto *r0, auto *r1, auto *z, auto *o) {
                        if (quantizes) call(*variant->form("columns"), i, r0, r1, z, o);
                        else call(*variant->form("general"), i, r0, z, int32_t(0), o);
                    });
                for (const int32_t distance : {0, 1, 256, 1 << 24}) {
                    const auto output =
                        run(first, [&](auto *i, auto *r0, auto *r1, auto *z, auto *o) {
                            if (quantizes) call(*repeating, i, i, r0, r1, z, distance, o);
                            else call(*repeating, i, r0, z, distance, o);
                        });
                    ASSERT_EQ(output, expected) << "prefetching " << distance << " elements ahead";
                }
            }
        }
    }
    if (kernels == 0) GTEST_SKIP() << "no kernel of this build that runs here has such a form";
}

}  // namespace
