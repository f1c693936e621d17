"""The peer NumPy: the operators as a few NumPy functions each, which write to preallocated arrays.
ml_dtypes adds bf16, the small floats and the sub-byte types to it. peer_python.cpp calls version()
and prepare()."""

import ml_dtypes
import numpy as np


def version():
    return f"{np.__version__} with ml_dtypes {ml_dtypes.__version__}"


def prepare(op, inputs, output, relu, threads):
    """Returns run(n), which computes the operator n times on these arrays, or None for an operator
    that is not in this file. With `relu` the results are at least 0. NumPy uses one thread, whatever
    `threads` is."""
    if op not in globals():
        return None
    step = globals()[op](inputs, output, relu) if relu else globals()[op](inputs, output)

    def run(n):
        for _ in range(n):
            step()

    return run


def add(inputs, output):
    a, b = inputs
    return lambda: np.add(a, b, out=output)


def add1(inputs, output, relu):
    a, b = inputs
    zero = output.dtype.type(0)

    def step():
        np.add(a, b, out=output)
        np.maximum(output, zero, out=output)

    return step


def is_small_float(dtype):
    return dtype.name.startswith("float") and dtype.itemsize == 1


def quantize_into(output, least=None):
    """Returns store(t, zero_point), which rounds the f32 array t, adds the zero point, clamps, and
    converts to the output's type. The results are not below `least`. A small float has no zero
    point, and only its conversion rounds."""
    if is_small_float(output.dtype):
        return lambda t, _: np.copyto(output, t, casting="unsafe")
    limits = ml_dtypes.iinfo(output.dtype)
    least = limits.min if least is None else least

    def store(t, zero_point):
        np.rint(t, out=t)
        np.add(t, zero_point, out=t)
        np.clip(t, least, limits.max, out=t)
        np.copyto(output, t, casting="unsafe")

    return store


def quantize_linear(inputs, output):
    x, scale, zero_point = inputs
    t = np.empty(output.shape, np.float32)
    scale, zero_point = scale.astype(np.float32), zero_point.astype(np.float32)
    scale, zero_point = collapse(scale, inputs[1]), collapse(zero_point, inputs[2])
    store = quantize_into(output)

    def step():
        np.divide(x, scale, out=t, dtype=np.float32, casting="unsafe")
        store(t, zero_point)

    return step


def dequantize_linear(inputs, output):
    x, scale, zero_point = inputs
    # Differences of 32-bit integers are not exact in f32.
    wide = np.float64 if x.dtype.itemsize == 4 else np.float32
    t = np.empty(output.shape, wide)
    scale = collapse(scale.astype(np.float32), inputs[1])
    zero_point = collapse(zero_point.astype(wide), inputs[2])

    def step():
        np.subtract(x, zero_point, out=t, dtype=wide)
        np.multiply(t, scale, out=output, dtype=wide, casting="same_kind")

    def step_by_conversions():  # for ml_dtypes' types
        np.copyto(t, x, casting="unsafe")
        if not is_small_float(x.dtype):
            np.subtract(t, zero_point, out=t)
        np.multiply(t, scale, out=t)
        np.copyto(output, t, casting="unsafe")

    return step if x.dtype.isbuiltin == output.dtype.isbuiltin == 1 else step_by_conversions


def quantized_linear_add(inputs, output, relu=False):
    a, a_scale, a_zero_point, b, b_scale, b_zero_point, output_scale, output_zero_point = inputs
    first = lambda parameter: np.float32(parameter.flat[0])
    a_s, a_z, b_s, b_z, o_s, o_z = map(first, (a_scale, a_zero_point, b_scale, b_zero_point,
                                               output_scale, output_zero_point))
    t, u = np.empty(output.shape, np.float32), np.empty(output.shape, np.float32)
    store = quantize_into(output, o_z if relu else None)

    def step():
        np.subtract(a, a_z, out=t, dtype=np.float32)
        np.multiply(t, a_s, out=t)
        np.subtract(b, b_z, out=u, dtype=np.float32)
        np.multiply(u, b_s, out=u)
        np.add(t, u, out=t)
        np.divide(t, o_s, out=t)
        store(t, o_z)

    return step


def quantized_linear_mul(inputs, output):
    a, a_scale, a_zero_point, b, b_scale, b_zero_point, output_scale, output_zero_point = inputs
    a_z, b_z, o_z = (np.float32(parameter.flat[0])
                     for parameter in (a_zero_point, b_zero_point, output_zero_point))
    a_s, b_s, o_s = (np.float32(scale.flat[0]) for scale in (a_scale, b_scale, output_scale))
    ratio = a_s * b_s / o_s
    t, u = np.empty(output.shape, np.float32), np.empty(output.shape, np.float32)
    store = quantize_into(output)

    def step():
        np.subtract(a, a_z, out=t, dtype=np.float32)
        np.subtract(b, b_z, out=u, dtype=np.float32)
        np.multiply(t, u, out=t)
        np.multiply(t, ratio, out=t)
        store(t, o_z)

    return step


def requantize(inputs, output):
    x, x_scale, x_zero_point, output_scale, output_zero_point = inputs
    x_z, o_z = (np.float32(parameter.flat[0]) for parameter in (x_zero_point, output_zero_point))
    x_s, o_s = (np.float32(scale.flat[0]) for scale in (x_scale, output_scale))
    t = np.empty(output.shape, np.float32)
    store = quantize_into(output)

    def step():
        np.subtract(x, x_z, out=t, dtype=np.float32)
        np.multiply(t, x_s, out=t)
        np.divide(t, o_s, out=t)
        store(t, o_z)

    return step


def one_of_each(scale, zero_point):
    """The scale and the zero point of the whole tensor. None if they vary within it."""
    if any(v.shape[d] > 1 and v.strides[d] for v in (scale, zero_point) for d in range(v.ndim)):
        return None
    return float(scale.flat[0]), int(zero_point.flat[0])


def collapse(values, view):
    """`values` with size 1 along the dimensions in which `view` repeats (has stride 0)."""
    return np.ascontiguousarray(values[tuple(slice(None) if s else slice(0, 1)
                                             for s in view.strides)])
