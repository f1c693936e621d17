// hewn conformance: cases written by others against the kernels of this machine.
#ifndef HEWN_TOOLS_CONFORMANCE_H
#define HEWN_TOOLS_CONFORMANCE_H

#include <string>
#include <vector>

namespace hewn::cli {

// Runs every case of the files. Prints failures and, last, "N passed, N failed, N skipped". True if none failed. `device` as
// --device. Throws InputError for a file or line that cannot be used, OperatorError where the forced variant or no variant can
// run.
bool conformance(const std::vector<std::string> &files, const std::string &device, const std::string &variant, int threads);

}  // namespace hewn::cli

#endif  // HEWN_TOOLS_CONFORMANCE_H
