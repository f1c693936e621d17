// Tests that apply to all kinds of GPU: what is refused and with which message, machines without a
// driver, and the arithmetic of launches.
#include "../../runtime/gpu/division.h"
#include "../../runtime/gpu/views.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "../../reference/contents.h"
#include "../../reference/variants.h"
#include "drivers.h"

namespace hewn_test {
namespace {

TEST(Gpu, UnknownDevices) {
    DevicePtr device;
    EXPECT_EQ(open(17, 0, device).status, HEWN_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(open(17, HEWN_ANY_DEVICE, device).status, HEWN_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(open(HEWN_DEVICE_CPU, 1, device).status, HEWN_STATUS_NO_DEVICE);
    EXPECT_EQ(open(HEWN_DEVICE_CPU, HEWN_ANY_DEVICE, device).status, HEWN_STATUS_OK);
    EXPECT_EQ(open(HEWN_DEVICE_CUDA, 99, device).status, HEWN_STATUS_NO_DEVICE);
    EXPECT_EQ(open(HEWN_DEVICE_OPENCL, 99, device).status, HEWN_STATUS_NO_DEVICE);
    EXPECT_EQ(outcome_of([](hewn_error *error) {
                  return hewn_open_device(HEWN_DEVICE_CPU, 0, nullptr, error);
              }).status,
              HEWN_STATUS_INVALID_ARGUMENT);
    hewn_device_info info{};
    info.struct_size = 8;
    EXPECT_EQ(hewn_get_device(HEWN_DEVICE_CPU, 0, &info, nullptr), HEWN_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(hewn_get_device(HEWN_DEVICE_CPU, 0, nullptr, nullptr), HEWN_STATUS_INVALID_ARGUMENT);
    info.struct_size = sizeof info;
    EXPECT_EQ(hewn_get_device(HEWN_DEVICE_CPU, 0, &info, nullptr), HEWN_STATUS_OK);
    EXPECT_STREQ(info.name, "CPU");
}

TEST(Gpu, BadDescriptions) {
    hewn_device *device = nullptr;
    const auto cuda = [&](const hewn_cuda_device_desc *desc) {
        return outcome_of(
            [&](hewn_error *error) { return hewn_create_cuda_device(desc, &device, error); });
    };
    const auto opencl = [&](const hewn_opencl_device_desc *desc) {
        return outcome_of(
            [&](hewn_error *error) { return hewn_create_opencl_device(desc, &device, error); });
    };
    EXPECT_TRUE(says(cuda(nullptr), "hewn_cuda_device_desc"));
    EXPECT_TRUE(says(opencl(nullptr), "hewn_opencl_device_desc"));
    hewn_cuda_device_desc cuda_desc = {4, nullptr, nullptr, nullptr, nullptr, nullptr};
    EXPECT_TRUE(says(cuda(&cuda_desc), "struct_size"));
    cuda_desc.struct_size = sizeof cuda_desc;
    cuda_desc.allocate = [](void *, size_t, size_t) -> void * { return nullptr; };
    EXPECT_TRUE(says(cuda(&cuda_desc), "both allocate and deallocate"));
    hewn_opencl_device_desc opencl_desc = {4, nullptr, nullptr, nullptr, nullptr, nullptr};
    EXPECT_TRUE(says(opencl(&opencl_desc), "struct_size"));
    opencl_desc.struct_size = sizeof opencl_desc;
    EXPECT_TRUE(says(opencl(&opencl_desc), "context or queue is null"));
    EXPECT_EQ(device, nullptr);
    EXPECT_EQ(outcome_of([](hewn_error *error) {
                  return hewn_create_cuda_device(nullptr, nullptr, error);
              }).status,
              HEWN_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(outcome_of([](hewn_error *error) {
                  return hewn_create_opencl_device(nullptr, nullptr, error);
              }).status,
              HEWN_STATUS_INVALID_ARGUMENT);
}

// Without drivers, devices are refused with a reason, and the CPU works. ctest runs this test with
// empty files in place of the drivers.
TEST(NoDriver, CpuStaysUsable) {
    DevicePtr device;
    for (const auto &[kind, name] : {std::pair(HEWN_DEVICE_CUDA, "libcuda.so.1"),
                                     std::pair(HEWN_DEVICE_OPENCL, "libOpenCL.so.1")}) {
        if (void *driver = dlopen(name, RTLD_NOW)) {
            dlclose(driver);
            GTEST_SKIP() << "this machine has " << name;
        }
        const Outcome outcome = open(kind, 0, device);
        EXPECT_EQ(outcome.status, HEWN_STATUS_NO_DEVICE);
        EXPECT_TRUE(says(outcome, name)) << outcome;
    }
    // hewn makes no device from the program's own objects either, and does not look at what they
    // point to.
    int object = 0;
    hewn_device *device_of_objects = untouched<hewn_device>();
    const hewn_cuda_device_desc cuda = {sizeof cuda, &object, nullptr, nullptr, nullptr, nullptr};
    const hewn_opencl_device_desc opencl = {sizeof opencl, &object, &object,
                                            nullptr,       nullptr, nullptr};
    const hewn_d3d12_device_desc d3d12 = {sizeof d3d12, &object, nullptr,
                                          nullptr,      nullptr, nullptr};
    const auto refused = [&](const auto &create, const auto &desc, const char *reason) {
        const Outcome outcome =
            outcome_of([&](hewn_error *error) { return create(&desc, &device_of_objects, error); });
        EXPECT_EQ(outcome.status, HEWN_STATUS_NO_DEVICE) << outcome;
        EXPECT_TRUE(says(outcome, reason)) << outcome;
        EXPECT_EQ(device_of_objects, untouched<hewn_device>())
            << "a refused call wrote: " << reason;
    };
    refused(hewn_create_cuda_device, cuda, "CUDA: no CUDA driver: libcuda.so.1 is not there");
    refused(hewn_create_opencl_device, opencl,
            "OpenCL: no OpenCL driver: libOpenCL.so.1 is not there");
    refused(hewn_create_d3d12_device, d3d12, "D3D12: it is a part of Windows");

    const Sum sum(nullptr, 2);
    float a[] = {1, 2}, b[] = {3, 4}, c[2];
    EXPECT_EQ(sum.run(at(a, 0, 8), at(b, 0, 8), at(c, 0, 8)).status, HEWN_STATUS_OK);
    EXPECT_EQ(c[1], 6);
}

// The driver has no device at all: OpenCL's loader is told that there is no platform.
TEST(NoPlatform, Open) {
    const char *vendors = std::getenv("OCL_ICD_VENDORS");
    if (!vendors || std::string(vendors) != "/nowhere")
        GTEST_SKIP() << "not run with OCL_ICD_VENDORS=/nowhere";
    DevicePtr device;
    const Outcome outcome = open(HEWN_DEVICE_OPENCL, 0, device);
    if (says(outcome, "libOpenCL.so.1 is not there")) GTEST_SKIP() << outcome.message;
    EXPECT_EQ(outcome.status, HEWN_STATUS_NO_DEVICE);
    EXPECT_TRUE(says(outcome, "OpenCL: the driver has no device")) << outcome;
}

// The functions for memory also work on the CPU, whose device is null.
TEST(Gpu, CpuMemory) {
    void *memory = nullptr;
    ASSERT_EQ(hewn_allocate(nullptr, 64, &memory, nullptr), HEWN_STATUS_OK);
    const int value = 42;
    int back = 0;
    EXPECT_EQ(hewn_write(nullptr, memory, 8, &value, sizeof value, nullptr), HEWN_STATUS_OK);
    EXPECT_EQ(hewn_read(nullptr, memory, 8, &back, sizeof back, nullptr), HEWN_STATUS_OK);
    EXPECT_EQ(back, 42);
    EXPECT_EQ(hewn_synchronize(nullptr, nullptr), HEWN_STATUS_OK);
    EXPECT_EQ(hewn_kind_of_device(nullptr), HEWN_DEVICE_CPU);
    EXPECT_EQ(hewn_allocate(nullptr, 64, nullptr, nullptr), HEWN_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(hewn_write(nullptr, nullptr, 0, &value, 4, nullptr), HEWN_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(hewn_read(nullptr, nullptr, 0, &back, 4, nullptr), HEWN_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(hewn_write(nullptr, memory, 0, nullptr, 4, nullptr), HEWN_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(hewn_read(nullptr, memory, 0, nullptr, 4, nullptr), HEWN_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(hewn_write(nullptr, nullptr, 0, nullptr, 0, nullptr), HEWN_STATUS_OK);
    EXPECT_EQ(hewn_read(nullptr, nullptr, 0, nullptr, 0, nullptr), HEWN_STATUS_OK);
    hewn_deallocate(nullptr, memory);
    hewn_deallocate(nullptr, nullptr);
    memory = &back;
    const Outcome outcome = outcome_of(
        [&](hewn_error *error) { return hewn_allocate(nullptr, UINT64_MAX / 2, &memory, error); });
    EXPECT_EQ(outcome.status, HEWN_STATUS_OUT_OF_MEMORY);
    EXPECT_EQ(memory, &back) << "a refused call wrote";
}

// hewn_d3d12_record refuses an operator of another device, and a null operator or list.
TEST(Gpu, OthersAreNotRecorded) {
    const Sum sum(nullptr, 2);
    float a[2] = {}, c[2] = {};
    const hewn_buffer_binding inputs[] = {at(a, 0, 8), at(a, 0, 8)}, output = at(c, 0, 8);
    const auto record = [&](const hewn_operator *op, void *list) {
        const Outcome outcome = outcome_of([&](hewn_error *error) {
            return hewn_d3d12_record(op, list, inputs, 2, &output, 1, error);
        });
        EXPECT_EQ(outcome.status, HEWN_STATUS_INVALID_ARGUMENT);
        return outcome;
    };
    EXPECT_TRUE(says(record(nullptr, a), "op is null"));
    EXPECT_TRUE(says(record(sum.op.get(), nullptr), "command_list is null"));
    EXPECT_TRUE(says(record(sum.op.get(), a), "the operator is for the CPU"));
}

// The numbers that the strided kernels use to divide by a size. n * multiplier is larger than n *
// 2^shift / size by an amount that grows with n. So a result that is too large shows at the last n
// that is one less than a multiple of the size, and one that is too small at any multiple.
TEST(Gpu, Divisions) {
    constexpr uint32_t END = uint32_t(1) << 31;
    const auto check = [](uint32_t size) {
        const hewn::Division by = hewn::division_by(size);
        const uint32_t last = END / size * size;
        for (const uint32_t n : {0u, 1u, size - 1, size, last - 1, last - size, last, END - 1}) {
            if (n == END) continue;
            ASSERT_EQ(uint32_t(uint64_t(2 * n) * by.multiplier >> 32) >> by.shift, n / size)
                << n << " / " << size;
        }
    };
    for (uint32_t size = 1; size <= 1 << 16; size++) check(size);
    for (uint32_t power = 1 << 16; power < END; power *= 2) {
        for (const uint32_t size : {power - 1, power, power + 1}) check(size);
    }
    check(END - 1);
    Random random("Divisions");
    for (int i = 0; i < 100'000; i++)
        check(uint32_t(random.integer(1, (int64_t(1) << random.integer(1, 31)) - 1)));
}

// All tensors in a memory object share one view, or none, if indices can reach all of them. This
// matters because views that overlap are undefined.
TEST(GpuViews, OneForAMemoryObject) {
    using hewn::GpuView;
    constexpr uint64_t LIMIT = uint64_t(hewn::kGpuIndexLimit), ALIGNMENT = 128;
    const auto views_of = [&](const std::vector<hewn::GpuTensor> &tensors) {
        std::vector<GpuView> views(tensors.size());
        hewn::choose_views(tensors.data(), int(tensors.size()), ALIGNMENT, views.data());
        return views;
    };
    const auto whole = [](uint64_t memory) { return GpuView{memory, 0, 0, true}; };
    EXPECT_EQ(views_of({{{1, 0}, 64}, {{1, LIMIT - 4}, 2 * LIMIT}, {{2, 4}, 8}}),
              (std::vector{whole(1), whole(1), whole(2)}));
    // The output lies far into its memory object. The input next to it is read through the output's
    // view, the input in another object directly.
    const GpuView shared = {1, LIMIT - 512, LIMIT + 64, false};
    EXPECT_EQ(views_of({{{1, LIMIT - 500}, LIMIT - 400}, {{2, 0}, 64}, {{1, LIMIT}, LIMIT + 64}}),
              (std::vector{shared, whole(2), shared}));
    // Too far apart for one view.
    EXPECT_EQ(
        views_of(
            {{{1, 60}, 124}, {{1, LIMIT + 200}, LIMIT + 264}, {{1, LIMIT + 200}, LIMIT + 264}}),
        (std::vector<GpuView>{{1, 0, 124, false},
                              {1, LIMIT + 128, LIMIT + 264, false},
                              {1, LIMIT + 128, LIMIT + 264, false}}));
    // Too far apart for one view. Three of the last four tensors overlap, so that they share a
    // view.
    EXPECT_EQ(views_of({{{1, 60}, 124},
                        {{1, LIMIT + 200}, LIMIT + 264},
                        {{1, LIMIT + 300}, LIMIT + 400},
                        {{1, LIMIT + 263}, LIMIT + 301},
                        {{1, LIMIT + 400}, LIMIT + 440}}),
              (std::vector<GpuView>{{1, 0, 124, false},
                                    {1, LIMIT + 128, LIMIT + 400, false},
                                    {1, LIMIT + 128, LIMIT + 400, false},
                                    {1, LIMIT + 128, LIMIT + 400, false},
                                    {1, LIMIT + 384, LIMIT + 440, false}}));
    // As far apart as indices can reach, then one byte farther.
    EXPECT_EQ(views_of({{{1, 128}, 192}, {{1, LIMIT + 127}, LIMIT + 128}})[0].end, LIMIT + 128);
    EXPECT_EQ(views_of({{{1, 128}, 192}, {{1, LIMIT + 128}, LIMIT + 129}})[0].end, 192);
}

}  // namespace
}  // namespace hewn_test
