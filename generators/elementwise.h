// What all element-wise generators share: rank-2 buffers, the layouts a kernel is specialised for, and the CPU schedule.
#ifndef HEWN_GENERATORS_ELEMENTWISE_H
#define HEWN_GENERATORS_ELEMENTWISE_H

#include <Halide.h>

#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "numerics.h"

namespace hewn {

// How a row of w elements that is no multiple of the step V is computed. Only Shifted computes an element twice, which an output in
// place of an input would not survive.
enum class Tail {
    Masked,   // GuardWithIf: predicated vectors, where the target has masks (AVX-512)
    Shifted,  // ShiftInwards: the last vector overlaps the one before; V, then V / 4, then scalar for shorter rows
    Stepped,  // disjoint parts: whole V, whole V / 4 of the rest, whole V / 16, then scalar
    Packed,   // of define_narrowed: whole blocks of 64 (AVX-512), then Masked for the rest
};

// f32 f16 i8 u8 i16 u16 i32 u32 i64 u64
inline Halide::Type type_named(const std::string &name) {
    if (name.size() >= 2 && name.find_first_not_of("0123456789", 1) == std::string::npos) {
        const int bits = std::stoi(name.substr(1));
        if (name[0] == 'f') return Halide::Float(bits);
        if (name[0] == 'i') return Halide::Int(bits);
        if (name[0] == 'u') return Halide::UInt(bits);
    }
    throw Halide::CompileError("'" + name + "' is not a data type\n");
}

// A kernel's buffers are rank 2: x runs along a row, where the output's stride is 1 and an input's is 0 or 1; y over rows, with
// any stride. The runtime brings every layout to this form and proves what Halide's assertions would check.
template<class Derived>
class Elementwise : public Halide::Generator<Derived> {
public:
    template<class T>
    using Param = Halide::GeneratorParam<T>;
    using Rows = Halide::GeneratorInput<Halide::Buffer<void, 2>>;
    using OutputRows = Halide::GeneratorOutput<Halide::Buffer<void, 2>>;

    // The data types of one kernel, as kernels.cmake lists them: "f32_u8".
    Param<std::string> signature{"signature", ""};
    // One word a layout, one digit an input: its stride along x. Set by kernels.cmake.
    Param<std::string> layouts{"layouts", ""};

    // Knobs (tuning/); knobs.cmake has their meaning and their values. The step V is width * vector.
    Param<int> width{"width", 0};
    Param<int> vector{"vector", 1};
    Param<Tail> tail{
        "tail",
        Tail::Masked,
        {{"masked", Tail::Masked}, {"shifted", Tail::Shifted}, {"stepped", Tail::Stepped}, {"packed", Tail::Packed}}};

protected:
    // The index-th type of the signature.
    Halide::Type signature_type(int index) const {
        std::istringstream words(signature.value());
        std::string word;
        for (int i = 0; i <= index; i++) std::getline(words, word, '_');
        return type_named(word);
    }

    // output(x, y) = value. widest: the widest type that the algorithm computes with.
    void define(OutputRows &output, const Halide::Expr &value, const Halide::Type &widest) {
        if (tail == Tail::Packed) throw Halide::CompileError("tail=packed: this form does not narrow int32 to 8 bits\n");
        set_step(widest);
        if (tail != Tail::Stepped) {
            output(x, y) = value;
            return;
        }
        Halide::Func element("element");
        element(x, y) = value;
        output(x, y) = Halide::undef(value.type());
        Halide::Expr begin = 0, end = output.dim(0).extent();
        for (int v = step_, levels = 4; levels > 0; levels--, v = levels > 1 && v > 4 ? v / 4 : 1) {
            const Halide::RDom part(0, v, 0, (end - begin) / v, "part");
            const Halide::Expr column = begin + part.y * v + part.x;
            output(column, y) = element(column, y);
            parts_.push_back(part);
            if (v == 1) break;
            begin += (end - begin) / v * v;
        }
    }

    // output(x, y) = to_byte(rounded), an 8-bit value of an int32; to_byte also takes the int16 that `rounded` saturates to.
    void define_narrowed(OutputRows &output, const Halide::Expr &rounded,
                         const std::function<Halide::Expr(const Halide::Expr &)> &to_byte) {
        if (tail != Tail::Packed) return define(output, to_byte(rounded), Halide::Float(32));
        // Two saturating packs turn four vectors of 16 int32 into one of 64 bytes, in another order: word (l, k, w, h) of a block is
        // its element 32 h + 16 w + 4 k + l. Written so, LLVM finds the packs and restores the order with one permutation of
        // the result; narrowing vector by vector would take four instructions for each.
        using Halide::Var;
        const Var l("l"), k("k"), w("w"), h("h"), block("block");
        Halide::Func words("words"), bytes("bytes");
        rounded_(x, y) = rounded;
        words(l, w, k, h, block, y) = Halide::saturating_cast<int16_t>(rounded_(kBlock * block + 32 * h + 16 * w + 4 * k + l, y));
        bytes(l, w, k, h, block, y) = to_byte(words(l, w, k, h, block, y));
        packed_ = {words, bytes};

        const Halide::Expr width = output.dim(0).extent(), blocks = width / kBlock;
        const Halide::RDom whole(0, kBlock, 0, blocks, "whole"), rest(0, width - blocks * kBlock, "rest");
        output(x, y) = Halide::undef(output.type());
        const Halide::Expr i = whole.x;
        output(kBlock * whole.y + i, y) = bytes(i % 4, i / 16 % 2, i / 4 % 4, i / 32, whole.y, y);
        Halide::Func element("element");
        element(x, y) = to_byte(rounded);
        output(kBlock * blocks + rest, y) = element(kBlock * blocks + rest, y);
        parts_ = {whole, rest};
        set_step(Halide::Float(32));
    }

    void schedule_rows(OutputRows &output, const std::vector<Rows *> &inputs) {
        Halide::Func out = output;
        set_bounds(output, Halide::Expr(1));
        for (Rows *input : inputs) set_bounds(*input, Halide::Expr());
        if (this->using_autoscheduler()) {
            // For comparison alone: an autoscheduler does not specialise, so it gets the most frequent layout and a long row.
            for (size_t i = 0; i < inputs.size(); i++) {
                inputs[i]->dim(0).set_stride(layouts.value().at(i) - '0');
                inputs[i]->set_estimates({{0, 1 << 16}, {0, 1}});
            }
            output.set_estimates({{0, 1 << 16}, {0, 1}});
            return;
        }
        if (!packed_.empty()) {
            schedule_packed(out, inputs);
        } else if (parts_.empty()) {
            for (Halide::Stage stage : specialized(out, inputs)) vectorize_rows(stage, output.dim(0).extent());
        } else {
            for (size_t i = 0; i < parts_.size(); i++) {
                for (Halide::Stage stage : specialized(out.update(int(i)), inputs)) {
                    // Every lane writes its own column.
                    stage.allow_race_conditions().reorder(parts_[i].x, parts_[i].y, y).vectorize(parts_[i].x);
                }
            }
        }
    }

private:
    // Elements of a vector of 64 bytes, the block of Tail::Packed.
    static constexpr int kBlock = 64;

    int step_ = 0;
    std::vector<Halide::RDom> parts_;
    Halide::Func rounded_{"rounded"};
    std::vector<Halide::Func> packed_;

    void set_step(const Halide::Type &widest) { step_ = vector * (width > 0 ? int(width) : this->natural_vector_size(widest)); }

    template<class Buffer>
    static void set_bounds(Buffer &buffer, const Halide::Expr &x_stride) {
        buffer.dim(0).set_min(0).set_stride(x_stride);
        buffer.dim(1).set_min(0);
    }

    // A specialization of the stage for each layout, and a failure for any other.
    std::vector<Halide::Stage> specialized(Halide::Stage stage, const std::vector<Rows *> &inputs) {
        std::vector<Halide::Stage> stages;
        std::istringstream words(layouts.value());
        for (std::string layout; words >> layout;) {
            if (layout.size() != inputs.size() || layout.find_first_not_of("01") != std::string::npos) {
                throw Halide::CompileError("layout '" + layout + "' is not one 0 or 1 for each input\n");
            }
            Halide::Expr fits;
            for (size_t i = 0; i < inputs.size(); i++) {
                const Halide::Expr stride_fits = inputs[i]->dim(0).stride() == layout[i] - '0';
                fits = fits.defined() ? fits && stride_fits : stride_fits;
            }
            stages.push_back(stage.specialize(fits));
        }
        stage.specialize_fail("a layout that the runtime never passes");
        return stages;
    }

    void schedule_packed(Halide::Func out, const std::vector<Rows *> &inputs) {
        const Halide::RDom &whole = parts_[0], &rest = parts_[1];
        const Halide::RVar group("group"), in_group("in_group"), quad("quad"), lane("lane");
        for (Halide::Stage stage : specialized(out.update(0), inputs)) {
            stage.allow_race_conditions().reorder(whole.x, whole.y, y);
            stage.split(whole.x, group, in_group, 16).split(in_group, quad, lane, 4);
            stage.vectorize(lane).vectorize(quad).vectorize(group);
        }
        rounded_.compute_at(out, whole.y).bound_extent(x, kBlock).vectorize(x, 16).unroll(x);
        rounded_.store_in(Halide::MemoryType::Stack);
        for (Halide::Func f : packed_) {
            const std::vector<Halide::Var> v = f.args();
            f.compute_at(out, whole.y).bound(v[0], 0, 4).bound(v[1], 0, 2).bound(v[2], 0, 4).bound(v[3], 0, 2);
            f.vectorize(v[0]).vectorize(v[1]).vectorize(v[2]).vectorize(v[3]).store_in(Halide::MemoryType::Stack);
        }
        for (Halide::Stage stage : specialized(out.update(1), inputs)) {
            stage.allow_race_conditions().vectorize(rest.x, step_, Halide::TailStrategy::GuardWithIf);
        }
    }

    void vectorize_rows(Halide::Stage stage, const Halide::Expr &width) {
        if (tail == Tail::Masked) {
            stage.vectorize(x, step_, Halide::TailStrategy::GuardWithIf);
            return;
        }
        for (int v = step_, levels = 2; levels > 0 && v > 1; levels--, v /= 4) {
            stage.specialize(width >= v).vectorize(x, v, Halide::TailStrategy::ShiftInwards);
        }
    }
};

}  // namespace hewn

#endif  // HEWN_GENERATORS_ELEMENTWISE_H
