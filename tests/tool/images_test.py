#!/usr/bin/env python3
"""Tests of images as inputs and outputs: PNG and JPEG."""

import base64
import os
import struct
import zlib

import cli
import numpy as np
from cli import F16, F32, SOURCE_DIR, CliTest, make_png, make_progressive_jpeg, png_chunk, quantize, read_png, sample

# A JPEG of one pixel of cyan, magenta, yellow and black.
CMYK_JPEG = base64.b64decode(
    "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwD/////////////////////////////////////////////////////////////"
    "/////////////////////////8AAFAgAAQABBEMRAE0RAFkRAEsRAP/EABUAAQEAAAAAAAAAAAAAAAAAAAID/8QAFBAB"
    "AAAAAAAAAAAAAAAAAAAAAP/aAA4EQwBNAFkASwAAPwChmb//2Q==")
# A grey JPEG of 4 x 3 pixels, every pixel 128.
JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0aHBwgJC4nICIsIxwc"
    "KDcpLDAxNDQ0Hyc5PTgyPC4zNDL/wAALCAADAAQBAREA/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QA"
    "tRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0"
    "NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2"
    "t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/9oACAEBAAA/ACv/2Q==")


def make_jpeg_header(width, height, channels):
    """The part of a JPEG that comes before the pixels, without the tables."""
    frame = b"".join(bytes([c, 0x11, 0]) for c in range(1, channels + 1))
    scan = b"".join(bytes([c, 0]) for c in range(1, channels + 1))
    return (b"\xff\xd8\xff\xc0" + struct.pack(">HBHHB", 8 + len(frame), 8, height, width,
                                              channels) + frame +
            b"\xff\xda" + struct.pack(">HB", 6 + len(scan), channels) + scan + b"\0\x3f\0")


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
            # 128 + 128 wraps to 0.
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
        """The limits matter because a small file can take minutes and gigabytes to decode."""
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
            self.assertEqual(text.count("\n"), 1, text)  # libpng and libjpeg print nothing
        a = self.save("a.npy", np.zeros((2, 2), "i1"))
        self.refuse("add", a, a, out="out.png", says=["out.png", "i8"])
        for shape in [(4,), (2, 2, 5), (2, 2, 2, 2), (0, 3), ()]:
            a = self.save("a.npy", np.zeros(shape, "u1"))
            self.refuse("add", a, a, out="out.png", says="out.png: a PNG")


if __name__ == "__main__":
    cli.main()
