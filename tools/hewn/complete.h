// What may follow on an unfinished command line, for the shells' completions.
#pragma once

#include <string>
#include <vector>

#include "facts.h"

namespace hewn::cli {

// hewn --complete WORD...: the words between `hewn` and the cursor, the last one unfinished, maybe
// empty. Prints a line for each word that may stand there: the word, a tab and what it is. A line
// ":files" or ":folders" asks the shell for those instead.
void print_completions(const CommandFacts &hewn, const std::vector<std::string> &words);

// The shells that print_completion_script knows: bash, zsh, fish.
std::vector<std::string> completion_shells();

// The script that makes the shell ask hewn.
void print_completion_script(const std::string &shell);

}  // namespace hewn::cli
