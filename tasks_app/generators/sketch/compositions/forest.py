"""A wood in the haze: firs on misty slopes, or tall trunks with light falling between them."""

import numpy as np

from tasks_app.generators.sketch.arrays import Array, Rng, smoothstep
from tasks_app.generators.sketch.colour import blend, quick_ramp, rgb, shade
from tasks_app.generators.sketch.figures import paint_figures
from tasks_app.generators.sketch.land import Ridge, conifers, cover, grass, ridge
from tasks_app.generators.sketch.palette import tint
from tasks_app.generators.sketch.scene import Scene
from tasks_app.generators.sketch.shapes import Stencil, curve
from tasks_app.generators.sketch.sky import Disc, paint_sky


def paint(scene: Scene) -> None:
    """Paint a forest over the whole canvas."""
    inside = float(scene.rng("forest").random()) < 0.45
    if scene.reading.has("subject.bamboo", "subject.birch", "season.autumn"):
        inside = True
    if scene.reading.has("subject.mountain", "weather.snow", "subject.moon"):
        inside = False
    if inside:
        _paint_grove(scene)
    else:
        _paint_slopes(scene)


def _paint_slopes(scene: Scene) -> None:
    """Fir woods on slope behind slope, each fainter in the mist."""
    look = scene.look
    horizon = 0.6
    scene.progress.stage(0.3)
    disc = paint_sky(scene, horizon)
    layers = scene.count(6)
    for index in range(layers):
        scene.progress.stage(0.3 + 0.6 * (index + 1) / layers)
        scene.layer("land")
        t = index / max(1, layers - 1)
        tall = scene.unit * (0.035 + 0.24 * t**2.2)
        base = scene.height * (0.46 + 0.52 * t**1.25)
        skyline = ridge(
            scene, f"slope {index}", base, scene.height * 0.17 * (1 - 0.7 * t), 0.9, 0.3
        )
        mask, top = conifers(scene, f"wood {index}", skyline.line, tall, 0.17 + 0.2 * t, 0.22 * t)
        air = 0.12 + 0.88 * t ** (0.8 + look.mist)
        colour = blend(blend(look.haze, look.far, 0.5), look.near, air)
        scene.progress.tick()
        _paint_layer(scene, skyline, mask, top, colour, t)
    if disc:
        scene.layer("rays")
        _paint_rays(scene, disc)
    scene.layer("near")
    paint_figures(scene, int(scene.height * 0.97))


def _paint_layer(
    scene: Scene, skyline: Ridge, mask: Array, top: int, colour: Array, t: float
) -> None:
    look = scene.look
    depth = skyline.depth(scene, top)
    whole = cover(depth)
    whole[: mask.shape[0]] = np.maximum(whole[: mask.shape[0]], mask)
    frost = scene.reading.has("weather.snow")
    light = blend(colour, look.light, 0.35 if frost else 0.0)
    span = scene.unit * (0.06 + 0.22 * t)
    high = smoothstep(0.4, -1.0, depth / span)[..., None]
    mist = smoothstep(-0.3, 1.6, depth / span) * (0.3 + 0.65 * look.mist) * (1.0 - 0.85 * t)
    drift = scene.noise(f"drift {top} {t:.2f}", 0.3, 3, stretch=3.0, rows=depth.shape[0])
    mist = np.clip(mist * (0.7 + 0.6 * drift), 0.0, 1.0)
    tone = colour + (light - colour) * high
    tone = tone + mist[..., None] * (blend(look.haze, look.sky[3], 0.3) - tone)
    scene.over(whole, tone, top)


def _paint_rays(scene: Scene, disc: Disc) -> None:
    """Fan shafts of light out from the sun."""
    rng = scene.rng("rays")
    angle = np.arctan2(scene.ys - disc.y, scene.xs - disc.x)
    shafts = np.zeros(scene.shape, dtype=np.float32)
    for _ in range(4):
        shafts += np.sin(angle * float(rng.uniform(5, 19)) + float(rng.random()) * 6.3)
    distance = np.hypot(scene.xs - disc.x, scene.ys - disc.y) / scene.unit
    fade = np.exp(-distance * 2.4) * smoothstep(0.0, 0.12, distance)
    scene.screen(smoothstep(-1.5, 3.5, shafts) * fade * 0.26, scene.look.light)
    scene.progress.tick()


def _paint_grove(scene: Scene) -> None:
    """Stand inside the wood: trunks from the far light to the near dark, leaves above."""
    look = scene.look
    light = blend(look.sky[3], look.light, 0.4)
    deep = blend(look.sky[1], look.near, 0.35)
    rng = scene.rng("grove")
    focus = float(rng.uniform(0.35, 0.65))
    scene.progress.stage(0.15)
    x, y = scene.xs / scene.width - focus, scene.ys / scene.height - 0.45
    distance = np.hypot(x * 1.2, y * 0.9)
    stops = np.stack([light, blend(light, look.haze, 0.6), deep])
    scene.progress.tick()
    scene.pixels[:] = quick_ramp(stops, distance * 1.35)
    layers = scene.count(5)
    for index in range(layers):
        scene.progress.stage(0.15 + 0.65 * (index + 1) / layers)
        t = (index + 1) / layers
        scene.layer("land")
        _paint_ground(scene, index, t, light)
        _paint_trunks(scene, index, t, light)
        scene.layer("leaves")
        _paint_leaves(scene, index, t, light, focus)
    scene.progress.stage(0.9)
    scene.layer("rays")
    top_light = Disc("sun", scene.width * focus, -0.1 * scene.height, scene.unit * 0.1)
    _paint_rays(scene, top_light)
    scene.layer("near")
    paint_figures(scene, int(scene.height * 0.93))


def _paint_ground(scene: Scene, index: int, t: float, light: Array) -> None:
    look = scene.look
    base = scene.height * (0.68 + 0.26 * t)
    skyline = ridge(scene, f"floor {index}", base, scene.height * 0.03, 0.5, 0.3)
    colour = blend(blend(light, _leaf(scene, 0.3), 0.45), look.near, t**0.9)
    grass(scene, f"herbs {index}", skyline.line, scene.unit * (0.012 + 0.045 * t), colour)


def _paint_trunks(scene: Scene, index: int, t: float, light: Array) -> None:
    """Paint a row of trunks, lit at one edge; bamboo has joints, birch dark scars."""
    rng = scene.rng(f"trunks {index}")
    bamboo = scene.reading.has("subject.bamboo")
    stencil = Stencil(scene.width, scene.height, scale=2)
    edge = Stencil(scene.width, scene.height, scale=2)
    scars = Stencil(scene.width, scene.height, scale=2)
    number = max(3, round(scene.width / scene.unit * (15 - 9 * t) * (1.3 if bamboo else 1.0)))
    foot = scene.height * (0.7 + 0.27 * t)
    for _ in range(number):
        x = float(rng.random()) * scene.width
        wide = scene.unit * (0.006 + 0.032 * t**1.6) * float(rng.uniform(0.6, 1.3))
        wide *= 0.6 if bamboo else 1.0
        lean, bow = rng.normal(0, 0.05, 2) * scene.unit
        path = curve(
            [(x, foot), (x + bow, scene.height * 0.4), (x + lean, -scene.height * 0.04)], 16
        )
        stencil.taper(path, wide, wide * (0.85 if bamboo else 0.55))
        offset = [(px + wide * 0.27, py) for px, py in path]
        edge.taper(offset, wide * 0.3, wide * 0.16)
        if bamboo:
            _joints(edge, rng, path, wide)
        else:
            _branches(stencil, rng, path, wide)
        if scene.reading.has("subject.birch"):
            _scars(scars, rng, path, wide)
    colour = blend(blend(light, scene.look.far, 0.55), scene.look.near, t**0.8)
    if bamboo:
        colour = tint(colour[None], ["green"], 0.5)[0]
    if scene.reading.has("subject.birch"):
        colour = blend(colour, rgb("#f1ece2"), 0.75 - 0.15 * t)
    mask = stencil.mask()
    scene.over(mask, colour)
    scene.over(scars.mask() * mask * 0.8, blend(scene.look.near, colour, 0.15))
    scene.over(edge.mask() * mask * (0.6 - 0.25 * t), blend(colour, light, 0.55))
    scene.progress.tick()


def _branches(stencil: Stencil, rng: Rng, path: list[tuple[float, float]], wide: float) -> None:
    for _ in range(int(rng.integers(2, 6))):
        x, y = path[int(rng.integers(6, len(path)))]
        side = -1 if rng.random() < 0.5 else 1
        reach = wide * float(rng.uniform(3, 8))
        twig = curve(
            [
                (x, y),
                (x + side * reach * 0.5, y - reach * 0.2),
                (x + side * reach, y - reach * float(rng.uniform(0.4, 1.0))),
            ],
            10,
        )
        stencil.taper(twig, wide * 0.3, wide * 0.05)


def _joints(stencil: Stencil, rng: Rng, path: list[tuple[float, float]], wide: float) -> None:
    for x, y in path[1 :: int(rng.integers(2, 4))]:
        stencil.line([(x - wide * 0.55, y), (x + wide * 0.55, y)], wide * 0.14)


def _scars(stencil: Stencil, rng: Rng, path: list[tuple[float, float]], wide: float) -> None:
    """Mark the dark flecks of birch bark, across the trunk."""
    for _ in range(26):
        x, y = path[int(rng.integers(len(path)))]
        y += wide * float(rng.uniform(-3.0, 3.0))
        x += wide * float(rng.uniform(-0.5, 0.3))
        stencil.ellipse(x, y, wide * float(rng.uniform(0.08, 0.32)), wide * 0.06)


def _leaf(scene: Scene, lift: float) -> Array:
    """Return the colour of leaves by season, prompt and light."""
    if scene.reading.group("colour"):
        return shade(scene.look.far, lift * 0.3, 1.3)
    natural = rgb("#4f7a3a")
    for season, colour in (("autumn", "#d9742b"), ("spring", "#a9c25d"), ("summer", "#3f8a3c")):
        if scene.reading.has(f"season.{season}"):
            natural = rgb(colour)
    return shade(blend(natural, scene.look.haze, 0.25), lift * 0.3)


def _leaf_tones(scene: Scene) -> list[Array]:
    """Return a shadowed, a middle and a sunlit colour of leaves."""
    if scene.reading.has("season.autumn") and not scene.reading.group("colour"):
        return [rgb(code) for code in ("#a8341f", "#dd6b20", "#f0b13c")]
    return [_leaf(scene, lift) for lift in (-0.2, 0.1, 0.4)]


def _paint_leaves(scene: Scene, index: int, t: float, light: Array, focus: float) -> None:
    """Hang clouds of small leaves in the upper part, thin around the light."""
    rng = scene.rng(f"leaves {index}")
    number = scene.count(1500 - 500 * t)
    slim = scene.reading.has("subject.bamboo")
    tones = [
        blend(blend(light, leaf, 0.5 + 0.45 * t), scene.look.near, 0.4 * t * t)
        for leaf in _leaf_tones(scene)
    ]
    clusters = rng.random((26, 2)) * (1.1, 0.62) - (0.05, 0.12)
    for tone in tones:
        stencil = Stencil(scene.width, scene.height, scale=2)
        for _ in range(number // 3):
            cx, cy = clusters[int(rng.integers(len(clusters)))]
            x = (cx + float(rng.normal(0, 0.055))) * scene.width
            y = (cy + float(rng.normal(0, 0.05))) * scene.height
            near_light = np.exp(-(((x / scene.width - focus) / 0.2) ** 2)) * (y / scene.height)
            if rng.random() < near_light * 1.6:
                continue
            size = scene.unit * (0.0035 + 0.009 * t) * float(rng.uniform(0.5, 1.3))
            _leaf_shape(stencil, rng, x, y, size, slim)
        scene.over(stencil.mask() * 0.85, tone)
        scene.progress.tick()


def _leaf_shape(stencil: Stencil, rng: Rng, x: float, y: float, size: float, slim: bool) -> None:
    angle = float(rng.random()) * 6.283
    long, wide = (size * 2.4, size * 0.35) if slim else (size, size * 0.55)
    ax, ay = np.cos(angle) * long, np.sin(angle) * long
    bx, by = -np.sin(angle) * wide, np.cos(angle) * wide
    stencil.polygon([(x - ax, y - ay), (x + bx, y + by), (x + ax, y + ay), (x - bx, y - by)])
