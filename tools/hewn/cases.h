// Cases: an operator with its inputs and the expected result. parse_case reads one from a JSON
// object in the format of tests/data/README.md, and CaseRunner runs it. `hewn conformance`, `hewn
// verify` and `hewn replay` use them.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "array.h"
#include "device.h"
#include "table.h"
#include "variants.h"

namespace hewn::cli {

// A result passes if it is within `ulp` units in the last place, or within abs + rel * |expected|.
struct Tolerance {
    double ulp = 0, abs = 0, rel = 0;
};

struct CaseTensor {
    // The data as stored.
    Array array;
    // How the stored data lies over the output's sizes, by strides and blocks.
    TensorDesc desc;
};

struct Case {
    std::string id;
    // The row of a list of what is tested to which the case belongs. Empty: none.
    std::string row;
    // Why the case is not run. Empty: it is run. If this is set, the members below may not be.
    std::string skip;
    const OperatorInfo *op = nullptr;
    Attributes attributes;
    // The kernel that the case needs, without a target: "quantize_linear_f32_u8".
    std::string signature;
    std::map<std::string, CaseTensor> inputs;
    FeatureLevel level = FeatureLevel::NEWEST;
    // If set: the status with which hewn_compile must refuse the case. `inputs` then have no data
    // and `expected` has no elements.
    std::optional<hewn_status> refusal;
    TensorDesc output;
    Array expected;
    // The outputs after the first, and their expected values. Nothing, and an empty array: the
    // operator does not write this one.
    std::vector<std::optional<TensorDesc>> others;
    std::vector<Array> others_expected;
    // The tolerance with which the source of the case compares.
    Tolerance tolerance;
    // If true, bits must be equal: the tolerance does not apply.
    bool exact = true;
    // The one exception to this. If true, a result of -0.0 with a negative scale passes where 0.0
    // is expected. 0 times a negative scale is -0.0 in the source of the case too, but the source
    // compares with a tolerance and wrote 0.0, without regard to the sign. Only operators whose
    // output has the scale's type have such results.
    bool zero_has_no_sign = false;
};

// Reads a case from a line of JSON. Throws InputError, whose text starts with `where`
// ("file:line"), followed by the case's id if that is known.
Case parse_case(const std::string &line, const std::string &where);

// All that a command needs to run cases.
struct CaseRunner {
    // Nothing: the CPU.
    std::optional<Device> device;
    DeviceKind kind;
    // The variants that will run, and why.
    Choice choice;
    // The kernels that can run under this choice, by name ("add_f32").
    std::map<std::string, hewn_variant_info> runnable;
    CompileOptions options;

    // Throws OperatorError, whose text starts with `command`, if no variant can run.
    CaseRunner(const std::string &command, const ExecutionOptions &execution);

    bool has_kernel(const Case &test) const;
    // Compiles and executes the case, and returns the operator's outputs. Does not compare them
    // with the expected ones. If the case must be refused, the operator is only compiled. Throws
    // Error, as the library does.
    std::vector<Array> run(const Case &test) const;
};

}  // namespace hewn::cli
