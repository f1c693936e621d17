// What GPUs convert before and after kernels that do not take elements as they are
// (generators/stages.cmake): f16 beside f32, in any layout, and elements of less than a byte, in
// the order of their memory.
#include "gpu.h"

namespace {

using namespace Halide;
using hewn::gpu::u32;

// ---- f16 to f32 and back ----

template<bool kWidens, hewn::gpu::Form kForm>
class Convert : public hewn::gpu::Kernel<Convert<kWidens, kForm>> {
public:
    static constexpr hewn::gpu::Form form = kForm;

    std::vector<hewn::gpu::Operand> operands() {
        return {{"input", Float(kWidens ? 16 : 32), true},
                {"output", Float(kWidens ? 32 : 16), true}};
    }
    Expr value(const std::vector<Expr> &v) {
        const auto &numerics = this->numerics();
        return kWidens ? numerics.to_f32(v[0], Float(16))
                       : numerics.from_f32(hewn::gpu::as_f32(v[0]), Float(16));
    }
};
using WidenDense = Convert<true, hewn::gpu::Form::Dense>;
using WidenStrided = Convert<true, hewn::gpu::Form::Strided>;
using NarrowDense = Convert<false, hewn::gpu::Form::Dense>;
using NarrowStrided = Convert<false, hewn::gpu::Form::Strided>;

// ---- Elements of 4 and 2 bits to bytes and back ----

// The bits of elements of `bits` bits are integers of that width, sign-extended to a byte if
// `is_signed` is 1.
template<class Derived>
class Packing : public hewn::gpu::Launched<Derived> {
public:
    void configure() {
        input_ = this->template add_input<Buffer<>>(this->name_of("input", UInt(8), false),
                                                    UInt(8), 1);
        for (auto &[scalar, name] : {std::pair{&count_, "count"}, {&last_, "last"}})
            *scalar = this->template add_input<int32_t>(name);
        for (auto &[scalar, name] : {std::pair{&bits_, "bits"}, {&is_signed_, "is_signed"}})
            *scalar = this->template add_input<uint32_t>(name);
        const Type type = Derived::output_type();
        output_ = this->template add_output<Buffer<>>(this->name_of("output", type, false), type,
                                                      1);
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
    // Byte `index` of the input, of which `last` is the last.
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

// Word w: the four elements from 4 w on, a byte each.
class Unpack : public Packing<Unpack> {
public:
    static Type output_type() { return UInt(32); }

    Expr value(const Expr &w) const {
        const Expr sign = is_signed() << (bits() - 1);
        Expr word = u32(0);
        for (int j = 0; j < 4; j++) {
            const Expr at = (w * 4 + j) * bits();  // in bits
            const Expr element = (byte(at >> 3) >> (at & 7)) & mask();
            word = word | ((((element ^ sign) - sign) & 0xff) << (8 * j));
        }
        return word;
    }
};

// Byte b: its elements, clamped to their type's range; 0 behind the last.
class Pack : public Packing<Pack> {
public:
    static Type output_type() { return UInt(8); }

    Expr value(const Expr &b) const {
        const Expr in_a_byte = u32(8) / bits();
        const Expr least = -hewn::gpu::as_i32(is_signed() << (bits() - 1)),
                   most = least + hewn::gpu::as_i32(mask());
        Expr packed = u32(0);
        for (int j = 0; j < 4; j++) {
            const Expr index = b * in_a_byte + j;
            const Expr read = byte(index);
            const Expr value = hewn::gpu::as_i32(read) -
                               hewn::gpu::as_i32((read & (is_signed() << 7)) << 1);
            const Expr element = hewn::gpu::as_u32(clamp(value, least, most)) & mask();
            packed = packed | select(in_a_byte > j && index <= last(), element << (bits() * j),
                                     u32(0));
        }
        return cast<uint8_t>(packed);
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(WidenDense, stage_widen_dense)
HALIDE_REGISTER_GENERATOR(WidenStrided, stage_widen_strided)
HALIDE_REGISTER_GENERATOR(NarrowDense, stage_narrow_dense)
HALIDE_REGISTER_GENERATOR(NarrowStrided, stage_narrow_strided)
HALIDE_REGISTER_GENERATOR(Unpack, stage_unpack)
HALIDE_REGISTER_GENERATOR(Pack, stage_pack)
