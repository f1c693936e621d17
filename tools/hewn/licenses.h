// The texts embedded by tools/CMakeLists.txt.
#ifndef HEWN_TOOLS_LICENSES_H
#define HEWN_TOOLS_LICENSES_H

namespace hewn::cli {
extern const char *const LICENSE_TEXT;
extern const char *const THIRD_PARTY_TEXT;
}  // namespace hewn::cli

#endif  // HEWN_TOOLS_LICENSES_H
