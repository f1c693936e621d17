// GPU devices: what is refused and how, the caller's own contexts, memory and queues, lifetimes.
// OpenCL runs where there is a driver (PoCL in ./test.sh); what its devices may lack and what hewn
// keeps of it, and CUDA's side, run against tests/gpu/fake_opencl.c and tests/gpu/fake_cuda.c,
// which compute nothing.
#include "../../runtime/gpu/division.h"
#include "../../runtime/gpu/views.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <thread>

#include "../../bench/cuda.h"
#include "../../reference/contents.h"
#include "../../reference/problems.h"
#include "../../reference/variants.h"
#include "../support/check.h"
#include "../support/runnable.h"

namespace hewn_test {
namespace {

// ---- What both kinds share ----------------------------------------------------------------------

Outcome open(hewn_device_kind kind, uint32_t index, DevicePtr &device) {
    hewn_device *opened = nullptr;
    const Outcome outcome = outcome_of(
        [&](hewn_error *error) { return hewn_open_device(kind, index, &opened, error); });
    EXPECT_EQ(outcome.status == HEWN_STATUS_OK, opened != nullptr) << outcome;
    device.reset(opened);
    return outcome;
}

bool says(const Outcome &outcome, const std::string &text) {
    return outcome.message.find(text) != std::string::npos;
}

// A sum of `count` elements on `device`, ready to run.
struct Sum {
    Tensor tensor;
    OperatorPtr op;

    Sum(hewn_device *device, int64_t count, hewn_data_type type = HEWN_DATA_TYPE_FLOAT32)
        : tensor(type, {count}) {
        const hewn_tensor_desc desc = tensor.desc();
        const Description description(HEWN_OPERATOR_ADD, {desc, desc, desc});
        const Outcome outcome = compile(description, nullptr, op, device);
        EXPECT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
    }
    Outcome run(const hewn_buffer_binding &a, const hewn_buffer_binding &b,
                const hewn_buffer_binding &output) const {
        const hewn_buffer_binding inputs[] = {a, b};
        return outcome_of([&](hewn_error *error) {
            return hewn_execute(op.get(), inputs, 2, &output, 1, nullptr, error);
        });
    }
};

hewn_buffer_binding at(void *memory, uint64_t offset, uint64_t bytes) {
    return {sizeof(hewn_buffer_binding), memory, offset, bytes};
}

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

// Without drivers there is a reason, and the CPU works. The test is run where there are none.
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
    // Nor is a device made of objects that the program has: what they point to is not looked at.
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

// A driver that has no device at all: OpenCL's loader told of no platform.
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

// Memory helpers on the CPU, a null device.
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

// What is recorded for Direct3D 12 is not on another device, nor without an operator and a list.
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

// What the strided kernels divide by. n * multiplier exceeds n * 2^shift / size by a part that
// grows with n: too large a result shows at the last n that is one short of a multiple, too small a
// one at any multiple.
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

// ---- Drivers that fail: fake_*.c ----

// One call of the driver that fails, or, of a device that is lost, each from that one on.
class Faults {
public:
    explicit Faults(void *driver)
        : at_(variable(driver, "fake_fail_at")),
          calls_(variable(driver, "fake_calls")),
          lost_(variable(driver, "fake_lost")),
          failed_(*static_cast<const char **>(dlsym(driver, "fake_failed"))) {}
    ~Faults() { end(); }

    void begin(int call, bool lost) {
        calls_ = 0;
        failed_ = nullptr;
        at_ = call;
        lost_ = lost;
    }
    // What follows destroys, and has no status. A device that was lost stays so.
    void begin_end() {
        calls_with_status_ = calls_;
        at_ = lost_ ? at_ : 0;
    }
    void end() { at_ = lost_ = 0; }
    int calls() const { return calls_; }
    int calls_with_status() const { return calls_with_status_; }
    bool lost() const { return lost_; }
    // The function of the call that failed first; "": there was no such call.
    const char *failed() const { return failed_ ? failed_ : ""; }

private:
    static int &variable(void *driver, const char *name) {
        return *static_cast<int *>(dlsym(driver, name));
    }
    int &at_, &calls_, &lost_, calls_with_status_ = 0;
    const char *&failed_;
};

// A sum, and elements that are unpacked before, on a device from opening it to reading back, and
// the status of the first step that fails.
class Run {
public:
    hewn_status all(hewn_device_kind kind, Faults &faults) {
        if (const Outcome outcome = open(kind, 0, device_); outcome.status) return outcome.status;
        hewn_status status = hewn_allocate(device_.get(), 1024, &memory_, nullptr);
        if (status) return status;
        for (const auto step : {&Run::write, &Run::compile_sum, &Run::execute, &Run::bind,
                                &Run::run_bound, &Run::unpack, &Run::synchronize, &Run::read})
            if (!status) status = (this->*step)();
        faults.begin_end();
        if (!faults.lost()) {
            EXPECT_EQ(synchronize(), HEWN_STATUS_OK) << "it stays unusable";
        }
        hewn_deallocate(device_.get(), memory_);
        return status;
    }
    float read_back(size_t i) const { return back_[i]; }

private:
    DevicePtr device_;
    OperatorPtr op_, unpacking_;
    BoundOperatorPtr bound_;
    void *memory_ = nullptr;
    const Tensor tensor_ = Tensor(HEWN_DATA_TYPE_FLOAT32, {64});
    float back_[64] = {};

    hewn_buffer_binding output() const { return at(memory_, 512, 256); }
    std::vector<hewn_buffer_binding> inputs() const {
        return {at(memory_, 0, 256), at(memory_, 256, 256)};
    }
    hewn_status write() {
        float values[64];
        std::iota(std::begin(values), std::end(values), 0.0f);
        return hewn_write(device_.get(), memory_, 0, values, sizeof values, nullptr);
    }
    hewn_status compile_sum() {
        const hewn_tensor_desc desc = tensor_.desc();
        return compile(Description(HEWN_OPERATOR_ADD, {desc, desc, desc}), nullptr, op_,
                       device_.get())
            .status;
    }
    hewn_status execute() {
        const hewn_buffer_binding to = output();
        return hewn_execute(op_.get(), inputs().data(), 2, &to, 1, nullptr, nullptr);
    }
    hewn_status bind() {
        const hewn_buffer_binding to = output();
        return bind_operator(op_.get(), inputs().data(), 2, &to, 1, nullptr, bound_).status;
    }
    hewn_status run_bound() { return hewn_run(bound_.get(), nullptr); }
    hewn_status unpack() {
        const Tensor packed(HEWN_DATA_TYPE_UINT4, {64}), scale(HEWN_DATA_TYPE_FLOAT32, {64}, {0});
        const Description description(HEWN_OPERATOR_DEQUANTIZE_LINEAR,
                                      {packed.desc(), scale.desc(), std::nullopt, tensor_.desc()});
        const hewn_status status = compile(description, nullptr, unpacking_, device_.get()).status;
        if (status == HEWN_STATUS_UNSUPPORTED) return HEWN_STATUS_OK;  // a build without the kernel
        if (status) return status;
        const hewn_buffer_binding to = output(), from[] = {at(memory_, 0, 32), at(memory_, 64, 4),
                                                           at(nullptr, 0, 0)};
        return hewn_execute(unpacking_.get(), from, 3, &to, 1, nullptr, nullptr);
    }
    hewn_status synchronize() { return hewn_synchronize(device_.get(), nullptr); }
    hewn_status read() {
        return hewn_read(device_.get(), memory_, 0, back_, sizeof back_, nullptr);
    }
};

hewn_status run_once(hewn_device_kind kind, Faults &faults) { return Run().all(kind, faults); }

void expect_cpu_works() {
    const Sum sum(nullptr, 2);
    float a[] = {1, 2}, b[] = {3, 4}, c[2];
    EXPECT_EQ(sum.run(at(a, 0, 8), at(b, 0, 8), at(c, 0, 8)).status, HEWN_STATUS_OK);
    EXPECT_EQ(c[1], 6);
}

// Every call of the driver that has a status fails in turn; `lost`: with all that follow, those
// that give back among them. Each way ends in a status, but for the functions of `untold`; what was
// taken is given back (`expect_clean`), and device and CPU work as before.
void fail_every_call(void *driver, hewn_device_kind kind, bool lost,
                     const std::set<std::string> &untold,
                     const std::function<void()> &expect_clean) {
    Faults faults(driver);
    faults.begin(0, false);
    ASSERT_EQ(run_once(kind, faults), HEWN_STATUS_OK);
    const int with_status = faults.calls_with_status(), all = lost ? faults.calls() : with_status;
    std::set<std::string> seen_untold;
    for (int call = 1; call <= all; call++) {
        faults.begin(call, lost);
        const hewn_status status = run_once(kind, faults);
        const std::string function = faults.failed();
        SCOPED_TRACE("call " + std::to_string(call) + ", " + function +
                     (lost ? ", and all after it fail" : ", fails"));
        faults.end();
        if (status == HEWN_STATUS_OK && call <= with_status) seen_untold.insert(function);
        EXPECT_NE(status, HEWN_STATUS_KERNEL_FAILED) << "hewn's own fault";
        expect_clean();
        Run again;
        EXPECT_EQ(again.all(kind, faults), HEWN_STATUS_OK);
        EXPECT_EQ(again.read_back(5), 5);
        expect_cpu_works();
    }
    EXPECT_EQ(seen_untold, untold) << "of " << all << " calls";
}

// ---- OpenCL -------------------------------------------------------------------------------------

using Handle = void *;  // every cl_* object

template<class F>
F symbol(const char *name) {
    static void *library = dlopen("libOpenCL.so.1", RTLD_NOW);
    return library ? reinterpret_cast<F>(dlsym(library, name)) : nullptr;
}

// The devices of a platform, which the driver gives itself.
std::vector<Handle> devices_of(Handle platform) {
    std::vector<Handle> devices(64);
    unsigned count = 0;
    symbol<int (*)(Handle, uint64_t, unsigned, Handle *, unsigned *)>("clGetDeviceIDs")(
        platform, 0xffffffff, 64, devices.data(), &count);
    devices.resize(count);
    return devices;
}
std::vector<Handle> platforms() {
    std::vector<Handle> platforms(64);
    unsigned count = 0;
    if (const auto get = symbol<int (*)(unsigned, Handle *, unsigned *)>("clGetPlatformIDs"))
        get(64, platforms.data(), &count);
    platforms.resize(count);
    return platforms;
}

Outcome create(Handle context, Handle queue, DevicePtr &device) {
    const hewn_opencl_device_desc desc = {sizeof desc, context, queue, nullptr, nullptr, nullptr};
    hewn_device *created = nullptr;
    const Outcome outcome = outcome_of(
        [&](hewn_error *error) { return hewn_create_opencl_device(&desc, &created, error); });
    EXPECT_EQ(outcome.status == HEWN_STATUS_OK, created != nullptr) << outcome;
    device.reset(created);
    return outcome;
}

// Where hewn finds no device, OpenCL's tests are skipped: it finds all that there are.
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

// The application's side of OpenCL: its own context, queue and memory.
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
    // Of 100 x 10 f32 numbers; null if the device has no images.
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
    // A memory object of `count` floats 0, 1, 2, ...
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

// Everything in one memory object at offsets of its own, on the application's queue, waited for by
// the application.
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
            "OutputTensor: overlaps ATensor");  // a part of the same memory
    EXPECT_EQ(read(memory, 3000), before) << "a refused call wrote";
    EXPECT_EQ(sum.run(at(memory, 0, 4000), good, at(part, 0, 4000)).status, HEWN_STATUS_OK);
    EXPECT_EQ(read(memory, 3000)[1024], 0.0f);
    for (const Handle object : {image, part, memory, other}) release("clReleaseMemObject", object);
}

// What the device and its operators retain, they release.
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

// Of an absent tensor's binding all but the buffer is ignored; the others' must be whole.
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

// Where a memory object ends is the driver's to know, and what it then says is not lost.
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

// An operator keeps what it needs of its device.
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

// One operator, many threads: a kernel's arguments belong to the kernel.
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
            for (int i = 0; i < ROUNDS; i++) {  // b + a, then b - in place - more
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

// The same of an operator with scratch memory of its own, whose passes must not be mixed.
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

// Offsets beyond what 31 bits of elements reach, and layouts that take several launches: 2 x 2
// elements 2^30 apart.
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

// What reaches that far is a part of the program's memory, and keeps its access.
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

// ---- OpenCL's devices, on the fake driver -------------------------------------------------------

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
        // The program's own context and queue.
        const Outcome outcome =
            create(reinterpret_cast<Handle>(0x3002), reinterpret_cast<Handle>(0x4002), device);
        EXPECT_EQ(outcome.status, HEWN_STATUS_NO_DEVICE) << mode;
        EXPECT_TRUE(says(outcome, std::string("lacks ") + missing)) << outcome;
    }
}

// The GPU comes behind the CPU, which the driver lists first; but what lacks something is not
// taken.
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

// The compiler's log is longer than a message: its beginning is told, in one line.
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

// A context of the program's and a queue in it, on the fake GPU.
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

// The program's context and queue are kept as long as the device, and no longer; the queue is what
// hewn_synchronize waits for.
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

// The program's memory, of which there is none at the `fails_at`-th request; 0: there always is.
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

// A device and an operator of packed elements, bound, at each request for memory that fails: a
// status says so, and nothing is kept.
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
    // The status of the first step that fails.
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

// A sum of tensors that lie far into one memory object of the program's.
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

// Far tensors are launched on parts of the program's memory, which the call gives back; TearDown
// counts them.
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

// DYNAMIC_QUANTIZE_LINEAR of rows that lie `stride` elements apart, on a device of its own.
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

// The memory that a block's threads share: two numbers of each thread, of 16 groups and a rest.
TEST_F(FakeOpenCl, SharedMemory) {
    if (!find_variant("dynamic_quantize_linear_f32_u8__opencl"))
        GTEST_SKIP() << "a build without the kernel";
    const DynamicRows rows(64);
    EXPECT_EQ(rows.run(), HEWN_STATUS_OK);
    EXPECT_GE(variable<size_t>("fake_local"), 2 * (256 + 16) * sizeof(uint32_t));
}

// Rows beyond what one launch can index: a launch for each finds its range, another quantizes it,
// and two between them all find the parameters.
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
        // A platform that does not work is passed over, and what it is called is not needed.
        std::set<std::string> untold;
        if (!lost) untold = {"clGetDeviceIDs", "clGetDeviceInfo"};
        fail_every_call(driver_, HEWN_DEVICE_OPENCL, lost, untold, [&] {
            EXPECT_EQ(variable("fake_references"), 0) << "something is kept, or given back twice";
        });
    }
}

// The same of the parts of memory that far tensors need.
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

// Tensors of one memory object have one view or none, as far as indices reach: views that overlap
// are undefined.
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
    // The output lies far: the inputs beside it are read through its view, another object's as it
    // is.
    const GpuView shared = {1, LIMIT - 512, LIMIT + 64, false};
    EXPECT_EQ(views_of({{{1, LIMIT - 500}, LIMIT - 400}, {{2, 0}, 64}, {{1, LIMIT}, LIMIT + 64}}),
              (std::vector{shared, whole(2), shared}));
    // Too far apart for one.
    EXPECT_EQ(
        views_of(
            {{{1, 60}, 124}, {{1, LIMIT + 200}, LIMIT + 264}, {{1, LIMIT + 200}, LIMIT + 264}}),
        (std::vector<GpuView>{{1, 0, 124, false},
                              {1, LIMIT + 128, LIMIT + 264, false},
                              {1, LIMIT + 128, LIMIT + 264, false}}));
    // Too far apart for one, but two lie among one another's bytes, by way of a third.
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
    // As far apart as indices reach, and one byte more.
    EXPECT_EQ(views_of({{{1, 128}, 192}, {{1, LIMIT + 127}, LIMIT + 128}})[0].end, LIMIT + 128);
    EXPECT_EQ(views_of({{{1, 128}, 192}, {{1, LIMIT + 128}, LIMIT + 129}})[0].end, 192);
}

// ---- CUDA, on the fake driver -------------------------------------------------------------------

// "cuda_sm75": compute capability 7.5
std::string capability_of(const std::string &target) {
    const std::string digits = target.substr(target.size() - 2);
    return "compute capability " + digits.substr(0, 1) + "." + digits.substr(1);
}

// What the least of this build's targets asks for.
std::string least_capability() {
    for (const hewn_target_info &target : targets()) {  // in ascending rank
        if (target.device == HEWN_DEVICE_CUDA) return capability_of(target.name);
    }
    return "no target";
}

class FakeCuda : public testing::Test {
protected:
    static constexpr uintptr_t PRIMARY_CONTEXT = 0x1000,
                               OWN_CONTEXT = 0x2000;  // the fake driver's, of device 0
    void *driver_ = nullptr;
    template<class T>
    T &variable(const char *name) {
        return *static_cast<T *>(dlsym(driver_, name));
    }
    void SetUp() override {
        driver_ = dlopen("libcuda.so.1", RTLD_NOW);
        if (!driver_ || !dlsym(driver_, "fake_launches"))
            GTEST_SKIP() << "not run with the fake driver";
        unsetenv("FAKE_CUDA");
    }
    void TearDown() override {
        unsetenv("FAKE_CUDA");
        if (driver_ && dlsym(driver_, "fake_depth")) {
            EXPECT_EQ(reinterpret_cast<int (*)()>(dlsym(driver_, "fake_depth"))(), 0)
                << "a context was left current";
            EXPECT_EQ(variable<int>("fake_misuses"), 0) << "stderr says which";
            for (const char *count : {"fake_contexts", "fake_modules", "fake_copies"})
                EXPECT_EQ(variable<int>(count), 0) << count;
        }
    }
    // The launches of an operator of such tensors, the inputs before the outputs, whose scratch
    // memory it gives back.
    int launches_of(hewn_device *device, hewn_operator_type type,
                    const std::vector<Tensor *> &inputs, const std::vector<Tensor *> &outputs) {
        const int memory = variable<int>("fake_memory");
        TensorDescs descs;
        for (const auto *tensors : {&inputs, &outputs})
            for (const Tensor *tensor : *tensors) descs.emplace_back(tensor->desc());
        OperatorPtr op;
        const Outcome compiled = compile(Description(type, std::move(descs)), nullptr, op, device);
        EXPECT_EQ(compiled.status, HEWN_STATUS_OK) << compiled;
        for (const bool binds : {false, true}) {
            variable<int>("fake_launches") = 0;
            const Outcome outcome = execute(op.get(), binds, inputs, outputs, nullptr, device);
            EXPECT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
        }
        op.reset();
        EXPECT_LE(variable<int>("fake_memory"), memory + 1);  // the test's own, which is kept
        return variable<int>("fake_launches");
    }
    // A device in the program's own context.
    static Outcome create(uintptr_t context, void *stream, DevicePtr &device) {
        const hewn_cuda_device_desc desc = {
            sizeof desc, reinterpret_cast<void *>(context), stream, nullptr, nullptr, nullptr};
        hewn_device *created = untouched<hewn_device>();
        const Outcome outcome = outcome_of(
            [&](hewn_error *error) { return hewn_create_cuda_device(&desc, &created, error); });
        EXPECT_EQ(outcome.status == HEWN_STATUS_OK, created != untouched<hewn_device>()) << outcome;
        if (outcome.status == HEWN_STATUS_OK) device.reset(created);
        return outcome;
    }
};

TEST_F(FakeCuda, Devices) {
    hewn_device_info info{};
    info.struct_size = sizeof info;
    ASSERT_EQ(hewn_get_device(HEWN_DEVICE_CUDA, 1, &info, nullptr), HEWN_STATUS_OK);
    EXPECT_STREQ(info.name, "Fake 1");
    EXPECT_EQ(info.capability, 75);
    EXPECT_EQ(info.memory, uint64_t(8) << 30);
    EXPECT_EQ(info.missing[0], 0);
    EXPECT_TRUE(says(outcome_of([&](hewn_error *error) {
                         return hewn_get_device(HEWN_DEVICE_CUDA, 2, &info, error);
                     }),
                     "there is no device 2"));
    for (const hewn_target_info &target : targets())
        EXPECT_TRUE(target.device != HEWN_DEVICE_CUDA || target.supported)
            << target.name << ": the first device has it";
    // Any device is one that has what kernels need.
    setenv("FAKE_CUDA", "old first device", 1);
    DevicePtr device;
    EXPECT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_NO_DEVICE);
    const Outcome outcome = open(HEWN_DEVICE_CUDA, HEWN_ANY_DEVICE, device);
    EXPECT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
}

// The best variant for each device, its launches and its arguments.
TEST_F(FakeCuda, Launches) {
    int &launches = variable<int>("fake_launches"), &modules = variable<int>("fake_modules"),
        &contexts = variable<int>("fake_contexts"), &memory_count = variable<int>("fake_memory"),
        &synchronizations = variable<int>("fake_synchronizations");
    unsigned *grid = &variable<unsigned>("fake_grid"), *block = &variable<unsigned>("fake_block");
    uint64_t *pointers = &variable<uint64_t>("fake_pointers");
    const char *kernel = &variable<char>("fake_kernel");
    for (const auto &[index, target] : {std::pair(0u, "cuda_sm80"), std::pair(1u, "cuda_sm75")}) {
        DevicePtr device;
        ASSERT_EQ(open(HEWN_DEVICE_CUDA, index, device).status, HEWN_STATUS_OK);
        EXPECT_EQ(contexts, 1);
        void *memory = nullptr;
        ASSERT_EQ(hewn_allocate(device.get(), 1 << 20, &memory, nullptr), HEWN_STATUS_OK);
        {
            const Sum sum(device.get(), 4096 + 3), again(device.get(), 100);
            EXPECT_EQ(hewn_operator_variant(sum.op.get()), std::string("add_f32__cuda_sm75"));
            EXPECT_EQ(modules, 2) << "dense and strided, loaded once";
            const uint64_t bytes = (4096 + 3) * 4;
            launches = synchronizations = 0;
            // Aligned: whole steps, then what is left over.
            ASSERT_EQ(
                sum.run(at(memory, 0, bytes), at(memory, 65536, bytes), at(memory, 131072, bytes))
                    .status,
                HEWN_STATUS_OK);
            EXPECT_EQ(launches, 2);
            EXPECT_EQ(grid[0], 1u);
            const uint64_t base = reinterpret_cast<uintptr_t>(memory) + 4096 * 4;
            for (const uint64_t offset : {0, 65536, 131072})
                EXPECT_TRUE(pointers[0] == base + offset || pointers[1] == base + offset ||
                            pointers[2] == base + offset)
                    << offset;
            // Misaligned, any tensor by less than 16 bytes: one launch, whatever the layout.
            for (const uint64_t offset : {4, 8}) {
                for (int t = 0; t < 3; t++) {
                    launches = 0;
                    const uint64_t a = t == 0 ? offset : 0, b = 65536 + (t == 1 ? offset : 0),
                                   c = 131072 + (t == 2 ? offset : 0);
                    ASSERT_EQ(
                        sum.run(at(memory, a, bytes), at(memory, b, bytes), at(memory, c, bytes))
                            .status,
                        HEWN_STATUS_OK);
                    EXPECT_EQ(launches, 1) << "tensor " << t << " at " << offset;
                    EXPECT_EQ(grid[0] * block[0], (4096u + 3 + block[0] - 1) / block[0] * block[0]);
                }
            }
            EXPECT_NE(std::string(kernel).find("kernel"), std::string::npos);
            // Overlap is known by the address alone.
            EXPECT_EQ(sum.run(at(memory, 4, bytes), at(memory, 65536, bytes), at(memory, 0, bytes))
                          .status,
                      HEWN_STATUS_INVALID_BINDING);
            EXPECT_EQ(launches, 1);
            EXPECT_EQ(synchronizations, 0) << "an execution waits for the device";
            EXPECT_EQ(hewn_synchronize(device.get(), nullptr), HEWN_STATUS_OK);
            EXPECT_EQ(synchronizations, 1);
        }
        {
            const Tensor elements(HEWN_DATA_TYPE_UINT8, {100}),
                scales(HEWN_DATA_TYPE_FLOAT16, {100});
            const hewn_tensor_desc u8 = elements.desc(), f16 = scales.desc();
            OperatorPtr op;
            ASSERT_EQ(compile(Description(HEWN_OPERATOR_DEQUANTIZE_LINEAR, {u8, f16, u8, f16}),
                              nullptr, op, device.get())
                          .status,
                      HEWN_STATUS_OK);
            EXPECT_EQ(hewn_operator_variant(op.get()),
                      std::string("dequantize_linear_u8_f16__") + target);
        }
        hewn_deallocate(device.get(), memory);
        device.reset();
        EXPECT_EQ(modules, 0);
        EXPECT_EQ(contexts, 0);
        EXPECT_EQ(memory_count, 0);
    }
}

// Which layouts go by steps: a thread for each 4 of these elements, and for each one of what is
// left over.
TEST_F(FakeCuda, Steps) {
    DevicePtr device;
    void *memory = nullptr;
    ASSERT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_OK);
    ASSERT_EQ(hewn_allocate(device.get(), 1 << 20, &memory, nullptr), HEWN_STATUS_OK);
    struct Launches {
        int count;
        unsigned blocks;  // of the last one

        bool operator==(const Launches &other) const {
            return count == other.count && blocks == other.blocks;
        }
    };
    using Strides = std::vector<int64_t>;
    const auto quantize = [&](const Strides &sizes, const Strides &x, const Strides &scale,
                              const Strides &y) {
        const Spec in{HEWN_DATA_TYPE_FLOAT32, sizes, x},
            scales{HEWN_DATA_TYPE_FLOAT32, sizes, scale}, out{HEWN_DATA_TYPE_UINT8, sizes, y};
        OperatorPtr op;
        const Outcome compiled =
            compile(Description(HEWN_OPERATOR_QUANTIZE_LINEAR,
                                {in.desc(), scales.desc(), std::nullopt, out.desc()}),
                    nullptr, op, device.get());
        EXPECT_EQ(compiled.status, HEWN_STATUS_OK) << compiled;
        const hewn_buffer_binding inputs[] = {at(memory, 0, 1 << 19), at(memory, 1 << 19, 1 << 18),
                                              at(nullptr, 0, 0)},
                                  output = at(memory, 3 << 18, 1 << 18);
        variable<int>("fake_launches") = 0;
        const Outcome run = outcome_of([&](hewn_error *error) {
            return hewn_execute(op.get(), inputs, 3, &output, 1, nullptr, error);
        });
        EXPECT_EQ(run.status, HEWN_STATUS_OK) << run;
        return Launches{variable<int>("fake_launches"), variable<unsigned>("fake_grid")};
    };
    constexpr unsigned THREADS = 256;
    // A scale a row, a column, and for each of three.
    const Launches steps = {1, 64 * 1024 / 4 / THREADS}, each = {1, 64 * 1024 / THREADS};
    EXPECT_EQ(quantize({64, 1024}, {1024, 1}, {1, 0}, {1024, 1}), steps);
    EXPECT_EQ(quantize({64, 1024}, {1024, 1}, {0, 1}, {1024, 1}), steps);
    EXPECT_EQ(quantize({4 * THREADS, 3}, {3, 1}, {0, 1}, {3, 1}), (Launches{1, 3}));
    EXPECT_EQ(quantize({4 * THREADS + 3, 3}, {3, 1}, {0, 1}, {3, 1}), (Launches{2, 1}));
    // Rows apart, of whole steps and not; rows that do not begin at steps; more dimensions.
    EXPECT_EQ(quantize({64, 1024}, {1088, 1}, {0, 0}, {1028, 1}), steps);
    EXPECT_EQ(quantize({128, 510}, {512, 1}, {0, 0}, {516, 1}), (Launches{1, 255}));
    EXPECT_EQ(quantize({64, 1024}, {1025, 1}, {0, 0}, {1024, 1}), each);
    EXPECT_EQ(
        quantize({4, 2, 8, 1024}, {30000, 9000, 1028, 1}, {1, 0, 1, 0}, {30000, 9000, 1028, 1}),
        each);
    // The input lies otherwise than the output.
    EXPECT_EQ(quantize({1024, 64}, {1, 1024}, {0, 0}, {64, 1}), each);
    hewn_deallocate(device.get(), memory);
}

// A target's name applies to every operator: what it leaves to the ones below it, they run.
TEST_F(FakeCuda, ForcedTargets) {
    const Tensor tensor(HEWN_DATA_TYPE_FLOAT32, {4});
    const hewn_tensor_desc desc = tensor.desc();
    const Description description(HEWN_OPERATOR_ADD, {desc, desc, desc});
    const hewn_compile_options options = compile_options("cuda_sm80");
    DevicePtr device;
    OperatorPtr op;
    ASSERT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_OK);
    ASSERT_EQ(compile(description, &options, op, device.get()).status, HEWN_STATUS_OK);
    EXPECT_EQ(hewn_operator_variant(op.get()), std::string("add_f32__cuda_sm75"));
    op.reset();
    ASSERT_EQ(open(HEWN_DEVICE_CUDA, 1, device).status, HEWN_STATUS_OK);
    const Outcome outcome = compile(description, &options, op, device.get());
    EXPECT_EQ(outcome.status, HEWN_STATUS_NO_VARIANT);
    EXPECT_TRUE(
        says(outcome, "'cuda_sm80' cannot run here: this device lacks compute capability 8.0"))
        << outcome;
}

// The range, the scale, the zero point, the output; f16 is widened before.
TEST_F(FakeCuda, DynamicQuantization) {
    if (!find_variant("dynamic_quantize_linear_f32_u8__cuda_sm75"))
        GTEST_SKIP() << "a build without the kernel";
    DevicePtr device;
    ASSERT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_OK);
    const auto launches = [&](hewn_data_type type, int64_t elements) {
        Tensor x(type, {elements}), y(HEWN_DATA_TYPE_UINT8, {elements}),
            scale(HEWN_DATA_TYPE_FLOAT32, {1}), zero_point(HEWN_DATA_TYPE_UINT8, {1});
        return launches_of(device.get(), HEWN_OPERATOR_DYNAMIC_QUANTIZE_LINEAR, {&x},
                           {&y, &scale, &zero_point});
    };
    EXPECT_EQ(launches(HEWN_DATA_TYPE_FLOAT32, 64), 4);
    EXPECT_EQ(launches(HEWN_DATA_TYPE_FLOAT16, 64), 5);
    EXPECT_EQ(launches(HEWN_DATA_TYPE_FLOAT32, 0), 2);
    EXPECT_EQ(launches(HEWN_DATA_TYPE_FLOAT16, 0), 2);
}

// Packed types, and floats of two types: a launch more for each such tensor, two for a packed
// output with gaps.
TEST_F(FakeCuda, ConvertedTypes) {
    if (!find_variant("dequantize_linear_i8_f32__cuda_sm75") ||
        !find_variant("quantize_linear_f32_u8__cuda_sm75"))
        GTEST_SKIP() << "a build without the kernels";
    DevicePtr device;
    ASSERT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_OK);
    const auto launches = [&](hewn_operator_type type, const DataTypes &types,
                              const std::vector<int64_t> &output_strides = {1}) {
        Tensor x(types[0], {64}), scale(types[1], {64}, {0}), zero_point(types[2], {64}, {0}),
            y(types[3], {64}, output_strides);
        return launches_of(device.get(), type, {&x, &scale, &zero_point}, {&y});
    };
    const hewn_data_type f32 = HEWN_DATA_TYPE_FLOAT32, f16 = HEWN_DATA_TYPE_FLOAT16,
                         u8 = HEWN_DATA_TYPE_UINT8, i4 = HEWN_DATA_TYPE_INT4,
                         u2 = HEWN_DATA_TYPE_UINT2;
    EXPECT_EQ(launches(HEWN_OPERATOR_DEQUANTIZE_LINEAR, {i4, f32, i4, f32}), 3);
    EXPECT_EQ(launches(HEWN_OPERATOR_DEQUANTIZE_LINEAR, {u8, f32, u8, f16}), 2);
    EXPECT_EQ(launches(HEWN_OPERATOR_QUANTIZE_LINEAR, {f16, f32, u8, u8}), 2);
    EXPECT_EQ(launches(HEWN_OPERATOR_QUANTIZE_LINEAR, {f32, f32, u2, u2}), 3);
    EXPECT_EQ(launches(HEWN_OPERATOR_QUANTIZE_LINEAR, {f32, f32, u2, u2}, {3}), 4);
}

// Sums of scratch memory that would overflow.
TEST_F(FakeCuda, HugeScratch) {
    if (!find_variant("quantize_linear_f32_u8__cuda_sm75"))
        GTEST_SKIP() << "a build without the kernel";
    DevicePtr device;
    ASSERT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_OK);
    const int64_t sizes[] = {2}, far[] = {(int64_t(1) << 62) - 2}, zero[] = {0};
    const auto desc = [&](hewn_data_type type, const int64_t *strides) {
        return hewn_tensor_desc{sizeof(hewn_tensor_desc), type, 1, sizes, strides, nullptr};
    };
    const Tensor y(HEWN_DATA_TYPE_UINT8, {2});
    OperatorPtr op;
    const Outcome outcome =
        compile(Description(HEWN_OPERATOR_QUANTIZE_LINEAR,
                            {desc(HEWN_DATA_TYPE_FLOAT16, far), desc(HEWN_DATA_TYPE_FLOAT32, zero),
                             desc(HEWN_DATA_TYPE_UINT8, zero), y.desc()}),
                nullptr, op, device.get());
    EXPECT_EQ(outcome.status, HEWN_STATUS_OUT_OF_MEMORY) << outcome;
    EXPECT_TRUE(says(outcome, "no device has the memory to convert such tensors")) << outcome;
}

// The quotients, whose operands are converted before.
TEST_F(FakeCuda, Precision) {
    if (!find_variant("quantize_linear_f32_u8__cuda_sm75"))
        GTEST_SKIP() << "a build without the kernel";
    DevicePtr device;
    ASSERT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_OK);
    const auto launches = [&](hewn_data_type x_type, hewn_data_type scale_type) {
        Tensor x(x_type, {64}), scale(scale_type, {64}, {0}), y(HEWN_DATA_TYPE_UINT8, {64});
        OperatorPtr op;
        const Description description(HEWN_OPERATOR_QUANTIZE_LINEAR,
                                      {x.desc(), scale.desc(), y.desc(), y.desc()},
                                      {HEWN_PRECISION_FLOAT16});
        EXPECT_EQ(compile(description, nullptr, op, device.get()).status, HEWN_STATUS_OK);
        variable<int>("fake_launches") = 0;
        Tensor zero_point(HEWN_DATA_TYPE_UINT8, {64});
        EXPECT_EQ(
            execute(op.get(), false, {&x, &scale, &zero_point}, {&y}, nullptr, device.get()).status,
            HEWN_STATUS_OK);
        return variable<int>("fake_launches");
    };
    EXPECT_EQ(launches(HEWN_DATA_TYPE_FLOAT32, HEWN_DATA_TYPE_FLOAT32), 2);
    EXPECT_EQ(launches(HEWN_DATA_TYPE_INT32, HEWN_DATA_TYPE_FLOAT32), 3);
    EXPECT_GE(launches(HEWN_DATA_TYPE_FLOAT16, HEWN_DATA_TYPE_FLOAT16), 4);
}

// Every variant's kernels are found in its PTX and get every argument, in every layout.
TEST_F(FakeCuda, EveryKernel) {
    int &launches = variable<int>("fake_launches");
    DevicePtr device;
    ASSERT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_OK);
    Random random("FakeCuda");
    for (const Variant &variant : all_variants()) {
        if (variant.device() != HEWN_DEVICE_CUDA) continue;
        for (int i = 0; i < 40; i++) {
            Problem problem =
                i % 2 ? random_problem(variant.op(), variant.types(), random, 3000)
                      : make_problem(variant.op(), variant.types(), {random.integer(2, 5000)},
                                     per_tensor(variant.op()), random);
            const hewn_compile_options options = compile_options(variant.name.c_str());
            OperatorPtr op;
            Outcome outcome = compile(problem.description(), &options, op, device.get());
            ASSERT_EQ(outcome.status, HEWN_STATUS_OK) << variant.name << ": " << outcome;
            launches = 0;
            outcome = execute(op.get(), problem, nullptr, device.get());
            ASSERT_EQ(outcome.status, HEWN_STATUS_OK) << variant.name << ": " << outcome;
            // Two for a part; a short last block is a part of its own.
            EXPECT_LE(launches, problem.block_sizes().empty() ? 2 : 4);
            EXPECT_EQ(launches > 0, element_count(problem.output.sizes) > 0);
        }
    }
}

// Beyond 2^30 elements, and strides beyond 2^31: several launches, none of which the 32-bit indices
// leave.
TEST_F(FakeCuda, Huge) {
    int &launches = variable<int>("fake_launches");
    DevicePtr device;
    ASSERT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_OK);
    const auto run = [&](const std::vector<int64_t> &sizes, const std::vector<int64_t> &strides,
                         hewn_data_type type = HEWN_DATA_TYPE_INT8) {
        int64_t span = 1;
        for (size_t d = 0; d < sizes.size(); d++) span += (sizes[d] - 1) * strides[d];
        span *= int64_t(element_bytes(type));
        const hewn_tensor_desc desc = {sizeof desc,  type,           uint32_t(sizes.size()),
                                       sizes.data(), strides.data(), nullptr};
        const Description description(HEWN_OPERATOR_ADD, {desc, desc, desc});
        OperatorPtr op;
        EXPECT_EQ(compile(description, nullptr, op, device.get()).status, HEWN_STATUS_OK);
        // Addresses that nobody follows.
        const auto memory = [](uint64_t address) {
            return reinterpret_cast<void *>(uintptr_t(address));
        };
        const hewn_buffer_binding inputs[] = {at(memory(uint64_t(1) << 40), 0, uint64_t(span)),
                                              at(memory(uint64_t(2) << 40), 0, uint64_t(span))};
        const hewn_buffer_binding output = at(memory(uint64_t(3) << 40), 0, uint64_t(span));
        launches = 0;
        EXPECT_EQ(hewn_execute(op.get(), inputs, 2, &output, 1, nullptr, nullptr), HEWN_STATUS_OK);
        return launches;
    };
    EXPECT_EQ(run({int64_t(1) << 20}, {1}), 1);
    EXPECT_EQ(run({int64_t(1) << 33}, {1}), 16);
    EXPECT_EQ(run({int64_t(1) << 33}, {1}, HEWN_DATA_TYPE_INT64), 32) << "32-bit words are counted";
    EXPECT_EQ(run({(1 << 30) + 16}, {1}), 2) << "halves are aligned";
    EXPECT_EQ(run({(1 << 30) + 8}, {1}), 3)
        << "the second half is shorter: whole steps, and the rest by itself";
    EXPECT_EQ(run({4, 1 << 20}, {int64_t(1) << 32, 1}), 4);
    EXPECT_EQ(run({1 << 20, 4}, {1, int64_t(1) << 32}), 4);
    EXPECT_EQ(run({2, 2, 2, 2, 2, 2, 2, 2},
                  {1 << 14, 1 << 12, 1 << 10, 1 << 8, 1 << 6, 1 << 4, 1 << 2, 1}),
              1);
}

// The most elements that a tensor can have, in place: their first launch, which fails.
TEST_F(FakeCuda, Largest) {
    DevicePtr device;
    ASSERT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_OK);
    const int64_t elements = INT64_MAX;
    const hewn_tensor_desc desc = {sizeof desc, HEWN_DATA_TYPE_INT8, 1, &elements, nullptr,
                                   nullptr};
    const Description description(HEWN_OPERATOR_ADD, {desc, desc, desc});
    OperatorPtr op;
    ASSERT_EQ(compile(description, nullptr, op, device.get()).status, HEWN_STATUS_OK);
    const hewn_buffer_binding binding =
        at(reinterpret_cast<void *>(uintptr_t(1) << 40), 0, uint64_t(elements));
    const hewn_buffer_binding inputs[] = {binding, binding};
    setenv("FAKE_CUDA", "launch", 1);
    EXPECT_EQ(hewn_execute(op.get(), inputs, 2, &binding, 1, nullptr, nullptr),
              HEWN_STATUS_DEVICE_FAILED);
    unsetenv("FAKE_CUDA");
    EXPECT_EQ(variable<unsigned>("fake_grid") * variable<unsigned>("fake_block"), (1u << 29) / 16);
}

// Two devices at a time: each one's objects are used in its own context, and given back there.
TEST_F(FakeCuda, TwoDevices) {
    DevicePtr devices[2];
    void *memory[2] = {};
    for (const uint32_t i : {0u, 1u}) {
        ASSERT_EQ(open(HEWN_DEVICE_CUDA, i, devices[i]).status, HEWN_STATUS_OK);
        ASSERT_EQ(hewn_allocate(devices[i].get(), 1024, &memory[i], nullptr), HEWN_STATUS_OK);
    }
    for (const uint32_t i : {0u, 1u}) {
        const Sum sum(devices[i].get(), 64);
        ASSERT_EQ(
            sum.run(at(memory[i], 0, 256), at(memory[i], 256, 256), at(memory[i], 512, 256)).status,
            HEWN_STATUS_OK);
        EXPECT_EQ(variable<uintptr_t>("fake_context"), PRIMARY_CONTEXT + i);
        EXPECT_EQ(hewn_synchronize(devices[i].get(), nullptr), HEWN_STATUS_OK);
        hewn_deallocate(devices[i].get(), memory[i]);
    }
    devices[1].reset();
    EXPECT_EQ(variable<int>("fake_contexts"), 1);
    EXPECT_EQ(hewn_synchronize(devices[0].get(), nullptr), HEWN_STATUS_OK)
        << "the other device's context was given back";
}

// Copies go to the device's stream, and have happened when the call returns.
TEST_F(FakeCuda, Copies) {
    int stream = 0;
    for (void *const of_device : {static_cast<void *>(nullptr), static_cast<void *>(&stream)}) {
        DevicePtr device;
        ASSERT_EQ(create(OWN_CONTEXT, of_device, device).status, HEWN_STATUS_OK);
        void *memory = nullptr;
        ASSERT_EQ(hewn_allocate(device.get(), 64, &memory, nullptr), HEWN_STATUS_OK);
        int value = 42, back = 0;
        EXPECT_EQ(hewn_write(device.get(), memory, 8, &value, sizeof value, nullptr),
                  HEWN_STATUS_OK);
        EXPECT_EQ(variable<int>("fake_copies"), 0) << "a write is not waited for";
        value = 1;
        EXPECT_EQ(hewn_read(device.get(), memory, 8, &back, sizeof back, nullptr), HEWN_STATUS_OK);
        EXPECT_EQ(variable<int>("fake_copies"), 0) << "a read is not waited for";
        EXPECT_EQ(back, 42);
        hewn_deallocate(device.get(), memory);
    }
}

TEST_F(FakeCuda, OwnContextAndStream) {
    DevicePtr device;
    int stream = 0;
    EXPECT_TRUE(says(create(0, &stream, device), "the thread has no current one"));
    EXPECT_TRUE(says(create(reinterpret_cast<uintptr_t>(&stream), &stream, device),
                     "context is no context"));
    ASSERT_EQ(create(OWN_CONTEXT, &stream, device).status, HEWN_STATUS_OK);
    EXPECT_EQ(variable<int>("fake_contexts"), 0)
        << "the application's context is not retained as the primary one";
    void *memory = nullptr;
    ASSERT_EQ(hewn_allocate(device.get(), 1024, &memory, nullptr), HEWN_STATUS_OK);
    const Sum sum(device.get(), 64);
    ASSERT_EQ(sum.run(at(memory, 0, 256), at(memory, 256, 256), at(memory, 512, 256)).status,
              HEWN_STATUS_OK);
    EXPECT_EQ(variable<void *>("fake_stream"), &stream);
    EXPECT_EQ(variable<uintptr_t>("fake_context"), OWN_CONTEXT);
    variable<void *>("fake_synchronized") = nullptr;
    EXPECT_EQ(hewn_synchronize(device.get(), nullptr), HEWN_STATUS_OK);
    EXPECT_EQ(variable<void *>("fake_synchronized"), &stream);
    setenv("FAKE_CUDA", "host pointers", 1);
    const Outcome outcome = sum.run(at(memory, 0, 256), at(memory, 256, 256), at(memory, 512, 256));
    EXPECT_EQ(outcome.status, HEWN_STATUS_INVALID_BINDING);
    EXPECT_TRUE(says(outcome, "OutputTensor: the binding's buffer is not memory that CUDA knows"))
        << outcome;
    setenv("FAKE_CUDA", "launch", 1);
    const Outcome launch = sum.run(at(memory, 0, 256), at(memory, 256, 256), at(memory, 512, 256));
    EXPECT_EQ(launch.status, HEWN_STATUS_DEVICE_FAILED);
    EXPECT_TRUE(says(launch, "CUDA_ERROR_LAUNCH_FAILED")) << launch;
    EXPECT_EQ(hewn_synchronize(device.get(), nullptr), HEWN_STATUS_DEVICE_FAILED);
    unsetenv("FAKE_CUDA");
    hewn_deallocate(device.get(), memory);
}

// A GPU that reads the program's memory as it is: what the driver does not know is no mistake
// there.
TEST_F(FakeCuda, PageableMemory) {
    float a[64] = {}, b[64] = {}, c[64];
    for (const auto &[mode, status] : {std::pair("host pointers", HEWN_STATUS_INVALID_BINDING),
                                       std::pair("pageable", HEWN_STATUS_OK)}) {
        DevicePtr device;
        setenv("FAKE_CUDA", mode, 1);
        ASSERT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_OK);
        const Sum sum(device.get(), 64);
        setenv("FAKE_CUDA", "host pointers", 1);
        const Outcome outcome = sum.run(at(a, 0, 256), at(b, 0, 256), at(c, 0, 256));
        EXPECT_EQ(outcome.status, status) << mode << ": " << outcome;
    }
}

// A context that is not to be entered: every function says so, and asks the driver for nothing in
// the one that is current.
TEST_F(FakeCuda, LostContext) {
    DevicePtr device;
    ASSERT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_OK);
    void *memory = nullptr, *other = this;
    ASSERT_EQ(hewn_allocate(device.get(), 1024, &memory, nullptr), HEWN_STATUS_OK);
    const Sum sum(device.get(), 64);
    const hewn_tensor_desc desc = sum.tensor.desc();
    const Description description(HEWN_OPERATOR_ADD, {desc, desc, desc});
    const int launches = variable<int>("fake_launches"),
              memory_count = variable<int>("fake_memory");
    float value = 1;
    const auto lost = [&](const char *what, const Outcome &outcome) {
        EXPECT_EQ(outcome.status, HEWN_STATUS_DEVICE_FAILED) << what;
        EXPECT_TRUE(says(outcome, "cuCtxPushCurrent failed: CUDA_ERROR_INVALID_CONTEXT"))
            << what << ": " << outcome;
    };
    const auto call = [&](const char *what, const auto &function) {
        lost(what, outcome_of([&](hewn_error *error) { return function(device.get(), error); }));
    };
    setenv("FAKE_CUDA", "context", 1);
    {
        OperatorPtr op;
        lost("compile", compile(description, nullptr, op, device.get()));
    }
    lost("execute", sum.run(at(memory, 0, 256), at(memory, 256, 256), at(memory, 512, 256)));
    call("allocate",
         [&](hewn_device *on, hewn_error *error) { return hewn_allocate(on, 64, &other, error); });
    call("write", [&](hewn_device *on, hewn_error *error) {
        return hewn_write(on, memory, 0, &value, 4, error);
    });
    call("read", [&](hewn_device *on, hewn_error *error) {
        return hewn_read(on, memory, 0, &value, 4, error);
    });
    call("synchronize",
         [](hewn_device *on, hewn_error *error) { return hewn_synchronize(on, error); });
    hewn_deallocate(device.get(), memory);
    unsetenv("FAKE_CUDA");
    EXPECT_EQ(other, this) << "a refused call wrote";
    EXPECT_EQ(variable<int>("fake_launches"), launches);
    ASSERT_EQ(variable<int>("fake_memory"), memory_count);
    hewn_deallocate(device.get(), memory);
}

TEST_F(FakeCuda, Failures) {
    DevicePtr device;
    const auto provoke = [&](const char *mode, hewn_status status, const std::string &text) {
        setenv("FAKE_CUDA", mode, 1);
        const Outcome outcome = open(HEWN_DEVICE_CUDA, HEWN_ANY_DEVICE, device);
        unsetenv("FAKE_CUDA");
        EXPECT_EQ(outcome.status, status) << mode;
        EXPECT_TRUE(says(outcome, text)) << outcome;
    };
    provoke("empty", HEWN_STATUS_NO_DEVICE, "the driver has no device");
    provoke("old device", HEWN_STATUS_NO_DEVICE, "lacks " + least_capability());
    provoke("memory", HEWN_STATUS_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY");
    EXPECT_EQ(variable<int>("fake_contexts"), 0) << "a failed device keeps its context";

    ASSERT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_OK);
    const Tensor tensor(HEWN_DATA_TYPE_FLOAT32, {4});
    const hewn_tensor_desc desc = tensor.desc();
    const Description description(HEWN_OPERATOR_ADD, {desc, desc, desc});
    OperatorPtr op;
    setenv("FAKE_CUDA", "old driver", 1);
    const Outcome outcome = compile(description, nullptr, op, device.get());
    EXPECT_EQ(outcome.status, HEWN_STATUS_NO_DEVICE);
    EXPECT_TRUE(says(outcome, "the driver is too old ptxas fatal: line 1 line 2")) << outcome;
    unsetenv("FAKE_CUDA");
    EXPECT_EQ(compile(description, nullptr, op, device.get()).status, HEWN_STATUS_OK)
        << "a failure is not remembered";
    void *memory = this;
    EXPECT_EQ(hewn_allocate(device.get(), uint64_t(9) << 30, &memory, nullptr),
              HEWN_STATUS_OUT_OF_MEMORY);
    EXPECT_EQ(memory, this) << "a refused call wrote";
    op.reset();
    device.reset();
    EXPECT_EQ(variable<int>("fake_contexts"), 0) << "a refused compile keeps the device";
}

// A quantization whose scale and zero point are constants.
struct WithConstants {
    const Tensor x{HEWN_DATA_TYPE_FLOAT32, {4}}, y{HEWN_DATA_TYPE_UINT8, {4}};
    const Spec scale{HEWN_DATA_TYPE_FLOAT32, {4}, {0}}, zero_point{HEWN_DATA_TYPE_UINT8, {4}, {0}};
    float scale_value = 0.5f;
    uint8_t zero_point_value = 3;
    OperatorPtr op;

    Outcome compiled(hewn_device *device) {
        const hewn_buffer_binding constants[] = {at(nullptr, 0, 0), at(&scale_value, 0, 4),
                                                 at(&zero_point_value, 0, 1)};
        hewn_compile_options options = compile_options();
        options.constants = constants;
        options.constant_count = 3;
        return compile(Description(HEWN_OPERATOR_QUANTIZE_LINEAR,
                                   {x.desc(), scale.desc(), zero_point.desc(), y.desc()}),
                       &options, op, device);
    }
    // To memory that holds the input and, from byte 64 on, the output.
    Outcome bound(void *memory, BoundOperatorPtr &result) const {
        const hewn_buffer_binding inputs[] = {at(memory, 0, 16), at(nullptr, 0, 0),
                                              at(nullptr, 0, 0)},
                                  output = at(memory, 64, 4);
        return bind_operator(op.get(), inputs, 3, &output, 1, nullptr, result);
    }
};

// Constants are in memory of the device's, which the operator gives back, also where something
// fails on the way.
TEST_F(FakeCuda, Constants) {
    DevicePtr device;
    ASSERT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_OK);
    const int before = variable<int>("fake_memory");
    WithConstants quantize;
    for (const auto &[mode, status] :
         {std::pair<const char *, hewn_status>{"memory", HEWN_STATUS_OUT_OF_MEMORY},
          {"launch", HEWN_STATUS_DEVICE_FAILED},  // of the copy, which is waited for
          {"old driver", HEWN_STATUS_NO_DEVICE}}) {
        setenv("FAKE_CUDA", mode, 1);
        const Outcome outcome = quantize.compiled(device.get());
        unsetenv("FAKE_CUDA");
        EXPECT_EQ(outcome.status, status) << mode << ": " << outcome;
        EXPECT_EQ(variable<int>("fake_memory"), before) << mode;
    }
    ASSERT_EQ(quantize.compiled(device.get()).status, HEWN_STATUS_OK);
    EXPECT_EQ(variable<int>("fake_memory"), before + 1);
    quantize.op.reset();
    EXPECT_EQ(variable<int>("fake_memory"), before);
    device.reset();
    EXPECT_EQ(variable<int>("fake_contexts"), 0) << "a refused compile keeps the device";
}

// A run launches as an execution does, and tells of what fails then.
TEST_F(FakeCuda, Bound) {
    bool fails = false;
    const hewn_cuda_device_desc desc = {
        sizeof desc,
        reinterpret_cast<void *>(OWN_CONTEXT),
        nullptr,
        [](void *context, size_t bytes, size_t) {
            return *static_cast<bool *>(context) ? nullptr : std::malloc(bytes);
        },
        [](void *, void *memory) { std::free(memory); },
        &fails};
    hewn_device *created = nullptr;
    ASSERT_EQ(hewn_create_cuda_device(&desc, &created, nullptr), HEWN_STATUS_OK);
    DevicePtr device(created);
    void *memory = nullptr;
    ASSERT_EQ(hewn_allocate(device.get(), 1024, &memory, nullptr), HEWN_STATUS_OK);
    WithConstants quantize;
    ASSERT_EQ(quantize.compiled(device.get()).status, HEWN_STATUS_OK);
    BoundOperatorPtr bound;
    fails = true;
    EXPECT_EQ(quantize.bound(memory, bound).status, HEWN_STATUS_OUT_OF_MEMORY);
    fails = false;
    ASSERT_EQ(quantize.bound(memory, bound).status, HEWN_STATUS_OK);
    const auto run = [&] {
        return outcome_of([&](hewn_error *error) { return hewn_run(bound.get(), error); });
    };
    const int launches = variable<int>("fake_launches");
    EXPECT_EQ(run().status, HEWN_STATUS_OK);
    EXPECT_GT(variable<int>("fake_launches"), launches);
    for (const char *mode : {"launch", "context"}) {
        setenv("FAKE_CUDA", mode, 1);
        EXPECT_EQ(run().status, HEWN_STATUS_DEVICE_FAILED) << mode;
        unsetenv("FAKE_CUDA");
    }
    EXPECT_EQ(run().status, HEWN_STATUS_OK);
    hewn_deallocate(device.get(), memory);
}

// What compile allocates by the program's hooks, it gives back, also where the driver refuses a
// kernel.
TEST_F(FakeCuda, HooksAreBalanced) {
    int live = 0;
    const hewn_cuda_device_desc desc = {sizeof desc,
                                        reinterpret_cast<void *>(OWN_CONTEXT),
                                        nullptr,
                                        [](void *context, size_t bytes, size_t) {
                                            ++*static_cast<int *>(context);
                                            return std::malloc(bytes);
                                        },
                                        [](void *context, void *memory) {
                                            --*static_cast<int *>(context);
                                            std::free(memory);
                                        },
                                        &live};
    hewn_device *created = nullptr;
    ASSERT_EQ(hewn_create_cuda_device(&desc, &created, nullptr), HEWN_STATUS_OK);
    DevicePtr device(created);
    const Tensor tensor(HEWN_DATA_TYPE_FLOAT32, {4});
    const hewn_tensor_desc f32 = tensor.desc();
    const Description description(HEWN_OPERATOR_ADD, {f32, f32, f32});
    OperatorPtr op;
    const int before = live;
    setenv("FAKE_CUDA", "old driver", 1);
    EXPECT_EQ(compile(description, nullptr, op, device.get()).status, HEWN_STATUS_NO_DEVICE);
    unsetenv("FAKE_CUDA");
    EXPECT_EQ(live, before);
    EXPECT_EQ(compile(description, nullptr, op, device.get()).status, HEWN_STATUS_OK);
    EXPECT_GT(live, before);
    op.reset();
    device.reset();
    EXPECT_EQ(live, 0);
}

TEST_F(FakeCuda, EveryCallFails) {
    const int before = variable<int>("fake_memory");
    for (const bool lost : {false, true}) {
        // Leaving a context comes when all is done; what a device is called is not needed.
        std::set<std::string> untold = {"cuCtxPopCurrent_v2"};
        if (!lost)
            untold.insert({"cuDeviceGetAttribute", "cuDeviceGetName", "cuDeviceTotalMem_v2"});
        fail_every_call(driver_, HEWN_DEVICE_CUDA, lost, untold, [&] {
            EXPECT_EQ(variable<int>("fake_memory"), before);
            EXPECT_EQ(variable<int>("fake_modules"), 0);
            EXPECT_EQ(variable<int>("fake_contexts"), 0);
        });
    }
}

// Execution and a bound operator's, captured in the program's graph: nothing is launched then, all
// of it each time that the graph is. On a card too, where the results are looked at.
TEST(Cuda, Graph) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) GTEST_SKIP() << "no CUDA driver: libcuda.so.1 is not there";
    const int *launches = static_cast<int *>(dlsym(driver, "fake_launches"));
    const hewn_bench::Cuda cuda;
    const hewn_cuda_device_desc desc = {sizeof desc, cuda.context(), cuda.stream(),
                                        nullptr,     nullptr,        nullptr};
    hewn_device *created = nullptr;
    ASSERT_EQ(hewn_create_cuda_device(&desc, &created, nullptr), HEWN_STATUS_OK);
    const DevicePtr device(created);
    constexpr int64_t COUNT = 4096 + 3;  // a launch of each form
    constexpr uint64_t BYTES = COUNT * 4, NEXT = 32768;
    const Sum sum(created, COUNT);
    void *memory = nullptr;
    ASSERT_EQ(hewn_allocate(created, 3 * NEXT, &memory, nullptr), HEWN_STATUS_OK);
    const hewn_buffer_binding a = at(memory, 0, BYTES), b = at(memory, NEXT, BYTES),
                              c = at(memory, 2 * NEXT, BYTES), inputs[] = {a, c};
    // c = a + b, then c = a + c.
    std::vector<float> values(COUNT);
    std::iota(values.begin(), values.end(), 0.0f);
    for (const hewn_buffer_binding &input : {a, b})
        ASSERT_EQ(hewn_write(created, memory, input.offset, values.data(), BYTES, nullptr),
                  HEWN_STATUS_OK);
    BoundOperatorPtr bound;
    ASSERT_EQ(bind_operator(sum.op.get(), inputs, 2, &c, 1, nullptr, bound).status, HEWN_STATUS_OK);
    const int before = launches ? *launches : 0;
    const hewn_bench::Cuda::Graph graph(cuda, [&] {
        EXPECT_EQ(sum.run(a, b, c).status, HEWN_STATUS_OK);
        EXPECT_EQ(hewn_run(bound.get(), nullptr), HEWN_STATUS_OK);
    });
    EXPECT_EQ(launches ? *launches : before, before);
    for (int i = 1; i <= 3; i++) {
        graph.launch();
        ASSERT_EQ(hewn_synchronize(created, nullptr), HEWN_STATUS_OK);
        EXPECT_EQ(launches ? *launches : before + 4 * i, before + 4 * i);
    }
    std::vector<float> result(COUNT);
    ASSERT_EQ(hewn_read(created, memory, c.offset, result.data(), BYTES, nullptr), HEWN_STATUS_OK);
    for (int64_t i = 0; i < COUNT && !launches; i++) ASSERT_EQ(result[size_t(i)], 3.0f * float(i));
    hewn_deallocate(created, memory);
}

// A process whose only devices are too old from its start: a machine's best device is looked for
// once.
TEST(FakeCudaOfOldDevices, Targets) {
    const char *mode = std::getenv("FAKE_CUDA");
    if (!mode || std::string(mode) != "old device")
        GTEST_SKIP() << "not run with FAKE_CUDA='old device'";
    for (const hewn_target_info &target : targets()) {
        if (target.device != HEWN_DEVICE_CUDA) continue;
        EXPECT_EQ(target.supported, 0) << target.name;
        EXPECT_EQ(target.missing, capability_of(target.name));
    }
    // The program's own context, of which nothing is kept or released.
    hewn_device *device = nullptr;
    const hewn_cuda_device_desc desc = {sizeof desc, reinterpret_cast<void *>(uintptr_t(0x2000)),
                                        nullptr,     nullptr,
                                        nullptr,     nullptr};
    const Outcome outcome = outcome_of(
        [&](hewn_error *error) { return hewn_create_cuda_device(&desc, &device, error); });
    EXPECT_EQ(outcome.status, HEWN_STATUS_NO_DEVICE);
    EXPECT_TRUE(
        says(outcome, "the device has compute capability 7.0, hewn needs " + least_capability()))
        << outcome;
    EXPECT_EQ(*static_cast<int *>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fake_contexts")), 0);
}

// A process in which cuInit fails: the fake driver is told so before it starts.
TEST(FakeCudaWithoutDevice, Open) {
    const char *mode = std::getenv("FAKE_CUDA");
    if (!mode || std::string(mode) != "no device")
        GTEST_SKIP() << "not run with FAKE_CUDA='no device'";
    DevicePtr device;
    const Outcome outcome = open(HEWN_DEVICE_CUDA, 0, device);
    EXPECT_EQ(outcome.status, HEWN_STATUS_NO_DEVICE);
    EXPECT_TRUE(says(outcome, "cuInit failed: CUDA_ERROR_NO_DEVICE")) << outcome;
    hewn_device *created = untouched<hewn_device>();
    const hewn_cuda_device_desc desc = {sizeof desc, reinterpret_cast<void *>(uintptr_t(0x2000)),
                                        nullptr,     nullptr,
                                        nullptr,     nullptr};
    const Outcome own = outcome_of(
        [&](hewn_error *error) { return hewn_create_cuda_device(&desc, &created, error); });
    EXPECT_EQ(own.status, HEWN_STATUS_NO_DEVICE);
    EXPECT_TRUE(says(own, "cuInit failed: CUDA_ERROR_NO_DEVICE")) << own;
    EXPECT_EQ(created, untouched<hewn_device>());
}

}  // namespace
}  // namespace hewn_test
