"""The peer NumKong: its sums, scalings and conversions, on the caller's arrays. peer_python.cpp calls
version() and prepare()."""

import numkong as nk
import numpy as np
from peer_numpy import one_of_each

# NumKong's names of ml_dtypes' types, and of NumPy's that it converts.
TYPES = {"bfloat16": nk.bfloat16, "float8_e4m3fn": nk.float8_e4m3, "float8_e5m2": nk.float8_e5m2,
         "float6_e2m3fn": nk.float6_e2m3, "float6_e3m2fn": nk.float6_e3m2, "float32": "float32",
         "float16": "float16", "int8": "int8", "uint8": "uint8"}


def version():
    return nk.__version__


def prepare(op, inputs, output, relu, threads):
    """Returns run(n), which computes the operator n times. Returns None for problems that this file
    does not have: other operators and types, parameters that vary, and tensors that are not
    contiguous. NumKong uses one thread, whatever `threads` is."""
    make = {"add": add, "quantize_linear": quantize_linear,
            "dequantize_linear": dequantize_linear}.get(op)
    arrays = (*inputs, output) if op == "add" else (inputs[0], output)
    if make is None or not all(array.flags.c_contiguous and array.dtype.name in TYPES
                               for array in arrays):
        return None
    step = make(inputs, output)
    if step is None:
        return None

    def run(n):
        for _ in range(n):
            step()

    return run


def add(inputs, output):
    if output.dtype.kind in "iu":  # NumKong's sums of integers saturate
        return None
    a, b = inputs
    return lambda: nk.add(a, b, out=output)


def convert(array, out):
    """Returns the function that converts the array, and `out`. Nothing is done for an f32 array."""
    if array.dtype.name == "float32":
        return (lambda: None), array
    kind = TYPES[out.dtype.name]
    return (lambda: nk.astype(array, kind, out=out)), out


def quantize_linear(inputs, output):
    """Multiplies by the reciprocal of the scale, adds the zero point, and only then rounds."""
    x, found = inputs[0], one_of_each(*inputs[1:])
    if found is None:
        return None
    t, (scale, zero_point) = np.empty(output.shape, np.float32), found
    widen, x = convert(x, t)
    kind = TYPES[output.dtype.name]

    def step():
        widen()
        nk.scale(x, alpha=1 / scale, beta=zero_point, out=t)
        nk.astype(t, kind, out=output)

    return step


def dequantize_linear(inputs, output):
    x, found = inputs[0], one_of_each(*inputs[1:])
    if found is None:
        return None
    t, (scale, zero_point) = np.empty(output.shape, np.float32), found
    widen, x = convert(x, t)
    result = output if output.dtype.name == "float32" else t
    kind = TYPES[output.dtype.name]

    def step():
        widen()
        if zero_point:
            nk.add(x, -zero_point, out=t)
        nk.scale(x, alpha=scale, beta=-0.0, out=result)  # x + -0.0 is x, also if x is -0.0
        if result is not output:
            nk.astype(result, kind, out=output)

    return step
