"""Small silhouettes that a prompt may ask for: boat, house, person, cat, lighthouse."""

from collections.abc import Callable
from typing import Final

import numpy as np

from tasks_app.generators.sketch.arrays import Array
from tasks_app.generators.sketch.colour import blend, rgb, shade
from tasks_app.generators.sketch.scene import Scene
from tasks_app.generators.sketch.shapes import Stencil, curve


def wanted(scene: Scene) -> bool:
    """Return whether the prompt asks for a figure that stands on the ground."""
    return scene.reading.has(*(f"subject.{name}" for name in _STANDING))


def paint_boats(scene: Scene, water: int) -> None:
    """Float the boat asked for below the row ``water``."""
    if scene.reading.has("subject.boat"):
        x = scene.width * float(scene.rng("boat").uniform(0.24, 0.76))
        foot = water + (scene.height - water) * 0.35
        _paint(scene, "boat", x, foot, scene.unit * 0.085)


def paint_figures(scene: Scene, ground: int | Array, *, mound: bool = False) -> None:
    """Stand the figures asked for on ``ground``, a row or a row for every column.

    With ``mound`` each gets a low bank to stand on, for where there is only water.
    """
    rows = np.broadcast_to(np.asarray(ground), (scene.width,))
    rng = scene.rng("figures")
    places = 0.2 + 0.6 * rng.random(len(_STANDING))
    for (name, size), place in zip(_STANDING.items(), places, strict=True):
        if scene.reading.has(f"subject.{name}"):
            x, tall = float(place) * scene.width, size * scene.unit
            foot = float(rows[int(x)])
            if mound:
                _paint_mound(scene, x, foot, tall)
            _paint(scene, name, x, foot - tall * (0.1 if mound else -0.03), tall)


def _paint(scene: Scene, name: str, x: float, foot: float, size: float) -> None:
    stencil = Stencil(scene.width, scene.height, scale=2)
    _DRAWN[name](stencil, x, foot, size)
    scene.over(stencil.mask(), _silhouette(scene))
    if name == "house":
        _light_window(scene, x, foot, size)
    elif name == "lighthouse":
        _light_lamp(scene, x, foot, size)


def _paint_mound(scene: Scene, x: float, ground: float, size: float) -> None:
    """Put a low bank under a figure that would stand in the water."""
    stencil = Stencil(scene.width, scene.height, scale=2)
    left, right = (x - size * 2.6, ground + 1.0), (x + size * 3.0, ground + 1.0)
    bank = curve(
        [left, (x - size * 0.8, ground - size * 0.34), (x + size, ground - size * 0.2), right], 30
    )
    stencil.polygon(bank)
    scene.over(stencil.mask(), shade(scene.look.near, -0.01))


def _silhouette(scene: Scene) -> Array:
    return shade(blend(scene.look.near, rgb("#000000"), 0.35), -0.02)


def _light_window(scene: Scene, x: float, foot: float, size: float) -> None:
    stencil = Stencil(scene.width, scene.height, scale=2)
    stencil.polygon(_box(x + size * 0.08, foot - size * 0.42, size * 0.16, size * 0.18))
    scene.over(stencil.mask(), blend(rgb("#ffc766"), scene.look.light, 0.15))


def _light_lamp(scene: Scene, x: float, foot: float, size: float) -> None:
    """Light the lamp, its glow, and two beams that fade with the distance."""
    warm = blend(rgb("#ffdf9a"), scene.look.light, 0.2)
    y, reach = foot - size * _LAMP, size * 3.4
    beams = Stencil(scene.width, scene.height, scale=2)
    for side in (-1, 1):
        end = x + side * reach
        beams.polygon([(x, y), (end, y - size * 0.34), (end, y + size * 0.1)])
    away = np.hypot(scene.xs - x, scene.ys - y)
    fade = np.clip(1.0 - away / reach, 0.0, 1.0)
    glow = np.exp(-((away / (size * 0.16)) ** 2))
    scene.screen(np.clip(beams.mask() * fade * 0.42 + glow * 0.8, 0.0, 0.95), warm)
    lamp = Stencil(scene.width, scene.height, scale=2)
    lamp.polygon(_box(x - size * 0.045, y - size * 0.045, size * 0.09, size * 0.09))
    scene.over(lamp.mask(), shade(warm, 0.05))


def _box(x: float, y: float, width: float, height: float) -> list[tuple[float, float]]:
    return [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]


def draw_boat(stencil: Stencil, x: float, foot: float, size: float) -> None:
    """Draw a small sailing boat, ``size`` px tall, floating at ``foot``."""
    hull = curve(
        [
            (x - size * 0.5, foot - size * 0.12),
            (x, foot + size * 0.16),
            (x + size * 0.55, foot - size * 0.16),
        ],
        12,
    )
    stencil.polygon([*hull, (x + size * 0.4, foot - size * 0.07)])
    stencil.line([(x, foot), (x, foot - size)], size * 0.025)
    sail = curve(
        [
            (x + size * 0.03, foot - size * 0.97),
            (x + size * 0.3, foot - size * 0.6),
            (x + size * 0.42, foot - size * 0.2),
        ],
        10,
    )
    stencil.polygon([*sail, (x + size * 0.03, foot - size * 0.2)], 0.82)
    stencil.polygon(
        [
            (x - size * 0.04, foot - size * 0.85),
            (x - size * 0.04, foot - size * 0.22),
            (x - size * 0.36, foot - size * 0.22),
        ],
        0.7,
    )


def draw_house(stencil: Stencil, x: float, foot: float, size: float) -> None:
    """Draw a cabin with a steep roof and a chimney."""
    stencil.polygon(_box(x - size * 0.42, foot - size * 0.55, size * 0.84, size * 0.6))
    stencil.polygon(
        [
            (x - size * 0.56, foot - size * 0.5),
            (x, foot - size),
            (x + size * 0.56, foot - size * 0.5),
        ]
    )
    stencil.polygon(_box(x + size * 0.2, foot - size * 1.02, size * 0.11, size * 0.3))


def draw_person(stencil: Stencil, x: float, foot: float, size: float) -> None:
    """Draw a standing figure in a long coat, seen from behind."""
    stencil.ellipse(x, foot - size * 0.9, size * 0.075, size * 0.09)
    coat = curve(
        [
            (x - size * 0.06, foot - size * 0.82),
            (x - size * 0.18, foot - size * 0.7),
            (x - size * 0.17, foot - size * 0.2),
        ],
        10,
    )
    other = [(2 * x - px, py) for px, py in reversed(coat)]
    stencil.polygon([*coat, *other])
    stencil.polygon(_box(x - size * 0.1, foot - size * 0.25, size * 0.08, size * 0.28))
    stencil.polygon(_box(x + size * 0.02, foot - size * 0.25, size * 0.08, size * 0.28))


def draw_cat(stencil: Stencil, x: float, foot: float, size: float) -> None:
    """Draw a sitting cat from behind, its tail curled to one side."""
    stencil.ellipse(x, foot - size * 0.25, size * 0.24, size * 0.3)
    stencil.ellipse(x, foot - size * 0.42, size * 0.16, size * 0.26)
    stencil.ellipse(x, foot - size * 0.68, size * 0.15, size * 0.135)
    for side in (-1, 1):
        stencil.polygon(
            [
                (x + side * size * 0.145, foot - size * 0.7),
                (x + side * size * 0.125, foot - size * 0.93),
                (x + side * size * 0.02, foot - size * 0.79),
            ]
        )
    tail = curve(
        [
            (x + size * 0.15, foot - size * 0.05),
            (x + size * 0.5, foot + size * 0.05),
            (x + size * 0.46, foot - size * 0.3),
            (x + size * 0.36, foot - size * 0.4),
        ],
        18,
    )
    stencil.taper(tail, size * 0.09, size * 0.05)


def draw_lighthouse(stencil: Stencil, x: float, foot: float, size: float) -> None:
    """Draw a tower that narrows to a gallery, with its lantern and cap."""
    stencil.polygon(
        [
            (x - size * 0.13, foot + size * 0.06),
            (x - size * 0.075, foot - size * 0.78),
            (x + size * 0.075, foot - size * 0.78),
            (x + size * 0.13, foot + size * 0.06),
        ]
    )
    stencil.polygon(_box(x - size * 0.115, foot - size * 0.8, size * 0.23, size * 0.03))
    stencil.polygon(_box(x - size * 0.06, foot - size * 0.92, size * 0.12, size * 0.14))
    cap = [
        (x - size * 0.085, foot - size * 0.905),
        (x, foot - size),
        (x + size * 0.085, foot - size * 0.905),
    ]
    stencil.polygon(cap)


_LAMP: Final = 0.853
"""How high the lamp of a lighthouse hangs, as a part of its height."""

_STANDING: Final[dict[str, float]] = {
    "house": 0.1,
    "person": 0.1,
    "cat": 0.115,
    "lighthouse": 0.27,
}
"""Figures on the ground, and how tall they are in units of the picture."""

_DRAWN: Final[dict[str, Callable[[Stencil, float, float, float], None]]] = {
    "boat": draw_boat,
    "house": draw_house,
    "person": draw_person,
    "cat": draw_cat,
    "lighthouse": draw_lighthouse,
}
