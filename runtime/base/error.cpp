#include "error.h"

#include <cstdarg>
#include <cstdio>

namespace hewn {

hewn_status fail(hewn_error *error, hewn_status status, const char *format, ...) {
    if (error && error->struct_size >= sizeof(hewn_error)) {
        error->status = status;
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->message, sizeof error->message, format, arguments);
        va_end(arguments);
        for (char *c = error->message; *c; c++) {  // what a message quotes may have several lines
            if (*c == '\n' || *c == '\r') *c = ' ';
        }
    }
    return status;
}

hewn_status TensorFailure::operator()(const char *rule, ...) const {
    char text[sizeof error->message];
    va_list arguments;
    va_start(arguments, rule);
    vsnprintf(text, sizeof text, rule, arguments);
    va_end(arguments);
    return fail(error, status, "%s %s: %s", op, tensor, text);
}

}  // namespace hewn
