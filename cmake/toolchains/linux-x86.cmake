# packages: g++-i686-linux-gnu
# 32-bit x86 Linux with Debian's and Ubuntu's g++-i686-linux-gnu. It is for testing how the code
# behaves with addresses of 32 bits. Programs run on the machine that builds.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR i686)
set(CMAKE_C_COMPILER i686-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER i686-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR
    /usr/i686-linux-gnu/lib/ld-linux.so.2;--library-path;/usr/i686-linux-gnu/lib)
