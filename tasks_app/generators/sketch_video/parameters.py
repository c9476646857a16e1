"""What a caller may ask of a film, as JSON Schema."""

from typing import Any, Final

from tasks_app.generators.base import Schema
from tasks_app.generators.sketch.parameters import schema as schema_of_pictures

_SHARED: Final = ("prompt", "negative_prompt", "style", "seed")
_DESCRIPTION: Final = (
    "The procedural artist's pictures in motion, as short loops without an end: water, clouds, "
    "stars, rain and snow move, and the camera drifts. It uses no model and understands the "
    "same words as Sketch."
)


def schema() -> Schema:
    """Return the parameter schema (draft 2020-12)."""
    pictures = schema_of_pictures()
    shared = {name: pictures["properties"][name] for name in _SHARED}
    seed = shared.pop("seed")
    return {
        "$schema": pictures["$schema"],
        "title": "Sketch video",
        "description": _DESCRIPTION,
        "type": "object",
        "required": ["prompt"],
        "additionalProperties": False,
        "properties": {
            **shared,
            "width": _side("Width"),
            "height": _side("Height"),
            "seconds": {
                "title": "Length",
                "description": "How long one round of the loop is.",
                "type": "integer",
                "minimum": 2,
                "maximum": 6,
                "default": 3,
                "x-unit": "s",
            },
            "seed": seed,
            "fps": {
                "title": "Frames per second",
                "description": "12 is rougher and takes half the time.",
                "type": "integer",
                "enum": [12, 24],
                "default": 24,
                "x-enum-labels": {"12": "12", "24": "24"},
                "x-advanced": True,
            },
        },
    }


def _side(title: str) -> dict[str, Any]:
    return {
        "title": title,
        "type": "integer",
        "minimum": 256,
        "maximum": 768,
        "multipleOf": 16,
        "default": 512,
        "x-unit": "px",
    }
