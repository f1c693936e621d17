// Tests the conversions of sub-byte types on the CPU (runtime/cpu/convert.h), and the plans of such
// outputs. The reference reads and writes each element by itself.
#include "../../runtime/cpu/convert.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "../../reference/values.h"
#include "../../runtime/cpu/plan.h"

namespace {

using hewn_test::element, hewn_test::set_element, hewn_test::Random;

constexpr int64_t kBytes = 256;  // of the memory in which the elements lie

// Where converted elements lie, and how many there are.
struct Run {
    int64_t first, step, count;

    int64_t at(int64_t i) const { return first + i * step; }
    std::string describe(const hewn::Conversion &conversion) const {
        return std::string(hewn_test::type_name(conversion.stored)) + ", first " +
               std::to_string(first) + ", step " + std::to_string(step) + ", count " +
               std::to_string(count);
    }
};

std::vector<uint8_t> random_bytes(size_t count, Random &random) {
    std::vector<uint8_t> bytes(count);
    for (uint8_t &byte : bytes) byte = uint8_t(random.bits());
    return bytes;
}

template<class T>
void expect_loads(const hewn::Conversion &conversion, const Run &run, Random &random) {
    std::vector<uint8_t> memory = random_bytes(kBytes, random);
    std::vector<uint8_t> got(size_t(run.count)), expected(size_t(run.count));
    for (int64_t i = 0; i < run.count; i++) {
        const T value = element<T>(memory.data(), run.at(i));
        std::memcpy(&expected[size_t(i)], &value, 1);
    }
    hewn::load_converted({memory.data(), &conversion}, run.first, run.step, run.count, got.data());
    ASSERT_EQ(got, expected) << run.describe(conversion);
}

// The elements end with the last stored one, or some elements later.
template<class T>
void expect_stores(const hewn::Conversion &conversion, const Run &run, Random &random) {
    std::vector<uint8_t> memory = random_bytes(kBytes, random), expected = memory;
    std::vector<uint8_t> values;
    for (int64_t i = 0; i < run.count; i++) {
        const T value = hewn_test::from_lowest<T>(random.bits());
        uint8_t byte = 0;
        std::memcpy(&byte, &value, 1);
        values.push_back(byte);
        set_element(expected.data(), run.at(i), value);
    }
    const int64_t last = run.at(run.count - 1), end = last + 1 + random.integer(0, 1);
    if (const int64_t bits = end * conversion.bits; end == last + 1 && bits % 8 != 0)
        expected[size_t(bits / 8)] &= uint8_t((1 << bits % 8) - 1);
    hewn::store_converted({memory.data(), &conversion}, run.first, run.step, run.count, end,
                          values.data());
    ASSERT_EQ(memory, expected) << run.describe(conversion);
}

template<class Test>
void for_each_conversion(const Test &test) {
    for (const hewn::Conversion &conversion : hewn::kConversions) {
        if (!conversion.shares_bytes()) continue;
        hewn_test::with_sub_byte_type(conversion.stored, [&](auto tag) { test(conversion, tag); });
    }
}

TEST(Convert, SubByteTypes) {
    Random random("Convert");
    for_each_conversion([&](const hewn::Conversion &conversion, auto tag) {
        using T = decltype(tag);
        EXPECT_EQ(conversion.bits, hewn_test::sub_byte_bits<T>);
        EXPECT_EQ(conversion.taken, hewn_test::byte_of(conversion.stored));
        for (int64_t step = 1; step <= 4; step++) {
            for (int64_t first = 0; first <= 9; first++) {
                for (int64_t count = 1; count <= 70; count++) {
                    ASSERT_NO_FATAL_FAILURE(
                        expect_loads<T>(conversion, {first, step, count}, random));
                    ASSERT_NO_FATAL_FAILURE(
                        expect_stores<T>(conversion, {first, step, count}, random));
                }
            }
        }
    });
}

// The boxes of a sub-byte output begin where an element begins at a byte, so that several threads
// may write them. The output is a matrix, or one row of it, with columns that need not fill whole
// bytes.
TEST(Convert, BoxesBeginAtBytes) {
    const hewn::Allocator allocator = {
        [](void *, size_t bytes, size_t) { return std::malloc(bytes); },
        [](void *, void *memory) { std::free(memory); }, nullptr};
    hewn::PlanKnobs knobs;
    knobs.parallel_bytes = 1;
    hewn::KernelTraits traits = {};
    traits.layouts = 1u << 0b1;
    int cut = 0;
    for_each_conversion([&](const hewn::Conversion &conversion, auto) {
        for (const int64_t columns : {1 << 20, 1000003, 100002, 1001, 36, 5}) {
            for (const int64_t rows : {1, 100, 1000}) {
                hewn::Part part = {};
                part.space.operands = 2;
                part.space.element_bytes[0] = 4;
                part.space.element_bytes[1] = 1;
                part.space.conversion[1] = &conversion;
                part.space.rank = rows == 1 ? 1 : 2;
                // Rows of the input are longer, so that the dimensions do not become one.
                part.space.dims[0] = {columns, {1, 1}};
                part.space.dims[1] = {rows, {columns + 1, columns}};
                hewn::Tensor output = {};
                output.conversion = &conversion;
                output.rank = 2;
                output.sizes[0] = rows, output.sizes[1] = columns;
                output.strides[0] = columns, output.strides[1] = 1;
                hewn::Plan plan;
                ASSERT_TRUE(
                    hewn::build_plan(part.space, traits, knobs, hewn::Chip(), allocator, plan));
                hewn::place_converted(part, output, plan);
                EXPECT_EQ(plan.converted_end, rows * columns);
                // One row is cut where it must be, and so are many short ones.
                if (rows == 1 || (rows == 1000 && columns <= 36)) {
                    EXPECT_TRUE(plan.parallel) << hewn_test::type_name(conversion.stored) << ", "
                                               << rows << " x " << columns;
                }
                for (int l = 0; l < plan.loop_count && plan.parallel; l++) {
                    EXPECT_EQ(plan.loops[l].step_bytes[1] * conversion.bits % 8, 0)
                        << hewn_test::type_name(conversion.stored) << ", " << rows << " x "
                        << columns;
                    cut++;
                }
                hewn::destroy_plan(allocator, plan);
            }
        }
    });
    EXPECT_GT(cut, 20);
}

}  // namespace
