// hewn replay: cases for DirectML's own tool DxDispatch, so that its results can be compared with hewn's (docs/windows.md).
#ifndef HEWN_TOOLS_REPLAY_H
#define HEWN_TOOLS_REPLAY_H

#include <string>

namespace hewn::cli {

// For every case of every kernel of this build writes to `folder`, which is made: its inputs as <case>.<tensor>.npy, hewn's
// result as <case>.hewn.npy, and <case>.json, a model that has DxDispatch write <case>.directml.npy. Prints how many. `device` as
// --device. Throws InputError where a file cannot be written, OperatorError where no variant can run.
void replay(const std::string &folder, const std::string &device, const std::string &variant, int threads);

}  // namespace hewn::cli

#endif  // HEWN_TOOLS_REPLAY_H
