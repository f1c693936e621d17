"""The peer NumPy: the operators as a few NumPy functions each, which write to preallocated arrays.
peer_python.cpp calls version() and prepare()."""

import numpy as np


def version():
    return np.__version__


def prepare(op, inputs, output, threads):
    """Returns run(n), which computes the operator n times on these arrays, or None for an operator
    that is not in this file. NumPy uses one thread, whatever `threads` is."""
    if op not in globals():
        return None
    step = globals()[op](inputs, output)

    def run(n):
        for _ in range(n):
            step()

    return run


def add(inputs, output):
    a, b = inputs
    return lambda: np.add(a, b, out=output)


def quantize_into(output):
    """Returns store(t, zero_point), which rounds the f32 array t, adds the zero point, clamps, and
    converts to the output's type."""
    limits = np.iinfo(output.dtype)

    def store(t, zero_point):
        np.rint(t, out=t)
        np.add(t, zero_point, out=t)
        np.clip(t, limits.min, limits.max, out=t)
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

    return step


def quantized_linear_add(inputs, output):
    a, a_scale, a_zero_point, b, b_scale, b_zero_point, output_scale, output_zero_point = inputs
    first = lambda parameter: np.float32(parameter.flat[0])
    a_s, a_z, b_s, b_z, o_s, o_z = map(first, (a_scale, a_zero_point, b_scale, b_zero_point,
                                               output_scale, output_zero_point))
    t, u = np.empty(output.shape, np.float32), np.empty(output.shape, np.float32)
    store = quantize_into(output)

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
