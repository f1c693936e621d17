"""The build's kernels and knobs, and the tuning files."""

import dataclasses
import json
import os
import pathlib
import subprocess


@dataclasses.dataclass(frozen=True)
class Kernel:
    """The unit of tuning: one form of a variant or, with `form` "plan", the plans of an operator's
    variants, which are measured with the first of its signatures. `knobs` are those it is built
    with."""

    operator: str
    signature: str
    target: str
    form: str
    halide_target: str
    layouts: str
    llvm_args: str
    knobs: tuple  # of (name, value), sorted
    space: tuple  # the names of the knobs that it has
    conditions: tuple  # what they must fulfil, as Python expressions
    in_place: bool  # whether the output may lie on an input
    reached: tuple  # (name, value) of lists.declarations.Reached; () for a plan

    @property
    def variant(self):
        return f"{self.operator}_{self.signature}__{self.target}"

    @property
    def full_name(self):
        """What the expressions of lists/knobs.py match, of a plan too."""
        return f"{self.variant}__{self.form}"

    @property
    def scales(self):
        """tune_runner's options for scales with which the operator calls the form."""
        scales = dict(self.reached).get("scales")
        return ["--scales", scales] if scales else []

    @property
    def checked_by(self):
        """tune_runner's options for problems that reach the form."""
        reached = dict(self.reached)
        least = ["--least", str(reached["least"])] if reached.get("least") else []
        flags = [("--ordinary", reached.get("ordinary")), ("--in-rows", reached.get("in_rows")),
                 ("--in-place", self.in_place)]
        return self.scales + least + [flag for flag, given in flags if given]

    def family(self, tuning):
        """The name of the file for a target without its own: the longest beginning of its name that
        has one (lists/tuning.py)."""
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
    """A build folder: its kernels (plans last), the values of their knobs (the default first) and
    its tools. gpu_kernels are not searched."""

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
        self.ranks_in_halves = {(k.operator, k.signature,
                                 k.target): int(dict(k.knobs)["rank_in_halves"])
                                for k in kernels if k.form == "plan"}
        self.kernels = [k for k in kernels if k.form != "plan"] + list(reversed(plans.values()))

    def forms(self, kernel):
        return [k.form for k in self.kernels if k.variant == kernel.variant and k.form != "plan"]

    def space(self, kernel):
        """The values of the kernel's knobs."""
        return {name: self.values[name] for name in kernel.space}

    def searched(self, kernel, knobs):
        """The values to search, by knob, starting from `knobs`, all of the kernel's. Knobs set by
        hand keep their value."""
        return {name: [dict(knobs)[name]] if name in self.by_hand else values
                for name, values in self.space(kernel).items()}

    def complete(self, kernel, knobs):
        """All knobs of the kernel: `knobs`, and the defaults of the others."""
        return knob_tuple({name: values[0] for name, values in self.space(kernel).items()}
                          | dict(knobs))

    def default_knobs(self, kernel, against=None):
        """The kernel's knobs on a target without a tuning file, which are its family's; or those by
        the files in the folder `against`."""
        own = against / f"{kernel.target}.json" if against else None
        tuning = against or self.tuning
        file = own if own and own.exists() else tuning / f"{kernel.family(tuning)}.json"
        knobs = json.loads(file.read_text(encoding="utf-8"))["knobs"]
        keys = (kernel.operator, f"{kernel.operator}_{kernel.signature}")
        return self.complete(kernel, knob_tuple(
            {n: v for key in keys for n, v in knobs.get(key, {}).get(kernel.form, {}).items()}))


def of_forms(found, forms):
    """The kernels that have one of the forms; all, if none is named."""
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
    """Writes the kernel's new `knobs` into its target's tuning file, which starts as a copy of its
    family's. With `knobs` None, notes in an existing file that the present ones were kept."""
    path = build.tuning / f"{kernel.target}.json"
    if knobs is None and not path.exists():
        return
    if path.exists():
        document = json.loads(path.read_text(encoding="utf-8"))
    else:  # the family's values; nothing is known yet about this target
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
    tuned = document.pop("tuned")  # a line each, so that diffs stay readable
    lines = ",\n".join(f"        {json.dumps(name)}: {json.dumps(tuned[name])}"
                       for name in sorted(tuned))
    write_atomically(path, json.dumps(document,
                                      indent=4)[:-2] + f',\n    "tuned": {{\n{lines}\n    }}\n}}\n')


def this_machine(build):
    """What dispatch decides by here: {name: rank} of the targets that the build's library has and
    this machine runs, and whether its chip runs AVX-512, if at all, in halves."""
    library = build.folder / "libhewn.so"
    run = subprocess.run([build.tune_runner, "targets", library], capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(f"the targets of {library} cannot be read: {run.stderr.strip()}")
    told = json.loads(run.stdout)
    return {target["name"]: target["rank"] for target in told["targets"]
            if target["supported"]}, told["avx512_in_halves"]


def picked(build, ranks, in_halves=False):
    """The build's kernels of the variants that dispatch picks on a machine that runs targets of
    these ranks; `in_halves`: on a chip that runs vectors in halves. A plan is picked with the first
    of its target's signatures."""
    def rank(operator, signature, target):
        return (in_halves
                and build.ranks_in_halves.get((operator, signature, target))) or ranks[target]

    best = {}
    for kernel in build.kernels:
        if kernel.target in ranks:
            key = kernel.operator, kernel.signature
            best[key] = max(best.setdefault(key, kernel.target), kernel.target,
                            key=lambda target: rank(*key, target))
    return [kernel for kernel in build.kernels if best.get((kernel.operator, kernel.signature))
            == kernel.target]
