#!/usr/bin/env python3
"""Tests of `hewn replay`."""

import json
import os
import subprocess
import sys
import unittest

import cli
import numpy as np
from cli import F32, HANG, SOURCE_DIR, CliTest, cpu_targets, dequantize, quantize, quantized_add, read

# DirectML's operators as DxDispatch knows them: the required tensors, and the optional ones. They
# are from GetBindPoints and ParseDml...OperatorDesc in
# DxDispatch/src/model/JsonParsersGenerated.cpp of microsoft/DirectML at a9614e8.
DXDISPATCH_OPERATORS = {
    "DML_OPERATOR_ELEMENT_WISE_ADD": ({"ATensor", "BTensor", "OutputTensor"}, set()),
    "DML_OPERATOR_ELEMENT_WISE_ADD1": ({"ATensor", "BTensor", "OutputTensor"}, set()),
    "DML_OPERATOR_ELEMENT_WISE_QUANTIZE_LINEAR": ({"InputTensor", "ScaleTensor", "OutputTensor"},
                                                  {"ZeroPointTensor"}),
    "DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR": ({"InputTensor", "ScaleTensor", "OutputTensor"},
                                                    {"ZeroPointTensor"}),
    "DML_OPERATOR_ELEMENT_WISE_QUANTIZED_LINEAR_ADD": (
        {"ATensor", "AScaleTensor", "BTensor", "BScaleTensor", "OutputScaleTensor", "OutputTensor"},
        {"AZeroPointTensor", "BZeroPointTensor", "OutputZeroPointTensor"}),
}
# The types of ParseDmlTensorDataType in the same file, and those from which NpyReaderWriter.cpp
# makes them.
DXDISPATCH_TYPES = {"FLOAT32": "f4", "FLOAT16": "f2", "UINT8": "u1", "INT8": "i1", "UINT16": "u2",
                    "INT16": "i2", "UINT32": "u4",
                    "INT32": "i4", "UINT64": "u8", "INT64": "i8"}


class ReplayTest(CliTest):
    def names(self):
        """The names of the cases for this build's kernels that DirectML has. The kernel for a
        signed sum has a case for the unsigned type as well."""
        names = set()
        for variant in json.loads(self.succeed("info", "--json").stdout)["variants"]:
            operator, signature = variant["operator"], variant["signature"]
            if f"DML_OPERATOR_ELEMENT_WISE_{operator.upper()}" not in DXDISPATCH_OPERATORS or (
                    operator.startswith("quantize") and not signature.endswith("8")
                    or {"bf16", "f8"} & set(signature.split("_"))):
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
        """Checks that the model has nothing that DxDispatch's parser does not read
        (JsonParsers.cpp, ParseModel), and that its files fit. Returns the inputs, expanded."""
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
        if operator in {"ADD", "ADD1"}:
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
            # The inputs contain special values and ties.
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
        # The folder may be one within another that does not exist either, or one that exists.
        for _ in range(2):
            self.succeed("replay", self.path("new/folder"), "--variant",
                         "add_i8__"
                         + cpu_targets(
                             json.loads(self.succeed("info", "--json").stdout))[0]["name"])
            self.assertEqual(len(os.listdir(self.path("new/folder"))), 8)

    def check_inputs(self, operator, name, tensors):
        """Checks that the inputs contain the values with which something may go wrong."""
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

        if operator in {"ADD", "ADD1"}:
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
                # The values reach from one end of the type to the other.
                self.assertGreater(len(np.unique(x >> 8 * x.itemsize - 8)), 254, name)
                return
            holds(scale, 0.039215686)
            # Ties of odd numbers, and their neighbours.
            row = x[0, 0, np.flatnonzero(scale[0, 0, :, 0] == 2)[0]]
            ties = np.arange(-511, 512, 2)
            holds(row, *ties)
            if x.dtype.kind == "f":
                holds(row, *np.nextafter(ties.astype(x.dtype), x.dtype.type(np.inf)),
                      *np.nextafter(ties.astype(x.dtype), x.dtype.type(-np.inf)))

    def test_comparison_of_the_docs(self):
        """The program in docs/lab/directml.md finds all differences, and nothing else."""
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
        """No file may grow beyond 1000 bytes. The tensors of ADD i8 are smaller, its model is
        larger."""
        import resource
        target = cpu_targets(json.loads(self.succeed("info", "--json").stdout))[0]["name"]
        result = subprocess.run([cli.HEWN, "replay", self.path("full"), "--variant",
                                 "add_i8__" + target], capture_output=True, text=True, timeout=HANG,
                                restore_signals=False,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE,
                                                                      (1000, 1000)))
        self.assertEqual(result.returncode, 2, result.stdout)
        self.assertIn("add_i8.json: cannot be written", result.stderr)
        self.assertFalse([name for name in os.listdir(self.path("full"))
                          if not name.endswith(".npy")])


if __name__ == "__main__":
    cli.main()
