// Small floats, which are floats of at most 8 bits: their codes to f32, and f32 to codes. One
// kernel serves all formats, because the format is an argument (runtime/base/kernel_contract.h).
// docs/lab/numerics.md#small-floats explains why each helper is exact.
#pragma once

#include <Halide.h>

#include <cstdint>

#include "../runtime/base/kernel_contract.h"
#include "numerics.h"
#include "opaque.h"
#include "signature.h"

namespace hewn {

// Whether a kernel gets the format of small floats in the place of this zero point, for elements of
// the given type: they are codes of 8 bits. A zero point of integers has the elements' type.
inline bool is_format(const Expr &zero_point, const Type &type) {
    return zero_point.type() == UInt(32) && type == UInt(8);
}

// The numbers of a format, taken from its word.
struct Format {
    Expr mantissa,  // bits of the mantissa
        sign,       // the position of the sign bit
        bias,       // of the exponent
        largest,    // the code of the largest number
        nan,        // the code of NaN; 0: the format has no NaN
        saturates;  // whether numbers beyond the largest become that one

    explicit Format(const Expr &word)
        : mantissa(field(word, kFormatMantissa)),
          sign(field(word, kFormatSign)),
          bias(field(word, kFormatBias)),
          largest(field(word, kFormatLargest)),
          nan(field(word, kFormatNan)),
          saturates(field(word, kFormatSaturates) != 0) {}

    Expr sign_bit() const { return number(1) << sign; }
    // How far a mantissa is shifted between a code and the bits of an f32.
    Expr shift() const { return number(23) - mantissa; }
    // The code after the largest number: infinity, if the format has it, and otherwise NaN.
    Expr infinity() const { return largest + 1; }
    Expr has_infinity() const { return nan > infinity(); }
    // The code to which numbers beyond the largest one are rounded.
    Expr beyond() const { return select(saturates, largest, infinity()); }
    // The code to which NaN is rounded.
    Expr of_nan() const { return select(nan == 0, largest, nan); }
    // Formats whose NaN is the sign alone have no -0.
    Expr has_negative_zero() const { return nan != sign_bit(); }

    static Expr number(uint32_t value) { return Internal::make_const(UInt(32), value); }
    // The f32 2^exponent.
    static Expr power(const Expr &exponent) {
        return reinterpret<float>((exponent + number(127)) << 23);
    }

private:
    static Expr field(const Expr &word, FormatField f) {
        return (word >> number(uint32_t(f.at))) & number((1u << f.bits) - 1);
    }
};

// ---- Codes to numbers ----

// Keeps a float operation as it is written. On GPUs nothing needs to: there each of these
// operations stands between operations of integers.
using Keep = Expr (*)(const Expr &);
inline Expr kept(const Expr &e) { return e; }

// The bits of f32(code), exact, for any target. Where an f32 is computed, it is a normal number:
// subnormal operands are slow on some processors.
inline Expr decoded_bits(const Expr &code, const Format &f, Keep keep = rounded) {
    require_type("decoded_bits", UInt(8), code.type());
    const Expr c = cast<uint32_t>(code), magnitude = c & (f.sign_bit() - 1);
    const Expr least_normal = (Format::number(128) - f.bias) << 23;
    const Expr normal = (magnitude << f.shift()) + (least_normal - Format::number(1 << 23));
    // A subnormal magnitude 0.m is read as 1.m times the least normal number, which is subtracted.
    const Expr raised = reinterpret<float>(normal + Format::number(1 << 23)),
               subnormal = reinterpret<uint32_t>(keep(raised - reinterpret<float>(least_normal)));
    const Expr is_normal = (magnitude >> f.mantissa) != 0;
    // The difference is 0 for infinity, and otherwise not 0 in its lowest 8 bits.
    const Expr from_infinity =
        select(f.has_infinity(), magnitude - f.infinity(), Format::number(1));
    const Expr special = Format::number(0x7f800000) | (from_infinity << 15);
    const Expr is_special = magnitude > f.largest || (f.nan != 0 && c == f.nan);
    return select(is_special, special, select(is_normal, normal, subnormal)) |
           ((c & f.sign_bit()) << (Format::number(31) - f.sign));
}

// Whether the target converts f16, so that codes can be read as f16.
inline bool converts_f16(const Target &target) {
    return target.has_feature(Target::F16C) || target.has_feature(Target::AVX512_Skylake) ||
           arm::is_target(target);
}

// Whether an f16 has the exponents of all codes of a format.
inline Expr are_read_as_f16(const Format &f) { return f.bias <= kMostBiasAsF16; }

// f32(code), exact, for targets that convert f16 and formats that are_read_as_f16. The code's bits
// are moved to those of an f16, which is the number divided by a power of 2. Conversions of f16
// take subnormal numbers at full speed.
inline Expr decoded_as_f16(const Expr &code, const Format &f) {
    require_type("decoded_as_f16", UInt(8), code.type());
    const auto u16 = [](const Expr &e) { return cast<uint16_t>(e); };
    // The code with its sign bit in front, moved down until the exponent is in its place. Copies of
    // the sign bit fill the bits between.
    const auto moved = [&](const Expr &e) {
        const Expr exponent_bits = f.sign - f.mantissa;
        return reinterpret<uint16_t>(reinterpret<int16_t>(e << u16(Format::number(15) - f.sign)) >>
                                     reinterpret<int16_t>(u16(Format::number(5) - exponent_bits)));
    };
    const Expr lane = moved(u16(code));
    const Expr copies =
        u16(Format::number(0x8000) - (Format::number(1024) << (f.sign - f.mantissa)));
    // Clears the copies. If only the code of all ones is NaN, a carry out of it leaves them set, so
    // that the exponent becomes that of NaN.
    const Expr carries = f.nan == f.infinity() && f.nan != f.sign_bit();
    const Expr carry = u16(select(carries, Format::number(1024) >> f.mantissa, Format::number(0)));
    const Expr half = lane ^ ((lane + carry) & copies);
    const Expr nan = u16(select(f.nan == f.sign_bit(), cast<uint32_t>(moved(u16(f.nan))),
                                Format::number(1)));  // a lane of no code is odd
    const Expr number =
        half | select(lane == nan, u16(Format::number(0xffff)), u16(Format::number(0)));
    return rounded(opaque(cast<float>(reinterpret(Float(16), number))) *
                   Format::power(Format::number(15) - f.bias));
}

// f32(code), exact, for targets that convert f16 and any format. If the format's bias is greater
// than f16's, the f16 is made half as large: its exponent is one less, and codes of the two lowest
// exponents become multiples of the least f16.
inline Expr decoded_by_f16(const Expr &code, const Format &f) {
    require_type("decoded_by_f16", UInt(8), code.type());
    const auto i16 = [](const Expr &e) { return cast<int16_t>(e); };
    const Expr halves = cast<uint32_t>(f.bias > kMostBiasAsF16),
               up = Format::number(10) - f.mantissa;
    const Expr c = i16(code), magnitude = c & i16(f.sign_bit() - 1);
    const Expr half = max(magnitude << cast<uint16_t>(up - halves),
                          (magnitude << cast<uint16_t>(up)) - i16(halves << 10));
    const Expr nan = i16(select(f.nan == 0, Format::number(256), f.nan));
    const Expr not_a_number = select(c == nan || magnitude == nan, i16(0x7e00), i16(0));
    const Expr sign = (c & i16(f.sign_bit())) << cast<uint16_t>(Format::number(15) - f.sign);
    return rounded(opaque(cast<float>(reinterpret(Float(16), half | not_a_number | sign))) *
                   Format::power(Format::number(15) + halves - f.bias));
}

// ---- Numbers to codes ----

// The code of q, an f32, rounded once to nearest even, for GPUs and from q's bits.
inline Expr encoded_bits(const Expr &q, const Format &f) {
    require_type("encoded_bits", UInt(32), q.type());
    const Expr magnitude = q & 0x7fffffff;
    // 2^17 is beyond the largest number of every format, and the sums below stay finite.
    const Expr limited = min(magnitude, Format::number(144u << 23));
    // The result is a multiple of the last place of this exponent. Adding a number that has its
    // last place there rounds to it.
    const Expr least_normal = (Format::number(128) - f.bias) << 23;
    const Expr exponent = max(limited & Format::number(0x7f800000), least_normal),
               magic = exponent + (f.shift() << 23);
    const Expr sum = reinterpret<uint32_t>(reinterpret<float>(limited) + reinterpret<float>(magic));
    // Codes count numbers from 0 on, also from one exponent to the next.
    const Expr code = (sum - magic) + ((exponent - least_normal) >> f.shift());
    const Expr within = select(code > f.largest, f.beyond(), code);
    const Expr has_sign = f.has_negative_zero() || within != 0;
    const Expr sign = select(has_sign, (q >> 31) << f.sign, Format::number(0));
    return select(magnitude > 0x7f800000, f.of_nan(), within | sign);
}

// The number by which q is multiplied for encoded(): the least normal number becomes 2.
inline Expr prescale(const Format &f) { return Format::power(f.bias); }

// The code of q, an f32, rounded once to nearest even. `scaled` is q * prescale(f), whose sign may
// be wrong; the highest bit of `signs` is the sign. If `has_nan` is false, NaN gives a wrong code
// and raises the flag of invalid operations.
inline Expr encoded(const Expr &scaled, const Expr &signs, const Format &f, bool has_nan,
                    const Target &target) {
    require_type("encoded", Float(32), scaled.type());
    const auto bits = [](const Expr &e) { return reinterpret<uint32_t>(e); };
    const Expr magnitude = reinterpret<float>(bits(scaled) & 0x7fffffff),
               most = reinterpret<float>((f.beyond() << f.shift()) + Format::number(127 << 23));
    const Expr limited = strict_float(select(magnitude < most, magnitude, most));
    // The power of two of the number, or of the least normal number.
    const Expr power =
        opaque(bits(strict_float(select(limited > 2.0f, limited, 2.0f))) & 0x7f800000);
    // The last place of this sum is the last place of the result, so the addition rounds. The low
    // bits of the sum are the mantissa in such units, and the exponent is added to them. That is a
    // multiple of 2^8 for the least normal number, so that the low byte is the code.
    const bool fused = target.has_feature(Target::FMA) || target.arch == Target::ARM;
    const Expr unit = Format::power(f.mantissa - Format::number(23)), p = reinterpret<float>(power);
    const Expr sum = bits(fused ? fma(limited, unit, p) : rounded(rounded(limited * unit) + p));
    const Expr code = (sum + (power >> f.shift())) & 0xff;
    // Magnitudes up to half of the least number become 0.
    const Expr least =
        select(f.has_negative_zero(), -1.0f, Format::power(Format::number(0) - f.mantissa));
    const Expr sign =
        select(strict_float(magnitude > least),
               (signs >> (Format::number(31) - f.sign)) & f.sign_bit(), Format::number(0));
    return has_nan ? select(strict_float(scaled != scaled), f.of_nan(), code | sign) : code | sign;
}

}  // namespace hewn
