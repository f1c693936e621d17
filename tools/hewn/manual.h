// The option --man: prints the man page. It is made from the table that parses the command line
// (facts.h).
#pragma once

#include <string>
#include <vector>

#include "facts.h"

namespace hewn::cli {

// Prints the page in the macros of man(7). Its date is today's, or that of SOURCE_DATE_EPOCH if the
// environment has it.
void print_manual(const CommandFacts &hewn, const std::vector<Section> &sections,
                  const std::string &version);

}  // namespace hewn::cli
