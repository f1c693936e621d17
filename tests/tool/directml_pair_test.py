#!/usr/bin/env python3
"""Tests of the commands for DirectML's QUANTIZE and DEQUANTIZE."""

import cli
import numpy as np
from cli import F32, CliTest


class DirectmlPairTest(CliTest):
    """dml-quantize and dml-dequantize: an absent zero point is the middle, and blocks must be
    whole."""

    def test_middles(self):
        x = np.float32([-40, -1, 0, 0.5, 3, 40])
        path = self.save("x.npy", x)
        for name, least, most, middle in [("u8", 0, 255, 128), ("i8", -128, 127, 0),
                                          ("u4", 0, 15, 8), ("i4", -8, 7, 0)]:
            got = self.compute("dml-quantize", path, "--scale", 0.25, "--type", name)
            expected = np.clip(x * 4 + middle, least, most)
            self.assert_same(got, expected.astype(name[0] + "1"), name)
            bits = ["--bits", 4] if name.endswith("4") else []
            back = self.compute("dml-dequantize", self.save("q.npy", got), "--scale", 0.25, *bits)
            self.assert_same(back, ((expected - middle) * F32(0.25)).astype("f4"), name)

    def test_refused(self):
        x = self.save("x.npy", np.zeros(6, F32))
        scales = ["--scale", self.save("s.npy", np.ones(2, F32)), "--type", "u8", "--axis", 0]
        self.compute("dml-quantize", x, *scales, "--block-size", 3)
        self.refuse("dml-quantize", x, *scales, "--block-size", 4,
                    says=["ScaleTensor", "block size 4 of dimension 0 does not divide"], code=1)
        self.refuse("dml-quantize", x, *scales, "--block-size", 3, "--feature-level", "6.2",
                    says="QUANTIZE: needs feature level 6.3, compiled at 6.2", code=1)


if __name__ == "__main__":
    cli.main()
