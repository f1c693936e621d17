// Cases: an operator, its inputs, its result. Conformance cases are JSON objects, one a line, in the format of
// tests/conformance/README.md.
#ifndef HEWN_TOOLS_CASES_H
#define HEWN_TOOLS_CASES_H

#include <map>
#include <optional>
#include <string>

#include "array.h"
#include "device.h"
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
    std::string skip;  // why the case is not run; then nothing below is set
    hewn_operator_type type = 0;
    std::string signature;  // of the kernel it needs: "quantize_linear_f32_u8"
    std::map<std::string, CaseTensor> inputs;
    Array expected;
    Tolerance tolerance;  // the source's own
    bool exact = true;    // the tolerance does not apply: bits must be equal
    // The one exception, in DEQUANTIZE_LINEAR. 0 times a negative scale is -0.0, also in the source that has the case; but it
    // compares with a tolerance and writes 0.0, which says nothing of the sign. Such a 0.0 (not a -0.0) is met by -0.0.
    bool zero_has_no_sign = false;
};

// Throws InputError, its text starting with `where` ("file:line") and, where it is known, the id.
Case parse_case(const std::string &line, const std::string &where);

// What a command runs cases with: a device (none: the CPU), the choice of a variant there, and the kernels that it leaves.
struct CaseRunner {
    std::optional<Device> device;
    DeviceKind kind;
    Choice choice;
    std::map<std::string, hewn_variant_info> runnable;
    CompileOptions options;

    // `device_name` as --device. Throws OperatorError, its text starting with `command`, where nothing can run.
    CaseRunner(const std::string &command, const std::string &device_name, const std::string &variant, int threads);

    // The operator's result on the case's inputs; of `expected` only type and sizes are used. Throws Error.
    Array run(const Case &test) const;
};

}  // namespace hewn::cli

#endif  // HEWN_TOOLS_CASES_H
