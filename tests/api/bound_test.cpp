// Tests of hewn_bind and hewn_run: what runs see, and what a bound operator keeps. binding_test.cpp
// tests what hewn_bind refuses. check() (../support/check.h) tests all layouts and types, because
// it binds one problem in two.
#include <gtest/gtest.h>
#include <hewn/hewn.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "../../reference/contents.h"
#include "../../reference/evaluation.h"
#include "../../reference/problems.h"
#include "../support/check.h"
#include "../support/execution.h"
#include "../support/executors.h"
#include "../support/runnable.h"

namespace hewn_test {
namespace {

// Two problems of each operator, with its first signature that runs here and with these sizes: all
// tensors are contiguous, or the parameters are scalars.
std::vector<Problem> problems(const std::vector<int64_t> &sizes, Random &random) {
    std::vector<Problem> result;
    for (const OperatorFacts &op : all_operators()) {
        const std::vector<std::string> &signatures = runnable_signatures(op.name);
        if (signatures.empty()) continue;
        const DataTypes types = operand_types(op, signatures.front());
        result.push_back(make_problem(op.type, types, sizes, all_dense(op.type), random));
        result.push_back(make_problem(op.type, types, sizes, per_tensor(op.type), random));
    }
    return result;
}

BoundOperatorPtr bound_to(const hewn_operator *op, const Problem &problem,
                          const hewn_execute_options *options = nullptr) {
    const std::vector<hewn_buffer_binding> inputs = problem.bindings();
    const hewn_buffer_binding output = problem.output.binding();
    BoundOperatorPtr bound;
    const Outcome outcome =
        bind_operator(op, inputs.data(), uint32_t(inputs.size()), &output, 1, options, bound);
    EXPECT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
    return bound;
}

// One bound operator can run many times. Each run sees what the memory holds then, parameters
// included.
TEST(Bound, RunsSeeWhatTheMemoryHolds) {
    Random random("Bound.RunsSeeWhatTheMemoryHolds");
    for (const int64_t size : {1, 16, 3000, 70000}) {
        for (Problem &problem : problems({size}, random)) {
            OperatorPtr op;
            ASSERT_EQ(compile(problem.description(), nullptr, op).status, HEWN_STATUS_OK);
            const BoundOperatorPtr bound = bound_to(op.get(), problem);
            ASSERT_NE(bound, nullptr);
            for (int run = 0; run < 3; run++) {
                fill_inputs(problem, random, run == 1 ? Scales::extraordinary : Scales::ordinary);
                std::vector<uint8_t> expected = problem.output.memory;
                evaluate_reference(problem, expected);
                ASSERT_EQ(hewn_run(bound.get(), nullptr), HEWN_STATUS_OK);
                ASSERT_TRUE(output_equals(problem, expected, problem.output.memory))
                    << "run " << run;
            }
        }
    }
}

TEST(Bound, EmptyTensorsNeedNoMemory) {
    Random random("Bound.EmptyTensorsNeedNoMemory");
    for (const Problem &problem : problems({3, 0}, random)) {
        OperatorPtr op;
        ASSERT_EQ(compile(problem.description(), nullptr, op).status, HEWN_STATUS_OK);
        const BoundOperatorPtr bound = bound_to(op.get(), problem);
        EXPECT_EQ(hewn_run(bound.get(), nullptr), HEWN_STATUS_OK);
    }
}

// The options of hewn_bind hold for all runs. Here they have an executor that counts.
TEST(Bound, KeepsItsExecutor) {
    Random random("Bound.KeepsItsExecutor");
    for (Problem &problem : problems({1 << 20}, random)) {
        fill_inputs(problem, random);
        std::vector<uint8_t> expected = problem.output.memory;
        evaluate_reference(problem, expected);
        OperatorPtr op;
        ASSERT_EQ(compile(problem.description(), nullptr, op).status, HEWN_STATUS_OK);
        Counting counting;
        const hewn_execute_options options{sizeof options, 3, Counting::parallel_for, &counting, 0};
        const BoundOperatorPtr bound = bound_to(op.get(), problem, &options);
        for (int run = 1; run <= 2; run++) {
            ASSERT_EQ(hewn_run(bound.get(), nullptr), HEWN_STATUS_OK);
            EXPECT_EQ(counting.calls, run);
            EXPECT_EQ(counting.slices, 3 * run);
        }
        EXPECT_TRUE(output_equals(problem, expected, problem.output.memory));
    }
}

// Several threads run one bound operator, one at a time.
TEST(Bound, AnyThreadRuns) {
    Random random("Bound.AnyThreadRuns");
    for (Problem &problem : problems({5000}, random)) {
        fill_inputs(problem, random);
        std::vector<uint8_t> expected = problem.output.memory;
        evaluate_reference(problem, expected);
        OperatorPtr op;
        ASSERT_EQ(compile(problem.description(), nullptr, op).status, HEWN_STATUS_OK);
        const BoundOperatorPtr shared = bound_to(op.get(), problem);
        std::mutex running;
        int failed = 0;
        std::vector<std::thread> threads;
        for (int t = 0; t < 3; t++) {
            threads.emplace_back([&] {
                for (int i = 0; i < 20; i++) {
                    const std::lock_guard<std::mutex> lock(running);
                    failed += hewn_run(shared.get(), nullptr) != HEWN_STATUS_OK;
                }
            });
        }
        for (std::thread &thread : threads) thread.join();
        EXPECT_EQ(failed, 0);
        EXPECT_TRUE(output_equals(problem, expected, problem.output.memory));
    }
}

// Binds an output of its own, runs a few times, and returns how often something was wrong.
int bind_and_run(const hewn_operator *op, const Problem &problem,
                 const std::vector<hewn_buffer_binding> &inputs,
                 const std::vector<uint8_t> &expected) {
    Tensor output(problem.output.type, problem.output.sizes, problem.output.strides);
    const hewn_buffer_binding to = output.binding();
    BoundOperatorPtr bound;
    int wrong =
        bind_operator(op, inputs.data(), uint32_t(inputs.size()), &to, 1, nullptr, bound).status;
    for (int i = 0; i < 3; i++) wrong += hewn_run(bound.get(), nullptr) != HEWN_STATUS_OK;
    // NaNs may have other bits, so elements are compared one by one.
    std::vector<uint8_t> actual = problem.output.memory;
    std::memcpy(actual.data() + problem.output.offset, output.data(), output.bytes());
    return wrong + !output_equals(problem, expected, actual);
}

// 64 threads bind and run one operator with constants. Some of the work is large enough for the
// pool.
TEST(Bound, SixtyFourThreadsWithConstants) {
    Random random("Bound.SixtyFourThreadsWithConstants");
    std::vector<Problem> all = problems({300}, random);
    for (Problem &large : problems({300'000}, random)) all.push_back(std::move(large));
    for (Problem &problem : all) {
        fill_inputs(problem, random);
        std::vector<uint8_t> expected = problem.output.memory;
        evaluate_reference(problem, expected);
        const Constants constants(problem);
        const hewn_compile_options options = constants.added_to(compile_options(nullptr, 2));
        OperatorPtr op;
        ASSERT_EQ(compile(problem.description(), &options, op).status, HEWN_STATUS_OK);
        std::vector<hewn_buffer_binding> inputs = problem.bindings();
        for (size_t i = 0; i < inputs.size(); i++)
            if (constants.mask >> i & 1) inputs[i] = {sizeof inputs[i], nullptr, 0, 0};
        std::atomic<int> wrong{0};
        std::vector<std::thread> threads;
        for (int t = 0; t < 64; t++)
            threads.emplace_back(
                [&] { wrong += bind_and_run(op.get(), problem, inputs, expected); });
        for (std::thread &thread : threads) thread.join();
        EXPECT_EQ(wrong, 0) << describe(problem);
    }
}

}  // namespace
}  // namespace hewn_test
