// Memory from mmap, for tests of which addresses kernels read and write, and functions that say how
// much memory is available or in use. Only for POSIX systems; the last two functions read Linux's
// /proc.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace hewn_test {

// Private memory of this process, which is given back by the destructor.
class Mapping {
public:
    // `bytes` bytes of zeros. Pages that are only read, or never touched, take no memory. Throws if
    // there are not enough addresses.
    explicit Mapping(uint64_t bytes, int protection = PROT_READ | PROT_WRITE) : bytes_(bytes) {
        void *memory =
            mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) throw std::runtime_error("mmap failed");
        memory_ = static_cast<uint8_t *>(memory);
    }
    Mapping(Mapping &&other) noexcept
        : memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}
    Mapping(const Mapping &) = delete;
    Mapping &operator=(const Mapping &) = delete;
    ~Mapping() {
        if (memory_) munmap(memory_, bytes_);
    }
    uint8_t *data() const { return memory_; }
    uint64_t bytes() const { return bytes_; }

private:
    uint8_t *memory_ = nullptr;
    uint64_t bytes_;
};

// Memory between two guard pages. An access to a guard page faults, so that the machine itself
// catches reading or writing a byte outside the memory.
class GuardedPages {
public:
    explicit GuardedPages(size_t capacity)
        : page_(size_t(sysconf(_SC_PAGESIZE))),
          capacity_((capacity + page_ - 1) / page_ * page_),
          mapping_(capacity_ + 2 * page_, PROT_NONE) {
        if (mprotect(mapping_.data() + page_, capacity_, PROT_READ | PROT_WRITE) != 0)
            throw std::runtime_error("mprotect failed");
    }
    // `bytes` bytes that begin right after the first guard page, or end right before the last one.
    uint8_t *first(size_t) const { return mapping_.data() + page_; }
    uint8_t *last(size_t bytes) const { return mapping_.data() + page_ + capacity_ - bytes; }

private:
    size_t page_, capacity_;
    Mapping mapping_;
};

// The bytes of memory that the system can give without swapping; 0 if it does not tell.
inline uint64_t available_memory() {
    unsigned long long kib = 0;
    if (std::FILE *file = std::fopen("/proc/meminfo", "r")) {
        for (char line[128]; std::fgets(line, sizeof line, file);) {
            if (std::sscanf(line, "MemAvailable: %llu kB", &kib) == 1) break;
        }
        std::fclose(file);
    }
    return uint64_t(kib) << 10;
}

// The bytes of memory that this program uses; 0 if the system does not tell.
inline uint64_t resident_memory() {
    unsigned long long pages = 0;
    if (std::FILE *file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%*s %llu", &pages) != 1) pages = 0;
        std::fclose(file);
    }
    return uint64_t(pages) * uint64_t(sysconf(_SC_PAGESIZE));
}

}  // namespace hewn_test
