// hewn verify: this build on this machine against the scalar truth, and its speed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hewn::cli {

struct VerifyOptions {
    std::optional<uint64_t> seed;  // of the random cases; none: a new one
    double minutes = 1.0 / 3;      // of random cases beside the others, if `cases` is 0
    int64_t cases = 0;             // random cases a device
    std::string device;            // one alone; empty: all that are here
    std::string op;                // one alone, "quantize_linear"; empty: all
    bool json = false;
};

// Every variant that can run, on every device: special values, ties, layouts, lengths, random
// cases; then the conformance cases of tests/data, which are built in, with every target; then the
// speed of the kernels that are picked, beside memcpy. Prints a page, or JSON. False: something
// differs; the page has the smallest input found. Throws InputError.
bool verify(const VerifyOptions &options);

}  // namespace hewn::cli
