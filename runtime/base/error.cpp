// Writes messages to hewn_error. A message is one line of valid UTF-8, whatever it quotes, and is
// cut at a whole character if it is too long.
#include "error.h"

#include <cstdarg>
#include <cstdint>
#include <cstdio>

namespace hewn {

namespace {

// Returns how many bytes the UTF-8 character at `text` has; 0 if no valid character begins there.
int character_bytes(const char *text) {
    const auto byte = [&](int i) { return uint8_t(text[i]); };
    const uint8_t first = byte(0);
    if (first < 0x80) return 1;
    if (first < 0xc2 || first > 0xf4) return 0;
    const int bytes = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    for (int i = 1; i < bytes; i++) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
    }
    // Overlong encodings, surrogates and numbers above the last character are not valid.
    const bool none = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) ||
                      (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f);
    return none ? 0 : bytes;
}

// Control characters are U+0000 to U+001F and U+007F to U+009F.
bool is_control(const char *character, int bytes) {
    const uint8_t last = uint8_t(character[bytes - 1]);
    return bytes == 1 ? last < 0x20 || last == 0x7f
                      : bytes == 2 && uint8_t(character[0]) == 0xc2 && last < 0xa0;
}

// Replaces invalid bytes and control characters. A message may quote an environment variable or
// text of a driver, which can contain anything.
void clean(char *message) {
    for (char *c = message; *c;) {
        const int bytes = character_bytes(c);
        if (bytes == 0) *c++ = '?';
        else if (is_control(c, bytes))
            for (const char *const end = c + bytes; c < end; c++) *c = ' ';
        else c += bytes;
    }
}

// Removes the incomplete character at the end of a message that was cut. `length` is the message's
// length in bytes, at least 4.
void end_before_cut(char *message, size_t length) {
    size_t first = length - 1;
    while (first > length - 4 && (uint8_t(message[first]) & 0xc0) == 0x80) first--;
    if (character_bytes(message + first) == 0) message[first] = 0;
}

}  // namespace

hewn_status fail(hewn_error *error, hewn_status status, const char *format, ...) {
    if (error && error->struct_size >= sizeof(hewn_error)) {
        error->status = status;
        va_list arguments;
        va_start(arguments, format);
        const int length = vsnprintf(error->message, sizeof error->message, format, arguments);
        va_end(arguments);
        if (length < 0) error->message[0] = 0;  // the format cannot be written
        if (length >= int(sizeof error->message))
            end_before_cut(error->message, sizeof error->message - 1);
        clean(error->message);
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
