// What the fuzzers share. A fuzzer takes any bytes; what it must not do ends the program: by a
// sanitizer, a fault or fail(). Compiled for libFuzzer (scripts/fuzz.sh) each is a program; for the
// tests all are in one, which replays kept inputs.
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
#define HEWN_FUZZ(name) \
    static void fuzz_##name(const uint8_t *data, size_t size); \
    HEWN_FUZZ_ENTRY(name) \
    static void fuzz_##name(const uint8_t *data, size_t size)

// Says what is wrong and ends the program.
[[noreturn]] void fail(const std::string &what);

// Numbers out of an input's bytes; zeros when they are used up.
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
    // In [0, n), by a byte.
    size_t below(size_t n) { return take<uint8_t>() % n; }
    bool one_in(size_t n) { return below(n) == 0; }
    template<class Container>
    const auto &pick(const Container &container) {
        return container[below(std::size(container))];
    }
    // Mostly small; now and then any.
    int64_t size() { return one_in(16) ? take<int64_t>() : int64_t(below(70)); }
    std::string rest() { return std::string(reinterpret_cast<const char *>(at_), left_); }

private:
    const uint8_t *at_;
    size_t left_;
};

// While one lives, C++ gets no memory from its `number`-th allocation on; 0: it does.
class FailingAllocations {
public:
    explicit FailingAllocations(unsigned number);
    ~FailingAllocations();
    FailingAllocations(const FailingAllocations &) = delete;
    FailingAllocations &operator=(const FailingAllocations &) = delete;
};

// read(path) of a file with these bytes, whose name ends so. What a tool says to a user may be
// thrown: wrong input, a refusal, no memory.
void with_file(const std::string &bytes, const char *extension, unsigned failing_allocation,
               const std::function<void(const std::string &path)> &read);

// call(), which may throw what a tool says to a user.
void tolerating(const std::function<void()> &call);

}  // namespace hewn_fuzz
