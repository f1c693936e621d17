// Executes a problem and compares its output with the reference, bit for bit. Most tests of results
// end in check().
#pragma once

#include <gtest/gtest.h>
#include <hewn/hewn.h>

#include <cstdint>
#include <string>
#include <vector>

#include "../../reference/tensors.h"
#include "execution.h"

namespace hewn_test {

// Compares the output's memory with `expected`. Elements must have the same bits, but any NaN
// equals any NaN. All other bytes must be untouched.
testing::AssertionResult output_equals(const Problem &problem, const std::vector<uint8_t> &expected,
                                       const std::vector<uint8_t> &actual);

// Compiles, executes and compares with the reference. Some problems are bound or have constants,
// chosen by way_of(). Inputs must not be written. The output's memory is restored, so that a
// problem can be checked repeatedly.
testing::AssertionResult check(Problem &problem, const hewn_compile_options &options,
                               const hewn_execute_options *execute_options = nullptr);
testing::AssertionResult check(Problem &problem, const std::string &variant,
                               int32_t max_threads = 0);

}  // namespace hewn_test
