# THE list of functions by which the runtime itself transposes elements.
#
# hewn_transposition(<type>... BYTES <bytes> [TARGET <name>])
#   For elements of these sizes, in tiles of <bytes> bytes of columns by 16 of rows. For the lowest
#   target, or for the named one and those above it; in ascending rank.

hewn_transposition(u8 u16 u32 u64 BYTES 16)
hewn_transposition(u8 u16 BYTES 16 TARGET x86_64_avx2)
hewn_transposition(u32 u64 BYTES 32 TARGET x86_64_avx2)
