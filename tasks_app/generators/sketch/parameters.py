"""What a caller may ask the sketch artist for, as JSON Schema."""

from typing import Any, Final

from tasks_app.generators.base import Schema
from tasks_app.generators.sketch.compositions import COMPOSITIONS

MAX_SEED: Final = 2**53 - 1
"""The largest integer that survives every JSON reader."""

_DESCRIPTION: Final = (
    "A procedural artist: it paints with noise, geometry and colour theory and uses no model. "
    "Words for subjects, times of day, weather, colours, materials and moods, in English and "
    "Chinese, steer the picture; any other words vary it."
)


def schema() -> Schema:
    """Return the parameter schema (draft 2020-12)."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Sketch",
        "description": _DESCRIPTION,
        "type": "object",
        "required": ["prompt"],
        "additionalProperties": False,
        "properties": {**_words(), **_frame(), **_manner()},
    }


def _words() -> dict[str, Any]:
    return {
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
            "description": "What the picture must not show: subjects, colours, weather.",
            "type": "string",
            "default": "",
            "maxLength": 4000,
            "format": "textarea",
        },
    }


def _side(title: str) -> dict[str, Any]:
    return {
        "title": title,
        "type": "integer",
        "minimum": 256,
        "maximum": 1536,
        "multipleOf": 8,
        "default": 1024,
        "x-unit": "px",
    }


def _frame() -> dict[str, Any]:
    labels = {"auto": "Let the words decide"}
    labels |= {name: composition.label for name, composition in COMPOSITIONS.items()}
    return {
        "style": {
            "title": "Style",
            "description": "Which kind of composition to paint.",
            "type": "string",
            "enum": ["auto", *COMPOSITIONS],
            "default": "auto",
            "x-enum-labels": labels,
        },
        "width": _side("Width"),
        "height": _side("Height"),
        "n": {
            "title": "Pictures",
            "description": "How many pictures to make; each takes the next seed.",
            "type": "integer",
            "minimum": 1,
            "maximum": 4,
            "default": 1,
        },
    }


def _manner() -> dict[str, Any]:
    return {
        "seed": {
            "title": "Seed",
            "description": "The same seed and parameters make the same file. Empty: any seed.",
            "type": ["integer", "null"],
            "minimum": 0,
            "maximum": MAX_SEED,
            "default": None,
        },
        "format": {
            "title": "File format",
            "type": "string",
            "enum": ["png", "webp"],
            "default": "png",
            "x-enum-labels": {"png": "PNG", "webp": "WebP"},
            "x-advanced": True,
        },
        "detail": {
            "title": "Detail",
            "description": "Finer takes longer.",
            "type": "string",
            "enum": ["draft", "standard", "fine"],
            "default": "standard",
            "x-enum-labels": {"draft": "Draft", "standard": "Standard", "fine": "Fine"},
            "x-advanced": True,
        },
    }
