"""Pieces of parameter schemas that several adapters have, and operators' own schemas."""

from collections.abc import Mapping, Sequence
from typing import Any

from tasks_app.generators.base import Schema
from tasks_app.generators.documents import DRAFT
from tasks_app.generators.python import parameters


def own_schema(settings: Mapping[str, Any]) -> Schema:
    """Return the schema in ``settings["parameters"]``, or the usual one of image models."""
    return parameters.parameters(settings)


def check_own_schema(settings: Mapping[str, Any]) -> None:
    """Raise ``InvalidSettings`` unless ``settings["parameters"]`` is absent or usable."""
    parameters.check(settings)


def form(required: Sequence[str], **properties: Schema) -> Schema:
    """Return a closed schema with these properties."""
    return {
        "$schema": DRAFT,
        "type": "object",
        "required": list(required),
        "additionalProperties": False,
        "properties": properties,
    }


def prompt(most: int = 4_000) -> Schema:
    """Return the schema of a prompt of at most so many characters."""
    return {
        "title": "Prompt",
        "description": "What the picture should show.",
        "type": "string",
        "minLength": 1,
        "maxLength": most,
        "format": "textarea",
    }


def choice(title: str, values: Mapping[str, str], default: str | None = None) -> Schema:
    """Return the schema of one of some values, which are shown as their labels."""
    return {
        "title": title,
        "type": "string",
        "enum": list(values),
        "x-enum-labels": dict(values),
        "default": next(iter(values)) if default is None else default,
    }


def count(most: int) -> Schema:
    """Return the schema of how many pictures are wanted."""
    return {
        "title": "Pictures",
        "description": "How many pictures to make.",
        "type": "integer",
        "minimum": 1,
        "maximum": most,
        "default": 1,
    }


def seed() -> Schema:
    """Return the schema of a seed that may be left open."""
    return {
        "title": "Seed",
        "description": "Empty: the generator chooses.",
        "type": ["integer", "null"],
        "minimum": 0,
        "maximum": 2**31 - 1,
        "default": None,
        "x-advanced": True,
    }
