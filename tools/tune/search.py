"""The search for one kernel's knobs. Candidates are built, checked and screened in batches against
the incumbent (the present knobs). The best ones are then measured thoroughly, and the leader once
more before it is adopted. Results are cached, so that an interrupted run can continue."""

import dataclasses
import hashlib
import itertools
import json
import math
import pathlib
import sys
import time
from typing import NamedTuple

import numpy as np
from hewn_tune import results
from hewn_tune.space import Condition, of_kernel, typed
from hewn_tune.strategies import Grid, Optimiser
from jobs import Problems
from kernels import knob_text, write_atomically

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "report"))
from bootstrap import median_interval  # noqa: E402

# Numbers of elements: those that decide for kernels, those that decide for plans, and those at
# which a candidate must only not be slower.
DECIDING, PLAN_DECIDING, GUARDED = (4096, 65536,
                                    1 << 20), (65536, 1 << 20, 1 << 22, 1 << 24), (16, 1000)
SCREENING_ROUNDS, FINAL_ROUNDS, FINALISTS = 9, 40, 8
# A candidate replaces the incumbent if the 95 % interval of its gain lies above ADOPTED, and if it
# is not slower at any size. It counts as slower at a size if the whole interval there lies below 1
# - LOSS, or below 1 - PAID * (gain - 1) if that allows more. (A candidate of three times the speed
# may cost a nanosecond in a call of 16 elements.)
ADOPTED, LOSS, PAID = 1.02, 0.02, 0.2
BATCH = 8  # candidates that are built and screened together


def problems_of(kernel):
    """The problems with which the kernel is timed: those for which its operator calls its form.
    Plans are timed with one thread and with all."""
    if kernel.form == "plan":
        return Problems(("dense",), GUARDED + PLAN_DECIDING, (1, 0))
    reached = dict(kernel.reached)
    most = reached["most"] or math.inf
    elements = tuple(n for n in GUARDED + DECIDING if reached["least"] <= n <= most)
    return Problems(tuple(reached["layouts"].split()), elements)


def sources_digest(build):
    """A digest of everything except the knobs that affects a measurement: the generators and the
    runtime."""
    files = [build.folder / "hewn_generators", build.folder / "generated/include/chips.inc",
             *sorted(file for file in (build.source / "runtime").rglob("*") if file.is_file())]
    return hashlib.sha256(b"".join(hashlib.sha256(file.read_bytes()).digest()
                                   for file in files)).hexdigest()


def deciding(problems):
    """The indices of the problems that decide. All do if there are only guarded ones."""
    return [i for i, p in enumerate(problems) if p["elements"] not in GUARDED] or [
        *range(len(problems))]


def gains(result, candidate):
    """The incumbent's time divided by the candidate's, in each round: the geometric mean over the
    deciding problems, and a list of those of each problem."""
    own = [np.array(p["ns"][0]) / np.array(p["ns"][candidate]) for p in result["problems"]]
    return np.exp(np.mean([np.log(own[i]) for i in deciding(result["problems"])], axis=0)), own


def screened(result, candidate):
    """The candidate's score, by which finalists are chosen. It is the gain as in gains(), but of
    the 25th percentiles of the times, which disturbances change least."""
    times = [np.percentile([p["ns"][0], p["ns"][candidate]], 25, axis=1)
             for p in (result["problems"][i] for i in deciding(result["problems"]))]
    return float(np.exp(np.mean([np.log(old / new) for old, new in times])))


def samples(result, candidate):
    """The problems with the candidate's times and the incumbent's in each round, for the cache."""
    tenths = lambda times: [round(ns, 1) for ns in times]
    return [{"layout": p["layout"], "elements": p["elements"], "threads": p["threads"],
             "ns": tenths(p["ns"][candidate]), "incumbent_ns": tenths(p["ns"][0])}
            for p in result["problems"]]


class Cache:
    """The results for the candidates of one kernel. The file has a line of JSON for each candidate,
    which is written as soon as its result is known, so that an interrupted run can continue.
    Entries with another `key` (other sources, machine or problems) are ignored."""

    def __init__(self, path, key):
        self.path, self.key, self.known = path, key, {}
        path.parent.mkdir(parents=True, exist_ok=True)
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:  # an interruption cut off the line
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
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
        return entry


class Journal:
    """The progress of a run over several kernels: `outcomes`, {kernel's name: outcome}, and
    `spent`, the seconds that it took. A later run with the same `key` continues an interrupted
    one."""

    def __init__(self, path, key):
        self.path, self.key, self.spent, self.outcomes = path, key, 0, {}
        if path.exists() and (text := json.loads(path.read_text(encoding="utf-8")))["key"] == key:
            self.spent, self.outcomes = text["spent"], text["outcomes"]

    def finish(self, name, outcome, seconds):
        self.spent += seconds
        self.outcomes[name] = outcome
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path, json.dumps({"key": self.key, "spent": self.spent,
                                                "outcomes": self.outcomes}))


class Step(NamedTuple):
    """How far the search for one kernel is: `done` of `total` candidates; `text`, which says it in
    words and names the best candidate so far; and `left`, the seconds that it will still take."""

    done: int
    total: int
    text: str
    left: float


class Pace:
    """Estimates how long the rest of a kernel's candidates takes, from those that were measured
    since the beginning. Candidates that the cache has take no time and do not count."""

    def __init__(self):
        self.started, self.measured = time.monotonic(), 0

    def seconds(self, new, left):
        """The seconds for `left` candidates, after `new` more were measured since the last call."""
        self.measured += new
        spent = time.monotonic() - self.started
        return left * spent / self.measured if self.measured else math.inf


class Search:
    """The search for one kernel. The incumbent has the knobs `start`, by default the kernel's
    present ones. report(Step) is called after each batch. `folder` keeps the cache and the
    candidates' libraries. `problems` may replace those of problems_of(). Deadlines of its methods
    are times of time.monotonic()."""

    def __init__(self, build, kernel, engine, folder, runner="local",
                 report=lambda step: print(step.text, flush=True), chip="",
                 start=None, problems=None):
        self.build, self.kernel, self.engine = build, kernel, engine
        self.runner, self.report = runner, report
        self.folder = pathlib.Path(folder) / kernel.name
        # complete() adds the knobs that have the generator's defaults.
        self.incumbent = build.complete(kernel, start if start is not None else kernel.knobs)
        self.problems = problems or problems_of(kernel)
        self.machines = set()  # the ids of the machines that measured
        key = hashlib.sha256(repr((sources_digest(build), kernel, self.incumbent, runner,
                                   chip, problems)).encode()).hexdigest()[:16]
        self.cache = Cache(self.folder / "candidates.jsonl", key)
        if runner == "qemu":  # qemu only tries the mechanics, and large sizes would take minutes
            self.problems = dataclasses.replace(self.problems, elements=GUARDED + DECIDING[:1])
        # {digest of the code: the knobs that had it first}. Knobs that give the same code are
        # measured once.
        self.first = {entry["code"]: as_knobs(entry) for entry in self.cache.known.values()
                      if "code" in entry}

    def library(self, knobs):
        digest = hashlib.sha256(repr((self.cache.key, knobs)).encode()).hexdigest()
        return str(self.folder / f"{digest[:16]}.so")

    def remove_libraries(self):
        """Deletes the candidates' libraries. A hundred candidates of each of hundreds of kernels
        would fill a disk, and the cache has their results."""
        for library in self.folder.glob("*.so"):
            library.unlink()

    def candidates(self):
        """The knobs of all configurations of the space, without the incumbent."""
        space = self.build.searched(self.kernel, self.incumbent)
        names = sorted(space)
        conditions = list(map(Condition, self.kernel.conditions))
        combinations = itertools.product(*(space[name] for name in names))
        return [knobs for knobs in (tuple(zip(names, values)) for values in combinations)
                if knobs != self.incumbent and fulfils(knobs, conditions)]

    def all_knobs(self, config):
        """All knobs for a configuration of the space, which does not have those set by hand."""
        return tuple(sorted({**dict(self.incumbent),
                             **{name: str(value) for name, value in config.items()}}.items()))

    def measure(self, libraries, rounds):
        result = self.engine.measure(self.build, self.kernel, libraries, self.runner,
                                     self.problems, rounds)
        self.machines.add((result.get("machine") or {}).get("id", ""))
        return result

    def call(self, knobs):
        """The arguments of build_candidate() for these knobs."""
        return self.build, self.kernel, knobs, self.library(knobs)

    def screen(self, batch):
        """Builds, checks and screens the candidates that the cache does not know. Returns the
        cache's entries of the batch."""
        new = [knobs for knobs in batch if self.cache.get(knobs) is None]
        built, same = {}, {}
        for knobs, outcome in zip(new, self.engine.build_all([self.call(knobs) for knobs in new])):
            seconds = {"build": outcome.get("seconds", 0)}
            if "refused" in outcome:
                self.cache.put(knobs, status="refused", message=outcome["refused"],
                               seconds=seconds)
            elif (first := self.first.setdefault(outcome["code"], knobs)) == knobs:
                built[knobs] = {"code": outcome["code"], "seconds": seconds}
            else:
                same[knobs] = first, seconds
                pathlib.Path(self.library(knobs)).unlink()
        if built:
            self.time(built)
        for knobs, (first, seconds) in same.items():
            gain = 1.0 if first == self.incumbent else self.cache.get(first).get("gain")
            self.cache.put(knobs, status="same", gain=gain, first=first, seconds=seconds,
                           message=f"the code of {knob_text(first)}")
        return [self.cache.get(knobs) for knobs in batch]

    def time(self, built):
        """Checks and screens the candidates that were built. `built` is {knobs: members of the
        cache's entry that are known already}."""
        started = time.monotonic()
        result = self.measure([self.library(self.incumbent)]
                              + [self.library(knobs) for knobs in built], SCREENING_ROUNDS)
        each = (time.monotonic() - started) / len(built)
        for i, (knobs, known) in enumerate(built.items(), 1):
            known["seconds"]["measure"] = each
            known["timestamp"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            known["machine"] = result.get("machine")
            fault = result["libraries"][i]
            if fault["fault"]:
                self.cache.put(knobs, status="wrong", fault=fault["fault"],
                               message=fault["message"], **known)
            else:
                self.cache.put(knobs, status="timed", gain=screened(result, i),
                               problems=samples(result, i), **known)

    def config(self, knobs):
        """The knobs as a configuration of the space."""
        return {name: typed(dict(knobs)[name]) for name in self.build.space(self.kernel)
                if name not in self.build.by_hand}

    def results(self):
        """All results in the cache, as hewn_tune's Results."""
        space = of_kernel(self.build, self.kernel)
        space.default = self.config(self.incumbent)
        decides = lambda problem: problem["elements"] not in GUARDED
        return results.Writer(space, self.cache.known.values(), decides).results()

    def begin(self):
        """Builds and checks the incumbent. Raises RuntimeError if it is wrong."""
        outcome = self.engine.build_all([self.call(self.incumbent)])[0]
        if "refused" in outcome:
            raise RuntimeError(
                f"{self.kernel.name}: the present knobs {knob_text(self.incumbent)}: "
                f"{outcome['refused']}")
        self.first[outcome["code"]] = self.incumbent
        checked = self.measure([self.library(self.incumbent)], 1)["libraries"][0]
        if checked["fault"]:
            raise RuntimeError(
                f"{self.kernel.name}: the present knobs are wrong ({checked['fault']}): "
                f"{checked['message']}")

    def exhaust(self, deadline):
        """Screens all candidates until the deadline, those nearest to the incumbent first.
        Candidates that the cache has are not measured again. Returns how many are left."""
        self.remove_libraries()  # those that a killed run left
        self.begin()
        every = Grid(self.candidates(), self.incumbent).rest
        rest, pace = self.unknown(every), Pace()
        while rest and time.monotonic() < deadline:
            batch, rest = rest[:BATCH], rest[BATCH:]
            self.screen(batch)
            for knobs in batch:
                pathlib.Path(self.library(knobs)).unlink(missing_ok=True)
            done = len(every) - len(rest)
            self.report(Step(done, len(every), f"{done} of {len(every)} configurations",
                             pace.seconds(len(batch), len(rest))))
        return len(rest)

    def unknown(self, candidates):
        """The candidates that the cache does not have, in the same order."""
        return [knobs for knobs in candidates if self.cache.get(knobs) is None]

    def run(self, deadline):
        """Searches until the deadline and returns the outcome (finals()). The strategy is the grid
        of all candidates if there is time for it, and otherwise Optuna's."""
        started = time.monotonic()
        self.begin()
        candidates = self.candidates()
        # A candidate costs about as much as the incumbent did; builds go in parallel.
        needed = len(candidates) * 0.6 * (time.monotonic() - started)
        grid = needed <= 0.75 * (deadline - time.monotonic())
        space = self.build.searched(self.kernel, self.incumbent)
        strategy = Grid(candidates,
                        self.incumbent) if grid else Optimiser(space, candidates, self.incumbent)
        done, slowest, pace = [], 0, Pace()
        while batch := strategy.ask(BATCH):
            batch_started, new = time.monotonic(), len(self.unknown(batch))
            for knobs, entry in zip(batch, self.screen(batch)):
                strategy.tell(knobs, entry.get("gain"))
                done.append(entry)
            timed = [entry for entry in done if entry["status"] == "timed"]
            best = max(timed, key=lambda entry: entry["gain"], default=None)
            leader = "none right yet"
            if best:
                leader = f"best {best['gain']:.3f} {knob_text(best['knobs'])}"
            slowest = max(slowest, time.monotonic() - batch_started)
            finals = 2 * slowest  # they take about as long as two batches
            left = max(finals, min(deadline - time.monotonic(), finals + pace.seconds(
                new, len(self.unknown(candidates)))))
            self.report(Step(len(done), len(candidates), f"{len(done)} of {len(candidates)} "
                             f"candidates ({'grid' if grid else 'Optuna'}), {leader}", left))
            # There must be time for another batch and for the finals.
            if time.monotonic() + 3 * slowest > deadline or len(done) >= len(candidates):
                break
        return self.finals(done, "grid" if grid else "Optuna")

    def finals(self, done, strategy):
        """Measures the finalists thoroughly and returns the outcome: the candidates that were
        tried, the finalists with their intervals and speeds, and the one that is adopted, if
        any."""
        timed = sorted((e for e in done if e["status"] == "timed"),
                       key=lambda e: -e["gain"])[:FINALISTS]
        finalists = [as_knobs(entry) for entry in timed]
        outcome = {"kernel": self.kernel.name, "strategy": strategy, "tried": done,
                   "incumbent": self.incumbent}
        # A resumed run may have candidates in the cache whose libraries were deleted.
        missing = [knobs for knobs in finalists if not pathlib.Path(self.library(knobs)).exists()]
        self.engine.build_all([self.call(knobs) for knobs in missing])
        outcome["finalists"] = self.compare(finalists) if finalists else []
        leader = max(filter(convinces, outcome["finalists"]), key=lambda f: f["low"], default=None)
        # The best of several looks better than it is, so it is compared with the incumbent once
        # more.
        again = self.compare([leader["knobs"]]) if leader else []
        if leader:
            outcome["finalists"] = again + [f for f in outcome["finalists"] if f is not leader]
        outcome["adopted"] = next(filter(convinces, again), None)
        return outcome

    def compare(self, rivals):
        """Measures the rivals thoroughly against the incumbent. Returns a row for each rival that
        is right: its gain with the interval, the sizes at which it is slower, and its speeds."""
        result = self.measure([self.library(knobs) for knobs in [self.incumbent, *rivals]],
                              FINAL_ROUNDS)
        rows = []
        for i, knobs in enumerate(rivals, 1):
            if result["libraries"][i]["fault"]:
                continue
            deciding, own = gains(result, i)
            median, low, high = median_interval(deciding)
            bearable = 1 - max(LOSS, PAID * (low - 1))
            slower = [p["elements"] for p, gain in zip(result["problems"], own)
                      if median_interval(gain)[2] < bearable]
            rows.append({"knobs": knobs, "gain": median, "low": low, "high": high,
                         "slower_at": slower, "GB/s": speeds(result, 0, i)})
        return rows


def fulfils(knobs, conditions):
    config = {name: typed(value) for name, value in knobs}
    return all(condition.holds(config) for condition in conditions)


def as_knobs(entry):
    return tuple(map(tuple, entry["knobs"]))


def convinces(finalist):
    """Whether the finalist may replace the incumbent."""
    return finalist["low"] > ADOPTED and not finalist["slower_at"]


def speeds(result, before, after):
    """A row for each problem: the median speeds before and after in GB/s, the gain with its
    interval, and the spread, which is the distance of the quartiles after relative to the
    median."""
    table = []
    for p in result["problems"]:
        old, new = np.array(p["ns"][before]), np.array(p["ns"][after])
        low, high = np.percentile(new, [25, 75])
        table.append({"layout": p["layout"], "elements": p["elements"], "threads": p["threads"],
                      "before": round(p["bytes"] / float(np.median(old)), 3),
                      "after": round(p["bytes"] / float(np.median(new)), 3),
                      "spread": round(float((high - low) / np.median(new)), 3),
                      "gain": [round(value, 3) for value in median_interval(old / new)]})
    return table
