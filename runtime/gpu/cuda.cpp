// The CUDA device: the functions and objects of the driver, and the functions that generated code
// calls for CUDA.
#include <cstdio>
#include <cstring>

#include "../base/error.h"
#include "../base/system.h"
#include "device.h"

namespace hewn {

namespace {

// ---- The driver, declared here: building hewn needs no CUDA toolkit ----

#if defined(_WIN32)
#define HEWN_CU __stdcall
#else
#define HEWN_CU
#endif

using Handle = struct CuObject *;  // a CUcontext, CUstream, CUmodule or CUfunction
using Pointer = uint64_t;          // a CUdeviceptr
using Result = int32_t;

constexpr Result kOutOfMemory = 2, kNoDevice = 100, kInvalidPtx = 218, kUnsupportedPtxVersion = 222,
                 kJitCompilerNotFound = 221, kSystemDriverMismatch = 803;
enum : int {
    kCapabilityMajor = 75,
    kCapabilityMinor = 76,
    kPageableMemoryAccess = 88,
    kJitErrorLogBuffer = 5,
    kJitErrorLogBytes = 6,
    kPointerMemoryType = 2,
};

#define HEWN_CU_FUNCTIONS(F) \
    F(Init, , (unsigned)) \
    F(GetErrorName, , (Result, const char **)) \
    F(DeviceGetCount, , (int *)) \
    F(DeviceGet, , (int *, int)) \
    F(DeviceGetName, , (char *, int, int)) \
    F(DeviceTotalMem, _v2, (size_t *, int)) \
    F(DeviceGetAttribute, , (int *, int, int)) \
    F(DevicePrimaryCtxRetain, , (Handle *, int)) \
    F(DevicePrimaryCtxRelease, _v2, (int)) \
    F(CtxGetCurrent, , (Handle *)) \
    F(CtxPushCurrent, _v2, (Handle)) \
    F(CtxPopCurrent, _v2, (Handle *)) \
    F(CtxGetDevice, , (int *)) \
    F(ModuleLoadDataEx, , (Handle *, const void *, unsigned, const int *, void **)) \
    F(ModuleUnload, , (Handle)) \
    F(ModuleGetFunction, , (Handle *, Handle, const char *)) \
    F(LaunchKernel, , \
      (Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, \
       void **, void **)) \
    F(MemAlloc, _v2, (Pointer *, size_t)) \
    F(MemFree, _v2, (Pointer)) \
    F(MemcpyHtoDAsync, _v2, (Pointer, const void *, size_t, Handle)) \
    F(MemcpyDtoHAsync, _v2, (void *, Pointer, size_t, Handle)) \
    F(StreamSynchronize, , (Handle)) \
    F(PointerGetAttribute, , (void *, int, Pointer))

struct Driver {
#define HEWN_CU_MEMBER(member, suffix, arguments) Result(HEWN_CU *member) arguments;
    HEWN_CU_FUNCTIONS(HEWN_CU_MEMBER)
#undef HEWN_CU_MEMBER
    char absent[96];  // why there is no driver; empty if there is one
};

const char *name_of(const Driver &driver, Result code) {
    const char *name = nullptr;
    return driver.GetErrorName && driver.GetErrorName(code, &name) == 0 && name
               ? name
               : "an unknown error";
}

void load_driver(Driver &driver) {
#if defined(_WIN32)
    constexpr const char *kNames[] = {"nvcuda.dll", nullptr};
#else
    constexpr const char *kNames[] = {"libcuda.so.1", nullptr};
#endif
    void *library = open_driver(kNames);
    if (!library) {
        snprintf(driver.absent, sizeof driver.absent, "no CUDA driver: %s is not there", kNames[0]);
        return;
    }
#define HEWN_CU_LOAD(member, suffix, arguments) \
    driver.member = reinterpret_cast<Result(HEWN_CU *) arguments>( \
        driver_symbol(library, "cu" #member #suffix)); \
    if (!driver.member) \
        snprintf(driver.absent, sizeof driver.absent, \
                 "the CUDA driver is too old: it lacks cu" #member #suffix);
    HEWN_CU_FUNCTIONS(HEWN_CU_LOAD)
#undef HEWN_CU_LOAD
    if (driver.absent[0]) return;
    if (const Result code = driver.Init(0)) {
        snprintf(driver.absent, sizeof driver.absent, "cuInit failed: %s%s", name_of(driver, code),
                 code == kNoDevice               ? ", no device"
                 : code == kSystemDriverMismatch ? ", driver and kernel module differ"
                                                 : "");
    }
}

// Returns the driver, which the first call loads.
const Driver &cu() {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static Driver driver;
    pthread_once(&once, [] { load_driver(driver); });
    return driver;
}

// ---- Errors ----

hewn_status status_of(Result code) {
    return code == kOutOfMemory ? HEWN_STATUS_OUT_OF_MEMORY : HEWN_STATUS_DEVICE_FAILED;
}

hewn_status checked(Result code, const char *what, hewn_error *error) {
    if (code == 0) return HEWN_STATUS_OK;
    return fail(error, status_of(code), "CUDA: %s failed: %s", what, name_of(cu(), code));
}

// ---- The device ----

struct CuDevice : GpuDevice {
    Handle context, stream;
    int ordinal;
    bool owns_context;  // the context is the device's primary one, retained
    // Whether kernels can access any memory of the program, without registration.
    bool reaches_any_memory;
};

CuDevice &cu_device(GpuDevice &device) { return static_cast<CuDevice &>(device); }

hewn_status enter(GpuDevice &device, hewn_error *error) {
    return checked(cu().CtxPushCurrent(cu_device(device).context), "cuCtxPushCurrent", error);
}
void leave(GpuDevice &) {
    Handle context = nullptr;
    cu().CtxPopCurrent(&context);
}

void release(GpuDevice &device) {
    if (cu_device(device).owns_context) cu().DevicePrimaryCtxRelease(cu_device(device).ordinal);
}

int attribute(int device, int what) {
    int value = 0;
    return cu().DeviceGetAttribute(&value, what, device) ? 0 : value;
}

int32_t capability_of(int device) {
    return attribute(device, kCapabilityMajor) * 10 + attribute(device, kCapabilityMinor);
}

// Returns what a device of that capability lacks for every kernel of this build; null if nothing.
const char *missing(int32_t capability) {
    const Target *least = least_target(HEWN_DEVICE_CUDA);
    return least && capability < least->capability ? least->capability_name : nullptr;
}

// Creates a device. `owned` is the ordinal whose primary context was retained for the device; the
// context is released with the device, or if this fails. -1: the context is the caller's.
hewn_status create(Handle context, Handle stream, int owned, const Allocator &allocator,
                   hewn_device **result, hewn_error *error) {
    const auto given_up = [&](hewn_status status) {
        if (owned >= 0) cu().DevicePrimaryCtxRelease(owned);
        return status;
    };
    int ordinal = 0;
    Result code = cu().CtxPushCurrent(context);
    if (code) {
        return given_up(fail(error, HEWN_STATUS_INVALID_ARGUMENT,
                             "hewn_cuda_device_desc: context is no context: %s",
                             name_of(cu(), code)));
    }
    code = cu().CtxGetDevice(&ordinal);
    Handle popped = nullptr;
    cu().CtxPopCurrent(&popped);
    if (code) return given_up(checked(code, "cuCtxGetDevice", error));
    const int32_t capability = capability_of(ordinal);
    if (const char *lacks = missing(capability)) {
        return given_up(fail(error, HEWN_STATUS_NO_DEVICE,
                             "CUDA: the device has compute capability %d.%d, hewn needs %s",
                             int(capability / 10), int(capability % 10), lacks));
    }
    CuDevice *device = allocator.allocate<CuDevice>();
    if (!device)
        return given_up(fail(error, HEWN_STATUS_OUT_OF_MEMORY, "CUDA: no memory for the device"));
    device->context = context;
    device->stream = stream;
    device->ordinal = ordinal;
    device->owns_context = owned >= 0;
    device->reaches_any_memory = attribute(ordinal, kPageableMemoryAccess) != 0;
    const hewn_status status =
        start_gpu_device(device, hewn_gpu_cuda, allocator, capability, error);
    if (status == HEWN_STATUS_OK) *result = device;
    return status;
}

hewn_status find_device(uint32_t index, int *ordinal, hewn_error *error) {
    if (cu().absent[0]) return fail(error, HEWN_STATUS_NO_DEVICE, "CUDA: %s", cu().absent);
    int count = 0;
    HEWN_CHECK(checked(cu().DeviceGetCount(&count), "cuDeviceGetCount", error));
    if (count == 0) return fail(error, HEWN_STATUS_NO_DEVICE, "CUDA: the driver has no device");
    if (index >= uint32_t(count))
        return fail(error, HEWN_STATUS_NO_DEVICE, "CUDA: there is no device %u, the driver has %d",
                    unsigned(index), count);
    return checked(cu().DeviceGet(ordinal, int(index)), "cuDeviceGet", error);
}

hewn_status describe(uint32_t index, hewn_device_info *info, hewn_error *error) {
    int ordinal = 0;
    HEWN_CHECK(find_device(index, &ordinal, error));
    if (cu().DeviceGetName(info->name, sizeof info->name, ordinal)) info->name[0] = 0;
    size_t bytes = 0;
    info->memory = cu().DeviceTotalMem(&bytes, ordinal) ? 0 : bytes;
    info->capability = capability_of(ordinal);
    if (const char *lacks = missing(info->capability))
        snprintf(info->missing, sizeof info->missing, "%s", lacks);
    return HEWN_STATUS_OK;
}

hewn_status open(uint32_t index, hewn_device **result, hewn_error *error) {
    int ordinal = 0;
    HEWN_CHECK(find_device(index, &ordinal, error));
    Handle context = nullptr;
    HEWN_CHECK(
        checked(cu().DevicePrimaryCtxRetain(&context, ordinal), "cuDevicePrimaryCtxRetain", error));
    return create(context, nullptr, ordinal, default_device().allocator, result, error);
}

// ---- Memory ----

hewn_status locate(GpuDevice &device, const Problem &problem, const Tensor &tensor,
                   const hewn_buffer_binding &binding, Place *base, hewn_error *error) {
    *base = {0, reinterpret_cast<uintptr_t>(binding.buffer)};
    unsigned type = 0;
    if (!cu_device(device).reaches_any_memory &&
        cu().PointerGetAttribute(&type, kPointerMemoryType, base->address))
        return refuse(problem, tensor, error)("the binding's buffer is not memory that CUDA knows");
    return HEWN_STATUS_OK;
}

hewn_status allocate(GpuDevice &, uint64_t bytes, void **memory, hewn_error *error) {
    Pointer pointer = 0;
    const Result code = cu().MemAlloc(&pointer, size_t(bytes));
    *memory = reinterpret_cast<void *>(uintptr_t(pointer));
    return checked(code, "cuMemAlloc", error);
}
void deallocate(GpuDevice &, void *memory) { cu().MemFree(reinterpret_cast<uintptr_t>(memory)); }

hewn_status synchronize(GpuDevice &device, hewn_error *error) {
    return checked(cu().StreamSynchronize(cu_device(device).stream), "cuStreamSynchronize", error);
}
hewn_status write(GpuDevice &device, void *memory, uint64_t offset, const void *from,
                  uint64_t bytes, hewn_error *error) {
    const Result code = cu().MemcpyHtoDAsync(reinterpret_cast<uintptr_t>(memory) + offset, from,
                                             size_t(bytes), cu_device(device).stream);
    HEWN_CHECK(checked(code, "cuMemcpyHtoDAsync", error));
    return synchronize(device, error);
}
hewn_status read(GpuDevice &device, void *memory, uint64_t offset, void *to, uint64_t bytes,
                 hewn_error *error) {
    const Result code = cu().MemcpyDtoHAsync(to, reinterpret_cast<uintptr_t>(memory) + offset,
                                             size_t(bytes), cu_device(device).stream);
    HEWN_CHECK(checked(code, "cuMemcpyDtoHAsync", error));
    return synchronize(device, error);
}

// ---- Kernels ----

hewn_status load(GpuDevice &, const char *source, size_t, void **module, hewn_error *error) {
    char log[128] = {};
    const int options[] = {kJitErrorLogBuffer, kJitErrorLogBytes};
    void *values[] = {log, reinterpret_cast<void *>(sizeof log - 1)};
    Handle loaded = nullptr;
    const Result code = cu().ModuleLoadDataEx(&loaded, source, 2, options, values);
    *module = loaded;
    if (code == 0) return HEWN_STATUS_OK;
    join_lines(log);
    const bool old =
        code == kUnsupportedPtxVersion || code == kJitCompilerNotFound || code == kInvalidPtx;
    return fail(error, old ? hewn_status(HEWN_STATUS_NO_DEVICE) : status_of(code),
                "CUDA: cuModuleLoadDataEx failed: %s%s %s", name_of(cu(), code),
                code == kUnsupportedPtxVersion ? ", the driver is too old" : "", log);
}
void unload(GpuDevice &, void *module) { cu().ModuleUnload(static_cast<Handle>(module)); }

hewn_status find(GpuDevice &, void *module, const char *entry, void **result, hewn_error *error) {
    Handle function = nullptr;
    const Result code = cu().ModuleGetFunction(&function, static_cast<Handle>(module), entry);
    *result = function;
    return checked(code, "cuModuleGetFunction", error);
}
void drop(GpuDevice &, void *) {}  // a function belongs to its module

int launch(GpuCall &call, void *function, const GpuLaunch &launch) {
    constexpr size_t kMost = 64;
    Pointer pointers[kMost];
    void *arguments[kMost];
    for (size_t a = 0; launch.argument_bytes[a]; a++) {
        if (a == kMost)
            return call.failed(HEWN_STATUS_KERNEL_FAILED,
                               "CUDA: a kernel of more than 64 arguments");
        arguments[a] = launch.arguments[a];
        if (!launch.is_buffer[a]) continue;
        pointers[a] = static_cast<const halide_buffer_t *>(launch.arguments[a])->device;
        arguments[a] = &pointers[a];
    }
    const auto n = [](size_t size) { return unsigned(size); };
    const Result code = cu().LaunchKernel(
        static_cast<Handle>(function), n(launch.blocks[0]), n(launch.blocks[1]),
        n(launch.blocks[2]), n(launch.threads[0]), n(launch.threads[1]), n(launch.threads[2]),
        n(launch.shared_bytes), cu_device(call.device).stream, arguments, nullptr);
    return code ? call.failed(status_of(code), "CUDA: cuLaunchKernel failed: %s",
                              name_of(cu(), code))
                : 0;
}

}  // namespace

constexpr GpuApi hewn_gpu_cuda = [] {
    GpuApi api = {};
    api.kind = HEWN_DEVICE_CUDA;
    api.index_limit = kGpuIndexLimit;
    api.enter = enter;
    api.leave = leave;
    HEWN_SET_GPU_FUNCTIONS(api);
    return api;
}();

}  // namespace hewn

using namespace hewn;

HEWN_HALIDE_GPU_FUNCTIONS(cuda)
HEWN_HALIDE_GPU_RUN(cuda)

hewn_status hewn_create_cuda_device(const hewn_cuda_device_desc *desc, hewn_device **device,
                                    hewn_error *error) {
    Allocator allocator;
    HEWN_CHECK(read_device_desc(desc, device, HEWN_DEVICE_CUDA, &allocator, error));
    if (cu().absent[0]) return fail(error, HEWN_STATUS_NO_DEVICE, "CUDA: %s", cu().absent);
    Handle context = static_cast<Handle>(desc->context);
    if (!context) cu().CtxGetCurrent(&context);
    if (!context)
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT,
                    "hewn_cuda_device_desc: context is null and the thread has no current one");
    return create(context, static_cast<Handle>(desc->stream), -1, allocator, device, error);
}
