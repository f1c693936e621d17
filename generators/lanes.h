// Rows along which scales and zero points repeat within a vector, for the forms `repeating`: one
// vector of them, read by `lane`, serves the whole row.
#pragma once

#include <algorithm>

#include "../runtime/base/kernel_contract.h"
#include "prefetch.h"

namespace hewn {

// Refuses vectors that do not hold whole periods, or that hold more elements than the shortest row.
inline void check_lanes(const Cut &cut) {
    if (cut.width % kRepeatingPeriod != 0 || cut.width > kRepeatingLanes)
        throw CompileError("width: expected 8 or 16 for this form\n");
}

// The schedule of a part whose domain has three dimensions: the columns of a vector, the vectors of
// a step, the steps. `together`, a power of two, is how many vectors of a step are joined to one.
inline auto vectorize_lanes(const RDom &part, int together) {
    return [part, together](Stage stage) {
        const RVar group("group"), in_group("in_group");
        in_order(stage, part).split(part.y, group, in_group, together);
        stage.vectorize(part.x).vectorize(in_group).unroll(group);
    };
}

// Defines output(x, y) = value, which uses `lane`, for rows of at least kRepeatingLanes elements.
// Inputs that are read by `lane` must repeat along the row after a divisor of kRepeatingPeriod
// elements. The row must be whole repetitions, because its last step overlaps the one before.
// `narrow` says that the value reads elements of less than 32 bits.
inline void define_lanes(Definition &d, OutputRows &output, const Prefetch &prefetch,
                         const Expr &value, bool narrow) {
    const Cut &cut = d.cut;
    if (cut.tail != Tail::Shifted)
        throw CompileError("tail: expected shifted, or narrowed where this form narrows\n");
    check_lanes(cut);
    const Expr columns = output.dim(0).extent();
    output(x, y) = undef(output.type());
    const auto add_part = [&](int vectors, const Expr &fits, bool prefetches) {
        const int step = vectors * cut.width;
        const RDom part(0, cut.width, 0, vectors, 0, select(fits, (columns + step - 1) / step, 0),
                        "lanes");
        const Expr first = min(part.z * step, columns - step), start = first + part.y * cut.width;
        const Expr column = unsafe_promise_clamped(start + part.x, 0, columns - 1);
        const Expr element =
            Internal::substitute({{x.name(), column}, {lane.name(), part.x}}, value);
        output(column, y) = prefetches ? prefetch.before(element, first, step) : element;
        // If more than four vectors were joined, AVX2 would load narrow elements twice: 16 bytes
        // for two vectors, then the upper half of these.
        const int joined = narrow && !cut.has_masks() ? std::min(vectors, 4) : vectors;
        d.parts.push_back({part, vectorize_lanes(part, cut.unrolled ? 1 : joined)});
    };
    Expr has_step = columns >= cut.step;
    if (prefetch) {
        add_part(cut.vector, has_step && prefetch.distance > 0, true);
        has_step = has_step && prefetch.distance <= 0;
    }
    add_part(cut.vector, has_step, false);
    if (cut.vector > 1) add_part(1, columns < cut.step, false);  // rows shorter than a step
}

}  // namespace hewn
