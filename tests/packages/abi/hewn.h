// clang-format off
#ifndef HEWN_HEWN_H
#define HEWN_HEWN_H
#include <stddef.h>
#include <stdint.h>
#define HEWN_VERSION_MAJOR 0
#define HEWN_VERSION_MINOR 2
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
typedef int32_t hewn_status;
enum {
    HEWN_STATUS_OK = 0,
    HEWN_STATUS_INVALID_ARGUMENT = 1,
    HEWN_STATUS_UNSUPPORTED = 2,
    HEWN_STATUS_INVALID_BINDING = 3,
    HEWN_STATUS_NO_VARIANT = 4,
    HEWN_STATUS_OUT_OF_MEMORY = 5,
    HEWN_STATUS_KERNEL_FAILED = 6,
    HEWN_STATUS_NO_DEVICE = 7,
    HEWN_STATUS_DEVICE_FAILED = 8
};
typedef struct hewn_error {
    uint32_t struct_size;
    hewn_status status;
    char message[256];
} hewn_error;
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
#define HEWN_DIMENSION_COUNT_MAX 8
typedef struct hewn_tensor_desc {
    uint32_t struct_size;
    hewn_data_type data_type;
    uint32_t dimension_count;
    const int64_t *sizes;
    const int64_t *strides;
    const int64_t *block_sizes;
} hewn_tensor_desc;
HEWN_API hewn_status HEWN_CALL hewn_tensor_size(const hewn_tensor_desc *tensor, uint64_t *bytes,
                                                hewn_error *error);
typedef struct hewn_add_desc {
    uint32_t struct_size;
    const hewn_tensor_desc *a_tensor;
    const hewn_tensor_desc *b_tensor;
    const hewn_tensor_desc *output_tensor;
} hewn_add_desc;
typedef int32_t hewn_activation;
enum {
    HEWN_ACTIVATION_IDENTITY = 0,
    HEWN_ACTIVATION_LINEAR = 1,
    HEWN_ACTIVATION_RELU = 2,
    HEWN_ACTIVATION_LEAKY_RELU = 3,
    HEWN_ACTIVATION_THRESHOLDED_RELU = 4,
    HEWN_ACTIVATION_HARD_SIGMOID = 5,
    HEWN_ACTIVATION_SOFTSIGN = 6,
    HEWN_ACTIVATION_SHRINK = 7,
    HEWN_ACTIVATION_CLIP = 8,
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
typedef struct hewn_add1_desc {
    uint32_t struct_size;
    const hewn_tensor_desc *a_tensor;
    const hewn_tensor_desc *b_tensor;
    const hewn_tensor_desc *output_tensor;
    hewn_activation activation;
    float alpha;
    float beta;
    float bias;
    float threshold;
    float min;
    float max;
    uint32_t reserved;
} hewn_add1_desc;
typedef int32_t hewn_precision;
enum {
    HEWN_PRECISION_FLOAT32 = 0,
    HEWN_PRECISION_FLOAT16 = 1,
    HEWN_PRECISION_BFLOAT16 = 2
};
typedef int32_t hewn_saturate;
enum {
    HEWN_SATURATE_ON = 0,
    HEWN_SATURATE_OFF = 1
};
typedef struct hewn_quantize_linear_desc {
    uint32_t struct_size;
    const hewn_tensor_desc *input_tensor;
    const hewn_tensor_desc *scale_tensor;
    const hewn_tensor_desc *zero_point_tensor;
    const hewn_tensor_desc *output_tensor;
    hewn_precision precision;
    hewn_saturate saturate;
} hewn_quantize_linear_desc;
typedef struct hewn_dequantize_linear_desc {
    uint32_t struct_size;
    const hewn_tensor_desc *input_tensor;
    const hewn_tensor_desc *scale_tensor;
    const hewn_tensor_desc *zero_point_tensor;
    const hewn_tensor_desc *output_tensor;
} hewn_dequantize_linear_desc;
typedef struct hewn_quantize_desc {
    uint32_t struct_size;
    const hewn_tensor_desc *input_tensor;
    const hewn_tensor_desc *scale_tensor;
    const hewn_tensor_desc *zero_point_tensor;
    const hewn_tensor_desc *output_tensor;
} hewn_quantize_desc;
typedef struct hewn_dequantize_desc {
    uint32_t struct_size;
    const hewn_tensor_desc *input_tensor;
    const hewn_tensor_desc *scale_tensor;
    const hewn_tensor_desc *zero_point_tensor;
    const hewn_tensor_desc *output_tensor;
} hewn_dequantize_desc;
typedef int32_t hewn_quantized_activation;
enum {
    HEWN_QUANTIZED_ACTIVATION_NONE = 0,
    HEWN_QUANTIZED_ACTIVATION_RELU = 1,
    HEWN_QUANTIZED_ACTIVATION_RELU6 = 2,
    HEWN_QUANTIZED_ACTIVATION_RELU_N1_TO_1 = 3
};
typedef struct hewn_quantized_linear_add_desc {
    uint32_t struct_size;
    const hewn_tensor_desc *a_tensor;
    const hewn_tensor_desc *a_scale_tensor;
    const hewn_tensor_desc *a_zero_point_tensor;
    const hewn_tensor_desc *b_tensor;
    const hewn_tensor_desc *b_scale_tensor;
    const hewn_tensor_desc *b_zero_point_tensor;
    const hewn_tensor_desc *output_scale_tensor;
    const hewn_tensor_desc *output_zero_point_tensor;
    const hewn_tensor_desc *output_tensor;
    hewn_quantized_activation activation;
    uint32_t reserved;
} hewn_quantized_linear_add_desc;
typedef struct hewn_quantized_linear_mul_desc {
    uint32_t struct_size;
    const hewn_tensor_desc *a_tensor;
    const hewn_tensor_desc *a_scale_tensor;
    const hewn_tensor_desc *a_zero_point_tensor;
    const hewn_tensor_desc *b_tensor;
    const hewn_tensor_desc *b_scale_tensor;
    const hewn_tensor_desc *b_zero_point_tensor;
    const hewn_tensor_desc *output_scale_tensor;
    const hewn_tensor_desc *output_zero_point_tensor;
    const hewn_tensor_desc *output_tensor;
} hewn_quantized_linear_mul_desc;
typedef struct hewn_requantize_desc {
    uint32_t struct_size;
    const hewn_tensor_desc *input_tensor;
    const hewn_tensor_desc *input_scale_tensor;
    const hewn_tensor_desc *input_zero_point_tensor;
    const hewn_tensor_desc *output_scale_tensor;
    const hewn_tensor_desc *output_zero_point_tensor;
    const hewn_tensor_desc *output_tensor;
} hewn_requantize_desc;
typedef struct hewn_dynamic_quantize_linear_desc {
    uint32_t struct_size;
    const hewn_tensor_desc *input_tensor;
    const hewn_tensor_desc *output_tensor;
    const hewn_tensor_desc *output_scale_tensor;
    const hewn_tensor_desc *output_zero_point_tensor;
} hewn_dynamic_quantize_linear_desc;
typedef int32_t hewn_operator_type;
enum {
    HEWN_OPERATOR_ADD = 1,
    HEWN_OPERATOR_QUANTIZE_LINEAR = 2,
    HEWN_OPERATOR_DEQUANTIZE_LINEAR = 3,
    HEWN_OPERATOR_QUANTIZED_LINEAR_ADD = 4,
    HEWN_OPERATOR_QUANTIZED_LINEAR_MUL = 5,
    HEWN_OPERATOR_DYNAMIC_QUANTIZE_LINEAR = 6,
    HEWN_OPERATOR_QUANTIZE = 7,
    HEWN_OPERATOR_DEQUANTIZE = 8,
    HEWN_OPERATOR_REQUANTIZE = 9,
    HEWN_OPERATOR_ADD1 = 10
};
typedef struct hewn_operator_desc {
    uint32_t struct_size;
    hewn_operator_type type;
    const void *desc;
} hewn_operator_desc;
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
    HEWN_FEATURE_LEVEL_6_4 = 0x6400,
    HEWN_FEATURE_LEVEL_HEWN = 0x10000
};
typedef struct hewn_device hewn_device;
typedef void *(HEWN_CALL *hewn_allocate_fn)(void *context, size_t bytes, size_t alignment);
typedef void(HEWN_CALL *hewn_deallocate_fn)(void *context, void *memory);
typedef struct hewn_cpu_device_desc {
    uint32_t struct_size;
    hewn_allocate_fn allocate;
    hewn_deallocate_fn deallocate;
    void *allocator_context;
} hewn_cpu_device_desc;
HEWN_API hewn_status HEWN_CALL hewn_create_cpu_device(const hewn_cpu_device_desc *desc,
                                                      hewn_device **device, hewn_error *error);
HEWN_API void HEWN_CALL hewn_destroy_device(hewn_device *device);
typedef int32_t hewn_device_kind;
enum {
    HEWN_DEVICE_CPU = 0,
    HEWN_DEVICE_CUDA = 1,
    HEWN_DEVICE_OPENCL = 2,
    HEWN_DEVICE_D3D12 = 3
};
typedef struct hewn_cuda_device_desc {
    uint32_t struct_size;
    void *context;
    void *stream;
    hewn_allocate_fn allocate;
    hewn_deallocate_fn deallocate;
    void *allocator_context;
} hewn_cuda_device_desc;
HEWN_API hewn_status HEWN_CALL hewn_create_cuda_device(const hewn_cuda_device_desc *desc,
                                                       hewn_device **device, hewn_error *error);
typedef struct hewn_opencl_device_desc {
    uint32_t struct_size;
    void *context;
    void *queue;
    hewn_allocate_fn allocate;
    hewn_deallocate_fn deallocate;
    void *allocator_context;
} hewn_opencl_device_desc;
HEWN_API hewn_status HEWN_CALL hewn_create_opencl_device(const hewn_opencl_device_desc *desc,
                                                         hewn_device **device, hewn_error *error);
typedef struct hewn_d3d12_device_desc {
    uint32_t struct_size;
    void *device;
    void *queue;
    hewn_allocate_fn allocate;
    hewn_deallocate_fn deallocate;
    void *allocator_context;
} hewn_d3d12_device_desc;
HEWN_API hewn_status HEWN_CALL hewn_create_d3d12_device(const hewn_d3d12_device_desc *desc,
                                                        hewn_device **device, hewn_error *error);
typedef struct hewn_device_info {
    uint32_t struct_size;
    hewn_device_kind kind;
    uint32_t index;
    char name[128];
    uint64_t memory;
    int32_t capability;
    int32_t is_cpu;
    char missing[64];
} hewn_device_info;
HEWN_API hewn_status HEWN_CALL hewn_get_device(hewn_device_kind kind, uint32_t index,
                                               hewn_device_info *info, hewn_error *error);
#define HEWN_ANY_DEVICE UINT32_MAX
HEWN_API hewn_status HEWN_CALL hewn_open_device(hewn_device_kind kind, uint32_t index,
                                                hewn_device **device, hewn_error *error);
HEWN_API hewn_device_kind HEWN_CALL hewn_kind_of_device(const hewn_device *device);
HEWN_API hewn_status HEWN_CALL hewn_allocate(hewn_device *device, uint64_t bytes, void **memory,
                                             hewn_error *error);
HEWN_API void HEWN_CALL hewn_deallocate(hewn_device *device, void *memory);
HEWN_API hewn_status HEWN_CALL hewn_write(hewn_device *device, void *memory, uint64_t offset,
                                          const void *from, uint64_t bytes, hewn_error *error);
HEWN_API hewn_status HEWN_CALL hewn_read(hewn_device *device, void *memory, uint64_t offset,
                                         void *to, uint64_t bytes, hewn_error *error);
HEWN_API hewn_status HEWN_CALL hewn_synchronize(hewn_device *device, hewn_error *error);
typedef void(HEWN_CALL *hewn_slice_fn)(void *arg, int32_t index);
typedef void(HEWN_CALL *hewn_parallel_for_fn)(void *context, int32_t count, hewn_slice_fn fn,
                                              void *arg);
typedef struct hewn_buffer_binding hewn_buffer_binding;
typedef struct hewn_compile_options {
    uint32_t struct_size;
    hewn_feature_level feature_level;
    const char *variant;
    int32_t max_threads;
    hewn_parallel_for_fn parallel_for;
    void *parallel_for_context;
    const hewn_buffer_binding *constants;
    uint32_t constant_count;
} hewn_compile_options;
typedef struct hewn_operator hewn_operator;
HEWN_API hewn_status HEWN_CALL hewn_compile(hewn_device *device, const hewn_operator_desc *desc,
                                            const hewn_compile_options *options, hewn_operator **op,
                                            hewn_error *error);
HEWN_API void HEWN_CALL hewn_destroy_operator(hewn_operator *op);
HEWN_API const char *HEWN_CALL hewn_operator_variant(const hewn_operator *op);
struct hewn_buffer_binding {
    uint32_t struct_size;
    void *buffer;
    uint64_t offset;
    uint64_t size;
};
#define HEWN_BINDING_OF(data_type) (sizeof(hewn_buffer_binding) | (data_type)*65536u)
typedef struct hewn_execute_options {
    uint32_t struct_size;
    int32_t max_threads;
    hewn_parallel_for_fn parallel_for;
    void *parallel_for_context;
    int32_t output_is_read_next;
} hewn_execute_options;
HEWN_API hewn_status HEWN_CALL hewn_execute(const hewn_operator *op,
                                            const hewn_buffer_binding *inputs, uint32_t input_count,
                                            const hewn_buffer_binding *outputs,
                                            uint32_t output_count,
                                            const hewn_execute_options *options, hewn_error *error);
typedef struct hewn_bound_operator hewn_bound_operator;
HEWN_API hewn_status HEWN_CALL hewn_bind(const hewn_operator *op, const hewn_buffer_binding *inputs,
                                         uint32_t input_count, const hewn_buffer_binding *outputs,
                                         uint32_t output_count, const hewn_execute_options *options,
                                         hewn_bound_operator **bound, hewn_error *error);
HEWN_API hewn_status HEWN_CALL hewn_run(const hewn_bound_operator *bound, hewn_error *error);
HEWN_API void HEWN_CALL hewn_destroy_bound_operator(hewn_bound_operator *bound);
HEWN_API hewn_status HEWN_CALL hewn_d3d12_record(const hewn_operator *op, void *command_list,
                                                 const hewn_buffer_binding *inputs,
                                                 uint32_t input_count,
                                                 const hewn_buffer_binding *outputs,
                                                 uint32_t output_count, hewn_error *error);
typedef struct hewn_operator_info {
    uint32_t struct_size;
    hewn_operator_type type;
    const char *name;
    const char *directml_name;
    const char *onnx_name;
    const char *command;
    const char *formula;
    uint32_t tensor_count;
    int32_t in_place;
    int32_t unsigned_as_signed;
    uint32_t min_dimension_count;
    uint32_t max_dimension_count;
} hewn_operator_info;
typedef int32_t hewn_tensor_role;
enum {
    HEWN_TENSOR_ROLE_DATA = 0,
    HEWN_TENSOR_ROLE_SCALE = 1,
    HEWN_TENSOR_ROLE_ZERO_POINT = 2,
    HEWN_TENSOR_ROLE_OUTPUT = 3
};
typedef struct hewn_operator_tensor_info {
    uint32_t struct_size;
    const char *name;
    hewn_tensor_role role;
    int32_t optional;
    int32_t one_element;
    int32_t in_signature;
    int32_t like;
    hewn_data_type like_integers;
    uint32_t types;
} hewn_operator_tensor_info;
HEWN_API uint32_t HEWN_CALL hewn_operator_count(void);
HEWN_API hewn_status HEWN_CALL hewn_get_operator(uint32_t index, hewn_feature_level level,
                                                 hewn_operator_info *info);
HEWN_API hewn_status HEWN_CALL hewn_get_operator_tensor(uint32_t index, uint32_t tensor,
                                                        hewn_feature_level level,
                                                        hewn_operator_tensor_info *info);
typedef struct hewn_operator_attribute_info {
    uint32_t struct_size;
    const char *name;
    const char *const *values;
    uint32_t value_count;
    int32_t allowed;
    uint32_t known_count;
    uint32_t of;
} hewn_operator_attribute_info;
HEWN_API hewn_status HEWN_CALL hewn_get_operator_attribute(uint32_t index, uint32_t attribute,
                                                           hewn_feature_level level,
                                                           hewn_operator_attribute_info *info);
typedef struct hewn_target_info {
    uint32_t struct_size;
    const char *name;
    const char *halide_target;
    int32_t priority;
    int32_t supported;
    const char *missing;
    hewn_device_kind device;
} hewn_target_info;
HEWN_API uint32_t HEWN_CALL hewn_target_count(void);
HEWN_API hewn_status HEWN_CALL hewn_get_target(uint32_t index, hewn_target_info *info);
typedef struct hewn_variant_info {
    uint32_t struct_size;
    const char *name;
    const char *operator_name;
    const char *signature;
    const char *target;
    int32_t supported;
    int32_t picked;
    hewn_device_kind device;
} hewn_variant_info;
HEWN_API uint32_t HEWN_CALL hewn_variant_count(void);
HEWN_API hewn_status HEWN_CALL hewn_get_variant(uint32_t index, hewn_variant_info *info);
HEWN_API uint32_t HEWN_CALL hewn_version(void);
HEWN_API void HEWN_CALL hewn_shutdown(void);
#ifdef __cplusplus
}
#endif
#endif
