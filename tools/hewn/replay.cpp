#include "replay.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <tuple>
#include <utility>

#include "cases.h"
#include "device.h"
#include "files.h"
#include "variants.h"

namespace fs = std::filesystem;

namespace hewn::cli {

namespace {
using json = nlohmann::ordered_json;
using Values = std::vector<uint64_t>;  // the bits of elements of any type

// ---- Values ----

// Values that are likely to show errors. For integers, they are values near the ends, whose sums
// wrap. For f32 and f16, they are, with both signs: zero, the smallest and the largest subnormal
// and normal number, infinity, a NaN, and values whose sums are ties: half a unit in the last place
// of 1, 1, and the number after it.
Values special_values(DataType type) {
    const uint64_t sign = uint64_t(1) << (8 * type_bytes(type) - 1);
    if (!is_float(type)) return {0, 1, 2, sign - 1, sign, sign + 1, 2 * sign - 2, 2 * sign - 1};
    const uint64_t fraction = type == DataType::FLOAT32 ? 23 : 10, normal = uint64_t(1) << fraction,
                   infinity = sign - normal, one = (infinity - normal) / 2;
    Values values;
    for (const uint64_t magnitude :
         Values{0, 1, normal - 1, normal, one - (fraction + 1) * normal, one, one + 1, infinity - 1,
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

// The special values, and 256 values that are evenly spread over the range of the integer type.
Values spread_values(DataType type) {
    Values values = special_values(type);
    const uint64_t largest = ~uint64_t(0) >> (64 - 8 * type_bytes(type));
    for (uint64_t i = 0; i < 256; i++) values.push_back(largest / 255 * i);
    return values;
}

// The special values, and the inputs x that make ties in an 8-bit output with any zero point, that
// is x / scale = k + 1/2, each with its two neighbours.
Values tie_values(DataType type, double scale) {
    Values values = special_values(type);
    for (int k = -256; k < 256; k++) {
        const uint64_t tie = bits_of(type, (k + 0.5) * scale);
        for (const uint64_t value : {tie - 1, tie, tie + 1}) values.push_back(value);
    }
    return values;
}

// The fifth scale is from tests that ONNX Runtime skips on DirectML: 5 / scale is close to 127.5.
constexpr double SCALES[] = {1, 2, 0.5, 0.1, 0.039215686, 1.0 / 3, 1e-3, 1e3};
constexpr size_t ROWS = sizeof SCALES / sizeof *SCALES;

// ---- Cases ----

// Sizes with 4 dimensions, which DirectML takes at every feature level.
Sizes table(size_t rows, size_t columns) { return {1, 1, int64_t(rows), int64_t(columns)}; }

// A tensor over `sizes` that stores only `stored` sizes. It repeats along dimensions where these
// are 1.
CaseTensor tensor(DataType type, const Sizes &sizes, const Sizes &stored, const Values &values) {
    CaseTensor result{Array::allocate("", type, stored), {}};
    for (size_t i = 0; i < values.size(); i++)
        std::memcpy(result.array.data.get() + i * type_bytes(type), &values[i], type_bytes(type));
    result.desc = broadcast_to(result.array, sizes, "");
    return result;
}

// Builds a case: add() each input, then finish().
struct Draft {
    const OperatorInfo &op;
    // The types of all tensors, in the operator's order.
    const std::vector<DataType> &types;
    const std::string name;
    // The output's.
    Sizes sizes;
    std::map<std::string, CaseTensor> inputs = {};

    void add(size_t i, const Sizes &stored, const Values &values) {
        inputs.emplace(
            op.tensors[i].name,
            tensor(types[i], op.tensors[i].one_element ? stored : sizes, stored, values));
    }
    Case finish() && {
        Case result;
        result.id = name;
        result.op = &op;
        // Its contents are the result of CaseRunner::run.
        result.expected = Array::allocate("", types.back(), sizes);
        result.output = {result.expected.type, result.expected.sizes};
        result.inputs = std::move(inputs);
        result.signature = kernel_name(op, types);
        return result;
    }
};

// Two lists of the same length, which pair every value of `first` with every value of `second`.
std::pair<Values, Values> all_pairs(const Values &first, const Values &second) {
    std::pair<Values, Values> pairs;
    for (const uint64_t each : second) {
        pairs.first.insert(pairs.first.end(), first.begin(), first.end());
        pairs.second.insert(pairs.second.end(), first.size(), each);
    }
    return pairs;
}

// A case of an operator with two inputs and without scales: every special value with every other.
Case plain_case(const OperatorInfo &op, const std::vector<DataType> &types) {
    const Values values = special_values(types.front());
    Draft draft{op, types, std::string(op.name) + "_" + std::string(type_name(types.front())),
                table(values.size(), values.size())};
    const auto pairs = all_pairs(values, values);
    draft.add(0, draft.sizes, pairs.first);
    draft.add(1, draft.sizes, pairs.second);
    return std::move(draft).finish();
}

// A case of an input with a scale and a zero point for each row. An operator that divides by the
// scale gets values that make ties; one that multiplies gets values from the whole range.
Case linear_case(const OperatorInfo &op, const std::vector<DataType> &types) {
    constexpr size_t INPUT = 0, SCALE = 1, ZERO_POINT = 2;
    Values inputs, scales;
    for (const double each : SCALES) {
        const double scale = types[SCALE] == DataType::FLOAT16
                                 ? double_from_f16(f16_from_double(each))
                                 : double(float(each));
        const Values row =
            scale_of_output(op) ? spread_values(types[INPUT]) : tie_values(types[INPUT], scale);
        inputs.insert(inputs.end(), row.begin(), row.end());
        scales.push_back(bits_of(types[SCALE], each));
    }
    Values zero_points = special_values(types[ZERO_POINT]);
    zero_points.resize(ROWS);
    Draft draft{op, types, kernel_name(op, types), table(ROWS, inputs.size() / ROWS)};
    draft.add(INPUT, draft.sizes, inputs);
    draft.add(SCALE, table(ROWS, 1), scales);
    draft.add(ZERO_POINT, table(ROWS, 1), zero_points);
    return std::move(draft).finish();
}

// The scales and zero points of A, B and the output, in this order. With the first set, half of the
// sums are ties.
struct Parameters {
    double scales[3];
    uint64_t zero_points[3];
};
constexpr Parameters PARAMETERS[] = {{{1, 1, 2}, {0, 0, 0}},
                                     {{0.1, 0.2, 0.3}, {0x80, 0x7f, 1}},
                                     {{0.039215686, 0.039215686, 0.078431372}, {10, 0xff, 0x80}}};

// A case of two quantized 8-bit inputs whose scales and zero points have one element: every value
// of A with every special value of B.
Case quantized_case(const OperatorInfo &op, const std::vector<DataType> &types, size_t set) {
    Values all(256);
    std::iota(all.begin(), all.end(), 0);
    const Sizes one = table(1, 1);
    Values values[2];
    size_t data = 0, scale = 0, zero_point = 0;
    for (size_t i = 0; i + 1 < types.size(); i++) {
        if (op.tensors[i].role == HEWN_TENSOR_ROLE_DATA && data++ == 1)
            std::tie(values[0], values[1]) = all_pairs(all, special_values(types[i]));
    }
    Draft draft{op, types, kernel_name(op, types) + "_" + std::to_string(set),
                table(values[0].size() / 256, 256)};
    data = 0;
    for (size_t i = 0; i + 1 < types.size(); i++) {
        switch (op.tensors[i].role) {
        case HEWN_TENSOR_ROLE_DATA: draft.add(i, draft.sizes, values[data++]); break;
        case HEWN_TENSOR_ROLE_SCALE:
            draft.add(i, one, {bits_of(types[i], PARAMETERS[set].scales[scale++])});
            break;
        default: draft.add(i, one, {PARAMETERS[set].zero_points[zero_point++]});
        }
    }
    return std::move(draft).finish();
}

// The types of all tensors of the operator, from the words of a signature: "f32_u8". A small float
// stands for f8, which is all of them.
std::vector<DataType> types_named(const OperatorInfo &op, const std::string &signature) {
    std::vector<std::optional<DataType>> known(op.tensors.size());
    std::istringstream words(signature);
    std::string word;
    for (size_t i = 0; i < known.size(); i++) {
        if (op.tensors[i].in_signature && std::getline(words, word, '_'))
            known[i] = word == "f8" ? DataType::FLOAT8E4M3FN : type_from_name(word);
    }
    const int like = output_of(op).like;
    if (like >= 0 && known.back() && !known[size_t(like)]) known[size_t(like)] = known.back();
    std::vector<DataType> types(known.size());
    for (size_t i = known.size(); i-- > 0;) {
        if (known[i]) types[i] = *known[i];
        else if (op.tensors[i].like < 0) types[i] = types_of(op.tensors[i]).front();
    }
    for (size_t i = 0; i < known.size(); i++) {
        if (!known[i] && op.tensors[i].like >= 0)
            types[i] = type_like(op.tensors[i], types[size_t(op.tensors[i].like)]);
    }
    return types;
}

// Whether DirectML's newest feature level has the operator with these types.
bool in_directml(const OperatorInfo &op, const std::vector<DataType> &types) {
    static const std::vector<OperatorInfo> newest = operators(FeatureLevel::LEVEL_6_4);
    const auto &tensors = newest.at(size_t(&op - operator_table().data())).tensors;
    for (size_t i = 0; i < types.size(); i++) {
        if (!allows(tensors[i], types[i])) return false;
    }
    return true;
}

std::vector<Case> cases_of(const std::string &operator_name, const std::string &signature) {
    const auto &table = operator_table();
    const auto op = std::find_if(table.begin(), table.end(), [&](const OperatorInfo &each) {
        return operator_name == each.name;
    });
    std::vector<DataType> types = types_named(*op, signature);
    std::vector<Case> cases;
    const bool several_outputs = input_count(*op) + 1 < op->tensors.size();
    if (several_outputs || !in_directml(*op, types)) return cases;
    if (has_axis(*op)) return {linear_case(*op, types)};
    if (std::any_of(op->tensors.begin(), op->tensors.end(), is_parameter)) {
        for (size_t set = 0; set < std::size(PARAMETERS); set++)
            cases.push_back(quantized_case(*op, types, set));
        return cases;
    }
    cases.push_back(plain_case(*op, types));
    std::string twin(type_name(types.front()));
    if (op->unsigned_as_signed && twin[0] == 'i') {
        twin[0] = 'u';
        cases.push_back(
            plain_case(*op, std::vector<DataType>(types.size(), type_from_name(twin).value())));
    }
    return cases;
}

// ---- Files ----

std::string dml_type(DataType type) {
    const std::string name(type_name(type));
    return (name[0] == 'f' ? "FLOAT" : name[0] == 'u' ? "UINT" : "INT") + name.substr(1);
}

std::string dml_operator(const Case &test) {
    return std::string("DML_OPERATOR_ELEMENT_WISE_") + test.op->directml_name;
}

json dml_tensor(const TensorDesc &desc) {
    json result = {{"DataType", dml_type(desc.data_type)}, {"Sizes", desc.sizes}};
    if (desc.strides) result["Strides"] = *desc.strides;
    return result;
}

// A model for DxDispatch, in the format of DxDispatch/doc/Guide.md in microsoft/DirectML. The
// output is filled with 85 first, so that elements which DirectML does not write can be seen.
json dxdispatch_model(const Case &test) {
    const Array &output = test.expected;
    json resources, desc, bindings;
    for (const auto &[name, tensor] : test.inputs) {
        resources[name] = {{"initialValuesDataType", dml_type(tensor.array.type)},
                           {"initialValues", {{"sourcePath", test.id + "." + name + ".npy"}}}};
        desc[name] = dml_tensor(tensor.desc);
        bindings[name] = name;
    }
    resources["OutputTensor"] = {
        {"initialValuesDataType", dml_type(output.type)},
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
            test.expected = runner.run(test).front();
            const std::string path = (fs::path(folder) / test.id).string();
            for (const auto &[name, tensor] : test.inputs)
                save_array(path + "." + name + ".npy", tensor.array);
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
