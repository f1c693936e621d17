#!/usr/bin/env python3
"""The tuner on real kernels: tune_test.py BUILD-FOLDER [unittest arguments]"""

import dataclasses
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

import numpy as np

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "tools/tune"))
import autoschedulers  # noqa: E402
import jobs  # noqa: E402
import kernels  # noqa: E402
import search  # noqa: E402

BUILD = None


def kernel_named(operator, signature, form):
    """The form that dispatch picks on this machine. Skips the test where the build lacks the kernel, and only there."""
    if (operator, signature) not in {(k.operator, k.signature) for k in BUILD.kernels}:
        raise unittest.SkipTest(f"this build has no {operator}_{signature}")
    chosen = kernels.picked(BUILD, *kernels.this_machine(BUILD))
    return next(k for k in chosen if (k.operator, k.signature, k.form) == (operator, signature, form))


class CountingEngine(jobs.LocalEngine):
    """Counts what is built; builds `wrong` knobs from another signature: a kernel that computes something else."""

    def __init__(self, wrong=None):
        super().__init__(1)
        self.wrong, self.built, self.measured = wrong, [], []

    def build_all(self, calls):
        self.built += [call[2] for call in calls]
        return super().build_all([(*call, "i32") if call[2] == self.wrong else call for call in calls])

    def measure(self, *arguments):
        result = super().measure(*arguments)
        self.measured.append((arguments[2], result))
        return result


def small_search(engine, folder, report=lambda text: None):
    tuning = search.Search(BUILD, kernel_named("add", "f32", "general"), engine, folder, report=report)
    tuning.candidates = lambda: [knobs for knobs in small_space() if knobs != tuning.incumbent]
    return tuning


def small_space():
    return [kernels.knob_tuple({"tail": tail, "vector": vector, "width": 0}) for vector in (1, 2, 4, 8)
            for tail in ("masked", "shifted", "stepped")]


class TunerTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def test_wrong_candidate_is_caught_and_never_timed(self):
        wrong = kernels.knob_tuple({"tail": "stepped", "vector": 8, "width": 0})
        engine = CountingEngine(wrong)
        tuning = small_search(engine, self.folder)
        outcome = tuning.run(time.monotonic() + 3600)
        entry = tuning.cache.get(wrong)
        self.assertEqual(entry["status"], "wrong", entry)
        self.assertIn("differ from the reference", entry["message"])
        self.assertNotIn("gain", entry)
        for libraries, result in engine.measured:
            for i, library in enumerate(libraries):
                if library != tuning.library(wrong):
                    continue
                for problem in result["problems"]:
                    self.assertIsNone(problem["ns"][i])
        self.assertNotIn(wrong, [f["knobs"] for f in outcome["finalists"]])
        # What the generator itself refuses is no fault of the run: ADD may stand in place of an input.
        refused = [e for e in outcome["tried"] if e["status"] == "refused"]
        self.assertEqual({dict(map(tuple, e["knobs"]))["tail"] for e in refused}, {"shifted"})
        self.assertIn("computes elements twice", refused[0]["message"])
        self.assertEqual(len(outcome["tried"]), len(tuning.candidates()))

    def test_wrong_incumbent_ends_the_run(self):
        engine = CountingEngine()
        tuning = small_search(engine, self.folder)
        engine.wrong = tuning.incumbent
        with self.assertRaisesRegex(RuntimeError, "present knobs are wrong .bits.: .* differ from the reference"):
            tuning.run(time.monotonic() + 3600)

    def test_crashing_candidate_is_left_out(self):
        kernel = kernel_named("add", "f32", "general")
        good = str(self.folder / "good.so")
        jobs.build_candidate(BUILD, kernel, kernel.knobs, good)
        (self.folder / "crash.c").write_text("__attribute__((constructor)) static void die(void) { __builtin_trap(); }")
        bad = str(self.folder / "crash.so")
        subprocess.run([BUILD.cc, "-shared", "-fPIC", "-o", bad, self.folder / "crash.c"], check=True)
        result = jobs.measure(BUILD, kernel, [good, bad, good], "local", jobs.Problems(("dense",), (16, 1000)), 2, 50)
        self.assertEqual([l["fault"] for l in result["libraries"]], ["", "crash", ""])
        for problem in result["problems"]:
            self.assertIsNone(problem["ns"][1])
            self.assertEqual(len(problem["ns"][2]), 2)

    def test_killed_run_resumes(self):
        child = subprocess.Popen([sys.executable, __file__, str(BUILD.folder), "--search", str(self.folder)])
        cache = next(iter(small_search(CountingEngine(), self.folder).cache.path.parents)) / "candidates.jsonl"
        while not (cache.exists() and cache.read_text().count("\n") >= 3):
            self.assertIsNone(child.poll(), "the run ended before it could be killed")
            time.sleep(0.02)
        child.send_signal(signal.SIGKILL)
        child.wait()
        with cache.open("a") as file:
            file.write('{"key": "cut o')  # the kill came while a line was written
        engine = CountingEngine()
        tuning = small_search(engine, self.folder)
        known = len(tuning.cache.known)
        self.assertGreaterEqual(known, 3)
        outcome = tuning.run(time.monotonic() + 3600)
        total = len(tuning.candidates())
        self.assertEqual(len(outcome["tried"]), total)
        searched = [knobs for knobs in engine.built if knobs != tuning.incumbent]
        self.assertEqual(len(searched), total - known)
        # Nothing is built or screened again once all is known, unless a finalist's library is gone.
        again = CountingEngine()
        small_search(again, self.folder).run(time.monotonic() + 3600)
        self.assertEqual(again.built, [tuning.incumbent])

    def test_adopts_only_what_is_faster_beyond_noise(self):
        rng = np.random.default_rng(0)

        def outcome(gain, slower_at=None):
            tuning = small_search(CountingEngine(), self.folder / str(gain))
            entry = {"status": "timed", "gain": gain, "knobs": small_space()[0]}

            def measured(libraries, rounds):
                base = rng.normal(100, 1, (len(search.GUARDED + search.DECIDING), rounds))
                problems = [{"layout": "dense", "elements": n, "threads": 1, "bytes": 12 * n, "ns": [list(old), list(rng.normal(
                    100 * (1.2 if n == slower_at else 1 / gain), 1, rounds))]}
                    for n, old in zip(search.GUARDED + search.DECIDING, base)]
                return {"libraries": [{"fault": ""}] * 2, "problems": problems}

            tuning.measure = measured
            return tuning.finals([entry], "grid")

        self.assertIsNotNone(outcome(1.10)["adopted"])
        self.assertIsNone(outcome(1.015)["adopted"])
        self.assertIsNone(outcome(0.9)["adopted"])
        guarded = outcome(1.10, slower_at=16)
        self.assertIsNone(guarded["adopted"])
        self.assertEqual(guarded["finalists"][0]["slower_at"], [16])
        self.assertIsNotNone(outcome(3.0, slower_at=16)["adopted"])  # a sixth of a call of 16, for three times the speed

    def test_a_winner_has_to_win_again(self):
        tuning = small_search(CountingEngine(), self.folder)
        gains = iter([1.2, 1.0])

        def measured(libraries, rounds):
            gain = next(gains)
            return {"libraries": [{"fault": ""}] * 2, "problems": [
                {"layout": "dense", "elements": n, "threads": 1, "bytes": n, "ns": [[100.0] * rounds, [100.0 / gain] * rounds]}
                for n in search.GUARDED + search.DECIDING]}

        tuning.measure = measured
        self.assertIsNone(tuning.finals([{"status": "timed", "gain": 1.2, "knobs": small_space()[0]}], "grid")["adopted"])

    def test_knobs_of_the_same_code_are_measured_once(self):
        engine = CountingEngine()
        tuning = small_search(engine, self.folder)
        twins = [kernels.knob_tuple({"tail": "masked", "vector": vector, "width": 64 // vector}) for vector in (1, 2, 4)]
        engine.build_all([tuning.call(tuning.incumbent)])
        first, *rest = tuning.screen(twins)
        self.assertEqual(first["status"], "timed")
        self.assertEqual([(e["status"], e["gain"]) for e in rest], [("same", first["gain"])] * 2)
        self.assertIn("the code of " + kernels.knob_text(twins[0]), rest[0]["message"])
        self.assertEqual([len(libraries) for libraries, _ in engine.measured], [2])

    def test_comparison_with_other_tuning_files(self):
        kernel = next(k for k in BUILD.kernels if (k.operator, k.signature, k.form) == ("add", "f32", "general"))
        family = kernel.family(SOURCE / "tuning")
        with self.assertRaisesRegex(RuntimeError, f"{self.folder} has no tuning file of {kernel.target}"):
            autoschedulers.compare(BUILD, kernel, "local", self.folder / "w", self.folder)

        def write(name, tail, **more):
            (self.folder / f"{name}.json").write_text(json.dumps({"knobs": {"add": {"general": {"tail": tail}}, **more}}))

        # Values of the signature are before those of the operator, a target's own file before its family's; what neither has is the default.
        knobs = lambda: dict(BUILD.default_knobs(kernel, self.folder))
        defaults = {name: values[0] for name, values in BUILD.spaces["kernel"].items()}
        write(family, "stepped")
        self.assertEqual(knobs(), {**defaults, "tail": "stepped"})
        write(family, "stepped", add_f32={"general": {"vector": 8}})
        self.assertEqual(knobs(), {**defaults, "tail": "stepped", "vector": "8"})
        write(family, "stepped", add_f32={"general": {"tail": "masked"}})
        self.assertEqual(knobs(), {**defaults, "tail": "masked"})
        write(kernel.target, "shifted")
        self.assertEqual(knobs(), {**defaults, "tail": "shifted"})

        # Slower only if it is so twice.
        speeds = iter([[1.0, 2.0, 1.0], [1.0, 2.0, 2.0]])

        def measure(build, kernel, libraries, runner, problems, rounds, sample_us=200, check=()):
            self.assertEqual(problems.elements, autoschedulers.SIZES if not check else autoschedulers.ELEMENTS)
            slowness = [1.0] * 6 if check else [0.5, *next(speeds), 0.5, 0.5]
            names = [pathlib.Path(library).stem for library in libraries]
            breaks = lambda name: "tails" if name == "li2018" and "--whole" not in check else "bits" if name == "adams2019" else ""
            return {"libraries": [{"fault": breaks(name), "message": "so"} for name in names], "problems": [
                {"layout": "dense", "elements": n, "threads": 1, "bytes": n, "ns": [[100.0 * (slow if name == "present" else 1.0)] * 40 for name in names]}
                for n, slow in zip(problems.elements, slowness)]}

        def build(build, kernel, knobs, library, signature, arguments):
            if "shifted" in dict(knobs).values():
                raise jobs.Refused("ADD computes elements twice")
            library.parent.mkdir(exist_ok=True)
            shutil.copy(BUILD.tune_runner, library)
            return repr(knobs) + repr(arguments)

        with unittest.mock.patch.object(autoschedulers, "measure", measure), unittest.mock.patch.object(autoschedulers, "build_candidate", build):
            compared = autoschedulers.compare(BUILD, dataclasses.replace(kernel, knobs=()), "local", self.folder / "w", self.folder)
            self.assertEqual(compared["sizes"], [])  # the others are refused
            text = "\n".join(autoschedulers.table(compared))
            self.assertIn("not built: ADD computes elements twice", text)
            self.assertIn("present / default: not compared", text)
            write(kernel.target, "stepped")
            compared = autoschedulers.compare(BUILD, dataclasses.replace(kernel, knobs=()), "local", self.folder / "w", self.folder)
            same = autoschedulers.compare(BUILD, dataclasses.replace(kernel, knobs=(("tail", "stepped"),)), "local", self.folder / "w", self.folder)
        self.assertEqual([row["slower"] for row in compared["sizes"]], [False, False, True, False, False, False])
        self.assertEqual([row["gain"][0] for row in compared["sizes"]], [2.0, 1.0, 0.5, 1.0, 2.0, 2.0])
        text = "\n".join(autoschedulers.table(compared))
        self.assertEqual((text.count("SLOWER"), same["sizes"]), (1, []))
        self.assertIn("present / default: the same code", "\n".join(autoschedulers.table(same)))
        rows = {row["name"]: row for row in compared["rows"]}
        self.assertEqual({name: row["fault"] for name, row in rows.items()}, {"present": "", "default": "", "mullapudi2016": "", "adams2019": "breaks bits: so",
                                                                              "li2018": "breaks row ends: so"})
        self.assertEqual({name for name, row in rows.items() if "gain" not in row}, {"adams2019"})
        self.assertEqual({row["bytes"] for row in rows.values()}, {0})
        self.assertEqual(list((self.folder / "w").rglob("*.so")), [])

    def test_plan_candidates(self):
        kernel = kernel_named("add", "f32", "plan")
        tuning = search.Search(BUILD, kernel, CountingEngine(), self.folder, report=lambda text: None)
        defaults = {name: values[0] for name, values in BUILD.spaces["plan"].items()}
        tuning.problems = jobs.Problems(("dense",), (16, 1 << 20), (1, 0))
        tuning.candidates = lambda: [kernels.knob_tuple({**defaults, "box_bytes": n, "stream_bytes": 8 << 20, "parallel_bytes": 262144})
                                     for n in (65536, 1 << 20)]
        outcome = tuning.run(time.monotonic() + 3600)
        self.assertEqual([e["status"] for e in outcome["tried"]], ["timed", "timed"])
        self.assertEqual([(p["elements"], p["threads"]) for p in outcome["finalists"][0]["GB/s"]], [(16, 1), (1 << 20, 1), (1 << 20, 0)])

    def test_knobs_by_hand_stay(self):
        kernel = kernel_named("add", "f32", "plan")
        start = {"reciprocal_elements": "512", "slices_per_cpu": "2"}
        tuning = search.Search(BUILD, kernel, CountingEngine(), self.folder, report=lambda text: None, start=kernels.knob_tuple(start))
        candidates = [dict(knobs) for knobs in tuning.candidates()]
        self.assertEqual({knobs["reciprocal_elements"] for knobs in candidates}, {"512"})
        self.assertEqual({knobs["slices_per_cpu"] for knobs in candidates}, set(BUILD.spaces["plan"]["slices_per_cpu"]))

    def test_auto_tunes_what_dispatch_picks(self):
        ranks = {"x86_64_avx2": 20, "x86_64_avx512": 30, "x86_64_avx512_vnni": 40}
        if not set(ranks) <= {kernel.target for kernel in BUILD.kernels} or "add" not in {kernel.operator for kernel in BUILD.kernels}:
            self.skipTest("not all of them were built")
        wanted = {"add": "x86_64_avx512", "quantized_linear_add": "x86_64_avx512_vnni"}
        picked = kernels.picked(BUILD, ranks)
        for operator, target in wanted.items():
            self.assertEqual({kernel.target for kernel in picked if kernel.operator == operator}, {target})
        left = {key for key, rank in BUILD.ranks_in_halves.items() if rank}
        for kernel in kernels.picked(BUILD, ranks, in_halves=True):
            key = kernel.operator, kernel.signature
            wanted = "x86_64_avx512_vnni" if kernel.operator == "quantized_linear_add" else "x86_64_avx512"
            self.assertEqual(kernel.target, "x86_64_avx2" if (*key, wanted) in left else wanted, key)
        del ranks["x86_64_avx512_vnni"]
        self.assertEqual({kernel.target for kernel in kernels.picked(BUILD, ranks)}, {"x86_64_avx512"})

    def test_this_machine(self):
        ranks, in_halves = kernels.this_machine(BUILD)
        info = json.loads(subprocess.run([BUILD.folder / "bin/hewn", "info", "--json"], capture_output=True, check=True).stdout)
        self.assertEqual(ranks, {target["name"]: target["rank"] for target in info["targets"] if target["supported"]})
        picked = {f"{k.operator}_{k.signature}__{k.target}" for k in kernels.picked(BUILD, ranks, in_halves) if k.form != "plan"}
        if not os.environ.get("HEWN_VARIANT"):
            cpu = {target["name"] for target in info["targets"] if target["device"] == "cpu"}
            self.assertEqual(picked, {v["name"] for v in info["variants"] if v["picked"] and v["target"] in cpu})
        nowhere = kernels.Build(BUILD.folder)
        nowhere.folder = self.folder
        with self.assertRaisesRegex(RuntimeError, "the targets of .*libhewn.so cannot be read: .*No such file"):
            kernels.this_machine(nowhere)

    def test_a_run_of_several_kernels_goes_on(self):
        path = self.folder / "run.json"
        search.Journal(path, "key").finish("a", {"adopted": None}, 3)
        search.Journal(path, "key").finish("b", {"adopted": None}, 4)
        self.assertEqual((search.Journal(path, "key").spent, set(search.Journal(path, "key").outcomes)), (7, {"a", "b"}))
        self.assertEqual((search.Journal(path, "another").spent, search.Journal(path, "another").outcomes), (0, {}))

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "no matplotlib: ./tune.sh --set-up installs it")
    def test_report(self):
        import report

        tuning = small_search(CountingEngine(), self.folder)
        tuning.candidates = lambda: small_space()[:3]
        outcome = tuning.run(time.monotonic() + 3600)
        row = {"knobs": tuning.incumbent, "seconds": 1.0, "fault": "", "code": "1", "bytes": 0, "gain": 1.0, "low": 0.9, "high": 1.1}
        size = {"layout": "dense", "threads": 1, "before": 1.0, "after": 0.5, "spread": 0.1, "slower": False}
        compared = {"kernel": outcome["kernel"],
                    "rows": [{**row, "name": "present"}, {**row, "name": "default"}, {**row, "name": "li2018", "fault": "breaks row ends"}],
                    "sizes": [{**size, "elements": 16, "gain": [1.2, 1.1, 1.3]}, {**size, "elements": 256, "gain": [0.5, 0.4, 0.6], "slower": True}]}
        report.write(self.folder / "report", {"chip": "<a chip>"}, tuned=[outcome])
        page = report.write(self.folder / "report", {"chip": "<another>"}, compared=[compared]).read_text()
        for entry in outcome["tried"]:
            self.assertIn(kernels.knob_text(entry["knobs"]), page)
        for text in ("&lt;a chip&gt;", "&lt;another&gt;", "computes elements twice", "breaks row ends",
                     f"{outcome['kernel']} (dense, 256 elements)", "anderson2021"):
            self.assertIn(text, page)
        pictures = re.findall(r"<img (?:loading=lazy )?src='?([^'>]*)", page)
        self.assertEqual(len(pictures), 4)
        for picture in pictures:
            self.assertEqual((self.folder / "report" / picture).read_bytes()[:4], b"\x89PNG")

    def test_runners_elsewhere(self):
        """ssh and adb with programs in their place, which do on this machine what those do on another."""
        tools = self.folder / "bin"
        tools.mkdir()
        device = self.folder / "device"
        scripts = {
            "ssh": 'shift; TMPDIR={device} exec sh -c "$*"',
            "scp": 'shift; for last; do :; done; while [ $# -gt 1 ]; do cp "$1" "${{last#*:}}"; shift; done',
            "adb": 'verb=$1; shift; if [ $verb = shell ]; then exec sh -c "$(echo "$*" | sed s:/data/local/tmp:{device}:g)"; fi\n'
                   'for last; do :; done; while [ $# -gt 1 ]; do cp "$1" "$(echo "$last" | sed s:/data/local/tmp:{device}:)"; shift; done'}
        device.mkdir()
        for name, script in scripts.items():
            (tools / name).write_text("#!/bin/sh\necho $0 >>{log}\n".format(log=self.folder / name) + script.format(device=device) + "\n")
            (tools / name).chmod(0o755)
        kernel = kernel_named("add", "f32", "general")
        library = self.folder / "present.so"
        jobs.build_candidate(BUILD, kernel, kernel.knobs, library)
        path = os.environ["PATH"]
        self.addCleanup(os.environ.update, PATH=path)
        os.environ["PATH"] = f"{tools}:{path}"
        for runner, calls in (("ssh:elsewhere", 3), ("adb", 3)):
            result = jobs.measure(BUILD, kernel, [str(library)], runner, jobs.Problems(("dense",), (16, 1000)), 2, 50)
            self.assertEqual([l["fault"] for l in result["libraries"]], [""])
            self.assertEqual([len(p["ns"][0]) for p in result["problems"]], [2, 2])
            self.assertGreaterEqual(len((self.folder / runner.partition(":")[0]).read_text().splitlines()), calls)
        self.assertEqual([p.name for p in device.iterdir()], ["hewn-tune"])  # ssh's folder is gone, adb's is made anew each time

    def test_adopted_values_are_what_the_next_build_reads(self):
        build = kernels.Build(BUILD.folder)
        build.tuning = self.folder
        text = (SOURCE / "tuning/x86_64.json").read_text()
        (self.folder / "x86_64.json").write_text(json.dumps({**json.loads(text), "tuned": {"add general": {"kept": {"chip": "a third"}}}}))
        kernel = next(k for k in build.kernels if k.operator == "add" and k.target.startswith("x86_64_"))
        path = self.folder / f"{kernel.target}.json"
        kernels.record(build, kernel, None, {"chip": "a chip"})
        self.assertFalse(path.exists())  # nothing changed: the family's file still serves
        kernels.record(build, kernel, kernels.knob_tuple({"tail": "stepped", "vector": 8, "width": 4}), {"chip": "a chip"})
        kernels.record(build, kernel, None, {"chip": "another"})
        document = json.loads(path.read_text())
        family = json.loads((SOURCE / "tuning/x86_64.json").read_text())
        key = f"add_{kernel.signature}"
        self.assertEqual(document["knobs"].pop(key), {"general": {"tail": "stepped", "vector": 8, "width": 4}})
        self.assertEqual(document["knobs"], family["knobs"])
        self.assertEqual((document["target"], document["halide"]), (kernel.target, build.halide))
        self.assertEqual(document["tuned"], {f"{key} general": {"adopted": {"chip": "a chip"}, "kept": {"chip": "another"}}})
        self.assertEqual(document["provenance"], ["the values of x86_64"])
        later = dataclasses.replace(kernel, target="x86_64_avx10_256")
        self.assertEqual(later.family(self.folder), "x86_64")
        (self.folder / "x86_64_avx10.json").write_text("{}")
        self.assertEqual(later.family(self.folder), "x86_64_avx10")
        self.assertEqual(build.default_knobs(kernel), kernels.knob_tuple({"tail": "stepped", "vector": 4, "width": 0}))


if __name__ == "__main__":
    BUILD = kernels.Build(sys.argv.pop(1))
    if "--search" in sys.argv:
        search.BATCH = 2
        small_search(CountingEngine(), sys.argv[-1]).run(time.monotonic() + 3600)
    else:
        unittest.main(argv=sys.argv)
