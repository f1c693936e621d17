// Tests of OpenCL devices on fake_opencl.c, which computes nothing: what a device may lack, which
// objects hewn retains, and calls that fail.
#include <gtest/gtest.h>

#include <cstdlib>

#include "../../reference/contents.h"
#include "../../reference/variants.h"
#include "../../runtime/gpu/views.h"
#include "opencl_api.h"

namespace hewn_test {
namespace {

class FakeOpenCl : public testing::Test {
protected:
    void *driver_ = nullptr;
    template<class T = int>
    T &variable(const char *name) {
        return *static_cast<T *>(dlsym(driver_, name));
    }
    void SetUp() override {
        driver_ = dlopen("libOpenCL.so.1", RTLD_NOW);
        if (!driver_ || !dlsym(driver_, "fake_opened"))
            GTEST_SKIP() << "not run with the fake driver";
        unsetenv("FAKE_OPENCL");
    }
    void TearDown() override {
        unsetenv("FAKE_OPENCL");
        if (driver_ && dlsym(driver_, "fake_references")) {
            EXPECT_EQ(variable("fake_references"), 0) << "something is kept, or given back twice";
        }
    }
};

TEST_F(FakeOpenCl, Lacking) {
    hewn_device_info info{};
    info.struct_size = sizeof info;
    DevicePtr device;
    for (const auto &[mode, missing] : {
             std::pair("subnormals", "subnormal f32 numbers (CL_FP_DENORM)"),
             std::pair("rounding", "rounding to nearest (CL_FP_ROUND_TO_NEAREST)"),
             std::pair("little-endian", "little-endian memory"),
             std::pair("64 bits", "64-bit addresses"),
             std::pair("work-groups", "work-groups of 256"),
         }) {
        setenv("FAKE_OPENCL", mode, 1);
        for (const uint32_t index : {0u, 1u}) {
            ASSERT_EQ(hewn_get_device(HEWN_DEVICE_OPENCL, index, &info, nullptr), HEWN_STATUS_OK);
            EXPECT_STREQ(info.missing, missing) << info.name;
        }
        for (const uint32_t index : {0u, 1u, HEWN_ANY_DEVICE}) {
            const Outcome outcome = open(HEWN_DEVICE_OPENCL, index, device);
            EXPECT_EQ(outcome.status, HEWN_STATUS_NO_DEVICE) << mode;
            EXPECT_TRUE(says(outcome, std::string("lacks ") + missing)) << outcome;
        }
        // A device from the program's own context and queue.
        const Outcome outcome =
            create(reinterpret_cast<Handle>(0x3002), reinterpret_cast<Handle>(0x4002), device);
        EXPECT_EQ(outcome.status, HEWN_STATUS_NO_DEVICE) << mode;
        EXPECT_TRUE(says(outcome, std::string("lacks ") + missing)) << outcome;
    }
}

// HEWN_ANY_DEVICE takes the GPU, although the driver lists the CPU first. It does not take a device
// that lacks something.
TEST_F(FakeOpenCl, AnyDevice) {
    hewn_device_info info{};
    info.struct_size = sizeof info;
    for (const auto &[index, name] : {std::pair(0u, "Fake CPU"), std::pair(1u, "Fake GPU")}) {
        ASSERT_EQ(hewn_get_device(HEWN_DEVICE_OPENCL, index, &info, nullptr), HEWN_STATUS_OK);
        EXPECT_STREQ(info.name, name);
        EXPECT_STREQ(info.missing, "");
        EXPECT_EQ(info.is_cpu, index == 0);
    }
    EXPECT_TRUE(says(outcome_of([&](hewn_error *error) {
                         return hewn_get_device(HEWN_DEVICE_OPENCL, 2, &info, error);
                     }),
                     "there is no device 2, the driver has 2"));
    constexpr int CPU = 1, GPU = 2;
    DevicePtr device;
    ASSERT_EQ(open(HEWN_DEVICE_OPENCL, HEWN_ANY_DEVICE, device).status, HEWN_STATUS_OK);
    EXPECT_EQ(variable("fake_opened"), GPU);
    setenv("FAKE_OPENCL", "GPU subnormals", 1);
    ASSERT_EQ(open(HEWN_DEVICE_OPENCL, HEWN_ANY_DEVICE, device).status, HEWN_STATUS_OK);
    EXPECT_EQ(variable("fake_opened"), CPU);
    device.reset();
    EXPECT_EQ(variable("fake_references"), 0);
}

// The compiler's log is longer than an error message can be. The message has the log's beginning,
// in one line.
TEST_F(FakeOpenCl, TheBuildLogIsTold) {
    DevicePtr device;
    setenv("FAKE_OPENCL", "compiler", 1);
    ASSERT_EQ(open(HEWN_DEVICE_OPENCL, HEWN_ANY_DEVICE, device).status, HEWN_STATUS_OK);
    const int64_t sizes[] = {4};
    const hewn_tensor_desc f32 = {sizeof f32, HEWN_DATA_TYPE_FLOAT32, 1, sizes, nullptr, nullptr};
    const hewn_add_desc add = {sizeof add, &f32, &f32, &f32};
    const hewn_operator_desc desc = {sizeof desc, HEWN_OPERATOR_ADD, &add};
    const Outcome outcome = outcome_of([&](hewn_error *error) {
        hewn_operator *op = nullptr;
        return hewn_compile(device.get(), &desc, nullptr, &op, error);
    });
    if (outcome.status == HEWN_STATUS_UNSUPPORTED)
        GTEST_SKIP() << outcome;  // a build without the kernel
    EXPECT_EQ(outcome.status, HEWN_STATUS_DEVICE_FAILED);
    EXPECT_TRUE(says(outcome,
                     "clBuildProgram failed with code -11: line 1: no such thing line 2: nor this"))
        << outcome;
    device.reset();
    EXPECT_EQ(variable("fake_references"), 0);
}

// A context and a queue of the program, on the fake GPU.
struct OwnQueue {
    Handle context, queue;

    OwnQueue() {
        int code = 0;
        const Handle id = reinterpret_cast<Handle>(0x2002);
        context =
            symbol<Handle (*)(const intptr_t *, unsigned, const Handle *, void *, void *, int *)>(
                "clCreateContext")(nullptr, 1, &id, nullptr, nullptr, &code);
        queue = symbol<Handle (*)(Handle, Handle, uint64_t, int *)>("clCreateCommandQueue")(
            context, id, 0, &code);
    }
    ~OwnQueue() { release(); }
    void release() {
        if (queue) symbol<int (*)(Handle)>("clReleaseCommandQueue")(queue);
        if (context) symbol<int (*)(Handle)>("clReleaseContext")(context);
        context = queue = nullptr;
    }
};

// The device retains the program's context and queue until it is destroyed, and no longer.
// hewn_synchronize waits for that queue.
TEST_F(FakeOpenCl, OwnContextAndQueue) {
    OwnQueue own;
    const int &contexts = (&variable("fake_contexts"))[2], &queues = (&variable("fake_queues"))[2];
    DevicePtr device;
    ASSERT_EQ(create(own.context, own.queue, device).status, HEWN_STATUS_OK);
    const Handle queue = own.queue;
    own.release();
    EXPECT_EQ(contexts, 1);
    EXPECT_EQ(queues, 1);
    EXPECT_EQ(hewn_synchronize(device.get(), nullptr), HEWN_STATUS_OK);
    EXPECT_EQ(variable<Handle>("fake_finished"), queue);
    setenv("FAKE_OPENCL", "completion", 1);
    const Outcome outcome =
        outcome_of([&](hewn_error *error) { return hewn_synchronize(device.get(), error); });
    EXPECT_EQ(outcome.status, HEWN_STATUS_DEVICE_FAILED);
    EXPECT_TRUE(says(outcome, "clFinish failed with code -14")) << outcome;
    device.reset();
    EXPECT_EQ(contexts, 0);
    EXPECT_EQ(queues, 0);
}

// The program's functions for memory. Request number `fails_at` fails; 0: none fails.
struct Host {
    int requests = 0, fails_at = 0, live = 0;

    static void *allocate(void *context, size_t bytes, size_t alignment) {
        Host &host = *static_cast<Host *>(context);
        if (++host.requests == host.fails_at) return nullptr;
        host.live++;
        return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    }
    static void deallocate(void *context, void *memory) {
        static_cast<Host *>(context)->live--;
        std::free(memory);
    }
};

// An operator with an output of a sub-byte type is compiled, executed and bound, while each request
// for memory fails in turn. Each time a status must say so, and nothing may be kept.
TEST_F(FakeOpenCl, EveryAllocationFails) {
    if (!find_variant("quantize_linear_f32_u8__opencl")) GTEST_SKIP() << "no such kernel";
    const OwnQueue own;
    const int before = variable("fake_references");
    Host host;
    const hewn_opencl_device_desc desc = {sizeof desc,    own.context,      own.queue,
                                          Host::allocate, Host::deallocate, &host};
    const Spec x{HEWN_DATA_TYPE_FLOAT32, {65}}, scale{HEWN_DATA_TYPE_FLOAT32, {65}, {0}},
        y{HEWN_DATA_TYPE_UINT4, {65}};
    const Description description(HEWN_OPERATOR_QUANTIZE_LINEAR,
                                  {x.desc(), scale.desc(), std::nullopt, y.desc()});
    // Returns the status of the first step that fails.
    const auto run = [&]() -> hewn_status {
        hewn_device *created = nullptr;
        if (const hewn_status status = hewn_create_opencl_device(&desc, &created, nullptr))
            return status;
        const DevicePtr device(created);
        OperatorPtr op;
        if (const hewn_status status = compile(description, nullptr, op, created).status)
            return status;
        void *memory = nullptr;
        EXPECT_EQ(hewn_allocate(created, 1024, &memory, nullptr), HEWN_STATUS_OK);
        const hewn_buffer_binding inputs[] = {at(memory, 0, 260), at(memory, 512, 4),
                                              at(nullptr, 0, 0)},
                                  output = at(memory, 768, 33);
        BoundOperatorPtr bound;
        hewn_status status = hewn_execute(op.get(), inputs, 3, &output, 1, nullptr, nullptr);
        if (!status) status = bind_operator(op.get(), inputs, 3, &output, 1, nullptr, bound).status;
        if (!status) status = hewn_run(bound.get(), nullptr);
        hewn_deallocate(created, memory);
        return status;
    };
    ASSERT_EQ(run(), HEWN_STATUS_OK);
    const int requests = host.requests;
    EXPECT_GE(requests, 4);
    for (int fails_at = 1; fails_at <= requests; fails_at++) {
        host = {0, fails_at, 0};
        EXPECT_EQ(run(), HEWN_STATUS_OUT_OF_MEMORY) << "request " << fails_at;
        EXPECT_EQ(host.live, 0) << "request " << fails_at;
        EXPECT_EQ(variable("fake_references"), before) << "request " << fails_at;
    }
    host = {};
    EXPECT_EQ(run(), HEWN_STATUS_OK);
}

// Copies have happened when the call returns.
TEST_F(FakeOpenCl, Copies) {
    DevicePtr device;
    ASSERT_EQ(open(HEWN_DEVICE_OPENCL, HEWN_ANY_DEVICE, device).status, HEWN_STATUS_OK);
    void *memory = nullptr;
    ASSERT_EQ(hewn_allocate(device.get(), 64, &memory, nullptr), HEWN_STATUS_OK);
    const int value = 42;
    int back = 0;
    EXPECT_EQ(hewn_write(device.get(), memory, 8, &value, sizeof value, nullptr), HEWN_STATUS_OK);
    EXPECT_EQ(hewn_read(device.get(), memory, 8, &back, sizeof back, nullptr), HEWN_STATUS_OK);
    EXPECT_EQ(back, 42);
    hewn_deallocate(device.get(), memory);
}

// A sum of tensors that lie 2^33 bytes apart in one memory object of the program.
struct FarSum {
    static constexpr uint64_t FAR = uint64_t(1) << 33;
    DevicePtr device;
    void *memory = nullptr;

    FarSum() {
        EXPECT_EQ(open(HEWN_DEVICE_OPENCL, HEWN_ANY_DEVICE, device).status, HEWN_STATUS_OK);
        EXPECT_EQ(hewn_allocate(device.get(), 3 * FAR, &memory, nullptr), HEWN_STATUS_OK);
    }
    ~FarSum() { hewn_deallocate(device.get(), memory); }
    Outcome run(const Sum &sum) const {
        return sum.run(at(memory, 20, 256), at(memory, FAR + 20, 256),
                       at(memory, 2 * FAR + 20, 256));
    }
};

// Tensors far into a memory object are bound as sub-buffers, which the call gives back; TearDown
// counts what is left.
TEST_F(FakeOpenCl, Views) {
    if (!find_variant("add_f32__opencl")) GTEST_SKIP() << "a build without the kernel";
    const FarSum far;
    const Sum sum(far.device.get(), 64);
    int &launches = variable("fake_launches"), &views = variable("fake_views");
    launches = views = 0;
    const Outcome outcome = far.run(sum);
    EXPECT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
    EXPECT_EQ(launches, 1);
    EXPECT_EQ(views, 3);
}

// DYNAMIC_QUANTIZE_LINEAR of rows that lie `stride` elements apart. It has a device of its own.
struct DynamicRows {
    static constexpr int64_t ROWS = 3, COLUMNS = 64;
    DevicePtr device;
    OperatorPtr op;
    void *memory = nullptr;

    explicit DynamicRows(int64_t stride) {
        EXPECT_EQ(open(HEWN_DEVICE_OPENCL, HEWN_ANY_DEVICE, device).status, HEWN_STATUS_OK);
        const Spec x{HEWN_DATA_TYPE_FLOAT32, {ROWS, COLUMNS}, {stride, 1}},
            y{HEWN_DATA_TYPE_UINT8, {ROWS, COLUMNS}}, scale{HEWN_DATA_TYPE_FLOAT32, {1, 1}},
            zero_point{HEWN_DATA_TYPE_UINT8, {1, 1}};
        const Description description(HEWN_OPERATOR_DYNAMIC_QUANTIZE_LINEAR,
                                      {x.desc(), y.desc(), scale.desc(), zero_point.desc()});
        EXPECT_EQ(compile(description, nullptr, op, device.get()).status, HEWN_STATUS_OK);
        input_bytes_ = uint64_t(((ROWS - 1) * stride + COLUMNS) * 4);
        EXPECT_EQ(hewn_allocate(device.get(), 1024 + input_bytes_, &memory, nullptr),
                  HEWN_STATUS_OK);
    }
    ~DynamicRows() { hewn_deallocate(device.get(), memory); }
    hewn_status run() const {
        const hewn_buffer_binding input = at(memory, 1024, input_bytes_),
                                  outputs[] = {at(memory, 0, ROWS * COLUMNS), at(memory, 512, 4),
                                               at(memory, 768, 1)};
        return hewn_execute(op.get(), &input, 1, outputs, 3, nullptr, nullptr);
    }

private:
    uint64_t input_bytes_;
};

// A block of 256 threads shares memory for two numbers of each thread and of each of 16 groups of
// threads.
TEST_F(FakeOpenCl, SharedMemory) {
    if (!find_variant("dynamic_quantize_linear_f32_u8__opencl"))
        GTEST_SKIP() << "a build without the kernel";
    const DynamicRows rows(64);
    EXPECT_EQ(rows.run(), HEWN_STATUS_OK);
    EXPECT_GE(variable<size_t>("fake_local"), 2 * (256 + 16) * sizeof(uint32_t));
}

// Rows too far apart for the indices of one launch: for each row one launch finds the range and
// another one quantizes. The scale and the zero point still take one launch each.
TEST_F(FakeOpenCl, RangesOfSeveralLaunches) {
    if (!find_variant("dynamic_quantize_linear_f32_u8__opencl"))
        GTEST_SKIP() << "a build without the kernel";
    int &launches = variable("fake_launches");
    for (const int64_t stride : {int64_t(64), int64_t(1) << 31}) {
        const DynamicRows rows(stride);
        launches = 0;
        EXPECT_EQ(rows.run(), HEWN_STATUS_OK);
        EXPECT_EQ(launches, 2 + 2 * (stride == 64 ? 1 : DynamicRows::ROWS));
    }
}

TEST_F(FakeOpenCl, EveryCallFails) {
    if (!find_variant("add_f32__opencl")) GTEST_SKIP() << "a build without the kernel";
    for (const bool lost : {false, true}) {
        // hewn passes over a platform that does not work, and does not need a device's name.
        std::set<std::string> untold;
        if (!lost) untold = {"clGetDeviceIDs", "clGetDeviceInfo"};
        fail_every_call(driver_, HEWN_DEVICE_OPENCL, lost, untold, [&] {
            EXPECT_EQ(variable("fake_references"), 0) << "something is kept, or given back twice";
        });
    }
}

// Every call fails in turn while far tensors are bound as sub-buffers.
TEST_F(FakeOpenCl, EveryCallFailsFarAway) {
    if (!find_variant("add_f32__opencl")) GTEST_SKIP() << "a build without the kernel";
    const FarSum far;
    const Sum sum(far.device.get(), 64);
    Faults faults(driver_);
    faults.begin(0, false);
    ASSERT_EQ(far.run(sum).status, HEWN_STATUS_OK);
    const int all = faults.calls(), references = variable("fake_references");
    EXPECT_GT(all, 15);
    for (int call = 1; call <= all; call++) {
        faults.begin(call, false);
        EXPECT_NE(far.run(sum).status, HEWN_STATUS_OK) << call;
        faults.end();
        EXPECT_EQ(variable("fake_references"), references) << call;
    }
}

}  // namespace
}  // namespace hewn_test
