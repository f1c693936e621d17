# Chooses the part of the lists in lists/ that this build uses. It runs lists/generate.py, which
# writes to generated/ in the build tree: tables for the runtime, the tests and the tools
# (lists/files.py), runs.txt for Kernels.cmake, and build.cmake, which sets
#   HEWN_BUILT_SIGNATURES                       the signatures of the build's variants
#   HEWN_BUILT_TARGETS                          the targets of the variants, in ascending priority
#   HEWN_HAS_GPUS                               whether there are kernels for GPUs
#   HEWN_SHIPPED_FLAGS                          Halide's features for the kernels that are shipped
#   HEWN_TARGET_<target>_<DEVICE|MARCH|PROBE>   members of each target in HEWN_BUILT_TARGETS
# Programs that link the target hewn_variants find the tables.

set(HEWN_OPERATORS "" CACHE STRING "Operators to build, as in lists/operators.py; empty: all")
set(HEWN_SIGNATURES "" CACHE STRING
    "Signatures to build, e.g. add_f32;quantize_linear_f32_u8; empty: all of HEWN_OPERATORS")
set(HEWN_TARGETS "" CACHE STRING "Targets to build, as in lists/targets.py, or cpu or gpu for all \
of these; empty: all of this architecture and, in a native build, of GPUs")
set(HEWN_FEATURE_LEVEL hewn CACHE STRING "Newest feature level to build: what needs a newer one is \
left out. 6.2: what DirectML had at that level")
set(HEWN_TUNING_DIR ${PROJECT_SOURCE_DIR}/tuning
    CACHE PATH "Folder of <target>.json, the tuned knobs")
# The Python of .venv comes first, because it has NumPy, which tests need.
if(HEWN_PYTHON AND NOT EXISTS ${HEWN_PYTHON})  # it was in a .venv that is gone
    unset(HEWN_PYTHON CACHE)
endif()
find_program(HEWN_PYTHON NAMES python3 python HINTS ${PROJECT_SOURCE_DIR}/.venv/bin REQUIRED
    NO_CMAKE_FIND_ROOT_PATH DOC "Python 3.9 or newer; for tests with NumPy")

set(HEWN_GENERATED_DIR ${PROJECT_BINARY_DIR}/generated)
set(cross)
if(CMAKE_CROSSCOMPILING)
    set(cross --cross)
endif()
execute_process(
    COMMAND ${HEWN_PYTHON} ${PROJECT_SOURCE_DIR}/lists/generate.py ${HEWN_GENERATED_DIR}
        --arch ${HEWN_ARCH} --system ${HEWN_OS} ${cross}
        "--operators=${HEWN_OPERATORS}" "--signatures=${HEWN_SIGNATURES}"
        "--targets=${HEWN_TARGETS}" "--feature-level=${HEWN_FEATURE_LEVEL}"
        "--tuning=${HEWN_TUNING_DIR}" "--halide=${HEWN_HALIDE_VERSION}"
        "--halide-library=${HEWN_HALIDE_LIBRARY}" "--source=${PROJECT_SOURCE_DIR}"
        "--cc=${CMAKE_C_COMPILER}" "--objcopy=${CMAKE_OBJCOPY}"
    ERROR_VARIABLE mistake RESULT_VARIABLE status)
if(NOT status EQUAL 0)
    if(NOT mistake)  # Python did not run
        set(mistake "HEWN_PYTHON: ${HEWN_PYTHON}: ${status}")
    endif()
    message(FATAL_ERROR "${mistake}")
endif()
# CMake configures again after a change of any of these files, and if a tuning file is added.
file(GLOB lists ${PROJECT_SOURCE_DIR}/lists/*.py ${HEWN_TUNING_DIR}/*.json)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${lists} ${HEWN_TUNING_DIR})

include(${HEWN_GENERATED_DIR}/build.cmake)
add_library(hewn_variants INTERFACE)
target_include_directories(hewn_variants INTERFACE $<BUILD_INTERFACE:${HEWN_GENERATED_DIR}/include>)
