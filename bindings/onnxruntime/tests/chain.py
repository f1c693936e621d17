"""Writes a small model of the element-wise operators, whose sum and product are groups: chain.py
FILE"""

import sys

import common
import numpy as np
import onnx
from onnx import helper

F32, U8 = np.float32, np.uint8
CONSTANTS = {
    "per_channel": np.array([0.1, 0.2, 0.3], F32),
    "zero_points": np.array([1, 2, 3], U8),
    "bias": np.arange(64, dtype=F32) / 9,
    "scale": np.asarray(0.05, F32),
    "zero_point": np.asarray(7, U8),
    "other": np.arange(192, dtype=U8).reshape(3, 64),
}


def linear(op, x, y, scale="scale", zero_point="zero_point", **attributes):
    return helper.make_node(op, [x, scale, zero_point], [y], **attributes)


def group(middle, x, y):
    """Yields the four nodes that compute y = x `middle` other on quantized tensors."""
    yield linear("DequantizeLinear", x, f"{x}_{middle}")
    yield linear("DequantizeLinear", "other", f"other_{middle}")
    yield helper.make_node(middle, [f"{x}_{middle}", f"other_{middle}"], [f"{y}_{middle}"])
    yield linear("QuantizeLinear", f"{y}_{middle}", y)


def model():
    channels = {"scale": "per_channel", "zero_point": "zero_points", "axis": 1}
    nodes = [
        linear("QuantizeLinear", "x", "q", **channels),
        linear("DequantizeLinear", "q", "d", **channels),
        helper.make_node("Add", ["d", "bias"], ["e"]),
        linear("QuantizeLinear", "e", "f"),
        *group("Add", "f", "g"),
        *group("Mul", "g", "y"),
    ]
    shape = ["n", 3, 64]
    return common.model(nodes, [("x", F32, shape)], [("y", U8, shape)], CONSTANTS)


if __name__ == "__main__":
    onnx.save(model(), sys.argv[1])
