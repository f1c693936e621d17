// What the kinds of devices are called, in messages and on the command line, which includes this too.
#ifndef HEWN_RUNTIME_DEVICE_KINDS_H
#define HEWN_RUNTIME_DEVICE_KINDS_H

#include <hewn/hewn.h>

namespace hewn {

struct DeviceKindNames {
    hewn_device_kind kind;
    const char *word;      // "cuda", as in hewn_create_cuda_device and --device cuda
    const char *name;      // "CUDA"
    const char *a_device;  // "a CUDA device"
};

inline constexpr DeviceKindNames kDeviceKinds[] = {
    {HEWN_DEVICE_CPU, "cpu", "the CPU", "a CPU device"},
    {HEWN_DEVICE_CUDA, "cuda", "CUDA", "a CUDA device"},
    {HEWN_DEVICE_OPENCL, "opencl", "OpenCL", "an OpenCL device"},
    {HEWN_DEVICE_D3D12, "d3d12", "D3D12", "a Direct3D 12 device"},
};

// The CPU's for a number that is no kind.
constexpr const DeviceKindNames &names_of(hewn_device_kind kind) {
    for (const DeviceKindNames &names : kDeviceKinds) {
        if (names.kind == kind) return names;
    }
    return kDeviceKinds[0];
}

}  // namespace hewn

#endif  // HEWN_RUNTIME_DEVICE_KINDS_H
