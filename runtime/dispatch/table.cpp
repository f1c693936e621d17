// The table of table.h, made of the lists that the build wrote. It is in C and C++. The library
// compiles it with all kernels that were built. hewn_link_kernels (cmake/LinkKernels.cmake)
// compiles it into a program, with lists of the kernels that the program chose.
//
// HEWN_LINKS_GPUS: the lists have variants for GPUs. HEWN_CHOSEN_BY: KernelTable::chosen_by.
#include "table.h"

#ifndef HEWN_LINKS_GPUS
#define HEWN_LINKS_GPUS 0
#endif
#ifndef HEWN_CHOSEN_BY
#define HEWN_CHOSEN_BY 0
#endif

#ifdef __cplusplus
namespace hewn {
extern "C" {
#endif

#define HEWN_FORM(entry, form, layouts) HEWN_HIDDEN void entry(void);
#define HEWN_VARIANT(operator_name, signature, target, forms) forms
#include "variants.inc"

enum TargetIndex {
#define HEWN_TARGET(name, ...) kTarget_##name,
#define HEWN_GPU_TARGET HEWN_TARGET
#include "targets.inc"
};

#define HEWN_PLAN_KNOB(knob, value) value,
#define HEWN_PLAN(variant, values) static const PlanKnobs plan_##variant = {values};
#include "plans.inc"

static const Variant kVariants[] = {
#define HEWN_FORM(entry, form, layouts) {#form, entry, layouts},
#define HEWN_VARIANT(operator_name, signature, target, forms) \
    {#operator_name "_" #signature "__" #target, \
     #operator_name, \
     #signature, \
     &hewn_targets[kTarget_##target], \
     &plan_##operator_name##_##signature##__##target, \
     {forms}},
#include "variants.inc"
};

#if HEWN_LINKS_GPUS
#define HEWN_PASS_KERNEL(entry, name, device, layout) HEWN_HIDDEN void entry(void);
#include "pass_kernels.inc"
#define HEWN_GPU(name) &hewn_gpu_##name
#else
#define HEWN_GPU(name) 0
#endif

static const PassKernel kPassKernels[] = {
#if HEWN_LINKS_GPUS
#define HEWN_PASS_KERNEL(entry, name, device, layout) {{#name, entry, 1u << (layout)}, device},
#include "pass_kernels.inc"
#endif
    {{0, 0, 0}, HEWN_DEVICE_CPU},
};

const KernelTable hewn_kernel_table = {
    kVariants,      sizeof kVariants / sizeof kVariants[0],
    kPassKernels,   {0, HEWN_GPU(cuda), HEWN_GPU(opencl), HEWN_GPU(d3d12)},
    HEWN_CHOSEN_BY,
};

#ifdef __cplusplus
}  // extern "C"
}  // namespace hewn
#endif
