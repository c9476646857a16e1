"""Skies: gradient, clouds, sun or moon, stars, aurora, rainbow, lightning, birds."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from tasks_app.generators.sketch.arrays import Array, Rng, mix, smoothstep
from tasks_app.generators.sketch.colour import blend, ramp, rgb, shade
from tasks_app.generators.sketch.noise import warp
from tasks_app.generators.sketch.scene import Scene
from tasks_app.generators.sketch.shapes import Stencil, blur, curve, outline


@dataclass(frozen=True, slots=True)
class Disc:
    """Sun or moon: centre and radius in px."""

    kind: str
    x: float
    y: float
    radius: float


def paint_sky(scene: Scene, horizon: float) -> Disc | None:
    """Paint a whole sky down to ``horizon`` (0..1 of the height); return its sun or moon."""
    scene.layer("sky")
    rows = scene.ys / scene.height / horizon
    scene.pixels[:] = ramp(scene.look.sky, np.clip(rows, 0.0, 1.0))
    disc = place_disc(scene, horizon)
    stars_wanted = scene.look.dark or scene.reading.has("subject.stars")
    if stars_wanted and scene.reading.allows("subject.stars"):
        scene.layer("stars")
        paint_stars(scene, horizon)
    if scene.reading.has("weather.aurora"):
        scene.moving(partial(paint_aurora, horizon=horizon))
    scene.progress.tick()
    if disc:
        scene.layer("disc")
        paint_disc(scene, disc)
    scene.layer("clouds")
    paint_clouds(scene, horizon, disc)
    if scene.reading.has("weather.rainbow"):
        scene.layer("sky")
        paint_rainbow(scene, horizon)
    _paint_what_passes(scene, horizon)
    scene.layer("land")
    return disc


def _paint_what_passes(scene: Scene, horizon: float) -> None:
    if scene.reading.has("weather.storm"):
        scene.layer("lightning")
        paint_lightning(scene, horizon)
    if scene.reading.has("subject.bird") or _chance(scene, "birds", 0.3):
        scene.layer("birds")
        paint_birds(scene, horizon)


def _chance(scene: Scene, name: str, likelihood: float) -> bool:
    calm = not scene.look.dark and not scene.reading.has("weather.storm", "weather.snow")
    allowed = scene.reading.allows(f"subject.{name.rstrip('s')}")
    return calm and allowed and float(scene.rng(f"chance {name}").random()) < likelihood


def place_disc(scene: Scene, horizon: float) -> Disc | None:
    """Decide on sun or moon, unless both are out of place or avoided."""
    rng = scene.rng("disc")
    reading, dark = scene.reading, scene.look.dark
    kind = "moon" if (dark or reading.has("subject.moon")) else "sun"
    if reading.has("subject.sun") and not reading.has("subject.moon"):
        kind = "sun"
    if not reading.allows(f"subject.{kind}"):
        return None
    asked = reading.has(f"subject.{kind}")
    chance, x, y, size = rng.random(4)
    hidden = scene.look.time in ("grey", "storm") or chance > 0.85
    if hidden and not asked:
        return None
    low = scene.look.time in ("dawn", "dusk", "gold") and kind == "sun"
    height = horizon * ((0.55 + 0.38 * y) if low else (0.2 + 0.35 * y))
    radius = scene.unit * (0.032 + 0.03 * size) * (1.7 if asked else 1.0)
    side = 0.2 + 0.6 * x
    return Disc(kind, float(side * scene.width), float(height * scene.height), float(radius))


def paint_disc(scene: Scene, disc: Disc) -> None:
    """Paint the sun or moon with its glow."""
    distance = np.hypot(scene.xs - disc.x, scene.ys - disc.y)
    light = scene.look.light
    warm = blend(light, scene.look.sky[2], 0.45)
    for reach, strength in ((14.0, 0.35), (5.0, 0.35), (2.2, 0.3)):
        glow = np.exp(-distance / (disc.radius * reach) * 2.2) * strength
        scene.screen(glow, warm if reach > 3 else light)
        scene.progress.tick()
    cover = np.clip(disc.radius - distance + 0.5, 0.0, 1.0)
    if disc.kind == "moon":
        _paint_moon(scene, disc, cover)
    else:
        core = np.clip(1.0 - distance / disc.radius, 0.0, 1.0)[..., None]
        scene.over(cover, mix(light, np.minimum(light + 0.12, 1.0), core))
    scene.progress.tick()


def _paint_moon(scene: Scene, disc: Disc, cover: Array) -> None:
    rng = scene.rng("moon")
    maria = scene.noise("maria", disc.radius / scene.unit * 0.9, 4)
    face = scene.look.light * (0.72 + 0.25 * smoothstep(0.3, 0.65, maria))[..., None]
    if rng.random() < 0.35:
        offset = disc.radius * (0.35 + 0.3 * float(rng.random()))
        bite = np.hypot(scene.xs - disc.x - offset, scene.ys - disc.y + offset * 0.4)
        cover = cover * smoothstep(disc.radius * 0.92, disc.radius * 1.02, bite)
    scene.over(cover, face)


def paint_clouds(scene: Scene, horizon: float, disc: Disc | None = None) -> None:
    """Paint clouds lit from the side of ``disc``; the more, the rougher the weather."""
    rng = scene.rng("clouds")
    cover = 0.18 + 0.32 * float(rng.random())
    if scene.reading.has("weather.cloud", "weather.storm", "weather.rain"):
        cover = 0.62
    if scene.reading.has("weather.clear") or not scene.reading.allows("weather.cloud"):
        return
    rows = max(8, int(scene.height * horizon))
    base = scene.noise("cloud form", 0.3, 7, gain=0.55, stretch=2.2, rows=rows)
    bend = scene.noise("cloud bend", 0.2, 5, rows=rows)
    other = scene.noise("cloud bend other", 0.2, 5, rows=rows)
    form = warp(base, bend, other, scene.unit * 0.035)
    scene.progress.tick()
    height = scene.ys[:rows] / rows
    threshold = 1.0 - cover - 0.12 * np.sin(height * 7.0 + float(rng.random()) * 6.0)
    mask = smoothstep(0.0, 0.34, form - threshold + 0.08) * (1.0 - 0.6 * height**4)
    broad = blur(form, scene.unit * 0.007, scene.progress.tick)
    step = max(1, round(scene.unit * 0.02))
    below = np.concatenate([broad[step:], np.repeat(broad[-1:], step, axis=0)])[:rows]
    lit = np.clip((broad - below) * 2.6 + 0.5 + (form - broad) * 0.8, 0.0, 1.0)
    if disc:
        distance = np.hypot(scene.xs - disc.x, scene.ys[:rows] - disc.y) / disc.radius
        mask = mask * (1.0 - 0.75 * np.exp(-((distance / 1.9) ** 2)))
    shadow, bright = _cloud_colours(scene)
    colour = shadow + (bright - shadow) * lit[..., None]
    strength = 0.55 if scene.look.dark else 0.8
    scene.over(mask * strength, colour)
    scene.progress.tick()


def _cloud_colours(scene: Scene) -> tuple[Array, Array]:
    look = scene.look
    if look.time == "storm":
        return shade(look.sky[0], -0.02), blend(look.sky[2], look.light, 0.1)
    if look.dark:
        return shade(look.sky[1], -0.02), shade(look.sky[3], 0.04)
    if look.time in ("dusk", "dawn", "gold"):
        return blend(look.sky[1], look.sky[2], 0.35), shade(
            blend(look.sky[2], look.sky[3], 0.55), 0.04
        )
    return blend(look.sky[2], look.far, 0.3), np.minimum(look.light, 1.0)


def paint_stars(scene: Scene, horizon: float, density: float = 1.0) -> None:
    """Scatter stars, a few of them bright with a small halo."""
    rng = scene.rng("stars")
    busy = 2.2 if scene.reading.has("subject.stars", "subject.space") else 1.0
    number = scene.count(650 * busy * density)
    x, y = rng.random(number) * scene.width, rng.random(number) ** 1.15 * scene.height * horizon
    power = rng.random(number) ** 7
    warmth = rng.random(number)[:, None]
    colours = mix(rgb("#bcd0ff"), rgb("#ffe6c4"), warmth.astype(np.float32))
    for i in range(number):
        radius = scene.unit * (0.0007 + 0.0016 * power[i])
        spot(scene, x[i], y[i], radius, colours[i], 0.3 + 0.7 * power[i] ** 0.3)
    scene.progress.tick()


def spot(scene: Scene, x: float, y: float, radius: float, colour: Array, strength: float) -> None:
    """Add a small Gaussian point of light of ``radius`` px, on its own little window."""
    reach = max(2, int(radius * 5) + 1)
    left, top = max(0, int(x) - reach), max(0, int(y) - reach)
    window = scene.pixels[top : int(y) + reach + 1, left : int(x) + reach + 1]
    if not window.size:
        return
    dx = np.arange(left, left + window.shape[1], dtype=np.float32) + 0.5 - x
    dy = np.arange(top, top + window.shape[0], dtype=np.float32)[:, None] + 0.5 - y
    squared = (dx * dx + dy * dy) / max(radius, 0.45) ** 2
    light = np.exp(-squared * 0.7) + 0.12 * np.exp(-squared * 0.06)
    dim = min(1.0, radius / 0.45) * strength
    window += (light * dim).astype(np.float32)[..., None] * colour * (1.0 - np.minimum(window, 1.0))


def paint_aurora(scene: Scene, horizon: float) -> None:
    """Hang curtains of light in the sky."""
    rng = scene.rng("aurora")
    fine = scene.noise("aurora rays", 0.02, 3, stretch=0.6, rows=4)[:1]
    for index, colour in enumerate(rgb("#43f5a8", "#5be0c8", "#a06bff")):
        phase, frequency, place = rng.random(3)
        drift = scene.turn(0.3) * (1.0 if index % 2 else -1.0)
        wave = np.sin(scene.xs / scene.unit * (4 + 4 * frequency) + phase * 6.3 + drift)
        wave += 0.5 * np.sin(scene.xs / scene.unit * 11.0 * (1 + frequency) + phase * 20 + drift)
        foot = scene.height * horizon * (0.45 + 0.25 * place + 0.1 * wave)
        above = (foot - scene.ys) / (scene.height * horizon * (0.4 + 0.1 * index))
        curtain = np.where(above > 0, np.exp(-above * 2.4), np.exp(above * 26.0))
        scene.screen((curtain * (0.25 + 0.6 * fine) * 0.75).astype(np.float32), colour)
        scene.progress.tick()


def paint_rainbow(scene: Scene, horizon: float) -> None:
    """Arch a faint rainbow over the horizon."""
    centre = scene.width * (0.3 + 0.4 * float(scene.rng("rainbow").random()))
    radius = 0.62 * scene.unit
    distance = np.hypot(scene.xs - centre, scene.ys - scene.height * horizon * 1.05)
    position = (radius - distance) / (0.075 * scene.unit)
    colours = ramp(
        rgb("#d9485f", "#f0a04b", "#f2e35b", "#63c97a", "#4e9bd8", "#7d5cc6"),
        np.clip(position, 0.0, 1.0),
    )
    scene.screen(np.exp(-(((position - 0.5) / 0.42) ** 4)) * 0.42, colours)
    scene.progress.tick()


def paint_lightning(scene: Scene, horizon: float) -> None:
    """Strike one branched bolt by midpoint displacement, and light the clouds around it."""
    rng = scene.rng("lightning")
    x = scene.width * (0.2 + 0.6 * float(rng.random()))
    start, end = (x, 0.0), (x + scene.unit * float(rng.normal(0, 0.12)), scene.height * horizon)
    stencil = Stencil(scene.width, scene.height)
    trunk = _bolt(rng, start, end, scene.unit * 0.1)
    stencil.taper(trunk, scene.unit * 0.007, scene.unit * 0.002)
    for _ in range(4):
        root = trunk[int(rng.integers(8, len(trunk) * 2 // 3))]
        tip = (
            root[0] + scene.unit * float(rng.normal(0, 0.15)),
            root[1] + scene.height * horizon * 0.3 * float(rng.random() + 0.2),
        )
        branch = _bolt(rng, root, tip, scene.unit * 0.04)
        stencil.taper(branch, scene.unit * 0.003, scene.unit * 0.0008)
    distance = np.abs(scene.xs - x) / scene.unit + 0 * scene.ys
    scene.screen(np.exp(-distance * 5.0) * 0.3, rgb("#b9c4ff"))
    scene.screen(stencil.mask(), rgb("#f4f2ff"))


def _bolt(
    rng: Rng, start: tuple[float, float], end: tuple[float, float], jitter: float
) -> list[tuple[float, float]]:
    path = np.array([start, end], dtype=np.float64)
    for _ in range(5):
        middle = (path[1:] + path[:-1]) / 2.0
        middle += rng.normal(0.0, jitter * 0.5, middle.shape) * (1.0, 0.4)
        woven = np.empty((len(path) + len(middle), 2))
        woven[::2], woven[1::2] = path, middle
        path, jitter = woven, jitter * 0.5
    return [(float(x), float(y)) for x, y in path]


def paint_birds(scene: Scene, horizon: float) -> None:
    """Let a loose flock cross the sky."""
    rng = scene.rng("birds")
    stencil = Stencil(scene.width, scene.height)
    number = int(rng.integers(5, 12))
    cx, cy = scene.width * rng.uniform(0.2, 0.8), scene.height * horizon * rng.uniform(0.3, 0.7)
    for _ in range(number):
        x = cx + scene.unit * float(rng.normal(0, 0.09))
        y = cy + scene.unit * float(rng.normal(0, 0.035))
        span = scene.unit * float(rng.uniform(0.008, 0.017))
        draw_bird(stencil, x, y, span, float(rng.uniform(0.2, 0.75)))
    scene.over(stencil.mask() * 0.8, scene.look.near)


def draw_bird(stencil: Stencil, x: float, y: float, span: float, lift: float) -> None:
    """Draw one gliding bird, wings ``span`` px each and raised by ``lift``."""
    for side in (-1, 1):
        wing = curve(
            [(x, y), (x + side * span * 0.4, y - span * lift), (x + side * span, y - span * 0.1)],
            10,
        )
        stencil.polygon(outline(wing, span * 0.17, span * 0.03))
