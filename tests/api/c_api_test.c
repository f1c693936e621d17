/* A C99 program that uses the API: compiled as C, linked as C, with nothing of C++. It quantizes
 * ten numbers, and then makes a call that must be refused. */
#include <hewn/hewn.h>

#include <stdio.h>
#include <string.h>

static int fail(const char *what, const hewn_error *error) {
    fprintf(stderr, "%s: status %d, %s\n", what, (int)error->status, error->message);
    return 1;
}

int main(void) {
    const int64_t sizes[2] = {2, 5}, broadcast[2] = {0, 0};
    hewn_tensor_desc x = {sizeof x, HEWN_DATA_TYPE_FLOAT32, 2, NULL, NULL, NULL}, scale, zero_point,
                     y;
    hewn_quantize_linear_desc quantize = {sizeof quantize,        &x, &scale, &zero_point, &y,
                                          HEWN_PRECISION_FLOAT32, 0};
    hewn_operator_desc desc = {sizeof desc, HEWN_OPERATOR_QUANTIZE_LINEAR, &quantize};
    hewn_error error = {sizeof error, HEWN_STATUS_OK, ""};
    hewn_operator *op = NULL;

    const float input[10] = {-1000.0f, -1.0f, -0.75f, -0.25f, 0.0f,
                             0.25f,    0.75f, 1.25f,  2.0f,   1000.0f},
                s = 0.5f;
    const uint8_t z = 3, expected[10] = {0, 1, 1, 3, 3, 3, 5, 5, 7, 255};
    uint8_t output[10];
    hewn_buffer_binding inputs[3], result;

    x.sizes = sizes;
    scale = zero_point = y = x;
    scale.strides = zero_point.strides = broadcast;
    zero_point.data_type = y.data_type = HEWN_DATA_TYPE_UINT8;

    if (hewn_version() >> 16 != HEWN_VERSION_MAJOR) return fail("version", &error);
    if (hewn_compile(NULL, &desc, NULL, &op, &error) != HEWN_STATUS_OK)
        return fail("compile", &error);
    memset(inputs, 0, sizeof inputs);
    inputs[0].struct_size = inputs[1].struct_size = inputs[2].struct_size = sizeof inputs[0];
    inputs[0].buffer = (void *)input;
    inputs[0].size = sizeof input;
    inputs[1].buffer = (void *)&s;
    inputs[1].size = sizeof s;
    inputs[2].buffer = (void *)&z;
    inputs[2].size = sizeof z;
    result = inputs[0];
    result.buffer = output;
    result.size = sizeof output;
    if (hewn_execute(op, inputs, 3, &result, 1, NULL, &error) != HEWN_STATUS_OK)
        return fail("execute", &error);
    if (memcmp(output, expected, sizeof output) != 0) return fail("a wrong result", &error);

    result.size--;
    if (hewn_execute(op, inputs, 3, &result, 1, NULL, &error) != HEWN_STATUS_INVALID_BINDING)
        return fail("a short buffer was accepted", &error);
    if (!strstr(error.message, "OutputTensor"))
        return fail("the message does not name the tensor", &error);
    hewn_destroy_operator(op);
    hewn_shutdown();
    printf("ok\n");
    return 0;
}
