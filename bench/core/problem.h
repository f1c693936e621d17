// What is measured: one operator on tensors of one signature, layout and number of elements, with
// contents.
#pragma once

#include <hewn/hewn.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../../reference/operators.h"
#include "../../reference/variants.h"

namespace hewn_bench {

// ---- The lists ----------------------------------------------------------------------------------

using hewn_test::Variant, hewn_test::built_variants;  // the CPU's; gpu.cpp measures the GPUs'

// How the tensors lie; see README.md.
const std::vector<std::string> &all_layouts();

// Whether the layout exists for the operator, and for that many elements.
bool layout_fits(const std::string &op, const std::string &layout, int64_t elements);

// ---- Memory -------------------------------------------------------------------------------------

// One address range that grows as it is used and is used again from the start for the next problem:
// no row waits for page faults, and every contender of a row works on the same pages.
class Arena {
public:
    Arena();
    ~Arena();
    Arena(const Arena &) = delete;
    Arena &operator=(const Arena &) = delete;

    void reset() { used_ = taken_ = 0; }
    // The most bytes that were ever taken: they are still there.
    size_t kept() const { return kept_; }
    // Memory at a multiple of 64 bytes, not at the same distance from a page's start as what was
    // taken before: loads and stores of different tensors would look dependent to the CPU.
    void *take(size_t bytes);

private:
    void *mapped_;
    char *base_;
    size_t used_ = 0, kept_ = 0, taken_ = 0;
};

// ---- Problems -----------------------------------------------------------------------------------

// A tensor. Strides in elements, 0 repeats.
struct Operand {
    std::string type;  // "f32", "u8", ...
    std::vector<int64_t> sizes, strides;
    void *data = nullptr;

    size_t element_bytes() const;
    // Elements from the first to the last in memory, gaps between rows included.
    int64_t span() const;
    // Elements that a full pass touches: those along strides of 0 count once.
    int64_t distinct() const;
    // The one dimension it varies along; -1: none.
    int axis() const;
    // Sizes with 1 where the stride is 0, if that shape is contiguous; else empty.
    std::vector<int64_t> packed_shape() const;
    // The elements of a parameter (scale or zero point), widened.
    std::vector<double> values() const;

    // The C view; valid while this object lives.
    hewn_tensor_desc desc() const;
    hewn::Binding binding() const { return {data, uint64_t(span()) * element_bytes()}; }
};

struct Problem {
    std::string op, signature, layout;
    int64_t elements = 0;
    std::vector<Operand> inputs;  // in the order of hewn's bindings
    Operand output;

    // Every input element read once, every output element written once.
    double bytes() const;
    // Whether an input is a scale or a zero point.
    bool is_parameter(size_t input) const;
    // Valid while this object lives.
    hewn_test::Description description() const;
};

// Sizes and strides; data is null. `elements` may come out smaller where the layout wants whole
// rows.
Problem lay_out(const std::string &op, const std::string &signature, const std::string &layout,
                int64_t elements);

// The same with contents.
Problem make_problem(const std::string &op, const std::string &signature, const std::string &layout,
                     int64_t elements, Arena &arena);

// The bytes of memory that such a problem takes.
double memory_bytes(const std::string &op, const std::string &signature, int64_t elements);

// Throws std::runtime_error where the output is not what reference/reference.h gives, bit for bit.
void check_against_reference(const Problem &problem);

// Elements of the problem's output that differ from `expected` (an output of the same layout), and
// whether one does so by more than a step: 1 for integers, the last two bits of a float.
struct Difference {
    int64_t count = 0;
    bool within_a_step = true;
};
Difference difference(const Problem &problem, const void *expected);

// variant: a target or variant to force, or empty.
hewn::CompileOptions compile_options(const std::string &variant, int threads);

// By the linked build's hewn_compile or another's, which the operator then belongs to. Throws
// hewn::Error.
hewn_operator *compile(const hewn_test::Description &description,
                       const hewn::CompileOptions &options,
                       decltype(&hewn_compile) with = hewn_compile);
// By the linked build's. Inline, because the tuner's runner, which is linked with problem.cpp, is
// linked with no build.
inline hewn::Operator compile(const Problem &problem, const hewn::CompileOptions &options) {
    return hewn::Operator(compile(problem.description(), options));
}
// Its scales and zero points, for CompileOptions.
std::vector<hewn::InputBinding> constants_of(const Problem &problem);
std::vector<hewn_buffer_binding> input_bindings(const Problem &problem);
// Where constants_of(problem) were given: of its data alone, null for the others.
std::vector<hewn_buffer_binding> bindings_beside_constants(const Problem &problem);

}  // namespace hewn_bench
