// Kernels' signatures: the names of data types, the types that a generator supports, and the errors
// for types that it does not support.
#pragma once

#include <Halide.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace hewn {

using namespace Halide;

// The kernel that this process generates, for messages: "quantize_linear f32_u8".
inline std::string kernel_name;

// Ends the generator's run with the message `rule`, unless `holds`. Helpers refuse the types that
// they do not support by this, since with those they would give wrong results and no compiler would
// warn.
inline void require(bool holds, const std::string &rule) {
    if (!holds) throw CompileError(kernel_name + ": " + rule + "\n");
}

inline std::string type_name(const Type &type) {
    const char *const kind = type.is_bfloat()  ? "bf"
                             : type.is_float() ? "f"
                             : type.is_int()   ? "i"
                                               : "u";
    return kind + std::to_string(type.bits());
}
inline std::string rule_for(const char *helper, const std::string &types, const Type &type) {
    return std::string(helper) + " holds " + types + ", not " + type_name(type);
}

inline bool is_integer_up_to(int bits, const Type &type) {
    return type.is_int_or_uint() && type.bits() <= bits;
}
inline void require_byte(const char *helper, const Type &type) {
    require(is_integer_up_to(8, type), rule_for(helper, "integers of 8 bits", type));
}
inline void require_integer_up_to(int bits, const char *helper, const Type &type) {
    require(is_integer_up_to(bits, type),
            rule_for(helper, "integers of up to " + std::to_string(bits) + " bits", type));
}
inline void require_type(const char *helper, const Type &expected, const Type &type) {
    require(type == expected, rule_for(helper, type_name(expected), type));
}

// The type with this name: f32 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64. f8 are the codes of small
// floats.
inline Type type_named(const std::string &name) {
    if (name == "bf16") return BFloat(16);
    if (name == "f8") return UInt(8);
    const int bits = std::stoi(name.substr(1));
    return name[0] == 'f' ? Float(bits) : name[0] == 'i' ? Int(bits) : UInt(bits);
}

// An operator and, for each word of its signatures, the types that its forms can be made for, such
// as "f32 f16".
struct SignatureTypes {
    std::string operator_name;
    std::vector<std::string> words;
    bool one_width = false;  // all words have types of one width
};

inline std::vector<std::string> split(const std::string &text, char separator) {
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; std::getline(stream, word, separator);) words.push_back(word);
    return words;
}

// The index-th type of a signature such as "f32_u8", all of whose types must be among `types`.
inline Type type_of_signature(const SignatureTypes &types, const std::string &signature,
                              int index) {
    kernel_name = types.operator_name + " " + signature;
    const std::vector<std::string> words = split(signature, '_');
    require(words.size() == types.words.size(),
            "a signature of this operator has " + std::to_string(types.words.size()) + " types");
    for (size_t i = 0; i < words.size(); i++) {
        const std::vector<std::string> known = split(types.words[i], ' ');
        require(std::find(known.begin(), known.end(), words[i]) != known.end(),
                "type " + std::to_string(i + 1) + " is '" + words[i] +
                    "', and must be one of: " + types.words[i]);
        require(!types.one_width || words[i].substr(1) == words[0].substr(1),
                "the types of this operator have one width");
    }
    return type_named(words[index]);
}

// The type of a zero point for the index-th type of a signature: that type itself, but for small
// floats that of their format.
inline Type zero_point_type_of_signature(const SignatureTypes &types, const std::string &signature,
                                         int index) {
    const Type type = type_of_signature(types, signature, index);
    return split(signature, '_')[index] == "f8" ? UInt(32) : type;
}

// The type in which CPU kernels hold elements. bf16 is held as bits: Halide's conversion loses NaN.
inline Type held_type(const Type &type) { return type.is_bfloat() ? UInt(16) : type; }

}  // namespace hewn
