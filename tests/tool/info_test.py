#!/usr/bin/env python3
"""Tests of `hewn info`, --version and --help."""

import json
import os
import re

import cli
import numpy as np
from cli import F32, SOURCE_DIR, CliTest, cpu_targets, read


class InfoTest(CliTest):
    def test_version_and_help(self):
        header = read(os.path.join(SOURCE_DIR, "include", "hewn", "hewn.h")).decode()
        version = ".".join(header.split(f"HEWN_VERSION_{part} ")[1].split()[0]
                           for part in ["MAJOR", "MINOR", "PATCH"])
        self.assertEqual(self.succeed("--version").stdout, f"hewn {version}\n")
        self.assertEqual(json.loads(self.succeed("info", "--json").stdout)["version"], version)
        for command in [[], ["info"], ["add"], ["add1"], ["quantize"], ["dequantize"], ["qadd"], ["qmul"],
                        ["requantize"], ["dynamic"], ["dml-quantize"], ["dml-dequantize"],
                        ["conformance"], ["verify"], ["replay"]]:
            text = self.succeed(*command, "--help").stdout
            self.assertIn(" ".join(["hewn", *command]), text)
            self.assertIn("Exit code", text)

    def test_only_what_needs_a_gpu_loads_its_driver(self):
        """Most commands load no driver: that takes long, and a broken driver can end the
        program."""
        def drivers(*arguments):
            # The loader of glibc prints to stderr which libraries it looks for.
            result = self.succeed(*arguments, LD_DEBUG="files")
            return re.findall(r"lib(?:OpenCL|cuda)\.so", result.stderr)

        if not drivers("info"):
            self.skipTest("no drivers are looked for, or the loader does not tell")
        x = self.save("x.npy", np.ones(3, F32))
        for arguments in [["--version"], ["--help"], ["--man"], ["verify", "--help"],
                          ["quantize", x, "--scale", "1", "-o", self.path("q.npy")],
                          ["add", x, x, "--threads", "2", "-o", self.path("y.npy")]]:
            self.assertEqual(drivers(*arguments), [], arguments)

    def test_json(self):
        info = json.loads(self.succeed("info", "--json").stdout)
        names = [variant["name"] for variant in info["variants"]]
        self.assertEqual(len(names), len(set(names)))
        kernels = {target["name"]: set() for target in info["targets"]}
        for variant in info["variants"]:
            kernels[variant["target"]].add((variant["operator"], variant["signature"]))
        everything = kernels[cpu_targets(info)[0]["name"]]
        for target in info["targets"]:  # one may leave kernels to another
            self.assertTrue(kernels[target["name"]] and kernels[target["name"]] <= everything,
                            target["name"])
        best = {}  # targets ascend in priority
        for target in cpu_targets(info):
            best.update({kernel: target["name"] for kernel in kernels[target["name"]]
                         if target["supported"]})
        # On a Zen 4, AVX2 computes some kernels in place of AVX-512. forcing_test.cpp checks which.
        for variant in info["variants"]:
            kernel = variant["operator"], variant["signature"]
            if variant["picked"] and (variant["target"],
                                      best[kernel]) == ("x86_64_avx2", "x86_64_avx512"):
                best[kernel] = variant["target"]
        for variant in info["variants"]:
            self.assertEqual(set(variant), {"name", "operator", "signature", "target", "supported",
                                            "picked"})
            self.assertEqual(variant["name"],
                             f"{variant['operator']}_{variant['signature']}__{variant['target']}")
            self.assertEqual(variant["picked"],
                             variant["target"] == best[variant["operator"], variant["signature"]])
        picked = list(best.values())
        self.assertEqual({target["name"] for target in info["targets"] if target["picked"]},
                         set(picked))
        self.assertEqual(info["picked"], max(set(picked), key=picked.count))

    def test_forced(self):
        lowest = json.loads(self.succeed("info", "--json").stdout)["targets"][0]["name"]
        info = json.loads(self.succeed("info", "--json", HEWN_VARIANT=lowest).stdout)
        self.assertEqual(info["picked"], lowest)
        self.assertIn("HEWN_VARIANT", info["reason"])
        picked = {}  # for each kernel, the variant of the best target so far
        for target in cpu_targets(json.loads(self.succeed("info", "--json").stdout)):
            if not target["supported"]:
                continue
            info = json.loads(self.succeed("info", "--json", HEWN_VARIANT=target["name"]).stdout)
            picked.update({(variant["operator"], variant["signature"]): variant["name"]
                           for variant in info["variants"] if variant["target"] == target["name"]})
            self.assertEqual({variant["name"] for variant in info["variants"]
                              if variant["picked"]}, set(picked.values()), target["name"])
            self.assertEqual(info["picked"], target["name"])
        self.assertIsNotNone(json.loads(self.succeed("info", "--json",
                                                     HEWN_VARIANT="").stdout)["picked"])
        # A variable that is not valid text does not break the JSON.
        json.loads(self.succeed("info", "--json", HEWN_VARIANT=os.fsdecode(b"\xff")).stdout)
        info = json.loads(self.succeed("info", "--json", HEWN_VARIANT="nonsense").stdout)
        self.assertIsNone(info["picked"])
        self.assertFalse(any(variant["picked"] for variant in info["variants"]))

    def test_text(self):
        info = json.loads(self.succeed("info", "--json").stdout)
        text = self.succeed("info").stdout
        for target in info["targets"]:
            self.assertIn(target["name"], text)
            self.assertIn(target["missing"], text)
        lines = iter(text.splitlines())
        reasons = {line.split()[0]: next(lines).partition("picked")[2]
                   for line in lines if "  priority " in line}
        above = set()  # kernels of targets that run here, from the highest priority down
        for target in reversed(cpu_targets(info)):
            variants = [variant for variant in info["variants"]
                        if variant["target"] == target["name"]]
            overtakes = [variant["picked"] and (variant["operator"], variant["signature"]) in above
                         for variant in variants]
            for because, expected in [("faster on this chip", any(overtakes)),
                                      ("the highest priority",
                                       any(variant["picked"] and not o
                                           for variant, o in zip(variants, overtakes)))]:
                self.assertEqual(because in reasons[target["name"]], expected,
                                 f"{target['name']} {reasons[target['name']]}")
            if target["supported"]:
                above.update((variant["operator"], variant["signature"]) for variant in variants)

    def test_licenses(self):
        text = self.succeed("info", "--licenses").stdout
        for name in ["LICENSE", "THIRD_PARTY.md"]:
            self.assertIn(read(os.path.join(SOURCE_DIR, name)).decode(), text)


if __name__ == "__main__":
    cli.main()
