// What an execution says of a kernel that fails, which those that are shipped do not: here every kernel and transposition does.
// The linker takes this program's own for those of the static library.
#include <gtest/gtest.h>

#include "executors.h"
#include "problems.h"
#include "variants.h"

extern "C" {
void hewnrt_halide_error(void *user_context, const char *message);

// More arguments than these go by unread.
int failing_kernel(void *user_context) { return hewnrt_halide_error(user_context, "the kernel says no"), -7; }

// A name of it for every entry: by the assembler, for C++ would take one that variants share for two.
#define HEWN_VARIANT(op, signature, target, ...) __VA_ARGS__
#define HEWN_FORM(entry, ...) __asm__(".globl " #entry "\n.set " #entry ", failing_kernel\n");
#include "variants.inc"
#undef HEWN_FORM
#undef HEWN_VARIANT

#define HEWN_TRANSPOSITION(entry, bits, bytes, rank) \
    int entry(void **) { return -8; }
#include "transpositions.inc"
#undef HEWN_TRANSPOSITION
}

namespace hewn_test {
namespace {

class FailingKernelTest : public VariantTest {
protected:
    void expect(const hewn_compile_options &options, Problem &problem, const std::string &message) {
        OperatorPtr op;
        const Outcome compiled = compile(*problem.description(), &options, op);
        ASSERT_EQ(compiled.status, HEWN_STATUS_OK) << compiled;
        const Outcome outcome = execute(op.get(), problem);
        EXPECT_EQ(outcome.status, HEWN_STATUS_KERNEL_FAILED);
        EXPECT_NE(outcome.message.find("kernel " + GetParam().name + " failed with code " + message), std::string::npos)
            << outcome;
    }
};

TEST_P(FailingKernelTest, IsNamedWithWhatItSays) {
    const Variant &variant = GetParam();
    Random random = this->random();
    Problem small = make_problem(variant.op(), variant.types(), {5, 20}, all_dense(variant.op()), random);
    expect(compile_options(variant.name.c_str(), 1), small, "-7: the kernel says no");
    // In slices, each of which fails.
    Problem large = make_problem(variant.op(), variant.types(), {3000000}, per_tensor(variant.op()), random);
    for (const hewn_parallel_for_fn parallel_for : {in_reverse, on_std_threads, hewn_parallel_for_fn(nullptr)}) {
        hewn_compile_options options = compile_options(variant.name.c_str(), 4);
        options.parallel_for = parallel_for;
        expect(options, large, "-7: the kernel says no");
    }
}

TEST_P(FailingKernelTest, TranspositionsFailItToo) {
    const Variant &variant = GetParam();
    Random random = this->random();
    std::vector<std::vector<int64_t>> strides(free_inputs(variant.op()).size(), {1, 64});
    Problem problem = make_problem(variant.op(), variant.types(), {64, 64}, strides, {64, 1}, random);
    expect(compile_options(variant.name.c_str(), 1), problem, "-8");
}

INSTANTIATE_TEST_SUITE_P(All, FailingKernelTest, testing::ValuesIn(built_variants()), variant_name);

}  // namespace
}  // namespace hewn_test
