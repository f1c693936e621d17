"""The list of functions that transpose elements on a CPU, in ascending priority.

A function is for elements of the size of `element`. It transposes tiles with 16 bytes of rows and
`bytes` bytes of columns. It is for `target` and all targets above it; without a `target`, for all."""

from lists.declarations import Transposition

TRANSPOSITIONS = [
    Transposition("u8", 16),
    Transposition("u16", 16),
    Transposition("u32", 16),
    Transposition("u64", 16),
    Transposition("u8", 16, "x86_64_avx2"),
    Transposition("u16", 16, "x86_64_avx2"),
    Transposition("u32", 32, "x86_64_avx2"),
    Transposition("u64", 32, "x86_64_avx2"),
]
