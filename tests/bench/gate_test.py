#!/usr/bin/env python3
"""Tests the verdict of bench/report/gate.py on good, bad, noisy and wrong reports: gate_test.py
SOURCE"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest


def row(median, low, high, elements=4096, peer="baseline"):
    return {"op": "add", "signature": "f32", "layout": "dense", "elements": elements, "threads": 1,
            "peer": peer, "ratio": median, "ratio_low": low, "ratio_high": high}


class GateTest(unittest.TestCase):
    def gate(self, *reports):
        """The exit status and the output for reports, each of which is a list of rows."""
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder) / f"{i}.json" for i in range(len(reports))]
            for path, rows in zip(paths, reports):
                path.write_text(json.dumps(rows))
            run = subprocess.run([sys.executable, GATE, *paths], capture_output=True, text=True)
        return run.returncode, run.stdout

    def test_good(self):
        self.assertEqual(self.gate([row(1.0, 0.99, 1.01)], [row(1.2, 1.1, 1.3)])[0], 0)

    def test_bad(self):
        bad = [row(0.9, 0.88, 0.92), row(1.0, 0.99, 1.01, elements=16)]
        status, text = self.gate(bad, bad)
        self.assertEqual(status, 1)
        self.assertIn("SLOWER  add f32 dense 4096 elements, 1 thread(s): 0.90 (0.88 to 0.92)", text)
        self.assertIn("1 of 2 rows", text)

    def test_noisy(self):
        for first, second in [((0.8, 0.5, 1.1), (0.8, 0.5, 1.1)),  # a wide interval
                              ((0.9, 0.88, 0.92), (1.0, 0.99, 1.01)),  # slower in only one run
                              ((0.98, 0.975, 0.985), (0.98, 0.975, 0.985))]:  # within the noise
            self.assertEqual(self.gate([row(*first)], [row(*second)])[0], 0)

    def test_wrong_files(self):
        self.assertEqual(self.gate([row(1.0, 1.0, 1.0, peer="XNNPACK")])[0], 2)
        self.assertEqual(self.gate([row(1, 1, 1)], [row(1, 1, 1, elements=16)])[0], 2)


if __name__ == "__main__":
    GATE = pathlib.Path(sys.argv.pop(1)) / "bench" / "report" / "gate.py"
    unittest.main()
