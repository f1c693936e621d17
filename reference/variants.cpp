#include "variants.h"

#include <algorithm>

namespace hewn_test {

hewn_device_kind kind_of_variant(const char *variant) {
    static const std::map<std::string, hewn_device_kind> kinds = {
#define HEWN_TARGET(name, ...) {#name, HEWN_DEVICE_CPU},
#define HEWN_GPU_TARGET(name, rank, halide_target, device, capability) {#name, device},
#include "targets.inc"
    };
    const std::string name = variant ? variant : "";
    const size_t separator = name.rfind("__");
    const auto found =
        kinds.find(separator == std::string::npos ? name : name.substr(separator + 2));
    return found == kinds.end() ? hewn_device_kind(HEWN_DEVICE_CPU) : found->second;
}

std::vector<DataTypes> Variant::all_types() const {
    std::vector<DataTypes> all{types()};
    const hewn_data_type twin = unsigned_twin(all[0][0]);
    if (facts(op()).wraps && twin != all[0][0]) all.push_back(DataTypes(all[0].size(), twin));
    if (device() != HEWN_DEVICE_CPU && !facts(op()).is_elementwise()) {  // GPUs widen f16
        all.push_back(types());
        all.back()[0] = HEWN_DATA_TYPE_FLOAT16;
    }
    for (const TensorFacts &tensor : facts(op()).tensors) {
        for (const hewn_data_type type : tensor.newest) {
            if (sub_byte_bits_of(type) == 0 && !is_code(type)) continue;
            DataTypes types = all[0];
            std::replace(types.begin(), types.end(), byte_of(type), type);
            if (types != all[0] && facts(op()).takes(types)) all.push_back(types);
        }
    }
    return all;
}

std::vector<DataTypes> Variant::converted_types() const {
    std::vector<DataTypes> all;
    const OperatorFacts &table = facts(op());
    const auto as_f32 = [&](hewn_data_type type) {
        return std::count(table.as_f32.begin(), table.as_f32.end(), type) > 0;
    };
    bool mixes = false;
    for (size_t t = 0; t < table.tensors.size(); t++) {
        if (!table.tensors[t].mixed) continue;
        mixes = true;
        const size_t like = size_t(table.tensors[t].like);
        DataTypes types = this->types(), own_types = table.tensors[t].others, like_types;
        if (types[t] != HEWN_DATA_TYPE_FLOAT32) continue;
        for (const hewn_data_type type : table.tensors[like].newest) {
            if (is_wide_float_type(type)) own_types.push_back(type);
            if (is_wide_float_type(type) || as_f32(type)) like_types.push_back(type);
        }
        const bool integers = !is_wide_float_type(types[like]);
        if (integers) like_types = {types[like]};
        for (const hewn_data_type own : own_types) {
            for (const hewn_data_type other : like_types) {
                types[t] = own;
                types[like] = other;
                const hewn_data_type due =
                    integers ? hewn_data_type(HEWN_DATA_TYPE_FLOAT32) : other;
                if (own != due || as_f32(own)) all.push_back(types);
            }
        }
    }
    for (const hewn_data_type type : table.as_f32) {
        if (mixes || types()[0] != HEWN_DATA_TYPE_FLOAT32) continue;
        all.push_back(types());
        all.back()[0] = type;
    }
    return all;
}

// The table is an array that the compiler lays out: as many std::string in braces would take it a
// minute.
const std::vector<Variant> &listed_variants() {
    static constexpr const char *LINES[][3] = {
#define HEWN_VARIANT(op, signature, target, ...) {#op, #signature, #target},
#include "variants.inc"
    };
    static const std::vector<Variant> variants = [] {
        std::vector<Variant> result;
        for (const auto &[op, signature, target] : LINES)
            result.push_back(
                {std::string(op) + "_" + signature + "__" + target, op, signature, target});
        return result;
    }();
    return variants;
}

const std::vector<Variant> &all_variants() {
    static const std::vector<Variant> variants = [] {
        std::vector<Variant> result;
        for (const Variant &variant : listed_variants()) {
            if (facts(variant.op()).is_elementwise()) result.push_back(variant);
        }
        return result;
    }();
    return variants;
}

const std::map<std::string, std::map<std::string, int64_t>> &plan_knobs() {
    struct Knob {
        const char *name;
        int64_t value;
    };
    struct Line {
        const char *variant;
        Knob knobs[16];  // the plan's knobs; the rest is null
    };
    static constexpr Line LINES[] = {
#define HEWN_PLAN_KNOB(knob, value) {#knob, value},
#define HEWN_PLAN(variant, knobs) {#variant, {knobs}},
#include "plans.inc"
    };
    static const std::map<std::string, std::map<std::string, int64_t>> all = [] {
        std::map<std::string, std::map<std::string, int64_t>> result;
        for (const Line &line : LINES) {
            for (const Knob &knob : line.knobs) {
                if (knob.name) result[line.variant][knob.name] = knob.value;
            }
        }
        return result;
    }();
    return all;
}

const std::vector<Variant> &built_variants() {
    static const std::vector<Variant> variants = [] {
        std::vector<Variant> result;
        for (const Variant &variant : all_variants()) {
            if (variant.device() == HEWN_DEVICE_CPU) result.push_back(variant);
        }
        return result;
    }();
    return variants;
}

std::vector<Variant> variants_of(const std::string &operator_name) {
    std::vector<Variant> result;
    for (const Variant &variant : listed_variants()) {
        if (variant.operator_name == operator_name) result.push_back(variant);
    }
    return result;
}

}  // namespace hewn_test
