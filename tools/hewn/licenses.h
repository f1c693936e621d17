// The texts that `hewn info --licenses` prints. tools/CMakeLists.txt makes licenses.cpp from
// licenses.cpp.in, LICENSE and THIRD_PARTY.md.
#pragma once

namespace hewn::cli {
extern const char *const LICENSE_TEXT;
extern const char *const THIRD_PARTY_TEXT;
}  // namespace hewn::cli
