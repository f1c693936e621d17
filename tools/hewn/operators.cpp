#include "operators.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <type_traits>

#include "../../reference/types.h"
#include "array.h"
#include "device.h"
#include "files.h"
#include "names.h"
#include "npy.h"
#include "progress.h"

namespace hewn::cli {

namespace {
// An input of the operator.
struct Operand {
    const TensorInfo *tensor;
    // Nothing: the input is absent.
    std::optional<Array> array;
    // The expected type. A number takes this type. For a file's array it serves only as advice in
    // messages, because the library checks the types.
    DataType due = DataType::FLOAT32;

    // "ZeroPointTensor: z.npy i64 [3], save it with .astype('|u1')"
    std::string describe() const {
        if (!array) return std::string(tensor->name) + ": absent";
        return std::string(tensor->name) + ": " + array->name + " " + array->describe() +
               (array->type != due ? ", " + astype_hint(due) : "");
    }
};

// The type that the user probably meant. NumPy stores integers as i64 by default. If the tensor
// cannot have that type, it is f32 or i32, whichever the tensor can have first.
DataType meant_by(const Array &array, const TensorInfo &tensor) {
    if (array.type != DataType::INT64 || allows(tensor, array.type)) return array.type;
    for (const DataType type : {DataType::FLOAT32, DataType::INT32}) {
        if (allows(tensor, type)) return type;
    }
    return array.type;
}

CompileOptions compile_options(const OperatorOptions &options) {
    CompileOptions result;
    result.feature_level = parse_feature_level(options.feature_level);
    result.variant = options.variant;
    result.max_threads = options.threads;
    return result;
}

Attributes numbers_of(const OperatorInfo &op, const std::vector<std::string> &words) {
    Attributes numbers;
    size_t choice = 0;
    for (size_t i = 0; i < words.size(); i++) {
        const AttributeInfo &attribute = op.attributes[i];
        if (belongs_to_choice(attribute)) {
            const std::string option = std::string("--") + attribute.name;
            numbers.push_back(0);
            if (!words[i].empty() && !is_number(words[i]))
                throw InputError(option + ": '" + words[i] + "' is not a number");
            if (!words[i].empty())
                numbers.back() =
                    array_from_number(words[i], DataType::FLOAT32, option).as<int32_t>()[0];
            else if (has(numbers[choice], attribute) && !is_optional(attribute))
                throw InputError(option + ": is missing; --" + op.attributes[choice].name + " " +
                                 words[choice] + " needs it");
            continue;
        }
        choice = i;
        const std::vector<std::string> all = words_of(attribute);
        const auto found = std::find(all.begin(), all.end(), words[i]);
        numbers.push_back(found == all.end() ? 0 : int32_t(found - all.begin()));
    }
    return numbers;
}

// "InputTensor (x.npy"
std::string opening(const Operand &operand) {
    return std::string(operand.tensor->name) + " (" + operand.array->name;
}

// "ATensor (a.npy) is f32"
std::string type_text(const Operand &operand, const char *verb = "is ") {
    return opening(operand) + ") " + verb + std::string(type_name(operand.array->type));
}

std::optional<size_t> resolve_axis(const std::optional<int> &axis, const Operand &input) {
    if (!axis) return std::nullopt;
    const int rank = int(input.array->sizes.size());
    if (*axis < -rank || *axis >= rank)
        throw InputError("--axis " + std::to_string(*axis) + ": " + opening(input) + ") has " +
                         std::to_string(rank) + " dimensions");
    return size_t(*axis < 0 ? *axis + rank : *axis);
}

// How scales and zero points lie over the first input's sizes.
class Layout {
public:
    Layout(const Operand &input, const Sizes &sizes, const OperatorOptions &options)
        : axis_(resolve_axis(options.axis, input)),
          sizes_(sizes),
          block_sizes_(sizes.size(), 1),
          stored_(sizes) {
        if (!options.block_size) return;
        set_block(*options.block_size);
    }

    // The blocks of an operator that chooses scales: of --block-size elements along --axis, of all
    // elements along it, or of all elements.
    static Sizes chosen_blocks(const Operand &input, const Sizes &sizes,
                               const OperatorOptions &options) {
        if (!options.axis) {
            Sizes all = sizes;
            for (int64_t &size : all) size = std::max<int64_t>(size, 1);
            return all;
        }
        Layout layout(input, sizes, options);
        const size_t axis = layout.axis_.value();
        if (!options.block_size) layout.set_block(std::max<int64_t>(sizes.at(axis), 1));
        return layout.block_sizes_;
    }

private:
    void set_block(int64_t block) {
        block_sizes_.at(axis_.value()) = block;
        int64_t &size = stored_.at(*axis_);
        size = size / block + (size % block != 0);
    }

public:
    // The description of a scale or zero point. It lies along --axis if that is given and the array
    // is 1-D with more than one element; otherwise it is broadcast by NumPy's rule.
    TensorDesc parameter(const Array &array, const char *tensor) const {
        try {
            const bool along = axis_ && array.sizes.size() == 1 && array.sizes[0] != 1;
            TensorDesc desc = along ? broadcast_along(array, stored_, *axis_, tensor)
                                    : broadcast_to(array, stored_, tensor);
            desc.sizes = sizes_;
            desc.block_sizes = block_sizes_;
            return desc;
        } catch (const InputError &error) {
            throw InputError(std::string(error.what()) +
                             (stored_ != sizes_
                                  ? "; with --block-size " + std::to_string(block_sizes_[*axis_]) +
                                        " the input's sizes count blocks"
                              : !axis_ ? "; --axis says which dimension a 1-D array belongs to"
                                       : ""));
        }
    }

private:
    std::optional<size_t> axis_;
    Sizes sizes_, block_sizes_;
    // The input's sizes, but with the number of blocks along the axis.
    Sizes stored_;
};

// The description of a scale or zero point that must have one element: all sizes are 1, and the
// rank is the operator's.
TensorDesc place_scalar(const Array &array, size_t rank, const char *tensor) {
    if (array.count() != 1)
        throw InputError(std::string(tensor) + " (" + array.name + ") has " +
                         std::to_string(array.count()) + " elements, expected 1");
    return {array.type, Sizes(rank, 1)};
}

// The number in an array of one element, with as many digits as reading it back needs.
std::string number(const Array &array) {
    char text[32];
    const Array whole = array.to_file_type();
    double value = 0;
    hewn_test::with_any_type(hewn_data_type(whole.type), [&](auto tag) {
        using T = decltype(tag);
        const T element = hewn_test::element<T>(whole.data.get(), 0);
        if constexpr (std::is_arithmetic_v<T>) value = double(element);
        else if constexpr (std::is_convertible_v<T, int>) value = int(element);
        else value = double(reference::to_f32(element));
    });
    std::snprintf(text, sizeof text, "%.9g", value);
    return text;
}

// One run of an operator's command.
class Run {
public:
    Run(const OperatorInfo &op, const OperatorOptions &options) : op_(op), options_(options) {
        for (const TensorInfo &tensor : op.tensors) {
            if (tensor.role != HEWN_TENSOR_ROLE_OUTPUT)
                operands_.push_back({&tensor, std::nullopt});
        }
    }

    void run() {
        check_output_paths();
        load_data();
        check_like();
        load_parameters();
        const Operand &first = operands_.front();
        Sizes sizes = first.array->sizes;
        for (const Operand &other : operands_) {
            if (&other != &first && other.tensor->role == HEWN_TENSOR_ROLE_DATA)
                sizes = broadcast_sizes(*first.array, first.tensor->name, *other.array,
                                        other.tensor->name);
        }
        attributes_ = numbers_of(op_, options_.attributes);
        check_output_type(options_.output,
                          is_float(output_type_) ? output_type_ : file_type(output_type_), sizes);
        for_each_other_output([&](const TensorInfo &tensor, const std::string &file) {
            if (file.empty()) return;
            const DataType type = due(tensor);
            check_output_type(file, is_float(type) ? type : file_type(type),
                              stored_sizes(tensor, sizes));
            if (!is_written(tensor))
                throw InputError(argument_of(op_, tensor) + " " + file + ": " + tensor.name +
                                 " is written " + when_written() + " only");
        });
        execute_and_save(sizes, describe(sizes));
    }

private:
    const OperatorInfo &op_;
    const OperatorOptions &options_;
    std::vector<Operand> operands_;  // the inputs
    DataType output_type_ = DataType::FLOAT32;
    Attributes attributes_;

    // The input that may be absent, of an operator without attributes.
    const Operand *optional_input() const {
        const auto is_optional = [](const Operand &operand) { return operand.tensor->optional; };
        const auto found = std::find_if(operands_.begin(), operands_.end(), is_optional);
        return found == operands_.end() ? nullptr : &*found;
    }
    bool is_written(const TensorInfo &output) const {
        const Operand *optional = optional_input();
        return writes(op_, size_t(&output - op_.tensors.data()), attributes_,
                      optional && optional->array);
    }
    // "with --mode asymmetric", "without --tensor-scale"
    std::string when_written() const {
        if (op_.attributes.empty()) return "without " + argument_of(op_, *optional_input()->tensor);
        return std::string("with --") + op_.attributes[0].name + " " +
               words_of(op_.attributes[0]).front();
    }
    // The sizes of an output after the first.
    Sizes stored_sizes(const TensorInfo &output, const Sizes &sizes) const {
        if (!chooses_blocks(op_) || output.one_element) return {};
        const Sizes blocks = Layout::chosen_blocks(operands_.front(), sizes, options_);
        Sizes stored;
        for (size_t d = 0; d < sizes.size(); d++)
            stored.push_back((sizes[d] + blocks[d] - 1) / blocks[d]);
        return stored;
    }

    void check_output_paths() const {
        check_output_path(options_.output);
        std::vector<std::pair<std::string, std::string>> outputs = {{"-o", options_.output}};
        for_each_other_output([&](const TensorInfo &tensor, const std::string &file) {
            if (file.empty()) return;
            const std::string argument = argument_of(op_, tensor);
            const std::string option = argument.substr(0, argument.find(','));
            check_output_path(file);
            for (const auto &[other_option, other] : outputs)
                if (is_same_output(file, other))
                    throw InputError(option + " " + file + ": is the same file as " + other_option +
                                     " " + other + "; each output needs a file of its own");
            outputs.emplace_back(option, file);
        });
    }

    const TensorInfo &output() const { return output_of(op_); }
    bool is_data(size_t i) const { return operands_[i].tensor->role == HEWN_TENSOR_ROLE_DATA; }

    // Loads the data inputs: files first, because a number takes the type of the other input.
    void load_data() {
        const Operand *file = nullptr;
        for (size_t i = 0; i < operands_.size(); i++) {
            if (!is_data(i) || (takes_number(op_, i) && is_number(*options_.inputs[i]))) continue;
            // An image is read as f32 if the tensor cannot be u8.
            const bool normalize = !allows(*operands_[i].tensor, DataType::UINT8);
            operands_[i].array = checked(narrowed(
                load_array(*options_.inputs[i], normalize, options_.image_limits, input_type())));
            operands_[i].due = meant_by(*operands_[i].array, *operands_[i].tensor);
            if (!file) file = &operands_[i];
        }
        if (!file) {
            throw InputError(std::string(op_.command) + ": " + *options_.inputs[0] + " and " +
                             *options_.inputs[1] +
                             " are both numbers; one must be a file, which gives the type");
        }
        for (size_t i = 0; i < operands_.size(); i++) {
            if (!is_data(i) || operands_[i].array) continue;
            operands_[i].array = array_from_number(*options_.inputs[i], file->array->type,
                                                   argument_of(op_, *operands_[i].tensor));
            operands_[i].due = file->due;
        }
    }

    // The type of --input-type, or the only one that the input can have, if it is a small float.
    std::optional<DataType> input_type() const {
        const std::vector<DataType> types = types_of(op_.tensors.front());
        if (types.size() == 1 && is_small_float(types.front())) return types.front();
        return type_from_name(options_.input_type);
    }

    // With --input-type, checks that the array has this type.
    Array checked(const Array &array) const {
        if (!input_type() || array.type == *input_type()) return array;
        const std::string option = options_.input_type.empty()
                                       ? std::string(op_.command)
                                       : "--input-type " + options_.input_type;
        throw InputError(option + ": " + array.name + " is " + std::string(type_name(array.type)) +
                         "; such values are in files of bytes without a type ('|V1')");
    }

    // With --bits, converts the array to the sub-byte type with as many bits.
    Array narrowed(const Array &array) const {
        if (!options_.bits) return array;
        const std::string name = std::string(type_name(array.type)).substr(0, 1);
        if (array.type != DataType::INT8 && array.type != DataType::UINT8)
            throw InputError("--bits " + std::to_string(*options_.bits) + ": " + array.name +
                             " is " + std::string(type_name(array.type)) +
                             "; such values are in files of u8 or i8");
        return array.to_packed(type_from_name(name + std::to_string(*options_.bits)).value());
    }

    // The library checks this too, but cannot tell the user which file to convert.
    void check_like() {
        for (size_t i = 0; i < operands_.size(); i++) {
            if (!is_data(i) || operands_[i].tensor->like < 0) continue;
            const Operand &like = operands_.at(size_t(operands_[i].tensor->like));
            const DataType type = operands_[i].array->type, other = like.array->type;
            if (type == other) continue;
            throw InputError(type_text(like) + " and " + type_text(operands_[i], "") +
                             ": they must have one data type; " +
                             astype_hint(other == DataType::INT64 ? type : other));
        }
    }

    // Loads the scales, decides the output's type, and loads the zero points, in this order,
    // because the types follow from each other.
    void load_parameters() {
        for (const hewn_tensor_role role :
             {HEWN_TENSOR_ROLE_SCALE, HEWN_TENSOR_ROLE_OUTPUT, HEWN_TENSOR_ROLE_ZERO_POINT}) {
            if (role == HEWN_TENSOR_ROLE_OUTPUT) set_output_type();
            for (size_t i = 0; i < operands_.size(); i++) {
                Operand &operand = operands_[i];
                if (operand.tensor->role != role || !options_.inputs[i] || operand.array) continue;
                operand.due = due(*operand.tensor);
                operand.array = load_parameter(*options_.inputs[i], operand);
                if (operand.tensor == typed_by_option(op_)) check_typed(operand);
            }
        }
    }

    // The expected type of the tensor.
    DataType due(const TensorInfo &tensor) const {
        if (tensor.like >= 0) {
            const bool output = size_t(tensor.like) == operands_.size();
            return type_like(tensor, output ? output_type_ : operands_[size_t(tensor.like)].due);
        }
        if (&tensor == typed_by_option(op_) && !options_.type.empty())
            return type_from_name(options_.type).value();
        if (tensor.role == HEWN_TENSOR_ROLE_OUTPUT && !options_.scale_type.empty())
            return type_from_name(options_.scale_type).value();
        return types_of(tensor).front();
    }

    // The small float that a scale or zero point has in a file of bytes without a type: the
    // expected type, or the only small float that the tensor can have.
    static std::optional<DataType> untyped(const Operand &operand) {
        if (is_small_float(operand.due)) return operand.due;
        std::optional<DataType> only;
        for (const DataType type : types_of(*operand.tensor)) {
            if (!is_small_float(type)) continue;
            if (only) return std::nullopt;
            only = type;
        }
        return only;
    }

    // Loads a scale or zero point: a number becomes the expected type; a file's array stays as it
    // is, because the library checks its type.
    Array load_parameter(const std::string &text, const Operand &operand) const {
        const std::string argument = argument_of(op_, *operand.tensor),
                          option = argument.substr(0, argument.find(','));
        if (is_number(text))
            return without_offset(array_from_number(text, operand.due, option), operand);
        std::error_code unreadable;
        if (text != "-" && !std::filesystem::exists(text, unreadable))
            throw InputError(option + ": '" + text + "' is neither a number nor a file");
        const Array array =
            load_array(text, /*normalize=*/false, options_.image_limits, untyped(operand));
        return without_offset(
            array.type == file_type(operand.due) ? array.to_packed(operand.due) : array, operand);
    }

    // Refuses a zero point of small floats that is not 0. The library does not read it.
    static Array without_offset(Array array, const Operand &operand) {
        if (operand.tensor->role != HEWN_TENSOR_ROLE_ZERO_POINT || !is_small_float(array.type))
            return array;
        const uint8_t *const codes = array.as<uint8_t>();
        if (std::all_of(codes, codes + array.bytes, [](uint8_t code) { return code == 0; }))
            return array;
        throw InputError("--zero-point: " + array.name + " is not 0 everywhere; a zero point of " +
                         std::string(type_name(array.type)) + " must be 0");
    }

    // Checks a scale whose type the output has. --type decides a number's type, but a file's type
    // must agree with it, unless the operator takes floats of two types.
    void check_typed(Operand &scale) const {
        const bool mixes = mixes_floats(op_) && allows(*scale.tensor, scale.array->type);
        if (!options_.type.empty() && scale.array->type != scale.due && !mixes)
            throw InputError(type_text(scale) +
                             ", but the output has the scale's type and --type is " +
                             options_.type + "; " + astype_hint(scale.due));
        if (allows(*scale.tensor, scale.array->type)) scale.due = scale.array->type;
    }

    void set_output_type() {
        const bool asked = !options_.type.empty() && (output().like < 0 || mixes_floats(op_));
        if (asked) output_type_ = type_from_name(options_.type).value();
        else if (output().like >= 0) output_type_ = operands_[size_t(output().like)].array->type;
        else output_type_ = default_output_type();
    }

    // The output's type without --type, chosen as in Python: the type of the output's zero point,
    // if that is a file (it is loaded here); otherwise the first input's, if outputs may have it;
    // otherwise usual_output_type().
    DataType default_output_type() {
        for (size_t i = 0; i < operands_.size(); i++) {
            Operand &operand = operands_[i];
            if (operand.tensor->like != int(operands_.size()) || !options_.inputs[i] ||
                is_number(*options_.inputs[i]))
                continue;
            operand.array = load_parameter(*options_.inputs[i], operand);
            if (allows(output(), operand.array->type)) return operand.due = operand.array->type;
            operand.array.reset();  // load_parameters loads it again, and the library refuses it
        }
        return has_type_of_input(op_) ? operands_.front().array->type
                                      : usual_output_type(op_).value();
    }

    // Visits the outputs after the first with their files.
    template<class Visit>
    void for_each_other_output(const Visit &visit) const {
        for (size_t i = operands_.size() + 1; i < op_.tensors.size(); i++)
            visit(op_.tensors[i], options_.other_outputs[i - operands_.size() - 1]);
    }

    // The description's tensors, the outputs last.
    std::vector<std::optional<TensorDesc>> describe(const Sizes &sizes) const {
        const Layout layout(operands_.front(), sizes, options_);
        std::vector<std::optional<TensorDesc>> descs;
        for (const Operand &operand : operands_) {
            const char *name = operand.tensor->name;
            if (!operand.array) descs.push_back(std::nullopt);
            else if (operand.tensor->role == HEWN_TENSOR_ROLE_DATA)
                descs.push_back(broadcast_to(*operand.array, sizes, name));
            else if (operand.tensor->one_element)
                descs.push_back(place_scalar(*operand.array, sizes.size(), name));
            else descs.push_back(layout.parameter(*operand.array, name));
        }
        descs.push_back(TensorDesc{output_type_, sizes, contiguous_strides(sizes)});
        for_each_other_output([&](const TensorInfo &tensor, const std::string &) {
            if (!is_written(tensor)) descs.push_back(std::nullopt);
            else if (chooses_blocks(op_) && !tensor.one_element)
                descs.push_back(TensorDesc::in_blocks(
                    due(tensor), sizes, Layout::chosen_blocks(operands_.front(), sizes, options_)));
            else descs.push_back(TensorDesc{due(tensor), Sizes(sizes.size(), 1)});
        });
        return descs;
    }

    void execute_and_save(const Sizes &sizes, const std::vector<std::optional<TensorDesc>> &descs) {
        std::vector<const TensorDesc *> tensors;
        for (const auto &desc : descs) tensors.push_back(desc ? &*desc : nullptr);
        try {
            const std::optional<Device> device = open_device(options_.device);
            const Operator op = compile(op_.type, tensors, compile_options(options_),
                                        device ? &*device : nullptr, attributes_);
            std::vector<Array> results = {Array::allocate(options_.output, output_type_, sizes)};
            for_each_other_output([&](const TensorInfo &tensor, const std::string &file) {
                results.push_back(is_written(tensor) ? Array::allocate(file, due(tensor),
                                                                       stored_sizes(tensor, sizes))
                                                     : Array{});
            });
            const Array &result = results.front();
            std::vector<const Array *> inputs;
            uint64_t bytes = result.bytes;
            for (const Operand &operand : operands_) {
                inputs.push_back(operand.array ? &*operand.array : nullptr);
                if (operand.array) bytes += operand.array->bytes;
            }
            {
                Progress progress(std::string("computing ") + op.variant(), bytes);
                execute(op, device ? &*device : nullptr, inputs, results);
                progress.advance(bytes);
            }
            std::vector<Array> files;
            for (const Array &each : results)
                if (!each.name.empty()) files.push_back(each.to_file_type());
            save_arrays(files);
            std::cout << options_.output << ": " << result.describe() << " by " << op.variant();
            for (size_t i = 1; i < results.size(); i++) {
                if (!results[i].data) continue;
                std::cout << "; " << op_.tensors[operands_.size() + i].name << " "
                          << (results[i].count() == 1 ? number(results[i]) : results[i].describe());
            }
            std::cout << "\n";
        } catch (const Error &error) {
            refuse(error);
        }
    }

    // Throws the library's error again, with the files of all tensors: the library knows only
    // tensors, but the user knows files.
    [[noreturn]] void refuse(const Error &error) const {
        std::string text = std::string(op_.command) + ": " + error.what() + " (";
        const char *separator = "";
        for (const Operand &operand : operands_) {
            text += separator + operand.describe();
            separator = "; ";
        }
        if (error.status() == HEWN_STATUS_OUT_OF_MEMORY) throw MemoryError(text + ")");
        throw OperatorError(text + ")");
    }
};
}  // namespace

namespace {
// "OutputScale" for OutputScaleTensor.
std::string brief_name(const TensorInfo &tensor) {
    const std::string whole = tensor.name;
    return whole.substr(0, whole.size() - std::string("Tensor").size());
}
// "--output-scale" for OutputScaleTensor.
std::string option_of(const TensorInfo &tensor) {
    std::string option = "-";
    for (const char c : brief_name(tensor)) {
        if (std::isupper(static_cast<unsigned char>(c))) option += '-';
        option += char(std::tolower(static_cast<unsigned char>(c)));
    }
    return option;
}
}  // namespace

std::string argument_of(const OperatorInfo &op, const TensorInfo &tensor) {
    if (tensor.role == HEWN_TENSOR_ROLE_DATA)
        return brief_name(tensor) == "Input" ? "IN" : brief_name(tensor);
    const std::string option = option_of(tensor), output = "--output-";
    if (option.rfind(output, 0) != 0) return option;
    const std::string brief = "--" + option.substr(output.size());
    const bool is_taken =
        std::any_of(op.tensors.begin(), op.tensors.end(),
                    [&](const TensorInfo &other) { return option_of(other) == brief; });
    return is_taken ? option : brief + "," + option;
}

bool takes_number(const OperatorInfo &op, size_t input) {
    const size_t inputs = input_count(op);
    if (std::any_of(op.tensors.begin(), op.tensors.begin() + ptrdiff_t(inputs), is_parameter))
        return false;
    for (size_t i = 0; i < inputs; i++) {
        const bool alike = op.tensors[i].like == int(input) || op.tensors[input].like == int(i);
        if (i != input && alike) return true;
    }
    return false;
}

const TensorInfo *typed_by_option(const OperatorInfo &op) {
    if (output_of(op).like >= 0) return scale_of_output(op);
    return types_of(output_of(op)).size() > 1 ? &output_of(op) : nullptr;
}

std::optional<DataType> usual_output_type(const OperatorInfo &op) {
    for (const DataType type : {DataType::UINT8, DataType::FLOAT32})
        if (allows(output_of(op), type)) return type;
    const std::vector<DataType> types = types_of(output_of(op));
    return types.size() == 1 ? std::optional(types.front()) : std::nullopt;
}

bool has_type_of_input(const OperatorInfo &op) {
    return (op.tensors.front().types & ~output_of(op).types) == 0;
}

FeatureLevel parse_feature_level(const std::string &text) {
    if (text.empty()) return FeatureLevel::NEWEST;
#define HEWN_LEVEL(name, word, number) \
    if (text == word) return FeatureLevel(number);
#include "types.inc"
    throw InputError("--feature-level: " + text + " is none of " + joined(feature_level_words()));
}

std::vector<std::string> feature_level_words() {
    return {
#define HEWN_LEVEL(name, word, number) word,
#include "types.inc"
    };
}

void run_operator(const OperatorInfo &op, const OperatorOptions &options) {
    Run(op, options).run();
}

}  // namespace hewn::cli
