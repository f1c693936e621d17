// The kernels of ADD1: an activation of a + b. The sum is rounded to the tensors' type, each
// operation of the activation is rounded to f32, and its result is rounded to the type. Without an
// activation, ADD1 runs the kernels of ADD.
//
// The forms `clamped`, `pieces` and `softsign` are for CPUs, the others are for GPUs.
#include "elementwise.h"
#include "gpu.h"

namespace {

using namespace Halide;

struct Types {
    static hewn::SignatureTypes types() { return {"add1", {"f32 f16 bf16"}}; }
};

// The base of the CPU's forms.
template<class Derived>
class Activated : public hewn::Elementwise<Derived>, public Types {
public:
    template<class T>
    using In = GeneratorInput<T>;
    In<Buffer<void, 2>> a{"a"}, b{"b"};
    In<int32_t> prefetch_distance{"prefetch_distance"};

    void configure() {
        const Type type = hewn::held_type(this->signature_type(0));
        a.set_type(type);
        b.set_type(type);
        static_cast<Derived &>(*this).output.set_type(type);
    }

    void generate() {
        // The output may lie on an input, so no element may be computed twice.
        if (this->tail == hewn::Tail::Shifted)
            throw CompileError("add1: the knob tail=shifted computes elements twice\n");
        this->set_prefetched({hewn::prefetched(a), hewn::prefetched(b)}, prefetch_distance);
        auto &derived = static_cast<Derived &>(*this);
        this->define(derived.output, {narrowed(derived.activated(sum()))});
    }

    void schedule() { this->schedule_rows(static_cast<Derived &>(*this).output, {&a, &b}); }

private:
    bool is_bf16() const { return this->signature_type(0).is_bfloat(); }
    bool is_f16() const { return this->signature_type(0) == Float(16); }

    Expr widened(const Expr &e) const {
        return is_bf16() ? hewn::bf16_to_f32(e) : hewn::to_f32(e, this->target);
    }
    Expr narrowed(const Expr &e) const {
        return is_bf16()  ? hewn::f32_to_bf16(e, this->target)
               : is_f16() ? hewn::to_f16(e, this->target)
                          : e;
    }
    // a + b as f32, rounded to the type, but not if the form rounds anyhow.
    Expr sum() const {
        using hewn::x, hewn::y;
        if (is_f16() && hewn::arm::is_target(this->target))
            return widened(hewn::arm::sum_f16(a(x, y), b(x, y), this->target));
        const Expr exact = hewn::rounded(widened(a(x, y)) + widened(b(x, y)));
        return (is_f16() || is_bf16()) && !Derived::is_monotonic ? widened(narrowed(exact)) : exact;
    }
};

// Form `clamped`: RELU and CLIP. A bound of 0 comes with an offset of 0, which makes a sum of -0 a
// +0, as the maximum of -0 and 0 is +0; other bounds come with an offset of -0. Rounding to the
// type is monotonic, so that it does no harm that only the result is rounded to it.
class Add1Clamped : public Activated<Add1Clamped> {
public:
    static constexpr bool is_monotonic = true;
    In<float> offset{"offset"}, low{"low"}, high{"high"};
    GeneratorOutput<Buffer<void, 2>> output{"output"};

    Expr activated(const Expr &e) {
        for (In<float> *number : {&offset, &low, &high}) number->set_estimate(1.0f);
        return hewn::clamp_keeping_nan(hewn::rounded(e + offset), low, high);
    }
};

// Form `pieces`: every activation but SOFTSIGN, by hewn::Pieces.
class Add1Pieces : public Activated<Add1Pieces> {
public:
    static constexpr bool is_monotonic = false;
    In<float> slope{"slope"}, offset{"offset"}, low{"low"}, high{"high"}, below{"below"},
        above{"above"}, shift{"shift"};
    In<uint32_t> elsewhere{"elsewhere"};
    GeneratorOutput<Buffer<void, 2>> output{"output"};

    Expr activated(const Expr &e) {
        for (In<float> *number : {&slope, &offset, &low, &high, &below, &above, &shift})
            number->set_estimate(1.0f);
        elsewhere.set_estimate(0);
        const Expr bounded =
            hewn::clamp_keeping_nan(hewn::rounded(hewn::rounded(e * slope) + offset), low, high);
        const Expr rest =
            hewn::opaque(reinterpret<float>(reinterpret<uint32_t>(bounded) & Expr(elsewhere)));
        const Expr upper = hewn::rounded(select(e > above, hewn::rounded(e - shift), rest));
        return hewn::rounded(select(e < below, bounded, upper));
    }
};

// Form `softsign`: x / (1 + |x|).
class Add1Softsign : public Activated<Add1Softsign> {
public:
    static constexpr bool is_monotonic = false;
    GeneratorOutput<Buffer<void, 2>> output{"output"};

    Expr activated(const Expr &e) {
        const Expr magnitude =
            hewn::opaque(reinterpret<float>(reinterpret<uint32_t>(e) & cast<uint32_t>(0x7fffffff)));
        return hewn::rounded(e / hewn::rounded(magnitude + 1.0f));
    }
};

// The base of the GPUs' forms.
template<class Derived, hewn::gpu::Form kForm>
class Add1Gpu : public hewn::gpu::Kernel<Derived>, public Types {
public:
    static constexpr hewn::gpu::Form form = kForm;

    std::vector<hewn::gpu::Operand> operands() {
        const Type type = this->signature_type(0);
        return {{"a", type, true}, {"b", type, true}, {"output", type, true}};
    }
    Expr value(const std::vector<Expr> &v) {
        const Expr sum = this->numerics().add(v[0], v[1], this->signature_type(0));
        return static_cast<Derived &>(*this).activated(sum);
    }
};

template<hewn::gpu::Form kForm>
class Add1PiecesGpu : public Add1Gpu<Add1PiecesGpu<kForm>, kForm> {
public:
    void add_numbers() {
        hewn::for_each_piece(numbers_, [&](auto &number, const char *name) {
            number = this->template add_input<uint32_t>(name);
        });
    }
    Expr activated(const Expr &sum) {
        const auto &n = numbers_;
        return this->numerics().activate(
            sum, {*n.slope, *n.offset, *n.low, *n.high, *n.below, *n.above, *n.shift, *n.elsewhere},
            this->signature_type(0));
    }

private:
    hewn::Pieces<GeneratorInput<uint32_t> *, GeneratorInput<uint32_t> *> numbers_ = {};
};
using Add1PiecesDense = Add1PiecesGpu<hewn::gpu::Form::Dense>;
using Add1PiecesRuns = Add1PiecesGpu<hewn::gpu::Form::Runs>;
using Add1PiecesStrided = Add1PiecesGpu<hewn::gpu::Form::Strided>;

class Add1SoftsignStrided : public Add1Gpu<Add1SoftsignStrided, hewn::gpu::Form::Strided> {
public:
    Expr activated(const Expr &sum) { return numerics().softsign(sum, signature_type(0)); }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Add1Clamped, add1_clamped)
HALIDE_REGISTER_GENERATOR(Add1Pieces, add1_pieces)
HALIDE_REGISTER_GENERATOR(Add1Softsign, add1_softsign)
HALIDE_REGISTER_GENERATOR(Add1PiecesDense, add1_pieces_dense)
HALIDE_REGISTER_GENERATOR(Add1PiecesRuns, add1_pieces_runs)
HALIDE_REGISTER_GENERATOR(Add1PiecesStrided, add1_pieces_strided)
HALIDE_REGISTER_GENERATOR(Add1SoftsignStrided, add1_softsign_strided)
