// The pass kernels of GPUs (lists/pass_kernels.py): conversions of tensors that the operators'
// kernels do not take as they are, quotients and bounds. Those between f16, bf16, i32, f8e8m0 and
// f32, the quotients and the bounds are for any layout. Sub-byte elements are converted in the
// order of their memory.
#include "gpu.h"

namespace {

using namespace Halide;
using hewn::gpu::u32;

// ---- f16, bf16, i32 and f8e8m0 to f32, and f32 to f16 and bf16 ----

Type type_of(halide_type_code_t code, int bits) { return Type(code, bits, 1); }

template<hewn::gpu::Form kForm, halide_type_code_t kCode = halide_type_float, int kBits = 16>
class Widen : public hewn::gpu::Kernel<Widen<kForm, kCode, kBits>> {
public:
    static constexpr hewn::gpu::Form form = kForm;

    std::vector<hewn::gpu::Operand> operands() {
        return {{"input", type(), true}, {"output", Float(32), true}};
    }
    Expr value(const std::vector<Expr> &v) { return this->numerics().to_f32(v[0], type()); }

private:
    static Type type() { return type_of(kCode, kBits); }
};
template<hewn::gpu::Form kForm, halide_type_code_t kCode = halide_type_float>
class Narrow : public hewn::gpu::Kernel<Narrow<kForm, kCode>> {
public:
    static constexpr hewn::gpu::Form form = kForm;

    std::vector<hewn::gpu::Operand> operands() {
        return {{"input", Float(32), true}, {"output", type(), true}};
    }
    Expr value(const std::vector<Expr> &v) {
        return this->numerics().from_f32(hewn::gpu::as_f32(v[0]), type());
    }

private:
    static Type type() { return type_of(kCode, 16); }
};
using WidenDense = Widen<hewn::gpu::Form::Dense>;
using WidenStrided = Widen<hewn::gpu::Form::Strided>;
using ConvertedI32 = Widen<hewn::gpu::Form::Strided, halide_type_int, 32>;
using WidenF8e8m0 = Widen<hewn::gpu::Form::Strided, halide_type_uint, 8>;
using NarrowDense = Narrow<hewn::gpu::Form::Dense>;
using NarrowStrided = Narrow<hewn::gpu::Form::Strided>;
using WidenBf16Dense = Widen<hewn::gpu::Form::Dense, halide_type_bfloat>;
using WidenBf16Strided = Widen<hewn::gpu::Form::Strided, halide_type_bfloat>;
using NarrowBf16Dense = Narrow<hewn::gpu::Form::Dense, halide_type_bfloat>;
using NarrowBf16Strided = Narrow<hewn::gpu::Form::Strided, halide_type_bfloat>;

// ---- Quotients of f32, rounded to fewer bits before and after the division ----

// f32's bits, rounded to a number of f16 or bf16 but still as f32's bits. NaN stays NaN.
Expr rounded_to_f16(const Expr &bits) { return hewn::gpu::widened(hewn::gpu::narrowed(bits)); }
Expr rounded_to_bf16(const Expr &bits) {
    return cast<uint32_t>(hewn::gpu::narrowed_to_bf16(bits)) << 16;
}

template<Expr (*Rounded)(const Expr &)>
class Quotient : public hewn::gpu::Kernel<Quotient<Rounded>> {
public:
    static constexpr hewn::gpu::Form form = hewn::gpu::Form::Strided;

    std::vector<hewn::gpu::Operand> operands() {
        return {
            {"input", Float(32), true}, {"scale", Float(32), true}, {"output", Float(32), true}};
    }
    Expr value(const std::vector<Expr> &v) {
        return Rounded(this->numerics().quotient(Rounded(v[0]), Rounded(v[1])));
    }
};
using QuotientF16 = Quotient<rounded_to_f16>;
using QuotientBf16 = Quotient<rounded_to_bf16>;

// ---- The bounds of QUANTIZED_LINEAR_ADD's activations ----

// Clamps integers to the quantized bounds. `low` and `high` are the bounds before that, as bits of
// f32; infinity is no upper bound.
template<hewn::gpu::Form kForm, halide_type_code_t kCode, int kBits>
class Clamped : public hewn::gpu::Kernel<Clamped<kForm, kCode, kBits>> {
public:
    static constexpr hewn::gpu::Form form = kForm;
    static constexpr bool has_one_scale = true;

    std::vector<hewn::gpu::Operand> operands() {
        return {{"input", type(), true},
                {"scale", Float(32), false},
                {"zero_point", type(), false},
                {"output", type(), true}};
    }
    void add_numbers() {
        low_ = this->template add_input<uint32_t>("low");
        high_ = this->template add_input<uint32_t>("high");
    }
    Expr value(const std::vector<Expr> &v) {
        const auto quantized = [&](const Expr &bound) {
            return this->numerics().quantize(bound, v[1], v[2], Float(32), Float(32), type());
        };
        const Expr high = *high_;
        return min(max(v[0], quantized(*low_)),
                   select(high == hewn::gpu::kInfinity, type().max(), quantized(high)));
    }

private:
    GeneratorInput<uint32_t> *low_ = nullptr, *high_ = nullptr;

    static Type type() { return Type(kCode, kBits, 1); }
};
constexpr auto kDense = hewn::gpu::Form::Dense, kStrided = hewn::gpu::Form::Strided;
using ClampedI8Dense = Clamped<kDense, halide_type_int, 8>;
using ClampedU8Dense = Clamped<kDense, halide_type_uint, 8>;
using ClampedI16Dense = Clamped<kDense, halide_type_int, 16>;
using ClampedU16Dense = Clamped<kDense, halide_type_uint, 16>;
using ClampedI8Strided = Clamped<kStrided, halide_type_int, 8>;
using ClampedU8Strided = Clamped<kStrided, halide_type_uint, 8>;
using ClampedI16Strided = Clamped<kStrided, halide_type_int, 16>;
using ClampedU16Strided = Clamped<kStrided, halide_type_uint, 16>;

// ---- Elements of 6, 4 and 2 bits to bytes and back ----

// The base of Unpack and Pack. Elements are integers of `bits` bits, which become bytes,
// sign-extended if `is_signed` is 1. `count` is how many elements the output buffer has, and `last`
// the index of the input's last byte.
template<class Derived>
class Packing : public hewn::gpu::Launched<Derived> {
public:
    void configure() {
        input_ =
            this->template add_input<Buffer<>>(this->name_of("input", UInt(8), false), UInt(8), 1);
        for (auto &[scalar, name] : {std::pair{&count_, "count"}, {&last_, "last"}})
            *scalar = this->template add_input<int32_t>(name);
        for (auto &[scalar, name] : {std::pair{&bits_, "bits"}, {&is_signed_, "is_signed"}})
            *scalar = this->template add_input<uint32_t>(name);
        const Type type = Derived::output_type();
        output_ =
            this->template add_output<Buffer<>>(this->name_of("output", type, false), type, 1);
    }

    void generate() {
        domain_ = RDom(0, Expr(*count_), "e");
        Func output = *output_;
        output(i_) = undef(Derived::output_type());
        output(domain_.x) = static_cast<Derived &>(*this).value(cast<uint32_t>(domain_.x));
    }

    void schedule() {
        this->bind(*input_, false);
        this->bind(*output_, false);
        Func output = *output_;
        this->run_by_threads(output.update(), domain_.x);
    }

protected:
    // Byte `index` of the input; beyond its end, its last byte.
    Expr byte(const Expr &index) const {
        return cast<uint32_t>((*input_)(
            unsafe_promise_clamped(min(hewn::gpu::as_i32(index), Expr(*last_)), 0, *last_)));
    }
    Expr bits() const { return *bits_; }
    Expr is_signed() const { return *is_signed_; }
    Expr last() const { return cast<uint32_t>(Expr(*last_)); }
    Expr mask() const { return (u32(1) << bits()) - 1; }

private:
    GeneratorInput<Buffer<>> *input_ = nullptr;
    GeneratorInput<int32_t> *count_ = nullptr, *last_ = nullptr;
    GeneratorInput<uint32_t> *bits_ = nullptr, *is_signed_ = nullptr;
    GeneratorOutput<Buffer<>> *output_ = nullptr;
    const Var i_{"i"};
    RDom domain_;
};

// The output's word w: the four elements from 4 w on, a byte each. They begin at a byte and lie in
// at most 3 bytes.
class Unpack : public Packing<Unpack> {
public:
    static Type output_type() { return UInt(32); }

    Expr value(const Expr &w) const {
        const Expr sign = is_signed() << (bits() - 1);
        const Expr first = (w * bits()) >> 1;
        const Expr packed = byte(first) | (byte(first + 1) << 8) | (byte(first + 2) << 16);
        Expr word = u32(0);
        for (int j = 0; j < 4; j++) {
            const Expr element = (packed >> (bits() * j)) & mask();
            word = word | ((((element ^ sign) - sign) & 0xff) << (8 * j));
        }
        return word;
    }
};

// The output's byte b: its elements, clamped to their type's range; 0 after the last element. The
// first and the last of the elements may have only some of their bits there.
class Pack : public Packing<Pack> {
public:
    static Type output_type() { return UInt(8); }

    Expr value(const Expr &b) const {
        const Expr first = (b * 8) / bits();
        const Expr least = -hewn::gpu::as_i32(is_signed() << (bits() - 1)),
                   most = least + hewn::gpu::as_i32(mask());
        Expr packed = u32(0);
        for (int j = 0; j < 4; j++) {
            const Expr index = first + j;
            const Expr read = byte(index);
            const Expr value =
                hewn::gpu::as_i32(read) - hewn::gpu::as_i32((read & (is_signed() << 7)) << 1);
            const Expr element = hewn::gpu::as_u32(clamp(value, least, most)) & mask();
            // The byte's bits are bits 8 to 15 of `packed`, so that no shift is to the right.
            const Expr at = index * bits() + 8 - b * 8;
            packed = packed | select(index <= last(), element << at, u32(0));
        }
        return cast<uint8_t>(packed >> 8);
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(WidenDense, pass_widen_dense)
HALIDE_REGISTER_GENERATOR(WidenStrided, pass_widen_strided)
HALIDE_REGISTER_GENERATOR(NarrowDense, pass_narrow_dense)
HALIDE_REGISTER_GENERATOR(NarrowStrided, pass_narrow_strided)
HALIDE_REGISTER_GENERATOR(WidenBf16Dense, pass_widen_bf16_dense)
HALIDE_REGISTER_GENERATOR(WidenBf16Strided, pass_widen_bf16_strided)
HALIDE_REGISTER_GENERATOR(NarrowBf16Dense, pass_narrow_bf16_dense)
HALIDE_REGISTER_GENERATOR(NarrowBf16Strided, pass_narrow_bf16_strided)
HALIDE_REGISTER_GENERATOR(WidenF8e8m0, pass_widen_f8e8m0)
HALIDE_REGISTER_GENERATOR(ConvertedI32, pass_converted_i32)
HALIDE_REGISTER_GENERATOR(QuotientF16, pass_quotient_f16)
HALIDE_REGISTER_GENERATOR(QuotientBf16, pass_quotient_bf16)
HALIDE_REGISTER_GENERATOR(ClampedI8Dense, pass_clamped_i8_dense)
HALIDE_REGISTER_GENERATOR(ClampedU8Dense, pass_clamped_u8_dense)
HALIDE_REGISTER_GENERATOR(ClampedI16Dense, pass_clamped_i16_dense)
HALIDE_REGISTER_GENERATOR(ClampedU16Dense, pass_clamped_u16_dense)
HALIDE_REGISTER_GENERATOR(ClampedI8Strided, pass_clamped_i8_strided)
HALIDE_REGISTER_GENERATOR(ClampedU8Strided, pass_clamped_u8_strided)
HALIDE_REGISTER_GENERATOR(ClampedI16Strided, pass_clamped_i16_strided)
HALIDE_REGISTER_GENERATOR(ClampedU16Strided, pass_clamped_u16_strided)
HALIDE_REGISTER_GENERATOR(Unpack, pass_unpack)
HALIDE_REGISTER_GENERATOR(Pack, pass_pack)
