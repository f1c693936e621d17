// A place in memory, on any kind of device.
#pragma once

#include <cstdint>

namespace hewn {

// The place of a tensor's first byte. `memory` is the driver's handle of a memory object, and
// `address` the offset in it. If the device has plain addresses, `memory` is 0 and `address` is the
// address.
struct Place {
    uint64_t memory, address;
};

}  // namespace hewn
