// Plans the passes of a GPU's operator: those of the lowering, and conversions around them. Kernels
// take whole bytes and floats of one type. All other tensors (Tensor::conversion) are converted to
// scratch memory before the kernels' pass, or from scratch memory after it.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>

#include "../base/error.h"
#include "../base/kernel_contract.h"
#include "../problem/lowering.h"
#include "launch.h"

namespace hewn {

namespace {

// Returns a pass kernel of the device's kind by its name; null if there is none.
const Form *pass_kernel(const GpuOperator &op, const char *name) {
    for (const PassKernel *kernel = hewn_kernel_table.pass_kernels; kernel->form.name; kernel++) {
        if (kernel->device == op.device->api->kind && std::strcmp(kernel->form.name, name) == 0)
            return &kernel->form;
    }
    return nullptr;
}

// Describes a conversion. No operator's kernels compute it.
constexpr OperatorInfo kConversionInfo = [] {
    OperatorInfo info = {};
    info.input_count = info.output_count = info.operand_count = 1;
    return info;
}();

// The names of the pass kernels that convert f16, bf16, f8e8m0 or i32 to contiguous f32 in scratch
// memory, and back; null: there is none. Sub-byte types have "unpack" and "pack" instead.
struct FloatKernels {
    hewn_data_type stored;
    const char *load_dense, *load_strided, *store_dense, *store_strided;
};
constexpr FloatKernels kFloatKernels[] = {
    {HEWN_DATA_TYPE_FLOAT16, "widen_dense", "widen_strided", "narrow_dense", "narrow_strided"},
    {HEWN_DATA_TYPE_BFLOAT16, "widen_bf16_dense", "widen_bf16_strided", "narrow_bf16_dense",
     "narrow_bf16_strided"},
    {HEWN_DATA_TYPE_FLOAT8E8M0, nullptr, "widen_f8e8m0", nullptr, nullptr},
    {HEWN_DATA_TYPE_FLOAT8E4M3FN, nullptr, nullptr, nullptr, nullptr},  // multiplies_scales()
    {HEWN_DATA_TYPE_INT32, nullptr, "converted_i32", nullptr, nullptr},
};

constexpr bool has_all_conversions() {
    for (const Conversion &conversion : kConversions) {
        bool has = conversion.shares_bytes();
        for (const FloatKernels &kernels : kFloatKernels)
            has |= kernels.stored == conversion.stored;
        if (!has) return false;
    }
    return true;
}
static_assert(has_all_conversions());

const FloatKernels &kernels_of(const Tensor &tensor) {
    const FloatKernels *kernels = kFloatKernels;
    while (kernels->stored != tensor.type) kernels++;
    return *kernels;
}

// ---- Tensors ----

// Describes memory that a pass takes as this many elements of a type, one after another.
Tensor memory_of(int64_t elements, hewn_data_type type) {
    Tensor memory = {};
    memory.element_bytes = type_bytes(type);
    memory.bytes = uint64_t(elements) * uint64_t(memory.element_bytes);
    return memory;
}

// Returns how many whole elements a sub-byte tensor's memory has, from its first one on. These
// include elements after the last one that lie in its last byte.
int64_t span_of(const Tensor &tensor) {
    return int64_t(tensor.bytes) * 8 / tensor.conversion->bits;
}

// Returns the index in memory of the tensor's last element, if the first one has index 0.
int64_t last_of(const Tensor &tensor) {
    int64_t last = 0;
    for (int d = 0; d < tensor.rank; d++) last += (tensor.sizes[d] - 1) * tensor.strides[d];
    return last;
}

// Whether elements lie in memory between the tensor's elements.
bool has_gaps(const Tensor &tensor) {
    int64_t elements = 1;
    for (int d = 0; d < tensor.rank; d++) elements *= tensor.sizes[d];
    return last_of(tensor) + 1 != elements;
}

// Returns a tensor as kernels take it, in scratch memory. Floats are contiguous there; bytes keep
// their strides.
Tensor converted(const Problem &problem, const Tensor &original) {
    Tensor tensor = original;
    tensor.type = kernel_type(*problem.info, original);
    tensor.element_bytes = type_bytes(tensor.type);
    tensor.conversion = nullptr;
    if (!original.conversion->shares_bytes()) pack_strides(tensor);
    else tensor.bytes = uint64_t(span_of(original)) * uint64_t(tensor.element_bytes);
    return tensor;
}

// Returns each_stored() as a conversion takes it.
Tensor each_unconverted(const Tensor &tensor) {
    Tensor each = each_stored(tensor);
    each.conversion = nullptr;
    return each;
}

// ---- Boxes ----

// Whether all indices of a box, of elements and of 32-bit words, stay below `limit`.
bool addressable(const Space &space, const int64_t *extent, int64_t limit) {
    int64_t elements = 1;
    for (int d = 0; d < space.rank; d++) {
        if (__builtin_mul_overflow(elements, extent[d], &elements) || elements >= limit)
            return false;
    }
    for (int o = 0; o < space.operands; o++) {
        const int64_t words = space.element_bytes[o] > 4 ? space.element_bytes[o] / 4 : 1;
        int64_t span = 1;
        // It cannot overflow, because spans of tensors are below 2^63.
        for (int d = 0; d < space.rank; d++) span += (extent[d] - 1) * space.dims[d].stride[o];
        if (span >= limit / words) return false;
    }
    return true;
}

// Chooses the extents of boxes. In dimensions beyond those that kernels have, which are the
// outermost, a box has one index. The dimension that reaches furthest is halved until the box is
// addressable. Halves are rounded up to a multiple of 64 elements, which keeps boxes aligned.
void choose_extents(GpuPart &part, int64_t limit) {
    const Space &space = part.space;
    for (int d = 0; d < space.rank; d++) part.extent[d] = d < kGpuRank ? space.dims[d].size : 1;
    while (!addressable(space, part.extent, limit)) {
        int widest = 0;
        int64_t furthest_of_all = 0;
        for (int d = 0; d < space.rank; d++) {
            int64_t furthest = part.extent[d];
            for (int o = 0; o < space.operands; o++) {
                const int64_t along = (part.extent[d] - 1) * space.dims[d].stride[o];
                if (along > furthest) furthest = along;
            }
            if (part.extent[d] > 1 && furthest >= furthest_of_all) {
                widest = d;
                furthest_of_all = furthest;
            }
        }
        int64_t half = part.extent[widest] - part.extent[widest] / 2;
        if (half > 64) half = (half + 63) / 64 * 64;
        part.extent[widest] = half;
    }
}

// ---- Transpositions ----

// If an operand lies across the output's rows, lets neighbouring threads take strips of rows
// instead of whole rows, so that their accesses join in both tensors. Dimension 0 is cut into
// pieces. All of dimension 1 comes before the next piece.
void cut_across_rows(Space &space) {
    constexpr int64_t kPiece = 16;
    if (space.rank != 2) return;
    const Dimension along = space.dims[0], across = space.dims[1];
    if (along.size % kPiece || along.size == kPiece) return;
    bool lies_across = false;
    for (int o = 0; o < space.operands; o++)
        lies_across |= across.stride[o] == 1 && along.stride[o] > 1;
    if (!lies_across) return;
    space.rank = 3;
    space.dims[0].size = kPiece;
    space.dims[2] = along;
    space.dims[2].size = along.size / kPiece;
    for (int o = 0; o < space.operands; o++) space.dims[2].stride[o] = along.stride[o] * kPiece;
}

// ---- Forms ----

// Returns the operands that a form by steps takes by words, a bit for each: the inputs with the
// digit 1 in its only layout, and the output.
uint32_t operands_by_words(const Form &form, int inputs) {
    uint32_t operands = 1u << inputs;
    const int layout = __builtin_ctz(form.layouts);
    for (int o = 0; o < inputs; o++) operands |= uint32_t(layout >> (inputs - 1 - o) & 1) << o;
    return operands;
}

// Gives the part this form by steps, if the form serves the operands' strides along the first
// dimension.
bool choose_form(GpuPart &part, const Form *form, bool dense) {
    const Space &space = part.space;
    if (!form || space.rank > (dense ? 1 : kFewGpuDimensions)) return false;
    const uint32_t by_words = operands_by_words(*form, space.operands - 1);
    int32_t widest = 0;
    for (int o = 0; o < space.operands; o++) {
        const int64_t stride = space.dims[0].stride[o];
        if (by_words >> o & 1) {
            if (stride != 1) return false;
            widest = std::max(widest, space.element_bytes[o]);
        } else if (dense && stride != 0) {
            return false;
        }
    }
    part.form = form;
    part.dense = dense;
    part.by_words = by_words;
    part.step_elements = gpu_step_elements(widest);
    return true;
}

// Plans a pass of the kind Elements: its parts, their boxes and their forms.
void plan_elements(GpuPass &pass, int64_t index_limit) {
    const Tensor *operands[kMaxOperands];
    const int count = list_operands(pass.problem, operands);
    Part parts[kMaxParts];
    pass.part_count = split_blocks(operands, count, parts);
    for (int p = 0; p < pass.part_count; p++) {
        GpuPart &part = pass.parts[p];
        static_cast<Part &>(part) = parts[p];
        cut_across_rows(part.space);
        choose_extents(part, index_limit);
        for (int f = 0; f < 2 && !part.form; f++) choose_form(part, pass.by_steps[f], f == 0);
    }
}

// Plans a pass of the kind Ranges. Returns how many launches it has.
int32_t plan_ranges(GpuPass &pass, const Tensor &input, int64_t index_limit) {
    GpuPart &part = pass.parts[0];
    pass.part_count = 1;
    part.space = range_space(input);
    choose_extents(part, index_limit);
    int64_t boxes = 1;
    for (int d = 0; d < part.space.rank; d++)
        boxes *= (part.space.dims[d].size + part.extent[d] - 1) / part.extent[d];
    return int32_t(boxes);
}

// ---- Passes ----

// Plans all passes of an operator.
class Planner {
public:
    explicit Planner(GpuOperator &op)
        : op_(op),
          problem_(op.problem),
          lowered_count_(separate_activation(
              lowered_, separate_quotients(lowered_, lower(op.problem, lowered_)))) {}

    // The most passes that plan() makes. The output may be converted twice: from its memory, and
    // back.
    int most() const {
        int most = lowered_count_;
        for (int t = 0; t <= problem_.info->input_count; t++) most += has_conversion(t);
        return most + has_conversion(problem_.info->input_count);
    }

    // Whether the tensors are so small that the sum of their scratch memory does not overflow. The
    // limit is more memory than any device has.
    bool fits() const {
        constexpr uint64_t kMost = uint64_t(1) << 48;
        bool needs = lowered_count_ > 1, fits = true;
        for (int t = 0; t < tensor_count(*problem_.info); t++) {
            needs |= has_conversion(t);
            fits &= tensor(problem_, t).bytes <= kMost;
        }
        return fits || !needs;
    }

    // Writes the plan to the operator's passes, which have room for most() of them.
    void plan() {
        for (int i = 0; i < problem_.info->input_count; i++) {
            if (has_conversion(i)) convert_from(i);
        }
        const int output = problem_.info->input_count;
        // The elements between the tensor's must keep their values, so they are converted, too.
        if (has_conversion(output) && problem_.output.conversion->shares_bytes() &&
            has_gaps(problem_.output))
            convert_from(output);
        for (int l = 0; l < lowered_count_; l++) plan_lowered(lowered_[l]);
        if (has_conversion(output)) convert_to(output);
    }

private:
    GpuOperator &op_;
    const Problem &problem_;
    PassProblems lowered_;
    const int lowered_count_;
    int32_t range_launches_ = 0;

    // Whether tensor t must be converted: a pass takes it, and its elements are stored as another
    // type.
    bool has_conversion(int t) const {
        const Tensor &what = tensor(problem_, t);
        return what.conversion && !what.empty() && is_taken(t);
    }
    bool is_taken(int t) const {
        for (int l = 0; l < lowered_count_; l++) {
            const int count = tensor_count(*lowered_[l].problem.info);
            if (std::memchr(lowered_[l].places, t, size_t(count))) return true;
        }
        return false;
    }
    GpuPass &add(GpuPass::Kind kind, const OperatorInfo &info) {
        GpuPass &pass = op_.passes[op_.pass_count++];
        pass.kind = kind;
        pass.problem.info = &info;
        return pass;
    }
    // Sets tensor t of a pass, and the place where it lies.
    static void set(GpuPass &pass, int t, const Tensor &what, int place) {
        tensor(pass.problem, t) = what;
        pass.places[t] = uint8_t(place);
    }
    // Reserves scratch memory for a place, unless that was done before.
    void reserve(int place, uint64_t bytes) {
        constexpr uint64_t kAlignment = 256;
        if (op_.reserved & uint64_t(1) << place) return;
        op_.reserved |= uint64_t(1) << place;
        op_.offsets[place] = op_.scratch_bytes;
        op_.scratch_bytes += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    }

    // ---- Conversions of the operator's tensors, to scratch memory and from it ----

    // Plans the conversion of tensor t to scratch memory. For a sub-byte type all of the tensor's
    // memory is converted, with what lies between its elements.
    void convert_from(int t) {
        const Tensor &from = tensor(problem_, t);
        reserve(kConvertedPlace + t, converted(problem_, from).bytes);
        if (from.conversion->shares_bytes()) {
            GpuPass &pass = plan_packing(GpuPass::Unpack, "unpack", from);
            set(pass, 0, memory_of(int64_t(from.bytes), HEWN_DATA_TYPE_UINT8), t);
            set(pass, 1, memory_of((span_of(from) + 3) / 4 * 4, HEWN_DATA_TYPE_UINT8),
                kConvertedPlace + t);
            return;
        }
        const FloatKernels &kernels = kernels_of(from);
        plan_floats(kernels.load_dense, kernels.load_strided, each_unconverted(from), t,
                    each_unconverted(converted(problem_, from)), kConvertedPlace + t);
    }
    // Plans the conversion of the output from scratch memory.
    void convert_to(int t) {
        const Tensor &to = tensor(problem_, t);
        reserve(kConvertedPlace + t, converted(problem_, to).bytes);
        if (to.conversion->shares_bytes()) {
            GpuPass &pass = plan_packing(GpuPass::Pack, "pack", to);
            set(pass, 0, memory_of(last_of(to) + 1, HEWN_DATA_TYPE_UINT8), kConvertedPlace + t);
            set(pass, 1, memory_of(int64_t(to.bytes), HEWN_DATA_TYPE_UINT8), t);
            return;
        }
        const FloatKernels &kernels = kernels_of(to);
        plan_floats(kernels.store_dense, kernels.store_strided, converted(problem_, to),
                    kConvertedPlace + t, each_unconverted(to), t);
    }
    // Plans a conversion of a sub-byte tensor.
    GpuPass &plan_packing(GpuPass::Kind kind, const char *name, const Tensor &packed) {
        GpuPass &pass = add(kind, kConversionInfo);
        pass.form = pass_kernel(op_, name);
        pass.conversion = packed.conversion;
        return pass;
    }
    // Plans a conversion to f32 or from f32, by the kernels of these names.
    void plan_floats(const char *dense, const char *strided, const Tensor &from, int from_place,
                     const Tensor &to, int to_place) {
        GpuPass &pass = add(GpuPass::Elements, kConversionInfo);
        set(pass, 0, from, from_place);
        set(pass, 1, to, to_place);
        pass.form = pass_kernel(op_, strided);
        if (dense) pass.by_steps[0] = pass_kernel(op_, dense);
        plan_elements(pass, op_.device->api->index_limit);
    }

    // ---- Passes of the lowering ----

    // Plans a pass of the lowering.
    void plan_lowered(const PassProblem &lowered) {
        GpuPass &pass = add(GpuPass::Elements, *lowered.problem.info);
        const Variant &variant = *op_.variant;
        for (int t = 0; t < tensor_count(*lowered.problem.info); t++) {
            if (lowered.places[t] != kRangesPlace)
                take(pass, t, tensor(lowered.problem, t), lowered.places[t]);
        }
        switch (lowered.kind) {
        case PassProblem::Kernel: choose_kernels(pass, lowered.problem); break;
        case PassProblem::Quotients:
            pass.form = pass_kernel(op_, precision_of(lowered.problem) == HEWN_PRECISION_FLOAT16
                                             ? "quotient_f16"
                                             : "quotient_bf16");
            break;
        case PassProblem::Clamped: choose_clamping(pass, lowered.problem); break;
        case PassProblem::Ranges:
            pass.kind = GpuPass::Ranges;
            pass.form = variant.form("ranges");
            range_launches_ =
                plan_ranges(pass, pass.problem.inputs[0], op_.device->api->index_limit);
            set_ranges(pass, 1);
            return;
        case PassProblem::Parameters:
            pass.kind = GpuPass::Parameters;
            pass.form = variant.form("parameters");
            pass.sets = range_launches_;
            set_ranges(pass, 0);
            return;
        case PassProblem::BlockParameters:  // no GPU has kernels that choose scales of blocks yet
        case PassProblem::BlockMaxima:
        case PassProblem::TensorScale:
        case PassProblem::Elements:
        case PassProblem::Blocks: return;
        }
        plan_elements(pass, op_.device->api->index_limit);
    }

    // Chooses the forms of an operator's kernel. ADD1 has its own for activations.
    void choose_kernels(GpuPass &pass, const Problem &problem) {
        const Variant &variant = *op_.variant;
        const hewn_activation activation = problem.attributes.add1_activation;
        if (activation == HEWN_ACTIVATION_SOFTSIGN) {
            pass.form = variant.form("softsign_strided");
            return;
        }
        const bool in_pieces = activation != HEWN_ACTIVATION_IDENTITY;
        if (in_pieces) {
            const ActivationPieces pieces = pieces_of(problem.attributes);
            for_each_piece(pieces,
                           [&](const auto &number, const char *) { add_number(pass, &number); });
        }
        pass.form = variant.form(in_pieces ? "pieces_strided" : "strided");
        pass.by_steps[0] = variant.form(in_pieces ? "pieces_dense" : "dense");
        pass.by_steps[1] = variant.form(in_pieces ? "pieces_runs" : "runs");
    }

    // Chooses the pass kernels that apply an activation of QUANTIZED_LINEAR_ADD.
    void choose_clamping(GpuPass &pass, const Problem &problem) {
        const ActivationBounds bounds = bounds_of(quantized_activation_of(problem));
        const float high = bounds.has_high ? bounds.high : std::numeric_limits<float>::infinity();
        add_number(pass, &bounds.low);
        add_number(pass, &high);
        char dense[32], strided[32];
        const char *const word = type_word(problem.output.type);
        snprintf(dense, sizeof dense, "clamped_%s_dense", word);
        snprintf(strided, sizeof strided, "clamped_%s_strided", word);
        pass.form = pass_kernel(op_, strided);
        pass.by_steps[0] = pass_kernel(op_, dense);
    }

    // Appends 4 bytes to the scalars that the pass's kernels take.
    static void add_number(GpuPass &pass, const void *number) {
        std::memcpy(&pass.numbers[pass.number_count++], number, sizeof pass.numbers[0]);
    }

    // Sets tensor t of a pass as the kernels take it, and the place where it then lies.
    void take(GpuPass &pass, int t, const Tensor &what, int place) {
        set(pass, t, what.conversion ? converted(problem_, what) : what,
            what.conversion ? kConvertedPlace + place : place);
        if (place >= kMaxTensors) reserve(place, what.bytes);
    }

    // Sets tensor t of a pass to the ranges of all launches.
    void set_ranges(GpuPass &pass, int t) {
        const int64_t sets = std::max(range_launches_, 1);
        const Tensor ranges = memory_of(sets * 2 * kGpuRangeBlocks, HEWN_DATA_TYPE_UINT32);
        set(pass, t, ranges, kRangesPlace);
        reserve(kRangesPlace, ranges.bytes);
    }
};

}  // namespace

namespace {
// Writes a value that never changes to its place, if a pass has the place.
hewn_status write_place(GpuOperator &op, int place, const void *value, size_t bytes,
                        hewn_error *error) {
    if (!(op.reserved >> place & 1)) return HEWN_STATUS_OK;
    return op.device->api->write(*op.device, op.scratch, op.offsets[place], value, bytes, error);
}
}  // namespace

hewn_status plan_passes(GpuOperator &op, hewn_error *error) {
    Planner planner(op);
    if (planner.most() == 0) return HEWN_STATUS_OK;
    if (!planner.fits())
        return fail(error, HEWN_STATUS_OUT_OF_MEMORY,
                    "%s: no device has the memory to convert such tensors",
                    op.problem.info->dml_name);
    op.passes = op.allocator.allocate<GpuPass>(size_t(planner.most()));
    if (!op.passes)
        return fail(error, HEWN_STATUS_OUT_OF_MEMORY, "%s: no memory for the operator",
                    op.problem.info->dml_name);
    planner.plan();
    if (op.scratch_bytes == 0) return HEWN_STATUS_OK;
    HEWN_CHECK(allocate_on(*op.device, op.scratch_bytes, &op.scratch, error));
    const float one = 1;
    HEWN_CHECK(write_place(op, kOnePlace, &one, sizeof one, error));
    return write_place(op, kFormatPlace, &op.problem.format, sizeof op.problem.format, error);
}

}  // namespace hewn
