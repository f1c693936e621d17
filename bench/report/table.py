"""The rows of reports as a Markdown table: table.py [--threads N] REPORT... > table.md

A line is for an operator, signature and layout; a column is for a number of elements. An entry has
the ratio of hewn's speed to that of the best peer, its 95 % interval, that peer (with \\* if its
results are not exact), hewn's GB/s, and its share of the machine's limit. docs.py makes the
documents' tables with the functions of this file.

With --peers, a column is for a peer. An entry has hewn's speed divided by the peer's, for each number
of elements, and the 95 % interval if that is wide. """

import argparse
import json
import pathlib


def size_text(elements):
    for unit, name in ((1 << 20, "Mi"), (1 << 10, "Ki")):
        whole = round(elements / unit)
        # 4095 is shown as 4 Ki, because layouts of whole rows have a few elements less.
        if whole >= 1 and abs(elements / unit - whole) < 0.01:
            return f"{whole} {name}"
    return str(elements)


def best(row):
    """The facts that a table shows of a report's row, rounded as the table rounds them."""
    cell = {
        "op": row["op"].upper(),
        "signature": row["signature"],
        "layout": row["layout"],
        "elements": row["elements"],
        "gbps": round(row["hewn_gbps"]),
    }
    if not row["peers"]:
        return cell
    peer = min(row["peers"], key=lambda p: p["ratio"])
    return cell | {
        "limit": round(row["hewn_gbps"] / row["limit_gbps"], 2),
        "ratio": round(peer["ratio"], 2),
        "low": round(peer["ratio_low"], 2),
        "high": round(peer["ratio_high"], 2),
        "peer": peer["peer"],
        "exact": not peer["differing"],
    }


def entry(cell):
    if "peer" not in cell:
        return f"{cell['gbps']} GB/s"
    peer = cell["peer"] + ("" if cell["exact"] else "\\*")
    return (
        f"**{cell['ratio']:.2f}** {cell['low']:.2f}–{cell['high']:.2f} {peer}, "
        f"{cell['gbps']} GB/s, {cell['limit']:.0%}"
    )


def lines(cells, text=entry, layouts=True):
    """The table's lines. text(cell) is the text of an entry."""
    sizes = list(dict.fromkeys(size_text(n) for n in sorted({c["elements"] for c in cells})))
    kernels = {}
    for cell in cells:
        kernel = cell["op"], cell["signature"], cell["layout"]
        kernels.setdefault(kernel, {})[size_text(cell["elements"])] = text(cell)
    heads = ["operator", "layout"] if layouts else ["operator"]
    yield "| " + " | ".join(heads + sizes) + " |"
    yield "|" + "---|" * len(heads + sizes)
    for (op, signature, layout), entries in kernels.items():
        heads = [f"{op} `{signature}`", layout] if layouts else [f"{op} `{signature}`"]
        yield "| " + " | ".join(heads + [entries.get(size, "") for size in sizes]) + " |"


def read_rows(path, threads):
    rows = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["rows"]
    return [row for row in rows if row["threads"] == threads]


def read_report(path, threads):
    return [best(row) for row in read_rows(path, threads)]


def ratio_text(ratio):
    return f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.0f}"


def peer_entry(peer):
    text = ratio_text(peer["ratio"]) + ("\\*" if peer["differing"] else "")
    if peer["ratio_high"] - peer["ratio_low"] > 0.2 * peer["ratio"]:
        text += f" ({ratio_text(peer['ratio_low'])} to {ratio_text(peer['ratio_high'])})"
    return text


def peer_lines(rows):
    """The lines of the table with a column for each peer, for a report's dense rows."""
    rows = [row for row in rows if row["layout"] == "dense"]
    peers = list(dict.fromkeys(p["peer"] for row in rows for p in row["peers"]))
    sizes = " / ".join(size_text(n) for n in sorted({row["elements"] for row in rows}))
    yield "| " + " | ".join([f"{sizes} elements", "hewn, GB/s", *peers]) + " |"
    yield "|" + "---|" * (len(peers) + 2)
    kernels = {}
    for row in sorted(rows, key=lambda row: row["elements"]):
        entries = kernels.setdefault((row["op"], row["signature"]), {"hewn": []})
        entries["hewn"].append(f"{row['hewn_gbps']:.3g}")
        for peer in row["peers"]:
            entries.setdefault(peer["peer"], []).append(peer_entry(peer))
    for (op, signature), entries in kernels.items():
        cells = [" / ".join(entries.get(name, [])) for name in ["hewn", *peers]]
        yield f"| {op.upper()} `{signature}` | " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reports", nargs="+", metavar="REPORT", help="written by compare --report")
    parser.add_argument("--threads", type=int, default=1, help="only rows of this many threads")
    parser.add_argument("--peers", action="store_true", help="a column for each peer")
    options = parser.parse_args()
    if options.peers:
        rows = [row for r in options.reports for row in read_rows(r, options.threads)]
        print(*peer_lines(rows), sep="\n")
        return
    print(*lines([c for r in options.reports for c in read_report(r, options.threads)]), sep="\n")


if __name__ == "__main__":
    main()
