// ADD on the CPU.
#include "cpu_kernel.h"

namespace hewn {

namespace {

int call_add(BoxCall &context, halide_buffer_t *operands) {
    const CpuCall &call = static_cast<CpuCall &>(context);
    return call_kernel(*call.kernel.form, call, &operands[0], &operands[1], call.kernel.ahead, &operands[2]);
}

}  // namespace

__attribute__((cold)) void choose_add_form(const Space &, const Variant &variant, CpuKernel &kernel) {
    kernel.form = variant.form("general");
    kernel.call = call_add;
}

}  // namespace hewn
