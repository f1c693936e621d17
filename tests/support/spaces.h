// The iteration space of operands, for tests of the CPU's plans and forms.
#pragma once

#include "../../runtime/problem/shape.h"

namespace hewn_test {

// The space with merged dimensions. The operands have no short last block, so that there is one
// part.
inline hewn::Space merged(const hewn::Tensor *const *operands, int count) {
    hewn::Part parts[hewn::kMaxParts];
    hewn::split_blocks(operands, count, parts);
    return parts[0].space;
}

}  // namespace hewn_test
