"""What staff may do to tasks of others: each action says whether it changed anything.

They take the same ways as everybody else (compare-and-set, never a state written by hand), so
repeating one, or racing with a worker, does no harm. The history says who did it.
"""

import logging
from typing import Final
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import transaction

from tasks_app.core import effects, outcomes, submission
from tasks_app.core.claim import holder_of
from tasks_app.core.errors import Refusal
from tasks_app.core.transitions import record
from tasks_app.gates import slots
from tasks_app.lifecycle import ErrorCode, EventKind, State
from tasks_app.models import Attempt, Task

logger = logging.getLogger(__name__)

_TRIES: Final = 10


def cancel(task_id: UUID, by: str) -> bool:
    """Cancel a task; False when it had ended before."""
    for _ in range(_TRIES):
        task = _task(task_id)
        if task is None or task.terminal:
            return False
        told = {"by": "staff", "staff": by}
        if outcomes.end_now(task, State.FAILED, EventKind.CANCELED, ErrorCode.CANCELED, told=told):
            return True
    return False


def time_out(task_id: UUID, by: str) -> bool:
    """End a task as if its deadline had passed; False when it had ended before."""
    for _ in range(_TRIES):
        task = _task(task_id)
        if task is None or task.terminal:
            return False
        if outcomes.timed_out(task, told={"by": "staff", "staff": by}):
            return True
    return False


def retry(task_id: UUID, by: str) -> bool:
    """Submit an ended task's request once more, for its owner and within the owner's limits.

    Repeating it within the life of an idempotency key finds the task that was made, and
    changes nothing. False as well when the task has not ended, or its owner may not submit now.
    """
    task = _task(task_id)
    if task is None or not task.terminal:
        return False
    owner = get_user_model().objects.get(pk=task.owner_id)
    if not owner.is_active:
        return False
    try:
        made = submission.resubmit(owner, task, f"staff-retry-{task.pk}", task.request_id)
    except Refusal:
        return False
    if made.reused:
        return False
    _note(task, "retry", by, task_id=str(made.task_id))
    return True


def release_slots(task_id: UUID, by: str) -> bool:
    """Give back the slots of executions that were told to stop and that nobody sees stop.

    A task that runs keeps its slots: cancel it first. Should the execution go on all the same
    (code that does not listen), more runs than the limit says, until it ends.
    """
    task = _task(task_id)
    if task is None or not task.terminal:
        return False
    freed = False
    for attempt in (
        Attempt.objects.select_related("task").filter(task_id=task.pk).order_by("number")
    ):
        if attempt.ended_at is None:
            outcomes.stopped(attempt)
            freed = True
        elif slots.release(holder_of(attempt)):
            effects.freed(holder_of(attempt), task.pool)
            freed = True
    if freed:
        _note(task, "release_slots", by)
    return freed


def _task(task_id: UUID) -> Task | None:
    return Task.objects.select_related("generator").filter(pk=task_id).first()


def _note(task: Task, action: str, by: str, **more: str) -> None:
    """Append to the history of an ended task, unless the archive has taken it meanwhile.

    The row is held: the archive passes it by, or is waited for. Otherwise one of both would fail.
    """
    data = {"action": action, "by": "staff", "staff": by, **more}
    with transaction.atomic():
        held = Task.objects.select_for_update(no_key=True).filter(pk=task.pk)
        if list(held.values_list("pk")):
            record(task, EventKind.STAFF_ACTION, task.attempt_number, data)
            return
    logger.warning("task %s is archived: %s by %s", task.pk, action, by)
