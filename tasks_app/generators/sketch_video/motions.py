"""How each kind of layer moves. Every motion is where it began when the loop ends."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from tasks_app.generators.sketch.arrays import Array
from tasks_app.generators.sketch.noise import lattice, sample
from tasks_app.generators.sketch.scene import Scene
from tasks_app.generators.sketch_video.layers import Layer, Painter

_BETWEEN: Final = np.float32(0.2113)
"""Px between pixels where interpolating softens as much as it does on average: a field that is
moved and comes to rest is then no sharper for a frame."""

Motion = Painter
"""Lays a layer over the canvas as it is at the canvas's moment."""


@dataclass(frozen=True, slots=True)
class Camera:
    """The eye's path: a flat ellipse, once around in a loop. ``reach`` is in px."""

    reach: float

    def at(self, moment: float) -> tuple[float, float]:
        """Return how far right and down the eye is, in px."""
        angle = math.tau * moment
        return self.reach * math.sin(angle), 0.4 * self.reach * math.cos(angle)


def lay(view: Array, keep: Array, add: Array, strength: float | Array = 1.0) -> None:
    """Lay ``keep`` and ``add`` over ``view`` in place; ``strength`` 0 leaves it as it was."""
    if isinstance(strength, float) and strength == 1.0:
        view *= keep
        view += add
    else:
        view *= 1.0 + strength * (keep - 1.0)
        view += strength * add


def moved(field: Array, right: float) -> Array:
    """Return ``field`` moved right by px and parts of px, its edges repeated."""
    whole = math.floor(right)
    part = np.float32(right - whole)
    near, far = _columns(field, whole), _columns(field, whole + 1)
    between: Array = near + (far - near) * part
    return between


def _columns(field: Array, right: int) -> Array:
    width = field.shape[1]
    columns: Array = np.take(field, np.clip(np.arange(width) - right, 0, width - 1), axis=1)
    return columns


def lifted(field: Array, down: float) -> Array:
    """Return ``field`` moved down by px and parts of px, its edges repeated."""
    return moved(field.swapaxes(0, 1), down).swapaxes(0, 1)


def still(layer: Layer, scene: Scene) -> Motion:
    """Stay as it is."""

    def motion(canvas: Scene) -> None:
        lay(canvas.pixels[layer.rows], layer.keep, layer.add)

    return motion


def parallax(layer: Layer, camera: Camera, depth: float) -> Motion:
    """Move against the camera, the more the nearer (``depth`` 0 to 1)."""

    def motion(canvas: Scene) -> None:
        right = -depth * camera.at(canvas.moment)[0]
        lay(canvas.pixels[layer.rows], moved(layer.keep, right), moved(layer.add, right))

    return motion


def drift(layer: Layer, scene: Scene, speed: float) -> Motion:
    """Go with the wind (``speed`` units per second) for ever.

    Two copies go the whole way, half a loop apart; each is unseen when it starts again.
    """
    way = speed * scene.unit * scene.seconds

    def motion(canvas: Scene) -> None:
        first, second = canvas.moment, (canvas.moment + 0.5) % 1.0
        share = np.float32(0.5 - 0.5 * math.cos(math.tau * first))
        keep = _mixed(layer.keep, (first - 0.5) * way, (second - 0.5) * way, share)
        add = _mixed(layer.add, (first - 0.5) * way, (second - 0.5) * way, share)
        lay(canvas.pixels[layer.rows], keep, add)

    return motion


def _mixed(field: Array, right: float, other: float, share: Array | np.float32) -> Array:
    start, end = moved(field, other), moved(field, right)
    mixed: Array = start + (end - start) * share
    return mixed


def twinkle(layer: Layer, scene: Scene, cell: float, depth: float, per_second: float) -> Motion:
    """Glimmer: every place brightens and dims in its own time."""
    height, width = layer.add.shape[:2]
    phase = lattice(scene.rng(f"{layer.name} phase"), (height, width), cell * scene.unit) * 25.0
    cos, sin = (depth * np.cos(phase))[..., None], (depth * np.sin(phase))[..., None]

    def motion(canvas: Scene) -> None:
        angle = canvas.turn(per_second)
        strength = (1.0 - depth) + cos * math.cos(angle) - sin * math.sin(angle)
        lay(canvas.pixels[layer.rows], layer.keep, layer.add, strength)

    return motion


def shimmer(layer: Layer, scene: Scene) -> Motion:
    """Let light wander behind glass."""
    height, width = layer.add.shape[:2]
    phase = lattice(scene.rng("glass phase"), (height, width), 0.22 * scene.unit) * 9.0
    slant = (scene.xs + scene.ys[:height]) / scene.unit * 2.2
    cos, sin = np.cos(phase + slant)[..., None], np.sin(phase + slant)[..., None]

    def motion(canvas: Scene) -> None:
        angle = canvas.turn(0.34)
        light = cos * math.cos(angle) + sin * math.sin(angle)
        view = canvas.pixels[layer.rows]
        lay(view, layer.keep, layer.add * (1.0 + 0.3 * light))
        np.clip(view, 0.0, 1.0, out=view)

    return motion


def pulse(layer: Layer, depth: float, per_second: float) -> Motion:
    """Breathe: the whole layer brightens and dims."""

    def motion(canvas: Scene) -> None:
        strength = 1.0 - depth + depth * math.cos(canvas.turn(per_second))
        lay(canvas.pixels[layer.rows], layer.keep, layer.add, strength)

    return motion


def flash(layer: Layer) -> Motion:
    """Strike twice in a loop and light up everything behind it."""

    def motion(canvas: Scene) -> None:
        power = flashing(canvas.moment)
        if power > 0.01:
            canvas.pixels += 0.22 * power * (1.0 - canvas.pixels)
            lay(canvas.pixels[layer.rows], layer.keep, layer.add, min(1.0, power))

    return motion


def flashing(moment: float) -> float:
    """Return the power of the lightning, 0 to 1: a stroke, and a weaker one after it."""
    power = 0.0
    for start, strength in ((0.30, 1.0), (0.36, 0.6)):
        since = moment - start
        power = max(power, strength * math.exp(-since * 16.0) if since >= 0 else 0.0)
    return power


def bob(layer: Layer, scene: Scene, camera: Camera) -> Motion:
    """Ride the waves."""

    def motion(canvas: Scene) -> None:
        down = 0.0035 * scene.unit * math.sin(canvas.turn(0.4))
        right = 0.004 * scene.unit * math.cos(canvas.turn(0.3)) - 0.8 * camera.at(canvas.moment)[0]
        keep, add = moved(layer.keep, right), moved(layer.add, right)
        lay(canvas.pixels[layer.rows], lifted(keep, down), lifted(add, down))

    return motion


def soar(layer: Layer, scene: Scene) -> Motion:
    """Circle slowly, as birds far off do."""

    def motion(canvas: Scene) -> None:
        angle = math.tau * canvas.moment
        right, down = 0.02 * math.sin(angle), 0.006 * math.cos(2 * angle)
        keep = lifted(moved(layer.keep, right * scene.unit), down * scene.unit)
        add = lifted(moved(layer.add, right * scene.unit), down * scene.unit)
        lay(canvas.pixels[layer.rows], keep, add)

    return motion


def sway(layer: Layer, scene: Scene, reach: float) -> Motion:
    """Bend in the wind: firm below, the freer the higher."""
    height, width = layer.add.shape[:2]
    ys = (scene.ys[layer.rows] - 0.5) * np.ones((1, width), dtype=np.float32)
    xs = (scene.xs - 0.5) * np.ones((height, 1), dtype=np.float32)
    free = (1.0 - ys / scene.height) ** 1.3 * (reach * scene.unit)
    phase = (xs + ys * 0.6) / scene.unit * 2.4
    both = np.concatenate([layer.keep, layer.add], axis=2)
    split = layer.keep.shape[2]

    def motion(canvas: Scene) -> None:
        slow = np.sin(np.float32(canvas.turn(0.33)) - phase)
        quick = np.sin(np.float32(canvas.turn(0.67)) - phase * 2.3)
        bend = free * (slow * 0.8 + quick * 0.25)
        bent = sample(both, xs - bend, ys - layer.top + np.abs(bend) * 0.12)
        lay(canvas.pixels[layer.rows], bent[..., :split], bent[..., split:])

    return motion


def flow(layer: Layer, scene: Scene, speed: float) -> Motion:
    """Flow along the contours of the layer's stream function, two copies as in ``drift``."""
    assert layer.current is not None
    down, right = np.gradient(layer.current[layer.rows])
    scale = float(np.quantile(np.hypot(right, down)[::8, ::8], 0.8)) + 1e-6
    way = np.float32(speed * scene.unit * scene.seconds / scale)
    vx, vy = np.clip(down * way, -40, 40), np.clip(-right * way, -40, 40)
    height, width = layer.add.shape[:2]
    between = np.full((height, width), _BETWEEN, dtype=np.float32)
    xs = between + np.arange(width, dtype=np.float32)[None, :]
    ys = between + np.arange(height, dtype=np.float32)[:, None]

    def motion(canvas: Scene) -> None:
        first, second = canvas.moment, (canvas.moment + 0.5) % 1.0
        share = np.float32(0.5 - 0.5 * math.cos(math.tau * first))
        one, two = (
            sample(layer.add, xs - vx * np.float32(t - 0.5), ys - vy * np.float32(t - 0.5))
            for t in (first, second)
        )
        lay(canvas.pixels[layer.rows], layer.keep, two + (one - two) * share)

    return motion


def motions(layers: list[Layer | Painter], scene: Scene, camera: Camera) -> list[Motion]:
    """Return how each layer moves; those on land are the nearer the later they were painted."""
    land = [x for x in layers if isinstance(x, Layer) and x.name in _GROUNDED]
    count = max(1, len(land) - 1)
    found: list[Motion] = []
    passed = 0
    for layer in layers:
        if not isinstance(layer, Layer):
            found.append(layer)
            continue
        passed += layer.name in _GROUNDED
        depth = 0.1 + 0.9 * max(0, passed - 1) / count
        found.append(_motion(layer, scene, camera, depth))
    return found


_GROUNDED: Final = frozenset({"land", "leaves", "near", "signs"})


def _motion(layer: Layer, scene: Scene, camera: Camera, depth: float) -> Motion:
    name = layer.name
    if name in ("gas", "flow"):
        return flow(layer, scene, 0.016 if name == "gas" else 0.035)
    if name == "leaves" or name == "plants":
        return sway(layer, scene, 0.022 if name == "plants" else 0.008 + 0.01 * depth)
    if name in ("land", "near"):
        return parallax(layer, camera, depth)
    simple: dict[str, Callable[[], Motion]] = {
        "clouds": lambda: drift(layer, scene, 0.022),
        "fog": lambda: drift(layer, scene, 0.04),
        "stars": lambda: twinkle(layer, scene, 0.03, 0.42, 0.67),
        "signs": lambda: twinkle(layer, scene, 0.12, 0.3, 0.67),
        "rays": lambda: twinkle(layer, scene, 0.3, 0.3, 0.34),
        "disc": lambda: pulse(layer, 0.04, 0.34),
        "glass": lambda: shimmer(layer, scene),
        "lightning": lambda: flash(layer),
        "birds": lambda: soar(layer, scene),
        "boats": lambda: bob(layer, scene, camera),
    }
    return simple.get(name, lambda: still(layer, scene))()
