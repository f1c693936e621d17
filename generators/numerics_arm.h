// The helpers of numerics.h in ARM64's instructions. docs/lab/numerics.md#arm64 explains why each
// is exact. LLVM's intrinsics are called for one lane, and LLVM's vectorizer joins the lanes.
#pragma once

#include <Halide.h>

#include <cstdint>

#include "opaque.h"
#include "signature.h"

namespace hewn::arm {

inline bool is_target(const Target &target) { return target.arch == Target::ARM; }

// Whether the target computes with f16, as ARMv8.2 can. The feature of dot products tells, because
// arm64_fp16 is the only target that has it. ARMFp16 does not tell: the f16 kernels of arm64_neon
// have that too, for its conversions, which every ARMv8 has.
inline bool has_f16_arithmetic(const Target &target) {
    return target.has_feature(Target::ARMDotProd);
}

// roundToIntegralTiesToEven(e) as int32, saturated; 0 for NaN. Instructions: frintn, fcvtzs.
inline Expr round_to_int32(const Expr &e) {
    return intrinsic(Int(32), "llvm.fptosi.sat.i32.f32",
                     {intrinsic(Float(32), "llvm.roundeven.f32", {e})});
}

// clamp(round(q) + zero_point, Min, Max) of a type of up to 16 bits, for any f32 q; NaN gives the
// zero point. Instructions after the rounding: for 8 bits sqxtn, sqadd and sqxt(u)n; for 16 bits
// the last two.
inline Expr quantized(const Expr &q, const Expr &zero_point, const Type &type) {
    require_integer_up_to(16, "quantized", type);
    require_type("quantized", type, zero_point.type());
    const Type wide = Int(2 * type.bits());
    const Expr r = saturating_cast(wide, round_to_int32(q));
    return saturating_cast(type, saturating_add(r, cast(wide, zero_point)));
}

// The same for types of 8 bits, a q that is not NaN, and one zero point, an int32. The sum q + 1.5
// * 2^23 rounds q to an integer. Beyond the range where it does, its bits still grow with q, so
// that the result saturates. Instructions: fadd, sqsub, sqxtn, sqxt(u)n.
inline Expr quantized_number(const Expr &q, const Expr &zero_point, const Type &type) {
    require_byte("quantized_number", type);
    require_type("quantized_number", Int(32), zero_point.type());
    const Expr bits = reinterpret<int32_t>(rounded(q + 0x1.8p23f));
    const Expr r = saturating_sub(bits, 0x4B400000 - zero_point);
    return saturating_cast(type, saturating_cast<int16_t>(r));
}

// f32(e - zero_point) of an 8-bit e.
inline Expr difference_f32(const Expr &e, const Expr &zero_point, const Target &target) {
    require_byte("difference_f32", e.type());
    if (!has_f16_arithmetic(target)) {  // usubl, sshll, scvtf
        const Expr z = cast(e.type(), zero_point);
        return opaque(cast<float>(opaque(cast<int16_t>(e) - cast<int16_t>(z))));
    }
    // A byte that is put below the exponent of 2^23 makes the float 2^23 + byte. That takes tbl and
    // fsub, which is faster where tbl is fast (from Cortex-A75 and A55 on).
    const bool is_signed = e.type().is_int();
    Expr byte = reinterpret<uint8_t>(e);
    if (is_signed) byte = byte ^ cast<uint8_t>(128);
    const auto u8 = [](int value) { return cast<uint8_t>(value); };
    const Expr sum = reinterpret<float>(concat_bits({byte, u8(0), u8(0), u8(0x4B)}));
    const Expr offset = cast<int32_t>(zero_point) + (0x800000 + (is_signed ? 128 : 0));
    return rounded(sum - opaque(cast<float>(offset)));
}

// a + b of f16, rounded once.
inline Expr sum_f16(const Expr &a, const Expr &b, const Target &target) {
    for (const Expr &e : {a, b}) require_type("sum_f16", Float(16), e.type());
    if (has_f16_arithmetic(target)) return a + b;
    // The sum is computed in f32. canonicalize hides from LLVM that it is one f16 addition, which
    // ARMv8.0 lacks.
    const Expr sum = rounded(opaque(cast<float>(a)) + opaque(cast<float>(b)));
    return cast<float16_t>(intrinsic(Float(32), "llvm.canonicalize.f32", {sum}));
}

}  // namespace hewn::arm
