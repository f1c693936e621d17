// The names of the operating system and the processor, for the report of `hewn verify`.
#pragma once

#include <string>

namespace hewn::cli {

std::string system_name();     // "Linux 6.1.0 x86_64"
std::string processor_name();  // "AMD EPYC 7B13"; "unknown" where the system does not tell

}  // namespace hewn::cli
