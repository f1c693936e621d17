#include "machine.h"

#include <fstream>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif
#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif
#if !defined(_WIN32)
#include <sys/utsname.h>
#endif

namespace hewn::cli {

namespace {

// The value in the first line of /proc/cpuinfo that begins with this word: the text after the
// colon. Empty if there is no such line.
std::string of_cpuinfo(const std::string &word) {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const size_t colon = line.find(": ");
        if (line.compare(0, word.size(), word) == 0 && colon != std::string::npos)
            return line.substr(colon + 2);
    }
    return "";
}

}  // namespace

std::string system_name() {
#if defined(_WIN32)
    return "Windows";
#else
    utsname name = {};
    uname(&name);
    return std::string(name.sysname) + " " + name.release + " " + name.machine;
#endif
}

std::string processor_name() {
    std::string name;
#if defined(__x86_64__) || defined(__i386__)
    for (unsigned leaf = 0x80000002; leaf <= 0x80000004; leaf++) {
        unsigned words[4] = {};
        if (__get_cpuid(leaf, &words[0], &words[1], &words[2], &words[3]))
            name.append(reinterpret_cast<const char *>(words), sizeof words);
    }
    name = name.c_str();  // drops the zeros at the end
    name.erase(0, name.find_first_not_of(' '));
#elif defined(__APPLE__)
    char brand[128] = {};
    size_t bytes = sizeof brand - 1;
    if (sysctlbyname("machdep.cpu.brand_string", brand, &bytes, nullptr, 0) == 0) name = brand;
#elif defined(__aarch64__) && defined(__linux__)
    // QEMU's user emulation shows the /proc/cpuinfo of the machine on which it runs.
    if (of_cpuinfo("CPU implementer").empty()) name = "emulated ARM";
#endif
    for (const char *word : {"model name", "Hardware", "CPU part"})
        if (name.empty()) name = of_cpuinfo(word);
    return name.empty() ? "unknown" : name;
}

}  // namespace hewn::cli
