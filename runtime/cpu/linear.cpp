#include "linear.h"

#include <algorithm>
#include <cstring>

namespace hewn {

namespace {

// Comparing a row of zero points pays if at least this many rows share it (4 rows of 1024 i8 are dequantized to f32 1.28 times as
// fast on a Zen 1). Much shorter rows are not rows of a box, but parts of its run.
constexpr int64_t kRowsToCompare = 4;

// Whether the zero points of the row, which all rows of the box share, are known to be equal. If at least kRowsToCompare rows
// share them, they are compared at once. Otherwise boxes may cut the row: its parts are compared together, once a later box has
// the same ones again.
bool has_equal_zero_points(CpuCall &call, const halide_buffer_t &row) {
    ZeroPointRow &known = call.zero_points;
    const int64_t bytes = type_bytes(call.kernel.problem->inputs[kZeroPoint].type), count = row.dim[0].extent;
    const bool filled = call.filled & 1u << kZeroPoint, enough = row.dim[1].extent >= kRowsToCompare;
    const int64_t first = filled ? -1 : index_among(known.from, known.count, row, count, bytes);
    const bool again = first >= 0 && first < known.count;
    // A row that was compared is complete. What lies behind it is another row.
    if (!again && first >= 0 && !enough && !known.compared) known = {known.from, known.count + count, false, false};
    else if (!again) known = {row.host, count, false, false};
    if (!known.compared && (again || enough)) {
        known.compared = true;
        known.equal = std::memcmp(known.from, known.from + bytes, size_t((known.count - 1) * bytes)) == 0;
    }
    return known.equal;
}

// Calls the kernel with one zero point in place of a row of equal ones, which a scale a channel mostly comes with.
int call_joining_zero_points(BoxCall &context, halide_buffer_t *operands) {
    CpuCall &call = static_cast<CpuCall &>(context);
    if (!has_equal_zero_points(call, operands[kZeroPoint])) return call.kernel.call_after_joining(context, operands);
    halide_buffer_t joined[kMaxOperands];
    std::copy_n(operands, kMaxOperands, joined);
    halide_dimension_t one[2] = {operands[kZeroPoint].dim[0], operands[kZeroPoint].dim[1]};
    one[0].stride = 0;
    joined[kZeroPoint].dim = one;
    return call.kernel.call_after_joining(context, joined);
}

}  // namespace

void join_zero_points(const Plan &plan, CpuKernel &kernel) {
    if (plan.dims[kZeroPoint][0].stride == 0 || repeated_rows(plan, kZeroPoint) < kRowsToCompare) return;
    kernel.call_after_joining = kernel.call;
    kernel.call = call_joining_zero_points;
}

bool fit_repeating(const Plan &plan, CpuKernel &kernel) {
    const auto repeats = [&](int o) { return plan.access[o] == Access::Table && kRepeatingPeriod % plan.period[o] == 0; };
    if (!kernel.repeating || (repeats(kScale) && repeats(kZeroPoint))) return true;
    kernel.repeating = nullptr;
    return !gathers_one_zero_point(plan);
}

void read_a_vector(Plan &plan) {
    for (int o : {kScale, kZeroPoint}) plan.read[o] = kRepeatingLanes;
}

}  // namespace hewn
