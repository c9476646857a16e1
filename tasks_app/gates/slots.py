"""Slots: the distributed semaphore. One claim takes a slot in every scope or in none.

The rate of a generator's upstream is taken in the same decision (the generic cell rate algorithm
on Redis' clock): never without the slots. A claim that then loses its race in the database does
not give it back, so that the upstream is never asked more often than its contract allows; that
costs one interval. After Redis lost everything the rate begins as if just used up: closed, not
open.

A scope (all, a generator, an owner) is one sorted set: member = claim id, score = when its
lease ends, in milliseconds of Redis' clock. The count of a scope is the count of members
whose lease has not ended, so a crash gives slots back by itself. Each decision is one Lua
script: reading the count and then writing would admit more than the limit.

If Redis loses the sets (restart, FLUSHALL), nobody is admitted until they are complete
again: see ``lua/acquire.lua`` and ``restore``. Nor is anybody when it could not be reached for so
long that leases may have ended under executions that go on: somebody must have compared the sets
with the attempt table within the last seconds (``vouch``).
"""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast
from uuid import UUID, uuid4

from redis import Redis
from redis.commands.core import Script
from redis.exceptions import ResponseError

from tasks_app import conf
from tasks_app.gates import keys
from tasks_app.gates.connection import client, is_wrong_type

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A task that would like to run, and the limits of its generator and owner.

    ``interval``: seconds between two starts at the upstream's rate; 0: no limit. ``burst``: how
    many it allows at once after a pause.
    """

    task_id: UUID
    generator_id: UUID
    generator_limit: int
    owner_id: int
    owner_limit: int
    interval: float = 0.0
    burst: int = 1


@dataclass(frozen=True, slots=True)
class Rate:
    """A generator's upstream rate; see ``Candidate``."""

    generator_id: UUID
    interval: float
    burst: int


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds, or held, the slots of one claim."""

    claim_id: UUID
    task_id: UUID
    generator_id: UUID
    owner_id: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What an attempt to take slots gave: one of ``index``, ``restore`` or neither.

    ``index``: the candidate that got its slots. ``restore``: the sets must be rebuilt from
    the attempt table first; ``fence`` names the loss that they are rebuilt for. ``wait``: seconds
    until that is allowed. ``newly_full``: owners that this call found at their limit, so
    another look may find others. ``vouch``: the sets must be compared with the table first.
    """

    index: int | None = None
    newly_full: int = 0
    wait: float = 0.0
    restore: bool = False
    vouch: bool = False
    fence: str = ""


def acquire(claim_id: UUID, candidates: Sequence[Candidate]) -> Answer:
    """Take the slots of the first candidate with room everywhere, for the claim lease.

    Raises ``RedisError`` when Redis cannot be asked; then nothing may start.
    """
    settings = conf.get()
    scopes = [keys.slots_epoch(), keys.slots_all(), keys.slots_claiming(), keys.slots_full_owners()]
    arguments: list[str | int] = [
        str(claim_id),
        int(settings.claim_lease * 1000),
        settings.limit_all,
        int(settings.slot_fence * 1000),
    ]
    for one in candidates:
        generator = one.generator_id
        scopes += [keys.slots_generator(generator), keys.slots_owner(one.owner_id)]
        scopes.append(keys.slots_rate(generator))
        arguments += [str(one.task_id), one.generator_limit, one.owner_limit, one.owner_id]
        arguments += [_milliseconds(one.interval), one.burst]
    verdict, number = cast("list[Any]", _script("acquire")(keys=scopes, args=arguments))
    match verdict:
        case b"taken":
            return Answer(index=int(number) - 1)
        case b"fence":
            return Answer(wait=int(number) / 1000)
        case b"vouch":
            return Answer(vouch=True)
        case b"restore":
            return Answer(restore=True, fence=number.decode())
    return Answer(newly_full=int(number))


def notice_loss() -> None:
    """Start the fence if Redis has lost the sets, so that the next claim need not wait for it."""
    acquire(uuid4(), [])


def extend(holder: Holder, *, lease: float | None = None, redis: Redis | None = None) -> None:
    """Hold the claim's slots for ``lease`` seconds from now (default: the lease setting)."""
    seconds = conf.get().lease if lease is None else lease
    _script("extend")(
        keys=[*_scopes(holder), keys.slots_claiming()],
        args=[str(holder.claim_id), int(seconds * 1000), str(holder.task_id)],
        client=redis,
    )


def release(holder: Holder) -> int:
    """Give the claim's slots back; returns how many scopes still held it (0: none did)."""
    gone = _script("release")(
        keys=[*_scopes(holder), keys.slots_claiming(), keys.slots_full_owners()],
        args=[str(holder.claim_id), str(holder.task_id), holder.owner_id],
    )
    return int(cast("int", gone))


def restore(holders: Iterable[Holder], fence: str = "", rates: Iterable[Rate] = ()) -> None:
    """Declare the sets complete, after adding every execution that the attempt table knows.

    ``rates`` are those of which it is not known any more how far they are used up: they begin
    empty. ``fence`` is what ``acquire`` answered: should Redis have lost the sets once more in the
    meantime, they are not complete. Without it they are declared so in any case.
    """
    settings, begun = conf.get(), time.monotonic()
    for holder in holders:
        extend(holder, lease=settings.lease)
    lost = list(rates)
    _script("complete")(
        keys=[keys.slots_epoch(), *(keys.slots_rate(rate.generator_id) for rate in lost)],
        args=[fence, *(_milliseconds(rate.interval * rate.burst) for rate in lost)],
    )
    vouch(begun)


def rate_waits(rates: Sequence[Rate]) -> dict[UUID, float]:
    """Return the seconds until each of these upstreams may be asked again, where it is not now."""
    limited = [rate for rate in rates if rate.interval > 0]
    if not limited:
        return {}
    redis = client()
    seconds, micros = redis.time()
    now = seconds * 1000 + micros / 1000
    held = cast(
        "list[bytes | None]", redis.mget([keys.slots_rate(r.generator_id) for r in limited])
    )
    waits = {}
    for rate, tat in zip(limited, held, strict=True):
        interval = rate.interval * 1000
        ahead = min(_number(tat) - now, interval * rate.burst)
        wait = ahead - interval * (rate.burst - 1)
        if wait > 0:
            waits[rate.generator_id] = wait / 1000
    return waits


def _number(stored: bytes | None) -> float:
    try:
        return float(stored or 0)
    except ValueError:
        return 0.0


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.3f}"


def vouched_seconds() -> float:
    """Return for how long sets that were equal to the attempt table can be relied on.

    A claim that the table did not show then commits within half the fence of taking its slots,
    and they are held for the claim lease: whoever reads the table after this time finds it, and
    extends it, before its slots end. The other half of the fence is a margin.
    """
    settings = conf.get()
    return settings.claim_lease - settings.slot_fence


def vouch(since: float) -> bool:
    """Say that the sets hold every execution, each for at least ``vouched_seconds``.

    ``since`` is ``time.monotonic()`` before the table was read. Returns False when Redis has lost
    the sets: then a claim restores them.
    """
    left = vouched_seconds() - (time.monotonic() - since)
    return left > 0 and bool(_script("vouch")(keys=[keys.slots_epoch()], args=[int(left * 1000)]))


def full_owners() -> list[int]:
    """Return owners that were at their limit within the last seconds."""
    redis, scope = client(), keys.slots_full_owners()
    found = _mended([scope], lambda: redis.zrangebyscore(scope, _now(redis), "+inf"))
    return [int(owner) for owner in cast("list[bytes]", found) if owner.isdigit()]


def used(scopes: Sequence[str]) -> list[int]:
    """Return how many slots of each scope key are taken now."""
    if not scopes:
        return []
    redis = client()

    def count() -> list[int]:
        now = _now(redis)
        with redis.pipeline(transaction=False) as pipe:
            for scope in scopes:
                pipe.zcount(scope, now, "+inf")
            return [int(found) for found in pipe.execute()]

    return _mended(scopes, count)


def members(scope: str, *, seconds: float = 0.0) -> set[UUID]:
    """Return the claim ids that hold a slot of the scope, for so many seconds at least.

    What is no claim id is taken out.
    """
    redis = client()
    found = _mended([scope], lambda: redis.zrangebyscore(scope, _now(redis, seconds), "+inf"))
    claims = set()
    for member in cast("list[bytes]", found):
        try:
            claims.add(UUID(member.decode()))
        except ValueError:
            redis.zrem(scope, member)
    return claims


def _scopes(holder: Holder) -> list[str]:
    return [
        keys.slots_all(),
        keys.slots_generator(holder.generator_id),
        keys.slots_owner(holder.owner_id),
    ]


def _now(redis: Redis, later: float = 0.0) -> str:
    seconds, micros = redis.time()
    return f"({seconds * 1000 + micros // 1000 + int(later * 1000)}"


def _mended(scopes: Sequence[str], action: Callable[[], T]) -> T:
    """Do it; where a key turns out to be of another type, delete it and do it once more.

    Such keys would stop all claims until somebody finds them. They count as lost: see ``mend.lua``.
    """
    try:
        return action()
    except ResponseError as error:
        if not is_wrong_type(error):
            raise
        logger.error("keys of slots hold something else, and are made anew: %s", error)
        others = [scope for scope in scopes if scope != keys.slots_epoch()]
        types = ["string" if ":rate:" in scope else "zset" for scope in others]
        _registered("mend")(keys=[keys.slots_epoch(), *others], args=types)
        return action()


def _script(name: str) -> Callable[..., object]:
    """Return a script that mends its keys."""

    def run(
        *, keys: Sequence[str], args: Sequence[str | int], client: Redis | None = None
    ) -> object:
        return _mended(keys, lambda: _registered(name)(keys=keys, args=args, client=client))

    return run


@lru_cache(maxsize=8)
def _registered(name: str) -> Script:
    source = (Path(__file__).parent / "lua" / f"{name}.lua").read_text()
    return client().register_script(source)
