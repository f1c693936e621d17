// Rows that are computed in steps. The rest of a row is computed in smaller steps, in a masked
// vector, or in a step that overlaps the one before (the knob `tail`).
#pragma once

#include <algorithm>

#include "prefetch.h"

namespace hewn {

// A cheaper expression, `value`, that may be computed instead where `holds` is true. `holds` must
// be the same for a whole box.
struct Shortcut {
    Expr holds, value;
};

// ---- Parts ----

// Defines output(x, y) = element(x, y) for x < end: steps of v elements, then steps of v / 4 in the
// rest, and so on, in `levels` levels. The last of several levels is scalar.
inline void add_steps(Definition &d, OutputRows &output, const Prefetch &prefetch,
                      const Func &element, const Expr &end, int v, int levels) {
    const auto vectorize = [cut = d.cut](const RDom &part) {
        return [cut, part](Stage stage) {
            vectorize_columns(cut, stage.reorder(part.x, part.y, y), part);
        };
    };
    Expr begin = 0;
    if (prefetch) {
        const RDom part(0, v, 0, select(prefetch.distance > 0, end / v, 0), "prefetching");
        const Expr start = part.y * v, column = start + part.x;
        output(column, y) = prefetch.before(element(column, y), start, v);
        d.parts.push_back({part, vectorize(part)});
        begin = select(prefetch.distance > 0, end / v * v, 0);
    }
    for (; levels > 0; levels--, v = levels > 1 && v > 4 ? v / 4 : 1) {
        const RDom part(0, v, 0, (end - begin) / v, "part");
        const Expr column = begin + part.y * v + part.x;
        output(column, y) = element(column, y);
        d.parts.push_back({part, vectorize(part)});
        if (v == 1) break;
        begin += (end - begin) / v * v;
    }
}

// Defines output(x, y) = element, which may use `lane`, for rows of `least` to end - 1 columns:
// vectors of cut.width, of which the last overlaps the one before. Rows shorter than that are
// computed in vectors of 4, and below 4 columns as scalars. If there are several layouts, they are
// all computed as scalars, for size.
inline void add_short_rows(Definition &d, OutputRows &output, const Expr &element, int least,
                           int end) {
    const Expr columns = output.dim(0).extent();
    const bool fours = d.layouts.size() <= 1;
    for (int v = d.cut.width; end > least; end = v, v = v > 4 && fours ? 4 : 1) {
        const Expr fits = columns >= v && columns < end;
        const RDom part(0, v, 0, select(fits, (columns + v - 1) / v, 0), "part");
        const Expr start = v > 1 ? min(part.y * v, columns - v) : part.y;
        const Expr column = unsafe_promise_clamped(start + part.x, 0, columns - 1);
        output(column, y) =
            Internal::substitute({{x.name(), column}, {lane.name(), part.x}}, element);
        d.parts.push_back({part, [cut = d.cut, part](Stage stage) {
                               vectorize_columns(cut, stage.reorder(part.x, part.y, y), part);
                           }});
    }
}

// Defines output(x, y) = element(x, y) for begin <= x < end, in vectors of which the last is
// masked. If there are no such columns, the part has no rows either, so that not each row has to
// find that out.
inline void add_masked(Definition &d, OutputRows &output, const Func &element, const Expr &begin,
                       const Expr &end) {
    const Expr rows = select(begin < end, output.dim(1).extent(), 0);
    const RDom part(begin, end - begin, 0, rows, "masked");
    output(part.x, part.y) = element(part.x, part.y);
    d.parts.push_back({part, [part, width = d.cut.width](Stage stage) {
                           stage.vectorize(part.x, width, TailStrategy::GuardWithIf);
                       }});
}

// ---- Whole rows ----

// Defines rows with tail=stepped: no element is computed twice.
inline void define_stepped(Definition &d, OutputRows &output, const Prefetch &prefetch,
                           const Expr &value) {
    Func element("element");
    element(x, y) = value;
    output(x, y) = undef(value.type());
    const Expr end = output.dim(0).extent();
    if (d.cut.has_masks()) {
        add_steps(d, output, prefetch, element, end, d.cut.step, 1);
        add_masked(d, output, element, end / d.cut.step * d.cut.step, end);
    } else {
        add_steps(d, output, prefetch, element, end, d.cut.step, 4);
    }
}

// The schedule of rows that Halide cuts itself, with tail=masked or shifted.
struct WholeRows {
    Cut cut;
    Expr columns, shortcut;  // the shortcut is undefined if there is none
    Prefetch prefetch;

    void operator()(Stage stage) const {
        if (cut.tail == Tail::Masked) return vectorize_masked(stage);
        constexpr TailStrategy kShifted = TailStrategy::ShiftInwards;
        if (prefetch) vectorize_steps(stage.specialize(prefetch.distance > 0), kShifted);
        vectorize_steps(stage, kShifted);
        // Scalars take three times as long as masks or vectors of 4
        // (docs/lab/performance.md#runs).
        const int least = cut.has_masks() ? cut.width : 4;
        for (int v = cut.step; v > least;) {
            v = std::max(v / 4, least);
            stage.specialize(columns >= v).vectorize(x, v, kShifted);
        }
        if (cut.has_masks()) stage.vectorize(x, cut.width, TailStrategy::GuardWithIf);
    }

private:
    void vectorize_masked(Stage stage) const {
        constexpr TailStrategy kMasked = TailStrategy::GuardWithIf;
        std::vector<Stage> stages;
        if (shortcut.defined()) stages.push_back(stage.specialize(shortcut));
        stages.push_back(stage);
        for (Stage &s : stages) {
            if (prefetch) vectorize_steps(s.specialize(prefetch.distance > 0), kMasked);
            vectorize_step(cut, s, x, cut.step, kMasked);
        }
    }

    // Schedules rows of at least one step, and among them those that the shortcut serves. The
    // shortcut's specialization is inside that of these rows, not next to it: in a branch where
    // Halide does not know whether the shortcut holds, both values would be computed, and one
    // selected.
    void vectorize_steps(Stage stage, TailStrategy strategy) const {
        Stage rows = stage.specialize(columns >= cut.step);
        if (shortcut.defined() && cut.tail != Tail::Masked)
            vectorize_step(cut, rows.specialize(shortcut), x, cut.step, strategy);
        vectorize_step(cut, rows, x, cut.step, strategy);
    }
};

// Defines rows with tail=masked or shifted. The shortcut serves rows of at least one step, and with
// tail=masked all rows.
inline void define_whole(Definition &d, OutputRows &output, const Prefetch &prefetch,
                         const Expr &value, const Shortcut &shortcut) {
    const auto prefetching = [&](const Expr &e) {
        return prefetch ? select(prefetch.distance > 0, prefetch.before(e, x, d.cut.step), e) : e;
    };
    const Expr columns = output.dim(0).extent();
    WholeRows schedule = {d.cut, columns, {}, prefetch};
    // With an autoscheduler, which does not specialise, there is no shortcut: the kernel would
    // compute both values.
    Expr taken;
    if (shortcut.holds.defined() && !d.cut.plans) {
        schedule.shortcut = Internal::simplify(shortcut.holds);
        taken = d.cut.tail == Tail::Masked ? schedule.shortcut
                                           : schedule.shortcut && columns >= d.cut.step;
    }
    output(x, y) = taken.defined() ? select(taken, prefetching(shortcut.value), prefetching(value))
                                   : prefetching(value);
    d.whole = schedule;
}

}  // namespace hewn
