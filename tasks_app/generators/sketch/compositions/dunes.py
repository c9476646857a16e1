"""Sand dunes: smooth crests, one side in the light, ripples drawn by the wind."""

import numpy as np

from tasks_app.generators.sketch.arrays import Array, smoothstep
from tasks_app.generators.sketch.colour import blend, rgb, shade
from tasks_app.generators.sketch.figures import paint_figures
from tasks_app.generators.sketch.land import cover
from tasks_app.generators.sketch.noise import profile
from tasks_app.generators.sketch.scene import Scene
from tasks_app.generators.sketch.sky import paint_sky


def paint(scene: Scene) -> None:
    """Paint a desert over the whole canvas."""
    rng = scene.rng("dunes")
    horizon = 0.42 + 0.14 * float(rng.random())
    scene.progress.stage(0.35)
    disc = paint_sky(scene, horizon)
    side = -1.0 if disc and disc.x < scene.width / 2 else 1.0
    layers = scene.count(6)
    for index in range(layers):
        scene.progress.stage(0.35 + 0.6 * (index + 1) / layers)
        scene.layer("land")
        crest = _paint_dune(scene, index, index / max(1, layers - 1), horizon, side)
        if index == layers // 2:
            paint_figures(scene, crest)


def _sand(scene: Scene, t: float) -> tuple[Array, Array]:
    """Return the lit and the shadowed colour of the sand at depth t (0 far)."""
    look = scene.look
    natural = rgb("#d89a5b") if not scene.reading.group("colour") else shade(look.far, 0.08, 1.25)
    dim = {"night": 0.62, "storm": 0.45, "dusk": 0.25}.get(look.time, 0.12)
    lit = blend(blend(natural, look.sky[3], 0.22), look.near, dim)
    shadow = blend(blend(natural, look.sky[0], 0.45), look.near, 0.35 + dim * 0.6)
    air = (1.0 - t) * (0.3 + 0.35 * look.mist)
    return blend(lit, look.haze, air), blend(shadow, look.haze, air)


def _paint_dune(scene: Scene, index: int, t: float, horizon: float, side: float) -> Array:
    """Paint one dune and the ridge that winds down to the front; return its crest (y in px)."""
    rng = scene.rng(f"dune {index}")
    tall = scene.unit * (0.05 + 0.16 * t)
    base = scene.height * (horizon + 0.015 + (0.93 - horizon) * t**1.5)
    x = (scene.xs[0] / scene.unit * (1.5 - 0.8 * t)).astype(np.float32)
    form = profile(rng, x, 2, gain=0.25)
    crest = 1.0 - np.abs(2.0 * profile(rng, x * 1.3, 1) - 1.0)
    line: Array = base - tall * (0.55 * form + 0.75 * crest - 0.35)
    top = max(0, int(line.min()) - 1)
    if top >= scene.height:
        return line
    depth = scene.ys[top:] - line[None, :]
    lit, shadow = _sand(scene, t)
    light = _facing(scene, line, depth, index, side, tall)
    ripples = _ripples(scene, depth, index, t, top)
    colour = shadow + (lit - shadow) * np.clip(light + ripples, 0.0, 1.0)[..., None]
    scene.over(cover(depth), colour, top)
    rim = np.exp(-((depth / (0.0022 * scene.unit)) ** 2)) * 0.5 * (depth > -1)
    scene.over(rim * (0.3 + 0.7 * t), blend(lit, scene.look.light, 0.6), top)
    scene.progress.tick()
    return line


def _facing(scene: Scene, line: Array, depth: Array, index: int, side: float, tall: float) -> Array:
    """Return the light on each point: the crest's slope, bent as the ridge runs downhill."""
    slope = np.gradient(line) * side
    bend = profile(scene.rng(f"bend {index}"), scene.ys[:, 0] / scene.unit * 3.0, 2) - 0.5
    rows = depth.shape[0]
    drift = bend[-rows:, None] * scene.unit * 0.5 * smoothstep(0.0, 1.4, depth / tall)
    place = np.clip(scene.xs - 0.5 + drift + depth * 0.7 * side, 0, scene.width - 1)
    facing = slope[place.astype(np.int32)]
    soft = smoothstep(-0.16, 0.2, facing)
    foot = smoothstep(0.2, 3.2, depth / tall)
    return soft * (1.0 - 0.35 * foot) + 0.2 * foot


def _ripples(scene: Scene, depth: Array, index: int, t: float, top: int) -> Array:
    rows = depth.shape[0]
    warpage = scene.noise(f"ripple {index}", 0.16, 4, stretch=2.0, rows=rows)
    phase = (scene.ys[top:] * 1.3 + scene.xs * 0.25) / scene.unit * (240 - 110 * t) + warpage * 13
    fade = smoothstep(0.0, 0.08 * scene.unit, depth) * (0.02 + 0.09 * t)
    ripples: Array = np.sin(phase) * fade + (warpage - 0.5) * 0.12
    return ripples
