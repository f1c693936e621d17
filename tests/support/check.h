// An execution against the truth, bit for bit.
#pragma once

#include <gtest/gtest.h>
#include <hewn/hewn.h>

#include <cstdint>
#include <string>
#include <vector>

#include "../../reference/tensors.h"
#include "execution.h"

namespace hewn_test {

// The output's memory against `expected`: elements bit for bit (any NaN equals any NaN), everything
// else untouched.
testing::AssertionResult output_equals(const Problem &problem, const std::vector<uint8_t> &expected,
                                       const std::vector<uint8_t> &actual);

// Compiles, executes and compares. The output's memory is restored, so that a problem can be
// checked repeatedly.
testing::AssertionResult check(Problem &problem, const hewn_compile_options &options,
                               const hewn_execute_options *execute_options = nullptr);
testing::AssertionResult check(Problem &problem, const std::string &variant,
                               int32_t max_threads = 0);

}  // namespace hewn_test
