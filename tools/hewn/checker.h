// A variant's results against the scalar truth (reference/), and the smallest input that shows a
// difference.
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
    std::string variant;
    bool constants = false;  // scales and zero points are given at compile
    bool bound = false;      // hewn_bind and hewn_run, rather than hewn_execute
};

// What differs, or was refused; `text` says it, empty: nothing did.
struct Difference {
    std::string text;
    int64_t count = 0;  // of elements
    int64_t first = 0;  // the first of them, in row-major order
};

// Compiles, executes and compares, bit for bit; what lies between and around the elements must stay
// as it was, inputs too. The problem is as before. Null: on the CPU.
Difference check(hewn_test::Problem &problem, const Way &way, const Device *device);

// Tensors in a device's memory while something executes there, what is around them too. On the CPU
// they are bound where they lie.
class Copies {
public:
    explicit Copies(const Device *device) : device_(device) {}
    hewn_buffer_binding binding(hewn_test::Tensor &tensor);
    void read_back();

private:
    const Device *device_;
    std::vector<std::pair<DeviceMemory, hewn_test::Tensor *>> copies_;
};

// The smallest problem found that differs as this one does: of one element with the simplest
// numbers, else of few elements.
hewn_test::Problem smallest(const hewn_test::Problem &problem, const Way &way,
                            const Device *device);

}  // namespace hewn::cli
