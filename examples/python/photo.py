"""Quantizes a photograph to 8 bits, with one scale for all channels and with one scale for each,
and draws what is lost. Writes two pictures, errors.png and levels.png:

    python photo.py PHOTO OUTPUT_FOLDER
"""

import pathlib
import sys
from typing import Any

import hewn
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.float32]
CHANNELS = ("Y, brightness", "Cb, blue", "Cr, red")
TO_YCBCR = np.array(
    [[0.299, 0.587, 0.114], [-0.1687, -0.3313, 0.5], [0.5, -0.4187, -0.0813]], np.float32
)


def read(path: str) -> Image:
    """Reads a photograph as three channels, as JPEG stores it: brightness, which varies much, and
    two colours, which vary little. Their means are subtracted."""
    rgb = np.asarray(plt.imread(path), np.float32)[..., :3]
    ycbcr = rgb @ TO_YCBCR.T
    centred: Image = (ycbcr - ycbcr.mean((0, 1))).astype(np.float32)
    return centred


def scale_of(x: NDArray[Any], axes: tuple[int, ...]) -> Any:
    """The scale with which the largest element becomes 127, the largest int8."""
    return (np.abs(x).max(axes) / 127).astype(np.float32)


def round_trip(x: Image, scale: Any, axis: int | None = None) -> Image:
    """Quantizes to int8 and back. With `axis`, the scale has an element for each index of it."""
    q = hewn.quantize_linear(x, scale, dtype="int8", axis=axis)
    back: Image = hewn.dequantize_linear(q, scale, axis=axis)
    return back


def draw(x: Image, ways: dict[str, Image], path: pathlib.Path) -> None:
    """Draws the photograph's brightness and, for each way to quantize, the error of the colours."""
    figure, axes = plt.subplots(1, 1 + len(ways), figsize=(12, 3), layout="constrained")
    axes[0].imshow(x[..., 0], cmap="gray")
    axes[0].set_title("brightness")
    for place, (name, back) in zip(axes[1:], ways.items()):
        error = np.abs(back - x)[..., 1:].mean(2)
        place.imshow(error, cmap="magma", vmin=0, vmax=0.0025)
        place.set_title(f"{name}: mean error {error.mean():.5f}")
    for place in axes:
        place.set_axis_off()
    figure.savefig(path, metadata={"Software": None})


def draw_levels(x: Image, scale: Any, scales: Any, path: pathlib.Path) -> None:
    """Draws how often each of the 256 levels is used."""
    figure, axes = plt.subplots(1, 3, figsize=(12, 2.5), sharey=True, layout="constrained")
    one = hewn.quantize_linear(x, scale, dtype="int8")
    each = hewn.quantize_linear(x, scales, dtype="int8", axis=2)
    for channel, (place, name) in enumerate(zip(axes, CHANNELS)):
        for q, label in ((one, "one scale"), (each, "a scale a channel")):
            levels = q[..., channel].ravel()
            place.hist(levels, bins=64, range=(-128, 128), histtype="step", label=label)
        place.set_title(f"{name}: {len(np.unique(one[..., channel]))} levels with one scale")
    axes[0].legend()
    figure.savefig(path, metadata={"Software": None})


def main() -> None:
    photo, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    matplotlib.use("agg")
    x = read(photo)
    scale, scales = scale_of(x, (0, 1, 2)), scale_of(x, (0, 1))
    ways = {"one scale": round_trip(x, scale), "a scale a channel": round_trip(x, scales, axis=2)}
    for name, back in ways.items():
        print(f"{name}: mean error of the colours {np.abs(back - x)[..., 1:].mean():.5f}")
    draw(x, ways, folder / "errors.png")
    draw_levels(x, scale, scales, folder / "levels.png")


if __name__ == "__main__":
    main()
