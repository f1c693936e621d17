// Code that the fuzzers share (fuzz.h): allocations that fail and, for the tests, the program that
// replays the kept inputs.
#include "fuzz.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <new>

#include "../../tools/hewn/array.h"
#include "../../tools/hewn/device.h"

namespace hewn_fuzz {

namespace {

// How many allocations there are until they fail, counting the first one that fails; 0: none fails.
unsigned until_failure = 0;

std::map<std::string, Fuzzer> &fuzzers() {
    static std::map<std::string, Fuzzer> all;
    return all;
}

}  // namespace

Registered::Registered(const char *name, Fuzzer fuzzer) { fuzzers()[name] = fuzzer; }

void fail(const std::string &what) {
    std::fprintf(stderr, "fuzz: %s\n", what.c_str());
    std::abort();
}

FailingAllocations::FailingAllocations(unsigned number) { until_failure = number; }
FailingAllocations::~FailingAllocations() { until_failure = 0; }

void tolerating(const std::function<void()> &call) {
    try {
        call();
    } catch (const hewn::cli::InputError &) {
    } catch (const hewn::cli::OperatorError &) {
    } catch (const hewn::cli::MemoryError &) {
    } catch (const hewn::Error &) {
    } catch (const std::bad_alloc &) {
    }
}

void with_file(const std::string &bytes, const char *extension, unsigned failing_allocation,
               const std::function<void(const std::string &path)> &read) {
    const std::string path = "/tmp/hewn-fuzz-" + std::to_string(getpid()) + extension;
    std::ofstream(path, std::ios::binary) << bytes;
    tolerating([&] {
        const FailingAllocations failing(failing_allocation);
        read(path);
    });
    std::remove(path.c_str());
}

}  // namespace hewn_fuzz

// All allocations fail from the counted one on, because code that asks again must cope as well.
static void *allocate(size_t bytes) {
    using hewn_fuzz::until_failure;
    if (until_failure == 1) return nullptr;
    if (until_failure) until_failure--;
    return std::malloc(bytes ? bytes : 1);
}
void *operator new(size_t bytes) {
    if (void *memory = allocate(bytes)) return memory;
    throw std::bad_alloc();
}
void *operator new(size_t bytes, const std::nothrow_t &) noexcept { return allocate(bytes); }
void *operator new[](size_t bytes) { return operator new(bytes); }
void *operator new[](size_t bytes, const std::nothrow_t &) noexcept { return allocate(bytes); }
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory, size_t) noexcept { std::free(memory); }

#if !defined(HEWN_FUZZ_ALONE)
#include <filesystem>
#include <iterator>

// hewn_fuzz_replays CORPUS: runs each fuzzer on the inputs in its folder of CORPUS. Every folder
// must have a fuzzer, and every fuzzer a folder with at least ten inputs.
int main(int argc, char **argv) {
    namespace fs = std::filesystem;
    if (argc != 2) return 2;
    int inputs = 0;
    for (const auto &[name, fuzzer] : hewn_fuzz::fuzzers()) {
        int of_this = 0;
        fuzzer(nullptr, 0);
        for (const auto &entry : fs::directory_iterator(fs::path(argv[1]) / name)) {
            std::ifstream file(entry.path(), std::ios::binary);
            const std::string bytes((std::istreambuf_iterator<char>(file)), {});
            std::fprintf(stderr, "%s\n", entry.path().c_str());
            fuzzer(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
            of_this++;
        }
        if (of_this < 10) hewn_fuzz::fail(name + " has fewer than 10 inputs");
        inputs += of_this;
    }
    for (const auto &entry : fs::directory_iterator(argv[1]))
        if (!hewn_fuzz::fuzzers().count(entry.path().filename()))
            hewn_fuzz::fail("there is no fuzzer " + entry.path().filename().string());
    std::printf("%d inputs of %zu fuzzers\n", inputs, hewn_fuzz::fuzzers().size());
    return 0;
}
#endif
