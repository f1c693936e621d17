// Decisions of the CPU's device that only its speed tells. For tests: nothing in the library calls
// these.
#pragma once

#include "../dispatch/device.h"

namespace hewn {

// Whether an execution with these bindings takes the short way to its addresses.
bool is_located_at_once(const hewn_operator &op, const hewn_buffer_binding *inputs,
                        const hewn_buffer_binding &output);

}  // namespace hewn
