// ADD1 on the CPU. Its activation decides which form it calls.
#include "../problem/activation.h"
#include "add.h"

namespace hewn {

namespace {

int call_clamped(BoxCall &context, halide_buffer_t *operands) {
    const CpuCall &call = static_cast<CpuCall &>(context);
    const ActivationPieces p = pieces_of(call.kernel.problem->attributes);
    return call_kernel(*call.kernel.form, call, &operands[0], &operands[1],
                       call.kernel.prefetch_distance, p.offset, p.low, p.high, &operands[2]);
}

int call_pieces(BoxCall &context, halide_buffer_t *operands) {
    const CpuCall &call = static_cast<CpuCall &>(context);
    const ActivationPieces p = pieces_of(call.kernel.problem->attributes);
    return call_kernel(*call.kernel.form, call, &operands[0], &operands[1],
                       call.kernel.prefetch_distance, p.slope, p.offset, p.low, p.high, p.below,
                       p.above, p.shift, p.elsewhere, &operands[2]);
}

struct FormOfActivation {
    const char *name;
    CallBox call;
};
FormOfActivation form_of(hewn_activation activation) {
    switch (activation) {
    case HEWN_ACTIVATION_IDENTITY: return {"general", call_add};
    case HEWN_ACTIVATION_RELU:
    case HEWN_ACTIVATION_CLIP: return {"clamped", call_clamped};
    // It has the arguments of ADD.
    case HEWN_ACTIVATION_SOFTSIGN: return {"softsign", call_add};
    default: return {"pieces", call_pieces};
    }
}

__attribute__((cold)) int list_modes(const Space &, const Variant &variant, CpuKernel &kernel,
                                     CpuMode *modes) {
    const auto [name, call] = form_of(kernel.problem->attributes.add1_activation);
    kernel.form = variant.form(name);
    modes[0] = {0, nullptr, call, {kernel.form->layouts, 0, false}};
    return 1;
}

}  // namespace

const CpuForms forms_of_add1 = {list_modes, suits_add, nullptr};

}  // namespace hewn
