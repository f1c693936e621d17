"""Helpers for the tests of the command line. A test file takes the path of hewn, which may also be
in the environment as HEWN_CLI, and unittest's arguments.

Expected results are computed here with NumPy in float32. Each written operation rounds once, as
docs/numerics.md says."""

import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

import numpy as np

HEWN = None
HANG = 900  # seconds
SOURCE_DIR = str(pathlib.Path(__file__).resolve().parents[2])
F32, F16 = np.float32, np.float16
SMALL_FLOATS = ["f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f6e2m3", "f6e3m2", "f4e2m1"]


def to_bf16(values):
    """f32 numbers, rounded to bf16. NumPy does not have that type: a file has it as two bytes without
    a type, the upper half of an f32. NaN must have a bit in that half."""
    bits = np.asarray(values, F32).view(np.uint32)
    return np.asarray(bits + 0x7fff + (bits >> 16 & 1) >> 16, "<u2").view("V2")


def from_bf16(elements):
    return np.asarray(elements.view("<u2").astype(np.uint32) << 16).view(F32)


def untyped(codes):
    """Codes of small floats as they are in files: bytes without a type."""
    return np.asarray(codes, "u1").view("V1")


def small_values(word):
    """The numbers of all codes of a small float, by the definition of its format."""
    bits, exponents, mantissas, ending = re.fullmatch(r"f(\d)e(\d)m(\d)(\w*)", word).groups()
    ones, sign = 1 << int(mantissas), 1 << int(bits) - 1
    bias = 2**(int(exponents) - 1) - (0 if ending == "fnuz" else 1)
    codes = np.arange(2 * sign)
    exponent, mantissa = codes % sign // ones, codes % ones / ones
    values = np.where(exponent > 0, 1 + mantissa, mantissa) * 2.0**(np.maximum(exponent, 1) - bias)
    values[sign:] *= -1
    if ending == "fnuz":
        values[sign] = np.nan
    elif word == "f8e4m3fn":
        values[[sign - 1, -1]] = np.nan
    elif word == "f8e5m2":
        values[exponent == 31] = np.nan
        values[[0x7c, 0xfc]] = np.inf, -np.inf
    return values


def small_codes(numbers, word, saturate=True):
    """The codes of f32 numbers: of the nearest number of the type, or of two the even one."""
    values = small_values(word)
    sign = values.size // 2
    ladder = values[:sign][np.isfinite(values[:sign])]
    largest = ladder.size - 1
    # After the largest number the distance to the next one stays the same.
    ladder = np.append(ladder, 2 * ladder[-1] - ladder[-2])
    ties = (ladder[:-1] + ladder[1:]) / 2  # exact
    numbers = np.asarray(numbers, np.float64)
    codes = np.searchsorted(ties, np.abs(numbers))
    tied = (codes <= largest) & (np.abs(numbers) == ties[np.minimum(codes, largest)])
    codes += tied & (codes % 2 == 1)
    not_a_number = np.flatnonzero(np.isnan(values))
    if not_a_number.size == 0 or saturate:
        codes = np.minimum(codes, largest)
    elif not np.isinf(values).any():
        codes = np.where(codes > largest, not_a_number[0], codes)
    has_sign = np.signbit(numbers) & (codes < sign) & ((codes > 0) | (values[sign] == 0))
    codes = np.where(np.isnan(numbers), [*not_a_number, largest][0], codes | has_sign * sign)
    return codes.astype("u1")


def quantize(x, scale, zero_point, dtype):
    with np.errstate(all="ignore"):
        q = x.astype(F32) / np.asarray(scale).astype(F32)
        limits = np.iinfo(dtype)
        r = np.rint(q).astype(np.float64) + np.asarray(zero_point, np.float64)
        r = np.where(np.isnan(q), np.broadcast_to(np.asarray(zero_point, np.float64), q.shape), r)
        return np.clip(r, limits.min, limits.max).astype(dtype)


def dequantize(x, scale, zero_point):
    scale = np.asarray(scale)
    with np.errstate(all="ignore"):
        difference = (x.astype(np.int64) - np.asarray(zero_point, np.int64)).astype(F32)
        return (difference * scale.astype(F32)).astype(scale.dtype)


def quantized_add(a, a_scale, a_zero, b, b_scale, b_zero, scale, zero, dtype):
    return quantize(dequantize(a, F32(a_scale), a_zero) + dequantize(b, F32(b_scale), b_zero),
                    F32(scale), zero, dtype)


def quantized_mul(a, a_scale, a_zero, b, b_scale, b_zero, scale, zero, dtype):
    product = (np.asarray(a, np.int32) - a_zero) * (np.asarray(b, np.int32) - b_zero)
    return quantize(product.astype(F32) * (F32(a_scale) * F32(b_scale) / F32(scale)), F32(1), zero,
                    dtype)


def sample(rng, shape, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return np.asarray(rng.normal(0, 50, shape)).astype(dtype)
    info = np.iinfo(dtype)
    return np.asarray(rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True))


def cpu_targets(info, kernel=None):
    """The targets of the CPU in `info`; with `kernel`, only those that have this kernel."""
    names = {variant["name"] for variant in info["variants"]}
    return [target for target in info["targets"]
            if target["device"] == "cpu"
            and (kernel is None or f"{kernel}__{target['name']}" in names)]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def make_npy(header, data=b"", version=(1, 0), magic=b"\x93NUMPY", length=None):
    text = header if isinstance(header, bytes) else header.encode()
    size = len(text) if length is None else length
    return magic + bytes(version) + struct.pack("<H" if version[0] == 1 else "<I",
                                                size) + text + data


def png_chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def make_png(rows, depth, color, interlace=0, width=None, height=None, extra=b"",
             parts=lambda compressed: [compressed]):
    """A PNG file. `extra` are chunks before the pixels. `parts` cuts the compressed pixels into the
    bodies of chunks, which get the right CRCs."""
    width = width or rows.shape[1]
    height = height or rows.shape[0]
    raw = b"".join(b"\0" + row.astype(row.dtype.newbyteorder(">")).tobytes() for row in rows)
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlace)
    return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + extra +
            b"".join(png_chunk(b"IDAT", part) for part in parts(zlib.compress(raw)))
            + png_chunk(b"IEND", b""))


def read_png(path):
    data = read(path)
    width, height, depth, color = struct.unpack(">IIBB", data[16:26])
    channels = {0: 1, 4: 2, 2: 3, 6: 4}[color]
    at, body = 8, b""
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at:at + 8])
        if name == b"IDAT":
            body += data[at + 8:at + 8 + size]
        at += 12 + size
    raw = np.frombuffer(zlib.decompress(body), np.uint8)
    pixel = channels * depth // 8
    lines = raw.reshape(height, 1 + width * pixel)
    out = np.zeros((height, width * pixel), np.uint8)
    for y, line in enumerate(lines):  # undo PNG's row filters
        kind, row = line[0], line[1:].astype(int)
        for i in range(len(row)):
            left = int(out[y, i - pixel]) if i >= pixel else 0
            up = int(out[y - 1, i]) if y else 0
            corner = int(out[y - 1, i - pixel]) if y and i >= pixel else 0
            nearest = min((left, up, corner), key=lambda value: abs(left + up - corner - value))
            out[y, i] = (row[i] + [0, left, up, (left + up) // 2, nearest][kind]) & 255
    return out.view(">u2" if depth == 16 else np.uint8).reshape(height, width, channels)


def jpeg_segment(marker, body):
    return b"\xff" + bytes([marker]) + struct.pack(">H", 2 + len(body)) + body


def make_progressive_jpeg(scans, height=8, width=8):
    """A grey JPEG, every pixel 128, that has only its first `scans` scans: the DC coefficient, then
    the other 63 coefficients, from the highest bit to the lowest."""
    blocks = -(-height // 8) * -(-width // 8)
    # The code "0" for each block.
    code = bytes(blocks // 8) + (bytes([0xff >> blocks % 8]) if blocks % 8 else b"")
    # Tables with one code, "0". It means no difference, or the end of the block.
    tables = b"".join(jpeg_segment(0xc4, bytes([table, 1] + [0] * 15 + [0]))
                      for table in (0x00, 0x10))
    plan = [(0, 0)] + [(k, (bit + 1) % 14 << 4 | bit) for bit in range(13, -1, -1)
                       for k in range(1, 64)]
    body = b"".join(jpeg_segment(0xda, bytes([1, 1, 0, k, k, bits])) + code
                    for k, bits in plan[:scans])
    return (b"\xff\xd8" + jpeg_segment(0xdb, bytes([0] + [1] * 64))
            + jpeg_segment(0xc2, struct.pack(">BHHB", 8, height, width, 1) + bytes([1, 0x11, 0])) +
            tables + body + b"\xff\xd9")


class CliTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.rng = np.random.default_rng(1)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def save(self, name, array):
        np.save(self.path(name), array)
        return self.path(name)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return self.path(name)

    def run_hewn(self, *arguments, **environment):
        return subprocess.run([HEWN, *map(str, arguments)], capture_output=True, text=True,
                              timeout=HANG,
                              env={**{k: v for k, v in os.environ.items() if k != "HEWN_VARIANT"},
                                   **environment})

    def succeed(self, *arguments, **environment):
        result = self.run_hewn(*arguments, **environment)
        self.assertEqual(result.returncode, 0, f"{arguments}\n{result.stdout}{result.stderr}")
        return result

    def compute(self, *arguments, out="out.npy"):
        """Runs an operator and returns the .npy file that it writes."""
        self.succeed(*arguments, "-o", self.path(out))
        return np.load(self.path(out))

    def refuse(self, *arguments, says, code=2, out="out.npy", **environment):
        """Checks that the call fails with a message that contains every text of `says`, and leaves
        no new file."""
        before = set(os.listdir(self.folder.name))
        result = self.run_hewn(*arguments, *(["-o", self.path(out)] if out else []), **environment)
        text = f"{arguments}\n{result.stdout}{result.stderr}"
        self.assertEqual(result.returncode, code, text)
        self.assertIn("hewn: error: ", result.stderr, text)
        for part in [says] if isinstance(says, str) else says:
            self.assertIn(part, result.stderr, text)
        self.assertEqual(set(os.listdir(self.folder.name)), before, text)
        return result

    def assert_same(self, got, expected, context=""):
        """Checks that types, shapes and bits are the same, except that any NaN is like another."""
        self.assertEqual(got.dtype, expected.dtype, context)
        self.assertEqual(got.shape, expected.shape, context)
        bits = {2: np.uint16,
                4: np.uint32}.get(got.dtype.itemsize) if got.dtype.kind in "fV" else got.dtype
        equal = (np.ascontiguousarray(got).reshape(-1).view(bits)
                 == np.ascontiguousarray(expected).reshape(-1).view(bits))
        if got.dtype.kind == "f":
            equal |= (np.isnan(got) & np.isnan(expected)).reshape(-1)
        self.assertTrue(equal.all(),
                        f"{context}: {np.count_nonzero(~equal)} of {equal.size} differ")

    def assert_same_codes(self, got, expected, word, context=""):
        """The same of codes of a small float, as hewn writes them to files."""
        self.assertEqual((got.dtype, got.shape), (np.dtype("V1"), expected.shape), context)
        values = small_values(word)
        got = np.ascontiguousarray(got).reshape(-1).view("u1")
        differs = ((got != expected.reshape(-1))
                   & ~(np.isnan(values[got]) & np.isnan(values[expected.reshape(-1)])))
        self.assertFalse(differs.any(), f"{context}: {np.count_nonzero(differs)} of {got.size} differ")


def make_tensor(dtype, shape, data, strides=None, **more):
    return {"dtype": dtype, "shape": shape, "data": data,
            **({} if strides is None else {"strides": strides}), **more}


def add_case(dtype="f32", a=(1, 2), b=(3, 4), out=(4, 6), **more):
    shape = [len(out)]
    return {"id": "case", "op": "ADD", "inputs": {"ATensor": make_tensor(dtype, shape, list(a), [1]),
                                                  "BTensor": make_tensor(dtype, shape, list(b), [1])},
            "output": make_tensor(dtype, shape, list(out)), "tolerance": {"ulp": 0, "abs": 0},
            "formula": "exact", **more}


def main():
    """Runs the tests of the calling file, whose first argument is the path of hewn."""
    global HEWN
    HEWN = os.environ.get("HEWN_CLI")
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-") and os.path.isfile(sys.argv[1]):
        HEWN = sys.argv.pop(1)
    if not HEWN:
        sys.exit(f"usage: {sys.argv[0]} <path of hewn> [unittest arguments]    (or HEWN_CLI=<path>)")
    HEWN = os.path.abspath(HEWN)
    unittest.main()
