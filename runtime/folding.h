// QUANTIZED_LINEAR_ADD by its form `folded`, which takes a third of the operations out of the formula and so does not round as it
// does: only where it gives the same outputs. For given scales and zero points there are 2^16 pairs of inputs, and they are all
// tried.
#ifndef HEWN_RUNTIME_FOLDING_H
#define HEWN_RUNTIME_FOLDING_H

#include <atomic>
#include <cstdint>

struct halide_buffer_t;
struct halide_type_t;

namespace hewn {

// Of A, B and the output.
struct Quantization {
    float scale[3];
    int32_t zero_point[3];  // of 8 bits
};

// RN(a * factor_of_a + RN(b * factor_of_b + offset)).
struct FoldedFactors {
    float a, b, offset;
};

// Computes rows of A, B and the output: by the formula, or folded where factors are given. 0, or a kernel's error.
using ComputeQuantizedAdd = int (*)(const void *context, halide_buffer_t *operands, const FoldedFactors *factors);

// Elements after which a search is begun: it then takes an eighth of the processor's time that was spent already, usually, and as
// much at most.
constexpr int64_t kElementsBeforeSearch = int64_t(1) << 20;

// Tries all pairs with the factors next to the exact ones, until some give the formula's outputs; `fits` says whether any do.
// `types` are A's, B's and the output's. Takes the time of 2^17 elements where the first ones fit, which is usual, and of 2^20 at
// most. 0, or a kernel's error.
int find_folded_factors(const Quantization &quantization, const halide_type_t *types, ComputeQuantizedAdd compute,
                        const void *context, FoldedFactors &factors, bool &fits);

// What an operator knows of the scales and zero points that it has been executed with lately. For any number of threads. Has no
// constructor: begins in memory that is zero (Allocator::allocate).
class Foldings {
public:
    enum State : uint8_t {
        Unknown,
        Fits,     // the factors give the formula's outputs
        Differs,  // no factors were found that do
    };

    // Also the factors, where they fit.
    State find(const Quantization &quantization, FoldedFactors &factors);

    // Notes that `elements` elements were computed without knowing. True when they are enough for a search to be worth its time,
    // whatever comes, and after as many again if nothing is set: for one thread.
    bool count(const Quantization &quantization, int64_t elements);

    void set(const Quantization &quantization, State state, const FoldedFactors &factors);

private:
    // Quantization, 120 bits, and what is known of it.
    struct Key {
        uint64_t scales, rest;
        explicit Key(const Quantization &quantization);
    };
    // Written by one thread at a time; whoever reads meanwhile sees another sequence afterwards, and knows nothing. An odd
    // sequence: it is being written, or was when the process forked, and is then lost to the child.
    struct Entry {
        std::atomic<uint32_t> sequence;
        std::atomic<uint32_t> offset;
        std::atomic<uint64_t> scales, rest_and_state, factors;
        std::atomic<int64_t> elements;  // computed while the state is Unknown
    };
    static constexpr uint32_t kEntries = 8;  // an operator may serve several nodes of a graph, each with its scales
    Entry entries_[kEntries];
    std::atomic<uint32_t> turn_;
    std::atomic<int64_t> missed_;  // elements that were computed with what no entry was for

    // The entry that holds the key; null: none does.
    Entry *look_up(const Key &key);
    // The entry to overwrite for a new key: of those whose state is Unknown the one that has counted the fewest elements, so that
    // the others come to be known; where none is, each in turn.
    Entry &vacant();
    // An entry for a new key, with which `elements` elements were computed; null: the table is full and does not take it. It
    // takes a new key for every 2^23 elements computed with keys that it lacks, so that those it has come to be known first.
    Entry *admit(int64_t elements);
    static void write(Entry &entry, const Key &key, State state, const FoldedFactors &factors);
};

}  // namespace hewn

#endif  // HEWN_RUNTIME_FOLDING_H
