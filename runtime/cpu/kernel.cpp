// Plans an operator's pass on the CPU: tries the operator's modes, and decides how far ahead its
// kernels prefetch.
#include "kernel.h"

#include <algorithm>

#include "../dispatch/chip.h"
#include "../problem/lowering.h"
#include "convert.h"

namespace hewn {

namespace {

// The CpuForms of each operator in the table. A program does not link those of other operators.
constexpr auto kForms = [] {
    constexpr const CpuForms *all[] = {
#define HEWN_OPERATOR(name, kernels, ...) &forms_of_##kernels,
#include "operators.inc"
    };
    return rows_in_table(all);
}();

// Returns how many elements ahead kernels prefetch if the plan runs in `slices` slices on `cpus`
// CPUs of a chip; 0: not at all.
__attribute__((cold)) int32_t choose_prefetch_distance(const Plan &plan, int32_t slices,
                                                       int32_t cpus, const Chip &chip,
                                                       const CpuKernel &kernel) {
    // Prefetching pays only if all operands are in place. Those of which one vector is read for
    // each row are too small to count.
    const int64_t run = plan.run_inner * plan.run_outer;
    bool in_place = true;
    for (int o = 0; o < plan.operands; o++)
        in_place &= plan.access[o] == Access::InPlace ||
                    (plan.access[o] == Access::Table && plan.read[o] < run);
    const int64_t widest =
        *std::max_element(plan.element_bytes, plan.element_bytes + plan.operands);
    const int64_t distance =
        in_place ? prefetch_distance_bytes(chip, plan.moved_bytes, std::min(slices, cpus),
                                           kernel.prefetch_share) /
                       widest
                 : 0;
    return run >= distance ? int32_t(distance) : 0;  // the loops that prefetch are for long rows
}

// The space in which `together` elements along the innermost dimension are one. All sizes and
// strides are multiples of them.
__attribute__((cold)) Space joined(const Space &space, int32_t together) {
    Space joined = space;
    joined.dims[0].size /= together;
    for (int o = 0; o < space.operands; o++) {
        joined.conversion[o] = nullptr;
        if (space.dims[0].stride[o] == 0) continue;
        const Conversion *const conversion = space.conversion[o];
        joined.element_bytes[o] =
            together * (conversion ? conversion->bits : 8 * space.element_bytes[o]) / 8;
        for (int k = 1; k < space.rank; k++) joined.dims[k].stride[o] /= together;
    }
    return joined;
}

}  // namespace

const CpuForms &forms_of(const OperatorInfo &info) {
    return *kForms[size_t(&info - kOperators.data())];
}

__attribute__((cold)) int plan_kernel(const CpuForms &forms, const Space &space,
                                      const Variant &variant, const Chip &chip, Threads threads,
                                      const Allocator &allocator, Plan &plan, CpuKernel &kernel) {
    CpuMode modes[kMaxModes];
    const int count = forms.list_modes(space, variant, kernel, modes);
    PlanKnobs knobs = *variant.plan;
    knobs.stream_bytes = std::max(knobs.stream_bytes, chip.l3_bytes);
    int plans = 0;
    for (int m = 0; m < count; m++) {
        const CpuMode &mode = modes[m];
        kernel.mode = mode.number;
        kernel.quick = mode.quick;
        kernel.call = mode.call;
        if (m == 0 || mode.traits != modes[m - 1].traits ||
            mode.together != modes[m - 1].together) {
            if (plans++ > 0) destroy_plan(allocator, plan);
            const bool joins = converted_words::kTaken && mode.together > 1;
            if (!build_plan(joins ? joined(space, mode.together) : space, mode.traits, knobs, chip,
                            allocator, plan))
                return 0;
        }
        const int32_t slices = slice_count(plan, *variant.plan, threads.most, threads.cpus);
        if (forms.suits && !forms.suits(plan, slices, variant, kernel)) continue;
        kernel.prefetch_distance =
            choose_prefetch_distance(plan, slices, threads.cpus, chip, kernel);
        break;
    }
    return plans;
}

}  // namespace hewn
