// hewn info: what was built, what this machine can run, what is picked and why.
#pragma once

#include <string>

namespace hewn::cli {

// The version of the linked library: "<major>.<minor>.<patch>".
std::string version_string();

void print_info(bool json);
// LICENSE and THIRD_PARTY.md as they were when this program was built.
void print_licenses();

}  // namespace hewn::cli
