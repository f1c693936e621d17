"""The commands that build and measure candidates: search, search --report and record. They run in
the tuner's environment, which has NumPy, Optuna and Matplotlib. The search for one kernel is in
search.py."""

import dataclasses
import datetime
import os
import platform
import subprocess
import sys
import time
import types

import again
import autoschedulers
import building
import jobs
import kernels
import machine
import report
import search
from hewn_tune.progress import Progress
from hewn_tune.space import of_kernel

# Every CPU target has at least one of these kernels.
OF_ALL_TARGETS = ["add_f16", "quantized_linear_add_i8_i8_i8"]


def build_for(options, signatures):
    """Builds the library from which candidates are linked, and the tools. Returns its
    kernels.Build, whose `kernels` are those to tune. The library has only the targets, operators
    and signatures that are needed."""
    folder, tuning = options.build_dir, options.tuning_dir
    if options.target == "auto":
        # A small library of all targets can say which ones this machine runs.
        build = building.configure(folder, [], ["add", "quantized_linear_add"], OF_ALL_TARGETS,
                                   tuning)
        building.build(folder, "hewn", "tune_runner")
        priorities, in_halves = kernels.this_machine(build)
        chosen = kernels.picked(building.configure(folder, [], options.op, signatures, tuning),
                                priorities, in_halves)
        build = building.configure(folder,
                                   sorted({kernel.target for kernel in chosen}, key=priorities.get),
                                   options.op, signatures, tuning)
        build.kernels = kernels.picked(build, priorities, in_halves)
    else:
        build = building.configure(folder, [options.target], options.op, signatures, tuning)
    building.build(folder, "hewn", "hewn_static", "tune_runner")
    return build


def record(build, kernel, outcome, provenance):
    """Writes the decision about a kernel and its provenance into the tuning file."""
    best, story = report.leader_of(outcome), {**provenance, "candidates": len(outcome["tried"])}
    if best:
        speeds = {report.place(p): [p["before"], p["after"], p["spread"]] for p in best["GB/s"]}
        story.update({"knobs": kernels.knob_text(best["knobs"]),
                      "gain": [round(best[key], 3) for key in ("low", "gain", "high")],
                      "GB/s before, after, spread": speeds})
    kernels.record(build, kernel, outcome["adopted"]["knobs"] if outcome["adopted"] else None,
                   story)


def engine_of(options):
    if options.dask:
        return jobs.DaskEngine(options.dask, options.chip)
    return jobs.LocalEngine(options.jobs)


def each(build, journal, work, say=print):
    """Calls work(kernel, index) for all kernels that the journal does not have yet. Returns the
    results for all kernels (also those of the interrupted run that this one continues) and how many
    kernels failed. A failure is reported by say(text), and the run goes on."""
    failed = 0
    if journal.outcomes:
        say(f"tune: {len(journal.outcomes)} of {len(build.kernels)} kernels were done before the "
            "interruption")
    for i, kernel in enumerate(build.kernels):
        if kernel.name in journal.outcomes:
            continue
        started = time.monotonic()
        try:
            journal.finish(kernel.name, work(kernel, i), time.monotonic() - started)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            say(f"FAILED: {error} {getattr(error, 'stderr', None) or ''}")
            failed += 1
    return [journal.outcomes[kernel.name] for kernel in build.kernels
            if kernel.name in journal.outcomes], failed


def weight(kernel):
    """The kernel's share of the budget. A plan is measured on larger tensors and with all
    threads."""
    return 3 if kernel.form == "plan" else 1


def search_left(build, i, journal, took, step, available):
    """An estimate of the seconds that the run still takes, `took` seconds after kernel `i` began.
    `available` is the rest of the budget. It ends the run, but not before this kernel is done.
    Later kernels are expected to take as long as earlier ones, by weight."""
    before = sum(weight(kernel) for kernel in build.kernels if kernel.name in journal.outcomes)
    after = sum(weight(kernel) for kernel in build.kernels[i + 1:]
                if kernel.name not in journal.outcomes)
    pace = (journal.spent + took + step.left) / (before + weight(build.kernels[i]))
    return max(step.left, min(available, step.left + after * pace))


def tune(options, build, runner, provenance, journal):
    """The command `search`: searches for better knobs of every kernel, and writes the tuning files,
    the recorded measurements and a report. Returns how many kernels failed."""
    engine = engine_of(options)
    end = time.monotonic() + options.budget - journal.spent
    total = len(build.kernels)

    def work(kernel, i):
        began, told = time.monotonic(), []
        left = max(end - began, 0)
        share = left * weight(kernel) / sum(map(weight, build.kernels[i:]))
        progress.say(f"[{i + 1}/{total}] {kernel.name}, {share:.0f} of {left:.0f} s: now "
                     f"{kernels.knob_text(kernel.knobs)}")

        def show(step):
            now = time.monotonic()
            told.append(step.text)
            progress.update(i + step.done / step.total, total,
                            f"[{i + 1}/{total}] {kernel.name}: {step.text}",
                            search_left(build, i, journal, now - began, step, end - now))

        run = search.Search(build, kernel, engine, options.build_dir / "tune", runner, show,
                            chip=provenance["chip"])
        outcome = run.run(began + share)
        run.remove_libraries()
        run.results().write(options.build_dir / f"tune-data/{kernel.name}.T4.json.gz")
        if options.runner != "qemu":
            record(build, kernel, outcome, provenance)
        for text in told[-1:]:
            progress.say(f"    {text}")
        return outcome

    with Progress("tune") as progress:
        outcomes, failed = each(build, journal, work, progress.say)
    print("\n".join(report.table(outcomes)))
    page = report.write(options.build_dir / "tune-report", provenance, tuned=outcomes)
    if options.runner == "qemu":
        print("qemu's times say nothing about a chip: nothing was recorded.")
    else:
        # Configures again if the tuning file changed.
        building.build(options.build_dir, "hewn", "hewn_static")
        files = sorted({build.tuning / f"{kernel.target}.json" for kernel in build.kernels})
        named = " ".join(str(file) if file.exists()
                         else f"{file} (not written: nothing was adopted)" for file in files)
        print(f"Tuned values: {named}\nLibrary:      {options.build_dir / 'libhewn.so'}")
    print(f"Report:       {page}")
    return failed


def record_spaces(options, build, runner, provenance, journal):
    """The command `record`: measures every configuration of the kernels' spaces at these numbers of
    elements, and writes the results as T4. Continues where an interrupted run stopped. Once a whole
    space is measured, its best configurations are measured again (again.py), even beyond the
    budget. Returns whether a kernel failed or configurations are left."""
    engine = engine_of(options)
    deadline = time.monotonic() + options.budget
    sizes = "-".join(map(str, options.elements))
    configurations = [len(of_kernel(build, kernel)) for kernel in build.kernels]
    total = sum(configurations)

    def work(kernel, i):
        name = f"[{i + 1}/{len(build.kernels)}] {kernel.name}"
        progress.say(name)

        def show(step):
            before, after = sum(configurations[:i]), sum(configurations[i + 1:])
            here = step.total - step.done
            left = step.left * (here + after) / here if here else None
            if left is not None:  # the budget may end it earlier
                left = max(0, min(left, deadline - time.monotonic()))
            progress.update(before + step.done, total, f"{name}: {step.text}", left)

        problems = dataclasses.replace(search.problems_of(kernel),
                                       elements=tuple(options.elements))
        run = search.Search(build, kernel, engine, options.build_dir / "record", runner, show,
                            chip=provenance["chip"], problems=problems)
        left = run.exhaust(deadline)
        path, found = options.out / f"{kernel.name}.{sizes}.T4.json.gz", run.results()
        found.write(path)
        if not left and options.runner != "qemu":
            found.again = again.compare(build, kernel, engine, options.build_dir / "again", runner,
                                        tuple(options.elements), found)
            found.write(path)
        progress.say(f"{path}: {left} configurations are left")
        return left

    with Progress("record") as progress:
        counts, failed = each(build, journal, work, progress.say)
    return failed or any(counts)


def compare(options, build, runner, provenance, journal):
    """The command `search --report`: compares the present knobs of every kernel with the defaults
    and with Halide's autoschedulers. Returns how many kernels failed."""
    total = len(build.kernels)

    def work(kernel, i):
        compared = autoschedulers.compare(build, kernel, runner, options.build_dir / "tune",
                                          options.against)
        progress.say(f"[{i + 1}/{total}] " + "\n".join(autoschedulers.table(compared)))
        progress.update(i + 1, total, f"{i + 1} of {total} kernels")
        return compared

    with Progress("report") as progress:
        compared, failed = each(build, journal, work, progress.say)
    if options.against:
        provenance = {**provenance, "defaults": str(options.against)}
    print("anderson2021, which schedules GPUs, was not run.")
    folder = options.build_dir / "tune-report"
    print(f"Report: {report.write(folder, provenance, compared=compared)}")
    return failed


def main(options, signatures):
    """Runs the command. Returns the exit status: 0 if nothing failed and, for `record`, nothing is
    left."""
    print("tune: building, which takes some minutes the first time", flush=True)
    build = build_for(options, signatures)
    build.kernels = kernels.of_forms(build.kernels, options.form)
    if not build.kernels:
        sys.exit(f"tune: {options.target} has no knobs that the tuner searches")
    cpu = options.cpu or str(max(os.sched_getaffinity(0)))
    runner = f"local:{cpu}" if options.runner == "local" else options.runner
    chip = machine.chip_name() if options.runner == "local" else options.runner
    provenance = {"chip": chip, "os": f"{platform.system()} {platform.release()}",
                  "halide": build.halide,
                  "date": datetime.date.today().isoformat()}
    if options.command == "record":  # needs no journal on disk, because its cache has all results
        left = {}
        journal = types.SimpleNamespace(outcomes=left,
                                        finish=lambda name, n, seconds: left.update({name: n}))
        return 1 if record_spaces(options, build, runner, provenance, journal) else 0
    what = [search.sources_digest(build), options.target, options.op, signatures, options.budget,
            runner, chip]
    if options.report:
        what += [build.kernels, options.against]
    journal = search.Journal(options.build_dir / "tune" / ("report.json" if options.report
                                                           else "run.json"), repr(what))
    failed = (compare if options.report else tune)(options, build, runner, provenance, journal)
    journal.path.unlink(missing_ok=True)
    return 1 if failed else 0
