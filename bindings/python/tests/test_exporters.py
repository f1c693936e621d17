"""Memory of others is not trusted beyond what was checked: buffers and DLPack capsules that give no
strides, or that have another form than NumPy's."""

import ctypes
import mmap
import multiprocessing
import unittest.mock

import hewn
import numpy as np
import pytest

X = np.linspace(-3, 3, 24, dtype=np.float32).reshape(2, 3, 4)
EXPECTED = hewn.quantize_linear(X, 0.1, 3)


# ---- The buffer protocol ----


def ctypes_array(array):
    """A ctypes array. It gives no strides, even though it is asked for them."""
    kind = np.ctypeslib.as_ctypes_type(array.dtype)
    for size in reversed(array.shape):
        kind = kind * size
    return kind.from_buffer_copy(np.ascontiguousarray(array))


def test_buffers_without_strides():
    given = ctypes_array(X)
    np.testing.assert_array_equal(hewn.quantize_linear(given, 0.1, 3), EXPECTED)
    scales = (ctypes.c_float * 3)(0.1, 0.2, 0.3)
    np.testing.assert_array_equal(
        hewn.quantize_linear(given, scales, axis=1),
        hewn.quantize_linear(X, np.array(scales), axis=1),
    )
    out = ctypes_array(np.zeros_like(EXPECTED))
    assert hewn.quantize_linear(given, 0.1, 3, out=out) is out
    np.testing.assert_array_equal(np.array(out), EXPECTED)
    raw = multiprocessing.RawArray("f", X.ravel().tolist())
    np.testing.assert_array_equal(hewn.quantize_linear(raw, 0.1, 3), EXPECTED.ravel())
    op = hewn.compile("quantize_linear", given, 0.1, 3)
    np.testing.assert_array_equal(op(given), EXPECTED)


def test_buffers_of_no_dimension_and_of_no_element():
    assert hewn.quantize_linear(ctypes.c_float(1), 0.5) == 2
    assert hewn.quantize_linear((ctypes.c_float * 0)(), 0.5).shape == (0,)
    assert hewn.quantize_linear((ctypes.c_float * 3 * 0 * 2)(), 0.5).shape == (2, 0, 3)


def test_bytes_and_maps():
    with mmap.mmap(-1, 16) as memory:
        memory[:4] = bytes([0, 1, 2, 255])
        got = hewn.dequantize_linear(memory, 0.5)
        np.testing.assert_array_equal(got[:4], np.float32([0, 0.5, 1, 127.5]))
    assert hewn.dequantize_linear(b"\0\1", 0.5).tolist() == [0, 0.5]
    with pytest.raises(hewn.Error, match="out: is read-only"):
        hewn.quantize_linear(X.ravel()[:2], 0.5, out=b"\0\1")


class Pair(ctypes.Structure):
    _fields_ = [("a", ctypes.c_float), ("b", ctypes.c_uint8)]


@pytest.mark.parametrize("given", [
    (ctypes.c_bool * 3)(), (Pair * 3)(), (ctypes.c_wchar * 3)(), (ctypes.c_void_p * 3)(),
    (ctypes.c_float.__ctype_be__ * 3)(), memoryview(b"abc").cast("c"),
], ids=["bool", "pair", "wchar", "pointer", "big-endian", "char"])  # fmt: skip
def test_buffers_of_other_elements(given):
    with pytest.raises(hewn.Error, match="^x: "):
        hewn.quantize_linear(given, 0.1)


def test_buffers_of_pointers_to_rows():
    testbuffer = pytest.importorskip("_testbuffer")
    rows = testbuffer.ndarray(list(range(12)), shape=[3, 4], format="B",
                              flags=testbuffer.ND_PIL)  # fmt: skip
    with pytest.raises(hewn.Error, match="^x: "):
        hewn.dequantize_linear(rows, 0.1)


# ---- DLPack ----


class Tensor(ctypes.Structure):
    """DLTensor of DLPack."""

    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]
    capsule_name = b"dltensor"


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", Tensor),
    ]  # fmt: skip
    capsule_name = b"dltensor_versioned"


given_back = []


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def delete(tensor):
    """The deleter for DLPack. The memory is Python's, so it only counts."""
    given_back.append(tensor)


class Exporter:
    """Lends an array as DLPack, with changes that no framework makes."""

    def __init__(self, array, version=None, name=None, flags=0, **changes):
        self.array, self.version, self.name = array, version, name
        shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        kinds = {"i": 0, "u": 1, "f": 2}
        tensor = Tensor(array.ctypes.data, 1, 0, array.ndim, kinds[array.dtype.kind],
                        8 * array.itemsize, 1, shape, None, 0)  # fmt: skip
        for field, value in changes.items():
            if field in ("shape", "strides"):
                value = (ctypes.c_int64 * len(value))(*value)
            setattr(tensor, field, value)
        deleter = ctypes.cast(delete, ctypes.c_void_p)
        self.managed = (
            Versioned(*version, None, deleter, flags, tensor) if version
            else Managed(tensor, None, deleter)
        )  # fmt: skip

    def __dlpack__(self, **keywords):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self.kept = self.name or self.managed.capsule_name
        return new(ctypes.addressof(self.managed), self.kept, None)


@pytest.mark.parametrize("version", [None, (1, 0), (1, 3)])
def test_dlpack(version):
    for array in (X, X[0, 0, :1].reshape(()), X[:0]):
        got = hewn.quantize_linear(Exporter(array, version), 0.1, 3)
        np.testing.assert_array_equal(got, hewn.quantize_linear(array, 0.1, 3))
    got = hewn.quantize_linear(Exporter(X, version, strides=[4, 8, 1]), 0.1, 3)
    turned = X.reshape(3, 2, 4).transpose(1, 0, 2)
    np.testing.assert_array_equal(got, hewn.quantize_linear(turned, 0.1, 3))
    out = np.zeros_like(EXPECTED)
    exporter = Exporter(out, version)
    assert hewn.quantize_linear(X, 0.1, 3, out=exporter) is exporter
    np.testing.assert_array_equal(out, EXPECTED)
    capsule = Exporter(X, version)
    np.testing.assert_array_equal(hewn.quantize_linear(capsule.__dlpack__(), 0.1, 3), EXPECTED)


REFUSED = [
    ({"lanes": 2}, "hewn has no type float32 in vectors of 2"),
    ({"lanes": 0}, "hewn has no type float32 in vectors of 0"),
    ({"bits": 0}, "hewn has no type float0"),
    ({"code": 200}, "hewn has no type DLPack's type 200"),
    ({"code": 1, "bits": 4}, "hewn has no type uint4"),
    ({"version": (2, 0)}, "is of DLPack 2, and hewn reads DLPack 1"),
    ({"version": (0, 9)}, "is of DLPack 0, and hewn reads DLPack 1"),
    ({"name": b"used_dltensor"}, "gives no DLPack capsule"),
    ({"name": b"other"}, "gives no DLPack capsule"),
    ({"ndim": -1}, "is no array"),
    ({"ndim": 9, "shape": [1] * 9}, "has 9 dimensions, more than 8"),
    ({"shape": [2, -3, 4]}, "has the negative size -3"),
    ({"shape": [2**40, 2**40, 4]}, "has elements further apart than memory reaches"),
    ({"shape": [2**40, 2**40, 4], "strides": [0, 0, 0]}, "has elements further apart"),
    ({"strides": [12, 4, -1]}, "has the negative stride -1"),
    ({"strides": [2**62, 4, 1]}, "has elements further apart"),
    ({"data": None}, "has no memory"),
    ({"byte_offset": 1}, "is misaligned"),
    ({"device_type": 2}, "is not in the CPU's memory"),
]  # fmt: skip


@pytest.mark.parametrize("changes, words", REFUSED, ids=[str(changes) for changes, _ in REFUSED])
def test_dlpack_refused(changes, words):
    with pytest.raises(hewn.Error) as caught:
        hewn.quantize_linear(Exporter(X, **changes), 0.1)
    assert str(caught.value).startswith("x: ")
    assert words in str(caught.value)
    out = np.full(X.shape, 77, np.float32)
    with pytest.raises(hewn.Error, match="^out: "):
        hewn.dequantize_linear(EXPECTED, 0.1, out=Exporter(out, **changes))
    assert (out == 77).all()


def test_dlpack_read_only():
    out = np.zeros_like(EXPECTED)
    np.testing.assert_array_equal(
        hewn.dequantize_linear(Exporter(out, (1, 0), flags=1), 0.1), np.zeros(X.shape, "f4")
    )
    with pytest.raises(hewn.Error, match="out: is read-only"):
        hewn.quantize_linear(X, 0.1, out=Exporter(out, (1, 0), flags=1))
    assert not out.any()


@pytest.mark.parametrize("raised", [ValueError, BufferError, TypeError, RuntimeError, OSError])
def test_what_an_exporter_raises(raised):
    class Raises:
        def __dlpack__(self, **keywords):
            raise raised("mine \ud800")

    with pytest.raises(hewn.Error, match=r"^x: .*mine \\ud800"):
        hewn.quantize_linear(Raises(), 0.1)


def test_an_exporter_that_is_interrupted():
    class Interrupted:
        def __dlpack__(self, **keywords):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hewn.quantize_linear(Interrupted(), 0.1)


def test_dlpack_that_gives_no_capsule():
    class Lies:
        def __dlpack__(self, **keywords):
            return 5

    with pytest.raises(hewn.Error, match="x: its __dlpack__ gives no DLPack capsule"):
        hewn.quantize_linear(Lies(), 0.1)


def test_dlpack_is_given_back_once():
    """hewn gives the tensor back if it has taken over the capsule, even if it then refuses the
    tensor."""
    for changes in ({}, {"version": (1, 0)}, {"data": None}, {"device_type": 2}, {"lanes": 2}):
        given_back.clear()
        exporter = Exporter(X, **changes)
        try:
            hewn.quantize_linear(exporter, 0.1)
        except hewn.Error:
            assert changes
        assert given_back == [ctypes.addressof(exporter.managed)], changes
    given_back.clear()
    op = hewn.compile("quantize_linear", Exporter(X), 0.1)
    bound = op.bind(Exporter(X))
    bound()
    assert len(given_back) == 1  # compile has read its description
    del bound
    assert len(given_back) == 2


def test_huge_shapes_of_no_element():
    huge = Exporter(X[:0], shape=[2**40, 2**40, 0])
    out = np.zeros(0, np.uint8)
    with pytest.raises(hewn.Error, match=r"out: is \[0\]; the result is \[1099511627776, "):
        hewn.quantize_linear(huge, 0.1, out=out)
    assert hewn.compile("quantize_linear", huge, 0.1).variant


# ---- Other objects ----


class OwnAstype(np.ndarray):
    """A subclass whose astype is not NumPy's."""

    def astype(self, *_, **__):
        return self.answer


@pytest.mark.parametrize("answer", [5, np.zeros(3), np.zeros((4, 2), np.int8)[:, 0], b"abc"])
def test_a_copy_that_is_not_what_was_asked_for(answer):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    given = np.zeros(4, ml_dtypes.int4).view(OwnAstype)
    given.answer = answer
    with pytest.raises(hewn.Error, match="^x: "):
        hewn.dequantize_linear(given, 0.1)


def test_objects_that_have_every_attribute():
    with pytest.raises((hewn.Error, TypeError)):
        hewn.add(unittest.mock.MagicMock(), X)
    with pytest.raises((hewn.Error, TypeError)):
        hewn.quantize_linear(X, 0.1, out=unittest.mock.MagicMock())


def test_memory_that_is_no_more():
    view = memoryview(bytearray(12))
    view.release()
    memory = mmap.mmap(-1, 16)
    memory.close()
    for gone in (view, memory):
        with pytest.raises(hewn.Error, match="x: is no array .*: .*(released|closed)"):
            hewn.dequantize_linear(gone, 0.1)


def test_a_refused_buffer_is_given_back():
    memory = bytearray(24)
    for given in (memory, memoryview(memory).cast("d")):
        with pytest.raises(hewn.Error):
            hewn.quantize_linear(given, 0.1)
    del given
    memory.append(0)  # a BufferError while somebody has it


# ---- Masks ----


def test_masked_arrays_are_refused():
    """hewn refuses masked arrays, because a mask would be lost silently."""
    masked = np.ma.masked_array(X, X > 0)
    for given in (masked, np.ma.masked_array(X), np.ma.masked_array(X)[0]):
        with pytest.raises(hewn.Error, match=r"x: is a masked array.* x\.filled\(\), or x\.data"):
            hewn.quantize_linear(given, 0.1)
    with pytest.raises(hewn.Error, match="scale: is a masked array"):
        hewn.quantize_linear(X, np.ma.masked_array(np.ones(3, "f4")), axis=1)
    out = np.ma.masked_array(np.zeros_like(EXPECTED))
    with pytest.raises(hewn.Error, match="out: is a masked array"):
        hewn.quantize_linear(X, 0.1, out=out)
    assert not out.data.any()
    np.testing.assert_array_equal(hewn.quantize_linear(masked.data, 0.1, 3), EXPECTED)
    filled = hewn.quantize_linear(masked.filled(0), 0.1, 3)
    np.testing.assert_array_equal(filled, hewn.quantize_linear(np.where(X > 0, 0, X), 0.1, 3))
