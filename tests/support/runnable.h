// Lists of the targets, variants and signatures of this build that this machine can run, as the
// library says.
#pragma once

#include <hewn/hewn.h>

#include <optional>
#include <string>
#include <vector>

#include "../../reference/variants.h"

namespace hewn_test {

// The library's entry for a variant. Nothing if it lists none of that name.
std::optional<hewn_variant_info> find_variant(const std::string &name);

// All targets of this build, in ascending priority.
std::vector<hewn_target_info> targets();

// The names of an operator's variants for `signature`: one for each target that this machine's CPU
// can run and that has the kernel.
std::vector<std::string> runnable_variants(const std::string &operator_name,
                                           const std::string &signature);

// The variants of an operator that chooses scales that this machine's CPU can run. These operators
// are not element-wise, and no other list here has their variants.
std::vector<Variant> runnable_dynamic_variants(
    const std::string &operator_name = "dynamic_quantize_linear");

// The variants of the operators that choose scales for blocks.
std::vector<Variant> block_variants();
// Those that this machine's CPU can run.
std::vector<Variant> runnable_block_variants();

// The signatures of an operator for which runnable_variants() has a name, in the order of
// variants.inc.
const std::vector<std::string> &runnable_signatures(const std::string &operator_name);

}  // namespace hewn_test
