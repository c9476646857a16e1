"""Strict readers of the environment.

Each reader takes the name of a variable and a default. A variable that is unset or empty
counts as not given. Anything odd raises `BadSetting` with a sentence that says what to set:
a service that starts with a misread setting fails later and further away.
"""

import math
import os
import re
from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlsplit

from django.core.exceptions import ImproperlyConfigured
from psycopg import ProgrammingError, conninfo

T = TypeVar("T")
Network = IPv4Network | IPv6Network

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3_600, "d": 86_400}
PLACEHOLDER = "CHANGE-ME"
"""Stands in examples where a value of one's own belongs; nothing starts with it."""
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"[+-]?\d{1,18}(\.\d{1,18})?", re.ASCII)
_DJANGO_NAMES = {
    "dbname": "NAME",
    "user": "USER",
    "password": "PASSWORD",
    "host": "HOST",
    "port": "PORT",
}
# A secret file is one short line. Reading more means that the name points at something else.
_SECRET_FILE_BYTES = 64 * 1024


class BadSetting(ImproperlyConfigured):
    """A variable of the environment is missing or cannot be what it should be."""


def given(name: str) -> str | None:
    """The variable without surrounding blanks; None when unset or empty."""
    value = os.environ.get(name, "").strip()
    if "\x00" in value or "\n" in value or "\r" in value:
        raise BadSetting(f"{name} spans several lines: set it to one line.")
    if PLACEHOLDER in value:
        raise BadSetting(f"{name} still holds the example's {PLACEHOLDER}: set it to your own.")
    return value or None


def text(name: str, default: str | None = None, *, choices: Sequence[str] = ()) -> str:
    """One line of text; without a default the variable is required."""
    value = given(name)
    if value is None:
        if default is None:
            raise BadSetting(f"{name} is not set: set it in the environment.")
        return default
    if choices and value not in choices:
        raise BadSetting(f"{name} is {value!r}: set it to one of {', '.join(choices)}.")
    return value


def secret(name: str, default: str | None = None) -> str:
    """A secret from NAME, or from the file that NAME_FILE names. Never echoed in errors."""
    value, file = given(name), given(f"{name}_FILE")
    if value is not None and file is not None:
        raise BadSetting(f"{name} and {name}_FILE are both set: unset one of them.")
    if file is not None:
        return _secret_file(f"{name}_FILE", Path(file))
    if value is not None:
        return value
    if default is None:
        raise BadSetting(f"{name} is not set: set it, or {name}_FILE to a file that holds it.")
    return default


def integer(
    name: str, default: int | None = None, *, minimum: int | None = None, maximum: int | None = None
) -> int:
    """A whole number within the given bounds (both inclusive)."""
    value = given(name)
    if value is None:
        return _required(name, default)
    if not _INTEGER.fullmatch(value):
        raise BadSetting(f"{name} is {value!r}: set it to a whole number.")
    return int(_within(name, int(value), minimum, maximum))


def number(
    name: str,
    default: float | None = None,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
) -> float:
    """A decimal number such as 0.5, within the given bounds (both inclusive)."""
    value = given(name)
    if value is None:
        return _required(name, default)
    if not _NUMBER.fullmatch(value):
        raise BadSetting(f"{name} is {value!r}: set it to a number such as 0.5.")
    return _within(name, float(value), minimum, maximum)


def boolean(name: str, default: bool | None = None) -> bool:
    """1, true, yes, on or 0, false, no, off, in any case."""
    value = given(name)
    if value is None:
        return _required(name, default)
    if value.lower() in _TRUE:
        return True
    if value.lower() in _FALSE:
        return False
    raise BadSetting(f"{name} is {value!r}: set it to 1, true, yes, on, 0, false, no or off.")


def words(name: str, default: Sequence[str] = ()) -> list[str]:
    """A comma-separated list; blanks around the words are dropped, empty words refused."""
    value = given(name)
    if value is None:
        return list(default)
    found = [word.strip() for word in value.split(",")]
    if not all(found):
        raise BadSetting(f"{name} has an empty entry: set it to words separated by commas.")
    return found


def networks(name: str, default: Sequence[str] = ()) -> tuple[Network, ...]:
    """A comma-separated list of networks such as 10.0.0.0/8, or of single addresses."""
    found = []
    for word in words(name, default):
        try:
            found.append(ip_network(word))
        except ValueError:
            raise BadSetting(
                f"{name} has {word!r}: set it to networks such as 10.0.0.0/8, with commas."
            ) from None
    return tuple(found)


def duration(
    name: str,
    default: float | None = None,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
) -> float:
    """Seconds, from a bare number of seconds or one with a unit: 500ms, 90s, 15m, 24h, 7d."""
    value = given(name)
    if value is None:
        return _required(name, default)
    match = _DURATION.fullmatch(value)
    if not match:
        raise BadSetting(f"{name} is {value!r}: set it to a duration such as 90s, 15m, 24h or 7d.")
    seconds = float(match[1]) * _SECONDS[match[2] or "s"]
    return _within(name, seconds, minimum, maximum, " seconds")


def url(
    name: str, default: str | None = None, *, schemes: Sequence[str] = ("http", "https")
) -> str:
    """An absolute URL with one of the schemes; a trailing slash is dropped.

    Network schemes need a host. A user or password in the URL is not repeated in the error.
    """
    value = given(name)
    if value is None:
        return _required(name, default)
    wanted = " or ".join(f"{scheme}://" for scheme in schemes)
    parts = _split(value)
    if parts is None or parts.scheme not in schemes or any(c.isspace() for c in value):
        raise BadSetting(f"{name} is not a URL that begins with {wanted}.")
    if not parts.hostname and parts.scheme != "unix":
        raise BadSetting(f"{name} names no host: set it to {schemes[0]}://host:port.")
    return value.rstrip("/")


def path(name: str, default: str | None = None) -> Path:
    """An absolute path; a relative one counts from the working folder."""
    value = given(name)
    chosen = _required(name, default) if value is None else value
    return Path(chosen).expanduser().absolute()


def database(dsn: str, *, name: str = "DATABASE_URL") -> dict[str, Any]:
    """The Django database settings for a postgresql:// URL.

    A Unix socket folder is written as the quoted host (postgresql://user:password@%2Frun%2Fpg/db)
    or as ?host=. Other libpq parameters of the query (sslmode, options, ...) become OPTIONS.
    """
    if not dsn.startswith(("postgresql://", "postgres://")):
        raise BadSetting(f"{name} must begin with postgresql://: PostgreSQL is the only database.")
    try:
        parameters = conninfo.conninfo_to_dict(dsn)
    except ProgrammingError:
        # libpq's own message may quote the password, so it is not passed on.
        raise BadSetting(f"{name} cannot be read: set it to postgresql://user@host/db.") from None
    if not parameters.get("dbname"):
        raise BadSetting(f"{name} names no database: set it to postgresql://user@host/database.")
    taken = {key: str(parameters.pop(key, "")) for key in _DJANGO_NAMES}
    settings: dict[str, Any] = {_DJANGO_NAMES[key]: value for key, value in taken.items()}
    return {"ENGINE": "django.db.backends.postgresql", **settings, "OPTIONS": dict(parameters)}


def _required(name: str, default: T | None) -> T:
    if default is None:
        raise BadSetting(f"{name} is not set: set it in the environment.")
    return default


def _within(
    name: str, value: float, minimum: float | None, maximum: float | None, unit: str = ""
) -> float:
    if not math.isfinite(value):
        raise BadSetting(f"{name} is not a finite number.")
    if minimum is not None and value < minimum:
        raise BadSetting(f"{name} is {value:g}: set it to at least {minimum:g}{unit}.")
    if maximum is not None and value > maximum:
        raise BadSetting(f"{name} is {value:g}: set it to at most {maximum:g}{unit}.")
    return value


def _split(value: str) -> SplitResult | None:
    """The parts of a URL; None when it is malformed, its port included."""
    try:
        parts = urlsplit(value)
        _ = parts.port  # reading it is what checks it
    except ValueError:
        return None
    return parts


def _secret_file(name: str, file: Path) -> str:
    try:
        with file.open("rb") as stream:
            content = stream.read(_SECRET_FILE_BYTES + 1)
    except OSError as error:
        raise BadSetting(f"{name} names {file}, which cannot be read: {error.strerror}.") from error
    if len(content) > _SECRET_FILE_BYTES:
        raise BadSetting(f"{name} names {file}, which is too large to be a secret.")
    try:
        value = content.decode().strip()
    except UnicodeDecodeError as error:
        raise BadSetting(f"{name} names {file}, which is not text.") from error
    if not value:
        raise BadSetting(f"{name} names {file}, which is empty.")
    return value
