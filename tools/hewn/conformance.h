// hewn conformance: cases written by others against the kernels of this machine.
#ifndef HEWN_TOOLS_CONFORMANCE_H
#define HEWN_TOOLS_CONFORMANCE_H

#include <string>
#include <vector>

namespace hewn::cli {

enum class Conformance {
    Passed,
    Failed,   // some case did
    Unusable  // some line is no case, or some file holds none
};

// Runs every case of the files. Prints failures and, last, "N passed, N failed, N skipped", and how many lines and files could
// not be used, if any. `device` as --device. Throws InputError for a file that cannot be read, OperatorError where the forced
// variant or no variant can run.
Conformance conformance(const std::vector<std::string> &files, const std::string &device, const std::string &variant,
                        int threads);

}  // namespace hewn::cli

#endif  // HEWN_TOOLS_CONFORMANCE_H
