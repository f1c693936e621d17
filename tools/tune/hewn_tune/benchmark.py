"""A benchmark of optimisers on recorded spaces: how near they come to the optimum, after how many
evaluations and how much time. The built-in optimisers are the tuner's own and those of libraries:
Optuna, Nevergrad and Kernel Tuner. docs/tuning.md shows how to name one of your own."""

import contextlib
import importlib
import io
import itertools
import json
import math
import multiprocessing
import os
import pathlib
import random
import statistics
import sys
import tempfile
import warnings

from . import strategies, tuners
from .progress import Progress
from .space import FileError

AT = (10, 25, 50, 100, 200)  # the evaluations after which the table shows the best so far
NEAR = 0.95  # the fraction of the optimum that counts as near
WRONG = 10  # a wrong configuration is said to take this many times the present one's time


class Stop(BaseException):
    """The optimiser has used up its evaluations. This is not an Exception, so that an optimiser's
    own handling of errors does not catch it."""


class OptimiserError(RuntimeError):
    """An optimiser cannot be loaded, or fails."""


class Run:
    """One run of an optimiser, with `evaluations` evaluations. Each configuration of the space
    counts once, even if it is wrong or cannot be built. A configuration outside of the space does
    not count, because nothing would be built for it. An optimiser that only repeats its proposals
    is stopped after four times as many."""

    def __init__(self, tuner, evaluations):
        self.tuner, self.evaluations, self.proposals = tuner, evaluations, 0
        self.known = {}  # {key: Evaluation}, in the order of the evaluations
        self.worst = WRONG * tuner.evaluate(tuner.space().default).time

    def space(self):
        """The Space: its parameters and conditions, and the present configuration."""
        return self.tuner.space()

    def time(self, config):
        """The milliseconds of a configuration. If it is wrong, refused or outside of the space,
        they are ten times those of the present configuration. Raises Stop when the evaluations are
        used up."""
        evaluation = self.tuner.evaluate(config)
        self.proposals += 1
        if self.proposals > 4 * self.evaluations:
            raise Stop
        key = self.tuner.space().key(config)
        if evaluation.status != "constraints" and key not in self.known:
            if len(self.known) == self.evaluations:
                raise Stop
            self.known[key] = evaluation
        return min(evaluation.time, self.worst)

    def fractions(self, best):
        """The best configuration so far after each evaluation, as a fraction of the optimum's
        speed. It is 0 before the first correct one."""
        fastest = list(itertools.accumulate((e.time for e in self.known.values()), min))
        fastest += fastest[-1:] * (self.evaluations - len(fastest))
        return [best / time for time in fastest]

    def seconds(self):
        """The seconds that all evaluations up to each one took: as many numbers as fractions()."""
        spent = list(itertools.accumulate(e.seconds for e in self.known.values()))
        return spent + [math.inf] * (self.evaluations - len(spent))


# ---- Optimisers: each is given a Run and a seed. It goes on until Stop, or until it has no more
# ---- configurations to propose.

def optuna_sampler(name, **options):
    def optimise(run, seed):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.create_study(sampler=getattr(optuna.samplers, name)(seed=seed, **options))
        knobs = {n: optuna.distributions.CategoricalDistribution(values)
                 for n, values in run.space().parameters.items()}
        while True:
            trial = study.ask(knobs)
            study.tell(trial, run.time(trial.params))

    return optimise


def nevergrad_optimiser(name):
    def optimise(run, seed):
        import nevergrad

        choices = {n: nevergrad.p.TransitionChoice(values)
                   for n, values in run.space().parameters.items()}
        knobs = nevergrad.p.Dict(**choices)
        knobs.random_state.seed(seed)
        optimiser = nevergrad.optimizers.registry[name](knobs, budget=4 * run.evaluations)
        while True:
            candidate = optimiser.ask()
            optimiser.tell(candidate, run.time(candidate.value))

    return optimise


def kernel_tuner_strategy(name):
    def optimise(run, seed):
        import kernel_tuner
        import numpy

        random.seed(seed)
        numpy.random.seed(seed)
        space = run.space()
        with (tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()),
              warnings.catch_warnings()):
            warnings.simplefilter("ignore")  # it warns that there are no blocks of threads
            cache = f"{folder}/cache.json"
            tuners.write_cache(run.tuner, cache, 1)
            results, _ = kernel_tuner.tune_kernel(
                space.kernel, "", (1,), [], space.parameters, cache=cache, simulation_mode=True,
                restrictions=[c.text for c in space.conditions], lang="Hypertuner", strategy=name,
                strategy_options={"max_fevals": run.evaluations}, quiet=True)
        for result in filter(None, results):
            run.time({name: result[name] for name in space.parameters})

    return optimise


def own_search(run, seed):
    """The tuner's own search."""
    as_knobs = lambda config: tuple(sorted(config.items()))
    space = run.space()
    candidates = [as_knobs(config) for config in space.configurations() if config != space.default]
    search = strategies.Optimiser(space.parameters, candidates, as_knobs(space.default), seed)
    present = run.time(space.default)
    while batch := search.ask(1):
        search.tell(batch[0], present / run.time(dict(batch[0])))


OPTIMISERS = {
    "random": optuna_sampler("RandomSampler"),
    "tpe": optuna_sampler("TPESampler"),
    "local_search": kernel_tuner_strategy("greedy_ils"),
    "genetic": kernel_tuner_strategy("genetic_algorithm"),
    "annealing": kernel_tuner_strategy("simulated_annealing"),
    "one_plus_one": nevergrad_optimiser("DiscreteOnePlusOne"),
    "hewn": own_search,
}


def own(name):
    """The optimiser "module:function". The module is looked for in the current folder first."""
    module, _, function = name.partition(":")
    if sys.path[0] != os.getcwd():
        sys.path.insert(0, os.getcwd())
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name == module.partition(".")[0] or missing.name == module:
            raise OptimiserError(f"--optimiser {name}: there is no module {missing.name} in "
                                 f"{os.getcwd()}, nor among the packages of {sys.prefix}") from None
        raise OptimiserError(f"--optimiser {name}: {module} imports {missing.name}, which is not "
                             f"installed: install its package with {sys.executable} -m pip "
                             "install") from None
    if not callable(getattr(found, function, None)):
        raise OptimiserError(f"--optimiser {name}: {found.__file__} has no function {function}")
    return getattr(found, function)


def chosen(built_in, own_names):
    """{name: optimiser} for the names of built-in optimisers and for "module:function"."""
    return ({name: OPTIMISERS[name] for name in built_in}
            | {name: own(name) for name in own_names})


def runs_of(spaces, optimisers, evaluations, repeats):
    """Runs each of the optimisers ({name: function}) on each of the spaces (Recorded tuners) with
    the seeds 0, 1 and so on, in as many processes as there are CPUs. Returns [{name: [Run]}], with
    an element for each space. `evaluations` has a number for each space. All optimisers run once on
    all spaces before any runs again, so that the time left can be estimated early."""
    def attempt(task):
        seed, place, name = task
        run = Run(spaces[place], evaluations[place])
        try:
            with contextlib.suppress(Stop):
                optimisers[name](run, seed)
        except Exception as error:
            raise OptimiserError(f"{name}, seed {seed}, {run.space().kernel}: "
                                 f"{type(error).__name__}: {error}") from error
        if not run.known:
            raise OptimiserError(f"{name}, seed {seed}, {run.space().kernel}: the optimiser "
                                 "evaluated nothing: run.time(configuration) was not called with a "
                                 "configuration of the space")
        return run.known

    tasks = list(itertools.product(range(repeats), range(len(spaces)), optimisers))
    runs = [{name: [] for name in optimisers} for _ in spaces]
    with Progress("benchmark") as progress:
        known = in_processes(attempt, tasks)
        for done, ((_, place, name), found) in enumerate(zip(tasks, known), 1):
            run = Run(spaces[place], evaluations[place])
            run.known = found
            runs[place][name].append(run)
            progress.update(done, len(tasks), f"{done} of {len(tasks)} runs")
    return runs


def in_processes(work, values):
    """Yields work(value) for each value, in order, as soon as it is known. The processes are forked
    and so have `work` already: it need not be pickled."""
    global _work
    _work, cpus = work, len(os.sched_getaffinity(0))
    with multiprocessing.get_context("fork").Pool(min(cpus, len(values))) as pool:
        yield from pool.imap(_call, values)


_work = None  # the argument of in_processes


def _call(value):
    return _work(value)


def reached(run, best, what):
    """When the run came near the optimum. `what` has, for each evaluation, its number or the
    seconds so far; the result is one of them, or infinity."""
    near = (w for fraction, w in zip(run.fractions(best), what) if fraction >= NEAR)
    return next(near, math.inf)


def summary(runs, best):
    """Statistics of an optimiser's runs: mean and quartiles of the fraction of the optimum after
    each evaluation; the medians of the evaluations and of the seconds until a run is near the
    optimum; and the mean fraction at a hundred points in time."""
    curves = [run.fractions(best) for run in runs]
    spent = [run.seconds() for run in runs]
    end = max(s for times in spent for s in times if s < math.inf)
    clock = [end * (i / 100) for i in range(101)]

    def at(moment):
        return statistics.fmean(
            max((f for f, s in zip(curve, times) if s <= moment), default=0.0)
            for curve, times in zip(curves, spent))

    by_evaluation = list(zip(*curves))
    quartiles = [statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1
                 else [values[0]] * 3 for values in by_evaluation]
    return {"mean": [statistics.fmean(values) for values in by_evaluation],
            "low": [q[0] for q in quartiles], "high": [q[2] for q in quartiles],
            "near": statistics.median(reached(run, best, itertools.count(1)) for run in runs),
            "near_s": statistics.median(reached(run, best, times)
                                        for run, times in zip(runs, spent)),
            "clock": clock, "by_time": [at(moment) for moment in clock]}


def compare(spaces, optimisers, evaluations, repeats):
    """Runs the optimisers ({name: function}) on Recorded spaces. Returns an outcome for each
    space."""
    allowed = [min(evaluations, len(tuner.space())) for tuner in spaces]
    runs = runs_of(spaces, optimisers, allowed, repeats)
    return [outcome_of(*of_one, repeats) for of_one in zip(spaces, allowed, runs)]


def outcome_of(tuner, evaluations, runs, repeats):
    best = tuner.best()[1]
    times = sorted(e.time for e in tuner.known.values() if e.time < math.inf)
    return {"kernel": tuner.space().kernel, "configurations": len(tuner.space()),
            "evaluations": evaluations, "repeats": repeats, "best_ms": best,
            "median": best / statistics.median(times), "worst": best / times[-1],
            "present": best / tuner.evaluate(tuner.space().default).time,
            "optimisers": {name: summary(its, best) for name, its in runs.items()},
            "default": tuner.space().default, "again": tuner.again}


def table(outcome):
    """Lines of a Markdown table: how near each optimiser came to the optimum."""
    places = [n for n in AT if n < outcome["evaluations"]] + [outcome["evaluations"]]
    count = lambda number, unit="": "never" if number == math.inf else f"{number:.0f}{unit}"
    yield (f"{outcome['kernel']}: {outcome['configurations']} configurations, "
           f"{outcome['repeats']} runs; the present one has {outcome['present']:.3f} of the "
           "optimum")
    yield ""
    yield ("| optimiser |" + "".join(f" {n} |" for n in places)
           + f" evaluations to {NEAR} | time to {NEAR} |")
    yield "|---|" + "---|" * (len(places) + 2)
    for name, told in outcome["optimisers"].items():
        yield (f"| {name} |" + "".join(f" {told['mean'][n - 1]:.3f} |" for n in places)
               + f" {count(told['near'])} | {count(told['near_s'], ' s')} |")


def autoscheduled(outcome):
    """(name, fraction of the optimum, what its kernel breaks) for each of Halide's autoschedulers,
    which do not search."""
    for row in outcome["again"].get("autoschedulers", []):
        if "gain" in row:
            yield row["name"], outcome["present"] * row["gain"][0], row["message"]


def again_table(outcome):
    """Lines of a Markdown table: the leaders among the best recorded configurations, measured again
    (tools/tune/again.py). It has their gains over the present configuration, and the bytes by which
    their code is larger."""
    rows = outcome["again"].get("best", [])
    if not rows:
        return
    yield "| measured again | bytes |" + "".join(f" {place} |" for place in rows[0]["gain"])
    yield "|---|" + "---|" * (1 + len(rows[0]["gain"]))
    for row in rows:
        knobs = " ".join(f"{name}={value}" for name, value in row["configuration"].items()
                         if value != outcome["default"][name])
        speeds = "".join(f" {gain:.3f} ({low:.3f} to {high:.3f}) |"
                         for gain, low, high in row["gain"].values())
        yield f"| `{knobs}` | {row['bytes']:+} |{speeds}"


def overview(outcomes):
    """Lines of a Markdown table with a row for each space: fractions of the optimum. Those of
    autoschedulers are for dense problems. A * says that the kernel is right only if rows are whole
    vectors."""
    names = sorted({name for outcome in outcomes for name, *_ in autoscheduled(outcome)})
    yield ("| space | configurations | present | median | worst | in another process |"
           + "".join(f" {name} |" for name in names))
    yield "|---|" + "---|" * (5 + len(names))
    for outcome in outcomes:
        noise = outcome["again"].get("noise")
        found = {n: f"{f:.2f}{'*' if wrong else ''}" for n, f, wrong in autoscheduled(outcome)}
        differs = "{:.1%} (90th percentile {:.1%}) apart".format(*noise) if noise else "-"
        yield (f"| `{outcome['kernel']}` | {outcome['configurations']} |"
               + "".join(f" {outcome[name]:.2f} |" for name in ("present", "median", "worst"))
               + f" {differs} |"
               + "".join(f" {found.get(n, '-')} |" for n in names))


def page(outcome):
    """The lines of all tables of an outcome."""
    yield from table(outcome)
    yield from ["", *again_table(outcome)]
    broken = [f"{name} {message}" for name, _, message in autoscheduled(outcome) if message]
    if broken:
        yield from ["", "Not right: " + "; ".join(broken)]


def draw(outcomes, path):
    """Draws the mean fraction of the optimum by evaluations, with its quartiles, and by time. A
    dashed line is the present configuration; dotted lines are autoschedulers."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "hewn", "svg.fonttype": "none", "font.size": 8})
    import matplotlib.pyplot as plt

    figure, rows = plt.subplots(len(outcomes), 2, figsize=(10, 3.4 * len(outcomes)),
                                layout="constrained", squeeze=False)
    for outcome, (left, right) in zip(outcomes, rows):
        x = range(1, outcome["evaluations"] + 1)
        for name, told in outcome["optimisers"].items():
            (line,) = left.plot(x, told["mean"], label=name, lw=1.2)
            left.fill_between(x, told["low"], told["high"], color=line.get_color(), alpha=0.08,
                              lw=0)
            right.plot(told["clock"], told["by_time"], color=line.get_color(), lw=1.2)
        for axes, what in ((left, "evaluations"), (right, "seconds of building and measuring")):
            axes.axhline(outcome["present"], color="black", lw=0.8, ls="--")
            for name, fraction, _ in autoscheduled(outcome):
                axes.axhline(fraction, color="gray", lw=0.8, ls=":")
                axes.text(1, fraction, name, fontsize=6, color="gray", ha="left", va="bottom",
                          clip_on=True)
            axes.set(xlabel=what, ylim=(0.4, 1.02))
        left.set(title=outcome["kernel"], ylabel="fraction of the optimum")
        left.legend(loc="lower right")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def recorded(file, objective):
    """The Recorded of a file. Raises FileError if its present configuration is not correct, as
    there is then nothing to compare with."""
    try:
        tuner = tuners.Recorded(file, objective)
        present = tuner.evaluate(tuner.space().default)
    except FileError:
        raise
    except ValueError as error:
        raise FileError(f"{file}: {error}") from None
    if present.status != "correct":
        raise FileError(f"{file}: the present configuration is not correct: {present.status}")
    return tuner


def main(files, optimisers, evaluations, repeats, objective, out, report=print):
    """Compares the optimisers ({name: function}) on every file. Writes benchmark.json, .md and .svg
    to the folder `out`."""
    spaces = [recorded(file, objective) for file in files]
    out.mkdir(parents=True, exist_ok=True)
    outcomes = compare(spaces, optimisers, evaluations, repeats)
    (out / "benchmark.json").write_text(json.dumps(outcomes), encoding="utf-8")
    text = "\n\n".join("\n".join(lines) for lines in [overview(outcomes), *map(page, outcomes)])
    pathlib.Path(out / "benchmark.md").write_text(text + "\n", encoding="utf-8")
    draw(outcomes, out / "benchmark.svg")
    report(text)
    report(f"{out / 'benchmark.svg'}")
