#include "names.h"

#include "../../runtime/base/nearest.h"

namespace hewn::cli {

std::string numpy_name(std::string_view word) {
#define HEWN_SMALL_FLOAT(known, name, numpy, ...) \
    if (word == #known) return #numpy;
#include "types.inc"
    const size_t digits = word.find_first_of("0123456789");
    if (digits == word.npos || digits == 0) return std::string(word);
    const char letter = word[digits - 1];
    const char *kind = letter == 'f' ? "float" : letter == 'i' ? "int" : "uint";
    return std::string(word.substr(0, digits - 1)) + kind + std::string(word.substr(digits));
}

std::string in_capitals(std::string word) {
    for (char &c : word) {
        if (c >= 'a' && c <= 'z') c = char(c - 'a' + 'A');
    }
    return word;
}

std::string joined(const std::vector<std::string> &names) {
    std::string text;
    for (const std::string &name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

std::string suggestion(const std::string &given, const std::vector<std::string> &names,
                       const std::vector<std::string> &listed) {
    constexpr size_t FEW = 20;
    Nearest nearest(given.c_str());
    for (const std::string &name : names) nearest.consider(name.c_str());
    if (nearest.name()) return std::string("; did you mean ") + nearest.name() + "?";
    return listed.empty() || listed.size() > FEW ? "" : "; it is one of " + joined(listed);
}

}  // namespace hewn::cli
