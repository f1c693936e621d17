"""The peer PyTorch: its operators on the caller's arrays. peer_python.cpp calls version() and
prepare()."""

import torch
from peer_numpy import one_of_each

QUANTIZED = {"int8": torch.qint8, "uint8": torch.quint8}


def version():
    return torch.__version__


def prepare(op, inputs, output, threads):
    """Returns run(n), which computes the operator n times. Returns None for problems that this file
    does not have: other operators and types, and parameters that vary."""
    make = {"add": add, "quantize_linear": quantize_linear,
            "dequantize_linear": dequantize_linear}.get(op)
    step = make and make(inputs, output)
    if step is None:
        return None
    torch.set_num_threads(threads)
    to_store = [True]

    def run(n):
        for _ in range(n):
            result = step()
        # PyTorch allocates a new result in each call. Only the first is copied, for the check.
        if to_store:
            to_store.clear()
            output[...] = (result.int_repr() if result.is_quantized else result).numpy()

    return run


def add(inputs, output):
    if output.dtype.kind == "u" and output.dtype.itemsize > 1:
        return None
    a, b, out = map(torch.from_numpy, (*inputs, output))
    return lambda: torch.add(a, b, out=out)


def quantize_linear(inputs, output):
    x, found = inputs[0], one_of_each(*inputs[1:])
    dtype = QUANTIZED.get(output.dtype.name)
    if x.dtype.name != "float32" or found is None or dtype is None:
        return None
    tensor, (scale, zero_point) = torch.from_numpy(x), found
    return lambda: torch.quantize_per_tensor(tensor, scale, zero_point, dtype)


def dequantize_linear(inputs, output):
    x, found = inputs[0], one_of_each(*inputs[1:])
    if output.dtype.name != "float32" or x.dtype.name not in QUANTIZED or found is None:
        return None
    tensor = torch._make_per_tensor_quantized_tensor(torch.from_numpy(x), *found)
    return lambda: tensor.dequantize()
