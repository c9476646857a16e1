"""Snapshots: the small documents in Redis that answer polls without touching PostgreSQL.

A snapshot is written only if it is newer than the one that is there (by the task's version),
so a slow reader of the table cannot put an old state over a new one.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import cast
from uuid import UUID

from redis.commands.core import Script
from redis.exceptions import RedisError

from tasks_app.gates import keys
from tasks_app.gates.connection import client, note_failure

LIVE_SECONDS = 10
"""A snapshot of a task that may still change lives shortly: a lost write heals by itself."""
TERMINAL_SECONDS = 3600

_WRITE = """
local held = tonumber(redis.call('HGET', KEYS[1], 'version'))
if held and held > tonumber(ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], 'version', ARGV[1], 'body', ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[3])
return 1
"""


def write(task_id: UUID, version: int, body: bytes, *, terminal: bool) -> bool:
    """Store a snapshot unless a newer one is there; returns whether it was stored.

    Raises ``RedisError``, also while Redis answers reads but has no memory for writes: then this
    process knows that older snapshots than the table live on.
    """
    lifetime = TERMINAL_SECONDS if terminal else LIVE_SECONDS
    try:
        return bool(_script()(keys=[keys.snapshot(task_id)], args=[version, body, lifetime]))
    except RedisError:
        note_failure()
        raise


_OUTDATE = """
for index, key in ipairs(KEYS) do
    local held = redis.pcall('HGET', key, 'version')
    if type(held) == 'table' then redis.call('DEL', key) held = false end
    if not held or tonumber(held) < tonumber(ARGV[index + 1]) then
        if held then redis.call('HDEL', key, 'body') end
        redis.call('HSET', key, 'version', ARGV[index + 1])
        redis.call('EXPIRE', key, ARGV[1])
    end
end
"""


def outdate(versions: Mapping[UUID, int]) -> None:
    """Say that tasks have ended, in one round trip: drop their snapshots older than this version.

    The next poll reads the table. A slow reader of the table cannot put back what it saw before,
    as the version stays.
    """
    if versions:
        arguments = [TERMINAL_SECONDS, *versions.values()]
        _outdating()(keys=keys.snapshots(versions), args=arguments)


def read(task_ids: list[UUID]) -> list[tuple[bytes | None, bytes | None]]:
    """Return (snapshot, progress) of each task, in one round trip."""
    with client().pipeline(transaction=False) as pipe:
        for task_id in task_ids:
            pipe.hget(keys.snapshot(task_id), "body")
            pipe.get(keys.progress(task_id))
        found = cast("list[bytes | None]", pipe.execute())
    return list(zip(found[::2], found[1::2], strict=True))


def forget(task_ids: list[UUID]) -> None:
    """Drop snapshots; the next poll reads the table."""
    if task_ids:
        client().delete(*keys.snapshots(task_ids))


@lru_cache(maxsize=1)
def _script() -> Script:
    return client().register_script(_WRITE)


@lru_cache(maxsize=1)
def _outdating() -> Script:
    return client().register_script(_OUTDATE)
