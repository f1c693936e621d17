"""hewn as an execution provider of ONNX Runtime, for QuantizeLinear, DequantizeLinear,
DynamicQuantizeLinear, Add, and com.microsoft's QLinearAdd and QLinearMul on CPUs.

    import onnxruntime_ep_hewn
    session = onnxruntime_ep_hewn.InferenceSession("model.onnx")

or in ONNX Runtime's own words (1.27 and later; before it, see session_options):

    onnxruntime_ep_hewn.register()
    providers = ["HewnExecutionProvider", "CPUExecutionProvider"]
    session = onnxruntime.InferenceSession("model.onnx", providers=providers)
"""

import os
import pathlib
import tempfile
import warnings

__all__ = [
    "InferenceSession",
    "get_ep_name",
    "get_ep_names",
    "get_library_path",
    "register",
    "session_options",
]

_NAME = "HewnExecutionProvider"
_OLDEST = (1, 24)
_FILES = (
    "libonnxruntime_providers_hewn.so",
    "onnxruntime_providers_hewn.dll",
    "libonnxruntime_providers_hewn.dylib",
)


def get_library_path():
    """The provider's library, for register_execution_provider_library: an absolute path, as ONNX
    Runtime looks for others beside its own library."""
    folder = pathlib.Path(__file__).resolve().parent
    for file in _FILES:
        if (folder / file).is_file():
            return str(folder / file)
    raise FileNotFoundError(f"none of {', '.join(_FILES)} is in {folder}")


def get_ep_name():
    """The provider's name in ONNX Runtime."""
    return _NAME


def get_ep_names():
    """The names of all providers in the library."""
    return [_NAME]


def register():
    """Makes the provider known to onnxruntime, if it is not yet."""
    import onnxruntime

    version = tuple(int(n) for n in onnxruntime.__version__.split(".")[:2])
    if version < _OLDEST:
        raise RuntimeError(
            f"hewn's execution provider needs ONNX Runtime {'.'.join(map(str, _OLDEST))} or later; "
            f"this is {onnxruntime.__version__}"
        )
    if not _devices():
        onnxruntime.register_execution_provider_library(_NAME, get_library_path())


def _devices():
    import onnxruntime

    return [device for device in onnxruntime.get_ep_devices() if device.ep_name == _NAME]


def session_options(base=None, **options):
    """onnxruntime.SessionOptions, `base` or new ones, with hewn before the CPU provider. Options:

    claim      "beside" (default): without sums that the CPU provider fuses with their neighbours;
               "all": all that hewn computes
    operators  these alone, by ONNX's names with commas between them
    target     one of hewn's targets: "x86_64_avx2"
    threads    the most that a node uses
    """
    import onnxruntime

    register()
    result = base or onnxruntime.SessionOptions()
    texts = {name: str(value) for name, value in options.items()}
    result.add_provider_for_devices(_devices(), texts)
    return result


def _optimize(model, options, folder):
    """The model as the CPU provider optimizes it, as a file in `folder`."""
    import onnxruntime

    optimized = os.path.join(folder, "model.onnx")
    options.optimized_model_filepath = optimized
    weights = "session.optimized_model_external_initializers_file_name"
    options.add_session_config_entry(weights, "weights.bin")
    # It would warn that the model is for this machine alone.
    options.log_severity_level = max(options.log_severity_level, 3)
    onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return optimized


def InferenceSession(model, make_options=None, **options):  # noqa: N802, as onnxruntime's
    """onnxruntime.InferenceSession of a model (path or bytes): the CPU provider optimizes it first,
    hewn takes its nodes of what is left. So none of ONNX Runtime's fusions is lost, and none of the
    layouts that it prefers brings transpositions around hewn's nodes. It takes the time of creating
    two sessions.

    The CPU provider cannot load some models that hewn runs, as it has no kernel for one of their
    nodes: ONNX Runtime 1.32's has none for QuantizeLinear of opset 28. Such a model is loaded
    directly, with a RuntimeWarning that says why.

    make_options: a function that returns new onnxruntime.SessionOptions, called twice. The other
    options are those of session_options. `claim` is by default "all", and "beside" for a model that
    is loaded directly.
    """
    import onnxruntime

    register()
    make_options = make_options or onnxruntime.SessionOptions
    with tempfile.TemporaryDirectory() as folder:
        try:
            optimized = _optimize(model, make_options(), folder)
        except Exception as error:  # ONNX Runtime has many, without a common class
            direct = session_options(make_options(), **options)
            session = onnxruntime.InferenceSession(model, direct, enable_fallback=0)
            warnings.warn(
                f"ONNX Runtime's CPU provider cannot load this model, so that it was not optimized "
                f"for hewn but loaded directly: {error}",
                RuntimeWarning,
                stacklevel=2,
            )
            return session
        second = session_options(make_options(), **{"claim": "all", **options})
        second.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        return onnxruntime.InferenceSession(optimized, second, enable_fallback=0)
