#!/usr/bin/env python3
"""Tests of `hewn dequantize`."""

import itertools

import cli
import numpy as np
from cli import F16, F32, CliTest, dequantize, from_bf16, make_npy, sample, to_bf16, untyped


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
        """A decimal number is rounded once, to f32 or f16. A zero point may have a sign."""
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

    def test_bf16(self):
        """The product is rounded to f32 and then to bf16, and a number to bf16 at once."""
        x, zero = sample(self.rng, (5, 67), "u1"), 7
        q, third = self.save("x.npy", x), 1 / F32(3)
        stores = {"bf16": to_bf16, "f32": F32, "f16": F16}
        for of_scale, kind in itertools.product(stores, stores):
            s = stores[of_scale](third)
            product = dequantize(x, from_bf16(s) if of_scale == "bf16" else F32(s), zero)
            arguments = ["dequantize", q, "--scale", self.save("s.npy", s), "--zero-point", zero]
            due = stores[kind](product)
            self.assert_same(self.compute(*arguments, "--type", kind), due, f"{of_scale} {kind}")
            if kind == of_scale:
                self.assert_same(self.compute(*arguments), due, of_scale)
        one = self.save("one.npy", np.ones(1, "i4"))
        for number, due in (("1.003906250000909", 0x3f81), ("1.00390625", 0x3f80)):
            got = self.compute("dequantize", one, "--scale", number, "--type", "bf16")
            self.assertEqual(got.view("<u2").tolist(), [due], number)
        self.refuse("dequantize", q, "--scale", 1, "--type", "bf16", "--feature-level", "6.4",
                    says="BFLOAT16 needs feature level hewn", code=1)

    def test_small_floats(self):
        stores = {"bf16": to_bf16, "f32": F32, "f16": F16}
        for word in cli.SMALL_FLOATS:
            values = cli.small_values(word).astype(F32)
            codes = self.rng.permutation(values.size)[:values.size - 1]  # rows end within a byte
            scale = self.rng.uniform(-2, 2, codes.size).astype(F32)
            arguments = ["dequantize", self.save("x.npy", untyped(codes)), "--input-type", word]
            for kind, store in stores.items():
                got = self.compute(*arguments, "--scale", self.save("s.npy", scale), "--type", kind)
                due = values[codes] * scale
                if kind == "bf16":  # NaN has no bits of its own there
                    due = np.where(np.isnan(due), F32(0), due)
                    self.assertTrue(np.isnan(from_bf16(got[np.isnan(values[codes])])).all())
                    got[np.isnan(values[codes])] = to_bf16(0)
                with np.errstate(over="ignore"):
                    due = store(due)
                self.assert_same(got, due, f"{word} {kind}")
            powers = self.rng.integers(0, 255, codes.size)
            got = self.compute(*arguments, "--scale", self.save("s.npy", untyped(powers)), "--type",
                               "f32")
            with np.errstate(over="ignore"):
                due = (values[codes] * 2.0**(powers - 127)).astype(F32)  # exact, then rounded once
            self.assert_same(got, due, f"{word} with powers of two")
            # Fortran's order, a zero point, and the name in ml_dtypes.
            square = np.asfortranarray(codes[:6].reshape(2, 3))
            name = ("float" + word[1:].replace("e", "_e", 1)
                    + ("fn" if word[1] in "46" else ""))
            got = self.compute("dequantize", self.save("q.npy", untyped(square)), "--input-type",
                               name, "--scale", 0.5, "--zero-point", 0)
            self.assert_same(got, values[square] * F32(0.5), name)

    def test_small_floats_from_ml_dtypes(self):
        """ml_dtypes saves f8e5m2 as a float of one byte, which NumPy alone cannot read."""
        codes = np.arange(256, dtype="u1")
        for descr in ("<f1", "|f1"):
            header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': (256,), }}\n"
            x = self.write("x.npy", make_npy(header, codes.tobytes()))
            for more in ([], ["--input-type", "f8e5m2"]):
                self.assert_same(self.compute("dequantize", x, "--scale", 2, *more),
                                 cli.small_values("f8e5m2").astype(F32) * F32(2))
        self.refuse("dequantize", x, "--scale", 1, "--input-type", "f8e4m3fn",
                    says="--input-type f8e4m3fn: " + x + " is f8e5m2")

    def test_small_floats_that_are_refused(self):
        x = self.save("x.npy", untyped([1, 2, 16, 64]))
        from_codes = ["dequantize", x, "--scale", 1]
        self.refuse(*from_codes, says=["x.npy: holds bytes without a type ('|V1')", "--input-type"])
        self.refuse(*from_codes, "--input-type", "f8", says="--input-type: f8 is not allowed")
        self.refuse(*from_codes, "--input-type", "f8e8m0", says="--input-type: f8e8m0 is not allowed")
        self.refuse(*from_codes, "--input-type", "f4e2m1",
                    says="x.npy: element 2 is 16, f4e2m1's range is 0..15")
        self.refuse(*from_codes, "--input-type", "f6e3m2",
                    says="x.npy: element 3 is 64, f6e3m2's range is 0..63")
        self.refuse(*from_codes, "--input-type", "f8e5m2", "--feature-level", "6.4", code=1,
                    says="InputTensor: FLOAT8E5M2 needs feature level hewn")
        self.refuse("dequantize", self.save("u.npy", np.ones(3, "u1")), "--scale", 1,
                    "--input-type", "f8e5m2",
                    says=["--input-type f8e5m2: ", "u.npy is u8", "bytes without a type"])
        self.refuse("dequantize", self.path("u.npy"), "--scale", 1, "--type", "f8e4m3fn",
                    says="--type: f8e4m3fn is not allowed")
        self.refuse("dequantize", self.path("u.npy"), "--scale", 2, "--type", "f8e8m0",
                    says="--type: f8e8m0 is not allowed")
        self.refuse(*from_codes, "--input-type", "f8e5m2", "--zero-point", 1,
                    says="--zero-point: --zero-point 1 is not 0 everywhere; a zero point of f8e5m2")
        self.refuse("dml-dequantize", self.path("u.npy"), "--scale", self.save("s.npy", untyped(1)),
                    says="s.npy: holds bytes without a type")

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


if __name__ == "__main__":
    cli.main()
