// The iteration space of operands without short blocks.
#pragma once

#include "../../runtime/problem/shape.h"

namespace hewn_test {

inline hewn::Space merged(const hewn::Tensor *const *operands, int count) {
    hewn::Part parts[hewn::kMaxParts];
    hewn::split_blocks(operands, count, parts);
    return parts[0].space;
}

}  // namespace hewn_test
