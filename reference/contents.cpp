#include "contents.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace hewn_test {

void set_float(Tensor &tensor, int64_t index, float value) {
    with_type<float, f16, bf16, f8e8m0>(tensor.type, [&](auto tag) {
        using T = decltype(tag);
        const bool has_sign = !std::is_same_v<T, f8e8m0>;
        tensor.set(index, reference::from_f32<T>(has_sign ? value : std::fabs(value)));
    });
}

void fill_random(Tensor &tensor, Random &random) {
    with_any_type(tensor.type, [&](auto tag) {
        fill(tensor, [&](int64_t i) { tensor.set(i, random_value<decltype(tag)>(random)); });
    });
}

namespace {

// Fills x with numbers whose quotients by a scale of about 2^exponent are up to +-600. If the scale
// is a power of two, a quarter of the quotients are half-integers.
void fill_quotients(Tensor &x, Random &random, int exponent) {
    // After one NaN or one quotient beyond int32, a form that multiplies by a reciprocal leaves the
    // whole box to `divide`. So half of all tensors have no such value.
    const bool any = random.one_in(2);
    with_type<float, f16, bf16, int32_t>(x.type, [&](auto tag) {
        using T = decltype(tag);
        fill(x, [&](int64_t i) {
            const int64_t kind = random.integer(0, 7);
            if (kind == 0 && any) return x.set(i, random_value<T>(random));
            const float q =
                kind < 3 ? float(random.integer(-600, 600)) + 0.5f : (random.unit() - 0.5f) * 1200;
            const float value = q * power_of_two(exponent);
            if constexpr (std::is_same_v<T, int32_t>)
                x.set(i, int32_t(std::clamp(value, -0x1p31f, 0x1.fffffep30f)));
            else x.set(i, reference::from_f32<T>(value));
        });
    });
}

}  // namespace

void fill_inputs(Problem &problem, Random &random, Scales scales) {
    const OperatorFacts &op = facts(problem.op);
    const auto is_half = [&](size_t i) {
        return op.tensors[i].role == Role::scale &&
               problem.inputs[i]->type == HEWN_DATA_TYPE_FLOAT16;
    };
    bool half = false;
    for (size_t i = 0; i < op.inputs(); i++) half |= is_half(i);
    const int exponent =
        int(half                                             ? random.integer(-6, 6)
            : scales == Scales::ordinary && random.one_in(8) ? random.integer(-59, 58)
                                                             : random.integer(-12, 12));
    for (size_t i = 0; i < problem.inputs.size(); i++) {
        if (!problem.inputs[i] || problem.in_place >> i & 1) continue;
        Tensor &input = *problem.inputs[i];
        if (op.tensors[i].role == Role::scale) {
            // If there are several scales, one of them now and then is much smaller or larger.
            const int relative =
                op.is_one_element(i) && random.one_in(8) ? int(random.integer(-30, 30)) : 0;
            fill(input, [&](int64_t j) {
                set_float(input, j, random_scale(random, exponent + relative, scales));
            });
        } else if (op.tensors[i].role == Role::data && op.quantizes()) {
            fill_quotients(input, random, exponent);
        } else {
            fill_random(input, random);
        }
    }
    if (problem.in_place) fill_random(problem.output, random);
}

}  // namespace hewn_test
