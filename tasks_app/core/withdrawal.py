"""Withdrawing a generator: it takes no tasks any more, and what waits for it ends."""

from typing import Final

from tasks_app.core import outcomes
from tasks_app.lifecycle import ErrorCode, EventKind, State
from tasks_app.models import Generator, Task

BATCH: Final = 500
_BATCHES: Final = 1_000


def withdraw(generator: Generator, by: str) -> int:
    """Stop offering a generator and end its pending tasks as canceled; returns how many.

    What runs ends by itself. A submission that had read the generator before may still add a
    task; so the last batch is the one that finds nothing.
    """
    Generator.objects.filter(pk=generator.pk).update(enabled=False)
    told = {"by": "staff", "staff": by, "reason": "generator withdrawn"}
    ended = 0
    for _ in range(_BATCHES):
        waiting = Task.objects.select_related("generator").filter(
            generator_id=generator.pk, state=State.PENDING.value
        )
        found = list(waiting.order_by("pk")[:BATCH])
        if not found:
            break
        for task in found:
            ended += outcomes.end_now(
                task, State.FAILED, EventKind.CANCELED, ErrorCode.CANCELED, told=told
            )
    return ended
