// How an operator runs on the CPU: which modes and forms its variant uses, and how it calls a form
// on a box. Each operator fills in a CpuForms in its own <operator>.cpp; kernel.cpp chooses by it.
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
// Kernels with assertions check what the runtime otherwise proves: the type and the number of
// dimensions of each buffer.
constexpr bool kKernelAssertions = true;
#else
constexpr bool kKernelAssertions = false;
#endif

// The state that an operator keeps for a slice is at most kStateBytes long, unless
// CpuKernel::state_size says otherwise.
constexpr size_t kStateBytes = 2304, kMiddleStateBytes = 7 << 10, kLargeStateBytes = 33 << 10;
enum class StateSize : uint8_t { Small, Middle, Large };

// The state of one slice of an execution on the CPU.
struct CpuCall : BoxCall {
    const struct CpuKernel &kernel;
    // All tensors of the pass, inputs before outputs. Absent ones point to zeros.
    void *const *tensors;
    void *large = nullptr;  // memory for a state that is not small
    bool flushes = false;   // subnormal numbers are flushed at present
    // Whether the thread's flag of invalid operations may be set (see InvalidOperationFlag).
    bool maybe_invalid = true;

    CpuCall(const CpuKernel &kernel, void *const *tensors, void *user_context)
        : BoxCall(user_context), kernel(kernel), tensors(tensors) {}

    // The state that the operator keeps from box to box. Each operator has one type of state, which
    // is made when it is first asked for.
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
    // A union does not construct its member, which would take time in every small call.
    union {
        alignas(64) uint8_t small_[kStateBytes];
    };
};

// How the CPU runs a problem with a variant. It is filled in at compile and only read afterwards.
struct CpuKernel {
    const Problem *problem;
    uint8_t mode;      // one of the operator's modes, by its own numbers
    const Form *form;  // the form that serves any box
    // The mode's own form, which serves most boxes. Null if `form` serves them, or a form in own()
    // does.
    const Form *quick;
    PrefetchShare prefetch_share;  // the share of the last-level cache up to which prefetching pays
    // How many elements ahead kernels that can prefetch do so; 0: not at all.
    int32_t prefetch_distance;
    CallBox call;  // called on each box; its context is a CpuCall
    // Whether slices flush subnormal numbers. A call whose results would differ keeps them all the
    // same.
    Subnormals subnormals;
    StateSize state_size;
    // The result of CpuForms::settle, in memory of the device's allocator; null if there is none.
    void *settled;

    // Other data of the operator's <operator>.cpp. Each operator has one type of it, which begins
    // as zeros.
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

// Calls a form on a box. The arguments have the types and the order of its generator's inputs, and
// then of its output. Halide's uniform entry point would take an array of pointers to them instead,
// but filling and reading the array costs small calls with many arguments a tenth more
// instructions.
template<class... Arguments>
int call_kernel(const Form &form, const CpuCall &call, Arguments... arguments) {
    return reinterpret_cast<int (*)(const void *, Arguments...)>(form.entry)(call.user_context,
                                                                             arguments...);
}

// The f32 scale, and the zero point, of an input that has one element.
inline float scale_of(const CpuCall &call, int input) {
    return read_scale(call.tensors[input], HEWN_DATA_TYPE_FLOAT32);
}
inline int32_t zero_point_of(const CpuCall &call, int input) {
    return read_zero_point(call.tensors[input], call.kernel.problem->inputs[input].type);
}

// The code for a lack of memory.
constexpr int kNoMemory = halide_error_code_out_of_memory;

// A mode: one way to run an operator.
struct CpuMode {
    uint8_t number;     // becomes CpuKernel::mode
    const Form *quick;  // becomes CpuKernel::quick
    CallBox call;
    KernelTraits traits;  // the properties of its forms
    // How many elements along the innermost dimension are one element of the plan. If they are
    // several, no operand of the plan is converted.
    int32_t together = 1;
};
constexpr int kMaxModes = 6;

// How an operator's modes and forms are chosen: forms_of_<operator> in <operator>.cpp.
struct CpuForms {
    // Sets those members of `kernel` that all modes share, and lists the modes that the merged
    // space allows, the best first. The last one takes any plan. Returns how many modes there are.
    int (*list_modes)(const Space &space, const Variant &variant, CpuKernel &kernel,
                      CpuMode *modes);
    // Whether a plan that runs in this many slices suits the kernel's mode. If it does, tells the
    // plan what the mode's forms read. Null: every plan suits.
    bool (*suits)(Plan &plan, int32_t slices, const Variant &variant, CpuKernel &kernel);
    // Called once the plan is made: prepares in kernel.settled everything that only constants
    // decide. `inputs` are the addresses of inputs that are not bound. May run kernels with the
    // user context. Returns 0, kNoMemory or a kernel's error code. Null: there is nothing to do.
    int (*settle)(const Plan &plan, const Allocator &allocator, CpuKernel &kernel,
                  void *const *inputs, void *user_context);
};
#define HEWN_OPERATOR(name, kernels, ...) extern const CpuForms forms_of_##kernels;
#include "operators.inc"
// The CpuForms of an operator that this build has kernels of.
const CpuForms &forms_of(const OperatorInfo &info);

// The threads that an execution may use.
struct Threads {
    int32_t most;  // the most slices; 0: no limit
    int32_t cpus;
};

// Plans kernel.problem for its first mode that the plan suits, and chooses how far ahead kernels
// prefetch. Returns how many plans that took; 0 if there is no memory.
int plan_kernel(const CpuForms &forms, const Space &space, const Variant &variant, const Chip &chip,
                Threads threads, const Allocator &allocator, Plan &plan, CpuKernel &kernel);

}  // namespace hewn
