#include "operators.h"

#include <filesystem>
#include <initializer_list>
#include <iostream>

#include "array.h"
#include "device.h"
#include "files.h"
#include "npy.h"
#include "progress.h"

namespace hewn::cli {

namespace {
// A tensor's name in DirectML and the array bound to it (null: absent). `due` is for a hint alone: the library checks types.
struct Operand {
    const char *tensor;
    const Array *array;
    std::optional<DataType> due = std::nullopt;

    // "ZeroPointTensor: z.npy i64 [3], save it with .astype('|u1')"
    std::string describe() const {
        if (!array) return std::string(tensor) + ": absent";
        const bool astype = due && array->type != *due;
        return std::string(tensor) + ": " + array->name + " " + array->describe() + (astype ? ", " + astype_hint(*due) : "");
    }
};

// NumPy's own choice for integers is i64, which only ADD takes: most likely `other` was meant.
DataType meant_by(const Array &array, DataType other) { return array.type == DataType::INT64 ? other : array.type; }

CompileOptions compile_options(const CommonOptions &options) {
    CompileOptions result;
    result.feature_level = parse_feature_level(options.feature_level);
    result.variant = options.variant;
    result.max_threads = options.threads;
    return result;
}

// Compiles, executes, saves an output of these sizes. The library's errors speak of tensors, but the user knows files, so an
// error here names both.
template<class Desc>
void run(const char *command, const Desc &desc, const Sizes &sizes, const CommonOptions &options,
         std::initializer_list<Operand> operands) {
    const DataType type = desc.output_tensor.data_type;
    check_output_type(options.output, type, sizes);
    try {
        const std::optional<Device> device = open_device(options.device);
        const Operator op = compile(desc, compile_options(options), device ? &*device : nullptr);
        Array result = Array::allocate(options.output, type, sizes);
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
            text += separator + operand.describe();
            separator = "; ";
        }
        if (sizes != desc.output_tensor.sizes) text += "; in blocks: sizes " + to_string(desc.output_tensor.sizes);
        if (error.status() == HEWN_STATUS_OUT_OF_MEMORY) throw MemoryError(text + ")");
        throw OperatorError(text + ")");
    }
}

// A scale or zero point: a number as the type `due`, or a file's array as it is (the library checks its type).
Array load_parameter(const std::string &text, DataType due, const std::string &option, const CommonOptions &options) {
    if (is_number(text)) return array_from_number(text, due, option);
    std::error_code unreadable;
    if (text != "-" && !std::filesystem::exists(text, unreadable))
        throw InputError(option + ": '" + text + "' is neither a number nor a file");
    return load_array(text, /*normalize=*/false, options.image_limits);
}

std::optional<size_t> resolve_axis(const std::optional<int> &axis, const Array &input) {
    if (!axis) return std::nullopt;
    const int rank = int(input.sizes.size());
    if (*axis < -rank || *axis >= rank)
        throw InputError("--axis " + std::to_string(*axis) + ": InputTensor (" + input.name + ") has " + std::to_string(rank) +
                         " dimensions");
    return size_t(*axis < 0 ? *axis + rank : *axis);
}

// How the tensors of QUANTIZE_LINEAR and DEQUANTIZE_LINEAR are described. With --block-size, the axis becomes two dimensions, the
// blocks and the elements of a block: parameters, one for each block, repeat along the latter.
class Layout {
public:
    Layout(const Array &input, const LinearOptions &options)
        : axis_(resolve_axis(options.axis, input)), block_(options.block_size), parameters_(input.sizes) {
        if (!block_) return;
        const std::string option = "--block-size " + std::to_string(*block_),
                          of = " of InputTensor (" + input.name + " " + input.describe() + ")";
        int64_t &size = parameters_.at(axis_.value());
        if (size % *block_ != 0)
            throw InputError(option + " does not divide the " + std::to_string(size) + " elements of axis " +
                             std::to_string(*axis_) + of);
        if (input.sizes.size() == HEWN_DIMENSION_COUNT_MAX)
            throw InputError(option + " makes two dimensions of axis " + std::to_string(*axis_) + of + ", which has " +
                             std::to_string(HEWN_DIMENSION_COUNT_MAX) + " dimensions, the most, already");
        size /= *block_;
    }

    TensorDesc input(const Array &array) const {
        if (!block_) return {array.type, array.sizes, array.strides};
        Sizes strides = array.strides;
        strides[*axis_] *= *block_;
        return in_blocks({array.type, parameters_, strides}, array.strides[*axis_]);
    }

    // A scale or zero point: along the axis if --axis is given and it is 1-D with more than one element, else by NumPy's rule.
    TensorDesc parameter(const Array &array, const char *tensor) const {
        try {
            const bool along = axis_ && array.sizes.size() == 1 && array.sizes[0] != 1;
            const TensorDesc desc =
                along ? broadcast_along(array, parameters_, *axis_, tensor) : broadcast_to(array, parameters_, tensor);
            return block_ ? in_blocks(desc, 0) : desc;
        } catch (const InputError &error) {
            throw InputError(std::string(error.what()) +
                             (block_   ? "; with --block-size " + std::to_string(*block_) + " the input's sizes count blocks"
                              : !axis_ ? "; --axis says which dimension a 1-D array belongs to"
                                       : ""));
        }
    }

private:
    // `desc` describes the blocks; `stride` is that of the elements of a block.
    TensorDesc in_blocks(TensorDesc desc, int64_t stride) const {
        const auto after = std::ptrdiff_t(*axis_) + 1;
        desc.sizes.insert(desc.sizes.begin() + after, *block_);
        desc.strides->insert(desc.strides->begin() + after, stride);
        return desc;
    }

    std::optional<size_t> axis_;
    std::optional<int> block_;
    Sizes parameters_;  // the input's sizes, with as many along the axis as there are blocks
};

// QUANTIZE_LINEAR and DEQUANTIZE_LINEAR take the same tensors; only the types differ.
struct LinearTypes {
    DataType input, scale, zero_point, output;  // of the inputs those that are due
};

template<class Desc>
void linear(const char *command, const LinearOptions &options, const Array &input, const Array &scale, const LinearTypes &types) {
    std::optional<Array> zero_point;
    if (options.zero_point) zero_point = load_parameter(*options.zero_point, types.zero_point, "--zero-point", options);
    const Layout layout(input, options);
    Desc desc;
    desc.input_tensor = layout.input(input);
    desc.scale_tensor = layout.parameter(scale, "ScaleTensor");
    if (zero_point) desc.zero_point_tensor = layout.parameter(*zero_point, "ZeroPointTensor");
    desc.output_tensor = {types.output, desc.input_tensor.sizes};
    run(command, desc, input.sizes, options,
        {{"InputTensor", &input, types.input},
         {"ScaleTensor", &scale, types.scale},
         {"ZeroPointTensor", zero_point ? &*zero_point : nullptr, types.zero_point}});
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
    const bool number_a = is_number(options.a), number_b = is_number(options.b);
    if (number_a && number_b)
        throw InputError("add: " + options.a + " and " + options.b +
                         " are both numbers; one must be a file, which gives the type");
    const auto load = [&](const std::string &path) { return load_array(path, /*normalize=*/false, options.image_limits); };
    Array a, b;
    if (!number_a) a = load(options.a);
    b = number_b ? array_from_number(options.b, a.type, "B") : load(options.b);
    if (number_a) a = array_from_number(options.a, b.type, "A");
    if (a.type != b.type)
        throw InputError("ATensor (" + a.name + ") is " + std::string(type_name(a.type)) + " and BTensor (" + b.name + ") " +
                         std::string(type_name(b.type)) + ": they must have one data type; " + astype_hint(meant_by(a, b.type)));
    const Sizes sizes = broadcast_sizes(a, b);
    run("add", AddDesc{broadcast_to(a, sizes, "ATensor"), broadcast_to(b, sizes, "BTensor"), {a.type, sizes}}, sizes, options,
        {{"ATensor", &a}, {"BTensor", &b}});
}

void quantize(const LinearOptions &options) {
    check_output_path(options.output);
    const DataType type = type_from_name(options.type).value();
    const Array input = load_array(options.input, /*normalize=*/true, options.image_limits);
    const DataType scale_type = input.type == DataType::FLOAT16 ? DataType::FLOAT16 : DataType::FLOAT32;
    const Array scale = load_parameter(options.scale, scale_type, "--scale", options);
    linear<QuantizeLinearDesc>("quantize", options, input, scale, {meant_by(input, DataType::FLOAT32), scale_type, type, type});
}

void dequantize(const LinearOptions &options) {
    check_output_path(options.output);
    const Array input = load_array(options.input, /*normalize=*/false, options.image_limits);
    // The output has the scale's type. --type decides it for a number, and must agree with a file's.
    const DataType wanted = options.type.empty() ? DataType::FLOAT32 : type_from_name(options.type).value();
    const Array scale = load_parameter(options.scale, wanted, "--scale", options);
    if (!options.type.empty() && scale.type != wanted)
        throw InputError("ScaleTensor (" + scale.name + ") is " + std::string(type_name(scale.type)) +
                         ", but the output has the scale's type and --type is " + options.type + "; " + astype_hint(wanted));
    const DataType quantized = meant_by(input, DataType::INT32);
    linear<DequantizeLinearDesc>("dequantize", options, input, scale,
                                 {quantized, is_float(scale.type) ? scale.type : wanted, quantized, scale.type});
}

void qadd(const QaddOptions &options) {
    check_output_path(options.output);
    const Array a = load_array(options.a, /*normalize=*/false, options.image_limits),
                b = load_array(options.b, /*normalize=*/false, options.image_limits);
    const DataType type = options.type.empty() ? a.type : type_from_name(options.type).value();
    const auto scale = [&](const std::string &text, const char *option) {
        return load_parameter(text, DataType::FLOAT32, option, options);
    };
    const auto zero_point = [&](const std::optional<std::string> &text, DataType due, const char *option) {
        return text ? std::optional<Array>(load_parameter(*text, due, option, options)) : std::nullopt;
    };
    const Array a_scale = scale(options.a_scale, "--a-scale"), b_scale = scale(options.b_scale, "--b-scale"),
                output_scale = scale(options.output_scale, "--scale");
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
    run("qadd", desc, sizes, options,
        {{"ATensor", &a},
         {"AScaleTensor", &a_scale, DataType::FLOAT32},
         {"AZeroPointTensor", pointer(a_zero_point), a.type},
         {"BTensor", &b},
         {"BScaleTensor", &b_scale, DataType::FLOAT32},
         {"BZeroPointTensor", pointer(b_zero_point), b.type},
         {"OutputScaleTensor", &output_scale, DataType::FLOAT32},
         {"OutputZeroPointTensor", pointer(output_zero_point), type}});
}

}  // namespace hewn::cli
