// Calls of the library, on the CPU and on devices, and how they ended.
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

// How a call ended.
struct Outcome {
    hewn_status status = HEWN_STATUS_OK;
    std::string message;
    friend std::ostream &operator<<(std::ostream &out, const Outcome &outcome) {
        return out << "status " << outcome.status << ", \"" << outcome.message << "\"";
    }
};

// Runs call(context, &error). Also checks the contract of hewn_error: filled in by a failure,
// untouched by a success.
Outcome outcome_of(hewn_status (*call)(const void *context, hewn_error *), const void *context);
// The same of a lambda.
template<class Call>
Outcome outcome_of(const Call &call) {
    return outcome_of(
        [](const void *context, hewn_error *error) {
            return (*static_cast<const Call *>(context))(error);
        },
        &call);
}

// What a result pointer holds before a call, which one that fails leaves there. Never dereferenced.
template<class T>
T *untouched() {
    static char somewhere;
    return reinterpret_cast<T *>(&somewhere);
}

hewn_compile_options compile_options(const char *variant = nullptr, int32_t max_threads = 0);

// Some of a problem's inputs as constants.
struct Constants {
    std::vector<hewn_buffer_binding> bindings;  // one for each input
    uint32_t mask = 0;                          // a bit for each that is a constant

    // Of the inputs that `chosen` has a bit for, those that are present.
    Constants(const Problem &problem, uint32_t chosen);
    // Its scales and zero points.
    explicit Constants(const Problem &problem);
    // Valid while this object lives.
    hewn_compile_options added_to(hewn_compile_options options) const;
};

Outcome compile(const Description &description, const hewn_compile_options *options,
                OperatorPtr &op, hewn_device *device = nullptr);

struct DestroyBoundOperator {
    void operator()(hewn_bound_operator *bound) const { hewn_destroy_bound_operator(bound); }
};
using BoundOperatorPtr = std::unique_ptr<hewn_bound_operator, DestroyBoundOperator>;

Outcome bind_operator(const hewn_operator *op, const hewn_buffer_binding *inputs,
                      uint32_t input_count, const hewn_buffer_binding *outputs,
                      uint32_t output_count, const hewn_execute_options *options,
                      BoundOperatorPtr &bound);

// A device of the kind that a target or variant is for, opened once; null for the CPU.
hewn_device *device_for(const char *variant);

// A number that a problem's layout alone decides, so that a test picked by a filter goes the ways
// that it went in the whole run.
size_t way_of(const Problem &problem);

// By hewn_execute, or by hewn_bind and hewn_run: as way_of() is even or odd. On a device the
// tensors are in its memory while it executes. Bit i of `constants`: input i was given at compile.
Outcome execute(const hewn_operator *op, Problem &problem,
                const hewn_execute_options *options = nullptr, hewn_device *device = nullptr,
                uint32_t constants = 0);
// The same of tensors in the operator's order, by hewn_bind and hewn_run if `binds`.
Outcome execute(const hewn_operator *op, bool binds, const std::vector<Tensor *> &inputs,
                const std::vector<Tensor *> &outputs, const hewn_execute_options *options = nullptr,
                hewn_device *device = nullptr, uint32_t constants = 0);

}  // namespace hewn_test
