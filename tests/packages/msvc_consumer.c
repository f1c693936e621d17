/* A C program of Microsoft's ABI. It is compiled for x86_64-pc-windows-msvc without a C library,
 * and linked with hewn.lib by LLVM's linker. It exits with 0 if ADD and QUANTIZE_LINEAR compute
 * the right results and a mistake gets its message, otherwise with the number of the step that
 * failed. */
#include <hewn/hewn.h>

__declspec(dllimport) __declspec(noreturn) void ExitProcess(unsigned status);

int _fltused; /* Microsoft's compilers refer to it where floats are used */

void *memset(void *to, int value, size_t bytes) { /* compilers call it */
    volatile unsigned char *at = to;
    while (bytes--) *at++ = (unsigned char)value;
    return to;
}

static int begins(const char *text, const char *with) {
    while (*with && *text == *with) text++, with++;
    return !*with;
}

static int run(void) {
    enum { COUNT = 5 };
    float a[COUNT] = {1, 2, 3, 4, 5}, b[COUNT] = {10, 20, 30, 40, 50}, sum[COUNT] = {0},
          scale = 0.5f;
    uint8_t zero_point = 128, quantized[COUNT] = {0};
    const int64_t sizes[1] = {COUNT}, broadcast[1] = {0};
    hewn_tensor_desc tensor = {sizeof tensor, HEWN_DATA_TYPE_FLOAT32, 1, sizes, 0, NULL};
    hewn_tensor_desc scalar = {sizeof scalar, HEWN_DATA_TYPE_FLOAT32, 1, sizes, broadcast, NULL};
    hewn_tensor_desc byte = {sizeof byte, HEWN_DATA_TYPE_UINT8, 1, sizes, broadcast, NULL};
    hewn_tensor_desc bytes = {sizeof bytes, HEWN_DATA_TYPE_UINT8, 1, sizes, 0, NULL};
    hewn_add_desc add = {sizeof add, &tensor, &tensor, &tensor};
    hewn_quantize_linear_desc quantize = {sizeof quantize,        &tensor, &scalar, &byte, &bytes,
                                          HEWN_PRECISION_FLOAT32, 0};
    hewn_operator_desc desc = {sizeof desc, HEWN_OPERATOR_ADD, &add};
    hewn_buffer_binding inputs[3] = {{sizeof *inputs, a, 0, sizeof a},
                                     {sizeof *inputs, b, 0, sizeof b}};
    hewn_buffer_binding output = {sizeof output, sum, 0, sizeof sum};
    hewn_error error = {sizeof error, 0, {0}};
    hewn_operator *op = 0;
    int i;

    if (hewn_version() >> 16 != HEWN_VERSION_MAJOR) return 1;
    if (hewn_compile(0, &desc, 0, &op, &error)) return 2;
    if (hewn_execute(op, inputs, 2, &output, 1, 0, &error)) return 3;
    for (i = 0; i < COUNT; i++) {
        if (sum[i] != 11.0f * (float)(i + 1)) return 4;
    }
    output.size = sizeof sum - 1;
    if (hewn_execute(op, inputs, 2, &output, 1, 0, &error) != HEWN_STATUS_INVALID_BINDING) return 5;
    if (error.status != HEWN_STATUS_INVALID_BINDING || !begins(error.message, "ADD OutputTensor"))
        return 6;
    hewn_destroy_operator(op);

    desc.type = HEWN_OPERATOR_QUANTIZE_LINEAR;
    desc.desc = &quantize;
    inputs[1].buffer = &scale;
    inputs[1].size = sizeof scale;
    inputs[2].struct_size = sizeof *inputs;
    inputs[2].buffer = &zero_point;
    inputs[2].size = sizeof zero_point;
    output.buffer = quantized;
    output.size = sizeof quantized;
    if (hewn_compile(0, &desc, 0, &op, &error)) return 7;
    if (hewn_execute(op, inputs, 3, &output, 1, 0, &error)) return 8;
    for (i = 0; i < COUNT; i++) {
        if (quantized[i] != 130 + 2 * i) return 9;
    }
    hewn_destroy_operator(op);
    hewn_shutdown();
    return 0;
}

void mainCRTStartup(void) { ExitProcess((unsigned)run()); }
