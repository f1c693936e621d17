// The kernels of DYNAMIC_QUANTIZE_LINEAR that are its own. On CPUs the form `range` finds the
// input's range, the runtime computes the scale and the zero point, and `divide` quantizes with an
// f32 scale. On GPUs the forms `ranges` and `parameters` do the first two steps. The other forms
// are QUANTIZE_LINEAR's.
#include "elementwise.h"
#include "gpu.h"

namespace {

using namespace Halide;

struct Types {
    static hewn::SignatureTypes types() {
        return {"dynamic_quantize_linear", {"f32 f16", "i8 u8"}};
    }
};

// How far the elements met so far reach below 0 and above it. Both sides begin at 0, and NaN does
// not count.
// - f32: the least and the largest number, by (v)minps and (v)maxps, which give their second
//   operand if one of the two is NaN.
// - f16: bits, so that nothing needs converting. Read as unsigned integers, the largest bits are
//   those of the lowest negative number; read as signed integers, those of the largest positive
//   one.
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
    // Each side as the bits of a magnitude.
    Expr below(const Expr &e) const {
        if (half_) return max(e, cast<uint16_t>(0x8000)) & cast<uint16_t>(0x7fff);
        return reinterpret<uint32_t>(e) & Internal::make_const(UInt(32), 0x7fffffff);
    }
    Expr above(const Expr &e) const { return reinterpret(UInt(half_ ? 16 : 32), e); }

private:
    static Expr int16(int value) { return Internal::make_const(Int(16), value); }
    bool half_;
};

// Form `range`: how far a box reaches below 0 and above it, as the bits of two magnitudes of the
// input's type.
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
        // Takes the rows in, where `fits`, in steps of `elements`. The last step overlaps the one
        // before, because meeting an element twice changes nothing.
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

// Form `divide`: as QUANTIZE_LINEAR's, but with one scale and one zero point, and the scale is f32
// even if the input is f16.
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
        define(output, {hewn::quantized(quotient, zero_point(x, y), output.type(), target)});
    }

    void schedule() { schedule_rows(output, {&input, &scale, &zero_point}); }
};

// ---- GPUs, from and to bits (numerics_gpu.h) ----

using hewn::gpu::u32;

// How far elements reach below 0 and above it, as magnitudes. It is found for each lane of a block
// of threads, then for groups of lanes, then for the block.
class BlockReach {
public:
    static constexpr int kLanes = 256, kGroups = 16;

    // `elements` is the domain of one lane's elements. `extended(reach, lane, block)` is the reach
    // with one more of them, which it finds by the domain's variable.
    template<class Extended>
    BlockReach(const RDom &elements, const Extended &extended) : elements_(elements) {
        const Tuple none(u32(0), u32(0));
        of_lane_(i_, b_) = none;
        of_lane_(i_, b_) = extended(Tuple(of_lane_(i_, b_)), i_, b_);
        of_group_(i_, b_) = none;
        of_group_(i_, b_) =
            farther(Tuple(of_group_(i_, b_)), Tuple(of_lane_(i_ + kGroups * part_of_group_, b_)));
        of_block_(b_) = none;
        of_block_(b_) = farther(Tuple(of_block_(b_)), Tuple(of_group_(part_of_block_, b_)));
    }

    static Tuple farther(const Tuple &a, const Tuple &b) {
        return Tuple(max(a[0], b[0]), max(a[1], b[1]));
    }
    Tuple at(const Expr &block) const { return of_block_(block); }

    void schedule(const Func &output, const RVar &block, const RVar &thread) {
        for (Func f : {of_lane_, of_group_}) {
            f.compute_at(output, block).gpu_threads(i_);
            f.update().gpu_threads(i_);
        }
        of_block_.compute_at(output, thread);
    }

private:
    RDom elements_;
    const RDom part_of_group_{0, kLanes / kGroups, "j"}, part_of_block_{0, kGroups, "g"};
    const Var i_{"l"}, b_{"k"};
    Func of_lane_{"of_lane"}, of_group_{"of_group"}, of_block_{"of_block"};
};

// Form `ranges`: how far a box reaches below 0 and above it. Each of kGpuRangeBlocks blocks of
// threads takes a part of the box. The output has the reach of every block below 0, then the reach
// of every block above 0.
class DynamicQuantizeLinearRanges : public hewn::gpu::Launched<DynamicQuantizeLinearRanges>,
                                    public Types {
public:
    void configure() {
        input_ = add_input<Buffer<>>("input", hewn::gpu::bits_type(signature_type(0)), 1);
        add_strided_scalars(1);
        output_ = add_output<Buffer<>>("output", UInt(32), 1);
    }

    void generate() {
        constexpr int lanes = BlockReach::kLanes, together = lanes * hewn::kGpuRangeBlocks;
        const Expr count = *scalars_.count;
        const RDom steps(0, (count + (together - 1)) / together, "e");
        reach_ = std::make_unique<BlockReach>(
            steps, [&](const Tuple &reach, const Var &lane, const Var &block) {
                const Expr index = (steps.x * hewn::kGpuRangeBlocks + block) * lanes + lane;
                return BlockReach::farther(reach, of_element(index, count));
            });
        domain_ = RDom(0, 2, 0, hewn::kGpuRangeBlocks, "s");
        Func output = *output_;
        output(i_) = undef(UInt(32));
        const Tuple reach = reach_->at(domain_.y);
        output(domain_.x * hewn::kGpuRangeBlocks + domain_.y) =
            select(domain_.x == 0, reach[0], reach[1]);
    }

    void schedule() {
        bind(*input_, false);
        bind(*output_, false);
        Func output = *output_;
        Stage update = output.update().allow_race_conditions();
        const Expr few = Expr(*scalars_.rank) <= hewn::kFewGpuDimensions;
        for (Stage stage : {update.specialize(few), update})
            stage.gpu_blocks(domain_.y).gpu_threads(domain_.x);
        reach_->schedule(output, domain_.y, domain_.x);
    }

private:
    GeneratorInput<Buffer<>> *input_ = nullptr;
    GeneratorOutput<Buffer<>> *output_ = nullptr;
    const Var i_{"i"};
    RDom domain_;
    std::unique_ptr<BlockReach> reach_;

    // NaN does not count, and neither does an index after the last element.
    Tuple of_element(const Expr &index, const Expr &count) const {
        const Expr at = cast<uint32_t>(min(index, count - 1));
        const Expr bits = (*input_)(within(offsets_of(at, hewn::kGpuRank)[0], *input_)),
                   magnitude = bits & hewn::gpu::kMagnitude,
                   counts = index < count && magnitude <= hewn::gpu::kInfinity,
                   negative = (bits & u32(hewn::gpu::kSign)) != 0;
        return Tuple(select(counts && negative, magnitude, u32(0)),
                     select(counts && !negative, magnitude, u32(0)));
    }
};

// Form `parameters`: the scale and the zero point, each computed by one block of threads. The input
// is `sets` outputs of the form `ranges`, one after the other.
class DynamicQuantizeLinearParameters : public hewn::gpu::Launched<DynamicQuantizeLinearParameters>,
                                        public Types {
public:
    void configure() {
        ranges_ = add_input<Buffer<>>("ranges", UInt(32), 1);
        sets_ = add_input<int32_t>("sets");
        scale_ = add_output<Buffer<>>("scale", UInt(32), 1);
        const Type type = signature_type(1);
        zero_point_ = add_output<Buffer<>>(name_of("zero_point", type, false), type, 1);
    }

    void generate() {
        for (Side &side : sides_) side.reach = reach_of_sets();
        define(*scale_, sides_[0], UInt(32), [&](const Tuple &reach) { return scale(reach); });
        const Type type = signature_type(1);
        define(*zero_point_, sides_[1], type,
               [&](const Tuple &reach) { return zero_point(reach[0], scale(reach), type); });
    }

    void schedule() {
        bind(*ranges_, false);
        bind(*scale_, false);
        bind(*zero_point_, false);
        schedule(*scale_, sides_[0]);
        schedule(*zero_point_, sides_[1]);
    }

private:
    // What belongs to one of the two outputs.
    struct Side {
        std::unique_ptr<BlockReach> reach;
        RDom domain;
    };
    GeneratorInput<Buffer<>> *ranges_ = nullptr;
    GeneratorInput<int32_t> *sets_ = nullptr;
    GeneratorOutput<Buffer<>> *scale_ = nullptr, *zero_point_ = nullptr;
    const Var i_{"i"};
    Side sides_[2];

    std::unique_ptr<BlockReach> reach_of_sets() const {
        constexpr int blocks = hewn::kGpuRangeBlocks;
        static_assert(BlockReach::kLanes == blocks);
        const RDom set(0, Expr(*sets_), "e");
        return std::make_unique<BlockReach>(
            set, [&](const Tuple &reach, const Var &lane, const Var &) {
                const auto at = [&](int side) {
                    const Expr index = (set.x * 2 + side) * blocks + lane;
                    return (*ranges_)(unsafe_promise_clamped(index, 0, Expr(*sets_) * 2 * blocks));
                };
                return BlockReach::farther(reach, Tuple(at(0), at(1)));
            });
    }
    template<class Value>
    void define(Func output, Side &side, const Type &type, const Value &value) {
        side.domain = RDom(0, 1, 0, 1, "s");
        output(i_) = undef(type);
        output(side.domain.x) = value(side.reach->at(side.domain.y));
    }
    static void schedule(Func output, Side &side) {
        output.update()
            .allow_race_conditions()
            .gpu_blocks(side.domain.y)
            .gpu_threads(side.domain.x);
        side.reach->schedule(output, side.domain.y, side.domain.x);
    }

    hewn::gpu::Numerics numerics() const { return {target.value(), false}; }

    // RN(RN(below + above) / 255) of the two magnitudes; 1 where both are 0.
    Expr scale(const Tuple &reach) const {
        const Expr span = numerics().add(reach[0], reach[1], Float(32));
        return select(span == 0, u32(hewn::gpu::kOne),
                      numerics().quotient(span, hewn::gpu::as_u32(255.0f)));
    }
    // round(clamp(RN(Min + RN(below / scale)), Min, Max)); Min where that is NaN. For signed
    // outputs Min is -128, and the sum with a quotient below 64 rounds to a multiple of 2^-17, so
    // such a quotient is rounded to that first. With a larger quotient the sum is exact.
    Expr zero_point(const Expr &below, const Expr &scale, const Type &type) const {
        const Expr q = numerics().quotient(below, scale);
        Expr steps = hewn::gpu::rounded_integer(q);
        if (type.is_int()) {
            const Expr fine = hewn::gpu::rounded_integer(q + (17 << 23));
            const Expr small = q < hewn::gpu::as_u32(64.0f) && q >= (1 << 23);
            steps = select(small, hewn::gpu::shifted_down(fine, u32(17), Internal::const_false()),
                           steps);
        }
        const Expr most = u32(255);
        const Expr clamped =
            select(q > hewn::gpu::kInfinity, u32(0), q >= (140 << 23), most, min(steps, most));
        return cast(type, hewn::gpu::as_i32(clamped) + hewn::gpu::int32(type.min()));
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(DynamicQuantizeLinearRange, dynamic_quantize_linear_range)
HALIDE_REGISTER_GENERATOR(DynamicQuantizeLinearDivide, dynamic_quantize_linear_divide)
HALIDE_REGISTER_GENERATOR(DynamicQuantizeLinearRanges, dynamic_quantize_linear_ranges)
HALIDE_REGISTER_GENERATOR(DynamicQuantizeLinearParameters, dynamic_quantize_linear_parameters)
