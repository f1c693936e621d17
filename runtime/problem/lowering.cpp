// Makes the list of passes of an operator. Most operators have one pass, the operator itself.
#include "lowering.h"

namespace hewn {

namespace {

// The tensors of operators that choose scales: the output, the scale and, by the operator, the zero
// point or NVFP4_QUANTIZE's scale of the tensor, which is the input or the last output.
struct ChosenTensors {
    static constexpr int kNone = -1;
    int output, scale, zero_point = kNone, tensor_scale = kNone;

    explicit ChosenTensors(const Problem &problem)
        : output(problem.info->input_count), scale(output + 1) {
        const int third = output + 2;
        switch (family_of(problem.info->type)) {
        case BlockFamily::Mx: break;
        case BlockFamily::Nvfp4: tensor_scale = problem.inputs[1].present ? 1 : third; break;
        default: zero_point = third;
        }
    }
};

// Describes a pass that is not an operator of the table. All of its inputs are operands.
constexpr OperatorInfo info_of_pass(int inputs, int outputs) {
    OperatorInfo info = {};
    info.input_count = info.operand_count = inputs;
    info.output_count = outputs;
    for (int i = 0; i < inputs; i++) info.operands[i] = i;
    return info;
}
constexpr OperatorInfo kScaledInfo = info_of_pass(3, 2), kRangesInfo = info_of_pass(1, 1),
                       kParametersInfo = info_of_pass(1, 2), kTensorScaleInfo = info_of_pass(1, 1),
                       kQuotientsInfo = info_of_pass(2, 1), kBlocksInfo = info_of_pass(3, 3);
// Its scale and zero point have one element, so they are no operands.
constexpr OperatorInfo kClampedInfo = [] {
    OperatorInfo info = info_of_pass(3, 1);
    info.operand_count = 1;
    return info;
}();

const OperatorInfo &info_of(hewn_operator_type type) {
    const OperatorInfo *info = kOperators.data();
    while (info->type != type) info++;
    return *info;
}

// Appends a pass to the list.
PassProblem &add(PassProblems &passes, int &count, PassProblem::Kind kind,
                 const OperatorInfo &kernels, const OperatorInfo &info) {
    PassProblem &pass = passes[count++] = {};
    pass.kind = kind;
    pass.kernels = &kernels;
    pass.problem.info = &info;
    return pass;
}

// Sets tensor t of a pass, and the place where it lies.
void set(PassProblem &pass, int t, const Tensor &what, int place) {
    tensor(pass.problem, t) = what;
    pass.places[t] = uint8_t(place);
}

// Whether one scale serves the whole input.
bool has_one_block(const Tensor &scale) {
    for (int d = 0; d < scale.rank; d++) {
        if (stored(scale, d) > 1) return false;
    }
    return true;
}

// Sets the zero point that a pass reads if the operator writes none: the format of small floats, or
// the middle of the integers.
void set_middle(const Problem &problem, const Tensor &codes, PassProblem &pass) {
    if (kHasFormats && problem.format)
        set(pass, kZeroPoint, repeated(codes, HEWN_DATA_TYPE_UINT32), kFormatPlace);
    else set(pass, kZeroPoint, repeated(codes, codes.type), kMiddlePlace);
    pass.problem.format = problem.format;
}

// Appends QUANTIZE_LINEAR with the scale and the zero point that were written.
void add_quantization(const Problem &problem, PassProblems &passes, int &count) {
    const OperatorInfo &info = info_of(HEWN_OPERATOR_QUANTIZE_LINEAR);
    PassProblem &pass = add(passes, count, PassProblem::Kernel, info, info);
    const ChosenTensors chosen(problem);
    const Tensor &input = problem.inputs[kInput];
    Tensor scale = tensor(problem, chosen.scale), zero_point = tensor(problem, chosen.zero_point);
    if (problem.info->tensors[chosen.scale].one_element) {  // which has sizes of 1
        scale = repeated(input, scale.type);
        zero_point = repeated(input, zero_point.type);
    }
    set(pass, kInput, input, kInput);
    set(pass, kScale, scale, chosen.scale);
    set(pass, kZeroPoint, zero_point, chosen.zero_point);
    if (kHasDynamicQuantize && !tensor(problem, chosen.zero_point).present)
        set_middle(problem, problem.output, pass);
    set(pass, kZeroPoint + 1, problem.output, chosen.output);
}

// Sets those tensors of a pass that the operator writes, or reads, for each block.
void set_chosen(const Problem &problem, int scale, PassProblem &pass) {
    const ChosenTensors chosen(problem);
    set(pass, scale, tensor(problem, chosen.scale), chosen.scale);
    if (chosen.zero_point >= 0)
        set(pass, scale + 1, tensor(problem, chosen.zero_point), chosen.zero_point);
    if (chosen.tensor_scale >= 0)
        set(pass, scale + 1, tensor(problem, chosen.tensor_scale), chosen.tensor_scale);
    pass.problem.attributes = problem.attributes;
    pass.problem.format = problem.format;
}

// Sets the tensors of a pass by kBlocksInfo. `scale` has the layout of the operator's scale.
void set_blocks(const Problem &problem, const Tensor &scale, PassProblem &pass) {
    const ChosenTensors chosen(problem);
    set(pass, kInput, problem.inputs[kInput], kInput);
    set(pass, kScale, scale, chosen.scale);
    const bool writes_zero_point =
        chosen.zero_point >= 0 && tensor(problem, chosen.zero_point).present;
    if (writes_zero_point)
        set(pass, kZeroPoint,
            lying_as(tensor(problem, chosen.zero_point),
                     kernel_type(*problem.info, problem.output)),
            chosen.zero_point);
    else set_middle(problem, problem.output, pass);
    set(pass, kZeroPoint + 1, problem.output, chosen.output);
    set_chosen(problem, kChosenScale, pass);
}

// A tensor of one word over the sizes of the input.
Tensor maximum_of(const Problem &problem) {
    return repeated(problem.inputs[kInput], HEWN_DATA_TYPE_UINT32);
}

// DYNAMIC_QUANTIZE and DYNAMIC_QUANTIZE_LINEAR have three passes: the input's range, the parameters
// that follow from the range, and QUANTIZE_LINEAR with these parameters. If there are several
// blocks, the first two are one pass. DYNAMIC_QUANTIZE_LINEAR has one block. For an empty input it
// computes only the parameters.
int lower_dynamic(const Problem &problem, PassProblems &passes) {
    const bool has_blocks =
        kHasDynamicQuantize && problem.info->type == HEWN_OPERATOR_DYNAMIC_QUANTIZE;
    const ChosenTensors chosen(problem);
    const Tensor &input = problem.inputs[kInput];
    int count = 0;
    if (has_blocks && input.empty()) return 0;
    if (has_blocks && !has_one_block(tensor(problem, chosen.scale))) {
        PassProblem &pass =
            add(passes, count, PassProblem::BlockParameters, *problem.info, kParametersInfo);
        set(pass, 0, input, kInput);
        set_chosen(problem, 1, pass);
        add_quantization(problem, passes, count);
        return count;
    }
    Tensor ranges = maximum_of(problem);
    ranges.bytes *= 2;
    if (!input.empty()) {
        PassProblem &pass = add(passes, count, PassProblem::Ranges, *problem.info, kRangesInfo);
        set(pass, 0, input, kInput);
        set(pass, 1, ranges, kRangesPlace);
    }
    PassProblem &parameters =
        add(passes, count, PassProblem::Parameters, *problem.info, kParametersInfo);
    set(parameters, 0, ranges, kRangesPlace);
    set_chosen(problem, 1, parameters);
    if (!input.empty()) add_quantization(problem, passes, count);
    return count;
}

// MX_QUANTIZE and NVFP4_QUANTIZE have two passes: the scales of the blocks, and the elements.
// Before them NVFP4_QUANTIZE chooses the tensor's scale, unless that is given.
int lower_mx(const Problem &problem, PassProblems &passes) {
    const ChosenTensors chosen(problem);
    const Tensor &input = problem.inputs[kInput];
    int count = 0;
    if (kHasNvfp4 && chosen.tensor_scale > chosen.scale) {
        if (!input.empty()) {
            PassProblem &pass =
                add(passes, count, PassProblem::BlockMaxima, *problem.info, kParametersInfo);
            set(pass, 0, input, kInput);
            set_chosen(problem, 1, pass);
            set(pass, 2, maximum_of(problem), kRangesPlace);
        }
        PassProblem &pass =
            add(passes, count, PassProblem::TensorScale, *problem.info, kTensorScaleInfo);
        set(pass, 0, maximum_of(problem), kRangesPlace);
        set(pass, 1, tensor(problem, chosen.tensor_scale), chosen.tensor_scale);
    }
    if (input.empty()) return count;
    PassProblem &scales =
        add(passes, count, PassProblem::BlockParameters, *problem.info, kParametersInfo);
    set(scales, 0, input, kInput);
    set_chosen(problem, 1, scales);
    PassProblem &elements = add(passes, count, PassProblem::Elements, *problem.info, kBlocksInfo);
    Tensor scale = tensor(problem, chosen.scale);
    scale.conversion = conversion_of(scale.type);
    set_blocks(problem, scale, elements);
    return count;
}

// MX_DEQUANTIZE and NVFP4_DEQUANTIZE are DEQUANTIZE_LINEAR. Some of their scales are multiplied
// first: those of int8 by 1 / 64, those of NVFP4 by the tensor's scale.
int lower_scaled(const Problem &problem, PassProblems &passes) {
    if (problem.output.empty()) return 0;
    int count = 0;
    const OperatorInfo &info = info_of(HEWN_OPERATOR_DEQUANTIZE_LINEAR);
    PassProblem &pass = add(passes, count, PassProblem::Kernel, info,
                            multiplies_scales(problem) ? kScaledInfo : info);
    const Tensor &input = problem.inputs[kInput];
    set(pass, kInput, input, kInput);
    set(pass, kScale, problem.inputs[kScale], kScale);
    set_middle(problem, input, pass);
    set(pass, kZeroPoint + 1, problem.output, problem.info->input_count);
    if (problem.info->type == HEWN_OPERATOR_NVFP4_DEQUANTIZE)
        set(pass, kScaledBy, problem.inputs[kZeroPoint], kZeroPoint);
    return count;
}

}  // namespace

bool multiplies_scales(const Problem &problem) {
    const hewn_operator_type type = problem.info->type;
    return type == HEWN_OPERATOR_NVFP4_DEQUANTIZE ||
           (type == HEWN_OPERATOR_MX_DEQUANTIZE && problem.inputs[0].type == HEWN_DATA_TYPE_INT8);
}

__attribute__((cold)) int lower(const Problem &problem, PassProblems &passes) {
    switch (kHasDynamic || kHasFormats ? problem.info->type : 0) {
    case HEWN_OPERATOR_DYNAMIC_QUANTIZE_LINEAR:
    case HEWN_OPERATOR_DYNAMIC_QUANTIZE: return lower_dynamic(problem, passes);
    case HEWN_OPERATOR_MX_QUANTIZE:
    case HEWN_OPERATOR_NVFP4_QUANTIZE: return lower_mx(problem, passes);
    case HEWN_OPERATOR_MX_DEQUANTIZE:
    case HEWN_OPERATOR_NVFP4_DEQUANTIZE: return lower_scaled(problem, passes);
    default: break;
    }
    if (problem.output.empty()) return 0;
    passes[0].kind = PassProblem::Kernel;
    passes[0].kernels = problem.info;
    passes[0].problem = problem;
    for (int t = 0; t < kMaxTensors; t++) passes[0].places[t] = uint8_t(t);
    if (kHasFormats && problem.format)
        set(passes[0], kZeroPoint, repeated(problem.output, HEWN_DATA_TYPE_UINT32), kFormatPlace);
    return 1;
}

__attribute__((cold)) void lower_to_blocks(const Problem &problem, PassProblem &pass) {
    pass = {};
    pass.kind = PassProblem::Blocks;
    pass.kernels = problem.info;
    pass.problem.info = &kBlocksInfo;
    const Tensor &scale = tensor(problem, ChosenTensors(problem).scale);
    set_blocks(problem, lying_as(scale, HEWN_DATA_TYPE_FLOAT32), pass);
}

// The output is not written. So that it seldom is in scratch memory, it is contiguous bytes.
__attribute__((cold)) void lower_to_maxima(const Problem &problem, PassProblem &pass) {
    lower_to_blocks(problem, pass);
    Tensor unwritten = lying_as(problem.inputs[kInput], HEWN_DATA_TYPE_UINT8);
    pack_strides(unwritten);
    tensor(pass.problem, kZeroPoint + 1) = unwritten;
    set(pass, kTensorScale, maximum_of(problem), kRangesPlace);
}

const void *middle_of(const Problem &problem) {
    static constexpr uint8_t kZero = 0, kOfU4 = 8, kOfU8 = 128;
    const hewn_data_type type = problem.output.type;
    return type == HEWN_DATA_TYPE_UINT8 ? &kOfU8 : type == HEWN_DATA_TYPE_UINT4 ? &kOfU4 : &kZero;
}

__attribute__((cold)) int separate_quotients(PassProblems &passes, int count) {
    if (count != 1 || !precision_of(passes[0].problem)) return count;
    const Problem problem = passes[0].problem;
    const int zero_point = passes[0].places[kZeroPoint];
    Tensor quotients = lying_as(problem.output, HEWN_DATA_TYPE_FLOAT32);
    pack_strides(quotients);
    count = 0;
    PassProblem &division =
        add(passes, count, PassProblem::Quotients, *problem.info, kQuotientsInfo);
    division.problem.attributes = problem.attributes;
    set(division, kInput, problem.inputs[kInput], kInput);
    set(division, kScale, problem.inputs[kScale], kScale);
    set(division, 2, quotients, kQuotientsPlace);
    PassProblem &kernel = add(passes, count, PassProblem::Kernel, *problem.info, *problem.info);
    set(kernel, kInput, quotients, kQuotientsPlace);
    set(kernel, kScale, repeated(quotients, HEWN_DATA_TYPE_FLOAT32), kOnePlace);
    set(kernel, kZeroPoint, problem.inputs[kZeroPoint], zero_point);
    set(kernel, kZeroPoint + 1, problem.output, kZeroPoint + 1);
    return count;
}

__attribute__((cold)) int separate_activation(PassProblems &passes, int count) {
    const Problem &problem = passes[0].problem;
    if (count != 1 || !quantized_activation_of(problem)) return count;
    PassProblem &pass = add(passes, count, PassProblem::Clamped, *problem.info, kClampedInfo);
    pass.problem.attributes = problem.attributes;
    set(pass, kInput, problem.output, kSum);
    set(pass, kScale, problem.inputs[kOutputScale], kOutputScale);
    set(pass, kZeroPoint, problem.inputs[kOutputZeroPoint], kOutputZeroPoint);
    set(pass, kZeroPoint + 1, problem.output, kSum);
    return count;
}

}  // namespace hewn
