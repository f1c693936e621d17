// The Direct3D 12 device (docs/windows.md). It records into a command list of the program's, or
// into a list of its own, which it then submits. Kernels take only root descriptors and root
// constants, so they need no descriptor heap.
#include <cstdio>
#include <cstring>

#include "../base/error.h"
#include "../base/system.h"
#include "device.h"

#if defined(HEWN_D3D12)  // this build has its kernels

#define INITGUID
// For MinGW's headers: functions return structs as with Microsoft's compilers.
#define WIDL_EXPLICIT_AGGREGATE_RETURNS
#include <d3d12.h>
#include <dxgi1_4.h>

#include "d3d12_queue.h"

namespace hewn {

namespace {

using namespace d3d12;

// ---- Shaders ----

#define HEWN_SHADER(number, module, entry, buffers, constants, ...) \
    const uint8_t code_##number[] = {__VA_ARGS__};
#include "shaders.inc"
#undef HEWN_SHADER

struct Shader {
    const char *module, *entry;  // a kernel's name, and the name of one of its functions
    uint32_t buffers, constants;
    const uint8_t *code;
    size_t bytes;
};
constexpr Shader kShaders[] = {
#define HEWN_SHADER(number, module, entry, buffers, constants, ...) \
    {module, entry, buffers, constants, code_##number, sizeof code_##number},
#include "shaders.inc"
#undef HEWN_SHADER
};
constexpr size_t kShaderCount = sizeof kShaders / sizeof kShaders[0];
constexpr uint32_t kMaxBuffers = 9, kMaxConstants = 64;
constexpr UINT kMaxGroups = 65535;  // in each dimension of a dispatch

// ---- The system's libraries ----

struct Driver {
    PFN_D3D12_CREATE_DEVICE create_device;
    decltype(&D3D12SerializeRootSignature) serialize;
    HRESULT(WINAPI *create_factory)(REFIID, void **);
    const char *absent;  // why there is no driver; null if there is one
};

Driver load_driver() {
    constexpr const char *kNames[] = {"d3d12.dll", nullptr},
                         *kFactoryNames[] = {"dxgi.dll", nullptr};
    Driver driver = {};
    void *const library = open_driver(kNames), *const factory =
                                                   library ? open_driver(kFactoryNames) : nullptr;
    if (!library) driver.absent = "no Direct3D 12: d3d12.dll is not there";
    else if (!factory) driver.absent = "no Direct3D 12: dxgi.dll is not there";
    if (driver.absent) return driver;
    driver.create_device =
        reinterpret_cast<PFN_D3D12_CREATE_DEVICE>(driver_symbol(library, "D3D12CreateDevice"));
    driver.serialize = reinterpret_cast<decltype(&D3D12SerializeRootSignature)>(
        driver_symbol(library, "D3D12SerializeRootSignature"));
    driver.create_factory = reinterpret_cast<HRESULT(WINAPI *)(REFIID, void **)>(
        driver_symbol(factory, "CreateDXGIFactory1"));
    if (!driver.create_device || !driver.serialize || !driver.create_factory)
        driver.absent = "no Direct3D 12: d3d12.dll or dxgi.dll lacks a function";
    return driver;
}

// Returns the driver, which the first call loads.
const Driver &dx() {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static Driver driver;
    pthread_once(&once, [] { driver = load_driver(); });
    return driver;
}

// ---- The device ----

// Whether the object belongs to the device.
bool is_of(ID3D12DeviceChild *object, ID3D12Device *device) {
    ID3D12Device *owner = nullptr;
    if (FAILED(object->GetDevice(IID_ID3D12Device, out(&owner)))) return false;
    owner->Release();
    return owner == device;
}

// A shader's pipeline on a device.
struct Pipeline {
    ID3D12RootSignature *root;
    ID3D12PipelineState *state;
};

struct DxDevice : GpuDevice {
    ID3D12Device *device;
    Pipeline pipelines[kShaderCount];  // made when first compiled, under the base's mutex
    Queue own;                         // what the device submits itself
};

DxDevice &dx_device(GpuDevice &device) { return static_cast<DxDevice &>(device); }

void release(GpuDevice &base) {
    DxDevice &device = dx_device(base);
    device.own.release();
    for (Pipeline &pipeline : device.pipelines) {
        release_object(pipeline.state);
        release_object(pipeline.root);
    }
    release_object(device.device);
}

// Creates a device. It takes a reference to `device` and, if there is one, to `queue`.
hewn_status create(ID3D12Device *device, ID3D12CommandQueue *queue, const Allocator &allocator,
                   hewn_device **result, hewn_error *error) {
    DxDevice *created = allocator.allocate<DxDevice>();
    if (!created) return fail(error, HEWN_STATUS_OUT_OF_MEMORY, "D3D12: no memory for the device");
    created->device = device;
    device->AddRef();
    hewn_status status = created->own.create(device, queue, error);
    if (status != HEWN_STATUS_OK) {
        release(*created);
        allocator.deallocate(created);
        return status;
    }
    status = start_gpu_device(created, hewn_gpu_d3d12, allocator, 0, error);
    if (status == HEWN_STATUS_OK) *result = created;
    return status;
}

hewn_status find_adapter(uint32_t index, IDXGIAdapter1 **adapter, hewn_error *error) {
    if (dx().absent) return fail(error, HEWN_STATUS_NO_DEVICE, "D3D12: %s", dx().absent);
    IDXGIFactory1 *factory = nullptr;
    HRESULT code = dx().create_factory(IID_IDXGIFactory1, out(&factory));
    HEWN_CHECK(checked(code, "CreateDXGIFactory1", error, HEWN_STATUS_NO_DEVICE));
    code = factory->EnumAdapters1(index, adapter);
    factory->Release();
    if (SUCCEEDED(code)) return HEWN_STATUS_OK;
    if (index == 0)
        return fail(error, HEWN_STATUS_NO_DEVICE, "D3D12: the system has no graphics adapter");
    return fail(error, HEWN_STATUS_NO_DEVICE, "D3D12: there is no adapter %u", unsigned(index));
}

hewn_status describe(uint32_t index, hewn_device_info *info, hewn_error *error) {
    IDXGIAdapter1 *adapter = nullptr;
    HEWN_CHECK(find_adapter(index, &adapter, error));
    DXGI_ADAPTER_DESC1 desc = {};
    adapter->GetDesc1(&desc);
    WideCharToMultiByte(CP_UTF8, 0, desc.Description, -1, info->name, sizeof info->name - 1,
                        nullptr, nullptr);
    info->is_cpu = desc.Flags & DXGI_ADAPTER_FLAG_SOFTWARE ? 1 : 0;
    info->memory = desc.DedicatedVideoMemory ? desc.DedicatedVideoMemory : desc.SharedSystemMemory;
    const HRESULT code =
        dx().create_device(adapter, D3D_FEATURE_LEVEL_11_0, IID_ID3D12Device, nullptr);
    if (FAILED(code))
        snprintf(info->missing, sizeof info->missing, "Direct3D 12 (code 0x%08lx)",
                 (unsigned long)code);
    adapter->Release();
    return HEWN_STATUS_OK;
}

hewn_status open(uint32_t index, hewn_device **result, hewn_error *error) {
    IDXGIAdapter1 *adapter = nullptr;
    HEWN_CHECK(find_adapter(index, &adapter, error));
    ID3D12Device *device = nullptr;
    const HRESULT code =
        dx().create_device(adapter, D3D_FEATURE_LEVEL_11_0, IID_ID3D12Device, out(&device));
    adapter->Release();
    HEWN_CHECK(checked(code, "D3D12CreateDevice", error, HEWN_STATUS_NO_DEVICE));
    const hewn_status status = create(device, nullptr, default_device().allocator, result, error);
    device->Release();
    return status;
}

// ---- Memory ----

hewn_status locate(GpuDevice &device, const Problem &problem, const Tensor &tensor,
                   const hewn_buffer_binding &binding, Place *base, hewn_error *error) {
    ID3D12Resource *const resource = static_cast<ID3D12Resource *>(binding.buffer);
    D3D12_RESOURCE_DESC desc = {};
    resource->GetDesc(&desc);
    if (desc.Dimension != D3D12_RESOURCE_DIMENSION_BUFFER)
        return refuse(problem, tensor, error)("the resource is not a buffer");
    if (!(desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS))
        return refuse(problem, tensor, error)(
            "the resource was made without D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS");
    if (!is_of(resource, dx_device(device).device))
        return refuse(problem, tensor, error)("the resource is of another device");
    if (binding.offset > desc.Width || binding.size > desc.Width - binding.offset)
        return refuse(problem, tensor, error)("the binding ends beyond the resource's %llu bytes",
                                              (unsigned long long)desc.Width);
    // Addresses show overlap between placed resources, too.
    *base = {0, resource->GetGPUVirtualAddress()};
    return HEWN_STATUS_OK;
}

// A root descriptor can begin at any multiple of 16 bytes. Each operand has one of its own, so that
// its indices begin near 0 whatever its offset is.
int view(GpuCall &, GpuTensor *tensors, int count) {
    for (int t = 0; t < count; t++) {
        Place &at = tensors[t].at;
        at = {at.memory + (at.address & ~uint64_t(15)), at.address & 15};
    }
    return 0;
}

hewn_status allocate(GpuDevice &device, uint64_t bytes, void **memory, hewn_error *error) {
    ID3D12Resource *resource = nullptr;
    if (bytes > UINT64_MAX - 15)
        return fail(error, HEWN_STATUS_OUT_OF_MEMORY, "D3D12: no memory of %llu bytes",
                    (unsigned long long)bytes);
    const HRESULT code = create_buffer(dx_device(device).device, D3D12_HEAP_TYPE_DEFAULT,
                                       (bytes + 15) & ~uint64_t(15), &resource);
    *memory = resource;
    return checked(code, "ID3D12Device::CreateCommittedResource", error);
}
void deallocate(GpuDevice &base, void *memory) {
    if (!memory) return;
    dx_device(base).own.synchronize(nullptr);
    static_cast<ID3D12Resource *>(memory)->Release();
}

hewn_status write(GpuDevice &device, void *memory, uint64_t offset, const void *from,
                  uint64_t bytes, hewn_error *error) {
    return dx_device(device).own.write(static_cast<ID3D12Resource *>(memory), offset, from, bytes,
                                       error);
}
hewn_status read(GpuDevice &device, void *memory, uint64_t offset, void *to, uint64_t bytes,
                 hewn_error *error) {
    return dx_device(device).own.read(static_cast<ID3D12Resource *>(memory), offset, to, bytes,
                                      error);
}
hewn_status synchronize(GpuDevice &device, hewn_error *error) {
    return dx_device(device).own.synchronize(error);
}

// ---- Kernels ----

// Finds the shaders of a kernel. `name` is the kernel's name, which stands where Halide had put the
// HLSL (cmake/NameShader.cmake).
hewn_status load(GpuDevice &, const char *name, size_t, void **module, hewn_error *error) {
    for (const Shader &shader : kShaders) {
        if (strcmp(shader.module, name) != 0) continue;
        *module = const_cast<Shader *>(&shader);  // the first shader of the module
        return HEWN_STATUS_OK;
    }
    return fail(error, HEWN_STATUS_KERNEL_FAILED,
                "D3D12: this build has no shader for the kernel %s", name);
}
void unload(GpuDevice &, void *) {}

hewn_status create_pipeline(DxDevice &device, const Shader &shader, Pipeline &pipeline,
                            hewn_error *error) {
    D3D12_ROOT_PARAMETER parameters[kMaxBuffers + 1] = {};
    for (uint32_t b = 0; b < shader.buffers; b++) {
        parameters[b].ParameterType = D3D12_ROOT_PARAMETER_TYPE_UAV;
        parameters[b].Descriptor.ShaderRegister = b;
    }
    parameters[shader.buffers].ParameterType = D3D12_ROOT_PARAMETER_TYPE_32BIT_CONSTANTS;
    parameters[shader.buffers].Constants.Num32BitValues = shader.constants;
    const D3D12_ROOT_SIGNATURE_DESC desc = {shader.buffers + 1, parameters, 0, nullptr,
                                            D3D12_ROOT_SIGNATURE_FLAG_NONE};
    ID3DBlob *blob = nullptr, *messages = nullptr;
    HRESULT code = dx().serialize(&desc, D3D_ROOT_SIGNATURE_VERSION_1, &blob, &messages);
    release_object(messages);
    HEWN_CHECK(checked(code, "D3D12SerializeRootSignature", error));
    code = device.device->CreateRootSignature(0, blob->GetBufferPointer(), blob->GetBufferSize(),
                                              IID_ID3D12RootSignature, out(&pipeline.root));
    blob->Release();
    HEWN_CHECK(checked(code, "ID3D12Device::CreateRootSignature", error));
    D3D12_COMPUTE_PIPELINE_STATE_DESC state = {};
    state.pRootSignature = pipeline.root;
    state.CS = {shader.code, shader.bytes};
    code = device.device->CreateComputePipelineState(&state, IID_ID3D12PipelineState,
                                                     out(&pipeline.state));
    if (SUCCEEDED(code)) return HEWN_STATUS_OK;
    release_object(pipeline.root);
    return checked(code, "ID3D12Device::CreateComputePipelineState", error);
}

hewn_status find(GpuDevice &base, void *module, const char *entry, void **result,
                 hewn_error *error) {
    DxDevice &device = dx_device(base);
    const Shader *shader = static_cast<const Shader *>(module), *const end =
                                                                    kShaders + kShaderCount;
    const char *const name = shader->module;
    const auto same_module = [&] { return shader < end && strcmp(shader->module, name) == 0; };
    while (same_module() && strcmp(shader->entry, entry) != 0) shader++;
    if (!same_module())
        return fail(error, HEWN_STATUS_KERNEL_FAILED, "D3D12: the kernel %s has no shader %s", name,
                    entry);
    if (shader->buffers > kMaxBuffers || shader->constants > kMaxConstants)
        return fail(error, HEWN_STATUS_KERNEL_FAILED, "D3D12: the shader %s has too many arguments",
                    entry);
    pthread_mutex_lock(&device.mutex);
    Pipeline &pipeline = device.pipelines[shader - kShaders];
    const hewn_status status = pipeline.state ? hewn_status(HEWN_STATUS_OK)
                                              : create_pipeline(device, *shader, pipeline, error);
    pthread_mutex_unlock(&device.mutex);
    *result = const_cast<Shader *>(shader);
    return status;
}
void drop(GpuDevice &, void *) {}  // pipelines belong to the device

int launch(GpuCall &call, void *function, const GpuLaunch &launch) {
    const Shader &shader = *static_cast<const Shader *>(function);
    const Pipeline &pipeline = dx_device(call.device).pipelines[&shader - kShaders];
    ID3D12GraphicsCommandList *const list = static_cast<ID3D12GraphicsCommandList *>(call.list);
    uint64_t buffers[kMaxBuffers];
    uint32_t constants[kMaxConstants], buffer_count = 0, constant_count = 0;
    for (size_t a = 0; launch.argument_bytes[a]; a++) {
        if (launch.is_buffer[a]) {
            if (buffer_count < kMaxBuffers)
                buffers[buffer_count] =
                    static_cast<const halide_buffer_t *>(launch.arguments[a])->device;
            buffer_count++;
        } else {
            if (constant_count < kMaxConstants) {
                constants[constant_count] = 0;
                memcpy(&constants[constant_count], launch.arguments[a], launch.argument_bytes[a]);
            }
            constant_count++;
        }
    }
    const UINT base = constant_count++;  // the constant for the number of the first group
    if (buffer_count != shader.buffers || constant_count != shader.constants)
        return call.failed(HEWN_STATUS_KERNEL_FAILED,
                           "D3D12: the arguments of %s are not its shader's", shader.entry);
    list->SetComputeRootSignature(pipeline.root);
    list->SetPipelineState(pipeline.state);
    for (uint32_t b = 0; b < buffer_count; b++)
        list->SetComputeRootUnorderedAccessView(b, buffers[b]);
    for (size_t first = 0; first < launch.blocks[0]; first += kMaxGroups) {
        constants[base] = uint32_t(first);
        list->SetComputeRoot32BitConstants(buffer_count, constant_count, constants, 0);
        const size_t rest = launch.blocks[0] - first;
        list->Dispatch(UINT(rest < kMaxGroups ? rest : kMaxGroups), UINT(launch.blocks[1]),
                       UINT(launch.blocks[2]));
    }
    return 0;
}

// ---- Lists ----

hewn_status begin(GpuDevice &device, void **list, hewn_error *error) {
    ID3D12GraphicsCommandList *own = nullptr;
    const hewn_status status = dx_device(device).own.begin(&own, error);
    *list = own;
    return status;
}
hewn_status submit(GpuDevice &device, hewn_error *error) {
    return dx_device(device).own.submit(error);
}

void barrier(GpuCall &call) {
    D3D12_RESOURCE_BARRIER of_all = {};
    of_all.Type = D3D12_RESOURCE_BARRIER_TYPE_UAV;
    static_cast<ID3D12GraphicsCommandList *>(call.list)->ResourceBarrier(1, &of_all);
}

}  // namespace

constexpr GpuApi hewn_gpu_d3d12 = [] {
    GpuApi api = {};
    api.kind = HEWN_DEVICE_D3D12;
    api.offsets = true;
    api.only_32_bits = true;
    // The least number of elements that a buffer's view is sure to allow.
    api.index_limit = int64_t(1) << 27;
    HEWN_SET_GPU_FUNCTIONS(api);
    api.view = view;
    api.begin = begin;
    api.submit = submit;
    api.barrier = barrier;
    return api;
}();

}  // namespace hewn

using namespace hewn;

HEWN_HALIDE_GPU_FUNCTIONS(d3d12compute)

extern "C" int halide_d3d12compute_run(void *context, void *, const char *entry, int blocks_x,
                                       int blocks_y, int blocks_z, int threads_x, int threads_y,
                                       int threads_z, int, halide_type_t types[], void *arguments[],
                                       int8_t is_buffer[]) {
    size_t argument_bytes[kMaxBuffers + kMaxConstants + 1] = {};
    for (size_t a = 0; arguments[a] && a < kMaxBuffers + kMaxConstants; a++)
        argument_bytes[a] = is_buffer[a] ? 8 : types[a].bytes();
    return gpu_run(context, entry, {blocks_x, blocks_y, blocks_z},
                   {threads_x, threads_y, threads_z}, 0, argument_bytes, arguments, is_buffer);
}

hewn_status hewn_create_d3d12_device(const hewn_d3d12_device_desc *desc, hewn_device **device,
                                     hewn_error *error) {
    Allocator allocator;
    HEWN_CHECK(read_device_desc(desc, device, HEWN_DEVICE_D3D12, &allocator, error));
    if (!desc->device)
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "hewn_d3d12_device_desc: device is null");
    if (dx().absent) return fail(error, HEWN_STATUS_NO_DEVICE, "D3D12: %s", dx().absent);
    ID3D12Device *const on = static_cast<ID3D12Device *>(desc->device);
    ID3D12CommandQueue *const queue = static_cast<ID3D12CommandQueue *>(desc->queue);
    if (queue) {
        D3D12_COMMAND_QUEUE_DESC found = {};
        queue->GetDesc(&found);
        if (found.Type != D3D12_COMMAND_LIST_TYPE_COMPUTE &&
            found.Type != D3D12_COMMAND_LIST_TYPE_DIRECT)
            return fail(error, HEWN_STATUS_INVALID_ARGUMENT,
                        "hewn_d3d12_device_desc: queue is neither of type DIRECT nor COMPUTE");
        if (!is_of(queue, on))
            return fail(error, HEWN_STATUS_INVALID_ARGUMENT,
                        "hewn_d3d12_device_desc: queue is of another device");
    }
    return create(on, queue, allocator, device, error);
}

#else  // another system, or a build without the target

namespace hewn {

namespace {
hewn_status absent(hewn_error *error) {
#if defined(_WIN32)
    return fail(error, HEWN_STATUS_NO_DEVICE, "D3D12: this build of hewn has no kernels for it");
#else
    return fail(error, HEWN_STATUS_NO_DEVICE, "D3D12: it is a part of Windows");
#endif
}
hewn_status describe(uint32_t, hewn_device_info *, hewn_error *error) { return absent(error); }
}  // namespace

constexpr GpuApi hewn_gpu_d3d12 = [] {
    GpuApi api = {};
    api.kind = HEWN_DEVICE_D3D12;
    api.describe = describe;
    return api;
}();

}  // namespace hewn

hewn_status hewn_create_d3d12_device(const hewn_d3d12_device_desc *, hewn_device **,
                                     hewn_error *error) {
    return hewn::absent(error);
}

#endif
