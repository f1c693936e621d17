// Tests hewn in a program that has a Halide of its own: each keeps its runtime, its handlers and
// its threads. The program's kernel is app_add, which brings a complete runtime. The program
// replaces this runtime's halide_error, halide_malloc and halide_free.
#include <gtest/gtest.h>
#include <hewn/hewn.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include <HalideBuffer.h>

#include "app_add.h"

namespace {
std::atomic<int> errors{0}, allocations{0}, parallel_loops{0};
std::string last_error;

int app_do_par_for(void *user_context, halide_task_t task, int min, int size, uint8_t *closure) {
    parallel_loops++;
    return halide_default_do_par_for(user_context, task, min, size, closure);
}
}  // namespace

extern "C" {
void halide_error(void *, const char *message) {
    errors++;
    last_error = message;
}
void *halide_malloc(void *, size_t bytes) {
    allocations++;
    return std::malloc(bytes);
}
void halide_free(void *, void *memory) { std::free(memory); }
}

namespace {

// Runs ADD f32 of n elements through hewn, on threads.
hewn_status hewn_add(int64_t n, uint64_t output_bytes, hewn_error *error = nullptr) {
    const hewn_tensor_desc tensor{sizeof tensor, HEWN_DATA_TYPE_FLOAT32, 1, &n, nullptr, nullptr};
    const hewn_add_desc add{sizeof add, &tensor, &tensor, &tensor};
    const hewn_operator_desc desc{sizeof desc, HEWN_OPERATOR_ADD, &add};
    const hewn_compile_options options{
        sizeof options, HEWN_FEATURE_LEVEL_NEWEST, nullptr, 4, nullptr, nullptr, nullptr, 0};
    hewn_operator *op = nullptr;
    hewn_status status = hewn_compile(nullptr, &desc, &options, &op, error);
    if (status != HEWN_STATUS_OK) return status;
    std::vector<float> a(size_t(n), 1.0f), b(size_t(n), 2.0f), sum(size_t(n), 0.0f);
    const hewn_buffer_binding inputs[] = {{sizeof inputs[0], a.data(), 0, uint64_t(n) * 4},
                                          {sizeof inputs[0], b.data(), 0, uint64_t(n) * 4}};
    const hewn_buffer_binding output{sizeof output, sum.data(), 0, output_bytes};
    status = hewn_execute(op, inputs, 2, &output, 1, nullptr, error);
    hewn_destroy_operator(op);
    if (status == HEWN_STATUS_OK) {
        EXPECT_EQ(sum.front(), 3.0f);
        EXPECT_EQ(sum.back(), 3.0f);
    }
    return status;
}

// Runs the program's own kernel once. It was not compiled for an innermost stride of 2, and returns
// an error code then.
int app(int stride) {
    std::vector<float> memory(2000, 1.5f), result(1000);
    const auto buffer = [&](std::vector<float> &data, int x_stride) {
        const halide_dimension_t shape[] = {{0, 100, x_stride}, {0, 10, 100}};
        return Halide::Runtime::Buffer<float, 2>(data.data(), 2, shape);
    };
    auto a = buffer(memory, stride), b = buffer(memory, 1), output = buffer(result, 1);
    const int code = app_add(a, b, 0, output);
    EXPECT_TRUE(code != 0 || result[999] == 3.0f);
    return code;
}

class OwnHalide : public testing::Test {
protected:
    void SetUp() override {
        errors = allocations = parallel_loops = 0;
        last_error.clear();
        halide_set_custom_do_par_for(app_do_par_for);
    }
    void TearDown() override { hewn_shutdown(); }
};

TEST_F(OwnHalide, BothRun) {
    EXPECT_EQ(app(1), 0);
    EXPECT_EQ(hewn_add(4 << 20, 16 << 20), HEWN_STATUS_OK);
    EXPECT_EQ(app(1), 0);
    EXPECT_EQ(errors, 0);
}

TEST_F(OwnHalide, ErrorsReachTheirOwn) {
    EXPECT_NE(app(2), 0);
    EXPECT_EQ(errors, 1) << "the program's handler was not called for the program's kernel";
    EXPECT_FALSE(last_error.empty());
    hewn_error error{};
    error.struct_size = sizeof error;
    EXPECT_EQ(hewn_add(4 << 20, 4, &error), HEWN_STATUS_INVALID_BINDING);
    EXPECT_NE(error.message[0], '\0');
    EXPECT_EQ(hewn_add(4 << 20, 16 << 20), HEWN_STATUS_OK);
    EXPECT_EQ(errors, 1) << "hewn called the program's handler";
    EXPECT_NE(app(2), 0);
    EXPECT_EQ(errors, 2) << "the program lost its handler";
}

TEST_F(OwnHalide, MemoryAndThreadsStayApart) {
    EXPECT_EQ(hewn_add(4 << 20, 16 << 20), HEWN_STATUS_OK);
    EXPECT_EQ(allocations, 0) << "hewn allocated by the program's halide_malloc";
    EXPECT_EQ(parallel_loops, 0) << "hewn ran on the program's halide_do_par_for";
    // The program's own settings are still in effect.
    halide_free(nullptr, halide_malloc(nullptr, 64));
    EXPECT_EQ(allocations, 1);
    halide_do_par_for(
        nullptr, [](void *, int, uint8_t *) { return 0; }, 0, 8, nullptr);
    EXPECT_EQ(parallel_loops, 1);
    halide_shutdown_thread_pool();
    EXPECT_EQ(hewn_add(4 << 20, 16 << 20), HEWN_STATUS_OK)
        << "hewn's threads are not the program's";
}

}  // namespace
