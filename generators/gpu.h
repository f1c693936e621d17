// What all GPU kernels share: operands, the two forms, and the schedule. One source for CUDA,
// OpenCL and Direct3D 12. The forms dense, whose caller passes how many steps there are, and
// strided: docs/architecture.md#two-forms.
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

// What the specialisation of the form `strided` takes: what real layouts merge to.
constexpr int kFewDimensions = 3;

struct Operand {
    std::string name;
    Type type;
    bool varies;  // false: one element in every layout
};

enum class Form { Dense, Strided };

template<class Derived>
class Kernel : public Generator<Derived> {
public:
    template<class T>
    using Param = GeneratorParam<T>;

    Param<std::string> signature{"signature", ""};
    // dense: the layout that the form serves, one digit an input that varies: 1 packed, 0 one
    // element. strided: any.
    Param<std::string> layouts{"layouts", ""};

    // Hidden by an operator whose value is the sum of two operands of the output's type, which may
    // be taken by words.
    static constexpr bool is_sum = false;

    // Knob (tuning/, knobs.cmake): threads a block.
    Param<int> threads{"threads", 256};

    void configure() {
        operands_ = static_cast<Derived &>(*this).operands();
        output_type_ = operands_.back().type;
        operands_.pop_back();
        size_t digit = 0;
        for (const Operand &operand : operands_) {
            bool packed = false;
            if (dense() && operand.varies) packed = layouts.value().at(digit++) == '1';
            packed_.push_back(packed);
            inputs_.push_back(this->template add_input<Buffer<>>(
                name_of(operand.name, operand.type, packed), held_in(operand.type, packed), 1));
        }
        if (dense()) {
            steps_ = this->template add_input<int32_t>("steps");
        } else {
            const int operands = int(varying_count()) + 1;
            if (operands > kGpuOperands)
                throw CompileError("more tensors vary than kGpuOperands\n");
            for_each_strided_scalar(scalars_, operands,
                                    [&](auto &scalar, std::string name, auto... index) {
                                        ((name += "_" + std::to_string(index)), ...);
                                        add_scalar(scalar, name);
                                    });
        }
        output_ = this->template add_output<Buffer<>>(name_of("output", output_type_, dense()),
                                                      held_in(output_type_, dense()), 1);
    }

    void generate() {
        numerics_ = std::make_unique<Numerics>(this->target.value(), dense());
        if (dense()) generate_dense();
        else generate_strided();
    }

    void schedule() {
        for (size_t i = 0; i < inputs_.size(); i++) bind(*inputs_[i], packed_[i]);
        bind(*output_, dense());
        if (dense()) schedule_dense();
        else schedule_strided();
    }

protected:
    Type signature_type(int index) const {
        return type_of_signature(Derived::types(), signature.value(), index);
    }
    const Numerics &numerics() const { return *numerics_; }

private:
    std::vector<Operand> operands_;
    std::vector<bool> packed_;
    Type output_type_;
    std::vector<GeneratorInput<Buffer<>> *> inputs_;
    GeneratorOutput<Buffer<>> *output_ = nullptr;
    GeneratorInput<int32_t> *steps_ = nullptr;
    StridedScalars<GeneratorInput<int32_t> *, GeneratorInput<uint32_t> *> scalars_ = {};
    std::unique_ptr<Numerics> numerics_;
    Var i_{"i"};               // names are short: kernels are text
    std::vector<Func> words_;  // a step's words of the packed inputs, in registers
    Func results_{"results"};
    RDom domain_;

    bool dense() const { return Derived::form == Form::Dense; }
    bool is_for(Target::Feature api) const { return this->target.value().has_feature(api); }
    bool d3d12() const { return is_for(Target::D3D12Compute); }
    // 64-bit elements are pairs of words in the dense form, and in both on Direct3D 12, which has
    // no 64-bit integers.
    Type held_in(const Type &type, bool words) const {
        return words || (d3d12() && type.bits() == 64) ? UInt(32) : bits_type(type);
    }
    // Direct3D 12 has 32-bit accesses only: its shaders' build (tools/dxbc) learns from the name
    // how wide the elements are.
    std::string name_of(const std::string &name, const Type &type, bool words) const {
        return d3d12() && !words && type.bits() < 32 ? name + "_bits" + std::to_string(type.bits())
                                                     : name;
    }
    template<class T>
    void add_scalar(GeneratorInput<T> *&scalar, const std::string &name) {
        scalar = this->template add_input<T>(name);
    }
    size_t varying_count() const {
        return size_t(std::count_if(operands_.begin(), operands_.end(),
                                    [](const Operand &o) { return o.varies; }));
    }

    int step_elements() const {
        int bytes = output_type_.bytes();
        for (size_t i = 0; i < operands_.size(); i++) {
            if (packed_[i]) bytes = std::min(bytes, operands_[i].type.bytes());
        }
        return gpu_step_elements(bytes);
    }
    static int words_of(const Type &type, int elements) { return type.bytes() * elements / 4; }

    // OpenCL and Direct3D 12 have no pointers to device memory: an operand's offset in its memory
    // object is -min, in elements.
    template<class Buffer>
    void bind(Buffer &buffer, bool words) {
        if (!is_for(Target::OpenCL) && !d3d12()) {
            buffer.dim(0).set_min(0);
            if (words) buffer.set_host_alignment(16);
        }
        buffer.dim(0).set_stride(1);
    }

    // A thread for each index of `domain`, all of which write other elements. One guarded body, not
    // a second without the guard.
    void run_by_threads(Stage stage, const RVar &domain, const RVar &block, const RVar &thread) {
        stage.allow_race_conditions().split(domain, block, thread, threads,
                                            TailStrategy::GuardWithIf);
        stage.partition(block, Partition::Never)
            .partition(thread, Partition::Never)
            .gpu_blocks(block)
            .gpu_threads(thread);
    }

    // ---- dense ----

    // Element `index` of a step as its bits, from the step's words.
    static Expr element(const Func &words, const Expr &index, const Type &type) {
        const int per_word = 4 / type.bytes();
        if (per_word == 1) return reinterpret(bits_type(type), words(index));
        const Expr shifted =
            words(index / per_word) >> cast<uint32_t>(index % per_word * (8 * type.bytes()));
        return cast(bits_type(type), shifted);
    }

    void generate_dense() {
        for (size_t i = 0; i < inputs_.size(); i++) {
            Func words(operands_[i].name + "_words");
            if (packed_[i]) words(i_) = (*inputs_[i])(i_);
            words_.push_back(words);
        }
        if (adds_words()) {
            results_(i_) = sum_of_words();
        } else {
            const int per_word = 4 / output_type_.bytes();
            std::vector<Expr> bits;
            for (int j = 0; j < per_word; j++) {
                std::vector<Expr> values;
                for (size_t i = 0; i < inputs_.size(); i++) {
                    values.push_back(packed_[i]
                                         ? element(words_[i], i_ * per_word + j, operands_[i].type)
                                         : (*inputs_[i])(0));
                }
                bits.push_back(static_cast<Derived &>(*this).value(values));
            }
            results_(i_) = numerics().word(bits, output_type_);
        }
        // An update, because the first element of a pure definition's output is where its memory
        // begins (see bind).
        const int words = words_of(output_type_, step_elements());
        domain_ = RDom(0, words, 0, Expr(*steps_), "s");
        const Expr index = domain_.y * words + domain_.x;
        Func output = *output_;
        output(i_) = undef(UInt(32));
        output(index) = results_(index);
    }

    // Whether the sum is taken word by word.
    bool adds_words() const {
        return Derived::is_sum &&
               (output_type_.is_int() || (output_type_ == Float(16) && numerics().ieee));
    }

    // Words of a sum of f16 or of wrapping integers. Narrow integers: added without their top bits,
    // which a carry could leave, and those put in after.
    Expr sum_of_words() {
        const Func &a = words_[0], &b = words_[1];
        if (output_type_.is_float()) {
            const auto pair = [&](const Func &words) {
                return reinterpret(Float(16, 2), words(i_));
            };
            return reinterpret(UInt(32), pair(a) + pair(b));
        }
        switch (output_type_.bits()) {
        case 64: {
            const Expr low = i_ / 2 * 2, sum = a(low) + b(low);
            return select(i_ % 2 == 0, sum, a(i_) + b(i_) + cast<uint32_t>(sum < a(low)));
        }
        case 32: return a(i_) + b(i_);
        default: {
            const uint32_t top = output_type_.bits() == 16 ? 0x80008000 : 0x80808080;
            return ((a(i_) & u32(~top)) + (b(i_) & u32(~top))) ^ ((a(i_) ^ b(i_)) & u32(top));
        }
        }
    }

    void schedule_dense() {
        const int elements = step_elements(), words = words_of(output_type_, elements);
        Func output = *output_;
        RVar group("g"), lane("l"), block("b"), thread("t");
        Stage update = output.update();
        run_by_threads(update, domain_.y, block, thread);
        update.split(domain_.x, group, lane, 4)
            .vectorize(lane)
            .unroll(group)
            .reorder(lane, group, thread, block);
        results_.compute_at(output, thread).bound_extent(i_, words).store_in(MemoryType::Register);
        // PTX has no vector arithmetic. OpenCL C has, and is a quarter of the text with it.
        if (is_for(Target::OpenCL)) results_.vectorize(i_, 4, TailStrategy::RoundUp);
        results_.unroll(i_);
        for (size_t i = 0; i < words_.size(); i++) {
            if (!packed_[i]) continue;
            words_[i]
                .compute_at(output, thread)
                .bound_extent(i_, words_of(operands_[i].type, elements))
                .vectorize(i_, 4, TailStrategy::RoundUp)
                .unroll(i_)
                .store_in(MemoryType::Register);
        }
    }

    // ---- strided ----

    void generate_strided() {
        const bool pairs = d3d12() && output_type_.bits() == 64;  // of words
        if (pairs && !Derived::is_sum)
            throw CompileError("of 64 bits Direct3D 12 has sums alone\n");
        domain_ =
            pairs ? RDom(0, 2, 0, Expr(*scalars_.count), "e") : RDom(0, Expr(*scalars_.count), "e");
        const size_t count = varying_count() + 1;
        std::vector<Expr> offsets(count, u32(0));
        const auto few_dimensions = [&] { return Expr(*scalars_.rank) <= kFewDimensions; };
        Expr rest = cast<uint32_t>(pairs ? domain_.y : domain_.x);
        for (int d = 0; d < kGpuRank; d++) {
            Expr coordinate = rest;
            if (d < kGpuRank - 1) {
                const Expr size = *scalars_.size[d], multiplier = *scalars_.multiplier[d],
                           shift = *scalars_.shift[d];
                // rest / size, exact for rest < 2^31: see runtime/gpu/division.h, or divided where
                // there are no 64-bit integers.
                const Expr quotient =
                    d3d12() ? rest / size
                            : cast<uint32_t>((cast<uint64_t>(rest) * cast<uint64_t>(multiplier)) >>
                                             cast<uint64_t>(shift));
                coordinate = rest - quotient * size;
                if (d == kFewDimensions - 1)
                    coordinate = select(few_dimensions(), rest, coordinate);
                rest = quotient;
            }
            for (size_t o = 0; o < count; o++) {
                const Expr step = coordinate * Expr(*scalars_.stride[o][d]);
                offsets[o] = offsets[o] +
                             (d < kFewDimensions ? step : select(few_dimensions(), u32(0), step));
            }
        }
        // The runtime keeps offsets within the tensors.
        const auto within = [](const Expr &offset, auto &buffer) {
            return unsafe_promise_clamped(as_i32(offset), 0, buffer.dim(0).max());
        };
        if (pairs) {
            // The high word is stored first, whose carry needs the low ones: the output may stand
            // in place of an input.
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
            run_by_threads(stage, pairs ? domain_.y : domain_.x, RVar("b"), RVar("t"));
        };
        schedule(update.specialize(Expr(*scalars_.rank) <= kFewDimensions));
        schedule(update);
    }
};

}  // namespace hewn::gpu
