/* hewn: precompiled Halide kernels for DirectML's element-wise operators. The C ABI, which is the
 * binary boundary of the library.
 *
 * As in DirectML, a program describes an operator, compiles it for a device, and executes it on
 * bindings as often as it wants:
 *
 *     hewn_operator *op = NULL;
 *     hewn_compile(NULL, &desc, NULL, &op, &error);  // the CPU; default options
 *     hewn_execute(op, inputs, 2, &output, 1, NULL, &error);
 *     hewn_destroy_operator(op);
 *
 * Rules of this header
 * - Every struct starts with `struct_size`: set it to sizeof(the struct). Later versions only
 *   append members. Members beyond the caller's struct_size count as zero. A struct_size smaller
 *   than the first version's is refused.
 * - Enumerations are int32_t with fixed values. Data types and feature levels have DirectML's
 *   numbers.
 * - Sizes, strides and buffer sizes are 64-bit. Every product and sum of them is checked before
 *   use.
 * - Functions return a hewn_status. If `error` is not null (its struct_size set), a failing call
 *   also fills in a message that names the tensor and the rule it broke. A refused call has written
 *   nothing else.
 * - Descriptions are copied. Handles are opaque. A call that fails leaves its result pointers as
 *   they were.
 * - Threads: any thread may call any function. Devices and operators may be shared. A compiled
 *   operator is immutable: any number of threads may execute it at once. Destroying one must not
 *   overlap its use; hewn_shutdown must not overlap an execution. hewn_compile reads the
 *   environment variable HEWN_VARIANT, which must not be set meanwhile.
 *
 * Numerics (numerics.md, installed in share/doc/hewn): every target gives the same bits. Arithmetic
 * is IEEE-754 binary32, with one rounding to nearest even per written operation, nothing fused,
 * subnormals kept. A NaN result is a NaN of unspecified sign and payload. The caller's rounding and
 * flush-to-zero modes have no influence and are left as they were. */
#ifndef HEWN_HEWN_H
#define HEWN_HEWN_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header; hewn_version has the library's. */
#define HEWN_VERSION_MAJOR 0
/* Below 1.0 a new one may break programs. */
#define HEWN_VERSION_MINOR 2
/* Patch releases only correct faults. */
#define HEWN_VERSION_PATCH 0

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
    HEWN_STATUS_INVALID_ARGUMENT = 1, /* null where a value is due, bad struct_size, unknown
                                         enumerator, inconsistent tensors */
    HEWN_STATUS_UNSUPPORTED = 2, /* not in the operator's table at the chosen feature level, not in
                                    this build, or an out-of-order OpenCL queue */
    HEWN_STATUS_INVALID_BINDING =
        3, /* a binding is missing, too small, misaligned, of another type or overlaps another */
    HEWN_STATUS_NO_VARIANT = 4, /* no variant runs on this machine, or the forced one is unknown,
                                   does not fit or cannot run */
    HEWN_STATUS_OUT_OF_MEMORY = 5,
    HEWN_STATUS_KERNEL_FAILED = 6, /* a kernel reported an error */
    HEWN_STATUS_NO_DEVICE =
        7, /* no such device, or its driver is absent, too old or lacks what kernels need */
    HEWN_STATUS_DEVICE_FAILED = 8 /* the device's driver reported an error */
};

/* Owned by the caller. The first failure of a call fills it in; a call that succeeds leaves it
 * untouched. */
typedef struct hewn_error {
    uint32_t struct_size; /* sizeof(hewn_error) */
    hewn_status status;   /* what the call returned */
    char message[256];    /* English, one line of UTF-8, NUL-terminated, cut if too long */
} hewn_error;

/* ---- Tensors --------------------------------------------------------------------------------- */

/* The values are DML_TENSOR_DATA_TYPE's; from 29 on they are hewn's own. Elements of less than a
 * byte are packed, the first in a byte's lowest bits. */
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
    HEWN_DATA_TYPE_FLOAT64 = 9, /* known, never supported */
    HEWN_DATA_TYPE_UINT64 = 10,
    HEWN_DATA_TYPE_INT64 = 11,
    HEWN_DATA_TYPE_UINT4 = 12,
    HEWN_DATA_TYPE_INT4 = 13,
    HEWN_DATA_TYPE_BFLOAT16 = 29, /* the upper half of a FLOAT32 */
    HEWN_DATA_TYPE_UINT2 = 30,
    HEWN_DATA_TYPE_INT2 = 31
};

/* The most dimensions that a tensor may have. */
#define HEWN_DIMENSION_COUNT_MAX 8

/* A tensor's type and layout. Dimensions go from the outermost to the innermost, as in DirectML.
 * Rank 0 (dimension_count 0) is one element; it is supported where rank 1 is (from feature level
 * 3.0, QUANTIZED_LINEAR_ADD 4.0). A size of 0 makes the tensor empty: executing then does
 * nothing. Of packed types strides count elements too, a row may begin within a byte, and the
 * tensor's first element is the first of a byte. What else a byte of such an output holds is kept,
 * but bits behind its last element become 0. */
typedef struct hewn_tensor_desc {
    uint32_t struct_size;     /* sizeof(hewn_tensor_desc) */
    hewn_data_type data_type; /* of the elements */
    uint32_t dimension_count; /* 0..HEWN_DIMENSION_COUNT_MAX */
    const int64_t *sizes;     /* [dimension_count], in elements, each >= 0; may be NULL at rank 0 */
    const int64_t *strides;   /* [dimension_count], in elements, each >= 0; 0 broadcasts an input;
                                 NULL: contiguous, row-major */
    const int64_t *block_sizes; /* [dimension_count], each >= 1; NULL: all 1. A scale or zero point
                                   of QUANTIZE_LINEAR or DEQUANTIZE_LINEAR may have others, from
                                   HEWN_FEATURE_LEVEL_HEWN on: see below */
} hewn_tensor_desc;

/* Blocks. Where a scale serves a block of elements of a dimension, as ONNX's block_size says, its
 * description has the input's sizes like any other's, and the block's size: index i of dimension d
 * reads element i / block_sizes[d] of the dimension. strides step from block to block, and
 * contiguous ones (NULL) are those of ceil(sizes[d] / block_sizes[d]) elements. The last block may
 * be short, in one dimension of an operator. Where both the scale and the zero point have blocks in
 * a dimension, these are equal. */

/* Sets *bytes to the bytes from the tensor's first element to the end of its last, which suffice
 * for a binding: (sum((size - 1) / block size * stride) + 1) * element bytes; 0 if empty.
 * (DirectML's DMLCalcBufferTensorSize rounds up to 4; hewn does not.) HEWN_STATUS_INVALID_ARGUMENT:
 * a pointer is null, or the description breaks a rule above or overflows 63 bits. */
HEWN_API hewn_status HEWN_CALL hewn_tensor_size(const hewn_tensor_desc *tensor, uint64_t *bytes,
                                                hewn_error *error);

/* ---- Operators ------------------------------------------------------------------------------- */

/* For each operator and feature level, operators.md, installed in share/doc/hewn, lists the data
 * types and dimension counts that are allowed, which tensors have the same type and which may be
 * left out. hewn_get_operator_tensor gives this at run time. The comments below say what is
 * computed. */

/* f(a, b) = a + b. DML_ELEMENT_WISE_ADD_OPERATOR_DESC.
 * The three tensors have equal sizes. Integers wrap modulo 2^n; floats round once, in the tensor's
 * type. In place: the output may be bound to the same memory, with the same strides, as either
 * input or both. */
typedef struct hewn_add_desc {
    uint32_t struct_size;                  /* sizeof(hewn_add_desc) */
    const hewn_tensor_desc *a_tensor;      /* a */
    const hewn_tensor_desc *b_tensor;      /* b */
    const hewn_tensor_desc *output_tensor; /* f */
} hewn_add_desc;

/* What x, the scale and their quotient are rounded to, by nearest even: QUANTIZE_LINEAR's attribute
 * `precision` in ONNX 23. */
typedef int32_t hewn_precision;
enum {
    HEWN_PRECISION_FLOAT32 = 0,
    HEWN_PRECISION_FLOAT16 = 1,
    HEWN_PRECISION_BFLOAT16 = 2 /* the upper half of an f32 */
};

/* f(x, scale, zero_point) = clamp(round(x / scale) + zero_point, Min, Max), ties to even. Min and
 * Max are 0 and 2^n - 1 of an unsigned type of n bits, -2^(n-1) and 2^(n-1) - 1 of a signed one.
 * DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC.
 * All tensors have the input's sizes: a scalar or per-axis scale is a tensor of those sizes with
 * strides of 0, one scale for a block has block_sizes. x is converted to f32 first. NaN gives the
 * zero point, and +-inf saturates. A scale of 0, inf or NaN is no error: the same arithmetic gives
 * the result.
 * With a precision below FLOAT32, from HEWN_FEATURE_LEVEL_HEWN on, x and scale are
 * rounded to it, and then their f32 quotient, which may overflow to inf. */
typedef struct hewn_quantize_linear_desc {
    uint32_t struct_size;                      /* sizeof(hewn_quantize_linear_desc) */
    const hewn_tensor_desc *input_tensor;      /* x */
    const hewn_tensor_desc *scale_tensor;      /* scale */
    const hewn_tensor_desc *zero_point_tensor; /* optional from feature level 6.2: NULL means 0 */
    const hewn_tensor_desc *output_tensor;     /* f */
    hewn_precision precision;                  /* of x / scale */
    uint32_t reserved;                         /* 0 */
} hewn_quantize_linear_desc;

/* f(x, scale, zero_point) = (x - zero_point) * scale.
 * DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC.
 * All tensors have the input's sizes. The difference is exact and rounds once to f32. The product
 * rounds once, and once more to an output narrower than f32. */
typedef struct hewn_dequantize_linear_desc {
    uint32_t struct_size;                      /* sizeof(hewn_dequantize_linear_desc) */
    const hewn_tensor_desc *input_tensor;      /* x */
    const hewn_tensor_desc *scale_tensor;      /* scale */
    const hewn_tensor_desc *zero_point_tensor; /* optional from feature level 6.2: NULL means 0 */
    const hewn_tensor_desc *output_tensor;     /* f */
} hewn_dequantize_linear_desc;

/* QUANTIZE_LINEAR as DirectML's feature level 6.3 has it: DML_QUANTIZE_OPERATOR_DESC. Its array of
 * quantization tensors is scale_tensor and zero_point_tensor, whose presence is the quantization
 * type: DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT, or DML_QUANTIZATION_TYPE_SCALE if it is NULL. It is
 * then the middle of an unsigned type, 2^(n-1), and 0 of a signed one.
 * The sizes of scale and zero point are x's or divide them, in any dimensions: an element serves a
 * block of x's. Blocks may be said by block_sizes too, and are whole. Else as QUANTIZE_LINEAR. */
typedef struct hewn_quantize_desc {
    uint32_t struct_size;                      /* sizeof(hewn_quantize_desc) */
    const hewn_tensor_desc *input_tensor;      /* x */
    const hewn_tensor_desc *scale_tensor;      /* scale */
    const hewn_tensor_desc *zero_point_tensor; /* optional: NULL means the middle */
    const hewn_tensor_desc *output_tensor;     /* f */
} hewn_quantize_desc;

/* DEQUANTIZE_LINEAR as DirectML's feature level 6.3 has it: DML_DEQUANTIZE_OPERATOR_DESC. Scale and
 * zero point are as for QUANTIZE. Else as DEQUANTIZE_LINEAR. */
typedef struct hewn_dequantize_desc {
    uint32_t struct_size;                      /* sizeof(hewn_dequantize_desc) */
    const hewn_tensor_desc *input_tensor;      /* x */
    const hewn_tensor_desc *scale_tensor;      /* scale */
    const hewn_tensor_desc *zero_point_tensor; /* optional: NULL means the middle */
    const hewn_tensor_desc *output_tensor;     /* f */
} hewn_dequantize_desc;

/* f = clamp(round(((a - a_zero_point) * a_scale + (b - b_zero_point) * b_scale) / output_scale) +
 * output_zero_point, Min, Max). DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC.
 * a, b and the output have equal sizes. Scales and zero points have the same dimension count and
 * exactly one element: each dimension has the size 1 or the stride 0. Each difference is exact. The
 * two products round separately, then their sum, then the quotient; round takes ties to even. Min
 * and Max, NaN, +-inf and extraordinary scales are as for QUANTIZE_LINEAR. */
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
} hewn_quantized_linear_add_desc;

/* f = clamp(round((a - a_zero_point) * (b - b_zero_point) * (a_scale * b_scale / output_scale)) +
 * output_zero_point, Min, Max). ONNX's com.microsoft.QLinearMul, which DirectML does not have: from
 * HEWN_FEATURE_LEVEL_HEWN on.
 * a, b and the output have equal sizes. Scales and zero points are as for QUANTIZED_LINEAR_ADD. The
 * product of the differences is exact. The product of the scales rounds, then its quotient, then
 * the product with that; round takes ties to even. Min and Max, NaN, +-inf and extraordinary scales
 * are as for QUANTIZE_LINEAR. */
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

/* f = clamp(round(d / output_scale) + output_zero_point, Min, Max), where
 * d = (x - input_zero_point) * input_scale: DEQUANTIZE_LINEAR to f32, then QUANTIZE_LINEAR. Neither
 * DirectML nor ONNX has it: from HEWN_FEATURE_LEVEL_HEWN on.
 * x and f have equal sizes. Scales and zero points are as for QUANTIZED_LINEAR_ADD. The difference
 * is exact. The product rounds, then the quotient; round takes ties to even. Min and Max, NaN,
 * +-inf and extraordinary scales are as for QUANTIZE_LINEAR. */
typedef struct hewn_requantize_desc {
    uint32_t struct_size;                             /* sizeof(hewn_requantize_desc) */
    const hewn_tensor_desc *input_tensor;             /* x */
    const hewn_tensor_desc *input_scale_tensor;       /* input_scale */
    const hewn_tensor_desc *input_zero_point_tensor;  /* optional: NULL means 0 */
    const hewn_tensor_desc *output_scale_tensor;      /* output_scale */
    const hewn_tensor_desc *output_zero_point_tensor; /* optional: NULL means 0 */
    const hewn_tensor_desc *output_tensor;            /* f */
} hewn_requantize_desc;

/* f = clamp(round(x / s) + z, Min, Max), where the range of x decides s and z:
 *     high = max(0, largest x), low = min(0, least x)
 *     s = (high - low) / (Max - Min), or 1 if high and low are equal
 *     z = round(clamp(Min - low / s, Min, Max))
 * DML_DYNAMIC_QUANTIZE_LINEAR_OPERATOR_DESC, from level 4.0 on; ONNX's DynamicQuantizeLinear.
 * x and f have equal sizes. s and z have the same dimension count, all sizes 1. All three outputs
 * are bound, in this order; none may overlap another. Each written operation rounds in f32, to
 * nearest even. NaN in x does not count in the range. s = 0 (the range underflows) and s = +inf (it
 * overflows) follow from the formula; where low / s is NaN, z is Min. Min and Max, NaN and +-inf
 * of x are as for QUANTIZE_LINEAR. An empty x gives s = 1 and z = Min. */
typedef struct hewn_dynamic_quantize_linear_desc {
    uint32_t struct_size;                        /* sizeof(hewn_dynamic_quantize_linear_desc) */
    const hewn_tensor_desc *input_tensor;        /* x */
    const hewn_tensor_desc *output_tensor;       /* f */
    const hewn_tensor_desc *output_scale_tensor; /* s */
    const hewn_tensor_desc *output_zero_point_tensor; /* z */
} hewn_dynamic_quantize_linear_desc;

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
    HEWN_OPERATOR_REQUANTIZE = 9               /* desc: hewn_requantize_desc */
};

/* An operator of any type, for hewn_compile. */
typedef struct hewn_operator_desc {
    uint32_t struct_size;    /* sizeof(hewn_operator_desc) */
    hewn_operator_type type; /* which struct desc is */
    const void *desc;        /* the struct of that type */
} hewn_operator_desc;

/* The values are DML_FEATURE_LEVEL's, but the last. A level uses the operator's newest table that
 * is not above it. A build may lack the newest ones (CMake's HEWN_FEATURE_LEVEL): UNSUPPORTED. */
typedef int32_t hewn_feature_level;
enum {
    HEWN_FEATURE_LEVEL_NEWEST = 0, /* of the build */
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
    HEWN_FEATURE_LEVEL_HEWN =
        0x10000 /* above DirectML's last: also what hewn has and DirectML has not */
};

/* ---- Devices --------------------------------------------------------------------------------- */

/* What operators are compiled for and run on. */
typedef struct hewn_device hewn_device;

/* Memory hooks. allocate returns `bytes` bytes aligned to `alignment` (a power of two, at most 64),
 * or NULL. Functions that create, compile and destroy call the hooks, and on a CPU device also
 * hewn_allocate and hewn_deallocate; executing never does. Several threads may call them at once.
 * They and their context must outlive the device and all of its operators. */
typedef void *(HEWN_CALL *hewn_allocate_fn)(void *context, size_t bytes, size_t alignment);
/* Gives back what hewn_allocate_fn returned. */
typedef void(HEWN_CALL *hewn_deallocate_fn)(void *context, void *memory);

/* The CPU, with memory hooks. */
typedef struct hewn_cpu_device_desc {
    uint32_t struct_size;          /* sizeof(hewn_cpu_device_desc) */
    hewn_allocate_fn allocate;     /* NULL: the C library's. Set both hooks or none */
    hewn_deallocate_fn deallocate; /* the other hook */
    void *allocator_context;       /* passed to both */
} hewn_cpu_device_desc;

/* Creates a CPU device. desc may be NULL. A program without memory hooks can pass a NULL device to
 * hewn_compile instead. HEWN_STATUS_INVALID_ARGUMENT: device is null, struct_size is too small, or
 * only one hook is set; HEWN_STATUS_OUT_OF_MEMORY. */
HEWN_API hewn_status HEWN_CALL hewn_create_cpu_device(const hewn_cpu_device_desc *desc,
                                                      hewn_device **device, hewn_error *error);
/* Ignores NULL. Operators compiled for the device stay valid. */
HEWN_API void HEWN_CALL hewn_destroy_device(hewn_device *device);

/* Kinds of devices. */
typedef int32_t hewn_device_kind;
enum {
    HEWN_DEVICE_CPU = 0,
    HEWN_DEVICE_CUDA = 1,   /* an NVIDIA GPU, through its driver */
    HEWN_DEVICE_OPENCL = 2, /* any OpenCL 1.2 device */
    HEWN_DEVICE_D3D12 = 3   /* a Direct3D 12 device of feature level 11_0 */
};

/* GPU devices.
 * - Bindings are in the device's memory and are never copied.
 * - hewn_execute enqueues on the device's stream or queue and returns without waiting, except on
 *   Direct3D 12: with 256 executions in flight, it waits for the older half of them. What it was
 *   given must stay until the work has ended. An error of running work is reported by whichever
 *   call waits for it.
 * - Creating a device waits for what was enqueued on its stream or queue; giving its last reference
 *   back may. Compiling and destroying an operator allocate and free device memory. So none of it
 *   may happen while a CUDA stream is captured, and the operators in a graph must stay with it.
 * - The library links to no driver. It loads one when a GPU device is first asked for.
 * - A CUDA context and stream stay the caller's and must outlive the device and its operators.
 *   OpenCL and Direct3D 12 objects are retained. An operator keeps its device: retained objects are
 *   released with the last of the device's handle and its operators.
 * Each function that creates a GPU device can return
 * - HEWN_STATUS_INVALID_ARGUMENT: a null pointer where a value is due, struct_size too small, only
 *   one hook, or as said there;
 * - HEWN_STATUS_NO_DEVICE: there is no driver, or it or the device lacks what kernels need, or this
 *   build has no kernels for GPUs at all (whatever the arguments are), or none for Direct3D 12. (If
 *   it has none for CUDA or OpenCL alone, hewn_compile returns HEWN_STATUS_UNSUPPORTED.)
 * - HEWN_STATUS_OUT_OF_MEMORY: from the driver or the hook; HEWN_STATUS_DEVICE_FAILED: from the
 *   driver. */
typedef struct hewn_cuda_device_desc {
    uint32_t struct_size;          /* sizeof(hewn_cuda_device_desc) */
    void *context;                 /* CUcontext; NULL: the calling thread's current one */
    void *stream;                  /* CUstream of that context; NULL: the default stream */
    hewn_allocate_fn allocate;     /* for host memory, as in hewn_cpu_device_desc */
    hewn_deallocate_fn deallocate; /* the other hook */
    void *allocator_context;       /* passed to both */
} hewn_cuda_device_desc;
/* HEWN_STATUS_INVALID_ARGUMENT also if context is no CUcontext, or is NULL while the calling thread
 * has no current one. */
HEWN_API hewn_status HEWN_CALL hewn_create_cuda_device(const hewn_cuda_device_desc *desc,
                                                       hewn_device **device, hewn_error *error);

/* An OpenCL device, on the program's context and queue. */
typedef struct hewn_opencl_device_desc {
    uint32_t struct_size; /* sizeof(hewn_opencl_device_desc) */
    void *context;        /* cl_context; retained by the device */
    void *queue;          /* cl_command_queue of that context, in order; retained by the device */
    hewn_allocate_fn allocate;     /* for host memory, as in hewn_cpu_device_desc */
    hewn_deallocate_fn deallocate; /* the other hook */
    void *allocator_context;       /* passed to both */
} hewn_opencl_device_desc;
/* HEWN_STATUS_INVALID_ARGUMENT also if queue is no cl_command_queue of the context;
 * HEWN_STATUS_UNSUPPORTED if out of order. */
HEWN_API hewn_status HEWN_CALL hewn_create_opencl_device(const hewn_opencl_device_desc *desc,
                                                         hewn_device **device, hewn_error *error);

/* A Direct3D 12 device, on the program's ID3D12Device. Its operators are recorded
 * (hewn_d3d12_record) or executed: hewn_execute and the functions for memory submit to the queue,
 * one at a time. The library contains the compiled shaders. hewn_compile makes the pipelines, once
 * a device. */
typedef struct hewn_d3d12_device_desc {
    uint32_t struct_size; /* sizeof(hewn_d3d12_device_desc) */
    void *device;         /* ID3D12Device; retained by the device */
    void *queue; /* ID3D12CommandQueue, COMPUTE or DIRECT, retained; NULL: one of its own */
    hewn_allocate_fn allocate;     /* for host memory, as in hewn_cpu_device_desc */
    hewn_deallocate_fn deallocate; /* the other hook */
    void *allocator_context;       /* passed to both */
} hewn_d3d12_device_desc;
/* HEWN_STATUS_INVALID_ARGUMENT also if queue is neither COMPUTE nor DIRECT, or is of another
 * device. */
HEWN_API hewn_status HEWN_CALL hewn_create_d3d12_device(const hewn_d3d12_device_desc *desc,
                                                        hewn_device **device, hewn_error *error);

/* A device of this machine, for listings and hewn_open_device. */
typedef struct hewn_device_info {
    uint32_t struct_size;  /* sizeof(hewn_device_info) */
    hewn_device_kind kind; /* for hewn_open_device */
    uint32_t index;        /* among the devices of its kind */
    char name[128];        /* from its driver */
    uint64_t memory;       /* in bytes; 0: not known */
    int32_t capability;    /* CUDA: compute capability times ten; else 0 */
    int32_t is_cpu; /* 1: software on a CPU, such as PoCL and WARP, or no GPU; hewn's own CPU device
                       is faster */
    char missing[64]; /* what it lacks to run hewn's kernels; "" if nothing */
} hewn_device_info;

/* Describes the index-th device of a kind, in the driver's own order. HEWN_STATUS_NO_DEVICE: there
 * is no such device; the message has the reason. HEWN_STATUS_INVALID_ARGUMENT: info is null, its
 * struct_size is too small, or there is no such kind. HEWN_STATUS_OUT_OF_MEMORY and
 * HEWN_STATUS_DEVICE_FAILED: from the driver. */
HEWN_API hewn_status HEWN_CALL hewn_get_device(hewn_device_kind kind, uint32_t index,
                                               hewn_device_info *info, hewn_error *error);
/* An index for hewn_open_device. */
#define HEWN_ANY_DEVICE UINT32_MAX
/* Opens a device, for tools, tests and programs that have none: the index-th of its kind, or with
 * HEWN_ANY_DEVICE the first that lacks nothing. HEWN_ANY_DEVICE prefers GPUs to software on the CPU
 * (is_cpu), and never opens the latter for Direct3D 12: it then returns HEWN_STATUS_NO_DEVICE.
 * OpenCL gets a context and a queue of its own, Direct3D 12 a device and a queue. CUDA gets the
 * GPU's primary context, which the CUDA runtime uses as well, and its default stream. Host memory
 * comes from the C library. Statuses are those of hewn_get_device and of the functions that create
 * devices. */
HEWN_API hewn_status HEWN_CALL hewn_open_device(hewn_device_kind kind, uint32_t index,
                                                hewn_device **device, hewn_error *error);
/* The device's kind. NULL is the CPU. */
HEWN_API hewn_device_kind HEWN_CALL hewn_kind_of_device(const hewn_device *device);

/* Memory to bind, on any kind of device (NULL: the CPU). Programs with memory of their own need
 * none of this. hewn_allocate sets *memory to what hewn_buffer_binding's buffer takes: a pointer,
 * CUdeviceptr, cl_mem or ID3D12Resource *. The memory is aligned to 64 bytes at least and has 1
 * byte at least, even if `bytes` is 0. Its contents are not set. Statuses of this function and
 * those below: HEWN_STATUS_INVALID_ARGUMENT if another pointer is null (unless 0 bytes are copied);
 * from a GPU's driver HEWN_STATUS_OUT_OF_MEMORY and HEWN_STATUS_DEVICE_FAILED, the latter perhaps
 * because of earlier work; on the CPU HEWN_STATUS_OUT_OF_MEMORY from hewn_allocate. */
HEWN_API hewn_status HEWN_CALL hewn_allocate(hewn_device *device, uint64_t bytes, void **memory,
                                             hewn_error *error);
HEWN_API void HEWN_CALL hewn_deallocate(
    hewn_device *device, void *memory); /* ignores NULL memory; may wait for the device */
/* hewn_write and hewn_read copy between the program's memory and the device's, after all that was
 * enqueued before, and wait for the copy. On the CPU nothing checks offset + bytes against the
 * memory's size; on a GPU that is left to the driver. */
HEWN_API hewn_status HEWN_CALL hewn_write(hewn_device *device, void *memory, uint64_t offset,
                                          const void *from, uint64_t bytes, hewn_error *error);
/* The other direction of hewn_write. */
HEWN_API hewn_status HEWN_CALL hewn_read(hewn_device *device, void *memory, uint64_t offset,
                                         void *to, uint64_t bytes, hewn_error *error);
/* Waits for all that was enqueued on the device's stream or queue; on Direct3D 12 for all that hewn
 * submitted to it. */
HEWN_API hewn_status HEWN_CALL hewn_synchronize(hewn_device *device, hewn_error *error);

/* ---- Compile --------------------------------------------------------------------------------- */

/* Runs one slice of an execution. Needs as much stack as hewn_execute says. Throws nothing. */
typedef void(HEWN_CALL *hewn_slice_fn)(void *arg, int32_t index);
/* An executor: calls fn(arg, i) exactly once for every i in [0, count), in any order, on any
 * threads, and returns when all calls have returned. count is at least 2. hewn_execute calls it on
 * its own thread; several executions may call it at once. No exception may leave it. */
typedef void(HEWN_CALL *hewn_parallel_for_fn)(void *context, int32_t count, hewn_slice_fn fn,
                                              void *arg);

/* A tensor's memory: see struct hewn_buffer_binding. */
typedef struct hewn_buffer_binding hewn_buffer_binding;

/* Options of hewn_compile.
 * - variant forces a target ("x86_64_avx2"; a kernel that it lacks runs on the next target below
 *   it) or one variant ("add_f32__x86_64_avx2"). NULL or "" is the environment's HEWN_VARIANT. If
 *   that is not set either, the highest rank that has the kernel and runs here is taken, except
 *   where a lower rank's is faster on this chip.
 * - With max_threads 0, the library's pool goes by the CPUs that the compiling thread may run on.
 * - constants are inputs whose values never change, scales and zero points above all (DirectML
 *   binds such tensors at initialisation): a binding for each input, in order, of host memory on
 *   every kind of device; a null buffer for an input that is no constant. They are copied.
 *   Executions and hewn_bind then take a null buffer for them. What follows from them is prepared
 *   at compile, so they are faster than scales and zero points that each execution binds;
 *   QUANTIZED_LINEAR_ADD with all six as constants takes some 30 microseconds more to compile. */
typedef struct hewn_compile_options {
    uint32_t struct_size;             /* sizeof(hewn_compile_options) */
    hewn_feature_level feature_level; /* 0: the newest */
    const char *variant;              /* copied; NULL or "": see above */
    int32_t max_threads; /* most threads that one execution uses; 1: the caller's only; 0: as many
                            as help */
    hewn_parallel_for_fn
        parallel_for; /* NULL: the library's own thread pool, started when first needed */
    void
        *parallel_for_context; /* both must outlive the operator; on GPUs these three are ignored */
    const hewn_buffer_binding *constants; /* [constant_count]; NULL: none */
    uint32_t constant_count;              /* the number of inputs, or 0 with none */
} hewn_compile_options;

/* A compiled operator. */
typedef struct hewn_operator hewn_operator;

/* Compiles an operator: validates the description against the operator's table, merges dimensions,
 * chooses the variant, prepares the plan, and on a GPU loads the kernels. All that is slow, or
 * depends on the description alone, happens here. device NULL: the CPU. options NULL: all defaults.
 * - HEWN_STATUS_INVALID_ARGUMENT: a null pointer where a value is due, struct_size too small,
 *   unknown enumerator, negative max_threads, tensors that break a rule or do not go together,
 *   overlapping output strides;
 * - HEWN_STATUS_UNSUPPORTED: the feature level lacks a type or dimension count or requires an
 *   absent tensor; or, if no variant is forced, this build lacks the kernel;
 * - HEWN_STATUS_INVALID_BINDING: a constant is absent from the description, or is too small,
 *   misaligned or of another type;
 * - HEWN_STATUS_NO_VARIANT: no variant runs here, or the forced one is unknown, does not fit or
 *   cannot run, or neither it nor a target below it has the kernel in this build;
 * - HEWN_STATUS_OUT_OF_MEMORY; HEWN_STATUS_KERNEL_FAILED;
 * - on a GPU also HEWN_STATUS_DEVICE_FAILED and, if its driver is too old for a kernel,
 *   HEWN_STATUS_NO_DEVICE. */
HEWN_API hewn_status HEWN_CALL hewn_compile(hewn_device *device, const hewn_operator_desc *desc,
                                            const hewn_compile_options *options, hewn_operator **op,
                                            hewn_error *error);
/* Ignores NULL. */
HEWN_API void HEWN_CALL hewn_destroy_operator(hewn_operator *op);

/* The variant that an operator runs, e.g. "quantize_linear_f32_u8__x86_64_avx2"; "" for NULL. Lives
 * as long as the library. */
HEWN_API const char *HEWN_CALL hewn_operator_variant(const hewn_operator *op);

/* ---- Execute --------------------------------------------------------------------------------- */

/* A tensor's memory, as DML_BUFFER_BINDING. `buffer` is a pointer on the CPU, a CUdeviceptr on
 * CUDA, a cl_mem on OpenCL, an ID3D12Resource * on Direct3D 12; NULL for an absent optional tensor
 * and for a constant. buffer + offset must be aligned to the element. */
struct hewn_buffer_binding {
    uint32_t struct_size; /* sizeof(hewn_buffer_binding), equal in all elements of an array; or
                             HEWN_BINDING_OF(data type) */
    void *buffer;         /* inputs are only read */
    uint64_t offset;      /* in bytes */
    uint64_t size;        /* in bytes from `offset`; at least hewn_tensor_size */
};

/* A binding's struct_size that also says what its memory holds: a hewn_data_type in the upper 16
 * bits, which must be the tensor's (for FLOAT16 and BFLOAT16 also UINT16). 0 there, as in
 * sizeof(hewn_buffer_binding): bytes, taken to be what the description says. Not for a library that
 * is older than this macro. */
#define HEWN_BINDING_OF(data_type) (sizeof(hewn_buffer_binding) | (data_type)*65536u)

/* Options of one execution. */
typedef struct hewn_execute_options {
    uint32_t struct_size;              /* sizeof(hewn_execute_options) */
    int32_t max_threads;               /* 0: the operator's; on GPUs all these are ignored */
    hewn_parallel_for_fn parallel_for; /* NULL: the operator's */
    void *parallel_for_context;        /* for parallel_for; both are used until the call returns */
    int32_t output_is_read_next; /* 1: soon, as in a chain of operators: an output that the caches
                                    can hold is left there; 0: a large one is stored past them */
} hewn_execute_options;

/* Runs the operator. On the CPU it returns when the output is written, on a GPU once the work is
 * enqueued.
 * Inputs and outputs are in the order of the operator's struct: 2 inputs for ADD, 3 for
 * QUANTIZE_LINEAR and DEQUANTIZE_LINEAR, 8 for QUANTIZED_LINEAR_ADD, and one output; one input and
 * 3 outputs for DYNAMIC_QUANTIZE_LINEAR. Memory between a strided output's elements is never
 * written (but see packed types on GPUs). The output must not overlap an input, except in place
 * (ADD), or where both have equal strides in bytes and interleave. On the CPU, serial or with the
 * user's parallel_for, it allocates nothing and takes no lock. Each thread that runs a slice needs
 * up to 92 KiB of stack for layouts that are neither dense nor broadcast along a row and for
 * streamed outputs (8 MiB and more of operands). QUANTIZE_LINEAR with a scale a column needs 33 KiB
 * more, of scales that are no constants. With the library's own pool, a thread that waits for its
 * slices also runs slices of others' executions: its stack must hold the largest of them, unless
 * its max_threads is 1. On a GPU it takes locks while it prepares launches (OpenCL: one of the
 * operator's kernel, Direct3D 12: one of the device), and drivers may allocate. Memory that lies 1
 * GiB or more into a cl_mem gets a sub-buffer. Packed types (with what lies between their
 * elements), f16 beside f32, QUANTIZE_LINEAR with a precision and DYNAMIC_QUANTIZE_LINEAR go
 * through device memory of the operator's own, as large as those tensors are when unpacked or
 * widened, and take the device's lock: such an operator's work must not run twice at once, in two
 * command lists, in two launches of a captured graph or on CUDA's per-thread stream. Between the
 * elements of a packed output it writes what it has read there.
 * - HEWN_STATUS_INVALID_ARGUMENT: op is null, or the options' struct_size is too small,
 *   max_threads < 0 or output_is_read_next neither 0 nor 1;
 * - HEWN_STATUS_INVALID_BINDING: a binding is missing, too small, misaligned, overlaps or holds
 *   another type (HEWN_BINDING_OF), there is one too many, or one is not the device's (CUDA: not a
 *   GPU's; the driver checks whose memory it is);
 * - HEWN_STATUS_KERNEL_FAILED: part of the output may be written;
 * - on a GPU also HEWN_STATUS_OUT_OF_MEMORY and HEWN_STATUS_DEVICE_FAILED. */
HEWN_API hewn_status HEWN_CALL hewn_execute(const hewn_operator *op,
                                            const hewn_buffer_binding *inputs, uint32_t input_count,
                                            const hewn_buffer_binding *outputs,
                                            uint32_t output_count,
                                            const hewn_execute_options *options, hewn_error *error);

/* An operator with its bindings, as DirectML's binding table beside its operator. */
typedef struct hewn_bound_operator hewn_bound_operator;

/* Checks bindings as hewn_execute does, and prepares runs on them. The operator, the memory and
 * what the options name must stay until the last run has ended; the memory's contents may change
 * between runs. Memory for the bound operator comes from the operator's device.
 * Statuses are those of hewn_execute; HEWN_STATUS_INVALID_ARGUMENT also if bound is null,
 * HEWN_STATUS_OUT_OF_MEMORY. */
HEWN_API hewn_status HEWN_CALL hewn_bind(const hewn_operator *op, const hewn_buffer_binding *inputs,
                                         uint32_t input_count, const hewn_buffer_binding *outputs,
                                         uint32_t output_count, const hewn_execute_options *options,
                                         hewn_bound_operator **bound, hewn_error *error);
/* hewn_execute on those bindings, which it does not check again. Any thread may call it; two runs
 * at once write the same output. HEWN_STATUS_INVALID_ARGUMENT: bound is null; otherwise as
 * hewn_execute without what it says of bindings and options. */
HEWN_API hewn_status HEWN_CALL hewn_run(const hewn_bound_operator *bound, hewn_error *error);
/* Ignores NULL. Must not overlap a run. */
HEWN_API void HEWN_CALL hewn_destroy_bound_operator(hewn_bound_operator *bound);

/* Records the operator, compiled for a Direct3D 12 device, into the program's open
 * ID3D12GraphicsCommandList of type COMPUTE or DIRECT, and a UAV barrier after it. Submits nothing.
 * Any number of threads may record, each into its own list. Bindings are ID3D12Resource buffers
 * with D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS, in the state UNORDERED_ACCESS when the list
 * runs. Offsets are multiples of the element's size. The program gives no descriptor heap and no
 * scratch memory. The list's compute root signature and pipeline state change. It may run any
 * number of times; the resources, the operator and the hewn device must stay until the last run has
 * ended.
 * HEWN_STATUS_INVALID_ARGUMENT: op or list is null, or op is for another kind of device;
 * HEWN_STATUS_INVALID_BINDING as for hewn_execute; HEWN_STATUS_KERNEL_FAILED. */
HEWN_API hewn_status HEWN_CALL hewn_d3d12_record(const hewn_operator *op, void *command_list,
                                                 const hewn_buffer_binding *inputs,
                                                 uint32_t input_count,
                                                 const hewn_buffer_binding *outputs,
                                                 uint32_t output_count, hewn_error *error);

/* ---- The operators as a table ---------------------------------------------------------------- */

/* For bindings and tools, which then need no list of their own. Each operator's description is its
 * struct_size, then a pointer to each tensor's description, in the order of the table; NULL where
 * an optional tensor is absent. Behind them, if it has attributes, are their values, of 4 bytes
 * each, and 4 bytes of 0 where their number is odd. */
typedef struct hewn_operator_info {
    uint32_t struct_size;       /* sizeof(hewn_operator_info) */
    hewn_operator_type type;    /* for hewn_operator_desc */
    const char *name;           /* "quantize_linear", as in names of variants */
    const char *directml_name;  /* "QUANTIZE_LINEAR" */
    const char *onnx_name;      /* domain and operator: "ai.onnx.QuantizeLinear"; "": none */
    const char *command;        /* the command line's subcommand: "quantize" */
    const char *formula;        /* in a line, for people */
    uint32_t tensor_count;      /* the inputs in order, then the outputs */
    int32_t in_place;           /* 1: the output may be bound in place of an input */
    int32_t unsigned_as_signed; /* 1: unsigned types run on the kernels of the signed ones of their
                                   width */
    uint32_t
        min_dimension_count; /* at the level; both are 0 if it does not have the operator yet */
    uint32_t max_dimension_count; /* at the level */
} hewn_operator_info;

/* What a tensor is to its operator. */
typedef int32_t hewn_tensor_role;
enum {
    HEWN_TENSOR_ROLE_DATA = 0, /* an input to compute with */
    HEWN_TENSOR_ROLE_SCALE = 1,
    HEWN_TENSOR_ROLE_ZERO_POINT = 2,
    HEWN_TENSOR_ROLE_OUTPUT = 3
};

/* A tensor of an operator. */
typedef struct hewn_operator_tensor_info {
    uint32_t struct_size;  /* sizeof(hewn_operator_tensor_info) */
    const char *name;      /* "ScaleTensor" */
    hewn_tensor_role role; /* what it is to the operator */
    int32_t optional;      /* 1: may be absent at the level */
    int32_t one_element; /* 1: exactly one element, whatever the others' sizes; else it has those of
                            tensor 0 */
    int32_t in_signature; /* 1: a kernel's signature names its type */
    int32_t like; /* the tensor whose type it has; -1: any of `types`. Which floats may differ
                     from that one's, from HEWN_FEATURE_LEVEL_HEWN on, is not told */
    hewn_data_type
        like_integers; /* its type where that tensor's is an integer's; UNKNOWN: the same */
    uint32_t types;    /* at the level: bit t is set if the data type t is allowed */
} hewn_operator_tensor_info;

/* The number of operators. */
HEWN_API uint32_t HEWN_CALL hewn_operator_count(void);
/* hewn_get_operator describes the index-th operator at a feature level, hewn_get_operator_tensor
 * one of its tensors. At a level they are the same in every build that has it (which kernels a
 * build has: hewn_get_variant). HEWN_STATUS_INVALID_ARGUMENT: there is no such operator or tensor,
 * or no such level in this build, info is null, or its struct_size is too small. */
HEWN_API hewn_status HEWN_CALL hewn_get_operator(uint32_t index, hewn_feature_level level,
                                                 hewn_operator_info *info);
/* Describes a tensor of an operator: see hewn_get_operator. */
HEWN_API hewn_status HEWN_CALL hewn_get_operator_tensor(uint32_t index, uint32_t tensor,
                                                        hewn_feature_level level,
                                                        hewn_operator_tensor_info *info);

/* A choice that an operator's description has behind its tensors. */
typedef struct hewn_operator_attribute_info {
    uint32_t struct_size; /* sizeof(hewn_operator_attribute_info) */
    const char *name;     /* "precision", as ONNX calls it too */
    const char *const
        *values;          /* [value_count]: what the numbers from 0, the default, mean: "f16" */
    uint32_t value_count; /* of values */
    int32_t allowed;      /* 1: values other than 0 are, at the level */
} hewn_operator_attribute_info;
/* Describes an attribute of an operator: see hewn_get_operator.
 * HEWN_STATUS_INVALID_ARGUMENT also if it has no more attributes than `attribute`. */
HEWN_API hewn_status HEWN_CALL hewn_get_operator_attribute(uint32_t index, uint32_t attribute,
                                                           hewn_feature_level level,
                                                           hewn_operator_attribute_info *info);

/* ---- What was built, what runs here ---------------------------------------------------------- */

/* A set of CPU features, or a kind of GPU, that kernels are compiled for. */
typedef struct hewn_target_info {
    uint32_t struct_size;      /* sizeof(hewn_target_info) */
    const char *name;          /* "x86_64_avx2" */
    const char *halide_target; /* Halide's name for it: "x86-64-linux-sse41" */
    int32_t rank; /* the highest rank that can run is picked; exceptions: hewn_compile_options */
    int32_t supported;       /* 1: this machine can run it */
    const char *missing;     /* the first feature that this machine lacks; "" if supported */
    hewn_device_kind device; /* what it is for; asking about a GPU's target loads the driver */
} hewn_target_info;

/* The number of targets of this build. */
HEWN_API uint32_t HEWN_CALL hewn_target_count(void);
/* hewn_get_target describes the index-th target of this build, in ascending rank.
 * HEWN_STATUS_INVALID_ARGUMENT: there is none, info is null, or its struct_size is too small. */
HEWN_API hewn_status HEWN_CALL hewn_get_target(uint32_t index, hewn_target_info *info);

/* A variant: one kernel, operator x signature x target. */
typedef struct hewn_variant_info {
    uint32_t struct_size;      /* sizeof(hewn_variant_info) */
    const char *name;          /* "quantize_linear_f32_u8__x86_64_avx2" */
    const char *operator_name; /* "quantize_linear" */
    const char *signature;     /* "f32_u8" */
    const char *target;        /* "x86_64_avx2" */
    int32_t supported;         /* 1: this machine can run it */
    int32_t picked; /* 1: taken if nothing is forced (HEWN_VARIANT is ignored); for a GPU: on its
                       best device */
    hewn_device_kind device; /* what it is for */
} hewn_variant_info;

/* The number of variants of this build. */
HEWN_API uint32_t HEWN_CALL hewn_variant_count(void);
/* hewn_get_variant describes the index-th variant of this build, by ascending rank of its target;
 * for a GPU's it loads the driver. HEWN_STATUS_INVALID_ARGUMENT: there is none, info is null, or
 * its struct_size is too small. */
HEWN_API hewn_status HEWN_CALL hewn_get_variant(uint32_t index, hewn_variant_info *info);

/* ---- Library --------------------------------------------------------------------------------- */

/* The version of the library that is linked or loaded: major << 16 | minor << 8 | patch. */
HEWN_API uint32_t HEWN_CALL hewn_version(void);

/* Ends and joins the threads of the library's own pool, if it has started. Call it before dlclose
 * or FreeLibrary, with no execution in flight. A later execution starts the pool again. */
HEWN_API void HEWN_CALL hewn_shutdown(void);

#ifdef __cplusplus
}
#endif

#endif /* HEWN_HEWN_H */
