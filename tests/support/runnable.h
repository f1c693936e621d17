// What of this build runs on this machine, as the library says.
#pragma once

#include <hewn/hewn.h>

#include <optional>
#include <string>
#include <vector>

#include "../../reference/variants.h"

namespace hewn_test {

std::optional<hewn_variant_info> find_variant(const std::string &name);

std::vector<hewn_target_info> targets();

// Of `signature`, one name for each target that this machine's CPU can run and that holds it.
std::vector<std::string> runnable_variants(const std::string &operator_name,
                                           const std::string &signature);

// Those of DYNAMIC_QUANTIZE_LINEAR, which is not element-wise: no other list here has them.
std::vector<Variant> runnable_dynamic_variants();

// Of an operator, the signatures that have such a name, in the order of variants.inc.
const std::vector<std::string> &runnable_signatures(const std::string &operator_name);

}  // namespace hewn_test
