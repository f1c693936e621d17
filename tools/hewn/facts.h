// The table that parses the command line, as plain data: the man page and the completions are made
// of it.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace hewn::cli {

struct OptionFacts {
    std::vector<std::string> names;  // "-o", "--output"; empty for an argument told by its place
    std::string argument;            // the name of such an argument: "IN"
    std::string value;               // what stands for the value, "FILE"; empty for a flag
    std::string about;
    std::string group;  // the heading under which --help has it
    bool required = false;
    bool repeats = false;  // whether it takes any number of values
    // The values that it takes, if those can be listed.
    std::function<std::vector<std::string>()> words;
};

struct CommandFacts {
    std::string name, about;
    std::vector<OptionFacts> options;
    std::vector<CommandFacts> commands;
};

// What --help says after the options, and the man page too.
struct Section {
    const char *title, *text;
    bool verbatim = false;  // whether lines must not be joined
};

}  // namespace hewn::cli
