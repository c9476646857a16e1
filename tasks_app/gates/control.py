"""The control key: how a cancel reaches the worker within a second."""

from collections.abc import Iterable
from uuid import UUID

from redis import Redis

from tasks_app.gates import keys
from tasks_app.gates.connection import client

_LIFETIME = 3600
"""Seconds a control key stays: longer than any worker needs to notice, short enough to vanish."""


def stop(claim_ids: Iterable[UUID], reason: str) -> None:
    """Tell the workers of these claims to stop, in one round trip."""
    with client().pipeline(transaction=False) as pipe:
        for claim_id in claim_ids:
            pipe.set(keys.control(claim_id), reason, ex=_LIFETIME)
        pipe.execute()


def asked_to_stop(claim_id: UUID, redis: Redis) -> str | None:
    """Return the reason why this claim should stop, or None."""
    reason = redis.get(keys.control(claim_id))
    return reason.decode() if isinstance(reason, bytes) else None


def clear(claim_id: UUID) -> None:
    """Forget what was said to a claim that has ended."""
    client().delete(keys.control(claim_id))
