// Tests that execute allocates nothing and takes no lock, by counting. This program has its own
// malloc family, mmap and pthread locks. The linker also sends it the allocations and the calls of
// the thread pool of the library's private Halide runtime (--wrap in threads.cmake). Only for
// Linux.
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>

#include "../../reference/block_problems.h"
#include "../../reference/contents.h"
#include "../../reference/dynamic.h"
#include "../../reference/problems.h"
#include "../../reference/variants.h"
#include "../support/check.h"
#include "../support/executors.h"
#include "../support/runnable.h"
#include "../support/variant_fixture.h"

namespace {
std::atomic<bool> counting{false};
std::atomic<bool> many_cpus{false};
std::atomic<long> allocations{0}, locks{0}, pool_calls{0};

void count(std::atomic<long> &counter) {
    if (counting.load(std::memory_order_relaxed)) counter++;
}

template<class Function>
Function *next(const char *name) {
    return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}
}  // namespace

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

void *malloc(size_t bytes) { return count(allocations), __libc_malloc(bytes); }
void *calloc(size_t n, size_t bytes) { return count(allocations), __libc_calloc(n, bytes); }
void *realloc(void *memory, size_t bytes) {
    return count(allocations), __libc_realloc(memory, bytes);
}
void *memalign(size_t alignment, size_t bytes) {
    return count(allocations), __libc_memalign(alignment, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
    return count(allocations), __libc_memalign(alignment, bytes);
}
int posix_memalign(void **memory, size_t alignment, size_t bytes) {
    count(allocations);
    *memory = __libc_memalign(alignment, bytes);
    return *memory ? 0 : ENOMEM;
}
void free(void *memory) { return count(allocations), __libc_free(memory); }
void *mmap(void *address, size_t bytes, int protection, int flags, int file,
           off_t offset) noexcept {
    count(allocations);
    return reinterpret_cast<void *>(
        syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}

int pthread_mutex_lock(pthread_mutex_t *mutex) noexcept {
    static const auto real = next<int(pthread_mutex_t *)>("pthread_mutex_lock");
    return count(locks), real(mutex);
}
int pthread_mutex_trylock(pthread_mutex_t *mutex) noexcept {
    static const auto real = next<int(pthread_mutex_t *)>("pthread_mutex_trylock");
    return count(locks), real(mutex);
}
int pthread_rwlock_rdlock(pthread_rwlock_t *lock) noexcept {
    static const auto real = next<int(pthread_rwlock_t *)>("pthread_rwlock_rdlock");
    return count(locks), real(lock);
}
int pthread_rwlock_wrlock(pthread_rwlock_t *lock) noexcept {
    static const auto real = next<int(pthread_rwlock_t *)>("pthread_rwlock_wrlock");
    return count(locks), real(lock);
}
int pthread_spin_lock(pthread_spinlock_t *lock) noexcept {
    static const auto real = next<int(pthread_spinlock_t *)>("pthread_spin_lock");
    return count(locks), real(lock);
}
int pthread_once(pthread_once_t *once, void (*init)()) {
    static const auto real = next<int(pthread_once_t *, void (*)())>("pthread_once");
    return count(locks), real(once, init);
}

// If many_cpus is set, the machine has more CPUs than glibc's cpu_set_t has bits: the system
// refuses to fill it.
int sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *set) noexcept {
    static const auto real = next<int(pid_t, size_t, cpu_set_t *)>("sched_getaffinity");
    if (!many_cpus) return real(process, bytes, set);
    errno = EINVAL;
    return -1;
}
// There are four CPUs, whatever the machine has.
long sysconf(int name) noexcept {
    static const auto real = next<long(int)>("sysconf");
    return name == _SC_NPROCESSORS_ONLN ? 4 : real(name);
}

// The linker's --wrap sends the library's calls here.
void *__real_hewnrt_halide_malloc(void *, size_t);
void *__wrap_hewnrt_halide_malloc(void *user_context, size_t bytes) {
    return count(allocations), __real_hewnrt_halide_malloc(user_context, bytes);
}
int __real_hewnrt_halide_do_par_for(void *, int (*)(void *, int, uint8_t *), int, int, uint8_t *);
int __wrap_hewnrt_halide_do_par_for(void *user_context, int (*task)(void *, int, uint8_t *),
                                    int min, int size, uint8_t *closure) {
    return count(pool_calls),
           __real_hewnrt_halide_do_par_for(user_context, task, min, size, closure);
}
}

namespace hewn_test {
namespace {

struct Counts {
    long allocations, locks, pool_calls;
};

template<class Call>
Counts counts_of(Call &&call) {
    allocations = locks = pool_calls = 0;
    counting = true;
    call();
    counting = false;
    return {allocations, locks, pool_calls};
}

// The counters themselves work.
TEST(Counters, Work) {
    EXPECT_EQ(counts_of([] {}).allocations, 0);
    void *volatile memory = nullptr;
    EXPECT_EQ(counts_of([&] { memory = std::malloc(100); }).allocations, 1);
    EXPECT_EQ(counts_of([&] { std::free(memory); }).allocations, 1);
    EXPECT_GT(counts_of([&] {
                  std::vector<int> v(10);
                  memory = v.data();
              }).allocations,
              0);
    EXPECT_EQ(counts_of([&] { memory = aligned_alloc(64, 64); }).allocations, 1);
    std::free(memory);
    EXPECT_EQ(counts_of([&] {
                  memory = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              }).allocations,
              1);
    munmap(memory, 4096);
    std::mutex mutex;
    EXPECT_EQ(counts_of([&] { const std::lock_guard lock(mutex); }).locks, 1);
    // Compiling allocates, and the library's calls arrive here.
    const int64_t size = 4;
    const hewn_tensor_desc tensor{sizeof tensor, HEWN_DATA_TYPE_FLOAT32, 1, &size, nullptr,
                                  nullptr};
    const hewn_add_desc add{sizeof add, &tensor, &tensor, &tensor};
    const hewn_operator_desc desc{sizeof desc, HEWN_OPERATOR_ADD, &add};
    hewn_operator *op = nullptr;
    EXPECT_GT(counts_of([&] { hewn_compile(nullptr, &desc, nullptr, &op, nullptr); }).allocations,
              0);
    EXPECT_GT(counts_of([&] { hewn_destroy_operator(op); }).allocations, 0);
}

class AllocationTest : public VariantTest {};

// Rows in place, scratch memory, parameters per axis, ADD in place; on one thread, and by the
// user's parallel_for.
TEST_P(AllocationTest, ExecuteAllocatesAndLocksNothing) {
    const Variant &variant = GetParam();
    Random random = this->random();
    std::vector<Problem> problems;
    const size_t inputs = free_inputs(variant.op()).size();
    problems.push_back(
        make_problem(variant.op(), variant.types(), {7}, all_dense(variant.op()), random));
    problems.push_back(
        make_problem(variant.op(), variant.types(), {1 << 20}, per_tensor(variant.op()), random));
    problems.push_back(make_problem(variant.op(), variant.types(), {700, 500},
                                    std::vector<std::vector<int64_t>>(inputs, {1, 700}), {500, 1},
                                    random));
    problems.push_back(make_problem(variant.op(), variant.types(), {300, 7, 100},
                                    std::vector<std::vector<int64_t>>(inputs, {0, 3, 21}),
                                    {1, 300, 2100}, random));
    for (int i = 0; i < 30; i++)
        problems.push_back(random_problem(variant.op(), variant.types(), random, 20000));
    for (Problem &problem : problems) {
        fill_inputs(problem, random, random.one_in(2) ? Scales::ordinary : Scales::extraordinary);
        std::vector<uint8_t> expected = problem.output.memory;
        evaluate_reference(problem, expected);
        const std::vector<uint8_t> before = problem.output.memory;
        for (const bool serial : {true, false}) {
            hewn_compile_options options = compile_options(variant.name.c_str(), serial ? 1 : 0);
            if (!serial) options.parallel_for = in_reverse;
            OperatorPtr op;
            ASSERT_EQ(compile(problem.description(), &options, op).status, HEWN_STATUS_OK);
            const std::vector<hewn_buffer_binding> bindings = problem.bindings();
            const hewn_buffer_binding output = problem.output.binding();
            problem.output.memory = before;
            hewn_status status = -1;
            // This is the very first call, before anything could have been set up.
            const Counts counts = counts_of([&] {
                status = hewn_execute(op.get(), bindings.data(), uint32_t(bindings.size()), &output,
                                      1, nullptr, nullptr);
            });
            ASSERT_EQ(status, HEWN_STATUS_OK);
            ASSERT_EQ(counts.allocations, 0) << describe(problem);
            ASSERT_EQ(counts.locks, 0) << describe(problem);
            ASSERT_EQ(counts.pool_calls, 0) << describe(problem);
            ASSERT_TRUE(output_equals(problem, expected, problem.output.memory));

            BoundOperatorPtr bound;
            ASSERT_EQ(bind_operator(op.get(), bindings.data(), uint32_t(bindings.size()), &output,
                                    1, nullptr, bound)
                          .status,
                      HEWN_STATUS_OK);
            const Counts run = counts_of([&] { status = hewn_run(bound.get(), nullptr); });
            ASSERT_EQ(status, HEWN_STATUS_OK);
            ASSERT_EQ(run.allocations + run.locks + run.pool_calls, 0) << describe(problem);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(, AllocationTest, testing::ValuesIn(built_variants()), variant_name);

// The most bytes of a thread's stack that `call` takes, with what the thread itself takes.
size_t stack_of(const std::function<void()> &call) {
    constexpr size_t BYTES = 1 << 20;
    constexpr unsigned char PAINT = 0xa5;
    auto *const stack = static_cast<unsigned char *>(
        mmap(nullptr, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memset(stack, PAINT, BYTES);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, BYTES);
    pthread_t thread;
    const auto run = [](void *argument) -> void * {
        (*static_cast<const std::function<void()> *>(argument))();
        return nullptr;
    };
    EXPECT_EQ(pthread_create(&thread, &attributes, run, const_cast<std::function<void()> *>(&call)),
              0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    size_t unused = 0;
    while (unused < BYTES && stack[unused] == PAINT) unused++;
    munmap(stack, BYTES);
    return BYTES - unused;
}

// The limits that hewn.h gives for a thread's stack: 92 KiB for scratch memory, 33 KiB more for
// rows of scales.
TEST_P(AllocationTest, StackIsBounded) {
    const Variant &variant = GetParam();
    Random random = this->random();
    const size_t inputs = free_inputs(variant.op()).size();
    constexpr size_t SCRATCH = 92, ROWS_OF_SCALES = 33;  // KiB
    struct Bounded {
        Problem problem;
        size_t most;
    };
    std::vector<Bounded> all;
    all.push_back(
        {make_problem(variant.op(), variant.types(), {700, 500},
                      std::vector<std::vector<int64_t>>(inputs, {1, 700}), {500, 1}, random),
         SCRATCH});
    if (variant.op() == HEWN_OPERATOR_QUANTIZE_LINEAR)
        all.push_back({make_problem(variant.op(), variant.types(), {700, 500},
                                    {{1, 700}, {0, 1}, {0, 1}}, {500, 1}, random),
                       SCRATCH + ROWS_OF_SCALES});
    if (variant.op() == HEWN_OPERATOR_QUANTIZE_LINEAR &&
        variant.types()[0] == HEWN_DATA_TYPE_FLOAT32) {
        all.push_back({make_problem(variant.op(), variant.types(), {700, 500},
                                    {{1, 700}, {1, 700}, {1, 700}}, {500, 1}, random),
                       SCRATCH});
        all.back().problem.attributes[0] = HEWN_PRECISION_FLOAT16;
    }
    const size_t thread_alone = stack_of([] {});
    for (auto &[problem, most] : all) {
        fill_inputs(problem, random);
        const hewn_compile_options options = compile_options(variant.name.c_str(), 1);
        OperatorPtr op;
        ASSERT_EQ(compile(problem.description(), &options, op).status, HEWN_STATUS_OK);
        const std::vector<hewn_buffer_binding> bindings = problem.bindings();
        const hewn_buffer_binding output = problem.output.binding();
        const size_t bytes = stack_of([&] {
            hewn_execute(op.get(), bindings.data(), uint32_t(bindings.size()), &output, 1, nullptr,
                         nullptr);
        });
        EXPECT_GT(bytes, thread_alone + 10000)
            << describe(problem) << ": no scratch memory was measured";
        EXPECT_LE(bytes, thread_alone + most * 1024) << describe(problem);
    }
}

// Both passes of DYNAMIC_QUANTIZE_LINEAR over its input: in one slice and in many, with the input
// in place and through scratch memory.
TEST(Allocation, DynamicQuantization) {
    Random random("Allocation.DynamicQuantization");
    for (const Variant &variant : runnable_dynamic_variants()) {
        const DataTypes types = variant.types();
        Dynamic small({types[0], types[1]}, 7), large({types[0], types[1]}, 1 << 20);
        Dynamic transposed(Tensor(types[0], {700, 500}, {1, 700}), Tensor(types[1], {700, 500}));
        Dynamic strided(Tensor(types[0], {700, 500}, {3000, 3}), Tensor(types[1], {700, 500}));
        for (Dynamic *problem : {&small, &large, &transposed, &strided}) {
            fill_normal(problem->input, random);
            const Images expected = expected_output(*problem);
            for (const bool serial : {true, false}) {
                hewn_compile_options options =
                    compile_options(variant.name.c_str(), serial ? 1 : 0);
                if (!serial) options.parallel_for = in_reverse;
                OperatorPtr op;
                ASSERT_EQ(compile(problem->description(), &options, op).status, HEWN_STATUS_OK);
                const hewn_buffer_binding input = problem->input.binding();
                const std::vector<hewn_buffer_binding> outputs = problem->bindings();
                hewn_status status = -1;
                const auto run = [&] {
                    status = hewn_execute(op.get(), &input, 1, outputs.data(), 3, nullptr, nullptr);
                };
                const Counts counts = counts_of(run);
                ASSERT_EQ(status, HEWN_STATUS_OK);
                EXPECT_EQ(counts.allocations + counts.locks + counts.pool_calls, 0) << variant;
                EXPECT_EQ(problem->difference(expected), "") << variant;
                if (!serial) continue;
                const size_t thread_alone = stack_of([] {}), bytes = stack_of(run);
                EXPECT_LE(bytes, thread_alone + 92 * 1024) << variant;
            }
        }
    }
}

// Scales that are chosen at once (rows), in passes of their own (columns), and for one block.
TEST(Allocation, ChosenScales) {
    Random random("Allocation.ChosenScales");
    for (const Variant &variant : runnable_block_variants()) {
        for (const std::vector<int64_t> &blocks :
             {std::vector<int64_t>{1, 900}, {1, 32}, {600, 1}, {600, 900}}) {
            const bool whole = blocks[0] > 1 && blocks[1] > 1;
            if (whole && variant.op() != HEWN_OPERATOR_DYNAMIC_QUANTIZE) continue;
            BlockProblem problem =
                contiguous_blocks(variant.op(), variant.types(), {600, 900}, blocks, random);
            const auto expected = expected_output(problem);
            for (const bool serial : {true, false}) {
                hewn_compile_options options =
                    compile_options(variant.name.c_str(), serial ? 1 : 0);
                if (!serial) options.parallel_for = in_reverse;
                OperatorPtr op;
                ASSERT_EQ(compile(problem.description(), &options, op).status, HEWN_STATUS_OK);
                const std::vector<hewn_buffer_binding> inputs = problem.input_bindings(),
                                                       outputs = problem.bindings();
                hewn_status status = -1;
                const auto run = [&] {
                    status =
                        hewn_execute(op.get(), inputs.data(), uint32_t(inputs.size()),
                                     outputs.data(), uint32_t(outputs.size()), nullptr, nullptr);
                };
                const Counts counts = counts_of(run);
                ASSERT_EQ(status, HEWN_STATUS_OK);
                EXPECT_EQ(counts.allocations + counts.locks + counts.pool_calls, 0) << variant;
                EXPECT_EQ(problem.difference(expected), "") << variant;
                if (!serial) continue;
                const size_t thread_alone = stack_of([] {}), bytes = stack_of(run);
                EXPECT_LE(bytes, thread_alone + 125 * 1024) << variant;
            }
        }
    }
}

// An execute that is refused allocates and locks nothing either.
TEST(Allocation, RefusedExecute) {
    const int64_t size = 4;
    const hewn_tensor_desc tensor{sizeof tensor, HEWN_DATA_TYPE_FLOAT32, 1, &size, nullptr,
                                  nullptr};
    const hewn_compile_options options = compile_options();
    OperatorPtr op;
    ASSERT_EQ(
        compile(Description(HEWN_OPERATOR_ADD, {tensor, tensor, tensor}), &options, op).status,
        HEWN_STATUS_OK);
    float memory[4] = {};
    const hewn_buffer_binding good{sizeof good, memory, 0, 16}, shorter{sizeof good, memory, 0, 15};
    const hewn_buffer_binding inputs[] = {good, shorter};
    hewn_error error{};
    error.struct_size = sizeof error;
    hewn_status status = HEWN_STATUS_OK;
    const Counts counts =
        counts_of([&] { status = hewn_execute(op.get(), inputs, 2, &good, 1, nullptr, &error); });
    EXPECT_EQ(status, HEWN_STATUS_INVALID_BINDING);
    EXPECT_EQ(counts.allocations, 0);
    EXPECT_EQ(counts.locks, 0);
}

// Only large work reaches the pool.
TEST(Allocation, PoolIsUsedForLargeWorkOnly) {
    Random random("Allocation.Pool");
    for (const auto &[size, calls] :
         {std::pair<int64_t, long>{100, 0}, std::pair<int64_t, long>{4000000, 1}}) {
        Problem problem = make_problem(HEWN_OPERATOR_ADD, operand_types(HEWN_OPERATOR_ADD, "f32"),
                                       {size}, all_dense(HEWN_OPERATOR_ADD), random);
        const hewn_compile_options options = compile_options(nullptr, 4);
        OperatorPtr op;
        ASSERT_EQ(compile(problem.description(), &options, op).status, HEWN_STATUS_OK);
        const std::vector<hewn_buffer_binding> bindings = problem.bindings();
        const hewn_buffer_binding output = problem.output.binding();
        EXPECT_EQ(counts_of([&] {
                      hewn_execute(op.get(), bindings.data(), 2, &output, 1, nullptr, nullptr);
                  }).pool_calls,
                  calls)
            << size;
    }
    hewn_shutdown();
}

// An operator that is compiled by a thread with a single CPU runs only on its caller.
TEST(Cpus, OfTheThreadThatCompiles) {
    cpu_set_t all, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    CPU_SET(size_t(sched_getcpu()), &one);
    Random random("Allocation.OneCpu");
    Problem problem = make_problem(HEWN_OPERATOR_ADD, operand_types(HEWN_OPERATOR_ADD, "f32"),
                                   {4000000}, all_dense(HEWN_OPERATOR_ADD), random);
    const hewn_compile_options options = compile_options();
    OperatorPtr op;
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    const Outcome outcome = compile(problem.description(), &options, op);
    ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
    ASSERT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
    EXPECT_EQ(
        counts_of([&] { ASSERT_EQ(execute(op.get(), problem).status, HEWN_STATUS_OK); }).pool_calls,
        0);
}

// If the affinity mask cannot be read, the operator is not limited to one thread.
TEST(Cpus, MoreThanAMaskHolds) {
    Random random("Allocation.Cpus");
    Problem problem = make_problem(HEWN_OPERATOR_ADD, operand_types(HEWN_OPERATOR_ADD, "f32"),
                                   {4000000}, all_dense(HEWN_OPERATOR_ADD), random);
    const hewn_compile_options options = compile_options();
    OperatorPtr op;
    many_cpus = true;
    const Outcome outcome = compile(problem.description(), &options, op);
    many_cpus = false;
    ASSERT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
    EXPECT_EQ(
        counts_of([&] { ASSERT_EQ(execute(op.get(), problem).status, HEWN_STATUS_OK); }).pool_calls,
        1);
    hewn_shutdown();
}

}  // namespace
}  // namespace hewn_test
