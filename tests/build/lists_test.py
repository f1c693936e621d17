#!/usr/bin/env python3
"""The lists and the program that reads them: lists_test.py

Every mistake in a list or a tuning file is an error that names the file and the line. Each test
changes a copy of lists/ and tuning/ and runs generate.py on it."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLATFORMS = ["x86-64 linux", "x86-64 windows", "x86-32 linux", "arm-64 linux", "arm-64 osx", "wasm-32 wasmrt"]


class ListsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "generated"
        for name in ("lists", "tuning"):
            shutil.copytree(ROOT / name, self.folder / name, ignore=shutil.ignore_patterns("__pycache__"))

    def generate(self, *options, platform="x86-64 linux"):
        arch, system = platform.split()
        command = [sys.executable, self.folder / "lists/generate.py", self.out, "--arch", arch, "--system", system]
        command += ["--halide", "21.0.0", "--tuning", self.folder / "tuning", *options]
        return subprocess.run(command, capture_output=True, text=True, timeout=900)

    def change(self, file, old, new):
        """Changes the first `old` in the copy of a file. Returns the number of its line."""
        path = self.folder / file
        text = path.read_text(encoding="utf-8")
        self.assertIn(old, text)
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        return text.count("\n", 0, text.index(old)) + 1

    def refuses(self, file, old, new, message, lines_above=0):
        """Generating fails with the message and the line, which may begin above the change."""
        with self.subTest(new):
            kept = (self.folder / file).read_text(encoding="utf-8")
            line = self.change(file, old, new) - lines_above
            result = self.generate()
            (self.folder / file).write_text(kept, encoding="utf-8")
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertRegex(result.stderr, f"^\\S*{re.escape(file)}:{line}: .*{message}")
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
            self.assertFalse(self.out.exists())

    def test_every_platform(self):
        for platform in PLATFORMS:
            with self.subTest(platform):
                result = self.generate(platform=platform)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                objects = (self.out / "objects.txt").read_text(encoding="utf-8").splitlines()
                self.assertGreater(len(objects), 40)
                self.assertEqual(len({line.split()[0] for line in objects}), len(objects))
                json.loads((self.out / "kernels.json").read_text(encoding="utf-8"))
                json.loads((self.out / "operators.json").read_text(encoding="utf-8"))

    def test_equal_files_keep_their_time(self):
        def times():
            return {file: file.stat().st_mtime_ns for file in self.out.rglob("*") if file.is_file()}

        self.assertEqual(self.generate().returncode, 0)
        before = times()
        self.change("tuning/x86_64_avx2.json", '"vector": 2', '"vector": 4')
        self.assertEqual(self.generate().returncode, 0)
        changed = {file.name for file, time in times().items() if time != before[file]}
        self.assertEqual(changed, {"objects.txt", "kernels.json"})

    def test_the_committed_headers_are_current(self):
        def check(root):
            return subprocess.run(
                [sys.executable, root / "lists/headers.py", "--check"], capture_output=True, text=True, timeout=900
            )

        self.assertEqual((check(ROOT).returncode, check(ROOT).stderr), (0, ""))
        header = self.folder / "include/hewn/operators.hpp"
        header.parent.mkdir(parents=True)
        shutil.copy(ROOT / "include/hewn/operators.hpp", header)
        self.change("lists/operators.py", 'Tensor("BTensor"', 'Tensor("CTensor"')
        stale = check(self.folder)
        self.assertEqual(stale.returncode, 1)
        self.assertIn("operators.hpp is not what the lists say: python3 lists/headers.py writes it", stale.stderr)

    def test_operators(self):
        file = "lists/operators.py"
        self.refuses(file, '"f32 f16 i64 i32 u64 u32"', '"f32 f16 u33"', "level 4.1: 'u33' is no data type")
        self.refuses(file, 'like="ATensor"', 'like="Atensor"', "'Atensor' is no tensor of add; these are: ATensor")
        self.refuses(file, 'since="6.3"', 'since="6.5"', "form blocks: '6.5' is no feature level")
        self.refuses(file, "in_place=True", "inplace=True", "unexpected keyword argument 'inplace'", 6)
        self.refuses(file, '"11 10 01"', '"11 12 01"', "form general: '2' is no step")
        self.refuses(file, "only=to_8_bits", "only=to_8_bit", "name 'to_8_bit' is not defined")
        self.refuses(file, '"dequantize_linear"', '"add"', "add: lists/operators.py:.* has the same name", 1)
        self.refuses(file, 'needs="avx2"', 'needs="avx3"', "form columns: 'avx3' is no feature of a target")
        self.refuses(file, 'of="quantize_linear"', 'of="quantize"', "'reciprocal' is no form of quantize")
        self.refuses(file, '"zero_point", like', '"zeropoint", like', "'zeropoint' is no role")
        self.refuses(file, 'kernels="quantize_linear"', 'kernels="quantise"', "'quantise' is no operator with forms", 6)

    def test_other_lists(self):
        self.refuses("lists/data_types.py", '"f16"', '"half"', "half: a type is named by its kind and its bits")
        self.refuses("lists/targets.py", 'base="x86_64_avx512"', 'base="avx512"', "'avx512' is no target above it", 4)
        self.refuses("lists/targets.py", "f16_features=", "f16_feature=", "unexpected keyword argument 'f16_feature'")
        self.refuses("lists/targets.py", 'device="d3d12"', 'device="d3d"', "target d3d12: 'd3d' is no device")
        self.refuses("lists/helpers.py", '"dynamic_quantize_linear"]', '"dynamic"]', "'dynamic' is no operator", -6)
        self.refuses("lists/helpers.py", 'quantize_linear=6.3"', 'quantize_linear=7"', "'7' is no feature level", -9)
        self.refuses("lists/helpers.py", '"u8", 16, "x86_64_avx2"', '"u8", 16, "avx2"', "'avx2' is no target")
        self.refuses("lists/knobs.py", '"__blocks$"', '"__block$"', "no kernel matches '__block\\$'")
        self.refuses("lists/knobs.py", 'kind="gpu"', 'kind="GPU"', "knob threads: 'GPU' is no kind of knob", 4)
        self.refuses("lists/chips.py", '("L2", 2)', '("L3", 2)', "chip zen3_and_4: 'L3' is no set of caches", 4)
        self.refuses("lists/onnx_nodes.py", '"quantized_linear_mul", "com', '"qmul", "com', "'qmul' is no operator")

    def test_tuning_files(self):
        file = "tuning/x86_64_avx2.json"
        self.refuses(file, '"vector": 2', '"vector": 3', "'3' is not a value of the knob vector .*: 1 2 4 8 16")
        self.refuses(file, '"vector": 2', '"vectors": 2', "'vectors' is not a knob of")
        self.refuses(file, '"folded"', '"folding"', "'folding' is not a form of quantized_linear_add for x86_64_avx2")
        self.refuses(file, '"quantized_linear_add"', '"qadd"', "'qadd' is not an operator or operator_signature")


if __name__ == "__main__":
    unittest.main()
