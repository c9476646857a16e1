"""The one function that changes tasks' states, for one or for many at once.

A change is a conditional UPDATE on id, expected state and expected attempt number, and while a
task waits, on its flow. No row means that somebody else was first: a normal answer, not an error.
The history's line is written in the same transaction.
"""

import json
import logging
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F

from tasks_app import conf, logs
from tasks_app.core import announcements, fairness, quotas
from tasks_app.core.clock import passed_in, written_now
from tasks_app.core.seen import Seen
from tasks_app.lifecycle import TERMINAL, EventKind, State, may_follow
from tasks_app.models import Artifact, Generator, Task, new_id

logger = logging.getLogger(__name__)


class IllegalTransition(RuntimeError):
    """The code asked for a change that the transition table does not have."""


def move(
    task: Seen,
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
    return bool(move_many([task], target, event, data=data, artifacts=artifacts, **changes))


def move_many(
    tasks: Sequence[Seen],
    target: State,
    event: EventKind,
    *,
    data: dict[str, Any] | None = None,
    artifacts: Sequence[Artifact] = (),
    **changes: Any,
) -> list[Seen]:
    """Move tasks that the caller read in one and the same state to ``target``, as ``move`` does.

    All in one transaction and in a number of statements that does not grow with theirs. Returns
    those that were moved. Of several tasks those are left out that somebody else holds at this
    moment, and ``version`` of those that were moved is that of now; one alone is waited for.
    ``changes`` of several are plain values. Raises ``IllegalTransition``, and ``ValueError`` when
    the tasks are of several states.
    """
    if not tasks:
        return []
    source = _state_of(tasks)
    if not may_follow(source, target):
        raise IllegalTransition(f"{source} -> {target}")
    flows = {task.flow_id for task in tasks} if State.PENDING in (source, target) else set()
    given_back = quotas.undelivered(source, target, changes.get("error_code", ""), data or {})
    with transaction.atomic():
        if flows:
            fairness.lock_flows(flows)
        moved = _update(tasks, flows, target, changes)
        if not moved:
            return []
        if given_back:
            # Locked after flow and task. Whoever needs a flow takes it before it calls this.
            quotas.give_back(moved)
            data = {**(data or {}), quotas.GIVEN_BACK: True}
        if artifacts:
            Artifact.objects.bulk_create(artifacts)
        numbers = [changes.get("attempt_number", task.attempt_number) for task in moved]
        _record(moved, event, numbers, data or {}, target)
        announcements.announce(moved, target)
        if flows:
            fairness.refresh_heads(flows)
    return moved


def record(
    task: Task, kind: EventKind, attempt_number: int, data: dict[str, Any] | None = None
) -> None:
    """Append a line to a task's history, and once that has committed, to the log."""
    _record([task], kind, [attempt_number], data or {}, None)


# Arrays: hundreds of rows of parameters would cost more to write down than to insert.
_RECORD = """
INSERT INTO tasks_app_event (id, task_id, at, kind, attempt_number, data)
SELECT line.id, line.task_id, COALESCE(%(at)s::timestamptz, statement_timestamp()), %(kind)s,
    line.number, %(data)s::jsonb
FROM unnest(%(ids)s::uuid[], %(tasks)s::uuid[], %(numbers)s::int[]) AS line(id, task_id, number)
"""


def _record(
    tasks: Sequence[Seen],
    kind: EventKind,
    numbers: Sequence[int],
    data: dict[str, Any],
    target: State | None,
) -> None:
    """Append the same line to the histories of tasks.

    ``target`` is the state that the tasks, which are still as they were read, change to.
    """
    values: dict[str, Any] = {
        "ids": [new_id() for _ in tasks],
        "tasks": [task.pk for task in tasks],
        "numbers": numbers,
        "at": passed_in(),
        "kind": kind.value,
        "data": json.dumps(data),
    }
    with connection.cursor() as cursor:
        cursor.execute(_RECORD, values)
    if not logger.isEnabledFor(logging.INFO):
        return
    for task, number in zip(tasks, numbers, strict=True):
        line = (task, kind, number, data, State(task.state), target)
        transaction.on_commit(partial(_say, *line), robust=True)


def _say(
    task: Seen,
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
        if conf.get().log_prompts and isinstance(task, Task):
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


def _name_of(task: Seen) -> str:
    """Return the generator's name; for the log a remembered one is good enough."""
    if isinstance(task, Task) and "generator" in task._state.fields_cache:
        return task.generator.name
    if task.generator_id not in _names:
        if len(_names) > 1_000:
            _names.clear()
        names = Generator.objects.filter(pk=task.generator_id).values_list("name", flat=True)
        _names[task.generator_id] = names.first() or str(task.generator_id)
    return _names[task.generator_id]


def _state_of(tasks: Sequence[Seen]) -> State:
    states = {task.state for task in tasks}
    if len(states) > 1:
        raise ValueError(f"tasks of several states: {sorted(states)}")
    return State(states.pop())


def _update(
    tasks: Sequence[Seen], flows: Collection[UUID], target: State, changes: dict[str, Any]
) -> list[Seen]:
    """Compare and set; returns the tasks whose rows were as the caller read them.

    A task that has changed its flow since waits where its head is not looked after, unless that
    flow is one of ``flows``, which are locked (none: it enters or leaves no queue).
    """
    if len(tasks) > 1:
        return _update_many(tasks, flows, target, changes)
    (task,) = tasks
    if target in TERMINAL:
        changes = {"finished_at": written_now(), **changes}
    same = Task.objects.filter(pk=task.pk, state=task.state, attempt_number=task.attempt_number)
    if flows:
        same = same.filter(flow_id__in=flows)
    return [task] if same.update(state=target.value, version=F("version") + 1, **changes) else []


# Whose rows these are is known only while they are held; they are taken in the order of their
# ids, by the weaker lock that lets others write lines of history meanwhile.
_UPDATE = """
WITH held AS (
    SELECT task.id FROM tasks_app_task AS task
    JOIN unnest(%(ids)s::uuid[], %(numbers)s::int[]) AS read(id, attempt_number)
        ON task.id = read.id AND task.attempt_number = read.attempt_number
    WHERE task.state = %(source)s AND (%(anywhere)s OR task.flow_id = ANY(%(flows)s::uuid[]))
    ORDER BY task.id FOR NO KEY UPDATE OF task SKIP LOCKED
)
UPDATE tasks_app_task AS task SET state = %(target)s, version = task.version + 1{more}
FROM held WHERE task.id = held.id
RETURNING task.id, task.version
"""
_ENDED = ", finished_at = COALESCE(%(at)s::timestamptz, statement_timestamp())"


def _update_many(
    tasks: Sequence[Seen], flows: Collection[UUID], target: State, changes: dict[str, Any]
) -> list[Seen]:
    values: dict[str, Any] = {
        "ids": [task.pk for task in tasks],
        "numbers": [task.attempt_number for task in tasks],
        "source": tasks[0].state,
        "target": target.value,
        "anywhere": not flows,
        "flows": list(flows),
        "at": passed_in(),
    }
    columns = {field.name: field for field in Task._meta.concrete_fields}
    more = [_ENDED] if target in TERMINAL else []
    for name, value in changes.items():
        more.append(f", {columns[name].column} = %(new_{name})s")
        values[f"new_{name}"] = columns[name].get_db_prep_save(value, connection)
    with connection.cursor() as cursor:
        cursor.execute(_UPDATE.format(more="".join(more)), values)
        versions: dict[UUID, int] = dict(cursor.fetchall())
    moved = {task.pk: task for task in tasks if task.pk in versions}
    for task_id, task in moved.items():
        task.version = versions[task_id]
    return list(moved.values())
