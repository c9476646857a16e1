"""Delays that are over, and bells for whatever could start."""

from typing import Final

from django.db import transaction
from django.db.models import F

from tasks_app import bells, conf
from tasks_app.callbacks import outbox
from tasks_app.core import claim, fairness, moving, queries
from tasks_app.core.clock import database_now
from tasks_app.gates import keys, slots
from tasks_app.lifecycle import State
from tasks_app.maintenance.report import Report
from tasks_app.models import Flow, Generator, Pool, Task

BATCH: Final = 500


def release_due(report: Report, dry_run: bool) -> None:
    """Held-back tasks whose time has come may start now."""
    due = Task.objects.filter(
        state=State.PENDING.value, not_before__isnull=False, not_before__lte=database_now()
    )
    for task in due.order_by("not_before")[:BATCH]:
        if dry_run or _release(task):
            report.add("due again")


def ring_for_callbacks(report: Report, dry_run: bool) -> None:
    """Ring for the deliverers when a callback is due and no bell waits."""
    if outbox.any_due() and bells.waiting(bells.CALLBACKS) == 0:
        report.add("bells", 1 if dry_run else bells.ring(bells.CALLBACKS))


def _release(task: Task) -> bool:
    with transaction.atomic():
        fairness.lock_flow(task.flow_id)
        rows = Task.objects.filter(
            pk=task.pk, state=State.PENDING.value, not_before=task.not_before
        ).update(not_before=None, version=F("version") + 1)
        if rows:
            fairness.refresh_head(task.flow_id)
    if rows:
        queries.refresh(task.pk)
        bells.ring(task.pool)
    return bool(rows)


def ring_where_work_waits(report: Report, dry_run: bool) -> None:
    """Ring for each pool that has a task which may start, a slot for it and no bell."""
    for pool in pools_with_work():
        if bells.waiting(pool) == 0:
            rung = 1 if dry_run else bells.ring(pool, _enough(pool))
            report.add("bells", rung)


def pools_with_work() -> list[str]:
    """Return the pools in which some flow has a task that may start, as far as slots are known.

    Where all slots are taken nobody is rung for: each end of an attempt rings by itself, and
    idle workers would only be woken to find nothing.
    """
    if slots.used([keys.slots_all()])[0] >= conf.get().limit_all:
        return []
    heads = (
        Flow.objects.filter(head_tag__isnull=False, generator__paused=False)
        .exclude(generator_id__in=claim.closed_generators())
        .exclude(owner_id__in=slots.full_owners())
    )
    return sorted(heads.values_list("pool", flat=True).distinct())


def soonest_rate() -> float | None:
    """Return the seconds until an upstream whose rate is used up, and has work, allows a start.

    None: there is no such upstream. So a fast rate need not wait for the next look.
    """
    limited = Generator.objects.filter(paused=False, rate_per_minute__isnull=False)
    waits = slots.rate_waits([claim.rate_of(one) for one in limited])
    if not waits:
        return None
    wanted = Flow.objects.filter(head_tag__isnull=False, generator_id__in=waits)
    found = wanted.values_list("generator_id", flat=True).distinct()
    return min((waits[pk] for pk in found), default=None)


def follow_pools(report: Report, dry_run: bool) -> None:
    """Tasks that wait in a pool which their generator has left -> its pool of now."""
    left = Flow.objects.filter(head_tag__isnull=False).exclude(pool=F("generator__pool"))
    for flow_id in list(left.values_list("pk", flat=True)[:BATCH]):
        waiting = Task.objects.filter(
            flow_id=flow_id, state=State.PENDING.value, not_before__isnull=True
        )
        for task in waiting.select_related("generator").order_by("tag", "pk")[:BATCH]:
            if dry_run or moving.move_to(task, task.generator):
                report.add("moved to another pool")


def known_pools() -> list[str]:
    """Return every pool that ever had work."""
    return sorted(
        set(Pool.objects.values_list("name", flat=True))
        | set(Flow.objects.values_list("pool", flat=True).distinct())
    )


def _enough(pool: str) -> int:
    """One bell per idle worker would do; a few more are answered in a millisecond."""
    return min(8, Task.objects.filter(pool=pool, state="pending", not_before=None)[:8].count())
