#include "linear.h"

namespace hewn {

bool fit_repeating(const Plan &plan, CpuKernel &kernel) {
    const auto repeats = [&](int o) {
        return plan.access[o] == Access::Table && kRepeatingPeriod % plan.period[o] == 0;
    };
    if (!kernel.repeating || (repeats(kScale) && repeats(kZeroPoint))) return true;
    kernel.repeating = nullptr;
    return !gathers_one_zero_point(plan);
}

void read_a_vector(Plan &plan) {
    for (int o : {kScale, kZeroPoint}) plan.read[o] = kRepeatingLanes;
}

}  // namespace hewn
