// The table of what a program links: its variants with their kernels, and what only GPUs need.
//
// Nothing else in the library names a kernel, but for the transpositions, so that a linker takes
// from the static library what the table names. A program may bring a table of its own, which names
// fewer kernels (cmake/LinkKernels.cmake): the linker then leaves the library's own table
// (table.cpp), and with it the other kernels, in the archive. The program may be in C, so this
// header and table.cpp are in C and C++.
#pragma once

#include <hewn/hewn.h>
#include <stdint.h>

#include "knobs.h"

// For declarations of kernels: no other library may use or replace them, which Halide's objects do
// not say themselves.
#if defined(__ELF__)
#define HEWN_HIDDEN __attribute__((visibility("hidden")))
#else
#define HEWN_HIDDEN
#endif

#ifdef __cplusplus
namespace hewn {
extern "C" {
#endif

// A kernel's entry, cast to its type where it is called (docs/lab/architecture.md#entry-points).
typedef void (*KernelEntry)(void);

// One compiled function of a variant. A layout is a binary number, one digit an input that rows are
// made of (lists/operators.py), the first input's highest: 1 where the input's stride along
// the row is 1, 0 where it is 0. Bit L of `layouts` is set where the form is specialised for L.
typedef struct Form {
    const char *name;
    KernelEntry entry;
    uint32_t layouts;
} Form;

typedef struct Target {
    const char *name;
    const char *halide_target;
    int32_t rank;
    // The first feature this machine lacks, null if it can run the target.
    const char *(*missing)(void);
    hewn_device_kind device;
    int32_t capability;  // a GPU's: the least compute capability, times ten
    const char *capability_name;
} Target;

enum { kMaxForms = 5 };

typedef struct Variant {
    const char *name;
    const char *operator_name;
    const char *signature;
    const Target *target;
    const PlanKnobs *plan;
    Form forms[kMaxForms];

#ifdef __cplusplus
    // The form of that name, null if the variant has none.
    const Form *form(const char *form_name) const;
#endif
} Variant;

// The kernel of a pass on a GPU that is no operator's (lists/pass_kernels.py).
typedef struct PassKernel {
    Form form;
    hewn_device_kind device;
} PassKernel;

struct GpuApi;  // runtime/gpu/device.h

typedef struct KernelTable {
    const Variant *variants;
    uint32_t variant_count;
    const PassKernel *pass_kernels;  // up to one whose form has no name
    const struct GpuApi *gpus[4];    // by hewn_device_kind; null: the CPU, or no kernels for GPUs
    // What chose the kernels, as messages call it; null: all that were built are there.
    const char *chosen_by;
} KernelTable;

extern HEWN_HIDDEN const KernelTable hewn_kernel_table;

// All targets of the build, in ascending rank (dispatch.cpp).
extern HEWN_HIDDEN const Target hewn_targets[];

extern HEWN_HIDDEN const struct GpuApi hewn_gpu_cuda, hewn_gpu_opencl, hewn_gpu_d3d12;

#ifdef __cplusplus
}  // extern "C"
}  // namespace hewn
#endif
