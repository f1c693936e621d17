// Numeric helpers of the generators for CPUs. Each computes exactly the formula in its comment, in
// IEEE-754 binary32 with one rounding for each written operation; RN(e) is e rounded to the nearest
// f32. A helper ends the generator's run for types that it does not support. docs/lab/numerics.md
// explains why each is exact.
#pragma once

#include <Halide.h>

#include <cstdint>

#include "numerics_arm.h"
#include "numerics_wasm.h"
#include "opaque.h"
#include "signature.h"

namespace hewn {

// RN(a * b + c), as one instruction: vfmadd*ps, on ARM fmla.
inline Expr fma(const Expr &a, const Expr &b, const Expr &c) {
    return intrinsic(Float(32), "llvm.fma.f32", {a, b, c});
}

// roundToIntegralTiesToEven(e) as int32, for x86. NaN and values that do not fit give 0x80000000
// and raise the flag of invalid operations.
inline Expr round_to_int32(const Expr &e) {
    require_type("round_to_int32", Float(32), e.type());
    // This is one (v)cvtps2dq. Halide's round() would take seven operations.
    return llvm_call(Int(32), "llvm.lrint.i32.f32", {e});
}

// min(max(e, low), high). NaN stays NaN, because e is the second operand of (v)maxps and (v)minps,
// which they give if an operand is NaN.
inline Expr clamp_keeping_nan(const Expr &e, const Expr &low, const Expr &high) {
    const Expr raised = strict_float(select(low > e, low, e));
    return rounded(select(high < raised, high, raised));
}

// f32(e): exact for f16 and for integers of up to 24 bits, rounded to nearest even for integers of
// 32 bits.
inline Expr to_f32(const Expr &e) {
    if (!e.type().is_float()) require_integer_up_to(32, "to_f32", e.type());
    else
        require(e.type() == Float(16) || e.type() == Float(32),
                rule_for("to_f32", "f16 and f32 of floats", e.type()));
    const bool narrow = e.type().is_int_or_uint() && e.type().bits() < 32;
    return opaque(cast<float>(narrow ? cast<int32_t>(e) : e));
}

// The same for any target: this one also converts f16 on WebAssembly.
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

// f32 of bf16's bits, exact: these are the upper half of the f32's bits.
inline Expr bf16_to_f32(const Expr &bits) {
    require_type("bf16_to_f32", UInt(16), bits.type());
    return reinterpret<float>(cast<uint32_t>(bits) << 16);
}

// The bits of bf16(e), nearest even. e is an f32 that is not NaN, or that was computed from bf16
// and from numbers that are not NaN.
inline Expr f32_to_bf16(const Expr &e, const Target &target) {
    require_type("f32_to_bf16", Float(32), e.type());
    const Expr bits = reinterpret<uint32_t>(e);
    const Expr upper = cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    // The lower half of a NaN could carry into the upper half and leave something that is no NaN.
    // On x86 and ARM the lower half is 0, as it is in a NaN of bf16 and in the NaN that an
    // operation makes of numbers (docs/lab/numerics.md#bf16).
    if (!wasm::is_target(target)) return upper;
    return select(strict_float(e != e), cast<uint16_t>(0x7fc0), upper);
}

// e * (r0 + r1), the two-operation quotient (docs/lab/numerics.md#the-two-operation-quotient).
// `again` has the same value as e, but may come from a second load.
inline Expr times_reciprocal(const Expr &e, const Expr &again, const Expr &r0, const Expr &r1) {
    return fma(again, r0, rounded(e * r1));
}
inline Expr times_reciprocal(const Expr &e, const Expr &r0, const Expr &r1) {
    return times_reciprocal(e, e, r0, r1);
}

// RN(e - zero_point) for any integer type. Types of up to 16 bits are subtracted in int32, exactly:
// x86 has more ports for that than for f32. Types of 32 bits are subtracted by halves
// (docs/lab/numerics.md#a-difference-of-33-bits).
inline Expr difference_f32(const Expr &e, const Expr &zero_point, const Target &target) {
    require_integer_up_to(32, "difference_f32", e.type());
    if (e.type().bits() == 8 && arm::is_target(target))
        return arm::difference_f32(e, zero_point, target);
    const auto i32 = [](const Expr &v) { return cast<int32_t>(v); };
    if (e.type().bits() < 32) {
        // Halide would subtract bytes in 16 bits and widen twice. The maximum prevents it, because
        // Halide does not see that max(z, -2^31) is z.
        const Expr z = llvm_call(Int(32), "llvm.smax.i32", {i32(zero_point), Int(32).min()});
        return opaque(cast<float>(i32(e) - z));
    }
    require_type("difference_f32 of 32 bits", e.type(), zero_point.type());
    const Expr high = opaque(cast<float>(i32(e >> 16) - i32(zero_point >> 16)));
    const Expr low = opaque(cast<float>(i32(e & 0xffff) - i32(zero_point & 0xffff)));
    const bool fused = target.has_feature(Target::FMA) || target.arch == Target::ARM;
    return fused ? fma(high, 65536.0f, low) : rounded(rounded(high * 65536.0f) + low);
}

// clamp(round(q) + zero_point, Min, Max) of a type of up to 16 bits, for any f32 q; NaN gives the
// zero point. q is clamped before it is rounded. So no conversion overflows, and the sum, in the
// type's width, wraps to the right value.
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

// clamp(round(q) + zero_point, Min, Max) of a type of 32 bits, whose numbers f32 cannot hold. q,
// clamped to 2^33 in magnitude, and the zero point are each taken apart as high * 2^16 + low,
// exactly, and no sum of halves overflows. As 2^16 is even, low is a tie where q is.
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

// clamp(round(q) + zero_point, Min, Max) by the instructions of the target, for any f32 q; NaN
// gives the zero point.
inline Expr quantized(const Expr &q, const Expr &zero_point, const Type &type,
                      const Target &target) {
    if (type.bits() == 32) return quantized_by_halves(q, zero_point, type, target);
    const bool saturates = arm::is_target(target) || wasm::is_target(target);
    return (saturates ? arm::quantized : quantize_clamped)(q, zero_point, type);
}

}  // namespace hewn
