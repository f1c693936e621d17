// DEQUANTIZE_LINEAR: (input - zero_point) * scale.
#include "elementwise.h"
#include "gpu.h"

namespace {

using namespace Halide;

class DequantizeLinear : public hewn::Elementwise<DequantizeLinear> {
public:
    Input<Buffer<void, 2>> input{"input"}, scale{"scale"}, zero_point{"zero_point"};
    Ahead ahead{"ahead"};
    Output<Buffer<void, 2>> output{"output"};

    void configure() {
        input.set_type(signature_type(0));
        scale.set_type(signature_type(1));
        zero_point.set_type(signature_type(0));
        output.set_type(signature_type(1));
    }

    void generate() {
        using hewn::x, hewn::y;
        const Expr difference = hewn::difference_f32(input(x, y), zero_point(x, y), target);
        const Expr product = hewn::rounded(difference * hewn::to_f32(scale(x, y)));
        // f16 computes longer than a near cache takes: 0.88 of the speed.
        ask_ahead(output.type() == Float(32) ? std::vector<Asked>{asked(output)} : std::vector<Asked>{}, ahead);
        define(output, output.type() == Float(16) ? hewn::to_f16(product, target) : product, Float(32));
    }

    void schedule() { schedule_rows(output, {&input, &scale, &zero_point}); }
};

template<hewn::gpu::Form kForm>
class DequantizeLinearGpu : public hewn::gpu::Kernel<DequantizeLinearGpu<kForm>> {
public:
    static constexpr hewn::gpu::Form form = kForm;

    std::vector<hewn::gpu::Operand> operands() {
        const Type in = this->signature_type(0), out = this->signature_type(1);
        return {{"input", in, true}, {"scale", out, true}, {"zero_point", in, true}, {"output", out, true}};
    }
    Expr value(const std::vector<Expr> &v) { return this->numerics().dequantize(v[0], v[1], v[2], this->signature_type(1)); }
};
using DequantizeLinearDense = DequantizeLinearGpu<hewn::gpu::Form::Dense>;
using DequantizeLinearStrided = DequantizeLinearGpu<hewn::gpu::Form::Strided>;

}  // namespace

HALIDE_REGISTER_GENERATOR(DequantizeLinear, dequantize_linear_general)
HALIDE_REGISTER_GENERATOR(DequantizeLinearDense, dequantize_linear_dense)
HALIDE_REGISTER_GENERATOR(DequantizeLinearStrided, dequantize_linear_strided)
