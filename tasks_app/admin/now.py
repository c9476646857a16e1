"""What holds now, for lists and dashboard: read once and kept for a few seconds.

An absent Redis leaves gaps; it must not keep staff out.
"""

import logging
import time
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, Final, TypeVar
from uuid import UUID

from tasks_app.core import observation, pressure
from tasks_app.gates.connection import RedisError
from tasks_app.models import Generator

logger = logging.getLogger(__name__)

SECONDS: Final = 3.0
T = TypeVar("T")

_kept: dict[str, tuple[float, Any]] = {}
_lock = Lock()


def kept(name: str, read: Callable[[], T], seconds: float = SECONDS) -> T:
    """Return what was read under this name within the last seconds, or read it."""
    with _lock:
        held = _kept.get(name)
    if held is not None and time.monotonic() - held[0] < seconds:
        found: T = held[1]
        return found
    found = read()
    with _lock:
        _kept[name] = (time.monotonic(), found)
    return found


def forget() -> None:
    """Read everything anew: something was changed."""
    with _lock:
        _kept.clear()


def slots() -> dict[UUID, int]:
    """Return the slots used by each generator; empty while Redis is away."""
    return kept("slots", _slots)


def rate_waits() -> dict[UUID, float] | None:
    """Return the seconds until each used-up upstream allows a start; None: Redis is away."""
    return kept("rates", _rate_waits)


def pressed() -> Mapping[UUID, pressure.Reading]:
    """Return what holds for each upstream that is under pressure."""
    return kept("pressure", pressure.readings)


def waiting() -> dict[UUID, tuple[int, float]]:
    """Return how many tasks wait for each generator, and the seconds of the oldest."""
    return kept("waiting", _waiting)


def _slots() -> dict[UUID, int]:
    try:
        _, each = observation.slots_in_use(list(Generator.objects.all()))
    except RedisError as error:
        logger.warning("slots are unknown: %s", error)
        return {}
    return {pk: one.used for pk, one in each.items()}


def _rate_waits() -> dict[UUID, float] | None:
    try:
        return observation.rate_waits(list(Generator.objects.all()))
    except RedisError as error:
        logger.warning("the rates of upstreams are unknown: %s", error)
        return None


def _waiting() -> dict[UUID, tuple[int, float]]:
    found: dict[UUID, tuple[int, float]] = {}
    for one in observation.backlogs():
        depth, oldest = found.get(one.generator_id, (0, 0.0))
        found[one.generator_id] = (depth + one.depth, max(oldest, one.oldest_seconds))
    return found
