#include "operation.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

namespace hewn_ort {

namespace {

int64_t product(const int64_t *begin, const int64_t *end) {
    return std::accumulate(begin, end, int64_t(1), std::multiplies<>());
}

void check(hewn_status status, const hewn_error &error) {
    if (status != HEWN_STATUS_OK) throw Failure(std::string("hewn: ") + error.message);
}

[[noreturn]] void refuse(const std::string &message) {
    throw Failure(message, ORT_INVALID_ARGUMENT);
}

// Runs hewn's slices on ONNX Runtime's threads.
struct Executor {
    const Ort &ort;
    OrtKernelContext *context;

    static void HEWN_CALL parallel_for(void *self, int32_t count, hewn_slice_fn fn, void *arg) {
        struct Call {
            hewn_slice_fn fn;
            void *arg;
        } call = {fn, arg};
        const auto run = [](void *c, size_t i) {
            static_cast<Call *>(c)->fn(static_cast<Call *>(c)->arg, int32_t(i));
        };
        const Executor &executor = *static_cast<const Executor *>(self);
        const OrtApi &api = executor.ort.api;
        OrtStatus *const refused =
            api.KernelContext_ParallelFor(executor.context, run, size_t(count), 0, &call);
        if (!refused) return;
        api.ReleaseStatus(refused);
        // ONNX Runtime refused before it ran anything, so all slices run here.
        for (int32_t i = 0; i < count; i++) fn(arg, i);
    }
};

// ---- From shapes to layouts ----

// The part of an operation that one of hewn's operators computes.
struct Part {
    struct Dimension {
        int64_t size;
        // The stride of each tensor, in elements.
        std::array<int64_t, kMaxTensors> strides;
        // The number of neighbouring elements that share a scale and a zero point.
        int64_t block = 1;
    };
    // The outermost dimension is first.
    std::vector<Dimension> dimensions;
    // The first element of each tensor that belongs to this part.
    std::array<int64_t, kMaxTensors> first = {};
};

std::vector<int64_t> shape_of(const Input &input) { return {input.dims, input.dims + input.rank}; }

std::string text_of(const std::vector<int64_t> &shape) {
    std::string text;
    for (const int64_t size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
    return '[' + text + ']';
}

// Whether the shape is that of a single scale or zero point. [1, 1] is not: in ONNX it would mean
// blocks.
bool is_scalar(const Input &input) {
    return input.rank == 0 || (input.rank == 1 && input.dims[0] == 1);
}

// The shape to which the inputs are broadcast by NumPy's rule.
std::vector<int64_t> broadcast(const std::vector<Input> &inputs) {
    std::vector<int64_t> sizes;  // innermost first
    for (const Input &input : inputs) {
        sizes.resize(std::max(sizes.size(), input.rank), 1);
        for (size_t k = 0; k < input.rank; k++) {
            const int64_t size = input.dims[input.rank - 1 - k];
            if (size != sizes[k] && size != 1 && sizes[k] != 1)
                refuse("the inputs' shapes cannot be broadcast");
            if (size != 1) sizes[k] = size;
        }
    }
    std::reverse(sizes.begin(), sizes.end());
    return sizes;
}

// Decides, from the shapes of the inputs, the output's shape and how all tensors lie over it.
class Shaper {
public:
    Shaper(const Description &description, const Input *inputs)
        : description_(description), op_(*description.op), inputs_(inputs) {
        check_parameters();
        std::vector<Input> data;
        for (size_t i = 0; i < op_.inputs; i++) {
            if (op_.is_data(i)) data.push_back(inputs[i]);
        }
        output_ = broadcast(data);
    }
    const std::vector<int64_t> &output() const { return output_; }

    // The operation as one part, which may have more dimensions than hewn takes. Nothing if there
    // is nothing to compute, because the only output is empty.
    std::optional<Part> all() const {
        if (product(output_.data(), output_.data() + output_.size()) == 0) return empty();
        if (!scale() || scale()->elements() == 1) return whole();
        return description_.block_size == 0 ? along_axis() : in_blocks();
    }

private:
    const Description &description_;
    const Operator &op_;
    const Input *const inputs_;
    std::vector<int64_t> output_;

    // The scale that may have several elements. Null if the operator has none.
    const Input *scale() const { return op_.is_sized_parameter(1) ? &inputs_[1] : nullptr; }

    // Scales and zero points must have the shapes that ONNX prescribes. As in the CPU provider,
    // others are refused even if their number of elements would fit.
    void check_parameters() const {
        for (size_t i = 0; i < op_.inputs; i++) {
            if (op_.is_data(i) || description_.types[i] == HEWN_DATA_TYPE_UNKNOWN) continue;
            if (op_.tensors[i].one_element) {
                if (!is_scalar(inputs_[i])) refuse_shape(i, "[] or [1]");
            } else if (&inputs_[i] == scale()) {
                check_scale();
            } else {
                check_zero_point(i);
            }
        }
    }
    void check_scale() const {
        const int64_t block = description_.block_size;
        if (block < 0) refuse("block_size: " + std::to_string(block) + ", expected 0 or more");
        if (block == 0 && is_scalar(*scale())) return;
        const int64_t size = axis().size;
        std::vector<int64_t> expected = {size};
        if (block > 0) {
            expected = shape_of(inputs_[0]);
            expected[size_t(axis_number())] = blocks_of(size);
        }
        if (shape_of(*scale()) == expected) return;
        const std::string of_axis = " (axis " + std::to_string(description_.axis) + " of " +
                                    op_.tensors[0].name + " has " + std::to_string(size);
        if (block == 0) refuse_shape(1, "[], [1] or " + text_of(expected) + of_axis + ')');
        refuse_shape(
            1, text_of(expected) + of_axis + ", block_size is " + std::to_string(block) + ')');
    }
    void check_zero_point(size_t i) const {
        if (shape_of(inputs_[i]) == shape_of(*scale())) return;
        if (description_.block_size == 0 && is_scalar(*scale())) {
            if (!is_scalar(inputs_[i])) refuse_shape(i, "[] or [1], as there is one scale");
        } else {
            refuse_shape(i, "the scale's, " + text_of(shape_of(*scale())));
        }
    }
    [[noreturn]] void refuse_shape(size_t i, const std::string &expected) const {
        refuse(std::string(op_.tensors[i].name) + ": shape " + text_of(shape_of(inputs_[i])) +
               ", expected " + expected);
    }

    // The part of an operation on an empty input. An operator with several outputs must run,
    // because the scale and the zero point of no elements have values too.
    std::optional<Part> empty() const {
        if (op_.outputs == 1) return {};
        return Part{{{0, {}}}};
    }

    // The part of an operation whose scales and zero points have one element. Inputs are broadcast.
    // Neighbouring dimensions are merged if all tensors step through them as through one.
    Part whole() const {
        Part part;
        std::array<int64_t, kMaxTensors> step;
        step.fill(1);
        for (size_t k = 0; k < output_.size(); k++) {  // from the innermost on
            Part::Dimension dimension = {output_[output_.size() - 1 - k], {}};
            for (size_t t = 0; t < op_.tensor_count(); t++) {
                const int64_t size = size_of(t, k);
                dimension.strides[t] = size == 1 ? 0 : step[t];
                step[t] *= size;
            }
            if (dimension.size != 1) add(dimension, part);
        }
        std::reverse(part.dimensions.begin(), part.dimensions.end());
        return part;
    }
    // The size of tensor t in dimension k, counted from the innermost.
    int64_t size_of(size_t t, size_t k) const {
        if (op_.is_computed_parameter(t)) return 1;
        if (op_.is_output(t)) return output_[output_.size() - 1 - k];
        const Input &input = inputs_[t];
        return op_.is_data(t) && k < input.rank ? input.dims[input.rank - 1 - k] : 1;
    }
    void add(const Part::Dimension &outer, Part &part) const {
        bool continues = !part.dimensions.empty();
        for (size_t t = 0; t < op_.tensor_count() && continues; t++) {
            const Part::Dimension &inner = part.dimensions.back();
            continues = outer.strides[t] == inner.strides[t] * inner.size;
        }
        if (continues) part.dimensions.back().size *= outer.size;
        else part.dimensions.push_back(outer);
    }

    // The input's shape as three dimensions, of which `size` is the axis.
    struct Axis {
        int64_t outer, size, inner;
    };
    // The axis, counted from the outermost dimension.
    int64_t axis_number() const {
        const int64_t rank = int64_t(inputs_[0].rank), given = description_.axis,
                      axis = given < 0 ? given + rank : given;
        if (axis < 0 || axis >= rank)
            refuse("axis: " + std::to_string(given) + ", expected one of the " +
                   std::to_string(rank) + " of " + op_.tensors[0].name);
        return axis;
    }
    int64_t blocks_of(int64_t size) const {
        const int64_t block = description_.block_size;
        return size / block + (size % block != 0);
    }
    Axis axis() const {
        const Input &x = inputs_[0];
        const int64_t axis = axis_number();
        return {product(x.dims, x.dims + axis), x.dims[axis],
                product(x.dims + axis + 1, x.dims + x.rank)};
    }

    // A dimension with one stride for the data and one for the scale and the zero point.
    Part::Dimension dimension(int64_t size, int64_t data, int64_t parameter) const {
        Part::Dimension dimension = {size, {}};
        for (size_t t = 0; t < op_.tensor_count(); t++)
            dimension.strides[t] = op_.is_sized_parameter(t) ? parameter : data;
        return dimension;
    }

    Part along_axis() const {
        const Axis x = axis();
        return {{dimension(x.outer, x.size * x.inner, 0), dimension(x.size, x.inner, 1),
                 dimension(x.inner, 1, 0)}};
    }

    // The part of an operation in blocks. The last block along the axis may be short.
    Part in_blocks() const {
        const Axis x = axis();
        Part part = {{dimension(x.outer, x.size * x.inner, blocks_of(x.size) * x.inner),
                      dimension(x.size, x.inner, x.inner), dimension(x.inner, 1, 1)}};
        part.dimensions[1].block = description_.block_size;
        return part;
    }
};

}  // namespace

// ---- Plans ----

namespace {

// The addresses of the inputs that a run passes, followed by those of the outputs.
using Memory = std::array<const void *, kMaxTensors>;

using BoundOperator = std::unique_ptr<hewn_bound_operator, void (*)(hewn_bound_operator *)>;

}  // namespace

// hewn's operators for one set of shapes. The time of a small node depends on the number of cache
// lines that it reads, so the members that each run reads come first.
//
// Most nodes are run with the same memory again. A plan therefore binds its operators to the memory
// of the last run once that occurs twice in a row: bound operators read only a third of the cache
// lines. Only one thread at a time can use them; other threads execute without binding.
struct Plan {
    // The shapes of the inputs that each run passes: the rank, then the sizes.
    std::vector<int64_t> shapes;
    // The sizes of the first output. Other outputs have one element.
    std::vector<int64_t> output;
    size_t outputs = 0;

    struct Part {
        std::shared_ptr<hewn_operator> op;
        // The bindings of all tensors, without the buffers.
        std::vector<hewn_buffer_binding> bindings;
    };
    // Whether a thread uses `executor`, `bound` and `last`.
    mutable std::atomic<bool> taken{false};
    mutable Executor executor;
    std::vector<Part> parts;
    // The operators, bound to the memory of `last`. Empty until that memory is met twice.
    mutable std::vector<BoundOperator> bound;
    // The memory of the last run.
    mutable Memory last = {};
    // The operator's inputs that each run passes.
    std::vector<size_t> operands;

    explicit Plan(const Ort &ort) : executor{ort, nullptr} {}

    // Whether the plan is for these shapes.
    bool fits(const Input *passed) const;
    void run(const Memory &memory, OrtKernelContext *context) const;

private:
    size_t memory_count() const { return operands.size() + outputs; }
    bool is_last(const Memory &memory) const;
    void bind() const;
    template<class Call>
    void each_part(const Memory &memory, Executor &runner, Call &&call) const;
};

namespace {

// Makes a Plan.
class Planner {
public:
    Planner(const Ort &ort, const Description &description, const Settings &settings,
            const Input *inputs)
        : description_(description),
          settings_(settings),
          inputs_(inputs),
          shaper_(description, inputs),
          tensors_(description.op->tensor_count()),
          plan_(std::make_unique<Plan>(ort)) {}

    std::unique_ptr<const Plan> make(const std::vector<size_t> &operands) {
        plan_->operands = operands;
        plan_->output = shaper_.output();
        plan_->outputs = description_.op->outputs;
        for (const size_t i : operands) {
            const Input &input = inputs_[i];
            plan_->shapes.push_back(int64_t(input.rank));
            plan_->shapes.insert(plan_->shapes.end(), input.dims, input.dims + input.rank);
        }
        if (const std::optional<Part> part = shaper_.all()) add(*part);
        return std::move(plan_);
    }

private:
    const Description &description_;
    const Settings &settings_;
    const Input *const inputs_;
    const Shaper shaper_;
    const size_t tensors_;
    std::unique_ptr<Plan> plan_;

    // Adds the part. If it has more dimensions than hewn takes, it is split along its outermost
    // one.
    void add(Part part) {
        if (part.dimensions.size() <= HEWN_DIMENSION_COUNT_MAX) return compile(part);
        const Part::Dimension outermost = part.dimensions.front();
        part.dimensions.erase(part.dimensions.begin());
        for (int64_t i = 0; i < outermost.size; i++) {
            add(part);
            for (size_t t = 0; t < tensors_; t++) part.first[t] += outermost.strides[t];
        }
    }

    void compile(const Part &part) {
        Plan::Part compiled = {};
        hewn_buffer_binding constants[kMaxTensors];
        for (size_t t = 0; t < tensors_; t++) {
            constants[t] = binding(t, part.first[t]);
            compiled.bindings.push_back(constants[t]);
            if (is_constant(t)) constants[t].buffer = const_cast<void *>(inputs_[t].data);
        }
        hewn_compile_options options = {};
        options.struct_size = sizeof options;
        options.variant = settings_.target.c_str();
        options.max_threads = settings_.max_threads;
        options.parallel_for = &Executor::parallel_for;  // each execution passes its own context
        options.constants = constants;
        options.constant_count = uint32_t(description_.op->inputs);
        compiled.op = {compile(part, options), hewn_destroy_operator};
        plan_->parts.push_back(std::move(compiled));
    }
    bool is_output(size_t t) const { return description_.op->is_output(t); }
    bool is_constant(size_t t) const { return !is_output(t) && description_.constants[t]; }
    int64_t elements_of(size_t t) const {
        if (!is_output(t)) return inputs_[t].elements();
        const std::vector<int64_t> &output = shaper_.output();
        return description_.op->is_computed_parameter(t)
                   ? 1
                   : product(output.data(), output.data() + output.size());
    }
    hewn_buffer_binding binding(size_t t, int64_t first) const {
        const hewn_data_type type = description_.types[t];
        if (type == HEWN_DATA_TYPE_UNKNOWN) return {sizeof(hewn_buffer_binding), nullptr, 0, 0};
        const uint64_t skipped = bytes_of(type, first);
        if (bytes_of(type, 8 * first) != 8 * skipped)
            refuse("a part of a sub-byte tensor of more than 8 dimensions begins within a byte");
        return {sizeof(hewn_buffer_binding), nullptr, skipped,
                bytes_of(type, elements_of(t)) - skipped};
    }

    hewn_operator *compile(const Part &part, const hewn_compile_options &options) const {
        const Operator &op = *description_.op;
        std::vector<int64_t> sizes, block_sizes, strides[kMaxTensors];
        hewn_tensor_desc tensors[kMaxTensors];
        AnyDesc desc(op, description_.attributes);
        for (const Part::Dimension &dimension : part.dimensions) {
            sizes.push_back(dimension.size);
            block_sizes.push_back(dimension.block);
            for (size_t t = 0; t < tensors_; t++) strides[t].push_back(dimension.strides[t]);
        }
        const std::vector<int64_t> ones(sizes.size(), 1);
        for (size_t t = 0; t < tensors_; t++) {
            const int64_t *const own = op.is_computed_parameter(t) ? ones.data() : sizes.data();
            tensors[t] = {sizeof tensors[t],      description_.types[t],
                          uint32_t(sizes.size()), own,
                          strides[t].data(),      nullptr};
            if (op.is_sized_parameter(t)) tensors[t].block_sizes = block_sizes.data();
            if (tensors[t].data_type != HEWN_DATA_TYPE_UNKNOWN) desc.set(t, tensors[t]);
        }
        hewn_error error = {sizeof error, HEWN_STATUS_OK, ""};
        hewn_operator *compiled = nullptr;
        check(hewn_compile(nullptr, desc.get(), &options, &compiled, &error), error);
        return compiled;
    }
};

}  // namespace

bool Plan::fits(const Input *passed) const {
    const int64_t *at = shapes.data(), *const end = at + shapes.size();
    for (; at < end; passed++) {
        if (*at++ != int64_t(passed->rank)) return false;
        for (size_t k = 0; k < passed->rank; k++) {  // memcmp() would be a call
            if (passed->dims[k] != *at++) return false;
        }
    }
    return true;
}

template<class Call>
void Plan::each_part(const Memory &memory, Executor &runner, Call &&call) const {
    const hewn_execute_options options = {sizeof options, 0, &Executor::parallel_for, &runner, 1};
    hewn_error error;
    error.struct_size = sizeof error;
    for (const Part &part : parts) {
        hewn_buffer_binding bindings[kMaxTensors];
        const size_t inputs = part.bindings.size() - outputs;
        std::copy_n(part.bindings.data(), part.bindings.size(), bindings);
        for (size_t k = 0; k < memory_count(); k++) {
            const bool is_input = k < operands.size();
            const size_t t = is_input ? operands[k] : inputs + k - operands.size();
            bindings[t].buffer = const_cast<void *>(memory[k]);
        }
        check(call(part.op.get(), bindings, uint32_t(inputs), &bindings[inputs], uint32_t(outputs),
                   &options, &error),
              error);
    }
}

void Plan::bind() const {
    each_part(last, executor,
              [&](auto op, auto inputs, uint32_t count, auto results, uint32_t result_count,
                  auto options, hewn_error *error) {
                  hewn_bound_operator *made = nullptr;
                  const hewn_status status =
                      hewn_bind(op, inputs, count, results, result_count, options, &made, error);
                  bound.emplace_back(made, hewn_destroy_bound_operator);
                  return status;
              });
}

bool Plan::is_last(const Memory &memory) const {
    bool same = true;
    for (size_t k = 0; k < memory_count(); k++) {
        same &= last[k] == memory[k];
        last[k] = memory[k];
    }
    return same;
}

void Plan::run(const Memory &memory, OrtKernelContext *context) const {
    Executor own = {executor.ort, context};
    if (taken.exchange(true, std::memory_order_acquire))
        return each_part(memory, own, hewn_execute);
    struct Turn {
        const Plan &plan;
        ~Turn() { plan.taken.store(false, std::memory_order_release); }
    } const turn = {*this};
    if (!is_last(memory)) {
        bound.clear();
        return each_part(memory, own, hewn_execute);
    }
    executor.context = context;
    if (bound.empty()) bind();
    hewn_error error;
    error.struct_size = sizeof error;
    for (const BoundOperator &part : bound) check(hewn_run(part.get(), &error), error);
}

// ---- Operations ----

int64_t Input::elements() const { return product(dims, dims + rank); }

Constant::Constant(const Ort &ort, const OrtValue *value) {
    Input input = {};
    ONNXTensorElementDataType type;
    ort(&OrtApi::GetTensorElementTypeAndShapeDataReference, value, &type, &input.dims, &input.rank);
    ort(&OrtApi::GetTensorData, value, &input.data);
    dims.assign(input.dims, input.dims + input.rank);
    const auto *const data = static_cast<const std::byte *>(input.data);
    bytes.assign(data, data + bytes_of(hewn_type(type), input.elements()));
}

Operation::Operation(const Ort &ort, Description description, Settings settings)
    : ort_(ort), description_(std::move(description)), settings_(std::move(settings)) {
    for (size_t i = 0; i < description_.op->inputs; i++) {
        if (description_.passed[i] == Description::kAbsent) continue;
        passed_.push_back(size_t(description_.passed[i]));
        operands_.push_back(i);
    }
}

Operation::~Operation() {
    for (const std::atomic<const Plan *> &plan : plans_) delete plan.load();
}

void Operation::read(const OrtKernelContext *context, Inputs &passed) const {
    Input *input = passed.data();
    for (const size_t number : passed_) {
        const OrtValue *value;
        ONNXTensorElementDataType type;
        ort_(&OrtApi::KernelContext_GetInput, context, number, &value);
        ort_(&OrtApi::GetTensorElementTypeAndShapeDataReference, value, &type, &input->dims,
             &input->rank);
        ort_(&OrtApi::GetTensorData, value, &input->data);
        input++;
    }
}

std::unique_ptr<const Plan> Operation::make_plan(const Inputs &passed) const {
    Inputs inputs = {};
    for (size_t k = 0; k < operands_.size(); k++) inputs[operands_[k]] = passed[k];
    for (size_t i = 0; i < description_.op->inputs; i++) {
        if (description_.constants[i]) inputs[i] = description_.constants[i]->input();
    }
    return Planner(ort_, description_, settings_, inputs.data()).make(operands_);
}

const Plan &Operation::plan_for(const Inputs &passed,
                                std::unique_ptr<const Plan> &temporary) const {
    for (const std::atomic<const Plan *> &place : plans_) {
        const Plan *const plan = place.load(std::memory_order_acquire);
        if (!plan) break;
        if (plan->fits(passed.data())) return *plan;
    }
    temporary = make_plan(passed);
    for (std::atomic<const Plan *> &place : plans_) {
        const Plan *there = nullptr;
        if (place.compare_exchange_strong(there, temporary.get())) return *temporary.release();
    }
    return *temporary;
}

void Operation::run(OrtKernelContext *context) const {
    Inputs passed;
    read(context, passed);
    std::unique_ptr<const Plan> temporary;
    const Plan &plan = plan_for(passed, temporary);
    Memory memory;
    for (size_t k = 0; k < passed_.size(); k++) memory[k] = passed[k].data;
    for (size_t k = 0; k < plan.outputs; k++) {
        OrtValue *output;
        void *result;
        ort_(&OrtApi::KernelContext_GetOutput, context, k, plan.output.data(),
             k == 0 ? plan.output.size() : 0, &output);
        ort_(&OrtApi::GetTensorMutableData, output, &result);
        memory[passed_.size() + k] = result;
    }
    if (!plan.parts.empty()) plan.run(memory, context);
}

}  // namespace hewn_ort
