// Compares a variant's results with the scalar reference (reference/), bit for bit. If they differ,
// it finds a small input that shows the difference. `hewn verify` (verify.h) uses it.
#pragma once

#include <cstdint>
#include <hewn/hewn.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../../reference/tensors.h"

namespace hewn::cli {

// How a problem is executed.
struct Way {
    // The variant's name.
    std::string variant;
    // Whether scales and zero points are given as constants at compile.
    bool constants = false;
    // Whether it runs by hewn_bind and hewn_run, instead of hewn_execute.
    bool bound = false;
};

// What a check found.
struct Difference {
    // What differs, or the error. Empty: nothing is wrong.
    std::string text;
    // The number of elements that differ.
    int64_t count = 0;
    // The first element that differs, in row-major order.
    int64_t first = 0;
};

// Compiles and executes the problem, and compares the output with the reference bit for bit. The
// memory between and around the output's elements and all memory of the inputs must keep its
// contents. Afterwards the problem's memory is as before the call. `device` is null for the CPU.
Difference check(hewn_test::Problem &problem, const Way &way, const Device *device);

// Copies of tensors in a device's memory, for an execution there. A copy has the tensor's whole
// memory, with what lies around the elements. On the CPU (`device` is null) nothing is copied: the
// tensors are bound where they lie.
class Copies {
public:
    explicit Copies(const Device *device) : device_(device) {}
    // Copies the tensor to the device, and binds the copy.
    hewn_buffer_binding binding(hewn_test::Tensor &tensor);
    // Copies all tensors back from the device.
    void read_back();

private:
    const Device *device_;
    std::vector<std::pair<DeviceMemory, hewn_test::Tensor *>> copies_;
};

// The smallest problem that it can find, made of parts of this one, for which check() fails too.
// Usually it has one element, with numbers as simple as possible. If the failure needs the layout,
// it is this problem with smaller sizes.
hewn_test::Problem smallest(const hewn_test::Problem &problem, const Way &way,
                            const Device *device);

}  // namespace hewn::cli
