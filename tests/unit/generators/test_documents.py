"""Settings and schemas of operators: nothing that cannot be stored, fetched or ended."""

import json
import socket
from typing import Any

import pytest

from tasks_app.generators import documents, registry
from tasks_app.generators.errors import InvalidSettings

CALLABLE = "tests.unit.generators.callables:png"


def deep(levels: int) -> Any:
    found: Any = "end"
    for _ in range(levels):
        found = [found]
    return found


def doubling(levels: int) -> dict[str, Any]:
    """Small to write, and two to the power of its levels to follow."""
    twice = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {
        "properties": {"a": {"$ref": "#/$defs/d0", "default": 1}},
        "$defs": {**twice, f"d{levels}": {}},
    }


@pytest.mark.parametrize("given", [[1], 5, "x", None, True, [], ""])
@pytest.mark.parametrize("name", registry.names())
def test_settings_that_are_no_object_are_refused(name: str, given: Any) -> None:
    with pytest.raises(InvalidSettings, match="must be an object"):
        registry.build(name, given)


@pytest.mark.parametrize(
    "value",
    ["a\0b", "\ud800", {"\0": 1}, float("nan"), float("inf"), 10**400, deep(40), deep(50_000)],
)
def test_settings_that_cannot_be_stored_are_refused(value: Any) -> None:
    with pytest.raises(InvalidSettings, match="cannot be used"):
        registry.build("python", {"callable": CALLABLE, "parameters": value})


def one(schema: Any, **more: Any) -> dict[str, Any]:
    return {"properties": {"a": schema}, "required": ["a"], **more}


NOT_USABLE = {
    "leads nowhere": one({"$ref": "#/$defs/none"}),
    "leads back": one({"$ref": "#/properties/a"}),
    "leads back through others": one(
        {"$ref": "#/$defs/b"}, **{"$defs": {"b": {"anyOf": [{}, {"$ref": "#/$defs/b"}]}}}
    ),
    "the whole": one({"$ref": "#"}),
    "a file": one({"$ref": "file:///etc/passwd"}),
    "another host": one({"$ref": "http://127.0.0.1:9/x.json"}),
    "the metaschema": one({"$ref": "https://json-schema.org/draft/2020-12/schema"}),
    "dynamically": one({"$dynamicRef": "http://127.0.0.1:9/x.json"}),
    "another base": one({"$ref": "#/$defs/b"}, **{"$id": "http://127.0.0.1:9/x.json"}),
    "another dialect": one({}, **{"$schema": "http://json-schema.org/draft-04/schema#"}),
    "no schema": one({"$ref": "#/x"}, x={"allOf": 5}),
    "no pattern": one({"type": "string", "pattern": "("}),
    "deep": one(json.loads('{"not":' * 300 + "{}" + "}" * 300)),
    "doubling": doubling(25),
    "a long way": doubling(300),
}


@pytest.mark.parametrize("case", NOT_USABLE)
def test_schemas_that_cannot_be_used_are_refused_and_nothing_is_fetched(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: Any, **__: Any) -> None:
        raise AssertionError("something was fetched")

    monkeypatch.setattr(socket.socket, "connect", forbidden)
    with pytest.raises(InvalidSettings):
        registry.build("python", {"callable": CALLABLE, "parameters": NOT_USABLE[case]})


def test_references_within_the_schema_are_followed() -> None:
    side = {"type": "integer", "minimum": 1}
    schema: dict[str, Any] = {
        "properties": {
            "a": {"$ref": "#/$defs/side", "default": 3},
            "b": {"$ref": "#/$defs/side", "default": 4},
            "$ref": {"type": "string", "default": ""},
        },
        "$defs": {"side": side},
    }
    registry.build("python", {"callable": CALLABLE, "parameters": schema})
    schema["properties"]["b"]["default"] = 0
    with pytest.raises(InvalidSettings, match="default of 'b'"):
        registry.build("python", {"callable": CALLABLE, "parameters": schema})


def test_a_validator_fetches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = documents.validator({"$ref": "http://127.0.0.1:9/x.json"})
    with pytest.raises(Exception, match="Unresolvable"):
        judge.is_valid({})


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("raise SystemExit(3)", "ends the process"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("import asyncio\nraise asyncio.CancelledError", "CancelledError"),
        ("def __getattr__(name): raise RuntimeError", "has no 'f'"),
    ],
)
def test_modules_may_fail_in_any_way(
    source: str, sentence: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"hostile_{abs(hash(source))}"
    (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InvalidSettings, match=sentence):
        registry.build("python", {"callable": f"{name}:f"})


def test_ctrl_c_is_no_fault_of_a_module(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "interrupted_model.py").write_text("raise KeyboardInterrupt")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        registry.build("python", {"callable": "interrupted_model:f"})
