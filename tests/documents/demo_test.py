#!/usr/bin/env python3
"""Checks what ./demo.sh wrote: demo_test.py FOLDER [LOG]

FOLDER is demo-output. Its index.html must have every picture with a caption, the table with every
operator and no differing result, and commands that compute the demo's results again. The test runs
these commands. LOG is what demo.sh printed; its last line must name the page. The test needs only
Python's standard library and bash."""

import base64
import html.parser
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import unittest
import zlib

# ctest gives no LOG.
FOLDER = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
LOG = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
PICTURES = 9
OPERATORS = {"QUANTIZE_LINEAR", "DEQUANTIZE_LINEAR", "QUANTIZED_LINEAR_ADD", "ADD"}
# Elements that have no contents, and elements whose end tag may be left out. The page ends all
# others.
NO_END = {"meta", "link", "img", "html"}
# Attributes in which an element may name something that is loaded from elsewhere.
LINKS = {"src", "href", "srcset", "data", "poster", "action", "background"}


class Page(html.parser.HTMLParser):
    """Collects the page's figures, tables, commands and links."""

    def __init__(self, text):
        super().__init__()
        self.figures, self.rows, self.links, self.tags = [], [], [], set()
        self.heading, self.commands, self.style, self.open = [], "", "", []
        self.viewport = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.add(tag)
        self.links += [value for name, value in attributes.items() if name in LINKS]
        if tag not in NO_END:
            self.open.append(tag)
        if tag == "meta" and attributes.get("name") == "viewport":
            self.viewport = attributes["content"]
        elif tag == "figure":
            self.figures.append({"images": [], "caption": ""})
        elif tag == "img":
            self.figures[-1]["images"].append(attributes)
        elif tag == "tr" and "tbody" in self.open:
            self.rows.append([])
        elif tag == "td":
            self.rows[-1].append("")
        elif tag == "th":
            self.heading.append("")

    def handle_endtag(self, tag):
        if tag in NO_END:
            return
        if not self.open or self.open.pop() != tag:
            raise ValueError(f"{self.getpos()}: </{tag}> ends nothing")

    def handle_data(self, data):
        if "figcaption" in self.open:
            self.figures[-1]["caption"] += data
        elif "td" in self.open:
            self.rows[-1][-1] += data
        elif "th" in self.open:
            self.heading[-1] += data
        elif "pre" in self.open:
            self.commands += data
        elif "style" in self.open:
            self.style += data


def paeth(left, above, corner):
    distances = [abs(above - corner), abs(left - corner), abs(left + above - 2 * corner)]
    return (left, above, corner)[distances.index(min(distances))]


def decode_png(data):
    """The width, the height and the bytes of a PNG of 8-bit RGB. Raises an exception if anything is
    wrong with it."""
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError("not a PNG")
    position, header, packed, last = 8, None, b"", None
    while position < len(data):
        (size,) = struct.unpack_from(">I", data, position)
        last, body = data[position + 4 : position + 8], data[position + 8 : position + 8 + size]
        (checksum,) = struct.unpack_from(">I", data, position + 8 + size)
        if zlib.crc32(last + body) != checksum:
            raise ValueError(f"the chunk {last} has a wrong checksum")
        if last == b"IHDR":
            header = struct.unpack(">IIBBBBB", body)
        elif last == b"IDAT":
            packed += body
        position += 12 + size
    width, height = header[:2]
    if header[2:] != (8, 2, 0, 0, 0) or last != b"IEND":
        raise ValueError(f"not a whole PNG of 8-bit RGB: {header}, ends with {last}")
    rows, stride = zlib.decompress(packed), 3 * width
    if len(rows) != height * (stride + 1):
        raise ValueError(f"{len(rows)} bytes for {width} x {height} pixels")
    pixels, above = bytearray(), bytes(stride)
    for y in range(height):
        kind, row = rows[y * (stride + 1)], bytearray(rows[y * (stride + 1) + 1 :][:stride])
        for x in range(stride) if kind else ():
            left, corner = (row[x - 3], above[x - 3]) if x >= 3 else (0, 0)
            predicted = (left, above[x], (left + above[x]) // 2, paeth(left, above[x], corner))
            row[x] = (row[x] + predicted[kind - 1]) & 255
        pixels += row
        above = row
    return width, height, bytes(pixels)


def npy_data(path):
    """The elements of an NPY file of version 1.0, as bytes, and its header."""
    data = path.read_bytes()
    if data[:8] != b"\x93NUMPY\x01\x00":
        raise ValueError(f"{path} is not an NPY file of version 1.0")
    end = 10 + struct.unpack_from("<H", data, 8)[0]
    return data[end:], data[10:end].decode()


class DemoTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.page = Page((FOLDER / "index.html").read_text(encoding="utf-8"))

    def column(self, name):
        place = self.page.heading.index(name)
        return [row[place] for row in self.page.rows]

    def test_the_page_needs_nothing_else(self):
        self.assertEqual(self.page.open, [])
        self.assertEqual([link for link in self.page.links if not link.startswith("data:")], [])
        self.assertEqual(self.page.tags & {"script", "iframe", "object", "embed", "base"}, set())
        self.assertNotRegex(self.page.style, r"url\(|@import")
        self.assertIn("width=device-width", self.page.viewport)
        self.assertRegex(self.page.style, r"color-scheme:\s*light dark")

    def test_each_picture_is_whole_and_has_a_caption(self):
        self.assertEqual(len(self.page.figures), PICTURES)
        seen = {}
        for figure in self.page.figures:
            (image,) = figure["images"]
            kind, _, text = image["src"].partition(",")
            self.assertEqual(kind, "data:image/png;base64")
            data = base64.b64decode(text, validate=True)
            width, height, pixels = decode_png(data)
            self.assertEqual([image["width"], image["height"]], [str(width), str(height)])
            self.assertTrue(image["alt"].strip())
            self.assertGreater(len(set(pixels)), 1, image["alt"])
            # The caption has more than the title. It names a file that is the same picture.
            self.assertGreater(len(figure["caption"].split()), len(image["alt"].split()) + 1)
            (file,) = re.findall(r"\S+\.png", figure["caption"])
            self.assertEqual((FOLDER / file).read_bytes(), data, file)
            seen[file] = pixels
        # A picture that was restored from 8 bits may equal the photograph, to the last pixel.
        others = {pixels for file, pixels in seen.items() if "_dequantized_" not in file}
        self.assertEqual(len(others), PICTURES - 2)
        self.assertEqual(len({figure["caption"] for figure in self.page.figures}), PICTURES)
        singles = {path.name for path in FOLDER.glob("[0-9]_*.png")}
        self.assertEqual(set(seen), singles)
        # A picture shows the tensor that its operator wrote.
        quantized, header = npy_data(FOLDER / "results/photo_u8.npy")
        self.assertIn("'|u1'", header)
        self.assertEqual(seen["2_quantized_u8.png"], quantized)

    def test_the_table_has_each_operator_without_differences(self):
        self.assertEqual({len(row) for row in self.page.rows}, {len(self.page.heading)})
        operators = self.column("operator")
        self.assertEqual(set(operators), OPERATORS)
        self.assertEqual(set(self.column("differing results")), {"0"})
        for operator, variant in zip(operators, self.column("kernel (variant)")):
            self.assertRegex(variant, rf"^{operator.lower()}_\w+?__\w+$")
        for name, unit in (("time", " ms"), ("GB/s", ""), ("of memcpy", "%")):
            for cell in self.column(name):
                self.assertRegex(cell, rf"^\d+(\.\d+)?{unit}$", name)
                self.assertGreater(float(cell.removesuffix(unit)), 0, name)

    def test_the_commands_give_the_same_results(self):
        by_hand = FOLDER / "by_hand"
        shutil.rmtree(by_hand, ignore_errors=True)  # left by an earlier run
        run = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", self.page.commands],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd="/",
        )
        self.assertEqual(run.returncode, 0, run.stdout)
        tools = [line for line in self.page.commands.splitlines() if line.startswith("hewn ")]
        self.assertEqual(len(tools), len(self.page.rows))
        written = [re.search(r"-o by_hand/(\S+)$", line)[1] for line in tools]
        self.assertEqual(len(set(written)), len(tools))
        self.assertEqual({path.name for path in (FOLDER / "results").iterdir()}, set(written))
        for name in written:
            expected = (FOLDER / "results" / name).read_bytes()
            self.assertEqual((by_hand / name).read_bytes(), expected, name)
        shutil.rmtree(by_hand)

    @unittest.skipUnless(LOG, "no LOG is given")
    def test_the_last_line_names_the_page(self):
        last = LOG.read_text(encoding="utf-8").rstrip("\n").rpartition("\n")[2]
        self.assertTrue(last.endswith(f" {FOLDER / 'index.html'}"), last)


if __name__ == "__main__":
    if FOLDER is None:
        sys.exit(f"usage: {sys.argv[0]} FOLDER [LOG]")
    unittest.main(argv=sys.argv[:1])
