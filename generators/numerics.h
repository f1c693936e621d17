// Numeric helpers of the generators. Each computes exactly what its formula says: IEEE-754
// binary32, one rounding per written operation, and ends the generator run for types that it does
// not hold. docs/numerics.md explains why each is exact.
#pragma once

#include <Halide.h>

#include <cstdint>

#include "numerics_arm.h"
#include "numerics_wasm.h"
#include "opaque.h"
#include "signature.h"

namespace hewn {

// RN(a * b + c). vfmadd*ps, fmla
inline Expr fma(const Expr &a, const Expr &b, const Expr &c) {
    return intrinsic(Float(32), "llvm.fma.f32", {a, b, c});
}

// roundToIntegralTiesToEven(e) as int32. NaN and values that do not fit give 0x80000000 and raise
// the invalid-operation flag.
inline Expr round_to_int32(const Expr &e) {
    require_type("round_to_int32", Float(32), e.type());
    // One (v)cvtps2dq on x86. Halide's round() would take seven operations.
    return llvm_call(Int(32), "llvm.lrint.i32.f32", {e});
}

// min(max(e, low), high). NaN stays NaN, because e is the second operand of (v)maxps and (v)minps.
inline Expr clamp_keeping_nan(const Expr &e, const Expr &low, const Expr &high) {
    const Expr raised = strict_float(select(low > e, low, e));
    return rounded(select(high < raised, high, raised));
}

// f32(e), exact for f16 and integers up to 24 bits, nearest even for 32-bit integers.
inline Expr to_f32(const Expr &e) {
    if (!e.type().is_float()) require_integer_up_to(32, "to_f32", e.type());
    else
        require(e.type() == Float(16) || e.type() == Float(32),
                rule_for("to_f32", "f16 and f32 of floats", e.type()));
    const bool narrow = e.type().is_int_or_uint() && e.type().bits() < 32;
    return opaque(cast<float>(narrow ? cast<int32_t>(e) : e));
}

// The same of an element that may be f16.
inline Expr to_f32(const Expr &e, const Target &target) {
    return e.type() == Float(16) && wasm::is_target(target) ? wasm::to_f32(e) : to_f32(e);
}

// f16(e), nearest even; NaN stays NaN. e is f32.
inline Expr to_f16(const Expr &e, const Target &target) {
    require_type("to_f16", Float(32), e.type());
    if (wasm::is_target(target)) return wasm::to_f16(e);
    const Expr converted = cast<float16_t>(e);
    // Where the hardware has no conversion, Halide emulates it, and turns NaN into infinity.
    if (target.arch != Target::X86 || target.has_feature(Target::F16C)) return converted;
    return select(strict_float(e != e), float16_t::make_nan(), converted);
}

// f32 of bf16's bits, exact: they are its upper half.
inline Expr bf16_to_f32(const Expr &bits) {
    require_type("bf16_to_f32", UInt(16), bits.type());
    return reinterpret<float>(cast<uint32_t>(bits) << 16);
}

// The bits of bf16(e), nearest even. e is f32: a number, or a sum of two bf16.
inline Expr f32_to_bf16(const Expr &e, const Target &target) {
    require_type("f32_to_bf16", Float(32), e.type());
    const Expr bits = reinterpret<uint32_t>(e);
    const Expr upper = cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    // A NaN's lower half could carry into its upper half, and leave no NaN. On x86 and ARM it is 0
    // where a sum of two bf16 is NaN (docs/lab/numerics.md#bf16).
    if (!wasm::is_target(target)) return upper;
    return select(strict_float(e != e), cast<uint16_t>(0x7fc0), upper);
}

// e * (r0 + r1): docs/lab/numerics.md#the-two-operation-quotient. `again` has the value of e; it
// may come from a second load.
inline Expr times_reciprocal(const Expr &e, const Expr &again, const Expr &r0, const Expr &r1) {
    return fma(again, r0, rounded(e * r1));
}
inline Expr times_reciprocal(const Expr &e, const Expr &r0, const Expr &r1) {
    return times_reciprocal(e, e, r0, r1);
}

// RN(e - zero_point) for any integer type. Up to 16 bits exactly, in int32, which x86 subtracts on
// more ports than f32. 32 bits by halves (docs/lab/numerics.md#a-difference-of-33-bits).
inline Expr difference_f32(const Expr &e, const Expr &zero_point, const Target &target) {
    require_integer_up_to(32, "difference_f32", e.type());
    if (e.type().bits() == 8 && arm::is_target(target))
        return arm::difference_f32(e, zero_point, target);
    const auto i32 = [](const Expr &v) { return cast<int32_t>(v); };
    if (e.type().bits() < 32) {
        // Halide would subtract bytes in 16 bits and widen twice. It does not see that max(z,
        // -2^31) is z.
        const Expr z = llvm_call(Int(32), "llvm.smax.i32", {i32(zero_point), Int(32).min()});
        return opaque(cast<float>(i32(e) - z));
    }
    require_type("difference_f32 of 32 bits", e.type(), zero_point.type());
    const Expr high = opaque(cast<float>(i32(e >> 16) - i32(zero_point >> 16)));
    const Expr low = opaque(cast<float>(i32(e & 0xffff) - i32(zero_point & 0xffff)));
    const bool fused = target.has_feature(Target::FMA) || target.arch == Target::ARM;
    return fused ? fma(high, 65536.0f, low) : rounded(rounded(high * 65536.0f) + low);
}

// clamp(round(q) + z, Min, Max) of a type of up to 16 bits, for any f32 q; NaN gives z. q is
// clamped before rounding, to what the output can hold. So no conversion overflows, and the sum in
// the type's width wraps to the right value.
inline Expr quantize_clamped(const Expr &q, const Expr &zero_point, const Type &type) {
    require_integer_up_to(16, "quantize_clamped", type);
    require_type("quantize_clamped", type, zero_point.type());
    const Expr z = to_f32(zero_point);
    const Expr low = rounded(cast<float>(cast<int32_t>(type.min())) - z);  // exact
    const Expr high = rounded(cast<float>(cast<int32_t>(type.max())) - z);
    const Type wrapping = type.with_code(Type::UInt);
    return cast(type, cast(wrapping, round_to_int32(clamp_keeping_nan(q, low, high))) +
                          cast(wrapping, zero_point));
}

// The same of a type of 32 bits, which f32 cannot hold: q, once it is at most 2^33, and the zero
// point are each high * 2^16 + low, exactly, and no sum of halves overflows. As 2^16 is even, low
// ties where q does.
inline Expr quantized_by_halves(const Expr &q, const Expr &zero_point, const Type &type,
                                const Target &target) {
    require(type == Int(32) || type == UInt(32),
            rule_for("quantized_by_halves", "integers of 32 bits", type));
    require_type("quantized_by_halves", type, zero_point.type());
    const auto i32 = [](const Expr &e) { return cast<int32_t>(e); };
    const Expr clamped = clamp_keeping_nan(q, -0x1p33f, 0x1p33f),
               number = opaque(select(strict_float(q != q), 0.0f, clamped));
    const Expr high = opaque(i32(rounded(number * 0x1p-16f)));  // toward 0
    const Expr rest = rounded(number - rounded(opaque(cast<float>(high)) * 0x1p16f));
    const bool saturates = arm::is_target(target) || wasm::is_target(target);
    const Expr low =
        (saturates ? arm::round_to_int32(rest) : round_to_int32(rest)) + i32(zero_point & 0xffff);
    const Expr sum = high + i32(zero_point >> 16) + (low >> 16);
    const Expr value = cast<uint32_t>(sum) << 16 | cast<uint32_t>(low & 0xffff);
    const int32_t least = type.is_int() ? -0x8000 : 0;
    return select(sum<least, type.min(), sum> least + 0xffff, type.max(), cast(type, value));
}

// The same in the instructions of the target.
inline Expr quantized(const Expr &q, const Expr &zero_point, const Type &type,
                      const Target &target) {
    if (type.bits() == 32) return quantized_by_halves(q, zero_point, type, target);
    const bool saturates = arm::is_target(target) || wasm::is_target(target);
    return (saturates ? arm::quantized : quantize_clamped)(q, zero_point, type);
}

}  // namespace hewn
