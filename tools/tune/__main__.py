"""Tunes the kernels' knobs for this chip; ../../tune.sh sets up what this needs and passes its
arguments."""

import argparse
import dataclasses
import datetime
import os
import pathlib
import platform
import re
import subprocess
import sys
import time
import types

import again
import autoschedulers
import jobs
import kernels
import machine
import report
import search
from hewn_tune import benchmark, results, space

SOURCE = pathlib.Path(__file__).resolve().parents[2]
# Every CPU target has one of these.
OF_ALL_TARGETS = ["add_f16", "quantized_linear_add_i8_i8_i8"]


def seconds(text):
    match = re.fullmatch(r"(\d+)(s|m|h)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"'{text}' is not a time such as 90s, 10m or 1h")
    return int(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]


def folder(text):
    return pathlib.Path(text).resolve()  # compilers run in other folders


COMMANDS = {"search": "tune (the default)", "export-space": "write the kernels' spaces as T1 JSON",
            "record": "measure whole spaces", "merge": "join T4 files into the first that is named",
            "benchmark": "compare optimisers on recorded spaces"}


def add_data_arguments(parser):
    """What of the command line is about spaces and measurements as files."""
    parser.add_argument("command", nargs="?", default="search", choices=COMMANDS,
                        help="; ".join(f"{name}: {what}" for name, what in COMMANDS.items()))
    parser.add_argument("files", nargs="*", type=folder, help="merge, benchmark: T4 files")
    parser.add_argument("--form", action="append", default=[],
                        help="export-space, record: a form of kernels, or plan; default: all")
    parser.add_argument("--elements", type=int, action="append",
                        help="export-space, record: a number of elements (default: 65536); record: "
                             "several times: several")
    parser.add_argument("--out", type=folder, default=folder("tune-data"),
                        help="where the files of these commands go (default: ./tune-data)")
    parser.add_argument("--optimisers", default=",".join(benchmark.OPTIMISERS),
                        help=f"benchmark: of {' '.join(benchmark.OPTIMISERS)}, with commas")
    parser.add_argument("--repeats", type=int, default=100, help="benchmark: runs of each")
    parser.add_argument("--evaluations", type=int, default=200, help="benchmark: of each run")
    parser.add_argument("--objective", default="time",
                        help="benchmark: the measurement, as 'time dense, 65536 elements'")


def arguments():
    parser = argparse.ArgumentParser(prog="tune.sh", description=__doc__.split(";")[0] + ".")
    add_data_arguments(parser)
    parser.add_argument("--target", default="auto",
                        help="a target of generators/targets.cmake; auto: of each signature the "
                             "best that this machine runs")
    parser.add_argument("--op", action="append", default=[],
                        help="an operator; several times: several; default: all")
    parser.add_argument("--signature", action="append", default=[],
                        help="of one --op a signature, f32_u8; without --op add_f32 and the like; "
                             "default: all")
    parser.add_argument("--budget", type=seconds, default=seconds("10m"),
                        help="searching time: 90s, 10m (default), 1h")
    parser.add_argument("--cpu", help="measure on this CPU alone; default: the last one")
    parser.add_argument("--jobs", type=int, help="builds at a time; default: one a CPU")
    parser.add_argument("--runner", default="local",
                        help="where candidates run: local, qemu (mechanics only), ssh:HOST, adb")
    parser.add_argument("--dask", metavar="ADDRESS",
                        help="a Dask scheduler to spread builds and measurements over")
    parser.add_argument("--chip", default="chip",
                        help="with --dask: the resource of the workers that measure")
    parser.add_argument("--report", action="store_true",
                        help="search nothing: compare the present knobs, the defaults and "
                             "autoschedulers")
    parser.add_argument("--against", type=folder,
                        help="with --report: another folder of tuning files, in the place of the "
                             "defaults")
    parser.add_argument("--tuning-dir", type=folder, default=SOURCE / "tuning",
                        help="where <target>.json is read and written")
    parser.add_argument("--build-dir", type=folder, default=SOURCE / "build-tune",
                        help="cache, candidates and report stay there")
    options = parser.parse_args()
    options.elements = sorted(set(options.elements or [65536]))
    if options.command == "export-space" and len(options.elements) > 1:
        parser.error("export-space: a T1 file is for one number of elements")
    if not re.fullmatch(r"local|qemu|adb|ssh:.+", options.runner):
        parser.error(f"--runner {options.runner}: not local, qemu, ssh:HOST or adb")
    if bool(options.files) != (options.command in ("merge", "benchmark")):
        parser.error(f"{options.command} takes {'no' if options.files else 'the names of'} files")
    unknown = set(options.optimisers.split(",")) - set(benchmark.OPTIMISERS)
    if unknown:
        parser.error(f"--optimisers: not known: {' '.join(sorted(unknown))}")
    if options.command == "merge" and len(options.files) < 2:
        parser.error("merge OUT FILE...: no files to join")
    if options.signature and len(options.op) > 1:
        parser.error("--signature with several --op: leave those out and name add_f32 and the like")
    for name, path in [("--against", options.against), ("--tuning-dir", options.tuning_dir)]:
        if path and not path.is_dir():
            parser.error(f"{name} {path}: not a folder")
    return options


def cmake(*words):
    run = subprocess.run(["cmake", *map(str, words)], capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stdout + run.stderr)


def configure(options, targets, operators, signatures):
    cmake("-S", SOURCE, "-B", options.build_dir, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
          "-DHEWN_BUILD_TESTS=OFF",
          "-DHEWN_BUILD_EXAMPLES=OFF", f"-DHEWN_TUNING_DIR={options.tuning_dir}",
          f"-DHEWN_TARGETS={';'.join(targets)}",
          f"-DHEWN_OPERATORS={';'.join(operators)}", f"-DHEWN_SIGNATURES={';'.join(signatures)}")
    return kernels.Build(options.build_dir)


def build_for(options, signatures):
    """The restricted build from which candidates are linked, and which a changed tuning file
    rebuilds. It has the kernels to tune."""
    if options.target == "auto":
        build = configure(options, [], ["add", "quantized_linear_add"], OF_ALL_TARGETS)
        cmake("--build", options.build_dir, "--target", "hewn", "tune_runner")
        ranks, in_halves = kernels.this_machine(build)
        chosen = kernels.picked(configure(options, [], options.op, signatures), ranks, in_halves)
        build = configure(options, sorted({kernel.target for kernel in chosen}, key=ranks.get),
                          options.op, signatures)
        build.kernels = kernels.picked(build, ranks, in_halves)
    else:
        build = configure(options, [options.target], options.op, signatures)
    cmake("--build", options.build_dir, "--target", "hewn", "hewn_static", "tune_runner")
    return build


def asked(options, found):
    return [kernel for kernel in found if not options.form or kernel.form in options.form]


def merge(options):
    """Writes what all files but the first have into the first."""
    path, *files = options.files
    joined = results.Results.read(files[0])
    for file in files[1:]:
        joined = joined.merged(results.Results.read(file))
    joined.write(path)
    print(f"{path}: {len(joined.results)} results of {len(joined.machines)} machine(s)")


def export(options, signatures):
    """Writes a T1 file for each kernel and plan that is asked for, GPUs' too. Builds nothing."""
    targets = [] if options.target == "auto" else [options.target]
    build = configure(options, targets, options.op, signatures)
    options.out.mkdir(parents=True, exist_ok=True)
    for kernel in asked(options, build.kernels + build.gpu_kernels):
        path = options.out / f"{kernel.name}.T1.json"
        space.write_t1(space.of_kernel(build, kernel), options.elements[0], path)
        print(path)


def record(build, kernel, outcome, provenance):
    """Writes the outcome's decision and its provenance into the tuning file."""
    best, story = report.leader_of(outcome), {**provenance, "candidates": len(outcome["tried"])}
    if best:
        speeds = {report.place(p): [p["before"], p["after"], p["spread"]] for p in best["GB/s"]}
        story.update({"knobs": kernels.knob_text(best["knobs"]),
                      "gain": [round(best[key], 3) for key in ("low", "gain", "high")],
                      "GB/s before, after, spread": speeds})
    kernels.record(build, kernel, outcome["adopted"]["knobs"] if outcome["adopted"] else None,
                   story)


def each(build, journal, work):
    """The results of work(kernel, its place in the run) for all kernels, of this run and of the
    interrupted run that it continues. A kernel that fails is named, and the run goes on; the second
    value is how many failed."""
    failed = 0
    if journal.outcomes:
        print(f"tune: {len(journal.outcomes)} of {len(build.kernels)} kernels were done before the "
              "interruption", flush=True)
    for i, kernel in enumerate(build.kernels):
        if kernel.name in journal.outcomes:
            continue
        started = time.monotonic()
        try:
            journal.finish(kernel.name, work(kernel, i), time.monotonic() - started)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            print(f"FAILED: {error} {getattr(error, 'stderr', None) or ''}", flush=True)
            failed += 1
    return [journal.outcomes[kernel.name] for kernel in build.kernels
            if kernel.name in journal.outcomes], failed


def tune(options, build, runner, provenance, journal):
    engine = jobs.DaskEngine(options.dask,
                             options.chip) if options.dask else jobs.LocalEngine(options.jobs)
    end = time.monotonic() + options.budget - journal.spent
    total = len(build.kernels)
    weight = lambda kernel: 3 if kernel.form == "plan" else 1  # larger tensors, all threads

    def work(kernel, i):
        left = max(end - time.monotonic(), 0)
        share = left * weight(kernel) / sum(map(weight, build.kernels[i:]))
        print(f"[{i + 1}/{total}] {kernel.name}, {share:.0f} of {left:.0f} s: now "
              f"{kernels.knob_text(kernel.knobs)}", flush=True)
        run = search.Search(build, kernel, engine, options.build_dir / "tune", runner,
                            lambda text: print("    " + text, flush=True),
                            chip=provenance["chip"])
        outcome = run.run(time.monotonic() + share)
        run.remove_libraries()
        run.results().write(options.build_dir / f"tune-data/{kernel.name}.T4.json.gz")
        if options.runner != "qemu":
            record(build, kernel, outcome, provenance)
        return outcome

    outcomes, failed = each(build, journal, work)
    print("\n".join(report.table(outcomes)))
    page = report.write(options.build_dir / "tune-report", provenance, tuned=outcomes)
    if options.runner == "qemu":
        print("qemu's times say nothing about a chip: nothing was recorded.")
    else:
        # Configures again if the tuning file changed.
        cmake("--build", options.build_dir, "--target", "hewn", "hewn_static")
        files = sorted({build.tuning / f"{kernel.target}.json" for kernel in build.kernels})
        named = " ".join(str(file) if file.exists()
                         else f"{file} (not written: nothing was adopted)" for file in files)
        print(f"Tuned values: {named}\nLibrary:      {options.build_dir / 'libhewn.so'}")
    print(f"Report:       {page}")
    return failed


def record_spaces(options, build, runner, provenance, journal):
    """Measures every configuration of the kernels' spaces at the numbers of elements, and writes
    them as T4. Goes on where an interrupted run stopped. Of a whole space the best are measured
    again, in every run, beyond the budget."""
    engine = jobs.DaskEngine(options.dask,
                             options.chip) if options.dask else jobs.LocalEngine(options.jobs)
    deadline = time.monotonic() + options.budget
    sizes = "-".join(map(str, options.elements))

    def work(kernel, i):
        print(f"[{i + 1}/{len(build.kernels)}] {kernel.name}", flush=True)
        problems = dataclasses.replace(search.problems_of(build, kernel),
                                       elements=tuple(options.elements))
        run = search.Search(build, kernel, engine, options.build_dir / "record", runner,
                            lambda text: print("    " + text, flush=True),
                            chip=provenance["chip"], problems=problems)
        left = run.exhaust(deadline)
        path, found = options.out / f"{kernel.name}.{sizes}.T4.json.gz", run.results()
        found.write(path)
        if not left and options.runner != "qemu":
            found.again = again.compare(build, kernel, engine, options.build_dir / "again", runner,
                                        tuple(options.elements), found)
            found.write(path)
        print(f"{path}: {left} configurations are left", flush=True)
        return left

    counts, failed = each(build, journal, work)
    return failed or any(counts)


def compare(options, build, runner, provenance, journal):
    def work(kernel, i):
        print(f"[{i + 1}/{len(build.kernels)}]", end=" ", flush=True)
        compared = autoschedulers.compare(build, kernel, runner, options.build_dir / "tune",
                                          options.against)
        print("\n".join(autoschedulers.table(compared)), flush=True)
        return compared

    compared, failed = each(build, journal, work)
    if options.against:
        provenance = {**provenance, "defaults": str(options.against)}
    print("anderson2021, which schedules GPUs, was not run.")
    folder = options.build_dir / "tune-report"
    print(f"Report: {report.write(folder, provenance, compared=compared)}")
    return failed


def main():
    options = arguments()
    signatures = [f"{op}_{signature}" for op in options.op
                  for signature in options.signature] or options.signature
    if options.command == "benchmark":
        return benchmark.main(options.files, options.optimisers.split(","), options.evaluations,
                              options.repeats, options.objective, options.out)
    if options.command == "merge":
        return merge(options)
    if options.command == "export-space":
        return export(options, signatures)
    print("tune: building; some minutes the first time", flush=True)
    build = build_for(options, signatures)
    build.kernels = asked(options, build.kernels)
    if not build.kernels:
        sys.exit(f"tune: {options.target} has no knobs that the tuner searches")
    cpu = options.cpu or str(max(os.sched_getaffinity(0)))
    runner = f"local:{cpu}" if options.runner == "local" else options.runner
    chip = machine.chip_name() if options.runner == "local" else options.runner
    provenance = {"chip": chip, "os": f"{platform.system()} {platform.release()}",
                  "halide": build.halide,
                  "date": datetime.date.today().isoformat()}
    if options.command == "record":  # its cache has all that it needs to go on
        left = {}
        journal = types.SimpleNamespace(outcomes=left,
                                        finish=lambda name, n, seconds: left.update({name: n}))
        sys.exit(1 if record_spaces(options, build, runner, provenance, journal) else 0)
    what = [search.sources_digest(build), options.target, options.op, signatures, options.budget,
            runner, chip]
    if options.report:
        what += [build.kernels, options.against]
    journal = search.Journal(options.build_dir / "tune" / ("report.json" if options.report
                                                           else "run.json"), repr(what))
    failed = (compare if options.report else tune)(options, build, runner, provenance, journal)
    journal.path.unlink(missing_ok=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
