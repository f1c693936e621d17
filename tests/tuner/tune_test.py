#!/usr/bin/env python3
"""Tests of the tuner on real kernels: tune_test.py BUILD-FOLDER [unittest arguments]"""

import dataclasses
import importlib.util
import io
import itertools
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest
import unittest.mock

import numpy as np

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE), str(SOURCE / "tools/tune")]
import autoschedulers  # noqa: E402
import building  # noqa: E402
import command_line  # noqa: E402
import jobs  # noqa: E402
import kernels  # noqa: E402
import measuring  # noqa: E402
import report  # noqa: E402
import search  # noqa: E402
from hewn_tune import progress  # noqa: E402

from lists.operators import OPERATORS  # noqa: E402

BUILD = None

# The source of a library that calls the library GOOD and then does what FAULT says. It computes ADD
# f32, except that `careless` is for QUANTIZE_LINEAR f32_u8 and `zero point 0` for DEQUANTIZE_LINEAR
# u8_f32.
FAULTY = r"""
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "hewn/hewn.h"
struct op {
    hewn_operator *real;
    int64_t width, elements, pitch;
    int rank, threads, one_scale;
    float scale;
    unsigned char zero_point;
};
static void *good;
__attribute__((constructor)) static void load(void) {
    good = dlopen(getenv("GOOD"), RTLD_NOW | RTLD_LOCAL);
}
static int is(const char *fault) { return strcmp(getenv("FAULT"), fault) == 0; }
hewn_status hewn_compile(hewn_device *device, const hewn_operator_desc *desc,
                         const hewn_compile_options *options, hewn_operator **made,
                         hewn_error *error) {
    hewn_status (*call)(hewn_device *, const hewn_operator_desc *, const hewn_compile_options *,
                        hewn_operator **, hewn_error *);
    const int linear = desc->type != HEWN_OPERATOR_ADD;
    // hewn_dequantize_linear_desc has the same members.
    const hewn_quantize_linear_desc *q = desc->desc;
    const hewn_add_desc *add = desc->desc;
    const hewn_tensor_desc *out = linear ? q->output_tensor : add->output_tensor;
    struct op *op = calloc(1, sizeof *op);
    op->rank = (int)out->dimension_count;
    op->elements = 1;
    for (int i = 0; i < op->rank; i++) op->elements *= op->width = out->sizes[i];
    op->pitch = out->strides[0];
    op->threads = options->max_threads;
    op->one_scale = linear && op->rank == 1 && q->scale_tensor->strides[0] == 0;
    if (linear) {  // the runner gives all parameters as constants
        op->scale = *(const float *)options->constants[1].buffer;
        op->zero_point = *(const unsigned char *)options->constants[2].buffer;
    }
    *(void **)&call = dlsym(good, "hewn_compile");
    const hewn_status status = call(device, desc, options, &op->real, error);
    *made = (hewn_operator *)op;
    return status;
}
void hewn_destroy_operator(hewn_operator *op) {
    void (*call)(hewn_operator *);
    *(void **)&call = dlsym(good, "hewn_destroy_operator");
    if (op) call(((struct op *)op)->real);
    free(op);
}
hewn_status hewn_execute(const hewn_operator *operator, const hewn_buffer_binding *in,
                         uint32_t inputs, const hewn_buffer_binding *out, uint32_t outputs,
                         const hewn_execute_options *options, hewn_error *error) {
    hewn_status (*call)(const hewn_operator *, const hewn_buffer_binding *, uint32_t,
                        const hewn_buffer_binding *, uint32_t, const hewn_execute_options *,
                        hewn_error *);
    const struct op *op = (const struct op *)operator;
    unsigned char *const first = out->buffer, *const end = first + out->size, last = end[-1];
    const float *const x = in->buffer;
    int any_nan = 0, ordinary = 1;
    for (int64_t i = 0; is("NaN") && i < (op->rank == 1 ? op->elements : 1); i++)
        any_nan |= x[i] != x[i];
    for (int64_t i = 0; is("careless") && i < (op->one_scale ? op->elements : 0); i++)
        ordinary &= fabsf(x[i]) < 100;
    *(void **)&call = dlsym(good, "hewn_execute");
    const hewn_status status = call(op->real, in, inputs, out, outputs, options, error);
    const int in_place = in->buffer == out->buffer, odd = op->width % 16 != 0;
    if (is("value") || any_nan || (is("row ends") && odd && op->elements < 65536) ||
        (is("long row's end") && odd && op->elements > 65536) || (is("in place") && in_place) ||
        (is("layout") && op->rank == 2) || (is("threads") && op->threads != 1) ||
        (is("largest") && op->elements >= 200000) || (is("zero point 0") && op->zero_point == 0))
        first[0] ^= 1;
    if (is("unwritten") && op->threads != 1) end[-1] = last;
    if (is("before")) first[-1] = 0;
    if (is("behind")) end[0] = 0;
    if (is("between") && op->rank == 2 && op->pitch > op->width) first[4 * op->width] ^= 1;
    for (int64_t i = 0; is("careless") && op->one_scale && ordinary && i < op->elements; i++) {
        const float rounded = rintf(x[i] * (1 / op->scale)) + op->zero_point;
        if (rounded >= 0 && rounded <= 255) first[i] = (unsigned char)rounded;
    }
    return status;
}
"""


def kernel_named(operator, signature, form):
    """The kernel of this form that dispatch picks on this machine. Skips the test if the build
    lacks the kernel, and only then."""
    if (operator, signature) not in {(k.operator, k.signature) for k in BUILD.kernels}:
        raise unittest.SkipTest(f"this build has no {operator}_{signature}")
    chosen = kernels.picked(BUILD, *kernels.this_machine(BUILD))
    return next(k for k in chosen if (k.operator, k.signature,
                                      k.form) == (operator, signature, form))


class CountingEngine(jobs.LocalEngine):
    """Counts what is built. Builds the knobs `wrong` for another signature, so that this kernel
    computes something else."""

    def __init__(self, wrong=None):
        super().__init__(1)
        self.wrong, self.built, self.measured = wrong, [], []

    def build_all(self, calls):
        self.built += [call[2] for call in calls]
        return super().build_all([(*call, "i32") if call[2] == self.wrong else call
                                  for call in calls])

    def measure(self, *arguments):
        result = super().measure(*arguments)
        self.measured.append((arguments[2], result))
        return result


def small_search(engine, folder, report=lambda text: None):
    tuning = search.Search(BUILD, kernel_named("add", "f32", "general"), engine, folder,
                           report=report)
    tuning.candidates = lambda: [knobs for knobs in small_space() if knobs != tuning.incumbent]
    return tuning


def load_program():
    """Loads tools/tune/__main__.py as a module."""
    spec = importlib.util.spec_from_file_location("tune_program", SOURCE / "tools/tune/__main__.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


def add_knobs(**knobs):
    """All knobs of ADD, with the defaults of those that are not given."""
    return kernels.knob_tuple({"tail": "masked", "unrolled": 0, "vector": 1, "width": 0, **knobs})


def small_space():
    return [add_knobs(tail=tail, vector=vector)
            for vector in (1, 2, 4, 8)
            for tail in ("masked", "shifted", "stepped")]


class TunerTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def test_wrong_candidate_is_caught_and_never_timed(self):
        wrong = add_knobs(tail="stepped", vector=8)
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
        # A configuration that the generator refuses is no fault of the run. Here it refuses to
        # compute elements twice, because ADD may write over an input.
        refused = [e for e in outcome["tried"] if e["status"] == "refused"]
        self.assertEqual({dict(map(tuple, e["knobs"]))["tail"] for e in refused}, {"shifted"})
        self.assertIn("computes elements twice", refused[0]["message"])
        self.assertEqual(len(outcome["tried"]), len(tuning.candidates()))

    def test_wrong_incumbent_ends_the_run(self):
        engine = CountingEngine()
        tuning = small_search(engine, self.folder)
        engine.wrong = tuning.incumbent
        with self.assertRaisesRegex(RuntimeError, "present knobs are wrong .bits.: .* differ from "
                                                  "the reference"):
            tuning.run(time.monotonic() + 3600)

    def test_crashing_candidate_is_left_out(self):
        kernel = kernel_named("add", "f32", "general")
        good = str(self.folder / "good.so")
        jobs.build_candidate(BUILD, kernel, kernel.knobs, good)
        (self.folder / "crash.c").write_text(
            "__attribute__((constructor)) static void die(void) { __builtin_trap(); }")
        bad = str(self.folder / "crash.so")
        subprocess.run([BUILD.cc, "-shared", "-fPIC", "-o", bad, self.folder / "crash.c"],
                       check=True)
        result = jobs.measure(BUILD, kernel, [good, bad, good], "local",
                              jobs.Problems(("dense",), (16, 1000)), 2, 50)
        self.assertEqual([l["fault"] for l in result["libraries"]], ["", "crash", ""])
        for problem in result["problems"]:
            self.assertIsNone(problem["ns"][1])
            self.assertEqual(len(problem["ns"][2]), 2)
        places = lambda result: [(p["layout"], p["elements"], p["threads"], p["bytes"])
                                 for p in result["problems"]]
        self.assertEqual(places(result), [("dense", 16, 1, 192), ("dense", 1000, 1, 12000)])
        # Several threads are measured only from 64 Ki elements on.
        result = jobs.measure(BUILD, kernel, [good], "local",
                              jobs.Problems(("dense",), (1000, 65536), (1, 0)), 1, 50)
        self.assertEqual(places(result), [("dense", n, threads, 12 * n)
                                          for n, threads in [(1000, 1), (65536, 1), (65536, 0)]])

    def faults(self, kernel, libraries, elements=(16, 200000), check=(), **environment):
        with unittest.mock.patch.dict(os.environ, environment):
            result = jobs.measure(BUILD, kernel, libraries, "local",
                                  jobs.Problems(("dense",), elements), 0, 50, check)
        self.assertEqual(result["problems"], [])
        return [(library["fault"], library["message"]) for library in result["libraries"]]

    def test_what_the_check_finds(self):
        """Each fault is in one place only."""
        (self.folder / "faulty.c").write_text(FAULTY)
        good, faulty = str(self.folder / "good.so"), str(self.folder / "faulty.so")
        subprocess.run([BUILD.cc, "-shared", "-fPIC", "-O1", "-ffp-contract=off",
                        f"-I{SOURCE / 'include'}", "-o", faulty, self.folder / "faulty.c",
                        "-ldl", "-lm"], check=True)
        kernel = kernel_named("add", "f32", "general")
        jobs.build_candidate(BUILD, kernel, kernel.knobs, good)
        self.assertEqual(self.faults(kernel, [faulty], GOOD=good, FAULT="none"), [("", "")])
        for fault, kind, says in [("value", "bits", "differ"), ("NaN", "bits", "differ"),
                                  ("layout", "bits", "differ"), ("row ends", "tails", "differ"),
                                  ("long row's end", "tails", "differ"),
                                  ("in place", "in place", "differ"), ("threads", "bits", "differ"),
                                  ("largest", "bits", "differ"), ("unwritten", "bits", "differ"),
                                  ("before", "bits", "beside"),
                                  ("behind", "bits", "beside"), ("between", "tails", "beside")]:
            with self.subTest(fault):
                (right, wrong) = self.faults(kernel, [good, faulty], GOOD=good, FAULT=fault)
                self.assertEqual((right, wrong[0]), (("", ""), kind))
                self.assertIn(says, wrong[1])
        self.assertEqual(
            [kind for kind, _ in self.faults(kernel, [good, str(self.folder / "none.so")])],
            ["", "load"])
        # The first library is compared with the reference, and the others with the first one's
        # results.
        for fault in ["threads", "unwritten"]:
            self.assertEqual(self.faults(kernel, [faulty], GOOD=good, FAULT=fault)[0][0], "bits",
                             fault)
        # Autoscheduled kernels are not checked for these faults.
        for fault, check in [("layout", ["--only"]), ("row ends", ["--only", "--whole"]),
                             ("long row's end", ["--whole"]), ("in place", ["--whole"])]:
            self.assertEqual(self.faults(kernel, [faulty], check=check, GOOD=good, FAULT=fault),
                             [("", "")], fault)
        # `careless` computes quotients by a rounded reciprocal, which is wrong only next to ties.
        # The form leaves extraordinary quotients to another form.
        forms = BUILD.forms(kernel_named("quantize_linear", "f32_u8", "divide"))
        for kernel, fault in [*([kernel_named("quantize_linear", "f32_u8", "reciprocal"),
                                 "careless"] for _ in range("reciprocal" in forms)),
                              (kernel_named("dequantize_linear", "u8_f32", "general"),
                               "zero point 0")]:
            jobs.build_candidate(BUILD, kernel, kernel.knobs, good)
            self.assertEqual([kind for kind, _ in self.faults(kernel, [good, faulty], GOOD=good,
                                                              FAULT=fault)], ["", "bits"], fault)

    def test_every_form_is_checked(self):
        """A form that computes something else is found, because the problems reach it. (The library
        itself finds it in `folded`.)"""
        for operator, signature, other in [("quantize_linear", "f32_u8", "f32_i8"),
                                           ("dequantize_linear", "u8_f32", "i8_f32"),
                                           ("quantized_linear_add", "u8_u8_u8", "u8_u8_i8")]:
            chosen = kernels.picked(BUILD, *kernels.this_machine(BUILD))
            for kernel in [k for k in chosen if (k.operator, k.signature) == (operator, signature)
                           and k.form not in ("plan", "folded")]:
                with self.subTest(kernel.name):
                    wrong = str(self.folder / f"{kernel.name}.so")
                    jobs.build_candidate(BUILD, kernel, kernel.knobs, wrong, other)
                    self.assertEqual([kind for kind, _ in self.faults(kernel, [wrong], (16,))],
                                     ["bits"])

    def test_measuring(self):
        """The command that runs, where it runs, and what a crash results in."""
        kernel, calls = kernel_named("add", "f32", "general"), []

        def run(crashes):
            def run_on(runner, command, libraries):
                calls.append((runner, [str(word) for word in command], list(libraries)))
                if crashes(libraries):
                    return types.SimpleNamespace(returncode=-11, stdout="", stderr="gone")
                told = {"libraries": [{"path": l, "fault": "", "message": ""} for l in libraries],
                        "problems": [{"ns": [[1.0]] * len(libraries)}]}
                return types.SimpleNamespace(returncode=0, stdout=json.dumps(told), stderr="")
            calls.clear()
            return unittest.mock.patch.object(jobs, "run_on", run_on)

        one, all_threads = jobs.Problems(("dense", "inner_4"),
                                         (16, 1000)), jobs.Problems(("dense",), (16,), (1, 0))
        with run(lambda libraries: False):
            jobs.measure(BUILD, kernel, ["a"], "local:1", one, 3, 50, ["--only"])
            jobs.measure(BUILD, kernel, ["a"], "local:1", all_threads, 3)
            jobs.measure(BUILD, kernel, ["a"], "ssh:there", all_threads, 3)
        # All threads do not fit on one CPU, so the runner's CPU is left out.
        self.assertEqual([runner for runner, _, _ in calls], ["local:1", "local", "ssh:there"])
        self.assertEqual(" ".join(calls[0][1][1:]),
                         f"measure --variant {kernel.variant} --in-place --rounds 3 --layouts "
                         "dense,inner_4 "
                         "--elements 16,1000 --threads 1 --sample-us 50 --only")
        with run(lambda libraries: "b" in libraries):
            result = jobs.measure(BUILD, kernel, ["a", "b", "c"], "local", one, 3)
        self.assertEqual([l["fault"] for l in result["libraries"]], ["", "crash", ""])
        self.assertIn("-11: gone", result["libraries"][1]["message"])
        self.assertEqual(result["problems"], [{"ns": [[1.0], None, [1.0]]}])
        with run(lambda libraries: "b" in libraries):
            self.assertEqual(jobs.measure(BUILD, kernel, ["a", "b"], "local", one, 0)["problems"],
                             [])
        # First the incumbent crashes; then no library crashes by itself.
        for crashes in [lambda libraries: "a" in libraries, lambda libraries: len(libraries) > 1]:
            with run(crashes), self.assertRaisesRegex(RuntimeError, "measuring failed: gone"):
                jobs.measure(BUILD, kernel, ["a", "b"], "local", one, 3)
        unknown = jobs.run_on("local", [BUILD.tune_runner, "measure", "--variant", "nonsense"],
                               ["a"])
        self.assertEqual((unknown.returncode, unknown.stderr),
                         (1, "tune_runner: no variant of this build is called nonsense\n"))
        cpu = max(os.sched_getaffinity(0))
        told = jobs.run_on(f"local:{cpu}", [sys.executable, "-c",
                                            "import os; print(os.sched_getaffinity(0))"], []).stdout
        self.assertEqual(told.strip(), f"{{{cpu}}}")

    def test_the_generators_reason(self):
        (self.folder / "hewn_generators").write_text(
            "#!/bin/sh\necho 'Warning: of Halide'\necho \"Unhandled exception: Error: no such tail "
            "$HL_LLVM_ARGS\"\nexit 1\n")
        (self.folder / "hewn_generators").chmod(0o755)
        kernel = dataclasses.replace(kernel_named("add", "f32", "general"),
                                     llvm_args="-as-the-build -tells")
        with self.assertRaisesRegex(jobs.Refused, "^no such tail -as-the-build -tells$"):
            jobs.generate(types.SimpleNamespace(folder=self.folder), kernel, kernel.knobs,
                          self.folder, None, ())

    def test_killed_run_resumes(self):
        child = subprocess.Popen([sys.executable, __file__, str(BUILD.folder), "--search",
                                  str(self.folder)])
        cache = next(iter(small_search(CountingEngine(),
                                       self.folder).cache.path.parents)) / "candidates.jsonl"
        while not (cache.exists() and cache.read_text().count("\n") >= 3):
            self.assertIsNone(child.poll(), "the run ended before it could be killed")
            time.sleep(0.02)
        child.send_signal(signal.SIGKILL)
        child.wait()
        with cache.open("a") as file:
            file.write('{"key": "cut o')  # it was killed while it wrote a line
        engine = CountingEngine()
        tuning = small_search(engine, self.folder)
        known = len(tuning.cache.known)
        self.assertGreaterEqual(known, 3)
        outcome = tuning.run(time.monotonic() + 3600)
        total = len(tuning.candidates())
        self.assertEqual(len(outcome["tried"]), total)
        searched = [knobs for knobs in engine.built if knobs != tuning.incumbent]
        self.assertEqual(len(searched), total - known)
        # Once all is known, nothing is screened again, and only a finalist's library that is gone
        # is built.
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
                problems = [{"layout": "dense", "elements": n, "threads": 1, "bytes": 12 * n,
                             "ns": [list(old), list(rng.normal(
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
        # It may lose a sixth of its speed at 16 elements if it is three times as fast elsewhere.
        self.assertIsNotNone(outcome(3.0, slower_at=16)["adopted"])

    def test_a_winner_has_to_win_again(self):
        tuning = small_search(CountingEngine(), self.folder)
        gains = iter([1.2, 1.0])

        def measured(libraries, rounds):
            gain = next(gains)
            return {"libraries": [{"fault": ""}] * 2, "problems": [
                {"layout": "dense", "elements": n, "threads": 1, "bytes": n,
                 "ns": [[100.0] * rounds, [100.0 / gain] * rounds]}
                for n in search.GUARDED + search.DECIDING]}

        tuning.measure = measured
        self.assertIsNone(tuning.finals([{"status": "timed", "gain": 1.2,
                                          "knobs": small_space()[0]}], "grid")["adopted"])

    def test_knobs_of_the_same_code_are_measured_once(self):
        engine = CountingEngine()
        tuning = small_search(engine, self.folder)
        twins = [add_knobs(vector=vector, width=64 // vector)
                 for vector in (1, 2, 4)]
        engine.build_all([tuning.call(tuning.incumbent)])
        first, *rest = tuning.screen(twins)
        self.assertEqual(first["status"], "timed")
        self.assertEqual([(e["status"], e["gain"]) for e in rest], [("same", first["gain"])] * 2)
        self.assertIn("the code of " + kernels.knob_text(twins[0]), rest[0]["message"])
        self.assertEqual([len(libraries) for libraries, _ in engine.measured], [2])

    def test_problems(self):
        """Every form is timed by problems that reach it."""
        guarded, deciding = (16, 1000), (4096, 65536, 1 << 20)

        def problems(operator, signature, form):
            return search.problems_of(kernel_named(operator, signature, form))

        self.assertEqual(problems("add", "f32", "general"),
                         jobs.Problems(("dense",), guarded + deciding))
        self.assertEqual(problems("add", "f32", "plan"),
                         jobs.Problems(("dense",), guarded + (65536, 1 << 20, 1 << 22, 1 << 24),
                                       (1, 0)))
        self.assertEqual(problems("dequantize_linear", "u8_f32", "general"),
                         jobs.Problems(("dense", "per_axis_last"), guarded + deciding))

    def test_problems_reach_their_form(self):
        """In one of two libraries, the form is an instruction that ends the program. Each problem
        that times the form must end a program with this library. No problem may end one with the
        other library."""
        folder = pathlib.Path(self.folder)
        chosen = kernels.picked(BUILD, *kernels.this_machine(BUILD))
        every = {(k.operator, k.form): k for k in chosen if k.form != "plan"}
        self.assertGreater(len(every), 4)
        instruction = "udf #0" if platform.machine() == "aarch64" else "ud2"

        def trap(build, kernel, *_):
            source, made = folder / "trap.s", folder / "trap.o"
            function = f"hewnk_{kernel.name}"
            source.write_text(f".globl {function}\n{function}: {instruction}\n"
                              '.section .note.GNU-stack,"",%progbits\n')
            subprocess.run([build.cc, "-c", source, "-o", made], check=True)
            return made

        for kernel in every.values():
            jobs.build_candidate(BUILD, kernel, kernel.knobs, folder / "sound.so")
            with unittest.mock.patch.object(jobs, "generate", trap):
                jobs.build_candidate(BUILD, kernel, kernel.knobs, folder / "trap.so")
            problems, timed = search.problems_of(kernel), 0
            for layout, elements in itertools.product(problems.layouts, problems.elements):
                one = jobs.Problems((layout,), (elements,))
                command = [BUILD.tune_runner, "call", "--variant", kernel.variant,
                           *kernel.scales, *one.arguments()]
                sound, called = (jobs.run_on("local", command, [folder / name])
                                 for name in ("sound.so", "trap.so"))
                self.assertEqual(sound.returncode, 0, sound.stderr)
                if json.loads(sound.stdout)["problems"]:  # else too few elements for the layout
                    timed += 1
                    self.assertEqual(called.returncode, -signal.SIGILL,
                                     f"{kernel.name} {layout} {elements}")
            self.assertGreater(timed, 0, kernel.name)

    def test_scores_and_speeds(self):
        def problem(elements, old, new):
            return {"layout": "dense", "elements": elements, "threads": 1, "bytes": 1000,
                    "ns": [old, new]}

        result = {"problems": [problem(16, [100.0] * 4, [1.0] * 4),
                               problem(4096, [200.0] * 4, [100.0] * 4),
                               problem(65536, [800.0] * 4, [100.0] * 4)]}
        deciding, own = search.gains(result, 1)
        np.testing.assert_allclose(deciding, [4] * 4)  # mean of 2 and 8; 16 elements do not decide
        np.testing.assert_allclose(own, [[100] * 4, [2] * 4, [8] * 4])
        self.assertAlmostEqual(search.screened(result, 1), 4)
        (row,) = search.speeds({"problems": [problem(16, [500.0] * 4,
                                                     [200.0, 250.0, 250.0, 300.0])]}, 0, 1)
        self.assertEqual((row["before"], row["after"], row["spread"], row["gain"][0]),
                         (2.0, 4.0, 0.1, 2.0))

    def test_the_cache_is_of_what_was_measured(self):
        kernel, keys = kernel_named("add", "f32", "general"), set()
        for arguments in [{}, {"chip": "another"}, {"runner": "ssh:there"},
                          {"start": small_space()[0]}]:
            keys.add(search.Search(BUILD, kernel, None, self.folder, **arguments).cache.key)
        with unittest.mock.patch.object(search, "sources_digest", lambda build: "others"):
            keys.add(search.Search(BUILD, kernel, None, self.folder).cache.key)
        self.assertEqual(len(keys), 5)
        self.assertEqual(search.Search(BUILD, kernel, None, self.folder, "qemu").problems.elements,
                         (16, 1000, 4096))
        files = [self.folder / name for name in ("hewn_generators", "generated/include/chips.inc",
                                                 "runtime/cpu/plan.cpp", "runtime/hewn.map")]
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
        digests = set()
        for changed in [None, *files]:
            for file in files:
                file.write_text("new" if file == changed else "old")
            digests.add(search.sources_digest(types.SimpleNamespace(folder=self.folder,
                                                                    source=self.folder)))
        self.assertEqual(len(digests), 5)
        cache = search.Cache(self.folder / "candidates.jsonl", "a")
        cache.put(small_space()[0], status="timed", gain=2)
        self.assertEqual(cache.get(small_space()[0])["gain"], 2)
        self.assertEqual(search.Cache(self.folder / "candidates.jsonl",
                                      "a").get(small_space()[0])["gain"], 2)
        self.assertIsNone(search.Cache(self.folder / "candidates.jsonl", "b").get(small_space()[0]))

    def test_the_order_of_the_search(self):
        space = {"a": ["1", "2", "4"], "b": ["x", "y"], "c": ["0", "8"]}
        incumbent = kernels.knob_tuple({"a": "4", "b": "y", "c": "8"})
        every = [kernels.knob_tuple({"a": a, "b": b, "c": c}) for a in space["a"]
                 for b in space["b"] for c in space["c"]]
        candidates = [knobs for knobs in every if knobs != incumbent]
        different = lambda knobs: sum(one != other for one, other in zip(knobs, incumbent))
        grid = search.Grid(candidates, incumbent)
        asked = [knobs for batch in (grid.ask(5), grid.ask(4), grid.ask(9)) for knobs in batch]
        self.assertEqual(sorted(asked), sorted(candidates))
        self.assertEqual([different(knobs) for knobs in asked], [1] * 4 + [2] * 5 + [3] * 2)
        if not importlib.util.find_spec("optuna"):
            self.skipTest("no Optuna: ./tune.sh --set-up installs it")
        optimiser, asked = search.Optimiser(space, candidates, incumbent), []
        while batch := optimiser.ask(4):
            asked += batch
            for knobs in batch:
                optimiser.tell(knobs, None if dict(knobs)["b"] == "x" else 1.0)
        self.assertEqual(len(asked), len(set(asked)))
        self.assertNotIn(incumbent, asked)
        self.assertEqual([different(knobs) for knobs in asked[:4]], [1] * 4)
        # Known results are told again, and a configuration that is not a candidate gains nothing.
        told = [trial for trial in optimiser.study.trials if trial.value is not None]
        self.assertGreater(len(told), len(asked) + 1)
        for trial in told:
            self.assertEqual(trial.value, 0.0 if trial.params["b"] == "x" else 1.0)

    def simulated(self, gain, code=repr):
        """A search whose libraries are empty files, and whose candidates take 100 ns /
        gain(knobs)."""
        tuning = small_search(None, self.folder)
        tuning.candidates = lambda: [knobs for knobs in small_space()
                                     + [add_knobs(width=w) for w in (4, 8)]
                                     if knobs != tuning.incumbent]
        built, measured, by_library = [], [], {}

        def build_all(calls):
            for *_, knobs, library in calls:
                built.append(knobs)
                by_library[library] = knobs
                pathlib.Path(library).parent.mkdir(exist_ok=True)
                pathlib.Path(library).touch()
            return [{"code": code(knobs)} for *_, knobs, _ in calls]

        def measure(build, kernel, libraries, runner, problems, rounds):
            knobs = [by_library[library] for library in libraries]
            measured.append(knobs)
            return {"libraries": [{"path": l, "fault": "", "message": ""} for l in libraries],
                    "problems": [{"layout": "dense", "elements": n, "threads": 1, "bytes": n,
                                  "ns": [[100.0 / gain(k)] * rounds for k in knobs]}
                                 for n in search.GUARDED + search.DECIDING]}

        tuning.engine = types.SimpleNamespace(build_all=build_all, measure=measure)
        return tuning, built, measured

    def test_the_best_are_finalists(self):
        priorities = {}
        tuning, built, measured = self.simulated(lambda knobs: priorities[knobs])
        for i, knobs in enumerate([tuning.incumbent, *tuning.candidates()]):
            priorities[knobs] = 1 + 0.05 * i
        best = sorted(tuning.candidates(), key=priorities.get, reverse=True)
        outcome = tuning.run(time.monotonic() + 3600)
        self.assertEqual((outcome["strategy"], len(outcome["tried"])), ("grid", len(best)))
        self.assertEqual(measured[-2:], [[tuning.incumbent, *best[:search.FINALISTS]],
                                         [tuning.incumbent, best[0]]])
        self.assertEqual(outcome["adopted"]["knobs"], best[0])
        self.assertEqual([finalist["knobs"] for finalist in outcome["finalists"]],
                         best[:search.FINALISTS])
        self.assertAlmostEqual(outcome["adopted"]["gain"], priorities[best[0]])
        tuning.remove_libraries()
        self.assertEqual(list(tuning.folder.glob("*.so")), [])
        # All results are known, but the libraries that the finals need are built again.
        self.assertEqual(set(small_search(None, self.folder).first.values()), set(best))
        built.clear()
        tuning.run(time.monotonic() + 3600)
        self.assertEqual(built, [tuning.incumbent, *best[:search.FINALISTS]])
        pathlib.Path(tuning.library(best[0])).unlink()

    def test_the_code_of_the_present_knobs_is_not_measured(self):
        tuning, _, measured = self.simulated(lambda knobs: 1.0, code=lambda knobs: "all the same")
        outcome = tuning.run(time.monotonic() + 3600)
        self.assertEqual({(entry["status"], entry["gain"]) for entry in outcome["tried"]},
                         {("same", 1.0)})
        self.assertEqual(measured, [[tuning.incumbent]])
        self.assertEqual([pathlib.Path(tuning.library(tuning.incumbent))],
                         list(tuning.folder.glob("*.so")))
        self.assertIsNone(outcome["adopted"])

    def test_refused_present_knobs_end_the_run(self):
        tuning, _, _ = self.simulated(lambda knobs: 1.0)
        tuning.engine.build_all = lambda calls: [{"refused": "no such tail"}]
        with self.assertRaisesRegex(RuntimeError, "the present knobs .*: no such tail"):
            tuning.run(time.monotonic() + 3600)

    @unittest.skipUnless(importlib.util.find_spec("optuna"),
                         "no Optuna: ./tune.sh --set-up installs it")
    def test_a_run_without_time_left_screens_one_batch(self):
        tuning, _, _ = self.simulated(lambda knobs: 1.0)
        outcome = tuning.run(time.monotonic())
        self.assertEqual((outcome["strategy"], len(outcome["tried"])), ("Optuna", search.BATCH))

    def test_tables(self):
        loser = {"knobs": (("tail", "masked"),), "gain": 1.5, "low": 1.4, "high": 1.6,
                 "slower_at": [16], "GB/s": []}
        speed = {"layout": "dense", "elements": 4096, "threads": 1, "before": 10.0, "after": 20.0,
                 "spread": 0.01}
        winner = {**loser, "knobs": (("tail", "stepped"),), "gain": 1.2, "slower_at": [],
                  "GB/s": [speed, {**speed, "threads": 0}]}
        outcome = {"kernel": "k", "incumbent": (("tail", "shifted"),),
                   "finalists": [winner, loser], "adopted": winner, "tried": []}
        lines = report.table([outcome])
        self.assertEqual(lines[1].split(), "k 1.200 1.400 to 1.600 adopted: tail=stepped".split())
        self.assertEqual([line.split() for line in lines[2:]],
                         [f"dense, 4096 elements{where} 10.00 -> 20.00 GB/s spread 1.0%".split()
                                                                for where in ("", ", all threads")])
        self.assertTrue(report.table([{**outcome, "adopted": None}])[1].endswith(
            "kept: tail=shifted (the best candidate is slower at [16])"))
        alone = {**outcome, "adopted": None, "finalists": [winner]}
        self.assertTrue(report.table([alone])[1].endswith("kept: tail=shifted"))
        self.assertIn("no candidate gives the right bits",
                      report.table([{**outcome, "adopted": None, "finalists": []}])[1])

    def test_comparison_with_other_tuning_files(self):
        kernel = next(k for k in BUILD.kernels if (k.operator, k.signature,
                                                   k.form) == ("add", "f32", "general"))
        family = kernel.family(SOURCE / "tuning")
        with self.assertRaisesRegex(RuntimeError, f"{self.folder} has no tuning file of "
                                                  f"{kernel.target}"):
            autoschedulers.compare(BUILD, kernel, "local", self.folder / "w", self.folder)

        def write(name, tail, **more):
            (self.folder / f"{name}.json").write_text(
                json.dumps({"knobs": {"add": {"general": {"tail": tail}}, **more}}))

        # A signature's values win over those of its operator, and a target's own file is read
        # instead of its family's. Knobs without a value have their default.
        knobs = lambda: dict(BUILD.default_knobs(kernel, self.folder))
        defaults = {name: values[0] for name, values in BUILD.space(kernel).items()}
        write(family, "stepped")
        self.assertEqual(knobs(), {**defaults, "tail": "stepped"})
        write(family, "stepped", add_f32={"general": {"vector": 8}})
        self.assertEqual(knobs(), {**defaults, "tail": "stepped", "vector": "8"})
        write(family, "stepped", add_f32={"general": {"tail": "masked"}})
        self.assertEqual(knobs(), {**defaults, "tail": "masked"})
        write(kernel.target, "shifted")
        self.assertEqual(knobs(), {**defaults, "tail": "shifted"})

        # A size counts as slower only if it is slower twice.
        speeds = iter([[1.0, 2.0, 1.0], [1.0, 2.0, 2.0]])

        def measure(build, kernel, libraries, runner, problems, rounds, sample_us=200, check=()):
            self.assertEqual(problems.elements,
                             autoschedulers.SIZES if not check else autoschedulers.ELEMENTS)
            slowness = [1.0] * 6 if check else [0.5, *next(speeds), 0.5, 0.5]
            names = [pathlib.Path(library).stem for library in libraries]
            faults = {"adams2019": "bits"}
            if "--whole" not in check:
                faults["li2018"] = "tails"
            problems = [
                {"layout": "dense", "elements": n, "threads": 1, "bytes": n,
                 "ns": [[100.0 * (slow if name == "present" else 1.0)] * 40 for name in names]}
                for n, slow in zip(problems.elements, slowness)]
            return {"libraries": [{"fault": faults.get(name, ""), "message": "so"}
                                  for name in names], "problems": problems}

        def build(build, kernel, knobs, library, signature, arguments):
            if "shifted" in dict(knobs).values():
                raise jobs.Refused("ADD computes elements twice")
            library.parent.mkdir(exist_ok=True)
            shutil.copy(BUILD.tune_runner, library)
            return repr(knobs) + repr(arguments)

        with (unittest.mock.patch.object(autoschedulers, "measure", measure),
              unittest.mock.patch.object(autoschedulers, "build_candidate", build)):
            compared = autoschedulers.compare(BUILD, dataclasses.replace(kernel, knobs=()),
                                              "local", self.folder / "w", self.folder)
            self.assertEqual(compared["sizes"], [])  # the others are refused
            text = "\n".join(autoschedulers.table(compared))
            self.assertIn("not built: ADD computes elements twice", text)
            self.assertIn("present / default: not compared", text)
            write(kernel.target, "stepped")
            compared = autoschedulers.compare(BUILD, dataclasses.replace(kernel, knobs=()),
                                              "local", self.folder / "w", self.folder)
            stepped = dataclasses.replace(kernel, knobs=(("tail", "stepped"),))
            same = autoschedulers.compare(BUILD, stepped, "local", self.folder / "w", self.folder)
        self.assertEqual([row["slower"] for row in compared["sizes"]],
                         [False, False, True, False, False, False])
        self.assertEqual([row["gain"][0] for row in compared["sizes"]],
                         [2.0, 1.0, 0.5, 1.0, 2.0, 2.0])
        text = "\n".join(autoschedulers.table(compared))
        self.assertEqual((text.count("SLOWER"), same["sizes"]), (1, []))
        self.assertIn("present / default: the same code", "\n".join(autoschedulers.table(same)))
        rows = {row["name"]: row for row in compared["rows"]}
        self.assertEqual({name: row["fault"] for name, row in rows.items()},
                         {"present": "", "default": "", "mullapudi2016": "",
                          "adams2019": "breaks bits: so", "li2018": "breaks row ends: so"})
        self.assertEqual({name for name, row in rows.items() if "gain" not in row}, {"adams2019"})
        self.assertEqual({row["bytes"] for row in rows.values()}, {0})
        self.assertEqual(list((self.folder / "w").rglob("*.so")), [])

    def test_the_program(self):
        """tools/tune/measuring.py: a kernel that fails, the time of each kernel, and what is
        recorded."""
        program = measuring
        build = types.SimpleNamespace(kernels=[types.SimpleNamespace(name=name) for name in "abc"])
        path = self.folder / "run.json"
        search.Journal(path, "key").finish("a", 1, 5)
        asked = []

        def work(kernel, i):
            asked.append((kernel.name, i))
            if kernel.name == "b":
                raise RuntimeError("b is wrong")
            return 3

        with (open(self.folder / "output", "w+") as output,
              unittest.mock.patch.object(sys, "stdout", output)):
            self.assertEqual(program.each(build, search.Journal(path, "key"), work), ([1, 3], 1))
            output.seek(0)
            self.assertIn("FAILED: b is wrong", output.read())
        self.assertEqual(asked, [("b", 1), ("c", 2)])
        self.assertEqual(search.Journal(path, "key").outcomes, {"a": 1, "c": 3})

        speed = {"layout": "dense", "elements": 16, "threads": 0, "before": 1.0, "after": 2.0,
                 "spread": 0.1}
        finalist = {"knobs": (("tail", "stepped"),), "low": 1.0, "gain": 1.2345, "high": 1.5,
                    "GB/s": [speed]}
        told = {"chip": "a chip", "candidates": 2, "knobs": "tail=stepped",
                "gain": [1.0, 1.234, 1.5],
                "GB/s before, after, spread": {"dense, 16 elements, all threads": [1.0, 2.0, 0.1]}}
        for adopted in (None, finalist):
            with unittest.mock.patch.object(kernels, "record") as record:
                program.record("build", "kernel", {"adopted": adopted, "finalists": [finalist],
                                                   "tried": [1, 2]}, {"chip": "a chip"})
            record.assert_called_once_with("build", "kernel", adopted and finalist["knobs"], told)

        # After 50 s of a budget of 150 s, the rest is shared out. A plan gets three parts of it,
        # and each other kernel one. Times under qemu are not recorded.
        forms = [types.SimpleNamespace(name=form, form=form, knobs=(), target="t")
                 for form in ("general", "dense", "plan")]
        build = types.SimpleNamespace(tuning=self.folder, kernels=forms)
        options = types.SimpleNamespace(dask=None, jobs=1, budget=150, build_dir=self.folder,
                                        runner="local")
        outcome = {"kernel": "k", "adopted": None, "finalists": [], "tried": []}
        patched = lambda name, value: unittest.mock.patch.object(program, name, value)
        for runner, records in [("local", 3), ("qemu", 0)]:
            options.runner, shares = runner, []
            made = lambda *_, **__: types.SimpleNamespace(
                run=lambda deadline: shares.append(deadline - 1000) or outcome,
                remove_libraries=lambda: None, results=unittest.mock.Mock())
            record = unittest.mock.Mock()
            pages = types.SimpleNamespace(table=report.table, write=lambda *_, **__: "page")
            clock = types.SimpleNamespace(monotonic=lambda: 1000)
            journal = search.Journal(self.folder / f"{runner}.json", "key")
            journal.spent = 50
            with (open(os.devnull, "w") as nowhere,
                  unittest.mock.patch.object(sys, "stdout", nowhere), patched("record", record),
                  patched("report", pages), patched("building", unittest.mock.Mock()),
                  patched("time", clock), unittest.mock.patch.object(search, "Search", made)):
                self.assertEqual(program.tune(options, build, runner, {"chip": "a chip"}, journal),
                                 0)
            self.assertEqual((shares, record.call_count), ([20, 25, 100], records))

        asked = []
        for words in (["--op", "add", "--signature", "f32", "--signature", "i8"],
                      ["--signature", "add_f32"]):
            nothing = types.SimpleNamespace(kernels=[])
            build_for = lambda options, signatures: asked.append(signatures) or nothing
            with (patched("build_for", build_for),
                  unittest.mock.patch.object(sys, "argv", ["tune", *words]),
                  open(os.devnull, "w") as nowhere,
                  unittest.mock.patch.object(sys, "stdout", nowhere),
                  self.assertRaisesRegex(SystemExit, "has no knobs")):
                load_program().main()
        self.assertEqual(asked, [["add_f32", "add_i8"], ["add_f32"]])

    def test_the_time_left(self):
        """Later kernels are expected to take as long as earlier ones, by weight, but not longer
        than the budget."""
        build = types.SimpleNamespace(kernels=[types.SimpleNamespace(name=n, form=f) for n, f in [
            ("a", "general"), ("b", "general"), ("c", "general"), ("d", "plan")]])
        journal = types.SimpleNamespace(outcomes={"a": None}, spent=10)
        step = search.Step(1, 2, "", 4.0)
        # Kernel a took 10 s, and b has taken 2 of 6 s. c and d have weight 4 together.
        left = lambda available: measuring.search_left(build, 1, journal, 2.0, step, available)
        self.assertEqual((left(1000), left(20), left(-1)), (4 + 4 * 8, 20, 4))
        pace = search.Pace()
        with unittest.mock.patch.object(search.time, "monotonic", lambda: pace.started + 6):
            self.assertEqual(pace.seconds(0, 5), float("inf"))  # all that was asked for was known
            self.assertEqual((pace.seconds(3, 5), pace.seconds(3, 0)), (10, 0))

    def test_the_search_tells_how_far_it_is(self):
        told = []
        tuning = small_search(CountingEngine(), self.folder, told.append)
        tuning.run(time.monotonic() + 3600)
        total = len(tuning.candidates())
        self.assertEqual([(step.done, step.total) for step in told],
                         [(min(n, total), total) for n in range(search.BATCH, total + search.BATCH,
                                                                search.BATCH)])
        self.assertTrue(all(0 < step.left < 3600 for step in told), told)
        again = []
        small_search(CountingEngine(), self.folder, again.append).exhaust(time.monotonic() + 3600)
        self.assertEqual(again, [])  # all is known

    def test_plan_candidates(self):
        kernel = kernel_named("add", "f32", "plan")
        tuning = search.Search(BUILD, kernel, CountingEngine(), self.folder,
                               report=lambda text: None)
        defaults = {name: values[0] for name, values in BUILD.space(kernel).items()}
        tuning.problems = jobs.Problems(("dense",), (16, 1 << 20), (1, 0))
        tuning.candidates = lambda: [kernels.knob_tuple(
            {**defaults, "box_bytes": n, "stream_bytes": 8 << 20, "parallel_bytes": 262144})
                                     for n in (65536, 1 << 20)]
        outcome = tuning.run(time.monotonic() + 3600)
        self.assertEqual([e["status"] for e in outcome["tried"]], ["timed", "timed"])
        self.assertEqual([(p["elements"], p["threads"]) for p in outcome["finalists"][0]["GB/s"]],
                         [(16, 1), (1 << 20, 1), (1 << 20, 0)])

    def test_knobs_by_hand_stay(self):
        kernel = kernel_named("add", "f32", "plan")
        start = {"reciprocal_elements": "512", "slices_per_cpu": "2"}
        tuning = search.Search(BUILD, kernel, CountingEngine(), self.folder,
                               report=lambda text: None, start=kernels.knob_tuple(start))
        candidates = [dict(knobs) for knobs in tuning.candidates()]
        self.assertEqual({knobs["reciprocal_elements"] for knobs in candidates}, {"512"})
        self.assertEqual({knobs["slices_per_cpu"] for knobs in candidates},
                         set(BUILD.values["slices_per_cpu"]))
        self.assertNotIn(tuning.incumbent, tuning.candidates())

    def test_auto_asks_about_every_target(self):
        asked = measuring.OF_ALL_TARGETS
        signatures = {f"{k.operator}_{k.signature}" for k in BUILD.kernels}
        if not set(asked) <= signatures:
            self.skipTest("not all of them were built")
        self.assertEqual({k.target for k in BUILD.kernels},
                         {k.target for k in BUILD.kernels
                          if f"{k.operator}_{k.signature}" in asked})

    def test_auto_tunes_what_dispatch_picks(self):
        priorities = {"x86_64_avx2": 20, "x86_64_avx512": 30, "x86_64_avx512_vnni": 40}
        targets = {kernel.target for kernel in BUILD.kernels}
        if not set(priorities) <= targets or "add" not in {kernel.operator for kernel in BUILD.kernels}:
            self.skipTest("not all of them were built")
        # The target with VNNI has only the sums of bytes.
        wanted = {"add": "x86_64_avx512", "quantized_linear_add": "x86_64_avx512_vnni"}
        picked = kernels.picked(BUILD, priorities)
        for operator, target in wanted.items():
            self.assertEqual({kernel.target for kernel in picked
                              if kernel.operator == operator
                              and (operator == "add" or "16" not in kernel.signature)},
                             {target})
        left = {key for key, priority in BUILD.priorities_in_halves.items() if priority}
        for kernel in kernels.picked(BUILD, priorities, in_halves=True):
            key = kernel.operator, kernel.signature
            of_bytes = kernel.operator == "quantized_linear_add" and "16" not in kernel.signature
            vnni = "_vnni" if of_bytes else ""
            wanted = f"x86_64_avx512{vnni}"
            self.assertEqual(kernel.target, "x86_64_avx2" if (*key, wanted) in left else wanted,
                             key)
        del priorities["x86_64_avx512_vnni"]
        self.assertEqual({kernel.target for kernel in kernels.picked(BUILD, priorities)},
                         {"x86_64_avx512"})

    def test_this_machine(self):
        priorities, in_halves = kernels.this_machine(BUILD)
        info = json.loads(subprocess.run([BUILD.folder / "bin/hewn", "info", "--json"],
                                         capture_output=True, check=True).stdout)
        self.assertEqual(priorities, {target["name"]: target["priority"] for target in info["targets"]
                                 if target["supported"]})
        picked = {f"{k.operator}_{k.signature}__{k.target}"
                  for k in kernels.picked(BUILD, priorities, in_halves) if k.form != "plan"}
        if not os.environ.get("HEWN_VARIANT"):
            cpu = {target["name"] for target in info["targets"] if target["device"] == "cpu"}
            # The tuner has problems for all operators with one output.
            one_output = {op.name for op in OPERATORS
                          if [tensor.role for tensor in op.tensors].count("output") == 1}
            self.assertEqual(picked, {v["name"] for v in info["variants"] if v["picked"]
                                      and v["target"] in cpu and v["operator"] in one_output})
        nowhere = kernels.Build(BUILD.folder)
        nowhere.folder = self.folder
        with self.assertRaisesRegex(RuntimeError, "the targets of .*libhewn.so cannot be read: "
                                                  ".*No such file"):
            kernels.this_machine(nowhere)

    def test_a_run_of_several_kernels_goes_on(self):
        path = self.folder / "run.json"
        search.Journal(path, "key").finish("a", {"adopted": None}, 3)
        search.Journal(path, "key").finish("b", {"adopted": None}, 4)
        self.assertEqual((search.Journal(path, "key").spent,
                          set(search.Journal(path, "key").outcomes)), (7, {"a", "b"}))
        self.assertEqual((search.Journal(path, "another").spent,
                          search.Journal(path, "another").outcomes), (0, {}))

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"),
                         "no matplotlib: ./tune.sh --set-up installs it")
    def test_report(self):
        tuning = small_search(CountingEngine(), self.folder)
        tuning.candidates = lambda: small_space()[:3]
        outcome = tuning.run(time.monotonic() + 3600)
        row = {"knobs": tuning.incumbent, "seconds": 1.0, "fault": "", "code": "1", "bytes": 0,
               "gain": 1.0, "low": 0.9, "high": 1.1}
        size = {"layout": "dense", "threads": 1, "before": 1.0, "after": 0.5, "spread": 0.1,
                "slower": False}
        compared = {"kernel": outcome["kernel"],
                    "rows": [{**row, "name": "present"}, {**row, "name": "default"},
                             {**row, "name": "li2018", "fault": "breaks row ends"}],
                    "sizes": [{**size, "elements": 16, "gain": [1.2, 1.1, 1.3]},
                              {**size, "elements": 256, "gain": [0.5, 0.4, 0.6], "slower": True}]}
        report.write(self.folder / "report", {"chip": "<a chip>"}, tuned=[outcome])
        page = report.write(self.folder / "report", {"chip": "<another>"},
                            compared=[compared]).read_text()
        for entry in outcome["tried"]:
            self.assertIn(kernels.knob_text(entry["knobs"]), page)
        for text in ("&lt;a chip&gt;", "&lt;another&gt;", "computes elements twice",
                     "breaks row ends",
                     f"{outcome['kernel']} (dense, 256 elements)", "anderson2021"):
            self.assertIn(text, page)
        self.assertNotIn(f"{outcome['kernel']} (dense, 16 elements)", page)  # not slower there
        pictures = re.findall(r"<img (?:loading=lazy )?src='?([^'>]*)", page)
        self.assertEqual(len(pictures), 4)
        for picture in pictures:
            self.assertEqual((self.folder / "report" / picture).read_bytes()[:4], b"\x89PNG")

    def test_runners_elsewhere(self):
        """ssh and adb are replaced by programs that do on this machine what ssh and adb do on
        another."""
        tools = self.folder / "bin"
        tools.mkdir()
        device = self.folder / "device"
        scripts = {
            "ssh": 'shift; TMPDIR={device} exec sh -c "$*"',
            "scp": 'shift; for last; do :; done; while [ $# -gt 1 ]; do cp "$1" "${{last#*:}}"; '
                   'shift; done',
            "adb": 'verb=$1; shift; if [ $verb = shell ]; then exec sh -c "$(echo "$*" | sed '
                   's:/data/local/tmp:{device}:g)"; fi\n'
                   'for last; do :; done; while [ $# -gt 1 ]; do cp "$1" "$(echo "$last" | sed '
                   's:/data/local/tmp:{device}:)"; shift; done'}
        device.mkdir()
        for name, script in scripts.items():
            (tools / name).write_text("#!/bin/sh\necho $0 >>{log}\n".format(log=self.folder / name)
                                      + script.format(device=device) + "\n")
            (tools / name).chmod(0o755)
        kernel = kernel_named("add", "f32", "general")
        library = self.folder / "present.so"
        jobs.build_candidate(BUILD, kernel, kernel.knobs, library)
        path = os.environ["PATH"]
        self.addCleanup(os.environ.update, PATH=path)
        os.environ["PATH"] = f"{tools}:{path}"
        for runner, calls in (("ssh:elsewhere", 3), ("adb", 3)):
            result = jobs.measure(BUILD, kernel, [str(library)], runner,
                                  jobs.Problems(("dense",), (16, 1000)), 2, 50)
            self.assertEqual([l["fault"] for l in result["libraries"]], [""])
            self.assertEqual([len(p["ns"][0]) for p in result["problems"]], [2, 2])
            self.assertGreaterEqual(
                len((self.folder / runner.partition(":")[0]).read_text().splitlines()), calls)
        # The folder of ssh is removed. The folder of adb is made anew each time.
        self.assertEqual([p.name for p in device.iterdir()], ["hewn-tune"])

    def test_adopted_values_are_what_the_next_build_reads(self):
        build = kernels.Build(BUILD.folder)
        build.tuning = self.folder
        text = (SOURCE / "tuning/x86_64.json").read_text()
        (self.folder / "x86_64.json").write_text(
            json.dumps({**json.loads(text),
                        "tuned": {"add general": {"kept": {"chip": "a third"}}}}))
        kernel = next(k for k in build.kernels if k.operator == "add"
                      and k.target.startswith("x86_64_"))
        path = self.folder / f"{kernel.target}.json"
        kernels.record(build, kernel, None, {"chip": "a chip"})
        self.assertFalse(path.exists())  # nothing changed: the family's file still serves
        kernels.record(build, kernel,
                       kernels.knob_tuple({"tail": "stepped", "vector": 8, "width": 4}),
                       {"chip": "a chip"})
        kernels.record(build, kernel, None, {"chip": "another"})
        document = json.loads(path.read_text())
        family = json.loads((SOURCE / "tuning/x86_64.json").read_text())
        key = f"add_{kernel.signature}"
        self.assertEqual(document["knobs"].pop(key),
                         {"general": {"tail": "stepped", "vector": 8, "width": 4}})
        self.assertEqual(document["knobs"], family["knobs"])
        self.assertEqual((document["target"], document["halide"]), (kernel.target, build.halide))
        self.assertEqual(document["tuned"],
                         {f"{key} general": {"adopted": {"chip": "a chip"},
                                             "kept": {"chip": "another"}}})
        self.assertEqual(document["provenance"], ["the values of x86_64"])
        later = dataclasses.replace(kernel, target="x86_64_avx10_256")
        self.assertEqual(later.family(self.folder), "x86_64")
        (self.folder / "x86_64_avx10.json").write_text("{}")
        self.assertEqual(later.family(self.folder), "x86_64_avx10")
        self.assertEqual(build.default_knobs(kernel),
                         add_knobs(tail="stepped", vector=4))


class CommandLineTest(unittest.TestCase):
    """Tests of ./tune.sh in a copy whose set-up fails."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copytree(SOURCE / "tools/tune", self.folder / "tools/tune",
                        ignore=shutil.ignore_patterns("__pycache__"))
        (self.folder / "scripts").mkdir()
        for name in ("tune.sh", "scripts/venv.sh"):
            shutil.copy(SOURCE / name, self.folder / name)
        setup = self.folder / "scripts/setup.sh"
        setup.write_text('#!/bin/sh\ntouch "$0.ran"\nexit 9\n')
        setup.chmod(0o755)

    def tune(self, *words):
        return subprocess.run([self.folder / "tune.sh", *map(str, words)], cwd=self.folder,
                              capture_output=True, text=True)

    def made(self):
        return sorted(path.name for path in self.folder.iterdir()
                      if path.name not in ("tools", "scripts", "tune.sh")) + [
            path.name for path in (self.folder / "scripts").glob("*.ran")]

    def test_help_and_mistakes_are_answered_at_once(self):
        options = {"": "--budget", "search": "--report", "export-space": "--elements",
                   "record": "--elements", "merge": "ALL", "benchmark": "--optimiser"}
        self.assertEqual(set(options) - {""}, set(command_line.COMMANDS))
        for command, option in options.items():
            for flag in ("-h", "--help"):
                told = self.tune(*command.split(), flag)
                self.assertEqual((told.returncode, told.stderr), (0, ""), command)
                self.assertIn(option, told.stdout)
        for command in options:
            self.assertIn(command, self.tune("--help").stdout)
        self.assertNotIn("--budget", self.tune("benchmark", "--help").stdout)
        (self.folder / "a.json").touch()
        for words, says in [
                (["--budget", "10"], "'10' is not a time"),
                (["--budget", "m"], "'m' is not a time"),
                (["--bugdet", "10m"], "unrecognized arguments: --bugdet 10m"),
                (["--runner", "ssh:"], "ssh:: not local, qemu"),
                (["--runner", "locals"], "locals: not local, qemu"),
                (["--tuning-dir", "/nowhere"], "argument --tuning-dir: /nowhere: not a folder"),
                (["--against", "/nowhere"], "argument --against: /nowhere: not a folder"),
                (["--op", "add", "--op", "quantize_linear", "--signature", "f32"],
                 "--signature with several --op"),
                (["benchmrk"], "did you mean benchmark?"),
                (["nonsense"], "the commands are search"),
                (["--budget", "3m", "record"], "record: a command comes before its options"),
                (["benchmark"], "no T4 file is named"),
                (["benchmark", "none.json"], "none.json: there is no such file"),
                (["benchmark", "a.json", "--optimisers", "tpe,luck"], "not known: luck"),
                (["benchmark", "a.json", "--optimisers", "none"], "name an --optimiser"),
                (["benchmark", "a.json", "--optimiser", "tpe"], "'tpe' is not MODULE:FUNCTION"),
                (["record", "a"], "unrecognized arguments: a"),
                (["merge", "a"], "the following arguments are required: FILE")]:
            told = self.tune(*words)
            self.assertEqual(told.returncode, 2, words)
            self.assertIn(says, told.stderr)
        self.assertEqual(self.made(), ["a.json"])
        for words in ([], ["--set-up"], ["export-space", "--op", "add"], ["record"]):
            self.assertEqual(self.tune(*words).returncode, 9)
            self.assertEqual(self.made(), ["a.json", "setup.sh.ran"])
            (self.folder / "scripts/setup.sh.ran").unlink()

    def test_merging_needs_no_set_up(self):
        (file,) = (SOURCE / "docs/measurements/spaces/zen4").glob("add_f32__*.T4.json.gz")
        told = self.tune("merge", "both.T4.json.gz", file, file)
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        self.assertIn("of 1 machine(s)", told.stdout)
        self.assertEqual(self.made(), ["both.T4.json.gz"])

    def test_defaults(self):
        options = command_line.arguments([])
        self.assertEqual((options.command, options.target, options.budget, options.runner),
                         ("search", "auto", 600, "local"))
        self.assertEqual(command_line.arguments(["--runner", "ssh:there"]).runner, "ssh:there")
        self.assertEqual([command_line.seconds(text) for text in ("90s", "10m", "1h")],
                         [90, 600, 3600])
        self.assertEqual(command_line.arguments(["record", "--elements", "64", "--elements", "16"])
                         .elements, [16, 64])
        folders = {command_line.arguments([command]).build_dir
                   for command in ("search", "record", "export-space")}
        self.assertEqual(folders, {SOURCE / "build-tune", building.SPACES})


class Terminal(io.StringIO):
    def isatty(self):
        return True


class ProgressTest(unittest.TestCase):
    def shown(self, stream):
        """The progress that is shown for a run of ten steps of 20 s each."""
        moment = [0.0]
        with progress.Progress("tune", stream, 30, lambda: moment[0]) as shown:
            for done in range(1, 11):
                moment[0] += 20
                shown.update(done, 10, f"{done} of 10", 5 if done == 10 else None)
        return stream.getvalue()

    def test_lines_now_and_then(self):
        self.assertEqual(self.shown(io.StringIO()).splitlines(),
                         [f"tune: {spent} so far, about {left} left; {n} of 10"
                          for n, spent, left in [(2, "0:40", "2:40"), (4, "1:20", "2:00"),
                                                 (6, "2:00", "1:20"), (8, "2:40", "0:40"),
                                                 (10, "3:20", "0:05")]])
        self.assertEqual([progress.clock(s) for s in (0, 59.6, 3600, 36061)],
                         ["0:00", "1:00", "1:00:00", "10:01:01"])

    @unittest.skipUnless(progress.tqdm, "no tqdm: ./tune.sh --set-up installs it")
    def test_one_line_on_a_terminal(self):
        told = self.shown(Terminal())
        self.assertNotIn("\n", told.strip())
        self.assertGreater(told.count("\r"), 2)
        self.assertIn("about 0:05 left", told)
        self.assertNotIn("it/s", told)  # the line is hewn's, not tqdm's
        # A line that stays does not run into the line of progress.
        stream, out = Terminal(), io.StringIO()
        with (progress.Progress("tune", stream) as shown,
              unittest.mock.patch.object(sys, "stdout", out)):
            shown.update(1, 10)
            shown.say("a line")
        self.assertEqual(out.getvalue(), "a line\n")


class BuildingTest(unittest.TestCase):
    def test_what_is_missing_is_named(self):
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        with self.assertRaisesRegex(
                building.BuildError,
                "(?s)HEWN_TARGETS: 'pdp11' is not one of.*scripts/setup.sh installs"):
            building.configure(folder / "wrong", ["pdp11"])
        with (unittest.mock.patch.object(building, "environment", lambda: {"PATH": str(folder)}),
              unittest.mock.patch.dict(os.environ, {"PATH": str(folder)}),
              self.assertRaisesRegex(building.BuildError,
                                     "(?s)there is no cmake.*scripts/setup.sh")):
            building.configure(folder / "nothing")
        for file in ("generated/kernels.json", "libhewn.a", "tools/tune/tune_runner"):
            with self.assertRaisesRegex(ValueError, f"build: {folder} has no {file}: leave"):
                building.existing(folder, "add_f32__x86_64_avx2__general")
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(BUILD.folder / "generated/kernels.json", folder / file)
        with self.assertRaisesRegex(ValueError, "kernel: .* has no nothing; it has "):
            building.existing(folder, "nothing")

    def test_a_kernel_joins_those_that_are_there(self):
        """Kernels are added to those in a folder of its own. Each kernel comes with the first
        signature of its operator's plan."""
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        first, other = (kernel_named("add", "f32", "general"),
                        kernel_named("quantize_linear", "f32_u8", "divide"))
        plan = next(k for k in BUILD.kernels if (k.operator, k.target, k.form)
                    == ("add", first.target, "plan"))
        configured, built = [], []

        def configure(where, targets=(), operators=(), signatures=()):
            if where == building.SPACES:
                return BUILD
            configured.append((where, targets, operators, signatures))
            (where / "generated").mkdir(parents=True, exist_ok=True)
            text = json.loads((BUILD.folder / "generated/kernels.json").read_text())
            text["kernels"] = [k for k in text["kernels"] if k["target"] in targets
                               and f"{k['operator']}_{k['signature']}" in signatures]
            (where / "generated/kernels.json").write_text(json.dumps(text))
            for file in ("libhewn.a", "tools/tune/tune_runner"):
                (where / file).parent.mkdir(parents=True, exist_ok=True)
                (where / file).touch()

        with (unittest.mock.patch.object(building, "LIVE", folder / "live"),
              unittest.mock.patch.object(building, "configure", configure),
              unittest.mock.patch.object(building, "build", lambda *what: built.append(what))):
            self.assertEqual(building.with_kernel(first.name)[1], first)
            self.assertEqual(building.with_kernel(first.name)[1], first)
            self.assertEqual(building.with_kernel(plan.name)[1], plan)
            self.assertEqual(len(configured), 1)  # it was there
            self.assertEqual(building.with_kernel(other.name)[1], other)
            with self.assertRaisesRegex(ValueError, f"did you mean .*{first.name}"):
                building.with_kernel(first.name[:-1])
        self.assertEqual(built, [(folder / "live", "hewn_static", "tune_runner")] * 4)
        (_, targets, _, signatures), (_, both_targets, _, both) = configured
        self.assertEqual(targets, [first.target])
        self.assertEqual(signatures, sorted({"add_f32", f"add_{plan.signature}"}))
        self.assertEqual(both_targets, sorted({first.target, other.target}))
        self.assertLessEqual({*signatures, "quantize_linear_f32_u8"}, set(both))


if __name__ == "__main__":
    BUILD = kernels.Build(sys.argv.pop(1))
    if "--search" in sys.argv:
        search.BATCH = 2
        small_search(CountingEngine(), sys.argv[-1]).run(time.monotonic() + 3600)
    else:
        unittest.main(argv=sys.argv)
