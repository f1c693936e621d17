/* hewn: precompiled Halide kernels for four DirectML operators. C ABI: the binary boundary of the library.
 *
 * Order of use, as in DirectML: describe an operator, compile it for a device, execute it on bindings as often as wanted.
 *
 *     hewn_operator *op = NULL;
 *     hewn_compile(NULL, &desc, NULL, &op, &error);                        // NULL device: the CPU; NULL options: defaults
 *     hewn_execute(op, inputs, 2, &output, 1, NULL, &error);
 *     hewn_destroy_operator(op);
 *
 * Rules of this header
 * - Every struct starts with `struct_size`: set it to sizeof(the struct). Later versions only append members; a smaller
 *   struct_size than the first version's is refused, members beyond a smaller one count as zero.
 * - Enumerations are int32_t with fixed values. Data types and feature levels use DirectML's numbers.
 * - Sizes, strides and buffer sizes are 64-bit; every product and sum is checked before use.
 * - Functions return a hewn_status. With a non-null `error` (its struct_size set) they also fill in a message that names
 *   the tensor and the rule it broke. A refused call has written nothing else.
 * - Descriptions are copied. Handles are opaque. A call that fails leaves its result pointers as they were.
 * - Threads: every function may be called on any thread. Devices and operators may be shared, and a compiled operator is
 *   immutable: any number of threads may execute it at once. Only destroying one must not overlap its use, nor hewn_shutdown an
 *   execution. hewn_compile reads the environment's HEWN_VARIANT, which must not be set meanwhile.
 *
 * Numerics (the same bits on every target; docs/numerics.md): IEEE-754 binary32, one rounding to nearest even per written
 * operation, nothing fused, subnormals kept. A NaN result is a NaN of unspecified sign and payload. The caller's rounding
 * and flush-to-zero modes have no influence and are left as they were.
 */
#ifndef HEWN_HEWN_H
#define HEWN_HEWN_H

#include <stddef.h>
#include <stdint.h>

#define HEWN_VERSION_MAJOR 0
#define HEWN_VERSION_MINOR 1
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

/* ---- Status and errors ------------------------------------------------------------------------------------------- */

typedef int32_t hewn_status;
enum {
    HEWN_STATUS_OK = 0,
    HEWN_STATUS_INVALID_ARGUMENT = 1, /* null where a value is due, bad struct_size, unknown enumerator, inconsistent tensors */
    HEWN_STATUS_UNSUPPORTED = 2,      /* outside the operator's table at the chosen feature level, not in this build, or an
                                         OpenCL queue that is out of order */
    HEWN_STATUS_INVALID_BINDING = 3,  /* a binding is missing, too small, misaligned or overlaps another */
    HEWN_STATUS_NO_VARIANT = 4, /* no variant runs on this machine, or the forced one is unknown, does not fit or cannot run */
    HEWN_STATUS_OUT_OF_MEMORY = 5,
    HEWN_STATUS_KERNEL_FAILED = 6, /* a kernel reported an error */
    HEWN_STATUS_NO_DEVICE = 7,     /* no such device, or its driver is absent, too old or lacks what kernels need */
    HEWN_STATUS_DEVICE_FAILED = 8  /* the device's driver reported an error */
};

/* Caller-owned. Filled in by the first failure of a call; untouched by a call that succeeds. */
typedef struct hewn_error {
    uint32_t struct_size; /* sizeof(hewn_error) */
    hewn_status status;
    char message[256]; /* English, one line, NUL-terminated, cut where it would not fit */
} hewn_error;

/* ---- Tensors ----------------------------------------------------------------------------------------------------- */

/* DML_TENSOR_DATA_TYPE's values. */
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
    HEWN_DATA_TYPE_INT64 = 11
};

/* Most dimensions a tensor may have. */
#define HEWN_DIMENSION_COUNT_MAX 8

/* A tensor's type and layout. Dimensions go from the outermost to the innermost, as in DirectML.
 * Rank 0 (dimension_count 0) is one element; it is supported where rank 1 is (feature level 3.0, QUANTIZED_LINEAR_ADD 4.0). A
 * size of 0 makes the tensor empty: executing does nothing. */
typedef struct hewn_tensor_desc {
    uint32_t struct_size; /* sizeof(hewn_tensor_desc) */
    hewn_data_type data_type;
    uint32_t dimension_count; /* 0..HEWN_DIMENSION_COUNT_MAX */
    const int64_t *sizes;     /* [dimension_count], in elements, each >= 0; may be NULL at rank 0 */
    const int64_t *strides;   /* [dimension_count], in elements, each >= 0; 0 broadcasts an input; NULL: packed, row-major */
} hewn_tensor_desc;

/* Bytes from the tensor's first element to the end of its last: (sum((size - 1) * stride) + 1) * element bytes; 0 if empty.
 * A binding of that size suffices (DirectML rounds up to 4; hewn does not). Source: DMLCalcBufferTensorSize.
 * HEWN_STATUS_INVALID_ARGUMENT: a null pointer, or a description that breaks a rule above or overflows 63 bits. */
HEWN_API hewn_status HEWN_CALL hewn_tensor_size(const hewn_tensor_desc *tensor, uint64_t *bytes, hewn_error *error);

/* ---- Operators --------------------------------------------------------------------------------------------------- */

/* Which types and dimension counts each feature level allows: docs/operators.md. */

/* f(a, b) = a + b. DML_ELEMENT_WISE_ADD_OPERATOR_DESC.
 * Three tensors of one data type and equal sizes. Integers wrap modulo 2^n; floats round once in the tensor's type.
 * In place: the output may be bound to the same memory, with the same strides, as either input or both. */
typedef struct hewn_add_desc {
    uint32_t struct_size; /* sizeof(hewn_add_desc) */
    const hewn_tensor_desc *a_tensor;
    const hewn_tensor_desc *b_tensor;
    const hewn_tensor_desc *output_tensor;
} hewn_add_desc;

/* f(x, scale, zero_point) = clamp(round(x / scale) + zero_point, Min, Max), ties to even; u8: 0..255, i8: -128..127.
 * DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC. All tensors have the input's sizes: a scalar or per-axis scale is a
 * tensor of those sizes with strides of 0. x (f32, f16, i32) is widened to f32 first. The scale has the input's type, but
 * f32 where the input is i32. The zero point has the output's type. NaN gives the zero point, +-inf saturates; a scale of
 * 0, inf or NaN follows from the same arithmetic. */
typedef struct hewn_quantize_linear_desc {
    uint32_t struct_size; /* sizeof(hewn_quantize_linear_desc) */
    const hewn_tensor_desc *input_tensor;
    const hewn_tensor_desc *scale_tensor;
    const hewn_tensor_desc *zero_point_tensor; /* optional from feature level 6.2: NULL means 0 */
    const hewn_tensor_desc *output_tensor;
} hewn_quantize_linear_desc;

/* f(x, scale, zero_point) = (x - zero_point) * scale. DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC.
 * All tensors have the input's sizes. The difference is exact and rounds once to f32, the product rounds once, and once
 * more to f16 where the output is f16. The zero point has the input's type, the output the scale's type. */
typedef struct hewn_dequantize_linear_desc {
    uint32_t struct_size; /* sizeof(hewn_dequantize_linear_desc) */
    const hewn_tensor_desc *input_tensor;
    const hewn_tensor_desc *scale_tensor;
    const hewn_tensor_desc *zero_point_tensor; /* optional from feature level 6.2: NULL means 0 */
    const hewn_tensor_desc *output_tensor;
} hewn_dequantize_linear_desc;

/* f = clamp(round(((a - a_zero_point) * a_scale + (b - b_zero_point) * b_scale) / output_scale) + output_zero_point, Min, Max).
 * DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC. a, b and the output are i8 or u8, each on its own, of equal sizes.
 * Scales (f32) and zero points (their tensor's type) have the same dimension count and exactly one element: in each
 * dimension the size 1 or the stride 0. Each difference is exact, the two products round separately and their sum rounds
 * again, then the quotient; round takes ties to even; Min and Max, NaN, +-inf and extraordinary scales as for
 * QUANTIZE_LINEAR. */
typedef struct hewn_quantized_linear_add_desc {
    uint32_t struct_size; /* sizeof(hewn_quantized_linear_add_desc) */
    const hewn_tensor_desc *a_tensor;
    const hewn_tensor_desc *a_scale_tensor;
    const hewn_tensor_desc *a_zero_point_tensor; /* optional: NULL means 0 */
    const hewn_tensor_desc *b_tensor;
    const hewn_tensor_desc *b_scale_tensor;
    const hewn_tensor_desc *b_zero_point_tensor; /* optional: NULL means 0 */
    const hewn_tensor_desc *output_scale_tensor;
    const hewn_tensor_desc *output_zero_point_tensor; /* optional: NULL means 0 */
    const hewn_tensor_desc *output_tensor;
} hewn_quantized_linear_add_desc;

typedef int32_t hewn_operator_type;
enum {
    HEWN_OPERATOR_ADD = 1,                 /* desc: hewn_add_desc */
    HEWN_OPERATOR_QUANTIZE_LINEAR = 2,     /* desc: hewn_quantize_linear_desc */
    HEWN_OPERATOR_DEQUANTIZE_LINEAR = 3,   /* desc: hewn_dequantize_linear_desc */
    HEWN_OPERATOR_QUANTIZED_LINEAR_ADD = 4 /* desc: hewn_quantized_linear_add_desc */
};

typedef struct hewn_operator_desc {
    uint32_t struct_size; /* sizeof(hewn_operator_desc) */
    hewn_operator_type type;
    const void *desc; /* the struct that belongs to `type` */
} hewn_operator_desc;

/* DML_FEATURE_LEVEL's values. A level uses the operator's newest table not above it. */
typedef int32_t hewn_feature_level;
enum {
    HEWN_FEATURE_LEVEL_NEWEST = 0,
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
    HEWN_FEATURE_LEVEL_6_4 = 0x6400
};

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

typedef struct hewn_device hewn_device;

/* Memory hooks. allocate returns `bytes` bytes aligned to `alignment` (a power of two, at most 64) or NULL. They are called
 * by functions that create, compile and destroy, and on a CPU device by hewn_allocate and hewn_deallocate, never by execute: on
 * any thread that calls those, on several at once. They and their context must outlive the device and all of its operators. */
typedef void *(HEWN_CALL *hewn_allocate_fn)(void *context, size_t bytes, size_t alignment);
typedef void(HEWN_CALL *hewn_deallocate_fn)(void *context, void *memory);

typedef struct hewn_cpu_device_desc {
    uint32_t struct_size;      /* sizeof(hewn_cpu_device_desc) */
    hewn_allocate_fn allocate; /* NULL: the C library's; set both hooks or none */
    hewn_deallocate_fn deallocate;
    void *allocator_context;
} hewn_cpu_device_desc;

/* A CPU device. desc may be NULL. Without special needs pass a NULL device to hewn_compile instead.
 * HEWN_STATUS_INVALID_ARGUMENT (device is null, struct_size is too small, one hook alone), HEWN_STATUS_OUT_OF_MEMORY. */
HEWN_API hewn_status HEWN_CALL hewn_create_cpu_device(const hewn_cpu_device_desc *desc, hewn_device **device, hewn_error *error);
/* NULL is ignored. Operators compiled for the device stay valid. */
HEWN_API void HEWN_CALL hewn_destroy_device(hewn_device *device);

typedef int32_t hewn_device_kind;
enum {
    HEWN_DEVICE_CPU = 0,
    HEWN_DEVICE_CUDA = 1,   /* an NVIDIA GPU by its driver */
    HEWN_DEVICE_OPENCL = 2, /* any OpenCL 1.2 device */
    HEWN_DEVICE_D3D12 = 3   /* a Direct3D 12 device of feature level 11_0 */
};

/* GPU devices. Bindings are in the device's memory and never copied. hewn_execute enqueues on the device's stream or queue and
 * returns without waiting (on Direct3D 12, of 256 executions in flight, it waits for the older half): what it was given must
 * stay until the work has ended, and an error of running work is reported by whichever call waits for it. The library links to
 * no driver: it is loaded when a GPU device is first asked for. A CUDA context and stream stay the caller's and must outlive
 * the device and its operators; what OpenCL and Direct3D 12 are given is retained. An operator keeps its device: what is
 * retained goes with the last of the handle and its operators.
 * Each of the functions that create one has
 *   HEWN_STATUS_INVALID_ARGUMENT  a null pointer where a value is due, struct_size too small, one hook alone, or as said there;
 *   HEWN_STATUS_NO_DEVICE         no driver, or it or the device lacks what kernels need; of Direct3D 12 also a build without
 *                                 kernels for it, where with the others hewn_compile has HEWN_STATUS_UNSUPPORTED;
 *   HEWN_STATUS_OUT_OF_MEMORY, HEWN_STATUS_DEVICE_FAILED  the driver's, or the hook's. */
typedef struct hewn_cuda_device_desc {
    uint32_t struct_size;      /* sizeof(hewn_cuda_device_desc) */
    void *context;             /* CUcontext; NULL: the calling thread's current one */
    void *stream;              /* CUstream of that context; NULL: the default stream */
    hewn_allocate_fn allocate; /* as hewn_cpu_device_desc: host memory */
    hewn_deallocate_fn deallocate;
    void *allocator_context;
} hewn_cuda_device_desc;
/* HEWN_STATUS_INVALID_ARGUMENT also: context is no CUcontext, or NULL where the thread has no current one. */
HEWN_API hewn_status HEWN_CALL hewn_create_cuda_device(const hewn_cuda_device_desc *desc, hewn_device **device,
                                                       hewn_error *error);

typedef struct hewn_opencl_device_desc {
    uint32_t struct_size;      /* sizeof(hewn_opencl_device_desc) */
    void *context;             /* cl_context; retained by the device */
    void *queue;               /* cl_command_queue of that context, in order; retained by the device */
    hewn_allocate_fn allocate; /* as hewn_cpu_device_desc: host memory */
    hewn_deallocate_fn deallocate;
    void *allocator_context;
} hewn_opencl_device_desc;
/* HEWN_STATUS_INVALID_ARGUMENT also: queue is no cl_command_queue, or of another context; HEWN_STATUS_UNSUPPORTED: it is out of
 * order. */
HEWN_API hewn_status HEWN_CALL hewn_create_opencl_device(const hewn_opencl_device_desc *desc, hewn_device **device,
                                                         hewn_error *error);

/* Direct3D 12: an ID3D12Device of the program's. Its operators are recorded (hewn_d3d12_record) or executed: hewn_execute and the
 * functions for memory submit to the queue, one at a time. Shaders are compiled in the library; pipelines are made by
 * hewn_compile, once a device. */
typedef struct hewn_d3d12_device_desc {
    uint32_t struct_size;      /* sizeof(hewn_d3d12_device_desc) */
    void *device;              /* ID3D12Device; retained by the device */
    void *queue;               /* ID3D12CommandQueue, COMPUTE or DIRECT, retained; NULL: one of its own */
    hewn_allocate_fn allocate; /* as hewn_cpu_device_desc: host memory */
    hewn_deallocate_fn deallocate;
    void *allocator_context;
} hewn_d3d12_device_desc;
/* HEWN_STATUS_INVALID_ARGUMENT also: queue is neither COMPUTE nor DIRECT, or of another device. */
HEWN_API hewn_status HEWN_CALL hewn_create_d3d12_device(const hewn_d3d12_device_desc *desc, hewn_device **device,
                                                        hewn_error *error);

/* A machine's device, for hewn_open_device and listings. */
typedef struct hewn_device_info {
    uint32_t struct_size; /* sizeof(hewn_device_info) */
    hewn_device_kind kind;
    uint32_t index;     /* among the devices of its kind */
    char name[128];     /* as its driver calls it */
    uint64_t memory;    /* bytes; 0: not known */
    int32_t capability; /* CUDA: compute capability times ten; else 0 */
    int32_t is_cpu;     /* 1: software on a CPU, as PoCL and WARP are; hewn's own CPU device is then the faster */
    char missing[64];   /* what it lacks to run hewn's kernels; "" if nothing */
} hewn_device_info;

/* The index-th device of a kind, the driver's own order. HEWN_STATUS_NO_DEVICE, with the reason, past the last one;
 * HEWN_STATUS_INVALID_ARGUMENT: info is null, its struct_size too small, or there is no such kind; HEWN_STATUS_OUT_OF_MEMORY and
 * HEWN_STATUS_DEVICE_FAILED are the driver's. */
HEWN_API hewn_status HEWN_CALL hewn_get_device(hewn_device_kind kind, uint32_t index, hewn_device_info *info, hewn_error *error);
/* A device for tools, tests and programs that have none: the index-th of its kind, or for HEWN_ANY_DEVICE the first that lacks
 * nothing. A GPU comes before software on the CPU (is_cpu), which of Direct3D 12 is opened by its index alone: HEWN_ANY_DEVICE
 * has HEWN_STATUS_NO_DEVICE there. OpenCL gets a context and a queue of its own, Direct3D 12 a device and a queue; CUDA the
 * GPU's primary context, which the CUDA runtime uses as well, and its default stream. The C library's memory serves it.
 * Statuses as of hewn_get_device, and of the functions that create. */
#define HEWN_ANY_DEVICE UINT32_MAX
HEWN_API hewn_status HEWN_CALL hewn_open_device(hewn_device_kind kind, uint32_t index, hewn_device **device, hewn_error *error);
/* What the device runs on; NULL: the CPU. */
HEWN_API hewn_device_kind HEWN_CALL hewn_kind_of_device(const hewn_device *device);

/* Memory to bind, on any kind of device (NULL: the CPU). `memory` is what hewn_buffer_binding's buffer takes: a pointer,
 * CUdeviceptr, cl_mem or ID3D12Resource *. At least 64-byte aligned, and at least 1 byte where `bytes` is 0; its contents are
 * not set. Programs with memory of their own need none of this.
 * The functions below have HEWN_STATUS_INVALID_ARGUMENT where another pointer is null (but for 0 bytes to copy), and the driver's
 * HEWN_STATUS_OUT_OF_MEMORY and HEWN_STATUS_DEVICE_FAILED, the latter perhaps of earlier work; on the CPU hewn_allocate has
 * HEWN_STATUS_OUT_OF_MEMORY. */
HEWN_API hewn_status HEWN_CALL hewn_allocate(hewn_device *device, uint64_t bytes, void **memory, hewn_error *error);
HEWN_API void HEWN_CALL hewn_deallocate(hewn_device *device, void *memory); /* NULL memory is ignored; may wait for the device */
/* Copy between the program's memory and the device's, behind all that was enqueued before, and wait for the copy. On the CPU
 * nothing checks offset + bytes against the memory's size; on a GPU that is left to the driver. */
HEWN_API hewn_status HEWN_CALL hewn_write(hewn_device *device, void *memory, uint64_t offset, const void *from, uint64_t bytes,
                                          hewn_error *error);
HEWN_API hewn_status HEWN_CALL hewn_read(hewn_device *device, void *memory, uint64_t offset, void *to, uint64_t bytes,
                                         hewn_error *error);
/* Waits for all that was enqueued on the device's stream or queue; on Direct3D 12 for all that hewn submitted to it. */
HEWN_API hewn_status HEWN_CALL hewn_synchronize(hewn_device *device, hewn_error *error);

/* ---- Compile ----------------------------------------------------------------------------------------------------- */

/* A slice of an execution. Needs the stack that hewn_execute tells; throws nothing. */
typedef void(HEWN_CALL *hewn_slice_fn)(void *arg, int32_t index);
/* An executor: calls fn(arg, i) exactly once for every i in [0, count), in any order, on any threads, and returns when all calls
 * have returned. count is at least 2. Called on the thread of hewn_execute, at once by several that execute; no exception may
 * leave it. */
typedef void(HEWN_CALL *hewn_parallel_for_fn)(void *context, int32_t count, hewn_slice_fn fn, void *arg);

typedef struct hewn_compile_options {
    uint32_t struct_size;             /* sizeof(hewn_compile_options) */
    hewn_feature_level feature_level; /* 0: the newest */
    const char *variant; /* copied; force a target ("x86_64_avx2"; a kernel that it does not have runs on the next target
                           below it) or one variant ("add_f32__x86_64_avx2");
                           NULL or "": the environment's HEWN_VARIANT, else the highest rank that has the kernel
                           and runs here, except where a lower rank's is faster on this chip */
    int32_t max_threads; /* most threads one execution uses; 1: the caller's only; 0: as many as help, which
                           for the library's pool goes by the CPUs that the compiling thread may run on */
    hewn_parallel_for_fn parallel_for; /* NULL: the library's own thread pool, started when first needed */
    void *parallel_for_context;        /* it and parallel_for must outlive the operator; on GPUs all three are ignored */
} hewn_compile_options;

typedef struct hewn_operator hewn_operator;

/* Everything that depends on the description alone or is slow: validates it against the operator's table, merges dimensions,
 * chooses the variant, prepares the plan; on a GPU loads the kernels. device NULL: the CPU. options NULL: all defaults.
 *   HEWN_STATUS_INVALID_ARGUMENT  a null pointer where a value is due, struct_size too small, unknown enumerator,
 *                                 max_threads < 0, tensors that break a rule or do not go together, overlapping output strides;
 *   HEWN_STATUS_UNSUPPORTED       a type, dimension count or absent tensor that the level lacks, or, where no variant is
 *                                 forced, no kernel in this build;
 *   HEWN_STATUS_NO_VARIANT        none runs here, or the forced one is unknown, does not fit or cannot run, or neither it nor
 *                                 a target below it has the kernel in this build;
 *   HEWN_STATUS_OUT_OF_MEMORY;
 *   on a GPU also HEWN_STATUS_DEVICE_FAILED, HEWN_STATUS_KERNEL_FAILED and, where its driver is too old for a kernel,
 *   HEWN_STATUS_NO_DEVICE. */
HEWN_API hewn_status HEWN_CALL hewn_compile(hewn_device *device, const hewn_operator_desc *desc,
                                            const hewn_compile_options *options, hewn_operator **op, hewn_error *error);
/* NULL is ignored. */
HEWN_API void HEWN_CALL hewn_destroy_operator(hewn_operator *op);

/* The variant an operator runs, e.g. "quantize_linear_f32_u8__x86_64_avx2"; lives as long as the library; "" for NULL. */
HEWN_API const char *HEWN_CALL hewn_operator_variant(const hewn_operator *op);

/* ---- Execute ----------------------------------------------------------------------------------------------------- */

/* A tensor's memory, as DML_BUFFER_BINDING. `buffer` is a pointer on the CPU, a CUdeviceptr on CUDA, a cl_mem on OpenCL, an
 * ID3D12Resource * on Direct3D 12; buffer + offset must be aligned to the element.
 * An optional tensor that is absent has a binding with a NULL buffer. */
typedef struct hewn_buffer_binding {
    uint32_t struct_size; /* sizeof(hewn_buffer_binding), the same in all elements of an array */
    void *buffer;         /* inputs are only read */
    uint64_t offset;      /* in bytes */
    uint64_t size;        /* in bytes from `offset`; at least hewn_tensor_size */
} hewn_buffer_binding;

typedef struct hewn_execute_options {
    uint32_t struct_size;              /* sizeof(hewn_execute_options) */
    int32_t max_threads;               /* 0: the operator's; on GPUs all three are ignored */
    hewn_parallel_for_fn parallel_for; /* NULL: the operator's */
    void *parallel_for_context;        /* goes with parallel_for; both are used until the call returns */
} hewn_execute_options;

/* Runs the operator and returns when the output is written; on a GPU device enqueues it and returns. Inputs and outputs are in
 * the order of the operator's struct: ADD 2 inputs, QUANTIZE_LINEAR and DEQUANTIZE_LINEAR 3, QUANTIZED_LINEAR_ADD 8; one
 * output. Elements between a strided output's own are never written.
 * On the CPU, serial or with the user's parallel_for, it allocates nothing and takes no lock. Layouts that are neither dense
 * nor broadcast along a row, and streamed outputs (of 8 MiB and more of operands), take up to 90 KiB of the stack of each thread
 * that runs a slice; QUANTIZE_LINEAR with a scale a column 33 KiB more, QUANTIZED_LINEAR_ADD, while it looks for folded
 * factors, 13 KiB more. With the library's own pool a thread that executes runs slices of others' executions as well while it
 * waits for its own: its stack has to hold the largest of them, or its max_threads be 1.
 * On a GPU it takes locks while it prepares the launches (OpenCL: of the operator's kernel, Direct3D 12: of the device), and
 * drivers may allocate. Of memory that lies 1 GiB or more into a cl_mem a sub-buffer is made; Direct3D 12, of 256 executions in
 * flight, waits for the older half.
 * The output must not overlap an input, except in place (ADD), or where both have equal strides in bytes and interleave.
 *   HEWN_STATUS_INVALID_ARGUMENT  op is null, the options' struct_size is too small or their max_threads < 0;
 *   HEWN_STATUS_INVALID_BINDING   a binding is missing, too small, misaligned, not the device's (of CUDA: not a GPU's, whose
 *                                 memory it is the driver checks), one too many, or overlaps;
 *   HEWN_STATUS_KERNEL_FAILED     of the output some may be written;
 *   on a GPU also HEWN_STATUS_OUT_OF_MEMORY and HEWN_STATUS_DEVICE_FAILED. */
HEWN_API hewn_status HEWN_CALL hewn_execute(const hewn_operator *op, const hewn_buffer_binding *inputs, uint32_t input_count,
                                            const hewn_buffer_binding *outputs, uint32_t output_count,
                                            const hewn_execute_options *options, hewn_error *error);

/* Records the operator, compiled for a Direct3D 12 device, into an open ID3D12GraphicsCommandList of the program's, of type
 * COMPUTE or DIRECT, and a UAV barrier behind it; submits nothing. Bindings are ID3D12Resource buffers with
 * D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS, in the state UNORDERED_ACCESS when the list runs; any offset that is a multiple
 * of the element's size. Needs no descriptor heap and no scratch memory; leaves the list with another compute root signature
 * and pipeline state. The list may run any number of times; until it has ended for the last time the resources and the hewn
 * device must stay. Any number of threads may record, each into its own list.
 * HEWN_STATUS_INVALID_ARGUMENT: op or list is null, or op is for another kind of device; HEWN_STATUS_INVALID_BINDING as of
 * hewn_execute; HEWN_STATUS_KERNEL_FAILED. */
HEWN_API hewn_status HEWN_CALL hewn_d3d12_record(const hewn_operator *op, void *command_list, const hewn_buffer_binding *inputs,
                                                 uint32_t input_count, const hewn_buffer_binding *outputs, uint32_t output_count,
                                                 hewn_error *error);

/* ---- What was built, what runs here ------------------------------------------------------------------------------ */

typedef struct hewn_target_info {
    uint32_t struct_size;      /* sizeof(hewn_target_info) */
    const char *name;          /* "x86_64_avx2" */
    const char *halide_target; /* Halide's name of it: "x86-64-linux-sse41" */
    int32_t rank;              /* of the targets that can run, the highest rank is picked, but as hewn_compile_options has it */
    int32_t supported;         /* 1: this machine can run it */
    const char *missing;       /* the first feature this machine lacks; "" if supported */
    hewn_device_kind device;   /* what it is for; asking about a GPU's target loads the driver */
} hewn_target_info;

/* The index-th target of this build, in ascending rank; HEWN_STATUS_INVALID_ARGUMENT from hewn_target_count() on, as for a
 * null info or a struct_size that is too small. */
HEWN_API uint32_t HEWN_CALL hewn_target_count(void);
HEWN_API hewn_status HEWN_CALL hewn_get_target(uint32_t index, hewn_target_info *info);

/* A variant: one kernel, operator x signature x target. */
typedef struct hewn_variant_info {
    uint32_t struct_size;      /* sizeof(hewn_variant_info) */
    const char *name;          /* "quantize_linear_f32_u8__x86_64_avx2" */
    const char *operator_name; /* "quantize_linear" */
    const char *signature;     /* "f32_u8" */
    const char *target;        /* "x86_64_avx2" */
    int32_t supported;         /* 1: this machine can run it */
    int32_t picked;            /* 1: compile takes it if nothing is forced (HEWN_VARIANT apart); on a GPU: on its best device */
    hewn_device_kind device;   /* what it is for */
} hewn_variant_info;

/* The index-th variant of this build, by ascending rank of its target; HEWN_STATUS_INVALID_ARGUMENT from hewn_variant_count() on,
 * as for a null info or a struct_size that is too small. Asking about a GPU's loads the driver. */
HEWN_API uint32_t HEWN_CALL hewn_variant_count(void);
HEWN_API hewn_status HEWN_CALL hewn_get_variant(uint32_t index, hewn_variant_info *info);

/* ---- Library ----------------------------------------------------------------------------------------------------- */

/* The version of the library that is linked or loaded: major << 16 | minor << 8 | patch. */
HEWN_API uint32_t HEWN_CALL hewn_version(void);

/* Ends and joins the threads of the library's own pool, if it ever started one. Call it before dlclose or FreeLibrary.
 * No execution may be in flight. A later execution starts the pool again. */
HEWN_API void HEWN_CALL hewn_shutdown(void);

#ifdef __cplusplus
}
#endif

#endif /* HEWN_HEWN_H */
