"""The rows of reports as a Markdown table: table.py [--threads N] REPORT... > table.md

A line is an operator, signature and layout; a column is a number of elements. An entry has hewn's
speed over that of the best peer, its 95 % interval, that peer, hewn's GB/s and its share of the
machine's limit."""

import argparse
import json


def size_text(elements):
    for unit, name in ((1 << 20, "Mi"), (1 << 10, "Ki")):
        # 4095 is 4 Ki, 1500 is not 1.
        if round(elements / unit) >= 1 and abs(elements / unit - round(elements / unit)) < 0.01:
            return f"{round(elements / unit)} {name}"
    return str(elements)


def entry(row):
    if not row["peers"]:
        return f"{row['hewn_gbps']:.0f} GB/s"
    peer = min(row["peers"], key=lambda p: p["ratio"])
    share = row["hewn_gbps"] / row["limit_gbps"]
    inexact = "\\*" if peer["differing"] else ""
    return (f"**{peer['ratio']:.2f}** {peer['ratio_low']:.2f}–{peer['ratio_high']:.2f} "
            f"{peer['peer']}{inexact}, "
            f"{row['hewn_gbps']:.0f} GB/s, {share:.0%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reports", nargs="+", metavar="REPORT", help="written by compare --report")
    parser.add_argument("--threads", type=int, default=1, help="only rows of this many threads")
    options = parser.parse_args()
    lines, sizes = {}, set()
    for name in options.reports:
        with open(name, encoding="utf-8") as file:
            for row in json.load(file)["rows"]:
                if row["threads"] != options.threads:
                    continue
                size = size_text(row["elements"])
                sizes.add((row["elements"], size))
                operator = row["op"].upper(), row["signature"], row["layout"]
                lines.setdefault(operator, {})[size] = entry(row)
    columns = list(dict.fromkeys(size for _, size in sorted(sizes)))
    print("| operator | layout | " + " | ".join(columns) + " |")
    print("|---|---|" + "---|" * len(columns))
    for (operator, signature, layout), entries in lines.items():
        print(f"| {operator} `{signature}` | {layout} | "
              + " | ".join(entries.get(size, "") for size in columns) + " |")


if __name__ == "__main__":
    main()
