"""Parameters against a generator's schema: defaults filled in, every error with its pointer."""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from tasks_app.core.accounts import Limits
from tasks_app.core.errors import FieldError, Invalid
from tasks_app.generators import documents, registry
from tasks_app.generators.base import Schema
from tasks_app.models import Generator

_MAX_ERRORS: Final = 20
_NUMBERS: Final = "n"
_SIDES: Final = ("width", "height")


def schema_of(generator: Generator) -> Schema:
    """Return the JSON Schema of a generator's parameters."""
    return _schema(generator.adapter, json.dumps(generator.settings, sort_keys=True))


def narrowed(schema: Schema, limits: Limits) -> Schema:
    """Return a schema as it is for an account: the bounds and defaults of ``n`` and the sides.

    What the account may not ask for at all stays as it is, and is refused with a sentence.
    """
    properties: dict[str, Any] = schema.get("properties", {})
    changed = {
        name: _at_most(spec, most)
        for name, most in _bounds(limits)
        if isinstance(spec := properties.get(name), Mapping)
    }
    return {**schema, "properties": {**properties, **changed}} if changed else schema


def _bounds(limits: Limits) -> Iterator[tuple[str, int]]:
    if limits.max_n is not None:
        yield _NUMBERS, limits.max_n
    if limits.max_side is not None:
        yield from ((name, limits.max_side) for name in _SIDES)


def _at_most(spec: Mapping[str, Any], most: int) -> dict[str, Any]:
    """Narrow one number's schema; an enumeration keeps the choices that are left."""
    found = dict(spec)
    choices = spec.get("enum")
    if isinstance(choices, list):
        left = [one for one in choices if not _beyond(one, most)]
        found["enum"] = left or choices
        if left and _beyond(spec.get("default"), most):
            found["default"] = left[-1]
        return found
    if most < spec.get("minimum", most):
        return found
    found["maximum"] = min(most, spec.get("maximum", most))
    if _beyond(spec.get("default"), most):
        step = spec.get("multipleOf", 1)
        found["default"] = max(most // step * step, spec.get("minimum", 0))
    return found


def _beyond(value: object, most: int) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and cast("float", value) > most


def beyond(values: Mapping[str, Any], limits: Limits) -> list[FieldError]:
    """Return an error for each parameter that is above what an account may ask for."""
    return [
        FieldError(
            f"/params/{name}",
            f"Your plan allows at most {most}{'' if name == _NUMBERS else ' pixels'} here.",
            "above_plan",
        )
        for name, most in _bounds(limits)
        if _beyond(values.get(name), most)
    ]


def validated(
    generator: Generator, params: object, limits: Limits | None = None, pointer: str = "/params"
) -> dict[str, Any]:
    """Return the parameters with defaults filled in, those of the account's own limits.

    Raises ``Invalid`` with one error per field that does not fit. What is above the limits is
    not judged here: see ``beyond``.
    """
    if not isinstance(params, Mapping):
        raise Invalid([FieldError(pointer, "Give an object.", "wrong_type")])
    key = (generator.adapter, json.dumps(generator.settings, sort_keys=True))
    schema = _schema(*key)
    complete = _with_defaults(narrowed(schema, limits) if limits else schema, params)
    # Each missing field is one error of the schema that names all missing ones.
    found = list(dict.fromkeys(_errors(_validator(*key), complete, pointer)))
    if found:
        raise Invalid(found)
    return complete


def _with_defaults(schema: Schema, params: Mapping[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = schema.get("properties", {})
    filled = {name: spec["default"] for name, spec in properties.items() if "default" in spec}
    filled.update(params)
    return {name: _whole(value, properties.get(name)) for name, value in filled.items()}


def _whole(value: object, spec: object) -> object:
    """JSON Schema takes 512.0 for an integer; adapters shall get a real one."""
    if isinstance(value, float) and value.is_integer() and isinstance(spec, Mapping):
        types = spec.get("type")
        if types == "integer" or (isinstance(types, list) and "integer" in types):
            return int(value)
    return value


def _errors(
    validator: Draft202012Validator, params: Mapping[str, Any], pointer: str
) -> Iterator[FieldError]:
    for number, error in enumerate(validator.iter_errors(params)):
        if number >= _MAX_ERRORS:
            return
        yield from _field_errors(error, pointer)


def _field_errors(error: ValidationError, base: str) -> Iterator[FieldError]:
    path = base + "".join(f"/{_escape(part)}" for part in error.absolute_path)
    # What the library fills in while validating; its types allow for errors made by hand.
    keyword = str(error.validator)
    value, instance = cast("Any", error.validator_value), cast("Any", error.instance)
    if keyword == "required":
        missing = [name for name in value if name not in instance]
        yield from (FieldError(f"{path}/{_escape(n)}", "Required.", "required") for n in missing)
    elif keyword == "additionalProperties":
        known = cast("Mapping[str, Any]", error.schema).get("properties", {})
        extra = [name for name in instance if name not in known][:_MAX_ERRORS]
        yield from (
            FieldError(f"{path}/{_escape(name)}", "Unknown field.", "unknown_field")
            for name in extra
        )
    else:
        sentence, code = _SENTENCES.get(keyword, ("Does not fit the schema.", "invalid"))
        yield FieldError(path, sentence.format(value=_shown(value)), code)


# The sentences never repeat the value: it may be two megabytes long, or private.
_SENTENCES: Final[Mapping[str, tuple[str, str]]] = {
    "type": ("Wrong type: give {value}.", "wrong_type"),
    "enum": ("Give one of: {value}.", "not_a_choice"),
    "const": ("Give exactly {value}.", "not_a_choice"),
    "minimum": ("Give at least {value}.", "too_small"),
    "maximum": ("Give at most {value}.", "too_large"),
    "exclusiveMinimum": ("Give more than {value}.", "too_small"),
    "exclusiveMaximum": ("Give less than {value}.", "too_large"),
    "multipleOf": ("Give a multiple of {value}.", "not_a_multiple"),
    "minLength": ("Too short: give at least {value} characters.", "too_short"),
    "maxLength": ("Too long: give at most {value} characters.", "too_long"),
    "minItems": ("Give at least {value} items.", "too_few"),
    "maxItems": ("Give at most {value} items.", "too_many"),
    "pattern": ("Does not match the pattern {value}.", "wrong_pattern"),
}


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in value[:40])
    return str(value)[:200]


def _escape(part: object) -> str:
    return str(part)[:200].replace("~", "~0").replace("/", "~1")


@lru_cache(maxsize=256)
def _schema(adapter: str, settings: str) -> Schema:
    values = json.loads(settings)
    return registry.build(adapter, values).parameter_schema(values)


@lru_cache(maxsize=256)
def _validator(adapter: str, settings: str) -> Draft202012Validator:
    schema = _schema(adapter, settings)
    Draft202012Validator.check_schema(schema)
    return documents.validator(schema)
