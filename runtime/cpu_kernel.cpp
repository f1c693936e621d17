#include "cpu_kernel.h"

#include <algorithm>

#include "chip.h"

namespace hewn {

__attribute__((cold)) bool fit_to_plan(Plan &plan, int32_t slices, int32_t cpus, const Chip &chip, const Variant &variant,
                                       CpuKernel &kernel) {
    const auto fit = kernel.problem->info->fit;
    if (fit && !fit(plan, slices, variant, kernel)) return false;
    // Only operands in place are worth prefetching. With `repeating`, the parameters in scratch memory are only a vector each.
    bool in_place = true;
    for (int o = 0; o < plan.operands; o++)
        in_place &= plan.access[o] == Access::InPlace || (kernel.repeating && (o == kScale || o == kZeroPoint));
    const int64_t widest = *std::max_element(plan.element_bytes, plan.element_bytes + plan.operands);
    const int64_t distance =
        in_place ? prefetch_distance_bytes(chip, plan.moved_bytes, std::min(slices, cpus), kernel.prefetch_l3_64ths) / widest : 0;
    kernel.prefetch_distance =
        plan.run_inner * plan.run_outer >= distance ? int32_t(distance) : 0;  // loops that prefetch are for long rows
    return true;
}

}  // namespace hewn
