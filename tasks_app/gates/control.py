"""The control key: how a cancel reaches the worker within a second."""

from uuid import UUID

from redis import Redis

from tasks_app.gates import keys
from tasks_app.gates.connection import client

_LIFETIME = 3600
"""Seconds a control key stays: longer than any worker needs to notice, short enough to vanish."""


def stop(claim_id: UUID, reason: str) -> None:
    """Tell the worker of this claim to stop."""
    client().set(keys.control(claim_id), reason, ex=_LIFETIME)


def asked_to_stop(claim_id: UUID, redis: Redis) -> str | None:
    """Return the reason why this claim should stop, or None."""
    reason = redis.get(keys.control(claim_id))
    return reason.decode() if isinstance(reason, bytes) else None


def clear(claim_id: UUID) -> None:
    """Forget what was said to a claim that has ended."""
    client().delete(keys.control(claim_id))
