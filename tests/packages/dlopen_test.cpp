// Loads, uses and unloads libhewn.so three times, also with its threads. Only for POSIX.
#include <gtest/gtest.h>

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <hewn/hewn.h>

namespace {

struct Library {
    void *handle = dlopen(HEWN_LIBRARY, RTLD_NOW | RTLD_LOCAL);

    template<class Function>
    Function *get(Function *, const char *name) const {
        Function *function = reinterpret_cast<Function *>(dlsym(handle, name));
        EXPECT_NE(function, nullptr) << name;
        return function;
    }
};
#define HEWN_GET(library, function) \
    library.get(static_cast<decltype(&function)>(nullptr), #function)

// Runs ADD of four million i32 on up to `max_threads` threads.
void add(const Library &library, int32_t max_threads) {
    const int64_t n = 4 << 20;
    const hewn_tensor_desc tensor{sizeof tensor, HEWN_DATA_TYPE_INT32, 1, &n, nullptr, nullptr};
    const hewn_add_desc add{sizeof add, &tensor, &tensor, &tensor};
    const hewn_operator_desc desc{sizeof desc, HEWN_OPERATOR_ADD, &add};
    hewn_compile_options options{sizeof options, HEWN_FEATURE_LEVEL_NEWEST,
                                 nullptr,        max_threads,
                                 nullptr,        nullptr,
                                 nullptr,        0};
    hewn_operator *op = nullptr;
    ASSERT_EQ(HEWN_GET(library, hewn_compile)(nullptr, &desc, &options, &op, nullptr),
              HEWN_STATUS_OK);
    std::vector<int32_t> a(size_t(n), 3), b(size_t(n), 4), sum(size_t(n), 0);
    const hewn_buffer_binding inputs[] = {{sizeof inputs[0], a.data(), 0, uint64_t(n) * 4},
                                          {sizeof inputs[0], b.data(), 0, uint64_t(n) * 4}};
    const hewn_buffer_binding output{sizeof output, sum.data(), 0, uint64_t(n) * 4};
    EXPECT_EQ(HEWN_GET(library, hewn_execute)(op, inputs, 2, &output, 1, nullptr, nullptr),
              HEWN_STATUS_OK);
    EXPECT_EQ(std::count(sum.begin(), sum.end(), 7), n);
    HEWN_GET(library, hewn_destroy_operator)(op);
}

void three_times(int32_t max_threads, bool shut_down) {
    for (int i = 0; i < 3; i++) {
        const Library library;
        ASSERT_NE(library.handle, nullptr) << dlerror();
        EXPECT_GT(HEWN_GET(library, hewn_variant_count)(), 0u);
        add(library, max_threads);
        if (shut_down) HEWN_GET(library, hewn_shutdown)();
        ASSERT_EQ(dlclose(library.handle), 0) << dlerror();
        void *still = dlopen(HEWN_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
        EXPECT_EQ(still, nullptr) << "dlclose did not unload the library";
        if (still) dlclose(still);
    }
}

TEST(Dlopen, Serial) { three_times(1, false); }
TEST(Dlopen, ThreadsAndShutdown) { three_times(4, true); }
// The header asks for hewn_shutdown, but a program without it must not crash either.
TEST(Dlopen, ThreadsWithoutShutdown) { three_times(4, false); }

}  // namespace
