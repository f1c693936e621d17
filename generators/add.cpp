// The kernels of ADD: a + b. Floats are rounded once, in their own type; integers wrap modulo 2^n.
// The form `general` is for CPUs, the others are for GPUs.
#include "elementwise.h"
#include "gpu.h"

namespace {

using namespace Halide;

struct Types {
    static hewn::SignatureTypes types() { return {"add", {"f32 f16 bf16 i64 i32 i16 i8"}}; }
};

class Add : public hewn::Elementwise<Add>, public Types {
public:
    Input<Buffer<void, 2>> a{"a"}, b{"b"};
    PrefetchDistance prefetch_distance{"prefetch_distance"};
    Output<Buffer<void, 2>> output{"output"};

    void configure() {
        const Type type = hewn::held_type(signature_type(0));
        a.set_type(type);
        b.set_type(type);
        output.set_type(type);
    }

    void generate() {
        using hewn::x, hewn::y;
        // The output may lie on an input, so no element may be computed twice.
        if (tail == hewn::Tail::Shifted)
            throw CompileError("add: the knob tail=shifted computes elements twice\n");
        set_prefetched({hewn::prefetched(a), hewn::prefetched(b)}, prefetch_distance);
        const Type type = signature_type(0);
        if (type.is_bfloat()) {
            // f32 has 24 significant bits and bf16 has 8. As 24 >= 2 * 8 + 2, rounding to f32 and
            // then to bf16 equals rounding once.
            const Expr sum = hewn::rounded(hewn::bf16_to_f32(a(x, y)) + hewn::bf16_to_f32(b(x, y)));
            define(output, {hewn::f32_to_bf16(sum, target)});
        } else if (type.is_int()) {
            // The sum is unsigned, because signed 32-bit overflow is undefined in Halide.
            const Type wrapping = type.with_code(Type::UInt);
            const Expr sum = reinterpret(wrapping, a(x, y)) + reinterpret(wrapping, b(x, y));
            define(output, {reinterpret(type, sum), type});
        } else if (type == Float(16) && hewn::arm::is_target(target)) {
            define(output, {hewn::arm::sum_f16(a(x, y), b(x, y), target), type});
        } else {
            const Expr sum =
                hewn::rounded(hewn::to_f32(a(x, y), target) + hewn::to_f32(b(x, y), target));
            // f16 has 11 significant bits. As 24 >= 2 * 11 + 2, rounding to f32 and then to f16
            // equals rounding once. LLVM knows that too: if the target has an addition of f16, LLVM
            // uses it, except where an input is one number for the whole row.
            const Target &t = target;
            const bool adds_f16 = t.has_feature(Target::AVX512_SapphireRapids);
            define(output,
                   {type == Float(16) ? hewn::to_f16(sum, t) : sum, adds_f16 ? type : Float(32)});
        }
    }

    void schedule() { schedule_rows(output, {&a, &b}); }
};

template<hewn::gpu::Form kForm>
class AddGpu : public hewn::gpu::Kernel<AddGpu<kForm>>, public Types {
public:
    static constexpr hewn::gpu::Form form = kForm;
    static constexpr bool is_sum = true;

    std::vector<hewn::gpu::Operand> operands() {
        const Type type = this->signature_type(0);
        return {{"a", type, true}, {"b", type, true}, {"output", type, true}};
    }
    Expr value(const std::vector<Expr> &v) {
        const Type type = this->signature_type(0);
        if (type.is_float()) return this->numerics().add(v[0], v[1], type);
        const Type wrapping = type.with_code(Type::UInt);
        return reinterpret(type, reinterpret(wrapping, v[0]) + reinterpret(wrapping, v[1]));
    }
};
using AddDense = AddGpu<hewn::gpu::Form::Dense>;
using AddRuns = AddGpu<hewn::gpu::Form::Runs>;
using AddStrided = AddGpu<hewn::gpu::Form::Strided>;

}  // namespace

HALIDE_REGISTER_GENERATOR(Add, add_general)
HALIDE_REGISTER_GENERATOR(AddDense, add_dense)
HALIDE_REGISTER_GENERATOR(AddRuns, add_runs)
HALIDE_REGISTER_GENERATOR(AddStrided, add_strided)
