// Names that users type: NumPy's names of data types, and suggestions for a name that is not known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hewn::cli {

// NumPy's, ml_dtypes' and Python's name of a type, or of an attribute's value: "uint8" for "u8",
// "bfloat16" for "bf16", "float8_e5m2" for "f8e5m2".
std::string numpy_name(std::string_view word);

// "LEAKY_RELU" for "leaky_relu".
std::string in_capitals(std::string word);

// "a, b, c"
std::string joined(const std::vector<std::string> &names);

// The end of a message about a name that is none of `names`. If one of them is near to what was
// given: "; did you mean u8?". Otherwise it lists `listed`, if these are few: "; it is one of i8,
// u8". Otherwise it is empty.
std::string suggestion(const std::string &given, const std::vector<std::string> &names,
                       const std::vector<std::string> &listed);
inline std::string suggestion(const std::string &given, const std::vector<std::string> &names) {
    return suggestion(given, names, names);
}

}  // namespace hewn::cli
