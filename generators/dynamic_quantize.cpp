// The kernel of DYNAMIC_QUANTIZE that is its own: the form `rows`, which finds the range of each
// row. The runtime computes scales and zero points of it, and QUANTIZE_LINEAR's forms do the rest.
#include "elementwise.h"

namespace {

using namespace Halide;

// Form `rows`: how far each row of f32 numbers reaches below 0 and above it, as the bits of two
// magnitudes. range(y, 0) is the reach below 0 of row y, and range(y, 1) that above 0. Both begin
// at 0, and NaN does not count.
class DynamicQuantizeRows : public hewn::Elementwise<DynamicQuantizeRows> {
public:
    static hewn::SignatureTypes types() { return {"dynamic_quantize", {"f32", "i8 u8 f8"}}; }

    Input<Buffer<void, 2>> input{"input"};
    Output<Buffer<uint32_t, 2>> range{"range"};

    void configure() { input.set_type(signature_type(0)); }

    void generate() {
        lanes_ = natural_vector_size(Float(32));
        const Expr columns = input.dim(0).extent();
        // (v)minps and (v)maxps give their second operand if one of the two is NaN.
        reach_(lane_, y_) = Tuple(0.0f, 0.0f);
        const auto extend = [&](const Expr &at, const Expr &e) {
            const Expr least = reach_(at, y_)[0], most = reach_(at, y_)[1];
            reach_(at, y_) = Tuple(strict_float(select(e < least, e, least)),
                                   strict_float(select(e > most, e, most)));
        };
        // Takes all columns in, where `fits`, in steps of `elements`. The last step overlaps the
        // one before, because meeting an element twice changes nothing.
        const auto extend_by = [&](int elements, const Expr &fits) {
            const Expr steps = select(fits, (columns + elements - 1) / elements, 0);
            const RDom part(0, elements, 0, steps, "part");
            const Expr column = min(part.y * elements, columns - elements) + part.x;
            extend(part.x, input(unsafe_promise_clamped(column, 0, columns - 1), y_));
            parts_.push_back(part);
        };
        const int step = lanes_ * vector;
        extend_by(step, columns >= step);
        if (step > lanes_) extend_by(lanes_, columns >= lanes_ && columns < step);
        const RDom rest(0, select(columns < lanes_, columns, 0), "rest");
        extend(0, input(rest.x, y_));

        // Magnitudes are compared as signed integers, which is faster on SSE and has their order.
        const RDom of_step(0, vector, "of_step"), all(0, lanes_, "all");
        of_step_ = of_step.x;
        const Expr at = lane_ + of_step * lanes_;
        const auto magnitude = [](const Expr &e) { return reinterpret<int32_t>(abs(e)); };
        of_vector_(lane_, y_) = Tuple(0, 0);
        of_vector_(lane_, y_) = Tuple(max(of_vector_(lane_, y_)[0], magnitude(reach_(at, y_)[0])),
                                      max(of_vector_(lane_, y_)[1], magnitude(reach_(at, y_)[1])));
        for (int side = 0; side < 2; side++) {
            most_[side](y_) = 0;
            most_[side](y_) = max(most_[side](y_), of_vector_(all, y_)[side]);
            most_[side].update().atomic().vectorize(all);
        }
        range(y_, side_) = reinterpret<uint32_t>(select(side_ == 0, most_[0](y_), most_[1](y_)));
    }

    void schedule() {
        for (int d = 0; d < 2; d++) {
            input.dim(d).set_min(0);
            range.dim(d).set_min(0);
        }
        input.dim(0).set_stride(1);
        range.dim(0).set_stride(1);
        range.dim(1).set_extent(2);
        Func(range).bound(side_, 0, 2).reorder(side_, y_).unroll(side_);
        for (Func f : {reach_, of_vector_, most_[0], most_[1]})
            f.compute_at(Func(range), y_).store_in(MemoryType::Stack);
        reach_.bound(lane_, 0, lanes_ * vector).vectorize(lane_, lanes_).unroll(lane_);
        for (size_t i = 0; i < parts_.size(); i++) {
            const RVar of_step("of_step"), of_vector("of_vector");
            reach_.update(int(i))
                .allow_race_conditions()  // every lane has its own element
                .split(parts_[i].x, of_step, of_vector, lanes_)
                .vectorize(of_vector)
                .unroll(of_step);
        }
        reach_.update(int(parts_.size())).unscheduled();  // the rest, an element at a time
        of_vector_.bound(lane_, 0, lanes_).vectorize(lane_);
        of_vector_.update().reorder(lane_, of_step_, y_).vectorize(lane_).unroll(of_step_);
    }

private:
    const Var lane_{"lane"}, side_{"side"}, y_{"y"};
    int lanes_ = 0;
    Func reach_{"reach"}, of_vector_{"of_vector"}, most_[2];
    RVar of_step_;
    std::vector<RDom> parts_;
};

}  // namespace

HALIDE_REGISTER_GENERATOR(DynamicQuantizeRows, dynamic_quantize_rows)
