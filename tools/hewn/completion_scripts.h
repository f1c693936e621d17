// The files of tools/hewn/completion/, embedded by tools/CMakeLists.txt.
#pragma once

#include <vector>

namespace hewn::cli {
struct CompletionScript {
    const char *shell, *text;
};
extern const std::vector<CompletionScript> COMPLETION_SCRIPTS;
}  // namespace hewn::cli
