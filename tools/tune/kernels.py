"""The kernels and knobs of a build (`Build` reads its generated/kernels.json), and the tuning
files, which get the knobs that a search finds."""

import dataclasses
import json
import os
import pathlib
import subprocess


@dataclasses.dataclass(frozen=True)
class Kernel:
    """The unit of tuning: one form of a variant. With `form` "plan", it stands for the plans of all
    variants of an operator on a target, which are measured with the operator's first signature.
    `knobs` are those with which it is built."""

    operator: str
    signature: str
    target: str
    form: str
    halide_target: str
    layouts: str
    llvm_args: str
    knobs: tuple  # (name, value), sorted
    space: tuple  # the names of its knobs
    conditions: tuple  # Python expressions that must hold for the knobs
    in_place: bool  # whether the output may be one of the inputs
    reached: tuple  # (name, value) of lists.declarations.Reached; () for a plan

    @property
    def variant(self):
        return f"{self.operator}_{self.signature}__{self.target}"

    @property
    def full_name(self):
        """The name that the expressions of lists/knobs.py match, also for a plan."""
        return f"{self.variant}__{self.form}"

    @property
    def scales(self):
        """tune_runner's options for scales, an activation or types with which the operator calls this
        form."""
        reached = dict(self.reached)
        return [word for name in ("scales", "activation", "bits") if reached.get(name)
                for word in (f"--{name}", str(reached[name]))]

    @property
    def checked_by(self):
        """tune_runner's options for problems for which the operator calls this form."""
        reached = dict(self.reached)
        least = ["--least", str(reached["least"])] if reached.get("least") else []
        flags = [("--ordinary", reached.get("ordinary")), ("--in-rows", reached.get("in_rows")),
                 ("--in-place", self.in_place)]
        return self.scales + least + [flag for flag, given in flags if given]

    def family(self, tuning):
        """The name of the tuning file, without .json, for the target if it has no file of its own:
        the longest beginning of the target's name that has one (lists/tuning.py). `tuning` is the
        folder."""
        words = self.target.split("_")
        names = ["_".join(words[:n]) for n in range(len(words) - 1, 0, -1)]
        found = next((name for name in names if (tuning / f"{name}.json").exists()), None)
        if not found:
            raise RuntimeError(f"{tuning} has no tuning file of {self.target} or its family")
        return found

    @property
    def key(self):
        """The key of the kernel's knobs in the tuning file."""
        return self.operator if self.form == "plan" else f"{self.operator}_{self.signature}"

    @property
    def name(self):
        return f"{self.key}__{self.target}__{self.form}"


class Build:
    """A build folder: its kernels, with plans last; the values of their knobs, with the default
    first; and its tools. `gpu_kernels` are not searched."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.tune_runner = self.folder / "tools/tune/tune_runner"
        text = json.loads((self.folder / "generated/kernels.json").read_text(encoding="utf-8"))
        self.source = pathlib.Path(text["source"])
        self.halide, self.cc, self.objcopy = text["halide"], text["cc"], text["objcopy"]
        self.halide_library = text["halide_library"]
        self.tuning = pathlib.Path(text["tuning"])
        self.values, self.by_hand = text["knobs"], text["by_hand"]
        self.meanings = text["meanings"]
        kernels, self.gpu_kernels = [[kernel_of(row) for row in text[kind]]
                                     for kind in ("kernels", "gpu_kernels")]
        plans = {(k.operator, k.target): k for k in reversed(kernels) if k.form == "plan"}
        self.priorities_in_halves = {(k.operator, k.signature,
                                 k.target): int(dict(k.knobs)["priority_in_halves"])
                                for k in kernels if k.form == "plan"}
        self.kernels = [k for k in kernels if k.form != "plan"] + list(reversed(plans.values()))

    def forms(self, kernel):
        return [k.form for k in self.kernels if k.variant == kernel.variant and k.form != "plan"]

    def space(self, kernel):
        """{knob: its values} for the kernel's knobs."""
        return {name: self.values[name] for name in kernel.space}

    def searched(self, kernel, knobs):
        """{knob: the values to search}. `knobs` are all of the kernel's present ones: those that
        are set by hand keep their value."""
        return {name: [dict(knobs)[name]] if name in self.by_hand else values
                for name, values in self.space(kernel).items()}

    def complete(self, kernel, knobs):
        """All knobs of the kernel: `knobs`, and for the others the defaults."""
        return knob_tuple({name: values[0] for name, values in self.space(kernel).items()}
                          | dict(knobs))

    def default_knobs(self, kernel, against=None):
        """The knobs that the kernel would have if its target had no tuning file of its own: those
        of its family. With `against`: those that the tuning files in that folder give it."""
        own = against / f"{kernel.target}.json" if against else None
        tuning = against or self.tuning
        file = own if own and own.exists() else tuning / f"{kernel.family(tuning)}.json"
        knobs = json.loads(file.read_text(encoding="utf-8"))["knobs"]
        keys = (kernel.operator, f"{kernel.operator}_{kernel.signature}")
        return self.complete(kernel, knob_tuple(
            {n: v for key in keys for n, v in knobs.get(key, {}).get(kernel.form, {}).items()}))


def of_forms(found, forms):
    """The kernels that have one of these forms, or all if `forms` is empty."""
    return [kernel for kernel in found if not forms or kernel.form in forms]


def kernel_of(row):
    """The Kernel of a row of kernels.json."""
    fields = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    return Kernel(**{**fields, "knobs": knob_tuple(row["knobs"]), "reached": tuple(row["reached"].items())})


def knob_tuple(knobs):
    return tuple(sorted((name, str(value)) for name, value in knobs.items()))


def knob_text(knobs):
    return " ".join(f"{name}={value}" for name, value in knobs)


def write_atomically(path, text):
    temporary = path.with_suffix(".tmp")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def record(build, kernel, knobs, provenance):
    """Writes the kernel's new `knobs` into its target's tuning file, which begins as a copy of its
    family's. If `knobs` is None, it notes in an existing file that the present knobs were kept."""
    path = build.tuning / f"{kernel.target}.json"
    if knobs is None and not path.exists():
        return
    if path.exists():
        document = json.loads(path.read_text(encoding="utf-8"))
    else:  # begins with the family's values
        family = kernel.family(build.tuning)
        document = json.loads((build.tuning / f"{family}.json").read_text(encoding="utf-8"))
        document.update(provenance=[f"the values of {family}"], tuned={})
    document.update(halide=build.halide, target=kernel.target)
    story = document.setdefault("tuned", {}).setdefault(f"{kernel.key} {kernel.form}", {})
    if knobs is None:
        story["kept"] = provenance
    else:
        document["knobs"].setdefault(kernel.key, {})[kernel.form] = {n: int(v) if v.isdigit()
                                                                     else v for n, v in knobs}
        story.clear()
        story["adopted"] = provenance
    tuned = document.pop("tuned")  # written with a line for each kernel, so that diffs are readable
    lines = ",\n".join(f"        {json.dumps(name)}: {json.dumps(tuned[name])}"
                       for name in sorted(tuned))
    write_atomically(path, json.dumps(document,
                                      indent=4)[:-2] + f',\n    "tuned": {{\n{lines}\n    }}\n}}\n')


def this_machine(build):
    """The facts by which dispatch decides on this machine: {name: priority} of the targets that the
    build's library has and this machine can run, and whether the chip runs AVX-512 in halves."""
    library = build.folder / "libhewn.so"
    run = subprocess.run([build.tune_runner, "targets", library], capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(f"the targets of {library} cannot be read: {run.stderr.strip()}")
    told = json.loads(run.stdout)
    return {target["name"]: target["priority"] for target in told["targets"]
            if target["supported"]}, told["avx512_in_halves"]


def picked(build, priorities, in_halves=False):
    """The kernels of the variants that dispatch picks on a machine. `priorities` are those of the
    targets that the machine can run. `in_halves` says whether its chip runs AVX-512 in halves. A
    plan is picked if the variant of its signature is."""
    def priority(operator, signature, target):
        return (in_halves
                and build.priorities_in_halves.get((operator, signature, target))) or priorities[target]

    best = {}
    for kernel in build.kernels:
        if kernel.target in priorities:
            key = kernel.operator, kernel.signature
            best[key] = max(best.setdefault(key, kernel.target), kernel.target,
                            key=lambda target: priority(*key, target))
    return [kernel for kernel in build.kernels if best.get((kernel.operator, kernel.signature))
            == kernel.target]
