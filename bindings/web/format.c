// snprintf and vsnprintf for hewn.wasm, with only those conversions that the runtime's messages
// use. The C library's own functions, which include 128-bit floating point, would be a fifth of a
// module with one kernel.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct {
    char *at, *end;
    int length;  // of the whole text, including the characters for which there was no room
} Text;

static void put(Text *text, char c) {
    if (text->at < text->end) *text->at++ = c;
    text->length++;
}

static void put_number(Text *text, uint64_t number, unsigned base) {
    char digits[20];
    int count = 0;
    do digits[count++] = "0123456789abcdef"[number % base];
    while (number /= base);
    while (count > 0) put(text, digits[--count]);
}

// The conversions are %s, %d, %u, %x, %lld, %llu and %llx. Any other ends the program:
// tests/format_test.py tries all that the runtime uses.
int vsnprintf(char *restrict to, size_t size, const char *restrict format, va_list arguments) {
    Text text = {to, size > 0 ? to + size - 1 : to, 0};
    for (; *format; format++) {
        if (*format != '%') {
            put(&text, *format);
            continue;
        }
        const int wide = format[1] == 'l' && format[2] == 'l';
        format += wide ? 3 : 1;
        if (*format == 's' && !wide) {
            for (const char *s = va_arg(arguments, const char *); *s; s++) put(&text, *s);
        } else if (*format == 'd') {
            const int64_t number = wide ? va_arg(arguments, int64_t) : va_arg(arguments, int);
            if (number < 0) put(&text, '-');
            put_number(&text, number < 0 ? -(uint64_t)number : (uint64_t)number, 10);
        } else if (*format == 'u' || *format == 'x') {
            put_number(&text, wide ? va_arg(arguments, uint64_t) : va_arg(arguments, unsigned),
                       *format == 'u' ? 10 : 16);
        } else {
            __builtin_trap();
        }
    }
    if (size > 0) *text.at = 0;
    return text.length;
}

int snprintf(char *restrict to, size_t size, const char *restrict format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(to, size, format, arguments);
    va_end(arguments);
    return length;
}
