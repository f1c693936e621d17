"""The kernels that optimisers tune. A Live tuner measures configurations; a Recorded one looks them
up in a file. Both can evaluate a configuration, and both can ask and tell by the tuner's own
search."""

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
    """The result for a configuration. `time` is in milliseconds, and math.inf unless the status is
    "correct". `status` is T4's invalidity; it is "constraints" for a configuration outside of the
    space. `message` says why the configuration is not correct. `seconds` is the time that building,
    checking and timing took."""

    time: float
    status: str
    message: str = ""
    seconds: float = 0.0


class Tuner:
    """A kernel to tune. An optimiser of your own needs only space() and evaluate(). ask() and
    tell() are for the tuner's own search, whose `strategy` is an object as in
    hewn_tune.strategies."""

    def __init__(self, space, strategy=None):
        self._space, self._strategy = space, strategy

    def space(self):
        """The Space: its parameters and conditions, and the present configuration."""
        return self._space

    def strategy(self):
        """The strategy of the search. By default it is Optuna's, or a grid if that is not
        installed."""
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
        """The configuration that the search would try next. None if there are no more."""
        return next(iter(map(dict, self.strategy().ask(1))), None)

    def tell(self, config, time):
        """Tells the search a configuration's time in milliseconds, or math.inf if it is not
        correct."""
        gain = self.evaluate(self._space.default).time / time if time < math.inf else None
        self.strategy().tell(tuple(sorted(config.items())), gain)

    def evaluate(self, config):
        """The Evaluation of a configuration. Raises ValueError if it does not have the space's
        knobs."""
        if config.keys() != self._space.parameters.keys():
            raise ValueError(f"a configuration has the knobs {list(self._space.parameters)}, not "
                             f"{list(config)}")
        if not self._space.valid(config):
            return Evaluation(math.inf, "constraints", "the configuration is not in the space")
        return self._evaluate(config)


class Recorded(Tuner):
    """Answers from a T4 file (or from Results), and compiles nothing. `objective` is the name of
    the measurement to use, such as "time dense, 65536 elements". `machine` is the id of a machine,
    which is needed if the file has several. If a configuration was measured several times, its time
    is the geometric mean; it is wrong if any of the measurements was."""

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
    """The folder of hewn's source: the clone that has this module, or what the wheel unpacks."""
    clone = pathlib.Path(__file__).resolve().parents[3]
    if (clone / "tune.sh").is_file():
        return clone
    from .program import unpack  # only the wheel has this module

    return unpack()


class Live(Tuner):
    """Builds, checks and times configurations of a kernel or plan, for one number of elements and
    on one CPU. The kernel's name is that of the file which `./tune.sh export-space` writes for it.

    `build` is a build folder that has the kernel already. Without it, a build is made in
    build-tune/live, which takes some minutes the first time. The folder `record` keeps the
    measurements: a configuration that is in it is not measured again. `engine` is a
    jobs.LocalEngine() or a jobs.DaskEngine()."""

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
    """Writes the evaluations of a Recorded as a cache of Kernel Tuner, for this many elements.
    Kernel Tuner simulates with it, together with the T1 file of the same space."""
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
