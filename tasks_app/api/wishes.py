"""Reading requests: from parsed JSON and headers to the core's values, every error named."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

import orjson

from tasks_app.api.parsing import pointer
from tasks_app.core.callbacks import Filter as CallbackFilter
from tasks_app.core.errors import BadRequest, FieldError, Invalid, Problems
from tasks_app.core.listing import MAX_WORDS, Filter, words
from tasks_app.core.submission import Wish
from tasks_app.lifecycle import CallbackState, ErrorCode, Priority, State

MAX_METADATA_BYTES: Final = 2048
MAX_IDS: Final = 100
MAX_PAGE: Final = 100
MAX_QUERY: Final = 200
MAX_WAIT_CEILING: Final = 86_400.0

_FIELDS: Final = frozenset(
    {
        "generator",
        "params",
        "priority",
        "max_wait",
        "allow_degraded",
        "metadata",
        "idempotency_key",
        "callback_url",
        "callback_running",
    }
)
_RETRY_FIELDS: Final = frozenset({"idempotency_key"})
_QUERY: Final = frozenset(
    {
        "ids",
        "status",
        "error_code",
        "generator",
        "q",
        "created_after",
        "created_before",
        "cursor",
        "limit",
    }
)
_CALLBACK_QUERY: Final = frozenset({"status", "task_id", "cursor", "limit"})
_MOMENT: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
_KEY: Final = re.compile(r"[\x21-\x7e]{1,255}")
_MISSING: Final = object()


def wish(body: Any, header_key: str | None, request_id: str) -> Wish:
    """Read the body of a submission. Raises ``Invalid`` or ``BadRequest``."""
    problems = Problems()
    body = _object(body, _FIELDS, problems)
    generator = body.get("generator", _MISSING)
    if generator is _MISSING:
        problems.add("/generator", "Required.", "required")
    elif not isinstance(generator, str):
        problems.add("/generator", "Give a string.", "wrong_type")
    if not isinstance(body.get("params", {}), Mapping):
        problems.add("/params", "Give an object.", "wrong_type")
    read = Wish(
        generator=generator if isinstance(generator, str) else "",
        params=body.get("params", {}),
        priority=_priority(body, problems),
        max_wait=_max_wait(body, problems),
        allow_degraded=_flag(body, "allow_degraded", problems),
        metadata=_metadata(body, problems),
        idempotency_key=idempotency_key(body, header_key, problems),
        request_id=request_id,
        callback_url=_address(body, "callback_url", problems),
        callback_running=_flag(body, "callback_running", problems),
    )
    problems.raise_if_any()
    return read


def retry(body: Any, header_key: str | None) -> str | None:
    """Read the body of a retry; returns the idempotency key, if there is one."""
    problems = Problems()
    body = _object(body, _RETRY_FIELDS, problems)
    key = idempotency_key(body, header_key, problems)
    problems.raise_if_any()
    return key


def _object(body: Any, known: frozenset[str], problems: Problems) -> Mapping[str, Any]:
    if not isinstance(body, Mapping):
        raise Invalid([FieldError("", "Give a JSON object.", "wrong_type")])
    for name in sorted(set(body) - known)[:20]:
        problems.add(pointer(name), "Unknown field.", "unknown_field")
    return body


def idempotency_key(body: Mapping[str, Any], header: str | None, problems: Problems) -> str | None:
    """Return the key of header or body. Raises ``BadRequest`` if they differ."""
    key = body.get("idempotency_key")
    if key is not None and (not isinstance(key, str) or not _KEY.fullmatch(key)):
        problems.add("/idempotency_key", "Give 1 to 255 visible ASCII characters.", "invalid_key")
        return None
    if header is None:
        return key
    sent = header.strip()
    if len(sent) >= 2 and sent[0] == sent[-1] == '"':
        sent = sent[1:-1]
    if not _KEY.fullmatch(sent):
        raise BadRequest(
            "The Idempotency-Key header must be 1 to 255 visible ASCII characters.",
            code="invalid_key",
        )
    if key is not None and key != sent:
        raise BadRequest(
            "The Idempotency-Key header and the body's idempotency_key differ.",
            code="idempotency_keys_differ",
        )
    return sent


def listing(parameters: Mapping[str, Sequence[str]]) -> list[UUID] | Filter:
    """Read the query of a listing: chosen ids, or a filter with a cursor."""
    problems = Problems()
    for name in sorted(set(parameters) - _QUERY)[:20]:
        problems.add(pointer(name), "Unknown parameter.", "unknown_field")
    for name in sorted(_QUERY & set(parameters)):
        if len(parameters[name]) > 1:
            problems.add(pointer(name), "Give it once.", "repeated")
        elif "ids" in parameters and name != "ids":
            problems.add(pointer(name), "Does not go with ids.", "unknown_field")
    query = {name: values[-1] for name, values in parameters.items()}
    if "ids" in query:
        ids = _ids(query["ids"], problems)
        problems.raise_if_any()
        return ids
    read = Filter(
        states=_states(query.get("status"), problems),
        errors=_errors(query.get("error_code"), problems),
        generator=query.get("generator"),
        text=_text(query.get("q"), problems),
        created_after=_moment("created_after", query, problems),
        created_before=_moment("created_before", query, problems),
        before=_cursor(query.get("cursor"), problems),
        limit=_limit(query.get("limit"), problems),
    )
    if read.generator is not None and "\x00" in read.generator:
        problems.add("/generator", "NUL characters cannot be stored.", "nul_character")
    problems.raise_if_any()
    return read


def callbacks(parameters: Mapping[str, Sequence[str]]) -> CallbackFilter:
    """Read the query of a listing of callbacks."""
    problems = Problems()
    for name in sorted(set(parameters) - _CALLBACK_QUERY)[:20]:
        problems.add(pointer(name), "Unknown parameter.", "unknown_field")
    for name in sorted(_CALLBACK_QUERY & set(parameters)):
        if len(parameters[name]) > 1:
            problems.add(pointer(name), "Give it once.", "repeated")
    query = {name: values[-1] for name, values in parameters.items()}
    names = [name for name in query.get("status", "").split(",") if name]
    if any(name not in list(CallbackState) for name in names):
        said = ", ".join(CallbackState)
        problems.add("/status", f"Give states among: {said}.", "not_a_choice")
        names = []
    task = query.get("task_id")
    task_id = None if task is None else _uuid(task)
    if task is not None and task_id is None:
        problems.add("/task_id", "Give the id of a task.", "not_an_id")
    read = CallbackFilter(
        states=tuple(CallbackState(name) for name in names),
        task_id=task_id,
        before=_cursor(query.get("cursor"), problems),
        limit=_limit(query.get("limit"), problems),
    )
    problems.raise_if_any()
    return read


def since(body: Any) -> datetime:
    """Read the body that asks to deliver again what has failed since a time."""
    problems = Problems()
    body = _object(body, frozenset({"since"}), problems)
    text = body.get("since")
    found = None
    if text is None:
        problems.add("/since", "Required.", "required")
    elif not isinstance(text, str):
        problems.add("/since", "Give a string.", "wrong_type")
    else:
        found = _moment("since", {"since": text}, problems)
    problems.raise_if_any()
    assert found is not None
    return found


def test_address(body: Any) -> str:
    """Read where a test shall go; "" is the default address."""
    problems = Problems()
    body = _object(body, frozenset({"url"}), problems)
    url = _address(body, "url", problems)
    problems.raise_if_any()
    return url


def callback_settings(body: Any) -> tuple[str, bool]:
    """Read the default address ("": none), and whether it is told that tasks start."""
    problems = Problems()
    body = _object(body, frozenset({"url", "running"}), problems)
    if "url" not in body:
        problems.add("/url", "Required: an address, or null.", "required")
    read = _address(body, "url", problems), _flag(body, "running", problems)
    problems.raise_if_any()
    return read


def nothing(body: Any) -> None:
    """Read a body that has nothing to say."""
    problems = Problems()
    _object(body, frozenset(), problems)
    problems.raise_if_any()


def download(text: str | None) -> bool:
    """Read whether a file shall be saved. Raises ``Invalid``."""
    if text not in (None, "0", "1"):
        raise Invalid([FieldError("/download", "Give 1 or 0.", "not_a_choice")])
    return text == "1"


def _priority(body: Mapping[str, Any], problems: Problems) -> Priority | None:
    if "priority" not in body:
        return None
    value = body["priority"]
    if isinstance(value, str) and value in list(Priority):
        return Priority(value)
    problems.add("/priority", "Give one of: high, normal, low.", "not_a_choice")
    return None


def _max_wait(body: Mapping[str, Any], problems: Problems) -> float | None:
    value = body.get("max_wait")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        problems.add("/max_wait", "Give a number of seconds.", "wrong_type")
    elif not 1 <= value <= MAX_WAIT_CEILING:
        problems.add("/max_wait", "Give 1 to 86400 seconds.", "out_of_range")
    else:
        return float(value)
    return None


def _flag(body: Mapping[str, Any], name: str, problems: Problems) -> bool:
    value = body.get(name, False)
    if isinstance(value, bool):
        return value
    problems.add(pointer(name), "Give true or false.", "wrong_type")
    return False


def _address(body: Mapping[str, Any], name: str, problems: Problems) -> str:
    """Read an address, "" for null; whether callbacks may go there is the core's to say."""
    value = body.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        problems.add(pointer(name), "Give a string.", "wrong_type")
    elif not value:
        problems.add(pointer(name), "Give an address, or null.", "too_short")
    else:
        return value
    return ""


def _metadata(body: Mapping[str, Any], problems: Problems) -> Mapping[str, Any]:
    value = body.get("metadata", {})
    if not isinstance(value, Mapping):
        problems.add("/metadata", "Give an object.", "wrong_type")
    elif len(orjson.dumps(value)) > MAX_METADATA_BYTES:
        problems.add("/metadata", f"Give at most {MAX_METADATA_BYTES} bytes.", "too_long")
    else:
        return value
    return {}


def _ids(text: str, problems: Problems) -> list[UUID]:
    parts = [part for part in text.split(",") if part]
    if len(parts) > MAX_IDS:
        problems.add("/ids", f"Give at most {MAX_IDS} ids.", "too_many")
        return []
    found = [_uuid(part) for part in parts]
    if None in found:
        problems.add("/ids", "Give task ids, separated by commas.", "not_an_id")
    return list(dict.fromkeys(one for one in found if one is not None))


def _states(text: str | None, problems: Problems) -> tuple[State, ...]:
    names = [name for name in (text or "").split(",") if name]
    if any(name not in list(State) for name in names):
        problems.add("/status", "Give states among: " + ", ".join(State) + ".", "not_a_choice")
        return ()
    return tuple(State(name) for name in names)


def _errors(text: str | None, problems: Problems) -> tuple[ErrorCode, ...]:
    names = [name for name in (text or "").split(",") if name]
    if any(name not in list(ErrorCode) for name in names):
        among = "Give error codes among: " + ", ".join(ErrorCode) + "."
        problems.add("/error_code", among, "not_a_choice")
        return ()
    return tuple(ErrorCode(name) for name in names)


def _text(text: str | None, problems: Problems) -> str:
    if text is None:
        return ""
    if "\x00" in text:
        problems.add("/q", "NUL characters cannot be stored.", "nul_character")
    elif not 1 <= len(text.strip()) <= MAX_QUERY:
        problems.add("/q", f"Give 1 to {MAX_QUERY} characters.", "out_of_range")
    elif len(text.split()) > len(words(text)):
        problems.add("/q", f"Give at most {MAX_WORDS} words.", "too_many")
    else:
        return text
    return ""


def _moment(name: str, query: Mapping[str, str], problems: Problems) -> datetime | None:
    """Read an RFC 3339 time. A `+` that was not escaped arrives as a space."""
    text = query.get(name)
    if text is None:
        return None
    try:
        if _MOMENT.fullmatch(text):
            return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    problems.add(pointer(name), "Give a time such as 2026-01-31T12:00:00Z.", "not_a_time")
    return None


def _cursor(text: str | None, problems: Problems) -> UUID | None:
    if text is None:
        return None
    found = _uuid(text)
    if found is None:
        problems.add("/cursor", "Give a cursor from an earlier answer.", "not_a_cursor")
    return found


def _limit(text: str | None, problems: Problems) -> int:
    if text is None:
        return 20
    if re.fullmatch(r"[0-9]{1,4}", text, re.ASCII) and 1 <= int(text) <= MAX_PAGE:
        return int(text)
    problems.add("/limit", f"Give 1 to {MAX_PAGE}.", "out_of_range")
    return 20


def _uuid(text: str) -> UUID | None:
    """Read a UUID in its canonical form only, as in addresses: one thing has one name."""
    if not re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text):
        return None
    return UUID(text)
