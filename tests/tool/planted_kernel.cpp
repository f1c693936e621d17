// A kernel with one wrong constant, for tests of what finds it: u8 results reach 254 at most. The
// linker takes this for the kernel (--wrap).
#include <HalideRuntime.h>

#include <algorithm>
#include <cstdint>

extern "C" {
int HEWN_REAL_KERNEL(void *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *,
                     halide_buffer_t *);

int HEWN_PLANTED_KERNEL(void *context, halide_buffer_t *x, halide_buffer_t *scale,
                        halide_buffer_t *zero_point, halide_buffer_t *y) {
    constexpr uint8_t LARGEST = 254;
    const int code = HEWN_REAL_KERNEL(context, x, scale, zero_point, y);
    for (int32_t row = 0; row < y->dim[1].extent; row++) {
        uint8_t *const results = y->host + int64_t(row) * y->dim[1].stride;
        for (int32_t i = 0; i < y->dim[0].extent; i++) results[i] = std::min(results[i], LARGEST);
    }
    return code;
}
}
