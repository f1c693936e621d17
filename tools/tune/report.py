"""The report of a tuning run: a table, a picture of every candidate, and a page with both."""

import html
import json

from kernels import knob_text


def table(outcomes):
    """Rows of text: before and after at each size, and what was decided why."""
    lines = [f"{'kernel':<58} {'gain':>6} {'95 %':>15}  decision"]
    for outcome in outcomes:
        leader = outcome["adopted"] or max(outcome["finalists"], key=lambda f: f["gain"], default=None)
        if leader is None:
            lines.append(f"{outcome['kernel']:<58} {'':>6} {'':>15}  kept: no candidate gives the right bits")
            continue
        interval = f"{leader['low']:.3f} to {leader['high']:.3f}"
        why = f"adopted: {knob_text(leader['knobs'])}" if outcome["adopted"] else f"kept: {knob_text(outcome['incumbent'])}"
        if not outcome["adopted"] and leader["slower_at"]:
            why += f" (the best candidate is slower at {leader['slower_at']})"
        lines.append(f"{outcome['kernel']:<58} {leader['gain']:>6.3f} {interval:>15}  {why}")
        for p in leader["GB/s"] if outcome["adopted"] else []:
            lines.append(f"    {p['layout']:<14} {p['elements']:>9} elements  {p['before']:>8.2f} -> {p['after']:>8.2f} GB/s"
                         f"  spread {p['spread']:.1%}")
    return lines


def counts(outcome):
    tally = {}
    for entry in outcome["tried"]:
        tally[entry["status"]] = tally.get(entry["status"], 0) + 1
    return ", ".join(f"{count} {status}" for status, count in sorted(tally.items()))


def draw(outcomes, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(len(outcomes), 2, figsize=(11, 3.2 * len(outcomes)), squeeze=False, layout="constrained")
    for (left, right), outcome in zip(axes, outcomes):
        timed = [e["gain"] for e in outcome["tried"] if e["status"] == "timed"]
        frontier = [max(timed[: i + 1]) for i in range(len(timed))]
        left.plot(range(1, len(timed) + 1), timed, ".", color="#8c8c8c", label="candidates")
        left.step(range(1, len(timed) + 1), frontier, color="#d62728", where="post", label="best so far")
        left.axhline(1, color="black", linewidth=0.8)
        left.set(title=outcome["kernel"], xlabel=f"candidate ({counts(outcome)})", ylabel="gain over the incumbent")
        left.legend(fontsize=7)
        leader = outcome["adopted"] or max(outcome["finalists"], key=lambda f: f["gain"], default=None)
        rows = leader["GB/s"] if leader else outcome["present"]
        names = [f"{p['layout']}\n{p['elements']}" for p in rows]
        right.bar([i - 0.2 for i in range(len(rows))], [p["before"] for p in rows], 0.4, color="#8c8c8c", label="before")
        right.bar([i + 0.2 for i in range(len(rows))], [p["after"] for p in rows], 0.4, color="#d62728",
                  label="after" if outcome["adopted"] else "best candidate (not adopted)")
        right.set_xticks(range(len(rows)), names, fontsize=7)
        right.set(ylabel="GB/s", title="adopted" if outcome["adopted"] else "kept as it was")
        right.legend(fontsize=7)
    figure.savefig(path, dpi=110)


def write(outcomes, provenance, folder):
    """report.json, candidates.png and index.html in `folder`. Returns the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(json.dumps({"provenance": provenance, "outcomes": outcomes}, indent=1))
    draw(outcomes, folder / "candidates.png")
    body = ["<!doctype html><meta charset=utf-8><title>hewn: tuning</title><style>body{font-family:sans-serif}td{padding:0 1em}</style>",
            f"<h1>Tuning</h1><p>{html.escape(', '.join(f'{k}: {v}' for k, v in provenance.items()))}</p>",
            "<pre>" + html.escape("\n".join(table(outcomes))) + "</pre><img src=candidates.png>"]
    for outcome in outcomes:
        body.append(f"<h2>{html.escape(outcome['kernel'])}</h2><p>{outcome['strategy']}: {counts(outcome)}</p><table>")
        for entry in sorted(outcome["tried"], key=lambda e: -e.get("gain", 0)):
            what = f"{entry['gain']:.3f}" if entry["status"] == "timed" else entry["status"]
            why = entry.get("message", "")
            body.append(f"<tr><td>{what}<td>{html.escape(knob_text(entry['knobs']))}<td>{html.escape(why)}")
        body.append("</table>")
    page = folder / "index.html"
    page.write_text("\n".join(body) + "\n")
    return page
