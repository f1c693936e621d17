#include "complete.h"

#include <algorithm>
#include <iostream>
#include <set>

#include "completion_scripts.h"

namespace hewn::cli {

namespace {

bool begins(const std::string &text, const std::string &prefix) {
    return text.compare(0, prefix.size(), prefix) == 0;
}

// Follows the command line as the parser would, but never refuses a word. read() takes each
// finished word in turn; print() then offers words for the unfinished one.
class Line {
public:
    explicit Line(const CommandFacts &hewn) : hewn_(hewn), command_(&hewn) {}

    void read(const std::string &word) {
        if (pending_) {
            if (word != "=") pending_ = nullptr;  // bash splits --type=u8 into --type, =, u8
        } else if (is_option(word)) {
            read_option(word);
        } else if (word == "--" && !only_arguments_) {
            only_arguments_ = true;
        } else if (const CommandFacts *command = command_called(word)) {
            command_ = command;
        } else {
            arguments_++;
        }
    }

    void print(const std::string &word) const {
        if (pending_) return print_values(*pending_, word == "=" ? "" : word, "");
        const size_t equals = word.find('=');
        if (is_option(word) && equals != word.npos) {
            const OptionFacts *option = option_called(word.substr(0, equals));
            if (option && !option->value.empty())
                print_values(*option, word.substr(equals + 1), word.substr(0, equals + 1));
        } else if (is_option(word) || (word == "-" && !only_arguments_)) {
            print_options(word);
        } else if (command_ == &hewn_) {
            for (const CommandFacts &command : hewn_.commands)
                offer(command.name, command.about, word);
        } else if (const OptionFacts *argument = next_argument()) {
            print_values(*argument, word, "");
        } else if (word.empty() && !only_arguments_) {
            print_options(word);
        }
    }

private:
    const CommandFacts &hewn_, *command_;
    // The option whose value is the next word; null if there is none.
    const OptionFacts *pending_ = nullptr;
    // Options that were given already.
    std::set<const OptionFacts *> given_;
    // How many positional arguments were given.
    size_t arguments_ = 0;
    // Whether "--" was given, after which there are no options.
    bool only_arguments_ = false;

    bool is_option(const std::string &word) const {
        return !only_arguments_ && word.size() > 1 && word[0] == '-' && word != "--";
    }

    void read_option(const std::string &word) {
        const size_t equals = word.find('=');
        const OptionFacts *option = option_called(word.substr(0, equals));
        if (!option) return;
        given_.insert(option);
        if (!option->value.empty() && equals == word.npos) pending_ = option;
    }

    // Visits the command's options and hewn's own, which may also stand after a command.
    template<class Visit>
    void for_each_option(const Visit &visit) const {
        for (const OptionFacts &option : command_->options) visit(option);
        if (command_ == &hewn_) return;
        for (const OptionFacts &option : hewn_.options) visit(option);
    }

    const OptionFacts *option_called(const std::string &name) const {
        const OptionFacts *found = nullptr;
        for_each_option([&](const OptionFacts &option) {
            if (!found && std::count(option.names.begin(), option.names.end(), name))
                found = &option;
        });
        return found;
    }

    const CommandFacts *command_called(const std::string &name) const {
        if (command_ != &hewn_) return nullptr;
        for (const CommandFacts &command : hewn_.commands)
            if (command.name == name) return &command;
        return nullptr;
    }

    const OptionFacts *next_argument() const {
        size_t left = arguments_;
        for (const OptionFacts &option : command_->options) {
            if (!option.names.empty()) continue;
            if (option.repeats || left == 0) return &option;
            left--;
        }
        return nullptr;
    }

    static void offer(const std::string &word, const std::string &about, const std::string &begun) {
        if (begins(word, begun)) std::cout << word << '\t' << about << '\n';
    }

    // Offers each option by its longest name. A short name is offered only if it was typed.
    void print_options(const std::string &begun) const {
        std::set<std::string> printed;  // both the command and hewn have --help
        for_each_option([&](const OptionFacts &option) {
            if (option.names.empty() || given_.count(&option)) return;
            const std::string &name = *std::max_element(
                option.names.begin(), option.names.end(),
                [](const std::string &a, const std::string &b) { return a.size() < b.size(); });
            for (const std::string &each : option.names) {
                if ((each == name || each == begun) && printed.insert(each).second)
                    offer(each, option.about, begun);
            }
        });
    }

    // Offers the option's values that begin with `begun`. `before` is put in front of each: "" or
    // "--type=".
    void print_values(const OptionFacts &option, const std::string &begun,
                      const std::string &before) const {
        if (option.words) {
            for (const std::string &word : option.words())
                offer(before + word, option.value, before + begun);
        } else if (option.value == "DIR") {
            std::cout << ":folders\n";
        } else if (option.value.find("FILE") != std::string::npos) {
            std::cout << ":files\n";
        }
    }
};

}  // namespace

void print_completions(const CommandFacts &hewn, const std::vector<std::string> &words) {
    Line line(hewn);
    for (size_t i = 0; i + 1 < words.size(); i++) line.read(words[i]);
    line.print(words.empty() ? "" : words.back());
}

std::vector<std::string> completion_shells() {
    std::vector<std::string> shells;
    for (const CompletionScript &script : COMPLETION_SCRIPTS) shells.push_back(script.shell);
    return shells;
}

void print_completion_script(const std::string &shell) {
    for (const CompletionScript &script : COMPLETION_SCRIPTS)
        if (shell == script.shell) std::cout << script.text;
}

}  // namespace hewn::cli
