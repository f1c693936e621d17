"""Tells whether this build is slower than another one: gate.py ROWS.json... (bench/gate.sh runs
it).

Each file has the rows that `compare` wrote with --baseline and --json. A row counts as slower if
the upper end of its interval lies below 1 - NOISE in every file. Prints these rows. The exit status
is 1 if there are any, and 2 if the files have no rows of a baseline or have different rows."""

import json
import sys

# Two builds of the same code can differ by this much in small calls, because the linker puts
# functions at other addresses, and because of other load between two rounds (bench/README.md,
# "Before and after").
NOISE = 0.03
KEYS = ("op", "signature", "layout", "elements", "threads")


def baseline_rows(path):
    with open(path, encoding="utf-8") as file:
        rows = json.load(file)
    return {tuple(row[key] for key in KEYS): row for row in rows if row["peer"] == "baseline"}


def fallen(reports):
    """The rows that are slower in all reports, by more than noise, each with its row in every
    report."""
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
