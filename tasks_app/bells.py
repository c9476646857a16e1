"""The doorbell: the only module that talks to django-rq.

An RQ job carries no task. It says "pool P may have work", and losing it, doubling it or
hearing it late does no harm: the ticker rings again for whatever is due.
"""

import logging
from functools import partial

import django_rq
from django.db import transaction
from redis import Redis
from redis.exceptions import RedisError, ResponseError
from rq import Queue
from rq.serializers import JSONSerializer

from tasks_app.gates.connection import client, is_wrong_type

logger = logging.getLogger(__name__)

HEAR = "tasks_app.jobs.hear"
"""The job's name is a contract with workers of other versions: it never changes."""

POLL = "tasks_app.jobs.poll"
"""So is this one's."""
POLLS = "-polls"
"""What follows a pool's name in the name of the queue that is about its submitted work."""

CALLBACKS = "callbacks"
"""The queue of the deliverers of callbacks: no pool of generators may be called so."""

_MAX_WAITING = 32
"""Bells a queue may hold; more would only be answered "nothing to do"."""
_MAX_POLLS_WAITING = 2
_FAILURE_TTL = 60


def queue(pool: str) -> Queue:
    """Return the RQ queue of a pool, for its worker."""
    return _queue(pool, connection())


def connection() -> Redis:
    """Return a new Redis client for an RQ worker, which blocks on it and changes its timeouts."""
    return django_rq.get_connection("default")


def _queue(pool: str, redis: Redis) -> Queue:
    # The JSON serializer: pickle would execute code.
    return Queue(pool, connection=redis, serializer=JSONSerializer, default_timeout=-1)


def waiting(pool: str) -> int:
    """Return how many bells of a pool nobody has heard yet (the raw length of the list)."""
    redis = client()
    key = _queue(pool, redis).key
    try:
        return int(redis.llen(key))
    except ResponseError as error:
        if not is_wrong_type(error):
            raise
        logger.error("the bells of pool %s hold something else, and are made anew", pool)
        redis.delete(key)
        return 0


def ring(pool: str, times: int = 1) -> int:
    """Ring for a pool, unless enough bells wait already; returns how many bells were rung.

    Never raises for an absent Redis: the task is safe in the table and the ticker rings again.
    Rings over our own client, whose short timeouts keep a silent Redis from stopping a request.
    """
    # A deliverer takes all that is due: one bell that nobody has heard yet is enough.
    return _rung(HEAR, pool, pool, times, 1 if pool == CALLBACKS else _MAX_WAITING)


def ring_polls(pool: str) -> int:
    """Ring for whoever asks upstreams about a pool's submitted work; never raises either.

    Each bell is heard by somebody who takes all that is due, so that few are needed.
    """
    return _rung(POLL, f"{pool}{POLLS}", pool, 1, _MAX_POLLS_WAITING)


def _rung(job: str, name: str, pool: str, times: int, most: int) -> int:
    try:
        wanted = min(times, most - waiting(name))
        for _ in range(wanted):
            _queue(name, client()).enqueue(
                job, pool, result_ttl=0, failure_ttl=_FAILURE_TTL, description=f"bell {name}"
            )
    except RedisError as error:
        logger.warning("could not ring for %s: %s", name, error)
        return 0
    return max(wanted, 0)


def ring_on_commit(pool: str) -> None:
    """Ring once the current transaction has committed (at once when there is none)."""
    transaction.on_commit(partial(ring, pool), robust=True)
