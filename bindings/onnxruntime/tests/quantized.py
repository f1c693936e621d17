"""Real models from PyPI packages, quantized as in examples/onnxruntime/photo.py."""

import dataclasses
import importlib.util
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[3] / "examples/onnxruntime"))
import photo  # noqa: E402

crops = photo.crops


@dataclasses.dataclass(frozen=True)
class Model:
    package: str
    file: str
    size: tuple  # of its input, in pixels


MODELS = {
    "PP-OCRv4 det": Model("rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx", (320, 320)),
    "PP-OCRv4 rec": Model("rapidocr_onnxruntime", photo.READER, (48, 320)),
    "PP-OCR cls": Model("rapidocr_onnxruntime", "models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
                        (48, 192)),
    "YOLOv8n": Model("nudenet", "320n.onnx", (320, 320)),
}


def models_in(arguments):
    """The names of models on a command line. `--with FOLDER` at its end adds a folder with a
    package."""
    if "--with" in arguments:
        arguments, sys.path[:0] = arguments[:-2], arguments[-1:]
    return arguments


def path_of(model):
    """The model's file in the installed package. The package is not imported, as it would need
    others."""
    package = importlib.util.find_spec(model.package)
    return pathlib.Path(package.submodule_search_locations[0]) / model.file


def quantize(name, form, folder):
    """Quantizes a model. Returns the path of the result. form is QDQ or QOperator."""
    return photo.quantize(path_of(MODELS[name]), MODELS[name].size, folder, form)
