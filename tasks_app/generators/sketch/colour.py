"""Colour arithmetic in OKLab, where equal steps look equal (B. Ottosson, 2020)."""

from functools import cache

import numpy as np

from tasks_app.generators.sketch.arrays import Array

_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ],
    dtype=np.float32,
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ],
    dtype=np.float32,
)
_FROM_LAB = np.linalg.inv(_TO_LAB).astype(np.float32)
_FROM_LMS = np.linalg.inv(_TO_LMS).astype(np.float32)


def _apply(matrix: Array, pixels: Array) -> Array:
    """Multiply each pixel by a 3x3 matrix, term by term: the same bytes on any BLAS."""
    first, second, third = pixels[..., 0], pixels[..., 1], pixels[..., 2]
    rows = [row[0] * first + row[1] * second + row[2] * third for row in matrix]
    return np.stack(rows, axis=-1)


def to_oklab(srgb: Array) -> Array:
    """Return OKLab (L 0..1, a, b) of sRGB values 0..1; the last axis has three entries."""
    srgb = np.clip(srgb, 0.0, 1.0)
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    return _apply(_TO_LAB, np.cbrt(_apply(_TO_LMS, linear)))


def from_oklab(lab: Array) -> Array:
    """Return sRGB 0..1 of OKLab values; colours outside the gamut are clipped."""
    linear = np.clip(_apply(_FROM_LMS, _apply(_FROM_LAB, lab) ** 3), 0.0, 1.0)
    srgb = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.clip(srgb, 0.0, 1.0).astype(np.float32)


@cache
def _parsed(code: str) -> tuple[float, float, float]:
    red, green, blue = (int(code[i : i + 2], 16) / 255.0 for i in (1, 3, 5))
    return red, green, blue


def rgb(*codes: str) -> Array:
    """Return ``#rrggbb`` codes as float32 sRGB: shape (3,) for one code, (n, 3) for more."""
    values = np.array([_parsed(code) for code in codes], dtype=np.float32)
    return values[0] if len(codes) == 1 else values


def ramp(stops: Array, position: Array) -> Array:
    """Return colours along ``stops`` (n, 3; sRGB) at ``position`` 0..1, blended in OKLab."""
    return from_oklab(ramp_oklab(to_oklab(stops), position))


def ramp_oklab(stops: Array, position: Array) -> Array:
    """Return OKLab colours along OKLab ``stops`` at ``position`` 0..1."""
    knots = np.linspace(0.0, 1.0, len(stops))
    channels = [np.interp(position, knots, stops[:, i]).astype(np.float32) for i in range(3)]
    return np.stack(channels, axis=-1)


def quick_ramp(stops: Array, position: Array) -> Array:
    """Return colours along ``stops`` at ``position`` from a table of 1024 OKLab blends."""
    table = ramp(stops, np.linspace(0.0, 1.0, 1024, dtype=np.float32))
    return table[(np.clip(position, 0.0, 1.0) * 1023.0).astype(np.int32)]


def shade(colour: Array, lightness: float = 0.0, chroma: float = 1.0) -> Array:
    """Return ``colour`` with OKLab lightness moved by ``lightness`` and chroma scaled."""
    lab = to_oklab(colour).copy()
    lab[..., 0] = np.clip(lab[..., 0] + lightness, 0.0, 1.0)
    lab[..., 1:] *= chroma
    return from_oklab(lab)


def blend(first: Array, second: Array, share: float) -> Array:
    """Return the OKLab mixture of two colours; ``share`` 1 is ``second``."""
    start, end = to_oklab(first), to_oklab(second)
    return from_oklab(start + (end - start) * np.float32(share))


def luminance(pixels: Array) -> Array:
    """Return the perceived brightness of sRGB pixels, about 0..1 (Rec. 709 weights)."""
    return 0.2126 * pixels[..., 0] + 0.7152 * pixels[..., 1] + 0.0722 * pixels[..., 2]
