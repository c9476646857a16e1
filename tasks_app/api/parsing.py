"""JSON in, strictly: what cannot be stored or understood is refused with a sentence.

orjson refuses ``NaN``, lone surrogates and invalid UTF-8; NUL characters (which PostgreSQL
cannot store) and deep nesting are looked for here.
"""

from typing import Any, Final

import orjson
from django.conf import settings
from rest_framework.parsers import BaseParser

from tasks_app.core.errors import BadRequest, FieldError, Invalid, Refusal

MAX_DEPTH: Final = 32


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
        raw = stream.read(limit + 1)
        if len(raw) > limit:
            raise TooLarge(f"The body is larger than {limit // 2**20} MiB.")
        return parse(raw)


def parse(raw: bytes) -> Any:
    """Parse and check one body."""
    if raw[:200_000].count(b"[") + raw[:200_000].count(b"{") > 500:
        _check_raw_depth(raw)
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"The body is not valid JSON: {error.msg}.", code="malformed") from error
    check(value)
    return value


def _check_raw_depth(raw: bytes) -> None:
    """Refuse absurd nesting before a recursive parser sees it."""
    depth = 0
    inside = escaped = False
    for byte in raw:
        if inside:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                inside = False
        elif byte == 0x22:
            inside = True
        elif byte in (0x5B, 0x7B):
            depth += 1
            if depth > 500:
                raise _too_deep("")
        elif byte in (0x5D, 0x7D):
            depth -= 1


def check(value: Any) -> None:
    """Refuse NUL characters and nesting deeper than ``MAX_DEPTH``, naming the field."""
    waiting: list[tuple[str, int, Any]] = [("", 0, value)]
    # Bounded by the size of the body.
    while waiting:
        pointer, depth, item = waiting.pop()
        if depth > MAX_DEPTH:
            raise _too_deep(pointer)
        if isinstance(item, str):
            _check_text(pointer, item)
        elif isinstance(item, dict):
            for name, inner in item.items():
                _check_text(pointer, name)
                waiting.append((f"{pointer}/{_escape(name)}", depth + 1, inner))
        elif isinstance(item, list):
            waiting += [(f"{pointer}/{n}", depth + 1, inner) for n, inner in enumerate(item)]


def _check_text(pointer: str, text: str) -> None:
    if "\x00" in text:
        raise Invalid([FieldError(pointer, "NUL characters cannot be stored.", "nul_character")])


def _too_deep(pointer: str) -> Invalid:
    # The first parts of the pointer name the field; all of it would be as deep as the body.
    field = "/".join(pointer.split("/")[:4])
    return Invalid([FieldError(field, f"Nested deeper than {MAX_DEPTH} levels.", "too_deep")])


def _escape(name: str) -> str:
    return name[:100].replace("~", "~0").replace("/", "~1")
