// ADD on the CPU.
#include "cpu_kernel.h"

namespace hewn {

namespace {

int call_add(BoxCall &context, halide_buffer_t *operands) {
    const CpuCall &call = static_cast<CpuCall &>(context);
    return call_kernel(*call.kernel.form, call, &operands[0], &operands[1], call.kernel.prefetch_distance, &operands[2]);
}

}  // namespace

__attribute__((cold)) void choose_add_form(const Space &, const Variant &variant, CpuKernel &kernel) {
    kernel.form = variant.form("general");
    kernel.call = call_add;
}

// Long streams a Zen 5 follows by itself, but for f16's, which take longer to add than to read. Times as fast by prefetching:
// 0.94 to 1.14 at 3 and 4 MiB of operands, 0.9 to 0.96 at 6, 0.86 to 0.93 at 8 with a broadcast operand. Of f16 1.12 at 6 MiB,
// but with a broadcast operand 0.9 and 0.8 at 4 and 8.
__attribute__((cold)) bool fit_add(Plan &plan, int32_t, const Variant &, CpuKernel &kernel) {
    const bool one_large_input = __builtin_popcount(plan.prefetched) < 2;
    const bool f16 = kernel.problem->output.type == HEWN_DATA_TYPE_FLOAT16;
    kernel.prefetch_l3_64ths = !f16 ? 10 : one_large_input ? 0 : kPrefetchL3_64ths;
    return true;
}

}  // namespace hewn
