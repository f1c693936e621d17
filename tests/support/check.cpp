// Compares executions with the reference (check.h).
#include "check.h"

#include <cstring>
#include <vector>

namespace hewn_test {

testing::AssertionResult output_equals(const Problem &problem, const std::vector<uint8_t> &expected,
                                       const std::vector<uint8_t> &actual) {
    const std::string text = difference(problem, expected, actual);
    return text.empty() ? testing::AssertionSuccess() : testing::AssertionFailure() << text;
}

testing::AssertionResult check(Problem &problem, const hewn_compile_options &compile_options,
                               const hewn_execute_options *execute_options) {
    const std::vector<uint8_t> before = problem.output.memory;
    std::vector<std::vector<uint8_t>> inputs_before;
    for (const auto &input : problem.inputs)
        inputs_before.push_back(input ? input->memory : std::vector<uint8_t>());
    std::vector<uint8_t> expected = before;
    evaluate_reference(problem, expected);

    // One problem in six has its scales and zero points as constants, and one in six any of its
    // inputs.
    const size_t way = way_of(problem);
    const Constants constants =
        way / 6 % 2 ? Constants(problem, uint32_t(way / 12)) : Constants(problem);
    const bool with_constants = way / 2 % 3 == 0 && constants.mask;
    const hewn_compile_options options =
        with_constants ? constants.added_to(compile_options) : compile_options;
    OperatorPtr op;
    hewn_device *device = device_for(options.variant);
    const Outcome compiled = compile(problem.description(), &options, op, device);
    if (compiled.status != HEWN_STATUS_OK)
        return testing::AssertionFailure() << "compile: " << compiled << "; " << describe(problem);
    // If a variant's full name is forced, exactly that variant must run.
    if (options.variant && std::strstr(options.variant, "__") &&
        std::strcmp(options.variant, hewn_operator_variant(op.get())) != 0) {
        return testing::AssertionFailure()
               << "forced " << options.variant << " but got " << hewn_operator_variant(op.get());
    }
    const Outcome executed =
        execute(op.get(), problem, execute_options, device, with_constants ? constants.mask : 0);
    if (executed.status != HEWN_STATUS_OK)
        return testing::AssertionFailure() << "execute: " << executed << "; " << describe(problem);

    for (size_t i = 0; i < problem.inputs.size(); i++) {
        if (problem.inputs[i] && problem.inputs[i]->memory != inputs_before[i]) {
            return testing::AssertionFailure()
                   << "input " << i << " was written; " << describe(problem);
        }
    }
    testing::AssertionResult result = output_equals(problem, expected, problem.output.memory);
    problem.output.memory = before;
    return result;
}

testing::AssertionResult check(Problem &problem, const std::string &variant, int32_t max_threads) {
    return check(problem, compile_options(variant.c_str(), max_threads));
}

}  // namespace hewn_test
