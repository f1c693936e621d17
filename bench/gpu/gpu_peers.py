"""PyTorch and Triton on hewn's rows: gpu_peers.py ROWS.jsonl

Prints a row for each way that they have of doing what a row of bench/gpu/gpu.cpp does, on the same
device:

- PyTorch: torch.add, quantize_per_tensor, quantize_per_channel and dequantize, and, beside both
  quantizing operators, a conversion of the same types without a scale (x.to into given memory);
- Triton: a kernel of the operator's formula, dense.

A way that PyTorch or Triton lacks for these types is told on stderr by its name. Calls are captured
in a CUDA graph where that is possible, so that Python's time does not count. Exit code 77: nothing
to compare with.
"""

import json
import re
import sys
import time

try:
    import torch
except ImportError as error:
    print(f"no PyTorch: {error}", file=sys.stderr)
    sys.exit(77)

CALLS = 10
OPERATORS = re.compile(
    r"(quantized_linear_add|quantized_linear_mul|requantize|dequantize_linear|quantize_linear|add)_(.*)"
)
TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64, "i32": torch.int32}
TYPES |= {"i16": torch.int16, "i8": torch.int8, "u8": torch.uint8}
TYPES |= {f"u{n}": getattr(torch, f"uint{n}") for n in (16, 32) if hasattr(torch, f"uint{n}")}
QUANTIZED = {"i8": torch.qint8, "u8": torch.quint8}
SCALE, ZERO_POINT = 0.0473, 3
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

# ---- Times ----


def events(call):
    """The seconds of `call` on the device, the best of three."""
    best = float("inf")
    for _ in range(3):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        best = min(best, start.elapsed_time(end) / 1e3)
    return best


def captured(call):
    """A function that runs CALLS calls by a graph. None if the calls cannot be captured."""
    try:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(CALLS):
                call()
        graph.replay()
        torch.cuda.synchronize()
        return graph.replay
    except RuntimeError:
        torch.cuda.synchronize()
        return None


def seconds(call):
    """The seconds of one call."""
    call()
    if DEVICE == "cpu":  # when this script is tried without a card
        start = time.perf_counter()
        call()
        return time.perf_counter() - start
    torch.cuda.synchronize()
    many = captured(call) or (lambda: [call() for _ in range(CALLS)])
    return events(many) / CALLS


# ---- Layouts, as in bench/README.md ----


def sizes_of(layout, n):
    if layout == "dense":
        return (n,)
    if layout == "transposed":
        columns = 1
        while columns * columns < n:
            columns *= 2
    else:
        columns = {"inner_3": 3, "inner_4": 4, "per_channel_outer": n // 64}.get(layout, 1024)
    return (n // columns, columns)


def ones(layout, sizes, dtype):
    """A tensor that lies in memory as the output does."""
    if layout != "strided_rows":
        return torch.ones(sizes, dtype=dtype, device=DEVICE)
    return torch.ones((sizes[0], 1088), dtype=dtype, device=DEVICE)[:, :1024]


def second(layout, sizes, dtype):
    """The operand that lies in a special way: the second one of a sum, or the only one of a linear
    operator."""
    rows, columns = sizes[0], sizes[-1]
    if layout == "transposed":
        return torch.ones((columns, rows), dtype=dtype, device=DEVICE).t()
    if layout in ("dense", "strided_rows"):
        return ones(layout, sizes, dtype)
    shape = (rows, 1) if layout == "per_channel_outer" else (1, columns)
    return torch.ones(shape, dtype=dtype, device=DEVICE).expand(sizes)


AXES = {"per_channel_outer": 0, "per_axis_last": 1, "inner_3": 1, "inner_4": 1}

# ---- PyTorch: (what, call). A call may fail if PyTorch does not have the types ----


def torch_add(types, layout, sizes):
    a, out = ones(layout, sizes, TYPES[types[0]]), ones(layout, sizes, TYPES[types[0]])
    b = second(layout, sizes, TYPES[types[0]])
    yield "torch.add", lambda: torch.add(a, b, out=out)


def torch_linear(types, layout, sizes):
    dtype = TYPES[types[0]]
    x = second(layout, sizes, dtype) if layout == "transposed" else ones(layout, sizes, dtype)
    out = ones(layout, sizes, TYPES[types[1]])
    yield "x.to", lambda: out.copy_(x)
    if types[0] == "f32" and types[1] in QUANTIZED:
        yield from torch_quantize(x, QUANTIZED[types[1]], layout, sizes)
    if types[0] in QUANTIZED and types[1] == "f32" and layout == "dense":
        values = torch.ones(sizes, device=DEVICE)
        q = torch.quantize_per_tensor(values, SCALE, ZERO_POINT, QUANTIZED[types[0]])
        yield "dequantize", q.dequantize


def torch_quantize(x, dtype, layout, sizes):
    if layout == "dense":
        yield "quantize_per_tensor", lambda: torch.quantize_per_tensor(x, SCALE, ZERO_POINT, dtype)
    elif layout in AXES:
        axis = AXES[layout]
        scales = torch.full((sizes[axis],), SCALE, dtype=torch.float64, device=DEVICE)
        zeros = torch.full((sizes[axis],), ZERO_POINT, dtype=torch.int64, device=DEVICE)
        yield (
            "quantize_per_channel",
            lambda: torch.quantize_per_channel(x, scales, zeros, axis, dtype),
        )


# ---- Triton: kernels with the formulas of docs/numerics.md, for dense tensors ----

try:
    import triton
    import triton.language as tl
except ImportError as error:
    print(f"no Triton: {error}", file=sys.stderr)
    triton = None

BLOCK = 2048

if triton:

    @triton.jit
    def add_kernel(a, b, out, n, block: tl.constexpr):
        i = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
        tl.store(out + i, tl.load(a + i, mask=i < n) + tl.load(b + i, mask=i < n), mask=i < n)

    @triton.jit
    def rounded(q, zero_point, low, high):
        # Rounds to the nearest integer, ties to even: around 1.5 * 2^23 floats are 1 apart.
        q = tl.minimum(tl.maximum(q, -1024.0), 1024.0)
        q = (q + 12582912.0) - 12582912.0
        return tl.minimum(tl.maximum(q + zero_point, low), high)

    @triton.jit
    def quantize_kernel(x, scale, zero_point, out, n, low, high, block: tl.constexpr):
        i = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
        value = tl.load(x + i, mask=i < n).to(tl.float32)
        q = tl.math.div_rn(value, tl.load(scale).to(tl.float32))
        q = rounded(q, tl.load(zero_point).to(tl.float32), low, high)
        tl.store(out + i, q.to(tl.int32).to(out.dtype.element_ty), mask=i < n)

    @triton.jit
    def dequantize_kernel(x, scale, zero_point, out, n, block: tl.constexpr):
        i = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
        value = tl.load(x + i, mask=i < n).to(tl.int32) - tl.load(zero_point).to(tl.int32)
        value = value.to(tl.float32) * tl.load(scale).to(tl.float32)
        tl.store(out + i, value.to(out.dtype.element_ty), mask=i < n)

    @triton.jit
    def sum_kernel(a, b, scale, zero_point, out, n, low, high, block: tl.constexpr):
        i = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
        s, z = tl.load(scale), tl.load(zero_point).to(tl.int32)
        first = (tl.load(a + i, mask=i < n).to(tl.int32) - z).to(tl.float32) * s
        second = (tl.load(b + i, mask=i < n).to(tl.int32) - z).to(tl.float32) * s
        q = rounded(tl.math.div_rn(first + second, s), z.to(tl.float32), low, high)
        tl.store(out + i, q.to(tl.int32).to(out.dtype.element_ty), mask=i < n)


def triton_call(op, types, n):
    """The call of the operator's kernel. None if there is no kernel, or if its formula is not exact
    for these types."""
    if op in ("quantized_linear_mul", "requantize") or not set(types) <= {"f32", "f16", "i32", "i8", "u8"}:
        return None
    if op != "add" and "i32" in types:
        return None
    types = types * 3 if op == "add" else types
    inputs = [torch.ones(n, dtype=TYPES[t], device=DEVICE) for t in types[:-1]]
    out = torch.ones(n, dtype=TYPES[types[-1]], device=DEVICE)
    is_float = [t for t in types if t[0] == "f"]
    scale = torch.full((1,), SCALE, dtype=TYPES[is_float[0] if is_float else "f32"], device=DEVICE)
    zero_point = torch.full((1,), ZERO_POINT, dtype=TYPES[types[-1]], device=DEVICE)
    low, high = (-128.0, 127.0) if types[-1] == "i8" else (0.0, 255.0)
    grid = ((n + BLOCK - 1) // BLOCK,)
    parameters = {
        "add": (add_kernel, [inputs[0], inputs[-1], out, n]),
        "quantize_linear": (quantize_kernel, [inputs[0], scale, zero_point, out, n, low, high]),
        "dequantize_linear": (dequantize_kernel, [inputs[0], scale, zero_point, out, n]),
        "quantized_linear_add": (
            sum_kernel,
            [inputs[0], inputs[-1], scale, zero_point, out, n, low, high],
        ),
    }
    kernel, arguments = parameters[op]
    return lambda: kernel[grid](*arguments, BLOCK)


# ---- Rows ----


def ways(kernel, layout, n):
    """Yields (library, what, call) for each way to compute the row's problem."""
    op, signature = OPERATORS.fullmatch(kernel).groups()
    types, sizes = signature.split("_"), sizes_of(layout, n)
    if op == "add":
        yield from (("PyTorch", *way) for way in torch_add(types, layout, sizes))
    elif op in ("quantize_linear", "dequantize_linear"):
        yield from (("PyTorch", *way) for way in torch_linear(types, layout, sizes))
    if triton and layout == "dense" and (call := triton_call(op, types, n)):
        yield "Triton", "kernel", call


def measure(row):
    kernel, layout, n = row["kernel"], row["layout"], row["elements"]
    for by, what, call in ways(kernel, layout, n):
        line = {"by": by, "what": what, "kernel": kernel, "layout": layout, "elements": n}
        try:
            line["seconds"] = seconds(call)
        except Exception as error:  # another way may work
            print(f"{by} {what} {kernel} {layout} {n}: {error}", file=sys.stderr)
            continue
        print(json.dumps(line), flush=True)


def main(path):
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file if line.endswith("\n")]
    for row in rows:
        if row["by"] != "hewn" or "gb_per_s" not in row:
            continue
        try:
            measure(row)
        except (KeyError, RuntimeError) as error:  # a type that PyTorch lacks, or too little memory
            print(f"PyTorch {row['kernel']} {row['layout']}: {error}", file=sys.stderr)
        if DEVICE == "cuda":
            torch.cuda.empty_cache()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
