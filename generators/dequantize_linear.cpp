// The kernels of DEQUANTIZE_LINEAR: (input - zero_point) * scale. The forms `general`, `repeating`
// and `blocks` are for CPUs, the others are for GPUs.
#include "elementwise.h"
#include "gpu.h"
#include "small_floats.h"

namespace {

using namespace Halide;

struct Types {
    static hewn::SignatureTypes types() {
        return {"dequantize_linear", {"i32 i16 i8 u32 u16 u8 f8", "f32 f16"}};
    }
};

// difference * scale, in the type of scale.
Expr scaled(const Expr &difference, const Expr &scale, const Target &target) {
    const Expr product = hewn::rounded(difference * hewn::to_f32(scale, target));
    return scale.type() == Float(16) ? hewn::to_f16(product, target) : product;
}

// input - zero_point, or the number of a small float. With `as_f16` the format must be one that
// are_read_as_f16.
Expr difference(const Expr &input, const Expr &zero_point, const Target &target, bool as_f16) {
    if (!hewn::is_format(zero_point, input.type()))
        return hewn::difference_f32(input, zero_point, target);
    const hewn::Format format(zero_point);
    if (as_f16) return hewn::decoded_as_f16(input, format);
    if (hewn::converts_f16(target)) return hewn::decoded_by_f16(input, format);
    return hewn::opaque(reinterpret<float>(hewn::decoded_bits(input, format)));
}

// (input - zero_point) * scale, in the type of scale.
Expr dequantized(const Expr &input, const Expr &scale, const Expr &zero_point, const Target &target,
                 bool as_f16 = false) {
    return scaled(difference(input, zero_point, target, as_f16), scale, target);
}

// The base of the forms `general` and `repeating`.
template<class Derived>
class DequantizeLinearRows : public hewn::Elementwise<Derived>, public Types {
public:
    GeneratorInput<Buffer<void, 2>> input{"input"}, scale{"scale"}, zero_point{"zero_point"};
    GeneratorInput<int32_t> prefetch_distance{"prefetch_distance"};
    GeneratorOutput<Buffer<void, 2>> output{"output"};

    void configure() {
        input.set_type(this->signature_type(0));
        scale.set_type(this->signature_type(1));
        zero_point.set_type(this->zero_point_type(0));
        output.set_type(this->signature_type(1));
    }

protected:
    // Makes the kernel prefetch the output's cache lines. Kernels to f16 do not, because they
    // become slower by it (docs/lab/performance.md#software-prefetching).
    void prefetch_output() {
        using Buffers = std::vector<hewn::Prefetched>;
        this->set_prefetched(
            output.type() == Float(32) ? Buffers{hewn::prefetched(output)} : Buffers{},
            prefetch_distance);
    }
};

// Form `general`: any scales and zero points.
class DequantizeLinearGeneral : public DequantizeLinearRows<DequantizeLinearGeneral> {
public:
    void generate() {
        using hewn::x, hewn::y;
        prefetch_output();
        const Expr value = dequantized(input(x, y), scale(x, y), zero_point(x, y), target);
        define(output, {value, Float(32), shortcut()});
    }

    void schedule() { schedule_rows(output, {&input, &scale, &zero_point}); }

private:
    hewn::Shortcut shortcut() {
        using hewn::x, hewn::y;
        const Expr z = zero_point(0, 0);
        if (hewn::is_format(z, input.type())) {
            if (!hewn::converts_f16(target)) return {};
            return {hewn::are_read_as_f16(hewn::Format(z)),
                    dequantized(input(x, y), scale(x, y), z, target, true)};
        }
        return shortens() ? without_zero_point() : hewn::Shortcut{};
    }
    // Whether the kernel has a path without the subtraction, for a zero point of 0. A difference of
    // 32 bits takes seven operations, so such kernels always have the path. A narrower difference
    // is one operation of five; leaving it out pays only to f32 on x86 without AVX-512
    // (docs/lab/performance.md#a-zero-point-of-0). ARM's instruction that widens also subtracts.
    bool shortens() const {
        const Target t = target;
        const bool counts = t.arch == Target::X86 && !t.has_feature(Target::AVX512_Skylake);
        return input.type().bits() == 32 || (counts && output.type() == Float(32));
    }
    hewn::Shortcut without_zero_point() {
        using hewn::x, hewn::y;
        const Expr one = zero_point.dim(0).stride() == 0 && zero_point.dim(1).stride() == 0;
        return {one && zero_point(0, 0) == 0,
                scaled(hewn::to_f32(input(x, y)), scale(x, y), target)};
    }
};

// Form `repeating`: scales and zero points repeat along the row, so that one vector of each serves
// the whole row.
class DequantizeLinearRepeating : public DequantizeLinearRows<DequantizeLinearRepeating> {
public:
    void generate() {
        using hewn::x, hewn::y, hewn::lane;
        prefetch_output();
        define(output, {dequantized(input(x, y), scale(lane, y), zero_point(lane, y), target)});
    }

    void schedule() {
        schedule_rows(output, {&input});
        for (auto *rows : {&scale, &zero_point}) schedule_lanes(*rows);
    }
};

// Form `blocks`: each block has a scale and a zero point, or one zero point serves all blocks of a
// row.
class DequantizeLinearBlocks : public hewn::Elementwise<DequantizeLinearBlocks>, public Types {
public:
    Input<Buffer<void, 2>> input{"input"}, scale{"scale"}, zero_point{"zero_point"};
    Input<int32_t> shift{"shift"};
    Output<Buffer<void, 2>> output{"output"};

    void configure() {
        input.set_type(signature_type(0));
        scale.set_type(signature_type(1));
        zero_point.set_type(zero_point_type(0));
        output.set_type(signature_type(1));
    }

    void generate() {
        using hewn::x, hewn::y, hewn::block;
        hewn::Blocks blocks = {shift, scale.dim(0).extent(), {}};
        const bool has_format = hewn::is_format(zero_point(0, 0), input.type());
        if (!has_format) blocks.prepared = {{{cast<int32_t>(zero_point(block, y))}, &zero_point}};
        define(output, blocks, [&](const std::vector<Expr> &p) {
            const Expr z = has_format ? zero_point(0, 0) : p[0];
            return dequantized(input(x, y), scale(block, y), z, target, true);
        });
    }

    void schedule() {
        schedule_rows(output, {&input});
        schedule_lanes(scale);
        schedule_strided(zero_point);
    }
};

// Forms `packed4` and `packed2`: elements of so many bits, which are unpacked from the words of the
// input.
template<int kBits>
class DequantizeLinearPacked : public hewn::Elementwise<DequantizeLinearPacked<kBits>>,
                               public Types {
public:
    GeneratorInput<Buffer<void, 2>> input{"input"}, scale{"scale"};
    GeneratorInput<int32_t> zero_point{"zero_point"};
    GeneratorOutput<Buffer<void, 2>> output{"output"};

    void configure() {
        input.set_type(UInt(32));
        scale.set_type(this->signature_type(1));
        output.set_type(this->signature_type(1));
    }

    void generate() {
        using hewn::x, hewn::y;
        const bool is_signed = this->signature_type(0).is_int();
        const Expr element = hewn::unpacked(input(x, y), kBits, is_signed), z = zero_point;
        const auto value = [&](const Expr &difference) {
            return scaled(hewn::opaque(cast<float>(difference)), scale(0, y), this->target);
        };
        this->define_unpacked(output, input, kBits, value(element - z), {z == 0, value(element)});
    }

    void schedule() {
        this->schedule_rows(output, {&input});
        this->schedule_constants(scale);
    }
};
using DequantizeLinearPacked4 = DequantizeLinearPacked<4>;
using DequantizeLinearPacked2 = DequantizeLinearPacked<2>;

// The bits of RN(d * scale) of two magnitudes, given as bits, that are finite and not 0, by
// integers: for devices that flush subnormals. d is the number of a small float, so it has at most
// 4 significant bits.
Expr product_of_code(const Expr &d, const Expr &scale) {
    using namespace hewn::gpu;
    const Parts dp = parts_of(d, false), sp = parts_of(scale, true);
    // d is mantissa / 2^20 times 2^(exponent - 130), and the product has at most 28 bits.
    const Expr product = (dp.mantissa() >> 20) * sp.mantissa();
    const Expr exponent = dp.exponent + sp.exponent - 280;  // of the product's last bit
    const Expr bits = i32(27) + select(product >> 27 != 0, i32(1), i32(0));
    // The last place of the result: 24 bits are kept, or as many as lie above 2^-150.
    const Expr shift = max(bits - 24, i32(-149) - exponent);
    const Expr rounded =
        shifted_down(product, as_u32(clamp(shift, i32(0), i32(31))), Internal::const_false());
    const Expr field = max(bits + exponent + 126, i32(1));  // that of the result, if it is normal
    return min(rounded + as_u32((field - 1) * (1 << 23)), hewn::gpu::u32(kInfinity));
}

// The number of a code times a scale on a GPU.
Expr dequantized_code(const hewn::gpu::Numerics &numerics, const Expr &code, const Expr &scale_bits,
                      const Expr &format, const Type &out) {
    using namespace hewn::gpu;
    const auto u32 = hewn::gpu::u32;
    const Expr d = hewn::decoded_bits(code, hewn::Format(format), hewn::kept),
               scale = numerics.to_f32(scale_bits, out);
    if (!numerics.flushes) return numerics.from_f32(as_f32(d) * as_f32(scale), out);
    const Expr a = d & kMagnitude, b = scale & kMagnitude;
    const Expr infinite = a >= kInfinity || b >= kInfinity, zero = a == 0 || b == 0;
    const Expr not_a_number = a > kInfinity || b > kInfinity || (infinite && zero);
    const Expr magnitude = select(not_a_number, u32(0x7fc00000), infinite, u32(kInfinity), zero,
                                  u32(0), product_of_code(a, b));
    return numerics.from_f32(as_f32(magnitude | ((d ^ scale) & u32(kSign))), out);
}

template<hewn::gpu::Form kForm>
class DequantizeLinearGpu : public hewn::gpu::Kernel<DequantizeLinearGpu<kForm>>, public Types {
public:
    static constexpr hewn::gpu::Form form = kForm;

    std::vector<hewn::gpu::Operand> operands() {
        const Type in = this->signature_type(0), out = this->signature_type(1);
        return {{"input", in, true},
                {"scale", out, true},
                {"zero_point", this->zero_point_type(0), true},
                {"output", out, true}};
    }
    Expr value(const std::vector<Expr> &v) {
        const Type out = this->signature_type(1);
        return hewn::is_format(v[2], this->signature_type(0))
                   ? dequantized_code(this->numerics(), v[0], v[1], v[2], out)
                   : this->numerics().dequantize(v[0], v[1], v[2], out);
    }
};
using DequantizeLinearDense = DequantizeLinearGpu<hewn::gpu::Form::Dense>;
using DequantizeLinearRuns = DequantizeLinearGpu<hewn::gpu::Form::Runs>;
using DequantizeLinearStrided = DequantizeLinearGpu<hewn::gpu::Form::Strided>;

}  // namespace

HALIDE_REGISTER_GENERATOR(DequantizeLinearGeneral, dequantize_linear_general)
HALIDE_REGISTER_GENERATOR(DequantizeLinearRepeating, dequantize_linear_repeating)
HALIDE_REGISTER_GENERATOR(DequantizeLinearBlocks, dequantize_linear_blocks)
HALIDE_REGISTER_GENERATOR(DequantizeLinearPacked4, dequantize_linear_packed4)
HALIDE_REGISTER_GENERATOR(DequantizeLinearPacked2, dequantize_linear_packed2)
HALIDE_REGISTER_GENERATOR(DequantizeLinearDense, dequantize_linear_dense)
HALIDE_REGISTER_GENERATOR(DequantizeLinearRuns, dequantize_linear_runs)
HALIDE_REGISTER_GENERATOR(DequantizeLinearStrided, dequantize_linear_strided)
