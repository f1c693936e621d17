"""Measures the operators' own time in quantized models by ONNX Runtime's profiler, with its own CPU
provider and with hewn's. Both run the same optimized model on one thread, and the sessions take
turns. The time of a node is the tenth percentile of its times, because other load on the machine
only adds to them. Run it by

    PYTHONPATH=build/bindings/onnxruntime/python bindings/onnxruntime/tests/python.sh build/onnxruntime \\
        newest bench/bindings/onnxruntime_own_time.py "PP-OCRv4 det"... [--with @nudenet==3.4.2@]
"""

import collections
import json
import pathlib
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parents[2] / "bindings/onnxruntime/tests"))
import common  # noqa: E402
import numpy as np  # noqa: E402
import onnxruntime_ep_hewn as hewn  # noqa: E402
import quantized  # noqa: E402

OPERATORS = ("QuantizeLinear", "DequantizeLinear", "QLinearAdd", "QLinearMul")
TURNS, RUNS = 8, 8


def profile(make_session, model, image, folder):
    """Runs a session with profiling. Returns {(node, operator): its times in microseconds}."""
    options = common.session_options()
    options.enable_profiling = True
    options.profile_file_prefix = str(folder / "profile")
    session = make_session(model, options)
    feeds = {session.get_inputs()[0].name: image}
    for _ in range(RUNS):
        session.run(None, feeds)
    events = json.loads(pathlib.Path(session.end_profiling()).read_text(encoding="utf-8"))
    times = collections.defaultdict(list)
    for event in events:
        if event["name"].endswith("_kernel_time"):
            times[event["name"], event["args"]["op_name"]].append(event["dur"])
    return times


def own_times(name, form, folder):
    """Yields {operator: (number of nodes, their microseconds together)} for each provider."""
    path = quantized.quantize(name, form, folder)
    model = hewn._optimize(path, common.session_options(), folder)
    image = next(iter(quantized.crops(quantized.MODELS[name].size, 1, seed=7)))
    sessions = (common.on_cpu, lambda *given: common.on_hewn(*given, claim="all"))
    all_times = [collections.defaultdict(list) for _ in sessions]
    for _ in range(TURNS):
        for make_session, times in zip(sessions, all_times):
            for node, durations in profile(make_session, model, image, folder).items():
                times[node] += durations
    for times in all_times:
        sums = {operator: np.zeros(2) for operator in OPERATORS}
        for (_, operator), durations in times.items():
            if operator in sums:
                sums[operator] += [1, np.percentile(durations, 10)]
        yield sums


def main(arguments):
    for name in quantized.models_in(arguments):
        for form in ("QDQ", "QOperator"):
            with tempfile.TemporaryDirectory() as folder:
                cpu, hewns = own_times(name, form, pathlib.Path(folder))
            for sums in (cpu, hewns):
                sums["together"] = sum(sums.values())
            print(f"| {name}, {form} | nodes | ONNX Runtime | hewn | |\n|---|---|---|---|---|")
            for operator, (nodes, microseconds) in cpu.items():
                if nodes:
                    own = hewns[operator][1]
                    ratio = microseconds / own if own else float("nan")
                    print(f"| {operator} | {nodes:.0f} | {microseconds:,.0f} | {own:,.0f} | "
                          f"{ratio:.2f}x |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
