// Runs the boxes of a plan: walks them, copies operands to scratch memory and back by tables of
// offsets, transpositions and conversions, and streams outputs.
#include "boxes.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "../base/kernel_contract.h"
#include "../dispatch/dispatch.h"
#include "convert.h"
#include "stream.h"

extern "C" {
#define HEWN_TRANSPOSITION(entry, bits, bytes, priority) HEWN_HIDDEN int entry(void **);
#include "transpositions.inc"
}

namespace hewn {

namespace {

// Sets to[i * to_step] = from[i * from_step] for elements of T, with steps in bytes. Four elements
// are read before four are written: the compiler must assume that the memory overlaps, and would
// otherwise wait for each.
template<class T>
inline __attribute__((always_inline)) void copy_steps(uint8_t *to, int64_t to_step,
                                                      const uint8_t *from, int64_t from_step,
                                                      int64_t count) {
    for (; count >= 4; count -= 4, to += 4 * to_step, from += 4 * from_step) {
        T a, b, c, d;
        std::memcpy(&a, from, sizeof(T));
        std::memcpy(&b, from + from_step, sizeof(T));
        std::memcpy(&c, from + 2 * from_step, sizeof(T));
        std::memcpy(&d, from + 3 * from_step, sizeof(T));
        std::memcpy(to, &a, sizeof(T));
        std::memcpy(to + to_step, &b, sizeof(T));
        std::memcpy(to + 2 * to_step, &c, sizeof(T));
        std::memcpy(to + 3 * to_step, &d, sizeof(T));
    }
#pragma GCC unroll 1
    for (; count > 0; count--, to += to_step, from += from_step) std::memcpy(to, from, sizeof(T));
}

// Moves elements between a tensor, where they lie `step` bytes apart as those of a piece do (see
// Plan), and dense memory.
using MovePiece = void (*)(uint8_t *, const uint8_t *, int64_t step, int64_t count);
template<class T>
void gather_piece(uint8_t *to, const uint8_t *from, int64_t step, int64_t count) {
    copy_steps<T>(to, sizeof(T), from, step, count);
}
template<class T>
void scatter_piece(uint8_t *to, const uint8_t *from, int64_t step, int64_t count) {
    copy_steps<T>(to, step, from, sizeof(T), count);
}

// Sets to[i] = from[table[i]], or to[table[i]] = from[i]. A table's numbers are bytes.
using MoveElements = void (*)(uint8_t *, const uint8_t *, const int32_t *, int64_t count);
template<class T>
void gather_elements(uint8_t *to, const uint8_t *from, const int32_t *table, int64_t count) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < count; i++) std::memcpy(to + i * sizeof(T), from + table[i], sizeof(T));
}
template<class T>
void scatter_elements(uint8_t *to, const uint8_t *from, const int32_t *table, int64_t count) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < count; i++) std::memcpy(to + table[i], from + i * sizeof(T), sizeof(T));
}

// One function for each size of an element: 1, 2, 4 and 8 bytes, by the size's binary logarithm.
#define HEWN_BY_SHIFT(function) \
    { function<uint8_t>, function<uint16_t>, function<uint32_t>, function<uint64_t> }
constexpr MovePiece kGatherPiece[] = HEWN_BY_SHIFT(gather_piece),
                    kScatterPiece[] = HEWN_BY_SHIFT(scatter_piece);
constexpr MoveElements kGatherElements[] = HEWN_BY_SHIFT(gather_elements),
                       kScatterElements[] = HEWN_BY_SHIFT(scatter_elements);
#undef HEWN_BY_SHIFT

// Copies the first `count` elements of a run of operand o from its tensor to dense memory.
void gather(const Plan &plan, int o, int shift, uint8_t *to, const uint8_t *from, int64_t count) {
    const int32_t *table = plan.table[o];
    if (plan.piece == 1) return kGatherElements[shift](to, from, table, count);
    for (int64_t i = 0; i < count; i += plan.piece)
        kGatherPiece[shift](to + (i << shift), from + *table++, plan.element_step[o],
                            std::min(plan.piece, count - i));
}
// The reverse of gather().
void scatter(const Plan &plan, int o, int shift, uint8_t *to, const uint8_t *from, int64_t count) {
    const int32_t *table = plan.table[o];
    if (plan.piece == 1) return kScatterElements[shift](to, from, table, count);
    for (int64_t i = 0; i < count; i += plan.piece)
        kScatterPiece[shift](to + *table++, from + (i << shift), plan.element_step[o],
                             std::min(plan.piece, count - i));
}

// Whether operand o is converted. The compiler knows the answer if no operator of the build takes
// sub-byte types or mixed floats.
bool is_converted(const Plan &plan, int o) { return converted_words::kTaken && plan.conversion[o]; }

// Goes through the first `count` elements of a run of a converted operand, which begins at place
// `first`. Calls move(first, step, count, done) for each piece; `done` elements came before it.
// Places and steps are in bytes of elements as the kernel takes them.
template<class Move>
void for_each_piece(const Plan &plan, int o, int64_t first, int64_t count, const Move &move) {
    const int32_t *table = plan.table[o];
    if (!table) return move(first, plan.element_bytes[o], count, 0);
    for (int64_t i = 0; i < count; i += plan.piece)
        move(first + *table++, plan.element_step[o], std::min(plan.piece, count - i), i);
}

// A kernel that transposes whole tiles of kSquareBytes of rows by `bytes` bytes of columns. It is
// for targets of this priority and above.
struct TransposeTiles {
    KernelFunction kernel;
    int bits, bytes;
    int32_t priority;
};
constexpr TransposeTiles kTransposeTiles[] = {
#define HEWN_TRANSPOSITION(entry, bits, bytes, priority) {entry, bits, bytes, priority},
#include "transpositions.inc"
};

// Sets to(x, y) = from(x, y) for x < width and y < height, which are whole tiles. `to` is dense
// along x and has `to_pitch` bytes from row to row. `from` is dense along y and has `from_step`
// bytes from x to x. If `prefetch_distance` is not 0, the memory that lies this many elements after
// the first of each column is prefetched. Neither this function nor transpose() is inlined, for
// size.
__attribute__((noinline)) int transpose_tiles(const TransposeTiles &tiles, uint8_t *to,
                                              int64_t to_pitch, const uint8_t *from,
                                              int64_t from_step, int64_t width, int64_t height,
                                              int32_t prefetch_distance, void *user_context) {
    const int shift = __builtin_ctz(unsigned(tiles.bits / 8));  // a shift is faster than a division
    halide_dimension_t from_dims[2] = {{0, int32_t(width), int32_t(from_step >> shift), 0},
                                       {0, int32_t(height), 1, 0}};
    halide_dimension_t to_dims[2] = {{0, int32_t(width), 1, 0},
                                     {0, int32_t(height), int32_t(to_pitch >> shift), 0}};
    halide_buffer_t source = {}, destination = {};
    source.host = const_cast<uint8_t *>(from);
    source.dim = from_dims;
    destination.host = to;
    destination.dim = to_dims;
    source.dimensions = destination.dimensions = 2;
    source.type = destination.type = halide_type_t(halide_type_uint, uint8_t(tiles.bits));
    // The distance to the further lines of the next tall tile.
    int32_t down = height << shift > kLineBytes ? kSquareBytes >> shift : 0;
    void *arguments[] = {&user_context, &source, &prefetch_distance, &down, &destination};
    return tiles.kernel(arguments);
}

// transpose_tiles for any extents, with elements of 2^shift bytes. An edge is a tile that overlaps
// the last whole one (docs/lab/performance.md#transposing). If it has so few elements that they
// take less time than a call, they are copied one by one.
__attribute__((noinline)) int transpose(int32_t target_priority, int shift, uint8_t *to,
                                        int64_t to_pitch, const uint8_t *from, int64_t from_step,
                                        int64_t width, int64_t height, int32_t prefetch_distance,
                                        void *user_context) {
    constexpr int64_t kFewElements = 64;
    const int64_t tile_rows = kSquareBytes >> shift, whole_rows = height / tile_rows * tile_rows,
                  last_rows = height - tile_rows;
    const auto run_elements = [&](int64_t x, int64_t columns, int64_t y) {
        for (const int64_t end = x + columns; x < end; x++)
            kScatterPiece[shift](to + y * to_pitch + (x << shift),
                                 from + x * from_step + (y << shift), to_pitch, height - y);
        return 0;
    };
    const auto run_columns = [&](const TransposeTiles &tiles, int64_t x, int64_t columns) {
        uint8_t *const to_column = to + (x << shift);
        const uint8_t *const column = from + x * from_step;
        if (const int error = transpose_tiles(tiles, to_column, to_pitch, column, from_step,
                                              columns, whole_rows, prefetch_distance, user_context))
            return error;
        if (whole_rows == height) return 0;
        if ((height - whole_rows) * columns < kFewElements)
            return run_elements(x, columns, whole_rows);
        return transpose_tiles(tiles, to_column + last_rows * to_pitch, to_pitch,
                               column + (last_rows << shift), from_step, columns, tile_rows, 0,
                               user_context);
    };

    int64_t done = 0;
    // Kernels of the highest priority come first.
    for (size_t t = std::size(kTransposeTiles); t-- > 0 && whole_rows > 0;) {
        const TransposeTiles &tiles = kTransposeTiles[t];
        if (tiles.bits != 8 << shift || tiles.priority > target_priority) continue;
        const int64_t columns = tiles.bytes >> shift, whole = (width - done) / columns * columns;
        if (whole > 0) {
            if (const int error = run_columns(tiles, done, whole)) return error;
            done += whole;
        }
        if (columns == tile_rows && width >= columns && (width - done) * height >= kFewElements) {
            if (const int error = run_columns(tiles, width - columns, columns)) return error;
            done = width;
        }
    }
    return done < width ? run_elements(done, width - done, 0) : 0;
}

// Walks the boxes of a plan, and keeps the address of each operand in the current box.
class Walker {
public:
    // It is not inlined, for size: it has three callers.
    __attribute__((noinline))
    Walker(const Plan &plan, const halide_buffer_t *operands, int64_t first)
        : plan_(plan) {
        for (int o = 0; o < plan.operands; o++)
            at_[o] = plan.conversion[o] ? uint64_t(plan.converted_first[o])
                                        : reinterpret_cast<uintptr_t>(operands[o].host);
        for (int l = 0; l < plan.loop_count; l++) {
            index_[l] = first % plan.loops[l].count;
            first /= plan.loops[l].count;
            move(l, index_[l]);
        }
    }

    // The position of operand o in this box: the place of an element in its tensor, if it is
    // converted, otherwise an address.
    uint64_t at(int o) const { return at_[o]; }
    uint8_t *pointer(int o) const { return reinterpret_cast<uint8_t *>(uintptr_t(at_[o])); }
    int64_t run() const { return plan_.run_inner * extent(plan_.run_loop, plan_.run_outer); }
    int64_t rows() const { return extent(plan_.row_loop, plan_.rows); }

    // Goes on to the next box.
    void next() {
        for (int l = 0; l < plan_.loop_count; l++) {
            if (++index_[l] < plan_.loops[l].count) {
                move(l, 1);
                return;
            }
            index_[l] = 0;
            move(l, 1 - plan_.loops[l].count);
        }
    }

private:
    const Plan &plan_;
    uint64_t at_[kMaxOperands];
    int64_t index_[kMaxDimensions + 1];

    void move(int l, int64_t steps) {
        for (int o = 0; o < plan_.operands; o++)
            at_[o] += uint64_t(steps * plan_.loops[l].step_bytes[o]);
    }
    // The last step through a cut dimension may be shorter.
    int64_t extent(int loop, int64_t full) const {
        return loop < 0
                   ? full
                   : std::min(full, plan_.loops[loop].size - index_[loop] * plan_.loops[loop].step);
    }
};

// Points the buffers to dimensions in the context, which lives as long as they do. It is not
// inlined, for size.
__attribute__((noinline)) void set_dims(const Plan &plan, BoxCall &context,
                                        halide_buffer_t *buffers) {
    std::memcpy(context.dims, plan.dims, sizeof context.dims);
    for (int o = 0; o < plan.operands; o++) buffers[o].dim = context.dims[o];
}

void set_extents(BoxCall &context, int operands, int64_t run, int64_t rows) {
    for (int o = 0; o < operands; o++) {
        context.dims[o][0].extent = int32_t(run);
        context.dims[o][1].extent = int32_t(rows);
    }
}

// Runs the boxes of a plan without scratch memory.
int run_direct(const Plan &plan, int64_t first, int64_t last, halide_buffer_t *buffers,
               CallBox call, BoxCall &context) {
    set_dims(plan, context, buffers);
    Walker walker(plan, buffers, first);
    for (int64_t box = first; box < last; box++, walker.next()) {
        for (int o = 0; o < plan.operands; o++) buffers[o].host = walker.pointer(o);
        set_extents(context, plan.operands, walker.run(), walker.rows());
        if (const int error = call(context, buffers)) return error;
    }
    return 0;
}

// Whether operand o is in place and varies along the run, so that the kernel reads or writes a run
// of it in memory.
bool runs_in_place(const Plan &plan, int o) {
    return plan.access[o] == Access::InPlace && plan.dims[o][0].stride == 1;
}

// The scratch memory of one slice, and the copies between it and the tensors.
class Scratch {
public:
    Scratch(const Plan &plan, const halide_buffer_t *operands, void *user_context)
        : plan_(plan), user_context_(user_context) {
        for (int o = 0; o < plan.operands; o++) stored_[o] = {operands[o].host, plan.conversion[o]};
    }
    ~Scratch() {
        if (plan_.access[plan_.operands - 1] == Access::Stream) stream_fence();
    }
    Scratch(const Scratch &) = delete;
    Scratch &operator=(const Scratch &) = delete;

    uint8_t *at(int o) { return memory_ + plan_.scratch_at[o]; }

    // Brings the block of input o that `walker` is at into scratch memory, unless the block that
    // was brought there last contains it. Sets the input's bit in `filled` if it does so. `next` is
    // at a box to prefetch, or null. Returns 0 or a kernel's error code.
    int load(int o, const Walker &walker, int64_t run, int64_t rows, const Walker *next,
             uint32_t &filled) {
        Block &block = loaded_[o];
        if (block.at == walker.at(o) && run <= block.run && rows <= block.rows) return 0;
        block = {walker.at(o), run, rows};
        filled |= 1u << o;
        if (plan_.access[o] == Access::Transpose) {
            return load_transposed(o, walker.pointer(o), run, rows, next);
        }
        const int64_t distinct_rows = plan_.row_bytes[o] == 0 ? 1 : rows,
                      read = std::min(run, plan_.read[o]);
        if (rows_are_one(o, read)) {
            load_row(o, walker, 0, read * distinct_rows, at(o));
            return 0;
        }
        for (int64_t y = 0; y < distinct_rows; y++) {
            uint8_t *const row = at(o) + y * pitch(o);
            const int64_t period = std::min(read, plan_.period[o]);
            if (is_converted(plan_, o)) load_row(o, walker, y, period, row);
            else
                gather(plan_, o, shift(o), row, walker.pointer(o) + y * plan_.row_bytes[o], period);
            repeat_row(row, period, read, shift(o));
        }
        return 0;
    }

    // Copies the output's block from scratch memory to its tensor. The output is never transposed
    // (Planner::access). `walker` is at the block's box. `next` is at a box to prefetch, or null.
    void store(const Walker &walker, int64_t run, int64_t rows, const Walker *next) {
        const int o = plan_.operands - 1;
        if (rows_are_one(o, run)) return store_row(o, walker, 0, run * rows, at(o));
        for (int64_t y = 0; y < rows; y++) {
            const uint8_t *const from = at(o) + y * pitch(o);
            if (is_converted(plan_, o)) {  // the walker then has no address
                store_row(o, walker, y, run, from);
                continue;
            }
            uint8_t *const to = walker.pointer(o) + y * plan_.row_bytes[o];
            if (plan_.access[o] == Access::Stream)
                stream_copy(to, from, run << shift(o), prefetch_of(next, y));
            else scatter(plan_, o, shift(o), to, from, run);
        }
    }

private:
    const Plan &plan_;
    void *const user_context_;
    StoredElements stored_[kMaxOperands];
    struct Block {
        uint64_t at;
        int64_t run, rows;
    } loaded_[kMaxOperands] = {};
    alignas(64) uint8_t memory_[kScratchMemory];

    // Whether the rows of a converted operand follow one another, in memory and in scratch memory.
    bool rows_are_one(int o, int64_t run) const {
        return is_converted(plan_, o) && plan_.access[o] == Access::Converted &&
               plan_.row_bytes[o] == run << shift(o) && pitch(o) == run << shift(o);
    }
    // The place of row y of a converted operand.
    int64_t converted_row(int o, const Walker &walker, int64_t y) const {
        return int64_t(walker.at(o)) + y * plan_.row_bytes[o];
    }
    void load_row(int o, const Walker &walker, int64_t y, int64_t count, uint8_t *to) const {
        for_each_piece(plan_, o, converted_row(o, walker, y), count,
                       [&](int64_t first, int64_t step, int64_t length, int64_t done) {
                           load_converted(stored_[o], first >> shift(o), step >> shift(o), length,
                                          to + (done << shift(o)));
                       });
    }
    void store_row(int o, const Walker &walker, int64_t y, int64_t count,
                   const uint8_t *from) const {
        for_each_piece(plan_, o, converted_row(o, walker, y), count,
                       [&](int64_t first, int64_t step, int64_t length, int64_t done) {
                           store_converted(stored_[o], first >> shift(o), step >> shift(o), length,
                                           plan_.converted_end, from + (done << shift(o)));
                       });
    }

    // Brings a tile into scratch memory. The transposition prefetches the next tile line by line as
    // it goes, not in bursts, and into L2 (docs/lab/performance.md#transposing). The next rows of
    // operands in place are prefetched part by part.
    int load_transposed(int o, const uint8_t *tensor, int64_t run, int64_t rows,
                        const Walker *next) {
        constexpr int64_t kPart = 64;
        const int32_t prefetch_distance =
            next && plan_.prefetches_tiles ? tile_distance(o, next->pointer(o) - tensor, rows) : 0;
        const bool prefetches_beside = next && plan_.prefetches_beside;
        const int64_t step = plan_.element_step[o], part = prefetches_beside ? kPart : run;
        for (int64_t first = 0; first < run; first += part) {
            const int64_t width = std::min(part, run - first), row = rows * first / run,
                          end = rows * (first + width) / run;
            for (int i = 0; i < plan_.operands && prefetches_beside; i++) {
                if (runs_in_place(plan_, i) && plan_.row_bytes[i] != 0)
                    prefetch_rows(next->pointer(i) + row * plan_.row_bytes[i], end - row,
                                  plan_.row_bytes[i], run << shift(i));
            }
            if (const int error = transpose(
                    plan_.target_priority, shift(o), at(o) + (first << shift(o)), pitch(o),
                    tensor + first * step, step, width, rows, prefetch_distance, user_context_))
                return error;
        }
        return 0;
    }

    // How far to prefetch in each column of a tile of operand o, in elements after the tile's
    // first. The next tile lies `bytes` further on. The result is 0, which means that nothing is
    // prefetched, if the next tile is this one or is too far away for an int32.
    //
    // For a tall tile, it is the distance to the next tile's first element: the transposition also
    // prefetches that tile's further lines. For any other tile, it is the distance to the last
    // element of the line in which the next tile begins, because a line that two tiles share was
    // read with the first of them.
    int32_t tile_distance(int o, int64_t bytes, int64_t rows) const {
        const int64_t line = kLineBytes >> shift(o),
                      elements = (bytes >> shift(o)) + (rows > line ? 0 : rows - 1);
        return bytes != 0 && elements == int32_t(elements) ? int32_t(elements) : 0;
    }

    // Prefetches `count` pieces of memory, each `bytes` long and `step` bytes after the one before.
    // If only the last bytes of a line belong to a piece, that line may be left out: it was read
    // with the piece before. It is always inlined, for the same reason as prefetch_lines().
    __attribute__((always_inline)) static void prefetch_rows(const uint8_t *memory, int64_t count,
                                                             int64_t step, int64_t bytes) {
        for (int64_t i = 0; i < count; i++) {
            for (int64_t byte = bytes - 1; byte >= 0; byte -= kLineBytes)
                __builtin_prefetch(memory + i * step + byte, 0, 2);
        }
    }

    // The parts of prefetched inputs that row y of the next box reads.
    Prefetch prefetch_of(const Walker *next, int64_t y) const {
        Prefetch prefetch = {};
        prefetch.to = plan_.prefetch_into;
        for (int o = 0; o < plan_.operands - 1 && next; o++) {
            if (!(plan_.prefetched >> o & 1)) continue;
            prefetch.at[prefetch.count] = next->pointer(o) + y * plan_.row_bytes[o];
            prefetch.numerator[prefetch.count] = plan_.element_bytes[o];
            prefetch.shift[prefetch.count++] = shift(plan_.operands - 1);
        }
        return prefetch;
    }

    int shift(int o) const { return __builtin_ctz(unsigned(plan_.element_bytes[o])); }
    // Bytes from row to row in scratch memory.
    int64_t pitch(int o) const { return int64_t(plan_.dims[o][1].stride) << shift(o); }
};

// How many boxes ahead to prefetch: one or, if the output is streamed, as many as read 16 KiB of
// inputs, transposed ones included (docs/lab/performance.md#streaming).
int64_t prefetch_distance_boxes(const Plan &plan) {
    if (plan.access[plan.operands - 1] != Access::Stream) return 1;
    int64_t bytes = 0;  // of each element, in inputs that are prefetched
    for (int o = 0; o < plan.operands - 1; o++)
        bytes += (plan.prefetched >> o & 1) || plan.access[o] == Access::Transpose
                     ? plan.element_bytes[o]
                     : 0;
    return std::max<int64_t>(1, (16 << 10) / (plan.run_inner * plan.run_outer * plan.rows *
                                              std::max<int64_t>(bytes, 1)));
}

// Has a streamed output computed where it lies, in the same boxes.
void keep_in_caches(const Plan &plan, BoxCall &context) {
    const int output = plan.operands - 1;
    const int64_t row = plan.row_bytes[output] / plan.element_bytes[output];
    if (plan.rows > 1) context.dims[output][1].stride = int32_t(row);
}

// Runs the boxes of a plan with scratch memory.
int run_through_scratch(const Plan &plan, int64_t first, int64_t last, halide_buffer_t *buffers,
                        CallBox call, BoxCall &context) {
    const int output = plan.operands - 1;
    const bool keeps = plan.kept_if_read_next && context.output_is_read_next;
    const auto is_in_place = [&](int o) {
        return plan.access[o] == Access::InPlace || (keeps && o == output);
    };
    Scratch scratch(plan, buffers, context.user_context);
    set_dims(plan, context, buffers);
    if (keeps) keep_in_caches(plan, context);
    const int64_t distance = prefetch_distance_boxes(plan);
    Walker walker(plan, buffers, first), prefetched(plan, buffers, first + distance);
    for (int64_t box = first; box < last; box++, walker.next(), prefetched.next()) {
        const Walker *const next = box + distance < last ? &prefetched : nullptr;
        const int64_t run = walker.run(), rows = walker.rows();
        set_extents(context, plan.operands, run, rows);
        context.filled = 0;
        for (int o = 0; o < plan.operands; o++) {
            const bool in_place = is_in_place(o);
            buffers[o].host = in_place ? walker.pointer(o) : scratch.at(o);
            if (in_place || o == output) continue;
            if (const int error = scratch.load(o, walker, run, rows, next, context.filled))
                return error;
        }
        if (const int error = call(context, buffers)) return error;
        if (is_in_place(output)) continue;
        scratch.store(walker, run, rows, next);
    }
    return 0;
}

}  // namespace

void repeat_row(uint8_t *row, int64_t filled, int64_t count, int shift) {
    // Whole periods are copied, and then the rest of one.
    for (; filled < count; filled = std::min(2 * filled, count)) {
        std::memcpy(row + (filled << shift), row,
                    size_t(std::min(filled, count - filled)) << shift);
    }
}

int run_many_boxes(const Plan &plan, int64_t first, int64_t last, halide_buffer_t *buffers,
                   CallBox call, BoxCall &context) {
    if (plan.scratch) return run_through_scratch(plan, first, last, buffers, call, context);
    return run_direct(plan, first, last, buffers, call, context);
}

}  // namespace hewn
