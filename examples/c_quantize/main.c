/* Quantizes a tensor of 2 x 4 floats to u8, with one scale and one zero point, through the C
 * interface. Prints the quantized values and the variant that computed them. */
#include <hewn/hewn.h>

#include <stdio.h>

int main(void) {
    const float input[2][4] = {{-1.0f, 0.0f, 0.1f, 0.25f}, {0.5f, 1.0f, 1.5f, 1e9f}};
    const float scale = 0.0078125f; /* 1/128 */
    const uint8_t zero_point = 100;
    uint8_t output[2][4];

    /* Describe the tensors. The scale and the zero point have the input's sizes too, but their
     * strides are 0: one element is repeated. A tensor without strides (NULL) is contiguous. */
    const int64_t sizes[] = {2, 4}, repeat[] = {0, 0};
    const hewn_tensor_desc input_tensor = {
        sizeof(hewn_tensor_desc), HEWN_DATA_TYPE_FLOAT32, 2, sizes, NULL, NULL};
    const hewn_tensor_desc scale_tensor = {
        sizeof(hewn_tensor_desc), HEWN_DATA_TYPE_FLOAT32, 2, sizes, repeat, NULL};
    const hewn_tensor_desc zero_point_tensor = {
        sizeof(hewn_tensor_desc), HEWN_DATA_TYPE_UINT8, 2, sizes, repeat, NULL};
    const hewn_tensor_desc output_tensor = {
        sizeof(hewn_tensor_desc), HEWN_DATA_TYPE_UINT8, 2, sizes, NULL, NULL};
    const hewn_quantize_linear_desc quantize = {sizeof(hewn_quantize_linear_desc),
                                                &input_tensor,
                                                &scale_tensor,
                                                &zero_point_tensor,
                                                &output_tensor,
                                                HEWN_PRECISION_FLOAT32,
                                                0};
    const hewn_operator_desc desc = {sizeof(hewn_operator_desc), HEWN_OPERATOR_QUANTIZE_LINEAR,
                                     &quantize};

    /* Compile the operator. The error gets a message if a call fails. */
    hewn_error error = {sizeof(hewn_error), HEWN_STATUS_OK, ""};
    hewn_operator *op = NULL;
    if (hewn_compile(NULL, &desc, NULL, &op, &error) != HEWN_STATUS_OK) {
        fprintf(stderr, "compile: %s\n", error.message);
        return 1;
    }

    /* Execute it. A binding names the memory of a tensor: the pointer, an offset and the size. */
    const hewn_buffer_binding inputs[] = {
        {sizeof(hewn_buffer_binding), (void *)input, 0, sizeof input},
        {sizeof(hewn_buffer_binding), (void *)&scale, 0, sizeof scale},
        {sizeof(hewn_buffer_binding), (void *)&zero_point, 0, sizeof zero_point},
    };
    const hewn_buffer_binding outputs[] = {{sizeof(hewn_buffer_binding), output, 0, sizeof output}};
    if (hewn_execute(op, inputs, 3, outputs, 1, NULL, &error) != HEWN_STATUS_OK) {
        fprintf(stderr, "execute: %s\n", error.message);
        hewn_destroy_operator(op);
        return 1;
    }

    for (int row = 0; row < 2; row++)
        printf("%d %d %d %d\n", output[row][0], output[row][1], output[row][2], output[row][3]);
    printf("%s\n", hewn_operator_variant(op));
    hewn_destroy_operator(op);
    return 0;
}
