"""Signs of life of workers, per pool."""

from typing import cast

from redis import Redis

from tasks_app.gates import keys
from tasks_app.gates.connection import client

LIFETIME = 15.0
"""Seconds after its last sign that a worker counts as gone."""


def alive(pool: str, name: str, redis: Redis) -> None:
    """Say that a worker lives."""
    now = _now(redis)
    with redis.pipeline() as pipe:
        pipe.zadd(keys.workers(pool), {name: now + LIFETIME})
        pipe.zremrangebyscore(keys.workers(pool), "-inf", now)
        pipe.expire(keys.workers(pool), int(LIFETIME * 4))
        pipe.execute()


def gone(pool: str, name: str, redis: Redis) -> None:
    """Say that a worker ended."""
    redis.zrem(keys.workers(pool), name)


def count(pool: str) -> int:
    """Return how many workers of the pool gave a sign of life lately."""
    redis = client()
    return int(redis.zcount(keys.workers(pool), _now(redis), "+inf"))


def signs(pool: str) -> list[tuple[str, float]]:
    """Return the pool's live workers with the seconds since their last sign, oldest first."""
    redis = client()
    now = _now(redis)
    found = redis.zrangebyscore(keys.workers(pool), now, "+inf", withscores=True)
    rows = cast("list[tuple[bytes, float]]", found)
    return [(name.decode(), max(0.0, now + LIFETIME - score)) for name, score in rows]


def _now(redis: Redis) -> float:
    seconds, micros = redis.time()
    return seconds + micros / 1e6
