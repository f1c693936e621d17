// Tests fork after the library has used threads: the child can execute again, on its own thread,
// and exits like any program. Only for POSIX systems.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "../../reference/contents.h"
#include "../../reference/problems.h"
#include "../../reference/variants.h"
#include "../support/check.h"
#include "../support/executors.h"

namespace hewn_test {
namespace {

// The child's exit code, or -1 if it did not exit by itself within five minutes.
int exit_code(pid_t child) {
    for (int i = 0; i < 30000; i++) {
        int status = 0;
        if (waitpid(child, &status, WNOHANG) == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    return -1;
}

class ForkTest : public testing::Test {
protected:
    void SetUp() override {
        Random random("Fork");
        problem_ = make_problem(HEWN_OPERATOR_ADD, operand_types(HEWN_OPERATOR_ADD, "f32"),
                                {3000001}, all_dense(HEWN_OPERATOR_ADD), random);
        fill_inputs(problem_, random);
        expected_ = problem_.output.memory;
        evaluate_reference(problem_, expected_);
        const hewn_compile_options options = compile_options(nullptr, 4);
        ASSERT_EQ(compile(problem_.description(), &options, op_).status, HEWN_STATUS_OK);
    }
    bool run(const hewn_execute_options *options = nullptr) {
        std::fill(problem_.output.memory.begin(), problem_.output.memory.end(), SENTINEL);
        return execute(op_.get(), problem_, options).status == HEWN_STATUS_OK &&
               output_equals(problem_, expected_, problem_.output.memory);
    }
    template<class Body>
    int in_child(Body &&body) {
        std::fflush(nullptr);  // otherwise the child would print buffered text again
        const pid_t child = fork();
        // exit and not _exit, so that exit handlers and destructors run, the library's among them.
        if (child == 0) std::exit(body() ? 0 : 1);
        return exit_code(child);
    }

    Problem problem_;
    std::vector<uint8_t> expected_;
    OperatorPtr op_;
};

TEST_F(ForkTest, ChildExecutesAndExits) {
    ASSERT_TRUE(run()) << "in the parent, on threads";
    EXPECT_EQ(in_child([&] { return run() && run(); }), 0);
    EXPECT_EQ(in_child([] { return true; }), 0) << "a child that only exits";
    EXPECT_TRUE(run()) << "in the parent afterwards";
}

TEST_F(ForkTest, ChildShutsDown) {
    ASSERT_TRUE(run());
    EXPECT_EQ(in_child([&] {
                  hewn_shutdown();
                  return run();
              }),
              0);
    EXPECT_TRUE(run());
}

TEST_F(ForkTest, ChildCompiles) {
    ASSERT_TRUE(run());
    EXPECT_EQ(in_child([&] { return bool(check(problem_, compile_options(nullptr, 4))); }), 0);
}

TEST_F(ForkTest, ChildUsesItsOwnThreads) {
    ASSERT_TRUE(run());
    EXPECT_EQ(in_child([&] {
                  const hewn_execute_options options{sizeof options, 0, on_std_threads, nullptr, 0};
                  return run(&options);
              }),
              0);
}

TEST_F(ForkTest, BeforeThePoolEverRan) {
    hewn_shutdown();
    EXPECT_EQ(in_child([&] { return run(); }), 0);
    EXPECT_TRUE(run());
}

// Forks at any moment while other threads execute, so that the pool's locks may be held.
TEST_F(ForkTest, WhileOtherThreadsExecute) {
    Random random("Fork.While");
    Problem other = make_problem(HEWN_OPERATOR_ADD, operand_types(HEWN_OPERATOR_ADD, "f32"),
                                 {90000}, all_dense(HEWN_OPERATOR_ADD), random);
    const hewn_compile_options options = compile_options(nullptr, 4);
    OperatorPtr op;
    ASSERT_EQ(compile(other.description(), &options, op).status, HEWN_STATUS_OK);
    const std::vector<hewn_buffer_binding> inputs = other.bindings();
    const hewn_buffer_binding output = other.output.binding();
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; t++) {
        threads.emplace_back([&] {
            std::vector<float> sum(90000);
            const hewn_buffer_binding own{sizeof own, sum.data(), 0, sum.size() * sizeof(float)};
            while (!stop) hewn_execute(op.get(), inputs.data(), 2, &own, 1, nullptr, nullptr);
        });
    }
    for (int i = 0; i < 150; i++) {
        const int code = in_child([&] {
            return hewn_execute(op.get(), inputs.data(), 2, &output, 1, nullptr, nullptr) ==
                   HEWN_STATUS_OK;
        });
        EXPECT_EQ(code, 0);
        if (code != 0) break;
    }
    stop = true;
    for (std::thread &thread : threads) thread.join();
}

TEST_F(ForkTest, Grandchild) {
    ASSERT_TRUE(run());
    EXPECT_EQ(in_child([&] { return run() && in_child([&] { return run(); }) == 0; }), 0);
}

}  // namespace
}  // namespace hewn_test
