// dxbc OUT COMPILER_DLL LIST
//
// Compiles the HLSL of Direct3D 12 kernels, which Halide wrote to the files that LIST names, one a
// line. Writes OUT, a table of shaders that runtime/gpu/d3d12.cpp includes. Only the build needs
// this program. It is a Windows program that loads Microsoft's compiler from COMPILER_DLL; on other
// systems it runs under Wine.
//
// Before it compiles a kernel, it changes the text so that the kernel needs only root arguments:
//
//   - Buffers become RWStructuredBuffer. A root descriptor can point to one at any multiple of 4
//     bytes.
//   - Elements of 8 and 16 bits become parts of 32-bit words. The buffer's name says that it has
//     such elements (generators/gpu.h). A store atomically flips those bits of its element that
//     differ. Other threads may write the rest of the word at the same time, but no other thread
//     writes these bits.
//   - One more constant is added: the number of the first group. A dispatch has at most 65,535
//     groups, so larger work takes several dispatches.
#include <d3dcompiler.h>
#include <windows.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>

namespace {

// HLSL functions that load and store elements of 8 or 16 bits.
const char *const kNarrow = R"(
uint hewn_shift(int i, int bits) { return (uint(i) & uint(32 / bits - 1)) * uint(bits); }
uint hewn_load(RWStructuredBuffer<uint> words, int i, int bits) {
    return (words[uint(i) / uint(32 / bits)] >> hewn_shift(i, bits)) & ((1u << bits) - 1u);
}
int hewn_load_signed(RWStructuredBuffer<uint> words, int i, int bits) {
    return int(hewn_load(words, i, bits) << (32 - bits)) >> (32 - bits);
}
void hewn_store(RWStructuredBuffer<uint> words, int i, int bits, uint value) {
    const uint word = uint(i) / uint(32 / bits), shift = hewn_shift(i, bits);
    const uint mask = ((1u << bits) - 1u) << shift;
    InterlockedXor(words[word], (words[word] ^ (value << shift)) & mask);
}
)";

void replace_all(std::string &text, const std::string &from, const std::string &to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
}

// Replaces each access to a buffer of narrow elements by a call of a function in kNarrow: both
// `name[index] = value;` and `name[index]`.
void replace_accesses(std::string &text, const std::string &name, const std::string &bits,
                      bool is_signed) {
    const std::string from = name + "[";
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;) {
        if (at > 0 && (isalnum(text[at - 1]) || text[at - 1] == '_')) {
            at++;
            continue;
        }
        size_t end = at + from.size();
        for (int depth = 1; depth; end++) depth += text[end] == '[' ? 1 : text[end] == ']' ? -1 : 0;
        const std::string index = text.substr(at + from.size(), end - 1 - at - from.size());
        std::string to = (is_signed ? "hewn_load_signed(" : "hewn_load(") + name + ", " + index +
                         ", " + bits + ")";
        if (text.compare(end, 3, " = ") == 0) {
            const size_t semicolon = text.find(';', end);
            to = "hewn_store(" + name + ", " + index + ", " + bits + ", uint(" +
                 text.substr(end + 3, semicolon - end - 3) + "))";
            end = semicolon;
        }
        text.replace(at, end - at, to);
        at += from.size() + 1;  // past the name, which must not be replaced again
    }
}

// Returns the HLSL with the changes that are listed at the top of this file.
std::string with_root_arguments(std::string text) {
    const std::regex narrow(R"(RWBuffer<(u?)int> (\w+_bits(8|16)))");
    std::smatch match;
    while (std::regex_search(text, match, narrow)) {
        const std::string buffer = match[2], bits = match[3];
        const bool is_signed = match[1].length() == 0;
        replace_all(text, match[0], "RWStructuredBuffer<uint> " + buffer);
        replace_accesses(text, buffer, bits, is_signed);
    }
    replace_all(text, "RWBuffer<", "RWStructuredBuffer<");
    replace_all(text, "tgroup_index.x", "(tgroup_index.x + _first_group)");
    replace_all(text, ")\n{", ",\n uniform uint _first_group)\n{");
    return kNarrow + text;
}

std::string read_hlsl(const std::string &name) {
    std::ifstream file(name, std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    const std::string text = bytes.str().c_str();  // ends at the first NUL
    if (text.empty()) throw std::runtime_error("cannot read " + name);
    if (text.find("__NUM_TREADS_") != std::string::npos ||
        text.find("__GROUPSHARED_SIZE") != std::string::npos)
        throw std::runtime_error(name + ": sizes that are only known at run time");
    return text;
}

long count(const std::string &text, const char *pattern) {
    const std::regex regex(pattern);
    return long(std::distance(std::sregex_iterator(text.begin(), text.end(), regex),
                              std::sregex_iterator()));
}

class Compiler {
public:
    explicit Compiler(const char *path) {
        const HMODULE library = LoadLibraryA(path);
        if (!library) throw std::runtime_error(std::string("cannot load ") + path);
        compile_ = reinterpret_cast<pD3DCompile>(
            reinterpret_cast<void *>(GetProcAddress(library, "D3DCompile")));
        strip_ = reinterpret_cast<decltype(&D3DStripShader)>(
            reinterpret_cast<void *>(GetProcAddress(library, "D3DStripShader")));
        if (!compile_ || !strip_)
            throw std::runtime_error("the compiler's DLL lacks D3DCompile or D3DStripShader");
    }

    // Returns the DXBC of an entry point, without the data that only debuggers and reflection read.
    // `name` is the file's name, for messages. Throws if the compiler reports an error.
    ID3DBlob *compile(const std::string &text, const std::string &entry,
                      const std::string &name) const {
        ID3DBlob *code = nullptr, *messages = nullptr, *stripped = nullptr;
        const HRESULT result = compile_(
            text.data(), text.size(), name.c_str(), nullptr, nullptr, entry.c_str(), "cs_5_1",
            D3DCOMPILE_IEEE_STRICTNESS | D3DCOMPILE_OPTIMIZATION_LEVEL3, 0, &code, &messages);
        if (FAILED(result))
            throw std::runtime_error(name + " " + entry + ": " +
                                     (messages
                                          ? static_cast<const char *>(messages->GetBufferPointer())
                                          : "no message"));
        const bool shorter =
            SUCCEEDED(strip_(code->GetBufferPointer(), code->GetBufferSize(),
                             D3DCOMPILER_STRIP_REFLECTION_DATA | D3DCOMPILER_STRIP_DEBUG_INFO |
                                 D3DCOMPILER_STRIP_TEST_BLOBS,
                             &stripped));
        return shorter ? stripped : code;
    }

private:
    pD3DCompile compile_;
    decltype(&D3DStripShader) strip_;
};

// Compiles the kernels in a file, and returns their lines of the table. `shaders` is the number of
// shaders so far, to which theirs are added.
std::string compile_file(const Compiler &compiler, const std::string &name, const std::string &out,
                         int &shaders) {
    const std::string text = with_root_arguments(read_hlsl(name));
    // The name by which the runtime finds the shader.
    const std::string module = std::filesystem::path(name).stem().string();
    std::string table;
    const std::regex kernel(R"(void (_kernel\w*)\(([^)]*)\))");
    for (std::sregex_iterator k(text.begin(), text.end(), kernel), end; k != end; ++k) {
        const std::string entry = (*k)[1], parameters = (*k)[2];
        const long buffers = count(parameters, "RWStructuredBuffer"),
                   constants = count(parameters, "uniform ");
        if (2 * buffers + constants > 64)
            throw std::runtime_error(name + " " + entry + ": more than 64 words of root arguments");
        ID3DBlob *code;
        try {
            code = compiler.compile(text, entry, name);
        } catch (const std::exception &) {
            // Keeps the changed text, so that a person can look at the error.
            std::ofstream(out + ".hlsl", std::ios::binary) << text;
            throw;
        }
        table += "HEWN_SHADER(" + std::to_string(shaders++) + ", \"" + module + "\", \"" + entry +
                 "\", " + std::to_string(buffers) + ", " + std::to_string(constants);
        const auto *at = static_cast<const unsigned char *>(code->GetBufferPointer());
        for (size_t i = 0; i < code->GetBufferSize(); i++)
            table += (i % 32 ? "," : ",\n") + std::to_string(at[i]);
        table += ")\n";
    }
    return table;
}

void run(const std::string &out, const char *compiler_dll, const std::string &list_file) {
    const Compiler compiler(compiler_dll);
    std::string table;
    int shaders = 0;
    std::ifstream list(list_file);
    for (std::string name; std::getline(list, name);)
        table += compile_file(compiler, name, out, shaders);
    std::ofstream stream(out, std::ios::binary);
    stream << "// Written by tools/dxbc: HEWN_SHADER(number, kernel, entry point, buffers, "
              "constants, bytes...)\n"
           << table;
    if (!stream.flush()) throw std::runtime_error("cannot write " + out);
}

}  // namespace

int main(int argc, char **argv) {
    try {
        if (argc != 4) throw std::runtime_error("usage: dxbc OUT COMPILER_DLL LIST");
        run(argv[1], argv[2], argv[3]);
        return 0;
    } catch (const std::exception &error) {
        fprintf(stderr, "dxbc: %s\n", error.what());
        return 1;
    }
}
