#!/usr/bin/env python3
"""Tests of `hewn quantize`."""

import itertools
import re

import cli
import numpy as np
from cli import F16, F32, CliTest, dequantize, from_bf16, make_png, quantize, read_png, sample, to_bf16, untyped


class QuantizeTest(CliTest):
    def test_types(self):
        for kind, scale_kind in [("f4", "f4"), ("f2", "f2"), ("i4", "f4")]:
            for name, dtype in [("u8", np.uint8), ("i8", np.int8)]:
                x = sample(self.rng, (7, 33), kind)
                zero = int(sample(self.rng, (), dtype))
                scale = np.dtype(scale_kind).type(1e7 if kind == "i4" else 0.37)
                self.save("x.npy", x)
                expected = quantize(x, scale, zero, dtype)
                got = self.compute("quantize", self.path("x.npy"), "--scale", repr(float(scale)),
                                   "--zero-point", zero, "--type", name)
                self.assert_same(got, expected, f"{kind} {name}")
                got = self.compute("quantize", self.path("x.npy"), "--scale",
                                   self.save("s.npy", scale), "--zero-point",
                                   self.save("z.npy", dtype(zero)), "--type", name)
                self.assert_same(got, expected, f"{kind} {name} from files")

    def test_bf16(self):
        """As the input, the scale or both. A number becomes the input's type."""
        x, scale, zero = sample(self.rng, (7, 33), "f4"), F32(0.37), np.uint8(9)
        stores = {"bf16": to_bf16, "f32": F32, "f16": F16}
        values = {"bf16": from_bf16, "f32": F32, "f16": F32}
        for of_x, of_scale in [("bf16", "bf16"), ("bf16", "f32"), ("bf16", "f16"), ("f32", "bf16"),
                               ("f16", "bf16")]:
            a, s = stores[of_x](x), stores[of_scale](scale)
            arguments = ["quantize", self.save("x.npy", a), "--scale", self.save("s.npy", s),
                         "--zero-point", 9, "--type", "u8"]
            due = quantize(values[of_x](a), values[of_scale](s), zero, np.uint8)
            self.assert_same(self.compute(*arguments), due, f"{of_x} {of_scale}")
            self.refuse(*arguments, "--feature-level", "6.4", says="needs feature level hewn", code=1)
        rounded = from_bf16(to_bf16(x))
        for number, of_scale in (("0.37", from_bf16(to_bf16(scale))),
                                 # By way of f32, it would become 1.
                                 ("1.003906250000909", F32(1 + 2**-7))):
            for precision in ("f32", "bf16"):
                quotient = rounded / of_scale
                if precision == "bf16":
                    quotient = from_bf16(to_bf16(quotient))
                got = self.compute("quantize", self.save("x.npy", to_bf16(x)), "--scale", number,
                                   "--precision", precision, "--type", "i8")
                self.assert_same(got, quantize(quotient, F32(1), 0, np.int8), f"{number} {precision}")
        self.refuse("dml-quantize", self.path("x.npy"), "--scale", 1, "--type", "u8",
                    says="BFLOAT16 is not supported; feature level hewn has FLOAT32, FLOAT16", code=1)

    def test_special_values(self):
        x = np.array([np.nan, np.inf, -np.inf, -0.0, 0.5, 1.5, 2.5, -0.5, 3e38, 1e-45, 127.5,
                      -128.5], F32)
        for zero in [0, 5, -5]:
            got = self.compute("quantize", self.save("x.npy", x), "--scale", 1,
                               f"--zero-point={zero}", "--type", "i8")
            self.assert_same(got, quantize(x, F32(1), zero, np.int8), str(zero))
        for scale in ["0", "nan", "inf", "-inf", "1e-45", "-2"]:
            got = self.compute("quantize", self.path("x.npy"), f"--scale={scale}", "--zero-point",
                               3, "--type", "u8")
            self.assert_same(got, quantize(x, F32(scale), 3, np.uint8), scale)

    def test_absent_zero_point_is_zero(self):
        x = sample(self.rng, (9,), "f4")
        self.assert_same(self.compute("quantize", self.save("x.npy", x), "--scale", 2, "--type",
                                      "i8"), quantize(x, F32(2), 0, np.int8))

    def test_per_axis_and_broadcasting(self):
        x = sample(self.rng, (4, 5, 6), "f4")
        self.save("x.npy", x)
        for axis, size in [(0, 4), (1, 5), (2, 6), (-1, 6), (-3, 4)]:
            scale, zero = self.rng.uniform(0.1, 3, size).astype(F32), sample(self.rng, size, "u1")
            shape = [1, 1, 1]
            shape[axis] = size
            expected = quantize(x, scale.reshape(shape), zero.reshape(shape), np.uint8)
            parameters = ["--scale", self.save("s.npy", scale), "--zero-point",
                          self.save("z.npy", zero), "--type", "u8"]
            self.assert_same(self.compute("quantize", self.path("x.npy"), *parameters, "--axis",
                                          axis), expected, f"axis {axis}")
            if axis in (2, -1):  # without --axis, NumPy's rule: the last
                self.assert_same(self.compute("quantize", self.path("x.npy"), *parameters),
                                 expected)
            # One of the two may be per tensor.
            parameters[3] = "7"
            expected = quantize(x, scale.reshape(shape), 7, np.uint8)
            self.assert_same(self.compute("quantize", self.path("x.npy"), *parameters, "--axis",
                                          axis), expected)
        # --axis does not matter to a parameter of one element.
        for scale in [2, self.save("s.npy", np.full(1, 2, F32))]:
            got = self.compute("quantize", self.path("x.npy"), "--scale", scale, "--type", "u8",
                               "--axis", 2)
            self.assert_same(got, quantize(x, F32(2), 0, np.uint8))
        for shape in [(4, 5, 6), (5, 1), (4, 1, 6), (1, 1, 1), (1,), (), (1, 1, 1, 1)]:
            scale = self.rng.uniform(0.1, 3, shape).astype(F32)
            got = self.compute("quantize", self.path("x.npy"), "--scale",
                               self.save("s.npy", scale), "--type", "i8")
            self.assert_same(got, quantize(x, scale.reshape(shape[-3:]), 0,
                                           np.int8).reshape(x.shape), str(shape))

    def test_precision(self):
        """ONNX's precision, compared with NumPy's f16 arithmetic, whose quotients round once."""
        x, scale = sample(self.rng, (3, 50), "f4"), self.rng.uniform(0.1, 3, (50,)).astype(F32)
        with np.errstate(all="ignore"):
            quotients = x.astype("f2") / scale.astype("f2")
        for precision, due in (("f32", quantize(x, scale, 5, np.int8)),
                               ("f16", quantize(quotients.astype(F32), F32(1), 5, np.int8))):
            got = self.compute("quantize", self.save("x.npy", x), "--scale",
                               self.save("s.npy", scale), "--zero-point", 5, "--type", "i8",
                               "--precision", precision)
            self.assert_same(got, due, precision)
        self.refuse("quantize", self.path("x.npy"), "--scale", 1, "--type", "i8", "--precision",
                    "bf16", "--feature-level", "6.4", code=1,
                    says="precision BFLOAT16 needs feature level hewn")
        self.refuse("quantize", self.path("x.npy"), "--scale", 1, "--type", "i8", "--precision",
                    "f64", says="--precision")

    def test_blocks(self):
        """ONNX's block_size: one scale and one zero point for each block along the axis."""
        shape = (4, 6, 10)
        for order, (axis, block) in itertools.product("CF", [(0, 2), (1, 3), (1, 1), (1, 6),
                                                             (2, 5), (-1, 2), (-3, 4), (0, 3),
                                                             (1, 4), (2, 3), (2, 16)]):
            x, q = np.asarray(sample(self.rng, shape, "f4"),
                              order=order), np.asarray(sample(self.rng, shape, "i1"), order=order)
            self.save("x.npy", x), self.save("q.npy", q)
            blocks = list(shape)
            blocks[axis] = -(-blocks[axis] // block)
            repeat = lambda array: np.repeat(np.broadcast_to(array, blocks), block, axis)[
                :shape[0], :shape[1], :shape[2]]
            one = [1] * 3
            one[axis] = blocks[axis]
            for kept in [blocks, [size if i == axis % 3 else 1 for i, size in enumerate(blocks)],
                         one[:1] if axis == 0 else blocks[1:], ()]:
                scale = np.asarray(self.rng.uniform(0.1, 3, kept)).astype(F32)
                zero = sample(self.rng, tuple(kept), "i1")
                where = ["--axis", axis, "--block-size", block, "--scale",
                         self.save("s.npy", scale), "--zero-point", self.save("z.npy", zero)]
                if len(kept) == 1:
                    scale, zero = scale.reshape(one), zero.reshape(one)
                context = f"{order} axis {axis} block {block} scale {kept}"
                self.assert_same(self.compute("quantize", self.path("x.npy"), *where, "--type",
                                              "i8"),
                                 quantize(x, repeat(scale), repeat(zero), np.int8), context)
                self.assert_same(self.compute("dequantize", self.path("q.npy"), *where),
                                 dequantize(q, repeat(scale), repeat(zero)), context)
        x = sample(self.rng, (2, 2, 2, 2, 2, 2, 2, 6), "f4")  # 9 dimensions, with the block's
        scale = self.rng.uniform(0.1, 3, (2, 2, 2, 2, 2, 2, 2, 2)).astype(F32)
        got = self.compute("quantize", self.save("x.npy", x), "--scale", self.save("s.npy", scale),
                           "--axis", 7, "--block-size", 3, "--zero-point", 9, "--type", "u8")
        self.assert_same(got, quantize(x, np.repeat(scale, 3, 7), 9, np.uint8))
        pixels = sample(self.rng, (4, 6), "u1")
        scale = np.array([[0.01], [0.02]], F32)
        self.succeed("quantize", self.write("a.png", make_png(pixels, 8, 0)), "--scale",
                     self.save("s.npy", scale), "--axis", 0, "--block-size", 2, "--type", "u8",
                     "-o", self.path("out.png"))
        self.assert_same(read_png(self.path("out.png"))[:, :, 0],
                         quantize(pixels.astype(F32) / F32(255), np.repeat(scale, 2, 0), 0,
                                  np.uint8))
        empty = np.zeros((2, 0), F32)
        got = self.compute("quantize", self.save("x.npy", empty), "--scale",
                           self.save("s.npy", empty), "--axis", 1, "--block-size", 4, "--type",
                           "u8")
        self.assert_same(got, empty.astype(np.uint8))

    def test_sub_byte_types(self):
        """Types of 4 and 2 bits, for which files have one byte per element, of u8 or i8."""
        for bits, kind, (axis, block) in itertools.product([4, 2], "iu", [(1, 1), (0, 1), (1, 3)]):
            shape, dtype = (5, 7), kind + "1"
            least = -(2**(bits - 1)) if kind == "i" else 0
            most = least + 2**bits - 1
            x = sample(self.rng, shape, "f4") / F32(20)
            blocks = [-(-size // block) if i == axis else 1 for i, size in enumerate(shape)]
            repeat = lambda array: np.repeat(array, block, axis)[:shape[0], :shape[1]]
            scale = self.rng.uniform(0.3, 2, blocks).astype(F32)
            zero = self.rng.integers(least, most + 1, blocks).astype(dtype)
            where = ["--axis", axis, "--block-size", block, "--scale", self.save("s.npy", scale),
                     "--zero-point", self.save("z.npy", zero)]
            q = quantize(x, repeat(scale), repeat(zero), np.int8 if kind == "i" else np.uint8)
            q = np.clip(q, least, most)
            context = f"{kind}{bits} axis {axis} block {block}"
            self.assert_same(self.compute("quantize", self.save("x.npy", x), *where, "--type",
                                          f"{kind}{bits}"), q, context)
            self.assert_same(self.compute("dequantize", self.save("q.npy", q), *where, "--bits",
                                          bits), dequantize(q, repeat(scale), repeat(zero)),
                             context)
        got = self.compute("dequantize", self.save("q.npy", np.array([1, 15], "u1")), "--scale", 2,
                           "--zero-point", 7, "--bits", 4)
        self.assert_same(got, np.array([-12, 16], F32))

    def test_sub_byte_types_in_fortran_order(self):
        x = np.asfortranarray(np.arange(6, dtype="u1").reshape(2, 3))
        zero = np.asfortranarray(np.array([[1, 2, 3], [4, 5, 6]], "u1"))
        self.assert_same(self.compute("dequantize", self.save("x.npy", x), "--bits", 4, "--scale", 2,
                                      "--zero-point", self.save("z.npy", zero)),
                         2 * (x.astype(F32) - zero))
        self.assert_same(self.compute("quantize", self.save("f.npy", x.astype(F32)), "--type", "u4",
                                      "--scale", 1, "--zero-point", self.save("z.npy", zero)),
                         x + zero)

    def test_sub_byte_types_that_do_not_fit(self):
        x, q = self.save("x.npy", np.ones(3, F32)), self.save("q.npy", np.array([1, 16], "u1"))
        self.refuse("dequantize", q, "--scale", 1, "--bits", 4,
                    says=["q.npy: element 1 is 16, u4's range is 0..15"])
        self.refuse("dequantize", self.save("i.npy", np.array([-9], "i1")), "--scale", 1, "--bits",
                    4, says=["i.npy: element 0 is -9, i4's range is -8..7"])
        self.refuse("dequantize", self.save("w.npy", np.ones(2, "i4")), "--scale", 1, "--bits", 4,
                    says=["--bits 4: ", "w.npy is i32", "u8 or i8"])
        self.refuse("dequantize", q, "--scale", 1, "--bits", 3, says="--bits")
        self.refuse("quantize", x, "--scale", 1, "--zero-point", 4, "--type", "u2",
                    says="--zero-point 4: element 0 is 4, u2's range is 0..3")
        self.refuse("quantize", x, "--scale", 1, "--zero-point", q, "--type", "u4",
                    says="q.npy: element 1 is 16, u4's range is 0..15")
        self.refuse("quantize", x, "--scale", 1, "--type", "u4", "--feature-level", "6.4",
                    says="UINT4 needs feature level hewn", code=1)

    def test_small_floats(self):
        """Files have a byte without a type for each element, which is its code."""
        specials = [np.nan, np.inf, -np.inf, 0, -0.0, 1e-45, -1e-45, 3e38, -3e38]
        for word in cli.SMALL_FLOATS:
            values = cli.small_values(word)
            numbers = np.unique(np.abs(values[np.isfinite(values)]))
            ties = (numbers[:-1] + numbers[1:]) / 2
            beyond = numbers[-1] + (numbers[-1] - numbers[-2]) * np.array([0.49, 0.5, 0.51, 1])
            x = np.concatenate([specials, numbers, -ties, beyond, -beyond]).astype(F32)
            self.save("x.npy", x)
            for saturate in "10":
                got = self.compute("quantize", self.path("x.npy"), "--scale", 1, "--zero-point", 0,
                                   "--type", word, "--saturate", saturate)
                self.assert_same_codes(got, cli.small_codes(x, word, saturate == "1"), word,
                                       f"{word} {saturate}")
            x = sample(self.rng, (5, 37), "f4") * F32(numbers[-1] / 50)
            scale = self.rng.uniform(-2, 2, (5, 3)).astype(F32)
            got = self.compute("quantize", self.save("x.npy", x), "--scale",
                               self.save("s.npy", scale), "--type", word, "--axis", 1,
                               "--block-size", 16)
            self.assert_same_codes(got, cli.small_codes(x / np.repeat(scale, 16, 1)[:, :37], word), word,
                                   f"{word} in blocks")

    def test_small_floats_of_other_types(self):
        """From f16, bf16 and i32, and with a precision. A scale may be a power of two."""
        x = sample(self.rng, (7, 33), "f4")
        for kind, values in [("f16", x.astype(F16)), ("bf16", to_bf16(x)), ("i32", x.astype("i4"))]:
            wide = from_bf16(values) if kind == "bf16" else values.astype(F32)
            got = self.compute("quantize", self.save("x.npy", values), "--scale", 0.25, "--type",
                               "f8e4m3fn")
            self.assert_same_codes(got, cli.small_codes(wide / F32(0.25), "f8e4m3fn"), "f8e4m3fn", kind)
        powers = self.rng.integers(120, 134, 33)
        for kind, values in [("f32", x), ("bf16", to_bf16(x))]:
            wide = from_bf16(values) if kind == "bf16" else x
            arguments = ["quantize", self.save("x.npy", values), "--scale",
                         self.save("s.npy", untyped(powers)), "--type"]
            quotients = wide / (2.0**(powers - 127)).astype(F32)
            self.assert_same_codes(self.compute(*arguments, "f4e2m1"),
                                   cli.small_codes(quotients, "f4e2m1"), "f4e2m1", kind)
            self.assert_same(self.compute(*arguments, "u8"), quantize(quotients, F32(1), 0, np.uint8))
        with np.errstate(all="ignore"):
            quotients = x.astype(F16) / F16(0.3)
        got = self.compute("quantize", self.save("x.npy", x), "--scale", 0.3, "--type", "f8e5m2",
                           "--precision", "f16")
        self.assert_same_codes(got, cli.small_codes(quotients, "f8e5m2"), "f8e5m2", "precision")

    def test_small_floats_that_are_refused(self):
        x, codes = self.save("x.npy", np.ones(3, F32)), self.save("c.npy", untyped([1, 2, 3]))
        to = ["quantize", x, "--scale", 1, "--type"]
        self.refuse(*to, "f8e4m3fn", "--zero-point", 0.3,
                    says="--zero-point: 0.3 is no number of f8e4m3fn")
        self.refuse(*to, "f8e4m3fn", "--zero-point", self.save("z.npy", untyped([0, 0, 56])),
                    says=["z.npy is not 0 everywhere; a zero point of f8e4m3fn must be 0"])
        self.refuse(*to, "f8e4m3fn", "--saturate", 2, says="--saturate: 2 is not allowed")
        self.refuse(*to, "f8e8m0", says="--type: f8e8m0 is not allowed")
        self.refuse(*to, "f8e4m3fn", "--feature-level", "6.4", code=1,
                    says="OutputTensor: FLOAT8E4M3FN needs feature level hewn")
        self.refuse(*to, "u8", "--saturate", 0, "--feature-level", "6.4", code=1,
                    says="saturate OFF needs feature level hewn")
        self.refuse(*to, "f8e4m3fn", out="out.png", says="a PNG holds u8 or u16")
        self.refuse("dml-quantize", x, "--scale", 1, "--type", "f8e4m3fn",
                    says="--type: f8e4m3fn is not allowed")
        self.refuse("quantize", codes, "--scale", 1, "--type", "u8",
                    says="c.npy: holds bytes without a type ('|V1')")
        # Without --type, the zero point says the type; but this one has none.
        self.refuse("quantize", x, "--scale", 1, "--zero-point", codes,
                    says="c.npy: holds bytes without a type ('|V1')")
        self.refuse(*to, "f4e2m1", "--zero-point", self.save("z.npy", untyped([0, 16, 0])),
                    says="z.npy: element 1 is 16, f4e2m1's range is 0..15")

    def test_blocks_that_do_not_fit(self):
        x, u8 = self.save("x.npy", np.ones((2, 12), F32)), ["--type", "u8"]
        three = self.save("three.npy", np.ones((2, 3), F32))
        for block in [5, 8, 2**31 - 1]:
            self.refuse("quantize", x, "--scale", self.save("s.npy", np.ones((2, 4), F32)),
                        "--axis", 1, "--block-size", block, *u8,
                        says=[f"with --block-size {block} the input's sizes count blocks"])
        self.refuse("quantize", x, "--scale", three, "--axis", 1, "--block-size", 4, *u8,
                    "--feature-level", "6.4", says="a block size needs feature level hewn", code=1)
        for scale, sizes in [(np.ones((2, 4), F32), "[2, 4]"), (np.ones((2, 12), F32), "[2, 12]"),
                             (np.ones((3, 3), F32), "[3, 3]")]:
            self.refuse("quantize", x, "--scale", self.save("s.npy", scale), "--axis", 1,
                        "--block-size", 4, *u8,
                        says=["ScaleTensor", "s.npy", sizes, "[2, 3]",
                              "with --block-size 4 the input's sizes count blocks"])
        self.refuse("quantize", x, "--scale", three, "--zero-point",
                    self.save("z.npy", np.ones(12, "u1")), "--axis", 1, "--block-size", 4, *u8,
                    says=["ZeroPointTensor", "12 elements", "axis 1", "has 3", "count blocks"])
        self.refuse("quantize", x, "--scale", three, "--block-size", 4, *u8,
                    says=["--block-size", "--axis"])
        self.refuse("quantize", x, "--scale", 1, "--axis", 2, "--block-size", 4, *u8,
                    says=["--axis 2", "2 dimensions"])
        for block in ["0", "-1", "1.5", "four", 2**31, 10**20]:
            self.refuse("quantize", x, "--scale", three, "--axis", 1, "--block-size", block, *u8,
                        says="--block-size")
        flat = self.save("flat.npy", np.ones((1, 1, 1, 4), "u1"))
        self.refuse("dequantize", flat, "--scale", 1, "--axis", 3, "--block-size", 2,
                    "--zero-point", 1, "--feature-level", "2.0",
                    says=["flat.npy", "needs feature level hewn"], code=1)

    def test_ranks_and_fortran_order(self):
        for rank in range(9):
            x = np.asfortranarray(sample(self.rng, tuple(self.rng.integers(1, 4, rank)), "f2"))
            got = self.compute("quantize", self.save("x.npy", x), "--scale", 0.5, "--zero-point",
                               128, "--type", "u8")
            self.assert_same(got, np.asarray(quantize(x, F16(0.5), 128, np.uint8)), f"rank {rank}")

    def test_empty(self):
        for shape in [(0,), (3, 0, 2)]:
            x = np.zeros(shape, "f4")
            got = self.compute("quantize", self.save("x.npy", x), "--scale", 1, "--type", "u8")
            self.assert_same(got, x.astype(np.uint8))

    def test_32_bits(self):
        x = self.save("x.npy", np.array([2.5, np.nan, 3e9, -3e9, 1e10, -np.inf], F32))
        for name, zero, expected in [
                ("i32", -2**31, [2 - 2**31, -2**31, 3 * 10**9 - 2**31, -2**31, 2**31 - 1, -2**31]),
                ("u32", 2**32 - 1, [2**32 - 1, 2**32 - 1, 2**32 - 1, 2**32 - 1 - 3 * 10**9,
                                    2**32 - 1, 0])]:
            got = self.compute("quantize", x, "--scale", 1, f"--zero-point={zero}", "--type", name)
            self.assert_same(got, np.array(expected, name[0] + "4"), name)
        self.refuse("quantize", x, "--scale", 1, "--type", "i32", "--feature-level", "6.4", code=1,
                    says="OutputTensor: INT32 needs feature level hewn")

    def test_files_must_have_the_right_type(self):
        x = self.save("x.npy", np.zeros(3, "f4"))
        hint = lambda descr: f"save it with .astype('{descr}')"
        self.refuse("quantize", x, "--scale", self.save("s.npy", F16(1)), "--type", "u8",
                    "--feature-level", "6.4", says=["ScaleTensor", "s.npy", hint("<f4")], code=1)
        self.refuse("quantize", x, "--scale", 1, "--zero-point", self.save("z.npy", np.int8(1)),
                    "--type", "u8", says=["ZeroPointTensor", "z.npy", hint("|u1")], code=1)
        self.assertNotIn("astype",
                         self.refuse("quantize", self.save("y.npy", np.zeros(3, "i2")), "--scale",
                                     1, "--type", "u8", says=["InputTensor", "y.npy"],
                                     code=1).stderr)
        # The types that NumPy gives Python's integers.
        z, n = self.save("z.npy", np.array(3)), self.save("n.npy", np.arange(3))
        u, w = self.save("u.npy", np.ones(3, "u1")), self.save("w.npy", np.ones(3, "i2"))
        half = self.save("h.npy", np.ones(3, F16))
        for arguments, tensor, descr in [(["quantize", x, "--scale", 1, "--zero-point", z,
                                           "--type", "u8"], "ZeroPointTensor: ", "|u1"),
                                         (["quantize", x, "--scale", 1, "--zero-point", z,
                                           "--type", "i8"], "ZeroPointTensor: ", "|i1"),
                                         (["quantize", x, "--scale", z, "--type", "u8"],
                                          "ScaleTensor: ", "<f4"),
                                         (["quantize", half, "--scale", z, "--type", "u8"],
                                          "ScaleTensor: ", "<f2"),
                                         (["quantize", n, "--scale", 1, "--type", "u8"],
                                          "InputTensor: ", "<f4"),
                                         (["dequantize", u, "--scale", 1, "--zero-point", z],
                                          "ZeroPointTensor: ", "|u1"),
                                         (["dequantize", w, "--scale", 1, "--zero-point", z],
                                          "ZeroPointTensor: ", "<i2"),
                                         (["dequantize", u, "--scale", z], "ScaleTensor: ", "<f4"),
                                         (["dequantize", n, "--scale", 1, "--zero-point", z],
                                          "ZeroPointTensor: ", "<i4"),
                                         (["dequantize", n, "--scale", 1], "InputTensor: ", "<i4"),
                                         (["qadd", u, u, "--a-scale", 1, "--b-scale", 1, "--scale",
                                           1, "--b-zero-point", z], "BZeroPointTensor: ", "|u1"),
                                         (["qadd", u, u, "--a-scale", 1, "--b-scale", 1, "--scale",
                                           z], "OutputScaleTensor: ", "<f4")]:
            text = self.refuse(*arguments, says=tensor, code=1).stderr
            self.assertRegex(text, tensor + r"\S+\.npy i64 \[3?\], " + re.escape(hint(descr)))
        self.refuse("add", n, u, says=["i64", hint("|u1")])
        self.refuse("add", x, half, says=["f16", hint("<f4")])
        self.refuse("dml-dequantize", u, "--scale", self.save("s.npy", F32(1)), "--type", "f16",
                    says=hint("<f2"))


if __name__ == "__main__":
    cli.main()
