"""The compositions of the sketch artist, one module each, and which words call for which."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from tasks_app.generators.sketch.arrays import Rng
from tasks_app.generators.sketch.compositions import (
    city,
    dunes,
    flow,
    flowers,
    forest,
    geometry,
    glass,
    inkwash,
    mountains,
    nightsky,
    sea,
)
from tasks_app.generators.sketch.scene import Scene
from tasks_app.generators.sketch.words import Reading


@dataclass(frozen=True, slots=True)
class Composition:
    """A way to build a picture.

    ``calls`` maps concepts to how strongly they call for it; ``chance`` is its weight when no
    word decides; ``on_paper`` says that it is ink or paint on a sheet, not a view.
    """

    label: str
    paint: Callable[[Scene], None]
    calls: Mapping[str, float]
    chance: float = 1.0
    on_paper: bool = False


COMPOSITIONS: Final[dict[str, Composition]] = {
    "mountains": Composition(
        "Mountains and lakes",
        mountains.paint,
        {
            "subject.mountain": 3,
            "subject.lake": 2.6,
            "subject.forest": 1.4,
            "subject.house": 1.2,
            "subject.cat": 0.7,
            "weather.fog": 0.6,
            "weather.aurora": 1.5,
            "subject.person": 0.8,
            "weather.snow": 0.6,
        },
        1.5,
    ),
    "sea": Composition(
        "Seascape",
        sea.paint,
        {
            "subject.sea": 3.2,
            "subject.lighthouse": 3.0,
            "subject.boat": 2.2,
            "weather.storm": 1.0,
            "weather.rainbow": 0.8,
        },
        1.2,
    ),
    "city": Composition(
        "City skyline",
        city.paint,
        {"subject.city": 3.4, "material.neon": 1.6, "material.metal": 0.9, "weather.rain": 0.8},
        1.0,
    ),
    "forest": Composition(
        "Forest",
        forest.paint,
        {
            "subject.forest": 3.0,
            "subject.bamboo": 3.2,
            "subject.birch": 3.2,
            "season.autumn": 1.0,
            "weather.snow": 0.5,
        },
        1.0,
    ),
    "dunes": Composition("Desert dunes", dunes.paint, {"subject.desert": 3.3}, 0.6),
    "nightsky": Composition(
        "Night sky",
        nightsky.paint,
        {
            "subject.space": 3.4,
            "subject.planet": 3.2,
            "subject.stars": 2.0,
            "subject.moon": 0.9,
            "subject.cat": 0.7,
            "subject.person": 0.6,
            "mood.dreamy": 0.5,
        },
        0.9,
    ),
    "flowers": Composition(
        "Flowers",
        flowers.paint,
        {"subject.flower": 3.4, "season.spring": 1.0, "subject.grass": 0.8},
        0.8,
        on_paper=True,
    ),
    "inkwash": Composition(
        "Ink wash",
        inkwash.paint,
        {"material.ink": 4.5},
        0.5,
        on_paper=True,
    ),
    "glass": Composition("Stained glass", glass.paint, {"material.glass": 4.2}, 0.6),
    "flow": Composition(
        "Flow field",
        flow.paint,
        {
            "subject.abstract": 3.4,
            "material.silk": 3.2,
            "weather.wind": 1.2,
            "subject.fire": 2.0,
            "mood.wild": 0.3,
        },
        1.0,
    ),
    "geometry": Composition(
        "Geometric poster",
        geometry.paint,
        {"subject.geometry": 3.6, "material.paper": 0.8, "mood.minimal": 0.8},
        0.6,
        on_paper=True,
    ),
}


def choose(reading: Reading, rng: Rng, style: str = "auto") -> Composition:
    """Return the composition for ``style``; ``auto`` lets the words, then chance, decide."""
    if style != "auto":
        return COMPOSITIONS[style]
    scores = {name: _score(composition, reading) for name, composition in COMPOSITIONS.items()}
    best = max(scores.values())
    chance = {name: float(rng.random()) for name in COMPOSITIONS}
    if best <= 0.0:
        allowed = [name for name, score in scores.items() if score == 0.0] or list(scores)
        return COMPOSITIONS[max(allowed, key=lambda n: chance[n] ** (1 / COMPOSITIONS[n].chance))]
    close = [name for name, score in scores.items() if score >= best * 0.92]
    return COMPOSITIONS[max(close, key=lambda name: chance[name])]


def _score(composition: Composition, reading: Reading) -> float:
    """Return how strongly the words call for it; below zero when what it shows is avoided."""
    score = sum(
        strength * reading.wanted.get(concept, 0.0)
        for concept, strength in composition.calls.items()
    )
    shunned = [c for c, strength in composition.calls.items() if strength >= 2.5]
    return -1.0 if any(not reading.allows(concept) for concept in shunned) else score
