"""The peer PyTorch: its operators on the caller's arrays. peer_python.cpp calls version() and
prepare()."""

import warnings

import torch
from peer_numpy import one_of_each

QUANTIZED = {"int8": torch.qint8, "uint8": torch.quint8}
# ml_dtypes' types that PyTorch has, under the same names.
FLOATS = ("bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
warnings.filterwarnings("ignore", message=".*quantized tensor creation functions.*")


def version():
    return torch.__version__


def prepare(op, inputs, output, relu, threads):
    """Returns run(n), which computes the operator n times. Returns None for problems that this file
    does not have: other operators and types, and parameters that vary."""
    make = {"add": add, "add1": add1, "quantize_linear": quantize_linear,
            "dequantize_linear": dequantize_linear, "requantize": requantize,
            "quantized_linear_add": add_relu_quantized if relu else add_quantized}.get(op)
    step = make and make(inputs, output)
    if step is None:
        return None
    torch.set_num_threads(threads)
    to_store = [True]

    def run(n):
        for _ in range(n):
            result = step()
        # Most functions allocate a new result in each call. Only the first is copied, for the check.
        if to_store and result is not None:
            to_store.clear()
            output[...] = (result.int_repr() if result.is_quantized else result).numpy()

    return run


def tensor(array):
    """PyTorch's tensor in the same memory. None if it has no such type."""
    if array.dtype.name in FLOATS:
        bits = torch.from_numpy(array.view(f"i{array.dtype.itemsize}"))
        return bits.view(getattr(torch, array.dtype.name))
    if array.dtype.isbuiltin != 1 or (array.dtype.kind == "u" and array.dtype.itemsize > 1):
        return None
    return torch.from_numpy(array)


def quantized(array, *parameters):
    """The quantized tensor of the same codes. None if PyTorch has no such type, or if parameters
    vary within the tensor."""
    found = one_of_each(*parameters)
    if array.dtype.name not in QUANTIZED or found is None:
        return None
    return torch._make_per_tensor_quantized_tensor(torch.from_numpy(array), *found)


def add(inputs, output):
    a, b, out = map(tensor, (*inputs, output))
    if out is None:
        return None

    def step():
        torch.add(a, b, out=out)

    return step


def add1(inputs, output):
    a, b, out = map(tensor, (*inputs, output))

    def step():
        torch.add(a, b, out=out)
        torch.relu_(out)

    return step


def quantize_linear(inputs, output):
    x, out, found = tensor(inputs[0]), tensor(output), one_of_each(*inputs[1:])
    if x is None or out is None or found is None:
        return None
    (scale, zero_point), t = found, torch.empty(output.shape)
    widened = (lambda: x) if x.dtype == torch.float32 else (lambda: t.copy_(x))
    dtype = QUANTIZED.get(output.dtype.name)
    if dtype:
        return lambda: torch.quantize_per_tensor(widened(), scale, zero_point, dtype)

    def divide_and_convert():
        torch.div(widened(), scale, out=t)
        out.copy_(t)

    return divide_and_convert if output.dtype.name in FLOATS else None


def dequantize_linear(inputs, output):
    x, out, found = tensor(inputs[0]), tensor(output), one_of_each(*inputs[1:])
    if x is None or out is None or found is None:
        return None
    if inputs[0].dtype.name in QUANTIZED:
        codes = quantized(*inputs)
        if out.dtype == torch.float32:
            return lambda: codes.dequantize()

        def dequantize_and_convert():
            out.copy_(codes.dequantize())

        return dequantize_and_convert
    t, scale = torch.empty(output.shape), found[0]

    def convert_and_multiply():
        t.copy_(x)
        torch.mul(t, scale, out=t)
        out.copy_(t)

    return convert_and_multiply if inputs[0].dtype.name in FLOATS else None


def requantize(inputs, output):
    """dequantize, then quantize_per_tensor."""
    codes, to, dtype = quantized(*inputs[:3]), one_of_each(*inputs[3:]), output.dtype.name
    if codes is None or dtype not in QUANTIZED:
        return None
    return lambda: torch.quantize_per_tensor(codes.dequantize(), *to, QUANTIZED[dtype])


def add_quantized(inputs, output, function=torch.ops.quantized.add):
    if len({array.dtype for array in (inputs[0], inputs[3], output)}) > 1:
        return None
    a, b, to = quantized(*inputs[:3]), quantized(*inputs[3:6]), one_of_each(*inputs[6:])
    return None if a is None else lambda: function(a, b, *to)


def add_relu_quantized(inputs, output):
    return add_quantized(inputs, output, torch.ops.quantized.add_relu)
