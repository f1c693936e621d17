// Tests that run once for each variant.
#pragma once

#include <gtest/gtest.h>
#include <hewn/hewn.h>

#include <string>

#include "../../reference/values.h"
#include "../../reference/variants.h"

namespace hewn_test {

// A test for each variant. One that this machine cannot run is skipped under its own name.
class VariantTest : public testing::TestWithParam<Variant> {
protected:
    void SetUp() override;
    Random random() const {
        return Random(testing::UnitTest::GetInstance()->current_test_info()->name());
    }
};

inline std::string variant_name(const testing::TestParamInfo<Variant> &info) {
    return info.param.name;
}

}  // namespace hewn_test
