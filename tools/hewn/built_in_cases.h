// The conformance cases of tests/data. tools/CMakeLists.txt embeds them in the program, so that
// `hewn verify` can run them on any machine to which the program is copied.
#pragma once

#include <vector>

namespace hewn::cli {

struct BuiltInCases {
    const char *name;  // "onnx.jsonl"
    const char *text;  // the contents of the file: one JSON object a line
};

extern const std::vector<BuiltInCases> BUILT_IN_CASES;

}  // namespace hewn::cli
