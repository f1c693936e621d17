// The rows of a comparison: which problems `compare` measures, with how many threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hewn_bench {

struct Row {
    std::string op, signature, layout;
    int64_t elements;
    int threads;
};

// The user's selection of rows. If a list is empty, the set of rows decides: the quick one, the
// usual one, or all.
struct Selection {
    bool quick = false, all = false;
    std::vector<std::string> ops, signatures, layouts;
    std::vector<int64_t> elements;
    std::vector<int> threads;

    // Whether any list is given, so that a peer may be in no row.
    bool narrowed() const {
        return !(ops.empty() && signatures.empty() && layouts.empty() && elements.empty() &&
                 threads.empty());
    }
};

// The operators and signatures that rows may have: those of hewn's kernels, and those that the same
// kernels compute in QUANTIZE_LINEAR and DEQUANTIZE_LINEAR with other types.
struct Signature {
    std::string op, signature;
    bool usual;  // whether the usual set has it
};
const std::vector<Signature> &all_signatures();

std::vector<Row> choose_rows(const Selection &selection);

}  // namespace hewn_bench
