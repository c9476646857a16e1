"""The figures of a pool: what the ticker publishes and reads of tasks add to their documents."""

import time
from dataclasses import asdict, dataclass, field
from threading import Lock
from typing import Any
from uuid import UUID

import orjson

from tasks_app.gates import keys
from tasks_app.gates.connection import client

LIFETIME = 15
"""Seconds until figures count as unknown, when no ticker publishes new ones."""
_CACHE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class GeneratorFigures:
    """One generator: slots in use, their limit, whether it is paused, its usual seconds."""

    used: int
    limit: int
    paused: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Figures:
    """One pool. ``tags`` samples the backlog as (start tag, how many tasks precede it)."""

    pool: str
    pending: int = 0
    workers: int = 0
    used: int = 0
    limit: int = 0
    tags: list[tuple[float, int]] = field(default_factory=list)
    generators: dict[str, GeneratorFigures] = field(default_factory=dict)
    full_owners: list[int] = field(default_factory=list)

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
    found = _parsed(orjson.loads(body)) if isinstance(body, bytes) else None
    with _lock:
        if len(_cache) > 1000:
            _cache.clear()
        _cache[keys.figures(pool)] = (now, found)
    return found


def _parsed(data: dict[str, Any]) -> Figures:
    generators = {name: GeneratorFigures(**one) for name, one in data.pop("generators").items()}
    tags = [(float(tag), int(rank)) for tag, rank in data.pop("tags")]
    return Figures(**data, generators=generators, tags=tags)


def clear_cache() -> None:
    """Forget what this process knows (tests)."""
    with _lock:
        _cache.clear()
