"""What follows an ending in the fair order: settling what was paid, learning what it costs."""

from collections.abc import Iterable
from uuid import UUID

from tasks_app.core import costs, fairness
from tasks_app.lifecycle import TERMINAL, State
from tasks_app.models import Task


def settle(task_ids: Iterable[UUID]) -> None:
    """Charge tasks that have ended what they really took, and learn from successes; once.

    Does nothing for a task while it, or an execution of it, goes on. Raises database errors.
    """
    ended = {
        task.pk: task
        for task in Task.objects.select_related("generator").filter(
            pk__in=list(task_ids), state__in=sorted(TERMINAL), paid_by__isnull=False
        )
    }
    paid_by = {task.pk: task.paid_by for task in ended.values() if task.paid_by is not None}
    if not paid_by:
        return
    for task_id, used in fairness.settle(paid_by).items():
        task = ended[task_id]
        if task.state == State.SUCCESS and task.attempt_number == 1:
            costs.learn(task.generator, task, used)
