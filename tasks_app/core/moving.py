"""Moving a waiting task to another generator or pool, where it gets a place of its own."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import F

from tasks_app import bells
from tasks_app.core import costs, effects, fairness
from tasks_app.core.transitions import record
from tasks_app.lifecycle import EventKind, Priority, State
from tasks_app.models import Generator, Task


def move_to(
    task: Task,
    generator: Generator,
    *,
    params: Mapping[str, Any] | None = None,
    degraded: bool = False,
    told: Mapping[str, str] | None = None,
) -> bool:
    """Let a pending task wait for this generator, in the pool that the generator has now.

    It enters its new flow behind what waits there. What it waited for was not paid yet; what it
    had paid, because it had started before, is given back, so it pays at its next start.
    ``params`` are the parameters as the new generator has validated them (default: unchanged),
    ``degraded`` says that they are not what was asked for, ``told`` what the history adds.
    Returns False, with nothing written, when the task is no longer pending as the caller read
    it, or is there already.
    """
    if task.state != State.PENDING:
        return False
    if (task.generator_id, task.pool) == (generator.pk, generator.pool):
        return False
    priority = Priority(task.priority)
    target = fairness.flow_of(generator, task.owner_id, priority)
    values = dict(task.params if params is None else params)
    with transaction.atomic():
        fairness.lock_flows([task.flow_id, target])
        place = fairness.enter(generator, task.owner_id, priority)
        moved = Task.objects.filter(
            pk=task.pk,
            state=State.PENDING.value,
            attempt_number=task.attempt_number,
            flow_id=task.flow_id,
        ).update(
            generator=generator,
            pool=generator.pool,
            flow_id=place.flow_id,
            tag=place.tag,
            params=values,
            cost=costs.expected(generator, values),
            share=0.0,
            paid_tag=None,
            paid_by=None,
            degraded=task.degraded or degraded,
            version=F("version") + 1,
        )
        if not moved:
            transaction.set_rollback(True)
            return False
        record(task, EventKind.REQUEUED, task.attempt_number, _said(task, generator, told))
        for flow_id in (task.flow_id, place.flow_id):
            fairness.refresh_head(flow_id)
    if task.paid_by is not None:
        fairness.give_back(task.paid_by, task.share)
    effects.changed(task.pk)
    bells.ring(generator.pool)
    return True


def _said(task: Task, generator: Generator, told: Mapping[str, str] | None) -> dict[str, Any]:
    where = "pool" if task.generator_id == generator.pk else "generator"
    return {
        "reason": f"moved to another {where}",
        "pool": generator.pool,
        "to": generator.name,
        **(told or {}),
    }
