"""Our own Redis client, with short timeouts: an absent Redis must cost a moment, not a thread.

RQ changes the connection pool that it is given, so it has a client of its own.
"""

from functools import lru_cache

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from tasks_app import conf

SOCKET_TIMEOUT = 2.0
"""Seconds for one command, or for connecting."""

__all__ = ["RedisError", "client", "private_client"]


def private_client(*, max_connections: int = 50) -> Redis:
    """Return a new client with a pool of its own, for a thread that must not wait for others."""
    # One immediate retry: it covers a connection that the server closed while it was idle.
    return Redis.from_url(
        conf.redis_url(),
        socket_timeout=SOCKET_TIMEOUT,
        socket_connect_timeout=SOCKET_TIMEOUT,
        retry=Retry(NoBackoff(), 1),
        max_connections=max_connections,
        protocol=2,
    )


@lru_cache(maxsize=1)
def client() -> Redis:
    """Return the client that the threads of this process share."""
    return private_client()
