// Expressions that LLVM must leave as written, and LLVM intrinsics called by name.
#pragma once

#include <Halide.h>

#include <algorithm>
#include <string>
#include <vector>

namespace hewn {

using namespace Halide;  // the language of these headers; hewn's own names hide Halide's

// x and y are the column and the row of an element. Some forms also use lane, the position of x in
// its vector, or block, the number of the block that x is in, whose elements share parameters.
inline const Var x{"x"}, y{"y"}, lane{"lane"}, block{"block"};

// The Vars that e uses.
inline std::vector<Var> vars_of(const Expr &e) {
    struct Visitor : Internal::IRGraphVisitor {
        std::vector<Var> vars;
        using IRGraphVisitor::visit;
        void visit(const Internal::Variable *variable) override {
            const auto same = [&](const Var &var) { return var.name() == variable->name; };
            const bool is_var = !variable->param.defined() && !variable->reduction_domain.defined();
            if (is_var && std::none_of(vars.begin(), vars.end(), same))
                vars.emplace_back(variable->name);
        }
    } visitor;
    e.accept(&visitor);
    return visitor.vars;
}

// e in an inlined Func of its own. strict_float rewrites the whole expression tree below it, but
// stops at a Func. This keeps strict operations and fused multiply-adds apart.
inline Expr opaque(const Expr &e) {
    const std::vector<Var> vars = vars_of(e);
    Func f;
    f(vars) = e;
    return f(std::vector<Expr>(vars.begin(), vars.end()));
}

// RN(e) for an e of one float operation, which is neither reassociated nor contracted with the
// operations around it.
inline Expr rounded(const Expr &e) { return opaque(strict_float(e)); }

// Calls the scalar LLVM intrinsic `name`. This is for intrinsics that Halide cannot emit as
// vectors; LLVM joins the lanes.
inline Expr llvm_call(const Type &type, const std::string &name,
                      const std::vector<Expr> &arguments) {
    return Internal::Call::make(type, name, arguments, Internal::Call::PureExtern);
}

// llvm_call, kept apart from the expressions around it.
inline Expr intrinsic(const Type &type, const std::string &name,
                      const std::vector<Expr> &arguments) {
    return opaque(llvm_call(type, name, arguments));
}

}  // namespace hewn
