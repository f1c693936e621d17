// QUANTIZED_LINEAR_ADD on the CPU. It computes the formula with the output's scale (the form
// `divide`) or its reciprocal (`reciprocal`). If the parameters are constants and a trial showed
// the same outputs, it computes with folded factors (`folded`, folding.h). An activation clamps
// what the form has written, while that is still in the first cache.
#include "folding.h"

#include <cmath>
#include <cstring>

#include "../problem/activation.h"
#include "../problem/bindings.h"
#include "../problem/lowering.h"
#include "kernel.h"

namespace hewn {

namespace {

// The scales and the zero points of A, B and the output.
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

// Returns what computes a box, but for the activation.
CallBox call_without_activation(const CpuKernel &kernel) {
    if (kernel.settled) return call_quantized_add_settled;
    const AddForms &forms = kernel.own<AddForms>();
    return forms.reciprocal || forms.folded ? call_quantized_add : call_quantized_add_divided;
}

// ---- Activations: compiled for size ("cold"), with vectors that are written out ----

// The least and the greatest result.
struct Range {
    int32_t low, high;
};

// Returns what QUANTIZE_LINEAR makes of a bound.
int32_t quantized_bound(float bound, float scale, int32_t zero_point, const Range &all) {
    const float quotient = bound / scale;
    if (quotient != quotient) return zero_point;
    // Beyond kMost every result saturates, whatever the zero point is. Below it the sum with
    // kRounds rounds to an integer, ties to even.
    constexpr float kMost = 1 << 20, kRounds = 0x1.8p23f;
    const float clamped = quotient > kMost ? kMost : quotient < -kMost ? -kMost : quotient;
    const int32_t sum = int32_t(clamped + kRounds - kRounds) + zero_point;
    return sum < all.low ? all.low : sum > all.high ? all.high : sum;
}

// Returns the range that the activation leaves.
__attribute__((cold)) Range range_of(const CpuCall &call) {
    const Problem &problem = *call.kernel.problem;
    const halide_type_t type = halide_type(problem.output.type);
    const int32_t values = 1 << type.bits, least = type.code == halide_type_int ? -values / 2 : 0;
    const Range all = {least, least + values - 1};
    const ActivationBounds bounds = bounds_of(quantized_activation_of(problem));
    const auto quantized = [&](float bound) {
        return quantized_bound(bound, scale_of(call, kOutputScale),
                               zero_point_of(call, kOutputZeroPoint), all);
    };
    const int32_t low = quantized(bounds.low),
                  high = bounds.has_high ? quantized(bounds.high) : all.high;
    return {low < high ? low : high, high};
}

// Clamps `count` elements. T is a type of which every processor has the minimum and the maximum of
// vectors; `flipped` is the highest bit for elements that have the other signedness, else 0.
template<class T>
__attribute__((cold)) void clamp_elements(void *elements, int32_t count, int flipped,
                                          const Range &range) {
    typedef T Vector __attribute__((vector_size(16)));
    constexpr int32_t kStep = sizeof(Vector) / sizeof(T);
    const T flip = T(flipped);
    const Vector low = Vector{} + T(T(range.low) ^ flip), high = Vector{} + T(T(range.high) ^ flip);
    T *const first = static_cast<T *>(elements);
    for (int32_t i = 0; i < count; i += kStep) {
        const size_t bytes = size_t(count - i < kStep ? count - i : kStep) * sizeof(T);
        Vector v = {};
        if (bytes == sizeof v) std::memcpy(&v, first + i, sizeof v);
        else std::memcpy(&v, first + i, bytes);
        v ^= flip;
        v = v > low ? v : low;
        v = v < high ? v : high;
        v ^= flip;
        if (bytes == sizeof v) std::memcpy(first + i, &v, sizeof v);
        else std::memcpy(first + i, &v, bytes);
    }
}

// Clamps the output of a box to the range.
__attribute__((cold)) void clamp_box(const halide_buffer_t &output, const Tensor &tensor,
                                     const Range &range) {
    const int64_t pitch = int64_t(output.dim[1].stride) * tensor.element_bytes;
    uint8_t *row = output.host;
    for (int32_t y = 0; y < output.dim[1].extent; y++, row += pitch) {
        const int32_t width = output.dim[0].extent;
        switch (tensor.type) {
        case HEWN_DATA_TYPE_UINT8: clamp_elements<uint8_t>(row, width, 0, range); break;
        case HEWN_DATA_TYPE_INT8: clamp_elements<uint8_t>(row, width, 0x80, range); break;
        case HEWN_DATA_TYPE_INT16: clamp_elements<int16_t>(row, width, 0, range); break;
        default: clamp_elements<int16_t>(row, width, 0x8000, range); break;
        }
    }
}

// Computes a box in parts that the first cache holds, and clamps each.
__attribute__((cold)) int call_activated(BoxCall &context, halide_buffer_t *box) {
    constexpr int32_t kPart = 8192;  // elements
    const CpuCall &call = static_cast<CpuCall &>(context);
    const CallBox compute = call_without_activation(call.kernel);
    const Range range = range_of(call);
    const int32_t width = box[2].dim[0].extent, height = box[2].dim[1].extent,
                  columns = width < kPart ? width : kPart, rows = kPart / columns;
    const int32_t bytes = call.kernel.problem->output.element_bytes;  // of all three
    halide_dimension_t dims[3][2];
    halide_buffer_t part[3];
    for (int32_t y = 0; y < height; y += rows) {
        for (int32_t x = 0; x < width; x += columns) {
            for (int o = 0; o < 3; o++) {
                part[o] = box[o];
                part[o].dim = dims[o];
                for (int d = 0; d < 2; d++) dims[o][d] = box[o].dim[d];
                dims[o][0].extent = width - x < columns ? width - x : columns;
                dims[o][1].extent = height - y < rows ? height - y : rows;
                const int64_t first =
                    int64_t(x) * dims[o][0].stride + int64_t(y) * dims[o][1].stride;
                part[o].host += first * bytes;
            }
            if (const int code = compute(context, part)) return code;
            clamp_box(part[2], call.kernel.problem->output, range);
        }
    }
    return 0;
}

// Returns what computes a box.
CallBox call_of(const CpuKernel &kernel) {
    return quantized_activation_of(*kernel.problem) ? call_activated
                                                    : call_without_activation(kernel);
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
    kernel.call = call_of(kernel);
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
    modes[0] = {0, nullptr, call_of(kernel), {kernel.form->layouts, 0, true}};
    return 1;
}

}  // namespace

const CpuForms forms_of_quantized_linear_add = {list_modes, nullptr, settle_quantized_add};

}  // namespace hewn
