// A case is an operator with its inputs and its result. Conformance cases are JSON objects, one a
// line, in the format of tests/data/README.md.
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
    Array array;      // the data as stored
    TensorDesc desc;  // over the output's sizes
};

struct Case {
    std::string id;
    std::string row;   // of a list of what is tested; empty: none
    std::string skip;  // why the case is not run; if set, nothing below is
    const OperatorInfo *op = nullptr;
    Attributes attributes;
    std::string signature;  // of the kernel it needs: "quantize_linear_f32_u8"
    std::map<std::string, CaseTensor> inputs;
    FeatureLevel level = FeatureLevel::NEWEST;
    // What compiling must be refused with. Arrays have no data then, and `expected` no elements.
    std::optional<hewn_status> refusal;
    TensorDesc output;
    Array expected;
    std::vector<Array> others_expected;  // of the outputs behind the first, an element each
    Tolerance tolerance;                 // the source's own
    bool exact = true;                   // bits must be equal: the tolerance does not apply
    // The one exception, where the output is like a scale: -0.0 passes where 0.0 (not -0.0) is
    // expected. 0 times a negative scale is -0.0, in the source of the case as well. But the source
    // compares with a tolerance and writes 0.0, which says nothing of the sign.
    bool zero_has_no_sign = false;
};

// Throws InputError, whose text starts with `where` ("file:line") and the id, if it is known.
Case parse_case(const std::string &line, const std::string &where);

// What a command needs to run cases: a device (none: the CPU), the choice of a variant there, and
// the kernels that it leaves.
struct CaseRunner {
    std::optional<Device> device;
    DeviceKind kind;
    Choice choice;
    std::map<std::string, hewn_variant_info> runnable;
    CompileOptions options;

    // Throws OperatorError, whose text starts with `command`, if nothing can run.
    CaseRunner(const std::string &command, const ExecutionOptions &execution);

    bool has_kernel(const Case &test) const;
    // The operator's outputs on the case's inputs; what is expected is not looked at.
    // Throws Error.
    std::vector<Array> run(const Case &test) const;
};

}  // namespace hewn::cli
