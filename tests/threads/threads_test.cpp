// Tests of executions on several threads: on the library's pool, by the user's parallel_for, and by
// many callers at once. The result must be that of one thread. On Linux also tests which CPUs the
// pool uses, and how it starts and ends.
#include <hewn/hewn.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#include <unistd.h>
#endif

#include "../../reference/contents.h"
#include "../../reference/problems.h"
#include "../../reference/variants.h"
#include "../support/check.h"
#include "../support/executors.h"
#include "../support/runnable.h"

namespace hewn_test {
namespace {

// Work of many slices for each operator: with contiguous tensors and, for another signature, with
// parameters per row and transposed inputs, which go through scratch memory.
std::vector<Problem> large_problems(const std::string &purpose) {
    Random random(purpose);
    std::vector<Problem> problems;
    for (const OperatorFacts &known : all_operators()) {
        const std::vector<std::string> &signatures = runnable_signatures(known.name);
        if (signatures.empty()) continue;
        const hewn_operator_type op = known.type;
        std::vector<std::vector<int64_t>> strides;
        for (const size_t i : free_inputs(op)) {
            if (known.is_parameter(i)) strides.push_back({1, 0});
            else strides.push_back({1, 1100});  // transposed
        }
        problems.push_back(make_problem(op, operand_types(op, signatures.front()), {700001},
                                        per_tensor(op), random));
        problems.push_back(make_problem(op, operand_types(op, signatures.back()), {1100, 700},
                                        strides, {700, 1}, random));
    }
    for (Problem &problem : problems) fill_inputs(problem, random);
    return problems;
}

hewn_compile_options with_executor(hewn_parallel_for_fn parallel_for, void *context = nullptr,
                                   int32_t max_threads = 0) {
    hewn_compile_options options = compile_options(nullptr, max_threads);
    options.parallel_for = parallel_for;
    options.parallel_for_context = context;
    return options;
}

hewn::Operator compile_add(int64_t elements) {
    const hewn::TensorDesc f32 = {hewn::DataType::FLOAT32, {elements}};
    return hewn::compile(hewn::AddDesc{f32, f32, f32});
}

TEST(Threads, DefaultPool) {
    for (Problem &problem : large_problems("Threads.DefaultPool")) {
        for (const int32_t max_threads : {0, 1, 2, 3, 7, 1000})
            EXPECT_TRUE(check(problem, compile_options(nullptr, max_threads))) << max_threads;
    }
}

TEST(Threads, UsersParallelFor) {
    for (Problem &problem : large_problems("Threads.UsersParallelFor")) {
        EXPECT_TRUE(check(problem, with_executor(on_std_threads))) << "std::thread";
        EXPECT_TRUE(check(problem, with_executor(in_reverse))) << "reverse order";
        Counting counting;
        // The limit is a number, because there may be a single CPU.
        EXPECT_TRUE(check(problem, with_executor(Counting::parallel_for, &counting, 8)));
        EXPECT_EQ(counting.calls, 1) << "large work goes to the executor once";
        EXPECT_GT(counting.slices, 1);
    }
}

#if defined(__linux__)
// A thread that compiles may be restricted to one CPU. The user's executor is not: it has its own
// threads.
TEST(Threads, UsersParallelForOfAPinnedCompiler) {
    cpu_set_t all, one;
    CPU_ZERO(&all);
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "this machine has one CPU";
    int cpu = 0;
    while (!CPU_ISSET(cpu, &all)) cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    for (Problem &problem : large_problems("Threads.UsersParallelForOfAPinnedCompiler")) {
        ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
        Counting of_operator, of_call;
        const hewn_execute_options options{sizeof options, 0, Counting::parallel_for, &of_call, 0};
        const bool right = check(problem, with_executor(Counting::parallel_for, &of_operator)) &&
                           check(problem, compile_options(), &options);
        ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
        EXPECT_TRUE(right);
        EXPECT_GT(of_operator.slices, 1);
        EXPECT_GT(of_call.slices, 1);
    }
}

// The process's threads, without this one.
std::vector<pid_t> other_threads() {
    std::vector<pid_t> threads;
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/task")) {
        const pid_t thread = pid_t(std::stol(entry.path().filename()));
        if (thread != gettid()) threads.push_back(thread);
    }
    return threads;
}

// Waits until there are at most `count` other threads, for a second at most, and returns their
// number. The system may list a thread for a while after it was joined.
size_t other_threads_down_to(size_t count) {
    for (int i = 0; i < 200 && other_threads().size() > count; i++)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return other_threads().size();
}

// Threads of the pool that wait for the caller's CPU move to another one that the caller may use.
// The CPUs that the caller itself may use stay the same.
TEST(Threads, PoolLeavesTheCallersCpu) {
    cpu_set_t all;
    CPU_ZERO(&all);
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "this thread has one CPU";
    std::vector<Problem> problems = large_problems("Threads.PoolLeavesTheCallersCpu");
    if (problems.empty()) GTEST_SKIP() << "no kernel of large work runs here";
    Problem &problem = problems[0];
    EXPECT_TRUE(check(problem, compile_options()));  // starts the pool
    bool moved = false;
    // It takes several tries, because this thread may leave its CPU, or do all the work, before
    // others begin.
    for (int i = 0; i < 1000 && !moved; i++) {
        const size_t cpu = size_t(sched_getcpu());
        cpu_set_t here;
        CPU_ZERO(&here);
        CPU_SET(cpu, &here);
        const std::vector<pid_t> pool = other_threads();
        ASSERT_FALSE(pool.empty());
        for (const pid_t thread : pool) sched_setaffinity(thread, sizeof here, &here);
        EXPECT_TRUE(check(problem, compile_options()));
        for (const pid_t thread : pool) {
            cpu_set_t now, expected = all;
            CPU_CLR(cpu, &expected);
            if (sched_getaffinity(thread, sizeof now, &now) != 0 || CPU_EQUAL(&now, &here))
                continue;
            EXPECT_TRUE(CPU_EQUAL(&now, &expected));
            moved = true;
        }
    }
    EXPECT_TRUE(moved);
    for (const pid_t thread : other_threads())
        sched_setaffinity(thread, sizeof all, &all);  // for the tests after this one
    cpu_set_t now;
    ASSERT_EQ(sched_getaffinity(0, sizeof now, &now), 0);
    EXPECT_TRUE(CPU_EQUAL(&now, &all));
}

// If all threads were confined to some CPUs, as by taskset, no thread of the pool leaves them.
TEST(Threads, PoolStaysWhereAllThreadsWerePut) {
    cpu_set_t all;
    CPU_ZERO(&all);
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "this thread has one CPU";
    if (runnable_variants("add", "f32").empty()) GTEST_SKIP() << "not in this build";
    constexpr int64_t kElements = 1 << 21;
    const hewn::Operator add = compile_add(kElements);
    const std::vector<float> input(kElements);
    std::vector<float> sum(kElements);
    hewn_shutdown();  // then the pool starts with this thread's CPUs
    add.execute({input, input}, {sum});
    const std::vector<pid_t> pool = other_threads();
    ASSERT_FALSE(pool.empty());
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(size_t(sched_getcpu()), &here);
    for (const pid_t thread : pool) ASSERT_EQ(sched_setaffinity(thread, sizeof here, &here), 0);
    ASSERT_EQ(sched_setaffinity(0, sizeof here, &here), 0);
    // Many times, because few executions leave the pool's threads time on that CPU.
    for (int i = 0; i < 200; i++) add.execute({input, input}, {sum});
    for (const pid_t thread : pool) {
        cpu_set_t now;
        ASSERT_EQ(sched_getaffinity(thread, sizeof now, &now), 0);
        EXPECT_TRUE(CPU_EQUAL(&now, &here));
        sched_setaffinity(thread, sizeof all, &all);  // for the tests after this one
    }
    sched_setaffinity(0, sizeof all, &all);
}
#endif

// The executor of one call replaces the operator's.
TEST(Threads, ParallelForOfOneCall) {
    for (Problem &problem : large_problems("Threads.OneCall")) {
        Counting compiled, called;
        const hewn_execute_options options{sizeof options, 8, Counting::parallel_for, &called, 0};
        EXPECT_TRUE(check(problem, with_executor(Counting::parallel_for, &compiled), &options));
        EXPECT_EQ(compiled.calls, 0);
        EXPECT_EQ(called.calls, 1);
    }
}

TEST(Threads, SmallWorkStaysOnTheCaller) {
    Random random("Threads.Small");
    Problem problem = make_problem(HEWN_OPERATOR_ADD, operand_types(HEWN_OPERATOR_ADD, "f32"),
                                   {100}, all_dense(HEWN_OPERATOR_ADD), random);
    fill_inputs(problem, random);
    Counting counting;
    EXPECT_TRUE(check(problem, with_executor(Counting::parallel_for, &counting)));
    EXPECT_EQ(counting.calls, 0);
}

TEST(Threads, MaxThreadsOneIsTheCaller) {
    for (Problem &problem : large_problems("Threads.One")) {
        Counting counting;
        EXPECT_TRUE(check(problem, with_executor(Counting::parallel_for, &counting, 1)));
        EXPECT_EQ(counting.calls, 0);
        const hewn_execute_options options{sizeof options, 1, nullptr, nullptr, 0};
        EXPECT_TRUE(check(problem, with_executor(Counting::parallel_for, &counting), &options));
        EXPECT_EQ(counting.calls, 0) << "the limit of one call";
        const hewn_execute_options executor_alone{sizeof executor_alone, 0, Counting::parallel_for,
                                                  &counting, 0};
        EXPECT_TRUE(check(problem, compile_options(nullptr, 1), &executor_alone));
        EXPECT_EQ(counting.calls, 0) << "a call without a limit has the operator's";
        const hewn_execute_options more{sizeof more, 8, nullptr, nullptr, 0};
        EXPECT_TRUE(check(problem, with_executor(Counting::parallel_for, &counting, 1), &more));
        EXPECT_EQ(counting.calls, 1) << "which replaces the operator's";
    }
}

// An executor may start a thread for each index that it is given. So the number of these must not
// exceed the limit of threads.
TEST(Threads, MaxThreadsLimitsTheSlicesInFlight) {
    struct Widest {
        std::atomic<int> widest{0};
        static void HEWN_CALL parallel_for(void *context, int32_t count, hewn_slice_fn fn,
                                           void *arg) {
            auto *self = static_cast<Widest *>(context);
            self->widest = std::max<int>(self->widest, count);
            in_reverse(nullptr, count, fn, arg);
        }
    };
    for (Problem &problem : large_problems("Threads.Limit")) {
        for (const int32_t limit : {2, 3}) {
            Widest widest;
            EXPECT_TRUE(check(problem, with_executor(Widest::parallel_for, &widest, limit)));
            EXPECT_LE(widest.widest, limit)
                << "an executor may run every index on a thread of its own";
        }
    }
}

// If rows leave out a short dimension, boxes that follow each other share cache lines of the
// output. Slices are made of such groups. A slice that is counted in single boxes would leave
// elements out.
TEST(Threads, SlicesOfBoxesThatShareLines) {
    if (runnable_variants("add", "f32").empty()) GTEST_SKIP() << "not in this build";
    Random random("Threads.SlicesOfBoxesThatShareLines");
    Problem problem = make_problem(HEWN_OPERATOR_ADD, operand_types(HEWN_OPERATOR_ADD, "f32"),
                                   {8192, 2, 32}, {{64, 32, 1}, {32, 0, 1}}, {64, 32, 1}, random);
    fill_inputs(problem, random);
    Counting counting;
    EXPECT_TRUE(check(problem, with_executor(Counting::parallel_for, &counting, 4)));
    EXPECT_GT(counting.slices, 1);
}

// Eight threads execute one operator. Each has an output of its own.
void eight_callers(const hewn_compile_options &options) {
    for (Problem &first : large_problems("Threads.Eight")) {
        OperatorPtr op;
        const Outcome compiled = compile(first.description(), &options, op);
        ASSERT_EQ(compiled.status, HEWN_STATUS_OK) << compiled;
        std::vector<uint8_t> expected = first.output.memory;
        evaluate_reference(first, expected);
        std::atomic<int> wrong{0}, failed{0};
        std::vector<std::thread> threads;
        for (int t = 0; t < 8; t++) {
            threads.emplace_back([&] {
                Tensor output(first.output.type, first.output.sizes, first.output.strides);
                for (int i = 0; i < 3; i++) {
                    std::fill(output.memory.begin(), output.memory.end(), SENTINEL);
                    const std::vector<hewn_buffer_binding> inputs = first.bindings();
                    const hewn_buffer_binding binding = output.binding();
                    if (hewn_execute(op.get(), inputs.data(), uint32_t(inputs.size()), &binding, 1,
                                     nullptr, nullptr) != HEWN_STATUS_OK)
                        failed++;
                    // NaNs may have other bits, so elements are compared one by one.
                    std::vector<uint8_t> actual = first.output.memory;
                    std::memcpy(actual.data() + first.output.offset, output.data(), output.bytes());
                    if (!output_equals(first, expected, actual)) wrong++;
                }
            });
        }
        for (std::thread &thread : threads) thread.join();
        EXPECT_EQ(failed, 0);
        EXPECT_EQ(wrong, 0) << describe(first);
    }
}

TEST(Threads, EightCallersOfOneOperator) { eight_callers(compile_options()); }
TEST(Threads, EightSerialCallersOfOneOperator) { eight_callers(compile_options(nullptr, 1)); }
TEST(Threads, EightCallersWithTheirOwnThreads) { eight_callers(with_executor(on_std_threads)); }

// Threads execute one operator with scales of their own. The operator keeps what it made of the
// scale that it met last. First one thread takes the scales in turn, where most can go wrong.
TEST(Threads, ScalesThatDifferFromCallToCall) {
    constexpr int64_t ELEMENTS = 1000;
    if (runnable_variants("quantize_linear", "f32_u8").empty()) GTEST_SKIP() << "not in this build";
    const std::vector<int64_t> sizes = {ELEMENTS}, one = {0};
    const hewn::Operator op =
        hewn::compile(hewn::QuantizeLinearDesc{{hewn::DataType::FLOAT32, sizes},
                                               {hewn::DataType::FLOAT32, sizes, one},
                                               hewn::TensorDesc{hewn::DataType::UINT8, sizes, one},
                                               {hewn::DataType::UINT8, sizes}});
    constexpr uint8_t ZERO_POINT = 100;
    std::vector<float> x(ELEMENTS);
    for (size_t i = 0; i < x.size(); i++)
        x[i] = float(int(i) - 500) * 0.0625f;  // ties among the quotients
    const float scales[] = {0.125f, 0.3f, 0.1f, 0.07f, 0.125f, -0.3f};
    std::atomic<int> wrong{0};
    const auto call = [&](float scale) {
        std::vector<uint8_t> output(ELEMENTS);
        const hewn_buffer_binding inputs[] = {
            {sizeof(hewn_buffer_binding), x.data(), 0, x.size() * sizeof(float)},
            {sizeof(hewn_buffer_binding), &scale, 0, sizeof scale},
            {sizeof(hewn_buffer_binding), const_cast<uint8_t *>(&ZERO_POINT), 0, 1}};
        const hewn_buffer_binding out = {sizeof(hewn_buffer_binding), output.data(), 0,
                                         output.size()};
        if (hewn_execute(op.get(), inputs, 3, &out, 1, nullptr, nullptr) != HEWN_STATUS_OK) wrong++;
        for (size_t i = 0; i < x.size(); i++)
            wrong += output[i] != reference::quantize_linear(x[i], scale, ZERO_POINT);
    };
    for (int i = 0; i < 60; i++) call(scales[i % 3 + i / 20]);
    EXPECT_EQ(wrong, 0) << "in turns";
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 300; i++) call(scales[(t + i / 3) % 6]);
        });
    }
    for (std::thread &thread : threads) thread.join();
    EXPECT_EQ(wrong, 0) << "at once";
}

// The options of one execution, in hewn.hpp.
TEST(Threads, ExecuteOptions) {
    if (runnable_variants("add", "f32").empty()) GTEST_SKIP() << "not in this build";
    constexpr size_t COUNT = 1 << 20;
    const hewn::Operator add = compile_add(COUNT);
    const std::vector<float> a(COUNT, 1), b(COUNT, 2);
    std::vector<float> sum(COUNT);
    Counting counting;
    const hewn::ExecuteOptions several(4, Counting::parallel_for, &counting),
        one(1, Counting::parallel_for, &counting), chained(4, nullptr, nullptr, true);
    add.execute({a, b}, {sum}, &several);
    EXPECT_EQ(counting.calls, 1);
    EXPECT_EQ(sum, std::vector<float>(COUNT, 3));
    add.execute({a, b}, {sum}, &one);
    EXPECT_EQ(counting.calls, 1);
    EXPECT_EQ(chained.output_is_read_next, 1);
    add.execute({sum, b}, {sum}, &chained);
    EXPECT_EQ(sum, std::vector<float>(COUNT, 5));
}

// A large output that is read next is not streamed. It must have the same bits, with one slice and
// with several, executed and bound.
TEST(Threads, OutputIsReadNext) {
    Random random("Threads.OutputIsReadNext");
    for (const OperatorFacts &known : all_operators()) {
        const std::vector<std::string> &signatures = runnable_signatures(known.name);
        if (signatures.empty()) continue;
        const DataTypes types = operand_types(known, signatures.front());
        for (const std::vector<int64_t> &sizes :
             {std::vector<int64_t>{(17 << 20) / 12}, {700, 2001}, {701, 2001}, {3 << 20}}) {
            Problem problem =
                make_problem(known.type, types, sizes, per_tensor(known.type), random);
            fill_inputs(problem, random);
            for (const int32_t max_threads : {1, 3}) {
                const hewn_execute_options options{sizeof options, max_threads, nullptr, nullptr,
                                                   1};
                EXPECT_TRUE(check(problem, compile_options(), &options)) << known.name;
            }
        }
    }
}

// Many threads compile at once. Everything that the process sets up once must be set up only once.
TEST(Threads, EightCompilersAtOnce) {
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; t++) {
        threads.emplace_back([&wrong, t] {
            for (Problem &problem : large_problems("Threads.Compilers." + std::to_string(t))) {
                if (!check(problem, compile_options())) wrong++;
            }
        });
    }
    for (std::thread &thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
}

TEST(Threads, ExecuteAfterShutdown) {
    std::vector<Problem> problems = large_problems("Threads.Shutdown");
    hewn_shutdown();  // before the pool ever started, or after another test used it
    for (Problem &problem : problems) {
        EXPECT_TRUE(check(problem, compile_options(nullptr, 4)));
        hewn_shutdown();
        hewn_shutdown();
        EXPECT_TRUE(check(problem, compile_options(nullptr, 4)));
    }
    hewn_shutdown();
}

// If several threads shut the pool down at once, hewn_shutdown returns on each of them.
TEST(Threads, ShutdownOnTwoThreads) {
    std::vector<Problem> problems = large_problems("Threads.ShutdownOnTwoThreads");
    if (problems.empty()) GTEST_SKIP() << "no kernel of large work runs here";
    for (int i = 0; i < 20; i++) {
        EXPECT_TRUE(check(problems[0], compile_options(nullptr, 4)));
        std::atomic<int> ready{0};
        const auto shut_down = [&] {
            for (ready++; ready < 2;) {
            }
            hewn_shutdown();
        };
        std::thread other(shut_down);
        shut_down();
        other.join();
    }
}

#if defined(__linux__)
// Three threads of this program execute at once, and may run each other's slices. One of them may
// use only one CPU. The CPUs of none of them may change.
TEST(Threads, CpusOfCallersStay) {
    cpu_set_t all, one;
    CPU_ZERO(&all);
    CPU_ZERO(&one);
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "this thread has one CPU";
    CPU_SET(size_t(sched_getcpu()), &one);
    std::atomic<int> changed{0}, wrong{0};
    const auto execute_often = [&](const cpu_set_t &cpus, int t) {
        ASSERT_EQ(sched_setaffinity(0, sizeof cpus, &cpus), 0);
        Random random("Threads.CpusOfCallersStay." + std::to_string(t));
        Problem problem = make_problem(HEWN_OPERATOR_ADD, operand_types(HEWN_OPERATOR_ADD, "f32"),
                                       {1 << 18}, all_dense(HEWN_OPERATOR_ADD), random);
        const hewn_compile_options options = compile_options(nullptr, 4);
        OperatorPtr op;
        if (compile(problem.description(), &options, op).status != HEWN_STATUS_OK) return;
        for (int i = 0; i < 300 && changed == 0; i++) {
            cpu_set_t now;
            CPU_ZERO(&now);
            wrong += execute(op.get(), problem).status != HEWN_STATUS_OK;
            changed += sched_getaffinity(0, sizeof now, &now) != 0 || !CPU_EQUAL(&now, &cpus);
        }
    };
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; t++) threads.emplace_back(execute_often, t == 0 ? one : all, t);
    for (std::thread &thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(changed, 0) << "a thread of the program was moved";
}

// A program may exit while threads of it execute.
TEST(Threads, ExitWhileOthersExecute) {
    if (runnable_variants("add", "f32").empty()) GTEST_SKIP() << "not in this build";
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    for (int i = 0; i < 20; i++) {
        EXPECT_EXIT(
            {
                static std::atomic<int> executions{0};
                for (int t = 0; t < 3; t++) {
                    std::thread([] {
                        const hewn::Operator add = compile_add(1 << 18);
                        std::vector<float> a(1 << 18, 1.0f), b(1 << 18, 2.0f), sum(1 << 18);
                        for (;; executions++) add.execute({a, b}, {sum});
                    }).detach();
                }
                while (executions < 10 + 7 * i)
                    std::this_thread::sleep_for(std::chrono::microseconds(50));
                std::exit(0);
            },
            testing::ExitedWithCode(0), "^$");
    }
}

TEST(Threads, ShutdownEndsThePool) {
    std::vector<Problem> problems = large_problems("Threads.ShutdownEndsThePool");
    if (problems.empty()) GTEST_SKIP() << "no kernel of large work runs here";
    hewn_shutdown();
    size_t others = other_threads_down_to(0);  // threads of a driver or a sanitizer
    for (int i = 0; i < 2; i++) {
        EXPECT_TRUE(check(problems[0], compile_options(nullptr, 4)));
        EXPECT_GT(other_threads().size(), others) << "the pool had not ended, or did not start";
        hewn_shutdown();
        EXPECT_EQ(other_threads_down_to(others), others);
    }
}

// The pool ignores HL_NUM_THREADS, the variable of Halide's own pools, because a program may have
// one of these as well.
TEST(Threads, PoolIgnoresHalidesVariable) {
    std::vector<Problem> problems = large_problems("Threads.PoolIgnoresHalidesVariable");
    if (problems.empty()) GTEST_SKIP() << "no kernel of large work runs here";
    hewn_shutdown();
    const size_t others = other_threads_down_to(0);
    ASSERT_EQ(setenv("HL_NUM_THREADS", "1", 1), 0);
    EXPECT_TRUE(check(problems[0], compile_options(nullptr, 4)));
    EXPECT_GT(other_threads().size(), others);
    unsetenv("HL_NUM_THREADS");
    hewn_shutdown();
}
#endif

}  // namespace
}  // namespace hewn_test
