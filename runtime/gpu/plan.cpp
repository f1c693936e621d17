// From a GPU's operator to its passes. Kernels take bytes and floats of one type: tensors that hold
// several elements in a byte, or f16 beside f32, are converted into scratch memory before them, or
// from it behind them. DYNAMIC_QUANTIZE_LINEAR's range is a pass of its own.
#include <algorithm>
#include <cstring>

#include "../base/error.h"
#include "../base/kernel_contract.h"
#include "../problem/passes.h"
#include "launch.h"

namespace hewn {

namespace {

const Form *stage(const GpuOperator &op, const char *name) {
    for (const Stage *stage = hewn_kernel_table.stages; stage->form.name; stage++) {
        if (stage->device == op.device->api->kind && std::strcmp(stage->form.name, name) == 0)
            return &stage->form;
    }
    return nullptr;
}

// Of a pass that is no operator; its inputs are its operands.
constexpr OperatorInfo info_of_pass(int inputs, int outputs) {
    OperatorInfo info = {};
    info.input_count = info.operand_count = inputs;
    info.output_count = outputs;
    for (int i = 0; i < inputs; i++) info.operands[i] = i;
    return info;
}
constexpr OperatorInfo kOneOutput = info_of_pass(1, 1), kTwoOutputs = info_of_pass(1, 2),
                       kTwoInputs = info_of_pass(2, 1);

// ---- Tensors ----

bool is_dynamic(const Problem &problem) { return problem.info->output_count > 1; }

// So many elements one behind the other.
Tensor row_of(int64_t elements, hewn_data_type type, const char *name) {
    Tensor row = {};
    row.name = name;
    row.present = true;
    row.type = type;
    row.element_bytes = type_bytes(type);
    row.rank = 1;
    row.sizes[0] = elements;
    row.strides[0] = row.block_sizes[0] = 1;
    row.bytes = uint64_t(elements) * uint64_t(row.element_bytes);
    return row;
}

// Elements from the first one's place to the last one's, and those that share a byte with it.
int64_t span_of(const Tensor &tensor) {
    return int64_t(tensor.bytes) * tensor.packing.in_a_byte() / tensor.element_bytes;
}

// The index of the last element behind the first.
int64_t last_of(const Tensor &tensor) {
    int64_t last = 0;
    for (int d = 0; d < tensor.rank; d++) last += (tensor.sizes[d] - 1) * tensor.strides[d];
    return last;
}

bool has_gaps(const Tensor &tensor) {
    int64_t elements = 1;
    for (int d = 0; d < tensor.rank; d++) elements *= tensor.sizes[d];
    return last_of(tensor) + 1 != elements;
}

// A tensor as kernels take it, in scratch memory: floats packed, bytes with the same strides.
Tensor converted(const Problem &problem, const Tensor &original) {
    Tensor tensor = original;
    tensor.type = kernel_type(*problem.info, original);
    tensor.element_bytes = type_bytes(tensor.type);
    tensor.packing = {};
    if (original.packing.widens()) pack_strides(tensor);
    else tensor.bytes = uint64_t(span_of(original)) * uint64_t(tensor.element_bytes);
    return tensor;
}

// The elements in memory of a tensor, each once.
Tensor each_stored(Tensor tensor) {
    for (int d = 0; d < tensor.rank; d++) {
        tensor.sizes[d] = stored(tensor, d);
        tensor.block_sizes[d] = 1;
    }
    tensor.packing = {};
    return tensor;
}

// ---- Passes ----

class Planner {
public:
    explicit Planner(GpuOperator &op) : op_(op), problem_(op.problem) {}

    // Plans into the operator's passes, of which there are `count`.
    void plan() {
        for (int i = 0; i < problem_.info->input_count; i++) {
            if (tensor(problem_, i).packing && !tensor(problem_, i).empty()) convert_from(i);
        }
        const int output = problem_.info->input_count;
        const bool packed{tensor(problem_, output).packing};
        if (packed && !problem_.output.packing.widens() && has_gaps(problem_.output))
            convert_from(output);  // elements between the tensor's, which stay
        if (is_dynamic(problem_)) plan_range();
        if (precision_of(problem_)) plan_quotients();
        if (!problem_.output.empty()) plan_main();
        if (packed) convert_to(output);
    }

    // The most that plan() makes.
    static int count(const Problem &problem) {
        int count = is_dynamic(problem) ? 3 : precision_of(problem) ? 2 : 1;
        for (int t = 0; t <= problem.info->input_count; t++)
            count += tensor(problem, t).packing ? 1 : 0;
        return count + (problem.output.packing ? 1 : 0);
    }

private:
    GpuOperator &op_;
    const Problem &problem_;

    GpuPass &add(GpuPass::Kind kind, const OperatorInfo &info) {
        GpuPass &pass = op_.passes[op_.pass_count++];
        pass.kind = kind;
        pass.problem.info = &info;
        return pass;
    }
    // Sets a pass's tensor t and where it lies.
    static void set(GpuPass &pass, int t, const Tensor &what, int place) {
        tensor(pass.problem, t) = what;
        pass.places[t] = uint8_t(place);
    }
    // Where the operator's tensor t lies as kernels take it.
    int place_of(int t) const { return tensor(problem_, t).packing ? kScratchPlace + t : t; }
    Tensor taken(int t) const {
        return tensor(problem_, t).packing ? converted(problem_, tensor(problem_, t))
                                           : tensor(problem_, t);
    }
    void reserve(int place, uint64_t bytes) {
        constexpr uint64_t kAlignment = 256;
        op_.offsets[place] = op_.scratch_bytes;
        op_.scratch_bytes += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    }

    // ---- Conversions ----

    // Tensor t of the operator into scratch memory; bytes with all that lies between its elements.
    void convert_from(int t) {
        const Tensor &from = tensor(problem_, t);
        reserve(kScratchPlace + t, converted(problem_, from).bytes);
        if (!from.packing.widens()) {
            GpuPass &pass = plan_packing(GpuPass::Unpack, "unpack", from);
            set(pass, 0, row_of(int64_t(from.bytes), HEWN_DATA_TYPE_UINT8, from.name), t);
            set(pass, 1, row_of((span_of(from) + 3) / 4 * 4, HEWN_DATA_TYPE_UINT8, from.name),
                kScratchPlace + t);
            return;
        }
        const bool half = from.type == HEWN_DATA_TYPE_FLOAT16;
        plan_floats(half ? "widen_dense" : nullptr, half ? "widen_strided" : "converted_i32",
                    each_stored(from), t, each_stored(converted(problem_, from)),
                    kScratchPlace + t);
    }
    // The output from scratch memory.
    void convert_to(int t) {
        const Tensor &to = tensor(problem_, t);
        if (!has_scratch(t)) reserve(kScratchPlace + t, converted(problem_, to).bytes);
        if (!to.packing.widens()) {
            GpuPass &pass = plan_packing(GpuPass::Pack, "pack", to);
            set(pass, 0, row_of(last_of(to) + 1, HEWN_DATA_TYPE_UINT8, to.name), kScratchPlace + t);
            set(pass, 1, row_of(int64_t(to.bytes), HEWN_DATA_TYPE_UINT8, to.name), t);
            return;
        }
        plan_floats("narrow_dense", "narrow_strided", converted(problem_, to), kScratchPlace + t,
                    each_stored(to), t);
    }
    bool has_scratch(int t) const {
        for (int p = 0; p < op_.pass_count; p++) {
            const GpuPass &pass = op_.passes[p];
            if (pass.kind == GpuPass::Unpack && pass.places[1] == kScratchPlace + t) return true;
        }
        return false;
    }
    GpuPass &plan_packing(GpuPass::Kind kind, const char *name, const Tensor &packed) {
        GpuPass &pass = add(kind, kOneOutput);
        pass.form = stage(op_, name);
        pass.packing = packed.packing;
        return pass;
    }
    void plan_floats(const char *dense, const char *strided, const Tensor &from, int from_place,
                     const Tensor &to, int to_place) {
        GpuPass &pass = add(GpuPass::Elements, kOneOutput);
        set(pass, 0, from, from_place);
        set(pass, 1, to, to_place);
        pass.form = stage(op_, strided);
        if (dense) pass.by_steps[0] = stage(op_, dense);
        plan_elements(pass, op_.device->api->index_limit);
    }

    // ---- The operator's own kernels ----

    void plan_main() {
        GpuPass &pass = add(GpuPass::Elements, *problem_.info);
        const int tensors = tensor_count(*problem_.info);
        for (int t = 0; t < tensors; t++) set(pass, t, taken(t), place_of(t));
        if (is_dynamic(problem_)) {
            pass.problem = quantization_of(pass.problem);
            for (int t : {kDynamicOutput, kDynamicScale, kDynamicZeroPoint})
                pass.places[t == kDynamicOutput ? kZeroPoint + 1 : t - 1] = uint8_t(t);
        }
        if (precision_of(problem_)) {
            set(pass, kInput, quotients(), kQuotientsPlace);
            set(pass, kScale, one(), kOnePlace);
        }
        const Variant &variant = *op_.variant;
        pass.form = variant.form("strided");
        pass.by_steps[0] = variant.form("dense");
        pass.by_steps[1] = variant.form("runs");
        plan_elements(pass, op_.device->api->index_limit);
    }

    // QUANTIZE_LINEAR's input divided by its scale, in the `precision`.
    void plan_quotients() {
        GpuPass &pass = add(GpuPass::Elements, kTwoInputs);
        for (int t : {kInput, kScale}) set(pass, t, taken(t), place_of(t));
        set(pass, kScale + 1, quotients(), kQuotientsPlace);
        const bool f16 = precision_of(problem_) == HEWN_PRECISION_FLOAT16;
        pass.form = stage(op_, f16 ? "quotient_f16" : "quotient_bf16");
        plan_elements(pass, op_.device->api->index_limit);
        reserve(kQuotientsPlace, quotients().bytes);
        reserve(kOnePlace, sizeof(float));
    }
    // Packed, in the order of the output's dimensions.
    Tensor quotients() const {
        Tensor tensor = row_of(1, HEWN_DATA_TYPE_FLOAT32, "quotients");
        tensor.rank = problem_.output.rank;
        for (int d = tensor.rank - 1; d >= 0; d--) {
            tensor.sizes[d] = problem_.output.sizes[d];
            tensor.block_sizes[d] = 1;
            tensor.strides[d] = int64_t(tensor.bytes) / tensor.element_bytes;
            tensor.bytes *= uint64_t(tensor.sizes[d]);
        }
        return tensor;
    }
    // A scale of 1.0 for all.
    Tensor one() const {
        Tensor tensor = quotients();
        tensor.name = "one";
        for (int d = 0; d < tensor.rank; d++) tensor.strides[d] = 0;
        tensor.bytes = sizeof(float);
        return tensor;
    }

    void plan_range() {
        int32_t sets = 0;
        if (!problem_.output.empty()) {
            GpuPass &pass = add(GpuPass::Ranges, kOneOutput);
            pass.form = op_.variant->form("ranges");
            const Tensor input = taken(kDynamicInput);
            sets = plan_ranges(pass, input, op_.device->api->index_limit);
            set(pass, 0, input, place_of(kDynamicInput));
            set(pass, 1, ranges_of(sets), kRangesPlace);
        }
        reserve(kRangesPlace, ranges_of(std::max(sets, 1)).bytes);
        GpuPass &pass = add(GpuPass::Parameters, kTwoOutputs);
        pass.form = op_.variant->form("parameters");
        pass.sets = sets;
        set(pass, 0, ranges_of(std::max(sets, 1)), kRangesPlace);
        set(pass, 1, tensor(problem_, kDynamicScale), kDynamicScale);
        set(pass, 2, tensor(problem_, kDynamicZeroPoint), kDynamicZeroPoint);
    }
    static Tensor ranges_of(int32_t sets) {
        return row_of(int64_t(sets) * 2 * kGpuRangeBlocks, HEWN_DATA_TYPE_UINT32, "ranges");
    }
};

// What needs scratch memory, whose size must not overflow, is within what no device has.
bool fits_scratch(const Problem &problem) {
    constexpr uint64_t kMost = uint64_t(1) << 48;
    bool needs = is_dynamic(problem) || precision_of(problem), fits = true;
    for (int t = 0; t < tensor_count(*problem.info); t++) {
        needs |= bool(tensor(problem, t).packing);
        fits &= tensor(problem, t).bytes <= kMost;
    }
    return fits || !needs;
}

}  // namespace

hewn_status plan_passes(GpuOperator &op, hewn_error *error) {
    if (op.problem.output.empty() && !is_dynamic(op.problem)) return HEWN_STATUS_OK;
    if (!fits_scratch(op.problem))
        return fail(error, HEWN_STATUS_OUT_OF_MEMORY,
                    "%s: no device has the memory to convert such tensors",
                    op.problem.info->dml_name);
    const int count = Planner::count(op.problem);
    op.passes = op.allocator.allocate<GpuPass>(size_t(count));
    if (!op.passes)
        return fail(error, HEWN_STATUS_OUT_OF_MEMORY, "%s: no memory for the operator",
                    op.problem.info->dml_name);
    Planner(op).plan();
    if (op.scratch_bytes == 0) return HEWN_STATUS_OK;
    HEWN_CHECK(allocate_on(*op.device, op.scratch_bytes, &op.scratch, error));
    if (!precision_of(op.problem)) return HEWN_STATUS_OK;
    const float one = 1;
    return op.device->api->write(*op.device, op.scratch, op.offsets[kOnePlace], &one, sizeof one,
                                 error);
}

}  // namespace hewn
