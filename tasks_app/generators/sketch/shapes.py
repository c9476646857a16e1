"""Antialiased shapes as coverage masks, drawn with Pillow at a multiple and reduced."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from tasks_app.generators.sketch.arrays import Array

_OVERSAMPLING: Final = 3

Points = Sequence[tuple[float, float]]


@dataclass(slots=True)
class Stencil:
    """A mask to draw on, in px of the picture; ``top`` and ``left`` place a partial one."""

    width: int
    height: int
    left: float = 0.0
    top: float = 0.0
    scale: int = _OVERSAMPLING
    _image: Image.Image = field(init=False)
    _draw: ImageDraw.ImageDraw = field(init=False)

    def __post_init__(self) -> None:
        size = (self.width * self.scale, self.height * self.scale)
        self._image = Image.new("L", size, 0)
        self._draw = ImageDraw.Draw(self._image)

    def _place(self, points: Points) -> list[tuple[float, float]]:
        scale = self.scale
        return [((x - self.left) * scale, (y - self.top) * scale) for x, y in points]

    def polygon(self, points: Points, value: float = 1.0) -> None:
        """Fill a polygon."""
        self._draw.polygon(self._place(points), fill=round(255 * value))

    def line(self, points: Points, width: float, value: float = 1.0) -> None:
        """Draw a polyline ``width`` px wide with round joints."""
        thick = max(1, round(width * self.scale))
        self._draw.line(self._place(points), fill=round(255 * value), width=thick, joint="curve")

    def ellipse(self, x: float, y: float, rx: float, ry: float, value: float = 1.0) -> None:
        """Fill an ellipse around (x, y)."""
        corners = self._place([(x - rx, y - ry), (x + rx, y + ry)])
        self._draw.ellipse(corners, fill=round(255 * value))

    def taper(self, points: Points, start: float, end: float, value: float = 1.0) -> None:
        """Draw a stroke along ``points`` whose width goes from ``start`` to ``end`` px."""
        self.polygon(outline(points, start, end), value)

    def mask(self) -> Array:
        """Return the coverage, float32 0..1, shape (height, width)."""
        reduced = self._image.reduce(self.scale) if self.scale > 1 else self._image
        return np.asarray(reduced, dtype=np.float32) / 255.0


def outline(points: Points, start: float, end: float) -> list[tuple[float, float]]:
    """Return the polygon around a path that tapers from ``start`` to ``end`` px in width."""
    path = np.asarray(points, dtype=np.float64)
    direction = np.gradient(path, axis=0)
    length = np.hypot(direction[:, 0], direction[:, 1])[:, None] + 1e-9
    normal = np.stack([-direction[:, 1], direction[:, 0]], axis=1) / length
    half = np.linspace(start, end, len(path))[:, None] / 2.0
    both = np.concatenate([path + normal * half, (path - normal * half)[::-1]])
    return [(float(x), float(y)) for x, y in both]


def curve(points: Points, steps: int = 24) -> list[tuple[float, float]]:
    """Return ``steps`` points of the Bezier curve with these control points (de Casteljau)."""
    t = np.linspace(0.0, 1.0, steps)[:, None]
    level = [np.asarray(point, dtype=np.float64)[None, :] for point in points]
    while len(level) > 1:
        level = [a + (b - a) * t for a, b in pairwise(level)]
    return [(float(x), float(y)) for x, y in level[0]]


def blur(field: Array, radius: float, tick: Callable[[], None] | None = None) -> Array:
    """Return a field or pixels blurred by about ``radius`` px, wide blurs on a reduced copy."""
    factor = max(1, int(radius / 4))
    channels = [field] if field.ndim == 2 else [field[..., i] for i in range(field.shape[2])]
    done = []
    for channel in channels:
        image = Image.fromarray(np.ascontiguousarray(channel, dtype=np.float32))
        small = image.reduce(factor) if factor > 1 else image
        done.append(_blurred(small, radius / factor, image.size))
        if tick:
            tick()
    return done[0] if field.ndim == 2 else np.stack(done, axis=-1)


def _blurred(image: Image.Image, radius: float, size: tuple[int, int]) -> Array:
    """Blur a float image; Pillow's Gaussian needs 8 bits, so three box passes by running sums."""
    values = np.asarray(image, dtype=np.float32)
    reach = max(1, round(radius * 0.9))
    for _ in range(3):
        values = _box(_box(values, reach).T, reach).T
    back = Image.fromarray(np.ascontiguousarray(values))
    if back.size != size:
        back = back.resize(size, Image.Resampling.BICUBIC)
    return np.asarray(back, dtype=np.float32)


def _box(values: Array, reach: int) -> Array:
    """Return the running mean over ``2 * reach + 1`` rows, edges repeated."""
    padded = np.pad(values, ((reach + 1, reach), (0, 0)), mode="edge")
    sums = np.cumsum(padded, axis=0, dtype=np.float64)
    width = 2 * reach + 1
    return ((sums[width:] - sums[:-width]) / width).astype(np.float32)


def soften(mask: Array, radius: float) -> Array:
    """Return a mask 0..1 blurred by a Gaussian of ``radius`` px, in 8 bits."""
    image = Image.fromarray((np.clip(mask, 0.0, 1.0) * 255.0).astype(np.uint8))
    return np.asarray(image.filter(ImageFilter.GaussianBlur(radius)), dtype=np.float32) / 255.0
