"""Pictures and a page of what compare measured: plots.py REPORT FOLDER

<operator>.png has a panel for each signature. It shows GB/s by the number of elements with one
thread, for hewn, for its peers or a baseline, and for the machine's limit. layouts.png shows the
ratio to each peer in each layout. calls.png shows the time of a call with 16 elements. index.html
has all pictures and all rows."""

import argparse
import html
import json
import pathlib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

HEWN = "#d62728"
COLORS = {"ONNX Runtime": "#1f77b4", "oneDNN": "#2ca02c", "XNNPACK": "#9467bd", "NumPy": "#8c8c8c",
          "NumKong": "#8c564b", "PyTorch": "#e377c2", "OpenVINO": "#17becf", "baseline": "#ff7f0e"}
MARKERS = {"ONNX Runtime": "s", "oneDNN": "^", "XNNPACK": "D", "NumPy": "v", "NumKong": "<",
           "PyTorch": ">", "OpenVINO": "h", "baseline": "P"}
COLUMNS = 4


def unique(values):
    return list(dict.fromkeys(values))


def elements_text(elements):
    for unit, name in ((1 << 20, " Mi"), (1 << 10, " Ki")):
        if elements % unit == 0:
            return f"{elements // unit}{name}"
    return str(elements)


def duration_text(ns):
    for unit, name in ((1e6, " ms"), (1e3, " us")):
        if ns >= unit:
            return f"{ns / unit:.3g}{name}"
    return f"{ns:.3g} ns"


def ratio_text(ratio):
    return f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.3g}"


def machine(report):
    return f"{report['machine']['machine']}, {report['machine']['date']}"


def panels(count):
    columns = min(COLUMNS, count)
    lines = -(-count // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(max(8, 4.6 * columns), 3.9 * lines + 0.9),
                                squeeze=False, layout="constrained")
    for axis in axes.flat[count:]:
        axis.set_visible(False)
    return figure, list(axes.flat[:count])


def plain_numbers(axis):
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high > 30 * low
                                      else (1, 1.5, 2, 3, 4, 5, 6, 8)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def caption(figure, title, report):
    figure.suptitle(f"{title}\n{machine(report)}", fontsize=9)


def share_legend(figure, axes):
    entries = {}
    for axis in axes:
        handles, labels = axis.get_legend_handles_labels()
        entries |= dict(zip(labels, handles))
    figure.legend(entries.values(), entries.keys(), loc="outside lower center",
                  ncols=max(3, int(figure.get_figwidth() / 2)), frameon=False)


def roofline(report, op, path):
    """Draws the speed of one operator on dense tensors. False if there is nothing to draw."""
    # calls() draws small problems, where the cost of a call counts and not the bandwidth.
    rows = [r for r in report["rows"] if r["op"] == op and r["layout"] == "dense"
            and r["elements"] >= 1024]
    rows = [r for r in rows if r["threads"] == min(r["threads"] for r in rows)]
    signatures = unique(r["signature"] for r in rows)
    if not signatures:
        return False
    figure, axes = panels(len(signatures))
    for axis, signature in zip(axes, signatures):
        mine = [r for r in rows if r["signature"] == signature]
        elements = [r["elements"] for r in mine]
        limit = [r["limit_gbps"] for r in mine]
        axis.plot(elements, limit, "--", color="black", linewidth=1,
                  label="limit: the fastest copy of as many bytes")
        for peer, color in COLORS.items():
            points = [(r["elements"], p["gbps"]) for r in mine
                      for p in r["peers"] if p["peer"] == peer]
            if points:
                axis.plot(*zip(*points), color=color, marker=MARKERS[peer], markersize=5,
                          linewidth=1.2, label=peer)
        axis.plot(elements, [r["hewn_gbps"] for r in mine], color=HEWN, marker="o", markersize=6,
                  linewidth=2.4, label="hewn", zorder=5)
        axis.set(title=signature, xscale="log", yscale="log", xlabel="elements",
                 ylabel="GB/s read + written")
        axis.set_xscale("log", base=2)
        axis.set_xticks(elements, [elements_text(e) for e in elements])
        axis.set_ylim(top=1.4 * max(limit + [r["hewn_gbps"] for r in mine]))
        plain_numbers(axis.yaxis)
        axis.grid(True, which="major", alpha=0.3)
    share_legend(figure, axes)
    caption(figure, f"{op}, dense, {rows[0]['threads']} thread(s)", report)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return True


def calls(report, path):
    """Draws the time of a call with 16 elements. False if there is nothing to draw."""
    rows = [r for r in report["rows"] if r["layout"] == "dense" and r["elements"] == 16]
    rows = [r for r in rows if r["threads"] == min(r["threads"] for r in rows)]
    if not rows:
        return False
    figure, axis = plt.subplots(figsize=(8, 0.28 * len(rows) + 1.8), layout="constrained")
    for peer, color in COLORS.items():
        points = [(r["hewn_ns"] * r["hewn_gbps"] / p["gbps"], i) for i, r in enumerate(rows)
                  for p in r["peers"] if p["peer"] == peer]
        if points:
            axis.plot(*zip(*points), color=color, marker=MARKERS[peer], linestyle="none",
                      label=peer)
    axis.plot([r["hewn_ns"] for r in rows], range(len(rows)), color=HEWN, marker="o",
              linestyle="none", label="hewn", zorder=5)
    axis.set_yticks(range(len(rows)), [f"{r['op']} {r['signature']}" for r in rows], fontsize=8)
    axis.invert_yaxis()
    axis.set(xscale="log", xlabel="ns a call (left is faster)")
    plain_numbers(axis.xaxis)
    axis.grid(True, which="major", alpha=0.3)
    share_legend(figure, [axis])
    caption(figure, f"A call of 16 elements, dense, {rows[0]['threads']} thread(s)", report)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return True


def layouts(report, path):
    """Draws the ratio of hewn's speed to each peer's by layout, at the size that is closest to 1 Mi
    elements. False if there is nothing to draw."""
    rows = [r for r in report["rows"] if r["layout"] != "dense"]
    if not rows:
        return False
    threads = min(r["threads"] for r in rows)
    best = {}
    for row in (r for r in rows if r["threads"] == threads):
        key = (row["op"] + " " + row["signature"], row["layout"])
        if key not in best or (abs(row["elements"] - (1 << 20))
                               < abs(best[key]["elements"] - (1 << 20))):
            best[key] = row
    kernels = unique(kernel for kernel, _ in best)
    figure, axes = panels(len(kernels))
    for axis, kernel in zip(axes, kernels):
        mine = [row for key, row in best.items() if key[0] == kernel]
        order = [name for name in COLORS if any(p["peer"] == name for row in mine
                                                for p in row["peers"])]
        for i, row in enumerate(mine):
            for peer in row["peers"]:
                at = i + 0.18 * (order.index(peer["peer"]) - (len(order) - 1) / 2)
                error = [[peer["ratio"] - peer["ratio_low"]], [peer["ratio_high"] - peer["ratio"]]]
                axis.errorbar(peer["ratio"], at, xerr=error, color=COLORS[peer["peer"]],
                              marker=MARKERS[peer["peer"]], linestyle="none",
                              label=peer["peer"])
        axis.axvline(1, color=HEWN, linewidth=1.5)
        axis.set_yticks(range(len(mine)), [f"{r['layout']}\n{elements_text(r['elements'])}"
                                           for r in mine], fontsize=8)
        axis.invert_yaxis()
        axis.set(title=kernel, xscale="log", xlabel="hewn's speed over the peer's")
        plain_numbers(axis.xaxis)
        axis.grid(True, axis="x", which="major", alpha=0.3)
    share_legend(figure, axes)
    caption(figure, f"Layouts, {threads} thread(s); right of the line hewn is faster", report)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return True


def table(report):
    """The HTML table of all rows."""
    peers = unique(p["peer"] for r in report["rows"] for p in r["peers"])
    head = ["operator", "signature", "layout", "elements", "threads", "a call", "GB/s",
            "of limit"] + peers
    lines = ["<tr>" + "".join(f"<th>{html.escape(h)}</th>" for h in head) + "</tr>"]
    for row in report["rows"]:
        cells = [row["op"], row["signature"], row["layout"], elements_text(row["elements"]),
                 row["threads"], duration_text(row["hewn_ns"]),
                 f"{row['hewn_gbps']:.3g}", f"{100 * row['hewn_gbps'] / row['limit_gbps']:.0f} %"
                 if row["elements"] >= 1024 else ""]
        line = "".join(f"<td>{html.escape(str(c))}</td>" for c in cells)
        for name in peers:
            found = [p for p in row["peers"] if p["peer"] == name]
            if not found:
                line += "<td></td>"
                continue
            peer = found[0]
            low, high = peer["ratio_low"], peer["ratio_high"]
            kind = "faster" if low > 1 else "slower" if high < 1 else "equal"
            differing = 100 * peer["differing"] / row["elements"]
            exact = f" <small>{differing:.2g} % of its results differ</small>" if differing else ""
            line += (f"<td class={kind}><b>{ratio_text(peer['ratio'])}</b> "
                     f"<small>{ratio_text(low)}–{ratio_text(high)}</small>{exact}</td>")
        lines.append(f"<tr>{line}</tr>")
    return "\n".join(lines)


PAGE = """<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>hewn, side by side</title>
<style>
body {{
  font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 1500px; padding: 0 1em;
}}
img {{ max-width: 100%; }} table {{ border-collapse: collapse; font-size: 13px; }}
td, th {{ padding: 2px 9px; text-align: left; border-bottom: 1px solid #ddd; }}
th {{ position: sticky; top: 0; background: white; }} small {{ color: #555; }}
.faster {{ background: #e3f4e3; }} .slower {{ background: #fbe0de; }}
.equal {{ background: #f4f4f4; }}
</style>
<h1>hewn, side by side</h1>
<p>{machine}. {versions}.</p>
<p>Peers' columns in the table: hewn's speed over the peer's, the median over interleaved rounds
and its 95 % bootstrap interval. The pictures' lines are medians of each one's own times, and may
cross where the ratio of the rounds says otherwise. Reading is faster than copying: what reads more
than it writes may pass the limit.</p>
{images}
<h2>All rows</h2>
<table>{table}</table>
</html>
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    report = json.loads(arguments.report.read_text(encoding="utf-8"))
    arguments.folder.mkdir(parents=True, exist_ok=True)
    pictures = []
    for op in unique(r["op"] for r in report["rows"]):
        if roofline(report, op, arguments.folder / f"{op}.png"):
            pictures.append(f"{op}.png")
    if layouts(report, arguments.folder / "layouts.png"):
        pictures.append("layouts.png")
    if calls(report, arguments.folder / "calls.png"):
        pictures.append("calls.png")
    images = "\n".join(f'<p><img src="{name}" alt="{name}"></p>' for name in pictures)
    versions = ", ".join(f"{name} {version}" for name, version in report["versions"].items())
    page = PAGE.format(machine=html.escape(machine(report)), versions=html.escape(versions),
                       images=images, table=table(report))
    (arguments.folder / "index.html").write_text(page, encoding="utf-8")


main()
