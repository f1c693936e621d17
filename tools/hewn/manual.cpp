#include "manual.h"

#include <cctype>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <set>
#include <sstream>

namespace hewn::cli {

namespace {

// Escapes the characters that man would take for commands.
std::string escaped(const std::string &text) {
    std::string result;
    for (const char c : text) {
        if (c == '\\') result += "\\e";
        else if (c == '-') result += "\\-";
        else result += c;
    }
    const bool command = !text.empty() && (text[0] == '.' || text[0] == '\'');
    return command ? "\\&" + result : result;
}

// Prints the words in lines of at most 78 characters. man fills the paragraph anew.
void print_paragraph(const std::string &text) {
    std::istringstream words(text);
    size_t column = 0;
    for (std::string word; words >> word;) {
        const std::string written = escaped(word);
        const bool fits = column > 0 && column + 1 + written.size() <= 78;
        if (column > 0) std::cout << (fits ? ' ' : '\n');
        column = (fits ? column + 1 : 0) + written.size();
        std::cout << written;
    }
    std::cout << '\n';
}

std::string upper(std::string text) {
    for (char &c : text) c = char(std::toupper(static_cast<unsigned char>(c)));
    return text;
}

std::string bold(const std::string &text) { return "\\fB" + escaped(text) + "\\fR"; }
std::string italic(const std::string &text) { return "\\fI" + escaped(text) + "\\fR"; }

// "-o, --output FILE", or an argument's name.
std::string heading_of(const OptionFacts &option) {
    if (option.names.empty()) return italic(option.argument) + (option.repeats ? " ..." : "");
    std::string text;
    for (const std::string &name : option.names) text += (text.empty() ? "" : ", ") + bold(name);
    return option.value.empty() ? text : text + " " + italic(option.value);
}

void print_option(const OptionFacts &option) {
    std::cout << ".TP\n" << heading_of(option) << '\n';
    print_paragraph(option.about + (option.required && !option.names.empty() ? "; required" : ""));
}

// Prints the command with its required options and arguments.
void print_synopsis(const CommandFacts &command) {
    std::cout << ".B hewn " << escaped(command.name) << '\n';
    for (const OptionFacts &option : command.options) {
        if (!option.required) continue;
        if (!option.names.empty()) std::cout << bold(option.names.back()) << ' ';
        std::cout << italic(option.names.empty() ? option.argument : option.value)
                  << (option.repeats ? " ..." : "") << '\n';
    }
    std::cout << "[" << italic("option") << " ...]\n";
}

// The headings of the options that this command has in common with others, in order. hewn's first
// option has the heading of a command's own options.
std::vector<std::string> shared_groups(const CommandFacts &hewn, const CommandFacts &command) {
    const std::string own = hewn.options.front().group;
    std::vector<std::string> groups;
    for (const OptionFacts &option : command.options)
        if (option.group != own && (groups.empty() || groups.back() != option.group))
            groups.push_back(option.group);
    return groups;
}

void print_command(const CommandFacts &hewn, const CommandFacts &command) {
    std::cout << ".SS " << escaped(command.name) << '\n';
    print_synopsis(command);
    std::cout << ".PP\n";
    print_paragraph(command.about);
    const std::string own = hewn.options.front().group;
    for (const OptionFacts &option : command.options) {
        const bool help = !option.names.empty() && option.names.back() == "--help";
        if (option.group == own && !help) print_option(option);
    }
    const std::vector<std::string> groups = shared_groups(hewn, command);
    if (groups.empty()) return;
    std::string text;
    for (const std::string &group : groups) text += (text.empty() ? "" : ", ") + italic(group);
    std::cout << ".PP\nFurther options, below: " << text << ".\n";
}

void print_shared_options(const CommandFacts &hewn) {
    std::set<std::string> printed;
    for (const CommandFacts &command : hewn.commands) {
        for (const std::string &group : shared_groups(hewn, command)) {
            if (!printed.insert(group).second) continue;
            std::cout << ".SS " << escaped(group) << '\n';
            for (const OptionFacts &option : command.options)
                if (option.group == group) print_option(option);
        }
    }
}

void print_section(const Section &section) {
    std::cout << ".SH " << escaped(upper(section.title)) << '\n';
    std::istringstream lines(section.text);
    if (section.verbatim) {
        std::cout << ".nf\n";
        for (std::string line; std::getline(lines, line);) std::cout << escaped(line) << '\n';
        std::cout << ".fi\n";
        return;
    }
    // An empty line of the text ends a paragraph.
    std::string paragraph, before;
    const auto end_paragraph = [&] {
        if (paragraph.empty()) return;
        std::cout << before;
        print_paragraph(paragraph);
        before = ".PP\n";
        paragraph.clear();
    };
    for (std::string line; std::getline(lines, line);) {
        if (line.empty()) end_paragraph();
        else paragraph += line + ' ';
    }
    end_paragraph();
}

std::string date() {
    const char *epoch = std::getenv("SOURCE_DATE_EPOCH");
    const std::time_t seconds =
        epoch && *epoch ? std::time_t(std::strtoll(epoch, nullptr, 10)) : std::time(nullptr);
    char text[16] = "";
    if (const std::tm *day = std::gmtime(&seconds))
        std::strftime(text, sizeof text, "%Y-%m-%d", day);
    return text;
}

}  // namespace

void print_manual(const CommandFacts &hewn, const std::vector<Section> &sections,
                  const std::string &version) {
    std::cout << ".\\\" Made by hewn --man.\n.TH HEWN 1 \"" << date() << "\" \"hewn " << version
              << "\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\nhewn \\- " << escaped(hewn.about)
              << "\n.SH SYNOPSIS\n.B hewn\n"
              << italic("command") << "\n[" << italic("option") << " ...]\n.SH OPTIONS\n";
    print_paragraph("These may stand before a command or after it.");
    for (const OptionFacts &option : hewn.options) print_option(option);
    std::cout << ".SH COMMANDS\n";
    for (const CommandFacts &command : hewn.commands) print_command(hewn, command);
    std::cout << ".SH OPTIONS OF SEVERAL COMMANDS\n";
    print_shared_options(hewn);
    for (const Section &section : sections) print_section(section);
}

}  // namespace hewn::cli
