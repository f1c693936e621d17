#include "rows.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <thread>

#include "problem.h"

namespace hewn_bench {
namespace {

constexpr int64_t Ki = 1024, Mi = 1024 * Ki;

template<class T>
bool contains(const std::vector<T> &list, const T &value) {
    return std::find(list.begin(), list.end(), value) != list.end();
}

// Whether the signature has only f32, f16 and i8, which stands for all integers. The usual set has
// these signatures in every layout, and all others only in the dense one.
bool representative(const std::string &signature) {
    std::istringstream words(signature);
    for (std::string word; std::getline(words, word, '_');) {
        if (word != "f32" && word != "f16" && word != "i8") return false;
    }
    return true;
}

// The name, in the signature of a kernel for QUANTIZE_LINEAR or DEQUANTIZE_LINEAR, of the type as
// which the kernel takes this type.
std::string kernel_type(hewn_data_type type) {
    if (hewn_test::is_code(type)) return "f8";
    if (hewn_test::sub_byte_bits_of(type) > 0)
        return hewn_test::type_name(hewn_test::byte_of(type));
    return type == HEWN_DATA_TYPE_BFLOAT16 ? "f32" : hewn_test::type_name(type);
}

// Adds the signatures of the types that a kernel of QUANTIZE_LINEAR or DEQUANTIZE_LINEAR takes. The
// usual set has its own types, and the others together with f32 or i8.
void add_signatures(const Variant &kernel, std::vector<Signature> &result) {
    const hewn_test::OperatorFacts &op = hewn_test::facts(kernel.operator_name);
    const hewn_test::DataTypes own = kernel.types();
    const size_t from = op.signature.at(0), to = op.signature.at(1);
    // DEQUANTIZE_LINEAR's output is like its scale, and takes the types that the scale takes.
    const auto taken = [&](size_t tensor) {
        const int like = op.tensors[tensor].like;
        hewn_test::DataTypes types;
        for (const hewn_data_type type : op.tensors[like < 0 ? tensor : size_t(like)].newest) {
            if (kernel_type(type) == kernel_type(own[tensor])) types.push_back(type);
        }
        return types;
    };
    for (const hewn_data_type first : taken(from)) {
        for (const hewn_data_type second : taken(to)) {
            const std::string names[] = {hewn_test::type_name(first), hewn_test::type_name(second)};
            const auto plain = [](const std::string &name) {
                return name == "f32" || name == "i8";
            };
            const bool is_own = first == own[from] && second == own[to];
            result.push_back({kernel.operator_name, names[0] + "_" + names[1],
                              is_own || plain(names[0]) || plain(names[1])});
        }
    }
}

// Whether the row's signature is the first representative one of its operator.
bool first_of_operator(const Row &row) {
    for (const Variant &variant : built_variants()) {
        if (variant.operator_name == row.op && representative(variant.signature))
            return variant.signature == row.signature;
    }
    return false;
}

// Whether the set has the row. The set does not decide about the lists that the user gave.
bool in_set(const Selection &selection, const Row &row) {
    if (selection.all) return true;
    const bool dense = row.layout == "dense", quick = selection.quick;
    const bool large = row.elements >= 16 * Mi;
    if (selection.signatures.empty()) {
        if (!dense || quick) {
            if (!representative(row.signature)) return false;
        }
        if (quick && (!dense || large || row.threads > 1) && !first_of_operator(row)) return false;
    }
    if (selection.elements.empty()) {
        if (!dense && row.elements > 16 * Mi) return false;
        if (quick && row.elements > (dense ? 16 * Mi : Mi)) return false;
        if (quick && !dense && row.elements != Mi) return false;
    }
    if (selection.threads.empty() && row.threads > 1) {
        if (row.elements < (dense && !quick ? Mi : 16 * Mi)) return false;
    }
    return true;
}

}  // namespace

const std::vector<Signature> &all_signatures() {
    static const std::vector<Signature> signatures = [] {
        std::vector<Signature> result;
        std::set<std::string> seen;
        for (const Variant &variant : built_variants()) {
            if (!seen.insert(variant.operator_name + "_" + variant.signature).second) continue;
            if (hewn_test::facts(variant.operator_name).is_linear())
                add_signatures(variant, result);
            else result.push_back({variant.operator_name, variant.signature, true});
        }
        return result;
    }();
    return signatures;
}

std::vector<Row> choose_rows(const Selection &selection) {
    const std::vector<std::string> layouts =
        selection.layouts.empty() ? all_layouts() : selection.layouts;
    const std::vector<int64_t> sizes =
        selection.elements.empty()
            ? std::vector<int64_t>{16, 4 * Ki, 64 * Ki, Mi, 16 * Mi, 128 * Mi}
            : selection.elements;
    std::vector<int> threads = selection.threads;
    if (threads.empty())
        threads =
            std::thread::hardware_concurrency() > 1 ? std::vector<int>{1, 2} : std::vector<int>{1};

    std::vector<Row> rows;
    for (const Signature &each : all_signatures()) {
        if (!selection.ops.empty() && !contains(selection.ops, each.op)) continue;
        if (selection.signatures.empty() ? !each.usual && !selection.all
                                         : !contains(selection.signatures, each.signature))
            continue;
        for (const std::string &layout : layouts) {
            for (const int64_t elements : sizes) {
                for (const int count : threads) {
                    const Row row{each.op, each.signature, layout, elements, count};
                    if (layout_fits(row.op, layout, elements) && in_set(selection, row))
                        rows.push_back(row);
                }
            }
        }
    }
    return rows;
}

}  // namespace hewn_bench
