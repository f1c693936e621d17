// The shells' scripts in tools/hewn/completion/. tools/CMakeLists.txt embeds them in the program,
// and `hewn --completion` prints them.
#pragma once

#include <vector>

namespace hewn::cli {
struct CompletionScript {
    const char *shell, *text;  // "bash", and the script
};
extern const std::vector<CompletionScript> COMPLETION_SCRIPTS;
}  // namespace hewn::cli
