#include "hide_avx512.h"

#include <stdexcept>

#if defined(__linux__) && defined(__x86_64__)
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <vector>

#if HEWN_BENCH_HAS_ONEDNN
#include <oneapi/dnnl/dnnl.hpp>
#endif

namespace hewn_bench {
namespace {

constexpr uint32_t bits(std::initializer_list<int> numbers) {
    uint32_t mask = 0;
    for (const int number : numbers) mask |= uint32_t(1) << number;
    return mask;
}

struct Registers {
    uint32_t eax, ebx, ecx, edx;
};

// The one CPUID of this program that stays as it is.
extern "C" unsigned char hewn_bench_cpuid[];
__attribute__((noinline, noclone)) Registers cpuid(uint32_t leaf, uint32_t subleaf) {
    Registers r = {leaf, 0, subleaf, 0};
    asm volatile(
        ".globl hewn_bench_cpuid\n"
        "hewn_bench_cpuid:\n\t"
        "cpuid"
        : "+a"(r.eax), "=b"(r.ebx), "+c"(r.ecx), "=d"(r.edx));
    return r;
}

// The result of CPUID on a CPU without AVX-512, AMX and AVX-VNNI (Intel's manual, volume 2A,
// CPUID).
Registers cpuid_of_avx2(uint32_t leaf, uint32_t subleaf) {
    Registers r = cpuid(leaf, subleaf);
    if (leaf == 7 && subleaf == 0) {
        r.ebx &= ~bits({16, 17, 21, 26, 27, 28, 30, 31});  // F, DQ, IFMA, PF, ER, CD, BW, VL
        r.ecx &= ~bits({1, 6, 11, 12, 14});                // VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ
        r.edx &= ~bits({2, 3, 8, 22, 23, 24,
                        25});  // 4VNNIW, 4FMAPS, VP2INTERSECT, AMX-BF16, FP16, AMX-TILE, AMX-INT8
    } else if (leaf == 7 && subleaf == 1) {
        r.eax &= ~bits({4, 5, 21, 23});  // AVX-VNNI, AVX512-BF16, AMX-FP16, AVX-IFMA
        r.edx &= ~bits({4, 5, 10, 19});  // AVX-VNNI-INT8, AVX-NE-CONVERT, AVX-VNNI-INT16, AVX10
    } else if (leaf == 0xd && subleaf == 0) {
        r.eax &= 7;  // the x87, SSE and AVX states
    } else if (leaf == 0x24) {
        r = {};
    }
    return r;
}

// UD2 is as long as CPUID, and raises SIGILL.
constexpr unsigned char CPUID[] = {0x0f, 0xa2}, UD2[] = {0x0f, 0x0b};

std::vector<unsigned char *> &hidden() {
    static std::vector<unsigned char *> addresses;
    return addresses;
}

void on_illegal(int, siginfo_t *, void *context) {
    greg_t *const registers = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
    for (const unsigned char *const address : hidden()) {
        if (registers[REG_RIP] != reinterpret_cast<greg_t>(address)) continue;
        const Registers result =
            cpuid_of_avx2(uint32_t(registers[REG_RAX]), uint32_t(registers[REG_RCX]));
        registers[REG_RAX] = result.eax;
        registers[REG_RBX] = result.ebx;
        registers[REG_RCX] = result.ecx;
        registers[REG_RDX] = result.edx;
        registers[REG_RIP] += greg_t(sizeof CPUID);
        return;
    }
    signal(SIGILL,
           SIG_DFL);  // another instruction: it raises the signal again, and ends the program
}

// The addresses in file of what a disassembler takes for CPUID: the same bytes stand within other
// instructions as well.
std::vector<uintptr_t> find_cpuid(const std::string &file) {
    const std::string command = "LC_ALL=C objdump --disassemble --no-show-raw-insn '" + file + "'";
    FILE *const listing = popen(command.c_str(), "r");
    if (!listing) throw std::runtime_error("cannot run objdump");
    std::vector<uintptr_t> found;
    char line[512];
    while (std::fgets(line, sizeof line, listing)) {
        if (std::strstr(line, ":\tcpuid")) found.push_back(std::strtoull(line, nullptr, 16));
    }
    if (pclose(listing) != 0) throw std::runtime_error("failed: " + command);
    if (found.empty()) throw std::runtime_error("no CPUID in " + file);
    return found;
}

struct Object {
    std::string file;
    uintptr_t base;
};

// Makes every CPUID of a loaded file raise SIGILL.
void hide_from(const Object &object) {
    const uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE));
    for (const uintptr_t offset : find_cpuid(object.file)) {
        auto *const address = reinterpret_cast<unsigned char *>(object.base + offset);
        if (address == hewn_bench_cpuid) continue;
        if (std::memcmp(address, CPUID, sizeof CPUID) != 0)
            throw std::runtime_error(object.file + " was changed since it was loaded");
        hidden().push_back(address);
        const uintptr_t begin = (object.base + offset) / page * page,
                        size = object.base + offset + sizeof CPUID - begin;
        if (mprotect(reinterpret_cast<void *>(begin), size, PROT_READ | PROT_WRITE | PROT_EXEC) !=
            0)
            throw std::runtime_error("the system lets nobody write to the code of " + object.file);
        std::memcpy(address, UD2, sizeof UD2);
        mprotect(reinterpret_cast<void *>(begin), size, PROT_READ | PROT_EXEC);
    }
}

// The loaded files that ask for the CPU's features at first use: ONNX Runtime, the program, and
// libcpuinfo, which XNNPACK asks. With a newer XNNPACK's prefix, XNNPACK and what it asks are part
// of the program.
std::vector<Object> objects_that_ask(const std::string &onnxruntime) {
    struct Search {
        std::filesystem::path onnxruntime;
        std::vector<Object> found;
    } search = {std::filesystem::canonical(onnxruntime), {}};
    dl_iterate_phdr(
        [](dl_phdr_info *info, size_t, void *argument) {
            const std::string name = info->dlpi_name;
            auto &[runtime, found] = *static_cast<Search *>(argument);
            if (name.empty() && found.empty())
                found.push_back({std::filesystem::read_symlink("/proc/self/exe"), info->dlpi_addr});
            std::error_code none;
            if (name.find("/libcpuinfo.so") != name.npos ||
                std::filesystem::equivalent(name, runtime, none))
                found.push_back({name, info->dlpi_addr});
            return 0;
        },
        &search);
    const bool runtime_found =
        std::any_of(search.found.begin(), search.found.end(), [&](const Object &object) {
            std::error_code none;
            return std::filesystem::equivalent(object.file, search.onnxruntime, none);
        });
    if (!runtime_found) throw std::runtime_error(onnxruntime + " is not among the loaded files");
    return search.found;
}

}  // namespace

void hide_avx512(const std::string &onnxruntime) {
    // oneDNN and NumPy look before main or while they are loaded, but can be told.
#if HEWN_BENCH_HAS_ONEDNN
    dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
#endif
    setenv("NPY_DISABLE_CPU_FEATURES",
           "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR", 1);
    if (!dlopen(onnxruntime.c_str(), RTLD_NOW | RTLD_LOCAL)) throw std::runtime_error(dlerror());
    struct sigaction action = {};
    action.sa_sigaction = on_illegal;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGILL, &action, nullptr);
    for (const Object &object : objects_that_ask(onnxruntime)) hide_from(object);
}

}  // namespace hewn_bench

#else

void hewn_bench::hide_avx512(const std::string &) {
    throw std::runtime_error("AVX-512 can be hidden on Linux on x86-64 alone");
}

#endif
