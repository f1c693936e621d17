/* For a library or a program that has only quantize_linear_f32_u8: every other operator and kernel
 * is refused by name. The first argument is how many operators the library was built with. With a
 * second one, it was built with HEWN_FEATURE_LEVEL=6.2. */
#include <hewn/hewn.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed = 0;

static void expect_at(hewn_feature_level level, hewn_operator_type type, const void *description,
                      hewn_status status, const char *message) {
    const hewn_operator_desc desc = {sizeof desc, type, description};
    hewn_error error = {sizeof error, HEWN_STATUS_OK, ""};
    const hewn_compile_options options = {sizeof options, level, NULL, 0, NULL, NULL, NULL, 0};
    hewn_operator *op = NULL;
    const hewn_status got = hewn_compile(NULL, &desc, &options, &op, &error);
    const int fits =
        got == status &&
        (got == HEWN_STATUS_OK ? op != NULL : op == NULL && strstr(error.message, message) != NULL);
    printf("%s  operator type %d: %d %s\n", fits ? "ok    " : "FAILED", (int)type, (int)got,
           error.message);
    failed |= !fits;
    hewn_destroy_operator(op);
}

static void expect(hewn_operator_type type, const void *description, hewn_status status,
                   const char *message) {
    expect_at(HEWN_FEATURE_LEVEL_NEWEST, type, description, status, message);
}

/* Features that came after DirectML's level 6.2 are refused by name. */
static void expect_level(const hewn_quantize_linear_desc *quantize) {
    const int64_t sizes[] = {4}, blocks[] = {2};
    const hewn_tensor_desc words = {sizeof words, HEWN_DATA_TYPE_UINT16, 1, sizes, NULL, NULL},
                           packed = {sizeof packed, HEWN_DATA_TYPE_UINT4, 1, sizes, NULL, NULL},
                           halves = {sizeof halves, HEWN_DATA_TYPE_FLOAT16, 1, sizes, NULL, NULL},
                           block = {sizeof block, HEWN_DATA_TYPE_FLOAT32, 1, sizes, NULL, blocks};
    hewn_quantize_linear_desc desc = *quantize;
    expect_at(HEWN_FEATURE_LEVEL_6_2, HEWN_OPERATOR_QUANTIZE_LINEAR, &desc, HEWN_STATUS_OK, "");
    expect_at(HEWN_FEATURE_LEVEL_HEWN, HEWN_OPERATOR_QUANTIZE_LINEAR, &desc,
              HEWN_STATUS_UNSUPPORTED,
              "level hewn is not in this build, which has those up to 6.2");
    expect_at(HEWN_FEATURE_LEVEL_6_3, HEWN_OPERATOR_QUANTIZE_LINEAR, &desc, HEWN_STATUS_UNSUPPORTED,
              "not in this build, which has those up to 6.2");
    expect_at(HEWN_FEATURE_LEVEL_HEWN + 1, HEWN_OPERATOR_QUANTIZE_LINEAR, &desc,
              HEWN_STATUS_INVALID_ARGUMENT, "none of DirectML's");
    expect_at(HEWN_FEATURE_LEVEL_6_3 + 1, HEWN_OPERATOR_QUANTIZE_LINEAR, &desc,
              HEWN_STATUS_INVALID_ARGUMENT, "none of DirectML's");
    desc.output_tensor = desc.zero_point_tensor = &words;
    expect(HEWN_OPERATOR_QUANTIZE_LINEAR, &desc, HEWN_STATUS_UNSUPPORTED,
           "UINT16 needs feature level hewn, compiled at 6.2");
    desc.output_tensor = desc.zero_point_tensor = &packed;
    expect(HEWN_OPERATOR_QUANTIZE_LINEAR, &desc, HEWN_STATUS_UNSUPPORTED,
           "UINT4 needs feature level hewn, compiled at 6.2");
    desc = *quantize;
    desc.scale_tensor = &halves;
    expect(HEWN_OPERATOR_QUANTIZE_LINEAR, &desc, HEWN_STATUS_UNSUPPORTED,
           "needs feature level hewn, compiled at 6.2");
    desc.scale_tensor = &block;
    expect(HEWN_OPERATOR_QUANTIZE_LINEAR, &desc, HEWN_STATUS_UNSUPPORTED,
           "a block size needs feature level hewn, compiled at 6.2");
    desc = *quantize;
    desc.precision = HEWN_PRECISION_FLOAT16;
    expect(HEWN_OPERATOR_QUANTIZE_LINEAR, &desc, HEWN_STATUS_UNSUPPORTED, "precision");
    const hewn_quantize_desc newer = {sizeof newer, quantize->input_tensor, quantize->scale_tensor,
                                      quantize->zero_point_tensor, quantize->output_tensor};
    expect(HEWN_OPERATOR_QUANTIZE, &newer, HEWN_STATUS_UNSUPPORTED,
           "this build of hewn has no kernel of QUANTIZE:");
}

/* The table has QUANTIZE_LINEAR and, from level 6.3 on, QUANTIZE. */
static void expect_table(uint32_t count) {
    const char *names[] = {"QUANTIZE_LINEAR", "QUANTIZE"};
    const uint32_t got = hewn_operator_count();
    int fits = got == count;
    for (uint32_t i = 0; i < got && i < count; i++) {
        hewn_operator_info info = {sizeof info};
        hewn_get_operator(i, HEWN_FEATURE_LEVEL_NEWEST, &info);
        fits &= info.directml_name && strcmp(info.directml_name, names[i]) == 0;
    }
    printf("%s  operators: %u\n", fits ? "ok    " : "FAILED", (unsigned)got);
    failed |= !fits;
}

int main(int argc, char **argv) {
    const int64_t sizes[] = {4}, repeat[] = {0};
    const hewn_tensor_desc x = {sizeof x, HEWN_DATA_TYPE_FLOAT32, 1, sizes, NULL, NULL},
                           q = {sizeof q, HEWN_DATA_TYPE_UINT8, 1, sizes, NULL, NULL};
    const hewn_tensor_desc scale = {sizeof scale, HEWN_DATA_TYPE_FLOAT32, 1, sizes, repeat, NULL};
    const hewn_tensor_desc zero = {sizeof zero, HEWN_DATA_TYPE_UINT8, 1, sizes, repeat, NULL};
    const hewn_add_desc add = {sizeof add, &x, &x, &x};
    const hewn_quantize_linear_desc quantize = {sizeof quantize,        &x, &scale, &zero, &q,
                                                HEWN_PRECISION_FLOAT32, 0};
    const hewn_tensor_desc q_i8 = {sizeof q_i8, HEWN_DATA_TYPE_INT8, 1, sizes, NULL, NULL},
                           zero_i8 = {sizeof zero_i8, HEWN_DATA_TYPE_INT8, 1, sizes, repeat, NULL};
    const hewn_dequantize_linear_desc dequantize = {sizeof dequantize, &q, &scale, &zero, &x};
    hewn_quantize_linear_desc to_i8 = quantize;
    to_i8.zero_point_tensor = &zero_i8;
    to_i8.output_tensor = &q_i8;
    expect(HEWN_OPERATOR_QUANTIZE_LINEAR, &quantize, HEWN_STATUS_OK, "");
    expect(HEWN_OPERATOR_QUANTIZE_LINEAR, &to_i8, HEWN_STATUS_UNSUPPORTED,
           "no kernel quantize_linear_f32_i8");
    const int is_whole = argc < 2; /* the library, of which the program links one kernel */
    expect(HEWN_OPERATOR_ADD, &add, HEWN_STATUS_UNSUPPORTED,
           is_whole ? "no kernel add_f32" : "this build of hewn has no kernel of ADD:");
    expect(HEWN_OPERATOR_DEQUANTIZE_LINEAR, &dequantize, HEWN_STATUS_UNSUPPORTED,
           is_whole ? "no kernel dequantize_linear_u8_f32"
                    : "this build of hewn has no kernel of DEQUANTIZE_LINEAR:");
    expect(0, NULL, HEWN_STATUS_INVALID_ARGUMENT, "0 is no operator type");
    if (!is_whole) expect_table((uint32_t)atoi(argv[1]));
    if (argc > 2) expect_level(&quantize);
    return failed;
}
