// DEQUANTIZE_LINEAR: (input - zero_point) * scale.
#include "elementwise.h"

namespace {

using namespace Halide;

class DequantizeLinear : public hewn::Elementwise<DequantizeLinear> {
public:
    Input<Buffer<void, 2>> input{"input"}, scale{"scale"}, zero_point{"zero_point"};
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
        define(output, output.type() == Float(16) ? hewn::to_f16(product, target) : product, Float(32));
    }

    void schedule() { schedule_rows(output, {&input, &scale, &zero_point}); }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(DequantizeLinear, dequantize_linear_general)
