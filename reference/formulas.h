// Each operator's formula (reference.h), applied to elements in memory. evaluation.cpp walks over
// whole tensors with it. What the operator table says of operators is in operators.h.
#pragma once

#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "mx.h"
#include "nvfp4.h"
#include "operators.h"
#include "reference.h"
#include "types.h"

namespace hewn_test {

// A tensor's elements, read by their offsets.
template<class T>
struct Elements {
    const void *first;
    T operator[](int64_t offset) const { return element<T>(first, offset); }
};

// The same for a tensor of floats or i32, whose elements a formula first makes f32s. The type is
// looked at for each element: a formula compiled for each type takes the compiler a minute.
struct ElementsAsF32 {
    const void *first;
    hewn_data_type type;
    float operator[](int64_t offset) const {
        float value = 0;
        with_type<float, f16, bf16, f8e8m0, int32_t>(type, [&](auto tag) {
            value = reference::to_f32(element<decltype(tag)>(first, offset));
        });
        return value;
    }
};

// The inputs' first elements, which are null for absent inputs, and the attributes. Attributes that
// are not given are 0.
class InputMemory {
public:
    explicit InputMemory(std::vector<const void *> first, std::vector<int32_t> attributes = {},
                         bool around_middle = false)
        : first_(std::move(first)),
          attributes_(std::move(attributes)),
          around_middle_(around_middle) {}

    // The same inputs, where an absent zero point is reference::middle.
    InputMemory around_middle() const { return InputMemory(first_, attributes_, true); }

    int32_t attribute(size_t i) const { return i < attributes_.size() ? attributes_[i] : 0; }
    // An attribute that is a parameter: a float.
    float parameter(size_t i) const { return reference::from_bits(uint32_t(attribute(i))); }

    template<class T>
    Elements<T> of(size_t input) const {
        return {present(input)};
    }
    ElementsAsF32 as_f32(size_t input, const DataTypes &types) const {
        return {present(input), types.at(input)};
    }
    // The elements of a zero point. An absent one is one value, at the offset 0.
    template<class T>
    Elements<T> zero_point(size_t input) const {
        static constexpr uint64_t zero = 0, middle = uint64_t(reference::middle<T>);
        return {first_.at(input) ? first_[input] : around_middle_ ? &middle : &zero};
    }

private:
    const void *present(size_t input) const {
        if (!first_.at(input))
            throw std::logic_error("input " + std::to_string(input) + " is absent");
        return first_[input];
    }

    std::vector<const void *> first_;
    std::vector<int32_t> attributes_;
    bool around_middle_;
};

// Formula<operator>::with(types, memory, f) calls f(element), where element(offsets) computes an
// element of the output. It reads input i at offsets[i], in elements from the input's first.
// `types` are those of all tensors, the output's last.
template<hewn_operator_type Operator>
struct Formula;

template<>
struct Formula<HEWN_OPERATOR_ADD> {
    template<class F>
    static void with(const DataTypes &types, const InputMemory &memory, F &&f) {
        with_any_type(types.at(2), [&](auto tag) {
            using T = decltype(tag);
            if constexpr (sub_byte_bits<T> == 0 && !is_small_float<T>) {
                const Elements<T> a = memory.of<T>(0), b = memory.of<T>(1);
                f([=](const int64_t *at) { return reference::add(a[at[0]], b[at[1]]); });
            } else {
                throw std::logic_error("ADD has no sub-byte types and no small floats");
            }
        });
    }
};

template<>
struct Formula<HEWN_OPERATOR_ADD1> {
    template<class F>
    static void with(const DataTypes &types, const InputMemory &memory, F &&f) {
        const auto activation = reference::Activation(memory.attribute(0));
        const reference::ActivationParameters parameters = {
            memory.parameter(1), memory.parameter(2), memory.parameter(3),
            memory.parameter(4), memory.parameter(5), memory.parameter(6)};
        with_type<float, f16, bf16>(types.at(2), [&](auto tag) {
            using T = decltype(tag);
            const Elements<T> a = memory.of<T>(0), b = memory.of<T>(1);
            f([=](const int64_t *at) {
                return reference::add1(a[at[0]], b[at[1]], activation, parameters);
            });
        });
    }
};

template<>
struct Formula<HEWN_OPERATOR_QUANTIZE_LINEAR> {
    template<class F>
    static void with(const DataTypes &types, const InputMemory &memory, F &&f) {
        const ElementsAsF32 x = memory.as_f32(0, types), scale = memory.as_f32(1, types);
        const int32_t precision = memory.attribute(0);
        const bool saturate = memory.attribute(1) == HEWN_SATURATE_ON;
        with_type<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, i4, u4, i2, u2, f8e4m3fn,
                  f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f6e2m3, f6e3m2, f4e2m1>(
            types.at(3), [&](auto y_tag) {
                using Y = decltype(y_tag);
                const Elements<Y> zero_point = memory.zero_point<Y>(2);
                f([=](const int64_t *at) {
                    return precision == 0 ? reference::quantize_linear<Y>(
                                                x[at[0]], scale[at[1]], zero_point[at[2]], saturate)
                                          : reference::quantize_linear<Y>(
                                                x[at[0]], scale[at[1]], zero_point[at[2]],
                                                reference::kPrecisions[precision], saturate);
                });
            });
    }
};

template<>
struct Formula<HEWN_OPERATOR_DEQUANTIZE_LINEAR> {
    template<class F>
    static void with(const DataTypes &types, const InputMemory &memory, F &&f) {
        const ElementsAsF32 scale = memory.as_f32(1, types);
        with_type<int32_t, int16_t, int8_t, uint32_t, uint16_t, uint8_t, i4, u4, i2, u2, f8e4m3fn,
                  f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f6e2m3, f6e3m2, f4e2m1>(
            types.at(0), [&](auto x_tag) {
                with_type<float, f16, bf16>(types.at(3), [&](auto y_tag) {
                    using X = decltype(x_tag);
                    using Y = decltype(y_tag);
                    const Elements<X> x = memory.of<X>(0), zero_point = memory.zero_point<X>(2);
                    f([=](const int64_t *at) {
                        return reference::dequantize_linear_to<Y>(x[at[0]], scale[at[1]],
                                                                  zero_point[at[2]]);
                    });
                });
            });
    }
};

template<hewn_operator_type Linear>
struct FormulaAroundMiddle {
    template<class F>
    static void with(const DataTypes &types, const InputMemory &memory, F &&f) {
        Formula<Linear>::with(types, memory.around_middle(), f);
    }
};
template<>
struct Formula<HEWN_OPERATOR_QUANTIZE> : FormulaAroundMiddle<HEWN_OPERATOR_QUANTIZE_LINEAR> {};
template<>
struct Formula<HEWN_OPERATOR_DEQUANTIZE> : FormulaAroundMiddle<HEWN_OPERATOR_DEQUANTIZE_LINEAR> {};

template<>
struct Formula<HEWN_OPERATOR_QUANTIZED_LINEAR_ADD> {
    template<class F>
    static void with(const DataTypes &types, const InputMemory &memory, F &&f) {
        if (element_bytes(types.at(0)) == 1) of_width<int8_t, uint8_t>(types, memory, f);
        else of_width<int16_t, uint16_t>(types, memory, f);
    }

private:
    template<class... Types, class F>
    static void of_width(const DataTypes &types, const InputMemory &memory, F &&f) {
        with_type<Types...>(types.at(0), [&](auto a_tag) {
            with_type<Types...>(types.at(3), [&](auto b_tag) {
                with_type<Types...>(types.at(8), [&](auto y_tag) {
                    using A = decltype(a_tag);
                    using B = decltype(b_tag);
                    using Y = decltype(y_tag);
                    const Elements<A> a = memory.of<A>(0);
                    const A a_zero_point = memory.zero_point<A>(2)[0];
                    const Elements<B> b = memory.of<B>(3);
                    const B b_zero_point = memory.zero_point<B>(5)[0];
                    const float a_scale = memory.of<float>(1)[0], b_scale = memory.of<float>(4)[0],
                                scale = memory.of<float>(6)[0];
                    const Y zero_point = memory.zero_point<Y>(7)[0];
                    const int activation = memory.attribute(0);
                    f([=](const int64_t *at) {
                        const Y sum = reference::quantized_linear_add(
                            a[at[0]], a_scale, a_zero_point, b[at[3]], b_scale, b_zero_point, scale,
                            zero_point);
                        return reference::quantized_activation(sum, activation, scale, zero_point);
                    });
                });
            });
        });
    }
};

template<>
struct Formula<HEWN_OPERATOR_QUANTIZED_LINEAR_MUL> {
    template<class F>
    static void with(const DataTypes &types, const InputMemory &memory, F &&f) {
        with_type<int8_t, uint8_t>(types.at(0), [&](auto x_tag) {
            with_type<int8_t, uint8_t>(types.at(8), [&](auto y_tag) {
                using X = decltype(x_tag);
                using Y = decltype(y_tag);
                const Elements<X> a = memory.of<X>(0), b = memory.of<X>(3);
                const X a_zero_point = memory.zero_point<X>(2)[0],
                        b_zero_point = memory.zero_point<X>(5)[0];
                const float a_scale = memory.of<float>(1)[0], b_scale = memory.of<float>(4)[0],
                            scale = memory.of<float>(6)[0];
                const Y zero_point = memory.zero_point<Y>(7)[0];
                f([=](const int64_t *at) {
                    return reference::quantized_linear_mul(a[at[0]], a_scale, a_zero_point,
                                                           b[at[3]], b_scale, b_zero_point, scale,
                                                           zero_point);
                });
            });
        });
    }
};

template<>
struct Formula<HEWN_OPERATOR_REQUANTIZE> {
    template<class F>
    static void with(const DataTypes &types, const InputMemory &memory, F &&f) {
        with_type<int8_t, uint8_t, int16_t, uint16_t>(types.at(0), [&](auto x_tag) {
            with_type<int8_t, uint8_t, int16_t, uint16_t, int32_t>(types.at(5), [&](auto y_tag) {
                using X = decltype(x_tag);
                using Y = decltype(y_tag);
                const Elements<X> x = memory.of<X>(0);
                const float x_scale = memory.of<float>(1)[0], y_scale = memory.of<float>(3)[0];
                const X x_zero_point = memory.zero_point<X>(2)[0];
                const Y y_zero_point = memory.zero_point<Y>(4)[0];
                f([=](const int64_t *at) {
                    return reference::requantize(x[at[0]], x_scale, x_zero_point, y_scale,
                                                 y_zero_point);
                });
            });
        });
    }
};

template<>
struct Formula<HEWN_OPERATOR_MX_DEQUANTIZE> {
    template<class F>
    static void with(const DataTypes &types, const InputMemory &memory, F &&f) {
        with_type<int8_t, f8e4m3fn, f8e5m2, f6e2m3, f6e3m2, f4e2m1>(types.at(0), [&](auto x_tag) {
            with_type<float, f16, bf16>(types.at(2), [&](auto y_tag) {
                using Y = decltype(y_tag);
                const Elements<decltype(x_tag)> x = memory.of<decltype(x_tag)>(0);
                const Elements<f8e8m0> scale = memory.of<f8e8m0>(1);
                f([=](const int64_t *at) {
                    return reference::mx_dequantize<Y>(x[at[0]], scale[at[1]]);
                });
            });
        });
    }
};
template<>
struct Formula<HEWN_OPERATOR_NVFP4_DEQUANTIZE> {
    template<class F>
    static void with(const DataTypes &types, const InputMemory &memory, F &&f) {
        with_type<float, f16, bf16>(types.at(3), [&](auto y_tag) {
            using Y = decltype(y_tag);
            const Elements<f4e2m1> x = memory.of<f4e2m1>(0);
            const Elements<f8e4m3fn> scale = memory.of<f8e4m3fn>(1);
            const float tensor_scale = memory.of<float>(2)[0];
            f([=](const int64_t *at) {
                return reference::nvfp4_dequantize<Y>(x[at[0]], scale[at[1]], tensor_scale);
            });
        });
    }
};

// The scales and zero points of these operators depend on many elements (dynamic.h,
// block_problems.h).
struct NotElementwise {
    template<class F>
    static void with(const DataTypes &, const InputMemory &, F &&) {
        throw std::logic_error("the operator is not element-wise");
    }
};
template<>
struct Formula<HEWN_OPERATOR_DYNAMIC_QUANTIZE_LINEAR> : NotElementwise {};
template<>
struct Formula<HEWN_OPERATOR_DYNAMIC_QUANTIZE> : NotElementwise {};
template<>
struct Formula<HEWN_OPERATOR_MX_QUANTIZE> : NotElementwise {};
template<>
struct Formula<HEWN_OPERATOR_NVFP4_QUANTIZE> : NotElementwise {};

// Calls Formula<type>::with. Throws std::logic_error if there is no such operator.
template<class F>
void with_formula(hewn_operator_type type, const DataTypes &types, const InputMemory &memory,
                  F &&f) {
#define HEWN_OPERATOR(name, kernels, number, ...) \
    if (type == number) return Formula<number>::with(types, memory, f);
#include "operators.inc"
    throw std::logic_error("no operator has the number " + std::to_string(type));
}

}  // namespace hewn_test
