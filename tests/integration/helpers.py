"""Doing by hand what processes do, one step at a time."""

import itertools
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import F
from django.utils import timezone

from tasks_app.core import claim, submission
from tasks_app.core.claim import Claim
from tasks_app.core.submission import Wish
from tasks_app.models import Artifact, Flow, Task, new_id

_numbers = itertools.count()


def submit(user: Any, generator: str = "sleeper", seconds: float = 0.0, **fields: Any) -> Task:
    """Submit a task that would take so many seconds."""
    params = {"prompt": f"picture {next(_numbers)}", "seconds": seconds}
    wish = Wish(generator, params, **fields)
    return Task.objects.get(pk=submission.submit(user, wish).task_id)


def claimed(pool: str = "default") -> Claim:
    """Claim a task; there must be one."""
    found = claim.claim_next(pool, "by hand")
    assert found is not None
    return found


def artifacts(task_id: UUID, number: int = 1) -> list[Artifact]:
    """Return unsaved artifacts as the store would make them."""
    return [
        Artifact(
            id=new_id(),
            task_id=task_id,
            position=position,
            storage_key=f"none/{new_id()}.png",
            thumbnail_key=f"none/{new_id()}.webp",
            media_type="image/png",
            width=8,
            height=8,
            bytes=100,
            sha256="0" * 64,
            created_at=timezone.now(),
        )
        for position in range(number)
    ]


def wrong_heads() -> list[Flow]:
    """Return flows whose head tag is not that under which their first ready task would start."""
    wrong = []
    for flow in Flow.objects.all():
        ready = Task.objects.filter(flow=flow, state="pending", not_before__isnull=True)
        first = ready.order_by("tag", "pk").first()
        paid = None if first is None else first.paid_tag
        start = flow.finish_tag if paid is None else min(paid, flow.finish_tag)
        if flow.head_tag != (None if first is None else start):
            wrong.append(flow)
    return wrong


def shift(task: Task, column: str, seconds: float) -> None:
    """Move one of a task's times by some seconds."""
    delta = timedelta(seconds=seconds)
    Task.objects.filter(pk=task.pk).update(**{column: F(column) + delta})


def waits_for(kind: str) -> bool:
    """Whether somebody waits for a lock of this kind: as of now, also within a transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() "
            "AND wait_event_type = 'Lock' AND wait_event = %s",
            [kind],
        )
        return cursor.fetchone() is not None
