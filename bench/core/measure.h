// Timing in wall-clock time, in rounds of a sample of each contender.
#pragma once

#include <string>
#include <vector>

#include "contender.h"

namespace hewn_bench {

struct Effort {
    double sample_ns;            // a sample repeats short calls until it takes about this long
    double contender_ns;         // sampling of one contender ends after about this long ...
    int min_rounds, max_rounds;  // ... but not before and not after so many rounds
};

// One contender of a row. Slow contenders skip rounds: where it took no sample, call_ns is NaN.
struct Samples {
    Runner run;
    std::vector<double> call_ns;

    double median_ns() const;
};

// Measures `contenders` interleaved, in rounds. Each round has a new order; slow contenders skip
// some.
void measure(std::vector<Samples *> contenders, int threads, const Effort &effort);

// Median of the quotients numerator / denominator over the rounds that have both, and its 95 %
// bootstrap interval.
struct Ratio {
    double median, low, high;
};
Ratio ratio(const Samples &numerator, const Samples &denominator);

// Nanoseconds of one call: the median of several samples.
double measure_alone(const Runner &run, const Effort &effort);

}  // namespace hewn_bench
