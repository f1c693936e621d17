// The floating-point mode of the calling thread. Each slice sets it before it calls kernels, and
// puts the caller's mode back afterwards.
#pragma once

#include <cstdint>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#elif !defined(__aarch64__) && !defined(__wasm__)
#error "No floating-point mode known for this architecture"
#endif

namespace hewn {

// The treatment of subnormal f32 numbers, as operands and as results. Flushing replaces them by 0,
// which is faster, and is only for work whose results are the same with it. Work that is too small
// for `Flush` uses `FlushOnceMet`: it flushes only if this thread has met subnormal numbers before,
// which a sticky flag tells. ARM does not have that flag
// (docs/lab/numerics.md#flushing-subnormals).
enum class Subnormals : uint8_t { Keep, FlushOnceMet, Flush };

// While an object of this class lives, the thread rounds to nearest, masks exceptions, and keeps or
// flushes subnormal numbers, whatever its mode was before.
class FloatingPointMode {
public:
    explicit FloatingPointMode(Subnormals subnormals = Subnormals::Keep)
        : saved_(read()),
          flushes_(subnormals == Subnormals::Flush ||
                   (subnormals == Subnormals::FlushOnceMet && (saved_ & kMetSubnormals) != 0)),
          changed_((saved_ & kControl) != (flushes_ ? kFlush : kDefault)) {
        if (changed_) write(flushes_ ? kFlush : kDefault);
    }
    // Restores the mode. Status flags that were raised meanwhile stay raised, as they do if the
    // mode needs no change.
    ~FloatingPointMode() {
        if (changed_) write(saved_ | (read() & ~kControl));
    }
    FloatingPointMode(const FloatingPointMode &) = delete;
    FloatingPointMode &operator=(const FloatingPointMode &) = delete;

    // Whether subnormal numbers are flushed.
    bool flushes() const { return flushes_; }
    // Whether the thread's flag of invalid operations (InvalidOperationFlag) was set when the
    // object had been made. Setting the mode clears it.
    bool began_invalid() const { return !changed_ && (saved_ & kInvalid) != 0; }

private:
#if defined(__x86_64__) || defined(__i386__)
    // MXCSR. Its lowest six bits are status flags. kFlush flushes subnormal numbers as results and
    // as operands.
    using Register = uint32_t;
    static constexpr Register kControl = ~Register(0x3f), kDefault = 0x1f80,
                              kFlush = kDefault | 0x8040, kInvalid = 1, kMetSubnormals = 2;
    static Register read() { return _mm_getcsr(); }
    static void write(Register mode) { _mm_setcsr(mode); }
#elif defined(__wasm__)
    // WebAssembly has only this mode, and no flags.
    using Register = uint32_t;
    static constexpr Register kControl = 0, kDefault = 0, kFlush = 0, kInvalid = 0,
                              kMetSubnormals = 0;
    static Register read() { return 0; }
    static void write(Register) {}
#else
    // FPCR: rounding, flushing of f32 and of f16, exceptions, alternative f16, and NaN handling.
    using Register = uint64_t;
    static constexpr Register kControl = ~Register(0), kDefault = 0, kFlush = 1 << 24, kInvalid = 0,
                              kMetSubnormals = 0;
    static Register read() {
        Register mode;
        __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
        return mode;
    }
    // The clobber keeps memory operations, and with them calls of kernels, from being moved across
    // the instruction.
    static void write(Register mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode) : "memory"); }
#endif

    const Register saved_;
    const bool flushes_, changed_;
};

// Tells whether an operation of this thread was invalid while the object lives: it met a NaN, or
// the result of a conversion did not fit. The processor's flag is sticky and costs an operation
// nothing, whereas a test of every element would. When the object is destroyed, the flag is set if
// it was set before or was raised meanwhile.
//
// `maybe_set`, which must outlive the object, says whether the flag may be set already. If it is
// false, the constructor does not read the flag, which would wait for all operations under way.
// Code that runs other operations which may be invalid sets `maybe_set` to true. raised() updates
// it.
//
// Only x86 has this flag. Elsewhere conversions saturate, and raised() is false.
class InvalidOperationFlag {
public:
#if defined(__x86_64__) || defined(__i386__)
    explicit InvalidOperationFlag(bool &maybe_set) : maybe_set_(maybe_set) {
        if (!maybe_set) return;
        const uint32_t saved = _mm_getcsr();
        restores_ = saved & kInvalid;
        if (restores_) _mm_setcsr(saved & ~kInvalid);
    }
    ~InvalidOperationFlag() {
        if (restores_) _mm_setcsr(_mm_getcsr() | kInvalid);
    }
    InvalidOperationFlag(const InvalidOperationFlag &) = delete;
    InvalidOperationFlag &operator=(const InvalidOperationFlag &) = delete;

    bool raised() const {
        const bool raised = _mm_getcsr() & kInvalid;
        maybe_set_ |= raised;
        return raised;
    }

    // Whether the processor sets the flag. Emulators may not; Valgrind does not.
    static bool works() {
        const uint32_t saved = _mm_getcsr();
        _mm_setcsr(kClear);
        volatile float nan = __builtin_nanf("");
        // This is the conversion that kernels use.
        volatile int32_t converted = _mm_cvtsi128_si32(_mm_cvtps_epi32(_mm_set1_ps(nan)));
        (void)converted;
        const bool raised = _mm_getcsr() & kInvalid;
        _mm_setcsr(saved);
        return raised;
    }

private:
    static constexpr uint32_t kInvalid = 1, kClear = 0x1f80;
    bool &maybe_set_;
    bool restores_ = false;
#else
    explicit InvalidOperationFlag(bool &) {}
    bool raised() const { return false; }
    static bool works() { return true; }
#endif
};

}  // namespace hewn
