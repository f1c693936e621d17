// The kinds of GPUs in a build without kernels for any.
#include "device.h"

namespace hewn {

namespace {
template<hewn_device_kind Kind>
hewn_status absent(hewn_error *error) {
    return fail(error, HEWN_STATUS_NO_DEVICE, "%s: this build has no kernels for GPUs",
                names_of(Kind).name);
}

template<hewn_device_kind Kind>
constexpr GpuApi absent_api() {
    GpuApi api = {};
    api.kind = Kind;
    api.describe = [](uint32_t, hewn_device_info *, hewn_error *error) {
        return absent<Kind>(error);
    };
    return api;
}
}  // namespace

constexpr GpuApi kCuda = absent_api<HEWN_DEVICE_CUDA>();
constexpr GpuApi kOpenCl = absent_api<HEWN_DEVICE_OPENCL>();
constexpr GpuApi kD3d12 = absent_api<HEWN_DEVICE_D3D12>();

// No operator is for a GPU.
hewn_status gpu_record(const hewn_operator &, Bindings, const hewn_buffer_binding &, void *,
                       hewn_error *error) {
    return absent<HEWN_DEVICE_D3D12>(error);
}

}  // namespace hewn

using namespace hewn;

hewn_status hewn_create_cuda_device(const hewn_cuda_device_desc *, hewn_device **,
                                    hewn_error *error) {
    return absent<HEWN_DEVICE_CUDA>(error);
}
hewn_status hewn_create_opencl_device(const hewn_opencl_device_desc *, hewn_device **,
                                      hewn_error *error) {
    return absent<HEWN_DEVICE_OPENCL>(error);
}
hewn_status hewn_create_d3d12_device(const hewn_d3d12_device_desc *, hewn_device **,
                                     hewn_error *error) {
    return absent<HEWN_DEVICE_D3D12>(error);
}
