# Android for CMAKE_ANDROID_ARCH_ABI, minSdk 21. The toolchain files of the architectures include
# this file. If the environment's ANDROID_NDK_HOME or -DANDROID_NDK names the folder of an NDK, the
# NDK's own toolchain file is used. Without one the kernels are the same, and the runtime is
# compiled by zig with musl's headers and linked against a stand-in (cmake/BionicStub.cmake): that
# is a check, and does not run.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ANDROID_NDK)
if(NOT ANDROID_NDK AND DEFINED ENV{ANDROID_NDK_HOME})
    set(ANDROID_NDK $ENV{ANDROID_NDK_HOME})
endif()
if(ANDROID_NDK)
    set(ANDROID_ABI ${CMAKE_ANDROID_ARCH_ABI})
    set(ANDROID_PLATFORM android-21)
    set(ANDROID_STL none)
    set(ANDROID_SUPPORT_FLEXIBLE_PAGE_SIZES ON)
    include(${ANDROID_NDK}/build/cmake/android.toolchain.cmake)
else()
    set(CMAKE_SYSTEM_NAME Android)
    set(CMAKE_SYSTEM_VERSION 1)  # tells CMake that there is no NDK
    set(HEWN_BIONIC_STUB TRUE)
    include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
    # musl has bcmp, bionic does not.
    string(APPEND CMAKE_C_FLAGS_INIT " -fno-builtin-bcmp")
    string(APPEND CMAKE_CXX_FLAGS_INIT " -fno-builtin-bcmp")
endif()
