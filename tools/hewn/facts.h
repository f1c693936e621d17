// The table of commands and options as plain data. main.cpp makes it from the parser's objects; the
// man page (manual.h) and the completions (complete.h) are made from it. So they always agree with
// what the parser accepts.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace hewn::cli {

struct OptionFacts {
    // "-o", "--output". Empty for a positional argument.
    std::vector<std::string> names;
    // The name of a positional argument: "IN".
    std::string argument;
    // The word that stands for the value in --help, "FILE". Empty for a flag.
    std::string value;
    std::string about;
    // The heading under which --help lists the option.
    std::string group;
    bool required = false;
    // Whether it takes any number of values.
    bool repeats = false;
    // Lists the values that the option takes. Empty if they cannot be listed.
    std::function<std::vector<std::string>()> words;
};

struct CommandFacts {
    std::string name, about;
    std::vector<OptionFacts> options;
    std::vector<CommandFacts> commands;
};

// A text that --help and the man page have after the options.
struct Section {
    const char *title, *text;
    // Whether the man page keeps the text's lines, instead of filling paragraphs.
    bool verbatim = false;
};

}  // namespace hewn::cli
