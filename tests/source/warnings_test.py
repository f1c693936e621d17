"""Checks that the runtime's sources compile without a warning, which users who build hewn as a part
of their project would see: warnings_test.py COMPILE_COMMANDS GXX CLANGXX

GCC compiles at -O2, because some of its warnings come from the optimizer; clang only reads the
sources. A compiler that is missing is left out, but there must be one. The flags are those of the
build, with the warnings of -Wall -Wextra as errors."""

import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys


def commands(path):
    """Yields each file, and the flags with which the build compiles it."""
    for entry in json.loads(pathlib.Path(path).read_text(encoding="utf-8")):
        if "hewn_shipped_runtime.dir" not in entry["command"]:
            continue
        words = shlex.split(entry["command"])[1:]
        at = words.index("-o")
        del words[at:at + 2]
        for option in ("-MF", "-MT"):
            if option in words:
                at = words.index(option)
                del words[at:at + 2]
        flags = [word for word in words if not word.startswith("-O") and word not in ("-MD", "-g")]
        yield entry["directory"], entry["file"], flags


def compile_one(compiler, options, directory, file, flags):
    run = subprocess.run([compiler, *flags, *options, "-Wall", "-Wextra",
                          "-Wno-missing-field-initializers", "-Werror"],
                         cwd=directory, capture_output=True, text=True)
    return file, run.returncode, run.stderr


def main():
    path, gxx, clangxx = sys.argv[1:]
    units = list(commands(path))
    assert len(units) > 20, f"{path} has {len(units)} sources of the runtime"
    jobs = []
    for compiler, options in ((gxx, ["-O2", "-o", os.devnull]), (clangxx, ["-fsyntax-only"])):
        if shutil.which(compiler):
            jobs += [(compiler, options, *unit) for unit in units]
        else:
            print(f"left out: there is no {compiler}")
    assert jobs, "there is no compiler"
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for file, code, text in pool.map(lambda job: compile_one(*job), jobs):
            if code:
                failed += 1
                print(f"FAILED  {file}\n{text}")
    print(f"{len(jobs)} compilations, {failed} with warnings")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
