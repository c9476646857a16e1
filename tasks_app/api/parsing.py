"""JSON in, strictly: what cannot be stored or understood is refused with a sentence.

orjson refuses ``NaN``, lone surrogates, invalid UTF-8 and absurd nesting; NUL characters (which
PostgreSQL cannot store), numbers that would not come back as they went in, and nesting that no
honest caller needs are looked for here.
"""

from typing import Any, Final

import orjson
from django.conf import settings
from rest_framework.parsers import BaseParser

from tasks_app.api.places import Path, line_and_column, path_to
from tasks_app.core.errors import BadRequest, FieldError, Invalid, Refusal

MAX_DEPTH: Final = 32
MAX_VALUES: Final = 10_000
"""Values in a whole body. Two million of them fit into 4 MiB, and Python walks for seconds."""

MAX_NAMES: Final = 1_000
"""Names in one object; each that is unknown is an error of its own in the answer."""

MAX_NUMBER: Final = 2.0**63
"""PostgreSQL would return a larger one as an integer that JSON writers refuse.

So it would -2**63, if that was sent as -9.223372036854776e18: it stores those digits.
"""

_PATIENCE: Final = 8
"""How many times the limit is read, and thrown away, of a body that is too large."""


class TooLarge(Refusal):
    """The body is larger than the service reads."""

    status = 413
    code = "too_large"
    title = "Content too large"


class StrictJSONParser(BaseParser):
    """Parses ``application/json``."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        """Return the parsed body. Raises ``BadRequest``, ``Invalid`` or ``TooLarge``."""
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        raw = _read(stream, limit + 1)
        if len(raw) > limit:
            # Left unread, it would make the server drop a connection that the caller goes on using.
            for _ in range(_PATIENCE):
                if not stream.read(limit):
                    break
            raise TooLarge(f"The body is larger than {limit // 2**20} MiB.")
        return parse(raw)


def _read(stream: Any, most: int) -> bytes:
    """Read up to ``most`` bytes; a server may return fewer than it was asked for."""
    parts: list[bytes] = []
    left = most
    while left > 0 and (part := stream.read(left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def parse(raw: bytes) -> Any:
    """Parse and check one body."""
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        if "depth limit" in error.msg:
            raise _too_deep([]) from error
        raise _malformed(raw, error) from error
    check(value)
    return value


def _malformed(raw: bytes, error: orjson.JSONDecodeError) -> BadRequest:
    """Say what is wrong and where; of bytes that are no UTF-8, orjson does not know where."""
    try:
        text, position = raw.decode(), error.pos
    except UnicodeDecodeError as undecodable:
        text = raw[: undecodable.start].decode()
        position = len(text)
    path = path_to(text, position)
    field = f" in {pointer(*path[:3])}" if path else ""
    line, column = line_and_column(text, position)
    return BadRequest(
        f"The body is not valid JSON: {error.msg}{field} (line {line}, column {column}).",
        code="malformed",
    )


def check(value: Any) -> None:
    """Refuse what cannot be stored, and what takes too long to look through, naming the field."""
    _Check().value(value, [])


class _Check:
    """One walk through a body, which ends after ``MAX_VALUES`` whatever was sent."""

    def __init__(self) -> None:
        self._left = MAX_VALUES

    def value(self, value: Any, path: Path) -> None:
        """Descend by at most ``MAX_DEPTH`` calls; the path is only spelled out for a refusal."""
        if isinstance(value, str):
            _check_text(value, path)
        elif isinstance(value, (int, float)):
            if not -MAX_NUMBER < value < MAX_NUMBER:
                raise _invalid(path, "Give a number within 64 bits.", "number_too_large")
        elif isinstance(value, (dict, list)):
            if len(path) >= MAX_DEPTH:
                raise _too_deep(path)
            self._count(value, path)
            self._inside(value, path)

    def _count(self, value: dict[str, Any] | list[Any], path: Path) -> None:
        """Count what is inside before any of it is looked at."""
        if isinstance(value, dict) and len(value) > MAX_NAMES:
            raise _too_many(path, f"Give at most {MAX_NAMES} names in an object.")
        self._left -= len(value)
        if self._left < 0:
            raise _too_many(path, f"Give at most {MAX_VALUES} values in a body.")

    def _inside(self, value: dict[str, Any] | list[Any], path: Path) -> None:
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for name, inner in pairs:
            if isinstance(name, str):
                _check_text(name, path)
            path.append(name)
            self.value(inner, path)
            path.pop()


def _check_text(text: str, path: Path) -> None:
    if "\x00" in text:
        raise _invalid(path, "NUL characters cannot be stored.", "nul_character")


def _too_deep(path: Path) -> Invalid:
    # The first parts of the pointer name the field; all of it would be as deep as the body.
    return _invalid(path[:3], f"Nested deeper than {MAX_DEPTH} levels.", "too_deep")


def _too_many(path: Path, detail: str) -> Invalid:
    return _invalid(path[:2], detail, "too_many")


def _invalid(path: Path, detail: str, code: str) -> Invalid:
    return Invalid([FieldError(pointer(*path), detail, code)])


def pointer(*path: str | int) -> str:
    """Return the JSON Pointer (RFC 6901) of a place; names are cut to a readable length."""
    return "".join("/" + str(part)[:100].replace("~", "~0").replace("/", "~1") for part in path)
