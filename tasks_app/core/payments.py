"""What follows an ending in the fair order: settling what was paid, learning what it costs."""

from uuid import UUID

from tasks_app.core import costs, fairness
from tasks_app.lifecycle import State
from tasks_app.models import Task


def settle(task_id: UUID) -> None:
    """Charge a task that has ended what it really took, and learn from a success; once.

    Does nothing while the task, or an execution of it, goes on. Raises database errors.
    """
    task = Task.objects.select_related("generator").filter(pk=task_id).first()
    if task is None or task.paid_by is None or not task.terminal:
        return
    used = fairness.settle(task.pk, task.paid_by)
    if used is not None and task.state == State.SUCCESS and task.attempt_number == 1:
        costs.learn(task.generator, task, used)
