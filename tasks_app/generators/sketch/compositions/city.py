"""A skyline in layers of haze, windows lit by the hour, mirrored in water or a wet street."""

import numpy as np

from tasks_app.generators.sketch.arrays import Array, Rng, smoothstep
from tasks_app.generators.sketch.colour import blend, rgb, shade
from tasks_app.generators.sketch.figures import paint_boats, paint_figures
from tasks_app.generators.sketch.land import mirror_water
from tasks_app.generators.sketch.scene import Scene
from tasks_app.generators.sketch.sky import paint_sky, spot

_LAMPS = ("#ffd48a", "#ffc061", "#ffe9bd", "#cfe6ff")
_NEON = ("#ff3d9a", "#19e3ff", "#9b5cff", "#ffd23d", "#35ff9e")


def paint(scene: Scene) -> None:
    """Paint a city over the whole canvas."""
    rng = scene.rng("city")
    water = int(scene.height * (0.72 + 0.1 * float(rng.random())))
    scene.progress.stage(0.3)
    paint_sky(scene, water / scene.height * 0.98)
    _paint_glow(scene, water)
    scene.progress.tick()
    layers = 4
    for index in range(layers):
        scene.progress.stage(0.3 + 0.4 * (index + 1) / layers)
        scene.layer("land")
        _paint_row(scene, index / (layers - 1), water, f"row {index}")
    if _neon(scene):
        scene.layer("signs")
        _paint_signs(scene, water)
    scene.progress.stage(0.92)
    scene.layer("near")
    _paint_quay(scene, water)
    paint_figures(scene, water)
    mirror_water(scene, water, blend(scene.look.near, scene.look.sky[1], 0.3), 0.55)
    scene.layer("boats")
    paint_boats(scene, water)


def _neon(scene: Scene) -> bool:
    return scene.reading.has("material.neon") and scene.reading.allows("material.neon")


def _lit(scene: Scene) -> float:
    """Return the share of lit windows by the hour."""
    shares = {"night": 0.42, "dusk": 0.3, "storm": 0.25, "grey": 0.1, "dawn": 0.12, "gold": 0.1}
    return shares.get(scene.look.time, 0.02) + 0.1 * _neon(scene)


def _paint_glow(scene: Scene, water: int) -> None:
    """Lay the glow of the streets, or the day's haze, behind the houses."""
    rise = np.exp((scene.ys - water) / (0.16 * scene.unit)) * np.ones_like(scene.xs)
    lamp = rgb("#ff9d5c") if _lit(scene) > 0.2 else scene.look.haze
    if _neon(scene):
        lamp = rgb("#d63aa8")
    scene.screen(np.clip(rise, 0, 1) * (0.2 + 0.8 * _lit(scene)), lamp)


def _paint_row(scene: Scene, t: float, water: int, name: str) -> None:
    """Paint one row of buildings: t 0 is far and hazy, 1 is near."""
    rng = scene.rng(name)
    look = scene.look
    air = t ** (0.9 + 0.5 * look.mist)
    stone = blend(shade(look.near, 0.0, 0.5), look.sky[0], 0.2)
    colour = blend(blend(look.haze, look.sky[2], 0.3), stone, 0.22 + 0.68 * air)
    reach = min(water * 0.8, scene.unit * 0.62)
    centre = float(rng.uniform(0.25, 0.75))
    x = -float(rng.uniform(0.0, 0.05)) * scene.unit
    while x < scene.width:
        width = scene.unit * float(rng.uniform(0.035, 0.085)) * (0.75 + 0.55 * t)
        middle = (x + width / 2) / scene.width
        hill = np.exp(-(((middle - centre) / 0.28) ** 2))
        tall = reach * (0.16 + (0.34 + 0.6 * rng.random() ** 1.6) * (0.3 + 0.7 * hill))
        tall *= 1.0 - 0.5 * t * float(rng.random())
        _paint_building(scene, rng, (x, width, tall), water, colour, t)
        x += width * float(rng.uniform(0.82, 1.12))
    _haze_foot(scene, water, t)
    scene.progress.tick()


def _paint_building(
    scene: Scene, rng: Rng, place: tuple[float, float, float], water: int, colour: Array, t: float
) -> None:
    """Paint one building as one to three stacked boxes, maybe with a mast."""
    x, width, tall = place
    tone = shade(colour, float(rng.normal(0.0, 0.014)))
    steps = int(rng.integers(1, 4)) if tall > width * 1.6 else 1
    style = int(rng.integers(4))
    for step in range(steps):
        inset = width * 0.15 * step
        height = tall * (1.0 - 0.13 * (steps - 1 - step))
        _paint_box(scene, rng, (x + inset, width - 2 * inset, height), water, tone, t, style)
    if tall > width * 2.4 and rng.random() < 0.45:
        mast = tall * float(rng.uniform(0.1, 0.24))
        half = max(0.5, scene.unit * 0.0011)
        cx = x + width / 2
        _fill(scene, cx - half, cx + half, water - tall - mast, water - tall, tone)
        if scene.look.dark:
            spot(scene, cx, water - tall - mast, scene.unit * 0.0022, rgb("#ff5648"), 0.9)


def _fill(
    scene: Scene, left: float, right: float, top: float, bottom: float, colour: Array
) -> None:
    """Fill a rectangle with exact coverage of its edge pixels."""
    x0, x1 = max(0, int(left)), min(scene.width, int(np.ceil(right)))
    y0, y1 = max(0, int(top)), min(scene.height, int(np.ceil(bottom)))
    if x0 >= x1 or y0 >= y1:
        return
    xs, ys = scene.xs[:, x0:x1] - 0.5, scene.ys[y0:y1] - 0.5
    across = np.clip(np.minimum(right - xs, xs + 1.0 - left), 0.0, 1.0)
    down = np.clip(np.minimum(bottom - ys, ys + 1.0 - top), 0.0, 1.0)
    view = scene.pixels[y0:y1, x0:x1]
    view += (across * down)[..., None] * (colour - view)


def _paint_box(
    scene: Scene,
    rng: Rng,
    place: tuple[float, float, float],
    water: int,
    colour: Array,
    t: float,
    style: int,
) -> None:
    x, width, tall = place
    _fill(scene, x, x + width, water - tall, water, colour)
    bright = blend(colour, scene.look.sky[2], 0.2 if not scene.look.dark else 0.12)
    _fill(scene, x, x + width * 0.3, water - tall, water, bright)
    _paint_windows(scene, rng, place, water, colour, t, style)


def _paint_windows(
    scene: Scene,
    rng: Rng,
    place: tuple[float, float, float],
    water: int,
    colour: Array,
    t: float,
    style: int,
) -> None:
    """Paint the grid of windows of a facade at once: a table of lamps, repeated to pixels."""
    x, width, tall = place
    pitch_x = max(3.0, scene.unit * (0.0055 + 0.0035 * t) * (1.0 + 0.35 * (style % 2)))
    pitch_y = max(3.0, scene.unit * (0.0085 + 0.0045 * t))
    top, bottom = max(0, int(water - tall + pitch_y)), min(scene.height, int(water - pitch_y))
    columns, rows = max(2, round(width / pitch_x)), int(tall / pitch_y) + 2
    pitch_x = width / columns
    left, right = max(0, int(x)), min(scene.width, int(x + width))
    on = rng.random((rows, columns)) < _lit(scene) * float(rng.uniform(0.4, 1.5))
    if style == 3:
        on |= (rng.random((rows, 1)) < _lit(scene) * 0.5) & np.ones((1, columns), dtype=bool)
    lamp = rgb(*_LAMPS)[rng.choice(4, p=[0.4, 0.25, 0.25, 0.1], size=(rows, columns))]
    power = rng.uniform(0.35, 1.0, (rows, columns)).astype(np.float32)
    if left >= right or top >= bottom:
        return
    u = (scene.xs[0, left:right] - x) / pitch_x
    v = (scene.ys[top:bottom, 0] - (water - tall)) / pitch_y
    gap = 0.3 if style != 1 else 0.12
    soft_x = np.clip((0.5 - gap / 2 - np.abs(u % 1 - 0.5)) * pitch_x + 0.5, 0.0, 1.0)
    soft_y = np.clip((0.32 - np.abs(v % 1 - 0.5)) * pitch_y + 0.5, 0.0, 1.0)
    cells = v.astype(np.int32)[:, None], np.clip(u.astype(np.int32), 0, columns - 1)[None, :]
    pane = soft_y[:, None] * soft_x[None, :]
    view = scene.pixels[top:bottom, left:right]
    dull = shade(colour, -0.05 if not scene.look.dark else 0.015)
    view += (pane * 0.6)[..., None] * (dull - view)
    shine = (pane * on[cells] * power[cells] * (0.45 + 0.5 * t))[..., None]
    view += shine * (lamp[cells] - view)


def _haze_foot(scene: Scene, water: int, t: float) -> None:
    """Let the haze of the streets rise between this row and the next."""
    if t >= 1.0:
        return
    top = max(0, int(water - 0.3 * scene.unit))
    rise = smoothstep(0.0, 1.0, (scene.ys[top:water] - top) / max(1, water - top))
    amount = (0.25 + 0.4 * scene.look.mist) * (1.0 - t)
    glow = blend(scene.look.haze, rgb("#ff9d5c"), 0.3 * (_lit(scene) > 0.2))
    scene.over(rise * amount * np.ones_like(scene.xs), glow, top)


def _paint_signs(scene: Scene, water: int) -> None:
    """Hang neon signs and light edges on the houses."""
    rng = scene.rng("signs")
    for _ in range(scene.count(34)):
        colour = rgb(*_NEON)[int(rng.integers(len(_NEON)))]
        x = float(rng.random()) * scene.width
        foot = water - scene.unit * float(rng.uniform(0.01, 0.24))
        tall = scene.unit * float(rng.uniform(0.02, 0.08))
        wide = scene.unit * float(rng.uniform(0.003, 0.012))
        if rng.random() < 0.3:
            tall, wide = wide, tall
        _fill(scene, x, x + wide, foot - tall, foot, blend(colour, rgb("#ffffff"), 0.25))
        _glow(scene, x + wide / 2, foot - tall / 2, max(tall, wide), colour)
    scene.progress.tick()


def _glow(scene: Scene, x: float, y: float, reach: float, colour: Array) -> None:
    far = int(reach * 2.2) + 2
    top, left = max(0, int(y) - far), max(0, int(x) - far)
    view = scene.pixels[top : int(y) + far, left : int(x) + far]
    ys, xs = scene.ys[top : int(y) + far] - y, scene.xs[:, left : int(x) + far] - x
    light = np.exp(-np.hypot(xs, ys) / (reach * 0.5)) * 0.55
    view += light[..., None] * colour * (1.0 - np.minimum(view, 1.0))


def _paint_quay(scene: Scene, water: int) -> None:
    """Close the foot of the city with a dark line and a row of lamps."""
    _fill(
        scene, 0, scene.width, water - scene.unit * 0.008, water, shade(scene.look.near, -0.03, 0.4)
    )
    if _lit(scene) < 0.1:
        return
    for x in np.arange(0.01, scene.width / scene.unit, 0.028):
        at = float(x) * scene.unit
        spot(scene, at, water - scene.unit * 0.012, scene.unit * 0.0022, rgb("#ffcf87"), 0.9)
