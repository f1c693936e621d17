"""Compares the present knobs with the defaults and with Halide's autoschedulers: their speed, their
compile time, the size of their code, and what breaks. `./tune.sh --report` and again.py use it.

An autoscheduled kernel is made only for the form's first layout. It may be wrong at row ends or for
execution in place. It is timed nevertheless, on rows that are multiples of a vector, if its bits
are right there. It is only compared, never adopted."""

import dataclasses
import pathlib
import subprocess
import time

import search
from jobs import Problems, Refused, build_candidate, code_bytes, measure

# Halide's autoschedulers for CPUs. anderson2021, which schedules GPUs, is not run.
AUTOSCHEDULERS = {"mullapudi2016": "Mullapudi2016", "adams2019": "Adams2019", "li2018": "Li2018"}
# Words for the faults that only the full check of tune_runner finds, by tune_runner's own words.
FAULTS = {"tails": "row ends", "crash": "row ends or execution in place, with a crash"}
ELEMENTS, ROUNDS = (4096, 65536, 1 << 20), 40
# Sizes at which the present knobs must not be slower than the defaults.
SIZES = (16, 256, 4096, 65536, 1 << 20, 1 << 24)


def contenders(build, kernel, against):
    """What is compared: (name, knobs, the generator's arguments). The present knobs are first."""
    yield "present", build.complete(kernel, kernel.knobs), ()
    yield "default", build.default_knobs(kernel, against), ()
    if kernel.form == "plan":
        return
    for name, parameter in AUTOSCHEDULERS.items():
        plugin = next(pathlib.Path(build.halide_library).parent.glob(f"libautoschedule_{name}.so"))
        # Kernels are serial, because the runtime divides the work among threads.
        yield name, (("tail", "masked"),), ("-p", str(plugin), f"autoscheduler={parameter}",
                                            "autoscheduler.parallelism=1")


def build_all(build, kernel, folder, against):
    """Builds what is compared. Returns rows of {"name", "knobs", "seconds", "fault"}. Those that
    were built also have "library", "code" (a digest) and "bytes", by which their code is larger
    than that of the first row."""
    rows = []
    for name, knobs, arguments in contenders(build, kernel, against):
        library = pathlib.Path(folder) / kernel.name / f"{name}.so"
        row, started = {"name": name, "knobs": knobs, "fault": ""}, time.monotonic()
        try:
            row["code"] = build_candidate(build, kernel, knobs, library, None, arguments)
            row["library"] = str(library)
            row["bytes"] = code_bytes(library)
        except Refused as refused:
            row["fault"] = f"not built: {refused}"
        except subprocess.CalledProcessError:
            row["fault"] = "not built: it needs of Halide's runtime what the library has not"
        row["seconds"] = time.monotonic() - started
        rows.append(row)
    for row in reversed(rows):
        if "bytes" in row:
            row["bytes"] -= rows[0]["bytes"]
    return rows


def compare_schedules(build, kernel, runner, rows, elements):
    """Adds "gain", "low" and "high" (the present time divided by the row's) to rows whose bits are
    right on rows of whole vectors. Notes in "fault" what breaks."""
    built = [row for row in rows if "library" in row]
    libraries = [row["library"] for row in built]
    problems = Problems(("dense",), elements)
    sound = measure(build, kernel, libraries, runner, problems, 0, check=["--only"])["libraries"]
    result = measure(build, kernel, libraries, runner, problems, ROUNDS,
                     check=["--only", "--whole"])
    for i, row in enumerate(built):
        fault, whole_fault = sound[i], result["libraries"][i]
        if fault["fault"]:
            kind = FAULTS.get(fault["fault"], fault["fault"])
            row["fault"] = f"breaks {kind}: {fault['message']}"
        if whole_fault["fault"]:
            row["fault"] = f"breaks {whole_fault['fault']}: {whole_fault['message']}"
        else:
            row["gain"], row["low"], row["high"] = search.median_interval(
                search.gains(result, i)[0])


def compare_sizes(build, kernel, runner, default, present):
    """search.speeds() at every size, with the defaults as "before" and the present knobs as
    "after". "slower" is true if the present knobs were slower in both of two runs."""
    problems = dataclasses.replace(search.problems_of(kernel), elements=SIZES)
    run = lambda: search.speeds(measure(build, kernel, [default, present], runner, problems,
                                        ROUNDS), 0, 1)
    beaten = lambda row: row["gain"][2] < 1
    first = run()
    second = run() if any(map(beaten, first)) else first
    for row, again in zip(first, second):
        row["slower"] = beaten(row) and beaten(again)
    return first


def remove_libraries(rows):
    for row in rows:
        if "library" in row:
            pathlib.Path(row.pop("library")).unlink()


def compare(build, kernel, runner, folder, against=None):
    """Compares everything: {"kernel", "rows", "sizes"}. `against` is a folder of tuning files to
    compare with instead of the defaults. "sizes" is empty if these knobs give the same code as the
    present ones, or are refused."""
    rows = build_all(build, kernel, folder, against)
    present, default = rows[0], rows[1]
    sizes = []
    if "code" in default and default["code"] != present["code"]:
        sizes = compare_sizes(build, kernel, runner, default["library"], present["library"])
    if kernel.form != "plan":
        compare_schedules(build, kernel, runner, rows, ELEMENTS)
    remove_libraries(rows)
    return {"kernel": kernel.name, "rows": rows, "sizes": sizes}


def schedules(build, kernel, runner, folder, elements):
    """The rows of compare() at these numbers of elements."""
    rows = build_all(build, kernel, folder, None)
    compare_schedules(build, kernel, runner, rows, elements)
    remove_libraries(rows)
    return rows


def table(compared):
    """Lines of text for what compare() returns."""
    lines = [f"{compared['kernel']}",
             f"    {'':<16} {'speed':>6} {'95 %':>15} {'compile':>8} {'code':>9}"]
    for row in compared["rows"]:
        speed = f"{'':>6} {'':>15}"
        if "gain" in row:
            speed = f"{row['gain']:>6.2f} {row['low']:>7.2f} to {row['high']:.2f}"
        size = f"{row['bytes']:>+9d}" if "bytes" in row else f"{'':>9}"
        lines.append(
            f"    {row['name']:<16} {speed} {row['seconds']:>6.1f} s {size} {row['fault']}")
    if not compared["sizes"]:
        lines.append("    present / default: " + ("the same code" if "code" in compared["rows"][1]
                                                  else "not compared"))
    for row in compared["sizes"]:
        gain, low, high = row["gain"]
        lines.append(
            f"    present / default {row['layout']:>14} {row['elements']:>9} elements, "
            f"{row['threads'] or 'all'} thread(s): "
                     f"{gain:.3f} ({low:.3f} to {high:.3f}){'  SLOWER' if row['slower'] else ''}")
    return lines
