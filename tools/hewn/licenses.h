// The texts embedded by tools/CMakeLists.txt.
#pragma once

namespace hewn::cli {
extern const char *const LICENSE_TEXT;
extern const char *const THIRD_PARTY_TEXT;
}  // namespace hewn::cli
