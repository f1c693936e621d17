// Places in memory, of every kind of device.
#pragma once

#include <cstdint>

namespace hewn {

// Where a tensor's first byte is: `memory` is what a driver calls the memory (0 where addresses
// alone tell), `address` the place in it.
struct Place {
    uint64_t memory, address;
};

}  // namespace hewn
