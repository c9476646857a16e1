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

from django.db import DatabaseError, InterfaceError, connection
from redis.exceptions import RedisError

from tasks_app import conf, metrics
from tasks_app.core import outcomes, results
from tasks_app.core.clock import database_now
from tasks_app.lifecycle import State
from tasks_app.maintenance import callbacks, divert, due, reconcile, remote, tallies
from tasks_app.maintenance.repairs import database_age, repair
from tasks_app.maintenance.report import Report
from tasks_app.models import Attempt, Task

logger = logging.getLogger(__name__)

BATCH: Final = 500
"""Rows one step looks at in one pass; the next pass goes on."""
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
    _time_out(list(late.order_by("deadline_at")[:BATCH]), "deadline exceeded", report, dry_run)


def time_out_waiting(report: Report, dry_run: bool) -> None:
    """Pending longer than it may wait -> timeout."""
    late = Task.objects.filter(state=State.PENDING.value, give_up_at__lte=database_now())
    _time_out(list(late.order_by("give_up_at")[:BATCH]), "waited too long", report, dry_run)


def _time_out(late: list[Task], kind: str, report: Report, dry_run: bool) -> None:
    for task in late:
        repair(kind, task.pk, partial(outcomes.timed_out, task), report, dry_run)


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
