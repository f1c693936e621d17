"""hewn's kernels as problems for autotuners: their search spaces, measurements of them, and an
interface to ask and tell. docs/tuning.md shows ten lines that tune a kernel with Optuna."""

from .results import Results
from .space import FileError, Space, read_t1, write_t1
from .tuners import Evaluation, Live, Recorded, Tuner, write_cache

__all__ = ["Evaluation", "FileError", "Live", "Recorded", "Results", "Space", "Tuner", "read_t1",
           "write_cache", "write_t1"]
