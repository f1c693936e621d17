"""hewn's kernels as problems for autotuners: their search spaces."""

from .space import Space, read_t1, write_t1

__all__ = ["Space", "read_t1", "write_t1"]
