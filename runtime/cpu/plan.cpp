// Makes plans: chooses the box and the way to each operand, and writes both down as a Plan. The lab
// has the rules in full (docs/lab/architecture.md#boxes-rows-and-runs).
#include "plan.h"

#include <algorithm>

#include "../base/kernel_contract.h"
#include "../dispatch/chip.h"
#include "stream.h"

namespace hewn {

namespace {

// The size of an operand's part of scratch memory. A run fills at most half of it, so that three
// operands fit in an L1 cache of 32 KiB. A transposed tile or a streamed piece may fill all of it.
constexpr int64_t kScratchBytes = 16 << 10;
constexpr int64_t kRunBytes = 8 << 10;
constexpr int64_t kTileBytes = 32 << 10;  // the size of a tall tile
// In a transposed tile, rows of at least kPaddedBytes are a cache line longer than needed. The
// transposition writes 16 bytes of each row at once; with the padding they lie in different cache
// sets.
constexpr int64_t kPaddedBytes = 256, kPadBytes = 64;
// An operand of up to this many bytes, such as a row that all rows share, stays in a core's own
// cache. It is not prefetched while the output is streamed, because it would take its part of what
// is fetched ahead for nothing.
constexpr int64_t kOwnCacheBytes = 256 << 10;
// The gap between the operands' parts of scratch memory, so that they do not share cache sets.
constexpr int64_t kScratchStagger = 320;
static_assert(kScratchMemory ==
              kMaxOperands *
                  (kScratchBytes + kScratchBytes / kPaddedBytes * kPadBytes + kScratchStagger));
// Boxes are chosen by the costs of everything around a kernel's arithmetic, in picoseconds. There
// is one list for all targets (docs/lab/architecture.md#prices).
namespace price {
constexpr int64_t kCall = 10000;  // a call of a kernel
constexpr int64_t kRow = 2200;    // each further row in a call
// kFlattened: each element of a flattened run, in addition to the costs below. kGathered,
// kScattered: an element that a table brings to scratch memory, or from it. kRepeated: an element
// that is copied within scratch memory.
constexpr int64_t kFlattened = 35, kGathered = 300, kScattered = 350, kRepeated = 20;
// An element that is moved by an offset of its own, and one that is moved by a stride.
constexpr int64_t kGatheredAlone = 300, kMovedEvenly = 180;
}  // namespace price
// The cost of starting a row, in elements of a longer run.
constexpr int64_t kRowElements = 16;
// The longest call that counts as short, in bytes of its widest operand: if all operands have up to
// 8 MiB, and if they have more.
constexpr int64_t kShortCall = 512, kShortCallBeyond = 64;
// The fewest elements that are transposed faster than they are gathered. The second limit is for
// elements of one byte that do not fill whole squares.
constexpr int64_t kLeastTransposed = 256, kLeastWithEdges = 512;
// Halide computes indices in int32.
constexpr int64_t kMaxIndex = INT32_MAX;

// The digit of operand o in a layout (see Form).
uint32_t digit(int operands, int o) { return 1u << (operands - 2 - o); }

// Returns the specialised layout with the fewest digits set that has all digits of `needed`.
// Operands of its other digits must be expanded in scratch memory.
uint32_t covering_layout(uint32_t layouts, uint32_t needed) {
    uint32_t best = UINT32_MAX;
    for (uint32_t layout = 0; layout < 1u << (kMaxOperands - 1); layout++) {
        if (!(layouts >> layout & 1) || (layout & needed) != needed) continue;
        if (best == UINT32_MAX || __builtin_popcount(layout) < __builtin_popcount(best))
            best = layout;
    }
    return best;
}

// With fewer rows or columns, a transposition is not worth its call.
constexpr int64_t kTransposeSide = 8;

int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

// The box that a planner chooses.
struct Box {
    int last = 0;      // the run is dims [0, last], with `outer` elements of the last one
    int row_dim = -1;  // the dimension that rows go through; -1: there is one row
    int64_t inner = 1, outer = 1, rows = 1;
};

// Makes every decision about a box, before the plan is written down.
class Planner {
public:
    Planner(const Space &space, const KernelTraits &kernel, const PlanKnobs &knobs,
            const Chip &chip)
        : knobs_(knobs),
          kernel_(kernel),
          chip_(chip),
          operands_(space.operands),
          output_(space.operands - 1),
          space_(space) {
        for (int o = 0; o < operands_; o++) widest_ = std::max<int64_t>(widest_, element_bytes(o));
        interleaves_ = interleaving_pays();
        if (interleaves_) std::swap(space_.dims[0], space_.dims[1]);
        while (run_rank_ < space.rank && !ends_runs(run_rank_)) run_rank_++;
        for (int o = 0; o < operands_; o++) moved_bytes_ += bytes_of(o);
        streams_ = kCanStream && !kernel.compute_bound && !space.conversion[output_] &&
                   dim(0).stride[output_] == 1 && moved_bytes_ >= double(knobs.stream_bytes) &&
                   bytes_of(output_) >= moved_bytes_ / 6;
    }

    double moved_bytes() const { return moved_bytes_; }

    // Bytes of the distinct elements of operand o.
    double bytes_of(int o) const {
        double bytes = space_.conversion[o] ? space_.conversion[o]->bits / 8.0 : element_bytes(o);
        for (int k = 0; k < space_.rank; k++)
            bytes *= dim(k).stride[o] != 0 ? double(dim(k).size) : 1.0;
        return bytes;
    }

    // Whether operand o comes from memory while the output is streamed, and not from a core's own
    // cache.
    bool from_memory(int o) const { return bytes_of(o) > double(kOwnCacheBytes); }

    bool parallel() const { return moved_bytes_ >= double(knobs_.parallel_bytes); }

    bool streams() const { return streams_; }

    // Whether a cache would hold a streamed output until its caller reads it next.
    bool kept_if_read_next() const {
        return streams_ && moved_bytes_ < double(traits_of(chip_).kept_below);
    }

    // The iteration space. It is the given one, unless the planner exchanged its first two
    // dimensions or divided one into two.
    const Space &space() const { return space_; }

    // Chooses the box. May divide a dimension of the space.
    Box choose_box() {
        bool unit = layout_of({}) == varying({});
        for (int o = 0; o < operands_; o++) unit &= is_unit(o) && !space_.conversion[o];
        if (unit && !flattening_pays()) return direct_box();
        const Partner partner = find_partner();
        Box box =
            partner.transposes ? tile_box(partner.dimension) : flattened_box(partner.dimension);
        if (!partner.transposes) {
            divide_run(box);
            add_rows(box);
        }
        cut_at_whole_bytes(box);
        return box;
    }

    // The layout for the run of a box: the digits of all inputs that vary along the run are set.
    uint32_t layout_of(const Box &box) const {
        return covering_layout(kernel_.layouts, varying(box));
    }

    // Whether operand o is dense, or constant, along the run of a box.
    bool dense(const Box &box, int o) const {
        int64_t expected = 1;
        for (int k = 0; k <= box.last; k++) {
            if (dim(k).stride[o] != expected && !(k == box.last && box.outer == 1)) return false;
            expected *= dim(k).size;
        }
        return true;
    }
    bool constant(const Box &box, int o) const {
        for (int k = 0; k <= box.last; k++) {
            if (dim(k).stride[o] != 0) return false;
        }
        return true;
    }

    // How the kernel reaches operand o. `runs` says that the kernel takes a run of the operand, and
    // not one element for the whole run.
    Access access(const Box &box, int o, bool runs) const {
        if (space_.conversion[o]) return !runs || dense(box, o) ? Access::Converted : Access::Table;
        if (!runs || dense(box, o))
            return o == output_ && streams_ ? Access::Stream : Access::InPlace;
        const bool beside =
            o != output_ && box.last == 0 && box.row_dim >= 0 && dim(box.row_dim).stride[o] == 1;
        return beside && transposing_pays(o, box.outer, box.rows) ? Access::Transpose
                                                                  : Access::Table;
    }

private:
    // The digits of the inputs that vary along the run of a box.
    uint32_t varying(const Box &box) const {
        uint32_t digits = 0;
        for (int o = 0; o < output_; o++) digits |= constant(box, o) ? 0 : digit(operands_, o);
        return digits;
    }

    const PlanKnobs &knobs_;
    const KernelTraits &kernel_;
    const Chip &chip_;
    const int operands_, output_;
    Space space_;
    int64_t widest_ = 1;
    int run_rank_ = 0;  // how many dimensions a run may go through
    double moved_bytes_ = 0;
    // Whether the output is streamed: it is dense, all operands together exceed the caches, and the
    // output is a large enough share of them to outweigh the copy.
    bool streams_ = false;
    // Whether runs go through the second dimension, and scattering interleaves the output's rows.
    bool interleaves_ = false;

    // Whether operand o is transposed faster than it is gathered. It must have at least 8 elements
    // on each side (bytes: 16, as a square has), and enough elements in all to be worth the calls.
    bool transposing_pays(int o, int64_t columns, int64_t rows) const {
        const int64_t side = std::max<int64_t>(kTransposeSide, kSquareBytes / element_bytes(o));
        if (space_.conversion[o]) return false;
        const bool edges_cost = element_bytes(o) == 1 && (columns | rows) % side != 0;
        return columns >= side && rows >= side &&
               columns * rows >= (edges_cost ? kLeastWithEdges : kLeastTransposed);
    }

    // Whether runs should go through the second dimension (planes to pixels). That is so if the
    // output's innermost dimension is short, and inputs that are dense along the second one then
    // stay in place.
    bool interleaving_pays() const {
        if (space_.rank < 2 || dim(0).size >= kTransposeSide || dim(1).size < 64 ||
            dim(0).stride[output_] != 1 || ends_runs(1))
            return false;
        int64_t short_runs = 0, long_runs = price::kMovedEvenly;
        for (int o = 0; o < output_; o++) {
            const int64_t inner = dim(0).stride[o], outer = dim(1).stride[o];
            short_runs += inner != 1 && inner != 0 ? price::kGatheredAlone : 0;
            long_runs += outer != 1 && outer != 0 ? price::kMovedEvenly : 0;
        }
        return long_runs < short_runs;
    }

    // Whether an operand that must be constant along each run varies along dimension k.
    bool ends_runs(int k) const {
        for (int o = 0; o < operands_; o++) {
            if ((kernel_.uniform >> o & 1) && dim(k).stride[o] != 0) return true;
        }
        return false;
    }

    // The most bytes in a box whose operands are in place. There is no limit if the work is not
    // divided among threads.
    int64_t box_bytes() const { return parallel() ? knobs_.box_bytes : kMaxIndex; }

    const Dimension &dim(int k) const { return space_.dims[k]; }
    int32_t element_bytes(int o) const { return space_.element_bytes[o]; }

    // Whether operand o can be used in place, row by row.
    bool is_unit(int o) const {
        return dim(0).stride[o] == 1 || (o != output_ && dim(0).stride[o] == 0);
    }

    // The operands that are read and written in runs along dimension 0.
    //   - widest_in_place, widest_in_scratch: bytes of the widest element in place (0: none is),
    //     and of the widest in scratch memory.
    //   - operands_in_scratch: the number of operands in scratch memory.
    //   - in_scratch: the sum of the bytes of one element of each of them.
    //   - steps: the bitwise or of the bytes from element to element of each of them that is
    //     not converted.
    struct Runs {
        int64_t widest_in_place = 0, widest_in_scratch = 1, in_scratch = 0, operands_in_scratch = 0,
                steps = 0;

        bool lie_apart_by_multiples_of(int64_t power_of_two) const {
            return (steps & (power_of_two - 1)) == 0;
        }
    };
    Runs runs() const {
        const uint32_t layout = layout_of({});
        Runs all;
        for (int o = 0; o < operands_; o++) {
            if (o != output_ && !(layout & digit(operands_, o))) continue;
            const bool converted = space_.conversion[o];
            const bool scratch = converted || dim(0).stride[o] != 1 || (o == output_ && streams_);
            int64_t &widest = scratch ? all.widest_in_scratch : all.widest_in_place;
            widest = std::max<int64_t>(widest, element_bytes(o));
            all.in_scratch += scratch ? element_bytes(o) : 0;
            all.operands_in_scratch += scratch;
            all.steps |= scratch && !converted ? dim(0).stride[o] * element_bytes(o) : 0;
        }
        return all;
    }

    // Chooses a tall tile, which holds several cache lines of each column, in 32 KiB for each
    // operand (docs/lab/performance.md#tall-tiles): four lines of 128 columns. If the work is bound
    // by memory and an operand in place is as wide, rows should be longer: two lines of 256
    // columns, unless the L2 cache holds the operands. Returns false, and leaves `box` unchanged,
    // if no such tile pays.
    bool tall_tile(int partner, const Runs &runs, Box &box) const {
        const int64_t apart = tall_tile_columns_apart(chip_, moved_bytes_);
        if (apart == 0 || streams_ || !runs.lie_apart_by_multiples_of(apart)) return false;
        const bool wide = runs.widest_in_place >= runs.widest_in_scratch && !kernel_.compute_bound;
        if (wide && moved_bytes_ < double(chip_.l2_bytes)) return false;
        Box tall = box;
        tall.row_dim = partner;
        for (const int64_t columns : {wide ? 256 : 128, 128}) {
            tall.outer = columns;
            tall.rows = kTileBytes / columns / runs.widest_in_scratch;
            const int64_t pads = kPadBytes * tall.rows + kScratchStagger;
            if (columns > dim(0).size || columns > most_outer(tall, columns) ||
                tall.rows > most_rows(partner, columns) ||
                tall.rows * columns * runs.in_scratch + pads * runs.operands_in_scratch >
                    kScratchMemory)
                continue;
            box = tall;
            return true;
        }
        return false;
    }

    // Whether short rows are flattened through scratch memory, and not looped over
    // (docs/lab/architecture.md#boxes-rows-and-runs).
    bool flattening_pays() const {
        if (dim(0).size >= 32 || run_rank_ < 2) return false;
        Box flat;
        while (flat.last + 1 < run_rank_ && flat.inner * dim(flat.last).size < kRunBytes / widest_)
            flat.inner *= dim(flat.last++).size;
        flat.outer = dim(flat.last).size;
        int64_t flattened = price::kFlattened;  // of each element
        for (int o = 0; o < operands_; o++) {
            if (dense(flat, o) || (o != output_ && constant(flat, o))) continue;
            flattened += repeats_from(flat.last, o) ? price::kRepeated
                         : o == output_             ? price::kScattered
                                                    : price::kGathered;
        }
        // With more rows than this, the cost of a call is negligible, and products could overflow.
        constexpr int64_t kMostRows = 1 << 20;
        const int64_t rows = std::min(dim(row_dimension(dim(0).size)).size, kMostRows);
        return price::kCall + price::kRow * rows > flattened * dim(0).size * rows;
    }

    // Whether operand o is constant along dimension k and all dimensions outside it.
    bool repeats_from(int k, int o) const {
        while (k < space_.rank && dim(k).stride[o] == 0) k++;
        return k == space_.rank;
    }

    // The most rows along dimension k. For every operand, rows * stride + run must fit in int32, as
    // Halide's indices do. If an operand varies along k that must be constant along each run, the
    // limit is kMaxUniformRows.
    int64_t most_rows(int k, int64_t run) const {
        int64_t most = ends_runs(k) ? std::min<int64_t>(dim(k).size, kMaxUniformRows) : dim(k).size;
        for (int o = 0; o < operands_; o++) {
            if (dim(k).stride[o] > 0) most = std::min(most, (kMaxIndex - run) / dim(k).stride[o]);
        }
        return std::max<int64_t>(most, 1);
    }

    // Elements of a piece of the streamed output. If two inputs come from memory, pieces are half
    // as long (docs/lab/performance.md#streaming).
    int64_t stream_piece_elements() const {
        int64_t inputs = 0;
        for (int o = 0; o < output_; o++) inputs += from_memory(o);
        return knobs_.stream_piece_bytes / (inputs > 1 ? 2 * widest_ : widest_);
    }

    // A box whose operands are all in place.
    Box direct_box() const {
        int64_t bytes = 0;  // moved for each element
        for (int o = 0; o < operands_; o++) bytes += dim(0).stride[o] != 0 ? element_bytes(o) : 0;
        const int64_t elements =
            streams_ ? stream_piece_elements() : box_bytes() / bytes / 256 * 256;
        Box box;
        box.outer = std::min(dim(0).size, elements);
        if (space_.rank > 1 && box.outer == dim(0).size) {
            box.row_dim = row_dimension(box.outer);
            // The boxes that share cache lines.
            const int64_t together = box.row_dim == 1 ? 1 : dim(1).size;
            box.rows = std::clamp<int64_t>(elements / box.outer / together, 1,
                                           most_rows(box.row_dim, box.outer));
        }
        return box;
    }

    // The dimension that rows of a box in place go through. It is the next one, or the one after
    // that if the next would make calls of few short rows. Beyond 8 MiB of operands only the
    // shortest calls count as such, because the memory between the rows of a box is fetched and
    // then left.
    int row_dimension(int64_t run) const {
        const int64_t short_call = moved_bytes_ <= double(8 << 20) ? kShortCall : kShortCallBeyond;
        const bool other = space_.rank > 2 && !streams_ && dim(2).size > dim(1).size &&
                           run * dim(1).size * widest_ <= short_call;
        return other ? 2 : 1;
    }

    // Whether the run should go on into the next dimension. If it does, operands that were constant
    // so far must be gathered. If it does not, each run up to here is a row of its own. Two kinds
    // of operands do not count: those that are the same in all of the longest runs, because they
    // are gathered once, and those that the kernel cannot read as one element in any layout.
    bool continuing_pays(const Box &box, int64_t limit) const {
        const uint32_t layout = layout_of(box);
        int longest = box.last + 1;
        int64_t inner = box.inner * dim(box.last).size;
        while (longest < run_rank_ && inner * dim(longest).size < limit)
            inner *= dim(longest++).size;
        int begin = 0;
        for (int o = 0; o < output_; o++) {
            begin += constant(box, o) && !(layout & digit(operands_, o)) &&
                     dim(box.last + 1).stride[o] != 0 && !repeats_from(longest, o);
        }
        return box.inner * dim(box.last).size * begin < kRowElements;
    }

    // The dimension along which an operand is dense that is strided along the run; -1: there is
    // none. A box of both dimensions keeps the operand's cache lines in use, especially if it is
    // transposed.
    struct Partner {
        int dimension = -1;
        bool transposes = false;
    };
    Partner find_partner() const {
        Partner partner;
        for (int o = 0; o < operands_; o++) {
            for (int k = 1; k < space_.rank && !is_unit(o); k++) {
                const bool pays = transposing_pays(o, dim(0).size, dim(k).size);
                if (dim(k).stride[o] != 1 || dim(k).size < 2 || (partner.transposes && !pays))
                    continue;
                partner = {k, pays};
            }
        }
        return partner;
    }

    // A tile of a transposed operand. It has as many rows as a cache line holds elements of the
    // widest operand in scratch memory, so that each line is read once. Its runs are long, for the
    // other operands (docs/lab/performance.md#transposing).
    Box tile_box(int partner) const {
        Box box;
        const Runs all = runs();
        if (tall_tile(partner, all, box)) return box;
        const int64_t widest = all.widest_in_scratch, rows = kLineBytes / widest,
                      tile = kRunBytes / widest;
        box.row_dim = partner;
        box.outer = std::min(dim(0).size, kScratchBytes / kLineBytes);
        box.rows = std::min(dim(partner).size, rows);
        box.outer = std::clamp(tile / box.rows, box.outer, dim(0).size);
        box.rows = std::clamp(tile / box.outer, box.rows, dim(partner).size);
        box.rows = std::min(box.rows, most_rows(partner, box.outer));
        box.outer = most_outer(box, box.outer);
        return box;
    }

    // The most elements of a run that has operands in scratch memory. If only converted operands
    // and a streamed output are there, and the run does not go on into a second dimension, only
    // these count.
    int64_t longest_run() const {
        int64_t widest = 1;
        for (int o = 0; o < operands_; o++) {
            if (!is_unit(o)) return kRunBytes / widest_;
            if (space_.conversion[o] || (streams_ && o == output_))
                widest = std::max<int64_t>(widest, element_bytes(o));
        }
        const int64_t run = kRunBytes / widest;
        return space_.rank == 1 || dim(0).size >= run ? run : kRunBytes / widest_;
    }

    // A run through as many dimensions as scratch memory has room for. Rows go through `partner`
    // (-1: none) if the run does not reach that dimension.
    Box flattened_box(int partner) const {
        Box box;
        const int64_t run = longest_run();
        int64_t limit = run;
        if (interleaves_) {
            box.row_dim = 1;
            box.rows = std::min(dim(1).size, most_rows(1, run));
            limit /= box.rows;
        } else if (partner > 0) {
            int64_t below = 1;
            for (int k = 0; k < partner && below <= limit; k++) below *= dim(k).size;
            // If the run reaches the partner, rows need not go through it. Rows that have scales of
            // their own should be long.
            if (below * 2 > limit && partner < run_rank_) {
                box.row_dim = partner;
                box.rows = std::min<int64_t>({dim(partner).size, 16, most_rows(partner, run)});
                limit /= box.rows;
            }
        }
        while (box.last + 1 < run_rank_ && box.last + 1 != box.row_dim &&
               box.inner * dim(box.last).size < limit &&
               most_outer(box, dim(box.last).size) == dim(box.last).size &&
               continuing_pays(box, limit)) {
            box.inner *= dim(box.last++).size;
        }
        box.outer = std::clamp<int64_t>(limit / box.inner, 1, dim(box.last).size);
        box.outer = most_outer(box, box.outer);
        return box;
    }

    // Divides the run's last dimension into shorter runs and rows of them, if everything that a
    // flattened run has in scratch memory repeats along that dimension. Less scratch memory is then
    // filled, and a call does more. A streamed output is computed piece by piece instead.
    void divide_run(Box &box) {
        if (box.last == 0 || box.row_dim >= 0 || streams_ || space_.rank == kMaxDimensions) return;
        Dimension &last = space_.dims[box.last];
        int64_t elements = 1, in_place_bytes = 0;
        for (int k = 0; k < space_.rank; k++)
            elements = std::min<int64_t>(elements * dim(k).size, kMaxIndex);
        for (int o = 0; o < operands_; o++) {
            const bool in_place = dense(box, o) && last.stride[o] != 0 && !space_.conversion[o];
            if (!in_place && (o == output_ || last.stride[o] != 0)) return;
            if (in_place) in_place_bytes += element_bytes(o);
        }
        constexpr int64_t kShortest = 512, kFillings = 8;
        const int64_t run = std::clamp(elements / kFillings, kShortest, kRunBytes / widest_);
        int64_t outer = std::min(run / box.inner, box.outer);
        while (outer > 1 && last.size % outer != 0) outer--;
        if (outer * box.inner < run / 4 || outer == last.size) return;

        const int64_t rows = last.size / outer;
        for (int k = space_.rank++; k > box.last + 1; k--) space_.dims[k] = space_.dims[k - 1];
        Dimension &divided = space_.dims[box.row_dim = box.last + 1];
        last.size = box.outer = outer;
        divided.size = rows;
        for (int o = 0; o < operands_; o++) divided.stride[o] = last.stride[o] * outer;
        const int64_t most = box_bytes() / (in_place_bytes * outer * box.inner);
        box.rows = std::clamp<int64_t>(most, 1, most_rows(box.row_dim, outer * box.inner));
    }

    // If a run ends before the next dimension, lets rows go through that one: as many as scratch
    // memory has room for.
    void add_rows(Box &box) const {
        const int next = box.last + 1;
        if (box.row_dim >= 0 || next >= space_.rank || box.outer != dim(box.last).size) return;
        const int64_t run = box.inner * box.outer,
                      rows = std::min(kRunBytes / widest_ / run, most_rows(next, run));
        if (rows <= 1) return;
        box.row_dim = next;
        box.rows = rows;
    }

    // If a dimension of a sub-byte output is cut, cuts it where an element begins at a byte, so
    // that slices do not share a byte (writes_whole_bytes).
    void cut_at_whole_bytes(Box &box) const {
        if (!space_.conversion[output_]) return;
        const int group = space_.conversion[output_]->group();
        const auto cut = [&](int64_t &extent, int64_t size) {
            if (extent < size && extent > group) extent -= extent % group;
        };
        cut(box.outer, dim(box.last).size);
        if (box.row_dim >= 0) cut(box.rows, dim(box.row_dim).size);
    }

    // Limits `outer` so that byte offsets within the run, which tables hold, and indices of a
    // transposed tile fit in int32.
    int64_t most_outer(const Box &box, int64_t outer) const {
        for (int o = 0; o < operands_; o++) {
            int64_t below = 0;  // does not overflow: each dimension before was limited
            for (int k = 0; k < box.last; k++) below += (dim(k).size - 1) * dim(k).stride[o];
            const int64_t room = INT32_MAX / element_bytes(o) - below - box.rows,
                          stride = dim(box.last).stride[o];
            if (stride > 0) outer = std::min(outer, room / stride);
        }
        return std::max<int64_t>(outer, 1);
    }
};

// The number of elements after which operand o repeats along a run. Outer dimensions along which it
// is constant do not count.
int64_t period_of(const Space &space, const Box &box, int o) {
    int64_t elements = 1, period = 1;
    for (int k = 0; k <= box.last; k++) {
        elements *= k == box.last ? box.outer : space.dims[k].size;
        if (space.dims[k].stride[o] != 0) period = elements;
    }
    return period;
}

// Elements of a piece of the run. An element of a piece takes a load and a store. An element with
// an offset of its own takes another load.
int64_t piece_of(const Space &space, const Box &box) {
    constexpr int64_t kShortest = 16;
    const int64_t inner = box.last == 0 ? box.outer : space.dims[0].size;
    return inner >= kShortest ? inner : 1;
}

// Fills table[i], for i < count, with the byte offset of the run's piece number i of operand o. A
// piece is the innermost dimension or, with `of_elements`, one element.
void fill_table(const Space &space, const Box &box, int o, int32_t element_bytes, bool of_elements,
                int64_t count, int32_t *table) {
    table[0] = 0;
    for (int64_t k = of_elements ? 0 : 1, filled = 1; k <= box.last && filled < count; k++) {
        const int64_t end = std::min(filled * space.dims[k].size, count);
        const int32_t step = int32_t(space.dims[k].stride[o] * element_bytes);
        for (int64_t i = filled; i < end; i++) table[i] = table[i - filled] + step;
        filled = end;
    }
}

// The elements from row to row of operand o as the kernel sees it. In the tensor they are
// `row_stride`.
int64_t kernel_row_stride(const Plan &plan, int o, int64_t run, int64_t row_stride) {
    if (plan.access[o] == Access::InPlace) return row_stride;
    // The operand is the same in every row, so scratch memory has one row of it.
    if (o != plan.operands - 1 && row_stride == 0) return 0;
    const int32_t bytes = plan.element_bytes[o];
    return plan.access[o] == Access::Transpose && run * bytes >= kPaddedBytes
               ? run + kPadBytes / bytes
               : run;
}

// Adds the loops over boxes.
//
// Boxes that are neighbours in memory come first: along the run, or along the rows if an operand is
// transposed, whose next rows lie next to the last ones, in the same pages and pairs of cache
// lines. If rows leave out a dimension, the boxes between the rows of a box come next, while their
// lines are in the cache.
void add_loops(const Space &space, const Box &box, bool rows_first, Plan &plan) {
    plan.run_loop = plan.row_loop = -1;
    plan.box_count = 1;
    const auto add = [&](int k, int64_t step) {
        Plan::Loop &loop = plan.loops[plan.loop_count];
        loop.size = space.dims[k].size;
        loop.step = step;
        loop.count = ceil_div(loop.size, step);
        for (int o = 0; o < plan.operands; o++)
            loop.step_bytes[o] = step * space.dims[k].stride[o] * plan.element_bytes[o];
        plan.box_count *= loop.count;
        return plan.loop_count++;
    };
    const bool runs_cut = box.outer < space.dims[box.last].size,
               rows_cut = box.row_dim >= 0 && box.rows < space.dims[box.row_dim].size;
    if (runs_cut && !rows_first) plan.run_loop = add(box.last, box.outer);
    const int between = plan.scratch ? box.last + 1 : box.row_dim;
    plan.boxes_together = 1;
    for (int k = box.last + 1; k < between; k++) plan.boxes_together *= plan.loops[add(k, 1)].count;
    if (rows_cut) plan.row_loop = add(box.row_dim, box.rows);
    if (runs_cut && rows_first) plan.run_loop = add(box.last, box.outer);
    for (int k = std::max(box.last + 1, between); k < space.rank; k++) {
        if (k != box.row_dim) add(k, 1);
    }
}

// Whether no two boxes of a converted output write to the same byte.
bool writes_whole_bytes(const Plan &plan) {
    const int output = plan.operands - 1;
    const Conversion &conversion = *plan.conversion[output];
    if (!conversion.shares_bytes()) return true;
    bool whole = plan.access[output] == Access::Converted &&
                 plan.converted_first[output] % conversion.group() == 0;
    for (int l = 0; l < plan.loop_count; l++)
        whole &= plan.loops[l].step_bytes[output] % conversion.group() == 0;
    return whole;
}

// Writes down how operand o is reached. `runs` says that it varies along the kernel's run;
// otherwise the kernel takes one element of each row. `scratch` is the number of bytes of scratch
// memory that the operands before it use; its own are added. Returns false if there is no memory.
bool plan_operand(const Planner &planner, const Box &box, int o, bool runs,
                  const Allocator &allocator, int64_t &scratch, Plan &plan) {
    const Space &space = planner.space();
    const bool output = o == plan.operands - 1;
    const int32_t bytes = plan.element_bytes[o];
    const int64_t run = box.inner * box.outer,
                  row_stride = box.row_dim >= 0 ? space.dims[box.row_dim].stride[o] : 0;
    plan.row_bytes[o] = row_stride * bytes;
    plan.element_step[o] = space.dims[0].stride[o] * bytes;
    plan.access[o] = planner.access(box, o, runs);
    plan.scratch |= plan.access[o] != Access::InPlace;
    const int64_t length = runs ? run : 1;
    plan.dims[o][0] = {0, int32_t(run), runs ? 1 : 0, 0};
    plan.dims[o][1] = {0, int32_t(box.rows),
                       box.rows > 1 ? int32_t(kernel_row_stride(plan, o, length, row_stride)) : 0,
                       0};
    if (plan.access[o] == Access::InPlace) {
        plan.prefetched |= runs && !output && planner.from_memory(o) ? 1u << o : 0;
        return true;
    }
    plan.scratch_at[o] = int32_t(scratch);
    const int64_t pitch = plan.dims[o][1].stride;
    scratch += round_up(((box.rows - 1) * pitch + length) * bytes, kLineBytes) + kScratchStagger;
    if (plan.access[o] != Access::Table && plan.access[o] != Access::Converted) return true;
    plan.period[o] = plan.read[o] = length;
    if (plan.access[o] == Access::Converted) return true;
    if (!output) plan.period[o] = period_of(space, box, o);
    const int64_t pieces = ceil_div(plan.period[o], plan.piece);
    plan.table[o] = allocator.allocate<int32_t>(size_t(pieces));
    if (!plan.table[o]) return false;
    fill_table(space, box, o, bytes, plan.piece == 1, pieces, plan.table[o]);
    return true;
}

}  // namespace

// It is compiled for size ("cold"), with everything that it inlines, because it runs once for each
// operator.
__attribute__((cold)) bool build_plan(const Space &given, const KernelTraits &kernel,
                                      const PlanKnobs &knobs, const Chip &chip,
                                      const Allocator &allocator, Plan &plan) {
    Planner planner(given, kernel, knobs, chip);
    const Box box = planner.choose_box();
    const Space &space = planner.space();
    const int operands = space.operands, output = operands - 1;

    plan = {};
    plan.operands = operands;
    plan.moved_bytes = planner.moved_bytes();
    plan.parallel = planner.parallel();
    plan.kept_if_read_next = planner.kept_if_read_next();
    plan.run_inner = box.inner;
    plan.run_outer = box.outer;
    plan.rows = box.rows;
    plan.piece = piece_of(space, box);

    const uint32_t layout = planner.layout_of(box);
    int64_t scratch = 0;  // bytes of the operands so far
    for (int o = 0; o < operands; o++) {
        const bool runs = o == output || (layout & digit(operands, o));
        plan.element_bytes[o] = space.element_bytes[o];
        plan.conversion[o] = space.conversion[o];
        if (plan_operand(planner, box, o, runs, allocator, scratch, plan)) continue;
        destroy_plan(allocator, plan);
        return false;
    }
    const bool transposes = std::count(plan.access, plan.access + operands, Access::Transpose) > 0;
    plan.prefetches_tiles = transposes && prefetches_next_tile(chip, plan.moved_bytes);
    plan.prefetches_beside = plan.prefetches_tiles && !planner.streams() &&
                             prefetches_rows_beside(chip, plan.moved_bytes);
    const ChipTraits &traits = traits_of(chip);
    plan.prefetch_into = traits.stream_prefetch_into;
    if (__builtin_popcount(plan.prefetched) < traits.stream_prefetch_inputs) plan.prefetched = 0;
    add_loops(space, box, transposes, plan);
    plan.one_box = plan.loop_count == 0 && !plan.scratch;
    return true;
}

__attribute__((cold)) void place_converted(const Part &part, const Tensor &output, Plan &plan) {
    for (int o = 0; o < plan.operands; o++)
        plan.converted_first[o] = part.first[o] * plan.element_bytes[o];
    if (!plan.conversion[plan.operands - 1]) return;
    plan.converted_end = 1;
    for (int d = 0; d < output.rank; d++)
        plan.converted_end += (output.sizes[d] - 1) * output.strides[d];
    plan.parallel &= writes_whole_bytes(plan);
}

void destroy_plan(const Allocator &allocator, Plan &plan) {
    for (int32_t *&table : plan.table) {
        allocator.deallocate(table);
        table = nullptr;
    }
}

namespace {
constexpr int64_t kMany = int64_t(1)
                          << 31;  // larger numbers make no difference, and could overflow
}  // namespace

__attribute__((cold)) int64_t repeated_boxes(const Plan &plan, int o) {
    int64_t boxes = 1;
    for (int l = 0; l < plan.loop_count && boxes < kMany; l++) {
        if (plan.loops[l].step_bytes[o] == 0) boxes *= std::min(plan.loops[l].count, kMany);
        else if (l != plan.run_loop) break;
    }
    return std::min(boxes, kMany);
}

__attribute__((cold)) int64_t repeated_rows(const Plan &plan, int o) {
    return plan.rows > 1 && plan.row_bytes[o] != 0
               ? 1
               : std::min(plan.rows * repeated_boxes(plan, o), kMany);
}

__attribute__((cold)) int64_t values_of_a_box(const Plan &plan, int o) {
    if (plan.rows > 1 && plan.row_bytes[o] != 0) return plan.rows;
    for (int l = 0; l < plan.loop_count; l++) {
        if (plan.loops[l].step_bytes[o] != 0) return 1;
    }
    return 0;
}

}  // namespace hewn
