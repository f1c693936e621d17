"""Real models of PyPI packages, quantized by ONNX Runtime with crops of a photograph."""

import contextlib
import dataclasses
import importlib.util
import logging
import pathlib

import numpy as np
import onnx
import onnx.version_converter
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from PIL import Image

PHOTOGRAPH = pathlib.Path(__file__).parents[2] / "examples/data/chelsea.png"


@dataclasses.dataclass(frozen=True)
class Model:
    package: str
    file: str
    size: tuple  # of its input, in pixels
    per_channel: bool = True


MODELS = {
    "PP-OCRv4 det": Model("rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx", (320, 320)),
    "PP-OCRv4 rec": Model("rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx", (48, 320)),
    "PP-OCR cls": Model("rapidocr_onnxruntime", "models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
                        (48, 192)),
    "YOLOv8n": Model("nudenet", "320n.onnx", (320, 320)),
}


def path_of(model):
    """In the installed package, which is not imported: it would need others."""
    package = importlib.util.find_spec(model.package)
    return pathlib.Path(package.submodule_search_locations[0]) / model.file


def crops(size, count, seed):
    """Of the photograph, as a model with an input of this size reads them."""
    rng = np.random.default_rng(seed)
    image = Image.open(PHOTOGRAPH).convert("RGB")
    for _ in range(count):
        w = int(rng.integers(image.width // 3, image.width))
        h = max(8, min(image.height, w * size[0] // size[1]))
        x, y = (int(rng.integers(0, most + 1)) for most in (image.width - w, image.height - h))
        part = image.crop((x, y, x + w, y + h)).resize((size[1], size[0]))
        pixels = np.asarray(part, np.float32) / 127.5 - 1
        yield np.ascontiguousarray(pixels.transpose(2, 0, 1)[None])


class Reader(CalibrationDataReader):
    def __init__(self, name, data):
        self.items = iter([{name: x} for x in data])

    def get_next(self):
        return next(self.items, None)


def quantize(name, form, folder):
    """The quantized model's path. form: QDQ (with a scale for each channel) or QOperator."""
    model = MODELS[name]
    prepared = folder / "prepared.onnx"
    logging.disable(logging.WARNING)  # it advises what is done
    with open(folder / "log", "w") as log, contextlib.redirect_stdout(log):
        quant_pre_process(path_of(model), prepared, skip_symbolic_shape=True)
        loaded = onnx.load(prepared)
        if loaded.opset_import[0].version < 13:  # scales for each channel need it
            loaded = onnx.version_converter.convert_version(loaded, 13)
            onnx.save(loaded, prepared)
        reader = Reader(loaded.graph.input[0].name, crops(model.size, 8, seed=0))
        result = folder / f"{name}.{form}.onnx".replace(" ", "_")
        quantize_static(prepared, result, reader, quant_format=QuantFormat[form],
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
                        per_channel=form == "QDQ")
    return str(result)
