// The kernel of MX_QUANTIZE and NVFP4_QUANTIZE that is their own: the form `largest`, which finds
// the largest magnitude of each row. The runtime computes scales of it, and QUANTIZE_LINEAR's forms
// do the rest.
#include "elementwise.h"

namespace {

using namespace Halide;

// Form `largest`: range(y, 0) is the largest magnitude of row y, as the bits of an f32. Magnitudes
// are compared as integers, so infinity and NaN are larger than all numbers.
class MxQuantizeLargest : public hewn::Elementwise<MxQuantizeLargest> {
public:
    static hewn::SignatureTypes types() { return {"mx_quantize", {"f32", "i8 f8"}}; }

    Input<Buffer<void, 2>> input{"input"};
    Output<Buffer<uint32_t, 2>> range{"range"};

    void configure() { input.set_type(signature_type(0)); }

    void generate() {
        lanes_ = natural_vector_size(Int(32));
        const Expr columns = input.dim(0).extent();
        // They are signed, because SSE has no maximum of unsigned integers.
        const auto magnitude = [&](const Expr &column) {
            return reinterpret<int32_t>(reinterpret<uint32_t>(input(column, y_)) & 0x7fffffff);
        };
        largest_(lane_, y_) = 0;
        // Takes all columns in, where `fits`, in steps of `elements`. The last step overlaps the
        // one before, because meeting an element twice changes nothing.
        const auto extend_by = [&](int elements, const Expr &fits) {
            const Expr steps = select(fits, (columns + elements - 1) / elements, 0);
            const RDom part(0, elements, 0, steps, "part");
            const Expr column = min(part.y * elements, columns - elements) + part.x;
            largest_(part.x, y_) = max(largest_(part.x, y_),
                                       magnitude(unsafe_promise_clamped(column, 0, columns - 1)));
            parts_.push_back(part);
        };
        const int step = lanes_ * vector;
        extend_by(step, columns >= step);
        if (step > lanes_) extend_by(lanes_, columns >= lanes_ && columns < step);
        const RDom rest(0, select(columns < lanes_, columns, 0), "rest");
        largest_(0, y_) = max(largest_(0, y_), magnitude(rest.x));

        const RDom of_step(0, vector, "of_step"), all(0, lanes_, "all");
        of_step_ = of_step.x;
        of_vector_(lane_, y_) = 0;
        of_vector_(lane_, y_) = max(of_vector_(lane_, y_), largest_(lane_ + of_step * lanes_, y_));
        of_row_(y_) = 0;
        of_row_(y_) = max(of_row_(y_), of_vector_(all, y_));
        of_row_.update().atomic().vectorize(all);
        range(y_, side_) = reinterpret<uint32_t>(of_row_(y_));
    }

    void schedule() {
        for (int d = 0; d < 2; d++) {
            input.dim(d).set_min(0);
            range.dim(d).set_min(0);
        }
        input.dim(0).set_stride(1);
        range.dim(0).set_stride(1);
        range.dim(1).set_extent(1);
        Func(range).bound(side_, 0, 1);
        for (Func f : {largest_, of_vector_, of_row_})
            f.compute_at(Func(range), y_).store_in(MemoryType::Stack);
        largest_.bound(lane_, 0, lanes_ * vector).vectorize(lane_, lanes_).unroll(lane_);
        for (size_t i = 0; i < parts_.size(); i++) {
            const RVar of_step("of_step"), of_vector("of_vector");
            largest_.update(int(i))
                .allow_race_conditions()  // every lane has its own element
                .split(parts_[i].x, of_step, of_vector, lanes_)
                .vectorize(of_vector)
                .unroll(of_step);
        }
        largest_.update(int(parts_.size())).unscheduled();  // the rest, an element at a time
        of_vector_.bound(lane_, 0, lanes_).vectorize(lane_);
        of_vector_.update().reorder(lane_, of_step_, y_).vectorize(lane_).unroll(of_step_);
    }

private:
    const Var lane_{"lane"}, side_{"side"}, y_{"y"};
    int lanes_ = 0;
    Func largest_{"largest"}, of_vector_{"of_vector"}, of_row_{"of_row"};
    RVar of_step_;
    std::vector<RDom> parts_;
};

}  // namespace

HALIDE_REGISTER_GENERATOR(MxQuantizeLargest, mx_quantize_largest)
