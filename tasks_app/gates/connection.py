"""Our own Redis client, with short timeouts: an absent Redis must cost a moment, not a thread.

A Redis that refuses connections costs microseconds. One that does not answer costs a timeout,
and a request that asks it five times would wait for five: so after a timeout nobody asks for a
few seconds (``Patience``), and every caller takes the way that it takes without Redis.

RQ's workers change the connection pool that they are given, so they have clients of their own.
"""

import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

from tasks_app import conf

SOCKET_TIMEOUT = 2.0
"""Seconds for one command, or for connecting."""
PAUSE = 5.0
"""Seconds during which nobody asks a Redis that did not answer in time."""

T = TypeVar("T")

_failed_at = float("-inf")

__all__ = ["RedisError", "client", "private_client"]


def failed_within(seconds: float) -> bool:
    """Whether Redis failed this process at some moment of the last seconds."""
    return time.monotonic() - _failed_at < seconds


def note_failure() -> None:
    """Note that Redis could not be reached, or did not do what it was asked."""
    global _failed_at
    _failed_at = time.monotonic()


def forget_failures() -> None:
    """Begin anew (tests)."""
    global _failed_at
    _failed_at = float("-inf")


def is_wrong_type(error: RedisError) -> bool:
    """Whether a key holds something of another type than the one it was made for."""
    return "WRONGTYPE" in str(error)


class Patience(Retry):
    """How often to try: once more when a connection broke, not at all for a while after a timeout.

    The immediate retry covers a connection that the server closed while it was idle. A client
    asks its retry policy for every connect, command and pipeline, which makes it the one place
    where all of them can be refused. All connections of a client share one.
    """

    def __init__(self) -> None:
        super().__init__(NoBackoff(), 1, (RedisConnectionError,))
        self._until = 0.0

    def __deepcopy__(self, memo: dict[int, Any]) -> "Patience":
        return self

    def call_with_retry(
        self,
        do: Callable[[], T],
        fail: Callable[[Exception], Any] | Callable[[Exception, int], Any],
        is_retryable: Callable[[Exception], bool] | None = None,
        with_failure_count: bool = False,
    ) -> T:
        """Do it, or raise at once. Raises ``RedisError``."""
        if time.monotonic() < self._until:
            note_failure()
            raise RedisConnectionError("Redis did not answer a moment ago.")
        try:
            return super().call_with_retry(do, fail, is_retryable, with_failure_count)
        except RedisTimeoutError:
            self._until = time.monotonic() + PAUSE
            note_failure()
            raise
        except RedisConnectionError:
            note_failure()
            raise


def private_client(*, max_connections: int = 50) -> Redis:
    """Return a new client with a pool of its own, for a thread that must not wait for others."""
    return Redis.from_url(
        conf.redis_url(),
        socket_timeout=SOCKET_TIMEOUT,
        socket_connect_timeout=SOCKET_TIMEOUT,
        retry=Patience(),
        max_connections=max_connections,
        protocol=2,
    )


@lru_cache(maxsize=1)
def client() -> Redis:
    """Return the client that the threads of this process share."""
    return private_client()
