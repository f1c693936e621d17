// Elements of 4 and 2 bits, which share bytes, for the forms `packed4` and `packed2`: they are
// packed and unpacked in registers. The runtime passes rows of at least kLeastPackedRow elements,
// which fill whole words of 32 bits. The last step of a row overlaps the one before.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "../runtime/base/kernel_contract.h"
#include "narrow.h"
#include "steps.h"

namespace hewn {

inline void check_packed_step(int elements) {
    if (elements > kLeastPackedRow)
        throw CompileError("vector: this form has shorter rows than steps\n");
}

// The number of steps of a row.
inline Expr packed_steps(const Cut &cut, const Expr &columns) {
    return (columns + cut.step - 1) / cut.step;
}

// A column that lies in the row. Halide does not see that it does.
inline Expr in_row(const Expr &column, const Expr &columns) {
    return unsafe_promise_clamped(column, 0, columns - 1);
}

// ---- Packing ----

// The dimensions of the Funcs below:
//   i, v, j, k, h, b  as in packs.h
//   p, q  a word of 16 bits in its half of a lane, after one joining of neighbours and after two
//   a, c  which of the two vectors that a pack makes one: in the first joining, and in the second
namespace packed {
inline const Var i{"i"}, v{"v"}, j{"j"}, k{"k"}, h{"h"}, b{"b"}, p{"p"}, q{"q"}, a{"a"}, c{"c"};
}

// The Funcs that pack the elements of a step.
struct PackedFuncs {
    int lanes, batches;  // of int32 in a vector; of four vectors in a step
    RVar step, pair;     // `pair` is of the Funcs in `joined`
    Func numbers, words, bytes, joined, packed, joined_twice, packed_twice;

    void compute_in(const Func &out, bool twice) const {
        using namespace hewn::packed;
        // Vectorizes the first dimensions of a Func of `count` vectors.
        const auto in_step = [&](Func f, int vectorized, int count) {
            f.compute_at(out, step).store_in(MemoryType::Stack).bound(b, 0, count).unroll(b);
            for (int d = 0; d < vectorized; d++) f.vectorize(f.args()[size_t(d)]);
            return f.bound(k, 0, lanes / 4);
        };
        const auto joins = [&](Func f, int vectorized, int count) {
            in_step(f, vectorized, count).bound(h, 0, 2);
            f.update().reorder(pair, f.args()[0]).unroll(b).atomic(true).vectorize(pair);
            for (int d = 0; d < vectorized; d++) f.update().vectorize(f.args()[size_t(d)]);
            return f;
        };
        Func f = numbers;
        f.compute_at(out, step).store_in(MemoryType::Stack).bound(b, 0, batches).unroll(b);
        f.bound(i, 0, lanes).bound(v, 0, 4).vectorize(i).unroll(v);
        in_step(words, 3, batches).bound(j, 0, 8).bound(h, 0, 2);
        in_step(bytes, 3, batches).bound(j, 0, 8).bound(h, 0, 2);
        joins(joined, 3, batches).bound(p, 0, 4);
        in_step(packed, 4, batches / 2).bound(p, 0, 4).bound(h, 0, 2).bound(a, 0, 2);
        if (!twice) return;
        joins(joined_twice, 4, batches / 2).bound(q, 0, 2).bound(a, 0, 2);
        in_step(packed_twice, 5, batches / 4).bound(q, 0, 2).bound(h, 0, 2).bound(a, 0, 2);
        f = packed_twice;
        f.bound(c, 0, 2);
    }
};

// Defines the bytes of the output, each of which has 8 / bits elements. Element x of the row is
// narrowed(number, zero_point) of a type with so many bits, where `row` has both. The zero point is
// the same in the whole row.
//
// As in packs.h, two saturating packs turn a batch of four vectors of int32 into a vector of bytes.
// A multiply-add of neighbouring bytes by 1 and 2^bits then joins them in words of 16 bits, of
// which a pack makes bytes again. For 2 bits this is done twice. A signed element is computed as an
// unsigned one, with a zero point that is greater by half of the range; its sign is then flipped.
inline void define_packed(Definition &d, OutputRows &output, const Narrowed &row, int bits) {
    using namespace hewn::packed;
    constexpr int kMostLanes = 16;
    const int n = d.cut.int32_lanes(), group = 8 / bits, batches = d.cut.vector * group,
              half_of_range = output.type().is_int() ? 1 << (bits - 1) : 0;
    const bool twice = bits == 2;
    d.cut.step = 4 * n * batches;
    check_packed_step(4 * kMostLanes * batches);
    const Expr end = output.dim(0).extent(), columns = end * group;
    const Var first("first");
    const RDom pair(0, 2, "pair");
    // A pack works within lanes of 16 bytes. The Funcs are indexed as in packs.h, so that LLVM
    // finds the packs of whole vectors.
    const auto other_lane = [&](const Expr &lane) { return (lane + 2) % (n / 4); };
    Func numbers("numbers"), words("words"), bytes("bytes"), joined("joined"), packed("packed"),
        joined_twice("joined_twice"), packed_twice("packed_twice");
    const Expr column = in_row(first + 4 * n * b + n * v + i, columns);
    numbers(i, v, b, first, y) = Internal::substitute(x.name(), column, row.number);
    words(j, k, h, b, first, y) = offset_int16(numbers(4 * k + j % 4, 2 * h + j / 4, b, first, y),
                                               row.zero_point + half_of_range);
    bytes(j, h, k, b, first, y) =
        min(saturating_cast<uint8_t>(words(j, other_lane(k), h, b, first, y)),
            cast<uint8_t>((1 << bits) - 1));
    const auto join = [&](Func f, const std::vector<Expr> &at, const Expr &byte, int shift) {
        f(at) = cast<int16_t>(0);
        const Expr factor = select(pair.x == 0, 1, 1 << shift);
        f(at) = saturating_add(f(at), widening_mul(byte, cast<int8_t>(factor)));
    };
    join(joined, {p, h, k, b, first, y}, bytes(2 * p + pair.x, h, k, b, first, y), bits);
    packed(p, h, a, k, b, first, y) =
        saturating_cast<uint8_t>(joined(p, h, other_lane(k), 2 * b + a, first, y));
    if (twice) {
        join(joined_twice, {q, h, a, k, b, first, y}, packed(2 * q + pair.x, h, a, k, b, first, y),
             2 * bits);
        packed_twice(q, h, a, c, k, b, first, y) =
            saturating_cast<uint8_t>(joined_twice(q, h, a, other_lane(k), 2 * b + c, first, y));
    }

    // A vector of int32 becomes n / group bytes, of which a lane has 4 / group.
    const int of_lane = 4 / group, of_vector = n / group;
    const RDom part({{0, of_lane},
                     {0, n / 4},  // lanes
                     {0, 2},      // vectors in a half of a batch
                     {0, 2},      // halves
                     {0, 2},      // batches that were joined
                     {0, twice ? 2 : 1},
                     {0, d.cut.vector},
                     {0, packed_steps(d.cut, columns)}},
                    "packed");
    const Expr start = min(part[7] * d.cut.step, columns - d.cut.step),
               byte = part[0] + of_lane * part[1] + of_vector * (part[2] + 2 * part[3]) +
                      4 * of_vector * (part[4] + 2 * part[5]) + 4 * n * part[6];
    const Expr value =
        twice ? packed_twice(part[2], part[3], part[4], part[5], other_lane(part[1]), part[6],
                             start, y)
              : packed(part[0] + 2 * part[2], part[3], part[4], part[1], part[6], start, y);
    const Expr signs = cast<uint8_t>(half_of_range * (twice ? 0x55 : 0x11));
    output(x, y) = undef(output.type());
    output(in_row(start / group + byte, end), y) = cast(output.type(), value ^ signs);
    d.parts.push_back({part, [part](Stage stage) {
                           in_order(stage, part);
                           for (int r = 0; r < 6; r++) stage.vectorize(part[size_t(r)]);
                           stage.unroll(part[6]);
                       }});
    const PackedFuncs funcs = {n,     batches, part[7], pair.x,       numbers,     words,
                               bytes, joined,  packed,  joined_twice, packed_twice};
    d.computed.emplace_back([=](const Func &out) { funcs.compute_in(out, twice); });
}

// ---- Unpacking ----

// Element number `lane` of a word of 32 bits, as int32.
inline Expr unpacked(const Expr &word, int bits, bool is_signed) {
    require_type("unpacked", UInt(32), word.type());
    const auto shift = [](const Expr &e) { return cast<uint32_t>(e); };
    if (is_signed)
        return reinterpret<int32_t>(word << shift(32 - bits - bits * lane)) >> (32 - bits);
    return reinterpret<int32_t>((word >> shift(bits * lane)) & ((1 << bits) - 1));
}

// Defines output(x, y) for the elements of the words of `input`. `value` and the shortcut are those
// of element number `lane` of the word input(x, y). A word is loaded into all lanes of a vector,
// each of which shifts it by its own count.
inline void define_unpacked(Definition &d, OutputRows &output, Rows &input, int bits,
                            const Expr &value, const Shortcut &shortcut) {
    const Cut &cut = d.cut;
    const int width = cut.width, of_word = 32 / bits, words = std::max(width / of_word, 1),
              of_vector = width / words, parts = of_word / of_vector;
    check_packed_step(cut.step);
    if (cut.step % of_word != 0) throw CompileError("vector: a step has no whole words\n");
    const Expr columns = output.dim(0).extent();
    output(x, y) = undef(output.type());
    const auto add = [&](const Expr &fits, const Expr &of_element) {
        const RDom part({{0, of_vector},  // elements of a word in a vector
                         {0, words},      // words in a vector
                         {0, cut.step / width},
                         {0, select(fits, packed_steps(cut, columns), 0)}},
                        "unpacked");
        const Expr start = min(part[3] * cut.step, columns - cut.step),
                   column = start + part[0] + of_word * part[1] + width * part[2],
                   word = start / of_word + part[1] + words * (part[2] / parts),
                   number = part[0] + of_vector * (part[2] % parts);
        output(in_row(column, columns), y) = Internal::substitute(
            {{x.name(), in_row(word, input.dim(0).extent())}, {lane.name(), number}}, of_element);
        d.parts.push_back({part, [part](Stage stage) {
                               in_order(stage, part);
                               stage.vectorize(part[0]).vectorize(part[1]).unroll(part[2]);
                           }});
    };
    add(shortcut.holds, shortcut.value);
    add(!shortcut.holds, value);
}

}  // namespace hewn
