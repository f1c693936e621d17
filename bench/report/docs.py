"""Writes the measured tables and charts of the documents: docs.py [--check]

docs/measurements/ has what was measured: <machine>.json the rows of bench/run.sh on a machine,
code_size.json the kernels' bytes, onnxruntime.json and python.json the bindings' speed,
verified.json where `hewn verify` ran. Each figure there has the commit whose code was measured.
What a page shows of them stands between the comments `<!-- bench/report/docs.py: WHAT -->` and
`<!-- end -->`. This script writes it, and the charts docs/charts/*.svg. --check writes nothing and
fails if something is not what it would write.

    docs.py --record MACHINE [TABLE...]         measures this machine with bench/run.sh
    docs.py --add REPORT MACHINE TABLE          takes a report that bench/run.sh wrote elsewhere
    docs.py --code-size build/code-size.txt     takes the sizes of a build's targets
    docs.py --verified REPORT...                takes what `hewn verify --json` printed elsewhere
"""

import argparse
import html
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

import table

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))
from lists.operators import OPERATORS  # noqa: E402

MEASUREMENTS = ROOT / "docs" / "measurements"
CODE_SIZE = MEASUREMENTS / "code_size.json"
ONNXRUNTIME = MEASUREMENTS / "onnxruntime.json"
PYTHON = MEASUREMENTS / "python.json"
VERIFIED = MEASUREMENTS / "verified.json"
MARKED = re.compile(r"(<!-- bench/report/docs\.py: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
IN_CACHE = [4 << 10, 64 << 10, 1 << 20]
ADD, QUANTIZE, DEQUANTIZE = "ADD", "QUANTIZE_LINEAR", "DEQUANTIZE_LINEAR"
QADD = "QUANTIZED_LINEAR_ADD"
NARROW = ("i8_f32", "u8_f32")

# The tables of a machine: a name, a heading, and the options of bench/run.sh that measure it.
FOUR = "--signature f32 f32_i8 i8_f32 i8_i8_i8"
TABLES = {
    "dense": (
        "dense, in cache, one thread",
        "--threads 1 --layout dense --elements 16 4Ki 64Ki 1Mi",
    ),
    "beyond": (
        "dense, beyond the caches, one thread",
        f"--threads 1 --layout dense {FOUR} --elements 16Mi 128Mi",
    ),
    "threads2": (
        "dense, two threads",
        f"--threads 2 --layout dense {FOUR} --elements 1Mi 2Mi 4Mi 16Mi 128Mi",
    ),
    "layouts": (
        "layouts, one thread",
        f"--threads 1 {FOUR} --elements 4Ki 64Ki 1Mi --layout row_broadcast per_channel_outer"
        " per_axis_last inner_3 inner_4 transposed strided_rows",
    ),
}

# The kernels that are shown one by one.
SHOWN = [
    (ADD, "f32"),
    (ADD, "f16"),
    (QUANTIZE, "f32_i8"),
    (QUANTIZE, "f16_i8"),
    (DEQUANTIZE, "i8_f32"),
    (DEQUANTIZE, "i8_f16"),
    (DEQUANTIZE, "i32_f32"),
    (QADD, "u8_u8_u8"),
    (QADD, "i8_i8_i8"),
]


def of(op, signatures=lambda _: True, layouts=("dense",)):
    return lambda c: c["op"] == op and signatures(c["signature"]) and c["layout"] in layouts


# The lines of the summary: a heading and its tables, or a name and which cells.
SUMMARY = [
    ("**In cache**, 4 Ki to 1 Mi elements", "dense", IN_CACHE),
    ("ADD f32", of(ADD, lambda s: s == "f32")),
    ("ADD, other types", of(ADD, lambda s: s != "f32")),
    ("QUANTIZE_LINEAR f32", of(QUANTIZE, lambda s: s.startswith("f32"))),
    ("QUANTIZE_LINEAR f16, i32", of(QUANTIZE, lambda s: not s.startswith("f32"))),
    ("DEQUANTIZE_LINEAR 8 bits to f32", of(DEQUANTIZE, lambda s: s in NARROW)),
    ("DEQUANTIZE_LINEAR, other types", of(DEQUANTIZE, lambda s: s not in NARROW)),
    ("QUANTIZED_LINEAR_ADD", of(QADD)),
    ("**Beyond the caches**, 16 and 128 Mi elements", "beyond", [16 << 20, 128 << 20]),
    ("ADD f32", of(ADD)),
    ("QUANTIZE_LINEAR f32", of(QUANTIZE)),
    ("DEQUANTIZE_LINEAR i8 to f32", of(DEQUANTIZE)),
    ("QUANTIZED_LINEAR_ADD i8", of(QADD)),
    ("**Other layouts**, 4 Ki to 1 Mi elements", "layouts", IN_CACHE),
    (
        "ADD f32, second input is one row, repeated, or one number for each row",
        of(ADD, layouts=("row_broadcast", "per_channel_outer")),
    ),
    (
        "QUANTIZE_LINEAR f32, a scale for each of 1024 columns",
        of(QUANTIZE, layouts=("per_axis_last",)),
    ),
    (
        "DEQUANTIZE_LINEAR i8 to f32, a scale for each of 1024 columns",
        of(DEQUANTIZE, layouts=("per_axis_last",)),
    ),
    (
        "QUANTIZE_LINEAR f32, a scale for each of 4 columns",
        of(QUANTIZE, layouts=("inner_4",)),
    ),
    (
        "DEQUANTIZE_LINEAR i8 to f32, a scale for each of 4 columns",
        of(DEQUANTIZE, layouts=("inner_4",)),
    ),
    ("**Transposed**, 1 Mi elements", "layouts", [1 << 20]),
    ("ADD f32", of(ADD, layouts=("transposed",))),
    ("QUANTIZE_LINEAR f32", of(QUANTIZE, layouts=("transposed",))),
    ("DEQUANTIZE_LINEAR i8 to f32", of(DEQUANTIZE, layouts=("transposed",))),
    ("QUANTIZED_LINEAR_ADD i8", of(QADD, layouts=("transposed",))),
]


def read(machine):
    return json.loads((MEASUREMENTS / f"{machine}.json").read_text(encoding="utf-8"))


def machines():
    names = sorted((path.stem for path in MEASUREMENTS.glob("*.json")), reverse=True)
    return [name for name in names if "tables" in read(name)]


def columns():
    """(machine, peers): peers is "avx2" where AVX-512 was hidden from hewn and all peers."""
    pairs = [(machine, peers) for machine in machines() for peers in ("", "avx2")]
    return [(m, p) for m, p in pairs if cells(m, table_name("dense", p))]


def cells(machine, name):
    return read(machine)["tables"].get(name, {"rows": []})["rows"]


def measured(machine, peers=""):
    """{(date, commit): names in TABLES} of the machine's tables of that kind."""
    tables, names = read(machine)["tables"], {}
    for name in TABLES:
        about = tables.get(table_name(name, peers))
        if about:
            names.setdefault((about["date"], about["commit"]), []).append(name)
    return names


def title(machine, peers):
    return read(machine)["machine"]["name"] + (", AVX2" if peers else "")


def table_name(base, peers):
    """The table of that kind: `avx2-beyond` is `beyond` with AVX-512 hidden from everybody."""
    return base if not peers else peers if base == "dense" else f"{peers}-{base}"


def short(ratio):
    return f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.0f}"


def span(ratios):
    low, high = short(min(ratios)), short(max(ratios))
    return low if low == high else f"{low} to {high}"


def ratios(machine, peers, base, sizes, which):
    found = cells(machine, table_name(base, peers))
    return [c["ratio"] for c in found if "ratio" in c and c["elements"] in sizes and which(c)]


def summary_lines():
    base = sizes = None
    for name, *rest in SUMMARY:
        if len(rest) == 2:
            base, sizes = rest
            yield name, None
        else:
            yield name, [ratios(m, p, base, sizes, rest[0]) for m, p in columns()]


# ---- What stands between the comments ----


# A word for each of TABLES, where a machine's tables are of several commits.
SHORT = {
    "dense": "in cache",
    "beyond": "beyond the caches",
    "threads2": "two threads",
    "layouts": "other layouts",
}


def commits_text(machine, peers):
    found = measured(machine, peers)
    if len(found) == 1:
        return "".join(f"`{commit}` ({date})" for date, commit in found)
    return "; ".join(
        f"`{commit}` ({date}): {', '.join(SHORT[name] for name in names)}"
        for (date, commit), names in found.items()
    )


def write_machines():
    yield "| machine | processor | caches | targets that hewn picks | commit of hewn |"
    yield "|---|---|---|---|---|"
    for machine, peers in columns():
        about = read(machine)["machine"]
        name = f"[{title(machine, peers)}](lab/machines.md#{about['name'].lower().replace(' ', '-')})"
        targets = "`x86_64_avx2`" if peers else ", ".join(f"`{t}`" for t in about["targets"])
        texts = [name, about["cpu"], about["caches"], targets, commits_text(machine, peers)]
        yield "| " + " | ".join(texts) + " |"


def write_machine_pages():
    """All tables of all machines, a section for each machine."""
    for machine in machines():
        about, tables = read(machine)["machine"], read(machine)["tables"]
        targets = ", ".join(f"`{target}`" for target in about["targets"])
        yield from ["", f"## {about['name']}", ""]
        yield f"{about['cpu']}; {about['caches']}. hewn picks {targets}."
        for name, (heading, options) in TABLES.items():
            if name not in tables:
                continue
            taken = tables[name]
            yield from ["", f"### {about['name']}: {heading}", ""]
            yield f"Measured on {taken['date']} at commit `{taken['commit']}`:"
            yield from ["", "```text", f"./bench/run.sh {options}", "```", ""]
            yield from table.lines(taken["rows"])
    yield ""


def write_summary():
    yield "| one thread | " + " | ".join(title(m, p) for m, p in columns()) + " |"
    yield "|---|" + "---|" * len(columns())
    for name, found in summary_lines():
        texts = [span(r) if r else "" for r in found or [()] * len(columns())]
        yield f"| {name} | " + " | ".join(texts) + " |"


def shown(machine, peers=""):
    found = [c for b in ("dense", "beyond") for c in cells(machine, table_name(b, peers))]
    found = {(c["op"], c["signature"], c["elements"]): c for c in found}
    sizes = sorted({n for _, _, n in found if n >= 4096})
    return [found[k, s, n] for k, s in SHOWN for n in sizes if (k, s, n) in found]


def write_speed(machine, peers=""):
    def text(cell):
        return f"{short(cell['ratio'])} {cell['peer']}"

    yield from table.lines(shown(machine, peers), text, layouts=False)


def write_claim(machine):
    """How many of the dense rows in cache are as fast as the fastest peer, as the tables round."""
    found = ratios(machine, "", "dense", IN_CACHE, lambda _: True)
    even = sum(r >= 1 for r in found)
    page = f"docs/lab/machines.md#{title(machine, '').lower().replace(' ', '-')}"
    yield f"**Fast.** In {even} of {len(found)} measured cases hewn is at least as fast as the fastest of ONNX"
    yield "Runtime, NumPy and Debian 12's oneDNN and XNNPACK. In the slowest case it runs at"
    yield f"{min(found):.2f} times the fastest one's speed. (4 Ki to 1 Mi elements, contiguous tensors, one scale;"
    commit = read(machine)["tables"]["dense"]["commit"]
    yield f"[one thread of a {title(machine, '')}]({page}), commit `{commit}`.)"


def write_claim_models():
    """How much faster ONNX Runtime runs models with hewn's provider than without it."""
    about = json.loads(ONNXRUNTIME.read_text(encoding="utf-8"))
    ratios = [row["optimized_first"] for row in about["models"]]
    models = {row["name"].rpartition(",")[0] for row in about["models"]}
    version = about["onnxruntime"]
    yield f"ONNX Runtime {version} runs {len(models)} quantized models {span(ratios)} times as fast"
    yield f"with hewn as without it, on [one thread of {about['machine']}](docs/onnxruntime.md#speed),"
    yield f"commit `{about['commit']}`."


def write_code_size(system):
    """By operator and, with the same sums, by group of types."""
    about = json.loads(CODE_SIZE.read_text(encoding="utf-8"))[system]
    operators = about["operators"]
    targets = list(dict.fromkeys(t for sizes in operators.values() for t in sizes["targets"]))

    def row(name, sizes):
        texts = [f"{sizes['targets'][t]:,}" if t in sizes["targets"] else "" for t in targets]
        return f"| {name} | " + " | ".join(texts) + f" | {sizes['largest']:,} |"

    yield "| operator or types | " + " | ".join(f"`{t}`" for t in targets) + " | largest variant |"
    yield "|---|" + "---|" * (len(targets) + 1)
    for op, sizes in operators.items():
        yield row(op.upper(), sizes)
    for group in GROUPS:
        yield row(group, about["types"][group])
    sums = [sum(s["targets"].get(t, 0) for s in operators.values()) for t in targets]
    yield "| all | " + " | ".join(f"{n:,}" for n in sums) + " | |"


def write_code_totals():
    """Of each system the target with the most code."""
    texts = []
    for system, about in json.loads(CODE_SIZE.read_text(encoding="utf-8")).items():
        operators = about["operators"].values()
        targets = {t for sizes in operators for t in sizes["targets"]}
        most = max(sum(s["targets"].get(t, 0) for s in operators) for t in targets)
        texts.append(f"{most // 1000:,} KB ({system})")
    yield f"The kernels of one target take at most {', '.join(texts)}."


def write_onnxruntime():
    about = json.loads(ONNXRUNTIME.read_text(encoding="utf-8"))
    nodes = {(row["name"], row["elements"]): row for row in about["nodes"]}
    names, sizes = (list(dict.fromkeys(key[i] for key in nodes)) for i in (0, 1))
    version, machine = about["onnxruntime"], about["machine"]
    yield f"How many times as fast ONNX Runtime {version} runs with hewn's provider as without it: first"
    yield "single nodes, by their number of elements; then whole quantized models. Measured on"
    yield f"{about['date']} at commit `{about['commit']}` on one thread of {machine}."
    yield ""
    yield "| node | " + " | ".join(table.size_text(n) for n in sizes) + " |"
    yield "|---|" + "---|" * len(sizes)
    for name in names:
        ratios = [f"{short(nodes[name, n]['ratio'])}x" for n in sizes]
        yield f"| {name} | " + " | ".join(ratios) + " |"
    yield ""
    yield "| QDQ, QOperator | ms | nodes on hewn | optimized first | loaded directly |"
    yield "|---|---|---|---|---|"
    models = {}
    for row in about["models"]:
        models.setdefault(row["name"].rpartition(",")[0], []).append(row)
    for name, rows in models.items():
        cells_ = [[f"{row['ms']:.1f}" for row in rows], [str(row["nodes"]) for row in rows]]
        for way in ("optimized_first", "direct"):
            cells_.append([f"{short(row[way])}x" for row in rows])
        yield f"| {name} | " + " | ".join(map(", ".join, cells_)) + " |"


def call_text(microseconds):
    if microseconds is None:
        return ""
    return f"{microseconds:.2f}" if microseconds < 100 else f"{microseconds:.0f}"


def write_python():
    """What bench/bindings/python_calls.py measured."""
    about = json.loads(PYTHON.read_text(encoding="utf-8"))
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    yield "| microseconds | " + " | ".join(table.size_text(n) for n in about["sizes"]) + " |"
    yield "|---|" + "---|" * len(about["sizes"])
    for name, values in about["microseconds"].items():
        yield f"| {name} | " + " | ".join(map(call_text, values)) + " |"
    yield ""
    yield f"{about['cpu']}, one thread; {versions}; commit `{about['commit']}`."


def write_verified():
    yield "| system | devices | commit | variants | cases | elements | differ |"
    yield "|---|---|---|---|---|---|---|"
    for row in json.loads(VERIFIED.read_text(encoding="utf-8")):
        counts = [f"{row[key]:,}" for key in ("variants", "cases", "elements", "differing")]
        yield f"| {row['system']} | {row['devices']} | `{row['commit']}` | {' | '.join(counts)} |"


WRITERS = {
    "claim": write_claim,
    "claim_models": write_claim_models,
    "code_size": write_code_size,
    "code_totals": write_code_totals,
    "machine_pages": write_machine_pages,
    "machines": write_machines,
    "onnxruntime": write_onnxruntime,
    "python": write_python,
    "speed": write_speed,
    "summary": write_summary,
    "verified": write_verified,
}


def written(page):
    def fill(match):
        name, *arguments = match[2].split()
        return match[1] + "\n".join(WRITERS[name](*arguments)) + "\n" + match[3]

    return MARKED.sub(fill, page.read_text(encoding="utf-8"))


# ---- Charts ----

COLORS = ["#08306b", "#2171b5", "#4292c6", "#6baed6", "#fd8d3c", "#d94801", "#7f2704"]
LEFT, WIDTH, LINE, TOP = 250, 560, 6, 58
TICKS = [0.7, 1, 2, 5, 10, 20, 50, 100]
FONT = 'font-family="sans-serif" font-size="12"'


def text(x, y, words, anchor="start", more=""):
    place = f'x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"'
    return f"<text {place} {FONT}{more}>{html.escape(words)}</text>"


def dot(x, y, color, radius=3):
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{color}"/>'


def bar(low, high, y, color):
    """A dot, or two with a bar between them."""
    ends = f'x1="{low:.1f}" y1="{y:.1f}" x2="{high:.1f}" y2="{y:.1f}"'
    yield f'<line {ends} stroke="{color}" stroke-width="3"/>'
    yield from (dot(x, y, color) for x in dict.fromkeys((low, high)))


def bars(lines, x):
    """The marks of a chart's lines and where the last line ends."""
    marks, y = [], TOP
    for name, values in lines:
        values = [(COLORS[i], v) for i, v in enumerate(values) if v]
        height = LINE * max(2, len(values)) + 10
        middle = y + height / 2
        marks.append(text(LEFT - 8, middle + 4, name, "end"))
        for at, (color, v) in enumerate(values):
            line = middle + LINE * (at - (len(values) - 1) / 2)
            marks += bar(x(min(v)), x(max(v)), line, color)
        y += height
    return marks, y


def axis(x, ticks, bottom):
    for tick in ticks:
        stroke = 'stroke="#d62728" stroke-width="2"' if tick == 1 else 'stroke="#dddddd"'
        ends = f'x1="{x(tick):.1f}" y1="{TOP - 4}" x2="{x(tick):.1f}" y2="{bottom}"'
        yield f"<line {ends} {stroke}/>"
        yield text(x(tick), bottom + 16, f"{tick:g}x", "middle")


def legend(series):
    for i, name in enumerate(series):
        at = 8 + i * ((LEFT + WIDTH) // len(series))
        yield dot(at + 4, 38, COLORS[i], 4)
        yield text(at + 12, 42, name)


def svg(heading, series, lines, ticks=TICKS):
    """lines: (name, for each series its numbers). The axis is logarithmic."""

    def x(value):
        return LEFT + WIDTH * math.log(value / ticks[0]) / math.log(ticks[-1] / ticks[0])

    marks, bottom = bars(lines, x)
    size = f'width="{LEFT + WIDTH + 30}" height="{bottom + 26}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    yield '<rect width="100%" height="100%" fill="white"/>'
    yield text(8, 18, heading, more=' font-weight="bold"')
    yield from [*legend(series), *axis(x, ticks, bottom), *marks]
    yield "</svg>"


def chart_sizes(machine):
    found = {(c["op"], c["signature"], c["elements"]): c["ratio"] for c in shown(machine)}
    sizes = sorted({n for _, _, n in found})
    lines = [
        (f"{op} {sig}", [[found[op, sig, n]] if (op, sig, n) in found else [] for n in sizes])
        for op, sig in SHOWN
    ]
    about = read(machine)["machine"]
    commit = read(machine)["tables"]["dense"]["commit"]
    heading = f"hewn's speed over the fastest peer's: {about['name']}, one thread, commit {commit}"
    return svg(heading, [f"{table.size_text(n)} elements" for n in sizes], lines)


def chart_machines():
    """The summary's first part, with the least and the greatest ratio of each line."""
    lines = list(summary_lines())
    end = [i for i, (_, found) in enumerate(lines) if found is None][1]
    heading = "hewn's speed over the fastest peer's, least to greatest: dense, in cache, one thread"
    return svg(heading, [title(m, p) for m, p in columns()], lines[1:end])


CHARTS = {"sizes.svg": lambda: chart_sizes("zen5"), "machines.svg": chart_machines}


# ---- Reading measurements in ----


def committed():
    """The commit whose code is measured."""
    git = ["git", "-c", "safe.directory=*", "-C", ROOT]
    if subprocess.check_output([*git, "status", "--porcelain", "--untracked-files=no"]):
        sys.exit("docs.py: commit your changes first: a figure carries the commit that was measured")
    return subprocess.check_output([*git, "rev-parse", "--short=7", "HEAD"], text=True).strip()


def table_text(name, about):
    rows = ",\n".join("    " + json.dumps(row) for row in about["rows"])
    commit, date = json.dumps(about["commit"]), json.dumps(about["date"])
    return f'  {json.dumps(name)}: {{"commit": {commit}, "date": {date}, "rows": [\n{rows}\n  ]}}'


def write_measurements(machine, about):
    """One row a line, so that a change of the file can be read."""
    tables = ",\n".join(table_text(name, taken) for name, taken in about["tables"].items())
    text = f'{{\n "machine": {json.dumps(about["machine"])},\n "tables": {{\n{tables}\n }}\n}}\n'
    (MEASUREMENTS / f"{machine}.json").write_text(text, encoding="utf-8")


def new_machine(machine, report):
    """What the documents say of a machine that has no file yet; edit it by hand if need be."""
    described = report["machine"]["machine"]
    cpu, caches = re.match(r"(.*?), \d+ CPUs, (.*), load", described).groups()
    targets = sorted({row["variant"].rpartition("__")[2] for row in report["rows"]})
    return {"name": machine, "cpu": cpu, "caches": caches, "targets": targets}


def add_report(path, machine, name, commit):
    report = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    file = MEASUREMENTS / f"{machine}.json"
    about = read(machine) if file.exists() else {"machine": {}, "tables": {}}
    about["machine"] = about["machine"] or new_machine(machine, report)
    threads = int(re.search(r"--threads (\d+)", TABLES[name][1])[1])
    rows = table.read_report(path, threads)
    date = report["machine"]["date"][:10]
    about["tables"][name] = {"commit": commit, "date": date, "rows": rows}
    write_measurements(machine, about)


def record(machine, names, commit):
    """Measures this machine and adds each table as soon as it is there."""
    for name in names or TABLES:
        with tempfile.TemporaryDirectory() as results:
            command = [ROOT / "bench" / "run.sh", "--results", results, *TABLES[name][1].split()]
            # Not 0 also if a peer is not exact, which the table says.
            subprocess.run(command, check=False)
            report = pathlib.Path(results) / "report.json"
            if not report.exists():
                sys.exit(f"docs.py: bench/run.sh did not measure the table {name}")
            add_report(report, machine, name, commit)


def operator_of(kernel):
    return max((op.name for op in OPERATORS if kernel.startswith(op.name + "_")), key=len)


SYSTEMS = {"arm64": "arm64", "x86_64": "x86-64"}


def system_of(target):
    return next((s for p, s in SYSTEMS.items() if target.startswith(p)), "gpu")


# The groups of types, each with the words of a signature that put a kernel into it. A kernel belongs
# to the first that fits.
GROUPS = {
    "with small floats": {"f8"},
    "with `bf16`": {"bf16"},
    "with integers of 16 bits and more": {"i16", "u16", "i32", "u32", "i64"},
    "with `f16`": {"f16"},
    "`f32` and integers of 8 bits only": {"f32", "i8", "u8"},
}


def group_of(words):
    return next(group for group, of in GROUPS.items() if of & set(words))


def read_code_size(path):
    """{system: {"operators": {operator: sizes}, "types": {group: sizes}}} of a build's code-size.txt.
    The sizes are {targets: {target: bytes}, largest}."""
    systems = {}
    text = pathlib.Path(path).read_text(encoding="utf-8")
    for bytes_, name in re.findall(r"^(\d+) (\w+__\w+)$", text, re.MULTILINE):
        kernel, target = name.split("__")
        about = systems.setdefault(system_of(target), {"operators": {}, "types": {}})
        op = operator_of(kernel)
        group = group_of(kernel.removeprefix(f"{op}_").split("_"))
        for rows, name in ((about["operators"], op), (about["types"], group)):
            sizes = rows.setdefault(name, {"targets": {}, "largest": 0})
            sizes["targets"][target] = sizes["targets"].get(target, 0) + int(bytes_)
            sizes["largest"] = max(sizes["largest"], int(bytes_))
    return systems


def add_code_size(path):
    about = json.loads(CODE_SIZE.read_text(encoding="utf-8")) | read_code_size(path)
    CODE_SIZE.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def verified_row(report, commit=""):
    """Which machine a report of `hewn verify --json` is of, and the sums over its variants."""

    def total(key):
        return sum(variant[key] for variant in report["variants"])

    failed = sum(row["failed"] for row in report["conformance"])
    return {
        "system": re.sub(r"(\d+\.\d+)\S*", r"\1", report["system"]),  # the kernel's "6.1"
        "devices": ", ".join(device["name"] for device in report["devices"]),
        "commit": commit,
        "variants": len(report["variants"]),
        "cases": total("cases") + sum(row["passed"] for row in report["conformance"]) + failed,
        "elements": total("elements"),
        "differing": total("differing") + failed,
    }


def add_verified(paths, commit):
    """A later report of the same system and devices takes the place of an earlier one."""
    rows = json.loads(VERIFIED.read_text(encoding="utf-8")) if VERIFIED.exists() else []
    by_machine = {(row["system"], row["devices"]): row for row in rows}
    for path in paths:
        row = verified_row(json.loads(pathlib.Path(path).read_text(encoding="utf-8")), commit)
        by_machine[row["system"], row["devices"]] = row
    lines = ",\n".join(" " + json.dumps(by_machine[key]) for key in sorted(by_machine))
    VERIFIED.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


# ---- All of it ----


def pages():
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def outputs():
    yield from ((page, written(page)) for page in pages())
    for name, chart in CHARTS.items():
        yield ROOT / "docs" / "charts" / name, "\n".join(chart()) + "\n"


def stale():
    for path, text in outputs():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            yield path, text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail where it would")
    parser.add_argument("--record", nargs="+", metavar=("MACHINE", "TABLE"))
    parser.add_argument("--add", nargs=3, metavar=("REPORT", "MACHINE", "TABLE"))
    parser.add_argument("--code-size", metavar="FILE")
    parser.add_argument("--verified", nargs="+", metavar="REPORT")
    parser.add_argument("--commit", help="whose code a report is of; default: the present commit")
    options = parser.parse_args()
    names = options.record[1:] if options.record else options.add[2:] if options.add else []
    for name in names:
        if name not in TABLES:
            parser.error(f"{name} is no table; the tables are {', '.join(TABLES)}")
    if options.record:
        record(options.record[0], options.record[1:], committed())
    if options.add:
        add_report(*options.add, options.commit or committed())
    if options.code_size:
        add_code_size(options.code_size)
    if options.verified:
        add_verified(options.verified, options.commit or committed())
    changed = list(stale())
    for path, text in changed:
        print(
            path.relative_to(ROOT),
            "is not what bench/report/docs.py writes" if options.check else "written",
        )
        if not options.check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    sys.exit(bool(options.check and changed))


if __name__ == "__main__":
    main()
