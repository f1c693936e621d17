// The operators: names, tensors' types, descriptions.
#ifndef HEWN_TESTS_OPERATORS_H
#define HEWN_TESTS_OPERATORS_H

#include <hewn/hewn.h>

#include <cstddef>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "types.h"

namespace hewn_test {

inline hewn_operator_type parse_operator(const std::string &name) {
    if (name == "add") return HEWN_OPERATOR_ADD;
    if (name == "quantize_linear") return HEWN_OPERATOR_QUANTIZE_LINEAR;
    if (name == "dequantize_linear") return HEWN_OPERATOR_DEQUANTIZE_LINEAR;
    if (name == "quantized_linear_add") return HEWN_OPERATOR_QUANTIZED_LINEAR_ADD;
    throw std::logic_error("no operator is called " + name);
}

// The types of an operator's tensors in DirectML's order, output last, for a signature such as "f32_u8".
inline std::vector<hewn_data_type> operand_types(hewn_operator_type op, const std::string &signature) {
    std::vector<hewn_data_type> t;
    std::istringstream words(signature);
    for (std::string word; std::getline(words, word, '_');) t.push_back(parse_type(word));
    constexpr hewn_data_type f32 = HEWN_DATA_TYPE_FLOAT32;
    switch (op) {
    case HEWN_OPERATOR_ADD: return {t.at(0), t.at(0), t.at(0)};
    case HEWN_OPERATOR_QUANTIZE_LINEAR: return {t.at(0), t.at(0) == HEWN_DATA_TYPE_INT32 ? f32 : t.at(0), t.at(1), t.at(1)};
    case HEWN_OPERATOR_DEQUANTIZE_LINEAR: return {t.at(0), t.at(1), t.at(0), t.at(1)};
    case HEWN_OPERATOR_QUANTIZED_LINEAR_ADD: return {t.at(0), f32, t.at(0), t.at(1), f32, t.at(1), f32, t.at(2), t.at(2)};
    default: throw std::logic_error("an unknown operator");
    }
}

// Whether an operand of QUANTIZED_LINEAR_ADD is one of those with a single element.
inline bool is_qadd_parameter(size_t operand) { return operand != 0 && operand != 3 && operand != 8; }

// An operator's description from its tensors in DirectML's order, output last; null: absent.
class Description {
public:
    Description(hewn_operator_type type, const std::vector<const hewn_tensor_desc *> &t) {
        desc_ = {sizeof(hewn_operator_desc), type, nullptr};
        switch (type) {
        case HEWN_OPERATOR_ADD:
            add_ = {sizeof(hewn_add_desc), t.at(0), t.at(1), t.at(2)};
            desc_.desc = &add_;
            break;
        case HEWN_OPERATOR_QUANTIZE_LINEAR:
            quantize_ = {sizeof(hewn_quantize_linear_desc), t.at(0), t.at(1), t.at(2), t.at(3)};
            desc_.desc = &quantize_;
            break;
        case HEWN_OPERATOR_DEQUANTIZE_LINEAR:
            dequantize_ = {sizeof(hewn_dequantize_linear_desc), t.at(0), t.at(1), t.at(2), t.at(3)};
            desc_.desc = &dequantize_;
            break;
        case HEWN_OPERATOR_QUANTIZED_LINEAR_ADD:
            qadd_ = {sizeof(hewn_quantized_linear_add_desc),
                     t.at(0),
                     t.at(1),
                     t.at(2),
                     t.at(3),
                     t.at(4),
                     t.at(5),
                     t.at(6),
                     t.at(7),
                     t.at(8)};
            desc_.desc = &qadd_;
            break;
        default: throw std::logic_error("an unknown operator");
        }
    }
    Description(const Description &) = delete;
    Description &operator=(const Description &) = delete;
    const hewn_operator_desc *get() const { return &desc_; }

private:
    hewn_operator_desc desc_;
    hewn_add_desc add_;
    hewn_quantize_linear_desc quantize_;
    hewn_dequantize_linear_desc dequantize_;
    hewn_quantized_linear_add_desc qadd_;
};

}  // namespace hewn_test

#endif  // HEWN_TESTS_OPERATORS_H
