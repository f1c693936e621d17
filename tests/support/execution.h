// Calls the library's functions, on the CPU and on GPUs, and says how each call ended. All calls
// are also checked for what hewn.h promises of errors and result pointers. check.h builds on this
// file: it compares results with the reference.
#pragma once

#include <hewn/hewn.h>

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>

#include "../../reference/tensors.h"

namespace hewn_test {

struct DestroyOperator {
    void operator()(hewn_operator *op) const { hewn_destroy_operator(op); }
};
using OperatorPtr = std::unique_ptr<hewn_operator, DestroyOperator>;

struct DestroyDevice {
    void operator()(hewn_device *device) const { hewn_destroy_device(device); }
};
using DevicePtr = std::unique_ptr<hewn_device, DestroyDevice>;

// How a call ended. The message is empty if it succeeded.
struct Outcome {
    hewn_status status = HEWN_STATUS_OK;
    std::string message;
    friend std::ostream &operator<<(std::ostream &out, const Outcome &outcome) {
        return out << "status " << outcome.status << ", \"" << outcome.message << "\"";
    }
};

// Runs call(context, &error). Also checks the contract of hewn_error: a failure fills it in with
// one line of UTF-8, and a success leaves it untouched.
Outcome outcome_of(hewn_status (*call)(const void *context, hewn_error *), const void *context);
// Runs call(&error), a lambda, in the same way.
template<class Call>
Outcome outcome_of(const Call &call) {
    return outcome_of(
        [](const void *context, hewn_error *error) {
            return (*static_cast<const Call *>(context))(error);
        },
        &call);
}

// The value of a result pointer before a call. A call that fails must leave it there. It is never
// dereferenced.
template<class T>
T *untouched() {
    static char somewhere;
    return reinterpret_cast<T *>(&somewhere);
}

// Options for the newest feature level, without an executor and constants. A null `variant` forces
// none, and 0 threads are no limit.
hewn_compile_options compile_options(const char *variant = nullptr, int32_t max_threads = 0);

// Some of a problem's inputs, to be given to compile as constants.
struct Constants {
    std::vector<hewn_buffer_binding> bindings;  // one for each input
    uint32_t mask = 0;                          // a bit for each input that is a constant

    // Makes constants of the inputs for which `chosen` has a bit, if they are present.
    Constants(const Problem &problem, uint32_t chosen);
    // Makes constants of the problem's scales and zero points.
    explicit Constants(const Problem &problem);
    // The options with these constants. They are valid while this object lives.
    hewn_compile_options added_to(hewn_compile_options options) const;
};

// Compiles for a device (null: the CPU). After a failure `op` is null.
Outcome compile(const Description &description, const hewn_compile_options *options,
                OperatorPtr &op, hewn_device *device = nullptr);

struct DestroyBoundOperator {
    void operator()(hewn_bound_operator *bound) const { hewn_destroy_bound_operator(bound); }
};
using BoundOperatorPtr = std::unique_ptr<hewn_bound_operator, DestroyBoundOperator>;

// Calls hewn_bind. After a failure `bound` is null.
Outcome bind_operator(const hewn_operator *op, const hewn_buffer_binding *inputs,
                      uint32_t input_count, const hewn_buffer_binding *outputs,
                      uint32_t output_count, const hewn_execute_options *options,
                      BoundOperatorPtr &bound);

// The device that a target or variant is for, opened once; null for the CPU. Throws if the device
// cannot be opened.
hewn_device *device_for(const char *variant);

// A number that depends only on how a problem's tensors lie in memory. Functions that test one of
// several ways choose by it, so that a test which a filter picks goes the same ways as in the whole
// run.
size_t way_of(const Problem &problem);

// Executes a problem: by hewn_execute if way_of() is even, by hewn_bind and hewn_run if it is odd.
// For a device, the tensors are copied to its memory and back. If bit i of `constants` is set,
// input i was given at compile, and is not bound.
Outcome execute(const hewn_operator *op, Problem &problem,
                const hewn_execute_options *options = nullptr, hewn_device *device = nullptr,
                uint32_t constants = 0);
// Executes tensors in the operator's order, by hewn_bind and hewn_run if `binds`. Null: a tensor
// that is absent.
Outcome execute(const hewn_operator *op, bool binds, const std::vector<Tensor *> &inputs,
                const std::vector<Tensor *> &outputs, const hewn_execute_options *options = nullptr,
                hewn_device *device = nullptr, uint32_t constants = 0);

}  // namespace hewn_test
