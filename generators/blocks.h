// Rows of blocks, each with parameters of its own.
#pragma once

#include <functional>
#include <vector>

#include "../runtime/base/kernel_contract.h"
#include "lanes.h"

namespace hewn {

constexpr int kBlockStep = 4 * kLeastBlock;

// The number of a unit (below) along a row, in a part's expressions.
inline const Var unit{"unit"};

// What is computed once for each (`block`, y), from parameters that have an element for each block.
// Those of `rows` may have one element for all blocks, with a stride of 0.
struct Prepared {
    std::vector<Expr> values;
    Rows *rows = nullptr;
};
// A row of blocks: `count` of kLeastBlock << shift elements. Blocks of up to `longest_unit`
// elements have a loop for each length; a longer one is several units. The knob `vector` is how
// many times kBlockStep elements a step has.
struct Blocks {
    Expr shift, count;
    std::vector<Prepared> prepared;
    int longest_unit = kBlockStep;
};

// Elements that have one block's parameters: a block, or the longest unit of a longer one.
struct Unit {
    int elements;
    Expr steps;  // of a row with such units
    Expr block;  // of the unit with the number `unit`
};

// The schedule of a Func of (block, y), computed for all blocks of a row.
inline auto compute_for_row(Func func, const Rows *rows) {
    return [func, rows](const Func &out) mutable {
        func.compute_at(out, y)
            .store_in(MemoryType::Stack)
            .bound_storage(block, kLongestBlockRow / kLeastBlock);
        const auto vectorize = [&](Stage stage) {
            stage.vectorize(block, kBlocksTogether, TailStrategy::RoundUp);
        };
        for (int stride = 0; rows && stride <= 1; stride++)
            vectorize(Stage(func).specialize(rows->dim(0).stride() == stride));
        if (rows) Stage(func).specialize_fail("a stride that the runtime never passes");
        else vectorize(func);
    };
}

// Has `define` define a part for each length of a unit. It gets what is prepared for `unit`.
inline void for_units(Definition &d, OutputRows &output, const Blocks &blocks,
                      const std::function<void(const Unit &, const std::vector<Expr> &)> &define) {
    if (kBlocksTogether * kLeastBlock % d.cut.step != 0)
        throw CompileError("this form has shorter rows than steps\n");
    for (int log2 = 0; kLeastBlock << log2 <= blocks.longest_unit; log2++) {
        const bool longest = kLeastBlock << log2 == blocks.longest_unit;
        const Expr fits = longest ? blocks.shift >= log2 : blocks.shift == log2,
                   number = longest ? unit >> cast<uint32_t>(blocks.shift - log2) : unit;
        const Unit u = {kLeastBlock << log2, select(fits, output.dim(0).extent() / d.cut.step, 0),
                        unsafe_promise_clamped(number, 0, blocks.count - 1)};
        std::vector<Expr> of_unit;
        for (const Prepared &p : blocks.prepared) {
            Func func("prepared");
            func(block, y) = Tuple(p.values);
            for (size_t i = 0; i < p.values.size(); i++)
                of_unit.push_back(p.values.size() > 1 ? Expr(func(u.block, y)[int(i)])
                                                      : Expr(func(u.block, y)));
            d.computed.push_back(compute_for_row(func, p.rows));
        }
        define(u, of_unit);
    }
}

// output(x, y) = value(prepared), for rows of whole steps.
inline void define_of_blocks(Definition &d, OutputRows &output, const Blocks &blocks,
                             const std::function<Expr(const std::vector<Expr> &)> &value) {
    d.cut.width = kLeastBlock;
    d.cut.step = d.cut.vector * kBlockStep;
    const int width = d.cut.width, step = d.cut.step;
    output(x, y) = undef(output.type());
    for_units(d, output, blocks, [&](const Unit &u, const std::vector<Expr> &of_unit) {
        const RDom part(0, width, 0, step / width, 0, u.steps, "blocks");
        const Expr column = part.z * step + part.y * width + part.x,
                   number = part.z * (step / u.elements) + part.y * width / u.elements;
        output(column, y) =
            Internal::substitute({{x.name(), column}, {unit.name(), number}},
                                 Internal::substitute(block.name(), u.block, value(of_unit)));
        d.parts.push_back({part, vectorize_lanes(part, 1)});
    });
}

}  // namespace hewn
