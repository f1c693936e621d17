"""Tests of real models, quantized here: which nodes hewn has; whether their results are the
formula's; how the outputs compare with ONNX Runtime's CPU provider, whose QLinearAdd and QLinearMul
are off by one at some ties; how long a run takes.

    models_test.py NAME...     names of quantized.MODELS"""

import collections
import pathlib
import sys
import tempfile
import time

import common
import numpy as np
import onnx
import onnxruntime_ep_hewn as hewn
import quantized
from common import Level

ROUNDS = 15
# The least number of nodes on hewn, of the model as the CPU provider optimizes it.
LEAST = {"PP-OCRv4 det": 250, "PP-OCRv4 rec": 300, "PP-OCR cls": 108, "YOLOv8n": 100}


def feeds(session, image):
    return {session.get_inputs()[0].name: image}


def differing(a, b):
    """The number of elements that differ between two sessions' outputs."""
    return sum(int((x != y).sum()) for x, y in zip(a, b))


def by_formula(op, v):
    """The output of QLinearAdd or QLinearMul for these inputs."""
    a, b = ((v[k].astype(np.float32) - np.float32(v[k + 2])) for k in (0, 3))
    if op == "QLinearAdd":
        y = (a * v[1] + b * v[4]) / v[6]
    else:
        y = a * b * (v[1] * v[4] / v[6])
    info = np.iinfo(v[7].dtype)
    return np.clip(np.rint(y) + np.float32(v[7]), info.min, info.max).astype(v[7].dtype)


def beside_the_formula(path, image):
    """The number of elements that differ from the formula in the outputs of all QLinearAdd and
    QLinearMul on hewn."""
    model = onnx.load(path)
    values = {i.name: onnx.numpy_helper.to_array(i) for i in model.graph.initializer}
    nodes = [n for n in model.graph.node if n.op_type in ("QLinearAdd", "QLinearMul")]
    shown = {name for n in nodes for name in (*n.input, *n.output)} - set(values)
    shown -= {y.name for y in model.graph.output}
    model.graph.output.extend(map(onnx.helper.make_empty_tensor_value_info, sorted(shown)))
    session = common.on_hewn(model, common.session_options(Level.ORT_DISABLE_ALL), claim="all")
    names = [y.name for y in session.get_outputs()]
    values |= zip(names, session.run(None, feeds(session, image)))
    wrong = 0
    for node in nodes:
        right = by_formula(node.op_type, [values[name] for name in node.input])
        wrong += int((values[node.output[0]] != right).sum())
    return wrong


def times(sessions, image):
    """The medians of the calling thread's time in ms. The sessions take turns."""
    taken = [[] for _ in sessions]
    for _ in range(ROUNDS):
        for session, list_ in zip(sessions, taken):
            begin = time.thread_time()
            session.run(None, feeds(session, image))
            list_.append((time.thread_time() - begin) * 1e3)
    return [float(np.median(list_)) for list_ in taken]


def check(name, form, folder):
    path = quantized.quantize(name, form, folder)
    images = list(quantized.crops(quantized.MODELS[name].size, 3, seed=7))
    optimized = hewn._optimize(path, common.session_options(), folder)
    plain = common.session_options
    cpu = common.on_cpu(path)
    first = hewn.InferenceSession(path, plain)
    exact = hewn.InferenceSession(path, plain, operators="Add,QuantizeLinear,DequantizeLinear")
    direct = common.on_hewn(path)

    def differ(session):
        """The number of elements in which the session differs from the CPU provider."""
        ran = [[s.run(None, feeds(s, x)) for x in images] for s in (session, cpu)]
        return sum(map(differing, *ran))

    counts = collections.Counter(common.taken_nodes(first))
    wrong, others = beside_the_formula(optimized, images[0]), differ(exact)
    in_turns = times((cpu, first, direct), images[0])
    first_speed, direct_speed = (in_turns[0] / each for each in in_turns[1:])
    print(f"{name}, {form}: {counts.total()} nodes on hewn {dict(counts)}; {wrong} results beside "
          f"the formula; {differ(first)} outputs are others than the CPU provider's, {others} "
          f"without QLinearAdd and QLinearMul; {in_turns[0]:.1f} ms, with hewn "
          f"{first_speed:.2f}x, loaded directly {direct_speed:.2f}x", flush=True)
    return counts.total() >= LEAST[name] and wrong == 0 and others == 0


def main(arguments):
    good = True
    for name in quantized.models_in(arguments):
        for form in ("QDQ", "QOperator"):
            with tempfile.TemporaryDirectory() as folder:
                good &= check(name, form, pathlib.Path(folder))
    return not good


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
