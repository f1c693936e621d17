// Where a launch's tensors lie, and which part of a memory object it is given in the place of the whole one: OpenCL's
// sub-buffers.
#ifndef HEWN_RUNTIME_GPU_VIEWS_H
#define HEWN_RUNTIME_GPU_VIEWS_H

#include <algorithm>
#include <cstdint>

namespace hewn {

// Where a binding's first byte is: `memory` is what the driver calls the memory (0 where addresses alone tell), `address` the
// place in it.
struct GpuAddress {
    uint64_t memory, address;
};

// What a launch reads or writes of a tensor: from an address up to `end`, which is in the same memory.
struct GpuTensor {
    GpuAddress at;
    uint64_t end;
};

// What indices of a launch stay below at most, of elements and of 32-bit words: an offset as large may be added to them in 31
// bits.
constexpr int64_t kGpuIndexLimit = int64_t(1) << 30;

// Bytes [begin, end) of a memory object, or the whole object.
struct GpuView {
    uint64_t memory, begin, end;
    bool whole;

    bool operator==(const GpuView &other) const {
        return memory == other.memory && begin == other.begin && end == other.end && whole == other.whole;
    }
};

// Chooses the views of a launch's tensors. A kernel reaches what begins less than kGpuIndexLimit bytes after its view's
// beginning, which is a multiple of `alignment`.
//
// OpenCL leaves undefined what a kernel does that writes through a buffer and reads through its sub-buffer, or through two
// sub-buffers that overlap. So the tensors of a memory object share the whole object or else one view, if one reaches them all.
// If not, each has its own, and the views of neighbours overlap by less than `alignment`.
inline void choose_views(const GpuTensor *tensors, int count, uint64_t alignment, GpuView *views) {
    constexpr uint64_t kLimit = uint64_t(kGpuIndexLimit);
    for (int t = 0; t < count; t++) {
        const GpuTensor &tensor = tensors[t];
        uint64_t first = UINT64_MAX, last = 0, end = 0;  // of those in the same memory: where they begin and end
        for (int other = 0; other < count; other++) {
            if (tensors[other].at.memory != tensor.at.memory) continue;
            first = std::min(first, tensors[other].at.address);
            last = std::max(last, tensors[other].at.address);
            end = std::max(end, tensors[other].end);
        }
        const uint64_t shared = first / alignment * alignment, own = tensor.at.address / alignment * alignment;
        if (last < kLimit) views[t] = {tensor.at.memory, 0, 0, true};
        else if (last - shared < kLimit) views[t] = {tensor.at.memory, shared, end, false};
        else views[t] = {tensor.at.memory, own, tensor.end, false};
    }
}

}  // namespace hewn

#endif  // HEWN_RUNTIME_GPU_VIEWS_H
