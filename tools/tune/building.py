"""Configures and builds hewn for the tuner's commands and for hewn_tune.Live. It needs the tools
that scripts/setup.sh installs, and imports only Python's own modules."""

import contextlib
import difflib
import fcntl
import os
import pathlib
import re
import subprocess

import kernels
from hewn_tune.progress import Progress

SOURCE = pathlib.Path(__file__).resolve().parents[2]
# The build folders of export-space and of hewn_tune.Live. They are separate, so that neither
# changes what ./tune.sh has built.
SPACES, LIVE = SOURCE / "build-tune/spaces", SOURCE / "build-tune/live"


class BuildError(RuntimeError):
    """Configuring or building failed. The message has CMake's output, and says what to run."""


def environment():
    path = f"{SOURCE / '.venv/bin'}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "NINJA_STATUS": "[%f/%t] "}


@contextlib.contextmanager
def only_one(folder):
    """Waits until no other process configures or builds in the folder, and keeps others out."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "hewn-tune.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def cmake(*words, line=lambda text: False):
    """Runs CMake with these arguments. line(text) is called with each line of the output. It
    returns true if the line shows only progress; other lines become part of an error's message."""
    told = []
    try:
        with subprocess.Popen(["cmake", *map(str, words)], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env=environment()) as process:
            told = [text for text in process.stdout if not line(text)]
    except FileNotFoundError:
        told = ["there is no cmake\n"]
    else:
        if process.returncode == 0:
            return
    raise BuildError(f"{''.join(told)}cmake {' '.join(map(str, words))} failed. "
                     f"{SOURCE / 'scripts/setup.sh'} installs what building hewn needs.")


def configure(folder, targets=(), operators=(), signatures=(), tuning=SOURCE / "tuning"):
    """Configures the folder for these targets, operators and signatures (empty: all), and returns
    its kernels.Build. Builds nothing."""
    with only_one(folder):
        cmake("-S", SOURCE, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
              "-DHEWN_BUILD_TESTS=OFF", "-DHEWN_BUILD_EXAMPLES=OFF", f"-DHEWN_TUNING_DIR={tuning}",
              f"-DHEWN_TARGETS={';'.join(targets)}", f"-DHEWN_OPERATORS={';'.join(operators)}",
              f"-DHEWN_SIGNATURES={';'.join(signatures)}")
        return kernels.Build(folder)


def build(folder, *names):
    """Builds the named CMake targets of the folder, and shows the progress."""
    with only_one(folder), Progress("building") as progress:
        def line(text):
            step = re.match(r"\[(\d+)/(\d+)\] ", text)
            if step:
                done, total = map(int, step.groups())
                progress.update(done, total, f"{done} of {total} steps")
            return bool(step)

        cmake("--build", folder, "--target", *names, line=line)


def existing(folder, name):
    """The kernels.Build of a folder that was built before, and its kernel or plan of that name."""
    folder = pathlib.Path(folder).resolve()
    for file in ("generated/kernels.json", "libhewn.a", "tools/tune/tune_runner"):
        if not (folder / file).exists():
            raise ValueError(
                f"build: {folder} has no {file}: leave `build` out, and what is needed is built in "
                f"{LIVE}; or run cmake -S {SOURCE} -B {folder} -G Ninja and cmake --build {folder} "
                "--target hewn_static tune_runner")
    made = kernels.Build(folder)
    names = [kernel.name for kernel in made.kernels]
    if name not in names:
        raise ValueError(f"kernel: {folder} has no {name}; it has {', '.join(names)}")
    return made, made.kernels[names.index(name)]


def with_kernel(name):
    """Builds a kernel or plan in the folder LIVE, together with those that were asked for before.
    Returns the kernels.Build, and the kernel or plan."""
    known = set()
    with contextlib.suppress(FileNotFoundError, KeyError):  # KeyError: an older hewn built it
        known = {kernel.name for kernel in kernels.Build(LIVE).kernels}
    if name not in known:
        every = {kernel.name: kernel for kernel in configure(SPACES).kernels}
        if name not in every:
            near = difflib.get_close_matches(name, every, 3)
            raise ValueError(
                f"kernel: '{name}' is not a kernel or plan that can be tuned on this kind of "
                + (f"machine; did you mean {', '.join(near)}? " if near else "machine: ")
                + f"{SOURCE / 'tune.sh'} export-space writes a file for each of them")
        # Plans are measured with the first of their signatures, which is therefore built too.
        plan = f"{every[name].operator}__{every[name].target}__plan"
        wanted = [kernel for kernel in every.values() if kernel.name in known | {name, plan}]
        configure(LIVE, sorted({kernel.target for kernel in wanted}), (), sorted(
            {f"{kernel.operator}_{kernel.signature}" for kernel in wanted}))
    build(LIVE, "hewn_static", "tune_runner")
    return existing(LIVE, name)
