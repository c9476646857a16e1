"""Mountain ranges behind one another in the air between, with a lake or a wood in front."""

import numpy as np

from tasks_app.generators.sketch.arrays import Array, smoothstep
from tasks_app.generators.sketch.colour import blend, shade
from tasks_app.generators.sketch.figures import paint_boats, paint_figures
from tasks_app.generators.sketch.land import (
    Ridge,
    conifers,
    cover,
    drop_shadow,
    mirror_water,
    ridge,
)
from tasks_app.generators.sketch.noise import profile, shifted
from tasks_app.generators.sketch.scene import Scene
from tasks_app.generators.sketch.shapes import blur
from tasks_app.generators.sketch.sky import Disc, paint_sky


def paint(scene: Scene) -> None:
    """Paint a mountain landscape over the whole canvas."""
    rng = scene.rng("mountains")
    lake = _has_lake(scene, float(rng.random()))
    waterline = int(scene.height * ((0.66 + 0.1 * rng.random()) if lake else 1.0))
    horizon = (0.62 + 0.1 * float(rng.random())) * (waterline / scene.height if lake else 0.95)
    scene.progress.stage(0.25)
    disc = paint_sky(scene, horizon)
    layers = max(4, round((5 + 2 * float(rng.random())) * min(scene.detail, 1.2)))
    for index in range(layers):
        scene.progress.stage(0.25 + 0.5 * (index + 1) / layers)
        scene.layer("land")
        _paint_range(scene, index, layers, horizon, waterline, disc)
    scene.layer("land")
    _paint_wood(scene, waterline)
    paint_figures(scene, waterline if lake else int(scene.height * 0.97), mound=True)
    scene.progress.stage(0.9)
    if lake:
        mirror_water(scene, waterline, blend(scene.look.near, scene.look.far, 0.55), 0.9)
        scene.layer("near")
        _paint_shore(scene)
        scene.layer("boats")
        paint_boats(scene, waterline)


def _has_lake(scene: Scene, chance: float) -> bool:
    if scene.reading.has("subject.lake", "subject.boat"):
        return True
    return chance < 0.5 and scene.reading.allows("subject.lake")


def _paint_range(
    scene: Scene, index: int, layers: int, horizon: float, waterline: int, disc: Disc | None
) -> None:
    """Paint one range: rock lit from one side, snow on the high ones, mist at its foot."""
    look = scene.look
    t = index / (layers - 1)
    rough = (0.55 + 0.4 * look.energy) * (1.0 - 0.35 * t)
    floor = min(waterline, scene.height)
    base = scene.height * horizon + (floor - scene.height * horizon) * t**1.3 * 0.95
    tall = (
        min(scene.height * 0.34, scene.unit * 0.42) * (1.0 - 0.62 * t) * (0.7 + 0.5 * look.energy)
    )
    skyline = _skyline(scene, index, base, tall, t, rough)
    top = skyline.top
    if top >= floor:
        return
    depth = skyline.depth(scene, top)[: floor - top]
    scene.progress.tick()
    air = 1.0 - (1.0 - t) ** (1.2 - 0.4 * look.mist)
    colour = blend(blend(look.haze, look.far, 0.55 + 0.45 * t), look.near, air)
    relief = _relief(scene, index, skyline, depth, disc)
    if scene.reading.has("material.paper"):
        relief *= 0.12
        drop_shadow(scene, skyline)
    rock = _lit(colour, relief, look.light, 0.17 - 0.08 * t)
    if _snowy(scene) and t < 0.8:
        rock = _with_snow(scene, rock, relief, depth, tall * (0.85 - 0.5 * t), t)
    mist = smoothstep(0.12, 1.15, depth / (tall * (1.1 + t))) * (0.25 + 0.7 * look.mist)
    mist = mist * (1.0 - t * 0.75)
    rock += mist[..., None] * (look.haze - rock)
    scene.over(cover(depth), rock, top)
    scene.progress.tick()


def _skyline(scene: Scene, index: int, base: float, tall: float, t: float, rough: float) -> Ridge:
    """Return the line of a range; the far ones rise to a massif somewhere."""
    skyline = ridge(scene, f"range {index}", base, tall, 0.7 - 0.2 * t, rough)
    rng = scene.rng(f"massif {index}")
    focus, spread = float(rng.uniform(0.15, 0.85)), float(rng.uniform(0.12, 0.24))
    place = (scene.xs[0] / scene.width - focus) * scene.width / scene.unit / spread
    swell = 0.7 * np.exp(-(np.abs(place) ** 1.5)) + 0.5 * np.clip(1.0 - np.abs(place), 0.0, None)
    crags = profile(rng, (scene.xs[0] / scene.unit * 9.0).astype(np.float32), 6, ridged=True)
    swell = swell * (0.72 + 0.5 * crags)
    return Ridge((skyline.line - tall * 0.75 * (1.0 - t) ** 0.7 * swell).astype(np.float32))


def _relief(scene: Scene, index: int, skyline: Ridge, depth: Array, disc: Disc | None) -> Array:
    """Return the light on the slopes, about -1 (shadow) to 1, from the side of ``disc``.

    Each face below the skyline is lit as the skyline above it slopes; the ridges between the
    faces wander as they come down. Finer rock lies on top.
    """
    rows = depth.shape[0]
    side = -1.0 if disc and disc.x < scene.width / 2 else 1.0
    below = np.clip(depth, 0.0, None)
    zigzag = profile(
        scene.rng(f"zigzag {index}"), (scene.ys[:rows, 0] / scene.unit * 9.0), 6, gain=0.6
    )
    wander = scene.noise(f"wander {index}", 0.05, 5, gain=0.6, rows=rows) - 0.5
    drift = (zigzag[:, None] - 0.5) * 0.75 * below + wander * (0.35 * below + 0.01 * scene.unit)
    place = np.clip(scene.xs - 0.5 + drift, 0, scene.width - 1).astype(np.int32)
    light = np.zeros_like(depth)
    for radius, share, reach in ((0.03, 0.55, 0.5), (0.009, 0.36, 0.09), (0.003, 0.2, 0.03)):
        slope = np.gradient(blur(skyline.line[None, :], radius * scene.unit)[0]) * side
        fade = np.exp(-below / (reach * scene.unit))
        light += share * fade * np.tanh(slope * 2.4).astype(np.float32)[place]
    stone = scene.noise(f"stone {index}", 0.09, 5, gain=0.5, stretch=0.8, rows=rows)
    step = max(1, round(scene.unit * 0.006))
    fine = shifted(stone, 0, step * int(side)) - stone
    return np.clip(light * 1.25 + fine * 1.6, -1.0, 1.0)


def _lit(colour: Array, relief: Array, light: Array, strength: float) -> Array:
    dark, bright = shade(colour, -0.09), blend(shade(colour, 0.09), light, 0.22)
    share = np.clip(0.5 + relief * strength * 3.2, 0.0, 1.0)[..., None]
    return dark + (bright - dark) * share


def _snowy(scene: Scene) -> bool:
    if not scene.reading.allows("weather.snow"):
        return False
    chance = float(scene.rng("snow caps").random())
    return scene.reading.has("weather.snow") or (chance < 0.45 and scene.look.time != "storm")


def _with_snow(
    scene: Scene, rock: Array, relief: Array, depth: Array, line: float, t: float
) -> Array:
    heavy = 2.6 if scene.reading.has("weather.snow") else 0.6
    edge = line * heavy * (0.5 + 0.7 * np.abs(relief)) - depth
    snow = smoothstep(-0.15 * line, 0.15 * line, edge) * smoothstep(-0.75, 0.1, relief)
    lit = blend(scene.look.light, scene.look.haze, 0.25 + 0.3 * t)
    shadow = blend(blend(scene.look.haze, scene.look.sky[0], 0.3), rock.mean((0, 1)), 0.15)
    white = shadow + (lit - shadow) * np.clip(0.55 + relief * 0.9, 0.0, 1.0)[..., None]
    return rock + (snow * (0.85 - 0.4 * t))[..., None] * (white - rock)


def _paint_wood(scene: Scene, waterline: int) -> None:
    """Stand firs along the near shore or the bottom edge."""
    chance = float(scene.rng("wood").random())
    wanted = scene.reading.has("subject.forest")
    if not scene.reading.allows("subject.forest") or (chance > 0.65 and not wanted):
        return
    tall = scene.unit * (0.1 if waterline >= scene.height else 0.055)
    rows = (0.35, 0.0) if waterline >= scene.height else (0.0,)
    for number, lift in enumerate(rows):
        skyline = ridge(scene, f"bank {number}", waterline - tall * lift, tall * 0.35, 0.5, 0.3)
        line = np.minimum(skyline.line, waterline - 1)
        mask, top = conifers(scene, f"firs {number}", line, tall, 0.3, gaps=0.3)
        mask = mask[: max(0, waterline - top)]
        scene.over(mask, blend(scene.look.near, scene.look.far, lift * 0.8), top)
        bank = cover(Ridge(line).depth(scene, top))[: mask.shape[0]]
        scene.over(bank, blend(scene.look.near, scene.look.far, lift * 0.8), top)


def _paint_shore(scene: Scene) -> None:
    """Close the bottom with a dark bank in a corner, to lead the eye in."""
    side = 1 if scene.rng("shore").random() < 0.5 else -1
    slant = (scene.xs[0] / scene.width - 0.5) * side
    skyline = ridge(scene, "shore", scene.height, scene.height * 0.05, 0.2, 0.6)
    line = skyline.line + scene.height * (0.06 - 0.16 * np.clip(slant, -0.2, 0.5))
    scene.over(cover(scene.ys - line[None, :]), shade(scene.look.near, -0.02))
