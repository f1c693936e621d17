#include "problem.h"

#include <algorithm>
#include <cstring>

namespace hewn_python {

std::string Row::in_python(std::string message) const {
    for (size_t i = 0; i < count(); i++) {
        const std::string name = tensor(i).name;
        for (size_t at = 0; (at = message.find(name, at)) != message.npos; at += names[i].size())
            message.replace(at, name.size(), names[i]);
    }
    return message;
}

Arguments::Arguments(const Row &row, nb::tuple inputs, nb::tuple options) {
    nb::handle *keywords[] = {&axis, &block_size, &dtype,   &scale_dtype,
                              &out,  &threads,    &variant, &attributes};
    if (inputs.size() != row.output() || options.size() != std::size(keywords))
        throw std::logic_error("not an operator's arguments");
    for (size_t i = 0; i < inputs.size(); i++)
        this->inputs[i] = PyTuple_GetItem(inputs.ptr(), Py_ssize_t(i));
    for (size_t i = 0; i < options.size(); i++)
        *keywords[i] = PyTuple_GetItem(options.ptr(), Py_ssize_t(i));
    if (nb::len(attributes) != row.info.attributes.size())
        throw std::logic_error("not an operator's attributes");
}

Problem::Problem(const Row &row, const Arguments &given) : row_(&row) {
    take_arrays(given);
    resolve_types(given);
    broadcast_data();
    set_blocks(given);
    set_attributes(given);
    place();
    if (output_given_) take_output(given.out);
    describe_other_outputs(given);
}

// The names of a set of types: "float32, float16".
static std::string names_of(uint32_t types) {
    std::string names;
    for (hewn_data_type each = 1; each < 32; each++) {
        if (types >> each & 1 && has_name(each))
            names += (names.empty() ? "" : ", ") + name_of(each);
    }
    return names;
}

// ---- Outputs after the first ----

int64_t Problem::chosen_block(uint32_t d) const {
    const int64_t size = std::max<int64_t>(shape_.sizes[d], 1);
    if (axis_ < 0) return size;
    if (int(d) != axis_) return 1;
    return block_ ? block_ : size;
}

Shape Problem::other_shape(size_t i) const {
    Shape shape;
    // Without an axis there is one block, but an empty array has no block at all.
    const bool is_empty = std::count(shape_.sizes, shape_.sizes + shape_.rank, 0) > 0;
    if (!row_->is_chosen(i) || (axis_ < 0 && !is_empty)) return shape;
    shape.rank = shape_.rank;
    for (uint32_t d = 0; d < shape_.rank; d++) {
        const int64_t block = chosen_block(d);
        shape.sizes[d] = shape_.sizes[d] / block + (shape_.sizes[d] % block != 0);
    }
    return shape;
}

// An optional output belongs to the default of the operator's first attribute. If the operator has
// no attributes, it takes the place of an optional input.
bool Problem::leaves_out_optional() const {
    if (!attributes_.empty()) return attributes_[0] != 0;
    for (size_t i = 0; i < row_->output(); i++)
        if (row_->tensor(i).optional && tensors_[i].is_present()) return true;
    return false;
}

void Problem::describe_other_outputs(const Arguments &given) {
    const hewn_data_type asked = type_asked(given.scale_dtype);
    for (size_t i = row_->output() + 1; i < row_->count(); i++) {
        const hewn_operator_tensor_info &tensor = row_->tensor(i);
        if (tensor.optional && leaves_out_optional()) continue;
        tensors_[i].type = asked && tensor.like < 0 ? asked : due(i, HEWN_DATA_TYPE_UNKNOWN);
        if (asked && tensor.like < 0 && !(tensor.types >> asked & 1))
            refuse("scale_dtype",
                   "is " + name_of(asked) + "; expected one of " + names_of(tensor.types));
        int64_t stride = 1;
        for (uint32_t d = shape_.rank; d-- > 0;) {
            const int64_t block = row_->is_chosen(i) ? chosen_block(d) : 1,
                          count = (shape_.sizes[d] + block - 1) / block;
            tensors_[i].strides[d] = row_->is_chosen(i) && count <= 1 ? 0 : stride;
            if (row_->is_chosen(i)) stride *= std::max<int64_t>(count, 1);
        }
    }
}

// ---- Types ----

// The type to suggest to a user: float32 or uint8 if it is among the types, else the first of them.
static hewn_data_type common_type(uint32_t types) {
    for (const hewn_data_type type : {HEWN_DATA_TYPE_FLOAT32, HEWN_DATA_TYPE_UINT8})
        if (types >> type & 1) return type;
    hewn_data_type first = 1;
    while (!(types >> first & 1)) first++;
    return first;
}

void Problem::take_arrays(const Arguments &given) {
    for (size_t i = 0; i < row_->output(); i++) {
        const nb::handle argument = given.inputs[i];
        if (argument.is_none()) {
            if (!row_->tensor(i).optional) refuse(name(i), "is None, and not optional");
        } else if (!is_number(argument) && !is_list(argument)) {
            take_array(tensors_[i], argument, name(i));
        } else if (i == 0) {
            refuse(name(i), std::string("is a ") + (is_list(argument) ? "list" : "number") +
                                "; expected an array, whose type and sizes the others follow: "
                                "np.array(" +
                                name(i) + ", np." + name_of(common_type(row_->tensor(i).types)) +
                                ")");
        }
    }
}

// The package that has NumPy's class of a type.
static const char *module_of(hewn_data_type type) {
    const bool in_numpy =
        type != HEWN_DATA_TYPE_BFLOAT16 && !is_small_float(type) && !is_narrow(type);
    return in_numpy ? "np" : "ml_dtypes";
}

// Advice on how to convert an argument in its own framework. Empty if the framework is not known.
static std::string conversion(nb::handle given, const char *name, hewn_data_type type) {
    if (attribute(given, "astype").is_valid())
        return std::string("; use ") + name + ".astype(" + module_of(type) + "." + name_of(type) +
               ")";
    if (text_of(attribute(given.type(), "__module__")) == "torch")
        return std::string("; use ") + name + ".to(torch." + name_of(type) + ")";
    return "";
}

// Refuses arrays of types that their tensors can never have. This is done before the types of other
// tensors follow from them: otherwise the library's message would name one of those.
void Problem::refuse_other_types(const Arguments &given, hewn_data_type asked) const {
    for (size_t i = 0; i < row_->output(); i++) {
        const hewn_operator_tensor_info &tensor = row_->tensor(i);
        const hewn_data_type type = tensors_[i].type;
        if (tensors_[i].kind != Kind::array || tensor.types >> type & 1) continue;
        hewn_data_type fit = common_type(tensor.types);
        if (tensor.like == int(row_->output())) fit = asked ? asked : default_output_type();
        else if (tensor.like >= 0 && !row_->mixed[i]) fit = due(i, asked);
        // Data that becomes integers should be quantized instead.
        const bool converts =
            tensor.role != HEWN_TENSOR_ROLE_DATA || is_integer(type) == is_integer(fit);
        refuse(name(i),
               "is " + name_of(type) + "; the operator takes " + names_of(tensor.types) +
                   (converts ? conversion(given.inputs[i], name(i), fit) : ""),
               HEWN_STATUS_UNSUPPORTED);
    }
}

// The type that a number gets: that of the tensor that it is like, or else the type with the lowest
// number among those that it can have.
hewn_data_type Problem::due(size_t i, hewn_data_type asked) const {
    const hewn_operator_tensor_info &tensor = row_->tensor(i);
    if (tensor.like < 0) {
        const hewn_operator_tensor_info &output = row_->tensor(row_->output());
        if (output.like == int(i) && tensor.types & output.types & 1u << asked) return asked;
        hewn_data_type least = 1;
        while (!(tensor.types >> least & 1)) least++;
        return least;
    }
    const hewn_data_type type = tensors_[tensor.like].type;
    return tensor.like_integers && is_integer(type) ? tensor.like_integers : type;
}

// The output's type if no argument decides it: the first input's if that is quantized, that is if a
// zero point has its type; otherwise ONNX's default, or the only type.
hewn_data_type Problem::default_output_type() const {
    for (size_t i = 0; i < row_->output(); i++) {
        const hewn_operator_tensor_info &tensor = row_->tensor(i);
        if (tensor.role == HEWN_TENSOR_ROLE_ZERO_POINT && tensor.like == 0) return tensors_[0].type;
    }
    const uint32_t types = row_->tensor(row_->output()).types;
    const hewn_data_type type = common_type(types);
    if (type != HEWN_DATA_TYPE_FLOAT32 && type != HEWN_DATA_TYPE_UINT8 && types != 1u << type)
        refuse("dtype", "is missing; expected one of " + names_of(types));
    // The types of most operators that quantize include both.
    return types >> HEWN_DATA_TYPE_UINT8 & 1 ? hewn_data_type(HEWN_DATA_TYPE_UINT8) : type;
}

// The output's type: that of the tensor that it is like. A mixed output may have another one: the
// type that was asked for, or float32 if it cannot have the type of the other tensor, such as a
// scale of float8_e8m0fnu. If it is like none, it is the type that was asked for, the type of the
// output's zero point, or the default.
hewn_data_type Problem::output_type(hewn_data_type asked) const {
    const hewn_operator_tensor_info &output = row_->tensor(row_->output());
    if (output.like >= 0) {
        const hewn_data_type like = tensors_[output.like].type;
        if (!row_->mixed[row_->output()]) return like;
        if (output.types >> asked & 1) return asked;
        return output.types >> like & 1 ? like : common_type(output.types);
    }
    if (asked) return asked;
    for (size_t i = 0; i < row_->output(); i++) {
        if (row_->tensor(i).like == int(row_->output()) && tensors_[i].kind == Kind::array)
            return tensors_[i].type;
    }
    return default_output_type();
}

void Problem::convert_numbers(const Arguments &given, hewn_tensor_role role, hewn_data_type asked) {
    for (size_t i = 0; i < row_->output(); i++) {
        if (row_->tensor(i).role != role || tensors_[i].is_present()) continue;
        const nb::handle argument = given.inputs[i];
        if (!argument.is_none())
            take_numbers(tensors_[i], argument, due(i, asked), name(i),
                         role == HEWN_TENSOR_ROLE_SCALE);
    }
}

void Problem::resolve_types(const Arguments &given) {
    Tensor &output = this->output();
    hewn_data_type asked = type_asked(given.dtype);
    output_given_ = !given.out.is_none();
    if (output_given_) {
        take_array(output, given.out, "out", /*written=*/true);
        if (asked && asked != output.type)
            refuse("dtype", "is " + name_of(asked) + ", and out is " + name_of(output.type));
        asked = output.type;
    }
    refuse_other_types(given, asked);
    convert_numbers(given, HEWN_TENSOR_ROLE_DATA, asked);
    convert_numbers(given, HEWN_TENSOR_ROLE_SCALE, asked);
    const hewn_data_type type = output_type(asked);
    if (asked && asked != type) {
        const int like = row_->tensor(row_->output()).like;
        refuse(output_given_ ? "out" : "dtype",
               "is " + name_of(asked) + "; the output is " + name_of(type) +
                   (type == tensors_[like].type ? std::string(", as ") + name(like) : ""));
    }
    output.type = type;
    convert_numbers(given, HEWN_TENSOR_ROLE_ZERO_POINT, asked);
}

// ---- Sizes ----

void Problem::broadcast_data() {
    shape_ = tensors_[0].shape;
    for (size_t i = 1; i < row_->output(); i++) {
        if (row_->tensor(i).role != HEWN_TENSOR_ROLE_DATA) continue;
        const Shape first = shape_, &other = tensors_[i].shape;
        shape_.rank = std::max(first.rank, other.rank);
        for (uint32_t k = 1; k <= shape_.rank; k++) {  // from the innermost
            const int64_t a = k <= first.rank ? first.sizes[first.rank - k] : 1,
                          b = k <= other.rank ? other.sizes[other.rank - k] : 1;
            if (a != b && a != 1 && b != 1)
                refuse(name(i), other.text() + " cannot be broadcast with " + first.text());
            shape_.sizes[shape_.rank - k] = a == 1 ? b : a;
        }
    }
}

int64_t as_index(nb::handle given, const char *name) {
    const nb::object whole =
        nb::steal(PyIndex_Check(given.ptr()) ? PyNumber_Index(given.ptr()) : nullptr);
    if (!whole.is_valid()) {
        if (PyErr_Occurred()) forget_conversion_error();
        refuse(name, "is no integer (" + text_of(given.type()) + ")");
    }
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
    return overflow ? overflow * INT64_MAX : value;
}

void Problem::set_blocks(const Arguments &given) {
    if (!given.axis.is_none()) {
        const int64_t axis = as_index(given.axis, "axis"), rank = shape_.rank;
        if (axis < -rank || axis >= rank)
            refuse("axis", std::to_string(axis) + ", and " + name(0) + " has " +
                               std::to_string(rank) + " dimensions");
        axis_ = int(axis < 0 ? axis + rank : axis);
    }
    if (given.block_size.is_none()) return;
    block_ = as_index(given.block_size, "block_size");
    if (axis_ < 0) refuse("block_size", "needs an axis");
    if (block_ < 1) refuse("block_size", std::to_string(block_) + ", expected at least 1");
}

// The Python name of an attribute's value: "float16" for "f16", "bfloat16" for "bf16", "True" for
// "1".
static std::string in_python(std::string word) {
    if (word == "0" || word == "1") return word == "1" ? "True" : "False";
    const size_t digits = word.find_first_of("0123456789");
    if (digits == word.npos || digits == 0 || word[digits - 1] != 'f') return word;
    return word.insert(digits, "loat");
}

// The number of a choice's value. hewn_compile refuses the values that hewn does not compute.
static int32_t chosen_value(const hewn_operator_attribute_info &choice, nb::handle value) {
    if (value.is_none()) return 0;
    const std::string name = name_asked(value);
    std::string due;
    for (uint32_t number = 0; number < choice.known_count; number++) {
        const std::string word = in_python(choice.values[number]);
        if (word == name) return int32_t(number);
        if (number < choice.value_count) due += (due.empty() ? "" : ", ") + word;
    }
    refuse(choice.name, "is " + name + "; expected one of " + due);
}

// The bits of a parameter, rounded to f32.
static int32_t parameter_bits(const char *name, nb::handle value) {
    const double number = PyFloat_AsDouble(value.ptr());
    if (PyErr_Occurred()) {
        forget_conversion_error();
        refuse(name, "is no number (" + text_of(value.type()) + ")");
    }
    const float rounded = float(number);
    int32_t bits;
    std::memcpy(&bits, &rounded, sizeof bits);
    return bits;
}

void Problem::set_attributes(const Arguments &given) {
    size_t choice = 0;
    for (size_t i = 0; i < row_->info.attributes.size(); i++) {
        const hewn_operator_attribute_info &attribute = row_->info.attributes[i];
        const nb::handle value = PyTuple_GetItem(given.attributes.ptr(), Py_ssize_t(i));
        if (!attribute.of) {
            choice = i;
            attributes_.push_back(chosen_value(attribute, value));
        } else if (!value.is_none()) {
            attributes_.push_back(parameter_bits(attribute.name, value));
        } else {
            // A parameter that the choice's default has is 0 by default.
            const hewn_operator_attribute_info &of = row_->info.attributes[choice];
            const bool is_optional = attribute.of & 1;
            if (!is_optional && attribute.of >> attributes_[choice] & 1)
                refuse(attribute.name, std::string("is missing; ") + of.name + " " +
                                           of.values[attributes_[choice]] + " needs it");
            attributes_.push_back(0);
        }
    }
}

// Sets the tensor's strides so that it is broadcast to the shape by NumPy's rule.
void Problem::broadcast(Tensor &tensor, const Shape &to, const char *name) {
    const Shape &from = tensor.shape;
    for (uint32_t k = 1; k <= from.rank; k++) {
        const int64_t size = from.sizes[from.rank - k];
        if (size == 1) continue;
        if (k > to.rank || size != to.sizes[to.rank - k])
            refuse(name, from.text() + " cannot be broadcast to " + to.text() +
                             (from.rank == 1 ? "; axis says which dimension it goes along" : "") +
                             (block_ ? "; with block_size the axis counts blocks" : ""));
        tensor.strides[to.rank - k] = tensor.own_strides[from.rank - k];
    }
}

void Problem::place_parameter(size_t i, const Shape &blocks) {
    Tensor &tensor = tensors_[i];
    if (row_->tensor(i).one_element && tensor.count() != 1)
        refuse(name(i), "has " + std::to_string(tensor.count()) + " elements, expected 1");
    if (tensor.count() == 1) return;
    if (axis_ >= 0 && tensor.shape.rank == 1) {
        if (tensor.shape.sizes[0] != blocks.sizes[axis_])
            refuse(name(i), tensor.shape.text() + ", and there are " +
                                std::to_string(blocks.sizes[axis_]) + " along the axis");
        tensor.strides[axis_] = tensor.own_strides[0];
    } else {
        broadcast(tensor, blocks, name(i));
    }
}

void Problem::place() {
    Shape blocks = shape_;
    if (block_) {
        int64_t &size = blocks.sizes[axis_];
        size = size / block_ + (size % block_ != 0);
    }
    for (size_t i = 0; i < row_->output(); i++) {
        std::fill_n(tensors_[i].strides, shape_.rank, 0);
        if (row_->is_parameter(i)) place_parameter(i, blocks);
        else broadcast(tensors_[i], shape_, name(i));
    }
}

void Problem::place_output() {
    Tensor &output = this->output();
    std::copy(output.own_strides, output.own_strides + shape_.rank, output.strides);
}

void Problem::take_output(nb::handle out) {
    Tensor &output = this->output();
    if (!output_given_) take_array(output, out, "out", /*written=*/true);
    output_given_ = true;
    if (!(output.shape == shape_))
        refuse("out", "is " + output.shape.text() + "; the result is " + shape_.text());
    place_output();
}

void Problem::take_other_output(size_t i, nb::handle array) {
    take_array(tensors_[i], array, name(i), /*written=*/true);
}

void Problem::describe_contiguous_output() {
    Tensor &output = this->output();
    output.kind = Kind::array;
    output.shape = shape_;
    int64_t stride = 1;
    for (uint32_t k = shape_.rank; k-- > 0;) {
        output.own_strides[k] = shape_.sizes[k] > 1 ? stride : 1;  // as take_array does
        stride *= shape_.sizes[k];
    }
    place_output();
}

// ---- To the library ----

hewn::Operator Problem::compile(const std::string &variant, int threads,
                                const std::vector<bool> &constants) const {
    const uint32_t rank = shape_.rank;
    const std::vector<int64_t> sizes(shape_.sizes, shape_.sizes + rank), ones(rank, 1);
    std::vector<hewn::TensorDesc> descs(row_->count());
    std::vector<const hewn::TensorDesc *> tensors(row_->count());
    for (size_t i = 0; i < row_->count(); i++) {
        const bool is_chosen = row_->is_chosen(i);
        if (i < row_->output() ? !tensors_[i].is_present() : !writes(i)) continue;
        descs[i] = {hewn::DataType(tensors_[i].type),
                    i > row_->output() && !is_chosen ? ones : sizes,
                    std::vector<int64_t>(tensors_[i].strides, tensors_[i].strides + rank)};
        tensors[i] = &descs[i];
        if (is_chosen) {
            descs[i].block_sizes.emplace(rank, 1);
            for (uint32_t d = 0; d < rank; d++) (*descs[i].block_sizes)[d] = chosen_block(d);
            continue;
        }
        if (!block_ || !row_->is_parameter(i) || tensors_[i].count() == 1) continue;
        descs[i].block_sizes.emplace(rank, 1);
        (*descs[i].block_sizes)[size_t(axis_)] = block_;
    }
    hewn::CompileOptions options;
    options.variant = variant;
    options.max_threads = threads;
    for (size_t i = 0; i < constants.size(); i++) {
        Tensor &constant = const_cast<Tensor &>(tensors_[i]);
        if (!constants[i]) options.constants.push_back(nullptr);
        else options.constants.push_back({constant.memory(), constant.bytes});
    }
    try {
        return hewn::compile(row_->info.type, tensors, options, nullptr, attributes_);
    } catch (const hewn::Error &error) {
        throw Failure{error.status(), row_->in_python(error.what())};
    }
}

// Copies values of constant sizes by memcpy(), which takes a tenth of the time that appending to a
// string takes.
std::string Problem::key(int threads, const std::string &variant) const {
    char bytes[MAX_TENSORS * (sizeof(Tensor::type) + sizeof(Tensor::strides)) + sizeof(Shape) + 64];
    char *at = bytes;
    const auto add = [&](const auto &value) {
        std::memcpy(at, &value, sizeof(value));
        at += sizeof(value);
    };
    add(threads);
    add(row_->info.type);
    add(shape_.rank);
    for (uint32_t d = 0; d < shape_.rank; d++) add(shape_.sizes[d]);
    add(block_);
    if (block_ || row_->chooses_blocks()) add(axis_);
    for (const int32_t attribute : attributes_) add(attribute);
    for (size_t i = 0; i < row_->count(); i++) {
        const Tensor &tensor = tensors_[i];
        add(tensor.type);
        for (uint32_t d = 0; tensor.type && d < shape_.rank; d++) add(tensor.strides[d]);
    }
    std::string key(bytes, size_t(at - bytes));
    return variant.empty() ? key : key + variant;
}

}  // namespace hewn_python
