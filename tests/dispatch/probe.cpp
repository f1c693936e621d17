// Prints the variant that is picked on this CPU, and checks its results. On a CPU that can run none
// it prints the error instead. qemu_test.sh runs this program on emulated CPUs.
#include <hewn/hewn.h>

#include <cstdio>
#include <vector>

#include "../../reference/reference.h"

namespace {

int refused(const hewn_error &error) {
    std::fprintf(stderr, "status %d: %s\n", int(error.status), error.message);
    return 2;
}

}  // namespace

int main() {
    const int64_t n = 1000, zero = 0, one = 1;
    const hewn_tensor_desc x{sizeof x, HEWN_DATA_TYPE_UINT8, 1, &n, &one, nullptr},
        scale{sizeof scale, HEWN_DATA_TYPE_FLOAT32, 1, &n, &zero, nullptr},
        zero_point{sizeof zero_point, HEWN_DATA_TYPE_UINT8, 1, &n, &zero, nullptr},
        y{sizeof y, HEWN_DATA_TYPE_FLOAT32, 1, &n, &one, nullptr};
    const hewn_dequantize_linear_desc dequantize{sizeof dequantize, &x, &scale, &zero_point, &y};
    const hewn_operator_desc desc{sizeof desc, HEWN_OPERATOR_DEQUANTIZE_LINEAR, &dequantize};
    hewn_error error{};
    error.struct_size = sizeof error;
    hewn_operator *op = nullptr;
    if (hewn_compile(nullptr, &desc, nullptr, &op, &error) != HEWN_STATUS_OK) return refused(error);
    std::printf("%s\n", hewn_operator_variant(op));

    std::vector<uint8_t> input(n);
    for (int i = 0; i < n; i++) input[size_t(i)] = uint8_t(i);
    const float s = 0.1f;
    const uint8_t z = 101;
    std::vector<float> output(n);
    const hewn_buffer_binding inputs[] = {{sizeof inputs[0], input.data(), 0, uint64_t(n)},
                                          {sizeof inputs[0], const_cast<float *>(&s), 0, 4},
                                          {sizeof inputs[0], const_cast<uint8_t *>(&z), 0, 1}};
    const hewn_buffer_binding result{sizeof result, output.data(), 0, uint64_t(n) * 4};
    if (hewn_execute(op, inputs, 3, &result, 1, nullptr, &error) != HEWN_STATUS_OK)
        return refused(error);
    hewn_destroy_operator(op);
    for (size_t i = 0; i < output.size(); i++) {
        const float want = reference::dequantize_linear(input[i], s, z);
        if (output[i] == want) continue;
        std::fprintf(stderr, "element %zu is %a instead of %a\n", i, output[i], want);
        return 1;
    }
    return 0;
}
