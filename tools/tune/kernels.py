"""What the build says about its kernels and knobs, and the tuning files."""

import ctypes
import dataclasses
import json
import os
import pathlib


@dataclasses.dataclass(frozen=True)
class Kernel:
    """One form of a variant: the unit of tuning. `knobs` are those it is built with."""

    operator: str
    signature: str
    target: str
    form: str
    halide_target: str
    layouts: str
    knobs: tuple  # of (name, value), sorted

    @property
    def variant(self):
        return f"{self.operator}_{self.signature}__{self.target}"

    @property
    def name(self):
        return f"{self.variant}__{self.form}"


class Build:
    """A build folder: its kernels, the values of its knobs, its tools."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        text = json.loads((self.folder / "generated/kernels.json").read_text())
        self.source = pathlib.Path(text["source"])
        self.halide, self.cc, self.objcopy = text["halide"], text["cc"], text["objcopy"]
        self.halide_library = text["halide_library"]
        self.tuning = pathlib.Path(text["tuning"])
        self.space = text["knobs"]
        self.kernels = [Kernel(**{**k, "knobs": knob_tuple(k["knobs"])}) for k in text["kernels"]]

    def forms(self, kernel):
        return [k.form for k in self.kernels if k.variant == kernel.variant]


def knob_tuple(knobs):
    return tuple(sorted((name, str(value)) for name, value in knobs.items()))


def knob_text(knobs):
    return " ".join(f"{name}={value}" for name, value in knobs)


def write_atomically(path, text):
    temporary = path.with_suffix(".tmp")
    temporary.write_text(text)
    os.replace(temporary, path)


def adopt(build, kernel, knobs, provenance):
    """Writes `knobs` of the kernel into its target's tuning file, which starts as its family's where there is none."""
    path = build.tuning / f"{kernel.target}.json"
    family = build.tuning / f"{kernel.target.rpartition('_')[0]}.json"
    document = json.loads((path if path.exists() else family).read_text())
    document.update(halide=build.halide, target=kernel.target)
    key = f"{kernel.operator}_{kernel.signature}"
    values = {name: int(value) if value.isdigit() else value for name, value in knobs}
    document["knobs"].setdefault(key, {})[kernel.form] = values
    document.setdefault("tuned", {}).setdefault(key, {})[kernel.form] = provenance
    write_atomically(path, json.dumps(document, indent=4) + "\n")


class TargetInfo(ctypes.Structure):  # hewn_target_info
    _fields_ = [("struct_size", ctypes.c_uint32), ("name", ctypes.c_char_p), ("halide_target", ctypes.c_char_p),
                ("rank", ctypes.c_int32), ("supported", ctypes.c_int32), ("missing", ctypes.c_char_p)]


def best_target(build):
    """The name of the highest-ranked CPU target that this machine runs, of those built."""
    hewn = ctypes.CDLL(str(build.folder / "libhewn.so"))
    built = {kernel.target.encode() for kernel in build.kernels}
    infos = [TargetInfo(ctypes.sizeof(TargetInfo)) for _ in range(hewn.hewn_target_count())]
    for i, info in enumerate(infos):
        hewn.hewn_get_target(i, ctypes.byref(info))
    return max((info for info in infos if info.supported and info.name in built), key=lambda info: info.rank).name.decode()
