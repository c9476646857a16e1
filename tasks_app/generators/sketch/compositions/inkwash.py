"""Ink wash: mountains out of mist, a red sun, a branch or reeds, a seal; mostly empty paper."""

import numpy as np

from tasks_app.generators.sketch.arrays import Array, Rng, smoothstep
from tasks_app.generators.sketch.colour import blend, rgb
from tasks_app.generators.sketch.figures import draw_boat, draw_house, draw_person
from tasks_app.generators.sketch.land import Ridge, ridge
from tasks_app.generators.sketch.noise import warp
from tasks_app.generators.sketch.palette import tint
from tasks_app.generators.sketch.scene import Scene
from tasks_app.generators.sketch.shapes import Stencil, curve, soften
from tasks_app.generators.sketch.sky import draw_bird


def paint(scene: Scene) -> None:
    """Paint in ink over the whole canvas."""
    rng = scene.rng("ink")
    scene.progress.stage(0.1)
    scene.pixels[:] = rgb("#f3ecdc")
    age = scene.noise("age", 0.6, 4)
    scene.multiply(age * 0.09, rgb("#b79a6a"))
    ink = _ink(scene)
    _paint_disc(scene, rng)
    layers = scene.count(5)
    for index in range(layers):
        scene.progress.stage(0.1 + 0.6 * (index + 1) / layers)
        scene.layer("land")
        _paint_range(scene, index, index / max(1, layers - 1), ink)
    scene.progress.stage(0.9)
    scene.layer("birds")
    _paint_accessories(scene, ink)
    scene.layer("plants")
    if scene.reading.has("subject.bamboo") or rng.random() < 0.4:
        _paint_bamboo(scene, ink)
    else:
        _paint_branch(scene, ink)
    scene.layer("paper")
    _paint_seal(scene, rng)


def _ink(scene: Scene) -> Array:
    names = [name for name in scene.reading.group("colour") if name not in ("white", "gold")]
    ink: Array = tint(rgb("#1d2126")[None], names[:1], 0.75)[0]
    return ink


def _paint_disc(scene: Scene, rng: Rng) -> None:
    """Paint the sun in vermilion, or leave the moon white in a grey wash."""
    x, y = scene.width * float(rng.uniform(0.2, 0.8)), scene.height * float(rng.uniform(0.12, 0.3))
    radius = scene.unit * float(rng.uniform(0.055, 0.085))
    rough = scene.noise("disc edge", 0.02, 3) - 0.5
    distance = np.hypot(scene.xs - x, scene.ys - y) + rough * radius * 0.12
    inside = smoothstep(radius * 1.02, radius * 0.97, distance)
    if scene.look.dark or scene.reading.has("subject.moon"):
        if scene.reading.allows("subject.moon"):
            halo = np.exp(-np.clip(distance - radius, 0, None) / (radius * 1.6)) * (1 - inside)
            scene.multiply(halo * (0.3 + 0.4 * rough), rgb("#6f7880"))
    elif scene.reading.allows("subject.sun"):
        pigment = scene.noise("cinnabar", 0.05, 4)
        scene.multiply(inside * (0.75 + 0.25 * pigment), rgb("#c8382c"))


def _paint_range(scene: Scene, index: int, t: float, ink: Array) -> None:
    """Brush one range: dark wet crest, texture strokes down the slope, mist at the foot."""
    pillars = float(scene.rng("pillars").random())
    tall = scene.height * (0.3 - 0.1 * t)
    base = scene.height * (0.42 + 0.4 * t**1.2)
    skyline = _skyline(scene, index, base, tall, pillars)
    top = skyline.top
    depth = skyline.depth(scene, top)
    rows = depth.shape[0]
    if rows < 8:
        return
    bleed = (scene.noise(f"bleed {index}", 0.02, 4, rows=rows) - 0.5) * scene.unit * 0.012
    wash = scene.noise(f"tone {index}", 0.3, 5, rows=rows)
    strokes = scene.noise(f"cun {index}", 0.09, 5, stretch=0.5, ridged=True, rows=rows)
    strokes = warp(strokes, wash, wash, scene.unit * 0.06)
    depth = depth + bleed
    edge = smoothstep(-1.5, 2.0, depth)
    crest = np.exp(-np.clip(depth, 0, None) / (0.013 * scene.unit))
    body = np.exp(-np.clip(depth, 0, None) / (tall * (0.42 + 0.5 * wash)))
    rubbed = smoothstep(0.45, 0.9, strokes) * body
    strength = 0.16 + 0.62 * t**1.1
    load = body * (0.4 + 0.45 * wash) + 0.35 * crest + 0.5 * rubbed * (0.3 + t)
    bare = smoothstep(0.55, 0.8, scene.noise(f"bare {index}", 0.25, 4, stretch=2, rows=rows))
    scene.multiply(np.clip(edge * load * strength * (1 - 0.5 * bare), 0.0, 0.95), ink, top)
    veil = edge * smoothstep(0.35, 1.3, depth / tall) * (0.55 + 0.35 * scene.look.mist)
    scene.over(np.clip(veil, 0, 0.9), rgb("#f1eada"), top)
    scene.progress.tick()


def _skyline(scene: Scene, index: int, base: float, tall: float, pillars: float) -> Ridge:
    """Return the line of a range: soft hills, or steep pillars as ``pillars`` nears 1."""
    rng = scene.rng(f"summits {index}")
    line = ridge(scene, f"peaks {index}", base, tall * 0.7, 0.5, 0.5).line
    x = scene.xs[0] / scene.width
    for _ in range(int(rng.integers(1, 4))):
        focus, share = float(rng.random()), float(rng.uniform(0.3, 0.9))
        spread = float(rng.uniform(0.05, 0.2)) * (1.3 - pillars)
        line = line - tall * share * np.exp(-(np.abs((x - focus) / spread) ** (1.4 + 2 * pillars)))
    return Ridge(line.astype(np.float32))


def _paint_accessories(scene: Scene, ink: Array) -> None:
    """Add birds far off, and a boat, hut or traveller in the mist."""
    rng = scene.rng("accessories")
    stencil = Stencil(scene.width, scene.height)
    if scene.reading.allows("subject.bird"):
        cx, cy = scene.width * float(rng.uniform(0.25, 0.75)), scene.height * 0.24
        for _ in range(int(rng.integers(3, 8))):
            x = cx + scene.unit * float(rng.normal(0, 0.07))
            y = cy + scene.unit * float(rng.normal(0, 0.035))
            draw_bird(stencil, x, y, scene.unit * float(rng.uniform(0.008, 0.015)), 0.5)
    x, y = scene.width * float(rng.uniform(0.3, 0.7)), scene.height * float(rng.uniform(0.86, 0.92))
    size = scene.unit * 0.065
    if scene.reading.has("subject.house"):
        draw_house(stencil, x, y, size)
    elif scene.reading.has("subject.person"):
        draw_person(stencil, x, y, size)
    elif scene.reading.allows("subject.boat"):
        draw_boat(stencil, x, y, size)
        for k in range(4):
            far = size * (0.9 + 0.35 * k)
            stencil.line(
                [(x - far, y + size * 0.12 * (k + 1)), (x + far * 0.5, y + size * 0.12 * (k + 1))],
                size * 0.02,
                0.35,
            )
    scene.multiply(soften(stencil.mask(), scene.unit * 0.0007) * 0.85, ink)
    scene.progress.tick()


def _paint_bamboo(scene: Scene, ink: Array) -> None:
    """Brush two or three bamboo stems at the side, with pointed leaves."""
    rng = scene.rng("bamboo")
    side = 0.08 if rng.random() < 0.5 else 0.92
    for number in range(3):
        stencil = Stencil(scene.width, scene.height)
        x = scene.width * side + scene.unit * float(rng.normal(0, 0.05))
        lean = scene.unit * float(rng.normal(0, 0.05))
        wide = scene.unit * float(rng.uniform(0.011, 0.018))
        joints = int(rng.integers(6, 9))
        for j in range(joints):
            y0, y1 = scene.height * (1.02 - j / joints), scene.height * (1.035 - (j + 1) / joints)
            a, b = x + lean * j / joints, x + lean * (j + 1) / joints
            stencil.line([(a, y0), (b, y1)], wide * (1 - 0.05 * j), 0.75)
            stencil.line([(b - wide * 0.7, y1), (b + wide * 0.7, y1)], wide * 0.18)
            if j > 2:
                _bamboo_leaves(stencil, rng, (b, y1), scene.unit)
        strength = (0.35, 0.6, 0.88)[number]
        _brush(scene, stencil.mask(), ink, strength)


def _bamboo_leaves(stencil: Stencil, rng: Rng, at: tuple[float, float], unit: float) -> None:
    for _ in range(int(rng.integers(3, 6))):
        angle = float(rng.uniform(0.15, 1.25))
        side = -1.0 if rng.random() < 0.5 else 1.0
        long = unit * float(rng.uniform(0.06, 0.12))
        tip = (at[0] + side * long * np.cos(angle), at[1] + long * np.sin(angle))
        middle = ((at[0] + tip[0]) / 2 + long * 0.05, (at[1] + tip[1]) / 2 - long * 0.06)
        path = curve([at, middle, tip], 14)
        stencil.polygon([*_swell(path, long * 0.11)])


def _swell(path: list[tuple[float, float]], width: float) -> list[tuple[float, float]]:
    """Return the outline of a brush stroke that swells and runs out to a point."""
    points = np.asarray(path)
    direction = np.gradient(points, axis=0)
    normal = np.stack([-direction[:, 1], direction[:, 0]], axis=1)
    normal /= np.hypot(normal[:, 0], normal[:, 1])[:, None] + 1e-9
    t = np.linspace(0, 1, len(points))[:, None]
    half = width * np.sqrt(t) * (1.0 - t) * 1.3
    both = np.concatenate([points + normal * half, (points - normal * half)[::-1]])
    return [(float(x), float(y)) for x, y in both]


def _paint_branch(scene: Scene, ink: Array) -> None:
    """Reach a plum branch in from a corner, with red or white blossoms."""
    rng = scene.rng("branch")
    left = rng.random() < 0.5
    flip = 1.0 if left else -1.0
    x = -0.02 * scene.unit if left else scene.width + 0.02 * scene.unit
    y = scene.height * float(rng.uniform(0.18, 0.4))
    stencil = Stencil(scene.width, scene.height)
    buds: list[tuple[float, float]] = []
    _grow(stencil, rng, (x, y), flip, scene.unit * 0.46, scene.unit * 0.016, 3, buds)
    _brush(scene, stencil.mask(), ink, 0.92)
    if not scene.reading.allows("subject.flower"):
        return
    petals = Stencil(scene.width, scene.height)
    for bx, by in buds:
        size = scene.unit * float(rng.uniform(0.006, 0.011))
        turn = float(rng.random()) * 6.28
        for k in range(5):
            angle = turn + k * 1.2566
            petals.ellipse(
                bx + np.cos(angle) * size,
                by + np.sin(angle) * size,
                size * 0.8,
                size * 0.8,
                float(rng.uniform(0.55, 0.9)),
            )
    scene.over(soften(petals.mask(), scene.unit * 0.0008) * 0.9, rgb("#cc4a4a"))


def _grow(
    stencil: Stencil,
    rng: Rng,
    start: tuple[float, float],
    flip: float,
    length: float,
    width: float,
    depth: int,
    buds: list[tuple[float, float]],
) -> None:
    """Draw a crooked branch and, from it, its children."""
    path = [start]
    angle = float(rng.uniform(-0.35, 0.25))
    for _ in range(7):
        angle += float(rng.normal(0, 0.32))
        step = length / 7
        path.append((path[-1][0] + flip * step * np.cos(angle), path[-1][1] - step * np.sin(angle)))
    stencil.taper(path, width, width * 0.3)
    if depth <= 2:
        buds.extend(path[i] for i in rng.integers(2, 8, size=3))
    if depth:
        for at in rng.integers(2, 7, size=3):
            _grow(stencil, rng, path[int(at)], flip, length * 0.5, width * 0.5, depth - 1, buds)


def _brush(scene: Scene, mask: Array, ink: Array, strength: float) -> None:
    """Lay ink that is dry in places, wet in others."""
    dry = scene.noise("dry brush", 0.012, 3, stretch=2.0)
    wet = scene.noise("wet brush", 0.12, 3)
    load = 0.62 + 0.38 * smoothstep(0.2, 0.5, dry) + 0.15 * (wet - 0.5)
    scene.multiply(np.clip(mask * load * strength, 0.0, 1.0), ink)
    scene.progress.tick()


def _paint_seal(scene: Scene, rng: Rng) -> None:
    """Press a small red seal into a lower corner."""
    if not scene.reading.allows("colour.red"):
        return
    size = scene.unit * 0.042
    x = scene.width * (0.9 if rng.random() < 0.5 else 0.1) - size / 2
    y = scene.height - size * 2.4
    stencil = Stencil(scene.width, scene.height)
    stencil.polygon([(x, y), (x + size, y), (x + size, y + size), (x, y + size)])
    cell = size / 5
    for row in range(4):
        for column in range(4):
            if rng.random() < 0.5:
                ax, ay = x + cell * (column + 0.6), y + cell * (row + 0.6)
                wide, tall = (
                    (cell * 1.3, cell * 0.4) if rng.random() < 0.5 else (cell * 0.4, cell * 1.3)
                )
                ax, ay = (
                    min(ax, x + size - wide - cell * 0.4),
                    min(ay, y + size - tall - cell * 0.4),
                )
                stencil.polygon(
                    [(ax, ay), (ax + wide, ay), (ax + wide, ay + tall), (ax, ay + tall)], 0.0
                )
    worn = smoothstep(0.15, 0.4, scene.noise("seal", 0.008, 3))
    scene.over(stencil.mask() * (0.55 + 0.4 * worn), blend(rgb("#b3261e"), rgb("#d8553f"), 0.3))
