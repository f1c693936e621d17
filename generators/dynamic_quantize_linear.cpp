// DYNAMIC_QUANTIZE_LINEAR: the range of a tensor, and quotients by an f32 scale. The scale and the
// zero point, which are between the two, are computed by the runtime.
#include "elementwise.h"

namespace {

using namespace Halide;

struct Types {
    static hewn::SignatureTypes types() {
        return {"dynamic_quantize_linear", {"f32 f16", "i8 u8"}};
    }
};

// How far elements reach below and above 0, so far: from 0 on, and NaN does not count. f32 as the
// least and the largest number, by (v)minps and (v)maxps, which give their second operand beside a
// NaN. f16 as bits, which need no conversion: of unsigned integers, the largest is the lowest
// negative number's, of signed ones the largest positive number's.
class Reach {
public:
    explicit Reach(const Type &type) : half_(type == Float(16)) {}

    Tuple none() const {
        return half_ ? Tuple(cast<uint16_t>(0), cast<int16_t>(0)) : Tuple(0.0f, 0.0f);
    }
    Tuple with(const Expr &below, const Expr &above, const Expr &e) const {
        if (!half_)
            return Tuple(strict_float(select(e < below, e, below)),
                         strict_float(select(e > above, e, above)));
        const Expr bits = reinterpret<uint16_t>(e),
                   nan = reinterpret<int16_t>(bits & cast<uint16_t>(0x7fff)) > int16(0x7c00);
        const Expr number = select(nan, cast<uint16_t>(0), bits);
        return Tuple(max(below, number), max(above, reinterpret<int16_t>(number)));
    }
    // The bits of the two as magnitudes.
    Expr below(const Expr &e) const {
        if (half_) return max(e, cast<uint16_t>(0x8000)) & cast<uint16_t>(0x7fff);
        return reinterpret<uint32_t>(e) & Internal::make_const(UInt(32), 0x7fffffff);
    }
    Expr above(const Expr &e) const { return reinterpret(UInt(half_ ? 16 : 32), e); }

private:
    static Expr int16(int value) { return Internal::make_const(Int(16), value); }
    bool half_;
};

// Form `range`: the bits of two magnitudes of the input's type, how far a box reaches below 0 and
// above it.
class DynamicQuantizeLinearRange : public hewn::Elementwise<DynamicQuantizeLinearRange>,
                                   public Types {
public:
    Input<Buffer<void, 2>> input{"input"};
    Output<Buffer<void, 1>> range{"range"};

    void configure() {
        input.set_type(signature_type(0));
        range.set_type(UInt(signature_type(0).bits()));
    }

    void generate() {
        lanes_ = natural_vector_size(input.type());
        const Reach reach(input.type());
        const Expr columns = input.dim(0).extent(), rows = input.dim(1).extent();
        lanes_of_step_(lane_) = reach.none();
        const auto extend = [&](const Expr &at, const Expr &element) {
            lanes_of_step_(at) = reach.with(lanes_of_step_(at)[0], lanes_of_step_(at)[1], element);
        };
        // In steps of `elements`. The last overlaps the one before: to meet elements again changes
        // nothing.
        const auto extend_by = [&](int elements, const Expr &fits) {
            const Expr steps = select(fits, (columns + elements - 1) / elements, 0);
            const RDom part(0, elements, 0, steps, 0, rows, "part");
            const Expr column = min(part.y * elements, columns - elements) + part.x;
            extend(part.x, input(unsafe_promise_clamped(column, 0, columns - 1), part.z));
            parts_.push_back(part);
        };
        const int step = lanes_ * vector;
        extend_by(step, columns >= step);
        if (step > lanes_) extend_by(lanes_, columns >= lanes_ && columns < step);
        const RDom rest(0, select(columns < lanes_, columns, 0), 0, rows, "rest");
        extend(0, input(rest.x, rest.y));

        const RDom of_step(0, vector, "of_step"), all(0, lanes_, "all");
        const Expr none = Internal::make_zero(range.type()), at = lane_ + of_step * lanes_;
        lanes_of_vector_(lane_) = Tuple(none, none);
        lanes_of_vector_(lane_) =
            Tuple(max(lanes_of_vector_(lane_)[0], reach.below(lanes_of_step_(at)[0])),
                  max(lanes_of_vector_(lane_)[1], reach.above(lanes_of_step_(at)[1])));
        for (int side = 0; side < 2; side++) {
            most_[side]() = none;
            most_[side]() = max(most_[side](), lanes_of_vector_(all)[side]);
            most_[side].update().atomic().vectorize(all);
        }
        of_step_ = of_step.x;
        range(side_) = select(side_ == 0, most_[0](), most_[1]());
    }

    void schedule() {
        for (int d = 0; d < 2; d++) input.dim(d).set_min(0);
        input.dim(0).set_stride(1);
        range.dim(0).set_bounds(0, 2).set_stride(1);
        Func(range).bound(side_, 0, 2).unroll(side_);
        for (Func f : {lanes_of_step_, lanes_of_vector_, most_[0], most_[1]})
            f.compute_root().store_in(MemoryType::Stack);
        lanes_of_step_.bound(lane_, 0, lanes_ * vector).vectorize(lane_, lanes_).unroll(lane_);
        for (size_t i = 0; i < parts_.size(); i++) {
            const RVar of_step("of_step"), of_vector("of_vector");
            lanes_of_step_.update(int(i))
                .allow_race_conditions()  // every lane has its own element
                .split(parts_[i].x, of_step, of_vector, lanes_)
                .vectorize(of_vector)
                .unroll(of_step);
        }
        lanes_of_step_.update(int(parts_.size())).unscheduled();  // the rest, an element at a time
        lanes_of_vector_.bound(lane_, 0, lanes_).vectorize(lane_);
        lanes_of_vector_.update().reorder(lane_, of_step_).vectorize(lane_).unroll(of_step_);
    }

private:
    const Var lane_{"lane"}, side_{"side"};
    int lanes_ = 0;
    Func lanes_of_step_{"lanes_of_step"}, lanes_of_vector_{"lanes_of_vector"}, most_[2];
    RVar of_step_;
    std::vector<RDom> parts_;
};

// Form `divide`: QUANTIZE_LINEAR's with one f32 scale and one zero point, whatever the input.
class DynamicQuantizeLinearDivide : public hewn::Elementwise<DynamicQuantizeLinearDivide>,
                                    public Types {
public:
    Input<Buffer<void, 2>> input{"input"}, scale{"scale"}, zero_point{"zero_point"};
    Output<Buffer<void, 2>> output{"output"};

    void configure() {
        input.set_type(signature_type(0));
        scale.set_type(Float(32));
        zero_point.set_type(signature_type(1));
        output.set_type(signature_type(1));
    }

    void generate() {
        using hewn::x, hewn::y;
        const Expr quotient = hewn::rounded(hewn::to_f32(input(x, y), target) / scale(x, y));
        define(output, hewn::quantized(quotient, zero_point(x, y), output.type(), target),
               Float(32));
    }

    void schedule() { schedule_rows(output, {&input, &scale, &zero_point}); }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(DynamicQuantizeLinearRange, dynamic_quantize_linear_range)
HALIDE_REGISTER_GENERATOR(DynamicQuantizeLinearDivide, dynamic_quantize_linear_divide)
