// Tests the plans of the CPU's runtime, and the chips for which they differ (runtime/cpu/plan.h,
// boxes.h). Most tests look at a plan's numbers. The last one executes random layouts, cut and
// moved through scratch memory in every way. There a scalar sum stands for the kernel, and also
// checks what a kernel is promised.
#include "../../runtime/cpu/boxes.h"
#include "../../runtime/cpu/stream.h"
#include "../../runtime/dispatch/chip.h"
#include "../support/spaces.h"

#include <gtest/gtest.h>
#include <hewn/hewn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

using hewn::Access;
using hewn::kMaxOperands;

// Chips for which plans differ. The first is unknown, or not AMD's.
constexpr hewn::Chip kOtherChip = {0, 0, 0}, kZen1 = {0x17, 512 << 10, 8 << 20},
                     kZen4 = {0x19, 1 << 20, 32 << 20}, kZen5 = {0x1a, 1 << 20, 32 << 20};

hewn::Allocator test_allocator() {
    return {[](void *, size_t bytes, size_t) { return std::malloc(bytes); },
            [](void *, void *memory) { std::free(memory); }, nullptr};
}

uint64_t load(const uint8_t *from, int bytes) {
    uint64_t value = 0;
    std::memcpy(&value, from, size_t(bytes));  // little-endian, as every target
    return value;
}

// The state of sum_box(): what it needs to know of an execution, and what it notes.
struct SumContext : hewn::BoxCall {
    int operands;
    const hewn::Plan *plan;
    // The number of the box, and that of the first box of its slice.
    int64_t box, first;
    // The box before this one, for each operand: where it lay, and what its first row held.
    struct {
        const uint8_t *host;
        std::vector<uint8_t> run;
        int64_t length, rows;
    } last[kMaxOperands];
    const int32_t *element_bytes;
    uint32_t layouts, uniform;
    const std::vector<uint8_t> *output_memory;
    int64_t elements = 0;
    std::string broken;  // the first promise that a call broke

    SumContext() : BoxCall(nullptr) {}
};

// Stands for a kernel: output = sum of the inputs, modulo the range of its type. Notes the first
// promise that is broken.
int sum_box(hewn::BoxCall &opaque, halide_buffer_t *buffers) {
    SumContext &context = static_cast<SumContext &>(opaque);
    const int output = context.operands - 1;
    const int64_t run = buffers[output].dim[0].extent, rows = buffers[output].dim[1].extent;
    const auto promise = [&](bool kept, const char *what) {
        if (!kept && context.broken.empty()) context.broken = what;
    };
    uint32_t layout = 0;
    for (int o = 0; o < context.operands; o++) {
        const halide_dimension_t *dim = buffers[o].dim;
        promise(dim[0].min == 0 && dim[1].min == 0, "mins are 0");
        promise(dim[0].extent == run && dim[1].extent == rows, "extents agree");
        promise(dim[0].stride == 0 || dim[0].stride == 1, "strides along the run are 0 or 1");
        promise((rows - 1) * dim[1].stride + run <= INT32_MAX, "indices fit in int32");
        if (o < output) layout |= uint32_t(dim[0].stride) << (output - 1 - o);
        if (context.uniform >> o & 1) {
            promise(dim[0].stride == 0, "uniform operands are constant along runs");
            promise(dim[1].stride == 0 || rows <= hewn::kMaxUniformRows, "and vary over few rows");
        }
    }
    promise(buffers[output].dim[0].stride == 1, "the output is dense");
    const bool streams = context.plan->access[output] == Access::Stream;
    const size_t place = size_t(buffers[output].host - context.output_memory->data());
    promise(!streams || context.output_is_read_next == (place < context.output_memory->size()),
            "a streamed output is written where it lies if it is read next, and only then");
    int64_t scratch = 0;
    for (int o = 0; o < context.operands; o++) {
        if (context.plan->access[o] == Access::InPlace) continue;
        if (o == output && streams && context.output_is_read_next) continue;
        promise(context.plan->scratch_at[o] >= scratch, "parts of scratch memory do not overlap");
        scratch = context.plan->scratch_at[o] +
                  ((rows - 1) * buffers[o].dim[1].stride + run) * context.element_bytes[o];
        promise(scratch <= hewn::kScratchMemory, "scratch memory holds it");
    }
    promise(context.layouts >> layout & 1, "the layout is one that the kernel is specialised for");
    for (int64_t y = 0; y < rows; y++) {
        for (int64_t x = 0; x < run; x++) {
            uint64_t sum = 0;
            const auto at = [&](int o) {
                return buffers[o].host +
                       (y * buffers[o].dim[1].stride + x * buffers[o].dim[0].stride) *
                           context.element_bytes[o];
            };
            for (int o = 0; o < output; o++) sum += load(at(o), context.element_bytes[o]);
            std::memcpy(at(output), &sum, size_t(context.element_bytes[output]));
        }
    }
    for (int o = 0; o < output; o++) {
        auto &last = context.last[o];
        const uint8_t *const host = buffers[o].host;
        const size_t bytes =
            size_t(((run - 1) * buffers[o].dim[0].stride + 1) * context.element_bytes[o]);
        const bool stays =
            context.box > context.first && host == last.host && !(context.filled >> o & 1);
        if (stays && bytes <= last.run.size())
            promise(std::memcmp(host, last.run.data(), bytes) == 0,
                    "what was not filled is as it was");
        const hewn::Plan &plan = *context.plan;
        const bool cut = plan.run_loop >= 0 && plan.loops[plan.run_loop].step_bytes[o] != 0;
        const int64_t repeated_boxes = cut ? 0 : hewn::repeated_rows(plan, o) / plan.rows;
        // After a partial box, a whole box is filled anew.
        if (context.box > context.first && repeated_boxes > 0 &&
            context.box % repeated_boxes != 0 && run <= last.length && rows <= last.rows) {
            promise(stays, "repeated rows lie where they were");
        }
        last.host = host;
        last.length = run;
        last.rows = rows;
        last.run.assign(host, host + bytes);
    }
    context.box++;
    context.elements += run * rows;
    return 0;
}

// The highest priority of the targets that run here.
int32_t highest_priority() {
    int32_t highest = 0;
    for (uint32_t t = 0; t < hewn_target_count(); t++) {
        hewn_target_info info = {};
        info.struct_size = sizeof info;
        EXPECT_EQ(hewn_get_target(t, &info), HEWN_STATUS_OK);
        if (info.device == HEWN_DEVICE_CPU && info.supported)
            highest = std::max(highest, info.priority);
    }
    return highest;
}

constexpr hewn::PlanKnobs kKnobs = {};
constexpr hewn::KernelTraits kSum = {1u << 0b11, 0, false};  // of two contiguous inputs

// An iteration space of these dimensions, innermost first, and of these bytes per element, for each
// operand.
hewn::Space space_of(const std::vector<hewn::Dimension> &dims, const std::vector<int32_t> &bytes) {
    hewn::Space space = {};
    space.operands = int(bytes.size());
    std::copy(bytes.begin(), bytes.end(), space.element_bytes);
    for (const hewn::Dimension &dim : dims) space.dims[space.rank++] = dim;
    return space;
}

// Makes a plan and frees its tables, for tests that look at its numbers.
hewn::Plan plan_of(const std::vector<hewn::Dimension> &dims, const std::vector<int32_t> &bytes,
                   const hewn::KernelTraits &traits = kSum, const hewn::PlanKnobs &knobs = kKnobs,
                   const hewn::Chip &chip = kOtherChip) {
    hewn::Plan plan;
    EXPECT_TRUE(
        hewn::build_plan(space_of(dims, bytes), traits, knobs, chip, test_allocator(), plan));
    hewn::destroy_plan(test_allocator(), plan);
    return plan;
}

struct Operand {
    std::vector<int64_t> strides;
    std::vector<uint8_t> memory;
};

// Makes random sizes and operands.
class RandomLayout {
public:
    explicit RandomLayout(std::mt19937 &random) : random_(random) {}

    int between(int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(random_);
    }

    // The sizes of a matrix that may have tall tiles.
    std::vector<int64_t> large_sizes() {
        const int multiple = between(0, 2) ? 64 : 1;
        return {between(500, 900) / multiple * multiple, between(500, 900) / multiple * multiple};
    }

    std::vector<int64_t> sizes(int rank) {
        std::vector<int64_t> sizes(static_cast<size_t>(rank));
        int64_t elements = 1;
        for (int64_t &size : sizes) {
            size = between(0, 5) == 0 ? between(1, 200) : between(1, 6);
            if (elements * size > 60000) size = 1;
            elements *= size;
        }
        return sizes;
    }

    // An operand with random contents and strides: in any order of dimensions, with gaps, and with
    // strides of 0 unless it is the output.
    Operand operand(const std::vector<int64_t> &sizes, int bytes, bool output) {
        Operand operand;
        operand.strides.resize(sizes.size());
        std::vector<size_t> order(sizes.size());  // innermost first
        std::iota(order.rbegin(), order.rend(), 0);
        if (between(0, 1)) std::shuffle(order.begin(), order.end(), random_);
        const bool mostly_constant = !output && between(0, 4) == 0;
        int64_t stride = between(0, 9) == 0 ? between(2, 3) : 1, last = 0;
        for (size_t d : order) {
            if (!output && (mostly_constant ? between(0, 5) != 0 : between(0, 3) == 0)) continue;
            operand.strides[d] = stride;
            last += stride * (sizes[d] - 1);
            stride = stride * sizes[d] + (between(0, 9) == 0 ? between(0, 7) : 0);
        }
        fill(operand, (last + 1) * bytes);
        return operand;
    }

    // A matrix that is stored column after column.
    Operand transposed(const std::vector<int64_t> &sizes, int bytes) {
        Operand operand;
        operand.strides = {1, sizes[0]};
        fill(operand, sizes[0] * sizes[1] * bytes);
        return operand;
    }

private:
    std::mt19937 &random_;

    void fill(Operand &operand, int64_t bytes) {
        operand.memory.resize(size_t(bytes));
        uint64_t bits = random_();
        for (uint8_t &byte : operand.memory) {
            bits = bits * 6364136223846793005 + 1442695040888963407;
            byte = uint8_t(bits >> 56);
        }
    }
};

hewn::Tensor tensor(const std::vector<int64_t> &sizes, const Operand &operand, int bytes) {
    hewn::Tensor tensor = {};
    tensor.rank = int(sizes.size());
    tensor.element_bytes = bytes;
    tensor.bytes = operand.memory.size();
    std::copy(sizes.begin(), sizes.end(), tensor.sizes);
    std::copy(operand.strides.begin(), operand.strides.end(), tensor.strides);
    return tensor;
}

// The plan of a sum of two contiguous vectors of f32.
hewn::Plan dense_plan(int64_t elements, const hewn::PlanKnobs &knobs,
                      const hewn::Chip &chip = kOtherChip) {
    return plan_of({{elements, {1, 1, 1}}}, {4, 4, 4}, kSum, knobs, chip);
}

TEST(Plan, KnobsReachIt) {
    constexpr int64_t kElements = 1 << 20;
    hewn::PlanKnobs knobs = kKnobs;
    const int64_t boxes = dense_plan(kElements, knobs).box_count;
    EXPECT_EQ(dense_plan(kElements, knobs).run_outer * 12, (256 << 10) / (12 * 256) * (12 * 256));
    knobs.box_bytes /= 4;
    EXPECT_NEAR(double(dense_plan(kElements, knobs).box_count), double(4 * boxes), 4.0);

    knobs.parallel_bytes = 12 * kElements;
    const hewn::Plan plan = dense_plan(kElements, knobs);
    EXPECT_EQ(hewn::slice_count(plan, knobs, 0, 2), 8);
    EXPECT_EQ(hewn::slice_count(plan, knobs, 3, 2), 3);
    EXPECT_EQ(hewn::slice_count(plan, knobs, 0, 1), 1);
    EXPECT_EQ(hewn::slice_count(plan, knobs, 1 << 20, 2), plan.box_count);
    knobs.slices_per_cpu = 2;
    EXPECT_EQ(hewn::slice_count(plan, knobs, 0, 2), 4);
    const hewn::Plan whole = dense_plan(kElements - 1, knobs);  // too small to slice or to cut
    EXPECT_EQ(hewn::slice_count(whole, knobs, 0, 2), 1);
    EXPECT_TRUE(whole.one_box);

    if (!hewn::kCanStream) return;
    EXPECT_EQ(dense_plan(kElements, knobs).access[2], Access::InPlace);
    knobs.stream_bytes = 12 * kElements;
    EXPECT_EQ(dense_plan(kElements - 1, knobs).access[2], Access::InPlace);
    EXPECT_EQ(dense_plan(kElements, knobs).access[2], Access::Stream);
    EXPECT_EQ(dense_plan(kElements, knobs).run_outer * 4, (2 << 10) / 2)
        << "for two inputs from memory";
    knobs.stream_piece_bytes = 8 << 10;
    EXPECT_EQ(dense_plan(kElements, knobs).run_outer * 4, (8 << 10) / 2);
}

// The sizes are those that Linux reports, if the chip is an AMD.
TEST(Chip, CachesAreTheSecondAndTheLast) {
    std::ifstream cpu("/proc/cpuinfo");
    const std::string text{std::istreambuf_iterator<char>(cpu), {}},
        caches = "/sys/devices/system/cpu/cpu0/cache/index";
    const bool amd = hewn::kCanStream && text.find("AuthenticAMD") != std::string::npos;
    for (const unsigned level : {2u, 3u}) {
        std::ifstream cache(caches + std::to_string(level) + "/size");
        int64_t kibibytes = 0;
        if (text.empty() ||
            (amd && (text.find(" topoext") == std::string::npos || !(cache >> kibibytes))))
            GTEST_SKIP() << "the system does not tell";
        for (int i = 0; i < 2; i++) {
            const hewn::Chip chip = hewn::this_chip();
            EXPECT_EQ(level == 2 ? chip.l2_bytes : chip.l3_bytes, amd ? kibibytes << 10 : 0);
        }
    }
}

// The family is the one that Linux reports: 25 for Zen 3 and Zen 4, 26 for Zen 5.
TEST(Chip, TheFamilyIsAmds) {
    std::ifstream cpu("/proc/cpuinfo");
    const std::string text{std::istreambuf_iterator<char>(cpu), {}}, key = "cpu family\t: ";
    if (text.empty()) GTEST_SKIP() << "the system does not tell";
    const bool amd = hewn::kCanStream && text.find("AuthenticAMD") != std::string::npos;
    const int family = amd ? std::stoi(text.substr(text.find(key) + key.size())) : 0;
    for (int i = 0; i < 2; i++) EXPECT_EQ(hewn::this_chip().amd_family, family);
}

TEST(Chip, PrefetchesBeyondTheSecondCacheWithinTheLast) {
    for (const hewn::Chip &chip : {kOtherChip, kZen1, kZen4}) {
        for (double bytes = 1; bytes < 1e12; bytes *= 2)
            EXPECT_EQ(hewn::prefetch_distance_bytes(chip, bytes, 1, hewn::PrefetchShare::Usual), 0);
    }
    const double least = 1.5 * (1 << 20), most = 8.5 * (1 << 20);
    EXPECT_EQ(hewn::prefetch_distance_bytes(kZen5, least, 1, hewn::PrefetchShare::Usual), 0);
    EXPECT_GT(hewn::prefetch_distance_bytes(kZen5, least + 1, 1, hewn::PrefetchShare::Usual), 0);
    EXPECT_GT(hewn::prefetch_distance_bytes(kZen5, most, 1, hewn::PrefetchShare::Usual), 0);
    EXPECT_EQ(hewn::prefetch_distance_bytes(kZen5, most + 1, 1, hewn::PrefetchShare::Usual), 0);
    // Each core's share counts.
    EXPECT_EQ(hewn::prefetch_distance_bytes(kZen5, 2 * least, 2, hewn::PrefetchShare::Usual), 0);
    EXPECT_GT(hewn::prefetch_distance_bytes(kZen5, 2 * least + 2, 2, hewn::PrefetchShare::Usual),
              0);
    // The sizes of caches may be hidden.
    EXPECT_EQ(hewn::prefetch_distance_bytes({0x1a, 0, 0}, least, 1, hewn::PrefetchShare::Usual), 0);
}

// [rows, 4] + [4] of f32.
hewn::Plan inner_plan(int64_t rows) {
    return plan_of({{4, {1, 1, 1}}, {rows, {4, 0, 4}}}, {4, 4, 4});
}

TEST(Plan, RunsThatRepeatAreDividedIntoRows) {
    const hewn::Plan few = inner_plan(1024), many = inner_plan(1 << 18), odd = inner_plan(1021);
    EXPECT_EQ(few.run_inner * few.run_outer, 512);
    EXPECT_EQ(few.rows, 8);
    EXPECT_EQ(few.box_count, 1);
    EXPECT_EQ(many.run_inner * many.run_outer, 2048);
    EXPECT_EQ(many.rows * 2048 * 8, 256 << 10);
    EXPECT_EQ(many.box_count * many.rows * 2048, 1 << 20);
    EXPECT_EQ(odd.rows, 1);  // a prime number of rows
}

// Runs are not divided into rows if no dimension is left for the rows.
TEST(Plan, RunsOfAllDimensionsAreNotDivided) {
    for (const int rank : {8, 15, hewn::kMaxDimensions}) {
        std::vector<hewn::Dimension> dims = {{4, {1, 1, 1}}, {1024, {4, 0, 4}}};
        for (int k = 2; k < rank; k++)
            dims.push_back({k < 8 ? 2 : 1, {int64_t(5000) << k, 0, int64_t(5000) << k}});
        const hewn::Plan plan = plan_of(dims, {4, 4, 4});
        EXPECT_EQ(plan.run_inner * plan.run_outer, 2048);
        EXPECT_EQ(plan.rows, rank == hewn::kMaxDimensions ? 1 : 2);
    }
}

// The rows of [N, k, run] + [N, 1, run] go through N, and leave out k, if k of them would be a
// short call. The k boxes that share cache lines of the output then follow one another. Rows go
// through k if a call is longer, if N is short, or if the output is streamed.
TEST(Plan, RowsLeaveOutAShortDimension) {
    const auto planned = [](int64_t run, int64_t k, int64_t rows) {
        return plan_of({{run, {1, 1, 1}}, {k, {run, 0, run}}, {rows, {run * k, run, run * k}}},
                       {1, 1, 1});
    };
    EXPECT_EQ(planned(32, 2, 1000).rows, 1000);
    EXPECT_FALSE(planned(16, 2, 1000).scratch) << "flattened, elements would have to be gathered";
    EXPECT_EQ(planned(64, 8, 100).rows, 100);
    EXPECT_EQ(planned(64, 9, 100).rows, 9);
    EXPECT_EQ(planned(64, 3, 2).rows, 3);
    const hewn::Plan many = planned(64, 2, 20000);
    EXPECT_EQ(many.rows, (256 << 10) / 3 / 256 * 256 / 64 / 2);
    EXPECT_EQ(many.boxes_together, 2) << "which one thread computes";
    EXPECT_EQ(hewn::slice_count(many, kKnobs, 1 << 20, 2) * 2, many.box_count);
    ASSERT_EQ(many.loop_count, 2);
    EXPECT_EQ(many.loops[0].count, 2);
    EXPECT_EQ(many.row_loop, 1);
    EXPECT_EQ(planned(64, 4, 60000).rows, 4) << "beyond 8 MiB a call of 256 bytes is not short";
    const hewn::Plan streamed = planned(32, 2, 600000);
    if (hewn::kCanStream) {
        EXPECT_EQ(streamed.access[2], Access::Stream);
        EXPECT_EQ(streamed.rows, 2);
    }
}

// Many small matrices are gathered and not transposed. A matrix is small if it has fewer than 256
// elements, if it has fewer than 512 elements of one byte that do not fill whole squares, or if a
// side is shorter than 8 elements (16 for elements of one byte).
TEST(Plan, SmallMatricesAreNotTransposed) {
    const auto access = [](int32_t bytes, int64_t columns, int64_t rows) {
        const int64_t matrix = columns * rows;
        return plan_of({{columns, {rows, 1, 1}},
                        {rows, {1, columns, columns}},
                        {100, {matrix, matrix, matrix}}},
                       {bytes, bytes, bytes})
            .access[0];
    };
    for (const auto &[bytes, columns, rows] : {std::array<int, 3>{1, 20, 20},
                                               {1, 64, 14},
                                               {1, 14, 64},
                                               {2, 14, 14},
                                               {4, 14, 14},
                                               {8, 10, 10}})
        EXPECT_EQ(access(bytes, columns, rows), Access::Table)
            << bytes << ": " << columns << " x " << rows;
    for (const auto &[bytes, columns, rows] : {std::array<int, 3>{1, 16, 16},
                                               {1, 24, 24},
                                               {1, 64, 16},
                                               {2, 16, 16},
                                               {4, 16, 16},
                                               {4, 64, 8},
                                               {8, 8, 64}})
        EXPECT_EQ(access(bytes, columns, rows), Access::Transpose)
            << bytes << ": " << columns << " x " << rows;
}

// A run of two dimensions, and an operand that is contiguous along the rows. It is gathered,
// because its elements lie evenly along only the first of the two dimensions.
TEST(Plan, FlattenedRunsAreNotTransposed) {
    const hewn::Plan plan =
        plan_of({{4, {64 * 300, 1, 1}}, {300, {64, 4, 4}}, {64, {1, 4 * 300, 4 * 300}}}, {4, 4, 4});
    EXPECT_EQ(plan.run_inner, 4);
    EXPECT_EQ(plan.run_outer, 32);
    EXPECT_EQ(plan.rows, 16);
    EXPECT_EQ(plan.access[0], Access::Table);
    EXPECT_EQ(plan.piece, 1) << "a piece of 4 elements is not worth its table";
}

// Planes to pixels, with a scale for each plane. The planes stay in place, and their rows are
// interleaved in boxes that have all planes. That is not done from pixels to planes, where the
// output stays in place, nor with few neighbouring elements, nor with planes that are not
// contiguous.
TEST(Plan, PlanesAreInterleaved) {
    constexpr uint32_t kLayouts = 1u << 0b100 | 1u << 0b110 | 1u << 0b111;
    const auto planned = [&](const hewn::Dimension &inner, const hewn::Dimension &outer,
                             uint32_t uniform = 0) {
        return plan_of({inner, outer}, {4, 4, 1, 1}, {kLayouts, uniform, false});
    };
    const hewn::Plan planes = planned({3, {10000, 1, 1, 1}}, {10000, {1, 0, 0, 3}});
    EXPECT_EQ(planes.access[0], Access::InPlace);
    EXPECT_EQ(planes.access[3], Access::Table);
    EXPECT_EQ(planes.element_step[3], 3);
    EXPECT_EQ(planes.rows, 3);
    EXPECT_EQ(planes.run_outer, 2048 / 3);
    EXPECT_EQ(planes.piece, planes.run_outer);
    const hewn::Plan one_scale = planned({3, {10000, 0, 0, 1}}, {10000, {1, 0, 0, 3}}, 0b0110);
    EXPECT_EQ(one_scale.access[3], Access::Table);
    EXPECT_EQ(one_scale.rows, 3);
    EXPECT_EQ(planned({3, {10000, 0, 0, 1}}, {10000, {1, 1, 1, 3}}, 0b0110).access[3],
              Access::InPlace)
        << "which have to be constant along a run";
    EXPECT_EQ(planned({10000, {3, 0, 0, 1}}, {3, {1, 1, 1, 10000}}).access[3], Access::InPlace);
    EXPECT_EQ(planned({3, {63, 1, 1, 1}}, {63, {1, 0, 0, 3}}).access[3], Access::InPlace);
    EXPECT_EQ(planned({3, {20000, 1, 1, 1}}, {10000, {2, 0, 0, 3}}).access[3], Access::InPlace);
}

// Strided elements and parameters of rows. Runs end where the parameters change, which then need
// not be gathered, and the rows of a box go on from there. Runs do not end if they would be short,
// if a layout needs the parameters gathered, or if these are the same in each of the longest runs.
TEST(Plan, LongRunsEndWhereConstantsChange) {
    constexpr uint32_t kLayouts = 1u << 0b100 | 1u << 0b110 | 1u << 0b111;
    const auto planned = [&](const std::vector<hewn::Dimension> &dims) {
        const hewn::Plan plan = plan_of(dims, {4, 4, 1, 4}, {kLayouts, 0, false});
        EXPECT_EQ(plan.access[0], Access::Table);
        return plan;
    };
    const auto ends = [&](int64_t columns, int64_t scale_stride, int64_t zero_point_stride) {
        const hewn::Plan plan =
            planned({{columns, {2, 0, 0, 1}},
                     {1000, {2 * columns, scale_stride, zero_point_stride, columns}}});
        const bool ended = plan.run_inner * plan.run_outer == columns;
        EXPECT_EQ(plan.rows, ended ? 2048 / columns : 1);
        for (int o : {1, 2})
            EXPECT_EQ(plan.access[o],
                      ended || plan.dims[o][0].stride == 0 ? Access::InPlace : Access::Table);
        return ended;
    };
    EXPECT_FALSE(ends(7, 1, 1));
    EXPECT_TRUE(ends(8, 1, 1));  // both parameters change
    EXPECT_FALSE(ends(15, 1, 0));
    EXPECT_TRUE(ends(16, 1, 0));
    EXPECT_FALSE(ends(100, 0, 0));
    // 4 x 8 elements of each of 500 channels, and of several images.
    const hewn::Dimension x = {4, {2, 0, 0, 1}}, y = {8, {10, 0, 0, 4}},
                          channels = {500, {100, 1, 0, 32}};
    EXPECT_EQ(planned({x, y, channels}).run_inner * planned({x, y, channels}).run_outer, 32);
    EXPECT_EQ(planned({x, y, channels, {3, {50000, 500, 0, 16000}}}).rows, 64);
    const hewn::Plan images = planned({x, y, {50, {100, 1, 0, 32}}, {300, {5000, 0, 0, 1600}}});
    EXPECT_EQ(images.run_inner * images.run_outer, 1600) << "the scales are in scratch memory once";
    // With a scale for each element, the zero point stays in place. With a zero point for each
    // element, the scale has to be gathered.
    EXPECT_EQ(planned({{64, {2, 1, 0, 1}}, {1000, {128, 64, 1, 64}}}).run_outer, 64);
    EXPECT_EQ(planned({{64, {2, 0, 1, 1}}, {1000, {128, 1, 64, 64}}}).run_inner, 64);
    EXPECT_EQ(planned({{100, {2, 0, 0, 1}}, {1000, {300000000, 1, 1, 100}}}).rows, 7)
        << "as far as int32 reaches";
}

// A transposed matrix of bytes and a scalar make a matrix of f32. A box has as many rows as a cache
// line has bytes (on a Zen 5 twice as many). If the output goes through scratch memory as well, it
// has as many rows as a cache line has f32.
TEST(Plan, TransposedRowsFillCacheLinesOfWhatIsInScratch) {
    for (const hewn::Chip &chip : {kOtherChip, kZen4, kZen5}) {
        for (const bool streams : {false, hewn::kCanStream}) {
            hewn::PlanKnobs knobs = kKnobs;
            if (streams) knobs.stream_bytes = 0;
            const hewn::Plan plan = plan_of({{1024, {1024, 0, 1}}, {1024, {1, 0, 1024}}}, {1, 4, 4},
                                            {1u << 0b11 | 1u << 0b10, 0, false}, knobs, chip);
            EXPECT_EQ(plan.access[0], Access::Transpose);
            EXPECT_EQ(plan.access[2], streams ? Access::Stream : Access::InPlace);
            EXPECT_EQ(plan.rows, streams ? 16 : chip.amd_family == kZen5.amd_family ? 128 : 64);
            EXPECT_EQ(plan.run_outer, 256);
        }
    }
}

// Things on which plans depend, apart from the operands.
struct Given {
    hewn::Chip chip;
    int64_t stream_bytes = kKnobs.stream_bytes;
    bool compute_bound = false;
};

// The plan for a matrix and a transposed matrix that make a third one. All have `size` x `size`
// elements; each has elements of its own size.
hewn::Plan transposed_plan(int64_t size, int32_t bytes, int32_t transposed_bytes,
                           int32_t output_bytes, const Given &given) {
    hewn::PlanKnobs knobs = kKnobs;
    knobs.stream_bytes = given.stream_bytes;
    const hewn::Plan plan = plan_of({{size, {1, size, 1}}, {size, {size, 1, size}}},
                                    {bytes, transposed_bytes, output_bytes},
                                    {1u << 0b11, 0, given.compute_bound}, knobs, given.chip);
    EXPECT_EQ(plan.access[1], Access::Transpose);
    return plan;
}

TEST(Chip, StreamingFetchesIntoItsCaches) {
    EXPECT_EQ(hewn::traits_of(kOtherChip).stream_prefetch_into, hewn::PrefetchInto::All);
    EXPECT_EQ(hewn::traits_of(kZen4).stream_prefetch_into, hewn::PrefetchInto::L2);
    EXPECT_EQ(hewn::traits_of(kZen5).stream_prefetch_into, hewn::PrefetchInto::L1Alone);
    for (const hewn::Chip &chip : {kOtherChip, kZen4, kZen5})
        EXPECT_EQ(transposed_plan(1000, 4, 4, 4, {chip}).prefetch_into,
                  hewn::traits_of(chip).stream_prefetch_into);
}

// Tiles go through the rows of the same columns first. On AMD's chips the next tile is prefetched
// if a core's own cache does not hold what is moved. The next rows of operands in place are
// prefetched too, unless the output is streamed: on a Zen 5 if the last cache does not hold what is
// moved, on a Zen 1 never.
TEST(Plan, AsksForTheNextTileOfATransposition) {
    // The last of these chips hides its last cache.
    for (const hewn::Chip &chip : {kOtherChip, kZen1, kZen4, kZen5, hewn::Chip{0x1a, 1 << 20, 0}}) {
        const hewn::Plan plan = transposed_plan(1024, 4, 4, 4, {chip});
        EXPECT_EQ(plan.row_loop, 0);
        EXPECT_EQ(plan.run_loop, 1);
        const auto planned = [&](double bytes, int64_t stream_bytes) {
            return transposed_plan(int64_t(std::ceil(std::sqrt(bytes / 12))), 4, 4, 4,
                                   {chip, stream_bytes});
        };
        const bool amd = chip.amd_family > 0, zen1 = chip.amd_family == kZen1.amd_family,
                   zen5 = chip.amd_family == kZen5.amd_family;
        const double least = 2 << 20, beside = zen5 ? 32 << 20 : least;
        EXPECT_FALSE(planned(least * 0.98, INT64_MAX).prefetches_tiles);
        EXPECT_EQ(planned(least, INT64_MAX).prefetches_tiles, amd);
        EXPECT_EQ(planned(least, 0).prefetches_tiles, amd);
        EXPECT_FALSE(planned(beside * 0.98, INT64_MAX).prefetches_beside);
        EXPECT_EQ(planned(beside, INT64_MAX).prefetches_beside,
                  amd && !zen1 && !(zen5 && chip.l3_bytes == 0));
        EXPECT_FALSE(hewn::kCanStream && planned(beside, 0).prefetches_beside);
    }
    EXPECT_FALSE(dense_plan(1 << 24, kKnobs).prefetches_tiles);
    EXPECT_FALSE(dense_plan(1 << 24, kKnobs).prefetches_beside);
}

// A streamed output that is read next is kept if a cache holds it.
TEST(Plan, KeepsWhatIsReadNextWhereACacheHoldsIt) {
    const auto keeps = [](int64_t elements, const hewn::Chip &chip) {
        hewn::PlanKnobs knobs = kKnobs;
        knobs.stream_bytes = 8 << 20;
        return dense_plan(elements, knobs, chip).kept_if_read_next;
    };
    EXPECT_FALSE(keeps(1 << 19, kOtherChip)) << "not streamed";
    EXPECT_EQ(keeps(1 << 20, kOtherChip), hewn::kCanStream);
    EXPECT_FALSE(keeps(4 << 20, kOtherChip)) << "beyond the caches";
    EXPECT_FALSE(keeps(1 << 20, kZen5)) << "streams only beyond its last cache";
}

// A kernel that takes longer to compute than its memory takes gains nothing by streamed stores.
TEST(Plan, StreamsWhereMemoryBinds) {
    for (const bool compute_bound : {false, true}) {
        const Access expected =
            hewn::kCanStream && !compute_bound ? Access::Stream : Access::InPlace;
        EXPECT_EQ(transposed_plan(1000, 1, 1, 1, {kOtherChip, 0, compute_bound}).access[2],
                  expected);
    }
}

// From f32 to u8, with a scale and a zero point for each element, a tenth of the bytes is written.
// With one of each it is a fifth.
TEST(Plan, StreamsWhereASixthIsWritten) {
    hewn::PlanKnobs knobs = kKnobs;
    knobs.stream_bytes = 0;
    const auto output = [&](int64_t stride) {
        return plan_of({{1 << 20, {1, stride, stride, 1}}}, {4, 4, 1, 1},
                       {1u << 0b100 | 1u << 0b111, 0, false}, knobs)
            .access[3];
    };
    EXPECT_EQ(output(1), Access::InPlace);
    EXPECT_EQ(output(0), hewn::kCanStream ? Access::Stream : Access::InPlace);
}

// On a Zen 5 tiles are tall if the columns lie whole cache lines apart and half of the last cache
// holds all operands. They have two cache lines of each of 256 columns, or four of each of 128 if
// the other operands are narrower or if the kernel takes longer to compute than its memory takes.
// Both are 32 KiB.
TEST(Plan, TallTilesHoldSeveralLines) {
    const auto expect_tile = [](const hewn::Plan &plan, int64_t rows, int64_t columns) {
        EXPECT_EQ(plan.rows, rows);
        EXPECT_EQ(plan.run_outer, columns);
    };
    for (int32_t bytes : {1, 2, 4, 8})
        expect_tile(transposed_plan(704, bytes, bytes, bytes, {kZen5}), 128 / bytes, 256);
    expect_tile(transposed_plan(704, 1, 1, 1, {kZen5, kKnobs.stream_bytes, true}), 256, 128);
    expect_tile(transposed_plan(704, 1, 4, 1, {kZen5}), 64, 128);
    expect_tile(transposed_plan(128, 1, 4, 1, {kZen5}), 64, 128);
    EXPECT_LT(transposed_plan(256, 4, 4, 4, {kZen5}).rows, 32);
    expect_tile(transposed_plan(704, 4, 1, 4, {kZen5}), 128, 256);
    expect_tile(transposed_plan(700, 4, 1, 4, {kZen5}), 64, 256);

    // A matrix and the transpose of another of f32, or the transposes of both.
    const auto planned = [](int64_t columns, int64_t rows, bool both) {
        return plan_of(
            {{columns, {both ? rows : 1, rows, 1}}, {rows, {both ? 1 : columns, 1, columns}}},
            {4, 4, 4}, kSum, kKnobs, kZen5);
    };
    expect_tile(planned(1000, 1008, true), 32, 256);
    expect_tile(planned(1000, 1000, true), 16, 256);
    // The transposes of three. Scratch memory does not hold tall tiles of all of them.
    const hewn::Plan three = plan_of({{704, {704, 704, 704, 1}}, {704, {1, 1, 1, 704}}},
                                     {4, 4, 4, 4}, {1u << 0b111, 0, false}, kKnobs, kZen5);
    for (int o = 0; o < 3; o++) EXPECT_EQ(three.access[o], Access::Transpose);
    EXPECT_EQ(three.rows, 16);
    // The transposes of two matrices of bytes. Without the rows' padding, scratch memory would hold
    // 128 columns of 256 rows.
    EXPECT_EQ(plan_of({{704, {704, 704, 1}}, {704, {1, 1, 704}}}, {1, 1, 1}, {1u << 0b11, 0, true},
                      kKnobs, kZen5)
                  .rows,
              64);
    // Matrices that are too small for some of these tiles.
    expect_tile(planned(255, 4000, false), 64, 128);
    expect_tile(planned(10000, 32, false), 32, 256);
    expect_tile(planned(10000, 24, false), 16, 256);
    EXPECT_LT(planned(127, 8000, false).rows, 32);

    for (const hewn::Chip &chip : {kOtherChip, kZen1, kZen4})
        EXPECT_EQ(transposed_plan(704, 4, 4, 4, {chip}).rows, 16);
    // On a Zen 4 tiles are tall if columns lie a multiple of 2 KiB apart.
    EXPECT_EQ(transposed_plan(512, 4, 4, 4, {kOtherChip}).rows, 16);
    expect_tile(transposed_plan(512, 4, 4, 4, {kZen4}), 32, 256);
    expect_tile(transposed_plan(512, 1, 4, 1, {kZen4}), 64, 128);
    EXPECT_EQ(transposed_plan(512 + 256, 4, 4, 4, {kZen4}).rows, 16);
    EXPECT_EQ(transposed_plan(1024, 4, 1, 4, {kZen4}).rows, 64);
    EXPECT_EQ(transposed_plan(1152, 4, 4, 4, {kZen5}).rows, 32);  // 15.2 MiB
    EXPECT_EQ(transposed_plan(1184, 4, 4, 4, {kZen5}).rows, 16);  // 16.04 MiB
    EXPECT_EQ(transposed_plan(704, 4, 4, 4, {kZen5, 0}).rows, hewn::kCanStream ? 16 : 32)
        << "beside a streamed output";
}

// Rows, plus one row that all of them share, with a streamed output. If a core's own cache holds
// the shared row, it is not prefetched, and the output's pieces are as long as the knob says.
// Otherwise they are half as long. On a Zen 4 a single input is not prefetched, and on a Zen 1 none
// is.
TEST(Plan, FetchesWhatIsNotInACoresOwnCache) {
    const auto prefetched_of = [](const hewn::Chip &chip, int64_t columns, int64_t rows) {
        const hewn::Plan plan = plan_of({{columns, {1, 1, 1}}, {rows, {columns, 0, columns}}},
                                        {4, 4, 4}, kSum, kKnobs, chip);
        EXPECT_EQ(plan.access[2], hewn::kCanStream ? Access::Stream : Access::InPlace);
        if (hewn::kCanStream) {
            EXPECT_EQ(plan.run_outer * 4, columns * 4 > 256 << 10 ? 1 << 10 : 2 << 10);
        }
        return plan.prefetched;
    };
    for (const hewn::Chip &chip : {kOtherChip, kZen4, kZen5}) {
        EXPECT_EQ(prefetched_of(chip, 64 << 10, 256),
                  chip.amd_family == kZen4.amd_family ? 0 : 0b01u);
        EXPECT_EQ(prefetched_of(chip, (64 << 10) + 1, 256), 0b11u);
    }
    EXPECT_EQ(prefetched_of(kZen1, (64 << 10) + 1, 256), 0u);
    EXPECT_EQ(dense_plan(16 << 20, kKnobs).prefetched, 0b11u);
    // Operands that go through scratch memory are not prefetched.
    EXPECT_EQ(transposed_plan(4096, 4, 4, 4, {kOtherChip}).prefetched, 0b01u);
    EXPECT_EQ(transposed_plan(4096, 4, 4, 4, {kZen4}).prefetched, 0u);
}

// Quantizing [images, channels, pixels] with a scale and a zero point for each channel: a
// contiguous tensor, a transposed one, and padded rows.
TEST(Plan, UniformOperandsVaryByRow) {
    constexpr uint32_t kScaleAndZeroPoint = 0b110,
                       kLayouts = 1u << 0b100 | 1u << 0b110 | 1u << 0b111;
    constexpr int64_t kImages = 3, kChannels = 600, kPixels = 100;
    hewn::PlanKnobs knobs = kKnobs;
    knobs.box_bytes = knobs.parallel_bytes = knobs.stream_bytes = INT64_MAX;
    const auto planned = [&](const std::vector<hewn::Dimension> &dims, int32_t input_bytes) {
        return plan_of(dims, {input_bytes, 4, 1, 1}, {kLayouts, kScaleAndZeroPoint, false}, knobs);
    };
    constexpr int64_t kImage = kPixels * kChannels;
    const hewn::Plan by_row = planned({{kPixels, {1, 0, 0, 1}},
                                       {kChannels, {kPixels, 1, 2, kPixels}},
                                       {kImages, {kImage, 0, 0, kImage}}},
                                      4);
    EXPECT_EQ(by_row.rows, hewn::kMaxUniformRows);
    EXPECT_EQ(by_row.dims[1][1].stride, 1);
    EXPECT_EQ(by_row.dims[2][1].stride, 2);
    EXPECT_EQ(by_row.box_count, 3 * kImages);
    EXPECT_EQ(hewn::values_of_a_box(by_row, 1), by_row.rows);

    const hewn::Plan transposed =
        planned({{kPixels, {kChannels, 0, 0, 1}}, {kChannels, {1, 1, 2, kPixels}}}, 4);
    EXPECT_EQ(transposed.access[0], Access::Transpose);
    EXPECT_GE(transposed.rows, 16);
    EXPECT_EQ(transposed.dims[1][1].stride, 1);

    // With short runs, a tile would have more rows than may have parameters of their own.
    const hewn::Plan short_runs = planned({{8, {kChannels, 0, 0, 1}},
                                           {150, {8 * kChannels + 8, 0, 0, 8}},
                                           {kChannels, {1, 1, 1, 1200}}},
                                          2);
    EXPECT_EQ(short_runs.access[0], Access::Transpose);
    EXPECT_EQ(short_runs.rows, hewn::kMaxUniformRows);

    // There are too few channels to transpose. They are rows all the same.
    const hewn::Plan few_channels =
        planned({{128, {7, 0, 0, 1}}, {7, {1, 1, 1, 128}}, {50, {896, 0, 0, 896}}}, 4);
    EXPECT_EQ(few_channels.access[0], Access::Table);
    EXPECT_EQ(few_channels.rows, 7);

    // Padded rows of pixels and a scale for each image: a box has one scale. With a scale for all
    // images it has none of its own.
    std::vector<hewn::Dimension> padded = {{kPixels, {1, 0, 0, 1}},
                                           {kChannels, {kPixels + 7, 0, 0, kPixels}},
                                           {kImages, {2 * kImage, 1, 1, kImage}}};
    const hewn::Plan an_image = planned(padded, 4);
    EXPECT_EQ(an_image.rows, kChannels);
    EXPECT_EQ(hewn::values_of_a_box(an_image, 1), 1);
    padded[2].stride[1] = 0;
    EXPECT_EQ(hewn::values_of_a_box(planned(padded, 4), 1), 0);
    EXPECT_EQ(hewn::values_of_a_box(planned(padded, 4), 2), 1);
}

// The dimensions of a case are innermost first, with the strides of a, b and a contiguous output.
// In a box no operand may span more than its table and scratch memory hold, and neither may a
// tile's columns or its rows.
TEST(Plan, HugeStridesAreNotDivided) {
    struct Case {
        int32_t bytes;
        hewn::Dimension inner, outer;
    };
    for (const Case &c : {Case{4, {100, {1, 1, 1}}, {20, {300000000, 0, 100}}},
                          Case{4, {2, {1 << 27, 1, 1}}, {100, {1 << 24, 2, 2}}},
                          Case{8, {300, {1, 2, 1}}, {20, {140000000, 0, 300}}},
                          Case{4, {4, {1, 1, 1}}, {1024, {INT32_MAX, 0, 4}}},
                          Case{1, {3, {int64_t(1) << 31, 0, 1}}, {100, {1, 1, 3}}},
                          Case{4, {1000, {1 << 24, 1, 1}}, {1000, {1, 1000, 1000}}},
                          Case{4, {1024, {1024, 1, 1}}, {1024, {1, 1 << 28, 1024}}},
                          Case{4, {1100, {7, 1, 1}}, {7, {1, 1 << 29, 1100}}}}) {
        const hewn::Space space = space_of({c.inner, c.outer}, {c.bytes, c.bytes, c.bytes});
        hewn::Plan plan;
        ASSERT_TRUE(hewn::build_plan(space, kSum, kKnobs, kZen5, test_allocator(), plan));
        for (int o = 0; o < 3; o++) {
            EXPECT_LE((plan.rows - 1) * plan.row_bytes[o] / c.bytes, INT32_MAX)
                << "Halide's bound of its indices";
            if (plan.access[o] == Access::InPlace) continue;
            if (plan.access[o] == Access::Transpose) {
                EXPECT_LE((plan.run_outer - 1) * plan.element_step[o] / c.bytes + plan.rows - 1,
                          INT32_MAX);
            }
            for (int64_t i = 0; i * plan.piece < plan.period[o]; i++)
                EXPECT_GE(plan.table[o][i], 0);
            EXPECT_LE((plan.rows - 1) * plan.dims[o][1].stride + plan.dims[o][0].extent,
                      (16 << 10) / c.bytes);
        }
        hewn::destroy_plan(test_allocator(), plan);
    }
}

// Random layouts, plans and slices compute the right sums. The counters prove that the layouts
// reach every way of moving memory.
TEST(Plan, RandomLayoutsSumRight) {
    std::mt19937 random(20260);
    RandomLayout layout(random);
    // How often there were: operands of each Access; runs of several dimensions that are divided
    // into rows; and such runs where the last box has fewer rows.
    int seen[4] = {}, divided = 0, cut = 0;
    int large_transposed = 0, tall_transposed = 0;
    // Scattered planes; runs in pieces; rows that leave out a dimension.
    int interleaved = 0, pieces = 0, left_out = 0;
    // Streamed outputs that are read next; those of several rows.
    int kept = 0, kept_rows = 0;
    const int32_t highest = highest_priority();
    for (int iteration = 0; iteration < 4000; iteration++) {
        SCOPED_TRACE(iteration);
        const int operands = layout.between(3, 4), output = operands - 1;
        const uint32_t two_inputs = 1u << 0b11 | 1u << 0b10 | 1u << 0b01,
                       three_inputs = 1u << 0b100 | 1u << 0b110 | 1u << 0b111;
        const bool large = iteration % 100 == 0;
        const std::vector<int64_t> sizes =
            large ? layout.large_sizes() : layout.sizes(layout.between(1, 8));
        const int64_t elements =
            std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
        int32_t bytes[kMaxOperands];
        std::vector<Operand> data;
        std::vector<hewn::Tensor> tensors;
        const int one_size = 1 << layout.between(0, 3);
        for (int o = 0; o < operands; o++) {
            bytes[o] = layout.between(0, 1) ? one_size : 1 << layout.between(0, 3);
            data.push_back(large && o == 0 ? layout.transposed(sizes, bytes[o])
                                           : layout.operand(sizes, bytes[o], o == output));
            tensors.push_back(tensor(sizes, data.back(), bytes[o]));
        }
        const hewn::Tensor *pointers[kMaxOperands];
        void *memory[kMaxOperands];
        for (int o = 0; o < operands; o++) {
            pointers[o] = &tensors[size_t(o)];
            memory[o] = data[size_t(o)].memory.data();
        }

        std::vector<uint8_t> expected = data.back().memory;  // padding must stay as it is
        for (int64_t i = 0; i < elements; i++) {
            int64_t offsets[kMaxOperands] = {}, rest = i;
            for (size_t d = sizes.size(); d-- > 0; rest /= sizes[d]) {
                for (int o = 0; o < operands; o++)
                    offsets[o] += rest % sizes[d] * data[size_t(o)].strides[d] * bytes[o];
            }
            uint64_t sum = 0;
            for (int o = 0; o < output; o++)
                sum += load(data[size_t(o)].memory.data() + offsets[o], bytes[o]);
            std::memcpy(expected.data() + offsets[output], &sum, size_t(bytes[output]));
        }

        hewn::Plan plan;
        SumContext context;
        context.operands = operands;
        context.plan = &plan;
        context.element_bytes = bytes;
        context.output_memory = &data.back().memory;
        context.output_is_read_next = layout.between(0, 1) != 0;
        context.layouts = operands == 3 ? two_inputs : three_inputs;
        const hewn::Space space = hewn_test::merged(pointers, operands);
        const bool constant =
            operands == 4 && space.dims[0].stride[1] == 0 && space.dims[0].stride[2] == 0;
        context.uniform = constant ? 0b110 : 0;
        hewn::PlanKnobs knobs = kKnobs;
        knobs.box_bytes = int64_t(16 << 10) << (layout.between(0, 2) ? 0 : layout.between(1, 6));
        knobs.stream_piece_bytes = int64_t(1 << 10) << layout.between(0, 3);
        // No tile is tall if the output is streamed.
        if (layout.between(0, 1) && !large) knobs.stream_bytes = 0;
        if (layout.between(0, 3)) knobs.parallel_bytes = 0;
        const hewn::Chip chips[] = {kOtherChip, kZen4, kZen5};
        // Large tensors take the last chip, because only it has tall tiles.
        const hewn::Chip &chip = chips[large ? 2 : layout.between(0, 2)];
        const hewn::KernelTraits kernel = {context.layouts, context.uniform,
                                           layout.between(0, 3) == 0};
        ASSERT_TRUE(hewn::build_plan(space, kernel, knobs, chip, test_allocator(), plan));
        plan.prefetches_tiles = layout.between(0, 1);  // few of these move enough memory for it
        plan.prefetches_beside = layout.between(0, 1);
        plan.kept_if_read_next = plan.access[output] == Access::Stream;
        const bool fetches = layout.between(0, 1) != 0;
        for (int o = 0; o < output; o++) {
            if (fetches && plan.access[o] == Access::InPlace && plan.dims[o][0].stride == 1)
                plan.prefetched |= 1u << o;
        }
        plan.target_priority = layout.between(0, 1) ? highest : 0;
        for (int o = 0; o < operands; o++) {
            seen[int(plan.access[o])]++;
            large_transposed += large && plan.access[o] == Access::Transpose;
            tall_transposed +=
                large && plan.access[o] == Access::Transpose && plan.rows * bytes[o] > 64;
        }
        interleaved +=
            space.dims[0].stride[output] == 1 && plan.element_step[output] > bytes[output];
        pieces += plan.scratch && plan.piece > 1 && plan.run_inner > 1;
        const bool keeps = plan.access[output] == Access::Stream && context.output_is_read_next;
        kept += keeps;
        kept_rows += keeps && plan.rows > 1;
        left_out += !plan.scratch && plan.rows > 1 &&
                    plan.row_bytes[output] != space.dims[1].stride[output] * bytes[output];
        // Such rows go through the run's own last dimension: a row begins where the one before
        // ends.
        const bool own = plan.run_inner > 1 && plan.rows > 1 &&
                         plan.row_bytes[output] == plan.run_inner * plan.run_outer * bytes[output];
        divided += own;
        cut += own && plan.row_loop >= 0 && plan.loops[plan.row_loop].size % plan.rows != 0;

        // Execute in slices, in any order.
        std::vector<int64_t> cuts = {0, plan.box_count};
        for (int i = 0; i < 3; i++)
            cuts.push_back(std::uniform_int_distribution<int64_t>(0, plan.box_count)(random));
        std::sort(cuts.begin(), cuts.end());
        std::vector<size_t> order(cuts.size() - 1);
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), random);
        for (size_t i : order) {
            halide_buffer_t buffers[kMaxOperands] = {};
            for (int o = 0; o < operands; o++) buffers[o].host = static_cast<uint8_t *>(memory[o]);
            if (cuts[i] < cuts[i + 1]) {
                context.box = context.first = cuts[i];
                context.filled = 0;
                ASSERT_EQ(hewn::run_boxes(plan, cuts[i], cuts[i + 1], buffers, sum_box, context),
                          0);
            }
        }
        hewn::destroy_plan(test_allocator(), plan);
        ASSERT_EQ(context.broken, "");
        ASSERT_EQ(context.elements, elements);
        ASSERT_TRUE(expected == data.back().memory);
    }
    EXPECT_GT(divided, 20);
    EXPECT_GT(cut, 3);
    EXPECT_GT(interleaved, 20);
    EXPECT_GT(pieces, 20);
    EXPECT_GT(left_out, 20);
    if (hewn::kCanStream) {
        EXPECT_GT(kept, 20);
        EXPECT_GT(kept_rows, 20);
    }
    EXPECT_GT(large_transposed, 3);
    EXPECT_GT(tall_transposed, 5) << "of " << large_transposed;
    for (Access access : {Access::InPlace, Access::Table, Access::Transpose, Access::Stream}) {
        if (access == Access::Stream && !hewn::kCanStream) continue;
        EXPECT_GT(seen[int(access)], 20) << "the layouts did not reach access " << int(access);
    }
}

}  // namespace
