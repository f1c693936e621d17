// QUANTIZED_LINEAR_ADD by its form `folded`. It takes a third of the operations out of the formula and so rounds otherwise. It is
// used only where it gives the same outputs: for given scales and zero points there are 2^16 pairs of inputs, and all are tried.
#ifndef HEWN_RUNTIME_CPU_FOLDING_H
#define HEWN_RUNTIME_CPU_FOLDING_H

#include <atomic>
#include <cstdint>

struct halide_buffer_t;
struct halide_type_t;

namespace hewn {

// The parameters of A, B and the output.
struct Quantization {
    float scale[3];
    int32_t zero_point[3];  // of 8 bits
};

// RN(a * factor_of_a + RN(b * factor_of_b + offset)).
struct FoldedFactors {
    float a, b, offset;
};

// Computes rows of A, B and the output: folded if factors are given, else by the formula. Returns 0 or a kernel's error.
using ComputeQuantizedAdd = int (*)(const void *context, halide_buffer_t *operands, const FoldedFactors *factors);

// Elements after which a search begins. It usually takes an eighth of the processor time already spent, and at most as much.
constexpr int64_t kElementsBeforeSearch = int64_t(1) << 20;

// Tries all pairs of inputs with the factors next to the exact ones, until some give the formula's outputs. `fits`: whether any
// do. `types` are those of A, B and the output. Takes the time of 2^17 elements if the first factors fit, as they usually do, and
// of 2^20 at most. Returns 0 or a kernel's error.
int find_folded_factors(const Quantization &quantization, const halide_type_t *types, ComputeQuantizedAdd compute,
                        const void *context, FoldedFactors &factors, bool &fits);

// What an operator knows of the scales and zero points that it was executed with lately. For any number of threads. Has no
// constructor: it begins as zeroed memory (Allocator::allocate).
class Foldings {
public:
    enum State : uint8_t {
        Unknown,
        Fits,     // the factors give the formula's outputs
        Differs,  // no factors were found that do
    };

    // The state; if that is Fits, also the factors.
    State find(const Quantization &quantization, FoldedFactors &factors);

    // Counts `elements` elements that were computed in the state Unknown. Returns true to one thread when they are enough for a
    // search to be worth its time, whatever comes, and again after as many more if nothing was set.
    bool count(const Quantization &quantization, int64_t elements);

    void set(const Quantization &quantization, State state, const FoldedFactors &factors);

private:
    // A Quantization in 120 bits. The other 8 of `rest` are left to its state (Entry).
    struct Key {
        uint64_t scales, rest;
        explicit Key(const Quantization &quantization);
    };
    // One thread writes at a time. A reader that sees another sequence afterwards knows nothing. An odd sequence: the entry is
    // being written, or was when the process forked; it is then lost to the child.
    struct Entry {
        std::atomic<uint32_t> sequence;
        std::atomic<uint32_t> offset;
        std::atomic<uint64_t> scales, rest_and_state, factors;
        std::atomic<int64_t> elements;  // computed while the state is Unknown
    };
    static constexpr uint32_t kEntries = 8;  // an operator may serve several nodes of a graph, each with its scales
    Entry entries_[kEntries];
    std::atomic<uint32_t> turn_;
    std::atomic<int64_t> missed_;  // elements computed with keys that no entry held

    // The entry that holds the key; null: none does.
    Entry *look_up(const Key &key);
    // The entry to overwrite for a new key: of those in the state Unknown, the one that has counted the fewest elements, so that
    // the others get to be known; if there is none, each in turn.
    Entry &vacant();
    // An entry for a new key, with which `elements` elements were computed; null: the table is full and does not take it. A full
    // table takes a new key for every 2^23 elements computed with keys that it lacks, so that those it has get to be known first.
    Entry *admit(int64_t elements);
    static void write(Entry &entry, const Key &key, State state, const FoldedFactors &factors);
};

}  // namespace hewn

#endif  // HEWN_RUNTIME_CPU_FOLDING_H
