#!/usr/bin/env python3
"""Tests of `hewn verify`, and of what it finds in a program with a wrong constant in one kernel.

    verify_test.py HEWN [WRONG PLANTED ROUNDED]

WRONG is the variant that is wrong in the program PLANTED. In the program ROUNDED it is wrong only
for an attribute `precision`."""

import json
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "bench" / "report")]
import docs  # noqa: E402
from lists.operators import OPERATORS  # noqa: E402

HEWN, WRONG, PLANTED, ROUNDED = (*sys.argv[1:], None, None, None)[:4]
SOME = ["verify", "--device", "cpu", "--cases", "100", "--seed", "7"]


def run(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=900)


def report(program, *arguments):
    result = run(program, *SOME, "--json", *arguments)
    return result.returncode, json.loads(result.stdout)


class Verify(unittest.TestCase):
    def test_everything_that_runs_is_checked(self):
        code, found = report(HEWN)
        info = json.loads(run(HEWN, "info", "--json").stdout)
        on_cpu = {t["name"] for t in info["targets"] if t["device"] == "cpu" and t["supported"]}
        variants = {v["name"] for v in info["variants"] if v["target"] in on_cpu}
        self.assertEqual(code, 0, found)
        self.assertIs(found["passed"], True)
        self.assertEqual({v["name"] for v in found["variants"]}, variants)
        for variant in found["variants"]:
            self.assertGreater(variant["cases"], 80, variant)
            self.assertEqual((variant["differing"], variant["smallest"]), (0, ""), variant)
        self.assertEqual({row["target"] for row in found["conformance"]}, on_cpu)
        for row in found["conformance"]:
            self.assertEqual((row["failed"], row["failures"]), (0, []))
            self.assertGreater(row["passed"], 0)
        one_output = {op.name for op in OPERATORS
                      if [tensor.role for tensor in op.tensors].count("output") == 1}
        timed = {v["name"] for v in info["variants"]
                 if v["picked"] and v["operator"] in one_output}
        self.assertEqual({row["variant"] for row in found["speed"]}, timed & variants)
        for key in ("hewn", "system", "processor"):
            self.assertTrue(found[key], key)
        self.assertEqual(found["seed"], 7)

    def test_the_documents_take_a_report(self):
        code, found = report(HEWN, "--operator", "add")
        row = docs.verified_row(found)
        self.assertEqual(code, 0, found)
        self.assertEqual(row["variants"], len(found["variants"]))
        self.assertEqual(row["differing"], 0)
        self.assertGreater(row["cases"], 80 * row["variants"])
        self.assertEqual(row["devices"], found["processor"])
        self.assertEqual(row["system"].split()[0], found["system"].split()[0])

    def test_page(self):
        result = run(HEWN, *SOME, "--operator", "add")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("seed        7\n", result.stdout)
        self.assertIn(": 0 differ\n", result.stdout)
        self.assertRegex(result.stdout, r"speed +add_f32 +[0-9.]+ GB/s, memcpy [0-9.]+\n")
        self.assertNotIn("quantize", result.stdout)
        self.assertTrue(result.stdout.endswith("all results are right\n"))

    def test_usage(self):
        for arguments, says in [
            (["--operator", "none"], "--operator: none is not allowed; it is one of add"),
            (["--device", "tpu"], "--device: tpu"),
            (["--cases", "0"], "--cases"),
            (["--cases", "1", "--minutes", "1"], "--minutes"),
        ]:
            result = run(HEWN, "verify", *arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertIn(says, result.stderr)


@unittest.skipUnless(PLANTED, "no program with a wrong kernel in this build")
class Planted(unittest.TestCase):
    def test_one_wrong_constant_is_found_and_shrunk(self):
        code, found = report(PLANTED, "--operator", "quantize_linear")
        self.assertEqual(code, 1)
        self.assertIs(found["passed"], False)
        wrong = {v["name"]: v for v in found["variants"] if v["smallest"]}
        self.assertEqual(list(wrong), [WRONG])
        self.assertGreater(wrong[WRONG]["differing"], 0)
        self.assertIn("1 elements differ; element at offset 0 is 254 instead of 255, ",
                      wrong[WRONG]["smallest"])
        self.assertIn("sizes [1];", wrong[WRONG]["smallest"])
        self.assertGreater(docs.verified_row(found)["differing"], 0)

    def test_attributes_are_tried(self):
        code, found = report(ROUNDED, "--operator", "quantize_linear")
        wrong = {v["name"]: v["smallest"] for v in found["variants"] if v["smallest"]}
        self.assertEqual((code, list(wrong)), (1, [WRONG]))
        self.assertRegex(wrong[WRONG], "is 254 instead of 255, .*; attribute [12]")

    def test_page(self):
        result = run(PLANTED, *SOME, "--operator", "quantize_linear")
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"DIFFERS {WRONG}: 1 elements differ", result.stdout)
        self.assertIn(", in 1 variants\n", result.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
