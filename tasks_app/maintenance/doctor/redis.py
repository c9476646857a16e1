"""Redis or Valkey: reached, new enough, never evicting, durable, writable."""

from typing import Any, Final
from urllib.parse import urlsplit

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    NoPermissionError,
    RedisError,
    ResponseError,
)
from redis.retry import Retry

from tasks_app import conf
from tasks_app.gates import keys
from tasks_app.maintenance.doctor.finding import Finding, ok, one_line, problem, warning

OLDEST: Final = (7, 0)
_SECONDS: Final = 3.0
_NEARLY_FULL: Final = 0.8


def reachable() -> Finding:
    """Connect with a short timeout; tell the usual causes apart; look at the version."""
    try:
        info = _info("server")
    except RedisError as error:
        return _unreachable(error)
    if info.get("server_name") == "valkey":
        return ok(f"Valkey {info.get('valkey_version')} answers.")
    found = str(info.get("redis_version", "0"))
    if tuple(int(part) for part in found.split(".")[:2]) < OLDEST:
        return problem(f"Redis {found} is too old.", "Upgrade it to Redis 7.0 or newer, or Valkey.")
    return ok(f"Redis {found} answers.")


def _unreachable(error: RedisError) -> Finding:
    message = one_line(error)
    if isinstance(error, AuthenticationError | NoPermissionError) or "NOAUTH" in message:
        return problem(
            "Redis refused the user or the password of REDIS_URL.",
            "Write it as redis://:password@host:port/0, with what requirepass says.",
        )
    if isinstance(error, BusyLoadingError):
        return problem("Redis is still reading its data.", "Wait until it is ready.")
    if isinstance(error, ResponseError):
        return problem(f"Redis refused: {message}", "Correct user and database in REDIS_URL.")
    if "SSL" in message or "certificate" in message:
        return problem(
            f"The encrypted connection to Redis fails: {message}",
            "Correct ssl_ca_certs in REDIS_URL, or the certificate, or redis:// for rediss://.",
        )
    return problem(
        f"Redis at {_where()} cannot be reached: {message}",
        "Start Redis, or correct host and port in REDIS_URL; look at firewalls in between.",
    )


def never_evicts() -> Finding:
    """A slot that was evicted would let too much run; a full Redis must refuse instead."""
    info = _info("memory")
    policy = str(info.get("maxmemory_policy", "noeviction"))
    if policy != "noeviction":
        return problem(
            f"Redis throws keys away when its memory is full (maxmemory-policy {policy}).",
            "Set `maxmemory-policy noeviction` in redis.conf, and `redis-cli CONFIG SET` the same.",
        )
    used, most = int(info.get("used_memory", 0)), int(info.get("maxmemory", 0))
    if most and used > most * _NEARLY_FULL:
        return warning(
            f"{used >> 20} of {most >> 20} MB of Redis' memory are in use; then it takes no more.",
            "Raise maxmemory, or give Darkroom a Redis of its own.",
        )
    return ok("Redis never throws keys away.")


def persists() -> Finding:
    """Without it a restart costs a pause and all snapshots; nothing is lost."""
    info = _info("persistence")
    if int(info.get("aof_enabled", 0)):
        if info.get("aof_last_write_status", "ok") != "ok":
            return problem("Redis cannot write its append-only file.", "Look at its log and disk.")
        return ok("Redis keeps what it holds (append-only file).")
    return warning(
        "Redis has no append-only file: a restart stops claims until slots are rebuilt.",
        "Set `appendonly yes` in redis.conf, and `redis-cli CONFIG SET appendonly yes`.",
    )


def takes_writes() -> Finding:
    """Write a key of ours: a replica, a full memory or a failed dump refuse."""
    try:
        with _client() as client:
            client.set(keys.doctor(), "1", ex=10)
    except RedisError as error:
        return problem(
            f"Redis refuses writes: {one_line(error)}",
            "Point REDIS_URL at the primary; look at its memory, disk and log.",
        )
    if int(_info("cluster").get("cluster_enabled", 0)):
        return problem("This is a Redis Cluster.", "Use one primary, with a replica if you like.")
    return ok("Redis takes writes.")


def _info(section: str) -> dict[str, Any]:
    with _client() as client:
        return dict(client.info(section))


def _client() -> Redis:
    return Redis.from_url(
        conf.redis_url(),
        socket_timeout=_SECONDS,
        socket_connect_timeout=_SECONDS,
        retry=Retry(NoBackoff(), 0),
        protocol=2,
    )


def _where() -> str:
    url = urlsplit(conf.redis_url())
    return url.path if url.scheme == "unix" else f"{url.hostname}, port {url.port or 6379}"
