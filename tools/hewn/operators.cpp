#include "operators.h"

#include <filesystem>
#include <initializer_list>
#include <iostream>

#include "array.h"
#include "device.h"
#include "files.h"
#include "progress.h"

namespace hewn::cli {

namespace {
// A tensor's name in DirectML and the array bound to it (null: absent).
struct Operand {
    const char *tensor;
    const Array *array;
};

CompileOptions compile_options(const CommonOptions &options) {
    CompileOptions result;
    result.feature_level = parse_feature_level(options.feature_level);
    result.variant = options.variant;
    result.max_threads = options.threads;
    return result;
}

// Compiles, executes, saves. The library's errors speak of tensors, but the user knows files, so an error here names both.
template<class Desc>
void run(const char *command, const Desc &desc, const CommonOptions &options, std::initializer_list<Operand> operands) {
    const TensorDesc &output = desc.output_tensor;
    check_output_type(options.output, output.data_type, output.sizes);
    try {
        const std::optional<Device> device = open_device(options.device);
        const Operator op = compile(desc, compile_options(options), device ? &*device : nullptr);
        Array result = Array::allocate(options.output, output.data_type, output.sizes);
        std::vector<const Array *> inputs;
        uint64_t bytes = result.bytes;
        for (const Operand &operand : operands) {
            inputs.push_back(operand.array);
            if (operand.array) bytes += operand.array->bytes;
        }
        {
            Progress progress(std::string("computing ") + op.variant(), bytes);
            execute(op, device ? &*device : nullptr, inputs, result);
            progress.advance(bytes);
        }
        save_array(options.output, result);
        std::cout << options.output << ": " << result.describe() << " by " << op.variant() << "\n";
    } catch (const Error &error) {
        std::string text = std::string(command) + ": " + error.what() + " (";
        const char *separator = "";
        for (const Operand &operand : operands) {
            text += std::string(separator) + operand.tensor + ": " +
                    (operand.array ? operand.array->name + " " + operand.array->describe() : "absent");
            separator = "; ";
        }
        if (error.status() == HEWN_STATUS_OUT_OF_MEMORY) throw MemoryError(text + ")");
        throw OperatorError(text + ")");
    }
}

// A scale or zero point: a number as the type `due`, or a file's array as it is (the library checks its type).
Array load_parameter(const std::string &text, DataType due, const std::string &option, const CommonOptions &options) {
    if (is_number(text)) return array_from_number(text, due, option);
    std::error_code unreadable;
    if (!std::filesystem::exists(text, unreadable)) throw InputError(option + ": '" + text + "' is neither a number nor a file");
    return load_array(text, /*normalize=*/false, options.image_limits);
}

size_t resolve_axis(int axis, const Array &input) {
    const int rank = int(input.sizes.size());
    if (axis < -rank || axis >= rank)
        throw InputError("--axis " + std::to_string(axis) + ": InputTensor (" + input.name + ") has " + std::to_string(rank) +
                         " dimensions");
    return size_t(axis < 0 ? axis + rank : axis);
}

// Per axis if --axis is given and the array is 1-D with more than one element; otherwise NumPy's broadcasting, and --axis may be
// anything.
TensorDesc place_parameter(const Array &array, const Array &input, const std::optional<int> &axis, const char *tensor) {
    if (axis && array.sizes.size() == 1 && array.sizes[0] != 1)
        return broadcast_along(array, input.sizes, resolve_axis(*axis, input), tensor);
    return broadcast_to(array, input.sizes, tensor);
}

// QUANTIZE_LINEAR and DEQUANTIZE_LINEAR take the same tensors; only the types differ.
template<class Desc>
void linear(const char *command, const LinearOptions &options, const Array &input, const Array &scale, DataType zero_point_type,
            DataType output_type) {
    std::optional<Array> zero_point;
    if (options.zero_point) zero_point = load_parameter(*options.zero_point, zero_point_type, "--zero-point", options);
    Desc desc;
    desc.input_tensor = {input.type, input.sizes, input.strides};
    desc.scale_tensor = place_parameter(scale, input, options.axis, "ScaleTensor");
    if (zero_point) desc.zero_point_tensor = place_parameter(*zero_point, input, options.axis, "ZeroPointTensor");
    desc.output_tensor = {output_type, input.sizes};
    run(command, desc, options,
        {{"InputTensor", &input}, {"ScaleTensor", &scale}, {"ZeroPointTensor", zero_point ? &*zero_point : nullptr}});
}

// A scale or zero point of QUANTIZED_LINEAR_ADD: one element, all sizes 1, of the operator's rank.
TensorDesc place_scalar(const Array &array, size_t rank, const char *tensor) {
    if (array.count() != 1)
        throw InputError(std::string(tensor) + " (" + array.name + ") has " + std::to_string(array.count()) +
                         " elements, but exactly 1 is due");
    return {array.type, Sizes(rank, 1)};
}
}  // namespace

FeatureLevel parse_feature_level(const std::string &text) {
    static constexpr struct {
        const char *name;
        FeatureLevel level;
    } LEVELS[] = {
        {"1.0", FeatureLevel::LEVEL_1_0}, {"2.0", FeatureLevel::LEVEL_2_0}, {"2.1", FeatureLevel::LEVEL_2_1},
        {"3.0", FeatureLevel::LEVEL_3_0}, {"3.1", FeatureLevel::LEVEL_3_1}, {"4.0", FeatureLevel::LEVEL_4_0},
        {"4.1", FeatureLevel::LEVEL_4_1}, {"5.0", FeatureLevel::LEVEL_5_0}, {"5.1", FeatureLevel::LEVEL_5_1},
        {"5.2", FeatureLevel::LEVEL_5_2}, {"6.0", FeatureLevel::LEVEL_6_0}, {"6.1", FeatureLevel::LEVEL_6_1},
        {"6.2", FeatureLevel::LEVEL_6_2}, {"6.3", FeatureLevel::LEVEL_6_3}, {"6.4", FeatureLevel::LEVEL_6_4},
    };
    if (text.empty()) return FeatureLevel::NEWEST;
    std::string known;
    for (const auto &[name, level] : LEVELS) {
        if (text == name) return level;
        known += std::string(" ") + name;
    }
    throw InputError("--feature-level: " + text + " is none of" + known);
}

void add(const AddOptions &options) {
    check_output_path(options.output);
    const Array a = load_array(options.a, /*normalize=*/false, options.image_limits),
                b = load_array(options.b, /*normalize=*/false, options.image_limits);
    if (a.type != b.type)
        throw InputError("ATensor (" + a.name + ") is " + std::string(type_name(a.type)) + " and BTensor (" + b.name + ") " +
                         std::string(type_name(b.type)) + ": they must have one data type");
    const Sizes sizes = broadcast_sizes(a, b);
    run("add", AddDesc{broadcast_to(a, sizes, "ATensor"), broadcast_to(b, sizes, "BTensor"), {a.type, sizes}}, options,
        {{"ATensor", &a}, {"BTensor", &b}});
}

void quantize(const LinearOptions &options) {
    check_output_path(options.output);
    const DataType type = type_from_name(options.type).value();
    const Array input = load_array(options.input, /*normalize=*/true, options.image_limits);
    const Array scale = load_parameter(options.scale, input.type == DataType::FLOAT16 ? DataType::FLOAT16 : DataType::FLOAT32,
                                       "--scale", options);
    linear<QuantizeLinearDesc>("quantize", options, input, scale, type, type);
}

void dequantize(const LinearOptions &options) {
    check_output_path(options.output);
    const Array input = load_array(options.input, /*normalize=*/false, options.image_limits);
    // The output has the scale's type. --type decides it for a number, and must agree with a file's.
    const DataType wanted = options.type.empty() ? DataType::FLOAT32 : type_from_name(options.type).value();
    const Array scale = load_parameter(options.scale, wanted, "--scale", options);
    if (!options.type.empty() && scale.type != wanted)
        throw InputError("ScaleTensor (" + scale.name + ") is " + std::string(type_name(scale.type)) +
                         ", but the output has the scale's type and --type is " + options.type);
    linear<DequantizeLinearDesc>("dequantize", options, input, scale, input.type, scale.type);
}

void qadd(const QaddOptions &options) {
    check_output_path(options.output);
    const Array a = load_array(options.a, /*normalize=*/false, options.image_limits),
                b = load_array(options.b, /*normalize=*/false, options.image_limits);
    const DataType type = options.type.empty() ? a.type : type_from_name(options.type).value();
    const auto zero_point = [&](const std::optional<std::string> &text, DataType due, const char *option) {
        return text ? std::optional<Array>(load_parameter(*text, due, option, options)) : std::nullopt;
    };
    const Array a_scale = load_parameter(options.a_scale, DataType::FLOAT32, "--a-scale", options),
                b_scale = load_parameter(options.b_scale, DataType::FLOAT32, "--b-scale", options),
                output_scale = load_parameter(options.output_scale, DataType::FLOAT32, "--scale", options);
    const std::optional<Array> a_zero_point = zero_point(options.a_zero_point, a.type, "--a-zero-point"),
                               b_zero_point = zero_point(options.b_zero_point, b.type, "--b-zero-point"),
                               output_zero_point = zero_point(options.output_zero_point, type, "--zero-point");

    const Sizes sizes = broadcast_sizes(a, b);
    const auto pointer = [](const std::optional<Array> &array) { return array ? &*array : nullptr; };
    const auto place = [&](const std::optional<Array> &array, const char *tensor) {
        return array ? std::optional<TensorDesc>(place_scalar(*array, sizes.size(), tensor)) : std::nullopt;
    };
    QuantizedLinearAddDesc desc;
    desc.a_tensor = broadcast_to(a, sizes, "ATensor");
    desc.a_scale_tensor = place_scalar(a_scale, sizes.size(), "AScaleTensor");
    desc.a_zero_point_tensor = place(a_zero_point, "AZeroPointTensor");
    desc.b_tensor = broadcast_to(b, sizes, "BTensor");
    desc.b_scale_tensor = place_scalar(b_scale, sizes.size(), "BScaleTensor");
    desc.b_zero_point_tensor = place(b_zero_point, "BZeroPointTensor");
    desc.output_scale_tensor = place_scalar(output_scale, sizes.size(), "OutputScaleTensor");
    desc.output_zero_point_tensor = place(output_zero_point, "OutputZeroPointTensor");
    desc.output_tensor = {type, sizes};
    run("qadd", desc, options,
        {{"ATensor", &a},
         {"AScaleTensor", &a_scale},
         {"AZeroPointTensor", pointer(a_zero_point)},
         {"BTensor", &b},
         {"BScaleTensor", &b_scale},
         {"BZeroPointTensor", pointer(b_zero_point)},
         {"OutputScaleTensor", &output_scale},
         {"OutputZeroPointTensor", pointer(output_zero_point)}});
}

}  // namespace hewn::cli
