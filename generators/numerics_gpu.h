// Numeric helpers of the GPU kernels. Values are bit patterns (u32 for f32, u16 for f16), and every
// value that decides a result is an integer. A float operation is used only where it is exact, or
// where it is a rounding of the reference and stands between two integer operations.
// docs/lab/numerics.md#gpus gives the reasons, and explains why each formula is exact. RN(e) is e
// rounded to the nearest f32.
#pragma once

#include <Halide.h>

#include <cstdint>
#include <vector>

#include "../runtime/base/kernel_contract.h"
#include "opaque.h"
#include "signature.h"

namespace hewn::gpu {

// ---- Bit patterns ----

constexpr uint32_t kSign = 0x80000000;
constexpr int32_t kMagnitude = 0x7fffffff, kInfinity = 0x7f800000, kFraction = 0x007fffff,
                  kOne = 0x3f800000,
                  kHidden = 0x00800000;  // also the smallest normal number

inline Expr u32(uint32_t value) { return Internal::make_const(UInt(32), value); }
inline Expr i32(int32_t value) { return Internal::make_const(Int(32), value); }
inline Expr as_u32(const Expr &e) { return reinterpret<uint32_t>(e); }
inline Expr as_i32(const Expr &e) { return reinterpret<int32_t>(e); }
inline Expr as_f32(const Expr &e) { return reinterpret<float>(e); }
inline Expr int32(const Expr &e) { return cast<int32_t>(e); }
inline Expr f32(const Expr &e) { return cast<float>(e); }

// The type in which kernels hold a tensor's elements: floats as their bits.
inline Type bits_type(const Type &type) {
    return type.is_float() ? type.with_code(Type::UInt) : type;
}

// ---- Conversions ----

// f16's bits to f32's bits, exact.
inline Expr widened(const Expr &half) {
    require_type("widened", UInt(16), half.type());
    const Expr h = cast<uint32_t>(half), magnitude = (h & 0x7fff) << 13,
               sign = (h & u32(0x8000)) << 16;
    const Expr normal = magnitude + (112 << 23);
    // A subnormal's mantissa m is read as 1.m * 2^-14. Subtracting 2^-14 gives the value, exactly.
    const Expr subnormal = as_u32(as_f32(magnitude + (113 << 23)) - 0x1p-14f);
    return sign | select(magnitude >= (31 << 23), magnitude + (224 << 23), magnitude < kHidden,
                         subnormal, normal);
}

// The f32's bits of a scale f8e8m0, 2^(code - 127). Code 0 is a subnormal f32, and 255 is NaN.
inline Expr widened_power(const Expr &code) {
    require_type("widened_power", UInt(8), code.type());
    const Expr c = cast<uint32_t>(code);
    return select(c == 0, u32(0x400000), c == 255, u32(0x7fc00000), c << 23);
}

// f32's bits to f16's bits, nearest even; NaN stays NaN.
inline Expr narrowed(const Expr &bits) {
    require_type("narrowed", UInt(32), bits.type());
    const Expr magnitude = bits & kMagnitude, sign = (bits >> 16) & u32(0x8000);
    const Expr normal = (magnitude - (112 << 23) + u32(0xfff) + ((magnitude >> 13) & 1)) >> 13;
    // Results below 2^-14 are multiples of 2^-24, which is the ulp of 0.5: adding 0.5 rounds.
    const Expr subnormal = as_u32(as_f32(magnitude) + 0.5f) - 0x3f000000;
    return cast<uint16_t>(sign | select(magnitude > kInfinity, u32(0x7e00),     //
                                        magnitude >= (143 << 23), u32(0x7c00),  // from 65536 on
                                        magnitude < (113 << 23), subnormal, normal));
}

// f32's bits to bf16's bits, nearest even; NaN stays NaN. bf16 is the upper half of an f32.
inline Expr narrowed_to_bf16(const Expr &bits) {
    require_type("narrowed_to_bf16", UInt(32), bits.type());
    const Expr rounded = (bits + u32(0x7fff) + ((bits >> 16) & 1)) >> 16;
    return cast<uint16_t>(select((bits & kMagnitude) > kInfinity, u32(0x7fc0), rounded));
}

// i32 to f32's bits, nearest even. Only the sum rounds, so the hardware's conversion beyond 2^24
// does not matter.
inline Expr converted(const Expr &integer) {
    require_type("converted", Int(32), integer.type());
    return as_u32(f32(integer >> 16) * 65536.0f + f32(integer & i32(0xffff)));
}

// RN(x - zero_point) for any integer type, by halves where it needs 33 bits. Only the sum rounds,
// whether it is contracted or not.
inline Expr difference(const Expr &x, const Expr &zero_point) {
    require_integer_up_to(32, "difference", x.type());
    require_type("difference", x.type(), zero_point.type());
    if (x.type().bits() < 32) return f32(int32(x) - int32(zero_point));
    const auto high = [](const Expr &e) { return int32(e >> cast(e.type(), 16)); };
    const auto low = [](const Expr &e) { return int32(e & cast(e.type(), 0xffff)); };
    return f32(high(x) - high(zero_point)) * 65536.0f + f32(low(x) - low(zero_point));
}

// ---- Quantization decided in integers ----

// A magnitude taken apart. A finite one is (fraction | 2^23) * 2^(exponent - 150), except that zero
// has the fraction 0 and the exponent -149. Infinity has the exponent 255.
struct Parts {
    Expr fraction, exponent;

    Expr mantissa() const { return fraction | kHidden; }          // in [2^23, 2^24)
    Expr significand() const { return as_f32(fraction | kOne); }  // in [1, 2)
};

inline Parts parts_of(const Expr &magnitude, bool may_be_subnormal) {
    if (!may_be_subnormal) return {magnitude & kFraction, as_i32(magnitude >> 23)};
    // A subnormal's bits are an integer of 23 bits, which converts exactly.
    const Expr subnormal = magnitude < kHidden;
    const Expr normal = select(subnormal, as_u32(f32(as_i32(magnitude))), magnitude);
    return {normal & kFraction, as_i32(normal >> 23) - select(subnormal, i32(149), i32(0))};
}

// About 1 / e, for e in [1, 2). For 8 bits a relative error below 2^-10 is enough. For 16 bits one
// step of Newton's method makes it less than 2^-19, contracted or not.
inline Expr rough_inverse(const Expr &e, const Type &type) {
    const Expr inverse = fast_inverse(e);
    return type.bits() == 8 ? inverse : inverse * (2.0f - e * inverse);
}

// clamp(round(RN(x / scale)) + zero_point, Min, Max) of a type of up to 16 bits, from the operands'
// parts. `distance` is x.exponent minus scale.exponent. Where the result is 0 or saturates, it may
// be any number beyond that end of [-2, type.bits() + 1].
//
// Inside, k is the truncated rough quotient, and `difference` and `half_ulp` are D and T of
// docs/lab/numerics.md#gpus: an odd k goes up if D >= -T, an even k if D > T.
inline Expr quantized(const Parts &x, const Parts &scale, const Expr &distance,
                      const Expr &negative, const Expr &zero, const Expr &zero_point,
                      const Type &type) {
    require_integer_up_to(16, "quantized", type);
    const Expr d = clamp(distance, i32(-2), i32(type.bits() + 1));
    const Expr rough =
        as_i32(x.significand() * rough_inverse(scale.significand(), type)) + d * (1 << 23);
    const Expr k = cast<uint32_t>(int32(as_f32(rough)));
    const Expr difference = (x.mantissa() << as_u32(d + 2)) - (k * 4 + 2) * scale.mantissa();
    const Expr half_ulp = scale.mantissa() >> (u32(149) - (as_u32(rough) >> 23));
    const Expr stays = (difference + (half_ulp ^ ((k & 1) - 1))) >> 31;
    const Expr rounded = select(zero, i32(0), as_i32(k + 1 - stays));
    const Expr result = select(negative, -rounded, rounded) + int32(zero_point);
    return cast(type, clamp(result, int32(type.min()), int32(type.max())));
}

// The same from the f32 bits of x and scale. x_subnormal and scale_subnormal say whether the
// operand can be subnormal.
inline Expr quantize(const Expr &x, const Expr &scale, const Expr &zero_point, const Type &type,
                     bool x_subnormal, bool scale_subnormal) {
    const Expr x_magnitude = x & kMagnitude, scale_magnitude = scale & kMagnitude;
    const Parts xp = parts_of(x_magnitude, x_subnormal),
                sp = parts_of(scale_magnitude, scale_subnormal);
    // An infinite x saturates. The quotient counts as 0 for a scale of infinity or NaN, and for x =
    // 0 and x = NaN.
    const Expr distance = select(x_magnitude == kInfinity, i32(10000), xp.exponent) -
                          select(scale_magnitude >= kInfinity, i32(100000), sp.exponent);
    const Expr zero = (x_magnitude - 1) >= kInfinity;
    return quantized(xp, sp, distance, ((x ^ scale) & u32(kSign)) != 0, zero, zero_point, type);
}

// ---- Rounding in integers ----

// value / 2^shift, nearest even, for a shift below 32. `beyond` says whether the exact value has
// bits after the last one of `value`; it matters only where the shift is not 0.
inline Expr shifted_down(const Expr &value, const Expr &shift, const Expr &beyond) {
    const Expr unit = u32(1) << shift, half = unit >> 1, kept = value >> shift,
               low = value & (unit - 1);
    const Expr up = low > half || (low == half && half != 0 && (beyond || (kept & 1) != 0));
    return kept + cast<uint32_t>(up);
}

// One step of a division, which gives 12 more bits of the quotient: a digit of base 2^12, and the
// new remainder. The old remainder, `rest`, is below the divisor, which has 24 bits. `scale` is
// 2^12 / divisor with a relative error below 2^-18, so that the estimated digit is wrong by at most
// one, which is corrected.
struct Digit {
    Expr digit, rest;
};
inline Digit next_digit(const Expr &rest, const Expr &divisor, const Expr &scale) {
    const Expr digit = cast<uint32_t>(int32(f32(as_i32(rest)) * scale));
    const Expr left = (rest << 12) - digit * divisor;  // modulo 2^32
    // One selection: Halide would write a difference of comparisons as OpenCL C that does not
    // compile.
    const Expr missing =
        select(as_i32(left) < 0, u32(0xffffffff), as_i32(left) >= as_i32(divisor), u32(1), u32(0));
    return {digit + missing, left - missing * divisor};
}

// The bits of RN(a / b), from the bits of two magnitudes. The quotient is NaN for 0 / 0, for
// infinity / infinity, and if an operand is NaN.
inline Expr quotient(const Expr &a, const Expr &b) {
    const Parts ap = parts_of(a, true), bp = parts_of(b, true);
    const Expr divisor = bp.mantissa(), less = cast<uint32_t>(ap.mantissa() < divisor);
    const Expr scale = rough_inverse(bp.significand(), UInt(16)) * 0x1p-11f;
    const Digit high = next_digit((ap.mantissa() << less) - divisor, divisor, scale),
                low = next_digit(high.rest, divisor, scale);
    const Expr digits = u32(1 << 24) + (high.digit << 12) + low.digit;  // in [2^24, 2^25)
    const Expr exponent = ap.exponent - bp.exponent - int32(less) + 127;
    const Expr rounded =
        shifted_down(digits, as_u32(clamp(i32(2) - exponent, i32(1), i32(26))), low.rest != 0);
    const Expr finite = rounded + as_u32(max(exponent - 1, i32(0)) * (1 << 23));
    const Expr infinite = exponent >= 255 || b == 0 || a == kInfinity;
    const Expr not_a_number =
        a > kInfinity || b > kInfinity || (a == 0 && b == 0) || (a == kInfinity && b == kInfinity);
    return select(not_a_number, u32(0x7fc00000), a == 0 || b == kInfinity, u32(0), infinite,
                  u32(kInfinity), finite);
}

// A magnitude, given as bits, as an integer, nearest even. From 2^32 on the result is of no use.
inline Expr rounded_integer(const Expr &magnitude) {
    const Expr mantissa = (magnitude & kFraction) | kHidden,
               left = as_i32(magnitude >> 23) - 150;  // how far to shift it
    const Expr down =
        shifted_down(mantissa, as_u32(clamp(-left, i32(0), i32(31))), Internal::const_false());
    return select(left > 0, mantissa << as_u32(clamp(left, i32(0), i32(8))), down);
}

// clamp(round(q) + zero_point, Min, Max) for 32 bits, from q's bits; NaN gives the zero point.
inline Expr finished_32(const Expr &q, const Expr &zero_point, const Type &type) {
    require(type.bits() == 32, rule_for("finished_32", "integers of 32 bits", type));
    // An i32 is computed as its distance from the least i32, which is a u32.
    const Expr bias = u32(type.is_int() ? kSign : 0), z = cast<uint32_t>(zero_point) ^ bias;
    const Expr magnitude = q & kMagnitude, negative = (q & u32(kSign)) != 0;
    const Expr integer = rounded_integer(magnitude), beyond = magnitude >= (159 << 23);
    const Expr up = z + integer;
    const Expr sum = select(negative, select(beyond || integer > z, u32(0), z - integer),
                            select(beyond || up < z, u32(0xffffffff), up));
    return cast(type, select(magnitude > kInfinity, z, sum) ^ bias);
}

// One addend of a quantized sum. `bits` is RN((q - zero_point) * scale) / 2^(common - 127), where
// 2^(common - 127) is the power of two of the larger scale. `integer` is q - zero_point, or 0 for a
// scale of 0. A scale more than 2^60 below the other one counts only where the other addend is 0;
// the sum's exponent is then `alone` instead of `common`.
struct Addend {
    Expr integer, bits, alone, scale_magnitude;
};

inline Addend addend(const Expr &q, const Expr &zero_point, const Expr &scale, const Parts &parts,
                     const Expr &common) {
    require_integer_up_to(16, "addend", q.type());
    const Expr exponent = max(parts.exponent - common, i32(-60));
    // A scale of 0 must leave an addend of 0, as a difference of 0 does. Taken apart, 0 would read
    // as a power of two.
    const Expr scale_magnitude = scale & kMagnitude;
    const Expr integer = select(scale_magnitude == 0, i32(0), int32(q) - int32(zero_point));
    const Expr factor = as_f32(parts.fraction | as_u32((exponent + 127) * (1 << 23)));
    const Expr product = as_u32(f32(integer) * factor);
    // Where the reference's product is infinite, this product must dominate the sum.
    const Expr overflow = as_u32(min(i32(382) - common, i32(255)) * (1 << 23));
    const Expr finite =
        select((product & kMagnitude) >= overflow, (product & u32(kSign)) | (227 << 23), product);
    // The scale's sign is applied here. This integer operation between product and sum prevents
    // their contraction.
    return {integer, finite ^ (scale & u32(kSign)), parts.exponent - exponent, scale_magnitude};
}

// QUANTIZED_LINEAR_ADD, decided in integers. Scales are f32's bits.
inline Expr quantized_add(const Expr &a, const Expr &a_scale, const Expr &a_zero_point,
                          const Expr &b, const Expr &b_scale, const Expr &b_zero_point,
                          const Expr &scale, const Expr &zero_point, const Type &type) {
    const auto parts = [](const Expr &bits) { return parts_of(bits & kMagnitude, true); };
    const Parts ap = parts(a_scale), bp = parts(b_scale), sp = parts(scale);
    const Expr common = max(ap.exponent, bp.exponent);
    const Addend av = addend(a, a_zero_point, a_scale, ap, common),
                 bv = addend(b, b_zero_point, b_scale, bp, common);
    const Expr sum = as_u32(as_f32(av.bits) + as_f32(bv.bits));  // rounds as the reference's sum
    const Expr magnitude = sum & kMagnitude;
    const Parts x = parts_of(magnitude, false);
    // Where the other addend is 0 * infinity = NaN, the result is the zero point.
    const Expr none = i32(-100000);
    const Expr a_alone = select(bv.scale_magnitude >= kInfinity, none, av.alone);
    const Expr b_alone = select(av.scale_magnitude >= kInfinity, none, bv.alone);
    const Expr exponent =
        x.exponent - 127 + select(bv.integer == 0, a_alone, av.integer == 0, b_alone, common);
    const Expr not_a_number = (scale & kMagnitude) >= kInfinity || av.scale_magnitude > kInfinity ||
                              bv.scale_magnitude > kInfinity;
    const Expr divisor = select(not_a_number, i32(100000), sp.exponent);
    const Expr distance = select(
        exponent >= 255, select(not_a_number, i32(-2), i32(type.bits() + 1)), exponent - divisor);
    return quantized(x, sp, distance, ((sum ^ scale) & u32(kSign)) != 0, magnitude == 0, zero_point,
                     type);
}

// ---- Devices that divide correctly and keep subnormals: CUDA ----

// clamp(round(q) + zero_point, Min, Max); NaN, which cvt.rni.s32.f32 turns into 0, gives the zero
// point. The sum is unsigned so that Halide leaves it after the clamp: before the clamp it could
// overflow.
inline Expr finished_ieee(const Expr &q, const Expr &zero_point, const Type &type) {
    require_integer_up_to(16, "finished_ieee", type);
    const Expr rounded = llvm_call(Int(32), "llvm.nvvm.f2i.rn", {q}), z = int32(zero_point);
    const Expr clamped = clamp(rounded, int32(type.min()) - z, int32(type.max()) - z);
    return cast(type, as_i32(as_u32(clamped) + as_u32(z)));
}

inline Expr divided_ieee(const Expr &a, const Expr &b) { return strict_float(a / b); }

// RN(x / scale), or a number that rounds to the same 8-bit result, for many x and one scale, which
// is given as bits. This is the two-operation quotient on CUDA; docs/lab/numerics.md#gpus explains
// it, infinities and NaN included.
inline Expr times_reciprocal_ieee(const Expr &x, const Expr &scale) {
    const auto fma = [](const Expr &a, const Expr &b, const Expr &c) {
        return llvm_call(Float(32), "llvm.fma.f32", {a, b, c});
    };
    const Expr magnitude = scale & kMagnitude, zero = magnitude == 0;
    const Expr power = u32(255u << 23) - max(magnitude & kInfinity, u32(kHidden));
    const Expr m = select(zero, 1.0f, as_f32(magnitude) * as_f32(power));
    const Expr r0 = divided_ieee(1.0f, m), r1 = divided_ieee(fma(-r0, m, 1.0f), m);
    const Expr y = as_u32(x * as_f32(select(zero, u32(kInfinity), power) | (scale & u32(kSign))));
    const Expr finite = as_f32(y - select((y & kMagnitude) == kInfinity, u32(1), u32(0)));
    return fma(finite, r0, finite * r1);
}

// RN((q - zero_point) * scale). The scale's sign is applied after the product, so product and sum
// cannot be contracted.
inline Expr addend_ieee(const Expr &q, const Expr &zero_point, const Expr &scale) {
    require_integer_up_to(16, "addend_ieee", q.type());
    const Expr product = f32(int32(q) - int32(zero_point)) * as_f32(scale & kMagnitude);
    return as_f32(as_u32(product) ^ (scale & u32(kSign)));
}

// ---- Devices that flush subnormals: Direct3D 12 ----

// The bits of a normal magnitude, a, with `exponent` instead of its own exponent field. An exponent
// below 1 gives a subnormal, one from 255 on infinity. The bits that the shift drops are 0 wherever
// the reference does not round.
inline Expr scaled_down(const Expr &a, const Expr &exponent) {
    const Expr shift = as_u32(clamp(i32(1) - exponent, i32(0), i32(31)));
    const Expr subnormal = ((a & kFraction) | kHidden) >> shift;
    const Expr normal = (as_u32(max(exponent, i32(0))) << 23) | (a & kFraction);
    return select(exponent >= 255, u32(kInfinity), exponent >= 1, normal, subnormal);
}

// The bits of RN(a + b). Small operands are scaled by 2^100 first, so that neither they nor their
// sum are subnormal.
inline Expr add_flushing(const Expr &a, const Expr &b) {
    const Expr a_magnitude = a & kMagnitude, b_magnitude = b & kMagnitude;
    const Expr large = max(a_magnitude, b_magnitude) >= (64 << 23);
    const auto raised = [&](const Expr &bits, const Expr &magnitude) {
        const Expr subnormal =
            as_u32(f32(as_i32(magnitude)) * 0x1p-49f);  // its integer is in units of 2^-149
        const Expr up = select(magnitude < kHidden, subnormal, magnitude + (100 << 23));
        return as_f32(select(large, bits, (bits & u32(kSign)) | up));
    };
    const Expr sum = as_u32(raised(a, a_magnitude) + raised(b, b_magnitude)),
               magnitude = sum & kMagnitude;
    const Expr lowered = scaled_down(magnitude, as_i32(magnitude >> 23) - 100);
    return select(large || magnitude == 0, sum, (sum & u32(kSign)) | lowered);
}

// The bits of RN(difference * scale). The product with the scale's significand is normal; the
// scale's power of two is applied in integers.
inline Expr product_flushing(const Expr &difference, const Expr &scale, bool scale_subnormal) {
    const Expr scale_magnitude = scale & kMagnitude;
    const Parts parts = parts_of(scale_magnitude, scale_subnormal);
    const Expr product = as_u32(difference * parts.significand()), magnitude = product & kMagnitude;
    const Expr zero = magnitude == 0;
    const Expr exponent = as_i32(magnitude >> 23) + parts.exponent - 127;
    const Expr scaled =
        select(zero || scale_magnitude == 0, u32(0), scaled_down(magnitude, exponent));
    const Expr not_a_number =
        (scale_magnitude + select(zero, u32(1), u32(0))) > kInfinity;  // 0 * infinity among them
    return select(not_a_number, u32(0x7fc00000), scaled | ((product ^ scale) & u32(kSign)));
}

// The bits of RN(a * b) of magnitudes that are given as bits. A product that is rounded to a
// subnormal must be rounded once, so the product of the significands, which has 47 or 48 bits, is
// computed exactly, by halves of 12 bits.
inline Expr magnitude_of_product(const Expr &a, const Expr &b) {
    const Parts ap = parts_of(a, true), bp = parts_of(b, true);
    const Expr am = ap.mantissa(), bm = bp.mantissa();
    const Expr a_high = am >> 12, a_low = am & 0xfff, b_high = bm >> 12, b_low = bm & 0xfff;
    const Expr middle = a_high * b_low + a_low * b_high;
    const Expr low = a_low * b_low + ((middle & 0xfff) << 12);
    const Expr high = a_high * b_high + (middle >> 12) + (low >> 24);
    // The product is product * 2^17, and bits after these, of which `beyond` tells.
    const Expr product = (high << 7) | ((low >> 17) & 0x7f), beyond = (low & 0x1ffff) != 0;
    const Expr large = cast<uint32_t>(product >> 30);  // whether the product has 48 bits
    const Expr exponent = ap.exponent + bp.exponent - 127 + int32(large);
    const Expr drop = int32(large) + 6 + max(i32(1) - exponent, i32(0));
    const Expr kept = shifted_down(product, as_u32(min(drop, i32(31))), beyond);
    // A carry out of the rounding goes into the exponent. For a subnormal the exponent counts as 1,
    // and its bits lack the hidden one.
    const Expr finite = select(drop > 31, u32(0), kept + as_u32(max(exponent - 1, i32(0)) << 23));
    const Expr not_a_number =
        a > kInfinity || b > kInfinity || (a == kInfinity && b == 0) || (b == kInfinity && a == 0);
    const Expr infinite = a == kInfinity || b == kInfinity || exponent >= 255;
    return select(not_a_number, u32(0x7fc00000), a == 0 || b == 0, u32(0), infinite, u32(kInfinity),
                  finite);
}

// Bits of an f32 as integers in the order of the numbers; -0 and +0 are equal. For numbers that are
// not NaN.
inline Expr ordered(const Expr &bits) {
    const Expr magnitude = as_i32(bits & kMagnitude);
    return select((bits & u32(kSign)) != 0, -magnitude, magnitude);
}

// ---- The operators, from and to bits ----

// The operators' arithmetic on a target.
struct Numerics {
    bool ieee;       // divides correctly, keeps subnormals, converts f16
    bool flushes;    // flushes f32 subnormals
    bool one_scale;  // all elements of a thread have one scale

    Numerics(const Target &target, bool one_scale)
        : ieee(target.has_feature(Target::CUDA)),
          flushes(target.has_feature(Target::D3D12Compute)),
          one_scale(one_scale) {}

    // Bits of `type` to f32's bits.
    Expr to_f32(const Expr &bits, const Type &type) const {
        if (type == Float(16))
            return ieee ? as_u32(f32(reinterpret(Float(16), bits))) : widened(bits);
        if (type == BFloat(16)) return cast<uint32_t>(bits) << 16;
        if (type == UInt(8)) return widened_power(bits);
        if (type == Int(32)) return ieee ? as_u32(f32(bits)) : converted(bits);
        require_type("to_f32, for types other than f16, bf16, i32 and f8e8m0", Float(32), type);
        return bits;
    }
    // An f32 to the bits of `type`, which is f32, f16 or bf16.
    Expr from_f32(const Expr &value, const Type &type) const {
        if (type == Float(32)) return as_u32(value);
        if (type == BFloat(16)) return narrowed_to_bf16(as_u32(value));
        require_type("from_f32, for types other than f32 and bf16", Float(16), type);
        if (ieee) return reinterpret<uint16_t>(cast<float16_t>(value));
        return narrowed(as_u32(value));
    }

    // A 32-bit word of elements of `type`, the first one lowest.
    Expr word(const std::vector<Expr> &elements, const Type &type) const {
        // From compute capability 8.0 on, CUDA converts a pair of f16 at once. The pair is swapped
        // twice, because Halide would take two floats in their own order for a ramp, whose second
        // lane would round.
        if (ieee && type == Float(16)) {
            const auto half = [&](int i) { return reinterpret(type, elements[i]); };
            return reinterpret(UInt(32), Internal::Shuffle::make({half(1), half(0)}, {1, 0}));
        }
        Expr word;
        for (size_t i = 0; i < elements.size(); i++) {
            // Unsigned first, so that the sign does not reach the neighbouring elements.
            const Expr bits = cast<uint32_t>(reinterpret(type.with_code(Type::UInt), elements[i]));
            word = i == 0 ? bits : word | (bits << u32(uint32_t(i) * type.bits()));
        }
        return word;
    }

    // a + b of floats.
    Expr add(const Expr &a, const Expr &b, const Type &type) const {
        const Expr a32 = to_f32(a, type), b32 = to_f32(b, type);
        // Sums of f16 need no care: none is a subnormal f32.
        return from_f32(type == Float(16) ? as_f32(a32) + as_f32(b32) : as_f32(sum(a32, b32)),
                        type);
    }
    // x after an activation, both in the bits of `type`. The pieces are bits of f32.
    Expr activate(const Expr &x, const Pieces<Expr, Expr> &p, const Type &type) const {
        const Expr x32 = to_f32(x, type), key = ordered(x32);
        const Expr moved = sum(product(x32, p.slope), p.offset), moved_key = ordered(moved);
        // The order of NaN's bits means nothing.
        const Expr number = (x32 & kMagnitude) <= kInfinity,
                   moved_number = (moved & kMagnitude) <= kInfinity;
        const Expr is_low = moved_key < ordered(p.low);
        const Expr is_high = moved_key > ordered(p.high);
        const Expr bounded = select(!moved_number, moved, is_low, p.low, is_high, p.high, moved);
        const Expr result =
            select(number && key < ordered(p.below), bounded, number && key > ordered(p.above),
                   sum(x32, p.shift ^ u32(kSign)), bounded & p.elsewhere);
        return from_f32(as_f32(result), type);
    }
    // x / (1 + |x|).
    Expr softsign(const Expr &x, const Type &type) const {
        const Expr x32 = to_f32(x, type);
        // A subnormal that is flushed does not change the sum.
        const Expr divisor = as_u32(as_f32(x32 & kMagnitude) + 1.0f);
        return from_f32(as_f32(quotient(x32, divisor)), type);
    }
    Expr quantize(const Expr &x, const Expr &scale, const Expr &zero_point, const Type &in,
                  const Type &scale_type, const Type &out) const {
        const Expr x32 = to_f32(x, in), scale32 = to_f32(scale, scale_type);
        if (out.bits() == 32) return finished_32(quotient(x32, scale32), zero_point, out);
        if (ieee) return finished_ieee(quotient_ieee(as_f32(x32), scale32, out), zero_point, out);
        return gpu::quantize(x32, scale32, zero_point, out, in == Float(32),
                             scale_type == Float(32));
    }
    // RN(a / b) of f32's bits.
    Expr quotient(const Expr &a, const Expr &b) const {
        if (ieee) return as_u32(divided_ieee(as_f32(a), as_f32(b)));
        return gpu::quotient(a & kMagnitude, b & kMagnitude) | ((a ^ b) & u32(kSign));
    }
    Expr dequantize(const Expr &x, const Expr &scale, const Expr &zero_point,
                    const Type &out) const {
        const Expr d = difference(x, zero_point), scale32 = to_f32(scale, out);
        return from_f32(
            flushes ? as_f32(product_flushing(d, scale32, out == Float(32))) : d * as_f32(scale32),
            out);
    }
    Expr quantized_add(const Expr &a, const Expr &a_scale, const Expr &a_zero_point, const Expr &b,
                       const Expr &b_scale, const Expr &b_zero_point, const Expr &scale,
                       const Expr &zero_point, const Type &out) const {
        if (!ieee)
            return gpu::quantized_add(a, a_scale, a_zero_point, b, b_scale, b_zero_point, scale,
                                      zero_point, out);
        const Expr sum =
            addend_ieee(a, a_zero_point, a_scale) + addend_ieee(b, b_zero_point, b_scale);
        return finished_ieee(quotient_ieee(sum, scale, out), zero_point, out);
    }

private:
    // RN(a + b) and RN(a * b) of f32's bits.
    Expr sum(const Expr &a, const Expr &b) const {
        return flushes ? add_flushing(a, b) : as_u32(as_f32(a) + as_f32(b));
    }
    // The sign of b is applied after the product, so that the product and a sum after it cannot be
    // contracted.
    Expr product(const Expr &a, const Expr &b) const {
        if (flushes)
            return magnitude_of_product(a & kMagnitude, b & kMagnitude) | ((a ^ b) & u32(kSign));
        return as_u32(as_f32(a) * as_f32(b & kMagnitude)) ^ (b & u32(kSign));
    }
    // x / scale, to be quantized to `type`. Reciprocals are proved to decide ties right only for 8
    // bits.
    Expr quotient_ieee(const Expr &x, const Expr &scale, const Type &type) const {
        return one_scale && type.bits() == 8 ? times_reciprocal_ieee(x, scale)
                                             : divided_ieee(x, as_f32(scale));
    }
};

}  // namespace hewn::gpu
