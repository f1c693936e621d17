// The rows of a CPU's kernel, and the parts that rows are cut into. steps.h, lanes.h, packs.h and
// blocks.h define and schedule such parts.
#pragma once

#include <Halide.h>

#include <functional>
#include <string>
#include <vector>

#include "opaque.h"

namespace hewn {

// A kernel's buffers have two dimensions. x runs along a row, where the output's stride is 1 and an
// input's is 0 or 1. y runs over rows, with any stride. The runtime brings every layout into this
// shape, and proves what Halide's assertions would check.
using Rows = GeneratorInput<Buffer<void, 2>>;
using OutputRows = GeneratorOutput<Buffer<void, 2>>;

// The knob `tail`: how to compute a row whose length is no multiple of the step
// (docs/lab/architecture.md#tails). Shifted and Narrowed compute some elements twice, so their
// output must not lie on an input.
enum class Tail { Masked, Shifted, Stepped, Narrowed };

// The knob `order`: in which order a step of several batches is computed.
enum class Order { Functions, Batches };

// How rows are cut: the knobs, and what follows from them for the target.
struct Cut {
    Target target;
    Tail tail;
    Order order;
    bool unrolled;
    int vector;          // vectors of a step; with packs, batches
    int width = 0;       // elements of a vector
    int step = 0;        // elements of a step
    bool plans = false;  // whether an autoscheduler schedules, instead of the functions here

    bool has_masks() const { return target.has_feature(Target::AVX512_Skylake); }
    int int32_lanes() const { return target.natural_vector_size(Int(32)); }
};

// Some columns of every row: an update of the output over a domain.
struct Part {
    RDom domain;
    std::function<void(Stage)> vectorize;  // schedules a stage, specialised for a layout
};

// A kernel's definition as it grows. A function that defines a part also says how the part is
// scheduled.
struct Definition {
    Cut cut;
    std::vector<std::string> layouts;  // a word each, the most frequent first
    std::function<void(Stage)> whole;  // the schedule of rows that are not cut into parts
    std::vector<Part> parts;           // in the order of the output's updates
    std::vector<std::function<void(Func)>> computed;  // schedules of Funcs that parts read
};

inline bool uses(const Expr &e, const Var &var) { return Internal::expr_uses_var(e, var.name()); }

// Whether the inputs' strides along x are the layout's digits.
inline Expr lies_as(const std::string &layout, const std::vector<Rows *> &inputs) {
    Expr fits = Internal::const_true();
    for (size_t i = 0; i < inputs.size(); i++)
        fits = fits && inputs[i]->dim(0).stride() == layout[i] - '0';
    return fits;
}

// Puts the domain's loops inside the loop over rows.
inline Stage &in_order(Stage &stage, const RDom &domain) {
    std::vector<VarOrRVar> order;
    for (int d = 0; d < domain.dimensions(); d++) order.push_back(domain[d]);
    order.push_back(y);
    return stage.reorder(order);
}

// Schedules a step of a loop over `column`: one vector or, with unrolled=1, several of cut.width.
template<class Column>
void vectorize_step(const Cut &cut, Stage stage, const Column &column, int step,
                    TailStrategy strategy = TailStrategy::Auto) {
    if (!cut.unrolled || step % cut.width != 0 || step == cut.width) {
        stage.vectorize(column, step, strategy);
        return;
    }
    const Column in_step("in_step"), vectors("vectors"), lanes("lanes");
    stage.split(column, column, in_step, step, strategy)
        .split(in_step, vectors, lanes, cut.width)
        .vectorize(lanes)
        .unroll(vectors);
}

// The same for all columns of a domain, which are a step or fewer.
inline void vectorize_columns(const Cut &cut, Stage stage, const RDom &domain) {
    const auto columns = Internal::as_const_int(domain.x.extent());
    if (cut.unrolled && columns && *columns > cut.width)
        return vectorize_step(cut, stage, RVar(domain.x), int(*columns));
    stage.vectorize(domain.x);
}

}  // namespace hewn
