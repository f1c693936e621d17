#!/usr/bin/env python3
"""Tests of `hewn add`, and of what all operators share: tensors in .npy files, numbers, outputs."""

import json

import cli
import numpy as np
from cli import F32, CliTest, cpu_targets, from_bf16, make_npy, read, sample, to_bf16

INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]


class AddTest(CliTest):
    def test_every_type_and_rank(self):
        for kind in ["f4", "f2"] + INTEGERS:
            for rank in range(9):
                shape = tuple(self.rng.integers(1, 4, rank))
                a, b = sample(self.rng, shape, kind), sample(self.rng, shape, kind)
                with np.errstate(all="ignore"):
                    expected = np.asarray(a + b)
                got = self.compute("add", self.save("a.npy", a), self.save("b.npy", b))
                self.assert_same(got, expected, f"{kind} {shape}")

    def test_special_values(self):
        for kind in ["f4", "f2"]:
            info = np.finfo(kind)
            values = np.array([0.0, -0.0, 1, -1, np.nan, np.inf, -np.inf, info.max, -info.max,
                               info.tiny, info.smallest_subnormal], kind)
            a, b = values[:, None], values[None, :]
            with np.errstate(all="ignore"):
                expected = a + b
            self.assert_same(self.compute("add", self.save("a.npy", a), self.save("b.npy", b)),
                             expected, kind)

    def test_bf16(self):
        a, b = (to_bf16(sample(self.rng, (7, 9), "f4")) for _ in "ab")
        got = self.compute("add", self.save("a.npy", a), self.save("b.npy", b))
        self.assert_same(got, to_bf16(from_bf16(a) + from_bf16(b)))
        # By way of f32, the first number would become 1.
        zero = self.save("zero.npy", to_bf16([0]))
        for number, due in (("1.003906250000909", 0x3f81), ("1.00390625", 0x3f80), ("-inf", 0xff80)):
            self.succeed("add", "-o", self.path("out.npy"), "--", zero, number)
            got = np.load(self.path("out.npy"))
            self.assertEqual(got.view("<u2").tolist(), [due], number)
        self.refuse("add", zero, "3.4e38", says=["3.4e38 is too large for bf16"])
        self.refuse("add", self.save("x.npy", np.ones(1, F32)), zero, says=["bf16", "astype('<f4')"])
        self.refuse("add", zero, self.path("x.npy"), says=["f32", "astype(ml_dtypes.bfloat16)"])

    def test_activations(self):
        a, b = self.save("a.npy", np.array([-3, -0.0, 0.5, np.nan], F32)), self.save("b.npy", F32(-0.0))
        for words, due in (
            ([], [-3, -0.0, 0.5, np.nan]),
            (["--activation", "relu"], [0, 0, 0.5, np.nan]),
            (["--activation", "leaky_relu", "--alpha", 0.5], [-1.5, -0.0, 0.5, np.nan]),
            (["--activation", "shrink", "--bias", 1, "--threshold", 2], [-2, 0, 0, 0]),
            (["--activation", "clip", "--min=-1", "--max", "inf"], [-1, -0.0, 0.5, np.nan]),
        ):
            self.assert_same(self.compute("add1", a, b, *words), np.array(due, F32), str(words))
        self.refuse("add1", a, b, "--activation", "leaky_relu",
                    says="--alpha: is missing; --activation leaky_relu needs it")
        self.refuse("add1", a, b, "--activation", "leaky_relu", "--alpha", "x",
                    says="--alpha: 'x' is not a number")
        self.refuse("add1", a, b, "--activation", "relu", "--alpha", 1, code=1,
                    says="alpha is not 0, but activation RELU does not have it")
        self.refuse("add1", a, b, "--activation", "tanh", code=1,
                    says="activation TANH is not supported")
        self.refuse("add1", a, b, "--activation", "clip", "--min", 0, "--max", 1,
                    "--feature-level", "6.4", code=1,
                    says="activation CLIP needs feature level hewn")

    def test_broadcasting(self):
        for a_shape, b_shape in [((3, 4), (4,)), ((3, 1), (1, 4)), ((), (2, 3)), ((5,), ()),
                                 ((2, 1, 3, 1), (4, 1, 5)),
                                 ((1,) * 8, (2, 1, 2, 1, 2, 1, 2, 3)), ((2, 0, 3), (1, 3)),
                                 ((0,), (1,))]:
            a, b = sample(self.rng, a_shape, "f4"), sample(self.rng, b_shape, "f4")
            self.assert_same(self.compute("add", self.save("a.npy", a), self.save("b.npy", b)),
                             np.asarray(a + b), f"{a_shape} {b_shape}")

    def test_numbers(self):
        """One operand may be a number. It gets the other operand's type."""
        for kind, numbers in [("f4", ["1.5", "-0.25", "1e-3", "0.1", "nan"]),
                              ("f2", ["1.5", "0.1"]), ("i1", ["-128", "127", "+3"]),
                              ("u1", ["255", "0"]),
                              ("i8", [str(2**63 - 1), str(-2**63)]), ("u8", [str(2**64 - 1)])]:
            x = sample(self.rng, (2, 3), kind)
            file = self.save("x.npy", x)
            for number in numbers:
                value = np.array(float(number) if kind[0] == "f" else int(number)).astype(kind)
                with np.errstate(all="ignore"):
                    self.assert_same(self.compute("add", file, number), x + value, number)
                    self.assert_same(self.compute("add", number, file), value + x, number)
        x = np.ones(3, F32)
        for arguments in [["--", file, "-inf"], ["--", "-inf", file]]:
            self.succeed("add", "-o", self.path("out.npy"),
                         *[self.save("x.npy", x) if part is file else part for part in arguments])
            self.assert_same(np.load(self.path("out.npy")), x - F32(np.inf))
        for kind, number, says in [("i4", "1.5", "1.5 is not an integer"),
                                   ("u1", "256", "256 is outside u8's range 0..255"),
                                   ("u1", "-1", "outside u8's range"),
                                   ("f2", "70000", "too large for f16"),
                                   ("f4", "1e-50", "too small for f32"),
                                   ("f4", "1e39", "too large")]:
            file = self.save("x.npy", np.ones(3, kind))
            self.refuse("add", file, number, says=["B: ", says])
            self.refuse("add", number, file, says=["A: ", says])
        self.refuse("add", 1, 2.5, says=["1 and 2.5 are both numbers", "one must be a file"])

    def test_fortran_order(self):
        for shape in [(3, 5), (2, 3, 4), (4, 1, 3, 2), (17, 33)]:
            a, b = np.asfortranarray(sample(self.rng, shape, "i4")), sample(self.rng, shape, "i4")
            self.assertIn(b"'fortran_order': True", read(self.save("a.npy", a)))
            self.assert_same(self.compute("add", self.path("a.npy"), self.save("b.npy", b)), a + b,
                             str(shape))

    def test_header_versions_and_spellings(self):
        data = np.arange(6, dtype="<i4")
        for version, header in [
            ((1, 0), "{'descr': '<i4', 'fortran_order': False, 'shape': (6,), }\n"),
            ((2, 0), "{'descr': '<i4', 'fortran_order': False, 'shape': (6,), }\n"),
            ((3, 0), "{'descr': '<i4', 'fortran_order': False, 'shape': (6,), }\n"),
            # Keys in any order, no comma, no newline.
            ((1, 0), "{'shape': (6,), 'fortran_order': False, 'descr': '<i4'}"),
            ((1, 0), '{"descr": "<i4", "fortran_order": False, "shape": (6L,)}\n'),  # Python 2
            ((1, 0), "{ 'descr' :'<i4','fortran_order':False , 'shape':( 6 , ) , }  \n"),
            ((1, 0), "{'descr': '=i4', 'fortran_order': False, 'shape': (6,\n), \n}\n"),
        ]:
            file = self.write("a.npy", make_npy(header, data.tobytes(), version))
            self.assert_same(self.compute("add", file, file), data + data, header)
        for order in "<>=|":  # a type of one byte has no order
            file = self.write("a.npy",
                              make_npy(f"{{'descr': '{order}u1', 'fortran_order': False, "
                                       "'shape': (3,)}", b"abc"))
            self.assert_same(self.compute("add", file, file), 2 * np.frombuffer(b"abc", "u1"))

    def test_output_reads_back_and_is_aligned(self):
        a = self.save("a.npy", np.ones((3, 4), "u1"))
        self.compute("add", a, a)
        data = read(self.path("out.npy"))
        self.assertEqual((len(data) - 12) % 64, 0)
        self.assertIn(b"'|u1'", data)

    def test_more_than_a_chunk(self):
        """Files are read and written 16 MiB at a time."""
        a = self.rng.integers(0, 256, (2 << 24) + 5, dtype="u1")
        self.assert_same(self.compute("add", self.save("a.npy", a),
                                      self.save("b.npy", np.ones(1, "u1"))), a + np.uint8(1))

    def test_output_may_be_an_input(self):
        a = np.arange(5, dtype="f4")
        self.save("a.npy", a)
        self.assert_same(self.compute("add", self.path("a.npy"), self.path("a.npy"), out="a.npy"),
                         a + a)

    def test_output_name_as_long_as_a_file_may_have(self):
        a = np.arange(5, dtype="f4")
        self.save("a.npy", a)
        self.assert_same(self.compute("add", self.path("a.npy"), self.path("a.npy"),
                                      out="o" * 251 + ".npy"), a + a)

    def test_who_lacks_what_a_target_needs(self):
        for target in json.loads(self.succeed("info", "--json").stdout)["targets"]:
            if target["supported"]:
                continue
            who = "this CPU or its system" if target["device"] == "cpu" else "this machine"
            self.assertIn(
                f"HEWN_VARIANT={target['name']} cannot run here: {who} lacks {target['missing']}",
                          self.succeed("info", HEWN_VARIANT=target["name"]).stdout)

    def test_variants_and_threads(self):
        a, b = sample(self.rng, (257, 129), "f4"), sample(self.rng, (129,), "f4")
        self.save("a.npy", a), self.save("b.npy", b)
        for target in cpu_targets(json.loads(self.succeed("info", "--json").stdout), "add_f32"):
            arguments = ["add", self.path("a.npy"), self.path("b.npy")]
            for name in [target["name"], "add_f32__" + target["name"]]:
                if not target["supported"]:
                    self.refuse(*arguments, "--variant", name,
                                says=["cannot run here", target["missing"]], code=1)
                    print(f"skipped: {name}: this machine lacks {target['missing']}")
                    continue
                for threads in [0, 1, 3]:
                    self.assert_same(self.compute(*arguments, "--variant", name, "--threads",
                                                  threads), a + b, name)
                result = self.succeed(*arguments, "-o", self.path("out.npy"), HEWN_VARIANT=name)
                self.assertIn("add_f32__" + target["name"], result.stdout)

    def test_devices(self):
        a, b = self.save("a.npy", sample(self.rng, (37, 129),
                                         "f4")), self.save("b.npy", sample(self.rng, (129,), "f4"))
        q = self.save("q.npy", sample(self.rng, (37, 129), "u1"))
        scales = self.save("s.npy", np.linspace(0.5, 2, 37).astype("f4"))
        commands = [["add", a, b], ["quantize", a, "--scale", 0.25, "--zero-point", 3, "--type",
                                    "i8"],
                    ["dequantize", q, "--scale", scales, "--axis", 0, "--zero-point", 7],
                    ["qadd", q, q, "--a-scale", 0.5, "--b-scale", 0.25, "--b-zero-point", 9,
                     "--scale", 0.75],
                    ["qmul", q, q, "--a-scale", 0.5, "--b-scale", 0.25, "--b-zero-point", 9,
                     "--scale", 6.5],
                    ["requantize", q, "--input-scale", 0.5, "--scale", 0.75, "--type", "i16"]]
        self.assert_same(self.compute(*commands[0], "--device", "cpu"), self.compute(*commands[0]))
        info = json.loads(self.succeed("info", "--json").stdout)
        built = {target["device"] for target in info["targets"]}
        for device in info["devices"]:
            if device["missing"]:
                continue
            if device["device"].split(":")[0] not in built:  # a build with HEWN_TARGETS=cpu
                self.refuse(*commands[0], "--device", device["device"],
                            says="has no kernel add_f32", code=1)
                continue
            first = self.run_hewn(*commands[0], "-o", self.path("out.npy"), "--device",
                                  device["device"])
            # PoCL compiles nothing if its LLVM is older than the CPU.
            if "unknown target CPU 'generic'" in first.stderr:
                continue
            for arguments in commands:
                self.assert_same(self.compute(*arguments, "--device", device["device"]),
                                 self.compute(*arguments), device["name"])
            self.assertIn(device["name"], self.succeed("info").stdout)
            self.refuse(*commands[0], "--device", device["device"], "--variant",
                        cpu_targets(info)[0]["name"], says=["cannot run here", "the CPU"], code=1)
            # A kind without an index means its first GPU. For OpenCL it may be software on the CPU.
            kind = device["device"].split(":")[0]
            if kind == "d3d12" and all(other["is_cpu"] or other["missing"]
                                       for other in info["devices"]
                                       if other["device"].startswith(kind)):
                self.refuse(*commands[0], "--device", kind,
                            says=["there is no GPU", device["name"]], code=1)
            else:
                self.assert_same(self.compute(*commands[0], "--device", kind),
                                 self.compute(*commands[0]), kind)
        for device, says in [("cuda:99", "add: CUDA: "), ("opencl:99", "add: OpenCL: "),
                             ("cpu:1", "add: CPU: there is one device")]:
            self.refuse(*commands[0], "--device", device, says=says, code=1)
        for device in ["gpu", "cuda:", "cuda:-1", "opencl:x", "cuda:1x", "opencl:4294967295",
                       "CPU"]:
            self.refuse(*commands[0], "--device", device, says=["--device: " + device], code=2)

    def test_progress(self):
        a = self.save("a.npy", np.zeros(100, "f4"))
        result = self.succeed("--progress", "add", a, a, "-o", self.path("out.npy"))
        for step in ["reading", "computing", "writing"]:
            self.assertIn(f"hewn: {step} ", result.stderr)
        self.assertIn("100 %", result.stderr)
        self.assertIn("100 %", self.succeed("add", a, a, "-o", self.path("out.npy"),
                                            "--progress").stderr)
        self.assertEqual(self.succeed("add", a, a, "-o", self.path("out.npy")).stderr, "")


if __name__ == "__main__":
    cli.main()
