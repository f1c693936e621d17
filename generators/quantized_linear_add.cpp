// QUANTIZED_LINEAR_ADD: clamp(round(((a - a_zero_point) * a_scale + (b - b_zero_point) * b_scale) / output_scale)
//                             + output_zero_point, Min, Max).
#include "elementwise.h"
#include "gpu.h"

namespace {

using namespace Halide;

// What the forms share: the operands and the sum of their values.
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

    void schedule() {
        this->schedule_rows(static_cast<Derived &>(*this).output, {&a, &b});
        for (In<float> *scalar : {&a_scale, &b_scale}) scalar->set_estimate(1.0f);
        for (In<int32_t> *scalar : {&a_zero_point, &b_zero_point, &output_zero_point}) scalar->set_estimate(0);
    }

protected:
    using Operands = std::vector<typename hewn::Elementwise<Derived>::Operand>;

    Operands operands() { return {{a, a_zero_point}, {b, b_zero_point}}; }

    // RN(RN(differences[0] * a_scale) + RN(differences[1] * b_scale)).
    Expr sum(const std::vector<Expr> &differences) {
        return hewn::rounded(hewn::rounded(differences[0] * a_scale) + hewn::rounded(differences[1] * b_scale));
    }

    // The output from sum(differences of the operands) and r0 + r1 ~ 1 / output_scale, where no quotient reaches 2^30: nothing needs
    // clamping in f32.
    template<class Sum>
    void define_requantized(const Operands &operands, const Sum &sum, const Expr &r0, const Expr &r1) {
        auto &output = static_cast<Derived &>(*this).output;
        const auto quotient = [&](const std::vector<Expr> &differences) {
            return hewn::times_reciprocal(sum(differences), r0, r1);
        };
        if (hewn::arm::is_target(this->target)) {
            const Expr of_column = quotient(this->differences(operands));
            return this->define(output, hewn::arm::quantized_number(of_column, output_zero_point, output.type()), Float(32));
        }
        const auto rounded = [&](const std::vector<Expr> &differences) { return hewn::round_to_int32(quotient(differences)); };
        this->define_narrowed(output, {&a, &b}, operands, rounded, output_zero_point);
    }
};

// Form `divide`: any scales.
class QuantizedLinearAddDivide : public QuantizedLinearAdd<QuantizedLinearAddDivide> {
public:
    In<float> output_scale{"output_scale"};
    GeneratorOutput<Buffer<void, 2>> output{"output"};

    void generate() {
        output_scale.set_estimate(1.0f);
        const Type type = output.type();
        const auto quantized = hewn::arm::is_target(target) ? hewn::arm::quantized : hewn::quantize_clamped;
        const Expr quotient = hewn::rounded(sum(differences(operands())) / output_scale);
        define(output, quantized(quotient, cast(type, output_zero_point), type), Float(32));
    }
};

// Form `reciprocal`: an ordinary output scale (2^-60 <= |output_scale| <= 2^60) as r0 + r1 (hewn::times_reciprocal), and scales
// for which no quotient is large: 255 * (|a_scale| + |b_scale|) <= 2^30 * |output_scale|.
class QuantizedLinearAddReciprocal : public QuantizedLinearAdd<QuantizedLinearAddReciprocal> {
public:
    In<float> r0{"r0"}, r1{"r1"};
    GeneratorOutput<Buffer<void, 2>> output{"output"};

    void generate() {
        for (In<float> *scalar : {&r0, &r1}) scalar->set_estimate(1.0f);
        define_requantized(
            operands(), [&](const std::vector<Expr> &differences) { return sum(differences); }, r0, r1);
    }
};

// Form `folded`: as `reciprocal`, where -a_zero_point * a_scale and -b_zero_point * b_scale, given as a_offset and b_offset, are
// exact in f32 (zero points of 0 and +-2^k): then fma(a, a_scale, a_offset) has the product's one rounding, and an operation
// is saved for each operand.
class QuantizedLinearAddFolded : public QuantizedLinearAdd<QuantizedLinearAddFolded> {
public:
    In<float> r0{"r0"}, r1{"r1"}, a_offset{"a_offset"}, b_offset{"b_offset"};
    GeneratorOutput<Buffer<void, 2>> output{"output"};

    void generate() {
        using hewn::x, hewn::y;
        for (In<float> *scalar : {&r0, &r1, &a_offset, &b_offset}) scalar->set_estimate(1.0f);
        const Expr a_value = hewn::fma(hewn::to_f32(a(x, y)), a_scale, a_offset);
        const Expr b_value = hewn::fma(hewn::to_f32(b(x, y)), b_scale, b_offset);
        const Expr sum = hewn::rounded(a_value + b_value);
        define_requantized(
            {}, [&](const std::vector<Expr> &) { return sum; }, r0, r1);
    }
};

template<hewn::gpu::Form kForm>
class QuantizedLinearAddGpu : public hewn::gpu::Kernel<QuantizedLinearAddGpu<kForm>> {
public:
    static constexpr hewn::gpu::Form form = kForm;

    std::vector<hewn::gpu::Operand> operands() {
        const Type a = this->signature_type(0), b = this->signature_type(1), out = this->signature_type(2), f32 = Float(32);
        return {
            {"a", a, true},          {"a_scale", f32, false},    {"a_zero_point", a, false},   {"b", b, true},
            {"b_scale", f32, false}, {"b_zero_point", b, false}, {"output_scale", f32, false}, {"output_zero_point", out, false},
            {"output", out, true}};
    }
    Expr value(const std::vector<Expr> &v) {
        return this->numerics().quantized_add(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], this->signature_type(2));
    }
};
using QuantizedLinearAddDense = QuantizedLinearAddGpu<hewn::gpu::Form::Dense>;
using QuantizedLinearAddStrided = QuantizedLinearAddGpu<hewn::gpu::Form::Strided>;

}  // namespace

HALIDE_REGISTER_GENERATOR(QuantizedLinearAddDivide, quantized_linear_add_divide)
HALIDE_REGISTER_GENERATOR(QuantizedLinearAddReciprocal, quantized_linear_add_reciprocal)
HALIDE_REGISTER_GENERATOR(QuantizedLinearAddFolded, quantized_linear_add_folded)
HALIDE_REGISTER_GENERATOR(QuantizedLinearAddDense, quantized_linear_add_dense)
HALIDE_REGISTER_GENERATOR(QuantizedLinearAddStrided, quantized_linear_add_strided)
