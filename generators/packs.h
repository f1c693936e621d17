// Rows narrowed to 8 bits by packs (tail=narrowed): two saturating packs turn a batch of four
// vectors of int32 into one vector of bytes.
#pragma once

#include <vector>

#include "blocks.h"
#include "narrow.h"
#include "prefetch.h"
#include "steps.h"

namespace hewn {

// The dimensions of the Funcs below:
//   i, v     a lane of a vector of int32, and the vector in its batch
//   j, k, h  a word of 16 bits in its lane of 16 bytes, that lane, and the half of the batch
//   b        a batch of a step
namespace packs {
inline const Var i{"i"}, v{"v"}, j{"j"}, k{"k"}, h{"h"}, b{"b"};
}

// Steps of `batches` batches, and the Funcs that compute the batches of a step.
struct BatchFuncs {
    Cut cut;
    int batches;
    RDom part;
    Func numbers;
    // of_row and of_step are zero points, computed for a row or for a step.
    std::vector<Func> packs, picked, of_row, of_step;
    RVar byte;  // of `picked`

    // Schedules the part itself, in the shape of the Func `words`.
    void vectorize(Stage stage) const {
        const int lanes = cut.int32_lanes();
        const RVar batch("batch"), group("group"), in_batch("in_batch"), in_group("in_group"),
            quad("quad"), of_quad("of_quad");
        in_order(stage, part).split(part.x, batch, in_batch, 4 * lanes).unroll(batch);
        stage.split(in_batch, group, in_group, lanes).split(in_group, quad, of_quad, 4);
        stage.vectorize(of_quad).vectorize(quad).vectorize(group);
    }

    // Schedules the Funcs. Each Func is computed for all batches of a step before the next Func is,
    // so that the processor can overlap operations of different batches. With order=batches all
    // Funcs are computed for one batch before the next batch.
    void compute_in(const Func &out) const {
        using namespace hewn::packs;
        const int n = cut.int32_lanes();
        const auto in_step = [&](Func f) {
            if (cut.order == Order::Batches && batches > 1)
                return f.compute_at(out, RVar("batch")).store_in(MemoryType::Stack);
            return f.compute_at(out, part.y).store_in(MemoryType::Stack).bound(b, 0, batches);
        };
        const auto by_vectors = [&](Func f) {
            in_step(f).bound(i, 0, n).bound(v, 0, 4).vectorize(i).unroll(v).unroll(b);
        };
        const auto by_words = [&](Func f, int vectorized) {
            f.bound(j, 0, 8).bound(k, 0, n / 4).bound(h, 0, 2);
            for (int d = 0; d < vectorized; d++) f.vectorize(f.args()[d]);
        };
        for (Func f : of_row) by_words(f.compute_at(out, y).store_in(MemoryType::Stack), 3);
        for (Func f : of_step) by_words(in_step(f).unroll(h).unroll(b), 2);
        by_vectors(numbers);
        for (Func f : picked) {
            by_vectors(f);
            f.update()
                .reorder(byte, i, v, b)
                .unroll(v)
                .unroll(b)
                .atomic()
                .vectorize(byte)
                .vectorize(i);
        }
        for (Func f : packs) by_words(in_step(f).unroll(b), 3);
    }
};

// row(4 i + v) - zero_point for a batch of 4 n bytes. One vpdpbusd picks a byte, widens it and
// subtracts the zero point (docs/lab/architecture.md#a-target-for-one-operator). Of the factors of
// its products one is unsigned and the other signed.
template<class Row>
Func picked_difference(const Row &row, const Expr &zero_point, const Var &first, const RDom &byte) {
    using namespace hewn::packs;
    Func difference("difference");
    const Expr q = row(4 * i + byte), pick = v == byte;
    require_byte("picked_difference", q.type());
    difference(i, v, b, first, y) = -zero_point;
    difference(i, v, b, first, y) +=
        cast<int32_t>(q.type().is_uint() ? widening_mul(q, cast<int8_t>(pick))
                                         : widening_mul(cast<uint8_t>(pick), q));
    return difference;
}

// Adds a part that computes a row, where `fits`, in steps of `batches` batches. A batch has as many
// bytes as a vector. The last step overlaps the one before. `of_column` is the number to narrow at
// column x. `units` is given instead of `fits` for rows of blocks, which are whole steps.
inline void add_packs(Definition &d, OutputRows &output, const Prefetch &prefetch,
                      const Narrowed &row, const Expr &of_column, int batches, const Expr &fits,
                      bool prefetches, const Unit *units = nullptr) {
    // A pack works within lanes of 16 bytes, so the bytes come out in another order. The Funcs
    // below are indexed in that order, so that LLVM finds the packs of whole vectors, and restores
    // the order with one permutation of the result:
    // - Element 4 k + l of a batch's vector 2 h + w becomes word 4 w + l of lane k of the words'
    //   vector h.
    // - Word j of that lane becomes byte 8 h + j of lane k. The upper two lanes of the bytes come
    //   first.
    using namespace hewn::packs;
    const Expr &zero_point = row.zero_point;
    const int n = d.cut.int32_lanes(), batch = 4 * n, step = batch * batches;
    const bool picks = !row.operands.empty() && d.cut.target.has_feature(Target::AVX512_Zen4);
    const RDom byte(0, 4, "byte");
    const Var first("first");
    Func numbers("numbers"), words("words"), bytes("bytes");
    const Expr columns = output.dim(0).extent();
    // Rows that have no batch need these promises, for their bounds: Halide does not see that
    // nothing is accessed then.
    const auto promised = [&](const Expr &column) {
        return unsafe_promise_clamped(column, 0, columns - 1);
    };
    // The number of the unit that has element times * e of batch b.
    const auto unit_of = [&](int times, const Expr &e) {
        const int elements = units ? units->elements : 1;
        return first / step * (step / elements) + (batch * b + times * e) / elements;
    };
    std::vector<Func> picked, of_row, of_step;
    if (picks) {
        std::vector<Expr> differences;
        for (const Operand &operand : row.operands) {
            const auto element = [&](const Expr &column) {
                return operand.rows(promised(first + batch * b + column), y);
            };
            picked.push_back(picked_difference(element, operand.zero_point, first, byte));
            differences.push_back(to_f32(picked.back()(i, v, b, first, y)));
        }
        numbers(i, v, b, first, y) = row.to_int32(differences);
    } else {
        numbers(i, v, b, first, y) =
            Internal::substitute({{x.name(), promised(first + batch * b + n * v + i)},
                                  {lane.name(), i},
                                  {unit.name(), unit_of(n, v)}},
                                 of_column);
    }
    // Zero points that differ between lanes, columns or units are Funcs of their own, computed for
    // a row or for a step. If they were gathered where they are added, LLVM would permute the
    // scales, inputs and products instead.
    Expr offset = zero_point;
    const Expr word = 4 * k + j % 4;  // in vector 2 h + j / 4 of a batch
    Func zero_points("zero_points");
    if (uses(zero_point, lane)) {
        zero_points(j, k, h, y) =
            cast<int16_t>(Internal::substitute(lane.name(), word, zero_point));
        of_row = {zero_points};
        offset = zero_points(j, k, h, y);
    } else if (uses(zero_point, x)) {
        const Expr column = promised(first + batch * b + n * (2 * h + j / 4) + word);
        zero_points(j, k, h, b, first, y) =
            cast<int16_t>(Internal::substitute(x.name(), column, zero_point));
        of_step = {zero_points};
        offset = zero_points(j, k, h, b, first, y);
    } else if (uses(zero_point, unit)) {
        const auto zero_point_of = [&](const Expr &vector) {
            return Internal::substitute(unit.name(), unit_of(n, vector), zero_point);
        };
        const bool two = units->elements < 2 * n;  // units in a vector of words
        zero_points(j, k, h, b, first, y) =
            two ? select(j / 4 == 0, zero_point_of(2 * h), zero_point_of(2 * h + 1))
                : zero_point_of(2 * h);
        of_step = {zero_points};
        offset = zero_points(j, k, h, b, first, y);
    }
    if (prefetches) offset = prefetch.before(offset, first + batch * b, batch);
    words(j, k, h, b, first, y) =
        offset_int16(numbers(4 * k + j % 4, 2 * h + j / 4, b, first, y), offset);
    bytes(j, h, k, b, first, y) =
        saturating_cast(output.type(), words(j, (k + 2) % (n / 4), h, b, first, y));

    const Expr steps = units ? units->steps : select(fits, (columns + step - 1) / step, 0);
    const RDom part(0, step, 0, steps, "by" + std::to_string(batches));
    const Expr start = units ? part.y * step : min(part.y * step, columns - step),
               column = part.x % batch;
    const Expr element = picks ? column / 4 : column % n,
               of_vector = picks ? column % 4 : column / n;
    output(promised(start + part.x), y) =
        bytes(element % 4 + 4 * (of_vector % 2), of_vector / 2, (element / 4 + 2) % (n / 4),
              part.x / batch, start, y);
    const BatchFuncs funcs = {d.cut,  batches, part,    numbers, {words, bytes},
                              picked, of_row,  of_step, byte.x};
    d.parts.push_back({part, [funcs](Stage stage) { funcs.vectorize(stage); }});
    d.computed.emplace_back([funcs](const Func &out) { funcs.compute_in(out); });
}

// Defines output(x, y) = narrowed(number, zero_point), which may use `lane`.
inline void define_packs(Definition &d, OutputRows &output, const Prefetch &prefetch,
                         const Narrowed &row) {
    const Expr of_column = row.number_of(d.cut.target);
    const Expr columns = output.dim(0).extent();
    const int batch = 4 * d.cut.int32_lanes(), step = batch * d.cut.vector;
    const Expr value = narrowed(d.cut, of_column, row.zero_point, output.type());
    const bool by_lane = uses(value, lane);
    if (by_lane) check_lanes(d.cut);
    if (by_lane && d.cut.int32_lanes() < 8)
        throw CompileError("tail=narrowed: this form wants vectors of 8 int32 at least\n");
    output(x, y) = undef(output.type());
    Expr several = columns >= step, single = columns >= batch;
    if (d.cut.vector > 1)
        several = several && lies_as(d.layouts.front().substr(0, row.inputs.size()), row.inputs);
    const auto add = [&](int batches, const Expr &fits, bool prefetches) {
        add_packs(d, output, prefetch, row, of_column, batches, fits, prefetches);
    };
    if (prefetch) {
        add(d.cut.vector, several && prefetch.distance > 0, true);
        single = single && !(several && prefetch.distance > 0);
        several = several && prefetch.distance <= 0;
    }
    if (d.cut.vector > 1) {
        add(d.cut.vector, several, false);
        single = single && !several;
    }
    add(1, single, false);

    if (d.cut.has_masks() && !by_lane) {
        Func element("element");
        element(x, y) = value;
        add_masked(d, output, element, 0, select(columns >= batch, 0, columns));
    } else {
        add_short_rows(d, output, value, by_lane ? d.cut.width : 1, batch);
    }
}

// The same for rows of blocks, which are whole steps.
inline void define_packs_of_blocks(
    Definition &d, OutputRows &output, const Blocks &blocks,
    const std::function<Narrowed(const std::vector<Expr> &)> &row_of) {
    d.cut.step = d.cut.vector * kBlockStep;
    output(x, y) = undef(output.type());
    for_units(d, output, blocks, [&](const Unit &u, const std::vector<Expr> &of_unit) {
        const Narrowed row = row_of(of_unit);
        add_packs(d, output, {}, row, row.number, d.cut.step / (4 * d.cut.int32_lanes()), {}, false,
                  &u);
    });
}

}  // namespace hewn
