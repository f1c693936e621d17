"""Measures nodes and whole models in ONNX Runtime, with its own CPU provider and with hewn's. It
uses one thread and the thread's own clock. The providers take short turns, and a ratio is the
median of the ratios of the turns, because other load on the machine slows both providers in a turn.
The results are written as JSON for bench/report/docs.py. Run it by

    PYTHONPATH=build/bindings/onnxruntime/python bindings/onnxruntime/tests/python.sh build/onnxruntime \\
        newest bench/bindings/onnxruntime_nodes.py MACHINE docs/measurements/onnxruntime.json
"""

import datetime
import json
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).parents[2] / "bindings/onnxruntime/tests"))
import common  # noqa: E402
import numpy as np  # noqa: E402
import onnxruntime as ort  # noqa: E402
import onnxruntime_ep_hewn as hewn  # noqa: E402
import quantized  # noqa: E402
from common import Level  # noqa: E402
from onnx import helper  # noqa: E402

SIZES = [16, 4 << 10, 64 << 10, 1 << 20]
# The constants of the nodes. QLinearAdd can be folded with the output scale `ys`, but not with
# `other`.
CONSTANTS = {
    "s": np.float32(0.0217),
    "z": np.uint8(131),
    "bs": np.float32(0.0331),
    "bz": np.uint8(117),
    "ys": np.float32(0.0517),
    "other": np.float32(0.04),
}


def quantize_and_dequantize(x, y):
    yield helper.make_node("QuantizeLinear", [x, "s", "z"], [x + "_q"])
    yield helper.make_node("DequantizeLinear", [x + "_q", "s", "z"], [y])


def quantize_dynamically(x, y):
    names = [x + "_q", x + "_s", x + "_z"]
    yield helper.make_node("DynamicQuantizeLinear", [x], names)
    yield helper.make_node("DequantizeLinear", names, [y])


def add(x, y):
    yield helper.make_node("Add", [x, "b"], [y])


def quantized_node(op, scale="ys"):
    def node(x, y):
        inputs = [x, "s", "z", "b", "bs", "bz", scale, "z"]
        yield helper.make_node(op, inputs, [y], domain=common.MICROSOFT)

    return node


# (name, function that makes the nodes of a link, type of the tensors between links)
CHAINS = [
    ("Quantize-, DequantizeLinear, u8", quantize_and_dequantize, np.float32),
    ("DynamicQuantize-, DequantizeLinear", quantize_dynamically, np.float32),
    ("Add, f32", add, np.float32),
    ("QLinearAdd, u8", quantized_node("QLinearAdd"), np.uint8),
    ("QLinearAdd, not folded", quantized_node("QLinearAdd", "other"),
     np.uint8),
    ("QLinearMul, u8", quantized_node("QLinearMul"), np.uint8),
]


def chain(link, dtype, elements, links):
    """A model of many links in a row, and its inputs. Each link reads the output of the one before,
    and `b` if it has two operands."""
    nodes = [node for i in range(links) for node in link(f"x{i}", f"x{i + 1}")]
    used = {name for node in nodes for name in node.input}
    rng = np.random.default_rng(1)
    inputs = [name for name in ("x0", "b") if name in used]
    feeds = {name: (rng.random(elements) * 100).astype(dtype) for name in inputs}
    model = common.model(
        nodes,
        [(name, dtype, [elements]) for name in feeds],
        [(f"x{links}", dtype, [elements])],
        {name: value for name, value in CONSTANTS.items() if name in used},
    )
    return model, feeds


def time_in_turns(calls, turns):
    """The nanoseconds of each call in each turn: an array [turn, call]. Two more turns come first
    and do not count."""
    taken = np.empty((turns + 2, len(calls)))
    for turn in taken:
        for i, call in enumerate(calls):
            begin = time.thread_time_ns()
            call()
            turn[i] = time.thread_time_ns() - begin
    return taken[2:]


def node_times(link, dtype, elements):
    """The nanoseconds of a node on the CPU provider, and how many times as fast it is on hewn's.
    The time of a node is the difference between a long chain and a chain of one link, so that the
    cost of a run is not part of it."""
    links = 17 if elements > 1 << 16 else 33
    calls = []
    for count in (1, links):
        model, feeds = chain(link, dtype, elements, count)
        options = common.session_options(Level.ORT_DISABLE_ALL)
        for session in (common.on_cpu(model, options), common.alone(model)):
            calls.append(lambda s=session, f=feeds: s.run(None, f))
    taken = time_in_turns(calls, 2001 if elements <= 4 << 10 else 61)
    nodes = (links - 1) * len(list(link("x", "y")))
    cpu, on_hewn = ((taken[:, i + 2] - taken[:, i]) / nodes for i in (0, 1))
    return float(np.median(cpu)), float(np.median(cpu / on_hewn))


def measure_nodes():
    for name, link, dtype in CHAINS:
        for elements in SIZES:
            cpu, ratio = node_times(link, dtype, elements)
            print(f"{name}, {elements}: {cpu:.0f} ns, with hewn {ratio:.2f}x", flush=True)
            yield {"name": name, "elements": elements, "onnxruntime_ns": round(cpu),
                   "ratio": round(ratio, 3)}


def measure_models():
    for name, about in quantized.MODELS.items():
        try:
            quantized.path_of(about)
        except AttributeError:  # its package is not installed
            continue
        for form in ("QDQ", "QOperator"):
            with tempfile.TemporaryDirectory() as folder:
                path = quantized.quantize(name, form, pathlib.Path(folder))
                sessions = [common.on_cpu(path),
                            hewn.InferenceSession(path, common.session_options),
                            common.on_hewn(path)]
            image = next(quantized.crops(about.size, 1, seed=7))
            feeds = {sessions[0].get_inputs()[0].name: image}
            calls = [lambda s=session: s.run(None, feeds) for session in sessions]
            taken = time_in_turns(calls, 61)
            first, direct = (float(np.median(taken[:, 0] / taken[:, i])) for i in (1, 2))
            row = {"name": f"{name}, {form}", "nodes": len(common.taken_nodes(sessions[1])),
                   "ms": round(float(np.median(taken[:, 0])) / 1e6, 2),
                   "optimized_first": round(first, 3), "direct": round(direct, 3)}
            print(row, flush=True)
            yield row


def main(machine, file):
    git = ["git", "-C", pathlib.Path(__file__).parent, "rev-parse", "--short=7", "HEAD"]
    about = {"machine": machine, "date": datetime.date.today().isoformat(),
             "commit": subprocess.check_output(git, text=True).strip(),
             "onnxruntime": ort.__version__, "nodes": list(measure_nodes()),
             "models": list(measure_models())}
    pathlib.Path(file).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
