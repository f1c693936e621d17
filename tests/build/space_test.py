#!/usr/bin/env python3
"""The tuner's spaces and recorded measurements: space_test.py BUILD-FOLDER [unittest arguments]"""

import concurrent.futures
import pathlib
import shutil
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tools/tune"))
import hewn_tune  # noqa: E402
import jobs  # noqa: E402
import kernels  # noqa: E402
from hewn_tune import space as spaces  # noqa: E402

BUILD = None


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)


class SpaceTest(Folder):
    def test_what_a_space_has(self):
        small = hewn_tune.Space("k", {"tail": ["masked", "packed"], "width": [0, 8, 16]},
                                ["tail != 'packed' or width == 16"])
        self.assertEqual(list(small.configurations()),
                         [{"tail": "masked", "width": width} for width in (0, 8, 16)]
                         + [{"tail": "packed", "width": 16}])
        self.assertEqual(len(small), 4)
        self.assertTrue(small.valid({"tail": "packed", "width": 16}))
        for wrong in [{"tail": "packed", "width": 8}, {"tail": "masked", "width": 9},
                      {"tail": "masked"}, {"tail": "masked", "width": 8, "x": 1}]:
            self.assertFalse(small.valid(wrong), wrong)
        with self.assertRaisesRegex(ValueError, "has {'vector'}, which is no knob"):
            hewn_tune.Space("k", {"tail": ["masked"]}, ["vector > 1"])
        for text in ("__import__('os')", "tail.x == 1", "[t for t in (1,)]", "(lambda: 1)()"):
            with self.assertRaisesRegex(ValueError, "comparisons and arithmetic of knobs alone"):
                hewn_tune.Space("k", {"tail": ["masked"]}, [text])

    def test_t1_files_are_read_as_they_were_written(self):
        for kernel in BUILD.kernels + BUILD.gpu_kernels:
            space, path = spaces.of_kernel(BUILD, kernel), self.folder / "T1.json"
            hewn_tune.write_t1(space, 65536, path)
            again = hewn_tune.read_t1(path)
            for member in ("kernel", "parameters", "default", "meanings"):
                self.assertEqual(getattr(again, member), getattr(space, member), kernel.name)
            self.assertEqual(again.t1(), space.t1())
            self.assertTrue(space.valid(space.default), f"{kernel.name}: {space.default}")
            self.assertTrue(all(space.meanings.values()))
            self.assertTrue(set(BUILD.by_hand).isdisjoint(space.parameters))

    def test_generators_refuse_what_the_conditions_exclude(self):
        """Of each form one signature: all values of the knobs that a condition names."""
        forms = {(k.operator, k.form, "__arm64_" in k.variant): k for k in BUILD.kernels
                 if k.form != "plan"}
        runs = []
        for kernel in forms.values():
            space = spaces.of_kernel(BUILD, kernel)
            names = {"tail"}.union(*(condition.names for condition in space.conditions))
            runs += [(kernel, space, {**space.default, name: value})
                     for name in sorted(names) for value in space.parameters[name]]

        def refusal(run):
            kernel, _, config = run
            with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
                try:
                    jobs.generate(BUILD, kernel, kernels.knob_tuple(config), scratch, None, ())
                except jobs.Refused as refused:
                    return str(refused)

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            refusals = list(pool.map(refusal, runs))
        self.assertGreater(len(runs), 4)
        self.assertGreater(sum(map(bool, refusals)), 0)
        for (kernel, space, config), why in zip(runs, refusals):
            self.assertEqual(why is None, space.valid(config), f"{kernel.name} {config}: {why}")


if __name__ == "__main__":
    BUILD = kernels.Build(sys.argv.pop(1))
    unittest.main(argv=sys.argv)
