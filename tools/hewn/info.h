// The command `hewn info`: prints what was built, what this machine can run, which variants are
// picked and why, and the devices.
#pragma once

#include <string>

namespace hewn::cli {

// The version of the linked library: "<major>.<minor>.<patch>".
std::string version_string();

// Prints the information as text, or as JSON.
void print_info(bool json);
// Prints LICENSE and THIRD_PARTY.md as they were when this program was built.
void print_licenses();

}  // namespace hewn::cli
