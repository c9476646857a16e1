"""Cancel: pending and running tasks end as ``failed``/``canceled``; ended ones stay as they are."""

from typing import Final
from uuid import UUID

from tasks_app.core import outcomes
from tasks_app.core.access import own_task
from tasks_app.lifecycle import ErrorCode, EventKind, State

_TRIES: Final = 10


def cancel(task_id: UUID, owner_id: int) -> bool:
    """Cancel an owner's task; False when it had ended before. Raises ``NotFound``.

    Tries again when the task changes under its hands (claimed, requeued): each such change
    uses up an attempt or ends the task, so a few tries are enough.
    """
    for _ in range(_TRIES):
        task = own_task(task_id, owner_id)
        if task.terminal:
            return False
        if outcomes.end_now(task, State.FAILED, EventKind.CANCELED, ErrorCode.CANCELED):
            return True
    return False
