#include "conformance.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <limits>
#include <sstream>
#include <type_traits>

#include "../../reference/types.h"
#include "built_in_cases.h"
#include "cases.h"
#include "device.h"
#include "files.h"
#include "progress.h"
#include "variants.h"

namespace hewn::cli {

namespace {

// ---- Comparing ----

using hewn_test::is_float, hewn_test::is_small_float, hewn_test::with_any_type;

template<class T>
double real(T value) {
    if constexpr (is_float<T>) return double(reference::to_f32(value));
    else return double(value);
}

// Maps floats of one type to integers in the same order. Neighbouring floats are 1 apart, and -0
// and +0 are equal.
template<class T>
int64_t ordinal(T value) {
    uint32_t bits, sign;
    if constexpr (std::is_same_v<T, float>) bits = reference::to_bits(value), sign = 1u << 31;
    else if constexpr (is_small_float<T>) bits = value.bits, sign = uint32_t(T::format.sign);
    else bits = value.bits, sign = 0x8000;
    const int64_t magnitude = bits & ~sign;
    return bits & sign ? -magnitude : magnitude;
}

template<class T>
bool within(T got, T expected, const Tolerance &tolerance) {
    if constexpr (is_float<T>) {
        const double g = real(got), e = real(expected);
        if (!std::isfinite(g) || !std::isfinite(e))
            return false;  // an infinity is near nothing; equal ones were found by same()
        return double(std::llabs(ordinal(got) - ordinal(expected))) <= tolerance.ulp ||
               std::fabs(g - e) <= tolerance.abs + tolerance.rel * std::fabs(e);
    } else {
        // An integer's unit in the last place is 1. The subtraction of 64-bit integers is exact.
        const double difference = got > expected ? double(uint64_t(got) - uint64_t(expected))
                                                 : double(uint64_t(expected) - uint64_t(got));
        return difference <= tolerance.ulp ||
               difference <= tolerance.abs + tolerance.rel * std::fabs(double(expected));
    }
}

template<class T>
std::string show(T value) {
    char text[64];
    if constexpr (std::is_same_v<T, float>) {
        std::snprintf(text, sizeof text, "%.9g (0x%08" PRIx32 ")", double(value),
                      reference::to_bits(value));
    } else if constexpr (is_float<T>) {
        std::snprintf(text, sizeof text, "%.5g (0x%0*x)", real(value), int(2 * sizeof(T)),
                      unsigned(value.bits));
    } else {
        return std::to_string(+value);
    }
    return text;
}

// The indices of the element that is number i in row-major order.
Sizes index_of(int64_t i, const Sizes &sizes) {
    Sizes index(sizes.size());
    for (size_t d = sizes.size(); d-- > 0; i /= sizes[d]) index[d] = i % sizes[d];
    return index;
}

// True if the scale of the output's element i is below 0.
bool has_negative_scale(const Case &test, int64_t i) {
    const CaseTensor &scale = test.inputs.at(scale_of_output(*test.op)->name);
    const Sizes index = index_of(i, test.expected.sizes),
                strides = scale.desc.strides.value_or(contiguous_strides(scale.desc.sizes)),
                block = scale.desc.block_sizes.value_or(Sizes(index.size(), 1));
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); d++) offset += index[d] / block[d] * strides[d];
    bool negative = false;
    with_any_type(hewn_data_type(scale.array.type), [&](auto tag) {
        negative = real(hewn_test::element<decltype(tag)>(scale.array.data.get(), offset)) < 0;
    });
    return negative;
}

// What is wrong with the first output. Empty: nothing. Adds to `negative_zeros` the elements of
// -0.0 that passed for an expected 0.0.
template<class T>
std::string difference(const Array &got, const Case &test, int64_t &negative_zeros) {
    const Array &expected = test.expected;
    const auto at = [](const Array &array, int64_t i) {
        return hewn_test::element<T>(array.data.get(), i);
    };
    int64_t first = -1, differing = 0, count = expected.count();
    for (int64_t i = 0; i < count; i++) {
        const T g = at(got, i), e = at(expected, i);
        if (reference::same(g, e) || (!test.exact && within(g, e, test.tolerance))) continue;
        if constexpr (is_float<T>) {
            const bool negative_for_positive_zero =
                real(g) == 0 && real(e) == 0 && !std::signbit(real(e));
            if (negative_for_positive_zero && test.zero_has_no_sign &&
                has_negative_scale(test, i)) {
                negative_zeros++;
                continue;
            }
        }
        if (differing++ == 0) first = i;
    }
    if (differing == 0) return "";
    return "element " + to_string(index_of(first, expected.sizes)) + ": got " +
           show(at(got, first)) + ", expected " + show(at(expected, first)) + "; " +
           std::to_string(differing) + " of " + std::to_string(count) + " differ";
}

std::string difference(const Array &got, const Case &test, int64_t &negative_zeros) {
    std::string text;
    with_any_type(hewn_data_type(test.expected.type),
                  [&](auto tag) { text = difference<decltype(tag)>(got, test, negative_zeros); });
    return text;
}

// What is wrong with the outputs. Empty: nothing.
std::string difference(const std::vector<Array> &got, const Case &test, int64_t &negative_zeros) {
    std::string text = difference(got.front(), test, negative_zeros);
    for (size_t i = 1; i < got.size() && text.empty(); i++) {
        if (!got[i].data) continue;
        Case other = test;
        other.expected = test.others_expected.at(i - 1);
        if (!other.expected.data) return "an output is not expected";
        text = difference(got[i], other, negative_zeros);
        if (!text.empty())
            text = std::string(test.op->tensors[input_count(*test.op) + i].name) + ": " + text;
    }
    return text;
}

// ---- Running ----

// Why the case is not run. Empty: it is to be run.
std::string reason_to_skip(const CaseRunner &runner, const Case &test) {
    if (!test.skip.empty()) return test.row + (test.row.empty() ? "" : ": ") + test.skip;
    if (test.refusal || runner.has_kernel(test)) return "";
    const std::string &forced = runner.choice.forced;
    if (runner.choice.one_variant) return "not a case of the forced variant " + forced;
    return "this build has no kernel " + test.signature + (forced.empty() ? "" : " for " + forced);
}

void run_case(const CaseRunner &runner, const Case &test, const std::string &where, Tally &tally) {
    const std::string skip = reason_to_skip(runner, test);
    if (!skip.empty()) {
        tally.skipped++;
        tally.reasons[skip]++;
        return;
    }
    std::string problem;
    try {
        const std::vector<Array> results = runner.run(test);
        problem = test.refusal ? "is not refused" : difference(results, test, tally.negative_zeros);
    } catch (const Error &error) {
        // A lack of memory says nothing about the case.
        if (error.status() == HEWN_STATUS_OUT_OF_MEMORY) throw;
        if (error.status() != test.refusal) problem = std::string("refused: ") + error.what();
    }
    if (problem.empty()) {
        tally.passed++;
        return;
    }
    tally.failed++;
    tally.failures.push_back("FAILED " + test.id + " (" + where + "): " + problem);
}

// Reads the next line. False at the end of the file.
bool read_line(std::istream &stream, std::string &line, const std::string &file) {
    try {
        // Without exceptions, getline would take a lack of memory for the end of the file.
        stream.exceptions(std::ios::badbit);
        return bool(std::getline(stream, line));
    } catch (const std::ios_base::failure &) {
        throw InputError(file + ": cannot be read");
    }
}

bool chosen(const Case &test, const std::string &op) {
    return op.empty() || !test.op || op == test.op->name;
}

void run_lines(const CaseRunner &runner, std::istream &stream, const std::string &file,
               const std::string &op, Tally &tally, Progress &progress) {
    int64_t number = 0;
    for (std::string line; read_line(stream, line, file); progress.advance(line.size() + 1)) {
        number++;
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        const std::string where = file + ":" + std::to_string(number);
        try {
            const Case test = parse_case(line, where);
            if (chosen(test, op)) run_case(runner, test, where, tally);
        } catch (const InputError &error) {  // the other cases are run nevertheless
            std::cerr << "hewn: error: " << error.what() << "\n";
            tally.unusable++;
        }
    }
}

void run_file(const CaseRunner &runner, const std::string &file, Tally &tally, Progress &progress) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw InputError(file + ": cannot be read");
    const int64_t before = tally.cases();
    const size_t failures = tally.failures.size();
    run_lines(runner, stream, file, "", tally, progress);
    for (size_t i = failures; i < tally.failures.size(); i++)
        std::cout << tally.failures[i] << "\n";
    if (tally.cases() > before) return;
    std::cerr << "hewn: error: " << file << ": holds no case\n";
    tally.unusable++;
}

}  // namespace

Tally built_in_conformance(const ExecutionOptions &options, const std::string &op) {
    const CaseRunner runner("conformance", options);
    Tally tally;
    uint64_t bytes = 0;
    for (const BuiltInCases &file : BUILT_IN_CASES) bytes += std::strlen(file.text);
    Progress progress("conformance", bytes);
    for (const BuiltInCases &file : BUILT_IN_CASES) {
        std::istringstream stream(file.text);
        run_lines(runner, stream, file.name, op, tally, progress);
    }
    return tally;
}

Conformance conformance(const std::vector<std::string> &files, const ExecutionOptions &options) {
    const CaseRunner runner("conformance", options);

    uint64_t total_bytes = 0;
    for (const std::string &file : files)
        total_bytes += regular_file_size(file);  // throws before the first case if a file is absent

    Tally tally;
    Progress progress("conformance", total_bytes);
    for (const std::string &file : files) run_file(runner, file, tally, progress);

    if (tally.skipped) std::cout << "skipped, by reason:\n";
    for (const auto &[reason, count] : tally.reasons)
        std::cout << "  " << count << "  " << reason << "\n";
    if (tally.negative_zeros)
        std::cout << "results of -0.0 (0 times a negative scale) where a source that compares with "
                     "a tolerance wrote 0.0: "
                  << tally.negative_zeros << "\n";
    std::cout << "with "
              << (runner.choice.one_variant ? runner.choice.forced
                                            : "kernels of " + picked_targets(runner.choice))
              << ": " << runner.choice.reason << "\n";
    std::cout << tally.passed << " passed, " << tally.failed << " failed, " << tally.skipped
              << " skipped";
    if (tally.unusable) std::cout << ", " << tally.unusable << " unusable";
    std::cout << std::endl;
    return tally.unusable ? Conformance::Unusable
           : tally.failed ? Conformance::Failed
                          : Conformance::Passed;
}

}  // namespace hewn::cli
