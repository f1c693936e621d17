#!/usr/bin/env python3
"""Tests of `hewn conformance`."""

import json
import os

import cli
import numpy as np
from cli import SOURCE_DIR, CliTest, add_case, cpu_targets, make_tensor, sample


def linear_case(op, dtype, data, scale, zero, out_dtype, out, scale_dtype="f32", **more):
    shape = [len(data)]
    inputs = {"InputTensor": make_tensor(dtype, shape, data, [1]),
              "ScaleTensor": make_tensor(scale_dtype, [], [scale], [0])}
    if zero is not None:
        inputs["ZeroPointTensor"] = make_tensor(out_dtype if op == "QUANTIZE_LINEAR" else dtype, [],
                                           [zero], [0])
    return {"id": "case", "op": op, "inputs": inputs, "output": make_tensor(out_dtype, shape, out),
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
        """Checks that the line, between two good ones, is an error that names its place. The good
        lines run all the same."""
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
        case["inputs"]["ATensor"] = make_tensor("u8", [2, 3], [1, 2, 3, 4, 5, 6], [3, 1])
        case["inputs"]["BTensor"] = make_tensor("u8", [3], [10, 20, 30], [0, 1])
        case["output"] = make_tensor("u8", [2, 3], [11, 22, 33, 14, 99, 88])
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
            # JSON's integer -0, which is how C's "%g" prints -0.0.
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
        # A NaN on only one side is a difference, and so is an infinity on only one side.
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
        # "2.0" is an integer too, up to the ends of the range if a double can hold all numbers of
        # the type.
        for dtype, low, high in [("i8", -128, 127), ("u8", 0, 255), ("i16", -2**15, 2**15 - 1),
                                 ("u16", 0, 2**16 - 1), ("i32", -2**31, 2**31 - 1),
                                 ("u32", 0, 2**32 - 1)]:
            self.check(add_case(dtype, [float(low), float(high)], [0, 0], [low, high]), passed=1)
        self.check(add_case("u64", [2**53], [1], [2**53]), failed=1,
                   says=["got 9007199254740993, expected 9007199254740992"])

    def test_numbers_round_once(self):
        # Numbers are rounded to f16 in one step. By way of f32 the first would become 1.
        self.check(add_case("f16", a=[1.00048828125 + 2**-40, 1.00048828125], b=[0, 0],
                            out=[1.0009765625, 1]), passed=1)
        self.check(add_case("f32", a=[16777217, 2**24 + 2**-10 + 1], b=[0, 0],
                            out=[16777216, 16777218]), passed=1)
        # The number is rounded as an integer. A double would first make 2^63 + 2^39 of it, halfway
        # between two numbers of f32, and f32 would then make 2^63 of that.
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
                    order = self.rng.permutation(rank)  # stored with dimensions in another order
                    stored = np.transpose(array, order)
                    strides, step = [0] * rank, 1
                    for d in reversed(range(rank)):
                        whole = kept[order[d]] == sizes[order[d]] and sizes[order[d]] > 1
                        strides[order[d]] = step if whole else 0
                        step *= stored.shape[d]
                    tensors[name] = make_tensor("i32", list(stored.shape), stored.reshape(-1).tolist(),
                                           [int(s) for s in strides])
                    arrays.append(array)
                with np.errstate(all="ignore"):
                    out = np.broadcast_to(arrays[0] + arrays[1], tuple(sizes))
                case = {"id": f"rank {rank}", "op": "ADD", "inputs": tensors, "formula": "exact",
                        "output": make_tensor("i32", [int(s) for s in sizes], out.reshape(-1).tolist())}
                case["inputs"] = json.loads(json.dumps(tensors, default=int))
                self.check(json.loads(json.dumps(case, default=int)), passed=1)

    def test_scalars_and_empty_tensors(self):
        scalar = make_tensor("f32", [], [2.0], [])
        self.check({"id": "rank 0", "op": "ADD", "inputs": {"ATensor": scalar, "BTensor": scalar},
                    "output": make_tensor("f32", [], [4.0]), "formula": "exact"}, passed=1)
        case = {"id": "empty", "op": "ADD", "formula": "exact",
                "output": make_tensor("i64", [2, 0, 2], []),
                "inputs": {"ATensor": make_tensor("i64", [2, 1, 2], [1, 2, 3, 4], [2, 0, 1]),
                           "BTensor": make_tensor("i64", [0, 2], [], [0, 2, 1])}}
        self.check(case, passed=1)
        case["output"]["strides"] = [7, 7, 7]  # strides mean nothing if there are no elements
        self.check(case, passed=1)
        scales = {f"{name}ScaleTensor": make_tensor("f32", [], [0.5], [1, 0])
                  for name in ["A", "B", "Output"]}
        one = make_tensor("u8", [1, 4], [1, 2, 3, 4], [4, 1])
        case = {"id": "scalars whose strides say 1 over a size of 1", "op": "QUANTIZED_LINEAR_ADD",
                "formula": "exact",
                "inputs": {"ATensor": one, "BTensor": one, **scales,
                           "AZeroPointTensor": make_tensor("u8", [1], [1], [0, 0])},
                "output": make_tensor("u8", [1, 4], [1, 3, 5, 7])}
        self.check(case, passed=1)
        # The tensor has more elements than are read.
        case["inputs"]["AScaleTensor"] = make_tensor("f32", [4], [0.5, 9.0, 9.0, 9.0], [0, 0])
        self.check(case, passed=1)
        case["inputs"]["AScaleTensor"]["strides"] = [0, 1]
        self.check(case, skipped=1, says=["QUANTIZED_LINEAR_ADD AScaleTensor of several elements"])
        none = make_tensor("u8", [0], [], [1])
        for strides in [0, 1]:
            scales = {f"{name}ScaleTensor": make_tensor("f32", [], [0.5], [strides])
                      for name in ["A", "B", "Output"]}
            self.check({"id": "empty", "op": "QUANTIZED_LINEAR_ADD", "formula": "exact",
                        "inputs": {"ATensor": none, "BTensor": none, **scales},
                        "output": make_tensor("u8", [0], [])}, passed=1)

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
            # A tolerance does not apply to an exact case.
            self.check({**near, "tolerance": tolerance, "formula": "exact"}, failed=1)
        integer = add_case("u8", out=(4, 8), formula="within_tolerance")
        self.check({**integer, "tolerance": {"ulp": 0, "abs": 2}}, passed=1)
        self.check({**integer, "tolerance": {"ulp": 0, "abs": 1}}, failed=1)
        # Results on either side of the expected number, at the very edge of the tolerance, below 0
        # and across 0.
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
            # No other operator may differ in the sign of 0.
            self.check(add_case(dtype, a=[-0.0], b=[-0.0], out=[0.0], **loose), failed=1,
                       says=["got -0"])

    def test_skips(self):
        self.check([add_case(formula="differs"), add_case(beyond="i4"),
                    add_case(beyond="expect_failure"), add_case("f8"), add_case("f64"),
                    add_case()],
                   passed=1, skipped=5,
                   says=["1  formula: differs", "1  beyond: i4", "1  beyond: expect_failure",
                         "dtype f8", "dtype f64"])
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
                         "QUANTIZE ScaleTensor of f32 with InputTensor of f16"])
        deep = add_case("u8", [1], [1], [2])
        for item in [*deep["inputs"].values(), deep["output"]]:
            item["shape"] = [1] * 9
        self.check(deep, skipped=1, says=["rank above 8"])
        for item in [*deep["inputs"].values(), deep["output"]]:
            item.update(shape=[1] * 8, strides=[1] * 8)
        self.check(deep, passed=1)

    def test_activations(self):
        leaky = dict(add_case("f32", [-4.0, 1.0], [1.0, 1.0], [-1.5, 2.0]), op="ADD1")
        leaky["attrs"] = {"activation": "LEAKY_RELU", "alpha": 0.5}
        self.check([leaky, dict(leaky, attrs={"activation": "leaky_relu", "alpha": 0.5})], passed=2)
        self.check(dict(leaky, attrs={"activation": "RELU"}), failed=1)
        infinite = dict(add_case("f32", [-4.0, 1.0], [1.0, 1.0], [-1.0, 2.0]), op="ADD1")
        infinite["attrs"] = {"activation": "CLIP", "min": -1, "max": "inf"}
        self.check(infinite, passed=1)
        self.broken(dict(leaky, attrs={"activation": "Relu"}), "'activation' is \"Relu\", not identity")
        self.broken(dict(leaky, attrs={"activation": "LINEAR", "alpha": "much"}), "'alpha'")
        self.broken(dict(leaky, attrs={"clamp": [0, 1]}), "unknown field 'clamp'")

    def test_the_family(self):
        """Rows, attributes of ONNX, refusals, and blocks."""
        self.check(dict(add_case("f64"), row="ADD.64"), skipped=1,
                   says=["  1  ADD.64: outside the tables: dtype f64\n"])
        beyond = linear_case("QUANTIZE_LINEAR", "f32", [-1000.0, 57344.0], 1.0, None, "f8e4m3fn",
                             [0xfe, 0x7e], attrs={"saturate": 1})
        no_number = make_tensor("f8e4m3fn", [2], [0x7f, 0xff])
        self.check([beyond, dict(beyond, attrs={}),
                    dict(beyond, attrs={"saturate": 0}, output=no_number)], passed=3)
        self.check([dict(beyond, output=no_number), dict(beyond, attrs={"saturate": 0})], failed=2)
        self.broken(dict(beyond, attrs={"saturate": True}), "'saturate' is true, not 1 0")
        self.broken(dict(beyond, op="QUANTIZE"), "'attrs' of QUANTIZE has the unknown field 'saturate'")
        self.broken(dict(beyond, attrs={"clamp": [0, 6]}), "unknown field 'clamp'")
        tie = linear_case("QUANTIZE_LINEAR", "f32", [0.25, 0.449951171875], 0.0999755859375, 0,
                          "i8", [2, 4], row="Q.precision", attrs={"precision": "f16"})
        exact = dict(tie, output=make_tensor("i8", [2], [3, 5]), attrs={"precision": "f32"})
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
        outputs = {"OutputTensor": make_tensor("u8", [3], [170, 255, 0]),
                   "OutputScaleTensor": make_tensor("f32", [], [0.0117647061124444]),
                   "OutputZeroPointTensor": make_tensor("u8", [], [170])}
        dynamic = {"id": "dynamic", "op": "DYNAMIC_QUANTIZE_LINEAR", "outputs": outputs,
                   "inputs": {"InputTensor": make_tensor("f32", [3], ["nan", 1, -2])}}
        self.check(dynamic, passed=1)
        for name, wrong in [("OutputScaleTensor", 0.5), ("OutputZeroPointTensor", 171)]:
            item = dict(outputs[name], data=[wrong])
            self.check(dict(dynamic, outputs={**outputs, name: item}), failed=1, says=[name])
        del outputs["OutputScaleTensor"]
        self.broken(dynamic, "'outputs' lacks 'OutputScaleTensor'")
        blocks = linear_case("DEQUANTIZE_LINEAR", "u8", [1, 2, 3, 4, 5], 1.0, None, "f32",
                             [1, 2, 30, 40, 500])
        scale = make_tensor("f32", [3], [1, 10, 100], [1], block=[2])
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
        foreign = ["f64", "bool", "c64", "c128", "string", "i1", "i3", "u1", "u3",
                   "float8e5m2", "float6e2m3", "float4e2m1", "f8e4m3", "f6e3", "f4", "e8m0"]
        self.check([add_case(dtype) for dtype in foreign], skipped=len(foreign),
                   says=[f"1  outside the tables: dtype {dtype}\n" for dtype in foreign])
        # Types that hewn has, by both of their names, but not in this operator.
        for names in [("f8e4m3fn", "float8_e4m3fn"), ("f8e8m0", "float8_e8m0fnu"),
                      ("f6e3m2", "float6_e3m2fn"), ("f4e2m1", "float4_e2m1fn")]:
            self.check([add_case(dtype) for dtype in names], skipped=2,
                       says=[f"2  outside the tables: ADD ATensor of {names[0]}\n"])

        def changed(case, **dtypes):
            case = json.loads(json.dumps(case))
            for name, dtype in dtypes.items():
                (case["output"] if name == "output" else case["inputs"][name])["dtype"] = dtype
            return case

        quantize = linear_case("QUANTIZE_LINEAR", "f32", [1.0], 1.0, 0, "u8", [1])
        dequantize = linear_case("DEQUANTIZE_LINEAR", "u8", [1], 1.0, 0, "f32", [1.0])
        one, scales = make_tensor("u8", [1], [1],
                             [1]), {f"{name}ScaleTensor": make_tensor("f32", [], [1.0], [0])
                                    for name in ["A", "B", "Output"]}
        zeros = {f"{name}ZeroPointTensor": make_tensor("u8", [], [0], [0])
                 for name in ["A", "B", "Output"]}
        qadd = {"id": "qadd", "op": "QUANTIZED_LINEAR_ADD", "formula": "exact",
                "inputs": {"ATensor": one, "BTensor": one, **scales, **zeros},
                "output": make_tensor("u8", [1], [2])}
        outside = [
            (changed(add_case(), ATensor="i32"), "ADD BTensor of f32 with ATensor of i32"),
            (changed(add_case(), BTensor="i32"), "ADD BTensor of i32 with ATensor of f32"),
            (changed(add_case(), output="i32"), "ADD OutputTensor of i32 with ATensor of f32"),
            (changed(add_case(), output="bool"), "dtype bool"),
            (changed(quantize, output="i64", ZeroPointTensor="i64"),
             "QUANTIZE_LINEAR OutputTensor of i64"),
            (changed(quantize, InputTensor="i16"), "QUANTIZE_LINEAR InputTensor of i16"),
            ({**changed(quantize, ScaleTensor="f16"), "op": "QUANTIZE"},
             "QUANTIZE ScaleTensor of f16 with InputTensor of f32"),
            (changed(quantize, ZeroPointTensor="i8"),
             "QUANTIZE_LINEAR ZeroPointTensor of i8 with OutputTensor of u8"),
            (changed(dequantize, InputTensor="i64", ZeroPointTensor="i64"),
             "DEQUANTIZE_LINEAR InputTensor of i64"),
            (changed(dequantize, output="i32", ScaleTensor="i32"),
             "DEQUANTIZE_LINEAR ScaleTensor of i32"),
            ({**changed(dequantize, ScaleTensor="f16"), "op": "DEQUANTIZE"},
             "DEQUANTIZE OutputTensor of f32 with ScaleTensor of f16"),
            (changed(dequantize, ZeroPointTensor="i8"),
             "DEQUANTIZE_LINEAR ZeroPointTensor of i8 with InputTensor of u8"),
            *((changed(qadd, **{name: "i32", zero: "i32"}), f"QUANTIZED_LINEAR_ADD {tensor} of i32")
              for name, zero, tensor in [("ATensor", "AZeroPointTensor", "ATensor"),
                                         ("BTensor", "BZeroPointTensor", "BTensor"),
                                         ("output", "OutputZeroPointTensor", "OutputTensor")]),
            *((changed(qadd, **{name: "f16"}), f"QUANTIZED_LINEAR_ADD {name} of f16")
              for name in scales),
            *((changed(qadd, **{name: "i8"}),
               f"QUANTIZED_LINEAR_ADD {name} of i8 with {name.replace('ZeroPoint', '')} of u8")
              for name in zeros),
        ]
        reasons = [reason for _, reason in outside]
        self.check([case for case, _ in outside], skipped=len(outside),
                   says=[f"  {reasons.count(reason)}  outside the tables: {reason}\n"
                         for reason in reasons])
        # Without strides, a parameter with one element runs, and one with several is skipped.
        del qadd["inputs"]["AScaleTensor"]["strides"]
        self.check(qadd, passed=1)
        qadd["inputs"]["AScaleTensor"].update(shape=[2], data=[1.0, 1.0])
        self.check(qadd, skipped=1, says=["QUANTIZED_LINEAR_ADD AScaleTensor of several elements"])
        # Cases that the tables allow are not skipped.
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
        # Shapes with more elements than the two of A.
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

    def test_sub_byte_types(self):
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
        """An unknown field might change what the case means, so the case neither passes nor
        fails."""
        quantize = linear_case("QUANTIZE_LINEAR", "f32", [1.0, 2.0], 1.0, 0, "u8", [1, 2])
        one, scales = make_tensor("u8", [1], [1],
                             [1]), {f"{name}ScaleTensor": make_tensor("f32", [], [1.0], [0])
                                    for name in ["A", "B", "Output"]}
        qadd = {"id": "qadd", "op": "QUANTIZED_LINEAR_ADD", "formula": "exact",
                "inputs": {"ATensor": one, "BTensor": one, **scales},
                "output": make_tensor("u8", [1], [2])}
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
        # Cases that are skipped for another reason may have unknown fields. The value of a field
        # that is meant for people is not looked at.
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
        # The scale of this case has strides.
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

    def test_the_output_is_contiguous(self):
        case = add_case()
        for shape, strides in [([2], [1]), ([2, 1], [1, 7]), ([1, 2], [0, 1])]:
            for tensor in [*case["inputs"].values(), case["output"]]:
                tensor.update(shape=shape, strides=strides)
            self.check(case, passed=1)
        for shape, strides in [([2], [2]), ([2, 1], [2, 1]), ([2], []), ([2], [1, 1])]:
            case["output"].update(shape=shape, strides=strides)
            for tensor in case["inputs"].values():
                tensor.update(shape=shape, strides=[1] * len(shape))
            self.broken(json.dumps(case), "output", "strides", "contiguous")

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


if __name__ == "__main__":
    cli.main()
