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

// ---- Elements of 4 or 2 bits ----

__attribute__((cold)) PackedForm find_packed_form(const Space &space, const Problem &problem,
                                                  const Variant &variant, int packed) {
    const Conversion *const conversion = space.conversion[packed];
    // Only integers are packed; the codes of small floats have another type here. Blocks may begin
    // within a word.
    if (!conversion ||
        (conversion->taken != HEWN_DATA_TYPE_UINT8 && conversion->taken != HEWN_DATA_TYPE_INT8) ||
        problem.inputs[kScale].blocked || problem.inputs[kZeroPoint].blocked)
        return {};
    const int floats = floats_beside(packed);
    const int32_t together = 32 / conversion->bits;
    const int64_t *const along = space.dims[0].stride;
    if (along[kInput] != 1 || along[kOutput] != 1 || along[kScale] != 0 ||
        space.dims[0].size % together != 0 || space.dims[0].size < kLeastPackedRow ||
        space.element_bytes[floats] != 4 || space.conversion[floats] || space.conversion[kScale])
        return {};
    for (int k = 0; k < space.rank; k++) {
        const int64_t *const stride = space.dims[k].stride;
        const bool whole = stride[kInput] % together == 0 && stride[kOutput] % together == 0;
        if (stride[kZeroPoint] != 0 || (k > 0 && !whole)) return {};
    }
    const Form *const form = variant.form(conversion->bits == 4 ? "packed4" : "packed2");
    return form ? PackedForm{form, together} : PackedForm{};
}

__attribute__((cold)) bool has_packed_rows(const Plan &plan, const Problem &problem, int packed) {
    const int64_t together = 32 / tensor(problem, packed).conversion->bits;
    for (const int o : {kInput, kOutput}) {
        const Access access = plan.access[o];
        // Kernels have indices of elements, and not of words, in int32.
        const int64_t last =
            plan.dims[o][0].extent + (plan.rows - 1) * (plan.row_bytes[o] / plan.element_bytes[o]);
        if ((access != Access::InPlace && access != Access::Stream) || last > INT32_MAX / together)
            return false;
    }
    return plan.access[kScale] == Access::InPlace &&
           plan.run_inner * plan.run_outer * together >= kLeastPackedRow;
}

__attribute__((cold)) int PackedRows::compute_bytes(BoxCall &context, CallBox call) {
    constexpr int32_t kPiece = 1024;
    alignas(64) uint8_t bytes[kPiece];
    uint8_t byte = uint8_t(zero_point);
    const int32_t rows = dims_[floats_][1].extent;
    halide_dimension_t data[2] = {{0, 0, 1, 0}, {0, 1, 0, 0}},
                       one[2] = {{0, 0, 0, 0}, {0, 1, 0, 0}};
    halide_buffer_t piece[4] = {};
    for (int o = 0; o < 4; o++) {
        if (kKernelAssertions && o != kZeroPoint) piece[o] = operands[o];
        piece[o].dim = o == kInput || o == kOutput ? data : one;
    }
    piece[packed_].host = bytes;
    piece[kZeroPoint].host = &byte;
    if (kKernelAssertions) {
        piece[packed_].type = piece[kZeroPoint].type = halide_type(conversion.taken);
        piece[kZeroPoint].dimensions = 2;
    }
    for (int32_t y = 0; y < rows; y++) {
        const StoredElements stored = {operands[packed_].host + int64_t(y) * pitch_, &conversion};
        piece[kScale].host = operands[kScale].host + int64_t(y) * dims_[kScale][1].stride * 4;
        for (int32_t x = 0; x < elements(); x += kPiece) {
            const int32_t count = std::min(kPiece, elements() - x);
            data[0].extent = one[0].extent = count;
            piece[floats_].host =
                operands[floats_].host + (int64_t(y) * dims_[floats_][1].stride + x) * 4;
            if (packed_ == kInput) load_converted(stored, x, 1, count, bytes);
            if (const int code = call(context, piece)) return code;
            if (packed_ == kOutput) store_converted(stored, x, 1, count, x + count, bytes);
        }
    }
    return 0;
}

}  // namespace hewn
