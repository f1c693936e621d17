// The conformance cases of tests/data, embedded by tools/CMakeLists.txt: `hewn verify` runs them
// wherever the program was copied.
#pragma once

#include <vector>

namespace hewn::cli {

struct BuiltInCases {
    const char *name;  // "onnx.jsonl"
    const char *text;
};

extern const std::vector<BuiltInCases> BUILT_IN_CASES;

}  // namespace hewn::cli
