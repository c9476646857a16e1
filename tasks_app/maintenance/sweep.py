"""The sweep: one pass that times out, recovers, reconciles and rings.

Any number may run at the same time: each repair is the same compare-and-set that everybody
uses, so two sweeps can only both try. Cron runs it every minute, the ticker every few seconds.
Each step reads partial indexes of live rows, in batches, and is bounded by a deadline.
"""

import logging
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Final
from uuid import UUID

from django.db import DatabaseError, InterfaceError, connection
from django.db.models import QuerySet
from redis.exceptions import RedisError

from tasks_app import conf, metrics
from tasks_app.core import outcomes, results
from tasks_app.core.clock import database_now
from tasks_app.core.seen import Glance, glances
from tasks_app.lifecycle import State
from tasks_app.maintenance import callbacks, divert, due, reconcile, remote, tallies
from tasks_app.maintenance.repairs import database_age, repair
from tasks_app.maintenance.report import Report
from tasks_app.models import Attempt, Task

logger = logging.getLogger(__name__)

BATCH: Final = 500
"""Rows one step looks at in one pass; the next pass goes on."""
_BATCHES: Final = 20
"""How many times as many tasks that are late may end in one pass: each batch is one transaction."""
_BATCHES_SECONDS: Final = 5.0
"""Others wait for their repairs: no further batch begins after so long."""
_MAX_SECONDS: Final = 50.0
"""A pass that cron starts every minute ends before the next one begins."""


def sweep(*, dry_run: bool = False) -> Report:
    """Run every step once; a step that fails is reported and does not stop the others.

    Raises a database error only if the database cannot be reached at all.
    """
    database_now()
    report = Report()
    give_up = time.monotonic() + _MAX_SECONDS
    for name, step in STEPS:
        if time.monotonic() > give_up:
            report.troubles.append(f"{name}: no time left in this pass")
            continue
        _run(name, step, report, dry_run)
    if not dry_run:
        _count(report)
    return report


def _count(report: Report) -> None:
    for kind, number in report.counts.items():
        metrics.count(metrics.REPAIRS, kind.replace(" ", "_"), by=number)


def _run(name: str, step: "Step", report: Report, dry_run: bool) -> None:
    try:
        step(report, dry_run)
    except (RedisError, DatabaseError, InterfaceError) as error:
        logger.warning("sweep step %s failed: %s", name, error)
        report.troubles.append(f"{name}: {error}")
        connection.close_if_unusable_or_obsolete()
    except Exception as error:
        logger.exception("sweep step %s failed", name)
        report.troubles.append(f"{name}: {type(error).__name__}: {error}")


def time_out_running(report: Report, dry_run: bool) -> None:
    """Running past its deadline -> timeout; its worker is told to stop."""
    late = Task.objects.filter(state=State.RUNNING.value, deadline_at__lte=database_now())
    _time_out(late.order_by("deadline_at"), "deadline exceeded", report, dry_run)


def time_out_waiting(report: Report, dry_run: bool) -> None:
    """Pending longer than it may wait -> timeout."""
    late = Task.objects.filter(state=State.PENDING.value, give_up_at__lte=database_now())
    _time_out(late.order_by("give_up_at"), "waited too long", report, dry_run)


def _time_out(late: QuerySet[Task], kind: str, report: Report, dry_run: bool) -> None:
    """End what is late, the longest late first: thousands at once when a pool was away."""
    if dry_run:
        number = late[: BATCH * _BATCHES].count()
        report.counts.update({kind: number} if number else {})
        return
    give_up, left = time.monotonic() + _BATCHES_SECONDS, set[UUID]()
    for _ in range(_BATCHES):
        # What could not be ended a moment ago is late still; the others are behind it.
        found = glances(late.exclude(pk__in=left)[:BATCH])
        ended = _time_out_together(found, kind, report) if found else set()
        left |= {task.pk for task in found} - ended
        if len(found) < BATCH or time.monotonic() > give_up:
            break


def _time_out_together(late: list[Glance], kind: str, report: Report) -> set[UUID]:
    """End tasks in one transaction, or one by one when that fails: a bad one keeps no others."""
    try:
        ended = set(outcomes.timed_out_many(late))
    except Exception as error:
        logger.warning("%s: %d tasks are ended one by one: %s", kind, len(late), error)
        connection.close_if_unusable_or_obsolete()
        return _time_out_singly(late, kind, report)
    report.counts.update({kind: len(ended)} if ended else {})
    return ended


def _time_out_singly(late: list[Glance], kind: str, report: Report) -> set[UUID]:
    ended = set[UUID]()

    def end(task: Glance) -> bool:
        moved = outcomes.timed_out(task)
        ended.update([task.pk] if moved else [])
        return moved

    for task in late:
        repair(kind, task.pk, partial(end, task), report, dry_run=False)
    return ended


def recover_lost(report: Report, dry_run: bool) -> None:
    """Local attempts without heartbeat for a lease -> pending again, or ``worker_lost``.

    Not while the database has been up for less than a lease: until then a healthy worker may
    not have had the chance to say so.
    """
    settings = conf.get()
    if database_age() < settings.lease:
        return
    silent = database_now() - timedelta(seconds=settings.lease)
    lost = Attempt.objects.select_related("task").filter(
        ended_at__isnull=True, revoked_at__isnull=True, remote=False, heartbeat_at__lte=silent
    )
    for attempt in lost.order_by("started_at")[:BATCH]:
        action = partial(outcomes.lost, attempt)
        repair("worker lost", attempt.task_id, action, report, dry_run)


def end_silent_revoked(report: Report, dry_run: bool) -> None:
    """Attempts told to stop that nobody has seen stop within the grace -> ended.

    A worker that still lives keeps its slots alive by heartbeat; this ends those whose worker
    died after the cancel, and those whose code does not listen.
    """
    silent = database_now() - timedelta(seconds=conf.get().grace)
    stuck = Attempt.objects.select_related("task").filter(
        ended_at__isnull=True, revoked_at__lte=silent
    )
    for attempt in stuck.order_by("started_at")[:BATCH]:
        action = partial(outcomes.stopped, attempt)
        repair("stopped after grace", attempt.task_id, action, report, dry_run)


def delete_owed_files(report: Report, dry_run: bool) -> None:
    """Files of removed results that could not be deleted then, or whose deletion was cut off.

    The ones of this very minute are left to whoever is removing them.
    """
    found = list(results.owed(database_now())[:BATCH])
    gone = len(found) if dry_run else results.delete_files(found)
    if gone:
        report.add("files deleted", gone)
    if gone < len(found):
        report.troubles.append(f"files: {len(found) - gone} removed results cannot be deleted")


Step = Callable[[Report, bool], None]

STEPS: Final[tuple[tuple[str, Step], ...]] = (
    ("deadlines", time_out_running),
    ("waits", time_out_waiting),
    ("lost workers", recover_lost),
    ("remote submissions", remote.recover_submissions),
    ("revoked attempts", end_silent_revoked),
    ("due tasks", due.release_due),
    ("pools", due.follow_pools),
    ("remote work", remote.tidy),
    ("slots", reconcile.slot_sets),
    ("remote slots", remote.hold_slots),
    ("fallbacks", divert.to_fallbacks),
    ("bells", due.ring_where_work_waits),
    ("bells for submitted work", remote.ring_for_due),
    ("callbacks", due.ring_for_callbacks),
    ("old callbacks", callbacks.purge),
    ("secrets", callbacks.reseal),
    ("totals", tallies.fold),
    ("files", delete_owed_files),
)
