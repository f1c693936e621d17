"""Real models of PyPI packages, quantized as examples/onnxruntime/photo.py does it."""

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
    """The models' names of a command line, whose `--with FOLDER` at the end has a package more."""
    if "--with" in arguments:
        arguments, sys.path[:0] = arguments[:-2], arguments[-1:]
    return arguments


def path_of(model):
    """In the installed package, which is not imported: it would need others."""
    package = importlib.util.find_spec(model.package)
    return pathlib.Path(package.submodule_search_locations[0]) / model.file


def quantize(name, form, folder):
    """The quantized model's path. form: QDQ or QOperator."""
    return photo.quantize(path_of(MODELS[name]), MODELS[name].size, folder, form)
