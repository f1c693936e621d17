# packages: g++-aarch64-linux-gnu
# ARM64 Linux with Debian's and Ubuntu's g++-aarch64-linux-gnu. Programs run under QEMU's user
# emulation.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static;-L;/usr/aarch64-linux-gnu)
# Tests run on a CPU without ARMv8.2 and on one with it. Tests that depend on the CPU run on each of
# HEWN_TEST_CPUS; all others run on the last, which can run every target. A target's own tests run
# on HEWN_TEST_CPU_<target>; configuring fails if that is not set.
set(HEWN_TEST_ARCH arm64)
set(HEWN_TEST_CPU_arm64_neon cortex-a57)
set(HEWN_TEST_CPU_arm64_fp16 cortex-a76)
execute_process(COMMAND qemu-aarch64-static -cpu help OUTPUT_VARIABLE qemu_cpus ERROR_QUIET)
if(NOT qemu_cpus MATCHES "cortex-a76")  # QEMU before 7.1
    set(HEWN_TEST_CPU_arm64_fp16 max)
endif()
set(HEWN_TEST_CPUS ${HEWN_TEST_CPU_arm64_neon} ${HEWN_TEST_CPU_arm64_fp16})
