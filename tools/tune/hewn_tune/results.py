"""Measurements of a kernel's configurations. They are read and written as T4 JSON, a format that
autotuning frameworks share."""

import gzip
import json
import os
import pathlib
import statistics

from .space import NUMBER, FileError, Space, member, members, naming, read_document, typed

VERSION = "1.0.0"  # of T4's schema
# T4's words for a candidate's status, by the words of the tuner's cache.
VALIDITY = {"timed": "correct", "same": "correct", "refused": "compile", "wrong": "correctness"}


def quarter(values):
    """The 25th percentile of repeated times. Disturbances change it less than the median."""
    if len(values) == 1:
        return values[0]
    return statistics.quantiles(values, n=4, method="inclusive")[0]


def place_of(problem):
    """The name of the problem that was timed: "dense, 4096 elements, all threads"."""
    threads = "" if problem["threads"] == 1 else ", all threads"
    return f"{problem['layout']}, {problem['elements']} elements{threads}"


def milliseconds(ns):
    return float(f"{ns * 1e-6:.6g}")


class Results:
    """The measurements of a Space. `results` are objects as in T4. A configuration that was
    measured several times has several. `machines` is {id: fingerprint} (tools/tune/machine.py).
    `again` is {machine's id: what tools/tune/again.py found when it measured the best
    configurations again}."""

    def __init__(self, space, results=(), machines=None, again=None):
        self.space, self.results, self.machines = space, list(results), dict(machines or {})
        self.again = dict(again or {})

    @classmethod
    def read(cls, path):
        """Reads a T4 file that hewn wrote, which may be compressed (.gz). Raises FileError if it is
        damaged."""
        with naming(path, "T4"):
            document = read_document(path)
            about = member(document, "metadata", dict)
            hardware = member(about, "hardware", dict)
            machines = {member(m, "id", str): m
                        for m in members(hardware, "hardware_description", dict)}
            space = Space.of_t1(member(about, "kernel", str), member(about, "space", dict))
            results = members(document, "results", dict)
            for result in results:
                check_result(result, space)
            again = member(about, "again", dict, {}) if about.get("again") else {}
            for machine in again:
                check_again(member(again, machine, dict))
            return cls(space, results, machines, again)

    def write(self, path):
        """Writes T4 JSON, with results and metadata in one file that fits both schemas. Raises
        FileError."""
        halides = sorted({m["halide"] for m in self.machines.values() if "halide" in m})
        metadata = {
            "kernel": self.space.kernel, "space": self.space.t1(), "timeunit": "milliseconds",
            "again": self.again,
            "hardware": {"hardware_description": list(self.machines.values()),
                         "operating_system": ", ".join(sorted(
                             {m.get("os", "not known") for m in self.machines.values()}))},
            "environment": {"requirements": [f"halide=={halide}" for halide in halides]}}
        text = json.dumps({"schema_version": VERSION, "metadata": metadata,
                           "results": self.results}, separators=(",", ":")).encode()
        path = pathlib.Path(path)
        data = gzip.compress(text, mtime=0) if str(path).endswith(".gz") else text
        # The file appears whole or not at all, because it may replace one of the files that it was
        # made from.
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(data)
            temporary.replace(path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise FileError(f"{path}: cannot be written: {error.strerror}") from None

    def of(self, machine):
        """The Results of one machine, with those that belong to no machine, such as refused
        candidates."""
        its = [r for r in self.results if r.get("machine", machine) == machine]
        return Results(self.space, its, self.machines, self.again)

    def merged(self, other):
        """The Results of both, which may be of several machines. A result that both have occurs
        once. Raises ValueError if their spaces differ."""
        mine, theirs = self.space, other.space
        if (mine.kernel, mine.parameters) != (theirs.kernel, theirs.parameters):
            raise ValueError(f"the spaces of {mine.kernel} and {theirs.kernel} differ")
        known = {json.dumps(result, sort_keys=True) for result in self.results}
        new = [r for r in other.results if json.dumps(r, sort_keys=True) not in known]
        return Results(mine, self.results + new, {**other.machines, **self.machines},
                       {**other.again, **self.again})


def check_result(result, space):
    """Raises ValueError if a T4 result lacks a member that hewn reads, or has a wrong one."""
    config = member(result, "configuration", dict)
    if config.keys() != space.parameters.keys():
        raise ValueError(f"a result has the knobs {list(config)}, expected "
                         f"{list(space.parameters)}")
    for name in config:
        member(config, name, (int, str))
    for name in ("invalidity", "message"):
        member(result, name, str)
    member(result, "machine", str, "")
    for measured in members(result, "measurements", dict):
        if member(measured, "value", NUMBER) <= 0:
            raise ValueError(f"'{member(measured, 'name', str)}' is {measured['value']}, expected "
                             "more than 0")
        member(measured, "name", str)
    times = member(result, "times", dict)
    for name in ("compilation_time", "benchmark"):
        member(times, name, NUMBER)


def check_again(again):
    """The same for what tools/tune/again.py wrote about a machine."""
    for row in members(again, "best", dict, []):
        member(row, "configuration", dict)
        member(row, "bytes", int)
        gains = member(row, "gain", dict)
        for place in gains:
            if len(members(gains, place, NUMBER)) != 3:
                raise ValueError(f"'{place}' is {gains[place]}, expected 3 numbers")
    for row in members(again, "autoschedulers", dict, []):
        member(row, "name", str)
        if "gain" in row and not members(row, "gain", NUMBER):
            raise ValueError("'gain' is empty")
        member(row, "message", str, "")
    if again.get("noise") and len(members(again, "noise", NUMBER)) != 2:
        raise ValueError(f"'noise' is {again['noise']}, expected 2 numbers")


def measurement(result, name):
    """The value of the result's measurement of that name. None if it has no such measurement."""
    return next((m["value"] for m in result["measurements"] if m["name"] == name), None)


class Writer:
    """Makes T4 results of the entries of the tuner's cache. A candidate's time is the time of the
    present configuration (the median over all batches), multiplied by the ratio of both times in
    the candidate's batch. So a disturbance of a whole batch cancels out. `decides(problem)` says
    whether a problem counts for the objective `time`."""

    def __init__(self, space, entries, decides):
        self.space, self.entries, self.decides = space, list(entries), decides
        self.known = {self.key(e["knobs"]): e for e in self.entries}
        self.timed = {key: e for key, e in self.known.items() if e.get("problems")}
        # {(machine, place): the times of the present configuration, one for each candidate}
        self.base = {}
        for entry in self.timed.values():
            for problem in entry["problems"]:
                here = self.base.setdefault((entry["machine"]["id"], place_of(problem)), [])
                here.append(quarter(problem["incumbent_ns"]))

    def config(self, knobs):
        """The configuration of the space, without the knobs that are set by hand."""
        return {name: typed(value) for name, value in knobs if name in self.space.parameters}

    def key(self, knobs):
        return self.space.key(self.config(knobs))

    def times(self, entry, present=False):
        """{place: nanoseconds} of a timed entry or, with `present`, of the present
        configuration."""
        times = {}
        for problem in entry["problems"]:
            place = place_of(problem)
            ratio = quarter(problem["ns"]) / quarter(problem["incumbent_ns"])
            base = statistics.median(self.base[entry["machine"]["id"], place])
            times[place] = base * (1 if present else ratio)
        return times

    def measurements(self, entry, present=False):
        times = self.times(entry, present)
        deciding = [times[place_of(p)] for p in entry["problems"] if self.decides(p)]
        objective = statistics.geometric_mean(deciding or times.values())
        named = {"time": objective, **{f"time {place}": ns for place, ns in times.items()}}
        return [{"name": name, "value": milliseconds(ns), "unit": "ms"}
                for name, ns in named.items()]

    def result(self, entry):
        status = VALIDITY[entry["status"]]
        if entry.get("fault") in ("crash", "load"):
            status = "runtime"
        of = entry
        if entry["status"] == "same":  # the first with this code may be wrong, or the present one
            of = self.known.get(self.key(entry["first"]), entry)
            if entry["gain"] is None:
                status = "correctness"
        seconds = entry.get("seconds") or {}
        made = {"timestamp": entry.get("timestamp", ""), "configuration": self.config(
                    entry["knobs"]), "invalidity": status, "correctness": int(status == "correct"),
                "objectives": ["time"], "message": entry.get("message", ""), "measurements": [],
                "times": {"compilation_time": 1e3 * seconds.get("build", 0), "validation": 0,
                          "benchmark": 1e3 * seconds.get("measure", 0), "framework": 0,
                          "search_algorithm": 0, "runtimes": []}}
        if of.get("machine"):
            made["machine"], made["load"] = of["machine"]["id"], of["machine"].get("load", 0)
        if of.get("problems"):
            made["measurements"] = self.measurements(of)
            if of is entry:  # the samples of each problem, in the order of the measurements
                made["times"]["runtimes"] = [list(map(milliseconds, p["ns"]))
                                             for p in entry["problems"]]
        return made

    def present(self):
        """Yields the result of the present configuration on each machine, with its times in all
        batches."""
        for machine, entries in self.by_machine().items():
            batches = [dict.fromkeys(self.base[machine, place_of(problem)])
                       for problem in entries[0]["problems"]]
            yield {"timestamp": entries[0].get("timestamp", ""), "machine": machine,
                   "configuration": self.space.default, "invalidity": "correct", "correctness": 1,
                   "objectives": ["time"], "message": "the present configuration",
                   "measurements": self.measurements(entries[0], present=True),
                   "times": {"compilation_time": 0, "benchmark": 0, "framework": 0,
                             "search_algorithm": 0, "validation": 0,
                             "runtimes": [list(map(milliseconds, ns)) for ns in batches]}}

    def by_machine(self):
        """{machine's id: its timed entries}"""
        machines = {}
        for entry in self.timed.values():
            machines.setdefault(entry["machine"]["id"], []).append(entry)
        return machines

    def results(self):
        present = list(self.present())
        made = [self.result(entry) for entry in self.entries]
        for result in made:  # candidates that have the code of the present configuration
            if result["invalidity"] == "correct" and not result["measurements"] and present:
                result["measurements"] = present[0]["measurements"]
                result["machine"] = present[0]["machine"]
        machines = {machine: entries[0]["machine"]
                    for machine, entries in self.by_machine().items()}
        return Results(self.space, present + made, machines)

