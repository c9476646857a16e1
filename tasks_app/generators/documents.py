"""JSON documents that an operator writes: what can be stored, and schemas that end.

A generator's settings are written once and read by every page, so what they may hold is bounded
here: depth and size, no text that cannot be stored, no schema that reaches out of itself, that
never ends or that grows without bound while it is used.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from referencing import Registry

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
MOST_DEPTH: Final = 32
"""Levels of a document, and of a schema with its references followed."""
MOST_VALUES: Final = 10_000
"""Values of a document, and steps of a schema with its references followed."""
_MOST_DIGITS: Final = 300

_ONE: Final = (
    *("additionalProperties", "contains", "contentSchema", "else", "if", "items", "not"),
    *("propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
)
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAPS: Final = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")
_NEVER: Final = ("$anchor", "$dynamicAnchor", "$dynamicRef", "$id", "$recursiveRef")
_PROBES: Final = ("word", 1, 0.5, True, None, [1, "word"], {"word": 1})


class Unusable(Exception):
    """A document cannot be used; the text says why."""


def check_storable(document: object) -> None:
    """Raise ``Unusable`` for what JSON columns and readers do not take."""
    waiting: list[tuple[object, int]] = [(document, 0)]
    seen = 0
    while waiting:
        value, depth = waiting.pop()
        seen += 1
        if depth > MOST_DEPTH:
            raise Unusable(f"It is nested more than {MOST_DEPTH} levels deep.")
        if seen > MOST_VALUES:
            raise Unusable(f"It has more than {MOST_VALUES} values.")
        if isinstance(value, Mapping):
            waiting += [(part, depth) for part in value]
            waiting += [(part, depth + 1) for part in value.values()]
        elif isinstance(value, list | tuple):
            waiting += [(part, depth + 1) for part in value]
        else:
            _check_plain(value)


def _check_plain(value: object) -> None:
    if isinstance(value, str):
        if "\x00" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
            raise Unusable("It has NUL characters or halves of characters, which no text has.")
    elif isinstance(value, float) and not math.isfinite(value):
        raise Unusable("It has a number that is not finite.")
    elif isinstance(value, int) and abs(value) >= 10**_MOST_DIGITS:
        raise Unusable("It has a number that is too long.")


def validator(schema: Mapping[str, Any]) -> Draft202012Validator:
    """Return a validator that never fetches anything: no reference leads out of the schema."""
    return Draft202012Validator(schema, registry=Registry())


def check_schema(schema: Mapping[str, Any]) -> None:
    """Raise ``Unusable`` unless the schema is one, ends, and can judge documents."""
    check_storable(schema)
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise Unusable(error.message) from error
    judge = validator(schema)
    try:
        _Walk(schema).step(schema, 0)
        for document in _probes(schema):
            for _ in judge.iter_errors(document):
                pass
    except Unusable:
        raise
    except Exception as error:  # whatever it is, users would meet it
        raise Unusable(f"It cannot be used: {type(error).__name__}: {error}") from error


def _probes(schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    properties: Mapping[str, Any] = schema.get("properties", {})
    for value in _PROBES:
        yield {
            name: part.get("default", value) if isinstance(part, Mapping) else value
            for name, part in properties.items()
        }
        yield dict.fromkeys(properties, value)


class _Walk:
    """Follows a schema the way that a validator does, each part once."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._known: dict[int, tuple[int, int] | None] = {}

    def step(self, schema: Any, depth: int) -> tuple[int, int]:
        """Return how deep and how large a part is with its references followed."""
        if not isinstance(schema, Mapping):
            return 0, 1
        if id(schema) in self._known:
            known = self._known[id(schema)]
            if known is None:
                raise Unusable('A "$ref" leads back to itself.')
        else:
            self._known[id(schema)] = None
            known = self._known[id(schema)] = self._measured(schema, depth)
        if depth + known[0] > MOST_DEPTH:
            raise Unusable(f'With every "$ref" it is more than {MOST_DEPTH} levels deep.')
        return known

    def _measured(self, schema: Mapping[str, Any], depth: int) -> tuple[int, int]:
        if depth > MOST_DEPTH:
            raise Unusable(f'With every "$ref" it is more than {MOST_DEPTH} levels deep.')
        _check_keywords(schema)
        height, size = 0, 1
        for part in self._parts(schema):
            below, steps = self.step(part, depth + 1)
            height, size = max(height, below + 1), size + steps
            if size > MOST_VALUES:
                raise Unusable(f'With every "$ref" it has more than {MOST_VALUES} parts.')
        return height, size

    def _parts(self, schema: Mapping[str, Any]) -> Iterator[Any]:
        if "$ref" in schema:
            yield self._target(schema["$ref"])
        yield from (schema[word] for word in _ONE if word in schema)
        for word in _LISTS:
            yield from schema.get(word, ())
        for word in _MAPS:
            yield from schema.get(word, {}).values()

    def _target(self, reference: str) -> Any:
        if not reference.startswith("#/"):
            raise Unusable(f'"$ref" must lead to a part of this schema ("#/…"): {reference!r}.')
        found: Any = self._root
        for part in reference[2:].split("/"):
            name = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(found, Mapping) and name in found:
                found = found[name]
            elif isinstance(found, list) and name.isdecimal() and int(name) < len(found):
                found = found[int(name)]
            else:
                raise Unusable(f'"$ref" leads nowhere: {reference!r}.')
        if not isinstance(found, Mapping | bool):
            raise Unusable(f'"$ref" does not lead to a schema: {reference!r}.')
        return found


def _check_keywords(schema: Mapping[str, Any]) -> None:
    never = [word for word in _NEVER if word in schema]
    if never:
        raise Unusable(f'"{never[0]}" is not supported; use "$ref" with "#/$defs/…".')
    if schema.get("$schema", DRAFT) != DRAFT:
        raise Unusable(f'"$schema" must be "{DRAFT}".')
    patterns = [schema["pattern"]] if "pattern" in schema else []
    for pattern in (*patterns, *schema.get("patternProperties", ())):
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise Unusable(f"{pattern!r} is not a regular expression: {error}.") from error
