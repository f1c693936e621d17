/* A libcuda.so.1 for tests on machines without an NVIDIA driver. It has the functions that hewn
 * calls, with the types that the CUDA toolkit documents for the driver API. Device memory is the
 * program's memory; launches are counted and checked, but compute nothing.
 *
 * The variable FAKE_CUDA in the environment chooses what goes wrong; is() is called with its
 * values. The driver is stricter than a real one may be: an object can be used only in the context
 * that it belongs to, and a copy happens only when its stream is waited for. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    OK = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NO_DEVICE = 100,
    INVALID_CONTEXT = 201,
    UNSUPPORTED_PTX = 222,
    LAUNCH_FAILED = 719,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_INVALIDATED = 901
};

static int is(const char *what) {
    const char *mode = getenv("FAKE_CUDA");
    return mode && strcmp(mode, what) == 0;
}

/* Variables that the tests read. */
EXPORT int fake_launches = 0, fake_modules = 0, fake_contexts = 0, fake_memory = 0,
           fake_synchronizations = 0;
EXPORT int fake_copies = 0; /* copies that nobody has waited for */
/* Counts what a program must not do, even where it ignores the status. The misuse is printed to
 * stderr. */
EXPORT int fake_misuses = 0;
EXPORT unsigned fake_grid[3], fake_block[3];
EXPORT uint64_t fake_pointers[4];
EXPORT void *fake_stream, *fake_synchronized; /* of the last launch; the last one waited for */
EXPORT void *fake_context;                    /* of the last launch */
EXPORT char fake_kernel[256];

/* Call number fake_fail_at fails; if fake_lost is set, each call after it fails as well. 0: no call
 * fails. Only calls whose failure a program sees are counted. Functions that give something back or
 * wait do so even if they fail, and a lost device's contexts can still be entered. */
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
    if (fails()) return (result) = (value), LAUNCH_FAILED
#define NOTHING ((void *)(uintptr_t)0xdead0)

static int misuse(int code, const char *what) {
    fprintf(stderr, "fake_cuda.c: %s\n", what);
    return fake_misuses++, code;
}

/* The contexts that the thread has entered. The last one is the current one. The low bits of a
 * handle are the device's number. */
enum { DEVICES = 2, PRIMARY = 0x1000, OWN = 0x2000 }; /* OWN: the program's */
static int retained[DEVICES];
static _Thread_local void *stack[16];
static _Thread_local int depth = 0;
static void *current(void) { return depth ? stack[depth - 1] : NULL; }

struct Memory {
    uint64_t at;
    size_t bytes;
    void *context;
    struct Memory *next;
};
static struct Memory *memory = NULL;

/* The context of the memory that contains [at, at + bytes), or null if there is none. */
static void *context_of(uint64_t at, size_t bytes) {
    const struct Memory *m = memory;
    while (m && (at < m->at || at - m->at > m->bytes || bytes > m->bytes - (at - m->at)))
        m = m->next;
    return m ? m->context : NULL;
}

struct Copy {
    void *to;
    const void *from;
    size_t bytes;
    void *context, *stream;
    struct Copy *next;
};
static struct Copy *copies = NULL; /* in the order of the calls */

/* An unloaded module stays in the list with a null context, so that a later use of it is
 * noticed. */
struct Function {
    const struct Module *module;
    const char *text;
    struct Function *next;
};
struct Module {
    void *context;
    const char *text;
    struct Function *functions;
    struct Module *next;
};
static struct Module *modules = NULL;

/* The stream that is being captured, and its graph. There is one at a time, whose launches are
 * counted and not made. Meanwhile no stream may be waited for and no memory may be allocated, freed
 * or copied from the host, as in the mode "global" of cuStreamBeginCapture. */
struct Graph {
    int launches, invalidated;
};
static struct Graph *captured = NULL;
static void *captured_stream = NULL;
static int not_captured(const char *function) {
    if (!captured) return OK;
    captured->invalidated = 1;
    fprintf(stderr, "fake_cuda.c: %s while a stream is captured\n", function);
    return fake_misuses++, CAPTURE_UNSUPPORTED;
}

EXPORT int cuInit(unsigned flags) { return flags || is("no device") ? NO_DEVICE : OK; }
EXPORT int cuGetErrorName(int code, const char **name) {
    *name = code == OUT_OF_MEMORY     ? "CUDA_ERROR_OUT_OF_MEMORY"
            : code == NO_DEVICE       ? "CUDA_ERROR_NO_DEVICE"
            : code == INVALID_CONTEXT ? "CUDA_ERROR_INVALID_CONTEXT"
            : code == UNSUPPORTED_PTX ? "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
            : code == LAUNCH_FAILED   ? "CUDA_ERROR_LAUNCH_FAILED"
                                      : "CUDA_ERROR_INVALID_VALUE";
    return OK;
}
EXPORT int cuDeviceGetCount(int *count) {
    FAIL_WITH(*count, 77);
    return *count = is("empty") ? 0 : 2, OK;
}
EXPORT int cuDeviceGet(int *device, int ordinal) {
    FAIL_WITH(*device, 77);
    return *device = ordinal, OK;
}
EXPORT int cuDeviceGetName(char *name, int bytes, int device) {
    if (fails()) return LAUNCH_FAILED;
    return snprintf(name, (size_t)bytes, "Fake %d", device), OK;
}
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    FAIL_WITH(*bytes, 7);
    return *bytes = (size_t)8 << 30, device < 0;
}
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
    FAIL_WITH(*value, 77);
    const int capability = is("old device") || (is("old first device") && device == 0) ? 70
                           : device                                                    ? 75
                                                                                       : 90;
    *value = attribute == 75   ? capability / 10
             : attribute == 76 ? capability % 10
             : attribute == 88 ? is("pageable")
                               : 0;
    return OK;
}
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
    FAIL_WITH(*context, NOTHING);
    if (device < 0 || device >= DEVICES) return INVALID_VALUE;
    fake_contexts++, retained[device]++;
    return *context = (void *)(uintptr_t)(PRIMARY + device), OK;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
    if (device < 0 || device >= DEVICES || !retained[device])
        return misuse(INVALID_CONTEXT, "a primary context is released that is not retained");
    return fake_contexts--, retained[device]--, fails() ? LAUNCH_FAILED : OK;
}
EXPORT int cuCtxGetCurrent(void **context) {
    FAIL_WITH(*context, NOTHING);
    return *context = current(), OK;
}
EXPORT int cuCtxPushCurrent_v2(void *context) {
    if (fails() && !fake_lost) return LAUNCH_FAILED;
    const uintptr_t device = (uintptr_t)context & 0xf, kind = (uintptr_t)context - device;
    if (is("context") || device >= DEVICES || (kind != PRIMARY && kind != OWN))
        return INVALID_CONTEXT;
    if (kind == PRIMARY && !retained[device])
        return misuse(INVALID_CONTEXT, "a primary context is entered that is not retained");
    if (depth == sizeof stack / sizeof *stack)
        return misuse(INVALID_CONTEXT, "contexts are entered but not left");
    return stack[depth++] = context, OK;
}
EXPORT int cuCtxPopCurrent_v2(void **context) {
    if (!depth) return misuse(INVALID_CONTEXT, "a context is left that is not entered");
    return *context = stack[--depth], fails() ? LAUNCH_FAILED : OK;
}
EXPORT int fake_depth(void) { return depth; }
EXPORT int cuCtxGetDevice(int *device) {
    FAIL_WITH(*device, 77);
    return depth ? *device = (int)((uintptr_t)current() & 0xf), OK : INVALID_CONTEXT;
}

EXPORT int cuModuleLoadDataEx(void **module, const void *image, unsigned count, const int *options,
                              void **values) {
    FAIL_WITH(*module, NOTHING);
    if (not_captured("cuModuleLoadDataEx")) return CAPTURE_UNSUPPORTED;
    if (!depth) return INVALID_CONTEXT;
    if (is("old driver")) {
        if (count == 2 && options[0] == 5)
            snprintf((char *)values[0], (size_t)values[1], "ptxas fatal: line 1\nline 2");
        return UNSUPPORTED_PTX;
    }
    if (!strstr((const char *)image, ".entry")) return INVALID_VALUE;
    struct Module *loaded = calloc(1, sizeof *loaded);
    if (!loaded) return OUT_OF_MEMORY;
    *loaded = (struct Module){current(), (const char *)image, NULL, modules};
    fake_modules++;
    return *module = modules = loaded, OK;
}
EXPORT int cuModuleUnload(void *handle) {
    struct Module *module = handle;
    if (!depth || module->context != current())
        return misuse(INVALID_CONTEXT, "a module is unloaded outside its context");
    return fake_modules--, module->context = NULL, fails() ? LAUNCH_FAILED : OK;
}
EXPORT int cuModuleGetFunction(void **result, void *handle, const char *name) {
    FAIL_WITH(*result, NOTHING);
    struct Module *module = handle;
    if (!depth || module->context != current())
        return misuse(INVALID_CONTEXT, "a function is looked up outside its context");
    char entry[300];
    snprintf(entry, sizeof entry, ".entry %s(", name);
    const char *text = strstr(module->text, entry);
    if (!text) return INVALID_VALUE;
    struct Function *function = module->functions;
    while (function && function->text != text) function = function->next;
    if (!function) {
        if (!(function = calloc(1, sizeof *function))) return OUT_OF_MEMORY;
        *function = (struct Function){module, text, module->functions};
        module->functions = function;
    }
    return *result = function, OK;
}
/* Reads each parameter that the PTX declares, so that a missing argument is a fault here as on a
 * device. */
EXPORT int cuLaunchKernel(void *handle, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, void *stream, void **arguments,
                          void **extra) {
    if (fails()) return LAUNCH_FAILED;
    const struct Function *function = handle;
    if (extra) return INVALID_VALUE;
    if (!depth || function->module->context != current())
        return misuse(INVALID_CONTEXT, "a function is launched outside its context");
    const char *end = strchr(function->text, '{'), *uses = strstr(end, ".shared"),
               *next = strstr(end, ".entry");
    if ((uses && (!next || uses < next)) != (shared > 0))
        return misuse(INVALID_VALUE, "shared memory is not what the kernel uses");
    int parameters = 0, pointers = 0;
    for (const char *at = function->text; (at = strstr(at, ".param ")) && at < end;
         at++, parameters++) {
        const int wide = strncmp(at + 7, ".u64", 4) == 0 || strncmp(at + 7, ".b64", 4) == 0;
        uint64_t value = 0;
        memcpy(&value, arguments[parameters], wide ? 8 : 4);
        if (strstr(at, ".ptr") == at + 12 && pointers < 4) fake_pointers[pointers++] = value;
    }
    const unsigned grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
    memcpy(fake_grid, grid, sizeof grid);
    memcpy(fake_block, block, sizeof block);
    snprintf(fake_kernel, sizeof fake_kernel, "%.200s", function->text + 7);
    if (is("launch")) return LAUNCH_FAILED;
    fake_stream = stream;
    fake_context = current();
    if (captured && stream == captured_stream) return captured->launches++, OK;
    fake_launches++;
    return OK;
}
EXPORT int cuMemAlloc_v2(uint64_t *pointer, size_t bytes) {
    FAIL_WITH(*pointer, 0xdead0);
    if (not_captured("cuMemAlloc")) return CAPTURE_UNSUPPORTED;
    if (!depth) return INVALID_CONTEXT;
    if (is("memory") || bytes > (size_t)8 << 30) return OUT_OF_MEMORY;
    struct Memory *allocated = calloc(1, sizeof *allocated);
    void *at = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!allocated || !at) return free(allocated), free(at), OUT_OF_MEMORY;
    *allocated = (struct Memory){(uint64_t)(uintptr_t)at, bytes, current(), memory};
    memory = allocated;
    fake_memory++;
    return *pointer = allocated->at, OK;
}
EXPORT int cuMemFree_v2(uint64_t pointer) {
    if (not_captured("cuMemFree")) return CAPTURE_UNSUPPORTED;
    struct Memory **link = &memory;
    while (*link && (*link)->at != pointer) link = &(*link)->next;
    struct Memory *freed = *link;
    if (!freed) return misuse(INVALID_VALUE, "memory is freed that is not allocated");
    if (!depth || freed->context != current())
        return misuse(INVALID_CONTEXT, "memory is freed outside its context");
    for (struct Copy **of = &copies, *copy; (copy = *of);) {
        const uint64_t to = (uint64_t)(uintptr_t)copy->to, from = (uint64_t)(uintptr_t)copy->from;
        if (to - pointer >= freed->bytes && from - pointer >= freed->bytes) {
            of = &copy->next;
            continue;
        }
        misuse(OK, "memory is freed that a copy still needs");
        *of = copy->next;
        free(copy);
        fake_copies--;
    }
    *link = freed->next;
    free((void *)(uintptr_t)pointer);
    free(freed);
    return fake_memory--, fails() ? LAUNCH_FAILED : OK;
}
static int copy(void *to, const void *from, size_t bytes, uint64_t pointer, void *stream) {
    const void *context = context_of(pointer, bytes);
    if (!context) return misuse(INVALID_VALUE, "memory is copied that is not allocated");
    if (context != current())
        return misuse(INVALID_CONTEXT, "memory is copied outside its context");
    struct Copy *added = calloc(1, sizeof *added), **last = &copies;
    if (!added) return OUT_OF_MEMORY;
    *added = (struct Copy){to, from, bytes, current(), stream, NULL};
    while (*last) last = &(*last)->next;
    *last = added;
    return fake_copies++, OK;
}
EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
    if (fails()) return LAUNCH_FAILED;
    if (not_captured("cuMemcpyHtoDAsync")) return CAPTURE_UNSUPPORTED;
    return copy((void *)(uintptr_t)to, from, bytes, to, stream);
}
EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
    if (fails()) return LAUNCH_FAILED;
    if (not_captured("cuMemcpyDtoHAsync")) return CAPTURE_UNSUPPORTED;
    return copy(to, (const void *)(uintptr_t)from, bytes, from, stream);
}
/* The functions from here to cuGraphDestroy are for programs that use the driver next to hewn. */
EXPORT int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream) {
    if (!context_of(to, bytes)) return misuse(INVALID_VALUE, "a copy goes to what is no memory");
    return copy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes, from, stream);
}
EXPORT int cuStreamCreate(void **stream, unsigned flags) {
    return flags > 1 ? INVALID_VALUE : !(*stream = malloc(1)) ? OUT_OF_MEMORY : OK;
}
EXPORT int cuStreamDestroy_v2(void *stream) { return free(stream), OK; }
EXPORT int cuStreamBeginCapture_v2(void *stream, int mode) {
    if (captured || !stream || mode != 0) return INVALID_VALUE;
    captured_stream = stream;
    return (captured = calloc(1, sizeof *captured)) ? OK : OUT_OF_MEMORY;
}
EXPORT int cuStreamEndCapture(void *stream, void **graph) {
    if (!captured || stream != captured_stream) return INVALID_VALUE;
    const int code = captured->invalidated ? CAPTURE_INVALIDATED : OK;
    return *graph = captured, captured = NULL, code;
}
EXPORT int cuGraphInstantiateWithFlags(void **executable, const void *graph,
                                       unsigned long long flags) {
    struct Graph *copied = malloc(sizeof *copied);
    if (!copied || flags) return free(copied), INVALID_VALUE;
    *copied = *(const struct Graph *)graph;
    return *executable = copied, OK;
}
EXPORT int cuGraphLaunch(void *executable, void *stream) {
    (void)stream;
    return fake_launches += ((struct Graph *)executable)->launches, OK;
}
EXPORT int cuGraphExecDestroy(void *executable) { return free(executable), OK; }
EXPORT int cuGraphDestroy(void *graph) { return free(graph), OK; }
EXPORT int cuStreamSynchronize(void *stream) {
    if (not_captured("cuStreamSynchronize")) return CAPTURE_UNSUPPORTED;
    if (!depth) return misuse(INVALID_CONTEXT, "a stream is waited for outside a context");
    fake_synchronizations++;
    fake_synchronized = stream;
    for (struct Copy **link = &copies, *done; (done = *link);) {
        if (done->stream != stream || done->context != current()) {
            link = &done->next;
            continue;
        }
        memcpy(done->to, done->from, done->bytes);
        *link = done->next;
        free(done);
        fake_copies--;
    }
    return is("launch") || fails() ? LAUNCH_FAILED : OK;
}
/* Says that all memory is the device's. */
EXPORT int cuPointerGetAttribute(void *value, int attribute, uint64_t pointer) {
    if (fails()) return LAUNCH_FAILED;
    if (attribute != 2) return INVALID_VALUE;
    *(unsigned *)value = 2;
    return is("host pointers") ? INVALID_VALUE : pointer == 0;
}
