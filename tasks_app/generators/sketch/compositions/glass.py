"""Stained glass: a picture cut into Voronoi panes between leads, lit from behind."""

import numpy as np

from tasks_app.generators.sketch.arrays import Array, Rng, smoothstep
from tasks_app.generators.sketch.colour import blend, ramp, rgb, shade
from tasks_app.generators.sketch.noise import profile, shifted
from tasks_app.generators.sketch.scene import Scene
from tasks_app.generators.sketch.shapes import blur


def paint(scene: Scene) -> None:
    """Paint a window of glass over the whole canvas."""
    rng = scene.rng("glass")
    cell = scene.unit * float(rng.uniform(0.052, 0.075))
    scene.layer("glass")
    scene.progress.stage(0.1)
    sites = _sites(scene, rng, cell)
    scene.progress.stage(0.6)
    nearest, gap = _voronoi(scene, sites, cell)
    colours = _cartoon(scene, rng, sites.reshape(-1, 2))
    scene.progress.stage(0.85)
    _paint_panes(scene, colours[nearest], gap, cell)
    scene.progress.stage(0.95)
    _paint_leads(scene, gap, cell)


def _sites(scene: Scene, rng: Rng, cell: float) -> Array:
    """Return jittered grid points, shape (rows + 4, columns + 4, 2) in px, a margin of two."""
    rows, columns = int(scene.height / cell) + 5, int(scene.width / cell) + 5
    place = np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), axis=-1)
    jitter = rng.random((rows, columns, 2)) * 0.86
    return ((place - 2 + 0.07 + jitter) * cell).astype(np.float32)


def _voronoi(scene: Scene, sites: Array, cell: float) -> tuple[Array, Array]:
    """Return each pixel's site index and its distance in px to the border of its pane.

    The border distance is I. Quilez's exact one: to the bisector with every neighbour.
    """
    rows, columns = sites.shape[:2]
    column = (np.arange(scene.width) / cell).astype(np.int32)[None, :] + 2
    row = (np.arange(scene.height) / cell).astype(np.int32)[:, None] + 2
    best = np.full(scene.shape, np.inf, dtype=np.float32)
    nearest = np.zeros(scene.shape, dtype=np.int32)
    around = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)]
    for dy, dx in around:
        index = np.clip(row + dy, 0, rows - 1) * columns + np.clip(column + dx, 0, columns - 1)
        site = sites.reshape(-1, 2)[index]
        distance = (site[..., 0] - scene.xs) ** 2 + (site[..., 1] - scene.ys) ** 2
        closer = distance < best
        best = np.where(closer, distance, best)
        nearest = np.where(closer, index, nearest)
        scene.progress.tick()
    return nearest, _border(scene, sites, nearest, cell)


def _border(scene: Scene, sites: Array, nearest: Array, cell: float) -> Array:
    rows, columns = sites.shape[:2]
    flat = sites.reshape(-1, 2)
    own = flat[nearest]
    gap = np.full(scene.shape, cell, dtype=np.float32)
    row, column = nearest // columns, nearest % columns
    for dy in range(-2, 3):
        for dx in range(-2, 3):
            if (dx == 0 and dy == 0) or abs(dx) + abs(dy) == 4:
                continue
            index = np.clip(row + dy, 0, rows - 1) * columns + np.clip(column + dx, 0, columns - 1)
            other = flat[index]
            way = other - own
            length = np.hypot(way[..., 0], way[..., 1])
            middle = (other + own) * 0.5
            along = (middle[..., 0] - scene.xs) * way[..., 0]
            along += (middle[..., 1] - scene.ys) * way[..., 1]
            gap = np.where(length > 0, np.minimum(gap, along / (length + 1e-6)), gap)
        scene.progress.tick()
    return gap


def _cartoon(scene: Scene, rng: Rng, sites: Array) -> Array:
    """Return each pane's colour from a simple picture: light, rays, hills or waves."""
    look = scene.look
    x, y = sites[:, 0] / scene.width, sites[:, 1] / scene.height
    cx, cy = float(rng.uniform(0.3, 0.7)), float(rng.uniform(0.2, 0.42))
    aspect = scene.width / scene.height
    distance = np.hypot((x - cx) * aspect, y - cy)
    angle = np.arctan2(y - cy, (x - cx) * aspect)
    warm = np.concatenate([look.accents[::-1][:3], look.sky[::-1][:2]])
    glow = np.clip(distance * 1.15 + 0.07 * np.sin(angle * 9.0), 0.0, 1.0).astype(np.float32)
    colours = ramp(np.concatenate([look.light[None], warm, look.sky[:1]]), glow)
    hills = [look.far, look.accents[1], look.accents[0], look.near]
    for index, tone in enumerate(hills):
        line = 0.56 + 0.12 * index
        form = profile(scene.rng(f"hill {index}"), (x.clip(0, 2) * 2.2).astype(np.float32), 2)
        below = y > line - 0.16 * form
        colours[below] = shade(tone, 0.06, 1.2)
    disc = distance < 0.13
    if scene.reading.allows("subject.moon" if look.dark else "subject.sun"):
        colours[disc] = blend(look.light, rgb("#ffcf5a"), 0.0 if look.dark else 0.4)
    lab_shift = rng.normal(0.0, 0.045, len(sites)).astype(np.float32)
    lifted = colours * (1.0 + lab_shift[:, None] * 2.2)
    return np.clip(_jewel(lifted, look.dark), 0.0, 1.0).astype(np.float32)


def _jewel(colours: Array, dark: bool) -> Array:
    """Deepen and saturate: glass is never pastel."""
    rich = shade(np.clip(colours, 0, 1).astype(np.float32), -0.03 if not dark else 0.06, 1.4)
    return np.asarray(rich)


def _paint_panes(scene: Scene, colours: Array, gap: Array, cell: float) -> None:
    """Fill the panes: streaks and seeds in the glass, light stronger in the middle."""
    streak = scene.noise("streak", 0.05, 5, stretch=0.4)
    seeds = scene.noise("seeds", 0.009, 2)
    sway = scene.noise("sway", 0.6, 2)
    inner = smoothstep(0.0, 0.4, gap / cell)
    light = 0.66 + 0.26 * streak + 0.2 * inner + 0.16 * (sway - 0.5) + 0.12 * (seeds - 0.5)
    scene.pixels[:] = np.clip(colours * light[..., None] * 1.12, 0.0, 1.0)
    step = max(1, round(scene.unit * 0.002))
    relief = seeds - shifted(seeds, step, step)
    scene.screen(np.clip(relief * 0.7, 0.0, 0.35), scene.look.light)


def _paint_leads(scene: Scene, gap: Array, cell: float) -> None:
    """Lay the leads with a rounded shine, and let light bleed over their edges."""
    half = cell * 0.045 + 0.6
    lead = np.clip(half - gap + 0.5, 0.0, 1.0)
    soldered = np.clip(1.0 - gap / half, 0.0, 1.0)
    metal = blend(scene.look.near, shade(scene.look.near, -0.1, 0.3), 0.6)
    body = metal * (0.55 + 0.9 * soldered**2)[..., None]
    shadow = np.exp(-np.clip(gap - half, 0.0, None) / (cell * 0.05)) * 0.35
    scene.multiply(shadow, metal)
    scene.over(lead, np.clip(body, 0.0, 1.0))
    halo = blur(scene.pixels, scene.unit * 0.018, scene.progress.tick)
    scene.pixels += 0.22 * halo * (1.0 - np.minimum(scene.pixels, 1.0))
