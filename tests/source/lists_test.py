#!/usr/bin/env python3
"""Tests of the lists and of the program that reads them: lists_test.py

Every mistake in a list or in a tuning file must be an error that names the file and the line. Each
test changes a copy of lists/ and tuning/, and runs generate.py on it."""

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

    def refuses(self, file, old, new, message, at=None):
        """Checks that generating fails with the message and a line. It is the line of the change
        or, if `at` is given because the declaration begins elsewhere, the nearest line with that
        text, above the change if there is one."""
        with self.subTest(new):
            kept = (self.folder / file).read_text(encoding="utf-8")
            line = self.change(file, old, new)
            if at:
                lines = (self.folder / file).read_text(encoding="utf-8").splitlines()
                found = [number for number, text in enumerate(lines, 1) if at in text]
                line = max([number for number in found if number < line], default=found[0])
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
                runs = (self.out / "runs.txt").read_text(encoding="utf-8").splitlines()
                self.assertGreater(len(runs), 40)
                self.assertEqual(len({line.split()[0] for line in runs}), len(runs))
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
        self.assertEqual(changed, {"runs.txt", "kernels.json"})

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
        file, operator = "lists/operators.py", "    Operator("
        self.refuses(file, '"f32 f16 bf16 i64', '"u33 f32 f16 bf16 i64', "level hewn: 'u33' is not a data type")
        self.refuses(file, 'like="ATensor"', 'like="Atensor"', "'Atensor' is not a tensor of add; .*: ATensor BTensor")
        self.refuses(file, 'since="6.3"', 'since="6.5"', "form blocks: '6.5' is not a feature level", "Form(")
        self.refuses(file, "in_place=True", "inplace=True", "unexpected keyword argument 'inplace'", operator)
        self.refuses(file, '"11 10 01"', '"11 12 01"', "form general: '2' is not a digit of a layout")
        self.refuses(file, "only=to_8_bits", "only=to_8_bit", "name 'to_8_bit' is not defined")
        self.refuses(file, '"dequantize_linear"', '"add"', "add: lists/operators.py:.* has the same name", operator)
        self.refuses(file, "number=2", "number=1", "_linear: lists/operators.py:.* has the same number", operator)
        self.refuses(file, 'needs="avx2"', 'needs="avx3"', "'avx3' is not a feature of a target", "Form(")
        self.refuses(file, 'needs="cuda", gpu=True', 'needs="cuda"', "form runs: no kernel has it")
        self.refuses(file, 'of="quantize_linear"', 'of="quantize"', "'reciprocal' is not a form of quantize")
        self.refuses(file, '"zero_point", like', '"zeropoint", like', "'zeropoint' is not a role")
        self.refuses(file, 'kernels="quantize_linear"', 'kernels="quantise"', "not an operator with forms", operator)
        self.refuses(file, 'scales="zero"', 'scales="zeros"', "'zeros' is not a kind of scales")
        self.refuses(file, "llvm_args=ASCENDING", 'llvm_args={"avx3$": ""}', "'avx3\\$' matches no kernel", "Form(")
        self.refuses(file, 'Level("4.1"', 'Level("5.2"', "level 5.2: levels stand with the newest first")
        self.refuses(file, "f32 f16 i64 i32 i16 i8", "f32 f16 i64", "the newer level 5.1 lacks", 'Level("4.1"')

    def test_other_lists(self):
        file = "lists/targets.py"
        types = "lists/data_types.py"
        self.refuses(types, '"f16"', '"half"', "data type half: expected a name of a kind and a number")
        self.refuses(types, '"f16"', '"f16e5m10"', "data type f16e5m10: Problem::signature has room for words of up to")
        self.refuses(types, '"f8e5m2"', '"f8"', "data type f8: the bits of .* need a SmallFloat, and only these")
        self.refuses(types, '"f8e5m2"', '"f8e4m2"', "2 of its 8 bits are left for the sign; expected 0 or 1 of at")
        self.refuses(types, "0x1F, None", "0x1E, None", "f6e3m2: largest is 0x1e, expected 0x1f, or less if there is")
        self.refuses(types, "0x7E, 0x7F", "0x7E, 0x7E", "nan is 0x7e, expected a code of 8 bits after 0x7e")
        self.refuses(file, "f16_features=", "f16_feature=", "unexpected keyword argument 'f16_feature'")
        self.refuses(file, 'device="d3d12"', 'device="d3d"', "target d3d12: 'd3d' is not a device")
        self.refuses(file, 'arch="wasm-32"', 'arch="wasm32"', "'wasm32' is not an arch; expected one of: x86-64")
        self.refuses(file, "    20,", "    10,", "x86_64_avx2: its priority is not above that of x86_64_sse41",
                     "Target(")
        file = "lists/pass_kernels.py"
        self.refuses(file, '"dynamic_quantize_linear"]', '"dynamic"]', "'dynamic' is not an operator", "PassKernel(")
        file = "lists/knobs.py"
        self.refuses(file, '"__blocks$"', '"__block$"', "no kernel matches '__block\\$'")
        self.refuses(file, '"__blocks$"', '"__(blocks$"', "'__\\(blocks\\$' is not a regular expression")
        self.refuses(file, 'kind="gpu"', 'kind="GPU"', "knob threads: 'GPU' is not a kind of knob", "Knob(")
        self.refuses(file, "vector <= 2", "vectr <= 2", "'vectr' is not a knob")
        self.refuses(file, "tail != 'shifted'", "tail != 'shfted'", "'shfted' is not a value of", "Constraint(")
        file = "lists/chips.py"
        self.refuses(file, '("L2", 2)', '("L3", 2)', "chip zen3_and_4: 'L3' is not a set of caches", "Chip(")
        self.refuses(file, "amd=(0x01, 0x18)", "amd=(0x18, 0x01)", "zen1_and_2: no family is between 0x18 and 0x1")
        self.refuses(file, "amd=(0x01, 0x18), ", "", "zen1_and_2: it is for every chip")
        file = "lists/transpositions.py"
        self.refuses(file, '"u8", 16, "x86_64_avx2"', '"u8", 16, "avx2"', "'avx2' is not a target")
        file = "lists/onnx_nodes.py"
        self.refuses(file, '"quantized_linear_mul", "com', '"qmul", "com', "'qmul' is not an operator")

    def test_tuning_files(self):
        file = "tuning/x86_64_avx2.json"
        self.refuses(file, '"vector": 2', '"vector": 3', "'3' is not a value of the knob vector .*: 1 2 4 8 16")
        self.refuses(file, '"vector": 2', '"vectors": 2', "'vectors' is not a knob of")
        self.refuses(file, '"folded"', '"folding"', "'folding' is not a form of quantized_linear_add for x86_64_avx2")
        self.refuses(file, '"quantized_linear_add"', '"qadd"', "'qadd' is not an operator or operator_signature")
        self.refuses(file, '"range"', '"reciprocal"', "quantize_linear's form; expected its knobs in 'quantize_linear'")

    def test_tuning_files_that_are_none(self):
        file = self.folder / "tuning/x86_64_avx2.json"
        for text, message in [
            ("", "no tuning file"),
            ("[]", "no tuning file"),
            ('{"halide": "21.0.0"}', "no tuning file: 'knobs'"),
            ('{"halide": "20.0.0", "knobs": {}}', "measured with Halide 20.0.0, this build uses 21.0.0: set 'halide'"),
            ('{"halide": "21.0.0", "target": "x", "knobs": {}}', "tuned for the target x, not for x86_64_avx2"),
            ('{"halide": "21.0.0", "knobs": []}', "is not an object"),
            ('{"halide": "21.0.0", "knobs": {"add": 4}}', "'4' is not an object"),
            ('{"halide": "21.0.0", "knobs": {"add": {"general": [1]}}}', "is not an object"),
            ('{"halide": "21.0.0", "knobs": {"add": {}, "add": {}}}', "'add' stands there twice"),
            (
                '{"halide": "21.0.0", "knobs": {"add": {"general": {"tail": "shifted"}}}}',
                "add_.*__x86_64_avx2__general do not fulfil tail != 'shifted' \\(lists/knobs.py:\\d+\\): It computes",
            ),
        ]:
            with self.subTest(text):
                file.write_text(text, encoding="utf-8")
                result = self.generate()
                self.assertEqual(result.returncode, 1)
                self.assertRegex(result.stderr, f"^{re.escape(str(file))}:.*{message}")
                self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_options(self):
        for options, message in [
            (["--targets", "sse2"], "HEWN_TARGETS: 'sse2' is not one of: cpu gpu x86_64_sse41"),
            (["--signatures", "add_f23"], "HEWN_SIGNATURES: 'add_f23' is not known; did you mean add_f32?"),
            (["--feature-level", "7.0"], "HEWN_FEATURE_LEVEL: '7.0' is not one of: 1.0 2.0"),
            (["--operators", "add", "--signatures", "quantize_linear_f32_u8"], "leave no variant to build"),
            (["--tuning", ""], "HEWN_TUNING_DIR: it is empty, expected a folder"),
        ]:
            with self.subTest(options):
                result = self.generate(*options)
                self.assertEqual(result.returncode, 1)
                self.assertIn(message, result.stderr)
                self.assertFalse(self.out.exists())

    def test_choices(self):
        def built(*options, platform="x86-64 linux"):
            self.assertEqual(self.generate(*options, platform=platform).returncode, 0)
            text = (self.out / "build.cmake").read_text(encoding="utf-8")
            names = ("SIGNATURES", "TARGETS")
            return {name: re.search(f"HEWN_BUILT_{name} (.*)\\)", text)[1].split() for name in names}

        only = built("--operators", "add", "--targets", "gpu;x86_64_avx2")
        self.assertEqual(only["TARGETS"], ["x86_64_avx2", "opencl", "cuda_sm75"])
        self.assertEqual({name.rpartition("_")[0] for name in only["SIGNATURES"]}, {"add"})
        self.assertIn("d3d12", built(platform="x86-64 windows")["TARGETS"])
        self.assertNotIn("d3d12", built(platform="arm-64 windows")["TARGETS"])
        self.assertEqual(built("--cross", platform="arm-64 linux")["TARGETS"], ["arm64_neon", "arm64_fp16"])
        self.assertIn("opencl", built("--cross", "--targets", "opencl", platform="arm-64 linux")["TARGETS"])


if __name__ == "__main__":
    unittest.main()
