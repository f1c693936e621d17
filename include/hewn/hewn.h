/* hewn computes element-wise operators of DirectML and ONNX, addition and quantization, by kernels
 * that Halide compiled ahead of time. This header is its C interface, for C99 and newer and for
 * C++, and also the library's binary interface (ABI). hewn.hpp is a layer over it for C++17.
 *
 * A kernel is the code of one operator for certain data types, such as add_f32. A target is what
 * kernels are compiled for: a set of CPU features, such as x86_64_avx2, or a kind of GPU. A variant
 * is one kernel for one target: add_f32__x86_64_avx2.
 *
 * A program describes an operator, compiles the description for a device, and executes the compiled
 * operator as often as it wants, as with DirectML. This program adds two tensors of four elements
 * on the CPU:
 *
 *     #include <hewn/hewn.h>
 *     #include <stdio.h>
 *
 *     int main(void) {
 *         // The operator: a, b and the sum have the same type and sizes.
 *         const int64_t sizes[] = {4};
 *         const hewn_tensor_desc f32 = {sizeof f32, HEWN_DATA_TYPE_FLOAT32, 1, sizes, NULL, NULL};
 *         const hewn_add_desc add = {sizeof add, &f32, &f32, &f32};
 *         const hewn_operator_desc desc = {sizeof desc, HEWN_OPERATOR_ADD, &add};
 *
 *         // The first NULL is the device, the CPU; the second one stands for default options.
 *         hewn_error error = {sizeof error, HEWN_STATUS_OK, ""};
 *         hewn_operator *op = NULL;
 *         if (hewn_compile(NULL, &desc, NULL, &op, &error) != HEWN_STATUS_OK) {
 *             fprintf(stderr, "%s\n", error.message);
 *             return 1;
 *         }
 *
 *         // The memory of each tensor: an offset and a number of bytes.
 *         float a[4] = {1, 2, 3, 4}, b[4] = {10, 20, 30, 40}, sum[4];
 *         const hewn_buffer_binding inputs[] = {{sizeof *inputs, a, 0, sizeof a},
 *                                               {sizeof *inputs, b, 0, sizeof b}};
 *         const hewn_buffer_binding output = {sizeof output, sum, 0, sizeof sum};
 *         const hewn_status status = hewn_execute(op, inputs, 2, &output, 1, NULL, &error);
 *         if (status == HEWN_STATUS_OK)
 *             printf("%g %g %g %g\n", sum[0], sum[1], sum[2], sum[3]);  // 11 22 33 44
 *         else
 *             fprintf(stderr, "%s\n", error.message);
 *         hewn_destroy_operator(op);
 *         return status == HEWN_STATUS_OK ? 0 : 1;
 *     }
 *
 * These rules hold for the whole header:
 * - Structs. Every struct begins with `struct_size`. Set it to sizeof(the struct), also in structs
 *   that a function fills in. Later versions of hewn only append members to a struct. Members that
 *   lie beyond the caller's struct_size count as 0. A struct_size that is smaller than the struct's
 *   first version is refused.
 * - Numbers. Enumerations are int32_t with fixed values. Data types and feature levels have
 *   DirectML's numbers. Sizes, strides and numbers of bytes are 64-bit, and every product and sum
 *   of them is checked for overflow.
 * - Errors. A function that can fail returns a hewn_status. If its parameter `error` is not NULL, a
 *   call that fails also writes the status and a message to it. The message names the tensor and
 *   the rule that it breaks. A call that fails leaves its result pointers as they were. A call with
 *   wrong arguments or bindings writes no tensor; one that fails later, with
 *   HEWN_STATUS_KERNEL_FAILED, HEWN_STATUS_OUT_OF_MEMORY or HEWN_STATUS_DEVICE_FAILED, may have
 *   written a part of its outputs.
 * - Ownership. hewn_device, hewn_operator and hewn_bound_operator are opaque. The program destroys
 *   each of them by its own function, which ignores NULL. hewn copies descriptions with their
 *   arrays, options and constants, so the program may free them when the call returns. It does not
 *   copy what function pointers and their contexts refer to. Strings that hewn returns live as long
 *   as the library is loaded.
 * - Threads. Any thread may call any function, and threads may share devices, operators and bound
 *   operators. Any number of threads may execute an operator at once, each with outputs of its own.
 *   (On a GPU some operators have a restriction, which hewn_execute explains.) The following must
 *   not happen at the same time: an object is destroyed and used; hewn_shutdown runs and an
 *   operator executes; hewn_compile runs and the program changes its environment variables, of
 *   which hewn_compile reads HEWN_VARIANT.
 * - Results. Every target gives the same bits. Each operation of a formula rounds once, to nearest
 *   even, in IEEE-754 binary32 (the sums of ADD and ADD1: in the tensors' type). A result that is
 *   not FLOAT32 is then rounded to its own type. QUANTIZE_LINEAR's hewn_precision rounds the input,
 *   the scale and the quotient, too. Nothing is fused, and subnormal numbers are kept. Where a
 *   result is a NaN, its sign and payload are not specified. The caller's rounding and
 *   flush-to-zero modes have no influence on results and are left as they were. numerics.md,
 *   installed in share/doc/hewn, has the rules for each operator. */
#ifndef HEWN_HEWN_H
#define HEWN_HEWN_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header; hewn_version returns the library's. */
#define HEWN_VERSION_MAJOR 0
/* As long as the major version is 0, a new minor version may break programs. */
#define HEWN_VERSION_MINOR 2
/* Patch releases contain only bug fixes. */
#define HEWN_VERSION_PATCH 0

/* On Windows, define HEWN_STATIC before this header if the program links hewn statically; without
 * it the functions come from hewn.dll. CMake's target hewn::hewn_static defines it. Packages for
 * Windows have only the DLL. On other systems HEWN_STATIC has no effect. */
#if defined(_WIN32)
#define HEWN_CALL __cdecl
#if defined(HEWN_BUILDING_SHARED)
#define HEWN_API __declspec(dllexport)
#elif defined(HEWN_STATIC)
#define HEWN_API
#else
#define HEWN_API __declspec(dllimport)
#endif
#else
#define HEWN_CALL
#define HEWN_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status and errors ----------------------------------------------------------------------- */

/* What a function returns. */
typedef int32_t hewn_status;
enum {
    HEWN_STATUS_OK = 0,
    /* A required pointer is NULL, a struct_size is too small, a number is not in its enumeration,
     * or tensors break a rule or do not go together. */
    HEWN_STATUS_INVALID_ARGUMENT = 1,
    /* The operator does not allow this at the chosen feature level, or hewn does not have this
     * combination; this build lacks the kernel or the feature level; or an OpenCL queue is out of
     * order. */
    HEWN_STATUS_UNSUPPORTED = 2,
    /* A binding is missing, too small, misaligned or of another type, or it overlaps another
     * one. */
    HEWN_STATUS_INVALID_BINDING = 3,
    /* No variant of the kernel runs on this machine, or the forced one is unknown, does not fit the
     * operator or cannot run here. */
    HEWN_STATUS_NO_VARIANT = 4,
    /* There is not enough memory on the host or on the device. */
    HEWN_STATUS_OUT_OF_MEMORY = 5,
    /* A kernel reported an error. */
    HEWN_STATUS_KERNEL_FAILED = 6,
    /* There is no such device, or its driver is absent, too old or lacks what kernels need. */
    HEWN_STATUS_NO_DEVICE = 7,
    /* The device's driver reported an error. */
    HEWN_STATUS_DEVICE_FAILED = 8
};

/* Where a failing call writes what went wrong. The memory is the caller's, for example a variable
 * `hewn_error error = {sizeof error, HEWN_STATUS_OK, ""};`, which may serve any number of calls one
 * after another. A call that succeeds leaves it untouched. */
typedef struct hewn_error {
    uint32_t struct_size; /* sizeof(hewn_error) */
    hewn_status status;   /* what the failing call returned */
    char message[256];    /* one line of English in UTF-8, NUL-terminated, cut if it is too long */
} hewn_error;

/* ---- Tensors --------------------------------------------------------------------------------- */

/* The type of a tensor's elements. The numbers are those of DML_TENSOR_DATA_TYPE; from 21 on they
 * are hewn's own. No operator takes every type: operators.md says which types it takes. FLOAT16 is
 * IEEE-754's binary16, BFLOAT16 the upper half of a FLOAT32.
 *
 * The floats of 8, 6 and 4 bits are ONNX's types of these names. The numbers after E and M are the
 * bits of the exponent and the mantissa. FN: there is no infinity; UZ: there is no -0 either.
 * FLOAT6E2M3, FLOAT6E3M2 and FLOAT4E2M1 have neither infinity nor NaN. FLOAT8E8M0 is only for
 * scales: it has powers of two and NaN.
 *
 * The types of 6, 4 and 2 bits are sub-byte types: several elements share a byte, the first one in
 * its lowest bits. 4 elements of 6 bits share 3 bytes, and some of them lie in two bytes. */
typedef int32_t hewn_data_type;
enum {
    HEWN_DATA_TYPE_UNKNOWN = 0,
    HEWN_DATA_TYPE_FLOAT32 = 1,
    HEWN_DATA_TYPE_FLOAT16 = 2,
    HEWN_DATA_TYPE_UINT32 = 3,
    HEWN_DATA_TYPE_UINT16 = 4,
    HEWN_DATA_TYPE_UINT8 = 5,
    HEWN_DATA_TYPE_INT32 = 6,
    HEWN_DATA_TYPE_INT16 = 7,
    HEWN_DATA_TYPE_INT8 = 8,
    HEWN_DATA_TYPE_FLOAT64 = 9,
    HEWN_DATA_TYPE_UINT64 = 10,
    HEWN_DATA_TYPE_INT64 = 11,
    HEWN_DATA_TYPE_UINT4 = 12,
    HEWN_DATA_TYPE_INT4 = 13,
    HEWN_DATA_TYPE_FLOAT4E2M1 = 21,
    HEWN_DATA_TYPE_FLOAT6E3M2 = 22,
    HEWN_DATA_TYPE_FLOAT6E2M3 = 23,
    HEWN_DATA_TYPE_FLOAT8E8M0 = 24,
    HEWN_DATA_TYPE_FLOAT8E5M2FNUZ = 25,
    HEWN_DATA_TYPE_FLOAT8E5M2 = 26,
    HEWN_DATA_TYPE_FLOAT8E4M3FNUZ = 27,
    HEWN_DATA_TYPE_FLOAT8E4M3FN = 28,
    HEWN_DATA_TYPE_BFLOAT16 = 29,
    HEWN_DATA_TYPE_UINT2 = 30,
    HEWN_DATA_TYPE_INT2 = 31
};

/* The most dimensions that a tensor may have. */
#define HEWN_DIMENSION_COUNT_MAX 8

/* A tensor's type and layout, without its memory. Dimensions go from the outermost to the
 * innermost, as in DirectML.
 * - Scalars. A tensor without dimensions (dimension_count 0) is one element. An operator takes it
 *   wherever it takes one dimension. All operators do so from feature level 3.0 on (see
 *   hewn_feature_level).
 * - Empty tensors. A size of 0 makes the tensor empty. An execution then writes nothing, except
 *   that DYNAMIC_QUANTIZE_LINEAR writes its scale and its zero point.
 * - Strides of an output must keep its elements apart. hewn checks this as follows. It sorts the
 *   dimensions that have more than one element by stride, the smallest first. In this order, each
 *   stride must be larger than the sum of (size - 1) * stride over all smaller ones.
 * - Sub-byte types. Strides count elements here, too. The tensor starts at a byte boundary; later
 *   rows may start inside a byte. An output with strides may share bytes with elements that are not
 *   its own. hewn keeps those that lie before the output's last element. In the byte of the last
 *   element, it sets the bits after that element to 0.
 * - Blocks. One element of a scale or zero point may serve a block of the input's elements, as
 *   ONNX's block_size says. The tensor then has the sizes of the input, and block_sizes says how
 *   many of these elements are a block: index i of dimension d reads the scale's element
 *   i / block_sizes[d] of that dimension. For an input of 2 x 64 elements, a scale with the sizes
 *   {2, 64} and the block_sizes {1, 32} has 2 x 2 elements in memory. Its strides lead from one of
 *   these elements to the next; NULL means that they are contiguous. DYNAMIC_QUANTIZE chooses
 *   scales and zero points for blocks that are described in the same way.
 * - Rules for blocks. Where both the scale and the zero point have block sizes in a dimension,
 *   these must be equal. If the input's size in a dimension is no multiple of the block size, the
 *   last block there is shorter than the others; that is allowed in at most three dimensions.
 *   QUANTIZE_LINEAR and DEQUANTIZE_LINEAR take blocks from HEWN_FEATURE_LEVEL_HEWN on. QUANTIZE and
 *   DEQUANTIZE take them at every level that has these operators, but refuse a shorter last
 *   block. */
typedef struct hewn_tensor_desc {
    uint32_t struct_size;     /* sizeof(hewn_tensor_desc) */
    hewn_data_type data_type; /* of the elements */
    uint32_t dimension_count; /* 0 to HEWN_DIMENSION_COUNT_MAX */
    /* [dimension_count] in elements, each >= 0. May be NULL if dimension_count is 0. */
    const int64_t *sizes;
    /* [dimension_count] The distance in elements from one index to the next, each >= 0. A stride of
     * 0 repeats an input's elements along the dimension (broadcast). NULL: the tensor is
     * contiguous, in row-major order. */
    const int64_t *strides;
    /* [dimension_count] How many of the input's elements share one element of this tensor, at
     * least 1 each. NULL: all are 1. */
    const int64_t *block_sizes;
} hewn_tensor_desc;

/* Sets *bytes to the number of bytes from the beginning of the tensor's first element to the end of
 * its last one. A binding needs at least as many. For an empty tensor it is 0. Otherwise it is the
 * size of 1 + sum((sizes[d] - 1) / block_sizes[d] * strides[d]) elements, where the division rounds
 * down; the bytes of sub-byte types are rounded up. (DirectML's DMLCalcBufferTensorSize rounds up
 * to a multiple of 4; hewn does not.) Whether an operator takes such a tensor is not checked here.
 * HEWN_STATUS_INVALID_ARGUMENT: a pointer is NULL, the description breaks a rule of
 * hewn_tensor_desc, or its size overflows 63 bits. */
HEWN_API hewn_status HEWN_CALL hewn_tensor_size(const hewn_tensor_desc *tensor, uint64_t *bytes,
                                                hewn_error *error);

/* ---- Operators ------------------------------------------------------------------------------- */

/* About all operators. Each has a struct, which points to the descriptions of its tensors, inputs
 * first. Where the comments of the structs do not say otherwise:
 * - All tensors have the sizes of the first one, also scales and zero points, whose strides say how
 *   they repeat. If all strides are 0, one scale serves the whole tensor; with {0, 1, 0, 0} there
 *   is one for each channel of an N x C x H x W tensor.
 * - A tensor "of one element" has the first one's number of dimensions. In each dimension its size
 *   is 1 or its stride is 0.
 * - An optional zero point that is NULL is 0.
 * - round() goes to the nearest integer, ties to the even one. clamp() limits to Min and Max, the
 *   least and the greatest number of the output's type: 0 and 2^n - 1 if it is unsigned and has n
 *   bits, -2^(n-1) and 2^(n-1) - 1 if it is signed.
 * - When quantized to integers, a NaN becomes the zero point, and an infinity Min or Max. Any scale
 *   is allowed: for 0, negative numbers, infinities and NaN the formula holds as for others.
 * - Floats of at most 8 bits have no zero point but 0. A zero point of such a type may be given,
 *   and is then bound like any other input, but its elements are not read.
 *
 * Two documents, which are installed in share/doc/hewn, say the rest. numerics.md says how results
 * are rounded. operators.md says which data types and numbers of dimensions are allowed at each
 * feature level, which tensors must have the same type, and from which level on an optional tensor
 * may be NULL; a program reads this by hewn_get_operator and the functions after it. */

/* ADD: f(a, b) = a + b. In DirectML: DML_ELEMENT_WISE_ADD_OPERATOR_DESC; in ONNX: Add. Integers
 * wrap modulo 2^n. In place: the output may be bound to the memory of one input or of both, at the
 * same address and with the same strides. */
typedef struct hewn_add_desc {
    uint32_t struct_size;                  /* sizeof(hewn_add_desc) */
    const hewn_tensor_desc *a_tensor;      /* a */
    const hewn_tensor_desc *b_tensor;      /* b */
    const hewn_tensor_desc *output_tensor; /* f */
} hewn_add_desc;

/* The activations of ADD1, where x is a + b. alpha and so on are members of hewn_add1_desc. */
typedef int32_t hewn_activation;
enum {
    HEWN_ACTIVATION_IDENTITY = 0,         /* x; the default */
    HEWN_ACTIVATION_LINEAR = 1,           /* alpha * x + beta */
    HEWN_ACTIVATION_RELU = 2,             /* max(0, x) */
    HEWN_ACTIVATION_LEAKY_RELU = 3,       /* x >= 0 ? x : alpha * x */
    HEWN_ACTIVATION_THRESHOLDED_RELU = 4, /* x > alpha ? x : 0 */
    HEWN_ACTIVATION_HARD_SIGMOID = 5,     /* max(0, min(alpha * x + beta, 1)) */
    HEWN_ACTIVATION_SOFTSIGN = 6,         /* x / (1 + |x|) */
    /* x < -threshold ? x + bias : x > threshold ? x - bias : 0 */
    HEWN_ACTIVATION_SHRINK = 7,
    HEWN_ACTIVATION_CLIP = 8, /* min(max(x, min), max); needs HEWN_FEATURE_LEVEL_HEWN */
    /* hewn_compile refuses these with HEWN_STATUS_UNSUPPORTED. They need exp, tanh, log or erf,
     * whose last bit no standard fixes. */
    HEWN_ACTIVATION_SIGMOID = 9,
    HEWN_ACTIVATION_TANH = 10,
    HEWN_ACTIVATION_SCALED_TANH = 11,
    HEWN_ACTIVATION_ELU = 12,
    HEWN_ACTIVATION_SCALED_ELU = 13,
    HEWN_ACTIVATION_CELU = 14,
    HEWN_ACTIVATION_SOFTPLUS = 15,
    HEWN_ACTIVATION_PARAMETRIC_SOFTPLUS = 16,
    HEWN_ACTIVATION_GELU = 17
};

/* ADD1: f(a, b) = activation(a + b). In DirectML: DML_ELEMENT_WISE_ADD1_OPERATOR_DESC with a
 * FusedActivation. The sum is rounded to the type of the tensors, each operation of the activation
 * to FLOAT32, and the result to the type, so that f is what ADD gives, followed by the activation.
 * A parameter must not be NaN, and must be 0 for activations that do not have it. NaN stays NaN,
 * but THRESHOLDED_RELU and SHRINK make 0 of it. numerics.md has the rest. In place as ADD. */
typedef struct hewn_add1_desc {
    uint32_t struct_size;                  /* sizeof(hewn_add1_desc) */
    const hewn_tensor_desc *a_tensor;      /* a */
    const hewn_tensor_desc *b_tensor;      /* b */
    const hewn_tensor_desc *output_tensor; /* f */
    hewn_activation activation;            /* of a + b */
    float alpha;       /* of LINEAR, LEAKY_RELU, THRESHOLDED_RELU and HARD_SIGMOID */
    float beta;        /* of LINEAR and HARD_SIGMOID */
    float bias;        /* of SHRINK */
    float threshold;   /* of SHRINK */
    float min;         /* of CLIP */
    float max;         /* of CLIP */
    uint32_t reserved; /* 0 */
} hewn_add1_desc;

/* What QUANTIZE_LINEAR rounds x, the scale and their quotient to: the attribute `precision` of
 * ONNX's QuantizeLinear, since opset 23. */
typedef int32_t hewn_precision;
enum {
    HEWN_PRECISION_FLOAT32 = 0, /* the default */
    HEWN_PRECISION_FLOAT16 = 1,
    HEWN_PRECISION_BFLOAT16 = 2
};

/* Whether QUANTIZE_LINEAR to a float of 8 bits gives the largest number for numbers beyond it and
 * for infinities: the attribute `saturate` of ONNX's QuantizeLinear, since opset 19. OFF gives
 * infinity, or NaN in a type without infinity. All other outputs saturate in any case. */
typedef int32_t hewn_saturate;
enum {
    HEWN_SATURATE_ON = 0, /* the default */
    HEWN_SATURATE_OFF = 1
};

/* QUANTIZE_LINEAR: f(x, scale, zero_point) = clamp(round(x / scale) + zero_point, Min, Max). In
 * DirectML: DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC; in ONNX: QuantizeLinear. If the output
 * is a float of at most 8 bits, f is its number nearest to x / scale; if two are equally near, the
 * one whose lowest bit is 0. In a type without NaN, NaN becomes the largest number. The scale and
 * the zero point may have blocks (hewn_tensor_desc). A precision of FLOAT16 or BFLOAT16 needs
 * HEWN_FEATURE_LEVEL_HEWN; the quotient may then overflow to an infinity. */
typedef struct hewn_quantize_linear_desc {
    uint32_t struct_size;                      /* sizeof(hewn_quantize_linear_desc) */
    const hewn_tensor_desc *input_tensor;      /* x */
    const hewn_tensor_desc *scale_tensor;      /* scale */
    const hewn_tensor_desc *zero_point_tensor; /* optional: NULL means 0 */
    const hewn_tensor_desc *output_tensor;     /* f */
    hewn_precision precision;                  /* of x, scale and x / scale */
    hewn_saturate saturate;                    /* only for an output of a float of 8 bits */
} hewn_quantize_linear_desc;

/* DEQUANTIZE_LINEAR: f(x, scale, zero_point) = (x - zero_point) * scale. In DirectML:
 * DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC; in ONNX: DequantizeLinear. The scale and the
 * zero point may have blocks (hewn_tensor_desc). */
typedef struct hewn_dequantize_linear_desc {
    uint32_t struct_size;                      /* sizeof(hewn_dequantize_linear_desc) */
    const hewn_tensor_desc *input_tensor;      /* x */
    const hewn_tensor_desc *scale_tensor;      /* scale */
    const hewn_tensor_desc *zero_point_tensor; /* optional: NULL means 0 */
    const hewn_tensor_desc *output_tensor;     /* f */
} hewn_dequantize_linear_desc;

/* QUANTIZE: f(x, scale, zero_point) = clamp(round(x / scale) + zero_point, Min, Max). In DirectML,
 * since feature level 6.3: DML_QUANTIZE_OPERATOR_DESC; in ONNX: QuantizeLinear. It is
 * QUANTIZE_LINEAR with these differences:
 * - DirectML's array of quantization tensors is scale_tensor and zero_point_tensor. With a zero
 *   point this is DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT, without one DML_QUANTIZATION_TYPE_SCALE.
 * - A zero point that is NULL is the middle of an unsigned type, 2^(n-1), and 0 of a signed one.
 * - A size of the scale or of the zero point may also be the number of blocks, which must divide
 *   x's size. With 64 elements of x along a dimension, a size of 4 is the same as a size of 64 with
 *   a block size of 16. Blocks are whole.
 * - It has no precision, takes fewer data types, and does not mix float types (operators.md). */
typedef struct hewn_quantize_desc {
    uint32_t struct_size;                      /* sizeof(hewn_quantize_desc) */
    const hewn_tensor_desc *input_tensor;      /* x */
    const hewn_tensor_desc *scale_tensor;      /* scale */
    const hewn_tensor_desc *zero_point_tensor; /* optional: NULL means the middle */
    const hewn_tensor_desc *output_tensor;     /* f */
} hewn_quantize_desc;

/* DEQUANTIZE: f(x, scale, zero_point) = (x - zero_point) * scale. In DirectML, since feature
 * level 6.3: DML_DEQUANTIZE_OPERATOR_DESC; in ONNX: DequantizeLinear. It is DEQUANTIZE_LINEAR with
 * the differences that hewn_quantize_desc lists; the middle is that of x's type. */
typedef struct hewn_dequantize_desc {
    uint32_t struct_size;                      /* sizeof(hewn_dequantize_desc) */
    const hewn_tensor_desc *input_tensor;      /* x */
    const hewn_tensor_desc *scale_tensor;      /* scale */
    const hewn_tensor_desc *zero_point_tensor; /* optional: NULL means the middle of x's type */
    const hewn_tensor_desc *output_tensor;     /* f */
} hewn_dequantize_desc;

/* The activation of QUANTIZED_LINEAR_ADD. It clamps f to what these numbers are quantized to: */
typedef int32_t hewn_quantized_activation;
enum {
    HEWN_QUANTIZED_ACTIVATION_NONE = 0,        /* the default: it does not clamp */
    HEWN_QUANTIZED_ACTIVATION_RELU = 1,        /* 0 and more */
    HEWN_QUANTIZED_ACTIVATION_RELU6 = 2,       /* 0 to 6 */
    HEWN_QUANTIZED_ACTIVATION_RELU_N1_TO_1 = 3 /* -1 to 1 */
};

/* QUANTIZED_LINEAR_ADD:
 *     f = clamp(round(((a - a_zero_point) * a_scale + (b - b_zero_point) * b_scale) / output_scale)
 *               + output_zero_point, Min, Max).
 * In DirectML: DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC; in ONNX Runtime:
 * com.microsoft.QLinearAdd. Scales and zero points are of one element. It is fastest if all of them
 * are constants (hewn_compile_options). An activation, which LiteRT's ADD has and which needs
 * HEWN_FEATURE_LEVEL_HEWN, clamps the result to its quantized bounds: those that QUANTIZE_LINEAR
 * makes of 0, 6, -1 and 1 with output_scale and output_zero_point. */
typedef struct hewn_quantized_linear_add_desc {
    uint32_t struct_size;                             /* sizeof(hewn_quantized_linear_add_desc) */
    const hewn_tensor_desc *a_tensor;                 /* a */
    const hewn_tensor_desc *a_scale_tensor;           /* a_scale */
    const hewn_tensor_desc *a_zero_point_tensor;      /* optional: NULL means 0 */
    const hewn_tensor_desc *b_tensor;                 /* b */
    const hewn_tensor_desc *b_scale_tensor;           /* b_scale */
    const hewn_tensor_desc *b_zero_point_tensor;      /* optional: NULL means 0 */
    const hewn_tensor_desc *output_scale_tensor;      /* output_scale */
    const hewn_tensor_desc *output_zero_point_tensor; /* optional: NULL means 0 */
    const hewn_tensor_desc *output_tensor;            /* f */
    hewn_quantized_activation activation;             /* bounds of f */
    uint32_t reserved;                                /* 0 */
} hewn_quantized_linear_add_desc;

/* QUANTIZED_LINEAR_MUL:
 *     f = clamp(round((a - a_zero_point) * (b - b_zero_point) * (a_scale * b_scale / output_scale))
 *               + output_zero_point, Min, Max).
 * In ONNX Runtime: com.microsoft.QLinearMul. DirectML does not have it, so it needs
 * HEWN_FEATURE_LEVEL_HEWN. Scales and zero points are of one element. */
typedef struct hewn_quantized_linear_mul_desc {
    uint32_t struct_size;                             /* sizeof(hewn_quantized_linear_mul_desc) */
    const hewn_tensor_desc *a_tensor;                 /* a */
    const hewn_tensor_desc *a_scale_tensor;           /* a_scale */
    const hewn_tensor_desc *a_zero_point_tensor;      /* optional: NULL means 0 */
    const hewn_tensor_desc *b_tensor;                 /* b */
    const hewn_tensor_desc *b_scale_tensor;           /* b_scale */
    const hewn_tensor_desc *b_zero_point_tensor;      /* optional: NULL means 0 */
    const hewn_tensor_desc *output_scale_tensor;      /* output_scale */
    const hewn_tensor_desc *output_zero_point_tensor; /* optional: NULL means 0 */
    const hewn_tensor_desc *output_tensor;            /* f */
} hewn_quantized_linear_mul_desc;

/* REQUANTIZE:
 *     f = clamp(round((x - input_zero_point) * input_scale / output_scale)
 *               + output_zero_point, Min, Max).
 * These are the bits of DEQUANTIZE_LINEAR to FLOAT32 followed by QUANTIZE_LINEAR. Neither DirectML
 * nor ONNX has it, so it needs HEWN_FEATURE_LEVEL_HEWN. Scales and zero points are of one
 * element. */
typedef struct hewn_requantize_desc {
    uint32_t struct_size;                             /* sizeof(hewn_requantize_desc) */
    const hewn_tensor_desc *input_tensor;             /* x */
    const hewn_tensor_desc *input_scale_tensor;       /* input_scale */
    const hewn_tensor_desc *input_zero_point_tensor;  /* optional: NULL means 0 */
    const hewn_tensor_desc *output_scale_tensor;      /* output_scale */
    const hewn_tensor_desc *output_zero_point_tensor; /* optional: NULL means 0 */
    const hewn_tensor_desc *output_tensor;            /* f */
} hewn_requantize_desc;

/* DYNAMIC_QUANTIZE_LINEAR: f = clamp(round(x / s) + z, Min, Max), where s and z are outputs, too:
 * the scale and the zero point that map the range of x, widened to contain 0, to Min and Max. In
 * DirectML: DML_DYNAMIC_QUANTIZE_LINEAR_OPERATOR_DESC; in ONNX: DynamicQuantizeLinear.
 * - s and z have x's number of dimensions, and all of their sizes are 1.
 * - All three outputs are bound, in the order f, s, z. None may overlap another.
 * - A NaN in x does not count in its range. If x is empty, an execution still writes s = 1 and
 *   z = Min. */
typedef struct hewn_dynamic_quantize_linear_desc {
    uint32_t struct_size;                        /* sizeof(hewn_dynamic_quantize_linear_desc) */
    const hewn_tensor_desc *input_tensor;        /* x */
    const hewn_tensor_desc *output_tensor;       /* f */
    const hewn_tensor_desc *output_scale_tensor; /* s */
    const hewn_tensor_desc *output_zero_point_tensor; /* z */
} hewn_dynamic_quantize_linear_desc;

/* How DYNAMIC_QUANTIZE chooses a block's scale s and zero point z. low is the least of 0 and the
 * block's numbers, and high the greatest. */
typedef int32_t hewn_quantization_mode;
enum {
    /* s = (high - low) / (Max - Min) and z = clamp(round(Min - low / s), Min, Max); the default */
    HEWN_QUANTIZATION_MODE_ASYMMETRIC = 0,
    /* s = max(-low, high) / Max, where Max is 127 also for UINT8, and 7 also for UINT4 */
    HEWN_QUANTIZATION_MODE_SYMMETRIC = 1,
    /* s = m / Min, where m is low or high, whichever is farther from 0 (low, if both are), and Min
     * is -128 or -8 also for the unsigned types. s may be negative. */
    HEWN_QUANTIZATION_MODE_FULL = 2
};

/* DYNAMIC_QUANTIZE: f = clamp(round(x / s) + z, Min, Max), where s and z are outputs, too: a scale
 * and a zero point for each block of x. The results are those of QUANTIZE_LINEAR with the s and z
 * that are written. It needs HEWN_FEATURE_LEVEL_HEWN.
 * - The blocks are those of s (hewn_tensor_desc): a stride of 0 says that a block has all indices
 *   of that dimension. So strides of {1, 0} are a scale for each row of a matrix, and {0, 1} for
 *   each column. z has the blocks of s. The last block of a dimension may be short.
 * - In the mode ASYMMETRIC z is an output. In the other modes there is none: its tensor is NULL,
 *   and z is 0, or 128 for UINT8 and 8 for UINT4. Floats of 8 bits take the mode SYMMETRIC only.
 * - A NaN in x does not count in its block's range. s is 1 if the range is only 0.
 * - min_scale, if it is not 0, is the least scale; it is also that of a range that is only 0. The
 *   scale is then rounded to the type of s, and z follows from the rounded one.
 * - The outputs are bound in the order f, s, z. None may overlap another. */
typedef struct hewn_dynamic_quantize_desc {
    uint32_t struct_size;                             /* sizeof(hewn_dynamic_quantize_desc) */
    const hewn_tensor_desc *input_tensor;             /* x */
    const hewn_tensor_desc *output_tensor;            /* f */
    const hewn_tensor_desc *output_scale_tensor;      /* s */
    const hewn_tensor_desc *output_zero_point_tensor; /* z; NULL unless the mode is ASYMMETRIC */
    hewn_quantization_mode mode;                      /* how s and z are chosen */
    float min_scale;                                  /* of ASYMMETRIC and SYMMETRIC */
} hewn_dynamic_quantize_desc;

/* How MX_QUANTIZE chooses a block's scale from its largest magnitude a. 2^emax is the exponent of
 * the element type's largest number: 2^8, 2^15, 2^2, 2^4 and 2^2 of FLOAT8E4M3FN, FLOAT8E5M2,
 * FLOAT6E2M3, FLOAT6E3M2 and FLOAT4E2M1, and 1 of INT8. */
typedef int32_t hewn_mx_scale_mode;
enum {
    /* s = 2^(floor(log2(a)) - emax), the rule of the OCP specification; larger elements saturate */
    HEWN_MX_SCALE_MODE_FLOOR = 0,
    /* the smallest power of two by which no element exceeds the type's range */
    HEWN_MX_SCALE_MODE_CEIL = 1,
    /* as FLOOR, after a is rounded to the precision of the elements */
    HEWN_MX_SCALE_MODE_EVEN = 2
};

/* MX_QUANTIZE: f = x / s, rounded to nearest, ties to even, where s is an output, too: a power of
 * two for each block of x. It needs HEWN_FEATURE_LEVEL_HEWN.
 * - The blocks are those of s, as in DYNAMIC_QUANTIZE. OCP's formats have blocks of 32 elements.
 * - f saturates. An INT8 element i means i / 64 and is never -128.
 * - s is between 2^-127 and 2^127. A block of zeros has 2^-127.
 * - If a block has a NaN or an infinity, its s is NaN, and its elements are NaN, or 0 if their type
 *   has no NaN.
 * - The outputs are bound in the order f, s. They may not overlap. */
typedef struct hewn_mx_quantize_desc {
    uint32_t struct_size;                        /* sizeof(hewn_mx_quantize_desc) */
    const hewn_tensor_desc *input_tensor;        /* x */
    const hewn_tensor_desc *output_tensor;       /* f */
    const hewn_tensor_desc *output_scale_tensor; /* s, FLOAT8E8M0 */
    hewn_mx_scale_mode scale_mode;               /* how s is chosen */
    int32_t reserved;                            /* must be 0 */
} hewn_mx_quantize_desc;

/* MX_DEQUANTIZE: f = x * s, with the blocks of s. For floats it is DEQUANTIZE_LINEAR, and an INT8
 * element i means i / 64. The product is rounded once, to the type of f. It needs
 * HEWN_FEATURE_LEVEL_HEWN. */
typedef struct hewn_mx_dequantize_desc {
    uint32_t struct_size;                  /* sizeof(hewn_mx_dequantize_desc) */
    const hewn_tensor_desc *input_tensor;  /* x */
    const hewn_tensor_desc *scale_tensor;  /* s, FLOAT8E8M0 */
    const hewn_tensor_desc *output_tensor; /* f */
} hewn_mx_dequantize_desc;

/* NVFP4_QUANTIZE: f = x / (s * t), rounded to FLOAT4E2M1, ties to even, saturating. s is an output:
 * a scale for each block of x. t is one scale for the tensor, which is given or an output. It needs
 * HEWN_FEATURE_LEVEL_HEWN.
 * - The blocks are those of s, as in DYNAMIC_QUANTIZE. NVFP4 has blocks of 16 elements.
 * - s = (a / 6) / t, rounded to FLOAT8E4M3FN, saturating, where a is the block's largest magnitude.
 *   s * t is rounded to FLOAT32. If it is 0, f is a zero with the sign of x.
 * - If t is not given, it is A / 2688, where A is the largest a, or 1 if A is 0.
 * - If a block has a NaN or an infinity, its s is NaN, its elements are 0, and it does not count in
 *   A.
 * - The outputs are bound in the order f, s, t. None may overlap another. */
typedef struct hewn_nvfp4_quantize_desc {
    uint32_t struct_size;                               /* sizeof(hewn_nvfp4_quantize_desc) */
    const hewn_tensor_desc *input_tensor;               /* x */
    const hewn_tensor_desc *tensor_scale_tensor;        /* t, FLOAT32; NULL: it is an output */
    const hewn_tensor_desc *output_tensor;              /* f */
    const hewn_tensor_desc *output_scale_tensor;        /* s */
    const hewn_tensor_desc *output_tensor_scale_tensor; /* t; NULL if it is given */
} hewn_nvfp4_quantize_desc;

/* NVFP4_DEQUANTIZE: f = x * (s * t), with the blocks of s. Both products are rounded to FLOAT32,
 * and the second one then to the type of f. These are the results of two DEQUANTIZE_LINEAR. It
 * needs HEWN_FEATURE_LEVEL_HEWN. */
typedef struct hewn_nvfp4_dequantize_desc {
    uint32_t struct_size;                        /* sizeof(hewn_nvfp4_dequantize_desc) */
    const hewn_tensor_desc *input_tensor;        /* x */
    const hewn_tensor_desc *scale_tensor;        /* s */
    const hewn_tensor_desc *tensor_scale_tensor; /* t, FLOAT32 */
    const hewn_tensor_desc *output_tensor;       /* f */
} hewn_nvfp4_dequantize_desc;

/* Which operator a hewn_operator_desc describes. */
typedef int32_t hewn_operator_type;
enum {
    HEWN_OPERATOR_ADD = 1,                     /* desc: hewn_add_desc */
    HEWN_OPERATOR_QUANTIZE_LINEAR = 2,         /* desc: hewn_quantize_linear_desc */
    HEWN_OPERATOR_DEQUANTIZE_LINEAR = 3,       /* desc: hewn_dequantize_linear_desc */
    HEWN_OPERATOR_QUANTIZED_LINEAR_ADD = 4,    /* desc: hewn_quantized_linear_add_desc */
    HEWN_OPERATOR_QUANTIZED_LINEAR_MUL = 5,    /* desc: hewn_quantized_linear_mul_desc */
    HEWN_OPERATOR_DYNAMIC_QUANTIZE_LINEAR = 6, /* desc: hewn_dynamic_quantize_linear_desc */
    HEWN_OPERATOR_QUANTIZE = 7,                /* desc: hewn_quantize_desc */
    HEWN_OPERATOR_DEQUANTIZE = 8,              /* desc: hewn_dequantize_desc */
    HEWN_OPERATOR_REQUANTIZE = 9,              /* desc: hewn_requantize_desc */
    HEWN_OPERATOR_ADD1 = 10,                   /* desc: hewn_add1_desc */
    HEWN_OPERATOR_DYNAMIC_QUANTIZE = 11,       /* desc: hewn_dynamic_quantize_desc */
    HEWN_OPERATOR_MX_QUANTIZE = 12,            /* desc: hewn_mx_quantize_desc */
    HEWN_OPERATOR_MX_DEQUANTIZE = 13,          /* desc: hewn_mx_dequantize_desc */
    HEWN_OPERATOR_NVFP4_QUANTIZE = 14,         /* desc: hewn_nvfp4_quantize_desc */
    HEWN_OPERATOR_NVFP4_DEQUANTIZE = 15        /* desc: hewn_nvfp4_dequantize_desc */
};

/* An operator of any type, for hewn_compile. */
typedef struct hewn_operator_desc {
    uint32_t struct_size;    /* sizeof(hewn_operator_desc) */
    hewn_operator_type type; /* says which struct desc points to */
    const void *desc;        /* for example a const hewn_add_desc * */
} hewn_operator_desc;

/* A feature level of DirectML: the operators, types, numbers of dimensions and options that it
 * allows. The numbers are those of DML_FEATURE_LEVEL, except the last one. Each operator has a
 * table of levels in operators.md; a level that is not in the table allows what the next lower one
 * in it does. A build may lack the newest levels (CMake's option HEWN_FEATURE_LEVEL). For these,
 * hewn_compile returns HEWN_STATUS_UNSUPPORTED, and hewn_get_operator and the functions after it
 * return HEWN_STATUS_INVALID_ARGUMENT. */
typedef int32_t hewn_feature_level;
enum {
    HEWN_FEATURE_LEVEL_NEWEST = 0, /* the newest level of the build */
    HEWN_FEATURE_LEVEL_1_0 = 0x1000,
    HEWN_FEATURE_LEVEL_2_0 = 0x2000,
    HEWN_FEATURE_LEVEL_2_1 = 0x2100,
    HEWN_FEATURE_LEVEL_3_0 = 0x3000,
    HEWN_FEATURE_LEVEL_3_1 = 0x3100,
    HEWN_FEATURE_LEVEL_4_0 = 0x4000,
    HEWN_FEATURE_LEVEL_4_1 = 0x4100,
    HEWN_FEATURE_LEVEL_5_0 = 0x5000,
    HEWN_FEATURE_LEVEL_5_1 = 0x5100,
    HEWN_FEATURE_LEVEL_5_2 = 0x5200,
    HEWN_FEATURE_LEVEL_6_0 = 0x6000,
    HEWN_FEATURE_LEVEL_6_1 = 0x6100,
    HEWN_FEATURE_LEVEL_6_2 = 0x6200,
    HEWN_FEATURE_LEVEL_6_3 = 0x6300,
    HEWN_FEATURE_LEVEL_6_4 = 0x6400,
    /* Above DirectML's last level: also what hewn has and DirectML does not. */
    HEWN_FEATURE_LEVEL_HEWN = 0x10000
};

/* ---- Devices --------------------------------------------------------------------------------- */

/* What operators are compiled for and run on. Where a function takes a device to use, NULL is the
 * CPU without memory hooks (hewn_cpu_device_desc): hewn's own memory comes from the C library. */
typedef struct hewn_device hewn_device;

/* A memory hook: a function of the program from which hewn takes its own memory. It returns `bytes`
 * bytes that are aligned to `alignment`, a power of two of at most 64, or NULL if there is no
 * memory. The hooks are called by functions that create, compile, bind and destroy, and for a CPU
 * device by hewn_allocate and hewn_deallocate; hewn_execute and hewn_run do not call them. Several
 * threads may call them at once. They and their context must outlive the device and all of its
 * operators. */
typedef void *(HEWN_CALL *hewn_allocate_fn)(void *context, size_t bytes, size_t alignment);
/* The other hook, which gives back what hewn_allocate_fn returned. */
typedef void(HEWN_CALL *hewn_deallocate_fn)(void *context, void *memory);

/* The CPU, with memory hooks. Set both hooks, or none: NULL stands for the C library's
 * functions. */
typedef struct hewn_cpu_device_desc {
    uint32_t struct_size;          /* sizeof(hewn_cpu_device_desc) */
    hewn_allocate_fn allocate;     /* one hook */
    hewn_deallocate_fn deallocate; /* the other hook */
    void *allocator_context;       /* passed to both */
} hewn_cpu_device_desc;

/* Creates a CPU device. desc may be NULL: no hooks. A program without memory hooks does not need a
 * CPU device, because it can pass NULL as the device.
 * - HEWN_STATUS_INVALID_ARGUMENT: device is NULL, struct_size is too small, or only one hook is
 *   set.
 * - HEWN_STATUS_OUT_OF_MEMORY: the hook returned NULL. */
HEWN_API hewn_status HEWN_CALL hewn_create_cpu_device(const hewn_cpu_device_desc *desc,
                                                      hewn_device **device, hewn_error *error);
/* Destroys a device of any kind; ignores NULL. Operators that were compiled for it stay valid.
 * First give the memory of hewn_allocate back. For a GPU device, this may wait for the work that
 * was enqueued. */
HEWN_API void HEWN_CALL hewn_destroy_device(hewn_device *device);

/* Kinds of devices. */
typedef int32_t hewn_device_kind;
enum {
    HEWN_DEVICE_CPU = 0,
    HEWN_DEVICE_CUDA = 1,   /* an NVIDIA GPU, through its driver */
    HEWN_DEVICE_OPENCL = 2, /* any OpenCL 1.2 device */
    HEWN_DEVICE_D3D12 = 3   /* a Direct3D 12 device of feature level 11_0 */
};

/* A CUDA device, on the program's context and stream. With a `stream` of the program's:
 *
 *     hewn_cuda_device_desc desc = {sizeof desc, NULL, stream, NULL, NULL, NULL};
 *     hewn_create_cuda_device(&desc, &device, &error);
 *     hewn_compile(device, ...);         // loads the kernels
 *     hewn_execute(op, ...);             // enqueues them on the stream and returns
 *     cudaStreamSynchronize(stream);     // or hewn_synchronize: now the outputs are written
 *
 * This holds for all kinds of GPU devices:
 * - Drivers. hewn links to none. It loads a driver when a GPU device is first asked for.
 * - Memory. Bindings are in the device's memory. hewn uses it where it lies and never copies it.
 * - Order and waiting. hewn_execute and hewn_run enqueue on the device's stream or queue and return
 *   without waiting. (On Direct3D 12, with 256 executions in flight, they wait for the older half
 *   of them.) The bound memory, the operator and the device's stream or queue must stay until the
 *   work has ended. Wait for that with your own stream or queue, or by hewn_synchronize. An error
 *   of work that is already running is reported by whichever call waits for it.
 * - Lifetime. A CUDA context and stream stay the program's, and must outlive the device and its
 *   operators. Objects of OpenCL and Direct3D 12 are retained. They are released when the device
 *   and all of its operators have been destroyed.
 * - Captured CUDA streams. hewn_execute and hewn_run may be captured in a graph, and then the
 *   operator must live as long as the graph. While a stream is captured, do not create or destroy a
 *   device and do not compile or destroy an operator: these wait for what was enqueued, or allocate
 *   and free device memory.
 *
 * Functions that create a GPU device return
 * - HEWN_STATUS_INVALID_ARGUMENT: a required pointer is NULL, struct_size is too small, only one
 *   hook is set, or a reason that the function's comment gives;
 * - HEWN_STATUS_NO_DEVICE: there is no driver, or the driver or the device lacks what kernels need;
 * - HEWN_STATUS_NO_DEVICE also if this build has no kernels for any kind of GPU; the arguments are
 *   then not looked at. A build may also have kernels for other kinds of GPU only. In such a build
 *   hewn_create_d3d12_device returns this status, too. hewn_create_cuda_device and
 *   hewn_create_opencl_device create the device, for which hewn_compile then returns
 *   HEWN_STATUS_UNSUPPORTED;
 * - HEWN_STATUS_OUT_OF_MEMORY: from the driver, or because the hook returned NULL;
 * - HEWN_STATUS_DEVICE_FAILED: from the driver. */
typedef struct hewn_cuda_device_desc {
    uint32_t struct_size;          /* sizeof(hewn_cuda_device_desc) */
    void *context;                 /* CUcontext; NULL: the calling thread's current one */
    void *stream;                  /* CUstream of that context; NULL: the default stream */
    hewn_allocate_fn allocate;     /* for host memory, as in hewn_cpu_device_desc */
    hewn_deallocate_fn deallocate; /* the other hook */
    void *allocator_context;       /* passed to both */
} hewn_cuda_device_desc;
/* Creates a CUDA device. HEWN_STATUS_INVALID_ARGUMENT also if context is no CUcontext, or is NULL
 * while the calling thread has no current one; other statuses: hewn_cuda_device_desc. */
HEWN_API hewn_status HEWN_CALL hewn_create_cuda_device(const hewn_cuda_device_desc *desc,
                                                       hewn_device **device, hewn_error *error);

/* An OpenCL device, on the program's context and queue. hewn_cuda_device_desc says what holds for
 * all GPU devices. */
typedef struct hewn_opencl_device_desc {
    uint32_t struct_size;          /* sizeof(hewn_opencl_device_desc) */
    void *context;                 /* cl_context; the device retains it */
    void *queue;                   /* in-order cl_command_queue of that context; retained, too */
    hewn_allocate_fn allocate;     /* for host memory, as in hewn_cpu_device_desc */
    hewn_deallocate_fn deallocate; /* the other hook */
    void *allocator_context;       /* passed to both */
} hewn_opencl_device_desc;
/* Creates an OpenCL device. HEWN_STATUS_INVALID_ARGUMENT also if queue is no cl_command_queue of
 * the context; HEWN_STATUS_UNSUPPORTED if it is out of order; other statuses:
 * hewn_cuda_device_desc. */
HEWN_API hewn_status HEWN_CALL hewn_create_opencl_device(const hewn_opencl_device_desc *desc,
                                                         hewn_device **device, hewn_error *error);

/* A Direct3D 12 device, on the program's ID3D12Device. hewn_cuda_device_desc says what holds for
 * all GPU devices. The library contains the compiled shaders, and hewn_compile makes each pipeline
 * once for a device. There are two ways to run an operator:
 * - hewn_d3d12_record records it into a command list of the program's;
 * - hewn_execute, hewn_run and the functions for memory submit to `queue`, one at a time. */
typedef struct hewn_d3d12_device_desc {
    uint32_t struct_size; /* sizeof(hewn_d3d12_device_desc) */
    void *device;         /* ID3D12Device; hewn's device retains it */
    /* ID3D12CommandQueue of the type COMPUTE or DIRECT, retained as well. NULL: hewn makes one. */
    void *queue;
    hewn_allocate_fn allocate;     /* for host memory, as in hewn_cpu_device_desc */
    hewn_deallocate_fn deallocate; /* the other hook */
    void *allocator_context;       /* passed to both */
} hewn_d3d12_device_desc;
/* Creates a Direct3D 12 device. HEWN_STATUS_INVALID_ARGUMENT also if queue is neither COMPUTE nor
 * DIRECT, or belongs to another device; other statuses: hewn_cuda_device_desc. */
HEWN_API hewn_status HEWN_CALL hewn_create_d3d12_device(const hewn_d3d12_device_desc *desc,
                                                        hewn_device **device, hewn_error *error);

/* What hewn_get_device tells about a device of this machine. */
typedef struct hewn_device_info {
    uint32_t struct_size;  /* sizeof(hewn_device_info) */
    hewn_device_kind kind; /* for hewn_open_device */
    uint32_t index;        /* among the devices of its kind, for hewn_open_device */
    char name[128];        /* as its driver calls it */
    uint64_t memory;       /* in bytes; 0: not known */
    int32_t capability;    /* CUDA: ten times the compute capability; other kinds: 0 */
    /* 0: it is a GPU. 1: it is anything else. That is the CPU itself, software that runs on the
     * CPU, such as PoCL and WARP, or, in OpenCL, another accelerator. hewn's own kernels for the
     * CPU are faster than such software. */
    int32_t is_cpu;
    char missing[64]; /* what the device lacks to run hewn's kernels; "": nothing */
} hewn_device_info;

/* Describes device number `index` of a kind, in the driver's order, from 0 on. The CPU has one.
 * Loads the driver of a GPU's kind.
 * - HEWN_STATUS_NO_DEVICE: there is no such device; the message has the reason.
 * - HEWN_STATUS_INVALID_ARGUMENT: info is NULL, its struct_size is too small, or there is no such
 *   kind.
 * - HEWN_STATUS_OUT_OF_MEMORY and HEWN_STATUS_DEVICE_FAILED: from the driver. */
HEWN_API hewn_status HEWN_CALL hewn_get_device(hewn_device_kind kind, uint32_t index,
                                               hewn_device_info *info, hewn_error *error);
/* An index for hewn_open_device. */
#define HEWN_ANY_DEVICE UINT32_MAX
/* Opens a device for programs that do not have a context and a queue of their own, such as tools
 * and tests. `index` is that of hewn_get_device.
 * - HEWN_ANY_DEVICE opens the first device that lacks nothing, and a GPU rather than software on a
 *   CPU (is_cpu). For Direct3D 12 it never opens the latter, and returns HEWN_STATUS_NO_DEVICE.
 * - For CUDA, the device has the GPU's primary context, which the CUDA runtime uses as well, and
 *   its default stream; for OpenCL, a context and a queue of its own; for Direct3D 12, an
 *   ID3D12Device and a queue of its own. Its host memory comes from the C library.
 * - Statuses are those of hewn_get_device and of the functions that create devices. */
HEWN_API hewn_status HEWN_CALL hewn_open_device(hewn_device_kind kind, uint32_t index,
                                                hewn_device **device, hewn_error *error);
/* Returns the device's kind; NULL is the CPU. */
HEWN_API hewn_device_kind HEWN_CALL hewn_kind_of_device(const hewn_device *device);

/* Allocates memory that can be bound, on a device of any kind. It is for programs that do not have
 * memory of the device. Sets *memory to what hewn_buffer_binding takes as its buffer: a pointer,
 * CUdeviceptr, cl_mem or ID3D12Resource *. The memory is aligned to 64 bytes or more, has at
 * least 1 byte even if `bytes` is 0, and its contents are not set. Give it back by hewn_deallocate.
 * - HEWN_STATUS_INVALID_ARGUMENT: memory is NULL.
 * - HEWN_STATUS_OUT_OF_MEMORY; on a GPU also HEWN_STATUS_DEVICE_FAILED, perhaps because of work
 *   that was enqueued before. */
HEWN_API hewn_status HEWN_CALL hewn_allocate(hewn_device *device, uint64_t bytes, void **memory,
                                             hewn_error *error);
/* Gives back what hewn_allocate returned for the same device. Ignores a NULL memory. May wait for
 * the device's work. */
HEWN_API void HEWN_CALL hewn_deallocate(hewn_device *device, void *memory);
/* Copies `bytes` bytes from the program's memory to byte `offset` of the device's, after all that
 * was enqueued before, and waits for the copy. On the CPU nothing checks that they fit into the
 * memory; on a GPU the driver may.
 * - HEWN_STATUS_INVALID_ARGUMENT: memory or from is NULL, unless bytes is 0.
 * - On a GPU: HEWN_STATUS_OUT_OF_MEMORY and HEWN_STATUS_DEVICE_FAILED, perhaps because of work that
 *   was enqueued before. */
HEWN_API hewn_status HEWN_CALL hewn_write(hewn_device *device, void *memory, uint64_t offset,
                                          const void *from, uint64_t bytes, hewn_error *error);
/* Copies from the device's memory to the program's, in everything else as hewn_write. */
HEWN_API hewn_status HEWN_CALL hewn_read(hewn_device *device, void *memory, uint64_t offset,
                                         void *to, uint64_t bytes, hewn_error *error);
/* Waits for all that was enqueued on the device's stream or queue, on Direct3D 12 only for what
 * hewn submitted to it; on the CPU there is nothing to wait for. Returns what the driver reports:
 * HEWN_STATUS_OUT_OF_MEMORY or HEWN_STATUS_DEVICE_FAILED, also for earlier work that failed. */
HEWN_API hewn_status HEWN_CALL hewn_synchronize(hewn_device *device, hewn_error *error);

/* ---- Compile --------------------------------------------------------------------------------- */

/* Runs one slice of an execution. hewn gives such a function to a hewn_parallel_for_fn. It throws
 * nothing; how much stack it needs is said at hewn_execute. */
typedef void(HEWN_CALL *hewn_slice_fn)(void *arg, int32_t index);
/* An executor of the program's: it calls fn(arg, i) exactly once for every i in [0, count), in any
 * order and on any threads, and returns when all calls have returned. count is at least 2. hewn
 * calls it on the thread that called hewn_execute or hewn_run; if several threads do, there may be
 * several calls at once. No exception may leave it. */
typedef void(HEWN_CALL *hewn_parallel_for_fn)(void *context, int32_t count, hewn_slice_fn fn,
                                              void *arg);

/* A tensor's memory: see struct hewn_buffer_binding. */
typedef struct hewn_buffer_binding hewn_buffer_binding;

/* Options of hewn_compile. A member that is 0 or NULL has its default. GPU devices ignore
 * max_threads, parallel_for and parallel_for_context. */
typedef struct hewn_compile_options {
    uint32_t struct_size;             /* sizeof(hewn_compile_options) */
    hewn_feature_level feature_level; /* 0: the newest of the build */
    /* Forces a variant ("add_f32__x86_64_avx2") or a target ("x86_64_avx2"). If a forced target
     * does not have the kernel, the target of the next lower priority that has it is used
     * (hewn_target_info). NULL or "": the environment variable HEWN_VARIANT, if it is set, forces a
     * variant or a target in the same way. Otherwise hewn picks the variant whose target has the
     * highest priority of those that run here, except where one of lower priority is faster on this
     * chip. The string is copied. */
    const char *variant;
    /* The most threads that an execution uses. 1: only the calling thread. 0: as many as help; with
     * the library's own pool that depends on how many CPUs the compiling thread may run on. */
    int32_t max_threads;
    /* NULL: the library's own thread pool, which starts when it is first needed. */
    hewn_parallel_for_fn parallel_for;
    /* Passed to parallel_for. Both must outlive the operator. */
    void *parallel_for_context;
    /* Inputs whose values never change, usually scales and zero points; DirectML binds such tensors
     * when it initializes an operator. There is a binding for each input, in order, with a NULL
     * buffer for an input that is no constant. They are in host memory for every kind of device,
     * and are copied. Executions and hewn_bind then take a NULL buffer for a constant. What follows
     * from constants is prepared when compiling, so executions are faster than with scales and zero
     * points that each of them binds. NULL: no constants. */
    const hewn_buffer_binding *constants;
    uint32_t constant_count; /* the operator's number of inputs, or 0 without constants */
} hewn_compile_options;

/* A compiled operator. */
typedef struct hewn_operator hewn_operator;

/* Compiles an operator for a device; device NULL: the CPU. Everything that is slow or depends only
 * on the description happens here: it validates the description, picks the variant and plans the
 * execution, and on a GPU it loads the kernels. options NULL: all defaults. Sets *op, which
 * hewn_destroy_operator destroys. The program may then free everything that it gave, also the
 * device, except what parallel_for and the device's hooks refer to. On the CPU it needs less than
 * 40 KiB of stack. If all scales and zero points of QUANTIZED_LINEAR_ADD of 8 bits are constants,
 * compiling for the CPU may also look for a faster way to compute with them, which it tries on all
 * pairs of inputs. That takes some 30 microseconds.
 * - HEWN_STATUS_INVALID_ARGUMENT: a required pointer is NULL, struct_size is too small, a number is
 *   not in its enumeration, max_threads is negative, tensors break a rule or do not go together, or
 *   an output's strides overlap.
 * - HEWN_STATUS_UNSUPPORTED: this build lacks the feature level; the level does not allow the
 *   operator, a type, a number of dimensions, a block size or a precision, or requires a tensor
 *   that is absent; the types of QUANTIZED_LINEAR_ADD have different widths; the scale and the zero
 *   point have different block sizes, or last blocks are short in two dimensions; or, if no variant
 *   is forced, this build lacks the kernel.
 * - HEWN_STATUS_INVALID_BINDING: the number of constants is wrong, or a constant is a tensor that
 *   is absent, is too small, misaligned or of another type.
 * - HEWN_STATUS_NO_VARIANT: no variant runs here; or the forced one is unknown, does not fit or
 *   cannot run here; or neither the forced target nor one below it has the kernel in this build.
 * - HEWN_STATUS_OUT_OF_MEMORY.
 * - HEWN_STATUS_KERNEL_FAILED: the kernel failed when compiling tried pairs of inputs. On a GPU: a
 *   kernel could not be loaded, and the driver reported no error.
 * - On a GPU also HEWN_STATUS_DEVICE_FAILED and, if its driver is too old for a kernel,
 *   HEWN_STATUS_NO_DEVICE. */
HEWN_API hewn_status HEWN_CALL hewn_compile(hewn_device *device, const hewn_operator_desc *desc,
                                            const hewn_compile_options *options, hewn_operator **op,
                                            hewn_error *error);
/* Destroys an operator, which must not be executing; ignores NULL. */
HEWN_API void HEWN_CALL hewn_destroy_operator(hewn_operator *op);

/* Returns the name of the variant that an operator runs, such as
 * "quantize_linear_f32_u8__x86_64_avx2"; "" if op is NULL. */
HEWN_API const char *HEWN_CALL hewn_operator_variant(const hewn_operator *op);

/* ---- Execute --------------------------------------------------------------------------------- */

/* A tensor's memory, as DML_BUFFER_BINDING. It stays the program's. */
struct hewn_buffer_binding {
    /* sizeof(hewn_buffer_binding), or HEWN_BINDING_OF(data type). All bindings of an array have the
     * same sizeof; their data types may differ. */
    uint32_t struct_size;
    /* A pointer on the CPU, a CUdeviceptr on CUDA, a cl_mem on OpenCL, an ID3D12Resource * on
     * Direct3D 12. NULL for an absent optional tensor and for a constant. The buffer of an input is
     * only read. */
    void *buffer;
    /* In bytes, from the beginning of the buffer to the tensor's first element, which must be
     * aligned to its own size. Sub-byte types need no alignment. */
    uint64_t offset;
    uint64_t size; /* in bytes, from `offset` on; at least hewn_tensor_size */
};

/* A binding's struct_size that also says which data type its memory holds, in the upper 16 bits.
 * hewn refuses a binding whose type is not its tensor's; UINT16 may stand for FLOAT16 and BFLOAT16,
 * and UINT8 for the floats of 8 bits. The plain sizeof(hewn_buffer_binding) says nothing about the
 * type, and hewn takes the description's. Libraries before 0.2 do not know this macro: do not use
 * it with them. */
#define HEWN_BINDING_OF(data_type) (sizeof(hewn_buffer_binding) | (data_type)*65536u)

/* Options of one execution. GPU devices ignore them. */
typedef struct hewn_execute_options {
    uint32_t struct_size;              /* sizeof(hewn_execute_options) */
    int32_t max_threads;               /* 0: that of hewn_compile_options */
    hewn_parallel_for_fn parallel_for; /* NULL: that of hewn_compile_options */
    void *parallel_for_context;        /* for parallel_for; both are used until the call returns */
    /* 1: the output is read soon, as in a chain of operators, so it is left in the caches if they
     * can hold it. 0: a large output is stored past the caches: it goes to memory without taking
     * room in them. */
    int32_t output_is_read_next;
} hewn_execute_options;

/* Executes an operator. On the CPU it returns when the outputs are written. On a GPU it returns
 * when the work is enqueued; hewn_cuda_device_desc says how to wait for it. Any number of threads
 * may execute an operator at once, with different outputs.
 *
 * Bindings:
 * - There is one binding for each tensor, in the order of the operator's struct. ADD has 2 inputs;
 *   QUANTIZE_LINEAR, DEQUANTIZE_LINEAR, QUANTIZE and DEQUANTIZE have 3, REQUANTIZE 5,
 *   QUANTIZED_LINEAR_ADD and QUANTIZED_LINEAR_MUL 8. They have one output. DYNAMIC_QUANTIZE_LINEAR
 *   and DYNAMIC_QUANTIZE have one input and 3 outputs.
 * - A tensor that is absent, or a constant, has a binding with a NULL buffer.
 * - The bytes between the elements of a strided output are never written, unless the output is of
 *   a sub-byte type. Then hewn reads and writes whole bytes, on a GPU also those that have none of
 *   the output's elements. Elements that are not the output's keep their values (hewn_tensor_desc),
 *   but nothing else may write to these bytes during the execution.
 *
 * Overlap. Inputs may share memory. An output must not overlap an input or another output, with two
 * exceptions:
 * - in place (ADD): the output has the same address and strides as the input;
 * - interleaved: both have equal sizes and equal strides in bytes, and no element shares a byte
 *   with one of the other tensor. hewn refuses this if one of the two is converted (see below) or
 *   has blocks.
 *
 * Conversions. Some tensors are converted to another type by way of scratch memory, because kernels
 * do not take their elements as they are stored:
 * - tensors of sub-byte types;
 * - BFLOAT16 tensors of all operators except ADD and ADD1, and FLOAT8E8M0 scales;
 * - FLOAT16 tensors of a QUANTIZE_LINEAR or DEQUANTIZE_LINEAR that mixes float types, FLOAT8E8M0
 *   among them;
 * - a FLOAT16 scale of QUANTIZE_LINEAR from INT32, and the INT32 input if the output is a float of
 *   at most 8 bits;
 * - the input and the scale of QUANTIZE_LINEAR, unless they are FLOAT32, if its hewn_precision is
 *   FLOAT16 or BFLOAT16.
 *
 * Threads and stack, on the CPU:
 * - With max_threads 1 or the program's parallel_for, it allocates nothing and takes no lock. The
 *   library's own pool takes locks, and allocates when it starts.
 * - Scratch memory is on the stack. 125 KiB of free stack are enough for every thread that runs
 *   slices. So much is needed only in DYNAMIC_QUANTIZE, and in QUANTIZE_LINEAR and QUANTIZE with
 *   one scale for each index of the innermost dimension, unless the scales are constants.
 *   Everything else needs at most 92 KiB.
 * - 16 KiB of free stack are enough under these conditions: the operator is not DYNAMIC_QUANTIZE;
 *   all tensors are contiguous, with one scale and one zero point; none is converted;
 *   hewn_precision is FLOAT32; and all tensors together have less than 8 MiB. (Larger outputs may
 *   go through scratch memory on their way past the caches: see output_is_read_next.)
 * - A thread that waits for the library's own pool may run slices of other threads' executions
 *   meanwhile. Its stack must suffice for these, too, unless its max_threads is 1.
 *
 * On a GPU:
 * - It takes a lock while it prepares launches. On OpenCL the lock belongs to the operator, on
 *   Direct3D 12 to the device. Drivers may allocate memory.
 * - On OpenCL it makes a sub-buffer for an operand that begins 1 GiB or more into its cl_mem.
 * - Some operators have scratch memory on the device, from hewn_compile on: those with converted
 *   tensors, QUANTIZE_LINEAR with a hewn_precision of FLOAT16 or BFLOAT16, and
 *   DYNAMIC_QUANTIZE_LINEAR. It holds the converted tensors as INT8, UINT8 or FLOAT32, and the
 *   quotients of a hewn_precision as FLOAT32. Executions of these operators also take the device's
 *   lock.
 * - An operator with scratch memory has it only once, so its work must not run twice at the same
 *   time. Executions on one stream or queue run one after the other, also if several threads call
 *   hewn_execute. The program must take care in three cases: two command lists into which the
 *   operator is recorded, two launches of a graph into which it is captured, and CUDA's per-thread
 *   default stream with executions of several threads.
 *
 * Errors:
 * - HEWN_STATUS_INVALID_ARGUMENT: op is NULL, the options' struct_size is too small, max_threads is
 *   negative, or output_is_read_next is neither 0 nor 1.
 * - HEWN_STATUS_INVALID_BINDING: the number of bindings is wrong; or a binding is missing, too
 *   small or misaligned, overlaps another one, holds another type (HEWN_BINDING_OF), or is not in
 *   memory of the device. (On CUDA, hewn only checks that it is memory that CUDA knows.)
 * - HEWN_STATUS_KERNEL_FAILED; on a GPU also HEWN_STATUS_OUT_OF_MEMORY and
 *   HEWN_STATUS_DEVICE_FAILED: a part of the outputs may be written. */
HEWN_API hewn_status HEWN_CALL hewn_execute(const hewn_operator *op,
                                            const hewn_buffer_binding *inputs, uint32_t input_count,
                                            const hewn_buffer_binding *outputs,
                                            uint32_t output_count,
                                            const hewn_execute_options *options, hewn_error *error);

/* An operator with its bindings, which were checked once. It makes small executions on the same
 * memory faster. */
typedef struct hewn_bound_operator hewn_bound_operator;

/* Checks bindings as hewn_execute does, and prepares runs on them. Sets *bound, which
 * hewn_destroy_bound_operator gives back. Its memory comes from the hooks of the operator's device.
 * The operator, the bound memory and what the options refer to must stay until the last run has
 * ended. The contents of the bound memory may change between runs.
 * - Statuses are those of hewn_execute, without HEWN_STATUS_KERNEL_FAILED.
 * - HEWN_STATUS_INVALID_ARGUMENT also if bound is NULL.
 * - HEWN_STATUS_OUT_OF_MEMORY also on the CPU. */
HEWN_API hewn_status HEWN_CALL hewn_bind(const hewn_operator *op, const hewn_buffer_binding *inputs,
                                         uint32_t input_count, const hewn_buffer_binding *outputs,
                                         uint32_t output_count, const hewn_execute_options *options,
                                         hewn_bound_operator **bound, hewn_error *error);
/* Executes a bound operator: hewn_execute with its bindings and options, which are not checked
 * again. Any thread may call it, but two runs at once would write the same outputs.
 * HEWN_STATUS_INVALID_ARGUMENT: bound is NULL. Other statuses are those that hewn_execute has apart
 * from wrong arguments and bindings. */
HEWN_API hewn_status HEWN_CALL hewn_run(const hewn_bound_operator *bound, hewn_error *error);
/* Destroys a bound operator, which must not be running; ignores NULL. The operator and the memory
 * stay. */
HEWN_API void HEWN_CALL hewn_destroy_bound_operator(hewn_bound_operator *bound);

/* Records an operator that was compiled for a Direct3D 12 device, and a UAV barrier after it, into
 * a command list of the program's. It submits nothing.
 * - command_list is an open ID3D12GraphicsCommandList of the type COMPUTE or DIRECT. Its compute
 *   root signature and pipeline state change. The program provides no descriptor heap and no
 *   scratch memory. Any number of threads may record, each into its own list.
 * - Bindings are as for hewn_execute. Buffers are ID3D12Resource buffers with
 *   D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS, and must be in the state UNORDERED_ACCESS when the
 *   list runs. Offsets are multiples of the element's size.
 * - The list may run any number of times. The resources and the operator must stay until its last
 *   run has ended.
 * - HEWN_STATUS_INVALID_ARGUMENT: op or command_list is NULL, or op is for another kind of device.
 * - HEWN_STATUS_INVALID_BINDING: as for hewn_execute.
 * - HEWN_STATUS_KERNEL_FAILED: a part of the operator may be recorded. */
HEWN_API hewn_status HEWN_CALL hewn_d3d12_record(const hewn_operator *op, void *command_list,
                                                 const hewn_buffer_binding *inputs,
                                                 uint32_t input_count,
                                                 const hewn_buffer_binding *outputs,
                                                 uint32_t output_count, hewn_error *error);

/* ---- The operators as a table ---------------------------------------------------------------- */

/* An operator at a feature level. Bindings to other languages and tools read these tables, so that
 * they need no list of their own. With them a program can also write an operator's description
 * without its struct. The description is an array whose elements have the size of a pointer. The
 * first element begins with struct_size, which is 4 bytes; its other bytes are not read. Then comes
 * for each tensor a pointer to its description, in the order of the table, NULL for an optional
 * tensor that is absent. If there are attributes, their values follow, 4 bytes each, and 4 bytes of
 * 0 if their number is odd. */
typedef struct hewn_operator_info {
    uint32_t struct_size;      /* sizeof(hewn_operator_info) */
    hewn_operator_type type;   /* for hewn_operator_desc */
    const char *name;          /* "quantize_linear", as in names of variants */
    const char *directml_name; /* "QUANTIZE_LINEAR" */
    const char *onnx_name;     /* domain and operator: "ai.onnx.QuantizeLinear"; "": none */
    const char *command;       /* the subcommand of the command line: "quantize" */
    const char *formula;       /* one line for people */
    uint32_t tensor_count;     /* the inputs in order, then the outputs */
    int32_t in_place;          /* 1: the output may be bound in place of an input */
    /* 1: kernels of signed types also compute unsigned types of the same width, and variants have
     * the names of the signed types. */
    int32_t unsigned_as_signed;
    /* The fewest dimensions that the level allows, at least 1. Where it is 1, a tensor without
     * dimensions is allowed, too. 0: the level does not have the operator. */
    uint32_t min_dimension_count;
    uint32_t max_dimension_count; /* the most; 0: the level does not have the operator */
} hewn_operator_info;

/* What a tensor is for. */
typedef int32_t hewn_tensor_role;
enum {
    HEWN_TENSOR_ROLE_DATA = 0, /* an input to compute with */
    HEWN_TENSOR_ROLE_SCALE = 1,
    HEWN_TENSOR_ROLE_ZERO_POINT = 2,
    HEWN_TENSOR_ROLE_OUTPUT = 3
};

/* A tensor of an operator at a feature level. Tensors have numbers from 0 on, in the order of the
 * operator's struct. */
typedef struct hewn_operator_tensor_info {
    uint32_t struct_size;  /* sizeof(hewn_operator_tensor_info) */
    const char *name;      /* as in DirectML: "ScaleTensor" */
    hewn_tensor_role role; /* what it is for */
    int32_t optional;      /* 1: it may be absent at the level */
    /* 1: it has exactly one element, whatever the sizes of the others. 0: it has the sizes of
     * tensor 0; those of a scale or zero point of QUANTIZE and DEQUANTIZE may also be the numbers
     * of its blocks. */
    int32_t one_element;
    int32_t in_signature; /* 1: its type is a part of a kernel's signature, in the tensors' order */
    /* The number of the tensor whose type it must have; -1: it may have any of `types`. From
     * HEWN_FEATURE_LEVEL_HEWN on, some tensors may have another float type than that tensor's,
     * which this table does not tell: see operators.md. */
    int32_t like;
    /* The type that it must have if tensor number `like` has integers. UNKNOWN: it must have that
     * tensor's type then, too. */
    hewn_data_type like_integers;
    uint32_t types; /* at the level: bit t is set if the data type of number t is allowed */
} hewn_operator_tensor_info;

/* Returns the number of operators of this build, which is the same for every feature level. A build
 * may lack operators (CMake's options HEWN_OPERATORS, HEWN_SIGNATURES and HEWN_FEATURE_LEVEL); for
 * these, hewn_compile returns HEWN_STATUS_UNSUPPORTED. */
HEWN_API uint32_t HEWN_CALL hewn_operator_count(void);
/* Describes operator number `index`, from 0 on, at a feature level. The types do not depend on
 * which kernels of an operator the build has (see hewn_get_variant). HEWN_STATUS_INVALID_ARGUMENT:
 * there is no such operator, this build has no such level, info is NULL, or its struct_size is too
 * small. */
HEWN_API hewn_status HEWN_CALL hewn_get_operator(uint32_t index, hewn_feature_level level,
                                                 hewn_operator_info *info);
/* Describes tensor number `tensor` of operator number `index`. Statuses are those of
 * hewn_get_operator; HEWN_STATUS_INVALID_ARGUMENT also if there is no such tensor. */
HEWN_API hewn_status HEWN_CALL hewn_get_operator_tensor(uint32_t index, uint32_t tensor,
                                                        hewn_feature_level level,
                                                        hewn_operator_tensor_info *info);

/* An attribute of an operator at a feature level: a member of its struct that follows the tensors.
 * It is a choice, an int32_t whose value is one of a list, or a parameter, a float. */
typedef struct hewn_operator_attribute_info {
    uint32_t struct_size; /* sizeof(hewn_operator_attribute_info) */
    const char *name;     /* "precision", "alpha" */
    /* For a choice: words, such as "f16", for the values 0, 1 and so on. 0 is the default. */
    const char *const *values;
    uint32_t value_count; /* the values that hewn computes; for a parameter 0 */
    int32_t allowed;      /* 1: the level allows values other than 0 */
    /* The words in `values`. hewn_compile refuses the values from value_count on with
     * HEWN_STATUS_UNSUPPORTED. */
    uint32_t known_count;
    /* For a parameter: bit v is set if the value v of the choice before it has the parameter. With
     * other values it must be 0. For a choice: 0. */
    uint32_t of;
} hewn_operator_attribute_info;
/* Describes attribute number `attribute`, from 0 on, of operator number `index`. Statuses are those
 * of hewn_get_operator; HEWN_STATUS_INVALID_ARGUMENT also if there is no such attribute. So a
 * program can ask for attributes 0, 1 and so on until it gets this status. */
HEWN_API hewn_status HEWN_CALL hewn_get_operator_attribute(uint32_t index, uint32_t attribute,
                                                           hewn_feature_level level,
                                                           hewn_operator_attribute_info *info);

/* ---- What was built, what runs here ---------------------------------------------------------- */

/* A target: a set of CPU features or a kind of GPU that kernels are compiled for. */
typedef struct hewn_target_info {
    uint32_t struct_size;      /* sizeof(hewn_target_info) */
    const char *name;          /* "x86_64_sse41" */
    const char *halide_target; /* what Halide calls it: "x86-64-linux-sse41" */
    int32_t priority;        /* the highest that runs is picked; exceptions: hewn_compile_options */
    int32_t supported;       /* 1: this machine can run it */
    const char *missing;     /* the first feature that this machine lacks; "" if it is supported */
    hewn_device_kind device; /* the kind of device that it is for */
} hewn_target_info;

/* Returns the number of targets of this build. */
HEWN_API uint32_t HEWN_CALL hewn_target_count(void);
/* Describes target number `index` of this build, from 0 on, in ascending priority. For the target
 * of a GPU it loads the driver, and `supported` is about the best device of that kind.
 * HEWN_STATUS_INVALID_ARGUMENT: there is no such target, info is NULL, or its struct_size is too
 * small. */
HEWN_API hewn_status HEWN_CALL hewn_get_target(uint32_t index, hewn_target_info *info);

/* A variant: a kernel for one target, where a kernel is an operator for one signature, the data
 * types of its tensors. */
typedef struct hewn_variant_info {
    uint32_t struct_size;      /* sizeof(hewn_variant_info) */
    const char *name;          /* "quantize_linear_f32_u8__x86_64_avx2" */
    const char *operator_name; /* "quantize_linear" */
    const char *signature;     /* "f32_u8" */
    const char *target;        /* "x86_64_avx2" */
    int32_t supported;         /* 1: this machine can run it */
    /* 1: hewn_compile picks it if no variant is forced; HEWN_VARIANT is ignored here. For a GPU, on
     * the best device of that kind. */
    int32_t picked;
    hewn_device_kind device; /* the kind of device that it is for */
} hewn_variant_info;

/* Returns the number of variants of this build. */
HEWN_API uint32_t HEWN_CALL hewn_variant_count(void);
/* Describes variant number `index` of this build, from 0 on, in ascending priority of its target.
 * For the variant of a GPU it loads the driver. HEWN_STATUS_INVALID_ARGUMENT: there is no such
 * variant, info is NULL, or its struct_size is too small. */
HEWN_API hewn_status HEWN_CALL hewn_get_variant(uint32_t index, hewn_variant_info *info);

/* ---- Library --------------------------------------------------------------------------------- */

/* Returns the version of the library that is linked or loaded: major << 16 | minor << 8 | patch. */
HEWN_API uint32_t HEWN_CALL hewn_version(void);

/* Ends and joins the threads of the library's own pool, if it has started. Call it before dlclose
 * or FreeLibrary, when no execution is in flight. A later execution starts the pool again. */
HEWN_API void HEWN_CALL hewn_shutdown(void);

#ifdef __cplusplus
}
#endif

#endif /* HEWN_HEWN_H */
