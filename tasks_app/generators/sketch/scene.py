"""The canvas and everything a composition may ask while it paints."""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tasks_app.generators.sketch.arrays import Array, Rng
from tasks_app.generators.sketch.noise import fractal
from tasks_app.generators.sketch.palette import Look
from tasks_app.generators.sketch.progress import Progress
from tasks_app.generators.sketch.words import Reading


def stream(key: bytes, name: str) -> Rng:
    """Return the random stream ``name`` of a picture: PCG64 seeded by SHA-256 of both."""
    digest = hashlib.sha256(key + b"/" + name.encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))


@dataclass(slots=True)
class Scene:
    """One picture in the making. Sizes are in rendered pixels.

    Every part of a picture draws from a random stream of its own name, so that a part left
    out (a moon that must not be) leaves the others as they were.
    """

    width: int
    height: int
    key: bytes
    reading: Reading
    look: Look
    progress: Progress
    detail: float = 1.0
    """Scales counts of elements: 0.6 draft, 1 standard, 1.4 fine."""
    seconds: float = 0.0
    """How long the loop is that this is a frame of; 0 for a still."""
    moment: float = 0.0
    """Where in its loop the frame is, 0 to 1."""
    pixels: Array = field(init=False)

    def __post_init__(self) -> None:
        self.pixels = np.zeros((self.height, self.width, 3), dtype=np.float32)

    @property
    def unit(self) -> float:
        """The picture's typical size in px: the geometric mean, at most 1.6 short sides."""
        return min(math.sqrt(self.width * self.height), 1.6 * min(self.width, self.height))

    @property
    def shape(self) -> tuple[int, int]:
        """(height, width) in px."""
        return self.height, self.width

    @property
    def xs(self) -> Array:
        """Pixel centres in x, shape (1, width)."""
        return np.arange(self.width, dtype=np.float32)[None, :] + 0.5

    @property
    def ys(self) -> Array:
        """Pixel centres in y, shape (height, 1)."""
        return np.arange(self.height, dtype=np.float32)[:, None] + 0.5

    def rng(self, name: str) -> Rng:
        """Return the random stream ``name`` of this picture, from its beginning."""
        return stream(self.key, name)

    def count(self, number: float) -> int:
        """Return how many elements to draw at this detail, at least one."""
        return max(1, round(number * self.detail))

    def layer(self, name: str, current: Array | None = None) -> None:
        """Say that what follows is a layer of its own, nearer to us; stills do not care.

        ``name`` tells films how it moves. What it shows may flow along the contours of
        ``current``, a stream function of the canvas's shape.
        """

    def moving(self, paint: "Callable[[Scene], None]") -> None:
        """Paint a part that is painted anew, from ``turn`` and ``living``, in every frame."""
        paint(self)

    def turn(self, per_second: float) -> float:
        """Return the angle of what turns so often: whole turns in a loop, at least one."""
        return math.tau * max(1, round(per_second * self.seconds)) * self.moment

    def living(self, name: str, cell: float, octaves: int, *, stretch: float, rows: int) -> Array:
        """Return noise as ``noise`` does that changes all the time in a film, and comes back."""
        field = self.noise(name, cell, octaves, stretch=stretch, rows=rows)
        if not self.seconds:
            return field
        other = self.noise(f"{name}, later", cell, octaves, stretch=stretch, rows=rows)
        angle = self.turn(0.5)
        return 0.5 + (field - 0.5) * math.cos(angle) + (other - 0.5) * math.sin(angle)

    def noise(
        self,
        name: str,
        cell: float,
        octaves: int = 5,
        *,
        gain: float = 0.5,
        stretch: float = 1.0,
        ridged: bool = False,
        rows: int | None = None,
    ) -> Array:
        """Return fractal noise 0..1 as wide as the picture, ``cell`` in units of ``unit``."""
        octaves += round(2.0 * (self.detail - 1.0))
        return fractal(
            self.rng(name),
            (rows or self.height, self.width),
            max(2.0, cell * self.unit),
            max(1, octaves),
            gain=gain,
            stretch=stretch,
            ridged=ridged,
            tick=self.progress.tick,
        )

    def over(self, mask: Array | float, colour: Array, top: int = 0) -> None:
        """Paint ``colour`` through ``mask`` (0..1; rows from ``top`` on), covering."""
        cover = np.asarray(mask, dtype=np.float32)
        view = self.pixels[top : top + cover.shape[0]] if cover.ndim else self.pixels
        view += cover[..., None] * (colour - view)

    def screen(self, mask: Array, colour: Array, top: int = 0) -> None:
        """Add light of ``colour``: brightens, never past white."""
        view = self.pixels[top : top + mask.shape[0]]
        view += mask[..., None] * colour * (1.0 - np.minimum(view, 1.0))

    def multiply(self, mask: Array, colour: Array, top: int = 0) -> None:
        """Glaze with ``colour`` like ink or watercolour: darkens."""
        view = self.pixels[top : top + mask.shape[0]]
        view *= 1.0 - mask[..., None] * (1.0 - colour)
