"""Measures the best configurations of a recorded space once more, in one process with the present
configuration. It also measures Halide's autoschedulers. The fastest of many configurations is first
partly by luck, so its real gain is known only after a second measurement."""

import dataclasses
import random

import autoschedulers
import numpy as np
import search
from hewn_tune.results import measurement, place_of
from jobs import LocalEngine, code_bytes

# How many configurations are measured again: of the best, and of all by chance.
BEST, BY_CHANCE = 20, 16


def rivals_of(recorded):
    """The results of correct configurations that have code of their own, without the present
    configuration."""
    return [result for result in recorded.results
            if result["times"]["runtimes"] and result["invalidity"] == "correct"
            and result["configuration"] != recorded.space.default]


def best_of(recorded, count=BEST):
    """About `count` configurations: for each place (layout, size, threads), equally many of the
    fastest."""
    right = rivals_of(recorded)
    places = [m["name"] for m in right[0]["measurements"] if m["name"] != "time"] if right else []
    chosen = []
    for place in places:
        fastest = sorted(right, key=lambda result: measurement(result, place))
        chosen += [result["configuration"] for result in fastest[:-(-count // len(places))]
                   if result["configuration"] not in chosen]
    return chosen


def by_chance(recorded, count=BY_CHANCE):
    """`count` configurations by chance, or all if there are fewer."""
    right = rivals_of(recorded)
    return [r["configuration"] for r in random.Random(0).sample(right, min(count, len(right)))]


def noise(recorded, gains):
    """How far a recorded gain is from the gain that another process measured, relative to the
    latter: the median and the 90th percentile over all configurations and places. `gains` are those
    of the other process: [(configuration, {place: gain})]."""
    of = {recorded.space.key(result["configuration"]): result for result in recorded.results}
    at = lambda config, place: measurement(of[recorded.space.key(config)], f"time {place}")
    far = [abs(at(recorded.space.default, place) / at(config, place) / gain - 1)
           for config, places in gains for place, gain in places.items()
           if at(config, place) is not None]
    return [round(float(value), 4) for value in np.percentile(far, [50, 90])] if far else []


def leaders(rows, elements):
    """The knobs of the fastest of Search.compare()'s rows at each place whose number of elements
    was recorded. Each occurs once."""
    places = [i for i, place in enumerate(rows[0]["GB/s"] if rows else [])
              if place["elements"] in elements]
    fastest = [max(rows, key=lambda row: row["GB/s"][i]["gain"][0])["knobs"] for i in places]
    return list(dict.fromkeys(fastest))


def compare(build, kernel, engine, folder, runner, elements, recorded):
    """Measures again, and returns {machine: {"noise", "best", "autoschedulers"}}.

    "noise" is that of noise(). "best" has the leaders among the best recorded configurations:
    chosen by one measurement and measured by another, with their gain at each place (also for small
    calls) and the number of bytes by which their code is larger. "autoschedulers" is that of
    scheduled().

    The result is empty if several machines of a cluster measured, because what one machine recorded
    must not be compared with what another measured."""
    problems = search.problems_of(kernel)
    guarded = tuple(n for n in problems.elements if n in search.GUARDED and n not in elements)
    run = search.Search(build, kernel, engine, folder, runner, problems=dataclasses.replace(
        problems, elements=guarded + elements))
    run.begin()
    (machine,) = run.machines
    recorded = recorded.of(machine)
    best, others = ([run.all_knobs(config) for config in choose(recorded)]
                    for choose in (best_of, by_chance))
    rivals = list(dict.fromkeys(best + others))
    engine.build_all([run.call(knobs) for knobs in rivals])
    rows = run.compare(rivals) if rivals else []
    repeated = [(run.config(row["knobs"]), {place_of(p): p["gain"][0] for p in row["GB/s"]})
                for row in rows if row["knobs"] in others]
    chosen = leaders([row for row in rows if row["knobs"] in best], elements)
    led = [row_of(run, row) for row in run.compare(chosen)] if chosen else []
    run.remove_libraries()
    if len(run.machines) > 1:
        return {}
    # Autoscheduled kernels are not measured on a Dask cluster, which --report does not use either.
    plain = kernel.form != "plan" and isinstance(engine, LocalEngine)
    return {machine: {"noise": noise(recorded, repeated), "best": led, "autoschedulers":
                      scheduled(build, kernel, folder, runner, elements) if plain else []}}


def row_of(run, row):
    """A row of Search.compare() as the T4 file keeps it."""
    size = lambda knobs: code_bytes(run.library(knobs))
    return {"configuration": run.config(row["knobs"]),
            "bytes": size(row["knobs"]) - size(run.incumbent),
            "gain": {place_of(place): place["gain"] for place in row["GB/s"]}}


def scheduled(build, kernel, folder, runner, elements):
    """A row for each autoscheduler. It has the gain of its kernel if that gives the right bits on
    rows of whole vectors."""
    rows = autoschedulers.schedules(build, kernel, runner, folder, elements)
    return [{"name": row["name"], "seconds": round(row["seconds"], 3), "message": row["fault"],
             **({"gain": [round(row[key], 3) for key in ("gain", "low", "high")]}
                if "gain" in row else {})}
            for row in rows if row["name"] in autoschedulers.AUTOSCHEDULERS]
