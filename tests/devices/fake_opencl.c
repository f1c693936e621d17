/* A libOpenCL.so.1 for tests. It has three platforms: one without a device, one with a CPU and one
 * with a GPU. Its devices can be opened, have memory and accept launches, but compute nothing. Its
 * functions have the types of OpenCL's.
 *
 * The variable FAKE_OPENCL in the environment names what both devices lack or, after "GPU ", what
 * only the GPU lacks; lacks() is called with these names. The driver refuses a command queue that
 * nobody retains, and never makes a copy that is not waited for. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    OK = 0,
    DEVICE_NOT_FOUND = -1,
    OUT_OF_RESOURCES = -5,
    OUT_OF_HOST_MEMORY = -6,
    BUILD_PROGRAM_FAILURE = -11,
    MISALIGNED_SUB_BUFFER_OFFSET = -13,
    EXEC_STATUS_ERROR = -14,
    INVALID_VALUE = -30,
    INVALID_QUEUE = -36
};

/* The low bits of a handle are the device's number: 1 is the CPU, 2 is the GPU. */
enum {
    PLATFORM = 0x1000,
    DEVICE = 0x2000,
    CONTEXT = 0x3000,
    QUEUE = 0x4000,
    PROGRAM = 0x5000,
    KERNEL = 0x6000
};
static void *handle(int kind, int device) { return (void *)(uintptr_t)(kind + device); }
static int device_of(const void *object) { return (int)((uintptr_t)object & 0xf); }

static int lacks(int device, const char *what) {
    const char *mode = getenv("FAKE_OPENCL");
    if (mode && strncmp(mode, "GPU ", 4) == 0) mode = device == 2 ? mode + 4 : NULL;
    return mode && strcmp(mode, what) == 0;
}

/* Variables that the tests read. */
EXPORT int fake_opened = 0, fake_references = 0; /* the last device; all objects' */
EXPORT int fake_contexts[3], fake_queues[3];     /* each device's */
EXPORT int fake_views = 0, fake_launches = 0;
EXPORT size_t fake_local = 0; /* the most bytes of a kernel's shared memory */
EXPORT void *fake_finished;   /* the last queue that was waited for */

/* Call number fake_fail_at fails; if fake_lost is set, each call after it fails as well. 0: no call
 * fails. Only calls whose failure a program sees are counted. Functions that give something back
 * always succeed. */
EXPORT int fake_fail_at = 0, fake_calls = 0, fake_lost = 0;
EXPORT const char *fake_failed = NULL; /* the function of call number fake_fail_at */
static int fails_in(const char *function) {
    fake_calls++;
    if (fake_calls == fake_fail_at) fake_failed = function;
    return fake_fail_at && (fake_lost ? fake_calls >= fake_fail_at : fake_calls == fake_fail_at);
}
#define fails() fails_in(__func__)
/* As with other drivers, a call that fails leaves values in its results that no program may use. */
#define FAIL_WITH(result, value) \
    if (fails()) return (result) = (value), OUT_OF_RESOURCES
#define NOTHING ((void *)(uintptr_t)0xdead0)

EXPORT int clGetPlatformIDs(unsigned most, void **platforms, unsigned *count) {
    FAIL_WITH(*count, 77);
    for (unsigned p = 0; p < 3 && p < most; p++) platforms[p] = handle(PLATFORM, (int)p);
    return *count = 3, OK;
}
EXPORT int clGetDeviceIDs(void *platform, uint64_t type, unsigned most, void **devices,
                          unsigned *count) {
    FAIL_WITH(*count, 77);
    const int device = device_of(platform);
    if (!device || !type || !most) return DEVICE_NOT_FOUND;
    devices[0] = handle(DEVICE, device);
    return *count = 1, OK;
}
EXPORT int clGetDeviceInfo(void *object, unsigned what, size_t bytes, void *value,
                           size_t *written) {
    if (fails()) return memset(value, 0xdd, bytes), OUT_OF_RESOURCES;
    const int device = device_of(object);
    uint64_t number = 0;
    (void)written;
    switch (what) {
    case 0x1000: number = device == 2 ? 4 : 2; break; /* CL_DEVICE_TYPE */
    case 0x1004:
        number = lacks(device, "work-groups") ? 255 : 256;
        break; /* CL_DEVICE_MAX_WORK_GROUP_SIZE */
    case 0x100d: number = lacks(device, "64 bits") ? 32 : 64; break; /* CL_DEVICE_ADDRESS_BITS */
    case 0x1019: number = 1024; break; /* CL_DEVICE_MEM_BASE_ADDR_ALIGN */
    case 0x101b:                       /* CL_DEVICE_SINGLE_FP_CONFIG */
        number =
            0x3f & ~(lacks(device, "subnormals") ? 1u : 0) & ~(lacks(device, "rounding") ? 4u : 0);
        break;
    case 0x101f: number = (uint64_t)8 << 30; break;               /* CL_DEVICE_GLOBAL_MEM_SIZE */
    case 0x1026: number = !lacks(device, "little-endian"); break; /* CL_DEVICE_ENDIAN_LITTLE */
    case 0x102b: return snprintf(value, bytes, "Fake %s", device == 2 ? "GPU" : "CPU"), OK;
    default: return INVALID_VALUE;
    }
    return bytes > sizeof number ? INVALID_VALUE : (memcpy(value, &number, bytes), OK);
}

EXPORT void *clCreateContext(const intptr_t *properties, unsigned count, void *const *devices,
                             void *notify, void *data, int *code) {
    if (fails()) return *code = OUT_OF_RESOURCES, NULL;
    (void)properties, (void)notify, (void)data;
    *code = count == 1 ? OK : INVALID_VALUE;
    fake_opened = device_of(devices[0]);
    fake_references++, fake_contexts[fake_opened]++;
    return handle(CONTEXT, fake_opened);
}
EXPORT int clRetainContext(void *context) {
    if (fails()) return OUT_OF_RESOURCES;
    return fake_references++, fake_contexts[device_of(context)]++, OK;
}
EXPORT int clReleaseContext(void *context) {
    return fake_references--, fake_contexts[device_of(context)]--, OK;
}
EXPORT void *clCreateCommandQueue(void *context, void *device, uint64_t properties, int *code) {
    if (fails()) return *code = OUT_OF_RESOURCES, NULL;
    *code = properties || device_of(context) != device_of(device) ? INVALID_VALUE : OK;
    fake_references++, fake_queues[device_of(device)]++;
    return handle(QUEUE, device_of(device));
}
EXPORT int clRetainCommandQueue(void *queue) {
    if (fails()) return OUT_OF_RESOURCES;
    return fake_references++, fake_queues[device_of(queue)]++, OK;
}
EXPORT int clReleaseCommandQueue(void *queue) {
    return fake_references--, fake_queues[device_of(queue)]--, OK;
}
static int is_live(const void *queue) { return fake_queues[device_of(queue)] > 0; }
EXPORT int clFinish(void *queue) {
    if (fails()) return OUT_OF_RESOURCES;
    fake_finished = queue;
    return !is_live(queue)                         ? INVALID_QUEUE
           : lacks(device_of(queue), "completion") ? EXEC_STATUS_ERROR
                                                   : OK;
}
EXPORT int clGetCommandQueueInfo(void *queue, unsigned what, size_t bytes, void *value,
                                 size_t *written) {
    if (fails()) return OUT_OF_RESOURCES;
    void *const answer = what == 0x1090   ? handle(CONTEXT, device_of(queue)) /* CL_QUEUE_CONTEXT */
                         : what == 0x1091 ? handle(DEVICE, device_of(queue))  /* CL_QUEUE_DEVICE */
                                          : NULL; /* CL_QUEUE_PROPERTIES */
    return memcpy(value, &answer, bytes), (void)written, OK;
}

/* A memory object, or a sub-buffer, which keeps its parent. */
struct Memory {
    struct Memory *parent;
    void *context;
    size_t bytes, origin;
    int references;
    char *data; /* null if it is large: no test reads it */
};
static void *new_memory(struct Memory memory, int *code) {
    struct Memory *const made = malloc(sizeof *made);
    if (code) *code = made ? OK : OUT_OF_HOST_MEMORY;
    if (!made) return NULL;
    fake_references++;
    return *made = memory, made;
}
EXPORT void *clCreateBuffer(void *context, uint64_t flags, size_t bytes, void *host, int *code) {
    if (fails()) return *code = OUT_OF_RESOURCES, NULL;
    (void)flags, (void)host;
    char *const data = bytes <= 1 << 20 ? calloc(bytes + 1, 1) : NULL;
    return new_memory((struct Memory){NULL, context, bytes, 0, 1, data}, code);
}
EXPORT void *clCreateSubBuffer(void *of, uint64_t flags, unsigned kind, const void *region,
                               int *code) {
    if (fails()) return *code = OUT_OF_RESOURCES, NULL;
    struct Memory *const parent = of;
    const size_t origin = ((const size_t *)region)[0], bytes = ((const size_t *)region)[1];
    const int bad = kind != 0x1220 || parent->parent || origin > parent->bytes ||
                    bytes > parent->bytes - origin;
    (void)flags;
    *code = bad            ? INVALID_VALUE
            : origin % 128 ? MISALIGNED_SUB_BUFFER_OFFSET
                           : OK; /* CL_DEVICE_MEM_BASE_ADDR_ALIGN's bits */
    if (*code) return NULL;
    parent->references++, fake_views++;
    return new_memory((struct Memory){parent, parent->context, bytes, origin, 1, NULL}, code);
}
EXPORT int clReleaseMemObject(void *object) {
    struct Memory *const memory = object;
    if (--memory->references) return OK;
    if (memory->parent) clReleaseMemObject(memory->parent);
    free(memory->data);
    free(memory);
    return fake_references--, OK;
}
EXPORT int clGetMemObjectInfo(void *object, unsigned what, size_t bytes, void *value,
                              size_t *written) {
    if (fails()) return OUT_OF_RESOURCES;
    const struct Memory *const memory = object;
    (void)written;
    const unsigned buffer = 0x10f0;
    switch (what) {
    case 0x1100: return memcpy(value, &buffer, bytes), OK;          /* CL_MEM_TYPE */
    case 0x1102: return memcpy(value, &memory->bytes, bytes), OK;   /* CL_MEM_SIZE */
    case 0x1106: return memcpy(value, &memory->context, bytes), OK; /* CL_MEM_CONTEXT */
    case 0x1107: return memcpy(value, &memory->parent, bytes), OK; /* CL_MEM_ASSOCIATED_MEMOBJECT */
    case 0x1108: return memcpy(value, &memory->origin, bytes), OK; /* CL_MEM_OFFSET */
    default: return INVALID_VALUE;
    }
}
static char *data_of(const void *queue, const struct Memory *memory, size_t offset, size_t bytes,
                     int *code) {
    const int bad = !memory->data || offset > memory->bytes || bytes > memory->bytes - offset;
    *code = !is_live(queue) ? INVALID_QUEUE : bad ? INVALID_VALUE : OK;
    return bad ? NULL : memory->data + offset;
}
EXPORT int clEnqueueWriteBuffer(void *queue, void *memory, unsigned wait, size_t offset,
                                size_t bytes, const void *from, unsigned count, void *const *events,
                                void **event) {
    if (fails()) return OUT_OF_RESOURCES;
    int code;
    char *const to = data_of(queue, memory, offset, bytes, &code);
    if (wait && !code) memcpy(to, from, bytes);
    return (void)count, (void)events, (void)event, code;
}
EXPORT int clEnqueueReadBuffer(void *queue, void *memory, unsigned wait, size_t offset,
                               size_t bytes, void *to, unsigned count, void *const *events,
                               void **event) {
    if (fails()) return OUT_OF_RESOURCES;
    int code;
    const char *const from = data_of(queue, memory, offset, bytes, &code);
    if (wait && !code) memcpy(to, from, bytes);
    return (void)count, (void)events, (void)event, code;
}

EXPORT void *clCreateProgramWithSource(void *context, unsigned count, const char *const *sources,
                                       const size_t *lengths, int *code) {
    if (fails()) return *code = OUT_OF_RESOURCES, NULL;
    (void)sources, (void)lengths;
    *code = count == 1 ? OK : INVALID_VALUE;
    fake_references++;
    return handle(PROGRAM, device_of(context));
}
EXPORT int clBuildProgram(void *program, unsigned count, void *const *devices, const char *options,
                          void *notify, void *data) {
    if (fails()) return OUT_OF_RESOURCES;
    (void)count, (void)devices, (void)options, (void)notify, (void)data;
    return lacks(device_of(program), "compiler") ? BUILD_PROGRAM_FAILURE : OK;
}
/* As with other drivers, a buffer that is too small for the log gets nothing of it. */
EXPORT int clGetProgramBuildInfo(void *program, void *device, unsigned what, size_t bytes,
                                 void *value, size_t *written) {
    if (fails()) return OUT_OF_RESOURCES;
    static const char log[1000] = "line 1: no such thing\nline 2: nor this";
    (void)program, (void)device;
    if (what != 0x1183 || (value && bytes < sizeof log))
        return INVALID_VALUE; /* CL_PROGRAM_BUILD_LOG */
    if (written) *written = sizeof log;
    return value ? (memcpy(value, log, sizeof log), OK) : OK;
}
EXPORT int clReleaseProgram(void *program) { return fake_references--, program == NULL; }

EXPORT void *clCreateKernel(void *program, const char *name, int *code) {
    if (fails()) return *code = OUT_OF_RESOURCES, NULL;
    *code = name ? OK : INVALID_VALUE;
    fake_references++;
    return handle(KERNEL, device_of(program));
}
EXPORT int clReleaseKernel(void *kernel) { return fake_references--, kernel == NULL; }
EXPORT int clSetKernelArg(void *kernel, unsigned index, size_t bytes, const void *value) {
    if (fails()) return OUT_OF_RESOURCES;
    if (!value && bytes > fake_local) fake_local = bytes;
    return (void)kernel, (void)index, bytes ? OK : INVALID_VALUE;
}
EXPORT int clEnqueueNDRangeKernel(void *queue, void *kernel, unsigned dimensions,
                                  const size_t *offset, const size_t *global, const size_t *local,
                                  unsigned count, void *const *events, void **event) {
    if (fails()) return OUT_OF_RESOURCES;
    (void)offset, (void)count, (void)events, (void)event;
    if (!is_live(queue)) return INVALID_QUEUE;
    if (device_of(kernel) != device_of(queue)) return INVALID_VALUE;
    for (unsigned d = 0; d < dimensions; d++) {
        if (!local[d] || global[d] % local[d]) return INVALID_VALUE;
    }
    return fake_launches++, OK;
}
