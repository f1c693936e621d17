// The kernels of QUANTIZED_LINEAR_ADD:
//
//     clamp(round(((a - a_zero_point) * a_scale + (b - b_zero_point) * b_scale) / output_scale)
//           + output_zero_point, Min, Max)
#include "elementwise.h"
#include "gpu.h"

namespace {

using namespace Halide;

struct Types {
    static hewn::SignatureTypes types() {
        const std::string types = "i8 u8 i16 u16";
        return {"quantized_linear_add", {types, types, types}, true};
    }
};

// The base of the CPU's forms.
template<class Derived>
class QuantizedLinearAdd : public hewn::Elementwise<Derived>, public Types {
public:
    template<class T>
    using In = GeneratorInput<T>;
    In<Buffer<void, 2>> a{"a"}, b{"b"};
    In<int32_t> output_zero_point{"output_zero_point"};

    void configure() {
        a.set_type(this->signature_type(0));
        b.set_type(this->signature_type(1));
        static_cast<Derived &>(*this).output.set_type(this->signature_type(2));
    }

    void schedule() {
        this->schedule_rows(static_cast<Derived &>(*this).output, {&a, &b});
        output_zero_point.set_estimate(0);
    }

protected:
    using Operands = std::vector<hewn::Operand>;
    using Values = std::vector<Expr>;

    // Defines the output from quotient(differences of the operands). No quotient may exceed 2^30 in
    // magnitude, so that nothing needs clamping in f32.
    template<class Quotient>
    void define_requantized(const Operands &operands, const Quotient &quotient) {
        auto &output = static_cast<Derived &>(*this).output;
        if (hewn::arm::is_target(this->target)) {
            const Expr of_column = quotient(hewn::differences_of(this->target, operands));
            return this->define(
                output, {hewn::arm::quantized_number(of_column, output_zero_point, output.type())});
        }
        const auto to_int32 = [&](const Values &differences) {
            return hewn::round_to_int32(quotient(differences));
        };
        this->define(output, {{&a, &b}, {}, output_zero_point, operands, to_int32});
    }
};

// The base of the forms that round as the formula does, `divide` and `reciprocal`: it has the sum
// of the operands.
template<class Derived>
class QuantizedLinearAddByFormula : public QuantizedLinearAdd<Derived> {
public:
    template<class T>
    using In = GeneratorInput<T>;
    In<float> a_scale{"a_scale"}, b_scale{"b_scale"};
    In<int32_t> a_zero_point{"a_zero_point"}, b_zero_point{"b_zero_point"};

    void schedule() {
        QuantizedLinearAdd<Derived>::schedule();
        for (In<float> *scalar : {&a_scale, &b_scale}) scalar->set_estimate(1.0f);
        for (In<int32_t> *scalar : {&a_zero_point, &b_zero_point}) scalar->set_estimate(0);
    }

protected:
    auto operands() {
        return typename QuantizedLinearAdd<Derived>::Operands{{this->a, a_zero_point},
                                                              {this->b, b_zero_point}};
    }

    // RN(RN(differences[0] * a_scale) + RN(differences[1] * b_scale)).
    Expr sum(const std::vector<Expr> &differences) {
        return hewn::rounded(hewn::rounded(differences[0] * a_scale) +
                             hewn::rounded(differences[1] * b_scale));
    }
};

// Form `divide`: any scales.
class QuantizedLinearAddDivide : public QuantizedLinearAddByFormula<QuantizedLinearAddDivide> {
public:
    In<float> output_scale{"output_scale"};
    GeneratorOutput<Buffer<void, 2>> output{"output"};

    void generate() {
        output_scale.set_estimate(1.0f);
        const Type type = output.type();
        const Expr dividend = sum(hewn::differences_of(target, operands()));
        const Expr quotient = hewn::rounded(dividend / output_scale);
        define(output, {hewn::quantized(quotient, cast(type, output_zero_point), type, target)});
    }
};

// Form `reciprocal`: the output scale is ordinary (2^-60 <= |output_scale| <= 2^60) and given as r0
// + r1 (hewn::times_reciprocal). No quotient is large, because the runtime takes the form only
// where 255 * (|a_scale| + |b_scale|) <= 2^30 * |output_scale|.
class QuantizedLinearAddReciprocal
    : public QuantizedLinearAddByFormula<QuantizedLinearAddReciprocal> {
public:
    In<float> r0{"r0"}, r1{"r1"};
    GeneratorOutput<Buffer<void, 2>> output{"output"};

    void generate() {
        for (In<float> *scalar : {&r0, &r1}) scalar->set_estimate(1.0f);
        define_requantized(operands(), [&](const Values &differences) {
            return hewn::times_reciprocal(sum(differences), r0, r1);
        });
    }
};

// Form `folded`: scales and zero points are folded into a factor for each input and one offset:
// RN(a * a_factor + RN(b * b_factor + offset)). It rounds in other places than the formula, so the
// runtime uses it only after a trial of all pairs of inputs has given the formula's outputs
// (runtime/cpu/folding.h).
class QuantizedLinearAddFolded : public QuantizedLinearAdd<QuantizedLinearAddFolded> {
public:
    In<float> a_factor{"a_factor"}, b_factor{"b_factor"}, offset{"offset"};
    GeneratorOutput<Buffer<void, 2>> output{"output"};

    void generate() {
        using hewn::x, hewn::y;
        for (In<float> *scalar : {&a_factor, &b_factor, &offset}) scalar->set_estimate(1.0f);
        const auto value = [&](const In<Buffer<void, 2>> &input) {
            const Expr element = input(x, y);
            return hewn::arm::is_target(target)
                       ? hewn::arm::difference_f32(element, cast(element.type(), 0), target)
                       : hewn::to_f32(element);
        };
        const Expr quotient = hewn::fma(value(a), a_factor, hewn::fma(value(b), b_factor, offset));
        define_requantized({}, [&](const Values &) { return quotient; });
    }
};

template<hewn::gpu::Form kForm>
class QuantizedLinearAddGpu : public hewn::gpu::Kernel<QuantizedLinearAddGpu<kForm>>, public Types {
public:
    static constexpr hewn::gpu::Form form = kForm;
    static constexpr bool has_one_scale = true;

    std::vector<hewn::gpu::Operand> operands() {
        const Type a = this->signature_type(0), b = this->signature_type(1),
                   out = this->signature_type(2), f32 = Float(32);
        return {{"a", a, true},
                {"a_scale", f32, false},
                {"a_zero_point", a, false},
                {"b", b, true},
                {"b_scale", f32, false},
                {"b_zero_point", b, false},
                {"output_scale", f32, false},
                {"output_zero_point", out, false},
                {"output", out, true}};
    }
    Expr value(const std::vector<Expr> &v) {
        return this->numerics().quantized_add(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7],
                                              this->signature_type(2));
    }
};
using QuantizedLinearAddDense = QuantizedLinearAddGpu<hewn::gpu::Form::Dense>;
using QuantizedLinearAddRuns = QuantizedLinearAddGpu<hewn::gpu::Form::Runs>;
using QuantizedLinearAddStrided = QuantizedLinearAddGpu<hewn::gpu::Form::Strided>;

}  // namespace

HALIDE_REGISTER_GENERATOR(QuantizedLinearAddDivide, quantized_linear_add_divide)
HALIDE_REGISTER_GENERATOR(QuantizedLinearAddReciprocal, quantized_linear_add_reciprocal)
HALIDE_REGISTER_GENERATOR(QuantizedLinearAddFolded, quantized_linear_add_folded)
HALIDE_REGISTER_GENERATOR(QuantizedLinearAddDense, quantized_linear_add_dense)
HALIDE_REGISTER_GENERATOR(QuantizedLinearAddRuns, quantized_linear_add_runs)
HALIDE_REGISTER_GENERATOR(QuantizedLinearAddStrided, quantized_linear_add_strided)
