// The rows of a comparison.
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

// What the user asked for. The set decides where a list is empty.
struct Selection {
    bool quick = false, all = false;
    std::vector<std::string> ops, signatures, layouts;
    std::vector<int64_t> elements;
    std::vector<int> threads;

    bool narrowed() const {
        return !(ops.empty() && signatures.empty() && layouts.empty() && elements.empty() &&
                 threads.empty());
    }
};

std::vector<Row> choose_rows(const Selection &selection);

}  // namespace hewn_bench
