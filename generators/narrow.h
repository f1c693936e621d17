// Narrowing from int32 to 8 bits, and kernels that end in it.
#pragma once

#include <functional>
#include <vector>

#include "numerics.h"
#include "rows.h"

namespace hewn {

// saturating_cast(type, e), where the type has half of the bits of e. LLVM's intrinsics let LLVM
// choose vpmovsdw and its like, where Halide's own cast would always become packs.
inline Expr truncated(const Expr &e, const Type &type) {
    const auto call = [&](const std::string &name, const Expr &a, const Expr &b) {
        return llvm_call(e.type(), "llvm." + name + ".i" + std::to_string(e.type().bits()), {a, b});
    };
    return cast(type, call("smin", call("smax", e, cast(e.type(), type.min())),
                           cast(e.type(), type.max())));
}

// sat16(sat16(r) + zero_point), where sat16 saturates to int16.
inline Expr offset_int16(const Expr &r, const Expr &zero_point) {
    return saturating_add(saturating_cast<int16_t>(r), cast<int16_t>(zero_point));
}

// clamp(r + zero_point, Min, Max) of an 8-bit type for any int32 r. Computed by packs, or with
// AVX-512 by vpmovsdw and its like, which keep the order of lanes.
inline Expr narrowed(const Cut &cut, const Expr &r, const Expr &zero_point, const Type &type) {
    require_type("narrowed", Int(32), r.type());
    require_byte("narrowed", type);
    if (!cut.has_masks()) return saturating_cast(type, offset_int16(r, zero_point));
    return truncated(saturating_add(truncated(r, Int(16)), cast<int16_t>(zero_point)), type);
}

// An input of 8 or 16 bits and its zero point, an int32.
struct Operand {
    Rows &rows;
    Expr zero_point;
};

// rows(x, y) - zero_point of each operand, exact in f32.
inline std::vector<Expr> differences_of(const Target &target,
                                        const std::vector<Operand> &operands) {
    std::vector<Expr> differences;
    for (const Operand &operand : operands)
        differences.push_back(difference_f32(operand.rows(x, y), operand.zero_point, target));
    return differences;
}

// What a kernel with 8-bit outputs computes for each element: narrowed(number, zero_point).
struct Narrowed {
    // A step has `vector` batches if these inputs lie as the first layout says; otherwise it has
    // one batch.
    std::vector<Rows *> inputs;
    Expr number, zero_point;
    // Instead of `number`: the operands, and the function that makes the number of their
    // differences, so that a target can subtract by other instructions.
    std::vector<Operand> operands = {};
    std::function<Expr(const std::vector<Expr> &)> to_int32 = nullptr;

    // The number of the element at (x, y).
    Expr number_of(const Target &target) const {
        return to_int32 ? to_int32(differences_of(target, operands)) : number;
    }
};

}  // namespace hewn
