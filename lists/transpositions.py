"""The list of functions that transpose elements on a CPU, in ascending rank.

A function is for elements of the size of `element`. It transposes tiles of 16 rows with `bytes`
bytes of columns. It is for the lowest target and all above it or, with a `target`, for that one and
all above it."""

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
