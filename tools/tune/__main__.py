"""Tunes the kernels' knobs for this chip; ../../tune.sh sets up what this needs and passes its arguments."""

import argparse
import datetime
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

import autoschedulers
import jobs
import kernels
import report
import search

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def seconds(text):
    match = re.fullmatch(r"(\d+)(s|m|h)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"'{text}' is not a time such as 90s, 10m or 1h")
    return int(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]


def arguments():
    parser = argparse.ArgumentParser(prog="tune.sh", description=__doc__.split(";")[0] + ".")
    parser.add_argument("--target", default="auto", help="a target of generators/targets.cmake; auto: the best this machine runs")
    parser.add_argument("--op", action="append", default=[], help="an operator; several times: several; default: all")
    parser.add_argument("--signature", action="append", default=[], help="a signature, f32_u8; default: all of the operators")
    parser.add_argument("--budget", type=seconds, default=seconds("10m"), help="searching time: 90s, 10m (default), 1h")
    parser.add_argument("--cpu", help="measure on this CPU alone; default: the last one")
    parser.add_argument("--jobs", type=int, help="builds at a time; default: one a CPU")
    parser.add_argument("--runner", default="local", help="where candidates run: local, qemu (mechanics only), ssh:HOST, adb")
    parser.add_argument("--dask", metavar="ADDRESS", help="a Dask scheduler to spread builds and measurements over")
    parser.add_argument("--chip", default="chip", help="with --dask: the resource of the workers that measure")
    parser.add_argument("--report", action="store_true", help="search nothing: compare the present knobs, the defaults and autoschedulers")
    parser.add_argument("--tuning-dir", type=pathlib.Path, default=SOURCE / "tuning", help="where <target>.json is read and written")
    parser.add_argument("--build-dir", type=pathlib.Path, default=SOURCE / "build-tune", help="cache, candidates and report stay there")
    options = parser.parse_args()
    if not re.fullmatch(r"local|qemu|adb|ssh:.+", options.runner):
        parser.error(f"--runner {options.runner}: not local, qemu, ssh:HOST or adb")
    if options.signature and len(options.op) != 1:
        parser.error("--signature needs exactly one --op")
    return options


def cmake(*words):
    run = subprocess.run(["cmake", *map(str, words)], capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stdout + run.stderr)


def configure_and_build(options, target, signatures):
    """The restricted build that candidates are linked from; also what a changed tuning file rebuilds."""
    cmake("-S", SOURCE, "-B", options.build_dir, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DHEWN_BUILD_TESTS=OFF",
          "-DHEWN_BUILD_EXAMPLES=OFF", f"-DHEWN_TUNING_DIR={options.tuning_dir.resolve()}", f"-DHEWN_TARGETS={target}",
          f"-DHEWN_OPERATORS={';'.join(options.op)}", f"-DHEWN_SIGNATURES={';'.join(signatures)}")
    cmake("--build", options.build_dir, "--target", "hewn", "hewn_static", "tune_runner")


def main():
    options = arguments()
    signatures = [f"{options.op[0]}_{signature}" for signature in options.signature]
    target = options.target
    print("tune: building; some minutes the first time", flush=True)
    if target == "auto":
        first = argparse.Namespace(**{**vars(options), "op": ["add"]})
        configure_and_build(first, "", ["add_i8"])
        target = kernels.best_target(kernels.Build(options.build_dir))
    configure_and_build(options, target, signatures)

    build = kernels.Build(options.build_dir)
    cpu = options.cpu or str(max(os.sched_getaffinity(0)))
    runner = f"local:{cpu}" if options.runner == "local" else options.runner
    chip = search.chip_name() if runner.startswith("local") else options.runner
    provenance = {"chip": chip, "os": f"{platform.system()} {platform.release()}", "halide": build.halide,
                  "date": datetime.date.today().isoformat()}
    if options.report:
        lines = [line for kernel in build.kernels
                 for line in autoschedulers.table(kernel, autoschedulers.compare(build, kernel, runner, options.build_dir / "tune"))]
        print("\n".join(lines))
        return
    engine = jobs.DaskEngine(options.dask, options.chip) if options.dask else jobs.LocalEngine(options.jobs)
    outcomes, end = [], time.monotonic() + options.budget
    for i, kernel in enumerate(build.kernels):
        print(f"{kernel.name}: now {kernels.knob_text(kernel.knobs)}", flush=True)
        share = (end - time.monotonic()) / (len(build.kernels) - i)
        run = search.Search(build, kernel, engine, options.build_dir / "tune", runner, lambda text: print("    " + text, flush=True),
                            chip=chip)
        outcomes.append(run.run(time.monotonic() + max(share, 1)))
        adopted = outcomes[-1]["adopted"]
        if adopted and runner != "qemu":
            kernels.adopt(build, kernel, adopted["knobs"],
                          {**provenance, "gain": [round(adopted[k], 3) for k in ("low", "gain", "high")],
                           "candidates": len(outcomes[-1]["tried"]), "GB/s": adopted["GB/s"]})
    print("\n".join(report.table(outcomes)))
    page = report.write(outcomes, provenance, options.build_dir / "tune-report")
    if runner == "qemu":
        print("qemu's times say nothing about a chip: nothing was recorded.")
    else:
        cmake("--build", options.build_dir, "--target", "hewn", "hewn_static")  # configures anew where the tuning file changed
        print(f"Tuned values: {options.tuning_dir / target}.json\nLibrary:      {options.build_dir / 'libhewn.so'}")
    print(f"Report:       {page}")


if __name__ == "__main__":
    main()
