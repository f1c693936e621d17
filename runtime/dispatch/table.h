// The table of the kernels that a program links: variants with their forms, and what only GPUs
// need.
//
// Apart from the transpositions, only this table names kernels, so a linker takes exactly the
// kernels that the table names from the static library. A program may bring a table of its own that
// names fewer kernels (cmake/LinkKernels.cmake). The linker then leaves the library's own table
// (table.cpp), and with it all other kernels, in the archive. The program may be in C, so this
// header and table.cpp are in C and C++.
#pragma once

#include <hewn/hewn.h>
#include <stdint.h>

#include "knobs.h"

// For declarations of kernels: no other library may use or replace them. Halide's objects do not
// say so themselves.
#if defined(__ELF__)
#define HEWN_HIDDEN __attribute__((visibility("hidden")))
#else
#define HEWN_HIDDEN
#endif

#ifdef __cplusplus
namespace hewn {
extern "C" {
#endif

// The entry of a form. It is cast to its type where it is called
// (docs/lab/architecture.md#entry-points).
typedef void (*KernelEntry)(void);

// A form: one compiled function of a variant. A layout is a binary number with a digit for each
// input of which the generator makes rows (lists/operators.py). The first input's digit is the
// highest. A digit is 1 if the input's stride along the row is 1, and 0 if the stride is 0. Bit L
// of `layouts` is set if the form is specialised for layout L.
typedef struct Form {
    const char *name;
    KernelEntry entry;
    uint32_t layouts;
} Form;

// A target: an instruction set of a CPU, or a kind of GPU.
typedef struct Target {
    const char *name;
    const char *halide_target;
    int32_t priority;
    // Returns the first feature that this machine lacks; null if it can run the target.
    const char *(*missing)(void);
    hewn_device_kind device;
    // For CUDA: the lowest compute capability that can run the target, times ten, and its name in
    // messages.
    int32_t capability;
    const char *capability_name;
} Target;

enum { kMaxForms = 7 };

// A variant: an operator's kernel for one signature and one target.
typedef struct Variant {
    const char *name;
    const char *operator_name;
    const char *signature;
    const Target *target;
    const PlanKnobs *plan;
    Form forms[kMaxForms];

#ifdef __cplusplus
    // Returns the form of that name; null if the variant does not have it.
    const Form *form(const char *form_name) const;
#endif
} Variant;

// The kernel of a GPU's pass that belongs to no operator (lists/pass_kernels.py).
typedef struct PassKernel {
    Form form;
    hewn_device_kind device;
} PassKernel;

struct GpuApi;  // runtime/gpu/device.h

// The table itself.
typedef struct KernelTable {
    const Variant *variants;
    uint32_t variant_count;
    const PassKernel *pass_kernels;  // the last one's form has no name
    // Indexed by hewn_device_kind. Null for the CPU, and if there are no kernels for GPUs.
    const struct GpuApi *gpus[4];
    // The name, for messages, of whatever chose the kernels. Null if all kernels of the build are
    // there.
    const char *chosen_by;
} KernelTable;

extern HEWN_HIDDEN const KernelTable hewn_kernel_table;

// All targets of the build, by ascending priority (dispatch.cpp).
extern HEWN_HIDDEN const Target hewn_targets[];

extern HEWN_HIDDEN const struct GpuApi hewn_gpu_cuda, hewn_gpu_opencl, hewn_gpu_d3d12;

#ifdef __cplusplus
}  // extern "C"
}  // namespace hewn
#endif
