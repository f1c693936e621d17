"""Describes the machine on which a measurement is made."""

import hashlib
import os
import platform
import re
import subprocess


def lscpu():
    """{name: value} as lscpu prints them."""
    text = subprocess.run(["lscpu"], capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout
    return dict(re.findall(r"^([^:\n]+):\s*(.*\S)", text, re.MULTILINE))


def chip_name():
    """The processor's name, family and model, if the system knows them. On a virtual machine, the
    name is often only that of a brand."""
    told = lscpu()
    numbers = ""
    if "CPU family" in told and "Model" in told:
        numbers = f" (family {told['CPU family']}, model {told['Model']})"
    return told.get("Model name", "unknown") + numbers


def clock_mhz():
    """The present clock rate of the first CPU in MHz. 0 if the system does not tell it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return float(next((l.split(":")[1] for l in file if l.startswith("cpu MHz")), 0))
    except OSError:
        return 0.0


def fingerprint(build, runner="local"):
    """The machine's processor, caches, system, compiler and Halide, an `id` of these, and its
    present clock rate and load. If candidates run on another machine (ssh, adb, qemu), the
    processor is the runner's name, and caches, system, clock rate and load are not known."""
    version = subprocess.run([build.cc, "--version"], capture_output=True, text=True).stdout
    tools = {"compiler": version.partition("\n")[0], "halide": build.halide}
    if not runner.startswith("local"):
        fixed, now = {"cpu": runner, **tools}, {}
    else:
        caches = {name: size for name, size in lscpu().items() if re.match(r"L\d.? cache", name)}
        fixed = {"cpu": chip_name(), "caches": caches,
                 "os": f"{platform.system()} {platform.release()}", **tools}
        now = {"clock_mhz": clock_mhz(), "load": round(os.getloadavg()[0], 2)}
    digest = hashlib.sha256(repr(sorted(fixed.items())).encode()).hexdigest()
    return {"id": digest[:12], **fixed, **now}
