"""The list of data types, and of DirectML's feature levels."""

from lists.declarations import DataType

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
    DataType("bf16", "BFLOAT16", 29),
    DataType("u2", "UINT2", 30),
    DataType("i2", "INT2", 31),
]

# In ascending order: DirectML's, then `hewn`, which has what only hewn has.
FEATURE_LEVELS = "1.0 2.0 2.1 3.0 3.1 4.0 4.1 5.0 5.1 5.2 6.0 6.1 6.2 6.3 6.4 hewn".split()
