"""The list of data types, and of DirectML's feature levels."""

from lists.declarations import DataType, SmallFloat

DATA_TYPES = [
    DataType("f32", "FLOAT32", 1),
    DataType("f16", "FLOAT16", 2),
    DataType("u32", "UINT32", 3),
    DataType("u16", "UINT16", 4),
    DataType("u8", "UINT8", 5),
    DataType("i32", "INT32", 6),
    DataType("i16", "INT16", 7),
    DataType("i8", "INT8", 8),
    DataType("f64", "FLOAT64", 9),
    DataType("u64", "UINT64", 10),
    DataType("i64", "INT64", 11),
    DataType("u4", "UINT4", 12),
    DataType("i4", "INT4", 13),
    # The types below are not DirectML's.
    DataType("f4e2m1", "FLOAT4E2M1", 21, SmallFloat(1, 0x07, None, "float4_e2m1fn")),
    DataType("f6e3m2", "FLOAT6E3M2", 22, SmallFloat(3, 0x1F, None, "float6_e3m2fn")),
    DataType("f6e2m3", "FLOAT6E2M3", 23, SmallFloat(1, 0x1F, None, "float6_e2m3fn")),
    # A scale: a power of two.
    DataType("f8e8m0", "FLOAT8E8M0", 24, SmallFloat(127, 0xFE, 0xFF, "float8_e8m0fnu")),
    DataType("f8e5m2fnuz", "FLOAT8E5M2FNUZ", 25, SmallFloat(16, 0x7F, 0x80, "float8_e5m2fnuz")),
    DataType("f8e5m2", "FLOAT8E5M2", 26, SmallFloat(15, 0x7B, 0x7E, "float8_e5m2")),
    DataType("f8e4m3fnuz", "FLOAT8E4M3FNUZ", 27, SmallFloat(8, 0x7F, 0x80, "float8_e4m3fnuz")),
    DataType("f8e4m3fn", "FLOAT8E4M3FN", 28, SmallFloat(7, 0x7E, 0x7F, "float8_e4m3fn")),
    DataType("bf16", "BFLOAT16", 29),
    DataType("u2", "UINT2", 30),
    DataType("i2", "INT2", 31),
]

# The codes of small floats. Kernels take all formats of these as this one type.
CODES = DataType("f8", "", 0)

# In ascending order: DirectML's, then `hewn`, which has what only hewn has.
FEATURE_LEVELS = "1.0 2.0 2.1 3.0 3.1 4.0 4.1 5.0 5.1 5.2 6.0 6.1 6.2 6.3 6.4 hewn".split()
