#!/usr/bin/env python3
"""Tests of the tuner's spaces and recorded measurements: space_test.py BUILD-FOLDER [unittest
arguments]"""

import concurrent.futures
import contextlib
import functools
import gzip
import importlib.util
import io
import json
import os
import pathlib
import pty
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
from random import Random

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tools/tune"))
import again  # noqa: E402
import autoschedulers  # noqa: E402
import hewn_tune  # noqa: E402
import jobs  # noqa: E402
import kernels  # noqa: E402
import machine  # noqa: E402
import numpy as np  # noqa: E402
import search  # noqa: E402
import tune_test  # noqa: E402
from hewn_tune import benchmark, results, space as spaces, strategies  # noqa: E402

BUILD = None


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)


class SpaceTest(Folder):
    def test_what_a_space_has(self):
        small = hewn_tune.Space("k", {"tail": ["masked", "narrowed"], "width": [0, 8, 16]},
                                ["tail != 'narrowed' or width == 16"])
        self.assertEqual(list(small.configurations()),
                         [{"tail": "masked", "width": width} for width in (0, 8, 16)]
                         + [{"tail": "narrowed", "width": 16}])
        self.assertEqual(len(small), 4)
        self.assertTrue(small.valid({"tail": "narrowed", "width": 16}))
        for wrong in [{"tail": "narrowed", "width": 8}, {"tail": "masked", "width": 9},
                      {"tail": "masked"}, {"tail": "masked", "width": 8, "x": 1}]:
            self.assertFalse(small.valid(wrong), wrong)
        with self.assertRaisesRegex(ValueError, "has {'vector'}, which is no knob"):
            hewn_tune.Space("k", {"tail": ["masked"]}, ["vector > 1"])
        for text in ("__import__('os')", "tail.x == 1", "[t for t in (1,)]", "(lambda: 1)()"):
            with self.assertRaisesRegex(ValueError, "comparisons and arithmetic of knobs alone"):
                hewn_tune.Space("k", {"tail": ["masked"]}, [text])

    def test_conditions_take_no_memory_without_bound(self):
        parameters = {"tail": ["masked", "narrowed"], "width": [0, 8]}
        for text in ("'a' * 4000000000 == tail", "(1,) * 4000000000", "width in [0] * 4000000000",
                     "'%4000000000d' % 1 == tail", "tail * 4000000000 == 'a'",
                     "width * (tail and 4000000000)", "'a' + 'b' == tail"):
            with self.assertRaisesRegex(ValueError, "calculate[sd] with"):
                hewn_tune.Space("k", parameters, [text])
        for text, why in (("width ==", "invalid syntax"), ("width ==" * 200, "1600 characters"),
                          ("(" * 500 + "width" + ")" * 400, "condition"),
                          ("not " * 240 + "width == \0", "condition"), ("", "invalid syntax")):
            with self.assertRaisesRegex(ValueError, why):
                hewn_tune.Space("k", parameters, [text])
        for text, why in (("8 % width == 0", "zero"), ("tail < width", "not supported")):
            with self.assertRaisesRegex(ValueError, f"^the condition '{text}' of .*{why}"):
                list(hewn_tune.Space("k", parameters, [text]).configurations())
        calculated = hewn_tune.Space("k", parameters, ["(width + 8) * 2 % 3 == 1", "(width == 0) + 1"])
        self.assertEqual({config["width"] for config in calculated.configurations()}, {0})

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
        """Tries one signature of each form: each value that the conditions exclude in the present
        configuration, and for each knob one allowed configuration with another value."""
        forms = {(k.operator, k.form, "__arm64_" in k.variant): k for k in BUILD.kernels
                 if k.form != "plan"}
        runs = []
        for kernel in forms.values():
            space = spaces.of_kernel(BUILD, kernel)
            changed = lambda config: sum(space.default[name] != v for name, v in config.items())
            every = sorted(space.configurations(), key=changed)
            for name, values in space.parameters.items():
                one = [{**space.default, name: value} for value in values]
                allowed = [config for config in every if config[name] != space.default[name]]
                runs += [(kernel, space, config) for config in one if not space.valid(config)]
                runs += [(kernel, space, config) for config in allowed[:1]]

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


def places(tree, path=()):
    """The paths of all values in a JSON document."""
    yield path
    items = tree.items() if isinstance(tree, dict) else enumerate(
        tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


def damaged(document, random):
    """A copy of the document in which one value is another one, or missing."""
    junk = [None, True, -1, 0, 1e400, float("nan"), 10**30, "", "x", "[", "[1", '["a", 1]', "{}",
            [], [1], [[]], ["a"], {}, {"a": 1}, {"id": 1}, "'a' * 4000000000 == tail", "width <"]
    copy = json.loads(json.dumps(document))
    *path, last = random.choice([p for p in places(copy) if p])
    at = functools.reduce(lambda tree, key: tree[key], path, copy)
    if random.random() < 0.2:
        del at[last]
    else:
        at[last] = random.choice(junk)
    return copy


class DamagedFileTest(Folder):
    """Whatever a T1 or a T4 file contains, an error of hewn begins with the file's name."""

    def setUp(self):
        super().setUp()
        recorded = SOURCE / ("docs/measurements/spaces/zen4/"
                             "add_f32__x86_64_avx2__general.T4.json.gz")
        self.document = json.loads(gzip.decompress(recorded.read_bytes()))
        default = hewn_tune.Results.read(recorded).space.default
        self.document["results"] = [r for r in self.document["results"]
                                    if r["configuration"] == default][:2] + \
            self.document["results"][:3]

    def refused(self, path, read=hewn_tune.Results.read):
        with self.assertRaises(hewn_tune.FileError) as caught:
            read(path)
        self.assertTrue(str(caught.exception).startswith(str(path)), caught.exception)
        return str(caught.exception)

    def test_random_damage(self):
        random, path, readable = Random(1), self.folder / "x.json", 0
        for _ in range(1000):
            path.write_text(json.dumps(damaged(self.document, random)), encoding="utf-8")
            try:
                hewn_tune.Results.read(path)
                readable += 1
                tuner = benchmark.recorded(path, "time")
                self.assertGreater(tuner.best()[1], 0)
            except hewn_tune.FileError as error:
                self.assertTrue(str(error).startswith(f"{path}"), error)
        self.assertGreater(readable, 100)  # damage may be in a part that nothing reads

    def test_random_damage_of_t1(self):
        random, path, readable = Random(1), self.folder / "T1.json", 0
        space = hewn_tune.Space("k", {"tail": ["masked", "narrowed"], "width": [0, 8]},
                                ["width * 2 < 9 or tail == 'narrowed'"], {"tail": "narrowed"})
        hewn_tune.write_t1(space, 100, path)
        document = json.loads(path.read_text(encoding="utf-8"))
        for _ in range(2000):
            path.write_text(json.dumps(damaged(document, random)), encoding="utf-8")
            try:
                hewn_tune.read_t1(path)
                readable += 1
            except hewn_tune.FileError as error:
                self.assertTrue(str(error).startswith(f"{path} is no T1 file"), error)
        self.assertGreater(readable, 200)

    def test_damaged_bytes(self):
        whole = gzip.compress(json.dumps(self.document).encode())
        path, random = self.folder / "x.json.gz", Random(1)
        for _ in range(300):
            data = bytearray(whole)
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
            path.write_bytes(data)
            try:
                hewn_tune.Results.read(path)
            except hewn_tune.FileError as error:
                self.assertTrue(str(error).startswith(f"{path} is no T4 file"), error)
        for data in (b"", b"no gzip", whole[:-1], whole[:99], whole + b"x", gzip.compress(b"\xff{}"),
                     gzip.compress(b"[" * 100000), gzip.compress(b"[1]"), gzip.compress(b"1" * 9999),
                     gzip.compress(b" " * (spaces.MOST_BYTES + 1))):
            path.write_bytes(data)
            self.refused(path)
            self.refused(path, hewn_tune.read_t1)
        self.refused(self.folder / "missing.json")
        self.refused(self.folder)

    def test_the_commands_say_one_line(self):
        good, bad, out = (self.folder / name for name in ("good.json", "bad.json", "out.json"))
        good.write_text(json.dumps(self.document), encoding="utf-8")
        bad.write_text("{}", encoding="utf-8")
        other = json.loads(json.dumps(self.document))
        other["metadata"]["kernel"] = "another"
        foreign = self.folder / "foreign.json"
        foreign.write_text(json.dumps(other), encoding="utf-8")
        for command, says in (
                (["merge", out, good, bad], f"{bad} is no T4 file of hewn: 'metadata' is missing"),
                (["merge", out, good, foreign], f"{foreign}: the spaces of "),
                (["merge", "/proc/out.json", good, good], "/proc/out.json: cannot be written"),
                (["benchmark", bad, "--out", out], f"{bad} is no T4 file"),
                (["benchmark", good, "--objective", "x", "--out", out],
                 f"{good}: there is no measurement 'x'")):
            result = subprocess.run([sys.executable, SOURCE / "tools/tune", *command],
                                    capture_output=True, text=True)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertTrue(result.stderr.startswith(f"tune.sh: {says}"), result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
            self.assertFalse(out.exists())


class Engine:
    """Stands in for builds and measurements of ADD f32. A candidate takes ns(config), and the
    present configuration 100. Candidates of 8 vectors are wrong, those of 4 vectors with `stepped`
    crash, and a width of 0 gives the same code as one of 16."""

    def __init__(self, ns=lambda config: 50.0 + 10 * config["vector"], pause=0.0, chip="a chip"):
        self.ns, self.pause, self.chip, self.built, self.by_library = ns, pause, chip, [], {}

    def build_all(self, calls):
        time.sleep(self.pause)
        return [self.build(*call) for call in calls]

    def build(self, build, kernel, knobs, library):
        self.built.append(knobs)
        self.by_library[library] = config = {n: spaces.typed(v) for n, v in knobs}
        pathlib.Path(library).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(library).touch()
        code = {**config, "width": 16 if config["width"] == 0 else config["width"]}
        return {"code": repr(code), "seconds": 0.25}

    def fault(self, config):
        if config["vector"] == 8:
            return "bits"
        return "crash" if (config["vector"], config["tail"]) == (4, "stepped") else ""

    def measure(self, build, kernel, libraries, runner, problems, rounds):
        configs = [self.by_library[library] for library in libraries]
        faults = ["", *map(self.fault, configs[1:])]
        ns = [[self.ns(c) if i else 100.0] * rounds for i, c in enumerate(configs)]
        return {"libraries": [{"fault": f, "message": f and f"{f}!"} for f in faults],
                "problems": [{"layout": "dense", "elements": n, "threads": 1, "bytes": n,
                              "ns": [None if f else [v * n / 100 for v in times]
                                     for f, times in zip(faults, ns)]}
                             for n in problems.elements],
                "machine": {"id": self.chip, "cpu": self.chip, "halide": "21.0.0", "load": 0.5}}


def add_search(folder, engine, elements=(16, 65536)):
    kernel = tune_test.kernel_named("add", "f32", "general")
    return search.Search(BUILD, kernel, engine, folder, report=lambda text: None,
                         problems=jobs.Problems(("dense",), elements))


class ResultsTest(Folder):
    def recorded(self, name="a", **how):
        run = add_search(self.folder / name, Engine(**how))
        self.assertEqual(run.exhaust(time.monotonic() + 3600), 0)
        return run, run.results()

    def test_every_measurement_is_a_result(self):
        run, told = self.recorded()
        self.assertEqual(len(told.results), len(told.space))
        keys = [told.space.key(result["configuration"]) for result in told.results]
        self.assertEqual(len(set(keys)), len(keys))
        result = dict(zip(keys, told.results))
        at = lambda **knobs: result[told.space.key({**told.space.default, **knobs})]
        right = at(width=4, vector=1, tail="masked")
        self.assertEqual((right["invalidity"], right["correctness"]), ("correct", 1))
        self.assertEqual(right["times"]["runtimes"], [[9.6e-06] * 9, [0.0393216] * 9])
        self.assertEqual(right["times"]["compilation_time"], 250)
        self.assertEqual((right["machine"], right["load"]), ("a chip", 0.5))
        # The time is that of 65536 elements: 16 elements do not count. Times keep 6 digits.
        self.assertEqual(results.measurement(right, "time"), 0.0393216)
        self.assertEqual(results.measurement(right, "time dense, 16 elements"), 9.6e-06)
        self.assertIsNone(results.measurement(right, "time dense, 17 elements"))
        wrong, crashed = (at(width=4, vector=8, tail="masked"),
                          at(width=4, vector=4, tail="stepped"))
        self.assertEqual((wrong["invalidity"], wrong["correctness"], wrong["message"],
                          wrong["measurements"]), ("correctness", 0, "bits!", []))
        self.assertEqual(crashed["invalidity"], "runtime")
        twin = at(width=16, vector=1, tail="masked")
        self.assertEqual((twin["invalidity"], twin["times"]["runtimes"]), ("correct", []))
        self.assertIn("the code of", twin["message"])
        self.assertEqual(results.measurement(twin, "time"), 0.0393216)
        present = result[told.space.key(told.space.default)]
        self.assertEqual(results.measurement(present, "time"), 0.065536)
        self.assertEqual(present["times"]["runtimes"], [[1.6e-05], [0.065536]])  # of each batch
        # A configuration that cannot be built keeps the generator's reason.
        run.cache.put(tune_test.add_knobs(vector=16, width=64),
                      status="refused", message="no such step", seconds={"build": 0.5})
        refused = next(r for r in run.results().results if r["message"] == "no such step")
        self.assertEqual((refused["invalidity"], refused["times"]["compilation_time"]),
                         ("compile", 500))

    def test_a_disturbed_batch_moves_both(self):
        """A configuration's time is its ratio to the present configuration in the same batch."""
        run, told = self.recorded()
        entries = json.loads(json.dumps(list(run.cache.known.values())))
        for problem in next(e for e in entries if e["status"] == "timed")["problems"]:
            for name in ("ns", "incumbent_ns"):
                problem[name] = [3 * ns for ns in problem[name]]
        writer = results.Writer(told.space, entries, lambda problem: True)
        times = lambda found: [r["measurements"][2] for r in found if r["measurements"]]
        self.assertEqual(times(writer.results().results), times(told.results))
        self.assertEqual(results.quarter([4.0, 1.0, 2.0, 3.0, 5.0]), 2.0)
        self.assertEqual(results.quarter([7.0]), 7.0)

    def test_small_sizes_alone_decide(self):
        run = add_search(self.folder, Engine(), (16,))
        run.exhaust(time.monotonic() + 3600)
        gains = [e["gain"] for e in run.cache.known.values() if e["status"] == "timed"]
        self.assertEqual(max(gains), 100 / 60)
        self.assertEqual(hewn_tune.Recorded(run.results()).best()[1], 9.6e-06)

    def test_a_killed_recording_goes_on(self):
        child = subprocess.Popen([sys.executable, __file__, str(BUILD.folder), "--exhaust",
                                  str(self.folder)])
        cache = add_search(self.folder, Engine()).cache.path
        while not (cache.exists() and cache.read_text().count("\n") >= 20):
            self.assertIsNone(child.poll(), "the run ended before it could be killed")
            time.sleep(0.02)
        child.send_signal(signal.SIGKILL)
        child.wait()
        run = add_search(self.folder, Engine())
        known = len(run.cache.known)
        self.assertGreaterEqual(known, 20)
        self.assertEqual(run.exhaust(time.monotonic() - 1), len(run.candidates()) - known)
        self.assertEqual(run.exhaust(time.monotonic() + 3600), 0)
        self.assertEqual(len(run.engine.built), 2 + len(run.candidates()) - known)
        self.assertEqual(len(run.results().results), len(run.results().space))
        # Libraries are removed, because they would fill a disk. The present configuration's is
        # kept.
        self.assertEqual(len(list(run.folder.glob("*.so"))), 1)

    def test_files_of_two_machines_merge(self):
        _, here = self.recorded("a")
        _, there = self.recorded("b", chip="another", ns=lambda config: 40.0 + config["vector"])
        paths = [self.folder / name for name in ("a.T4.json", "b.T4.json.gz", "both.T4.json.gz")]
        here.write(paths[0])
        there.write(paths[1])
        self.assertLess(paths[1].stat().st_size, paths[0].stat().st_size / 10)
        program = tune_test.load_program()
        with (unittest.mock.patch.object(sys, "argv", ["tune", "merge", str(paths[2]),
                                                       *map(str, [*paths[:2], paths[0]])]),
              unittest.mock.patch("builtins.print")):
            program.main()
        both = hewn_tune.Results.read(paths[2])
        self.assertEqual(len(both.results), 2 * len(here.results))  # each once
        self.assertEqual(set(both.machines), {"a chip", "another"})
        self.assertEqual(both.space.t1(), here.space.t1())
        plan = hewn_tune.Results(hewn_tune.Space("plan", {"x": [1]}))
        with self.assertRaisesRegex(ValueError, "the spaces of .* and plan differ"):
            here.merged(plan)
        (self.folder / "c.json").write_text('{"results": []}')
        with self.assertRaisesRegex(ValueError, "c.json is no T4 file of hewn: 'metadata' is miss"):
            hewn_tune.Results.read(self.folder / "c.json")

    def test_the_machine(self):
        told = machine.fingerprint(BUILD)
        self.assertEqual(told["halide"], BUILD.halide)
        self.assertTrue(told["cpu"] and told["compiler"] and told["load"] >= 0)
        self.assertEqual(machine.fingerprint(BUILD)["id"], told["id"])
        elsewhere = machine.fingerprint(BUILD, "ssh:there")
        self.assertEqual((elsewhere["cpu"], "load" in elsewhere), ("ssh:there", False))
        self.assertNotEqual(elsewhere["id"], told["id"])
        # A real measurement reports the same machine.
        kernel, library = tune_test.kernel_named("add", "f32", "general"), self.folder / "a.so"
        jobs.build_candidate(BUILD, kernel, kernel.knobs, library)
        measured = jobs.LocalEngine(1).measure(BUILD, kernel, [str(library)], "local",
                                               jobs.Problems(("dense",), (16,)), 3)
        self.assertEqual(measured["machine"]["id"], told["id"])
        (problem,) = search.samples(measured, 0)
        self.assertEqual((problem["layout"], problem["elements"], problem["threads"]),
                         ("dense", 16, 1))
        self.assertGreater(statistics.median(problem["ns"]), 0)


def local_search(tuner, evaluations, seed=0):
    """An optimiser in ten lines. It tries random neighbours of the best configuration so far."""
    random, parameters = Random(seed), tuner.space().parameters
    best = tuner.space().default
    fastest = tuner.evaluate(best).time
    for _ in range(evaluations):
        knob = random.choice(list(parameters))
        config = {**best, knob: random.choice(parameters[knob])}
        if (time := tuner.evaluate(config).time) <= fastest:
            best, fastest = config, time
    return best, fastest


class RecordedSpacesTest(unittest.TestCase):
    def test_they_are_whole_and_small(self):
        files = sorted((SOURCE / "docs/measurements/spaces").rglob("*.T4.json.gz"))
        self.assertGreaterEqual(len(files), 6)
        for file in files:
            with self.subTest(file.name):
                self.assertLess(file.stat().st_size, 1 << 20)
                tuner = hewn_tune.Recorded(file)
                space = tuner.space()
                self.assertEqual(file.name.split(".")[0], space.kernel)
                self.assertEqual(len(tuner.known), len(space))
                for config in (tuner.best()[0], space.default):
                    self.assertEqual(tuner.evaluate(config).status, "correct")
                self.assertTrue(tuner.again["best"] and tuner.again["noise"])


class Recording(Folder):
    def setUp(self):
        super().setUp()
        self.results = add_search(self.folder, Engine())
        self.results.exhaust(time.monotonic() + 3600)
        self.results = self.results.results()
        self.tuner = hewn_tune.Recorded(self.results)
        self.present = self.tuner.space().default


class AskAndTellTest(Recording):
    def test_evaluations(self):
        evaluate = lambda **knobs: self.tuner.evaluate({**self.present, **knobs})
        right = evaluate(width=4, vector=1, tail="masked")
        self.assertEqual((right.time, right.status, right.message), (0.0393216, "correct", ""))
        self.assertGreaterEqual(right.seconds, 0.25)
        for knobs, status in [({"vector": 8, "width": 4}, "correctness"),
                              ({"vector": 4, "width": 4, "tail": "stepped"}, "runtime"),
                              ({"tail": "shifted"}, "constraints"), ({"width": 5}, "constraints")]:
            wrong = evaluate(**knobs)
            self.assertEqual((wrong.time, wrong.status), (float("inf"), status))
            self.assertTrue(wrong.message)
        with self.assertRaisesRegex(ValueError, "a configuration has the knobs .*'width'.*, not"):
            self.tuner.evaluate({"width": 4})
        best, fastest = self.tuner.best()
        self.assertEqual((best["vector"], fastest), (1, 0.0393216))
        at_16 = hewn_tune.Recorded(self.results, "time dense, 16 elements")
        self.assertEqual(at_16.best()[1], 9.6e-06)
        with self.assertRaisesRegex(ValueError, "no measurement 'watts'; there are .'time', "):
            hewn_tune.Recorded(self.results, "watts")
        part = hewn_tune.Results(self.results.space, self.results.results[:1])
        with self.assertRaisesRegex(ValueError, "was not recorded"):
            hewn_tune.Recorded(part).evaluate(best)

    def test_measured_several_times(self):
        def again(changes):
            document = json.loads(json.dumps(self.results.results))
            result = next(r for r in document if r["invalidity"] == "correct")
            changes(result)
            both = hewn_tune.Results(self.results.space, self.results.results + [result])
            return hewn_tune.Recorded(both).evaluate(result["configuration"])

        before = again(lambda result: None).time
        doubled = again(lambda r: r["measurements"][0].update(value=4 * before))
        self.assertAlmostEqual(doubled.time, 2 * before)
        wrong = again(lambda r: r.update(invalidity="correctness", message="once"))
        self.assertEqual((wrong.status, wrong.message), ("correctness", "once"))

    def test_several_machines(self):
        there = hewn_tune.Results(self.results.space, [
            {**r, "machine": "b", "measurements": [{**m, "value": 2 * m["value"]}
                                                   for m in r["measurements"]]}
            for r in self.results.results], {"b": {"id": "b"}})
        both = self.results.merged(there)
        with self.assertRaisesRegex(ValueError, "several machines, choose one: ..a chip', 'b'"):
            hewn_tune.Recorded(both)
        with self.assertRaisesRegex(ValueError, "not measured on c; there are"):
            hewn_tune.Recorded(both, machine="c")
        self.assertEqual(hewn_tune.Recorded(both, machine="a chip").best(), self.tuner.best())
        self.assertAlmostEqual(hewn_tune.Recorded(both, machine="b").best()[1],
                               2 * self.tuner.best()[1])

    def test_an_optimiser_in_ten_lines(self):
        self.assertEqual(local_search(self.tuner, 300)[1], self.tuner.best()[1])

    def search_by_ask_and_tell(self, tuner, most):
        seen = []
        while len(seen) < most and (config := tuner.ask()):
            self.assertTrue(tuner.space().valid(config))
            self.assertNotIn(config, seen)
            seen.append(config)
            tuner.tell(config, tuner.evaluate(config).time)
        return min((tuner.evaluate(config).time, tuner.space().key(config)) for config in seen)

    def test_the_tuners_own_search(self):
        as_knobs = lambda config: tuple(sorted(config.items()))
        grid = strategies.Grid([*map(as_knobs, self.tuner.space().configurations())],
                               as_knobs(self.present))
        by_grid = hewn_tune.Recorded(self.results, strategy=grid)
        best = self.search_by_ask_and_tell(by_grid, 1000)[0]
        self.assertEqual(best, self.tuner.best()[1])
        self.assertIsNone(by_grid.ask())
        if importlib.util.find_spec("optuna"):
            own = hewn_tune.Recorded(self.results)
            # An optimiser may also be told a result that it did not ask for.
            own.tell(self.tuner.best()[0], 1e9)
            self.assertEqual(self.search_by_ask_and_tell(own, 30)[0], best)

    @unittest.skipUnless(importlib.util.find_spec("optuna"), "./tune.sh --set-up installs Optuna")
    def test_optuna(self):
        import optuna

        parameters = self.tuner.space().parameters
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
        study.optimize(lambda trial: self.tuner.evaluate(
            {n: trial.suggest_categorical(n, v) for n, v in parameters.items()}).time, 100)
        self.assertEqual(study.best_value, self.tuner.best()[1])

    def test_the_cache_of_kernel_tuner(self):
        hewn_tune.write_cache(self.tuner, self.folder / "cache.json", 65536)
        document = json.loads((self.folder / "cache.json").read_text())
        space, cache = self.tuner.space(), document["cache"]
        self.assertEqual(len(cache), len(space))
        self.assertEqual(document["tune_params_keys"], list(space.parameters))
        self.assertEqual(min(e["time"] for e in cache.values() if "__error__" not in e),
                         self.tuner.best()[1])
        wrong = [e for e in cache.values() if e.get("__error__") == "RuntimeFailedConfig"]
        self.assertEqual(len(wrong), sum(e.status != "correct" for e in self.tuner.known.values()))

    def test_live(self):
        """Evaluations that build, check and time."""
        kernel = tune_test.kernel_named("add", "f32", "general")
        open_live = functools.partial(hewn_tune.Live, build=BUILD.folder)
        live = open_live(kernel.name, 4096, record=self.folder / "live")
        present = live.evaluate(self.present)
        self.assertEqual(present.status, "correct", present)
        self.assertTrue(0 < present.time < 1, present)
        other = {**self.present, "vector": 4 if self.present["vector"] != 4 else 2}
        timed = live.evaluate(other)
        self.assertTrue(0 < timed.time < 1 and timed.seconds > 0, timed)
        again = open_live(kernel.name, 4096, record=self.folder / "live")
        with unittest.mock.patch.object(again.search, "time") as measured:
            again.evaluate(other)
        measured.assert_not_called()
        self.assertEqual(again.result(other)["invalidity"], "correct")
        self.assertEqual(live.evaluate({**other, "tail": "shifted"}).status, "constraints")
        with self.assertRaisesRegex(ValueError, "has no nothing; it has"):
            open_live("nothing")
        with (unittest.mock.patch.object(importlib.util, "find_spec", lambda name: None),
              self.assertRaisesRegex(RuntimeError, "Live needs NumPy.* -m pip install numpy, or")):
            hewn_tune.Live(kernel.name)

        fake = open_live(kernel.name, record=self.folder / "fake", engine=Engine())
        self.assertEqual(fake.evaluate({**self.present, "width": 4, "vector": 8}).status,
                         "correctness")
        self.assertEqual(fake.evaluate({**self.present, "width": 4, "vector": 1}).time, 0.0393216)


class AgainTest(Recording):
    """Tests of the tuner's second measurement of the best of a recorded space."""

    def again(self, engine, elements=(65536,), recorded=None):
        kernel = tune_test.kernel_named("add", "f32", "general")
        return again.compare(BUILD, kernel, engine, self.folder / "again", "local", elements,
                             recorded or self.results)

    def test_the_best_of_each_place(self):
        best = again.best_of(self.results, 6)
        times = [self.tuner.evaluate(config).time for config in best]
        self.assertEqual(times, sorted(times))
        self.assertEqual((len(best), times[0]), (3, 0.0393216))  # the same three in both places
        codes = {repr({**config, "width": config["width"] or 16}) for config in best}
        self.assertEqual(len(codes), 3)
        self.assertNotIn(self.present, best)
        self.assertEqual(again.best_of(hewn_tune.Results(self.results.space)), [])

    def test_leaders_are_measured_once_more(self):
        """In the recording, configurations of equally many vectors were equally fast. Now one width
        is faster."""
        engine = Engine(ns=lambda config: 90.0 - 10 * (config["width"] == 8))
        with (unittest.mock.patch.object(again, "code_bytes", lambda library: len(library)),
              unittest.mock.patch.object(again, "scheduled", lambda *_: ["made up"])):
            ((machine_id, told),) = self.again(engine).items()
        self.assertEqual((machine_id, told["autoschedulers"]), ("a chip", []))  # not a local engine
        (row,) = told["best"]
        self.assertEqual((row["configuration"]["width"], row["bytes"]), (8, 0))
        self.assertEqual(list(row["gain"]), [f"dense, {n} elements" for n in (16, 1000, 65536)])
        self.assertEqual(row["gain"]["dense, 65536 elements"], [1.25] * 3)
        self.assertEqual(list((self.folder / "again").rglob("*.so")), [])
        far = 2 * [abs(engine.ns(config) / (50 + 10 * config["vector"]) - 1)
                   for config in again.by_chance(self.results)]
        for value, quantile in zip(told["noise"], (50, 90)):  # at 16 and 65536 elements
            self.assertAlmostEqual(value, np.percentile(far, quantile), 3)
        elsewhere = self.again(Engine(chip="another"))["another"]  # it measured none of these
        self.assertEqual((elsewhere["best"], elsewhere["noise"]), ([], []))
        fleet = Engine()
        chips = iter(["a chip", "another", "a chip"])
        with unittest.mock.patch.object(again, "code_bytes", len), unittest.mock.patch.object(
                fleet, "measure", lambda *call: {**Engine.measure(fleet, *call),
                                                 "machine": {"id": next(chips)}}):
            self.assertEqual(self.again(fleet), {})
        nothing = self.again(engine, recorded=hewn_tune.Results(self.results.space))
        self.assertEqual(nothing["a chip"]["best"], [])

    def test_on_this_machine(self):
        """Real builds and measurements, with Halide's autoschedulers for comparison."""
        here = machine.fingerprint(BUILD)["id"]
        for result in self.results.results:
            result["machine"] = here
        right = [r for r in self.results.results if r["invalidity"] == "correct"
                 and (r["configuration"]["vector"], r["configuration"]["tail"]) == (2, "masked")]
        present = next(r for r in self.results.results if r["configuration"] == self.present)
        few = hewn_tune.Results(self.results.space, [present, *right[:2]])
        ((machine_id, told),) = self.again(jobs.LocalEngine(), (4096,), few).items()
        self.assertEqual(machine_id, here)
        self.assertIn(told["best"][0]["configuration"], [r["configuration"] for r in right])
        low, high = told["best"][0]["gain"]["dense, 4096 elements"][1:]
        self.assertTrue(0.01 < low <= high < 100)
        self.assertEqual([row["name"] for row in told["autoschedulers"]],
                         list(autoschedulers.AUTOSCHEDULERS))
        self.results.again, self.results.machines = {here: told}, {here: {"id": here}}
        self.results.write(self.folder / "a.T4.json.gz")
        tuner = hewn_tune.Recorded(self.folder / "a.T4.json.gz")
        self.assertEqual(tuner.again, told)
        self.assertEqual(self.results.merged(self.results).again, {here: told})
        optimisers = {"ordered": lambda run, seed: run.time(self.present)}
        (outcome,) = benchmark.compare([tuner], optimisers, 3, 1)
        page = "\n".join(benchmark.page(outcome))
        self.assertIn("| measured again | bytes | dense, 16 elements | dense, 1000 elements | "
                      "dense, 4096 elements |", page)
        self.assertIn("Not right: mullapudi2016 breaks ", page)
        head, _, row = benchmark.overview([outcome])
        self.assertIn("| in another process | adams2019 |", head)
        self.assertRegex(row, r"^\| `add_f32__\w+` \| \d+ \| 0\.60 (\| 0\.\d\d ){2}\| \d+\.\d% ")
        self.assertIn("| - |", next(line for line in benchmark.overview(
            [{**outcome, "again": {}}]) if line.startswith("| `add")))


class BenchmarkTest(Recording):
    """The benchmark with optimisers that evaluate configurations in a known order."""

    def order(self, configs):
        def optimise(run, seed):
            for config in configs[seed:] + configs[:seed]:
                run.time(config)

        return optimise

    def test_what_counts(self):
        configs = [{**self.present, "width": 4, "vector": v, "tail": "masked"}
                   for v in (16, 8, 4, 1, 2)]
        run = benchmark.Run(self.tuner, 4)
        run.time({**self.present, "tail": "shifted"})  # not in the space
        for config in configs[:1] + configs[:4]:  # one of them twice
            run.time(config)
        self.assertEqual(run.time(configs[1]), 10 * 0.065536)  # wrong: what optimisers are told
        with self.assertRaises(benchmark.Stop):
            run.time(configs[4])
        best = 0.0393216  # 60 ns of the present 100; 16 vectors have 210, 8 are wrong, 4 have 90
        for known, wanted in zip(run.fractions(best), [60 / 210, 60 / 210, 60 / 90, 1]):
            self.assertAlmostEqual(known, wanted, 5)
        self.assertTrue(all(a < b for a, b in zip(run.seconds(), run.seconds()[1:])))
        self.assertEqual(benchmark.reached(run, best, [1, 2, 3, 4]), 4)
        self.assertEqual(benchmark.reached(run, best / 2, [1, 2, 3, 4]), float("inf"))
        lazy = benchmark.Run(self.tuner, 2)
        with self.assertRaises(benchmark.Stop):  # it would go on forever
            while True:
                lazy.time(configs[0])
        self.assertEqual(len(lazy.fractions(best)), 2)
        self.assertEqual(lazy.seconds()[1], float("inf"))

    def test_tables(self):
        configs = [{**self.present, "width": 4, "vector": v, "tail": "masked"}
                   for v in (16, 4, 1)]
        optimisers = {"ordered": self.order(configs), "poor": self.order(configs[:1] * 3)}
        (outcome,) = benchmark.compare([self.tuner], optimisers, 3, 3)
        self.assertEqual((outcome["configurations"], outcome["repeats"]),
                         (len(self.tuner.space()), 3))
        ordered = outcome["optimisers"]["ordered"]
        self.assertAlmostEqual(ordered["mean"][0], (60 / 210 + 60 / 90 + 1) / 3, 5)
        self.assertAlmostEqual(ordered["mean"][2], 1)
        self.assertEqual(ordered["near"], 2)  # the median of 3, 2 and 1
        self.assertAlmostEqual(ordered["by_time"][-1], 1)
        lines = list(benchmark.table(outcome))
        self.assertIn(" configurations, 3 runs; the present one has 0.600", lines[0])
        self.assertRegex(lines[4], r"^\| ordered \| 1.000 \| 2 \| \d+ s \|$")
        self.assertRegex(lines[5], r"^\| poor \| 0.286 \| never \| never \|$")
        for optimiser, says in [(lambda run, seed: None, ".* evaluated nothing"),
                                (lambda run, seed: run.nothing, "AttributeError")]:
            with self.assertRaisesRegex(benchmark.OptimiserError, f"lazy, seed 0, .*: {says}"):
                benchmark.compare([self.tuner], {"lazy": optimiser}, 3, 1)

    def test_errors_that_an_optimiser_handles(self):
        """An optimiser that handles all errors is stopped nevertheless."""
        def careless(run, seed):
            while True:
                with contextlib.suppress(Exception):
                    run.time(self.present)

        (outcome,) = benchmark.compare([self.tuner], {"careless": careless}, 3, 1)
        self.assertAlmostEqual(outcome["optimisers"]["careless"]["mean"][2], 0.6)


def blocks(page, language, says):
    """The page's blocks of code that contain the text `says`."""
    text = (SOURCE / page).read_text(encoding="utf-8")
    return [block for block in re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.M)
            if says in block]


@unittest.skipUnless(importlib.util.find_spec("optuna") and importlib.util.find_spec("matplotlib"),
                     "./tune.sh --set-up installs Optuna and matplotlib")
class OwnOptimiserTest(Folder):
    """The optimiser of docs/tuning.md, run with the command on that page but fewer runs."""

    def setUp(self):
        super().setUp()
        (self.command,) = blocks("docs/tuning.md", "sh", "--optimiser ")
        (program,) = blocks("docs/tuning.md", "python", "def search(run, seed)")
        (self.folder / "mine.py").write_text(program)

    def benchmark(self, *more, **how):
        words = shlex.split(self.command.replace("\\\n", ""))
        self.assertEqual(words[:2], ["./tune.sh", "benchmark"])
        words = [str(file) for word in words[1:]
                 for file in (SOURCE.glob(word) if "*" in word else [word])]
        return subprocess.Popen([sys.executable, SOURCE / "tools/tune", *words, "--repeats", "2",
                                 "--evaluations", "20", "--out", "out", *more], text=True,
                                cwd=self.folder, stdout=subprocess.PIPE, **how)

    def test_the_documented_one(self):
        """On a terminal, one line shows how far the benchmark is."""
        terminal, end = pty.openpty()
        process, told = self.benchmark(stderr=end), b""
        os.close(end)
        with contextlib.suppress(OSError):  # EIO: the program closed it
            while part := os.read(terminal, 4096):
                told += part
        os.close(terminal)
        table = process.communicate()[0]
        self.assertEqual(process.returncode, 0, told.decode())
        self.assertIn("| mine:search |", table)
        self.assertRegex(told.decode(), r"\r.*benchmark: \d+:\d\d so far, about "
                                        r"0:00 left; 6 of 6 runs")
        self.assertNotIn("it/s", told.decode())  # the line is hewn's, not tqdm's
        (outcome,) = json.loads((self.folder / "out/benchmark.json").read_text())
        self.assertEqual(list(outcome["optimisers"]), ["random", "tpe", "mine:search"])
        mean = outcome["optimisers"]["mine:search"]["mean"]
        self.assertAlmostEqual(mean[0], outcome["present"])  # it begins with the present one
        self.assertEqual(mean, sorted(mean))

    def test_one_that_cannot_be_loaded(self):
        (self.folder / "needy.py").write_text("import no_such_module\n")
        for name, says in [("yours:search", "there is no module yours in "),
                           ("mine:find", "mine.py has no function find"),
                           ("needy:f", "needy imports no_such_module, which is not installed")]:
            process = self.benchmark("--optimiser", name, stderr=subprocess.PIPE)
            error = process.communicate()[1]
            self.assertEqual(process.returncode, 1)
            self.assertIn(f"tune.sh: --optimiser {name}: ", error)
            self.assertIn(says, error)
            self.assertNotIn("Traceback", error)


class ExportTest(Folder):
    def test_export_space(self):
        """The command configures in its own folder, and writes a file for each kernel, also for
        GPUs."""
        program, asked = tune_test.load_program(), []
        configure = lambda *what: asked.append(what) or BUILD
        with (unittest.mock.patch.object(program.building, "configure", configure),
              contextlib.redirect_stdout(io.StringIO()) as told,
              unittest.mock.patch.object(sys, "argv", [
                  "tune", "export-space", "--op", "add", "--signature", "f32", "--form", "general",
                  "--out", str(self.folder)])):
            program.main()
        self.assertEqual([what[:4] for what in asked],
                         [(program.building.SPACES, [], ["add"], ["add_f32"])])
        names = {k.name for k in BUILD.kernels + BUILD.gpu_kernels if k.form == "general"}
        files = {pathlib.Path(line) for line in told.getvalue().split()}
        self.assertEqual({file.name for file in files}, {f"{name}.T1.json" for name in names})
        for file in files:
            self.assertEqual(f"{hewn_tune.read_t1(file).kernel}.T1.json", file.name)


if __name__ == "__main__":
    BUILD = tune_test.BUILD = kernels.Build(sys.argv.pop(1))
    if "--exhaust" in sys.argv:
        add_search(sys.argv[-1], Engine(pause=0.1)).exhaust(time.monotonic() + 3600)
    else:
        unittest.main(argv=sys.argv)
