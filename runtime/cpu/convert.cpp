// Converts elements between the type as which a tensor stores them and the type as which kernels
// take them: sub-byte types, f16, bf16, f8e8m0, f8e4m3fn and i32.
#include "convert.h"

#include <algorithm>
#include <cstring>

#include "floats.h"

namespace hewn {

namespace {

// Vectors of GCC and Clang, which compile to instructions of every target. All integers are
// little-endian.
typedef uint8_t Bytes __attribute__((vector_size(16)));
typedef uint16_t Words16 __attribute__((vector_size(16)));

#ifdef __clang__
#define HEWN_SHUFFLE(Vector, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define HEWN_SHUFFLE(Vector, a, b, ...) __builtin_shuffle(a, b, Vector{__VA_ARGS__})
#endif
// The bytes of a and b in turn: those of their lower halves, and of their upper halves.
Bytes interleaved_low(Bytes a, Bytes b) {
    return HEWN_SHUFFLE(Bytes, a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
Bytes interleaved_high(Bytes a, Bytes b) {
    return HEWN_SHUFFLE(Bytes, a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
// Every second byte of a, and then of b.
Bytes even_bytes(Bytes a, Bytes b) {
    return HEWN_SHUFFLE(Bytes, a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
}
// Every second 16 bits of a, and then of b.
Words16 even_words(Words16 a, Words16 b) {
    return HEWN_SHUFFLE(Words16, a, b, 0, 2, 4, 6, 8, 10, 12, 14);
}
#undef HEWN_SHUFFLE

// The low bits that one element has.
constexpr uint8_t mask_of(int bits) { return uint8_t((1 << bits) - 1); }

// The sign bit of a stored element; 0: it has none.
uint8_t sign_of(const Conversion &conversion) {
    return uint8_t(conversion.is_signed << (conversion.bits - 1));
}

// A stored element, which is in the low bits of `value`, as the kernel's type.
uint8_t extended(uint8_t value, const Conversion &conversion) {
    const uint8_t sign = sign_of(conversion);
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

// A step converts kStep elements, which are kStepBytes bytes as they are stored. There a byte of
// `values` has one element, in its low bits. The other bits are 0.
template<int Bits>
constexpr int kStep = Bits == 6 ? 16 : 8 * int(sizeof(Bytes)) / Bits;
template<int Bits>
constexpr int kStepBytes = Bits *kStep<Bits> / 8;

// Splits the fields of Width bits that bytes have into elements.
template<int Bits, int Width = 8>
void split(Bytes bytes, Bytes *values) {
    if constexpr (Width == Bits) {
        *values = bytes;
    } else {
        constexpr int half = Width / 2;
        const Bytes low = bytes & mask_of(half),
                    high = (Bytes)((Words16)bytes >> half) & mask_of(half);
        split<Bits, half>(interleaved_low(low, high), values);
        split<Bits, half>(interleaved_high(low, high), values + half / Bits);
    }
}
// The reverse.
template<int Bits, int Width = 8>
Bytes joined(const Bytes *values) {
    if constexpr (Width == Bits) {
        return *values;
    } else {
        constexpr int half = Width / 2;
        constexpr uint16_t lower = mask_of(half), upper = lower << half;
        const auto in_even_bytes = [](Bytes halves) {
            const Words16 w = (Words16)halves;
            return (Bytes)((w & lower) | (w >> (8 - half) & upper));
        };
        return even_bytes(in_even_bytes(joined<Bits, half>(values)),
                          in_even_bytes(joined<Bits, half>(values + half / Bits)));
    }
}

template<int Bits>
void load_step(const uint8_t *from, Bytes *values) {
    Bytes stored;
    std::memcpy(&stored, from, sizeof stored);
    split<Bits>(stored, values);
}
template<int Bits>
void store_step(const Bytes *values, uint8_t *to) {
    const Bytes stored = joined<Bits>(values);
    std::memcpy(to, &stored, sizeof stored);
}
// Four elements of 6 bits are 3 bytes, which are loaded as the low bits of a word.
uint32_t word_at(const uint8_t *from) {
    uint32_t word;
    std::memcpy(&word, from, sizeof word);
    return word;
}
template<>
void load_step<6>(const uint8_t *from, Bytes *values) {
    const Words32 w = {word_at(from), word_at(from + 3), word_at(from + 6), word_at(from + 8) >> 8};
    *values = (Bytes)((w & 0x3f) | (w << 2 & 0x3f00) | (w << 4 & 0x3f0000) | (w << 6 & 0x3f000000));
}
template<>
void store_step<6>(const Bytes *values, uint8_t *to) {
    typedef uint64_t Words64 __attribute__((vector_size(16)));
    const Words32 v = (Words32)*values;
    const Words64 w = (Words64)((v & 0x3f) | (v >> 2 & 0xfc0) | (v >> 4 & 0x3f000) |
                                (v >> 6 & 0xfc0000)),
                  pairs = (w & 0xffffff) | (w >> 8 & 0xffffff000000);
    const uint64_t first = pairs[0] | pairs[1] << 48, last = pairs[1] >> 16;
    std::memcpy(to, &first, 8);
    std::memcpy(to + 8, &last, 4);
}

// Converts `count` elements, which are whole steps. `sign` is the sign bit of the elements, or 0.
template<int Bits>
void unpack_steps(const uint8_t *from, uint8_t sign, int64_t count, uint8_t *to) {
    for (int64_t i = 0; i < count; i += kStep<Bits>, from += kStepBytes<Bits>) {
        Bytes values[kStep<Bits> / sizeof(Bytes)];
        load_step<Bits>(from, values);
        for (Bytes &v : values) v = (v ^ sign) - sign;
        std::memcpy(to + i, values, sizeof values);
    }
}
// Signed elements are compared as unsigned ones with the other sign bit, for which every processor
// has the minimum and the maximum.
template<int Bits>
void pack_steps(const uint8_t *from, uint8_t sign, int64_t count, uint8_t *to) {
    const uint8_t middle = sign ? 0x80 : 0, least = middle - sign,
                  most = uint8_t(least + mask_of(Bits));
    for (int64_t i = 0; i < count; i += kStep<Bits>, to += kStepBytes<Bits>) {
        Bytes values[kStep<Bits> / sizeof(Bytes)];
        std::memcpy(values, from + i, sizeof values);
        for (Bytes &v : values) {
            v ^= middle;
            v = v > most ? Bytes{} + most : v;
            v = v < least ? Bytes{} + least : v;
            v &= mask_of(Bits);
        }
        store_step<Bits>(values, to);
    }
}

// The steps of the types with `bits` bits.
struct Steps {
    using Convert = void(const uint8_t *from, uint8_t sign, int64_t count, uint8_t *to);
    int elements;  // a power of two
    Convert *unpack, *pack;
};
template<int Bits>
constexpr Steps kSteps = {kStep<Bits>, unpack_steps<Bits>, pack_steps<Bits>};
const Steps &steps_of(int bits) {
    return bits == 6 ? kSteps<6> : bits == 4 ? kSteps<4> : kSteps<2>;
}

// ---- f16, bf16, f8e8m0, f8e4m3fn or i32 to f32, and f32 to f16 or bf16 ----

using Convert32 = Words32(Words32);

// Converts `count` elements of T, a multiple of 4.
template<class T, Convert32 to_floats>
void widen(const uint8_t *from, int64_t count, uint8_t *to) {
    typedef T Four __attribute__((vector_size(4 * sizeof(T))));
    for (int64_t i = 0; i < count; i += 4) {
        Four e;
        std::memcpy(&e, from + int64_t(sizeof(T)) * i, sizeof e);
        const Words32 values = to_floats(__builtin_convertvector(e, Words32));
        std::memcpy(to + 4 * i, &values, sizeof values);
    }
}
// Converts `count` f32 numbers, a multiple of 8, to the lower halves of to_halves' results.
template<Convert32 to_halves>
void narrow(const uint8_t *from, int64_t count, uint8_t *to) {
    for (int64_t i = 0; i < count; i += 8) {
        Words32 values[2];
        std::memcpy(values, from + 4 * i, sizeof values);
        const Words16 halves =
            even_words((Words16)to_halves(values[0]), (Words16)to_halves(values[1]));
        std::memcpy(to + 2 * i, &halves, sizeof halves);
    }
}

Words32 bf16_to_f32(Words32 bits) { return bits << 16; }
Words32 f32_to_bf16(Words32 bits) { return rounded_to_bf16(bits) >> 16; }
// The number 2^(code - 127). Code 0 is a subnormal f32, and 255 is NaN.
Words32 f8e8m0_to_f32(Words32 codes) {
    const Words32 special = codes == 0 ? Words32{} + 0x400000u : Words32{} + 0x7fc00000u;
    return codes - 1 < 254 ? codes << 23 : special;
}
// The exponents of codes are 120 less than those of f32. A subnormal code is a multiple of 2^-9.
Words32 f8e4m3fn_to_f32(Words32 codes) {
    const Words32 magnitude = codes & 0x7f, sign = (codes & 0x80) << 24;
    const Floats small = __builtin_convertvector((Ints)magnitude, Floats) * 0x1p-9f;
    const Words32 normal = (magnitude << 20) + (120u << 23);
    const Words32 number = (Ints)magnitude < 8 ? (Words32)small : normal;
    return sign | (magnitude == 0x7f ? Words32{} + 0x7fc00000u : number);
}
Words32 i32_to_f32(Words32 integers) {
    return (Words32) __builtin_convertvector((Ints)integers, Floats);
}

// ---- Sub-byte types ----

// The elements before the first one of a run that begins at a byte.
int64_t head_of(const Conversion &conversion, int64_t first, int64_t count) {
    return std::min<int64_t>(-first & (conversion.group() - 1), count);
}

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

// Elements of a step, and the bytes that they are stored as.
struct StepBuffers {
    uint8_t values[kStep<2>], stored[sizeof(Bytes)];
};

void unpack(const StoredElements &elements, int64_t first, int64_t step, int64_t count,
            uint8_t *to) {
    const Conversion &conversion = *elements.conversion;
    if (step != 1) return unpack_each(elements, first, step, 0, count, to);
    const int64_t head = head_of(conversion, first, count);
    unpack_each(elements, first, 1, 0, head, to);
    const Steps &steps = steps_of(conversion.bits);
    const int64_t rest = (count - head) & (steps.elements - 1), whole = count - head - rest;
    const uint8_t *const from = elements.memory + BitPlace(conversion, first + head).byte;
    steps.unpack(from, sign_of(conversion), whole, to + head);
    if (rest == 0) return;
    StepBuffers last = {};
    std::memcpy(last.stored, from + whole * conversion.bits / 8,
                size_t(rest * conversion.bits + 7) / 8);
    steps.unpack(last.stored, sign_of(conversion), steps.elements, last.values);
    std::memcpy(to + head + whole, last.values, size_t(rest));
}

void pack(const StoredElements &elements, int64_t first, int64_t step, int64_t count, int64_t end,
          const uint8_t *from) {
    const Conversion &conversion = *elements.conversion;
    if (step != 1) return pack_each(elements, first, step, 0, count, end, from);
    const int64_t head = head_of(conversion, first, count);
    pack_each(elements, first, 1, 0, head, end, from);
    const Steps &steps = steps_of(conversion.bits);
    const int64_t whole = (count - head) & -int64_t(steps.elements),
                  rest = (count - head - whole) & -int64_t(conversion.group());  // whole bytes
    uint8_t *const to = elements.memory + BitPlace(conversion, first + head).byte;
    steps.pack(from + head, sign_of(conversion), whole, to);
    if (rest) {
        StepBuffers last = {};
        std::memcpy(last.values, from + head + whole, size_t(rest));
        steps.pack(last.values, sign_of(conversion), steps.elements, last.stored);
        std::memcpy(to + whole * conversion.bits / 8, last.stored,
                    size_t(rest * conversion.bits / 8));
    }
    pack_each(elements, first, 1, head + whole + rest, count, end, from);
}

// ---- The table, in the order of kConversions ----

struct Functions {
    hewn_data_type stored;
    // For sub-byte types null. Otherwise these convert contiguous elements of `bytes` bytes to f32
    // and back; `narrow` is null if no output is of this type.
    void (*widen)(const uint8_t *from, int64_t count, uint8_t *to);
    void (*narrow)(const uint8_t *from, int64_t count, uint8_t *to);
    int bytes;
};
constexpr Functions kFunctions[] = {
    {HEWN_DATA_TYPE_UINT4, nullptr, nullptr, 0},
    {HEWN_DATA_TYPE_INT4, nullptr, nullptr, 0},
    {HEWN_DATA_TYPE_UINT2, nullptr, nullptr, 0},
    {HEWN_DATA_TYPE_INT2, nullptr, nullptr, 0},
    {HEWN_DATA_TYPE_FLOAT4E2M1, nullptr, nullptr, 0},
    {HEWN_DATA_TYPE_FLOAT6E2M3, nullptr, nullptr, 0},
    {HEWN_DATA_TYPE_FLOAT6E3M2, nullptr, nullptr, 0},
    {HEWN_DATA_TYPE_FLOAT16, widen<uint16_t, widened>, narrow<narrowed>, 2},
    {HEWN_DATA_TYPE_BFLOAT16, widen<uint16_t, bf16_to_f32>, narrow<f32_to_bf16>, 2},
    {HEWN_DATA_TYPE_FLOAT8E8M0, widen<uint8_t, f8e8m0_to_f32>, nullptr, 1},
    {HEWN_DATA_TYPE_FLOAT8E4M3FN, widen<uint8_t, f8e4m3fn_to_f32>, nullptr, 1},
    {HEWN_DATA_TYPE_INT32, widen<uint32_t, i32_to_f32>, nullptr, 4},
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

// The size of a buffer to which elements are copied if they are not contiguous, or too few for a
// step.
constexpr int64_t kApart = 64;

// Copies `count` elements of `bytes` bytes, each the given number of bytes after the one before.
// Compiled for size ("cold"), as the loop would otherwise be unrolled for each size.
__attribute__((cold)) void copy_apart(const uint8_t *from, int64_t from_step, int64_t count,
                                      int bytes, uint8_t *to, int64_t to_step) {
    for (int64_t i = 0; i < count; i++, from += from_step, to += to_step) {
        switch (bytes) {
        case 1: *to = *from; break;
        case 2: std::memcpy(to, from, 2); break;
        default: std::memcpy(to, from, 4); break;
        }
    }
}

void load_floats(const StoredElements &elements, const Functions &functions, int64_t first,
                 int64_t step, int64_t count, uint8_t *to) {
    const int bytes = functions.bytes;
    const uint8_t *const from = elements.memory + first * bytes;
    const int64_t whole = step == 1 ? count & -4 : 0;
    functions.widen(from, whole, to);
    uint32_t stored[kApart] = {}, values[kApart];
    for (int64_t i = whole; i < count; i += kApart) {
        const int64_t n = std::min(count - i, kApart);
        uint8_t *const buffer = reinterpret_cast<uint8_t *>(stored);
        copy_apart(from + i * step * bytes, step * bytes, n, bytes, buffer, bytes);
        functions.widen(buffer, (n + 3) & -4, reinterpret_cast<uint8_t *>(values));
        std::memcpy(to + 4 * i, values, size_t(4 * n));
    }
}

void store_floats(const StoredElements &elements, const Functions &functions, int64_t first,
                  int64_t step, int64_t count, const uint8_t *from) {
    const int bytes = functions.bytes;
    uint8_t *const to = elements.memory + first * bytes;
    const int64_t whole = step == 1 ? count & -8 : 0;
    functions.narrow(from, whole, to);
    uint32_t stored[kApart], values[kApart] = {};
    for (int64_t i = whole; i < count; i += kApart) {
        const int64_t n = std::min(count - i, kApart);
        uint8_t *const buffer = reinterpret_cast<uint8_t *>(stored);
        std::memcpy(values, from + 4 * i, size_t(4 * n));
        functions.narrow(reinterpret_cast<uint8_t *>(values), (n + 7) & -8, buffer);
        copy_apart(buffer, bytes, n, bytes, to + i * step * bytes, step * bytes);
    }
}

}  // namespace

void load_converted(const StoredElements &elements, int64_t first, int64_t step, int64_t count,
                    uint8_t *to) {
    const Functions &functions = functions_of(elements);
    if (functions.widen) load_floats(elements, functions, first, step, count, to);
    else unpack(elements, first, step, count, to);
}

void store_converted(const StoredElements &elements, int64_t first, int64_t step, int64_t count,
                     int64_t end, const uint8_t *from) {
    const Functions &functions = functions_of(elements);
    if (functions.narrow) store_floats(elements, functions, first, step, count, from);
    else pack(elements, first, step, count, end, from);
}

}  // namespace hewn
