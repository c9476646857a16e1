"""Repairs of remote work, and bells for those who ask upstreams."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Final, cast
from uuid import UUID

from django.db.models.functions import Now

from tasks_app import bells, conf
from tasks_app.core import outcomes
from tasks_app.core.claim import holder_of
from tasks_app.core.clock import database_now
from tasks_app.core.remote import records, setups
from tasks_app.gates import keys, slots
from tasks_app.gates.connection import client
from tasks_app.generators.registry import UnknownAdapter
from tasks_app.lifecycle import ErrorCode
from tasks_app.maintenance.repairs import database_age, repair
from tasks_app.maintenance.report import Report
from tasks_app.models import Attempt, Webhook

BATCH: Final = 500


def ring_for_due(report: Report, dry_run: bool) -> None:
    """Ring for each pool that has submitted work which is due, and no bell for it."""
    for pool in records.due_pools():
        if bells.waiting(f"{pool}{bells.POLLS}") == 0:
            report.add("bells", 1 if dry_run else bells.ring_polls(pool))


def recover_submissions(report: Report, dry_run: bool) -> None:
    """Attempts whose submitter has given no sign of life for a lease.

    Nothing was sent: the task waits again. Something may have been: whoever can tell is asked,
    and otherwise the task ends, so that nothing is paid for twice.
    """
    settings = conf.get()
    if database_age() < settings.lease:
        return
    silent = database_now() - timedelta(seconds=settings.lease)
    left = Attempt.objects.select_related("task__generator", "setup").filter(
        ended_at__isnull=True,
        revoked_at__isnull=True,
        remote=True,
        next_poll_at__isnull=True,
        heartbeat_at__lte=silent,
    )
    for attempt in left.order_by("started_at")[:BATCH]:
        kind, action = _recovery(attempt)
        repair(kind, attempt.task_id, action, report, dry_run)


def _recovery(attempt: Attempt) -> tuple[str, Callable[[], object]]:
    if attempt.submit_started_at is None:
        return "worker lost", partial(outcomes.lost, attempt)
    if attempt.upstream_id or _can_tell(attempt):
        return "submissions looked for", partial(records.look_again, attempt, 0.0)
    if attempt.setup is not None and attempt.setup.settings.get("free_to_repeat", False):
        return "worker lost", partial(outcomes.lost, attempt)
    unknown = partial(outcomes.failed, attempt, ErrorCode.OUTCOME_UNKNOWN, "", retryable=False)
    return "outcome unknown", unknown


def _can_tell(attempt: Attempt) -> bool:
    if attempt.setup is None:
        return False
    try:
        return setups.adapter_of(attempt.setup).finds
    except UnknownAdapter:
        return False


def hold_slots(report: Report, dry_run: bool) -> None:
    """Hold the slots of submitted work until it must have ended: nobody renews them meanwhile.

    They were held so when the work was submitted; this is for those that Redis lost, which were
    restored for a lease only.
    """
    lease = conf.get().lease
    fading = _fading(2 * lease)
    if not fading:
        return
    live = Attempt.objects.select_related("task").filter(
        ended_at__isnull=True, remote=True, claim_id__in=fading[: 10 * BATCH]
    )
    now = database_now()
    for attempt in live:
        deadline = attempt.task.deadline_at
        left = (deadline - now).total_seconds() if deadline else 0.0
        if not dry_run:
            slots.extend(holder_of(attempt), lease=max(lease, left + conf.get().grace))


def _fading(seconds: float) -> list[UUID]:
    """Return the claims whose slots end within so many seconds."""
    redis = client()
    clock, micros = redis.time()
    now = clock * 1000 + micros // 1000
    found = redis.zrangebyscore(keys.slots_all(), now, now + int(seconds * 1000))
    claims = []
    for member in cast("list[bytes]", found):
        try:
            claims.append(UUID(member.decode()))
        except ValueError:
            continue
    return claims


def tidy(report: Report, dry_run: bool) -> None:
    """Submitted work that nobody would ask about is due now; webhooks of ended work go."""
    unasked = Attempt.objects.filter(
        ended_at__isnull=True, remote=True, next_poll_at__isnull=True
    ).exclude(upstream_id="")
    number = unasked.count() if dry_run else unasked.update(next_poll_at=Now())
    if number:
        report.add("due now", number)
    ended = Webhook.objects.filter(
        attempt__ended_at__isnull=False,
        received_at__lte=Now() - timedelta(seconds=conf.get().grace),
    )
    for kept in ended.only("pk")[:BATCH]:
        if not dry_run:
            kept.delete()
