// A helper of the runtime, not an operator: output(x, y) = input(x, y), where the input is dense along y and the output along x.
// For extents that are multiples of N, the elements of 16 bytes; the runtime moves the edges.
#include "elementwise.h"

namespace {

using namespace Halide;

// An N x N transposition is a perfect-shuffle network: log2 N rounds that interleave the lanes of rows j and j + N / 2. Written
// like this it becomes exactly one interleaving instruction (punpck, zip) an output vector and round; 3 to 5 times faster than
// any direct schedule of the copy.
class Transpose : public Generator<Transpose> {
public:
    GeneratorParam<std::string> signature{"signature", ""};
    Input<Buffer<void, 2>> input{"input"};
    Output<Buffer<void, 2>> output{"output"};

    void configure() {
        input.set_type(hewn::type_named(signature));
        output.set_type(hewn::type_named(signature));
    }

    void generate() {
        n_ = 16 / output.type().bytes();
        Func rows("rows");
        rows(lane_, row_, tile_x_, tile_y_) = input(tile_x_ * n_ + row_, tile_y_ * n_ + lane_);
        rounds_.push_back(rows);
        for (int size = 1; size < n_; size *= 2) {
            const Func previous = rounds_.back();
            Func next("round");
            // Row 2j + h, lane k: lane h * N / 2 + k / 2 of row j (k even) or j + N / 2 (k odd).
            const Expr from = row_ % 2 * (n_ / 2) + lane_ / 2, j = row_ / 2;
            next(lane_, row_, tile_x_, tile_y_) =
                select(lane_ % 2 == 0, previous(from, j, tile_x_, tile_y_), previous(from, j + n_ / 2, tile_x_, tile_y_));
            rounds_.push_back(next);
        }
        output(hewn::x, hewn::y) = rounds_.back()(hewn::x % n_, hewn::y % n_, hewn::x / n_, hewn::y / n_);
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
        output.align_bounds(x, n_)
            .align_bounds(y, n_)
            .tile(x, y, xo, yo, xi, yi, n_, n_, TailStrategy::RoundUp)
            .reorder(xi, yi, yo, xo)
            .vectorize(xi)
            .unroll(yi);
        for (Func &round : rounds_) {
            round.compute_at(output, yo).bound_extent(lane_, n_).vectorize(lane_, n_).unroll(row_).store_in(MemoryType::Stack);
        }
    }

private:
    int n_ = 0;
    Var lane_{"lane"}, row_{"row"}, tile_x_{"tile_x"}, tile_y_{"tile_y"};
    std::vector<Func> rounds_;
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Transpose, transpose)
