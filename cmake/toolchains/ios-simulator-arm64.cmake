# packages: llvm
# wheels: ziglang==0.15.2
# package: cpu
# The simulator of iOS 14 and newer on Apple's own chips.
set(HEWN_IOS_SDK iPhoneSimulator)
set(HEWN_ZIG_TARGET aarch64-ios.14.0-simulator)
set(HEWN_APPLE_PLATFORM iossimulator 14.0)
include(${CMAKE_CURRENT_LIST_DIR}/ios.cmake)
