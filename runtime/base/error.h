// How a call that fails reports its error: by a status, and by a message in the caller's
// hewn_error.
#pragma once

#include <hewn/hewn.h>

namespace hewn {

// Writes the status and the formatted message to `error`, unless it is null or its struct_size is
// too small. Returns `status`.
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4), cold))
#endif
hewn_status
fail(hewn_error *error, hewn_status status, const char *format, ...);

// Reports an error of one tensor of an operator. The message begins with the names of the operator
// and the tensor, and `rule` says what is wrong. Returns `status`.
struct TensorFailure {
    hewn_error *error;
    hewn_status status;
    const char *op, *tensor;

#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3), cold))
#endif
    hewn_status
    operator()(const char *rule, ...) const;
};

}  // namespace hewn

// Evaluates a status and, if it is not OK, returns it from the enclosing function.
#define HEWN_CHECK(expression) \
    if (const hewn_status status = (expression); status != HEWN_STATUS_OK) return status
