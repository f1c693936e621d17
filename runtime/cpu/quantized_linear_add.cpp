// QUANTIZED_LINEAR_ADD on the CPU. It computes the formula with the output's scale (the form
// `divide`) or its reciprocal (`reciprocal`). If the parameters are constants and a trial showed
// the same outputs, it computes with folded factors (`folded`, folding.h).
#include "folding.h"

#include <cmath>

#include "../problem/bindings.h"
#include "kernel.h"

namespace hewn {

namespace {

// Indices of the inputs; then those of the scales and of the zero points of A, B and the output.
enum { kA, kAScale, kAZeroPoint, kB, kBScale, kBZeroPoint, kOutputScale, kOutputZeroPoint };
constexpr int kScales[] = {kAScale, kBScale, kOutputScale};
constexpr int kZeroPoints[] = {kAZeroPoint, kBZeroPoint, kOutputZeroPoint};

// The other forms. Null if there are too few elements, or if the build does not have the form.
struct AddForms {
    const Form *reciprocal, *folded;
};

// Everything that follows from the values of the scales and zero points.
struct Parameters {
    const Form *form = nullptr;  // the form for these values; null until they are prepared
    float r0, r1;                // r0 + r1 ~ 1 / output scale
    Quantization quantization;
    FoldedFactors factors;
};

// Reads the scales and zero points of A, B and the output into `q`. It does not return a struct,
// whose copy would load wide what narrow stores just wrote, and would wait for those stores.
void read_quantization(const CpuCall &call, Quantization &q) {
    for (int t = 0; t < 3; t++) {
        q.scale[t] = scale_of(call, kScales[t]);
        q.zero_point[t] = zero_point_of(call, kZeroPoints[t]);
    }
}

// Whether no quotient of 8-bit inputs reaches 2^31, as all forms but `divide` require. False for
// NaN.
bool bounded(const float *scale) {
    const double largest = 255 * (std::fabs(double(scale[0])) + std::fabs(double(scale[1])));
    return largest <= 0x1p30 * std::fabs(double(scale[2]));
}

// Reads the scales and zero points, and chooses the form by the formula for their values.
void prepare_quantized_add(const CpuCall &call, Parameters &p) {
    const CpuKernel &kernel = call.kernel;
    read_quantization(call, p.quantization);
    p.form = kernel.form;
    const float *const scale = p.quantization.scale;
    const Form *const reciprocal = kernel.own<AddForms>().reciprocal;
    if (!reciprocal || !ordinary(scale[2]) || !bounded(scale)) return;
    set_reciprocal(scale[2], p.r0, p.r1);
    p.form = reciprocal;
}

// Calls a form that computes the formula. `divisor` is the output's scale, or the two parts of its
// reciprocal.
template<class... Divisor>
int call_by_formula(const Form &form, const CpuCall &call, const Quantization &q,
                    halide_buffer_t *operands, Divisor... divisor) {
    return call_kernel(form, call, &operands[0], &operands[1], q.zero_point[2], q.scale[0],
                       q.scale[1], q.zero_point[0], q.zero_point[1], divisor..., &operands[2]);
}

// Calls any of the forms with what was prepared for it.
int call_quantized_add_form(const Form &form, const CpuCall &call, const Parameters &p,
                            halide_buffer_t *operands) {
    const CpuKernel &kernel = call.kernel;
    const Quantization &q = p.quantization;
    if (&form == kernel.form) return call_by_formula(form, call, q, operands, q.scale[2]);
    if (&form == kernel.own<AddForms>().reciprocal)
        return call_by_formula(form, call, q, operands, p.r0, p.r1);
    return call_kernel(form, call, &operands[0], &operands[1], q.zero_point[2], p.factors.a,
                       p.factors.b, p.factors.offset, &operands[2]);
}

// Returns the bytes that an input may have.
Bytes bytes_of(const Problem &problem, int input) {
    const Tensor &tensor = problem.inputs[input];
    return tensor.constant ? bytes_in(problem.constants[input], tensor.bytes) : all_bytes();
}

// Searches for factors that give the same outputs as the form in `p`. Returns 0 or a kernel's error
// code.
int search_factors(const CpuCall &call, const Parameters &p, FoldedFactors &factors, bool &fits) {
    struct Trial {
        const CpuCall &call;
        Parameters parameters;
    } trial = {call, p};
    const auto compute = [](const void *context, halide_buffer_t *operands,
                            const FoldedFactors *factors) {
        Trial trial = *static_cast<const Trial *>(context);
        if (factors) trial.parameters.factors = *factors;
        const Form *const folded = trial.call.kernel.own<AddForms>().folded;
        const Form &form = factors ? *folded : *trial.parameters.form;
        return call_quantized_add_form(form, trial.call, trial.parameters, operands);
    };
    const Problem &problem = *call.kernel.problem;
    const halide_type_t types[] = {halide_type(problem.inputs[kA].type),
                                   halide_type(problem.inputs[kB].type),
                                   halide_type(problem.output.type)};
    return find_folded_factors(p.quantization, types, bytes_of(problem, kA), bytes_of(problem, kB),
                               compute, &trial, factors, fits);
}

// Calls `divide`.
int call_quantized_add_divided(BoxCall &context, halide_buffer_t *operands) {
    const CpuCall &call = static_cast<CpuCall &>(context);
    Quantization q;
    read_quantization(call, q);
    return call_by_formula(*call.kernel.form, call, q, operands, q.scale[2]);
}

// Prepares the parameters for the first box of a slice, and calls the form for them.
int call_quantized_add(BoxCall &context, halide_buffer_t *operands) {
    CpuCall &call = static_cast<CpuCall &>(context);
    Parameters &p = call.state<Parameters>();
    if (!p.form) prepare_quantized_add(call, p);
    return call_quantized_add_form(*p.form, call, p, operands);
}

// Calls the form that was prepared at compile, for constant parameters.
int call_quantized_add_settled(BoxCall &context, halide_buffer_t *operands) {
    const CpuCall &call = static_cast<CpuCall &>(context);
    const Parameters &p = *static_cast<const Parameters *>(call.kernel.settled);
    return call_quantized_add_form(*p.form, call, p, operands);
}

// If all parameters are constants, prepares them and searches for folded factors.
__attribute__((cold)) int settle_quantized_add(const Plan &, const Allocator &allocator,
                                               CpuKernel &kernel, void *const *inputs,
                                               void *user_context) {
    for (const auto &parameters : {kScales, kZeroPoints}) {
        for (int t = 0; t < 3; t++) {
            if (is_bound(kernel.problem->inputs[parameters[t]])) return 0;
        }
    }
    Parameters *const p = allocator.allocate<Parameters>();
    if (!p) return kNoMemory;
    kernel.settled = p;
    kernel.call = call_quantized_add_settled;
    const CpuCall call(kernel, inputs, user_context);
    prepare_quantized_add(call, *p);
    const Form *const folded = kernel.own<AddForms>().folded;
    if (!folded || !bounded(p->quantization.scale)) return 0;
    bool fits;
    const int code = search_factors(call, *p, p->factors, fits);
    if (code == 0 && fits) p->form = folded;
    return code;
}

// There is one mode. The values of the parameters decide which form it calls; they are known at
// compile, or each slice reads them.
__attribute__((cold)) int list_modes(const Space &space, const Variant &variant, CpuKernel &kernel,
                                     CpuMode *modes) {
    kernel.form = variant.form("divide");
    AddForms &forms = kernel.own<AddForms>();
    if (element_count(space) >= variant.plan->reciprocal_elements)
        forms = {variant.form("reciprocal"), variant.form("folded")};
    const bool divides = !forms.reciprocal && !forms.folded;
    modes[0] = {0,
                nullptr,
                divides ? call_quantized_add_divided : call_quantized_add,
                {kernel.form->layouts, 0, true}};
    return 1;
}

}  // namespace

const CpuForms forms_of_quantized_linear_add = {list_modes, nullptr, settle_quantized_add};

}  // namespace hewn
