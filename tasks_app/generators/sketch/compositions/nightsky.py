"""Deep space: clouds of gas bent by noise, dust, thousands of stars, maybe a planet."""

import numpy as np

from tasks_app.generators.sketch.arrays import Array, smoothstep
from tasks_app.generators.sketch.colour import blend, quick_ramp, rgb, shade
from tasks_app.generators.sketch.figures import paint_figures, wanted
from tasks_app.generators.sketch.land import conifers, cover, ridge
from tasks_app.generators.sketch.noise import warp
from tasks_app.generators.sketch.palette import tint
from tasks_app.generators.sketch.scene import Scene
from tasks_app.generators.sketch.sky import paint_disc, paint_stars, place_disc, spot

_GASES = (
    "#03040d #0e1238 #3b2a78 #a1489c #f08a8b #ffe3c2",
    "#02060f #06263b #0f5a72 #3ea39b #b8dba0 #fff4cf",
    "#05030d #24103a #6a1f5b #c4455f #f4a259 #ffe9b8",
    "#02040e #0b1b46 #23499b #5f8fe0 #b9c7f5 #fff1e6",
    "#04050c #1b1a40 #4b3b8f #3f8fc0 #8fe0cf #f6fbe0",
)


def paint(scene: Scene) -> None:
    """Paint a night sky over the whole canvas."""
    rng = scene.rng("space")
    gas = rgb(*_GASES[int(rng.integers(len(_GASES)))].split())
    names = scene.reading.group("colour")
    stops = np.concatenate([gas[:1], tint(gas[1:], names, 0.7)]) if names else gas
    scene.progress.stage(0.6)
    _paint_gas(scene, stops.astype(np.float32))
    scene.progress.stage(0.75)
    if scene.reading.allows("subject.stars"):
        scene.layer("stars")
        paint_stars(scene, 1.0, 2.6)
        _paint_bright_stars(scene)
    scene.layer("disc")
    if _wants_planet(scene, float(rng.random())):
        _paint_planet(scene, stops)
    elif scene.reading.has("subject.moon"):
        disc = place_disc(scene, 0.8)
        if disc:
            paint_disc(scene, disc)
    scene.progress.stage(0.95)
    earthly = not scene.reading.has("subject.space", "subject.planet")
    if wanted(scene) or (earthly and rng.random() < 0.8):
        _paint_land(scene, stops)


def _paint_gas(scene: Scene, stops: Array) -> None:
    """Lay a band of gas across the sky; bend it twice, then cut dust lanes into it."""
    rng = scene.rng("gas")
    angle = float(rng.uniform(-1.0, 1.0))
    x, y = (scene.xs - scene.width / 2) / scene.unit, (scene.ys - scene.height / 2) / scene.unit
    across = y * np.cos(angle) - x * np.sin(angle) + float(rng.normal(0, 0.06))
    first, second = scene.noise("gas x", 0.5, 5), scene.noise("gas y", 0.5, 5)
    field = scene.noise("gas form", 0.42, 7, gain=0.55)
    field = warp(field, first, second, scene.unit * 0.28)
    scene.progress.tick()
    bent = across + (first - 0.5) * 0.5
    band = np.exp(-((bent / 0.3) ** 2))
    threads = warp(scene.noise("threads", 0.3, 6, ridged=True), second, first, scene.unit * 0.2)
    scene.progress.tick()
    glow = band * (0.25 + 0.75 * field) + 0.18 * field + 0.22 * band * threads**2
    dust = warp(scene.noise("dust", 0.24, 6, gain=0.58), first, second, scene.unit * 0.15)
    lane = np.exp(-(((bent + (second - 0.5) * 0.3) / 0.12) ** 2))
    glow *= 1.0 - 0.72 * smoothstep(0.42, 0.75, dust) * (0.35 + 0.65 * lane)
    scene.progress.tick()
    scene.layer("gas", first * scene.unit)
    scene.pixels[:] = quick_ramp(stops, np.clip(glow * 1.02 - 0.06, 0.0, 1.0))
    hue = smoothstep(0.35, 0.75, warp(first, second, field, scene.unit * 0.2)) * band * 0.5
    other = shade(np.roll(stops[3], 1), 0.0, 0.9)
    scene.screen(hue * glow, other)


def _paint_bright_stars(scene: Scene) -> None:
    """Set a few stars with a halo and a cross of diffraction."""
    rng = scene.rng("bright stars")
    for _ in range(scene.count(14)):
        x, y = rng.random(2) * (scene.width, scene.height)
        size = scene.unit * float(0.0016 + 0.0022 * rng.random() ** 3)
        colour = blend(rgb("#cfe0ff"), rgb("#ffe2bd"), float(rng.random()))
        spot(scene, float(x), float(y), size, colour, 1.0)
        _cross(scene, float(x), float(y), size * 9, colour)


def _cross(scene: Scene, x: float, y: float, reach: float, colour: Array) -> None:
    far = int(reach) + 2
    top, left = max(0, int(y) - far), max(0, int(x) - far)
    view = scene.pixels[top : int(y) + far, left : int(x) + far]
    dx = np.abs(scene.xs[:, left : int(x) + far] - x)
    dy = np.abs(scene.ys[top : int(y) + far] - y)
    thin = max(0.6, reach * 0.035)
    rays = np.exp(-dy / thin) * np.exp(-dx / reach * 4) + np.exp(-dx / thin) * np.exp(
        -dy / reach * 4
    )
    view += (rays * 0.8)[..., None] * colour * (1.0 - np.minimum(view, 1.0))


def _wants_planet(scene: Scene, chance: float) -> bool:
    if scene.reading.has("subject.planet"):
        return True
    space = scene.reading.has("subject.space")
    return scene.reading.allows("subject.planet") and space and chance < 0.35


def _paint_planet(scene: Scene, stops: Array) -> None:
    """Paint a banded planet lit from one side, perhaps ringed."""
    rng = scene.rng("planet")
    radius = scene.unit * float(rng.uniform(0.13, 0.23))
    cx, cy = (
        scene.width * float(rng.uniform(0.3, 0.7)),
        scene.height * float(rng.uniform(0.35, 0.65)),
    )
    tilt = float(rng.uniform(-0.5, 0.5))
    x, y = (scene.xs - cx) / radius, (scene.ys - cy) / radius
    u, v = x * np.cos(tilt) + y * np.sin(tilt), y * np.cos(tilt) - x * np.sin(tilt)
    r2 = np.clip(x * x + y * y, 0.0, 1.0)
    z = np.sqrt(1.0 - r2)
    storms = scene.noise("storms", 0.06, 5, stretch=4.0) - 0.5
    bands = np.sin(v * 9.0 + storms * 4.0) * 0.5 + np.sin(v * 23.0 + storms * 9.0) * 0.25
    colours = tint(rgb("#7d5a4a", "#d9a066", "#f3dfc1", "#a8623f"), scene.reading.group("colour"))
    surface = quick_ramp(colours, np.clip(0.5 + bands * 0.55, 0.0, 1.0))
    lit = np.clip(-0.62 * x - 0.38 * y + 0.68 * z, 0.0, 1.0)
    air = np.exp(-np.clip(np.hypot(x, y) - 1.0, 0.0, None) * 14.0) * (np.hypot(x, y) >= 1.0)
    scene.screen(air * 0.35 * np.clip(0.6 - 0.6 * x - 0.3 * y, 0, 1), stops[4])
    edge = np.clip((1.0 - np.hypot(x, y)) * radius + 0.5, 0.0, 1.0)
    scene.over(edge, surface * (0.03 + 1.05 * lit**0.8)[..., None])
    scene.progress.tick()
    if rng.random() < 0.7:
        _paint_ring(scene, u, v, colours[2])


def _paint_ring(scene: Scene, u: Array, v: Array, colour: Array) -> None:
    flat = np.hypot(u, v / 0.26)
    grooves = 0.55 + 0.25 * np.sin(flat * 47.0) + 0.2 * np.sin(flat * 131.0)
    body = smoothstep(1.3, 1.36, flat) * smoothstep(2.2, 2.1, flat) * grooves
    hidden = (np.hypot(u, v) < 1.0) & (v < 0)
    scene.over(body * 0.72 * ~hidden, colour)


def _paint_land(scene: Scene, stops: Array) -> None:
    """Set dark hills with firs below the sky, so that it has a place to be seen from."""
    glow = np.exp((scene.ys - scene.height) / (0.2 * scene.unit)) * np.ones_like(scene.xs)
    scene.screen(glow * 0.35, stops[3])
    for index, lift in enumerate((0.14, 0.05)):
        scene.layer("land")
        base = scene.height * (1.0 - lift)
        skyline = ridge(scene, f"land {index}", base, scene.height * 0.09, 0.7, 0.45)
        colour = blend(stops[0], stops[2], 0.3 * (1 - index))
        scene.over(cover(skyline.depth(scene, skyline.top)), colour, skyline.top)
        if index and scene.reading.allows("subject.forest"):
            mask, top = conifers(scene, "firs", skyline.line, scene.unit * 0.055, 0.3, 0.35)
            scene.over(mask, colour, top)
    paint_figures(scene, skyline.line)
