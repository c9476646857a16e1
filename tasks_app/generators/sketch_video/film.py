"""Makes a loop of frames from words and a seed."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from PIL import Image

from tasks_app.generators.sketch import effects
from tasks_app.generators.sketch.arrays import Array, smoothstep
from tasks_app.generators.sketch.compositions import COMPOSITIONS
from tasks_app.generators.sketch.encode import to_image
from tasks_app.generators.sketch.painting import Plan, Wish, plan
from tasks_app.generators.sketch.progress import Progress
from tasks_app.generators.sketch.scene import Scene
from tasks_app.generators.sketch.shapes import blur
from tasks_app.generators.sketch_video.layers import Layer, record
from tasks_app.generators.sketch_video.motions import Camera, Motion, motions
from tasks_app.generators.sketch_video.weather import Sheet, sheets

Levels = npt.NDArray[np.uint8]

_PREPARING: Final = 0.15
"""The share of the work that comes before the first frame."""
_FLAT: Final = tuple(COMPOSITIONS[name] for name in ("geometry", "glass", "flow"))
"""Compositions without depth: the camera stays where it is."""


@dataclass(slots=True)
class Canvas(Scene):
    """A canvas that is used for every frame and remembers the noise it was asked for."""

    known: dict[tuple[Any, ...], Array] = field(default_factory=dict)

    def noise(
        self,
        name: str,
        cell: float,
        octaves: int = 5,
        *,
        gain: float = 0.5,
        stretch: float = 1.0,
        ridged: bool = False,
        rows: int | None = None,
    ) -> Array:
        """Return noise that was made once; nobody may change it."""
        key = (name, cell, octaves, gain, stretch, ridged, rows)
        if key not in self.known:
            made = Scene.noise(
                self, name, cell, octaves, gain=gain, stretch=stretch, ridged=ridged, rows=rows
            )
            made.flags.writeable = False
            self.known[key] = made
        return self.known[key]


@dataclass(frozen=True, slots=True)
class Loop:
    """How long and how smooth."""

    seconds: int
    fps: int

    @property
    def frames(self) -> int:
        """How many frames there are."""
        return self.seconds * self.fps


class Film:
    """A prepared film. ``frames`` yields what ``Loop`` asks for."""

    def __init__(self, wish: Wish, loop: Loop, progress: Progress) -> None:
        self._loop, self._progress = loop, progress
        self._size = (wish.width, wish.height)
        self._plan = plan(wish)
        self._margin = 0 if self._flat else 8 + 2 * round(0.012 * max(self._size))
        wide = wish.width + 2 * self._margin, wish.height + 2 * self._margin
        self._canvas = self._scene(wide, 0.7)
        self._screen = self._scene(self._size, 0.7)
        self._camera = Camera(0.0 if self._flat else 0.5 * self._margin)
        self._motions: list[Motion] = motions(
            record(self._plan, wide, self._plan.composition.paint, progress, _PREPARING * 0.8),
            self._canvas,
            self._camera,
        )
        self._sheets: list[Sheet] = [] if self._on_paper else sheets(self._screen)
        self._fog = self._layers_of(effects.fog) if self._foggy else []
        self._surface = self._layers_of(partial(_surface, on_paper=self._on_paper))
        progress.stage(_PREPARING)

    def frames(self) -> Iterator[Levels]:
        """Yield every frame once, reporting each."""
        count = self._loop.frames
        for index in range(count):
            yield self.frame(index / count)
            self._progress.stage(_PREPARING + (1.0 - _PREPARING) * (index + 1) / count)

    def frame(self, moment: float) -> Levels:
        """Return the frame at ``moment`` (0 to 1; 1 would be 0 again) as RGB bytes."""
        self._canvas.moment = self._screen.moment = moment
        for motion in self._motions:
            motion(self._canvas)
        screen = self._screen
        screen.pixels[:] = self._seen(moment)
        for layer in self._fog:
            layer(screen)
        for sheet in self._sheets:
            sheet.paint(screen)
        self._finish(screen)
        grain = self._grain(moment)
        levels = np.clip(screen.pixels * 255.0 + grain[..., None], 0.0, 255.0)
        return levels.astype(np.uint8)

    @property
    def _flat(self) -> bool:
        return self._plan.composition in _FLAT

    @property
    def _on_paper(self) -> bool:
        return self._plan.composition.on_paper

    @property
    def _foggy(self) -> bool:
        return self._plan.reading.has("weather.fog") and not self._on_paper

    def _scene(self, size: tuple[int, int], detail: float) -> Canvas:
        mute = Progress(lambda fraction: None)
        idea: Plan = self._plan
        return Canvas(*size, idea.key, idea.reading, idea.look, mute, detail, self._loop.seconds)

    def _layers_of(self, paint: Any) -> list[Motion]:
        layers = record(self._plan, self._size, paint, self._progress, _PREPARING)
        for layer in layers:
            if isinstance(layer, Layer) and paint is effects.fog:
                layer.name = "fog"
        return motions(layers, self._screen, Camera(0.0))

    def _seen(self, moment: float) -> Array:
        """Return what the camera sees of the canvas: it drifts, and nears and leaves a little."""
        if not self._margin:
            return self._canvas.pixels
        right, down = self._camera.at(moment)
        near = 1.0 - 0.012 * (0.5 - 0.5 * math.cos(math.tau * moment))
        width, height = (side * near for side in self._size)
        x = self._canvas.width / 2 + 0.6 * right - width / 2
        y = self._canvas.height / 2 + 0.6 * down - height / 2
        whole = to_image(self._canvas.pixels, (self._canvas.width, self._canvas.height))
        seen = whole.resize(self._size, Image.Resampling.BICUBIC, (x, y, x + width, y + height))
        return np.asarray(seen, dtype=np.float32) / 255.0

    def _finish(self, screen: Canvas) -> None:
        reading = self._plan.reading
        glowing = reading.has("material.neon", "mood.dreamy")
        if glowing or self._plan.look.dark:
            _bloom(screen, 0.5 if glowing else 0.25)
        if reading.has("material.watercolour") and not self._on_paper:
            effects.watercolour(screen)
        elif reading.has("material.oil"):
            effects.oil(screen)
        for motion in self._surface:
            motion(screen)
        breath = 1.0 + 0.018 * math.sin(screen.turn(0.34))
        if not self._on_paper:
            screen.pixels *= breath
        drained = reading.avoided_in("colour")
        if drained:
            effects.drain(screen, drained)

    def _grain(self, moment: float) -> Array:
        """Return a little noise, up to one level, that hides the steps of a gradient."""
        index = round(moment * self._loop.frames) % self._loop.frames
        return self._screen.rng(f"grain {index}").random(self._screen.shape, dtype=np.float32)


def _surface(scene: Scene, *, on_paper: bool) -> None:
    """Paint what lies over the whole picture and stands still: a sheet's tooth, or a vignette."""
    if on_paper or scene.reading.has("material.paper", "material.watercolour"):
        effects.paper(scene)
    else:
        effects.vignette(scene)


def _bloom(scene: Scene, strength: float) -> None:
    """Let bright parts spill light, as ``effects.bloom`` does, on a quarter of the rows."""
    height, width = scene.shape
    small = scene.pixels.reshape(height // 4, 4, width // 4, 4, 3).mean(axis=(1, 3))
    bright = small * smoothstep(0.5, 0.95, small.max(axis=-1))[..., None]
    halo = blur(bright, scene.unit * 0.022 / 4)
    channels = [
        np.asarray(Image.fromarray(np.ascontiguousarray(halo[..., i])).resize((width, height), 2))
        for i in range(3)
    ]
    wide = np.stack(channels, axis=-1)
    scene.pixels += strength * wide * (1.0 - np.minimum(scene.pixels, 1.0))
