"""Fractal noise: value noise on random lattices, summed over octaves.

The sum of octaves is fractional Brownian motion and its folded form the "ridged multifractal"
of F. K. Musgrave (Texturing and Modeling: A Procedural Approach, chapter 16); bending one field
by another is I. Quilez's domain warping. The lattices are enlarged with Pillow's cubic filter,
which is far faster than evaluating lattice noise per pixel.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
from PIL import Image

from tasks_app.generators.sketch.arrays import Array, Rng, smoothstep, unit_range

_BAND: Final = 256


def _nothing() -> None:
    return


def lattice(rng: Rng, shape: tuple[int, int], cell: float, stretch: float = 1.0) -> Array:
    """Return one octave of value noise, ``shape`` (h, w), cells of ``cell`` px (x: * stretch)."""
    height, width = shape
    rows, columns = height / cell, width / (cell * stretch)
    grid = rng.random((int(rows) + 4, int(columns) + 4), dtype=np.float32)
    box = (1.0, 1.0, 1.0 + columns, 1.0 + rows)
    enlarged = Image.fromarray(grid).resize((width, height), Image.Resampling.BICUBIC, box)
    return np.asarray(enlarged, dtype=np.float32)


def fractal(
    rng: Rng,
    shape: tuple[int, int],
    cell: float,
    octaves: int = 5,
    *,
    gain: float = 0.5,
    stretch: float = 1.0,
    ridged: bool = False,
    tick: Callable[[], None] = _nothing,
) -> Array:
    """Return fractal noise of ``shape`` (h, w), stretched to 0..1.

    ``cell`` is the size in px of the coarsest features, ``gain`` the weight of each octave
    relative to the one before, ``stretch`` how much longer features are in x. ``tick`` is
    called after each octave. Octaves finer than a pixel are left out.
    """
    total = np.zeros(shape, dtype=np.float32)
    weight = 1.0
    for octave in range(octaves):
        size = cell / 2.0**octave
        if size < 1.0 or size * stretch < 1.0:
            break
        layer = lattice(rng, shape, size, stretch)
        total += weight * ((1.0 - np.abs(2.0 * layer - 1.0)) ** 2 if ridged else layer)
        weight *= gain
        tick()
    return unit_range(total)


def profile(
    rng: Rng, x: Array, octaves: int = 6, *, gain: float = 0.5, ridged: bool = False
) -> Array:
    """Return one-dimensional fractal noise at positions ``x`` (in cells), about 0..1.

    ``ridged`` noise has pointed peaks, the other is smooth.
    """
    total = np.zeros_like(x)
    weight, norm = 1.0, 0.0
    for octave in range(octaves):
        values = rng.random(int(x.max() * 2.0**octave) + 3, dtype=np.float32)
        place = x * 2.0**octave + float(rng.random())
        index = place.astype(np.int32)
        across = place - index if ridged else smoothstep(0.0, 1.0, place - index)
        layer = values[index] + (values[index + 1] - values[index]) * across
        total += weight * ((1.0 - np.abs(2.0 * layer - 1.0)) if ridged else layer)
        norm += weight
        weight *= gain
    return total / norm


def sample(field: Array, x: Array, y: Array) -> Array:
    """Return ``field`` at pixel positions (x, y), bilinear, mirrored at the edges."""
    height, width = field.shape[:2]
    x = _mirror(x, width - 1)
    y = _mirror(y, height - 1)
    left = np.minimum(x.astype(np.int32), width - 2)
    top = np.minimum(y.astype(np.int32), height - 2)
    across, down = x - left, y - top
    if field.ndim == 3:
        across, down = across[..., None], down[..., None]
    upper = field[top, left] * (1 - across) + field[top, left + 1] * across
    lower = field[top + 1, left] * (1 - across) + field[top + 1, left + 1] * across
    bent: Array = upper + (lower - upper) * down
    return bent


def _mirror(position: Array, limit: int) -> Array:
    folded: Array = limit - np.abs(np.mod(np.abs(position), 2.0 * limit) - limit)
    return folded


def shifted(field: Array, down: int, right: int) -> Array:
    """Return ``field`` moved by whole px, its edges repeated."""
    height, width = field.shape[:2]
    rows = np.clip(np.arange(height) - down, 0, height - 1)
    columns = np.clip(np.arange(width) - right, 0, width - 1)
    return field[rows[:, None], columns[None, :]]


def warp(
    field: Array, dx: Array, dy: Array, reach: float, tick: Callable[[], None] = _nothing
) -> Array:
    """Return ``field`` bent by two noise fields (0..1): up to ``reach`` px either way.

    It works in bands of rows, which bounds memory, and calls ``tick`` after each.
    """
    bent = np.empty_like(field)
    height, width = field.shape[:2]
    x = np.arange(width, dtype=np.float32)[None, :]
    for top in range(0, height, _BAND):
        band = slice(top, min(top + _BAND, height))
        y = np.arange(band.start, band.stop, dtype=np.float32)[:, None]
        across = x + (dx[band] - 0.5) * (2.0 * reach)
        bent[band] = sample(field, across, y + (dy[band] - 0.5) * (2.0 * reach))
        tick()
    return bent
