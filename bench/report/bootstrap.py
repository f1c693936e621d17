"""The median of some values and its 95 % bootstrap interval. The tuner uses it too. The C++
programs have the same in bench/core/measure.cpp."""

import numpy as np

RESAMPLES = 2000


def median_interval(values):
    """The median, and the lower and the upper end of its interval."""
    values = np.asarray(values)
    draws = np.random.default_rng(0).integers(0, len(values), (RESAMPLES, len(values)))
    medians = np.median(values[draws], axis=1)
    low, high = np.percentile(medians, [2.5, 97.5])
    return float(np.median(values)), float(low), float(high)
