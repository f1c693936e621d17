// Where a launch's tensors lie, and which part of a memory object it is given in the place of the
// whole one: OpenCL's sub-buffers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "../base/place.h"

namespace hewn {

// What a launch reads or writes of a tensor: from an address up to `end`, which is in the same
// memory.
struct GpuTensor {
    Place at;
    uint64_t end;
};

// What indices of a launch stay below at most, of elements and of 32-bit words: an offset as large
// may be added to them in 31 bits.
constexpr int64_t kGpuIndexLimit = int64_t(1) << 30;

// Bytes [begin, end) of a memory object, or the whole object.
struct GpuView {
    uint64_t memory, begin, end;
    bool whole;

    bool operator==(const GpuView &other) const {
        return memory == other.memory && begin == other.begin && end == other.end &&
               whole == other.whole;
    }
};

// Of some tensors in one memory object: where the first and the last begin, and where they end.
struct GpuSpan {
    uint64_t first, last, end;
};

// The span of tensor t and of the others in its memory or, if `meeting`, of those alone whose bytes
// lie among its own or among those of another that does.
inline GpuSpan span_of(const GpuTensor *tensors, int count, int t, bool meeting) {
    const GpuTensor &tensor = tensors[t];
    GpuSpan span = {tensor.at.address, tensor.at.address, tensor.end};
    for (int pass = 0; pass < (meeting ? count : 1); pass++) {
        for (int o = 0; o < count; o++) {
            const GpuTensor &other = tensors[o];
            if (other.at.memory != tensor.at.memory) continue;
            if (meeting && (other.at.address >= span.end || other.end <= span.first)) continue;
            span.first = std::min(span.first, other.at.address);
            span.last = std::max(span.last, other.at.address);
            span.end = std::max(span.end, other.end);
        }
    }
    return span;
}

// Chooses the views of a launch's tensors. A kernel reaches what begins less than kGpuIndexLimit
// bytes after its view's beginning, which is a multiple of `alignment`.
//
// The tensors of a memory object share the whole object or else one view, if one reaches them all
// (docs/architecture.md#forms-of-gpus). If not, those share one whose bytes lie among one
// another's, and the views of neighbours overlap by less than `alignment`.
inline void choose_views(const GpuTensor *tensors, int count, uint64_t alignment, GpuView *views) {
    constexpr uint64_t kLimit = uint64_t(kGpuIndexLimit);
    for (int t = 0; t < count; t++) {
        const GpuTensor &tensor = tensors[t];
        GpuSpan span = span_of(tensors, count, t, false);
        if (span.last < kLimit) {
            views[t] = {tensor.at.memory, 0, 0, true};
            continue;
        }
        const auto reaches = [&] {
            return span.last - span.first / alignment * alignment < kLimit;
        };
        if (!reaches()) span = span_of(tensors, count, t, true);
        if (!reaches()) span = {tensor.at.address, tensor.at.address, tensor.end};
        views[t] = {tensor.at.memory, span.first / alignment * alignment, span.end, false};
    }
}

}  // namespace hewn
