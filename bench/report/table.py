"""The rows of reports as a Markdown table: table.py [--threads N] REPORT... > table.md

A line is for an operator, signature and layout; a column is for a number of elements. An entry has
the ratio of hewn's speed to that of the best peer, its 95 % interval, that peer (with \\* if its
results are not exact), hewn's GB/s, and its share of the machine's limit. docs.py makes the
documents' tables with the functions of this file. """

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


def read_report(path, threads):
    rows = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["rows"]
    return [best(row) for row in rows if row["threads"] == threads]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reports", nargs="+", metavar="REPORT", help="written by compare --report")
    parser.add_argument("--threads", type=int, default=1, help="only rows of this many threads")
    options = parser.parse_args()
    print(*lines([c for r in options.reports for c in read_report(r, options.threads)]), sep="\n")


if __name__ == "__main__":
    main()
