#!/usr/bin/env python3
"""Compares the npm module's formatting of text with the C library's: format_test.py SOURCE CC
SCRATCH

It tries each conversion that a string of the runtime has, except in the parts for GPUs, which the
module lacks. An unknown conversion would end the program."""
import ctypes
import pathlib
import re
import subprocess
import sys
import unittest

SOURCE, CC, SCRATCH = map(pathlib.Path, sys.argv[1:4])
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
CONVERSION = re.compile(r"%[-+#0-9.*]*(?:ll|[hljzt])?[a-zA-Z%]")
VALUES = {
    "%s": [b"", b"text", b"100 %d"],
    "%d": [0, 7, -1, 2**31 - 1, -2**31],
    "%u": [0, 2**32 - 1],
    "%x": [0, 0x1A2B, 2**32 - 1],
    "%lld": [0, -1, 2**63 - 1, -2**63],
    "%llu": [0, 2**64 - 1],
}
TYPES = {"%s": ctypes.c_char_p, "%d": ctypes.c_int, "%u": ctypes.c_uint, "%x": ctypes.c_uint,
         "%lld": ctypes.c_longlong, "%llu": ctypes.c_ulonglong}


def conversions():
    """Yields the conversions in the module's messages, from the strings in the runtime's
    sources."""
    for file in sorted((SOURCE / "runtime").rglob("*")):
        is_gpus = file.parent.name == "gpu" and file.name != "absent.cpp"
        if file.suffix in (".cpp", ".h") and not is_gpus:
            for text in STRING.findall(file.read_text(encoding="utf-8")):
                yield from CONVERSION.findall(text)


class Format(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        SCRATCH.mkdir(parents=True, exist_ok=True)
        library = SCRATCH / "format.so"
        subprocess.run([CC, "-shared", "-fPIC", "-O1", "-fno-builtin", "-Dsnprintf=web_snprintf",
                        "-Dvsnprintf=web_vsnprintf", SOURCE / "bindings/web/format.c", "-o",
                        library], check=True)
        cls.own = ctypes.CDLL(str(library)).web_snprintf
        cls.libc = ctypes.CDLL(None).snprintf

    def check(self, size, text, *values):
        results = []
        for function in (self.own, self.libc):
            to = ctypes.create_string_buffer(b"\x7f" * 63)
            length = function(to, ctypes.c_size_t(size), text, *values)
            results.append((length, to.raw))
        self.assertEqual(*results, (size, text, values))

    def test_conversions(self):
        used = set(conversions())
        self.assertIn("%lld", used)
        self.assertEqual(used - VALUES.keys(), set())
        for conversion in used:
            for value in VALUES[conversion]:
                for size in (0, 1, 8, 63):
                    self.check(size, f"<{conversion}>".encode(), TYPES[conversion](value))

    def test_several(self):
        for size in range(40):
            self.check(size, b"%s: %d of %lld, 0x%x", b"tensor", ctypes.c_int(-3),
                       ctypes.c_longlong(1 << 40), ctypes.c_uint(255))
        self.check(63, b"nothing")
        self.check(63, b"")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
