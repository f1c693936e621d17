// hewn replay: writes cases for DirectML's own tool DxDispatch, to compare its results with hewn's
// (docs/windows.md).
#pragma once

#include <string>

#include "device.h"

namespace hewn::cli {

// Makes `folder` and writes there, for every case of every kernel of this build: its inputs as
// <case>.<tensor>.npy, hewn's result as <case>.hewn.npy, and <case>.json, a model that makes
// DxDispatch write <case>.directml.npy. Prints how many. Throws InputError if a file cannot be
// written, OperatorError if no variant can run.
void replay(const std::string &folder, const ExecutionOptions &options);

}  // namespace hewn::cli
