// Chooses the sub-buffers of OpenCL: which part of a memory object a launch is given instead of the
// whole object, if its tensors begin too far into the object.
#pragma once

#include <algorithm>
#include <cstdint>

#include "../base/place.h"

namespace hewn {

// The bytes of a tensor that a launch reads or writes: from `at` up to the address `end` in the
// same memory.
struct GpuTensor {
    Place at;
    uint64_t end;
};

// The limit for the indices of a launch, of elements and of 32-bit words. An offset of up to the
// same limit can be added to an index within 31 bits.
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

// Several tensors in one memory object: where the first and the last one begin, and where they end.
struct GpuSpan {
    uint64_t first, last, end;
};

// Returns the span of tensor t and of all others in its memory object. With `meeting`, only those
// others count whose bytes overlap the tensor's, or those of another tensor that counts.
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

// Chooses the views of a launch's tensors. A kernel reaches tensors that begin less than
// kGpuIndexLimit bytes after the beginning of their view, which is a multiple of `alignment`.
//
// All tensors of a memory object share the whole object or else one view, if that reaches all of
// them (docs/architecture.md#forms-of-gpus). Otherwise only tensors whose bytes overlap share a
// view; the views of neighbours then overlap by less than `alignment`.
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
