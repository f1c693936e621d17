// The kernels of QUANTIZED_LINEAR_MUL:
//
//     clamp(round((a - a_zero_point) * (b - b_zero_point) * ratio) + output_zero_point, Min, Max)
//
// where ratio is a_scale * b_scale / output_scale, rounded after each operation. The product of the
// differences is exact.
#include "elementwise.h"
#include "gpu.h"

namespace {

using namespace Halide;

struct Types {
    static hewn::SignatureTypes types() { return {"quantized_linear_mul", {"i8 u8", "i8 u8"}}; }
};

// The base of the CPU's forms.
template<class Derived>
class QuantizedLinearMul : public hewn::Elementwise<Derived>, public Types {
public:
    template<class T>
    using In = GeneratorInput<T>;
    In<Buffer<void, 2>> a{"a"}, b{"b"};
    In<int32_t> output_zero_point{"output_zero_point"}, a_zero_point{"a_zero_point"},
        b_zero_point{"b_zero_point"};
    In<float> ratio{"ratio"};
    GeneratorOutput<Buffer<void, 2>> output{"output"};

    void configure() {
        for (auto *input : {&a, &b}) input->set_type(this->signature_type(0));
        output.set_type(this->signature_type(1));
    }

    void schedule() {
        this->schedule_rows(output, {&a, &b});
        for (auto *scalar : {&output_zero_point, &a_zero_point, &b_zero_point})
            scalar->set_estimate(0);
        ratio.set_estimate(1.0f);
    }

protected:
    std::vector<hewn::Operand> operands() { return {{a, a_zero_point}, {b, b_zero_point}}; }
    Expr quotient(const std::vector<Expr> &differences) {
        return hewn::rounded(hewn::rounded(differences[0] * differences[1]) * ratio);
    }
};

// Form `general`: any ratio.
class QuantizedLinearMulGeneral : public QuantizedLinearMul<QuantizedLinearMulGeneral> {
public:
    void generate() {
        const Type type = output.type();
        const Expr q = quotient(hewn::differences_of(target, operands()));
        define(output, {hewn::quantized(q, cast(type, output_zero_point), type, target)});
    }
};

// Form `bounded`: no quotient is large (255 * 255 * |ratio| <= 2^30), so that nothing needs
// clamping in f32 and narrowing saturates.
class QuantizedLinearMulBounded : public QuantizedLinearMul<QuantizedLinearMulBounded> {
public:
    void generate() {
        const auto to_int32 = [&](const std::vector<Expr> &differences) {
            return hewn::round_to_int32(quotient(differences));
        };
        define(output, {{&a, &b}, {}, output_zero_point, operands(), to_int32});
    }
};

// ---- GPUs, from and to bits (numerics_gpu.h) ----

using namespace hewn::gpu;

// clamp(round(product * ratio) + zero_point, Min, Max) on devices that divide correctly and keep
// subnormals. There is no sum that a product could be contracted with.
Expr quantized_ieee(const Expr &product, const Expr &a_scale, const Expr &b_scale,
                    const Expr &scale, const Expr &zero_point, const Type &type) {
    const Expr ratio = divided_ieee(as_f32(a_scale) * as_f32(b_scale), as_f32(scale));
    return finished_ieee(strict_float(f32(product) * ratio), zero_point, type);
}

// value / 2^bits of an unsigned integer, nearest even. 1 <= bits <= 28, value < 2^28.
Expr shifted_down(const Expr &value, const Expr &bits) {
    return (value + (u32(1) << (bits - u32(1))) - u32(1) + ((value >> bits) & u32(1))) >> bits;
}

// The bits of RN(a * b), from the bits of magnitudes that are neither 0 nor NaN. The product of the
// significands is rounded to 24 bits. The error of that, an integer modulo 2^32, says on which side
// of the exact product the rounded one lies. This decides the rounding to fewer bits where the
// result is subnormal.
Expr scale_product(const Expr &a, const Expr &b) {
    const Parts ap = parts_of(a, true), bp = parts_of(b, true);
    const Expr product = as_u32(ap.significand() * bp.significand());
    const Expr carry = (product >> u32(23)) - u32(127),
               mantissa = (product & u32(kFraction)) | u32(kHidden);
    const Expr error = as_i32(ap.mantissa() * bp.mantissa() - (mantissa << (carry + u32(23))));
    const Expr exponent = ap.exponent + bp.exponent - i32(127) + as_i32(carry);
    const Expr side = select(error > i32(0), i32(1), error < i32(0), i32(-1), i32(0));
    const Expr exact = (mantissa << u32(2)) + as_u32(side);
    const Expr subnormal = shifted_down(exact, as_u32(clamp(i32(3) - exponent, i32(3), i32(28))));
    const Expr normal =
        (as_u32(clamp(exponent, i32(0), i32(255))) << u32(23)) | (product & u32(kFraction));
    const Expr finite =
        select(exponent >= i32(255), u32(kInfinity), exponent >= i32(1), normal, subnormal);
    return select(max(a, b) == u32(kInfinity), u32(kInfinity), finite);
}

// The significand of RN(x / y) as a mantissa, for mantissas y <= x < 2 * y. After three steps of 8
// bits, quotient + rest / y is 2^24 * x / y. The estimate of a step is off by less than 2^-1 + 1,
// so |rest| < 1.5 * y, and integers modulo 2^32 hold it exactly. A quotient of mantissas is never
// the middle of two floats, so the last bit rounds it.
Expr quotient_mantissa(const Expr &x, const Expr &y) {
    // 256 / y, with a relative error below 2^-10.
    const Expr inverse = fast_inverse(f32(as_i32(y)) * 0x1p-23f) * 0x1p-15f;
    Expr quotient = u32(0), rest = as_i32(x);
    for (int step = 0; step < 3; step++) {
        const Expr digit = int32(f32(rest) * inverse);
        rest = as_i32((as_u32(rest) << u32(8)) - as_u32(digit) * y);
        quotient = (quotient << u32(8)) + as_u32(digit);
    }
    const auto one_if = [](const Expr &condition) { return select(condition, u32(1), u32(0)); };
    const Expr down =
        quotient + one_if(rest >= as_i32(y)) - one_if(rest < i32(0)) - one_if(rest < -as_i32(y));
    return (down + u32(1)) >> u32(1);
}

// The same on other devices, decided in integers. `product` is exact in f32. The result is the zero
// point where the product is 0 or the ratio is 0 or NaN. Otherwise |product * ratio| matters only
// from 2^-2 to 2^10: below that the result is the zero point, and above that it saturates. A ratio
// that is not a normal number does one or the other.
Expr quantized_by_integers(const Expr &product, const Expr &a_scale, const Expr &b_scale,
                           const Expr &scale, const Expr &zero_point, const Type &type) {
    const Expr a = a_scale & u32(kMagnitude), b = b_scale & u32(kMagnitude),
               divisor = scale & u32(kMagnitude);
    const Expr dividend = scale_product(a, b);
    const Parts xp = parts_of(dividend, true), yp = parts_of(divisor, true);
    const Expr below = select(xp.fraction < yp.fraction, i32(1), i32(0));
    const Expr mantissa = quotient_mantissa(xp.mantissa() << as_u32(below), yp.mantissa());
    const Expr ratio_exponent =
        select(dividend == u32(kInfinity), i32(10000), xp.exponent - below) -
        select(divisor >= u32(kInfinity), i32(100000), yp.exponent);

    // Rounds as the reference's product with the ratio.
    const Expr quotient = as_u32(f32(product) * as_f32((mantissa & u32(kFraction)) | u32(kOne)));
    const Expr magnitude = quotient & u32(kMagnitude);
    const Expr exponent = clamp(as_i32(magnitude >> u32(23)) + ratio_exponent, i32(124), i32(137));
    const Expr integer =
        shifted_down((magnitude & u32(kFraction)) | u32(kHidden), as_u32(i32(150) - exponent));
    const auto neither_0_nor_nan = [](const Expr &bits) { return bits - u32(1) < u32(kInfinity); };
    const Expr counts =
        product != i32(0) && neither_0_nor_nan(a) && neither_0_nor_nan(b) && dividend != u32(0);
    const Expr rounded = select(counts, as_i32(integer), i32(0));
    const Expr negative = ((quotient ^ a_scale ^ b_scale ^ scale) & u32(kSign)) != u32(0);
    const Expr result = select(negative, -rounded, rounded) + int32(zero_point);
    return cast(type, clamp(result, int32(type.min()), int32(type.max())));
}

template<Form kForm>
class QuantizedLinearMulGpu : public Kernel<QuantizedLinearMulGpu<kForm>>, public Types {
public:
    static constexpr Form form = kForm;
    static constexpr bool has_one_scale = true;

    std::vector<Operand> operands() {
        const Type in = this->signature_type(0), out = this->signature_type(1), f32 = Float(32);
        return {{"a", in, true},
                {"a_scale", f32, false},
                {"a_zero_point", in, false},
                {"b", in, true},
                {"b_scale", f32, false},
                {"b_zero_point", in, false},
                {"output_scale", f32, false},
                {"output_zero_point", out, false},
                {"output", out, true}};
    }
    Expr value(const std::vector<Expr> &v) {
        const Expr product = (int32(v[0]) - int32(v[2])) * (int32(v[3]) - int32(v[5]));
        const auto quantized = this->numerics().ieee ? quantized_ieee : quantized_by_integers;
        return quantized(product, v[1], v[4], v[6], v[7], this->signature_type(1));
    }
};
using QuantizedLinearMulDense = QuantizedLinearMulGpu<Form::Dense>;
using QuantizedLinearMulRuns = QuantizedLinearMulGpu<Form::Runs>;
using QuantizedLinearMulStrided = QuantizedLinearMulGpu<Form::Strided>;

}  // namespace

HALIDE_REGISTER_GENERATOR(QuantizedLinearMulGeneral, quantized_linear_mul_general)
HALIDE_REGISTER_GENERATOR(QuantizedLinearMulBounded, quantized_linear_mul_bounded)
HALIDE_REGISTER_GENERATOR(QuantizedLinearMulDense, quantized_linear_mul_dense)
HALIDE_REGISTER_GENERATOR(QuantizedLinearMulRuns, quantized_linear_mul_runs)
HALIDE_REGISTER_GENERATOR(QuantizedLinearMulStrided, quantized_linear_mul_strided)
