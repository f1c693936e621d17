#!/usr/bin/env python3
"""Static estimates of the ARM kernels' hot loops, for chips that are not at hand: scripts/estimate.sh runs it.

estimate.py BUILD [FILTER]: BUILD is a configured build for ARM64 (build-linux-arm64), FILTER a regular expression over the kernels' names.
Compiles each chosen kernel to assembly exactly as BUILD compiles it to an object, takes the loop that does most, and asks llvm-mca for
the cycles of an iteration and for the resource that is busiest. Prints a Markdown table of cycles per element."""
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# LLVM's models; its cortex-a76 is Cortex-A57's, neoverse-n1 is the A76's core in a server.
CPUS = ["cortex-a55", "cortex-a76", "neoverse-n1", "neoverse-n2", "apple-m1"]
DEFAULT_FILTER = (
    "add_(f32|f16|i8)__.*general|quantize_linear_(f32|f16|i32)_u8__|dequantize_linear_(u8|i16|i32)_(f32|f16)__|"
    "quantized_linear_add_u8_u8_u8__"
)
BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}


def newest(tool: str) -> str:
    """The tool of the newest LLVM installed."""
    found = [path for path in (shutil.which(f"{tool}-{version}") for version in range(30, 13, -1)) if path]
    found += [path for path in (shutil.which(tool),) if path]
    if not found:
        sys.exit(f"estimate: no {tool}")
    return found[0]


def commands(build: Path, pattern: str) -> dict[str, str]:
    """The generator's command of every kernel of the shipped flavour, from the build's own rules."""
    listing = subprocess.run(["ninja", "-C", build, "-t", "commands"], check=True, capture_output=True, text=True).stdout
    result = {}
    for line in listing.splitlines():
        match = re.search(r"\S*hewn_generators -g \S+ -n (\S+__\S+__\S+) .*", line)
        if match and "generated/shipped" in line and re.search(pattern, match[1]):
            result[match[1]] = match[0]
    return result


def assembly(name: str, command: str, folder: str) -> str:
    command = re.sub(r" -o \S+ -e object ", f" -o {folder} -e assembly ", command)
    subprocess.run(command, shell=True, check=True, capture_output=True)
    return (Path(folder) / f"{name}.s").read_text()


def stored_bytes(body: list[str]) -> int:
    total = 0
    for line in body:
        match = re.match(r"\s*(stp|str|stur)\s+([qds])\d+", line)
        if match:
            total += {"q": 16, "d": 8, "s": 4}[match[2]] * (2 if match[1] == "stp" else 1)
        match = re.match(r"\s*st([1-4])\s+\{(.*)\}, \[", line)
        if match:
            total += sum(16 if ".16b" in r or ".8h" in r or ".4s" in r or ".2d" in r else 8 for r in match[2].split(","))
    return total


def hot_loop(text: str) -> list[str]:
    """Of the loops without another label inside, the one that stores most."""
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
                    best = body
                label = None
    return best


def estimate(mca: str, body: list[str], cpu: str) -> tuple[float, str]:
    """Cycles an iteration, and the busiest resource's name."""
    iterations = 200
    arguments = [mca, "-mtriple=aarch64", f"-mcpu={cpu}", "-mattr=+v8.2a,+fullfp16,+dotprod", f"-iterations={iterations}"]
    out = subprocess.run(arguments, input="\n".join(body), check=True, capture_output=True, text=True).stdout
    cycles = int(re.search(r"Total Cycles:\s+(\d+)", out)[1]) / iterations
    names = dict(re.findall(r"^\[([\d.]+)\]\s+- (\S+)", out, re.M))
    header, pressure = re.search(r"Resource pressure per iteration:\n(.*)\n(.*)\n", out).groups()
    values = [float(v) if v != "-" else 0.0 for v in pressure.split()]
    busiest = max(range(len(values)), key=values.__getitem__)
    return cycles, re.sub(r"^(CortexA\d+|N\d|Cyclone|V\d)?Unit", "", names[re.findall(r"\[([\d.]+)\]", header)[busiest]])


def main() -> None:
    build, pattern = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else DEFAULT_FILTER
    mca = newest("llvm-mca")
    version = re.search(r"LLVM version (\S+)", subprocess.run([mca, "--version"], capture_output=True, text=True).stdout)[1]
    print(f"Cycles per element (busiest resource), llvm-mca of LLVM {version}\n")
    print("| kernel | instructions per 16 elements | " + " | ".join(CPUS) + " |\n|---|---|" + "---|" * len(CPUS))
    with tempfile.TemporaryDirectory() as folder:

        def row(item: tuple[str, str]) -> str:
            name, command = item
            body = hot_loop(assembly(name, command, folder))
            kernel = name.split("__")[0]
            elements = stored_bytes(body) / BYTES[re.search(r"(\d+)$", kernel)[1]]
            if not elements:
                return f"| `{name}` | no vector loop |" + " |" * len(CPUS)
            cells = []
            for cpu in CPUS:
                cycles, busiest = estimate(mca, body, cpu)
                cells.append(f"{cycles / elements:.2f} ({busiest})")
            return f"| `{name}` | {len(body) * 16 / elements:.1f} | " + " | ".join(cells) + " |"

        with ThreadPoolExecutor(2) as pool:
            for line in pool.map(row, commands(build, pattern).items()):
                print(line, flush=True)


if __name__ == "__main__":
    main()
