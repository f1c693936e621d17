#pragma once

#include <string>

namespace hewn_bench {

// From now on hewn's peers see a CPU with AVX2 but without AVX-512, AMX and AVX-VNNI, and choose
// what they would run there. Call it before any of them looks. It loads onnxruntime, that library's
// file. Throws std::runtime_error if it cannot be done.
void hide_avx512(const std::string &onnxruntime);

}  // namespace hewn_bench
