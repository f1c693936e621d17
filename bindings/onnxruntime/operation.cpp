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

[[noreturn]] void refuse(const char *message) { throw Failure(message, ORT_INVALID_ARGUMENT); }

// hewn's slices on ONNX Runtime's threads.
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
        for (int32_t i = 0; i < count; i++) fn(arg, i);
    }
};

// ---- Shapes to layouts ----

// What one of hewn's operators computes: where each tensor begins and what lies between its
// elements, in elements. Outermost dimension first.
struct Part {
    struct Dimension {
        int64_t size;
        std::array<int64_t, kMaxTensors> strides;
        int64_t block = 1;  // how many elements share a scale and a zero point
    };
    std::vector<Dimension> dimensions;
    std::array<int64_t, kMaxTensors> first = {};
};

// NumPy's rule.
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

    // None if the output is empty.
    std::optional<Part> all() const {
        if (product(output_.data(), output_.data() + output_.size()) == 0) return {};
        if (!scale() || scale()->elements() == 1) return whole();
        return description_.block_size == 0 ? along_axis() : in_blocks();
    }

private:
    const Description &description_;
    const Operator &op_;
    const Input *const inputs_;
    std::vector<int64_t> output_;

    // The scale that may have several elements; null: there is none.
    const Input *scale() const { return op_.is_sized_parameter(1) ? &inputs_[1] : nullptr; }

    void check_parameters() const {
        for (size_t i = 0; i < op_.inputs; i++) {
            if (op_.is_data(i) || description_.types[i] == HEWN_DATA_TYPE_UNKNOWN) continue;
            if (op_.tensors[i].one_element ? inputs_[i].elements() != 1
                                           : inputs_[i].elements() != scale()->elements())
                refuse("a scale or zero point has not the number of elements that is due");
        }
    }

    // All tensors step through their dimensions as the output does; scales and zero points have one
    // element. Dimensions that all tensors step through as through one are merged.
    Part whole() const {
        Part part;
        std::array<int64_t, kMaxTensors> step;
        step.fill(1);
        for (size_t k = 0; k < output_.size(); k++) {  // from the innermost on
            Part::Dimension dimension = {output_[output_.size() - 1 - k], {}};
            for (size_t t = 0; t <= op_.inputs; t++) {
                const int64_t size = size_of(t, k);
                dimension.strides[t] = size == 1 ? 0 : step[t];
                step[t] *= size;
            }
            if (dimension.size != 1) add(dimension, part);
        }
        std::reverse(part.dimensions.begin(), part.dimensions.end());
        return part;
    }
    // Of tensor t in dimension k, counted from the innermost.
    int64_t size_of(size_t t, size_t k) const {
        if (t == op_.inputs) return output_[output_.size() - 1 - k];
        const Input &input = inputs_[t];
        return op_.is_data(t) && k < input.rank ? input.dims[input.rank - 1 - k] : 1;
    }
    void add(const Part::Dimension &outer, Part &part) const {
        bool continues = !part.dimensions.empty();
        for (size_t t = 0; t <= op_.inputs && continues; t++) {
            const Part::Dimension &inner = part.dimensions.back();
            continues = outer.strides[t] == inner.strides[t] * inner.size;
        }
        if (continues) part.dimensions.back().size *= outer.size;
        else part.dimensions.push_back(outer);
    }

    // The input as {outer, size, inner}, of which `size` is the axis.
    struct Axis {
        int64_t outer, size, inner;
    };
    Axis axis() const {
        const Input &x = inputs_[0];
        const int64_t rank = int64_t(x.rank), given = description_.axis,
                      axis = given < 0 ? given + rank : given;
        if (axis < 0 || axis >= rank) refuse("the axis is not one of the input's");
        return {product(x.dims, x.dims + axis), x.dims[axis],
                product(x.dims + axis + 1, x.dims + rank)};
    }

    // The data's and the parameters' strides in a dimension.
    Part::Dimension dimension(int64_t size, int64_t data, int64_t parameter) const {
        Part::Dimension dimension = {size, {}};
        for (size_t t = 0; t <= op_.inputs; t++)
            dimension.strides[t] = op_.is_sized_parameter(t) && t < op_.inputs ? parameter : data;
        return dimension;
    }

    Part along_axis() const {
        const Axis x = axis();
        if (scale()->rank != 1 || scale()->dims[0] != x.size)
            refuse("the scale has neither one element nor one for each index of the axis");
        return {{dimension(x.outer, x.size * x.inner, 0), dimension(x.size, x.inner, 1),
                 dimension(x.inner, 1, 0)}};
    }

    // The last block may be short.
    Part in_blocks() const {
        const Axis x = axis();
        const int64_t block = description_.block_size,
                      blocks = x.size / block + (x.size % block != 0);
        check_blocks(blocks);
        Part part = {{dimension(x.outer, x.size * x.inner, blocks * x.inner),
                      dimension(x.size, x.inner, x.inner), dimension(x.inner, 1, 1)}};
        part.dimensions[1].block = block;
        return part;
    }
    void check_blocks(int64_t blocks) const {
        const Input &x = inputs_[0], &s = *scale();
        const int64_t rank = int64_t(x.rank), given = description_.axis,
                      axis = given < 0 ? given + rank : given;
        bool fits = s.rank == x.rank;
        for (int64_t k = 0; fits && k < rank; k++)
            fits = s.dims[k] == (k == axis ? blocks : x.dims[k]);
        if (!fits) refuse("the scale does not have the shape that the blocks ask for");
    }
};

}  // namespace

// ---- Plans ----

// hewn's operators for one set of shapes.
struct Plan {
    struct Compiled {
        std::shared_ptr<hewn_operator> op;
        std::array<hewn_buffer_binding, kMaxTensors> bindings;  // all but the buffers
    };
    std::vector<int64_t> shapes;  // of the inputs that each run passes: rank, then sizes
    std::vector<int64_t> output;
    std::vector<Compiled> parts;
};

namespace {

class Planner {
public:
    Planner(const Description &description, const Settings &settings, const Input *inputs)
        : description_(description),
          settings_(settings),
          inputs_(inputs),
          shaper_(description, inputs),
          tensors_(description.op->inputs + 1) {}

    std::unique_ptr<const Plan> make(const std::vector<size_t> &bound) {
        plan_->output = shaper_.output();
        for (const size_t i : bound) {
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
    std::unique_ptr<Plan> plan_ = std::make_unique<Plan>();

    // Dimensions beyond hewn's number of them become parts.
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
        Plan::Compiled compiled = {};
        hewn_buffer_binding constants[kMaxTensors];
        for (size_t t = 0; t < tensors_; t++) {
            constants[t] = compiled.bindings[t] = binding(t, uint64_t(part.first[t]));
            if (is_constant(t)) constants[t].buffer = const_cast<void *>(inputs_[t].data);
        }
        hewn_compile_options options = {};
        options.struct_size = sizeof options;
        options.variant = settings_.target.c_str();
        options.max_threads = settings_.max_threads;
        options.parallel_for = &Executor::parallel_for;  // each execution gives the context
        options.constants = constants;
        options.constant_count = uint32_t(tensors_ - 1);
        compiled.op = {compile(part, options), hewn_destroy_operator};
        plan_->parts.push_back(std::move(compiled));
    }
    bool is_constant(size_t t) const { return t + 1 < tensors_ && description_.constants[t]; }
    hewn_buffer_binding binding(size_t t, uint64_t first) const {
        if (description_.types[t] == HEWN_DATA_TYPE_UNKNOWN)
            return {sizeof(hewn_buffer_binding), nullptr, 0, 0};
        const std::vector<int64_t> &output = shaper_.output();
        const int64_t elements = t + 1 < tensors_
                                     ? inputs_[t].elements()
                                     : product(output.data(), output.data() + output.size());
        const uint64_t bytes = bytes_of(description_.types[t]);
        return {sizeof(hewn_buffer_binding), nullptr, first * bytes,
                (uint64_t(elements) - first) * bytes};
    }

    hewn_operator *compile(const Part &part, const hewn_compile_options &options) const {
        std::vector<int64_t> sizes, block_sizes, strides[kMaxTensors];
        hewn_tensor_desc tensors[kMaxTensors];
        AnyDesc desc = {uint32_t((tensors_ + 1) * sizeof(void *)), {}};
        for (const Part::Dimension &dimension : part.dimensions) {
            sizes.push_back(dimension.size);
            block_sizes.push_back(dimension.block);
            for (size_t t = 0; t < tensors_; t++) strides[t].push_back(dimension.strides[t]);
        }
        for (size_t t = 0; t < tensors_; t++) {
            tensors[t] = {sizeof tensors[t], description_.types[t], uint32_t(sizes.size()),
                          sizes.data(),      strides[t].data(),     nullptr};
            if (description_.op->is_sized_parameter(t) && t + 1 < tensors_)
                tensors[t].block_sizes = block_sizes.data();
            if (tensors[t].data_type != HEWN_DATA_TYPE_UNKNOWN) desc.tensors[t] = &tensors[t];
        }
        const hewn_operator_desc wrapped = {sizeof wrapped, description_.op->type, &desc};
        hewn_error error = {sizeof error, HEWN_STATUS_OK, ""};
        hewn_operator *op = nullptr;
        check(hewn_compile(nullptr, &wrapped, &options, &op, &error), error);
        return op;
    }
};

}  // namespace

// ---- Operations ----

int64_t Input::elements() const { return product(dims, dims + rank); }

Constant::Constant(const Ort &ort, const OrtValue *value) {
    Input input = {};
    ONNXTensorElementDataType type;
    ort(&OrtApi::GetTensorElementTypeAndShapeDataReference, value, &type, &input.dims, &input.rank);
    ort(&OrtApi::GetTensorData, value, &input.data);
    dims.assign(input.dims, input.dims + input.rank);
    const auto *const data = static_cast<const std::byte *>(input.data);
    bytes.assign(data, data + uint64_t(input.elements()) * bytes_of(hewn_type(type)));
}

Operation::Operation(const Ort &ort, Description description, Settings settings)
    : ort_(ort), description_(std::move(description)), settings_(std::move(settings)) {
    for (size_t i = 0; i < description_.op->inputs; i++) {
        if (description_.passed[i] != Description::kAbsent) bound_.push_back(i);
    }
}

Operation::~Operation() {
    for (const std::atomic<const Plan *> &plan : plans_) delete plan.load();
}

void Operation::read(const OrtKernelContext *context, Inputs &inputs) const {
    for (const size_t i : bound_) {
        Input &input = inputs[i];
        const OrtValue *value;
        ONNXTensorElementDataType type;
        ort_(&OrtApi::KernelContext_GetInput, context, size_t(description_.passed[i]), &value);
        ort_(&OrtApi::GetTensorElementTypeAndShapeDataReference, value, &type, &input.dims,
             &input.rank);
        ort_(&OrtApi::GetTensorData, value, &input.data);
    }
}

bool Operation::fits(const Plan &plan, const Inputs &inputs) const {
    const int64_t *at = plan.shapes.data();
    for (const size_t i : bound_) {
        const Input &input = inputs[i];
        if (*at++ != int64_t(input.rank) || !std::equal(input.dims, input.dims + input.rank, at))
            return false;
        at += input.rank;
    }
    return true;
}

std::unique_ptr<const Plan> Operation::make_plan(Inputs &inputs) const {
    for (size_t i = 0; i < description_.op->inputs; i++) {
        if (description_.passed[i] != Description::kAbsent) continue;
        const auto &constant = description_.constants[i];
        inputs[i] = constant ? constant->input() : Input{nullptr, nullptr, 0};
    }
    return Planner(description_, settings_, inputs.data()).make(bound_);
}

const Plan &Operation::plan_for(Inputs &inputs, std::unique_ptr<const Plan> &temporary) const {
    for (const std::atomic<const Plan *> &place : plans_) {
        const Plan *const plan = place.load(std::memory_order_acquire);
        if (!plan) break;
        if (fits(*plan, inputs)) return *plan;
    }
    temporary = make_plan(inputs);
    for (std::atomic<const Plan *> &place : plans_) {
        const Plan *there = nullptr;
        if (place.compare_exchange_strong(there, temporary.get())) return *temporary.release();
    }
    return *temporary;
}

void Operation::run(OrtKernelContext *context) const {
    Inputs inputs;
    read(context, inputs);
    std::unique_ptr<const Plan> temporary;
    const Plan &plan = plan_for(inputs, temporary);
    OrtValue *output;
    ort_(&OrtApi::KernelContext_GetOutput, context, size_t(0), plan.output.data(),
         plan.output.size(), &output);
    if (plan.parts.empty()) return;
    void *result;
    ort_(&OrtApi::GetTensorMutableData, output, &result);

    Executor executor = {ort_, context};
    const hewn_execute_options options = {sizeof options, 0, &Executor::parallel_for, &executor, 1};
    hewn_error error;
    error.struct_size = sizeof error;
    const size_t count = description_.op->inputs;
    for (const Plan::Compiled &part : plan.parts) {
        hewn_buffer_binding bindings[kMaxTensors];
        std::copy_n(part.bindings.data(), count + 1, bindings);
        for (const size_t i : bound_) bindings[i].buffer = const_cast<void *>(inputs[i].data);
        bindings[count].buffer = result;
        check(hewn_execute(part.op.get(), bindings, uint32_t(count), &bindings[count], 1, &options,
                           &error),
              error);
    }
}

}  // namespace hewn_ort
