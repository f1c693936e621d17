#include "replay.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "cases.h"
#include "device.h"
#include "files.h"
#include "variants.h"

namespace fs = std::filesystem;

namespace hewn::cli {

namespace {
using json = nlohmann::ordered_json;
using Values = std::vector<uint64_t>;  // elements of any type, as their bits

// ---- Values ----

// Integers: values that wrap. Floats, with both signs: zero, the ends of the subnormal and the normal numbers, infinity, a NaN,
// and values that make ties: half a unit in the last place of 1, 1, and the number after it.
Values special_values(DataType type) {
    const uint64_t sign = uint64_t(1) << (8 * type_bytes(type) - 1);
    if (!is_float(type)) return {0, 1, 2, sign - 1, sign, sign + 1, 2 * sign - 2, 2 * sign - 1};
    const uint64_t fraction = type == DataType::FLOAT32 ? 23 : 10, normal = uint64_t(1) << fraction, infinity = sign - normal,
                   one = (infinity - normal) / 2;
    Values values;
    for (const uint64_t magnitude : Values{0, 1, normal - 1, normal, one - (fraction + 1) * normal, one, one + 1, infinity - 1,
                                           infinity, infinity + normal / 2}) {
        values.push_back(magnitude);
        values.push_back(sign | magnitude);
    }
    return values;
}

// The value rounded to the type, as bits.
uint64_t bits_of(DataType type, double value) {
    if (type == DataType::FLOAT16) return f16_from_double(value);
    if (type != DataType::FLOAT32) return uint64_t(std::llround(value));
    const float rounded = float(value);
    uint32_t bits;
    std::memcpy(&bits, &rounded, sizeof bits);
    return bits;
}

// 256 values from one end of the integer type to the other, and the special values.
Values spread_values(DataType type) {
    Values values = special_values(type);
    const uint64_t largest = ~uint64_t(0) >> (64 - 8 * type_bytes(type));
    for (uint64_t i = 0; i < 256; i++) values.push_back(largest / 255 * i);
    return values;
}

// Ties of an 8-bit output with any zero point, x / scale = k + 1/2, each with its neighbours; and the special values.
Values tie_values(DataType type, double scale) {
    Values values = special_values(type);
    for (int k = -256; k < 256; k++) {
        const uint64_t tie = bits_of(type, (k + 0.5) * scale);
        for (const uint64_t value : {tie - 1, tie, tie + 1}) values.push_back(value);
    }
    return values;
}

// The fifth scale is that of the tests that ONNX Runtime skips on DirectML: 5 / scale is next to 127.5.
constexpr double SCALES[] = {1, 2, 0.5, 0.1, 0.039215686, 1.0 / 3, 1e-3, 1e3};
constexpr size_t ROWS = sizeof SCALES / sizeof *SCALES;

// ---- Cases ----

// 4 dimensions, which DirectML's tensors have at every feature level.
Sizes table(size_t rows, size_t columns) { return {1, 1, int64_t(rows), int64_t(columns)}; }

// A tensor over `sizes` that stores an array of sizes `stored`. It repeats where these are 1.
CaseTensor tensor(DataType type, const Sizes &sizes, const Sizes &stored, const Values &values) {
    CaseTensor result{Array::allocate("", type, stored), {}};
    for (size_t i = 0; i < values.size(); i++)
        std::memcpy(result.array.data.get() + i * type_bytes(type), &values[i], type_bytes(type));
    result.desc = broadcast_to(result.array, sizes, "");
    return result;
}

Case make_case(hewn_operator_type type, const std::string &name, DataType output, const Sizes &sizes) {
    Case result;
    result.id = name;
    result.type = type;
    result.expected = Array::allocate("", output, sizes);  // CaseRunner makes the contents
    return result;
}

// Every special value with every other.
Case add_case(DataType type) {
    const Values values = special_values(type);
    const Sizes sizes = table(values.size(), values.size());
    Case result = make_case(HEWN_OPERATOR_ADD, "add_" + std::string(type_name(type)), type, sizes);
    Values a, b;
    for (const uint64_t each : values) {
        a.insert(a.end(), values.begin(), values.end());
        b.insert(b.end(), values.size(), each);
    }
    result.inputs = {{"ATensor", tensor(type, sizes, sizes, a)}, {"BTensor", tensor(type, sizes, sizes, b)}};
    return result;
}

// QUANTIZE_LINEAR and DEQUANTIZE_LINEAR: a scale and a zero point for each row, whose inputs are row_values(scale).
template<class RowValues>
Case linear_case(hewn_operator_type type, const std::string &name, DataType input, DataType scale, DataType zero_point,
                 DataType output, RowValues &&row_values) {
    Values inputs, scales;
    for (const double each : SCALES) {
        const Values row = row_values(scale == DataType::FLOAT16 ? double_from_f16(f16_from_double(each)) : double(float(each)));
        inputs.insert(inputs.end(), row.begin(), row.end());
        scales.push_back(bits_of(scale, each));
    }
    Values zero_points = special_values(zero_point);
    zero_points.resize(ROWS);
    const Sizes sizes = table(ROWS, inputs.size() / ROWS);
    Case result = make_case(type, name, output, sizes);
    result.inputs = {{"InputTensor", tensor(input, sizes, sizes, inputs)},
                     {"ScaleTensor", tensor(scale, sizes, table(ROWS, 1), scales)},
                     {"ZeroPointTensor", tensor(zero_point, sizes, table(ROWS, 1), zero_points)}};
    return result;
}

// Scales and zero points of A, B and the output, in this order. The first set gives ties in half of the sums.
struct Parameters {
    double scales[3];
    uint64_t zero_points[3];
};
constexpr Parameters PARAMETERS[] = {
    {{1, 1, 2}, {0, 0, 0}}, {{0.1, 0.2, 0.3}, {0x80, 0x7f, 1}}, {{0.039215686, 0.039215686, 0.078431372}, {10, 0xff, 0x80}}};

// Every value of A with every special one of B.
Case quantized_add_case(const std::string &name, DataType a, DataType b, DataType output, const Parameters &parameters) {
    const Values rows = special_values(b);
    const Sizes sizes = table(rows.size(), 256), scalar = table(1, 1);
    Values a_values, b_values;
    for (const uint64_t row : rows) {
        for (uint64_t i = 0; i < 256; i++) {
            a_values.push_back(i);
            b_values.push_back(row);
        }
    }
    Case result = make_case(HEWN_OPERATOR_QUANTIZED_LINEAR_ADD, name, output, sizes);
    const auto scale = [&](int i) {
        return tensor(DataType::FLOAT32, scalar, scalar, {bits_of(DataType::FLOAT32, parameters.scales[i])});
    };
    const auto zero_point = [&](int i, DataType type) { return tensor(type, scalar, scalar, {parameters.zero_points[i]}); };
    result.inputs = {{"ATensor", tensor(a, sizes, sizes, a_values)},
                     {"AScaleTensor", scale(0)},
                     {"AZeroPointTensor", zero_point(0, a)},
                     {"BTensor", tensor(b, sizes, sizes, b_values)},
                     {"BScaleTensor", scale(1)},
                     {"BZeroPointTensor", zero_point(1, b)},
                     {"OutputScaleTensor", scale(2)},
                     {"OutputZeroPointTensor", zero_point(2, output)}};
    return result;
}

// "f32_u8"
std::vector<DataType> types_of(const std::string &signature) {
    std::vector<DataType> types;
    std::istringstream words(signature);
    for (std::string word; std::getline(words, word, '_');) {
        const std::optional<DataType> type = type_from_name(word);
        if (!type) throw std::logic_error("replay: signature " + signature + " names the unknown type " + word);
        types.push_back(*type);
    }
    return types;
}

std::vector<Case> cases_of(const std::string &operator_name, const std::string &signature) {
    const std::string kernel = operator_name + "_" + signature;
    const std::vector<DataType> types = types_of(signature);
    std::vector<Case> cases;
    if (operator_name == "add") {
        cases.push_back(add_case(types.at(0)));
        // Unsigned sums take the signed kernel: both wrap.
        if (signature[0] == 'i') cases.push_back(add_case(type_from_name("u" + signature.substr(1)).value()));
    } else if (operator_name == "quantize_linear") {
        const DataType input = types.at(0), output = types.at(1), scale = input == DataType::FLOAT16 ? input : DataType::FLOAT32;
        cases.push_back(linear_case(HEWN_OPERATOR_QUANTIZE_LINEAR, kernel, input, scale, output, output,
                                    [&](double value) { return tie_values(input, value); }));
    } else if (operator_name == "dequantize_linear") {
        const DataType input = types.at(0), output = types.at(1);
        cases.push_back(linear_case(HEWN_OPERATOR_DEQUANTIZE_LINEAR, kernel, input, output, input, output,
                                    [&](double) { return spread_values(input); }));
    } else if (operator_name == "quantized_linear_add") {
        for (const Parameters &parameters : PARAMETERS)
            cases.push_back(quantized_add_case(kernel + "_" + std::to_string(&parameters - PARAMETERS), types.at(0), types.at(1),
                                               types.at(2), parameters));
    } else {
        throw std::logic_error("replay: there are no cases of the operator " + operator_name);
    }
    for (Case &each : cases) each.signature = kernel;
    return cases;
}

// ---- Files ----

std::string dml_type(DataType type) {
    const std::string name(type_name(type));
    return (name[0] == 'f' ? "FLOAT" : name[0] == 'u' ? "UINT" : "INT") + name.substr(1);
}

const char *dml_operator(const Case &test) {
    switch (test.type) {
    case HEWN_OPERATOR_ADD: return "DML_OPERATOR_ELEMENT_WISE_ADD";
    case HEWN_OPERATOR_QUANTIZE_LINEAR: return "DML_OPERATOR_ELEMENT_WISE_QUANTIZE_LINEAR";
    case HEWN_OPERATOR_DEQUANTIZE_LINEAR: return "DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR";
    case HEWN_OPERATOR_QUANTIZED_LINEAR_ADD: return "DML_OPERATOR_ELEMENT_WISE_QUANTIZED_LINEAR_ADD";
    default: throw std::logic_error("replay: DirectML's name of the operator of " + test.id + " is not known");
    }
}

json dml_tensor(const TensorDesc &desc) {
    json result = {{"DataType", dml_type(desc.data_type)}, {"Sizes", desc.sizes}};
    if (desc.strides) result["Strides"] = *desc.strides;
    return result;
}

// The format of DxDispatch/doc/Guide.md in microsoft/DirectML. What DirectML does not write stays 85.
json dxdispatch_model(const Case &test) {
    const Array &output = test.expected;
    json resources, desc, bindings;
    for (const auto &[name, tensor] : test.inputs) {
        resources[name] = {{"initialValuesDataType", dml_type(tensor.array.type)},
                           {"initialValues", {{"sourcePath", test.id + "." + name + ".npy"}}}};
        desc[name] = dml_tensor(tensor.desc);
        bindings[name] = name;
    }
    resources["OutputTensor"] = {{"initialValuesDataType", dml_type(output.type)},
                                 {"initialValues", {{"valueCount", output.count()}, {"value", 85}}}};
    desc["OutputTensor"] = dml_tensor({output.type, output.sizes});
    bindings["OutputTensor"] = "OutputTensor";
    return {{"resources", resources},
            {"dispatchables", {{test.id, {{"type", dml_operator(test)}, {"desc", desc}}}}},
            {"commands",
             {{{"type", "dispatch"}, {"dispatchable", test.id}, {"bindings", bindings}},
              {{"type", "writeFile"},
               {"resource", "OutputTensor"},
               {"targetPath", test.id + ".directml.npy"},
               {"dimensions", output.sizes}}}}};
}

void save_text(const std::string &path, const std::string &text) {
    OutputFile file(path);
    std::ofstream stream(file.temporary(), std::ios::binary);
    if (!(stream << text).flush()) throw InputError(path + ": cannot be written");
    stream.close();
    file.commit();
}
}  // namespace

void replay(const std::string &folder, const ExecutionOptions &options) {
    const CaseRunner runner("replay", options);

    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw InputError(folder + ": " + error.message());
    int64_t written = 0;
    for (const auto &[kernel, variant] : runner.runnable) {
        for (Case &test : cases_of(variant.operator_name, variant.signature)) {
            test.expected = runner.run(test);
            const std::string path = (fs::path(folder) / test.id).string();
            for (const auto &[name, tensor] : test.inputs) save_array(path + "." + name + ".npy", tensor.array);
            save_array(path + ".hewn.npy", test.expected);
            save_text(path + ".json", dxdispatch_model(test).dump(2) + "\n");
            written++;
        }
    }
    std::cout << folder << ": " << written << " models, with the results of "
              << (!runner.choice.forced.empty() ? runner.choice.forced
                  : runner.device               ? kind_name(runner.kind)
                                                : runner.choice.target)
              << std::endl;
}

}  // namespace hewn::cli
