// A program that is built with ThreadSanitizer and uses the libraries as they are built for users,
// without it. The argument says what it does, and what ThreadSanitizer must report:
//
//     thread_sanitizer_test clean   Threads execute on the pool at the same time: no report.
//     thread_sanitizer_test cuda    Threads launch at the same time, with the driver of
//                                   fake_cuda.c: no report.
//     thread_sanitizer_test race    Like clean, but two of the threads count without a lock: a
//                                   report of that.
#include <hewn/hewn.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

namespace {

std::atomic<int> wrong{0};
int raced = 0;

__attribute__((noinline)) void count_without_lock() { raced++; }

hewn::Operator compile_add(const std::vector<int64_t> &strides) {
    const hewn::TensorDesc dense = {hewn::DataType::INT32, {1024, 128}},
                           a = {hewn::DataType::INT32, {1024, 128}, strides};
    hewn::CompileOptions options;
    options.max_threads = 8;  // a number, because there may be a single CPU
    return hewn::compile(hewn::AddDesc{a, dense, dense}, options);
}

// Executes this many times, with memory of its own that it writes before and reads after each time.
void execute_often(const hewn::Operator &add, int times) {
    std::vector<int32_t> a(1024 * 128), b(a.size()), sum(a.size());
    for (int i = 0; i < times; i++) {
        std::fill(a.begin(), a.end(), i);
        std::fill(b.begin(), b.end(), 2 * i);
        add.execute({a, b}, {sum});
        wrong += std::count(sum.begin(), sum.end(), 3 * i) != int64_t(sum.size());
    }
}

void run(bool race) {
    const hewn::Operator dense = compile_add({128, 1}), transposed = compile_add({1, 1024});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++) {
        threads.emplace_back([&, t] {
            execute_often(t % 2 ? dense : transposed, 20);
            if (race && t < 2) count_without_lock();
        });
    }
    for (std::thread &thread : threads) thread.join();
}

void launch() {
    const hewn::Device device = hewn::Device::open(hewn::DeviceKind::CUDA, 0);
    const hewn::TensorDesc i32 = {hewn::DataType::INT32, {1000}};
    const hewn::Operator add = hewn::compile(hewn::AddDesc{i32, i32, i32}, {}, &device);
    const hewn::DeviceMemory memory(device, 3 * 4096);
    const auto part = [&](uint64_t index) {
        return hewn_buffer_binding{sizeof(hewn_buffer_binding), memory.get(), 4096 * index, 4096};
    };
    const hewn_buffer_binding inputs[] = {part(0), part(1)}, output = part(2);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++) {
        threads.emplace_back([&] {
            for (int i = 0; i < 5000; i++)
                wrong += hewn_execute(add.get(), inputs, 2, &output, 1, nullptr, nullptr) !=
                         HEWN_STATUS_OK;
        });
    }
    for (std::thread &thread : threads) thread.join();
}

}  // namespace

int main(int argc, char **argv) {
    const auto is = [&](const char *mode) { return argc > 1 && std::strcmp(argv[1], mode) == 0; };
    const bool race = is("race");
    if (is("cuda")) return launch(), wrong != 0;
    for (int i = 0; i < 2; i++) {  // so that the pool starts and ends as well
        run(race);
        hewn_shutdown();
    }
    run(race);
    std::printf("%d wrong results\n", wrong.load());
    return wrong != 0;
}
