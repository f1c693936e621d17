// The operators with their truth: each is one class, whose formula is reference.h's. What others need of them without templates
// is in operators.h and evaluation.h.
#ifndef HEWN_REFERENCE_TRUTH_H
#define HEWN_REFERENCE_TRUTH_H

#include <iterator>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "operators.h"
#include "reference.h"
#include "types.h"

namespace hewn_test {

// Where the inputs' first elements lie; null: absent.
class InputMemory {
public:
    explicit InputMemory(std::vector<const void *> first) : first_(std::move(first)) {}

    template<class T>
    const T *of(size_t input) const {
        if (!first_.at(input)) throw std::logic_error("input " + std::to_string(input) + " is absent");
        return static_cast<const T *>(first_[input]);
    }
    // An absent zero point is a 0, which offsets of 0 find.
    template<class T>
    const T *zero_point(size_t input) const {
        static constexpr T zero = 0;
        return first_.at(input) ? of<T>(input) : &zero;
    }

private:
    std::vector<const void *> first_;
};

// ---- The operators -------------------------------------------------------------------------------------------------------
//
// TYPE, NAME           in hewn.h, in variants.inc
// ROLES                of the inputs, in DirectML's order
// ONE_ELEMENT          whether scales and zero points are one element each, of sizes 1 or strides 0; else they have the data's
//                      sizes and any strides
// types(signature)     of all tensors, the output last, from the types that a signature names
// desc(tensors)        the description, from all tensors' in that order
// with_truth(types, memory, f)
//                      calls f(element): element(offsets) is an element of the output, from those of the inputs at offsets[0],
//                      offsets[1]... elements behind their first

struct Add {
    static constexpr hewn_operator_type TYPE = HEWN_OPERATOR_ADD;
    static constexpr const char *NAME = "add";
    static constexpr Role ROLES[] = {Role::data, Role::data};
    static constexpr bool ONE_ELEMENT = false;

    static DataTypes types(const DataTypes &signature) { return {signature.at(0), signature.at(0), signature.at(0)}; }
    static hewn_add_desc desc(const TensorPointers &t) { return {sizeof(hewn_add_desc), t.at(0), t.at(1), t.at(2)}; }
    template<class F>
    static void with_truth(const DataTypes &types, const InputMemory &memory, F &&f) {
        with_any_type(types.at(2), [&](auto tag) {
            using T = decltype(tag);
            const T *const a = memory.of<T>(0), *const b = memory.of<T>(1);
            f([=](const int64_t *at) { return reference::add(a[at[0]], b[at[1]]); });
        });
    }
};

struct QuantizeLinear {
    static constexpr hewn_operator_type TYPE = HEWN_OPERATOR_QUANTIZE_LINEAR;
    static constexpr const char *NAME = "quantize_linear";
    static constexpr Role ROLES[] = {Role::data, Role::scale, Role::zero_point};
    static constexpr bool ONE_ELEMENT = false;

    static DataTypes types(const DataTypes &signature) {
        const hewn_data_type x = signature.at(0), y = signature.at(1);
        return {x, x == HEWN_DATA_TYPE_INT32 ? hewn_data_type(HEWN_DATA_TYPE_FLOAT32) : x, y, y};
    }
    static hewn_quantize_linear_desc desc(const TensorPointers &t) {
        return {sizeof(hewn_quantize_linear_desc), t.at(0), t.at(1), t.at(2), t.at(3)};
    }
    template<class F>
    static void with_truth(const DataTypes &types, const InputMemory &memory, F &&f) {
        with_type<float, f16, int32_t>(types.at(0), [&](auto x_tag) {
            using X = decltype(x_tag);
            with_type<std::conditional_t<std::is_same_v<X, int32_t>, float, X>>(types.at(1), [&](auto scale_tag) {
                with_type<int8_t, uint8_t>(types.at(3), [&](auto y_tag) {
                    using Y = decltype(y_tag);
                    const X *const x = memory.of<X>(0);
                    const auto *const scale = memory.of<decltype(scale_tag)>(1);
                    const Y *const zero_point = memory.zero_point<Y>(2);
                    f([=](const int64_t *at) {
                        return reference::quantize_linear<Y>(x[at[0]], scale[at[1]], zero_point[at[2]]);
                    });
                });
            });
        });
    }
};

struct DequantizeLinear {
    static constexpr hewn_operator_type TYPE = HEWN_OPERATOR_DEQUANTIZE_LINEAR;
    static constexpr const char *NAME = "dequantize_linear";
    static constexpr Role ROLES[] = {Role::data, Role::scale, Role::zero_point};
    static constexpr bool ONE_ELEMENT = false;

    static DataTypes types(const DataTypes &signature) {
        return {signature.at(0), signature.at(1), signature.at(0), signature.at(1)};
    }
    static hewn_dequantize_linear_desc desc(const TensorPointers &t) {
        return {sizeof(hewn_dequantize_linear_desc), t.at(0), t.at(1), t.at(2), t.at(3)};
    }
    template<class F>
    static void with_truth(const DataTypes &types, const InputMemory &memory, F &&f) {
        with_type<int32_t, int16_t, int8_t, uint32_t, uint16_t, uint8_t>(types.at(0), [&](auto x_tag) {
            with_type<float, f16>(types.at(3), [&](auto y_tag) {
                using X = decltype(x_tag);
                using Y = decltype(y_tag);
                const X *const x = memory.of<X>(0), *const zero_point = memory.zero_point<X>(2);
                const Y *const scale = memory.of<Y>(1);
                f([=](const int64_t *at) { return reference::dequantize_linear(x[at[0]], scale[at[1]], zero_point[at[2]]); });
            });
        });
    }
};

struct QuantizedLinearAdd {
    static constexpr hewn_operator_type TYPE = HEWN_OPERATOR_QUANTIZED_LINEAR_ADD;
    static constexpr const char *NAME = "quantized_linear_add";
    static constexpr Role ROLES[] = {Role::data,  Role::scale,      Role::zero_point, Role::data,
                                     Role::scale, Role::zero_point, Role::scale,      Role::zero_point};
    static constexpr bool ONE_ELEMENT = true;

    static DataTypes types(const DataTypes &signature) {
        const hewn_data_type a = signature.at(0), b = signature.at(1), y = signature.at(2), f32 = HEWN_DATA_TYPE_FLOAT32;
        return {a, f32, a, b, f32, b, f32, y, y};
    }
    static hewn_quantized_linear_add_desc desc(const TensorPointers &t) {
        return {sizeof(hewn_quantized_linear_add_desc),
                t.at(0),
                t.at(1),
                t.at(2),
                t.at(3),
                t.at(4),
                t.at(5),
                t.at(6),
                t.at(7),
                t.at(8)};
    }
    template<class F>
    static void with_truth(const DataTypes &types, const InputMemory &memory, F &&f) {
        with_type<int8_t, uint8_t>(types.at(0), [&](auto a_tag) {
            with_type<int8_t, uint8_t>(types.at(3), [&](auto b_tag) {
                with_type<int8_t, uint8_t>(types.at(8), [&](auto y_tag) {
                    using A = decltype(a_tag);
                    using B = decltype(b_tag);
                    using Y = decltype(y_tag);
                    const A *const a = memory.of<A>(0), a_zero_point = *memory.zero_point<A>(2);
                    const B *const b = memory.of<B>(3), b_zero_point = *memory.zero_point<B>(5);
                    const float a_scale = *memory.of<float>(1), b_scale = *memory.of<float>(4), scale = *memory.of<float>(6);
                    const Y zero_point = *memory.zero_point<Y>(7);
                    f([=](const int64_t *at) {
                        return reference::quantized_linear_add(a[at[0]], a_scale, a_zero_point, b[at[3]], b_scale, b_zero_point,
                                                               scale, zero_point);
                    });
                });
            });
        });
    }
};

// ---- All of them ---------------------------------------------------------------------------------------------------------

template<class... Operators>
struct OperatorList {
    static std::vector<OperatorFacts> facts() {
        return {{Operators::TYPE, Operators::NAME, std::vector<Role>(std::begin(Operators::ROLES), std::end(Operators::ROLES)),
                 Operators::ONE_ELEMENT, Operators::types}...};
    }
    // Calls f(Operator{}) for the one of `type`.
    template<class F>
    static void with(hewn_operator_type type, F &&f) {
        const bool known = ((Operators::TYPE == type && (f(Operators{}), true)) || ...);
        if (!known) throw std::logic_error("no operator has the number " + std::to_string(type));
    }
};
using AllOperators = OperatorList<Add, QuantizeLinear, DequantizeLinear, QuantizedLinearAdd>;

// with_truth() of an operator's class.
template<class F>
void with_truth(hewn_operator_type type, const DataTypes &types, const InputMemory &memory, F &&f) {
    AllOperators::with(type, [&](auto op) { op.with_truth(types, memory, f); });
}

}  // namespace hewn_test

#endif  // HEWN_REFERENCE_TRUTH_H
