// The command `hewn verify`: checks this build on this machine against the scalar reference and
// measures its speed. Its output is a page that a user can paste into a report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hewn::cli {

struct VerifyOptions {
    // The seed of the random cases. Nothing: a new one.
    std::optional<uint64_t> seed;
    // If `cases` is 0: random cases follow the others until this many minutes after the beginning,
    // but at least one for each variant.
    double minutes = 1.0 / 3;
    // The number of random cases, all variants together. 0: `minutes` decides.
    int64_t cases = 0;
    // The only device to check. Empty: all that this machine has.
    std::string device;
    // The only operator to check: "quantize_linear". Empty: all.
    std::string op;
    bool json = false;
};

// Checks every variant that can run, on every device, with special values, ties, layouts, lengths
// and random cases. Then it runs the built-in conformance cases (those of tests/data) with every
// target. Then it measures the speed of the picked kernels and of memcpy. Prints a page, or JSON.
// Returns false if any result differs; the page then has the smallest input found. Throws
// InputError or OperatorError.
bool verify(const VerifyOptions &options);

}  // namespace hewn::cli
