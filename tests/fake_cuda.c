/* A libcuda.so.1 for tests where there is no NVIDIA driver. It has the functions that hewn calls, device memory that is the
 * program's, and launches that are counted and checked but compute nothing. FAKE_CUDA in the environment says what goes wrong.
 * Its functions' types are the driver API's, as the CUDA toolkit documents them. */
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
    LAUNCH_FAILED = 719
};

static int is(const char *what) {
    const char *mode = getenv("FAKE_CUDA");
    return mode && strcmp(mode, what) == 0;
}

/* What the tests look at. */
EXPORT int fake_launches = 0, fake_modules = 0, fake_contexts = 0, fake_memory = 0, fake_synchronizations = 0;
EXPORT unsigned fake_grid[3], fake_block[3];
EXPORT uint64_t fake_pointers[4];
EXPORT void *fake_stream;
EXPORT char fake_kernel[256];

static int depth = 0;

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
EXPORT int cuDeviceGetCount(int *count) { return *count = is("empty") ? 0 : 2, OK; }
EXPORT int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, OK; }
EXPORT int cuDeviceGetName(char *name, int bytes, int device) { return snprintf(name, (size_t)bytes, "Fake %d", device), OK; }
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device) { return *bytes = (size_t)8 << 30, device < 0; }
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
    const int capability = is("old device") || (is("old first device") && device == 0) ? 70 : device ? 75 : 90;
    *value = attribute == 75 ? capability / 10 : attribute == 76 ? capability % 10 : attribute == 88 ? is("pageable") : 0;
    return OK;
}
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
    fake_contexts++;
    return *context = (void *)(uintptr_t)(0x1000 + device), OK;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int device) { return fake_contexts--, device < 0; }
static void *stack[16];
EXPORT int cuCtxGetCurrent(void **context) { return *context = depth ? stack[depth - 1] : NULL, OK; }
EXPORT int cuCtxPushCurrent_v2(void *context) {
    if (is("context") || ((uintptr_t)context & ~(uintptr_t)0xf) != 0x1000) return INVALID_CONTEXT;
    return stack[depth++] = context, OK;
}
EXPORT int cuCtxPopCurrent_v2(void **context) { return *context = stack[--depth], OK; }
EXPORT int fake_depth(void) { return depth; }
EXPORT int cuCtxGetDevice(int *device) {
    return depth ? *device = (int)((uintptr_t)stack[depth - 1] & 0xf), OK : INVALID_CONTEXT;
}

EXPORT int cuModuleLoadDataEx(void **module, const void *image, unsigned count, const int *options, void **values) {
    if (!depth) return INVALID_CONTEXT;
    if (is("old driver")) {
        if (count == 2 && options[0] == 5) snprintf((char *)values[0], (size_t)values[1], "ptxas fatal: line 1\nline 2");
        return UNSUPPORTED_PTX;
    }
    if (!strstr((const char *)image, ".entry")) return INVALID_VALUE;
    fake_modules++;
    return *module = (void *)image, OK;
}
EXPORT int cuModuleUnload(void *module) { return fake_modules--, module == NULL; }
EXPORT int cuModuleGetFunction(void **function, void *module, const char *name) {
    char entry[300];
    snprintf(entry, sizeof entry, ".entry %s(", name);
    const char *at = strstr((const char *)module, entry);
    return *function = (void *)at, at ? OK : INVALID_VALUE;
}
/* Each parameter that the PTX declares is read: an argument that is missing is a fault here as there. */
EXPORT int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void *stream, void **arguments, void **extra) {
    if (!depth || extra || shared) return INVALID_VALUE;
    if (is("launch")) return LAUNCH_FAILED;
    const char *end = strchr((const char *)function, '{');
    int parameters = 0, pointers = 0;
    for (const char *at = (const char *)function; (at = strstr(at, ".param ")) && at < end; at++, parameters++) {
        const int wide = strncmp(at + 7, ".u64", 4) == 0 || strncmp(at + 7, ".b64", 4) == 0;
        uint64_t value = 0;
        memcpy(&value, arguments[parameters], wide ? 8 : 4);
        if (strstr(at, ".ptr") == at + 12 && pointers < 4) fake_pointers[pointers++] = value;
    }
    const unsigned grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
    memcpy(fake_grid, grid, sizeof grid);
    memcpy(fake_block, block, sizeof block);
    snprintf(fake_kernel, sizeof fake_kernel, "%.200s", (const char *)function + 7);
    fake_stream = stream;
    fake_launches++;
    return OK;
}
EXPORT int cuMemAlloc_v2(uint64_t *pointer, size_t bytes) {
    if (!depth) return INVALID_CONTEXT;
    if (is("memory") || bytes > (size_t)8 << 30) return OUT_OF_MEMORY;
    void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    fake_memory++;
    return *pointer = (uint64_t)(uintptr_t)memory, memory ? OK : OUT_OF_MEMORY;
}
EXPORT int cuMemFree_v2(uint64_t pointer) { return free((void *)(uintptr_t)pointer), fake_memory--, OK; }
EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
    return memcpy((void *)(uintptr_t)to, from, bytes), (void)stream, OK;
}
EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
    return memcpy(to, (const void *)(uintptr_t)from, bytes), (void)stream, OK;
}
EXPORT int cuStreamSynchronize(void *stream) {
    fake_synchronizations++;
    return (void)stream, is("launch") ? LAUNCH_FAILED : OK;
}
/* Odd pages are the host's. */
EXPORT int cuPointerGetAttribute(void *value, int attribute, uint64_t pointer) {
    if (attribute != 2) return INVALID_VALUE;
    *(unsigned *)value = 2;
    return is("host pointers") ? INVALID_VALUE : pointer == 0;
}
