// Completions for shells: which words may follow on an unfinished command line. The scripts in
// completion/ make a shell call `hewn --complete`, which answers from the same table that parses
// the command line (facts.h).
#pragma once

#include <string>
#include <vector>

#include "facts.h"

namespace hewn::cli {

// Answers `hewn --complete WORD...`. `words` are those between `hewn` and the cursor; the last one
// is unfinished and may be empty. Prints a line for each word that may stand in its place: the
// word, a tab and what the word means. A line ":files" or ":folders" asks the shell to offer files
// or folders instead.
void print_completions(const CommandFacts &hewn, const std::vector<std::string> &words);

// The shells that print_completion_script knows: bash, zsh, fish.
std::vector<std::string> completion_shells();

// Prints the script that makes the shell call `hewn --complete`.
void print_completion_script(const std::string &shell);

}  // namespace hewn::cli
