"""Tests of compiled and bound operators, and of what the package says about itself."""

import gc
import inspect

import hewn
import numpy as np
import pytest
from hewn._operators import OPERATORS, library

X = np.linspace(-3, 3, 24, dtype=np.float32).reshape(4, 6)
NONES = (None,) * len(OPERATORS["quantize_linear"].attributes)


def test_numbers_stay():
    op = hewn.compile(hewn.quantize_linear, X, 0.1, 3)
    assert op.inputs == ("x",)
    assert op.variant.startswith("quantize_linear_f32_u8__")
    for x in (X, X * 2):
        np.testing.assert_array_equal(op(x), hewn.quantize_linear(x, 0.1, 3))
    out = np.empty(X.shape, np.uint8)
    assert op(X, out=out) is out


def test_arrays_are_copied_as_constants():
    scales = np.linspace(0.1, 0.6, 6, dtype=np.float32)
    op = hewn.compile("quantize_linear", X, scales, axis=1)
    expected = hewn.quantize_linear(X, scales, axis=1)
    scales[:] = 9
    np.testing.assert_array_equal(op(X), expected)


def test_arrays_that_are_no_constants():
    scales = np.linspace(0.1, 0.6, 4, dtype=np.float32)
    op = hewn.compile("quantize_linear", X, scales, 3, axis=0, constants=False)
    assert op.inputs == ("x", "scale")
    np.testing.assert_array_equal(
        op(X, scales * 2), hewn.quantize_linear(X, scales * 2, 3, axis=0)
    )


def test_lists_stay():
    """Lists stay in a compiled operator, as numbers do, even if arrays are not constants."""
    scales, zeros = [0.1, 0.2, 0.3, 0.4], [1, 2, 3, 4]
    expected = hewn.quantize_linear(X, np.float32(scales), np.uint8(zeros), axis=0)
    for constants in (True, False):
        op = hewn.compile("quantize_linear", X, scales, zeros, axis=0, constants=constants)
        assert op.inputs == ("x",)
        scales[0] = 9
        np.testing.assert_array_equal(op(X), expected)
        np.testing.assert_array_equal(op.bind(X)(), expected)
        scales[0] = 0.1
    op = hewn.compile("add", X, [1, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(op(X), X + np.arange(1, 7, dtype=np.float32))


def test_layouts_of_compiled_operators():
    view = np.zeros((6, 4), np.float32).T
    view[...] = X
    out = np.empty((4, 12), np.uint8)[:, ::2]
    op = hewn.compile("quantize_linear", view, 0.1, out=out)
    np.testing.assert_array_equal(op(view, out=out), hewn.quantize_linear(X, 0.1))
    blocks = hewn.compile("quantize_linear", X, np.ones((4, 2), "f4"), axis=1, block_size=3)
    np.testing.assert_array_equal(blocks(X), hewn.quantize_linear(X, 1.0))


def test_numbers_among_data():
    op = hewn.compile("add", X, 2)
    np.testing.assert_array_equal(op(X), X + 2)
    gc.collect()
    np.testing.assert_array_equal(op(X * 3), X * 3 + 2)


def test_bound():
    x, out = X.copy(), np.empty(X.shape, np.uint8)
    bound = hewn.compile("quantize_linear", x, 0.1, 3).bind(x, out=out)
    gc.collect()  # it keeps the operator and the arrays
    assert bound() is out
    np.testing.assert_array_equal(out, hewn.quantize_linear(X, 0.1, 3))
    x *= 2
    np.testing.assert_array_equal(bound(), hewn.quantize_linear(x, 0.1, 3))


def test_bound_keeps_what_it_made():
    bound = hewn.compile("add", X, X).bind(X.copy(), X.copy())
    gc.collect()
    np.testing.assert_array_equal(bound(), X + X)


OP = hewn.compile("quantize_linear", X, 0.1, 3)
REFUSED = [
    (lambda: OP(), "inputs: 0 given, expected 1"),
    (lambda: OP(X, X), "inputs: 2 given, expected 1"),
    (lambda: OP(X.T), "x: is float32 [6, 4] with strides [1, 6]; compiled for float32 [4, 6]"),
    (lambda: OP(X.astype("i4")), "x: is int32 [4, 6]"),
    (lambda: OP(0.5), "x: is no array"),
    (lambda: OP(X, out=np.empty((4, 6), "i1")), "out: is int8 [4, 6]"),
    (lambda: OP(X[::-1]), "x: has the negative stride -6 in dimension 0; copy it: x.copy()"),
    (lambda: OP.bind(X[:2]), "x: is float32 [2, 6]"),
    (lambda: hewn.compile("quantize_linear", X), "scale: is None"),
    (lambda: hewn.compile("quantize_linear", X, 0.1, out=np.broadcast_to(X, X.shape)), "read-only"),
]


@pytest.mark.parametrize("call, words", REFUSED, ids=[words for _, words in REFUSED])
def test_refused(call, words):
    with pytest.raises(hewn.Error) as caught:
        call()
    assert words in str(caught.value)


def test_info():
    about = hewn.info()
    assert about.version == hewn.__version__
    assert any(target.supported and target.device == "cpu" for target in about.targets)
    assert {v.target for v in about.variants} <= {target.name for target in about.targets}
    assert about.variants == hewn.variants()


def test_info_tells_what_the_package_can_run():
    """Even a library with kernels for GPUs runs none of them here, whatever drivers the machine
    has."""
    able = {target.name for target in hewn.info().targets if target.supported}
    for target in hewn.info().targets:
        assert target.supported == (target.missing == "")
        assert target.device == "cpu" or not target.supported
    for variant in hewn.variants():
        assert variant.supported == (variant.target in able)
        assert variant.supported or not variant.picked
    # A call uses the kernel that the information names.
    picked = {v.name for v in hewn.variants() if v.picked}
    assert hewn.compile("quantize_linear", X, 0.1, dtype="uint8").variant in picked
    for target in hewn.info().targets:
        if target.device != "cpu":
            with pytest.raises(hewn.Error, match="cannot run here"):
                hewn.add(X, X, variant=target.name)


def test_the_module_counts_what_the_package_passes():
    """generate.py writes the functions. If they passed another number of arguments, that would be
    its fault."""
    words = ("axis", "block_size", "dtype", "scale_dtype", "out", "threads", "variant")
    nones = (None,) * len(words)
    for inputs, options in (
        ((X, 0.1), (*nones, NONES)),
        ((X, 0.1, None, None), (*nones, NONES)),
        ((X, 0.1, None), (*nones[1:], NONES)),
        ((X, 0.1, None), (*nones, ())),
        ((X, 0.1, None), (*nones, (*NONES, None))),
    ):
        with pytest.raises(RuntimeError, match="not an operator's"):
            library.call(OPERATORS["quantize_linear"].number, inputs, options)
    result = library.call(2, (X, 0.1, None), (*nones, NONES))
    np.testing.assert_array_equal(result, hewn.quantize_linear(X, 0.1))


def test_functions_are_the_tables():
    """Names, their order, optional inputs and documentation come from the operator table."""
    for name, row in OPERATORS.items():
        parameters = inspect.signature(getattr(hewn, name)).parameters
        typed = ["dtype"] if name == "mx_quantize" else []  # its type has no default
        keywords = [word for word in row.keywords if word not in typed]
        assert tuple(parameters) == (*row.inputs, *typed, *keywords, *row.attributes)
        required = [word for word, p in parameters.items() if p.default is p.empty]
        assert required == [*row.names[: len(required) - len(typed)], *typed]
        doc = inspect.getdoc(getattr(hewn, name))
        for word in parameters:
            assert f"\n{word}: " in doc
        for part in ("Returns", "Raises hewn.Error", "Source: "):
            assert part in doc
        assert name in hewn.__all__
    assert "Source: DirectML's QUANTIZE_LINEAR, ONNX's" in hewn.quantize_linear.__doc__
    assert "Source: ONNX's com.microsoft.QLinearMul." in hewn.quantized_linear_mul.__doc__
