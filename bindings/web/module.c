// The source from which hewn.wasm is linked, together with the library. It has no code. It only
// checks that the structs of hewn.h have the layouts by which hewn.mjs reads and writes them.
#include <hewn/hewn.h>
#include <stddef.h>

#define HEWN_IS(struct, member, word) \
    _Static_assert(offsetof(struct, member) == 4 * (word), #struct ": " #member " moved")
#define HEWN_WORDS(struct, words) \
    _Static_assert(sizeof(struct) == 4 * (words), #struct " has another size")

HEWN_WORDS(hewn_error, 66);
HEWN_IS(hewn_error, message, 2);
HEWN_WORDS(hewn_tensor_desc, 6);
HEWN_IS(hewn_tensor_desc, block_sizes, 5);
HEWN_WORDS(hewn_operator_desc, 3);
HEWN_WORDS(hewn_compile_options, 8);
HEWN_IS(hewn_compile_options, constants, 6);
HEWN_WORDS(hewn_buffer_binding, 6);
HEWN_IS(hewn_buffer_binding, buffer, 1);
HEWN_IS(hewn_buffer_binding, size, 4);
HEWN_WORDS(hewn_operator_info, 12);
HEWN_IS(hewn_operator_info, tensor_count, 7);
HEWN_IS(hewn_operator_info, max_dimension_count, 11);
HEWN_WORDS(hewn_operator_tensor_info, 9);
HEWN_IS(hewn_operator_tensor_info, types, 8);
HEWN_WORDS(hewn_operator_attribute_info, 7);
HEWN_IS(hewn_operator_attribute_info, value_count, 3);
HEWN_IS(hewn_operator_attribute_info, of, 6);
HEWN_IS(hewn_add1_desc, alpha, 5);
HEWN_IS(hewn_quantize_linear_desc, precision, 5);
HEWN_WORDS(hewn_quantize_linear_desc, 7);
HEWN_WORDS(hewn_variant_info, 8);
HEWN_IS(hewn_variant_info, signature, 3);
