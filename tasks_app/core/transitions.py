"""The one function that changes a task's state.

A change is a conditional UPDATE on id, expected state and expected attempt number. No row
means that somebody else was first: a normal answer, not an error. The history's line is
written in the same transaction.
"""

from typing import Any

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from tasks_app.core import fairness
from tasks_app.lifecycle import TERMINAL, EventKind, State, may_follow
from tasks_app.models import Event, Task


class IllegalTransition(RuntimeError):
    """The code asked for a change that the transition table does not have."""


def move(
    task: Task,
    target: State,
    event: EventKind,
    *,
    data: dict[str, Any] | None = None,
    **changes: Any,
) -> bool:
    """Move a task from the state and attempt that the caller read to ``target``.

    ``changes`` are further columns to set; ``finished_at`` is set on terminal states. Returns
    False, with nothing written, when the row is no longer as the caller read it. On success
    ``task`` itself is out of date. Raises ``IllegalTransition``.
    """
    source = State(task.state)
    if not may_follow(source, target):
        raise IllegalTransition(f"{source} -> {target}")
    queued = State.PENDING in (source, target)
    with transaction.atomic():
        if queued:
            fairness.lock_flow(task.flow_id)
        if not _update(task, target, changes):
            return False
        record(task, event, changes.get("attempt_number", task.attempt_number), data)
        if queued:
            fairness.refresh_head(task.flow_id)
    return True


def record(
    task: Task, kind: EventKind, attempt_number: int, data: dict[str, Any] | None = None
) -> None:
    """Append a line to a task's history."""
    Event.objects.create(
        task_id=task.pk, at=Now(), kind=kind.value, attempt_number=attempt_number, data=data or {}
    )


def _update(task: Task, target: State, changes: dict[str, Any]) -> int:
    if target in TERMINAL:
        changes = {"finished_at": Now(), **changes}
    rows = Task.objects.filter(
        pk=task.pk, state=task.state, attempt_number=task.attempt_number
    ).update(state=target.value, version=F("version") + 1, **changes)
    return int(rows)
