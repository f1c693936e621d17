// The functions that create GPU devices, in a build without kernels for GPUs: all of them fail.
#include "../base/device_kinds.h"
#include "../base/error.h"
#include "../dispatch/dispatch.h"

namespace hewn {

namespace {
template<hewn_device_kind Kind>
hewn_status absent(hewn_error *error) {
    return fail(error, HEWN_STATUS_NO_DEVICE, "%s: %s no kernels for GPUs: see %s",
                names_of(Kind).name, kernels_are_of(), kernels_chosen_by());
}
}  // namespace

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
