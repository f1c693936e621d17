// QUANTIZED_LINEAR_ADD: clamp(round(((a - a_zero_point) * a_scale + (b - b_zero_point) * b_scale) / output_scale)
//                             + output_zero_point, Min, Max).
#include "elementwise.h"

namespace {

using namespace Halide;

// What both forms share: the operands and the sum of their values.
template<class Derived>
class QuantizedLinearAdd : public hewn::Elementwise<Derived> {
public:
    template<class T>
    using In = GeneratorInput<T>;
    In<Buffer<void, 2>> a{"a"}, b{"b"};
    In<float> a_scale{"a_scale"}, b_scale{"b_scale"};
    In<int32_t> a_zero_point{"a_zero_point"}, b_zero_point{"b_zero_point"}, output_zero_point{"output_zero_point"};

    void configure() {
        a.set_type(this->signature_type(0));
        b.set_type(this->signature_type(1));
        static_cast<Derived &>(*this).output.set_type(this->signature_type(2));
    }

    void schedule() { this->schedule_rows(static_cast<Derived &>(*this).output, {&a, &b}); }

protected:
    // RN(RN((a - a_zero_point) * a_scale) + RN((b - b_zero_point) * b_scale)); the differences are exact.
    Expr sum() {
        const auto value = [](const Expr &q, const Expr &zero_point, const Expr &scale) {
            return hewn::rounded(hewn::stage(cast<float>(cast<int32_t>(q) - zero_point)) * scale);
        };
        using hewn::x, hewn::y;
        return hewn::rounded(value(a(x, y), a_zero_point, a_scale) + value(b(x, y), b_zero_point, b_scale));
    }
};

// Form `divide`: any scales.
class QuantizedLinearAddDivide : public QuantizedLinearAdd<QuantizedLinearAddDivide> {
public:
    In<float> output_scale{"output_scale"};
    GeneratorOutput<Buffer<void, 2>> output{"output"};

    void generate() {
        const Type type = output.type();
        define(output, hewn::quantize_clamped(hewn::rounded(sum() / output_scale), cast(type, output_zero_point), type),
               Float(32));
    }
};

// Form `reciprocal`: an ordinary output scale (2^-60 <= |output_scale| <= 2^60) as r0 + r1 (hewn::times_reciprocal), and scales for
// which no quotient reaches 2^31: 255 * (|a_scale| + |b_scale|) <= 2^30 * |output_scale|. So nothing needs clamping in f32, and
// the saturating narrows do the rest.
class QuantizedLinearAddReciprocal : public QuantizedLinearAdd<QuantizedLinearAddReciprocal> {
public:
    In<float> r0{"r0"}, r1{"r1"};
    GeneratorOutput<Buffer<void, 2>> output{"output"};

    void generate() {
        const Expr rounded = hewn::round_to_int32(hewn::times_reciprocal(sum(), r0, r1));
        const Expr shifted = saturating_add(saturating_cast<int16_t>(rounded), cast<int16_t>(output_zero_point));
        define(output, saturating_cast(output.type(), shifted), Float(32));
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(QuantizedLinearAddDivide, quantized_linear_add_divide)
HALIDE_REGISTER_GENERATOR(QuantizedLinearAddReciprocal, quantized_linear_add_reciprocal)
