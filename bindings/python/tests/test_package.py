"""Tests of the installed package: its files, types, command line, and what documents show of it."""

import importlib.metadata
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import hewn
import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs/python.md"
EXAMPLES = sorted((ROOT / "examples/python").glob("*.py"))


def run(*arguments, status=0, **keywords):
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **keywords)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def test_files():
    files = {str(path) for path in importlib.metadata.files("hewn-kernels")}
    assert {f"hewn/{name}" for name in ("py.typed", "_hewn.pyi", "_operators.pyi")} <= files
    metadata = importlib.metadata.metadata("hewn-kernels")
    assert metadata["Version"] == hewn.__version__
    assert set(metadata.get_all("License-File")) == {"LICENSE", "THIRD_PARTY.md"}
    extensions = [name for name in files if re.search(r"/_hewn\.[^/]*(so|pyd)$", name)]
    assert len(extensions) == 1
    # The package has only Python, types and the extension: no library and no header.
    rest = {pathlib.Path(name).suffix for name in files if name.startswith("hewn/")}
    assert rest <= {".py", ".pyi", ".typed", ".so", ".pyd", ".pyc"}


def test_installed_not_the_source():
    assert ROOT not in pathlib.Path(hewn.__file__).parents or "build" in hewn.__file__


# ---- Types ----


@pytest.fixture(scope="session")
def mypy(tmp_path_factory):
    pytest.importorskip("mypy")
    cache = tmp_path_factory.mktemp("mypy")
    command = ("-m", "mypy", "--strict", "--cache-dir", cache)
    return lambda *rest, status=0: run(*command, *rest, status=status, cwd=cache)


def test_the_package_is_typed(mypy):
    mypy("-p", "hewn")


def test_examples_are_typed(mypy, tmp_path):
    assert EXAMPLES
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.py"
    page.write_text("\n".join(programs()), encoding="utf-8")
    mypy(*EXAMPLES, page)


def test_types_tell_what_is_wrong(mypy, tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "import hewn, numpy as np\nx = np.zeros(3, np.float32)\n"
        "hewn.quantize_linear(x)\nhewn.add(x, x, axis=1)\ny: int = hewn.add(x, x)\n",
        encoding="utf-8",
    )
    told = mypy(wrong, status=1)
    assert [line in told for line in ("wrong.py:3:", "wrong.py:4:", "wrong.py:5:")] == [True] * 3


# ---- Documents and examples ----


def programs():
    return re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.S | re.M)


def test_the_page_s_programs_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(programs()) >= 3
    names = {}
    for program in programs():
        try:
            exec(compile(program, str(PAGE), "exec"), names)
        except hewn.Error as error:
            if "this build of hewn has no kernel" in str(error):
                pytest.skip(str(error))
            raise


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_examples_run(example, tmp_path):
    pytest.importorskip("matplotlib")
    printed = run(example, ROOT / "examples/data/chelsea.png", tmp_path)
    errors = [float(number) for number in re.findall(r"\d\.\d+", printed)]
    assert errors[1] < errors[0] / 2  # a scale per channel is better
    assert {path.name for path in tmp_path.iterdir()} == {"errors.png", "levels.png"}


def test_the_measurement_measures(monkeypatch):
    path = ROOT / "bench/bindings/python_calls.py"
    spec = importlib.util.spec_from_file_location("python_calls", path)
    measurement = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(measurement)
    monkeypatch.setattr(measurement, "SECONDS", 0.01)
    monkeypatch.setattr(measurement, "of_torch", lambda x: {})
    monkeypatch.setattr(measurement, "of_onnxruntime", lambda x, out: {})
    times = measurement.measure(64)
    assert len(times) == 6 and min(times.values()) > 0


# ---- python -m hewn ----

TOOL = ("-m", "hewn")


def test_info():
    printed = run(*TOOL, "info")
    assert printed.startswith(f"hewn {hewn.__version__}, NumPy")
    for target in hewn.info().targets:
        assert f"\n{target.name}: " in printed


def test_verify():
    assert run(*TOOL, "verify", "add_f32").endswith("kernels against NumPy: 0 differ\n")


def test_operators_on_files(tmp_path):
    x = np.linspace(-3, 3, 24, dtype=np.float32).reshape(4, 6)
    scales = np.linspace(0.1, 0.4, 4).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "s.npy", scales)
    here = {"cwd": tmp_path}
    run(*TOOL, "quantize", "x.npy", "--scale", "0.1", "--zero-point", "3", "-o", "q.npy", **here)
    q = hewn.quantize_linear(x, 0.1, 3)
    np.testing.assert_array_equal(np.load(tmp_path / "q.npy"), q)
    run(*TOOL, "dequantize", "q.npy", "--scale", "s.npy", "--axis", "0", "-o", "y.npy", **here)
    y = hewn.dequantize_linear(q, scales, axis=0)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), y)
    listed = ["--scale", "[0.1, 0.2, 0.3, 0.4]", "--axis", "0", "--dtype", "float16"]
    run(*TOOL, "dequantize", "q.npy", *listed, "-o", "y.npy", **here)
    y = hewn.dequantize_linear(q, [0.1, 0.2, 0.3, 0.4], axis=0, dtype="float16")
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), y)
    run(*TOOL, "add", "x.npy", "2", "-o", "sum.npy", **here)
    np.testing.assert_array_equal(np.load(tmp_path / "sum.npy"), x + 2)
    parameters = ["--a-scale", "0.1", "--b-scale", "0.1", "--output-scale", "0.2"]
    run(*TOOL, "qadd", "q.npy", "q.npy", *parameters, "-o", "sum.npy", **here)
    summed = hewn.quantized_linear_add(q, 0.1, None, q, 0.1, None, 0.2)
    np.testing.assert_array_equal(np.load(tmp_path / "sum.npy"), summed)


def test_the_tool_tells_what_is_wrong(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(3))
    for arguments, words in (
        (("quantize", "x.npy", "--scale", "1", "-o", "q.npy"), "x: is float64; the operator"),
        (("quantize", "none.npy", "--scale", "1", "-o", "q.npy"), "none.npy"),
        (("quantize", "x.npy", "-o", "q.npy"), "--scale"),
        (("multiply",), "multiply"),
        ((), "COMMAND"),
    ):
        command = [sys.executable, *TOOL, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 2
        assert words in done.stderr
        assert "Traceback" not in done.stderr
    assert os.listdir(tmp_path) == ["x.npy"]
