"""Of a run of bench/gpu.sh: gpu_report.py [--misses] RESULTS

From rows.jsonl and steps.jsonl in that folder come report.json, table.md and chart.svg. Exit code 1
if a row could not be measured or a result is wrong. --misses prints instead each layout's row that
is furthest below a bar (kernel, layout, elements), the furthest first: dense 0.9 of the card's
copies from 64 Mi elements on, 0.7 in other layouts, PyTorch's speed in every row. What runs in
several launches has no bar."""

import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "report"))
import table  # noqa: E402

import docs  # noqa: E402

DENSE, STRIDED, BIG = 0.9, 0.7, 64 << 20
TICKS = [0.1, 0.2, 0.5, 0.7, 1, 2]


def lines_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def place(row):
    return row["kernel"], row["layout"], row["elements"]


def with_ratios(rows):
    """hewn's rows, each with its share of the copies' speed and its speed relative to each
    peer's."""
    found = {}
    for row in rows:
        if row["by"] != "hewn":
            found.setdefault(place(row), []).append(row)
    for row in rows:
        if row["by"] == "hewn" and "gb_per_s" in row:
            peers = {p["what"]: p["seconds"] / row["seconds"] for p in found.get(place(row), [])}
            yield row | {"share": row["gb_per_s"] / row["copy_gb_per_s"], "ratios": peers}


def misses(measured):
    """The rows below a bar, the furthest below first: (fraction of the bar, kernel, layout,
    elements)."""
    below = []
    for row in measured:
        if row.get("passes"):
            continue
        bar = DENSE if row["layout"] == "dense" else STRIDED
        reached = [row["share"] / bar] if row["elements"] >= BIG else []
        reached += [ratio for what, ratio in row["ratios"].items() if what != "kernel"]
        if reached and min(reached) < 1:
            below.append((min(reached), *place(row)))
    return sorted(below)


def cell(row):
    """A table's cell: GB/s, the share of the copies' speed, and the speed relative to that of the
    fastest peer."""
    if not row:
        return "-"
    text = f"{row['gb_per_s']:.0f}, {row['share']:.0%}"
    if not row["ratios"]:
        return text
    what, ratio = min(row["ratios"].items(), key=lambda peer: peer[1])
    return f"{text}, {ratio:.2f}x {'Triton' if what == 'kernel' else what}"


def grid(heads, names, text):
    yield "| kernel | " + " | ".join(heads) + " |"
    yield "|---|" + "---|" * len(heads)
    for kernel in names:
        yield f"| {kernel} | " + " | ".join(text(kernel, head) for head in heads) + " |"


def size_text(n):
    return "1 Gi" if n == 1 << 30 else table.size_text(n)


def speed_tables(measured):
    kernels = list(dict.fromkeys(row["kernel"] for row in measured))
    dense = {(r["kernel"], size_text(r["elements"])): r for r in measured if r["layout"] == "dense"}
    other = {(r["kernel"], r["layout"]): r for r in measured if r["layout"] != "dense"}
    sizes = sorted({r["elements"] for r in measured if r["layout"] == "dense"})
    yield from grid([size_text(n) for n in sizes], kernels, lambda *at: cell(dense.get(at)))
    for n in sorted({r["elements"] for r in other.values()}):
        yield from ["", f"Other layouts, {size_text(n)} elements:", ""]
        layouts = list(dict.fromkeys(layout for _, layout in other))
        yield from grid(layouts, kernels, lambda *at: cell(other.get(at)))


def launch_table(rows):
    times = {(r["kernel"], r["layout"]): r["seconds"] for r in rows if "seconds" in r}
    kernels = [kernel for kernel, how in times if how == "launch"]
    if kernels:
        yield from ["", "Microseconds of an execution of 4 Ki elements:", ""]
        heads = {"launch": "launch", "graph": "in a graph"}
        how_of = {head: how for how, head in heads.items()}

        def text(kernel, head):
            seconds = times.get((kernel, how_of[head]))
            return "-" if seconds is None else f"{seconds * 1e6:.2f}"

        yield from grid(list(heads.values()), kernels, text)


def table_lines(report, measured):
    yield f"{report['device']}: GB/s, the share of the device's copies' rate, and the speed over"
    yield "the fastest peer's, where there is one"
    yield ""
    yield from speed_tables(measured)
    yield from launch_table([r for r in report["rows"] if r["by"] == "hewn"])
    yield ""
    yield from (f"- {s['step']}: {s['outcome']}, {s['seconds']} s" for s in report["steps"])
    yield from (f"- not measured: {' '.join(map(str, place(r)))}: {r['error']}"
                for r in report["rows"] if "error" in r)
    yield from (f"- results differ: {' '.join(map(str, place(r)))}: {r['differing']}"
                for r in report["rows"] if r.get("differing"))
    yield from (f"- below a bar, {reached:.2f} of it: {' '.join(map(str, at))}"
                for reached, *at in misses(measured))


def chart(report, measured):
    """The chart: each kernel's share of the copies' speed, for dense tensors of the largest size
    and for the other layouts."""
    kernels = list(dict.fromkeys(row["kernel"] for row in measured))
    dense, other = {}, {}
    for row in measured:
        if row["layout"] == "dense":
            dense[row["kernel"]] = [max(TICKS[0], row["share"])]  # sizes ascend
        else:
            other.setdefault(row["kernel"], []).append(max(TICKS[0], row["share"]))
    lines = [(kernel, [dense.get(kernel, []), other.get(kernel, [])]) for kernel in kernels]
    heading = f"hewn's rate over the device's copies': {report['device']}"
    return docs.svg(heading, ["dense, the most elements", "other layouts"], lines, TICKS)


def main(results):
    rows, steps = (lines_of(results / name) for name in ("rows.jsonl", "steps.jsonl"))
    measured = list(with_ratios(rows))
    report = {"device": measured[0]["device"], "steps": steps, "rows": rows}
    report["misses"] = misses(measured)
    (results / "report.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    text = "\n".join(table_lines(report, measured)) + "\n"
    (results / "table.md").write_text(text, encoding="utf-8")
    (results / "chart.svg").write_text("\n".join(chart(report, measured)), encoding="utf-8")
    print(text, end="")
    return int(any("error" in row or row.get("differing") for row in rows))


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[-1])
    if sys.argv[1] != "--misses":
        sys.exit(main(folder))
    shown = set()
    for _, kernel, layout, elements in misses(list(with_ratios(lines_of(folder / "rows.jsonl")))):
        if layout not in shown:
            print(kernel, layout, elements)
        shown.add(layout)
