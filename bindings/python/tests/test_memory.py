"""Tests of references, leaks and threads."""

import gc
import os
import pathlib
import subprocess
import sys
import threading
import time

import hewn
import numpy as np
import pytest

X = np.linspace(-3, 3, 4096, dtype=np.float32)
SCALES, ZEROS = [0.1 + i for i in range(64)], list(range(64))


STATM = pathlib.Path("/proc/self/statm")
needs_proc = pytest.mark.skipif(not STATM.exists(), reason="no /proc")


def resident_pages():
    return int(STATM.read_text(encoding="ascii").split()[1])


def everything():
    """Makes calls of each kind, both successful and failing."""
    out = np.empty(X.shape, np.uint8)
    hewn.quantize_linear(X, 0.1, 3)
    hewn.quantize_linear(X, np.full(4096, 0.1, "f4"), np.zeros(4096, "u1"), axis=0, out=out)
    hewn.quantize_linear(X[:64], SCALES, ZEROS, axis=0)
    hewn.compile("quantize_linear", X[:64], SCALES, ZEROS, axis=0)(X[:64])
    op = hewn.compile("quantize_linear", X, np.full(4096, 0.1, "f4"))
    op.bind(X, out=out)()
    op(X)
    for bad in ({"out": X}, {"zero_point": 999}, {"dtype": "float64"}, {"out": np.empty(3, "u1")}):
        with pytest.raises(hewn.Error):
            hewn.quantize_linear(X, 0.1, **bad)
    for bad in ([0.1] * 63 + [0], [[0.1] * 64, [0.1]], [0.1] * 63 + ["text"]):
        with pytest.raises(hewn.Error):
            hewn.quantize_linear(X[:64], bad, axis=0)
    with pytest.raises(hewn.Error):
        op(out)


def counts():
    while gc.collect():  # freeing may free more
        pass
    return [sys.getrefcount(item) for item in (X, SCALES, SCALES[1], ZEROS, None, hewn.Error)]


def test_no_reference_is_kept():
    everything()
    before = counts()
    for _ in range(100):
        everything()
    assert counts() == before


@needs_proc
def test_no_leak():
    for _ in range(300):
        everything()
    before = resident_pages()
    for _ in range(1000):
        everything()
    assert resident_pages() - before < 250  # 1 MiB; the outputs would be 12 MiB


@needs_proc
def test_the_cache_is_bounded():
    """hewn compiles for each size, but does not keep every operator."""
    for count in range(3000):
        hewn.quantize_linear(X[:count], 0.1)
    before = resident_pages()
    for count in range(3000):
        hewn.quantize_linear(X[:count], 0.2)
    assert resident_pages() - before < 500


def test_operators_keep_no_arrays():
    x = X.copy()
    count = sys.getrefcount(x)
    op = hewn.compile("quantize_linear", x, 0.1)
    assert sys.getrefcount(x) == count
    bound = op.bind(x)
    assert sys.getrefcount(x) > count
    del bound
    gc.collect()
    assert sys.getrefcount(x) == count


def test_the_gil_is_released():
    x, out = np.ones(1 << 24, np.float32), np.empty(1 << 24, np.uint8)
    bound = hewn.compile("quantize_linear", x, 0.5, threads=1).bind(x, out=out)
    for run in (lambda: hewn.quantize_linear(x, 0.5, out=out, threads=1), bound):
        assert any(counted_while(run) > 100 for _ in range(100))  # not at once on a busy machine


def counted_while(run):
    """How far another thread counts while `run` runs."""
    counts, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counts[0] += 1

    thread = threading.Thread(target=count)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(0.2)  # in less, the GIL changes hands only if it is given back
    try:
        thread.start()
        time.sleep(0.01)
        before = counts[0]
        run()
        return counts[0] - before
    finally:
        stop.set()
        sys.setswitchinterval(interval)
        thread.join()


def test_threads_share_functions_and_operators():
    op, errors = hewn.compile("add", X, X), []

    def work(seed):
        try:
            random = np.random.default_rng(seed)
            for size in random.integers(1, 400, 300):
                x = random.standard_normal(size).astype(np.float32)
                np.testing.assert_array_equal(hewn.add(x, x), x + x)
                np.testing.assert_array_equal(op(X, X), X + X)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_modules_state_is_collected():
    """If it is asked to, nanobind reports at exit what was not collected."""
    program = "import hewn, numpy as np; hewn.quantize_linear(np.ones(3, 'f4'), 1.0)"
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True,
        env={**os.environ, "HEWN_PYTHON_LEAKS": "1"},
    )
    assert (done.stdout, done.stderr) == ("", "")


CALLS = [
    "hewn.add(x, x)",
    "hewn.add(Exporter(), 1.0)",
    "hewn.quantize_linear(x, 0.1, dtype=ml_dtypes.int4)",
    "try: hewn.add(x, 'x')\n        except hewn.Error: pass",
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("count", [4, 1 << 16])
def test_threads_at_the_end_of_the_process(count, call):
    """Daemon threads are in a call when the interpreter ends. The call is small, or runs without
    the GIL."""
    pytest.importorskip("ml_dtypes")
    if "int4" in call and not any(v.signature == "f32_i8" for v in hewn.variants()):
        pytest.skip("this build has no such kernel")
    program = f"""
import threading, time
import hewn, ml_dtypes, numpy as np
x = np.ones({count}, "f4")
class Exporter:
    def __dlpack__(self, **keywords):
        return x.__dlpack__(**keywords)
def work():
    while True:
        {call}
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
"""
    for _ in range(4):
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert (ended.returncode, ended.stderr) == (0, "")
