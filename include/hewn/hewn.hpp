// hewn for C++17: a thin header-only layer over hewn.h, with RAII handles and one exception type,
// hewn::Error.
//
//     auto f32 = hewn::TensorDesc{hewn::DataType::FLOAT32, {1024}};
//     hewn::Operator add = hewn::compile(hewn::AddDesc{f32, f32, f32});
//     add.execute({a, b}, {sum});                                           // std::vector<float>
//     a, b, sum
//
// Names are those of hewn.h, which documents shapes, units, errors and formulas. In an older C++,
// use hewn.h. Without exceptions (-fno-exceptions) a failing call ends in hewn::failure_handler,
// and hewn's types are others than in files with exceptions: between the two pass C handles
// (get()).
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
inline namespace no_exceptions {  // other functions than those of a program's other files, which
                                  // may have been compiled to throw
#endif

// Thrown by every failing call; without exceptions, given to failure_handler. what() names the
// tensor and the rule, status() is a HEWN_STATUS_ value.
class Error : public std::runtime_error {
public:
    // Of a call that failed.
    explicit Error(const hewn_error &error)
        : std::runtime_error(error.message), status_(error.status) {}
    // What the call returned.
    hewn_status status() const noexcept { return status_; }

private:
    hewn_status status_;
};

#ifdef HEWN_NO_EXCEPTIONS
// Every failing call's last step: writes the message to stderr and aborts. Set another function
// before the first call; it must not return (longjmp, exit, abort), or the program aborts after it.
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

// Calls `function(&error)` and fails if it does.
template<class Function>
void check(Function &&function) {
    hewn_error error;  // no initializer: clearing the message would cost more than a small call
    error.struct_size = sizeof(error);
    error.status = HEWN_STATUS_OK;
    error.message[0] = 0;
    if (function(&error) != HEWN_STATUS_OK) fail(error);
}
}  // namespace detail

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
    BFLOAT16 = HEWN_DATA_TYPE_BFLOAT16,
    UINT2 = HEWN_DATA_TYPE_UINT2,
    INT2 = HEWN_DATA_TYPE_INT2,
};

// What x, the scale and their quotient are rounded to: hewn_precision.
enum class Precision : hewn_precision {
    FLOAT32 = HEWN_PRECISION_FLOAT32,
    FLOAT16 = HEWN_PRECISION_FLOAT16,
    BFLOAT16 = HEWN_PRECISION_BFLOAT16,
};

// What the operators of a build may do: hewn_feature_level.
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

// hewn_tensor_desc with its own storage. Sizes are outermost first; strides are in elements, 0
// broadcasts, none: contiguous.
struct TensorDesc {
    // Of the elements.
    DataType data_type = DataType::FLOAT32;
    // In elements, each >= 0.
    std::vector<int64_t> sizes;
    // In elements, each >= 0; none: contiguous.
    std::optional<std::vector<int64_t>> strides = std::nullopt;
    // How many elements of each dimension share one of this tensor's, each >= 1; none: 1.
    std::optional<std::vector<int64_t>> block_sizes = std::nullopt;

    // An input of these sizes that repeats one element: all strides are 0.
    static TensorDesc broadcast_scalar(DataType data_type, std::vector<int64_t> sizes) {
        std::vector<int64_t> zeros(sizes.size(), 0);
        return {data_type, std::move(sizes), std::move(zeros)};
    }
    // A contiguous scale or zero point of ceil(sizes / block_sizes) elements, each of which serves
    // a block of a tensor of these sizes.
    static TensorDesc in_blocks(DataType data_type, std::vector<int64_t> sizes,
                                std::vector<int64_t> block_sizes) {
        return {data_type, std::move(sizes), std::nullopt, std::move(block_sizes)};
    }

    // The C view. Valid while this object lives and is not changed.
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

    // The bytes that a binding needs: hewn_tensor_size.
    uint64_t size_in_bytes() const {
        uint64_t bytes = 0;
        const hewn_tensor_desc desc = c_desc();
        detail::check([&](hewn_error *error) { return hewn_tensor_size(&desc, &bytes, error); });
        return bytes;
    }
};

// A zero point, which may be absent: std::nullopt, a TensorDesc, an optional one, or a TensorDesc's
// members in braces.
struct OptionalTensorDesc : std::optional<TensorDesc> {
    // An absent one.
    OptionalTensorDesc(std::nullopt_t = std::nullopt) {}
    // A zero point of this description.
    OptionalTensorDesc(TensorDesc desc) : optional(std::move(desc)) {}
    // Absent if the optional is empty.
    OptionalTensorDesc(std::optional<TensorDesc> desc) : optional(std::move(desc)) {}
    // A zero point with these members of a TensorDesc.
    OptionalTensorDesc(DataType data_type, std::vector<int64_t> sizes,
                       std::optional<std::vector<int64_t>> strides = std::nullopt,
                       std::optional<std::vector<int64_t>> block_sizes = std::nullopt)
        : optional(TensorDesc{data_type, std::move(sizes), std::move(strides),
                              std::move(block_sizes)}) {}
};

// Options of one execution: execute({...}, {...}, &options).
struct ExecuteOptions : hewn_execute_options {
    // The members of hewn_execute_options; 0 and nullptr: the operator's own.
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
// Integers, float, double, _Float16 and the like, which are no std::is_floating_point before C++23.
template<class T>
constexpr bool is_number = std::is_convertible_v<T, float> && !std::is_class_v<T> &&
                           !std::is_enum_v<T> && !std::is_same_v<T, bool>;

// What memory of Ts holds: a data type; UNKNOWN for bytes and structs, which may be any; or why no
// tensor can be bound to it: no operator has such numbers, or they are elsewhere (behind pointers,
// bindings, views and containers, which have a data()).
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
        return HEWN_DATA_TYPE_UNKNOWN;  // std::optional
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
        constexpr float bit_10 = 1.0009765625f;  // FLOAT16 has it after the point, BFLOAT16 only 7
        return static_cast<float>(static_cast<T>(bit_10)) == bit_10 ? HEWN_DATA_TYPE_FLOAT16
                                                                    : HEWN_DATA_TYPE_BFLOAT16;
    } else return NO_DATA_TYPE;
}

// The elements, const if they are only read, of an X: a container, a C array, or one number. void:
// X is none of these.
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

// What an argument of type X && is, bound as an output. A temporary counts as const, as what is
// written to it is lost, unless it is a view of memory (std::span).
template<class X>
using Output = std::conditional_t<std::is_reference_v<X>, std::remove_reference_t<X>, const X>;
template<class X>
constexpr bool is_const_memory = std::is_const_v<typename Memory<X>::Element>;
}  // namespace detail

// One tensor's writable memory, for an output or an input. Made from a container with data()
// (std::vector, std::array, std::span), a C array or one number, whose type must then be the
// description's (std::uint16_t also for FLOAT16 and BFLOAT16; char, std::byte and structs are bytes
// of any type). Or made from a pointer, of any type, an offset and the bytes that may be used from
// that offset on (not the bytes of the whole buffer).
struct Binding : hewn_buffer_binding {
    // `bytes` bytes, from byte_offset on.
    Binding(void *memory, uint64_t bytes, uint64_t byte_offset = 0)
        : hewn_buffer_binding{sizeof(hewn_buffer_binding), memory, byte_offset, bytes} {}
    template<class X, class As = detail::Output<X>,
             std::enable_if_t<detail::held_by<As>() >= 0 && !detail::is_const_memory<As>, int> = 0>
    Binding(X &&memory) : hewn_buffer_binding(detail::bind(memory)) {}

    // What is no output, and why.
    template<class X, class As = detail::Output<X>,
             std::enable_if_t<detail::held_by<As>() >= 0 && detail::is_const_memory<As>, int> = 0>
    Binding(X &&) = delete;  // an output is written: it is neither const nor a temporary
    template<class X, std::enable_if_t<detail::held_by<detail::Output<X>>() == detail::NO_DATA_TYPE,
                                       int> = 0>
    Binding(X &&) = delete;  // no operator takes double: convert to float
    template<class X,
             std::enable_if_t<detail::held_by<detail::Output<X>>() == detail::NO_NUMBERS, int> = 0>
    Binding(X &&) = delete;  // due: a container with data(), a C array, {pointer, bytes}
};

// An input's memory, which is only read. Made as a Binding is, also from what is const. nullptr is
// an absent optional tensor. A temporary, as a number that is written in the call, must live until
// the execution has ended.
struct InputBinding : hewn_buffer_binding {
    // An absent tensor, or a constant.
    InputBinding(std::nullptr_t)
        : hewn_buffer_binding{sizeof(hewn_buffer_binding), nullptr, 0, 0} {}
    // `bytes` bytes, from byte_offset on.
    InputBinding(const void *memory, uint64_t bytes, uint64_t byte_offset = 0)
        : hewn_buffer_binding{sizeof(hewn_buffer_binding), const_cast<void *>(memory), byte_offset,
                              bytes} {}
    // The same memory.
    InputBinding(const Binding &binding) : hewn_buffer_binding(binding) {}
    template<class X, std::enable_if_t<detail::held_by<const X>() >= 0, int> = 0>
    InputBinding(const X &memory) : hewn_buffer_binding(detail::bind(memory)) {}

    // What is no input, and why.
    template<class X, std::enable_if_t<detail::held_by<const X>() == detail::NO_DATA_TYPE, int> = 0>
    InputBinding(const X &) = delete;  // no operator takes double: convert to float
    template<class X, std::enable_if_t<detail::held_by<const X>() == detail::NO_NUMBERS, int> = 0>
    InputBinding(const X &) = delete;  // due: a container with data(), a C array, {pointer, bytes}
};

// Options of compile().
struct CompileOptions {
    // The table of operators that holds.
    FeatureLevel feature_level = FeatureLevel::NEWEST;
    std::string variant = {};  // empty: HEWN_VARIANT, else the best
    int32_t max_threads = 0;   // for the CPU, like parallel_for, which must outlive the operator
    hewn_parallel_for_fn parallel_for = nullptr;  // nullptr: the library's own pool
    // Passed to parallel_for.
    void *parallel_for_context = nullptr;
    // Scales and zero points that never change, one for each input, nullptr for one that is no
    // constant: {nullptr, scale, nullptr}. They are copied; executions take nullptr for them.
    std::vector<InputBinding> constants = {};
};

// Kinds of devices: hewn_device_kind.
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

// Where operators run. Movable; a moved-from Device is of no use. Programs that stay on the CPU
// need none.
class Device {
public:
    // A CPU device with its own memory hooks.
    explicit Device(hewn_cpu_device_desc desc = {sizeof(hewn_cpu_device_desc), nullptr, nullptr,
                                                 nullptr})
        : Device([&](hewn_device **device, hewn_error *error) {
              return hewn_create_cpu_device(&desc, device, error);
          }) {}
    // On a CUcontext (nullptr: the thread's current one) and a CUstream of it (nullptr: the default
    // stream).
    static Device cuda(void *context, void *stream) {
        const hewn_cuda_device_desc desc = {
            sizeof(hewn_cuda_device_desc), context, stream, nullptr, nullptr, nullptr};
        return Device([&](hewn_device **device, hewn_error *error) {
            return hewn_create_cuda_device(&desc, device, error);
        });
    }
    // On a cl_context and an in-order cl_command_queue of it.
    static Device opencl(void *context, void *queue) {
        const hewn_opencl_device_desc desc = {
            sizeof(hewn_opencl_device_desc), context, queue, nullptr, nullptr, nullptr};
        return Device([&](hewn_device **device, hewn_error *error) {
            return hewn_create_opencl_device(&desc, device, error);
        });
    }
    // On an ID3D12Device. queue is an ID3D12CommandQueue for what is executed rather than recorded;
    // nullptr: one of its own.
    static Device d3d12(void *device, void *queue = nullptr) {
        const hewn_d3d12_device_desc desc = {
            sizeof(hewn_d3d12_device_desc), device, queue, nullptr, nullptr, nullptr};
        return Device([&](hewn_device **result, hewn_error *error) {
            return hewn_create_d3d12_device(&desc, result, error);
        });
    }
    // The index-th device of a kind, by default the first (HEWN_ANY_DEVICE), with a context and a
    // queue of its own. CUDA gets the GPU's primary context, which the CUDA runtime uses as well,
    // and its default stream.
    static Device open(DeviceKind kind, uint32_t index = HEWN_ANY_DEVICE) {
        return Device([&](hewn_device **device, hewn_error *error) {
            return hewn_open_device(static_cast<hewn_device_kind>(kind), index, device, error);
        });
    }

    // The C handle.
    hewn_device *get() const noexcept { return handle_.get(); }
    // What it is.
    DeviceKind kind() const noexcept { return static_cast<DeviceKind>(hewn_kind_of_device(get())); }
    // hewn_synchronize.
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
// A null handle would mean the CPU, but it is that of a Device that was moved from. Fails.
inline hewn_device *handle_of(const Device &device) {
    if (!device.get())
        fail({sizeof(hewn_error), HEWN_STATUS_INVALID_ARGUMENT, "device: was moved from"});
    return device.get();
}
}  // namespace detail

// Memory of a device, for programs without their own. Movable. The device must outlive it.
class DeviceMemory {
public:
    // `bytes` bytes, whose contents are not set.
    DeviceMemory(const Device &device, uint64_t bytes)
        : memory_(nullptr, Free{device.get()}), bytes_(bytes) {
        void *memory = nullptr;
        detail::check([&](hewn_error *error) {
            return hewn_allocate(detail::handle_of(device), bytes, &memory, error);
        });
        memory_.reset(memory);
    }
    // Copy to and from byte `offset` of this memory, after all that was enqueued before, and wait
    // for the copy.
    void write(const void *from, uint64_t bytes, uint64_t offset = 0) {
        detail::check([&](hewn_error *error) {
            return hewn_write(memory_.get_deleter().device, get(), offset, from, bytes, error);
        });
    }
    // As write, in the other direction.
    void read(void *to, uint64_t bytes, uint64_t offset = 0) const {
        detail::check([&](hewn_error *error) {
            return hewn_read(memory_.get_deleter().device, get(), offset, to, bytes, error);
        });
    }
    // What hewn_buffer_binding's buffer takes.
    void *get() const noexcept { return memory_.get(); }
    // All of it.
    Binding binding() const { return Binding(get(), bytes_); }

private:
    struct Free {
        hewn_device *device;
        void operator()(void *memory) const noexcept { hewn_deallocate(device, memory); }
    };
    std::unique_ptr<void, Free> memory_;
    uint64_t bytes_;
};

// The machine's devices of a kind; none without a driver.
inline std::vector<hewn_device_info> devices(DeviceKind kind) {
    std::vector<hewn_device_info> infos;
    hewn_device_info info{};
    info.struct_size = sizeof(info);
    while (hewn_get_device(static_cast<hewn_device_kind>(kind), static_cast<uint32_t>(infos.size()),
                           &info, nullptr) == HEWN_STATUS_OK)
        infos.push_back(info);
    return infos;
}

// An operator with its bindings: hewn_bind. Movable. The operator and the memory must outlive it.
class BoundOperator {
public:
    // Takes ownership of the handle.
    explicit BoundOperator(hewn_bound_operator *bound) : handle_(bound) {}

    // hewn_run. Any thread may call it. Throws Error.
    void run() const {
        detail::check([&](hewn_error *error) { return hewn_run(get(), error); });
    }
    // The C handle.
    hewn_bound_operator *get() const noexcept { return handle_.get(); }

private:
    struct Destroy {
        void operator()(hewn_bound_operator *bound) const noexcept {
            hewn_destroy_bound_operator(bound);
        }
    };
    std::unique_ptr<hewn_bound_operator, Destroy> handle_;
};

// A compiled operator. Movable. Any number of threads may call execute at once.
class Operator {
public:
    // Takes ownership of the handle.
    explicit Operator(hewn_operator *op) : handle_(op) {}

    // hewn_execute, with inputs in the order of the description's members and nullptr for an absent
    // one. Returns when the output is written, on a GPU once the work is enqueued. Throws Error.
    void execute(std::initializer_list<InputBinding> inputs, std::initializer_list<Binding> outputs,
                 const hewn_execute_options *options = nullptr) const {
        execute(inputs.begin(), inputs.size(), outputs.begin(), outputs.size(), options);
    }
    // The same with arrays.
    void execute(const InputBinding *inputs, size_t input_count, const Binding *outputs,
                 size_t output_count, const hewn_execute_options *options = nullptr) const {
        detail::check([&](hewn_error *error) {
            return hewn_execute(get(), inputs, static_cast<uint32_t>(input_count), outputs,
                                static_cast<uint32_t>(output_count), options, error);
        });
    }
    // hewn_bind, with bindings as for execute. Throws Error.
    BoundOperator bind(std::initializer_list<InputBinding> inputs,
                       std::initializer_list<Binding> outputs,
                       const hewn_execute_options *options = nullptr) const {
        return bind(inputs.begin(), inputs.size(), outputs.begin(), outputs.size(), options);
    }
    // The same with arrays.
    BoundOperator bind(const InputBinding *inputs, size_t input_count, const Binding *outputs,
                       size_t output_count, const hewn_execute_options *options = nullptr) const {
        hewn_bound_operator *bound = nullptr;
        detail::check([&](hewn_error *error) {
            return hewn_bind(get(), inputs, static_cast<uint32_t>(input_count), outputs,
                             static_cast<uint32_t>(output_count), options, &bound, error);
        });
        return BoundOperator(bound);
    }
    // Records into an open ID3D12GraphicsCommandList: hewn_d3d12_record.
    void record(void *command_list, std::initializer_list<InputBinding> inputs,
                std::initializer_list<Binding> outputs) const {
        detail::check([&](hewn_error *error) {
            return hewn_d3d12_record(get(), command_list, inputs.begin(),
                                     static_cast<uint32_t>(inputs.size()), outputs.begin(),
                                     static_cast<uint32_t>(outputs.size()), error);
        });
    }
    // hewn_operator_variant.
    const char *variant() const noexcept { return hewn_operator_variant(get()); }
    // The C handle.
    hewn_operator *get() const noexcept { return handle_.get(); }

private:
    struct Destroy {
        void operator()(hewn_operator *op) const noexcept { hewn_destroy_operator(op); }
    };
    std::unique_ptr<hewn_operator, Destroy> handle_;
};

// hewn_compile for a device; nullptr: the CPU. `tensors` are the operator's in order, the output
// last, null where one is absent; `attributes` are its first ones, others are 0. Throws Error. The
// Device object may go before the operator, but what it was made of (memory hooks, a CUDA context
// and stream) must outlive the operator. Each operator has a description of its own as well, with
// its compile(), in <hewn/operators.hpp>.
inline Operator compile(hewn_operator_type type, const std::vector<const TensorDesc *> &tensors,
                        const CompileOptions &options = {}, const Device *device = nullptr,
                        const std::vector<int32_t> &attributes = {}) {
    std::vector<hewn_tensor_desc> c_descs;
    for (const TensorDesc *tensor : tensors)
        c_descs.push_back(tensor ? tensor->c_desc() : hewn_tensor_desc{});
    // As the operator's struct: struct_size, which takes the room of a pointer, then the pointers,
    // then the attributes.
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
}  // namespace detail

#include <hewn/operators.hpp>

// An operator at a feature level, and its tensors, the outputs last: hewn_get_operator,
// hewn_get_operator_tensor and hewn_get_operator_attribute.
struct OperatorInfo : hewn_operator_info {
    // In order, the outputs last.
    std::vector<hewn_operator_tensor_info> tensors;
    // In the description's order.
    std::vector<hewn_operator_attribute_info> attributes;
};

// The table of operators. Throws Error where the build has no such level.
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
        hewn_operator_attribute_info attribute = {sizeof(attribute), nullptr, nullptr, 0, 0};
        for (uint32_t a = 0; !hewn_get_operator_attribute(i, a, level, &attribute); a++)
            infos[i].attributes.push_back(attribute);
    }
    return infos;
}

// The targets of this build, in the order of hewn_get_target.
inline std::vector<hewn_target_info> targets() {
    std::vector<hewn_target_info> infos(hewn_target_count());
    for (uint32_t i = 0; i < infos.size(); i++) {
        infos[i].struct_size = sizeof(hewn_target_info);
        hewn_get_target(i, &infos[i]);
    }
    return infos;
}

// The variants of this build, in the order of hewn_get_variant.
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
