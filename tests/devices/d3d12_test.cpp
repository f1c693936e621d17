// Tests of the Direct3D 12 device, except for the results of its kernels (variants_test.cpp):
// recording, what is refused, and what the library loads and keeps.
#include <gtest/gtest.h>

#define WIDL_EXPLICIT_AGGREGATE_RETURNS
#include <d3d12.h>
#include <dxgi1_4.h>
#include <psapi.h>

#include <functional>
#include <future>
#include <numeric>
#include <set>
#include <thread>

#include "../../reference/contents.h"
#include "../../reference/problems.h"
#include "../support/check.h"

namespace hewn_test {
namespace {

template<class T>
struct Release {
    void operator()(T *object) const { object->Release(); }
};
template<class T>
using Com = std::unique_ptr<T, Release<T>>;

// Returns the object that create(iid, address of the object's pointer) makes. It must succeed.
template<class T, class Create>
Com<T> make(Create &&create) {
    void *object = nullptr;
    const HRESULT code = create(__uuidof(T), &object);
    EXPECT_EQ(code, S_OK);
    return Com<T>(static_cast<T *>(object));
}

// Replaces a method of an object's class until it is destroyed, to imitate what no machine here
// has.
class Replaced {
public:
    Replaced(void *object, size_t method, void *function)
        : slot_(*static_cast<void ***>(object) + method), original_(*slot_) {
        set(function);
    }
    ~Replaced() { set(original_); }
    void *original() const { return original_; }

private:
    void set(void *function) {
        DWORD protection = 0;
        VirtualProtect(slot_, sizeof *slot_, PAGE_READWRITE, &protection);
        *slot_ = function;
        VirtualProtect(slot_, sizeof *slot_, protection, &protection);
    }
    void **slot_, *original_;
};

D3D12_RESOURCE_DESC buffer_desc(uint64_t bytes, D3D12_RESOURCE_FLAGS flags) {
    D3D12_RESOURCE_DESC desc = {};
    desc.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER;
    desc.Width = bytes;
    desc.Height = desc.DepthOrArraySize = desc.MipLevels = 1;
    desc.SampleDesc.Count = 1;
    desc.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
    desc.Flags = flags;
    return desc;
}

Com<ID3D12Resource> make_buffer(ID3D12Device *device, uint64_t bytes, D3D12_RESOURCE_FLAGS flags) {
    D3D12_HEAP_PROPERTIES heap = {};
    heap.Type = D3D12_HEAP_TYPE_DEFAULT;
    const D3D12_RESOURCE_DESC desc = buffer_desc(bytes, flags);
    return make<ID3D12Resource>([&](const GUID &iid, void **out) {
        return device->CreateCommittedResource(&heap, D3D12_HEAP_FLAG_NONE, &desc,
                                               D3D12_RESOURCE_STATE_COMMON, nullptr, iid, out);
    });
}

// A program's own device and command list, and a hewn device made from them.
struct Program {
    Com<ID3D12Device> device = make<ID3D12Device>([](const GUID &iid, void **out) {
        return D3D12CreateDevice(nullptr, D3D_FEATURE_LEVEL_11_0, iid, out);
    });
    Com<ID3D12CommandAllocator> allocator =
        make<ID3D12CommandAllocator>([&](const GUID &iid, void **out) {
            return device->CreateCommandAllocator(D3D12_COMMAND_LIST_TYPE_COMPUTE, iid, out);
        });
    Com<ID3D12GraphicsCommandList> list =
        make<ID3D12GraphicsCommandList>([&](const GUID &iid, void **out) {
            return device->CreateCommandList(0, D3D12_COMMAND_LIST_TYPE_COMPUTE, allocator.get(),
                                             nullptr, iid, out);
        });
    DevicePtr hewn;

    Program() {
        const hewn_d3d12_device_desc desc = {sizeof desc, device.get(), nullptr,
                                             nullptr,     nullptr,      nullptr};
        hewn_device *created = nullptr;
        const Outcome outcome = outcome_of(
            [&](hewn_error *error) { return hewn_create_d3d12_device(&desc, &created, error); });
        EXPECT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
        hewn.reset(created);
    }
};

constexpr uint64_t COUNT = 1000;

OperatorPtr compile_add(hewn_device *device, int64_t size = COUNT) {
    const hewn_tensor_desc tensor = {sizeof tensor, HEWN_DATA_TYPE_FLOAT32, 1, &size, nullptr,
                                     nullptr};
    const Description description(HEWN_OPERATOR_ADD, {tensor, tensor, tensor});
    OperatorPtr op;
    const Outcome outcome = compile(description, nullptr, op, device);
    EXPECT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
    return op;
}

// Records ADD with all three tensors in one resource.
Outcome record(const hewn_operator *op, ID3D12GraphicsCommandList *list, ID3D12Resource *resource,
               uint64_t output = 8192, uint64_t size = 4 * COUNT) {
    const hewn_buffer_binding inputs[] = {{sizeof *inputs, resource, 4, 4 * COUNT},
                                          {sizeof *inputs, resource, 4096, 4 * COUNT}};
    const hewn_buffer_binding bound = {sizeof bound, resource, output, size};
    return outcome_of([&](hewn_error *error) {
        return hewn_d3d12_record(op, list, inputs, 2, &bound, 1, error);
    });
}

void expect_refused(const Outcome &outcome, hewn_status status, const std::string &message) {
    EXPECT_EQ(outcome.status, status) << outcome;
    EXPECT_NE(outcome.message.find(message), std::string::npos) << outcome;
}

TEST(D3d12, RefusesWhatItCannotBind) {
    Program program, other;
    const OperatorPtr op = compile_add(program.hewn.get());
    const auto good =
        make_buffer(program.device.get(), 65536, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
    const auto plain = make_buffer(program.device.get(), 65536, D3D12_RESOURCE_FLAG_NONE);
    const auto foreign =
        make_buffer(other.device.get(), 65536, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
    EXPECT_EQ(record(op.get(), program.list.get(), good.get()).status, HEWN_STATUS_OK);
    const hewn_status refused = HEWN_STATUS_INVALID_BINDING;
    expect_refused(record(op.get(), program.list.get(), plain.get()), refused,
                   "ADD OutputTensor: the resource was made without "
                   "D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS");
    expect_refused(record(op.get(), program.list.get(), foreign.get()), refused,
                   "ADD OutputTensor: the resource is of another device");
    expect_refused(record(op.get(), program.list.get(), good.get(), 65536 - 3996), refused,
                   "ADD OutputTensor: the binding ends beyond the resource's 65536 bytes");
    expect_refused(record(op.get(), program.list.get(), good.get(), 8193), refused,
                   "ADD OutputTensor");  // misaligned
    expect_refused(record(op.get(), program.list.get(), good.get(), 4100), refused,
                   "ADD ");  // overlaps an input
    expect_refused(record(op.get(), program.list.get(), good.get(), 8192, 3999), refused,
                   "ADD OutputTensor");
    expect_refused(record(op.get(), program.list.get(), nullptr), refused, "ADD OutputTensor");
    expect_refused(record(op.get(), nullptr, good.get()), HEWN_STATUS_INVALID_ARGUMENT,
                   "command_list is null");
    expect_refused(record(nullptr, program.list.get(), good.get()), HEWN_STATUS_INVALID_ARGUMENT,
                   "op is null");
    const OperatorPtr on_cpu = compile_add(nullptr);
    expect_refused(record(on_cpu.get(), program.list.get(), good.get()),
                   HEWN_STATUS_INVALID_ARGUMENT, "the operator is for the CPU");
}

// Two resources that are placed in one heap, the second one 64 KiB after the first. Wine gives
// every resource an address of its own. The second one's address is replaced by its address in the
// heap, which it has on Windows.
ID3D12Resource *placed_first, *placed_second;
UINT64(WINAPI *real_address)(ID3D12Resource *);
UINT64 WINAPI placed_address(ID3D12Resource *resource) {
    return resource == placed_second ? real_address(placed_first) + 65536 : real_address(resource);
}

TEST(D3d12, RefusesPlacedResourcesThatOverlap) {
    Program program;
    const OperatorPtr op = compile_add(program.hewn.get());
    D3D12_HEAP_DESC heap_desc = {};
    heap_desc.SizeInBytes = 3 * 65536;
    heap_desc.Properties.Type = D3D12_HEAP_TYPE_DEFAULT;
    heap_desc.Flags = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
    const auto heap = make<ID3D12Heap>([&](const GUID &iid, void **out) {
        return program.device->CreateHeap(&heap_desc, iid, out);
    });
    const auto place = [&](uint64_t offset) {
        const D3D12_RESOURCE_DESC desc =
            buffer_desc(2 * 65536, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
        return make<ID3D12Resource>([&](const GUID &iid, void **out) {
            return program.device->CreatePlacedResource(
                heap.get(), offset, &desc, D3D12_RESOURCE_STATE_COMMON, nullptr, iid, out);
        });
    };
    const auto first = place(0), second = place(65536);
    placed_first = first.get();
    placed_second = second.get();
    constexpr size_t GET_GPU_VIRTUAL_ADDRESS = 11;  // of ID3D12Resource's methods
    const Replaced replaced(first.get(), GET_GPU_VIRTUAL_ADDRESS,
                            reinterpret_cast<void *>(placed_address));
    real_address = reinterpret_cast<decltype(real_address)>(replaced.original());

    const uint64_t bytes = 4 * COUNT;
    const auto record_at = [&](uint64_t input, uint64_t output) {
        const hewn_buffer_binding inputs[] = {{sizeof *inputs, first.get(), 0, bytes},
                                              {sizeof *inputs, first.get(), input, bytes}};
        const hewn_buffer_binding bound = {sizeof bound, second.get(), output, bytes};
        return outcome_of([&](hewn_error *error) {
            return hewn_d3d12_record(op.get(), program.list.get(), inputs, 2, &bound, 1, error);
        });
    };
    EXPECT_EQ(record_at(65536, bytes).status, HEWN_STATUS_OK);          // right after the input
    EXPECT_EQ(record_at(65536 + bytes, 0).status, HEWN_STATUS_OK);      // right before it
    EXPECT_EQ(record_at(65536 + bytes, bytes).status, HEWN_STATUS_OK);  // in place
    for (const uint64_t output : {bytes - 4, bytes + 4})
        expect_refused(record_at(65536 + bytes, output), HEWN_STATUS_INVALID_BINDING, "overlap");
}

UINT adapter_flags;
HRESULT(WINAPI *real_get_desc)(IDXGIAdapter1 *, DXGI_ADAPTER_DESC1 *);
HRESULT WINAPI get_desc_with_flags(IDXGIAdapter1 *adapter, DXGI_ADAPTER_DESC1 *desc) {
    const HRESULT code = real_get_desc(adapter, desc);
    desc->Flags = adapter_flags;
    return code;
}

// Microsoft's WARP, a software adapter that every Windows has, is listed as a CPU and taken only by
// its index. Wine never calls an adapter software, so the test sets that flag.
TEST(D3d12, SoftwareAdapter) {
    const auto factory = make<IDXGIFactory1>(CreateDXGIFactory1);
    IDXGIAdapter1 *found = nullptr;
    ASSERT_EQ(factory->EnumAdapters1(0, &found), S_OK);
    const Com<IDXGIAdapter1> adapter(found);
    constexpr size_t GET_DESC1 = 10;  // of IDXGIAdapter1's methods
    const Replaced replaced(adapter.get(), GET_DESC1,
                            reinterpret_cast<void *>(get_desc_with_flags));
    real_get_desc = reinterpret_cast<decltype(real_get_desc)>(replaced.original());

    const auto open = [](uint32_t index, DevicePtr &device) {
        hewn_device *opened = nullptr;
        const Outcome outcome = outcome_of([&](hewn_error *error) {
            return hewn_open_device(HEWN_DEVICE_D3D12, index, &opened, error);
        });
        device.reset(opened);
        return outcome;
    };
    for (const bool software : {true, false}) {
        adapter_flags = software ? DXGI_ADAPTER_FLAG_SOFTWARE : DXGI_ADAPTER_FLAG_NONE;
        hewn_device_info info = {};
        info.struct_size = sizeof info;
        ASSERT_EQ(hewn_get_device(HEWN_DEVICE_D3D12, 0, &info, nullptr), HEWN_STATUS_OK);
        EXPECT_EQ(info.is_cpu, software);
        DevicePtr device;
        EXPECT_EQ(open(0, device).status, HEWN_STATUS_OK);
        const Outcome any = open(HEWN_ANY_DEVICE, device);
        if (software)
            expect_refused(any, HEWN_STATUS_NO_DEVICE, "D3D12: there is no GPU. Adapter 0, ");
        else EXPECT_EQ(any.status, HEWN_STATUS_OK) << any;
    }
}

TEST(D3d12, RefusesWhatIsNoDescription) {
    hewn_device *device = nullptr;
    hewn_d3d12_device_desc desc = {sizeof desc, nullptr, nullptr, nullptr, nullptr, nullptr};
    const auto create = [&] {
        return outcome_of(
            [&](hewn_error *error) { return hewn_create_d3d12_device(&desc, &device, error); });
    };
    expect_refused(create(), HEWN_STATUS_INVALID_ARGUMENT,
                   "hewn_d3d12_device_desc: device is null");
    desc.struct_size--;
    expect_refused(create(), HEWN_STATUS_INVALID_ARGUMENT, "struct_size is too small");
    expect_refused(outcome_of([&](hewn_error *error) {
                       return hewn_open_device(HEWN_DEVICE_D3D12, 99, &device, error);
                   }),
                   HEWN_STATUS_NO_DEVICE, "there is no adapter 99");
    EXPECT_EQ(device, nullptr);
}

Com<ID3D12CommandQueue> make_queue(ID3D12Device *device, D3D12_COMMAND_LIST_TYPE type) {
    D3D12_COMMAND_QUEUE_DESC desc = {};
    desc.Type = type;
    return make<ID3D12CommandQueue>(
        [&](const GUID &iid, void **out) { return device->CreateCommandQueue(&desc, iid, out); });
}

// Makes a hewn device on the program's queue, or on a queue of its own if that is null.
Outcome create_on(ID3D12Device *device, ID3D12CommandQueue *queue, DevicePtr &result) {
    const hewn_d3d12_device_desc desc = {sizeof desc, device, queue, nullptr, nullptr, nullptr};
    hewn_device *created = nullptr;
    const Outcome outcome = outcome_of(
        [&](hewn_error *error) { return hewn_create_d3d12_device(&desc, &created, error); });
    result.reset(created);
    return outcome;
}

// ---- A driver that fails ----

// Call number fail_at fails; if the device is removed, each call after it fails as well. 0: no call
// fails.
int fail_at, fail_calls;
bool device_removed;
std::string first_failed;  // the method of call number fail_at
// Called before the call that removes the device fails.
std::function<void()> before_removal;
void fail_from(int call, bool removed) {
    fail_calls = 0;
    fail_at = call;
    device_removed = removed;
    first_failed.clear();
}
bool fails(const char *method) {
    const bool is_first = ++fail_calls == fail_at;
    if (is_first) first_failed = method;
    if (is_first && device_removed && before_removal) before_removal();
    return is_first || (device_removed && fail_at && fail_calls >= fail_at);
}

// Replaces a method of an object's class by one that may fail. Its arguments must be no larger than
// a register. Eight are passed on, whether the method has as many or not.
template<int NUMBER>
class MayFail {
public:
    MayFail(void *object, size_t method, const char *its_name)
        : replaced_(object, method, reinterpret_cast<void *>(call)) {
        real = reinterpret_cast<Method>(replaced_.original());
        name = its_name;
    }

private:
    using Word = uintptr_t;
    using Method = HRESULT(WINAPI *)(Word, Word, Word, Word, Word, Word, Word, Word);
    static HRESULT WINAPI call(Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h) {
        return fails(name) ? DXGI_ERROR_DEVICE_REMOVED : real(a, b, c, d, e, f, g, h);
    }
    static inline Method real;
    static inline const char *name;
    Replaced replaced_;
};

// All methods that hewn calls and that may fail. The numbers are their places in the interfaces.
struct FailingDriver {
    Com<ID3D12CommandQueue> queue;
    Com<ID3D12Fence> fence;
    Com<ID3D12Resource> buffer;
    MayFail<0> create_command_queue;
    MayFail<1> create_command_allocator;
    MayFail<2> create_compute_pipeline_state;
    MayFail<3> create_command_list;
    MayFail<4> create_root_signature;
    MayFail<5> create_committed_resource;
    MayFail<6> create_fence;
    MayFail<7> get_device_removed_reason;
    MayFail<8> signal;
    MayFail<9> set_event_on_completion;
    MayFail<10> map;
    MayFail<11> close;
    MayFail<12> reset;
    MayFail<13> execute_command_lists;

    explicit FailingDriver(const Program &program)
        : queue(make_queue(program.device.get(), D3D12_COMMAND_LIST_TYPE_COMPUTE)),
          fence(make<ID3D12Fence>([&](const GUID &iid, void **out) {
              return program.device->CreateFence(0, D3D12_FENCE_FLAG_NONE, iid, out);
          })),
          buffer(make_buffer(program.device.get(), 64, D3D12_RESOURCE_FLAG_NONE)),
          create_command_queue(program.device.get(), 8, "CreateCommandQueue"),
          create_command_allocator(program.device.get(), 9, "CreateCommandAllocator"),
          create_compute_pipeline_state(program.device.get(), 11, "CreateComputePipelineState"),
          create_command_list(program.device.get(), 12, "CreateCommandList"),
          create_root_signature(program.device.get(), 16, "CreateRootSignature"),
          create_committed_resource(program.device.get(), 27, "CreateCommittedResource"),
          create_fence(program.device.get(), 36, "CreateFence"),
          get_device_removed_reason(program.device.get(), 37, "GetDeviceRemovedReason"),
          signal(queue.get(), 14, "Signal"),
          set_event_on_completion(fence.get(), 9, "SetEventOnCompletion"),
          map(buffer.get(), 8, "Map"),
          close(program.list.get(), 9, "Close"),
          reset(program.list.get(), 10, "Reset"),
          execute_command_lists(queue.get(), 10, "ExecuteCommandLists") {}

    // Waits for what was submitted before. A device that is removed has nothing left to do.
    void settle() {
        const int at = std::exchange(fail_at, 0);
        EXPECT_EQ(queue->Signal(fence.get(), ++value_), S_OK);
        while (fence->GetCompletedValue() < value_) Sleep(1);
        fail_at = at;
    }

private:
    UINT64 value_ = 0;
};

// Computes a sum on a hewn device on `device`, from making the device to reading back. The queue is
// `driver`'s or, without it, hewn's own. Returns the status of the first step that fails.
hewn_status status_of_sum(ID3D12Device *device, FailingDriver *driver = nullptr) {
    DevicePtr hewn;
    if (const hewn_status status =
            create_on(device, driver ? driver->queue.get() : nullptr, hewn).status)
        return status;
    void *memory = nullptr;
    hewn_status status = hewn_allocate(hewn.get(), 4096, &memory, nullptr);
    const int64_t size = 64;
    const hewn_tensor_desc tensor = {sizeof tensor, HEWN_DATA_TYPE_FLOAT32, 1, &size, nullptr,
                                     nullptr};
    const hewn_buffer_binding inputs[] = {{sizeof *inputs, memory, 0, 256},
                                          {sizeof *inputs, memory, 256, 256}},
                              output = {sizeof output, memory, 512, 256};
    OperatorPtr op;
    BoundOperatorPtr bound;
    float values[128], back[64] = {};
    std::iota(std::begin(values), std::end(values), 0.0f);
    const std::function<hewn_status()> steps[] = {
        [&] { return hewn_write(hewn.get(), memory, 0, values, sizeof values, nullptr); },
        [&] {
            return compile(Description(HEWN_OPERATOR_ADD, {tensor, tensor, tensor}), nullptr, op,
                           hewn.get())
                .status;
        },
        [&] { return hewn_execute(op.get(), inputs, 2, &output, 1, nullptr, nullptr); },
        [&] { return bind_operator(op.get(), inputs, 2, &output, 1, nullptr, bound).status; },
        [&] { return hewn_run(bound.get(), nullptr); },
        [&] { return hewn_synchronize(hewn.get(), nullptr); },
        [&] { return hewn_read(hewn.get(), memory, 512, back, sizeof back, nullptr); }};
    for (const auto &step : steps) status = status ? status : step();
    if (!status) {
        EXPECT_EQ(back[5], 5 + 69);
    }
    if (driver) driver->settle();
    hewn_deallocate(hewn.get(), memory);
    return status;
}

// Every call fails in turn, once by itself and once with all calls after it, as on a device that is
// removed. Each time a step must return a status, unless the method is in `untold`. All that was
// taken from the device must be given back: its children count as references to it.
TEST(D3d12, EveryCallFails) {
    Program program;
    ID3D12Device *const device = program.device.get();
    FailingDriver driver(program);
    const auto references = [&] { return device->AddRef(), device->Release(); };
    const ULONG before = references();
    // Objects of work that still runs must not be given back.
    before_removal = [&] { driver.settle(); };
    for (const bool removed : {false, true}) {
        fail_from(0, false);
        ASSERT_EQ(status_of_sum(device, removed ? &driver : nullptr), HEWN_STATUS_OK);
        const int all = fail_calls;
        std::set<std::string> untold;
        for (int call = 1; call <= all; call++) {
            fail_from(call, removed);
            const hewn_status status = status_of_sum(device, removed ? &driver : nullptr);
            SCOPED_TRACE("call " + std::to_string(call) + ", " + first_failed +
                         (removed ? ", removed" : ""));
            // A run makes fewer calls if the device is quicker and there is no wait.
            if (status == HEWN_STATUS_OK && !first_failed.empty()) untold.insert(first_failed);
            EXPECT_NE(status, HEWN_STATUS_KERNEL_FAILED) << "hewn's own fault";
            fail_from(0, false);
            EXPECT_EQ(references(), before);
        }
        // ExecuteCommandLists returns nothing. The functions that give back an operator, memory or
        // a device wait for their work and return nothing either. A removed device fails the next
        // call.
        std::set<std::string> expected = {"GetDeviceRemovedReason"};
        if (!removed) expected.insert("ExecuteCommandLists");
        EXPECT_EQ(untold, expected) << "of " << all << " calls";
        EXPECT_EQ(status_of_sum(device), HEWN_STATUS_OK);
    }
    before_removal = nullptr;
}

TEST(D3d12, RefusesQueuesThatCannotRunKernels) {
    const Program program, other;
    DevicePtr device;
    for (const auto type : {D3D12_COMMAND_LIST_TYPE_DIRECT, D3D12_COMMAND_LIST_TYPE_COMPUTE,
                            D3D12_COMMAND_LIST_TYPE_COPY}) {
        const auto queue = make_queue(program.device.get(), type),
                   foreign = make_queue(other.device.get(), type);
        const Outcome outcome = create_on(program.device.get(), queue.get(), device);
        if (type != D3D12_COMMAND_LIST_TYPE_COPY) {
            EXPECT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
            expect_refused(create_on(program.device.get(), foreign.get(), device),
                           HEWN_STATUS_INVALID_ARGUMENT,
                           "hewn_d3d12_device_desc: queue is of another device");
        } else {
            expect_refused(outcome, HEWN_STATUS_INVALID_ARGUMENT,
                           "hewn_d3d12_device_desc: queue is neither of type DIRECT nor COMPUTE");
        }
    }
}

// Executes ADD with all three tensors in one resource.
Outcome run_add(const hewn_operator *op, ID3D12Resource *resource, uint64_t output = 8192) {
    const hewn_buffer_binding inputs[] = {{sizeof *inputs, resource, 4, 4 * COUNT},
                                          {sizeof *inputs, resource, 4096, 4 * COUNT}};
    const hewn_buffer_binding bound = {sizeof bound, resource, output, 4 * COUNT};
    return outcome_of(
        [&](hewn_error *error) { return hewn_execute(op, inputs, 2, &bound, 1, nullptr, error); });
}

int submissions;
void(WINAPI *real_execute)(ID3D12CommandQueue *, UINT, ID3D12CommandList *const *);
void WINAPI count_and_execute(ID3D12CommandQueue *queue, UINT count,
                              ID3D12CommandList *const *lists) {
    submissions++;
    real_execute(queue, count, lists);
}

TEST(D3d12, RefusedExecuteSubmitsNothing) {
    const Program program;
    const auto queue = make_queue(program.device.get(), D3D12_COMMAND_LIST_TYPE_COMPUTE);
    DevicePtr device;
    ASSERT_EQ(create_on(program.device.get(), queue.get(), device).status, HEWN_STATUS_OK);
    const OperatorPtr op = compile_add(device.get());
    const auto buffer =
        make_buffer(program.device.get(), 65536, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
    constexpr size_t EXECUTE_COMMAND_LISTS = 10;  // of ID3D12CommandQueue's methods
    const Replaced replaced(queue.get(), EXECUTE_COMMAND_LISTS,
                            reinterpret_cast<void *>(count_and_execute));
    real_execute = reinterpret_cast<decltype(real_execute)>(replaced.original());
    submissions = 0;
    expect_refused(run_add(op.get(), buffer.get(), 8193), HEWN_STATUS_INVALID_BINDING,
                   "ADD OutputTensor");
    expect_refused(run_add(op.get(), buffer.get(), 65536 - 3996), HEWN_STATUS_INVALID_BINDING,
                   "ends beyond");
    EXPECT_EQ(submissions, 0);
    EXPECT_EQ(run_add(op.get(), buffer.get()).status, HEWN_STATUS_OK);
    EXPECT_EQ(submissions, 1);
    EXPECT_EQ(hewn_synchronize(device.get(), nullptr), HEWN_STATUS_OK);
}

// The commands that are recorded in lists, in order. D is a dispatch, B is a UAV barrier for all
// resources, and ? is another barrier.
std::string told;
void(WINAPI *real_dispatch)(ID3D12GraphicsCommandList *, UINT, UINT, UINT);
void WINAPI note_dispatch(ID3D12GraphicsCommandList *list, UINT x, UINT y, UINT z) {
    told += 'D';
    real_dispatch(list, x, y, z);
}
void(WINAPI *real_barrier)(ID3D12GraphicsCommandList *, UINT, const D3D12_RESOURCE_BARRIER *);
void WINAPI note_barriers(ID3D12GraphicsCommandList *list, UINT count,
                          const D3D12_RESOURCE_BARRIER *barriers) {
    for (UINT i = 0; i < count; i++) {
        const bool of_all =
            barriers[i].Type == D3D12_RESOURCE_BARRIER_TYPE_UAV && !barriers[i].UAV.pResource;
        told += of_all ? 'B' : '?';
    }
    real_barrier(list, count, barriers);
}

// The dispatches of each operator are followed by a barrier, because the next operator in the list
// may read what this one wrote. The results here do not show whether there is one, as dispatches
// run one after the other.
TEST(D3d12, BarrierBehindEachOperator) {
    Program program;
    const OperatorPtr strided = compile_add(program.hewn.get()),
                      both = compile_add(program.hewn.get(), COUNT - 1);
    const auto buffer =
        make_buffer(program.device.get(), 65536, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
    // Places among the methods of ID3D12GraphicsCommandList.
    constexpr size_t DISPATCH = 14, RESOURCE_BARRIER = 26;
    const Replaced dispatch(program.list.get(), DISPATCH, reinterpret_cast<void *>(note_dispatch)),
        barrier(program.list.get(), RESOURCE_BARRIER, reinterpret_cast<void *>(note_barriers));
    real_dispatch = reinterpret_cast<decltype(real_dispatch)>(dispatch.original());
    real_barrier = reinterpret_cast<decltype(real_barrier)>(barrier.original());
    const auto record_both = [&](uint64_t output) {
        const hewn_buffer_binding inputs[] = {{sizeof *inputs, buffer.get(), 0, 4 * COUNT},
                                              {sizeof *inputs, buffer.get(), 4096, 4 * COUNT}};
        const hewn_buffer_binding bound = {sizeof bound, buffer.get(), output, 4 * COUNT};
        return outcome_of([&](hewn_error *error) {
            return hewn_d3d12_record(both.get(), program.list.get(), inputs, 2, &bound, 1, error);
        });
    };
    const auto expect_told = [&](const char *expected, hewn_status status, const auto &use) {
        told.clear();
        EXPECT_EQ(use().status, status);
        EXPECT_EQ(told, expected);
    };
    expect_told("DB", HEWN_STATUS_OK,
                [&] { return record(strided.get(), program.list.get(), buffer.get()); });
    expect_told("DDB", HEWN_STATUS_OK, [&] { return record_both(8192); });
    expect_told("DDB", HEWN_STATUS_OK, [&] { return record_both(16384); });
    expect_told("", HEWN_STATUS_INVALID_BINDING, [&] { return record_both(8193); });
    expect_told("DB", HEWN_STATUS_OK, [&] { return run_add(strided.get(), buffer.get()); });
    EXPECT_EQ(hewn_synchronize(program.hewn.get(), nullptr), HEWN_STATUS_OK);
}

// If 256 submissions are in flight, the next one waits only for the older half.
TEST(D3d12, SubmitsWhileTheQueueIsBusy) {
    const Program program;
    const auto queue = make_queue(program.device.get(), D3D12_COMMAND_LIST_TYPE_COMPUTE);
    const auto fence = make<ID3D12Fence>([&](const GUID &iid, void **out) {
        return program.device->CreateFence(0, D3D12_FENCE_FLAG_NONE, iid, out);
    });
    DevicePtr device;
    ASSERT_EQ(create_on(program.device.get(), queue.get(), device).status, HEWN_STATUS_OK);
    const OperatorPtr op = compile_add(device.get());
    const auto buffer =
        make_buffer(program.device.get(), 65536, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
    ASSERT_EQ(hewn_synchronize(device.get(), nullptr), HEWN_STATUS_OK);
    for (const UINT64 stop : {1, 2}) {
        ASSERT_EQ(queue->Wait(fence.get(), stop), S_OK);
        for (int i = 0; i < 128; i++)
            ASSERT_EQ(run_add(op.get(), buffer.get()).status, HEWN_STATUS_OK);
    }
    ASSERT_EQ(fence->Signal(1), S_OK);
    auto next =
        std::async(std::launch::async, [&] { return run_add(op.get(), buffer.get()).status; });
    EXPECT_EQ(next.wait_for(std::chrono::minutes(5)), std::future_status::ready)
        << "it waits for what was submitted last";
    ASSERT_EQ(fence->Signal(2), S_OK);
    EXPECT_EQ(next.get(), HEWN_STATUS_OK);
    EXPECT_EQ(hewn_synchronize(device.get(), nullptr), HEWN_STATUS_OK);
}

// Several devices, each with its own pipelines. Operators outlive the handle of their device, and
// threads compile at the same time.
TEST(D3d12, SeveralDevices) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; t++) {
        threads.emplace_back([] {
            Program program;
            const OperatorPtr op = compile_add(program.hewn.get());
            program.hewn.reset();
            const auto buffer = make_buffer(program.device.get(), 65536,
                                            D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
            EXPECT_EQ(record(op.get(), program.list.get(), buffer.get()).status, HEWN_STATUS_OK);
            EXPECT_EQ(program.list->Close(), S_OK);
        });
    }
    for (std::thread &thread : threads) thread.join();
}

uint64_t private_bytes() {
    PROCESS_MEMORY_COUNTERS counters = {};
    counters.cb = sizeof counters;
    GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters);
    return counters.PagefileUsage;
}

// A list's memory is the program's and is freed with the list. So recording into a list again and
// again must not take more and more memory.
TEST(D3d12, RecordingKeepsNoMemory) {
    Program program;
    const OperatorPtr op = compile_add(program.hewn.get());
    const auto buffer =
        make_buffer(program.device.get(), 65536, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
    uint64_t before = 0;
    for (int round = 0; round < 100; round++) {
        if (round == 10) before = private_bytes();
        for (int i = 0; i < 100; i++)
            ASSERT_EQ(record(op.get(), program.list.get(), buffer.get()).status, HEWN_STATUS_OK);
        ASSERT_EQ(program.list->Close(), S_OK);
        ASSERT_EQ(program.allocator->Reset(), S_OK);
        ASSERT_EQ(program.list->Reset(program.allocator.get(), nullptr), S_OK);
    }
    EXPECT_LT(private_bytes(), before + (256 << 10));
}

// More than 65,535 groups take several dispatches. Every element must arrive.
TEST(D3d12, ManyGroups) {
    hewn_device *const device = device_for("add_f32__d3d12");
    // A stride of 2 selects the strided form, whose groups make 256 elements.
    const int64_t size = 65536 * 256 + 77, stride = 2;
    const hewn_tensor_desc packed = {sizeof packed, HEWN_DATA_TYPE_INT8, 1, &size, nullptr,
                                     nullptr};
    const hewn_tensor_desc spread = {sizeof spread, HEWN_DATA_TYPE_INT8, 1, &size, &stride,
                                     nullptr};
    const Description description(HEWN_OPERATOR_ADD, {packed, spread, packed});
    OperatorPtr op;
    ASSERT_EQ(compile(description, nullptr, op, device).status, HEWN_STATUS_OK);
    std::vector<int8_t> a(size), b(2 * size), result(size, 0x55);
    for (int64_t i = 0; i < size; i++) {
        a[i] = int8_t(i * 31 >> 7);
        b[2 * i] = int8_t(i);
    }
    void *memory[3] = {};
    const hewn_buffer_binding inputs[] = {{sizeof *inputs, nullptr, 0, a.size()},
                                          {sizeof *inputs, nullptr, 0, b.size()}};
    hewn_buffer_binding bound[] = {
        inputs[0], inputs[1], {sizeof *bound, nullptr, 0, result.size()}};
    const void *const from[] = {a.data(), b.data(), result.data()};
    for (int t = 0; t < 3; t++) {
        ASSERT_EQ(hewn_allocate(device, bound[t].size, &memory[t], nullptr), HEWN_STATUS_OK);
        ASSERT_EQ(hewn_write(device, memory[t], 0, from[t], bound[t].size, nullptr),
                  HEWN_STATUS_OK);
        bound[t].buffer = memory[t];
    }
    ASSERT_EQ(hewn_execute(op.get(), bound, 2, bound + 2, 1, nullptr, nullptr), HEWN_STATUS_OK);
    ASSERT_EQ(hewn_read(device, memory[2], 0, result.data(), result.size(), nullptr),
              HEWN_STATUS_OK);
    int64_t wrong = 0;
    for (int64_t i = 0; i < size; i++) wrong += result[i] != int8_t(a[i] + b[2 * i]);
    EXPECT_EQ(wrong, 0);
    for (void *each : memory) hewn_deallocate(device, each);
}

// This test is the last one, so that it runs after all tests that run kernels.
TEST(D3d12, ZLoadsNoShaderCompiler) {
    ASSERT_NE(device_for("add_f32__d3d12"), nullptr);
    for (const char *name :
         {"d3dcompiler_47.dll", "d3dcompiler_46.dll", "d3dcompiler_43.dll", "dxcompiler.dll"})
        EXPECT_EQ(GetModuleHandleA(name), nullptr) << name;
}

}  // namespace
}  // namespace hewn_test
