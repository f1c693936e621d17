#!/usr/bin/env python3
"""Tests of other projects' optimisers on a recorded space, of Kernel Tuner with hewn's files, and
of the benchmark of optimisers. The file takes no arguments.

It needs the wheels of tools/tune/benchmark-requirements.txt. build-tune/benchmark-venv/bin/python
has them, which `./tune.sh benchmark --set-up` makes."""

import contextlib
import io
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

try:
    import jsonschema
    import kernel_tuner
    import nevergrad
    import optuna
    import scipy.optimize
    from kernel_tuner import file_utils
except ImportError as missing:
    print(f"skipped: {missing}; ./tune.sh benchmark --set-up installs it")
    sys.exit(77)

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tools/tune"))
import hewn_tune  # noqa: E402
from hewn_tune import benchmark  # noqa: E402

PARAMETERS = {"width": [0, 4, 8, 16, 32, 64], "vector": [1, 2, 4, 8, 16],
              "tail": ["masked", "shifted", "stepped", "narrowed"], "ahead": [0, 512, 1024, 2048]}
CONDITIONS = ["tail != 'narrowed' or width == 16", "width * vector <= 512"]
PRESENT = {"width": 0, "vector": 1, "tail": "masked", "ahead": 0}
BEST = {"width": 16, "vector": 4, "tail": "narrowed", "ahead": 1024}


def ms(config):
    """A made-up time in ms, with one optimum: BEST takes 0.5 ms."""
    far = sum(abs(PARAMETERS[n].index(config[n]) - PARAMETERS[n].index(BEST[n])) * weight
              for n, weight in {"width": 0.05, "vector": 0.07, "tail": 0.06, "ahead": 0.03}.items())
    return 0.5 + far


def synthetic():
    """A recorded space in which every eighth configuration is wrong or was refused, except for the
    best and the present one."""
    space = hewn_tune.Space("quantize_linear_made_up", PARAMETERS, CONDITIONS, PRESENT)
    made = []
    for i, config in enumerate(space.configurations()):
        right = i % 8 != 3 or config in (BEST, PRESENT)
        status = "correct" if right else ("compile", "correctness")[i // 8 % 2]
        measured = [{"name": "time", "value": ms(config), "unit": "ms"}] if right else []
        made.append({"timestamp": "2026-11-28T00:00:00Z", "configuration": config,
                     "invalidity": status, "correctness": int(right), "objectives": ["time"],
                     "message": "" if right else "made up", "measurements": measured,
                     "times": {"compilation_time": 400, "benchmark": 600, "framework": 0,
                               "search_algorithm": 0, "validation": 0,
                               "runtimes": [[ms(config)] * 3]}, "machine": "m"})
    return hewn_tune.Results(space, made, {"m": {"id": "m", "cpu": "made up", "halide": "21.0.0"}})


class ForeignTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.file, self.t1 = self.folder / "a.T4.json.gz", self.folder / "a.T1.json"
        synthetic().write(self.file)
        self.tuner = hewn_tune.Recorded(self.file)
        hewn_tune.write_t1(self.tuner.space(), 65536, self.t1)
        self.assertEqual(self.tuner.best(), (BEST, 0.5))

    def near(self, config, least=0.85):
        """Checks that the configuration has at least this part of the best one's speed. The space's
        median has 0.65 of it."""
        self.assertGreaterEqual(0.5 / self.tuner.evaluate(config).time, least, config)

    # ---- Five optimisers, as their own documents use them ----

    def test_optuna(self):
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
        study.optimize(lambda trial: self.tuner.evaluate(
            {n: trial.suggest_categorical(n, v) for n, v in PARAMETERS.items()}).time, 150)
        self.near(study.best_params)

    def test_scipy(self):
        at = lambda x: {n: v[min(int(i), len(v) - 1)] for (n, v), i in zip(PARAMETERS.items(), x)}
        found = scipy.optimize.differential_evolution(
            lambda x: min(self.tuner.evaluate(at(x)).time, 10), seed=1, maxiter=15,
            bounds=[(0, len(values)) for values in PARAMETERS.values()], polish=False)
        self.near(at(found.x))

    def test_nevergrad(self):
        knobs = nevergrad.p.Dict(**{n: nevergrad.p.TransitionChoice(v)
                                    for n, v in PARAMETERS.items()})
        knobs.random_state.seed(1)
        optimiser = nevergrad.optimizers.registry["DiscreteOnePlusOne"](knobs, budget=200)
        for _ in range(200):
            asked = optimiser.ask()
            optimiser.tell(asked, min(self.tuner.evaluate(asked.value).time, 10))
        self.near(optimiser.recommend().value)

    def simulated(self, strategy, **options):
        cache = self.folder / "cache.json"
        hewn_tune.write_cache(self.tuner, cache, 65536)
        with contextlib.redirect_stdout(io.StringIO()):
            results, env = kernel_tuner.tune_kernel_T1(
                self.t1, cache, simulation_mode=True, output_T4=False, strategy=strategy,
                strategy_options=options)
        return results, {name: env["best_config"][name] for name in PARAMETERS}

    def test_kernel_tuner(self):
        for strategy in ("genetic_algorithm", "simulated_annealing"):
            self.near(self.simulated(strategy, max_fevals=150)[1])

    def test_ten_lines(self):
        from random import Random

        random, best = Random(1), PRESENT
        fastest = self.tuner.evaluate(best).time
        for _ in range(300):
            knob = random.choice(list(PARAMETERS))
            config = {**best, knob: random.choice(PARAMETERS[knob])}
            if (time := self.tuner.evaluate(config).time) < fastest:
                best, fastest = config, time
        self.near(best)

    def test_the_tuners_own_search(self):
        for _ in range(100):
            config = self.tuner.ask()
            self.tuner.tell(config, self.tuner.evaluate(config).time)
        self.near(min((c for c in map(dict, self.tuner.strategy().scores)),
                      key=lambda c: self.tuner.evaluate(c).time))

    # ---- Kernel Tuner ----

    def test_kernel_tuner_reads_the_files(self):
        """hewn's files fit the schemas that Kernel Tuner brings, and it finds the best of the whole
        space."""
        results, best = self.simulated("brute_force")
        self.assertEqual(best, BEST)
        self.assertEqual(len(results), len(self.tuner.space()))
        right = [r for r in results if "__error__" not in r]
        self.assertEqual(len(right), sum(e.status == "correct" for e in self.tuner.known.values()))
        self.assertEqual(min(r["time"] for r in right), 0.5)
        file_utils.get_input_file(self.t1)  # checks it by T1's schema
        synthetic().write(self.folder / "a.T4.json")
        document = json.loads((self.folder / "a.T4.json").read_text())
        for schema in ("results", "metadata"):
            jsonschema.validate(document, file_utils.output_file_schema(schema)[1])
        document["results"][0]["invalidity"] = "no word of theirs"
        with self.assertRaises(jsonschema.ValidationError):
            jsonschema.validate(document, file_utils.output_file_schema("results")[1])

    def test_a_recorded_space(self):
        """Kernel Tuner finds the best configuration of a space that is recorded in the
        repository."""
        (file,) = (SOURCE / "docs/measurements/spaces/zen4").glob("add_f32__*.T4.json.gz")
        self.tuner = hewn_tune.Recorded(file)
        hewn_tune.write_t1(self.tuner.space(), 65536, self.t1)
        cache, (best, fastest) = self.folder / "cache.json", self.tuner.best()
        hewn_tune.write_cache(self.tuner, cache, 65536)
        with contextlib.redirect_stdout(io.StringIO()):
            results, env = kernel_tuner.tune_kernel_T1(
                self.t1, cache, simulation_mode=True, output_T4=False, strategy="brute_force")
        self.assertEqual(len(results), len(self.tuner.space()))
        self.assertEqual(env["best_config"]["time"], fastest)
        self.assertEqual(self.tuner.evaluate(
            {name: env["best_config"][name] for name in best}).time, fastest)

    def documented(self, page, says):
        """Runs the Python block of a page that contains the text `says`, in a folder with the
        repository's documents. Returns the block's variables."""
        text = (SOURCE / page).read_text(encoding="utf-8")
        (block,) = [block for block in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.M)
                    if says in block]
        (self.folder / "docs").symlink_to(SOURCE / "docs")
        before, variables = os.getcwd(), {}
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(block, page, "exec"), variables)
        finally:
            os.chdir(before)
        return variables

    def test_what_the_documents_say_of_kernel_tuner(self):
        told = self.documented("docs/lab/tuning.md", "tune_kernel_T1")
        space, best = told["recorded"].space(), told["environment"]["best_config"]
        config = {name: best[name] for name in space.parameters}
        self.assertTrue(space.valid(config), best)
        self.assertEqual(told["recorded"].evaluate(config).time, best["time"])

    def test_what_the_documents_say_of_optuna(self):
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        told = self.documented("docs/tuning.md", "optuna.create_study")
        self.assertEqual(len(told["study"].trials), 100)
        self.assertGreaterEqual(told["study"].best_value, told["tuner"].best()[1])

    # ---- The benchmark ----

    def test_every_optimiser_of_the_benchmark(self):
        reports = []
        benchmark.main([self.file], benchmark.OPTIMISERS, 60, 3, "time", self.folder / "out",
                       reports.append)
        (outcome,) = json.loads((self.folder / "out/benchmark.json").read_text())
        self.assertEqual(list(outcome["optimisers"]), list(benchmark.OPTIMISERS))
        for name, told in outcome["optimisers"].items():
            with self.subTest(name):
                self.assertEqual(len(told["mean"]), 60)
                self.assertEqual(told["mean"], sorted(told["mean"]))
                self.assertTrue(0.6 < told["mean"][-1] <= 1, told["mean"])
                # Each evaluation takes a second. Annealing may stop before it has used all
                # evaluations.
                self.assertAlmostEqual(told["by_time"][-1], told["mean"][-1])
                self.assertTrue(10 < told["clock"][-1] < 60.5, told["clock"][-1])
        text = (self.folder / "out/benchmark.md").read_text()
        self.assertIn("| random |", text)
        self.assertIn("<svg", (self.folder / "out/benchmark.svg").read_text())


if __name__ == "__main__":
    unittest.main()
