# packages: llvm
# wheels: ziglang==0.15.2
# package: cpu
# iOS 13 and newer.
set(HEWN_IOS_SDK iPhoneOS)
set(HEWN_ZIG_TARGET aarch64-ios.13.0)
set(HEWN_APPLE_PLATFORM ios 13.0)
include(${CMAKE_CURRENT_LIST_DIR}/ios.cmake)
