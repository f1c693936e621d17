"""hewn as an execution provider of ONNX Runtime 1.24 and later. It runs the nodes QuantizeLinear,
DequantizeLinear, DynamicQuantizeLinear, Add, and com.microsoft's QLinearAdd and QLinearMul on CPUs.

    import onnxruntime_ep_hewn
    session = onnxruntime_ep_hewn.InferenceSession("model.onnx")

With ONNX Runtime 1.27 and later you can also name the provider (before 1.27, use
session_options()):

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
    """The absolute path of the provider's library, for register_execution_provider_library. (ONNX
    Runtime looks for a relative path next to its own library.) Raises FileNotFoundError."""
    folder = pathlib.Path(__file__).resolve().parent
    for file in _FILES:
        if (folder / file).is_file():
            return str(folder / file)
    raise FileNotFoundError(f"none of {', '.join(_FILES)} is in {folder}")


def get_ep_name():
    """The provider's name in ONNX Runtime, "HewnExecutionProvider"."""
    return _NAME


def get_ep_names():
    """The names of all providers in the library."""
    return [_NAME]


def register():
    """Registers the provider with onnxruntime, if it is not registered yet. Raises RuntimeError if
    ONNX Runtime is older than 1.24."""
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
    """Adds hewn, before the CPU provider, to `base` or to new onnxruntime.SessionOptions, and
    returns them. Options of hewn:

    claim      "beside" (the default): hewn leaves each Add that the CPU provider fuses with a
               neighbour to that provider; "all": hewn takes every node that it can run
    operators  only these nodes, by ONNX's names with commas between them: "Add,QLinearMul"
    target     the target whose kernels are used, such as "x86_64_avx2"
    threads    the most threads that one node uses; 0, the default, means as many as help

    ONNX Runtime raises an error for a wrong option when it creates the session.
    """
    import onnxruntime

    register()
    result = base or onnxruntime.SessionOptions()
    texts = {name: str(value) for name, value in options.items()}
    result.add_provider_for_devices(_devices(), texts)
    return result


def _optimize(model, options, folder):
    """Lets the CPU provider optimize the model. Returns the path of the result, a file in
    `folder`."""
    import onnxruntime

    optimized = os.path.join(folder, "model.onnx")
    options.optimized_model_filepath = optimized
    weights = "session.optimized_model_external_initializers_file_name"
    options.add_session_config_entry(weights, "weights.bin")
    # The entry is meant for the session with hewn: here the CPU provider takes every node.
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "0")
    # It would warn that the optimized model is only for this machine.
    options.log_severity_level = max(options.log_severity_level, 3)
    onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return optimized


def InferenceSession(model, make_options=None, **options):  # noqa: N802, as onnxruntime's
    """Creates an onnxruntime.InferenceSession of a model (a path, or bytes) with hewn.

    The CPU provider optimizes the model first, and hewn takes its nodes of the optimized model. So
    hewn prevents none of ONNX Runtime's fusions, and no transpositions are put around hewn's nodes.
    This takes as long as creating two sessions.

    If the CPU provider cannot load the model, the model is loaded directly, with a RuntimeWarning
    that says why. ONNX Runtime 1.32, for example, has no QuantizeLinear of opset 28.

    make_options: a function that returns new onnxruntime.SessionOptions; it is called twice. The
        default is onnxruntime.SessionOptions.
    options: as of session_options. `claim` is "all" by default, or "beside" for a model that is
        loaded directly.
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
