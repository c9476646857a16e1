"""The figures of a pool: what the ticker publishes and reads of tasks add to their documents.

During an upgrade ticker and readers may be of different versions: what one does not know is
ignored, what the other does not tell has its default, and what cannot be understood is unknown.
"""

import logging
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from threading import Lock
from typing import Any
from uuid import UUID

import orjson

from tasks_app.gates import keys
from tasks_app.gates.connection import client

logger = logging.getLogger(__name__)

LIFETIME = 15
"""Seconds until figures count as unknown, when no ticker publishes new ones."""
_CACHE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class GeneratorFigures:
    """One generator: slots in use, their limit, whether it is paused, its usual seconds.

    ``rate_wait``: seconds until its upstream's rate allows a start. ``entry``: position and
    seconds until the start of a task whose owner has nothing else waiting, if it came now.
    """

    used: int = 0
    limit: int = 0
    paused: bool = False
    seconds: float | None = None
    rate_wait: float = 0.0
    entry: tuple[int, float] | None = None


@dataclass(frozen=True, slots=True)
class Figures:
    """One pool. ``flows`` foretells starts, of some tasks of each flow that is near its turn.

    Each as (the task's number within its flow, the position of its start, seconds until it).
    """

    pool: str
    pending: int = 0
    workers: int = 0
    used: int = 0
    limit: int = 0
    flows: dict[str, list[tuple[float, int, float]]] = field(default_factory=dict)
    generators: dict[str, GeneratorFigures] = field(default_factory=dict)
    full_owners: list[int] = field(default_factory=list)
    storage_refuses: bool = False

    def of(self, generator_id: UUID | str) -> GeneratorFigures | None:
        """Return one generator's figures, if it is known."""
        return self.generators.get(str(generator_id))


def publish(figures: Figures) -> None:
    """Store a pool's figures for the readers."""
    client().set(keys.figures(figures.pool), orjson.dumps(asdict(figures)), ex=LIFETIME)


_cache: dict[str, tuple[float, Figures | None]] = {}
_lock = Lock()


def read(pool: str) -> Figures | None:
    """Return a pool's figures, at most a second old within this process; None: unknown."""
    now = time.monotonic()
    with _lock:
        held = _cache.get(keys.figures(pool))
    if held and now - held[0] < _CACHE_SECONDS:
        return held[1]
    body = client().get(keys.figures(pool))
    found = _understood(pool, body) if isinstance(body, bytes) else None
    with _lock:
        if len(_cache) > 1000:
            _cache.clear()
        _cache[keys.figures(pool)] = (now, found)
    return found


def _understood(pool: str, body: bytes) -> Figures | None:
    """Read what was published; None, as if nothing had been, when it makes no sense."""
    try:
        return parsed(pool, orjson.loads(body))
    except (ValueError, TypeError, AttributeError) as error:
        logger.warning("the figures of pool %s are not understood: %s", pool, error)
        return None


def parsed(pool: str, data: Mapping[str, Any]) -> Figures:
    """Return published figures as a value.

    Raises ``ValueError``, ``TypeError`` or ``AttributeError`` for what are no figures.
    """
    known = _known(Figures, data)
    for name in ("pending", "workers", "used", "limit"):
        if name in known:
            known[name] = int(known[name])
    generators = {name: _generator(one) for name, one in known.pop("generators", {}).items()}
    flows = {flow: _samples(found) for flow, found in known.pop("flows", {}).items()}
    if "storage_refuses" in known:
        known["storage_refuses"] = bool(known["storage_refuses"])
    owners = [int(owner) for owner in known.pop("full_owners", [])]
    return Figures(**known | {"pool": pool}, generators=generators, flows=flows, full_owners=owners)


def _samples(found: list[Any]) -> list[tuple[float, int, float]]:
    samples = [(float(tag), int(position), float(left)) for tag, position, left in found]
    if not samples:
        raise ValueError("a flow without a start")
    return samples


def _generator(data: Mapping[str, Any]) -> GeneratorFigures:
    known = GeneratorFigures(**_known(GeneratorFigures, data))
    seconds, entry = known.seconds, known.entry
    return GeneratorFigures(
        int(known.used),
        int(known.limit),
        bool(known.paused),
        None if seconds is None else float(seconds),
        float(known.rate_wait),
        None if entry is None else _entry(entry),
    )


def _entry(found: Any) -> tuple[int, float]:
    position, seconds = found
    return int(position), float(seconds)


def _known(kind: type[Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members that this version knows."""
    names = {one.name for one in fields(kind)}
    return {name: value for name, value in data.items() if name in names}


def clear_cache() -> None:
    """Forget what this process knows (tests)."""
    with _lock:
        _cache.clear()
