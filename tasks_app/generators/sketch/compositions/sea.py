"""The open sea under a wide sky: waves in perspective that mirror the sky and its light."""

from functools import partial

import numpy as np

from tasks_app.generators.sketch.arrays import Array, smoothstep
from tasks_app.generators.sketch.colour import blend, quick_ramp, rgb, shade
from tasks_app.generators.sketch.figures import paint_boats, paint_figures
from tasks_app.generators.sketch.land import cover, ridge
from tasks_app.generators.sketch.scene import Scene
from tasks_app.generators.sketch.sky import Disc, paint_sky


def paint(scene: Scene) -> None:
    """Paint a seascape over the whole canvas."""
    rng = scene.rng("sea")
    horizon = 0.42 + 0.16 * float(rng.random())
    scene.progress.stage(0.35)
    disc = paint_sky(scene, horizon)
    scene.progress.stage(0.45)
    if rng.random() < 0.6:
        _paint_coast(scene, horizon)
    scene.progress.stage(0.85)
    top = int(scene.height * horizon)
    scene.moving(partial(_paint_surface, top=top, disc=disc))
    scene.layer("near")
    paint_figures(scene, top + round(0.02 * scene.unit), mound=True)
    scene.layer("boats")
    paint_boats(scene, top)


def _paint_surface(scene: Scene, top: int, disc: Disc | None) -> None:
    """Paint the water from row ``top`` on as it is at the scene's moment."""
    slope_x, slope_y, crest, distance = _waves(scene, top)
    _paint_water(scene, top, slope_y, crest, distance)
    scene.progress.stage(0.95)
    if disc:
        _paint_glitter(scene, top, slope_x, slope_y, distance, disc)
    _paint_foam(scene, top, crest, distance)
    haze = np.exp(-np.arange(scene.height - top, dtype=np.float32) / (0.012 * scene.unit))
    scene.over(haze[:, None] * np.full_like(scene.xs, 0.5), scene.look.haze, top)


def _paint_coast(scene: Scene, horizon: float) -> None:
    """Put far headlands on the horizon."""
    rng = scene.rng("coast")
    side = 1.0 if rng.random() < 0.5 else -1.0
    for number, share in enumerate((0.25, 0.6)):
        height = scene.unit * (0.09 - 0.03 * number)
        skyline = ridge(scene, f"coast {number}", scene.height * horizon, height, 0.5, 0.6)
        place = (scene.xs[0] / scene.width - 0.5) * side * 2.0
        sink = smoothstep(0.15 + 0.3 * number, -0.5, place) * height * 2.2
        line = skyline.line + sink + height * 0.25
        top = max(0, int(line.min()))
        colour = blend(scene.look.haze, scene.look.near, 0.2 + share * 0.5)
        scene.over(cover(scene.ys[top:] - line[None, :]), colour, top)


def _waves(scene: Scene, top: int) -> tuple[Array, Array, Array, Array]:
    """Return slopes in x and y, crest height (-1..1) and distance of the water's surface.

    The surface is a sum of directed sines in plane perspective; waves that would be finer
    than a row or two fade out with the distance.
    """
    rng = scene.rng("waves")
    rows = scene.height - top
    below = (np.arange(rows, dtype=np.float32) + 1.5)[:, None] / scene.unit
    distance = 0.22 / below
    size = 0.75 + 0.9 * max(0.0, scene.look.energy - 0.4)
    u = (scene.xs - scene.width / 2) / scene.unit * distance * 4.0 / size
    v = distance * 9.0 / size
    slope_x = np.zeros((rows, scene.width), dtype=np.float32)
    slope_y, height = slope_x.copy(), slope_x.copy()
    bend = (scene.noise("wave bend", 0.12, 4, stretch=3.0, rows=rows) - 0.5) * 5.0
    for index in range(scene.count(16)):
        frequency = 1.1 * 1.28**index * float(rng.uniform(0.85, 1.15))
        angle = float(rng.normal(0.0, 0.42))
        kx, ky = np.float32(frequency * np.sin(angle)), np.float32(frequency * np.cos(angle))
        fade = np.exp(-((distance**2 / below * frequency / scene.unit * 1.1) ** 2) * 0.02)
        phase = u * kx + v * ky + bend * (0.5 + 0.07 * index) + float(rng.random()) * 6.3
        phase += np.float32(scene.turn(0.36 * frequency**0.5))  # long waves travel faster
        amplitude = fade * (frequency**-0.82)
        wave = np.sin(phase)
        height += amplitude * (1.0 - np.abs(wave)) * 1.5
        slope = amplitude * np.cos(phase) * frequency
        slope_x += slope * np.sin(angle)
        slope_y += slope * np.cos(angle)
        scene.progress.tick()
    strength = 0.25 + 0.75 * scene.look.energy
    return slope_x * strength, slope_y * strength, height * strength, distance


def _paint_water(scene: Scene, top: int, slope: Array, crest: Array, distance: Array) -> None:
    """Colour the water: the sky it mirrors by slope, its own depth where it leans to us."""
    look = scene.look
    deep = blend(shade(look.sky[0], -0.16), look.near, 0.3)
    body = blend(look.sky[1], deep, 0.35)
    grazing = np.clip(1.0 - 0.24 / (distance + 0.2), 0.12, 0.95)
    lean = np.clip(0.5 + slope * 0.28, 0.0, 1.0)
    mirrored = quick_ramp(look.sky, np.clip(0.2 + 0.8 * grazing - 0.42 * lean, 0.0, 1.0))
    own = deep + (body - deep) * np.clip(crest * 0.28, 0.0, 1.0)[..., None]
    share = np.clip(grazing * (1.0 - 0.75 * lean) + 0.18, 0.0, 1.0)[..., None]
    scene.pixels[top:] = own + (mirrored - own) * share


def _paint_glitter(
    scene: Scene, top: int, slope_x: Array, slope_y: Array, distance: Array, disc: Disc
) -> None:
    """Lay the path of light from the sun or moon on the water."""
    width = scene.unit * (0.045 + 0.05 / (distance + 0.25))
    across = np.exp(-(((scene.xs - disc.x) / width) ** 2))
    facing = smoothstep(0.15, 0.95, -slope_y * 0.55 + 0.35 * np.abs(slope_x) + 0.3)
    far = smoothstep(0.6, 4.0, distance)
    light = across * (0.12 + 0.88 * (facing * (1.0 - far) + 0.55 * far))
    scene.screen(np.clip(light, 0.0, 0.95), np.minimum(scene.look.light + 0.05, 1.0), top)


def _paint_foam(scene: Scene, top: int, crest: Array, distance: Array) -> None:
    """Break the highest crests into foam when the sea is wild."""
    if scene.look.energy < 0.55:
        return
    rows = crest.shape[0]
    lace = scene.noise("foam", 0.02, 4, stretch=2.5, ridged=True, rows=rows)
    level = float(np.quantile(crest[:: max(1, rows // 200)], 0.8))
    foam = smoothstep(level, level * 1.3, crest) * smoothstep(0.15, 0.6, lace)
    foam *= np.clip(1.4 - distance * 0.22, 0.0, 1.0) * scene.look.energy
    scene.over(np.clip(foam, 0.0, 0.85), blend(rgb("#f6f8f5"), scene.look.haze, 0.35), top)
