// Code that the fuzzers share. A fuzzer is a function of any bytes. If something goes wrong it ends
// the program, by a sanitizer, a fault or fail(). Compiled for libFuzzer (scripts/fuzz.sh), each
// fuzzer is a program. For the tests all fuzzers are in one program, which replays kept inputs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

namespace hewn_fuzz {

using Fuzzer = void (*)(const uint8_t *data, size_t size);

// Adds a fuzzer to the program, under the name of its folder in corpus/.
struct Registered {
    Registered(const char *name, Fuzzer fuzzer);
};

#if defined(HEWN_FUZZ_ALONE)
#define HEWN_FUZZ_ENTRY(name) \
    extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { \
        return fuzz_##name(data, size), 0; \
    }
#else
#define HEWN_FUZZ_ENTRY(name) const hewn_fuzz::Registered registered_##name(#name, fuzz_##name);
#endif
// Begins the function of a fuzzer, with the parameters `data` and `size`.
#define HEWN_FUZZ(name) \
    static void fuzz_##name(const uint8_t *data, size_t size); \
    HEWN_FUZZ_ENTRY(name) \
    static void fuzz_##name(const uint8_t *data, size_t size)

// Prints what is wrong and ends the program.
[[noreturn]] void fail(const std::string &what);

// Takes numbers from an input's bytes, one after the other. Once the bytes are used up they are 0.
class Input {
public:
    Input(const uint8_t *data, size_t size) : at_(data), left_(size) {}

    template<class T>
    T take() {
        T value = {};
        const size_t bytes = std::min(sizeof value, left_);
        if (bytes) std::memcpy(&value, at_, bytes);
        at_ += bytes;
        left_ -= bytes;
        return value;
    }
    // A number in [0, n), from one byte.
    size_t below(size_t n) { return take<uint8_t>() % n; }
    bool one_in(size_t n) { return below(n) == 0; }
    template<class Container>
    const auto &pick(const Container &container) {
        return container[below(std::size(container))];
    }
    // A size or a stride: mostly a small number, now and then any.
    int64_t size() { return one_in(16) ? take<int64_t>() : int64_t(below(70)); }
    std::string rest() { return std::string(reinterpret_cast<const char *>(at_), left_); }

private:
    const uint8_t *at_;
    size_t left_;
};

// While an object of this class lives, C++'s allocations fail from the `number`-th one on; 0: none
// fails.
class FailingAllocations {
public:
    explicit FailingAllocations(unsigned number);
    ~FailingAllocations();
    FailingAllocations(const FailingAllocations &) = delete;
    FailingAllocations &operator=(const FailingAllocations &) = delete;
};

// Writes the bytes to a file whose name ends with `extension`, and calls read(path) while
// allocations fail from the `failing_allocation`-th one on. `read` may throw what the tool reports
// to its user: wrong input, a refusal, no memory.
void with_file(const std::string &bytes, const char *extension, unsigned failing_allocation,
               const std::function<void(const std::string &path)> &read);

// Calls call(), which may throw what the tool reports to its user.
void tolerating(const std::function<void()> &call);

}  // namespace hewn_fuzz
