// Problems, which the benchmarks and the tuner measure. A problem is one operator with tensors of
// one signature, one layout and one number of elements, filled with suitable values. Here are also
// the memory for problems (Arena), the comparison of results, and functions to compile a problem
// with hewn.
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

// built_variants() has those of CPUs. gpu/gpu.cpp measures those of GPUs.
using hewn_test::Variant, hewn_test::built_variants;

// The names of the layouts, which say how the tensors lie in memory (README.md).
const std::vector<std::string> &all_layouts();

// Whether the layout exists for the operator and for this many elements.
bool layout_fits(const std::string &op, const std::string &layout, int64_t elements);

// ---- Memory -------------------------------------------------------------------------------------

// Memory for the tensors of one problem after another. It is one range of addresses, which grows as
// needed and is used again from its start for the next problem. So page faults happen only once,
// and all contenders of a row work on the same pages.
class Arena {
public:
    Arena();
    ~Arena();
    Arena(const Arena &) = delete;
    Arena &operator=(const Arena &) = delete;

    // Makes all memory free for the next problem.
    void reset() { used_ = taken_ = 0; }
    // The number of bytes that the arena keeps: the most that were ever taken.
    size_t kept() const { return kept_; }
    // Returns memory at a multiple of 64 bytes. Each tensor begins at another distance from the
    // start of its page. Otherwise loads and stores of different tensors would look dependent to
    // the CPU.
    void *take(size_t bytes);

private:
    void *mapped_;
    char *base_;
    size_t used_ = 0, kept_ = 0, taken_ = 0;
};

// ---- Problems -----------------------------------------------------------------------------------

// A tensor. Strides are in elements; a stride of 0 repeats.
struct Operand {
    std::string type;  // "f32", "u8", ...
    std::vector<int64_t> sizes, strides;
    void *data = nullptr;

    size_t element_bytes() const;  // 1 for sub-byte types
    // The number of elements from the first to the last in memory, including gaps between rows, and
    // the bytes that they take.
    int64_t span() const;
    size_t bytes() const;
    // The number of different elements: those along strides of 0 count once.
    int64_t distinct() const;
    // The first dimension along which the tensor varies. -1 if there is none.
    int axis() const;
    // The sizes, but 1 where the stride is 0, if a tensor of these sizes would be contiguous.
    // Otherwise empty.
    std::vector<int64_t> contiguous_shape() const;
    // The different elements of a scale or zero point, as doubles.
    std::vector<double> values() const;

    // The description for the C interface. It is valid as long as this object exists.
    hewn_tensor_desc desc() const;
    hewn::Binding binding() const { return {data, bytes()}; }
};

struct Problem {
    std::string op, signature, layout;
    int64_t elements = 0;
    std::vector<Operand> inputs;  // in the order of hewn's bindings
    Operand output;
    // ADD1's are RELU, unless the tuner sets others. Other operators have none before fuse_relu().
    std::vector<int32_t> attributes = {};

    // The bytes that are read and written if each different element is touched once.
    double bytes() const;
    // Whether an input is a scale or a zero point.
    bool is_parameter(size_t input) const;
    // Gives an operator that has fused activations the activation RELU.
    void fuse_relu();
    // Whether the sum is followed by RELU. (Comparisons know no other activation.)
    bool has_relu() const { return !attributes.empty(); }
    // The description for hewn_compile. It is valid as long as this object exists.
    hewn_test::Description description() const;
};

// Makes a problem without memory: data is null. Problem::elements is smaller than `elements` if the
// layout needs whole rows.
Problem lay_out(const std::string &op, const std::string &signature, const std::string &layout,
                int64_t elements);

// Makes a problem with memory of the arena. The inputs are filled with values; the output is 0.
Problem make_problem(const std::string &op, const std::string &signature, const std::string &layout,
                     int64_t elements, Arena &arena);

// The bytes of memory that a problem with this many elements takes at most.
double memory_bytes(const std::string &op, const std::string &signature, int64_t elements);

// Throws std::runtime_error if the output is not that of the reference, bit for bit.
void check_against_reference(const Problem &problem);

// The number of elements of the problem's output that differ from `expected` (an output of the same
// layout), and whether all of them differ by at most a step. A step is 1 for integers, and about
// the last two bits of a float. Sums of integers (ADD) may not differ at all.
struct Difference {
    int64_t count = 0;
    bool within_a_step = true;
};
Difference difference(const Problem &problem, const void *expected);

// `variant` is a target or a variant to force, or empty.
hewn::CompileOptions compile_options(const std::string &variant, int threads);

// Compiles with the hewn_compile of the linked build, or with that of another build, which must
// also destroy the operator. Throws hewn::Error.
hewn_operator *compile(const hewn_test::Description &description,
                       const hewn::CompileOptions &options,
                       decltype(&hewn_compile) with = hewn_compile);
// Compiles with the linked build. It is inline because tune_runner, which uses problem.cpp, is
// linked with no build.
inline hewn::Operator compile(const Problem &problem, const hewn::CompileOptions &options) {
    return hewn::Operator(compile(problem.description(), options));
}
// The problem's scales and zero points, for CompileOptions::constants.
std::vector<hewn::InputBinding> constants_of(const Problem &problem);
std::vector<hewn_buffer_binding> input_bindings(const Problem &problem);
// The bindings for an operator that was compiled with constants_of(problem): null for the
// constants.
std::vector<hewn_buffer_binding> bindings_beside_constants(const Problem &problem);

}  // namespace hewn_bench
