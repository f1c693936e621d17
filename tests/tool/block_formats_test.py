#!/usr/bin/env python3
"""Tests of `hewn mx-quantize`, `mx-dequantize`, `nvfp4-quantize` and `nvfp4-dequantize`."""

import cli
import numpy as np
from cli import F16, F32, CliTest, small_codes, small_values, untyped

MX_FLOATS = ["f8e4m3fn", "f8e5m2", "f6e2m3", "f6e3m2", "f4e2m1"]


def blocks_of(x, size):
    """Each block along the last axis, with its place: a row and the first and last column."""
    for row in range(x.shape[0]):
        for first in range(0, x.shape[1], size):
            yield row, first // size, slice(first, first + size)


def largest_number(word):
    values = small_values(word)
    return values[np.isfinite(values)].max()


def mx_scale(largest, word, mode):
    """The exponent of the scale, computed with real numbers. For blocks that are not 0, and whose
    scale is not at the end of its range."""
    fraction_bits, top = (6, 127 / 64) if word == "i8" else (int(word[5]), largest_number(word))
    if mode == "ceil":
        return int(np.ceil(np.log2(largest / top)))
    if mode == "even":
        step = 2.0**(np.floor(np.log2(largest)) - fraction_bits)
        largest = np.rint(largest / step) * step
    return int(np.floor(np.log2(largest)) - np.floor(np.log2(top)))


class MxTest(CliTest):
    def quantize(self, x, *options):
        self.succeed("mx-quantize", self.save("x.npy", x), *options, "-o", self.path("y.npy"),
                     "--scale", self.path("s.npy"))
        return np.load(self.path("y.npy")), np.load(self.path("s.npy"))

    def test_formula(self):
        x = (self.rng.standard_normal((5, 70)) * 10.0**self.rng.integers(-6, 6, (5, 1))).astype(F32)
        for word in ["i8", *MX_FLOATS]:
            mode, size = self.rng.choice(["floor", "ceil", "even"]), int(self.rng.choice([32, 16, 70]))
            y, scale = self.quantize(x, "--type", word, "--scale_mode", mode, "--block-size", size)
            exponents = np.zeros(scale.shape, int)
            expected = np.zeros(x.shape, "i1" if word == "i8" else "u1")
            for row, block, columns in blocks_of(x, size):
                part = x[row, columns]
                exponent = exponents[row, block] = mx_scale(np.abs(part).max(), word, mode)
                quotients = part.astype(np.float64) / 2.0**exponent
                expected[row, columns] = (np.clip(np.rint(64 * quotients), -127, 127) if word == "i8"
                                          else small_codes(quotients, word))
            context = f"{word}, {mode}, {size}"
            self.assert_same_codes(scale, (exponents + 127).astype("u1"), "f8e8m0", context)
            if word == "i8":
                self.assert_same(y, expected, context)
            else:
                self.assert_same_codes(y, expected, word, context)

    def test_back(self):
        x = self.rng.standard_normal((5, 70)).astype(F32)
        for word in ["i8", *MX_FLOATS]:
            y, scale = self.quantize(x, "--type", word)
            typed = [] if word == "i8" else ["--input-type", word]
            values = y / 64 if word == "i8" else small_values(word)[y.view("u1")]
            factors = np.repeat(2.0**(scale.view("u1").astype(int) - 127), 32, axis=1)[:, :70]
            for name, kind in [("f32", F32), ("f16", F16)]:
                back = self.compute("mx-dequantize", self.path("y.npy"), *typed, "--scale",
                                    self.path("s.npy"), "--type", name)
                self.assert_same(back, (values * factors).astype(kind), f"{word} to {name}")

    def test_axis(self):
        x = self.rng.standard_normal((70, 5)).astype(F32)
        y, scale = self.quantize(x, "--type", "f8e5m2", "--axis", "0")
        rows, row_scale = self.quantize(np.ascontiguousarray(x.T), "--type", "f8e5m2")
        self.assertEqual(scale.shape, (3, 5))
        self.assert_same_codes(y, rows.T.view("u1"), "f8e5m2")
        self.assert_same_codes(scale, row_scale.T.view("u1"), "f8e8m0")

    def test_refused(self):
        x = self.save("x.npy", np.zeros((2, 3), F32))
        self.refuse("mx-quantize", x, says="--type is required")
        self.refuse("mx-quantize", x, "--type", "u8", says="--type: u8 is not allowed")
        self.refuse("mx-quantize", x, "--type", "i8", "--axis", "2", says="axis")
        self.refuse("mx-quantize", x, "--type", "i8", "--block-size", "0", says="--block-size")
        self.refuse("mx-quantize", x, "--type", "i8", "--scale_mode", "up", says="up is not allowed")
        codes = self.save("c.npy", untyped(np.zeros((2, 32))))
        self.refuse("mx-dequantize", codes, "--input-type", "f8e5m2", "--scale",
                    self.save("s.npy", np.ones((2, 1), F32)), code=1,
                    says="ScaleTensor: FLOAT32 is not supported")


class Nvfp4Test(CliTest):
    def quantize(self, x, *options, gives=False):
        files = {"-o": "y.npy", "--scale": "s.npy"}
        if not gives:
            files["--output-tensor-scale"] = "t.npy"
        named = [word for option, file in files.items() for word in (option, self.path(file))]
        self.succeed("nvfp4-quantize", self.save("x.npy", x), *options, *named)
        return [np.load(self.path(file)) for file in files.values()]

    def expect(self, x, y, scale, tensor_scale):
        """Compares with the formula: each line rounds to f32."""
        scales, codes = np.zeros(scale.shape, "u1"), np.zeros(x.shape, "u1")
        for row, block, columns in blocks_of(x, 16):
            part = x[row, columns]
            code = small_codes(np.abs(part).max() / F32(6) / tensor_scale, "f8e4m3fn")
            scales[row, block] = code
            factor = F32(small_values("f8e4m3fn")[code]) * tensor_scale
            codes[row, columns] = small_codes(part / factor if factor else np.copysign(0, part), "f4e2m1")
        self.assert_same_codes(scale, scales, "f8e4m3fn")
        self.assert_same_codes(y, codes, "f4e2m1")

    def test_formula(self):
        x = (self.rng.standard_normal((5, 70)) * [[1], [0.01], [100], [3], [0]]).astype(F32)
        y, scale, tensor_scale = self.quantize(x)
        self.assert_same(tensor_scale, np.asarray(np.abs(x).max() / F32(2688)))
        self.assertEqual(scale.shape, (5, 5))
        self.expect(x, y, scale, tensor_scale[()])
        given = F32(0.013)
        self.expect(x, *self.quantize(x, "--tensor-scale", given, gives=True), given)

    def test_back(self):
        x = self.rng.standard_normal((5, 70)).astype(F32)
        y, scale, tensor_scale = self.quantize(x)
        factors = small_values("f8e4m3fn")[scale.view("u1")].astype(F32) * tensor_scale
        expected = small_values("f4e2m1")[y.view("u1")].astype(F32) * np.repeat(factors, 16, 1)[:, :70]
        for name, kind in [("f32", F32), ("f16", F16)]:
            back = self.compute("nvfp4-dequantize", self.path("y.npy"), "--scale", self.path("s.npy"),
                                "--tensor-scale", self.path("t.npy"), "--type", name)
            self.assert_same(back, expected.astype(kind), name)

    def test_refused(self):
        x = self.save("x.npy", np.zeros((2, 3), F32))
        self.refuse("nvfp4-quantize", x, "--tensor-scale", "1", "--output-tensor-scale", self.path("t.npy"),
                    says="OutputTensorScaleTensor is written without --tensor-scale only")
        self.refuse("nvfp4-quantize", self.save("i.npy", np.zeros(3, np.int32)), code=1,
                    says="InputTensor: INT32 is not supported")
        self.refuse("nvfp4-quantize", x, "--tensor-scale", self.save("t.npy", np.ones((1, 1), F16)),
                    code=1, says="TensorScaleTensor: FLOAT16 is not supported")
        codes = self.save("c.npy", untyped(np.zeros((2, 32))))
        self.refuse("nvfp4-dequantize", codes, "--scale", "1", says="--tensor-scale is required")
        self.refuse("nvfp4-dequantize", codes, "--scale", "1", "--tensor-scale", "nothing.npy",
                    says="nothing.npy")


if __name__ == "__main__":
    cli.main()
