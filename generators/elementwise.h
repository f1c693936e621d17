// What all element-wise generators share: rank-2 buffers, the layouts that a kernel is specialised
// for, and the CPU schedule.
#pragma once

#include <Halide.h>

#include <algorithm>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "../runtime/base/kernel_contract.h"
#include "numerics.h"
#include "signature.h"

namespace hewn {

// How to compute a row whose length is no multiple of the step: docs/lab/architecture.md#tails.
// Shifted and Packed compute some elements twice: their output must not lie in place of an input.
enum class Tail { Masked, Shifted, Stepped, Packed };

// In which order a step of several packed blocks is computed.
enum class Order { Functions, Blocks };

// A kernel's buffers are rank 2. x runs along a row, where the output's stride is 1 and an input's
// is 0 or 1. y runs over rows, with any stride. The runtime brings every layout to this form and
// proves what Halide's assertions would check.
template<class Derived>
class Elementwise : public Generator<Derived> {
public:
    template<class T>
    using Param = GeneratorParam<T>;
    using Rows = GeneratorInput<Buffer<void, 2>>;
    using OutputRows = GeneratorOutput<Buffer<void, 2>>;

    // The data types of one kernel, as lists/operators.py lists them: "f32_u8".
    Param<std::string> signature{"signature", ""};
    // The layouts to specialise for, a word each. A word has one digit for each input: its stride
    // along x. Set by lists/operators.py.
    Param<std::string> layouts{"layouts", ""};

    // Knobs (tuning/). lists/knobs.py has their meanings and values. The step V is width * vector.
    Param<int> width{"width", 0};
    Param<int> vector{"vector", 1};
    Param<Tail> tail{"tail",
                     Tail::Masked,
                     {{"masked", Tail::Masked},
                      {"shifted", Tail::Shifted},
                      {"stepped", Tail::Stepped},
                      {"packed", Tail::Packed}}};
    Param<int> unrolled{"unrolled", 0};
    Param<Order> order{
        "order", Order::Functions, {{"functions", Order::Functions}, {"blocks", Order::Blocks}}};

protected:
    Type signature_type(int index) const {
        return type_of_signature(Derived::types(), signature.value(), index);
    }

    // `value` is all there is to compute where `holds`, a condition that is the same for a whole
    // box.
    struct Shortcut {
        Expr holds, value;
    };

    // output(x, y) = value. widest: the widest type that the algorithm computes with. The shortcut
    // serves rows of a step and more (tail=masked: all rows). It is not used with tail=stepped.
    void define(OutputRows &output, const Expr &value, const Type &widest,
                const Shortcut &shortcut = {}) {
        if (tail == Tail::Packed)
            throw CompileError("tail=packed: this form does not narrow int32 to 8 bits\n");
        set_step(widest);
        if (tail != Tail::Stepped) {
            const auto maybe_prefetching = [&](const Expr &e) {
                return prefetched_.empty()
                           ? e
                           : select(prefetch_distance_ > 0, prefetching(e, x, step_), e);
            };
            // Not with an autoscheduler: it does not specialise, so the kernel would compute both
            // values.
            Expr taken;
            if (shortcut.holds.defined() && !this->using_autoscheduler()) {
                shortcut_ = Internal::simplify(shortcut.holds);
                taken =
                    tail == Tail::Masked ? shortcut_ : shortcut_ && output.dim(0).extent() >= step_;
            }
            output(x, y) = taken.defined() ? select(taken, maybe_prefetching(shortcut.value),
                                                    maybe_prefetching(value))
                                           : maybe_prefetching(value);
            return;
        }
        Func element("element");
        element(x, y) = value;
        output(x, y) = undef(value.type());
        const Expr end = output.dim(0).extent();
        if (has_masks()) {
            define_steps(output, element, end, step_, 1);
            define_masked(output, element, end / step_ * step_, end);
        } else {
            define_steps(output, element, end, step_, 4);
        }
    }

    // An 8-bit input and its zero point, an int32.
    struct Operand {
        Rows &rows;
        Expr zero_point;
    };

    // rows(x, y) - zero_point of each operand, exact in f32.
    std::vector<Expr> differences(const std::vector<Operand> &operands) {
        std::vector<Expr> differences;
        for (const Operand &operand : operands)
            differences.push_back(
                difference_f32(operand.rows(x, y), operand.zero_point, this->target));
        return differences;
    }

    // clamp(r + zero_point, Min, Max) of an 8-bit type for any int32 r. By packs; with AVX-512 by
    // vpmovsdw and its like, which keep the order of lanes.
    Expr narrowed(const Expr &r, const Expr &zero_point, const Type &type) const {
        require_type("narrowed", Int(32), r.type());
        require_byte("narrowed", type);
        if (!has_masks()) return saturating_cast(type, offset_int16(r, zero_point));
        return truncated(saturating_add(truncated(r, Int(16)), cast<int16_t>(zero_point)), type);
    }

    // A kernel may prefetch cache lines of a buffer that lie a distance after the elements it
    // computes.
    using PrefetchDistance = GeneratorInput<int32_t>;
    struct Prefetched {
        std::string name;
        Parameter parameter;
        Type type;
        Expr row_stride;
    };
    static Prefetched prefetched(const OutputImageParam &image) {
        return {image.name(), image.parameter(), image.type(), image.dim(1).stride()};
    }

    // Makes the definitions from here on prefetch these buffers (possibly none) in whole steps,
    // unless `distance` is 0. With AVX-512 alone (docs/lab/performance.md#software-prefetching).
    void set_prefetched(const std::vector<Prefetched> &buffers, PrefetchDistance &distance) {
        distance.set_estimate(0);
        if (!has_masks() || this->using_autoscheduler())
            return;  // as it would ask for estimates of the addresses
        prefetched_ = buffers;
        prefetch_distance_ = distance;
    }

    // output(x, y) = narrowed(to_int32(differences(operands)), zero_point), where `to_int32` gives
    // an int32. The knob `vector` is the blocks of a step, in the most frequent layout of `inputs`.
    using ToInt32 = std::function<Expr(const std::vector<Expr> &)>;
    void define_narrowed(OutputRows &output, const std::vector<Rows *> &inputs,
                         const std::vector<Operand> &operands, const ToInt32 &to_int32,
                         const Expr &zero_point) {
        if (tail == Tail::Packed)
            return define_blocks(output, inputs, operands, to_int32, zero_point);
        define(output, narrowed(to_int32(differences(operands)), zero_point, output.type()),
               Float(32));
    }

    // The same for an int32 `number`, an expression of x and y.
    void define_narrowed(OutputRows &output, const std::vector<Rows *> &inputs, const Expr &number,
                         const Expr &zero_point) {
        define_narrowed(
            output, inputs, {}, [&](const std::vector<Expr> &) { return number; }, zero_point);
    }

    // output(x, y) = value, which may use `lane`, for rows of at least kRepeatingLanes elements.
    // What is read by `lane` must repeat along the row, after a divisor of kRepeatingPeriod. The
    // row must be whole repetitions, because its last step overlaps the one before. widest: as
    // above.
    void define_lanes(OutputRows &output, const Expr &value, const Type &widest) {
        set_step(widest);
        if (tail != Tail::Shifted)
            throw CompileError("this form has tail=shifted, or packed where it narrows, alone\n");
        check_lanes();
        const Expr columns = output.dim(0).extent();
        output(x, y) = undef(output.type());
        const auto define_part = [&](int vectors, const Expr &fits, bool prefetches) {
            const int step = vectors * width_;
            const RDom part(0, width_, 0, vectors, 0, select(fits, (columns + step - 1) / step, 0),
                            "lanes");
            const Expr first = min(part.z * step, columns - step), start = first + part.y * width_;
            const Expr column = unsafe_promise_clamped(start + part.x, 0, columns - 1);
            const Expr element =
                Internal::substitute({{x.name(), column}, {lane.name(), part.x}}, value);
            output(column, y) = prefetches ? prefetching(element, first, step) : element;
            // Of more than four joined vectors, AVX2 would load narrow elements twice: 16 bytes for
            // two, then their upper half.
            const bool narrow = signature_type(0).bits() < 32 && !has_masks();
            const int together = unrolled ? 1 : narrow ? std::min(vectors, 4) : vectors;
            parts_.push_back({part, PartKind::Lanes, together});
        };
        Expr has_step = columns >= step_;
        if (!prefetched_.empty()) {
            define_part(vector, has_step && prefetch_distance_ > 0, true);
            has_step = has_step && prefetch_distance_ <= 0;
        }
        define_part(vector, has_step, false);
        if (vector > 1) define_part(1, columns < step_, false);  // a row that has no step
    }

    static constexpr int kStep = 4 * kLeastBlock;
    // From parameters of which `rows`, if it has one element for all blocks, has a stride of 0.
    struct Prepared {
        std::vector<Expr> values;
        Rows *rows = nullptr;
    };
    // A form of blocks: `count` of kLeastBlock << shift elements. `prepared` is computed once for
    // each (`block`, y), all that read parameters of one number of elements together. Up to
    // `longest_unit` elements the lengths of blocks have a loop each.
    struct Blocks {
        Expr shift, count;
        std::vector<Prepared> prepared;
        int longest_unit = kStep;
    };
    using Value = std::function<Expr(const std::vector<Expr> &)>;

    // output(x, y) = value(prepared), for rows of whole steps. The knob `vector` is how many times
    // kStep elements a step has.
    void define_of_blocks(OutputRows &output, const Blocks &blocks, const Value &value) {
        width_ = kLeastBlock;
        step_ = vector * kStep;
        output(x, y) = undef(output.type());
        for_units(output, blocks, [&](const Unit &u, const std::vector<Expr> &of_unit) {
            const RDom part(0, width_, 0, step_ / width_, 0, u.steps, "blocks");
            const Expr column = part.z * step_ + part.y * width_ + part.x,
                       number = part.z * (step_ / u.elements) + part.y * width_ / u.elements;
            output(column, y) =
                Internal::substitute({{x.name(), column}, {unit.name(), number}},
                                     Internal::substitute(block.name(), u.block, value(of_unit)));
            parts_.push_back({part, PartKind::Lanes, 1});
        });
    }

    // The same of narrowed(number(prepared), zero_point(prepared)).
    void define_narrowed_of_blocks(OutputRows &output, const Blocks &blocks, const Value &number,
                                   const Value &zero_point) {
        if (tail != Tail::Packed) {
            return define_of_blocks(output, blocks, [&](const std::vector<Expr> &p) {
                return narrowed(number(p), zero_point(p), output.type());
            });
        }
        set_step(Float(32));
        step_ = vector * kStep;
        output(x, y) = undef(output.type());
        for_units(output, blocks, [&](const Unit &u, const std::vector<Expr> &of_unit) {
            define_packed(output, {}, {}, number(of_unit), zero_point(of_unit),
                          step_ / (4 * int32_lanes()), {}, false, &u);
        });
    }

    // define_lanes of narrowed(number, zero_point). Both may use `lane`.
    void define_narrowed_lanes(OutputRows &output, const Expr &number, const Expr &zero_point) {
        if (tail != Tail::Packed)
            return define_lanes(output, narrowed(number, zero_point, output.type()), Float(32));
        define_blocks(
            output, {}, {}, [&](const std::vector<Expr> &) { return number; }, zero_point);
    }

    void schedule_rows(OutputRows &output, const std::vector<Rows *> &inputs) {
        Func out = output;
        set_bounds(output, Expr(1));
        for (Rows *input : inputs) set_bounds(*input, Expr());
        if (this->using_autoscheduler()) {
            // For comparison alone: an autoscheduler does not specialise, so it gets the most
            // frequent layout and a long row.
            for (size_t i = 0; i < inputs.size(); i++) {
                inputs[i]->dim(0).set_stride(layouts.value().at(i) - '0');
                set_estimates(*inputs[i]);
            }
            set_estimates(output);
            return;
        }
        if (parts_.empty()) {
            for (const Stage &stage : specialized(out, inputs))
                vectorize_rows(stage, output.dim(0).extent());
        } else {
            for (size_t i = 0; i < parts_.size(); i++) {
                for (Stage stage : specialized(out.update(int(i)), inputs)) {
                    stage.allow_race_conditions();  // every lane writes its own column
                    vectorize_part(stage, parts_[i]);
                }
            }
            schedule_packs(out);
            schedule_blocks(out);
        }
    }

    // schedule_lanes: for an input that is read by `lane`, or by `block`. schedule_constants: for
    // one that has one element a row. schedule_strided: for one by `block`, or with one element.
    void schedule_lanes(Rows &rows) { schedule_parameters(rows, 1); }
    void schedule_constants(Rows &rows) { schedule_parameters(rows, 0); }
    void schedule_strided(Rows &rows) { schedule_parameters(rows, rows.dim(0).stride()); }

    // `again` is the buffer of `rows`, passed once more.
    void schedule_again(Rows &again, Rows &rows) {
        for (int d = 0; d < 2; d++) again.dim(d).set_min(0).set_stride(rows.dim(d).stride());
        if (this->using_autoscheduler()) set_estimates(again);
    }

private:
    // A part of the columns, and the dimensions of its domain.
    enum class PartKind {
        Steps,   // columns of a step, steps
        Packed,  // as Steps, by define_packed
        Masked,  // columns, rows
        Lanes    // columns of a vector, vectors of a step, steps
    };
    struct Part {
        RDom domain;
        PartKind kind;
        int together = 1;  // Lanes: vectors of a step that are computed together; a power of two
    };

    // Of PartKind::Packed: a part in steps of `blocks` blocks, and the Funcs that compute it.
    struct BlockFuncs {
        int blocks;
        Func numbers;
        std::vector<Func> packs, picked, of_row, of_step;  // the last two are zero points
    };
    // Elements that have one block's parameters: a block, or the longest unit of a longer one.
    struct Unit {
        int elements;
        Expr steps;  // of a row with such units
        Expr block;  // of the unit with the number `unit`
    };
    // A Func of (block, y), computed for all blocks of a row.
    struct BlockFunc {
        Func func;
        Rows *rows;
    };
    const Var i{"i"}, v{"v"}, j{"j"}, k{"k"}, h{"h"}, b{"b"}, unit{"unit"};
    int width_ = 0, step_ = 0;
    std::vector<Part> parts_;
    std::vector<BlockFuncs> block_funcs_;  // these are the first of parts_
    std::vector<BlockFunc> row_funcs_;
    std::vector<Prefetched> prefetched_;
    Expr prefetch_distance_, shortcut_;
    const RDom byte_{0, 4, "byte"};

    // saturating_cast(type, e) to half of the bits of e, as LLVM knows it. For Halide's own there
    // are only packs.
    static Expr truncated(const Expr &e, const Type &type) {
        const auto call = [&](const std::string &name, const Expr &a, const Expr &b) {
            return llvm_call(e.type(), "llvm." + name + ".i" + std::to_string(e.type().bits()),
                             {a, b});
        };
        return cast(type, call("smin", call("smax", e, cast(e.type(), type.min())),
                               cast(e.type(), type.max())));
    }

    // sat16(sat16(r) + zero_point)
    static Expr offset_int16(const Expr &r, const Expr &zero_point) {
        return saturating_add(saturating_cast<int16_t>(r), cast<int16_t>(zero_point));
    }

    bool has_masks() const { return this->get_target().has_feature(Target::AVX512_Skylake); }

    int int32_lanes() const { return this->natural_vector_size(Int(32)); }

    static bool uses(const Expr &e, const Var &var) {
        return Internal::expr_uses_var(e, var.name());
    }

    // Has `define` define a part for each length of a unit. It gets what is prepared for `unit`.
    template<class Define>
    void for_units(OutputRows &output, const Blocks &blocks, const Define &define) {
        if (kBlocksTogether * kLeastBlock % step_ != 0)
            throw CompileError("this form has shorter rows than steps\n");
        for (int log2 = 0; kLeastBlock << log2 <= blocks.longest_unit; log2++) {
            const bool longest = kLeastBlock << log2 == blocks.longest_unit;
            const Expr fits = longest ? blocks.shift >= log2 : blocks.shift == log2,
                       number = longest ? unit >> cast<uint32_t>(blocks.shift - log2) : unit;
            const Unit u = {kLeastBlock << log2, select(fits, output.dim(0).extent() / step_, 0),
                            unsafe_promise_clamped(number, 0, blocks.count - 1)};
            std::vector<Expr> of_unit;
            for (const Prepared &p : blocks.prepared) {
                Func func("prepared");
                func(block, y) = Tuple(p.values);
                for (size_t i = 0; i < p.values.size(); i++)
                    of_unit.push_back(p.values.size() > 1 ? Expr(func(u.block, y)[int(i)])
                                                          : Expr(func(u.block, y)));
                row_funcs_.push_back({func, p.rows});
            }
            define(u, of_unit);
        }
    }

    void schedule_blocks(Func out) {
        for (const BlockFunc &f : row_funcs_) {
            Func func = f.func;
            func.compute_at(out, y)
                .store_in(MemoryType::Stack)
                .bound_storage(block, kLongestBlockRow / kLeastBlock);
            const auto vectorize = [&](Stage stage) {
                stage.vectorize(block, kBlocksTogether, TailStrategy::RoundUp);
            };
            for (int stride = 0; f.rows && stride <= 1; stride++)
                vectorize(Stage(func).specialize(f.rows->dim(0).stride() == stride));
            if (f.rows) Stage(func).specialize_fail("a stride that the runtime never passes");
            else vectorize(func);
        }
    }

    // define_narrowed and define_narrowed_lanes with tail=packed.
    void define_blocks(OutputRows &output, const std::vector<Rows *> &inputs,
                       const std::vector<Operand> &operands, const ToInt32 &to_int32,
                       const Expr &zero_point) {
        const Expr of_column = to_int32(differences(operands));
        const Expr columns = output.dim(0).extent();
        const int block = 4 * int32_lanes(), step = block * vector;
        const Expr value = narrowed(of_column, zero_point, output.type());
        const bool by_lane = uses(value, lane);
        set_step(Float(32));
        if (by_lane) check_lanes();
        if (by_lane && int32_lanes() < 8)
            throw CompileError("tail=packed: this form wants vectors of 8 int32 at least\n");
        output(x, y) = undef(output.type());
        Expr several = columns >= step, single = columns >= block;
        if (vector > 1)
            several = several && lies_as(layouts.value().substr(0, inputs.size()), inputs);
        const auto define_in_blocks = [&](int blocks, const Expr &fits, bool prefetches) {
            define_packed(output, operands, to_int32, of_column, zero_point, blocks, fits,
                          prefetches);
        };
        if (!prefetched_.empty()) {
            define_in_blocks(vector, several && prefetch_distance_ > 0, true);
            single = single && !(several && prefetch_distance_ > 0);
            several = several && prefetch_distance_ <= 0;
        }
        if (vector > 1) {
            define_in_blocks(vector, several, false);
            single = single && !several;
        }
        define_in_blocks(1, single, false);

        if (has_masks() && !by_lane) {
            Func element("element");
            element(x, y) = value;
            define_masked(output, element, 0, select(columns >= block, 0, columns));
        } else {
            define_short_rows(output, value, by_lane ? width_ : 1, block);
        }
    }

    // Computes a row, where `fits`, in steps of `blocks` blocks. A block has as many bytes as a
    // vector; the last step overlaps the one before.
    void define_packed(OutputRows &output, const std::vector<Operand> &operands,
                       const ToInt32 &to_int32, const Expr &of_column, const Expr &zero_point,
                       int blocks, const Expr &fits, bool prefetches, const Unit *units = nullptr) {
        // Two saturating packs turn four vectors of n int32 into one of 4 n bytes. A pack works
        // within lanes of 16 bytes, so the bytes come out in another order. The Funcs below are
        // indexed in that order, so that LLVM finds the packs of whole vectors, and restores the
        // order with one permutation of the result:
        // - Element 4 k + l of a block's vector 2 h + w becomes word 4 w + l of lane k of the
        //   words' vector h.
        // - Word j of that lane becomes byte 8 h + j of lane k. The upper two lanes of the bytes
        //   come first.
        const int n = int32_lanes(), block = 4 * n, step = block * blocks;
        const bool picks = !operands.empty() && this->get_target().has_feature(Target::AVX512_Zen4);
        const Var first("first");
        Func numbers("numbers"), words("words"), bytes("bytes");
        const Expr columns = output.dim(0).extent();
        // The promises serve the bounds of a row that has no block. Halide does not see that
        // nothing is accessed then.
        const auto promised = [&](const Expr &column) {
            return unsafe_promise_clamped(column, 0, columns - 1);
        };
        // The number of the unit that element times * e of block b is in.
        const auto unit_of = [&](int times, const Expr &e) {
            const int elements = units ? units->elements : 1;
            return first / step * (step / elements) + (block * b + times * e) / elements;
        };
        BlockFuncs funcs = {blocks, numbers, {words, bytes}, {}, {}, {}};
        if (picks) {
            std::vector<Expr> differences;
            for (const Operand &operand : operands) {
                const auto row = [&](const Expr &column) {
                    return operand.rows(promised(first + block * b + column), y);
                };
                funcs.picked.push_back(picked_difference(row, operand.zero_point, first));
                differences.push_back(to_f32(funcs.picked.back()(i, v, b, first, y)));
            }
            numbers(i, v, b, first, y) = to_int32(differences);
        } else {
            numbers(i, v, b, first, y) =
                Internal::substitute({{x.name(), promised(first + block * b + n * v + i)},
                                      {lane.name(), i},
                                      {unit.name(), unit_of(n, v)}},
                                     of_column);
        }
        // Zero points of lanes and columns are Funcs of their own, of a row and of a step. If they
        // are gathered beside the words, LLVM permutes everything they meet.
        Expr offset = zero_point;
        const Expr word = 4 * k + j % 4;  // in vector 2 h + j / 4 of a block
        Func zero_points("zero_points");
        if (uses(zero_point, lane)) {
            zero_points(j, k, h, y) =
                cast<int16_t>(Internal::substitute(lane.name(), word, zero_point));
            funcs.of_row = {zero_points};
            offset = zero_points(j, k, h, y);
        } else if (uses(zero_point, x)) {
            const Expr column = promised(first + block * b + n * (2 * h + j / 4) + word);
            zero_points(j, k, h, b, first, y) =
                cast<int16_t>(Internal::substitute(x.name(), column, zero_point));
            funcs.of_step = {zero_points};
            offset = zero_points(j, k, h, b, first, y);
        } else if (uses(zero_point, unit)) {
            const auto of_vector = [&](const Expr &vector) {
                return Internal::substitute(unit.name(), unit_of(n, vector), zero_point);
            };
            const bool two = units->elements < 2 * n;  // in a vector of words
            zero_points(j, k, h, b, first, y) =
                two ? select(j / 4 == 0, of_vector(2 * h), of_vector(2 * h + 1)) : of_vector(2 * h);
            funcs.of_step = {zero_points};
            offset = zero_points(j, k, h, b, first, y);
        }
        if (prefetches) offset = prefetching(offset, first + block * b, block);
        words(j, k, h, b, first, y) =
            offset_int16(numbers(4 * k + j % 4, 2 * h + j / 4, b, first, y), offset);
        bytes(j, h, k, b, first, y) =
            saturating_cast(output.type(), words(j, (k + 2) % (n / 4), h, b, first, y));
        block_funcs_.push_back(funcs);

        const Expr steps = units ? units->steps : select(fits, (columns + step - 1) / step, 0);
        const RDom part(0, step, 0, steps, "by" + std::to_string(blocks));
        const Expr start = units ? part.y * step : min(part.y * step, columns - step),
                   column = part.x % block;
        const Expr element = picks ? column / 4 : column % n,
                   of_vector = picks ? column % 4 : column / n;
        output(promised(start + part.x), y) =
            bytes(element % 4 + 4 * (of_vector % 2), of_vector / 2, (element / 4 + 2) % (n / 4),
                  part.x / block, start, y);
        parts_.push_back({part, PartKind::Packed});
    }

    // value, after prefetches of the cache lines of each prefetched buffer. They hold its
    // `elements` elements from `column` + the distance on, and may lie beyond its end.
    // Func::prefetch would make a loop of its own, and prefetch one line in four.
    Expr prefetching(const Expr &value, const Expr &column, int elements) const {
        using namespace Internal;
        constexpr int kLineBytes = 64;
        Expr none = 0;
        for (const Prefetched &buffer : prefetched_) {
            const Expr base = Variable::make(Handle(), buffer.name, buffer.parameter);
            for (int line = 0; line < elements; line += kLineBytes / buffer.type.bytes()) {
                const Expr at = column + prefetch_distance_ + line + y * buffer.row_stride;
                none += cast<int32_t>(
                    Call::make(buffer.type, Call::prefetch, {base, at, 1, 0}, Call::Intrinsic));
            }
        }
        return Call::make(value.type(), Call::return_second, {none, value}, Call::Intrinsic);
    }

    // row(4 i + v) - zero_point of a block of 4 n bytes, each picked, widened and subtracted by one
    // vpdpbusd (docs/lab/architecture.md#a-target-for-one-operator). One factor of its products is
    // unsigned, the other signed.
    template<class Row>
    Func picked_difference(const Row &row, const Expr &zero_point, const Var &first) {
        Func difference("difference");
        const Expr q = row(4 * i + byte_), pick = v == byte_;
        require_byte("picked_difference", q.type());
        difference(i, v, b, first, y) = -zero_point;
        difference(i, v, b, first, y) +=
            cast<int32_t>(q.type().is_uint() ? widening_mul(q, cast<int8_t>(pick))
                                             : widening_mul(cast<uint8_t>(pick), q));
        return difference;
    }

    // output(x, y) = element(x, y) for x < end: whole v, then whole v / 4 of the rest and so on, in
    // `levels` levels. The last of several levels is scalar.
    void define_steps(OutputRows &output, const Func &element, const Expr &end, int v, int levels) {
        Expr begin = 0;
        if (!prefetched_.empty()) {
            const RDom part(0, v, 0, select(prefetch_distance_ > 0, end / v, 0), "prefetching");
            const Expr start = part.y * v, column = start + part.x;
            output(column, y) = prefetching(element(column, y), start, v);
            parts_.push_back({part, PartKind::Steps});
            begin = select(prefetch_distance_ > 0, end / v * v, 0);
        }
        for (; levels > 0; levels--, v = levels > 1 && v > 4 ? v / 4 : 1) {
            const RDom part(0, v, 0, (end - begin) / v, "part");
            const Expr column = begin + part.y * v + part.x;
            output(column, y) = element(column, y);
            parts_.push_back({part, PartKind::Steps});
            if (v == 1) break;
            begin += (end - begin) / v * v;
        }
    }

    // output(x, y) = element, which may use `lane`, of rows of `least` to end - 1 columns. Vectors
    // of width_, the last one overlapping the one before. Shorter rows are scalar or, where there
    // is one layout, in vectors of 4 first: for size.
    void define_short_rows(OutputRows &output, const Expr &element, int least, int end) {
        const Expr columns = output.dim(0).extent();
        const bool fours = layouts.value().find(' ') == std::string::npos;
        for (int v = width_; end > least; end = v, v = v > 4 && fours ? 4 : 1) {
            const Expr fits = columns >= v && columns < end;
            const RDom part(0, v, 0, select(fits, (columns + v - 1) / v, 0), "part");
            const Expr start = v > 1 ? min(part.y * v, columns - v) : part.y;
            const Expr column = unsafe_promise_clamped(start + part.x, 0, columns - 1);
            output(column, y) =
                Internal::substitute({{x.name(), column}, {lane.name(), part.x}}, element);
            parts_.push_back({part, PartKind::Steps});
        }
    }

    // The same for begin <= x < end, in vectors of which the last is masked. Where there are no
    // such columns there are no rows either, so that no row finds that out by itself.
    void define_masked(OutputRows &output, const Func &element, const Expr &begin,
                       const Expr &end) {
        const Expr rows = select(begin < end, output.dim(1).extent(), 0);
        const RDom masked(begin, end - begin, 0, rows, "masked");
        output(masked.x, masked.y) = element(masked.x, masked.y);
        parts_.push_back({masked, PartKind::Masked});
    }

    // A vector read by `lane` holds whole periods, and no more elements than the shortest row.
    void check_lanes() const {
        if (width_ % kRepeatingPeriod != 0 || width_ > kRepeatingLanes)
            throw CompileError("this form has width 8 or 16 alone\n");
    }

    // Refuses knobs that say how the vectors of a step follow each other where it has one alone, or
    // where the other knobs say it.
    void check_steps() const {
        if (unrolled && (vector == 1 || tail == Tail::Packed))
            throw CompileError("unrolled: a step has no several vectors\n");
        if (order == Order::Blocks && (vector == 1 || tail != Tail::Packed))
            throw CompileError("order=blocks: a step has no several packed blocks\n");
    }

    void set_step(const Type &widest) {
        check_steps();
        width_ = width > 0 ? int(width) : this->natural_vector_size(widest);
        step_ = vector * width_;
    }

    void schedule_parameters(Rows &rows, const Expr &x_stride) {
        set_bounds(rows, x_stride);
        if (this->using_autoscheduler()) set_estimates(rows);
    }

    template<class Buffer>
    static void set_bounds(Buffer &buffer, const Expr &x_stride) {
        buffer.dim(0).set_min(0).set_stride(x_stride);
        buffer.dim(1).set_min(0);
    }

    template<class Buffer>
    static void set_estimates(Buffer &buffer) {
        buffer.set_estimates({{0, 1 << 16}, {0, 1}});
    }

    // Whether the inputs' strides along x are the layout's digits.
    static Expr lies_as(const std::string &layout, const std::vector<Rows *> &inputs) {
        Expr fits = Internal::const_true();
        for (size_t i = 0; i < inputs.size(); i++)
            fits = fits && inputs[i]->dim(0).stride() == layout[i] - '0';
        return fits;
    }

    // Specializes the stage for each layout, and fails for any other.
    std::vector<Stage> specialized(Stage stage, const std::vector<Rows *> &inputs) {
        std::vector<Stage> stages;
        std::istringstream words(layouts.value());
        for (std::string layout; words >> layout;) {
            if (layout.size() != inputs.size() ||
                layout.find_first_not_of("01") != std::string::npos) {
                throw CompileError("layout '" + layout + "' is not one 0 or 1 for each input\n");
            }
            stages.push_back(stage.specialize(lies_as(layout, inputs)));
        }
        stage.specialize_fail("a layout that the runtime never passes");
        return stages;
    }

    // The domain's loops inside those over rows.
    static Stage &in_order(Stage &stage, const RDom &domain) {
        std::vector<VarOrRVar> order;
        for (int d = 0; d < domain.dimensions(); d++) order.push_back(domain[d]);
        order.push_back(y);
        return stage.reorder(order);
    }

    // The step of a loop over `column`: one vector or, with unrolled=1, vectors of width_.
    template<class Column>
    void vectorize_step(Stage stage, const Column &column, int step,
                        TailStrategy strategy = TailStrategy::Auto) {
        if (!unrolled || step % width_ != 0 || step == width_) {
            stage.vectorize(column, step, strategy);
            return;
        }
        const Column in_step("in_step"), vectors("vectors"), lanes("lanes");
        stage.split(column, column, in_step, step, strategy)
            .split(in_step, vectors, lanes, width_)
            .vectorize(lanes)
            .unroll(vectors);
    }

    // The same for all columns of a domain, which are a step or fewer.
    void vectorize_columns(Stage stage, const RDom &domain) {
        const auto columns = Internal::as_const_int(domain.x.extent());
        if (unrolled && columns && *columns > width_)
            return vectorize_step(stage, RVar(domain.x), int(*columns));
        stage.vectorize(domain.x);
    }

    void vectorize_part(Stage stage, const Part &part) {
        const RDom &domain = part.domain;
        switch (part.kind) {
        case PartKind::Steps:
            vectorize_columns(stage.reorder(domain.x, domain.y, y), domain);
            break;
        case PartKind::Packed: {  // in the shape of `words`
            const RVar block("block"), group("group"), in_block("in_block"), in_group("in_group"),
                quad("quad"), of_quad("of_quad");
            in_order(stage, domain)
                .split(domain.x, block, in_block, 4 * int32_lanes())
                .unroll(block);
            stage.split(in_block, group, in_group, int32_lanes()).split(in_group, quad, of_quad, 4);
            stage.vectorize(of_quad).vectorize(quad).vectorize(group);
            break;
        }
        case PartKind::Masked: stage.vectorize(domain.x, width_, TailStrategy::GuardWithIf); break;
        case PartKind::Lanes: {
            const RVar group("group"), in_group("in_group");
            in_order(stage, domain).split(domain.y, group, in_group, part.together);
            stage.vectorize(domain.x).vectorize(in_group).unroll(group);
            break;
        }
        }
    }

    // Function by function for all blocks of a step, so that the processor can overlap operations
    // of different blocks; or, with order=blocks, block by block.
    void schedule_packs(Func out) {
        const int n = int32_lanes();
        for (size_t part = 0; part < block_funcs_.size(); part++) {
            const BlockFuncs &funcs = block_funcs_[part];
            const auto in_step = [&](Func f) {
                if (order == Order::Blocks && funcs.blocks > 1)
                    return f.compute_at(out, RVar("block")).store_in(MemoryType::Stack);
                return f.compute_at(out, parts_[part].domain.y)
                    .store_in(MemoryType::Stack)
                    .bound(b, 0, funcs.blocks);
            };
            const auto by_vectors = [&](Func f) {
                in_step(f).bound(i, 0, n).bound(v, 0, 4).vectorize(i).unroll(v).unroll(b);
            };
            const auto by_words = [&](Func f, int vectorized) {
                f.bound(j, 0, 8).bound(k, 0, n / 4).bound(h, 0, 2);
                for (int d = 0; d < vectorized; d++) f.vectorize(f.args()[d]);
            };
            for (Func f : funcs.of_row)
                by_words(f.compute_at(out, y).store_in(MemoryType::Stack), 3);
            for (Func f : funcs.of_step) by_words(in_step(f).unroll(h).unroll(b), 2);
            by_vectors(funcs.numbers);
            for (Func f : funcs.picked) {
                by_vectors(f);
                f.update()
                    .reorder(byte_, i, v, b)
                    .unroll(v)
                    .unroll(b)
                    .atomic()
                    .vectorize(byte_)
                    .vectorize(i);
            }
            for (Func f : funcs.packs) by_words(in_step(f).unroll(b), 3);
        }
    }

    // Rows of a step and more, and among them those that the shortcut serves. The shortcut is a
    // specialization inside theirs, not beside it: in a branch where Halide knows neither that it
    // holds nor that it does not, both values are computed, to select one.
    void vectorize_steps(Stage stage, const Expr &columns, TailStrategy strategy) {
        Stage rows = stage.specialize(columns >= step_);
        if (shortcut_.defined() && tail != Tail::Masked)
            vectorize_step(rows.specialize(shortcut_), x, step_, strategy);
        vectorize_step(rows, x, step_, strategy);
    }

    void vectorize_rows(Stage stage, const Expr &columns) {
        const auto strategy =
            tail == Tail::Masked ? TailStrategy::GuardWithIf : TailStrategy::ShiftInwards;
        if (tail == Tail::Masked) {
            std::vector<Stage> stages;
            if (shortcut_.defined()) stages.push_back(stage.specialize(shortcut_));
            stages.push_back(stage);
            for (Stage &s : stages) {
                if (!prefetched_.empty())
                    vectorize_steps(s.specialize(prefetch_distance_ > 0), columns, strategy);
                vectorize_step(s, x, step_, strategy);
            }
            return;
        }
        if (!prefetched_.empty())
            vectorize_steps(stage.specialize(prefetch_distance_ > 0), columns, strategy);
        vectorize_steps(stage, columns, strategy);
        // Scalars take three times as long as masks or vectors of 4 (docs/lab/performance.md#runs).
        const int least = has_masks() ? width_ : 4;
        for (int v = step_; v > least;) {
            v = std::max(v / 4, least);
            stage.specialize(columns >= v).vectorize(x, v, strategy);
        }
        if (has_masks()) stage.vectorize(x, width_, TailStrategy::GuardWithIf);
    }
};

}  // namespace hewn
