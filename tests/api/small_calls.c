/* hewn_small_calls OPERATOR execute|run COUNT: calls hewn_execute or hewn_run COUNT times, for 16
 * elements. instructions_test.py counts the instructions that these calls take. */
#include <hewn/hewn.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float floats[2][16];
static uint8_t bytes[3][16];

static void check(hewn_status status, const hewn_error *error) {
    if (status == HEWN_STATUS_OK) return;
    fprintf(stderr, "%s\n", error->message);
    exit(1);
}

int main(int argc, char **argv) {
    static const int64_t sizes[] = {16}, once[] = {0};
    const hewn_tensor_desc f32 = {sizeof f32, HEWN_DATA_TYPE_FLOAT32, 1, sizes, NULL, NULL},
                           u8 = {sizeof u8, HEWN_DATA_TYPE_UINT8, 1, sizes, NULL, NULL},
                           scale = {sizeof scale, HEWN_DATA_TYPE_FLOAT32, 1, sizes, once, NULL},
                           zero = {sizeof zero, HEWN_DATA_TYPE_UINT8, 1, sizes, once, NULL};
    const hewn_quantize_linear_desc quantize = {sizeof quantize,        &f32, &scale, &zero, &u8,
                                                HEWN_PRECISION_FLOAT32, 0};
    const hewn_dequantize_linear_desc dequantize = {sizeof dequantize, &u8, &scale, &zero, &f32};
    const hewn_add_desc add = {sizeof add, &f32, &f32, &f32};
    const hewn_quantized_linear_add_desc quantized_add = {
        sizeof quantized_add,           &u8, &scale, &zero, &u8, &scale, &zero, &scale, &zero, &u8,
        HEWN_QUANTIZED_ACTIVATION_NONE, 0};
    float one = 1;
    uint8_t seven = 7;
    const hewn_buffer_binding x = {sizeof x, floats[0], 0, sizeof floats[0]},
                              y = {sizeof y, floats[1], 0, sizeof floats[1]},
                              a = {sizeof a, bytes[0], 0, 16}, b = {sizeof b, bytes[1], 0, 16},
                              c = {sizeof c, bytes[2], 0, 16}, s = {sizeof s, &one, 0, sizeof one},
                              z = {sizeof z, &seven, 0, 1};
    const struct {
        const char *name;
        hewn_operator_desc desc;
        uint32_t input_count;
        hewn_buffer_binding inputs[8], output;
    } cases[] = {
        {"add", {sizeof(hewn_operator_desc), HEWN_OPERATOR_ADD, &add}, 2, {x, x}, y},
        {"quantize_linear",
         {sizeof(hewn_operator_desc), HEWN_OPERATOR_QUANTIZE_LINEAR, &quantize},
         3,
         {x, s, z},
         a},
        {"dequantize_linear",
         {sizeof(hewn_operator_desc), HEWN_OPERATOR_DEQUANTIZE_LINEAR, &dequantize},
         3,
         {a, s, z},
         x},
        {"quantized_linear_add",
         {sizeof(hewn_operator_desc), HEWN_OPERATOR_QUANTIZED_LINEAR_ADD, &quantized_add},
         8,
         {a, s, z, b, s, z, s, z},
         c},
    };
    if (argc != 4) return 2;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (strcmp(argv[1], cases[i].name) != 0) continue;
        hewn_error error = {sizeof error, HEWN_STATUS_OK, ""};
        hewn_operator *op = NULL;
        hewn_bound_operator *bound = NULL;
        check(hewn_compile(NULL, &cases[i].desc, NULL, &op, &error), &error);
        const hewn_buffer_binding *const inputs = cases[i].inputs, *const output = &cases[i].output;
        const uint32_t count = cases[i].input_count;
        check(hewn_bind(op, inputs, count, output, 1, NULL, &bound, &error), &error);
        for (int n = atoi(argv[3]); n > 0; n--)
            check(strcmp(argv[2], "run") == 0
                      ? hewn_run(bound, &error)
                      : hewn_execute(op, inputs, count, output, 1, NULL, &error),
                  &error);
        hewn_destroy_bound_operator(bound);
        hewn_destroy_operator(op);
        return 0;
    }
    return 2;
}
