"""Whether this build is slower than another: gate.py ROWS.json...

Each file holds the rows that compare wrote with --baseline and --json. A row has fallen if in every
file the upper end of its interval lies below 1 - NOISE. Prints such rows; exit status 1 if there
are any, 2 if the files hold no row of a baseline or not the same ones."""

import json
import sys

# Two builds of the same code differ by so much in small calls: where the linker puts functions, and
# what else the machine does between two rounds (bench/README.md, "Before and after").
NOISE = 0.03
KEYS = ("op", "signature", "layout", "elements", "threads")


def baseline_rows(path):
    with open(path, encoding="utf-8") as file:
        rows = json.load(file)
    return {tuple(row[key] for key in KEYS): row for row in rows if row["peer"] == "baseline"}


def fallen(reports):
    """The rows that are below noise in all reports, with their ratios in each."""
    for key in reports[0]:
        rows = [report[key] for report in reports]
        if all(row["ratio_high"] < 1 - NOISE for row in rows):
            yield key, rows


def main(paths):
    reports = [baseline_rows(path) for path in paths]
    if not reports or not reports[0] or any(r.keys() != reports[0].keys() for r in reports):
        print("gate: the files hold no rows of a baseline, or not the same ones", file=sys.stderr)
        return 2
    slower = list(fallen(reports))
    for key, rows in slower:
        ratios = ", ".join(f"{r['ratio']:.2f} ({r['ratio_low']:.2f} to {r['ratio_high']:.2f})"
                           for r in rows)
        print("SLOWER  " + " ".join(map(str, key[:4])) + f" elements, {key[4]} thread(s): {ratios}")
    print(f"gate: {len(slower)} of {len(reports[0])} rows are slower than the baseline")
    return bool(slower)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
