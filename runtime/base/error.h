// How a refused call reports: a status, and a message in the caller's hewn_error.
#pragma once

#include <hewn/hewn.h>

namespace hewn {

// Fills in `error`, if it is not null and of a known size. Returns `status`.
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4), cold))
#endif
hewn_status
fail(hewn_error *error, hewn_status status, const char *format, ...);

// Fails with what is wrong with a tensor of an operator. Their names begin the message.
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

// Evaluates a status, and returns it from the enclosing function if it is not OK.
#define HEWN_CHECK(expression) \
    if (const hewn_status status = (expression); status != HEWN_STATUS_OK) return status
