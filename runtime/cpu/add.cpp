// ADD on the CPU.
#include "add.h"

namespace hewn {

namespace {

__attribute__((cold)) int list_modes(const Space &, const Variant &variant, CpuKernel &kernel,
                                     CpuMode *modes) {
    kernel.form = variant.form("general");
    modes[0] = {0, nullptr, call_add, {kernel.form->layouts, 0, false}};
    return 1;
}

}  // namespace

// A chip may prefetch ADD's long streams by itself, so ADD has its own share of the last-level
// cache up to which it prefetches. Adding f16 takes longer than reading it: with two large inputs
// it prefetches up to the usual share, with one it does not prefetch
// (docs/lab/performance.md#software-prefetching).
__attribute__((cold)) bool suits_add(Plan &plan, int32_t, const Variant &, CpuKernel &kernel) {
    const bool one_large_input = __builtin_popcount(plan.prefetched) < 2;
    const bool f16 = kernel.problem->output.type == HEWN_DATA_TYPE_FLOAT16;
    kernel.prefetch_share = !f16              ? PrefetchShare::OfAdd
                            : one_large_input ? PrefetchShare::None
                                              : PrefetchShare::Usual;
    return true;
}

const CpuForms forms_of_add = {list_modes, suits_add, nullptr};

}  // namespace hewn
