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
    std::set<std::string> seen;
    for (const Variant &variant : built_variants()) {
        if (!seen.insert(variant.operator_name + "_" + variant.signature).second) continue;
        if (!selection.ops.empty() && !contains(selection.ops, variant.operator_name)) continue;
        if (!selection.signatures.empty() && !contains(selection.signatures, variant.signature))
            continue;
        for (const std::string &layout : layouts) {
            for (const int64_t elements : sizes) {
                for (const int count : threads) {
                    const Row row{variant.operator_name, variant.signature, layout, elements,
                                  count};
                    if (layout_fits(row.op, layout, elements) && in_set(selection, row))
                        rows.push_back(row);
                }
            }
        }
    }
    return rows;
}

}  // namespace hewn_bench
