// Makes the list of passes of an operator. Most operators have one pass, the operator itself.
#include "lowering.h"

namespace hewn {

namespace {

// The tensors of DYNAMIC_QUANTIZE_LINEAR, in the order of the operator table.
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
                       kQuotientsInfo = info_of_pass(2, 1);
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

// DYNAMIC_QUANTIZE_LINEAR has three passes: the input's range, the parameters that follow from the
// range, and QUANTIZE_LINEAR with these parameters. For an empty input only the parameters are
// computed.
int lower_dynamic(const Problem &problem, PassProblems &passes) {
    const Tensor &input = tensor(problem, kDynamicInput);
    Tensor ranges = repeated(input, HEWN_DATA_TYPE_UINT32);
    ranges.bytes *= 2;
    int count = 0;
    if (!input.empty()) {
        PassProblem &pass = add(passes, count, PassProblem::Ranges, *problem.info, kRangesInfo);
        set(pass, 0, input, kDynamicInput);
        set(pass, 1, ranges, kRangesPlace);
    }
    PassProblem &parameters =
        add(passes, count, PassProblem::Parameters, *problem.info, kParametersInfo);
    set(parameters, 0, ranges, kRangesPlace);
    set(parameters, 1, tensor(problem, kDynamicScale), kDynamicScale);
    set(parameters, 2, tensor(problem, kDynamicZeroPoint), kDynamicZeroPoint);
    if (input.empty()) return count;
    const OperatorInfo &info = info_of(HEWN_OPERATOR_QUANTIZE_LINEAR);
    PassProblem &pass = add(passes, count, PassProblem::Kernel, info, info);
    set(pass, kInput, input, kDynamicInput);
    set(pass, kScale, repeated(input, HEWN_DATA_TYPE_FLOAT32), kDynamicScale);
    set(pass, kZeroPoint, repeated(input, problem.output.type), kDynamicZeroPoint);
    set(pass, kZeroPoint + 1, problem.output, kDynamicOutput);
    return count;
}

}  // namespace

__attribute__((cold)) int lower(const Problem &problem, PassProblems &passes) {
    if (kHasDynamic && problem.info->type == HEWN_OPERATOR_DYNAMIC_QUANTIZE_LINEAR)
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
