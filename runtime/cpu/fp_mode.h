// The floating-point mode of the calling thread.
#pragma once

#include <cstdint>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#elif !defined(__aarch64__) && !defined(__wasm__)
#error "No floating-point mode known for this architecture"
#endif

namespace hewn {

// What becomes of subnormal f32 numbers, as operands and as results. Flushing makes them 0, for
// work whose results are the same. Smaller work flushes only on a thread that has met subnormals
// before, by its sticky flag, which ARM does not have (docs/lab/numerics.md#flushing-subnormals).
enum class Subnormals : uint8_t { Keep, FlushOnceMet, Flush };

// For the object's lifetime the thread rounds to nearest, masks exceptions and keeps subnormals or
// flushes them, whatever mode it is in.
class FloatingPointMode {
public:
    explicit FloatingPointMode(Subnormals subnormals = Subnormals::Keep)
        : saved_(read()),
          flushes_(subnormals == Subnormals::Flush ||
                   (subnormals == Subnormals::FlushOnceMet && (saved_ & kMetSubnormals) != 0)),
          changed_((saved_ & kControl) != (flushes_ ? kFlush : kDefault)) {
        if (changed_) write(flushes_ ? kFlush : kDefault);
    }
    // What was raised meanwhile stays raised, as where the mode needed no change.
    ~FloatingPointMode() {
        if (changed_) write(saved_ | (read() & ~kControl));
    }
    FloatingPointMode(const FloatingPointMode &) = delete;
    FloatingPointMode &operator=(const FloatingPointMode &) = delete;

    bool flushes() const { return flushes_; }
    // Whether the thread's flag of invalid operations (see below) is set once the object is made.
    // Setting the mode clears it.
    bool began_invalid() const { return !changed_ && (saved_ & kInvalid) != 0; }

private:
#if defined(__x86_64__) || defined(__i386__)
    using Register = uint32_t;  // MXCSR, whose lowest bits are status flags. Subnormals are flushed
                                // as results and as operands
    static constexpr Register kControl = ~Register(0x3f), kDefault = 0x1f80,
                              kFlush = kDefault | 0x8040, kInvalid = 1, kMetSubnormals = 2;
    static Register read() { return _mm_getcsr(); }
    static void write(Register mode) { _mm_setcsr(mode); }
#elif defined(__wasm__)
    using Register = uint32_t;  // WebAssembly has this mode alone, and no flags
    static constexpr Register kControl = 0, kDefault = 0, kFlush = 0, kInvalid = 0,
                              kMetSubnormals = 0;
    static Register read() { return 0; }
    static void write(Register) {}
#else
    using Register = uint64_t;  // FPCR: rounding, flushing of f32 and of f16, exceptions,
                                // alternative f16 and NaN handling
    static constexpr Register kControl = ~Register(0), kDefault = 0, kFlush = 1 << 24, kInvalid = 0,
                              kMetSubnormals = 0;
    static Register read() {
        Register mode;
        __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
        return mode;
    }
    // The clobber keeps memory operations, and with them calls of kernels, on their side.
    static void write(Register mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode) : "memory"); }
#endif

    const Register saved_;
    const bool flushes_, changed_;
};

// Tells whether operations of this thread were invalid in the object's lifetime: one met a NaN, or
// a conversion's result did not fit. The flag is sticky and costs operations nothing, where testing
// every element would. Afterwards the flag is as the caller had it, or set. `maybe_set`, which
// outlives the object, says whether the flag may be set already. If not, the constructor need not
// read it, which would wait for all operations under way. Whoever runs other operations that may be
// invalid in between sets `maybe_set`. For x86 only; elsewhere conversions saturate, and raised()
// is false.
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

    // Whether the processor sets the flag. Emulators may leave it alone (Valgrind does).
    static bool works() {
        const uint32_t saved = _mm_getcsr();
        _mm_setcsr(kClear);
        volatile float nan = __builtin_nanf("");
        volatile int32_t converted =
            _mm_cvtsi128_si32(_mm_cvtps_epi32(_mm_set1_ps(nan)));  // as kernels convert
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
