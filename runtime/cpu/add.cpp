// ADD on the CPU.
#include "kernel.h"

namespace hewn {

namespace {

int call_add(BoxCall &context, halide_buffer_t *operands) {
    const CpuCall &call = static_cast<CpuCall &>(context);
    return call_kernel(*call.kernel.form, call, &operands[0], &operands[1],
                       call.kernel.prefetch_distance, &operands[2]);
}

__attribute__((cold)) void choose_add_form(const Space &, const Variant &variant,
                                           CpuKernel &kernel) {
    kernel.form = variant.form("general");
    kernel.call = call_add;
}

// A chip may follow ADD's long streams by itself, so ADD has a share of its own of the last-level
// cache up to which it prefetches. f16 takes longer to add than to read: with two large inputs it
// prefetches up to the usual share, with one not at all
// (docs/lab/performance.md#software-prefetching).
__attribute__((cold)) bool fit_add(Plan &plan, int32_t, const Variant &, CpuKernel &kernel) {
    const bool one_large_input = __builtin_popcount(plan.prefetched) < 2;
    const bool f16 = kernel.problem->output.type == HEWN_DATA_TYPE_FLOAT16;
    kernel.prefetch_share = !f16              ? PrefetchShare::OfAdd
                            : one_large_input ? PrefetchShare::None
                                              : PrefetchShare::Usual;
    return true;
}

}  // namespace

const CpuForms forms_of_add = {choose_add_form, fit_add, nullptr};

}  // namespace hewn
