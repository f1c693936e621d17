// The base of all GPU kernels: operands, forms and schedules. One source serves CUDA, OpenCL and
// Direct3D 12. docs/architecture.md#forms-of-gpus describes the forms `dense`, `runs` and
// `strided`. The caller of `dense` passes the number of steps.
#pragma once

#include <Halide.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "../runtime/base/kernel_contract.h"
#include "numerics_gpu.h"
#include "signature.h"

namespace hewn::gpu {

struct Operand {
    std::string name;
    Type type;
    bool varies;  // false: one element in every layout
};

// The base of everything that is launched over one index: scalars, buffers and threads.
template<class Derived>
class Launched : public Generator<Derived> {
public:
    GeneratorParam<std::string> signature{"signature", ""};
    // The layout that a form by steps (`dense` or `runs`) serves: a digit for each input that
    // varies. 1: the input is read by words, as the output is written. 0: in `dense` the input is
    // one element; in `runs` it has any strides. Other forms serve any layout.
    GeneratorParam<std::string> layouts{"layouts", ""};

    // Knob (tuning/, lists/knobs.py): the threads of a block.
    GeneratorParam<int> threads{"threads", 256};

protected:
    // The scalars that take an element's index apart. They are null unless add_strided_scalars was
    // called.
    StridedScalars<GeneratorInput<int32_t> *, GeneratorInput<uint32_t> *> scalars_ = {};
    RVar block_{"b"}, thread_{"t"};

    bool is_for(Target::Feature api) const { return this->target.value().has_feature(api); }
    bool d3d12() const { return is_for(Target::D3D12Compute); }

    Type zero_point_type(int index) const {
        return zero_point_type_of_signature(Derived::types(), signature.value(), index);
    }
    Type signature_type(int index) const {
        return type_of_signature(Derived::types(), signature.value(), index);
    }

    // Adds the scalars for this many tensors that vary, the output among them.
    void add_strided_scalars(int operands) {
        if (operands > kGpuOperands) throw CompileError("more tensors vary than kGpuOperands\n");
        strided_count_ = size_t(operands);
        for_each_strided_scalar(scalars_, operands,
                                [&](auto &scalar, std::string name, auto... index) {
                                    ((name += "_" + std::to_string(index)), ...);
                                    add_scalar(scalar, name);
                                });
    }
    template<class T>
    void add_scalar(GeneratorInput<T> *&scalar, const std::string &name) {
        scalar = this->template add_input<T>(name);
    }

    // ---- Buffers ----

    // The name of a buffer, which is taken by words or by elements. Direct3D 12 has only 32-bit
    // accesses: the build of its shaders (tools/dxbc) learns from the name how wide narrower
    // elements are.
    std::string name_of(const std::string &name, const Type &type, bool words) const {
        return d3d12() && !words && type.bits() < 32 ? name + "_bits" + std::to_string(type.bits())
                                                     : name;
    }
    // Sets a buffer's bounds. OpenCL and Direct3D 12 have no pointers to device memory: there, -min
    // is the operand's offset in its memory object, in elements.
    template<class Buffer>
    void bind(Buffer &buffer, bool words) {
        if (!is_for(Target::OpenCL) && !d3d12()) {
            buffer.dim(0).set_min(0);
            if (words) buffer.set_host_alignment(16);
        }
        buffer.dim(0).set_stride(1);
    }

    // ---- Threads ----

    // Runs a thread for each index of `domain`. No two of them may write the same element. The body
    // is compiled once, with a guard, and not a second time without it.
    void run_by_threads(Stage stage, const RVar &domain) {
        stage.allow_race_conditions().split(domain, block_, thread_, threads,
                                            TailStrategy::GuardWithIf);
        stage.partition(block_, Partition::Never)
            .partition(thread_, Partition::Never)
            .gpu_blocks(block_)
            .gpu_threads(thread_);
    }

    // ---- Offsets of elements ----

    static Expr high_word(const Expr &a, const Expr &b) {
        return cast<uint32_t>((cast<uint64_t>(a) * cast<uint64_t>(b)) >> 32);
    }

    // The offset of the box's element `index` in each operand, in elements. The box has at most
    // this many dimensions.
    std::vector<Expr> offsets_of(const Expr &index, int dimensions) const {
        std::vector<Expr> offsets(strided_count_, u32(0));
        // Whether the box has only the first kFewGpuDimensions dimensions.
        const auto few = [&] { return Expr(*scalars_.rank) <= kFewGpuDimensions; };
        Expr rest = index;
        for (int d = 0; d < dimensions; d++) {
            Expr coordinate = rest;
            if (d < dimensions - 1) {
                const Expr size = *scalars_.size[d], multiplier = *scalars_.multiplier[d],
                           shift = *scalars_.shift[d];
                // rest / size for rest < 2^31, by an exact multiplication (runtime/gpu/division.h).
                // Direct3D 12, which has no 64-bit integers, divides.
                const Expr quotient =
                    d3d12() ? rest / size : high_word(rest * u32(2), multiplier) >> shift;
                coordinate = rest - quotient * size;
                if (d == kFewGpuDimensions - 1) coordinate = select(few(), rest, coordinate);
                rest = quotient;
            }
            for (size_t o = 0; o < strided_count_; o++) {
                const Expr step = coordinate * Expr(*scalars_.stride[o][d]);
                offsets[o] =
                    offsets[o] + (d < kFewGpuDimensions ? step : select(few(), u32(0), step));
            }
        }
        return offsets;
    }
    // The offset as an index. Halide may rely on it, as the runtime keeps offsets within tensors.
    template<class Buffer>
    static Expr within(const Expr &offset, Buffer &buffer) {
        return unsafe_promise_clamped(as_i32(offset), 0, buffer.dim(0).max());
    }

private:
    size_t strided_count_ = 0;  // how many operands scalars_ has strides for
};

enum class Form { Dense, Runs, Strided };

// The base of the kernels that compute an element of the output from one element of each input. An
// operator's class has `form`, `operands()`, with the output last, and `value(inputs' elements)`.
template<class Derived>
class Kernel : public Launched<Derived> {
    using Base = Launched<Derived>;
    using Base::layouts, Base::scalars_, Base::block_, Base::thread_, Base::is_for, Base::d3d12,
        Base::name_of, Base::bind, Base::run_by_threads, Base::offsets_of, Base::within;

public:
    // An operator hides this by `true` if its value is the sum of two operands of the output's
    // type. Such sums may be computed word by word.
    static constexpr bool is_sum = false;
    // An operator hides this by `true` if its scales do not vary.
    static constexpr bool has_one_scale = false;

    // An operator hides this if its kernels take further scalars.
    void add_numbers() {}

    void configure() {
        operands_ = static_cast<Derived &>(*this).operands();
        output_type_ = operands_.back().type;
        operands_.pop_back();
        size_t digit = 0;
        for (const Operand &operand : operands_) {
            bool by_words = false;
            if (has_steps() && operand.varies) by_words = layouts.value().at(digit++) == '1';
            by_words_.push_back(by_words);
            inputs_.push_back(this->template add_input<Buffer<>>(
                name_of(operand.name, operand.type, by_words), held_in(operand.type, by_words), 1));
        }
        static_cast<Derived &>(*this).add_numbers();
        if (dense()) {
            steps_ = this->template add_input<int32_t>("steps");
        } else {
            this->add_strided_scalars(int(varying_count()) + 1);
        }
        output_ = this->template add_output<Buffer<>>(name_of("output", output_type_, has_steps()),
                                                      held_in(output_type_, has_steps()), 1);
    }

    void generate() {
        const bool one_scale = dense() || (has_steps() && Derived::has_one_scale);
        numerics_ = std::make_unique<Numerics>(this->target.value(), one_scale);
        if (has_steps()) generate_steps();
        else generate_strided();
    }

    void schedule() {
        for (size_t i = 0; i < inputs_.size(); i++) bind(*inputs_[i], by_words_[i]);
        bind(*output_, has_steps());
        if (has_steps()) schedule_steps();
        else schedule_strided();
    }

protected:
    const Numerics &numerics() const { return *numerics_; }

private:
    std::vector<Operand> operands_;
    std::vector<bool> by_words_;
    Type output_type_;
    std::vector<GeneratorInput<Buffer<>> *> inputs_;
    GeneratorOutput<Buffer<>> *output_ = nullptr;
    GeneratorInput<int32_t> *steps_ = nullptr;
    std::unique_ptr<Numerics> numerics_;
    // i: a word or an element. s: a step. The names are short because the library holds kernels as
    // text.
    Var i_{"i"}, s_{"s"};
    // For each input that is taken by words: the words of a step, in registers.
    std::vector<Func> words_;
    Func results_{"results"};
    RDom domain_;

    bool dense() const { return Derived::form == Form::Dense; }
    bool has_steps() const { return Derived::form != Form::Strided; }
    // The type of a buffer. 64-bit elements are pairs of words in forms with steps, and everywhere
    // on Direct3D 12, which has no 64-bit integers.
    Type held_in(const Type &type, bool words) const {
        return words || ((has_steps() || d3d12()) && type.bits() == 64) ? UInt(32)
                                                                        : bits_type(type);
    }
    size_t varying_count() const {
        return size_t(std::count_if(operands_.begin(), operands_.end(),
                                    [](const Operand &o) { return o.varies; }));
    }

    int step_elements() const {
        int bytes = output_type_.bytes();
        for (size_t i = 0; i < operands_.size(); i++) {
            if (by_words_[i]) bytes = std::max(bytes, operands_[i].type.bytes());
        }
        return gpu_step_elements(bytes);
    }
    int step_words(const Type &type) const { return words_of(type, step_elements()); }
    static int words_of(const Type &type, int elements) { return type.bytes() * elements / 4; }

    // ---- dense and runs: by steps ----

    // The bits of a step's element `index`, from the step's words.
    Expr element(const Func &words, const Expr &index, const Type &type) const {
        const int per_word = 4 / type.bytes();
        if (per_word == 1) return reinterpret(bits_type(type), words(index, s_));
        const Expr shifted =
            words(index / per_word, s_) >> cast<uint32_t>(index % per_word * (8 * type.bytes()));
        return cast(bits_type(type), shifted);
    }

    Expr first_element() const { return cast<uint32_t>(s_) * u32(uint32_t(step_elements())); }

    // Whether rows are whole steps. The elements of a step are then one stride apart.
    Expr rows_are_steps() const {
        return Expr(*scalars_.size[0]) % u32(uint32_t(step_elements())) == 0;
    }
    Expr offset_of_step(size_t varying) const {
        return offsets_of(first_element(), kFewGpuDimensions)[varying];
    }
    // At step s_: the number of the step in the memory of an operand that is taken by words.
    Expr own_step(size_t varying) const {
        if (dense()) return s_;
        const Expr step = offset_of_step(varying) / u32(uint32_t(step_elements()));
        // The runtime keeps indices of elements and of words, of which a step has 4, below 2^30.
        const int steps = (1 << 30) / std::max(step_elements(), 4);
        return unsafe_promise_clamped(select(rows_are_steps(), as_i32(step), s_), 0, steps - 1);
    }
    // The offset of a step's element `index` in an operand that is not taken by words.
    Expr offset_in_step(size_t varying, const Expr &index) const {
        const Expr i = cast<uint32_t>(index);
        return select(rows_are_steps(),
                      offset_of_step(varying) + i * Expr(*scalars_.stride[varying][0]),
                      offsets_of(first_element() + i, kContiguousGpuRank)[varying]);
    }

    // How many of the inputs before this one vary.
    size_t varying_before(size_t input) const {
        return size_t(std::count_if(operands_.begin(), operands_.begin() + long(input),
                                    [](const Operand &o) { return o.varies; }));
    }

    // The step's element `index` of an input.
    Expr element_of(size_t input, const Expr &index) const {
        auto &buffer = *inputs_[input];
        const Operand &operand = operands_[input];
        if (by_words_[input]) return element(words_[input], index, operand.type);
        if (dense() || !operand.varies) return buffer(0);
        return buffer(within(offset_in_step(varying_before(input), index), buffer));
    }
    // The step's word i_ of an input.
    Expr word_of(size_t input) const {
        if (by_words_[input]) return words_[input](i_, s_);
        auto &buffer = *inputs_[input];
        const Type type = operands_[input].type;
        if (type.bits() == 64) {
            const Expr offset = offset_in_step(varying_before(input), i_ / 2);
            return buffer(within(offset * u32(2) + cast<uint32_t>(i_ % 2), buffer));
        }
        return word_of_elements(type, [&](const Expr &index) { return element_of(input, index); });
    }
    template<class ElementAt>
    Expr word_of_elements(const Type &type, const ElementAt &element_at) const {
        const int per_word = 4 / type.bytes();
        std::vector<Expr> elements;
        for (int j = 0; j < per_word; j++) elements.push_back(element_at(i_ * per_word + j));
        return numerics().word(elements, type);
    }

    void generate_steps() {
        for (size_t i = 0; i < inputs_.size(); i++) {
            Func words(operands_[i].name + "_words");
            if (by_words_[i]) {
                const Type type = operands_[i].type;
                words(i_, s_) = (*inputs_[i])(own_step(varying_before(i)) * step_words(type) + i_);
            }
            words_.push_back(words);
        }
        results_(i_, s_) =
            adds_words() ? sum_of_words() : word_of_elements(output_type_, [&](const Expr &index) {
                std::vector<Expr> values;
                for (size_t i = 0; i < inputs_.size(); i++) values.push_back(element_of(i, index));
                return static_cast<Derived &>(*this).value(values);
            });
        // The output is written by an update: a pure definition would begin at the output's min,
        // which is where the memory object begins (see bind).
        const int words = step_words(output_type_);
        domain_ = RDom(0, words, 0, Expr(dense() ? *steps_ : *scalars_.count), "s");
        const Expr step = Internal::substitute(s_.name(), domain_.y, own_step(varying_count()));
        Func output = *output_;
        output(i_) = undef(UInt(32));
        output(step * words + domain_.x) = results_(domain_.x, domain_.y);
    }

    // Whether the sum is computed word by word.
    bool adds_words() const {
        return Derived::is_sum &&
               (output_type_.is_int() || (output_type_ == Float(16) && numerics().ieee));
    }

    // Word i_ of a sum of f16 or of wrapping integers. Narrow integers are added without their top
    // bits, so that no carry leaves an element; their top bits are put in afterwards.
    Expr sum_of_words() {
        const Expr a = word_of(0), b = word_of(1);
        if (output_type_.is_float()) {
            const auto pair = [&](const Expr &word) { return reinterpret(Float(16, 2), word); };
            return reinterpret(UInt(32), pair(a) + pair(b));
        }
        switch (output_type_.bits()) {
        case 64: {
            const auto low = [&](const Expr &word) {
                return Internal::substitute(i_.name(), i_ / 2 * 2, word);
            };
            const Expr carry = cast<uint32_t>(low(a) + low(b) < low(a));
            return a + b + select(i_ % 2 == 0, u32(0), carry);
        }
        case 32: return a + b;
        default: {
            const uint32_t top = output_type_.bits() == 16 ? 0x80008000 : 0x80808080;
            return ((a & u32(~top)) + (b & u32(~top))) ^ ((a ^ b) & u32(top));
        }
        }
    }

    void schedule_steps() {
        Func output = *output_;
        Stage update = output.update();
        if (!dense()) schedule_steps(update.specialize(rows_are_steps()));
        schedule_steps(update);
        const int words = step_words(output_type_);
        results_.compute_at(output, thread_).bound_extent(i_, words).store_in(MemoryType::Register);
        // OpenCL C has vector arithmetic, with which the text is a quarter as long. PTX has none.
        if (dense() && is_for(Target::OpenCL))
            results_.vectorize(i_, lanes(words), TailStrategy::RoundUp);
        results_.unroll(i_);
        for (size_t i = 0; i < words_.size(); i++) {
            if (!by_words_[i]) continue;
            const int input_words = step_words(operands_[i].type);
            words_[i]
                .compute_at(output, thread_)
                .bound_extent(i_, input_words)
                .vectorize(i_, lanes(input_words), TailStrategy::RoundUp)
                .unroll(i_)
                .store_in(MemoryType::Register);
        }
    }
    void schedule_steps(Stage stage) {
        RVar group("g"), lane("l");
        run_by_threads(stage, domain_.y);
        stage.split(domain_.x, group, lane, lanes(step_words(output_type_)))
            .vectorize(lane)
            .unroll(group)
            .reorder(lane, group, thread_, block_);
    }
    // Words in one access.
    static int lanes(int words) { return std::min(words, 4); }

    // ---- strided ----

    void generate_strided() {
        const bool pairs = d3d12() && output_type_.bits() == 64;  // elements are pairs of words
        if (pairs && !Derived::is_sum)
            throw CompileError("Direct3D 12: of 64-bit elements only sums are supported\n");
        domain_ =
            pairs ? RDom(0, 2, 0, Expr(*scalars_.count), "e") : RDom(0, Expr(*scalars_.count), "e");
        const std::vector<Expr> offsets =
            offsets_of(cast<uint32_t>(pairs ? domain_.y : domain_.x), kGpuRank);
        if (pairs) {
            // The high word is stored first: its carry needs the inputs' low words, which the
            // output may overwrite, as it may lie on an input.
            const Expr w = 1 - domain_.x;
            const auto at = [&](const Expr &offset, const Expr &word, auto &buffer) {
                return within(offset * u32(2) + cast<uint32_t>(word), buffer);
            };
            const auto input = [&](size_t i, int word) {
                return (*inputs_[i])(at(offsets[i], word, *inputs_[i]));
            };
            const Expr low = input(0, 0) + input(1, 0),
                       high = input(0, 1) + input(1, 1) + cast<uint32_t>(low < input(0, 0));
            Func output = *output_;
            output(i_) = undef(UInt(32));
            output(at(offsets[2], w, *output_)) = select(w == 0, low, high);
            return;
        }
        std::vector<Expr> values;
        size_t o = 0;
        for (size_t i = 0; i < inputs_.size(); i++)
            values.push_back(
                (*inputs_[i])(operands_[i].varies ? within(offsets[o++], *inputs_[i]) : Expr(0)));
        Func output = *output_;
        output(i_) = undef(bits_type(output_type_));
        output(within(offsets[o], *output_)) = static_cast<Derived &>(*this).value(values);
    }

    void schedule_strided() {
        Func output = *output_;
        Stage update = output.update();
        const auto schedule = [&](Stage stage) {
            const bool pairs = domain_.dimensions() == 2;
            if (pairs) stage.unroll(domain_.x);
            run_by_threads(stage, pairs ? domain_.y : domain_.x);
        };
        schedule(update.specialize(Expr(*scalars_.rank) <= kFewGpuDimensions));
        schedule(update);
    }
};

}  // namespace hewn::gpu
