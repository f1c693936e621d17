#!/usr/bin/env python3
"""The command line `hewn` on real files and on broken ones.

    python3 cli_test.py <path of hewn> [unittest arguments]        (or HEWN_CLI=<path of hewn>)

Expected results are computed here with NumPy in float32, one rounding per written operation, as
docs/numerics.md says."""

import base64
import itertools
import json
import os
import pathlib
import re
import signal
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
INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
# A JPEG of one pixel of cyan, magenta, yellow and black.
CMYK_JPEG = base64.b64decode(
    "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwD/////////////////////////////////////////////////////////////"
    "/////////////////////////8AAFAgAAQABBEMRAE0RAFkRAEsRAP/EABUAAQEAAAAAAAAAAAAAAAAAAAID/8QAFBAB"
    "AAAAAAAAAAAAAAAAAAAAAP/aAA4EQwBNAFkASwAAPwChmb//2Q==")
# A 4x3 grey JPEG, every pixel 128.
JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0aHBwgJC4nICIsIxwc"
    "KDcpLDAxNDQ0Hyc5PTgyPC4zNDL/wAALCAADAAQBAREA/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QA"
    "tRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0"
    "NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2"
    "t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/9oACAEBAAA/ACv/2Q==")


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
    """Those that have the kernel, where one is named."""
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
    """`extra` are chunks before the pixels; `parts` makes their chunks, whose CRCs are right, of
    the compressed bytes."""
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


def make_jpeg_header(width, height, channels):
    """All that stands before the pixels, but for the tables."""
    frame = b"".join(bytes([c, 0x11, 0]) for c in range(1, channels + 1))
    scan = b"".join(bytes([c, 0]) for c in range(1, channels + 1))
    return (b"\xff\xd8\xff\xc0" + struct.pack(">HBHHB", 8 + len(frame), 8, height, width,
                                              channels) + frame +
            b"\xff\xda" + struct.pack(">HB", 6 + len(scan), channels) + scan + b"\0\x3f\0")


def jpeg_segment(marker, body):
    return b"\xff" + bytes([marker]) + struct.pack(">H", 2 + len(body)) + body


def make_progressive_jpeg(scans, height=8, width=8):
    """Grey, every pixel 128, in so many scans: the DC coefficient, then the 63 others, from the
    highest bit to the lowest."""
    blocks = -(-height // 8) * -(-width // 8)
    # "0" for each block.
    code = bytes(blocks // 8) + (bytes([0xff >> blocks % 8]) if blocks % 8 else b"")
    # One code, "0": nothing, or end of block.
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
        """Runs an operator and gives its .npy output."""
        self.succeed(*arguments, "-o", self.path(out))
        return np.load(self.path(out))

    def refuse(self, *arguments, says, code=2, out="out.npy", **environment):
        """The call fails with a message that has every text of `says`, and leaves no new file."""
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
        self.assertEqual(got.dtype, expected.dtype, context)
        self.assertEqual(got.shape, expected.shape, context)
        bits = {2: np.uint16,
                4: np.uint32}.get(got.dtype.itemsize) if got.dtype.kind == "f" else got.dtype
        equal = (np.ascontiguousarray(got).reshape(-1).view(bits)
                 == np.ascontiguousarray(expected).reshape(-1).view(bits))
        if got.dtype.kind == "f":
            equal |= (np.isnan(got) & np.isnan(expected)).reshape(-1)
        self.assertTrue(equal.all(),
                        f"{context}: {np.count_nonzero(~equal)} of {equal.size} differ")


class AddTest(CliTest):
    def test_every_type_and_rank(self):
        for kind in ["f4", "f2"] + INTEGERS:
            for rank in range(9):
                shape = tuple(self.rng.integers(1, 4, rank))
                a, b = sample(self.rng, shape, kind), sample(self.rng, shape, kind)
                with np.errstate(all="ignore"):
                    expected = np.asarray(a + b)
                got = self.compute("add", self.save("a.npy", a), self.save("b.npy", b))
                self.assert_same(got, expected, f"{kind} {shape}")

    def test_special_values(self):
        for kind in ["f4", "f2"]:
            info = np.finfo(kind)
            values = np.array([0.0, -0.0, 1, -1, np.nan, np.inf, -np.inf, info.max, -info.max,
                               info.tiny, info.smallest_subnormal], kind)
            a, b = values[:, None], values[None, :]
            with np.errstate(all="ignore"):
                expected = a + b
            self.assert_same(self.compute("add", self.save("a.npy", a), self.save("b.npy", b)),
                             expected, kind)

    def test_broadcasting(self):
        for a_shape, b_shape in [((3, 4), (4,)), ((3, 1), (1, 4)), ((), (2, 3)), ((5,), ()),
                                 ((2, 1, 3, 1), (4, 1, 5)),
                                 ((1,) * 8, (2, 1, 2, 1, 2, 1, 2, 3)), ((2, 0, 3), (1, 3)),
                                 ((0,), (1,))]:
            a, b = sample(self.rng, a_shape, "f4"), sample(self.rng, b_shape, "f4")
            self.assert_same(self.compute("add", self.save("a.npy", a), self.save("b.npy", b)),
                             np.asarray(a + b), f"{a_shape} {b_shape}")

    def test_numbers(self):
        """One operand may be a number, of the other's type."""
        for kind, numbers in [("f4", ["1.5", "-0.25", "1e-3", "0.1", "nan"]),
                              ("f2", ["1.5", "0.1"]), ("i1", ["-128", "127", "+3"]),
                              ("u1", ["255", "0"]),
                              ("i8", [str(2**63 - 1), str(-2**63)]), ("u8", [str(2**64 - 1)])]:
            x = sample(self.rng, (2, 3), kind)
            file = self.save("x.npy", x)
            for number in numbers:
                value = np.array(float(number) if kind[0] == "f" else int(number)).astype(kind)
                with np.errstate(all="ignore"):
                    self.assert_same(self.compute("add", file, number), x + value, number)
                    self.assert_same(self.compute("add", number, file), value + x, number)
        x = np.ones(3, F32)
        for arguments in [["--", file, "-inf"], ["--", "-inf", file]]:
            self.succeed("add", "-o", self.path("out.npy"),
                         *[self.save("x.npy", x) if part is file else part for part in arguments])
            self.assert_same(np.load(self.path("out.npy")), x - F32(np.inf))
        for kind, number, says in [("i4", "1.5", "1.5 is not an integer"),
                                   ("u1", "256", "256 is outside u8's range 0..255"),
                                   ("u1", "-1", "outside u8's range"),
                                   ("f2", "70000", "too large for an f16"),
                                   ("f4", "1e-50", "too small for an f32"),
                                   ("f4", "1e39", "too large")]:
            file = self.save("x.npy", np.ones(3, kind))
            self.refuse("add", file, number, says=["B: ", says])
            self.refuse("add", number, file, says=["A: ", says])
        self.refuse("add", 1, 2.5, says=["1 and 2.5 are both numbers", "one must be a file"])

    def test_fortran_order(self):
        for shape in [(3, 5), (2, 3, 4), (4, 1, 3, 2), (17, 33)]:
            a, b = np.asfortranarray(sample(self.rng, shape, "i4")), sample(self.rng, shape, "i4")
            self.assertIn(b"'fortran_order': True", read(self.save("a.npy", a)))
            self.assert_same(self.compute("add", self.path("a.npy"), self.save("b.npy", b)), a + b,
                             str(shape))

    def test_header_versions_and_spellings(self):
        data = np.arange(6, dtype="<i4")
        for version, header in [
            ((1, 0), "{'descr': '<i4', 'fortran_order': False, 'shape': (6,), }\n"),
            ((2, 0), "{'descr': '<i4', 'fortran_order': False, 'shape': (6,), }\n"),
            ((3, 0), "{'descr': '<i4', 'fortran_order': False, 'shape': (6,), }\n"),
            # Any order of keys, no comma, no newline.
            ((1, 0), "{'shape': (6,), 'fortran_order': False, 'descr': '<i4'}"),
            ((1, 0), '{"descr": "<i4", "fortran_order": False, "shape": (6L,)}\n'),  # Python 2
            ((1, 0), "{ 'descr' :'<i4','fortran_order':False , 'shape':( 6 , ) , }  \n"),
            ((1, 0), "{'descr': '=i4', 'fortran_order': False, 'shape': (6,\n), \n}\n"),
        ]:
            file = self.write("a.npy", make_npy(header, data.tobytes(), version))
            self.assert_same(self.compute("add", file, file), data + data, header)
        for order in "<>=|":  # a byte has none
            file = self.write("a.npy",
                              make_npy(f"{{'descr': '{order}u1', 'fortran_order': False, "
                                       "'shape': (3,)}", b"abc"))
            self.assert_same(self.compute("add", file, file), 2 * np.frombuffer(b"abc", "u1"))

    def test_output_reads_back_and_is_aligned(self):
        a = self.save("a.npy", np.ones((3, 4), "u1"))
        self.compute("add", a, a)
        data = read(self.path("out.npy"))
        self.assertEqual((len(data) - 12) % 64, 0)
        self.assertIn(b"'|u1'", data)

    def test_more_than_a_chunk(self):
        """Files are read and written 16 MiB at a time."""
        a = self.rng.integers(0, 256, (2 << 24) + 5, dtype="u1")
        self.assert_same(self.compute("add", self.save("a.npy", a),
                                      self.save("b.npy", np.ones(1, "u1"))), a + np.uint8(1))

    def test_output_may_be_an_input(self):
        a = np.arange(5, dtype="f4")
        self.save("a.npy", a)
        self.assert_same(self.compute("add", self.path("a.npy"), self.path("a.npy"), out="a.npy"),
                         a + a)

    def test_output_name_as_long_as_a_file_may_have(self):
        a = np.arange(5, dtype="f4")
        self.save("a.npy", a)
        self.assert_same(self.compute("add", self.path("a.npy"), self.path("a.npy"),
                                      out="o" * 251 + ".npy"), a + a)

    def test_who_lacks_what_a_target_needs(self):
        for target in json.loads(self.succeed("info", "--json").stdout)["targets"]:
            if target["supported"]:
                continue
            who = "this CPU or its system" if target["device"] == "cpu" else "this machine"
            self.assertIn(
                f"HEWN_VARIANT={target['name']} cannot run here: {who} lacks {target['missing']}",
                          self.succeed("info", HEWN_VARIANT=target["name"]).stdout)

    def test_variants_and_threads(self):
        a, b = sample(self.rng, (257, 129), "f4"), sample(self.rng, (129,), "f4")
        self.save("a.npy", a), self.save("b.npy", b)
        for target in cpu_targets(json.loads(self.succeed("info", "--json").stdout), "add_f32"):
            arguments = ["add", self.path("a.npy"), self.path("b.npy")]
            for name in [target["name"], "add_f32__" + target["name"]]:
                if not target["supported"]:
                    self.refuse(*arguments, "--variant", name,
                                says=["cannot run here", target["missing"]], code=1)
                    print(f"skipped: {name}: this machine lacks {target['missing']}")
                    continue
                for threads in [0, 1, 3]:
                    self.assert_same(self.compute(*arguments, "--variant", name, "--threads",
                                                  threads), a + b, name)
                result = self.succeed(*arguments, "-o", self.path("out.npy"), HEWN_VARIANT=name)
                self.assertIn("add_f32__" + target["name"], result.stdout)

    def test_devices(self):
        a, b = self.save("a.npy", sample(self.rng, (37, 129),
                                         "f4")), self.save("b.npy", sample(self.rng, (129,), "f4"))
        q = self.save("q.npy", sample(self.rng, (37, 129), "u1"))
        scales = self.save("s.npy", np.linspace(0.5, 2, 37).astype("f4"))
        commands = [["add", a, b], ["quantize", a, "--scale", 0.25, "--zero-point", 3, "--type",
                                    "i8"],
                    ["dequantize", q, "--scale", scales, "--axis", 0, "--zero-point", 7],
                    ["qadd", q, q, "--a-scale", 0.5, "--b-scale", 0.25, "--b-zero-point", 9,
                     "--scale", 0.75],
                    ["qmul", q, q, "--a-scale", 0.5, "--b-scale", 0.25, "--b-zero-point", 9,
                     "--scale", 6.5]]
        self.assert_same(self.compute(*commands[0], "--device", "cpu"), self.compute(*commands[0]))
        info = json.loads(self.succeed("info", "--json").stdout)
        built = {target["device"] for target in info["targets"]}
        for device in info["devices"]:
            if device["missing"]:
                continue
            if device["device"].split(":")[0] not in built:  # HEWN_TARGETS=cpu
                self.refuse(*commands[0], "--device", device["device"],
                            says="has no kernel add_f32", code=1)
                continue
            first = self.run_hewn(*commands[0], "-o", self.path("out.npy"), "--device",
                                  device["device"])
            # PoCL with an LLVM that is older than the CPU compiles nothing.
            if "unknown target CPU 'generic'" in first.stderr:
                continue
            for arguments in commands:
                self.assert_same(self.compute(*arguments, "--device", device["device"]),
                                 self.compute(*arguments), device["name"])
            self.assertIn(device["name"], self.succeed("info").stdout)
            self.refuse(*commands[0], "--device", device["device"], "--variant",
                        cpu_targets(info)[0]["name"], says=["cannot run here", "the CPU"], code=1)
            # A kind without an index is its first GPU, of OpenCL also software on the CPU.
            kind = device["device"].split(":")[0]
            if kind == "d3d12" and all(other["is_cpu"] or other["missing"]
                                       for other in info["devices"]
                                       if other["device"].startswith(kind)):
                self.refuse(*commands[0], "--device", kind,
                            says=["there is no GPU", device["name"]], code=1)
            else:
                self.assert_same(self.compute(*commands[0], "--device", kind),
                                 self.compute(*commands[0]), kind)
        for device, says in [("cuda:99", "add: CUDA: "), ("opencl:99", "add: OpenCL: "),
                             ("cpu:1", "add: CPU: there is one device")]:
            self.refuse(*commands[0], "--device", device, says=says, code=1)
        for device in ["gpu", "cuda:", "cuda:-1", "opencl:x", "cuda:1x", "opencl:4294967295",
                       "CPU"]:
            self.refuse(*commands[0], "--device", device, says=["--device: " + device], code=2)

    def test_progress(self):
        a = self.save("a.npy", np.zeros(100, "f4"))
        result = self.succeed("--progress", "add", a, a, "-o", self.path("out.npy"))
        for step in ["reading", "computing", "writing"]:
            self.assertIn(f"hewn: {step} ", result.stderr)
        self.assertIn("100 %", result.stderr)
        self.assertIn("100 %", self.succeed("add", a, a, "-o", self.path("out.npy"),
                                            "--progress").stderr)
        self.assertEqual(self.succeed("add", a, a, "-o", self.path("out.npy")).stderr, "")


class QuantizeTest(CliTest):
    def test_types(self):
        for kind, scale_kind in [("f4", "f4"), ("f2", "f2"), ("i4", "f4")]:
            for name, dtype in [("u8", np.uint8), ("i8", np.int8)]:
                x = sample(self.rng, (7, 33), kind)
                zero = int(sample(self.rng, (), dtype))
                scale = np.dtype(scale_kind).type(1e7 if kind == "i4" else 0.37)
                self.save("x.npy", x)
                expected = quantize(x, scale, zero, dtype)
                got = self.compute("quantize", self.path("x.npy"), "--scale", repr(float(scale)),
                                   "--zero-point", zero, "--type", name)
                self.assert_same(got, expected, f"{kind} {name}")
                got = self.compute("quantize", self.path("x.npy"), "--scale",
                                   self.save("s.npy", scale), "--zero-point",
                                   self.save("z.npy", dtype(zero)), "--type", name)
                self.assert_same(got, expected, f"{kind} {name} from files")

    def test_special_values(self):
        x = np.array([np.nan, np.inf, -np.inf, -0.0, 0.5, 1.5, 2.5, -0.5, 3e38, 1e-45, 127.5,
                      -128.5], F32)
        for zero in [0, 5, -5]:
            got = self.compute("quantize", self.save("x.npy", x), "--scale", 1,
                               f"--zero-point={zero}", "--type", "i8")
            self.assert_same(got, quantize(x, F32(1), zero, np.int8), str(zero))
        for scale in ["0", "nan", "inf", "-inf", "1e-45", "-2"]:
            got = self.compute("quantize", self.path("x.npy"), f"--scale={scale}", "--zero-point",
                               3, "--type", "u8")
            self.assert_same(got, quantize(x, F32(scale), 3, np.uint8), scale)

    def test_absent_zero_point_is_zero(self):
        x = sample(self.rng, (9,), "f4")
        self.assert_same(self.compute("quantize", self.save("x.npy", x), "--scale", 2, "--type",
                                      "i8"), quantize(x, F32(2), 0, np.int8))

    def test_per_axis_and_broadcasting(self):
        x = sample(self.rng, (4, 5, 6), "f4")
        self.save("x.npy", x)
        for axis, size in [(0, 4), (1, 5), (2, 6), (-1, 6), (-3, 4)]:
            scale, zero = self.rng.uniform(0.1, 3, size).astype(F32), sample(self.rng, size, "u1")
            shape = [1, 1, 1]
            shape[axis] = size
            expected = quantize(x, scale.reshape(shape), zero.reshape(shape), np.uint8)
            parameters = ["--scale", self.save("s.npy", scale), "--zero-point",
                          self.save("z.npy", zero), "--type", "u8"]
            self.assert_same(self.compute("quantize", self.path("x.npy"), *parameters, "--axis",
                                          axis), expected, f"axis {axis}")
            if axis in (2, -1):  # without --axis NumPy's rule: the last
                self.assert_same(self.compute("quantize", self.path("x.npy"), *parameters),
                                 expected)
            # one of the two per tensor
            parameters[3] = "7"
            expected = quantize(x, scale.reshape(shape), 7, np.uint8)
            self.assert_same(self.compute("quantize", self.path("x.npy"), *parameters, "--axis",
                                          axis), expected)
        # Of one element, which --axis does not concern.
        for scale in [2, self.save("s.npy", np.full(1, 2, F32))]:
            got = self.compute("quantize", self.path("x.npy"), "--scale", scale, "--type", "u8",
                               "--axis", 2)
            self.assert_same(got, quantize(x, F32(2), 0, np.uint8))
        for shape in [(4, 5, 6), (5, 1), (4, 1, 6), (1, 1, 1), (1,), (), (1, 1, 1, 1)]:
            scale = self.rng.uniform(0.1, 3, shape).astype(F32)
            got = self.compute("quantize", self.path("x.npy"), "--scale",
                               self.save("s.npy", scale), "--type", "i8")
            self.assert_same(got, quantize(x, scale.reshape(shape[-3:]), 0,
                                           np.int8).reshape(x.shape), str(shape))

    def test_precision(self):
        """ONNX's precision: NumPy's own f16 arithmetic, whose sums and quotients round once."""
        x, scale = sample(self.rng, (3, 50), "f4"), self.rng.uniform(0.1, 3, (50,)).astype(F32)
        with np.errstate(all="ignore"):
            quotients = x.astype("f2") / scale.astype("f2")
        for precision, due in (("f32", quantize(x, scale, 5, np.int8)),
                               ("f16", quantize(quotients.astype(F32), F32(1), 5, np.int8))):
            got = self.compute("quantize", self.save("x.npy", x), "--scale",
                               self.save("s.npy", scale), "--zero-point", 5, "--type", "i8",
                               "--precision", precision)
            self.assert_same(got, due, precision)
        self.refuse("quantize", self.path("x.npy"), "--scale", 1, "--type", "i8", "--precision",
                    "bf16", "--feature-level", "6.4", code=1,
                    says="precision BFLOAT16 needs feature level hewn")
        self.refuse("quantize", self.path("x.npy"), "--scale", 1, "--type", "i8", "--precision",
                    "f64", says="--precision")

    def test_blocks(self):
        """ONNX's block_size: a scale and a zero point for each block along the axis."""
        shape = (4, 6, 10)
        for order, (axis, block) in itertools.product("CF", [(0, 2), (1, 3), (1, 1), (1, 6),
                                                             (2, 5), (-1, 2), (-3, 4), (0, 3),
                                                             (1, 4), (2, 3), (2, 16)]):
            x, q = np.asarray(sample(self.rng, shape, "f4"),
                              order=order), np.asarray(sample(self.rng, shape, "i1"), order=order)
            self.save("x.npy", x), self.save("q.npy", q)
            blocks = list(shape)
            blocks[axis] = -(-blocks[axis] // block)
            repeat = lambda array: np.repeat(np.broadcast_to(array, blocks), block, axis)[
                :shape[0], :shape[1], :shape[2]]
            one = [1] * 3
            one[axis] = blocks[axis]
            for kept in [blocks, [size if i == axis % 3 else 1 for i, size in enumerate(blocks)],
                         one[:1] if axis == 0 else blocks[1:], ()]:
                scale = np.asarray(self.rng.uniform(0.1, 3, kept)).astype(F32)
                zero = sample(self.rng, tuple(kept), "i1")
                where = ["--axis", axis, "--block-size", block, "--scale",
                         self.save("s.npy", scale), "--zero-point", self.save("z.npy", zero)]
                if len(kept) == 1:
                    scale, zero = scale.reshape(one), zero.reshape(one)
                context = f"{order} axis {axis} block {block} scale {kept}"
                self.assert_same(self.compute("quantize", self.path("x.npy"), *where, "--type",
                                              "i8"),
                                 quantize(x, repeat(scale), repeat(zero), np.int8), context)
                self.assert_same(self.compute("dequantize", self.path("q.npy"), *where),
                                 dequantize(q, repeat(scale), repeat(zero)), context)
        x = sample(self.rng, (2, 2, 2, 2, 2, 2, 2, 6), "f4")  # 9 dimensions, with the block's
        scale = self.rng.uniform(0.1, 3, (2, 2, 2, 2, 2, 2, 2, 2)).astype(F32)
        got = self.compute("quantize", self.save("x.npy", x), "--scale", self.save("s.npy", scale),
                           "--axis", 7, "--block-size", 3, "--zero-point", 9, "--type", "u8")
        self.assert_same(got, quantize(x, np.repeat(scale, 3, 7), 9, np.uint8))
        pixels = sample(self.rng, (4, 6), "u1")
        scale = np.array([[0.01], [0.02]], F32)
        self.succeed("quantize", self.write("a.png", make_png(pixels, 8, 0)), "--scale",
                     self.save("s.npy", scale), "--axis", 0, "--block-size", 2, "--type", "u8",
                     "-o", self.path("out.png"))
        self.assert_same(read_png(self.path("out.png"))[:, :, 0],
                         quantize(pixels.astype(F32) / F32(255), np.repeat(scale, 2, 0), 0,
                                  np.uint8))
        empty = np.zeros((2, 0), F32)
        got = self.compute("quantize", self.save("x.npy", empty), "--scale",
                           self.save("s.npy", empty), "--axis", 1, "--block-size", 4, "--type",
                           "u8")
        self.assert_same(got, empty.astype(np.uint8))

    def test_packed_types(self):
        """4 and 2 bits: in files a value a byte, of u8 or i8."""
        for bits, kind, (axis, block) in itertools.product([4, 2], "iu", [(1, 1), (0, 1), (1, 3)]):
            shape, dtype = (5, 7), kind + "1"
            least = -(2**(bits - 1)) if kind == "i" else 0
            most = least + 2**bits - 1
            x = sample(self.rng, shape, "f4") / F32(20)
            blocks = [-(-size // block) if i == axis else 1 for i, size in enumerate(shape)]
            repeat = lambda array: np.repeat(array, block, axis)[:shape[0], :shape[1]]
            scale = self.rng.uniform(0.3, 2, blocks).astype(F32)
            zero = self.rng.integers(least, most + 1, blocks).astype(dtype)
            where = ["--axis", axis, "--block-size", block, "--scale", self.save("s.npy", scale),
                     "--zero-point", self.save("z.npy", zero)]
            q = quantize(x, repeat(scale), repeat(zero), np.int8 if kind == "i" else np.uint8)
            q = np.clip(q, least, most)
            context = f"{kind}{bits} axis {axis} block {block}"
            self.assert_same(self.compute("quantize", self.save("x.npy", x), *where, "--type",
                                          f"{kind}{bits}"), q, context)
            self.assert_same(self.compute("dequantize", self.save("q.npy", q), *where, "--bits",
                                          bits), dequantize(q, repeat(scale), repeat(zero)),
                             context)
        got = self.compute("dequantize", self.save("q.npy", np.array([1, 15], "u1")), "--scale", 2,
                           "--zero-point", 7, "--bits", 4)
        self.assert_same(got, np.array([-12, 16], F32))

    def test_packed_types_in_fortran_order(self):
        x = np.asfortranarray(np.arange(6, dtype="u1").reshape(2, 3))
        zero = np.asfortranarray(np.array([[1, 2, 3], [4, 5, 6]], "u1"))
        self.assert_same(self.compute("dequantize", self.save("x.npy", x), "--bits", 4, "--scale", 2,
                                      "--zero-point", self.save("z.npy", zero)),
                         2 * (x.astype(F32) - zero))
        self.assert_same(self.compute("quantize", self.save("f.npy", x.astype(F32)), "--type", "u4",
                                      "--scale", 1, "--zero-point", self.save("z.npy", zero)),
                         x + zero)

    def test_packed_types_that_do_not_fit(self):
        x, q = self.save("x.npy", np.ones(3, F32)), self.save("q.npy", np.array([1, 16], "u1"))
        self.refuse("dequantize", q, "--scale", 1, "--bits", 4,
                    says=["q.npy: element 1 is 16, u4's range is 0..15"])
        self.refuse("dequantize", self.save("i.npy", np.array([-9], "i1")), "--scale", 1, "--bits",
                    4, says=["i.npy: element 0 is -9, i4's range is -8..7"])
        self.refuse("dequantize", self.save("w.npy", np.ones(2, "i4")), "--scale", 1, "--bits", 4,
                    says=["--bits 4: ", "w.npy is i32", "u8 or i8"])
        self.refuse("dequantize", q, "--scale", 1, "--bits", 3, says="--bits")
        self.refuse("quantize", x, "--scale", 1, "--zero-point", 4, "--type", "u2",
                    says="--zero-point 4: element 0 is 4, u2's range is 0..3")
        self.refuse("quantize", x, "--scale", 1, "--zero-point", q, "--type", "u4",
                    says="q.npy: element 1 is 16, u4's range is 0..15")
        self.refuse("quantize", x, "--scale", 1, "--type", "u4", "--feature-level", "6.4",
                    says="UINT4 needs feature level hewn", code=1)

    def test_blocks_that_do_not_fit(self):
        x, u8 = self.save("x.npy", np.ones((2, 12), F32)), ["--type", "u8"]
        three = self.save("three.npy", np.ones((2, 3), F32))
        for block in [5, 8, 2**31 - 1]:
            self.refuse("quantize", x, "--scale", self.save("s.npy", np.ones((2, 4), F32)),
                        "--axis", 1, "--block-size", block, *u8,
                        says=[f"with --block-size {block} the input's sizes count blocks"])
        self.refuse("quantize", x, "--scale", three, "--axis", 1, "--block-size", 4, *u8,
                    "--feature-level", "6.4", says="a block size needs feature level hewn", code=1)
        for scale, sizes in [(np.ones((2, 4), F32), "[2, 4]"), (np.ones((2, 12), F32), "[2, 12]"),
                             (np.ones((3, 3), F32), "[3, 3]")]:
            self.refuse("quantize", x, "--scale", self.save("s.npy", scale), "--axis", 1,
                        "--block-size", 4, *u8,
                        says=["ScaleTensor", "s.npy", sizes, "[2, 3]",
                              "with --block-size 4 the input's sizes count blocks"])
        self.refuse("quantize", x, "--scale", three, "--zero-point",
                    self.save("z.npy", np.ones(12, "u1")), "--axis", 1, "--block-size", 4, *u8,
                    says=["ZeroPointTensor", "12 elements", "axis 1", "has 3", "count blocks"])
        self.refuse("quantize", x, "--scale", three, "--block-size", 4, *u8,
                    says=["--block-size", "--axis"])
        self.refuse("quantize", x, "--scale", 1, "--axis", 2, "--block-size", 4, *u8,
                    says=["--axis 2", "2 dimensions"])
        for block in ["0", "-1", "1.5", "four", 2**31, 10**20]:
            self.refuse("quantize", x, "--scale", three, "--axis", 1, "--block-size", block, *u8,
                        says="--block-size")
        flat = self.save("flat.npy", np.ones((1, 1, 1, 4), "u1"))
        self.refuse("dequantize", flat, "--scale", 1, "--axis", 3, "--block-size", 2,
                    "--zero-point", 1, "--feature-level", "2.0",
                    says=["flat.npy", "needs feature level hewn"], code=1)

    def test_ranks_and_fortran_order(self):
        for rank in range(9):
            x = np.asfortranarray(sample(self.rng, tuple(self.rng.integers(1, 4, rank)), "f2"))
            got = self.compute("quantize", self.save("x.npy", x), "--scale", 0.5, "--zero-point",
                               128, "--type", "u8")
            self.assert_same(got, np.asarray(quantize(x, F16(0.5), 128, np.uint8)), f"rank {rank}")

    def test_empty(self):
        for shape in [(0,), (3, 0, 2)]:
            x = np.zeros(shape, "f4")
            got = self.compute("quantize", self.save("x.npy", x), "--scale", 1, "--type", "u8")
            self.assert_same(got, x.astype(np.uint8))

    def test_32_bits(self):
        x = self.save("x.npy", np.array([2.5, np.nan, 3e9, -3e9, 1e10, -np.inf], F32))
        for name, zero, expected in [
                ("i32", -2**31, [2 - 2**31, -2**31, 3 * 10**9 - 2**31, -2**31, 2**31 - 1, -2**31]),
                ("u32", 2**32 - 1, [2**32 - 1, 2**32 - 1, 2**32 - 1, 2**32 - 1 - 3 * 10**9,
                                    2**32 - 1, 0])]:
            got = self.compute("quantize", x, "--scale", 1, f"--zero-point={zero}", "--type", name)
            self.assert_same(got, np.array(expected, name[0] + "4"), name)
        self.refuse("quantize", x, "--scale", 1, "--type", "i32", "--feature-level", "6.4", code=1,
                    says="OutputTensor: INT32 needs feature level hewn")

    def test_files_must_have_the_right_type(self):
        x = self.save("x.npy", np.zeros(3, "f4"))
        hint = lambda descr: f"save it with .astype('{descr}')"
        self.refuse("quantize", x, "--scale", self.save("s.npy", F16(1)), "--type", "u8",
                    "--feature-level", "6.4", says=["ScaleTensor", "s.npy", hint("<f4")], code=1)
        self.refuse("quantize", x, "--scale", 1, "--zero-point", self.save("z.npy", np.int8(1)),
                    "--type", "u8", says=["ZeroPointTensor", "z.npy", hint("|u1")], code=1)
        self.assertNotIn("astype",
                         self.refuse("quantize", self.save("y.npy", np.zeros(3, "i2")), "--scale",
                                     1, "--type", "u8", says=["InputTensor", "y.npy"],
                                     code=1).stderr)
        # What NumPy makes of Python's integers by itself.
        z, n = self.save("z.npy", np.array(3)), self.save("n.npy", np.arange(3))
        u, w = self.save("u.npy", np.ones(3, "u1")), self.save("w.npy", np.ones(3, "i2"))
        half = self.save("h.npy", np.ones(3, F16))
        for arguments, tensor, descr in [(["quantize", x, "--scale", 1, "--zero-point", z,
                                           "--type", "u8"], "ZeroPointTensor: ", "|u1"),
                                         (["quantize", x, "--scale", 1, "--zero-point", z,
                                           "--type", "i8"], "ZeroPointTensor: ", "|i1"),
                                         (["quantize", x, "--scale", z, "--type", "u8"],
                                          "ScaleTensor: ", "<f4"),
                                         (["quantize", half, "--scale", z, "--type", "u8"],
                                          "ScaleTensor: ", "<f2"),
                                         (["quantize", n, "--scale", 1, "--type", "u8"],
                                          "InputTensor: ", "<f4"),
                                         (["dequantize", u, "--scale", 1, "--zero-point", z],
                                          "ZeroPointTensor: ", "|u1"),
                                         (["dequantize", w, "--scale", 1, "--zero-point", z],
                                          "ZeroPointTensor: ", "<i2"),
                                         (["dequantize", u, "--scale", z], "ScaleTensor: ", "<f4"),
                                         (["dequantize", n, "--scale", 1, "--zero-point", z],
                                          "ZeroPointTensor: ", "<i4"),
                                         (["dequantize", n, "--scale", 1], "InputTensor: ", "<i4"),
                                         (["qadd", u, u, "--a-scale", 1, "--b-scale", 1, "--scale",
                                           1, "--b-zero-point", z], "BZeroPointTensor: ", "|u1"),
                                         (["qadd", u, u, "--a-scale", 1, "--b-scale", 1, "--scale",
                                           z], "OutputScaleTensor: ", "<f4")]:
            text = self.refuse(*arguments, says=tensor, code=1).stderr
            self.assertRegex(text, tensor + r"\S+\.npy i64 \[3?\], " + re.escape(hint(descr)))
        self.refuse("add", n, u, says=["i64", hint("|u1")])
        self.refuse("add", x, half, says=["f16", hint("<f4")])
        self.refuse("dml-dequantize", u, "--scale", self.save("s.npy", F32(1)), "--type", "f16",
                    says=hint("<f2"))


class DequantizeTest(CliTest):
    def test_types(self):
        for kind in ["i1", "u1", "i2", "u2", "i4", "u4"]:
            for name, scale_type in [("f32", F32), ("f16", F16)]:
                x = sample(self.rng, (5, 67), kind)
                zero = int(sample(self.rng, (), kind))
                scale = scale_type(0.013)
                expected = dequantize(x, scale, zero)
                self.save("x.npy", x)
                got = self.compute("dequantize", self.path("x.npy"), "--scale", "0.013",
                                   f"--zero-point={zero}", "--type", name)
                self.assert_same(got, expected, f"{kind} {name}")
                got = self.compute("dequantize", self.path("x.npy"), "--scale",
                                   self.save("s.npy", scale), "--zero-point",
                                   self.save("z.npy", np.dtype(kind).type(zero)))
                self.assert_same(got, expected, f"{kind} {name} from files")

    def test_numbers_round_once(self):
        """From the decimal number to f32 or f16. A sign of a zero point may be written."""
        one = self.save("x.npy", np.ones(1, "i4"))
        self.assert_same(self.compute("dequantize", one, "--scale",
                                      "1.000000059604644775390625001"), np.array([1 + 2**-23], F32))
        self.assert_same(self.compute("dequantize", one, "--scale", "1e-7", "--type", "f16"),
                         np.array([2**-23], F16))
        for scale in [2**-15, -3 * 2**-16, 2**-24, 2**-14 - 2**-25, 1.5 * 2**-24, 2.5 * 2**-24,
                      2**-25 * 1.001, 1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-11 + 2**-30,
                      2047 * 2**-11 + 2**-13, 65504, 65519.99, 40000]:
            self.assert_same(self.compute("dequantize", one, f"--scale={scale!r}", "--type",
                                          "f16"), np.array([scale]).astype(F16), str(scale))
        self.assert_same(self.compute("dequantize", one, "--scale", 1, "--zero-point=+3"),
                         np.array([-2], F32))

    def test_per_axis(self):
        x = sample(self.rng, (3, 4, 5), "i1")
        scale, zero = np.array([0.5, -0.1, 3, 7e-3], F32), np.array([1, -2, 127, -128], "i1")
        got = self.compute("dequantize", self.save("x.npy", x), "--scale",
                           self.save("s.npy", scale), "--zero-point",
                           self.save("z.npy", zero), "--axis", 1)
        self.assert_same(got, dequantize(x, scale[:, None], zero[:, None]))

    def test_the_output_may_have_another_type_than_the_scale_file(self):
        x, third = self.save("x.npy", np.arange(3, dtype="u1")), 1 / F32(3)
        for scale, kind in [(third, F16), (F16(third), F32)]:
            name = {F16: "f16", F32: "f32"}[kind]
            arguments = ["dequantize", x, "--scale", self.save("s.npy", scale), "--type", name]
            product = np.arange(3, dtype=F32) * F32(scale)
            self.assert_same(self.compute(*arguments), product.astype(kind))
            self.refuse(*arguments, "--feature-level", "6.4", code=1,
                        says=["OutputTensor", "needs feature level hewn"])
        self.refuse("dml-dequantize", x, "--scale", self.save("s.npy", third), "--type", "f16",
                    says=["ScaleTensor", "s.npy", "f32", "f16"])

    def test_round_trip(self):
        x = self.rng.uniform(-1, 1, (64, 65)).astype(F32)
        q = self.compute("quantize", self.save("x.npy", x), "--scale", 0.01, "--type", "i8")
        d = self.compute("dequantize", self.save("q.npy", q), "--scale", 0.01)
        self.assertLess(np.abs(d - x).max(), 0.0051)


class QaddTest(CliTest):
    def test_types(self):
        for a_kind, b_kind, (name, out) in itertools.product(["i1", "u1"], ["i1", "u1"],
                                                             [("i8", np.int8), ("u8", np.uint8)]):
            a, b = sample(self.rng, (6, 35), a_kind), sample(self.rng, (6, 35), b_kind)
            az, bz, oz = (int(sample(self.rng, (), kind)) for kind in [a_kind, b_kind, out])
            got = self.compute("qadd", self.save("a.npy", a), self.save("b.npy", b), "--a-scale",
                               0.03, f"--a-zero-point={az}",
                               "--b-scale", 0.11, f"--b-zero-point={bz}", "--scale", 0.07,
                               f"--zero-point={oz}", "--type", name)
            self.assert_same(got, quantized_add(a, 0.03, az, b, 0.11, bz, 0.07, oz, out),
                             f"{a_kind} {b_kind} {name}")

    def test_defaults_files_and_broadcasting(self):
        for a_shape, b_shape in [((4, 1, 3), (5, 1)), ((), ()), ((2,) * 8, (2,)), ((3,), (1,))]:
            a, b = sample(self.rng, a_shape, "u1"), sample(self.rng, b_shape, "u1")
            got = self.compute("qadd", self.save("a.npy", a), self.save("b.npy", b), "--a-scale",
                               self.save("as.npy", np.full((1, 1), 0.5, F32)),
                               "--b-scale", self.save("bs.npy", np.array([0.25], F32)),
                               "--output-scale", self.save("os.npy", F32(0.7)),
                               "--output-zero-point", self.save("oz.npy", np.uint8(9)))
            self.assert_same(got, np.asarray(quantized_add(a, 0.5, 0, b, 0.25, 0, 0.7, 9,
                                                           np.uint8)), f"{a_shape} {b_shape}")
        scales = ["--a-scale", 1, "--b-scale", 1, "--scale", 1]
        ones = [self.save("a.npy", np.ones(3, "u1")), self.save("b.npy", np.ones(3, "i1"))]
        self.assert_same(self.compute("qadd", *ones, *scales), np.full(3, 2, "u1"))
        self.assert_same(self.compute("qadd", *ones[::-1], *scales), np.full(3, 2, "i1"))

    def test_refused(self):
        a = self.save("a.npy", np.zeros((2, 3), "u1"))
        scales = ["--a-scale", 1, "--b-scale", 1, "--scale", 1]
        two = self.save("two.npy", np.ones(2, F32))
        self.refuse("qadd", a, a, "--a-scale", two, *scales[2:],
                    says=["AScaleTensor", "two.npy", "2 elements", "exactly 1"])
        self.refuse("qadd", a, a, *scales[:4], "--scale", two,
                    says=["OutputScaleTensor", "2 elements"])
        self.refuse("qadd", a, self.save("c.npy", np.zeros((2, 4), "u1")), *scales,
                    says=["ATensor", "BTensor", "[2, 3]", "[2, 4]"])
        self.refuse("qadd", a, self.save("f.npy", np.zeros((2, 3), "f4")), *scales,
                    says=["BTensor", "f.npy"], code=1)
        self.refuse("qadd", a, a, *scales, "--a-zero-point", 256,
                    says=["--a-zero-point", "256", "0..255"])
        self.refuse("qadd", a, a, *scales, "--feature-level", "3.0", says="4.0", code=1)
        self.refuse("qadd", a, a, *scales[2:], says="--a-scale")


class QmulTest(CliTest):
    def test_types(self):
        for kind, (name, out) in itertools.product(["i1", "u1"],
                                                   [("i8", np.int8), ("u8", np.uint8)]):
            a, b = sample(self.rng, (6, 35), kind), sample(self.rng, (35,), kind)
            az, bz, oz = (int(sample(self.rng, (), each)) for each in [kind, kind, out])
            got = self.compute("qmul", self.save("a.npy", a), self.save("b.npy", b), "--a-scale",
                               0.03, f"--a-zero-point={az}",
                               "--b-scale", 0.11, f"--b-zero-point={bz}", "--scale", 0.37,
                               f"--zero-point={oz}", "--type", name)
            self.assert_same(got, quantized_mul(a, 0.03, az, b, 0.11, bz, 0.37, oz, out),
                             f"{kind} {name}")

    def test_defaults(self):
        threes = self.save("a.npy", np.full(3, 3, "u1"))
        # 4.5.
        self.assert_same(self.compute("qmul", threes, threes, "--a-scale", 1, "--b-scale", 0.5,
                                      "--scale", 1), np.full(3, 4, "u1"))

    def test_refused(self):
        a, scales = self.save("a.npy", np.zeros((2, 3), "u1")), ["--a-scale", 1, "--b-scale", 1,
                                                                 "--scale", 1]
        self.refuse("qmul", a, self.save("b.npy", np.zeros((2, 3), "i1")), *scales,
                    says=["BTensor", "one data type"])
        for operands in [a, 3], [3, a]:
            self.refuse("qmul", *operands, *scales, says="a number is not taken here")
        self.refuse("qmul", a, a, *scales, "--feature-level", "6.4",
                    says="needs feature level hewn, compiled at 6.4", code=1)
        self.refuse("qmul", a, a, "--a-scale", self.save("two.npy", np.ones(2, F32)), *scales[2:],
                    says=["AScaleTensor", "2 elements"])


class DirectmlPairTest(CliTest):
    """dml-quantize and dml-dequantize: an absent zero point is the middle, blocks are whole."""

    def test_middles(self):
        x = np.float32([-40, -1, 0, 0.5, 3, 40])
        path = self.save("x.npy", x)
        for name, least, most, middle in [("u8", 0, 255, 128), ("i8", -128, 127, 0),
                                          ("u4", 0, 15, 8), ("i4", -8, 7, 0)]:
            got = self.compute("dml-quantize", path, "--scale", 0.25, "--type", name)
            expected = np.clip(x * 4 + middle, least, most)
            self.assert_same(got, expected.astype(name[0] + "1"), name)
            bits = ["--bits", 4] if name.endswith("4") else []
            back = self.compute("dml-dequantize", self.save("q.npy", got), "--scale", 0.25, *bits)
            self.assert_same(back, ((expected - middle) * F32(0.25)).astype("f4"), name)

    def test_refused(self):
        x = self.save("x.npy", np.zeros(6, F32))
        scales = ["--scale", self.save("s.npy", np.ones(2, F32)), "--type", "u8", "--axis", 0]
        self.compute("dml-quantize", x, *scales, "--block-size", 3)
        self.refuse("dml-quantize", x, *scales, "--block-size", 4,
                    says=["ScaleTensor", "block size 4 of dimension 0 does not divide"], code=1)
        self.refuse("dml-quantize", x, *scales, "--block-size", 3, "--feature-level", "6.2",
                    says="QUANTIZE: needs feature level 6.3, compiled at 6.2", code=1)
class DynamicTest(CliTest):
    def dynamic(self, x, dtype):
        """The outputs, by the formula."""
        limits, values = np.iinfo(dtype), x.astype(F32)
        low, high = min(F32(0), np.nanmin(values)), max(F32(0), np.nanmax(values))
        scale = (high - low) / F32(limits.max - limits.min) if high != low else F32(1)
        zero = np.rint(np.clip(F32(limits.min) - low / scale, limits.min, limits.max))
        return quantize(x, F32(scale), int(zero), dtype), F32(scale), dtype(zero)

    def test_types(self):
        for kind, (name, out) in itertools.product(["f4", "f2"], [("u8", np.uint8),
                                                                  ("i8", np.int8)]):
            x = (self.rng.standard_normal((6, 35)) * 3 + 1).astype(kind)
            result = self.succeed("dynamic", self.save("x.npy", x), "--type", name, "-o",
                                  self.path("y.npy"), "--scale", self.path("s.npy"),
                                  "--zero-point", self.path("z.npy"))
            y, scale, zero = self.dynamic(x, out)
            self.assert_same(np.load(self.path("y.npy")), y, name)
            self.assert_same(np.load(self.path("s.npy")), np.asarray(scale), name)
            self.assert_same(np.load(self.path("z.npy")), np.asarray(zero), name)
            line = re.fullmatch(r".*; OutputScaleTensor (\S+); OutputZeroPointTensor (\S+)\n",
                                result.stdout)
            self.assertEqual((F32(line[1]), int(line[2])), (scale, zero))

    def test_default_type(self):
        x = self.save("x.npy", np.linspace(-1, 2, 7, dtype=F32))
        self.assert_same(self.compute("dynamic", x), self.compute("dynamic", x, "--type", "u8"))

    def test_refused(self):
        x = self.save("x.npy", np.zeros((2, 3), F32))
        self.refuse("dynamic", x, "--type", "u8", "--feature-level", "3.1",
                    says="needs feature level 4.0, compiled at 3.1", code=1)
        self.refuse("dynamic", x, "--type", "u8", "--scale", self.path("none/s.npy"),
                    says="none/s.npy")


    def test_outputs_are_different_files(self):
        x = self.save("x.npy", np.linspace(0, 1, 5, dtype=F32))
        os.mkdir(self.path("folder"))
        out, here = self.path("out.npy"), self.folder.name
        spellings = [f"{here}/./out.npy", f"{here}/folder/../out.npy", out]
        if os.name != "nt":
            os.symlink("out.npy", self.path("link.npy"))
            os.symlink(".", self.path("here"))
            spellings += [self.path("link.npy"), f"{here}/here/out.npy", f"{here}/here/link.npy"]
        for there in [False, True]:
            if there:
                self.save("out.npy", np.arange(3))
                os.link(out, self.path("hard.npy"))
                spellings.append(self.path("hard.npy"))
            for spelling in spellings:
                for option in ["--output-scale", "--zero-point"]:
                    self.refuse("dynamic", x, option, spelling,
                                says=[f" {spelling}: is the same file as -o {out}"])
                self.refuse("dynamic", x, "--scale", self.path("s.npy"), "--zero-point",
                            f"{here}/./s.npy", says="is the same file as --scale ")
        self.assert_same(np.load(out), np.arange(3))

    def test_all_outputs_or_none(self):
        """The scale cannot be a picture: then there is no output either, not even the first."""
        x = self.save("x.npy", np.linspace(0, 1, 5, dtype=F32))
        self.refuse("dynamic", x, "--scale", self.path("s.png"), says="s.png")

    @unittest.skipIf(os.name == "nt", "limits of POSIX")
    def test_a_full_disk(self):
        """The second output has no room: then the first does not appear."""
        import resource
        x = self.save("x.npy", np.ones(1, F32))
        limit = (130, 130)  # of a file's bytes: the output has 129, the scale 132
        result = subprocess.run([HEWN, "dynamic", x, "--scale", self.path("s.npy"), "-o",
                                 self.path("out.npy")], capture_output=True, text=True,
                                timeout=HANG, preexec_fn=lambda: resource.setrlimit(
                                    resource.RLIMIT_FSIZE, limit))
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(os.listdir(self.folder.name), ["x.npy"])


class ImageTest(CliTest):
    def test_png(self):
        for color, shape in [(0, (5, 7)), (4, (5, 7, 2)), (2, (5, 7, 3)), (6, (5, 7, 4))]:
            pixels = sample(self.rng, shape, "u1")
            file = self.write("a.png", make_png(pixels, 8, color))
            self.assert_same(self.compute("add", file, file), pixels + pixels,
                             f"colour type {color}")
            got = self.compute("quantize", file, "--scale", 0.01, "--zero-point", 3, "--type", "u8")
            self.assert_same(got, quantize(pixels.astype(F32) / F32(255), F32(0.01), 3, np.uint8),
                             f"colour type {color}")
            self.succeed("add", file, file, "-o", self.path("out.png"))
            self.assert_same(read_png(self.path("out.png")).reshape(shape), pixels + pixels)

    def test_png_with_16_bits(self):
        pixels = sample(self.rng, (4, 6, 3), "u2")
        file = self.write("a.png", make_png(pixels, 16, 2))
        self.assert_same(self.compute("add", file, file), pixels + pixels)
        self.succeed("add", file, file, "-o", self.path("out.png"))
        self.assert_same(read_png(self.path("out.png")).astype("u2"), pixels + pixels)
        got = self.compute("quantize", file, "--scale", 0.01, "--type", "u8")
        self.assert_same(got, quantize(pixels.astype(F32) / F32(65535), F32(0.01), 0, np.uint8))

    def test_jpeg(self):
        for name in ["a.jpg", "a.jpeg", "a.JPG"]:
            file = self.write(name, JPEG)
            # 128 + 128 wraps.
            self.assert_same(self.compute("add", file, file), np.zeros((3, 4), np.uint8))
        got = self.compute("dequantize", file, "--scale", 0.5)
        self.assert_same(got, np.full((3, 4), 64, F32))

    def test_photograph(self):
        photo = os.path.join(SOURCE_DIR, "examples", "data", "chelsea.png")
        if not os.path.exists(photo):
            self.skipTest("no photograph in examples/data")
        scale = np.array([0.004, 0.005, 0.006], F32)
        pixels = read_png(photo)
        got = self.compute("quantize", photo, "--scale", self.save("s.npy", scale), "--axis", 2,
                           "--type", "u8")
        self.assert_same(got, quantize(pixels.astype(F32) / F32(255), scale, 0, np.uint8))

    def test_limits(self):
        """A small file can hold what takes minutes and gigabytes to decode."""
        for scans, arguments in [(1, ["--max-scans", 1]), (2, []), (100, []),
                                 (101, ["--max-scans", 101]), (883, ["--max-scans", 1000])]:
            file = self.write("a.jpg", make_progressive_jpeg(scans))
            self.assert_same(self.compute("add", file, 1, *arguments),
                             np.full((8, 8), 129, np.uint8))
            if arguments:
                for command in [["add", file, file], ["quantize", file, "--scale", 1, "--type",
                                                      "u8"], ["dequantize", file, "--scale", 1],
                                ["qadd", file, file, "--a-scale", 1, "--b-scale", 1, "--scale", 1],
                                ["dequantize", file, "--scale", file]]:
                    self.refuse(*command, "--max-scans", scans - 1 or "0",
                                says=["a.jpg", "--max-scans"] if scans > 1 else "--max-scans")
        pixels = np.ones((1024, 1025), np.uint8)
        file = self.write("a.png", make_png(pixels, 8, 0))
        self.assert_same(self.compute("add", file, file, "--max-image-mib", 2), pixels + pixels)
        self.refuse("add", file, file, "--max-image-mib", 1,
                    says=["a.png", "1049600 bytes", "1 MiB", "--max-image-mib"])
        self.assert_same(self.compute("add", self.write("b.png", make_png(pixels[:, :1024], 8, 0)),
                                      0, "--max-image-mib", 1), pixels[:, :1024])
        for value in ["0", "-1", "many", 2**31]:
            for option in ["--max-image-mib", "--max-scans"]:
                self.refuse("add", file, file, option, value, says=option)

    def test_what_is_not_used_of_a_png_may_be_wrong(self):
        pixels = sample(self.rng, (5, 7), "u1")
        for chunk in [png_chunk(b"iCCP", b"profile\0\0" + zlib.compress(b"no profile")),
                      png_chunk(b"gAMA", b"\0"), png_chunk(b"tIME", b"\xff" * 7),
                      png_chunk(b"sRGB", b"\x09"), png_chunk(b"zTXt", b"a\0\0no stream"),
                      png_chunk(b"prVt", b"anything"),
                      png_chunk(b"iTXt", b"a\0\1\0\0\0" + zlib.compress(bytes(50_000_000)))]:
            file = self.write("a.png", make_png(pixels, 8, 0, extra=chunk))
            result = self.succeed("add", file, 0, "-o", self.path("out.npy"))
            self.assertEqual(result.stderr, "", chunk)
            self.assert_same(np.load(self.path("out.npy")), pixels)

    def test_floats_as_png(self):
        for kind in [F32, F16]:
            x = np.array([[-1, 0, 0.25, 0.5], [1, 2, np.nan, np.inf]], kind)
            zero = self.save("z.npy", np.zeros(1, kind))
            self.succeed("add", self.save("x.npy", x), zero, "-o", self.path("out.png"))
            self.assert_same(read_png(self.path("out.png"))[:, :, 0],
                             np.array([[0, 0, 64, 128], [255, 255, 0, 255]], np.uint8))

    def test_refused(self):
        grey = np.arange(35, dtype=np.uint8).reshape(5, 7)
        good = make_png(grey, 8, 0)
        for name, data, says in [
            ("palette.png", make_png(grey, 8, 3), "palette"),
            ("bits.png", make_png(grey[:, :1], 1, 0, width=7), "8 or 16 bits"),
            ("interlaced.png", make_png(grey, 8, 0, interlace=1), "interlacing"),
            ("huge.png", make_png(grey, 8, 0, width=999999, height=999999),
             "its pixels take 999998000001 bytes, more than 512 MiB (--max-image-mib"),
            ("wide.png", make_png(grey, 8, 0, width=2**31 - 1, height=2**31 - 1),
             "cannot be used as a PNG"),
            ("words.png", make_png(grey, 16, 6, width=8192, height=8193),
             "its pixels take 536936448 bytes, more than 512 MiB"),
            ("edge.png", make_png(grey, 16, 6, width=8192, height=8192), "Not enough image data"),
            ("huge.jpg", make_jpeg_header(65500, 65500, 3),
             "its pixels take 12870750000 bytes, more than 512 MiB (--max-image-mib"),
            ("rows.jpg", make_jpeg_header(16384, 32769, 1),
             "its pixels take 536887296 bytes, more than 512 MiB"),
            ("edge.jpg", make_jpeg_header(16384, 32768, 1), "table 0x00 was not defined"),
            ("scans.jpg", make_progressive_jpeg(101),
             "cannot be used as a JPEG: it has more than 100 scans (--max-scans"),
            ("text.png", b"no image at all", "Not a PNG file"),
            ("short.png", good[:20], "cannot be used as a PNG"),
            ("truncated.png", good[:-25], "cannot be used as a PNG"),
            ("checksum.png",
             make_png(grey, 8, 0, parts=lambda data: [data[:-1] + bytes([data[-1] ^ 1])]),
             "incorrect data check"),
            ("later_checksum.png",
             make_png(grey, 8, 0, parts=lambda data: [data[:-4], b"\0\0\0\0"]),
             "incorrect data check"),
            ("no_checksum.png", make_png(grey, 8, 0, parts=lambda data: [data[:-4]]),
             "cannot be used as a PNG"),
            ("more.png", make_png(grey, 8, 0, height=4), "Too much image data"),
            ("behind.png", make_png(grey, 8, 0, parts=lambda data: [data + b"more"]),
             "Extra compressed data"),
            ("text_crc.png", make_png(grey, 8, 0, extra=png_chunk(b"tEXt", b"a\0b")[:-1] + b"\0"),
             "CRC error"),
            ("transparent.png", make_png(grey, 8, 0, extra=png_chunk(b"tRNS", b"\0" * 5)),
             "cannot be used as a PNG"),
            ("crc.png", good[:45] + bytes([good[45] ^ 255]) + good[46:], "cannot be used as a PNG"),
            ("empty.png", b"", "cannot be used as a PNG"),
            ("text.jpg", b"no image", "cannot be used as a JPEG: Not a JPEG file"),
            ("empty.jpg", b"", "cannot be used as a JPEG: Empty input file"),
            ("truncated.jpg", JPEG[:-2], "cannot be used as a JPEG: Premature end"),
            ("cmyk.jpg", CMYK_JPEG, "CMYK is not supported"),
            ("half.jpg", JPEG[:150], "cannot be used as a JPEG"),
        ]:
            file = self.write(name, data)
            text = self.refuse("add", file, file, says=[name, says]).stderr
            self.assertEqual(text.count("\n"), 1, text)  # nothing of libpng's or libjpeg's own
        a = self.save("a.npy", np.zeros((2, 2), "i1"))
        self.refuse("add", a, a, out="out.png", says=["out.png", "i8"])
        for shape in [(4,), (2, 2, 5), (2, 2, 2, 2), (0, 3), ()]:
            a = self.save("a.npy", np.zeros(shape, "u1"))
            self.refuse("add", a, a, out="out.png", says="out.png: a PNG")


class BadNpyTest(CliTest):
    def test_malformed(self):
        good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n"
        data = np.ones(2, "f4").tobytes()

        def header(descr="'<f4'", order="False", shape="(2,)"):
            return make_npy(
                f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n", data)

        for file, says in [
            (b"", "only 0 bytes"),
            (b"\x93NUM", "only 4 bytes"),
            (b"PK\x03\x04 this is a zip file", "does not start with"),
            (make_npy(good, data, magic=b"\x92NUMPY"), "does not start with"),
            (make_npy(good, data, magic=b"\x93NUMPZ"), "does not start with"),
            (make_npy(good, data, version=(4, 0)), "version 4.0"),
            (make_npy(good, data, version=(0, 9)), "version 0.9"),
            (make_npy(good, data, version=(1, 1)), "version 1.1"),
            (b"\x93NUMPY\x01\x00", "ends before its header"),
            (b"\x93NUMPY\x02\x00\x10", "ends before its header"),
            (make_npy(good, length=5000), "header should have 5000 bytes"),
            (make_npy(good, version=(2, 0), length=2**32 - 1),
             "header should have 4294967295 bytes"),
            (make_npy(good, data[:-1]), "truncated"),
            (make_npy(good), "needs 8 bytes of data, the file has 0"),
            (make_npy(good, data + b"\0"), "1 bytes after its data"),
            (make_npy("", data), "not a Python dict"),
            (make_npy("[1, 2]", data), "not a Python dict"),
            (make_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)", data),
             "not a Python dict"),
            (make_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}}", data),
             "not a Python dict"),
            (make_npy("{'descr': '<f4', 'fortran_order': False, 'shape': __import__('os')}", data),
             "not a Python dict"),
            (make_npy("{'descr': '<f4\n", data), "not a Python dict"),
            (make_npy(b"{'descr': '\xff\xfe', 'fortran_order': False, 'shape': (2,)}", data),
             "not a Python dict"),
            (make_npy("{" * 60000, data), "not a Python dict"),
            (make_npy("(" * 60000, data), "not a Python dict"),
            (make_npy("{'descr': " + "(" * 30000 + ")" * 30000
                      + ", 'fortran_order': False, 'shape': (2,)}", data), "structured"),
            (make_npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + "(" * 30000
                      + ")" * 30000 + "}", data), "integers"),
            (make_npy("{'descr': '<f4', 'fortran_order': False}", data), "lacks the key 'shape'"),
            (make_npy("{'fortran_order': False, 'shape': (2,)}", data), "lacks the key 'descr'"),
            (make_npy("{'descr': '<f4', 'shape': (2,)}", data), "lacks the key 'fortran_order'"),
            (make_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}", data),
             "keys other than"),
            (header(order="0"), "neither True nor False"),
            (header(order="'False'"), "neither True nor False"),
            (header(shape="2"), "not a tuple"),
            (header(shape="'2'"), "not a tuple"),
            (header(shape="(-2,)"), "negative size -2"),
            (header(shape="(2.0,)"), "integers"),
            (header(shape="('2',)"), "integers"),
            (header(shape="(True,)"), "integers"),
            (header(shape="(None,)"), "integers"),
            (header(shape="(2**3,)"), "not a Python dict"),
            (header(shape="(2, L)"), "not a Python dict"),
            (header(shape="(99999999999999999999999,)"), "overflows"),
            (header(shape="(18446744073709551615,)"), "overflows"),
            (header(shape="(4294967296, 4294967296)"), "overflows"),
            (header(shape="(2305843009213693952,)"), "overflows"),
            (header(shape="(1000000000000,)"), "truncated"),
            (header(shape="(1, 1, 1, 1, 1, 1, 1, 1, 2)"), "9 dimensions"),
            (header(descr="'>f4'"), "big-endian"),
            (header(descr="'>f2'"), "big-endian"),
            (header(descr="'>i2'"), "big-endian"),
            (header(descr="'|f4'"), "without a byte order"),
            (header(descr="'<f8'"), "save it with .astype('<f4')"),
            (header(descr="'<c8'"), "'<c8'"),
            (header(descr="'|b1'"), "'|b1'"),
            (header(descr="'<M8[ns]'"), "unknown data type"),
            (header(descr="'<U2'"), "'<U2'"),
            (header(descr="'|S4'"), "'|S4'"),
            (header(descr="'|O'"), "Python objects"),
            (header(descr="'O8'"), "Python objects"),
            (header(descr="'float32'"), "unknown data type"),
            (header(descr="''"), "unknown data type"),
            (header(descr="'<f9'"), "'<f9'"),
            (header(descr="'<f16'"), "unknown data type"),
            (header(descr="'<u0'"), "'<u0'"),
            (header(descr="4"), "structured"),
            (header(descr="[('a', '<f4')]"), "structured"),
        ]:
            with self.subTest(says=says, file=file[:120]):
                self.refuse("add", self.write("bad.npy", file), self.path("bad.npy"),
                            says=["bad.npy", says])

    def test_numpy_agrees_on_what_is_written(self):
        """Files that NumPy itself makes of types nobody takes."""
        record = np.zeros(2, [("x", "f4"), ("y", "i2")])
        for array, says in [(np.zeros(2), "f64"), (np.zeros(2, complex), "c16"),
                            (np.zeros(2, bool), "'|b1'"), (record, "structured"),
                            (np.array([{}, []], object), "Python objects"),
                            (np.array(["a"]), "'<U1'"), (np.zeros(2, ">i4"), "big-endian")]:
            a = self.path("a.npy")
            np.save(a, array, allow_pickle=True)
            self.refuse("add", a, a, says=["a.npy", says])

    def test_every_truncation_and_random_damage(self):
        whole = make_npy("{'descr': '<i2', 'fortran_order': False, 'shape': (3, 2), }\n", bytes(12))
        for size in range(len(whole)):
            self.refuse("add", self.write("bad.npy", whole[:size]), self.path("bad.npy"),
                        says="bad.npy")
        for _ in range(100):
            damaged = bytearray(whole)
            for _ in range(self.rng.integers(1, 4)):
                damaged[self.rng.integers(len(damaged))] = self.rng.integers(256)
            file = self.write("bad.npy", bytes(damaged))
            result = self.run_hewn("add", file, file, "-o", self.path("out.npy"))
            self.assertIn(result.returncode, (0, 2), f"{bytes(damaged)}\n{result.stderr}")


class BadUsageTest(CliTest):
    def setUp(self):
        super().setUp()
        self.a = self.save("a.npy", np.ones((2, 3), "f4"))

    def test_wrong_types_and_sizes(self):
        a = self.a
        self.refuse("add", a, self.save("b.npy", np.ones((2, 3), "i4")),
                    says=["ATensor", "BTensor", "f32", "i32"])
        self.refuse("add", a, self.save("b.npy", np.ones((2, 4), "f4")),
                    says=["ATensor", "BTensor", "[2, 3]", "[2, 4]"])
        self.refuse("add", a, self.save("b.npy", np.ones((1,) * 9, "f4")),
                    says=["b.npy", "9 dimensions", "at most 8"])
        two = self.save("two.npy", np.ones(2, F32))
        self.refuse("quantize", a, "--scale", two, "--type", "u8",
                    says=["ScaleTensor", "two.npy", "[2]", "[2, 3]", "--axis"])
        self.refuse("dequantize", self.save("q.npy", np.ones((2, 3), "u1")), "--scale", 1,
                    "--zero-point", self.save("z.npy", np.ones(2, "u1")),
                    says=["ZeroPointTensor", "z.npy", "[2]", "[2, 3]", "--axis"])
        self.refuse("quantize", a, "--scale", two, "--axis", 1, "--type", "u8",
                    says=["ScaleTensor", "two.npy", "2 elements", "axis 1", "has 3"])
        self.refuse("quantize", a, "--scale", 1, "--zero-point",
                    self.save("z.npy", np.zeros(2, "u1")), "--type", "u8",
                    says=["ZeroPointTensor", "z.npy"])
        self.refuse("quantize", self.save("r0.npy", F32(1)), "--scale", two, "--type", "u8",
                    says=["ScaleTensor", "two.npy"])
        for axis in [2, -3, 100]:
            for scale in [two, 1, self.save("one.npy", np.ones(1, F32)),
                          self.save("whole.npy", np.ones((2, 3), F32))]:
                self.refuse("quantize", a, "--scale", scale, f"--axis={axis}", "--type", "u8",
                            says=["--axis", str(axis), "2 dimensions"])
            self.refuse("dequantize", self.save("q.npy", np.ones((2, 3), "u1")), "--scale", 1,
                        f"--axis={axis}", says=["--axis", str(axis), "2 dimensions"])
        self.refuse("quantize", self.path("r0.npy"), "--scale", 1, "--axis", 0, "--type", "u8",
                    says=["--axis 0", "0 dimensions"])
        for kind in ["f32", "i64", "float32", "int64"]:  # known, but not an output's
            self.refuse("quantize", a, "--scale", 1, "--type", kind,
                        says=["--type", kind, "u8", "i8", "i32"])
        self.refuse("dequantize", a, "--scale", 1, says=["InputTensor", "a.npy"], code=1)
        self.refuse("dequantize", self.save("w.npy", np.zeros(2, "i8")), "--scale", 1,
                    says=["InputTensor", "w.npy"], code=1)

    def test_numbers_that_do_not_fit(self):
        a = self.a
        for zero, kind, says in [("300", "u8", "outside u8's range 0..255"),
                                 ("-1", "u8", "outside u8's range 0..255"),
                                 ("128", "i8", "-128..127"), ("-129", "i8", "-128..127"),
                                 ("1.5", "u8", "not an integer"),
                                 ("nan", "u8", "not an integer"), ("1e1", "u8", "not an integer"),
                                 ("99999999999999999999", "u8", "0..255")]:
            self.refuse("quantize", a, "--scale", 1, f"--zero-point={zero}", "--type", kind,
                        says=["--zero-point", zero, says])
        # As an unset variable of a shell makes them.
        self.refuse("quantize", a, "--scale", 1, "--zero-point", "", "--type", "u8",
                    says="--zero-point")
        q = self.save("q.npy", np.zeros(2, "u1"))
        for option in ["--a-zero-point", "--b-zero-point", "--zero-point"]:
            self.refuse("qadd", q, q, "--a-scale", 1, "--b-scale", 1, "--scale", 1, option, "",
                        says=option)
        for scale, says in [("1e39", "too large"), ("1e-50", "too small"), ("1e400", "too large"),
                            ("1e-400", "too small"), ("0x1p-200", "too small"),
                            ("0xap-2000", "too small")]:
            self.refuse("quantize", a, "--scale", scale, "--type", "u8",
                        says=["--scale", scale, says, "f32"])
        half = self.save("h.npy", np.ones(2, "f2"))
        for scale, says in [("70000", "too large"), ("65520", "too large"), ("1e-9", "too small")]:
            self.refuse("quantize", half, "--scale", scale, "--type", "u8",
                        says=["--scale", scale, says, "f16"])
        for scale in ["65519", "6e-8", "0", "-0.0", "0e10", "0x0p1", "0x1p-3", "inf"]:
            self.compute("quantize", half, f"--scale={scale}", "--type", "u8")
        word = self.save("w.npy", np.zeros(2, "u4"))
        self.compute("dequantize", word, "--scale", 1, "--zero-point", 4294967295)
        self.refuse("dequantize", word, "--scale", 1, "--zero-point", 4294967296,
                    says=["--zero-point", "0..4294967295"])

    def test_feature_levels(self):
        a = self.a
        self.refuse("quantize", a, "--scale", 1, "--type", "u8", "--feature-level", "6.0",
                    says=["ZeroPointTensor", "6.2"], code=1)
        self.compute("quantize", a, "--scale", 1, "--type", "u8", "--feature-level", "6.0",
                     "--zero-point", 0)
        self.compute("quantize", a, "--scale", 1, "--type", "u8", "--feature-level", "6.2")
        self.refuse("add", a, a, "--feature-level", "2.1", says="ATensor", code=1)
        self.refuse("add", a, a, "--feature-level", "7.0",
                    says=["--feature-level", "7.0", "6.4, hewn"])
        for level in ["1.0", "2.0", "2.1", "3.0", "3.1", "4.0", "4.1", "5.0", "5.1", "5.2", "6.0",
                      "6.1"]:
            self.refuse("quantize", a, "--scale", 1, "--type", "u8", "--feature-level", level,
                        says=f"compiled at {level}", code=1)
        words = self.save("words.npy", np.ones(3, "i8"))
        for level in ["6.2", "6.3", "6.4", "hewn"]:
            self.refuse("dequantize", words, "--scale", 1, "--feature-level", level,
                        says=f"feature level {level} has", code=1)

    def test_files(self):
        a = self.a
        self.refuse("add", a, self.path("missing.npy"), says=["missing.npy", "no such file"])
        self.refuse("add", a, self.folder.name, says="not a regular file")
        os.mkdir(self.path("folder.npy"))
        self.refuse("add", a, self.path("folder.npy"), says=["folder.npy", "not a regular file"])
        self.refuse("add", a, self.write("a.txt", b"1 2 3"), says=["a.txt", ".npy"])
        self.refuse("qadd", a, 3, "--a-scale", 1, "--b-scale", 1, "--scale", 1,
                    says="3: no such file; a number is not taken here")
        self.refuse("quantize", 1.5, "--scale", 1, "--type", "u8",
                    says="1.5: no such file; a number is not taken here")
        self.refuse("add", a, a, out="out.txt", says=["out.txt", ".npy or .png"])
        self.refuse("add", a, a, out="out", says="must end in")
        self.refuse("add", a, a, out="out.jpg", says="out.jpg")
        self.refuse("add", a, a, out="folder.npy", says=["folder.npy", "not a regular file"])
        self.refuse("add", a, a, out="missing/out.npy", says=["missing", "does not exist"])
        q = self.save("q.npy", np.ones((2, 3), "u1"))
        for arguments in [["quantize", a, "--scale", 1, "--type", "u8"],
                          ["dequantize", q, "--scale", 1],
                          ["qadd", q, q, "--a-scale", 1, "--b-scale", 1, "--scale", 1]]:
            self.refuse(*arguments, out="out.txt", says=["out.txt", ".npy or .png"])
        for scale in ["scales.npy", "one", "1,5", ""]:
            self.refuse("quantize", a, "--scale", scale, "--type", "u8",
                        says=f"--scale: '{scale}' is neither a number nor a file")
        if os.geteuid() != 0:  # root may write anywhere
            os.mkdir(self.path("closed"), 0o500)
            self.refuse("add", a, a, out="closed/out.npy", says="closed/out.npy")

    @unittest.skipIf(os.name == "nt", "pipes of POSIX")
    def test_no_streams(self):
        a = self.a
        stream = ("standard input and output, pipes and devices are not supported; "
                  "use a regular file")
        os.mkfifo(self.path("pipe.npy"))
        for file in ["-", self.path("pipe.npy"), "/dev/null"]:
            self.refuse("add", file, a, says=[file, stream])
            self.refuse("add", a, file, says=[file, stream])
            self.refuse("quantize", a, "--scale", file, "--type", "u8", says=[file, stream])
            self.refuse("dequantize", a, "--scale", 1, "--zero-point", file, says=[file, stream])
            self.refuse("add", a, a, "-o", file, out=None, says=[file, stream])
            self.refuse("conformance", file, out=None, says=[file, stream])
        result = subprocess.run([HEWN, "add", "/dev/stdin", a, "-o", self.path("out.npy")],
                                input=read(a), capture_output=True, timeout=HANG)
        self.assertEqual((result.returncode, stream in result.stderr.decode()), (2, True),
                         result.stderr)

    def test_existing_output_survives_an_error(self):
        before = read(self.save("out.npy", np.arange(3)))
        self.refuse("add", self.a, self.path("missing.npy"), says="missing.npy")
        self.assertEqual(read(self.path("out.npy")), before)

    @unittest.skipIf(os.name == "nt", "permissions and links of POSIX")
    def test_existing_output_keeps_its_permissions_and_links(self):
        a = self.save("a.npy", np.arange(3))
        for mode in (0o600, 0o664, 0o444):
            os.chmod(self.save("out.npy", np.arange(3)), mode)
            self.assert_same(self.compute("add", a, a), 2 * np.arange(3))
            self.assertEqual(os.stat(self.path("out.npy")).st_mode & 0o7777, mode)
        os.mkdir(self.path("elsewhere"))
        os.symlink(os.path.join("elsewhere", "real.npy"), self.path("link.npy"))
        self.save("elsewhere/real.npy", np.arange(3))
        self.assert_same(self.compute("add", a, a, out="link.npy"), 2 * np.arange(3))
        self.assertTrue(os.path.islink(self.path("link.npy")))
        self.assert_same(np.load(self.path("elsewhere/real.npy")), 2 * np.arange(3))
        os.symlink("link.npy", self.path("link_to_link.npy"))
        self.assert_same(self.compute("add", a, self.path("link.npy"), out="link_to_link.npy"),
                         3 * np.arange(3))
        self.assertTrue(os.path.islink(self.path("link.npy")))
        self.assert_same(np.load(self.path("elsewhere/real.npy")), 3 * np.arange(3))
        # As a store by contents has them: the name says what kind of file it is; and one that leads
        # nowhere yet.
        os.symlink(os.path.join("elsewhere", "0a1b"), self.path("link.png"))
        self.succeed("quantize", self.save("b.npy", np.ones((2, 2), F32)), "--scale", 1, "--type",
                     "u8", "-o", self.path("link.png"))
        self.assertTrue(os.path.islink(self.path("link.png")))
        self.assertTrue(read(self.path("elsewhere/0a1b")).startswith(b"\x89PNG"))
        self.assertEqual(sorted(os.listdir(self.path("elsewhere"))), ["0a1b", "real.npy"])

    @unittest.skipIf(os.name == "nt", "links of POSIX")
    def test_a_loop_of_links_stays(self):
        a = self.save("a.npy", np.arange(3))
        links = {"one.npy": "two.npy", "two.npy": "one.npy", "self.npy": "self.npy"}
        for link, to in links.items():
            os.symlink(to, self.path(link))
        for link in links:
            self.refuse("add", a, 1, out=link,
                        says=f"{link}: cannot be written: Too many levels of symbolic links")
            self.refuse("add", self.path(link), 1,
                        says=f"{link}: cannot be read: Too many levels of symbolic links")
        self.assertEqual({link: os.readlink(self.path(link)) for link in links}, links)

    @unittest.skipIf(os.name == "nt", "limits of POSIX")
    def test_a_full_disk(self):
        """No file may grow beyond 4096 bytes: what was begun is removed again, also where the
        system's signal for that, SIGXFSZ, would end the program."""
        import resource
        a = self.save("large.npy", sample(self.rng, (100, 100), "u1"))
        for out, action in itertools.product(["out.npy", "out.png"],
                                             [signal.SIG_IGN, signal.SIG_DFL]):
            def limit():
                signal.signal(signal.SIGXFSZ, action)
                resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

            before = set(os.listdir(self.folder.name))
            result = subprocess.run([HEWN, "add", a, a, "-o", self.path(out)], capture_output=True,
                                    text=True, timeout=HANG, restore_signals=False,
                                    preexec_fn=limit, env=self.without_drivers())
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(f"{out}: cannot be written: ", result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
            self.assertEqual(set(os.listdir(self.folder.name)), before)

    @unittest.skipIf(os.name == "nt", "mounts of Linux")
    def test_a_disk_without_space(self):
        """A file system of 16 KiB, in a name space of its own."""
        folder, script = self.path("disk"), (
            'mount -t tmpfs -o size=16k none "$1" || exit 77; shift; "$@"; code=$?; '
            'ls -A "$(dirname "${@: -1}")"; exit $code')
        os.mkdir(folder)
        a = self.save("large.npy", np.zeros(50000, "i1"))
        command = ["unshare", "-rm", "bash", "-c", script, "bash", folder, HEWN, "add", a, "1"]
        try:
            result = subprocess.run([*command, "-o", folder + "/out.npy"], capture_output=True,
                                    text=True, timeout=HANG)
        except FileNotFoundError:
            self.skipTest("no unshare")
        if result.returncode == 77 or "unshare:" in result.stderr:  # nothing was mounted
            self.skipTest("no name spaces for this user: " + result.stderr)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("out.npy: cannot be written: No space left on device", result.stderr)
        self.assertEqual(result.stdout, "", "something is left")

    @unittest.skipIf(os.name == "nt", "/proc of Linux")
    def test_home_is_read_only(self):
        """It writes nothing but the output, wherever it starts: nobody writes in /proc."""
        a = self.save("a.npy", np.arange(9, dtype="f4"))
        environment = {**os.environ, "OCL_ICD_VENDORS": self.folder.name,
                       **dict.fromkeys(["HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"],
                                       "/proc")}
        for command in [["info"], ["add", a, a, "-o", self.path("out.npy")],
                        ["verify", "--device", "cpu", "--operator", "add", "--cases", "1"]]:
            result = subprocess.run([HEWN, *command], capture_output=True, text=True, cwd="/proc",
                                    timeout=HANG, env=environment)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["a.npy", "out.npy"])
        self.refuse("add", a, a, "-o", "/proc/out.npy", out=None,
                    says="/proc/out.npy: cannot be written: ")

    @unittest.skipIf(os.name == "nt", "signals of POSIX")
    def test_killed_while_it_writes(self):
        """Under the final name is the old file or the new one, whole; and the next run works."""
        a = self.save("a.npy", np.zeros(32 << 20, "i1"))
        for before in [None, np.arange(5)]:
            name = self.path("out.npy")
            for _ in range(50):  # until it was caught writing
                if before is not None:
                    self.save("out.npy", before)
                left = self.kill_while_it_writes("add", a, "1", "-o", name)
                if os.path.exists(name):
                    got = np.load(name)
                    if before is None or got.size != before.size:
                        self.assert_same(got, np.ones(32 << 20, "i1"))
                        os.remove(name)
                        continue
                    self.assert_same(got, before)
                if left:
                    break
            self.assertEqual([part.startswith(".hewn.") for part in left], [True])
            self.assertEqual(os.path.exists(name), before is not None)
            self.assert_same(self.compute("add", a, 1), np.ones(32 << 20, "i1"))
            os.remove(name)
            os.remove(self.path(left[0]))

    def without_drivers(self):
        """An environment without OpenCL's drivers: PoCL's LLVM has handlers of signals of its own,
        which swallow some."""
        return {**os.environ, "OCL_ICD_VENDORS": self.folder.name}

    def kill_while_it_writes(self, *arguments, by=9):
        """What the tool leaves when that signal is sent as soon as a file appears that was not
        there; None if it was done before the signal came."""
        there = set(os.listdir(self.folder.name))
        # A shell's background jobs ignore some signals, and so would this child.
        heed = None if by == 9 else lambda: signal.signal(by, signal.SIG_DFL)
        with subprocess.Popen([HEWN, *arguments], stdout=subprocess.DEVNULL, preexec_fn=heed,
                              env=self.without_drivers()) as process:
            while process.poll() is None and set(os.listdir(self.folder.name)) <= there:
                pass
            process.send_signal(by)
        left = [name for name in os.listdir(self.folder.name) if name.startswith(".hewn.")]
        return left if by == 9 or process.returncode == -by else None

    @unittest.skipIf(os.name == "nt", "signals of POSIX")
    def test_ended_by_a_signal_while_it_writes(self):
        """Nothing is left by a signal that a program can catch."""
        a = self.save("a.npy", np.zeros(32 << 20, "i1"))
        for by in [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGTERM,
                   signal.SIGXCPU]:
            for _ in range(50):  # until it was caught writing
                left = self.kill_while_it_writes("add", a, "1", "-o", self.path("out.npy"), by=by)
                if left is not None and not os.path.exists(self.path("out.npy")):
                    break
                os.remove(self.path("out.npy"))
            self.assertEqual(left, [], by)
            self.assertEqual(os.listdir(self.folder.name), ["a.npy"], by)

    @unittest.skipIf(os.name == "nt", "limits of POSIX")
    def test_out_of_memory(self):
        """Wherever memory ends, the exit code is 3, with one line that says so, and nothing is
        written."""
        import resource

        def run(limit, *arguments):
            return subprocess.run([HEWN, *map(str, arguments)], capture_output=True, text=True,
                                  timeout=HANG,
                                  # Drivers may abort.
                                  env={**os.environ, "OCL_ICD_VENDORS": self.folder.name},
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS,
                                                                        (limit, limit)))

        if run(128 << 20, "--version").returncode != 0:
            self.skipTest("the program alone needs more memory, as with a sanitizer")
        least, enough = 0, 128 << 20  # for --version
        while enough - least > 4096:
            middle = (least + enough) // 2
            works = run(middle, "--version").returncode == 0
            least, enough = (least, middle) if works else (middle, enough)

        def sweep(*arguments, out="out.npy"):
            before, codes = set(os.listdir(self.folder.name)), []
            for limit in [enough, *sorted(self.rng.integers(enough, enough + (64 << 20),
                                                            14).tolist()), enough + (80 << 20)]:
                # Other threads need stacks.
                result = run(limit, *arguments, "--threads", 1,
                             *(["-o", self.path(out)] if out else []))
                text = f"{limit} {arguments} {result.returncode}\n{result.stdout}{result.stderr}"
                codes.append(result.returncode)
                self.assertIn(result.returncode, (0, 3), text)
                if result.returncode == 3:
                    self.assertRegex(result.stderr, r"^hewn: error: .*(out of|no) memory.*\n$",
                                     text)
                    self.assertEqual(set(os.listdir(self.folder.name)), before, text)
                elif out:
                    os.remove(self.path(out))
            self.assertEqual((codes[0], codes[-1]), (3, 0), codes)

        pixels = np.zeros((2048, 2048), "u1")
        x, q = self.save("x.npy", pixels.astype(F32)), self.save("q.npy", pixels)
        png = self.write("a.png", make_png(pixels, 8, 0))
        jpeg = self.write("a.jpg", make_progressive_jpeg(1, *pixels.shape))
        for arguments in [["add", x, x], ["quantize", x, "--scale", x, "--type", "u8"],
                          ["dequantize", q, "--scale", 1], ["add", png, png],
                          ["quantize", png, "--scale", 1, "--type", "u8"], ["add", jpeg, 1],
                          ["quantize", jpeg, "--scale", 1, "--type", "u8"],
                          ["qadd", q, q, "--a-scale", 1, "--b-scale", 1, "--scale", 1]]:
            sweep(*arguments)
        sweep("add", x, 1, out="out.png")
        sweep("conformance",
              self.write("cases.jsonl", json.dumps(add_case("u8", *[[0] * (1 << 18)] * 3))),
              out=None)

    @unittest.skipIf(not os.path.exists("/dev/full"), "no /dev/full")
    def test_a_full_standard_output(self):
        for command in ["info"], ["--help"], ["--version"], ["add", "--help"]:
            with open("/dev/full", "w") as full:
                result = subprocess.run([HEWN, *command], stdout=full, stderr=subprocess.PIPE,
                                        text=True, timeout=HANG)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("standard output", result.stderr)

    def test_variants(self):
        self.refuse("add", self.a, self.a, "--variant", "x86_64_mmx", says="x86_64_mmx", code=1)
        self.refuse("add", self.a, self.a, says="nonsense", code=1, HEWN_VARIANT="nonsense")
        name = next(v["name"]
                    for v in json.loads(self.succeed("info", "--json").stdout)["variants"]
                    if v["operator"] == "add" and v["signature"] == "i8")
        self.refuse("add", self.a, self.a, "--variant", name, says=[name, "fit"], code=1)

    def test_wrong_names(self):
        """The nearest name is suggested, and a list only where it is short."""
        a = self.a

        def suggests(meant, *arguments, code=2, out=None, **environment):
            self.refuse(*arguments, says=f"did you mean {meant}?", code=code, out=out,
                        **environment)

        suggests("quantize", "quantise", a)
        suggests("conformance", "conform")
        suggests("--zero-point", "quantize", a, "--zeropoint", 1)
        suggests("--scale", "quantize", a, "--scal=1", "--type", "u8", out="out.npy")
        suggests("--progress", "--progres", "info")
        suggests("u8", "quantize", a, "--scale", 1, "--type", "v8")
        suggests("u8", "quantize", a, "--scale", 1, "--type", "U8")
        suggests("uint8", "quantize", a, "--scale", 1, "--type", "unit8")
        suggests("bfloat16", "quantize", a, "--scale", 1, "--precision", "bfloat61")
        suggests("quantize_linear", "verify", "--operator", "quantise_linear")
        self.refuse("add", a, "--", -2, out=None, says="--output is required")
        self.refuse("add", "--", a, -2, "-o", "out.npy", out=None,
                    says="-o stands after --: write options before it")
        result = self.refuse("dequantize", a, "--scale", 1, "--bits", 8, says=["8", "2, 4"])
        self.assertNotIn("did you mean", result.stderr)
        result = self.refuse("multiply", a, a, out=None, says=["multiply", "quantize", "info"])
        self.assertNotIn("did you mean", result.stderr)
        target = cpu_targets(json.loads(self.succeed("info", "--json").stdout), "add_f32")[0]
        name = target["name"]
        wrong = name[:-2] + name[-1] + name[-2]  # its last two characters exchanged
        cases = self.write("cases.jsonl", "")
        suggests(name, "add", a, a, "--variant", wrong, code=1, out="out.npy")
        suggests(name, "add", a, a, code=1, out="out.npy", HEWN_VARIANT=wrong)
        suggests("add_f32__" + name, "add", a, a, "--variant", "add_float32__" + name, code=1,
                 out="out.npy")
        suggests(name, "conformance", cases, "--variant", wrong, code=1)
        suggests(name, "replay", self.path("replay"), "--variant", wrong, code=1)

    def test_names_of_numpy(self):
        x = self.save("x.npy", sample(self.rng, (4, 5), "f4"))
        for name, numpy_name in [("u8", "uint8"), ("i8", "int8"), ("i16", "int16"),
                                 ("u4", "uint4")]:
            quantized = [self.compute("quantize", x, "--scale", 0.5, "--type", each)
                         for each in [name, numpy_name]]
            self.assert_same(*quantized, name)
        q = self.save("q.npy", sample(self.rng, (4, 5), "u1"))
        self.assertEqual(self.compute("dequantize", q, "--scale", 0.5, "--type", "float16").dtype,
                         F16)
        halves = self.save("x.npy", sample(self.rng, (4, 5), "f4"))
        self.assert_same(
            *[self.compute("quantize", halves, "--scale", 0.1, "--precision", word)
              for word in ["f16", "float16"]])

    def test_default_type(self):
        """Python's: the zero point's, of a file; else u8, or the first operand's."""
        x, q = self.save("x.npy", sample(self.rng, (4, 5), "f4")), sample(self.rng, (4, 5), "u1")
        self.assertEqual(self.compute("quantize", x, "--scale", 0.5).dtype, np.uint8)
        self.assertEqual(self.compute("quantize", x, "--scale", 0.5, "--zero-point", 3).dtype,
                         np.uint8)
        for kind in ["i1", "u1", "i2"]:
            zero = self.save("z.npy", np.array(3, kind))
            self.assert_same(self.compute("quantize", x, "--scale", 0.5, "--zero-point", zero),
                             quantize(np.load(x), F32(0.5), 3, np.dtype(kind)), kind)
        # --type comes first; NumPy's i64 is no output's type.
        self.refuse("quantize", x, "--scale", 0.5, "--zero-point", self.save("z.npy", np.int8(3)),
                    "--type", "u8", says=["z.npy", ".astype('|u1')"], code=1)
        self.refuse("quantize", x, "--scale", 0.5, "--zero-point", self.save("z.npy", np.int64(3)),
                    says=["z.npy", ".astype('|u1')"], code=1)
        file = self.save("q.npy", q)
        scales = ["--a-scale", 0.1, "--b-scale", 0.2, "--scale", 0.3]
        self.assert_same(self.compute("qadd", file, file, *scales),
                         quantized_add(q, 0.1, 0, q, 0.2, 0, 0.3, 0, np.uint8))
        self.assert_same(self.compute("qadd", file, file, *scales, "--zero-point",
                                      self.save("z.npy", np.int8(3))),
                         quantized_add(q, 0.1, 0, q, 0.2, 0, 0.3, 3, np.int8))

    def test_an_empty_argument(self):
        for words in [["", "info"], ["add", self.a, self.a, ""]]:
            self.refuse(*words, out=None if words[0] == "" else "out.npy",
                        says="'' is not expected: an empty argument")
        for words in [["add", self.a, "", "-o", "out.npy"], ["add", self.a, self.a, "-o", ""]]:
            self.refuse(*words, out=None, says="'': the name of a file is empty")

    def test_usage(self):
        a = self.a
        self.refuse(out=None, says="subcommand")
        self.refuse("multiply", a, a, says="multiply")
        self.refuse("add", a, says="B")
        self.refuse("add", a, a, a, says="a.npy")
        self.refuse("add", a, a, out=None, says="--output")
        self.refuse("add", a, a, "--threads", "-1", says="--threads")
        self.refuse("add", a, a, "--threads", "many", says="--threads")
        self.refuse("add", a, a, "--nonsense", says="--nonsense")
        self.refuse("quantize", a, "--type", "u8", says="--scale")
        self.refuse("quantize", a, "--scale", 1, "--type", "u8", "--axis", "x", says="--axis")
        self.refuse("info", "--json", "--licenses", out=None, says="--json")
        self.refuse("conformance", out=None, says="FILES")
        self.refuse("replay", out=None, says="DIR")


class InfoTest(CliTest):
    def test_version_and_help(self):
        header = read(os.path.join(SOURCE_DIR, "include", "hewn", "hewn.h")).decode()
        version = ".".join(header.split(f"HEWN_VERSION_{part} ")[1].split()[0]
                           for part in ["MAJOR", "MINOR", "PATCH"])
        self.assertEqual(self.succeed("--version").stdout, f"hewn {version}\n")
        self.assertEqual(json.loads(self.succeed("info", "--json").stdout)["version"], version)
        for command in [[], ["info"], ["add"], ["quantize"], ["dequantize"], ["qadd"], ["qmul"],
                        ["dml-quantize"], ["dml-dequantize"], ["conformance"], ["verify"],
                        ["replay"]]:
            text = self.succeed(*command, "--help").stdout
            self.assertIn(" ".join(["hewn", *command]), text)
            self.assertIn("Exit code", text)

    def test_only_what_needs_a_gpu_loads_its_driver(self):
        """A driver takes long to load, and a broken one can end the program."""
        def drivers(*arguments):
            # The loader of glibc tells on stderr which libraries it looks for.
            result = self.succeed(*arguments, LD_DEBUG="files")
            return re.findall(r"lib(?:OpenCL|cuda)\.so", result.stderr)

        if not drivers("info"):
            self.skipTest("no drivers are looked for, or the loader does not tell")
        x = self.save("x.npy", np.ones(3, F32))
        for arguments in [["--version"], ["--help"], ["--man"], ["verify", "--help"],
                          ["quantize", x, "--scale", "1", "-o", self.path("q.npy")],
                          ["add", x, x, "--threads", "2", "-o", self.path("y.npy")]]:
            self.assertEqual(drivers(*arguments), [], arguments)

    def test_json(self):
        info = json.loads(self.succeed("info", "--json").stdout)
        names = [variant["name"] for variant in info["variants"]]
        self.assertEqual(len(names), len(set(names)))
        kernels = {target["name"]: set() for target in info["targets"]}
        for variant in info["variants"]:
            kernels[variant["target"]].add((variant["operator"], variant["signature"]))
        everything = kernels[cpu_targets(info)[0]["name"]]
        for target in info["targets"]:  # one may leave some to another
            self.assertTrue(kernels[target["name"]] and kernels[target["name"]] <= everything,
                            target["name"])
        best = {}  # targets ascend in rank
        for target in cpu_targets(info):
            best.update({kernel: target["name"] for kernel in kernels[target["name"]]
                         if target["supported"]})
        # A Zen 4 leaves some kernels of AVX-512 to AVX2; which, forcing_test.cpp knows.
        for variant in info["variants"]:
            kernel = variant["operator"], variant["signature"]
            if variant["picked"] and (variant["target"],
                                      best[kernel]) == ("x86_64_avx2", "x86_64_avx512"):
                best[kernel] = variant["target"]
        for variant in info["variants"]:
            self.assertEqual(set(variant), {"name", "operator", "signature", "target", "supported",
                                            "picked"})
            self.assertEqual(variant["name"],
                             f"{variant['operator']}_{variant['signature']}__{variant['target']}")
            self.assertEqual(variant["picked"],
                             variant["target"] == best[variant["operator"], variant["signature"]])
        picked = list(best.values())
        self.assertEqual({target["name"] for target in info["targets"] if target["picked"]},
                         set(picked))
        self.assertEqual(info["picked"], max(set(picked), key=picked.count))

    def test_forced(self):
        lowest = json.loads(self.succeed("info", "--json").stdout)["targets"][0]["name"]
        info = json.loads(self.succeed("info", "--json", HEWN_VARIANT=lowest).stdout)
        self.assertEqual(info["picked"], lowest)
        self.assertIn("HEWN_VARIANT", info["reason"])
        picked = {}  # each kernel's highest of the targets so far
        for target in cpu_targets(json.loads(self.succeed("info", "--json").stdout)):
            if not target["supported"]:
                continue
            info = json.loads(self.succeed("info", "--json", HEWN_VARIANT=target["name"]).stdout)
            picked.update({(variant["operator"], variant["signature"]): variant["name"]
                           for variant in info["variants"] if variant["target"] == target["name"]})
            self.assertEqual({variant["name"] for variant in info["variants"]
                              if variant["picked"]}, set(picked.values()), target["name"])
            self.assertEqual(info["picked"], target["name"])
        self.assertIsNotNone(json.loads(self.succeed("info", "--json",
                                                     HEWN_VARIANT="").stdout)["picked"])
        # What is no text does not break it.
        json.loads(self.succeed("info", "--json", HEWN_VARIANT=os.fsdecode(b"\xff")).stdout)
        info = json.loads(self.succeed("info", "--json", HEWN_VARIANT="nonsense").stdout)
        self.assertIsNone(info["picked"])
        self.assertFalse(any(variant["picked"] for variant in info["variants"]))

    def test_text(self):
        info = json.loads(self.succeed("info", "--json").stdout)
        text = self.succeed("info").stdout
        for target in info["targets"]:
            self.assertIn(target["name"], text)
            self.assertIn(target["missing"], text)
        lines = iter(text.splitlines())
        reasons = {line.split()[0]: next(lines).partition("picked")[2]
                   for line in lines if "  rank " in line}
        above = set()  # kernels of targets that run here, from the highest rank down
        for target in reversed(cpu_targets(info)):
            variants = [variant for variant in info["variants"]
                        if variant["target"] == target["name"]]
            overtakes = [variant["picked"] and (variant["operator"], variant["signature"]) in above
                         for variant in variants]
            for because, expected in [("faster on this chip", any(overtakes)),
                                      ("the highest rank",
                                       any(variant["picked"] and not o
                                           for variant, o in zip(variants, overtakes)))]:
                self.assertEqual(because in reasons[target["name"]], expected,
                                 f"{target['name']} {reasons[target['name']]}")
            if target["supported"]:
                above.update((variant["operator"], variant["signature"]) for variant in variants)

    def test_licenses(self):
        text = self.succeed("info", "--licenses").stdout
        for name in ["LICENSE", "THIRD_PARTY.md"]:
            self.assertIn(read(os.path.join(SOURCE_DIR, name)).decode(), text)


def tensor(dtype, shape, data, strides=None, **more):
    return {"dtype": dtype, "shape": shape, "data": data,
            **({} if strides is None else {"strides": strides}), **more}


def add_case(dtype="f32", a=(1, 2), b=(3, 4), out=(4, 6), **more):
    shape = [len(out)]
    return {"id": "case", "op": "ADD", "inputs": {"ATensor": tensor(dtype, shape, list(a), [1]),
                                                  "BTensor": tensor(dtype, shape, list(b), [1])},
            "output": tensor(dtype, shape, list(out)), "tolerance": {"ulp": 0, "abs": 0},
            "formula": "exact", **more}


def linear_case(op, dtype, data, scale, zero, out_dtype, out, scale_dtype="f32", **more):
    shape = [len(data)]
    inputs = {"InputTensor": tensor(dtype, shape, data, [1]),
              "ScaleTensor": tensor(scale_dtype, [], [scale], [0])}
    if zero is not None:
        inputs["ZeroPointTensor"] = tensor(out_dtype if op == "QUANTIZE_LINEAR" else dtype, [],
                                           [zero], [0])
    return {"id": "case", "op": op, "inputs": inputs, "output": tensor(out_dtype, shape, out),
            "formula": "exact", **more}


class ConformanceTest(CliTest):
    def run_cases(self, *cases, arguments=(), **environment):
        lines = [case if isinstance(case, str) else json.dumps(case) for case in cases]
        return self.run_hewn("conformance", self.write("cases.jsonl", "\n".join(lines) + "\n"),
                             *arguments, **environment)

    def check(self, cases, passed=0, failed=0, skipped=0, says=(), arguments=(), **environment):
        cases = cases if isinstance(cases, list) else [cases]
        result = self.run_cases(*cases, arguments=arguments, **environment)
        text = result.stdout + result.stderr
        self.assertEqual(result.stdout.splitlines()[-1:],
                         [f"{passed} passed, {failed} failed, {skipped} skipped"],
                         f"{cases}\n{text}")
        self.assertEqual(result.returncode, 1 if failed else 0, text)
        for part in says:
            self.assertIn(part, result.stdout)

    def broken(self, line, *says, number=2):
        """The line, between good ones, is an error that names its place; they are run all the
        same."""
        result = self.run_cases(add_case(), line, add_case())
        text = f"{line}\n{result.stdout}{result.stderr}"
        self.assertEqual(result.returncode, 2, text)
        self.assertEqual(result.stdout.splitlines()[-1],
                         "2 passed, 0 failed, 0 skipped, 1 unusable", text)
        for part in ["hewn: error: ", f"cases.jsonl:{number}:", *says]:
            self.assertIn(part, result.stderr, text)

    def test_the_projects_files(self):
        folder = os.path.join(SOURCE_DIR, "tests", "data")
        files = [os.path.join(folder, name) for name in sorted(os.listdir(folder))
                 if name.endswith(".jsonl")] if os.path.isdir(folder) else []
        if not files:
            self.skipTest("no files in tests/data")
        for target in cpu_targets(json.loads(self.succeed("info", "--json").stdout)):
            if target["supported"]:
                last = self.succeed("conformance", *files, "--variant",
                                    target["name"]).stdout.splitlines()[-1]
                self.assertRegex(last, r"^[1-9]\d* passed, 0 failed, \d+ skipped$")

    def test_passes(self):
        self.check([add_case(), add_case("f16"), add_case("i64"), "", add_case("u8")], passed=4)
        picked = {}
        for variant in json.loads(self.succeed("info", "--json").stdout)["variants"]:
            picked[variant["target"]] = picked.get(variant["target"], 0) + variant["picked"]
        cpu = [target["name"]
               for target in cpu_targets(json.loads(self.succeed("info", "--json").stdout))]
        self.check(add_case(), passed=1,
                   says=["with kernels of " + ", ".join(f"{name} ({picked[name]})"
                                                        for name in cpu if picked[name]) + ": "])

    def test_fails_and_names_the_element(self):
        case = add_case(id="wrong/one", out=(4, 7))
        self.check([add_case(), case], passed=1, failed=1,
                   says=["wrong/one", "cases.jsonl:2", "element [1]", "got 6 (0x40c00000)",
                         "expected 7 (0x40e00000)", "1 of 2 differ"])
        case = add_case("u8")
        case["inputs"]["ATensor"] = tensor("u8", [2, 3], [1, 2, 3, 4, 5, 6], [3, 1])
        case["inputs"]["BTensor"] = tensor("u8", [3], [10, 20, 30], [0, 1])
        case["output"] = tensor("u8", [2, 3], [11, 22, 33, 14, 99, 88])
        self.check(case, failed=1,
                   says=["element [1, 1]", "got 25", "expected 99", "2 of 6 differ"])

    def test_special_values(self):
        self.check(add_case(a=["nan", "inf", "-inf", -0.0, 0.0, 1], b=[1, 1, 1, -0.0, -0.0, 2],
                            out=["nan", "inf", "-inf", -0.0, 0.0, 3]), passed=1)
        self.check(add_case(a=["inf", 1], b=["-inf", 1], out=["nan", 2]), passed=1)
        for dtype in ["f32", "f16"]:
            self.check(add_case(dtype, a=[-0.0, 1], b=[-0.0, 1], out=[0.0, 2]), failed=1,
                       says=["got -0", "element [0]"])
            self.check(add_case(dtype, a=[0.0, 1], b=[-0.0, 1], out=[-0.0, 2]), failed=1,
                       says=["expected -0"])
            self.check(add_case(dtype, a=["nan", 1], b=[1, 1], out=[0, 2]), failed=1,
                       says=["got nan"])
            self.check(add_case(dtype, a=["inf", 1], b=[1, 1], out=["-inf", 2]), failed=1,
                       says=["got inf", "expected -inf"])
            # JSON's integer -0, as C's "%g" prints it.
            minus_zero = json.dumps(add_case(dtype, a=[-0.0], b=[-0.0],
                                             out=[-0.0])).replace("-0.0", "-0")
            self.check(minus_zero, passed=1)
            self.check(minus_zero.replace('"data": [-0]', '"data": [0]', 1), failed=1,
                       says=["got 0", "expected -0"])
        for dtype in ["u8", "i8", "u64", "i64"]:
            self.check(json.dumps(add_case(dtype, a=[0], b=[1], out=[1])).replace("[0]", "[-0]"),
                       passed=1)
        self.check(add_case("f16", a=[65504, 6e-8], b=[65504, 6e-8], out=["inf", 1.2e-7]), passed=1)
        self.check(add_case("f16", a=[6e-8, 1], b=[0, 1], out=[0, 2]), failed=1,
                   says=["got 5.9605e-08 (0x0001), expected 0 (0x0000)"])
        self.check(linear_case("QUANTIZE_LINEAR", "f32", ["nan", "inf", "-inf"], 1, 7, "u8",
                               [7, 255, 0]), passed=1)
        self.check(linear_case("QUANTIZE_LINEAR", "f32", ["-nan", "+inf"], 1, 7, "u8", [7, 255]),
                   passed=1)
        # A NaN on one side alone is a difference, whichever it is; so is an infinity where there is
        # none.
        self.check(add_case(a=[1, 1], b=[0, 0], out=["nan", 1]), failed=1,
                   says=["got 1 ", "expected nan"])
        self.check(add_case(a=[1, 1], b=[0, 0], out=["inf", 1]), failed=1, says=["expected inf"])

    def test_large_integers(self):
        for dtype, a, b, out in [
            ("u64", [2**64 - 1, 2**63, 2**53 + 1], [2, 2**63, 0], [1, 0, 2**53 + 1]),
            ("i64", [2**63 - 1, -2**63, -2**53 - 1], [1, -1, 0], [-2**63, 2**63 - 1, -2**53 - 1]),
            ("u32", [2**32 - 1, 5], [1, 6], [0, 11]),
            ("i32", [2**31 - 1, -2**31], [1, -1], [-2**31, 2**31 - 1]),
            ("i16", [32767, -32768], [1, -1], [-32768, 32767]),
            ("u16", [65535, 1], [1, 1], [0, 2]),
            ("i8", [127, -128], [1, -1], [-128, 127]),
            ("u8", [255, 1], [1, 1], [0, 2]),
        ]:
            self.check(add_case(dtype, a, b, out), passed=1)
            self.check(add_case(dtype, a, b, [out[0], out[1] ^ 1, *out[2:]]), failed=1,
                       says=["element [1]"])
        # "2.0" is an integer too, up to the ends of the range, where a double holds all of the
        # type's numbers.
        for dtype, low, high in [("i8", -128, 127), ("u8", 0, 255), ("i16", -2**15, 2**15 - 1),
                                 ("u16", 0, 2**16 - 1), ("i32", -2**31, 2**31 - 1),
                                 ("u32", 0, 2**32 - 1)]:
            self.check(add_case(dtype, [float(low), float(high)], [0, 0], [low, high]), passed=1)
        self.check(add_case("u64", [2**53], [1], [2**53]), failed=1,
                   says=["got 9007199254740993, expected 9007199254740992"])

    def test_numbers_round_once(self):
        # In one step to f16; by way of f32 the first would become 1.
        self.check(add_case("f16", a=[1.00048828125 + 2**-40, 1.00048828125], b=[0, 0],
                            out=[1.0009765625, 1]), passed=1)
        self.check(add_case("f32", a=[16777217, 2**24 + 2**-10 + 1], b=[0, 0],
                            out=[16777216, 16777218]), passed=1)
        # As an integer: a double would first become 2^63 + 2^40, whose neighbour in f32 is 2^63.
        self.check(add_case("f32", a=[2**63 + 2**39 + 1], b=[0], out=[float(2**63 + 2**40)]),
                   passed=1)
        self.check(add_case("f32", a=[-2**62 - 2**38 - 1], b=[0], out=[-float(2**62 + 2**39)]),
                   passed=1)

    def test_layouts(self):
        for rank in [0, 1, 6, 7, 8]:
            for _ in range(10):
                sizes = self.rng.integers(1, 4, rank)
                tensors = {}
                arrays = []
                for name in ["ATensor", "BTensor"]:
                    kept = np.where(self.rng.integers(0, 2, rank) == 1, sizes, 1)
                    array = sample(self.rng, tuple(kept), "i4")
                    order = self.rng.permutation(rank)  # stored in another order of its dimensions
                    stored = np.transpose(array, order)
                    strides, step = [0] * rank, 1
                    for d in reversed(range(rank)):
                        whole = kept[order[d]] == sizes[order[d]] and sizes[order[d]] > 1
                        strides[order[d]] = step if whole else 0
                        step *= stored.shape[d]
                    tensors[name] = tensor("i32", list(stored.shape), stored.reshape(-1).tolist(),
                                           [int(s) for s in strides])
                    arrays.append(array)
                with np.errstate(all="ignore"):
                    out = np.broadcast_to(arrays[0] + arrays[1], tuple(sizes))
                case = {"id": f"rank {rank}", "op": "ADD", "inputs": tensors, "formula": "exact",
                        "output": tensor("i32", [int(s) for s in sizes], out.reshape(-1).tolist())}
                case["inputs"] = json.loads(json.dumps(tensors, default=int))
                self.check(json.loads(json.dumps(case, default=int)), passed=1)

    def test_scalars_and_empty_tensors(self):
        scalar = tensor("f32", [], [2.0], [])
        self.check({"id": "rank 0", "op": "ADD", "inputs": {"ATensor": scalar, "BTensor": scalar},
                    "output": tensor("f32", [], [4.0]), "formula": "exact"}, passed=1)
        case = {"id": "empty", "op": "ADD", "formula": "exact",
                "output": tensor("i64", [2, 0, 2], []),
                "inputs": {"ATensor": tensor("i64", [2, 1, 2], [1, 2, 3, 4], [2, 0, 1]),
                           "BTensor": tensor("i64", [0, 2], [], [0, 2, 1])}}
        self.check(case, passed=1)
        case["output"]["strides"] = [7, 7, 7]  # which mean nothing here
        self.check(case, passed=1)
        scales = {f"{name}ScaleTensor": tensor("f32", [], [0.5], [1, 0])
                  for name in ["A", "B", "Output"]}
        one = tensor("u8", [1, 4], [1, 2, 3, 4], [4, 1])
        case = {"id": "scalars whose strides say 1 over a size of 1", "op": "QUANTIZED_LINEAR_ADD",
                "formula": "exact",
                "inputs": {"ATensor": one, "BTensor": one, **scales,
                           "AZeroPointTensor": tensor("u8", [1], [1], [0, 0])},
                "output": tensor("u8", [1, 4], [1, 3, 5, 7])}
        self.check(case, passed=1)
        # Stored with more than is read.
        case["inputs"]["AScaleTensor"] = tensor("f32", [4], [0.5, 9.0, 9.0, 9.0], [0, 0])
        self.check(case, passed=1)
        case["inputs"]["AScaleTensor"]["strides"] = [0, 1]
        self.check(case, skipped=1, says=["QUANTIZED_LINEAR_ADD AScaleTensor of several elements"])
        none = tensor("u8", [0], [], [1])
        for strides in [0, 1]:
            scales = {f"{name}ScaleTensor": tensor("f32", [], [0.5], [strides])
                      for name in ["A", "B", "Output"]}
            self.check({"id": "empty", "op": "QUANTIZED_LINEAR_ADD", "formula": "exact",
                        "inputs": {"ATensor": none, "BTensor": none, **scales},
                        "output": tensor("u8", [0], [])}, passed=1)

    def test_tolerance(self):
        near = add_case(a=[1, 2], b=[1, 1], out=[2.0000005, 3], formula="within_tolerance")
        for tolerance, passes in [({"ulp": 2, "abs": 0}, True), ({"ulp": 1, "abs": 0}, False),
                                  ({"ulp": 0, "abs": 1e-6}, True),
                                  ({"ulp": 0, "abs": 1e-8}, False),
                                  ({"ulp": 0, "abs": 0, "rel": 1e-6}, True),
                                  ({"ulp": 0, "abs": 0, "rel": 1e-8}, False), ({}, False)]:
            self.check({**near, "tolerance": tolerance}, passed=int(passes), failed=int(not passes))
            self.check({**near, "tolerance": tolerance, "formula": None}, passed=int(passes),
                       failed=int(not passes))
            # An exact case's tolerance does not apply.
            self.check({**near, "tolerance": tolerance, "formula": "exact"}, failed=1)
        integer = add_case("u8", out=(4, 8), formula="within_tolerance")
        self.check({**integer, "tolerance": {"ulp": 0, "abs": 2}}, passed=1)
        self.check({**integer, "tolerance": {"ulp": 0, "abs": 1}}, failed=1)
        # On either side of the expected number, at the very edge, below 0 and across it.
        for case, tolerance, passes in [
            (add_case("u8", out=(4, 4)), {"abs": 2}, True),
            (add_case("u8", out=(4, 4)), {"abs": 1}, False),
            (add_case("u8", out=(4, 5)), {"ulp": 1}, True),
            (add_case("u8", out=(4, 8)), {"rel": 0.25}, True),
            (add_case("u8", out=(4, 8)), {"rel": 0.24}, False),
            (add_case("i8", a=[-3], b=[-3], out=[-4]), {"rel": 0.5}, True),
            (add_case("i8", a=[-3], b=[-3], out=[-8]), {"abs": 2}, True),
            (add_case("u64", a=[2**64 - 1], b=[0], out=[1]), {"abs": 2}, False),
            (add_case("i64", a=[2**63 - 1], b=[0], out=[-2**63]), {"abs": 2}, False),
            (add_case(a=[2], b=[0], out=[2.5]), {"abs": 0.5}, True),
            (add_case(a=[-3], b=[0], out=[-2]), {"rel": 0.5}, True),
            (add_case(a=[1], b=[0], out=[-1]), {"ulp": 4}, False),
            (add_case(a=[1e-45], b=[0], out=[-1e-45]), {"ulp": 2}, True),
            (add_case(a=[1e-45], b=[0], out=[-1e-45]), {"ulp": 1}, False),
            (add_case("f16", a=[6e-8], b=[0], out=[-6e-8]), {"ulp": 1}, False),
            (add_case("f16", a=[6e-8], b=[0], out=[1.2e-7]), {"abs": 7e-8}, True),
            (add_case("f16", a=[6e-8], b=[0], out=[1.2e-7]), {"abs": 5e-8}, False),
            (add_case(a=[3e38], b=[0], out=["inf"]), {"ulp": 1e9, "abs": 1e30, "rel": 1}, False)]:
            self.check({**case, "formula": "within_tolerance", "tolerance": tolerance},
                       passed=int(passes), failed=int(not passes))
        for special, other in [("inf", 3e38), ("nan", 1.0), ("inf", "-inf")]:
            case = add_case(a=[special, 1], b=[0, 1], out=[other, 2], formula="within_tolerance",
                            tolerance={"ulp": 1e9, "abs": 1e30, "rel": 1})
            self.check(case, failed=1)
        self.check(add_case(a=["nan", "inf"], b=[0, 1], out=["nan", "inf"],
                            formula="within_tolerance"), passed=1)

    def test_zero_of_a_source_with_a_tolerance(self):
        loose, strict = {"tolerance": {"ulp": 4, "abs": 1e-5}}, {"tolerance": {"ulp": 0, "abs": 0}}
        for dtype in ["f32", "f16"]:
            case = linear_case("DEQUANTIZE_LINEAR", "u8", [0, 1], -2.0, None, dtype, [0.0, -2.0],
                               dtype)
            self.check({**case, **loose}, passed=1, says=["results of -0.0"])
            for key in ["ulp", "abs", "rel"]:
                self.check({**case, "tolerance": {key: 1e-5}}, passed=1, says=["results of -0.0"])
            self.check({**case, **strict}, failed=1, says=["got -0"])
            case["output"]["data"][0] = -0.0
            self.check({**case, **strict}, passed=1)
            case["inputs"]["ScaleTensor"]["data"] = [2.0]
            case["output"]["data"] = [-0.0, 2.0]
            self.check({**case, **loose}, failed=1, says=["expected -0"])
            # Of no other operator.
            self.check(add_case(dtype, a=[-0.0], b=[-0.0], out=[0.0], **loose), failed=1,
                       says=["got -0"])

    def test_skips(self):
        self.check([add_case(formula="differs"), add_case(beyond="i4"),
                    add_case(beyond="expect_failure"), add_case("bf16"), add_case("f64"),
                    add_case()],
                   passed=1, skipped=5,
                   says=["1  formula: differs", "1  beyond: i4", "1  beyond: expect_failure",
                         "dtype bf16", "dtype f64"])
        self.check([add_case("float8e4m3fn"), add_case(beyond=True, op="MULTIPLY"),
                    add_case(beyond=None), add_case(beyond=False)],
                   passed=2, skipped=2, says=["dtype float8e4m3fn", "beyond: true"])
        self.check([add_case(beyond=None, out=(4, 7)), add_case(beyond=False, out=(4, 7))],
                   failed=2)
        quantize64 = linear_case("QUANTIZE_LINEAR", "f32", [1.0], 1.0, 0, "i64", [1])
        wide = linear_case("DEQUANTIZE_LINEAR", "i64", [1], 1.0, 0, "f32", [1.0])
        mixed = linear_case("QUANTIZE", "f16", [1.0], 1.0, 0, "u8", [1])
        self.check([quantize64, wide, mixed], skipped=3,
                   says=["QUANTIZE_LINEAR OutputTensor of i64",
                         "DEQUANTIZE_LINEAR InputTensor of i64",
                         "QUANTIZE ScaleTensor of f32 beside InputTensor of f16"])
        deep = add_case("u8", [1], [1], [2])
        for item in [*deep["inputs"].values(), deep["output"]]:
            item["shape"] = [1] * 9
        self.check(deep, skipped=1, says=["rank above 8"])
        for item in [*deep["inputs"].values(), deep["output"]]:
            item.update(shape=[1] * 8, strides=[1] * 8)
        self.check(deep, passed=1)

    def test_the_family(self):
        """Rows, operators and attributes that hewn lacks, refusals, blocks."""
        other = dict(add_case(), op="REQUANTIZE", row="REQ")
        clamp = linear_case("QUANTIZE_LINEAR", "f32", [1.0], 1.0, 0, "u8", [1], row="Q.8")
        clamp["attrs"] = {"saturate": 1}
        self.check([other, clamp], skipped=2,
                   says=["  1  REQ: outside the tables: operator REQUANTIZE\n",
                         "  1  Q.8: outside the tables: attribute saturate\n"])
        tie = linear_case("QUANTIZE_LINEAR", "f32", [0.25, 0.449951171875], 0.0999755859375, 0,
                          "i8", [2, 4], row="Q.precision", attrs={"precision": "f16"})
        exact = dict(tie, output=tensor("i8", [2], [3, 5]), attrs={"precision": "f32"})
        self.check([tie, exact, dict(tie, attrs={"precision": "float16"})], passed=3)
        self.check(dict(exact, attrs=tie["attrs"]), failed=1)
        self.broken(dict(tie, attrs={"precision": "f64"}),
                    "'precision' is \"f64\", not f32 f16 bf16")
        other = dict(tie, op="QUANTIZE")
        self.broken(other, "'attrs' of QUANTIZE has the unknown field 'precision'")
        refused = linear_case("QUANTIZE_LINEAR", "f32", [1.0], 1.0, 0, "i16", [1], rule="none")
        for item in [*refused["inputs"].values(), refused["output"]]:
            del item["data"]
        refused.update(attrs={"feature_level": "6.4"}, expect="UNSUPPORTED")
        self.check(refused, passed=1)
        self.check(dict(refused, expect="INVALID_ARGUMENT"), failed=1, says=["6.4"])
        fine = dict(linear_case("QUANTIZE_LINEAR", "f32", [1.0], 1.0, 0, "u8", [1]),
                    expect="UNSUPPORTED")
        self.check(fine, failed=1, says=["is not refused"])
        self.broken(dict(refused, expect="OK"), "'expect' is \"OK\"")
        outputs = {"OutputTensor": tensor("u8", [3], [170, 255, 0]),
                   "OutputScaleTensor": tensor("f32", [], [0.0117647061124444]),
                   "OutputZeroPointTensor": tensor("u8", [], [170])}
        dynamic = {"id": "dynamic", "op": "DYNAMIC_QUANTIZE_LINEAR", "outputs": outputs,
                   "inputs": {"InputTensor": tensor("f32", [3], ["nan", 1, -2])}}
        self.check(dynamic, passed=1)
        for name, wrong in [("OutputScaleTensor", 0.5), ("OutputZeroPointTensor", 171)]:
            item = dict(outputs[name], data=[wrong])
            self.check(dict(dynamic, outputs={**outputs, name: item}), failed=1, says=[name])
        del outputs["OutputScaleTensor"]
        self.broken(dynamic, "'outputs' is not an object of the operator's outputs")
        blocks = linear_case("DEQUANTIZE_LINEAR", "u8", [1, 2, 3, 4, 5], 1.0, None, "f32",
                             [1, 2, 30, 40, 500])
        scale = tensor("f32", [3], [1, 10, 100], [1], block=[2])
        blocks["inputs"]["ScaleTensor"] = scale
        self.check(blocks, passed=1)
        for change, says in [({"block": [0]}, "'block' [0]"), ({"block": [2, 1]}, "'block' [2, 1]"),
                             ({"block": [1]}, "lead outside its 3 elements"),
                             ({"strides": None}, "'block' without 'strides'")]:
            blocks["inputs"]["ScaleTensor"] = {**scale, **change}
            self.broken(blocks, "ScaleTensor", says)

    def test_names_of_numpy(self):
        case = linear_case("QUANTIZE_LINEAR", "float32", [1.0], 1.0, 0, "uint8", [1])
        for output in ["u8", "uint8"]:
            self.check(dict(case, attrs={"output_dtype": output}), passed=1)
        self.broken(dict(case, attrs={"output_dtype": "int8"}), "'output_dtype' is \"int8\"")
        self.broken(add_case("int33"), "unknown dtype 'int33'; did you mean int32?")

    def test_types_outside_the_tables(self):
        foreign = ["f64", "bf16", "bool", "c64", "c128", "string", "i1", "i3", "u1", "u3",
                   "float8e5m2", "float6e2m3", "float4e2m1", "f8e4m3", "f6e3m2", "f4e2m1", "e8m0"]
        self.check([add_case(dtype) for dtype in foreign], skipped=len(foreign),
                   says=[f"1  outside the tables: dtype {dtype}\n" for dtype in foreign])

        def changed(case, **dtypes):
            case = json.loads(json.dumps(case))
            for name, dtype in dtypes.items():
                (case["output"] if name == "output" else case["inputs"][name])["dtype"] = dtype
            return case

        quantize = linear_case("QUANTIZE_LINEAR", "f32", [1.0], 1.0, 0, "u8", [1])
        dequantize = linear_case("DEQUANTIZE_LINEAR", "u8", [1], 1.0, 0, "f32", [1.0])
        one, scales = tensor("u8", [1], [1],
                             [1]), {f"{name}ScaleTensor": tensor("f32", [], [1.0], [0])
                                    for name in ["A", "B", "Output"]}
        zeros = {f"{name}ZeroPointTensor": tensor("u8", [], [0], [0])
                 for name in ["A", "B", "Output"]}
        qadd = {"id": "qadd", "op": "QUANTIZED_LINEAR_ADD", "formula": "exact",
                "inputs": {"ATensor": one, "BTensor": one, **scales, **zeros},
                "output": tensor("u8", [1], [2])}
        outside = [
            (changed(add_case(), ATensor="i32"), "ADD BTensor of f32 beside ATensor of i32"),
            (changed(add_case(), BTensor="i32"), "ADD BTensor of i32 beside ATensor of f32"),
            (changed(add_case(), output="i32"), "ADD OutputTensor of i32 beside ATensor of f32"),
            (changed(add_case(), output="bool"), "dtype bool"),
            (changed(quantize, output="i64", ZeroPointTensor="i64"),
             "QUANTIZE_LINEAR OutputTensor of i64"),
            (changed(quantize, InputTensor="i16"), "QUANTIZE_LINEAR InputTensor of i16"),
            ({**changed(quantize, ScaleTensor="f16"), "op": "QUANTIZE"},
             "QUANTIZE ScaleTensor of f16 beside InputTensor of f32"),
            (changed(quantize, ZeroPointTensor="i8"),
             "QUANTIZE_LINEAR ZeroPointTensor of i8 beside OutputTensor of u8"),
            (changed(dequantize, InputTensor="i64", ZeroPointTensor="i64"),
             "DEQUANTIZE_LINEAR InputTensor of i64"),
            (changed(dequantize, output="i32", ScaleTensor="i32"),
             "DEQUANTIZE_LINEAR ScaleTensor of i32"),
            ({**changed(dequantize, ScaleTensor="f16"), "op": "DEQUANTIZE"},
             "DEQUANTIZE OutputTensor of f32 beside ScaleTensor of f16"),
            (changed(dequantize, ZeroPointTensor="i8"),
             "DEQUANTIZE_LINEAR ZeroPointTensor of i8 beside InputTensor of u8"),
            *((changed(qadd, **{name: "i32", zero: "i32"}), f"QUANTIZED_LINEAR_ADD {tensor} of i32")
              for name, zero, tensor in [("ATensor", "AZeroPointTensor", "ATensor"),
                                         ("BTensor", "BZeroPointTensor", "BTensor"),
                                         ("output", "OutputZeroPointTensor", "OutputTensor")]),
            *((changed(qadd, **{name: "f16"}), f"QUANTIZED_LINEAR_ADD {name} of f16")
              for name in scales),
            *((changed(qadd, **{name: "i8"}),
               f"QUANTIZED_LINEAR_ADD {name} of i8 beside {name.replace('ZeroPoint', '')} of u8")
              for name in zeros),
        ]
        reasons = [reason for _, reason in outside]
        self.check([case for case, _ in outside], skipped=len(outside),
                   says=[f"  {reasons.count(reason)}  outside the tables: {reason}\n"
                         for reason in reasons])
        # A parameter without strides is of one element, or it is not.
        del qadd["inputs"]["AScaleTensor"]["strides"]
        self.check(qadd, passed=1)
        qadd["inputs"]["AScaleTensor"].update(shape=[2], data=[1.0, 1.0])
        self.check(qadd, skipped=1, says=["QUANTIZED_LINEAR_ADD AScaleTensor of several elements"])
        # What is in the tables is not left out.
        inside = [linear_case("QUANTIZE_LINEAR", "f32", [1.0], 1.0, 0, "i8", [1]),
                  linear_case("QUANTIZE_LINEAR", "f16", [1.0], 1.0, 0, "u8", [1], "f16"),
                  linear_case("QUANTIZE_LINEAR", "i32", [1], 1.0, 0, "u8", [1])]
        inside += [linear_case("DEQUANTIZE_LINEAR", dtype, [1], 1.0, 0, real, [1.0], real)
                   for dtype in ["i8", "u8", "i16", "u16", "i32", "u32"] for real in ["f32", "f16"]]
        self.check(inside, passed=len(inside))

    def test_what_the_library_refuses_in_the_tables_fails(self):
        case = add_case("u8")
        case["inputs"]["ATensor"]["strides"] = [0]
        self.check(case, failed=1)  # reads 1, 1: a wrong result, not an error

    def test_broken_lines(self):
        def changed(change, base=add_case):
            case = json.loads(json.dumps(base()))
            change(case)
            return json.dumps(case)

        def in_a(**values):
            return changed(lambda case: case["inputs"]["ATensor"].update(values))

        def without(*path):
            def change(case):
                for key in path[:-1]:
                    case = case[key]
                del case[path[-1]]
            return changed(change)

        self.broken("{", "JSON")
        self.broken("not json", "JSON")
        self.broken("[1, 2]")
        self.broken("3")
        self.broken("null")
        self.broken(json.dumps(add_case())[:-5], "JSON")
        self.broken(json.dumps(add_case()) + " {}", "JSON")
        self.broken(json.dumps(add_case()).replace("1,", "NaN,", 1), "JSON")
        self.broken('{"id": "\x00"}', "JSON")
        self.broken("[" * 200000, "JSON")
        self.broken('{"id": 5}', "id")
        self.broken(without("id"), "id")
        self.broken(without("op"), "case", "op")
        self.broken(changed(lambda case: case.update(op="MULTIPLY")), "MULTIPLY")
        self.broken(changed(lambda case: case.update(op=1)), "op")
        self.broken(without("inputs"), "inputs")
        self.broken(changed(lambda case: case.update(inputs=[])), "inputs")
        self.broken(without("inputs", "BTensor"), "BTensor is missing")
        self.broken(changed(lambda case: case["inputs"].update(CTensor=case["inputs"]["ATensor"])),
                    "CTensor")
        self.broken(changed(lambda case: case["inputs"].update(ATensor=5)), "ATensor")
        self.broken(without("output"), "output")
        for key in ["dtype", "shape", "data"]:
            self.broken(without("inputs", "ATensor", key), "ATensor", key)
            self.broken(without("output", key), "output", key)
        for dtype in ["f23", "float23", "float", "int7"]:
            self.broken(in_a(dtype=dtype), "ATensor", dtype)
        self.broken(in_a(dtype=5), "ATensor", "dtype")
        self.broken(in_a(shape=[3]), "ATensor", "2 elements", "[3]")
        self.broken(in_a(shape=[-2]), "ATensor", "-2")
        self.broken(in_a(shape=[2.5]), "ATensor", "2.5")
        self.broken(in_a(shape="2"), "ATensor", "'shape' is not an array")
        self.broken(in_a(shape={"0": 2}), "ATensor", "'shape' is not an array")
        self.broken(in_a(shape=[2**64]), "ATensor")
        self.broken(in_a(shape=[2**63]), "ATensor")
        self.broken(in_a(shape=[2**40, 2**40]), "ATensor")
        self.broken(in_a(data="12"), "ATensor", "'data' is not an array")
        self.broken(in_a(data={"0": 1, "1": 2}), "ATensor", "'data' is not an array")
        self.broken(in_a(data=[1]), "ATensor", "1 elements")
        self.broken(in_a(data=[1, 2, 3], strides=None), "ATensor", "3 elements")
        for value in [None, True, "NaN", "1", [1], {}, 1e39, -1e39, 10**40]:
            self.broken(in_a(data=[1, value]), "ATensor", "data[1]", "f32")
        self.broken(in_a(strides=[1, 1]), "ATensor", "strides")
        self.broken(in_a(strides=[]), "ATensor", "strides")
        self.broken(in_a(strides=[-1]), "ATensor", "-1")
        self.broken(in_a(strides=[2]), "ATensor", "outside")
        self.broken(in_a(strides=[2**62]), "ATensor", "outside")
        # More than the two elements of A.
        for shape, strides in [([3], [1]), ([2, 2], [1, 1]), ([2, 3], [1, 1])]:
            case = add_case(a=[1, 2], b=[0] * 6, out=[0] * 6)
            case["output"].update(shape=shape,
                                  data=[0] * (6 if shape == [2, 3] else 4 if shape == [2, 2]
                                              else 3))
            case["inputs"]["ATensor"].update(strides=strides, shape=[2])
            case["inputs"]["BTensor"].update(strides=[0] * len(shape))
            self.broken(json.dumps(case), "ATensor", "outside")
        self.broken(in_a(strides=[2**64]), "ATensor")
        self.broken(in_a(strides=["1"]), "ATensor", "strides")
        self.broken(in_a(shape=[0], data=[]), "ATensor")
        self.broken(in_a(shape=[0], data=[], strides=[1]), "ATensor", "has no elements")
        self.broken(changed(lambda case: case.update(formula="wrong")), "formula")
        self.broken(changed(lambda case: case.update(formula=["[" * 5])), "formula")
        self.broken(changed(lambda case: case.update(tolerance=5)), "tolerance")
        self.broken(changed(lambda case: case.update(tolerance={"ulp": -1})), "ulp")
        self.broken(changed(lambda case: case.update(tolerance={"ulps": 1})),
                    "'tolerance' has the unknown field 'ulps'")
        self.broken(changed(lambda case: case.update(tolerance={"ulp": "1"})), "ulp")
        self.broken(changed(lambda case: case.update(id="an/id", op="MULTIPLY")),
                    "cases.jsonl:2: an/id: unknown op 'MULTIPLY'")
        self.broken(json.dumps(add_case("i64", a=[2.0, 1])),
                    "2.0 is not a value of i64 (write an integer in its range)")
        self.broken(in_a(data=[1, "NaN"]), "(strings are \"nan\", \"inf\" and \"-inf\")")
        self.broken(in_a(data=[1, [[2]]]), "data[1]: an array is not a value of f32")
        for dtype, value in [("u8", 256), ("u8", -1), ("i8", 128), ("i8", -129), ("u16", 65536),
                             ("i16", -32769), ("u32", 2**32), ("i32", 2**31), ("u64", 2**64),
                             ("u64", -1), ("i64", 2**63), ("i64", -2**63 - 1), ("u8", 1.5),
                             ("u8", 256.0), ("u8", -1.0), ("i16", -32769.0),
                             ("i64", 2.0), ("u8", "nan"), ("u8", None), ("f16", 65520),
                             ("f16", -70000)]:
            self.broken(json.dumps(add_case(dtype, a=[value, 1])), "ATensor", "data[0]", dtype)
            self.broken(json.dumps(add_case(dtype, out=[value, 1])), "output", "data[0]", dtype)

    def test_packed_types(self):
        case = linear_case("QUANTIZE_LINEAR", "f32", [1.0, 9.0, -3.0], 1.0, 2, "i4", [3, 7, -1])
        self.check(case, passed=1)
        case["output"]["packed"] = "730f"
        self.check(case, passed=1)
        case["output"]["packed"] = "73ff"
        self.broken(json.dumps(case), "output: 'packed' is \"73ff\", but 'data' is 730f")
        case["output"].pop("packed")
        case["output"]["data"] = [3, 7, 8]
        self.broken(json.dumps(case), "output: element 2 is 8, i4's range is -8..7")
        case["output"]["data"] = [3, 7, -2]
        self.check(case, failed=1, says=["element [2]: got -1, expected -2"])

    def test_unknown_fields(self):
        """They might change what the case means, so it neither passes nor fails."""
        quantize = linear_case("QUANTIZE_LINEAR", "f32", [1.0, 2.0], 1.0, 0, "u8", [1, 2])
        one, scales = tensor("u8", [1], [1],
                             [1]), {f"{name}ScaleTensor": tensor("f32", [], [1.0], [0])
                                    for name in ["A", "B", "Output"]}
        qadd = {"id": "qadd", "op": "QUANTIZED_LINEAR_ADD", "formula": "exact",
                "inputs": {"ATensor": one, "BTensor": one, **scales},
                "output": tensor("u8", [1], [2])}
        self.check([quantize, qadd], passed=2)
        for case in [quantize, qadd, add_case()]:
            self.broken(json.dumps({**case, "sources": None}),
                        "the case has the unknown field 'sources'")
            for key in ["Saturate", "Output_dtype", "Axis", "clip"]:
                self.broken(json.dumps({**case, "attrs": {key: 1}}),
                            f"'attrs' of {case['op']} has the unknown field '{key}'")
            for attrs in [5, [], "axis"]:
                self.broken(json.dumps({**case, "attrs": attrs}), "'attrs'", "is not an object")
            for name in case["inputs"]:
                changed = json.loads(json.dumps(case))
                changed["inputs"][name]["blocks"] = [2]
                self.broken(json.dumps(changed), f"{name} has the unknown field 'blocks'")
            self.broken(json.dumps({**case, "output": {**case["output"], "packed": "00"}}),
                        "output: 'packed' is for types of less than 8 bits")
            self.broken(json.dumps({**case, "output": {**case["output"], "block": [1]}}),
                        "output: has 'block'")
        for case in [qadd, add_case()]:
            self.broken(json.dumps({**case, "attrs": {"axis": 0}}), "unknown field 'axis'")
            self.broken(json.dumps({**case, "attrs": {"block_size": 0}}),
                        "unknown field 'block_size'")
        self.check({**quantize, "attrs": {"axis": 0, "block_size": 2}}, passed=1)
        self.check([{**quantize, "attrs": {"output_dtype": "u8"}},
                    {**add_case(), "attrs": {"output_dtype": "f32"}}], passed=2)
        for other in ["i8", 8, ["u8"]]:
            self.broken(json.dumps({**quantize, "attrs": {"output_dtype": other}}),
                        "'output_dtype' is", "but the output is of u8")
        # What is skipped is named all the same, and what is for people is not looked at.
        self.check([add_case(beyond="i4", expect=1),
                    add_case(formula="differs", attrs={"clamp": [0, 1]})], skipped=2,
                   says=["beyond: i4", "formula: differs"])
        people = {key: {"any": [1]} for key in ["source", "note", "also", "expected_real", "row",
                                                "checked", "deviates"]}
        case = add_case(**people)
        case["inputs"]["ATensor"].update(orig_shape=[1], orig_data=[7])
        self.check([case, {**add_case(), "attrs": {}}], passed=2)

    def test_a_failure_behind_an_unusable_line_is_told(self):
        result = self.run_cases("{}", add_case(id="wrong", out=(4, 7)))
        self.assertEqual(result.returncode, 2)
        self.assertIn("FAILED wrong", result.stdout)
        self.assertEqual(result.stdout.splitlines()[-1],
                         "0 passed, 1 failed, 0 skipped, 1 unusable")

        result = self.run_cases("{}")
        self.assertEqual((result.stdout.splitlines()[-1], result.stderr.count("hewn: error: ")),
                         ("0 passed, 0 failed, 0 skipped, 1 unusable", 1))

    def test_null_is_absent(self):
        case = linear_case("QUANTIZE_LINEAR", "f32", [1.0, 2.0], 1.0, 0, "u8", [1, 2])
        case["inputs"]["ZeroPointTensor"] = None
        case.update(formula=None, tolerance=None, beyond=None, attrs=None)
        for tensor in [case["inputs"]["InputTensor"], case["output"]]:
            tensor["strides"] = None
        self.check(case, passed=1)
        self.broken(json.dumps({**case, "inputs": {**case["inputs"], "ScaleTensor": None}}),
                    "ScaleTensor is missing")

    def test_a_row_of_parameters_lies_along_the_axis(self):
        def case(axis, scale, output):
            case = linear_case("QUANTIZE_LINEAR", "f32", [10.0, 10.0, 10.0, 10.0], 1.0, 0, "u8",
                               output, attrs={"axis": axis})
            for tensor in [case["inputs"]["InputTensor"], case["output"]]:
                tensor.update(shape=[2, 2])
                tensor.pop("strides", None)
            case["inputs"]["ScaleTensor"] = {"dtype": "f32", "shape": [len(scale)], "data": scale}
            case["inputs"].pop("ZeroPointTensor")
            return case
        self.check([case(0, [1, 10], [10, 10, 1, 1]), case(1, [1, 10], [10, 1, 10, 1]),
                    case(-2, [1, 10], [10, 10, 1, 1]), case(0, [10], [1, 1, 1, 1])], passed=4)
        along = case(0, [1, 10], [10, 10, 100, 100])
        along["op"] = "DEQUANTIZE_LINEAR"
        along["inputs"]["InputTensor"]["dtype"], along["output"]["dtype"] = "u8", "f32"
        along["inputs"]["InputTensor"]["data"] = [10, 10, 10, 10]
        of_rank_2 = case(1, [1, 10], [10, 1, 10, 1])
        of_rank_2["inputs"]["ScaleTensor"]["shape"] = [1, 2]
        self.check([along, of_rank_2], passed=2)
        for axis in [2, -3, "0", 0.5, 2**63, 2**64 - 1]:
            self.broken(json.dumps(case(axis, [1, 10], [10, 10, 1, 1])), "axis")
        self.broken(json.dumps(case(0, [1, 2, 3], [10, 10, 1, 1])), "ScaleTensor", "axis 0")

    def test_an_axis_that_nothing_needs_may_be_anything(self):
        # With strides.
        per_tensor = linear_case("QUANTIZE_LINEAR", "f32", [1.0, 2.0], 1.0, 0, "u8", [1, 2])
        rank_0 = json.loads(json.dumps(per_tensor))
        for tensor in [*rank_0["inputs"].values(), rank_0["output"]]:
            tensor.update(shape=[], data=tensor["data"][:1])
            tensor.pop("strides", None)
        one_element = json.loads(json.dumps(per_tensor))
        one_element["inputs"]["ScaleTensor"] = {"dtype": "f32", "shape": [1], "data": [1.0]}
        strides = json.loads(json.dumps(per_tensor))
        strides["inputs"]["ScaleTensor"] = {"dtype": "f32", "shape": [2], "data": [1.0, 1.0],
                                            "strides": [1]}
        cases = [{**case, "attrs": {"axis": axis}}
                 for case in [per_tensor, rank_0, one_element, strides] for axis in [1, -2, [0]]]
        self.check(cases, passed=len(cases))

    def test_the_output_is_packed(self):
        case = add_case()
        for shape, strides in [([2], [1]), ([2, 1], [1, 7]), ([1, 2], [0, 1])]:
            for tensor in [*case["inputs"].values(), case["output"]]:
                tensor.update(shape=shape, strides=strides)
            self.check(case, passed=1)
        for shape, strides in [([2], [2]), ([2, 1], [2, 1]), ([2], []), ([2], [1, 1])]:
            case["output"].update(shape=shape, strides=strides)
            for tensor in case["inputs"].values():
                tensor.update(shape=shape, strides=[1] * len(shape))
            self.broken(json.dumps(case), "output", "strides", "packed")

    def test_random_damage_does_not_crash(self):
        line = json.dumps(linear_case("QUANTIZE_LINEAR", "f32", [1.0, 2.0], 1.0, 0, "u8", [1, 2],
                                      tolerance={"ulp": 1, "abs": 0.5}))
        for _ in range(150):
            damaged = list(line)
            for _ in range(self.rng.integers(1, 4)):
                damaged[self.rng.integers(len(damaged))] = chr(self.rng.integers(32, 127))
            result = self.run_cases("".join(damaged))
            self.assertIn(result.returncode, (0, 1, 2), f"{''.join(damaged)}\n{result.stderr}")

    def test_files(self):
        for name, says in [("missing.jsonl", "no such file"), ("", "not a regular file")]:
            result = self.run_hewn("conformance", self.write("good.jsonl", json.dumps(add_case())),
                                   self.path(name))
            self.assertEqual(result.returncode, 2)
            self.assertIn(says, result.stderr)
            self.assertNotIn("passed,", result.stdout)
        for nothing in ["", "\n \n"]:
            result = self.run_hewn("conformance", self.write("empty.jsonl", nothing),
                                   self.write("good.jsonl", json.dumps(add_case())))
            self.assertEqual(result.returncode, 2)
            self.assertIn("empty.jsonl: holds no case", result.stderr)
            last = self.run_hewn("conformance", self.path("good.jsonl"), self.path("empty.jsonl"))
            self.assertEqual((last.returncode, last.stderr), (2, result.stderr))
            self.assertEqual(result.stdout.splitlines()[-1],
                             "1 passed, 0 failed, 0 skipped, 1 unusable")
        good = self.write("good.jsonl", json.dumps(add_case()))  # no newline at the end
        self.assertEqual(self.succeed("conformance", good, good).stdout.splitlines()[-1],
                         "2 passed, 0 failed, 0 skipped")
        self.write("windows.jsonl", json.dumps(add_case()) + "\r\n\r\n")
        self.assertEqual(self.succeed("conformance",
                                      self.path("windows.jsonl")).stdout.splitlines()[-1],
                         "1 passed, 0 failed, 0 skipped")

    def test_variants(self):
        info = json.loads(self.succeed("info", "--json").stdout)
        for target in cpu_targets(info, "add_f32"):
            name = target["name"]
            if not target["supported"]:
                result = self.run_cases(add_case(), arguments=["--variant", name])
                self.assertEqual(result.returncode, 1)
                self.assertIn("cannot run here", result.stderr)
                print(f"skipped: {name}: this machine lacks {target['missing']}")
                continue
            self.check(add_case(), passed=1, arguments=["--variant", name], says=[name])
            self.check([add_case(), add_case("i8")], passed=1, skipped=1,
                       arguments=["--variant", "add_f32__" + name],
                       says=["not a case of the forced variant", f"with add_f32__{name}: "])
            self.check(add_case(), passed=1, HEWN_VARIANT=name)
        for arguments, environment in [(["--variant", "x86_64_mmx"], {}),
                                       ([], {"HEWN_VARIANT": "x86_64_mmx"})]:
            result = self.run_cases(add_case(), arguments=arguments, **environment)
            self.assertEqual(result.returncode, 1)
            self.assertIn("hewn: error: conformance: ", result.stderr)
            self.assertIn("x86_64_mmx is neither a target", result.stderr)


# What DxDispatch knows of DirectML's operators: GetBindPoints and ParseDml...OperatorDesc in
# DxDispatch/src/model/JsonParsersGenerated.cpp of microsoft/DirectML at a9614e8, required tensors
# and optional ones.
DXDISPATCH_OPERATORS = {
    "DML_OPERATOR_ELEMENT_WISE_ADD": ({"ATensor", "BTensor", "OutputTensor"}, set()),
    "DML_OPERATOR_ELEMENT_WISE_QUANTIZE_LINEAR": ({"InputTensor", "ScaleTensor", "OutputTensor"},
                                                  {"ZeroPointTensor"}),
    "DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR": ({"InputTensor", "ScaleTensor", "OutputTensor"},
                                                    {"ZeroPointTensor"}),
    "DML_OPERATOR_ELEMENT_WISE_QUANTIZED_LINEAR_ADD": (
        {"ATensor", "AScaleTensor", "BTensor", "BScaleTensor", "OutputScaleTensor", "OutputTensor"},
        {"AZeroPointTensor", "BZeroPointTensor", "OutputZeroPointTensor"}),
}
# The same file's ParseDmlTensorDataType, and what NpyReaderWriter.cpp reads them from.
DXDISPATCH_TYPES = {"FLOAT32": "f4", "FLOAT16": "f2", "UINT8": "u1", "INT8": "i1", "UINT16": "u2",
                    "INT16": "i2", "UINT32": "u4",
                    "INT32": "i4", "UINT64": "u8", "INT64": "i8"}


class ReplayTest(CliTest):
    def names(self):
        """The cases of this build's kernels, of which a signed sum's serve the unsigned type
        too."""
        names = set()
        for variant in json.loads(self.succeed("info", "--json").stdout)["variants"]:
            operator, signature = variant["operator"], variant["signature"]
            if f"DML_OPERATOR_ELEMENT_WISE_{operator.upper()}" not in DXDISPATCH_OPERATORS or (
                    operator.startswith("quantize") and not signature.endswith("8")):
                continue
            kernel = f"{operator}_{signature}"
            names |= {f"{kernel}_{i}"
                      for i in range(3)} if operator == "quantized_linear_add" else {kernel}
            if operator == "add" and signature[0] == "i":
                names.add(f"add_u{signature[1:]}")
        return sorted(names)

    def load(self, folder, name):
        with open(os.path.join(folder, name + ".json")) as file:
            return json.load(file)

    def check_model(self, folder, name, model):
        """Nothing but what DxDispatch's parser reads (JsonParsers.cpp, ParseModel), and files that
        fit. Returns the inputs, expanded."""
        self.assertEqual(set(model), {"resources", "dispatchables", "commands"})
        (operator,) = model["dispatchables"].values()
        self.assertEqual(set(operator), {"type", "desc"})
        required, optional = DXDISPATCH_OPERATORS[operator["type"]]
        self.assertLessEqual(required, set(operator["desc"]))
        self.assertLessEqual(set(operator["desc"]), required | optional)
        self.assertEqual(set(model["resources"]), set(operator["desc"]))
        inputs = {}
        for tensor, desc in operator["desc"].items():
            self.assertLessEqual({"DataType", "Sizes"}, set(desc))
            self.assertLessEqual(set(desc), {"DataType", "Sizes", "Strides"})
            dtype = np.dtype(DXDISPATCH_TYPES[desc["DataType"]])
            resource = model["resources"][tensor]
            self.assertEqual(set(resource), {"initialValuesDataType", "initialValues"})
            self.assertEqual(resource["initialValuesDataType"], desc["DataType"])
            if tensor == "OutputTensor":
                self.assertEqual(resource["initialValues"],
                                 {"valueCount": int(np.prod(desc["Sizes"])), "value": 85})
                continue
            self.assertEqual(set(resource["initialValues"]), {"sourcePath"})
            array = np.load(os.path.join(folder, resource["initialValues"]["sourcePath"]))
            self.assertEqual(array.dtype, dtype)
            strides = desc["Strides"]
            self.assertEqual(sum((size - 1) * stride
                                 for size, stride in zip(desc["Sizes"], strides)), array.size - 1)
            inputs[tensor] = np.lib.stride_tricks.as_strided(
                array, desc["Sizes"], [stride * dtype.itemsize for stride in strides])
        (dispatchable,) = model["dispatchables"]
        sizes = operator["desc"]["OutputTensor"]["Sizes"]
        self.assertEqual(model["commands"], [
            {"type": "dispatch", "dispatchable": dispatchable,
             "bindings": {tensor: tensor for tensor in operator["desc"]}},
            {"type": "writeFile", "resource": "OutputTensor", "targetPath": name + ".directml.npy",
             "dimensions": sizes}])
        name = operator["type"].removeprefix("DML_OPERATOR_ELEMENT_WISE_")
        return name, operator["desc"]["OutputTensor"], inputs

    def expected(self, operator, dtype, tensors):
        if operator == "ADD":
            with np.errstate(all="ignore"):
                return tensors["ATensor"] + tensors["BTensor"]
        if operator == "QUANTIZED_LINEAR_ADD":
            one = {tensor: array.item() for tensor, array in tensors.items() if array.size == 1}
            return quantized_add(tensors["ATensor"], one["AScaleTensor"], one["AZeroPointTensor"],
                                 tensors["BTensor"], one["BScaleTensor"],
                                 one["BZeroPointTensor"], one["OutputScaleTensor"],
                                 one["OutputZeroPointTensor"], dtype)
        arguments = tensors["InputTensor"], tensors["ScaleTensor"], tensors["ZeroPointTensor"]
        return quantize(*arguments,
                        dtype) if operator == "QUANTIZE_LINEAR" else dequantize(*arguments)

    def test_every_kernel(self):
        folder = self.path("cases")
        names = self.names()
        self.assertIn(f" {len(names)} models", self.succeed("replay", folder).stdout)
        self.assertEqual(sorted(name.removesuffix(".json") for name in os.listdir(folder)
                                if name.endswith(".json")), names)
        for name in names:
            operator, output, tensors = self.check_model(folder, name, self.load(folder, name))
            dtype = np.dtype(DXDISPATCH_TYPES[output["DataType"]])
            result = np.load(os.path.join(folder, name + ".hewn.npy"))
            self.assertEqual(list(result.shape), output["Sizes"])
            self.assert_same(result, self.expected(operator, dtype, tensors), name)
            # Special values and ties are among the inputs.
            first = tensors.get("InputTensor", tensors.get("ATensor"))
            if first.dtype.kind == "f":
                tiny = np.finfo(first.dtype).tiny
                for kind in [np.isnan(first), first == np.inf, first == -np.inf,
                             (first == 0) & np.signbit(first), (first > 0) & (first < tiny)]:
                    self.assertTrue(kind.any(), name)
            if operator == "QUANTIZE_LINEAR":
                with np.errstate(all="ignore"):
                    quotients = first.astype(F32) / tensors["ScaleTensor"].astype(F32)
                    ties = (quotients % 1 == 0.5) & (abs(quotients) < 256)
                self.assertGreater(np.count_nonzero(ties), 200, name)
            self.check_inputs(operator, name, tensors)
        # A folder within one that does not exist either; and one that is there.
        for _ in range(2):
            self.succeed("replay", self.path("new/folder"), "--variant",
                         "add_i8__"
                         + cpu_targets(
                             json.loads(self.succeed("info", "--json").stdout))[0]["name"])
            self.assertEqual(len(os.listdir(self.path("new/folder"))), 8)

    def check_inputs(self, operator, name, tensors):
        """What may go wrong is among the inputs."""
        def holds(array, *values):
            self.assertLessEqual({array.dtype.type(value).tobytes() for value in values},
                                 {value.tobytes() for value in array.reshape(-1)}, name)

        def ends(dtype):
            if dtype.kind != "f":
                info = np.iinfo(dtype)
                return [0, 1, 2, info.max, info.min, info.min + 1, -2,
                        -1] if info.min else [0, 1, 2, *(info.max // 2 + i for i in range(3)),
                                              info.max - 1, info.max]
            info, one = np.finfo(dtype), dtype.type(1)
            values = [0, one, np.nextafter(one, dtype.type(2)), info.eps / 2,
                      info.smallest_subnormal, np.nextafter(info.tiny, dtype.type(0)), info.tiny,
                      info.max, dtype.type(np.inf)]
            return [sign * dtype.type(value) for value in values for sign in (1, -1)]

        if operator == "ADD":
            a, b = tensors["ATensor"], tensors["BTensor"]
            holds(a, *ends(a.dtype))
            self.assertEqual(len({(x.tobytes(), y.tobytes())
                                  for x, y in zip(a.reshape(-1), b.reshape(-1))}), a.size, name)
        elif operator == "QUANTIZED_LINEAR_ADD":
            a, b = tensors["ATensor"], tensors["BTensor"]
            holds(b, *ends(b.dtype))
            self.assertEqual(len(set(zip(a.reshape(-1), b.reshape(-1)))), 256 * 8, name)
            scales, zeros = ([tensors[f"{tensor}{kind}Tensor"].item()
                              for tensor in ("A", "B", "Output")]
                             for kind in ("Scale", "ZeroPoint"))
            if name.endswith("_0"):
                sums = a.astype(int) + b
                self.assertEqual((scales, zeros), ([1, 1, 2], [0, 0, 0]))
                self.assertEqual(np.count_nonzero(sums % 2), sums.size // 2)
            else:
                self.assertNotIn(0, zeros)
                self.assertNotEqual(scales[0], scales[2])
        else:
            x, scale, zero = (tensors[name + "Tensor"] for name in ("Input", "Scale", "ZeroPoint"))
            holds(zero, *ends(zero.dtype)[:6])
            self.assertEqual(len(np.unique(scale)), 8, name)
            if operator == "DEQUANTIZE_LINEAR":
                self.assertGreaterEqual(len(np.unique(x)), 256, name)
                holds(x, *ends(x.dtype))
                # From one end to the other.
                self.assertGreater(len(np.unique(x >> 8 * x.itemsize - 8)), 254, name)
                return
            holds(scale, 0.039215686)
            # Ties of odd numbers, with their neighbours.
            row = x[0, 0, np.flatnonzero(scale[0, 0, :, 0] == 2)[0]]
            ties = np.arange(-511, 512, 2)
            holds(row, *ties)
            if x.dtype.kind == "f":
                holds(row, *np.nextafter(ties.astype(x.dtype), x.dtype.type(np.inf)),
                      *np.nextafter(ties.astype(x.dtype), x.dtype.type(-np.inf)))

    def test_comparison_of_the_docs(self):
        """docs/lab/directml.md's program finds what differs, and only that."""
        script = read(os.path.join(SOURCE_DIR, "docs", "lab",
                                   "directml.md")).decode().split("```python\n")[1].split("```")[0]
        folder = self.path("cases")
        self.succeed("replay", folder)
        for name in os.listdir(folder):
            if name.endswith(".hewn.npy"):
                array = np.load(os.path.join(folder, name))
                if array.dtype.kind == "f":  # another NaN is no difference
                    array[np.isnan(array)] = -array[np.isnan(array)]
                np.save(os.path.join(folder, name.replace(".hewn.", ".directml.")), array)
        compare = lambda: subprocess.run([sys.executable, "-c", script], cwd=folder,
                                         capture_output=True, text=True, check=True).stdout
        cases = len(self.names())
        self.assertEqual(compare(), f"0 of {cases} cases differ\n")
        for case, change in [("add_f32", lambda bits: bits ^ 0x80000000),
                             ("quantize_linear_f32_i8", lambda bits: bits + 1)]:
            path = os.path.join(folder, case + ".directml.npy")
            array = np.load(path)
            index = tuple(np.argwhere(array == 0)[3])
            bits = array.view(f"u{array.itemsize}")
            bits[index] = change(bits[index])
            np.save(path, array)
        lines = compare().splitlines()
        self.assertEqual(len(lines), 3)
        self.assertTrue(lines[0].startswith("add_f32: 1 of ") and "-0.0" in lines[0], lines)
        self.assertTrue(lines[1].startswith("quantize_linear_f32_i8: 1 of "), lines)
        self.assertEqual(lines[2], f"2 of {cases} cases differ")

    def test_forced_and_refused(self):
        target = cpu_targets(json.loads(self.succeed("info", "--json").stdout))[0]["name"]
        folder = self.path("some")
        self.assertIn("2 models, with the results of add_i8__" + target,
                      self.succeed("replay", folder, "--variant", "add_i8__" + target).stdout)
        self.assertEqual(sorted(name for name in os.listdir(folder) if name.endswith(".json")),
                         ["add_i8.json", "add_u8.json"])
        self.refuse("replay", self.write("file", "x"), out=None, says="file: ")
        self.refuse("replay", self.write("file", "x") + "/sub", out=None, says="file/sub: ")
        self.refuse("replay", self.path("other"), "--variant", "nonsense", out=None, code=1,
                    says="replay: ")

    @unittest.skipIf(os.name == "nt", "limits of POSIX")
    def test_a_full_disk(self):
        """No file may grow beyond 1000 bytes: the tensors of ADD i8 have less, its model more."""
        import resource
        target = cpu_targets(json.loads(self.succeed("info", "--json").stdout))[0]["name"]
        result = subprocess.run([HEWN, "replay", self.path("full"), "--variant",
                                 "add_i8__" + target], capture_output=True, text=True, timeout=HANG,
                                restore_signals=False,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE,
                                                                      (1000, 1000)))
        self.assertEqual(result.returncode, 2, result.stdout)
        self.assertIn("add_i8.json: cannot be written", result.stderr)
        self.assertFalse([name for name in os.listdir(self.path("full"))
                          if not name.endswith(".npy")])


if __name__ == "__main__":
    HEWN = os.environ.get("HEWN_CLI")
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-") and os.path.isfile(sys.argv[1]):
        HEWN = sys.argv.pop(1)
    if not HEWN:
        sys.exit(__doc__)
    HEWN = os.path.abspath(HEWN)
    unittest.main()
