// Measures contenders in wall-clock time, in rounds. Each round has a sample of each contender, so
// that a disturbance of the machine affects all of them. Ratios are taken within a round.
#pragma once

#include <string>
#include <vector>

#include "contender.h"

namespace hewn_bench {

// How long measuring takes.
struct Effort {
    // A sample repeats short calls until it takes about this long.
    double sample_ns;
    // All samples of a contender take about this long together ...
    double contender_ns;
    // ... but it has at least and at most this many of them.
    int min_rounds, max_rounds;
};

// The samples of one contender. `call_ns` has the nanoseconds of a call for each round. It is NaN
// for a round without a sample: slow contenders skip some.
struct Samples {
    Runner run;
    std::vector<double> call_ns;

    double median_ns() const;
};

// Measures the contenders in rounds, each in a new order, and fills in their `call_ns`. The first
// contender takes part in every round.
void measure(std::vector<Samples *> contenders, int threads, const Effort &effort);

// A median and its 95 % bootstrap interval.
struct Ratio {
    double median, low, high;
};
// The median of the quotients numerator / denominator over the rounds that have both samples.
Ratio ratio(const Samples &numerator, const Samples &denominator);

// The nanoseconds of one call, measured without other contenders: the median of several samples.
double measure_alone(const Runner &run, const Effort &effort);

}  // namespace hewn_bench
