// The names of the kinds of devices, for messages of the library and for the command line, which
// also includes this file.
#pragma once

#include <hewn/hewn.h>

namespace hewn {

// The members are arrays, because pointers would need relocations in every program: 24 bytes for
// each pointer.
struct DeviceKindNames {
    hewn_device_kind kind;
    char word[8];       // "cuda", as in hewn_create_cuda_device and --device cuda
    char name[8];       // "CUDA"
    char a_device[24];  // "a CUDA device"
};

inline constexpr DeviceKindNames kDeviceKinds[] = {
    {HEWN_DEVICE_CPU, "cpu", "the CPU", "a CPU device"},
    {HEWN_DEVICE_CUDA, "cuda", "CUDA", "a CUDA device"},
    {HEWN_DEVICE_OPENCL, "opencl", "OpenCL", "an OpenCL device"},
    {HEWN_DEVICE_D3D12, "d3d12", "D3D12", "a Direct3D 12 device"},
};

constexpr int kDeviceKindCount = int(sizeof kDeviceKinds / sizeof *kDeviceKinds);

// Returns the names of a kind; those of the CPU if `kind` is not a kind of device. A kind is its
// index in kDeviceKinds.
constexpr const DeviceKindNames &names_of(hewn_device_kind kind) {
    return kDeviceKinds[kind > 0 && kind < kDeviceKindCount ? kind : 0];
}
static_assert(names_of(HEWN_DEVICE_CPU).kind == HEWN_DEVICE_CPU &&
              names_of(HEWN_DEVICE_CUDA).kind == HEWN_DEVICE_CUDA &&
              names_of(HEWN_DEVICE_OPENCL).kind == HEWN_DEVICE_OPENCL &&
              names_of(HEWN_DEVICE_D3D12).kind == HEWN_DEVICE_D3D12);

}  // namespace hewn
