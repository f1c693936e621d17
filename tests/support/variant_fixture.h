// The fixture of tests that run once for each variant. Such a test is a TEST_P, and its suite is
// instantiated with a list of variants and with variant_name.
#pragma once

#include <gtest/gtest.h>
#include <hewn/hewn.h>

#include <string>

#include "../../reference/values.h"
#include "../../reference/variants.h"

namespace hewn_test {

// A test's parameter is the variant. If this machine cannot run it, the test is skipped, and the
// message names the variant and what the machine lacks.
class VariantTest : public testing::TestWithParam<Variant> {
protected:
    void SetUp() override;
    // Random numbers that depend only on the seed and the test's name.
    Random random() const {
        return Random(testing::UnitTest::GetInstance()->current_test_info()->name());
    }
};

// The name of a test's instance is the variant's.
inline std::string variant_name(const testing::TestParamInfo<Variant> &info) {
    return info.param.name;
}

}  // namespace hewn_test
