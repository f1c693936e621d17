/* Prints what a program links by hewn_link_kernels, one line for each: its variants, its targets,
 * and the messages for kernels that were left out. */
#include <hewn/hewn.h>

#include <stdio.h>

int main(void) {
    for (uint32_t i = 0; i < hewn_variant_count(); i++) {
        hewn_variant_info variant = {sizeof variant};
        if (hewn_get_variant(i, &variant)) return 1;
        printf("variant %s\n", variant.name);
    }
    for (uint32_t i = 0; i < hewn_target_count(); i++) {
        hewn_target_info target = {sizeof target};
        if (hewn_get_target(i, &target)) return 1;
        printf("target %s\n", target.name);
    }
    hewn_error error = {sizeof error, HEWN_STATUS_OK, ""};
    hewn_device *device = NULL;
    hewn_open_device(HEWN_DEVICE_OPENCL, 0, &device, &error);
    printf("opencl %s\n", error.message);
    hewn_destroy_device(device);

    const int64_t sizes[] = {4};
    const hewn_tensor_desc x = {sizeof x, HEWN_DATA_TYPE_FLOAT32, 1, sizes, NULL, NULL};
    const hewn_add_desc add = {sizeof add, &x, &x, &x};
    const hewn_operator_desc desc = {sizeof desc, HEWN_OPERATOR_ADD, &add};
    hewn_operator *op = NULL;
    error.message[0] = 0;
    const hewn_status status = hewn_compile(NULL, &desc, NULL, &op, &error);
    printf("add %d %s\n", (int)status, error.message);
    hewn_destroy_operator(op);
    return 0;
}
