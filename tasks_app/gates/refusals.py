"""What the storage of results has refused: known to all workers, until it has proved itself."""

from typing import Final

from tasks_app.gates import keys
from tasks_app.gates.connection import client

_SECONDS: Final = 3_600
"""A refusal that nobody has looked after for an hour is forgotten."""
_TRY_EVERY: Final = 2
"""Seconds between two looks, of all workers together."""


def note() -> None:
    """Say that the storage has refused a result. Raises ``RedisError``."""
    client().set(keys.storage_refuses(), "1", ex=_SECONDS)


def known() -> bool:
    """Whether the storage refuses, as far as anybody knows. Raises ``RedisError``."""
    return bool(client().exists(keys.storage_refuses()))


def may_look() -> bool:
    """Whether it is this caller's turn to look whether it still does. Raises ``RedisError``."""
    return bool(client().set(keys.storage_looked(), "1", nx=True, ex=_TRY_EVERY))


def forget() -> None:
    """Say that the storage accepts results. Raises ``RedisError``."""
    client().delete(keys.storage_refuses())
