"""A geometric poster: a grid of quarter circles, discs, bars and arcs, printed on paper."""

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from tasks_app.generators.sketch.arrays import Array, Rng
from tasks_app.generators.sketch.colour import blend, rgb
from tasks_app.generators.sketch.scene import Scene

Tile = Callable[[Array, Array, float], Array]
"""Coverage of a motif on a tile: x and y run 0..1, the third is px per tile."""


def paint(scene: Scene) -> None:
    """Paint a geometric composition over the whole canvas."""
    scene.moving(_paint_poster)


def _paint_poster(scene: Scene) -> None:
    rng = scene.rng("geometry")
    across = int(rng.integers(5, 9))
    cell = min(scene.width, scene.height) / across
    rows, columns = int(np.ceil(scene.height / cell)), int(np.ceil(scene.width / cell))
    colours, sheet = _inks(scene)
    scene.pixels[:] = sheet
    taken = np.zeros((rows, columns), dtype=bool)
    for row in range(rows):
        scene.progress.stage(0.9 * (row + 1) / rows)
        for column in range(columns):
            size = _size(rng, taken, row, column)
            if size:
                _paint_tile(scene, rng, (row, column, size), cell, colours)
        scene.progress.tick()
    _print(scene)


def _inks(scene: Scene) -> tuple[Array, Array]:
    """Return the inks and the sheet."""
    accents = scene.look.accents
    dark = scene.look.dark or scene.reading.has("colour.black", "material.neon")
    sheet = blend(scene.look.near, rgb("#10131c"), 0.5) if dark else rgb("#f4ecdc")
    extra = rgb("#f4ecdc") if dark else blend(scene.look.near, rgb("#1b1d24"), 0.5)
    return np.concatenate([accents, extra[None]]), sheet


def _size(rng: Rng, taken: Array, row: int, column: int) -> int:
    """Return how many cells wide a tile may be here (0 when the cell is taken) and take them."""
    if taken[row, column]:
        return 0
    size = int(rng.choice([1, 1, 1, 2, 2, 3]))
    while size > 1:
        block = taken[row : row + size, column : column + size]
        if block.shape == (size, size) and not block.any():
            break
        size -= 1
    taken[row : row + size, column : column + size] = True
    return size


def _paint_tile(
    scene: Scene, rng: Rng, place: tuple[int, int, int], cell: float, colours: Array
) -> None:
    """Print one tile: a ground, a motif turned a quarter or more, maybe a second on top."""
    row, column, size = place
    left, top = round(column * cell), round(row * cell)
    right, bottom = round((column + size) * cell), round((row + size) * cell)
    view = scene.pixels[top:bottom, left:right]
    if not view.size:
        return
    x = (np.arange(view.shape[1], dtype=np.float32) + 0.5)[None, :] / (right - left)
    y = (np.arange(view.shape[0], dtype=np.float32) + 0.5)[:, None] / (bottom - top)
    order = rng.permutation(len(colours))
    if rng.random() < 0.62:
        view[:] = colours[order[0]]
    for layer in range(1 + int(rng.random() < 0.5)):
        motif = _MOTIFS[int(rng.integers(len(_MOTIFS)))]
        u, v = _turned(x, y, int(rng.integers(4)))
        if scene.seconds:
            u, v = _spun(u, v, _spin(scene, row, column, layer))
        mask = motif(u, v, cell * size)
        view += mask[..., None] * (colours[order[layer + 1]] - view)


def _turned(x: Array, y: Array, quarter: int) -> tuple[Array, Array]:
    options = ((x, y), (1 - y, x), (1 - x, 1 - y), (y, 1 - x))
    u, v = options[quarter]
    return np.broadcast_arrays(u, v)[0], np.broadcast_arrays(u, v)[1]


def _spin(scene: Scene, row: int, column: int, layer: int) -> float:
    """Return how far a motif has turned: one in two makes one slow turn in a loop, then rests."""
    start, chosen = scene.rng(f"spin {row} {column} {layer}").random(2)
    done = min(1.0, ((scene.moment + float(start)) % 1.0) * 1.5)
    return math.tau * done**3 * (done * (done * 6 - 15) + 10) if chosen < 0.55 else 0.0


def _spun(x: Array, y: Array, angle: float) -> tuple[Array, Array]:
    cos, sin = np.float32(math.cos(angle)), np.float32(math.sin(angle))
    u, v = x - 0.5, y - 0.5
    return u * cos - v * sin + 0.5, u * sin + v * cos + 0.5


def _edge(distance: Array, px: float) -> Array:
    return np.clip(distance * px + 0.5, 0.0, 1.0)


def _quarter(x: Array, y: Array, px: float) -> Array:
    return _edge(1.0 - np.hypot(x, y), px)


def _disc(x: Array, y: Array, px: float) -> Array:
    return _edge(0.38 - np.hypot(x - 0.5, y - 0.5), px)


def _half(x: Array, y: Array, px: float) -> Array:
    return _edge(0.5 - np.hypot(x - 0.5, y), px)


def _triangle(x: Array, y: Array, px: float) -> Array:
    return _edge((x - y) * 0.7071, px)


def _arcs(x: Array, y: Array, px: float) -> Array:
    """Three concentric quarter rings."""
    distance = np.hypot(x, y)
    wave = 1 / 12 - np.abs((distance * 3.0) % 1.0 - 0.5) / 3.0
    return _edge(wave, px) * _edge(1.0 - distance, px)


def _bars(x: Array, y: Array, px: float) -> Array:
    return _edge((0.25 - np.abs((x * 4.0) % 1.0 - 0.5)) / 4.0, px) + 0.0 * y


def _dots(x: Array, y: Array, px: float) -> Array:
    u, v = (x * 4.0) % 1.0 - 0.5, (y * 4.0) % 1.0 - 0.5
    return _edge((0.24 - np.hypot(u, v)) / 4.0, px)


def _leaf(x: Array, y: Array, px: float) -> Array:
    """The lens between two quarter circles."""
    return _edge(np.minimum(1.0 - np.hypot(x, y), 1.0 - np.hypot(1 - x, 1 - y)), px)


def _ring(x: Array, y: Array, px: float) -> Array:
    return _edge(0.1 - np.abs(np.hypot(x - 0.5, y - 0.5) - 0.33), px)


_MOTIFS: Final[tuple[Tile, ...]] = (
    _quarter,
    _quarter,
    _disc,
    _half,
    _triangle,
    _arcs,
    _bars,
    _dots,
    _leaf,
    _leaf,
    _ring,
)


def _print(scene: Scene) -> None:
    """Let the ink lie a little unevenly, as from a screen print."""
    wear = scene.noise("wear", 0.012, 4)
    broad = scene.noise("broad", 0.4, 3)
    scene.pixels *= (1.0 + 0.05 * (wear - 0.5) + 0.05 * (broad - 0.5))[..., None]
