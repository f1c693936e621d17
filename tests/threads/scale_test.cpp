// Tests with numbers that few programs reach: 100,000 operators that are alive, a million that are
// compiled, slices for 1000 threads. Memory must not grow, and results must be right.
#include <hewn/hewn.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <vector>

#include "../../reference/contents.h"
#include "../../reference/problems.h"
#include "../../reference/variants.h"
#include "../support/check.h"
#include "../support/emulated.h"
#include "../support/executors.h"
#include "../support/mapping.h"
#include "../support/runnable.h"

namespace hewn_test {
namespace {

// A problem of each operator that runs here, with contiguous tensors and scalar parameters.
std::vector<Problem> one_of_each(int64_t elements) {
    Random random("Scale");
    std::vector<Problem> problems;
    for (const OperatorFacts &op : all_operators()) {
        const std::vector<std::string> &signatures = runnable_signatures(op.name);
        if (signatures.empty()) continue;
        problems.push_back(make_problem(op.type, operand_types(op, signatures.front()), {elements},
                                        per_tensor(op.type), random));
        fill_inputs(problems.back(), random);
    }
    return problems;
}

// Memory hooks that count the bytes in use.
struct Memory {
    std::map<void *, size_t> live;
    size_t bytes = 0;

    static void *HEWN_CALL allocate(void *context, size_t size, size_t) {
        Memory &memory = *static_cast<Memory *>(context);
        void *at = std::aligned_alloc(64, (size + 63) / 64 * 64);
        memory.live[at] = size;
        memory.bytes += size;
        return at;
    }
    static void HEWN_CALL deallocate(void *context, void *at) {
        Memory &memory = *static_cast<Memory *>(context);
        if (!at) return;
        memory.bytes -= memory.live.at(at);
        memory.live.erase(at);
        std::free(at);
    }
};

// Operators take little memory, and all of it is given back.
TEST(Scale, OperatorsAlive) {
    constexpr int COUNT = 100'000;
    Memory memory;
    const hewn_cpu_device_desc desc = {sizeof desc, Memory::allocate, Memory::deallocate, &memory};
    hewn_device *created = nullptr;
    ASSERT_EQ(hewn_create_cpu_device(&desc, &created, nullptr), HEWN_STATUS_OK);
    DevicePtr device(created);
    const std::vector<Problem> problems = one_of_each(1000);
    const size_t before = memory.bytes;
    std::vector<OperatorPtr> operators(COUNT);
    for (int i = 0; i < COUNT; i++) {
        const Problem &problem = problems[size_t(i) % problems.size()];
        hewn_operator *op = nullptr;
        ASSERT_EQ(hewn_compile(created, problem.description().get(), nullptr, &op, nullptr),
                  HEWN_STATUS_OK);
        operators[size_t(i)].reset(op);
    }
    const size_t each = (memory.bytes - before) / COUNT;
    std::printf("%zu bytes an operator\n", each);
    EXPECT_LE(each, 6u << 10);
    operators.clear();
    EXPECT_EQ(memory.bytes, before);
    device.reset();
    EXPECT_TRUE(memory.live.empty());
}

// A million operators are compiled, one after the other. The memory that the process has from the
// system must not grow.
TEST(Scale, MillionCompiles) {
    const int COUNT = EMULATED ? 20'000 : 1'000'000;
    const std::vector<Problem> problems = one_of_each(1000);
    uint64_t before = 0;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < COUNT; i++) {
        const Problem &problem = problems[size_t(i) % problems.size()];
        hewn_operator *op = nullptr;
        ASSERT_EQ(hewn_compile(nullptr, problem.description().get(), nullptr, &op, nullptr),
                  HEWN_STATUS_OK);
        hewn_destroy_operator(op);
        if (i == COUNT / 100) before = resident_memory();
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("%.1f million a minute\n", COUNT / seconds.count() * 60 / 1e6);
    if (!EMULATED) {  // under emulation it is the emulator's memory
        EXPECT_LE(resident_memory(), before + (1 << 20));
    }
}

// An executor for more CPUs than there are here: no more slices than it asks for, and the same
// results.
TEST(Scale, Slices) {
    for (Problem &problem : one_of_each(int64_t(1) << 21)) {
        for (const int32_t most : {1, 2, 64, 1000}) {
            Counting counting;
            hewn_compile_options options = compile_options(nullptr, most);
            options.parallel_for = Counting::parallel_for;
            options.parallel_for_context = &counting;
            EXPECT_TRUE(check(problem, options)) << most;
            EXPECT_LE(counting.slices, most);
            EXPECT_GE(counting.slices, most == 1 ? 0 : std::min(most, 16)) << most;
            std::printf("%s: %d slices of %d\n", facts(problem.op).name.c_str(),
                        counting.slices.load(), most);
        }
    }
}

}  // namespace
}  // namespace hewn_test
