// Cache lines that a kernel prefetches as it goes along a row.
#pragma once

#include <string>
#include <vector>

#include "rows.h"

namespace hewn {

// A buffer of which a kernel prefetches what lies a distance after the elements that it computes.
struct Prefetched {
    std::string name;
    Parameter parameter;
    Type type;
    Expr row_stride;
};
inline Prefetched prefetched(const OutputImageParam &image) {
    return {image.name(), image.parameter(), image.type(), image.dim(1).stride()};
}

// What a kernel prefetches in whole steps, unless the distance is 0. With AVX-512 alone
// (docs/lab/performance.md#software-prefetching).
struct Prefetch {
    std::vector<Prefetched> buffers;
    Expr distance;  // in elements

    explicit operator bool() const { return !buffers.empty(); }

    // value, after prefetches of the cache lines of each buffer. They hold its `elements` elements
    // from `column` + the distance on, and may lie beyond its end. Func::prefetch would make a loop
    // of its own, and prefetch one line in four.
    Expr before(const Expr &value, const Expr &column, int elements) const {
        using namespace Internal;
        constexpr int kLineBytes = 64;
        Expr none = 0;
        for (const Prefetched &buffer : buffers) {
            const Expr base = Variable::make(Handle(), buffer.name, buffer.parameter);
            for (int line = 0; line < elements; line += kLineBytes / buffer.type.bytes()) {
                const Expr at = column + distance + line + y * buffer.row_stride;
                none += cast<int32_t>(
                    Call::make(buffer.type, Call::prefetch, {base, at, 1, 0}, Call::Intrinsic));
            }
        }
        return Call::make(value.type(), Call::return_second, {none, value}, Call::Intrinsic);
    }
};

}  // namespace hewn
