// The transposition that brings transposed inputs into scratch memory; it is no operator. output(x,
// y) = input(x, y), where the input is contiguous along y and the output along x. Extents are
// multiples of a tile, which has 16 bytes of rows and `bytes` bytes of columns. The runtime takes
// care of the edges.
#include "../runtime/base/kernel_contract.h"
#include "opaque.h"
#include "signature.h"

namespace {

using namespace Halide;

// An N x N transposition is a perfect-shuffle network: log2 N rounds that interleave the lanes of
// rows j and j + N / 2. Written like this, a round takes exactly one interleaving instruction
// (punpck, zip) for each output vector. Wider tiles hold several such squares side by side, one in
// each 16 bytes of a vector, as AVX2's instructions treat them. Elements of 8 and 16 bits have no
// wider tiles (docs/lab/performance.md#transposing).
class Transpose : public Generator<Transpose> {
public:
    GeneratorParam<std::string> signature{"signature", ""};
    GeneratorParam<int> bytes{"bytes", hewn::kSquareBytes};
    Input<Buffer<void, 2>> input{"input"};
    // If prefetch_distance is not 0, memory that will be read soon is prefetched: that which lies
    // this many elements after the first one of each column. `down` is added to the distance for
    // each tile further down.
    Input<int32_t> prefetch_distance{"prefetch_distance"}, down{"down"};
    Output<Buffer<void, 2>> output{"output"};

    void configure() {
        const Type type =
            hewn::type_of_signature({"transpose", {"u8 u16 u32 u64"}}, signature.value(), 0);
        input.set_type(type);
        output.set_type(type);
    }

    void generate() {
        n_ = hewn::kSquareBytes / output.type().bytes();
        squares_ = bytes / hewn::kSquareBytes;
        columns_ = n_ * squares_;
        prefetch_(tile_x_, tile_y_) = prefetch();
        const Expr none =
            prefetches() ? select(prefetch_distance != 0, prefetch_(tile_x_, tile_y_), 0) : 0;
        Func rows("rows");
        rows(lane_, square_, row_, tile_x_, tile_y_) =
            input((tile_x_ * squares_ + square_) * n_ + row_, tile_y_ * n_ + lane_) +
            cast(output.type(), none);
        rounds_.push_back(rows);
        for (int size = 1; size < n_; size *= 2) {
            const Func previous = rounds_.back();
            Func next("round");
            // Row 2j + h, lane k is lane h * N / 2 + k / 2 of row j (k even) or j + N / 2 (k odd).
            const Expr from = row_ % 2 * (n_ / 2) + lane_ / 2, j = row_ / 2;
            next(lane_, square_, row_, tile_x_, tile_y_) =
                select(lane_ % 2 == 0, previous(from, square_, j, tile_x_, tile_y_),
                       previous(from, square_, j + n_ / 2, tile_x_, tile_y_));
            rounds_.push_back(next);
        }
        output(hewn::x, hewn::y) = rounds_.back()(hewn::x % n_, hewn::x / n_ % squares_,
                                                  hewn::y % n_, hewn::x / columns_, hewn::y / n_);
    }

    void schedule() {
        using hewn::x, hewn::y;
        for (int d = 0; d < 2; d++) {
            input.dim(d).set_min(0);
            output.dim(d).set_min(0);
        }
        input.dim(0).set_stride(Expr());
        input.dim(1).set_stride(1);
        Var xi("xi"), yi("yi"), xo("xo"), yo("yo");
        output.align_bounds(x, columns_)
            .align_bounds(y, n_)
            .tile(x, y, xo, yo, xi, yi, columns_, n_, TailStrategy::RoundUp)
            .reorder(xi, yi, yo, xo)
            .vectorize(xi)
            .unroll(yi);
        if (prefetches()) {
            output.specialize(prefetch_distance != 0);
            prefetch_.compute_at(output, yo).store_in(MemoryType::Stack);
        }
        for (Func &round : rounds_) {
            round.compute_at(output, yo)
                .bound_extent(lane_, n_)
                .bound_extent(square_, squares_)
                .store_in(MemoryType::Stack);
            round.unroll(row_).vectorize(lane_, n_);
            // A tile's rows are read 16 bytes at a time, and LLVM joins them.
            if (&round == &rounds_.front()) round.unroll(square_);
            else round.vectorize(square_, squares_);
        }
    }

private:
    int n_ = 0, squares_ = 0, columns_ = 0;
    Var lane_{"lane"}, square_{"square"}, row_{"row"}, tile_x_{"tile_x"}, tile_y_{"tile_y"};
    Func prefetch_{"prefetch"};
    std::vector<Func> rounds_;

    // Whether the kernel can prefetch. runtime/cpu/plan.cpp asks for it only on AMD's chips, which
    // have AVX2.
    bool prefetches() const { return get_target().has_feature(Target::AVX2); }

    // The value 0, after prefetches into L2; Halide's own prefetches go only into L1. Four squares
    // below one another share a cache line of each column, so each of them prefetches a quarter of
    // the columns, but at least one. The input's address modulo 64 and the square's row tell which,
    // because the four may belong to four calls. Squares further down prefetch from the columns
    // next to their own, so that the address is a sum that grows. In tall columns, where `down` is
    // a square's height, squares prefetch their lines along diagonals. LLVM's intrinsic, which the
    // module declares for Halide's prefetches, returns no value, so nothing may use its result.
    Expr prefetch() {
        using namespace Halide::Internal;
        const int share = std::max(1, columns_ / 4), bytes = output.type().bytes();
        const ImageParam image = input;
        const Expr base =
            reinterpret<uint64_t>(Variable::make(Handle(), image.name(), image.parameter()));
        const Expr quarter = cast<int32_t>(base / hewn::kSquareBytes % 4) + tile_y_;
        Expr zero = 0;
        for (int i = 0; i < share; i++) {
            const Expr column = cast<int64_t>(tile_x_ * columns_ + quarter * share + i);
            const Expr at = column * image.dim(0).stride() + prefetch_distance + tile_y_ * down;
            const Expr address = reinterpret(Handle(), base + cast<uint64_t>(at * bytes));
            const Expr line =
                Call::make(Int(32), "llvm.prefetch.p0", {address, 0, 2, 1}, Call::Extern);
            zero = Call::make(Int(32), Call::return_second, {line, zero}, Call::Intrinsic);
        }
        return zero;
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Transpose, transpose)
