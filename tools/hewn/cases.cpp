#include "cases.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <type_traits>

#include "../../reference/types.h"
#include "names.h"
#include "operators.h"

namespace hewn::cli {

namespace {
using nlohmann::json;

// ONNX's attributes for axes and blocks. Cases may have them for the reader's information: the
// layout of a tensor with blocks is given by its strides and "block".
const std::set<std::string> AXIS_AND_BLOCKS = {"axis", "block_size"};

// The format's fields (tests/data/README.md). Some are only information for people.
const std::set<std::string> CASE_FIELDS = {
    "id",      "op",       "inputs", "attrs", "output", "outputs",       "tolerance",
    "formula", "beyond",   "source", "note",  "also",   "expected_real", "row",
    "checked", "deviates", "expect", "rule"};
const std::set<std::string> TENSOR_FIELDS = {"dtype", "shape",      "data",      "strides",
                                             "block", "orig_shape", "orig_data", "packed"};
const std::set<std::string> TOLERANCE_FIELDS = {"ulp", "abs", "rel"};

// True for data types of other projects that no operator of hewn takes. Cases with them are
// skipped. Any other unknown type is an error, because it may be mistyped.
bool is_foreign_type(const std::string &name) {
    static const std::set<std::string> NAMES = {"f64", "bool", "c64", "c128", "string",
                                                "i1",  "i3",   "u1",  "u3"};
    const auto begins = [&](const char *prefix) { return name.rfind(prefix, 0) == 0; };
    return NAMES.count(name) != 0 ||
           (!type_from_name(name) &&
            (begins("float8") || begins("float6") || begins("float4") || begins("f8") ||
             begins("f6") || begins("f4") || begins("e8m0")));
}

// A value as text for a message. Arrays and objects may be of any size and depth, so only their
// kind is given.
std::string brief(const json &value) {
    return value.is_structured() ? std::string("an ") + value.type_name() : value.dump();
}

const std::string CASE = "the case";

// An optional member; null if it is absent or JSON's null.
const json *optional_member(const json &object, const char *key) {
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
}

const json &member(const json &object, const char *key, const std::string &what) {
    if (!object.is_object()) throw InputError(what + " is not an object");
    const auto found = object.find(key);
    if (found == object.end()) throw InputError(what + " lacks '" + key + "'");
    return *found;
}

const std::string &text_member(const json &object, const char *key, const std::string &what) {
    const json &value = member(object, key, what);
    if (!value.is_string()) throw InputError(what + ": '" + key + "' is not a string");
    return value.get_ref<const std::string &>();
}

// Refuses unknown fields. A field that this program does not know might change the meaning of the
// case, which would then pass or fail for the wrong reason.
void check_fields(const json &object, const std::set<std::string> &known, const std::string &what) {
    if (!object.is_object()) throw InputError(what + " is not an object");
    for (const auto &[key, value] : object.items())
        if (known.count(key) == 0) throw InputError(what + " has the unknown field '" + key + "'");
}

Sizes integers(const json &array, const std::string &what) {
    if (!array.is_array()) throw InputError(what + " is not an array");
    Sizes values;
    for (const json &value : array) {
        if (!value.is_number_integer())
            throw InputError(what + " holds " + brief(value) + ", which is not an integer");
        const bool fits =
            !value.is_number_unsigned() || value.get<uint64_t>() <= uint64_t(INT64_MAX);
        if (!fits || value.get<int64_t>() < 0)
            throw InputError(what + " holds " + brief(value) + "; it must be 0 to 2^63 - 1");
        values.push_back(value.get<int64_t>());
    }
    return values;
}

// A tensor whose data has not been read yet.
struct Header {
    std::string dtype;
    // Nothing for a foreign type (is_foreign_type).
    std::optional<DataType> type;
    Sizes shape;
    // One for each dimension of the output.
    std::optional<Sizes> strides, block;

    // Whether the tensor is one element that serves a whole output of these sizes.
    bool is_scalar(const Sizes &output) const {
        if (!strides) return element_count(shape) == 1;
        for (size_t i = 0; i < std::min(output.size(), strides->size()); i++)
            if (output[i] > 1 && (*strides)[i] != 0) return false;
        return true;
    }
};

Header parse_header(const json &tensor, const std::string &name) {
    check_fields(tensor, TENSOR_FIELDS, name);
    Header header{text_member(tensor, "dtype", name), std::nullopt,
                  integers(member(tensor, "shape", name), name + ": 'shape'"), std::nullopt,
                  std::nullopt};
    // No strides for no dimensions are none, whatever the number of the output's dimensions.
    if (const json *strides = optional_member(tensor, "strides"))
        if (!header.shape.empty() || !strides->empty())
            header.strides = integers(*strides, name + ": 'strides'");
    if (const json *block = optional_member(tensor, "block"))
        header.block = integers(*block, name + ": 'block'");
    header.type = type_from_name(header.dtype);
    if (header.type) header.dtype = type_name(*header.type);  // int8 is i8
    if (is_foreign_type(header.dtype)) header.type.reset();
    else if (!header.type)
        throw InputError(name + ": unknown dtype '" + header.dtype + "'" +
                         suggestion(header.dtype, type_names()));
    if (header.type && !is_sub_byte(*header.type) && optional_member(tensor, "packed"))
        throw InputError(name + ": 'packed' is for types of less than 8 bits");
    return header;
}

// The headers of a case's tensors, inputs and outputs, by DirectML's name.
using Headers = std::map<std::string, Header>;

// Checks the case's attributes. "output_dtype" and "quantization_type" repeat what the tensors say
// already (the output's type; whether there is a zero point), so they must agree with the tensors.
// check_clamp looks at "clamp".
void check_attributes(const OperatorInfo &op, const json &attrs, const Headers &headers) {
    const Header &output = headers.at(output_of(op).name);
    std::set<std::string> known = {"output_dtype", "feature_level"};
    if (has_axis(op)) known.insert(AXIS_AND_BLOCKS.begin(), AXIS_AND_BLOCKS.end());
    if (has_quantization_type(op)) known.insert("quantization_type");
    for (const AttributeInfo &attribute : op.attributes) known.insert(attribute.name);
    if (op.type == HEWN_OPERATOR_QUANTIZED_LINEAR_ADD) known.insert("clamp");
    if (chooses_blocks(op)) known.insert({"block", "scale_dtype"});
    check_fields(attrs, known, std::string("'attrs' of ") + op.directml_name);
    const json *quantization = optional_member(attrs, "quantization_type");
    const char *due = headers.count("ZeroPointTensor") ? "SCALE_ZERO_POINT" : "SCALE";
    if (quantization && *quantization != due)
        throw InputError("'quantization_type' is " + brief(*quantization) +
                         ", but the tensors are " + due);
    const json *type = optional_member(attrs, "output_dtype");
    const auto is_output_type = [&](const json &name) {
        return name == output.dtype || name == numpy_name(output.dtype);
    };
    if (type && !is_output_type(*type))
        throw InputError("'output_dtype' is " + brief(*type) + ", but the output is of " +
                         output.dtype);
}

// The output is contiguous. The case may give its strides, but they must say so.
void check_contiguous(const Header &output) {
    if (output.block) throw InputError("output: has 'block'");
    if (!output.strides || element_count(output.shape).value_or(0) == 0) return;
    const Sizes &strides = *output.strides, due = contiguous_strides(output.shape);
    bool contiguous = strides.size() == due.size();
    for (size_t i = 0; contiguous && i < due.size(); i++)
        contiguous = output.shape[i] == 1 || strides[i] == due[i];
    if (!contiguous)
        throw InputError("output: 'strides' is " + to_string(strides) +
                         ", but the output is contiguous");
}

// Whether values are written as decimal numbers and not as integers.
bool is_decimal(DataType type) { return type == DataType::FLOAT32 || type == DataType::FLOAT16; }

[[noreturn]] void bad_value(const json &value, const std::string &where, DataType type) {
    const char *hint =
        is_decimal(type) && value.is_string() ? " (strings are \"nan\", \"inf\" and \"-inf\")"
        : type_bytes(type) == 8 && value.is_number_float() ? " (write an integer in its range)"
                                                           : "";
    throw InputError(where + ": " + brief(value) + " is not a value of " +
                     std::string(type_name(type)) + hint);
}

// True for "-0", which "%g" prints for -0.0. The parser makes a signed integer only of a number
// with a minus sign, so a 0 that is a signed integer was written "-0".
bool is_negative_zero(const json &value) {
    return value.is_number_integer() && !value.is_number_unsigned() && value.get<int64_t>() == 0;
}

template<class T>
T integer_value(const json &value, const std::string &where, DataType type) {
    using Limits = std::numeric_limits<T>;
    if (value.is_number_unsigned()) {
        const uint64_t number = value.get<uint64_t>();
        if (number <= uint64_t(Limits::max())) return T(number);
    } else if (value.is_number_integer()) {
        const int64_t number = value.get<int64_t>();
        if (is_negative_zero(value)) return 0;
        if constexpr (std::is_signed_v<T>) {
            if (number >= Limits::min() && number <= Limits::max()) return T(number);
        }
    } else if (value.is_number_float() && sizeof(T) < 8) {
        // "2.0" is an integer too. For 64 bits it is not accepted, because the parser may have
        // rounded the number.
        const double number = value.get<double>();
        if (number >= Limits::min() && number <= Limits::max() && number == std::trunc(number))
            return T(number);
    }
    bad_value(value, where, type);
}

// f32 and f16 are rounded from the double nearest to the JSON number. A finite number that rounds
// to infinity is an error.
template<class Round>
auto float_value(const json &value, const std::string &where, DataType type, Round round) {
    if (value.is_string()) {
        const std::string &text = value.get_ref<const std::string &>();
        if (text == "nan" || text == "-nan") return round(std::numeric_limits<double>::quiet_NaN());
        if (text == "inf" || text == "+inf") return round(std::numeric_limits<double>::infinity());
        if (text == "-inf") return round(-std::numeric_limits<double>::infinity());
        bad_value(value, where, type);
    }
    if (!value.is_number()) bad_value(value, where, type);
    const auto result = is_negative_zero(value)      ? round(-0.0)
                        : value.is_number_unsigned() ? round(value.get<uint64_t>())
                        : value.is_number_integer()  ? round(value.get<int64_t>())
                                                     : round(value.get<double>());
    bool infinite;
    if constexpr (std::is_same_v<decltype(result), const float>) infinite = std::isinf(result);
    else infinite = (result & 0x7fff) == 0x7c00;
    if (infinite) bad_value(value, where, type);
    return result;
}

// A parameter's number in the library: the bits of its f32. An absent one is 0.
int32_t parse_parameter(const AttributeInfo &attribute, const json *given) {
    if (!given) return 0;
    const float value = float_value(*given, std::string("'") + attribute.name + "'",
                                    DataType::FLOAT32, [](auto x) { return float(x); });
    int32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

// The numbers of the attributes' values. The case has the same names of attributes and values as
// the library's table; names of activations may be in capitals, as DirectML writes them.
Attributes parse_attributes(const OperatorInfo &op, const json &attrs) {
    Attributes numbers;
    for (const AttributeInfo &attribute : op.attributes) {
        const json *given = optional_member(attrs, attribute.name);
        if (belongs_to_choice(attribute)) {
            numbers.push_back(parse_parameter(attribute, given));
            continue;
        }
        const std::vector<std::string> words = words_of(attribute);
        const auto is_given = [&](const std::string &word) {
            return !given || *given == word || *given == numpy_name(word) ||
                   *given == in_capitals(word) ||
                   (given->is_number_integer() && given->dump() == word);
        };
        const auto found = std::find_if(words.begin(), words.end(), is_given);
        if (found == words.end()) {
            std::string text =
                std::string("'") + attribute.name + "' is " + brief(*given) + ", not";
            for (const std::string &word : words) text += " " + word;
            throw InputError(text);
        }
        numbers.push_back(int32_t(found - words.begin()));
    }
    return numbers;
}

void store(Array &array, int64_t i, const json &value, const std::string &where) {
    const DataType type = array.type;
    switch (type) {
    case DataType::FLOAT32:
        array.as<float>()[i] = float_value(value, where, type, [](auto x) { return float(x); });
        break;
    case DataType::FLOAT16:
        array.as<uint16_t>()[i] =
            float_value(value, where, type, [](auto x) { return f16_from_double(double(x)); });
        break;
    case DataType::INT8: array.as<int8_t>()[i] = integer_value<int8_t>(value, where, type); break;
    case DataType::UINT8:
        array.as<uint8_t>()[i] = integer_value<uint8_t>(value, where, type);
        break;
    case DataType::INT16:
        array.as<int16_t>()[i] = integer_value<int16_t>(value, where, type);
        break;
    case DataType::BFLOAT16:  // written as its bits, an integer
    case DataType::UINT16:
        array.as<uint16_t>()[i] = integer_value<uint16_t>(value, where, type);
        break;
    case DataType::INT32:
        array.as<int32_t>()[i] = integer_value<int32_t>(value, where, type);
        break;
    case DataType::UINT32:
        array.as<uint32_t>()[i] = integer_value<uint32_t>(value, where, type);
        break;
    case DataType::INT64:
        array.as<int64_t>()[i] = integer_value<int64_t>(value, where, type);
        break;
    case DataType::UINT64:
        array.as<uint64_t>()[i] = integer_value<uint64_t>(value, where, type);
        break;
    default:
        if (!is_small_float(type)) bad_value(value, where, type);
        array.as<uint8_t>()[i] = integer_value<uint8_t>(value, where, type);  // its code
    }
}

// Compares the bytes of an array of a sub-byte type with "packed", the expected bytes in
// hexadecimal.
void check_bytes(const Array &array, const json &packed, const std::string &name) {
    std::string text;
    for (uint64_t i = 0; i < array.bytes; i++) {
        for (const int shift : {4, 0})
            text += "0123456789abcdef"[array.as<uint8_t>()[i] >> shift & 15];
    }
    if (packed != text)
        throw InputError(name + ": 'packed' is " + brief(packed) + ", but 'data' is " + text);
}

Array parse_data(const json &tensor, const Header &header, const Sizes &sizes,
                 const std::string &name) {
    const json &data = member(tensor, "data", name);
    if (!data.is_array()) throw InputError(name + ": 'data' is not an array");
    // A tensor with strides may have the output's shape. The number of stored elements then differs
    // from the shape's, because the data has padding or repeats.
    const bool strided = header.strides && header.shape == sizes;
    const Sizes stored = strided ? Sizes{int64_t(data.size())} : header.shape;
    const std::optional<int64_t> count = element_count(stored);
    if (!count || uint64_t(*count) != data.size())
        throw InputError(name + ": 'data' has " + std::to_string(data.size()) +
                         " elements, but 'shape' " + to_string(header.shape) + " has " +
                         (count ? std::to_string(*count) : "too many"));
    Array values = Array::allocate(name, file_type(*header.type), stored);
    for (int64_t i = 0; i < *count; i++)
        store(values, i, data[size_t(i)], name + ": data[" + std::to_string(i) + "]");
    const Array array = values.to_packed(*header.type);
    if (const json *packed = optional_member(tensor, "packed")) check_bytes(array, *packed, name);
    return array;
}

// attrs.axis; null if there is none.
const json *find_axis(const json &object) {
    const json *attrs = optional_member(object, "attrs");
    return attrs ? optional_member(*attrs, "axis") : nullptr;
}

// A negative axis counts from the end. An axis of 2^63 or more must not become negative.
size_t parse_axis(const json &axis, size_t rank) {
    const bool fits = axis.is_number_integer() &&
                      (!axis.is_number_unsigned() || axis.get<uint64_t>() <= uint64_t(INT64_MAX));
    const int64_t most = int64_t(rank), value = fits ? axis.get<int64_t>() : most;
    if (value < -most || value >= most)
        throw InputError("'axis' is " + brief(axis) + ", not a dimension of the output's " +
                         std::to_string(rank));
    return size_t(value < 0 ? value + most : value);
}

// How the stored data lies over the output's sizes: by its strides if it has them, else along
// `axis` if it has one dimension, else by NumPy's rule of broadcasting. `axis` is checked only if
// the tensor needs it: ONNX's default is 1 even where the rank is 1 or 0.
TensorDesc parse_layout(const Header &header, const Array &array, const Sizes &sizes,
                        const json *axis, const std::string &name) {
    if (element_count(sizes).value_or(0) == 0)
        return {array.type, sizes};  // strides mean nothing where the output is empty
    if (header.block && !header.strides) throw InputError(name + ": 'block' without 'strides'");
    if (!header.strides && axis && array.sizes.size() == 1 && array.count() != 1)
        return broadcast_along(array, sizes, parse_axis(*axis, sizes.size()), name);
    if (!header.strides) return broadcast_to(array, sizes, name);
    if (array.count() == 0) throw InputError(name + ": has no elements, but the output has");
    const Sizes &strides = *header.strides;
    if (strides.size() != sizes.size())
        throw InputError(name + ": 'strides' has " + std::to_string(strides.size()) +
                         " values, but the output's shape " + to_string(sizes) + " has " +
                         std::to_string(sizes.size()));
    const Sizes block = header.block.value_or(Sizes(sizes.size(), 1));
    if (block.size() != sizes.size() || std::count(block.begin(), block.end(), 0))
        throw InputError(name + ": 'block' " + to_string(block) + " is not a number from 1 on " +
                         "for each of the output's dimensions, " + to_string(sizes));
    // The last element read is at sum((size - 1) / block * stride).
    int64_t left = array.count() - 1;
    for (size_t i = 0; i < sizes.size(); i++) {
        const int64_t steps = (sizes[i] - 1) / block[i], stride = strides[i];
        if (steps > 0 && stride > left / steps)
            throw InputError(name + ": 'strides' " + to_string(strides) +
                             " over the output's shape " + to_string(sizes) + " lead outside its " +
                             std::to_string(array.count()) + " elements");
        left -= steps * stride;
    }
    return {array.type, sizes, strides, block};
}

void parse_tolerance(Case &result, const json &object) {
    const json *formula = optional_member(object, "formula");
    result.exact = formula && *formula == "exact";
    if (formula && !result.exact && *formula != "within_tolerance")
        throw InputError("'formula' is " + brief(*formula) +
                         ", not \"exact\", \"within_tolerance\" or \"differs\"");
    const json *found = optional_member(object, "tolerance");
    if (!found) return;
    Tolerance &tolerance = result.tolerance;
    check_fields(*found, TOLERANCE_FIELDS, "'tolerance'");
    for (const auto &[key, value] : found->items()) {
        if (!value.is_number() || value.get<double>() < 0)
            throw InputError("'tolerance': '" + key + "' is " + brief(value) +
                             ", not a number from 0 on");
        (key == "ulp"   ? tolerance.ulp
         : key == "abs" ? tolerance.abs
                        : tolerance.rel) = value.get<double>();
    }
    result.zero_has_no_sign = scale_of_output(*result.op) &&
                              (tolerance.ulp > 0 || tolerance.abs > 0 || tolerance.rel > 0);
}

// The first foreign type among the tensors', as a reason to skip the case. Empty: there is none.
std::string foreign_type(const Headers &headers) {
    for (const auto &[name, header] : headers)
        if (!header.type) return "dtype " + header.dtype;
    return "";
}

// Why hewn's tables do not have the case. Empty: they have it. This looks only at types and shapes,
// and does not try to compile the case, so a library that refuses too much fails it.
std::string outside_tables(const OperatorInfo &op, const Headers &headers) {
    const Header &output = headers.at(output_of(op).name);
    if (const std::string foreign = foreign_type(headers); !foreign.empty()) return foreign;
    if (output.shape.size() > HEWN_DIMENSION_COUNT_MAX)
        return "rank above " + std::to_string(HEWN_DIMENSION_COUNT_MAX);
    for (const TensorInfo &tensor : op.tensors) {
        const auto found = headers.find(tensor.name);
        if (found == headers.end()) continue;
        const Header &header = found->second;
        const std::string what = std::string(op.directml_name) + " " + tensor.name + " of ";
        if (tensor.one_element && !header.is_scalar(output.shape)) return what + "several elements";
        if (tensor.like < 0 && !allows(tensor, *header.type)) return what + header.dtype;
        if (tensor.like < 0) continue;
        const TensorInfo &like = op.tensors[size_t(tensor.like)];
        const Header &other = headers.at(like.name);
        const DataType due = type_like(tensor, *other.type);
        const bool mixes = mixes_floats(op) && allows(tensor, *header.type) &&
                           is_float(*header.type) && is_float(due);
        if (*header.type != due && !mixes)
            return what + header.dtype + " with " + like.name + " of " + other.dtype;
    }
    return "";
}

const OperatorInfo &operator_called(const std::string &directml_name) {
    for (const OperatorInfo &op : operator_table())
        if (directml_name == op.directml_name) return op;
    throw InputError("unknown op '" + directml_name + "'");
}

hewn_status refusal_called(const json &name) {
    if (name == "INVALID_ARGUMENT") return HEWN_STATUS_INVALID_ARGUMENT;
    if (name == "UNSUPPORTED") return HEWN_STATUS_UNSUPPORTED;
    throw InputError("'expect' is " + brief(name) +
                     ", not \"INVALID_ARGUMENT\" or \"UNSUPPORTED\"");
}

// Fills in a case that must be refused: only the descriptions of its tensors, without data.
void parse_refusal(Case &result, const Headers &headers) {
    const Header &output = headers.at(output_of(*result.op).name);
    for (const TensorInfo &tensor : result.op->tensors) {
        const auto found = headers.find(tensor.name);
        if (found == headers.end()) continue;
        const Header &header = found->second;
        const bool is_one = tensor.one_element && !header.strides;
        const TensorDesc desc = {*header.type,
                                 is_one ? Sizes(output.shape.size(), 1) : output.shape,
                                 header.strides, header.block};
        if (&header == &output) result.output = desc;
        else result.inputs.emplace(tensor.name, CaseTensor{{}, desc});
    }
}

// The outputs as JSON, in the operator's order: "output", or all of "outputs" by name. Null: the
// operator does not write it. A case that must be refused may have only the first.
std::vector<const json *> find_outputs(const OperatorInfo &op, const json &object) {
    const size_t first = input_count(op);
    if (first + 1 == op.tensors.size() || optional_member(object, "output"))
        return {&member(object, "output", CASE)};
    const json &tensors = member(object, "outputs", CASE);
    std::vector<const json *> outputs;
    size_t found = 0;
    for (size_t i = first; i < op.tensors.size() && tensors.is_object(); i++) {
        const TensorInfo &tensor = op.tensors[i];
        outputs.push_back(tensor.optional ? optional_member(tensors, tensor.name)
                                          : &member(tensors, tensor.name, "'outputs'"));
        found += outputs.back() != nullptr;
    }
    if (!tensors.is_object() || tensors.size() != found)
        throw InputError("'outputs' is not an object of the operator's outputs");
    return outputs;
}

// A case that must be refused and says only the type of its output, or not even that where it can
// only be one: with the output described.
json with_output(const OperatorInfo &op, json object) {
    const json *attrs = optional_member(object, "attrs"),
               *inputs = optional_member(object, "inputs"),
               *given = attrs ? optional_member(*attrs, "output_dtype") : nullptr,
               *first = inputs ? optional_member(*inputs, op.tensors.front().name) : nullptr;
    const std::vector<DataType> types = types_of(output_of(op));
    if (!optional_member(object, "expect") || optional_member(object, "output") ||
        optional_member(object, "outputs") || !first || (!given && types.size() != 1))
        return object;
    const json type = given ? *given : json(type_name(types.front()));
    object["output"] = {{"dtype", type}, {"shape", member(*first, "shape", "the input")}};
    return object;
}

// The type of the scales that an operator chooses: attrs.scale_dtype, or the first that they can
// have.
DataType chosen_scale_type(const OperatorInfo &op, const json &attrs) {
    const json *given = optional_member(attrs, "scale_dtype");
    if (!given) return types_of(op.tensors[input_count(op) + 1]).front();
    const std::string word = given->is_string() ? given->get<std::string>() : brief(*given);
    const std::optional<DataType> type = type_from_name(word);
    if (!type) throw InputError("'scale_dtype' is " + word + ", which is no data type");
    return *type;
}

bool has_optional_input(const Case &test) {
    const auto is_given = [&](const TensorInfo &tensor) {
        return tensor.optional && test.inputs.count(tensor.name) > 0;
    };
    return std::any_of(test.op->tensors.begin(), test.op->tensors.end(), is_given);
}

// The outputs after the first of an operator that chooses scales for the blocks in attrs.block.
std::vector<std::optional<TensorDesc>> chosen_outputs(const Case &test, const json &attrs) {
    const OperatorInfo &op = *test.op;
    const DataType scale_type = chosen_scale_type(op, attrs);
    const Sizes block = integers(member(attrs, "block", "'attrs'"), "'block'"),
                &sizes = test.output.sizes;
    std::vector<std::optional<TensorDesc>> others;
    for (size_t t = input_count(op) + 1; t < op.tensors.size(); t++) {
        const TensorInfo &tensor = op.tensors[t];
        if (!writes(op, t, test.attributes, has_optional_input(test))) others.emplace_back();
        else if (tensor.one_element)
            others.push_back(TensorDesc{types_of(tensor).front(), Sizes(sizes.size(), 1)});
        else
            others.push_back(TensorDesc::in_blocks(
                tensor.like < 0 ? scale_type : test.output.data_type, sizes, block));
    }
    return others;
}

// The same for an operator whose further outputs have one element.
std::vector<std::optional<TensorDesc>> outputs_of_one(const Case &test) {
    const OperatorInfo &op = *test.op;
    std::vector<std::optional<TensorDesc>> others;
    for (size_t t = input_count(op) + 1; t < op.tensors.size(); t++) {
        const TensorInfo &tensor = op.tensors[t];
        others.push_back(
            TensorDesc{tensor.like < 0 ? types_of(tensor).front() : test.output.data_type,
                       Sizes(test.output.sizes.size(), 1)});
    }
    return others;
}

Headers parse_headers(const OperatorInfo &op, const json &tensors,
                      const std::vector<const json *> &outputs) {
    if (!tensors.is_object()) throw InputError("'inputs' is not an object");
    std::set<std::string> names;
    Headers headers;
    for (const TensorInfo &tensor : op.tensors) {
        if (tensor.role == HEWN_TENSOR_ROLE_OUTPUT) continue;
        names.insert(tensor.name);
        const json *found = optional_member(tensors, tensor.name);
        if (found) headers.emplace(tensor.name, parse_header(*found, tensor.name));
        else if (!tensor.optional) throw InputError(std::string(tensor.name) + " is missing");
    }
    for (const auto &[key, tensor] : tensors.items())
        if (names.count(key) == 0)
            throw InputError(std::string(op.directml_name) + " has no tensor '" + key + "'");
    for (size_t i = 0; i < outputs.size(); i++) {
        const char *const name = op.tensors[input_count(op) + i].name;
        if (outputs[i]) headers.emplace(name, parse_header(*outputs[i], i == 0 ? "output" : name));
    }
    return headers;
}

// Checks that the bounds in "clamp" are those of the activation.
void check_clamp(const Case &test, const json &attrs) {
    const json *clamp = optional_member(attrs, "clamp");
    if (!clamp) return;
    for (const char *name : {"OutputScaleTensor", "OutputZeroPointTensor"}) {
        const auto found = test.inputs.find(name);
        if (found != test.inputs.end() && found->second.array.count() == 0)
            throw InputError(std::string(name) + ": has no element, expected 1");
    }
    const auto zero_point = test.inputs.find("OutputZeroPointTensor");
    const float scale = test.inputs.at("OutputScaleTensor").array.as<float>()[0];
    const int activation = test.attributes.at(0);
    hewn_test::with_type<int8_t, uint8_t, int16_t, uint16_t>(
        hewn_data_type(test.output.data_type), [&](auto tag) {
            using T = decltype(tag);
            using Limits = std::numeric_limits<T>;
            const T zero =
                zero_point == test.inputs.end() ? T(0) : zero_point->second.array.as<T>()[0];
            const auto bound = [&](T end) {
                return int(reference::quantized_activation<T>(end, activation, scale, zero));
            };
            const json due = {bound(Limits::min()), bound(Limits::max())};
            if (*clamp != due)
                throw InputError("'clamp' is " + clamp->dump() +
                                 ", but the activation's bounds are " + due.dump());
        });
}

// Describes the outputs after the first.
void set_others(Case &result, const json &object) {
    result.others = chooses_blocks(*result.op)
                        ? chosen_outputs(result, member(object, "attrs", CASE))
                        : outputs_of_one(result);
}

void parse_into(Case &result, const json &given) {
    json object = given;
    const json *beyond = optional_member(object, "beyond"),
               *formula = optional_member(object, "formula");
    if (beyond && *beyond != false) {
        result.skip =
            "beyond: " + (beyond->is_string() ? beyond->get<std::string>() : brief(*beyond));
        return;
    }
    const std::string &name = text_member(object, "op", CASE);
    const json *row = optional_member(object, "row");
    if (row && row->is_string()) result.row = row->get<std::string>();
    const OperatorInfo &op = operator_called(name);
    result.op = &op;

    if (formula && *formula == "differs") {
        result.skip = "formula: differs";
        return;
    }

    check_fields(object, CASE_FIELDS, CASE);
    object = with_output(op, std::move(object));
    const json &tensors = member(object, "inputs", CASE);
    const std::vector<const json *> outputs = find_outputs(op, object);
    const Headers headers = parse_headers(op, tensors, outputs);
    const Header &output = headers.at(output_of(op).name);
    if (const json *attrs = optional_member(object, "attrs")) {
        check_attributes(op, *attrs, headers);
        result.attributes = parse_attributes(op, *attrs);
        if (optional_member(*attrs, "feature_level"))
            result.level = parse_feature_level(text_member(*attrs, "feature_level", "'attrs'"));
    }
    // A case that must be refused is given to the library if its types can be expressed at all.
    const json *expect = optional_member(object, "expect");
    const std::string outside = expect ? foreign_type(headers) : outside_tables(op, headers);
    if (!outside.empty()) {
        result.skip = "outside the tables: " + outside;
        return;
    }
    if (expect) {
        result.refusal = refusal_called(*expect);
        parse_refusal(result, headers);
        set_others(result, object);
        return;
    }

    std::vector<DataType> types;
    for (const TensorInfo &tensor : op.tensors) {
        const auto found = headers.find(tensor.name);
        types.push_back(found == headers.end() ? DataType() : *found->second.type);
    }
    result.signature = kernel_name(op, types, result.attributes);
    parse_tolerance(result, object);
    check_contiguous(output);
    Header dense = output;
    dense.strides.reset();
    result.expected = parse_data(*outputs.front(), dense, output.shape, "output");
    for (size_t i = 1; i < outputs.size(); i++) {
        const char *const other = op.tensors[input_count(op) + i].name;
        result.others_expected.push_back(
            outputs[i] ? parse_data(*outputs[i], headers.at(other), output.shape, other) : Array{});
    }
    const json *const axis = find_axis(object);
    for (const TensorInfo &tensor : op.tensors) {
        const auto found = headers.find(tensor.name);
        if (found == headers.end() || tensor.role == HEWN_TENSOR_ROLE_OUTPUT) continue;
        const Header &header = found->second;
        CaseTensor parsed;
        parsed.array = parse_data(tensors.at(tensor.name), header, output.shape, tensor.name);
        parsed.desc = parse_layout(header, parsed.array, output.shape,
                                   is_parameter(tensor) ? axis : nullptr, tensor.name);
        // Strides of 0 make it one element even if a dimension of the output has size 0 or 1.
        if (tensor.one_element) parsed.desc.strides = Sizes(output.shape.size(), 0);
        result.inputs.emplace(tensor.name, std::move(parsed));
    }
    result.output = {result.expected.type, result.expected.sizes};
    set_others(result, object);
    if (const json *attrs = optional_member(object, "attrs")) check_clamp(result, *attrs);
}

}  // namespace

Case parse_case(const std::string &line, const std::string &where) {
    json object;
    try {
        object = json::parse(line);
    } catch (const json::exception &error) {
        throw InputError(where + ": not a JSON object: " + error.what());
    }
    Case result;
    try {
        result.id = text_member(object, "id", CASE);
    } catch (const InputError &error) {
        throw InputError(where + ": " + error.what());
    }
    try {
        parse_into(result, object);
    } catch (const InputError &error) {
        throw InputError(where + ": " + result.id + ": " + error.what());
    }
    return result;
}

CaseRunner::CaseRunner(const std::string &command, const ExecutionOptions &execution)
    : device(open_device(execution.device)),
      kind(device ? device->kind() : DeviceKind::CPU),
      choice(choose_target(execution.variant, kind)),
      runnable(kernels_for(choice, kind)) {
    if (!choice.possible) throw OperatorError(command + ": " + choice.reason);
    options.variant = execution.variant;
    options.max_threads = execution.threads;
}

namespace {

// The sizes of a contiguous tensor in memory. A tensor of one element has none.
Sizes stored_sizes(const TensorDesc &desc) {
    if (!desc.block_sizes) return {};
    Sizes stored;
    for (size_t d = 0; d < desc.sizes.size(); d++) {
        const int64_t block = (*desc.block_sizes).at(d);
        stored.push_back((desc.sizes[d] + block - 1) / block);
    }
    return stored;
}

}  // namespace

// On a GPU, DYNAMIC_QUANTIZE_LINEAR of f16 uses the kernel of f32: its input is converted first.
// GPUs have the kernels of NVFP4_DEQUANTIZE and MX_DEQUANTIZE, but do not convert NVFP4's scales,
// nor MX's of int8.
bool CaseRunner::has_kernel(const Case &test) const {
    const bool is_int8 = test.signature.find("_i8_") != std::string::npos;
    if (kind != DeviceKind::CPU && (test.op->type == HEWN_OPERATOR_NVFP4_DEQUANTIZE ||
                                    (test.op->type == HEWN_OPERATOR_MX_DEQUANTIZE && is_int8)))
        return false;
    std::string signature = test.signature;
    const size_t half = signature.find("_f16");
    if (kind != DeviceKind::CPU && !test.others_expected.empty() && half != std::string::npos)
        signature.replace(half, 4, "_f32");
    return runnable.count(signature) > 0;
}

std::vector<Array> CaseRunner::run(const Case &test) const {
    std::vector<const Array *> arrays;
    std::vector<const TensorDesc *> descs;
    for (const TensorInfo &tensor : test.op->tensors) {
        if (tensor.role == HEWN_TENSOR_ROLE_OUTPUT) continue;
        const auto found = test.inputs.find(tensor.name);
        const bool present = found != test.inputs.end();
        arrays.push_back(present ? &found->second.array : nullptr);
        descs.push_back(present ? &found->second.desc : nullptr);
    }
    descs.push_back(&test.output);
    for (const auto &other : test.others) descs.push_back(other ? &*other : nullptr);
    const Device *const on = device ? &*device : nullptr;
    CompileOptions of_case = options;
    of_case.feature_level = test.level;
    const Operator op = compile(test.op->type, descs, of_case, on, test.attributes);
    std::vector<Array> results;
    results.push_back(Array::allocate("output", test.output.data_type, test.output.sizes));
    for (const auto &other : test.others)
        results.push_back(other ? Array::allocate("output", other->data_type, stored_sizes(*other))
                                : Array{});
    if (!test.refusal) execute(op, on, arrays, results);
    return results;
}

}  // namespace hewn::cli
