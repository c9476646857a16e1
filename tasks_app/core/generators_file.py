"""Generators as a file: what it says, how that differs from the table, and making it so.

The file is TOML, one table per generator::

    [generators.flux]
    title = "Flux"
    adapter = "replicate"
    max_running = 50
    settings = {model = "black-forest-labs/flux-schnell", credential = "env:UPSTREAM_REPLICATE"}

What the file names is made so; what it does not name stays, and new generators get the defaults of
the admin. Generators that are not in the file are left alone.
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.db import transaction

from tasks_app.generators import registry
from tasks_app.generators.errors import InvalidSettings
from tasks_app.models import Generator

FIELDS: Final = (
    "title",
    "description",
    "adapter",
    "settings",
    "kind",
    "pool",
    "max_running",
    "timeout_seconds",
    "expected_seconds",
    "failure_budget",
    "rate_per_minute",
    "rate_burst",
    "fallback",
    "paused",
    "enabled",
)
"""What staff set of a generator, besides its name: in a file and in the admin."""
_NEEDED: Final = ("title", "adapter")


class Unusable(ValueError):
    """The file cannot be applied; the sentence says which generator and why."""


@dataclass(frozen=True, slots=True)
class Change:
    """One field of one generator: what it is (None: there is no such generator yet) and will be."""

    generator: str
    field: str
    before: Any
    after: Any
    new: bool = False

    def __str__(self) -> str:
        after = _shown(self.after)
        if self.new:
            return f"+ {self.generator}: {self.field} = {after}"
        return f"~ {self.generator}: {self.field}: {_shown(self.before)} -> {after}"


def read(text: str) -> dict[str, dict[str, Any]]:
    """Return what a file says of each generator. Raises ``Unusable``."""
    try:
        found = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Unusable(f"The file is not TOML: {error}") from error
    if set(found) != {"generators"} or not isinstance(found["generators"], dict):
        raise Unusable("The file must consist of tables [generators.NAME].")
    for name, values in found["generators"].items():
        _check_fields(name, values)
    return dict(found["generators"])


def _check_fields(name: str, values: Any) -> None:
    if not isinstance(values, dict):
        raise Unusable(f"{name}: it must be a table.")
    unknown = sorted(set(values) - set(FIELDS))
    if unknown:
        raise Unusable(f"{name}: unknown: {', '.join(unknown)}. Known are: {', '.join(FIELDS)}.")


def apply(wanted: Mapping[str, Mapping[str, Any]], *, dry_run: bool = False) -> list[Change]:
    """Make the table so, all or nothing, and return what differs.

    Applying the same once more changes nothing. Raises ``Unusable``.
    """
    with transaction.atomic():
        locked = Generator.objects.select_for_update().order_by("name")
        rows = {row.name: row for row in locked}
        changes: list[Change] = []
        for name, values in wanted.items():
            changes += _changes(name, values, rows)
        _save(wanted, rows, {change.generator for change in changes})
        transaction.set_rollback(dry_run)
    return changes


def _changes(name: str, values: Mapping[str, Any], rows: dict[str, Generator]) -> list[Change]:
    """Return what differs, and set it in the row; a new row is added to ``rows``."""
    new = name not in rows
    if new:
        missing = [field for field in _NEEDED if field not in values]
        if missing:
            raise Unusable(f"{name}: it is new and needs {' and '.join(missing)}.")
        rows[name] = Generator(name=name)
    row = rows[name]
    changes = []
    for field, after in values.items():
        before = _value(row, field, rows)
        if new or before != after or (type(before) is bool) != (type(after) is bool):
            changes.append(Change(name, field, None if new else before, after, new))
        if field != "fallback":
            setattr(row, field, after)
    return changes


def _value(row: Generator, field: str, rows: Mapping[str, Generator]) -> Any:
    if field != "fallback":
        return getattr(row, field)
    names = {other.pk: other.name for other in rows.values()}
    return names.get(row.fallback_id, "") if row.fallback_id else ""


def _save(
    wanted: Mapping[str, Mapping[str, Any]], rows: Mapping[str, Generator], changed: set[str]
) -> None:
    """Judge and save what changed; fallbacks last, because they may name each other."""
    for name in sorted(changed):
        _judge(rows[name])
        rows[name].save()
    for name in sorted(changed):
        if "fallback" in wanted[name]:
            rows[name].fallback = _fallback(name, wanted[name]["fallback"], rows)
            rows[name].save(update_fields=["fallback"])


def _fallback(name: str, other: Any, rows: Mapping[str, Generator]) -> Generator | None:
    if other == "":
        return None
    if not isinstance(other, str) or other not in rows or other == name:
        raise Unusable(f'{name}: fallback: name another generator, or write "" for none.')
    return rows[other]


def _judge(row: Generator) -> None:
    """Judge a row as the admin does."""
    try:
        row.full_clean(validate_unique=False)
        registry.build(row.adapter, row.settings).parameter_schema(row.settings)
    except ValidationError as error:
        told = "; ".join(f"{name}: {' '.join(texts)}" for name, texts in _texts(error).items())
        raise Unusable(f"{row.name}: {told}") from error
    except (InvalidSettings, registry.UnknownAdapter) as error:
        raise Unusable(f"{row.name}: {error}") from error
    except (Exception, SystemExit) as error:  # an operator's code may raise anything
        raise Unusable(f"{row.name}: {type(error).__name__}: {error}") from error


def _texts(error: ValidationError) -> dict[str, list[str]]:
    if hasattr(error, "error_dict"):
        return {name: list(map(str, texts)) for name, texts in error.message_dict.items()}
    return {"": list(map(str, error.messages))}


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
