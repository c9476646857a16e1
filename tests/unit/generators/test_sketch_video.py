import io
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import pytest
from jsonschema import Draft202012Validator

from tasks_app.generators.base import Output
from tasks_app.generators.errors import InvalidSettings, Stopped
from tasks_app.generators.sketch.compositions import COMPOSITIONS
from tasks_app.generators.sketch.painting import Wish, plan
from tasks_app.generators.sketch.progress import Progress
from tasks_app.generators.sketch.scene import Scene
from tasks_app.generators.sketch_video.adapter import SketchVideoAdapter
from tasks_app.generators.sketch_video.film import Film, Loop
from tasks_app.generators.sketch_video.layers import Layer, record
from tests.unit.generators.fakes import Recorder, request

VIDEO = SketchVideoAdapter()
STYLES = sorted(COMPOSITIONS)
SMALL: dict[str, Any] = {"width": 256, "height": 256, "seconds": 2, "fps": 12, "seed": 7}


def film(prompt: str, style: str = "auto", seed: int = 7, **wish: Any) -> Film:
    quiet = Progress(lambda fraction: None)
    asked = Wish(prompt, wish.get("negative", ""), seed, 256, 256, style)
    return Film(asked, Loop(wish.get("seconds", 2), 12), quiet)


def make(prompt: str, recorder: Recorder | None = None, **params: Any) -> Output:
    asked = request(VIDEO, prompt=prompt, **{**SMALL, **params})
    (output,) = VIDEO.generate(asked, recorder or Recorder())
    return output


def difference(one: npt.NDArray[np.uint8], other: npt.NDArray[np.uint8]) -> float:
    return float(np.abs(one.astype(float) - other).mean())


# The schema


def test_schema_is_valid_and_accepts_its_own_defaults() -> None:
    schema = VIDEO.parameter_schema({})
    Draft202012Validator.check_schema(schema)
    for part in schema["properties"].values():
        if "default" in part:
            Draft202012Validator(part).validate(part["default"])
    assert (VIDEO.name, VIDEO.kind) == ("sketch-video", "video")


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"prompt": ""},
        {"prompt": "x", "width": 240},
        {"prompt": "x", "width": 264},
        {"prompt": "x", "height": 784},
        {"prompt": "x", "seconds": 1},
        {"prompt": "x", "seconds": 7},
        {"prompt": "x", "fps": 30},
        {"prompt": "x", "n": 2},
    ],
)
def test_schema_refuses(params: dict[str, Any]) -> None:
    assert not Draft202012Validator(VIDEO.parameter_schema({})).is_valid(params)


def test_settings_are_refused_with_their_names() -> None:
    VIDEO.check_settings({})
    with pytest.raises(InvalidSettings, match="model"):
        VIDEO.check_settings({"model": "big"})


# Files


def test_same_wish_same_bytes_and_another_seed_another_film() -> None:
    first, second = make("lake, rain"), make("lake, rain")
    assert first == second
    assert first.content != make("lake, rain", seed=8).content


def test_the_file_is_what_browsers_play() -> None:
    output = make("sea", width=272, height=256)
    assert output.media_type == "video/mp4"
    with av.open(io.BytesIO(output.content), "r") as container:
        (stream,) = container.streams
        assert isinstance(stream, av.VideoStream)
        context = stream.codec_context
        assert (context.name, context.pix_fmt) == ("h264", "yuv420p")
        assert (context.width, context.height) == (272, 256)
        assert (context.color_range, context.colorspace) == (1, 1)
        frames = list(container.decode(video=0))
    assert len(frames) == 24
    assert frames[0].pts == 0
    assert float(stream.duration * stream.time_base) == 2.0  # type: ignore[operator]


def test_the_index_comes_before_the_frames_and_holds_no_date() -> None:
    content = make("moon").content
    assert content[4:8] == b"ftyp"
    assert 0 < content.index(b"moov") < content.index(b"mdat")
    header = content.index(b"mvhd")
    assert content[header + 8 : header + 16] == bytes(8)
    assert b"Lavf" not in content


def test_the_index_of_the_longest_film_has_room() -> None:
    content = make("dots", style="geometry", seconds=6, fps=24).content
    with av.open(io.BytesIO(content), "r") as container:
        assert container.streams.video[0].frames == 144


# Loops


@pytest.mark.parametrize("style", STYLES)
def test_every_composition_moves_and_comes_back(style: str) -> None:
    made = film("a quiet thing", style)
    frames = [made.frame(index / 24) for index in (22, 23, 24, 1, 2, 8)]
    before, seam, after = (difference(*frames[i : i + 2]) for i in (0, 1, 3))
    assert seam < 1.4 * max(before, after)
    assert difference(frames[2], made.frame(0.0)) < 0.05
    assert min(before, seam, after) > 0.2
    assert difference(frames[2], frames[5]) > 1.0


@pytest.mark.parametrize("weather", ["rain", "snow", "fog", "storm lightning", "aurora night"])
def test_weather_loops(weather: str) -> None:
    made = film(f"sea, {weather}", "sea")
    assert difference(made.frame(0.0), made.frame(1.0)) < 0.05
    assert difference(made.frame(0.0), made.frame(0.13)) > 0.5


def test_a_frame_does_not_depend_on_the_frames_before() -> None:
    made = film("neon city, rain, boat")
    first = made.frame(0.25)
    made.frame(0.75)
    assert np.array_equal(first, made.frame(0.25))


@pytest.mark.parametrize(
    "prompt", ["oil painting of a lake", "watercolour sea", "neon city", "paper mountains"]
)
def test_materials_are_filmed_too(prompt: str) -> None:
    assert film(prompt).frame(0.4).std() > 10


def test_avoided_colours_are_drained() -> None:
    def redness(negative: str) -> float:
        frame = film("red desert", "dunes", negative=negative).frame(0.0).astype(float)
        return float((frame[..., 0] - frame[..., 2]).mean())

    assert redness("red, orange, yellow") < 0.6 * redness("")


# Layers


@pytest.mark.parametrize("style", ["mountains", "forest", "flowers", "inkwash"])
def test_layers_laid_over_one_another_are_the_picture(style: str) -> None:
    quiet = Progress(lambda fraction: None)
    idea = plan(Wish("a lake without a boat", "lake", 3, 256, 256, style))
    whole = Scene(256, 256, idea.key, idea.reading, idea.look, quiet)
    idea.composition.paint(whole)
    canvas = np.zeros((256, 256, 3), dtype=np.float32)
    for layer in record(idea, (256, 256), idea.composition.paint, quiet, 1.0):
        assert isinstance(layer, Layer)
        view = canvas[layer.rows]
        view *= layer.keep
        view += layer.add
    assert np.abs(canvas - whole.pixels).mean() < 0.002


# Progress


def test_progress_rises_evenly_to_one() -> None:
    recorder = Recorder()
    make("mountains", recorder)
    assert recorder.fractions == sorted(recorder.fractions)
    assert recorder.fractions[-1] == 1.0
    assert max(np.diff(recorder.fractions)) < 0.12


@pytest.mark.parametrize("stop_at", [1, 5, 60])
def test_it_stops_at_the_next_step(stop_at: int) -> None:
    recorder = Recorder(stop_at=stop_at)
    with pytest.raises(Stopped):
        make("forest", recorder)
    assert len(recorder.fractions) == stop_at
