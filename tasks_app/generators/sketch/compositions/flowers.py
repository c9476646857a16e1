"""Flowers on a sheet: washes of colour, stems, leaves and petals glazed over one another."""

from dataclasses import dataclass

import numpy as np

from tasks_app.generators.sketch.arrays import Array, Rng, smoothstep
from tasks_app.generators.sketch.colour import blend, rgb, shade
from tasks_app.generators.sketch.palette import tint
from tasks_app.generators.sketch.scene import Scene
from tasks_app.generators.sketch.shapes import Stencil, curve

_BLOOMS = (
    "#d6456b #f08a9b #fbd3cf",
    "#7a4fa3 #b18ad1 #e6d3ef",
    "#e2703a #f4a15d #fde0b5",
    "#3a6ea8 #7fa9d6 #d4e4f3",
    "#c23b3b #e8705f #f9cbb8",
    "#d99a2b #f2c65a #fdeeb8",
)
_GREENS = ("#2f5d43", "#5b8a55", "#88a86a", "#3f6f6a")


@dataclass(frozen=True, slots=True)
class Bloom:
    """One flower: centre and radius in px, how far it turns from us, and how it is built."""

    x: float
    y: float
    radius: float
    petals: int
    turn: float
    squash: float
    colours: Array


def paint(scene: Scene) -> None:
    """Paint a bunch of flowers over the whole canvas."""
    rng = scene.rng("flowers")
    scene.progress.stage(0.2)
    _paint_sheet(scene)
    blooms = sorted(_arrange(scene, rng), key=lambda bloom: bloom.y)
    root = (scene.width * float(rng.uniform(0.44, 0.56)), scene.height * 1.04)
    scene.progress.stage(0.4)
    pool = scene.noise("pool", 0.08, 4)
    scene.layer("plants")
    _paint_stems(scene, blooms, root, pool)
    _paint_sprigs(scene, root, pool)
    for index, bloom in enumerate(blooms):
        scene.progress.stage(0.4 + 0.55 * (index + 1) / len(blooms))
        _paint_bloom(scene, bloom, scene.rng(f"bloom {index}"))
    scene.layer("paper")
    _paint_spatter(scene)


def _paint_sheet(scene: Scene) -> None:
    """Lay a pale sheet with blooming washes; a dark ground at night."""
    look = scene.look
    dark = look.dark or scene.reading.has("colour.black", "material.neon")
    sheet = blend(look.near, rgb("#0c1016"), 0.4) if dark else rgb("#f7f2e7")
    scene.pixels[:] = sheet
    for index in range(3):
        wash = scene.noise(f"wash {index}", 0.55, 6, gain=0.48)
        fine = scene.noise(f"wash edge {index}", 0.03, 3)
        x, y = scene.xs / scene.width - 0.5, scene.ys / scene.height - 0.45
        inside = wash + 0.12 * (fine - 0.5) - 0.55 * np.hypot(x, y)
        colour = blend(look.sky[index + 1], look.haze, 0.4)
        body = smoothstep(0.24, 0.42, inside) * (0.3 if not dark else 0.22)
        rim = np.exp(-(((inside - 0.27) / 0.018) ** 2)) * 0.12
        if dark:
            scene.screen(body, colour)
        else:
            scene.multiply(np.clip(body + rim, 0, 1), colour)
        scene.progress.tick()


def _bloom_colours(scene: Scene, rng: Rng) -> list[Array]:
    """Return three families of petal colours: those named in the prompt, or a chord."""
    names = scene.reading.group("colour")
    if names:
        base = rgb("#c2475a", "#e88f96", "#f8d9d6")
        return [tint(base, [name], 0.92) for name in (names * 3)[:3]]
    order = rng.permutation(len(_BLOOMS))[:3]
    return [rgb(*_BLOOMS[int(i)].split()) for i in order]


def _arrange(scene: Scene, rng: Rng) -> list[Bloom]:
    """Place flowers so that the large ones keep clear of each other."""
    families = _bloom_colours(scene, rng)
    shape = int(rng.choice([5, 5, 6, 8, 13]))
    placed: list[Bloom] = []
    span_x, span_y = scene.width / scene.unit, scene.height / scene.unit
    wanted = scene.count(11 * max(0.7, min(2.0, span_x * span_y)))
    for attempt in range(wanted * 8):
        if len(placed) >= wanted:
            break
        big = attempt < 24
        radius = scene.unit * float(rng.uniform(0.1, 0.155) if big else rng.uniform(0.035, 0.08))
        x = scene.width * (0.5 + float(rng.normal(0, 0.19)))
        y = scene.height * (0.4 + float(rng.normal(0, 0.16)))
        clear = all(np.hypot(x - b.x, y - b.y) > 0.72 * (radius + b.radius) for b in placed)
        if not clear or not radius * 0.5 < x < scene.width - radius * 0.5 or y < radius * 0.8:
            continue
        family = families[int(rng.choice(3, p=[0.6, 0.25, 0.15]))]
        petals = shape if big else int(rng.choice([4, 5, 6]))
        placed.append(
            Bloom(
                x,
                y,
                radius,
                petals,
                float(rng.random()) * 6.28,
                float(rng.uniform(0.62, 1.0)),
                family,
            )
        )
    return placed


def _paint_stems(scene: Scene, blooms: list[Bloom], root: tuple[float, float], pool: Array) -> None:
    rng = scene.rng("stems")
    greens = rgb(*_GREENS)
    for bloom in blooms:
        colour = greens[int(rng.integers(len(greens)))]
        stencil = Stencil(scene.width, scene.height, scale=2)
        sway = scene.unit * float(rng.normal(0, 0.06))
        end = (root[0] + scene.unit * float(rng.normal(0, 0.05)), root[1])
        path = curve(
            [
                (bloom.x, bloom.y),
                (bloom.x * 0.6 + end[0] * 0.4 + sway, bloom.y * 0.45 + end[1] * 0.55),
                end,
            ],
            30,
        )
        stencil.taper(path, scene.unit * 0.004, scene.unit * 0.009)
        for at in rng.integers(8, 26, size=int(rng.integers(1, 4))):
            _leaf(stencil, rng, path[int(at)], scene.unit * float(rng.uniform(0.07, 0.15)))
        _glaze(scene, stencil.mask(), colour, pool)
        scene.progress.tick()


def _leaf(stencil: Stencil, rng: Rng, at: tuple[float, float], size: float) -> None:
    side = -1.0 if rng.random() < 0.5 else 1.0
    angle = float(rng.uniform(0.2, 1.1))
    tip = (at[0] + side * size * np.cos(angle), at[1] - size * np.sin(angle))
    normal = (-(tip[1] - at[1]) * 0.3, (tip[0] - at[0]) * 0.3)
    middle = ((at[0] + tip[0]) / 2, (at[1] + tip[1]) / 2)
    one = curve([at, (middle[0] + normal[0], middle[1] + normal[1]), tip], 14)
    two = curve([tip, (middle[0] - normal[0] * 0.7, middle[1] - normal[1] * 0.7), at], 14)
    stencil.polygon([*one, *two], 0.8)
    stencil.line([at, tip], size * 0.015, 1.0)


def _glaze(scene: Scene, mask: Array, colour: Array, pool: Array) -> None:
    """Cover with a colour whose pigment pools (where ``pool`` is 1) and thins like watercolour."""
    light, deep = shade(colour, 0.1), shade(colour, -0.1)
    tone = light + (deep - light) * pool[..., None]
    scene.over(mask * 0.85, tone)


def _paint_sprigs(scene: Scene, root: tuple[float, float], pool: Array) -> None:
    """Add fine twigs with berries between the flowers."""
    rng = scene.rng("sprigs")
    stencil = Stencil(scene.width, scene.height)
    for _ in range(scene.count(9)):
        tip = (
            scene.width * (0.5 + float(rng.normal(0, 0.27))),
            scene.height * float(rng.uniform(0.08, 0.5)),
        )
        path = curve([root, (root[0] * 0.6 + tip[0] * 0.4, scene.height * 0.6), tip], 26)
        stencil.taper(path, scene.unit * 0.003, scene.unit * 0.0012)
        for x, y in path[12::2]:
            side = -1.0 if rng.random() < 0.5 else 1.0
            far = scene.unit * float(rng.uniform(0.015, 0.04))
            end = (x + side * far, y - far * 0.7)
            stencil.line([(x, y), end], scene.unit * 0.0014)
            stencil.ellipse(*end, scene.unit * 0.005, scene.unit * 0.0065, 0.85)
    _glaze(scene, stencil.mask(), rgb(_GREENS[int(rng.integers(4))]), pool)


def _paint_bloom(scene: Scene, bloom: Bloom, rng: Rng) -> None:
    """Paint a flower petal by petal on its own window: outer whorl, inner whorl, heart."""
    reach = int(bloom.radius * 1.3) + 2
    left, top = max(0, int(bloom.x) - reach), max(0, int(bloom.y) - reach)
    right, bottom = min(scene.width, int(bloom.x) + reach), min(scene.height, int(bloom.y) + reach)
    x = (scene.xs[:, left:right] - bloom.x) / bloom.radius
    y = (scene.ys[top:bottom] - bloom.y) / bloom.radius / bloom.squash
    view = scene.pixels[top:bottom, left:right]
    grain = rng.random(7)
    for whorl, (size, shift) in enumerate(((1.0, 0.0), (0.72, 0.5))):
        for petal in range(bloom.petals):
            angle = bloom.turn + (petal + shift) * 6.2832 / bloom.petals
            angle += float(rng.normal(0, 0.05))
            _paint_petal(view, x, y, angle, size, bloom, whorl, grain)
            if petal % 3 == 2:
                scene.progress.tick()
        scene.progress.tick()
    _paint_heart(view, x, y, bloom, rng)
    scene.progress.tick()


def _paint_petal(
    view: Array,
    x: Array,
    y: Array,
    angle: float,
    size: float,
    bloom: Bloom,
    whorl: int,
    grain: Array,
) -> None:
    along = (x * np.cos(angle) + y * np.sin(angle)) / size
    across = (y * np.cos(angle) - x * np.sin(angle)) / size
    wide = min(0.62, 3.4 / bloom.petals)
    t = np.clip(along, 0.0, 1.0)
    half = wide * np.sqrt(np.clip(t * (1.0 - t**3.2), 0.0, None)) * (0.75 + 0.35 * t)
    half = half * (1.0 + 0.05 * np.sin(t * 9.0 + grain[0] * 6.0))
    inside = (half - np.abs(across)) * bloom.radius * size
    mask = np.clip(inside + 0.5, 0.0, 1.0) * (along > 0)
    veins = np.sin(across / (half + 0.05) * 11.0 + grain[1] * 6.0) * 0.5
    edge = np.exp(-inside / (bloom.radius * 0.05))
    tone = np.clip(0.95 - t * 0.95 + 0.1 * veins * t + 0.1 * whorl, 0.0, 1.0)
    deep, middle, pale = bloom.colours
    colour = np.where(
        (tone < 0.5)[..., None],
        pale + (middle - pale) * (tone * 2.0)[..., None],
        middle + (deep - middle) * (tone * 2.0 - 1.0)[..., None],
    )
    shadow = 1.0 - 0.24 * np.clip(edge, 0, 1)
    cover = mask * 0.9
    view += cover[..., None] * (colour * shadow[..., None] - view)


def _paint_heart(view: Array, x: Array, y: Array, bloom: Bloom, rng: Rng) -> None:
    """Paint the centre and a ring of stamens."""
    distance = np.hypot(x, y)
    scale = bloom.radius
    core = np.clip((0.13 - distance) * scale + 0.5, 0.0, 1.0)
    dark = shade(bloom.colours[0], -0.2)
    view += core[..., None] * (dark - view)
    gold = rgb("#f3c64f")
    for _ in range(20):
        angle, far = float(rng.random()) * 6.2832, float(rng.uniform(0.12, 0.26))
        dot = np.hypot(x - np.cos(angle) * far, y - np.sin(angle) * far)
        mask = np.clip((0.022 - dot) * scale + 0.5, 0.0, 1.0)
        view += mask[..., None] * (gold - view)


def _paint_spatter(scene: Scene) -> None:
    rng = scene.rng("spatter")
    stencil = Stencil(scene.width, scene.height)
    for _ in range(scene.count(70)):
        x, y = rng.random(2) * (scene.width, scene.height)
        size = scene.unit * 0.0045 * float(rng.random()) ** 3 + scene.unit * 0.0006
        stencil.ellipse(float(x), float(y), size, size, float(rng.uniform(0.3, 0.8)))
    scene.over(stencil.mask() * 0.6, blend(scene.look.accents[3], scene.look.far, 0.4))
