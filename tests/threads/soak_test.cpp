// Does mixed work for as long as asked: 3 seconds, or HEWN_SOAK_MINUTES. No result may be wrong,
// and memory must not grow. Only for Linux.
#include <gtest/gtest.h>

#include <malloc.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
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

using Clock = std::chrono::steady_clock;

constexpr int ROUNDS = 20, WORKERS = 3;
constexpr int64_t FEW = 3000;  // elements

double soak_seconds() {
    const char *minutes = std::getenv("HEWN_SOAK_MINUTES");
    return minutes ? 60 * std::atof(minutes) : 3;
}

// A problem of any kernel that runs here, with any layout.
Problem any_problem(Random &random, int64_t most_elements) {
    const OperatorFacts &op = random.pick(all_operators());
    const std::vector<std::string> &signatures = runnable_signatures(op.name);
    if (signatures.empty()) return any_problem(random, most_elements);
    Problem problem =
        random_problem(op.type, operand_types(op, random.pick(signatures)), random, most_elements);
    fill_inputs(problem, random, random.one_in(2) ? Scales::ordinary : Scales::extraordinary);
    return problem;
}

// The work of one thread. It compiles, checks and destroys operators, and keeps some of them for
// long.
class Worker {
public:
    explicit Worker(int number) : random_("Soak" + std::to_string(number)), kept_(20) {
        for (OperatorPtr &op : kept_) replace(op);
    }
    // Works until `end`, and returns the number of results that are wrong.
    int64_t work(Clock::time_point end) {
        int64_t wrong = 0;
        for (; Clock::now() < end; done_++) {
            // One problem in 64 may be large enough for several threads.
            Problem problem = any_problem(random_, random_.one_in(64) ? 1 << 20 : FEW);
            hewn_compile_options options = compile_options(nullptr, int32_t(random_.integer(0, 4)));
            if (random_.one_in(4)) options.parallel_for = on_std_threads;
            wrong += !check(problem, options);
            replace(kept_[size_t(random_.integer(0, int64_t(kept_.size()) - 1))]);
        }
        return wrong;
    }
    int64_t done() const { return done_; }

private:
    Random random_;
    std::vector<OperatorPtr> kept_;
    int64_t done_ = 0;

    void replace(OperatorPtr &op) {
        const Problem problem = any_problem(random_, FEW);
        const Constants constants(problem);
        const hewn_compile_options options = constants.added_to(compile_options());
        op.reset();
        EXPECT_EQ(compile(problem.description(), &options, op).status, HEWN_STATUS_OK);
    }
};

// Runs all workers at once until `end`, and then shuts the pool down. Returns the number of results
// that are wrong.
int64_t work_together(std::vector<Worker> &workers, Clock::time_point end) {
    std::atomic<int64_t> wrong{0};
    std::vector<std::thread> threads;
    for (Worker &worker : workers) threads.emplace_back([&] { wrong += worker.work(end); });
    for (std::thread &thread : threads) thread.join();
    hewn_shutdown();
    return wrong;
}

TEST(Soak, MixedWork) {
    // Without this, glibc keeps more and more memory that was free for a while.
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
    const Clock::time_point start = Clock::now();
    const std::chrono::duration<double> all(soak_seconds());
    std::vector<Worker> workers;
    for (int w = 0; w < WORKERS; w++) workers.emplace_back(w);
    uint64_t settled = 0, last = 0;
    for (int round = 1; round <= ROUNDS; round++) {
        const auto end = start + std::chrono::duration_cast<Clock::duration>(all * round / ROUNDS);
        ASSERT_EQ(work_together(workers, end), 0) << "HEWN_SEED repeats the problems";
        malloc_trim(0);  // free memory does not count
        last = resident_memory();
        if (round <= ROUNDS / 2) settled = std::max(settled, last);
        int64_t done = 0;
        for (const Worker &worker : workers) done += worker.done();
        std::printf("%.0f s: %lld operators, %.1f MiB resident\n",
                    std::chrono::duration<double>(Clock::now() - start).count(), (long long)done,
                    double(last) / (1 << 20));
    }
    if (!EMULATED) {  // under emulation it is the emulator's memory
        EXPECT_LE(last, settled + (4 << 20));
    }
}

}  // namespace
}  // namespace hewn_test
