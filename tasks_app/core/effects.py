"""What may follow a commit: snapshot, bell, freed slots, word to the worker.

None of it is needed for correctness; the sweep can derive all of it again. So an absent Redis
is logged and swallowed here, and nothing here may run inside a transaction.
"""

import logging
from collections.abc import Callable
from uuid import UUID

from django.db import DatabaseError, InterfaceError
from redis.exceptions import RedisError

from tasks_app import bells
from tasks_app.core import payments, queries
from tasks_app.gates import control, slots

logger = logging.getLogger(__name__)


def accepted(task_id: UUID, pool: str) -> None:
    """After a submission: store the snapshot and ring."""
    changed(task_id)
    bells.ring_on_commit(pool)


def claimed(holder: slots.Holder) -> None:
    """After a claim committed: hold its slots for the full lease."""
    _quietly(lambda: slots.extend(holder), "hold slots")


def unclaimed(holder: slots.Holder) -> None:
    """Give the slots of a claim back that does not run: it lost its race, or is over."""
    _quietly(lambda: slots.release(holder), "release slots")


def changed(task_id: UUID) -> None:
    """After any change of a task: store its new snapshot."""
    _quietly(lambda: queries.store_snapshot(task_id), "store a snapshot")


def revoked(claim_id: UUID, reason: str) -> None:
    """After a running attempt was told to stop: tell its worker."""
    _quietly(lambda: control.stop(claim_id, reason), "reach the worker")


def freed(holder: slots.Holder, pool: str) -> None:
    """After an execution was seen to have stopped: give its slots back and ring."""
    _quietly(lambda: slots.release(holder), "release slots")
    _quietly(lambda: control.clear(holder.claim_id), "clear a control key")
    bells.ring(pool)


def settled(task_id: UUID) -> None:
    """After an execution has stopped: settle what its task paid, and learn from a success."""
    try:
        payments.settle(task_id)
    except (DatabaseError, InterfaceError) as error:
        logger.warning("could not settle what task %s paid: %s", task_id, error)


def _quietly(action: Callable[[], object], purpose: str) -> None:
    try:
        action()
    except RedisError as error:
        logger.warning("could not %s: %s", purpose, error)
