"""Measures the microseconds of a call from Python with one thread: python_calls.py [JSON]

It compares hewn with NumPy, and with PyTorch and ONNX Runtime if they are installed (the latter
needs the packages onnx and onnxruntime). Each time is the shortest of many. The contenders take
turns in a random order, so that other load on the machine affects all of them. JSON is the file for
the results; bench/report/docs.py shows docs/measurements/python.json."""

import json
import pathlib
import platform
import random
import subprocess
import sys
import time

import hewn
import numpy as np

SIZES = [16, 4 << 10, 1 << 20]
SECONDS = 8  # for each contender at each size
SCALE, ZERO = 0.02, 128


def numpy_quantize(x, out):
    y = np.divide(x, np.float32(SCALE))
    np.rint(y, out=y)
    np.add(y, np.float32(ZERO), out=y)
    np.clip(y, 0, 255, out=y)
    out[...] = y


def of_torch(x):
    import torch

    torch.set_num_threads(1)
    tensor = torch.from_numpy(x)
    return {
        "torch.quantize_per_tensor": lambda: torch.quantize_per_tensor(
            tensor, SCALE, ZERO, torch.quint8
        )
    }


def session_of(operator, inputs, outputs, constants):
    """A session of a model with one node. `outputs` are (name, ONNX type, shape); `constants` are
    {input's name: value}."""
    import onnxruntime as ort
    from onnx import TensorProto, helper as h, numpy_helper

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    node = h.make_node(operator, inputs, [name for name, *_ in outputs])
    ends = (
        [h.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
        [h.make_tensor_value_info(*output) for output in outputs],
    )
    values = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = h.make_graph([node], "g", *ends, values)
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    return ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def of_onnxruntime(x, out):
    from onnx import TensorProto

    u8, f32 = TensorProto.UINT8, TensorProto.FLOAT
    constants = {"s": np.float32(SCALE), "z": np.uint8(ZERO)}
    session = session_of("QuantizeLinear", ["x", "s", "z"], [("y", u8, ["n"])], constants)
    binding = session.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_output("y", "cpu", 0, np.uint8, out.shape, out.ctypes.data)
    outputs = [("y", u8, ["n"]), ("s", f32, []), ("z", u8, [])]
    dynamic = session_of("DynamicQuantizeLinear", ["x"], outputs, {})
    dynamic_binding = dynamic.io_binding()
    dynamic_binding.bind_cpu_input("x", x)
    held = {"y": out, "s": np.empty((), np.float32), "z": np.empty((), np.uint8)}
    for name, array in held.items():
        dynamic_binding.bind_output(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)
    return {
        "ONNX Runtime, `run`": lambda: session.run(None, {"x": x}),
        "ONNX Runtime, bound": lambda: session.run_with_iobinding(binding),
        # The binding has only the address of its memory, so `held` keeps the arrays alive.
        "ONNX Runtime, DynamicQuantizeLinear, bound": lambda held=held: dynamic.run_with_iobinding(
            dynamic_binding
        ),
    }


def contenders(size):
    """{contender's name: the function to time}"""
    x = np.random.default_rng(0).standard_normal(size).astype(np.float32)
    out = np.empty(size, np.uint8)
    quantize = hewn.compile(hewn.quantize_linear, x, SCALE, ZERO, threads=1)
    dynamic = hewn.compile("dynamic_quantize_linear", x, dtype="uint8", threads=1)
    found = {
        "`hewn.quantize_linear`, `out` given": lambda: hewn.quantize_linear(
            x, SCALE, ZERO, out=out, threads=1
        ),
        "the same, a new array": lambda: hewn.quantize_linear(x, SCALE, ZERO, threads=1),
        "compiled, `out` given": lambda: quantize(x, out=out),
        "bound": quantize.bind(x, out=out),
        "`hewn.dynamic_quantize_linear`, bound": dynamic.bind(x),
        "NumPy, five functions": lambda: numpy_quantize(x, out),
    }
    for make in (lambda: of_torch(x), lambda: of_onnxruntime(x, out)):
        try:
            found |= make()
        except ImportError as error:
            print(f"left out: {error}", file=sys.stderr)
    return found


def seconds(function, count):
    function()  # a warm-up, because the last contender has filled the caches
    start = time.perf_counter()
    for _ in range(count):
        function()
    return (time.perf_counter() - start) / count


def measure(size):
    """{contender: microseconds}"""
    functions = contenders(size)
    # A turn has as many calls as take 0.2 ms. So it often fits between two time slices of other
    # programs.
    quick = {name: min(seconds(f, 3) for _ in range(9)) for name, f in functions.items()}
    counts = {name: max(1, int(2e-4 / least)) for name, least in quick.items()}
    best = dict.fromkeys(functions, float("inf"))
    end = time.perf_counter() + SECONDS * len(functions)
    while time.perf_counter() < end:
        for name in random.sample(list(functions), len(functions)):
            best[name] = min(best[name], seconds(functions[name], counts[name]))
    return {name: round(1e6 * value, 3) for name, value in best.items()}


def versions():
    found = {"Python": platform.python_version(), "NumPy": np.__version__}
    for name, module in (("PyTorch", "torch"), ("ONNX Runtime", "onnxruntime")):
        if module in sys.modules:
            found[name] = sys.modules[module].__version__
    return found


def cpu():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))


def main():
    columns = {size: measure(size) for size in SIZES}
    rows = {name: [columns[size].get(name) for size in SIZES] for name in columns[SIZES[0]]}
    git = ["git", "-C", pathlib.Path(__file__).parent, "rev-parse", "--short=7", "HEAD"]
    commit = subprocess.check_output(git, text=True).strip()
    about = {"cpu": cpu(), "commit": commit, "versions": versions(), "sizes": SIZES, "microseconds": rows}
    text = json.dumps(about, indent=1) + "\n"
    if len(sys.argv) > 1:
        pathlib.Path(sys.argv[1]).write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
