"""Counters that all processes of all hosts add to, and what these processes say of themselves."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, cast

import orjson
from redis import Redis
from redis.commands.core import Script

from tasks_app.gates import keys
from tasks_app.gates.connection import client

LIFETIME: Final = 20
"""Seconds after its last report that a process counts as gone."""
_BATCH_SECONDS: Final = 86_400
"""How long a batch is known: a sender that does not know whether it arrived may ask again."""


@dataclass(frozen=True, slots=True)
class Process:
    """One process as it reported itself."""

    kind: str
    host: str
    pid: int
    memory: int


def add(process: str, batch: int, amounts: Mapping[str, int], redis: Redis) -> bool:
    """Add a numbered batch of amounts; False when this batch had been added before.

    Raises ``RedisError``, and then the same batch may be sent again: it is added once.
    """
    arguments: list[str | int] = [batch, _BATCH_SECONDS]
    for name, amount in amounts.items():
        arguments += [name, amount]
    added = _script()(keys=[keys.counters(), keys.counted(process)], args=arguments, client=redis)
    return bool(added)


def read() -> dict[str, int]:
    """Return all counters. Raises ``RedisError``."""
    found = cast("dict[bytes, bytes]", client().hgetall(keys.counters()))
    return {name.decode(): int(amount) for name, amount in found.items()}


def report(name: str, process: Process, redis: Redis) -> None:
    """Say that a process lives, and how it is."""
    with redis.pipeline() as pipe:
        pipe.set(keys.process(name), orjson.dumps(asdict(process)), ex=LIFETIME)
        pipe.zadd(keys.processes(), {name: _now(redis) + LIFETIME})
        pipe.zremrangebyscore(keys.processes(), "-inf", _now(redis))
        pipe.execute()


def leave(name: str, redis: Redis) -> None:
    """Say that a process ends."""
    redis.zrem(keys.processes(), name)


def processes() -> list[Process]:
    """Return the processes that reported lately. Raises ``RedisError``."""
    redis = client()
    names = cast("list[bytes]", redis.zrangebyscore(keys.processes(), _now(redis), "+inf"))
    if not names:
        return []
    bodies = cast("list[bytes | None]", redis.mget([keys.process(name.decode()) for name in names]))
    return [Process(**orjson.loads(body)) for body in bodies if body is not None]


def _now(redis: Redis) -> float:
    seconds, micros = redis.time()
    return seconds + micros / 1e6


@lru_cache(maxsize=1)
def _script() -> Script:
    return client().register_script((Path(__file__).parent / "lua" / "count.lua").read_text())
