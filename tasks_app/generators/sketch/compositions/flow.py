"""Flow field: thousands of threads drift through curl noise and leave their colour behind.

The field is the curl of a noise potential (R. Bridson, J. Houriham, M. Nordenstam, "Curl-noise
for procedural fluid flow", 2007), so threads never bunch up in sinks.
"""

import numpy as np

from tasks_app.generators.sketch.arrays import Array, Rng, smoothstep
from tasks_app.generators.sketch.colour import blend, quick_ramp, ramp, rgb, shade
from tasks_app.generators.sketch.noise import shifted
from tasks_app.generators.sketch.palette import tint
from tasks_app.generators.sketch.scene import Scene
from tasks_app.generators.sketch.shapes import blur


def paint(scene: Scene) -> None:
    """Paint an abstract flow over the whole canvas."""
    rng = scene.rng("flow")
    dark = _on_dark(scene, float(rng.random()))
    scene.progress.stage(0.15)
    potential = _potential(scene, rng)
    scene.layer("flow", potential)
    _paint_ground(scene, potential, dark)
    stops = _stops(scene, dark)
    passes = 5
    total = np.zeros((*scene.shape, 3), dtype=np.float32)
    weight = np.zeros(scene.shape, dtype=np.float32)
    for index in range(passes):
        scene.progress.stage(0.15 + 0.7 * (index + 1) / passes)
        _trace(scene, scene.rng(f"threads {index}"), potential, stops, total, weight)
    scene.progress.stage(0.97)
    _develop(scene, total, weight, dark)


def _on_dark(scene: Scene, chance: float) -> bool:
    if scene.look.time in ("noon", "dawn") or scene.reading.has("colour.white", "material.paper"):
        return False
    asked = scene.look.dark or scene.reading.has("material.neon", "subject.fire", "colour.black")
    return asked or chance < 0.55


def _stops(scene: Scene, dark: bool) -> Array:
    """Return the ramp of thread colours."""
    accents = scene.look.accents
    if scene.reading.has("subject.fire") and not scene.reading.group("colour"):
        accents = rgb("#5a0f0a", "#b3261e", "#f0641e", "#ffb02e", "#fff0b0")
    if scene.reading.has("material.metal") and not scene.reading.group("colour"):
        accents = rgb("#3b4148", "#7d868f", "#c7cfd6", "#8a6f4d", "#eef2f4")
    lifted = shade(accents, 0.08 if dark else -0.06, 1.15)
    return np.concatenate([lifted, lifted[1:2]])


def _potential(scene: Scene, rng: Rng) -> Array:
    """Return the stream function, in px: broad noise with a few vortices."""
    octaves = 2 + round(2 * scene.look.energy)
    field = scene.noise("potential", 0.62, octaves, gain=0.32) * scene.unit * 0.62
    for _ in range(int(rng.integers(0, 3))):
        x, y = rng.random(2) * (scene.width, scene.height)
        reach = scene.unit * float(rng.uniform(0.12, 0.3))
        spin = float(rng.choice([-1.0, 1.0])) * scene.unit * 0.2
        squared = (scene.xs - np.float32(x)) ** 2 + (scene.ys - np.float32(y)) ** 2
        field += np.float32(spin) * np.exp(-squared / np.float32(reach) ** 2)
    return field.astype(np.float32)


def _paint_ground(scene: Scene, potential: Array, dark: bool) -> None:
    look = scene.look
    low, high = float(potential.min()), float(potential.max())
    depth = (potential - low) / (high - low + 1e-6)
    if dark:
        deep = blend(look.near, rgb("#05060c"), 0.55)
        stops = np.stack([deep, blend(deep, look.accents[0], 0.45), blend(deep, look.sky[1], 0.35)])
    else:
        sheet = rgb("#f5efe3")
        stops = np.stack([sheet, blend(sheet, look.sky[3], 0.35), blend(sheet, look.haze, 0.3)])
    scene.pixels[:] = quick_ramp(tint(stops, scene.reading.group("colour")[:1], 0.35), depth)


def _trace(
    scene: Scene, rng: Rng, potential: Array, stops: Array, total: Array, weight: Array
) -> None:
    """Advect one sheaf of threads; add colour and weight where they pass (bilinear splats)."""
    gy, gx = np.gradient(potential)
    # Small pictures need fewer threads, large ones get relatively thinner threads; the gain
    # keeps them equally dense.
    share = min(1.0, scene.unit / 900.0)
    gain = np.float32(scene.unit / 1500.0 / share)
    number = scene.count(5200 * share * scene.width * scene.height / scene.unit**2)
    x = (rng.random(number) * 1.2 - 0.1) * scene.width
    y = (rng.random(number) * 1.2 - 0.1) * scene.height
    tone = potential[_inside(y, scene.height), _inside(x, scene.width)]
    spread = (tone - potential.min()) / (np.ptp(potential) + 1e-6)
    spread = np.clip(spread * 1.1 - 0.05 + rng.normal(0, 0.07, number), 0, 1)
    colours = ramp(stops, spread.astype(np.float32))
    power = (0.25 + 0.75 * rng.random(number) ** 3).astype(np.float32)
    length = scene.unit * 0.23
    steps = round(length / 1.05)
    stride = length / steps
    store = [np.zeros(scene.height * scene.width) for _ in range(4)]
    for step in range(steps):
        row, column = _inside(y, scene.height), _inside(x, scene.width)
        vx, vy = gy[row, column], -gx[row, column]
        speed = np.hypot(vx, vy) + 1e-4
        x, y = x + vx / speed * stride, y + vy / speed * stride
        fade = np.float32(np.sin(np.pi * (step + 0.5) / steps))
        _splat(store, x, y, colours, power * fade, scene.shape)
        if step % 24 == 23:
            scene.progress.tick()
    weight += store[3].reshape(scene.shape).astype(np.float32) * gain
    for channel in range(3):
        total[..., channel] += store[channel].reshape(scene.shape).astype(np.float32) * gain


def _inside(position: Array, limit: int) -> Array:
    return np.clip(position.astype(np.int32), 0, limit - 1)


def _splat(
    store: list[Array], x: Array, y: Array, colours: Array, power: Array, shape: tuple[int, int]
) -> None:
    """Add each thread's point to the four pixels around it."""
    height, width = shape
    px, py = x - 0.5, y - 0.5
    left, top = np.floor(px).astype(np.int64), np.floor(py).astype(np.int64)
    ok = (left >= 0) & (left < width - 1) & (top >= 0) & (top < height - 1)
    left, top, ax, ay = left[ok], top[ok], (px - left)[ok], (py - top)[ok]
    amount, shades = power[ok], colours[ok]
    for dy, dx, share in (
        (0, 0, (1 - ax) * (1 - ay)),
        (0, 1, ax * (1 - ay)),
        (1, 0, (1 - ax) * ay),
        (1, 1, ax * ay),
    ):
        index = (top + dy) * width + left + dx
        part = amount * share
        np.add.at(store[3], index, part)
        for channel in range(3):
            np.add.at(store[channel], index, part * shades[:, channel])


def _develop(scene: Scene, total: Array, weight: Array, dark: bool) -> None:
    """Turn the gathered colour into paint: density curve, light from above, glow on dark."""
    colour = total / (weight[..., None] + 1e-4)
    density = 1.0 - np.exp(-weight * (1.1 if dark else 0.9))
    step = max(1, round(scene.unit * 0.0016))
    scene.progress.tick()
    soft = blur(density, scene.unit * 0.002, scene.progress.tick)
    relief = np.clip((soft - shifted(soft, step, step)) * 1.6, -0.3, 0.3)
    lit = np.clip(
        colour * (1.0 + relief)[..., None] + np.clip(relief, 0, 1)[..., None] * 0.25, 0, 1
    )
    scene.progress.tick()
    if not dark:
        shadow = blur(density, scene.unit * 0.009)
        scene.multiply(smoothstep(0.1, 0.9, shadow) * 0.22, rgb("#6b5a48"))
    scene.over(np.clip(density * 1.05, 0.0, 0.97), lit)
    if dark:
        halo = blur(lit * density[..., None], scene.unit * 0.02, scene.progress.tick)
        scene.pixels += 0.4 * halo * (1.0 - np.minimum(scene.pixels, 1.0))
