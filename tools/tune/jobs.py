"""The jobs of a tuning run: to build a candidate, and to check and time candidates. A job runs on
this machine, on another one that the runner reaches, or on a Dask cluster. A candidate is the hewn
library with other knobs for one kernel or plan."""

import concurrent.futures
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import time

import machine


class Refused(Exception):
    """The generator refuses to build with these knobs. The message is its reason."""


def generate(build, kernel, knobs, folder, signature, generator_arguments):
    """Generates the kernel's object with these knobs into the folder, and returns its path. Raises
    Refused."""
    command = [build.folder / "hewn_generators", "-g", f"{kernel.operator}_{kernel.form}", "-n",
               kernel.name,
               "-f", f"hewnk_{kernel.name}", "-o", folder, "-e", "object", *generator_arguments,
               f"target={kernel.halide_target}", f"signature={signature or kernel.signature}",
               f"layouts={kernel.layouts}",
               *(f"{name}={value}" for name, value in knobs)]
    environment = os.environ | ({"HL_LLVM_ARGS": kernel.llvm_args} if kernel.llvm_args else {})
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    if run.returncode:
        # The output is "Unhandled exception: Error: <reason>", perhaps after warnings. Some errors
        # have no text.
        lines = [re.sub("^(Unhandled exception: )?(Error: *)?", "", line)
                 for line in (run.stdout + run.stderr).splitlines()
                 if not line.startswith("Warning")]
        raise Refused(next(filter(None, lines),
                           f"the generator ended with {run.returncode} and no reason"))
    return next(pathlib.Path(folder).glob("*.o*"))


def compile_plan(build, kernel, knobs, folder):
    """Compiles runtime/dispatch/table.cpp, which has the knobs of all plans, with `knobs` for the
    plans of this operator. Returns the path of the object. `knobs` has all knobs of a plan."""
    def with_knobs(line):
        text = line.group()
        for name, value in knobs:
            text, count = re.subn(rf"HEWN_PLAN_KNOB\({name}, \w+\)",
                                  f"HEWN_PLAN_KNOB({name}, {value})", text)
            assert count == 1, f"{name} in {text}"
        return text

    plans, count = re.subn(rf"^HEWN_PLAN\({kernel.operator}_\w+__{kernel.target}, .*$", with_knobs,
                           (build.folder / "generated/include/plans.inc").read_text(
                               encoding="utf-8"), flags=re.MULTILINE)
    assert count, kernel.name
    (pathlib.Path(folder) / "plans.inc").write_text(plans, encoding="utf-8")
    commands = (build.folder / "compile_commands.json").read_text(encoding="utf-8")
    compiled = next(entry for entry in json.loads(commands)
                    if "hewn_shipped_runtime.dir/runtime/dispatch/table.cpp" in entry["output"])
    compiler, *words = shlex.split(compiled["command"])
    words[words.index("-o") + 1] = str(pathlib.Path(folder) / "table.o")
    subprocess.run([compiler, f"-I{folder}", *words], cwd=compiled["directory"], check=True)
    return pathlib.Path(folder) / "table.o"


def build_candidate(build, kernel, knobs, library, signature=None, generator_arguments=()):
    """Links `library`: the hewn library in which `kernel` has these `knobs` instead of its own.
    Returns a digest of the kernel's code. Raises Refused."""
    library = pathlib.Path(library)
    library.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        if kernel.form == "plan":
            objects = compile_plan(build, kernel, knobs, folder)
        else:
            objects = generate(build, kernel, knobs, folder, signature, generator_arguments)
        digest = hashlib.sha256(objects.read_bytes()).hexdigest()[:16]
        # Symbols are renamed as in the static library, where the names of the private Halide
        # runtime were changed. The archive's own member for this form is not linked, because the
        # linker takes members only for symbols that are still undefined.
        archive = build.folder / "libhewn.a"
        subprocess.run([build.objcopy, f"--redefine-syms={archive}.symbols", objects], check=True)
        linked = pathlib.Path(folder) / "linked"
        exports = [f"-Wl,-u,hewn_{name}" for name in ("compile", "execute", "destroy_operator")]
        subprocess.run([build.cc, "-shared", "-o", linked, objects, *exports, archive, "-lpthread",
                        "-ldl", "-Wl,--gc-sections",
                        "-Wl,-Bsymbolic",
                        f"-Wl,--version-script={build.source / 'runtime/hewn.map'}"], check=True)
        os.replace(linked, library)
    return digest


def code_bytes(library):
    """The number of bytes of a library's code."""
    # The second line of the output begins with the size of the section `text`.
    told = subprocess.run(["size", library], capture_output=True, text=True, check=True).stdout
    return int(told.split()[6])


def try_build(*call):
    """Calls build_candidate(*call), and returns a value that can pass between processes: {"code":
    digest, "seconds": number} or {"refused": reason, "seconds": number}."""
    started = time.monotonic()
    try:
        return {"code": build_candidate(*call), "seconds": time.monotonic() - started}
    except Refused as refused:
        return {"refused": str(refused), "seconds": time.monotonic() - started}


# ---- Where candidates run ----

def run_local(command, libraries, prefix=()):
    return subprocess.run([*prefix, *command, *libraries], capture_output=True, text=True)


def run_ssh(host, command, libraries):
    """Copies the program and the libraries to a folder on the other machine, runs the program
    there, and deletes the folder."""
    folder = subprocess.run(["ssh", host, "mktemp -d"], capture_output=True, text=True,
                            check=True).stdout.strip()
    try:
        subprocess.run(["scp", "-q", command[0], *libraries, f"{host}:{folder}/"], check=True)
        remote = [f"./{os.path.basename(command[0])}", *command[1:],
                  *(f"./{os.path.basename(l)}" for l in libraries)]
        return subprocess.run(["ssh", host, f"cd {shlex.quote(folder)} && {shlex.join(remote)}"],
                              capture_output=True, text=True)
    finally:
        subprocess.run(["ssh", host, f"rm -rf {shlex.quote(folder)}"], check=False)


def run_adb(command, libraries):
    folder = "/data/local/tmp/hewn-tune"
    subprocess.run(["adb", "shell", f"rm -rf {folder} && mkdir -p {folder}"], check=True)
    subprocess.run(["adb", "push", command[0], *libraries, folder], check=True, capture_output=True)
    remote = [f"./{os.path.basename(command[0])}", *command[1:],
              *(f"./{os.path.basename(l)}" for l in libraries)]
    return subprocess.run(["adb", "shell", f"cd {folder} && {shlex.join(remote)}"],
                          capture_output=True, text=True)


def run_on(runner, command, libraries):
    """Runs the command with the libraries as its last arguments. `runner` says where:
    "local[:CPU]", "qemu", "ssh:HOST" or "adb"."""
    kind, _, argument = runner.partition(":")
    command = [str(word) for word in command]
    if kind == "local":
        return run_local(command, libraries, ["taskset", "-c", argument] if argument else [])
    if kind == "qemu":
        return run_local(command, libraries, ["qemu-x86_64-static", "-cpu", "max"])
    if kind == "ssh":
        return run_ssh(argument, command, libraries)
    if kind == "adb":
        return run_adb(command, libraries)
    raise ValueError(f"--runner {runner}: not local, qemu, ssh:HOST or adb")


@dataclasses.dataclass(frozen=True)
class Problems:
    """The problems that are timed: every layout with every number of elements and every number of
    threads. 0 stands for all threads."""

    layouts: tuple
    elements: tuple
    threads: tuple = (1,)

    def arguments(self):
        for name, values in dataclasses.asdict(self).items():
            yield from (f"--{name}", ",".join(map(str, values)))


def measure(build, kernel, libraries, runner, problems, rounds, sample_us=200, check=()):
    """Checks every library, and times those that are right in interleaved rounds. The first library
    is the incumbent. `check` may narrow the check by tune_runner's options --only and --whole.
    Returns tune_runner's {"libraries", "problems"}."""
    if problems.threads != (1,):
        runner = re.sub("^local:.*", "local", runner)  # more threads need more than one CPU
    command = [build.tune_runner, "measure", "--variant", kernel.variant, *kernel.checked_by,
               "--rounds", rounds,
               *problems.arguments(), "--sample-us", sample_us, *check]
    run = run_on(runner, command, list(libraries))
    if run.returncode == 0:
        return json.loads(run.stdout)
    if len(libraries) == 1:
        fault = {"path": libraries[0], "fault": "crash",
                 "message": f"exit status {run.returncode}: {run.stderr.strip()[-300:]}"}
        return {"libraries": [fault], "problems": []}
    # A library crashed the program. This finds out which one, and continues without it.
    checks = [measure(build, kernel, [l], runner, problems, 0, sample_us, check)["libraries"][0]
              for l in libraries]
    if rounds == 0:
        return {"libraries": checks, "problems": []}
    sound = [l for l, c in zip(libraries, checks) if not c["fault"]]
    if checks[0]["fault"] or len(sound) == len(libraries):
        raise RuntimeError(f"measuring failed: {run.stderr.strip()[-300:]}")
    result = measure(build, kernel, sound, runner, problems, rounds, sample_us, check)
    for problem in result["problems"]:
        times = dict(zip(sound, problem["ns"]))
        problem["ns"] = [times.get(l) for l in libraries]
    return {"libraries": checks, "problems": result["problems"]}


def measure_here(build, kernel, libraries, runner, *rest):
    """measure(), whose result also has the "machine" on which this process runs."""
    told = machine.fingerprint(build, runner)  # before the measurement, which adds to the load
    return {**measure(build, kernel, libraries, runner, *rest), "machine": told}


# ---- Engines, which run the jobs ----

class LocalEngine:
    """Runs the jobs on this machine. Builds use all CPUs. A measurement runs while nothing else
    does."""

    def __init__(self, jobs=None):
        self.pool = concurrent.futures.ThreadPoolExecutor(jobs or len(os.sched_getaffinity(0)))

    def build_all(self, calls):
        """The results of try_build(*call) for each call."""
        return [future.result()
                for future in [self.pool.submit(try_build, *call) for call in calls]]

    def measure(self, *arguments):
        return measure_here(*arguments)


class DaskEngine:
    """Runs the jobs on a Dask cluster whose workers see this folder. A build runs on any worker. A
    measurement runs on a worker that offers the resource `chip` (dask worker --resources chip=1),
    one at a time. Dask repeats the jobs of a worker that is lost."""

    def __init__(self, address, chip):
        import distributed  # only needed with --dask

        self.client, self.chip = distributed.Client(address), chip
        # Workers that join later get these modules too.
        for module in ("kernels.py", "machine.py", "jobs.py"):
            self.client.upload_file(str(pathlib.Path(__file__).with_name(module)))

    def build_all(self, calls):
        return self.client.gather([self.client.submit(try_build, *call, pure=False)
                                   for call in calls])

    def measure(self, *arguments):
        return self.client.submit(measure_here, *arguments, pure=False,
                                  resources={self.chip: 1}).result()
