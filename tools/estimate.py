#!/usr/bin/env python3
"""Estimates the speed of the ARM kernels' inner loops on chips that we do not have.
scripts/estimate.sh runs it.

    estimate.py BUILD [FILTER]

BUILD is a configured build for ARM64 (build-linux-arm64); FILTER is a regular expression for the
names of kernels. Each chosen kernel is compiled to assembly, exactly as BUILD compiles it to an
object. Of its loops, the one that stores most bytes is given to llvm-mca, which estimates the
cycles of an iteration and names the busiest resource.

Prints a Markdown table of cycles per element, with a row for each kernel. If the kernel's targets
differ, a cell has both values: `arm64_neon / arm64_fp16`. docs/lab/performance.md has the table
without a FILTER."""
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MCA = "llvm-mca-19"
# The chips, by LLVM's names. For the Cortex-A76 we take neoverse-n1, which is the same core in a
# server, because LLVM's cortex-a76 uses the model of a Cortex-A57. LLVM's apple-m1 models an older
# chip of Apple's.
CPUS = {"cortex-a55": "Cortex-A55", "neoverse-n1": "Neoverse N1 (A76)",
        "neoverse-n2": "Neoverse N2", "apple-m1": "Apple M1 (older model)"}
TARGETS = ["arm64_neon", "arm64_fp16"]
DEFAULT_FILTER = (
    "^add_(f32|f16)__|^quantize_linear_f32_u8__|^quantize_linear_f16_u8__.*reciprocal|"
    "^dequantize_linear_(u8|i16)_f32__|"
    "^dequantize_linear_u8_f16__|^quantized_linear_add_u8_u8_u8__.*(reciprocal|folded)"
)
BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}  # of an element, by its bits


def commands(build: Path, pattern: str) -> dict[str, str]:
    """{name: command}: the commands by which the build generates the library's kernels whose names
    match the pattern."""
    listing = subprocess.run(["ninja", "-C", build, "-t", "commands"], check=True,
                             capture_output=True, text=True).stdout
    result = {}
    for line in listing.splitlines():
        match = re.search(r"(?:\S+ -E env \S+ )?\S*hewn_generators -g \S+ -n (\S+__\S+__\S+) .*",
                          line)
        if match and "generated/shipped" in line and re.search(pattern, match[1]):
            result[match[1]] = match[0]
    return result


def assembly(name: str, command: str, folder: str) -> str:
    """The kernel's assembly. `command` is the one that generates its object."""
    command = re.sub(r" -o \S+ -e object ", f" -o {folder} -e assembly ", command)
    subprocess.run(command, shell=True, check=True, capture_output=True)
    return (Path(folder) / f"{name}.s").read_text()


def stored_bytes(body: list[str]) -> int:
    """The bytes that the instructions store, without spills to the stack."""
    total = 0
    for line in body:
        if "[sp" in line:  # a spill
            continue
        match = re.match(r"\s*(stp|str|stur)\s+([qds])\d+", line)
        if match:
            total += {"q": 16, "d": 8, "s": 4}[match[2]] * (2 if match[1] == "stp" else 1)
        match = re.match(r"\s*st([1-4])\s+\{(.*)\}, \[", line)
        if match:
            total += sum(16 if ".16b" in r or ".8h" in r or ".4s" in r or ".2d" in r else 8
                         for r in match[2].split(","))
    return total


def hot_loop(text: str) -> list[str]:
    """The instructions of the loop that stores most bytes. Only loops without another label inside
    are considered."""
    best: list[str] = []
    label, body = None, []
    for line in text.splitlines():
        line = line.split("//")[0].rstrip()
        if match := re.match(r"(\.LBB\S+):", line):
            label, body = match[1], []
        elif line.strip() and not line.strip().startswith("."):
            body.append(line)
            if label and re.match(rf"\s*(b\.\w+|cbn?z|tbn?z)\s.*{re.escape(label)}$", line):
                if stored_bytes(body) > stored_bytes(best):
                    best = body.copy()
                label = None
    return best


def estimate(body: list[str], cpu: str) -> tuple[float, str]:
    """The cycles of one iteration, and the name of the busiest resource."""
    iterations = 200
    arguments = [MCA, "-mtriple=aarch64", f"-mcpu={cpu}", "-mattr=+v8.2a,+fullfp16,+dotprod",
                 f"-iterations={iterations}"]
    out = subprocess.run(arguments, input="\n".join(body), check=True, capture_output=True,
                         text=True).stdout
    cycles = int(re.search(r"Total Cycles:\s+(\d+)", out)[1]) / iterations
    names = dict(re.findall(r"^\[([\d.]+)\]\s+- (\S+)", out, re.M))
    header, pressure = re.search(r"Resource pressure per iteration:\n(.*)\n(.*)\n", out).groups()
    values = [float(v) if v != "-" else 0.0 for v in pressure.split()]
    busiest = max(range(len(values)), key=values.__getitem__)
    return cycles, re.sub(r"^(CortexA\d+|N\d|Cy)Unit", "",
                          names[re.findall(r"\[([\d.]+)\]", header)[busiest]])


def cells(name: str, command: str) -> list[str]:
    """The cells of a kernel's row: its instructions for 16 elements and, for each CPU, its cycles
    per element and the busiest resource."""
    with tempfile.TemporaryDirectory() as folder:
        body = hot_loop(assembly(name, command, folder))
    elements = stored_bytes(body) / BYTES[re.search(r"(\d+)$", name.split("__")[0])[1]]
    if not elements:
        return ["no vector loop"] * (1 + len(CPUS))
    estimates = [estimate(body, cpu) for cpu in CPUS]
    return [f"{len(body) * 16 / elements:.1f}"] + [f"{cycles / elements:.2f} {busiest}"
                                                   for cycles, busiest in estimates]


def main() -> None:
    build, pattern = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else DEFAULT_FILTER
    chosen = commands(build, pattern)
    rows: dict[str, list[list[str]]] = {}  # {kernel: [the cells for each target]}
    with ThreadPoolExecutor(2) as pool:
        for name, row in zip(chosen, pool.map(lambda item: cells(*item), chosen.items())):
            rows.setdefault(re.sub(f"__({'|'.join(TARGETS)})__", " ", name), []).append(row)
    version = re.search(r"LLVM version (\S+)",
                        subprocess.run([MCA, "--version"], capture_output=True,
                                       text=True).stdout)[1]
    print(f"Cycles per element and the busiest resource, llvm-mca of LLVM {version}:\n")
    print(f"| kernel | instructions for 16 elements | {' | '.join(CPUS.values())} |\n|---|---|"
          f"{'---|' * len(CPUS)}")
    for kernel, targets in rows.items():
        columns = (" / ".join(dict.fromkeys(column)) for column in zip(*targets))
        signature, form = kernel.split()
        print(f"| `{signature}` {form} | {' | '.join(columns)} |")


if __name__ == "__main__":
    main()
