#include "folding.h"

#include <HalideRuntime.h>

#include "../base/bits.h"

namespace hewn {

namespace {

constexpr int kValues = 256;  // of 8 bits
constexpr int kRows = 16;     // of kValues pairs each, computed together

constexpr int kStateShift = 56;
constexpr uint64_t kRest = (uint64_t(1) << kStateShift) - 1;

// The float `steps` steps farther from 0; 0 stays.
float stepped(float value, int steps) { return value == 0 ? value : float_of(bits_of(value) + uint32_t(steps)); }

}  // namespace

int find_folded_factors(const Quantization &quantization, const halide_type_t *types, ComputeQuantizedAdd compute,
                        const void *context, FoldedFactors &factors, bool &fits) {
    const float *const scale = quantization.scale;
    const int32_t *const zero_point = quantization.zero_point;
    FoldedFactors nearest;
    nearest.a = float(double(scale[0]) / double(scale[2]));
    nearest.b = float(double(scale[1]) / double(scale[2]));
    nearest.offset = float(-double(zero_point[0]) * double(nearest.a) - double(zero_point[1]) * double(nearest.b));

    alignas(64) uint8_t a[kRows * kValues], b[kValues], expected[kRows * kValues], folded[kRows * kValues];
    for (int i = 0; i < kValues; i++) b[i] = uint8_t(i);
    uint8_t *const hosts[3] = {a, b, nullptr};
    halide_dimension_t dims[3][2];
    halide_buffer_t operands[3] = {};
    for (int o = 0; o < 3; o++) {
        dims[o][0] = {0, kValues, 1, 0};
        dims[o][1] = {0, kRows, o == 1 ? 0 : kValues, 0};
        operands[o].type = types[o];
        operands[o].dimensions = 2;
        operands[o].dim = dims[o];
        operands[o].host = hosts[o];
    }

    // Steps of a's factor, of b's and of the offset. How often the first and any of the seven fit:
    // docs/numerics.md#quantized_linear_add.
    constexpr int kSteps[][3] = {{0, 0, 0}, {0, 0, 1}, {0, 0, -1}, {0, 1, 0}, {0, -1, 0}, {1, 0, 0}, {-1, 0, 0}};
    constexpr int kParts = kValues / kRows;
    int first = 0;  // begins with the part in which the previous factors differed, as the next may
    for (const int(&steps)[3] : kSteps) {
        factors = {stepped(nearest.a, steps[0]), stepped(nearest.b, steps[1]), stepped(nearest.offset, steps[2])};
        fits = true;
        for (int i = 0; i < kParts && fits; i++) {
            const int part = (first + i) % kParts;
            for (int row = 0; row < kRows; row++) std::memset(a + row * kValues, part * kRows + row, kValues);
            for (uint8_t *result : {expected, folded}) {
                operands[2].host = result;
                if (const int code = compute(context, operands, result == folded ? &factors : nullptr)) return code;
            }
            fits = std::memcmp(expected, folded, sizeof folded) == 0;
            if (!fits) first = part;
        }
        if (fits) break;
    }
    return 0;
}

Foldings::Key::Key(const Quantization &quantization)
    : scales(pair_of(quantization.scale[0], quantization.scale[1])), rest(bits_of(quantization.scale[2])) {
    for (int t = 0; t < 3; t++) rest |= uint64_t(uint8_t(quantization.zero_point[t])) << (32 + 8 * t);
}

Foldings::Entry *Foldings::look_up(const Key &key) {
    for (Entry &entry : entries_) {
        if (entry.scales.load(std::memory_order_relaxed) == key.scales &&
            (entry.rest_and_state.load(std::memory_order_relaxed) & kRest) == key.rest) {
            return &entry;
        }
    }
    return nullptr;
}

Foldings::Entry &Foldings::vacant() {
    Entry *least = nullptr;
    int64_t elements = INT64_MAX;
    for (Entry &entry : entries_) {
        const bool writing = entry.sequence.load(std::memory_order_relaxed) & 1;
        const int64_t counted = entry.elements.load(std::memory_order_relaxed);
        if (writing || entry.rest_and_state.load(std::memory_order_relaxed) >> kStateShift != Unknown || counted >= elements)
            continue;
        least = &entry;
        elements = counted;
    }
    return least ? *least : entries_[turn_.fetch_add(1, std::memory_order_relaxed) % kEntries];
}

Foldings::Entry *Foldings::admit(int64_t elements) {
    for (Entry &entry : entries_) {
        if (entry.sequence.load(std::memory_order_relaxed) == 0) return &entry;
    }
    // The elements that it takes to know all keys held, if they come in turn. If every newcomer were admitted, nine sets in turn
    // would drive one another out for ever.
    constexpr int64_t kTurn = kEntries * kElementsBeforeSearch;
    const int64_t before = missed_.fetch_add(elements, std::memory_order_relaxed);
    return before / kTurn != (before + elements) / kTurn ? &vacant() : nullptr;
}

Foldings::State Foldings::find(const Quantization &quantization, FoldedFactors &factors) {
    const Key key(quantization);
    const Entry *const entry = look_up(key);
    if (!entry) return Unknown;
    const uint32_t sequence = entry->sequence.load(std::memory_order_acquire);
    const uint64_t scales = entry->scales.load(std::memory_order_acquire);
    const uint64_t rest_and_state = entry->rest_and_state.load(std::memory_order_acquire);
    const uint64_t both = entry->factors.load(std::memory_order_acquire);
    const uint32_t offset = entry->offset.load(std::memory_order_acquire);
    const bool whole = (sequence & 1) == 0 && entry->sequence.load(std::memory_order_relaxed) == sequence;
    if (!whole || scales != key.scales || (rest_and_state & kRest) != key.rest) return Unknown;
    factors = {float_of(uint32_t(both)), float_of(uint32_t(both >> 32)), float_of(offset)};
    return State(rest_and_state >> kStateShift);
}

void Foldings::write(Entry &entry, const Key &key, State state, const FoldedFactors &factors) {
    uint32_t sequence = entry.sequence.load(std::memory_order_relaxed);
    if (sequence & 1 || !entry.sequence.compare_exchange_strong(sequence, sequence + 1, std::memory_order_acq_rel)) return;
    entry.scales.store(key.scales, std::memory_order_release);
    entry.rest_and_state.store(key.rest | uint64_t(state) << kStateShift, std::memory_order_release);
    entry.factors.store(pair_of(factors.a, factors.b), std::memory_order_release);
    entry.offset.store(bits_of(factors.offset), std::memory_order_release);
    entry.elements.store(0, std::memory_order_release);
    entry.sequence.store(sequence + 2, std::memory_order_release);
}

bool Foldings::count(const Quantization &quantization, int64_t elements) {
    const Key key(quantization);
    Entry *entry = look_up(key);
    if (!entry) {
        entry = admit(elements);
        if (!entry) return false;
        write(*entry, key, Unknown, {});
    }
    const int64_t before = entry->elements.fetch_add(elements, std::memory_order_relaxed);
    // Again and again while the state is Unknown: what a search found is lost if another thread was writing.
    return before / kElementsBeforeSearch != (before + elements) / kElementsBeforeSearch;
}

void Foldings::set(const Quantization &quantization, State state, const FoldedFactors &factors) {
    const Key key(quantization);
    Entry *const entry = look_up(key);
    write(entry ? *entry : vacant(), key, state, factors);
}

}  // namespace hewn
