// The variants of this build: the lines of variants.inc.
#pragma once

#include <hewn/hewn.h>

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "operators.h"
#include "types.h"

namespace hewn_test {

// The kind of device that a target or variant is for, by its name. The list of targets tells,
// because asking the library would load a GPU's driver.
hewn_device_kind kind_of_variant(const char *variant);

struct Variant {
    std::string name, operator_name, signature, target;

    hewn_operator_type op() const { return parse_operator(operator_name); }
    DataTypes types() const { return operand_types(op(), signature); }
    // The types of tensors that this kernel serves: its own first. ADD's kernels of signed integers
    // also serve unsigned ones, kernels of 8 bits serve sub-byte types, kernels of codes serve all
    // small floats, and those of f32 serve f16 in DYNAMIC_QUANTIZE_LINEAR on GPUs.
    std::vector<DataTypes> all_types() const;
    // The types that a kernel of f32 also serves, because they are converted to f32: mixed floats,
    // and floats that have no kernels of their own.
    std::vector<DataTypes> converted_types() const;
    hewn_device_kind device() const { return kind_of_variant(target.c_str()); }
    friend std::ostream &operator<<(std::ostream &out, const Variant &variant) {
        return out << variant.name;
    }
};

// All variants of this build.
const std::vector<Variant> &listed_variants();
// The variants of element-wise operators, which one test serves: all but those that choose scales.
const std::vector<Variant> &all_variants();
const std::vector<Variant> &built_variants();  // those of all_variants() for the CPU
std::vector<Variant> variants_of(const std::string &operator_name);  // of listed_variants()

// The plan knobs of each variant, by its name: the lines of plans.inc.
const std::map<std::string, std::map<std::string, int64_t>> &plan_knobs();

}  // namespace hewn_test
