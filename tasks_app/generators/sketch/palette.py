"""Chooses the colours of a picture from the time, weather, moods and colours of its prompt."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tasks_app.generators.sketch.arrays import Array, Rng
from tasks_app.generators.sketch.colour import from_oklab, rgb, shade, to_oklab
from tasks_app.generators.sketch.words import Reading

# Per time of day, variants of: sky from zenith to horizon (4), light, haze, near land, far land.
_SKIES: Final[dict[str, tuple[str, ...]]] = {
    "dawn": (
        "#4b6591 #9a9dc0 #eab4ae #fde0bb #fff3d6 #f1cdbd #29334a #8c8fae",
        "#5a7a9c #a9bccb #f2c9b0 #fde9c9 #fff4dc #f0d9c6 #2c3b45 #93a5ad",
        "#56508c #a583b4 #ee9f9f #ffd9ac #fff0cf #f0b9ac #2b2748 #8f7da6",
    ),
    "noon": (
        "#2f74b8 #69a7d8 #aed3ea #e6f2f2 #fffbe8 #cfe2ea #1f4034 #7fa3b4",
        "#3a86b0 #7cb9cf #b8dcdd #eef3e4 #fffbe6 #d3e5de #27463a #86aba6",
        "#3b6fc0 #78a4dd #b9d3ee #eef4f6 #fffdf0 #d5e1ef #223a48 #88a2bd",
    ),
    "gold": (
        "#58739a #b4a99c #efbf78 #ffe6a8 #fff0be #f0c78d #2f2a26 #a38a76",
        "#6a7f92 #c8ab8a #f3b163 #ffdd93 #ffedb0 #efb679 #33261f #a67f62",
    ),
    "dusk": (
        "#20264e #63447c #c9596c #f9a761 #ffd9a0 #c87478 #15132a #6d4f78",
        "#2a2350 #85437a #e0606a #ffb57a #ffdcae #cf7480 #1a1430 #7c4b78",
        "#1d3557 #58628d #c98a8f #f7c59a #ffe6c4 #c2989c #141c2e #5d6688",
        "#341d45 #8c2f58 #e2573f #ffb648 #ffd780 #cc5f52 #1c0f22 #75345a",
    ),
    "night": (
        "#050a1d #0d1a3a #1b3055 #3a587e #eef3ff #2a4165 #03060f #1b2e4d",
        "#070a20 #171c48 #31356c #5a5c93 #f3efff #3d4074 #05061a #252a55",
        "#04121c #0b2a38 #175058 #3d8283 #effff6 #24585f #020a10 #123a44",
    ),
    "grey": (
        "#7c8a99 #9eabb4 #c1c9cc #dfe2df #f5f3e8 #c8ced0 #26323a #8795a0",
        "#6d7f8c #94a5ab #bcc6c3 #dcdfd6 #f4f2e4 #bfc9c7 #233035 #7e9196",
    ),
    "storm": (
        "#171d27 #303c49 #586774 #93a0a2 #e8ecec #5f6d78 #0b0f16 #384552",
        "#1c1b2b #3a3a50 #666781 #a2a3ac #efeef4 #6d6e84 #0d0c17 #434358",
    ),
}
_ACCENTS: Final[tuple[str, ...]] = (
    "#0b3954 #087e8b #bfd7ea #ff5a5f #f4a259",
    "#264653 #2a9d8f #e9c46a #f4a261 #e76f51",
    "#1d3557 #457b9d #a8dadc #f1faee #e63946",
    "#2d1e4f #6b3fa0 #c86dd7 #ff9ebb #ffd9a0",
    "#12355b #420039 #d72638 #f49d37 #f5e6c8",
    "#0f3d3e #3c6e71 #d9a441 #e8dab2 #c8553d",
    "#22223b #4a4e69 #9a8c98 #c9ada7 #f2e9e4",
    "#1b4332 #40916c #95d5b2 #f1e3b0 #e07a5f",
    "#03045e #0077b6 #48cae4 #caf0f8 #ffb703",
    "#3d1f2b #8f2d56 #d81159 #ffbc42 #218380",
)
# Hue in degrees and chroma in OKLCh, and a lightness to lean to with its strength.
HUES: Final[dict[str, tuple[float, float, float, float]]] = {
    "red": (26.0, 0.20, 0.52, 0.20),
    "orange": (58.0, 0.165, 0.66, 0.15),
    "yellow": (98.0, 0.16, 0.82, 0.40),
    "gold": (84.0, 0.13, 0.74, 0.22),
    "green": (148.0, 0.14, 0.55, 0.10),
    "teal": (193.0, 0.10, 0.60, 0.05),
    "blue": (256.0, 0.155, 0.50, 0.10),
    "purple": (306.0, 0.16, 0.48, 0.10),
    "pink": (356.0, 0.13, 0.74, 0.20),
    "brown": (58.0, 0.07, 0.42, 0.15),
    "white": (90.0, 0.008, 0.95, 0.45),
    "black": (270.0, 0.012, 0.12, 0.45),
    "grey": (250.0, 0.008, 0.60, 0.05),
}


@dataclass(frozen=True, slots=True)
class Look:
    """The colours (sRGB float32, shape (3,) or (n, 3)) and the temper of one picture."""

    time: str
    sky: Array
    """Four colours from the zenith down to the horizon."""
    light: Array
    """Sun or moon, and what they shine on."""
    haze: Array
    near: Array
    far: Array
    accents: Array
    """Five colours from dark to light and bright, for what has no natural colour."""
    energy: float = 0.5
    """0 still, 1 wild: roughness, wave height, contrast of the forms."""
    mist: float = 0.45
    """0 clear air, 1 thick fog."""

    @property
    def dark(self) -> bool:
        """Whether it is night in the picture."""
        return self.time == "night"


def choose(reading: Reading, rng: Rng) -> Look:
    """Return the look that ``reading`` asks for, varied by ``rng``."""
    time = choose_time(reading, rng)
    variants = [rgb(*codes.split()) for codes in _SKIES[time]]
    colours = variants[int(rng.integers(len(variants)))]
    accents = [rgb(*codes.split()) for codes in _ACCENTS][int(rng.integers(len(_ACCENTS)))]
    everything = np.concatenate([colours, accents])
    everything = _tempered(_seasoned(everything, reading), reading)
    everything = tint(everything, reading.group("colour"))
    look = Look(
        time=time,
        sky=everything[:4],
        light=everything[4],
        haze=everything[5],
        near=everything[6],
        far=everything[7],
        accents=everything[8:],
        energy=_energy(reading, rng),
        mist=_mist(reading, rng),
    )
    return replace(look, light=shade(look.light, 0.1))


def choose_time(reading: Reading, rng: Rng) -> str:
    """Return the time of day: the one asked for, else one that suits and is not avoided."""
    asked = reading.group("time")
    if asked:
        return "storm" if asked[0] != "night" and reading.has("weather.storm") else asked[0]
    if reading.has("weather.storm"):
        return "storm"
    weights = {"dawn": 1.0, "noon": 0.9, "gold": 1.0, "dusk": 1.3, "night": 0.7, "grey": 0.15}
    if reading.has("subject.stars", "subject.space", "subject.moon", "weather.aurora"):
        weights = {"night": 1.0}
    elif reading.has("material.neon"):
        weights = {"night": 3.0, "dusk": 1.0}
    elif reading.has("weather.rain", "weather.cloud"):
        weights = {"grey": 2.0, "dusk": 0.5, "night": 0.5, "dawn": 0.4}
    elif reading.has("mood.melancholy"):
        weights = {"grey": 1.5, "dusk": 0.8, "night": 0.6}
    elif reading.has("weather.clear", "season.summer", "weather.rainbow"):
        weights = {"noon": 2.0, "gold": 0.7}
    elif reading.has("subject.sun"):
        weights = {"gold": 1.0, "dawn": 1.0, "dusk": 1.0}
    left = [name for name in weights if reading.allows(f"time.{name}")]
    if not left:
        left = [name for name in ("grey", "noon", "gold", "dawn") if reading.allows(f"time.{name}")]
    share = np.array([weights.get(name, 1.0) for name in left])
    return left[int(rng.choice(len(left), p=share / share.sum()))] if left else "grey"


def tint(colours: Array, names: Sequence[str], strength: float = 0.78) -> Array:
    """Return ``colours`` (n, 3) pulled towards the named hues; lightness order is kept.

    With several names neighbours in the list take turns, the first name most often.
    """
    if not names:
        return colours
    lab = to_oklab(colours).copy()
    turns = [0, 0, 1, 0, 2, 0, 1, 2]
    for index in range(len(lab)):
        hue, chroma, lightness, lean = HUES[names[turns[index % len(turns)] % len(names)]]
        off = abs(float(lab[index, 0]) - lightness) / max(lightness, 1.0 - lightness)
        envelope = 1.0 - 0.8 * off**1.5
        if 70.0 < hue < 110.0:
            # Dark yellow reads as olive; painters take a warm brown for its shadows.
            hue -= 40.0 * max(0.0, 0.75 - float(lab[index, 0]))
        angle = np.deg2rad(hue)
        target = np.array([np.cos(angle), np.sin(angle)], dtype=np.float32) * chroma * envelope
        lab[index, 1:] += (target - lab[index, 1:]) * strength
        # A dark ground stays dark: white flowers at night are not a grey picture.
        lean *= 0.25 if lightness > lab[index, 0] and lab[index, 0] < 0.35 else 1.0
        lab[index, 0] += (lightness - lab[index, 0]) * lean
    return from_oklab(lab)


def avoid_hues(pixels: Array, names: Sequence[str]) -> Array:
    """Return pixels with the named hues drained: grey, or turned to the nearest allowed side.

    ``pixels`` is sRGB with three entries on the last axis. White and black cannot be drained
    of hue; they are dimmed or lifted instead.
    """
    lab = to_oklab(pixels)
    for name in names:
        hue, chroma, _, _ = HUES[name]
        if name in ("white", "black"):
            limit = (0.0, 0.84) if name == "white" else (0.24, 1.0)
            lab[..., 0] = limit[0] + lab[..., 0] * (limit[1] - limit[0])
            continue
        if chroma < 0.05:
            continue
        unit = np.array([np.cos(np.deg2rad(hue)), np.sin(np.deg2rad(hue))], dtype=np.float32)
        along = lab[..., 1] * unit[0] + lab[..., 2] * unit[1]
        length = np.hypot(lab[..., 1], lab[..., 2]) + 1e-6
        near = np.clip((along / length - 0.6) / 0.3, 0.0, 1.0)
        lab[..., 1] -= near * along * unit[0] * 1.05
        lab[..., 2] -= near * along * unit[1] * 1.05
    return from_oklab(lab)


def _seasoned(colours: Array, reading: Reading) -> Array:
    seasons = {"spring": "pink", "summer": "green", "autumn": "orange"}
    wanted = [seasons[name] for name in reading.group("season")]
    if reading.has("subject.fire"):
        wanted.append("red")
    return tint(colours, wanted, 0.35) if wanted else colours


def _tempered(colours: Array, reading: Reading) -> Array:
    """Apply moods and materials: saturation, lightness and warmth."""
    chroma, lightness, warmth = 1.0, 0.0, 0.0
    for concept, change in {
        "mood.melancholy": (0.62, -0.04, -0.012),
        "mood.joyful": (1.3, 0.04, 0.008),
        "mood.calm": (0.88, 0.02, 0.0),
        "mood.wild": (1.2, -0.02, 0.0),
        "mood.dreamy": (1.1, 0.03, -0.004),
        "mood.minimal": (0.85, 0.03, 0.0),
        "material.metal": (0.35, -0.02, -0.006),
        "material.neon": (1.45, -0.03, 0.0),
        "material.glass": (1.25, 0.0, 0.0),
        "weather.snow": (0.72, 0.04, -0.008),
        "weather.rain": (0.8, -0.03, -0.006),
        "weather.fog": (0.75, 0.02, 0.0),
    }.items():
        if reading.has(concept):
            chroma, lightness, warmth = (
                chroma * change[0],
                lightness + change[1],
                warmth + change[2],
            )
    lab = to_oklab(colours).copy()
    lab[:, 0] = np.clip(lab[:, 0] + lightness, 0.0, 1.0)
    lab[:, 1:] *= chroma
    lab[:, 2] += warmth
    return from_oklab(lab)


def _energy(reading: Reading, rng: Rng) -> float:
    level = 0.35 + 0.3 * float(rng.random())
    level += 0.4 * reading.has("mood.wild", "weather.storm") + 0.1 * reading.has("weather.wind")
    level -= 0.3 * reading.has("mood.calm", "mood.minimal")
    return min(1.0, max(0.05, level))


def _mist(reading: Reading, rng: Rng) -> float:
    level = 0.3 + 0.35 * float(rng.random())
    level += 0.4 * reading.has("weather.fog") + 0.1 * reading.has("weather.rain", "mood.dreamy")
    level -= 0.25 * reading.has("weather.clear")
    if not reading.allows("weather.fog"):
        level = min(level, 0.1)
    return min(1.0, max(0.05, level))
