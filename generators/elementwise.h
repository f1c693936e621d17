// The base of all element-wise generators for CPUs. A generator defines the value of an element
// (`define`) and names its buffers (`schedule_rows` and the functions after it). This class has the
// layouts and the knobs, and chooses with them among the headers that it includes: they define and
// schedule the parts of a row.
#pragma once

#include <Halide.h>

#include <sstream>
#include <string>
#include <vector>

#include "blocks.h"
#include "lanes.h"
#include "narrow.h"
#include "packed.h"
#include "packs.h"
#include "prefetch.h"
#include "rows.h"
#include "signature.h"
#include "steps.h"

namespace hewn {

// What a kernel computes for each element.
struct Element {
    Expr value;               // of (x, y); may use `lane`
    Type widest = Float(32);  // the widest type that the algorithm computes with
    Shortcut shortcut = {};   // not used with tail=stepped
};

template<class Derived>
class Elementwise : public Generator<Derived> {
public:
    template<class T>
    using Param = GeneratorParam<T>;

    // The kernel's signature: "f32_u8".
    Param<std::string> signature{"signature", ""};
    // The layouts to specialise for, from lists/operators.py: words such as "10", with a digit for
    // each input, which is the input's stride along x.
    Param<std::string> layouts{"layouts", ""};

    // Knobs. lists/knobs.py has their meanings, and tuning/ the values for each target.
    Param<int> width{"width", 0};
    Param<int> vector{"vector", 1};
    Param<Tail> tail{"tail",
                     Tail::Masked,
                     {{"masked", Tail::Masked},
                      {"shifted", Tail::Shifted},
                      {"stepped", Tail::Stepped},
                      {"narrowed", Tail::Narrowed}}};
    Param<int> unrolled{"unrolled", 0};
    Param<Order> order{
        "order", Order::Functions, {{"functions", Order::Functions}, {"batches", Order::Batches}}};

protected:
    using PrefetchDistance = GeneratorInput<int32_t>;

    Type signature_type(int index) const {
        return type_of_signature(Derived::types(), signature.value(), index);
    }

    Type zero_point_type(int index) const {
        return zero_point_type_of_signature(Derived::types(), signature.value(), index);
    }

    // ---- Definitions: each generator calls one `define` ----

    // Makes the definition prefetch these buffers, which may be none. To be called before `define`.
    void set_prefetched(const std::vector<Prefetched> &buffers, PrefetchDistance &distance) {
        distance.set_estimate(0);
        if (!cut().has_masks() || this->using_autoscheduler())
            return;  // an autoscheduler would ask for estimates of the addresses
        prefetch_ = {buffers, distance};
    }

    // Defines output(x, y) = element.value.
    void define(OutputRows &output, const Element &element) {
        if (tail == Tail::Narrowed)
            throw CompileError("tail=narrowed: this form does not narrow int32 to 8 bits\n");
        begin(element.widest);
        if (uses(element.value, lane))
            define_lanes(definition_, output, prefetch_, element.value,
                         signature_type(0).bits() < 32);
        else if (tail == Tail::Stepped)
            define_stepped(definition_, output, prefetch_, element.value);
        else define_whole(definition_, output, prefetch_, element.value, element.shortcut);
    }

    // Defines output(x, y) = narrowed(row.number, row.zero_point).
    void define(OutputRows &output, const Narrowed &row) {
        if (tail != Tail::Narrowed) return define(output, {element_of(row, output.type())});
        begin(Float(32));
        define_packs(definition_, output, prefetch_, row);
    }

    // Defines the output for rows of blocks. `of` makes an Expr or a Narrowed for (x, y) of the
    // values that are prepared for its block.
    template<class Of>
    void define(OutputRows &output, const Blocks &blocks, const Of &of) {
        constexpr bool narrows = std::is_same_v<decltype(of({})), Narrowed>;
        if (width != 0 || (tail != Tail::Masked && !(narrows && tail == Tail::Narrowed)))
            throw CompileError("blocks: rows are whole steps, of vectors of 16\n");
        begin(Float(32));
        if constexpr (narrows) {
            if (tail == Tail::Narrowed)
                return define_packs_of_blocks(definition_, output, blocks, of);
            define_of_blocks(definition_, output, blocks, [&](const std::vector<Expr> &prepared) {
                return element_of(of(prepared), output.type());
            });
        } else {
            define_of_blocks(definition_, output, blocks, of);
        }
    }

    // Defines the bytes of the output, which are elements of so many bits.
    void define_packed(OutputRows &output, const Narrowed &row, int bits) {
        expect_words();
        begin(Float(32));
        hewn::define_packed(definition_, output, row, bits);
    }

    // Defines output(x, y) for elements of so many bits, which are those of the words of `input`.
    void define_unpacked(OutputRows &output, Rows &input, int bits, const Expr &value,
                         const Shortcut &shortcut) {
        expect_words();
        begin(Float(32));
        hewn::define_unpacked(definition_, output, input, bits, value, shortcut);
    }

    // ---- Schedules: schedule_rows, then another function for each input not in `inputs` ----

    // Schedules the output, specialised for the layouts, which have a digit for each of `inputs`.
    void schedule_rows(OutputRows &output, const std::vector<Rows *> &inputs) {
        Func out = output;
        set_bounds(output, Expr(1));
        for (Rows *input : inputs) set_bounds(*input, Expr());
        if (this->using_autoscheduler()) {
            // Autoschedulers are there only for comparison. They do not specialise, so they get the
            // most frequent layout and a long row.
            for (size_t i = 0; i < inputs.size(); i++) {
                inputs[i]->dim(0).set_stride(layouts.value().at(i) - '0');
                set_estimates(*inputs[i]);
            }
            set_estimates(output);
            return;
        }
        if (definition_.whole) {
            for (const Stage &stage : specialized(out, inputs)) definition_.whole(stage);
            return;
        }
        for (size_t i = 0; i < definition_.parts.size(); i++) {
            for (Stage stage : specialized(out.update(int(i)), inputs)) {
                stage.allow_race_conditions();  // every lane writes its own column
                definition_.parts[i].vectorize(stage);
            }
        }
        for (const auto &compute : definition_.computed) compute(out);
    }

    // schedule_lanes: for an input with an element for each `lane` or for each `block`.
    // schedule_constants: for an input with one element for each row.
    // schedule_strided: for an input with an element for each `block` or one for all blocks.
    void schedule_lanes(Rows &rows) { schedule_parameters(rows, 1); }
    void schedule_constants(Rows &rows) { schedule_parameters(rows, 0); }
    void schedule_strided(Rows &rows) { schedule_parameters(rows, rows.dim(0).stride()); }

    // For a second input, `again`, for which callers pass the same buffer as for `rows`.
    void schedule_again(Rows &again, Rows &rows) {
        for (int d = 0; d < 2; d++) again.dim(d).set_min(0).set_stride(rows.dim(d).stride());
        if (this->using_autoscheduler()) set_estimates(again);
    }

private:
    Definition definition_;
    Prefetch prefetch_;

    void expect_words() const {
        if (width != 0 || tail != Tail::Masked)
            throw CompileError("packed: rows are whole words, and at least a step\n");
    }

    Cut cut() const {
        return {this->get_target(),         tail, order, unrolled != 0, vector, 0, 0,
                this->using_autoscheduler()};
    }

    // Begins a definition. Refuses the knobs that put the vectors of a step in order if a step has
    // only one vector, or if other knobs already decide the order.
    void begin(const Type &widest) {
        if (unrolled && (vector == 1 || tail == Tail::Narrowed))
            throw CompileError("unrolled: a step has only one vector\n");
        if (order == Order::Batches && (vector == 1 || tail != Tail::Narrowed))
            throw CompileError("order=batches: a step has only one batch\n");
        definition_.cut = cut();
        definition_.cut.width = width > 0 ? int(width) : this->natural_vector_size(widest);
        definition_.cut.step = vector * definition_.cut.width;
        std::istringstream words(layouts.value());
        for (std::string layout; words >> layout;) definition_.layouts.push_back(layout);
    }

    Expr element_of(const Narrowed &row, const Type &type) const {
        return narrowed(cut(), row.number_of(this->get_target()), row.zero_point, type);
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

    // The stage, specialised for each layout. For any other layout the kernel fails.
    std::vector<Stage> specialized(Stage stage, const std::vector<Rows *> &inputs) {
        std::vector<Stage> stages;
        for (const std::string &layout : definition_.layouts) {
            if (layout.size() != inputs.size() ||
                layout.find_first_not_of("01") != std::string::npos) {
                throw CompileError("layout '" + layout + "' is not one 0 or 1 for each input\n");
            }
            stages.push_back(stage.specialize(lies_as(layout, inputs)));
        }
        stage.specialize_fail("a layout that the runtime never passes");
        return stages;
    }
};

}  // namespace hewn
