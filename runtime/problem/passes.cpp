#include "passes.h"

#include <iterator>

namespace hewn {

__attribute__((cold)) int64_t stored(const Tensor &tensor, int d) {
    const int64_t block = tensor.block_sizes[d];
    return tensor.strides[d] == 0 ? 1 : (tensor.sizes[d] + block - 1) / block;
}

__attribute__((cold)) void pack_strides(Tensor &tensor) {
    // By ascending stride. Not std::sort: GCC 12 warns that its branch for more than 16 elements
    // reads beyond `order`, where no rank gets to.
    int order[kMaxRank];
    for (int d = 0; d < tensor.rank; d++) {
        int i = d;
        for (; i > 0 && tensor.strides[order[i - 1]] > tensor.strides[d]; i--)
            order[i] = order[i - 1];
        order[i] = d;
    }
    int64_t stride = 1;
    for (int i = 0; i < tensor.rank; i++) {
        const int d = order[i];
        const int64_t elements = stored(tensor, d);
        if (tensor.strides[d] != 0) tensor.strides[d] = stride;
        stride *= elements;
    }
    tensor.bytes = uint64_t(stride) * uint64_t(tensor.element_bytes);
}

__attribute__((cold)) Space range_space(const Tensor &input) {
    Tensor each = input;
    for (int d = 0; d < each.rank; d++) each.sizes[d] = stored(each, d);
    Tensor bytes = lying_as(each, HEWN_DATA_TYPE_UINT8);
    pack_strides(bytes);
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
