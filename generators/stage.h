// Operations that stay as they are written, and those of LLVM that are called by name.
#ifndef HEWN_GENERATORS_STAGE_H
#define HEWN_GENERATORS_STAGE_H

#include <Halide.h>

#include <string>
#include <vector>

namespace hewn {

using Halide::Expr;
using Halide::Type;

inline const Halide::Var x{"x"}, y{"y"};

// e, in an inlined Func of its own. strict_float rewrites the whole tree below it, but stops at a Func: this keeps strict
// operations and fused multiply-adds apart.
inline Expr stage(const Expr &e) {
    Halide::Func f;
    f(x, y) = e;
    return f(x, y);
}

// RN(e) for an e of one float operation: neither reassociated nor contracted with its neighbours.
inline Expr rounded(const Expr &e) { return stage(Halide::strict_float(e)); }

// LLVM's scalar intrinsic of that name, where Halide has no path to its vectors: LLVM joins the lanes.
inline Expr llvm_call(const Type &type, const std::string &name, const std::vector<Expr> &arguments) {
    return Halide::Internal::Call::make(type, name, arguments, Halide::Internal::Call::PureExtern);
}

// The same, kept apart from what is around it.
inline Expr intrinsic(const Type &type, const std::string &name, const std::vector<Expr> &arguments) {
    return stage(llvm_call(type, name, arguments));
}

}  // namespace hewn

#endif  // HEWN_GENERATORS_STAGE_H
