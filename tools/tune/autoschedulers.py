"""Halide's autoschedulers beside the present knobs and the generators' defaults: speed, compile time, size, and what breaks.

An autoscheduled kernel knows one layout, that of the form's first. What breaks row ends or execution in place is timed all the same, on rows
that are multiples of a vector, where its bits are right: it is compared, never adopted."""

import pathlib
import subprocess
import time

import search
from jobs import Refused, build_candidate, measure

AUTOSCHEDULERS = {"mullapudi2016": "Mullapudi2016", "adams2019": "Adams2019", "li2018": "Li2018"}
# tune_runner's words for what only the whole check finds.
FAULTS = {"tails": "row ends", "crash": "row ends or execution in place, with a crash"}
ELEMENTS, ROUNDS = (4096, 65536, 1 << 20), 40


def contenders(build, kernel):
    """(name, knobs, generator arguments), the present knobs first."""
    yield "present knobs", kernel.knobs, ()
    yield "default", (), ()
    for name, parameter in AUTOSCHEDULERS.items():
        plugin = next(pathlib.Path(build.halide_library).parent.glob(f"libautoschedule_{name}.so"))
        # Kernels are serial: the runtime slices the work.
        yield name, (("tail", "masked"),), ("-p", str(plugin), f"autoscheduler={parameter}", "autoscheduler.parallelism=1")


def compare(build, kernel, runner, folder):
    """Rows of {"name", "seconds", "bytes", "gain", "low", "high", "fault"}; gain: present time / its own."""
    rows = []
    for name, knobs, arguments in contenders(build, kernel):
        library = pathlib.Path(folder) / kernel.name / f"{name.replace(' ', '-')}.so"
        row, started = {"name": name, "fault": ""}, time.monotonic()
        try:
            build_candidate(build, kernel, knobs, library, None, arguments)
            row["library"] = str(library)
            row["bytes"] = int(subprocess.run(["size", library], capture_output=True, text=True).stdout.split()[6])
        except Refused as refused:
            row["fault"] = f"not built: {refused}"
        except subprocess.CalledProcessError:
            row["fault"] = "not built: it needs of Halide's runtime what the library has not"
        row["seconds"] = time.monotonic() - started
        rows.append(row)
    built = [row for row in rows if "library" in row]
    libraries = [row["library"] for row in built]
    sound = measure(build, kernel, libraries, runner, ["dense"], ELEMENTS, 0, 200, ["--only"])["libraries"]
    result = measure(build, kernel, libraries, runner, ["dense"], ELEMENTS, ROUNDS, 200, ["--only", "--whole"])
    for i, row in enumerate(built):
        fault, whole_fault = sound[i], result["libraries"][i]
        if fault["fault"]:
            row["fault"] = f"breaks {FAULTS.get(fault['fault'], fault['fault'])}: {fault['message']}"
        if whole_fault["fault"]:
            row["fault"] = f"breaks {whole_fault['fault']}: {whole_fault['message']}"
        else:
            row["gain"], row["low"], row["high"] = search.median_interval(search.gains(result, i)[0])
    for row in built:  # bytes of the library beyond that with the present knobs
        row["bytes"] -= built[0]["bytes"] if row is not built[0] else 0
    built[0]["bytes"] = 0
    return rows


def table(kernel, rows):
    lines = [f"{kernel.name}", f"    {'':<16} {'speed':>6} {'95 %':>15} {'compile':>8} {'code':>9}"]
    for row in rows:
        speed = f"{row['gain']:>6.2f} {row['low']:>7.2f} to {row['high']:.2f}" if "gain" in row else f"{'':>6} {'':>15}"
        size = f"{row['bytes']:>+9d}" if "bytes" in row else f"{'':>9}"
        lines.append(f"    {row['name']:<16} {speed} {row['seconds']:>6.1f} s {size} {row['fault']}")
    return lines
