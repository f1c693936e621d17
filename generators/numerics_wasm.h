// The helpers of numerics.h in WebAssembly's instructions. Conversions to integers saturate and NaN
// converts to 0, as on ARM64, whose quantized() serves here too. There are no instructions for f16,
// which is therefore converted by integer operations (docs/lab/numerics.md#webassembly).
#pragma once

#include <Halide.h>

#include <cstdint>

#include "opaque.h"
#include "signature.h"

namespace hewn::wasm {

inline bool is_target(const Target &target) { return target.arch == Target::WebAssembly; }

inline Expr u32(uint32_t value) { return Internal::make_const(UInt(32), value); }

// power: the bits of 2^exponent as f32. exponents: added to an f32's bits, raises the exponent by
// `count`.
constexpr uint32_t power(int exponent) { return uint32_t(exponent + 127) << 23; }
constexpr uint32_t exponents(int count) { return uint32_t(count) << 23; }

// f32(e) of an f16, exact. The bits of e without the sign, moved up, are an f32 whose exponent is
// too low. A product corrects that, for subnormals too. Infinity and NaN then lack the highest
// exponent, which is put in.
inline Expr to_f32(const Expr &e) {
    require_type("wasm::to_f32", Float(16), e.type());
    const Expr bits = cast<uint32_t>(reinterpret<uint16_t>(e));
    const Expr magnitude = (bits & u32(0x7fff)) << u32(13), sign = (bits & u32(0x8000)) << u32(16);
    const Expr scaled = reinterpret<uint32_t>(rounded(reinterpret<float>(magnitude) * 0x1p112f));
    const Expr highest = select(magnitude >= u32(exponents(31)), u32(power(128)), u32(0));
    return opaque(reinterpret<float>(sign | scaled | highest));
}

// f16(e), nearest even; NaN stays NaN.
inline Expr to_f16(const Expr &e) {
    require_type("wasm::to_f16", Float(32), e.type());
    const Expr bits = reinterpret<uint32_t>(e), magnitude = bits & u32(0x7fffffff);
    const Expr sign = (bits >> u32(16)) & u32(0x8000), odd = (magnitude >> u32(13)) & u32(1);
    const Expr normal = (magnitude - u32(exponents(112)) + u32(0xfff) + odd) >> u32(13);
    // Results below 2^-14 are multiples of 2^-24, which is the ulp of 0.5: adding 0.5 rounds.
    const Expr subnormal =
        reinterpret<uint32_t>(rounded(reinterpret<float>(magnitude) + 0.5f)) - u32(power(-1));
    const Expr finite = select(magnitude < u32(power(-14)), subnormal, normal);
    const Expr no_number = select(magnitude > u32(power(128)), u32(0x7e00), u32(0x7c00));
    const Expr half = sign | select(magnitude >= u32(power(16)), no_number, finite);
    return reinterpret(Float(16), cast<uint16_t>(half));
}

}  // namespace hewn::wasm
