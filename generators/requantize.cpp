// The kernels of REQUANTIZE, which is DEQUANTIZE_LINEAR to f32 and then QUANTIZE_LINEAR:
//
//     clamp(round((input - input_zero_point) * input_scale / output_scale) + output_zero_point,
//           Min, Max)
//
// rounded to f32 after the product and after the quotient.
#include "elementwise.h"
#include "gpu.h"

namespace {

using namespace Halide;

struct Types {
    static hewn::SignatureTypes types() {
        return {"requantize", {"i8 u8 i16 u16", "i8 u8 i16 u16 i32"}};
    }
};

// The base of the CPU's forms.
template<class Derived>
class Requantize : public hewn::Elementwise<Derived>, public Types {
public:
    template<class T>
    using In = GeneratorInput<T>;
    In<Buffer<void, 2>> input{"input"};
    In<int32_t> output_zero_point{"output_zero_point"}, input_zero_point{"input_zero_point"};
    In<float> input_scale{"input_scale"};

    void configure() {
        input.set_type(this->signature_type(0));
        static_cast<Derived &>(*this).output.set_type(this->signature_type(1));
    }

    void schedule() {
        this->schedule_rows(static_cast<Derived &>(*this).output, {&input});
        for (auto *scalar : {&output_zero_point, &input_zero_point}) scalar->set_estimate(0);
        input_scale.set_estimate(1.0f);
    }

protected:
    std::vector<hewn::Operand> operands() { return {{input, input_zero_point}}; }
    Expr dequantized(const std::vector<Expr> &differences) {
        return hewn::rounded(differences[0] * input_scale);
    }
    Expr dequantized() { return dequantized(hewn::differences_of(this->get_target(), operands())); }
};

// Form `divide`: any scales.
class RequantizeDivide : public Requantize<RequantizeDivide> {
public:
    In<float> output_scale{"output_scale"};
    GeneratorOutput<Buffer<void, 2>> output{"output"};

    void generate() {
        output_scale.set_estimate(1.0f);
        const Type type = output.type();
        const Expr quotient = hewn::rounded(dequantized() / output_scale);
        define(output, {hewn::quantized(quotient, cast(type, output_zero_point), type, target)});
    }
};

// Form `reciprocal`: the output scale is ordinary (2^-60 <= |output_scale| <= 2^60) and given as r0
// + r1 (hewn::times_reciprocal). The runtime takes the form only where the largest difference (255,
// or 65535 for 16 bits) times |input_scale| is at most 2^30 * |output_scale|. So no quotient
// reaches 2^31, and nothing needs clamping in f32.
class RequantizeReciprocal : public Requantize<RequantizeReciprocal> {
public:
    In<float> r0{"r0"}, r1{"r1"};
    GeneratorOutput<Buffer<void, 2>> output{"output"};

    void generate() {
        for (In<float> *scalar : {&r0, &r1}) scalar->set_estimate(1.0f);
        if (hewn::arm::is_target(target)) {
            const Expr quotient = hewn::times_reciprocal(dequantized(), r0, r1);
            return define(
                output, {hewn::arm::quantized_number(quotient, output_zero_point, output.type())});
        }
        const auto to_int32 = [&](const std::vector<Expr> &differences) {
            return hewn::round_to_int32(hewn::times_reciprocal(dequantized(differences), r0, r1));
        };
        define(output, {{&input}, {}, output_zero_point, operands(), to_int32});
    }
};

template<hewn::gpu::Form kForm>
class RequantizeGpu : public hewn::gpu::Kernel<RequantizeGpu<kForm>>, public Types {
public:
    static constexpr hewn::gpu::Form form = kForm;
    static constexpr bool has_one_scale = true;

    std::vector<hewn::gpu::Operand> operands() {
        const Type in = this->signature_type(0), out = this->signature_type(1), f32 = Float(32);
        return {{"input", in, true},
                {"input_scale", f32, false},
                {"input_zero_point", in, false},
                {"output_scale", f32, false},
                {"output_zero_point", out, false},
                {"output", out, true}};
    }
    Expr value(const std::vector<Expr> &v) {
        const Type f32 = Float(32);
        const Expr dequantized = this->numerics().dequantize(v[0], v[1], v[2], f32);
        return this->numerics().quantize(dequantized, v[3], v[4], f32, f32,
                                         this->signature_type(1));
    }
};
using RequantizeDense = RequantizeGpu<hewn::gpu::Form::Dense>;
using RequantizeRuns = RequantizeGpu<hewn::gpu::Form::Runs>;
using RequantizeStrided = RequantizeGpu<hewn::gpu::Form::Strided>;

}  // namespace

HALIDE_REGISTER_GENERATOR(RequantizeDivide, requantize_divide)
HALIDE_REGISTER_GENERATOR(RequantizeReciprocal, requantize_reciprocal)
HALIDE_REGISTER_GENERATOR(RequantizeDense, requantize_dense)
HALIDE_REGISTER_GENERATOR(RequantizeRuns, requantize_runs)
HALIDE_REGISTER_GENERATOR(RequantizeStrided, requantize_strided)
