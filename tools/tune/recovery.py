"""A benchmark of the tuner. It starts QUANTIZE_LINEAR f32_u8 with bad knobs (vectors of 4 lanes,
one for each step), and measures how much of the present speed a run of the tuner recovers.

    recovery.py BUILD-FOLDER CPU SECONDS

Prints the ratio of the present time to the recovered time, with its interval. 1 means that all was
recovered. Fails if the upper end of the interval is below 0.95."""

import sys
import tempfile
import time

import jobs
import kernels
import search

BAD = kernels.knob_tuple({"width": 4, "vector": 1, "tail": "masked"})


def main(folder, cpu, budget):
    build = kernels.Build(folder)
    kernel = next(k for k in kernels.picked(build, *kernels.this_machine(build))
                  if (k.operator, k.signature) == ("quantize_linear", "f32_u8")
                  and (k.form == "reciprocal" or len(build.forms(k)) == 1))
    with tempfile.TemporaryDirectory() as scratch:
        engine, runner = jobs.LocalEngine(), f"local:{cpu}"
        started = search.Search(build, kernel, engine, scratch, runner, start=BAD)
        outcome = started.run(time.monotonic() + float(budget))
        found = outcome["adopted"]["knobs"] if outcome["adopted"] else BAD
        present = search.Search(build, kernel, engine, scratch, runner)
        engine.build_all([present.call(present.incumbent), present.call(found)])
        result = present.measure([present.library(present.incumbent), present.library(found)],
                                 search.FINAL_ROUNDS)
        median, low, high = search.median_interval(search.gains(result, 1)[0])
    print(f"{kernel.name}: {len(outcome['tried'])} candidates, found {kernels.knob_text(found)}")
    print(f"recovered {median:.3f} ({low:.3f} to {high:.3f}) of the speed of "
          f"{kernels.knob_text(present.incumbent)}")
    return 0 if high >= 0.95 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
