// hewn conformance: runs cases that others wrote on the kernels of this machine.
#pragma once

#include <string>
#include <vector>

#include "device.h"

namespace hewn::cli {

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
