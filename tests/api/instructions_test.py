#!/usr/bin/env python3
"""Checks that a small call takes few instructions: instructions_test.py VALGRIND SMALL_CALLS.

Counts the instructions of a call for 16 elements by the AVX2 kernels, because Valgrind does not know
AVX-512. Unlike time, their number does not depend on what else the machine does. LIMITS are what GCC
12 makes of the library, plus a tenth. A tenth allows for a compiler's choices, but not for another
step in each call."""
import os
import re
import subprocess
import sys
import tempfile

LIMITS = {
    ("add", "execute"): 430,
    ("add", "run"): 260,
    ("quantize_linear", "execute"): 430,
    ("quantize_linear", "run"): 235,
    ("dequantize_linear", "execute"): 420,
    ("dequantize_linear", "run"): 225,
    ("quantized_linear_add", "execute"): 610,
    ("quantized_linear_add", "run"): 300,
}
FEW, MANY = 100, 1100


def instructions(valgrind, program, operator, how, calls):
    """The instructions of a process that makes this many calls."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [valgrind, "--tool=callgrind", f"--callgrind-out-file={folder}/out", program, operator,
             how, str(calls)], env={**os.environ, "HEWN_VARIANT": "x86_64_avx2"},
            capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        raise SystemExit(f"{operator} {how}: {done.stdout}{done.stderr}")
    return int(found[1])


def main(valgrind, program):
    failed = False
    for (operator, how), limit in LIMITS.items():
        few, many = (instructions(valgrind, program, operator, how, n) for n in (FEW, MANY))
        each = (many - few) / (MANY - FEW)
        failed |= each > limit
        print(f"{operator:20} {how:8} {each:6.1f} instructions, {limit} are allowed"
              f"{'  FAILED' if each > limit else ''}")
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
