// hewn for C++17: a header-only layer over hewn.h, whose objects own their handles, and whose
// functions throw hewn::Error where they fail. This program adds two vectors on the CPU:
//
//     #include <hewn/hewn.hpp>
//
//     #include <cstdio>
//     #include <vector>
//
//     int main() {
//         const hewn::TensorDesc f32 = {hewn::DataType::FLOAT32, {4}};
//         const hewn::Operator add = hewn::compile(hewn::AddDesc{f32, f32, f32});
//
//         const std::vector<float> a = {1, 2, 3, 4};
//         const std::vector<float> b = {10, 20, 30, 40};
//         std::vector<float> sum(4);
//         add.execute({a, b}, {sum});  // as often as wanted
//         for (const float element : sum) std::printf("%g\n", element);  // 11 22 33 44
//     }
//
// To force a variant, limit the threads, or compute on a GPU, give compile() options and a device.
// Its comment, near the end of this file, has an example of each.
//
// Names are those of hewn.h, which documents shapes, units, errors and formulas; the comments here
// say what C++ adds. <hewn/operators.hpp>, which this header includes, has the description of each
// operator. These rules hold for the whole header:
// - Owners. Device, DeviceMemory, Operator and BoundOperator own what they stand for and destroy
//   it. They can be moved but not copied. An object that was moved from owns nothing, and its get()
//   returns nullptr; do nothing else with it than destroy it or assign to it. Descriptions, options
//   and bindings are values that can be copied.
// - Lifetimes. When compile() has returned, the Operator needs neither its description nor its
//   Device object. A BoundOperator needs its Operator, and a DeviceMemory needs its Device; these
//   may be moved, but not destroyed before. No object owns what the program gives by a pointer: the
//   memory that is bound, functions with their contexts (memory hooks, parallel_for, executor), and
//   the context and stream of a CUDA device. All of these must exist as long as they are used.
// - Threads. Any number of threads may call const member functions of one object at once, if each
//   execution has outputs of its own. So two threads must not call run() of one BoundOperator at
//   once: both would write the same outputs. Moving or destroying an object must not overlap its
//   use.
// - Without exceptions (-fno-exceptions), a function that fails calls hewn::failure_handler. A
//   program may have both kinds of files, compiled with exceptions and without them. A type of this
//   header, such as hewn::Operator, is then not the same type in both kinds of files. To pass an
//   object from one kind to the other, pass its C handle, which get() returns.
// - For an older C++, there is hewn.h.
#ifndef HEWN_HEWN_HPP
#define HEWN_HEWN_HPP

#if __cplusplus < 201703L && (!defined(_MSVC_LANG) || _MSVC_LANG < 201703L)
#error "hewn.hpp needs C++17; hewn.h is for C and any C++"
#endif

#include <hewn/hewn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace hewn {
#if !defined(__cpp_exceptions) && !defined(__EXCEPTIONS) && !defined(_CPPUNWIND)
#define HEWN_NO_EXCEPTIONS
// A program may also have files that are compiled with exceptions. Of two functions with one name
// the linker would keep only one, so this namespace gives the functions of this file other names.
inline namespace no_exceptions {
#endif

// What every call that fails throws; without exceptions, what failure_handler gets. what() is the
// message. If a tensor or its memory was refused, the message names the tensor and the rule that it
// breaks. (Only one other exception can leave hewn's functions: std::bad_alloc, if this header's
// own vectors and strings get no memory. That does not call failure_handler.)
class Error : public std::runtime_error {
public:
    // Takes the status and the message of a call that failed.
    explicit Error(const hewn_error &error)
        : std::runtime_error(error.message), status_(error.status) {}
    // The HEWN_STATUS_ value that the call returned.
    hewn_status status() const noexcept { return status_; }

private:
    hewn_status status_;
};

#ifdef HEWN_NO_EXCEPTIONS
// Every function that fails calls this handler. The handler that is set here writes the message to
// stderr. If a handler returns, the program aborts. A program may set a handler of its own, which
// may also not return: it may call exit, or leave the function that failed by longjmp. Set it
// before the first call of hewn, because no lock protects this variable.
inline void (*failure_handler)(const Error &error) = [](const Error &error) {
    std::fprintf(stderr, "hewn: %s\n", error.what());
};
#endif

namespace detail {
[[noreturn]] inline void fail(const hewn_error &error) {
#ifdef HEWN_NO_EXCEPTIONS
    failure_handler(Error(error));
    std::abort();
#else
    throw Error(error);
#endif
}

// Calls `function(&error)`, which returns a status, and fails if that is not HEWN_STATUS_OK.
template<class Function>
void check(Function &&function) {
    hewn_error error;  // no initializer: clearing the message would cost more than a small call
    error.struct_size = sizeof(error);
    error.status = HEWN_STATUS_OK;
    error.message[0] = 0;
    if (function(&error) != HEWN_STATUS_OK) fail(error);
}
}  // namespace detail

// The type of a tensor's elements: hewn_data_type. No operator takes FLOAT64; operators.md lists
// the types that each operator takes.
enum class DataType : hewn_data_type {
    FLOAT32 = HEWN_DATA_TYPE_FLOAT32,
    FLOAT16 = HEWN_DATA_TYPE_FLOAT16,
    UINT32 = HEWN_DATA_TYPE_UINT32,
    UINT16 = HEWN_DATA_TYPE_UINT16,
    UINT8 = HEWN_DATA_TYPE_UINT8,
    INT32 = HEWN_DATA_TYPE_INT32,
    INT16 = HEWN_DATA_TYPE_INT16,
    INT8 = HEWN_DATA_TYPE_INT8,
    FLOAT64 = HEWN_DATA_TYPE_FLOAT64,
    UINT64 = HEWN_DATA_TYPE_UINT64,
    INT64 = HEWN_DATA_TYPE_INT64,
    UINT4 = HEWN_DATA_TYPE_UINT4,
    INT4 = HEWN_DATA_TYPE_INT4,
    FLOAT4E2M1 = HEWN_DATA_TYPE_FLOAT4E2M1,
    FLOAT6E3M2 = HEWN_DATA_TYPE_FLOAT6E3M2,
    FLOAT6E2M3 = HEWN_DATA_TYPE_FLOAT6E2M3,
    FLOAT8E8M0 = HEWN_DATA_TYPE_FLOAT8E8M0,
    FLOAT8E5M2FNUZ = HEWN_DATA_TYPE_FLOAT8E5M2FNUZ,
    FLOAT8E5M2 = HEWN_DATA_TYPE_FLOAT8E5M2,
    FLOAT8E4M3FNUZ = HEWN_DATA_TYPE_FLOAT8E4M3FNUZ,
    FLOAT8E4M3FN = HEWN_DATA_TYPE_FLOAT8E4M3FN,
    BFLOAT16 = HEWN_DATA_TYPE_BFLOAT16,
    UINT2 = HEWN_DATA_TYPE_UINT2,
    INT2 = HEWN_DATA_TYPE_INT2,
};

// The activation of ADD1: hewn_activation.
enum class Activation : hewn_activation {
    IDENTITY = HEWN_ACTIVATION_IDENTITY,
    LINEAR = HEWN_ACTIVATION_LINEAR,
    RELU = HEWN_ACTIVATION_RELU,
    LEAKY_RELU = HEWN_ACTIVATION_LEAKY_RELU,
    THRESHOLDED_RELU = HEWN_ACTIVATION_THRESHOLDED_RELU,
    HARD_SIGMOID = HEWN_ACTIVATION_HARD_SIGMOID,
    SOFTSIGN = HEWN_ACTIVATION_SOFTSIGN,
    SHRINK = HEWN_ACTIVATION_SHRINK,
    CLIP = HEWN_ACTIVATION_CLIP,
};

// How DYNAMIC_QUANTIZE chooses scales: hewn_quantization_mode.
enum class QuantizationMode : hewn_quantization_mode {
    ASYMMETRIC = HEWN_QUANTIZATION_MODE_ASYMMETRIC,
    SYMMETRIC = HEWN_QUANTIZATION_MODE_SYMMETRIC,
    FULL = HEWN_QUANTIZATION_MODE_FULL
};

// How MX_QUANTIZE chooses scales: hewn_mx_scale_mode.
enum class MxScaleMode : hewn_mx_scale_mode {
    FLOOR = HEWN_MX_SCALE_MODE_FLOOR,
    CEIL = HEWN_MX_SCALE_MODE_CEIL,
    EVEN = HEWN_MX_SCALE_MODE_EVEN
};

// The activation of QUANTIZED_LINEAR_ADD: hewn_quantized_activation.
enum class QuantizedActivation : hewn_quantized_activation {
    NONE = HEWN_QUANTIZED_ACTIVATION_NONE,
    RELU = HEWN_QUANTIZED_ACTIVATION_RELU,
    RELU6 = HEWN_QUANTIZED_ACTIVATION_RELU6,
    RELU_N1_TO_1 = HEWN_QUANTIZED_ACTIVATION_RELU_N1_TO_1,
};

// What QUANTIZE_LINEAR rounds x, the scale and their quotient to: hewn_precision.
enum class Precision : hewn_precision {
    FLOAT32 = HEWN_PRECISION_FLOAT32,
    FLOAT16 = HEWN_PRECISION_FLOAT16,
    BFLOAT16 = HEWN_PRECISION_BFLOAT16,
};

// Whether QUANTIZE_LINEAR to a float of 8 bits saturates: hewn_saturate.
enum class Saturate : hewn_saturate {
    ON = HEWN_SATURATE_ON,
    OFF = HEWN_SATURATE_OFF,
};

// Which operators, types, numbers of dimensions and options are allowed: hewn_feature_level.
// LEVEL_1_0 to LEVEL_6_4 are DirectML's feature levels: choose one if hewn should refuse what a
// DirectML of that level refuses. LEVEL_HEWN allows everything. NEWEST is the newest level of the
// build, which is LEVEL_HEWN unless the build has a lower CMake option HEWN_FEATURE_LEVEL.
enum class FeatureLevel : hewn_feature_level {
    NEWEST = HEWN_FEATURE_LEVEL_NEWEST,
    LEVEL_1_0 = HEWN_FEATURE_LEVEL_1_0,
    LEVEL_2_0 = HEWN_FEATURE_LEVEL_2_0,
    LEVEL_2_1 = HEWN_FEATURE_LEVEL_2_1,
    LEVEL_3_0 = HEWN_FEATURE_LEVEL_3_0,
    LEVEL_3_1 = HEWN_FEATURE_LEVEL_3_1,
    LEVEL_4_0 = HEWN_FEATURE_LEVEL_4_0,
    LEVEL_4_1 = HEWN_FEATURE_LEVEL_4_1,
    LEVEL_5_0 = HEWN_FEATURE_LEVEL_5_0,
    LEVEL_5_1 = HEWN_FEATURE_LEVEL_5_1,
    LEVEL_5_2 = HEWN_FEATURE_LEVEL_5_2,
    LEVEL_6_0 = HEWN_FEATURE_LEVEL_6_0,
    LEVEL_6_1 = HEWN_FEATURE_LEVEL_6_1,
    LEVEL_6_2 = HEWN_FEATURE_LEVEL_6_2,
    LEVEL_6_3 = HEWN_FEATURE_LEVEL_6_3,
    LEVEL_6_4 = HEWN_FEATURE_LEVEL_6_4,
    LEVEL_HEWN = HEWN_FEATURE_LEVEL_HEWN,
};

// A tensor's type and layout: hewn_tensor_desc, with the arrays that it points to. Dimensions go
// from the outermost to the innermost.
struct TensorDesc {
    // The type of the elements.
    DataType data_type = DataType::FLOAT32;
    // The number of elements along each dimension, each >= 0. A scale or zero point usually has the
    // sizes of the operator's first tensor, also if its elements repeat or belong to blocks.
    std::vector<int64_t> sizes;
    // The distance in elements from one index to the next in each dimension, each >= 0. A stride of
    // 0 repeats an input's elements (broadcast). std::nullopt: the tensor is contiguous.
    std::optional<std::vector<int64_t>> strides = std::nullopt;
    // Only for a scale or zero point: the size of a block in each dimension, each >= 1. The
    // elements of a block in the operator's first tensor share one element of the scale.
    // std::nullopt: all are 1.
    std::optional<std::vector<int64_t>> block_sizes = std::nullopt;

    // An input of these sizes that repeats one element, such as one scale for a whole tensor: all
    // strides are 0.
    static TensorDesc broadcast_scalar(DataType data_type, std::vector<int64_t> sizes) {
        std::vector<int64_t> zeros(sizes.size(), 0);
        return {data_type, std::move(sizes), std::move(zeros)};
    }
    // A contiguous scale or zero point for a tensor of these sizes, with one element for each
    // block. In dimension d, its memory has ceil(sizes[d] / block_sizes[d]) elements.
    static TensorDesc in_blocks(DataType data_type, std::vector<int64_t> sizes,
                                std::vector<int64_t> block_sizes) {
        return {data_type, std::move(sizes), std::nullopt, std::move(block_sizes)};
    }

    // The description for hewn.h. It points into this object, and is valid as long as this lives
    // and does not change. Throws Error if strides or block_sizes are not as many as sizes.
    hewn_tensor_desc c_desc() const {
        if (strides && strides->size() != sizes.size()) {
            detail::fail({sizeof(hewn_error), HEWN_STATUS_INVALID_ARGUMENT,
                          "TensorDesc: strides and sizes differ in length; each dimension has a "
                          "stride, 0 where an input repeats"});
        }
        if (block_sizes && block_sizes->size() != sizes.size()) {
            detail::fail({sizeof(hewn_error), HEWN_STATUS_INVALID_ARGUMENT,
                          "TensorDesc: block_sizes and sizes differ in length; each dimension has "
                          "one, 1 where there are no blocks"});
        }
        return {sizeof(hewn_tensor_desc),
                static_cast<hewn_data_type>(data_type),
                static_cast<uint32_t>(sizes.size()),
                sizes.data(),
                strides ? strides->data() : nullptr,
                block_sizes ? block_sizes->data() : nullptr};
    }

    // The number of bytes that a binding needs at least: hewn_tensor_size.
    uint64_t size_in_bytes() const {
        uint64_t bytes = 0;
        const hewn_tensor_desc desc = c_desc();
        detail::check([&](hewn_error *error) { return hewn_tensor_size(&desc, &bytes, error); });
        return bytes;
    }
};

// The description of a tensor that may be absent, such as a zero point. It is made from
// std::nullopt, a TensorDesc, an optional one, or a TensorDesc's members in braces.
struct OptionalTensorDesc : std::optional<TensorDesc> {
    // The tensor is absent.
    OptionalTensorDesc(std::nullopt_t = std::nullopt) {}
    // The tensor has this description.
    OptionalTensorDesc(TensorDesc desc) : optional(std::move(desc)) {}
    // The tensor is absent if the optional is empty.
    OptionalTensorDesc(std::optional<TensorDesc> desc) : optional(std::move(desc)) {}
    // The tensor has a description with these members.
    OptionalTensorDesc(DataType data_type, std::vector<int64_t> sizes,
                       std::optional<std::vector<int64_t>> strides = std::nullopt,
                       std::optional<std::vector<int64_t>> block_sizes = std::nullopt)
        : optional(TensorDesc{data_type, std::move(sizes), std::move(strides),
                              std::move(block_sizes)}) {}
};

// Options of one execution, for example execute({a, b}, {sum}, &options): hewn_execute_options. GPU
// devices ignore them.
struct ExecuteOptions : hewn_execute_options {
    // - threads: the most threads to use. 0: the max_threads of CompileOptions.
    // - executor: a function of the program's that runs the slices, which are the parts of the
    //   execution that may run in parallel; hewn_parallel_for_fn says what it must do. It gets
    //   executor_context, and is used until the call returns. nullptr: the parallel_for of
    //   CompileOptions.
    // - read_next: the output is read soon, so it is left in the caches.
    explicit ExecuteOptions(int32_t threads = 0, hewn_parallel_for_fn executor = nullptr,
                            void *executor_context = nullptr, bool read_next = false)
        : hewn_execute_options{sizeof(hewn_execute_options), threads, executor, executor_context,
                               read_next} {}
};

namespace detail {
template<class T, class = void>
constexpr bool has_data = false;
template<class T>
constexpr bool has_data<T, std::void_t<decltype(std::data(std::declval<T &>()))>> = true;
template<class T, class = void>
constexpr bool has_begin = false;
template<class T>
constexpr bool has_begin<T, std::void_t<decltype(std::begin(std::declval<T &>()))>> = true;
template<class T, class = void>
constexpr bool has_value_type = false;
template<class T>
constexpr bool has_value_type<T, std::void_t<typename T::value_type>> = true;
template<class T>
constexpr bool is_std_array = false;
template<class T, size_t N>
constexpr bool is_std_array<std::array<T, N>> = true;
// Integers, float, double, and types such as _Float16, for which std::is_floating_point is false
// before C++23.
template<class T>
constexpr bool is_number = std::is_convertible_v<T, float> && !std::is_class_v<T> &&
                           !std::is_enum_v<T> && !std::is_same_v<T, bool>;

// What memory with elements of type T holds: a data type; HEWN_DATA_TYPE_UNKNOWN for bytes and
// structs, which may hold any type; or the reason why no tensor can be bound to it. NO_DATA_TYPE:
// no operator takes such numbers. NO_NUMBERS: the numbers are elsewhere, because an element is a
// pointer, a binding, a view or a container. NO_MEMORY: it is no memory at all.
constexpr hewn_data_type NO_DATA_TYPE = -1, NO_NUMBERS = -2, NO_MEMORY = -3;
template<class Const>
constexpr hewn_data_type type_of() {
    using T = std::remove_cv_t<Const>;
    if constexpr (std::is_array_v<T>) return type_of<std::remove_extent_t<T>>();
    else if constexpr (is_std_array<T>) return type_of<typename T::value_type>();
    else if constexpr (!std::is_trivially_copyable_v<T> || std::is_pointer_v<T> || has_data<T>)
        return NO_NUMBERS;
    else if constexpr (std::is_base_of_v<hewn_buffer_binding, T>) return NO_NUMBERS;
    else if constexpr (std::is_constructible_v<T, std::nullopt_t>)
        return HEWN_DATA_TYPE_UNKNOWN;  // for example std::optional
    else if constexpr (has_value_type<T>) return type_of<typename T::value_type>();  // std::complex
    else if constexpr (!is_number<T> || std::is_same_v<T, char>) return HEWN_DATA_TYPE_UNKNOWN;
    else if constexpr (std::is_integral_v<T>) {
        switch (sizeof(T)) {
        case 1: return std::is_signed_v<T> ? HEWN_DATA_TYPE_INT8 : HEWN_DATA_TYPE_UINT8;
        case 2: return std::is_signed_v<T> ? HEWN_DATA_TYPE_INT16 : HEWN_DATA_TYPE_UINT16;
        case 4: return std::is_signed_v<T> ? HEWN_DATA_TYPE_INT32 : HEWN_DATA_TYPE_UINT32;
        case 8: return std::is_signed_v<T> ? HEWN_DATA_TYPE_INT64 : HEWN_DATA_TYPE_UINT64;
        default: return NO_DATA_TYPE;
        }
    } else if constexpr (sizeof(T) == 4) return HEWN_DATA_TYPE_FLOAT32;
    else if constexpr (sizeof(T) == 2) {
        // 1 + 2^-10: FLOAT16 has 10 bits after the point, BFLOAT16 only 7.
        constexpr float bit_10 = 1.0009765625f;
        return static_cast<float>(static_cast<T>(bit_10)) == bit_10 ? HEWN_DATA_TYPE_FLOAT16
                                                                    : HEWN_DATA_TYPE_BFLOAT16;
    } else return NO_DATA_TYPE;
}

// Memory<X>::Element is the type of the elements of an X, which is a container, a C array or a
// number; const if they can only be read, void if X is none of these.
template<class X, class = void>
struct Memory {
    using Element = std::conditional_t<is_number<std::remove_cv_t<X>>, X, void>;
};
template<class X>
struct Memory<X, std::void_t<decltype(std::data(std::declval<X &>())),
                             decltype(std::size(std::declval<X &>()))>> {
    using Element = std::remove_pointer_t<decltype(std::data(std::declval<X &>()))>;
};
template<class X>
constexpr hewn_data_type held_by() {
    using Element = typename Memory<X>::Element;
    if constexpr (!std::is_void_v<Element>) return type_of<Element>();
    else return std::is_pointer_v<X> || has_begin<X> ? NO_NUMBERS : NO_MEMORY;
}
template<class X>
hewn_buffer_binding bind(X &x) {
    const auto binding = [](const void *memory, size_t bytes) -> hewn_buffer_binding {
        return {HEWN_BINDING_OF(held_by<X>()), const_cast<void *>(memory), 0, bytes};
    };
    if constexpr (has_data<X>)
        return binding(std::data(x), std::size(x) * sizeof(typename Memory<X>::Element));
    else return binding(&x, sizeof(x));
}

// A function takes an output by a parameter X &&. Output<X> is the type of its argument, with a
// const added if the argument is a temporary. So a temporary is refused as const memory is, because
// what is written to it would be lost. A temporary std::span is not refused, because a const span
// still refers to memory that is not const.
template<class X>
using Output = std::conditional_t<std::is_reference_v<X>, std::remove_reference_t<X>, const X>;
template<class X>
constexpr bool is_const_memory = std::is_const_v<typename Memory<X>::Element>;
}  // namespace detail

// The memory of one tensor that may be written, so for an output or an input. It stays the
// program's, and must stay until the execution has ended. A Binding is made from one of these:
// - A container with data() (std::vector, std::array, std::span), a C array or a number. The type
//   of its elements must be the description's, or the execution is refused. std::uint16_t also
//   serves FLOAT16 and BFLOAT16, and std::uint8_t the floats of 8 bits. A std::complex<float> is
//   two FLOAT32 elements. char, std::byte, bool, enumerations and structs are bytes, which serve
//   any type, so sub-byte tensors are bound as one of these.
// - A pointer and a number of bytes, {pointer, bytes}, which serve any type. On a GPU it is what
//   hewn_buffer_binding::buffer takes.
struct Binding : hewn_buffer_binding {
    // An optional output that is absent.
    Binding(std::nullptr_t) : Binding(nullptr, 0) {}
    // The tensor begins byte_offset bytes after `memory`, and may use `bytes` bytes from there on.
    // So `bytes` does not count the offset.
    Binding(void *memory, uint64_t bytes, uint64_t byte_offset = 0)
        : hewn_buffer_binding{sizeof(hewn_buffer_binding), memory, byte_offset, bytes} {}
    // All of a container's elements, of a C array or of a number.
    template<class X, class As = detail::Output<X>,
             std::enable_if_t<detail::held_by<As>() >= 0 && !detail::is_const_memory<As>, int> = 0>
    Binding(X &&memory) : hewn_buffer_binding(detail::bind(memory)) {}

    // Arguments that cannot be outputs. The compiler shows the line with the reason. For all
    // numbers that have no data type, such as long double, it shows the line about double.
    template<class X, class As = detail::Output<X>,
             std::enable_if_t<detail::held_by<As>() >= 0 && detail::is_const_memory<As>, int> = 0>
    Binding(X &&) = delete;  // an output is written: it is neither const nor a temporary
    template<class X, std::enable_if_t<detail::held_by<detail::Output<X>>() == detail::NO_DATA_TYPE,
                                       int> = 0>
    Binding(X &&) = delete;  // no operator takes double: convert to float
    template<class X,
             std::enable_if_t<detail::held_by<detail::Output<X>>() == detail::NO_NUMBERS, int> = 0>
    Binding(X &&) = delete;  // expected: a container with data(), a C array, {pointer, bytes}
};

// The memory of an input, which is only read. It is made as a Binding is, also from const memory
// and from temporaries. nullptr stands for an optional tensor that is absent, and for a constant. A
// temporary, such as the number in execute({x, 0.5f, nullptr}, {y}), lives until that statement
// ends: long enough for an execution on the CPU, but not for Operator::bind or CompileOptions that
// are kept.
struct InputBinding : hewn_buffer_binding {
    // An optional tensor that is absent, or a constant.
    InputBinding(std::nullptr_t)
        : hewn_buffer_binding{sizeof(hewn_buffer_binding), nullptr, 0, 0} {}
    // As Binding's constructor with these parameters.
    InputBinding(const void *memory, uint64_t bytes, uint64_t byte_offset = 0)
        : hewn_buffer_binding{sizeof(hewn_buffer_binding), const_cast<void *>(memory), byte_offset,
                              bytes} {}
    // The memory of this Binding.
    InputBinding(const Binding &binding) : hewn_buffer_binding(binding) {}
    // All of a container's elements, of a C array or of a number.
    template<class X, std::enable_if_t<detail::held_by<const X>() >= 0, int> = 0>
    InputBinding(const X &memory) : hewn_buffer_binding(detail::bind(memory)) {}

    // Arguments that cannot be inputs. The compiler shows the line with the reason, which is
    // therefore on the same line as the function's name.
    template<class X, std::enable_if_t<detail::held_by<const X>() == detail::NO_DATA_TYPE, int> = 0>
    InputBinding(const X &) = delete;  // no operator takes double: convert to float
    template<class X, std::enable_if_t<detail::held_by<const X>() == detail::NO_NUMBERS, int> = 0>
    // clang-format off
    InputBinding(const X &) = delete;  // expected: a container with data(), a C array, {pointer, bytes}
    // clang-format on
};

// Options of compile(): hewn_compile_options. GPU devices ignore max_threads, parallel_for and
// parallel_for_context.
struct CompileOptions {
    // The feature level whose types, numbers of dimensions and options are allowed.
    FeatureLevel feature_level = FeatureLevel::NEWEST;
    // Forces a variant: code for certain types and a certain target, which is a set of CPU features
    // or a kind of GPU. It is the name of a variant ("add_f32__x86_64_avx2"), or only that of the
    // target ("x86_64_avx2"). Empty: the environment variable HEWN_VARIANT forces one in the same
    // way. If it is not set, hewn picks the variant that is the fastest here.
    std::string variant = {};
    // The most threads of an execution. 1: only the calling one; 0: as many as help.
    int32_t max_threads = 0;
    // A function of the program's that runs the slices, which are the parts of an execution that
    // may run in parallel; hewn_parallel_for_fn says what it must do. It must outlive the operator.
    // nullptr: the library's own threads.
    hewn_parallel_for_fn parallel_for = nullptr;
    // Passed to parallel_for. Must outlive the operator.
    void *parallel_for_context = nullptr;
    // Inputs that never change, usually scales and zero points: one for each input, in order, and
    // nullptr for an input that is no constant, for example {nullptr, scale, nullptr}. They are in
    // host memory and are copied by compile(). Executions then take nullptr for them.
    std::vector<InputBinding> constants = {};
};

// The kind of a device: hewn_device_kind.
enum class DeviceKind : hewn_device_kind {
    CPU = HEWN_DEVICE_CPU,
    CUDA = HEWN_DEVICE_CUDA,
    OPENCL = HEWN_DEVICE_OPENCL,
    D3D12 = HEWN_DEVICE_D3D12
};

class Device;
namespace detail {
inline hewn_device *handle_of(const Device &device);
}

// The device that operators are compiled for and run on. A program that stays on the CPU needs no
// Device, except to set memory hooks: functions of its own that allocate and free memory for hewn.
// All constructors and functions that make a Device throw Error.
class Device {
public:
    // A CPU device with the memory hooks of the description, by default with none.
    explicit Device(hewn_cpu_device_desc desc = {sizeof(hewn_cpu_device_desc), nullptr, nullptr,
                                                 nullptr})
        : Device([&](hewn_device **device, hewn_error *error) {
              return hewn_create_cpu_device(&desc, device, error);
          }) {}
    // A CUDA device on the program's CUcontext (nullptr: the calling thread's current one) and a
    // CUstream of it (nullptr: the default stream). Both must outlive the device and its operators.
    static Device cuda(void *context, void *stream) {
        const hewn_cuda_device_desc desc = {
            sizeof(hewn_cuda_device_desc), context, stream, nullptr, nullptr, nullptr};
        return Device([&](hewn_device **device, hewn_error *error) {
            return hewn_create_cuda_device(&desc, device, error);
        });
    }
    // An OpenCL device on the program's cl_context and an in-order cl_command_queue of that
    // context. The device retains both.
    static Device opencl(void *context, void *queue) {
        const hewn_opencl_device_desc desc = {
            sizeof(hewn_opencl_device_desc), context, queue, nullptr, nullptr, nullptr};
        return Device([&](hewn_device **device, hewn_error *error) {
            return hewn_create_opencl_device(&desc, device, error);
        });
    }
    // A Direct3D 12 device on the program's ID3D12Device. `queue` is the ID3D12CommandQueue to
    // which executions and DeviceMemory submit their work; Operator::record does not use it.
    // nullptr: hewn makes a queue. The device retains both.
    static Device d3d12(void *device, void *queue = nullptr) {
        const hewn_d3d12_device_desc desc = {
            sizeof(hewn_d3d12_device_desc), device, queue, nullptr, nullptr, nullptr};
        return Device([&](hewn_device **result, hewn_error *error) {
            return hewn_create_d3d12_device(&desc, result, error);
        });
    }
    // Opens device number `index` of a kind, for programs without a context and a queue of their
    // own: hewn_open_device. By default it is the first that can run hewn's kernels. On CUDA it has
    // the GPU's primary context, which the CUDA runtime uses as well, and the default stream.
    static Device open(DeviceKind kind, uint32_t index = HEWN_ANY_DEVICE) {
        return Device([&](hewn_device **device, hewn_error *error) {
            return hewn_open_device(static_cast<hewn_device_kind>(kind), index, device, error);
        });
    }

    // The handle for hewn.h; nullptr after a move. The Device keeps owning it.
    hewn_device *get() const noexcept { return handle_.get(); }
    // The kind of the device.
    DeviceKind kind() const noexcept { return static_cast<DeviceKind>(hewn_kind_of_device(get())); }
    // Waits for all that was enqueued on the device: hewn_synchronize. Throws Error, also for work
    // that failed.
    void synchronize() const {
        detail::check(
            [&](hewn_error *error) { return hewn_synchronize(detail::handle_of(*this), error); });
    }

private:
    template<class Create, class = decltype(std::declval<Create>()(nullptr, nullptr))>
    explicit Device(Create &&create) {
        hewn_device *device = nullptr;
        detail::check([&](hewn_error *error) { return create(&device, error); });
        handle_.reset(device);
    }
    struct Destroy {
        void operator()(hewn_device *device) const noexcept { hewn_destroy_device(device); }
    };
    std::unique_ptr<hewn_device, Destroy> handle_;
};

namespace detail {
// Fails if the Device was moved from. Its handle is null, which hewn.h would take for the CPU.
inline hewn_device *handle_of(const Device &device) {
    if (!device.get())
        fail({sizeof(hewn_error), HEWN_STATUS_INVALID_ARGUMENT, "device: was moved from"});
    return device.get();
}
}  // namespace detail

// Memory on a device, for programs that do not allocate their own. The Device must outlive it, but
// may be moved. compile() has an example.
class DeviceMemory {
public:
    // Allocates `bytes` bytes, whose contents are not set: hewn_allocate. Throws Error.
    DeviceMemory(const Device &device, uint64_t bytes)
        : memory_(nullptr, Free{device.get()}), bytes_(bytes) {
        void *memory = nullptr;
        detail::check([&](hewn_error *error) {
            return hewn_allocate(detail::handle_of(device), bytes, &memory, error);
        });
        memory_.reset(memory);
    }
    // Copies `bytes` bytes to byte `offset` of this memory, after all that was enqueued before, and
    // waits for the copy: hewn_write. Throws Error.
    void write(const void *from, uint64_t bytes, uint64_t offset = 0) {
        detail::check([&](hewn_error *error) {
            return hewn_write(memory_.get_deleter().device, get(), offset, from, bytes, error);
        });
    }
    // Copies `bytes` bytes from byte `offset` of this memory, after all that was enqueued before,
    // and waits for the copy: hewn_read. Throws Error.
    void read(void *to, uint64_t bytes, uint64_t offset = 0) const {
        detail::check([&](hewn_error *error) {
            return hewn_read(memory_.get_deleter().device, get(), offset, to, bytes, error);
        });
    }
    // What hewn_buffer_binding::buffer takes: a pointer, CUdeviceptr, cl_mem or ID3D12Resource *.
    void *get() const noexcept { return memory_.get(); }
    // All of this memory, to be bound.
    Binding binding() const { return Binding(get(), bytes_); }

private:
    struct Free {
        hewn_device *device;
        void operator()(void *memory) const noexcept { hewn_deallocate(device, memory); }
    };
    std::unique_ptr<void, Free> memory_;
    uint64_t bytes_;
};

// Lists the machine's devices of a kind, for Device::open: hewn_get_device. It is empty if there is
// no driver.
inline std::vector<hewn_device_info> devices(DeviceKind kind) {
    std::vector<hewn_device_info> infos;
    hewn_device_info info{};
    info.struct_size = sizeof(info);
    while (hewn_get_device(static_cast<hewn_device_kind>(kind), static_cast<uint32_t>(infos.size()),
                           &info, nullptr) == HEWN_STATUS_OK)
        infos.push_back(info);
    return infos;
}

// An operator with its bindings, which are checked only once. Operator::bind makes it. The
// Operator, which may be moved, the bound memory and the executor of the options must outlive it.
class BoundOperator {
public:
    // Takes the ownership of a handle of hewn_bind.
    explicit BoundOperator(hewn_bound_operator *bound) : handle_(bound) {}

    // Executes the operator on its bindings: hewn_run. Any thread may call it, but two runs at once
    // would write the same outputs. Throws Error.
    void run() const {
        detail::check([&](hewn_error *error) { return hewn_run(get(), error); });
    }
    // The handle for hewn.h; nullptr after a move. The BoundOperator keeps owning it.
    hewn_bound_operator *get() const noexcept { return handle_.get(); }

private:
    struct Destroy {
        void operator()(hewn_bound_operator *bound) const noexcept {
            hewn_destroy_bound_operator(bound);
        }
    };
    std::unique_ptr<hewn_bound_operator, Destroy> handle_;
};

// A compiled operator; compile() makes it. Any number of threads may call its functions at once, if
// each execution has outputs of its own.
class Operator {
public:
    // Takes the ownership of a handle of hewn_compile.
    explicit Operator(hewn_operator *op) : handle_(op) {}

    // Executes the operator: hewn_execute. Inputs and outputs have the order of the description's
    // members. nullptr is the input for an optional tensor that is absent and for a constant.
    // Returns when the outputs are written, and on a GPU when the work is enqueued: then the memory
    // and this Operator must stay until the work has ended (Device::synchronize). Throws Error.
    void execute(std::initializer_list<InputBinding> inputs, std::initializer_list<Binding> outputs,
                 const hewn_execute_options *options = nullptr) const {
        execute(inputs.begin(), inputs.size(), outputs.begin(), outputs.size(), options);
    }
    // The same with arrays of bindings.
    void execute(const InputBinding *inputs, size_t input_count, const Binding *outputs,
                 size_t output_count, const hewn_execute_options *options = nullptr) const {
        detail::check([&](hewn_error *error) {
            return hewn_execute(get(), inputs, static_cast<uint32_t>(input_count), outputs,
                                static_cast<uint32_t>(output_count), options, error);
        });
    }
    // Checks bindings once, for many runs: hewn_bind, with arguments as for execute. The bound
    // memory must outlive the result, so bind no temporaries. Throws Error.
    BoundOperator bind(std::initializer_list<InputBinding> inputs,
                       std::initializer_list<Binding> outputs,
                       const hewn_execute_options *options = nullptr) const {
        return bind(inputs.begin(), inputs.size(), outputs.begin(), outputs.size(), options);
    }
    // The same with arrays of bindings.
    BoundOperator bind(const InputBinding *inputs, size_t input_count, const Binding *outputs,
                       size_t output_count, const hewn_execute_options *options = nullptr) const {
        hewn_bound_operator *bound = nullptr;
        detail::check([&](hewn_error *error) {
            return hewn_bind(get(), inputs, static_cast<uint32_t>(input_count), outputs,
                             static_cast<uint32_t>(output_count), options, &bound, error);
        });
        return BoundOperator(bound);
    }
    // Records the operator, which is compiled for Direct3D 12, into an open
    // ID3D12GraphicsCommandList of the program's, and submits nothing: hewn_d3d12_record, which
    // says what must stay until the list has run. Throws Error.
    void record(void *command_list, std::initializer_list<InputBinding> inputs,
                std::initializer_list<Binding> outputs) const {
        detail::check([&](hewn_error *error) {
            return hewn_d3d12_record(get(), command_list, inputs.begin(),
                                     static_cast<uint32_t>(inputs.size()), outputs.begin(),
                                     static_cast<uint32_t>(outputs.size()), error);
        });
    }
    // The name of the variant that it runs, such as "add_f32__x86_64_avx2".
    const char *variant() const noexcept { return hewn_operator_variant(get()); }
    // The handle for hewn.h; nullptr after a move. The Operator keeps owning it.
    hewn_operator *get() const noexcept { return handle_.get(); }

private:
    struct Destroy {
        void operator()(hewn_operator *op) const noexcept { hewn_destroy_operator(op); }
    };
    std::unique_ptr<hewn_operator, Destroy> handle_;
};

// Compiles an operator of any type: hewn_compile. Programs usually call the overload for one type
// of operator, which takes its description. <hewn/operators.hpp> has one for each description:
//
//     Operator compile(const AddDesc &desc, const CompileOptions &options = {},
//                      const Device *device = nullptr);
//
// This operator runs the code for AVX2 on at most two threads:
//
//     const hewn::TensorDesc f32 = {hewn::DataType::FLOAT32, {4}};
//     hewn::CompileOptions options;
//     options.variant = "x86_64_avx2";
//     options.max_threads = 2;
//     const hewn::Operator add = hewn::compile(hewn::AddDesc{f32, f32, f32}, options);
//
// This one runs on a GPU, so its tensors are in the GPU's memory:
//
//     const hewn::TensorDesc f32 = {hewn::DataType::FLOAT32, {4}};
//     const float values[4] = {1, 2, 3, 4};
//     float result[4];
//
//     const hewn::Device gpu = hewn::Device::open(hewn::DeviceKind::CUDA);
//     const hewn::Operator add = hewn::compile(hewn::AddDesc{f32, f32, f32}, {}, &gpu);
//     hewn::DeviceMemory a(gpu, sizeof values), sum(gpu, sizeof values);
//     a.write(values, sizeof values);
//     add.execute({a.binding(), a.binding()}, {sum.binding()});  // enqueues the work
//     sum.read(result, sizeof result);  // waits until the sum is there: 2 4 6 8
//
// The parameters of this function:
// - tensors: all tensors of the operator, in the order of its description, the outputs last;
//   nullptr for an optional tensor that is absent.
// - device: nullptr is the CPU. The Device object may be destroyed before the operator, but the
//   memory hooks and the CUDA context and stream that it was made of must outlive the operator.
// - attributes: the values of the operator's attributes, in order, a parameter as the bits of its
//   float. There may be fewer values than attributes; the remaining attributes are then 0.
// - Throws Error.
inline Operator compile(hewn_operator_type type, const std::vector<const TensorDesc *> &tensors,
                        const CompileOptions &options = {}, const Device *device = nullptr,
                        const std::vector<int32_t> &attributes = {}) {
    std::vector<hewn_tensor_desc> c_descs;
    for (const TensorDesc *tensor : tensors)
        c_descs.push_back(tensor ? tensor->c_desc() : hewn_tensor_desc{});
    // An array of pointer-sized elements with the layout of the operator's struct. Its first
    // element holds struct_size, the next ones the pointers to the tensors' descriptions, the last
    // ones the attributes (hewn_operator_info describes it).
    const size_t attribute_bytes = attributes.size() * sizeof(int32_t), behind = 1 + tensors.size(),
                 words = (attribute_bytes + sizeof(void *) - 1) / sizeof(void *);
    std::vector<const hewn_tensor_desc *> desc(behind + words);
    const auto struct_size = static_cast<uint32_t>(desc.size() * sizeof(desc[0]));
    std::memcpy(desc.data(), &struct_size, sizeof(struct_size));
    for (size_t i = 0; i < tensors.size(); i++) desc[1 + i] = tensors[i] ? &c_descs[i] : nullptr;
    if (words > 0) std::memcpy(&desc[behind], attributes.data(), attribute_bytes);
    const hewn_operator_desc operator_desc{sizeof(hewn_operator_desc), type, desc.data()};
    const hewn_compile_options c_options{
        sizeof(hewn_compile_options),
        static_cast<hewn_feature_level>(options.feature_level),
        options.variant.empty() ? nullptr : options.variant.c_str(),
        options.max_threads,
        options.parallel_for,
        options.parallel_for_context,
        options.constants.empty() ? nullptr : options.constants.data(),
        static_cast<uint32_t>(options.constants.size())};
    hewn_operator *op = nullptr;
    detail::check([&](hewn_error *error) {
        return hewn_compile(device ? detail::handle_of(*device) : nullptr, &operator_desc,
                            &c_options, &op, error);
    });
    return Operator(op);
}

namespace detail {
inline const TensorDesc *pointer(const TensorDesc &desc) { return &desc; }
inline const TensorDesc *pointer(const OptionalTensorDesc &desc) { return desc ? &*desc : nullptr; }
// An attribute as compile() takes it: a choice or a parameter.
template<class Choice>
int32_t word(Choice value) {
    return static_cast<int32_t>(value);
}
inline int32_t word(float value) {
    int32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}
}  // namespace detail

#include <hewn/operators.hpp>

// What a feature level allows for an operator: the results of hewn_get_operator,
// hewn_get_operator_tensor and hewn_get_operator_attribute.
struct OperatorInfo : hewn_operator_info {
    // In the order of the operator's description, the outputs last.
    std::vector<hewn_operator_tensor_info> tensors;
    // In the order of the operator's description.
    std::vector<hewn_operator_attribute_info> attributes;
};

// Lists all operators of hewn, with what a feature level allows for each of them. An operator that
// the level does not have is in the list too, with a max_dimension_count of 0. Throws Error if this
// build has no such level.
inline std::vector<OperatorInfo> operators(FeatureLevel feature_level = FeatureLevel::NEWEST) {
    const auto level = static_cast<hewn_feature_level>(feature_level);
    std::vector<OperatorInfo> infos(hewn_operator_count());
    for (uint32_t i = 0; i < infos.size(); i++) {
        infos[i].struct_size = sizeof(hewn_operator_info);
        if (hewn_get_operator(i, level, &infos[i]) != HEWN_STATUS_OK)
            detail::fail({sizeof(hewn_error), HEWN_STATUS_INVALID_ARGUMENT,
                          "operators: this build has no such feature level"});
        infos[i].tensors.resize(infos[i].tensor_count);
        for (uint32_t t = 0; t < infos[i].tensor_count; t++) {
            infos[i].tensors[t].struct_size = sizeof(hewn_operator_tensor_info);
            hewn_get_operator_tensor(i, t, level, &infos[i].tensors[t]);
        }
        hewn_operator_attribute_info attribute = {sizeof(attribute), nullptr, nullptr, 0, 0, 0, 0};
        for (uint32_t a = 0; !hewn_get_operator_attribute(i, a, level, &attribute); a++)
            infos[i].attributes.push_back(attribute);
    }
    return infos;
}

// Lists the targets of this build, in ascending priority: hewn_get_target. compile() prefers
// targets of high priority, which are at the end. Loads the drivers of GPUs that the build has
// targets for.
inline std::vector<hewn_target_info> targets() {
    std::vector<hewn_target_info> infos(hewn_target_count());
    for (uint32_t i = 0; i < infos.size(); i++) {
        infos[i].struct_size = sizeof(hewn_target_info);
        hewn_get_target(i, &infos[i]);
    }
    return infos;
}

// Lists the variants of this build, in ascending priority of their targets: hewn_get_variant. Loads
// the drivers of GPUs that the build has variants for.
inline std::vector<hewn_variant_info> variants() {
    std::vector<hewn_variant_info> infos(hewn_variant_count());
    for (uint32_t i = 0; i < infos.size(); i++) {
        infos[i].struct_size = sizeof(hewn_variant_info);
        hewn_get_variant(i, &infos[i]);
    }
    return infos;
}

#ifdef HEWN_NO_EXCEPTIONS
#undef HEWN_NO_EXCEPTIONS
}  // namespace no_exceptions
#endif
}  // namespace hewn

#endif  // HEWN_HEWN_HPP
