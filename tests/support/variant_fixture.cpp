// Checks that the library lists a test's variant, and skips the test if the machine cannot run it.
#include "variant_fixture.h"

#include "runnable.h"

namespace hewn_test {

void VariantTest::SetUp() {
    const auto info = find_variant(GetParam().name);
    ASSERT_TRUE(info.has_value()) << GetParam().name
                                  << " stands in variants.inc, but the library does not list it";
    EXPECT_EQ(info->operator_name, GetParam().operator_name);
    EXPECT_EQ(info->signature, GetParam().signature);
    EXPECT_EQ(info->target, GetParam().target);
    if (info->supported) return;
    for (const hewn_target_info &target : targets()) {
        if (GetParam().target == target.name)
            GTEST_SKIP() << GetParam().name << ": this machine lacks " << target.missing;
    }
    FAIL() << "target " << GetParam().target << " is not listed";
}

}  // namespace hewn_test
