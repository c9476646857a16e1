"""Pieces of land that several compositions share: ridges, conifers, grass, water mirrors."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from tasks_app.generators.sketch.arrays import Array, Rng, smoothstep
from tasks_app.generators.sketch.noise import profile, sample
from tasks_app.generators.sketch.scene import Scene
from tasks_app.generators.sketch.shapes import Stencil


@dataclass(frozen=True, slots=True)
class Ridge:
    """A skyline: ``line`` holds the y in px for every column."""

    line: Array

    def depth(self, scene: Scene, top: int) -> Array:
        """Return how far below the skyline each pixel from row ``top`` down is, in px."""
        return scene.ys[top:] - self.line[None, :]

    @property
    def top(self) -> int:
        """The first row that the ridge touches."""
        return max(0, int(self.line.min()) - 2)


def ridge(
    scene: Scene, name: str, base: float, height: float, cell: float, roughness: float
) -> Ridge:
    """Return a skyline around ``base``, ``height`` px tall, features of ``cell`` units."""
    rng = scene.rng(name)
    x = (scene.xs[0] / scene.unit / cell).astype(np.float32)
    sharp = profile(rng, x, 8, gain=0.36 + 0.16 * roughness, ridged=True)
    soft = profile(rng, x * 0.6, 4, gain=0.4)
    form = roughness * sharp + (1.0 - roughness) * soft
    return Ridge((base - height * (form - 0.3) * 1.5).astype(np.float32))


def cover(depth: Array) -> Array:
    """Return the antialiased coverage of what lies below a skyline."""
    return np.clip(depth + 0.5, 0.0, 1.0)


def drop_shadow(scene: Scene, skyline: Ridge) -> None:
    """Let a sheet of cut paper with this skyline cast its shadow on what lies behind."""
    top = max(0, skyline.top - round(0.03 * scene.unit))
    above = np.clip(-skyline.depth(scene, top), 0.0, None)
    scene.multiply(np.exp(-above / (0.011 * scene.unit)) * 0.5, scene.look.near, top)


def conifer(stencil: Stencil, rng: Rng, x: float, foot: float, height: float) -> None:
    """Draw one fir: a tapering stem and ragged tiers of branches."""
    tiers = max(5, int(7 + height / 26))
    lean = float(rng.normal(0, 0.015))
    width = height * float(rng.uniform(0.17, 0.24))
    points_left: list[tuple[float, float]] = []
    points_right: list[tuple[float, float]] = []
    for tier in range(tiers):
        t = (tier + 1) / tiers
        y = foot - height * (1.0 - t * 0.94)
        middle = x + lean * (foot - y)
        reach = width * t**0.85
        left, right = rng.uniform(0.7, 1.1, 2)
        sag = height / tiers * 0.4
        points_left += [(middle - reach * 0.42, y - sag), (middle - reach * left, y + sag * 0.6)]
        points_right += [(middle + reach * 0.42, y - sag), (middle + reach * right, y + sag * 0.6)]
    tip = (x + lean * height, foot - height)
    stencil.polygon([tip, *points_right, *reversed(points_left)])
    stencil.polygon(
        [
            (x - height * 0.014, foot),
            (x + lean * height, foot - height),
            (x + height * 0.014, foot),
        ]
    )


def conifers(
    scene: Scene, name: str, line: Array, height: float, spacing: float, gaps: float = 0.0
) -> tuple[Array, int]:
    """Return a mask (from a top row on) of firs standing on ``line`` (y in px per column).

    ``height`` is in px, ``spacing`` in tree heights; ``gaps`` 0..1 leaves clearings.
    """
    rng = scene.rng(name)
    top = max(0, int(line.min() - height * 1.5))
    bottom = min(scene.height, int(line.max() + height * 0.3) + 2)
    stencil = Stencil(scene.width, max(1, bottom - top), top=top, scale=2)
    clearing = profile(scene.rng(f"{name} gaps"), scene.xs[0] / scene.unit * 4.0, 3)
    x = -height * 0.3
    while x < scene.width + height * 0.3:
        column = int(min(max(x, 0), scene.width - 1))
        size = height * float(rng.uniform(0.55, 1.15) * (0.75 + 0.5 * clearing[column]))
        if clearing[column] > gaps:
            conifer(stencil, rng, x, float(line[column]) + height * 0.06, size)
        x += height * spacing * float(rng.uniform(0.4, 1.4))
    return stencil.mask(), top


def mirror_water(scene: Scene, waterline: int, tintage: Array, calm: float) -> None:
    """Fill everything below row ``waterline`` with the rippled reflection of what is above."""
    if scene.height - waterline >= 4:
        scene.moving(partial(_mirror, waterline=waterline, tintage=tintage, calm=calm))


def _mirror(scene: Scene, waterline: int, tintage: Array, calm: float) -> None:
    rows = scene.height - waterline
    depth = np.arange(rows, dtype=np.float32)[:, None]
    far = depth / rows
    ripple = scene.living("ripples", 0.016, 3, stretch=7.0, rows=rows) - 0.5
    swell = scene.living("swell", 0.06, 3, stretch=5.0, rows=rows) - 0.5
    sway = (ripple * 0.8 + swell * 0.7) * scene.unit * (0.012 + 0.07 * far) * (1.3 - calm)
    y = waterline - 1 - depth * 1.12 - np.abs(sway) * 1.4
    x = scene.xs - 0.5 + sway * 0.5
    image = sample(scene.pixels[:waterline], x, np.clip(y, 0.0, None))
    scene.progress.tick()
    veil = np.clip(0.16 + 0.34 * far + ripple * 0.35 * (0.4 + far), 0.0, 1.0)
    image += veil[..., None] * (tintage - image)
    scene.pixels[waterline:] = image
    gleam = np.exp(-((depth / (0.004 * scene.unit)) ** 2)) * 0.25
    scene.over(gleam * np.ones_like(scene.xs), scene.look.haze, waterline)
    scene.progress.tick()


def grass(scene: Scene, name: str, line: Array, height: float, colour: Array) -> None:
    """Grow blades from ``line`` (y in px per column) upwards, ``height`` px tall."""
    rng = scene.rng(name)
    top = max(0, int(line.min() - height * 1.6))
    stencil = Stencil(scene.width, max(1, scene.height - top), top=top, scale=2)
    number = scene.count(scene.width / max(1.5, height * 0.05))
    for _ in range(number):
        x = float(rng.random()) * scene.width
        foot = float(line[int(x)]) + height * 0.1
        bend, size = float(rng.normal(0, 0.25)) * height, height * float(rng.uniform(0.3, 1.0))
        tip = (x + bend * 0.6, foot - size)
        stencil.polygon([(x - height * 0.02, foot), tip, (x + height * 0.02, foot)])
    ground = smoothstep(-0.5, 0.5, scene.ys[top:] - line[None, :])
    scene.over(np.maximum(stencil.mask(), ground), colour, top)
    scene.progress.tick()
