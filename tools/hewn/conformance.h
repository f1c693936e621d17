// The command `hewn conformance`: runs conformance cases (cases.h), mostly from the tests of other
// projects, with the kernels that this machine can run, and compares the results with the expected
// ones. `hewn verify` runs the built-in cases in the same way.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "device.h"

namespace hewn::cli {

// How many cases passed, failed and so on.
struct Tally {
    // `unusable` counts lines that are no case, and files without cases.
    int64_t passed = 0, failed = 0, skipped = 0, unusable = 0;
    // Why cases were skipped, and how many for each reason.
    std::map<std::string, int64_t> reasons;
    // A line of text for each failed case.
    std::vector<std::string> failures;
    // How many elements passed because of Case::zero_has_no_sign.
    int64_t negative_zeros = 0;

    int64_t cases() const { return passed + failed + skipped + unusable; }
};

// Runs the built-in cases, which are those of tests/data. `op` restricts them to one operator,
// "add"; if it is empty, all run. Prints only errors of cases that cannot be used. Throws as
// conformance() does.
Tally built_in_conformance(const ExecutionOptions &options, const std::string &op);

enum class Conformance {
    Passed,
    Failed,   // at least one case failed
    Unusable  // a line is not a case, or a file has none
};

// Runs all cases of the files. Prints the failures, the reasons for skipped cases and, on the last
// line, "N passed, N failed, N skipped" and how many lines and files could not be used, if any.
// Throws InputError if a file cannot be read, and OperatorError if no variant or not the forced one
// can run.
Conformance conformance(const std::vector<std::string> &files, const ExecutionOptions &options);

}  // namespace hewn::cli
