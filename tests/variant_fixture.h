// Tests that run once for each variant.
#ifndef HEWN_TESTS_VARIANT_FIXTURE_H
#define HEWN_TESTS_VARIANT_FIXTURE_H

#include <gtest/gtest.h>
#include <hewn/hewn.h>

#include <string>

#include "values.h"
#include "variants.h"

namespace hewn_test {

// A test for each variant. One that this machine cannot run is skipped under its own name.
class VariantTest : public testing::TestWithParam<Variant> {
protected:
    void SetUp() override {
        const auto info = find_variant(GetParam().name);
        ASSERT_TRUE(info.has_value()) << GetParam().name << " stands in variants.inc, but the library does not list it";
        EXPECT_EQ(info->operator_name, GetParam().operator_name);
        EXPECT_EQ(info->signature, GetParam().signature);
        EXPECT_EQ(info->target, GetParam().target);
        if (info->supported) return;
        for (const hewn_target_info &target : targets()) {
            if (GetParam().target == target.name) GTEST_SKIP() << GetParam().name << ": this machine lacks " << target.missing;
        }
        FAIL() << "target " << GetParam().target << " is not listed";
    }
    Random random() const { return Random(testing::UnitTest::GetInstance()->current_test_info()->name()); }
};

inline std::string variant_name(const testing::TestParamInfo<Variant> &info) { return info.param.name; }

}  // namespace hewn_test

#endif  // HEWN_TESTS_VARIANT_FIXTURE_H
