// Fuzzes the tool's reading of NPY files. The first byte says from which allocation on allocations
// fail.
#include "../../tools/hewn/npy.h"
#include "../../tools/hewn/files.h"
#include "fuzz.h"

HEWN_FUZZ(npy) {
    hewn_fuzz::Input input(data, size);
    const unsigned failing = unsigned(input.below(16));
    hewn_fuzz::with_file(input.rest(), ".npy", failing, [](const std::string &path) {
        const hewn::cli::Array array = hewn::cli::load_npy(path);
        // All elements that the array claims to have can be read.
        uint8_t last = 0;
        for (uint64_t i = 0; i < array.bytes; i += 64) last ^= uint8_t(array.data[i]);
        volatile uint8_t seen = last;
        (void)seen;
    });
}
