"""The one function that changes a task's state.

A change is a conditional UPDATE on id, expected state and expected attempt number. No row
means that somebody else was first: a normal answer, not an error. The history's line is
written in the same transaction.
"""

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F

from tasks_app import conf, logs
from tasks_app.core import announcements, fairness, quotas
from tasks_app.core.clock import written_now
from tasks_app.lifecycle import TERMINAL, EventKind, State, may_follow
from tasks_app.models import Artifact, Event, Generator, Task

logger = logging.getLogger(__name__)


class IllegalTransition(RuntimeError):
    """The code asked for a change that the transition table does not have."""


def move(
    task: Task,
    target: State,
    event: EventKind,
    *,
    data: dict[str, Any] | None = None,
    artifacts: Sequence[Artifact] = (),
    **changes: Any,
) -> bool:
    """Move a task from the state and attempt that the caller read to ``target``.

    ``changes`` are further columns to set; ``finished_at`` is set on terminal states. What must
    follow is written with it: ``artifacts``, the history's line, the callback that tells. Returns
    False, with nothing written, when the row is no longer as the caller read it. On success
    ``task`` itself is out of date. An ending that delivered nothing leaves the owner's count of
    the day. Raises ``IllegalTransition``.
    """
    source = State(task.state)
    if not may_follow(source, target):
        raise IllegalTransition(f"{source} -> {target}")
    queued = State.PENDING in (source, target)
    given_back = quotas.undelivered(source, target, changes.get("error_code", ""), data or {})
    with transaction.atomic():
        if queued:
            fairness.lock_flow(task.flow_id)
        if not _update(task, target, changes):
            return False
        if given_back:
            # Locked after flow and task. Whoever needs a flow takes it before it calls this.
            quotas.give_back(task)
            data = {**(data or {}), quotas.GIVEN_BACK: True}
        number = changes.get("attempt_number", task.attempt_number)
        if artifacts:
            Artifact.objects.bulk_create(artifacts)
        record(task, event, number, data, target=target)
        announcements.announce(task, target)
        if queued:
            fairness.refresh_head(task.flow_id)
    return True


def record(
    task: Task,
    kind: EventKind,
    attempt_number: int,
    data: dict[str, Any] | None = None,
    *,
    target: State | None = None,
) -> None:
    """Append a line to a task's history, and once that has committed, to the log.

    ``target`` is the state that the task, which is still as it was read, changes to.
    """
    Event.objects.create(
        task_id=task.pk,
        at=written_now(),
        kind=kind.value,
        attempt_number=attempt_number,
        data=data or {},
    )
    if logger.isEnabledFor(logging.INFO):
        line = (task, kind, attempt_number, data or {}, State(task.state), target)
        transaction.on_commit(partial(_say, *line), robust=True)


def _say(
    task: Task,
    kind: EventKind,
    attempt_number: int,
    data: dict[str, Any],
    source: State,
    target: State | None,
) -> None:
    about: dict[str, Any] = {
        "task": str(task.pk),
        "attempt": attempt_number,
        "request": task.request_id,
        "generator": _name_of(task),
        "event": kind.value,
        **{name: data[name] for name in ("code", "reason", "worker", "staff") if name in data},
    }
    if kind is EventKind.SUBMITTED:
        about |= {"to": source.value}
        if conf.get().log_prompts:
            about |= {"params": task.params}
    elif target is not None:
        about |= {"from": source.value, "to": target.value}
    told_by = logs.current("request")
    if told_by and told_by != task.request_id:
        about["by_request"] = told_by
    change = f"{source} -> {target}" if target else f"{task.state}"
    told = {name: value for name, value in about.items() if value != ""}
    logger.info("task %s: %s, %s", task.pk, kind.value, change, extra={"about": told})


_names: dict[UUID, str] = {}


def _name_of(task: Task) -> str:
    """Return the generator's name; for the log a remembered one is good enough."""
    if "generator" in task._state.fields_cache:
        return task.generator.name
    if task.generator_id not in _names:
        if len(_names) > 1_000:
            _names.clear()
        names = Generator.objects.filter(pk=task.generator_id).values_list("name", flat=True)
        _names[task.generator_id] = names.first() or str(task.generator_id)
    return _names[task.generator_id]


def _update(task: Task, target: State, changes: dict[str, Any]) -> int:
    if target in TERMINAL:
        changes = {"finished_at": written_now(), **changes}
    rows = Task.objects.filter(
        pk=task.pk, state=task.state, attempt_number=task.attempt_number
    ).update(state=target.value, version=F("version") + 1, **changes)
    return int(rows)
