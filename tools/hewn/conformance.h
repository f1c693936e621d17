// hewn conformance: runs cases that others wrote on the kernels of this machine.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "device.h"

namespace hewn::cli {

// How cases went.
struct Tally {
    int64_t passed = 0, failed = 0, skipped = 0, unusable = 0;
    std::map<std::string, int64_t> reasons;  // of skipped cases
    std::vector<std::string> failures;       // a line each
    int64_t negative_zeros = 0;

    int64_t cases() const { return passed + failed + skipped + unusable; }
};

// The cases of tests/data, which are built in; of one operator, "add", alone unless it is empty.
Tally built_in_conformance(const ExecutionOptions &options, const std::string &op);

enum class Conformance {
    Passed,
    Failed,   // some case did
    Unusable  // some line is not a case, or some file has none
};

// Runs every case of the files. Prints failures and, last, "N passed, N failed, N skipped", and how
// many lines and files could not be used, if any. Throws InputError if a file cannot be read,
// OperatorError if no variant, or not the forced one, can run.
Conformance conformance(const std::vector<std::string> &files, const ExecutionOptions &options);

}  // namespace hewn::cli
