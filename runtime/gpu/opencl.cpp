// The OpenCL device: the functions and objects of the driver, and the functions that generated code
// calls for OpenCL.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "../base/error.h"
#include "../base/system.h"
#include "device.h"
#include "views.h"

namespace hewn {

namespace {

// ---- The driver, declared here: building hewn needs no OpenCL headers ----

#if defined(_WIN32)
#define HEWN_CL __stdcall
#else
#define HEWN_CL
#endif

using Handle = struct ClObject *;  // any cl_* object
using cl_int = int32_t;
using cl_uint = uint32_t;
using cl_bits = uint64_t;

enum : cl_uint {
    kDeviceTypeAll = 0xffffffff,
    kDeviceTypeGpu = 4,
    kDeviceType = 0x1000,
    kDeviceSingleFpConfig = 0x101b,
    kDeviceGlobalMemSize = 0x101f,
    kDeviceEndianLittle = 0x1026,
    kDeviceMemBaseAddrAlign = 0x1019,
    kDeviceMaxWorkGroupSize = 0x1004,
    kDeviceName = 0x102b,
    kDeviceAddressBits = 0x100d,
    kQueueContext = 0x1090,
    kQueueDevice = 0x1091,
    kQueueProperties = 0x1093,
    kMemType = 0x1100,
    kMemTypeBuffer = 0x10f0,
    kMemSize = 0x1102,
    kMemContext = 0x1106,
    kMemAssociated = 0x1107,
    kMemOffset = 0x1108,
    kProgramBuildLog = 0x1183,
    kMemReadWrite = 1,
    kBufferRegion = 0x1220,
    kFpDenorm = 1,
    kFpRoundToNearest = 4,
    kQueueOutOfOrder = 1,
};
constexpr cl_int kOutOfResources = -5, kOutOfHostMemory = -6, kMemAllocationFailure = -4,
                 kPlatformNotFound = -1001, kInvalidBufferSize = -61;

using Notify = void(HEWN_CL *)(const char *, const void *, size_t, void *);

#define HEWN_CL_FUNCTIONS(F) \
    F(cl_int, GetPlatformIDs, (cl_uint, Handle *, cl_uint *)) \
    F(cl_int, GetDeviceIDs, (Handle, cl_bits, cl_uint, Handle *, cl_uint *)) \
    F(cl_int, GetDeviceInfo, (Handle, cl_uint, size_t, void *, size_t *)) \
    F(Handle, CreateContext, \
      (const intptr_t *, cl_uint, const Handle *, Notify, void *, cl_int *)) \
    F(cl_int, RetainContext, (Handle)) \
    F(cl_int, ReleaseContext, (Handle)) \
    F(Handle, CreateCommandQueue, (Handle, Handle, cl_bits, cl_int *)) \
    F(cl_int, RetainCommandQueue, (Handle)) \
    F(cl_int, ReleaseCommandQueue, (Handle)) \
    F(cl_int, GetCommandQueueInfo, (Handle, cl_uint, size_t, void *, size_t *)) \
    F(Handle, CreateBuffer, (Handle, cl_bits, size_t, void *, cl_int *)) \
    F(Handle, CreateSubBuffer, (Handle, cl_bits, cl_uint, const void *, cl_int *)) \
    F(cl_int, ReleaseMemObject, (Handle)) \
    F(cl_int, GetMemObjectInfo, (Handle, cl_uint, size_t, void *, size_t *)) \
    F(Handle, CreateProgramWithSource, (Handle, cl_uint, const char **, const size_t *, cl_int *)) \
    F(cl_int, BuildProgram, (Handle, cl_uint, const Handle *, const char *, Notify, void *)) \
    F(cl_int, GetProgramBuildInfo, (Handle, Handle, cl_uint, size_t, void *, size_t *)) \
    F(cl_int, ReleaseProgram, (Handle)) \
    F(Handle, CreateKernel, (Handle, const char *, cl_int *)) \
    F(cl_int, ReleaseKernel, (Handle)) \
    F(cl_int, SetKernelArg, (Handle, cl_uint, size_t, const void *)) \
    F(cl_int, EnqueueNDRangeKernel, \
      (Handle, Handle, cl_uint, const size_t *, const size_t *, const size_t *, cl_uint, \
       const Handle *, Handle *)) \
    F(cl_int, EnqueueWriteBuffer, \
      (Handle, Handle, cl_uint, size_t, size_t, const void *, cl_uint, const Handle *, Handle *)) \
    F(cl_int, EnqueueReadBuffer, \
      (Handle, Handle, cl_uint, size_t, size_t, void *, cl_uint, const Handle *, Handle *)) \
    F(cl_int, Finish, (Handle))

struct Driver {
#define HEWN_CL_MEMBER(result, name, arguments) result(HEWN_CL *name) arguments;
    HEWN_CL_FUNCTIONS(HEWN_CL_MEMBER)
#undef HEWN_CL_MEMBER
    const char *absent;  // why there is no driver; null if there is one
};

Driver load_driver() {
    Driver driver = {};
#if defined(_WIN32)
    constexpr const char *kNames[] = {"OpenCL.dll", nullptr};
    driver.absent = "no OpenCL driver: OpenCL.dll is not there";
#else
    constexpr const char *kNames[] = {"libOpenCL.so.1", "libOpenCL.so", nullptr};
    driver.absent = "no OpenCL driver: libOpenCL.so.1 is not there";
#endif
    void *library = open_driver(kNames);
    if (!library) return driver;
    driver.absent = nullptr;
#define HEWN_CL_LOAD(result, name, arguments) \
    driver.name = \
        reinterpret_cast<result(HEWN_CL *) arguments>(driver_symbol(library, "cl" #name)); \
    if (!driver.name) driver.absent = "the OpenCL driver is too old: it lacks cl" #name;
    HEWN_CL_FUNCTIONS(HEWN_CL_LOAD)
#undef HEWN_CL_LOAD
    return driver;
}

// Returns the driver, which the first call loads.
const Driver &cl() {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static Driver driver;
    pthread_once(&once, [] { driver = load_driver(); });
    return driver;
}

// ---- Errors ----

hewn_status status_of(cl_int code) {
    switch (code) {
    case kMemAllocationFailure:
    case kOutOfHostMemory:
    case kOutOfResources:
    case kInvalidBufferSize: return HEWN_STATUS_OUT_OF_MEMORY;
    default: return HEWN_STATUS_DEVICE_FAILED;
    }
}

hewn_status checked(cl_int code, const char *what, hewn_error *error) {
    if (code == 0) return HEWN_STATUS_OK;
    const hewn_status status = status_of(code);
    return fail(error, status, "OpenCL: %s failed with code %d%s", what, int(code),
                status == HEWN_STATUS_OUT_OF_MEMORY ? ": out of memory" : "");
}

// ---- The device ----

struct ClDevice : GpuDevice {
    Handle context, queue, device;
    // The alignment of a sub-buffer's origin, in bytes.
    uint64_t view_alignment;
};

ClDevice &cl_device(GpuDevice &device) { return static_cast<ClDevice &>(device); }

// A kernel. Its arguments belong to the object, so a mutex makes setting them and enqueueing the
// kernel one step.
struct ClFunction {
    Handle kernel;
    pthread_mutex_t mutex;
};

void release(GpuDevice &device) {
    cl().ReleaseCommandQueue(cl_device(device).queue);
    cl().ReleaseContext(cl_device(device).context);
}

// Takes the references that `release` gives back, or none if it fails.
hewn_status retain(Handle context, Handle queue, hewn_error *error) {
    HEWN_CHECK(checked(cl().RetainContext(context), "clRetainContext", error));
    const cl_int code = cl().RetainCommandQueue(queue);
    if (code) cl().ReleaseContext(context);
    return checked(code, "clRetainCommandQueue", error);
}

template<class T>
T device_value(Handle device, cl_uint what) {
    T value{};
    return cl().GetDeviceInfo(device, what, sizeof value, &value, nullptr) ? T{} : value;
}

// Returns what the device lacks to give the bits of docs/numerics.md; null if nothing.
const char *missing(Handle device) {
    const cl_bits floats = device_value<cl_bits>(device, kDeviceSingleFpConfig);
    if (!(floats & kFpDenorm)) return "subnormal f32 numbers (CL_FP_DENORM)";
    if (!(floats & kFpRoundToNearest)) return "rounding to nearest (CL_FP_ROUND_TO_NEAREST)";
    if (!device_value<cl_uint>(device, kDeviceEndianLittle)) return "little-endian memory";
    if (device_value<cl_uint>(device, kDeviceAddressBits) != 64) return "64-bit addresses";
    if (device_value<size_t>(device, kDeviceMaxWorkGroupSize) < 256) return "work-groups of 256";
    return nullptr;
}

hewn_status create(Handle context, Handle queue, const Allocator &allocator, hewn_device **result,
                   hewn_error *error) {
    Handle of_queue = nullptr, id = nullptr;
    cl_bits properties = 0;
    cl_int code = 0;
    const auto get = [&](cl_uint what, auto &value) {
        if (code == 0) code = cl().GetCommandQueueInfo(queue, what, sizeof value, &value, nullptr);
    };
    get(kQueueContext, of_queue);
    get(kQueueDevice, id);
    get(kQueueProperties, properties);
    if (code)
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT,
                    "hewn_opencl_device_desc: queue is no command queue (code %d)", int(code));
    if (of_queue != context)
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT,
                    "hewn_opencl_device_desc: queue is of another context");
    if (properties & kQueueOutOfOrder)
        return fail(error, HEWN_STATUS_UNSUPPORTED,
                    "hewn_opencl_device_desc: queue is out of order; hewn needs one in order");
    if (const char *lacks = missing(id))
        return fail(error, HEWN_STATUS_NO_DEVICE, "OpenCL: the device lacks %s", lacks);
    const uint64_t view_alignment = device_value<cl_uint>(id, kDeviceMemBaseAddrAlign) / 8;
    // A driver that fails answers 0, by which views would divide.
    if (!view_alignment)
        return fail(error, HEWN_STATUS_DEVICE_FAILED,
                    "OpenCL: the driver does not say how memory objects are aligned");
    ClDevice *device = allocator.allocate<ClDevice>();
    if (!device) return fail(error, HEWN_STATUS_OUT_OF_MEMORY, "OpenCL: no memory for the device");
    device->context = context;
    device->queue = queue;
    device->device = id;
    device->view_alignment = view_alignment;
    if (const hewn_status kept = retain(context, queue, error)) {
        allocator.deallocate(device);
        return kept;
    }
    const hewn_status status = start_gpu_device(device, hewn_gpu_opencl, allocator, 0, error);
    if (status == HEWN_STATUS_OK) *result = device;
    return status;
}

// Finds device number `index` of all platforms.
hewn_status find_device(uint32_t index, Handle *found, hewn_error *error) {
    if (cl().absent) return fail(error, HEWN_STATUS_NO_DEVICE, "OpenCL: %s", cl().absent);
    constexpr cl_uint kMost = 64;
    Handle platforms[kMost], devices[kMost];
    cl_uint platform_count = 0, seen = 0;
    cl_int code = cl().GetPlatformIDs(kMost, platforms, &platform_count);
    if (code == kPlatformNotFound) platform_count = 0;
    else HEWN_CHECK(checked(code, "clGetPlatformIDs", error));
    for (cl_uint p = 0; p < platform_count && p < kMost; p++) {
        cl_uint count = 0;
        code = cl().GetDeviceIDs(platforms[p], kDeviceTypeAll, kMost, devices, &count);
        // The platform has no devices or does not work. Others may.
        if (code) continue;
        if (count > kMost) count = kMost;
        if (index < seen + count) {
            *found = devices[index - seen];
            return HEWN_STATUS_OK;
        }
        seen += count;
    }
    if (seen == 0) return fail(error, HEWN_STATUS_NO_DEVICE, "OpenCL: the driver has no device");
    return fail(error, HEWN_STATUS_NO_DEVICE, "OpenCL: there is no device %u, the driver has %u",
                unsigned(index), unsigned(seen));
}

hewn_status describe(uint32_t index, hewn_device_info *info, hewn_error *error) {
    Handle device = nullptr;
    HEWN_CHECK(find_device(index, &device, error));
    char name[1024] = {};
    if (cl().GetDeviceInfo(device, kDeviceName, sizeof name - 1, name, nullptr)) name[0] = 0;
    snprintf(info->name, sizeof info->name, "%.*s", int(sizeof info->name - 1), name);
    info->memory = device_value<cl_bits>(device, kDeviceGlobalMemSize);
    // Everything but a GPU counts as a CPU: accelerators are emulated, or slow.
    info->is_cpu = device_value<cl_bits>(device, kDeviceType) & kDeviceTypeGpu ? 0 : 1;
    if (const char *lacks = missing(device))
        snprintf(info->missing, sizeof info->missing, "%s", lacks);
    return HEWN_STATUS_OK;
}

hewn_status open(uint32_t index, hewn_device **result, hewn_error *error) {
    Handle device = nullptr;
    HEWN_CHECK(find_device(index, &device, error));
    cl_int code = 0;
    const Handle context = cl().CreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
    HEWN_CHECK(checked(code, "clCreateContext", error));
    const Handle queue = cl().CreateCommandQueue(context, device, 0, &code);
    if (code) {
        cl().ReleaseContext(context);
        return checked(code, "clCreateCommandQueue", error);
    }
    const hewn_status status = create(context, queue, default_device().allocator, result, error);
    cl().ReleaseCommandQueue(queue);
    cl().ReleaseContext(context);
    return status;
}

// ---- Memory ----

// A sub-buffer shares its parent's memory, so it is described by the parent and the offset in it.
hewn_status locate(GpuDevice &device, const Problem &problem, const Tensor &tensor,
                   const hewn_buffer_binding &binding, Place *base, hewn_error *error) {
    const Handle memory = static_cast<Handle>(binding.buffer);
    Handle context = nullptr, parent = nullptr;
    cl_uint type = 0;
    size_t bytes = 0, offset = 0;
    cl_int code = 0;
    const auto get = [&](cl_uint what, auto &value) {
        if (code == 0) code = cl().GetMemObjectInfo(memory, what, sizeof value, &value, nullptr);
    };
    get(kMemContext, context);
    get(kMemType, type);
    get(kMemSize, bytes);
    get(kMemAssociated, parent);
    if (parent) get(kMemOffset, offset);
    if (code)
        return refuse(problem, tensor, error)("the binding's buffer is no memory object (code %d)",
                                              int(code));
    if (context != cl_device(device).context)
        return refuse(problem, tensor, error)("the binding's buffer is of another context");
    if (type != kMemTypeBuffer)
        return refuse(problem, tensor, error)("the binding's buffer is an image or a pipe");
    if (binding.offset > bytes || binding.size > bytes - binding.offset)
        return refuse(problem, tensor, error)(
            "the binding ends beyond the memory object's %llu bytes", (unsigned long long)bytes);
    *base = {reinterpret_cast<uint64_t>(parent ? parent : memory), offset};
    return HEWN_STATUS_OK;
}

// Makes the view of tensor t, a sub-buffer, and replaces the memory of t and of all later tensors
// with the same view by it.
int make_view(GpuCall &call, GpuTensor *tensors, const GpuView *views, int count, int t) {
    const GpuView view = views[t];
    const struct {
        size_t origin, size;
    } region = {size_t(view.begin), size_t(view.end - view.begin)};
    cl_int code = 0;
    const Handle memory = reinterpret_cast<Handle>(view.memory),
                 part = cl().CreateSubBuffer(memory, 0 /* the access of memory */, kBufferRegion,
                                             &region, &code);
    if (code)
        return call.failed(status_of(code), "OpenCL: clCreateSubBuffer failed with code %d",
                           int(code));
    call.views[call.view_count++] = part;
    for (; t < count; t++) {
        if (views[t] == view)
            tensors[t].at = {reinterpret_cast<uint64_t>(part), tensors[t].at.address - view.begin};
    }
    return 0;
}

int view(GpuCall &call, GpuTensor *tensors, int count) {
    GpuView views[kMaxTensors];
    choose_views(tensors, count, cl_device(call.device).view_alignment, views);
    for (int t = 0; t < count; t++) {
        // One view serves all tensors that need it, so the memory of this one may have been
        // replaced already.
        if (!views[t].whole && tensors[t].at.memory == views[t].memory) {
            if (const int code = make_view(call, tensors, views, count, t)) return code;
        }
    }
    return 0;
}

void end_views(GpuCall &call) {  // the queue keeps what it still needs
    while (call.view_count)
        cl().ReleaseMemObject(static_cast<Handle>(call.views[--call.view_count]));
}

hewn_status allocate(GpuDevice &device, uint64_t bytes, void **memory, hewn_error *error) {
    cl_int code = 0;
    *memory =
        cl().CreateBuffer(cl_device(device).context, kMemReadWrite, size_t(bytes), nullptr, &code);
    return checked(code, "clCreateBuffer", error);
}
void deallocate(GpuDevice &, void *memory) { cl().ReleaseMemObject(static_cast<Handle>(memory)); }

hewn_status write(GpuDevice &device, void *memory, uint64_t offset, const void *from,
                  uint64_t bytes, hewn_error *error) {
    const cl_int code =
        cl().EnqueueWriteBuffer(cl_device(device).queue, static_cast<Handle>(memory), 1,
                                size_t(offset), size_t(bytes), from, 0, nullptr, nullptr);
    return checked(code, "clEnqueueWriteBuffer", error);
}
hewn_status read(GpuDevice &device, void *memory, uint64_t offset, void *to, uint64_t bytes,
                 hewn_error *error) {
    const cl_int code =
        cl().EnqueueReadBuffer(cl_device(device).queue, static_cast<Handle>(memory), 1,
                               size_t(offset), size_t(bytes), to, 0, nullptr, nullptr);
    return checked(code, "clEnqueueReadBuffer", error);
}
hewn_status synchronize(GpuDevice &device, hewn_error *error) {
    return checked(cl().Finish(cl_device(device).queue), "clFinish", error);
}

// ---- Kernels ----

// Returns what the driver's compiler said, which a driver gives whole or not at all. Null: nothing,
// or there is no memory for it. The caller frees it with the device's allocator.
char *build_log(const ClDevice &device, Handle program) {
    size_t bytes = 0;
    cl().GetProgramBuildInfo(program, device.device, kProgramBuildLog, 0, nullptr, &bytes);
    char *const log = bytes ? device.allocator.allocate<char>(bytes + 1) : nullptr;
    if (!log) return nullptr;
    cl().GetProgramBuildInfo(program, device.device, kProgramBuildLog, bytes, log, nullptr);
    join_lines(log);
    return log;
}

hewn_status load(GpuDevice &base, const char *source, size_t bytes, void **module,
                 hewn_error *error) {
    const ClDevice &device = cl_device(base);
    cl_int code = 0;
    const size_t length = strnlen(source, bytes);
    const Handle program = cl().CreateProgramWithSource(device.context, 1, &source, &length, &code);
    HEWN_CHECK(checked(code, "clCreateProgramWithSource", error));
    code = cl().BuildProgram(program, 1, &device.device, "", nullptr, nullptr);
    if (code) {
        char *const log = build_log(device, program);
        cl().ReleaseProgram(program);
        const hewn_status status =
            fail(error, status_of(code), "OpenCL: clBuildProgram failed with code %d: %s",
                 int(code), log ? log : "no log");
        device.allocator.deallocate(log);
        return status;
    }
    *module = program;
    return HEWN_STATUS_OK;
}
void unload(GpuDevice &, void *module) { cl().ReleaseProgram(static_cast<Handle>(module)); }

hewn_status find(GpuDevice &device, void *module, const char *entry, void **result,
                 hewn_error *error) {
    cl_int code = 0;
    const Handle kernel = cl().CreateKernel(static_cast<Handle>(module), entry, &code);
    HEWN_CHECK(checked(code, "clCreateKernel", error));
    ClFunction *function = device.allocator.allocate<ClFunction>();
    if (!function) {
        cl().ReleaseKernel(kernel);
        return fail(error, HEWN_STATUS_OUT_OF_MEMORY, "OpenCL: no memory for a kernel");
    }
    function->kernel = kernel;
    pthread_mutex_init(&function->mutex, nullptr);
    *result = function;
    return HEWN_STATUS_OK;
}
void drop(GpuDevice &device, void *base) {
    ClFunction *function = static_cast<ClFunction *>(base);
    cl().ReleaseKernel(function->kernel);
    pthread_mutex_destroy(&function->mutex);
    device.allocator.deallocate(function);
}

int launch(GpuCall &call, void *base, const GpuLaunch &launch) {
    ClFunction &function = *static_cast<ClFunction *>(base);
    size_t global[3], a = 0;
    for (int d = 0; d < 3; d++) global[d] = launch.blocks[d] * launch.threads[d];
    const char *what = "clSetKernelArg";
    cl_int code = 0;
    pthread_mutex_lock(&function.mutex);
    for (; launch.argument_bytes[a] && code == 0; a++) {
        if (launch.is_buffer[a]) {
            const Handle memory = reinterpret_cast<Handle>(
                static_cast<const halide_buffer_t *>(launch.arguments[a])->device);
            code = cl().SetKernelArg(function.kernel, cl_uint(a), sizeof memory, &memory);
        } else {
            code = cl().SetKernelArg(function.kernel, cl_uint(a), launch.argument_bytes[a],
                                     launch.arguments[a]);
        }
    }
    if (code == 0)
        code = cl().SetKernelArg(function.kernel, cl_uint(a),
                                 std::max<size_t>(launch.shared_bytes, 16), nullptr);
    if (code == 0) {
        what = "clEnqueueNDRangeKernel";
        code = cl().EnqueueNDRangeKernel(cl_device(call.device).queue, function.kernel, 3, nullptr,
                                         global, launch.threads, 0, nullptr, nullptr);
    }
    pthread_mutex_unlock(&function.mutex);
    return code ? call.failed(status_of(code), "OpenCL: %s failed with code %d", what, int(code))
                : 0;
}

}  // namespace

constexpr GpuApi hewn_gpu_opencl = [] {
    GpuApi api = {};
    api.kind = HEWN_DEVICE_OPENCL;
    api.offsets = true;
    api.index_limit = kGpuIndexLimit;
    HEWN_SET_GPU_FUNCTIONS(api);
    api.view = view;
    api.end_views = end_views;
    return api;
}();

}  // namespace hewn

using namespace hewn;

HEWN_HALIDE_GPU_FUNCTIONS(opencl)
HEWN_HALIDE_GPU_RUN(opencl)

hewn_status hewn_create_opencl_device(const hewn_opencl_device_desc *desc, hewn_device **device,
                                      hewn_error *error) {
    Allocator allocator;
    HEWN_CHECK(read_device_desc(desc, device, HEWN_DEVICE_OPENCL, &allocator, error));
    if (!desc->context || !desc->queue)
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT,
                    "hewn_opencl_device_desc: context or queue is null");
    if (cl().absent) return fail(error, HEWN_STATUS_NO_DEVICE, "OpenCL: %s", cl().absent);
    return create(static_cast<Handle>(desc->context), static_cast<Handle>(desc->queue), allocator,
                  device, error);
}
