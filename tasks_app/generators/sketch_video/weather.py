"""Weather in front of the camera: sheets of rain and snow that wrap around as they fall."""

import math
from dataclasses import dataclass

import numpy as np

from tasks_app.generators.sketch.arrays import Array
from tasks_app.generators.sketch.colour import rgb
from tasks_app.generators.sketch.scene import Scene
from tasks_app.generators.sketch.shapes import Stencil, soften


@dataclass(frozen=True, slots=True)
class Sheet:
    """A texture that repeats in both directions and falls by whole repeats in a loop."""

    mask: Array
    colour: Array
    down: int
    right: int
    sway: float = 0.0

    def paint(self, canvas: Scene) -> None:
        """Screen the sheet over the canvas as it is at the canvas's moment."""
        height, width = self.mask.shape
        sway = self.sway * math.sin(math.tau * canvas.moment)
        rows = np.arange(canvas.height) - round(self.down * height * canvas.moment)
        columns = np.arange(canvas.width) - round(self.right * width * canvas.moment + sway)
        mask = self.mask[rows[:, None] % height, columns[None, :] % width]
        canvas.screen(mask, self.colour)


def sheets(scene: Scene) -> list[Sheet]:
    """Return the sheets that the prompt asks for, far ones first."""
    found: list[Sheet] = []
    if scene.reading.has("weather.rain", "weather.storm"):
        found += [
            _rain(scene, "far rain", 0.035, 0.0011, 420, 0.3, 1.7),
            _rain(scene, "near rain", 0.085, 0.0018, 110, 0.42, 2.6),
        ]
    if scene.reading.has("weather.snow"):
        found += [
            _snow(scene, "far snow", 0.0022, 170, 0.8, 0.40),
            _snow(scene, "snow", 0.0042, 60, 0.75, 0.50),
            _snow(scene, "near snow", 0.009, 12, 0.4, 0.62),
        ]
    return found


def _rain(
    scene: Scene, name: str, length: float, width: float, number: int, value: float, speed: float
) -> Sheet:
    """Draw streaks along the way that they fall; ``speed`` in heights per second."""
    rng = scene.rng(name)
    down = max(1, round(speed * scene.seconds))
    slant = 0.1 + 0.22 * scene.look.energy
    right = -round(slant * down * scene.height / scene.width)
    lean = right * scene.width / (down * scene.height)
    stencil = Stencil(scene.width, scene.height, scale=2)
    for x, y, size, power in rng.random((scene.count(number), 4)):
        tall = scene.unit * length * (0.6 + 0.7 * size)
        start = (float(x) * scene.width, float(y) * scene.height)
        for across in (-scene.width, 0, scene.width):
            for along in (-scene.height, 0):
                head = (start[0] + across, start[1] + along)
                tail = (head[0] + tall * lean, head[1] + tall)
                stencil.line([head, tail], scene.unit * width, value * (0.4 + 0.6 * float(power)))
    return Sheet(stencil.mask(), rgb("#d5dfe8"), down, right)


def _snow(scene: Scene, name: str, radius: float, number: int, value: float, speed: float) -> Sheet:
    """Strew flakes over a part of the height that they fall by in one loop."""
    rng = scene.rng(name)
    fall = speed * scene.unit * scene.seconds
    down = max(1, round(fall / (0.75 * scene.height)))
    height = min(scene.height, max(16, round(fall / down)))
    stencil = Stencil(scene.width, height, scale=2)
    share = height / scene.height
    for x, y, size, power in rng.random((scene.count(number * share), 4)):
        around = scene.unit * radius * (0.5 + 0.7 * float(size))
        for across in (-scene.width, 0, scene.width):
            for along in (-height, 0, height):
                place = (float(x) * scene.width + across, float(y) * height + along)
                stencil.ellipse(*place, around, around, value * (0.5 + 0.5 * float(power)))
    mask = soften(stencil.mask(), scene.unit * radius * 0.45)
    return Sheet(mask, rgb("#f7f9fc"), down, 0, scene.unit * (0.01 + radius))
