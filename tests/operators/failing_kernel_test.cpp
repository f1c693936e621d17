// Tests what compile and execute report if a kernel fails. The kernels that are shipped do not
// fail, so all kernels and transpositions of this program are its own, and fail. The linker takes
// them instead of those in the static library.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "../../reference/contents.h"
#include "../../reference/problems.h"
#include "../../reference/variants.h"
#include "../support/check.h"
#include "../support/executors.h"
#include "../support/variant_fixture.h"

extern "C" {
void hewnrt_halide_error(void *user_context, const char *message);

// How many kernels have failed.
std::atomic<int> failures{0};
// Stands for every kernel. It reads only the first of a kernel's arguments.
int failing_kernel(void *user_context) {
    const int n = failures++;
    char message[32];
    snprintf(message, sizeof message, "failure %d says no", n);
    return hewnrt_halide_error(user_context, message), -7 - n;
}

// Gives failing_kernel the name of every entry, by the assembler: variants can share an entry, and
// C++ would take the name twice for two functions.
#define HEWN_VARIANT(op, signature, target, ...) __VA_ARGS__
#define HEWN_FORM(entry, ...) __asm__(".globl " #entry "\n.set " #entry ", failing_kernel\n");
#include "variants.inc"

#define HEWN_TRANSPOSITION(entry, bits, bytes, priority) \
    int entry(void **) { return -8; }
#include "transpositions.inc"
}

namespace hewn_test {
namespace {

class FailingKernelTest : public VariantTest {
protected:
    // Executes, and returns the error's message from the code on. `failures` then says how many
    // kernels failed.
    std::string message_of(const hewn_compile_options &options, Problem &problem) {
        OperatorPtr op;
        const Outcome compiled = compile(problem.description(), &options, op);
        EXPECT_EQ(compiled.status, HEWN_STATUS_OK) << compiled;
        failures = 0;
        const Outcome outcome = execute(op.get(), problem);
        EXPECT_EQ(outcome.status, HEWN_STATUS_KERNEL_FAILED);
        const std::string before = "kernel " + GetParam().name + " failed with code ";
        const size_t at = outcome.message.find(before);
        EXPECT_NE(at, std::string::npos) << outcome;
        return at == std::string::npos ? "" : outcome.message.substr(at + before.size());
    }
};

TEST_P(FailingKernelTest, IsNamedWithWhatItSays) {
    const Variant &variant = GetParam();
    Random random = this->random();
    Problem small =
        make_problem(variant.op(), variant.types(), {5, 20}, all_dense(variant.op()), random);
    EXPECT_EQ(message_of(compile_options(variant.name.c_str(), 1), small), "-7: failure 0 says no");
    EXPECT_EQ(failures, 1) << "went on after a failure";
    // In slices, each of which fails. The error is that of the slice that fails first. If several
    // fail at once it may be any of them, but the code and the message are of the same slice.
    Problem large =
        make_problem(variant.op(), variant.types(), {3000000}, per_tensor(variant.op()), random);
    for (const hewn_parallel_for_fn parallel_for :
         {in_reverse, on_std_threads, hewn_parallel_for_fn(nullptr)}) {
        hewn_compile_options options = compile_options(variant.name.c_str(), 4);
        options.parallel_for = parallel_for;
        const std::string message = message_of(options, large);
        EXPECT_GT(failures, 1);
        if (parallel_for == in_reverse) {
            EXPECT_EQ(message, "-7: failure 0 says no");
        }
        const int n = -7 - std::atoi(message.c_str());
        EXPECT_EQ(message, std::to_string(-7 - n) + ": failure " + std::to_string(n) + " says no");
    }
}

// Compile runs kernels too, if constants let it try a form. If such a kernel fails, compile reports
// what it says and gives no operator.
TEST_P(FailingKernelTest, CompileTellsOfIt) {
    static const std::set<std::string> tried = {
#define HEWN_VARIANT(op, signature, target, forms) #op "_" #signature "__" #target forms,
#define HEWN_FORM(entry, form, ...) " " #form
#include "variants.inc"
    };
    const Variant &variant = GetParam();
    const auto tries = std::find_if(tried.begin(), tried.end(), [&](const std::string &line) {
        return line.rfind(variant.name + " ", 0) == 0 && line.find(" folded") != std::string::npos;
    });
    Random random = this->random();
    Problem problem =
        make_problem(variant.op(), variant.types(), {100000}, per_tensor(variant.op()), random);
    for (auto &input : problem.inputs) {
        if (input && input->type == HEWN_DATA_TYPE_FLOAT32)
            input->set(0, 0.5f);  // scales with which `folded` may fit
    }
    const Constants constants(problem);
    const hewn_compile_options options =
        constants.added_to(compile_options(variant.name.c_str(), 1));
    failures = 0;
    OperatorPtr op;
    const Outcome outcome = compile(problem.description(), &options, op);
    EXPECT_EQ(outcome.status, tries == tried.end() ? HEWN_STATUS_OK : HEWN_STATUS_KERNEL_FAILED)
        << outcome;
    EXPECT_EQ(failures, tries == tried.end() ? 0 : 1);
    if (tries != tried.end()) {
        EXPECT_NE(outcome.message.find("kernel " + variant.name +
                                       " failed with code -7: failure 0 says no"),
                  std::string::npos)
            << outcome;
    }
}

TEST_P(FailingKernelTest, TranspositionsFailItToo) {
    const Variant &variant = GetParam();
    Random random = this->random();
    std::vector<std::vector<int64_t>> strides(free_inputs(variant.op()).size(), {1, 64});
    Problem problem =
        make_problem(variant.op(), variant.types(), {64, 64}, strides, {64, 1}, random);
    EXPECT_EQ(message_of(compile_options(variant.name.c_str(), 1), problem).substr(0, 2), "-8");
}

INSTANTIATE_TEST_SUITE_P(All, FailingKernelTest, testing::ValuesIn(built_variants()), variant_name);

}  // namespace
}  // namespace hewn_test
