"""Withdrawing a generator: it takes no tasks any more, and what waits for it ends."""

import logging
from collections.abc import Mapping, Sequence
from typing import Final

from django.db import DatabaseError

from tasks_app.core import outcomes
from tasks_app.core.seen import Glance, glances
from tasks_app.lifecycle import ErrorCode, EventKind, State
from tasks_app.models import Generator, Task

logger = logging.getLogger(__name__)

BATCH: Final = 500
_BATCHES: Final = 1_000


def withdraw(generator: Generator, by: str) -> int:
    """Stop offering a generator and end its pending tasks as canceled; returns how many.

    What runs ends by itself. A submission that had read the generator before may still add a
    task; so the last batch is the one that finds nothing.
    """
    Generator.objects.filter(pk=generator.pk).update(enabled=False)
    told = {"by": "staff", "staff": by, "reason": "generator withdrawn"}
    waiting = Task.objects.filter(generator_id=generator.pk, state=State.PENDING.value)
    ended = 0
    for _ in range(_BATCHES):
        found = glances(waiting.order_by("pk")[:BATCH])
        if not found:
            break
        ended += _end(found, told)
    return ended


def _end(found: Sequence[Glance], told: Mapping[str, str]) -> int:
    """End tasks in one transaction; singly when that fails, or when others hold all of them."""
    ending = (State.FAILED, EventKind.CANCELED, ErrorCode.CANCELED)
    try:
        together = outcomes.end_many(found, *ending, told=told)
    except DatabaseError as error:
        logger.warning("%d tasks are canceled one by one: %s", len(found), error)
        together = []
    if together:
        return len(together)
    return sum(outcomes.end_now(task, *ending, told=told) for task in found)
