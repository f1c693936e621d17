#include "hide_avx512.h"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <stdexcept>
#include <string>

#if defined(__linux__) && defined(__x86_64__)
#include <asm/prctl.h>
#include <cpuid.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <oneapi/dnnl/dnnl.hpp>

namespace hewn_bench {
namespace {

long let_cpuid(bool run) { return syscall(SYS_arch_prctl, ARCH_SET_CPUID, run ? 1 : 0); }

constexpr uint32_t bits(std::initializer_list<int> numbers) {
    uint32_t mask = 0;
    for (const int number : numbers) mask |= uint32_t(1) << number;
    return mask;
}

struct Registers {
    uint32_t eax, ebx, ecx, edx;
};

// What the instruction gives on a CPU without AVX-512, AMX and AVX-VNNI (Intel's manual, volume 2A, CPUID).
Registers cpuid_of_avx2(uint32_t leaf, uint32_t subleaf) {
    Registers r = {};
    __cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
    if (leaf == 7 && subleaf == 0) {
        r.ebx &= ~bits({16, 17, 21, 26, 27, 28, 30, 31});  // F, DQ, IFMA, PF, ER, CD, BW, VL
        r.ecx &= ~bits({1, 6, 11, 12, 14});                // VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ
        r.edx &= ~bits({2, 3, 8, 22, 23, 24, 25});         // 4VNNIW, 4FMAPS, VP2INTERSECT, AMX-BF16, FP16, AMX-TILE, AMX-INT8
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

// CPUID faults in a thread that may not run it.
void on_fault(int, siginfo_t *, void *context) {
    greg_t *const registers = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
    constexpr unsigned char CPUID[] = {0x0f, 0xa2};
    if (std::memcmp(reinterpret_cast<const void *>(registers[REG_RIP]), CPUID, sizeof CPUID) != 0) {
        signal(SIGSEGV, SIG_DFL);  // another fault: it comes again, and ends the program
        return;
    }
    let_cpuid(true);
    const Registers result = cpuid_of_avx2(uint32_t(registers[REG_RAX]), uint32_t(registers[REG_RCX]));
    let_cpuid(false);
    registers[REG_RAX] = result.eax;
    registers[REG_RBX] = result.ebx;
    registers[REG_RCX] = result.ecx;
    registers[REG_RDX] = result.edx;
    registers[REG_RIP] += greg_t(sizeof CPUID);
}

}  // namespace

void hide_avx512() {
    // Looked before main, but asks this when it is first used.
    dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, nullptr);
    if (let_cpuid(false) != 0)
        throw std::runtime_error(std::string("this machine cannot hide AVX-512 (faults of CPUID): ") + std::strerror(errno));
}

}  // namespace hewn_bench

#else

void hewn_bench::hide_avx512() { throw std::runtime_error("AVX-512 can be hidden on Linux on x86-64 alone"); }

#endif
