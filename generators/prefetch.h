// Prefetches of the cache lines ahead, as a CPU's kernel goes along a row.
#pragma once

#include <string>
#include <vector>

#include "rows.h"

namespace hewn {

// A buffer whose memory a kernel prefetches, a distance ahead of the elements that it computes.
struct Prefetched {
    std::string name;
    Parameter parameter;
    Type type;
    Expr row_stride;
};
inline Prefetched prefetched(const OutputImageParam &image) {
    return {image.name(), image.parameter(), image.type(), image.dim(1).stride()};
}

// What a kernel prefetches in its whole steps, unless the distance is 0. Only kernels with AVX-512
// do (docs/lab/performance.md#software-prefetching).
struct Prefetch {
    std::vector<Prefetched> buffers;
    Expr distance;  // in elements

    explicit operator bool() const { return !buffers.empty(); }

    // `value`, computed after prefetches of the cache lines that hold `elements` elements of each
    // buffer, from `column` + distance on. The lines may lie beyond the buffer's end.
    // Func::prefetch would make a loop of its own, and prefetch one line in four.
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
