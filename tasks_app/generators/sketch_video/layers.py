"""Takes a composition apart into the layers that it paints, back to front.

Everything that the artist does to a canvas (cover, add light, glaze) changes each channel of a
pixel along a straight line: ``new = keep * old + add``. So a layer painted once on black and
once on white is known completely: black gives ``add``, white less black gives ``keep``, and
``keep`` and ``add`` can be moved about and laid over any other picture. Parts that say they
are ``moving`` (water, aurora) are kept as the functions that paint them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from tasks_app.generators.sketch.arrays import Array
from tasks_app.generators.sketch.painting import Plan
from tasks_app.generators.sketch.progress import Progress
from tasks_app.generators.sketch.scene import Scene

_NOTHING: Final = 1.0 / 600.0
"""What changes no pixel by more than this is not worth a layer."""

Painter = Callable[[Scene], None]


@dataclass(slots=True)
class Layer:
    """Rows ``top`` onwards of a picture: ``new = keep * old + add``."""

    name: str
    keep: Array
    add: Array
    top: int = 0
    current: Array | None = None

    @property
    def rows(self) -> slice:
        """The rows of the canvas that the layer touches."""
        return slice(self.top, self.top + self.add.shape[0])


@dataclass(slots=True)
class Recording(Scene):
    """A canvas of one brightness that is cleaned whenever a new layer begins."""

    ground: float = 0.0
    names: list[tuple[str, Array | None]] = field(default_factory=list)
    taken: list[Array | Painter] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin with a first layer, for what is painted before any is named."""
        Scene.__post_init__(self)
        self.pixels[:] = self.ground
        self.names.append(("ground", None))

    def layer(self, name: str, current: Array | None = None) -> None:
        """Put the layer so far aside and begin another."""
        self._take(self.pixels.copy(), name, current)

    def moving(self, paint: Painter) -> None:
        """Keep the function instead of what it paints."""
        self._take(self.pixels.copy(), "moving", None)
        self._take(paint, "land", None)

    def close(self) -> None:
        """Put the last layer aside."""
        self.taken.append(self.pixels)

    def _take(self, what: "Array | Painter", name: str, current: Array | None) -> None:
        self.taken.append(what)
        self.names.append((name, current))
        self.pixels[:] = self.ground


def record(
    plan: Plan, size: tuple[int, int], paint: Painter, progress: Progress, goal: float
) -> list[Layer | Painter]:
    """Return what ``paint`` does to a canvas of ``size`` (w, h), back to front."""
    black, white = (
        _recorded(plan, size, paint, ground, progress, goal * share)
        for ground, share in ((0.0, 0.5), (1.0, 1.0))
    )
    found: list[Layer | Painter] = []
    for (name, current), dark, light in zip(black.names, black.taken, white.taken, strict=True):
        if callable(dark):
            found.append(dark)
        else:
            assert not callable(light)
            layer = _trimmed(Layer(name, light - dark, dark, current=current))
            if layer:
                found.append(layer)
    return found


def _recorded(
    plan: Plan,
    size: tuple[int, int],
    paint: Painter,
    ground: float,
    progress: Progress,
    goal: float,
) -> Recording:
    progress.stage(goal)
    scene = Recording(
        *size, plan.key, plan.reading, plan.look, _Ticks(progress), 1.0, ground=ground
    )
    paint(scene)
    scene.close()
    return scene


class _Ticks(Progress):
    """Passes ticks on; the stages of a still are not those of a film."""

    def __init__(self, progress: Progress) -> None:
        super().__init__(lambda fraction: progress.tick())

    def stage(self, goal: float) -> None:
        """Tick once."""
        self.tick()


def _trimmed(layer: Layer) -> Layer | None:
    """Return the layer without rows that change nothing, with one ``keep`` where one will do."""
    changed = np.abs(layer.keep - 1.0).max(axis=(1, 2)) > _NOTHING
    changed |= np.abs(layer.add).max(axis=(1, 2)) > _NOTHING
    rows = np.flatnonzero(changed)
    if not rows.size:
        return None
    keep, add = layer.keep[rows[0] : rows[-1] + 1], layer.add[rows[0] : rows[-1] + 1]
    mean = keep.mean(axis=2, keepdims=True)
    if float(np.abs(keep - mean).max()) < 2 * _NOTHING:
        keep = mean
    top = layer.top + int(rows[0])
    return Layer(layer.name, keep, np.ascontiguousarray(add), top, layer.current)
