"""Signs of life of workers, per pool."""

from typing import cast

from redis import Redis
from redis.exceptions import ResponseError

from tasks_app.gates import keys
from tasks_app.gates.connection import client, is_wrong_type

LIFETIME = 15.0
"""Seconds after its last sign that a worker counts as gone."""


def alive(pool: str, name: str, redis: Redis) -> None:
    """Say that a worker lives."""
    now, key = _now(redis), keys.workers(pool)
    try:
        with redis.pipeline() as pipe:
            pipe.zadd(key, {name: now + LIFETIME})
            pipe.zremrangebyscore(key, "-inf", now)
            pipe.expire(key, int(LIFETIME * 4))
            pipe.execute()
    except ResponseError as error:
        if is_wrong_type(error):
            redis.delete(key)  # every worker says it again within seconds
        raise


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
