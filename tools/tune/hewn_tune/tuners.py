"""What optimisers tune by: ask and tell, and evaluations, measured or out of a file."""

import importlib.util
import json
import math
import pathlib
import statistics
import sys
from typing import NamedTuple

from . import strategies
from .results import Results, measurement
from .space import of_kernel


class Evaluation(NamedTuple):
    """`time`: ms, math.inf unless the status is "correct". `status`: T4's invalidity; "constraints"
    outside of the space. `message`: why it is not correct. `seconds`: what it took to build, check
    and time."""

    time: float
    status: str
    message: str = ""
    seconds: float = 0.0


class Tuner:
    """A kernel to tune. An optimiser of your own calls evaluate(); ask() and tell() are the
    tuner's own search, `strategy`: an object as in hewn_tune.strategies."""

    def __init__(self, space, strategy=None):
        self._space, self._strategy = space, strategy

    def space(self):
        """The Space: parameters, conditions, the present configuration."""
        return self._space

    def strategy(self):
        """By default Optuna's, or where that is not installed a grid."""
        if self._strategy is None:
            as_knobs = lambda config: tuple(sorted(config.items()))
            present = as_knobs(self._space.default)
            rest = [knobs for knobs in map(as_knobs, self._space.configurations())
                    if knobs != present]
            if importlib.util.find_spec("optuna"):
                self._strategy = strategies.Optimiser(self._space.parameters, rest, present)
            else:
                self._strategy = strategies.Grid(rest, present)
        return self._strategy

    def ask(self):
        """The configuration that the search would try next; None if it has none left."""
        return next(iter(map(dict, self.strategy().ask(1))), None)

    def tell(self, config, time):
        """Tells the search what a configuration took: ms, math.inf if it is not right."""
        gain = self.evaluate(self._space.default).time / time if time < math.inf else None
        self.strategy().tell(tuple(sorted(config.items())), gain)

    def evaluate(self, config):
        """The Evaluation of a configuration."""
        if config.keys() != self._space.parameters.keys():
            raise ValueError(f"a configuration has the knobs {list(self._space.parameters)}, not "
                             f"{list(config)}")
        if not self._space.valid(config):
            return Evaluation(math.inf, "constraints", "the configuration is not in the space")
        return self._evaluate(config)


class Recorded(Tuner):
    """Answers out of a T4 file (or Results), and compiles nothing. `objective`: the name of a
    measurement, as "time dense, 65536 elements". `machine`: the id of one, needed where the file
    has several. Of a configuration that was measured several times, the geometric mean; if any of
    them was wrong, it is wrong."""

    def __init__(self, file, objective="time", machine=None, strategy=None):
        found = file if isinstance(file, Results) else Results.read(file)
        super().__init__(found.space, strategy)
        if machine is None and len(found.machines) > 1:
            raise ValueError(f"measured on several machines, choose one: {sorted(found.machines)}")
        if machine is not None and machine not in found.machines:
            raise ValueError(f"not measured on {machine}; there are {sorted(found.machines)}")
        self.again = found.again.get(machine or next(iter(found.machines), None), {})
        by_key = {}
        for result in (found.of(machine) if machine else found).results:
            by_key.setdefault(self._space.key(result["configuration"]), []).append(result)
        self.known = {key: self._join(results, objective) for key, results in by_key.items()}

    @staticmethod
    def _join(results, objective):
        seconds = 1e-3 * (results[0]["times"]["compilation_time"]
                          + results[0]["times"]["benchmark"])
        for result in results:
            if result["invalidity"] != "correct":
                return Evaluation(math.inf, result["invalidity"], result["message"], seconds)
        times = [measurement(result, objective) for result in results]
        if None in times:
            names = [m["name"] for m in results[times.index(None)]["measurements"]]
            raise ValueError(f"there is no measurement '{objective}'; there are {names}")
        time = statistics.geometric_mean(times) if len(times) > 1 else times[0]
        return Evaluation(time, "correct", "", seconds)

    def _evaluate(self, config):
        key = self._space.key(config)
        if key not in self.known:
            raise ValueError(f"{self._space.kernel}: {config} was not recorded")
        return self.known[key]

    def best(self):
        """The fastest recorded configuration and its time in ms."""
        key = min(self.known, key=lambda key: self.known[key].time)
        return dict(zip(self._space.parameters, key)), self.known[key].time


def source_folder():
    """hewn's source: the clone that this module is in, or what the wheel unpacks."""
    clone = pathlib.Path(__file__).resolve().parents[3]
    if (clone / "tune.sh").is_file():
        return clone
    from .program import unpack  # which only the wheel has

    return unpack()


class Live(Tuner):
    """Builds, checks and times a kernel or a plan, named as `./tune.sh export-space` names its
    file, at one number of elements and on one CPU. What that needs is built in a folder of its own,
    build-tune/live, which takes some minutes the first time; `build`: a build folder that has the
    kernel already. The folder `record` keeps what was measured: that is not measured again.
    `engine`: jobs.LocalEngine() or jobs.DaskEngine()."""

    def __init__(self, kernel, elements=65536, cpu=None, build=None, record=None, strategy=None,
                 engine=None):
        source = source_folder()
        if not importlib.util.find_spec("numpy"):
            raise RuntimeError(
                f"hewn_tune.Live needs NumPy, which {sys.executable} does not have: install it "
                f"with {sys.executable} -m pip install numpy, or use "
                f"{source / 'build-tune/benchmark-venv/bin/python'}, which {source / 'tune.sh'} "
                "benchmark --set-up makes")
        sys.path.insert(0, str(source / "tools/tune"))
        import building
        import jobs
        import search

        made, chosen = building.existing(build, kernel) if build else building.with_kernel(kernel)
        super().__init__(of_kernel(made, chosen), strategy)
        timed = search.problems_of(chosen)
        self.search = search.Search(
            made, chosen, engine or jobs.LocalEngine(), record or made.folder / "measured",
            "local" if cpu is None else f"local:{cpu}", lambda step: None,
            problems=jobs.Problems(timed.layouts, (elements,), timed.threads))
        self.search.begin()

    def _evaluate(self, config):
        knobs = self.search.all_knobs(config)
        if knobs == self.search.incumbent and self.search.cache.get(knobs) is None:
            self.search.time({knobs: {"code": "", "seconds": {}}})
        self.search.screen([knobs])
        return Recorded._join([self.result(config)], "time")

    def result(self, config):
        """The T4 result of an evaluated configuration."""
        return next(result for result in reversed(self.results().results)
                    if result["configuration"] == config)

    def results(self):
        """All Results so far."""
        return self.search.results()


def write_cache(recorded, path, elements, device="hewn"):
    """Writes what a Recorded has as Kernel Tuner's cache of so many elements, by which that
    simulates (with the T1 file of the same space)."""
    space, cache = recorded.space(), {}
    for key, known in recorded.known.items():
        if not space.valid(config := dict(zip(space.parameters, key))):
            continue  # Kernel Tuner does not ask for it
        right = known.status == "correct"
        failed = "CompilationFailedConfig" if known.status == "compile" else "RuntimeFailedConfig"
        cache[",".join(map(str, key))] = {
            **config, "time": known.time if right else failed,
            **({} if right else {"__error__": failed}), "times": [known.time] if right else [],
            "compile_time": 1e3 * known.seconds, "verification_time": 0, "benchmark_time": 0,
            "strategy_time": 0, "framework_time": 0, "timestamp": ""}
    document = {"device_name": device, "kernel_name": space.kernel, "problem_size": [elements],
                "tune_params_keys": list(space.parameters), "tune_params": space.parameters,
                "objective": "time", "cache": cache}
    pathlib.Path(path).write_text(json.dumps(document), encoding="utf-8")
