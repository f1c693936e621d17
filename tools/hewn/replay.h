// The command `hewn replay`: writes cases for DirectML's own tool DxDispatch, together with hewn's
// results. So results of the two can be compared on a machine with Windows (docs/windows.md).
#pragma once

#include <string>

#include "device.h"

namespace hewn::cli {

// Makes `folder` and writes cases for every kernel of this build that DirectML has too. Each case
// has its inputs in <case>.<tensor>.npy, hewn's result in <case>.hewn.npy, and a model in
// <case>.json, which makes DxDispatch write <case>.directml.npy. Prints how many cases were
// written. Throws InputError if a file cannot be written, and OperatorError if no variant can run.
void replay(const std::string &folder, const ExecutionOptions &options);

}  // namespace hewn::cli
