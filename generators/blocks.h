// Rows of blocks: each block of elements along a row has a scale and a zero point of its own. The
// forms `blocks` are defined and scheduled here. The runtime passes them rows of whole steps.
#pragma once

#include <functional>
#include <vector>

#include "../runtime/base/kernel_contract.h"
#include "lanes.h"

namespace hewn {

// Elements of a step where the knob `vector` is 1.
constexpr int kBlockStep = 4 * kLeastBlock;

// In a part's expressions: the number of a unit (see Unit) along the row.
inline const Var unit{"unit"};

// Values that are computed once for each (`block`, y) from the block's parameters, such as the
// reciprocal of its scale. The parameters in `rows` may have one element for all blocks, with a
// stride of 0. All others have an element for each block.
struct Prepared {
    std::vector<Expr> values;
    Rows *rows = nullptr;
};
// A row of `count` blocks of kLeastBlock << shift elements. There is a loop for each length of a
// block up to `longest_unit`; a longer block is computed as several units of that length. A step
// has `vector` (the knob) times kBlockStep elements.
struct Blocks {
    Expr shift, count;
    std::vector<Prepared> prepared;
    int longest_unit = kBlockStep;
};

// Neighbouring elements that share one block's parameters: a whole block, or `longest_unit`
// elements of a longer block.
struct Unit {
    int elements;
    Expr steps;  // the steps of a row; 0 if the row's units have another length
    Expr block;  // the number of the block that unit number `unit` is in
};

// The schedule of a Func of (block, y), which is computed for all blocks of a row at once.
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

// Calls `define` for each length that a unit may have, to define a part. `define` also gets the
// values that are prepared for the unit's block.
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

// Defines output(x, y) = value(what is prepared for the block of x). Rows must be whole steps.
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
