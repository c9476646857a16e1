"""What may follow a commit: snapshot, bell, freed slots, word to the worker.

None of it is needed for correctness; the sweep can derive all of it again. So an absent Redis
is logged and swallowed here, and nothing here may run inside a transaction.
"""

import logging
from collections.abc import Callable, Sequence
from uuid import UUID

from django.db import DatabaseError, InterfaceError
from redis.exceptions import RedisError

from tasks_app import bells
from tasks_app.core import payments, queries
from tasks_app.core.seen import Seen
from tasks_app.gates import control, slots, snapshots

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


def ended(tasks: Sequence[Seen]) -> None:
    """After endings from outside: store the snapshot of one; of many, outdate those there are.

    Few of many are asked for again: those are read from the table, once. ``version`` must be
    that of now, but of one task.
    """
    if len(tasks) == 1:
        changed(tasks[0].pk)
        return
    versions = {task.pk: task.version for task in tasks}
    _quietly(lambda: snapshots.outdate(versions), "outdate snapshots")


def revoked(claim_ids: Sequence[UUID], reason: str) -> None:
    """After running attempts were told to stop: tell their workers."""
    if claim_ids:
        _quietly(lambda: control.stop(claim_ids, reason), "reach the worker")


def freed(holder: slots.Holder, pool: str) -> None:
    """After an execution was seen to have stopped: give its slots back and ring."""
    _quietly(lambda: slots.release(holder), "release slots")
    _quietly(lambda: control.clear(holder.claim_id), "clear a control key")
    bells.ring(pool)


def settled(task_ids: Sequence[UUID]) -> None:
    """After executions have stopped: settle what their tasks paid, and learn from successes.

    Together; and one by one when that fails, so that one of them does not keep the others.
    """
    if not task_ids:
        return
    try:
        payments.settle(task_ids)
    except (DatabaseError, InterfaceError) as error:
        if len(task_ids) == 1:
            logger.warning("could not settle what task %s paid: %s", task_ids[0], error)
            return
        for task_id in task_ids:
            settled([task_id])


def _quietly(action: Callable[[], object], purpose: str) -> None:
    try:
        action()
    except RedisError as error:
        logger.warning("could not %s: %s", purpose, error)
