/* In a library with quantize_linear_f32_u8 alone: every other operator's description is checked,
 * and has no kernel. */
#include <hewn/hewn.h>

#include <stdio.h>
#include <string.h>

static int failed = 0;

static void expect(hewn_operator_type type, const void *description, hewn_status status,
                   const char *message) {
    const hewn_operator_desc desc = {sizeof desc, type, description};
    hewn_error error = {sizeof error, HEWN_STATUS_OK, ""};
    hewn_operator *op = NULL;
    const hewn_status got = hewn_compile(NULL, &desc, NULL, &op, &error);
    const int fits =
        got == status &&
        (got == HEWN_STATUS_OK ? op != NULL : op == NULL && strstr(error.message, message) != NULL);
    printf("%s  operator type %d: %d %s\n", fits ? "ok    " : "FAILED", (int)type, (int)got,
           error.message);
    failed |= !fits;
    hewn_destroy_operator(op);
}

int main(void) {
    const int64_t sizes[] = {4}, repeat[] = {0};
    const hewn_tensor_desc x = {sizeof x, HEWN_DATA_TYPE_FLOAT32, 1, sizes, NULL, NULL},
                           q = {sizeof q, HEWN_DATA_TYPE_UINT8, 1, sizes, NULL, NULL};
    const hewn_tensor_desc scale = {sizeof scale, HEWN_DATA_TYPE_FLOAT32, 1, sizes, repeat, NULL};
    const hewn_tensor_desc zero = {sizeof zero, HEWN_DATA_TYPE_UINT8, 1, sizes, repeat, NULL};
    const hewn_add_desc add = {sizeof add, &x, &x, &x}, mixed = {sizeof mixed, &x, &q, &x};
    const hewn_quantize_linear_desc quantize = {sizeof quantize,        &x, &scale, &zero, &q,
                                                HEWN_PRECISION_FLOAT32, 0};
    const hewn_dequantize_linear_desc dequantize = {sizeof dequantize, &q, &scale, &zero, &x};
    const hewn_quantized_linear_add_desc sum = {sizeof sum, &q,    &scale, &zero, &q,
                                                &scale,     &zero, &scale, &zero, &q};
    expect(HEWN_OPERATOR_QUANTIZE_LINEAR, &quantize, HEWN_STATUS_OK, "");
    expect(HEWN_OPERATOR_ADD, &add, HEWN_STATUS_UNSUPPORTED, "no kernel add_f32");
    expect(HEWN_OPERATOR_ADD, &mixed, HEWN_STATUS_INVALID_ARGUMENT, "BTensor");
    expect(HEWN_OPERATOR_DEQUANTIZE_LINEAR, &dequantize, HEWN_STATUS_UNSUPPORTED,
           "no kernel dequantize_linear_u8_f32");
    expect(HEWN_OPERATOR_QUANTIZED_LINEAR_ADD, &sum, HEWN_STATUS_UNSUPPORTED,
           "no kernel quantized_linear_add_u8_u8_u8");
    return failed;
}
