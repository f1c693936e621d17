// Lists the machine's devices of all kinds, and opens them.
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "base/device_kinds.h"
#include "base/error.h"
#include "base/system.h"
#include "gpu/device.h"

namespace hewn {

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;  // guards best_device()'s results

static_assert(sizeof hewn_kernel_table.gpus / sizeof *hewn_kernel_table.gpus == kDeviceKindCount,
              "a kind of device has no place in the table");
// Returns the driver of a kind of device; null for the CPU, and if the program links no kernels for
// GPUs.
const GpuApi *api_of(hewn_device_kind kind) { return hewn_kernel_table.gpus[kind]; }

// Finds the best device of a kind: among devices that lack nothing, the first one with the highest
// capability; if all lack something, the first one.
BestDevice find_best(hewn_device_kind kind) {
    BestDevice best = {{HEWN_DEVICE_CPU, 0}, {}};
    if (!api_of(kind)) return best;
    const GpuApi &api = *api_of(kind);
    for (uint32_t i = 0;; i++) {
        hewn_device_info info = {};
        if (api.describe(i, &info, nullptr) != HEWN_STATUS_OK) return best;
        const bool first = best.support.device != api.kind;
        if (!first &&
            (info.missing[0] || (!best.missing[0] && info.capability <= best.support.capability)))
            continue;
        best.support = {api.kind, info.capability};
        memcpy(best.missing, info.missing, sizeof best.missing);
    }
}

// Sets *index to the device that HEWN_ANY_DEVICE stands for: the first GPU that lacks nothing, else
// the first such device that is software on the CPU. Without either it is 0, and opening that
// device reports what is wrong. Direct3D 12 is an exception: every Windows has software for it,
// which is no GPU, so that fails. A driver of OpenCL for CPUs, on the other hand, was installed to
// be used.
hewn_status find_any(hewn_device_kind kind, uint32_t *index, hewn_error *error) {
    hewn_device_info info = {sizeof info}, software = {};
    for (uint32_t i = 0;
         kind != HEWN_DEVICE_CPU && hewn_get_device(kind, i, &info, nullptr) == HEWN_STATUS_OK;
         i++) {
        if (info.missing[0]) continue;
        if (!info.is_cpu) {
            *index = i;
            return HEWN_STATUS_OK;
        }
        if (!software.struct_size) software = info;
    }
    *index = software.struct_size ? software.index : 0;
    if (!software.struct_size || kind != HEWN_DEVICE_D3D12) return HEWN_STATUS_OK;
    return fail(error, HEWN_STATUS_NO_DEVICE,
                "D3D12: there is no GPU. Adapter %u, %s, is software on the CPU, for which hewn's "
                "own kernels are faster: it is opened only by its index",
                unsigned(software.index), software.name);
}

}  // namespace

const BestDevice &best_device(hewn_device_kind kind) {
    static BestDevice best[kDeviceKindCount];
    static std::atomic<bool> known[kDeviceKindCount];
    static pthread_once_t prepared = PTHREAD_ONCE_INIT;
    if (known[kind].load()) return best[kind];
    // Another thread may have held the mutex when the process forked. It does not exist in the
    // child.
    pthread_once(&prepared,
                 [] { call_in_forked_child([] { mutex = PTHREAD_MUTEX_INITIALIZER; }); });
    pthread_mutex_lock(&mutex);
    if (!known[kind].load()) {
        best[kind] = find_best(kind);
        known[kind].store(true);
    }
    pthread_mutex_unlock(&mutex);
    return best[kind];
}

}  // namespace hewn

using namespace hewn;

hewn_status hewn_get_device(hewn_device_kind kind, uint32_t index, hewn_device_info *info,
                            hewn_error *error) {
    if (!info || info->struct_size < sizeof *info)
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT,
                    "hewn_device_info: is null or struct_size is too small");
    const uint32_t struct_size = info->struct_size;
    hewn_device_info found = {};
    found.kind = kind;
    found.index = index;
    if (kind == HEWN_DEVICE_CPU) {
        if (index > 0) return fail(error, HEWN_STATUS_NO_DEVICE, "CPU: there is one device");
        snprintf(found.name, sizeof found.name, "CPU");
        found.is_cpu = 1;
    } else {
        if (kind < 0 || kind >= kDeviceKindCount)
            return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "%d is no kind of device", int(kind));
        if (!api_of(kind))
            return fail(error, HEWN_STATUS_NO_DEVICE, "%s: %s no kernels for GPUs: see %s",
                        names_of(kind).name, kernels_are_of(), kernels_chosen_by());
        HEWN_CHECK(api_of(kind)->describe(index, &found, error));
    }
    *info = found;
    info->struct_size = struct_size;
    return HEWN_STATUS_OK;
}

hewn_status hewn_open_device(hewn_device_kind kind, uint32_t index, hewn_device **device,
                             hewn_error *error) {
    if (!device)
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "hewn_open_device: device is null");
    hewn_device_info info = {sizeof info};
    hewn_status status =
        index == HEWN_ANY_DEVICE ? find_any(kind, &index, error) : hewn_status(HEWN_STATUS_OK);
    if (status == HEWN_STATUS_OK) status = hewn_get_device(kind, index, &info, error);
    if (status != HEWN_STATUS_OK) return status;
    if (kind == HEWN_DEVICE_CPU) return hewn_create_cpu_device(nullptr, device, error);
    if (info.missing[0])
        return fail(error, HEWN_STATUS_NO_DEVICE, "%s device %u, %s: lacks %s", names_of(kind).name,
                    unsigned(index), info.name, info.missing);
    return api_of(kind)->open(index, device, error);
}
