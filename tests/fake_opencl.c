/* A libOpenCL.so.1 for tests: a platform without a device, one with a CPU and one with a GPU, which are opened and have memory,
 * but compile nothing. FAKE_OPENCL in the environment says what both lack; "GPU " before it: what the GPU lacks. Its functions'
 * types are OpenCL's. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { OK = 0, DEVICE_NOT_FOUND = -1, BUILD_PROGRAM_FAILURE = -11, INVALID_VALUE = -30 };

/* A handle's low bits are the device's number: 1 the CPU, 2 the GPU. */
enum { PLATFORM = 0x1000, DEVICE = 0x2000, CONTEXT = 0x3000, QUEUE = 0x4000, PROGRAM = 0x5000 };
static void *handle(int kind, int device) { return (void *)(uintptr_t)(kind + device); }
static int device_of(const void *object) { return (int)((uintptr_t)object & 0xf); }

static int lacks(int device, const char *what) {
    const char *mode = getenv("FAKE_OPENCL");
    if (mode && strncmp(mode, "GPU ", 4) == 0) mode = device == 2 ? mode + 4 : NULL;
    return mode && strcmp(mode, what) == 0;
}

/* What the tests look at. */
EXPORT int fake_opened = 0, fake_references = 0;

EXPORT int clGetPlatformIDs(unsigned most, void **platforms, unsigned *count) {
    for (unsigned p = 0; p < 3 && p < most; p++) platforms[p] = handle(PLATFORM, (int)p);
    return *count = 3, OK;
}
EXPORT int clGetDeviceIDs(void *platform, uint64_t type, unsigned most, void **devices, unsigned *count) {
    const int device = device_of(platform);
    if (!device || !type || !most) return DEVICE_NOT_FOUND;
    devices[0] = handle(DEVICE, device);
    return *count = 1, OK;
}
EXPORT int clGetDeviceInfo(void *object, unsigned what, size_t bytes, void *value, size_t *written) {
    const int device = device_of(object);
    uint64_t number = 0;
    (void)written;
    switch (what) {
    case 0x1000: number = device == 2 ? 4 : 2; break;                      /* CL_DEVICE_TYPE */
    case 0x1004: number = lacks(device, "work-groups") ? 255 : 256; break; /* CL_DEVICE_MAX_WORK_GROUP_SIZE */
    case 0x100d: number = lacks(device, "64 bits") ? 32 : 64; break;       /* CL_DEVICE_ADDRESS_BITS */
    case 0x1019: number = 1024; break;                                     /* CL_DEVICE_MEM_BASE_ADDR_ALIGN */
    case 0x101b:                                                           /* CL_DEVICE_SINGLE_FP_CONFIG */
        number = 0x3f & ~(lacks(device, "subnormals") ? 1u : 0) & ~(lacks(device, "rounding") ? 4u : 0);
        break;
    case 0x101f: number = (uint64_t)8 << 30; break;               /* CL_DEVICE_GLOBAL_MEM_SIZE */
    case 0x1026: number = !lacks(device, "little-endian"); break; /* CL_DEVICE_ENDIAN_LITTLE */
    case 0x102b: return snprintf(value, bytes, "Fake %s", device == 2 ? "GPU" : "CPU"), OK;
    default: return INVALID_VALUE;
    }
    return bytes > sizeof number ? INVALID_VALUE : (memcpy(value, &number, bytes), OK);
}

EXPORT void *clCreateContext(const intptr_t *properties, unsigned count, void *const *devices, void *notify, void *data,
                             int *code) {
    (void)properties, (void)notify, (void)data;
    *code = count == 1 ? OK : INVALID_VALUE;
    fake_references++;
    return handle(CONTEXT, fake_opened = device_of(devices[0]));
}
EXPORT int clRetainContext(void *context) { return fake_references++, context == NULL; }
EXPORT int clReleaseContext(void *context) { return fake_references--, context == NULL; }
EXPORT void *clCreateCommandQueue(void *context, void *device, uint64_t properties, int *code) {
    *code = properties || device_of(context) != device_of(device) ? INVALID_VALUE : OK;
    fake_references++;
    return handle(QUEUE, device_of(device));
}
EXPORT int clRetainCommandQueue(void *queue) { return fake_references++, queue == NULL; }
EXPORT int clReleaseCommandQueue(void *queue) { return fake_references--, queue == NULL; }
EXPORT int clGetCommandQueueInfo(void *queue, unsigned what, size_t bytes, void *value, size_t *written) {
    void *const answer = what == 0x1090   ? handle(CONTEXT, device_of(queue)) /* CL_QUEUE_CONTEXT */
                         : what == 0x1091 ? handle(DEVICE, device_of(queue))  /* CL_QUEUE_DEVICE */
                                          : NULL;                             /* CL_QUEUE_PROPERTIES */
    return memcpy(value, &answer, bytes), (void)written, OK;
}
EXPORT void *clCreateBuffer(void *context, uint64_t flags, size_t bytes, void *host, int *code) {
    (void)context, (void)flags, (void)host;
    return *code = OK, malloc(bytes);
}
EXPORT int clReleaseMemObject(void *memory) { return free(memory), OK; }
EXPORT int clEnqueueWriteBuffer(void *queue, void *memory, unsigned wait, size_t offset, size_t bytes, const void *from,
                                unsigned count, void *const *events, void **event) {
    (void)queue, (void)wait, (void)count, (void)events, (void)event;
    return memcpy((char *)memory + offset, from, bytes), OK;
}

/* No program compiles. As in other drivers, a log that is longer than what is there for it is not given. */
EXPORT void *clCreateProgramWithSource(void *context, unsigned count, const char *const *sources, const size_t *lengths,
                                       int *code) {
    (void)sources, (void)lengths;
    *code = count == 1 ? OK : INVALID_VALUE;
    fake_references++;
    return handle(PROGRAM, device_of(context));
}
EXPORT int clBuildProgram(void *program, unsigned count, void *const *devices, const char *options, void *notify, void *data) {
    (void)program, (void)count, (void)devices, (void)options, (void)notify, (void)data;
    return BUILD_PROGRAM_FAILURE;
}
EXPORT int clGetProgramBuildInfo(void *program, void *device, unsigned what, size_t bytes, void *value, size_t *written) {
    static const char log[1000] = "line 1: no such thing\nline 2: nor this";
    (void)program, (void)device;
    if (what != 0x1183 || (value && bytes < sizeof log)) return INVALID_VALUE; /* CL_PROGRAM_BUILD_LOG */
    if (written) *written = sizeof log;
    return value ? (memcpy(value, log, sizeof log), OK) : OK;
}
EXPORT int clReleaseProgram(void *program) { return fake_references--, program == NULL; }

/* What a driver must have to be one, but no test calls. */
#define UNUSED(name) \
    EXPORT void name(void) { abort(); }
UNUSED(clCreateSubBuffer)
UNUSED(clGetMemObjectInfo)
UNUSED(clCreateKernel)
UNUSED(clReleaseKernel)
UNUSED(clSetKernelArg)
UNUSED(clEnqueueNDRangeKernel)
UNUSED(clEnqueueReadBuffer)
UNUSED(clFinish)
