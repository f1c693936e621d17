// Tests of OpenCL devices on the machine's driver (PoCL in ./test.sh): the application's own
// contexts, queues and memory, lifetimes, and threads.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "../../reference/contents.h"
#include "../../reference/variants.h"
#include "../../runtime/gpu/views.h"
#include "opencl_api.h"

namespace hewn_test {
namespace {

// hewn finds every device that the driver lists. This must be checked, because the other tests of
// OpenCL are skipped where hewn finds no device.
TEST(Gpu, OpenClDevices) {
    hewn_device_info info{};
    info.struct_size = sizeof info;
    uint32_t index = 0;
    for (const Handle platform : platforms()) {
        constexpr unsigned PLATFORM_NAME = 0x0902;
        char name[256] = {};
        symbol<int (*)(Handle, unsigned, size_t, void *, size_t *)>("clGetPlatformInfo")(
            platform, PLATFORM_NAME, sizeof name - 1, name, nullptr);
        for (size_t i = devices_of(platform).size(); i-- > 0; index++) {
            ASSERT_EQ(hewn_get_device(HEWN_DEVICE_OPENCL, index, &info, nullptr), HEWN_STATUS_OK)
                << index << " of " << name;
            EXPECT_TRUE(std::string(name) != "Portable Computing Language" || !info.missing[0])
                << info.name << " lacks " << info.missing;
        }
    }
    EXPECT_EQ(hewn_get_device(HEWN_DEVICE_OPENCL, index, &info, nullptr), HEWN_STATUS_NO_DEVICE);
}

// The application's own OpenCL objects: contexts, a queue and memory.
class OpenCl : public testing::Test {
protected:
    Handle context_ = nullptr, other_context_ = nullptr, queue_ = nullptr, id_ = nullptr;
    DevicePtr device_;

    static int finish(Handle queue) { return symbol<int (*)(Handle)>("clFinish")(queue); }
    Handle new_context() {
        int code = 0;
        const Handle context =
            symbol<Handle (*)(const intptr_t *, unsigned, const Handle *, void *, void *, int *)>(
                "clCreateContext")(nullptr, 1, &id_, nullptr, nullptr, &code);
        EXPECT_EQ(code, 0);
        return context;
    }
    enum Access : uint64_t { READ_WRITE = 1, WRITE_ONLY = 2, READ_ONLY = 4 };  // CL_MEM_...
    static Handle new_memory(Handle context, size_t bytes, Access access = READ_WRITE) {
        return symbol<Handle (*)(Handle, uint64_t, size_t, void *, int *)>("clCreateBuffer")(
            context, access, bytes, nullptr, nullptr);
    }
    // Makes an image of 100 x 10 f32 numbers; null if the device has no images.
    static Handle new_image(Handle context) {
        constexpr unsigned R_OF_FLOATS[] = {0x10b0, 0x10de};  // CL_R, CL_FLOAT
        return symbol<Handle (*)(Handle, uint64_t, const void *, size_t, size_t, size_t, void *,
                                 int *)>("clCreateImage2D")(context, READ_WRITE, R_OF_FLOATS, 100,
                                                            10, 0, nullptr, nullptr);
    }
    static Handle part_of(Handle memory, size_t origin, size_t bytes) {
        const size_t region[] = {origin, bytes};
        return symbol<Handle (*)(Handle, uint64_t, unsigned, const void *, int *)>(
            "clCreateSubBuffer")(memory, 1, 0x1220, region, nullptr);
    }
    Handle new_queue(uint64_t properties) {
        int code = 0;
        const Handle queue = symbol<Handle (*)(Handle, Handle, uint64_t, int *)>(
            "clCreateCommandQueue")(context_, id_, properties, &code);
        return code ? nullptr : queue;
    }
    static void release(const char *function, Handle object) {
        if (object) symbol<int (*)(Handle)>(function)(object);
    }

    void SetUp() override {
        const Outcome outcome = open(HEWN_DEVICE_OPENCL, 0, device_);
        if (outcome.status != HEWN_STATUS_OK) GTEST_SKIP() << outcome.message;
        for (const Handle platform : platforms()) {
            if (const std::vector<Handle> devices = devices_of(platform); !id_ && !devices.empty())
                id_ = devices[0];
        }
        ASSERT_NE(id_, nullptr);
        context_ = new_context();
        other_context_ = new_context();
        queue_ = new_queue(0);
        ASSERT_EQ(create(context_, queue_, device_).status, HEWN_STATUS_OK);
        EXPECT_EQ(hewn_kind_of_device(device_.get()), HEWN_DEVICE_OPENCL);
    }
    void TearDown() override {
        device_.reset();
        release("clReleaseCommandQueue", queue_);
        release("clReleaseContext", context_);
        release("clReleaseContext", other_context_);
    }
    // Makes a memory object of `count` floats 0, 1, 2, ...
    Handle floats(int count) {
        std::vector<float> values(static_cast<size_t>(count));
        std::iota(values.begin(), values.end(), 0.0f);
        const Handle memory = new_memory(context_, values.size() * 4);
        EXPECT_EQ(hewn_write(device_.get(), memory, 0, values.data(), values.size() * 4, nullptr),
                  HEWN_STATUS_OK);
        return memory;
    }
    std::vector<float> read(Handle memory, int count) {
        std::vector<float> values(static_cast<size_t>(count));
        EXPECT_EQ(hewn_read(device_.get(), memory, 0, values.data(), values.size() * 4, nullptr),
                  HEWN_STATUS_OK);
        return values;
    }
};

// All tensors are in one memory object, at different offsets. The operator runs on the
// application's queue, and the application waits for it.
TEST_F(OpenCl, OneMemoryObject) {
    const Handle memory = floats(3000);
    const Sum sum(device_.get(), 1000);
    for (const uint64_t shift : {0, 4}) {
        ASSERT_EQ(sum.run(at(memory, 0 + shift, 4000), at(memory, 4000 + shift, 4000),
                          at(memory, 8000 - shift, 4000))
                      .status,
                  shift ? HEWN_STATUS_INVALID_BINDING : HEWN_STATUS_OK);
    }
    ASSERT_EQ(finish(queue_), 0);
    const std::vector<float> result = read(memory, 3000);
    for (int i = 0; i < 1000; i++) ASSERT_EQ(result[size_t(2000 + i)], float(i + 1000 + i)) << i;
    // In place.
    ASSERT_EQ(sum.run(at(memory, 0, 4000), at(memory, 4000, 4000), at(memory, 4000, 4000)).status,
              HEWN_STATUS_OK);
    EXPECT_EQ(read(memory, 3000)[1999], float(999 + 1999));
    release("clReleaseMemObject", memory);
}

TEST_F(OpenCl, RefusedBindings) {
    const Handle memory = floats(3000), other = new_memory(other_context_, 4000),
                 part = part_of(memory, 4096, 4096);
    ASSERT_NE(part, nullptr);
    const Sum sum(device_.get(), 1000);
    const std::vector<float> before = read(memory, 3000);
    const hewn_buffer_binding good = at(memory, 0, 4000), output = at(memory, 8000, 4000);
    const auto refused = [&](const hewn_buffer_binding &a, const hewn_buffer_binding &out,
                             const char *text) {
        const Outcome outcome = sum.run(a, good, out);
        EXPECT_EQ(outcome.status, HEWN_STATUS_INVALID_BINDING) << text;
        EXPECT_TRUE(says(outcome, text)) << outcome;
    };
    refused(good, at(nullptr, 0, 4000), "OutputTensor: the binding's buffer is null");
    refused(at(nullptr, 0, 4000), output, "ATensor: the binding's buffer is null");
    refused(at(memory, 0, 3996), output, "ATensor: the binding has 3996 bytes");
    refused(at(memory, 2, 4000), output, "ATensor: the address is misaligned");
    refused(at(memory, 8004, 4000), output,
            "ATensor: the binding ends beyond the memory object's 12000 bytes");
    refused(good, at(memory, UINT64_MAX - 3, 4000), "OutputTensor: the binding ends beyond");
    refused(at(other, 0, 4000), output, "ATensor: the binding's buffer is of another context");
    const Handle image = new_image(context_);
    if (image) refused(at(image, 0, 4000), output, "ATensor: the binding's buffer is an image");
    refused(at(memory, 4004, 4000), output, "OutputTensor: overlaps ATensor");
    refused(at(memory, 4200, 4000), at(part, 0, 4000),
            "OutputTensor: overlaps ATensor");  // a sub-buffer of the same memory
    EXPECT_EQ(read(memory, 3000), before) << "a refused call wrote";
    EXPECT_EQ(sum.run(at(memory, 0, 4000), good, at(part, 0, 4000)).status, HEWN_STATUS_OK);
    EXPECT_EQ(read(memory, 3000)[1024], 0.0f);
    for (const Handle object : {image, part, memory, other}) release("clReleaseMemObject", object);
}

// hewn releases all that a device and its operators retain.
TEST_F(OpenCl, ReferencesAreBalanced) {
    const auto references = [&] {
        unsigned count = 0;
        constexpr unsigned CONTEXT_REFERENCE_COUNT = 0x1080;
        symbol<int (*)(Handle, unsigned, size_t, void *, size_t *)>("clGetContextInfo")(
            context_, CONTEXT_REFERENCE_COUNT, sizeof count, &count, nullptr);
        return count;
    };
    device_.reset();
    const unsigned before = references();
    ASSERT_EQ(create(context_, queue_, device_).status, HEWN_STATUS_OK);
    {
        const Sum sum(device_.get(), 1000);
        EXPECT_GT(references(), before);
    }
    device_.reset();
    EXPECT_EQ(references(), before);
}

// In the binding of an absent tensor, everything but the buffer is ignored. The other bindings must
// be complete.
TEST_F(OpenCl, AbsentZeroPoint) {
    const Tensor elements(HEWN_DATA_TYPE_UINT8, {4}), numbers(HEWN_DATA_TYPE_FLOAT32, {4});
    const hewn_tensor_desc u8 = elements.desc(), f32 = numbers.desc();
    OperatorPtr op;
    const Outcome compiled =
        compile(Description(HEWN_OPERATOR_DEQUANTIZE_LINEAR, {u8, f32, std::nullopt, f32}), nullptr,
                op, device_.get());
    ASSERT_EQ(compiled.status, HEWN_STATUS_OK) << compiled;
    const Handle memory = floats(12);
    const uint8_t bytes[] = {10, 20, 30, 40};
    ASSERT_EQ(hewn_write(device_.get(), memory, 0, bytes, sizeof bytes, nullptr), HEWN_STATUS_OK);
    hewn_buffer_binding inputs[] = {at(memory, 0, 4), at(memory, 16, 16), at(nullptr, 64, 0)};
    const hewn_buffer_binding output = at(memory, 32, 16);
    const auto run = [&] {
        return outcome_of([&](hewn_error *error) {
            return hewn_execute(op.get(), inputs, 3, &output, 1, nullptr, error);
        });
    };
    const Outcome outcome = run();
    EXPECT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
    const std::vector<float> result = read(memory, 12);
    for (size_t i = 0; i < 4; i++) EXPECT_EQ(result[8 + i], float(bytes[i]) * float(4 + i)) << i;
    inputs[2] = at(memory, 0, 4);
    EXPECT_TRUE(says(run(), "ZeroPointTensor: has a binding but was absent"));
    inputs[2] = at(nullptr, 0, 0);
    inputs[1].struct_size = 8;
    EXPECT_TRUE(says(run(), "ScaleTensor: struct_size of the binding"));
    release("clReleaseMemObject", memory);
}

TEST_F(OpenCl, RefusedQueues) {
    DevicePtr device;
    EXPECT_TRUE(says(create(other_context_, queue_, device), "queue is of another context"));
    if (const Handle out_of_order = new_queue(1)) {
        const Outcome outcome = create(context_, out_of_order, device);
        EXPECT_EQ(outcome.status, HEWN_STATUS_UNSUPPORTED);
        EXPECT_TRUE(says(outcome, "out of order")) << outcome;
        release("clReleaseCommandQueue", out_of_order);
    }
}

TEST_F(OpenCl, OutOfMemory) {
    void *memory = this;
    const Outcome outcome = outcome_of([&](hewn_error *error) {
        return hewn_allocate(device_.get(), uint64_t(1) << 60, &memory, error);
    });
    EXPECT_EQ(outcome.status, HEWN_STATUS_OUT_OF_MEMORY) << outcome;
    EXPECT_TRUE(says(outcome, "OpenCL")) << outcome;
    EXPECT_EQ(memory, this) << "a refused call wrote";
    ASSERT_EQ(hewn_allocate(device_.get(), 0, &memory, nullptr), HEWN_STATUS_OK)
        << "no bytes are no failure";
    hewn_deallocate(device_.get(), memory);
}

// hewn does not check where a memory object ends. The driver does, and hewn passes on its error.
TEST_F(OpenCl, BeyondTheEnd) {
    const Handle memory = floats(4);
    const std::vector<float> before = read(memory, 4);
    const float values[] = {-1, -2};
    float back[] = {-1, -2};
    const Outcome written = outcome_of([&](hewn_error *error) {
        return hewn_write(device_.get(), memory, 12, values, sizeof values, error);
    });
    EXPECT_EQ(written.status, HEWN_STATUS_DEVICE_FAILED);
    EXPECT_TRUE(says(written, "clEnqueueWriteBuffer failed")) << written;
    const Outcome read_back = outcome_of([&](hewn_error *error) {
        return hewn_read(device_.get(), memory, 12, back, sizeof back, error);
    });
    EXPECT_EQ(read_back.status, HEWN_STATUS_DEVICE_FAILED);
    EXPECT_TRUE(says(read_back, "clEnqueueReadBuffer failed")) << read_back;
    EXPECT_EQ(read(memory, 4), before) << "a refused call wrote";
    release("clReleaseMemObject", memory);
}

TEST_F(OpenCl, ForcedVariants) {
    const Tensor tensor(HEWN_DATA_TYPE_FLOAT32, {4});
    const hewn_tensor_desc desc = tensor.desc();
    const Description description(HEWN_OPERATOR_ADD, {desc, desc, desc});
    for (const hewn_target_info &target : targets()) {
        if (!find_variant("add_f32__" + std::string(target.name))) continue;
        OperatorPtr op;
        const hewn_compile_options options = compile_options(target.name);
        const Outcome outcome = compile(description, &options, op, device_.get());
        if (target.device == HEWN_DEVICE_OPENCL) {
            EXPECT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
            EXPECT_EQ(hewn_operator_variant(op.get()), "add_f32__" + std::string(target.name));
        } else {
            EXPECT_EQ(outcome.status, HEWN_STATUS_NO_VARIANT);
            EXPECT_TRUE(says(outcome, "the device is OpenCL")) << outcome;
        }
    }
}

// An operator keeps what it needs of its device, and can run after the device was destroyed.
TEST_F(OpenCl, OperatorOutlivesItsDevice) {
    const Handle memory = floats(300);
    const Sum sum(device_.get(), 100);
    const std::vector<float> before = read(memory, 300);
    DevicePtr reader;
    ASSERT_EQ(create(context_, queue_, reader).status, HEWN_STATUS_OK);
    device_.reset();
    EXPECT_EQ(sum.run(at(memory, 0, 400), at(memory, 400, 400), at(memory, 800, 400)).status,
              HEWN_STATUS_OK);
    device_ = std::move(reader);
    EXPECT_EQ(read(memory, 300)[299], before[99] + before[199]);
    release("clReleaseMemObject", memory);
}

// Several threads execute one operator. OpenCL stores a kernel's arguments in the kernel, so
// executions must not set them at the same time.
TEST_F(OpenCl, Threads) {
    constexpr int THREADS = 4, ROUNDS = 50, COUNT = 1003;
    const Sum sum(device_.get(), COUNT);
    std::vector<Handle> memory;
    for (int t = 0; t < THREADS; t++) memory.push_back(floats(3 * COUNT + t));
    std::atomic<int> failed{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < THREADS; t++) {
        threads.emplace_back([&, t] {
            const Handle mine = memory[size_t(t)];
            const uint64_t bytes = COUNT * 4;
            for (int i = 0; i < ROUNDS; i++) {  // c = a + b, then c = a + c in place
                const Outcome outcome =
                    sum.run(at(mine, 0, bytes), at(mine, i ? 2 * bytes : bytes, bytes),
                            at(mine, 2 * bytes, bytes));
                failed += outcome.status != HEWN_STATUS_OK;
            }
        });
    }
    for (std::thread &thread : threads) thread.join();
    EXPECT_EQ(failed, 0);
    for (const Handle mine : memory) {
        const std::vector<float> result = read(mine, 3 * COUNT);
        for (int i = 0; i < COUNT; i++)
            ASSERT_EQ(result[size_t(2 * COUNT + i)], float(COUNT + i + ROUNDS * i)) << i;
        release("clReleaseMemObject", mine);
    }
}

// Several threads execute one operator that has scratch memory and two passes. The passes of
// different executions must not be mixed.
TEST_F(OpenCl, ThreadsWithScratch) {
    if (!find_variant("dequantize_linear_u8_f32__opencl")) GTEST_SKIP() << "a build without it";
    constexpr int THREADS = 4, ROUNDS = 50, COUNT = 1002;
    const Tensor x(HEWN_DATA_TYPE_UINT4, {COUNT}), scale(HEWN_DATA_TYPE_FLOAT32, {COUNT}, {0}),
        y(HEWN_DATA_TYPE_FLOAT32, {COUNT});
    OperatorPtr op;
    ASSERT_EQ(compile(Description(HEWN_OPERATOR_DEQUANTIZE_LINEAR,
                                  {x.desc(), scale.desc(), std::nullopt, y.desc()}),
                      nullptr, op, device_.get())
                  .status,
              HEWN_STATUS_OK);
    std::vector<void *> memory(THREADS);
    for (int t = 0; t < THREADS; t++) {
        void *&mine = memory[size_t(t)];
        ASSERT_EQ(hewn_allocate(device_.get(), 8 * COUNT, &mine, nullptr), HEWN_STATUS_OK);
        const float two = 2;
        const std::vector<uint8_t> packed(COUNT / 2, uint8_t(17 * (t + 1)));
        hewn_write(device_.get(), mine, 0, &two, 4, nullptr);
        hewn_write(device_.get(), mine, 4, packed.data(), packed.size(), nullptr);
    }
    std::atomic<int> failed{0};
    std::vector<std::thread> threads;
    for (void *mine : memory) {
        threads.emplace_back([&, mine] {
            for (int i = 0; i < ROUNDS; i++) {
                const hewn_buffer_binding inputs[] = {at(mine, 4, COUNT / 2), at(mine, 0, 4),
                                                      at(nullptr, 0, 0)},
                                          output = at(mine, 4 * COUNT, 4 * COUNT);
                failed += hewn_execute(op.get(), inputs, 3, &output, 1, nullptr, nullptr) != 0;
            }
        });
    }
    for (std::thread &thread : threads) thread.join();
    EXPECT_EQ(failed, 0);
    for (int t = 0; t < THREADS; t++) {
        std::vector<float> result(COUNT);
        hewn_read(device_.get(), memory[size_t(t)], 4 * COUNT, result.data(), 4 * COUNT, nullptr);
        EXPECT_EQ(result, std::vector<float>(COUNT, float(2 * (t + 1))));
        hewn_deallocate(device_.get(), memory[size_t(t)]);
    }
}

// Offsets that 32-bit indices cannot reach, then a tensor of 2 x 2 elements whose rows lie 2^30
// elements apart, which takes several launches.
TEST_F(OpenCl, FarApart) {
    constexpr uint64_t FAR = uint64_t(1) << 30, BYTES = FAR + 4096 + 64;
    const Handle memory = new_memory(context_, BYTES);
    if (!memory) GTEST_SKIP() << "the device has no " << BYTES << " bytes";
    const uint8_t a[] = {1, 2, 3, 4}, b[] = {10, 20, 30, 40};
    const auto write = [&](uint64_t offset, const uint8_t *from, uint64_t bytes) {
        ASSERT_EQ(hewn_write(device_.get(), memory, offset, from, bytes, nullptr), HEWN_STATUS_OK);
    };
    write(FAR + 3, a, 4);
    write(FAR + 100, b, 4);
    const Sum sum(device_.get(), 4, HEWN_DATA_TYPE_UINT8);
    ASSERT_EQ(
        sum.run(at(memory, FAR + 3, 4), at(memory, FAR + 100, 4), at(memory, FAR + 4099, 4)).status,
        HEWN_STATUS_OK);
    uint8_t result[4];
    ASSERT_EQ(hewn_read(device_.get(), memory, FAR + 4099, result, 4, nullptr), HEWN_STATUS_OK);
    for (int i = 0; i < 4; i++) EXPECT_EQ(result[i], a[i] + b[i]);

    const Tensor wide(HEWN_DATA_TYPE_UINT8, {2, 2}, {2, 1}), far(HEWN_DATA_TYPE_UINT8, {1}, {1});
    const int64_t sizes[] = {2, 2}, strides[] = {int64_t(FAR), 1};
    const hewn_tensor_desc far_desc = {sizeof far_desc, HEWN_DATA_TYPE_UINT8, 2, sizes, strides,
                                       nullptr},
                           near_desc = wide.desc();
    const Description description(HEWN_OPERATOR_ADD, {far_desc, near_desc, near_desc});
    OperatorPtr op;
    ASSERT_EQ(compile(description, nullptr, op, device_.get()).status, HEWN_STATUS_OK);
    write(3, b, 2);
    write(64, a, 4);
    const hewn_buffer_binding inputs[] = {at(memory, 3, FAR + 2), at(memory, 64, 4)},
                              output = at(memory, FAR + 4100, 4);
    ASSERT_EQ(hewn_execute(op.get(), inputs, 2, &output, 1, nullptr, nullptr), HEWN_STATUS_OK);
    ASSERT_EQ(hewn_read(device_.get(), memory, FAR + 4100, result, 4, nullptr), HEWN_STATUS_OK);
    const uint8_t expected[] = {11, 22, 4, 6};
    for (int i = 0; i < 4; i++) EXPECT_EQ(result[i], expected[i]) << i;
    release("clReleaseMemObject", memory);
}

// Tensors far into a memory object are bound as sub-buffers, which must have the access of the
// program's memory object: read-only or write-only.
TEST_F(OpenCl, FarInMemoryOfOneAccess) {
    constexpr uint64_t FAR = uint64_t(1) << 30, BYTES = FAR + 64;
    const Handle inputs = new_memory(context_, BYTES, READ_ONLY),
                 outputs = new_memory(context_, BYTES, WRITE_ONLY);
    if (!inputs || !outputs) GTEST_SKIP() << "the device has no " << 2 * BYTES << " bytes";
    const uint8_t values[] = {1, 2, 3, 40, 50, 60};
    uint8_t result[3];
    ASSERT_EQ(hewn_write(device_.get(), inputs, FAR + 5, values, 6, nullptr), HEWN_STATUS_OK);
    const Sum sum(device_.get(), 3, HEWN_DATA_TYPE_UINT8);
    const Outcome outcome =
        sum.run(at(inputs, FAR + 5, 3), at(inputs, FAR + 8, 3), at(outputs, FAR + 7, 3));
    EXPECT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
    ASSERT_EQ(hewn_read(device_.get(), outputs, FAR + 7, result, 3, nullptr), HEWN_STATUS_OK);
    for (int i = 0; i < 3; i++) EXPECT_EQ(result[i], values[i] + values[i + 3]) << i;
    release("clReleaseMemObject", inputs);
    release("clReleaseMemObject", outputs);
}

}  // namespace
}  // namespace hewn_test
