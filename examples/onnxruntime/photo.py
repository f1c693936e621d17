#!/usr/bin/env python3
"""A photograph through a quantized model, by ONNX Runtime alone and with hewn:

    pip install onnxruntime onnx pillow dist/hewn_kernels_onnxruntime-*.whl
    pip install --no-deps rapidocr-onnxruntime        # for its models
    python photo.py [MODEL.onnx HEIGHT WIDTH]

MODEL.onnx is of float32 and takes one image, [1, 3, HEIGHT, WIDTH]; without it, the reader of
PP-OCRv4. ONNX Runtime quantizes it with crops of the photograph. Prints for each way its nodes on
hewn, its time on one thread, and how far its outputs are from the float model's at most."""

import contextlib
import importlib.util
import logging
import os
import pathlib
import sys
import tempfile
import time

import numpy as np
import onnx
import onnx.version_converter
import onnxruntime
import onnxruntime_ep_hewn
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from PIL import Image

PHOTO = pathlib.Path(__file__).resolve().parents[1] / "data/chelsea.png"
READER = "models/ch_PP-OCRv4_rec_infer.onnx"


def crops(size, count, seed):
    """Yields `count` random crops of the photograph: arrays [1, 3, height, width] of values from -1
    to 1."""
    rng = np.random.default_rng(seed)
    image = Image.open(PHOTO).convert("RGB")
    for _ in range(count):
        w = int(rng.integers(image.width // 3, image.width))
        h = max(8, min(image.height, w * size[0] // size[1]))
        x, y = (int(rng.integers(0, most + 1)) for most in (image.width - w, image.height - h))
        part = image.crop((x, y, x + w, y + h)).resize((size[1], size[0]))
        pixels = np.asarray(part, np.float32) / 127.5 - 1
        yield np.ascontiguousarray(pixels.transpose(2, 0, 1)[None])


class Reader(CalibrationDataReader):
    """Gives ONNX Runtime the images with which it decides the scales."""

    def __init__(self, name, data):
        self.items = iter([{name: x} for x in data])

    def get_next(self):
        return next(self.items, None)


def quantize(model, size, folder, form="QDQ"):
    """Quantizes a model to 8 bits, and returns the path of the result. With the form QDQ, weights
    have a scale for each channel."""
    prepared, result = (folder / f"{name}.onnx" for name in ("prepared", form))
    logging.disable(logging.WARNING)  # the warnings advise what is done here anyway
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        quant_pre_process(model, prepared, skip_symbolic_shape=True)
        loaded = onnx.load(prepared)
        if loaded.opset_import[0].version < 13:  # scales for each channel need opset 13
            loaded = onnx.version_converter.convert_version(loaded, 13)
            onnx.save(loaded, prepared)
        reader = Reader(loaded.graph.input[0].name, crops(size, 8, seed=0))
        quantize_static(prepared, result, reader, quant_format=QuantFormat[form],
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
                        per_channel=form == "QDQ")
    return str(result)


def options():
    """Options for one thread, which also record which provider has which node."""
    made = onnxruntime.SessionOptions()
    made.intra_op_num_threads = 1
    made.log_severity_level = 3
    made.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    return made


def run(session, image):
    return session.run(None, {session.get_inputs()[0].name: image})[0]


def times(sessions, image):
    """The median milliseconds of each session. The sessions take turns, so that other load on the
    machine affects all of them."""
    taken = [[] for _ in sessions]
    for _ in range(31):
        for session, list_ in zip(sessions, taken):
            begin = time.thread_time()
            run(session, image)
            list_.append((time.thread_time() - begin) * 1e3)
    return [float(np.median(list_)) for list_ in taken]


def on_hewn(session):
    """The number of the model's nodes that hewn runs."""
    name = onnxruntime_ep_hewn.get_ep_name()
    parts = session.get_provider_graph_assignment_info()
    return sum(len(part.get_nodes()) for part in parts if part.ep_name == name)


def print_table(model, size):
    with tempfile.TemporaryDirectory() as folder:
        quantized = quantize(model, size, pathlib.Path(folder))
        alone = ["CPUExecutionProvider"]
        ways = {
            "float32, ONNX Runtime": onnxruntime.InferenceSession(model, options(),
                                                                  providers=alone),
            "8 bits, ONNX Runtime": onnxruntime.InferenceSession(quantized, options(),
                                                                 providers=alone),
            "8 bits, with hewn": onnxruntime_ep_hewn.InferenceSession(quantized, options),
        }
    image = next(crops(size, 1, seed=7))
    right = run(next(iter(ways.values())), image)
    print(f"{'':24}{'nodes on hewn':>14}{'ms':>8}{'error':>8}")
    for (name, session), ms in zip(ways.items(), times(ways.values(), image)):
        error = float(np.abs(run(session, image) - right).max())
        print(f"{name:24}{on_hewn(session):14}{ms:8.2f}{error:8.3f}")


def main(arguments):
    if arguments:
        print_table(arguments[0], (int(arguments[1]), int(arguments[2])))
        return
    package = importlib.util.find_spec("rapidocr_onnxruntime")
    if not package:
        sys.exit(__doc__)
    print_table(pathlib.Path(package.submodule_search_locations[0]) / READER, (48, 320))


if __name__ == "__main__":
    main(sys.argv[1:])
