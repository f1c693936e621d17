"""The median and its 95 % bootstrap interval."""

import numpy as np

RESAMPLES = 2000


def median_interval(values):
    values = np.asarray(values)
    draws = np.random.default_rng(0).integers(0, len(values), (RESAMPLES, len(values)))
    medians = np.median(values[draws], axis=1)
    low, high = np.percentile(medians, [2.5, 97.5])
    return float(np.median(values)), float(low), float(high)
