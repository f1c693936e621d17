// The calls of OpenCL that an application makes, for the tests of OpenCL devices. The library is
// loaded at run time, so that the tests can be built and skipped where there is no OpenCL.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <vector>

#include "drivers.h"

namespace hewn_test {

using Handle = void *;  // any cl_* object

// The library's function of this name; null if there is no library or no such function.
template<class F>
F symbol(const char *name) {
    static void *library = dlopen("libOpenCL.so.1", RTLD_NOW);
    return library ? reinterpret_cast<F>(dlsym(library, name)) : nullptr;
}

// The devices of a platform, as the driver itself lists them.
inline std::vector<Handle> devices_of(Handle platform) {
    std::vector<Handle> devices(64);
    unsigned count = 0;
    symbol<int (*)(Handle, uint64_t, unsigned, Handle *, unsigned *)>("clGetDeviceIDs")(
        platform, 0xffffffff, 64, devices.data(), &count);
    devices.resize(count);
    return devices;
}
// The driver's platforms; none if there is no OpenCL library.
inline std::vector<Handle> platforms() {
    std::vector<Handle> platforms(64);
    unsigned count = 0;
    if (const auto get = symbol<int (*)(unsigned, Handle *, unsigned *)>("clGetPlatformIDs"))
        get(64, platforms.data(), &count);
    platforms.resize(count);
    return platforms;
}

// Makes a hewn device of the application's context and queue.
inline Outcome create(Handle context, Handle queue, DevicePtr &device) {
    const hewn_opencl_device_desc desc = {sizeof desc, context, queue, nullptr, nullptr, nullptr};
    hewn_device *created = nullptr;
    const Outcome outcome = outcome_of(
        [&](hewn_error *error) { return hewn_create_opencl_device(&desc, &created, error); });
    EXPECT_EQ(outcome.status == HEWN_STATUS_OK, created != nullptr) << outcome;
    device.reset(created);
    return outcome;
}

}  // namespace hewn_test
