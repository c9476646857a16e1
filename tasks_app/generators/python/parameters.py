"""The parameters of a ``python`` generator: the operator's own schema, or a sane default."""

from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator

from tasks_app.generators import documents
from tasks_app.generators.base import Schema
from tasks_app.generators.documents import DRAFT
from tasks_app.generators.errors import InvalidSettings


def parameters(settings: Mapping[str, Any]) -> Schema:
    """Return the schema in ``settings["parameters"]``, else the default one.

    An operator's schema is closed (``additionalProperties: false``) unless it says otherwise.
    """
    own = settings.get("parameters")
    if own is None:
        return default_schema()
    return {"$schema": DRAFT, "type": "object", "additionalProperties": False, **own}


def check(settings: Mapping[str, Any]) -> None:
    """Raise ``InvalidSettings`` unless ``settings["parameters"]`` is absent or a usable schema."""
    own = settings.get("parameters")
    if own is None:
        return
    if not isinstance(own, dict):
        raise InvalidSettings('"parameters" must be a JSON Schema: an object with "properties".')
    try:
        documents.check_schema(own)
    except documents.Unusable as error:
        raise InvalidSettings(
            f'"parameters" is not a JSON Schema that can be used: {error}'
        ) from error
    if own.get("type", "object") != "object" or not isinstance(own.get("properties"), dict):
        raise InvalidSettings('"parameters" must describe an object and list its "properties".')
    judge = documents.validator(own)
    _check_properties(own["properties"], frozenset(own.get("required", ())), judge)


def _check_properties(
    properties: Mapping[str, Any], required: frozenset[str], judge: Draft202012Validator
) -> None:
    for name, property_schema in properties.items():
        if not isinstance(property_schema, dict):
            raise InvalidSettings(
                f'The parameter {name!r} must be an object such as {{"type": …}}.'
            )
        if "default" not in property_schema:
            if name in required:
                continue
            raise InvalidSettings(f'Give the parameter {name!r} a "default" or make it required.')
        alone = judge.evolve(schema=property_schema)
        problem = next(alone.iter_errors(property_schema["default"]), None)
        if problem:
            raise InvalidSettings(f"The default of {name!r} does not fit: {problem.message}")


def default_schema() -> Schema:
    """Return the schema for callables that bring none: what most image models take."""
    return {
        "$schema": DRAFT,
        "type": "object",
        "required": ["prompt"],
        "additionalProperties": False,
        "properties": {
            "prompt": {
                "title": "Prompt",
                "description": "What the picture should show.",
                "type": "string",
                "minLength": 1,
                "maxLength": 4000,
                "format": "textarea",
            },
            "negative_prompt": {
                "title": "Negative prompt",
                "description": "What the picture must not show.",
                "type": "string",
                "maxLength": 4000,
                "default": "",
                "format": "textarea",
            },
            "width": _side("Width"),
            "height": _side("Height"),
            "n": {
                "title": "Pictures",
                "description": "How many pictures to make.",
                "type": "integer",
                "minimum": 1,
                "maximum": 4,
                "default": 1,
            },
            "seed": {
                "title": "Seed",
                "description": "Empty: the generator chooses.",
                "type": ["integer", "null"],
                "minimum": 0,
                "maximum": 2**53 - 1,
                "default": None,
                "x-advanced": True,
            },
        },
    }


def _side(title: str) -> dict[str, Any]:
    return {
        "title": title,
        "type": "integer",
        "minimum": 64,
        "maximum": 2048,
        "multipleOf": 8,
        "default": 1024,
        "x-unit": "px",
    }
