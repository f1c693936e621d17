// Makes the list of passes of an operator. Most operators have one pass, the operator itself.
#include "lowering.h"

namespace hewn {

namespace {

// The tensors of DYNAMIC_QUANTIZE_LINEAR and DYNAMIC_QUANTIZE, in the order of the operator table.
enum DynamicTensor { kDynamicInput, kDynamicOutput, kDynamicScale, kDynamicZeroPoint };

// Describes a pass that is not an operator of the table. All of its inputs are operands.
constexpr OperatorInfo info_of_pass(int inputs, int outputs) {
    OperatorInfo info = {};
    info.input_count = info.operand_count = inputs;
    info.output_count = outputs;
    for (int i = 0; i < inputs; i++) info.operands[i] = i;
    return info;
}
constexpr OperatorInfo kRangesInfo = info_of_pass(1, 1), kParametersInfo = info_of_pass(1, 2),
                       kQuotientsInfo = info_of_pass(2, 1), kBlocksInfo = info_of_pass(3, 3);
// Its scale and zero point have one element, so they are no operands.
constexpr OperatorInfo kClampedInfo = [] {
    OperatorInfo info = info_of_pass(3, 1);
    info.operand_count = 1;
    return info;
}();

const OperatorInfo &info_of(hewn_operator_type type) {
    const OperatorInfo *info = kOperators;
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
bool has_one_block(const Problem &problem) {
    const Tensor &scale = tensor(problem, kDynamicScale);
    for (int d = 0; d < scale.rank; d++) {
        if (stored(scale, d) > 1) return false;
    }
    return true;
}

// Sets the zero point that a pass reads in the place of one that the operator does not write.
void set_middle(const Problem &problem, PassProblem &pass) {
    if (kHasFormats && problem.format)
        set(pass, kZeroPoint, repeated(problem.output, HEWN_DATA_TYPE_UINT32), kFormatPlace);
    else set(pass, kZeroPoint, repeated(problem.output, problem.output.type), kMiddlePlace);
    pass.problem.format = problem.format;
}

// Appends QUANTIZE_LINEAR with the scale and the zero point that were written.
void add_quantization(const Problem &problem, PassProblems &passes, int &count) {
    const OperatorInfo &info = info_of(HEWN_OPERATOR_QUANTIZE_LINEAR);
    PassProblem &pass = add(passes, count, PassProblem::Kernel, info, info);
    const Tensor &input = tensor(problem, kDynamicInput);
    Tensor scale = tensor(problem, kDynamicScale), zero_point = tensor(problem, kDynamicZeroPoint);
    if (problem.info->tensors[kDynamicScale].one_element) {  // which has sizes of 1
        scale = repeated(input, scale.type);
        zero_point = repeated(input, zero_point.type);
    }
    set(pass, kInput, input, kDynamicInput);
    set(pass, kScale, scale, kDynamicScale);
    set(pass, kZeroPoint, zero_point, kDynamicZeroPoint);
    if (kHasDynamicQuantize && !tensor(problem, kDynamicZeroPoint).present)
        set_middle(problem, pass);
    set(pass, kZeroPoint + 1, problem.output, kDynamicOutput);
}

// An operator that chooses scales has three passes: the input's range, the parameters that follow
// from the range, and QUANTIZE_LINEAR with these parameters. If there are several blocks, the first
// two are one pass. DYNAMIC_QUANTIZE_LINEAR has one block. For an empty input it computes only the
// parameters.
int lower_dynamic(const Problem &problem, PassProblems &passes) {
    const bool has_blocks =
        kHasDynamicQuantize && problem.info->type == HEWN_OPERATOR_DYNAMIC_QUANTIZE;
    const Tensor &input = tensor(problem, kDynamicInput);
    const Tensor &scale = tensor(problem, kDynamicScale),
                 &zero_point = tensor(problem, kDynamicZeroPoint);
    int count = 0;
    if (has_blocks && input.empty()) return 0;
    if (has_blocks && !has_one_block(problem)) {
        PassProblem &pass =
            add(passes, count, PassProblem::BlockParameters, *problem.info, kParametersInfo);
        set(pass, 0, input, kDynamicInput);
        set(pass, 1, scale, kDynamicScale);
        set(pass, 2, zero_point, kDynamicZeroPoint);
        pass.problem.attributes = problem.attributes;
        add_quantization(problem, passes, count);
        return count;
    }
    Tensor ranges = repeated(input, HEWN_DATA_TYPE_UINT32);
    ranges.bytes *= 2;
    if (!input.empty()) {
        PassProblem &pass = add(passes, count, PassProblem::Ranges, *problem.info, kRangesInfo);
        set(pass, 0, input, kDynamicInput);
        set(pass, 1, ranges, kRangesPlace);
    }
    PassProblem &parameters =
        add(passes, count, PassProblem::Parameters, *problem.info, kParametersInfo);
    set(parameters, 0, ranges, kRangesPlace);
    set(parameters, 1, scale, kDynamicScale);
    set(parameters, 2, zero_point, kDynamicZeroPoint);
    parameters.problem.attributes = problem.attributes;
    if (!input.empty()) add_quantization(problem, passes, count);
    return count;
}

}  // namespace

__attribute__((cold)) int lower(const Problem &problem, PassProblems &passes) {
    if (kHasDynamic && (problem.info->type == HEWN_OPERATOR_DYNAMIC_QUANTIZE_LINEAR ||
                        problem.info->type == HEWN_OPERATOR_DYNAMIC_QUANTIZE))
        return lower_dynamic(problem, passes);
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
    const Tensor &zero_point = tensor(problem, kDynamicZeroPoint);
    pass = {};
    pass.kind = PassProblem::Blocks;
    pass.kernels = problem.info;
    pass.problem.info = &kBlocksInfo;
    pass.problem.attributes = problem.attributes;
    const hewn_data_type code = kernel_type(*problem.info, problem.output);
    set(pass, kInput, tensor(problem, kDynamicInput), kDynamicInput);
    set(pass, kScale, lying_as(tensor(problem, kDynamicScale), HEWN_DATA_TYPE_FLOAT32),
        kDynamicScale);
    if (zero_point.present) set(pass, kZeroPoint, lying_as(zero_point, code), kDynamicZeroPoint);
    else set_middle(problem, pass);
    set(pass, kZeroPoint + 1, problem.output, kDynamicOutput);
    set(pass, kChosenScale, tensor(problem, kDynamicScale), kDynamicScale);
    set(pass, kChosenZeroPoint, zero_point, kDynamicZeroPoint);
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
