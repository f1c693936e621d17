"""Writes the measured tables and charts of the documents: docs.py [--check]

docs/measurements/<machine>.json has the measurements of a machine, code_size.json the kernels'
bytes, onnxruntime.json nodes and models in ONNX Runtime (onnxruntime_nodes.py), verified.json where
`hewn verify` ran. What a page shows
of them stands between the comments `<!-- bench/report/docs.py: WHAT -->` and `<!-- end -->`, where this
script writes it; the charts are docs/charts/*.svg. --check writes nothing and fails if something is
not what it would write.

    docs.py --add REPORT MACHINE TABLE [--threads N]     a report of compare becomes a table
    docs.py --code-size build/code-size.txt              the sizes of a build's targets
    docs.py --verified REPORT...                         what `hewn verify --json` said elsewhere
"""

import argparse
import html
import json
import math
import pathlib
import re
import sys

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
MACHINES = ["zen5", "zen4", "zen3", "zen1", "xeon"]
COLUMNS = [(m, t) for m in MACHINES for t in ("", "avx2") if not t or m in ("zen5", "xeon")]
IN_CACHE = [4 << 10, 64 << 10, 1 << 20]
ADD, QUANTIZE, DEQUANTIZE = "ADD", "QUANTIZE_LINEAR", "DEQUANTIZE_LINEAR"
QADD = "QUANTIZED_LINEAR_ADD"
NARROW = ("i8_f32", "u8_f32")

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
    ("**Layouts**, 4 Ki to 1 Mi elements", "layouts", IN_CACHE),
    (
        "ADD f32, one row for all or one number per row",
        of(ADD, layouts=("row_broadcast", "per_channel_outer")),
    ),
    ("QUANTIZE_LINEAR, one scale per column", of(QUANTIZE, layouts=("per_axis_last",))),
    ("DEQUANTIZE_LINEAR, one scale per column", of(DEQUANTIZE, layouts=("per_axis_last",))),
    ("QUANTIZE_LINEAR `[R, 4]`", of(QUANTIZE, layouts=("inner_4",))),
    ("DEQUANTIZE_LINEAR `[R, 4]`", of(DEQUANTIZE, layouts=("inner_4",))),
    ("**Transposed**, 1 Mi elements", "layouts", [1 << 20]),
    ("ADD f32", of(ADD, layouts=("transposed",))),
    ("QUANTIZE_LINEAR f32", of(QUANTIZE, layouts=("transposed",))),
    ("DEQUANTIZE_LINEAR i8 to f32", of(DEQUANTIZE, layouts=("transposed",))),
    ("QUANTIZED_LINEAR_ADD i8", of(QADD, layouts=("transposed",))),
]


def read(machine):
    return json.loads((MEASUREMENTS / f"{machine}.json").read_text(encoding="utf-8"))


def cells(machine, name):
    return read(machine)["tables"].get(name, [])


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
    return [c["ratio"] for c in found if c["elements"] in sizes and which(c)]


def summary_lines():
    base = sizes = None
    for name, *rest in SUMMARY:
        if len(rest) == 2:
            base, sizes = rest
            yield name, None
        else:
            yield name, [ratios(m, p, base, sizes, rest[0]) for m, p in COLUMNS]


# ---- What stands between the comments ----


def machine_page(machine):
    about = read(machine)["machine"]
    cells_ = [f"[{about['name']}](lab/{machine}.md), {about['cpu']}", about["caches"]]
    return cells_ + [about["dispatch"], about["date"], about["code"]]


def write_machines():
    yield "| machine | caches | dispatch picks | measured | code |"
    yield "|---|---|---|---|---|"
    yield from ("| " + " | ".join(machine_page(m)) + " |" for m in MACHINES)


def write_summary():
    yield "| one thread | " + " | ".join(title(m, p) for m, p in COLUMNS) + " |"
    yield "|---|" + "---|" * len(COLUMNS)
    for name, columns in summary_lines():
        texts = [span(r) if r else "" for r in columns or [()] * len(COLUMNS)]
        yield f"| {name} | " + " | ".join(texts) + " |"


def write_table(machine, name):
    yield from table.lines(cells(machine, name))


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
    found = [c["ratio"] for c in cells(machine, "dense") if c["elements"] in IN_CACHE]
    even = sum(r >= 1 for r in found)
    yield f"**Fast.** {even} of {len(found)} dense cases of 4 Ki to 1 Mi elements run at least as"
    yield "fast as the fastest of ONNX Runtime, NumPy and Debian 12's oneDNN and XNNPACK"
    yield f"(one thread of a {title(machine, '')}; the slowest case runs at {min(found):.2f}x)."


def write_claim_models():
    """How much faster ONNX Runtime runs models with hewn's provider than without it."""
    about = json.loads(ONNXRUNTIME.read_text(encoding="utf-8"))
    ratios = [row["optimized_first"] for row in about["models"]]
    models = {row["name"].rpartition(",")[0] for row in about["models"]}
    version = about["onnxruntime"]
    yield f"ONNX Runtime {version} runs {len(models)} quantized models {span(ratios)} times as fast"
    yield f"with hewn as without it (one thread of {about['machine']})."


def write_code_size(system):
    about = json.loads(CODE_SIZE.read_text(encoding="utf-8"))[system]
    targets = list(dict.fromkeys(t for sizes in about.values() for t in sizes["targets"]))
    yield "| operator | " + " | ".join(f"`{t}`" for t in targets) + " | largest variant |"
    yield "|---|" + "---|" * (len(targets) + 1)
    for op, sizes in about.items():
        texts = [f"{sizes['targets'][t]:,}" if t in sizes["targets"] else "" for t in targets]
        yield f"| {op.upper()} | " + " | ".join(texts) + f" | {sizes['largest']:,} |"
    sums = [sum(s["targets"].get(t, 0) for s in about.values()) for t in targets]
    yield "| all | " + " | ".join(f"{n:,}" for n in sums) + " | |"


def write_code_totals():
    """Of each system the target with the most code."""
    texts = []
    for system, about in json.loads(CODE_SIZE.read_text(encoding="utf-8")).items():
        targets = {t for sizes in about.values() for t in sizes["targets"]}
        most = max(sum(s["targets"].get(t, 0) for s in about.values()) for t in targets)
        texts.append(f"{system} {most // 1000:,} KB")
    yield f"A target's kernels have at most: {', '.join(texts)}."


def write_onnxruntime():
    about = json.loads(ONNXRUNTIME.read_text(encoding="utf-8"))
    nodes = {(row["name"], row["elements"]): row for row in about["nodes"]}
    names, sizes = (list(dict.fromkeys(key[i] for key in nodes)) for i in (0, 1))
    version, machine = about["onnxruntime"], about["machine"]
    yield f"ONNX Runtime {version}'s time over hewn's, one thread of {machine},"
    yield f"{about['date']}: a node, by its elements, and quantized models."
    yield ""
    yield "| | " + " | ".join(table.size_text(n) for n in sizes) + " |"
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
    yield f"{about['cpu']}, one thread; {versions}."


def write_verified():
    yield "| system | devices | hewn | variants | cases | elements | differ |"
    yield "|---|---|---|---|---|---|---|"
    for row in json.loads(VERIFIED.read_text(encoding="utf-8")):
        counts = [f"{row[key]:,}" for key in ("variants", "cases", "elements", "differing")]
        yield f"| {row['system']} | {row['devices']} | {row['hewn']} | {' | '.join(counts)} |"


WRITERS = {
    "claim": write_claim,
    "claim_models": write_claim_models,
    "code_size": write_code_size,
    "code_totals": write_code_totals,
    "machines": write_machines,
    "onnxruntime": write_onnxruntime,
    "python": write_python,
    "speed": write_speed,
    "summary": write_summary,
    "table": write_table,
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
    heading = f"hewn's speed over the fastest peer's: {about['name']}, one thread, {about['date']}"
    return svg(heading, [f"{table.size_text(n)} elements" for n in sizes], lines)


def chart_machines():
    """The summary's first part, with the least and the greatest ratio of each line."""
    lines = list(summary_lines())
    end = [i for i, (_, columns) in enumerate(lines) if columns is None][1]
    heading = "hewn's speed over the fastest peer's, least to greatest: dense, in cache, one thread"
    return svg(heading, [title(m, p) for m, p in COLUMNS], lines[1:end])


CHARTS = {"sizes.svg": lambda: chart_sizes("zen5"), "machines.svg": chart_machines}


# ---- Reading measurements in ----


def table_text(name, rows):
    return f"  {json.dumps(name)}: [\n" + ",\n".join("   " + json.dumps(r) for r in rows) + "\n  ]"


def write_measurements(machine, about):
    """One row a line, so that a change of the file can be read."""
    tables = ",\n".join(table_text(n, rows) for n, rows in about["tables"].items())
    text = f'{{\n "machine": {json.dumps(about["machine"])},\n "tables": {{\n{tables}\n }}\n}}\n'
    (MEASUREMENTS / f"{machine}.json").write_text(text, encoding="utf-8")


def add_report(report, machine, name, threads):
    about = read(machine)
    about["tables"][name] = table.read_report(report, threads)
    write_measurements(machine, about)


def operator_of(kernel):
    return max((op.name for op in OPERATORS if kernel.startswith(op.name + "_")), key=len)


SYSTEMS = {"arm64": "arm64", "x86_64": "x86-64"}


def system_of(target):
    return next((s for p, s in SYSTEMS.items() if target.startswith(p)), "gpu")


def read_code_size(path):
    """{system: {operator: {targets: {target: bytes}, largest}}} of a build's code-size.txt."""
    systems = {}
    text = pathlib.Path(path).read_text(encoding="utf-8")
    for bytes_, name in re.findall(r"^(\d+) (\w+__\w+)$", text, re.MULTILINE):
        kernel, target = name.split("__")
        ops = systems.setdefault(system_of(target), {})
        sizes = ops.setdefault(operator_of(kernel), {"targets": {}, "largest": 0})
        sizes["targets"][target] = sizes["targets"].get(target, 0) + int(bytes_)
        sizes["largest"] = max(sizes["largest"], int(bytes_))
    return systems


def add_code_size(path):
    about = json.loads(CODE_SIZE.read_text(encoding="utf-8")) | read_code_size(path)
    CODE_SIZE.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def verified_row(report):
    """Of a report of `hewn verify --json`: which machine, and the sums over its variants."""

    def total(key):
        return sum(variant[key] for variant in report["variants"])

    failed = sum(row["failed"] for row in report["conformance"])
    return {
        "system": re.sub(r"(\d+\.\d+)\S*", r"\1", report["system"]),  # the kernel's "6.1"
        "devices": ", ".join(device["name"] for device in report["devices"]),
        "hewn": report["hewn"],
        "variants": len(report["variants"]),
        "cases": total("cases") + sum(row["passed"] for row in report["conformance"]) + failed,
        "elements": total("elements"),
        "differing": total("differing") + failed,
    }


def add_verified(paths):
    """A later report of the same system and devices takes the place of an earlier one."""
    rows = json.loads(VERIFIED.read_text(encoding="utf-8")) if VERIFIED.exists() else []
    by_machine = {(row["system"], row["devices"]): row for row in rows}
    for path in paths:
        row = verified_row(json.loads(pathlib.Path(path).read_text(encoding="utf-8")))
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
    parser.add_argument("--add", nargs=3, metavar=("REPORT", "MACHINE", "TABLE"))
    parser.add_argument("--threads", type=int, default=1, help="of --add: only rows of this many")
    parser.add_argument("--code-size", metavar="FILE")
    parser.add_argument("--verified", nargs="+", metavar="REPORT")
    options = parser.parse_args()
    if options.add:
        add_report(*options.add, options.threads)
    if options.code_size:
        add_code_size(options.code_size)
    if options.verified:
        add_verified(options.verified)
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
