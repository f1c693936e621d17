// What the tests share: strided tensors between sentinels, random contents with special values, the reference over any layout,
// and the comparison bit for bit. Runtime-typed, so that one test serves every line of variants.inc.
#ifndef HEWN_TESTS_TENSORS_H
#define HEWN_TESTS_TENSORS_H

#include <gtest/gtest.h>
#include <hewn/hewn.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iomanip>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "reference.h"

namespace hewn_test {

using reference::f16;

// ---- Data types ----------------------------------------------------------------------------------------------------------

template<class T>
struct DataTypeOf;
template<>
struct DataTypeOf<float> : std::integral_constant<hewn_data_type, HEWN_DATA_TYPE_FLOAT32> {};
template<>
struct DataTypeOf<f16> : std::integral_constant<hewn_data_type, HEWN_DATA_TYPE_FLOAT16> {};
template<>
struct DataTypeOf<uint64_t> : std::integral_constant<hewn_data_type, HEWN_DATA_TYPE_UINT64> {};
template<>
struct DataTypeOf<uint32_t> : std::integral_constant<hewn_data_type, HEWN_DATA_TYPE_UINT32> {};
template<>
struct DataTypeOf<uint16_t> : std::integral_constant<hewn_data_type, HEWN_DATA_TYPE_UINT16> {};
template<>
struct DataTypeOf<uint8_t> : std::integral_constant<hewn_data_type, HEWN_DATA_TYPE_UINT8> {};
template<>
struct DataTypeOf<int64_t> : std::integral_constant<hewn_data_type, HEWN_DATA_TYPE_INT64> {};
template<>
struct DataTypeOf<int32_t> : std::integral_constant<hewn_data_type, HEWN_DATA_TYPE_INT32> {};
template<>
struct DataTypeOf<int16_t> : std::integral_constant<hewn_data_type, HEWN_DATA_TYPE_INT16> {};
template<>
struct DataTypeOf<int8_t> : std::integral_constant<hewn_data_type, HEWN_DATA_TYPE_INT8> {};

// Calls f(T{}) for the one T of Ts that `type` stands for.
template<class... Ts, class F>
void with_type(hewn_data_type type, F &&f) {
    const bool known = ((DataTypeOf<Ts>::value == type && (f(Ts{}), true)) || ...);
    if (!known) throw std::logic_error("no case for data type " + std::to_string(type));
}

template<class F>
void with_any_type(hewn_data_type type, F &&f) {
    with_type<float, f16, uint64_t, uint32_t, uint16_t, uint8_t, int64_t, int32_t, int16_t, int8_t>(type, f);
}

inline size_t element_bytes(hewn_data_type type) {
    size_t bytes = 0;
    with_any_type(type, [&](auto tag) { bytes = sizeof(tag); });
    return bytes;
}

inline hewn_data_type parse_type(const std::string &name) {
    static const std::pair<const char *, hewn_data_type> names[] = {
        {"f32", HEWN_DATA_TYPE_FLOAT32}, {"f16", HEWN_DATA_TYPE_FLOAT16}, {"u64", HEWN_DATA_TYPE_UINT64},
        {"u32", HEWN_DATA_TYPE_UINT32},  {"u16", HEWN_DATA_TYPE_UINT16},  {"u8", HEWN_DATA_TYPE_UINT8},
        {"i64", HEWN_DATA_TYPE_INT64},   {"i32", HEWN_DATA_TYPE_INT32},   {"i16", HEWN_DATA_TYPE_INT16},
        {"i8", HEWN_DATA_TYPE_INT8}};
    for (const auto &[text, type] : names) {
        if (name == text) return type;
    }
    throw std::logic_error("no data type is called " + name);
}

// The unsigned type of the same width; the type itself where there is none.
inline hewn_data_type unsigned_twin(hewn_data_type type) {
    switch (type) {
    case HEWN_DATA_TYPE_INT64: return HEWN_DATA_TYPE_UINT64;
    case HEWN_DATA_TYPE_INT32: return HEWN_DATA_TYPE_UINT32;
    case HEWN_DATA_TYPE_INT16: return HEWN_DATA_TYPE_UINT16;
    case HEWN_DATA_TYPE_INT8: return HEWN_DATA_TYPE_UINT8;
    default: return type;
    }
}

template<class T>
T load(const void *memory) {
    T value;
    std::memcpy(&value, memory, sizeof value);
    return value;
}

template<class T>
void store(void *memory, T value) {
    std::memcpy(memory, &value, sizeof value);
}

template<class T>
std::string text_of(T value) {
    std::ostringstream text;
    if constexpr (std::is_same_v<T, f16>)
        text << std::setprecision(9) << reference::to_f32(value) << " (0x" << std::hex << value.bits << ")";
    else if constexpr (std::is_same_v<T, float>)
        text << std::setprecision(9) << value << " (0x" << std::hex << reference::to_bits(value) << ")";
    else text << +value;
    return text.str();
}

inline std::string text_of(hewn_data_type type, const void *element) {
    std::string text;
    with_any_type(type, [&](auto tag) { text = text_of(load<decltype(tag)>(element)); });
    return text;
}

// ---- Random numbers ------------------------------------------------------------------------------------------------------

// One seed a process: HEWN_SEED, else a new one. Printed, because a failure is worth little without it.
inline uint64_t seed() {
    static const uint64_t value = [] {
        const char *text = std::getenv("HEWN_SEED");
        const uint64_t chosen = text ? std::strtoull(text, nullptr, 0) : std::random_device{}();
        std::printf("HEWN_SEED=%llu (set it to repeat this run)\n", static_cast<unsigned long long>(chosen));
        return chosen;
    }();
    return value;
}

// An emulated CPU is some fifty times slower.
#if defined(HEWN_TEST_EMULATED)
constexpr bool EMULATED = true;
#else
constexpr bool EMULATED = false;
#endif

class Random {
public:
    // A stream of its own for each purpose: a test picked by a filter repeats what it did in the whole run.
    explicit Random(const std::string &purpose) : engine_(seed() * 0x9e3779b97f4a7c15 + fnv1a(purpose)) {}

    uint64_t bits() { return engine_(); }
    // In [low, high]. Not std::uniform_int_distribution, whose numbers differ between C++ libraries.
    int64_t integer(int64_t low, int64_t high) { return low + int64_t(bits() % (uint64_t(high - low) + 1)); }
    bool one_in(int64_t n) { return integer(1, n) == 1; }
    // In [0, 1), 24 random bits: exact in f32.
    float unit() { return float(bits() >> 40) * 0x1p-24f; }
    template<class Container>
    const auto &pick(const Container &container) {
        return container[size_t(integer(0, int64_t(container.size()) - 1))];
    }
    template<class T>
    void shuffle(std::vector<T> &values) {
        for (size_t i = values.size(); i > 1; i--) std::swap(values[i - 1], values[size_t(integer(0, int64_t(i) - 1))]);
    }

private:
    static uint64_t fnv1a(const std::string &text) {
        uint64_t hash = 0xcbf29ce484222325;
        for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001b3;
        return hash;
    }
    std::mt19937_64 engine_;
};

// What an emulated CPU leaves out of a long sweep: all but one in `n`, others each run.
inline bool left_out(Random &random, int64_t n) { return EMULATED && !random.one_in(n); }

// ---- Special values ------------------------------------------------------------------------------------------------------

inline const std::vector<float> &special_f32() {
    static const std::vector<float> values = [] {
        std::vector<float> v;
        for (const float x : {0.0f,
                              0x1p-149f,
                              0x1p-127f,
                              0x1.fffffcp-127f,
                              0x1p-126f,
                              0x1p-60f,
                              0x1.fffffep-61f,
                              0x1p-25f,
                              0x1.8p-25f,
                              0x1p-24f,
                              0x1p-15f,
                              0x1p-14f,
                              0.1f,
                              0.25f,
                              0.5f,
                              0x1.000002p-1f,
                              0x1.fffffep-2f,
                              0x1.fffffep-1f,
                              1.0f,
                              1.5f,
                              0x1.7ffffep0f,
                              0x1.800002p0f,
                              2.0f,
                              2.5f,
                              3.5f,
                              126.5f,
                              127.0f,
                              127.5f,
                              128.0f,
                              128.5f,
                              254.5f,
                              255.0f,
                              255.5f,
                              256.0f,
                              2048.0f,
                              2049.0f,
                              32767.5f,
                              32768.0f,
                              65504.0f,
                              65519.996f,
                              65520.0f,
                              65536.0f,
                              0x1p22f,
                              0x1.000002p22f,
                              0x1p23f,
                              0x1p24f,
                              0x1.000002p24f,
                              0x1.fffffep30f,
                              0x1p31f,
                              0x1.000002p31f,
                              0x1p32f,
                              0x1p52f,
                              0x1p60f,
                              0x1.000002p60f,
                              0x1p63f,
                              0x1p64f,
                              0x1.fffffep127f,
                              std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()}) {
            v.push_back(x);
            v.push_back(-x);
        }
        v.push_back(reference::from_bits(0x7f800001));  // a signalling NaN
        v.push_back(reference::from_bits(0xffffffff));
        return v;
    }();
    return values;
}

inline const std::vector<f16> &special_f16() {
    static const std::vector<f16> values = [] {
        std::vector<f16> v;
        for (const uint16_t bits : {0x0000, 0x0001, 0x0002, 0x03ff, 0x0400, 0x0401, 0x1400, 0x37ff, 0x3800, 0x3801,
                                    0x3bff, 0x3c00, 0x3c01, 0x3e00, 0x4000, 0x4100, 0x57f0, 0x5800, 0x5bfc, 0x5c00,
                                    0x6400, 0x6bff, 0x7800, 0x7bfe, 0x7bff, 0x7c00, 0x7c01, 0x7e00, 0x7fff}) {
            v.push_back({bits});
            v.push_back({uint16_t(bits | 0x8000)});
        }
        return v;
    }();
    return values;
}

template<class T>
std::vector<T> special_values() {
    if constexpr (std::is_same_v<T, float>) return special_f32();
    else if constexpr (std::is_same_v<T, f16>) return special_f16();
    else {
        std::vector<T> v;
        // Ends of every narrower type, and neighbours of the powers of two where f32 starts to round.
        for (const uint64_t x : {0ull,
                                 1ull,
                                 2ull,
                                 127ull,
                                 128ull,
                                 255ull,
                                 256ull,
                                 32767ull,
                                 32768ull,
                                 65535ull,
                                 65536ull,
                                 0xffffffull,
                                 0x1000000ull,
                                 0x1000001ull,
                                 0x1000002ull,
                                 0x1000003ull,
                                 0x1fffffdull,
                                 0x2000006ull,
                                 0x7fffff7full,
                                 0x7fffff80ull,
                                 0x7fffffbfull,
                                 0x7fffffc0ull,
                                 0x7fffffc1ull,
                                 0x7fffffffull,
                                 0x80000000ull,
                                 0x80000001ull,
                                 0x80008000ull,
                                 0xffff0000ull,
                                 0xffffffffull,
                                 0x100000000ull,
                                 0x20000000000000ull,
                                 0x20000000000001ull,
                                 0x7ffffffffffffffeull,
                                 0x7fffffffffffffffull,
                                 0x8000000000000000ull}) {
            v.push_back(T(x));
            v.push_back(T(0 - x));
        }
        return v;
    }
}

// Any value: special, of any bits, or of moderate size.
template<class T>
T random_value(Random &random) {
    if (random.one_in(8)) {
        static const std::vector<T> special = special_values<T>();
        return random.pick(special);
    }
    const uint64_t bits = random.bits();
    if constexpr (std::is_same_v<T, float>)
        return random.one_in(4) ? reference::from_bits(uint32_t(bits)) : (random.unit() - 0.5f) * 600;
    else if constexpr (std::is_same_v<T, f16>) return {uint16_t(bits)};
    else return T(bits);
}

// ---- Tensors -------------------------------------------------------------------------------------------------------------

constexpr uint8_t SENTINEL = 0xa5;

inline std::vector<int64_t> packed_strides(const std::vector<int64_t> &sizes) {
    std::vector<int64_t> strides(sizes.size());
    int64_t stride = 1;
    for (size_t d = sizes.size(); d-- > 0; stride *= std::max<int64_t>(sizes[d], 1)) strides[d] = stride;
    return strides;
}

inline int64_t element_count(const std::vector<int64_t> &sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
}

// A tensor in memory of its own. Everything around and between its elements holds SENTINEL. The base is aligned to the element
// and, with a `misalignment` in elements, to nothing more.
struct Tensor {
    hewn_data_type type = HEWN_DATA_TYPE_UNKNOWN;
    std::vector<int64_t> sizes, strides;
    std::vector<uint8_t> memory;
    size_t offset = 0;  // of the first element in `memory`

    Tensor() = default;
    Tensor(hewn_data_type data_type, std::vector<int64_t> tensor_sizes, std::vector<int64_t> tensor_strides,
           int64_t misalignment = 0)
        : type(data_type), sizes(std::move(tensor_sizes)), strides(std::move(tensor_strides)) {
        constexpr size_t zone = 64, alignment = 64;
        memory.assign(zone + alignment + size_t(misalignment) * element_bytes(type) + bytes() + zone, SENTINEL);
        const size_t address = reinterpret_cast<uintptr_t>(memory.data()) + zone;
        offset = zone + (alignment - address % alignment) % alignment + size_t(misalignment) * element_bytes(type);
    }
    Tensor(hewn_data_type data_type, std::vector<int64_t> tensor_sizes)
        : Tensor(data_type, tensor_sizes, packed_strides(tensor_sizes)) {}
    // A copy would lie elsewhere: with another alignment.
    Tensor(const Tensor &) = delete;
    Tensor &operator=(const Tensor &) = delete;
    Tensor(Tensor &&) = default;
    Tensor &operator=(Tensor &&) = default;

    uint8_t *data() { return memory.data() + offset; }
    const uint8_t *data() const { return memory.data() + offset; }
    template<class T>
    T at(int64_t index) const {
        return load<T>(data() + index * int64_t(sizeof(T)));
    }
    template<class T>
    void set(int64_t index, T value) {
        store(data() + index * int64_t(sizeof(T)), value);
    }

    int64_t span() const {  // in elements, from the first to the last
        if (element_count(sizes) == 0) return 0;
        int64_t last = 0;
        for (size_t d = 0; d < sizes.size(); d++) last += (sizes[d] - 1) * strides[d];
        return last + 1;
    }
    uint64_t bytes() const { return uint64_t(span()) * element_bytes(type); }

    // The C view; valid while this object lives.
    hewn_tensor_desc desc() const {
        return {sizeof(hewn_tensor_desc), type, uint32_t(sizes.size()), sizes.data(), strides.data()};
    }
    hewn_buffer_binding binding() const { return {sizeof(hewn_buffer_binding), const_cast<uint8_t *>(data()), 0, bytes()}; }
};

// ---- Operators -----------------------------------------------------------------------------------------------------------

inline hewn_operator_type parse_operator(const std::string &name) {
    if (name == "add") return HEWN_OPERATOR_ADD;
    if (name == "quantize_linear") return HEWN_OPERATOR_QUANTIZE_LINEAR;
    if (name == "dequantize_linear") return HEWN_OPERATOR_DEQUANTIZE_LINEAR;
    if (name == "quantized_linear_add") return HEWN_OPERATOR_QUANTIZED_LINEAR_ADD;
    throw std::logic_error("no operator is called " + name);
}

// The types of an operator's tensors in DirectML's order, output last, for a signature such as "f32_u8".
inline std::vector<hewn_data_type> operand_types(hewn_operator_type op, const std::string &signature) {
    std::vector<hewn_data_type> t;
    std::istringstream words(signature);
    for (std::string word; std::getline(words, word, '_');) t.push_back(parse_type(word));
    constexpr hewn_data_type f32 = HEWN_DATA_TYPE_FLOAT32;
    switch (op) {
    case HEWN_OPERATOR_ADD: return {t.at(0), t.at(0), t.at(0)};
    case HEWN_OPERATOR_QUANTIZE_LINEAR: return {t.at(0), t.at(0) == HEWN_DATA_TYPE_INT32 ? f32 : t.at(0), t.at(1), t.at(1)};
    case HEWN_OPERATOR_DEQUANTIZE_LINEAR: return {t.at(0), t.at(1), t.at(0), t.at(1)};
    case HEWN_OPERATOR_QUANTIZED_LINEAR_ADD: return {t.at(0), f32, t.at(0), t.at(1), f32, t.at(1), f32, t.at(2), t.at(2)};
    default: throw std::logic_error("an unknown operator");
    }
}

// Whether an operand of QUANTIZED_LINEAR_ADD is one of those with a single element.
inline bool is_qadd_parameter(size_t operand) { return operand != 0 && operand != 3 && operand != 8; }

// An operator's description from its tensors in DirectML's order, output last; null: absent.
class Description {
public:
    Description(hewn_operator_type type, const std::vector<const hewn_tensor_desc *> &t) {
        desc_ = {sizeof(hewn_operator_desc), type, nullptr};
        switch (type) {
        case HEWN_OPERATOR_ADD:
            add_ = {sizeof(hewn_add_desc), t.at(0), t.at(1), t.at(2)};
            desc_.desc = &add_;
            break;
        case HEWN_OPERATOR_QUANTIZE_LINEAR:
            quantize_ = {sizeof(hewn_quantize_linear_desc), t.at(0), t.at(1), t.at(2), t.at(3)};
            desc_.desc = &quantize_;
            break;
        case HEWN_OPERATOR_DEQUANTIZE_LINEAR:
            dequantize_ = {sizeof(hewn_dequantize_linear_desc), t.at(0), t.at(1), t.at(2), t.at(3)};
            desc_.desc = &dequantize_;
            break;
        case HEWN_OPERATOR_QUANTIZED_LINEAR_ADD:
            qadd_ = {sizeof(hewn_quantized_linear_add_desc),
                     t.at(0),
                     t.at(1),
                     t.at(2),
                     t.at(3),
                     t.at(4),
                     t.at(5),
                     t.at(6),
                     t.at(7),
                     t.at(8)};
            desc_.desc = &qadd_;
            break;
        default: throw std::logic_error("an unknown operator");
        }
    }
    Description(const Description &) = delete;
    Description &operator=(const Description &) = delete;
    const hewn_operator_desc *get() const { return &desc_; }

private:
    hewn_operator_desc desc_;
    hewn_add_desc add_;
    hewn_quantize_linear_desc quantize_;
    hewn_dequantize_linear_desc dequantize_;
    hewn_quantized_linear_add_desc qadd_;
};

struct DestroyOperator {
    void operator()(hewn_operator *op) const { hewn_destroy_operator(op); }
};
using OperatorPtr = std::unique_ptr<hewn_operator, DestroyOperator>;

struct DestroyDevice {
    void operator()(hewn_device *device) const { hewn_destroy_device(device); }
};
using DevicePtr = std::unique_ptr<hewn_device, DestroyDevice>;

// How a call ended.
struct Outcome {
    hewn_status status = HEWN_STATUS_OK;
    std::string message;
    friend std::ostream &operator<<(std::ostream &out, const Outcome &outcome) {
        return out << "status " << outcome.status << ", \"" << outcome.message << "\"";
    }
};

// Runs call(&error). Also checks the contract of hewn_error: filled in by a failure, untouched by a success.
template<class Call>
Outcome outcome_of(Call &&call) {
    hewn_error error;
    std::memset(&error, SENTINEL, sizeof error);
    error.struct_size = sizeof error;
    hewn_error before = error;
    const hewn_status status = call(&error);
    if (status == HEWN_STATUS_OK) {
        EXPECT_EQ(std::memcmp(&error, &before, sizeof error), 0) << "a successful call wrote into its hewn_error";
        return {};
    }
    EXPECT_EQ(error.struct_size, sizeof error);
    EXPECT_EQ(error.status, status) << "the error's status differs from the returned one";
    const void *end = std::memchr(error.message, 0, sizeof error.message);
    EXPECT_NE(end, nullptr) << "the message has no terminating NUL";
    if (!end) return {status, ""};
    EXPECT_NE(error.message[0], '\0') << "an empty message";
    EXPECT_EQ(std::strchr(error.message, '\n'), nullptr) << "a message of more than one line";
    return {status, error.message};
}

// What a result pointer holds before a call, which one that fails leaves there. Never dereferenced.
template<class T>
T *untouched() {
    static char somewhere;
    return reinterpret_cast<T *>(&somewhere);
}

inline hewn_compile_options compile_options(const char *variant = nullptr, int32_t max_threads = 0) {
    return {sizeof(hewn_compile_options), HEWN_FEATURE_LEVEL_NEWEST, variant, max_threads, nullptr, nullptr};
}

inline Outcome compile(const Description &description, const hewn_compile_options *options, OperatorPtr &op,
                       hewn_device *device = nullptr) {
    hewn_operator *handle = untouched<hewn_operator>();
    Outcome outcome =
        outcome_of([&](hewn_error *error) { return hewn_compile(device, description.get(), options, &handle, error); });
    EXPECT_EQ(outcome.status == HEWN_STATUS_OK, handle != untouched<hewn_operator>()) << outcome;
    op.reset(outcome.status == HEWN_STATUS_OK ? handle : nullptr);
    return outcome;
}

// One operator with its tensors.
struct Problem {
    hewn_operator_type op = 0;
    std::vector<std::optional<Tensor>> inputs;  // absent: an optional tensor left out
    Tensor output;
    uint32_t in_place = 0;  // bit i: input i is bound to the output's memory (its own tensor then gives the layout only)

    std::unique_ptr<Description> description() const {
        descs_.clear();
        descs_.reserve(inputs.size() + 1);
        std::vector<const hewn_tensor_desc *> pointers;
        for (const auto &input : inputs) {
            if (input) descs_.push_back(input->desc());
            pointers.push_back(input ? &descs_.back() : nullptr);
        }
        descs_.push_back(output.desc());
        pointers.push_back(&descs_.back());
        return std::make_unique<Description>(op, pointers);
    }
    std::vector<hewn_buffer_binding> bindings() const {
        std::vector<hewn_buffer_binding> result;
        for (size_t i = 0; i < inputs.size(); i++) {
            if (in_place >> i & 1) result.push_back(output.binding());
            else
                result.push_back(inputs[i] ? inputs[i]->binding()
                                           : hewn_buffer_binding{sizeof(hewn_buffer_binding), nullptr, 0, 0});
        }
        return result;
    }
    // The memory input i is read from.
    const uint8_t *input_data(size_t i) const {
        return in_place >> i & 1 ? output.data() : inputs[i] ? inputs[i]->data() : nullptr;
    }

private:
    mutable std::vector<hewn_tensor_desc> descs_;
};

// ---- Devices -------------------------------------------------------------------------------------------------------------

// What a target's or variant's name is for. From the list of targets: asking the library loads a GPU's driver.
inline hewn_device_kind kind_of_variant(const char *variant) {
    static const std::map<std::string, hewn_device_kind> kinds = {
#define HEWN_PROBE(...)
#define HEWN_TARGET(name, ...) {#name, HEWN_DEVICE_CPU},
#define HEWN_GPU_TARGET(name, rank, halide_target, device, capability) {#name, device},
#include "targets.inc"
#undef HEWN_GPU_TARGET
#undef HEWN_TARGET
#undef HEWN_PROBE
    };
    const std::string name = variant ? variant : "";
    const size_t separator = name.rfind("__");
    const auto found = kinds.find(separator == std::string::npos ? name : name.substr(separator + 2));
    return found == kinds.end() ? hewn_device_kind(HEWN_DEVICE_CPU) : found->second;
}

// A device of the kind that a target or variant is for, opened once; null for the CPU.
inline hewn_device *device_for(const char *variant) {
    static DevicePtr devices[4];
    const hewn_device_kind kind = kind_of_variant(variant);
    if (kind == HEWN_DEVICE_CPU) return nullptr;
    DevicePtr &device = devices[kind];
    if (!device) {
        hewn_device *opened = nullptr;
        const Outcome outcome = outcome_of([&](hewn_error *error) { return hewn_open_device(kind, 0, &opened, error); });
        if (outcome.status != HEWN_STATUS_OK) throw std::runtime_error(outcome.message);
        device.reset(opened);
    }
    return device.get();
}

// The memory of a problem's tensors, sentinels and all, in a device's while it executes: in one allocation, because a copy there
// or back takes a device longer than such a problem. Each lies as the original does: with the same alignment.
class DeviceCopies {
public:
    DeviceCopies(hewn_device *device, std::vector<Tensor *> tensors) : device_(device), tensors_(std::move(tensors)) {
        for (const Tensor *tensor : tensors_) {
            offsets_.push_back((image_.size() + 63) / 64 * 64 + reinterpret_cast<uintptr_t>(tensor->memory.data()) % 64);
            image_.resize(offsets_.back());
            image_.insert(image_.end(), tensor->memory.begin(), tensor->memory.end());
        }
        Allocation &at = allocations()[device];
        if (at.bytes < image_.size()) {
            hewn_deallocate(device, at.memory);
            at.bytes = 2 * image_.size();
            succeeds([&](hewn_error *error) { return hewn_allocate(device, at.bytes, &at.memory, error); });
        }
        memory_ = at.memory;
        succeeds([&](hewn_error *error) { return hewn_write(device, memory_, 0, image_.data(), image_.size(), error); });
    }
    hewn_buffer_binding binding(const Tensor *tensor) const {
        const size_t i = size_t(std::find(tensors_.begin(), tensors_.end(), tensor) - tensors_.begin());
        return {sizeof(hewn_buffer_binding), memory_, offsets_[i] + tensor->offset, tensor->bytes()};
    }
    void read_back() {
        succeeds([&](hewn_error *error) { return hewn_read(device_, memory_, 0, image_.data(), image_.size(), error); });
        for (size_t i = 0; i < tensors_.size(); i++) {
            std::vector<uint8_t> &memory = tensors_[i]->memory;
            std::copy_n(image_.begin() + std::ptrdiff_t(offsets_[i]), memory.size(), memory.begin());
        }
    }

private:
    struct Allocation {
        void *memory = nullptr;
        size_t bytes = 0;
    };
    // One a device, kept: thousands of small problems share it.
    static std::map<hewn_device *, Allocation> &allocations() {
        static std::map<hewn_device *, Allocation> allocations;
        return allocations;
    }
    template<class Call>
    static void succeeds(const Call &call) {
        const Outcome outcome = outcome_of(call);
        EXPECT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
    }
    hewn_device *device_;
    std::vector<Tensor *> tensors_;
    std::vector<size_t> offsets_;
    std::vector<uint8_t> image_;
    void *memory_ = nullptr;
};

inline Outcome execute(const hewn_operator *op, Problem &problem, const hewn_execute_options *options = nullptr,
                       hewn_device *device = nullptr) {
    std::vector<hewn_buffer_binding> inputs = problem.bindings();
    hewn_buffer_binding output = problem.output.binding();
    std::optional<DeviceCopies> copies;
    if (device) {
        std::vector<Tensor *> tensors = {&problem.output};
        const auto on_its_own = [&](size_t i) { return problem.inputs[i] && !(problem.in_place >> i & 1); };
        for (size_t i = 0; i < inputs.size(); i++) {
            if (on_its_own(i)) tensors.push_back(&*problem.inputs[i]);
        }
        copies.emplace(device, std::move(tensors));
        output = copies->binding(&problem.output);
        for (size_t i = 0; i < inputs.size(); i++) {
            if (on_its_own(i)) inputs[i] = copies->binding(&*problem.inputs[i]);
            else if (problem.inputs[i]) inputs[i] = output;
        }
    }
    const Outcome outcome = outcome_of(
        [&](hewn_error *error) { return hewn_execute(op, inputs.data(), uint32_t(inputs.size()), &output, 1, options, error); });
    if (copies) copies->read_back();
    return outcome;
}

// ---- The reference over any layout ---------------------------------------------------------------------------------------

// Calls f(offsets) for every element in row-major order; offsets[i] is in elements of the i-th operand, the output's is last.
template<class F>
void for_each_element(const Problem &problem, F &&f) {
    constexpr size_t MAX_OPERANDS = 9;
    const std::vector<int64_t> &sizes = problem.output.sizes;
    const size_t rank = sizes.size(), operands = problem.inputs.size() + 1;
    std::vector<std::array<int64_t, MAX_OPERANDS>> steps(rank);
    for (size_t d = 0; d < rank; d++) {
        for (size_t i = 0; i < operands; i++) {
            const Tensor *tensor = i + 1 == operands ? &problem.output : problem.inputs[i] ? &*problem.inputs[i] : nullptr;
            // A dimension of size 1 is not stepped along: scales of QUANTIZED_LINEAR_ADD have all sizes 1.
            steps[d][i] = tensor && tensor->sizes[d] != 1 ? tensor->strides[d] : 0;
        }
    }
    if (element_count(sizes) == 0) return;
    std::array<int64_t, MAX_OPERANDS> offsets{};
    std::vector<int64_t> index(rank, 0);
    for (;;) {
        f(offsets.data());
        size_t d = rank;
        for (;;) {
            if (d == 0) return;
            d--;
            for (size_t i = 0; i < operands; i++) offsets[i] += steps[d][i];
            if (++index[d] < sizes[d]) break;
            for (size_t i = 0; i < operands; i++) offsets[i] -= steps[d][i] * sizes[d];
            index[d] = 0;
        }
    }
}

// Writes the truth into `image`, the output's memory to be.
inline void evaluate_reference(const Problem &problem, std::vector<uint8_t> &image) {
    const auto in = [&](size_t i, auto tag) { return reinterpret_cast<const decltype(tag) *>(problem.input_data(i)); };
    const auto out = [&](auto tag) { return reinterpret_cast<decltype(tag) *>(image.data() + problem.output.offset); };
    const auto type = [&](size_t i) { return problem.inputs[i]->type; };
    switch (problem.op) {
    case HEWN_OPERATOR_ADD:
        with_any_type(type(0), [&](auto t) {
            const auto *a = in(0, t), *b = in(1, t);
            auto *sum = out(t);
            for_each_element(problem, [&](const int64_t *o) { sum[o[2]] = reference::add(a[o[0]], b[o[1]]); });
        });
        break;
    case HEWN_OPERATOR_QUANTIZE_LINEAR:
        with_type<float, f16, int32_t>(type(0), [&](auto t) {
            with_type<float, f16>(type(1), [&](auto s) {
                with_type<int8_t, uint8_t>(problem.output.type, [&](auto q) {
                    const auto *x = in(0, t);
                    const auto *scale = in(1, s);
                    const auto *zero = in(2, q);
                    auto *y = out(q);
                    using Q = decltype(q);
                    for_each_element(problem, [&](const int64_t *o) {
                        y[o[3]] = reference::quantize_linear<Q>(x[o[0]], scale[o[1]], zero ? zero[o[2]] : Q(0));
                    });
                });
            });
        });
        break;
    case HEWN_OPERATOR_DEQUANTIZE_LINEAR:
        with_type<int32_t, int16_t, int8_t, uint32_t, uint16_t, uint8_t>(type(0), [&](auto t) {
            with_type<float, f16>(type(1), [&](auto s) {
                const auto *x = in(0, t), *zero = in(2, t);
                const auto *scale = in(1, s);
                auto *y = out(s);
                using T = decltype(t);
                for_each_element(problem, [&](const int64_t *o) {
                    y[o[3]] = reference::dequantize_linear(x[o[0]], scale[o[1]], zero ? zero[o[2]] : T(0));
                });
            });
        });
        break;
    case HEWN_OPERATOR_QUANTIZED_LINEAR_ADD:
        with_type<int8_t, uint8_t>(type(0), [&](auto ta) {
            with_type<int8_t, uint8_t>(type(3), [&](auto tb) {
                with_type<int8_t, uint8_t>(problem.output.type, [&](auto tq) {
                    const float f32 = 0;
                    const auto *a = in(0, ta), *a_zero = in(2, ta);
                    const auto *b = in(3, tb), *b_zero = in(5, tb);
                    const auto *a_scale = in(1, f32), *b_scale = in(4, f32), *scale = in(6, f32);
                    const auto *zero = in(7, tq);
                    auto *y = out(tq);
                    using A = decltype(ta);
                    using B = decltype(tb);
                    using Q = decltype(tq);
                    for_each_element(problem, [&](const int64_t *o) {
                        y[o[8]] = reference::quantized_linear_add(a[o[0]], *a_scale, a_zero ? *a_zero : A(0), b[o[3]], *b_scale,
                                                                  b_zero ? *b_zero : B(0), *scale, zero ? *zero : Q(0));
                    });
                });
            });
        });
        break;
    default: throw std::logic_error("an unknown operator");
    }
}

// ---- Comparison ----------------------------------------------------------------------------------------------------------

inline std::string describe(const Problem &problem) {
    std::ostringstream text;
    const auto list = [&](const std::vector<int64_t> &values) {
        text << "[";
        for (size_t i = 0; i < values.size(); i++) text << (i ? "," : "") << values[i];
        text << "]";
    };
    text << "sizes ";
    list(problem.output.sizes);
    for (size_t i = 0; i < problem.inputs.size(); i++) {
        text << "; input " << i << (problem.in_place >> i & 1 ? " in place" : "");
        if (!problem.inputs[i]) {
            text << " absent";
            continue;
        }
        text << " strides ";
        list(problem.inputs[i]->strides);
    }
    text << "; output strides ";
    list(problem.output.strides);
    return text.str();
}

// The output's memory against `expected`: elements bit for bit (any NaN equals any NaN), everything else untouched.
inline testing::AssertionResult output_equals(const Problem &problem, std::vector<uint8_t> expected,
                                              const std::vector<uint8_t> &actual) {
    if (expected == actual) return testing::AssertionSuccess();
    const size_t size = element_bytes(problem.output.type), base = problem.output.offset;
    std::ostringstream text;
    size_t differing = 0;
    with_any_type(problem.output.type, [&](auto tag) {
        using T = decltype(tag);
        for_each_element(problem, [&](const int64_t *o) {
            const size_t at = base + size_t(o[problem.inputs.size()]) * size;
            const T want = load<T>(&expected[at]), got = load<T>(&actual[at]);
            if (!reference::same(want, got) && differing++ == 0) {
                text << "element at offset " << o[problem.inputs.size()] << " is " << text_of(got) << " instead of "
                     << text_of(want) << ", inputs";
                for (size_t i = 0; i < problem.inputs.size(); i++) {
                    if (!problem.inputs[i]) continue;
                    // In place the input is gone.
                    text << " "
                         << (problem.in_place >> i & 1
                                 ? "-"
                                 : text_of(problem.inputs[i]->type,
                                           problem.input_data(i) + o[i] * int64_t(element_bytes(problem.inputs[i]->type))));
                }
            }
            store(&expected[at], got);
        });
    });
    if (differing)
        return testing::AssertionFailure() << differing << " elements differ; " << text.str() << "; " << describe(problem);
    const auto padding = std::mismatch(expected.begin(), expected.end(), actual.begin());
    if (padding.first == expected.end()) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "byte " << padding.first - expected.begin() - std::ptrdiff_t(base)
                                       << " from the first element, outside all elements, was written; " << describe(problem);
}

// Compiles, executes and compares. The output's memory is restored, so that a problem can be checked repeatedly.
inline testing::AssertionResult check(Problem &problem, const hewn_compile_options &options,
                                      const hewn_execute_options *execute_options = nullptr) {
    const std::vector<uint8_t> before = problem.output.memory;
    std::vector<std::vector<uint8_t>> inputs_before;
    for (const auto &input : problem.inputs) inputs_before.push_back(input ? input->memory : std::vector<uint8_t>());
    std::vector<uint8_t> expected = before;
    evaluate_reference(problem, expected);

    OperatorPtr op;
    hewn_device *device = device_for(options.variant);
    const Outcome compiled = compile(*problem.description(), &options, op, device);
    if (compiled.status != HEWN_STATUS_OK)
        return testing::AssertionFailure() << "compile: " << compiled << "; " << describe(problem);
    // A full variant name must be exactly what runs.
    if (options.variant && std::strstr(options.variant, "__") &&
        std::strcmp(options.variant, hewn_operator_variant(op.get())) != 0) {
        return testing::AssertionFailure() << "forced " << options.variant << " but got " << hewn_operator_variant(op.get());
    }
    const Outcome executed = execute(op.get(), problem, execute_options, device);
    if (executed.status != HEWN_STATUS_OK)
        return testing::AssertionFailure() << "execute: " << executed << "; " << describe(problem);

    for (size_t i = 0; i < problem.inputs.size(); i++) {
        if (problem.inputs[i] && problem.inputs[i]->memory != inputs_before[i]) {
            return testing::AssertionFailure() << "input " << i << " was written; " << describe(problem);
        }
    }
    testing::AssertionResult result = output_equals(problem, std::move(expected), problem.output.memory);
    problem.output.memory = before;
    return result;
}

inline testing::AssertionResult check(Problem &problem, const std::string &variant, int32_t max_threads = 0) {
    return check(problem, compile_options(variant.c_str(), max_threads));
}

// ---- Random contents -----------------------------------------------------------------------------------------------------

enum class Scales {
    ordinary,      // 2^-60 <= |scale| <= 2^60
    extraordinary  // among them 0, subnormals, inf, NaN
};

inline float random_ordinary_scale(Random &random, int exponent) {
    float scale = 1.0f;
    switch (random.integer(0, 3)) {
    case 0: break;                                               // a power of two: quotients tie often
    case 1: scale = 1 + float(random.integer(0, 7)) / 8; break;  // few bits: ties too
    default: scale = 1 + random.unit() * (1 - 0x1p-20f);
    }
    scale = std::ldexp(scale, exponent + int(random.integer(-1, 1)));
    return random.one_in(4) ? -scale : scale;
}

inline float random_scale(Random &random, int exponent, Scales scales) {
    if (scales == Scales::extraordinary && !random.one_in(3)) return random.pick(special_f32());
    return random_ordinary_scale(random, exponent);
}

inline void set_float(Tensor &tensor, int64_t index, float value) {
    with_type<float, f16>(tensor.type, [&](auto tag) { tensor.set(index, reference::from_f32<decltype(tag)>(value)); });
}

// Fills every position of a tensor, those between its elements too: reading a wrong one must show.
template<class F>
void fill(Tensor &tensor, F &&value_of) {
    for (int64_t i = 0; i < tensor.span(); i++) value_of(i);
}

inline void fill_random(Tensor &tensor, Random &random) {
    with_any_type(tensor.type,
                  [&](auto tag) { fill(tensor, [&](int64_t i) { tensor.set(i, random_value<decltype(tag)>(random)); }); });
}

// Contents for an operator's inputs: values that hit roundings, ties and both ends, and special ones.
inline void fill_inputs(Problem &problem, Random &random, Scales scales = Scales::ordinary) {
    const bool half = problem.op != HEWN_OPERATOR_ADD && problem.inputs[1]->type == HEWN_DATA_TYPE_FLOAT16;
    const int exponent = int(half                                             ? random.integer(-6, 6)
                             : scales == Scales::ordinary && random.one_in(8) ? random.integer(-59, 58)
                                                                              : random.integer(-12, 12));
    switch (problem.op) {
    case HEWN_OPERATOR_ADD:
        for (size_t i = 0; i < 2; i++) {
            if (!(problem.in_place >> i & 1)) fill_random(*problem.inputs[i], random);
        }
        if (problem.in_place) fill_random(problem.output, random);
        break;
    case HEWN_OPERATOR_QUANTIZE_LINEAR: {
        Tensor &x = *problem.inputs[0], &scale = *problem.inputs[1];
        fill(scale, [&](int64_t i) { set_float(scale, i, random_scale(random, exponent, scales)); });
        if (problem.inputs[2]) fill_random(*problem.inputs[2], random);
        // One NaN or quotient beyond int32, and the forms that multiply by a reciprocal leave the box to the one that divides.
        const bool any = random.one_in(2);
        with_type<float, f16, int32_t>(x.type, [&](auto tag) {
            using T = decltype(tag);
            fill(x, [&](int64_t i) {
                const int64_t kind = random.integer(0, 7);
                if (kind == 0 && any) return x.set(i, random_value<T>(random));
                // Quotients of up to +-600, a quarter of them half-integers where the scale is a power of two.
                const float q = kind < 3 ? float(random.integer(-600, 600)) + 0.5f : (random.unit() - 0.5f) * 1200;
                const float value = std::ldexp(q, exponent);
                if constexpr (std::is_same_v<T, int32_t>) x.set(i, int32_t(std::clamp(value, -0x1p31f, 0x1.fffffep30f)));
                else x.set(i, reference::from_f32<T>(value));
            });
        });
        break;
    }
    case HEWN_OPERATOR_DEQUANTIZE_LINEAR: {
        Tensor &scale = *problem.inputs[1];
        fill(scale, [&](int64_t i) { set_float(scale, i, random_scale(random, exponent, scales)); });
        fill_random(*problem.inputs[0], random);
        if (problem.inputs[2]) fill_random(*problem.inputs[2], random);
        break;
    }
    case HEWN_OPERATOR_QUANTIZED_LINEAR_ADD:
        for (const size_t i : {1, 4, 6}) {
            Tensor &scale = *problem.inputs[i];
            // Now and then one that shrinks or swamps the others.
            const int relative = random.one_in(8) ? int(random.integer(-30, 30)) : 0;
            fill(scale, [&](int64_t j) { set_float(scale, j, random_scale(random, exponent + relative, scales)); });
        }
        for (const size_t i : {0, 2, 3, 5, 7}) {
            if (problem.inputs[i]) fill_random(*problem.inputs[i], random);
        }
        break;
    default: throw std::logic_error("an unknown operator");
    }
}

}  // namespace hewn_test

#endif  // HEWN_TESTS_TENSORS_H
