// Kernels called by themselves, with arguments that executions on this machine may never give them.
#include <gtest/gtest.h>
#include <hewn/hewn.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "../runtime/dispatch.h"

namespace {

// Rows of the form `reciprocal` of QUANTIZE_LINEAR, whose input is asked for so many elements ahead.
std::vector<uint8_t> quantize_rows(const hewn::Form &form, std::vector<uint8_t> &input, int input_bytes, int width, int rows,
                                   int ahead) {
    constexpr uint8_t kUntouched = 0xa5;
    std::vector<uint8_t> output(size_t(width) * rows + 64, kUntouched);
    halide_dimension_t dims[2] = {{0, width, 1, 0}, {0, rows, width, 0}};
    halide_buffer_t from = {}, to = {};
    from.host = input.data();
    to.host = output.data();
    for (halide_buffer_t *buffer : {&from, &to}) {
        buffer->dim = dims;
        buffer->dimensions = 2;
    }
    EXPECT_GE(input.size(), size_t(width) * rows * size_t(input_bytes));
    const auto entry =
        reinterpret_cast<int (*)(const void *, halide_buffer_t *, float, float, int32_t, int32_t, halide_buffer_t *)>(form.entry);
    EXPECT_EQ(entry(nullptr, &from, 1 / 3.0f, 0x1p-27f, 3, ahead, &to), 0);
    for (size_t i = size_t(width) * rows; i < output.size(); i++) EXPECT_EQ(output[i], kUntouched);
    return output;
}

// Only beyond a core's cache, and only on chips whose last one is near, is anything asked for.
TEST(Kernel, AskingAheadChangesNoResult) {
    std::mt19937 random(1);
    int kernels = 0;
    for (uint32_t v = 0; v < hewn_variant_count(); v++) {
        hewn_variant_info info = {};
        info.struct_size = sizeof info;
        ASSERT_EQ(hewn_get_variant(v, &info), HEWN_STATUS_OK);
        if (std::string(info.operator_name) != "quantize_linear" || !info.supported || info.device != HEWN_DEVICE_CPU) continue;
        const hewn::Variant *variant = nullptr;
        ASSERT_EQ(hewn::pick_variant(info.operator_name, info.signature, info.name, {HEWN_DEVICE_CPU, 0}, &variant, nullptr),
                  HEWN_STATUS_OK);
        const hewn::Form *form = variant->form("reciprocal");
        if (!form) continue;
        kernels++;
        SCOPED_TRACE(info.name);
        const int bytes = std::strncmp(info.signature, "f16", 3) == 0 ? 2 : 4;
        constexpr int kRows = 2, kWidest = 700;
        std::vector<uint8_t> input(kRows * kWidest * 4);
        for (size_t i = 0; i < input.size(); i += size_t(bytes)) {  // numbers whose quotients lie in and about the output's range
            const float x = std::uniform_real_distribution<float>(-700, 700)(random);
            const int32_t integer = int32_t(x);
            const uint16_t half = uint16_t(random() % 2 << 15 | (0x3c00 + random() % 0x2000));
            if (bytes == 2) std::memcpy(&input[i], &half, sizeof half);
            else if (info.signature[0] == 'f') std::memcpy(&input[i], &x, sizeof x);
            else std::memcpy(&input[i], &integer, sizeof integer);
        }
        for (int width = 1; width <= kWidest; width += width < 300 ? 1 : 50) {
            SCOPED_TRACE("rows of " + std::to_string(width));
            const auto expected = quantize_rows(*form, input, bytes, width, kRows, 0);
            for (const int ahead : {1, 256, 1 << 24})
                EXPECT_EQ(quantize_rows(*form, input, bytes, width, kRows, ahead), expected);
        }
    }
    if (kernels == 0) GTEST_SKIP() << "no kernel of this build that runs here has the form";
}

}  // namespace
