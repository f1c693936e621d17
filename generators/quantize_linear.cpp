// The kernels of QUANTIZE_LINEAR: clamp(round(input / scale) + zero_point, Min, Max). The forms
// `dense`, `runs` and `strided` are for GPUs, the others are for CPUs.
#include <cstdlib>
#include <cstring>

#include "elementwise.h"
#include "gpu.h"
#include "small_floats.h"

namespace {

using namespace Halide;

struct Types {
    static hewn::SignatureTypes types() {
        return {"quantize_linear", {"f32 f16 i32", "i8 u8 i16 u16 i32 u32 f8"}};
    }
};

// Scales are f32 where the input is an integer.
Type scale_type(const Type &input) { return input == Int(32) ? Float(32) : input; }

// The code of a small float for the quotient of x by a reciprocal, r0 + r1, to which the format's
// prescale is already applied. It is narrowed as a number that needs no zero point. On x86 it may
// be wrong for NaN, which raises the flag of invalid operations.
hewn::Narrowed coded(const std::vector<hewn::Rows *> &inputs, const Expr &q, const Expr &x,
                     const Expr &r0, const hewn::Format &format, const Target &target) {
    const Expr signs = reinterpret<uint32_t>(x) ^ reinterpret<uint32_t>(r0);
    const Expr code = hewn::encoded(q, signs, format, hewn::arm::is_target(target), target);
    return {inputs, cast<int32_t>(code), cast<int16_t>(0)};
}

// Form `divide`: any scale, zero and NaN included, per tensor or per element.
class QuantizeLinearDivide : public hewn::Elementwise<QuantizeLinearDivide>, public Types {
public:
    Input<Buffer<void, 2>> input{"input"}, scale{"scale"}, zero_point{"zero_point"};
    Output<Buffer<void, 2>> output{"output"};

    void configure() {
        input.set_type(signature_type(0));
        scale.set_type(scale_type(signature_type(0)));
        zero_point.set_type(zero_point_type(1));
        output.set_type(signature_type(1));
    }

    void generate() {
        using hewn::x, hewn::y;
        const Expr quotient =
            hewn::rounded(hewn::to_f32(input(x, y), target) / hewn::to_f32(scale(x, y), target));
        const Expr z = zero_point(x, y);
        if (hewn::is_format(z, output.type())) {
            const hewn::Format format(z);
            const Expr scaled = hewn::rounded(quotient * hewn::prescale(format)),
                       signs = reinterpret<uint32_t>(quotient);
            return define(output,
                          {cast<uint8_t>(hewn::encoded(scaled, signs, format, true, target))});
        }
        define(output, {hewn::quantized(quotient, z, output.type(), target)});
    }

    void schedule() { schedule_rows(output, {&input, &scale, &zero_point}); }
};

using hewn::Rows;

// Fails unless LLVM was told not to combine the vectors of the products. lists/operators.py
// (ASCENDING) has the reason, and the argument that tells LLVM.
void expect_vectors_apart() {
    const char *const told = std::getenv("HL_LLVM_ARGS");
    if (!told || !std::strstr(told, "-disable-vector-combine"))
        throw Halide::CompileError(
            "HL_LLVM_ARGS lacks -disable-vector-combine (LLVM_ARGS in "
            "lists/operators.py)\n");
}

// input(x, y) * (r0 + r1), by hewn::times_reciprocal. `again` is the same buffer, which LLVM does
// not know. So AVX2 multiplies by memory twice, where it would load an f32 once for both products:
// 19 instead of 23 instructions for 32 elements, which is faster on a Zen 3
// (docs/lab/performance.md#ascending-order). If the knob `loads` is not 0, it decides instead.
Expr quotient(Rows &input, Rows &again, const Expr &r0, const Expr &r1, const Target &target,
              int loads) {
    const bool avx2 =
        target.has_feature(Target::AVX2) && !target.has_feature(Target::AVX512_Skylake);
    const bool twice = input.type() == Float(32) && (loads == 0 ? avx2 : loads == 2);
    if (twice && avx2) expect_vectors_apart();
    if (loads != 0 && input.type() != Float(32))
        throw Halide::CompileError("loads: only f32 is multiplied where it lies\n");
    const auto number = [](Rows &rows) { return hewn::to_f32(rows(hewn::x, hewn::y)); };
    return hewn::times_reciprocal(number(input), number(twice ? again : input), r0, r1);
}

// The base of the forms `reciprocal` and `repeating`, whose scales are prepared by the caller. They
// are ordinary (2^-60 <= |scale| <= 2^60), each given as r0 + r1 (hewn::times_reciprocal). Nothing
// is clamped before it is rounded to an integer. On x86 the result is right unless a NaN or, for
// integers, a quotient of 2^31 or more in magnitude raised the processor's flag of invalid
// operations, which the caller checks. ARM's conversions saturate.
template<class Derived>
class QuantizeLinearPrepared : public hewn::Elementwise<Derived>, public Types {
public:
    GeneratorInput<Buffer<void, 2>> input{"input"}, again{"again"}, r0{"r0"}, r1{"r1"},
        zero_point{"zero_point"};
    GeneratorInput<int32_t> prefetch_distance{"prefetch_distance"};
    GeneratorOutput<Buffer<void, 2>> output{"output"};
    // Knob (lists/knobs.py).
    GeneratorParam<int> loads{"loads", 0};

    void configure() {
        for (auto *rows : {&input, &again}) rows->set_type(this->signature_type(0));
        for (auto *rows : {&r0, &r1}) rows->set_type(Float(32));
        zero_point.set_type(this->zero_point_type(1));
        output.set_type(this->signature_type(1));
    }

    void schedule() {
        this->schedule_rows(output, {&input});
        this->schedule_again(again, input);
        for (auto *rows : {&r0, &r1, &zero_point})
            static_cast<Derived &>(*this).schedule_parameter(*rows);
    }

protected:
    void prefetch_input() { this->set_prefetched({hewn::prefetched(input)}, prefetch_distance); }
};

// Form `reciprocal`: a scale and a zero point for each row.
class QuantizeLinearReciprocal : public QuantizeLinearPrepared<QuantizeLinearReciprocal> {
public:
    void generate() {
        using hewn::y;
        prefetch_input();
        const Expr z = zero_point(0, y);
        if (hewn::is_format(z, output.type())) {
            const hewn::Format format(z);
            const auto scaled = [&](Rows &r) { return hewn::rounded(r(0, y) * prescale(format)); };
            const Expr q = quotient(input, again, scaled(r0), scaled(r1), target, loads),
                       x32 = hewn::to_f32(input(hewn::x, y));
            return define(output, coded({&input}, q, x32, r0(0, y), format, target));
        }
        const Expr q = quotient(input, again, r0(0, y), r1(0, y), target, loads);
        if (hewn::arm::is_target(target))
            return define(output, {hewn::arm::quantized(q, z, output.type())});
        define(output, {{&input}, hewn::round_to_int32(q), z});
    }

    void schedule_parameter(Rows &rows) { schedule_constants(rows); }
};

// Form `repeating`: scales and zero points repeat along the row, so that one vector of each serves
// the whole row.
class QuantizeLinearRepeating : public QuantizeLinearPrepared<QuantizeLinearRepeating> {
public:
    void generate() {
        using hewn::lane, hewn::y;
        prefetch_input();
        const Expr q = quotient(input, again, r0(lane, y), r1(lane, y), target, loads);
        define(output, {{}, hewn::round_to_int32(q), zero_point(lane, y)});
    }

    void schedule_parameter(Rows &rows) { schedule_lanes(rows); }
};

// Form `columns`: a scale for each column, so that r0 and r1 are rows. They are prepared as for the
// forms above, and nothing is clamped either.
class QuantizeLinearColumns : public hewn::Elementwise<QuantizeLinearColumns>, public Types {
public:
    Input<Buffer<void, 2>> input{"input"}, r0{"r0"}, r1{"r1"}, zero_point{"zero_point"};
    Output<Buffer<void, 2>> output{"output"};

    void configure() {
        input.set_type(signature_type(0));
        r0.set_type(Float(32));
        r1.set_type(Float(32));
        zero_point.set_type(zero_point_type(1));
        output.set_type(signature_type(1));
    }

    void generate() {
        using hewn::x, hewn::y;
        const Expr x32 = hewn::to_f32(input(x, y)),
                   q = hewn::times_reciprocal(x32, r0(x, y), r1(x, y));
        if (hewn::is_format(zero_point(x, y), output.type())) {
            const hewn::Format format(zero_point(x, y));
            const Expr scaled = hewn::rounded(q * prescale(format));
            return define(output, coded({&input, &r0, &r1, &zero_point}, scaled, x32, r0(x, y),
                                        format, target));
        }
        define(output,
               {{&input, &r0, &r1, &zero_point}, hewn::round_to_int32(q), zero_point(x, y)});
    }

    void schedule() { schedule_rows(output, {&input, &r0, &r1, &zero_point}); }
};

// Form `blocks`: each block has a scale and a zero point, or one zero point serves all blocks of a
// row. Quotients are computed as in the forms above, but this form prepares the scales itself, and
// r1 is rounded in another way (docs/lab/numerics.md#reciprocals-in-the-kernel). For a scale that
// this does not serve, r0 becomes NaN, which raises the flag of invalid operations.
class QuantizeLinearBlocks : public hewn::Elementwise<QuantizeLinearBlocks>, public Types {
public:
    Input<Buffer<void, 2>> input{"input"}, scale{"scale"}, zero_point{"zero_point"};
    Input<int32_t> shift{"shift"};
    Output<Buffer<void, 2>> output{"output"};

    void configure() {
        input.set_type(signature_type(0));
        scale.set_type(scale_type(signature_type(0)));
        zero_point.set_type(zero_point_type(1));
        output.set_type(signature_type(1));
    }

    void generate() {
        using hewn::x, hewn::y, hewn::block;
        const Expr s = hewn::to_f32(scale(block, y)), r0 = hewn::rounded(1.0f / s),
                   r1 = hewn::rounded(hewn::fma(-r0, s, 1.0f) * r0);
        const bool has_format = hewn::is_format(zero_point(0, 0), output.type());
        const Expr fails = (reinterpret<int32_t>(s) | ~0x7fffff) == -1,
                   serves = abs(s) >= 0x1p-60f && abs(s) <= 0x1p60f && !fails;
        // A signaling NaN: a quiet one raises the flag only where it is converted to an integer.
        const Expr signaling = Internal::make_const(UInt(32), 0x7fa00000),
                   served = select(serves, reinterpret<uint32_t>(r0), signaling);
        hewn::Prepared prepared = {{reinterpret<float>(served), r1}};
        const hewn::Format format(cast<uint32_t>(zero_point(0, 0)));
        if (has_format) {
            for (Expr &value : prepared.values) value = hewn::rounded(value * prescale(format));
        } else {
            prepared.values.push_back(cast<int16_t>(zero_point(block, y)));
            prepared.rows = &zero_point;
        }
        define(output, {shift, scale.dim(0).extent(), {prepared}, 2 * hewn::kLeastBlock},
               [&](const std::vector<Expr> &p) {
                   const Expr x32 = hewn::to_f32(input(x, y)),
                              q = hewn::times_reciprocal(x32, p[0], p[1]);
                   if (has_format) return coded({}, q, x32, p[0], format, target);
                   return hewn::Narrowed{{}, hewn::round_to_int32(q), p[2]};
               });
    }

    void schedule() {
        schedule_rows(output, {&input});
        schedule_lanes(scale);
        schedule_strided(zero_point);
    }
};

// Forms `packed4` and `packed2`: elements of so many bits, as `reciprocal` computes them. They are
// packed into the bytes of the output, which has the first elements in its lowest bits.
template<int kBits>
class QuantizeLinearPacked : public hewn::Elementwise<QuantizeLinearPacked<kBits>>, public Types {
public:
    GeneratorInput<Buffer<void, 2>> input{"input"}, again{"again"}, r0{"r0"}, r1{"r1"};
    GeneratorInput<int32_t> zero_point{"zero_point"};
    GeneratorOutput<Buffer<void, 2>> output{"output"};

    void configure() {
        for (auto *rows : {&input, &again}) rows->set_type(this->signature_type(0));
        for (auto *rows : {&r0, &r1}) rows->set_type(Float(32));
        output.set_type(this->signature_type(1));
    }

    void generate() {
        using hewn::y;
        const Expr q = quotient(input, again, r0(0, y), r1(0, y), this->target, 0);
        this->define_packed(output, {{}, hewn::round_to_int32(q), zero_point}, kBits);
    }

    void schedule() {
        this->schedule_rows(output, {&input});
        this->schedule_again(again, input);
        for (auto *rows : {&r0, &r1}) this->schedule_constants(*rows);
    }
};
using QuantizeLinearPacked4 = QuantizeLinearPacked<4>;
using QuantizeLinearPacked2 = QuantizeLinearPacked<2>;

template<hewn::gpu::Form kForm>
class QuantizeLinearGpu : public hewn::gpu::Kernel<QuantizeLinearGpu<kForm>>, public Types {
public:
    static constexpr hewn::gpu::Form form = kForm;

    std::vector<hewn::gpu::Operand> operands() {
        const Type out = this->signature_type(1);
        return {{"input", this->signature_type(0), true},
                {"scale", scale_type(this->signature_type(0)), true},
                {"zero_point", this->zero_point_type(1), true},
                {"output", out, true}};
    }
    Expr value(const std::vector<Expr> &v) {
        const Type in = this->signature_type(0), out = this->signature_type(1);
        const hewn::gpu::Numerics &n = this->numerics();
        if (!hewn::is_format(v[2], out))
            return n.quantize(v[0], v[1], v[2], in, scale_type(in), out);
        const Expr q = n.quotient(n.to_f32(v[0], in), n.to_f32(v[1], scale_type(in)));
        return cast(out, hewn::encoded_bits(q, hewn::Format(v[2])));
    }
};
using QuantizeLinearDense = QuantizeLinearGpu<hewn::gpu::Form::Dense>;
using QuantizeLinearRuns = QuantizeLinearGpu<hewn::gpu::Form::Runs>;
using QuantizeLinearStrided = QuantizeLinearGpu<hewn::gpu::Form::Strided>;

}  // namespace

HALIDE_REGISTER_GENERATOR(QuantizeLinearDivide, quantize_linear_divide)
HALIDE_REGISTER_GENERATOR(QuantizeLinearReciprocal, quantize_linear_reciprocal)
HALIDE_REGISTER_GENERATOR(QuantizeLinearColumns, quantize_linear_columns)
HALIDE_REGISTER_GENERATOR(QuantizeLinearRepeating, quantize_linear_repeating)
HALIDE_REGISTER_GENERATOR(QuantizeLinearBlocks, quantize_linear_blocks)
HALIDE_REGISTER_GENERATOR(QuantizeLinearPacked4, quantize_linear_packed4)
HALIDE_REGISTER_GENERATOR(QuantizeLinearPacked2, quantize_linear_packed2)
HALIDE_REGISTER_GENERATOR(QuantizeLinearDense, quantize_linear_dense)
HALIDE_REGISTER_GENERATOR(QuantizeLinearRuns, quantize_linear_runs)
HALIDE_REGISTER_GENERATOR(QuantizeLinearStrided, quantize_linear_strided)
