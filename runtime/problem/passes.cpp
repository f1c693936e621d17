#include "passes.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace hewn {

namespace {

Tensor dense(const Tensor &like, hewn_data_type type) {
    Tensor tensor = like;
    tensor.type = type;
    tensor.element_bytes = type_bytes(type);
    return tensor;
}

// One element for all of another tensor's.
Tensor repeated(const Tensor &over, hewn_data_type type) {
    Tensor tensor = dense(over, type);
    std::memset(tensor.strides, 0, sizeof tensor.strides);
    tensor.bytes = uint64_t(tensor.element_bytes);
    return tensor;
}

}  // namespace

__attribute__((cold)) Space range_space(const Tensor &input) {
    Tensor each = input;
    int order[kMaxRank];  // of the dimensions, innermost first
    for (int d = 0; d < each.rank; d++) {
        if (each.strides[d] == 0) each.sizes[d] = 1;
        order[d] = d;
    }
    std::sort(order, order + each.rank,
              [&](int a, int b) { return each.strides[a] < each.strides[b]; });
    Tensor bytes = dense(each, HEWN_DATA_TYPE_UINT8);
    int64_t stride = 1;
    for (int i = 0; i < each.rank; i++) {
        bytes.strides[order[i]] = stride;
        stride *= each.sizes[order[i]];
    }
    const Tensor *const operands[] = {&each, &bytes};
    Part parts[kMaxParts];
    split_blocks(operands, int(std::size(operands)), parts);
    return parts[0].space;
}

__attribute__((cold)) Problem quantization_of(const Problem &problem) {
    Problem quantization = {};
    for (const OperatorInfo &info : kOperators) {
        if (info.type == HEWN_OPERATOR_QUANTIZE_LINEAR) quantization.info = &info;
    }
    const Tensor &input = problem.inputs[0];
    quantization.inputs[kInput] = input;
    quantization.inputs[kScale] = repeated(input, HEWN_DATA_TYPE_FLOAT32);
    quantization.inputs[kZeroPoint] = repeated(input, problem.output.type);
    quantization.output = problem.output;
    return quantization;
}

}  // namespace hewn
