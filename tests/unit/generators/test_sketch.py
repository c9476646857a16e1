import io
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from jsonschema import Draft202012Validator
from PIL import Image

from tasks_app.generators.base import Output
from tasks_app.generators.errors import InvalidSettings, Stopped
from tasks_app.generators.sketch.adapter import SketchAdapter
from tasks_app.generators.sketch.colour import from_oklab, to_oklab
from tasks_app.generators.sketch.compositions import COMPOSITIONS
from tests.unit.generators.fakes import Recorder, request

SKETCH = SketchAdapter()
STYLES = sorted(COMPOSITIONS)


def paint(prompt: str, recorder: Recorder | None = None, **params: Any) -> list[Output]:
    params = {"width": 256, "height": 256, "seed": 7, "detail": "draft", **params}
    task_id = params.pop("task_id", "task-1")
    asked = request(SKETCH, prompt=prompt, task_id=task_id, **params)
    return list(SKETCH.generate(asked, recorder or Recorder()))


def opened(output: Output) -> Image.Image:
    image = Image.open(io.BytesIO(output.content))
    image.load()
    return image


def pixels(prompt: str, **params: Any) -> npt.NDArray[np.float64]:
    return np.asarray(opened(paint(prompt, **params)[0]).convert("RGB"), dtype=np.float64)


def redness(image: npt.NDArray[np.float64]) -> float:
    return float(image[..., 0].mean() - image[..., 2].mean())


# The schema


def test_schema_is_valid_and_accepts_its_own_defaults() -> None:
    schema = SKETCH.parameter_schema({})
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    for part in schema["properties"].values():
        if "default" in part:
            Draft202012Validator(part).validate(part["default"])
    validator.validate({"prompt": "a lake"})
    assert "no model" in schema["description"]


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"prompt": ""},
        {"prompt": "x" * 4001},
        {"prompt": "x", "width": 255},
        {"prompt": "x", "width": 260},
        {"prompt": "x", "height": 1544},
        {"prompt": "x", "n": 5},
        {"prompt": "x", "seed": 2**53},
        {"prompt": "x", "seed": -1},
        {"prompt": "x", "format": "gif"},
        {"prompt": "x", "style": "cubist"},
        {"prompt": "x", "steps": 3},
    ],
)
def test_schema_refuses(params: dict[str, Any]) -> None:
    assert not Draft202012Validator(SKETCH.parameter_schema({})).is_valid(params)


def test_every_choice_has_a_label() -> None:
    for part in SKETCH.parameter_schema({})["properties"].values():
        if "enum" in part:
            assert set(part["x-enum-labels"]) == set(part["enum"])


def test_settings_are_refused_with_their_names() -> None:
    SKETCH.check_settings({})
    with pytest.raises(InvalidSettings, match="model"):
        SKETCH.check_settings({"model": "big"})


# The same words and seed make the same file


@pytest.mark.parametrize("style", STYLES)
def test_same_wish_same_bytes(style: str) -> None:
    first, second = (paint("雨 a quiet thing", style=style)[0].content for _ in range(2))
    assert first == second


@pytest.mark.parametrize("change", [{"seed": 8}, {"prompt": "another thing"}, {"width": 264}])
def test_another_wish_is_another_picture(change: dict[str, Any]) -> None:
    wish = {"prompt": "zork", "seed": 7, **change}
    assert paint(**wish)[0].content != paint("zork")[0].content


def test_unknown_words_still_vary_the_picture() -> None:
    assert np.abs(pixels("zork", style="mountains") - pixels("blorp", style="mountains")).mean() > 5


def test_a_retried_task_makes_the_same_picture() -> None:
    def attempt(number: int, task_id: str) -> Output:
        asked = request(
            SKETCH, prompt="sea", width=256, height=256, task_id=task_id, attempt=number
        )
        return next(iter(SKETCH.generate(asked, Recorder())))

    assert attempt(1, "a") == attempt(2, "a")
    assert attempt(1, "a").seed != attempt(1, "b").seed


# Files


@pytest.mark.parametrize(("name", "kind"), [("png", "PNG"), ("webp", "WEBP")])
def test_formats_are_what_they_claim(name: str, kind: str) -> None:
    output = paint("lake", format=name)[0]
    image = opened(output)
    assert (image.format, image.size, image.mode) == (kind, (256, 256), "RGB")
    assert output.media_type == f"image/{name}"


def test_png_says_who_painted_it() -> None:
    assert opened(paint("lake", seed=42)[0]).info == {
        "Software": "Darkroom sketch",
        "Comment": "seed 42",
    }


def test_n_pictures_take_consecutive_seeds() -> None:
    outputs = paint("lake", n=3, seed=10)
    assert [output.seed for output in outputs] == [10, 11, 12]
    assert len({output.content for output in outputs}) == 3
    assert outputs[1].content == paint("lake", seed=11)[0].content


def test_seeds_stay_in_range() -> None:
    outputs = paint("lake", n=2, seed=2**53 - 1)
    assert [output.seed for output in outputs] == [2**53 - 1, 0]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("size", [(1024, 256), (256, 384)])
def test_every_composition_fits_odd_frames(style: str, size: tuple[int, int]) -> None:
    output = paint("storm snow rain fog", style=style, width=size[0], height=size[1])[0]
    image = opened(output)
    assert image.size == size
    assert np.asarray(image).std() > 4


@pytest.mark.parametrize("detail", ["draft", "standard", "fine"])
def test_every_detail_keeps_the_size(detail: str) -> None:
    assert opened(paint("city", detail=detail)[0]).size == (256, 256)


@pytest.mark.parametrize(
    "prompt",
    [
        "moon stars aurora rainbow lightning birds boat house person cat lighthouse",
        "watercolour mountains",
        "oil painting of the sea",
        "paper neon dream city",
        "planet fire gold metal",
        "🙂",
        "x" * 4000,
    ],
)
def test_any_words_make_a_picture(prompt: str) -> None:
    assert opened(paint(prompt)[0]).size == (256, 256)


# Words steer


@pytest.mark.parametrize("style", ["mountains", "sea", "flow", "flowers", "nightsky"])
@pytest.mark.parametrize(("warm", "cold"), [("red", "blue"), ("红色", "蓝色")])
def test_colour_words(style: str, warm: str, cold: str) -> None:
    assert redness(pixels(warm, style=style)) > redness(pixels(cold, style=style)) + 10


@pytest.mark.parametrize("style", ["mountains", "sea", "city", "dunes"])
@pytest.mark.parametrize(("dark", "light"), [("night", "noon"), ("夜", "正午")])
def test_night_is_darker_than_noon(style: str, dark: str, light: str) -> None:
    assert pixels(dark, style=style).mean() < pixels(light, style=style).mean() - 25


@pytest.mark.parametrize(
    ("prompt", "style"),
    [
        ("雪山", "mountains"),
        ("the ocean", "sea"),
        ("上海", "city"),
        ("pine trees", "forest"),
        ("大漠", "dunes"),
        ("星云", "nightsky"),
        ("牡丹", "flowers"),
        ("水墨山水", "inkwash"),
        ("stained glass sea", "glass"),
        ("abstract", "flow"),
        ("几何", "geometry"),
    ],
)
def test_subjects_choose_the_composition(prompt: str, style: str) -> None:
    assert paint(prompt)[0].content == paint(prompt, style=style)[0].content


# The negative prompt takes away


def test_negative_moon_leaves_only_the_moon_out() -> None:
    wish = {"style": "sea", "prompt": "moon over the night sea"}
    shown, hidden = pixels(**wish), pixels(**wish, negative_prompt="moon")
    changed = np.abs(shown - hidden).max(axis=-1) > 40
    assert 0.005 < changed.mean() < 0.4
    assert shown[changed].mean() > hidden[changed].mean()


def test_negative_red_drains_red() -> None:
    wish = {"prompt": "sunset", "style": "dunes"}
    drained = pixels(**wish, negative_prompt="red orange")
    assert _share_of_red(drained) < 0.02 < _share_of_red(pixels(**wish))


def _share_of_red(image: npt.NDArray[np.float64]) -> float:
    lab = to_oklab((image / 255).astype(np.float32))
    hue = np.degrees(np.arctan2(lab[..., 2], lab[..., 1]))
    return float(((np.hypot(lab[..., 1], lab[..., 2]) > 0.06) & (abs(hue - 30) < 22)).mean())


def test_negative_night_is_not_night() -> None:
    for seed in range(3):
        bright = pixels("mountains", negative_prompt="night, dusk, storm", seed=seed).mean()
        assert bright > 70


def test_negative_subject_changes_the_composition() -> None:
    for seed in range(4):
        content = paint("lake", negative_prompt="mountain, lake", seed=seed)
        other = paint("lake", style="mountains", seed=seed)
        assert content[0].content != other[0].content


# Progress


@pytest.mark.parametrize("style", STYLES)
def test_progress_rises_to_one(style: str) -> None:
    recorder = Recorder()
    paint("anything", recorder, style=style, n=2)
    assert len(recorder.fractions) >= 20
    assert recorder.fractions == sorted(recorder.fractions)
    assert recorder.fractions[-1] == 1.0
    assert max(np.diff(recorder.fractions)) < 0.2


def test_stopping_ends_at_the_next_step() -> None:
    recorder = Recorder(stop_at=5)
    with pytest.raises(Stopped):
        paint("city", recorder, n=4)
    assert len(recorder.fractions) == 5


def test_pictures_come_one_by_one() -> None:
    recorder = Recorder()
    asked = request(SKETCH, prompt="lake", width=256, height=256, n=4)
    pictures = iter(SKETCH.generate(asked, recorder))
    next(pictures)
    assert recorder.fractions[-1] == 0.25


def test_oklab_round_trip() -> None:
    colours = np.random.default_rng(1).random((50, 3), dtype=np.float32)
    assert np.allclose(from_oklab(to_oklab(colours)), colours, atol=2e-3)
