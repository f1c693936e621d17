"""The search for one kernel's knobs: candidates in batches, screened against the incumbent; the best ones measured thoroughly."""

import hashlib
import itertools
import json
import pathlib
import subprocess
import sys
import time

import numpy as np

from jobs import Refused
from kernels import knob_text

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from bootstrap import median_interval  # noqa: E402

# Elements: those that decide, and those that must not become slower.
DECIDING, GUARDED = (4096, 65536, 1 << 20), (16, 1000)
SCREENING_ROUNDS, FINAL_ROUNDS, FINALISTS = 9, 40, 3
# A candidate replaces the incumbent if the 95 % interval of its gain lies above ADOPTED, and at no size below SLOWER.
ADOPTED, SLOWER = 1.02, 0.98
BATCH = 8


def layouts_of(build, kernel):
    """The layouts that reach the form at full speed."""
    alone = len(build.forms(kernel)) == 1
    if kernel.operator == "quantize_linear" and kernel.form == "divide":
        return ["dense", "per_axis_last"] if alone else ["per_axis_last"]
    if kernel.operator == "dequantize_linear":
        return ["dense", "per_axis_last"]
    return ["dense"]


def gains(result, candidate):
    """Incumbent's time / candidate's: the geometric mean of the deciding problems in each round, and each problem's own."""
    own = [np.array(p["ns"][0]) / np.array(p["ns"][candidate]) for p in result["problems"]]
    deciding = [gain for gain, p in zip(own, result["problems"]) if p["elements"] not in GUARDED]
    return np.exp(np.mean(np.log(deciding), axis=0)), own


class Cache:
    """One JSON line a candidate, written as soon as it is known: an interrupted run goes on from there."""

    def __init__(self, path, key):
        self.path, self.key, self.known = path, key, {}
        path.parent.mkdir(parents=True, exist_ok=True)
        for line in path.read_text().splitlines() if path.exists() else []:
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:  # the line that the interruption cut off
                continue
            if entry["key"] == key:
                self.known[knob_text(entry["knobs"])] = entry
        if path.exists() and not path.read_bytes().endswith(b"\n"):
            path.write_bytes(path.read_bytes() + b"\n")

    def get(self, knobs):
        return self.known.get(knob_text(knobs))

    def put(self, knobs, **what):
        entry = {"key": self.key, "knobs": knobs, **what}
        self.known[knob_text(knobs)] = entry
        with self.path.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        return entry


class Grid:
    """Every combination, those nearest to the incumbent first."""

    def __init__(self, candidates, incumbent):
        different = lambda knobs: sum(a != b for a, b in zip(knobs, incumbent))
        self.rest, self.total = sorted(candidates, key=different), len(candidates)

    def ask(self, count):
        batch, self.rest = self.rest[:count], self.rest[count:]
        return batch

    def tell(self, knobs, score):
        pass


class Optimiser:
    """Optuna's tree-structured Parzen estimator, for spaces too large for the time there is."""

    def __init__(self, space, candidates, incumbent):
        import optuna  # not needed for a grid

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
        self.study.enqueue_trial(dict(incumbent))
        self.distributions = {name: optuna.distributions.CategoricalDistribution(values) for name, values in space.items()}
        self.trials, self.scores, self.total, self.failed = {}, {}, len(candidates), optuna.trial.TrialState.FAIL

    def ask(self, count):
        batch = []
        for _ in range(20 * count):  # it may ask for what it knows: it is told again
            trial = self.study.ask(self.distributions)
            knobs = tuple(sorted(trial.params.items()))
            if knobs in self.scores:
                self._tell(trial, self.scores[knobs])
            elif knobs in self.trials:
                self.study.tell(trial, state=self.failed)
            else:
                self.trials[knobs] = trial
                batch.append(knobs)
                if len(batch) == count:
                    break
        return batch

    def tell(self, knobs, score):
        self.scores[knobs] = score
        self._tell(self.trials[knobs], score)

    def _tell(self, trial, score):
        self.study.tell(trial, score if score is not None else 0.0)  # what is no candidate gains nothing


class Search:
    """Tunes one kernel, from the knobs `start` (its present ones), until `deadline` (time.monotonic). report(text) is called after each
    batch."""

    def __init__(self, build, kernel, engine, folder, runner="local", report=print, chip="", start=None):
        self.build, self.kernel, self.engine, self.runner, self.report = build, kernel, engine, runner, report
        self.folder = pathlib.Path(folder) / kernel.name
        # All knobs, so that defaults of the generator have names too.
        known = dict(start if start is not None else kernel.knobs)
        defaults = {name: "0" if "0" in values else values[0] for name, values in build.space.items()}
        self.incumbent = tuple(sorted({**defaults, **known}.items()))
        # A gain is one of these generators and, for what runs around the kernels, of this library.
        built = [hashlib.sha256((build.folder / name).read_bytes()).hexdigest() for name in ("hewn_generators", "libhewn.a")]
        key = hashlib.sha256(repr((built, kernel, self.incumbent, runner, chip)).encode()).hexdigest()[:16]
        self.cache = Cache(self.folder / "candidates.jsonl", key)
        self.layouts = layouts_of(build, kernel)

    def library(self, knobs):
        return str(self.folder / (hashlib.sha256(repr((self.cache.key, knobs)).encode()).hexdigest()[:16] + ".so"))

    def candidates(self):
        names = sorted(self.build.space)
        combinations = itertools.product(*(self.build.space[name] for name in names))
        return [knobs for knobs in (tuple(zip(names, values)) for values in combinations) if knobs != self.incumbent]

    def measure(self, libraries, rounds, sample_us=200):
        return self.engine.measure(self.build, self.kernel, libraries, self.runner, self.layouts, GUARDED + DECIDING, rounds, sample_us)

    def call(self, knobs):
        return self.build, self.kernel, knobs, self.library(knobs)

    def screen(self, batch):
        """Builds, checks and screens candidates that the cache does not know. Their entries in it."""
        new = [knobs for knobs in batch if self.cache.get(knobs) is None]
        built = []
        for knobs, outcome in zip(new, self.engine.build_all([self.call(knobs) for knobs in new])):
            if isinstance(outcome, Refused):
                self.cache.put(knobs, status="refused", message=str(outcome))
            else:
                built.append(knobs)
        if built:
            result = self.measure([self.library(self.incumbent)] + [self.library(knobs) for knobs in built], SCREENING_ROUNDS)
            for i, knobs in enumerate(built, 1):
                fault = result["libraries"][i]
                if fault["fault"]:
                    self.cache.put(knobs, status="wrong", fault=fault["fault"], message=fault["message"])
                else:
                    self.cache.put(knobs, status="timed", gain=float(np.median(gains(result, i)[0])))
        return [self.cache.get(knobs) for knobs in batch]

    def run(self, deadline):
        started = time.monotonic()
        incumbent = self.engine.build_all([self.call(self.incumbent)])[0]
        if isinstance(incumbent, Refused):
            raise RuntimeError(f"{self.kernel.name}: the present knobs {knob_text(self.incumbent)}: {incumbent}")
        first = self.measure([incumbent], 1)["libraries"][0]
        if first["fault"]:
            raise RuntimeError(f"{self.kernel.name}: the present knobs' bits are wrong: {first['message']}")
        candidates = self.candidates()
        # Time for the finals stays; a candidate costs about what the incumbent did, builds going in parallel.
        search_until = deadline - max(0.25 * (deadline - started), 5)
        needed = len(candidates) * 0.6 * (time.monotonic() - started)
        grid = needed <= search_until - time.monotonic()
        strategy = Grid(candidates, self.incumbent) if grid else Optimiser(self.build.space, candidates, self.incumbent)
        done, best = [], None
        while batch := strategy.ask(BATCH):
            for knobs, entry in zip(batch, self.screen(batch)):
                strategy.tell(knobs, entry.get("gain"))
                done.append(entry)
            timed = [entry for entry in done if entry["status"] == "timed"]
            best = max(timed, key=lambda entry: entry["gain"], default=None)
            leader = f"best {best['gain']:.3f} {knob_text(best['knobs'])}" if best else "none right yet"
            left = max(0, deadline - time.monotonic())
            self.report(f"{len(done)}/{len(candidates)} {'grid' if grid else 'Optuna'}, {left:.0f} s left: {leader}")
            if time.monotonic() > search_until or len(done) >= len(candidates):
                break
        return self.finals(done, "grid" if grid else "Optuna")

    def finals(self, done, strategy):
        """The outcome: what was tried, and, of the finalists, the one adopted, if any, with its interval and speeds."""
        timed = sorted((e for e in done if e["status"] == "timed"), key=lambda e: -e["gain"])[:FINALISTS]
        finalists = [tuple(map(tuple, entry["knobs"])) for entry in timed]
        outcome = {"kernel": self.kernel.name, "strategy": strategy, "tried": done, "incumbent": self.incumbent, "finalists": [],
                   "adopted": None}
        # A resumed run may find candidates in the cache whose libraries are gone.
        missing = [knobs for knobs in finalists if not pathlib.Path(self.library(knobs)).exists()]
        self.engine.build_all([self.call(knobs) for knobs in missing])
        result = self.measure([self.library(k) for k in [self.incumbent, *finalists]], FINAL_ROUNDS)
        for i, knobs in enumerate(finalists, 1):
            if result["libraries"][i]["fault"]:
                continue
            deciding, own = gains(result, i)
            median, low, high = median_interval(deciding)
            slower = [p["elements"] for p, gain in zip(result["problems"], own) if median_interval(gain)[2] < SLOWER]
            outcome["finalists"].append({"knobs": knobs, "gain": median, "low": low, "high": high, "slower_at": slower,
                                         "GB/s": speeds(result, 0, i)})
        fitting = [f for f in outcome["finalists"] if f["low"] > ADOPTED and not f["slower_at"]]
        outcome["adopted"] = max(fitting, key=lambda f: f["low"], default=None)
        outcome["present"] = speeds(result, 0, 0)
        return outcome


def speeds(result, before, after):
    """GB/s of each problem: medians before and after, and the quartiles' distance after, relative to its median."""
    table = []
    for p in result["problems"]:
        old, new = np.array(p["ns"][before]), np.array(p["ns"][after])
        low, high = np.percentile(new, [25, 75])
        table.append({"layout": p["layout"], "elements": p["elements"], "before": round(p["bytes"] / float(np.median(old)), 3),
                      "after": round(p["bytes"] / float(np.median(new)), 3), "spread": round(float((high - low) / np.median(new)), 3)})
    return table


def chip_name():
    """The processor's name, as the system tells it."""
    text = subprocess.run(["lscpu"], capture_output=True, text=True).stdout
    return next((line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("Model name:")), "unknown")
