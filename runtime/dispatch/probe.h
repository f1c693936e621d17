// HEWN_CPU_SUPPORTS("feature"): whether this CPU has a feature that lists/targets.py asks for, and
// the operating system allows its use.
#pragma once

#if defined(__x86_64__) || defined(__i386__)

#include "../base/x86_features.h"

#define HEWN_CPU_SUPPORTS(feature) hewn::x86_has<hewn::x86_bit(feature)>()

#elif defined(__aarch64__)

#include <cstring>

#if defined(__linux__)
#include <sys/auxv.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#elif defined(_WIN32)
#include <windows.h>
#endif

namespace hewn {

// `feature` has the spelling of Linux's /proc/cpuinfo: fphp and asimdhp (f16 arithmetic, scalar and
// vector), asimddp (dot product). A feature that the system cannot be asked about counts as absent.
inline bool arm64_supports(const char *feature) {
    struct Feature {
        const char *name;
        unsigned long hwcap;  // Linux and Android: a bit of AT_HWCAP (asm/hwcap.h)
        const char *apple;    // macOS: the name of a sysctl
        // Windows: a number for IsProcessorFeaturePresent, PF_ARM_V82_FP16_... or PF_ARM_V82_DP_...
        // in winnt.h.
        unsigned windows_number;
    };
    constexpr Feature kFeatures[] = {{"fphp", 1ul << 9, "hw.optional.arm.FEAT_FP16", 67},
                                     {"asimdhp", 1ul << 10, "hw.optional.arm.FEAT_FP16", 67},
                                     {"asimddp", 1ul << 20, "hw.optional.arm.FEAT_DotProd", 43}};
    for (const Feature &known : kFeatures) {
        if (std::strcmp(known.name, feature) != 0) continue;
#if defined(__linux__)
        return (getauxval(AT_HWCAP) & known.hwcap) != 0;
#elif defined(__APPLE__)
        int value = 0;
        size_t size = sizeof value;
        return sysctlbyname(known.apple, &value, &size, nullptr, 0) == 0 && value != 0;
#elif defined(_WIN32)
        return IsProcessorFeaturePresent(known.windows_number) != 0;
#endif
    }
    return false;
}

}  // namespace hewn

#define HEWN_CPU_SUPPORTS(feature) hewn::arm64_supports(feature)

#endif
