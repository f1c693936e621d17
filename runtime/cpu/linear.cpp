// Helpers of QUANTIZE_LINEAR and DEQUANTIZE_LINEAR on the CPU (linear.h).
#include "linear.h"

#include <algorithm>

namespace hewn {

__attribute__((cold)) bool has_repeating_rows(const Plan &plan) {
    const auto repeats = [&](int o) {
        return plan.access[o] == Access::Table && kRepeatingPeriod % plan.period[o] == 0;
    };
    return repeats(kScale) && repeats(kZeroPoint);
}

__attribute__((cold)) bool has_blocks(const Plan &plan) {
    const int64_t run = plan.run_inner * plan.run_outer;
    const auto lies = [&](int o, int64_t along, int64_t across) {
        return plan.dims[o][0].stride == along && plan.dims[o][1].stride == across;
    };
    return is_block(run) && lies(kInput, 1, run) && lies(kScale, 0, 1) &&
           (lies(kZeroPoint, 0, 1) || lies(kZeroPoint, 0, 0)) && lies(plan.operands - 1, 1, run);
}

__attribute__((cold)) BlockRows::BlockRows(const Problem &problem, const halide_buffer_t *box)
    : shift(__builtin_ctz(unsigned(box[kInput].dim[0].extent / kLeastBlock))),
      problem_(problem),
      box_(box),
      left_(box[kInput].dim[1].extent) {
    if (kKernelAssertions) std::copy(box, box + 4, operands);
    for (int o = 0; o < 4; o++) operands[o].dim = dims_[o];
}

__attribute__((cold)) bool BlockRows::next() {
    const int32_t block = kLeastBlock << shift, longest = kLongestBlockRow / block,
                  shorter = left_ / kBlocksTogether * kBlocksTogether,
                  of_row = std::min(longest, shorter);
    const int32_t rows = of_row > 0 ? left_ / of_row : left_;
    for (int o = 0; o < 4; o++) {
        const bool parameter = o == kScale || o == kZeroPoint;
        const int32_t apart = box_[o].dim[1].stride;  // in blocks
        operands[o].host =
            box_[o].host + int64_t(done_) * apart * tensor(problem_, o).kernel_bytes();
        dims_[o][0] = box_[o].dim[0];
        dims_[o][1] = {0, rows, apart, 0};
        if (of_row == 0) continue;
        dims_[o][0] = {0, parameter ? of_row : of_row * block, parameter ? apart : 1, 0};
        dims_[o][1].stride = of_row * apart;
    }
    done_ += of_row * rows;
    left_ -= of_row * rows;
    return of_row > 0;
}

void read_a_vector(Plan &plan) {
    for (int o : {kScale, kZeroPoint}) plan.read[o] = kRepeatingLanes;
}

}  // namespace hewn
