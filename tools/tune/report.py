"""The report of a tuning run: a table of text for the terminal, and an HTML page. The page has
every candidate, the speeds before and after, and the comparison with the defaults and Halide's
autoschedulers."""

import html
import json

import autoschedulers
from kernels import knob_text, write_atomically

GREY, RED, GREEN = "#8c8c8c", "#d62728", "#2ca02c"
STYLE = """
body {
  font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 68rem; margin: 2rem auto;
  padding: 0 1rem
}
h1 { margin-bottom: 0 } h2 { margin-top: 2.5rem; border-bottom: 1px solid #ddd }
img { max-width: 100% }
table { border-collapse: collapse; font-size: 13px } th { text-align: left }
td, th { padding: 1px 12px 1px 0; vertical-align: top }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.facts { color: #666 } .cards { display: flex; gap: 1rem; flex-wrap: wrap }
.cards div { background: #f4f4f2; border-radius: 6px; padding: .6rem 1.2rem }
.cards b { font-size: 1.6rem; display: block }
details { margin: .4rem 0 } summary { cursor: pointer } code { background: #f4f4f2 }
.adopted { color: #1c7c1c } .slower { color: #c00 }
"""


def leader_of(outcome):
    """The candidate that was adopted, or else the best one, or None."""
    return outcome["adopted"] or max(outcome["finalists"], key=lambda f: f["gain"], default=None)


def table(outcomes):
    """Lines of text: for each kernel what was decided and why, and for adopted knobs the speeds
    before and after at each size."""
    lines = [f"{'kernel':<58} {'gain':>6} {'95 %':>15}  decision"]
    for outcome in outcomes:
        leader = leader_of(outcome)
        if leader is None:
            lines.append(
                f"{outcome['kernel']:<58} {'':>6} {'':>15}  kept: no candidate gives the right "
                "bits by other code")
            continue
        interval = f"{leader['low']:.3f} to {leader['high']:.3f}"
        lines.append(
            f"{outcome['kernel']:<58} {leader['gain']:>6.3f} {interval:>15}  {decision(outcome)}")
        for p in leader["GB/s"] if outcome["adopted"] else []:
            lines.append(
                f"    {place(p):<45} {p['before']:>8.2f} -> {p['after']:>8.2f} GB/s  spread "
                f"{p['spread']:.1%}")
    return lines


def decision(outcome):
    leader = leader_of(outcome)
    if outcome["adopted"]:
        return f"adopted: {knob_text(leader['knobs'])}"
    slower = ""
    if leader and leader["slower_at"]:
        slower = f" (the best candidate is slower at {leader['slower_at']})"
    return f"kept: {knob_text(outcome['incumbent'])}{slower}"


def place(problem):
    threads = "" if problem["threads"] == 1 else ", all threads"
    return f"{problem['layout']}, {problem['elements']} elements{threads}"


def counts(outcome):
    """{status: the number of candidates that have it}"""
    tally = {}
    for entry in outcome["tried"]:
        tally[entry["status"]] = tally.get(entry["status"], 0) + 1
    return tally


# ---- Pictures ----


def plots():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot

    return matplotlib.pyplot


def draw_gains(outcomes, path):
    """Draws the gain of each kernel's best candidate with its interval."""
    plt = plots()
    rows = [(outcome, leader_of(outcome)) for outcome in reversed(outcomes) if leader_of(outcome)]
    figure, axes = plt.subplots(figsize=(9, 1.2 + 0.24 * len(rows)), layout="constrained")
    for y, (outcome, best) in enumerate(rows):
        color = GREEN if outcome["adopted"] else GREY
        axes.plot([best["low"], best["high"]], [y, y], color=color, linewidth=2)
        axes.plot(best["gain"], y, "o", color=color, markersize=5)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.axvline(1.02, color=RED, linewidth=0.8, linestyle=":")
    axes.set_yticks(range(len(rows)), [outcome["kernel"] for outcome, _ in rows], fontsize=7)
    axes.set(xlabel="speed of the best candidate over the incumbent's, 95 % interval; green: "
                    "adopted", ylim=(-1, len(rows)))
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_search(outcome, path):
    """Draws the gains of a kernel's candidates in the order of the search, and the speeds before
    and after."""
    plt = plots()
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3), layout="constrained")
    timed = [entry["gain"] for entry in outcome["tried"] if entry["status"] == "timed"]
    left.plot(range(1, len(timed) + 1), timed, ".", color=GREY, label="candidates")
    left.step(range(1, len(timed) + 1), [max(timed[: i + 1]) for i in range(len(timed))],
              color=RED, where="post", label="best so far")
    left.axhline(1, color="black", linewidth=0.8)
    left.set(xlabel="candidate timed", ylabel="gain over the incumbent, screened")
    left.legend(fontsize=7)
    leader = leader_of(outcome)
    rows = leader["GB/s"] if leader else []
    right.bar([i - 0.2 for i in range(len(rows))], [p["before"] for p in rows], 0.4, color=GREY,
              label="before")
    right.bar([i + 0.2 for i in range(len(rows))], [p["after"] for p in rows], 0.4,
              color=GREEN if outcome["adopted"] else "#c8c8c8",
              label="after" if outcome["adopted"] else "best candidate, not adopted")
    right.set_xticks(range(len(rows)), [place(p).replace(" elements", "").replace(", ", "\n")
                                        for p in rows], fontsize=6)
    right.set(ylabel="GB/s")
    right.legend(fontsize=7)
    figure.savefig(path, dpi=90)
    plt.close(figure)


def draw_map(rows, columns, cells, path, label):
    """Draws a map of cells, {(row, column): (value, text)}. Values above 1 are green, below 1
    red."""
    plt = plots()
    figure, axes = plt.subplots(figsize=(3.6 + 1.1 * len(columns), 1.1 + 0.24 * len(rows)),
                                layout="constrained")
    values = [[cells.get((r, c), (float("nan"), ""))[0] for c in columns] for r in rows]
    axes.imshow(values, cmap="RdYlGn", vmin=0.5, vmax=1.5, aspect="auto")
    for (r, c), (value, text) in cells.items():
        axes.text(columns.index(c), rows.index(r), text, ha="center", va="center", fontsize=7,
                  color="black" if 0.6 < value < 1.4 else "white")
    axes.set_xticks(range(len(columns)), columns, fontsize=7)
    axes.set_yticks(range(len(rows)), rows, fontsize=7)
    axes.set_title(label, fontsize=9)
    figure.savefig(path, dpi=110)
    plt.close(figure)


# ---- The page ----


def cell(text, kind=""):
    return f"<td class='{kind}'>{html.escape(str(text))}"


def facts(outcome):
    text = ", ".join(f"{key}: {value}" for key, value in outcome["provenance"].items())
    return f"<p class=facts>{html.escape(text)}</p>"


def tuned_sections(outcomes, folder):
    """Lines of HTML for the outcomes of searches. Draws their pictures into the folder."""
    draw_gains(outcomes, folder / "gains.png")
    total = {status: sum(counts(outcome).get(status, 0) for outcome in outcomes)
             for status in ("timed", "same", "refused", "wrong")}
    adopted = sum(bool(outcome["adopted"]) for outcome in outcomes)
    cards = [(len(outcomes), "kernels searched"), (adopted, "got new knobs"),
             (sum(total.values()), "candidates"), (total["timed"], "timed"),
             (total["same"], "the code of another"),
             (total["refused"], "refused by the generator"), (total["wrong"], "wrong, never timed")]
    yield "<div class=cards>" + "".join(f"<div><b>{number}</b>{what}</div>"
                                        for number, what in cards) + "</div>"
    yield "<h2>Gain of each kernel</h2><img src=gains.png>"
    yield "<table><tr><th>kernel<th>gain<th>95 %<th>decision"
    for outcome in outcomes:
        leader = leader_of(outcome)
        gain, interval = (f"{leader['gain']:.3f}",
                          f"{leader['low']:.3f}–{leader['high']:.3f}") if leader else ("", "")
        yield ("<tr>" + cell(outcome["kernel"]) + cell(gain, "number") + cell(interval, "number")
               + cell(decision(outcome), "adopted" if outcome["adopted"] else ""))
    yield "</table><h2>Every candidate</h2>"
    for i, outcome in enumerate(outcomes):
        name = outcome["kernel"]
        tally = ", ".join(f"{count} {status}" for status, count in sorted(counts(outcome).items()))
        draw_search(outcome, folder / f"{name}.png")
        yield (f"<details{'' if i else ' open'}><summary>{name}: {outcome['strategy']}, {tally}"
               f"</summary>{facts(outcome)}")
        yield f"<img loading=lazy src='{name}.png'><table>"
        for entry in sorted(outcome["tried"], key=lambda entry: (entry["status"] != "timed",
                                                                 -(entry.get("gain") or 0))):
            what = f"{entry['gain']:.3f}" if entry["status"] == "timed" else entry["status"]
            yield ("<tr>" + cell(what, "number") + cell(knob_text(entry["knobs"]))
                   + cell(entry.get("message", "")))
        yield "</table></details>"


def compared_sections(compared, folder):
    """Lines of HTML for comparisons (autoschedulers.compare). Draws their pictures into the
    folder."""
    changed = [c for c in compared if c["sizes"]]
    yield "<h2>Present knobs and defaults at every size</h2>"
    yield ("<p>Defaults: what a target without a tuning file has, or the tuning files that "
           "<code>--against</code> named.</p>")
    slower = [f"{c['kernel']} ({place(row)})" for c in changed
              for row in c["sizes"] if row["slower"]]
    yield (f"<p>{len(changed)} of {len(compared)} kernels differ from the defaults. Slower than "
           "those beyond noise: "
           f"<b class={'slower' if slower else 'adopted'}>"
           f"{html.escape(', '.join(slower)) or 'none'}</b>.</p>")
    if changed:
        column = lambda row: f"{row['elements']}{'' if row['threads'] == 1 else ' all thr.'}"
        # A kernel timed in two layouts has a row for each.
        cells = {(f"{c['kernel']} {row['layout']}",
                  column(row)): (row["gain"][0], f"{row['gain'][0]:.2f}")
                 for c in changed for row in c["sizes"]}
        columns = sorted({c for _, c in cells},
                         key=lambda name: (" " in name, int(name.split()[0])))
        draw_map(list(dict.fromkeys(r for r, _ in cells)), columns, cells, folder / "sizes.png",
                 "present / default speed, by elements")
        yield ("<img src=sizes.png><details><summary>with intervals</summary><table>"
               "<tr><th>kernel<th>where<th>speed<th>95 %<th>GB/s")
        for c in changed:
            for row in c["sizes"]:
                gain, low, high = row["gain"]
                yield ("<tr>" + cell(c["kernel"]) + cell(place(row)) + cell(f"{gain:.3f}", "number")
                       + cell(f"{low:.3f}–{high:.3f}",
                              "number") + cell(f"{row['before']} → {row['after']}", "number"))
        yield "</table></details>"
    yield "<h2>Autoschedulers</h2>"
    yield ("<p>Halide's, each given one layout and long rows, beside the present knobs: speed on 4 "
           "Ki to 1 Mi elements (1: as fast), × where "
           "something breaks. anderson2021, which schedules GPUs, was not run.</p>")
    scheduled = [c for c in compared if len(c["rows"]) > 2]
    names = ["default", *autoschedulers.AUTOSCHEDULERS]
    cells = {(c["kernel"], row["name"]): (row["gain"],
                                          f"{row['gain']:.2f}{' ×' if row['fault'] else ''}")
             for c in scheduled for row in c["rows"] if row["name"] in names and "gain" in row}
    if cells:
        draw_map([c["kernel"] for c in scheduled], names, cells, folder / "autoschedulers.png",
                 "speed / present knobs' speed")
        yield "<img src=autoschedulers.png>"
    yield "<details><summary>with intervals, compile times, sizes and faults</summary><table>"
    yield "<tr><th>kernel<th>schedule<th>speed<th>95 %<th>compile<th>bytes<th>"
    for c in compared:
        for row in c["rows"]:
            speed = (f"{row['gain']:.2f}",
                     f"{row['low']:.2f}–{row['high']:.2f}") if "gain" in row else ("", "")
            yield ("<tr>" + cell(c["kernel"]) + cell(row["name"]) + cell(speed[0], "number")
                   + cell(speed[1], "number")
                   + cell(f"{row['seconds']:.1f} s", "number")
                   + cell(f"{row['bytes']:+d}" if "bytes" in row else "",
                          "number") + cell(row["fault"]))
    yield "</table></details>"


def write(folder, provenance, tuned=(), compared=()):
    """Adds the outcomes to those that the folder has from earlier runs (outcomes.json), and writes
    the page anew. Returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "outcomes.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"tuned": {},
                                                                                "compared": {}}
    for section, outcomes in (("tuned", tuned), ("compared", compared)):
        known[section] |= {outcome["kernel"]: {**outcome, "provenance": provenance}
                           for outcome in outcomes}
    write_atomically(path, json.dumps(known, indent=1))
    # Each run is described once.
    runs = dict.fromkeys(facts(outcome) for section in known.values()
                         for outcome in section.values())
    body = [f"<!doctype html><meta charset=utf-8><title>hewn: "
            f"tuning</title><style>{STYLE}</style>", "<h1>Tuning</h1>", *runs]
    if known["tuned"]:
        body += tuned_sections(list(known["tuned"].values()), folder)
    if known["compared"]:
        body += compared_sections(list(known["compared"].values()), folder)
    page = folder / "index.html"
    page.write_text("\n".join(body) + "\n", encoding="utf-8")
    return page
