"""What happens to a finished painting: weather in front of it, materials, grain, vignette."""

import numpy as np

from tasks_app.generators.sketch.arrays import Array, smoothstep
from tasks_app.generators.sketch.colour import blend, luminance, rgb, shade
from tasks_app.generators.sketch.noise import lattice, shifted, warp
from tasks_app.generators.sketch.palette import avoid_hues
from tasks_app.generators.sketch.scene import Scene
from tasks_app.generators.sketch.shapes import Stencil, blur, soften


def finish(scene: Scene, *, on_paper: bool) -> None:
    """Apply weather, material and camera to the painting; ``on_paper`` for works of ink."""
    reading = scene.reading
    if not on_paper:
        _weather(scene)
    if reading.has("material.neon", "mood.dreamy") or scene.look.dark:
        bloom(scene, 0.5 if reading.has("material.neon", "mood.dreamy") else 0.25)
    if reading.has("material.watercolour") and not on_paper:
        watercolour(scene)
    elif reading.has("material.oil"):
        oil(scene)
    if on_paper or reading.has("material.paper", "material.watercolour"):
        paper(scene)
    else:
        vignette(scene)
    drained = reading.avoided_in("colour")
    if drained:
        drain(scene, drained)
    grain(scene)


def _weather(scene: Scene) -> None:
    if scene.reading.has("weather.fog"):
        fog(scene)
    if scene.reading.has("weather.rain") or scene.reading.has("weather.storm"):
        rain(scene)
    if scene.reading.has("weather.snow"):
        snow(scene)


def fog(scene: Scene) -> None:
    """Drift banks of fog over the lower picture."""
    drift = scene.noise("fog", 0.35, 4, stretch=3.0)
    height = scene.ys / scene.height
    bank = smoothstep(0.25, 0.85, drift) * smoothstep(0.15, 0.75, height) * 0.75
    scene.over(np.clip(bank + 0.12, 0.0, 0.85), blend(scene.look.haze, scene.look.sky[3], 0.4))


def rain(scene: Scene) -> None:
    """Draw slanted streaks of rain, near and far."""
    rng = scene.rng("rain")
    slant = 0.12 + 0.3 * scene.look.energy
    for length, width, number, value in ((0.035, 0.0011, 900, 0.35), (0.08, 0.0017, 220, 0.5)):
        stencil = Stencil(scene.width, scene.height, scale=2)
        for _ in range(scene.count(number)):
            x, y = (rng.random(2) * (1.3, 1.1) - (0.1, 0.1)) * (scene.width, scene.height)
            size = scene.unit * length * float(rng.uniform(0.6, 1.3))
            end = (x - size * slant, y + size)
            stencil.line([(x, y), end], scene.unit * width, value * float(rng.uniform(0.4, 1.0)))
        scene.screen(soften(stencil.mask(), scene.unit * 0.0006), rgb("#d5dfe8"))
        scene.progress.tick()


def snow(scene: Scene) -> None:
    """Let snow fall in three depths; the nearest flakes are large and out of focus."""
    rng = scene.rng("snow")
    for radius, number, value in ((0.0016, 900, 0.75), (0.0032, 260, 0.7), (0.008, 40, 0.4)):
        stencil = Stencil(scene.width, scene.height, scale=2)
        for _ in range(scene.count(number)):
            x, y = rng.random(2) * (scene.width, scene.height)
            size = scene.unit * radius * float(rng.uniform(0.5, 1.2))
            stencil.ellipse(float(x), float(y), size, size, value * float(rng.uniform(0.5, 1.0)))
        scene.over(soften(stencil.mask(), scene.unit * radius * 0.45), rgb("#f7f9fc"))
        scene.progress.tick()


def bloom(scene: Scene, strength: float) -> None:
    """Let bright parts spill light around them."""
    bright = scene.pixels * smoothstep(0.5, 0.95, scene.pixels.max(axis=-1))[..., None]
    scene.progress.tick()
    halo = blur(bright, scene.unit * 0.022, scene.progress.tick)
    scene.pixels += strength * halo * (1.0 - np.minimum(scene.pixels, 1.0))
    scene.progress.tick()


def watercolour(scene: Scene) -> None:
    """Turn the painting to watercolour: bled edges, granulated pigment, dark rims."""
    bend = scene.noise("bleed", 0.05, 5)
    other = scene.noise("bleed other", 0.05, 5)
    scene.pixels[:] = warp(scene.pixels, bend, other, scene.unit * 0.007, scene.progress.tick)
    scene.progress.tick()
    soft = blur(scene.pixels, scene.unit * 0.006, scene.progress.tick)
    scene.progress.tick()
    rim = np.clip((luminance(soft) - luminance(scene.pixels)) * 2.0, -0.1, 0.25)
    pigment = scene.noise("pigment", 0.012, 4) - 0.5
    wash = scene.noise("wash", 0.25, 4) - 0.5
    mixed = soft * 0.6 + scene.pixels * 0.4
    mixed *= (1.0 - rim + pigment * 0.13 + wash * 0.16)[..., None]
    scene.pixels[:] = 0.12 + 0.88 * np.clip(mixed, 0.0, 1.0)
    scene.progress.tick()
    edge = _paper_edge(scene)
    scene.over(1.0 - edge, rgb("#f6f1e6"))


def _paper_edge(scene: Scene) -> Array:
    """Return 1 inside an irregular painted area, 0 on the bare margin of the sheet."""
    ragged = scene.noise("ragged", 0.14, 6, gain=0.42) - 0.5
    margin = 0.045 * scene.unit
    across = np.minimum(scene.xs, scene.width - scene.xs)
    down = np.minimum(scene.ys, scene.height - scene.ys)
    inside = np.minimum(across, down) + ragged * margin * 0.9
    return smoothstep(margin * 0.93, margin * 1.07, inside)


def oil(scene: Scene) -> None:
    """Turn the painting to oil: colour dragged along curling strokes, ridges catching light."""
    bend = scene.noise("stroke x", 0.06, 2)
    other = scene.noise("stroke y", 0.06, 2)
    scene.progress.tick()
    bristle = lattice(scene.rng("bristle"), scene.shape, max(2.0, scene.unit * 0.004))
    for reach in (0.011, 0.006):
        drag = bend * 0.7 + bristle * 0.3
        scene.pixels[:] = warp(scene.pixels, drag, other, scene.unit * reach, scene.progress.tick)
        scene.progress.tick()
    scene.progress.tick()
    ridge = warp(bristle, bend, other, scene.unit * 0.08)
    step = max(1, round(scene.unit * 0.0015))
    scene.progress.tick()
    relief = ridge - shifted(ridge, step, step)
    scene.pixels *= (1.0 + relief * 0.16)[..., None]


def paper(scene: Scene) -> None:
    """Give the sheet its tooth and a faint warm tone."""
    rng = scene.rng("paper")
    fibre = lattice(rng, scene.shape, max(1.2, scene.unit * 0.0022), 1.6)
    tooth = lattice(rng, scene.shape, max(1.2, scene.unit * 0.0045))
    broad = lattice(rng, scene.shape, scene.unit * 0.3)
    scene.progress.tick()
    texture = (fibre - 0.5) * 0.035 + (tooth - 0.5) * 0.035 + (broad - 0.5) * 0.02
    scene.pixels *= (1.0 + texture)[..., None]
    scene.pixels *= rgb("#fffbf2")
    scene.progress.tick()


def vignette(scene: Scene) -> None:
    """Darken the corners a little."""
    x = (scene.xs / scene.width - 0.5) * 2.0
    y = (scene.ys / scene.height - 0.5) * 2.0
    fall = smoothstep(0.75, 1.75, np.hypot(x, y)) * 0.32
    scene.multiply(fall, shade(scene.look.near, -0.05))


def drain(scene: Scene, names: list[str]) -> None:
    """Take these colours out of the painting."""
    for top in range(0, scene.height, 128):
        band = scene.pixels[top : top + 128]
        band[:] = avoid_hues(band, names)
        scene.progress.tick()


def grain(scene: Scene) -> None:
    """Add fine film grain, strongest in the mid-tones; it also dithers away any banding."""
    rng = scene.rng("grain")
    speck = rng.random(scene.shape, dtype=np.float32) + rng.random(scene.shape, dtype=np.float32)
    scene.progress.tick()
    tone = luminance(scene.pixels)
    weight = 0.005 + 0.010 * np.clip(tone * (1.0 - tone) * 4.0, 0.0, 1.0)
    scene.pixels += ((speck - 1.0) * weight)[..., None]
