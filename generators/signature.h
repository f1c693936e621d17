// The names of data types, and of the types of a kernel.
#ifndef HEWN_GENERATORS_SIGNATURE_H
#define HEWN_GENERATORS_SIGNATURE_H

#include <Halide.h>

#include <sstream>
#include <string>

namespace hewn {

// f32 f16 i8 u8 i16 u16 i32 u32 i64 u64
inline Halide::Type type_named(const std::string &name) {
    if (name.size() >= 2 && name.find_first_not_of("0123456789", 1) == std::string::npos) {
        const int bits = std::stoi(name.substr(1));
        if (name[0] == 'f') return Halide::Float(bits);
        if (name[0] == 'i') return Halide::Int(bits);
        if (name[0] == 'u') return Halide::UInt(bits);
    }
    throw Halide::CompileError("'" + name + "' is not a data type\n");
}

// The index-th type of "f32_u8".
inline Halide::Type type_of_signature(const std::string &signature, int index) {
    std::istringstream words(signature);
    std::string word;
    for (int i = 0; i <= index; i++) std::getline(words, word, '_');
    return type_named(word);
}

}  // namespace hewn

#endif  // HEWN_GENERATORS_SIGNATURE_H
