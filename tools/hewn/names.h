// Names that users type: NumPy's for data types, and what is said of one that is not known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hewn::cli {

// NumPy's and Python's name of a type, or of an attribute's value: "uint8" for "u8", "bfloat16" for
// "bf16".
std::string numpy_name(std::string_view word);

// "a, b, c"
std::string joined(const std::vector<std::string> &names);

// Ends a message about a name that is none of `names`: "; did you mean u8?". If none is near, those
// of `listed`, where they are few: "; it is one of i8, u8". Else nothing.
std::string suggestion(const std::string &given, const std::vector<std::string> &names,
                       const std::vector<std::string> &listed);
inline std::string suggestion(const std::string &given, const std::vector<std::string> &names) {
    return suggestion(given, names, names);
}

}  // namespace hewn::cli
