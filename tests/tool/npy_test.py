#!/usr/bin/env python3
"""Tests of broken .npy files."""

import cli
import numpy as np
from cli import CliTest, make_npy


class BadNpyTest(CliTest):
    def test_malformed(self):
        good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n"
        data = np.ones(2, "f4").tobytes()

        def header(descr="'<f4'", order="False", shape="(2,)"):
            return make_npy(
                f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n", data)

        for file, says in [
            (b"", "only 0 bytes"),
            (b"\x93NUM", "only 4 bytes"),
            (b"PK\x03\x04 this is a zip file", "does not start with"),
            (make_npy(good, data, magic=b"\x92NUMPY"), "does not start with"),
            (make_npy(good, data, magic=b"\x93NUMPZ"), "does not start with"),
            (make_npy(good, data, version=(4, 0)), "version 4.0"),
            (make_npy(good, data, version=(0, 9)), "version 0.9"),
            (make_npy(good, data, version=(1, 1)), "version 1.1"),
            (b"\x93NUMPY\x01\x00", "ends before its header"),
            (b"\x93NUMPY\x02\x00\x10", "ends before its header"),
            (make_npy(good, length=5000), "header should have 5000 bytes"),
            (make_npy(good, version=(2, 0), length=2**32 - 1),
             "header should have 4294967295 bytes"),
            (make_npy(good, data[:-1]), "truncated"),
            (make_npy(good), "needs 8 bytes of data, the file has 0"),
            (make_npy(good, data + b"\0"), "1 bytes after its data"),
            (make_npy("", data), "not a Python dict"),
            (make_npy("[1, 2]", data), "not a Python dict"),
            (make_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)", data),
             "not a Python dict"),
            (make_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}}", data),
             "not a Python dict"),
            (make_npy("{'descr': '<f4', 'fortran_order': False, 'shape': __import__('os')}", data),
             "not a Python dict"),
            (make_npy("{'descr': '<f4\n", data), "not a Python dict"),
            (make_npy(b"{'descr': '\xff\xfe', 'fortran_order': False, 'shape': (2,)}", data),
             "not a Python dict"),
            (make_npy("{" * 60000, data), "not a Python dict"),
            (make_npy("(" * 60000, data), "not a Python dict"),
            (make_npy("{'descr': " + "(" * 30000 + ")" * 30000
                      + ", 'fortran_order': False, 'shape': (2,)}", data), "structured"),
            (make_npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + "(" * 30000
                      + ")" * 30000 + "}", data), "integers"),
            (make_npy("{'descr': '<f4', 'fortran_order': False}", data), "lacks the key 'shape'"),
            (make_npy("{'fortran_order': False, 'shape': (2,)}", data), "lacks the key 'descr'"),
            (make_npy("{'descr': '<f4', 'shape': (2,)}", data), "lacks the key 'fortran_order'"),
            (make_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}", data),
             "keys other than"),
            (header(order="0"), "neither True nor False"),
            (header(order="'False'"), "neither True nor False"),
            (header(shape="2"), "not a tuple"),
            (header(shape="'2'"), "not a tuple"),
            (header(shape="(-2,)"), "negative size -2"),
            (header(shape="(2.0,)"), "integers"),
            (header(shape="('2',)"), "integers"),
            (header(shape="(True,)"), "integers"),
            (header(shape="(None,)"), "integers"),
            (header(shape="(2**3,)"), "not a Python dict"),
            (header(shape="(2, L)"), "not a Python dict"),
            (header(shape="(99999999999999999999999,)"), "overflows"),
            (header(shape="(18446744073709551615,)"), "overflows"),
            (header(shape="(4294967296, 4294967296)"), "overflows"),
            (header(shape="(2305843009213693952,)"), "overflows"),
            (header(shape="(1000000000000,)"), "truncated"),
            (header(shape="(1, 1, 1, 1, 1, 1, 1, 1, 2)"), "9 dimensions"),
            (header(descr="'>f4'"), "big-endian"),
            (header(descr="'>f2'"), "big-endian"),
            (header(descr="'>i2'"), "big-endian"),
            (header(descr="'|f4'"), "without a byte order"),
            (header(descr="'<f8'"), "save it with .astype('<f4')"),
            (header(descr="'<c8'"), "'<c8'"),
            (header(descr="'|b1'"), "'|b1'"),
            (header(descr="'<M8[ns]'"), "unknown data type"),
            (header(descr="'<U2'"), "'<U2'"),
            (header(descr="'|S4'"), "'|S4'"),
            (header(descr="'|O'"), "Python objects"),
            (header(descr="'O8'"), "Python objects"),
            (header(descr="'float32'"), "unknown data type"),
            (header(descr="''"), "unknown data type"),
            (header(descr="'<f9'"), "'<f9'"),
            (header(descr="'<V1'"), "bytes without a type ('<V1')"),
            (header(descr="'|V1'"), "--input-type"),
            (header(descr="'<V3'"), "'<V3'"),
            (header(descr="'<f16'"), "unknown data type"),
            (header(descr="'<u0'"), "'<u0'"),
            (header(descr="4"), "structured"),
            (header(descr="[('a', '<f4')]"), "structured"),
        ]:
            with self.subTest(says=says, file=file[:120]):
                self.refuse("add", self.write("bad.npy", file), self.path("bad.npy"),
                            says=["bad.npy", says])

    def test_numpy_agrees_on_what_is_written(self):
        """Files that NumPy itself writes, of types that hewn does not accept."""
        record = np.zeros(2, [("x", "f4"), ("y", "i2")])
        for array, says in [(np.zeros(2), "f64"), (np.zeros(2, complex), "c16"),
                            (np.zeros(2, bool), "'|b1'"), (record, "structured"),
                            (np.array([{}, []], object), "Python objects"),
                            (np.array(["a"]), "'<U1'"), (np.zeros(2, ">i4"), "big-endian")]:
            a = self.path("a.npy")
            np.save(a, array, allow_pickle=True)
            self.refuse("add", a, a, says=["a.npy", says])

    def test_every_truncation_and_random_damage(self):
        whole = make_npy("{'descr': '<i2', 'fortran_order': False, 'shape': (3, 2), }\n", bytes(12))
        for size in range(len(whole)):
            self.refuse("add", self.write("bad.npy", whole[:size]), self.path("bad.npy"),
                        says="bad.npy")
        for _ in range(100):
            damaged = bytearray(whole)
            for _ in range(self.rng.integers(1, 4)):
                damaged[self.rng.integers(len(damaged))] = self.rng.integers(256)
            file = self.write("bad.npy", bytes(damaged))
            result = self.run_hewn("add", file, file, "-o", self.path("out.npy"))
            self.assertIn(result.returncode, (0, 2), f"{bytes(damaged)}\n{result.stderr}")


if __name__ == "__main__":
    cli.main()
