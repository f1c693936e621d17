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

// What a target's or variant's name is for. From the list of targets: asking the library loads a
// GPU's driver.
hewn_device_kind kind_of_variant(const char *variant);

struct Variant {
    std::string name, operator_name, signature, target;

    hewn_operator_type op() const { return parse_operator(operator_name); }
    DataTypes types() const { return operand_types(op(), signature); }
    // The public types that run on this kernel: unsigned integers share ADD's signed ones, packed
    // ones those of 8 bits on the CPU.
    std::vector<DataTypes> all_types() const;
    hewn_device_kind device() const { return kind_of_variant(target.c_str()); }
    friend std::ostream &operator<<(std::ostream &out, const Variant &variant) {
        return out << variant.name;
    }
};

const std::vector<Variant> &listed_variants();
// Those of operators that are element-wise, which one test serves: all but
// DYNAMIC_QUANTIZE_LINEAR's.
const std::vector<Variant> &all_variants();
const std::vector<Variant> &built_variants();  // those of all_variants() for the CPU
std::vector<Variant> variants_of(const std::string &operator_name);  // any of the list

// Each variant's plan knobs: the lines of plans.inc.
const std::map<std::string, std::map<std::string, int64_t>> &plan_knobs();

}  // namespace hewn_test
