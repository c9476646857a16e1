import io
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from PIL import Image

from tasks_app.generators.base import Output
from tasks_app.generators.errors import GeneratorError, InvalidSettings, Stopped
from tasks_app.generators.python.adapter import PythonAdapter
from tasks_app.generators.python.results import sniff
from tasks_app.lifecycle import ErrorCode
from tests.unit.generators import callables
from tests.unit.generators.fakes import Recorder, request

MODULE = "tests.unit.generators.callables"


def run(name: str, recorder: Recorder | None = None, **params: Any) -> list[Output]:
    adapter, settings = PythonAdapter(), {"callable": f"{MODULE}:{name}"}
    adapter.check_settings(settings)
    asked = request(adapter, settings, **{"prompt": "x", **params})
    return list(adapter.generate(asked, recorder or Recorder()))


@pytest.mark.parametrize(
    ("name", "media_types"),
    [
        ("image", ["image/png"]),
        ("cmyk", ["image/png"]),
        ("array", ["image/png"]),
        ("png", ["image/png"]),
        ("jpeg", ["image/jpeg"]),
        ("webp", ["image/webp"]),
        ("pair", ["video/mp4"]),
        ("output", ["image/png"]),
        ("several", ["image/png", "image/png", "video/mp4"]),
        ("one_by_one", ["image/png"] * 3),
        ("Warm", ["image/png"]),
    ],
)
def test_usable_results(name: str, media_types: list[str]) -> None:
    outputs = run(name, n=3)
    assert [output.media_type for output in outputs] == media_types
    for output in outputs:
        assert type(output.content) is bytes
        if output.media_type.startswith("image/"):
            Image.open(io.BytesIO(output.content)).load()


def test_parameters_reach_the_callable() -> None:
    output = run("image", width=64, height=128)[0]
    assert Image.open(io.BytesIO(output.content)).size == (64, 128)


def test_an_output_keeps_its_seed() -> None:
    assert run("output")[0].seed == 99


@pytest.mark.parametrize("case", sorted(callables.UNUSABLE))
def test_unusable_results(case: str) -> None:
    with pytest.raises(GeneratorError) as caught:
        run("returns", prompt=case)
    assert caught.value.code is ErrorCode.RESULT_UNUSABLE
    assert caught.value.detail
    assert not caught.value.retryable


def test_other_exceptions_fly_through() -> None:
    with pytest.raises(ZeroDivisionError):
        run("breaks")


def test_params_are_a_copy() -> None:
    adapter, settings = PythonAdapter(), {"callable": f"{MODULE}:changes"}
    asked = request(adapter, settings, prompt="kept")
    list(adapter.generate(asked, Recorder()))
    assert asked.params["prompt"] == "kept"


def test_progress_is_clamped() -> None:
    recorder = Recorder()
    run("overshoots", recorder)
    assert recorder.fractions == [0.0, 0.0, 1.0]


def test_model_code_cannot_swallow_a_stop() -> None:
    with pytest.raises(Stopped):
        run("greedy", Recorder(stop_at=2))


def test_a_generator_function_is_consumed_lazily() -> None:
    adapter, settings = PythonAdapter(), {"callable": f"{MODULE}:one_by_one"}
    recorder = Recorder()
    pictures = iter(adapter.generate(request(adapter, settings, prompt="x", n=4), recorder))
    next(pictures)
    next(pictures)
    assert recorder.fractions == [0.0, 0.0, 0.25]


def test_a_class_is_made_once_and_called_per_task() -> None:
    adapter, settings = PythonAdapter(), {"callable": f"{MODULE}:Warm"}
    before = callables.Warm.made
    adapter.warm_up(settings)
    widths = [
        Image.open(io.BytesIO(next(iter(adapter.generate(asked, Recorder()))).content)).width
        for asked in [request(adapter, settings, prompt="x")] * 3
    ]
    assert widths == [1, 2, 3]
    assert callables.Warm.made == before + 1


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, 'Set "callable"'),
        ({"callable": ""}, 'Set "callable"'),
        ({"callable": 5}, 'Set "callable"'),
        ({"callable": "math.sqrt"}, "package.module:function"),
        ({"callable": "a.b:c:d"}, "package.module:function"),
        ({"callable": "a b:c"}, "package.module:function"),
        ({"callable": ".a:b"}, "package.module:function"),
        ({"callable": "no_such_package.module:f"}, "cannot be found"),
        ({"callable": "math:no_such"}, "has no 'no_such'"),
        ({"callable": f"{MODULE}:NOT_CALLABLE"}, "must be callable"),
        ({"callable": f"{MODULE}:Cold"}, "__call__"),
        ({"callable": f"{MODULE}:png", "model": 1}, "Unknown settings: model"),
        ({"callable": f"{MODULE}:png", "kind": "sound"}, '"kind" must be one of'),
        ({"callable": f"{MODULE}:png", "parameters": []}, "must be a JSON Schema"),
        ({"callable": f"{MODULE}:png", "parameters": {"type": "pony"}}, "not a JSON Schema"),
        ({"callable": f"{MODULE}:png", "parameters": {"type": "array"}}, "describe an object"),
        ({"callable": f"{MODULE}:png", "parameters": {}}, 'list its "properties"'),
        (
            {"callable": f"{MODULE}:png", "parameters": {"properties": {"a": {"type": "string"}}}},
            "Give the parameter 'a' a \"default\"",
        ),
        (
            {
                "callable": f"{MODULE}:png",
                "parameters": {"properties": {"a": {"type": "string", "default": 1}}},
            },
            "The default of 'a'",
        ),
        ({"callable": f"{MODULE}:png", "parameters": {"properties": {"a": True}}}, "an object"),
    ],
)
def test_settings_are_refused_with_a_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        PythonAdapter().check_settings(given)
    assert sentence in str(caught.value)


def test_a_module_that_breaks_on_import_is_named(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_model.py").write_text("raise RuntimeError('no GPU')")
    (tmp_path / "needy_model.py").write_text("import no_such_library")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InvalidSettings, match="RuntimeError: no GPU"):
        PythonAdapter().check_settings({"callable": "broken_model:f"})
    with pytest.raises(InvalidSettings, match="needs 'no_such_library'"):
        PythonAdapter().check_settings({"callable": "needy_model:f"})


def test_default_schema_is_valid_and_accepts_its_own_defaults() -> None:
    schema = PythonAdapter().parameter_schema({})
    Draft202012Validator.check_schema(schema)
    request(PythonAdapter(), prompt="x")
    assert not Draft202012Validator(schema).is_valid({"prompt": "x", "steps": 1})


def test_own_schema_is_closed_unless_it_says_otherwise() -> None:
    own = {"properties": {"steps": {"type": "integer", "default": 20}}}
    schema = PythonAdapter().parameter_schema({"parameters": own})
    assert Draft202012Validator(schema).is_valid({"steps": 3})
    assert not Draft202012Validator(schema).is_valid({"stops": 3})
    open_schema = PythonAdapter().parameter_schema(
        {"parameters": {**own, "additionalProperties": True}}
    )
    assert Draft202012Validator(open_schema).is_valid({"stops": 3})


def test_a_video_is_told_by_its_signature_and_a_picture_in_its_container_is_not_one() -> None:
    assert sniff(b"\0\0\0\x20ftypisom\0\0\x02\0") == "video/mp4"
    with pytest.raises(GeneratorError):
        sniff(b"\0\0\0\x20ftypavif\0\0\0\0")
