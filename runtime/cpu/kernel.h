// How an operator runs on the CPU: which of a variant's forms it uses, and how it calls one on a
// box. Each operator has its own <operator>.cpp.
#pragma once

#include <HalideRuntime.h>

#include <new>

#include "../base/allocator.h"
#include "../dispatch/chip.h"
#include "../dispatch/dispatch.h"
#include "../problem/operators.h"
#include "boxes.h"
#include "fp_mode.h"
#include "scales.h"

namespace hewn {

#if defined(HEWN_KERNEL_ASSERTIONS)
// Kernels with assertions check what the runtime otherwise proves: each buffer's type and dimension
// count.
constexpr bool kKernelAssertions = true;
#else
constexpr bool kKernelAssertions = false;
#endif

// Most bytes of what an operator keeps for a slice: usually, and where CpuKernel::large_state says
// so.
constexpr size_t kStateBytes = 2304, kLargeStateBytes = 33 << 10;

// One slice of an execution on the CPU.
struct CpuCall : BoxCall {
    const struct CpuKernel &kernel;
    void *const *tensors;   // all of the pass's, inputs before outputs; absent ones are zeros
    void *large = nullptr;  // kLargeStateBytes, if the kernel asks for them
    bool flushes = false;   // subnormals, at present (FloatingPointMode)
    bool maybe_invalid =
        true;  // the thread's flag of invalid operations may be set (see InvalidOperationFlag)

    CpuCall(const CpuKernel &kernel, void *const *tensors, void *user_context)
        : BoxCall(user_context), kernel(kernel), tensors(tensors) {}

    // What the operator keeps from box to box: one type for each operator. Made when it is first
    // asked for.
    template<class State>
    State &state() {
        static_assert(sizeof(State) <= kLargeStateBytes);
        static_assert(alignof(State) <= 64);
        void *const memory = sizeof(State) <= kStateBytes ? small_ : large;
        if (!begun_) new (memory) State;
        begun_ = true;
        return *static_cast<State *>(memory);
    }

private:
    bool begun_ = false;
    union {  // does not construct it, which would take time in every small call
        alignas(64) uint8_t small_[kStateBytes];
    };
};

// How the CPU runs a problem with a variant.
struct CpuKernel {
    const Problem *problem;
    uint8_t mode;                  // of the operator's ways to run, by its own numbers
    const Form *form;              // serves any box
    const Form *quick;             // the mode's own, for most boxes; null: `form`, or one in own()
    PrefetchShare prefetch_share;  // of the last-level cache, up to which prefetching pays
    int32_t prefetch_distance;     // in elements, for kernels that can prefetch; 0: they do not
    CallBox call;                  // its context is a CpuCall
    Subnormals subnormals;         // in a slice; a call that needs them otherwise keeps them
    bool large_state;              // what is kept for a slice is larger than kStateBytes
    void *settled;  // what CpuForms::settle prepared, in the device's memory; or null

    // What else the operator's file keeps: one type for each operator, which begins as zeros.
    template<class Own>
    Own &own() {
        static_assert(sizeof(Own) <= sizeof own_);
        return *reinterpret_cast<Own *>(own_);
    }
    template<class Own>
    const Own &own() const {
        return const_cast<CpuKernel *>(this)->own<Own>();
    }

private:
    alignas(8) uint8_t own_[16];
};

// Calls a CPU kernel on a box. The arguments have the types and order of its generator's inputs,
// then its output. Halide's uniform entry point takes an array of pointers to them instead; writing
// and reading it costs small calls of many arguments a tenth more instructions.
template<class... Arguments>
int call_kernel(const Form &form, const CpuCall &call, Arguments... arguments) {
    return reinterpret_cast<int (*)(const void *, Arguments...)>(form.entry)(call.user_context,
                                                                             arguments...);
}

// The f32 scale, and the zero point, that an input of one element has.
inline float scale_of(const CpuCall &call, int input) {
    return read_scale(call.tensors[input], HEWN_DATA_TYPE_FLOAT32);
}
inline int32_t zero_point_of(const CpuCall &call, int input) {
    return read_zero_point(call.tensors[input], call.kernel.problem->inputs[input].type);
}

constexpr int kNoMemory = halide_error_code_out_of_memory;

// One way to run an operator.
struct CpuMode {
    uint8_t number;     // CpuKernel::mode
    const Form *quick;  // CpuKernel::quick
    CallBox call;
    KernelTraits traits;  // what it has the plan know
};
constexpr int kMaxModes = 5;

// How an operator's forms are chosen: forms_of_<operator> in <operator>.cpp.
struct CpuForms {
    // Sets what all modes share, and lists those that the merged space allows, the best first. The
    // last one takes any plan. Returns how many there are.
    int (*list_modes)(const Space &space, const Variant &variant, CpuKernel &kernel,
                      CpuMode *modes);
    // Whether a plan that runs in `slices` slices suits the kernel's mode; if so, tells the plan
    // what the mode's forms read. Null: any does.
    bool (*suits)(Plan &plan, int32_t slices, const Variant &variant, CpuKernel &kernel);
    // Once the plan is made: prepares what constants alone decide, in kernel.settled. `inputs` are
    // where inputs that are not bound lie. May run kernels with the user context. Returns 0,
    // kNoMemory or a kernel's error. Null: nothing to do.
    int (*settle)(const Plan &plan, const Allocator &allocator, CpuKernel &kernel,
                  void *const *inputs, void *user_context);
};
#define HEWN_OPERATOR(name, kernels, ...) extern const CpuForms forms_of_##kernels;
#include "operators.inc"
// Of an operator that this build has kernels of.
const CpuForms &forms_of(const OperatorInfo &info);

// What an execution may use.
struct Threads {
    int32_t most;  // slices; 0: no limit
    int32_t cpus;
};

// Plans kernel.problem for the first of the modes that its plan suits, and chooses how far ahead
// kernels prefetch. Returns how many plans that took; 0: no memory.
int plan_kernel(const CpuForms &forms, const Space &space, const Variant &variant, const Chip &chip,
                Threads threads, const Allocator &allocator, Plan &plan, CpuKernel &kernel);

}  // namespace hewn
