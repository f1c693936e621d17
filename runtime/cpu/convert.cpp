// Converts elements between the type as which a tensor stores them and the type as which kernels
// take them: sub-byte types, f16, bf16 and i32.
#include "convert.h"

#include <algorithm>
#include <cstring>

#include "floats.h"

namespace hewn {

namespace {

// Vectors of GCC and Clang, which compile to instructions of every target. The elements of one
// stored byte, or of 3 bytes if they have 6 bits, are spread over a word that has a byte for each
// of them. All integers are little-endian.
typedef uint8_t Bytes4 __attribute__((vector_size(4)));
typedef uint8_t Bytes8 __attribute__((vector_size(8)));
typedef uint8_t Bytes __attribute__((vector_size(16)));
typedef int8_t Signed __attribute__((vector_size(16)));
typedef uint16_t Words16 __attribute__((vector_size(16)));

// A step converts 16 elements. load() makes a word of each stored byte, or of 3 bytes if elements
// have 6 bits; store() is the reverse. spread() moves the elements in a word to its bytes; join()
// is the reverse.
constexpr int kStep = sizeof(Bytes);
template<class Vector, class Packed>
struct WordPerByte {
    using Words = Vector;
    static Words load(const uint8_t *from) {
        Packed packed;
        std::memcpy(&packed, from, sizeof packed);
        return __builtin_convertvector(packed, Words);
    }
    static void store(uint8_t *to, Words words) {
        const Packed packed = __builtin_convertvector(words, Packed);
        std::memcpy(to, &packed, sizeof packed);
    }
};
template<int Bits>
struct Lanes;
template<>
struct Lanes<6> {
    using Words = Words32;
    static constexpr size_t kBytes = 3;
    static Words load(const uint8_t *from) {
        uint32_t words[4] = {};
        for (int i = 0; i < 4; i++) std::memcpy(&words[i], from + kBytes * i, kBytes);
        return Words{words[0], words[1], words[2], words[3]};
    }
    static void store(uint8_t *to, Words w) {
        const uint32_t words[4] = {w[0], w[1], w[2], w[3]};
        for (int i = 0; i < 4; i++) std::memcpy(to + kBytes * i, &words[i], kBytes);
    }
    static Words spread(Words w) {
        return (w & 0x3f) | (w << 2 & 0x3f00) | (w << 4 & 0x3f0000) | (w << 6 & 0x3f000000);
    }
    static Words join(Words w) {
        return (w & 0x3f) | (w >> 2 & 0xfc0) | (w >> 4 & 0x3f000) | (w >> 6 & 0xfc0000);
    }
};
template<>
struct Lanes<4> : WordPerByte<Words16, Bytes8> {
    static Words spread(Words w) { return (w | w << 4) & 0x0f0f; }
    static Words join(Words w) { return (w & 0x0f) | (w >> 4 & 0xf0); }
};
template<>
struct Lanes<2> : WordPerByte<Words32, Bytes4> {
    static Words spread(Words w) { return (w | w << 6 | w << 12 | w << 18) & 0x03030303; }
    static Words join(Words w) {
        return (w & 0x03) | (w >> 6 & 0x0c) | (w >> 12 & 0x30) | (w >> 18 & 0xc0);
    }
};

// The low bits that one element has.
constexpr uint8_t mask_of(int bits) { return uint8_t((1 << bits) - 1); }

// A stored element, which is in the low bits of `value`, as the kernel's type.
uint8_t extended(uint8_t value, const Conversion &conversion) {
    const uint8_t sign = uint8_t(conversion.is_signed << (conversion.bits - 1));
    return uint8_t((value ^ sign) - sign);
}

// An element of the kernel's type, limited to the range of the stored type.
uint8_t clamped(uint8_t value, const Conversion &conversion) {
    const int half = 1 << (conversion.bits - 1);
    return conversion.is_signed ? uint8_t(std::clamp<int>(int8_t(value), -half, half - 1))
                                : std::min(value, mask_of(conversion.bits));
}

// The place of a stored element: its first byte, and the number of its lowest bit there.
struct BitPlace {
    int64_t byte;
    int shift;
    bool in_two_bytes;
    BitPlace(const Conversion &conversion, int64_t index)
        : byte(index * conversion.bits >> 3),
          shift(int(index * conversion.bits & 7)),
          in_two_bytes(shift + conversion.bits > 8) {}
};

// Loads one element.
uint8_t get(const StoredElements &elements, int64_t index) {
    const Conversion &conversion = *elements.conversion;
    const BitPlace at(conversion, index);
    int bits = elements.memory[at.byte];
    if (at.in_two_bytes) bits |= elements.memory[at.byte + 1] << 8;
    return extended(bits >> at.shift & mask_of(conversion.bits), conversion);
}

// Stores one element. If it is the last one, number end - 1, the bits after it become 0.
void put(const StoredElements &elements, int64_t index, int64_t end, uint8_t value) {
    const Conversion &conversion = *elements.conversion;
    const BitPlace at(conversion, index);
    const int mask = (index + 1 == end ? 0xffff : mask_of(conversion.bits)) << at.shift,
              bits = (clamped(value, conversion) & mask_of(conversion.bits)) << at.shift;
    uint8_t *const byte = elements.memory + at.byte;
    byte[0] = uint8_t((byte[0] & ~mask) | bits);
    if (at.in_two_bytes) byte[1] = uint8_t((byte[1] & ~(mask >> 8)) | bits >> 8);
}

// Converts the elements of whole bytes. `count` is a multiple of kStep.
template<int Bits>
void unpack_steps(const uint8_t *from, bool is_signed, int64_t count, uint8_t *to) {
    using L = Lanes<Bits>;
    const uint8_t sign = uint8_t(is_signed << (Bits - 1));
    for (int64_t i = 0; i < count; i += kStep) {
        const auto words = L::spread(L::load(from + i * Bits / 8));
        const Bytes values = ((Bytes)words ^ sign) - sign;
        std::memcpy(to + i, &values, sizeof values);
    }
}

template<int Bits>
void pack_steps(uint8_t *to, bool is_signed, int64_t count, const uint8_t *from) {
    using L = Lanes<Bits>;
    constexpr int8_t most = (1 << (Bits - 1)) - 1, least = -most - 1;
    for (int64_t i = 0; i < count; i += kStep) {
        Bytes values;
        std::memcpy(&values, from + i, sizeof values);
        if (is_signed) {
            Signed s = (Signed)values;
            s = s > most ? Signed{} + most : s;
            s = s < least ? Signed{} + least : s;
            values = (Bytes)s & mask_of(Bits);
        } else {
            values = values > mask_of(Bits) ? Bytes{} + mask_of(Bits) : values;
        }
        L::store(to + i * Bits / 8, L::join((typename L::Words)values));
    }
}

// ---- f16, bf16 or i32 to f32 and back, four at a time ----

template<class T>
uint8_t *element_at(const StoredElements &elements, int64_t index) {
    return elements.memory + int64_t(sizeof(T)) * index;
}

// Loads elements of T, four at a time, and converts each four by to_floats.
template<class T, class ToFloats>
void widen_each(const StoredElements &elements, int64_t first, int64_t step, int64_t count,
                uint8_t *to, const ToFloats &to_floats) {
    for (int64_t i = 0; i < count; i += 4) {
        const int64_t n = std::min<int64_t>(4, count - i);
        T e[4] = {};
        if (step == 1 && n == 4) std::memcpy(e, element_at<T>(elements, first + i), sizeof e);
        else
            for (int64_t j = 0; j < n; j++)
                std::memcpy(&e[j], element_at<T>(elements, first + (i + j) * step), sizeof *e);
        const Words32 values = to_floats(Words32{e[0], e[1], e[2], e[3]});
        std::memcpy(to + 4 * i, &values, size_t(4 * n));
    }
}

void load_f16(const StoredElements &elements, int64_t first, int64_t step, int64_t count,
              uint8_t *to) {
    widen_each<uint16_t>(elements, first, step, count, to, widened);
}

void load_bf16(const StoredElements &elements, int64_t first, int64_t step, int64_t count,
               uint8_t *to) {
    widen_each<uint16_t>(elements, first, step, count, to,
                         [](Words32 upper) { return upper << 16; });
}

// The number 2^(code - 127). Code 0 is a subnormal f32, and 255 is NaN.
void load_f8e8m0(const StoredElements &elements, int64_t first, int64_t step, int64_t count,
                 uint8_t *to) {
    widen_each<uint8_t>(elements, first, step, count, to, [](Words32 codes) {
        const Words32 special = codes == 0 ? Words32{} + 0x400000u : Words32{} + 0x7fc00000u;
        return codes - 1 < 254 ? codes << 23 : special;
    });
}

void load_i32(const StoredElements &elements, int64_t first, int64_t step, int64_t count,
              uint8_t *to) {
    widen_each<uint32_t>(elements, first, step, count, to, [](Words32 integers) {
        return (Words32) __builtin_convertvector((Ints)integers, Floats);
    });
}

// Stores f32 numbers as elements of 16 bits, which are the lower halves of to_halves' results.
template<class ToHalves>
void narrow_each(const StoredElements &elements, int64_t first, int64_t step, int64_t count,
                 const uint8_t *from, const ToHalves &to_halves) {
    for (int64_t i = 0; i < count; i += 4) {
        const int64_t n = std::min<int64_t>(4, count - i);
        Words32 values = {};
        std::memcpy(&values, from + 4 * i, size_t(4 * n));
        values = to_halves(values);
        const uint16_t h[4] = {uint16_t(values[0]), uint16_t(values[1]), uint16_t(values[2]),
                               uint16_t(values[3])};
        if (step == 1 && n == 4)
            std::memcpy(element_at<uint16_t>(elements, first + i), h, sizeof h);
        else
            for (int64_t j = 0; j < n; j++)
                std::memcpy(element_at<uint16_t>(elements, first + (i + j) * step), &h[j],
                            sizeof *h);
    }
}

void store_f16(const StoredElements &elements, int64_t first, int64_t step, int64_t count, int64_t,
               const uint8_t *from) {
    narrow_each(elements, first, step, count, from, narrowed);
}

void store_bf16(const StoredElements &elements, int64_t first, int64_t step, int64_t count, int64_t,
                const uint8_t *from) {
    narrow_each(elements, first, step, count, from,
                [](Words32 bits) { return rounded_to_bf16(bits) >> 16; });
}

// ---- Sub-byte types ----

// A run of contiguous elements, in three parts: `head` elements before the first one that begins at
// a byte, `steps` elements in whole steps, and the remaining elements.
struct Run {
    int64_t head, steps;
    Run(const Conversion &conversion, int64_t first, int64_t count) {
        head = std::min<int64_t>(-first & (conversion.group() - 1), count);
        steps = (count - head) / kStep * kStep;
    }
};

// Converts elements [begin, last) of a run one by one. Not inlined, for size.
__attribute__((noinline)) void unpack_each(const StoredElements &elements, int64_t first,
                                           int64_t step, int64_t begin, int64_t last, uint8_t *to) {
    for (int64_t i = begin; i < last; i++) to[i] = get(elements, first + i * step);
}
__attribute__((noinline)) void pack_each(const StoredElements &elements, int64_t first,
                                         int64_t step, int64_t begin, int64_t last, int64_t end,
                                         const uint8_t *from) {
    for (int64_t i = begin; i < last; i++) put(elements, first + i * step, end, from[i]);
}

void unpack(const StoredElements &elements, int64_t first, int64_t step, int64_t count,
            uint8_t *to) {
    const Conversion &conversion = *elements.conversion;
    if (step != 1) return unpack_each(elements, first, step, 0, count, to);
    const Run run(conversion, first, count);
    unpack_each(elements, first, 1, 0, run.head, to);
    const uint8_t *const from = elements.memory + BitPlace(conversion, first + run.head).byte;
    const auto unpack_run = conversion.bits == 6   ? unpack_steps<6>
                            : conversion.bits == 4 ? unpack_steps<4>
                                                   : unpack_steps<2>;
    unpack_run(from, conversion.is_signed, run.steps, to + run.head);
    unpack_each(elements, first, 1, run.head + run.steps, count, to);
}

void pack(const StoredElements &elements, int64_t first, int64_t step, int64_t count, int64_t end,
          const uint8_t *from) {
    const Conversion &conversion = *elements.conversion;
    if (step != 1) return pack_each(elements, first, step, 0, count, end, from);
    const Run run(conversion, first, count);
    pack_each(elements, first, 1, 0, run.head, end, from);
    uint8_t *const to = elements.memory + BitPlace(conversion, first + run.head).byte;
    const auto pack_run = conversion.bits == 6   ? pack_steps<6>
                          : conversion.bits == 4 ? pack_steps<4>
                                                 : pack_steps<2>;
    pack_run(to, conversion.is_signed, run.steps, from + run.head);
    pack_each(elements, first, 1, run.head + run.steps, count, end, from);
}

// ---- The table, in the order of kConversions ----

struct Functions {
    hewn_data_type stored;
    void (*load)(const StoredElements &elements, int64_t first, int64_t step, int64_t count,
                 uint8_t *to);
    void (*store)(const StoredElements &elements, int64_t first, int64_t step, int64_t count,
                  int64_t end, const uint8_t *from);  // null if no output is of this type
};
constexpr Functions kFunctions[] = {
    {HEWN_DATA_TYPE_UINT4, unpack, pack},
    {HEWN_DATA_TYPE_INT4, unpack, pack},
    {HEWN_DATA_TYPE_UINT2, unpack, pack},
    {HEWN_DATA_TYPE_INT2, unpack, pack},
    {HEWN_DATA_TYPE_FLOAT4E2M1, unpack, pack},
    {HEWN_DATA_TYPE_FLOAT6E2M3, unpack, pack},
    {HEWN_DATA_TYPE_FLOAT6E3M2, unpack, pack},
    {HEWN_DATA_TYPE_FLOAT16, load_f16, store_f16},
    {HEWN_DATA_TYPE_BFLOAT16, load_bf16, store_bf16},
    {HEWN_DATA_TYPE_FLOAT8E8M0, load_f8e8m0, nullptr},
    {HEWN_DATA_TYPE_INT32, load_i32, nullptr},
};
constexpr bool has_all_conversions() {
    for (int i = 0; i < kConversionCount; i++)
        if (kFunctions[i].stored != kConversions[i].stored) return false;
    return sizeof kFunctions / sizeof kFunctions[0] == kConversionCount;
}
static_assert(has_all_conversions());

const Functions &functions_of(const StoredElements &elements) {
    return kFunctions[elements.conversion - kConversions];
}

}  // namespace

void load_converted(const StoredElements &elements, int64_t first, int64_t step, int64_t count,
                    uint8_t *to) {
    functions_of(elements).load(elements, first, step, count, to);
}

void store_converted(const StoredElements &elements, int64_t first, int64_t step, int64_t count,
                     int64_t end, const uint8_t *from) {
    functions_of(elements).store(elements, first, step, count, end, from);
}

}  // namespace hewn
