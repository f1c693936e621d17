"""Checks the comparison's rows and peers on a few elements: rows_test.py COMPARE REPORT

The rows of bf16, small floats, sub-byte types, REQUANTIZE and of sums with an activation must be
there. Each must have the peers that have such an operation, and their results must be hewn's where
they compute by the same formula. Results that differ by more than rounding explains make `compare`
itself fail. HEWN_BENCH_PYTORCH, if set, is the folder where pip put PyTorch."""

import json
import os
import pathlib
import re
import subprocess
import sys

SMALL_FLOATS = ("f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f6e2m3", "f6e3m2", "f4e2m1")


def peers_of_small_float(kind):
    peers = {"NumPy"}
    if kind.startswith("f8"):
        peers |= {"ONNX Runtime", "PyTorch"}
    if not kind.endswith("fnuz") and kind != "f4e2m1":
        peers.add("NumKong")
    return peers


# The peers that each row must have.
ROWS = {
    ("add", "bf16"): {"oneDNN", "NumPy", "NumKong", "PyTorch"},
    ("add1", "f32"): {"ONNX Runtime", "oneDNN", "XNNPACK", "NumPy", "PyTorch"},
    ("add1", "bf16"): {"oneDNN", "NumPy", "PyTorch"},
    ("quantize_linear", "bf16_i8"): {"oneDNN", "NumPy", "NumKong", "PyTorch"},
    ("dequantize_linear", "i8_bf16"): {"oneDNN", "NumPy", "NumKong", "PyTorch"},
    ("requantize", "i8_u8"): {"ONNX Runtime", "NumPy", "PyTorch"},
    ("quantized_linear_add", "i8_i8_i8"): {"ONNX Runtime", "oneDNN", "XNNPACK", "NumPy", "PyTorch"},
}
for four_bits in ("i4", "u4"):
    ROWS["quantize_linear", f"f32_{four_bits}"] = {"ONNX Runtime", "NumPy"}
    ROWS["dequantize_linear", f"{four_bits}_f32"] = {"ONNX Runtime", "NumPy"}
for small_float in SMALL_FLOATS:
    ROWS["quantize_linear", f"f32_{small_float}"] = peers_of_small_float(small_float)
    ROWS["dequantize_linear", f"{small_float}_f32"] = peers_of_small_float(small_float)

# The peers and operators of another formula, with reciprocals or other orders of rounding.
INEXACT = {("oneDNN", "quantize_linear"), ("NumKong", "quantize_linear"),
           ("oneDNN", "quantized_linear_add"), ("XNNPACK", "quantized_linear_add"),
           ("ONNX Runtime", "quantized_linear_add"), ("PyTorch", "quantized_linear_add"),
           ("PyTorch", "requantize")}


def run(compare, report):
    """Runs the comparison without the peers that its build left out, and returns its report."""
    os.environ.pop("HEWN_VARIANT", None)
    ops, signatures = (sorted(set(names)) for names in zip(*ROWS))
    command = [compare, "--quick", "--relu", "--threads", "1", "--layout", "dense", "--elements", "16",
               "4096", "--op", *ops, "--signature", *signatures, "--report", report]
    if "HEWN_BENCH_PYTORCH" in os.environ:
        command += ["--pytorch", os.environ["HEWN_BENCH_PYTORCH"]]
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        missing = re.findall(r"go on without it: (--without-peer) (\w+)", done.stderr)
        command += [word for option in missing for word in option]
        if not missing:
            break
    if done.returncode:
        sys.exit(f"FAILED  {' '.join(command)}\n{done.stdout[-3000:]}{done.stderr}")
    return json.loads(pathlib.Path(report).read_text(encoding="utf-8"))


def reasons_to_skip(versions):
    """Why a peer, or some of its rows, cannot be there: {(peer, type or activation): reason}."""
    reasons = {(peer, ""): text for peer, text in versions.items() if text.startswith("left out")}
    if "PyTorch" not in versions:
        reasons["PyTorch", ""] = "HEWN_BENCH_PYTORCH is not set"
    if "avx512bw" not in pathlib.Path("/proc/cpuinfo").read_text():
        reasons["oneDNN", "bf16"] = "it has bf16 only with AVX-512"
    if "git2022" not in versions.get("XNNPACK", ""):
        reasons["XNNPACK", ""] = "only XNNPACK of before 2023 has activations"
    return reasons


def main():
    report = run(*sys.argv[1:])
    reasons = reasons_to_skip(report["versions"])
    for (peer, kind), reason in reasons.items():
        print(f"skipped: {peer} {kind}: {reason}")
    faults, seen = [], set()
    for row in report["rows"]:
        key = row["op"], row["signature"]
        if key not in ROWS:  # the product of operators and signatures has a few more
            continue
        seen.add((*key, row["elements"]))
        name = f"{' '.join(key)} of {row['elements']}"
        peers = {peer["peer"]: peer["differing"] for peer in row["peers"]}
        skipped = {peer for peer, kind in reasons if kind in row["signature"]}
        for peer in ROWS[key] - peers.keys() - skipped:
            faults.append(f"{name}: {peer} is missing")
        for peer, differing in peers.items():
            if differing and (peer, row["op"]) not in INEXACT:
                faults.append(f"{name}: {differing} results of {peer} differ")
        print(f"ok      {name}: {', '.join(sorted(peers))}")
    for key in {(*key, elements) for key in ROWS for elements in (16, 4096)} - seen:
        faults.append(f"no row {key}")
    sys.exit("\n".join(f"FAILED  {fault}" for fault in faults) or None)


main()
