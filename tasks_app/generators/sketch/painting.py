"""Paints one picture from words and a seed."""

import json
import math
import unicodedata
from dataclasses import dataclass
from typing import Final

from PIL import Image

from tasks_app.generators.sketch import compositions, palette
from tasks_app.generators.sketch.compositions import Composition
from tasks_app.generators.sketch.effects import finish
from tasks_app.generators.sketch.encode import to_image
from tasks_app.generators.sketch.palette import Look
from tasks_app.generators.sketch.progress import Progress
from tasks_app.generators.sketch.scene import Scene, stream
from tasks_app.generators.sketch.words import Reading, read

_COUNTS: Final = {"draft": 0.6, "standard": 1.0, "fine": 1.4}
_FINE_SCALE: Final = 1.5
_MOST_PIXELS: Final = 2_600_000
"""Fine pictures are painted larger and reduced, up to this many px: it bounds memory."""


@dataclass(frozen=True, slots=True)
class Wish:
    """One picture as asked for; sizes in px."""

    prompt: str
    negative_prompt: str
    seed: int
    width: int
    height: int
    style: str = "auto"
    detail: str = "standard"


@dataclass(frozen=True, slots=True)
class Plan:
    """What the words and the seed of a wish decide before anything is painted."""

    key: bytes
    reading: Reading
    composition: Composition
    look: Look


def plan(wish: Wish) -> Plan:
    """Return what to paint for ``wish`` and in which colours."""
    key = _key(wish)
    reading = read(wish.prompt, wish.negative_prompt)
    return Plan(
        key,
        reading,
        compositions.choose(reading, stream(key, "composition"), wish.style),
        palette.choose(reading, stream(key, "look")),
    )


def picture(wish: Wish, progress: Progress) -> Image.Image:
    """Return the picture of ``wish``; equal wishes give equal pixels.

    The random streams depend on prompt and seed only, so that a change of size, detail or
    negative prompt changes the picture no more than it must.
    """
    idea = plan(wish)
    scale = _scale(wish)
    scene = Scene(
        width=round(wish.width * scale),
        height=round(wish.height * scale),
        key=idea.key,
        reading=idea.reading,
        look=idea.look,
        progress=progress,
        detail=_COUNTS[wish.detail],
    )
    idea.composition.paint(scene)
    progress.stage(0.98)
    finish(scene, on_paper=idea.composition.on_paper)
    progress.stage(0.99)
    return to_image(scene.pixels, (wish.width, wish.height))


def _key(wish: Wish) -> bytes:
    prompt = unicodedata.normalize("NFC", wish.prompt).strip()
    return json.dumps([prompt, wish.seed], ensure_ascii=True).encode()


def _scale(wish: Wish) -> float:
    if wish.detail != "fine":
        return 1.0
    most = math.sqrt(_MOST_PIXELS / (wish.width * wish.height))
    return max(1.0, min(_FINE_SCALE, most))
