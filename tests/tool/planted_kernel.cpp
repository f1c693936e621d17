// A kernel with one wrong constant, for tests of what finds it: its u8 results reach at most 254.
// With HEWN_PLANTED_ROUNDED they do so only for a row of quotients that were rounded before, as for
// an attribute `precision`. The linker takes this function instead of the kernel (--wrap).
#include <HalideRuntime.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace {

#ifdef HEWN_PLANTED_ROUNDED
const uint8_t *element(const halide_buffer_t &buffer, int32_t x, int32_t y) {
    return buffer.host +
           4 * (int64_t(x) * buffer.dim[0].stride + int64_t(y) * buffer.dim[1].stride);
}

// Whether the row has quotients that were rounded before: all scales are 1, and the low bits of all
// elements are 0. The row must be so long that this cannot be chance.
bool is_wrong(const halide_buffer_t &x, const halide_buffer_t &scale, int32_t row) {
    for (int32_t i = 0; i < x.dim[0].extent; i++) {
        uint32_t bits;
        float divisor;
        std::memcpy(&bits, element(x, i, row), sizeof bits);
        std::memcpy(&divisor, element(scale, i, row), sizeof divisor);
        if (divisor != 1 || bits << 19 != 0) return false;
    }
    return x.dim[0].extent >= 16;
}
#else
bool is_wrong(const halide_buffer_t &, const halide_buffer_t &, int32_t) { return true; }
#endif

}  // namespace

extern "C" {
int HEWN_REAL_KERNEL(void *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *,
                     halide_buffer_t *);

int HEWN_PLANTED_KERNEL(void *context, halide_buffer_t *x, halide_buffer_t *scale,
                        halide_buffer_t *zero_point, halide_buffer_t *y) {
    constexpr uint8_t LARGEST = 254;
    const int code = HEWN_REAL_KERNEL(context, x, scale, zero_point, y);
    for (int32_t row = 0; row < y->dim[1].extent; row++) {
        if (!is_wrong(*x, *scale, row)) continue;
        uint8_t *const results = y->host + int64_t(row) * y->dim[1].stride;
        for (int32_t i = 0; i < y->dim[0].extent; i++) results[i] = std::min(results[i], LARGEST);
    }
    return code;
}
}
